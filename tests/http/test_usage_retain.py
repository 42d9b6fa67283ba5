"""Letting go of usage on ClickHouse servers: `retain` and `serve --retain` leave the same answers as on a server whose usage is in its
file, by hours, by days, in bills and in `verify`; what waits for its compaction is still there as a whole; and `forget`."""
import json
import random
import re
import sqlite3
import threading
import time
import unittest

import harness
from clickhouse import PROGRAM
from fakeusage import Fake
from harness import CATALOG, NOW, PATIENCE, SOURCE, Case, random_seed, run
from test_usage_servers import Pair

SEED = random_seed()
NEVER = ("--usage-compact-rows", "1000000000")
OLD = {**CATALOG, "zones": [{**zone, "created": "2024-01-05T00:00:00Z"} for zone in CATALOG["zones"]],
       "load_balancers": [{"id": 7, "account": 1, "created": "2024-01-10T00:00:00Z", "zones": [101]}]}
LAST = "2024-10-02T09:00:00Z" # from where hours of September 2024 and days of August can be seen
MONTHS = ("2024-08", "2024-09", "2024-10")
WORDS = ("retain", "--hours", "25", "--days", "26") # hours before October go, days before September


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what())
        threading.Event().wait(0.02)


def buckets(rng, months):
    rows = [{"zone": zone, "region": edge, "hour": f"{month}-{day:02}T{rng.randrange(24):02}:00:00Z", "requests": rng.randrange(1, 99),
             "bytes": rng.randrange(10**12), "concurrent_max": rng.randrange(50), "optimized": 1}
            for zone in (101, 102, 201, 999) for edge in ("DE", "SG") for month in months for day in (3, 3, 28)]
    rows += [{"load_balancer": 7, "hour": f"{month}-05T0{rng.randrange(9)}:00:00Z", "requests": rng.randrange(10**9)} for month in months]
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def lines(rng, day_ms):
    """Lines have countries, which buckets have not."""
    return "".join(f"HIT|200|{day_ms + rng.randrange(86400000)}|{rng.randrange(10**6)}|{zone}|192.0.2.1|-|https://z/x|DE|agent|"
                   f"{rng.getrandbits(128):032x}|{country}\n" for zone in (101, 201, 999) for country in ("DE", "FR", "US")).encode()


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Retention(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = pair = Pair()
        cls.fakes = [Fake(shard) for shard in pair.shards]
        pair.usage = "clickhouse://" + ",".join(f"127.0.0.1:{fake.port}" for fake in cls.fakes) + "/tollbook_test"
        cls.rng = random.Random(SEED)
        cls.day = 1
        cls.clock(NOW)

    @classmethod
    def tearDownClass(cls):
        harness.ENVIRONMENT["TOLLBOOK_NOW"] = NOW
        cls.pair.close()
        for fake in cls.fakes:
            fake.close()

    @classmethod
    def clock(cls, now, *options):
        harness.ENVIRONMENT["TOLLBOOK_NOW"] = now
        for server, more in ((cls.pair.file, ("--cells", "on")), (cls.pair.away, ("--usage", cls.pair.usage, *NEVER))):
            server.stop()
            server.start(*more, *options)

    def alike(self, one, other, what):
        """Says where, and not by a difference of the whole, which takes minutes to find."""
        for a, b in zip(one, other):
            if a != b:
                at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), -1) if isinstance(a, bytes) else 0
                self.fail((what, a, b) if not isinstance(a, bytes) else (what, at, a[max(0, at - 200):at + 60], b[max(0, at - 200):at + 60]))

    def post(self, target, body, **headers):
        one, other = self.pair.both("POST", target, body, **headers)
        self.alike((one.status, one.body), (other.status, other.body), target)
        self.assertIn(one.status, (200, 201), one.body)

    def weeks_go_by(self):
        """In its file tollbook gives old usage its place, from which it can go, when more than a week of newer usage has come: some
        of it with each batch."""
        for hour, days in enumerate((1, 8, 0, 0, 0)):
            type(self).day += days
            self.post("/ingest/buckets", json.dumps({"zone": 201, "region": "DE", "hour": f"2026-10-{self.day:02}T{hour:02}:00:00Z",
                                                     "requests": 3, "bytes": 10**9}).encode() + b"\n")

    def command(self, *words, expect=0):
        said = [run(*words, "--server", s.url, "--key", s.keys["operator"], expect=expect) for s in (self.pair.file, self.pair.away)]
        return said

    def same(self, *words, expect=0):
        """But for the data's version and the hashes of what names it: a month that is compacted without what goes is a commit of its own.
        Hints name the server that was asked."""
        one, other = ((re.sub(rb'"(watermark":\d+|sha256":"\w+|previous":"\w+)', b"", said.stdout),
                       said.stderr.replace(s.url.encode(), b"URL"))
                      for said, s in zip(self.command(*words, expect=expect), (self.pair.file, self.pair.away)))
        self.alike(one, other, words)
        return one[0].decode()

    def compare(self):
        """Of account 1 and 2, by hours and by days, at a time from which they can be seen; and what is asked of old months."""
        for month in MONTHS:
            for account in ("1", "2"):
                self.same("invoice", "--month", month, "--account", account, "--explain", "1", expect=None)
        for target in [f"/loadbalancer/7/usage?year={month[:4]}&month={int(month[5:])}" for month in MONTHS]:
            one, other = self.pair.both("GET", target, key="user")
            self.alike((one.status, one.body), (other.status, other.body), target)
        self.clock(LAST)
        answers = []
        for key in ("user", "other"):
            for target in (f"/statistics?hourly=true&dateFrom=2024-09-03T00:00:00Z&dateTo={LAST}", "/statistics?dateFrom=2024-08-01&dateTo=2024-09-09",
                           "/statistics?dateFrom=2024-09-01&dateTo=2024-10-02", "/insights?from=2024-08-20&to=2024-09-30",
                           "/insights?from=2024-09-20&to=2024-09-30&by=hour", "/statistics?pullZone=101&dateFrom=2024-09-01&dateTo=2024-10-02"):
                one, other = self.pair.both("GET", target, key=key)
                self.alike((one.status, one.body), (other.status, other.body), target)
                answers.append(one.body)
        self.clock(NOW)
        for server in (self.pair.file, self.pair.away):
            run("verify", "--server", server.url, "--key", server.keys["operator"])
        return answers

    def ask(self, sql):
        return [int(shard.ask(sql)) for shard in self.pair.shards]

    def is_over(self, months):
        metric = self.pair.away.metric
        until(lambda: metric("tollbook_usage_months_let_go_total") >= months and metric("tollbook_usage_months_to_let_go") == 0,
              self.pair.away.messages)

    def visible(self, where):
        """Rows of the newest generation of a month are those that no other one follows."""
        return sum(self.ask(f"SELECT count() FROM tollbook_test.cell WHERE {where}"))

    def test_1_hours_and_days_of_old_months(self):
        self.post("/catalog?delete=true", json.dumps(OLD).encode(), content_type="application/json")
        self.post("/books", json.dumps({**json.loads((SOURCE / "fixtures/book.json").read_text()),
                                        "effective_from": "2023-01-01T00:00:00Z"}).encode(), content_type="application/json")
        self.post("/ingest/buckets", buckets(self.rng, MONTHS))
        self.post("/ingest/logs", lines(self.rng, 1722816000000)) # 5 August 2024
        self.weeks_go_by()
        self.same("invoice", "--month", "2024-08", "--finalize")
        self.same("invoice", "--month", "2024-09", "--finalize", "--account", "1")
        countries = sum(self.ask("SELECT count() FROM tollbook_test.country"))
        dry = self.command(*WORDS, "--dry-run", "--format", "table")
        for said in dry:
            self.assertEqual([line.split(b"\t")[0] for line in said.stdout.splitlines()], [b"month", b"2024-08", b"2024-09"])
            self.assertIn(b"Account 2 keeps all from 2024-09 on", said.stderr)
        said = self.command(*WORDS)[1].stderr
        self.assertIn(b"Usage servers are rid of them with the next compaction", said)
        self.is_over(2)
        self.compare() # at its end a start: what was folded is dropped, as nobody reads it
        until(lambda: self.pair.away.metric("tollbook_usage_leaving_rows") == 0 and not self.visible("h<480000 AND scope IN(1,2,3) AND "
              "owner IN(1,7,101,102) AND toYYYYMM(toDateTime(h*3600,'UTC'))<202410"), self.pair.away.messages)
        september = "toYYYYMM(toDateTime(h*3600,'UTC'))=202409"
        self.assertGreater(self.visible(f"scope>4 AND owner=101 AND {september}"), 0)
        self.assertGreater(self.visible(f"scope=1 AND owner=201 AND {september}"), 0)
        self.assertEqual(self.visible("scope>0 AND owner IN(1,2,7,101,102,201) AND toYYYYMM(toDateTime(h*3600,'UTC'))=202408"), 0)
        self.assertLess(sum(self.ask("SELECT count() FROM tollbook_test.country")), countries)
        self.assertIn(b"No usage and no request logs were to go.", self.command(*WORDS)[1].stderr)
        type(self).before = self.compare()

    # What still comes for such months counts, and goes with the next call.
    def test_2_late_usage_a_fault_and_a_kill(self):
        pair, fakes = self.pair, self.fakes
        self.post("/ingest/buckets", buckets(self.rng, ("2024-08", "2024-09")))
        self.post("/ingest/logs", lines(self.rng, 1722902400000))
        self.weeks_go_by()
        self.assertNotEqual(self.compare(), self.before)
        self.verify_asks_for_months()
        fakes[1].break_with(999) # INSERTs are refused
        self.command(*WORDS)
        until(lambda: pair.away.metric("tollbook_usage_compaction_failures_total") > 0, pair.away.messages)
        self.assertEqual(pair.away.metric("tollbook_usage_months_let_go_total"), 0)
        self.assertGreater(pair.away.metric("tollbook_usage_months_to_let_go"), 0)
        self.killed_at(fakes[0], "cityHash64")
        self.what_is_remembered_goes(fakes[1])
        self.killed_at(fakes[1], "DROP PARTITION")
        self.compare()

    def verify_asks_for_months(self):
        """Of late usage, and not for each of its days."""
        before = [len(fake.statements) for fake in self.fakes]
        run("verify", "--server", self.pair.away.url, "--key", self.pair.away.keys["operator"])
        asked = [sql for fake, n in zip(self.fakes, before) for sql, _ in fake.statements[n:] if not sql.startswith("SELECT 1 ")]
        self.assertGreater(sum(" GROUP BY owner,edge,t " in sql for sql in asked), 0)
        self.assertLess(len(asked), 36)

    def what_is_remembered_goes(self, broken):
        """Of hours that were read before they went nothing stays in a cache."""
        target = f"/statistics?hourly=true&dateFrom=2024-09-03T00:00:00Z&dateTo={LAST}"
        self.clock(LAST)
        before = self.pair.away.get(target)
        self.assertGreater(before.json()["TotalBandwidthUsed"], 0)
        broken.heal()
        self.is_over(2)
        one, other = self.pair.both("GET", target, key="user")
        self.assertNotEqual(other.body, before.body)
        self.alike((one.status, one.body), (other.status, other.body), target)
        self.clock(NOW)

    def killed_at(self, fake, step):
        """kill -9 before a statement reaches a server, which does it all the same."""
        reached, away = threading.Event(), self.pair.away

        def watch(sql):
            if step in sql and not reached.is_set():
                away.process.kill()
                reached.set()

        away.stop()
        fake.watch = watch
        away.start("--usage", self.pair.usage, *NEVER)
        self.assertTrue(reached.wait(PATIENCE), (step, away.messages()))
        fake.watch = lambda sql: None
        away.process.wait()
        away.log_file.close()
        away.start("--usage", self.pair.usage, *NEVER)

    # What became final since goes by itself.
    def test_3_by_itself(self):
        self.same("invoice", "--month", "2024-09", "--finalize", "--account", "2")
        self.clock(NOW, "--retain", "25,26,-")
        self.is_over(1)
        until(lambda: json.loads(self.pair.file.ask("GET", "/audit?operation=retain", "operator").body), self.pair.file.messages)
        self.compare()

    # Days are where their hours were, on whichever servers.
    def test_3_b_moved_to_other_servers(self):
        pair = self.pair
        until(lambda: pair.away.metric("tollbook_usage_leaving_rows") == 0, pair.away.messages) # a fold's old rows are gone
        days = self.visible("scope>4")
        turned = "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in reversed(pair.shards)) + "/turned"
        self.assertGreater(days, 0)
        for usage, to in ((pair.usage, turned), (turned, pair.usage)):
            pair.away.stop()
            run("usage", "migrate", "--db", pair.away.db, "--usage", usage, "--to", to)
            for shard in pair.shards:
                shard.ask("DROP DATABASE " + usage.rpartition("/")[2])
            pair.away.start("--usage", to)
            pair.usage = to # for the starts of compare
            self.compare()
        self.assertEqual(self.visible("scope>4"), days)

    # The list of days says what a remembered day is good for.
    def test_5_verify_looks_at_the_list_of_days(self):
        self.weeks_go_by()
        with sqlite3.connect(f"file:{self.pair.away.db}?mode=ro", uri=True) as db:
            batch = db.execute("SELECT value FROM meta WHERE name='usage_batch'").fetchone()[0]
            day = db.execute("SELECT max(day) FROM usage_day WHERE batch<?", (batch,)).fetchone()[0]
        for h in (day * 24, day * 24 + 24000):
            self.pair.shards[0].ask("INSERT INTO tollbook_test.cell(scope,owner,edge,h,batch,row,requests) VALUES"
                                    f"(1,999,1,{h},{batch},77,1)")
        said = run("verify", "--server", self.pair.away.url, "--key", self.pair.away.keys["operator"], expect=1).stdout.decode()
        self.assertIn(f"the newest batch in ClickHouse is {batch}; the file's list of days (usage_day) has", said)
        self.assertIn("readers show nothing", said)

    def test_4_a_customer_is_forgotten(self):
        left = {**OLD, "accounts": OLD["accounts"][1:], "zones": OLD["zones"][2:], "load_balancers": []}
        self.post("/catalog?delete=true", json.dumps(left).encode(), content_type="application/json")
        for words in (("forget", "--account", "1", "--dry-run"), ("forget", "--account", "1"), ("forget", "--account", "1")):
            self.same(*words)
        self.command("verify")


if __name__ == "__main__":
    unittest.main()
