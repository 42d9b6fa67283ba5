"""A server whose disk was lost is not taken for a new one, and is restored from its backup; usage migrate from servers to others: two
shards become three, every answer is the one before, to the byte; what was cut off goes
on; nothing changes before the last step, and the way back is the same command."""
import random
import shutil
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from clickhouse import PROGRAM, ClickHouse
from fakeusage import Fake
from follower import until
from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, random_seed, run
from test_usage_migrate import Killer
from test_usage_servers import ANSWERS, BUCKETS, Pair, lines, twice_and_last

SEED = random_seed()
COMPACTED = ("--usage-compact-rows", "0")
NEVER = ("--usage-compact-rows", "1000000000")


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Reshard(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair(*NEVER)
        cls.third = ClickHouse("UTC")

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()
        cls.third.close()

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

    def url(self, database, servers):
        return "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in servers) + "/" + database

    def move(self, to, expect=0):
        return run("usage", "migrate", "--db", self.pair.away.db, "--usage", self.pair.usage, "--to", to,
                   expect=expect).stderr.decode()

    def restart(self, *options):
        self.pair.away.stop()
        self.pair.away.start("--usage", self.pair.usage, *options)

    # As docs/operate/clickhouse.md has it.
    def test_1_a_disk_is_lost(self):
        pair, shard = self.pair, self.pair.shards[0]
        self.post("/ingest/buckets", BUCKETS.replace(b"T05:", b"T06:"))
        self.post("/ingest/logs", b"".join(lines(zone, range(9)) for zone in (101, 102, 201, 202, 999)))
        pair.away.stop()
        for table in ("cell", "country", "log", "log_gone", "event", "place", "writer"):
            shard.ask(f"ALTER TABLE tollbook_test.{table} FREEZE")
        shard.kill()
        with tempfile.TemporaryDirectory(prefix="tollbook-backup-") as backup:
            shutil.copytree(shard.path / "data/shadow", backup, dirs_exist_ok=True)
            shutil.rmtree(shard.path / "data")
            (shard.path / "data/files").mkdir(parents=True)
            shard.start()
            said = run("serve", "--db", pair.away.db, "--listen", "127.0.0.1:0", "--usage", pair.usage, expect=2).stderr
            self.assertIn(b"Server 1 of --usage has lost the database tollbook_test", said)
            self.restore(shard, Path(backup))
        pair.away.start("--usage", pair.usage, *NEVER)
        self.compare()

    @staticmethod
    def restore(shard, backup):
        for part in backup.glob("*/data/tollbook_test/*/*"):
            table = part.parent.name
            shutil.copytree(part, shard.path / f"data/data/tollbook_test/{table}/detached" / part.name)
            shard.ask(f"ALTER TABLE tollbook_test.{table} ATTACH PART '{part.name}'")

    def test_2_two_become_three_and_two_again(self):
        pair, rng = self.pair, random.Random(SEED)
        taken = lines(101, range(30, 70), "NY")
        self.post("/ingest/buckets", BUCKETS)
        for zone in (101, 102, 201, 999):
            self.post("/ingest/logs", lines(zone, range(rng.randrange(5, 40)), rng.choice(("DE", "SG", "XX"))))
        self.post("/ingest/logs", taken)
        self.restart(*COMPACTED)
        self.until_folded()
        self.restart(*COMPACTED) # what was folded goes
        self.post("/ingest/logs", lines(102, range(100, 130)))
        self.post("/ingest/logs/withdraw", taken)
        self.restart(*NEVER)
        pair.sent_twice()
        self.compare()
        three = self.url("three", [*pair.shards, self.third])
        pair.away.stop()
        self.cut_off(rng)
        self.many_rows()
        self.assertIn("from an earlier call", self.move(three))
        twice, last = twice_and_last(pair.away.db)
        self.assertEqual(twice, last)
        self.assertEqual(sum(int(s.ask("SELECT uniqExact(row) FROM three.cell WHERE batch=5")) for s in (*pair.shards, self.third)), 130000)
        said = run("serve", "--db", pair.away.db, "--listen", "127.0.0.1:0", "--usage", pair.usage, expect=2).stderr
        self.assertIn(b"lies on 3 shards, and 2 are named", said)
        first, pair.usage = pair.usage, three
        pair.away.start("--usage", three, *COMPACTED)
        self.compare()
        self.assertEqual([s.ask("SELECT count()>0 FROM three.cell") for s in (*pair.shards, self.third)], ["1"] * 3)
        self.post("/ingest/logs", lines(101, range(200, 230)) + lines(202, range(5), "SG"))
        self.post("/ingest/buckets/withdraw", BUCKETS)
        self.compare()
        pair.away.stop()
        self.assertIn("holds rows already", self.move(first, 2))
        back = self.url("back", reversed(pair.shards))
        self.assertNotIn("earlier", self.move(back))
        self.assertEqual(twice_and_last(pair.away.db)[0], twice)
        pair.usage = back
        pair.away.start("--usage", back, *NEVER)
        self.compare()

    # As many servers as before: only the file knows where its usage is.
    def test_3_the_address_of_before_is_refused(self):
        pair, fake = self.pair, Killer(self.third)
        self.addCleanup(fake.close)
        pair.away.stop()
        first, half, other = pair.usage, self.url("half", [pair.shards[0], fake]), self.url("other", [self.third, pair.shards[1]])
        shutil.copy(pair.away.db, pair.away.folder.name + "/before.db")
        self.move_dead(half, fake, 20, True)
        self.assertNotIn("earlier", self.move(other))
        for stale in (first, half):
            for words, status in ((("serve", "--listen", "127.0.0.1:0"), 2), (("backup", "--to", pair.away.folder.name + "/copy.db"), 1),
                                  (("usage", "migrate", "--to", self.url("more", pair.shards)), 2)):
                said = run(*words, "--db", pair.away.db, "--usage", stale, expect=status).stderr
                self.assertIn(b"does not have the file's usage", said)
        mixed = self.url("mixed", pair.shards)
        for shard, place in zip(pair.shards, ("toUInt64(shard-1) AS shard FROM back.place", "shard FROM other.place")):
            shard.ask("CREATE DATABASE mixed")
            shard.ask(f"CREATE TABLE mixed.place ENGINE=MergeTree ORDER BY shard AS SELECT {place}")
        pair.usage = other
        self.assertIn("belongs to other servers than that of server 1", self.move(mixed, 2))
        pair.away.start("--usage", other, *NEVER)
        self.compare()
        run("backup", "--db", pair.away.db, "--usage", other, "--to", pair.away.folder.name + "/copy.db")
        said = run("serve", "--db", pair.away.folder.name + "/before.db", "--listen", "127.0.0.1:0", "--usage", other, expect=2).stderr
        self.assertIn(b"does not have the file's usage", said)

    # A call is killed while its first rows are on their way. They are there when the next one, which found nothing, has sent its own.
    def test_4_what_comes_late_counts_once(self):
        pair, fake, held = self.pair, Fake(self.third), []
        self.addCleanup(fake.close)
        self.post("/ingest/logs", lines(101, range(400, 430)) + lines(201, range(3)))
        pair.away.stop()
        late, pass_on = self.url("late", [fake]), fake.pass_on

        def hold(h, body):
            if "INSERT" not in h.path:
                return pass_on(h, body)
            if not held:
                held.append(fake.request(h, body))
                return victim.kill()
            pass_on(h, body)
            if len(held) == 1:
                held.append(True) # first: the next INSERT may come meanwhile
                urllib.request.urlopen(held[0], timeout=PATIENCE).close()

        fake.pass_on = hold
        victim = subprocess.Popen([TOLLBOOK, "usage", "migrate", "--db", pair.away.db, "--usage", pair.usage, "--to", late], env=ENVIRONMENT,
                                  stderr=subprocess.DEVNULL)
        self.assertEqual(victim.wait(PATIENCE), -9)
        self.third.ask("SYSTEM STOP MERGES")
        self.assertNotIn("earlier", self.move(late))
        self.assertEqual(len(held), 2)
        twice, last = twice_and_last(pair.away.db)
        self.assertEqual(twice, last)
        pair.usage = late
        pair.away.start("--usage", late, *NEVER)
        self.compare()
        self.third.ask("SYSTEM START MERGES")

    def many_rows(self):
        """More than go at once, of one hour and of others; of a batch that was never committed, so nobody counts them."""
        shard = next(s for s in self.pair.shards if int(s.ask("SELECT count() FROM tollbook_test.cell WHERE scope=1 AND owner=101")))
        shard.ask("INSERT INTO tollbook_test.cell(scope,owner,edge,h,batch,row,requests) SELECT 1,101,1,"
                  "498193+if(number<110000,0,1+number%2),5,number,1 FROM numbers(130000)")

    def until_folded(self):
        away = self.pair.away
        until(lambda: away.metric("tollbook_usage_compactions_total") and not away.metric("tollbook_usage_uncompacted_rows"),
              away.messages)

    def cut_off(self, rng):
        """kill -9 at some statements of the third server, done or not; then the first servers answer as before, and since the file
        was written again, the copy begins in another database."""
        pair, fake = self.pair, Killer(self.third)
        self.addCleanup(fake.close)
        name = self.url("killed", [*pair.shards, fake])
        self.move_dead(name, fake, rng.randrange(18, 21), False) # what comes before is no copy
        pair.away.start("--usage", pair.usage, *NEVER)
        self.compare()
        pair.away.stop()
        self.assertIn("holds rows already", self.move(self.url("killed", [*pair.shards, self.third]), 2))
        for late, end in ((True, 21), (False, 24)): # the second call looks at more, for what there is
            self.move_dead(self.url("three", [*pair.shards, fake]), fake, rng.randrange(18, end), late)

    def move_dead(self, to, fake, at, late):
        fake.late, fake.left = late, at
        fake.victim = subprocess.Popen([TOLLBOOK, "usage", "migrate", "--db", self.pair.away.db, "--usage", self.pair.usage, "--to",
                                        to], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        self.assertEqual(fake.victim.wait(PATIENCE), -9)
        fake.left = None


if __name__ == "__main__":
    unittest.main()
