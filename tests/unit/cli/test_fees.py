"""Recurring fees from a catalogue to every form of a document, corrections, what-ifs and the ledger. oracle_fees has the sums."""
import copy
import json
import unittest

from money import BOOK, CATALOG, DECEMBER, NOVEMBER, OCTOBER, Ledger

FEES = {"shield": {"name": "Shield Advanced", "amount": "9.50", "charge": "Shield"},
        "ip": {"name": "Anycast IP", "amount": "3", "timing": "advance"},
        "gold": {"name": "Gold support", "amount": "1200", "every": "year", "timing": "advance"}}
MIDDLE = "2026-10-17T00:00:00Z"  # 15 of 31 days are left


class Fees(Ledger):
    def setUp(self):
        super().setUp()
        self.run_tool("book", "--db", "t.db", self.write("fees.json", json.dumps(
            {**BOOK, "book": "f", "supersedes": "b", "fees": FEES})), now=OCTOBER)

    def declare(self, now, account=(), zone=(), more=()):
        catalog = copy.deepcopy(CATALOG)
        catalog["accounts"][0]["fees"], catalog["zones"][0]["fees"] = list(account), list(zone)
        catalog["accounts"] += more
        self.apply(json.dumps(catalog), now=now)

    def fees_of(self, document):
        return [(one["resource"], one["fee"], one["service"]["start"][:10], one["service"]["end"][:10], one["amount"])
                for one in document["lines"] if one["kind"] == "fee"]

    def form(self, name, *words, month="2026-10"):
        return self.run_tool("invoice", "--db", "t.db", "--month", month, "--account", 1, "--format", name, *words, now=DECEMBER).out

    def test_a_fee_is_a_line_with_its_words_in_every_form(self):
        self.use(101, 100, now=OCTOBER)
        self.declare(MIDDLE, account=[{"fee": "ip", "quantity": 2}, "gold"], zone=["shield"])
        document, = self.finalize("--account", 1)
        self.assertEqual(self.fees_of(document), [("account:1", "gold", "2026-10-17", "2027-10-17", "1200.00"),
                                                  ("account:1", "ip", "2026-10-17", "2026-11-01", "2.90"),
                                                  ("account:1", "ip", "2026-11-01", "2026-12-01", "6.00"),
                                                  ("zone:101", "shield", "2026-10-17", "2026-11-01", "4.60")])
        self.assertEqual(document["subtotal"], "1214.50")
        self.verify()
        self.assertIn("Anycast IP, account 1", self.form("focus"))
        self.assertIn(",fee,account:1,,1296000,second,6,2.903225806451612903,2.90,", self.form("csv"))
        for part in ("Gold support", "17 October 2026 – 16 October 2027", "1,200 USD per year", "November 2026", "30 days of 30", "6 USD per month"):
            self.assertIn(part, self.form("html"))
        explained = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--account", 1, "--explain", 3, now=DECEMBER).out)
        self.assertEqual((explained["line"]["fee"], explained["agrees"]), ("ip", True))
        self.assertIn(",fee 2026-10,,1213.50,USD", self.ledger("export", "--month", "2026-11", now=DECEMBER).out)

    def test_late_usage_corrects_usage_and_no_fee(self):
        self.use(101, 100, now=OCTOBER)
        self.declare(MIDDLE, account=["ip", "gold"], zone=["shield"])
        self.finalize("--account", 1)
        self.declare("2026-11-05T00:00:00Z", account=[{"fee": "ip", "quantity": 5}], zone=[])
        self.use(101, 50, now="2026-11-10T00:00:00Z")
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual([(one["corrects"]["kind"], one["amount"]) for one in document["lines"] if one["kind"] == "correction"],
                         [("bandwidth", "0.50")])
        self.verify()

    def test_a_zone_declared_late_is_billed_from_its_beginning(self):
        """As its optimizer is; in advance from the month on in which it is declared."""
        self.finalize("--empty", "--account", 2)
        catalog = copy.deepcopy(CATALOG)
        catalog["zones"].append({"id": 202, "account": 2, "name": "late", "created": "2026-10-22T00:00:00Z", "fees": ["shield", "ip"]})
        self.apply(json.dumps(catalog), now="2026-11-10T00:00:00Z")
        document, = self.finalize("--account", 2, month="2026-11", now=DECEMBER)
        late, = [one for one in document["lines"] if one["kind"] == "correction"]
        self.assertEqual((late["corrects"]["kind"], late["fee"], late["resource"], late["amount"]), ("fee", "shield", "zone:202", "3.06"))
        self.assertEqual(self.fees_of(document), [("zone:202", "ip", "2026-11-01", "2026-12-01", "3.00"), ("zone:202", "ip", "2026-12-01", "2027-01-01", "3.00"),
                                                  ("zone:202", "shield", "2026-11-01", "2026-12-01", "9.50")])
        self.verify()

    def test_a_document_below_zero_pays_the_others(self):
        self.declare(MIDDLE, account=["gold"])
        self.finalize("--account", 1)
        self.declare("2026-11-06T00:00:00Z")
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        # 345 of 365 days are left: 1134.25, and a fifth of tax
        self.assertEqual((self.fees_of(document), document["total"]),
                         ([("account:1", "gold", "2026-11-06", "2027-10-17", "-1134.25")], "-1361.10"))
        aged = self.ledger("aging", "--format", "csv", now=DECEMBER).out.splitlines()[1]
        self.assertEqual(aged.rsplit(",", 1)[1], "78.90")  # 1440.00 less 1361.10
        self.verify()

    def test_a_month_below_zero_is_billed_in_pieces_as_in_one(self):
        """Usage beside a fee that is given back is withdrawn, and usage comes to what is below zero: each with its own tax."""
        self.declare(MIDDLE, account=["gold"])
        self.finalize("--account", 1)
        self.declare("2026-11-06T00:00:00Z")
        used = self.write("used", json.dumps({"zone": 101, "hour": "2026-11-03T05:00:00Z", "region": "DE", "bytes": 2 * 10**14}) + "\n")
        self.run_tool("import", "--db", "t.db", used, now=DECEMBER)
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual((document["subtotal"], document["total"]), ("865.75", "1038.90"))  # 2000.00 less 1134.25
        self.run_tool("import", "--withdraw", "--db", "t.db", used, now=DECEMBER)
        note, = self.finalize("--account", 1, month="2026-12", now="2027-01-03T00:00:00Z")
        self.assertEqual(([one["amount"] for one in note["lines"]], note["total"]), (["-2000.00"], "-2400.00"))
        self.use(101, 10000, day="2026-11-04", now="2027-01-05T00:00:00Z")
        document, = self.finalize("--account", 1, month="2027-01", now="2027-02-03T00:00:00Z")
        self.assertEqual((document["subtotal"], document["total"]), ("100.00", "120.00"))
        self.verify()

    def test_a_refused_month_below_zero_goes_on_the_next_invoice(self):
        """No document has billed it, so that a credit note would have none to credit."""
        self.declare(MIDDLE, account=["gold"])
        self.finalize("--account", 1)
        self.declare("2026-11-06T00:00:00Z")
        used = self.write("used", json.dumps({"zone": 101, "hour": "2026-11-03T05:00:00Z", "region": "SG", "bytes": 10**9}) + "\n")
        self.run_tool("import", "--db", "t.db", used, now=NOVEMBER)
        self.run_tool("invoice", "--db", "t.db", "--month", "2026-11", "--finalize", "--account", 1, now=DECEMBER, status=1)
        self.run_tool("import", "--withdraw", "--db", "t.db", used, now=DECEMBER)
        self.use(101, 100, day="2026-12-04", now=DECEMBER)
        document, = self.finalize("--account", 1, month="2026-12", now="2027-01-03T00:00:00Z")
        self.assertEqual([(one["kind"], one["amount"]) for one in document["lines"]], [("bandwidth", "1.00"), ("correction", "-1134.25")])
        self.assertEqual(([one["amount"] for one in document["tax"]], document["total"]), (["0.20", "-226.85"], "-1359.90"))
        self.verify()

    def test_an_account_with_a_fee_alone_gets_an_invoice(self):
        self.declare(MIDDLE, more=[{"id": 3, "name": "fees", "fees": ["shield"]}])
        self.assertEqual([(one["account"], one["total"]) for one in self.finalize()], [(3, "9.50")])

    def test_a_fee_without_a_price_stops_the_invoice(self):
        self.declare(MIDDLE, account=["none"])
        refused = self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--finalize", "--account", 1, now=NOVEMBER, status=1)
        self.assertIn("(acme): A fee, ", refused.err)
        document, = json.loads(self.form("json"))["invoices"]
        self.assertEqual([(one["resource"], one["what"], one["reason"]) for one in document["unpriced"]],
                         [("account:1", "fee", "Book f has no fees.none: add a book that supersedes it and has it.")])

    def test_a_fee_of_a_zone_without_a_price_is_named_so(self):
        self.declare(MIDDLE, zone=["none"])
        refused = self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--finalize", "--account", 1, now=NOVEMBER, status=1)
        self.assertIn("A fee of pull zone 101, ", refused.err)
        self.assertIn("without a price. Book f has no fees.none", refused.err)

    def test_a_what_if_changes_what_a_fee_costs(self):
        self.declare(MIDDLE, account=["ip"], zone=["shield"])
        scenario = self.write("s.json", json.dumps({"scenario": "dear", "base": "f", "patch": {"fees": {"shield": {"amount": "19"}}}}))
        done = self.run_tool("whatif", "--db", "t.db", "--from", "2026-10", "--to", "2026-10", "--format", "json", scenario, now=NOVEMBER)
        one, = json.loads(done.out)["scenarios"]
        self.assertEqual((one["before"], one["after"]), ("9.05", "13.64"))  # 4.60 becomes 9.19

    def test_a_forecast_has_the_fees_of_the_whole_month(self):
        self.declare("2026-10-02T00:00:00Z", account=["ip"], zone=["shield"])
        done = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json", now=MIDDLE)
        # 2.90 and 3.00 of the address, 9.19 of the shield
        self.assertEqual(json.loads(done.out)["money"]["net"]["p50"], "15.09")


if __name__ == "__main__":
    unittest.main()
