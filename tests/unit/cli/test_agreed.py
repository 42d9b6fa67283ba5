"""Commits by quarter and year, ramps, rollover, and caps: from the catalogue to the invoice, its corrections, explain and
verify. Each case is driven by the tool itself, over one file, with numbers made by hand.
"""
import json
import subprocess
import unittest
from tool import Case, TOOL

BOOK = {"book": "plain", "currency": "USD", "effective_from": "2021-01-01T00:00:00Z", "minimum_monthly": "20.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "1"}}}}
GB = 10**9
QUARTER = {"amount": "1000", "every": "quarter", "from": "2026-01"}


def at(month, day=2, hour=0, year=2026):
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return f"{year}-{month:02}-{day:02}T{hour:02}:00:00Z"


class Agreed(Case):
    ANY = type("Any", (), {"__eq__": lambda self, other: other in (0, 1)})()  # 1: nothing is due

    def declare(self, contract, now=at(1), created="2025-01-01T00:00:00Z", currency="USD"):
        return self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(
            {"accounts": [{"id": 1, "name": "acme", "currency": currency, "contract": contract}],
             "zones": [{"id": 101, "account": 1, "name": "z", "created": created}]})), now=now)

    def prepare(self, contract, **more):
        self.declare(contract, **more)
        self.run_tool("book", "add", "--db", "t.db", self.write("book.json", json.dumps(BOOK)))

    def rows(self, *dollars_at):
        return "".join(json.dumps({"zone": 101, "hour": hour, "region": "DE", "requests": 1, "bytes": dollars * GB}) + "\n"
                       for dollars, hour in dollars_at)

    def take(self, *dollars_at, now):
        self.run_tool("import", "--db", "t.db", "-", stdin=self.rows(*dollars_at).encode(), now=now)

    def invoice(self, month, *words, now=None, status=0):
        done = self.run_tool("invoice", "--db", "t.db", "--month", f"2026-{month:02}", "--account", 1, *words,
                             now=now or at(month + 1), status=status)
        self.said = done.err
        found = json.loads(done.out)["invoices"] if done.out else []
        return found[-1] if found else None

    def final(self, month, now=None):
        return self.invoice(month, "--finalize", now=now)

    def lines(self, invoice):
        return [(line["kind"], line["amount"]) for line in invoice["lines"]]

    def commit(self, invoice):
        return next((line for line in invoice["lines"] if line["kind"] == "commit"), None)

    def verify(self, month=12):
        self.run_tool("verify", "--db", "t.db", now=at(month, 28))

    def evaluate(self, now):
        self.run_tool("alerts", "--db", "t.db", "--evaluate", now=now)

    # --- commits ---

    def test_a_quarter_is_trued_up_in_its_last_month(self):
        self.prepare({"commit": QUARTER, "discount_percent": "10"})
        self.take((300, at(1, 5)), (100, at(2, 5)), (200, at(3, 5)), now=at(4))
        self.assertEqual([self.lines(self.final(m)) for m in (1, 2, 3)], [
            [("bandwidth", "300.00"), ("discount", "-30.00")], [("bandwidth", "100.00"), ("discount", "-10.00")],
            [("bandwidth", "200.00"), ("discount", "-20.00"), ("commit", "460.00")]])
        line = self.commit(self.invoice(3))
        first = 12 * 56
        self.assertEqual([(t["from"], t["to"], t["units"], t["price"], t["amount"]) for t in line["tiers"]], [
            (str(first), str(first + 3), "3", "1000", "1000"), (str(first), str(first), "0", "0", "-270"),
            (str(first + 1), str(first + 1), "0", "0", "-90"), (str(first + 2), str(first + 2), "0", "0", "-180")])
        self.assertEqual(line["quantity"], "3")
        said = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-03", "--account", 1, "--explain", 3, now=at(4)).out)
        usage = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-03", "--account", 1, "--explain", 1, now=at(4)).out)
        self.assertTrue(usage["agrees"])
        self.assertEqual(said["months"], [{"month": "2026-01", "amount": "-270"}, {"month": "2026-02", "amount": "-90"},
                                          {"month": "2026-03", "amount": "-180"}])
        audit = self.run_tool("invoice", "--db", "t.db", "--month", "2026-03", "--account", 1, "--format", "html", "--audit", now=at(4)).out
        for text in ("2026-01 \u2026 2026-03 \u00d7 1000", ">2026-01<", ">2026-03<"):
            self.assertIn(text, audit)
        self.verify()

    def test_a_running_month_has_no_true_up(self):
        self.prepare({"commit": QUARTER})
        self.assertIsNone(self.invoice(3, now=at(3, 20), status=1))

    def test_what_is_used_up_has_no_line_and_a_minimum_is_beside_it(self):
        self.prepare({"commit": QUARTER})
        self.take((990, at(1, 5)), (10, at(3, 5)), now=at(4))
        self.assertEqual([self.lines(self.invoice(m)) for m in (1, 2, 3)], [
            [("bandwidth", "990.00")], [("minimum", "20.00")], [("bandwidth", "10.00"), ("minimum", "10.00")]])

    def test_a_period_that_is_cut_owes_its_share_by_months(self):
        self.prepare({"commit": {**QUARTER, "to": "2026-05"}})
        self.assertEqual(self.commit(self.invoice(3))["amount"], "1000.00")
        line = self.commit(self.invoice(5))
        self.assertEqual((line["amount"], line["exact"]), ("666.67", "666.666666666666666667"))
        self.assertIsNone(self.commit(self.invoice(6)))

    def test_ramps_follow_each_other(self):
        self.prepare({"commit": [{"amount": "100", "every": "month", "from": "2026-01", "to": "2026-02"},
                                 {"amount": "900", "every": "quarter", "to": "2026-06"},
                                 {"monthly": "50"}]})
        self.take((40, at(2, 5)), (500, at(3, 5)), (10, at(7, 5)), now=at(8))
        found = {m: (line["amount"] if (line := self.commit(self.final(m))) else None) for m in range(1, 8)}
        self.assertEqual(found, {1: "100.00", 2: "60.00", 3: None, 4: None, 5: "400.00", 6: "300.00", 7: "40.00"})
        self.verify()

    def test_a_year_begins_with_its_first_month(self):
        self.prepare({"commit": {"amount": "1200", "every": "year", "from": "2025-11"}})
        self.take((100, "2025-11-05T00:00:00Z"), (300, at(5, 5)), now=at(11))
        self.assertEqual(self.commit(self.invoice(10))["amount"], "800.00")

    def test_what_was_paid_and_not_used_counts_in_the_next_period_alone(self):
        self.prepare({"commit": {"amount": "300", "every": "quarter", "from": "2026-01", "rollover": True}})
        self.take((100, at(2, 5)), (250, at(5, 5)), now=at(12))
        # Q1 pays 200 beyond use; Q2 has 250 + 200; Q3 has nothing of it left: 300; Q4 has 300 of Q3
        found = {m: (line["amount"] if (line := self.commit(self.final(m))) else None) for m in range(1, 12)}
        self.assertEqual({m: a for m, a in found.items() if a}, {3: "200.00", 9: "300.00"})
        self.assertIsNone(self.commit(self.invoice(12, now=at(13))))
        self.verify()

    def test_rollover_by_month(self):
        self.prepare({"commit": {"amount": "100", "every": "month", "from": "2026-01", "rollover": True}})
        self.take((30, at(1, 5)), (20, at(2, 5)), (80, at(3, 5)), now=at(5))
        # 70 paid; 20 + 70 lacks 10; 80 + 10 lacks 10; 0 + 10 lacks 90
        self.assertEqual([self.commit(self.final(m))["amount"] for m in range(1, 5)], ["70.00", "10.00", "10.00", "90.00"])
        self.verify()

    def test_what_is_no_longer_kept_is_carried_over_by_its_documents(self):
        self.prepare({"minimum_monthly": "0", "commit": {"amount": "1000", "every": "year", "from": "2022-01", "rollover": True}},
                     created="2021-12-01T00:00:00Z")
        for used, hour in ((40, "2022-03-05"), (10, "2023-03-05"), (20, "2024-03-05"), (25, "2025-12-05")):
            for part in range(10):
                self.take((used, f"{hour}T{part:02}:00:00Z"), now=at(1))
        found = {}
        for month in range(2022 * 12, 2026 * 12):
            if month == 2025 * 12 + 11:
                gone = self.run_tool("retain", "--db", "t.db", "--keep-hours", "25mo", "--keep-days", "25mo", now=at(1, 3))
                self.assertNotIn("nothing changed", gone.err)
            name = f"{month // 12}-{month % 12 + 1:02}"
            self.run_tool("invoice", "--db", "t.db", "--month", name, "--account", 1, "--finalize", now=at(1, 3), status=self.ANY)
            done = self.run_tool("invoice", "--db", "t.db", "--month", name, "--account", 1, now=at(1, 3), status=self.ANY).out
            for invoice in json.loads(done)["invoices"] if done else []:
                found.update({name: line["amount"] for line in invoice["lines"] if line["kind"] == "commit"})
        self.assertEqual(found, {"2022-12": "600.00", "2023-12": "300.00", "2024-12": "500.00", "2025-12": "250.00"})
        self.verify(1)

    # --- late usage ---

    def test_late_usage_of_an_earlier_month_reduces_the_true_up(self):
        self.prepare({"commit": QUARTER})
        self.take((300, at(1, 5)), (200, at(3, 5)), now=at(4))
        for month in (1, 2, 3):
            self.final(month)
        self.take((150, at(1, 6)), now=at(4, 10))
        self.verify(4)
        april = self.final(4)
        self.assertEqual([(x["kind"], x["amount"], x.get("corrects", {}).get("kind")) for x in april["lines"]], [
            ("minimum", "20.00", None), ("correction", "150.00", "bandwidth")])
        notes = [i for i in json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-03", now=at(5)).out)["invoices"]
                 if i["kind"] == "credit_note"]
        self.assertEqual([self.lines(n) for n in notes], [[("correction", "-150.00")]])
        # beyond the commitment: 350 lack, 500 come
        self.take((500, at(2, 6)), now=at(5, 10))
        self.final(5)
        self.assertEqual(self.billed(1, 2, 3), 1150)
        self.verify()

    def billed(self, *months):
        """What all documents bill of these months, without their minimums."""
        total, seen = 0, {None}
        for month in range(1, 13):
            done = subprocess.run([TOOL, "invoice", "--db", "t.db", "--month", f"2026-{month:02}"], capture_output=True,
                                  cwd=self.folder, env=self.environment(at(13), None)).stdout
            for invoice in json.loads(done)["invoices"] if done else []:
                new = invoice["state"] == "final" and invoice["number"] not in seen
                seen.add(invoice["number"])
                for line in invoice["lines"] if new else []:
                    of = int(line.get("period", invoice["period"])["start"][5:7])
                    if of in months and "minimum" not in (line["kind"], line.get("corrects", {}).get("kind")):
                        total += round(float(line["amount"]) * 100)
        return total / 100

    def test_usage_that_is_taken_back_raises_the_true_up(self):
        self.prepare({"commit": QUARTER})
        rows = self.write("rows.json", self.rows((1200, at(1, 5))))
        self.run_tool("import", "--db", "t.db", rows, now=at(2))
        self.take((30, at(2, 5)), now=at(3))
        for month in (1, 2, 3):
            self.final(month)
        self.run_tool("import", "--withdraw", "--db", "t.db", rows, now=at(4, 10))
        self.final(4)
        self.verify(4)
        self.assertEqual(self.billed(1, 2, 3), 1000)
        self.verify()

    def test_a_month_that_is_made_final_after_the_true_up(self):
        self.prepare({"commit": QUARTER})
        self.take((100, at(1, 5)), (100, at(2, 5)), (100, at(3, 5)), now=at(4))
        self.assertEqual(self.commit(self.final(3))["amount"], "700.00")
        self.take((50, at(2, 6)), now=at(4, 5))  # February was not run yet
        self.verify(4)
        self.final(1, now=at(4, 6))
        self.final(2, now=at(4, 6))
        self.final(4)
        self.verify(5)
        self.assertEqual(self.billed(1, 2, 3), 1000)

    def test_a_void_month_and_a_void_true_up(self):
        self.prepare({"commit": QUARTER})
        self.take((100, at(1, 5)), (100, at(2, 5)), (100, at(3, 5)), now=at(4))
        numbers = {m: self.final(m)["number"] for m in (1, 2, 3)}
        self.run_tool("invoice", "--db", "t.db", "--void", numbers[1], now=at(4, 4))
        self.run_tool("invoice", "--db", "t.db", "--void", numbers[3], now=at(4, 4))
        self.take((40, at(1, 6)), now=at(4, 5))
        self.final(1, now=at(4, 6))
        self.assertEqual(self.commit(self.final(3, now=at(4, 6)))["amount"], "660.00")
        self.verify()
        self.assertEqual(self.billed(1, 2, 3), 1000)

    def test_another_contract_pays_no_commitment_twice(self):
        self.prepare({"commit": QUARTER})
        self.take((100, at(2, 5)), now=at(4))
        self.final(3)
        self.declare({"commit": {"amount": "4000", "every": "year", "from": "2026-01"}}, now=at(4, 9))
        line = self.commit(self.invoice(12, now=at(13)))
        self.assertEqual((line["amount"], line["tiers"][3]["amount"]), ("3000.00", "-900"))

    # --- what if, forecast ---

    def what_if(self, first, last, **scenario):
        done = self.run_tool("whatif", "--db", "t.db", "--from", f"2026-{first:02}", "--to", f"2026-{last:02}", "--format", "json",
                             self.write("s.json", json.dumps({"scenario": "x", **scenario})), now=at(13))
        return [(a["before"], a["after"]) for s in json.loads(done.out)["scenarios"] for a in s["accounts"]]

    def test_what_if_a_year_has_its_true_ups(self):
        self.prepare({"minimum_monthly": "0", "commit": QUARTER})
        self.take((300, at(1, 5)), (900, at(5, 5)), now=at(13))
        # true-ups of 700, 100, 1000 and 1000
        self.assertEqual(self.what_if(1, 12, contract={"minimum_monthly": "0"}), [("4000.00", "1200.00")])
        year = {"minimum_monthly": "0", "commit": {"amount": "6000", "every": "year", "from": "2026-01"}}
        self.assertEqual(self.what_if(1, 12, contract=year), [("4000.00", "6000.00")])
        # of a year that began before the span its share is owed: half, and 900 of it is used
        self.assertEqual(self.what_if(5, 12, contract=year), [("3000.00", "4000.00")])
        # cheaper traffic is made up for by the true-up
        self.assertEqual(self.what_if(1, 12, usage=[{"factor": "0.5"}]), [("4000.00", "4000.00")])
        self.assertEqual(self.what_if(1, 12, usage=[{"factor": "2"}]), [("4000.00", "4800.00")])

    def test_what_if_a_month_were_capped(self):
        self.prepare({"minimum_monthly": "0"})
        self.take((300, at(1, 5)), (50, at(2, 5)), now=at(3))
        self.assertEqual(self.what_if(1, 3, contract={"minimum_monthly": "0", "cap": {"monthly": "100", "action": "disable"}}),
                         [("350.00", "150.00")])

    def test_a_forecast_of_a_periods_last_month_has_its_true_up(self):
        self.prepare({"minimum_monthly": "0", "commit": QUARTER})
        self.take((300, at(1, 5)), (100, at(2, 5)), now=at(3))
        for month, least in ((2, None), (3, "600.00")):
            said = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json", now=at(month, 20)).out
            self.assertEqual("600.00" in said, least is not None, said)

    # --- caps ---

    def test_a_cap_takes_off_what_is_used_after_its_alert(self):
        self.prepare({"cap": {"monthly": "500", "action": "disable"}})
        self.take((400, at(1, 5)), now=at(1, 5, 1))
        self.evaluate(at(1, 5, 2))
        self.take((120, at(1, 6, 7)), (5, at(1, 6, 8)), now=at(1, 6, 9))
        self.evaluate("2026-01-06T08:30:00Z")
        # hours that begin after 08:30 are taken off
        self.take((60, at(1, 6, 8)), (70, at(1, 6, 9)), (30, at(1, 20)), now=at(1, 20, 1))
        self.assertEqual(self.lines(self.invoice(1, now=at(1, 20, 2))), [("bandwidth", "685.00"), ("cap", "-100.00")])
        one = self.final(1)
        self.assertEqual(self.lines(one), [("bandwidth", "685.00"), ("cap", "-100.00")])
        line = one["lines"][1]
        self.assertEqual((line["description"], [(t["from"], t["to"], t["price"], t["amount"]) for t in line["tiers"]]),
                         ("Spending cap, reached at 2026-01-06T08:30:00Z", [("58500", "68500", "500", "-100")]))
        said = self.run_tool("invoice", "--db", "t.db", "--month", "2026-01", "--account", 1, "--explain", 2, now=at(2)).out
        self.assertIn("2026-01-06T08:30:00Z", said)
        said = json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-01", "--account", 1, "--explain", 1, now=at(2)).out)
        self.assertTrue(said["agrees"])
        self.verify()
        # late usage of before and after
        self.take((10, at(1, 6, 1)), (20, at(1, 25)), now=at(2, 5))
        self.assertEqual([(x["amount"], x["corrects"]["kind"]) for x in self.final(2)["lines"] if x["kind"] == "correction"],
                         [("30.00", "bandwidth"), ("-20.00", "cap")])
        self.verify()
        january, february = ({form: self.run_tool("invoice", "--db", "t.db", "--month", month, "--account", 1, "--format", form,
                                                  now=at(3)).out for form in ("html", "focus")} for month in ("2026-01", "2026-02"))
        self.assertEqual([january["html"].count(text) for text in (">Spending cap<", "Spending cap, reached at")], [1, 1])
        self.assertIn('"Spending cap, reached at 2026-01-06T08:30:00Z', january["focus"])
        self.assertIn("Correction: Spending cap", february["focus"])
        self.assertIn(">Spending cap<", february["html"])

    def test_never_more_than_what_is_above_the_cap(self):
        self.prepare({"cap": {"monthly": "500", "action": "disable"}})
        self.take((500, at(1, 6, 7)), now=at(1, 6, 8))
        self.evaluate("2026-01-06T08:30:00Z")
        self.run_tool("import", "--db", "t.db", "-", stdin=self.rows((100, at(1, 9))).encode(), now=at(1, 9, 1))
        self.assertEqual(self.lines(self.final(1)), [("bandwidth", "600.00"), ("cap", "-100.00")])

    def test_a_cap_that_alerts_takes_nothing_off(self):
        self.prepare({"cap": {"monthly": "500", "action": "alert"}})
        self.take((500, at(1, 6, 7)), now=at(1, 6, 8))
        self.evaluate("2026-01-06T08:30:00Z")
        self.take((100, at(1, 9)), now=at(1, 9, 1))
        self.assertEqual(self.lines(self.final(1)), [("bandwidth", "600.00")])
        alerts = json.loads(self.run_tool("alerts", "--db", "t.db", "--format", "json").out)
        self.assertIn("contract:cap", json.dumps(alerts))

    def test_without_an_alert_nothing_is_taken_off(self):
        self.prepare({"cap": {"monthly": "500", "action": "disable"}})
        self.take((700, at(1, 6, 7)), now=at(1, 6, 8))
        self.assertEqual(self.lines(self.final(1)), [("bandwidth", "700.00")])
        self.evaluate(at(2, 3))
        self.verify()

    def test_a_higher_cap_has_an_alert_of_its_own(self):
        self.prepare({"cap": {"monthly": "500", "action": "disable"}})
        self.take((500, at(1, 6, 7)), now=at(1, 6, 8))
        self.evaluate("2026-01-06T08:30:00Z")
        self.take((300, at(1, 9)), now=at(1, 9, 1))
        self.declare({"cap": {"monthly": "700", "action": "disable"}}, now=at(1, 10))
        self.assertEqual(self.lines(self.invoice(1, now=at(1, 10, 1))), [("bandwidth", "800.00")])
        self.evaluate(at(1, 10, 2))
        self.take((50, at(1, 12)), now=at(1, 12, 1))
        self.assertEqual(self.lines(self.final(1)), [("bandwidth", "850.00"), ("cap", "-50.00")])
        self.verify()

    def test_a_cap_in_another_currency_has_an_alert_of_its_own(self):
        self.prepare({"cap": {"monthly": "10000", "action": "disable"}}, currency="JPY")
        yen = {**BOOK, "book": "yen", "currency": "JPY"}
        yen["bandwidth"] = {"premium": {"per": "GB", "regions": {"EU": "170"}}}
        self.run_tool("book", "add", "--db", "t.db", self.write("yen.json", json.dumps(yen)))
        self.take((60, at(1, 6, 7)), now=at(1, 6, 8))
        self.evaluate("2026-01-06T08:30:00Z")
        self.take((1000, at(1, 9)), now=at(1, 9, 1))
        self.declare({"cap": {"monthly": "200", "action": "disable"}}, now=at(1, 10))
        self.assertEqual(self.lines(self.invoice(1, now=at(1, 10, 1))), [("bandwidth", "1060.00")])
        self.evaluate(at(1, 10, 2))
        self.take((50, at(1, 12)), now=at(1, 12, 1))
        self.assertEqual(self.lines(self.final(1)), [("bandwidth", "1110.00"), ("cap", "-50.00")])
        self.verify()


if __name__ == "__main__":
    unittest.main()
