"""Ingest with usage on two ClickHouse shards against ClickHouse's own rate, a part of the workload `cluster` of `run`
beside this file. The log's pieces come as lines, and as the cells that `follow` makes of them.

Of ready cells the peer gets the rows of each piece, as RowBinary, in as many INSERTs as tollbook made, into tables of the same
form on the same servers, both at once. tollbook adds countries of pieces that it commits together up first: what that alone is
worth is told by giving the peer these rows, too. Of lines it parses them itself: each server half of them, in one stream, into a table
of type Null with views that add them up (the best of the forms in clickhouse.py's trials). It gets no hash of a
piece, no catalogue, no late usage and no refused lines, which tollbook has in it."""
import concurrent.futures
import contextlib
import http.client
import http.server
import os
import re
import struct
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import quote

SHIPPERS = 128 # as many edge locations: each waits for its answer, a second at most while rows are gathered
LINE = ("cache String,code UInt16,ms UInt64,bytes UInt64,zone UInt32,ip String,ref String,url String,edge String,ua String,"
        "rid String,cc String")
SUMS = ("count() AS req,sum(bytes) AS b,sum(cache='HIT') AS hr,sum(if(cache='HIT',bytes,0)) AS hb,sum(code>=300 AND code<400) AS c3,"
        "sum(code>=400 AND code<500) AS c4,sum(code>=500) AS c5")
CSV = "max_insert_block_size=131072&format_csv_delimiter=%7C&format_csv_allow_single_quotes=0&input_format_allow_errors_num=0&"


def each(n, work):
    """work(i) in n threads; what one of them raises is raised."""
    with concurrent.futures.ThreadPoolExecutor(n) as threads:
        list(threads.map(work, range(n)))


class Recorder:
    """Between `follow` and a server: the pieces that come as cells, as they are posted."""

    def __init__(self, port):
        self.pieces = pieces = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                names = {k: v for k, v in self.headers.items() if k not in ("Host", "Content-Length")}
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request(self.command, self.path, body, names)
                got = connection.getresponse()
                said = got.read()
                if self.path.startswith("/ingest/cells") and got.status == 200:
                    pieces.append((self.path, body))
                self.send_response(got.status)
                for k, v in got.getheaders():
                    if k.lower() not in ("content-length", "connection", "date", "transfer-encoding"):
                        self.send_header(k, v)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def close(self):
        self.listener.shutdown()
        self.listener.server_close()


class Shipping:
    """pieces: files of lines; catalogue: a file, of zones none of which keeps its lines."""

    def __init__(self, both, catalogue, pieces):
        self.both, self.catalogue, self.turn, self.seconds, self.watermark = both, catalogue, 0, {}, []
        self.lines = [("/ingest/logs", piece.read_bytes()) for piece in pieces]
        self.brought = [self.count(body) for _, body in self.lines[len(pieces) // 2:]]
        self.cells = self.record(pieces)

    def apply(self, server):
        self.both.harness.run("apply", "--server", server.url, "--key", server.keys["operator"], self.catalogue)

    def record(self, pieces):
        server = self.both.harness.Server("--cells", "on", log=None)
        key = server.path / "key"
        key.write_text(server.keys["operator"])
        key.chmod(0o600)
        try:
            self.apply(server)
            recorder = Recorder(server.port)
            half = len(pieces) // 2
            for some in (pieces[:half], pieces[half:]): # a call ships its files in any order
                self.both.harness.run("follow", "--once", "--bytes", 1 << 24, "--server",
                                      f"http://127.0.0.1:{recorder.port}", "--key-file", key, *some)
            recorder.close()
        finally:
            server.close()
        return recorder.pieces

    def url(self):
        hosts = ",".join(f"127.0.0.1:{s.port}" for s in self.both.shards)
        return f"clickhouse://{hosts}/ship{self.turn}"

    def ship(self, name, pieces):
        """The INSERTs that it took each shard and table. The first half is sent before: series are new once."""
        self.turn += 1
        server = self.both.harness.Server("--usage", self.url(), "--usage-compact-rows", 10**9, log=None)
        try:
            self.apply(server)
            half = len(pieces) // 2
            self.send(server, pieces[:half])
            self.watermark = self.newest()
            before = self.statements(server)
            with self.counted(name, server):
                self.send(server, pieces[half:])
            return max(1, (self.statements(server) - before) // (2 * len(self.both.shards)))
        finally:
            server.stop()
            server.folder.cleanup()

    def send(self, server, pieces):
        left, lock, wrong = iter(pieces), threading.Lock(), []

        def shipper(_):
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            while True:
                with lock:
                    target, body = next(left, (None, None))
                if not target or wrong:
                    return
                status = 503
                while status == 503: # it has more to do than it can
                    connection.request("POST", target, body, {"AccessKey": server.keys["operator"]})
                    answer = connection.getresponse()
                    status, said = answer.status, answer.read()
                if status != 200:
                    wrong.append(f"{target}: {status} {said[:300]}")
        each(SHIPPERS, shipper)
        if wrong:
            raise RuntimeError(wrong[0])

    @contextlib.contextmanager
    def counted(self, name, server=None):
        """Seconds, and seconds of processor of the server and of the shards, with the merges that follow."""
        def processor(processes):
            fields = [Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split() for p in processes]
            return sum(int(f[11]) + int(f[12]) for f in fields) / os.sysconf("SC_CLK_TCK")
        places = {" here": [server.process] if server else [], " there": [s.process for s in self.both.shards]}

        def look():
            return [processor(p) for p in places.values()]
        self.both.quiet() # merges of what was there before are nobody's
        before, begin = look(), time.perf_counter()
        yield
        took = time.perf_counter() - begin
        self.both.quiet()
        self.seconds.setdefault(name, []).append(took)
        for place, a, b in zip(places, before, look()):
            self.seconds.setdefault(name + place, []).append(b - a)

    def newest(self):
        return [int(s.ask(f"SELECT max(batch) FROM ship{self.turn}.cell")) for s in self.both.shards]

    @staticmethod
    def statements(server):
        text = server.ask("GET", "/metrics").body.decode()
        return sum(int(n) for n in re.findall(r"^tollbook_usage_statements_total\S* (\d+)$", text, re.M))

    def columns(self, table):
        """Those that hold anything, as tollbook sends them, and the bytes of a row."""
        types = [line.split("\t")[:2] for line in self.both.shards[0].ask(f"DESCRIBE TABLE ship{self.turn}.{table}").splitlines()]
        most = [s.ask(f"SELECT {','.join(f'max({name})' for name, _ in types)} FROM ship{self.turn}.{table}").split("\t")
                for s in self.both.shards]
        used = [pair for pair, *values in zip(types, *most) if any(int(value) for value in values)]
        return [name for name, _ in used], sum({"UInt8": 1, "UInt16": 2, "UInt32": 4}.get(kind, 8) for _, kind in used)

    def rows(self, table, columns):
        """Of each shard, as RowBinary, in the order of batches: what was sent last."""
        sql = f"SELECT {','.join(columns)} FROM ship{self.turn}.{table} WHERE batch>{max(self.watermark)} ORDER BY batch FORMAT RowBinary"
        return [urllib.request.urlopen(f"http://127.0.0.1:{s.port}/", sql.encode()).read() for s in self.both.shards]

    @staticmethod
    def count(body):
        """Requests and bytes of a piece by zone, day and country."""
        counted = {}
        for line in body.splitlines():
            fields = line.split(b"|")
            key = int(fields[4]), int(fields[2]) // 86400000, fields[11][0] << 8 | fields[11][1]
            requests, size = counted.get(key, (0, 0))
            counted[key] = requests + 1, size + int(fields[3])
        return counted

    def countries(self):
        """Their rows as the pieces brought them, of each shard: the same sums as tollbook's."""
        out = []
        for shard in self.both.shards:
            of = f"FROM ship{self.turn}.country WHERE batch>{max(self.watermark)}"
            zones = {int(zone) for zone in shard.ask(f"SELECT DISTINCT zone {of}").split()}
            rows = [(*key, max(self.watermark) + 1 + n, *counted[key]) for n, counted in enumerate(self.brought)
                    for key in sorted(counted) if key[0] in zones]
            if shard.ask(f"SELECT sum(requests),sum(bytes) {of}") != f"{sum(r[4] for r in rows)}\t{sum(r[5] for r in rows)}":
                raise RuntimeError("countries are not the lines'")
            out.append(b"".join(struct.pack("<qIHQQQ", *row) for row in rows))
        return out

    def insert(self, name, inserts, joined):
        """ClickHouse takes the rows of the last ship, those of countries joined or not; how many they are."""
        work, n = [[] for _ in self.both.shards], 0
        for table in ("cell", "country"):
            columns, width = self.columns(table)
            into = f"peer.{table}({','.join(columns)})"
            for shard, rows in enumerate(self.rows(table, columns) if joined or table == "cell" else self.countries()):
                self.both.shards[shard].ask("CREATE DATABASE IF NOT EXISTS peer")
                self.both.shards[shard].ask(f"CREATE TABLE peer.{table} AS ship{self.turn}.{table}")
                self.both.shards[shard].ask(f"INSERT INTO peer.{table} SELECT * FROM ship{self.turn}.{table} WHERE batch<="
                                            f"{max(self.watermark)}") # which is there, and merged, in both
                some = (len(rows) // width + inserts) // inserts * width
                work[shard] += [(into, rows[at:at + some]) for at in range(0, len(rows), some)]
                n += len(rows) // width

        def send(shard):
            connection = http.client.HTTPConnection("127.0.0.1", self.both.shards[shard].port)
            for into, rows in work[shard]:
                connection.request("POST", "/?query=" + quote(f"INSERT INTO {into} FORMAT RowBinary"), rows)
                answer = connection.getresponse()
                said = answer.read()
                if answer.status != 200:
                    raise RuntimeError(said[:300])
        with self.counted(name):
            each(len(work), send)
        return n

    def parse(self, name, files):
        """ClickHouse parses these lines and adds them up, a file for each shard; how many it took."""
        for shard in self.both.shards:
            for sql in ("CREATE DATABASE raw", f"CREATE TABLE raw.raw({LINE}) ENGINE=Null",
                        "CREATE TABLE raw.a(zone UInt32,h UInt32,edge String,req UInt64,b UInt64,hr UInt64,hb UInt64,c3 UInt64,c4 UInt64,"
                        "c5 UInt64) ENGINE=SummingMergeTree() PARTITION BY tuple() ORDER BY(zone,h,edge)",
                        "CREATE TABLE raw.g(d UInt32,cc String,b UInt64) ENGINE=SummingMergeTree() PARTITION BY tuple() ORDER BY(d,cc)",
                        "CREATE MATERIALIZED VIEW raw.am TO raw.a AS SELECT zone,toUInt32(intDiv(ms,3600000)) AS h,edge,"
                        f"{SUMS} FROM raw.raw GROUP BY zone,h,edge",
                        "CREATE MATERIALIZED VIEW raw.gm TO raw.g AS SELECT toUInt32(intDiv(ms,86400000)) AS d,cc,sum(bytes) AS b"
                        " FROM raw.raw GROUP BY d,cc"):
                shard.ask(sql)
        sql = quote("INSERT INTO raw.raw FORMAT CSV")

        def send(i):
            subprocess.run(["curl", "-sSf", "-H", "Expect:", "-T", files[i],
                            f"http://127.0.0.1:{self.both.shards[i].port}/?{CSV}query={sql}"], check=True)
        with self.counted(name):
            each(len(files), send)
        return sum(int(shard.ask("SELECT sum(req) FROM raw.a")) for shard in self.both.shards)

    def drop(self, *names):
        for shard in self.both.shards:
            for name in names:
                shard.ask(f"DROP DATABASE IF EXISTS {name}")


def measure(both, catalogue, pieces, halves, rounds):
    """Seconds by name; how many rows and lines these are; what was wrong. halves: the lines of the pieces' second half."""
    of, wrong, rows = Shipping(both, catalogue, pieces), [], 0
    lines = sum(body.count(b"\n") for _, body in of.lines[len(of.lines) // 2:])
    for _ in range(rounds):
        inserts = of.ship("cells", of.cells)
        rows = of.insert("rows", inserts, False)
        of.drop("peer")
        of.insert("joined rows", inserts, True)
        of.drop("peer", f"ship{of.turn}")
        of.ship("lines", of.lines)
        of.drop(f"ship{of.turn}")
        taken = of.parse("parsed", halves)
        of.drop("raw")
        if taken != lines:
            wrong.append(f"cluster: ClickHouse took {taken} lines of {lines}")
    return of.seconds, rows, lines, wrong
