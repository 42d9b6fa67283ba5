"""Prepaid accounts over the wire: the server enters their days, and what customers see follows: their
balance, its chart, their records, and whether their zones are enabled."""
import json
import os
import time
import unittest
from decimal import Decimal
from pathlib import Path

import harness
from harness import CATALOG, ENVIRONMENT, PATIENCE, Server, hit, run

from test_billing import BOOK

GB = 10**9
LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
AGE = b"\ntollbook_last_accrual_age_seconds "
ZONE, LOGS = "/pullzone/201", "/v2/pullzones/201/logs"


def usage(day, gigabytes):
    return json.dumps({"zone": 201, "hour": f"2026-{day}T05:00:00Z", "region": "DE",
                       "bytes": gigabytes * GB}).encode()


class Prepaid(unittest.TestCase):
    """It is the 4th of November. Account 2 is prepaid, has 20 % of tax and no discount."""

    def setUp(self):
        self.server = Server(log=b"")
        self.addCleanup(self.server.close)
        self.server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"][1].update(prepaid=True, tax={"VATRate": 20})
        catalog["zones"][2].update(created="2026-11-01T00:00:00Z",
                                   settings={"EnableLogging": True})
        run("apply", "--delete", "--db", self.server.db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", self.server.db, "-", stdin=json.dumps(BOOK).encode())
        self.server.keys["other-ingest"] = self.server.make_key(2, "Ingest")
        self.take(usage("11-01", 100), usage("11-02", 150), usage("11-03", 200), usage("11-04", 50))

    def at(self, now):
        harness.ENVIRONMENT = {**ENVIRONMENT, "TOLLBOOK_NOW": now}
        self.addCleanup(setattr, harness, "ENVIRONMENT", ENVIRONMENT)

    def take(self, *rows):
        run("import", "--db", self.server.db, "-", stdin=b"\n".join(rows) + b"\n")

    def pay(self, amount, reference):
        return run("ledger", "pay", "--db", self.server.db, "--account", 2, "--amount", amount,
                   "--reference", reference)

    def metrics(self):
        return self.server.ask("GET", "/metrics").body

    def wait_for(self, what):
        end = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), end, self.server.messages())
            time.sleep(0.005)

    def start(self):
        self.server.start()
        self.wait_for(lambda: AGE in self.metrics())

    def billing(self):
        return self.server.get("/billing", "other").json()

    def enabled(self):
        shown = self.server.get(ZONE, "other").json()["Enabled"]
        self.assertEqual([z["Enabled"] for z in self.server.get("/pullzone", "other").json()], [shown])
        self.assertEqual(self.server.get(LOGS, "other").status, 200 if shown else 403)
        return shown

    def test_a_start_catches_up_and_customers_see_it(self):
        self.pay("6", "card 1")
        self.start()
        self.assertIn("ledger accrue: 1 prepaid account through 2026-11-03: 3 entries made, 0 refused.",
                      self.server.messages())
        self.assertEqual(self.server.metric("tollbook_accrual_failures_total"), 0)
        model = self.billing()
        self.assertEqual(model["Balance"], 0.6)  # 450 GB are 5.40 with tax
        self.assertEqual(model["AvailableBalance"], 0)  # and 50 GB of today 0.60
        self.assertEqual(model["ThisMonthCharges"], 5)
        self.assertEqual(model["LastRechargeBalance"], 6)
        self.assertEqual([(r["Type"], r["Amount"], r["PaymentId"], r["InvoiceAvailable"])
                          for r in model["BillingRecords"]],
                         [(3, -2.4, "prepaid 2 2026-11-03", False),
                          (3, -1.8, "prepaid 2 2026-11-02", False),
                          (3, -1.2, "prepaid 2 2026-11-01", False), (6, 6, "card 1", False)])
        self.assertEqual(model["BillingRecords"][0]["Timestamp"], "2026-11-03T23:59:59")
        chart = self.server.get("/statistics?dateFrom=2026-11-01&dateTo=2026-11-04", "other").json()
        self.assertEqual(list(chart["UserBalanceHistoryChart"].values()), [0, -1.2, -3, -5.4])
        self.assertTrue(self.enabled())
        self.server.stop()
        self.start()  # again: nothing more, and nothing is said
        self.assertEqual(self.billing()["Balance"], 0.6)
        self.assertEqual(self.server.messages().count("entries made"), 1)
        run("ledger", "credit", "--server", self.server.url, "--key", self.server.keys["operator"], "--account", 2, "--amount", "1", "--expires",
            "2027-01-01")
        entries = self.server.get("/billing/statement?from=2026-11-01&to=2026-11-30", "other").json()["entries"]
        self.assertEqual([e["kind"] for e in entries].count("usage"), 3) # as docs/openapi.yaml has it, which every answer is held against
        self.assertEqual([e["expires"] for e in entries if e["kind"] == "credit"], ["2027-01-01"])

    def test_records_of_a_final_month_are_its_invoice(self):
        self.pay("20", "card 1")
        run("ledger", "accrue", "--db", self.server.db)
        self.at("2026-12-01T09:00:00Z")
        run("invoice", "--db", self.server.db, "--month", "2026-11", "--finalize")
        self.start()
        model = self.billing()
        self.assertEqual([(r["Type"], r["Amount"]) for r in model["BillingRecords"]], [(3, -6), (6, 20)])
        self.assertEqual((model["Balance"], model["AvailableBalance"], model["ThisMonthCharges"]),
                         (14, 14, 0))
        invoice = self.server.get("/billing/invoices/2026-000002", "other").json()
        self.assertEqual((invoice["paid"], invoice["payable"]), ("6.00", "0.00"))
        self.assertEqual(sum(Decimal(str(r["Amount"])) for r in model["BillingRecords"]), 14)

    def test_zones_of_an_empty_account(self):
        self.pay("5", "card 1")
        self.start()
        self.assertFalse(self.enabled())  # 5 - 5.40
        first = self.server.get(ZONE, "other")
        answer = self.server.ask("POST", "/ledger", "operator", json.dumps(
            {"account": 2, "kind": "payment", "amount": "0.41", "reference": "card 2"}).encode(),
            Content_Type="application/json")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertTrue(self.enabled())
        again = self.server.get(ZONE, "other", **({"If_None_Match": first.headers["etag"]}
                                                  if "etag" in first.headers else {}))
        self.assertEqual((again.status, again.json()["Enabled"]), (200, True))
        bill = run("invoice", "--db", self.server.db, "--month", "2026-11", "--account", 2).stdout
        self.assertIn(b'"total":"6.00"', bill)  # by what is declared, whatever is shown

    def test_a_grace_begins_when_nothing_is_left(self):
        self.pay("3", "card 1")  # as much as two days: the entry of the 2nd leaves 0
        key = self.server.keys["operator"]
        self.start()
        self.assertFalse(self.enabled())
        for days, shown in (("1", False), ("2", True), ("off", True), ("0", False)):
            run("ledger", "grace", "--server", self.server.url, "--key", key, "--days", days)
            self.assertEqual(self.enabled(), shown, days)
        run("ledger", "grace", "--server", self.server.url, "--key", key, "--days", 2)
        # it is read beside the server, which is the one that writes
        self.assertEqual(run("ledger", "grace", "--db", self.server.db).stdout, b"2\n")
        self.assertEqual(run("ledger", "grace", "--server", self.server.url, "--key", key).stdout, b"2\n")
        self.server.stop()
        self.at("2026-11-04T23:59:59Z")  # two days after 2026-11-02T23:59:59Z
        self.start()
        self.assertFalse(self.enabled())
        self.server.stop()
        self.at("2026-12-02T09:00:00Z")  # its month's invoice stands for the days, and grants no others
        run("invoice", "--db", self.server.db, "--month", "2026-11", "--account", 2, "--finalize")
        self.start()
        self.assertFalse(self.enabled())

    def test_what_is_left_out_is_counted_and_said(self):
        self.take(json.dumps({"zone": 201, "hour": "2026-11-02T05:00:00Z", "region": "XX",
                              "bytes": GB}).encode())
        self.server.start()
        self.wait_for(lambda: self.server.metric("tollbook_accrual_failures_total") == 1)
        self.assertIn("account 2: 1 kind of usage in 2026-11 has no price", self.server.messages())
        self.assertIn(f"List it with: tollbook invoice --db {self.server.db} --month 2026-11 --account 2\n", self.server.messages())
        self.assertNotIn(AGE, self.metrics())
        self.assertEqual(self.billing()["Balance"], -5.4)

    def test_beside_ingest_and_from_afar(self):
        self.server.start()
        log = b"".join(hit(201, i, 10**6) for i in range(200))
        for i in range(5):
            sent = self.server.ask("POST", "/ingest/logs", "ingest", log.replace(b"|1000000|", b"|%d|" % i))
            self.assertEqual(sent.status, 200, sent.body)
        self.wait_for(lambda: AGE in self.metrics())
        done = run("ledger", "accrue", "--server", self.server.url, "--key", self.server.keys["operator"])
        self.assertIn(b"0 entries made", done.stderr)
        self.assertLessEqual(self.billing()["Balance"], -5.4)

    @unittest.skipUnless(LIBRARY, "there is no libfaketime")
    def test_each_day_at_five_past_midnight(self):
        """Two seconds before it the server has entered all that there is; what comes then is the next
        round's."""
        clock = self.server.path / "time"
        clock.write_text("2026-11-05 00:04:59\n")
        moving = {k: v for k, v in ENVIRONMENT.items() if k != "TOLLBOOK_NOW"}
        harness.ENVIRONMENT = {
            **moving, "TZ": "UTC", "LD_PRELOAD": str(LIBRARY), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_TIMESTAMP_FILE": str(clock),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        self.addCleanup(setattr, harness, "ENVIRONMENT", ENVIRONMENT)
        self.start()
        harness.ENVIRONMENT = ENVIRONMENT
        self.assertEqual(self.billing()["Balance"], -6)  # through the 4th
        sent = self.server.ask("POST", "/ingest/buckets", "other-ingest", usage("11-05", 100))
        self.assertEqual(sent.status, 200, sent.body)
        part = clock.with_suffix(".part")
        part.write_text("2026-11-06 00:05:01\n")
        part.rename(clock)
        self.wait_for(lambda: self.billing()["Balance"] < -6)
        self.assertEqual(self.billing()["BillingRecords"][0]["PaymentId"], "prepaid 2 2026-11-05")


if __name__ == "__main__":
    unittest.main()
