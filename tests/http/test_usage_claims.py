"""Two tollbook servers on one database of ClickHouse servers, by mistake: another control file is refused at its start; a copy of the
file that runs is served, and the one before it stops asking and sending within seconds, and says why. At no moment does one
count what the other one sent."""
import re
import unittest

from clickhouse import PROGRAM
from fakeusage import Fake
from follower import until
from harness import Case, Server, run
from test_usage_servers import Pair, lines


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Claims(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair, cls.second = Pair("--usage-compact-rows", "0"), 0

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()

    def requests(self, server):
        got = server.get("/statistics?dateFrom=2026-11-01&dateTo=2026-11-04", self.pair.away.keys["user"])
        return got.json()["TotalRequestsServed"] if got.status == 200 else got

    def send(self, server, n):
        Claims.second += 100
        return server.ask("POST", "/ingest/logs", self.pair.away.keys["operator"], lines(101, range(self.second, self.second + n)))

    def test_1_another_file(self):
        pair, other = self.pair, self.pair.away.path / "other.db"

        def said():
            return run("serve", "--db", other, "--listen", "127.0.0.1:0", "--usage", pair.usage, expect=2).stderr.decode()

        run("init", "--db", other)
        self.assertIn("of server 1 of --usage has the usage of another control file", said()) # which has sent nothing yet
        self.assertEqual(self.send(pair.away, 10).status, 200)
        for shard in pair.shards: # as a build before this left it
            shard.ask("RENAME TABLE tollbook_test.writer TO tollbook_test.later")
        self.assertIn("--usage has the usage of another control file", said())
        for shard in pair.shards:
            shard.ask("DROP TABLE IF EXISTS tollbook_test.writer")
            shard.ask("RENAME TABLE tollbook_test.later TO tollbook_test.writer")
        pair.away.stop()
        pair.away.start("--usage", pair.usage)
        self.assertEqual(self.requests(pair.away), 10)

    def test_2_a_copy_beside_it(self):
        pair, first, second = self.pair, self.pair.away, None
        copy = first.path / "copy.db"
        run("backup", "--db", first.db, "--to", copy, "--usage", pair.usage)
        first.stop() # and begins a span in which there are no rows: the copy may not take the same one
        first.start("--usage", pair.usage)
        second = Server("--usage", pair.usage, db=copy)
        second.keys = first.keys
        self.addCleanup(second.folder.cleanup)
        self.addCleanup(second.stop)
        sent = {first: 10, second: 10}

        def send_both():
            status = {}
            for server, n in ((first, 3), (second, 5)):
                status[server] = self.send(server, n).status
                sent[server] += n if status[server] == 200 else 0
                there = self.requests(server)
                if isinstance(there, int):
                    self.assertEqual(there, sent[server])
                else:
                    self.refused(there, 503, "usage.away")
            return status == {first: 503, second: 200}

        until(send_both, first.messages)
        self.assertIn("of server 1 of --usage, with another copy of", first.messages())
        self.assertIn("Another tollbook has begun to write", first.ask("GET", "/readyz").json()["Message"])
        self.assertEqual(second.ask("GET", "/readyz").status, 200)
        first.stop() # whoever is started last may go on
        first.start("--usage", pair.usage)
        until(lambda: second.ask("GET", "/readyz").status == 503, second.messages)
        self.assertEqual(self.send(first, 2).status, 200)
        self.assertEqual(self.requests(first), sent[first] + 2)
        run("verify", "--server", first.url, "--key", first.keys["operator"])

    def test_3_a_first_start_that_is_cut_off(self):
        """It took its span on one server of two, twice: the file knows by its number that nobody else did."""
        pair, other, cut = self.pair, self.pair.away.path / "first.db", []
        fakes = [Fake(shard) for shard in pair.shards]
        usage = "clickhouse://" + ",".join(f"127.0.0.1:{fake.port}" for fake in fakes) + "/first"

        def end_it(sql):
            if sql.startswith("INSERT INTO first.writer") and len(cut) < 2:
                cut.append(sql)
                fakes[1].break_with("silent")
                raise ConnectionError

        fakes[1].watch = end_it
        run("init", "--db", other)
        for _ in range(2):
            self.assertIn(b"shard 2 of 2", run("serve", "--db", other, "--listen", "127.0.0.1:0", "--usage", usage, expect=3).stderr)
            fakes[1].heal()
        self.assertEqual(len(cut), 2)
        server = Server("--usage", usage, db=other)
        self.assertEqual(server.ask("GET", "/readyz").status, 200)
        server.stop()
        server.folder.cleanup()
        for fake in fakes:
            fake.close()

    def test_4_a_server_that_is_older_than_the_file(self):
        """As one that came back from a backup of before the last start: rows that count are missing."""
        pair, server = self.pair, self.pair.away
        shard = pair.shards[1]
        server.stop()
        shard.ask("CREATE TABLE tollbook_test.kept ENGINE=MergeTree ORDER BY epoch AS SELECT * FROM tollbook_test.writer")
        server.start("--usage", pair.usage)
        self.assertEqual(self.send(server, 4).status, 200)
        before = self.requests(server)
        server.stop()
        shard.ask("RENAME TABLE tollbook_test.writer TO tollbook_test.newer, tollbook_test.kept TO tollbook_test.writer")
        said = run("serve", "--db", server.db, "--listen", "127.0.0.1:0", "--usage", pair.usage, expect=2).stderr.decode()
        self.assertIn("Server 2 of --usage is older than", said)
        span = re.search(r"ends with span \d+ of (\d+),", said)[1]
        shard.ask(f"INSERT INTO tollbook_test.writer VALUES({span},0)") # as docs/operate/clickhouse.md says
        server.start("--usage", pair.usage)
        self.assertEqual(self.requests(server), before)

    def test_5_a_column_more(self):
        """Which somebody added for queries of their own: rows that are sent are what they were."""
        pair, server = self.pair, self.pair.away
        for shard in pair.shards:
            for table in ("cell", "country", "log", "log_gone", "event"):
                shard.ask(f"ALTER TABLE tollbook_test.{table} ADD COLUMN more String")
        self.assertEqual(self.send(server, 7).status, 200)
        kept = server.get("/v2/pullzones/101/logs?from=2026-11-03T00:00:00Z&to=2026-11-04T09:00:00Z&limit=1000")
        self.assertEqual(kept.status, 200, kept.body)
        self.assertEqual(kept.body.count(b"https://z/x"), self.requests(server), kept.body[:300])
        run("verify", "--server", server.url, "--key", server.keys["operator"])


if __name__ == "__main__":
    unittest.main()
