"""Letting go of old usage and of request logs: with --db, through a running server, and by itself with
serve --retain."""
import json
import unittest
import both
from tool import line, lines

BOOK = {"book": "plain", "currency": "USD", "effective_from": "2023-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "ASIA": "0.01"}}}}


CATALOG = {"accounts": [{"id": 1, "name": "zephyrine"}, *both.CATALOG["accounts"][1:]],
           "zones": [{**both.CATALOG["zones"][0], "name": "zephyrine-video", "hostnames": ["zephyrine.example"]},
                     *both.CATALOG["zones"][1:]]}


class Retain(both.Both):
    def prepare(self):
        """January 2024 is final, February is not; the logs are of the last hours."""
        book = self.write("b.json", json.dumps(BOOK))
        self.run_tool("apply", "--db", "t.db", self.write("z.json", json.dumps(CATALOG)))
        self.run_tool("book", "add", "--db", "t.db", book)
        for month in ("2024-01", "2024-02", "2026-10"):
            self.run_tool("import", "--db", "t.db", "-",
                          stdin=self.rows({101: 7, 102: 5}, f"{month}-05T07:00:00Z"))
        # Lines have countries, which rows have not.
        self.run_tool("ingest", "--db", "t.db", "-", stdin="".join(
            line(n, ms=1704441600000 + n) for n in range(20)).encode())  # 2024-01-05
        self.run_tool("invoice", "--db", "t.db", "--month", "2024-01", "--finalize")
        self.run_tool("ingest", "--db", "t.db", "-", stdin=lines(0, 50))

    def serve(self):
        self.prepare()
        self.run_tool("backup", "--db", "t.db", "--to", "c.db")
        (self.folder / "c.db").replace(self.folder / "l.db")
        super().serve()

    def counts(self, db):
        return self.query("SELECT (SELECT count(*) FROM chunk),(SELECT count(*) FROM log_block),"
                          "(SELECT count(*) FROM usage_gone),(SELECT count(*) FROM retention)", db)

    def test_here_and_there_it_says_and_does_the_same(self):
        before = self.counts("t.db")
        words = ["retain", "--hours", 33, "--days", 33, "--logs", "1h"]
        dry = self.both(*words, "--dry-run", "--format", "table")
        self.assertEqual(dry.out.splitlines()[0].split("\t")[0], "month")
        self.assertEqual([line.split("\t")[0] for line in dry.out.splitlines()[1:]], ["2024-01"])
        self.assertIn("would go", dry.err)
        self.assertEqual(self.counts("t.db"), before)
        self.assertNotEqual(self.query("SELECT count(*) FROM countries WHERE day<'2024-02-01'", "t.db"), [["0"]])
        done = self.both(*words)
        self.assertEqual(self.query("SELECT count(*) FROM countries WHERE day<'2024-02-01'", "t.db"), [["0"]])
        self.assertIn("went. The file uses their space again", done.err)
        self.assertNotEqual(self.counts("t.db"), before)
        self.assertEqual(self.counts("t.db"), self.counts("l.db"))
        self.assertIn("were to go", self.both(*words).err)
        self.assertIn("keeps all from 2024-02 on", self.both("retain", "--hours", 30).err)
        self.both("retain", "--hours", 24, status=2)
        self.both("retain", status=2, alike=False)
        for db in ("t.db", "l.db"):
            self.assertRegex(self.run_tool("verify", "--db", db, "--format", "table").out, "^Note: .*no longer kept.*\nno differences.\n$")
            found = json.loads(self.run_tool("verify", "--db", db).out)
            self.assertEqual(found["differences"], [])
            self.assertRegex(found["notes"][0], "no longer kept")
            self.assertEqual(self.run_tool("verify", "--db", db, "--format", "csv").out.splitlines(), ["difference"])
            entries = self.query("SELECT operation,arguments FROM audit WHERE operation='retain'", db)
            self.assertEqual(entries, [["retain", '{"hours":33,"days":33,"logs":"1h"}']])
        self.assertIn("free", self.run_tool("size", "--db", "t.db").out)
        self.stop()

    def test_much_goes_in_parts(self):
        """More rows than go in one commit: the command is called again until nothing is left."""
        zones = range(1000, 1320)
        self.run_tool("init", "--db", "m.db")
        self.run_tool("apply", "--delete", "--db", "m.db", self.write("m.json", json.dumps({
            "accounts": [{"id": 1, "name": "a"}],
            "zones": [{"id": z, "account": 1, "name": f"z{z}", "created": "2023-01-05T00:00:00Z"}
                      for z in zones]})))
        self.run_tool("book", "add", "--db", "m.db", self.write("b.json", json.dumps(BOOK)))
        for day in range(1, 29):
            self.run_tool("import", "--db", "m.db", "-", stdin=self.rows(
                dict.fromkeys(zones, 1), f"2024-01-{day:02}T07:00:00Z"))
        for hour in ("2024-02-20T07:00:00Z", "2026-10-05T07:00:00Z"):
            self.run_tool("import", "--db", "m.db", "-", stdin=self.rows({1000: 1}, hour))
        self.run_tool("invoice", "--db", "m.db", "--month", "2024-01", "--finalize")
        version = "SELECT value FROM meta WHERE name='data_version'"
        before = self.query(version, "m.db")
        said = self.run_tool("retain", "--db", "m.db", "--hours", 33, "--days", 33).err
        self.assertGreater(int(self.query(version, "m.db")[0][0]), int(before[0][0]) + 1)
        self.assertIn("went. The file uses their space again", said)
        self.assertEqual(self.query("SELECT count(*) FROM audit WHERE operation='retain'", "m.db"), [["1"]])
        left = self.query("SELECT count(*) FROM buckets WHERE hour<'2024-02-01'", "m.db")
        self.assertEqual(left, [["0"]])
        self.run_tool("verify", "--db", "m.db")

    def test_a_clock_that_is_ahead_lets_no_new_usage_go(self):
        self.stop()
        self.run_tool("invoice", "--db", "t.db", "--month", "2024-02", "--finalize")
        dry = self.run_tool("retain", "--db", "t.db", "--hours", 33, "--days", 33, "--dry-run").out
        words = ["retain", "--db", "t.db", "--hours", 34, "--days", 34] # from the month after the newest usage
        ahead = {"now": "2036-02-07T00:00:00Z"}
        self.assertEqual(self.run_tool(*words, "--dry-run", **ahead).out, dry)
        self.assertIn("not from this machine's clock (2036-02)", self.run_tool(*words, **ahead).err)
        self.assertEqual(self.query("SELECT max(hours_month) FROM retention"), [["649"]])
        self.assertIn("were to go", self.run_tool(*words).err)

    def test_by_itself_only_where_serve_says_so(self):
        self.stop()
        before = self.counts("t.db")
        self.assertEqual(self.query("SELECT count(*) FROM retention"), [["0"]])
        port = self.folder / "port"
        port.unlink()
        self.server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file",
                                 "port", "--threads", 2, "--retain", "33mo,33mo,1h")
        self.wait_for(lambda: self.query("SELECT count(*) FROM audit WHERE operation='retain'") == [["1"]])
        self.stop()
        self.assertNotEqual(self.counts("t.db"), before)
        self.assertEqual(self.query("SELECT hours_month-days_month,count(*) FROM retention"), [["0", "2"]])
        self.assertEqual(self.query("SELECT count(*) FROM log_block"), [["0"]])
        self.assertEqual(self.query("SELECT origin,\"key\" FROM audit WHERE operation='retain'"),
                         [["serve --retain", "0"]])
        self.run_tool("verify", "--db", "t.db")

    def test_all_may_be_kept(self):
        self.stop()
        (self.folder / "port").unlink()
        self.server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file", "port",
                                 "--retain", "-,-,-")
        self.wait_for((self.folder / "port").exists)

    def test_a_customer_is_forgotten_here_and_there(self):
        left = {"accounts": CATALOG["accounts"][1:], "zones": CATALOG["zones"][1:]}
        self.both("forget", "--account", 1, status=1, alike=False)
        self.both("apply", "--delete", self.write("left.json", json.dumps(left)))
        before = self.query("SELECT sum(bytes) FROM buckets")
        self.assertIn("Nothing changed.", self.both("forget", "--account", 1, "--dry-run").err)
        self.assertIn("is forgotten", self.both("forget", "--account", 1).err)
        self.assertIn("nothing left", self.both("forget", "--account", 1).err)
        self.both("forget", "--account", 77, status=2, alike=False)
        self.stop()
        self.same("zone", "account", "declaration")
        self.assertEqual(self.query("SELECT sum(bytes) FROM buckets"), before)
        self.assertEqual(self.query("SELECT count(*) FROM log_block"), [["0"]])
        for db in ("t.db", "l.db"):
            self.run_tool("verify", "--db", db)
            self.assertNotIn(b"zephyrine", (self.folder / db).read_bytes())
            self.assertEqual(self.query("SELECT arguments FROM audit WHERE operation='forget'", db),
                             [['{"account":1}']])

    def test_what_is_no_retention_is_refused_at_the_start(self):
        self.stop()
        for text in ("", "25", "25,60", "24,60,72h", "60,25,72h", "25,60,73h", "25m,60,72h", "mo,60,72h", "25,60,72h,", "-,-",
                     "x,-,-", ",,72h"):
            done = self.run_tool("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--retain", text,
                                 status=2)
            self.assertIn("HOURS,DAYS,LOGS", done.err, text)


if __name__ == "__main__":
    unittest.main()
