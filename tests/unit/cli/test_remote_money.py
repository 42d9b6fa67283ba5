"""Books, invoices and payments through a running server: what the same commands with --db say, print
and leave behind, on a copy of the same database.
"""
import copy
import json
import unittest
from both import CATALOG, Both

BOOK = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01"}}}}
MONTH = ("--month", "2026-10")


class RemoteMoney(Both):
    def same(self):
        """Both databases hold the same money."""
        super().same("book", "invoice", "ledger", "shadow_report")

    def book(self, book, *words, **more):
        return self.both("book", "add", self.write("b.json", json.dumps(book)), *words, **more)

    def shadow(self, price, name="next", **more):
        book = copy.deepcopy({**BOOK, "book": name, "effective_from": "2027-01-01T00:00:00Z"})
        book["bandwidth"]["premium"]["regions"]["EU"] = price
        return self.book(book, "--shadow", **more)

    def test_a_month_beside_a_running_server(self):
        self.assertIn("without a price", self.both("invoice", *MONTH).err)
        self.assertIn("is added", self.book(BOOK).err)
        self.assertIn("nothing changed", self.book(BOOK).err)
        self.both("invoice", *MONTH)
        done = self.both("invoice", *MONTH, "--finalize", "--progress", alike=False)
        self.assertIn("3 accounts: 3 made final", done.err)
        self.assertIn("3 final before", self.both("invoice", *MONTH, "--finalize").err)
        self.both("invoice", *MONTH, "--account", 2, "--finalize", "--format", "csv")
        self.assertIn("is void", self.both("invoice", "--void", "2026-000002").err)
        self.assertIn("void already", self.both("invoice", "--void", "2026-000002", status=2,
                                                alike=False).err)
        self.both("invoice", "--void", "2026-000099", status=2, alike=False)
        for form in ("json", "csv", "html", "focus"):
            self.both("invoice", *MONTH, "--format", form)
        self.assertIn("1 made final, 2 final before", self.both("invoice", *MONTH, "--finalize").err)
        rows = self.rows({101: 7}, "2026-10-09T00:00:00Z")
        self.both("import", "--batch", "late", "-", stdin=rows)
        self.assertIn("1 account-month waits to be billed", self.both("invoice", "--late").err)
        self.assertEqual(self.both("invoice", "--late", "--account", 3).out.count("\n"), 1)
        pay = ("ledger", "pay", "--account", 1, "--amount", "10.00", "--reference", "wire 1/2 ä")
        self.assertIn("balance of 0", self.both(*pay, "--note", 'a "note"').err)
        self.assertIn("nothing changed", self.both(*pay).err)
        self.both("ledger", "adjust", "--account", 1, "--amount", "-0.50", "--reference", "a")
        for form in ("json", "csv", "html"):
            self.both("ledger", "statement", "--account", 1, "--format", form)
        self.both("ledger", "credit", "--account", 2, "--amount", 5, "--expires", "2026-12-31")
        for form in ("json", "table"):
            self.both("ledger", "aging", "--format", form)
        rows = "day,sum,what\n2026-11-12,0.25,2026-000001\n2026-11-12,3,nothing\n"
        listed = ("ledger", "import", "--map", "date=day,amount=sum,reference=what",
                  self.write("bank.csv", rows))
        self.both(*listed, "--dry-run", status=1)
        self.both(*listed, status=1)
        self.both("ledger", "export", "--month", "2026-10", "--format", "csv")
        self.both("ledger", "close", "--month", "2026-09")
        self.both("ledger", "close", "--month", "2026-09", "--reopen")
        kinds = [e["kind"] for e in
                 json.loads(self.both("ledger", "statement", "--account", 2).out)["entries"]]
        self.assertEqual(kinds, ["invoice", "void", "invoice", "credit"])
        self.same()
        self.stop()
        self.verify()

    def test_what_is_refused_exits_alike_and_changes_nothing(self):
        self.book(BOOK)
        self.same()
        pay = ("ledger", "pay", "--reference", "r")
        for words, status in (
                (("invoice", "--month", "2026-11", "--finalize"), 1),  # not over
                (("invoice", "--month", "2027-01", "--finalize"), 2),
                (("invoice", *MONTH, "--account", 9, "--finalize"), 2),
                (("invoice", "--month", "2025-01"), 1),  # nothing
                (("book", "activate", "none"), 2),
                (("book", "activate", "none", "--max-change", "x"), 2),
                (("book", "drop", "none"), 2),
                ((*pay, "--account", 1, "--amount", "0"), 2),
                ((*pay, "--account", 1, "--amount", "-1"), 2),
                ((*pay, "--account", 1, "--amount", "0.001"), 2),
                ((*pay, "--account", 9, "--amount", "1"), 2)):
            self.both(*words, status=status, alike=False)
        other = {**BOOK, "minimum_monthly": "2.00"}
        self.assertIn("known with other", self.book(other, status=2, alike=False).err)
        self.assertIn("minimum_monthly", self.book({**BOOK, "minimum_monthly": -1}, status=2,
                                                   alike=False).err)
        half = {**BOOK, "load_balancer": {"monthly_fee": "1", "tiers": [
            {"from_millions": 0, "to_millions": 0.5, "price_per_million": 1},
            {"from_millions": 0.5, "to_millions": None, "price_per_million": 1}]}}
        for words in ((), ("--shadow",)):
            self.assertIn("whole millions", self.book({**half, "book": "half"}, *words, status=2,
                                                      alike=False).err)
        self.same()

    def test_an_account_that_lacks_a_price_is_refused_and_named_alike(self):
        self.book(BOOK)
        rows = self.rows({102: 3}, region="SG")
        self.both("import", "--batch", "sg", "-", stdin=rows)
        done = self.both("invoice", *MONTH, "--finalize", status=1)
        self.assertIn("account 2 (a2): Traffic of pull zone 102 in ASIA, 3 GB, is without a price. ", done.err)
        self.assertIn("2 made final, 0 final before, 0 with nothing due, 1 refused", done.err)
        self.same()

    def test_an_absurd_account_and_usage_of_no_account_are_named_alike(self):
        self.book(BOOK)
        catalog = copy.deepcopy(CATALOG)
        catalog["zones"].append({"id": 112, "account": 2, "name": "z", "settings": {
            "PriceOverride": 10 ** 20}, "created": "2026-01-05T00:00:00Z"})
        self.both("apply", "--delete", self.write("absurd.json", json.dumps(catalog)), alike=False)
        rows = self.rows({112: 10 ** 9, 999: 4})
        self.both("import", "--batch", "absurd", "-", stdin=rows)
        for words in ((), ("--format", "html"), ("--finalize",)):
            done = self.both("invoice", *MONTH, *words, status=1)
            self.assertIn("account 2 (a2): override in EU of zone:112: ", done.err)
            self.assertIn("Pull zone 999 belongs to no account", done.err)
        self.both("invoice", *MONTH, "--account", 2, status=1)
        self.same()

    def test_shadow_books(self):
        self.book(BOOK)
        self.shadow("0.012")
        done = self.both("invoice", *MONTH, "--finalize")
        self.assertIn("shadow book next: 2026-10 would have come to", done.err)
        self.assertIn("stays a shadow", self.both("book", "activate", "next", status=1).err)
        self.both("book", "activate", "next", "--max-change", "5.5", "--months", 3, status=1)
        self.assertIn("is a book now", self.both("book", "activate", "next", "--anyway").err)
        self.shadow("0.0101", "small")
        self.assertIn("supersedes", self.both("book", "activate", "small", status=2,
                                              alike=False).err)
        self.shadow("0.5", "gone")
        self.assertIn("is dropped", self.both("book", "drop", "gone").err)
        self.same()
        self.stop()
        self.verify()

    def test_only_an_operator_may(self):
        self.place = ["--server", self.url, "--key", self.user]
        self.write("b.json", json.dumps(BOOK))
        for words in (("book", "add", "b.json"), ("invoice", *MONTH, "--finalize"),
                      ("invoice", *MONTH), ("invoice", "--late"), ("book", "drop", "x"),
                      ("ledger", "pay", "--account", 1, "--amount", 1, "--reference", "r")):
            self.assertIn("403", self.run_tool(*words, *self.place, status=2).err)

    def test_the_locked_error_names_the_servers_form(self):
        self.write("b.json", json.dumps(BOOK))
        for words in (("book add", "--shadow", "b.json"), ("book activate", "x"), ("book drop", "x"),
                      ("invoice", *MONTH, "--finalize"), ("invoice", "--void", "2026-000001"),
                      ("ledger pay", "--account", 1, "--amount", 1, "--reference", "r")):
            done = self.run_tool(*words[0].split(), "--db", "t.db", *words[1:], status=3)
            self.assertIn(f"tollbook {words[0]} --server {self.url} --key KEY", done.err)
        self.write("secret", "0" * 64 + "\n")
        done = self.run_tool("key", "create", "--db", "t.db", "--secret-file", "secret", "--account", 1,
                             status=3)
        self.assertIn(f"key create --server {self.url} --key KEY --account 1\n", done.err)

    def test_places_and_what_only_reads(self):
        self.assertIn("exclude each other",
                      self.run_tool("invoice", *MONTH, "--db", "t.db", *self.place, status=2).err)
        self.assertIn("--db FILE is missing", self.run_tool("invoice", *MONTH, status=2).err)
        words = ("invoice", *MONTH, "--account", 1, "--explain", 1)
        there, here = self.run_tool(*words, *self.place, status=2), self.run_tool(
            *words, "--db", "t.db", status=2)
        self.assertIn("There is no such line", there.err)
        self.assertIn("There is no such line", here.err)


if __name__ == "__main__":
    unittest.main()
