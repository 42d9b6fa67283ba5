"""Usage on ClickHouse servers against usage in the file and against ClickHouse's own best, a workload of `run` beside
this file. Two private shards and two tollbook servers with one history; answers are compared."""
import importlib.util
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from statistics import median

TESTS = Path(__file__).resolve().parents[1]
LOCATIONS = ("DE", "NY", "SG", "LA", "JP")
DAYS = [f"2026-10-{day:02}" for day in range(6, 32)] + ["2026-11-01", "2026-11-02", "2026-11-03", "2026-11-04"]
TARGET = "/statistics?hourly=true&pullZone=101&dateFrom=2026-10-06&dateTo=2026-11-04"
MONTH = "2026-10"


def bucket(zone, place, hour, n):
    return json.dumps({"zone": zone, "region": place, "hour": f"{hour}:00:00Z", "requests": 7 + n,
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
        self.away = harness.Server("--cache-mb", "0", "--usage", url, log=None)

    def post(self, target, body, **headers):
        for server in (self.file, self.away):
            answer = server.ask("POST", target, server.keys["operator"], body, **headers)
            if answer.status not in (200, 201):
                raise RuntimeError(f"{target}: {answer.status} {answer.body[:300]}")

    def get(self, server):
        answer = server.ask("GET", TARGET, server.keys["user"])
        if answer.status != 200:
            raise RuntimeError(f"{TARGET}: {answer.status} {answer.body[:300]}")
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


def touch(both, days, turn):
    """Usage of another zone: what was kept of these days is asked for anew. Other bytes each turn, or it was taken
    already."""
    both.post("/ingest/buckets", b"".join(bucket(102, "DE", f"{day}T05", turn) for day in days))


def best_of_clickhouse(both):
    """The same hours, summed without a look at what was sent twice; the shard's best of three forms."""
    counters = [row.split("\t")[0] for row in both.shards[0].ask("DESCRIBE TABLE tollbook_bench.cell").splitlines()][6:]
    sums = ",".join(f"sum({name})" for name in counters)
    where = "scope=1 AND owner=101 AND h>=0"
    shard = max(both.shards, key=lambda s: int(s.ask(f"SELECT count() FROM tollbook_bench.cell WHERE {where}")))
    forms = [f"SELECT h,{sums} FROM tollbook_bench.cell {word} {where} GROUP BY h{order} FORMAT {form}"
             for word, order, form in (("WHERE", "", "RowBinary"), ("PREWHERE", "", "RowBinary"),
                                       ("WHERE", " ORDER BY h", "JSON"))]

    def ask():
        times = []
        for sql in forms:
            times.append(took(lambda: urllib.request.urlopen(f"http://127.0.0.1:{shard.port}/", sql.encode()).read())[0])
        return min(times)
    return ask


def invoices(both, server):
    command = [str(both.harness.TOLLBOOK), "invoice", "--month", MONTH, "--server", server.url, "--key",
               server.keys["operator"]]
    return subprocess.run(command, check=True, capture_output=True, env=both.harness.ENVIRONMENT).stdout


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
        best = best_of_clickhouse(both)
        for turn in range(rounds * 3):
            touch(both, DAYS[:-1], turn)
            if note("uncached", lambda: both.get(both.away)) != note("file", lambda: both.get(both.file)):
                wrong.append("cluster: hours of a zone are not the file's")
            times.setdefault("best", []).append(best())
            touch(both, ["2026-09-02"], turn)
            note("cached", lambda: both.get(both.away))
        for _ in range(min(rounds, 3)):
            if note("bills away", lambda: invoices(both, both.away)) != note("bills file", lambda: invoices(both, both.file)):
                wrong.append("cluster: invoices of a month are not the file's")
    finally:
        both.close()
    return {name: median(list_) for name, list_ in times.items()}, accounts, wrong
