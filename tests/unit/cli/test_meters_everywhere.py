"""Meters where a user meets them beside the invoice: the example book of public prices, alerts, what-ifs."""
import json
import os
import unittest
from decimal import Decimal
from pathlib import Path

from tool import Case

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])
EXAMPLES = SOURCE / "docs/examples"
GB = 10**9
DECEMBER = "2026-12-03T12:00:00Z"


def line(meter, resource, value, at="2026-11-01T00:00:00Z", **dimensions):
    counts = meter in ("websocket_minutes", "container_cpu", "container_egress")
    return {"meter": meter, "account": 1, "resource": resource, "hour" if counts else "time": at, "value": value,
            **({"dimensions": dimensions} if dimensions else {})}


USAGE = [
    {"zone": 101, "hour": "2026-11-03T05:00:00Z", "region": "DE", "bytes": 300 * GB},
    line("websocket_minutes", "101", 10_000_000),
    line("container_cpu", "pod-1", 36_000),
    line("container_memory", "pod-1", 100_000_000), line("container_memory", "pod-1", 0, "2026-11-11T00:00:00Z"),
    line("container_ip", "shop", 3, "2026-11-16T00:00:00Z"),
    line("container_volume", "data", 50 * GB),
    line("container_egress", "pod-1", 100 * GB, region="EU"), line("container_egress", "pod-1", 10 * GB, region="ASIA"),
    *(line("storage_standard", "films", 100 * GB, replica=str(n)) for n in (1, 2, 3)),
    line("storage_edge", "films", 10 * GB, region="DE"), line("storage_edge", "films", 10 * GB, region="NY"),
]
# kind, meter, region, amount: 128 MB for 240 hours, half a month of three addresses, the third replica at half the price
LINES = [
    ("bandwidth", None, "EU", "3.00"),
    ("meter", "container_cpu", "", "0.20"),
    ("meter", "container_egress", "ASIA", "0.30"),
    ("meter", "container_egress", "EU", "1.00"),
    ("meter", "container_ip", "", "3.00"),
    ("meter", "container_memory", "", "0.15"),
    ("meter", "container_volume", "", "5.00"),
    ("meter", "storage_edge", "", "0.40"),
    ("meter", "storage_standard", "1", "1.00"),
    ("meter", "storage_standard", "2", "1.00"),
    ("meter", "storage_standard", "3", "0.50"),
    ("meter", "websocket_minutes", "", "2.35"),
]


class Meters(Case):
    def setUp(self):
        super().setUp()
        self.catalog = json.loads((EXAMPLES / "public-meters.json").read_text())
        self.apply(json.dumps(self.catalog), now="2026-11-01T00:00:00Z")
        self.run_tool("book", "--db", "t.db", str(EXAMPLES / "public-prices.json"), now="2026-11-01T00:00:00Z")
        self.use(*USAGE)

    def use(self, *rows, now=DECEMBER):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self.run_tool("import", "--db", "t.db", "-", stdin=text.encode(), now=now)

    def draft(self, now=DECEMBER):
        done = self.run_tool("invoice", "--db", "t.db", "--month", "2026-11", "--account", 1, now=now)
        return json.loads(done.out)["invoices"][0]

    def test_the_public_prices_bill_what_they_list(self):
        draft = self.draft()
        self.assertEqual([(one["kind"], one.get("meter"), one["region"] or "", one["amount"]) for one in draft["lines"]], LINES)
        self.assertEqual((draft["unpriced"], draft["subtotal"]), ([], "17.90"))
        memory, = (one for one in draft["lines"] if one.get("meter") == "container_memory")
        self.assertEqual((memory["quantity"], memory["exact"]), (str(128_000_000 * 240 * 3600), "0.1536"))

    # --- alerts ---

    def raised(self, now):
        self.run_tool("alerts", "--db", "t.db", "--evaluate", now=now)
        listed = json.loads(self.run_tool("alerts", "--db", "t.db", "--format", "json", now=now).out)
        return sorted(one["alert"] for one in listed["alerts"] if one["cleared"] is None)

    def test_an_alert_looks_at_a_meter(self):
        rule = {"kind": "usage", "meter": "container_cpu", "above": "36000"}
        self.catalog["accounts"][0]["alerts"] = [
            {"id": "cpu", **rule}, {"id": "bytes", "kind": "usage", "above": str(300 * GB)},
            {"id": "disk", "kind": "usage", "meter": "container_volume", "above": str(50 * GB * 86400)}]
        self.apply(json.dumps(self.catalog), now="2026-11-01T00:00:00Z")
        self.assertEqual(self.raised("2026-11-01T23:59:59Z"), [])
        self.assertEqual(self.raised("2026-11-02T00:00:01Z"), ["disk"])
        self.use(line("container_cpu", "pod-1", 1, "2026-11-02T00:00:00Z"))
        self.assertEqual(self.raised("2026-11-02T00:30:00Z"), ["cpu", "disk"])

    def test_an_account_sets_an_alert_on_a_meter_that_there_is(self):
        words = ("alert", "set", "--db", "t.db", "mine", "--account", 1, "--kind", "usage", "--above", "5")
        self.run_tool(*words, "--meter", "container_ip")
        listed = json.loads(self.run_tool("alert", "list", "--db", "t.db", "--account", 1, "--format", "json").out)
        self.assertEqual([(one["id"], one["meter"], one["own"]) for one in listed["alerts"]], [("mine", "container_ip", True)])
        self.assertIn("container_ip", self.run_tool(*words, "--meter", "container_ips", status=2).err)
        self.assertIn("meter", self.run_tool("alert", "set", "--db", "t.db", "low", "--account", 1, "--kind", "balance",
                                             "--below", "5", "--meter", "container_ip", status=2).err)

    # --- what-ifs ---

    def whatif(self, **scenario):
        done = self.run_tool("whatif", "--db", "t.db", "--from", "2026-11", "--to", "2026-11", "--no-store", "--format", "json",
                             "-", stdin=json.dumps({"scenario": "s", "base": "public-2026", **scenario}).encode(), now=DECEMBER)
        one, = json.loads(done.out)["scenarios"]
        return one["before"], one["after"], done.err

    def test_a_scenario_changes_a_meters_usage_and_its_price(self):
        self.assertEqual(self.whatif(usage=[{"meter": "container_volume", "factor": "1.10"}])[:2], ("17.90", "18.40"))
        self.assertEqual(self.whatif(usage=[{"product": "bandwidth", "factor": "2"}])[:2], ("17.90", "20.90"))
        self.assertEqual(self.whatif(usage=[{"factor": "0"}])[:2], ("17.90", "1.00"))
        self.assertEqual(self.whatif(patch={"meters": {"container_ip": {"price": "3"}}})[:2], ("17.90", "19.40"))
        self.assertEqual(self.whatif(patch={"meters": {"storage_standard": {"prices": {"3": {"price": "0.01"}}}}})[:2],
                         ("17.90", "18.40"))
        before, after, said = self.whatif(usage=[{"meter": "nothing", "factor": "2"}])
        self.assertEqual((before, after), ("17.90", "17.90"))
        self.assertIn("there is no meter nothing", said)

    # --- recurring fees ---

    def test_the_forecast_what_if_and_why_have_recurring_fees(self):
        def median():
            done = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--paths", 100, "--format", "json", now="2026-11-16T00:00:00Z")
            return Decimal(json.loads(done.out)["money"]["net"]["p50"])
        before = median()
        book = json.loads((EXAMPLES / "public-prices.json").read_text())
        book |= {"book": "with-fees", "supersedes": "public-2026", "fees": {"support": {"name": "Support", "amount": "9.50"}}}
        self.run_tool("book", "--db", "t.db", self.write("fees.json", json.dumps(book)), now="2026-11-01T00:00:00Z")
        self.catalog["accounts"][0]["fees"] = ["support"]
        self.apply(json.dumps(self.catalog), now="2026-11-01T00:00:00Z")
        self.assertEqual(median() - before, Decimal("9.50"))
        self.assertEqual(self.whatif(base="with-fees", patch={"fees": {"support": {"amount": "10"}}})[:2], ("27.40", "27.90"))
        fee = self.draft()["lines"][-1]
        self.assertEqual((fee["kind"], fee["fee"], fee["amount"]), ("fee", "support", "9.50"))

    # --- the forecast ---

    def test_a_counter_goes_on_with_its_mean_day_whatever_the_days_are(self):
        self.use(*(line("websocket_minutes", "102", 1_000_001, f"2026-10-{day:02}T00:00:00Z") for day in range(25, 32)))
        done = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--paths", 100, "--format", "json", now="2026-11-16T00:00:00Z")
        one, = (one for one in json.loads(done.out)["meters"] if one["meter"] == "websocket_minutes")
        # 22 days with 17,000,007 in all, and 15 to come; each resource is rounded to a whole unit
        self.assertEqual((one["so_far"], one["month"]), ("10000000", str(10_000_000 + round(10_000_000 * 15 / 22) + round(7_000_007 * 15 / 22))))

    def test_the_forecast_has_meters_at_the_months_end(self):
        done = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--paths", 100, "--format", "json", now="2026-11-16T00:00:00Z")
        forecast = json.loads(done.out)
        held, half = 50 * GB * 86400, 15
        self.assertEqual({one["meter"]: (one["so_far"], one["month"], one["net"]) for one in forecast["meters"]}, {
            "container_cpu": ("36000", "72000", "0.40"), "container_egress": (str(110 * GB), str(220 * GB), "2.60"),
            "container_memory": (str(128_000_000 * 240 * 3600),) * 2 + ("0.15",),
            "container_volume": (str(held * half), str(held * 30), "5.00"),
            "storage_edge": (str(20 * GB * 86400 * half), str(20 * GB * 86400 * 30), "0.40"),
            "storage_standard": (str(300 * GB * 86400 * half), str(300 * GB * 86400 * 30), "2.50"),
            "websocket_minutes": ("10000000", "20000000", "4.70")})
        # and the traffic, which was there on one day: 300 GB at least
        self.assertGreaterEqual(float(forecast["money"]["net"]["p5"]), 15.75 + 3)
        table = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--paths", 100, "--format", "table", now="2026-11-16T00:00:00Z").out
        self.assertRegex(table, r"websocket_minutes, connection-minute +10000000 +20000000")


if __name__ == "__main__":
    unittest.main()
