"""Debian's web servers, each of its own configuration in a folder and on a port of its own, around the
lines that docs/web-servers.md tells to paste; and clients that send what they like.

A server's counted() is its own counter of requests: what it says of itself, not what its log says.
"""
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import PATIENCE, SOURCE
from follower import Follower, until
from script import held_port

# What a service's PATH has, and a user's may not.
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
HOSTS = {101: "a.example", 102: "b.example"}
CATALOG = {"accounts": [{"id": 1, "name": "acme", "currency": "USD"}],
           "zones": [{"id": zone, "account": 1, "name": f"z{zone}", "type": "premium",
                      "created": "2026-01-05T00:00:00Z", "hostnames": [host],
                      "settings": {"OriginUrl": "https://o.example"}} for zone, host in HOSTS.items()]}
CONTENT = b"content\n" * 50
ANSWER_S = 15  # a server that has not answered by then cannot work here


def program(name):
    return shutil.which(name, path=PATH)


# --- the pages that tell what to paste ---

def pasted(heading):
    """The blocks under a heading of these pages, up to the next heading: their text without the fences."""
    page = "".join((SOURCE / "docs" / name).read_text() for name in ("shipping.md", "web-servers.md", "ingest.md"))
    text = re.search(rf"(?ms)^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", re.sub(
        r"(?ms)^```.*?^```$", lambda block: block.group().replace("\n#", "\n\0"), page)).group(1)
    return [block.replace("\0", "#") for block in re.findall(r"(?ms)^```\w*\n(.*?)^```$", text)]


def moved(text, places):
    """The text with the page's places in this machine's; each of them must be there."""
    for was, now in places.items():
        assert was in text, f"the page names no {was} here:\n{text}"
        text = text.replace(was, str(now))
    return text


def follower(command, server, folder, logs):
    """The page's `tollbook follow`, of this server and with the folder of its log moved to `logs`."""
    f = Follower(server.url, "-", key=server.keys["ingest"], folder=folder)
    words = shlex.split(moved(command, {"https://stats.example": server.url,
                                        "/etc/tollbook/follow.key": folder / "key", **logs}))
    assert words[:2] == ["tollbook", "follow"], words
    f.words = ["follow", "--every", "20ms", "--metrics", f.metrics, *words[2:]]
    return f


# --- clients ---

def request(target=b"/f", host=b"a.example", more=b""):
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n" + more + b"\r\n"


TEXTS = [b"a|b", b"|||", b"\\", b"\\\\", b"x\\", b"\\x22", b'"', b'\\"', b'a" 200 1 "b', b'" 200 9 b.example "',
         b"x\ty", b"\xff\xfe|\x80", b"\xe2\x28\xa1", b"\xc3", b"", b"-", b"%22%0A", b"%00", b"' ; \" | & $host",
         b"{\"status\":500}", b"\",\"host\":\"b.example", b"\\u0000", b"]", b"#22", b"<!--", b"x" * 3000, b"|\"" * 900,
         b"\\" * 2000, "ü€😀".encode(), "é".encode() * 600, b"\x01" * 1100]
MALFORMED = [b"garbage\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n", b"GET /f HTTP/1.1\r\n\r\n", b"GET /f HTTP/9.9\r\n\r\n",
             b"X|Y\" /f HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n", b"GET /f", b"GET /f HTTP/1.1\r\nHos",
             b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", request(b"/" + b"a" * 12000), request(b"/" + b"a" * 70000),
             request(more=b"A: " + b"a" * 70000 + b"\r\n"),
             request(host=b'"|'), request(host=b"nobody.example"), request(b"/x y")]


def requests(rng):
    """Some hundred: (the zone of their host, bytes)."""
    for text in TEXTS:
        yield 101, request(more=b"User-Agent: " + text + b"\r\n")
        yield 102, request(host=b"b.example", more=b"Referer: " + text + b"\r\n")
        yield 101, request(b"/f?" + text)
        yield 101, request(b"/" + text, more=b"User-Agent: " + text + b"\r\nReferer: " + text + b"\r\n")
    for text in MALFORMED:
        yield 101 if b"\r\nHost: a.example\r\n" in text else None, text
    for _ in range(100):
        more = b"".join(name + b": " + b" ".join(rng.choice(TEXTS) for _ in range(rng.randrange(4))) + b"\r\n"
                        for name in (b"User-Agent", b"Referer", b"Range") if rng.randrange(2))
        zone = rng.choice(list(HOSTS))
        host = HOSTS[zone]
        yield zone, request(b"/f?%d" % rng.randrange(10), rng.choice([host, host.upper(), host + ":8080"]).encode(),
                            more)


class Answer:
    """Of one request on a connection of its own; status None where there was none."""

    def __init__(self, port, zone, data):
        self.zone = zone
        came = b""
        with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_S) as s:
            try:
                s.sendall(data)
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(65536):
                    came += more
            except TimeoutError:
                raise AssertionError(f"no answer within {ANSWER_S} s, and {came!r}, to {data[:99]!r}") from None
            except OSError:  # it was closed before its end was sent
                pass
        self.bytes = len(came)
        self.head, _, body = came.partition(b"\r\n\r\n")
        self.body_bytes = len(body)
        found = re.match(rb"HTTP/\d\.\d (\d{3})", self.head)
        self.status = int(found.group(1)) if found else None


# --- servers ---

class Edge:
    """A server: logs lie in at/logs, content in at/files."""

    tells_cache = False   # its log says what came from cache
    caches = False        # and something did
    exact_bytes = True    # its log has the bytes that came out of the socket, or of the body
    rounds = 1            # how often the requests are sent
    refusals = "no pull zone has %",  # why lines are refused

    def __init__(self, at):
        self.at = Path(at)
        self.logs, self.files = self.at / "logs", self.at / "files"
        for folder in (self.logs, self.files):
            folder.mkdir(exist_ok=True)
        (self.files / "f").write_bytes(CONTENT)
        self.port, self.admin = held_port(), held_port()
        self.running = []
        try:
            self.start()
            until(lambda: self.listens(self.port), self.messages)
        except BaseException:
            self.close()
            raise

    def run(self, *words, **more):
        with open(self.at / "said", "ab") as said:
            self.running.append(subprocess.Popen([program(words[0]), *map(str, words[1:])], stdout=said,
                                                 stderr=said, stdin=subprocess.DEVNULL, **more))
        return self.running[-1]

    def write(self, name, text):
        path = self.at / name
        path.write_text(text)
        return path

    def messages(self):
        return (self.at / "said").read_text(errors="replace") + "".join(
            path.read_text(errors="replace") for path in self.at.glob("error*"))

    def listens(self, port):
        for process in self.running:
            if process.poll() is not None:
                raise AssertionError(f"{process.args} ended\n{self.messages()}")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def counts(self, answer):
        """Whether it counted the answer's request for certain."""
        return answer.status is not None

    def took(self, answer):
        """Whether it logged the answer's request with its host, and not as one that it could not read."""
        return answer.zone is not None and answer.status not in (None, 400, 414, 431)

    def settle(self):
        """Waits, between some requests, for a log that goes through what could lose lines."""

    def bytes(self, answer):
        """What its log says that it sent."""
        return answer.bytes

    def hit(self, answer):
        """Whether the answer says that it was served from cache."""
        return False

    def truth(self, answers):
        """{zone: [requests, bytes]} of the answers."""
        found = {}
        for answer in filter(self.took, answers):
            zone = found.setdefault(answer.zone, [0, 0])
            zone[0] += 1
            zone[1] += self.bytes(answer)
        return found

    def told(self, path):
        """What the server tells of itself at its second port."""
        asked = http.client.HTTPConnection("127.0.0.1", self.admin, timeout=PATIENCE)
        asked.request("GET", path)
        text = asked.getresponse().read().decode()
        asked.close()
        return text

    def close(self):
        for process in reversed(self.running):
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []


class WithTruth(Edge):
    """It writes a log of numbers alone beside, which no client's text gets into."""

    def truth(self, answers):
        zones = {host: zone for zone, host in HOSTS.items()}
        found = {}
        for row in (self.at / "truth").read_text().splitlines():
            host, sent = row.split(" ")
            zone = found.setdefault(zones[host], [0, 0])
            zone[0] += 1
            zone[1] += int(sent)
        return found


class Nginx(WithTruth):
    tells_cache = True

    def start(self):
        conf, self.follow = pasted("nginx")
        conf = moved(conf, {"/var/log/nginx/tollbook.log": self.logs / "tollbook.log"})
        kept = "".join(f"{name}_temp_path {self.at}/{name};"
                       for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.pid = self.at / "pid"
        self.run("nginx", "-p", self.at, "-c", self.write("nginx.conf", f"""
daemon off; pid {self.pid}; error_log {self.at}/error.log; worker_processes 1; {'user root;' * (os.getuid() == 0)}
events {{ worker_connections 256; }}
http {{
    {kept}
    {conf}
    log_format truth '$server_name $bytes_sent';
    access_log {self.at}/truth truth;
    server {{ listen 127.0.0.1:{self.port} default_server; server_name a.example; root {self.files}; }}
    server {{ listen 127.0.0.1:{self.port}; server_name b.example; root {self.files}; }}
    server {{ listen 127.0.0.1:{self.admin}; access_log off; stub_status; }}
}}
"""))
        self.asked = 0

    def counted(self):
        self.asked += 1
        return int(re.search(r"\n +\d+ +\d+ +(\d+)", self.told("/")).group(1)) - self.asked

    def places(self):
        return {"/var/log/nginx/": f"{self.logs}/"}


class Apache(WithTruth):
    """Of its two formats the one that `which` says."""

    which = 0
    modules = ("mpm_event", "authz_core", "status", "cache", "cache_disk", "headers")

    def start(self):
        conf, self.follow = pasted("Apache")[2 * self.which:][:2]
        conf = moved(conf, {"/var/log/apache2/": f"{self.logs}/"})
        load = "\n".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so"
                         for name in self.modules)
        self.at.chmod(0o755)
        (self.at / "cache").mkdir()
        if os.getuid() == 0:
            shutil.chown(self.at / "cache", "nobody", "nogroup")
        self.run("apache2", "-DFOREGROUND", "-f", self.write("apache.conf", f"""
ServerRoot {self.at}
DefaultRuntimeDir {self.at}
PidFile {self.at}/pid
ErrorLog {self.at}/error.log
ServerName a.example
Listen 127.0.0.1:{self.port}
Listen 127.0.0.1:{self.admin}
{load}
StartServers 1
ServerLimit 1
ThreadsPerChild 16
MaxRequestWorkers 16
ExtendedStatus On
{'User nobody' if os.getuid() == 0 else ''}
{'Group nogroup' if os.getuid() == 0 else ''}
{conf}
LogFormat "%v %O" truth
CustomLog {self.at}/truth truth
DocumentRoot {self.files}
CacheRoot {self.at}/cache
CacheEnable disk /
CacheHeader on
Header set Cache-Control "max-age=600"
<VirtualHost 127.0.0.1:{self.port}>
    ServerName a.example
</VirtualHost>
<VirtualHost 127.0.0.1:{self.port}>
    ServerName b.example
</VirtualHost>
<VirtualHost 127.0.0.1:{self.admin}>
    CustomLog /dev/null truth
    CacheDisable /
    <Location "/">
        SetHandler server-status
    </Location>
</VirtualHost>
"""))
        self.asked = -1

    def counted(self):
        self.asked += 1
        return int(re.search(r"Total Accesses: (\d+)", self.told("/server-status?auto")).group(1)) - self.asked

    def places(self):
        return {"/var/log/apache2/": f"{self.logs}/"}


class ApacheCache(Apache):
    which = 1
    tells_cache = caches = True

    def hit(self, answer):
        return b"X-Cache: HIT" in answer.head


class Varnish(Edge):
    """With an origin of Python behind it."""

    tells_cache = caches = True

    def start(self):
        self.origin = origin()
        kept, unit, self.follow = pasted("Varnish")
        form = self.write("tollbook.format", kept)
        words = shlex.split(moved(unit.splitlines()[-1], {
            "/var/log/varnish/": f"{self.logs}/", "/etc/varnish/tollbook.format": form, " -D": "",
            " -P /run/varnishncsa/varnishncsa.pid": ""}).removeprefix("ExecStart="))
        vcl = self.write("edge.vcl", f'vcl 4.1; backend origin {{ .host = "127.0.0.1"; '
                                     f'.port = "{self.origin.server_port}"; }}\n')
        self.work = self.at / "v"
        self.run("varnishd", "-F", "-n", self.work, "-a", f"127.0.0.1:{self.port}", "-f", vcl, "-s", "malloc,16m",
                 "-j", "none", "-p", "thread_pools=1", "-p", "thread_pool_min=10")
        until(lambda: self.listens(self.port), self.messages)
        self.run(*words, "-n", self.work)
        self.before = 0
        self.attach()

    def attach(self):
        """varnishncsa begins with what comes after it looked first: asks until it has begun."""
        asked = 0
        log = self.logs / "varnishncsa.log"
        while not log.exists() or f"/attach{asked} ".encode() not in log.read_bytes():
            if asked < 1000:
                asked += 1
                Answer(self.port, None, request(b"/attach%d" % asked, b"attach.example"))
            self.listens(self.port)
        until(lambda: self.counted() >= asked, self.messages)
        self.before = asked - log.read_bytes().count(b"\n")

    def counted(self):
        figures = json.loads(subprocess.run([program("varnishstat"), "-n", self.work, "-j"], check=True,
                                            capture_output=True, timeout=PATIENCE).stdout)["counters"]
        counted = sum(figures[f"MAIN.{name}"]["value"] for name in ("client_req", "client_req_400"))
        return counted - self.before

    def hit(self, answer):
        return re.search(rb"X-Varnish: \d+ \d+", answer.head) is not None

    def places(self):
        return {"/var/log/varnish/": f"{self.logs}/"}

    def close(self):
        super().close()
        self.origin.shutdown()
        self.origin.server_close()


def origin():
    class Content(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.send_header("Cache-Control", "max-age=600")
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Content)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    return server


class HAProxy(Edge):
    """Over the syslog socket that Debian's rsyslog makes for it."""

    exact_bytes = False  # it counts headers in a form of its own

    def start(self):
        conf, rules, self.follow = pasted("HAProxy")
        system = self.at / "dev-log"
        rules = moved(rules, {"/var/log/haproxy-tollbook.log": self.logs / "haproxy-tollbook.log"})
        # As Debian has them: rsyslog.conf, the page's file, 49-haproxy.conf.
        self.run("rsyslogd", "-n", "-i", self.at / "rsyslog.pid", "-f", self.write("rsyslog.conf", f"""
module(load="imuxsock" SysSock.Use="off")
$WorkDirectory {self.at}
{rules}
$AddUnixListenSocket {system}
:programname, startswith, "haproxy" {{
  {self.at}/haproxy.log
  stop
}}
"""))
        until(system.exists, self.messages)
        self.socket = self.at / "stats"
        self.run("haproxy", "-db", "-f", self.write("haproxy.cfg", f"""
global
    stats socket {self.socket} mode 600 level admin
    maxconn 100
    nbthread 1
defaults
    mode http
    timeout client 30s
    timeout connect 5s
    timeout server 30s
frontend edge
    bind 127.0.0.1:{self.port}
    {moved(conf, {"/dev/log": system}).replace(chr(10), chr(10) + "    ")}
    http-request return status 200 content-type text/plain string "content"
"""))

    def settle(self):
        """It drops lines where rsyslog is not quick enough, as on a busy machine: that is not what is tried."""
        log = self.logs / "haproxy-tollbook.log"
        until(lambda: log.exists() and log.read_bytes().count(b"\n") >= self.counted(), self.messages)

    def show(self, what):
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(str(self.socket))
            s.sendall(what.encode() + b"\n")
            return b"".join(iter(lambda: s.recv(65536), b"")).decode()

    def counted(self):
        if "DroppedLogs: 0\n" not in self.show("show info"):
            raise AssertionError("HAProxy dropped lines of its log")
        head, *rows = (row.split(",") for row in self.show("show stat").splitlines() if row)
        return next(int(row[head.index("req_tot")]) for row in rows if row[:2] == ["edge", "FRONTEND"])

    def places(self):
        return {"/var/log/": f"{self.logs}/"}


class Caddy(Edge):
    """It rotates its log itself: here at the least size that it knows."""

    rounds = 5

    def start(self):
        log, site, self.follow = pasted("Caddy")
        log = moved(log, {"/var/log/caddy/access.log": f"{self.logs}/access.log {{\nroll_size 1MiB\n}}"})
        sites = ", ".join(f"http://{host}" for host in HOSTS.values())
        conf = self.write("Caddyfile", f"""
{{
    admin 127.0.0.1:{self.admin}
    auto_https off
    http_port {self.port}
    servers {{
        metrics
    }}
    {log}
}}
{sites} {{
    bind 127.0.0.1
    {site}
    root * {self.files}
    file_server
}}
http:// {{
    bind 127.0.0.1
    {site}
    respond 404
}}
""")
        self.run("caddy", "run", "--config", conf, "--adapter", "caddyfile",
                 env={**os.environ, "HOME": str(self.at), "XDG_DATA_HOME": str(self.at)})

    def counted(self):
        """What ended in an error is counted elsewhere."""
        return sum(int(number) for number in re.findall(
            r'^caddy_http_request(?:_duration_seconds_count|_errors_total)\{[^}]*handler="subroute"[^}]*\} (\d+)$',
            self.told("/metrics"), re.M))

    def counts(self, answer):
        """What it could not read has no such line in its head."""
        return b"Server: Caddy" in answer.head

    def took(self, answer):
        return answer.zone is not None and self.counts(answer)

    def bytes(self, answer):
        return answer.body_bytes

    def places(self):
        return {"/var/log/caddy/": f"{self.logs}/"}
