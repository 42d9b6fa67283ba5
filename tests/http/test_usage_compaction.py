"""Compaction of usage on ClickHouse servers (serve --usage): every answer is the same before, while and after, and that of a
server whose usage is in its file; what a kill left half done counts nowhere; what was folded goes, and an older copy of the
file is refused then."""
import json
import random
import re
import subprocess
import threading
import time
import unittest

from clickhouse import PROGRAM
from fakeusage import Fake
from harness import PATIENCE, SOURCE, Case, hit, random_seed, run
from test_usage_servers import ANSWERS, BUCKETS, MONTH, Pair, lines

SEED = random_seed()
EVERY = ("--usage-compact-rows", "0")
NEVER = ("--usage-compact-rows", "1000000000")


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what())
        threading.Event().wait(0.02)


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Compaction(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair(*NEVER)
        cls.fakes = [Fake(shard) for shard in cls.pair.shards]
        cls.pair.usage = "clickhouse://" + ",".join(f"127.0.0.1:{fake.port}" for fake in cls.fakes) + "/tollbook_test"
        cls.pair.away.stop()
        cls.pair.away.start("--usage", cls.pair.usage, *NEVER)

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()
        for fake in cls.fakes:
            fake.close()

    def post(self, target, body):
        one, other = self.pair.both("POST", target, body)
        self.assertEqual((one.status, one.body), (other.status, other.body), target)
        self.assertEqual(one.status, 200, one.body)

    def compare(self, verify=False):
        for target in ANSWERS if verify else ANSWERS[::5]:
            one, other = self.pair.both("GET", target, key="user")
            self.assertEqual((one.status, one.body), (other.status, other.body), target)
        if verify:
            run("verify", "--server", self.pair.away.url, "--key", self.pair.away.keys["operator"])

    def restart(self, *options, dead=False):
        server = self.pair.away
        if dead:
            server.process.wait()
            server.log_file.close()
        else:
            server.stop()
        server.start("--usage", self.pair.usage, *options)

    def metric(self, name):
        body = self.pair.away.ask("GET", "/metrics").body.decode()
        return int(re.search(rf"^tollbook_usage_{name} (\d+)$", body, re.M)[1])

    def old_rows_are_gone(self):
        """One row for each place and hour, and for each country and day: of months that are folded as a whole."""
        tests = ("count()=uniqExact(scope,owner,edge,h) FROM tollbook_test.cell WHERE scope>0",
                 "count()=uniqExact(zone,day,country) FROM tollbook_test.country")
        until(lambda: all(shard.ask(f"SELECT {test}") == "1" for shard in self.pair.shards for test in tests), self.pair.away.messages)

    def rows(self):
        return sum(int(shard.ask(f"SELECT count() FROM tollbook_test.{table}")) for shard in self.pair.shards for table in ("cell", "country"))

    def fill(self, rng):
        at = rng.randrange(80000)
        self.post("/ingest/logs", lines(rng.choice((101, 102, 201)), range(at, at + 9), rng.choice(("DE", "SG", "NY"))))

    def everything_is_folded(self):
        until(lambda: self.metric("uncompacted_rows") == 0 and self.metric("compactions_total") > 0, self.pair.away.messages)

    def test_1_answers_stay(self):
        rng = random.Random(SEED)
        self.post("/ingest/buckets", BUCKETS)
        for _ in range(3):
            self.fill(rng)
        body = lines(101, range(300, 340), "DE")
        self.post("/ingest/logs", body)
        self.post("/ingest/logs/withdraw", body)
        self.pair.sent_twice()
        for shard in self.pair.shards:
            shard.ask("INSERT INTO tollbook_test.country SELECT * FROM tollbook_test.country")
        before = self.rows()
        self.restart(*EVERY)
        self.compare()
        self.fill(rng) # while it works
        self.compare()
        self.everything_is_folded()
        self.assertGreater(self.rows(), before) # what was folded is still there, for who reads
        self.restart(*NEVER)
        self.old_rows_are_gone() # nobody reads them
        self.assertLess(self.rows(), before)
        self.compare(verify=True)
        self.check_sql()
        self.post("/ingest/logs", body)
        self.compare()
        self.post("/ingest/logs/withdraw", body) # of a month that is folded in part
        self.compare(verify=True)

    # Only verify knows. Compaction mends it, and what the server remembers of before.
    def test_6_rows_that_something_else_sent_again(self):
        pair = self.pair
        self.restart(*NEVER)
        self.post("/ingest/logs", lines(101, range(700, 720)))
        for shard in pair.shards:
            shard.ask("SYSTEM STOP MERGES tollbook_test.cell")
        newest = max(int(shard.ask("SELECT max(batch) FROM tollbook_test.cell")) for shard in pair.shards)
        for shard in pair.shards:
            shard.ask(f"INSERT INTO tollbook_test.cell SELECT * FROM tollbook_test.cell WHERE batch={newest}")
        said = run("verify", "--server", pair.away.url, "--key", pair.away.keys["operator"], expect=1).stdout.decode()
        self.assertRegex(said, r"2026-11-03: \d+ rows of this day lie twice in ClickHouse, and tollbook sent them once")
        self.restart("--usage-compact-rows", str(self.rows() + 1))
        for _ in range(2): # asked for, and remembered
            answers = [pair.both("GET", target, key="user") for target in ANSWERS]
            self.assertTrue(any(one.body != other.body for one, other in answers))
        days = [(zone, edge, 3600 * hour) for zone in (101, 102, 201) for edge in ("DE", "SG", "NY") for hour in range(-60, -12)]
        for more in range(100): # of other days
            self.post("/ingest/logs", b"".join(hit(zone, second + more, edge=edge) for zone, edge, second in days))
            if self.metric("compactions_total"):
                break
        until(lambda: self.metric("compactions_total"), pair.away.messages)
        until(lambda: len({answer.body for answer in pair.both("GET", ANSWERS[0], key="user")}) == 1, lambda: "the sums stay doubled")
        self.compare(verify=True)

    # Sums of closed days come from what was read for others.
    def test_5_sums_are_remembered(self):
        def asked():
            return sum(sql.startswith("SELECT") and "tollbook_test.cell" in sql for fake in self.fakes for sql, _ in fake.statements)

        self.compare(verify=True)
        self.assertEqual(self.pair.away.get("/insights?from=2026-10-30&to=2026-11-03").status, 200)
        before = asked()
        one, other = self.pair.both("GET", "/insights?from=2026-10-31&to=2026-11-02", key="user")
        self.assertEqual((one.status, one.body), (other.status, other.body))
        self.assertEqual(asked(), before)

    # SQL over usage, as docs/scaling.md has it, on what was compacted and withdrawn.
    def check_sql(self):
        text = re.findall(r"```sh\n(.*?)```", (SOURCE / "docs/scaling.md").read_text(), re.S)[1].replace("control.db", str(self.pair.away.db))
        sums = {}
        for shard in self.pair.shards:
            done = subprocess.run(["bash", "-ec", text.replace("127.0.0.1:8123/?database=tollbook", f"127.0.0.1:{shard.port}/?database=tollbook_test")],
                                  capture_output=True, timeout=PATIENCE, check=True)
            for zone, _, hour, requests, count in (line.split("\t") for line in done.stdout.decode().splitlines()[1:]):
                if int(requests) or int(count):
                    sums[zone, hour] = sums.get((zone, hour), 0) + int(requests)
        said = run("query", "--db", self.pair.file.db, "--format", "csv", "SELECT zone,replace(rtrim(hour,'Z'),'T',' '),sum(requests) FROM buckets"
                   " GROUP BY 1,2").stdout.decode()
        self.assertEqual(sums, {tuple(line.split(",")[:2]): int(line.split(",")[2]) for line in said.splitlines()[1:]})

    # kill -9 before each kind of statement of a compaction reaches a server, which does it all the same. What a kill left
    # over is folded by the next one.
    def test_2_killed(self):
        rng = random.Random(SEED + 1)
        self.fill(rng)
        for i, step in enumerate(("FROM system.parts", "SELECT owner,count()", ") SELECT sc,owner,edge,hh", "cityHash64(sc,",
                                  "country,batch,requests,bytes) SELECT", "uniqExact(row)")):
            self.killed_at(step, dead=i > 0)
        self.restart(*EVERY, dead=True)
        self.compare()
        self.everything_is_folded()
        for i, step in enumerate(("VALUES(0,0,0,", "DROP PARTITION")): # nobody reads an older snapshot
            self.killed_at(step, dead=i > 0)
        self.restart(*EVERY, dead=True)
        self.fill(rng)
        self.compare()
        self.everything_is_folded()
        self.restart(*NEVER)
        self.old_rows_are_gone()
        self.compare(verify=True)

    def killed_at(self, step, dead):
        """dead: it was killed before."""
        reached = threading.Event()

        def watch(sql):
            if step in sql and not reached.is_set():
                self.pair.away.process.kill()
                reached.set()

        for fake in self.fakes:
            fake.watch = watch
        self.restart(*EVERY, dead=dead)
        self.assertTrue(reached.wait(PATIENCE), (step, self.pair.away.messages()))
        for fake in self.fakes:
            fake.watch = lambda sql: None

    # A fold that fails again and again leaves its rows once, and not once for each time.
    def test_3_a_server_that_takes_nothing(self):
        self.fill(random.Random(SEED + 3))
        self.restart(*NEVER)
        before = self.rows()
        self.fakes[1].break_with(999)
        self.restart(*EVERY)
        until(lambda: self.metric("compaction_failures_total") > 1, self.pair.away.messages)
        self.compare()
        self.assertLess(self.rows(), 2 * before)
        self.fakes[1].heal()
        self.everything_is_folded()
        self.compare()

    # What was folded is gone: a copy of the file from before would see too little.
    def test_4_an_older_copy(self):
        pair = self.pair
        copy = pair.away.path / "older.db"
        self.fill(random.Random(SEED + 2))
        self.restart(*NEVER)
        run("backup", "--db", pair.away.db, "--to", copy, "--usage", pair.usage)
        self.restart(*EVERY)
        self.everything_is_folded()
        self.restart(*NEVER)
        self.old_rows_are_gone()
        said = run("backup", "--db", copy, "--to", pair.away.path / "again.db", "--usage", pair.usage, expect=1).stderr
        self.assertIn(b"is a copy of before usage was compacted", said)
        pair.away.stop()
        said = run("serve", "--db", copy, "--usage", pair.usage, "--listen", "127.0.0.1:0", expect=2).stderr
        self.assertIn(b"is a copy of before usage was compacted", said)
        pair.away.start("--usage", pair.usage, *NEVER)
        self.compare()


if __name__ == "__main__":
    unittest.main()
