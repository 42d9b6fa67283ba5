"""Load balancer usage, billing, its summary, invoices and their lines, over the wire."""
import json
import select
import unittest
from decimal import Decimal

from harness import CATALOG, ENVIRONMENT, NOW, Case, run, together

BOOK = {
    "book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
    "rounding": "half_up", "minimum_monthly": "1.00",
    "bandwidth": {
        "premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03",
                                             "SA": "0.045", "AF": "0.06"}},
        "volume": {"per": "GB", "scope": "account", "mode": "graduated",
                   "tiers": [{"from": "0", "to": None, "price": "0.005"}]}},
    "optimizer": {"monthly": "9.50"},
    "load_balancer": {
        "monthly_fee": "9.50", "included_requests": 50000000, "included_axis": "absolute",
        "mode": "graduated",
        "tiers": [{"from_millions": 50, "to_millions": None, "price_per_million": "0.65"}]}}

MODEL = ["Balance", "ThisMonthCharges", "LastRechargeBalance", "AvailableBalance", "CouponBalance",
         "MonthlyCouponUsage", "BillingRecords", "BillingHistoryChart", "MonthlyChargesEUTraffic",
         "MonthlyChargesUSTraffic", "MonthlyChargesASIATraffic", "MonthlyChargesAFTraffic",
         "MonthlyChargesSATraffic"]


SELLER = {"name": "Acme CDN GmbH", "country": "DE", "city": "Berlin", "note": "Thank you.",
          "contact": {"name": "Billing", "email": "b@acme.example"}, "tax_currency": "EUR",
          "rates": {"2026-10": "0.92"}, "payment": {"iban": "DE89370400440532013000"}}
EINVOICED = {**SELLER, "street": "Am Kanal 1", "postal_code": "10115", "vat_id": "DE123456789",
             "endpoint": {"scheme": "9930", "id": "DE123456789"},
             "contact": {**SELLER["contact"], "phone": "+49 30 1234567"}}
BUYER = {"name": "<script> & S\u00f8n", "country": "NO", "language": "en", "reference": "PO-1",
         "endpoint": {"scheme": "0192", "id": "974760673"}, "delivery": {"country": "NO"}}


class Billing(Case):
    """October is final; November runs. Account 1 has balancer 7, account 2 is prepaid."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"][1]["prepaid"] = True
        catalog["accounts"].append({"id": 3, "name": "agreed", "contract": {
            "discount_percent": "5", "commit": {"monthly": "10", "from": "2026-10", "to": "2026-10"}}})
        catalog["zones"].append({"id": 301, "account": 3, "name": "agreed"})
        catalog["seller"] = SELLER
        catalog["accounts"][0]["buyer"] = BUYER
        catalog["accounts"][0]["discounts"] = {"AsiaOceaniaDiscount": 10}
        catalog["zones"][1]["settings"] = {"MonthlyBandwidthLimit": 5000}
        catalog["load_balancers"] = [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z",
                                      "deleted": None, "zones": [101]}]
        db = server.db
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": 101, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 3 * 10**11},
                {"zone": 101, "hour": "2026-11-02T05:00:00Z", "region": "SG", "bytes": 10**9},
                {"load_balancer": 7, "hour": "2026-10-03T05:00:00Z", "requests": 51500000},
                {"zone": 201, "hour": "2026-10-03T05:00:00Z", "region": "NY", "bytes": 10**11},
                {"zone": 301, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**11},
                {"zone": 301, "hour": "2026-11-02T05:00:00Z", "region": "DE", "bytes": 10**11}]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", db, "--month", "2026-10", "--finalize")
        run("ledger", "pay", "--db", db, "--account", 1, "--amount", "100", "--reference", "wire 1")
        server.keys["billing"] = server.make_key(1, "SubuserBilling")
        server.keys["admin"] = server.make_key(1, "CustomerAdmin")
        server.keys["agreed"] = server.make_key(3, "User")
        server.keys["zones"] = server.make_key(1, "SubuserPullZones")
        server.start()

    def test_an_invoice_has_its_parties(self):
        number = self.server.get("/billing/invoices", "user").json()["invoices"][0]["number"]
        invoice = self.server.get(f"/billing/invoices/{number}", "user").json()
        self.assertEqual(invoice["buyer"], BUYER)
        self.assertEqual(invoice["seller"]["payment"]["means"], "58")
        self.assertEqual(invoice["seller"]["tax_rate"], "0.92")
        other = self.server.get("/billing/invoices", "other").json()["invoices"][0]["number"]
        invoice = self.server.get(f"/billing/invoices/{other}", "other").json()
        self.assertIsNone(invoice["buyer"])

    def usage(self, query="", key="user", balancer=7):
        return self.server.get(f"/loadbalancer/{balancer}/usage{query}", key)

    # holds: balancer.endpoint, balancer.year-month
    def test_usage_is_what_the_command_line_prints(self):
        answer = self.usage("?year=2026&month=10")
        self.assertEqual(answer.status, 200, answer.body)
        done = run("usage", "--db", self.server.db, "--balancer", 7, "--month", "2026-10")
        self.assertEqual(answer.body + b"\n", done.stdout)
        self.assertEqual(list(answer.json()), ["LoadBalancerId", "PeriodStart", "PeriodEnd",
                                               "ResetsAt", "CurrentRequests", "IncludedRequests",
                                               "MonthlyFee", "Tiers"])
        self.assertIn(b'"MonthlyFee":9.5,', answer.body)
        self.assertEqual(self.usage().body + b"\n",
                         run("usage", "--db", self.server.db, "--balancer", 7).stdout)
        self.assertEqual(self.usage("?year=2025&month=1").json()["CurrentRequests"], 0)

    # holds: balancer.month-bounds
    def test_usage_refuses_half_a_month_no_month_and_the_future(self):
        for query in ("?year=2026", "?month=10", "?year=2026&month=0", "?year=2026&month=13",
                      "?year=2026&month=12", "?year=2027&month=1", "?year=0&month=1",
                      "?year=x&month=1", "?year=2026&month=1.5", "?year=10000&month=1"):
            self.refused(self.usage(query), 400, "loadBalancer.invalid_period")
        self.refused(self.usage("?year=2026"), 400, "loadBalancer.invalid_period", "month")

    def test_usage_of_another_account_is_like_none(self):
        for balancer in (8, 0, "x", "07"):
            self.refused(self.usage(balancer=balancer), 404, "loadBalancer.not_found",
                         "LoadBalancer")
        self.refused(self.usage(key="other"), 404, "loadBalancer.not_found", "LoadBalancer")

    def test_usage_carries_an_etag(self):
        first = self.usage("?year=2026&month=10")
        again = self.server.get("/loadbalancer/7/usage?year=2026&month=10", "user",
                                If_None_Match=first.headers["etag"])
        self.assertEqual(again.status, 304)

    def test_roles(self):
        self.assertEqual(self.usage(key="zones").status, 200)
        self.refused(self.usage(key="billing"), 403, "authorization.forbidden")
        for path in ("/billing", "/billing/summary", "/billing/forecast", "/billing/invoices",
                     "/billing/invoices/2026-000001",
                     "/billing/invoices/2026-000001/forms", "/billing/invoices/2026-000001/lines/1/explain"):
            self.assertEqual(self.server.get(path, "billing").status, 200, path)
            self.refused(self.server.get(path, "zones"), 403, "authorization.forbidden")
            self.refused(self.server.get(path, None), 401, "authentication.failed")

    def test_an_operator_names_the_account(self):
        """What the operator reads of an account is, byte for byte, what the account's own key reads."""
        number = self.server.get("/billing/invoices", "user").json()["invoices"][0]["number"]
        for path in ("/billing", "/billing/summary", "/billing/forecast?seed=1", "/billing/statement", "/billing/invoices",
                     f"/billing/invoices/{number}?format=json", f"/billing/invoices/{number}/lines/1/explain?day=2026-10-03"):
            more = "&" if "?" in path else "?"
            self.assertEqual(self.server.get(f"{path}{more}account=1", "operator").body, self.server.get(path, "user").body, path)
            self.assertEqual(self.server.get(f"{path}{more}account=1", "user").status, 200, path)
            self.refused(self.server.get(f"{path}{more}account=2", "user"), 403, "authorization.forbidden", "account")
            self.refused(self.server.get(path, "operator"), 400, "validation_error", "account")
            self.assertEqual(self.server.get(f"{path}{more}account=999", "operator").status, 404, path)
        self.assertEqual(self.server.get(f"/billing/invoices/{number}?account=2", "operator").status, 404)

    def test_billing_has_its_fields_and_figures(self):
        answer = self.server.get("/billing")
        model = answer.json()
        self.assertEqual(list(model)[:len(MODEL)], MODEL)
        self.assertIn(b'"MonthlyChargesASIATraffic":0.0300007956,', answer.body)
        self.assertEqual(model["AsiaOceaniaDiscount"], 10)
        self.assertEqual(model["OptimizerMonthlyPrice"], 9.5)
        self.assertEqual(model["LastRechargeBalance"], 100)
        payment, invoice = model["BillingRecords"]
        self.assertEqual((payment["Type"], payment["Amount"], payment["PaymentId"]),
                         (6, 100, "wire 1"))
        self.assertEqual((invoice["Type"], invoice["InvoiceAvailable"]), (3, True))
        self.assertEqual(invoice["DocumentDownloadUrl"], "/billing/invoices/2026-000001")
        self.assertEqual(model["Balance"], 100 + invoice["Amount"])
        self.assertGreater(model["MonthlyBandwidthUsed"], 10**9)

    def test_forecast_is_what_the_command_prints(self):
        answer = self.server.get("/billing/forecast")
        self.assertEqual(answer.body + b"\n", run("forecast", "--db", self.server.db, "--account", 1).stdout)
        again = self.server.get("/billing/forecast", "user", If_None_Match=answer.headers["etag"])
        self.assertEqual(again.status, 304)
        query = "/billing/forecast?seed=7&paths=500"
        self.assertEqual(self.server.get(query).body + b"\n",
                         run("forecast", "--db", self.server.db, "--account", 1, "--seed", 7,
                             "--paths", 500).stdout)
        self.assertEqual(self.server.get("/billing/forecast", "other").json()["account"], 2)

    def test_alerts_are_seen_by_the_account_and_set_by_its_administrator(self):
        def call(method, path, key, body=None):
            return self.server.ask(method, path, key, json.dumps(body).encode() if body else b"", Content_Type="application/json")
        budget = {"id": "budget", "kind": "forecast", "above": "500.00", "probability": "0.5"}
        self.assertEqual(call("POST", "/billing/alerts", "admin", budget).status, 200)
        listed = {"account": 1, "currency": "USD", "messagesOn": False, "alerts": [
            {"id": "budget", "kind": "forecast", "above": "500", "probability": "0.5", "own": True, "raised": None, "seen": None}]}
        for path, key in (("/billing/alerts", "admin"), ("/billing/alerts", "user"), ("/billing/alerts", "billing"),
                          ("/billing/alerts?account=1", "operator")):
            self.assertEqual(self.server.get(path, key).json(), listed, (path, key))
        self.assertEqual(self.server.get("/billing/alerts", "other").json()["alerts"], [])
        for key in ("user", "billing"):
            self.refused(call("POST", "/billing/alerts", key, budget), 403, "authorization.forbidden")
            self.refused(call("DELETE", "/billing/alerts/budget", key), 403, "authorization.forbidden")
        self.refused(self.server.get("/billing/alerts", "zones"), 403, "authorization.forbidden")
        self.assertEqual(call("POST", "/billing/alerts", "admin", {**budget, "account": 2}).status, 404)
        self.refused(call("POST", "/billing/alerts", "admin", {**budget, "above": "a lot"}), 400, "validation_error", "above")
        self.refused(call("DELETE", "/billing/alerts/other", "admin"), 404, "resource.not_found")
        self.assertEqual(call("POST", "/billing/alerts", "operator", {**budget, "account": 2}).status, 200)
        self.assertEqual(call("DELETE", "/billing/alerts/budget?account=2", "operator").status, 204)
        self.assertEqual(call("DELETE", "/billing/alerts/budget", "admin").status, 204)
        self.assertEqual(self.server.get("/billing/alerts").json()["alerts"], [])

    def test_forecast_refuses_what_it_cannot_draw(self):
        for query, field in (("seed=-1", "seed"), ("seed=4294967296", "seed"), ("seed=x", "seed"),
                             ("paths=99", "paths"), ("paths=10001", "paths")):
            self.refused(self.server.get("/billing/forecast?" + query), 400, "validation_error",
                         field)

    # holds: pullzone.enabled
    def test_zones_are_enabled_below_their_limit_and_while_money_lasts(self):
        enabled = {zone["Id"]: zone["Enabled"] for key in ("user", "other")
                   for zone in self.server.get("/pullzone", key).json()}
        self.assertEqual(enabled, {101: True, 102: False, 201: False})

    def test_summary_shows_charges_and_bytes(self):
        zones = {z["PullZoneId"]: z for z in self.server.get("/billing/summary").json()}
        self.assertEqual(list(zones), [101, 102])
        self.assertGreaterEqual(zones[101]["MonthlyBandwidthUsed"], 10**9)
        other = self.server.get("/billing/summary", "other").json()
        self.assertEqual([z["PullZoneId"] for z in other], [201])

    def test_an_invoice_is_the_stored_text(self):
        listed = self.server.get("/billing/invoices").json()["invoices"]
        self.assertEqual([(i["number"], i["state"], i["month"]) for i in listed],
                         [("2026-000001", "final", "2026-10")])
        answer = self.server.get("/billing/invoices/2026-000001")
        done = run("invoice", "--db", self.server.db, "--month", "2026-10", "--account", 1)
        self.assertEqual(b'{"invoices":[' + answer.body + b"]}\n", done.stdout)
        self.assertEqual(answer.json()["sha256"], listed[0]["sha256"])

    def test_a_contract_is_lines_of_the_account(self):
        number = self.server.get("/billing/invoices", "agreed").json()["invoices"][0]["number"]
        path = f"/billing/invoices/{number}"
        self.assertEqual([(n["kind"], n["amount"]) for n in self.server.get(path, "agreed").json()["lines"]], [
            ("bandwidth", "1.00"), ("discount", "-0.05"), ("commit", "9.05")])
        said = self.server.get(f"{path}/lines/2/explain", "agreed").json()
        self.assertEqual((said["line"]["tiers"][0]["price"], said["agrees"]), ("5", True))
        # of the running month: the account's with the discount, its zone's without, no commit
        self.assertEqual(self.server.get("/billing", "agreed").json()["ThisMonthCharges"], 0.95)
        self.assertEqual([z["MonthlyUsage"] for z in self.server.get("/billing/summary", "agreed").json()], [1.0])

    def test_accept_decides_the_form(self):
        path = "/billing/invoices/2026-000001"
        for accept, kind, start in (
                ("text/csv", "text/csv; charset=utf-8", b"account,number,"),
                ("text/html,*/*;q=0.8", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
                ("*/*", "application/json", b'{"account":1'),
                ("image/png", "application/json", b'{"account":1')):
            answer = self.server.get(path, Accept=accept)
            self.assertEqual(answer.headers["content-type"], kind)
            self.assertTrue(answer.body.startswith(start), answer.body[:40])

    def test_the_query_decides_before_accept(self):
        path = "/billing/invoices/2026-000001"
        for query, kind, start in (("format=csv", "text/csv; charset=utf-8", b"account,number,"),
                                   ("format=focus", "text/csv; charset=utf-8", b"BilledCost,"),
                                   ("Format=json&paper=letter&audit=true", "application/json",
                                    b'{"account":1')):
            answer = self.server.get(f"{path}?{query}", Accept="text/html")
            self.assertEqual(answer.headers["content-type"], kind)
            self.assertTrue(answer.body.startswith(start), answer.body[:40])
        for query, field in (("format=doc", "format"), ("paper=a5", "paper"),
                             ("audit=2", "audit")):
            answer = self.server.get(f"{path}?{query}")
            self.refused(answer, 400, "validation_error")
            self.assertEqual(answer.json()["Field"], field)

    def test_a_form_has_its_file_name_and_what_an_invoice_lacks_is_said_beforehand(self):
        path = "/billing/invoices/2026-000001"
        forms = self.server.get(f"{path}/forms").json()["forms"]
        self.assertEqual({one["form"]: one["file"] for one in forms}, {form: f"2026-000001{end}" for form, end in (
            ("json", ".json"), ("csv", ".csv"), ("html", ".html"), ("focus", ".focus.csv"), ("pdf", ".pdf"), ("ubl", "-ubl.xml"),
            ("xrechnung", "-xrechnung.xml"))})
        for one in forms:
            answer = self.server.get(f"{path}?format={one['form']}")
            self.assertEqual((answer.status, answer.json()["Message"]) if answer.status == 400 else (200, None), (400 if one["lacks"] else 200, one["lacks"]))
            if answer.status == 200:
                self.assertEqual(answer.headers["content-disposition"], f'inline; filename="{one["file"]}"')
        self.assertEqual({one["form"] for one in forms if one["lacks"]}, {"ubl", "xrechnung"})

    def test_a_statement_is_what_the_command_line_prints(self):
        query = "from=2026-11-01&to=2026-11-30"
        answer = self.server.get(f"/billing/statement?{query}")
        self.assertEqual(answer.status, 200, answer.body)
        words = ("ledger", "statement", "--db", self.server.db, "--account", 1, "--from", "2026-11-01",
                 "--to", "2026-11-30")
        self.assertEqual(answer.body + b"\n", run(*words).stdout)
        said = answer.json()
        self.assertEqual(sum((Decimal(e["amount"]) for e in said["entries"]), Decimal(said["opening"])),
                         Decimal(said["closing"]))
        self.assertEqual([e["kind"] for e in said["entries"]], ["invoice", "payment"])
        for form, kind, start in (("csv", "text/csv; charset=utf-8", b"time,kind,"),
                                  ("html", "text/html; charset=utf-8", b"<!DOCTYPE html>"),
                                  ("pdf", "application/pdf", b"%PDF-1.")):
            answer = self.server.get(f"/billing/statement?{query}&format={form}")
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, kind))
            self.assertTrue(answer.body.startswith(start))
            self.assertEqual(answer.body, run(*words, "--format", form).stdout)
        one = self.server.get("/billing/statement?from=2026-11-30&to=2026-11-30").json()
        self.assertEqual((one["opening"], one["entries"]), (said["closing"], []))
        for query, field in (("from=2026-11-31", "from"), ("to=x", "to"), ("format=xml", "format"),
                             ("from=2026-11-02&to=2026-11-01", "from")):
            answer = self.server.get(f"/billing/statement?{query}")
            self.refused(answer, 400, "validation_error")
            self.assertEqual(answer.json()["Field"], field)
        self.assertNotEqual(self.server.get("/billing/statement", "other").json()["account"], 1)
        self.assertEqual(self.server.get("/billing/statement", "zones").status, 403)

    def test_another_accounts_invoice_is_like_none(self):
        for path in ("/billing/invoices/2026-000002", "/billing/invoices/2026-000009",
"/billing/invoices/2026-000002/forms", "/billing/invoices/x/forms",
                     "/billing/invoices/x", "/billing/invoices/" + "9" * 60,
                     "/billing/invoices/2026-000002/lines/1/explain",
                     "/billing/invoices/2026-000001/lines/99/explain",
                     "/billing/invoices/2026-000001/lines/0/explain",
                     "/billing/invoices/2026-000001/lines/x/explain"):
            self.refused(self.server.get(path), 404, "invoice.not_found")
        self.assertEqual(self.server.get("/billing/invoices/2026-000002", "other").status, 200)
        self.assertEqual([i["number"] for i in
                          self.server.get("/billing/invoices", "other").json()["invoices"]],
                         ["2026-000002"])

    def test_a_line_is_explained_as_the_command_line_does(self):
        lines = self.server.get("/billing/invoices/2026-000001").json()["lines"]
        number = next(l["line"] for l in lines if l["kind"] == "balancer_requests")
        answer = self.server.get(f"/billing/invoices/2026-000001/lines/{number}/explain")
        done = run("invoice", "--db", self.server.db, "--month", "2026-10", "--account", 1,
                   "--explain", number)
        self.assertEqual(answer.body + b"\n", done.stdout)
        explained = answer.json()
        self.assertEqual(explained["crossings"][0]["threshold"], "50000000")
        self.assertTrue(explained["agrees"])

    def test_a_line_shows_the_hours_of_a_day(self):
        path = "/billing/invoices/2026-000001/lines/1/explain"
        whole = self.server.get(path, "billing").json()
        self.assertNotIn("hours", whole)
        for day in whole["days"]:
            got = self.server.get(f"{path}?day={day['day'][:10]}", "billing").json()
            hours = got.pop("hours")
            self.assertEqual(got, whole)
            self.assertEqual([one["hour"][:13] for one in hours],
                             [f"{day['day'][:10]}T{hour:02}" for hour in range(24)])
            self.assertEqual(sum(int(one["quantity"]) for one in hours), int(day["quantity"]))
            self.assertEqual([one["quantity"] for one in hours if one["quantity"] != "0"],
                             [day["quantity"]], "all of it came at five")
            self.assertNotEqual(hours[5]["quantity"], "0")
        quiet = self.server.get(f"{path}?day=2026-10-31", "billing").json()["hours"]
        self.assertEqual({one["quantity"] for one in quiet}, {"0"})
        for day in ("2026-09-30", "2026-11-01", "yesterday"):
            self.refused(self.server.get(f"{path}?day={day}", "billing"), 400, "validation_error", "day")

    def test_the_list_says_what_remains(self):
        for key, account, owes in (("user", 1, False), ("other", 2, True)):
            listed = self.server.get("/billing/invoices", key).json()["invoices"]
            aged = json.loads(run("ledger", "aging", "--db", self.server.db, "--account", account,
                                  "--format", "json").stdout)
            open_ones = {one["number"]: one for one in aged["accounts"][0]["invoices"]}
            self.assertEqual(bool(open_ones), owes)
            for one in listed:
                owed = open_ones.get(one["number"], {"remaining": "0.00", "due": one["due"]})
                self.assertEqual((one["remaining"], one["due"]), (owed["remaining"], owed["due"]))

    def test_the_balance_history_is_in_the_statistics(self):
        chart = self.server.get("/statistics?dateFrom=2026-11-01&dateTo=2026-11-04").json()[
            "UserBalanceHistoryChart"]
        self.assertEqual(list(chart), [f"2026-11-0{day}T00:05:00" for day in range(1, 5)])


class Drawn(Case):
    """Account 1 has an invoice of many pages, and one of account 2 is short."""

    zones = 300

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["seller"] = EINVOICED
        catalog["accounts"][0]["buyer"] = {**BUYER, "street": "1", "city": "Oslo",
                                             "postal_code": "0150"}
        catalog["accounts"][0]["tax"] = {"category": "S", "rate": "19"}
        many = [1000 + i for i in range(cls.zones)]
        catalog["zones"] += [{"id": i, "account": 1, "name": f"zone-{i}",
                              "created": "2026-01-05T00:00:00Z"} for i in many]
        db = server.db
        ENVIRONMENT["TOLLBOOK_NOW"] = "2026-09-30T00:00:00Z"  # the tax is October's
        try:
            run("apply", "--delete", "--backdated", "--db", db, "-", stdin=json.dumps(catalog).encode())
        finally:
            ENVIRONMENT["TOLLBOOK_NOW"] = NOW
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": region,
                 "bytes": 10**9 + zone} for zone in many + [201] for region in ("DE", "NY", "SG")]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", db, "--month", "2026-10", "--finalize")
        server.keys["zones"] = server.make_key(1, "SubuserPullZones")
        server.start()

    def printed(self, account, form, *more):
        """What the command line writes, whose files hold an invoice each."""
        folder = self.server.path / f"{account}-{form}{''.join(more)}"
        run("invoice", "--db", self.server.db, "--month", "2026-10", "--account", account,
            "--format", form, "--out", folder, *more)
        files = [path for path in folder.iterdir() if path.is_file()]
        self.assertEqual(len(files), 1, files)
        return files[0].read_bytes()

    def drawn(self, query, number="2026-000001", key="user"):
        answer = self.server.get(f"/billing/invoices/{number}?{query}", key)
        self.assertEqual(answer.status, 200, answer.body[:200])
        self.assertNotIn("etag", answer.headers)
        return answer.headers["content-type"], answer.body

    def test_every_form_is_what_the_command_line_writes(self):
        for form, kind in (("pdf", "application/pdf"), ("html", "text/html; charset=utf-8"),
                           ("focus", "text/csv; charset=utf-8"), ("ubl", "application/xml"),
                           ("xrechnung", "application/xml"),
                           ("csv", "text/csv; charset=utf-8")):
            self.assertEqual(self.drawn(f"format={form}"), (kind, self.printed(1, form)), form)
        # by these --resume tells two forms of one name apart
        for form, mark in (("ubl", b":poacc:billing:3.0<"), ("xrechnung", b":xrechnung_3.0<"),
                           ("focus", b"BillingAccountId"), ("csv", b"account,number,kind,")):
            self.assertEqual([f for f in ("ubl", "xrechnung", "focus", "csv")
                              if mark in self.drawn(f"format={f}")[1][:1024]], [form])
        self.assertEqual(self.drawn("format=pdf&paper=letter&audit=true")[1],
                         self.printed(1, "pdf", "--paper", "letter", "--audit"))

    def test_refusals_are_those_of_the_stored_text(self):
        for form in ("json", "pdf", "html", "focus", "ubl", "xrechnung"):
            for number in ("2026-000002", "2026-000009", "x", "9" * 60):
                path = f"/billing/invoices/{number}?format={form}"
                self.refused(self.server.get(path), 404, "invoice.not_found", "number")
            self.refused(self.server.get(path, "zones"), 403, "authorization.forbidden")
            self.refused(self.server.get(path + "&paper=a5"), 400, "validation_error", "paper")
        for form in ("json", "pdf", "html"):
            path = f"/billing/statement?format={form}"
            self.refused(self.server.get(path, "zones"), 403, "authorization.forbidden")
            self.refused(self.server.get(path + "&from=2026-11-02&to=2026-11-01"), 400,
                         "validation_error", "from")
        lacking = self.server.get("/billing/invoices/2026-000002?format=xrechnung", "other")
        self.refused(lacking, 400, "validation_error", "buyer.name")

    def test_documents_at_once_are_right(self):
        kinds = (("format=pdf", "2026-000001", "user", self.printed(1, "pdf")),
                 ("format=pdf", "2026-000002", "other", self.printed(2, "pdf")),
                 ("format=html", "2026-000001", "user", self.printed(1, "html")))

        def ask(i):
            query, number, key, body = kinds[i % 3]
            return [self.drawn(query, number, key)[1] == body for _ in range(3)]

        self.assertEqual(together(6, ask), [[True] * 3] * 6)

    def test_clients_that_leave_change_nothing_for_others(self):
        path, key = "/billing/invoices/2026-000001?format=pdf", self.server.keys["user"]
        for _ in range(3):
            with self.server.wire() as wire:
                wire.send(f"GET {path} HTTP/1.1\r\nHost: test\r\nAccessKey: {key}\r\n\r\n".encode())
        self.assertEqual(self.drawn("format=pdf")[1], self.printed(1, "pdf"))

    def answers_meanwhile(self, path):
        """How often account 2 has an answer before the first of four that take long is there."""
        wires = [self.server.wire() for _ in range(5)]
        for wire in wires[1:]:
            wire.send(f"GET {path} HTTP/1.1\r\nHost: test\r\n"
                      f"AccessKey: {self.server.keys['user']}\r\n\r\n".encode())
        n = 0
        while not select.select([wire.sock for wire in wires[1:]], [], [], 0)[0]:
            answer = wires[0].ask("GET", "/billing/summary",
                                  {"AccessKey": self.server.keys["other"]})
            self.assertEqual(answer.status, 200)
            n += 1
        self.assertEqual([wire.read().status for wire in wires[1:]], [200] * 4)
        for wire in wires:
            wire.sock.close()
        return n

    # A worker that draws answers nobody: account 2 would have one answer or two that were under way.
    def test_others_are_answered_meanwhile(self):
        path = "/billing/invoices/2026-000001?format=pdf"
        self.assertTrue(any(self.answers_meanwhile(path) > 3 for _ in range(20)),
                        "account 2 had to wait for the PDFs of account 1")


class VolumeByRegion(Case):
    """One volume line for all regions, shown by region as its bytes are."""

    REGIONS = {"EU": "DE", "US": "NY", "ASIA": "SG", "AF": "JH", "SA": "BR"}
    BYTES = {"EU": 3 * 10**9, "US": 2 * 10**9, "ASIA": 10**9, "SA": 10**9}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"] += [{"id": 103, "account": 1, "name": "big", "type": "volume",
                              "created": "2026-01-05T00:00:00Z"},
                             {"id": 203, "account": 2, "name": "one", "type": "volume",
                              "created": "2026-01-05T00:00:00Z"}]
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", server.db, "-", stdin=json.dumps(
            {**BOOK, "minimum_monthly": "0"}).encode())
        rows = [{"zone": 103, "hour": "2026-11-02T05:00:00Z", "region": cls.REGIONS[region],
                 "bytes": n} for region, n in cls.BYTES.items()]
        rows.append({"zone": 203, "hour": "2026-11-02T05:00:00Z", "region": "SG",
                     "bytes": 7 * 10**9})
        run("import", "--db", server.db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows)
            .encode())
        server.start()

    def of(self, key, text=False):
        """Each region's charge, without those of the log's premium zones."""
        body = self.server.get("/billing", key).body.decode()
        parse = Decimal if text else float
        model = json.loads(body, parse_float=parse, parse_int=parse)
        return {region: model[f"MonthlyCharges{region}Traffic"] for region in self.REGIONS}

    def test_the_amount_is_shared_out_by_bytes(self):
        premium = {"EU": "0.01", "US": "0.01", "ASIA": "0.03", "AF": "0.06", "SA": "0.045"}
        logged = {"EU": 0, "US": 0, "ASIA": 0, "AF": 0, "SA": 0}
        for zone in (101, 102):
            chart = self.server.get(f"/statistics?pullZone={zone}&dateFrom=2026-11-01"
                                    "&dateTo=2026-11-04").json()["GeoTrafficDistribution"]
            for name, n in chart.items():
                region = next(r for r, code in self.REGIONS.items() if code in name)
                logged[region] += n
        shown, whole = self.of("user", text=True), sum(self.BYTES.values())
        total = Decimal("0.005") * whole / 10**9
        for region in self.REGIONS:
            share = total * self.BYTES.get(region, 0) / whole
            expected = share + Decimal(premium[region]) * logged[region] / 10**9
            self.assertAlmostEqual(shown[region], expected, 15, region)

    def test_one_region_has_all_of_it(self):
        shown = self.of("other", text=True)
        self.assertEqual([region for region, n in shown.items() if n > Decimal("0.001")], ["ASIA"])
        self.assertGreaterEqual(shown["ASIA"], Decimal("0.035"))


if __name__ == "__main__":
    unittest.main()
