"""charge add, list, drop: one-off charges from a command to every form of a document. oracle_charges has the sums."""
import json
import unittest

from money import CATALOG, DECEMBER, NOVEMBER, OCTOBER, Ledger


class Charges(Ledger):
    def charge(self, *words, now=OCTOBER, status=0):
        return self.run_tool("charge", words[0], "--db", "t.db", *words[1:], now=now, status=status)

    def add(self, amount, *words, account=1, description="Set-up", **more):
        return self.charge("add", "--account", account, "--amount", amount, "--description", description, *words, **more)

    def listed(self, *words):
        return json.loads(self.charge("list", *words, "--format", "json").out)["charges"]

    def test_a_charge_is_a_line_with_its_words_in_every_form(self):
        self.use(101, 100, now=OCTOBER)
        self.assertEqual(self.add("120").out, "1\n")
        self.add("-20.50", description="Goodwill")
        document, = self.finalize("--account", 1)
        lines = [(one["kind"], one["resource"], one.get("description"), one["amount"]) for one in document["lines"]]
        self.assertEqual(lines, [("bandwidth", "zone:101", None, "1.00"), ("charge", "charge:1", "Set-up", "120.00"),
                                 ("charge", "charge:2", "Goodwill", "-20.50")])
        self.assertEqual((document["subtotal"], document["total"]), ("100.50", "120.60"))
        self.verify()

        def form(name):
            return self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--account", 1, "--format", name, now=DECEMBER).out
        for name in ("html", "focus"):
            self.assertIn("Goodwill", form(name), name)
        self.assertIn(",charge,charge:2,,1,charge,-20.5,-20.5,-20.50,", form("csv"))
        explained = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--account", 1, "--explain", 2, now=DECEMBER).out)
        self.assertEqual((explained["line"]["description"], explained["agrees"]), ("Set-up", True))

    def test_the_rest_of_a_credit_waits_for_the_next_document(self):
        self.use(101, 100, now=OCTOBER)
        self.use(101, 50, day="2026-11-02", now=NOVEMBER)
        self.add("-1.20", description="Goodwill")
        first, = self.finalize("--account", 1)
        self.assertEqual((first["lines"][1]["amount"], first["lines"][1]["tiers"][0]["list_price"], first["total"]), ("-1.00", "-1.2", "0.00"))
        self.assertEqual([(one["due"], one["invoice"]) for one in self.listed()], [("-0.20", first["number"])])
        second, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual((second["lines"][1]["amount"], second["subtotal"]), ("-0.20", "0.30"))
        self.run_tool("invoice", "--db", "t.db", "--void", second["number"], now=DECEMBER)
        self.assertEqual([one["due"] for one in self.listed()], ["-0.20"])
        self.verify()

    def test_a_credit_is_due_again_where_its_month_becomes_cheaper(self):
        used = self.write("used", json.dumps({"zone": 101, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**13}) + "\n")
        self.run_tool("import", "--db", "t.db", used, now=OCTOBER)
        self.use(101, 3000, now=OCTOBER)
        self.use(101, 5000, day="2026-11-02", now=NOVEMBER)
        self.add("-70", description="Goodwill")
        self.add("-40", description="Goodwill again")
        first, = self.finalize("--account", 1)
        self.assertEqual(first["subtotal"], "20.00")
        self.run_tool("import", "--withdraw", "--db", "t.db", used, now=NOVEMBER)
        note, second = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual([(line["amount"], line["corrects"]["kind"]) for line in note["lines"]], [("-100.00", "bandwidth"), ("80.00", "correction")])
        self.assertEqual((note["kind"], note["subtotal"], note["total"], second["subtotal"]), ("credit_note", "-20.00", "-24.00", "50.00"))
        self.assertEqual([(one["due"], one["invoice"]) for one in self.listed()], [("-40.00", first["number"]), ("-40.00", first["number"])])
        self.assertIn("has billed it", self.charge("drop", 2, status=2).err)
        page = self.run_tool("invoice", "--db", "t.db", "--number", note["number"], "--format", "html", now=DECEMBER).out
        self.assertRegex(page, "Less credits already given(<[^>]*>)*80.00<")
        void = ("invoice", "--db", "t.db", "--void")
        self.run_tool(*void, note["number"], now=DECEMBER)
        self.assertEqual([one["due"] for one in self.listed()], ["0.00", "0.00"])
        self.run_tool(*void, second["number"], now=DECEMBER)
        note, second = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.use(101, 5000, day="2026-12-02", now=DECEMBER)
        third, = self.finalize("--account", 1, month="2026-12", now="2027-01-03T12:00:00Z")
        self.assertEqual(([line["amount"] for line in third["lines"]], third["subtotal"]), (["50.00", "-40.00", "-10.00"], "0.00"))
        self.assertEqual([(one["due"], one["invoice"]) for one in self.listed()], [("0.00", third["number"]), ("-30.00", third["number"])])
        said = self.run_tool(*void, note["number"], now="2027-01-03T12:00:00Z", status=2).err
        self.assertIn(f"{third['number']} billed a credit that {note['number']} made due again; void {third['number']} first", said)
        self.verify()

    def test_a_credit_note_that_cannot_be_void_names_the_invoice_that_goes_first(self):
        """Not the other credit note, which is newer, and has made more of the same credit due again."""
        used = {}
        for month, amount in (("10", 6000), ("11", 4000)):
            used[month] = self.write(f"used-{month}", json.dumps({"zone": 101, "hour": f"2026-{month}-03T05:00:00Z", "region": "DE", "bytes": amount * 10**9}) + "\n")
        self.run_tool("import", "--db", "t.db", used["10"], now=OCTOBER)
        self.add("-100", description="Goodwill")
        self.finalize("--account", 1)
        self.run_tool("import", "--db", "t.db", used["11"], now=NOVEMBER)
        self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.run_tool("import", "--withdraw", "--db", "t.db", used["10"], now=DECEMBER)
        first, = self.finalize("--account", 1, month="2026-12", now="2027-01-03T00:00:00Z")
        self.use(101, 7000, day="2027-01-02", now="2027-01-03T00:00:00Z")
        again, = self.finalize("--account", 1, month="2027-01", now="2027-02-03T00:00:00Z")
        self.run_tool("import", "--withdraw", "--db", "t.db", used["11"], now="2027-02-03T00:00:00Z")
        second, = self.finalize("--account", 1, month="2027-02", now="2027-03-03T00:00:00Z")
        self.assertEqual([one["subtotal"] for one in (first, again, second)], ["0.00", "10.00", "0.00"])
        said = self.run_tool("invoice", "--db", "t.db", "--void", first["number"], now="2027-03-03T00:00:00Z", status=2).err
        self.assertIn(f"void {again['number']} first", said)
        self.assertEqual([one["due"] for one in self.listed()], ["-40.00"])
        self.verify()

    def test_a_charge_alone_makes_a_document_and_a_credit_alone_none(self):
        self.add("5", account=2)
        self.add("-5", account=1)
        made = self.finalize()
        self.assertEqual([(one["account"], one["total"]) for one in made], [(2, "5.00")])
        self.assertEqual([one["due"] for one in self.listed("--account", 1)], ["-5.00"])
        self.use(101, 300, day="2026-11-02", now=NOVEMBER)
        second, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual(second["subtotal"], "0.00")
        self.verify()

    def test_a_reference_adds_once_and_a_drop_ends_it(self):
        self.assertEqual(self.add("7", "--reference", "r").out, self.add("7", "--reference", "r").out)
        self.assertIn("differs", self.add("8", "--reference", "r", status=2).err)
        self.charge("drop", 1)
        self.assertEqual(self.listed(), [])
        self.assertEqual(self.add("8", "--reference", "r").out, "2\n")
        self.finalize("--account", 1)
        self.assertIn("has billed it", self.charge("drop", 2, status=2).err)
        self.assertIn("There is no charge 1", self.charge("drop", 1, status=2).err)

    def test_a_category_without_tax_is_beside_the_base(self):
        self.use(101, 100, now=OCTOBER)
        self.add("120", "--tax-category", "E")
        self.add("40", "--tax-category", "AE")
        self.add("-50", "--tax-category", "AE", description="Goodwill")
        self.add("10", "--tax-category", "S")
        self.add("5")
        document, = self.finalize("--account", 1)
        charges = [(one["resource"], one.get("tax_category"), one["amount"]) for one in document["lines"][1:]]
        self.assertEqual(charges, [("charge:1", "E", "120.00"), ("charge:2", "AE", "40.00"), ("charge:3", "AE", "-40.00"),
                                   ("charge:4", None, "10.00"), ("charge:5", None, "5.00")])
        rows = [(row["category"], row.get("charges"), row["percent"], row["base"], row["amount"]) for row in document["tax"]]
        self.assertEqual(rows, [("S", None, "20", "16.00", "3.20"), ("E", True, "0", "120.00", "0.00"), ("AE", True, "0", "0.00", "0.00")])
        self.assertEqual((document["subtotal"], document["total"]), ("136.00", "139.20"))
        self.assertEqual([(one["id"], one["due"], one["tax_category"]) for one in self.listed()][:4],
                         [(1, "0.00", "E"), (2, "0.00", "AE"), (3, "-10.00", "AE"), (4, "0.00", None)])
        self.verify()

        def form(name):
            return self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", "--account", 1, "--format", name, now=DECEMBER).out
        taxes = [row.split(",") for row in form("csv").splitlines() if ",tax," in row]
        self.assertEqual(len(taxes), 3)
        self.assertIn("120.00", taxes[1])
        self.assertIn("Exempt from VAT, 120.00", form("html"))
        self.assertEqual(sum(",Tax," in row for row in form("focus").splitlines()), 3)
        journal = self.ledger("export", "--month", "2026-11", now=DECEMBER).out
        self.assertIn(",3.20,", journal)
        self.assertIn(",139.20,", journal)

    def test_late_usage_is_taxed_as_without_the_charge(self):
        self.use(101, 100, now=OCTOBER)
        self.add("120", "--tax-category", "E")
        first, = self.finalize("--account", 1)
        self.assertEqual(first["total"], "121.20")
        self.use(101, 53, now=NOVEMBER)
        second, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        rows = [(row["category"], row.get("month"), row["base"], row.get("billed"), row["amount"]) for row in second["tax"]]
        self.assertIn(("S", "2026-10", "0.53", "0.20", "0.11"), rows)  # 20 % of 1.53 is 0.31
        self.assertEqual((second["subtotal"], second["total"]), ("0.53", "0.64"))
        self.verify()

    def test_a_category_alone_leaves_no_other_tax(self):
        self.add("120", "--tax-category", "G", account=2)
        self.add("7", "--tax-category", "Z", account=1)
        one, two = self.finalize()
        self.assertEqual([(row["name"], row["category"], row["base"]) for row in one["tax"]], [("VATRate", "Z", "7.00")])
        self.assertEqual([(row["name"], row["category"], row["base"]) for row in two["tax"]], [("VAT", "G", "120.00")])
        self.assertEqual((one["total"], two["total"]), ("7.00", "120.00"))
        self.verify()

    def test_a_category_is_part_of_what_a_reference_names(self):
        self.add("7", "--reference", "r", "--tax-category", "Z")
        self.assertEqual(self.add("7", "--reference", "r", "--tax-category", "Z").out, "1\n")
        self.assertIn("differs", self.add("7", "--reference", "r", status=2).err)
        self.assertIn("tax-category", self.add("7", "--tax-category", "X", status=2).err)

    def test_an_e_invoice_has_the_category_or_lacks_its_reason(self):
        party = {"name": "N", "country": "DE", "vat_id": "DE123456789", "registration_id": "HRB 1", "reference": "R"}
        self.apply(json.dumps({
            "seller": {key: party[key] for key in ("name", "country", "vat_id", "registration_id")},
            "accounts": [{"id": 1, "name": "acme", "tax": {"VATRate": 20}, "buyer": party},
                         {"id": 2, "name": "borealis", "tax": {"category": "E", "reason": "Exempt as taught"}, "buyer": party}],
            "zones": CATALOG["zones"]}), now=OCTOBER)
        self.add("120", "--tax-category", "AE")
        self.add("30", "--tax-category", "E", account=2)
        self.finalize()

        def lacks(month):
            out = self.run_tool("invoice", "--db", "t.db", "--month", month, "--check", "--format", "json", now=DECEMBER, status=1).out
            return [(one["account"], one.get("field")) for one in json.loads(out)["lacks"] if "tax" in str(one)]
        self.assertEqual(lacks("2026-10"), [])
        self.add("30", "--tax-category", "E", "--month", "2026-11", now=NOVEMBER)
        self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual(lacks("2026-11"), [(1, "accounts[].tax.reason")])
        self.verify()

    def test_what_is_refused(self):
        self.add("1")
        self.finalize("--account", 1)
        for amount, words, message in (("0", (), "not zero"), ("1.005", (), "at most 2 digits"), ("x", (), "amount"), ("1e9", (), "amount"),
                                       ("99999999999999.00", (), "too large"), ("1", ("--month", "2026-10"), "is final: give a later --month")):
            self.assertIn(message, self.add(amount, *words, now=NOVEMBER, status=2).err, (amount, words))
        self.assertIn("account", self.add("1", account=9, status=2).err)
        self.assertEqual(len(self.listed()), 1)

    def test_a_closed_month_is_worked_out_as_it_was(self):
        self.add("10")
        self.run_tool("ledger", "close", "--db", "t.db", "--month", "2026-10", now=NOVEMBER)
        self.add("-4", "--month", "2026-10", now=NOVEMBER)
        self.verify()
        self.finalize("--account", 1)
        self.verify()


if __name__ == "__main__":
    unittest.main()
