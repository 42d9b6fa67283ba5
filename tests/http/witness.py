"""A witness of transparency logs (c2sp.org/tlog-witness) on a loopback port, with nothing of tollbook's: it checks each proof of growth as
RFC 9162 says, signs as RFC 8032 says, and can be told to do wrong."""
import base64
import hashlib
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from test_proof import BASE, ORDER, sha, times

TIME = 1793700000


class Key:
    """An Ed25519 key of a witness."""

    def __init__(self, name, seed):
        whole = hashlib.sha512(seed).digest()
        self.name, self.rest = name, whole[32:]
        self.number = int.from_bytes(whole[:32], "little") & (1 << 254) - 8 | 1 << 254
        self.public = self.packed(times(self.number, BASE))
        self.id = sha(name.encode(), b"\n\x04", self.public)[:4]
        self.vkey = "+".join((name, self.id.hex(), base64.b64encode(b"\4" + self.public).decode()))

    @staticmethod
    def packed(point):
        return (point[1] | (point[0] & 1) << 255).to_bytes(32, "little")

    def sign(self, message):
        r = int.from_bytes(hashlib.sha512(self.rest + message).digest(), "little") % ORDER
        first = self.packed(times(r, BASE))
        k = int.from_bytes(hashlib.sha512(first + self.public + message).digest(), "little")
        return first + ((r + k * self.number) % ORDER).to_bytes(32, "little")

    def line(self, text):
        """The signature line of a checkpoint's text."""
        signature = self.sign(f"cosignature/v1\ntime {TIME}\n{text}".encode())
        return f"\u2014 {self.name} {base64.b64encode(self.id + TIME.to_bytes(8, 'big') + signature).decode()}\n"


def extends(m, old, n, new, proof):
    """RFC 9162, 2.1.4.2."""
    if m in (0, n):
        return not proof and (m == 0 or old == new)
    if not proof or m > n:
        return False
    path = proof if m & m - 1 else [old, *proof]
    fn, sn = m - 1, n - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    a = b = path[0]
    for node in path[1:]:
        if not sn:
            return False
        if fn & 1 or fn == sn:
            a, b = sha(b"\1", node, a), sha(b"\1", node, b)
            while fn and not fn & 1:
                fn, sn = fn >> 1, sn >> 1
        else:
            b = sha(b"\1", b, node)
        fn, sn = fn >> 1, sn >> 1
    return a == old and b == new and not sn


class Witness:
    """`wrong`: given status, body and the checkpoint's text, returns what is answered in their place; None: it does right."""

    scheme = "http"

    def __init__(self, name, seed):
        self.key = Key(name, seed)
        self.size, self.root, self.wrong, self.asked = 0, None, None, []
        self.lock = threading.Lock()
        witness = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                status, answer = witness.take(self.path, body)
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "text/x.tlog.size" if status == 409 else "text/plain")
                    self.send_header("Content-Length", str(len(answer.encode())))
                    self.end_headers()
                    self.wfile.write(answer.encode())
                except OSError:  # it did not wait
                    self.close_connection = True

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.http = Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def speak_tls(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.scheme = "https"

    @property
    def option(self):
        return ("--proof-witness", f"{self.scheme}://127.0.0.1:{self.http.server_address[1]}/w/={self.key.vkey}")

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def take(self, path, body):
        head, _, note = body.partition("\n\n")
        text = note.partition("\n\n")[0] + "\n"
        with self.lock:
            wrong, (status, answer) = self.wrong, self.judge(path, head, text)
        return wrong(status, answer, text) if wrong else (status, answer)

    def judge(self, path, head, text):
        """What the specification says."""
        old, *proof = head.split("\n")
        _, size, root, *_ = text.split("\n")
        old, size, root = int(old.removeprefix("old ")), int(size), base64.b64decode(root)
        self.asked.append((old, size))
        if path != "/w/add-checkpoint" or old > size:
            return 400, ""
        if old != self.size or (old == size and root != self.root):
            return 409, f"{self.size}\n"
        if not extends(old, self.root, size, root, [base64.b64decode(line) for line in proof]):
            return 422, ""
        self.size, self.root = size, root
        return 200, self.key.line(text)
