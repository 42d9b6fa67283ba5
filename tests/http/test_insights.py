"""GET /insights says what /statistics says, to the digit, wherever both answer: random traffic over five months,
zones, regions, times, roles; in rows, waiting in runs, and folded. What /statistics does not answer is
compared with sums over the virtual table `buckets`. TB_SEED repeats a run.
"""
import json
import random
import sys
import unittest
from collections import defaultdict
from decimal import Decimal
from datetime import datetime, timedelta, timezone
from fractions import Fraction
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
        catalog = {**CATALOG, "accounts": CATALOG["accounts"] + [{"id": 3, "name": "empty"},
                                                                    {"id": 4, "name": "old"},
                                                                    {"id": 5, "name": "many"}],
                   "zones": [{"id": z, "account": 1, "name": f"zone-{dice.randrange(99)}-{z}",
                              "created": "2026-01-05T00:00:00Z" if z != 130 else "2026-11-01T00:00:00Z"}
                             for z in cls.zones] + CATALOG["zones"][2:] + [
                                 {"id": 301, "account": 4, "name": "old", "created": "2024-08-05T00:00:00Z"}] + [
                                     {"id": z, "account": 5, "name": f"m{z}", "created": "2026-01-05T00:00:00Z"}
                                     for z in range(1000, 1400)]}
        cls.server = Server(log=None)
        cls.addClassCleanup(cls.server.close)
        cls.server.stop()
        file = cls.server.path / "catalog.json"
        file.write_text(json.dumps(catalog))
        run("apply", "--delete", "--db", cls.server.db, file)
        cls.server.keys["empty"] = cls.server.make_key(3, "User")
        cls.server.keys["old"] = cls.server.make_key(4, "User")
        cls.server.keys["many"] = cls.server.make_key(5, "User")
        cls.server.keys["sees"] = cls.server.make_key(1, "SubuserAPIStatistics")
        cls.server.keys["billing"] = cls.server.make_key(1, "SubuserBilling")
        busy = cls.zones[:-4] + [201]  # four zones have nothing, or little
        run("import", "--db", cls.server.db, "-", stdin=json.dumps(
            {"hour": "2024-09-30T05:00:00Z", "zone": 301, "region": "DE", "requests": 7,
             "bytes": 10**9}).encode() + b"\n")
        run("ingest", "--db", cls.server.db, "-", stdin=random_log(dice, busy, 3000, 300))
        for part in range(6):  # some of it waits in runs
            run("ingest", "--db", cls.server.db, "-", stdin=random_log(dice, busy, 200, 45 - part))
            run("import", "--db", cls.server.db, "-", stdin=random_rows(dice, busy + [130], 200, 45))
        run("import", "--db", cls.server.db, "-", stdin="".join(json.dumps(
            {"hour": f"2026-{10 + z % 2}-02T05:00:00Z", "zone": z, "region": "DE", "requests": z,
             "bytes": 1}) + "\n" for z in range(1000, 1400, 3)).encode())
        catalog["zones"] = [z for z in catalog["zones"]
                            if z["id"] not in (103, 129) and (z["account"] != 5 or z["id"] < 1010)]
        file.write_text(json.dumps(catalog))
        run("apply", "--delete", "--db", cls.server.db, file)
        run("book", "--db", cls.server.db, "-", stdin=json.dumps(
            {"book": "b", "currency": "USD", "effective_from": "2024-01-01T00:00:00Z", "rounding": "half_up",
             "minimum_monthly": "0", "bandwidth": {"premium": {"per": "GB", "regions": {
                 "EU": "1", "NA": "1", "ASIA": "1", "SA": "1", "AF": "1"}}}}).encode())
        for month, due in (("2024-08", 1), ("2024-09", 0)):  # 1: nothing is due
            run("invoice", "--db", cls.server.db, "--month", month, "--account", 4, "--finalize",
                expect=due)
        run("retain", "--db", cls.server.db, "--hours", 25, "--days", 26)
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
            if name in (201, 301) or name >= 1000 or zone not in (None, name):
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
        first, stop = begin - (end - begin), begin
        if compare in ("day", "week") and by != "month":
            while begin - first < end - begin or (begin - first) % timedelta(days=7 if compare == "week" else 1):
                first -= timedelta(hours=1)
            stop = first + (end - begin)
        if by == "month":
            last = end - timedelta(days=1)
            months = (last.year - begin.year) * 12 + last.month - begin.month + 1
            months = 12 if compare == "year" else months
            first = months_before(begin, months)
            stop = (months_before(end, months) if end.day == 1
                    else months_before(last, months) + timedelta(days=1))
        elif compare == "year":
            first = months_before(begin, 12)
            stop = first + (end - begin)
        return first, stop - max(end - CLOCK, timedelta(0))  # what is still to come is not compared

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
            self.assertEqual(sum(item["spark"]), item["TotalRequestsServed"], words)
            self.assertLessEqual(len(item["spark"]), 60)
        if not zone and not region and end > datetime(2026, 11, 1, tzinfo=timezone.utc):
            for name in ("TotalRequestsServed", "TotalOriginTraffic", "Errors5xx"):
                self.assertEqual(sum(place[name] for place in got["regions"]), got["totals"][name])
                self.assertEqual(sum(item[name] for item in got["zones"]["items"]), got["totals"][name])
                early = totals_of([row for row in self.rows[130]  # had before it was there
                                   if before[0] <= row["hour"] < before[1] <= datetime(2026, 11, 1, tzinfo=timezone.utc)])
                if before[0] >= datetime(2026, 1, 5, tzinfo=timezone.utc):
                    self.assertEqual(sum(item["previous"][name] for item in got["zones"]["items"]) + early[name],
                                     got["previous"][name], words)
        if by != "hour" or end <= CLOCK:
            self.assertEqual(len(got["previous_points"]["Error3xx"]), len(got["points"]["at"]), words)
        return got

    def test_any_time_is_what_the_buckets_say(self):
        for _ in range(30):
            by = self.dice.choice(["hour", "day", "month"])
            unit = timedelta(hours=1) if by == "hour" else timedelta(days=1)
            begin = CLOCK - self.dice.randrange(1, {"hour": 1500, "day": 280, "month": 290}[by]) * unit
            if by != "hour":
                begin = begin.replace(hour=0)
            end = min(begin + self.dice.randrange(1, 200) * unit, TODAY_END)
            self.check_view(begin, end, by, self.dice.choice(["previous", "year", "day", "week"]),
                            self.dice.choice([None, None, 101, 103, 130]),
                            self.dice.choice([None, None, *EDGES]))

    def test_whole_months_are_compared_with_months(self):
        first, end = (datetime(2026, month, 1, tzinfo=timezone.utc) for month in (3, 11))
        for compare in ("previous", "year"):
            got = self.check_view(first, end, "month", compare, None, None)
            self.assertEqual(len(got["points"]["at"]), 8)
            self.assertEqual(got["points"]["at"][1], "2026-04-01T00:00:00Z")

    def test_today_so_far_is_compared_with_as_much(self):
        for words, want in (({"from_": "2026-10-29", "to": "2026-11-04"},
                             ("2026-10-22T00:00:00Z", "2026-10-28T09:00:00Z")),
                            ({"from_": "2026-10-29"}, ("2026-10-22T00:00:00Z", "2026-10-28T09:00:00Z")),
                            ({"from_": "2026-10-29", "compare": "year"},
                             ("2025-10-29T00:00:00Z", "2025-11-04T09:00:00Z")),
                            ({"from_": "2026-10-06", "compare": "week"},
                             ("2026-09-01T00:00:00Z", "2026-09-30T09:00:00Z")),
                            ({"from_": "2026-11-04", "to": "2026-11-04"},
                             ("2026-11-03T00:00:00Z", "2026-11-03T09:00:00Z")),
                            ({"from_": "2026-10-28", "to": "2026-11-03"},
                             ("2026-10-21T00:00:00Z", "2026-10-28T00:00:00Z"))):
            got = self.ask(**{"compare": "previous", **words})
            self.assertEqual(tuple(got["compare"].values()), want, words)
        got = self.ask(from_="2026-10-29", compare="previous", top=100)
        late = [row["requests"] for name, rows in self.rows.items() if name in self.zones for row in rows
                if "2026-10-28T09" <= stamp(row["hour"]) < "2026-10-29"]
        self.assertGreater(sum(late), 0, "more came on that day")
        for parts in (got["zones"]["items"], got["regions"]):
            self.assertEqual(sum(part["previous"]["TotalRequestsServed"] for part in parts),
                             got["previous"]["TotalRequestsServed"])
        self.assertEqual(sum(got["previous_points"]["RequestsServed"]), got["previous"]["TotalRequestsServed"])
        got = self.ask(from_="2026-11-04T10:00:00Z", to="2026-11-04T12:00:00Z", compare="previous")
        self.assertIsNone(got["compare"], "nothing of it has come")

    def test_months_are_compared_with_as_many_months(self):
        for first, last, compare, want, n in (
                ("2026-02-01", "2026-11-04", "previous", ("2025-04-01T00:00:00Z", "2026-01-04T09:00:00Z"), 10),
                ("2026-02-15", "2026-10-31", "previous", ("2025-05-15T00:00:00Z", "2026-02-01T00:00:00Z"), 9),
                ("2026-10-31", "2026-11-04", "previous", ("2026-08-31T00:00:00Z", "2026-09-04T09:00:00Z"), 2),
                ("2026-03-31", "2026-03-31", "previous", ("2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"), 1),
                ("2026-02-10", "2026-11-04", "year", ("2025-02-10T00:00:00Z", "2025-11-04T09:00:00Z"), 10)):
            got = self.ask(from_=first, to=last, by="month", compare=compare)
            self.assertEqual(tuple(got["compare"].values()), want, first)
            self.assertEqual([len(got[points]["RequestsServed"]) for points in ("points", "previous_points")],
                             [n, n], first)

    def test_sparks_hold_the_time_and_no_more(self):
        got = self.ask(from_="2026-10-30T06:00:00Z", to="2026-11-02T05:00:00Z", by="hour", top=100)
        self.assertEqual({len(zone["spark"]) for zone in got["zones"]["items"]}, {36})
        for zone in got["zones"]["items"]:
            self.assertEqual(sum(zone["spark"]), zone["TotalRequestsServed"])
        for begin, end, n in (("2026-10-20", "2026-11-01", 13), ("2026-10-20T00:00:00Z", "2026-11-01T03:00:00Z", 59)):
            got = self.ask(from_=begin, to=end, by="hour", top=100)
            for zone in got["zones"]["items"]:
                self.assertEqual((sum(zone["spark"]), len(zone["spark"])), (zone["TotalRequestsServed"], n))

    def test_a_deleted_zone_with_a_past_alone_is_there(self):
        hours = {row["hour"] for row in self.rows[103] if row["requests"]}
        had = max(hour for hour in (hour + timedelta(hours=1) for hour in hours)
                  if hour < CLOCK and hour not in {row["hour"] for row in self.rows[103]})
        got = self.ask(from_=stamp(had), to=stamp(had + timedelta(hours=1)), by="hour", compare="previous",
                       top=100, sort="name")
        zone = {zone["id"]: zone for zone in got["zones"]["items"]}.get(103)
        self.assertIsNotNone(zone, "zone 103 has something in the hour before")
        self.assertEqual(zone["TotalRequestsServed"], 0)
        self.assertGreater(zone["previous"]["TotalRequestsServed"], 0)

    def test_many_zones_are_summed_at_the_desk(self):
        words = "from=2026-11-01&to=2026-11-02&compare=previous&by=month&top=100&page="
        had = {z: z % 2 for z in range(1000, 1400, 3)}
        there = set(had) | set(range(1000, 1010))
        first = self.server.get(f"/insights?{words}1", "many")
        self.assertEqual(first.status, 200, first.body)
        got = first.json()
        self.assertEqual(got["zones"]["total"], len(there))
        items = got["zones"]["items"] + self.server.get(f"/insights?{words}2", "many").json()["zones"]["items"]
        self.assertEqual({zone["id"] for zone in items}, there)
        for zone in items:
            requests = zone["TotalRequestsServed"], zone["previous"]["TotalRequestsServed"]
            odd = had.get(zone["id"])
            want = (0, 0) if odd is None else (zone["id"], 0) if odd else (0, zone["id"])
            self.assertEqual(requests, want, zone["id"])
        again = self.server.get(f"/insights?{words}1", "many")
        self.assertEqual((again.body, again.headers["etag"]), (first.body, first.headers["etag"]))
        unchanged = self.server.get(f"/insights?{words}1", "many", If_None_Match=first.headers["etag"])
        self.assertEqual((unchanged.status, unchanged.body), (304, b""))
        self.assertEqual(self.server.get("/insights?zone=101", "many").error, "pullZone.not_found")
        refused = self.server.get("/insights?region=ZZ9", "many")
        self.assertEqual((refused.status, refused.json()["Field"]), (400, "region"))

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
        self.check_order({**time, "sort": "Errors5xx.rate"}, lambda item: Fraction(item["Errors5xx"], item["TotalRequestsServed"])
                         if item["TotalRequestsServed"] else None)
        names = sorted((item["name"].lower(), item["id"]) for item in items)
        got = self.ask(**time, sort="name", top=100)["zones"]["items"]
        self.assertEqual([(item["name"].lower(), item["id"]) for item in got], names)
        got = self.ask(**time, sort="-name", top=3)["zones"]["items"]
        self.assertEqual([item["name"].lower() for item in got], [name for name, _ in names[:-4:-1]])
        got = self.ask(**time, search="ZONE-1", top=100)["zones"]
        self.assertEqual({item["id"] for item in got["items"]},
                         {item["id"] for item in items if "zone-1" in item["name"]})
        self.assertEqual(self.ask(**time, search="%_nobody")["zones"]["items"], [])

    def check_order(self, words, value, total=29):
        """Of all pages of an order and of its reverse; value(item) None: last in both."""
        items = self.ask(**words, top=100)["zones"]["items"]
        for sign in ("", "-"):
            def rank(item):
                of = value(item)
                return (of is None, 0 if of is None else of if sign else -of, item["id"])
            got = []
            for page in range(1, (total + 6) // 7 + 1):
                answer = self.ask(**{**words, "sort": sign + words["sort"]}, top=7, page=page)["zones"]
                self.assertEqual(answer["total"], total)
                got += [item["id"] for item in answer["items"]]
            self.assertEqual(got, [item["id"] for item in sorted(items, key=rank)], words)
        return items

    def test_zones_are_ranked_by_their_change(self):
        news, gone, same = 0, 0, 0
        for compare, words in (("week", {"from_": "2026-10-30", "to": "2026-11-04"}), ("day", {"from_": "2026-11-03T03:00:00Z", "to": "2026-11-03T19:00:00Z", "by": "hour"}),
                               ("previous", {"from_": "2026-10-01", "to": "2026-10-31", "by": "month"})):
            for field in ("TotalRequestsServed", "TotalBandwidthUsed", "Errors4xx"):
                def change(item):
                    now, before = item[field], item["previous"][field]
                    return Fraction(now, before) if before else 10**30 + now if now else None
                total = self.ask(**words, compare=compare)["zones"]["total"]
                items = self.check_order({**words, "compare": compare, "sort": field + ".change"}, change, total)
                news += sum(not item["previous"][field] and item[field] > 0 for item in items)
                gone += sum(item["previous"][field] > 0 and not item[field] for item in items)
                same += sum(not item["previous"][field] and not item[field] for item in items)
        self.assertTrue(news and gone and same, (news, gone, same))
        many = {"from_": "2026-11-01", "to": "2026-11-02", "by": "month", "compare": "previous"}
        for sort, most in (("TotalRequestsServed.change", True), ("-TotalRequestsServed.change", False)):
            first = self.ask("many", **many, sort=sort, top=1)["zones"]["items"][0]
            self.assertEqual((first["TotalRequestsServed"], first["previous"]["TotalRequestsServed"] > 0),
                             (1399, False) if most else (0, True))
        coming = {"from_": "2026-11-04T10:00:00Z", "to": "2026-11-04T12:00:00Z", "compare": "week"}
        self.assertEqual([zone["id"] for zone in self.ask(**coming, sort="TotalRequestsServed.change", top=3)["zones"]["items"]], [101, 102, 104])

    def test_zones_are_ranked_by_their_charges(self):
        def charges_of(month):
            found = defaultdict(Decimal)
            for line in json.loads(run("invoice", "--db", self.server.db, "--month", month, "--account", 1).stdout)["invoices"][0]["lines"]:
                if line["resource"].startswith("zone:"):
                    found[int(line["resource"][5:])] += Decimal(line["exact"])
            return found

        october, now = charges_of("2026-10"), charges_of("2026-11")
        for zone in self.server.get("/billing/summary").json():
            self.assertAlmostEqual(zone["MonthlyUsage"], float(now[zone["PullZoneId"]]), 9)
        self.assertGreater(len(october), 20)
        for words, charges in (({"from_": "2026-10-03", "to": "2026-10-31"}, october), ({"from_": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z"}, now),
                               ({"from_": "2026-10-20"}, now)):
            total = self.ask(**words)["zones"]["total"]
            self.check_order({**words, "sort": "charges"}, lambda item: charges.get(item["id"]) or None, total)
        self.assertEqual([zone["id"] for zone in self.ask(from_="2026-10-03", to="2026-10-31", sort="charges", search="zone-1", top=100)["zones"]["items"]],
                         sorted((zone["id"] for zone in self.ask(from_="2026-10-03", to="2026-10-31", search="zone-1", top=100)["zones"]["items"]),
                                key=lambda zone: (-october.get(zone, 0), zone)))
        self.assertEqual(self.server.get("/insights?sort=charges", "sees").status, 403)
        self.assertEqual(self.server.get("/insights?sort=charges", "operator").json()["Field"], "sort")
        self.assertEqual(self.server.get("/insights?sort=charges&account=1", "operator").status, 200)

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
                ("sort=Total", "sort", "validation_error"), ("sort=name.change&compare=week", "sort", "validation_error"),
                ("sort=CacheHitRate.rate", "sort", "validation_error"), ("sort=.change&compare=week", "sort", "validation_error"),
                ("sort=TotalRequestsServed.change", "sort", "validation_error"), ("sort=-", "sort", "validation_error"),
                ("top=0", "top", "validation_error"), ("top=101", "top", "validation_error"),
                ("page=0", "page", "validation_error"), ("zone=x", "zone", "validation_error"),
                ("region=ZZ9", "region", "validation_error"),
                ("region=" + "A" * 17, "region", "validation_error"),
                ("search=" + "a" * 256, "search", "validation_error"),
                ("from=2026-11-05", "from", "statistics.date_range_invalid"),
                ("from=1969-12-31", "from", "statistics.date_range_invalid"),
                ("from=0000-01-01", "from", "validation_error"),
                ("from=0001-01-01", "from", "statistics.date_range_invalid"),
                ("from=2026-11-02&to=2026-11-01", "to", "statistics.date_range_invalid"),
                ("from=2026-01-01&by=hour", "from", "statistics.date_range_invalid"),
                ("from=1980-01-01&by=month", "from", "statistics.date_range_invalid"),
                ("from=2000-01-01&by=day", "from", "statistics.date_range_invalid")):
            answer = self.server.get("/insights?" + query)
            self.assertEqual(answer.status, 400, query)
            self.assertEqual((answer.status, answer.error, answer.json()["Field"]), (400, key, field), query)

    def test_hours_that_are_gone_are_refused_and_days_are_not(self):
        for time, by in (("from=2024-09-30&to=2024-10-01", "day"), ("from=2024-10-01&to=2024-10-02", "hour"),
                         ("from=2024-10-01&to=2024-10-02&compare=previous", "day"),
                         ("from=2025-09-30&to=2025-09-30&compare=year", "day"),
                         ("from=2024-09-30&to=2024-10-01&by=day", "day")):
            exact = self.server.get(f"/insights?{time}&by=hour", "old")
            self.assertEqual(self.server.get(f"/insights?{time}", "old").json()["by"], by, time)
            again = self.server.get(f"/insights?{time}&by=hour", "old")  # the cache has the other answer
            self.assertEqual((exact.status, again.body), (200 if by == "hour" else 400, exact.body), time)
            if by == "day" and "by=day" not in time:
                self.assertEqual((exact.error, exact.json()["Field"]), ("statistics.date_range_invalid", "by"))
                self.assertIn("2024-10-01", exact.json()["Message"])
        for words in ({}, {"by": "day"}):
            got = self.ask("old", from_="2024-09-30", to="2024-10-01", **words)
            self.assertEqual(got["points"]["RequestsServed"], [7, 0])
            for part in (got["totals"], got["regions"][0], got["zones"]["items"][0]):
                self.assertEqual(part["TotalRequestsServed"], 7)

    def test_a_part_of_a_day_whose_hours_are_gone_is_the_whole_day(self):
        got = self.ask("old", from_="2024-10-01", by="month", compare="previous")
        self.assertEqual(got["compare"]["to"], "2024-09-05T00:00:00Z")
        got = self.ask("old", from_="2024-11-01", by="month", compare="previous")
        self.assertEqual(got["compare"]["to"], "2024-10-04T09:00:00Z")

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
        for account in (0, -1):
            self.assertEqual(self.server.get(f"/insights?account={account}", "operator").json()["Field"], "account")
        self.assertEqual(self.server.get("/insights?account=1", "operator").body,
                         self.server.get("/insights").body)
        self.assertEqual(self.server.get("/insights?account=77", "operator").status, 404)
        self.assertEqual(self.server.get("/insights", "billing").status, 403)

    # --- the fleet ---

    def fleet(self, begin, end, region=None):
        """Rows of buckets by account."""
        by_account = defaultdict(list)
        for zone, rows in self.rows.items():
            account = 1 if 101 <= zone <= 130 else {201: 2, 301: 4}.get(zone, 5)
            by_account[account] += [row for row in rows if begin <= row["hour"] < end
                                    and region in (None, row["region"])]
        return by_account

    def test_without_account_an_operator_sees_the_fleet(self):
        self.assertGreater(int(self.waits), 0, "something waits in runs")
        names = {1: "acme", 2: "borealis", 3: "empty", 4: "old", 5: "many"}
        for _ in range(20):
            begin = (CLOCK - timedelta(days=self.dice.randrange(1, 40))).replace(hour=0)
            end = min(TODAY_END, begin + timedelta(days=self.dice.randrange(1, 30)))
            region = self.dice.choice([None, None, "DE", "SG"])
            words = {"from_": begin.date(), "to": (end - timedelta(days=1)).date(), "rank": "accounts", "top": 100,
                     "by": "day", **({"region": region} if region else {})}
            got = self.ask("operator", compare="previous", **words)
            before = [datetime.fromisoformat(got["compare"][side]) for side in ("from", "to")]
            rows, was = self.fleet(begin, end, region), self.fleet(*before, region)
            self.assertEqual(got["totals"], totals_of(sum(rows.values(), [])))
            self.assertEqual(got["previous"], totals_of(sum(was.values(), [])))
            for name, metric in (("RequestsServed", "requests"), ("BandwidthUsed", "bytes")):
                want = [sum(row[metric] for row in sum(rows.values(), [])
                            if f"{row['hour']:%Y-%m-%dT00:00:00Z}" == at) for at in got["points"]["at"]]
                self.assertEqual(got["points"][name], want)
            everywhere = self.fleet(begin, end), self.fleet(*before)
            for code in [region] if region else EDGES:
                now, then = ([row for rows in of.values() for row in rows if row["region"] == code]
                             for of in everywhere)
                shown = [r for r in got["regions"] if r["id"] == code]
                if any(row["requests"] or row["origin_bytes"] for row in now + then):
                    self.assertEqual({k: shown[0][k] for k in totals_of(now)}, totals_of(now), code)
                    self.assertEqual(shown[0]["previous"], totals_of(then), code)
            accounts = got["accounts"]["items"]
            self.assertEqual(got["accounts"]["total"], 5)
            self.assertEqual({a["id"]: a["name"] for a in accounts}, names)
            for a in accounts:
                want = totals_of(rows[a["id"]])
                self.assertEqual({k: a[k] for k in want}, want, (a["id"], words))
                self.assertEqual(a["previous"], totals_of(was[a["id"]]))
                self.assertEqual(sum(a["spark"]), want["TotalRequestsServed"])
            self.assertEqual([a["id"] for a in accounts],
                             sorted(names, key=lambda i: (-totals_of(rows[i])["TotalRequestsServed"], i)))
            total = sum(z["TotalRequestsServed"] for page in range(1, 7) for z in
                        self.ask("operator", **{**words, "page": page})["zones"]["items"])
            self.assertEqual(total, got["totals"]["TotalRequestsServed"])

    def test_accounts_are_ranked_paged_and_found(self):
        def ids(**words):
            return [a["id"] for a in self.ask("operator", rank="accounts", **words)["accounts"]["items"]]
        self.assertEqual(ids(sort="name"), [1, 2, 3, 5, 4])
        self.assertEqual(ids(sort="-name", top=2, page=2), [3, 2])
        self.assertEqual(ids(search="AL"), [2])
        self.assertEqual(ids(search="4"), [4])
        self.assertEqual(ids(search="nothing of that"), [])
        self.assertNotIn("accounts", self.ask("operator"))
        self.assertNotIn("accounts", self.ask("operator", rank="zones"))
        zone = self.ask("operator", zone=201)  # its account is found
        self.assertEqual(zone, self.ask("operator", zone=201, account=2))
        for key, query in (("user", "rank=accounts"), ("operator", "rank=accounts&account=1"),
                           ("operator", "rank=accounts&zone=101"), ("operator", "rank=regions")):
            answer = self.server.get("/insights?" + query, key)
            self.assertEqual((answer.status, answer.json()["Field"]), (400, "rank"), query)
        self.assertEqual(self.server.get("/insights?zone=999", "operator").error, "pullZone.not_found")
        expired = self.server.get("/insights?from=2024-09-30&to=2024-10-01&by=hour", "operator")
        self.assertEqual((expired.status, expired.json()["Field"]), (400, "by"))

    def test_the_tag_is_good_until_something_changes(self):
        first = self.server.get("/insights?compare=year")
        again = self.server.get("/insights?compare=year", If_None_Match=first.headers["etag"])
        self.assertEqual((again.status, again.body), (304, b""))
        tags = {self.server.get("/insights?" + words).headers["etag"] for words in (
            "compare=year", "compare=previous", "search=a", "search=b", "region=DE", "region=NY", "zone=101",
            "top=21", "page=2", "sort=name", "sort=-name", "by=hour", "from=2026-11-01", "compare=week", "compare=day",
            "sort=Errors5xx", "sort=Errors5xx.rate", "sort=Errors5xx.change&compare=week")}
        self.assertEqual(len(tags), 18)


if __name__ == "__main__":
    unittest.main()
