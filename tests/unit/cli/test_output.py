"""One rule of output: a table on a terminal, JSON elsewhere, and --format table|json|csv everywhere."""
import csv
import json
import os
import pty
import unittest
from pathlib import Path

from tool import NOW, TOOL, Case, lines

SOURCE = Path(__file__).resolve().parents[3]

# What each prints, and the head of its table; "": a text for people, so that CSV has its fields.
ROWS = {("audit",): "id\ttime\tkey\tfrom\toperation\targuments",
        ("intake",): "what\tlines\twhich",
        ("size",): "what\tbytes",
        ("key", "list"): "id\taccount\troles\tkey\tcreated\trevoked\tname",
        ("ledger", "--account", 1): "id\ttime\tkind\tamount\tcurrency\treference\tnote",
        ("book", "list"): "book\tcurrency\teffective_from\tsha256\tstate\tsuperseded_by",
        ("scenario", "list"): "scenario\tadded\tsha256",
        ("account", "list"): "account\tname\tcurrency\tpays\t2026-11\tbalance\towed\toverdue",
        ("ledger", "aging"): "account\tcurrency\tcurrent\t1-30\t31-60\t61-90\tover 90\ttotal",
        ("retain", "--keep-hours", "25mo", "--dry-run"): "month\thour rows\tbytes\tday rows\tbytes",
        ("stats", "--account", 1, "--from", "2026-11-19"): "field\tvalue",
        ("usage", "--balancer", 7): "field\tvalue",
        ("percentile", "--zone", 101): "",
        ("verify",): "no differences."}

CATALOG = ('{"accounts":[{"id":1,"name":"acme, \\"the\\" = best"}],'
           '"zones":[{"id":101,"account":1,"name":"video","type":"premium"}],"load_balancers":[{"id":7,"account":1,"zones":[101]}]}')


class Output(Case):
    def setUp(self):
        super().setUp()
        self.apply(CATALOG)
        self.run_tool("ingest", "--db", "t.db", self.write("a.log", lines(0, 20)))
        self.run_tool("book", "add", "--db", "t.db", SOURCE / "fixtures/book.json")
        self.run_tool("key", "create", "--db", "t.db", "--account", 1)
        self.run_tool("ledger", "pay", "--db", "t.db", "--account", 1, "--amount", "12.50", "--reference", "=1+1")

    def print(self, words, *more):
        return self.run_bytes(*words, "--db", "t.db", *more).decode()

    def on_terminal(self, *words, status=0):
        """What a terminal shows of both outputs."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execve(TOOL, [str(TOOL), *map(str, words)], self.environment(NOW))
        shown = b""
        try:
            while part := os.read(fd, 65536):
                shown += part
        except OSError:  # the other end is closed
            pass
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), status, shown)
        return shown.decode().replace("\r\n", "\n")

    def test_json_is_the_default_of_a_pipe(self):
        for words in ROWS:
            text = self.print(words)
            self.assertEqual(text, self.print(words, "--format", "json"), words)
            self.assertIsInstance(json.loads(text), dict, words)
            self.assertEqual(text.count("\n"), 1, words)

    def test_a_table_has_tabs_in_a_pipe(self):
        for words, head in ROWS.items():
            first = self.print(words, "--format", "table").splitlines()[0]
            if head:
                self.assertEqual(first, head)

    def test_csv_has_the_rows_of_the_table(self):
        for words, head in ROWS.items():
            text = self.print(words, "--format", "csv")
            rows = list(csv.reader(text.splitlines()))
            self.assertEqual(text.count("\r\n"), text.count("\n"), words)
            if words == ("verify",):
                self.assertEqual(rows, [["difference"]])
                continue
            self.assertEqual(rows[0], (head or "field\tvalue").split("\t"), words)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, words)
            table = [line.split("\t") for line in self.print(words, "--format", "table").splitlines()]
            if head:  # a formula has an apostrophe in front of it
                self.assertEqual([[cell.lstrip("'") for cell in row] for row in rows], table, words)

    def test_numbers_are_no_formulas_and_formulas_are_none(self):
        self.run_tool("ledger", "adjust", "--db", "t.db", "--account", 1, "--amount", "-5", "--reference", "a,b")
        text = self.print(("ledger", "--account", 1), "--format", "csv")
        self.assertIn(",adjustment,-5,USD,\"a,b\",\r\n", text)
        self.assertIn(",payment,12.5,USD,'=1+1,\r\n", text)

    def test_rows_of_an_invoice_s_questions(self):
        for words in (("invoice", "--late"), ("invoice", "--check", "--month", "2026-11")):
            def rows(form, words=words):
                return self.run_tool(*words, "--db", "t.db", "--format", form, status=1 if "--check" in words else 0).out
            table = [line.split("\t") for line in rows("table").splitlines()]
            self.assertEqual(list(csv.reader(rows("csv").splitlines())), table)
            self.assertEqual(len(json.loads(rows("json"))["lacks" if "--check" in words else "late"]), len(table) - 1)
            self.run_tool(*words, "--db", "t.db", "--format", "pdf", status=2)
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-11", "--format", "table", status=2)

    def test_fields_name_their_way(self):
        fields = dict(csv.reader(self.print(("usage", "--balancer", 7), "--format", "csv").splitlines()))
        answer = json.loads(self.print(("usage", "--balancer", 7)))
        self.assertEqual(fields["LoadBalancerId"], "7")
        self.assertEqual(fields["Tiers[0].PricePerMillion"], str(answer["Tiers"][0]["PricePerMillion"]))
        self.assertEqual(fields["Tiers[0].ThresholdToMillions"], "")  # null
        stats = dict(csv.reader(self.print(("stats", "--account", 1), "--format", "csv").splitlines()))
        self.assertEqual(stats["TotalRequestsServed"], "20")
        self.assertEqual(stats["RequestsServedChart.2026-11-20T00:00:00Z"], "20")

    def test_a_terminal_shows_columns(self):
        self.assertEqual(self.on_terminal("key", "list", "--db", "t.db").splitlines()[0],
                         "id  account  roles  key     created               revoked  name")
        for words, head in ROWS.items():
            shown = self.on_terminal(*words, "--db", "t.db")
            self.assertNotIn("\t", shown, words)
            self.assertIn(head.split("\t")[0], shown)
        self.assertTrue(self.on_terminal("key", "list", "--db", "t.db", "--format", "json").startswith('{"Items":[{"Id":1,'))

    def test_pages_of_the_audit_log_are_one_text(self):
        def more(db):
            row = db.execute("SELECT * FROM audit WHERE id=1").fetchone()
            places = ",".join("?" * len(row))
            db.executemany(f"INSERT INTO audit VALUES({places})", ((n, *row[1:]) for n in range(100, 2300)))

        self.change(more)
        entries = json.loads(self.print(("audit",)))["entries"]
        self.assertEqual([e["id"] for e in entries][-2201:], [4, *range(100, 2300)])
        self.assertEqual(len(list(csv.reader(self.print(("audit",), "--format", "csv").splitlines()))), 1 + len(entries))
        self.assertEqual(json.loads(self.print(("audit",), "--after", 2299)), {"entries": []})
        page = json.loads(self.print(("audit",), "--after", 1299))["entries"]
        self.assertEqual(len(page), 1000)  # whole pages, and none behind them

    def test_a_query_as_json(self):
        text = self.run_tool("query", "--db", "t.db", "--format", "json", "SELECT id, name AS \"a name\", NULL AS x FROM zone").out
        self.assertEqual(json.loads(text), [{"id": "101", "a name": "video", "x": None}])
        self.assertEqual(json.loads(self.run_tool("query", "--db", "t.db", "--format", "json", "SELECT 1 WHERE 0").out), [])

    def test_a_pdf_is_no_text_for_a_terminal(self):
        for words in (("invoice", "--month", "2026-11"), ("ledger", "statement", "--account", 1)):
            shown = self.on_terminal(*words, "--db", "t.db", "--format", "pdf", status=2)
            self.assertIn("add > FILE.pdf", shown)
            self.assertNotIn("%PDF", shown)

    def test_a_damaged_file_is_a_difference_in_each_format(self):
        path = self.folder / "t.db"
        path.write_bytes(path.read_bytes()[:60000])
        found = self.run_tool("verify", "--db", "t.db", status=1).out
        sentence, = json.loads(found)["differences"]
        self.assertEqual(self.run_tool("verify", "--db", "t.db", "--format", "table", status=1).out, sentence + "\n")
        self.assertEqual(self.run_tool("verify", "--db", "t.db", "--format", "csv", status=1).out.split("\r\n")[0], "difference")

    def test_verify_offers_its_progress(self):
        self.assertIn("--progress", self.run_tool("help", "verify").out)


if __name__ == "__main__":
    unittest.main()
