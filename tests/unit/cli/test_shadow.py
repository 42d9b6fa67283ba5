"""Shadow books: what they would have billed, and activating one only if no account's month jumps."""
import copy
import hashlib
import json
import signal
import subprocess
import unittest
from tool import BUILD, Case

BOOK = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01"}}}}
CATALOG = {"accounts": [{"id": i, "name": f"a{i}"} for i in (1, 2, 3)] +
           [{"id": 4, "name": "euro", "currency": "EUR"}],
           "zones": [{"id": 100 + i, "account": i, "name": f"z{i}",
                      "created": "2026-01-05T00:00:00Z"} for i in (1, 2, 3, 4)]}
DECEMBER = "2026-12-20T12:00:00Z"


class Shadow(Case):
    def setUp(self):
        super().setUp()
        self.apply(json.dumps(CATALOG))
        self.book(BOOK)
        self.book({**BOOK, "book": "euro", "currency": "EUR"})
        self.take({101: 1000, 102: 1000, 103: 50, 104: 1000})

    def take(self, gigabytes, hour="2026-10-03T05:00:00Z", region="DE"):
        rows = [{"zone": zone, "hour": hour, "region": region, "bytes": gb * 10**9}
                for zone, gb in gigabytes.items()]
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(
            json.dumps(row) + "\n" for row in rows).encode())

    def book(self, book, *words, status=0):
        return self.run_tool("book", "add", "--db", "t.db", *words,
                             self.write("b.json", json.dumps(book)), status=status)

    def shadow(self, price="0.012", name="next", status=0, **more):
        book = copy.deepcopy({**BOOK, "book": name, "effective_from": "2027-01-01T00:00:00Z",
                              **more})
        book["bandwidth"]["premium"]["regions"]["EU"] = price
        return self.book(book, "--shadow", status=status)

    def finalize(self, month="2026-10", **more):
        return self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize",
                             now=DECEMBER, **more)

    def activate(self, *words, status=0):
        return self.run_tool("book", "activate", "--db", "t.db", "next", *words, status=status,
                             now=DECEMBER).err

    def report(self, *words):
        out = self.run_tool("book", "report", "--db", "t.db", "--format", "table", *words).out
        head, *rows = [line.split("\t") for line in out.splitlines()]
        return [dict(zip(head, row)) for row in rows]

    def test_a_shadow_is_listed_shown_and_compared_and_bills_nothing(self):
        before = self.run_tool("invoice", "--db", "t.db", "--month", "2026-10").out
        self.assertIn("it bills nothing", self.shadow(effective_from="2026-02-01T00:00:00Z").err)
        listed = self.run_tool("book", "list", "--db", "t.db", "--format", "table").out.splitlines()
        self.assertEqual([(row.split("\t")[0], row.split("\t")[4]) for row in listed[1:]],
                         [("euro", "book"), ("standard", "book"), ("next", "shadow")])
        self.assertEqual(json.loads(self.run_tool("book", "show", "--db", "t.db", "next").out)
                         ["book"], "next")
        self.assertIn("+ bandwidth.premium.EU\t0.012",
                      self.run_tool("book", "diff", "--db", "t.db", "standard", "next").out)
        self.assertEqual(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10").out, before)
        self.verify()

    def test_the_months_run_says_and_notes_what_it_would_have_billed(self):
        self.shadow()
        before = self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", now=DECEMBER).out
        self.assertNotIn("shadow", before)
        said = self.finalize().err
        self.assertIn("shadow book next: 2026-10 would have come to 25.00 USD instead of 21.00"
                      " (+19.05 %) for 3 accounts: 2 more, 0 less; most for account 1, +2.00.", said)
        rows = self.report()
        self.assertEqual([(r["account"], r["billed"], r["would"], r["delta"], r["percent"])
                          for r in rows],
                         [("1", "10.00", "12.00", "2.00", "+20.00"),
                          ("2", "10.00", "12.00", "2.00", "+20.00"),
                          ("3", "1.00", "1.00", "0.00", "0.00")])
        self.assertEqual([r["invoice"] for r in rows],
                         ["2026-000001", "2026-000002", "2026-000003"])
        self.assertEqual(self.query("SELECT book,month,account,would FROM shadow_report LIMIT 1"),
                         [["next", "2026-10", "1", "12.00"]])
        self.assertIn("would have come to 25.00", self.finalize().err, "a second run says it too")
        self.assertEqual(len(self.report()), 3, "and notes nothing twice")
        self.verify()

    def test_a_month_issued_anew_counts_once(self):
        self.shadow()
        self.finalize()
        self.take({102: 500}, "2026-10-07T00:00:00Z")
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000002", now=DECEMBER)
        said = self.finalize().err
        self.assertIn("31.00 USD instead of 26.00", said)
        self.assertEqual(len(self.report()), 4)
        self.verify()

    def test_a_shadow_that_lacks_a_price_stops_no_invoice(self):
        self.shadow()
        self.take({101: 10}, region="SG")
        catalog = json.dumps({**CATALOG})
        book = copy.deepcopy({**BOOK, "book": "wide", "effective_from": "2026-02-01T00:00:00Z"})
        book["bandwidth"]["premium"]["regions"]["ASIA"] = "0.03"
        self.book(book)
        self.apply(catalog)
        said = self.finalize().err
        self.assertIn("shadow book next: it has no price for 1 charge of the month.", said)
        self.assertEqual(self.report()[0]["unpriced"], "1")
        said = self.activate("--max-change", "1000", status=1)
        self.assertIn("and 1 of its charges have no price", said)
        self.verify()

    def test_a_shadow_whose_amounts_do_not_fit_stops_no_invoice(self):
        self.take({101: 10**9})
        self.take({101: 10**9}, "2026-10-04T05:00:00Z")
        self.shadow("150000.000000000000001")
        self.shadow("0.012", "small")
        done = self.finalize()
        self.assertIn("shadow book next: bandwidth in EU of zone:101: ", done.err)
        self.assertIn("4 accounts: 4 made final", done.err)
        self.assertNotIn("shadow book small: bandwidth", done.err)
        noted = [(row["book"], row["account"]) for row in self.report()]
        self.assertEqual(sorted(noted), [("next", "2"), ("next", "3"), ("small", "1"),
                                         ("small", "2"), ("small", "3")])
        self.assertIn("4 final before", self.finalize().err)
        self.verify()

    def test_activating_names_the_accounts_that_would_jump(self):
        self.shadow()
        self.finalize()
        said = self.activate(status=1)
        self.assertIn("account 1: 2026-10 would come to 12.00 USD instead of 10.00 (+20.00 %).",
                      said)
        self.assertIn("account 2:", said)
        self.assertNotIn("account 3:", said)
        self.assertNotIn("account 4:", said, "another currency")
        self.assertIn("stays a shadow: 2 of 3 billed months would change by more than 10 %", said)
        self.assertEqual(len(self.query("SELECT 1 FROM book")), 2)
        self.activate("--max-change", "19.99", status=1)
        self.assertIn("is a book now", self.activate("--max-change", "20"))
        self.assertEqual(self.query("SELECT name FROM book ORDER BY id")[-1], ["next"])
        self.assertEqual(self.report()[0]["would"], "12.00", "what was noted stays")
        self.verify()

    def test_a_month_that_falls_counts_like_one_that_rises(self):
        self.shadow("0.005")
        self.finalize()
        self.assertIn("(-50.00 %)", self.activate(status=1))

    def test_anyway_activates_it_and_says_what_changes(self):
        self.shadow()
        self.finalize()
        said = self.activate("--anyway")
        self.assertIn("account 1:", said)
        self.assertIn("is a book now. Compared: 3 billed months of 3 accounts; 2 of them would change by more",
                      said)

    def test_months_are_compared_each(self):
        self.take({101: 100}, "2026-11-03T00:00:00Z")
        self.shadow("0.01", minimum_monthly="1.05")
        self.finalize()
        self.finalize("2026-11")
        said = self.activate("--max-change", "4", status=1)
        self.assertIn("3 of 3 billed months would", said)
        self.assertIn("account 3: 2026-11 would", said)
        said = self.activate("--max-change", "5", "--months", "2")
        self.assertIn("6 billed months of 3 accounts", said)

    def test_without_invoices_nothing_holds_it_back(self):
        self.shadow()
        self.assertIn("0 billed months", self.activate())

    def test_drop_undoes_it(self):
        self.shadow()
        self.finalize()
        self.run_tool("book", "drop", "--db", "t.db", "next")
        self.assertNotIn("next", self.run_tool("book", "list", "--db", "t.db").out)
        self.assertEqual(len(self.report("next")), 3)
        self.assertNotIn("shadow", self.finalize("2026-11").err)
        self.run_tool("book", "drop", "--db", "t.db", "next", status=2)
        self.run_tool("book", "drop", "--db", "t.db", "standard", status=2)
        self.shadow("0.011")
        self.verify()

    def test_bad_calls_say_what_to_do(self):
        self.assertIn("no shadow book", self.activate(status=2))
        self.shadow()
        for limit in ("x", "-1", "1e3", ""):
            self.activate("--max-change", limit, status=2)
        self.assertIn("with other content", self.shadow("0.5", status=2).err)
        self.assertIn("bills already", self.shadow(name="standard", status=2).err)
        self.assertIn("Nothing is noted yet", self.run_tool("book", "report", "--db", "t.db",
                                                            status=1).err)
        self.run_tool("book", "report", "--db", "t.db", "--month", "2026-13", status=2)

    def test_a_backup_holds_what_was_noted(self):
        self.shadow()
        self.finalize()
        self.verify()
        self.run_tool("backup", "--db", "t.db", "--to", "copy.db")
        self.verify("copy.db")
        self.assertEqual(self.run_tool("book", "report", "--db", "copy.db").out,
                         self.run_tool("book", "report", "--db", "t.db").out)

    def another_price(self):
        """In the shadow book, with a hash that fits: only what was noted remembers the old one."""
        ((text,),) = self.query("SELECT document FROM shadow_book")
        text = text.replace('"EU":"0.012"', '"EU":"0.013"')
        digest = hashlib.sha256(text.encode()).hexdigest()
        subprocess.run([BUILD / "tests" / "fault" / "forge", self.folder / "t.db",
                        f"UPDATE shadow_book SET document='{text}',sha256='{digest}'"], check=True)

    def test_a_changed_amount_is_found_by_rating_again_and_not_copied(self):
        self.shadow()
        self.finalize()
        self.another_price()
        said = ("Shadow book next, account 1, 2026-10: 10 would have been 12 was noted;"
                " rated again it is 10 and 13.")
        self.assertIn(said, self.run_tool("verify", "--db", "t.db", "--format", "table", status=1).out)
        done = self.run_tool("backup", "--db", "t.db", "--to", "copy.db", status=1)
        self.assertIn(said, done.err)
        self.assertEqual(list(self.folder.glob("copy.db*")), [])

    def test_interrupted_it_writes_nothing(self):
        self.shadow()
        self.finalize()
        process = self.start("book", "activate", "--db", "t.db", "next", "--anyway")
        process.send_signal(signal.SIGINT)
        process.wait()
        if process.returncode:  # else it was quicker
            self.assertEqual(self.query("SELECT state FROM shadow_book"), [["live"]])
        self.verify()


if __name__ == "__main__":
    unittest.main()
