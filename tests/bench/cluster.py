"""Usage on ClickHouse servers against usage in the file and against ClickHouse's own best, a workload of `run` beside
this file. Two private shards and two tollbook servers with one history; answers are compared. What is shipped to them is
measured in shipping.py."""
import http.client
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

TESTS = Path(__file__).resolve().parents[1]
LOCATIONS = ("DE", "NY", "SG", "LA", "JP")
DAYS = [f"2026-10-{day:02}" for day in range(6, 32)] + ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"]
TARGET = "/statistics?hourly=true&pullZone=101&dateFrom=2026-10-06&dateTo=2026-11-04"
MONTH = "2026-10"


# What GET /statistics shows, by the names of the columns.
SHOWN = ("requests", "bytes", "cached_bytes", "pulled", "status_3xx", "status_4xx", "status_5xx", "origin_bytes",
         "origin_time_ms_sum", "origin_time_count", "shield_bytes", "shield_internal_bytes", "cache_unknown")


def bucket(zone, place, hour, n):
    """Every counter that is shown has something in it: a column of zeros costs less."""
    counters = {name: (n * 7919 + 31 * i) % 9973 + 1 for i, name in enumerate(SHOWN) if name != "cache_unknown"}
    return json.dumps({"zone": zone, "region": place, "hour": f"{hour}:00:00Z", **counters, "requests": 20000 + n,
                       "bytes": 10**9 + n * 77, "optimized": 2, "input_bytes": 900, "saved_bytes": 300}).encode() + b"\n"


def took(work):
    begin = time.perf_counter()
    answer = work()
    return (time.perf_counter() - begin) * 1000, answer


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
        self.get(self.away, TARGET.replace("101", "102")) # its connections are made, its statements prepared

    def post(self, target, body, **headers):
        for server in (self.file, self.away):
            answer = server.ask("POST", target, server.keys["operator"], body, **headers)
            if answer.status not in (200, 201):
                raise RuntimeError(f"{target}: {answer.status} {answer.body[:300]}")

    def get(self, server, target=TARGET):
        answer = server.ask("GET", target, server.keys["user"])
        if answer.status != 200:
            raise RuntimeError(f"{target}: {answer.status} {answer.body[:300]}")
        return answer.body

    def close(self):
        for server in (self.file, self.away):
            server.stop()
            server.folder.cleanup()
        for shard in self.shards:
            shard.close()


def load(both, accounts):
    zones = [{"id": 101, "account": 1, "name": "a", "created": "2026-01-05T00:00:00Z"},
             {"id": 102, "account": 1, "name": "b", "created": "2026-01-05T00:00:00Z"}]
    zones += [{"id": 1000 + n, "account": n, "name": f"z{n}", "created": "2026-01-05T00:00:00Z"}
              for n in range(2, accounts + 1)]
    catalog = {"accounts": [{"id": n, "name": f"account {n}"} for n in range(1, accounts + 1)], "zones": zones}
    both.post("/catalog", json.dumps(catalog).encode(), content_type="application/json")
    book = (TESTS.parent / "fixtures/book.json").read_bytes()
    both.post("/books", book, content_type="application/json")
    for batch in range(6):
        both.post("/ingest/buckets", b"".join(bucket(101, place, f"{day}T{hour:02}", hour + batch)
                                              for place in LOCATIONS for day in DAYS[:-1] for hour in range(24)))
    for begin in range(2, accounts + 1, 2000):
        both.post("/ingest/buckets", b"".join(bucket(1000 + n, place, f"{day}T05", n)
                                              for n in range(begin, min(begin + 2000, accounts + 1))
                                              for place in ("DE", "SG") for day in ("2026-10-07", "2026-10-20")))


def touch(both, days, prefix, turn):
    """Usage of another zone: what was kept of these days is asked for anew. Other bytes each turn, or it was taken
    already."""
    both.post("/ingest/buckets", b"".join(bucket(102, "DE", f"{day}T05", turn + len(prefix) * 1000) for day in days))


class Best:
    """What the answer shows, asked of ClickHouse as well as it can be: on a connection that is kept, of the shard that has the
    rows, without a look at what was sent twice, at what is not committed or at what was folded. Of several forms and
    settings, those of tollbook among them, what is quickest in the end. hours: the counters by hour, alone; answer: the bytes of each location with them."""

    def __init__(self, both):
        count = "SELECT count() FROM tollbook_bench.cell WHERE scope=1 AND owner=101"
        self.shard = max(both.shards, key=lambda s: int(s.ask(count)))
        self.connection = http.client.HTTPConnection("127.0.0.1", self.shard.port)
        sums = ",".join(f"sum({name})" for name in SHOWN)
        rows = "FROM tollbook_bench.cell {} scope=1 AND owner=101 AND h>=0"
        hours = [f"SELECT h,{sums} {rows.format(word)} GROUP BY h{order} FORMAT {form}"
                 for word, order, form in (("WHERE", "", "RowBinary"), ("PREWHERE", "", "RowBinary"), ("WHERE", "", "Native"),
                                           ("WHERE", " ORDER BY h", "JSON"))]
        where = rows.format("WHERE")
        places = f"SELECT edge,sum(bytes) {where} GROUP BY edge FORMAT RowBinary"
        together = f"SELECT h,{sums},sumMap([edge],[bytes]) {where} GROUP BY h FORMAT RowBinary"
        fewer = together.replace(",sum(bytes)", "") # these are what the locations' come to
        self.forms = {"hours": [(sql,) for sql in hours], "answer": [(hours[0], places), (together,), (fewer,)]}
        self.times = {}

    def ask(self, turn):
        """Each form once, in another order each turn. The server lets go of connections after ten seconds."""
        self.connection.close()
        self.send("SELECT 1", "")
        for what, forms in self.forms.items():
            for i in range(len(forms)):
                form = (i + turn) % len(forms)
                for settings in ("", "max_threads=1", "max_threads=1&optimize_move_to_prewhere=0"):
                    ms, _ = took(lambda: [self.send(sql, settings) for sql in forms[form]])
                    self.times.setdefault((what, form, settings), []).append(ms)

    def send(self, sql, settings):
        self.connection.request("POST", "/?" + settings, sql.encode())
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(body[:300])

    def median(self, what):
        return min(median(times) for (name, *_), times in self.times.items() if name == what)


def invoices(both, server):
    command = [str(both.harness.TOLLBOOK), "invoice", "--month", MONTH, "--server", server.url, "--key",
               server.keys["operator"]]
    return subprocess.run(command, check=True, capture_output=True, env=both.harness.ENVIRONMENT).stdout


def read(both, rounds, note, wrong, prefix=""):
    best = Best(both)
    for turn in range(rounds * 3):
        touch(both, DAYS[:-1], prefix, turn)
        if prefix:
            both.fold()
        both.quiet()
        if note(prefix + "uncached", lambda: both.get(both.away)) != note("file", lambda: both.get(both.file)):
            wrong.append("cluster: hours of a zone are not the file's")
        best.ask(turn)
        touch(both, ["2026-09-02"], prefix, turn)
        both.quiet()
        note(prefix + "cached", lambda: both.get(both.away))
    return {f"{prefix}best {what}": best.median(what) for what in best.forms}


def measure(build, rounds, quick):
    """Medians in milliseconds, and a list of what was wrong."""
    both, times, wrong = Both(build), {}, []
    accounts = 500 if quick else 10000

    def note(name, work):
        ms, answer = took(work)
        times.setdefault(name, []).append(ms)
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
    return {name: median(list_) for name, list_ in times.items()} | best, accounts, wrong
