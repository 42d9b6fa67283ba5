"""Usage on ClickHouse servers against usage in the file and against ClickHouse's own best, a workload of `run` beside
this file. Two private shards and two tollbook servers with one history; answers are compared. What is shipped to them is
measured in shipping.py. Whoever is asked is asked in the same way (Line), each on a connection of its own, in another order each turn."""
import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

TESTS = Path(__file__).resolve().parents[1]
LOCATIONS = ("DE", "NY", "SG", "LA", "JP")
DAYS = [f"2026-10-{day:02}" for day in range(6, 32)] + ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"]
TARGET = "/statistics?hourly=true&pullZone={}&dateFrom=2026-10-06&dateTo=2026-11-04"
ZONES = range(101, 125) # of one account
MONTH = "2026-10"


# What GET /statistics shows, by the names of the columns.
SHOWN = ("requests", "bytes", "cached_bytes", "pulled", "status_3xx", "status_4xx", "status_5xx", "origin_bytes",
         "origin_time_ms_sum", "origin_time_count", "shield_bytes", "shield_internal_bytes", "cache_unknown")


def bucket(zone, place, hour, n):
    """Every counter that is shown has something in it: a column of zeros costs less."""
    counters = {name: (n * 7919 + 31 * i) % 9973 + 1 for i, name in enumerate(SHOWN) if name != "cache_unknown"}
    return json.dumps({"zone": zone, "region": place, "hour": f"{hour}:00:00Z", **counters, "requests": 20000 + n,
                       "bytes": 10**9 + n * 77, "optimized": 2, "input_bytes": 900, "saved_bytes": 300}).encode() + b"\n"


def spent(processes):
    """Milliseconds of processor."""
    return sum(time.clock_gettime_ns(~each.pid << 3 | 2) for each in processes) / 1e6 # clock_getcpuclockid(3)


def took(work, processes=()):
    """By the clock, and of these processes' time."""
    before, begin = spent(processes), time.perf_counter()
    answer = work()
    ms = (time.perf_counter() - begin) * 1000
    return (ms, spent(processes) - before), answer


class Line:
    """A connection that is kept. A request is one write; the answer is read into one buffer up to its end, and nothing of it looked at but
    its head: the client costs next to nothing, and the same whoever is asked."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = memoryview(bytearray(4 << 20))

    def ask(self, request):
        self.socket.sendall(request)
        n, begin, end = 0, 0, None
        while end is None or n < end:
            more = self.socket.recv_into(self.buffer[n:])
            n += more
            if not more:
                raise RuntimeError(f"cut after {n} bytes")
            head = begin or self.buffer.obj.find(b"\r\n\r\n", 0, n)
            if head < 0:
                continue
            if not begin:
                begin = head + 4
                length = re.search(rb"\r\ncontent-length: *(\d+)\r\n", self.buffer.obj[:begin], re.I)
            if length:
                end = begin + int(length[1])
            elif self.buffer[n - 7:n] == b"\r\n0\r\n\r\n":
                break
        if self.buffer[9:12] != b"200":
            raise RuntimeError(bytes(self.buffer[:min(n, 600)]))
        return bytes(self.buffer[begin:n])

    def close(self):
        self.socket.close()


class Both:
    """A server with its usage in the file, and one with it on two shards."""

    def __init__(self, build):
        os.environ["TB_BUILD"] = str(build)
        sys.path += [str(TESTS / "http"), str(TESTS)]
        import harness
        spec = importlib.util.spec_from_file_location("clickhouse_shards", TESTS / "http/clickhouse.py")
        clickhouse_shards = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(clickhouse_shards)
        self.harness = harness
        self.shards = [clickhouse_shards.ClickHouse() for _ in range(2)]
        url = "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.shards) + "/tollbook_bench"
        self.file = harness.Server("--cache-mb", "0", log=None)
        self.options = ["--cache-mb", "0", "--usage", url]
        self.away = harness.Server(*self.options, "--usage-compact-rows", 10**9, log=None)

    def quiet(self):
        """Waits until no shard merges what it was sent: that is work of its own, beside whoever asks first."""
        while any(int(shard.ask("SELECT count() FROM system.merges")) for shard in self.shards):
            time.sleep(0.02)

    def fold(self):
        """One row for each place and hour, and no others: what was folded goes at the next start."""
        def waiting():
            text = self.away.ask("GET", "/metrics").body.decode()
            return int(re.search(r"^tollbook_usage_uncompacted_rows (\d+)$", text, re.M)[1])

        def single():
            sql = "SELECT count()=uniqExact(scope,owner,edge,h) FROM tollbook_bench.cell WHERE scope>0"
            return all(shard.ask(sql) == "1" for shard in self.shards)
        while waiting() or not single():
            time.sleep(0.05)
            if not waiting() and not single():
                self.away.stop()
                self.away.start(*self.options, "--usage-compact-rows", 0)
                time.sleep(2)
    def post(self, target, body, **headers):
        for server in (self.file, self.away):
            answer = server.ask("POST", target, server.keys["operator"], body, **headers)
            if answer.status not in (200, 201):
                raise RuntimeError(f"{target}: {answer.status} {answer.body[:300]}")

    @staticmethod
    def line(server):
        line = Line(server.port)
        line.ask(Both.request(server, "/healthz"))
        return line

    @staticmethod
    def request(server, target):
        return f"GET {target} HTTP/1.1\r\nHost: test\r\nAccessKey: {server.keys['user']}\r\n\r\n".encode()

    def close(self):
        for server in (self.file, self.away):
            server.stop()
            server.folder.cleanup()
        for shard in self.shards:
            shard.close()


def load(both, accounts):
    zones = [{"id": n, "account": 1, "name": f"a{n}", "created": "2026-01-05T00:00:00Z"} for n in ZONES]
    zones += [{"id": 1000 + n, "account": n, "name": f"z{n}", "created": "2026-01-05T00:00:00Z"}
              for n in range(2, accounts + 1)]
    catalog = {"accounts": [{"id": n, "name": f"account {n}"} for n in range(1, accounts + 1)], "zones": zones}
    both.post("/catalog", json.dumps(catalog).encode(), content_type="application/json")
    book = (TESTS.parent / "fixtures/book.json").read_bytes()
    both.post("/books", book, content_type="application/json")
    for batch in range(6):
        for some in (ZONES[n:n + 4] for n in range(0, len(ZONES), 4)):
            both.post("/ingest/buckets", b"".join(bucket(zone, place, f"{day}T{hour:02}", hour + batch)
                                                  for zone in some for place in LOCATIONS for day in DAYS[:-1] for hour in range(24)))
    for begin in range(2, accounts + 1, 2000):
        both.post("/ingest/buckets", b"".join(bucket(1000 + n, place, f"{day}T05", n)
                                              for n in range(begin, min(begin + 2000, accounts + 1))
                                              for place in ("DE", "SG") for day in ("2026-10-07", "2026-10-20")))


class Best:
    """What the answer shows, asked of ClickHouse as well as it can be: of the shard that has the rows, without a look at what was sent
    twice, at what is not committed or at what was folded. Of several forms and settings, those of tollbook among them, what is quickest
    in the end. hours: the counters by hour, alone; answer: the bytes of each location with them."""

    def __init__(self, both):
        owners = "SELECT DISTINCT owner FROM tollbook_bench.cell WHERE scope=1"
        self.shard = {int(zone): shard for shard in both.shards for zone in shard.ask(owners).split()}
        sums = ",".join(f"sum({name})" for name in SHOWN)
        rows = "FROM tollbook_bench.cell {} scope=1 AND owner=$ AND h>=0"
        hours = [f"SELECT h,{sums} {rows.format(word)} GROUP BY h{order} FORMAT {form}"
                 for word, order, form in (("WHERE", "", "RowBinary"), ("PREWHERE", "", "RowBinary"), ("WHERE", "", "Native"),
                                           ("WHERE", " ORDER BY h", "JSON"))]
        where = rows.format("WHERE")
        places = f"SELECT edge,sum(bytes) {where} GROUP BY edge FORMAT RowBinary"
        together = f"SELECT h,{sums},sumMap([edge],[bytes]) {where} GROUP BY h FORMAT RowBinary"
        fewer = together.replace(",sum(bytes)", "") # these are what the locations' come to
        forms = [("hours", (sql,)) for sql in hours] + [("answer", sqls) for sqls in ((hours[0], places), (together,), (fewer,))]
        one = "max_threads=1&max_read_buffer_size=32768"
        self.ways = [(what, sqls, settings) for what, sqls in forms
                     for settings in ("", one, one + "&optimize_move_to_prewhere=0")]
        self.lines = [{shard: Line(shard.port) for shard in both.shards} for _ in self.ways]
        self.times = {}

    @staticmethod
    def request(sql, settings):
        return f"POST /?{settings} HTTP/1.1\r\nHost: test\r\nContent-Length: {len(sql)}\r\n\r\n{sql}".encode()

    def ask(self, way, zone):
        _, sqls, settings = self.ways[way]
        line = self.lines[way][self.shard[zone]]
        requests = [self.request(sql.replace("$", str(zone)), settings) for sql in sqls]
        times, _ = took(lambda: [line.ask(one) for one in requests], [self.shard[zone].process])
        self.times.setdefault(way, []).append(times)

    def medians(self, what):
        return best_of(middle(times) for way, times in self.times.items() if self.ways[way][0] == what)

    def close(self):
        for lines in self.lines:
            for line in lines.values():
                line.close()


def middle(times):
    """The median by the clock, and by processor."""
    return tuple(map(median, zip(*times)))


def best_of(ways):
    """The least by the clock and the least by processor, which may be two."""
    return tuple(map(min, zip(*ways)))


def invoices(both, server):
    command = [str(both.harness.TOLLBOOK), "invoice", "--month", MONTH, "--server", server.url, "--key",
               server.keys["operator"]]
    return subprocess.run(command, check=True, capture_output=True, env=both.harness.ENVIRONMENT).stdout


def read(both, rounds, note, wrong, prefix=""):
    """In each turn tollbook and each way of ClickHouse's own ask for a zone, each for another one: whoever asks, it was asked for as long
    ago, and never by tollbook, which has nothing of it in memory. All keep their connections. The first turns are of servers that have just
    begun or compacted, and do not count."""
    best = Best(both)
    away, file = (both.line(server) for server in (both.away, both.file))
    askers = len(best.ways) + 1
    turns, first = len(ZONES) - 1, max(0, len(ZONES) - 1 - rounds * 3)

    def own(zone, note):
        target = TARGET.format(zone)
        there = [both.away.process, best.shard[zone].process]
        answer = note(prefix + "uncached", lambda: away.ask(both.request(both.away, target)), there)
        if answer != note("file", lambda: file.ask(both.request(both.file, target))):
            wrong.append("cluster: hours of a zone are not the file's")
        note(prefix + "cached", lambda: away.ask(both.request(both.away, target)))
    both.quiet()
    for turn in range(turns):
        if turn == first:
            best.times.clear()
        for i in range(askers):
            way = (i + turn * 5) % askers
            zone = ZONES[(way + turn) % len(ZONES)]
            if way < len(best.ways):
                best.ask(way, zone)
            else:
                own(zone, note if turn >= first else lambda _, work, *__: work())
    for line in (away, file, best):
        line.close()
    return {f"{prefix}best {what}": best.medians(what) for what in ("hours", "answer")}


def measure(build, rounds, quick):
    """Medians in milliseconds by the clock and of processor, and a list of what was wrong."""
    both, times, wrong = Both(build), {}, []
    accounts = 500 if quick else 10000

    def note(name, work, processes=()):
        both_times, answer = took(work, processes)
        times.setdefault(name, []).append(both_times)
        return answer
    try:
        load(both, accounts)
        best = read(both, rounds, note, wrong)
        for _ in range(min(rounds, 3)):
            if note("bills away", lambda: invoices(both, both.away)) != note("bills file", lambda: invoices(both, both.file)):
                wrong.append("cluster: invoices of a month are not the file's")
        both.away.stop()
        both.away.start(*both.options, "--usage-compact-rows", 0)
        best |= read(both, rounds, note, wrong, "folded ")
    finally:
        both.close()
    return {name: middle(list_) for name, list_ in times.items()} | best, accounts, wrong
