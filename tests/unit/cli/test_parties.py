"""Who sells and who buys: the catalogue's declarations, and what drafts, final invoices, credit notes
and replacements make of them. invoice --check lists what is missing before a month is run.
"""
import json
import unittest
from both import Both
from tool import Case

BOOK = {"book": "volume", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}},
                      # more usage can cost less, so there are credit notes
                      "volume": {"per": "GB", "mode": "volume", "tiers": [
                          {"from": "0", "to": "500", "price": "0.005"},
                          {"from": "500", "to": None, "price": "0.002"}]}}}
SELLER = {"name": "Acme CDN GmbH", "street": "Hauptstr. 1", "city": "Berlin",
          "postal_code": "10115", "country": "DE", "vat_id": "DE123456789",
          "contact": {"name": "Billing", "phone": "+49 30 1", "email": "b@acme.example"},
          "payment": {"iban": "DE89370400440532013000"},
          "tax_currency": "EUR", "rates": {"2026-10": "0.920", "2026-11": 0.93}}
SHOWN = {**{k: v for k, v in SELLER.items() if k != "rates"},
         "payment": {"iban": "DE89370400440532013000", "means": "58"}, "tax_rate": "0.92"}
BUYER = {"name": "Exemple <SA> & \u00c9t\u00e9 \u6f22", "street": "1 rue", "city": "Lyon",
         "postal_code": "69001", "country": "FR", "vat_id": "FR12345678901", "language": "de",
         "delivery": {"city": "Nice", "country": "FR"}}
REVERSE = {"category": "AE", "reason": "Reverse charge", "reason_code": "VATEX-EU-AE"}
OCTOBER, NOVEMBER, NEXT, DECEMBER = ("2026-10-01T00:00:00Z", "2026-11-04T09:00:00Z",
                                     "2026-11-05T00:00:00Z", "2026-12-03T09:00:00Z")


def account(**more):
    return {"id": 1, "name": "acme", **more}


class Parties(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("book", "add", "--db", "t.db", self.write("b.json", json.dumps(BOOK)))

    def declare(self, now=OCTOBER, seller=SELLER, accounts=None, zones=True, **more):
        accounts = [account(buyer=BUYER, tax=REVERSE)] if accounts is None else accounts
        document = {"accounts": accounts, **({"seller": seller} if seller else {}), "zones": [
            {"id": 100 + a["id"], "account": a["id"], "name": f"z{a['id']}", "type": "volume",
             "created": "2026-01-05T00:00:00Z"} for a in accounts if zones], **more}
        return self.run_tool("apply", "--delete", "--db", "t.db", self.write("c.json", json.dumps(document)),
                             now=now).err

    def take(self, gigabytes, month="2026-10", zone=101, now=NOVEMBER):
        row = {"zone": zone, "hour": f"{month}-03T05:00:00Z", "region": "DE", "requests": 1,
               "bytes": gigabytes * 10**9}
        self.run_tool("import", "--db", "t.db", "-", stdin=json.dumps(row).encode(), now=now)

    def invoices(self, *words, month="2026-10", now=NOVEMBER, status=0):
        done = self.run_tool("invoice", "--db", "t.db", "--month", month, *words, now=now,
                             status=status)
        self.said = done.err
        return json.loads(done.out)["invoices"]

    def finalize(self, month="2026-10", now=NOVEMBER):
        return self.invoices("--finalize", month=month, now=now)

    def stored(self, number):
        (row,) = self.query(f"SELECT document FROM invoice WHERE number='{number}'")
        return json.loads(row[0])

    def test_a_final_invoice_keeps_them(self):
        self.declare()
        self.take(100)
        (draft,) = self.invoices()
        self.assertEqual((draft["seller"], draft["buyer"]), (SHOWN, BUYER))
        self.assertEqual((draft["issued"], draft["due"], draft["state"]), (None, None, "draft"))
        (final,) = self.finalize()
        self.assertEqual((final["seller"], final["buyer"]), (SHOWN, BUYER))
        self.assertEqual((final["issued"], final["due"]), ("2026-11-04", "2026-11-18"))
        self.assertEqual(final["tax"], [{
            "amount": "0.00", "base": "0.50", "category": "AE", "name": "VAT", "percent": "0",
            "reason": "Reverse charge", "reason_code": "VATEX-EU-AE"}])
        self.assertNotIn("legal", self.said)
        self.verify()

    def test_it_shows_what_was_declared_when_it_was_made_final(self):
        """A seller that moves in the middle of a month, and once more after its invoices."""
        self.declare()
        self.take(100)
        self.declare("2026-10-15T00:00:00Z", {**SELLER, "city": "Bonn"})
        self.assertEqual(self.invoices()[0]["seller"]["city"], "Bonn")
        (final,) = self.finalize()
        self.declare(NEXT, {**SELLER, "city": "Kiel"}, [account(buyer={**BUYER, "city": "Metz"})])
        (again,) = self.invoices(now=NEXT)
        self.assertEqual(again, final)
        self.assertEqual((again["seller"]["city"], again["buyer"]["city"]), ("Bonn", "Lyon"))
        self.take(10, "2026-11", now=DECEMBER)
        (later,) = self.finalize("2026-11", DECEMBER)
        self.assertEqual((later["seller"]["city"], later["buyer"]["city"]), ("Kiel", "Metz"))
        self.assertEqual((later["seller"]["tax_rate"], later["due"]), ("0.93", "2026-12-17"))
        self.declare(DECEMBER, None)
        self.verify()

    def test_terms_of_payment(self):
        for terms, seller, due in ((None, {**SELLER, "terms_days": 0}, "2026-11-04"),
                                   (30, SELLER, "2026-12-04"), ("0", None, "2026-11-04"),
                                   (None, None, None), (365, None, "2027-11-04")):
            with self.subTest(terms=terms, due=due):
                self.folder.joinpath("t.db").unlink()
                self.init("t.db")
                self.run_tool("book", "add", "--db", "t.db", "b.json")
                self.declare(OCTOBER, seller, [account(**({} if terms is None else
                                                          {"terms_days": terms}))])
                self.take(100)
                self.assertEqual(self.finalize()[0]["due"], due)
                self.verify()

    def test_the_tax_currency_is_another_than_the_invoices(self):
        self.declare(seller={**SELLER, "tax_currency": "USD"})
        self.take(100)
        seller = self.invoices()[0]["seller"]
        self.assertEqual([key for key in seller if key.startswith("tax_")], [])
        self.declare(NOVEMBER, {**SELLER, "rates": {"2026-09": "1"}})
        seller = self.invoices()[0]["seller"]
        self.assertEqual({k: v for k, v in seller.items() if k.startswith("tax_")},
                         {"tax_currency": "EUR"})

    def test_each_currency_has_its_own_rate(self):
        for currency in ("EUR", "JPY"):
            self.run_tool("book", "add", "--db", "t.db", self.write("more.json", json.dumps(
                {**BOOK, "book": currency, "currency": currency})))
        accounts = [{**account(), "id": n, "currency": currency}
                    for n, currency in enumerate(("EUR", "JPY", "USD"), 1)]
        rates = {"2026-10": {"EUR": "4.25", "JPY": "0.0250"}}
        self.declare(seller={**SELLER, "tax_currency": "PLN", "rates": rates}, accounts=accounts)
        for zone in (101, 102, 103):
            self.take(100, zone=zone)
        self.assertEqual([(i["currency"], i["seller"].get("tax_rate")) for i in self.finalize()],
                         [("EUR", "4.25"), ("JPY", "0.025"), ("USD", None)])
        document = {"accounts": accounts,
                    "seller": {**SELLER, "tax_currency": "PLN", "rates": {"2026-10": "4.25"}}}
        said = self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(document)),
                             now=NEXT, status=2).err
        self.assertIn("seller.rates.2026-10", said)
        self.assertIn("the accounts have more than one currency", said)
        self.verify()

    def test_a_statement_without_entries_is_in_the_declared_currency(self):
        self.declare(seller=None, accounts=[account(currency="JPY"), {"id": 2, "name": "b"}])
        for number, currency, zero in ((1, "JPY", "0"), (2, "USD", "0.00")):
            words = ("ledger", "statement", "--db", "t.db", "--account", number, "--format")
            said = json.loads(self.run_tool(*words, "json", now=NOVEMBER).out)
            self.assertEqual((said["currency"], said["entries"]), (currency, []))
            page = self.run_tool(*words, "html", now=NOVEMBER).out
            self.assertIn(f"Amount ({currency})", page)
            self.assertIn(f">{zero} {currency}<", page)

    def test_credit_notes_and_replacements(self):
        self.declare()
        self.take(450)
        (first,) = self.finalize()
        self.run_tool("invoice", "--db", "t.db", "--void", first["number"], now=NOVEMBER)
        self.declare(NEXT, {**SELLER, "city": "Bonn"})
        made = self.finalize(now=NEXT)
        (second,) = [i for i in made if i["state"] == "final"]
        self.assertEqual((second["replaces"], second["seller"]["city"]), (first["number"], "Bonn"))
        self.assertEqual(second["due"], "2026-11-19")
        self.take(100, now=NEXT)  # cheaper by volume
        self.take(1, "2026-11", now=DECEMBER)
        self.finalize("2026-11", DECEMBER)
        (number,) = self.query("SELECT number FROM invoice WHERE kind='credit_note'")[0]
        note = self.stored(number)
        self.assertEqual(note["corrects"], second["number"])
        self.assertEqual((note["buyer"], note["seller"]["city"]), (BUYER, "Bonn"))
        self.assertEqual((note["issued"], note["due"]), ("2026-12-03", None))
        self.assertEqual(note["seller"]["tax_rate"], "0.92", "the month that it corrects")
        self.assertEqual(note["tax"][0]["reason"], "Reverse charge")
        self.verify()

    def test_the_reason_is_the_one_declared_now(self):
        """Where the month's category is declared still; the category is that of the month's end."""
        for tax, reason in (({**REVERSE, "reason": "Steuerschuldner ist der Kunde"},
                             ["Steuerschuldner ist der Kunde", "VATEX-EU-AE"]),
                            ({"category": "AE"}, [None, None]),
                            ({"VAT": "19"}, ["Reverse charge", "VATEX-EU-AE"]),
                            ({"category": "E", "reason": "x"}, ["Reverse charge", "VATEX-EU-AE"])):
            with self.subTest(tax=tax):
                self.folder.joinpath("t.db").unlink()
                self.init("t.db")
                self.run_tool("book", "add", "--db", "t.db", "b.json")
                self.declare()
                self.take(100)
                self.declare(NOVEMBER, accounts=[account(buyer=BUYER, tax=tax)])
                (row,) = self.finalize()[0]["tax"]
                self.assertEqual([row["category"], row["reason"], row["reason_code"]], ["AE", *reason])
                self.declare(NEXT, accounts=[account(buyer=BUYER)])
                self.verify()

    def test_without_a_seller_all_is_as_it_was(self):
        self.declare(seller=None, accounts=[account(tax={"VAT": "19"}), {"id": 2, "name": "b"}])
        self.take(100)
        self.take(100, zone=102)
        for final in self.finalize():
            self.assertEqual([final[key] for key in ("seller", "buyer", "due")], [None] * 3)
        self.assertEqual(self.said.count("The catalogue has no seller, so what is made final is no"
                                         " legal invoice. List what is missing with: tollbook"
                                         " invoice --db t.db --check --month 2026-10\n"), 1)
        self.finalize()
        self.assertNotIn("legal", self.said, "nothing was made")
        self.declare(NEXT, accounts=[account(buyer=BUYER, tax={"VAT": "19"}), {"id": 2, "name": "b"}])
        self.take(100, "2026-11", now=DECEMBER)
        self.take(100, "2026-11", 102, now=DECEMBER)
        self.finalize("2026-11", DECEMBER)
        self.assertEqual(self.said.count("Some of what is made final is no legal invoice."), 1)
        self.verify()

    def test_the_seller_is_declared_state(self):
        self.assertIn("1 seller added, 1 account added", self.declare())
        self.assertIn("nothing changed", self.declare())
        self.assertIn(": 1 changed.", self.declare(NOVEMBER, {**SELLER, "city": "Bonn"}))
        self.assertIn(": 1 deleted.", self.declare(NEXT, None))
        self.assertIn("nothing changed", self.declare(NEXT, None))
        self.assertIn(": 1 changed, 1 restored.", self.declare(DECEMBER))
        rows = self.query("SELECT document->>'$.city',closed_version<1e18 FROM declaration WHERE"
                          " kind='seller' ORDER BY version")
        self.assertEqual(rows, [["Berlin", "1"], ["Bonn", "1"], ["Berlin", "0"]])
        self.verify()
        self.run_tool("backup", "--db", "t.db", "--to", "copy.db")
        self.verify("copy.db")

    def test_a_seller_changed_behind_its_back_is_found(self):
        self.declare()
        self.declare(NOVEMBER, {**SELLER, "city": "Bonn"})
        for sql, said in (
                ("UPDATE declaration SET document=replace(document,'Bonn','Bern') WHERE kind="
                 "'seller'", "The declaration of seller 1"),
                ("DELETE FROM declaration WHERE kind='seller' AND to_us<9e18", "rows"),
                ("UPDATE declaration SET to_us=9223372036854775807 WHERE kind='seller'",
                 "Seller 1 has 2 declarations in force."),
                ("UPDATE declaration SET document=json_remove(document,'$.country') WHERE kind="
                 "'seller' AND to_us>9e18", "Seller 1: country: Must be given")):
            with self.subTest(sql=sql):
                before = self.folder.joinpath("t.db").read_bytes()
                self.change(lambda db: db.execute(sql))
                self.assertIn(said, self.run_tool("verify", "--db", "t.db", "--format", "table", status=1).out)
                for end in ("", "-wal", "-shm"):
                    self.folder.joinpath(f"t.db{end}").unlink(missing_ok=True)
                self.folder.joinpath("t.db").write_bytes(before)
                self.verify()

    def test_what_is_forgotten_and_what_stays(self):
        self.declare(accounts=[account(buyer=BUYER, labels={"env": "secret"}), {"id": 2, "name": "b"}])
        self.take(100)
        (final,) = [i for i in self.finalize() if i["account"] == 1]
        self.declare(NEXT, accounts=[{"id": 2, "name": "b"}])
        self.run_tool("forget", "--db", "t.db", "--account", 1, now=NEXT)
        for table in ("account", "declaration"):
            for word in ("Exemple", "rue", "Lyon", "69001", "FR123", "Nice", "secret"):
                self.assertEqual(self.query(f"SELECT count(*) FROM {table} WHERE"
                                            f" instr(document,'{word}')"), [["0"]], f"{table} {word}")
        self.assertEqual(self.stored(final["number"])["buyer"], BUYER, "as the law asks")
        self.verify()

    def test_a_deleted_accounts_last_invoice_has_its_buyer(self):
        self.declare()
        self.take(100)
        self.declare("2026-10-20T00:00:00Z", accounts=[{"id": 2, "name": "b"}])
        (final,) = self.finalize()
        self.assertEqual((final["account"], final["buyer"]), (1, BUYER))
        self.verify()


LEAST = {"seller": {"name": "A", "country": "DE"},
         "accounts": [account(buyer={"name": "B", "country": "FR"}, tax={"category": "AE"}),
                      {"id": 2, "name": "tab bed", "tax": {"GST": 5, "PST": 7}},
                      {"id": 3, "name": "ready", "buyer": BUYER, "tax": REVERSE}]}
ZONES = [{"id": 100 + i, "account": i, "name": f"z{i}", "created": "2026-01-05T00:00:00Z"}
         for i in (1, 2, 3)]


class Check(Both):
    words = ("invoice", "--check", "--month", "2026-10")

    def declare(self, **more):
        document = {**LEAST, "zones": ZONES, **more}
        self.both("apply", "--delete", self.write("c.json", json.dumps(document)))

    def apply(self, _document):  # a month's tax is the one declared at its end
        accounts = [{key: a[key] for key in ("id", "name", "tax")} for a in LEAST["accounts"]]
        accounts[1]["currency"] = "EUR"
        super().apply(json.dumps({"accounts": accounts, "zones": ZONES}))

    def setUp(self):
        super().setUp()
        self.both("book", "add", self.write("b.json", json.dumps(BOOK)))

    def table(self, *words, **more):
        out = self.both(*self.words, *words, **more).out.splitlines()
        self.assertEqual(out[0], "account\tname\tinvoice\tfield\twhy")
        return [line.split("\t") for line in out[1:]]

    def test_what_is_missing(self):
        self.declare()
        rows = self.table("--account", 1, status=1)
        self.assertEqual([row[3] for row in rows], [
            "seller.street (BT-35)", "seller.city (BT-37)", "seller.postal_code (BT-38)",
            "seller.vat_id (BT-31)", "buyer.street (BT-50)", "buyer.city (BT-52)",
            "buyer.vat_id (BT-48)"])
        self.assertEqual({tuple(row[:3]) for row in rows}, {("1", "acme", "-")})
        rows = self.table("--account", 2, status=1)
        self.assertIn(["2", "tab bed", "-", "buyer.country (BT-55)", "-"], rows)
        rows = self.table("--account", 2, "--norm", "peppol", status=1)
        self.assertIn("accounts[].tax (BT-118)", [row[3] for row in rows])
        said = json.loads(self.both(*self.words, "--format", "json", status=1).out)
        self.assertEqual((said["month"], said["norm"], said["accounts"], said["lacking"]),
                         ("2026-10", "legal", 3, 3))
        self.assertIn({"account": 1, "name": "acme", "invoice": None, "field": "buyer.vat_id",
                       "term": "BT-48", "why": "The buyer owes the tax, so the invoice names this"
                       " number."}, said["lacks"])
        self.declare(seller=SELLER)
        self.assertEqual(self.table("--account", 3), [])
        self.assertIn("1 account: nothing is missing.", self.both(*self.words, "--account", 3).err)
        self.stop()
        self.verify()

    def test_the_rate_of_the_month_is_one_of_the_table(self):
        self.declare(seller={**SELLER, "rates": {"2026-09": "1"}})
        for norm in ("legal", "peppol"):
            rows = self.table("--account", 3, "--norm", norm, status=1)
            self.assertIn("seller.rates (BT-111)", [row[3] for row in rows])

    def test_final_invoices_are_judged_by_their_text(self):
        self.declare()
        self.both("invoice", "--month", "2026-10", "--finalize", status=1)
        self.declare(seller=SELLER, accounts=[{**a, "buyer": BUYER, "tax": REVERSE}
                                              for a in LEAST["accounts"]])
        rows = self.table("--account", 1, status=1)
        self.assertEqual({row[2] for row in rows}, {"2026-000001"})
        self.assertIn("buyer.city (BT-52)", [row[3] for row in rows])

    def test_what_keeps_an_account_from_any_document(self):
        self.declare(seller=SELLER, accounts=[{**a, "buyer": BUYER} for a in LEAST["accounts"]])
        rows = self.table("--account", 2, status=1)
        self.assertEqual([row[3:] for row in rows], [["-", "It has usage without a price."]])

    def test_many_accounts_take_several_calls(self):
        accounts = [{"id": i, "name": f"a{i}"} for i in range(1, 451)]
        self.declare(accounts=accounts, zones=[
            {"id": 100 + a["id"], "account": a["id"], "name": "z",
             "created": "2026-01-05T00:00:00Z"} for a in accounts])
        said = json.loads(self.both(*self.words, "--format", "json", status=1).out)
        self.assertEqual(sorted({row["account"] for row in said["lacks"]}), list(range(1, 451)))
        rows = self.table("--norm", "xrechnung", status=1)
        self.assertEqual({row[0] for row in rows}, {str(i) for i in range(1, 451)})

    def test_what_does_not_go_together(self):
        for words in (("--finalize",), ("--late",), ("--format", "html"), ("--paper", "a4"),
                      ("--out", "x"), ("--audit",), ("--explain", 1, "--account", 1)):
            self.both(*self.words, *words, status=2, alike=False)
        self.both("invoice", "--month", "2026-10", "--norm", "peppol", status=2, alike=False)
        self.both("invoice", "--check", status=2, alike=False)


if __name__ == "__main__":
    unittest.main()
