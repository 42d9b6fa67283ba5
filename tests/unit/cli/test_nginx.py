"""A real nginx, clients that send what they like, and every request counted with its exact bytes.

What nginx answered is told by a log of numbers alone, which nothing that a client sends gets into, and by
the bytes that came back. The formats are those of docs/pipe-format.md, taken from there, and others
that people write."""
import base64
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import unittest
from pathlib import Path

from tool import Case, random_seed
from script import held_port

NGINX = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
if not NGINX:
    print("skipped: there is no nginx")
    sys.exit(77)

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])
SEED = random_seed()
LATE = "2100-01-01T00:00:00Z"  # nginx writes the time of the day; no line is ahead of this

CONF = r"""
daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;
events {{ worker_connections 64; }}
http {{
    client_body_temp_path {at}/t1; proxy_temp_path {at}/t2; fastcgi_temp_path {at}/t3;
    uwsgi_temp_path {at}/t4; scgi_temp_path {at}/t5;
    {documented}
    log_format truth '$server_name $bytes_sent $body_bytes_sent $status';
    log_format open '$upstream_cache_status|$status|$tollbook_ms|$bytes_sent|$tollbook_zone|$remote_addr|'
        '$http_referer|$scheme://$host$request_uri|DE|$http_user_agent|$request_id|-';
    log_format open_json escape=json 'MISS|$status|$tollbook_ms|$bytes_sent|$tollbook_zone|'
        '$remote_addr|$http_referer|$scheme://$host$request_uri|DE|$http_user_agent|$request_id|DE';
    log_format extended '$upstream_cache_status|$status|$tollbook_ms|$bytes_sent|$tollbook_zone|$remote_addr|'
        '$http_referer|$scheme://$host$request_uri|DE|$http_user_agent|$request_id|-|$body_bytes_sent|'
        '$http_range|$http_authorization';
    log_format combined_json escape=json '$remote_addr - $remote_user [$time_local] "$request" $status '
        '$body_bytes_sent "$http_referer" "$http_user_agent"';
    {described}
    access_log {at}/truth truth;
    access_log {at}/tollbook tollbook;
    access_log {at}/open open;
    access_log {at}/open_json open_json;
    access_log {at}/extended extended;
    access_log {at}/combined combined;
    access_log {at}/combined_json combined_json;
    access_log {at}/tollbook_combined tollbook_combined;
    server {{ listen 127.0.0.1:{port} default_server; server_name a.example; root {at}/files;
              location /drop {{ return 444; }} location /echo {{ return 200 "$request_uri\n"; }} }}
    server {{ listen 127.0.0.1:{port}; server_name b.example; root {at}/files; }}
}}
"""


# Formats that are described to --format: what stands behind their names is the description. Of each: whether
# it tells the cache status, and whether it counts what $bytes_sent says.
DESCRIBED = {
    "edge": (r"""'$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent '
        '"$http_referer" "$http_user_agent" $server_name $upstream_cache_status'""", True),
    "middle": (r"""'$msec|$status|$bytes_sent|$request_method $request_uri|$server_name'""", False),
    "tabs": (r"""'$time_iso8601\t$server_name\t$bytes_sent\t$status\t$http_user_agent\t$http_referer\t$request'""",
             False),
    "many": (r"""'$msec $server_name $status $bytes_sent $upstream_response_time $http_referer $http_user_agent '
        '$http_range $http_host $request_length'""", False),
    "objects": (r"""escape=json '{"t":"$msec","z":"$server_name","s":$status,"b":$bytes_sent,"r":"$request",'
        '"u":"$http_user_agent","f":"$http_referer","h":"$http_host","c":"$upstream_cache_status"}'""", True),
    "none": (r"""escape=none '$msec $server_name $status $bytes_sent $http_user_agent|$http_referer|$request'""",
             False),
}
MAP = "host=z,time=t,status=s,bytes=b,agent=u,request=r,referer=f,cache=c"


def described():
    return "\n".join(f"log_format {name} {text};\naccess_log {{at}}/{name} {name};"
                     for name, (text, _) in DESCRIBED.items())


def documented():
    """The page's nginx blocks, which are for http { }."""
    text = (SOURCE / "docs" / "pipe-format.md").read_text()
    blocks = re.findall(r"```nginx\n(.*?)```", text, re.S)
    assert len(blocks) == 2
    return "\n".join(blocks)


def basic(user):
    return b"Authorization: Basic " + base64.b64encode(user + b":x") + b"\r\n"


def get(target=b"/f", host=b"a.example", more=b""):
    return b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n" + more + b"\r\n"


def agent(text):
    return get(more=b"User-Agent: " + text + b"\r\n")


ID = b"0f1e2d3c4b5a69788796a5b4c3d2e1f0"
HOSTILE = [
    b'a|b', b'|', b'|||', b'\\', b'\\|', b'\\x7c', b'"', b'\\"', b'a" 200 1 "b', b"x\ty", b"\xff\xfe|\x80",
    b"\x7f", b"|DE|x|" + ID + b"|US", b"|NY|x|" + ID + b"|US|5", b"|" * 3000, b"a|" * 2000, b"x" * 7000, b"", b"-",
    b"%7C%0A", b"%00", b"HIT|200|1|1|1|", b'" "HIT', b"' ; \" | & $host", b"|DE|", b"https://e.example/|x",
]
REQUESTS = (
    [agent(text) for text in HOSTILE] +
    [get(more=b"Referer: " + text + b"\r\n") for text in HOSTILE] +
    [get(b"/f?" + text) for text in HOSTILE] +
    [get(b"/echo?" + text) for text in HOSTILE] +
    [get(host=text) for text in HOSTILE] +
    [get(more=basic(text)) for text in HOSTILE] +
    [get(more=b"Range: " + text + b"\r\nAuthorization: " + other + b"\r\n")
     for text, other in ((b"a|b", b"x|y"), (ID, b"DE"), (b"bytes=0-9", b"Bearer |"), (b"|", ID))] +
    [get(host=b"b.example"), get(host=b"b.example", more=b"User-Agent: x|y\r\n"),
     get(b"/a|b", b"b.example", b"Referer: |\r\nUser-Agent: |\r\n"),
     b"GET /f\r\n", b"garbage\r\n\r\n", b"\r\n", b"GET /f HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x00\r\n\r\n",
     b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET /f HTTP/1.1\r\n\r\n", get(b"/drop"), get(b"/x y"),
     get(b"/" + b"a" * 9000), b"X|Y /f HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n",
     get(b"http://o|ther/f"), b"OPTIONS * HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
     get(host=b"a\x01b"), get(b"/f?\x01")])


CATALOG = json.dumps({
    "accounts": [{"id": 1, "name": "a", "currency": "USD"}],
    "zones": [{"id": 101 + n, "account": 1, "name": f"z{n}", "type": "premium", "created": "2026-01-05T00:00:00Z",
               "hostnames": [host], "settings": {"OriginUrl": "https://o.example"}}
              for n, host in enumerate(["A.example", "b.example"])]}).encode()


class Nginx(Case):
    def setUp(self):
        super().setUp()
        self.at = self.folder / "nginx"
        (self.at / "files").mkdir(parents=True)
        (self.at / "files" / "f").write_bytes(b"content\n" * 500)
        self.port = held_port()
        (self.at / "nginx.conf").write_text(
            CONF.format(at=self.at, port=self.port, documented=documented(),
                        described=described().replace("{at}", str(self.at))))
        self.nginx = subprocess.Popen([NGINX, "-c", self.at / "nginx.conf", "-p", self.at],
                                      stderr=subprocess.PIPE)
        self.addCleanup(self.end_nginx)
        self.wait_for(self.listens)

    def end_nginx(self):
        self.nginx.terminate()
        self.nginx.wait()
        self.nginx.stderr.close()

    def listens(self):
        self.assertIsNone(self.nginx.poll(), "nginx ended")
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        except ConnectionRefusedError:
            return False

    def send(self, request):
        """One request; the bytes that came back."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as s:
            came = 0
            try:
                s.sendall(request)
                s.shutdown(socket.SHUT_WR)
                while more := s.recv(65536):
                    came += len(more)
            except ConnectionError:
                pass
            return came

    def truth(self):
        """What nginx says: zone -> [requests, bytes, bytes of bodies]."""
        zones = {}
        for row in (self.at / "truth").read_text().splitlines():
            name, sent, body, _ = row.split(" ")
            zone = zones.setdefault({"a.example": "101", "b.example": "102"}[name], [0, 0, 0])
            zone[0] += 1
            zone[1] += int(sent)
            zone[2] += int(body)
        return zones

    def random_request(self, rng):
        def text():
            return b"".join(rng.choice([b"|", b"|", b'"', b"\\", b" ", b"x", b"DE", b"US", ID, b"\xe9", b"\t",
                                        b"200", b"-", b"http://h/"]) for _ in range(rng.randrange(9)))
        more = b"".join(name + b": " + text() + b"\r\n" for name in (b"User-Agent", b"Referer", b"Range")
                        if rng.randrange(3))
        return get(b"/f?" + text().replace(b" ", b"+").replace(b"\t", b""),
                   rng.choice([b"a.example", b"b.example", text()]), more)

    def test_every_answered_request_is_counted_with_its_bytes(self):
        rng = random.Random(SEED)
        requests = REQUESTS + [self.random_request(rng) for _ in range(150)]
        came = sum(self.send(request) for request in requests)
        self.wait_for(lambda: len((self.at / "truth").read_text().splitlines()) >= len(requests))
        truth = self.truth()
        self.assertEqual(sum(zone[0] for zone in truth.values()), len(requests))
        self.assertEqual(sum(zone[1] for zone in truth.values()), came)
        sent = sorted([zone, str(n), str(b)] for zone, (n, b, _) in truth.items())
        for name in ("tollbook", "open", "open_json", "extended"):
            with self.subTest(name):
                self.init(f"{name}.db")
                done = self.run_tool("ingest", "--db", f"{name}.db", self.at / name, now=LATE)
                self.assertIn(f"{len(requests)} accepted,", done.err)
                self.assertIn(" 0 rejected", done.err)
                self.assertEqual("could not be told apart" in done.err, name != "tollbook")
                self.assertEqual(self.query("SELECT zone, sum(requests), sum(bytes) FROM buckets GROUP BY 1 "
                                            "ORDER BY 1", f"{name}.db"), sent)
                if name == "tollbook":
                    self.assertEqual(self.query("SELECT DISTINCT region FROM buckets", f"{name}.db"), [["DE"]])
                self.assertIn("nothing new", self.run_tool("ingest", "--db", f"{name}.db", self.at / name,
                                                           now=LATE).err)
        for name, (text, told) in DESCRIBED.items():
            for words in [("--format", f"nginx:{text};")] + [
                    ("--format", "json", "--map", MAP)] * (name == "objects"):
                with self.subTest(name):
                    db = f"{name}{len(words)}.db"
                    self.init(db)
                    self.run_tool("apply", "--db", db, "-", stdin=CATALOG, now=LATE)
                    done = self.run_tool("ingest", "--db", db, *words, self.at / name, now=LATE)
                    self.assertEqual(self.query("SELECT reason, CAST(text AS TEXT) FROM reject", db), [])
                    self.assertEqual(self.query("SELECT zone, sum(requests), sum(bytes) FROM buckets GROUP BY 1 "
                                                "ORDER BY 1", db), sent)
                    self.assertEqual(self.query("SELECT sum(cache_known) FROM buckets", db),
                                     [[str(len(requests) if told else 0)]])
                    self.assertEqual("could not be told apart" in done.err, name in ("many", "none"))
        bodies = sum(zone[2] for zone in truth.values())
        for name, total in (("combined", bodies), ("combined_json", bodies), ("tollbook_combined", came)):
            with self.subTest(name):
                self.init(f"{name}.db")
                self.run_tool("ingest", "--db", f"{name}.db", "--format", "combined", "--zone", "7", "--region",
                              "DE", self.at / name, now=LATE)
                self.assertEqual(self.query("SELECT * FROM reject", f"{name}.db"), [])
                self.assertEqual(self.query("SELECT sum(requests), sum(bytes) FROM buckets", f"{name}.db"),
                                 [[str(len(requests)), str(total)]])


if __name__ == "__main__":
    unittest.main()
