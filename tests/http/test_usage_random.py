"""A random month on ClickHouse servers: the same history goes to a server with its usage in the file and to one with it on two
shards, or on three of which one holds nearly everything; every answer about usage and money is the same to the byte. Usage comes as
buckets and as lines, late and twice, is withdrawn, finds its account later; months become final, and are compacted in between.

4 steps on two shards and 4 on three; TB_LONG=1: 150 on each. The seed is printed.
"""
import datetime
import json
import random
import threading
import time
import unittest

from clickhouse import PROGRAM
from harness import PATIENCE, SOURCE, Case, hit, random_seed, run
from script import LONG
from test_usage_servers import Pair

SEED = random_seed()
STEPS = 150 if LONG else 4
ZONES = 60 if LONG else 12
EDGES = ("DE", "UK", "NY", "SG", "LA", "XX")
FIRST = datetime.datetime(2026, 9, 1)
HOURS = 64 * 24 # up to 3 November
LARGE = 2**62   # of a counter that costs nothing: all usage together must stay below 2^63


def retried(ask):
    """What was compacted while it was read is asked for again, as an answer 503 says."""
    end = time.monotonic() + PATIENCE
    while True:
        one, other = ask()
        if other.status != 503 or time.monotonic() > end:
            return one, other
        threading.Event().wait(0.05)


class History:
    """What happens, from a seed; nothing of it is asked of a server."""

    def __init__(self, rng, zones):
        self.rng, self.zones, self.declared, self.taken, self.second = rng, zones, len(zones) - 4, [], 0

    def catalogue(self):
        """Each call gives two more zones an account."""
        self.declared = min(self.declared + 2, len(self.zones))
        created = {"created": "2026-01-05T00:00:00Z"}
        return json.dumps({
            "accounts": [{"id": n, "name": f"a{n}"} for n in (1, 2, 3)],
            "zones": [{"id": zone, "account": 1 + i % 3, "name": f"z{zone}", **created}
                      for i, zone in enumerate(self.zones[:self.declared])],
            "load_balancers": [{"id": 7, "account": 1, "zones": [self.zones[0]], **created}]}).encode()

    def hour(self):
        back = self.rng.randrange(72) if self.rng.random() < 0.5 else self.rng.randrange(HOURS)
        return FIRST + datetime.timedelta(hours=HOURS - 1 - back)

    def bucket(self):
        rng, row = self.rng, {"hour": self.hour().isoformat() + "Z"}
        if rng.random() < 0.08:
            return row | {"load_balancer": 7, "requests": rng.randrange(10**6)}
        row |= {"zone": rng.choice(self.zones), "region": rng.choice(EDGES)}
        for name in rng.sample(("requests", "bytes", "origin_bytes", "input_bytes", "saved_bytes", "optimized", "queued_max"), 3):
            row[name] = 0 if rng.random() < 0.1 else rng.randrange(2**rng.randrange(1, 45))
        return row

    def body(self):
        """(target, bytes)"""
        rng = self.rng
        if rng.random() < 0.5:
            return "buckets", b"".join(json.dumps(self.bucket()).encode() + b"\n" for _ in range(rng.randrange(1, 60)))
        lines = []
        for _ in range(rng.randrange(1, 60)):
            self.second += 1
            lines.append(hit(rng.choice(self.zones), self.second % 80000, rng.randrange(10**9), edge=rng.choice(EDGES),
                             cache=rng.choice(("HIT", "MISS", "STALE")), status=rng.choice((200, 304, 404, 503))))
        return "logs", b"".join(lines)


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class RandomMonth(Case):
    @classmethod
    def setUpClass(cls):
        pass

    @classmethod
    def tearDownClass(cls):
        pass

    def both(self, method, target, body=None, key="operator", **headers):
        one, other = retried(lambda: self.pair.both(method, target, body, key, **headers))
        self.assertEqual((one.status, one.body), (other.status, other.body), f"{method} {target}")
        return one

    def command(self, *words):
        said = []
        for server in (self.pair.file, self.pair.away):
            done = run(*words, "--server", server.url, "--key", server.keys["operator"], expect=None)
            while b"compacted while it was being read" in done.stderr: # asked again, as the sentence says
                done = run(*words, "--server", server.url, "--key", server.keys["operator"], expect=None)
            said.append((done.returncode, done.stdout, done.stderr.replace(server.url.encode(), b"SERVER")))
        self.assertEqual(said[0], said[1], words)
        return said[0]

    def compare(self, rng):
        zone, zones = rng.choice(self.history.zones), self.history.zones
        first = FIRST + datetime.timedelta(days=rng.randrange(60))
        span = f"dateFrom={first:%Y-%m-%d}&dateTo={first + datetime.timedelta(days=rng.randrange(31)):%Y-%m-%d}"
        insights = f"from={first:%Y-%m-%d}&to={first + datetime.timedelta(days=20):%Y-%m-%d}"
        for key in ("user", "other") if LONG else (rng.choice(("user", "user", "other")),):
            for target in (f"/statistics?{span}", f"/statistics?hourly=true&{span}", "/statistics", "/billing", "/billing/summary",
                           f"/statistics?pullZone={zone}&{span}", f"/statistics?pullZone={zone}&hourly=true&{span}",
                           f"/statistics?pullZone={zone}&serverZoneId={rng.choice(self.regions)}&{span}",
                           f"/statistics?serverZoneId={rng.choice(self.regions)}&{span}",
                           f"/pullzone/{zone}/optimizer/statistics?{span}", f"/pullzone/{zone}/safehop/statistics?{span}",
                           f"/pullzone/{zone}/originshield/queuestatistics?{span}", "/loadbalancer/7/usage",
                           "/loadbalancer/7/usage?year=2026&month=10", f"/insights?{insights}", f"/insights?{insights}&compare=previous",
                           f"/insights?{insights}&by=hour", f"/insights?{insights}&zone={zones[0]}", "/billing/forecast",
                           "/billing/invoices"):
                self.both("GET", target, key=key)

    def money(self):
        for account in (1, 2, 3):
            self.command("invoice", "--month", f"2026-{self.rng.choice((9, 10, 11)):02}", "--account", account)
        self.command("invoice", "--late")
        self.command("intake")
        self.command("account", "list")
        scenario = json.loads((SOURCE / "fixtures/scenario.json").read_text())
        question = {"from": "2026-09", "to": "2026-11", "scenarios": [scenario]}
        self.both("POST", "/billing/what-if", json.dumps(question).encode(), key="user", content_type="application/json")
        for invoice in self.both("GET", "/billing/invoices", key="user").json()["invoices"][:3]:
            number = invoice["number"]
            document = self.both("GET", f"/billing/invoices/{number}", key="user").json()
            lines = range(1, len(document["lines"]) + 1)
            for line in self.rng.sample(lines, min(len(lines), 30 if LONG else 4)):
                self.both("GET", f"/billing/invoices/{number}/lines/{line}/explain", key="user")

    def add(self):
        kind, body = self.history.body()
        if self.both("POST", f"/ingest/{kind}", body).status == 200:
            self.history.taken.append((kind, body))

    def withdraw(self):
        if self.history.taken:
            kind, body = self.history.taken.pop(self.rng.randrange(len(self.history.taken)))
            self.both("POST", f"/ingest/{kind}/withdraw", body)

    def again(self):
        if self.history.taken:
            kind, body = self.rng.choice(self.history.taken)
            self.both("POST", f"/ingest/{kind}", body)

    def adopt(self):
        done = self.both("POST", "/catalog?delete=true", self.history.catalogue(), content_type="application/json")
        self.assertEqual(done.status, 200, done.body)

    def restart(self):
        """Another span of ids; what a kill left is a gap."""
        self.kills = not self.kills
        if self.kills:
            self.pair.away.process.kill()
            self.pair.away.process.wait()
            self.pair.away.log_file.close()
        else:
            self.pair.away.stop()
        self.pair.away.start("--usage", self.pair.usage, *self.options)

    def in_turn(self, acts):
        """All of them in a random order, then in another one: few steps have each kind, too."""
        while True:
            yield from self.rng.sample(acts, len(acts))

    def month(self, seed, shards, zones):
        self.rng, self.kills = random.Random(seed), False
        self.options = ("--usage-compact-rows", "50")
        self.pair = Pair(*self.options, shards=shards)
        self.addCleanup(self.pair.close)
        self.history = History(self.rng, zones)
        self.regions = [r["Id"] for r in self.pair.file.get("/region", None).json()]
        self.adopt()
        book = json.loads((SOURCE / "fixtures/book.json").read_text())
        self.both("POST", "/books", json.dumps(book).encode(), content_type="application/json")
        full = {"zone": zones[0], "region": "DE", "hour": "2026-10-01T05:00:00Z", "origin_bytes": LARGE}
        self.both("POST", "/ingest/buckets", json.dumps(full).encode())
        final = {STEPS // 3: "2026-09", 2 * STEPS // 3: "2026-10"}
        comes = self.in_turn([self.add, self.add, self.withdraw, self.again])
        happens = self.in_turn([self.adopt, self.restart, self.money, self.restart])
        for step in range(STEPS):
            self.add()
            for _ in range(2):
                next(comes)()
            next(happens)()
            if step in final:
                self.command("invoice", "--month", final[step], "--finalize")
            self.compare(self.rng)
        self.money()
        self.both("GET", f"/statistics?dateFrom={FIRST:%Y-%m-%d}&dateTo=2026-11-04&hourly=true", key="user")
        self.assertEqual(self.command("verify")[0], 0)
        over = self.pair.both("POST", "/ingest/buckets", json.dumps(full | {"origin_bytes": 2**63 - 1}).encode())
        self.assertEqual([answer.status for answer in over], [over[0].status] * 2, over[1].body)
        self.assertEqual(over[0].status, 400)
        self.both("GET", f"/statistics?dateFrom={FIRST:%Y-%m-%d}&dateTo=2026-11-04", key="user")
        return [int(shard.ask("SELECT count() FROM tollbook_test.cell WHERE scope>0")) for shard in self.pair.shards]

    def test_two_shards(self):
        print("rows of each shard:", self.month(SEED, 2, list(range(301, 301 + ZONES))), flush=True)

    def test_three_uneven_shards(self):
        """Zones whose ids fall mostly on one shard."""
        zones = [zone for zone in range(1000, 9000) if shard_of(1, zone, 3) == 1][:ZONES]
        rows = self.month(SEED + 1, 3, zones)
        print("rows of each shard:", rows, flush=True)
        self.assertGreater(rows[1], 2 * rows[0])


def shard_of(scope, owner, shards):
    """As engine/store/clickhouse/query.c places owners."""
    mask, z = 2**64 - 1, owner * 4 + scope
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
    z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
    return (z ^ z >> 31) % shards


if __name__ == "__main__":
    unittest.main()
