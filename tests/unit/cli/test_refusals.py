"""What a wrong call is told: what happened, what was meant, what to type."""
import os
import unittest
from pathlib import Path

from tool import TOOL, Case, lines

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
BOOK, CATALOG, SCENARIO, LOG = (FIXTURES / name for name in ("book.json", "catalog.json", "scenario.json", "requests.log"))


class Refusals(Case):
    def setUp(self):
        super().setUp()
        self.apply('{"accounts":[{"id":1,"name":"Acme"},{"id":2,"name":"twin"},{"id":3,"name":"Twin"},{"id":4,"name":"acme video"}],'
                   '"zones":[{"id":101,"account":1,"name":"video"}]}')

    def told(self, *words, status=2):
        return self.run_tool(*words, status=status).err

    def tells(self, cases):
        for words, *said in cases:
            with self.subTest(words=words):
                told = self.told(*words)
                for text in said:
                    self.assertIn(text, told)

    def test_a_document_of_another_kind(self):
        for words, path, said in ((("apply",), BOOK, ("a price book; this command takes a catalogue", "book add")),
                                  (("apply",), SCENARIO, ("a what-if scenario; this command takes a catalogue", "scenario add")),
                                  (("book", "add"), CATALOG, ("a catalogue; this command takes a price book", "apply")),
                                  (("scenario", "add"), BOOK, ("a price book; this command takes a what-if scenario", "book add"))):
            told = self.told(*words, "--db", "t.db", path)
            self.assertIn(f"{path}: It is {said[0]}", told)
            self.assertTrue(told.endswith(f"Add it with: tollbook {said[1]} --db t.db {path}\n"), told)
        for text, said in (("{", "line 1, byte 2: A key"), ("", "line 1, byte 1: The document ends"), ('{\n"a":1,\n}', "line 3, byte 10: ")):
            self.assertIn(said, self.told("apply", "--db", "t.db", self.write("broken.json", text)))
        self.assertIn("It is not JSON", self.told("apply", "--db", "t.db", LOG))
        self.assertIn(f"tollbook ingest --db t.db {LOG}", self.told("apply", "--db", "t.db", LOG))
        self.assertIn("a price book; this command takes a what-if scenario",
                      self.told("whatif", "--db", "t.db", "--from", "2026-10", "--to", "2026-10", BOOK))

    def test_a_place_has_its_line(self):
        path = self.write("c.json", '{"accounts":[\n {"id":1,"name":"a"},\n {"id":2,"nmae":"b"}]}')
        self.assertIn('c.json: line 3, byte 46: accounts[1].nmae: Unknown key. Did you mean "name"?', self.told("apply", "--db", "t.db", path))
        path = self.write("c.json", '{"acounts":[]}')
        self.assertIn('line 1, byte 2: acounts: Unknown key. Did you mean "accounts"?', self.told("apply", "--db", "t.db", path))
        path = self.write("b.json", '{"book":"b",\n"curency":"USD"}')
        self.assertIn('line 2, byte 14: curency: Unknown key. Did you mean "currency"?', self.told("book", "add", "--db", "t.db", path))

    def test_words_that_are_none(self):
        create = ("key", "create", "--db", "t.db", "--account", 1, "--role")
        self.tells((((*create, "Admin"), 'no role "Admin". There are User, ', "or Replica."),
                    ((*create, "operator"), 'Did you mean "Operator"?'),
                    (("size", "--db", "t.db", "--by", "Zone"), '"Zone" is not one of kind, month or zone. Did you mean "zone"?'),
                    (("ingest", "--db", "t.db", "--format", "nginx", LOG), "needs the description behind it", "give combined"),
                    (("ingest", "--db", "t.db", "--format", "cobined", LOG), 'Did you mean "combined"? Formats are pipe,'),
                    (("versoin",), 'Did you mean "version"?'), (("HELP",), 'Did you mean "help"?'),
                    (("ledger", "payment", "--db", "t.db"), 'no subcommand "ledger payment"', "comes pay, adjust"),
                    (("book", "delete", "x"), 'no subcommand "book delete". After "book" comes add, list'),
                    (("book", "ADD"), 'Did you mean "book add"?'),
                    (("follow", "--db", "t.db", "--every", "fast", "x"), '--every: "fast" is not a time'),
                    (("stats", "--db", "t.db", "--account", 1, "--latest"), "--latest needs --from or --to."),
                    (("ledger", "export", "--db", "t.db", "--month", "2026-10", "--format", "json"), "is not csv, which is all"),
                    (("key", "craete"), 'Did you mean "key create"?'),
                    (("verify", "t.db"), "Did you mean --db t.db?"),
                    (("key", "revoke", "--db", "t.db", "3"), "Did you mean --id 3?"),
                    (("--db", "t.db", "verify"), "Options come behind the subcommand")))

    def test_help_behind_a_command(self):
        for words in (("ledger",), ("key",), ("ledger", "pay"), ("usage",), ("usage", "migrate")):
            self.assertEqual(self.run_tool(*words, "help").out, self.run_tool("help", *words).out)
        for word in ("version", "-V", "-v"):
            self.assertEqual(self.run_tool(word).out, self.run_tool("--version").out)

    def test_help_has_groups(self):
        shown = self.run_tool("help").out
        titles = [line[:-1] for line in shown.splitlines() if line.endswith(":") and not line.startswith((" ", "usage", "more"))]
        self.assertEqual(titles, ["Set up", "Take in logs and usage", "See statistics", "Bill", "Keep the ledger", "Ask what would be",
                                  "Run and monitor", "Undo and delete"])
        self.assertIn("ingest --withdraw", shown)

    def test_what_there_is_none_of_is_named(self):
        self.tells(((("stats", "--db", "t.db", "--account", 1, "--zone", 999), "There is no pull zone 999 of account 1.", "query --db t.db"),
                    (("usage", "--db", "t.db", "--balancer", 98), "There is no load balancer 98."),
                    (("invoice", "--db", "t.db", "--number", "2026-000099"), 'There is no invoice "2026-000099".'),
                    (("invoice", "--db", "t.db", "--void", "2026-000099"), 'There is no invoice "2026-000099".'),
                    (("key", "revoke", "--db", "t.db", "--id", 97), "--id 97: There is no such key."),
                    (("forget", "--db", "t.db", "--account", 96), "There is no account 96. See: tollbook account list --db t.db")))

    def test_hints_run_as_they_are(self):
        for words in (("stats", "--db", "t.db", "--account", 1, "--zone", 999), ("key", "revoke", "--db", "t.db", "--id", 97),
                      ("invoice", "--db", "t.db", "--number", "2026-000099"), ("query", "--db", "t.db", "SELECT * FROM accounts")):
            hint = self.told(*words).rstrip("\n").split(": tollbook ")[-1]
            self.assertEqual(os.system(f"cd {self.folder} && {TOOL} {hint} >/dev/null"), 0, hint)

    def test_amounts_show_how_they_are_written(self):
        pay = ("ledger", "pay", "--db", "t.db", "--account", 1, "--reference", "r", "--amount")
        self.tells((((*pay, "10,50"), 'amount: "10,50": A decimal has only digits and one point. Write it like 10.50.'),
                    ((*pay, "1.000,50"), "Write it like 1000.50."), ((*pay, "$10"), "Write it like 10."),
                    ((*pay, "ten"), "Write it like 12.50."),
                    (("percentile", "--db", "t.db", "--account", 1, "--percentile", "95%"), "Write it like 95.")))
        self.assertNotIn("Write it like", self.told(*pay, "1.1234567890123456789"))

    def test_months_that_are_kept(self):
        retain = ("retain", "--db", "t.db")
        self.tells((((*retain, "--hours", 3), '"3" is out of range: it takes a whole number from 25 to 1200.', "older name of --keep-hours"),
                    ((*retain, "--keep-hours", "25"), '"25" is not a number of months. Write it like 25mo.'),
                    ((*retain, "--keep-hours", "24mo"), "from 25mo to 1200mo"), ((*retain, "--keep-days", "1201mo"), "1200mo"),
                    ((*retain, "--keep-hours", "25mo", "--hours", 25), "older name"),
                    ((*retain, "--keep-hours", "30mo", "--keep-days", "25mo"), "larger number"), (retain, "Give --keep-hours 25mo")))
        new, old = (self.run_tool(*retain, *words, "--dry-run") for words in (("--keep-hours", "25mo"), ("--hours", 25)))
        self.assertEqual(new.out, old.out)
        self.assertIn("older names", old.err)
        self.assertNotIn("older names", new.err)

    def test_a_digest_with_its_time(self):
        digest = self.run_tool("anchor", "--db", "t.db").out.strip()
        self.assertIn(" ", digest)
        self.run_tool("verify", "--db", "t.db", "--against", digest)
        self.run_tool("verify", "--db", "t.db", "--against", digest.split()[0])
        self.assertIn('"xyz": This is not a digest', self.told("verify", "--db", "t.db", "--against", "xyz"))

    def test_names_that_are_no_files_or_no_folders(self):
        out = ("invoice", "--db", "t.db", "--month", "2026-10", "--format", "html", "--out")
        self.tells((((*out, "x.html"), "looks like a file", "> x.html"),
                    (("backup", "--db", "t.db", "--to", "-"), "--to: Give the name of a file", "./-"),
                    (("init", "--db", "-"), "./-")))
        self.assertFalse((self.folder / "x.html").exists() or (self.folder / "-").exists())
        (self.folder / "d.html").mkdir()
        self.run_tool(*out, "d.html", status=1)
        self.run_tool("backup", "--db", "t.db", "--to", "./-")

    def test_an_account_by_its_name(self):
        for name in ("acme", "ACME", "Acme"):
            entered = self.run_tool("ledger", "pay", "--db", "t.db", "--account", name, "--amount", "1", "--reference", name).err
            self.assertIn("Account 1 has", entered)
        audit = self.query("SELECT arguments FROM audit WHERE operation='ledger enter'")
        self.assertTrue(all('"account":1,' in row[0] for row in audit), audit)
        self.tells(((("ledger", "--db", "t.db", "--account", "twin"), '2 accounts have the name "twin": 2 is "twin", 3 is "Twin". Give the number.'),
                    (("ledger", "--db", "t.db", "--account", "video"), 'No account has the name "video". Names that contain it: 4 is "acme video".'),
                    (("ledger", "--db", "t.db", "--account", "nobody"), "See: tollbook account list --db t.db"),
                    (("token", "--account", "acme", "--token-key", "k"), "Find it with: tollbook account list")))
        self.assertIn('"video" is not a whole number from 1 up. Find it with: tollbook query',
                      self.told("stats", "--db", "t.db", "--account", 1, "--zone", "video"))

    def test_the_database_may_be_in_a_variable(self):
        os.environ["TOLLBOOK_DB"] = "t.db"
        self.addCleanup(os.environ.pop, "TOLLBOOK_DB")
        self.run_tool("ingest", self.write("a.log", lines(0, 5)))
        self.assertEqual(self.run_tool("stats", "--account", "acme").out, self.run_tool("stats", "--db", "t.db", "--account", 1).out)
        self.run_tool("verify")
        self.run_tool("query", "SELECT 1")
        self.run_tool("backup", "--to", "copy.db")
        self.assertIn("SERVER", self.told("verify", "--server", "ftp://h", "--key", "k").upper())
        os.environ["TOLLBOOK_SERVER"] = "http://127.0.0.1:1"
        self.addCleanup(os.environ.pop, "TOLLBOOK_SERVER")
        self.assertIn("TOLLBOOK_DB and TOLLBOOK_SERVER", self.told("verify"))
        self.run_tool("verify", "--db", "t.db")
        del os.environ["TOLLBOOK_DB"]
        self.assertIn("needs a key: --key-file FILE, or the variable TOLLBOOK_KEY or TOLLBOOK_KEY_FILE", self.told("verify"))
        os.environ["TOLLBOOK_DB"] = "t.db"


if __name__ == "__main__":
    unittest.main()
