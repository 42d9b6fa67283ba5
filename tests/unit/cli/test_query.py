"""`query` is for reading alone, and ends: at its time limit, at its memory's bound, at a signal."""
import signal
import sqlite3
import subprocess
import unittest

from tool import Case, lines

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "
# Single calls of a function that run for minutes, or for as long as the machine's memory lasts.
# SQLite looks for a stop between a program's steps, and these are one step.
ONE_CALL = "printf('%.*c', 2000000000, 'x') || printf('%.*c', 2000000000, 'y')"


class Query(Case):
    def query(self, sql, *options, status=0):
        return self.run_tool("query", "--db", "t.db", *options, sql, status=status)

    def test_functions_that_are_not_for_reading_are_denied(self):
        for call in ("fts3_tokenizer('simple', x'4141414141414141')", "fts3_tokenizer('simple')",
                     "load_extension('x')", "sqlite_log(1, 'x')", "rtreecheck('shadow_tree')",
                     "fts5_source_id()", "match('a', 'b')", "optimize('a')"):
            with self.subTest(call):
                done = self.query(f"SELECT {call}", status=2)
                self.assertIn("not authorized to use function", done.err)
                self.assertEqual(done.out, "")

    def test_functions_for_reading_work(self):
        sql = ("SELECT upper(substr('tollbook', 1, 4)), round(2.5), json_extract('{\"a\":7}', '$.a'), "
               "strftime('%Y', 0, 'unixepoch'), group_concat(x), sum(x) OVER (), 'a' LIKE 'A', "
               "'a' GLOB 'a', '{\"a\":7}' ->> 'a', iif(1, 2, 3), max(1, 2) "
               "FROM (SELECT 1 AS x)")
        self.assertEqual(self.query(sql).out.splitlines()[1],
                         "TOLL\t3.0\t7\t1970\t1\t1\t1\t1\t7\t2\t2")

    def test_waiting_usage_that_cannot_be_read_is_an_error(self):
        """Damaged, and not there: the tables that show it say so, and no sum without it is printed."""
        for damage, said in (("UPDATE usage_page SET data=x'ffffffffffffffffff'", "damaged"),
                             ("UPDATE usage_run SET seal=seal+1", "damaged"),
                             ("ALTER TABLE usage_page RENAME COLUMN data TO gone", "no such column")):
            self.run_tool("init", "--db", "d.db")
            self.run_tool("ingest", "--db", "d.db", "-", stdin=lines(0, 100))
            with sqlite3.connect(self.folder / "d.db") as db:
                db.execute(damage)
            db.close()
            for table in ("buckets", "countries"):
                with self.subTest(damage=damage, table=table):
                    done = self.run_tool("query", "--db", "d.db", f"SELECT sum(requests) FROM {table}", status=3)
                    self.assertIn(said, done.err)
            for path in self.folder.glob("d.db*"):
                path.unlink()

    def test_no_text_reaches_a_terminal_or_a_spreadsheet_as_more_than_text(self):
        hostile = "SELECT 'a'||char(27)||'[2J'||char(155)||char(7)||'\\\t\r\n' AS x, '-5.5' AS n, CAST(x'ff' AS TEXT) AS y"
        self.assertEqual(self.run_bytes("query", "--db", "t.db", "--format", "tsv", hostile),
                         b"x\tn\ty\na\\x1b[2J\\xc2\\x9b\\x07\\\\\\t\\r\\n\t-5.5\t\\xff\n")
        table = self.run_bytes("query", "--db", "t.db", "--format", "table", hostile)
        self.assertIn(b"a\\x1b[2J\\xc2\\x9b\\x07\\     -5.5  \\xff", table)
        cells = ["=1+1", " =1", "\t@x", "+1x", "-x", "@x", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201", "\u00a0=1", "\u3000=1", "\u2003=1"]
        sql = "VALUES" + ",".join(f"('{cell}')" for cell in cells)
        out = self.run_bytes("query", "--db", "t.db", "--format", "csv", sql).decode().split("\r\n")
        self.assertEqual(out[1:-1], [f"'{cell}" for cell in cells])
        plain = ["-5", "-1.50", "-1e-05", "1.5e+300", "a=1", "", "\u2010x", "\u2014", "'x"]
        sql = "VALUES" + ",".join("('" + cell.replace("'", "''") + "')" for cell in plain)
        out = self.run_bytes("query", "--db", "t.db", "--format", "csv", sql).decode().split("\r\n")
        self.assertEqual(out[1:-1], plain)
        long = self.run_bytes("query", "--db", "t.db", "--format", "csv", "SELECT printf('%.*c', 20000000, 'x')")
        self.assertEqual(len(long.split(b"\r\n")[1]), 20000000)

    def test_a_time_limit_ends_a_query_of_many_steps(self):
        done = self.query(ENDLESS + "max(i) FROM n", "--timeout", "1", status=3)
        self.assertIn("--timeout", done.err)

    def test_a_time_limit_ends_a_single_call(self):
        for sql in (f"SELECT length({ONE_CALL})", f"SELECT 1 UNION ALL SELECT length({ONE_CALL})"):
            with self.subTest(sql):
                done = self.query(sql, "--timeout", "1", "--format", "tsv", status=3)
                self.assertIn("--timeout", done.err)

    def test_a_time_limit_that_is_not_reached_says_nothing(self):
        done = self.query("SELECT 1", "--timeout", "600")
        self.assertEqual((done.out, done.err), ("1\n1\n", ""))

    def test_memory_is_bounded(self):
        for sql in ("SELECT count(DISTINCT b) FROM (" + ENDLESS + "randomblob(1000) AS b FROM n "
                    "LIMIT 100000)", "SELECT length(group_concat(b)) FROM (" + ENDLESS +
                    "hex(zeroblob(1000000)) AS b FROM n LIMIT 99)"):
            done = self.query(sql, "--memory-mb", "16", status=3)
            self.assertIn("more memory than it may have", done.err)
        self.assertEqual(self.query("SELECT 1", "--memory-mb", "16").out, "1\n1\n")

    def test_a_value_past_its_bound_is_the_querys_mistake(self):
        for call in ("zeroblob(2000000000)", "randomblob(1000000000)",
                     "replace(hex(zeroblob(10000)), '0', hex(zeroblob(50000)))"):
            done = self.query(f"SELECT length({call})", status=2)
            self.assertIn("too big", done.err)

    def stop(self, sql, number):
        """Sends the signal once the first row is out; how it ended and what came."""
        process = self.start("query", "--db", "t.db", "--format", "tsv", sql, stdout=subprocess.PIPE)
        first = process.stdout.readline()
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        return process.returncode, first + out, err.decode()

    def test_a_signal_ends_it_with_whole_rows(self):
        sql = ENDLESS + "i, printf('%.*c', 1000, 'x'), 'end' FROM n"
        for number in (signal.SIGINT, signal.SIGTERM):
            code, out, err = self.stop(sql, number)
            self.assertEqual(code, -number)
            self.assertIn(signal.Signals(number).name, err)
            self.assertEqual(len(err.splitlines()), 1)
            self.assertTrue(out.endswith(b"\tend\n"), out[-100:])

    def test_a_signal_ends_a_single_call(self):
        # Enough rows first that the first leaves the program's buffer.
        sql = ("SELECT * FROM (" + ENDLESS + "i, printf('%.*c', 1000, 'x'), 'end' FROM n LIMIT 99) "
               f"UNION ALL SELECT length({ONE_CALL}), 0, 'end'")
        code, out, err = self.stop(sql, signal.SIGINT)
        self.assertEqual(code, -signal.SIGINT)
        self.assertIn("SIGINT", err)
        self.assertTrue(out.endswith(b"\tend\n"), out[-100:])


if __name__ == "__main__":
    unittest.main()
