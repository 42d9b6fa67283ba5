"""The audit log: one entry for each write that changed anything, with who asked and from where,
without secrets, chained, and the same list from both faces."""
import json
import os
import pwd
import sqlite3
import unittest

from harness import CATALOG, Case, run
from test_billing import BOOK


class Audit(Case):
    def entries(self):
        reply = self.server.ask("POST", "/operations/audit", "operator", b"{}").json()
        return reply["answer"]["entries"]

    def enter(self, reference, amount="3.00"):
        entry = {"account": 1, "kind": "payment", "amount": amount, "reference": reference}
        return self.server.ask("POST", "/ledger", "operator", json.dumps(entry).encode())

    def test_a_write_is_noted_once_with_who_and_where(self):
        document = json.dumps(CATALOG).encode()
        self.server.ask("POST", "/catalog", "operator", document)
        before = self.entries()
        self.enter("a1")
        self.enter("a1")  # nothing changes
        self.enter("a2", amount="x")  # refused
        one, = self.entries()[len(before):]
        self.assertEqual((one["operation"], one["origin"]), ("ledger enter", "127.0.0.1"))
        self.assertEqual(one["arguments"], {"account": 1, "kind": "payment", "amount": "3.00",
                                            "reference": "a1"})
        self.assertEqual(one["time"], "2026-11-04T09:00:00Z")
        self.assertGreater(one["key"], 0)

    def test_a_retry_that_changes_nothing_leaves_none(self):
        made = self.server.ask("POST", "/keys", "operator", b'{"Account": 1}').json()
        for again in (0, 1):
            before = self.entries()
            gone = self.server.ask("DELETE", f"/keys/{made['Id']}", "operator")
            self.assertEqual(gone.status, 204)
            self.assertEqual([e["operation"] for e in self.entries()[len(before):]],
                             ["key revoke"][again:])

    def test_the_command_line_has_no_key_and_prints_the_same(self):
        self.server.stop()
        db = self.server.db
        run("ledger", "adjust", "--db", db, "--account", "1", "--amount", "-1.50", "--reference",
            "c1", "--note", "tab\u2192")
        lines = run("audit", "--db", db, "--format", "table").stdout.decode().splitlines()
        self.server.start()
        last = lines[-1].split("\t")
        user = pwd.getpwuid(os.getuid()).pw_name
        self.assertEqual(last[2:5], ["0", f"user {user}", "ledger enter"])
        self.assertEqual(json.loads(last[5])["note"], "tab\u2192")
        there = self.server.ask("POST", "/operations/audit", "operator", b'{"format":"table"}').json()["out"]
        self.assertEqual(there.splitlines(), lines)
        after = self.server.ask("POST", "/operations/audit", "operator",
                                json.dumps({"after": int(last[0])}).encode()).json()
        self.assertEqual(after["answer"]["entries"], [])

    def test_an_entry_is_one_line_whatever_a_named_document_ends_with(self):
        one = {"scenario": "one", "base": "standard-2026", "patch": {}}
        self.server.ask("POST", "/books", "operator", json.dumps(BOOK).encode())
        self.server.ask("POST", "/operations/scenario-add", "operator", json.dumps(one).encode())
        two = json.dumps({**one, "scenario": "two"}).encode()
        self.server.stop()
        named, other = self.server.path / "named", self.server.path / "two"
        named.write_bytes(b'"one" \n')
        other.write_bytes(two)
        run("whatif", "--db", self.server.db, "--from", "2026-10", "--to", "2026-10", named, other)
        last = run("audit", "--db", self.server.db, "--format", "table").stdout.decode().splitlines()[-1].split("\t")
        self.server.start()
        self.assertEqual(last[4], "whatif")
        self.assertEqual(json.loads(last[5])["scenarios"][0], "one")

    def test_a_changed_entry_is_found(self):
        self.enter("b1")
        copy = self.server.path / "copy.db"
        run("backup", "--db", self.server.db, "--to", copy)
        db = sqlite3.connect(copy)
        for name, in db.execute("SELECT name FROM sqlite_master WHERE type='trigger'"
                                " AND tbl_name='audit'").fetchall():
            db.execute(f"DROP TRIGGER {name}")
        db.execute("UPDATE audit SET arguments=replace(arguments,'3.00','4.00')"
                   " WHERE id=(SELECT max(id) FROM audit)")
        db.commit()
        db.close()
        said = run("verify", "--db", copy, "--format", "table", expect=1).stdout.decode()
        self.assertRegex(said, "Audit entry [0-9]+ or one before it has changed")

    def test_what_is_no_way_to_go_on(self):
        for follows in ("x", "9" * 20):
            self.refused(self.server.ask("POST", "/operations/audit", "operator", json.dumps(
                {"next": follows}).encode()), 400, "validation_error", "next")


if __name__ == "__main__":
    unittest.main()
