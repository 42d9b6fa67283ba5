"""How long batches wait for a step of compaction, the workload `hold` of `run` beside this file: two local ClickHouse servers hold a
month as edges leave it at the first column of the model in docs/scaling.md (1,700 pull zones at 100 edge locations, each with a row a piece), and
some senders go on sending while it is folded. ClickHouse makes the rows itself, under the id of a batch that counts."""
import json
import os
import re
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
ZONES, EDGES, HOURS, SENDERS = range(1000, 2700), 100, 4, 8


class Servers:
    def __init__(self, build):
        os.environ["TB_BUILD"] = str(build)
        sys.path += [str(TESTS / "http"), str(TESTS)]
        import importlib.util
        import harness
        spec = importlib.util.spec_from_file_location("clickhouse_shards", TESTS / "http/clickhouse.py")
        clickhouse = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(clickhouse)
        clickhouse.PATIENCE = 600
        self.harness = harness
        self.shards = [clickhouse.ClickHouse() for _ in range(2)]
        self.usage = ["--usage", "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.shards) + "/hold",
                      "--usage-timeout-ms", 600000]
        self.server = harness.Server(*self.usage, "--usage-compact-rows", 10**9, log=None)
        zones = [{"id": n, "account": 1 + n % 2, "name": f"z{n}", "created": "2026-01-05T00:00:00Z"} for n in ZONES]
        catalogue = {**harness.CATALOG, "zones": [*harness.CATALOG["zones"], *zones]}
        self.post("/catalog", json.dumps(catalogue).encode(), content_type="application/json")
        self.post("/ingest/logs", self.piece(0))

    def post(self, target, body, **more):
        answer = self.server.ask("POST", target, "operator", body, **more)
        if answer.status not in (200, 201):
            raise RuntimeError(f"{target}: {answer.status} {answer.body[:300]}")

    def piece(self, number):
        return b"".join(self.harness.hit(zone, number % 3000, 1000 + number) for zone in ZONES)

    def fill(self, rows):
        hour, batch = self.shards[0].ask("SELECT min(h),max(batch) FROM hold.cell WHERE scope=1").split()
        for shard in self.shards:
            for begin in range(0, rows, 1000000):
                shard.ask("INSERT INTO hold.cell(scope,owner,edge,h,batch,row,requests,bytes,cached_bytes,pulled) SELECT toUInt8(1),"
                          f"toInt64({ZONES[0]}+number%{len(ZONES)}),toUInt32(1+intDiv(number,{len(ZONES)})%{EDGES}),"
                          f"toUInt32({hour}-1-intDiv(number,{len(ZONES) * EDGES})%{HOURS}),toUInt64({batch}),toUInt32(1000000+number),"
                          f"number%77,number%10007,number%5,1 FROM system.numbers LIMIT {begin},{min(1000000, rows - begin)}")

    def figure(self, name):
        text = self.server.ask("GET", "/metrics").body.decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])

    def close(self):
        self.server.stop()
        self.server.folder.cleanup()
        for shard in self.shards:
            shard.close()


def send(servers, number, over, waits):
    while not over.is_set():
        number += SENDERS
        body = servers.piece(number)
        begun = time.monotonic()
        servers.post("/ingest/logs", body)
        waits.append(time.monotonic() - begun)


def measure(build, rows):
    """rows: on each server. Seconds: the longest step, the fold, and what each batch waited for its answer, ascending."""
    servers, waits, over = Servers(build), [], threading.Event()
    try:
        servers.fill(rows)
        servers.server.stop()
        servers.server.start(*servers.usage, "--usage-compact-rows", 100000)
        threads = [threading.Thread(target=send, args=(servers, n, over, waits)) for n in range(1, SENDERS + 1)]
        begun = time.monotonic()
        for thread in threads:
            thread.start()
        while not servers.figure("tollbook_usage_compactions_total"):
            time.sleep(0.2)
        took = time.monotonic() - begun
        longest = servers.figure("tollbook_usage_compaction_longest_seconds")
        over.set()
        for thread in threads:
            thread.join()
    finally:
        over.set()
        servers.close()
    return longest, took, sorted(waits)
