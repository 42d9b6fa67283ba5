"""Contracts: a book, a discount, a minimum and a commit of one account's own, from the catalogue to the
invoice, its corrections and verify. Each case is driven by the tool itself, over one file.
"""
import csv
import json
import unittest
from tool import Case

BOOK = {"book": "plain", "currency": "USD", "effective_from": "2025-01-01T00:00:00Z",
        "minimum_monthly": "20.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "ASIA": "0.03"}}}}
OWN = {"book": "acme", "currency": "USD", "effective_from": "2025-01-01T00:00:00Z",
       "scope": "contract",
       "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.005"}}}}
COMMIT = {"monthly": "1000", "from": "2026-02", "to": "2026-03"}
FEBRUARY, MARCH, APRIL, MAY, JUNE = (f"2026-{m:02}-02T00:00:00Z" for m in (2, 3, 4, 5, 6))
GB = 10**9


def row(zone=101, gigabytes=31201, hour="2026-02-09T05:00:00Z", region="DE"):
    return json.dumps({"zone": zone, "hour": hour, "region": region, "requests": 1,
                       "bytes": gigabytes * GB}) + "\n"


class Contract(Case):
    def declare(self, contract, now="2026-01-06T00:00:00Z", status=0, **more):
        account = {"id": 1, "name": "acme", **more}
        if contract is not None:
            account["contract"] = contract
        return self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(
            {"accounts": [account, {"id": 2, "name": "other"}],
             "zones": [{"id": 101, "account": 1, "name": "z"},
                       {"id": 201, "account": 2, "name": "y"}]})), now=now, status=status)

    def book(self, *books):
        for book in books:
            self.run_tool("book", "add", "--db", "t.db",
                          self.write(book["book"] + ".json", json.dumps(book)))

    def take(self, *rows, now=MARCH):
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(rows).encode(), now=now)

    def invoices(self, month, now, *words, status=0):
        done = self.run_tool("invoice", "--db", "t.db", "--month", month, *words, now=now,
                             status=status)
        self.said = done.err
        return {i["account"]: i for i in json.loads(done.out)["invoices"]} if done.out else {}

    def documents(self, month, now):
        return json.loads(self.run_tool("invoice", "--db", "t.db", "--month", month,
                                        now=now).out)["invoices"]

    def lines(self, invoice):
        return [(line["kind"], line["amount"]) for line in invoice["lines"]]

    def verify(self, now=JUNE):
        self.run_tool("verify", "--db", "t.db", now=now)

    def prepare(self, contract, *books, **more):
        self.declare(contract, **more)
        self.book(BOOK, *books)
        self.take(row(), row(201, 10))

    # --- lines ---

    def test_discount_then_commit_and_no_minimum_beside_it(self):
        self.prepare({"discount_percent": "5", "commit": COMMIT}, tax={"VAT": 10})
        one, two = self.invoices("2026-02", MARCH).values()
        self.assertEqual(self.lines(one), [("bandwidth", "312.01"), ("discount", "-15.60"),
                                           ("commit", "703.59")])
        self.assertEqual((one["subtotal"], one["total"]), ("1000.00", "1100.00"))
        self.assertEqual(self.lines(two), [("bandwidth", "0.10"), ("minimum", "19.90")])
        discount, commit = one["lines"][1:]
        self.assertEqual((discount["exact"], discount["resource"], discount["unit"],
                          discount["quantity"]), ("-15.6005", "account:1", "month", "1"))
        self.assertEqual([(t["to"], t["price"], t["units"]) for t in discount["tiers"]],
                         [("31201", "5", "0")])
        self.assertEqual([t["amount"] for t in commit["tiers"]], ["1000", "-296.41"])

    def test_a_running_month_has_the_discount_alone(self):
        self.prepare({"discount_percent": "5", "commit": COMMIT, "minimum_monthly": "5000"})
        one = self.invoices("2026-02", "2026-02-20T00:00:00Z")[1]
        self.assertEqual(self.lines(one), [("bandwidth", "312.01"), ("discount", "-15.60")])

    def test_its_own_minimum_is_on_what_is_paid(self):
        self.prepare({"discount_percent": "100", "minimum_monthly": "7.50"})
        self.assertEqual(self.lines(self.invoices("2026-02", MARCH)[1]),
                         [("bandwidth", "312.01"), ("discount", "-312.01"), ("minimum", "7.50")])
        self.declare({"minimum_monthly": "0"}, now="2026-02-20T00:00:00Z")
        self.assertEqual(self.lines(self.invoices("2026-02", MARCH)[1]),
                         [("bandwidth", "312.01")])

    def test_a_minimum_above_the_commit_pays_the_rest(self):
        self.prepare({"minimum_monthly": "1500", "commit": COMMIT})
        self.assertEqual(self.lines(self.invoices("2026-02", MARCH)[1]),
                         [("bandwidth", "312.01"), ("commit", "687.99"), ("minimum", "500.00")])

    def test_a_commit_is_owed_without_a_zone_within_its_months(self):
        self.book(BOOK)
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps({"accounts": [
            {"id": 3, "name": "idle", "contract": {"commit": COMMIT}}]})), now="2026-02-05T00:00:00Z")
        found = {}
        for month, now in (("2026-01", FEBRUARY), ("2026-02", MARCH), ("2026-03", APRIL),
                           ("2026-04", MAY)):
            done = self.invoices(month, now, "--finalize", status=0 if month[-1] in "23" else 1)
            found[month] = [self.lines(i) for i in done.values()]
        self.assertEqual(found, {"2026-01": [], "2026-02": [[("commit", "1000.00")]],
                                 "2026-03": [[("commit", "1000.00")]], "2026-04": []})
        self.verify()

    def test_an_account_that_has_left_owes_no_commit(self):
        self.prepare({"commit": {"monthly": "1000"}})
        self.run_tool("apply", "--delete", "--db", "t.db", self.write("c.json", json.dumps({"accounts": [
            {"id": 2, "name": "other"}]})), now="2026-02-28T22:00:00Z")
        self.assertEqual(self.lines(self.invoices("2026-01", MARCH)[1])[-1], ("commit", "1000.00"))
        self.assertEqual(self.lines(self.invoices("2026-02", MARCH)[1]), [("bandwidth", "312.01")])
        self.assertEqual(self.invoices("2026-03", APRIL, status=1), {})

    def late(self, contract, **more):
        """An account that is first declared on 2 November, with a zone of January; another has use."""
        self.book(BOOK)
        accounts = [{"id": 2, "name": "other"}]
        zones = [{"id": 201, "account": 2, "name": "y", "created": "2026-01-01T00:00:00Z"}]
        self.apply(accounts, zones, "2026-01-01T00:00:00Z")
        accounts.append({"id": 1, "name": "new", "contract": contract, **more})
        self.apply(accounts, zones + [{"id": 101, "account": 1, "name": "z",
                                       "created": "2026-01-01T00:00:00Z"}], "2026-11-02T00:00:00Z")

    def apply(self, accounts, zones, now):
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(
            {"accounts": accounts, "zones": zones})), now=now)

    def test_without_from_a_commit_begins_with_the_account(self):
        self.late({"commit": {"monthly": "500"}, "minimum_monthly": "7"})
        # a minimum is owed where a zone was
        for month, lines in (("2026-10", [("minimum", "7.00")]), ("2025-03", None)):
            one = self.invoices(month, "2026-11-03T00:00:00Z", status=lines is None).get(1)
            self.assertEqual(one and self.lines(one), lines)
        self.assertEqual(self.lines(self.invoices("2026-10", "2026-11-03T00:00:00Z", "--finalize")[1]),
                         [("minimum", "7.00")])
        self.verify("2026-11-04T00:00:00Z")
        self.assertEqual(self.invoices("2026-11", "2026-12-02T00:00:00Z", "--finalize")[1]["subtotal"], "500.00")
        # a later declaration moves the beginning no more
        self.declare({"commit": {"monthly": "900"}}, now="2026-12-05T00:00:00Z")
        self.assertEqual(self.invoices("2026-12", "2027-01-02T00:00:00Z", "--finalize")[1]["subtotal"], "900.00")
        self.verify("2027-01-03T00:00:00Z")

    def test_without_from_nothing_is_taken_for_months_before(self):
        self.late({"commit": {"monthly": "70"}}, prepaid=True)
        self.run_tool("ledger", "accrue", "--db", "t.db", now="2026-11-03T00:00:00Z")
        self.assertNotIn("-70", self.run_tool("ledger", "--db", "t.db", "--account", 1,
                                              now="2026-11-03T00:00:00Z").out)
        done = self.run_tool("whatif", "--db", "t.db", "--from", "2026-10", "--to", "2026-11", "--account", 1,
                             "--format", "json", self.write("s.json", json.dumps(
                                 {"scenario": "x", "contract": {"commit": {"monthly": "60"}}})),
                             now="2026-12-02T00:00:00Z").out
        # a scenario's counts for every month that is asked for
        self.assertEqual([(a["before"], a["after"]) for s in json.loads(done)["scenarios"]
                          for a in s["accounts"]], [("90.00", "120.00")])

    def test_with_from_a_commit_is_owed_from_that_month_whatever(self):
        self.book(BOOK)
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps({"accounts": [
            {"id": 3, "name": "idle", "contract": {"commit": {"monthly": "500", "from": "2026-10"}}},
            {"id": 4, "name": "open", "contract": {"commit": {"monthly": "500"}}}]})),
            now="2026-11-02T00:00:00Z")
        found = {month: {a: self.lines(i) for a, i in self.invoices(
            month, "2026-11-03T00:00:00Z", "--finalize", status=status).items()}
            for month, status in (("2026-10", 0), ("2026-09", 1))}
        self.assertEqual(found, {"2026-10": {3: [("commit", "500.00")]}, "2026-09": {}})
        self.verify("2026-11-04T00:00:00Z")

    # --- the account's own book ---

    def test_its_own_book_prices_it_and_nobody_else(self):
        self.prepare({"book": "acme"}, OWN)
        one, two = self.invoices("2026-02", MARCH).values()
        self.assertEqual((self.lines(one), one["book"]["id"]), ([("bandwidth", "156.01")], "acme"))
        self.assertEqual((self.lines(two), two["book"]["id"]),
                         ([("bandwidth", "0.10"), ("minimum", "19.90")], "plain"))
        self.invoices("2026-02", MARCH, "--finalize")
        self.verify()

    def test_a_book_that_is_not_there_is_named_and_nothing_is_final(self):
        self.prepare({"book": "acme", "commit": COMMIT})
        said = "1 account has a contract with a price book that is not there in its currency"
        self.assertIn(said, self.declare({"book": "acme", "commit": COMMIT}).err)
        one = self.invoices("2026-02", MARCH)[1]
        self.assertEqual((one["book"], one["lines"]), (None, []))
        self.assertEqual({u["what"] for u in one["unpriced"]}, {"EU", "commit", "minimum"})
        self.assertEqual({u["reason"] for u in one["unpriced"]},
                         {"The contract names book acme, and there is no USD price book of that id: add it."})
        self.assertNotIn(1, self.invoices("2026-02", MARCH, "--finalize", status=1))
        self.book(OWN)
        self.assertNotIn(said, self.declare({"book": "acme", "commit": COMMIT}).err)
        self.assertEqual(self.invoices("2026-02", MARCH, "--finalize")[1]["subtotal"], "1000.00")
        self.verify()

    def test_its_own_book_holds_from_its_moment_on(self):
        self.prepare({"book": "acme"}, {**OWN, "effective_from": "2026-02-15T00:00:00Z"})
        self.take(row(hour="2026-02-20T00:00:00Z"))
        one = self.invoices("2026-02", MARCH)[1]
        self.assertEqual([b["id"] for b in one["books"]], ["plain", "acme"])
        self.assertEqual(self.lines(one)[0], ("bandwidth", "468.02"))

    def test_any_book_of_the_currency_may_be_named(self):
        self.prepare({"book": "plain"}, {**BOOK, "book": "dear", "effective_from": "2026-02-01T00:00:00Z",
                                         "minimum_monthly": "100"})
        one, two = self.invoices("2026-02", MARCH).values()
        self.assertEqual((one["book"]["id"], two["book"]["id"]), ("plain", "dear"))

    def test_a_shadow_book_leaves_it_alone(self):
        self.prepare({"book": "acme"}, OWN)
        dearer = {**BOOK, "book": "dearer", "effective_from": "2026-06-01T00:00:00Z", "minimum_monthly": "90.00"}
        self.run_tool("book", "add", "--shadow", "--db", "t.db", self.write("d.json", json.dumps(dearer)))
        self.invoices("2026-02", MARCH, "--finalize")
        noted = self.run_tool("query", "--db", "t.db", "--format", "tsv",
                              "SELECT account,billed,would FROM shadow_bill").out.splitlines()[1:]
        self.assertEqual(noted, ["2\t20.00\t90.00"])
        self.verify()
        said = self.run_tool("book", "activate", "--db", "t.db", "dearer", now=APRIL, status=1).err
        self.assertIn("account 2", said)
        self.assertNotIn("account 1", said)

    # --- in time ---

    def test_a_later_contract_changes_no_earlier_month(self):
        self.prepare({"discount_percent": "5"})
        first = self.invoices("2026-02", MARCH, "--finalize")[1]
        self.declare({"discount_percent": "50", "commit": {"monthly": "9000"}}, now=MARCH)
        self.verify()
        self.assertEqual(self.invoices("2026-02", APRIL)[1], first)
        self.take(row(gigabytes=100, hour="2026-02-09T06:00:00Z"), now=MARCH)
        march = self.invoices("2026-03", APRIL, "--finalize")[1]
        self.assertEqual(self.lines(march), [("commit", "9000.00"), ("correction", "1.00"),
                                             ("correction", "-0.05")])
        self.verify()

    def test_the_months_last_hour_tells_which_one_counts(self):
        self.prepare({"discount_percent": "5"}, tax={"VAT": 10})
        self.declare({"discount_percent": "50"}, tax={"VAT": 20}, now="2026-02-28T23:00:00Z")
        self.declare({"discount_percent": "100"}, tax={"VAT": 30}, now="2026-02-28T23:00:01Z")
        one = self.invoices("2026-02", MARCH)[1]
        self.assertEqual(([x["amount"] for x in one["lines"] if x["kind"] == "discount"],
                          [t["percent"] for t in one["tax"]]), (["-156.01"], ["20"]))

    def test_late_usage_corrects_discount_and_commit(self):
        self.prepare({"discount_percent": "5", "commit": COMMIT})
        self.invoices("2026-02", MARCH, "--finalize")
        self.take(row(gigabytes=50000, hour="2026-02-09T06:00:00Z"), now=MARCH)
        march = self.invoices("2026-03", APRIL, "--finalize")[1]
        # 81201 GB: 812.01 less 40.60 is 771.41, the rest of the commit 228.59: the sum is as it was
        found = [(x["kind"], x["amount"], x.get("corrects", {}).get("kind")) for x in march["lines"]]
        self.assertEqual(found, [
            ("commit", "1000.00", None), ("correction", "500.00", "bandwidth"),
            ("correction", "-25.00", "discount"), ("correction", "-475.00", "commit")])
        self.take(row(gigabytes=50000, hour="2026-02-09T07:00:00Z"), now=APRIL)
        april = self.invoices("2026-04", MAY, "--finalize")[1]
        # 131201 GB: 1312.01 less 65.60; no commit line is left
        found = [(x["kind"], x["amount"], x.get("corrects", {}).get("kind")) for x in april["lines"]]
        self.assertEqual(found, [
            ("minimum", "20.00", None), ("correction", "500.00", "bandwidth"),
            ("correction", "-25.00", "discount"), ("correction", "-228.59", "commit")])
        self.verify()

    def test_what_is_withdrawn_goes_back_in_a_credit_note(self):
        self.declare({"discount_percent": "10"})
        self.book(BOOK)
        rows = self.write("rows.json", row())
        self.run_tool("import", "--db", "t.db", rows, now=MARCH)
        self.invoices("2026-02", MARCH, "--finalize", "--account", 1)
        self.run_tool("import", "--withdraw", "--db", "t.db", rows, now=MARCH)
        self.assertEqual(self.invoices("2026-03", APRIL, "--finalize", "--account", 1)[1]["lines"][0]["kind"],
                         "minimum")
        notes = [i for i in self.documents("2026-02", APRIL) if i["kind"] == "credit_note"]
        self.assertEqual([self.lines(n) for n in notes],
                         [[("correction", "20.00"), ("correction", "-312.01"), ("correction", "31.20")]])
        self.verify()

    # --- what if, forecasts ---

    def what_if(self, scenario, status=0, **more):
        done = self.run_tool("whatif", "--db", "t.db", "--from", "2026-01", "--to", "2026-03", "--format", "json",
                             self.write("s.json", json.dumps({"scenario": "x", **scenario})), now=APRIL,
                             status=status)
        self.said = done.err
        return {a["account"]: (a["before"], a["after"])
                for s in json.loads(done.out)["scenarios"] for a in s["accounts"]} if done.out else {}

    def test_what_if_an_account_had_a_contract(self):
        self.prepare(None, OWN)
        self.invoices("2026-02", MARCH, "--finalize")
        contract = {"discount_percent": "5", "commit": {"monthly": "1000", "from": "2026-02", "to": "2026-02"}}
        # January and March: no usage, a minimum of 20 for each account
        self.assertEqual(self.what_if({"contracts": {"1": contract}}),
                         {1: ("352.01", "1040.00"), 2: ("60.00", "60.00")})
        self.assertEqual(self.what_if({"contract": {"discount_percent": "5", "minimum_monthly": "0"}}),
                         {1: ("352.01", "296.41"), 2: ("60.00", "0.09")})
        self.assertEqual(self.what_if({"contracts": {"1": {"book": "acme"}}}),
                         {1: ("352.01", "156.01"), 2: ("60.00", "60.00")})
        self.what_if({"contracts": {"1": {"book": "none"}}}, status=2)
        self.assertIn("Scenario x: there is no price book none", self.said)
        self.assertIn("there is no account 9", (self.what_if({"contracts": {"9": contract}}), self.said)[1])

    def test_what_if_nobody_had_one(self):
        self.prepare({"book": "acme", "discount_percent": "5", "commit": COMMIT}, OWN)
        self.invoices("2026-02", MARCH, "--finalize")
        self.assertEqual(self.what_if({}), {1: ("2000.00", "2000.00"), 2: ("60.00", "60.00")})
        # the book stays
        self.assertEqual(self.what_if({"contract": {}})[1], ("2000.00", "156.01"))
        self.assertEqual(self.what_if({"contract": {"book": "plain"}})[1], ("2000.00", "352.01"))

    def test_solve_offers_a_contract_that_costs_what_it_says(self):
        self.prepare({"discount_percent": "1"}, {**BOOK, "book": "no-minimum", "minimum_monthly": "0",
                                                  "effective_from": "2025-06-01T00:00:00Z"})
        answer = json.loads(self.run_tool(
            "solve", "commit", "--db", "t.db", "--account", 1, "--from", "2026-02", "--to", "2026-02",
            "--offer", "0=0", "--offer", "200=10", "--offer", "400=20", "--format", "json", now=MARCH).out)
        self.assertEqual((answer["span"]["before"], answer["best"]["cost"], answer["contract"]), (
            "308.89", "280.81", {"commit": {"monthly": "200"}, "discount_percent": "10"}))
        self.declare(answer["contract"], now="2026-02-20T00:00:00Z")
        self.assertEqual(self.invoices("2026-02", MARCH)[1]["subtotal"], "280.81")

    def test_all_forms_show_its_lines(self):
        self.prepare({"discount_percent": "5", "commit": COMMIT}, tax={"VAT": 10},
                     buyer={"name": "Acme", "country": "DE", "language": "de"})
        self.invoices("2026-02", MARCH, "--finalize")
        def form(name, *words):
            return self.run_tool("invoice", "--db", "t.db", "--month", "2026-02", "--account", 1, "--format", name,
                                 *words, now=MARCH).out
        page = form("html", "--audit")
        for words in ("Vertragsrabatt", "5 % von 312,01", "\u221215,60", "Monatliche Mindestabnahme, Fehlbetrag",
                      "1.000,00 f\u00fcr den Monat vereinbart, abz\u00fcglich 296,41 f\u00fcr Nutzung", "312.01 \u00d7 5 %"):
            self.assertIn(words, page)
        self.assertIn("discount,account:1,,1,month,,-15.6005,-15.60,", form("csv"))
        focus = list(csv.DictReader(form("focus").splitlines()))
        self.assertEqual([(r["ChargeCategory"], r["SkuMeter"], r["BilledCost"]) for r in focus][1:3],
                         [("Adjustment", "Contract Discount", "-15.60"), ("Adjustment", "Monthly Commit", "703.59")])
        said = [json.loads(self.run_tool("invoice", "--db", "t.db", "--month", "2026-02", "--account", 1, "--explain",
                                         line, now=MARCH).out) for line in (2, 3)]
        self.assertEqual([(e["line"]["kind"], bool(e["note"]), e["agrees"]) for e in said],
                         [("discount", True, True), ("commit", True, True)])

    def test_a_forecast_is_rated_by_the_contract(self):
        self.prepare({"discount_percent": "50", "commit": {"monthly": "1000"}})
        done = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json",
                                        now="2026-02-20T00:00:00Z").out)
        found = json.dumps(done)
        self.assertIn("1000.00", found)

    # --- the door ---

    def test_the_door_names_place_and_remedy(self):
        for contract, said in (
                (5, "accounts[0].contract"),
                ({"discont_percent": "5"}, "accounts[0].contract.discont_percent"),
                ({"discount_percent": "100.1"}, "a percent from 0 to 100"),
                ({"discount_percent": "1.23456"}, "4 digits"),
                ({"minimum_monthly": -1}, "accounts[0].contract.minimum_monthly"),
                ({"book": "a b"}, "accounts[0].contract.book"),
                ({"commit": {}}, "accounts[0].contract.commit.monthly"),
                ({"commit": {"monthly": "1", "from": "2026-13"}}, "accounts[0].contract.commit.from"),
                ({"commit": {"monthly": "1", "from": "2026-02", "to": "2026-01"}},
                 "accounts[0].contract.commit.to"),
                ({"commit": {"monthly": "1", "until": "x"}}, "accounts[0].contract.commit.until"),
                ({"commit": {"amount": "1"}}, "accounts[0].contract.commit.every"),
                ({"commit": {"every": "year"}}, "accounts[0].contract.commit.amount"),
                ({"commit": {"amount": "1", "every": "week"}}, "one of month, quarter and year"),
                ({"commit": {"monthly": "1", "every": "month"}}, "left out beside monthly"),
                ({"commit": {"monthly": "1", "amount": "1", "every": "month"}}, "left out beside monthly"),
                ({"commit": {"amount": "-1", "every": "month"}}, "accounts[0].contract.commit.amount"),
                ({"commit": {"amount": "1", "every": "year", "rollover": 1}}, "accounts[0].contract.commit.rollover"),
                ({"commit": []}, "a list of at least one commit"),
                ({"commit": [{"monthly": "1"}] * 25}, "accounts[0].contract.commit[1].from"),
                ({"commit": [{"monthly": "1", "to": "2026-03"}, {"monthly": "2", "from": "2026-05"}]},
                 "accounts[0].contract.commit[1].from: Must be the month after"),
                ({"commit": [{"monthly": "1", "from": "2026-01"}, {"monthly": "2", "from": "2026-01"}]},
                 "accounts[0].contract.commit[1].from: Must be the month after"),
                ({"commit": [{"monthly": "1", "from": f"2026-{m:02}"} for m in range(1, 13)] +
                            [{"monthly": "1", "from": f"2027-{m:02}"} for m in range(1, 13)] +
                            [{"monthly": "1", "from": "2028-01"}]}, "accounts[0].contract.commit: Must be at most 24"),
                ({"commit": [{"monthly": "1", "to": "2026-03"}, {"amount": "2"}]}, "accounts[0].contract.commit[1].every"),
                ({"cap": 5}, "accounts[0].contract.cap"),
                ({"cap": {"monthly": "5"}}, "accounts[0].contract.cap.action"),
                ({"cap": {"action": "alert"}}, "accounts[0].contract.cap.monthly"),
                ({"cap": {"monthly": "5", "action": "stop"}}, "alert or disable"),
                ({"bandwidth": "bytes"}, "accounts[0].contract.bandwidth: Must be percentile")):
            self.assertIn(said, self.declare(contract, status=2).err)
        for contract in ({}, {"discount_percent": 5.25, "commit": {"monthly": 1}},
                         {"commit": {"amount": 1, "every": "quarter", "rollover": True}, "bandwidth": "percentile"},
                         {"commit": [{"monthly": "1", "to": "2026-03"}, {"amount": "2", "every": "year"}]},
                         {"commit": [{"monthly": "1"}, {"amount": "2", "every": "year", "from": "2026-03"}]},
                         {"cap": {"monthly": "5.5", "action": "disable"}}):
            self.declare(contract)


if __name__ == "__main__":
    unittest.main()
