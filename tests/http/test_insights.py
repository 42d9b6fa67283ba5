"""GET /insights says what /statistics says, to the digit, wherever both answer: random traffic over five months,
zones, regions, times, roles; in rows, waiting in runs, and folded. What /statistics does not answer is
compared with sums over the virtual table `buckets`. TB_SEED repeats a run.
"""
import json
import random
import sys
import unittest
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

from harness import CATALOG, Case, Server, run  # noqa: E402

CLOCK = datetime(2026, 11, 4, 9, tzinfo=timezone.utc)
TODAY_END = datetime(2026, 11, 5, tzinfo=timezone.utc)
EDGES = ["DE", "NY", "SG", "XX"]
COLUMNS = ("requests", "bytes", "cached_bytes", "pulled", "origin_bytes", "origin_time_ms_sum",
           "origin_time_count", "shield_bytes", "status_3xx", "status_4xx", "status_5xx", "cache_known")
CHARTS = {"RequestsServed": "RequestsServedChart", "BandwidthUsed": "BandwidthUsedChart",
          "BandwidthCached": "BandwidthCachedChart", "PullRequestsPulled": "PullRequestsPulledChart",
          "CacheHitRate": "CacheHitRateChart", "Error3xx": "Error3xxChart",
          "Error4xx": "Error4xxChart", "Error5xx": "Error5xxChart",
          "OriginTraffic": "OriginTrafficChart", "OriginResponseTime": "OriginResponseTimeChart",
          "OriginShieldBandwidthUsed": "OriginShieldBandwidthUsedChart"}
SAME = ("TotalRequestsServed", "TotalBandwidthUsed", "TotalOriginTraffic", "CacheHitRate",
        "AverageOriginResponseTime")


def stamp(moment):
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def random_log(dice, zones, lines, days):
    out = []
    for _ in range(lines):
        moment = CLOCK - timedelta(seconds=dice.randrange(days * 86400))
        out.append("|".join([
            dice.choice(["HIT", "HIT", "MISS", "STALE", "REVALIDATED", "-"]),
            str(dice.choice([200, 304, 404, 503])), str(int(moment.timestamp() * 1000)),
            str(dice.randrange(1 << dice.randrange(1, 36))), str(dice.choice(zones)), "192.0.2.1", "-",
            "https://z/x", dice.choice(EDGES), "agent", "0" * 32, "DE"]))
    return "".join(line + "\n" for line in out).encode()


def random_rows(dice, zones, rows, days):
    out = []
    for _ in range(rows):
        hour = (CLOCK - timedelta(hours=dice.randrange(days * 24))).replace(minute=0)
        count = dice.randrange(5)
        out.append(json.dumps({
            "hour": stamp(hour), "zone": dice.choice(zones), "region": dice.choice(EDGES),
            "origin_bytes": dice.randrange(1 << 30), "origin_time_count": count,
            "origin_time_ms_sum": count * dice.randrange(900), "shield_bytes": dice.randrange(9999)}))
    return ("\n".join(out) + "\n").encode()


def totals_of(rows):
    """The totals of rows of `buckets`, by the names of the answer."""
    s = {name: sum(row[name] for row in rows) for name in COLUMNS}
    rate = None
    if s["cache_known"]:
        rate = 0 if s["pulled"] > s["cache_known"] else 100 * (1 - s["pulled"] / s["cache_known"])
    count = s["origin_time_count"]
    return {"TotalRequestsServed": s["requests"], "TotalBandwidthUsed": s["bytes"],
            "TotalBandwidthCached": s["cached_bytes"], "TotalRequestsPulled": s["pulled"],
            "CacheHitRate": rate, "TotalOriginTraffic": s["origin_bytes"],
            "AverageOriginResponseTime": (2 * s["origin_time_ms_sum"] + count) // (2 * count)
            if count else None,
            "TotalOriginShieldBandwidthUsed": s["shield_bytes"], "Errors3xx": s["status_3xx"],
            "Errors4xx": s["status_4xx"], "Errors5xx": s["status_5xx"]}


def months_before(moment, months):
    month = moment.year * 12 + moment.month - 1 - months
    year, month = divmod(month, 12)
    after = datetime(year + (month == 11), (month + 1) % 12 + 1, 1, tzinfo=timezone.utc)
    last = (after - timedelta(days=1)).day
    return moment.replace(year=year, month=month + 1, day=min(moment.day, last))


class Insights(Case):
    @classmethod
    def setUpClass(cls):
        cls.dice = random.Random(random_seed())
        dice = cls.dice
        cls.zones = list(range(101, 131))
        catalog = {**CATALOG, "accounts": CATALOG["accounts"] + [{"id": 3, "name": "empty"}],
                   "zones": [{"id": z, "account": 1, "name": f"zone-{dice.randrange(99)}-{z}",
                              "created": "2026-01-05T00:00:00Z" if z != 130 else "2026-11-01T00:00:00Z"}
                             for z in cls.zones] + CATALOG["zones"][2:]}
        cls.server = Server(log=None)
        cls.addClassCleanup(cls.server.close)
        cls.server.stop()
        file = cls.server.path / "catalog.json"
        file.write_text(json.dumps(catalog))
        run("apply", "--db", cls.server.db, file)
        cls.server.keys["empty"] = cls.server.make_key(3, "User")
        cls.server.keys["billing"] = cls.server.make_key(1, "SubuserBilling")
        busy = cls.zones[:-4] + [201]  # four zones have nothing, or little
        run("ingest", "--db", cls.server.db, "-", stdin=random_log(dice, busy, 3000, 300))
        for part in range(6):  # some of it waits in runs
            run("ingest", "--db", cls.server.db, "-", stdin=random_log(dice, busy, 200, 45 - part))
            run("import", "--db", cls.server.db, "-", stdin=random_rows(dice, busy + [130], 200, 45))
        catalog["zones"] = [z for z in catalog["zones"] if z["id"] not in (103, 129)]
        file.write_text(json.dumps(catalog))
        run("apply", "--db", cls.server.db, file)
        cls.server.start()
        cls.rows = defaultdict(list)
        names = run("query", "--db", cls.server.db, "SELECT zone,region,hour," + ",".join(COLUMNS) +
                    " FROM buckets").stdout.decode().splitlines()
        for line in names[1:]:
            zone, region, hour, *values = line.split("\t")
            moment = datetime.fromisoformat(hour.replace("Z", "+00:00"))
            cls.rows[int(zone)].append({"region": region, "hour": moment,
                                        **dict(zip(COLUMNS, map(int, values)))})
        cls.waits = run("query", "--db", cls.server.db,
                        "SELECT count(*) FROM usage_run").stdout.decode().split("\n")[1]

    @classmethod
    def tearDownClass(cls):
        pass  # setUpClass has seen to it

    def ask(self, key="user", **words):
        query = "&".join(f"{name.rstrip('_')}={quote(str(value))}" for name, value in words.items())
        answer = self.server.get("/insights?" + query, key)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def chosen(self, begin, end, zone=None, region=None):
        """Rows of buckets in it; a zone that did not exist yet has none."""
        born = {130: datetime(2026, 11, 1, tzinfo=timezone.utc)}
        for name, rows in self.rows.items():
            if name == 201 or zone not in (None, name):
                continue
            if zone and name in born and born[name] >= end:
                continue
            for row in rows:
                if begin <= row["hour"] < end and region in (None, row["region"]):
                    yield row

    # --- against /statistics ---

    def compare_with_statistics(self, begin, end, hourly, zone):
        words = {"from_": begin.date(), "to": end.date(), "by": "hour" if hourly else "day"}
        if zone:
            words["zone"] = zone
        got = self.ask(**words)
        query = f"/statistics?dateFrom={begin.date()}&dateTo={end.date()}&hourly={str(hourly).lower()}"
        want = self.server.get(query + (f"&pullZone={zone}" if zone else "")).json()
        for name in SAME:
            self.assertEqual(got["totals"][name] or 0, want[name], (name, query))
        for name, chart in CHARTS.items():
            self.assertEqual([value or 0 for value in got["points"][name]], list(want[chart].values()),
                             (name, query))
        self.assertEqual(got["points"]["at"], list(want["RequestsServedChart"]))
        self.assertEqual({region["name"]: region["TotalBandwidthUsed"] for region in got["regions"]
                          if region["TotalBandwidthUsed"]}, want["GeoTrafficDistribution"])

    def test_is_what_statistics_says(self):
        self.assertGreater(int(self.waits), 0, "something waits in runs")
        for _ in range(25):
            begin = CLOCK - timedelta(days=self.dice.randrange(28))
            end = min(CLOCK, begin + timedelta(days=self.dice.randrange(28)))
            zone = self.dice.choice([None, 101, 103, 110, 127, 129, 130])
            self.compare_with_statistics(begin, end, self.dice.random() < 0.5, zone)

    def test_each_zone_is_what_statistics_says_of_it(self):
        got = self.ask(from_="2026-10-10", to="2026-11-04", top=100)
        self.assertEqual(got["zones"]["total"], 29)  # 129 is deleted and has nothing
        for zone in got["zones"]["items"]:
            want = self.server.get("/statistics?dateFrom=2026-10-10&dateTo=2026-11-04&pullZone="
                                   f"{zone['id']}").json()
            for name in SAME:
                self.assertEqual(zone[name] or 0, want[name], (zone["id"], name))
            self.assertEqual(zone["spark"], list(want["RequestsServedChart"].values()))
            self.assertEqual(zone.get("deleted", False), zone["id"] == 103)

    # --- against the rows of `buckets` ---

    def expected_before(self, begin, end, by, compare):
        whole = by == "month" and begin.day == 1 and end.day == 1
        if whole:
            months = (end.year - begin.year) * 12 + end.month - begin.month
            months = 12 if compare == "year" else months
            return months_before(begin, months), months_before(end, months)
        if compare == "year":
            moved = months_before(begin, 12)
            return moved, moved + (end - begin)
        return begin - (end - begin), begin

    def check_view(self, begin, end, by, compare, zone, region):
        """begin and end as buckets; end not included."""
        words = {"from_": stamp(begin), "to": stamp(end), "by": by, "compare": compare, "top": 100}
        words |= {"zone": zone} if zone else {}
        words |= {"region": region} if region else {}
        got = self.ask(**words)
        before = self.expected_before(begin, end, by, compare)
        self.assertEqual((got["from"], got["to"]), (stamp(begin), stamp(end)), words)
        self.assertEqual(got["compare"], {"from": stamp(before[0]), "to": stamp(before[1])}, words)
        for part, times in (("totals", (begin, end)), ("previous", before)):
            want = totals_of(list(self.chosen(*times, zone, region)))
            self.assertEqual(got[part], want, (part, words))
            for place in got["regions"]:
                own = place if part == "totals" else place["previous"]
                want = totals_of([row for row in self.chosen(*times, zone, region)
                                  if row["region"] == place["id"]])
                self.assertEqual({name: own[name] for name in want}, want, (place["id"], part, words))
            for item in got["zones"]["items"]:
                own = item if part == "totals" else item["previous"]
                want = totals_of(list(self.chosen(*times, item["id"], region)))
                if zone in (None, item["id"]):
                    self.assertEqual({name: own[name] for name in want}, want, (item["id"], part, words))
        for points, total in (("points", "totals"), ("previous_points", "previous")):
            for column, name in (("RequestsServed", "TotalRequestsServed"),
                                 ("BandwidthUsed", "TotalBandwidthUsed"), ("Error4xx", "Errors4xx")):
                self.assertEqual(sum(got[points][column]), got[total][name], (points, words))
        for item in got["zones"]["items"]:
            self.assertEqual(sum(item["spark"]) if by != "hour" else item["TotalRequestsServed"],
                             item["TotalRequestsServed"], words)
            self.assertLessEqual(len(item["spark"]), 60)
        if not zone and not region and end > datetime(2026, 11, 1, tzinfo=timezone.utc):
            for name in ("TotalRequestsServed", "TotalOriginTraffic", "Errors5xx"):
                self.assertEqual(sum(place[name] for place in got["regions"]), got["totals"][name])
                self.assertEqual(sum(item[name] for item in got["zones"]["items"]), got["totals"][name])
        return got

    def test_any_time_is_what_the_buckets_say(self):
        for _ in range(30):
            by = self.dice.choice(["hour", "day", "month"])
            unit = timedelta(hours=1) if by == "hour" else timedelta(days=1)
            begin = CLOCK - self.dice.randrange(1, {"hour": 1500, "day": 280, "month": 290}[by]) * unit
            if by != "hour":
                begin = begin.replace(hour=0)
            end = min(begin + self.dice.randrange(1, 200) * unit, TODAY_END)
            self.check_view(begin, end, by, self.dice.choice(["previous", "year"]),
                            self.dice.choice([None, None, 101, 103, 130]),
                            self.dice.choice([None, None, *EDGES]))

    def test_whole_months_are_compared_with_months(self):
        first, end = (datetime(2026, month, 1, tzinfo=timezone.utc) for month in (3, 11))
        for compare in ("previous", "year"):
            got = self.check_view(first, end, "month", compare, None, None)
            self.assertEqual(len(got["points"]["at"]), 8)
            self.assertEqual(got["points"]["at"][1], "2026-04-01T00:00:00Z")

    # --- order, pages, search ---

    def test_zones_are_ranked_paged_and_found(self):
        time = {"from_": "2026-10-01", "to": "2026-11-04"}
        items = self.ask(**time, top=100)["zones"]["items"]
        for field in ("TotalRequestsServed", "TotalBandwidthUsed", "TotalOriginTraffic", "CacheHitRate",
                      "AverageOriginResponseTime", "Errors3xx", "Errors5xx", "TotalRequestsPulled"):
            for sign in ("", "-"):
                def rank(item):
                    value = item[field]
                    return (value is None, 0 if value is None else value if sign else -value, item["id"])
                want = [item["id"] for item in sorted(items, key=rank)]
                got = []
                for page in range(1, 8):
                    answer = self.ask(**time, sort=sign + field, top=5, page=page)["zones"]
                    self.assertEqual((answer["total"], answer["page"], answer["per_page"]), (29, page, 5))
                    got += [item["id"] for item in answer["items"]]
                self.assertEqual(got, want, sign + field)
        names = sorted((item["name"].lower(), item["id"]) for item in items)
        got = self.ask(**time, sort="name", top=100)["zones"]["items"]
        self.assertEqual([(item["name"].lower(), item["id"]) for item in got], names)
        got = self.ask(**time, sort="-name", top=3)["zones"]["items"]
        self.assertEqual([item["name"].lower() for item in got], [name for name, _ in names[:-4:-1]])
        got = self.ask(**time, search="ZONE-1", top=100)["zones"]
        self.assertEqual({item["id"] for item in got["items"]},
                         {item["id"] for item in items if "zone-1" in item["name"]})
        self.assertEqual(self.ask(**time, search="%_nobody")["zones"]["items"], [])

    # --- times ---

    def test_auto_and_defaults(self):
        for words, by, n in (({"from_": "2026-11-02", "to": "2026-11-04"}, "hour", 72),
                             ({"from_": "2026-11-01", "to": "2026-11-04"}, "day", 4),
                             ({"from_": "2025-10-02", "to": "2026-11-04"}, "day", 399),
                             ({"from_": "2025-10-01", "to": "2026-11-04"}, "month", 14),
                             ({}, "day", 30),
                             ({"from_": "2026-11-03T10:20:00Z"}, "hour", 23)):
            got = self.ask(**words)
            self.assertEqual((got["by"], len(got["points"]["at"])), (by, n), words)
            self.assertIsNone(got["previous"])
            self.assertIsNone(got["previous_points"])
            self.assertNotIn("previous", got["zones"]["items"][0])

    def test_bad_parameters_are_refused_by_name(self):
        for query, field, key in (
                ("from=yesterday", "from", "validation_error"), ("to=2026-13-01", "to", "validation_error"),
                ("by=week", "by", "validation_error"), ("compare=last", "compare", "validation_error"),
                ("sort=Total", "sort", "validation_error"), ("sort=-", "sort", "validation_error"),
                ("top=0", "top", "validation_error"), ("top=101", "top", "validation_error"),
                ("page=0", "page", "validation_error"), ("zone=x", "zone", "validation_error"),
                ("region=ZZ9", "region", "validation_error"),
                ("region=" + "A" * 17, "region", "validation_error"),
                ("search=" + "a" * 256, "search", "validation_error"),
                ("from=2026-11-05", "from", "statistics.date_range_invalid"),
                ("from=1969-12-31", "from", "statistics.date_range_invalid"),
                ("from=2026-11-02&to=2026-11-01", "to", "statistics.date_range_invalid"),
                ("from=2026-01-01&by=hour", "from", "statistics.date_range_invalid"),
                ("from=1980-01-01&by=month", "from", "statistics.date_range_invalid"),
                ("from=2000-01-01&by=day", "from", "statistics.date_range_invalid")):
            answer = self.server.get("/insights?" + query)
            self.assertEqual(answer.status, 400, query)
            self.assertEqual((answer.status, answer.error, answer.json()["Field"]), (400, key, field), query)

    # --- who sees what ---

    def test_roles(self):
        self.assertEqual(self.server.get("/insights", "other").json()["zones"]["total"], 1)
        empty = self.ask("empty", compare="previous")
        self.assertEqual((empty["zones"]["items"], empty["regions"]), ([], []))
        self.assertIsNone(empty["totals"]["CacheHitRate"])
        self.assertEqual(empty["previous"]["TotalRequestsServed"], 0)
        for zone in (201, 999, 0):
            self.assertEqual(self.server.get(f"/insights?zone={zone}").error, "pullZone.not_found")
        self.assertEqual(self.server.get("/insights?account=2").status, 403)
        self.assertEqual(self.server.get("/insights?account=1").body, self.server.get("/insights").body)
        self.assertEqual(self.server.get("/insights", "ingest").status, 403)
        self.assertEqual(self.server.get("/insights", "operator").json()["Field"], "account")
        self.assertEqual(self.server.get("/insights?account=1", "operator").body,
                         self.server.get("/insights").body)
        self.assertEqual(self.server.get("/insights?account=77", "operator").status, 404)
        self.assertEqual(self.server.get("/insights", "billing").status, 403)

    def test_the_tag_is_good_until_something_changes(self):
        first = self.server.get("/insights?compare=year")
        again = self.server.get("/insights?compare=year", If_None_Match=first.headers["etag"])
        self.assertEqual((again.status, again.body), (304, b""))
        tags = {self.server.get("/insights?" + words).headers["etag"] for words in (
            "compare=year", "compare=previous", "search=a", "search=b", "region=DE", "region=NY", "zone=101",
            "top=21", "page=2", "sort=name", "sort=-name", "by=hour", "from=2026-11-01")}
        self.assertEqual(len(tags), 13)


if __name__ == "__main__":
    unittest.main()
