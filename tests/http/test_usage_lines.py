"""Request logs and shield events on ClickHouse servers: every answer is that of a server that has them in its file, to the
byte: random lines under all filters, in both orders, page by page, as files of a day; events in pages with their tokens and
as exports; rows that were sent twice or never committed; a shard or the server killed while they come; what is withdrawn,
too old, forgotten, damaged. TB_SEED reruns one. TB_LONG=1: while each shard is away both lines and events are refused, not one of them."""
import json
import random
import re
import time
import unittest
from urllib.parse import urlencode

from clickhouse import PROGRAM
from fakeusage import Fake
from harness import CATALOG, PATIENCE, Case, random_seed, run
from test_logs_random import ASKS, KEPT, NOW_MS, VALUES
import test_shield_random as shield
from script import LONG
from test_usage_servers import Pair

ZONES = range(500, 506)
SHIELDS = (42, 43, 44)
DATABASE = "tollbook_test."
WINDOW = {"from": "2026-11-01T09:00:00Z", "to": "2026-11-04T09:00:00Z"}
SETTINGS = [{"LoggingIPAnonymizationEnabled": False, "EnableExtendedLogging": True}, {},
            {"LoggingIPAnonymizationEnabled": False}]


def catalog(leaver):
    """Account 3 has a zone and a shield zone, as long as it is there."""
    zones, shields = ZONES if leaver else ZONES[:-1], SHIELDS if leaver else SHIELDS[:-1]
    return json.dumps({**CATALOG, "accounts": [*CATALOG["accounts"], *[{"id": 3, "name": "leaver"}] * leaver],
                       "zones": [{"id": zone, "account": 3 if zone == 505 else 1, "name": f"z{zone}",
                                  "created": "2026-01-05T00:00:00Z", "settings": SETTINGS[zone % 3]} for zone in zones],
                       "shield_zones": [{"id": zone, "account": 3 if zone == 44 else 1} for zone in shields]}).encode()


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class UsageLines(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair(front=Fake)
        cls.random = shield.Random.rng = random.Random(random_seed())
        shield.Random.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()
        for front in cls.pair.fronts:
            front.close()

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

    def events(self, n):
        def make():
            return {**shield.Random.make(), "shield_zone": self.random.choice(SHIELDS)}
        return b"".join(json.dumps(make()).encode() + b"\n" for _ in range(n))

    def same(self, method, target, body=None, status=200, **headers):
        one, other = self.pair.both(method, target, body, key="user", **headers)
        while 429 in (one.status, other.status): # thirty questions for logs of a pull zone in ten seconds
            time.sleep(0.1)
            one, other = self.pair.both(method, target, body, key="user", **headers)
        self.assertEqual((one.status, one.body), (other.status, other.body), (target, body))
        self.assertEqual(one.status, status, target)
        return one

    def logs(self, zone, **asked):
        return self.same("GET", f"/v2/pullzones/{zone}/logs?" + urlencode({**WINDOW, "limit": 10000, **asked}))

    def export(self, zone, start, end, **asked):
        body = json.dumps({"from": start, "to": end, **asked}).encode()
        return self.same("POST", f"/shield/event-logs/{zone}/export", body, content_type="application/json")

    def pages(self, zone, day):
        """Tokens are made with a secret of the database: each server's own lead on."""
        path, n = f"/shield/event-logs/{zone}/" + time.strftime("%m-%d-%Y/", time.gmtime(day / 1000)), 0
        tokens, more = ["", ""], True
        while more:
            pages = [s.ask("GET", path + token, s.keys["user"]) for s, token in
                     zip((self.pair.file, self.pair.away), tokens)]
            parts = [re.split(rb'(?<=Token":")[^"]+', page.body) for page in pages]
            self.assertEqual(parts[0], parts[1], path)
            self.assertEqual([page.status for page in pages], [200, 200])
            tokens, more = [page.json()["continuationToken"] for page in pages], pages[0].json()["hasMoreData"]
            n += len(pages[0].json()["logs"])
        return n

    def compare(self):
        """Lines and events that were found."""
        lines = events = 0
        for zone in ZONES[:-1]:
            lines += self.logs(zone, order=self.random.choice(["asc", "desc"])).body.count(b"{")
        name, values = self.random.choice(list(ASKS.items()))
        self.logs(self.random.choice(ZONES[:-1]), **{name: self.random.choice(values)})
        for zone in SHIELDS[:-1]:
            self.export(zone, 0, NOW_MS)
            events += sum(self.pages(zone, shield.TODAY - day * shield.DAY) for day in range(3))
        return lines, events

    def ask(self, sql):
        return [int(shard.ask(sql) or 0) for shard in self.pair.shards]

    def rows(self, table, where="1"):
        return self.ask(f"SELECT count() FROM {DATABASE}{table} WHERE {where}")

    def until(self, true, what):
        end = time.monotonic() + PATIENCE
        while not true():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.02)

    def operate(self, *words, server=None, expect=0):
        server = server or self.pair.away
        done = run(*words, "--server", server.url, "--key", server.keys["operator"], expect=expect)
        return done.stdout + done.stderr

    def test_1_filters_orders_and_pages(self):
        self.post("/catalog?delete=true", catalog(True), content_type="application/json")
        for n in (1, 40, 400, 3000):
            self.post("/ingest/logs", self.lines(n))
        self.post("/ingest/logs", self.lines(500, near=NOW_MS - 5000000))
        asks = [(name, value) for name, values in ASKS.items() for value in values]
        asks += [("requestId", "AB" * 16), ("requestId", "0123456789abcdef" * 2)]
        for i, (name, value) in enumerate(asks):
            self.logs(500 + i % 5, **{name: value, "order": ("asc", "desc")[i % 2]})
        for offset in (0, 7, 300, 9000):
            self.logs(500, limit=11, offset=offset, order="asc")
            self.logs(501, limit=11, offset=offset)
        for day, zone in (("11-04-26", 502), ("11-02-26", 503)):
            for asked in ("", "?sort=asc&start=3&end=90", "?status=404&search=HIT"):
                self.same("GET", f"/{day}/{zone}.log{asked}")

    def test_2_events(self):
        batches = [self.events(n) for n in (1, 10, 200, 600, 1)] + [self.events(300)]
        for body in batches + batches[2:4]:
            self.post("/ingest/buckets", body)
        lines, events = self.compare()
        self.assertGreater(lines, 1000)
        self.assertGreater(events, 300)
        for start, end in ((shield.TODAY - shield.DAY, shield.TODAY + 30), (shield.TODAY, shield.TODAY + 1), (shield.TODAY + 20, NOW_MS)):
            self.export(42, start, end)
        self.export(43, 0, NOW_MS, query="sql", filters=[{"field": "action", "op": "eq", "value": ["block"]}])
        self.same("GET", "/shield/event-logs/44/11-04-2026/", status=404) # another account's

    def test_3_rows_that_do_not_count_and_rows_that_came_twice(self):
        before = self.compare()
        for shard in self.pair.shards:
            for table, columns in (("log", "day,zone,first_ms,last_ms,lines,{},at,seal,bytes,data"),
                                   ("event", "day,zone,key,{},seal,record")):
                for batch in ("batch", "batch+1000000"): # never committed
                    shard.ask(f"INSERT INTO {DATABASE}{table} SELECT {columns.format(batch)} FROM {DATABASE}{table}")
        self.assertEqual(self.compare(), before)
        self.operate("verify")

    def test_4_withdrawn(self):
        kept, taken = self.lines(300), self.lines(700)
        for body in (kept, taken, self.lines(50, near=NOW_MS - 5000000)):
            self.post("/ingest/logs", body)
        self.compare()
        self.post("/ingest/logs/withdraw", taken)
        self.assertGreater(sum(self.rows("log_gone")), 0)
        before = self.compare()
        self.post("/ingest/logs/withdraw", taken)
        self.post("/ingest/logs", taken)
        self.assertGreater(self.compare()[0], before[0])
        self.operate("verify")

    def test_5_a_shard_and_a_server_that_end(self):
        lines, events, pair = self.lines(300), self.events(50), self.pair
        both = (("/ingest/logs", lines), ("/ingest/buckets", events))
        for number, shard in enumerate(pair.shards):
            shard.kill()
            for target, body in both if LONG else both[number:number + 1]: # the second one would wait for ten seconds
                refused = pair.away.ask("POST", target, pair.away.keys["operator"], body)
                self.refused(refused, 503, "usage.away")
            shard.start()
            pair.back()
        pair.fronts[0].break_with(243) # no room on its disk
        self.refused(pair.away.ask("POST", "/ingest/logs", "operator", lines), 503, "usage.away")
        pair.fronts[0].heal()
        self.compare()
        for target, body, table in (("/ingest/logs", lines, "log"), ("/ingest/buckets", events, "event")):
            for fake in pair.fronts:
                fake.watch = lambda sql, table=table: self.kill(table, sql)
            self.assertIsNone(pair.away.ask("POST", target, "operator", body)) # no answer
            pair.away.process.wait()
            pair.away.log_file.close()
            pair.away.start("--usage", pair.usage)
            self.compare()
            self.post(target, body)
            self.compare()

    def kill(self, table, sql):
        """The server ends once, while it sends these rows, which no one hears of."""
        if f"INSERT INTO {DATABASE}{table}(" not in sql:
            return
        for fake in self.pair.fronts:
            fake.watch = lambda _: None
        self.pair.away.process.kill()
        self.pair.away.process.wait()

    def test_5_b_moved_to_other_servers(self):
        pair, before = self.pair, self.compare()
        turned = "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in reversed(pair.shards)) + "/turned"
        for usage, to in ((pair.usage, turned), (turned, pair.usage)):
            pair.away.stop()
            run("usage", "migrate", "--db", pair.away.db, "--usage", usage, "--to", to)
            for shard in pair.shards:
                shard.ask("DROP DATABASE " + usage.rpartition("/")[2])
            pair.away.start("--usage", to)
            self.assertEqual(self.compare(), before)
            self.operate("verify")
        self.assertGreater(sum(self.rows("log_gone")), 0)

    def test_5_c_withdrawn_lines_of_an_account_that_left(self):
        """Nobody sees them, and their day is not over: they go with the account all the same."""
        declared = json.loads(catalog(True))
        stays = json.dumps(declared).encode()
        declared["accounts"].append({"id": 4, "name": "withdrawn"})
        declared["zones"].append({**declared["zones"][0], "id": 507, "account": 4, "name": "z507"})
        self.post("/catalog?delete=true", json.dumps(declared).encode(), content_type="application/json")
        body = re.sub(rb"\|50\d\|", b"|507|", self.lines(60))
        self.post("/ingest/logs", body)
        self.post("/ingest/logs/withdraw", body)
        self.post("/catalog?delete=true", stays, content_type="application/json")
        held = self.rows("log", "zone=507")
        self.assertGreater(sum(held), 0)
        shard = next(i + 1 for i, n in enumerate(held) if n)
        self.assertRegex(self.operate("size", "--format", "table").decode(), rf"log on shard {shard}, \d+ rows, [1-9]\d* not committed\t")
        for words in (("--dry-run",), ()):
            self.assertRegex(self.operate("forget", "--account", 4, *words), rb"[1-9]\d* blocks? of request logs")
            self.operate("forget", "--account", 4, *words, server=self.pair.file)
        self.until(lambda: not sum(self.rows("log", "zone=507")), "withdrawn lines stay")
        self.assertIn("of replaced parts", self.operate("size", "--format", "table").decode())
        self.assertIn(b"othing", self.operate("forget", "--account", 4))
        self.compare()
        self.operate("verify")

    def test_6_an_account_that_left(self):
        zones = "zone IN(505,44)"
        self.assertGreater(sum(self.rows("log", zones)) + sum(self.rows("event", zones)), 1)
        self.post("/catalog?delete=true", catalog(False), content_type="application/json")
        words = ("forget", "--account", 3)
        self.assertIn(b"of shield events", self.operate(*words))
        self.assertIn(b"othing", self.operate(*words))
        self.operate(*words, server=self.pair.file)
        self.compare()
        self.operate("verify")
        self.until(lambda: sum(self.rows("log", zones)) + sum(self.rows("event", zones)) == 0, "rows of it stay")
        self.operate("verify")
        sizes = self.operate("size", "--format", "table").decode()
        for what in ("log on shard 1", "log on shard 2", "event on shard"):
            self.assertIn(what, sizes)
        self.assertRegex(self.operate("size", "--by", "month", "--format", "table").decode(), "2026-11 on shard 1, ")

    def test_7_too_old(self):
        """A line that comes later, older than what went, counts."""
        words, old = ("retain", "--logs", "1h"), self.lines(60, near=KEPT + shield.DAY)
        self.post("/ingest/logs", old)
        there = self.old_lines()
        self.assertGreater(there, 30)
        self.assertRegex(self.operate(*words, "--dry-run").decode(), "[1-9][0-9]* block")
        # Blocks that went with an account leave these behind.
        self.pair.shards[0].ask(f"INSERT INTO {DATABASE}log_gone VALUES('2026-10-30',505,1,1)")
        for server in (self.pair.file, self.pair.away):
            self.operate(*words, server=server)
        for zone in ZONES[:-1]:
            self.logs(zone, **{"from": "2026-11-04T08:00:00Z"})
        self.assertLess(self.old_lines(), 5)
        self.until(lambda: sum(self.rows("log", "day<'2026-11-04'")) == 0, "old days stay")
        self.until(lambda: sum(self.rows("log_gone", "day<'2026-11-04'")) == 0, "what was taken out of them stays")
        gone = self.old_lines()
        self.post("/ingest/logs", self.lines(40, near=KEPT + shield.DAY))
        self.assertGreater(self.old_lines(), gone + 20)
        self.operate("verify")

    def old_lines(self):
        asked = urlencode({"from": "2026-11-02T08:59:59Z", "to": "2026-11-02T09:00:01Z"})
        return sum(len(self.of_away(f"/v2/pullzones/{zone}/logs?{asked}").json()["data"]) for zone in ZONES[:-1])

    def of_away(self, target):
        while (got := self.pair.away.get(target)).status == 429:
            time.sleep(0.1)
        return got

    def test_8_damage(self):
        shard = next(s for s in self.pair.shards if int(s.ask(f"SELECT count() FROM {DATABASE}event")))
        shard.ask(f"ALTER TABLE {DATABASE}event DROP PARTITION '2026-11-04'")
        self.assertIn(b"The shield events on usage servers are not all", self.operate("verify", expect=1))
        shard = next(s for s in self.pair.shards if int(s.ask(f"SELECT count() FROM {DATABASE}log")))
        shard.ask(f"INSERT INTO {DATABASE}log SELECT day,zone,first_ms,last_ms,lines+1,batch,at,seal,bytes,data"
                  f" FROM {DATABASE}log LIMIT 1")
        shard.ask(f"OPTIMIZE TABLE {DATABASE}log FINAL")
        said = self.operate("verify", expect=1)
        self.assertRegex(said, rb"Block \d+ of request logs of pull zone \d+ is not (as it was sealed|what its row says)")


if __name__ == "__main__":
    unittest.main()
