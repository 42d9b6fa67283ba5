"""Compaction of usage on ClickHouse servers (serve --usage): every answer is the same before, while and after, and that of a
server whose usage is in its file; what a kill left half done counts nowhere; what was folded goes, and an older copy of the
file is refused then."""
import json
import random
import re
import threading
import time
import unittest

from clickhouse import PROGRAM
from fakeusage import Fake
from harness import PATIENCE, Case, random_seed, run
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

    def compare(self):
        for target in ANSWERS:
            one, other = self.pair.both("GET", target, key="user")
            self.assertEqual((one.status, one.body), (other.status, other.body), target)
        for server in (self.pair.file, self.pair.away):
            run("verify", "--server", server.url, "--key", server.keys["operator"])

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
        """One row for each place and hour: of months that are folded as a whole."""
        places = "uniqExact(scope,owner,edge,h)"
        until(lambda: all(shard.ask(f"SELECT count()={places} FROM tollbook_test.cell WHERE scope>0") == "1" for shard in self.pair.shards),
              self.pair.away.messages)

    def rows(self):
        return sum(int(shard.ask("SELECT count() FROM tollbook_test.cell WHERE scope>0")) for shard in self.pair.shards)

    def fill(self, rng):
        at = rng.randrange(80000)
        self.post("/ingest/logs", lines(rng.choice((101, 102, 201)), range(at, at + 9), rng.choice(("DE", "SG", "NY"))))

    def everything_is_folded(self):
        until(lambda: self.metric("uncompacted_rows") == 0 and self.metric("compactions_total") > 0, self.pair.away.messages)

    def test_1_answers_stay(self):
        rng = random.Random(SEED)
        self.post("/ingest/buckets", BUCKETS)
        for _ in range(4):
            self.fill(rng)
        body = lines(101, range(300, 340), "DE")
        self.post("/ingest/logs", body)
        self.post("/ingest/logs/withdraw", body)
        for shard in self.pair.shards: # sent twice
            shard.ask("INSERT INTO tollbook_test.cell SELECT * FROM tollbook_test.cell")
        self.compare()
        before = self.rows()
        self.restart(*EVERY)
        self.compare()
        self.fill(rng) # while it works
        self.compare()
        self.everything_is_folded()
        self.compare()
        self.assertGreater(self.rows(), before) # what was folded is still there, for who reads
        self.restart(*NEVER)
        self.old_rows_are_gone() # nobody reads them
        self.assertLess(self.rows(), before)
        self.compare()
        self.fill(rng)
        self.compare()
        self.post("/ingest/logs", body)
        self.compare()
        self.post("/ingest/logs/withdraw", body) # of a month that is folded in part
        self.compare()

    # kill -9 before each kind of statement of a compaction reaches a server, which does it all the same.
    def test_2_killed(self):
        rng = random.Random(SEED + 1)
        for i, step in enumerate(("FROM system.parts", "SELECT scope,owner,count()", " SELECT scope,owner,edge,h,toUInt64(", "cityHash64",
                     "uniqExact(row)", "VALUES(0,0,0,", "DROP PARTITION")):
            self.fill(rng)
            self.killed_at(self.fakes[i % 2], step)
            self.restart(*NEVER, dead=True)
            self.compare()
        self.fill(rng)
        self.restart(*EVERY)
        self.compare()
        self.everything_is_folded()
        self.compare()

    def killed_at(self, fake, step):
        reached = threading.Event()

        def watch(sql):
            if step in sql and not reached.is_set():
                self.pair.away.process.kill()
                reached.set()

        fake.watch = watch
        self.restart(*EVERY)
        if step in ("VALUES(0,0,0,", "DROP PARTITION"): # what was folded goes once nobody reads an older snapshot
            self.everything_is_folded()
            self.restart(*EVERY)
        self.assertTrue(reached.wait(PATIENCE), (step, self.pair.away.messages()))
        fake.watch = lambda sql: None

    # What was folded is gone: a copy of the file from before would see too little.
    def test_3_an_older_copy(self):
        pair = self.pair
        copy = pair.away.path / "older.db"
        self.fill(random.Random(SEED + 2))
        self.restart(*NEVER)
        run("backup", "--db", pair.away.db, "--to", copy, "--usage", pair.usage)
        self.restart(*EVERY)
        self.everything_is_folded()
        self.restart(*NEVER)
        self.old_rows_are_gone()
        self.compare()
        pair.away.stop()
        said = run("serve", "--db", copy, "--usage", pair.usage, "--listen", "127.0.0.1:0", expect=2).stderr
        self.assertIn(b"is a copy of before usage was compacted", said)
        pair.away.start("--usage", pair.usage, *NEVER)
        self.compare()


if __name__ == "__main__":
    unittest.main()
