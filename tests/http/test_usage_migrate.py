"""tollbook usage migrate: what a file held is what the usage servers answer, to the byte; what was cut off goes on, what
changed in between begins again, and an address with another file's usage is refused."""
import json
import random
import shutil
import subprocess
import unittest

import harness
from clickhouse import PROGRAM, ClickHouse
from fakeusage import Fake
from harness import CATALOG, ENVIRONMENT, PATIENCE, SOURCE, TOLLBOOK, Case, Server, random_seed, run
from test_usage_servers import ANSWERS, BUCKETS, lines, twice_and_last

SEED = random_seed()
COMMANDS = (["verify"], ["forecast", "--account", "1"], ["invoice", "--month", "2026-11", "--account", "1"],
            ["invoice", "--late"], ["account", "list"])
LOGS = ["/v2/pullzones/101/logs?from=2026-11-01T10:00:00Z&to=2026-11-04T09:00:00Z&limit=1000", "/11-03-26/102.log"]
EXPORT = json.dumps({"from": 0, "to": 1793782800000}).encode()
EVENTS = b"".join(json.dumps({"shield_zone": 42, "timestamp": 1793700000000 + i % 40 * 1000, "log": f"event {i}", "action": "block",
                              "ip": "192.0.2.7"}).encode() + b"\n" for i in range(300))
MANY = b"".join(json.dumps({"zone": 1000 + i, "region": ("DE", "SG")[i % 2], "hour": f"2026-11-{1 + i % 3:02}T{i % 24:02}:00:00Z",
                            "requests": 1 + i, "bytes": 7 * i}).encode() + b"\n" for i in range(5000))


class Killer(Fake):
    """Ends the program with kill -9 in the place of an answer, behind or before what the server did. The look at it that comes
    every second, however slow the rest is, is not counted."""

    def __init__(self, behind):
        super().__init__(behind)
        self.left, self.late, self.victim = None, False, None

    def reply(self, h, body, sql, query_id):
        if self.left is None or self.left > 0 or sql.startswith("SELECT 1 "):
            if self.left is not None and not sql.startswith("SELECT 1 "):
                self.left -= 1
            return super().reply(h, body, sql, query_id)
        if self.late:
            super().reply(h, body, sql, query_id)
        self.victim.kill()


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Migration(Case):
    @classmethod
    def setUpClass(cls):
        cls.shards = [ClickHouse(), ClickHouse("Asia/Tokyo")]

    @classmethod
    def tearDownClass(cls):
        for shard in cls.shards:
            shard.close()

    def url(self, database, servers=None):
        return "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in servers or self.shards) + "/" + database

    def migrate(self, db, url, expect=0):
        return run("usage", "migrate", "--db", db, "--to", url, expect=expect).stderr.decode()

    def server(self):
        server = Server(log=None)
        self.addCleanup(server.folder.cleanup)
        self.addCleanup(server.stop)
        return server

    def send(self, server, target, body, **headers):
        answer = server.ask("POST", target, server.keys["operator"], body, **headers)
        self.assertIn(answer.status, (200, 201), answer.body)

    def history(self, server):
        catalog = {**CATALOG, "shield_zones": [{"id": 42, "account": 1}], "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "zones": [101]}]}
        self.send(server, "/catalog?delete=true", json.dumps(catalog).encode(), content_type="application/json")
        self.send(server, "/books", (SOURCE / "fixtures/book.json").read_bytes(), content_type="application/json")
        self.send(server, "/ingest/buckets", BUCKETS)
        taken = lines(101, range(30, 70), "NY")
        self.send(server, "/ingest/logs", lines(101, range(40)) + lines(102, range(7), "XX") + lines(201, range(9)))
        self.send(server, "/ingest/logs", taken)
        self.command(server, "invoice", "--month", "2026-10", "--finalize")
        self.send(server, "/ingest/buckets", BUCKETS.replace(b"T05:", b"T07:"))
        self.send(server, "/ingest/logs/withdraw", taken)
        self.send(server, "/ingest/buckets", EVENTS)

    def command(self, server, *words):
        return run(*words, "--server", server.url, "--key", server.keys["operator"]).stdout

    def answers(self, server):
        found = {target: (a.status, a.body) for target in [*ANSWERS, "/loadbalancer/7/usage", *LOGS]
                 for a in [server.get(target)]}
        found["events"] = server.ask("POST", "/shield/event-logs/42/export", "user", EXPORT,
                                     content_type="application/json").body
        return found | {" ".join(words): self.command(server, *words) for words in COMMANDS}

    def same(self, one, other):
        for what in one:
            self.assertEqual(one[what], other[what], what)

    def test_1_every_answer_is_the_one_before(self):
        server, other = self.server(), self.server()
        for s in (server, other):
            self.history(s)
        before, url = self.answers(server), self.url("whole")
        self.assertIn("is being written by serve", self.migrate(server.db, url, expect=3))
        server.stop()
        self.assertIn("rows. Serve it with", self.migrate(server.db, url))
        self.assertIn("ask the server", self.migrate(server.db, url, expect=2))
        self.assertEqual(run("verify", "--db", server.db, expect=2).stdout, b"")
        server.start("--usage", url)
        self.same(before, self.answers(server))
        for s in (server, other): # what comes later counts on, and what was there before can be withdrawn
            self.send(s, "/ingest/logs", lines(101, range(100, 130)) + lines(202, range(5), "SG"))
            self.send(s, "/ingest/buckets/withdraw", BUCKETS)
        self.same(self.answers(other), self.answers(server))
        self.assertIn("another file's", self.refuse_second(url))

    def refuse_second(self, url):
        second = self.server()
        self.send(second, "/ingest/logs", lines(101, range(3)))
        before = second.get("/statistics").body
        second.stop()
        said = self.migrate(second.db, url, expect=2)
        second.start()
        self.assertEqual(before, second.get("/statistics").body)
        return said

    def test_2_killed_and_changed(self):
        server = self.server()
        self.send(server, "/ingest/buckets", MANY + BUCKETS)
        before = self.answers(server)
        server.stop()
        fakes = [Killer(shard) for shard in self.shards]
        for fake in fakes:
            self.addCleanup(fake.close)
        copy = server.path / "copy.db"
        shutil.copy(server.db, copy)
        self.migrate(copy, self.url("counting", fakes))
        statements = sum(not sql.startswith(("SELECT 1", "INSERT")) for sql, _ in fakes[1].statements)
        rng, url = random.Random(SEED), self.url("killed", fakes)
        self.assertGreater(fakes[0].inserts() + fakes[1].inserts(), 3) # two steps
        for at in sorted(rng.sample(range(2, statements - 1), 5)):
            self.kill_at(server.db, url, fakes[1], at, rng.random() < 0.5)
        server.start() # it is a file still, and goes on
        self.same(before, self.answers(server))
        self.send(server, "/ingest/logs", lines(101, range(20)))
        before = self.answers(server)
        server.stop()
        self.kill_at(server.db, url, fakes[1], statements - 2, True)
        self.assertIn("from an earlier call", self.migrate(server.db, url))
        self.assertGreater(twice_and_last(server.db)[0], 0)
        server.start("--usage", url)
        self.same(before, self.answers(server))

    def kill_at(self, db, url, fake, at, late):
        fake.late, fake.left = late, at
        fake.victim = subprocess.Popen([TOLLBOOK, "usage", "migrate", "--db", db, "--to", url], env=ENVIRONMENT,
                                       stderr=subprocess.DEVNULL)
        self.assertEqual(fake.victim.wait(PATIENCE), -9)
        fake.left = None

    def test_3_what_does_not_agree_is_told(self):
        server = self.server()
        self.send(server, "/ingest/logs", lines(101, range(30)))
        server.stop()
        fake = Killer(self.shards[0])
        self.addCleanup(fake.close)
        url = self.url("bad", [fake])
        real, changed = fake.pass_on, []

        def lose(h, body): # an INSERT that is acknowledged and not done
            if "INSERT" in h.path and ".cell" in h.path and not changed:
                changed.append(True)
                return fake.say(h, 200, b"")
            return real(h, body)

        fake.pass_on = lose
        said = self.migrate(server.db, url, expect=1)
        self.assertRegex(said, "Usage server 1 has something else than the file, 2026-11: number of rows is 0 there and")
        self.assertNotIn("earlier call", self.migrate(server.db, url))
        self.assertEqual(twice_and_last(server.db)[0], 0)
        server.start("--usage", url)
        self.assertIn(b"30", server.get("/statistics?pullZone=101").body)

    def test_4_cut_off_among_the_lines(self):
        """Counters are there by then: the server takes the lines along before it answers."""
        server = self.server()
        self.history(server)
        before = self.answers(server)
        server.stop()
        fakes = [Killer(shard) for shard in self.shards]
        for fake in fakes:
            self.addCleanup(fake.close)
            fake.watch = lambda sql: "INSERT INTO cut.log(" in sql and fakes[0].victim.kill()
        url = self.url("cut", fakes)
        fakes[0].victim = subprocess.Popen([TOLLBOOK, "usage", "migrate", "--db", server.db, "--to", url], env=ENVIRONMENT,
                                           stderr=subprocess.DEVNULL)
        self.assertEqual(fakes[0].victim.wait(PATIENCE), -9)
        for fake in fakes:
            fake.watch = lambda _: None
        server.start("--usage", url)
        self.same(before, self.answers(server))
        self.assertGreater(sum(int(shard.ask("SELECT sum(lines) FROM cut.log")) for shard in self.shards), 50)

    def test_5_hours_that_were_let_go(self):
        server = self.server()
        book = json.loads((SOURCE / "fixtures/book.json").read_text()) | {"effective_from": "2024-01-01T00:00:00Z"}
        self.send(server, "/books", json.dumps(book).encode(), content_type="application/json")
        self.send(server, "/ingest/buckets", BUCKETS.splitlines()[0].replace(b"2026-09", b"2024-09") + b"\n")
        for second in range(3): # behind eight closed days what waits is folded
            self.send(server, "/ingest/logs", lines(101, [second]))
        self.command(server, "invoice", "--month", "2024-09", "--finalize")
        server.stop()
        done = run("retain", "--db", server.db, "--hours", 25, "--days", 26)
        self.assertIn(b"1 row of hours", done.stderr) # the zone's: its account shares them
        server.start()
        self.send(server, "/ingest/buckets", BUCKETS.splitlines()[1].replace(b"2026-09", b"2024-09") + b"\n") # late
        server.stop()
        before = self.old_answers(server)
        self.migrate(server.db, self.url("retained"))
        self.assertEqual(self.old_answers(server, "--usage", self.url("retained")), before)
        server.start("--usage", self.url("retained"))
        run("verify", "--server", server.url, "--key", server.keys["operator"])
        server.stop()

    def old_answers(self, server, *options):
        """At a time from which hours of September 2024 can be seen."""
        harness.ENVIRONMENT["TOLLBOOK_NOW"] = "2024-10-02T09:00:00Z"
        server.start(*options)
        answers = [server.get("/statistics?dateFrom=2024-09-01&dateTo=2024-10-02").body,
                   server.get("/statistics?hourly=true&dateFrom=2024-09-03T00:00:00Z&dateTo=2024-10-02T09:00:00Z").body]
        server.stop()
        harness.ENVIRONMENT["TOLLBOOK_NOW"] = harness.NOW
        return answers


if __name__ == "__main__":
    unittest.main()
