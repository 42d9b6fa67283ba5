"""A month's invoices as files: the same from a database and through a server, whole or not at all, the
same bytes again; drafts and void ones are left out. One invoice goes to standard output."""
import http.server
import json
import os
import shutil
import sqlite3
import subprocess
import threading
import unittest
from both import Both
from test_remote_money import BOOK, MONTH

FORMS = {"json": "json", "csv": "csv", "html": "html", "focus": "csv"}


class Files(Both):
    def setUp(self):
        super().setUp()
        self.both("book", "add", self.write("b.json", json.dumps(BOOK)))
        self.both("invoice", *MONTH, "--finalize")

    def files(self, *words, status=0):
        """What a folder then holds, alike here and there."""
        held = []
        for where in (["--db", "l.db"], self.place):
            done = self.run_tool("invoice", *words, "--out", "out", *where, status=status)
            self.assertEqual(done.out, "")
            held.append(({p.name: p.read_bytes() for p in (self.folder / "out").iterdir()},
                         self.placeless(done.err)))
            shutil.rmtree(self.folder / "out")
        self.assertEqual(held[0], held[1])
        return held[0]

    def test_each_form_has_a_file_of_each_invoice(self):
        for form, end in FORMS.items():
            held, said = self.files(*MONTH, "--format", form)
            self.assertEqual(sorted(held), [f"2026-00000{n}.{end}" for n in (1, 2, 3)])
            self.assertIn("invoice: 3 files made.\n", said)
            for name, text in held.items():
                one = self.both("invoice", "--number", name[:11], "--format", form)
                self.assertEqual(one.stdout.rstrip(b"\n"), text.rstrip(b"\n"))

    def test_what_an_electronic_form_lacks_is_named(self):
        """Nobody has declared who sells: each invoice says so, and no file is made."""
        for form in ("ubl", "xrechnung"):
            done = self.run_tool("invoice", *MONTH, "--out", "out", "--format", form, "--db", "l.db",
                                 status=1)
            self.assertIn("lacks seller.name (BT-27) and", done.err)
            self.assertEqual(os.listdir(self.folder / "out"), [])
            done = self.both("invoice", "--number", "2026-000001", "--format", form, status=1)
            self.assertIn("Account 1 lacks seller.name (BT-27) and", done.err)

    def test_one_that_cannot_be_shown_stops_no_other(self):
        """The middle one's text was damaged: the others are made, in a folder and in one stream."""
        with sqlite3.connect(self.folder / "l.db") as db:
            for name, in db.execute("SELECT name FROM sqlite_master WHERE type='trigger' AND tbl_name='invoice'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            account, = db.execute("SELECT account FROM invoice WHERE number='2026-000002'").fetchone()
            db.execute("UPDATE invoice SET document=substr(document,1,length(document)-9) WHERE number='2026-000002'")
        for form, end in (("pdf", "pdf"), ("csv", "csv"), ("html", "html")):
            done = self.run_tool("invoice", *MONTH, "--out", f"o-{form}", "--format", form, "--db", "l.db", status=1)
            self.assertEqual(sorted(os.listdir(self.folder / f"o-{form}")), [f"2026-000001.{end}", f"2026-000003.{end}"])
            self.assertIn(f"2026-000002 (account {account}): ", done.err)
            self.assertIn("1 invoice refused, for the reason above.", done.err)
        done = self.run_tool("invoice", *MONTH, "--format", "csv", "--db", "l.db", status=1)
        self.assertIn("2026-000001", done.out)
        self.assertIn("2026-000003", done.out)
        self.assertNotIn("2026-000002", done.out)
        self.assertIn(f"2026-000002 (account {account}): ", done.err)

    def test_drafts_and_void_ones_are_left_out_and_named(self):
        self.both("invoice", "--void", "2026-000002")
        held, said = self.files(*MONTH)
        self.assertEqual(sorted(held), ["2026-000001.json", "2026-000003.json"])
        self.assertIn("2026-000002 is void and left out.", said)
        self.assertIn("1 account has no invoice of 2026-10.", said)
        held, said = self.files("--month", "2026-11", status=1)
        self.assertEqual(held, {})
        self.assertIn("0 files made.", said)

    def test_what_is_there_stays_with_resume_and_is_made_again_without(self):
        for where in (["--db", "l.db"], self.place):
            out = self.folder / "out"
            self.run_tool("invoice", *MONTH, "--out", "out", *where)
            whole = (out / "2026-000001.json").read_bytes()
            (out / "2026-000001.json").write_bytes(b"mine")
            (out / "2026-000002.json").unlink()
            done = self.run_tool("invoice", *MONTH, "--out", "out", "--resume", *where)
            self.assertEqual((out / "2026-000001.json").read_bytes(), b"mine")
            self.assertTrue((out / "2026-000002.json").exists())
            if where[0] == "--db":
                self.assertIn("1 file made.\ntollbook invoice: 2 files there before.", done.err)
            self.run_tool("invoice", *MONTH, "--out", "out", *where)
            self.assertEqual((out / "2026-000001.json").read_bytes(), whole)
            kept = (out / "2026-000001.json").stat()
            self.run_tool("invoice", *MONTH, "--out", "out", *where)
            self.assertEqual((out / "2026-000001.json").stat().st_ino, kept.st_ino)
            shutil.rmtree(out)

    def test_resume_looks_at_the_form(self):
        """Two forms have the same name: FOCUS in the place of what is CSV, and the other way round."""
        for where in (["--db", "l.db"], self.place):
            out = self.folder / "out" / "2026-000001.csv"
            held = {}
            for form in ("csv", "focus", "csv"):
                for _ in range(2):
                    self.run_tool("invoice", *MONTH, "--format", form, "--out", "out", "--resume", *where)
                    self.assertEqual(out.read_bytes(), held.setdefault(form, out.read_bytes()))
                    self.assertIn(b"BillingAccountId" if form == "focus" else b"account,number", out.read_bytes()[:99])
                out.write_bytes(out.read_bytes() + b"mine\n")
                self.run_tool("invoice", *MONTH, "--format", form, "--out", "out", "--resume", *where)
                self.assertTrue(out.read_bytes().endswith(b"mine\n"), "what is of this form stays")
            shutil.rmtree(self.folder / "out")

    def test_what_cannot_be_written_leaves_no_half_of_a_file(self):
        """What stands in the way of the second file ends the run; the first is whole."""
        obstacle = self.folder / "out" / "2026-000002.json"
        obstacle.mkdir(parents=True)
        for where in (["--db", "l.db"], self.place):
            done = self.run_tool("invoice", *MONTH, "--out", "out", *where, status=3)
            self.assertIn("out/2026-000002.json: It cannot be written: Is a directory.", done.err)
            self.assertEqual(sorted(os.listdir(self.folder / "out")),
                             ["2026-000001.json", "2026-000002.json"])
            json.loads((self.folder / "out" / "2026-000001.json").read_bytes())
            (self.folder / "out" / "2026-000001.json").unlink()

    def test_what_a_killed_run_began_is_taken_away_and_another_run_s_is_not(self):
        out = self.folder / "out"
        out.mkdir()
        gone = subprocess.Popen(["true"])
        gone.wait()
        mine = [f".2026-000001.pdf.{os.getpid()}.part", ".mine.part", "notes.part", ".x.1a.part"]
        for name in [*mine, f".2026-000001.pdf.{gone.pid}.part"]:
            (out / name).write_text("half")
        self.run_tool("invoice", *MONTH, "--out", "out", "--db", "l.db")
        self.assertEqual(sorted(os.listdir(out)),
                         sorted([*mine, *(f"2026-00000{n}.json" for n in (1, 2, 3))]))
        self.run_tool("invoice", *MONTH, "--out", "new", "--db", "none.db", status=3)
        self.assertFalse((self.folder / "new").exists())

    def test_one_invoice_is_printed_and_never_two_in_a_row(self):
        for form in ("pdf", "ubl", "xrechnung"):
            done = self.both("invoice", *MONTH, "--format", form, status=2, alike=False)
            self.assertEqual(done.stdout, b"")
            self.assertIn("There are several invoices", done.err)
        for words in ((*MONTH, "--account", 1), ("--number", "2026-000001")):
            here = self.run_bytes("invoice", *words, "--format", "pdf", "--db", "l.db")
            self.assertTrue(here.startswith(b"%PDF-1."))
            self.assertEqual(self.run_bytes("invoice", *words, "--format", "pdf", *self.place), here)

    def test_a_hostile_server_names_no_other_file(self):
        """Only "2026-000001.json" and its like come into the folder, and no command reaches a terminal."""
        for name in ("../x.json", "notes.txt", ".ssh", "-rf", "2026-1", "2026-1.a/b", "2026-1.\n", ""):
            reply = {"out": "", "said": ["\x1b[31mred"], "answer": None, "no": False, "next": "",
                     "files": [{"name": name, "base64": "eA=="}]}

            class Evil(http.server.BaseHTTPRequestHandler):
                def do_POST(self):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    body = json.dumps(reply).encode()
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)

                def log_message(self, *_):
                    pass

            with http.server.HTTPServer(("127.0.0.1", 0), Evil) as evil:
                threading.Thread(target=evil.handle_request, daemon=True).start()
                done = self.run_tool("invoice", *MONTH, "--out", "out", "--server",
                                     f"http://127.0.0.1:{evil.server_port}", "--key", self.key, status=2)
            self.assertIn("The answer is not tollbook's.", done.err)
            self.assertNotIn("\x1b", done.err)
            self.assertEqual(os.listdir(self.folder / "out"), [])

    def test_calls_that_make_no_sense_are_refused(self):
        for words in (["--resume", *MONTH], ["--number", "2026-000001", *MONTH],
                      ["--finalize", *MONTH, "--out", "out"], ["--number", "2026-000099"],
                      ["--late", "--number", "2026-000001"], ["--paper", "a5", *MONTH]):
            self.both("invoice", *words, status=2, alike=False)
        self.run_tool("invoice", *MONTH, "--out", "no/such", "--db", "l.db", status=3)
        self.write("taken", "x")
        done = self.run_tool("invoice", *MONTH, "--out", "taken", "--db", "l.db", status=3)
        self.assertIn("taken: The folder cannot be opened: Not a directory.", done.err)


if __name__ == "__main__":
    unittest.main()
