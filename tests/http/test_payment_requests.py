"""GET /billing/payment-requests: what remains to be paid, as `ledger aging` says it; and GET /billing/affiliate."""
import json
import unittest
from decimal import Decimal

from harness import Case, run
from test_billing import BOOK

MEMBERS = ["Id", "Amount", "DateGenerated", "DateDue", "Description", "Paid", "DatePaid", "BillingInvoiceId",
           "BillingInvoiceDownloadLink", "BankTransferReference", "TaxRate", "TaxedAmount"]


class PaymentRequests(Case):
    """Account 1 has two final invoices, one paid in part, and two debts of its own; account 2 has paid."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        db = server.db
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": zone, "hour": f"2026-{month}-03T05:00:00Z", "region": "DE", "bytes": 10**11}
                for zone in (101, 201) for month in ("09", "10")]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        for month in ("2026-09", "2026-10"):
            run("invoice", "--db", db, "--month", month, "--finalize")
        run("ledger", "adjust", "--db", db, "--account", 1, "--amount", "-4.00", "--reference", "fee", "--note", 'A "fee"')
        run("ledger", "adjust", "--db", db, "--account", 1, "--amount", "-2.00", "--reference", "more")
        run("ledger", "pay", "--db", db, "--account", 1, "--amount", "0.25", "--reference", "w1", "--invoice", "2026-000001")
        run("ledger", "pay", "--db", db, "--account", 2, "--amount", "100", "--reference", "w2")
        server.keys["billing"] = server.make_key(1, "SubuserBilling")
        server.keys["zones"] = server.make_key(1, "SubuserPullZones")
        server.start()

    def test_what_remains_is_what_aging_says(self):
        listed = self.server.get("/billing/payment-requests", "billing").json()
        aged = json.loads(run("ledger", "aging", "--db", self.server.db, "--account", 1, "--format", "json").stdout)
        owed = {one["number"]: one for one in aged["accounts"][0]["invoices"]}
        self.assertEqual(len(owed), 4)
        self.assertEqual([one["Id"] for one in listed], sorted(one["Id"] for one in listed))
        for one in listed:
            self.assertEqual(list(one), MEMBERS)
            aging = owed.pop(one["BankTransferReference"])
            self.assertEqual((Decimal(str(one["Amount"])), one["DateDue"]), (Decimal(aging["remaining"]), aging["due"] + "T00:00:00Z"))
            self.assertEqual((one["TaxedAmount"], one["TaxRate"], one["Paid"]), (one["Amount"], 0, False))
            self.assertEqual(one["DateGenerated"], "2026-11-04T09:00:00Z")
        self.assertEqual(owed, {})
        self.assertEqual([one["Description"] for one in listed],
                         ["Invoice 2026-000001", "Invoice 2026-000003", 'A "fee"', "Amount owed"])

    def test_ids_and_links_are_those_of_the_records(self):
        records = {one["Id"]: one for one in self.server.get("/billing", "billing").json()["BillingRecords"]}
        for one in self.server.get("/billing/payment-requests", "billing").json():
            self.assertEqual(one["BillingInvoiceDownloadLink"], records[one["Id"]]["DocumentDownloadUrl"])
            self.assertEqual(one["BillingInvoiceId"], one["Id"] if one["Description"].startswith("Invoice") else None)
            if one["BillingInvoiceId"]:
                link = one["BillingInvoiceDownloadLink"]
                self.assertEqual(self.server.get("/api" + link, "billing").body, self.server.get(link, "billing").body)
                self.assertEqual(self.server.get(link, "billing").json()["number"], one["BankTransferReference"])

    def test_a_record_s_document_is_had_as_pdf_by_its_id(self):
        for record in self.server.get("/billing", "billing").json()["BillingRecords"]:
            for path in ("/billing/summary/{}/pdf", "/billing/payment-request-invoice/{}/pdf"):
                answer = self.server.get(path.format(record["Id"]), "billing")
                if not record["InvoiceAvailable"]:
                    self.refused(answer, 404, "invoice.not_found")
                    continue
                self.assertEqual((answer.status, answer.headers["content-type"], answer.body[:5]), (200, "application/pdf", b"%PDF-"))
                number = record["DocumentDownloadUrl"].rsplit("/", 1)[1]
                self.assertEqual(answer.headers["content-disposition"], f'inline; filename="{number}.pdf"')
                self.refused(self.server.get(path.format(record["Id"]), "other"), 404, "invoice.not_found")
        for text in ("0", "x", "999", "01", "9223372036854775808"):
            self.refused(self.server.get(f"/billing/summary/{text}/pdf", "billing"), 404, "invoice.not_found")
        self.refused(self.server.get("/billing/summary/1/pdf", "zones"), 403, "authorization.forbidden")

    def test_whoever_has_paid_is_asked_for_nothing(self):
        self.assertEqual(self.server.get("/billing/payment-requests", "other").json(), [])

    def test_zz_a_void_invoice_is_not_asked_for(self):
        self.server.ask("POST", "/invoices/2026-000003/void", "operator")
        listed = self.server.get("/billing/payment-requests", "user").json()
        self.assertEqual([one["Id"] for one in listed if "000003" in one["Description"]], [])
        self.assertEqual(len(listed), 3)

    def test_there_are_no_affiliates(self):
        self.assertEqual(self.server.get("/billing/affiliate", "billing").json(), {
            "AffiliateBalance": 0, "AffiliateUrl": None, "ClaimBonusPercentage": 0, "MinimumPayoutAmount": 0,
            "AffiliateClicksChart": {}, "AffiliateSignupsChart": {}, "AffiliateConversionsChart": {}})

    def test_who_may_ask(self):
        for path in ("/billing/payment-requests", "/billing/affiliate"):
            self.refused(self.server.get(path, None), 401, "authentication.failed")
            self.refused(self.server.get(path, "zones"), 403, "authorization.forbidden")
            self.refused(self.server.get(f"{path}?account=2", "user"), 403, "authorization.forbidden", "account")
            self.refused(self.server.get(path, "operator"), 400, "validation_error", "account")
            self.refused(self.server.get(f"{path}?account=9", "operator"), 404, "resource.not_found")
            self.refused(self.server.get(f"{path}?account=x", "user"), 400, "validation_error", "account")
            self.assertEqual(self.server.get(f"{path}?account=1", "operator").json(), self.server.get(path, "user").json())


if __name__ == "__main__":
    unittest.main()
