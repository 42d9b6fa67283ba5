"""What the specification says of the core API and no other test asks: a zone's fields one by one,
the sentences of errors, the same rules on every statistics endpoint, and failures of the server.
"""
import json
import re
import sqlite3
import unittest

from harness import CATALOG, SOURCE, Case, Server, run, seed
from test_billing import BOOK

ZONE_STATISTICS = ("/pullzone/101/optimizer/statistics",
                   "/pullzone/101/originshield/queuestatistics",
                   "/pullzone/101/safehop/statistics")
STATISTICS = ("/statistics",) + ZONE_STATISTICS
CORE = ("/pullzone", "/pullzone?page=1", "/apikey", "/statistics", "/loadbalancer/7/usage")
HOURLY_OLD = "Cannot request hourly statistics older than 30 days. Use daily granularity instead."
DAILY_OLD = "Cannot request statistics older than 1 year."
MODELS = {"EdgeRules": [{"ActionType": 4, "Enabled": True}], "OptimizerClasses": [{"Name": "c"}],
          "BunnyAiImageBlueprints": [{"Name": "b", "Properties": {"PrePrompt": "p"}}]}
BOUNDS = {"OptimizerDesktopMaxWidth": (0, 5000), "OptimizerMobileMaxWidth": (0, 5000),
          "OptimizerImageQuality": (1, 100), "OptimizerMobileImageQuality": (1, 100)}
VALUES = {"IpFamilyPolicy": ["IPv4Only", "DualStack", "DualStackPreferIPv6", "IPv6Only"],
          "TlsSecurityLevel": ["Legacy", "Compatible", "ModernOnly"],
          "PreloadingScreenTheme": ["Light", "Dark"]}
LIVE = ("Id", "Name", "Hostnames", "MonthlyBandwidthUsed", "MonthlyCharges", "Type")


def other_value(kind, fresh):
    """A value of the type that a fresh zone does not have."""
    kind = kind.rstrip("?")
    if kind == "boolean":
        return not fresh
    if kind == "string":
        return f"{fresh or ''}x"
    if kind == "strings":
        return ["x", "y"]
    if kind.startswith("enum"):
        return 0 if fresh else 1
    return 7 if kind in ("int32", "int64") else 2.5


def names(value):
    """Names of an answer's members; a chart's keys are times and places, no names."""
    if isinstance(value, list):
        for entry in value:
            yield from names(entry)
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield name
            if not name.endswith("Chart") and name not in ("GeoTrafficDistribution", "Properties"):
                yield from names(entry)


class Specification(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"].append({"id": 3, "name": "many"})
        catalog["load_balancers"] = [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z",
                                      "deleted": None, "zones": [101]}]
        catalog["zones"][1]["type"] = "volume"
        catalog["zones"] += [{"id": 1000 + i, "account": 3, "name": f"z{i}"} for i in range(1001)]
        catalog["zones"].append({"id": 202, "account": 2, "name": "own-price",
                                 "created": "2026-01-05T00:00:00Z",
                                 "settings": {"PriceOverride": 0.0002}})
        cls.catalog = catalog
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        row = {"zone": 202, "hour": "2026-11-03T05:00:00Z", "region": "DE", "bytes": 123456789}
        run("import", "--db", server.db, "-", stdin=json.dumps(row).encode())
        server.keys["many"] = server.make_key(3, "User")
        server.start()

    def settings(self, zone, **settings):
        """Applies settings of one zone, all others as they were, and returns the zone as shown."""
        catalog = json.loads(json.dumps(self.catalog))
        next(z for z in catalog["zones"] if z["id"] == zone)["settings"] = settings
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(catalog).encode())
        self.assertEqual(answer.status, 200, answer.body)
        return self.server.get(f"/pullzone/{zone}", "user" if zone < 200 else "many").json()

    # holds: core.json
    def test_bodies_are_json(self):
        for target in CORE + STATISTICS + ("/pullzone/999", "/statistics?hourly=x"):
            answer = self.server.get(target)
            self.assertEqual(answer.headers["content-type"], "application/json", target)
            json.loads(answer.body)

    # holds: core.pascal-case
    def test_names_begin_with_a_capital(self):
        for target in CORE + STATISTICS + ("/pullzone/999",):
            for name in names(self.server.get(target).json()):
                self.assertRegex(name, r"^[A-Z]", target)

    # holds: pullzone.no-more-fields, pullzone.brand-names
    def test_a_zone_has_the_specified_fields_and_no_others(self):
        for zone in self.server.get("/pullzone").json():
            self.has_fields("pullzone", zone)
            self.assertEqual(set(zone), set(seed.fields()["pullzone"][4]))
            self.assertEqual(len(zone), 170)
            for name in ("EnableBunnyImageAi", "BunnyAiImageBlueprints"):
                self.assertIn(name, zone)

    # holds: pullzone.settings, pullzone.suspended
    def test_every_setting_is_shown_as_it_was_set(self):
        kinds = seed.fields()["pullzone"][4]
        fresh = self.settings(1000)
        wanted = {name: MODELS.get(name) or other_value(kind, fresh[name])
                  for name, kind in kinds.items() if name not in LIVE}
        self.assertEqual(len(wanted), 164)
        shown = self.settings(1000, **wanted)
        for name, value in wanted.items():
            if name in MODELS:
                for member, of in value[0].items():
                    self.assertEqual(shown[name][0][member], of, name)
            elif name == "Enabled":  # not above the limit that was set; set to false
                self.assertFalse(shown[name])
            else:
                self.assertEqual(shown[name], value, name)
                self.assertNotEqual(fresh[name], value, name)
        for name in LIVE:
            if name == "Hostnames":  # which the domain set here belongs to
                self.assertEqual(shown[name][0]["Value"], f"z0.{wanted['CnameDomain']}")
            else:
                self.assertEqual(shown[name], fresh[name])
        self.assertEqual(self.settings(1000), fresh)

    def test_whole_numbers_have_a_point_where_a_double_is_declared(self):
        """contract.py holds every answer to this; here are the values that happen to be whole."""
        decimals = ("LimitRatePerSecond", "LimitRateAfter", "PriceOverride", "OptimizerPricing",
                    "OptimizerWatermarkOffset")
        for value, text in ((7, b"7.0"), (0, b"0.0"), (0.25, b"0.25"), ("12.50", b"12.5")):
            self.settings(1000, **dict.fromkeys(decimals, value))
            body = self.server.get("/pullzone/1000", "many").body
            for name in decimals:
                self.assertIn(b'"%s":%s,' % (name.encode(), text), body)
            self.assertIn(b'"MonthlyCharges":0.0,', body)
            self.assertIn(b'"MonthlyBandwidthUsed":0,', body)
        self.settings(1000)
        for target, key, name in (("/billing", "user", "Balance"), ("/billing", "user", "VATRate"),
                                  ("/billing", "user", "MonthlyChargesTaxes"),
                                  ("/billing/summary", "many", "MonthlyUsage"),
                                  ("/pullzone/101/optimizer/statistics", "user", "TotalTrafficSaved"),
                                  ("/pullzone/101/safehop/statistics", "user", "TotalRequestsSaved"),
                                  ("/pullzone/101/optimizer/statistics", "user",
                                   "AverageCompressionRatio")):
            self.assertRegex(self.server.get(target, key).body.decode(), f'"{name}":0\\.0[,}}]', target)
        self.assertRegex(self.server.get("/region").body, rb'"PricePerGigabyte":\d+\.\d')

    def test_statistics_and_charts_have_no_point_where_they_are_whole(self):
        nobody = "/statistics?dateFrom=2026-02-01&dateTo=2026-02-02"
        for target in (nobody,) + ZONE_STATISTICS:
            body = self.server.get(target).json()
            for name, value in body.items():
                numbers = value.values() if isinstance(value, dict) else [value]
                if name.startswith(("Total", "Average")) and target != nobody:
                    continue  # doubles, not charts
                self.assertEqual({type(n) for n in numbers} - {int}, set(), (target, name))

    # holds: pullzone.widths, pullzone.qualities
    def test_bounds_of_the_optimizer(self):
        for name, (low, high) in BOUNDS.items():
            for value in (low, high):
                self.assertEqual(self.settings(1000, **{name: value})[name], value)
            for value in (low - 1, high + 1):
                catalog = json.loads(json.dumps(self.catalog))
                catalog["zones"][3]["settings"] = {name: value}
                self.refused(self.server.ask("POST", "/catalog", "operator",
                                             json.dumps(catalog).encode()), 400, "catalog.invalid",
                             f"zones[3].settings.{name}")

    # holds: pullzone.type-values, pullzone.ip-family-values, pullzone.tls-values
    # holds: pullzone.theme-values
    def test_enumerations_have_the_specified_values(self):
        self.assertEqual([z["Type"] for z in self.server.get("/pullzone").json()], [0, 1])
        for field, words in VALUES.items():
            for number, word in enumerate(words):
                self.assertEqual(self.settings(1000, **{field: word})[field], number, word)
                self.assertEqual(self.settings(1000, **{field: number})[field], number)

    # holds: pullzone.override
    def test_an_override_is_dollars_a_byte(self):
        zone = self.server.get("/pullzone/202", "other").json()
        self.assertEqual((zone["MonthlyBandwidthUsed"], zone["PriceOverride"]), (123456789, 0.0002))
        self.assertAlmostEqual(zone["MonthlyCharges"], 123456789 * 0.0002, 9)

    # holds: pullzone.per-page-default, pullzone.page-default
    def test_a_page_without_its_size_has_1000(self):
        page = self.server.get("/pullzone?page=1", "many").json()
        self.assertEqual((len(page["Items"]), page["TotalItems"], page["HasMoreItems"]),
                         (1000, 1001, True))
        self.assertEqual(len(self.server.get("/pullzone", "many").json()), 1001)

    def points(self, target):
        """Times of the points of an endpoint's charts."""
        answer = self.server.get(target)
        self.assertEqual(answer.status, 200, answer.body)
        charts = [list(v) for k, v in answer.json().items()
                  if k.endswith("Chart") and k != "UserBalanceHistoryChart"]
        self.assertTrue(charts, target)
        for chart in charts:
            self.assertEqual(chart, charts[0])
        return charts[0]

    # holds: statistics.parameters, statistics.hourly, statistics.daily, statistics.rounding
    def test_every_statistics_endpoint_takes_dates_and_hourly(self):
        for path in STATISTICS:
            dates = "dateFrom=2026-11-01T13:00:00Z&dateTo=2026-11-02T01:00:00Z"
            days = ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"]
            self.assertEqual(self.points(f"{path}?{dates}"), days)
            self.assertEqual(self.points(f"{path}?{dates}&hourly=false"), days)
            hours = self.points(f"{path}?{dates}&hourly=true")
            self.assertEqual(hours, [f"2026-11-{d:02}T{h:02}:00:00Z" for d in (1, 2)
                                     for h in range(24)])
            for name in ("dateFrom", "dateTo", "hourly"):
                self.refused(self.server.get(f"{path}?{name}=x"), 400, "validation_error", name)

    # holds: statistics.default-hourly, statistics.default-daily, statistics.others-defaults
    # holds: statistics.from-alone
    def test_every_statistics_endpoint_has_the_same_defaults(self):
        for path in STATISTICS:
            days, hours = self.points(path), self.points(f"{path}?hourly=true")
            self.assertEqual((days[0], days[-1], len(days)),
                             ("2026-10-04T00:00:00Z", "2026-11-04T00:00:00Z", 32))
            self.assertEqual((hours[0], hours[-1], len(hours)),
                             ("2026-10-05T00:00:00Z", "2026-11-04T23:00:00Z", 31 * 24))
            self.assertEqual(self.points(f"{path}?dateFrom=2026-11-02"),
                             [f"2026-11-0{d}T00:00:00Z" for d in (2, 3, 4)])

    # holds: statistics.hourly-30-days, statistics.daily-1-year, statistics.others-age
    def test_every_statistics_endpoint_refuses_old_dates_in_these_words(self):
        for path in STATISTICS:
            for query, sentence in (("hourly=true&dateFrom=2026-10-04&dateTo=2026-10-06", HOURLY_OLD),
                                    ("dateFrom=2025-11-03&dateTo=2025-11-05", DAILY_OLD)):
                answer = self.server.get(f"{path}?{query}")
                self.refused(answer, 400, "statistics.date_range_invalid", "dateFrom")
                self.assertEqual(answer.json()["Message"], sentence)
            self.points(f"{path}?hourly=true&dateFrom=2026-10-05&dateTo=2026-10-06")
            self.points(f"{path}?dateFrom=2025-11-04&dateTo=2025-11-05")

    # holds: statistics.40-days, statistics.others-no-width
    def test_40_days_are_the_limit_of_one_endpoint(self):
        for path in STATISTICS:
            self.assertEqual(len(self.points(f"{path}?dateFrom=2026-09-24&dateTo=2026-11-03")), 41)
        wide = "dateFrom=2026-09-23&dateTo=2026-11-03"
        self.refused(self.server.get(f"/statistics?{wide}"), 400, "statistics.date_range_invalid",
                     "dateTo")
        for path in ZONE_STATISTICS:
            self.assertEqual(len(self.points(f"{path}?{wide}")), 42)

    # holds: statistics.latest-1-day, statistics.latest-no-default, statistics.latest-no-age
    # holds: statistics.own-parameters
    def test_latest_is_a_day_of_any_age(self):
        latest = "/statistics?loadLatest=true"
        self.refused(self.server.get(latest), 400, "statistics.date_range_invalid", "dateFrom")
        old = "dateFrom=2020-02-01T00:00:00Z&dateTo=2020-02-02T00:00:0"
        self.assertEqual(self.server.get(f"{latest}&{old}0Z").status, 200)
        self.refused(self.server.get(f"{latest}&{old}1Z"), 400, "statistics.date_range_invalid",
                     "dateTo")

    # holds: statistics.exact, statistics.exact-needs-hourly
    def test_exact_keeps_hours_with_hourly_alone(self):
        dates = "exactRange=true&dateFrom=2026-11-01T13:00:00Z&dateTo=2026-11-02T01:00:00Z"
        hours = self.points(f"/statistics?{dates}&hourly=true")
        self.assertEqual((hours[0], hours[-1], len(hours)),
                         ("2026-11-01T13:00:00Z", "2026-11-02T00:00:00Z", 12))
        self.assertEqual(self.points(f"/statistics?{dates}"),
                         ["2026-11-01T00:00:00Z", "2026-11-02T00:00:00Z"])

    # holds: balancer.endpoint, balancer.period, balancer.tiers, balancer.default-month
    def test_a_balancers_usage(self):
        usage = self.server.get("/loadbalancer/7/usage").json()
        self.has_fields("balancer.usage", usage)
        self.assertTrue(usage["Tiers"])
        for tier in usage["Tiers"]:
            self.has_fields("balancer.tier", tier)
        self.assertEqual((usage["LoadBalancerId"], usage["PeriodStart"], usage["ResetsAt"]),
                         (7, "2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z"))
        first = usage["Tiers"][0]
        self.assertEqual((first["ThresholdFromMillions"], first["PricePerMillion"]), (50, 0.65))

    # holds: balancer.year-month, balancer.month-bounds, balancer.errors
    def test_a_balancers_month_is_chosen_by_both(self):
        target = "/loadbalancer/7/usage"
        usage = self.server.get(f"{target}?year=2026&month=2").json()
        self.assertEqual((usage["PeriodStart"], usage["ResetsAt"]),
                         ("2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z"))
        for query in ("year=2026", "month=10", "year=2026&month=0", "year=2026&month=13"):
            answer = self.server.get(f"{target}?{query}")
            self.assertEqual(answer.status, 400, query)
            self.has_fields("balancer.error", answer.json())
        self.has_fields("balancer.error", self.server.get("/loadbalancer/9/usage").json())


class Broken(unittest.TestCase):
    # holds: pullzone.500
    def test_a_damaged_file_is_a_500_without_its_reasons(self):
        server = Server()
        try:
            server.stop()
            db = sqlite3.connect(server.db)
            for table in ("chunk", "usage_page"):
                db.execute(f"UPDATE {table} SET data = zeroblob(length(data))")
            db.commit()
            db.close()
            server.start()
            answer = server.get("/pullzone?page=1")
            self.assertEqual(answer.status, 500, answer.body)
            self.assertEqual(list(answer.json()), ["ErrorKey", "Field", "Message"])
            self.assertNotIn(str(server.db).encode(), answer.body)
            server.stop()
        finally:
            server.folder.cleanup()


class Version(unittest.TestCase):
    # holds: core.version
    def test_the_description_carries_its_version(self):
        text = (SOURCE / "docs/openapi.yaml").read_text()
        self.assertEqual(re.search(r"^  version: (\S+)$", text, re.M).group(1), "1.0.0")


if __name__ == "__main__":
    unittest.main()
