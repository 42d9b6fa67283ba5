"""Sums of shield events over HTTP: metrics by product, action and time, and searches with rows and groups. What the server
answers is compared with a plain count of the events that were sent."""
import json
import unittest
from collections import Counter

from harness import Case, run
from test_shield import CATALOG, DAY_MS, NOW_MS, event, lines

HOUR_MS = 3600000
FIRST_MS = NOW_MS - NOW_MS % DAY_MS - 2 * DAY_MS  # of the days that are kept
DAYS = ("02-11-2026", "03-11-2026", "04-11-2026")
# As an edge may write them, and what they mean.
FEATURES = {"waf": "waf", None: "waf", "WAF": "waf", "DDoS": "ddos", "rate-limit": "rateLimit", "accessLists": "accessLists",
            "bot_detection": "botDetection", "Upload Scanning": "uploadScanning", "ApiGuardian": "apiGuardian", "odd": None}
ACTIONS = {"block": "blocked", "Blocked": "blocked", "deny": "blocked", None: "logged", "log-only": "logged", "challenge": "challenged",
           "verified": "verified", "allow": "other"}


def sent():
    """Events of all products and actions, over three days."""
    names, deeds = list(FEATURES), list(ACTIONS)
    for i in range(640):
        feature, action = names[i % len(names)], deeds[i // 3 % len(deeds)]
        more = {"feature": feature, "action": action, "ruleId": str(940 + i % 5), "ruleName": f"rule {i % 5}", "ja4": f"t13d{i % 4}",
                "url": f"https://cdn.example/{i % 7}?q={i}", "userAgent": ["curl/8", "Mozilla/5.0"][i % 2]}
        yield event(i, at=FIRST_MS + i * 385000 + i, **{key: value for key, value in more.items() if value is not None})


class Sums(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.events = list(sent())
        cls.server.keys["billing"] = cls.server.make_key(1, "SubuserBilling")
        catalog = {**CATALOG, "zones": [*CATALOG["zones"], {"id": 109, "account": 1, "name": "counted"}],
                   "shield_zones": [{"id": 61, "account": 1, "zone": 109}, {"id": 62, "account": 1}, {"id": 63, "account": 1},
                                    *CATALOG["shield_zones"]]}
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(catalog).encode())
        old = event(900, 61, at=FIRST_MS - 1)  # is not kept
        run("import", "--db", cls.server.db, "-", stdin=lines([{**e, "shield_zone": 61} for e in cls.events] + [old]))
        rows = [{"zone": 109, "hour": hour, "region": "DE", "requests": n}
                for hour, n in (("2026-10-31T23:00:00Z", 1000), ("2026-11-01T00:00:00Z", 20), ("2026-11-04T08:00:00Z", 3))]
        run("import", "--db", cls.server.db, "-", stdin=lines(rows))
        cls.server.start()

    def of(self, product, *actions, events=None):
        """How many events these are."""
        return sum(FEATURES[e.get("feature")] == product and (not actions or ACTIONS[e.get("action")] in actions)
                   for e in (self.events if events is None else events))


    def add(self, events):
        added = self.server.ask("POST", "/ingest/buckets", "ingest", lines(events))
        self.assertEqual(added.status, 200, added.body)


class Metrics(Sums):
    def data(self, path, key="user", status=200):
        answer = self.server.get(f"/shield/metrics/{path}", key)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()["data"] if status == 200 else answer.json()

    def totals(self, events):
        return {"dDoSMitigated": self.of("ddos", "blocked", "challenged", events=events),
                "wafTriggeredRules": self.of("waf", events=events), "ratelimitBreaches": self.of("rateLimit", events=events),
                "botDetectionChallenged": self.of("botDetection", "challenged", events=events),
                "accessListActions": self.of("accessLists", events=events),
                "uploadScanningBlocks": self.of("uploadScanning", "blocked", events=events),
                "apiGuardianBlocks": self.of("apiGuardian", "blocked", events=events)}

    def by_day(self):
        return [[e for e in self.events if (e["timestamp"] - FIRST_MS) // DAY_MS == day] for day in range(3)]

    def test_the_overview_counts_the_kept_days(self):
        data = self.data("overview/61")
        self.assertEqual(data["overview"], self.totals(self.events))
        self.assertEqual(data["overviewPastTwentyEightDays"], dict(zip(DAYS, map(self.totals, self.by_day()))))
        for name, product, verified in (("dDoS", "ddos", True), ("botDetection", "botDetection", False)):
            expected = {"loggedRequests": self.of(product, "logged"), "challengedRequests": self.of(product, "challenged")}
            if verified:
                expected |= {"verifiedRequests": self.of(product, "verified"), "blockedRequests": self.of(product, "blocked")}
            self.assertEqual(data[name], expected)
            summed = Counter()
            for day in data[f"{name}OverviewPastTwentyEightDays"].values():
                summed.update(day)
            self.assertEqual({key: summed[key] for key in expected}, expected)
        self.assertEqual(data["waf"], {"totalTriggeredRules": self.of("waf"), "blockedRequests": self.of("waf", "blocked"),
                                       "loggedRequests": self.of("waf", "logged"),
                                       "challengedRequests": self.of("waf", "challenged")})
        self.assertEqual((data["totalBillableRequests"], data["totalCleanRequestsLimit"]), (23, 0))

    def test_the_parts_agree_with_the_overview(self):
        overview = self.data("overview/61")
        bots, uploads = self.data("shield-zone/61/bot-detection"), self.data("shield-zone/61/upload-scanning")
        guardian = self.data("shield-zone/61/api-guardian")
        self.assertEqual(bots["totalChallengedRequests"], overview["botDetection"]["challengedRequests"])
        self.assertEqual(bots["overviewPastTwentyEightDays"], overview["botDetectionOverviewPastTwentyEightDays"])
        self.assertEqual(uploads["totalBlockedRequests"], overview["uploadScanning"]["blockedRequests"])
        self.assertEqual(guardian["totalLoggedRequests"], overview["apiGuardian"]["loggedRequests"])
        rule = self.data("shield-zone/61/waf-rule/941")
        mine = [e for e in self.events if e["ruleId"] == "941"]
        self.assertGreater(rule["totalTriggers"], 0)
        self.assertEqual(rule["totalTriggers"], self.of("waf", events=mine))
        self.assertEqual(sum(day["blockedRequests"] for day in rule["overviewPastTwentyEightDays"].values()),
                         self.of("waf", "blocked", events=mine))
        self.assertEqual(self.data("shield-zone/61/waf-rule/x")["totalTriggers"], 0)

    def test_rate_limits_are_told_apart(self):
        listed = self.data("rate-limits/61")
        expected = Counter(int(e["ruleId"]) for e in self.events if FEATURES[e.get("feature")] == "rateLimit")
        self.assertEqual({one["ratelimitId"]: one["overview"]["totalBreaches"] for one in listed}, dict(expected))
        for one in listed:
            days = one["ratelimitOverviewPastTwentyEightDays"]
            self.assertEqual(list(days), list(DAYS))
            self.assertEqual(sum(day["totalBreaches"] for day in days.values()), one["overview"]["totalBreaches"])
        self.assertEqual(self.data("rate-limits/44"), [])
        self.add(event(i, 62, feature="ratelimit", ruleId=str(i)) for i in range(1000))
        self.assertEqual(len(self.data("rate-limits/62")), 1000)
        self.add([event(1000, 62, feature="ratelimit", ruleId="1000"), event(1001, 62, feature="ratelimit", ruleId="x")])
        self.assertIn("1000 rate limits", self.data("rate-limits/62", status=400)["detail"])
        self.assertEqual(self.data("overview/62")["overview"]["ratelimitBreaches"], 1002)

    def test_points_of_each_resolution_add_up(self):
        lengths = {1: 120000, 2: 600000, 3: HOUR_MS, 4: DAY_MS}
        for resolution in range(1, 7):
            start = "2026-11-04T00:00:00Z" if resolution < 3 else "2026-11-02"
            data = self.data(f"overview/61/detailed?StartDate={start}&Resolution={resolution}")
            self.assertEqual(data["resolution"], resolution)
            since = FIRST_MS + 2 * DAY_MS if resolution < 3 else FIRST_MS
            events = [e for e in self.events if since <= e["timestamp"] < NOW_MS + HOUR_MS]
            self.assertEqual(data["waf"]["totals"]["blocked"], self.of("waf", "blocked", events=events), resolution)
            self.assertEqual(data["ddos"]["totals"].get("verified", 0), self.of("ddos", "verified", events=events))
            for product in ("waf", "ddos", "accessLists"):
                for action, points in data[product]["metrics"].items():
                    self.assertEqual(sum(points.values()), data[product]["totals"][action])
                    if resolution in lengths:
                        self.assertEqual(len(points), -(-(NOW_MS + HOUR_MS - since) // lengths[resolution]))
        self.assertEqual(list(data["waf"]["metrics"]["blocked"]), ["2026-11-01T00:00:00Z"])  # by month

    def test_times_as_clients_write_them(self):
        day = self.data("overview/61/detailed?startdate=2026-11-03Z&enddate=2026-11-03&resolution=4")
        self.assertEqual(list(day["waf"]["metrics"]["logged"]), ["2026-11-03T00:00:00Z"])
        self.assertEqual(day["waf"]["totals"]["logged"], self.of("waf", "logged", events=self.by_day()[1]))
        # A day whose events are gone has its point.
        gone = self.data("overview/61/detailed?StartDate=2026-10-20Z&Resolution=4")
        self.assertEqual(gone["waf"]["metrics"]["blocked"]["2026-10-20T00:00:00Z"], 0)
        events = [e for e in self.events if e["timestamp"] < NOW_MS + HOUR_MS]
        self.assertEqual(sum(gone["waf"]["metrics"]["logged"].values()), self.of("waf", "logged", events=events))
        self.assertEqual(self.data("overview/61/detailed")["resolution"], 3)

    def test_bad_times(self):
        for query in ("StartDate=x", "EndDate=2026-02-30", "Resolution=7", "Resolution=-1", "Resolution=x", "StartDate=2026-11-05",
                      "StartDate=2026-11-03&EndDate=2026-11-02", "StartDate=1969-12-30",
                      "StartDate=2026-11-01&Resolution=1"):
            self.assertEqual(self.data(f"overview/61/detailed?{query}", status=400)["status"], 400, query)

    def test_another_accounts_zone_is_none(self):
        for path in ("overview/{}", "overview/{}/detailed", "rate-limits/{}", "shield-zone/{}/bot-detection",
                     "shield-zone/{}/upload-scanning", "shield-zone/{}/api-guardian", "shield-zone/{}/waf-rule/1"):
            answers = [self.data(path.format(zone), status=404) for zone in (50, 999, 2147483648)]
            for answer in answers:
                del answer["instance"]
            self.assertEqual(answers[1:], answers[:1] * 2, path)
        self.assertEqual(self.data("overview/50", key="other")["overview"]["wafTriggeredRules"], 0)

    def test_an_unchanged_answer_costs_a_304(self):
        first = self.server.get("/shield/metrics/overview/61", "user")
        again = self.server.get("/shield/metrics/overview/61", "user", If_None_Match=first.headers["etag"])
        self.assertEqual(again.status, 304)
        self.add([event(1, 44)])
        self.assertEqual(self.data("overview/44")["waf"]["loggedRequests"], 1)


class Zone(Sums):
    def zone(self, path, key="user", status=200):
        answer = self.server.get(f"/shield/shield-zone/{path}", key)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def test_one_by_its_id_and_by_its_pull_zone(self):
        self.assertEqual(self.zone("42"), {"data": {"shieldZoneId": 42, "pullZoneId": 101, "name": "acme"}})
        self.assertEqual(self.zone("43"), {"data": {"shieldZoneId": 43, "pullZoneId": None, "name": None}})
        self.assertEqual(self.zone("get-by-pullzone/101")["data"]["shieldZoneId"], 42)
        self.assertEqual(self.zone("50", key="other")["data"]["shieldZoneId"], 50)
        for path in ("50", "999", "x", "get-by-pullzone/102", "get-by-pullzone/0"):
            self.assertEqual(self.zone(path, status=404)["status"], 404, path)
        self.assertEqual(self.zone("get-by-pullzone/101", key="other", status=404)["status"], 404)


class Search(Sums):
    def search(self, zone=61, key="user", status=200, raw=None, **body):
        body = {"from": FIRST_MS, "to": NOW_MS, **body}
        answer = self.server.ask("POST", f"/shield/event-logs/{zone}/search", key,
                                 json.dumps(body).encode() if raw is None else raw, Content_Type="application/json")
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def found(self, keep=lambda e: True):
        return [e for e in reversed(self.events) if e["timestamp"] < NOW_MS and keep(e)]

    def test_rows_are_walked_newest_first(self):
        seen, number = [], 0
        while True:
            page = self.search(page=number, pageSize=77)
            self.assertEqual((page["total"], page["page"], page["groups"]), (len(self.found()), number, None))
            seen += [row["logId"] for row in page["rows"]]
            number += 1
            if number == page["totalPages"]:
                break
        self.assertEqual(seen, [e["logId"] for e in self.found()])
        self.assertEqual(self.search(page=number, pageSize=77)["rows"], [])
        self.assertEqual(len(self.search()["rows"]), 50)
        self.assertEqual([len(self.search(pageSize=size)["rows"]) for size in (0, 1, 501)], [1, 1, 500])

    def test_a_row_has_its_fields(self):
        one = self.found()[0]
        row = self.search(pageSize=1)["rows"][0]
        fields = {"feature": one["feature"], "ruleId": one["ruleId"], "ip": one["ip"], "country": "DE",
                  "asn": str(one["labels"]["asn"]), "ja4": one["ja4"], "url": one["url"], "ua": one["userAgent"]}
        if "action" in one:
            fields["action"] = one["action"]
        self.assertEqual(row, {"logId": one["logId"], "timestamp": one["timestamp"], "fields": fields,
                               "log": {"message": one["log"], "ruleName": one["ruleName"]}})

    def test_filters_and_free_text(self):
        only = self.search(filters=[{"field": "ruleId", "op": "eq", "value": ["941"]}], query="CURL")
        self.assertEqual(only["total"], len(self.found(lambda e: e["ruleId"] == "941" and e["userAgent"] == "curl/8")))
        self.assertGreater(only["total"], 0)

    def test_groups_are_the_largest_first(self):
        page = self.search(groupBy=["ja4", "ruleId"], buckets=6, pageSize=7)
        groups = Counter((e["ja4"], e["ruleId"]) for e in self.found())
        self.assertEqual((page["total"], page["totalPages"], page["rows"]), (len(groups), -(-len(groups) // 7), None))
        counts = [group["count"] for group in page["groups"]]
        self.assertEqual(counts, sorted(groups.values(), reverse=True)[:7])
        for group in page["groups"]:
            key = group["key"]["ja4"], group["key"]["ruleId"]
            mine = self.found(lambda e, key=key: (e["ja4"], e["ruleId"]) == key)
            self.assertEqual((group["count"], group["firstSeen"], group["lastSeen"]),
                             (len(mine), mine[-1]["timestamp"], mine[0]["timestamp"]))
            width = -(-(NOW_MS - FIRST_MS) // 6)
            spark = Counter((e["timestamp"] - FIRST_MS) // width for e in mine)
            self.assertEqual(group["sparkline"], [spark[i] for i in range(6)])
            deeds = Counter(ACTIONS[e.get("action")] for e in mine)
            context = group["context"]
            self.assertEqual((context["blocked"], context["challenged"], context["logged"]),
                             (deeds["blocked"], deeds["challenged"], deeds["logged"]))
            self.assertEqual((context["country"], context["asn"]), ("DE", str(mine[0]["labels"]["asn"])))
            self.assertEqual(context["ruleIds"], key[1])
            self.assertEqual(set(filter(None, context["features"].split(","))), {e["feature"] for e in mine if "feature" in e})
        rest = [self.search(groupBy=["ja4", "ruleId"], pageSize=7, page=n)["groups"] for n in range(page["totalPages"] + 1)]
        self.assertEqual(rest[-1], [])
        self.assertEqual({(g["key"]["ja4"], g["key"]["ruleId"]): g["count"] for part in rest for g in part}, dict(groups))
        self.assertNotIn("sparkline", rest[0][0])

    def test_an_empty_value_is_a_group(self):
        page = self.search(groupBy=["feature"])
        self.assertEqual({g["key"]["feature"]: g["count"] for g in page["groups"]},
                         dict(Counter(e.get("feature", "") for e in self.found())))

    def test_a_window_that_begins_too_early_has_what_is_kept(self):
        self.assertEqual(self.search(**{"from": 0})["total"], len(self.found()))

    def test_a_page_has_a_bound_of_bytes(self):
        self.add({**event(i, 63), "log": "x" * 60000} for i in range(150))
        refused = self.search(63, status=400, pageSize=500)
        self.assertIn("8 MiB", refused["detail"])
        self.assertEqual(len(self.search(63, pageSize=100)["rows"]), 100)
        self.assertEqual(self.search(63, groupBy=["country"])["groups"][0]["count"], 150)

    def test_bad_searches(self):
        for body in ({"groupBy": ["severity"]}, {"groupBy": ["ip", "ip"]}, {"groupBy": "ip"}, {"page": -1}, {"page": 1.5},
                     {"pageSize": "x"}, {"buckets": 501, "groupBy": ["ip"]}, {"page": 10**9}, {"to": FIRST_MS}, {"to": None},
                     {"filters": [{"field": "ip", "op": "cidr", "value": ["x/8"]}]}):
            self.assertEqual(self.search(status=400, **body)["status"], 400, body)
        self.search(status=400, raw=b"{")
        self.search(status=400, raw=b"[]")
        for zone in (50, 999):
            self.assertEqual(self.search(zone, status=404)["status"], 404)
        self.assertEqual(self.search(50, key="other")["total"], 0)
        self.search(key="billing", status=403)


if __name__ == "__main__":
    unittest.main()
