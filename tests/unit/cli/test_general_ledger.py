"""ledger export and ledger close: double entry, accruals, a month that takes no more."""
import csv
import io
import json
import subprocess
import unittest
from collections import defaultdict
from decimal import Decimal

from money import BOOK, CATALOG, DECEMBER, GB, NOVEMBER, OCTOBER, Ledger
from tool import TOOL

JANUARY = "2027-01-04T12:00:00Z"
COLUMNS = "date,entry,account_code,account_name,account,document,description,debit,credit,currency"


class GeneralLedger(Ledger):
    def export(self, month, now=JANUARY, **more):
        done = self.run_tool("ledger", "export", "--db", "t.db", "--month", month, "--format", "csv",
                             now=now, **more)
        rows = list(csv.DictReader(io.StringIO(done.out, newline="")))
        self.assertEqual(done.out.splitlines()[0], COLUMNS)
        entries = defaultdict(Decimal)
        for r in rows:
            self.assertTrue(bool(r["debit"]) != bool(r["credit"]), r)
            self.assertGreater(Decimal(r["debit"] or r["credit"]), 0)
            self.assertTrue(r["date"].startswith(month), r)
            entries[r["entry"]] += self.amount(r)
        self.assertEqual({e: s for e, s in entries.items() if s}, {})
        self.text = done.out
        return rows

    @staticmethod
    def amount(row):
        return Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)

    def sums(self, rows, *keys):
        sums = defaultdict(Decimal)
        for r in rows:
            sums[tuple(r[k] for k in keys) if len(keys) > 1 else r[keys[0]]] += self.amount(r)
        return {k: v for k, v in sums.items() if v}

    def close(self, month, *words, now=JANUARY, status=0):
        return self.run_tool("ledger", "close", "--db", "t.db", "--month", month, *words, now=now,
                             status=status)

    def test_a_month_as_double_entry(self):
        self.credit("4", "--expires", "2026-12-31")
        self.credit("1", "--expires", "2026-10-31", now=OCTOBER)
        self.use(101, 500)
        self.use(201, 300)
        october = self.export("2026-10")
        self.assertEqual(self.sums(october, "account_name"),
                         {"credits": -5, "revenue": 5 - 8, "unbilled": 8})
        accrued = [(r["date"], r["entry"], r["account_name"], r["debit"], r["credit"])
                   for r in october if r["account"] == "1"][-2:]
        self.assertEqual(accrued, [
            ("2026-10-31", "accrual-2026-10-1", "unbilled", "5.00", ""),
            ("2026-10-31", "accrual-2026-10-1", "revenue", "", "5.00")])
        self.finalize()
        self.assertEqual(self.sums(self.export("2026-10"), "account_name"),
                         {"credits": -5, "revenue": -3, "unbilled": 8})
        self.ledger("pay", "--account", 2, "--amount", "3", "--reference", "=x", now=NOVEMBER)
        self.ledger("adjust", "--account", 2, "--amount", "-0.5", "--reference", "fee", now=NOVEMBER)
        november = self.export("2026-11")
        self.assertEqual(self.sums(november, "account_name"), {
            "unbilled": -8, "revenue": Decimal("-1.5"), "tax": -1, "receivables": Decimal("2.5"),
            "credits": 5, "bank": 3})
        self.assertEqual(self.sums(november, "account_name", "account")[("receivables", "1")], 2)
        self.assertEqual({r["account_name"]: r["account_code"] for r in november}, {
            "unbilled": "1250", "revenue": "4000", "tax": "2200", "receivables": "1200",
            "credits": "2350", "bank": "1000"})
        self.assertIn("2026-000001", {r["document"] for r in november})
        # the ledger's own sums: credits, receivables and prepaid together
        own = sum(self.sums(self.export(m), "account_name").get(name, 0)
                  for m in ("2026-10", "2026-11") for name in ("receivables", "credits", "prepaid"))
        self.assertEqual(-own, Decimal(self.entries(1)[-1][3]) + Decimal(self.entries(2)[-1][3]))
        self.run_tool("ledger", "export", "--db", "t.db", "--month", "2027-02", now=JANUARY, status=1)

    def test_prepaid_accounts_go_through_prepaid_and_codes_come_from_the_book(self):
        catalog = {"accounts": CATALOG["accounts"] + [{"id": 3, "name": "c", "prepaid": True,
                                                       "tax": {"VATRate": 20}}],
                   "zones": CATALOG["zones"] + [{"id": 301, "account": 3, "name": "z"}]}
        self.apply(json.dumps(catalog))
        book = {**BOOK, "book": "coded", "effective_from": "2026-11-01T00:00:00Z",
                "ledger_codes": {"prepaid": "1718", "revenue": "8400.1"}}
        self.run_tool("book", "--db", "t.db", self.write("coded.json", json.dumps(book)))
        self.ledger("pay", "--account", 3, "--amount", "10", "--reference", "top", now=OCTOBER)
        self.use(301, 500)
        self.finalize()
        self.assertEqual(self.sums(self.export("2026-10"), "account_name"),
                         {"bank": 10, "prepaid": -10, "unbilled": 5, "revenue": -5})
        november = self.export("2026-11")
        self.assertEqual(self.sums(november, "account_name"), {"prepaid": 6, "unbilled": -5, "tax": -1})
        self.assertEqual({r["account_code"] for r in november}, {"1718", "8400.1", "1250", "2200", "4000"})
        self.assertEqual(self.codes("2026-11", "reversal"), {"4000"})
        bad = {**BOOK, "book": "bad", "ledger_codes": {"cash": "1"}}
        refused = self.run_tool("book", "--db", "t.db", self.write("bad.json", json.dumps(bad)), status=2)
        self.assertIn("ledger_codes.cash", refused.err)

    def test_days_of_a_prepaid_account_and_what_is_accrued_have_one_basis(self):
        self.apply(json.dumps({**CATALOG, "accounts": [
            {"id": 1, "name": "acme", "prepaid": True, "tax": {"VATRate": 20}}, CATALOG["accounts"][1]]}), now=OCTOBER)
        self.ledger("pay", "--account", 1, "--amount", "50", "--reference", "top", now=OCTOBER)
        for day, gigabytes in (("2026-10-03", 333), ("2026-10-20", 499)):
            self.use(101, gigabytes, day=day, now=f"{day}T06:00:00Z")
            self.ledger("accrue", now=f"{day[:-2]}{int(day[-2:]) + 1:02}T01:00:00Z")
        of_unbilled = lambda month: self.sums(self.export(month), "account_name").get("unbilled", 0)
        self.assertEqual(of_unbilled("2026-10"), 0)
        self.assertEqual(self.sums(self.export("2026-10"), "account_name"),
                         {"bank": 50, "prepaid": Decimal("-40.02"), "revenue": Decimal("-8.32"), "tax": Decimal("-1.66")})
        # what comes later is in no day yet: it is unbilled, and the days' tax alone is taken out of it
        self.use(101, 100, day="2026-10-25", now="2026-11-01T06:00:00Z")
        self.assertEqual(of_unbilled("2026-10"), 1)
        self.close("2026-10", now=NOVEMBER)
        self.assertEqual(of_unbilled("2026-10"), 0)
        self.finalize()
        self.assertEqual(self.sums(self.export("2026-11"), "account_name"), {})
        self.verify("--all")

    def test_a_closed_month_takes_nothing_and_its_export_stays(self):
        self.use(101, 500)
        self.finalize(now=NOVEMBER)
        self.ledger("pay", "--account", 1, "--amount", "1", "--reference", "a", now=NOVEMBER)
        self.use(101, 100, day="2026-11-02", now="2026-11-20T00:00:00Z")
        self.assertIn("not over", self.close("2026-12", now="2026-12-31T23:59:59Z", status=1).err)
        before = self.export("2026-11", now=DECEMBER)
        self.assertEqual(self.sums(before, "account_name")["unbilled"], 1 - 5)
        self.assertIn("closed", self.close("2026-11", now=DECEMBER).err)
        closed = self.text
        self.export("2026-11", now=DECEMBER)
        self.assertEqual(self.text, closed)
        # whichever way it comes
        refused = self.ledger("pay", "--account", 1, "--amount", "2", "--reference", "b", now=NOVEMBER, status=1)
        self.assertIn("--reopen", refused.err)
        self.ledger("adjust", "--account", 1, "--amount", "2", "--reference", "b", now=NOVEMBER, status=1)
        self.credit("2", now=NOVEMBER, status=1)
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER, status=1)
        self.use(201, 100, day="2026-10-02", now=DECEMBER)
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--finalize", now=NOVEMBER, status=1)
        self.verify()
        # late usage, a void and another book change nothing of what is closed
        self.use(101, 700, day="2026-11-02", now=DECEMBER)
        book = {**BOOK, "book": "b2", "supersedes": "b", "ledger_codes": {"revenue": "1"}}
        self.run_tool("book", "--db", "t.db", self.write("b2.json", json.dumps(book)), now=DECEMBER)
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=DECEMBER)
        self.export("2026-11")
        self.assertEqual(self.text, closed)
        reversed_ = [r for r in self.export("2026-12") if r["entry"].startswith("reversal-2026-11")]
        self.assertEqual(self.sums(reversed_, "account_name"), {"unbilled": -1, "revenue": 1})
        # the newest closing can be taken back
        self.assertIn("already", self.close("2026-11").err)
        self.close("2026-12")
        self.assertIn("2026-12", self.close("2026-11", "--reopen", status=1).err)
        self.close("2026-12", "--reopen")
        self.close("2026-11", "--reopen")
        self.close("2026-11", "--reopen", status=2)
        self.ledger("pay", "--account", 1, "--amount", "2", "--reference", "b", now=NOVEMBER)
        self.assertNotEqual(self.sums(self.export("2026-11"), "account_name"), self.sums(before, "account_name"))
        self.close("2026-11")
        self.verify()

    def test_a_closing_is_worked_out_again_whatever_came_since(self):
        """Verify reads each month as it stood: what is used, withdrawn, declared, priced, run and made void later."""
        row = lambda zone, day, gb: json.dumps({"zone": zone, "hour": f"{day}T05:00:00Z", "region": "DE",
                                                "bytes": gb * 10**9}) + "\n"
        withdrawn = row(201, "2026-10-08", 400).encode()
        self.use(101, 500)
        self.run_tool("import", "--db", "t.db", "-", stdin=withdrawn, now=NOVEMBER)
        self.use(901, 250)  # a zone that nobody has declared yet
        self.use(101, 100, day="2026-09-03")
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-09", "--finalize", "--account", 2,
                      now=NOVEMBER, status=1)  # run, with nothing due
        self.close("2026-09", now=NOVEMBER)
        self.close("2026-10", now=NOVEMBER)  # no account's October was run
        self.verify()
        # usage of months that are closed, before and after they are run
        self.use(101, 300, day="2026-10-20", now=DECEMBER)
        self.use(201, 60, day="2026-09-20", now=DECEMBER)
        self.run_tool("import", "--withdraw", "--db", "t.db", "-", stdin=withdrawn, now=DECEMBER)
        self.verify()
        catalog = {"accounts": CATALOG["accounts"],
                   "zones": [{**CATALOG["zones"][0], "created": "2026-12-01T00:00:00Z"}, CATALOG["zones"][1],
                             {"id": 901, "account": 2, "name": "found", "created": "2026-01-05T00:00:00Z"}]}
        self.apply(json.dumps(catalog), now=DECEMBER)
        book = {**BOOK, "book": "b2", "supersedes": "b", "ledger_codes": {"revenue": "1"},
                "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.05"}}}}
        self.run_tool("book", "--db", "t.db", self.write("b2.json", json.dumps(book)), now=DECEMBER)
        self.verify()
        for month in ("2026-09", "2026-10"):
            self.finalize(month=month, now=DECEMBER)
        self.use(201, 70, day="2026-10-21", now=DECEMBER)
        self.close("2026-11", now=DECEMBER)
        self.verify()
        self.finalize(month="2026-11", now=DECEMBER)
        numbers = self.run_tool("query", "--db", "t.db", "SELECT number FROM invoice ORDER BY id DESC").out.split()[1:]
        for number in numbers:
            self.run_tool("invoice", "--db", "t.db", "--void", number, now=DECEMBER)
        self.close("2026-12")
        self.verify()
        self.assertIn("3 closings worked out again, 1 closing checked by hash alone", self.verify().err)
        self.assertNotIn("by hash", self.verify("--all").err)
        rules = self.run_tool("query", "--db", "t.db", "SELECT DISTINCT document->>'$.version' FROM closing").out
        self.assertEqual(rules.split()[1:], ["2"])
        for month in ("2026-12", "2026-11", "2026-10"):
            self.close(month, "--reopen")
        self.close("2026-10")
        self.assertIn("2 closings worked out again, 3 closings checked by hash alone", self.verify().err)

    def test_a_first_closing_rests_on_the_thirteenth_month_before_it_too(self):
        """It takes back what the month before it accrued, and that reaches back twelve months more."""
        march = "2027-03-04T12:00:00Z"
        row = lambda zone: (json.dumps({"zone": zone, "hour": "2026-01-10T05:00:00Z", "region": "DE",
                                        "bytes": 100 * GB}) + "\n").encode()
        self.run_tool("import", "--db", "t.db", "-", stdin=row(101), now=OCTOBER)
        self.close("2027-02", now=march)
        self.use(201, 100, day="2026-01-11", now=march)
        self.verify()
        self.run_tool("import", "--withdraw", "--db", "t.db", "-", stdin=row(101), now=march)
        self.verify()
        self.use(201, 100, day="2025-12-11", now=march)  # no closing rests on it
        self.verify()
        noted = self.run_tool("query", "--db", "t.db", "SELECT count(*) FROM late").out.split()[1:]
        self.assertEqual(noted, ["2"])

    def test_late_usage_of_an_invoice_that_is_void_before_the_run_is_accrued(self):
        """Whatever the order of void and run: what September had come to by October's end is in October."""
        net = lambda month: self.sums(self.export(month), "account_name").get("unbilled", 0)
        self.use(101, 500, day="2026-09-03", now=OCTOBER)
        self.use(201, 500, day="2026-09-03", now=OCTOBER)
        numbers = [i["number"] for i in self.finalize(month="2026-09", now=OCTOBER)]
        self.use(101, 300, day="2026-09-20", now="2026-10-20T12:00:00Z")
        self.use(201, 40, day="2026-10-20", now="2026-10-20T12:00:00Z")
        self.assertEqual(net("2026-10"), 3 + Decimal("0.4") - 10)
        for number in numbers:
            self.run_tool("invoice", "--db", "t.db", "--void", number, now="2026-11-02T12:00:00Z")
        self.assertEqual(net("2026-10"), 3 + Decimal("0.4") - 10)
        self.close("2026-10", now=NOVEMBER)
        self.close("2026-10", "--reopen", now=NOVEMBER)
        self.finalize(month="2026-09", now=NOVEMBER)
        self.assertEqual(net("2026-10"), 3 + Decimal("0.4") - 10)
        self.finalize(month="2026-10", now=NOVEMBER)
        self.assertEqual(net("2026-10"), 3 + Decimal("0.4") - 10)
        # what comes, or is made void, after the run belongs to later months
        self.use(201, 900, day="2026-09-20", now="2026-11-20T12:00:00Z")
        standing = self.run_tool("query", "--db", "t.db", "SELECT number FROM invoice WHERE state='final' AND"
                                 " account=2 ORDER BY id DESC").out.split()[1:]
        for number in standing:
            self.run_tool("invoice", "--db", "t.db", "--void", number, now="2026-12-02T12:00:00Z")
        self.assertEqual(net("2026-10"), 3 + Decimal("0.4") - 10)
        self.assertEqual(net("2026-11"), 9 - 3 - Decimal("0.4"))
        for month in ("2026-10", "2026-11"):
            self.close(month)
        self.finalize(month="2026-09", now=JANUARY)
        self.verify()

    def test_what_was_never_billed_is_accrued_until_it_is(self):
        for month in ("09", "10", "11"):
            self.use(101, 100 * int(month), day=f"2026-{month}-02", now=DECEMBER)
        self.finalize("--account", 1, month="2026-09", now=OCTOBER)
        net = lambda month: self.sums(self.export(month), "account_name").get("unbilled", 0)
        self.assertEqual([net(f"2026-{m}") for m in ("08", "09", "10", "11", "12")],
                         [0, 9, 10 - 9, 11, 0])
        self.finalize("--account", 1, month="2026-10", now=DECEMBER)
        self.assertEqual([net(f"2026-{m}") for m in ("10", "11", "12")], [1, 11, -10])

    def void(self, number, now):
        self.run_tool("invoice", "--db", "t.db", "--void", number, now=now)

    def unbilled(self, *months):
        return [self.sums(self.export(m), "account_name").get("unbilled", 0) for m in months]

    def test_a_void_after_a_months_end_bills_nothing_of_it_twice(self):
        months = ("2026-09", "2026-10", "2026-11", "2026-12")
        self.use(101, 1000, day="2026-09-03", now=OCTOBER)
        self.finalize(month="2026-09", now=OCTOBER)
        self.assertEqual(self.unbilled(*months), [10, -10, 0, 0])
        self.export("2026-10")
        before = self.text
        self.void("2026-000001", "2026-11-04T12:00:00Z")
        self.assertEqual(self.unbilled(*months), [10, -10, 10, 0])
        self.export("2026-10")
        self.assertEqual(self.text, before)
        self.assertEqual(self.sums(self.export("2026-11"), "account_name"),
                         {"receivables": -12, "tax": 2, "unbilled": 10})
        self.close("2026-10", now="2026-11-04T13:00:00Z")
        self.finalize(month="2026-09", now="2026-12-20T12:00:00Z")
        self.assertEqual(self.unbilled(*months), [10, -10, 10, -10])
        # one that was void at the month's end stands for nothing there
        self.void("2026-000002", "2026-12-21T12:00:00Z")
        self.assertEqual(self.unbilled(*months), [10, -10, 10, 0])
        self.verify()

    def test_what_an_invoice_billed_of_earlier_months_follows_its_void(self):
        """August had nothing due, and what came late for it is on September's invoice."""
        self.use(201, 100, day="2026-08-03", now=OCTOBER)
        self.finalize(month="2026-08", now="2026-09-04T12:00:00Z")
        self.use(101, 300, day="2026-08-03", now="2026-09-20T12:00:00Z")
        self.use(101, 500, day="2026-09-03", now=OCTOBER)
        made = self.finalize("--account", 1, month="2026-09", now=OCTOBER)
        self.assertEqual([i["total"] for i in made], ["9.60"])
        self.use(101, 700, day="2026-10-03", now=NOVEMBER)
        before = self.unbilled("2026-09", "2026-10", "2026-11")
        self.assertEqual(before, [8 - 1 - 3, 7 - 8, 0])
        self.void(made[0]["number"], "2026-11-04T12:00:00Z")
        self.assertEqual(self.unbilled("2026-09", "2026-10", "2026-11"), [8 - 1 - 3, 7 - 8, 8])
        self.finalize("--account", 1, month="2026-10", now=DECEMBER)
        self.assertEqual(self.unbilled("2026-09", "2026-10", "2026-11", "2026-12"),
                         [8 - 1 - 3, 7 - 8, 8, -10])

    def test_months_that_were_not_run_yet_are_accrued_too(self):
        self.use(101, 1000, day="2026-09-03", now=OCTOBER)
        self.use(101, 500, day="2026-10-03")
        months = ("2026-08", "2026-09", "2026-10", "2026-11")
        self.assertEqual(self.unbilled(*months), [0, 10, 5, 0])
        self.finalize(month="2026-10", now=DECEMBER)
        self.assertEqual(self.unbilled(*months, "2026-12"), [0, 10, 5, 0, -5])
        self.finalize(month="2026-09", now=DECEMBER)
        self.assertEqual(self.unbilled(*months, "2026-12"), [0, 10, 5, 0, -15])

    def test_accounts_are_counted_once_whatever_their_months(self):
        """Two accounts have usage without a price, one of them in three months."""
        for month in ("08", "09", "10"):
            rows = [{"zone": 101, "hour": f"2026-{month}-03T05:00:00Z", "region": "ZA", "bytes": GB}]
            if month == "10":
                rows.append({**rows[0], "zone": 201})
            self.run_tool("import", "--db", "t.db", "-", now=NOVEMBER,
                          stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        said = "2 accounts have usage without a price in 2026-10 or in an unbilled month before it"
        self.assertIn(said, self.close("2026-10").err)

    def book(self, now=OCTOBER, status=0, **more):
        return self.run_tool("book", "--db", "t.db", self.write("more.json", json.dumps({**BOOK, **more})),
                             now=now, status=status)

    def codes(self, month, word, name="revenue"):
        return {r["account_code"] for r in self.export(month)
                if r["entry"].startswith(word) and r["account_name"] == name}

    def test_a_reversal_has_the_codes_of_what_it_reverses(self):
        self.book(book="old", effective_from="2026-02-01T00:00:00Z", ledger_codes={"revenue": "8400"})
        self.book(book="new", effective_from="2026-11-01T00:00:00Z", ledger_codes={"revenue": "8500"})
        self.use(101, 500)
        self.use(101, 700, day="2026-11-02", now=DECEMBER)
        self.assertEqual(self.codes("2026-10", "accrual"), {"8400"})
        self.assertEqual(self.codes("2026-11", "reversal"), {"8400"})
        self.assertEqual(self.codes("2026-11", "accrual"), {"8500"})
        self.close("2026-11")
        closed = self.export("2026-11")
        self.assertEqual(self.codes("2026-12", "reversal"), {"8500"})
        self.book(book="o2", supersedes="old", effective_from="2026-02-01T00:00:00Z",
                  ledger_codes={"revenue": "1"}, now=JANUARY)
        self.assertEqual(self.export("2026-11"), closed)
        self.assertEqual(self.codes("2026-10", "accrual"), {"8400"})
        self.close("2026-10")
        self.assertEqual(self.codes("2026-10", "accrual"), {"8400"})
        self.verify()

    def test_a_contracts_own_book_takes_no_codes(self):
        refused = self.book(book="own", scope="contract", ledger_codes={"revenue": "1"}, status=2)
        self.assertIn("ledger_codes", refused.err)
        self.assertIn("scope contract", refused.err)

    def test_a_void_goes_where_its_invoice_went(self):
        self.credit("2", now=OCTOBER)
        self.use(101, 1000)
        self.finalize()
        catalog = {**CATALOG, "accounts": [{**CATALOG["accounts"][0], "prepaid": True}, CATALOG["accounts"][1]]}
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(catalog)),
                      now="2026-11-05T12:00:00Z")
        self.void("2026-000001", "2026-11-06T12:00:00Z")
        november = self.export("2026-11")
        self.assertNotIn("prepaid", {r["account_name"] for r in november})
        self.assertEqual(self.sums(november, "account_name").get("receivables", 0), 0)
        self.assertEqual(self.sums(november, "account_name").get("credits", 0), 0)

    def test_a_month_that_waits_in_another_currency_is_accrued_in_its_own(self):
        self.book(book="eur", currency="EUR")
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-09", "--finalize", now=OCTOBER, status=1)
        self.use(101, 1000, day="2026-09-03", now=OCTOBER)
        catalog = {**CATALOG, "accounts": [{**CATALOG["accounts"][0], "currency": "EUR"}, CATALOG["accounts"][1]]}
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(catalog)), now="2026-10-10T12:00:00Z")
        self.use(101, 500)
        self.assertEqual([{c: v for (name, c), v in self.sums(self.export(m), "account_name", "currency").items()
                           if name == "unbilled"} for m in ("2026-09", "2026-10", "2026-11")],
                         [{"USD": 10}, {"EUR": 5}, {}])

    # --- a ledger that begins in mid-year ---

    def begin(self, month, *words, now=NOVEMBER, status=0, stdin=b""):
        return self.run_tool("ledger", "begin", "--db", "t.db", "--month", month, *words, now=now, status=status,
                             stdin=stdin)

    def balances(self, text, month="2026-10", **more):
        return self.begin(month, "-", stdin=text.encode(), **more)

    def opened(self, account):
        """What stands and what was taken back, as the ledger has it."""
        return [(e[1][:10], e[3], e[5]) for e in self.entries(account) if e[2] == "opening_balance"]

    def aging(self, *words):
        done = self.run_tool("ledger", "aging", "--db", "t.db", "--format", "json", *words, now=NOVEMBER)
        return {a["account"]: [(i["number"], i["due"], i["remaining"]) for i in a["invoices"]]
                for a in json.loads(done.out)["accounts"]}

    def preview(self, month):
        done = subprocess.run([TOOL, "preview", "--db", "t.db", "--month", month, "--format", "json"],
                              capture_output=True, cwd=self.folder, env=self.environment(NOVEMBER), check=False)
        return {r["account"]: r for r in json.loads(done.stdout)["rows"]}, done.stderr.decode()

    def test_months_before_the_begin_are_billed_elsewhere(self):
        self.use(101, 300, day="2026-09-03")
        row = {"zone": 201, "hour": "2026-09-03T05:00:00Z", "region": "JP", "bytes": GB}  # without a price
        self.run_tool("import", "--db", "t.db", "-", stdin=(json.dumps(row) + "\n").encode(), now=OCTOBER)
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-09", "--finalize", "--account", 2, now=OCTOBER,
                      status=1)
        self.use(101, 500)
        self.use(201, 500)
        wrong = lambda rows: {w["what"] for r in rows.values() for w in r["looks_wrong"]} - {"lacks"}
        late = lambda: self.run_tool("invoice", "--db", "t.db", "--late", now=NOVEMBER).out.splitlines()[1:]
        self.assertEqual(len(late()), 1)
        self.assertEqual(wrong(self.preview("2026-10")[0]), {"new"})
        self.assertEqual(self.sums(self.export("2026-09"), "account_name"), {"unbilled": 3, "revenue": -3})
        self.assertEqual(self.sums(self.export("2026-10"), "entry", "account_name")
                         .get(("reversal-2026-09-1", "unbilled")), -3)
        self.assertEqual(self.run_tool("ledger", "begin", "--db", "t.db").out, "none\n")
        self.begin("2026-10")
        self.assertEqual(self.run_tool("ledger", "begin", "--db", "t.db").out, "2026-10\n")
        self.assertEqual(late(), [])
        rows, _ = self.preview("2026-10")
        self.assertEqual((wrong(rows), {r["last"]["state"] for r in rows.values()}), (set(), {"elsewhere"}))
        self.assertEqual(self.sums(self.export("2026-10"), "account_name"), {"unbilled": 10, "revenue": -10})
        self.assertEqual(self.export("2026-09"), [])
        # its drafts can be compared with what was billed, and nothing is made of them
        self.assertIn("billed elsewhere", self.preview("2026-09")[1])
        shown = self.run_tool("invoice", "--db", "t.db", "--month", "2026-09", "--account", 1, now=NOVEMBER)
        self.assertEqual([i["subtotal"] for i in json.loads(shown.out)["invoices"]], ["3.00"])
        self.assertIn("billed elsewhere", shown.err)
        for words in (("invoice", "--month", "2026-09", "--finalize"), ("ledger", "close", "--month", "2026-09")):
            refused = self.run_tool(*words, "--db", "t.db", now=NOVEMBER, status=1)
            self.assertIn("the ledger begins with 2026-10", refused.err)
        self.ledger("pay", "--account", 1, "--amount", "1", "--reference", "a", now="2026-09-20T00:00:00Z", status=1)
        self.use(101, 40, day="2026-09-20", now=DECEMBER)
        self.assertEqual(late(), [])
        self.assertEqual([i["subtotal"] for i in self.finalize()], ["5.00", "5.00"])
        self.close("2026-10", now=DECEMBER)
        self.verify()
        # hours of months that are billed elsewhere may go
        self.use(101, 1, day="2028-12-01", now="2028-12-05T00:00:00Z")
        gone = self.run_tool("retain", "--db", "t.db", "--hours", "25", "--dry-run", now="2028-12-05T00:00:00Z")
        self.assertNotIn("keeps all", gone.err)
        self.change(lambda db: db.execute("UPDATE meta SET value=value+1 WHERE name='begin_month'"))
        self.assertIn("Invoice 2026-000001 is of a month before the ledger begins.", self.verify(status=1).out)

    def test_opening_balances_are_entries_of_the_begin(self):
        text = ("account,amount,currency,due,reference\n1,-120.00,USD,2026-09-14,INV-7\n2,50,USD,,\n"
                "1,-30.50,,,INV-9\n")
        self.assertIn("3 balances entered, 0 known", self.balances(text).err)
        self.assertIn("0 balances entered, 3 known", self.balances(text).err)
        as_json = {"balances": [{"account": 1, "amount": "-120.00", "due": "2026-09-14", "reference": "INV-7"},
                                {"account": 1, "amount": -30.50, "reference": "INV-9"},
                                {"account": 2, "amount": "50.00", "currency": "USD"}]}
        self.assertIn("0 balances entered, 3 known", self.balances(json.dumps(as_json)).err)
        self.assertEqual(self.opened(1), [("2026-10-01", "-120", "INV-7"), ("2026-10-01", "-30.5", "INV-9")])
        self.assertEqual(self.aging(), {1: [("INV-7", "2026-09-14", "120.00"), ("INV-9", "2026-10-01", "30.50")]})
        self.ledger("pay", "--account", 1, "--amount", "100", "--reference", "w", now=NOVEMBER)
        self.assertEqual(self.aging()[1][0], ("INV-7", "2026-09-14", "20.00"))
        october = self.export("2026-10")
        self.assertEqual(self.sums(october, "account_name", "account_code"),
                         {("opening", "3900"): Decimal("-100.50"), ("receivables", "1200"): Decimal("100.50")})
        self.assertEqual({r["document"] for r in october}, {""})
        statement = self.ledger("statement", "--account", 2, "--format", "csv", now=NOVEMBER).out.splitlines()
        self.assertEqual(statement[2], "2026-10-01T00:00:00Z,opening_balance,50.00,50.00,USD,,")
        page = self.ledger("statement", "--account", 1, "--format", "html", now=NOVEMBER).out
        self.assertIn("Balance carried forward INV-7", page)
        self.verify()
        self.change(lambda db: db.execute("UPDATE ledger SET document='opening/back',reference='opening back 1'"
                                          " WHERE reference='INV-9'"))
        self.assertIn("takes back an opening balance that is not there", self.verify(status=1).out)

    def test_opening_balances_are_in_the_currency_declared_now(self):
        self.apply(json.dumps({**CATALOG, "accounts": [{**CATALOG["accounts"][0], "currency": "EUR"}, CATALOG["accounts"][1]]}),
                   now="2026-11-02T00:00:00Z")
        self.assertIn("billed in EUR", self.balances("account,amount,currency\n1,-7,USD\n", status=2).err)
        self.balances("account,amount,currency\n1,-7,EUR\n")
        self.assertEqual(self.entries(1)[-1][3:5], ["-7", "EUR"])
        self.ledger("pay", "--account", 1, "--amount", "7", "--reference", "w", now=NOVEMBER)
        self.assertEqual(self.entries(1)[-1][3], "0")
        self.verify()

    def test_a_begin_is_said_anew_until_a_document_is_final(self):
        self.use(101, 500)
        self.use(101, 300, day="2026-09-03")
        self.balances("account,amount,reference\n1,-120,INV-7\n2,5,\n")
        again = self.balances("account,amount,reference,due\n1,-100,INV-7,2026-09-01\n1,-1,INV-8,\n2,0,,\n")
        self.assertIn("2 balances entered, 0 known before, 2 taken back", again.err)
        self.assertEqual(self.aging(), {1: [("INV-7 (2)", "2026-09-01", "100.00"), ("INV-8", "2026-10-01", "1.00")]})
        self.assertEqual((self.entries(1)[-1][3], self.entries(2)[-1][3]), ("-101", "0"))
        told = json.loads(self.ledger("statement", "--account", 1, now=NOVEMBER).out)  # what was taken back is not told
        self.assertEqual([(e["amount"], e["balance"]) for e in told["entries"]], [("-100", "-100"), ("-1", "-101")])
        self.assertEqual(self.sums(self.export("2026-10"), "account_name")["opening"], -101)
        self.assertIn("2 taken back", self.begin("2026-09").err)
        self.assertEqual((self.aging(), self.entries(1)[-1][3]), ({}, "0"))
        self.assertEqual(self.sums(self.export("2026-10"), "account_name").get("opening", 0), 0)
        self.balances("account,amount,reference\n1,-7,INV-7\n", month="2026-09")
        self.assertEqual(self.aging()[1], [("INV-7 (3)", "2026-09-01", "7.00")])
        self.close("2026-09", now=NOVEMBER)
        self.assertTrue(self.balances("account,amount\n2,-8\n", month="2026-09", status=1).err.endswith("--reopen\n"))
        self.assertIn("--reopen", self.begin("2026-10", status=1).err)
        self.close("2026-09", "--reopen", now=NOVEMBER)
        number = self.finalize()[0]["number"]
        self.assertIn(f"--void {number}", self.begin("2026-10", status=1).err)
        self.begin("2026-09")
        self.assertIn("Nothing was entered. Account 1 has another opening balance, and 2026-000001 is final: correct it with"
                      " `ledger adjust`.\n", self.balances("account,amount\n1,-8\n", month="2026-09", status=1).err)
        self.balances("account,amount,reference\n1,-7,INV-7\n2,-1,x\n", month="2026-09")
        self.void(number, NOVEMBER)
        self.begin("2026-10")
        self.verify()
        self.assertIn("ledger begin", self.run_tool("audit", "--db", "t.db", now=DECEMBER).out)

    def test_a_first_adjustment_names_opening_balances(self):
        adjust = lambda amount, name: self.ledger("adjust", "--account", 1, f"--amount={amount}", "--reference", name, now=NOVEMBER).err
        self.assertTrue(adjust("-9", "old").endswith(" and see: tollbook help ledger begin\n"))
        for amount, name in (("-9", "old"), ("9", "back")):
            self.assertNotIn("begin", adjust(amount, name))
        # behind a final document an account can still be given its first opening balance
        self.use(201, 300)
        self.finalize()
        self.balances("account,amount\n1,-9\n")
        self.assertEqual(self.sums(self.export("2026-10"), "account", "account_name")[("1", "opening")], -9)
        self.verify()

    def test_a_first_begin_is_refused_behind_a_document(self):
        self.use(101, 300, day="2026-09-03")
        number = self.finalize(month="2026-09")[0]["number"]
        self.assertIn(number, self.begin("2026-10", status=1).err)
        self.assertIn("has not begun", self.begin("2026-12", status=1).err)
        self.begin("2026-09")

    def test_days_of_a_prepaid_account_before_the_begin_are_taken_back(self):
        catalog = {**CATALOG, "accounts": [{**CATALOG["accounts"][0], "prepaid": True}, CATALOG["accounts"][1]]}
        self.apply(json.dumps(catalog))
        self.use(101, 300, day="2026-09-30", now=OCTOBER)
        self.use(101, 200, now=OCTOBER)
        self.credit("2", "--expires", "2026-09-29", account=2, now="2026-09-02T00:00:00Z")
        self.ledger("accrue", now="2026-10-02T12:00:00Z")
        self.assertEqual(self.entries(1)[-1][3], "-3.6")
        self.begin("2026-10", now=OCTOBER)
        self.assertEqual(self.entries(1)[-1][3], "0")
        self.ledger("accrue", now=OCTOBER)
        self.assertEqual([(e[1][:10], e[3]) for e in self.entries(1) if e[2] == "usage"][-1], ("2026-10-03", "-2.4"))
        self.verify()

    def test_balances_that_cannot_be_are_refused_by_their_line(self):
        head = "account,amount,currency,due,reference\n"
        for text, words, status in (
                (head + "1,-1,USD,,\n9,1,USD,,\n", "line 3: ", 2), (head + "1,-1,EUR,,\n", "billed in USD", 2),
                (head + "1,-1.001,USD,,\n", "digits", 2), (head + "1,x,USD,,\n", "line 2: Amount", 2),
                (head + "1,1,USD,2026-09-01,\n", "not due", 2), (head + "1,-1,USD,soon,\n", "line 2: Due", 2),
                (head + "1,-1,,,a\n2,-1,,,a\n", "line 3: ", 2), (head + "1,-1,,,\n1,-2,,,\n", "a reference of its own", 2),
                ("account;amount;name\n1;-1;x\n", "line 1: The head", 2), ("account\n1\n", "line 1: The head", 2),
                ('{"balances":[{"account":1,"amount":"-1"},\n{"account":2,"amount":"x"}]}', "line 2: amount", 2),
                ('{"balances":[{"account":1}]}', "amount", 2), ('{"balances":[{"account":1,"amount":"1","x":1}]}', "may have currency", 2),
                ('{"balances":[{"amount":"1"}]}', "account", 2), ('{"balance":[]}', "balances", 2), ("{", "byte", 2)):
            refused = self.balances(text, status=status)
            self.assertIn(words, refused.err, text)
            self.assertEqual(self.run_tool("ledger", "begin", "--db", "t.db").out, "none\n")
        self.assertIn("--month", self.run_tool("ledger", "begin", "--db", "t.db", "-", stdin=b"account,amount\n",
                                               status=2).err)
        self.assertIn("1 balance entered",
                      self.begin("2026-10", "--comma", "-", stdin=b"account;amount\n1;-1.234,50\n").err)
        self.assertEqual(self.opened(1)[0][1], "-1234.5")


if __name__ == "__main__":
    unittest.main()
