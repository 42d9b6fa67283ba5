"""Months that were run and billed nothing: what comes for them afterwards waits, is listed and is
billed once. Each case is driven with --db, and again through a running server.
"""
import contextlib
import json
import os
import signal
import unittest
import urllib.request
from decimal import Decimal
from tool import Case

BOOK = {"book": "plain", "currency": "USD", "effective_from": "2025-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "ASIA": "0.01"}}},
        "load_balancer": {"monthly_fee": "9.50", "included_requests": 50000000, "included_axis":
                          "absolute", "mode": "graduated", "tiers": [
                              {"from_millions": 50, "to_millions": None,
                               "price_per_million": "0.65"}]}}
MINIMUM = {**BOOK, "book": "minimum", "minimum_monthly": "1.00"}
ACCOUNTS = [{"id": a, "name": f"a{a}"} for a in (1, 2)]
ZONES = [{"id": 101, "account": 1, "name": "z", "created": "2026-01-05T00:00:00Z"},
         {"id": 201, "account": 2, "name": "y", "created": "2026-01-05T00:00:00Z"}]
MARCH, APRIL, MAY, JUNE = (f"2026-{m:02}-02T00:00:00Z" for m in (3, 4, 5, 6))
M1 = 31201 * 10**9  # bytes: 312.01 at 0.01 a GB


def row(zone=1, amount=M1, hour="2026-02-09T05:00:00Z", region="DE"):
    return json.dumps({"zone": zone, "hour": hour, "region": region, "requests": 1,
                       "bytes": amount}) + "\n"


class Local(Case):
    def money(self, *words, now=JUNE, status=0):
        """tollbook invoice, wherever."""
        return self.run_tool("invoice", "--db", "t.db", *words, now=now, status=status)

    def declare(self, accounts=ACCOUNTS, zones=ZONES, now="2026-01-06T00:00:00Z", **more):
        return self.run_tool("apply", "--delete", "--db", "t.db", self.write("c.json", json.dumps(
            {"accounts": accounts, "zones": zones, **more})), now=now)

    def take(self, *rows, now):
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(rows).encode(), now=now)

    def finalize(self, month, now, *words, status=0):
        done = self.money("--month", month, "--finalize", *words, now=now, status=status)
        self.said = done.err
        return json.loads(done.out)["invoices"] if done.out else []

    def late(self):
        out = self.money("--late").out.splitlines()
        return [dict(zip(out[0].split("\t"), line.split("\t"))) for line in out[1:]]


    def test_another_region_table_changes_no_billed_month(self):
        """Up to now the built-in table took AZ for Phoenix; an apply without regions takes over today's."""
        old = [{"id": 72, "code": "AZ", "name": "NA: Phoenix, AZ", "billing": "NA"},
               {"id": 1, "code": "DE", "name": "EU: Frankfurt, DE", "billing": "EU"}]
        prices = {**BOOK, "bandwidth": {"premium": {"per": "GB", "regions": {
            "EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
        self.run_tool("book", "--db", "t.db", self.write("b.json", json.dumps(prices)))
        self.declare(regions=old)
        self.take(row(101, region="AZ"), row(101, hour="2026-03-09T05:00:00Z", region="AZ"),
                  now="2026-03-20T00:00:00Z")
        billed = self.finalize("2026-02", APRIL)
        self.assertEqual([i["total"] for i in billed], ["312.01"])
        self.assertIn("1 edge location with usage is billed as another region from now on",
                      self.declare(now=APRIL).err)
        self.assertNotIn("another region", self.declare(now=APRIL).err)
        self.assertEqual(self.late(), [])
        self.assertEqual(self.finalize("2026-02", MAY), billed)
        self.assertEqual(self.run_tool("invoice", "--db", "t.db", "--month", "2026-02", now=MAY).out,
                         json.dumps({"invoices": billed}, separators=(",", ":")) + "\n")
        # March was not billed yet: it is priced by what the code means now, and has no correction
        march, = self.finalize("2026-03", MAY)
        self.assertEqual(march["total"], "936.03")
        self.run_tool("verify", "--db", "t.db", now=MAY)

    def waits(self):
        return [(x["account"], x["month"], x["outcome"]) for x in self.late()]

    def billed(self, invoices):
        return [(i["account"], i["total"], [(l["kind"], l["period"]["start"][:7], l["amount"])
                                            if l["kind"] == "correction" else
                                            (l["kind"], "", l["amount"]) for l in i["lines"]
                                            if l["amount"] != "0.00"]) for i in invoices]

    def void(self, number, **more):
        return self.money("--void", number, **more)

    def prepare(self, book=BOOK, **more):
        self.declare(**more)
        self.run_tool("book", "add", "--db", "t.db", self.write("b.json", json.dumps(book)), now="2026-01-06T00:00:00Z")

    # --- M1 ---

    def test_what_comes_after_nothing_due_is_billed_next(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.assertIn("nothing to invoice", self.said)
        self.assertEqual(self.late(), [])
        self.take(row(101), now=MARCH)
        (waits,) = self.late()
        self.assertEqual((waits["account"], waits["month"], waits["invoice"], waits["outcome"],
                          waits["deltas"]), ("1", "2026-02", "-", "nothing", "1"))
        (invoice,) = self.finalize("2026-03", APRIL)
        self.assertEqual(self.billed([invoice]), [
            (1, "312.01", [("correction", "2026-02", "312.01")])])
        (line,) = [x for x in invoice["lines"] if x["kind"] == "correction"]
        self.assertEqual((line["corrects"]["invoice"], line["corrects"]["kind"]),
                         (None, "bandwidth"))
        self.assertEqual(str(line["corrects"]["since"]), waits["since"])
        self.assertEqual(self.late(), [])
        self.verify()
        # that month again makes no invoice of its own
        self.assertEqual(self.finalize("2026-02", APRIL, status=1), [])
        self.assertIn("account 1: 2026-02 was billed on 2026-000001.", self.said)
        self.assertEqual(self.finalize("2026-02", APRIL, "--empty", "--account", 1, status=1), [])
        self.assertEqual(self.finalize("2026-04", MAY, status=1), [])
        self.verify()

    def test_a_month_run_again_bills_it_itself(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        self.assertEqual(self.billed(self.finalize("2026-02", MARCH)),
                         [(1, "312.01", [("bandwidth", "", "312.01")])])
        self.assertEqual(self.late(), [])
        self.assertEqual(self.finalize("2026-03", APRIL, status=1), [])
        self.verify()

    def test_two_batches_are_billed_in_two_months(self):
        self.prepare(MINIMUM)
        self.declare(zones=[], now="2026-01-07T00:00:00Z")  # so that the minimum is not due
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101, 10**12), now=MARCH)
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.assertEqual(self.billed(self.finalize("2026-03", APRIL)), [
            (1, "10.00", [("correction", "2026-02", "10.00")])])
        self.take(row(101, 5 * 10**9), now=APRIL)
        (waits,) = self.late()
        self.assertEqual((waits["month"], waits["invoice"], waits["deltas"]),
                         ("2026-02", "-", "1"))
        self.assertEqual(self.billed(self.finalize("2026-04", MAY)), [
            (1, "0.05", [("correction", "2026-02", "0.05")])])
        self.assertEqual(self.late(), [])
        self.verify()
        # what a later one rests on is voided after it
        self.assertIn("void 2026-000002 first", self.void("2026-000001", status=2).err)
        self.void("2026-000002")
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.void("2026-000001")
        (waits,) = self.late()
        self.assertEqual(waits["deltas"], "2")
        self.assertEqual(self.billed(self.finalize("2026-02", JUNE)), [
            (1, "10.05", [("bandwidth", "", "10.05")])])
        self.assertEqual(self.late(), [])
        self.verify()

    def test_a_void_correction_waits_again(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        self.finalize("2026-03", APRIL)
        self.void("2026-000001")
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.verify()
        (again,) = self.finalize("2026-03", APRIL)
        self.assertEqual((again["total"], again["replaces"]), ("312.01", "2026-000001"))
        self.assertEqual(self.late(), [])
        self.verify()

    # --- accounts that a run had nothing of ---

    def test_usage_that_finds_its_account_after_a_run_over_everybody(self):
        self.prepare(zones=ZONES[:1])
        self.take(row(301, 10**12), now="2026-02-10T00:00:00Z")  # nobody's
        self.finalize("2026-02", MARCH, status=1)
        self.declare([*ACCOUNTS, {"id": 3, "name": "c"}],
                     [ZONES[0], {"id": 301, "account": 3, "name": "x"}], now=MARCH)
        self.assertEqual(self.waits(), [("3", "2026-02", "nothing")])
        self.assertEqual(self.billed(self.finalize("2026-03", APRIL)), [
            (3, "10.00", [("correction", "2026-02", "10.00")])])
        self.verify()

    def test_one_accounts_run_says_nothing_of_others(self):
        self.prepare()
        self.finalize("2026-02", MARCH, "--account", 1, status=1)
        self.take(row(201), row(101), now=MARCH)
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.assertEqual([i["account"] for i in self.finalize("2026-02", MARCH)], [1, 2])

    def test_accounts_without_that_month_are_run_for_what_waits(self):
        """Their zones went in February, so March holds nothing of them."""
        self.prepare()
        self.finalize("2026-01", "2026-02-01T00:00:00Z", status=1)
        self.declare(zones=[], now="2026-02-01T00:00:00Z")
        self.take(row(101, hour="2026-01-09T05:00:00Z"), row(201, hour="2026-01-10T05:00:00Z"),
                  now=APRIL)
        self.assertEqual(self.waits(), [(a, "2026-01", "nothing") for a in ("1", "2")])
        self.assertEqual(self.billed(self.finalize("2026-03", APRIL)), [
            (a, "312.01", [("correction", "2026-01", "312.01")]) for a in (1, 2)])
        self.verify()

    # --- declarations ---

    def test_what_is_declared_later_and_was_there_then(self):
        self.prepare(MINIMUM, zones=ZONES[1:], accounts=ACCOUNTS)
        self.finalize("2026-02", MARCH, "--account", 1, status=1)
        born = {**ZONES[0], "created": "2026-02-20T00:00:00Z"}
        self.declare(zones=[born, ZONES[1]], now=MARCH)
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.assertEqual(self.billed(self.finalize("2026-03", APRIL, "--account", 1)), [
            (1, "2.00", [("minimum", "", "1.00"), ("correction", "2026-02", "1.00")])])
        self.assertEqual(self.late(), [])
        # an earlier beginning changes nothing more; a later one is credited
        self.declare(zones=[{**born, "created": "2026-03-01T00:00:00Z"}, ZONES[1]], now=APRIL)
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.finalize("2026-04", MAY, "--account", 1)
        self.assertIn("credit note 2026-000002 over -1.00 USD for 2026-02", self.said)
        self.assertEqual(self.query("SELECT total,document->>'$.corrects' FROM invoice"
                                     " WHERE kind='credit_note'"), [["-1.00", "2026-000001"]])
        self.assertEqual(self.late(), [])
        self.verify()

    def test_what_is_declared_without_a_beginning_bills_no_month_gone_by(self):
        self.prepare(MINIMUM, zones=ZONES[1:])
        self.finalize("2026-02", MARCH)
        (zone,) = [{k: v for k, v in ZONES[0].items() if k != "created"}]
        self.declare([*ACCOUNTS, {"id": 3, "name": "c"}],
                     [zone, ZONES[1], {"id": 301, "account": 3, "name": "x"}], now=MARCH,
                     load_balancers=[{"id": 7, "account": 3, "zones": []}])
        self.assertEqual(self.late(), [])
        self.assertEqual([i["total"] for i in self.finalize("2026-03", APRIL)],
                         ["1.00", "1.00", "9.50"])
        # unless there is usage of it
        self.take(row(301, 1), now=APRIL)
        self.assertEqual(self.waits(), [("3", "2026-02", "nothing")])
        self.verify()

    # --- refused ---

    def refused(self):
        self.prepare()
        self.take(row(101, 10**12, region="QA1"), row(201, 10**12), now="2026-02-10T00:00:00Z")
        (two,) = self.finalize("2026-02", MARCH, status=1)
        self.assertEqual(two["account"], 2)

    def test_a_refused_month_is_listed_and_carried_once_it_has_a_price(self):
        self.refused()
        self.assertEqual(self.waits(), [("1", "2026-02", "refused")])
        # it holds no later month back
        self.take(row(101, 10**12, hour="2026-03-09T05:00:00Z"), now=APRIL)
        invoices = self.finalize("2026-03", APRIL)
        self.assertEqual(self.billed(invoices), [(1, "10.00", [("bandwidth", "", "10.00")])])
        self.assertIn("account 1: 2026-02 waits still: Usage without a price", self.said)
        self.assertEqual(self.waits(), [("1", "2026-02", "refused")])
        self.verify()
        self.declare(now=APRIL, regions=[
            {"id": i, "code": c, "name": f"EU: X, {c}", "billing": b}
            for i, (c, b) in enumerate((("DE", "EU"), ("QA1", "ASIA")), 1)])
        self.assertEqual(self.billed(self.finalize("2026-04", MAY)), [
            (1, "10.00", [("correction", "2026-02", "10.00")])])
        self.assertEqual(self.late(), [])
        self.assertEqual(self.finalize("2026-02", MAY)[0]["account"], 2)
        self.assertIn("account 1: 2026-02 was billed on 2026-000003.", self.said)
        self.verify()

    def test_a_refused_month_is_made_final_by_its_own_run(self):
        self.refused()
        self.declare(now=APRIL, regions=[
            {"id": i, "code": c, "name": f"EU: X, {c}", "billing": b}
            for i, (c, b) in enumerate((("DE", "EU"), ("QA1", "ASIA")), 1)])
        self.assertEqual([i["total"] for i in self.finalize("2026-02", APRIL)],
                         ["10.00", "10.00"])
        self.assertEqual(self.late(), [])
        self.assertEqual(self.finalize("2026-03", APRIL, status=1), [])
        self.verify()

    def test_a_month_in_another_currency_does_not_go_onto_an_invoice(self):
        self.prepare()
        self.run_tool("book", "add", "--db", "t.db", self.write("e.json", json.dumps(
            {**BOOK, "book": "euro", "currency": "EUR"})))
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        self.declare([{**ACCOUNTS[0], "currency": "EUR"}, ACCOUNTS[1]],
                     now="2026-03-10T00:00:00Z")
        self.take(row(101, 10**12, hour="2026-03-09T05:00:00Z"), now=APRIL)
        (invoice,) = self.finalize("2026-03", APRIL)
        self.assertEqual((invoice["currency"], invoice["total"]), ("EUR", "10.00"))
        self.assertIn("account 1: 2026-02 waits still: It is billed in another currency", self.said)
        self.assertEqual(self.waits(), [("1", "2026-02", "nothing")])
        self.verify()

    # --- runs again ---

    def test_the_same_run_again_writes_nothing(self):
        self.refused()
        sql = "SELECT *,(SELECT value FROM meta WHERE name='data_version') FROM month_run"
        before = self.query(sql)
        self.assertEqual([(r[1], r[4], r[5]) for r in before],
                         [("1", "refused", ""), ("2", "final", "2026-000001"),
                          ("0", "nothing", "")])
        self.finalize("2026-02", APRIL, status=1)
        self.assertEqual(self.query(sql), before)

    def test_amounts_too_small_to_bill_wait_no_longer_than_a_run(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        for hour in range(5):  # 0.001 each
            self.take(row(101, 10**8, hour=f"2026-02-09T{hour:02}:00:00Z"), now=MARCH)
            self.assertEqual(len(self.late()), 1)
            done = self.finalize("2026-03", APRIL, "--account", 1, status=0 if hour == 4 else 1)
            self.assertEqual(self.late(), [])
        self.assertEqual(self.billed(done), [(1, "0.01", [("correction", "2026-02", "0.01")])])
        self.verify()

    def test_a_difference_of_nothing_does_not_wait(self):
        self.prepare()
        self.take(row(101), now="2026-02-10T00:00:00Z")
        self.finalize("2026-02", MARCH)
        self.declare(ACCOUNTS[1:], ZONES[1:], now=MARCH)
        self.take(row(101, 10**8), now=MARCH)  # 0.001
        self.assertEqual(self.late(), [])
        self.finalize("2026-03", APRIL, status=1)
        self.assertEqual(self.late(), [])
        self.take(row(101, 4 * 10**8), now=APRIL)  # half a cent in all
        self.assertEqual(self.waits(), [("1", "2026-02", "final")])
        self.assertEqual(self.billed(self.finalize("2026-03", APRIL)), [
            (1, "0.01", [("correction", "2026-02", "0.01")])])
        self.assertEqual(self.late(), [])
        self.verify()

    # --- what a run made ---

    def numbers(self, *words, status=0):
        out = self.money(*words, status=status).out
        return [(i["number"][5:].lstrip("0"), i["kind"], i["period"]["start"][:7]) for i in json.loads(out)["invoices"]]

    def test_a_runs_output_has_all_that_it_made(self):
        self.prepare(MINIMUM)
        self.finalize("2026-02", MARCH)
        self.declare(zones=[{**ZONES[0], "created": "2026-03-01T00:00:00Z"}, ZONES[1]], now=MARCH)
        made = [("3", "credit_note", "2026-02"), ("4", "invoice", "2026-03"), ("5", "invoice", "2026-03")]
        for _ in range(2):
            self.assertEqual([(i["number"][-1], i["kind"], i["period"]["start"][:7])
                              for i in self.finalize("2026-03", APRIL)], made)
        self.assertEqual(self.numbers("--month", "2026-03"), made)
        self.assertEqual(self.numbers("--issued-in", "2026-04"), made)
        self.assertEqual([n for n, _, _ in self.numbers("--issued-in", "2026-03")], ["1", "2"])
        self.money("--month", "2026-03", "--format", "html", "--out", "march")
        self.assertEqual(sorted(f.name for f in (self.folder / "march").iterdir()),
                         [f"2026-00000{n}.html" for n in (3, 4, 5)])
        if not isinstance(self, Served):
            self.ask_since(made)
        self.verify()

    def ask_since(self, made):
        self.assertEqual(self.numbers("--since", "2026-000003"), made[1:])
        self.assertEqual(self.numbers("--since", APRIL), made)
        self.assertEqual(self.numbers("--since", "2026-000001", "--account", 1), made[:2])
        for since in ("2026-000005", "2026-04-02T00:00:01Z"):
            self.assertIn("No document was issued then", self.money("--since", since, status=1).err)
        for wrong in ("2026-000009", "soon", "2026-4x"):
            self.money("--since", wrong, status=2)
        for words in (("--issued-in", "2026-04", "--month", "2026-03"), ("--since", APRIL, "--finalize"),
                      ("--issued-in", "2026-04", "--late"), ("--since", APRIL, "--issued-in", "2026-04")):
            self.assertIn("goes alone", self.money(*words, status=2).err)
        self.money("--since", "2026-000002", "--format", "html", "--out", "mail")
        self.assertEqual(len(list((self.folder / "mail").iterdir())), 3)

    # --- a clock that is behind ---

    def test_days_of_issue_rise_with_the_numbers(self):
        self.prepare(MINIMUM)
        self.finalize("2026-02", "2026-03-10T09:00:00Z", "--account", 1)
        for words in (("--month", "2026-02", "--finalize"), ("--void", "2026-000001")):
            said = self.money(*words, now="2026-03-09T23:59:59Z", status=1).err
            self.assertIn("The clock says 2026-03-09T23:59:59Z, and 2026-000001 was issued on 2026-03-10", said)
        self.assertEqual([i["issued"] for i in self.finalize("2026-02", "2026-03-10T08:00:00Z")], ["2026-03-10"] * 2)
        self.assertEqual(self.query("SELECT account,outcome FROM month_run"), [["1", "final"], ["2", "final"], ["0", "nothing"]])
        self.verify()

    # --- what else reads months that were billed ---

    def test_it_is_counted_once_in_whatifs(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        self.take(row(101, 10**12, hour="2026-03-09T05:00:00Z"), now=APRIL)
        text = json.dumps({"scenario": "half", "usage": [{"factor": "0.5"}]})

        def months():
            out = json.loads(self.run_tool(
                "whatif", "--db", "t.db", "--from", "2026-02", "--to", "2026-04", "--format",
                "json", self.write("s.json", text), now=MAY).out)
            (scenario,) = out["scenarios"]
            (group,) = scenario["currencies"] if "currencies" in scenario else [scenario]
            return out["late"], {m["month"]: Decimal(m["before"]) for m in group["months"]}
        want = {"2026-02": Decimal("312.01"), "2026-03": Decimal(10)}
        late, seen = months()
        self.assertEqual((late, {m: v for m, v in seen.items() if v}), ([], want))
        self.finalize("2026-03", APRIL)
        late, seen = months()
        self.assertEqual((late, {m: v for m, v in seen.items() if v}), ([], want))

    def test_a_line_is_explained_where_it_was_billed(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        (invoice,) = self.finalize("2026-03", APRIL)
        (line,) = [x["line"] for x in invoice["lines"] if x["kind"] == "correction"]
        explained = json.loads(self.run_tool(
            "invoice", "--db", "t.db", "--month", "2026-03", "--account", 1, "--explain", line,
            now=APRIL).out)
        self.assertEqual((explained["sum"], explained["days"][0]["quantity"]), (str(M1), str(M1)))
        done = self.run_tool("invoice", "--db", "t.db", "--month", "2026-02", "--account", 1,
                             "--explain", 1, now=APRIL, status=2)
        self.assertIn("2026-000001", done.err)

    def test_other_forms_name_the_month(self):
        self.prepare()
        self.finalize("2026-02", MARCH, status=1)
        self.take(row(101), now=MARCH)
        self.finalize("2026-03", APRIL)
        for form, seen in (("csv", "2026-02-01"), ("html", "February 2026"), ("focus", "2026-02")):
            self.assertIn(seen, self.money("--month", "2026-03", "--format", form, now=APRIL).out,
                          form)


class Served(Local):
    """The same through a server, with the clock of each command."""

    def setUp(self):
        super().setUp()
        self.key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role",
                                 "Operator", now="2026-01-06T00:00:00Z").out.strip()

    def environment(self, now=None, key=None):
        return super().environment(now or self.clock, key)

    clock = JUNE

    @contextlib.contextmanager
    def served(self, now):
        port, self.clock = self.folder / "port", now
        port.unlink(missing_ok=True)
        server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file",
                            "port", "--threads", 2)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        try:
            yield f"http://127.0.0.1:{port.read_text().strip()}"
        finally:
            server.send_signal(signal.SIGTERM)
            self.assertEqual(server.wait(60), 0)

    def money(self, *words, now=JUNE, status=0):
        with self.served(now) as url:
            return self.run_tool("invoice", "--server", url, "--key", self.key, *words, now=now,
                                 status=status)

    def ask(self, url, path, body=None):
        request = urllib.request.Request(url + path, headers={"AccessKey": self.key},
                                         data=body and json.dumps(body).encode())
        if body:
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def test_who_comes_in_while_a_month_is_run_is_named(self):
        self.prepare()
        self.take(row(101), now="2026-02-10T00:00:00Z")
        run = {"month": "2026-02", "finalize": True}
        with self.served(MARCH) as url:
            # As a client that was told of account 1 alone: it ends, and the other has come in.
            reply = self.ask(url, "/operations/invoice", {**run, "next": "1" + 13 * " 0" + " 1"})
            self.assertEqual((reply["answer"]["made"], reply["next"]), (1, ""))
            self.assertIn("1 account came in while the month was made final. Run the same command"
                          " again to go on.", reply["said"])
            for _ in range(2):
                reply = self.ask(url, "/operations/invoice", run)
                self.assertEqual((reply["answer"]["done"], reply["answer"]["known"], reply["next"]),
                                 (2, 1, ""))
                self.assertNotIn("came in", "".join(reply["said"]))
        self.assertEqual(self.query("SELECT account,outcome FROM month_run"),
                         [["1", "final"], ["2", "nothing"], ["0", "nothing"]])
        self.verify()

    def test_the_list_over_http(self):
        self.refused()
        self.take(row(201, 10**9), now=MARCH)
        with self.served(MARCH) as url:
            one, two = self.ask(url, "/invoices/late")["late"]
        self.assertEqual((one["account"], one["outcome"], one["invoice"], one["deltas"]),
                         (1, "refused", None, 0))
        self.assertIn("without a price", one["reason"])
        self.assertEqual((two["account"], two["outcome"], two["invoice"], two["deltas"],
                          two["reason"]), (2, "final", "2026-000001", 1, None))


if __name__ == "__main__":
    if os.environ.get("TB_VARIANT"):
        del Local  # with a sanitizer the server's half of it does
    unittest.main()
