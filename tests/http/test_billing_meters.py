"""GET /billing: what meters come to stands in the fields that their declarations name, exactly. The meters and prices are those of
docs/examples, the usage is of 1 to 3 November, the clock that of the harness."""
import json
import unittest
from decimal import Decimal

from harness import SOURCE, Case, Server, run

GB = 10**9


def line(meter, value, time="time", at="2026-11-01T00:00:00Z", **dimensions):
    return {"meter": meter, "account": 1, "resource": "r", time: at, "value": value, **({"dimensions": dimensions} if dimensions else {})}


USAGE = [
    line("websocket_minutes", 10_000_000, "hour"), line("container_cpu", 36_000, "hour"),
    line("container_memory", 100_000_000), line("container_memory", 0, at="2026-11-01T10:00:00Z"),
    line("storage_standard", 100 * GB, replica="1"), line("storage_standard", 0, at="2026-11-04T00:00:00Z", replica="1"),
    line("storage_edge", 10 * GB, region="DE"), line("storage_edge", 0, at="2026-11-04T00:00:00Z", region="DE")]


class Metered(Server):
    def make(self, log):
        run("init", "--db", self.db)
        run("apply", "--db", self.db, SOURCE / "docs/examples/public-meters.json")
        run("book", "--db", self.db, SOURCE / "docs/examples/public-prices.json")
        run("import", "--db", self.db, "-", stdin="".join(json.dumps(one) + "\n" for one in USAGE).encode())
        return {"user": self.make_key(1, "User")}


class BillingMeters(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Metered(log=b"meters of docs/examples")

    def test_each_field_has_its_meters(self):
        billing = json.loads(self.server.get("/billing").body, parse_float=Decimal)
        charged = {name: value for name, value in billing.items() if name.startswith("Monthly") and value and name != "MonthlyChargesTaxes"}
        self.assertEqual(charged, {
            "MonthlyChargesStorage": Decimal("0.12"),  # a tenth of the month: 100 GB at 0.01, 10 GB at 0.02
            "MonthlyChargesWebSockets": Decimal("2.35"),
            "MonthlyChargesMagicContainers": Decimal("0.2064"),
            "MonthlyMcCpu": {"Usage": Decimal("0.2"), "TotalUnits": Decimal("36000.0"), "MeasuringUnit": "CPU-second"},
            # 128 MB for ten hours
            "MonthlyMcMemory": {"Usage": Decimal("0.0064"), "TotalUnits": Decimal(128_000_000 * 36_000), "MeasuringUnit": "byte-second"}})
        self.assertIsNone(billing["MonthlyDBReads"])
        self.assertEqual(billing["ThisMonthCharges"], Decimal("2.6764"))

    def test_why_names_meters(self):
        answer = self.server.get("/insights/why?field=charges&by=product&from=2026-11-01&to=2026-11-30"
                                 "&against_from=2026-10-01&against_to=2026-10-31").json()
        parts = {part["key"]: (part["name"], part["value"]) for part in answer["parts"]}
        self.assertEqual(parts["meter:websocket_minutes"], ("WebSocket connection-minutes", "2.35"))
        self.assertEqual(parts["meter:storage_standard"], ("Standard storage", "0.10"))

    def test_a_month_has_a_total_for_each_meter(self):
        text = run("preview", "--db", self.server.db, "--month", "2026-11", "--format", "json", expect=1).stdout
        (usd,) = json.loads(text)["totals"]
        named = {one["meter"]: (one["product"], one["name"], one["net"], one["last"]) for one in usd["products"] if "meter" in one}
        self.assertEqual(named["websocket_minutes"], ("meter", "WebSocket connection-minutes", "2.35", "0"))
        self.assertEqual(named["storage_standard"], ("meter", "Standard storage", "0.1", "0"))
        self.assertEqual(sum(Decimal(one["net"]) for one in usd["products"]), Decimal(usd["net"]))


if __name__ == "__main__":
    unittest.main()
