"""Random requests, whose texts are what clients send who mean it ill, written in every format as the servers
write them, and counted here: what `ingest` stores must be the same, from files and over HTTP.

The writers are this file's own, after the servers': nginx escapes quotes, backslashes and what is not
printable as \\xXX, or as JSON, or nothing; Apache puts a backslash before quotes and writes \\n, \\xhh;
CloudFront encodes as URLs do; the others write JSON. Descriptions are drawn, too: what one of them is refused
for is not looked at, but that no client's text changes what the others count.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse
import urllib.request
from datetime import datetime, timezone
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
SEED = random_seed()
LINES = 5000 if LONG else 400
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": "2026-11-20T12:00:00Z"}
NOON = 1795176000
HOSTS = {"a.example": 101, "b.example": 102, "xn--bcher-kva.example": 102}
PIECES = [b" ", b" ", b'"', b'"', b"\\", b"|", b"\t", b"\0", b"x", b"200", b"-", b"[", b"]", b"a.example", b"\xff",
          b"\xc3\xa9", b'" 200 1 "', b'","b":1,"', b"[20/Nov/2026:12:00:00 +0000]", b"}", b"{", b"1795176000", b"%",
          b"\\x22", b"\x7f", b"'", b"$status", b"\\\"", b" 200 9 "]
SERVED = {"HIT", "STALE", "UPDATING", "REVALIDATED"}


def nginx_default(text):
    return b"".join(b"\\x%02X" % c if c < 32 or c > 126 or c in b'"\\' else bytes([c]) for c in text) or b"-"


def nginx_json(text):
    named = {8: b"\\b", 9: b"\\t", 10: b"\\n", 12: b"\\f", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
    return b"".join(named.get(c) or (b"\\u%04X" % c if c < 32 else bytes([c])) for c in text)


def apache(text):
    named = {8: b"\\b", 9: b"\\t", 10: b"\\n", 11: b"\\v", 13: b"\\r", 34: b'\\"', 92: b"\\\\"}
    return b"".join(named.get(c) or (b"\\x%02x" % c if c < 32 or c > 126 else bytes([c])) for c in text) or b"-"


def url(text):
    return urllib.parse.quote(text, safe="/:-._~").encode() or b"-"


def raw(text):
    return text or b"-"


def zoned(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc)


class Request:
    def __init__(self, rng):
        def text():
            return b"".join(rng.choice(PIECES) for _ in range(rng.randrange(6)))
        self.ms = (NOON - rng.randrange(5 * 3600)) * 1000 + rng.randrange(1000)
        self.at = zoned(self.ms // 1000)
        self.local = self.at.strftime("%d/%b/%Y:%H:%M:%S +0000").encode()
        self.status = rng.choice([200, 200, 206, 304, 404, 499, 502])
        self.bytes = rng.choice([0, 1, rng.randrange(10**6), 2**44])
        self.host = rng.choice(list(HOSTS))
        self.shown = rng.choice([self.host, self.host.upper(), self.host + ":8443", self.host + "."]).encode()
        self.cache = rng.choice(["HIT", "MISS", "STALE", "UPDATING", "REVALIDATED", "BYPASS", "-"])
        self.user, self.agent, self.referer, self.path = text(), text(), text(), b"/" + text()
        self.ip = rng.choice([b"192.0.2.7", b"2001:db8::7"])

    def object(self):
        agent, referer, path = (t.decode("utf-8", "replace") for t in (self.agent, self.referer, self.path))
        return agent, referer, path


NAMES = ("date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) "
         "cs(User-Agent) x-edge-result-type x-host-header")


def nginx_main(r, e=nginx_default):
    return (b'%b - %b [%b] "GET %b HTTP/1.1" %d %d "%b" "%b" %b %b' % (
        r.ip, e(r.user), r.local, e(r.path), r.status, r.bytes, e(r.referer), e(r.agent), r.shown,
        r.cache.encode() if r.cache != "-" or e is nginx_default else b"-"))


def caddy(r):
    agent, referer, path = r.object()
    return json.dumps({"level": "info", "ts": r.ms / 1000, "msg": "handled request", "request": {
        "remote_ip": r.ip.decode(), "client_ip": r.ip.decode(), "host": r.shown.decode(), "uri": path,
        "headers": {"Referer": [referer], "User-Agent": [agent], agent or "X": [path]}},
        "size": r.bytes, "status": r.status, "resp_headers": {"Server": [referer]}},
        ensure_ascii=False, separators=(",", ":")).encode()


def cloudflare(r):
    agent, referer, path = r.object()
    return json.dumps({"CacheCacheStatus": r.cache.lower(), "ClientCountry": "xx", "ClientRequestHost": r.shown.decode(),
                       "ClientRequestURI": path, "ClientRequestUserAgent": agent, "EdgeColoCode": "DE",
                       "ClientRequestReferer": referer, "EdgeResponseBytes": r.bytes, "EdgeResponseStatus": r.status,
                       "EdgeStartTimestamp": r.at.strftime("%Y-%m-%dT%H:%M:%SZ")}).encode()


def fastly(r):
    agent, referer, path = r.object()
    state = {"HIT": "HIT-CLUSTER", "-": "PASS"}.get(r.cache, r.cache)
    return json.dumps({"timestamp": r.at.strftime("%Y-%m-%dT%H:%M:%S+0000"), "host": r.shown.decode(), "url": path,
                       "request_referer": referer, "request_user_agent": agent, "response_state": state,
                       "response_status": r.status, "response_body_size": r.bytes}).encode()


def cloudfront(r):
    word = {"HIT": "Hit", "REVALIDATED": "RefreshHit", "STALE": "OriginShieldHit", "UPDATING": "Hit"}.get(r.cache, "Miss")
    return b"\t".join([r.at.strftime("%Y-%m-%d\t%H:%M:%S").encode(), b"DE51-P1", b"%d" % r.bytes, r.ip, b"GET",
                       b"d1.cloudfront.net", url(r.path), b"%d" % r.status, url(r.referer), url(r.agent),
                       word.encode(), r.shown])


MAIN = ('$remote_addr - $remote_user [$time_local] "$request" $status $bytes_sent "$http_referer" '
        '"$http_user_agent" $http_host $upstream_cache_status')
# name: (format, map, writer of a line, whether it tells the cache status, whether all texts are told apart)
FORMATS = {
    "nginx": (f"nginx:{MAIN}", "", nginx_main, True, True),
    "nginx json": (f"nginx:escape=json '{MAIN}'", "", lambda r: nginx_main(r, nginx_json), True, True),
    "nginx objects": ("nginx:escape=json '{\"t\":$msec,\"h\":\"$http_host\",\"s\":\"$status\",\"b\":$bytes_sent,'\n"
                      "'\"u\":\"$request_uri\",\"a\":\"$http_user_agent\"}';", "",
                      lambda r: b'{"t":%d.%03d,"h":"%b","s":"%d","b":%d,"u":"%b","a":"%b"}' % (
                          r.ms // 1000, r.ms % 1000, r.shown, r.status, r.bytes, nginx_json(r.path),
                          nginx_json(r.agent)), False, True),
    "nginx bare": ("nginx:escape=none '$msec|$status|$http_user_agent|$bytes_sent|$server_name'", "",
                   lambda r: b"%d.%03d|%d|%b|%d|%b" % (r.ms // 1000, r.ms % 1000, r.status, raw(r.agent), r.bytes,
                                                       r.host.encode()), False, True),
    "nginx texts": ("nginx:escape=none '$msec $status $bytes_sent $host $http_user_agent $http_referer'", "",
                    lambda r: b"%d.%03d %d %d %b %b %b" % (r.ms // 1000, r.ms % 1000, r.status, r.bytes, r.shown,
                                                           raw(r.agent), raw(r.referer)), False, False),
    "vcombined": ("vcombined", "",
                  lambda r: b'%b:443 %b - %b [%b] "GET %b HTTP/1.1" %d %b "%b" "%b"' % (
                      r.host.encode(), r.ip, apache(r.user) if r.user else b'""', r.local, apache(r.path), r.status,
                      b"%d" % r.bytes if r.bytes else b"-", apache(r.referer), apache(r.agent)), False, True),
    "apache": ('apache:%{usec}t %>s %B "%{Host}i" "%{User-Agent}i" "%U%q" %{Varnish:hitmiss}x', "",
               lambda r: b'%d000 %d %d "%b" "%b" "%b" %b' % (
                   r.ms, r.status, r.bytes, r.shown, apache(r.agent), apache(r.path),
                   r.cache.lower().encode()), True, True),
    "caddy": ("json", "caddy", caddy, False, True),
    "cloudflare": ("json", "cloudflare", cloudflare, True, True),
    "fastly": ("json", "fastly", fastly, True, True),
    "cloudfront": ("cloudfront", "", cloudfront, True, True),
}


# What servers write for each thing that a description may ask for; e escapes as the server does.
def text_of(name):
    return lambda r, e: e(getattr(r, name))


def with_line(r, e):
    return e(b"GET " + r.path + b" HTTP/1.1")


NGINX = {
    "time": {"$msec": lambda r, e: b"%d.%03d" % divmod(r.ms, 1000), "$time_local": lambda r, e: r.local,
             "$time_iso8601": lambda r, e: r.at.strftime("%Y-%m-%dT%H:%M:%S+00:00").encode()},
    "status": {"$status": lambda r, e: b"%03d" % r.status},
    "bytes": {"$bytes_sent": lambda r, e: b"%d" % r.bytes},
    "host": {"$host": lambda r, e: r.host.encode(), "$server_name": lambda r, e: r.host.encode(),
             "$http_host": lambda r, e: e(r.shown)},
    "cache": {"$upstream_cache_status": lambda r, e: e(b"" if r.cache == "-" else r.cache.encode())},
    "other": {"$remote_addr": lambda r, e: r.ip, "$http_referer": text_of("referer"), "$remote_user": text_of("user"),
              "$http_user_agent": text_of("agent"), "$request": with_line, "$request_uri": text_of("path"),
              "$request_time": lambda r, e: b"0.%03d" % (r.ms % 1000), "$pipe": lambda r, e: b".",
              "$upstream_addr": lambda r, e: e(b"10.0.0.1:80, unix:/s : 10.0.0.2:80"),
              "$body_bytes_sent": lambda r, e: b"%d" % (r.bytes // 2), "$request_id": lambda r, e: b"%032x" % r.ms,
              "$http_cookie": text_of("referer"), "$server_port": lambda r, e: b"443", "$gzip_ratio": lambda r, e: e(b"")},
}
APACHE = {
    "time": {"%t": lambda r, e: b"[" + r.local + b"]", "%{usec}t": lambda r, e: b"%d000" % r.ms,
             "%{sec}t": lambda r, e: b"%d" % (r.ms // 1000),
             "%{%Y-%m-%dT%H:%M:%S%z}t": lambda r, e: r.at.strftime("%Y-%m-%dT%H:%M:%S+0000").encode()},
    "status": {"%>s": lambda r, e: b"%d" % r.status},
    "bytes": {"%O": lambda r, e: b"%d" % r.bytes, "%b": lambda r, e: b"%d" % r.bytes if r.bytes else b"-"},
    "host": {"%v": lambda r, e: r.host.encode(), "%V": lambda r, e: e(r.shown.split(b":")[0]),
             "%{Host}i": lambda r, e: e(r.shown)},
    "cache": {"%{X-Cache}o": lambda r, e: e(b"" if r.cache == "-" else r.cache.encode() + b" from x")},
    "other": {"%h": lambda r, e: r.ip, "%l": lambda r, e: b"-", "%u": lambda r, e: e(r.user) if r.user else b'""',
              "%r": with_line, "%U%q": text_of("path"), "%{Referer}i": text_of("referer"), "%{User-Agent}i": text_of("agent"),
              "%D": lambda r, e: b"%d" % (r.ms % 1000), "%X": lambda r, e: b"+", "%I": lambda r, e: b"9",
              "%H": lambda r, e: b"HTTP/1.1", "%f": lambda r, e: e(b"/var/www" + r.path)},
}


def some_columns(rng, table):
    """One column for each thing that is counted, the cache status perhaps, and some that are not, in any order."""
    columns = [(kind, rng.choice(list(table[kind]))) for kind in ("time", "status", "bytes", "host")]
    if rng.random() < .6:
        columns.append(("cache", rng.choice(list(table["cache"]))))
    columns += [("other", name) for name in rng.sample(list(table["other"]), rng.randrange(7))]
    rng.shuffle(columns)
    return columns


def separated(rng, columns):
    """(what stands before it, column) for each, and what stands behind the last one."""
    style, pieces, before = rng.choice(["quoted", "bare", "mixed", "object"]), [], ""
    for i, column in enumerate(columns):
        before += "" if not i else {"object": ",", "mixed": rng.choice([" ", "\t", "|", " - ", ', "" ', ";"])}.get(style, " ")
        quote = style in ("quoted", "object") or (style == "mixed" and rng.random() < .5)
        before += f'"k{i}":' if style == "object" else f"k{i}=" if style == "mixed" and rng.random() < .3 else ""
        pieces.append((("{" if style == "object" and not i else "") + before + '"' * quote, column))
        before = '"' * quote
    return pieces, before + "}" * (style == "object")


class Formats(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tollbook-formats-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        zones = [{"id": number, "account": 1, "name": f"z{number}", "type": "premium",
                  "created": "2026-01-05T00:00:00Z", "hostnames": [h for h in HOSTS if HOSTS[h] == number],
                  "settings": {"OriginUrl": "https://o.example", "EnableLogging": True}} for number in (101, 102)]
        catalog = {"accounts": [{"id": 1, "name": "a", "currency": "USD"}], "zones": zones}
        self.tool("init", "--db", "base.db")
        self.tool("apply", "--db", "base.db", "-", stdin=json.dumps(catalog).encode())

    def fresh(self, name):
        for end in ("-wal", "-shm"):
            (self.folder / f"{name}{end}").unlink(missing_ok=True)
        shutil.copy(self.folder / "base.db", self.folder / name)

    def run_tool(self, *words, stdin=b""):
        return subprocess.run([BUILD / "tollbook", *map(str, words)], input=stdin, capture_output=True, timeout=300,
                              cwd=self.folder, env=ENVIRONMENT)

    def tool(self, *words, stdin=b""):
        done = self.run_tool(*words, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{words}: {done.stderr.decode()}")
        return done

    def stored(self, db):
        out = self.tool("query", "--db", db, "--format", "tsv",
                        "SELECT zone, hour, sum(requests), sum(bytes), sum(cached_bytes), sum(pulled), "
                        "sum(cache_known), sum(status_4xx), sum(balancer_requests) FROM buckets GROUP BY 1, 2")
        rows = [row.split("\t") for row in out.stdout.decode().splitlines()[1:]]
        return {(int(zone), hour): [int(n) for n in rest] for zone, hour, *rest in rows}

    @staticmethod
    def counted(requests, told):
        sums = {}
        for r in requests:
            served = told and r.cache in SERVED
            row = sums.setdefault((HOSTS[r.host], r.at.strftime("%Y-%m-%dT%H:00:00Z")), [0] * 7)
            reaches = not served or r.cache == "REVALIDATED"
            for i, n in enumerate([1, r.bytes, r.bytes if served else 0, told and not served, told,
                                   400 <= r.status < 500, reaches]):
                row[i] += n
        return sums

    def test_every_format_counts_what_was_sent(self):
        rng = random.Random(SEED)
        for name, (text, mapped, write, told, apart) in FORMATS.items():
            with self.subTest(name):
                requests = [Request(rng) for _ in range(LINES)]
                log = b"".join(write(r) + rng.choice([b"\n", b"\r\n"]) for r in requests)
                if name == "cloudfront":
                    log = b"#Version: 1.0\n#Fields: " + NAMES.encode() + b"\n" + log
                (self.folder / "log").write_bytes(log)
                self.fresh("t.db")
                words = ["--format", text] + (["--map", mapped] if mapped else [])
                said = self.tool("ingest", "--db", "t.db", *words, "log").stderr.decode()
                self.assertIn(" 0 rejected", said)
                self.assertEqual("could not be told apart" in said, not apart, said)
                self.assertEqual(self.stored("t.db"), self.counted(requests, told))
                self.tool("verify", "--db", "t.db")
                half = log.splitlines(True)
                self.fresh("h.db")
                for part in (half[:len(half) // 2], half):  # it grows
                    (self.folder / "log").write_bytes(b"".join(part))
                    self.tool("ingest", "--db", "h.db", "--threads", 3, *words, "log")
                self.assertEqual(self.stored("h.db"), self.counted(requests, told))

    def some_description(self, rng):
        """(--format, a writer of its lines, whether it tells the cache status)"""
        table, family, escapes, escape = rng.choice([
            (APACHE, "apache", "", apache), (NGINX, "nginx", "", nginx_default),
            (NGINX, "nginx", "escape=json ", nginx_json), (NGINX, "nginx", "escape=none ", bytes)])
        columns = some_columns(rng, table)
        pieces, behind = separated(rng, columns)
        described = "".join(before + name for before, (_, name) in pieces) + behind
        if family == "nginx":
            described = f"{escapes}'{described}'" + rng.choice(["", ";"])

        def write(r):
            return b"".join(before.encode() + table[kind][name](r, escape) for before, (kind, name) in pieces) + \
                behind.encode()
        return f"{family}:{described}", write, any(kind == "cache" for kind, _ in columns)

    def test_any_description_that_is_taken_counts_what_was_sent(self):
        rng, taken = random.Random(SEED + 1), 0
        for _ in range(1000 if LONG else 30):
            described, write, told = self.some_description(rng)
            requests = [Request(rng) for _ in range(60)]
            (self.folder / "log").write_bytes(b"".join(write(r) + b"\n" for r in requests))
            self.fresh("d.db")
            with self.subTest(described):
                done = self.run_tool("ingest", "--db", "d.db", "--format", described, "log")
                if done.returncode == 2:  # where a client could write a count
                    self.assertRegex(done.stderr.decode(), "could write it there|can be told from other texts|cannot be told")
                    continue
                self.assertEqual(self.stored("d.db"), self.counted(requests, told), done.stderr.decode())
                taken += 1
        self.assertGreater(taken, 0)


if __name__ == "__main__":
    unittest.main()
