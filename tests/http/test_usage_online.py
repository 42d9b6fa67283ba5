"""usage migrate while the server serves: two shards become three under a writer and a reader. Every acknowledged batch is there
once, every answer is that of a server whose usage is in its file, to the byte, and a server that is killed on the way, or a new
one that starts with the old address, goes on."""
import json
import os
import random
import re
import subprocess
import threading
import time
import unittest

from clickhouse import PROGRAM, ClickHouse
from fakeusage import Fake
from follower import until
from harness import CATALOG, ENVIRONMENT, PATIENCE, TOLLBOOK, Case, random_seed, run
from test_usage_migrate import EVENTS, EXPORT, LOGS, Killer
from test_usage_servers import ANSWERS, BUCKETS, MONTH, Pair, lines, twice_and_last

SEED = random_seed()
LONG = os.environ.get("TB_LONG") == "1"
LONGEST = 10 # seconds that a writer may be refused for
ROUNDS = 12 if LONG else 1


class Load:
    """A writer that sends each batch until it is acknowledged, and a reader that finds what was."""

    def __init__(self, server, first):
        self.server, self.next, self.sent, self.wrong, self.refused, self.unread = server, first, [], [], 0, 0
        self.over = threading.Event()
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.write, self.read)]
        for thread in self.threads:
            thread.start()

    def ask(self, *words, **named):
        try:
            return self.server.ask(*words, **named)
        except OSError: # it is not there just now
            self.over.wait(0.02)
            return None

    def write(self):
        while not self.over.is_set():
            body = lines(101 + self.next % 2, range(self.next, self.next + 3), ("DE", "SG", "NY")[self.next % 3])
            begun, self.next = time.monotonic(), self.next + 3
            while True:
                answer = self.ask("POST", "/ingest/logs", "operator", body)
                if answer and answer.status == 200:
                    break
                if answer and answer.status != 503 or self.over.is_set() and time.monotonic() - begun > PATIENCE:
                    self.wrong.append((answer and answer.status, answer and answer.body))
                    return
            self.refused = max(self.refused, time.monotonic() - begun)
            self.sent.append(body)

    def read(self):
        most = 0
        while not self.over.is_set():
            answer = self.ask("GET", f"/statistics?{MONTH}", "user")
            self.over.wait(0.02)
            if not answer or answer.status == 503:
                self.unread += 1
                continue
            total = sum(json.loads(answer.body)["RequestsServedChart"].values()) if answer.status == 200 else -1
            if total < most:
                self.wrong.append((most, total, answer.body))
                return
            most = total

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        return self.wrong


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Online(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair("--usage-compact-rows", "1000000000", "--log-level", "debug")
        cls.third = ClickHouse("UTC")
        cls.second = 100

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()
        cls.third.close()

    def url(self, database, servers):
        return "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in servers) + "/" + database

    def post(self, target, body):
        one, other = self.pair.both("POST", target, body)
        self.assertEqual((one.status, one.body, one.status), (other.status, other.body, 200), target)

    def compare(self):
        for target in ANSWERS + LOGS:
            one, other = self.pair.both("GET", target, key="user")
            self.assertEqual((one.status, one.body), (other.status, other.body), target)
        one, other = self.pair.both("POST", "/shield/event-logs/42/export", EXPORT, key="user", content_type="application/json")
        self.assertEqual((one.status, one.body), (other.status, other.body))
        run("verify", "--server", self.pair.away.url, "--key", self.pair.away.keys["operator"])

    def begin(self, to):
        return subprocess.Popen([TOLLBOOK, "usage", "migrate", "--db", self.pair.away.db, "--usage", self.pair.usage, "--to", to],
                                env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)

    def messages(self):
        state = self.pair.away.db.with_name("t.db-usage-move-state")
        return (state.read_text() if state.exists() else "") + self.pair.away.messages()

    def ended(self, command, so_far=""):
        """What a command said until its end."""
        try:
            return so_far + command.communicate(timeout=PATIENCE * (4 if LONG else 1))[1] # each round has more to copy
        except subprocess.TimeoutExpired:
            raise AssertionError(self.messages()) from None

    def files(self):
        return sorted(path.name for path in self.pair.away.path.glob("t.db-usage*"))

    def load(self):
        return Load(self.pair.away, type(self).second)

    def settle(self, load):
        """What was acknowledged goes to the other server, too, and all answers are the same."""
        self.assertEqual(load.end(), [])
        type(self).second = load.next
        self.assertGreater(len(load.sent), 3)
        for body in load.sent:
            self.assertEqual(self.pair.file.ask("POST", "/ingest/logs", "operator", body).status, 200)
        self.compare()

    def test_1_a_shard_more(self):
        pair, taken = self.pair, lines(101, range(30, 70), "NY")
        catalog = {**CATALOG, "shield_zones": [{"id": 42, "account": 1}]}
        for server in (pair.file, pair.away):
            server.ask("POST", "/catalog?delete=true", "operator", json.dumps(catalog).encode(), content_type="application/json")
        for target, body in (("/ingest/buckets", BUCKETS), ("/ingest/logs", taken), ("/ingest/logs", lines(102, range(40), "XX")),
                             ("/ingest/logs/withdraw", taken), ("/ingest/buckets", EVENTS)):
            self.post(target, body)
        three, load = self.url("three", [*pair.shards, self.third]), self.load()
        until(lambda: len(load.sent) > 2, pair.away.messages)
        command = self.begin(three)
        said = self.ended(command)
        behind = len(load.sent)
        until(lambda: len(load.sent) > behind + 2 or load.wrong, pair.away.messages)
        self.settle(load)
        self.assertEqual(command.returncode, 0, said)
        self.assertLess(int(re.search(r"Writes waited (\d+) ms", said).group(1)), LONGEST * 1000)
        self.assertLess(load.refused, LONGEST)
        self.assertEqual(load.unread, 0)
        print(f"writes waited {re.search(r'waited [0-9]+ ms', said).group()[7:]}; longest answer {load.refused:.2f} s of {len(load.sent)}")
        self.assertEqual([s.ask("SELECT count()>0 FROM three.cell") for s in (*pair.shards, self.third)], ["1"] * 3)
        newest = [s.ask("SELECT max(batch) FROM tollbook_test.cell") for s in pair.shards]
        pair.away.stop()
        pair.away.start("--usage", pair.usage) # a crash brings the old unit back
        self.post("/ingest/logs", lines(201, range(7)))
        self.compare()
        self.assertEqual([s.ask("SELECT max(batch) FROM tollbook_test.cell") for s in pair.shards], newest) # it is only read
        self.assertEqual(self.files(), ["t.db-usage-move-state", "t.db-usage-moved"])

    def test_2_killed_on_the_way(self):
        pair, rng, fake = self.pair, random.Random(SEED), Killer(self.third)
        self.addCleanup(fake.close)
        for number in range(ROUNDS):
            to, load = self.url(f"killed{number}", [fake, *pair.shards[number % 2:]]), self.load()
            fake.victim, fake.late, fake.left = pair.away.process, rng.random() < 0.5, rng.randrange(1, 60)
            command = self.begin(to)
            until(lambda: pair.away.process.poll() is not None or command.poll() is not None, self.messages)
            fake.left = None
            pair.away.process.kill()
            pair.away.process.wait()
            pair.away.log_file.close()
            pair.away.start("--usage", pair.usage)
            said = self.ended(command)
            behind = len(load.sent)
            until(lambda: len(load.sent) > behind + 2 or load.wrong, pair.away.messages)
            self.settle(load)
            self.assertEqual(command.returncode, 0, said)
            until(lambda: self.files() == ["t.db-usage-move-state", "t.db-usage-moved"], self.messages)
            if number % 3 == 2 and number + 1 < ROUNDS: # the unit stays, and the next move is the second one that it does not know of
                continue
            pair.away.stop()
            direct = self.url(f"killed{number}", [self.third, *pair.shards[number % 2:]]) # the same servers under another name
            pair.usage = to if number % 3 == 1 else direct
            pair.away.start("--usage", pair.usage)
            self.compare()
            self.assertEqual(self.files(), ["t.db-usage-move-state", "t.db-usage-moved"][:1 + (pair.usage == direct)])

    def folded(self, enough):
        found = [self.pair.away.metric("tollbook_usage_compactions_total")]
        until(lambda: found.append(self.pair.away.metric("tollbook_usage_compactions_total")) or enough(found[0], found[-1]),
              self.pair.away.messages)
        return found[-1]

    def test_3_refused_away_and_taken_back(self):
        pair, fake = self.pair, Fake(self.third)
        self.addCleanup(fake.close)
        for sql in ("CREATE DATABASE taken", "CREATE TABLE taken.cell AS tollbook_test.cell", "INSERT INTO taken.cell(scope,batch) VALUES(1,1)"):
            pair.shards[0].ask(sql)
        said = self.ended(self.begin(self.url("taken", pair.shards)))
        self.assertIn("holds rows already", said)
        pair.away.stop()
        pair.away.start("--usage", pair.usage, "--usage-compact-rows", "0")
        fake.watch = lambda sql: "INSERT INTO full.cell" in sql and fake.break_with(243) # the disk is full, behind the first rows
        to, load = self.url("full", [fake, pair.shards[0]]), self.load()
        compacted = self.folded(lambda before, now: now > before)
        command, said = self.begin(to), []
        until(lambda: said.append(command.stderr.readline()) or "the server tries again: Usage server" in said[-1], pair.away.messages)
        still = pair.away.metric("tollbook_usage_compactions_total")
        behind = len(load.sent)
        until(lambda: len(load.sent) > behind + 4, pair.away.messages)
        self.assertEqual(pair.away.metric("tollbook_usage_compactions_total"), still) # none during a move
        self.assertGreaterEqual(still, compacted)
        fake.watch = lambda sql: None
        fake.heal()
        said = self.ended(command, "".join(said))
        self.folded(lambda before, now: now > still)
        self.settle(load)
        self.assertEqual(command.returncode, 0, said)
        self.assertGreater(twice_and_last(pair.away.db)[0], 0) # rows of the first attempt may come yet
        pair.away.stop()
        pair.usage = to
        pair.away.start("--usage", to)
        self.assertEqual(self.files(), ["t.db-usage-move-state"])
        held = threading.Event()
        fake.watch = lambda sql: "INSERT INTO back." in sql and (request.unlink(missing_ok=True), held.wait(2))
        request = pair.away.db.with_name("t.db-usage-move")
        command = self.begin(self.url("back", [fake]))
        said = self.ended(command)
        self.assertIn("taken back", said)
        self.assertEqual(command.returncode, 1)
        self.post("/ingest/logs", lines(202, range(4)))
        self.compare()

    @unittest.skipUnless(LONG, "writers wait for its switch as long as they may")
    def test_4_writers_do_not_wait_long(self):
        """Passes that do not get short end in no switch, and a switch that takes long ends without one."""
        pair, fake, fast, stuck, released = self.pair, Fake(self.third), threading.Event(), threading.Event(), threading.Event()
        self.addCleanup(fake.close)
        self.addCleanup(released.set)
        pair.away.stop()
        pair.usage = self.url("full", [self.third, pair.shards[0]])
        pair.away.start("--usage", pair.usage, "--log-level", "debug", "--usage-timeout-ms", "20000")

        before = len(pair.away.messages())

        def delay(sql):
            took = re.findall(r"pass \d+ took (\d+) ms", pair.away.messages()[before:]) if "INSERT INTO slow." in sql else []
            took = [int(ms) for ms in took]
            if took and not fast.is_set(): # two passes
                fast.wait(4)
            elif len(took) > 2 and (took[-1] < 1000 or took[-2] * 3 // 4 < took[-1] < 8000): # the switch
                stuck.set()
                released.wait(10)

        fake.watch = delay
        load, command, said = self.load(), self.begin(self.url("slow", [fake])), []
        until(lambda: said.append(command.stderr.readline()) or "does not get shorter" in said[-1], pair.away.messages)
        self.assertLess(load.refused, LONGEST)
        fast.set()
        until(stuck.is_set, pair.away.messages)
        until(lambda: said.append(command.stderr.readline()) or "took more than 15 s" in said[-1], pair.away.messages)
        behind = len(load.sent)
        until(lambda: len(load.sent) > behind + 2, pair.away.messages)
        released.set()
        said = self.ended(command, "".join(said))
        self.settle(load)
        self.assertEqual(command.returncode, 0, said)
        self.assertLess(load.refused, 2 * LONGEST)


if __name__ == "__main__":
    unittest.main()
