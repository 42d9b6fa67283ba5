"""Request logs on ClickHouse servers: every answer is that of a server that has them in its file, to the byte: random
lines under all filters, in both orders, page by page, as v1 files; rows that were sent twice; a shard that was away;
days that are over; an account that was forgotten. TB_SEED reruns one."""
import json
import random
import unittest
from urllib.parse import urlencode

from clickhouse import PROGRAM
from harness import CATALOG, Case, random_seed, run
from test_logs_random import ASKS, KEPT, NOW_MS, VALUES
from test_usage_servers import Pair

ZONES = range(500, 506)
TABLE = "tollbook_test.log"
WINDOW = {"from": "2026-11-01T09:00:00Z", "to": "2026-11-04T09:00:00Z"}
SETTINGS = [{"LoggingIPAnonymizationEnabled": False, "EnableExtendedLogging": True}, {},
            {"LoggingIPAnonymizationEnabled": False}]


def catalog(zones):
    return json.dumps({**CATALOG, "accounts": [*CATALOG["accounts"], {"id": 3, "name": "leaver"}], "zones": [
        {"id": zone, "account": 3 if zone == 505 else 1, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z",
         "settings": SETTINGS[zone % 3]} for zone in zones]}).encode()


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class UsageLines(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair()
        cls.random = random.Random(random_seed())

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()

    def post(self, target, body, **headers):
        one, other = self.pair.both("POST", target, body, **headers)
        self.assertEqual((one.status, one.body), (other.status, other.body))
        self.assertEqual(one.status, 200, one.body)

    def lines(self, n, near=None):
        pick, ids = self.random.choice, ["-", "ab" * 16, "0123456789ABCDEF" * 2]
        out = []
        for _ in range(n):
            ms = (near or self.random.randrange(KEPT, NOW_MS)) + self.random.randrange(3)
            v = {name: pick(of) for name, of in VALUES.items()}
            out.append(f"{v['cache']}|{v['status']}|{ms}|{self.random.randrange(10**9)}|{pick(ZONES)}|{v['ip']}|"
                       f"{v['referer']}|{v['url']}|{v['edge']}|{v['agent']}|{pick(ids)}|{v['country']}\n")
        return "".join(out).encode()

    def compare(self, zone, path="logs", **asked):
        target = f"/v2/pullzones/{zone}/{path}?" + urlencode({**WINDOW, "limit": 10000, **asked})
        one, other = self.pair.both("GET", target, key="user")
        self.assertEqual((one.status, one.body), (other.status, other.body), target)
        return one

    def compare_some(self):
        found = 0
        for zone in list(ZONES)[:5]:
            for order in ("asc", "desc"):
                found += self.compare(zone, order=order).body.count(b"{")
            name, values = self.random.choice(list(ASKS.items()))
            self.compare(zone, **{name: self.random.choice(values)})
        return found

    def test_1_filters_orders_and_pages(self):
        self.post("/catalog", catalog(ZONES), content_type="application/json")
        for n in (1, 40, 400, 3000):
            self.post("/ingest/logs", self.lines(n))
        self.post("/ingest/logs", self.lines(500, near=NOW_MS - 5000000))
        self.assertGreater(self.compare_some(), 6000)
        asks = [(name, value) for name, values in ASKS.items() for value in values]
        asks += [("requestId", "AB" * 16), ("requestId", "0123456789abcdef" * 2)]
        for i, (name, value) in enumerate(asks):
            self.compare(500 + i % 5, **{name: value, "order": ("asc", "desc")[i % 2]})
        for offset in (0, 7, 300, 9000):
            self.compare(500, limit=11, offset=offset, order="asc")
            self.compare(501, limit=11, offset=offset)

    def test_2_rows_that_were_sent_twice(self):
        for shard in self.pair.shards:
            self.assertGreater(int(shard.ask(f"SELECT count() FROM {TABLE}")), 0)
            shard.ask(f"INSERT INTO {TABLE} SELECT * FROM {TABLE}")
            shard.ask(f"INSERT INTO {TABLE} SELECT * REPLACE(batch+1000 AS batch) FROM {TABLE}") # never committed
        self.compare_some()

    def test_3_a_shard_that_was_away(self):
        body = self.lines(300)
        for shard in self.pair.shards:
            shard.kill()
            refused = self.pair.away.ask("POST", "/ingest/logs", self.pair.away.keys["operator"], body)
            self.refused(refused, 503, "usage.away")
            shard.start()
        self.post("/ingest/logs", body)
        self.compare_some()

    def test_4_days_that_are_over(self):
        for shard in self.pair.shards:
            shard.ask(f"INSERT INTO {TABLE} SELECT * REPLACE(toDate('2026-10-30') AS day) FROM {TABLE} LIMIT 5")
        self.pair.away.stop() # a day is dropped once by each writer
        self.pair.away.start("--usage", self.pair.usage)
        self.post("/ingest/logs", self.lines(3))
        for shard in self.pair.shards:
            self.assertEqual(shard.ask(f"SELECT min(day) FROM {TABLE}"), "2026-11-01")
        self.compare_some()

    def test_5_an_account_that_left(self):
        self.post("/catalog", catalog(list(ZONES)[:5]), content_type="application/json")
        server = self.pair.away
        words = ("forget", "--account", 3, "--server", server.url, "--key", server.keys["operator"])
        self.assertIn(b"request log", run(*words).stdout)
        self.assertIn(b"othing", run(*words).stdout)
        self.compare_some()


if __name__ == "__main__":
    unittest.main()
