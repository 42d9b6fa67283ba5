"""The operator's routes over the wire: books, a month's groups, void, late and the ledger."""
import json
import re
import unittest
from decimal import Decimal, localcontext
from harness import CATALOG, Case, run
from test_billing import BOOK

MONTH = "2026-10"


class Operator(Case):
    """October waits to be made final; nothing has a price yet."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**11}
                for zone in (101, 201)]
        cls.send("POST", "/catalog?delete=true", CATALOG)
        cls.server.ask("POST", "/ingest/buckets", "ingest",
                       "".join(json.dumps(row) + "\n" for row in rows).encode())

    @classmethod
    def send(cls, method, target, document=None):
        body = None if method != "POST" else b"" if document is None \
            else json.dumps(document).encode()
        return cls.server.ask(method, target, "operator", body)

    def month(self, **more):
        """The counts, what was said, and the invoices."""
        reply = self.send("POST", "/operations/invoice", {"month": MONTH, **more}).json()
        self.assertEqual(reply["next"], "")
        return reply["answer"], reply["said"], json.loads(reply["out"])["invoices"]

    def test_1_without_prices_an_account_is_refused_and_said(self):
        self.assertEqual(self.month(account=2)[0]["accounts"], 1)
        counts, said, invoices = self.month(finalize=True)
        self.assertEqual((counts["done"], counts["refused"], invoices), (2, 2, []))
        self.assertIn("without a price", said[0])

    def test_2_a_book_is_added_once(self):
        answer = self.send("POST", "/books", BOOK)
        self.assertEqual((answer.status, answer.json()["known"]), (201, False))
        answer = self.send("POST", "/books", BOOK)
        self.assertEqual((answer.status, answer.json()["known"]), (200, True))
        self.refused(self.send("POST", "/books", {**BOOK, "minimum_monthly": "7"}), 400,
                     "book.invalid")
        bad = self.send("POST", "/books", {**BOOK, "colour": 1})
        self.refused(bad, 400, "book.invalid", "colour")
        self.assertRegex(bad.json()["Message"], r"^Line 1, byte \d+: colour: ")

    def test_3_a_month_and_the_same_again(self):
        self.assertEqual([i["state"] for i in self.month()[2]], ["draft", "draft"])
        counts, _, first = self.month(account=1, finalize=True)
        self.assertEqual((counts["made"], first[0]["number"]), (1, "2026-000001"))
        counts, _, both = self.month(finalize=True)
        self.assertEqual((counts["made"], counts["known"], counts["done"]), (1, 1, 2))
        self.assertEqual(both[0], first[0])
        counts, _, again = self.month(finalize=True)
        self.assertEqual((counts["made"], counts["known"], again), (0, 2, both))
        out = self.send("POST", "/operations/invoice", {"month": MONTH}).json()["out"]
        own = self.server.get("/billing/invoices/2026-000001").body.decode()
        self.assertTrue(out.startswith('{"invoices":[' + own))
        stored = run("invoice", "--db", self.server.db, "--month", MONTH).stdout.decode()
        self.assertEqual(out, stored)

    def test_3_what_is_no_way_to_go_on(self):
        for follows in ("x", "1 2 3", "1 0 0 0 0 0 0 0 1x", "-1 0 0 0 0 0 0 0", "9" * 30):
            self.refused(self.send("POST", "/operations/invoice", {
                "month": MONTH, "finalize": True, "next": follows}), 400, "validation_error", "next")

    def test_4_void_late_and_shadows(self):
        self.assertEqual(self.send("POST", "/invoices/2026-000002/void").json(),
                         {"number": "2026-000002", "state": "void"})
        self.refused(self.send("POST", "/invoices/2026-000002/void"), 400, "validation_error")
        for number in ("2026-000099", "x", "2026-00000000000000000001", "%31"):
            self.refused(self.send("POST", f"/invoices/{number}/void"), 404, "invoice.not_found")
        self.assertEqual(self.month(account=2, finalize=True)[2][0]["number"], "2026-000003")
        self.assertEqual(self.send("GET", "/invoices/late").json(), {"late": []})
        row = {"zone": 101, "hour": "2026-10-04T05:00:00Z", "region": "DE", "bytes": 10**9}
        self.server.ask("POST", "/ingest/buckets", "ingest", json.dumps(row).encode() + b"\n")
        late = self.send("GET", "/invoices/late?account=1").json()["late"]
        self.assertEqual([(m["account"], m["month"], m["invoice"], m["outcome"]) for m in late],
                         [(1, MONTH, "2026-000001", "final")])
        self.assertEqual(self.send("GET", "/invoices/late?account=2").json(), {"late": []})

    def test_5_the_ledger(self):
        entry = {"account": 1, "kind": "payment", "amount": "3.00", "reference": "w1"}
        first = self.send("POST", "/ledger", entry).json()
        self.assertFalse(first["known"])
        again = self.send("POST", "/ledger", entry).json()
        self.assertEqual(again, {**first, "known": True})
        for change, field in (({"amount": "4.00"}, "reference"), ({"amount": 3}, "amount"),
                              ({"amount": "3.001", "reference": "n"}, "amount"),
                              ({"amount": "-1", "reference": "n"}, "amount"),
                              ({"kind": "invoice"}, "kind"), ({"reference": ""}, "reference"),
                              ({"reference": "a\n"}, "reference"), ({"note": "x" * 128}, "note"),
                              ({"account": -1}, "account")):
            self.refused(self.send("POST", "/ledger", {**entry, **change}), 400, "validation_error",
                         field)
        self.refused(self.send("POST", "/ledger", {**entry, "account": 9, "reference": "n"}), 404,
                     "resource.not_found", "account")

    def test_6_shadow_books(self):
        shadow = json.loads(json.dumps({**BOOK, "book": "next",
                                        "effective_from": "2027-01-01T00:00:00Z"}))
        shadow["bandwidth"]["premium"]["regions"]["EU"] = "0.02"
        self.assertTrue(self.send("POST", "/books?shadow=true", shadow).json()["shadow"])
        answer = self.send("POST", "/books/next/activate").json()
        self.assertEqual((answer["active"], answer["over"], answer["maxChange"]), (False, 2, "10"))
        self.assertEqual(len(answer["said"]), 3)
        for query in ("maxChange=x", "maxChange=-1", "months=0", "months=121", "anyway=2"):
            self.refused(self.send("POST", "/books/next/activate?" + query), 400,
                         "validation_error", query.split("=")[0])
        answer = self.send("POST", "/books/next/activate?maxChange=500").json()
        self.assertEqual((answer["active"], answer["over"], answer["months"]), (True, 0, 2))
        for method, target in (("POST", "/books/next/activate"), ("DELETE", "/books/next"),
                               ("DELETE", "/books/" + "x" * 65)):
            self.refused(self.send(method, target), 404, "resource.not_found")

    def test_7_bodies_that_are_refused(self):
        for document, field in (({}, None), ({"month": "2026-13"}, "month"),
                                ({"month": "2027-01"}, None),
                                ({"month": MONTH, "account": 0}, "account"),
                                ({"month": MONTH, "account": "1"}, "account"),
                                ({"month": MONTH, "account": [1, 2]}, "account"),
                                ({"month": MONTH, "finalize": 1}, "finalize"),
                                ({"month": MONTH, "empty": True}, None),
                                ({"month": MONTH, "x": 1}, "x"), ([], None)):
            answer = self.send("POST", "/operations/invoice", document)
            self.refused(answer, 400, "validation_error", field)
        self.refused(self.server.ask("POST", "/operations/invoice", "operator", b"{"), 400,
                     "validation_error")
        self.refused(self.send("POST", "/operations/invoices", {}), 404, "resource.not_found")
        self.refused(self.send("POST", "/operations/invoice", {"month": MONTH, "account": 9}), 404,
                     "resource.not_found", "account")
        self.refused(self.send("POST", "/operations/invoice",
                               {"month": "2026-11", "account": 1, "finalize": True}), 409,
                     "invoice.not_over", "month")


class Absurd(Case):
    """Account 1 has amounts whose exact sum has 39 digits, account 2 a price that no amount can hold;
    zone 999 and load balancer 8 belong to nobody."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"] += [{"id": zone, "account": account, "name": str(zone),
                              "created": "2026-01-05T00:00:00Z", "settings": settings}
                             for zone, account, settings in (
                                 (111, 1, {"PriceOverride": 0.5}), (112, 1, {}),
                                 (211, 2, {"PriceOverride": 10**20}))]
        book = json.loads(json.dumps(BOOK))
        book["bandwidth"]["premium"]["regions"]["EU"] = "0.010000000000001"
        rows = [{"zone": zone, "hour": f"2026-{month}-03T05:00:00Z", "region": "DE", "requests": 2,
                 "bytes": amount} for month in (10, 11)
                for zone, amount in ((111, 10**15), (112, 1), (211, 10**18), (999, 5))]
        rows.append({"load_balancer": 8, "hour": "2026-10-03T05:00:00Z", "requests": 12})
        for target, document in (("/catalog?delete=true", catalog), ("/books", book)):
            cls.server.ask("POST", target, "operator", json.dumps(document).encode())
        cls.server.ask("POST", "/ingest/buckets", "ingest",
                       "".join(json.dumps(row) + "\n" for row in rows).encode())

    def run_month(self, **more):
        body = {"month": MONTH, **more}
        return self.server.ask("POST", "/operations/invoice", "operator",
                               json.dumps(body).encode()).json()

    def test_1_a_refused_account_leaves_the_others(self):
        for more in ({}, {"finalize": True}):
            answer = self.run_month(**more)
            invoices = json.loads(answer["out"])["invoices"]
            self.assertEqual([i["account"] for i in invoices], [1])
            self.assertEqual((answer["answer"]["done"], answer["answer"]["refused"]), (2, 1))
            self.assertIn("account 2 (borealis): override in EU of zone:211: ", answer["said"][0])
            self.assertEqual(invoices[0]["subtotal"], "500000000000000.00")

    def test_2_usage_of_no_account_is_answered(self):
        expected = {"zones": [{"zone": 999, "requests": "2", "bytes": "5"}], "zone_count": 1,
                    "requests": "2", "bytes": "5",
                    "load_balancers": [{"load_balancer": 8, "requests": "12"}],
                    "load_balancer_count": 1, "load_balancer_requests": "12"}
        self.assertEqual(self.run_month()["answer"]["unassigned"], expected)
        earlier = self.run_month(month="2026-09")["answer"]["unassigned"]
        self.assertEqual((earlier["zone_count"], earlier["bytes"]), (0, "0"))

    def test_3_the_running_month_is_shown_exactly(self):
        def numbers(target, name):
            return re.findall(rb'"%s":([0-9.]+)' % name, self.server.get(target).body)
        charges = numbers("/billing/summary", b"MonthlyUsage")
        self.assertEqual(charges[-2:], [b"500000000000000.0", b"0.000000000010000000000001"])
        total = numbers("/billing", b"ThisMonthCharges")[0].decode()
        self.assertGreaterEqual(len(total), 15 + 1 + 24)
        with localcontext(prec=60):
            self.assertEqual(sum(Decimal(c.decode()) for c in charges), Decimal(total))
        self.assertIn(b"500000000000000.0", numbers("/pullzone", b"MonthlyCharges"))


class Together(Case):
    """A catalogue and a group of invoices that wait for the writer together."""

    def test_an_invoice_is_made_at_a_version_that_a_commit_ended(self):
        self.server.stop()
        db = self.server.db
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**11}
                for zone in (101, 201)]
        run("import", "--db", db, "-",
            stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        self.server.start()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"].append({"id": 202, "account": 2, "name": "borealis-new",
                                 "created": "2026-10-01T00:00:00Z",
                                 "settings": {"OptimizerEnabled": True}})
        many = "".join(json.dumps({"zone": 102, "hour": f"2026-11-0{d}T{h:02}:00:00Z",
                                   "region": f"R{n}", "requests": 1}) + "\n"
                       for n in range(300) for d in (1, 2, 3) for h in range(24)).encode()
        run_body = json.dumps({"month": MONTH, "account": 2, "finalize": True}).encode()
        keys = self.server.keys
        # The first holds the writer for a while; the others wait for it together.
        asked = (("/ingest/buckets", "ingest", many), ("/catalog", "operator",
                                                       json.dumps(catalog).encode()),
                 ("/operations/invoice", "operator", run_body))
        wires = [self.server.wire() for _ in asked]
        for wire, (target, who, body) in zip(wires, asked):
            wire.send(f"POST {target} HTTP/1.1\r\nHost: x\r\nAccessKey: {keys[who]}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
                      .encode() + body)
        for wire in wires:
            self.assertEqual(wire.read("POST").status, 200)
            wire.sock.close()
        self.server.stop()
        self.assertIn(b"no differences", run("verify", "--db", db, "--format", "table").stdout)


if __name__ == "__main__":
    unittest.main()
