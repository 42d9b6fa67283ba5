"""Prepaid accounts: the running month lowers the balance day by day, until its invoice stands for the days;
for how long zones of an empty account stay enabled."""
import csv
import io
import json
import sqlite3
import unittest
from datetime import date, timedelta
from decimal import Decimal

from test_verify_money import rewritten
from tool import Case

BOOK = {"book": "plain", "currency": "USD", "effective_from": "2025-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "ASIA": "0.03"}}}}
MADE, OCTOBER = "2026-11-01T00:00:00Z", "2026-10-01T00:00:00Z"
CATALOG = {"accounts": [{"id": 1, "name": "pre", "prepaid": True, "tax": {"VATRate": 20}},
                        {"id": 2, "name": "post"}, {"id": 3, "name": "more", "prepaid": True}],
           "zones": [{"id": 10 * a + 1, "account": a, "name": f"z{a}", "created": MADE}
                     for a in (1, 2, 3)]}
EARLY = {**CATALOG, "zones": [{**z, "created": OCTOBER} for z in CATALOG["zones"]]}
GB = 10**9


def row(day, gigabytes, zone=11, region="DE", hour="05"):
    return json.dumps({"zone": zone, "hour": f"{day}T{hour}:00:00Z", "region": region,
                       "bytes": gigabytes * GB}) + "\n"


class Prepaid(Case):
    def setUp(self):
        super().setUp()
        self.declare(CATALOG)
        self.run_tool("book", "--db", "t.db", self.write("b.json", json.dumps(BOOK)), now=OCTOBER)

    def declare(self, catalog, now=OCTOBER):
        self.run_tool("apply", "--delete", "--db", "t.db", self.write("c.json", json.dumps(catalog)), now=now)

    def take(self, *rows, now):
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(rows).encode(), now=now)

    def accrue(self, now, *words, status=0):
        return self.run_tool("ledger", "accrue", "--db", "t.db", *words, now=now, status=status)

    def pay(self, account, amount, reference, now):
        self.run_tool("ledger", "pay", "--db", "t.db", "--account", account, "--amount", amount,
                      "--reference", reference, now=now)

    def finalize(self, month, now, *words, status=0):
        done = self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize", *words,
                             "--format", "json", now=now, status=status)
        return {i["account"]: i for i in json.loads(done.out)["invoices"]} if done.out else {}

    def ledger(self, account=1):
        lines = self.run_tool("ledger", "--db", "t.db", "--account", account, "--format", "table").out.splitlines()
        return [tuple(line.split("\t")[i] for i in (2, 3, 5)) for line in lines[1:-1]]

    def days(self, account=1):
        return [(amount, reference.split()[-1]) for kind, amount, reference in self.ledger(account)
                if kind == "usage"]

    def balance(self, account=1):
        lines = self.run_tool("ledger", "--db", "t.db", "--account", account, "--format", "table").out.splitlines()
        return Decimal(lines[-1].split("\t")[3])

    def verify(self, status=0):
        return self.run_tool("verify", "--db", "t.db", "--format", "table", status=status).out

    def refuse(self, used):
        """November is refused, as a place has no price, which is withdrawn after that."""
        files = [self.write("used", row("2026-11-01", used)), self.write("odd", row("2026-11-02", 5, region="US"))]
        for name in files:
            self.run_tool("import", "--db", "t.db", name, now="2026-11-03T01:00:00Z")
        return files

    def withdraw(self, name):
        self.run_tool("import", "--withdraw", "--db", "t.db", name, now="2026-12-03T00:00:00Z")

    def test_a_refused_month_on_the_next_invoice_is_charged_once(self):
        """Whether its days are entered before that invoice, or would be after it."""
        for accrued in (True, False):
            with self.subTest(accrued=accrued):
                self.setUp()
                self.declare(EARLY)
                self.take(row("2026-10-05", 300), now="2026-10-06T00:00:00Z")
                self.accrue("2026-11-01T00:05:00Z")
                october = self.finalize("2026-10", "2026-11-01T00:10:00Z", "--account", 1)[1]
                _, odd = self.refuse(500)
                if accrued:
                    self.accrue("2026-12-01T01:00:00Z", status=1)
                self.finalize("2026-11", "2026-12-02T00:00:00Z", "--account", 1, status=1)
                self.withdraw(odd)
                made = self.finalize("2026-12", "2027-01-02T00:00:00Z", "--account", 1)[1]
                self.assertEqual([one["kind"] for one in made["lines"]], ["minimum", "correction"])
                self.accrue("2027-01-02T01:00:00Z")
                self.assertEqual(self.balance(), -Decimal(october["total"]) - Decimal(made["total"]))
                self.verify()

    def test_a_refused_month_that_comes_to_nothing_is_given_back(self):
        self.run_tool("book", "--db", "t.db", self.write("b.json", json.dumps({**BOOK, "book": "free", "supersedes": "plain", "minimum_monthly": "0"})), now=OCTOBER)
        used, odd = self.refuse(500)
        self.accrue("2026-12-01T01:00:00Z", status=1)
        self.finalize("2026-11", "2026-12-02T00:00:00Z", "--account", 1, status=1)
        self.withdraw(odd)
        self.withdraw(used)
        self.assertEqual(self.finalize("2026-12", "2027-01-02T00:00:00Z", "--account", 1, status=1), {})
        self.assertEqual(self.balance(), 0)
        self.verify()

    def test_days_are_entered_once_and_the_next_day_has_what_came_late(self):
        self.take(row("2026-11-01", 123), row("2026-11-02", 123), now="2026-11-03T01:00:00Z")
        self.assertIn("2 prepaid accounts through 2026-11-02: 2 entries made, 0 refused.",
                      self.accrue("2026-11-03T00:05:00Z").err)
        self.assertEqual(self.days(), [("-1.48", "2026-11-01"), ("-1.47", "2026-11-02")])
        self.assertIn(" 0 entries made", self.accrue("2026-11-03T23:59:59Z").err)
        self.take(row("2026-11-01", 100), now="2026-11-03T02:00:00Z")
        self.assertIn(" 0 entries made", self.accrue("2026-11-03T00:05:00Z", "--account", 3).err)
        self.accrue("2026-11-06T12:00:00Z")  # the 4th and 5th came to nothing more
        self.assertEqual(self.days()[2:], [("-1.2", "2026-11-03")])
        self.assertEqual(self.days(3), [])
        self.verify()
        times = self.run_tool("ledger", "--db", "t.db", "--account", 1, "--format", "table").out
        self.assertIn("\t2026-11-03T23:59:59Z\tusage\t-1.2\tUSD\tprepaid 1 2026-11-03\t", times)

    def test_only_prepaid_accounts_are_asked_for(self):
        done = self.accrue("2026-11-03T00:05:00Z", "--account", 2, status=2)
        self.assertIn("Account 2 is not prepaid", done.err)
        self.accrue("2026-11-03T00:05:00Z", "--account", 9, status=2)
        self.declare({**CATALOG, "accounts": [{"id": a, "name": "x"} for a in (1, 2, 3)]})
        self.assertIn("No account is prepaid.", self.accrue("2026-11-03T00:05:00Z").err)

    def test_the_invoice_stands_for_the_days(self):
        self.pay(1, 3, "w", "2026-11-01T00:00:00Z")
        self.take(row("2026-11-01", 123), row("2026-11-20", 123), now="2026-11-21T00:00:00Z")
        self.accrue("2026-12-03T00:05:00Z")
        self.assertEqual(self.balance(), Decimal("0.05"))
        self.assertEqual(self.days(3), [("-1", "2026-11-30")])  # the minimum, once the month is over
        invoices = self.finalize("2026-11", "2026-12-03T09:00:00Z")
        self.assertEqual((invoices[1]["total"], invoices[1]["paid"], invoices[1]["payable"]),
                         ("2.95", "2.95", "0.00"))
        self.assertEqual((invoices[3]["paid"], invoices[3]["payable"]), ("0.00", "1.00"))
        self.assertEqual((invoices[2]["paid"], invoices[2]["payable"]), ("0.00", "1.00"))
        self.assertEqual(self.ledger()[3:], [("usage_reversal", "2.95", "prepaid 1 2026-11"),
                                             ("invoice", "-2.95", invoices[1]["number"])])
        self.assertEqual(self.balance(), Decimal("0.05"))
        self.verify()
        # a month that was final takes no more days, void or not, and is taken back once
        self.run_tool("invoice", "--db", "t.db", "--void", invoices[1]["number"],
                      now="2026-12-04T00:00:00Z")
        self.assertEqual(self.balance(), 3)
        self.accrue("2026-12-04T00:05:00Z")
        self.assertEqual(self.balance(), 3)
        again = self.finalize("2026-11", "2026-12-04T01:00:00Z", "--account", 1)
        self.assertEqual((again[1]["paid"], self.balance()), ("2.95", Decimal("0.05")))
        self.assertEqual([kind for kind, _, _ in self.ledger()],
                         ["payment", "usage", "usage", "usage_reversal", "invoice", "void", "invoice"])
        self.verify()

    def test_a_balance_is_the_customers_own_money(self):
        """FOCUS takes off what credits paid, and nothing else; the text tells both apart."""
        self.pay(1, 2, "w", "2026-11-01T00:00:00Z")
        self.run_tool("ledger", "credit", "--db", "t.db", "--account", 1, "--amount", "0.50", now="2026-11-01T00:00:00Z")
        self.take(row("2026-11-20", 123), now="2026-11-21T00:00:00Z")
        costs = lambda: [r["BilledCost"] for r in csv.DictReader(io.StringIO(self.run_tool(
            "invoice", "--db", "t.db", "--month", "2026-11", "--account", 1, "--format", "focus",
            now="2026-12-04T00:00:00Z").out, newline="")) if r["ChargeCategory"] == "Credit"]
        one = self.finalize("2026-11", "2026-12-03T09:00:00Z", "--account", 1)[1]
        self.assertEqual((one["total"], one["paid"], one.get("drawn")), ("1.48", "1.48", "0.50"))
        self.assertEqual(costs(), ["-0.50"])
        self.verify()
        self.change(rewritten('"drawn":"0.50"', '"drawn":"0.40"'))
        said = self.verify(status=1)
        self.assertIn("says that credits paid 0.4 of it; by the ledger they paid 0.5.", said)
        self.assertIn("says that the balance paid 1.08 of it; by the ledger it was 0.98.", said)

    def test_an_invoice_is_paid_by_what_was_there_before_the_next_month(self):
        """Days of the next month are entered before the month is made final: each invoice asks for its own month."""
        self.pay(1, 3, "w", "2026-11-01T00:00:00Z")
        self.take(row("2026-11-20", 200), now="2026-11-21T00:00:00Z")
        self.take(row("2026-12-02", 200), now="2026-12-03T00:00:00Z")
        self.accrue("2026-12-05T00:05:00Z")
        for month, now, paid, payable in (("2026-11", "2026-12-05T09:00:00Z", "2.40", "0.00"),
                                          ("2026-12", "2027-01-05T09:00:00Z", "0.60", "1.80")):
            one = self.finalize(month, now)[1]
            self.assertEqual((one["total"], one["paid"], one["payable"]), ("2.40", paid, payable))
            self.verify()

    def test_a_month_with_nothing_due_and_an_account_that_pays_later(self):
        """What was withdrawn, and who stopped being prepaid: all that was entered is taken back."""
        rows = row("2026-11-02", 500)
        self.take(rows, now="2026-11-03T00:00:00Z")
        self.take(row("2026-11-02", 700, zone=31), now="2026-11-03T00:00:00Z")
        self.accrue("2026-11-03T00:05:00Z")
        self.assertEqual((self.balance(1), self.balance(3)), (-6, -7))
        self.run_tool("import", "--withdraw", "--db", "t.db", self.write("r.json", rows),
                      now="2026-11-03T01:00:00Z")
        self.declare({**CATALOG, "accounts": [
            {"id": a, "name": "post", "tax": {"VATRate": 20} if a == 1 else {}} for a in (1, 2, 3)]},
            now="2026-11-15T00:00:00Z")
        self.assertIn("No account", self.accrue("2026-11-16T00:05:00Z").err)
        invoices = self.finalize("2026-11", "2026-12-02T00:00:00Z")
        for account in (1, 3):
            self.assertEqual(self.balance(account), -Decimal(invoices[account]["total"]))
        self.assertEqual(invoices[3]["paid"], "0.00")
        self.verify()

    def test_missed_days_of_two_months_are_caught_up(self):
        self.declare(EARLY)
        self.take(*(row(f"2026-10-{d:02}", 100) for d in range(28, 32)),
                  *(row(f"2026-11-{d:02}", 100) for d in (1, 2)), now="2026-11-03T00:00:00Z")
        self.accrue("2026-10-30T00:05:00Z")
        self.accrue("2026-11-03T00:05:00Z")
        self.assertEqual(self.days(), [("-1.2", day) for day in (
            "2026-10-28", "2026-10-29", "2026-10-30", "2026-10-31", "2026-11-01", "2026-11-02")])
        self.assertEqual(self.finalize("2026-10", "2026-11-03T01:00:00Z")[1]["total"], "4.80")
        self.take(row("2026-10-31", 100), now="2026-11-03T02:00:00Z")  # the next invoice's
        self.assertIn(" 0 entries", self.accrue("2026-11-03T03:00:00Z").err)
        self.verify()

    def test_what_has_no_price_is_said_and_one_account_does_not_stop_the_others(self):
        self.take(row("2026-11-02", 100), row("2026-11-02", 100, region="BR"),
                  row("2026-11-02", 100, zone=31), now="2026-11-03T00:00:00Z")
        said = self.accrue("2026-11-03T00:05:00Z", status=1).err
        self.assertIn("account 1: 1 kind of usage in 2026-11 has no price and is in no entry. List it with:"
                      " tollbook invoice --db t.db --month 2026-11 --account 1", said)
        self.assertEqual((self.days(), self.days(3)), ([("-1.2", "2026-11-02")], [("-1", "2026-11-02")]))
        # an account whose currency had changed, which earlier versions took, keeps its ledger's
        self.change(lambda db: db.execute("UPDATE declaration SET document=json_set(document,'$.currency','EUR')"
                                          " WHERE kind='account' AND id=1"))
        self.run_tool("book", "--db", "t.db", self.write("e.json", json.dumps(
            {**BOOK, "book": "euro", "currency": "EUR"})), now="2026-11-03T01:00:00Z")
        self.take(row("2026-11-03", 100), row("2026-11-03", 100, zone=31), now="2026-11-04T00:00:00Z")
        said = self.accrue("2026-11-04T00:05:00Z", status=1).err
        self.assertIn("earlier entries are of another currency", said)
        self.assertIn("1 entry made, 1 refused", said)
        self.assertEqual(len(self.days(3)), 2)

    def test_groups_of_accounts_go_on(self):
        accounts = [{"id": a, "name": "x", "prepaid": True} for a in range(1, 121)]
        zones = [{"id": 1000 + a, "account": a, "name": "z", "created": MADE} for a in range(1, 121)]
        self.declare({"accounts": accounts, "zones": zones})
        self.take(*(row("2026-11-02", 100, zone=1000 + a) for a in range(1, 121)),
                  now="2026-11-03T00:00:00Z")
        self.assertIn("120 prepaid accounts through 2026-11-02: 120 entries made, 0 refused.",
                      self.accrue("2026-11-03T00:05:00Z").err)
        self.verify()

    def test_grace(self):
        grace = ("ledger", "grace", "--db", "t.db")
        self.assertEqual(self.run_tool(*grace).out, "0\n")
        self.assertIn("disabled 3 days after", self.run_tool(*grace, "--days", 3).err)
        self.assertEqual(self.run_tool(*grace).out, "3\n")
        self.assertEqual(self.run_tool(*grace, "--days", "off").out, "off\n")
        for wrong in ("x", "-1", "367", "1.5"):
            self.run_tool(*grace, "--days", wrong, status=2)

    def test_a_closed_month_has_its_days_and_takes_no_more(self):
        self.take(row("2026-11-01", 100), row("2026-11-27", 100), now="2026-11-28T00:00:00Z")
        self.accrue("2026-11-03T00:05:00Z")
        closing = ("ledger", "close", "--db", "t.db", "--month", "2026-11")
        self.run_tool(*closing, now="2026-12-02T00:00:00Z")
        self.assertEqual(self.days(), [("-1.2", "2026-11-01"), ("-1.2", "2026-11-27")])
        self.assertEqual(self.days(3), [("-1", "2026-11-30")])
        # what comes late for it is on its invoice; the next month goes on
        self.take(row("2026-11-28", 100), row("2026-12-02", 100), now="2026-12-03T00:00:00Z")
        self.assertIn("1 entry made, 0 refused", self.accrue("2026-12-03T00:05:00Z").err)
        self.assertEqual(self.days()[2:], [("-1.2", "2026-12-02")])
        self.assertEqual(self.finalize("2026-11", "2026-12-03T01:00:00Z")[1]["total"], "3.60")
        self.assertEqual(self.balance(), Decimal("-4.80"))
        self.verify()

    # --- how long it lasts ---

    def lasts(self, now, *words):
        words = ("forecast", "--db", "t.db", "--account", 1, "--paths", 300, *words)
        table = self.run_tool(*words, "--format", "table", now=now).out
        said = [line for line in table.splitlines() if line.startswith("balance lasts")]
        found = json.loads(self.run_tool(*words, "--format", "json", now=now).out)
        self.assertEqual(found, json.loads(self.run_tool(*words, "--format", "json", now=now).out))
        self.assertEqual(len(said), 1)
        return found["balance_lasts_until"], said[0]

    def test_a_balance_lasts_until_a_day(self):
        """100 GB a day are 1.20 with tax, every day: what is left says which day is the last."""
        start = date(2026, 9, 1)
        self.declare(EARLY)
        days = [start + timedelta(days=n) for n in range(85)]  # through the 24th of November
        self.take(*(row(day.isoformat(), 100, hour="23") for day in days), now="2026-11-25T00:00:00Z")
        now = "2026-11-25T06:00:00Z"
        self.finalize("2026-10", now)
        self.accrue(now)
        owed = -self.balance()
        self.pay(1, owed + Decimal("1.00"), "a", now)
        self.assertEqual(self.lasts(now)[0], {q: "2026-11-25" for q in ("p5", "p50", "p95")})
        self.pay(1, "3", "b", now)  # three days and a third, of which the 25th is one
        self.assertEqual(self.lasts(now), ({q: "2026-11-28" for q in ("p5", "p50", "p95")},
                                           "balance lasts until 2026-11-28"))
        self.pay(1, "12", "c", now)  # ten days more: the next month counts
        self.assertEqual(self.lasts(now)[0], {q: "2026-12-08" for q in ("p5", "p50", "p95")})
        self.pay(1, "100", "d", now)
        self.assertEqual(self.lasts(now), ({"p5": None, "p50": None, "p95": None},
                                           "balance lasts longer than this forecast looks ahead"))
        self.declare({**EARLY, "accounts": [{"id": a, "name": "x"} for a in (1, 2, 3)]}, now=now)
        out = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json", now=now).out
        self.assertNotIn("balance_lasts_until", json.loads(out))

    # --- verify ---

    def test_verify_sees_each_change(self):
        self.declare(EARLY)
        self.take(row("2026-10-02", 500), row("2026-10-03", 500), now="2026-10-04T00:00:00Z")
        self.take(row("2026-11-02", 500), row("2026-11-03", 500), now="2026-11-04T00:00:00Z")
        self.accrue("2026-10-04T00:05:00Z")
        self.finalize("2026-10", "2026-11-01T01:00:00Z", "--account", 1)
        self.accrue("2026-11-04T00:05:00Z")
        self.verify()
        good = (self.folder / "t.db").read_bytes()
        for change, said in (
                ("UPDATE ledger SET amount='6.01' WHERE kind='usage_reversal'", "by another amount"),
                ("UPDATE ledger SET reference='prepaid 1 2026-10' WHERE kind='usage'"
                 " AND reference='prepaid 1 2026-10-02'", "is of a day of account 1"),
                ("UPDATE ledger SET account=3 WHERE kind='usage' AND id=1", "is of a day of account 3"),
                ("UPDATE ledger SET at_us=at_us+86400000000 WHERE kind='usage' AND id=1", "its moment"),
                ("UPDATE ledger SET kind='adjustment' WHERE kind='usage_reversal'",
                 "its days are not taken back"),
                ("UPDATE ledger SET reference='prepaid 1 2026-11' WHERE kind='usage_reversal'",
                 "which was not run")):
            with self.subTest(change):
                for end in ("-wal", "-shm"):
                    (self.folder / f"t.db{end}").unlink(missing_ok=True)
                (self.folder / "t.db").write_bytes(good)
                db = sqlite3.connect(self.folder / "t.db")
                db.create_function("tb_seal", -1, lambda *_: 1)
                db.execute("DROP TRIGGER ledger_no_update")
                self.assertEqual(db.execute(change).rowcount, 1, change)
                db.commit()
                db.close()
                self.assertIn(said, self.verify(status=1))


if __name__ == "__main__":
    unittest.main()
