"""ledger credit, pay --invoice, aging: what pays what, from a credit to an invoice and back."""
import json
import unittest

from money import BOOK, CATALOG, DECEMBER, NOVEMBER, OCTOBER, Ledger
from test_verify_money import rewritten

JANUARY = "2027-01-02T12:00:00Z"


class Credits(Ledger):
    # --- credits ---

    def test_an_invoice_draws_the_oldest_last_day_first(self):
        self.credit("5", "--note", "never")
        self.credit("3", "--expires", "2026-12-31")
        self.credit("2.50", "--expires", "2026-11-03")
        self.credit("9", "--expires", "2026-11-02")
        self.use(101, 500)
        draft = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10",
                                         now=NOVEMBER).out)["invoices"][0]
        self.assertEqual((draft["paid"], draft["payable"]), ("6.00", "0.00"))
        one = self.finalize()[0]
        self.assertEqual((one["total"], one["paid"], one["payable"]), ("6.00", "6.00", "0.00"))
        self.assertEqual(self.kinds()[4:], [
            ("credit_expired", "-9", "credit:4/expired"), ("invoice", "-6", "2026-000001"),
            ("credit_drawn", "-2.5", "2026-000001/credit:3"),
            ("credit_drawn", "2.5", "2026-000001/credit:3/invoice"),
            ("credit_drawn", "-3", "2026-000001/credit:2"),
            ("credit_drawn", "3", "2026-000001/credit:2/invoice"),
            ("credit_drawn", "-0.5", "2026-000001/credit:1"),
            ("credit_drawn", "0.5", "2026-000001/credit:1/invoice"), ("balance", "4.5", "")])
        self.assertEqual(self.entries()[4][1], "2026-11-03T00:00:00Z")
        self.verify()

    def test_a_void_gives_back_and_the_next_invoice_draws_again(self):
        self.credit("4", "--expires", "2026-11-30")
        self.credit("4")
        self.use(101, 500)
        self.finalize()
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER)
        self.assertEqual(self.entries()[-1][3], "8")
        self.verify()
        again = self.finalize(now=DECEMBER)[-1]
        self.assertEqual((again["number"], again["paid"], again["payable"]),
                         ("2026-000002", "4.00", "2.00"))
        self.assertIn(("credit_expired", "-4", "credit:1/expired"), self.kinds())
        self.verify()

    def test_what_a_void_gives_back_can_be_drawn_that_day(self):
        self.credit("4", "--expires", "2026-11-03")
        self.credit("1", "--expires", "2026-11-04")
        self.credit("3", "--expires", "2026-11-03")
        self.use(101, 500)
        self.assertEqual(self.finalize()[0]["paid"], "6.00")  # 1 is left of the third
        void = lambda number, now: self.run_tool("invoice", "--db", "t.db", "--void", number, now=now)
        void("2026-000001", DECEMBER)
        self.assertEqual([k for k in self.kinds() if k[0] == "credit_expired"],
                         [("credit_expired", "-1", "credit:3/expired"), ("credit_expired", "-1", "credit:2/expired")])
        self.assertEqual(self.finalize(now=DECEMBER)[-1]["paid"], "6.00")
        self.verify()
        void("2026-000002", "2026-12-04T00:00:00Z")
        self.assertNotIn("expired", self.ledger("accrue", now="2026-12-04T23:59:59Z").err)
        self.assertIn("2 credits expired", self.ledger("accrue", now="2026-12-05T00:00:00Z").err)
        self.assertEqual(self.entries()[-2][1:4], ["2026-12-05T00:00:00Z", "credit_expired", "-2"])
        self.assertEqual(self.finalize(now="2026-12-05T00:00:00Z")[-1]["paid"], "0.00")
        self.verify()

    def test_a_running_months_draft_draws_as_its_invoice_can(self):
        self.credit("2", "--expires", "2026-10-31")
        self.credit("3", "--expires", "2026-11-01")
        self.use(101, 500, now="2026-10-31T12:00:00Z")
        draft = lambda now: json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10",
                                                     now=now).out)["invoices"][0]["paid"]
        for now, paid in (("10-05T12", "3.00"), ("10-31T23", "3.00"), ("11-01T23", "3.00"), ("11-02T00", "0.00")):
            self.assertEqual(draft(f"2026-{now}:00:00Z"), paid, now)

    def test_accrue_enters_what_has_expired(self):
        self.credit("9", "--expires", "2026-11-02")
        for said in ("1 credit expired", "No account is prepaid"):
            self.assertIn(said, self.run_tool("ledger", "accrue", "--db", "t.db", now=NOVEMBER).err)
        self.assertEqual(self.kinds()[1:], [("credit_expired", "-9", "credit:1/expired"), ("balance", "0", "")])
        self.assertNotIn("expired", self.run_tool("ledger", "accrue", "--db", "t.db", now=DECEMBER).err)
        self.verify()

    def test_a_credit_is_granted_once_a_day(self):
        self.assertIn("Entered", self.credit("5").err)
        self.assertIn("--reference", self.credit("5").err)
        self.credit("5", now=NOVEMBER)
        self.credit("5", "--reference", "second", now=NOVEMBER)
        self.assertEqual(self.entries()[-1][3], "15")
        self.credit("-1", status=2)
        self.credit("0", status=2)
        self.credit("0.001", status=2)
        self.assertIn("2026-10-04", self.credit("1", "--expires", "2026-10-04", status=2).err)
        self.credit("1", "--expires", "2026-13-01", status=2)
        self.credit("1", account=9, status=2)

    # --- payments ---

    def test_a_payment_names_an_invoice_of_the_account(self):
        self.use(101, 500)
        self.use(201, 500)
        self.finalize()
        pay = ("pay", "--account", 1, "--amount", "6", "--reference", "w")
        self.assertIn("2026-000009", self.ledger(*pay, "--invoice", "2026-000009", status=2).err)
        self.assertIn("account 2", self.ledger(*pay, "--invoice", "2026-000002", status=2).err)
        self.ledger(*pay, "--invoice", "2026-000001", now=NOVEMBER)
        self.ledger(*pay, "--invoice", "2026-000001", now=NOVEMBER)
        self.ledger(*pay, now=NOVEMBER, status=2)
        self.assertEqual(self.entries()[-1][3], "0")
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER)
        self.finalize()
        refused = self.ledger("pay", "--account", 1, "--amount", "6", "--reference", "v", "--invoice",
                              "2026-000001", status=2)
        self.assertIn("Name 2026-000003", refused.err)
        self.verify()

    # --- what customers see ---

    def test_statements_and_invoices_show_credit(self):
        german = {"name": "Borealis", "country": "DE", "language": "de"}
        self.apply(json.dumps({**CATALOG, "accounts": [
            CATALOG["accounts"][0], {**CATALOG["accounts"][1], "buyer": german}]}))
        for account in (1, 2):
            self.credit("1", "--expires", "2026-11-30", account=account)
            self.credit("1.5", "--expires", "2026-11-30", account=account)
        self.use(101, 500)
        self.use(201, 100)
        self.finalize()
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000002", now=NOVEMBER)
        show = lambda account, form: self.run_tool(
            "ledger", "statement", "--db", "t.db", "--account", account, "--format", form, now=DECEMBER).out
        one = json.loads(show(1, "json"))
        self.assertEqual((one["opening"], one["closing"]), ("0", "-3.5"))
        self.assertEqual([(e["kind"], e["amount"], e["balance"], e.get("drawn")) for e in one["entries"][2:]],
                         [("invoice", "-6", "-3.5", None), ("credit_drawn", "0", "-3.5", "1"),
                          ("credit_drawn", "0", "-3.5", "1.5")])
        self.assertEqual(one["entries"][0]["expires"], "2026-11-30")
        self.assertIn("credit_drawn,0.00,-3.50,USD,2026-000001,1.00\r\n", show(1, "csv"))
        page = show(1, "html")
        for words in ("Credit, valid until 30 November 2026", "Credit used (1.00 USD): 2026-000001"):
            self.assertIn(words, page.replace("\u00a0", " "))
        page = show(2, "html").replace("\u00a0", " ")
        for words in ("Guthaben, gültig bis 30. November 2026", "Guthaben verwendet (1,00 USD): 2026-000002",
                      "Guthaben zurückgegeben (1,00 USD): 2026-000002"):
            self.assertIn(words, page)
        paper = self.run_tool("invoice", "--db", "t.db", "--number", "2026-000001", "--format", "html").out
        self.assertRegex(paper, r"(?s)Paid.*?2\.50.*?Amount due.*?3\.50")

    # --- ageing ---

    def aging(self, *words, now):
        done = self.run_tool("ledger", "aging", "--db", "t.db", "--format", "json", *words, now=now)
        return json.loads(done.out)["accounts"]

    def test_ageing_counts_from_the_due_date(self):
        catalog = {**CATALOG, "accounts": [{**CATALOG["accounts"][0], "terms_days": 10},
                                           CATALOG["accounts"][1]]}
        self.apply(json.dumps(catalog))
        self.use(101, 500)
        self.use(201, 300)
        self.finalize()
        day = lambda text: f"2026-{text}T23:59:59Z"
        self.assertEqual(self.aging(now=day("11-13"))[0],
                         {"account": 1, "current": "6.00", "days_1_30": "0.00", "days_31_60": "0.00",
                          "days_61_90": "0.00", "over_90": "0.00", "total": "6.00", "invoices": [
                              {"number": "2026-000001", "due": "2026-11-13", "remaining": "6.00"}]})
        for at, age in (("2026-11-14", "days_1_30"), ("2026-12-13", "days_1_30"),
                        ("2026-12-14", "days_31_60"), ("2027-01-13", "days_61_90"),
                        ("2027-02-11", "days_61_90"), ("2027-02-12", "over_90")):
            shown = self.aging("--account", 1, now=at + "T01:00:00Z")[0]
            self.assertEqual((shown[age], shown["total"]), ("6.00", "6.00"), at)
        # without terms it counts from the day of issue
        self.assertEqual(self.aging("--account", 2, now=day("11-04"))[0]["days_1_30"], "3.00")
        self.ledger("pay", "--account", 1, "--amount", "2.50", "--reference", "a", now=day("11-20"))
        self.assertEqual(self.aging("--account", 1, now=day("11-21"))[0]["total"], "3.50")
        self.assertEqual(self.aging("--account", 1, "--at", "2026-11-19", now=day("11-21"))[0]["total"],
                         "6.00")
        self.assertEqual(self.aging("--at", "2026-10-31", now=day("11-21")), [])
        table = self.run_tool("ledger", "aging", "--db", "t.db", "--format", "table", now=day("11-21")).out
        self.assertEqual(table.splitlines()[1], "1\tUSD\t0.00\t3.50\t0.00\t0.00\t0.00\t3.50")

    def test_a_negative_adjustment_is_owed_by_itself(self):
        self.use(101, 1000)
        self.finalize()
        left = lambda: [(i["number"], i["due"], i["remaining"]) for i in
                        self.aging("--account", 1, now=DECEMBER)[0]["invoices"]]
        self.ledger("adjust", "--account", 1, "--amount", "-20", "--reference", 'back "7"', now=DECEMBER)
        self.assertEqual(self.entries()[-1][3], "-32")
        self.assertEqual(self.aging(now=DECEMBER)[0]["total"], "32.00")
        self.assertEqual(left()[1:], [('back "7"', DECEMBER[:10], "20.00")])
        self.ledger("pay", "--account", 1, "--amount", "22", "--reference", "w", now=DECEMBER)
        self.assertEqual(left(), [('back "7"', DECEMBER[:10], "10.00")])
        self.verify()

    def test_the_oldest_due_is_paid_first_and_a_void_frees_money(self):
        self.use(101, 500)
        self.finalize()
        self.use(101, 1000, day="2026-11-03")
        self.finalize(month="2026-11", now=DECEMBER)
        pay = ("pay", "--account", 1, "--amount")
        self.ledger(*pay, "3", "--reference", "a", "--invoice", "2026-000002", now=DECEMBER)
        self.ledger(*pay, "10", "--reference", "b", now=DECEMBER)
        left = lambda: [(i["number"], i["remaining"]) for i in self.aging("--account", 1, now=DECEMBER)[0]
                        ["invoices"]]
        self.assertEqual(left(), [("2026-000002", "5.00")])
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=DECEMBER)
        self.assertEqual(left(), [])
        self.verify()

    # --- money on account ---

    def paid(self, **more):
        one = self.finalize(**more)[-1]
        return one["number"], one["paid"], one["payable"], one.get("drawn")

    def test_money_of_a_void_invoice_pays_the_one_made_again(self):
        self.use(101, 500)
        self.finalize()
        self.ledger("pay", "--account", 1, "--amount", "6", "--reference", "a", "--invoice", "2026-000001", now=NOVEMBER)
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER)
        self.assertEqual(self.paid(), ("2026-000002", "6.00", "0.00", "0.00"))
        self.assertEqual(self.aging(now=NOVEMBER), [])
        show = lambda form: self.run_tool("invoice", "--db", "t.db", "--number", "2026-000002", "--format", form).out
        self.assertRegex(show("html"), r"(?s)Paid.*?6\.00.*?Amount due.*?0\.00")
        self.assertNotIn("Please pay", show("html"))
        self.assertNotIn("Paid from credit", show("focus"))  # it is the customer's own money
        self.verify()

    def void(self, number, now=DECEMBER):
        self.run_tool("invoice", "--db", "t.db", "--void", number, now=now)

    def open(self, now=DECEMBER):
        return [(i["number"], i["remaining"]) for a in self.aging(now=now) for i in a["invoices"]]

    def test_an_invoice_made_again_has_what_paid_the_void_one_first(self):
        """Whether it was named or counted by the text, and though another invoice is open."""
        self.use(101, 500)
        self.use(101, 900, day="2026-11-03")
        self.finalize()
        self.ledger("pay", "--account", 1, "--amount", "6", "--reference", "a", "--invoice", "2026-000001", now=NOVEMBER)
        self.finalize(month="2026-11", now=DECEMBER)
        for void, again in (("2026-000001", "2026-000003"), ("2026-000003", "2026-000004")):  # the third counts the payment
            self.void(void)
            self.assertEqual(self.open(), [("2026-000002", "4.80")])
            draft = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", now=DECEMBER).out)["invoices"][-1]
            self.assertEqual((draft["paid"], draft["payable"], draft["drawn"]), ("6.00", "0.00", "0.00"))
            self.assertEqual(self.paid(now=DECEMBER), (again, "6.00", "0.00", "0.00"))
            self.assertEqual(self.open(), [("2026-000002", "10.80")])
            self.verify()

    def test_money_that_a_text_counts_is_not_counted_again(self):
        self.use(101, 500)
        self.finalize()
        self.ledger("pay", "--account", 1, "--amount", "6", "--reference", "a", "--invoice", "2026-000001", now=NOVEMBER)
        self.void("2026-000001")
        self.use(101, 300, day="2026-11-03")
        self.assertEqual(self.paid(month="2026-11", now=DECEMBER), ("2026-000002", "3.60", "0.00", "0.00"))
        self.assertEqual(self.paid(now=DECEMBER), ("2026-000003", "2.40", "3.60", "0.00"))
        self.assertEqual(self.open(), [("2026-000003", "3.60")])
        self.verify()

    def test_what_a_text_says_was_paid_stays_so(self):
        self.apply(json.dumps({**CATALOG, "accounts": [{**CATALOG["accounts"][0], "terms_days": 30}, CATALOG["accounts"][1]]}))
        self.use(101, 500)
        self.ledger("pay", "--account", 1, "--amount", "4", "--reference", "a", now=NOVEMBER)
        self.assertEqual(self.paid(), ("2026-000001", "4.00", "2.00", "0.00"))
        self.ledger("adjust", "--account", 1, "--amount", "-3", "--reference", "fee", now=NOVEMBER)  # due before it
        self.assertEqual(self.open(), [("2026-000001", "2.00"), ("fee", "3.00")])
        self.ledger("pay", "--account", 1, "--amount", "2.50", "--reference", "b", now=NOVEMBER)
        self.assertEqual(self.open(), [("2026-000001", "2.00"), ("fee", "0.50")])
        self.verify()

    def test_a_draft_is_paid_as_its_invoice(self):
        self.ledger("pay", "--account", 1, "--amount", "4", "--reference", "a", now=OCTOBER)
        self.credit("1")
        self.use(101, 500)
        draft = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-10", now=NOVEMBER).out)["invoices"][0]
        final = self.finalize()[0]
        for name, value in (("paid", "5.00"), ("drawn", "1.00"), ("payable", "1.00")):
            self.assertEqual((draft[name], final[name]), (value, value))

    def test_an_invoice_that_says_nothing_of_money_in_the_account_is_found(self):
        self.ledger("pay", "--account", 1, "--amount", "9", "--reference", "a")
        self.use(101, 500)
        self.assertEqual(self.paid(), ("2026-000001", "6.00", "0.00", "0.00"))
        self.change(rewritten('"drawn":"0.00",', ""))
        self.change(rewritten('"paid":"6.00","payable":"0.00"', '"paid":"0.00","payable":"6.00"'))
        words = "Invoice 2026-000001 says that the balance paid 0 of it; by the ledger it was 6."
        self.assertIn(words, self.verify(status=1).out)
        # one of an earlier version said nothing of it
        self.change(lambda db: db.execute("UPDATE meta SET value=2 WHERE name='covered_since'"))
        self.assertNotIn("the balance paid", self.verify(status=1).out)

    def test_what_was_paid_too_much_pays_the_next_invoices(self):
        self.use(101, 500)
        self.finalize()
        self.ledger("pay", "--account", 1, "--amount", "20.50", "--reference", "a", now=NOVEMBER)
        self.credit("1", now=NOVEMBER)
        self.use(101, 900, day="2026-11-03")
        self.assertEqual(self.paid(month="2026-11", now=DECEMBER), ("2026-000002", "10.80", "0.00", "1.00"))
        self.use(101, 900, day="2026-12-03", now=JANUARY)
        self.assertEqual(self.paid(month="2026-12", now=JANUARY), ("2027-000001", "4.70", "6.10", "0.00"))
        self.assertEqual(self.aging(now=JANUARY)[0]["total"], "6.10")
        self.verify()

    def test_nothing_lies_in_an_account_that_owes(self):
        self.use(101, 500)
        self.finalize()
        self.use(101, 900, day="2026-11-03")
        self.ledger("pay", "--account", 1, "--amount", "2", "--reference", "a", now=NOVEMBER)
        self.assertEqual(self.paid(month="2026-11", now=DECEMBER), ("2026-000002", "0.00", "10.80", None))
        self.verify()

    # --- one currency ---

    def declare_in(self, currency, now, status=0, accounts=CATALOG["accounts"]):
        first = {**accounts[0], **({"currency": currency} if currency else {})}
        return self.run_tool("apply", "--db", "t.db", self.write("e.json", json.dumps(
            {**CATALOG, "accounts": [first, *accounts[1:]]})), now=now, status=status)

    def test_an_account_keeps_the_currency_of_its_ledger(self):
        self.declare_in("EUR", "2026-11-21T00:00:00Z")  # nothing is entered yet
        self.credit("5", now="2026-11-21T00:00:00Z")
        for currency in ("JPY", "USD", None):  # None: USD by default
            said = self.declare_in(currency, "2026-11-22T00:00:00Z", status=2).err
            self.assertIn("accounts[0].currency", said)
            self.assertIn("Account 1 has ledger entries in EUR and keeps that currency. For "
                          f"{currency or 'USD'} declare another account", said)
        self.run_tool("apply", "--delete", "--db", "t.db", self.write("n.json", '{"accounts":[],"zones":[]}'), now="2026-11-22T00:00:00Z")
        self.assertIn("keeps that currency", self.declare_in("USD", "2026-11-22T00:00:00Z", status=2).err)
        self.declare_in("EUR", "2026-11-22T00:00:00Z")
        self.assertEqual(self.entries()[-1][3], "5")
        self.verify()

    def test_a_first_entry_is_in_the_currency_declared_now(self):
        self.declare_in("EUR", "2026-11-02T00:00:00Z")
        self.run_tool("book", "--db", "t.db", self.write("eur.json", json.dumps({**BOOK, "book": "e", "currency": "EUR"})))
        self.use(101, 500)
        self.assertIn("0 unmatched", self.ledger("import", "--map", "date=d,amount=a,account=n,currency=c", "-", now=NOVEMBER,
                                                 stdin=b"d,a,n,c\n2026-10-20,6,1,EUR\n").err)
        self.assertEqual([e[4] for e in self.entries()], ["EUR", "EUR"])
        self.assertEqual(self.finalize()[0]["currency"], "EUR")  # declared in USD at its end
        # in a month's last hour too, when its invoice keeps what was declared before
        self.declare_in("EUR", "2026-11-30T23:30:00Z",
                        accounts=[CATALOG["accounts"][0], {**CATALOG["accounts"][1], "currency": "JPY"}])
        self.ledger("pay", "--account", 2, "--amount", "50", "--reference", "w", now="2026-11-30T23:40:00Z")
        self.assertEqual(self.entries(2)[-1][3:5], ["50", "JPY"])
        self.verify()

    def test_a_month_that_was_declared_in_another_currency_is_billed_in_the_ledgers(self):
        self.declare_in("EUR", "2026-12-10T00:00:00Z")
        self.declare_in("USD", JANUARY)
        self.use(101, 500, now=JANUARY)
        self.use(101, 500, day="2026-12-03", now=JANUARY)
        self.finalize(now=JANUARY)
        self.ledger("pay", "--account", 1, "--amount", "1", "--reference", "a", now="2026-12-20T00:00:00Z")
        one, = self.finalize(month="2026-12", now=JANUARY)
        self.assertEqual((one["currency"], one["total"]), ("USD", "6.00"))
        self.verify()


if __name__ == "__main__":
    unittest.main()
