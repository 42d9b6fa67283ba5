"""Registries for the tests of POST /mc/registries/digest: Debian's docker-registry with images that
are pushed here, a server of tokens for it, and registries that do not keep to the rules.

All of them listen on loopback, on ports that the system gives.
"""
import base64
import hashlib
import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
OCI_INDEX = "application/vnd.oci.image.index.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
SERVICE = "tollbook's test registry"

CONFIG = """version: 0.1
log: {level: info, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: %s}}
http: {addr: "127.0.0.1:0"}
"""
TOKENS = """auth: {token: {realm: "%s", service: "%s", issuer: "tests", rootcertbundle: %s}}
"""


def digest_of(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Registry:
    """docker-registry over a folder; with the address of a token server, it wants tokens."""

    def __init__(self, folder, realm=None, certificate=None):
        config = folder / f"registry-{'token' if realm else 'open'}.yml"
        text = CONFIG % (folder / "storage")
        config.write_text(text + (TOKENS % (realm, SERVICE, certificate) if realm else ""))
        self.process = subprocess.Popen([shutil.which("docker-registry"), "serve", config],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        env={"OTEL_TRACES_EXPORTER": "none", "PATH": "/usr/bin"})
        said = []
        for line in self.process.stderr:
            said.append(line)
            found = re.search(r"listening on 127\.0\.0\.1:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                break
        else:
            raise AssertionError("docker-registry does not start: " + "".join(said))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.port}"

    def ask(self, method, target, body=None, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, target, body, {k.replace("_", "-"): v for k, v in headers.items()})
        answer = connection.getresponse()
        answer.read()
        connection.close()
        assert answer.status < 300, (method, target, answer.status)
        return answer

    def blob(self, repository, data):
        place = urlsplit(self.ask("POST", f"/v2/{repository}/blobs/uploads/").headers["Location"])
        self.ask("PUT", f"{place.path}?{place.query}&digest={digest_of(data)}", data,
                 Content_Type="application/octet-stream")
        return {"digest": digest_of(data), "size": len(data)}

    def manifest(self, repository, tag, media, content):
        data = json.dumps({"schemaVersion": 2, "mediaType": media, **content}).encode()
        self.ask("PUT", f"/v2/{repository}/manifests/{tag}", data, Content_Type=media)
        return digest_of(data), len(data)

    def push(self, repository, tag, media=OCI_MANIFEST):
        """An image of one layer; its digest and size."""
        docker = media == DOCKER_MANIFEST
        kinds = (("application/vnd.docker.container.image.v1+json",
                  "application/vnd.docker.image.rootfs.diff.tar.gzip") if docker else
                 ("application/vnd.oci.image.config.v1+json",
                  "application/vnd.oci.image.layer.v1.tar+gzip"))
        config = self.blob(repository, json.dumps({"architecture": "amd64", "tag": tag}).encode())
        layer = self.blob(repository, b"layer of " + repository.encode())
        return self.manifest(repository, tag, media,
                             {"config": {"mediaType": kinds[0], **config},
                              "layers": [{"mediaType": kinds[1], **layer}]})

    def push_index(self, repository, tag, media, of_media):
        digest, size = self.push(repository, tag + "-amd64", of_media)
        return self.manifest(repository, tag, media, {"manifests": [
            {"mediaType": of_media, "digest": digest, "size": size,
             "platform": {"architecture": "amd64", "os": "linux"}}]})

    def close(self):
        self.process.terminate()
        self.process.wait(60)


class Python(ThreadingHTTPServer):
    """A server whose `answer(handler)` answers; `asked` lists (method, target, headers)."""

    daemon_threads = True
    request_queue_size = 64
    place = "127.0.0.1"

    def __init__(self):
        outer = self
        self.asked = []
        self.ended = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                outer.asked.append((self.command, self.path, dict(self.headers)))
                outer.answer(self)

            do_HEAD = do_POST = do_PUT = do_GET

            def log_message(self, *_):
                pass

            def reply(self, status, body=b"", **headers):
                self.send_response(status)
                for name, value in headers.items():
                    for one in value if isinstance(value, list) else [value]:
                        self.send_header(name.replace("_", "-"), one)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

        super().__init__((self.place, 0), Handler)
        host = f"[{self.place}]" if ":" in self.place else self.place
        self.url = f"http://{host}:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that hang up are what is tested

    def close(self):
        self.ended.set()
        self.shutdown()
        self.server_close()


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Tokens(Python):
    """Hands out tokens that docker-registry takes, to whoever knows the password."""

    def __init__(self, folder, user, password):
        self.key, self.certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "3650",
                        "-subj", "/CN=tests", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", self.key, "-out", self.certificate],
                       check=True, capture_output=True)
        self.basic = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        super().__init__()
        self.realm = self.url + "/v2/token"

    def token(self, scope):
        kind, name, actions = scope.split(":")
        der = "".join(self.certificate.read_text().splitlines()[1:-1])
        now = int(time.time())
        parts = [{"typ": "JWT", "alg": "RS256", "x5c": [der]},
                 {"iss": "tests", "aud": SERVICE, "sub": "", "exp": now + 600, "nbf": now - 600,
                  "iat": now, "jti": "1",
                  "access": [{"type": kind, "name": name, "actions": actions.split(",")}]}]
        text = b".".join(base64url(json.dumps(part).encode()) for part in parts)
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text,
                                   check=True, capture_output=True).stdout
        return (text + b"." + base64url(signature)).decode()

    def answer(self, handler):
        query = parse_qs(urlsplit(handler.path).query)
        if handler.headers.get("Authorization") != self.basic or query["service"] != [SERVICE]:
            handler.reply(401, b"{}")
            return
        body = json.dumps({"token": self.token(query["scope"][0])}).encode()
        handler.reply(200, body, Content_Type="application/json")


MANIFEST = b'{"schemaVersion":2,"mediaType":"x","config":{},"layers":[]}'
LIE = "sha256:" + "0" * 64


class Odd(Python):
    """A registry that does what its repository is called."""

    def __init__(self, elsewhere):
        self.elsewhere = elsewhere
        super().__init__()

    def answer(self, handler):
        if handler.path.startswith("/token?"):
            name = re.search(r"acme%2F(\w+)%3A", handler.path)[1]
            token = {"led": "\nt", "split": "t\r\nX-More: t"}.get(name, "t")
            handler.reply(200, json.dumps({"access_token": token}).encode())
            return
        found = re.match(r"/v2/acme/(\w+)/manifests/", handler.path)
        getattr(self, found.group(1) if found else "absent")(handler)

    @staticmethod
    def absent(handler):
        handler.reply(404, b'{"errors":[]}')

    def hang(self, _):
        self.ended.wait(60)

    def drip(self, handler):
        if handler.command == "HEAD":
            handler.reply(405)
            return
        handler.send_response(200)
        handler.end_headers()
        while not self.ended.wait(0.05):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    def redirect(self, handler):
        handler.reply(307, Location=self.elsewhere + "/v2/acme/x/manifests/1")

    def elsewhere_token(self, handler):
        handler.reply(401, WWW_Authenticate=f'Bearer realm="{self.elsewhere}/token",service="x"')

    @staticmethod
    def hostile_token(handler):
        handler.reply(401, WWW_Authenticate='Bearer realm="http://x\x1b[2J\x9b/token",service="x"')

    @staticmethod
    def forbidden(handler):
        handler.reply(403)

    @staticmethod
    def failing(handler):
        handler.reply(500)

    @staticmethod
    def big(handler):
        handler.reply(200, b"x" * 10_000_000)

    @staticmethod
    def nodigest(handler):
        handler.reply(200, MANIFEST)

    @staticmethod
    def nohead(handler):
        handler.reply(405 if handler.command == "HEAD" else 200, MANIFEST)

    @staticmethod
    def oddheader(handler):
        handler.reply(200, MANIFEST, Docker_Content_Digest="sha256:" + "G" * 64)

    @staticmethod
    def sha512(handler):
        handler.reply(200, MANIFEST, Docker_Content_Digest="sha512:" + "a" * 128)

    @staticmethod
    def two(handler):
        handler.reply(200, MANIFEST, Docker_Content_Digest=[LIE, digest_of(MANIFEST)])

    @staticmethod
    def liar(handler):
        if handler.command == "HEAD":
            handler.reply(200, MANIFEST)
        else:
            handler.reply(200, MANIFEST, Docker_Content_Digest=LIE)

    @staticmethod
    def many(handler):
        handler.reply(200, MANIFEST[:-1] + b',"more":[' + b"{}," * (1 << 20) + b"{}]}")

    @staticmethod
    def old(handler):
        handler.reply(200, b'{"schemaVersion":1,"signatures":[]}')

    @staticmethod
    def interim(handler):
        """An interim answer's headers are not the answer's."""
        handler.send_response_only(103)
        handler.send_header("Docker-Content-Digest", LIE)
        handler.end_headers()
        handler.reply(200, MANIFEST, Docker_Content_Digest=digest_of(MANIFEST))

    @staticmethod
    def flood(handler):
        """Headers without an end."""
        handler.send_response_only(200)
        while True:
            handler.send_header("X-More", "x" * 10000)
            handler.flush_headers()

    def mixed(self, handler):
        """Two challenges in one header; the first one's parameter only looks like the second."""
        if handler.headers.get("Authorization") == "Bearer t":
            handler.reply(200, MANIFEST)
        else:
            handler.reply(401, WWW_Authenticate='Basic realm="a, Bearer realm=\\"b\\"", '
                          f'Bearer realm="{self.url}/token",service=it')

    led = split = mixed  # their tokens would end a header's line

    @staticmethod
    def page(handler):
        handler.reply(200, b"<html>Welcome</html>")

    @staticmethod
    def closing(handler):
        handler.close_connection = True


class Secure(Python):
    """Speaks TLS, with a certificate of its own making."""

    def __init__(self, made):
        super().__init__()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made.certificate, made.key)
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = self.url.replace("http:", "https:")

    @staticmethod
    def answer(handler):
        handler.reply(200, MANIFEST)


class Six(Odd):
    address_family = socket.AF_INET6
    place = "::1"
