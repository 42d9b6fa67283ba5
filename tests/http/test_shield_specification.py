"""What the specification says of a shield zone's event logs: the page, its tokens and errors, and
the export's body, filters and errors.
"""
import csv
import io
import json
import unittest

from harness import CATALOG, Case, run

NOON = 1793707200000  # 3 November 2026, 12:00
NOW = 1793782800000   # 4 November 2026, 09:00, the harness's clock
MS_72_HOURS = 72 * 3600 * 1000
DAY = "/shield/event-logs/41/11-03-2026"
EXPORT = "/shield/event-logs/41/export"
AGENTS = ("curl/8", "Mozilla/5.0")


def event(number):
    """One of 250 events of shield zone 41, each a second after the one before."""
    return {"shield_zone": 41, "timestamp": NOON + number * 1000, "log": f"event {number}",
            "feature": "waf", "action": "block" if number % 2 else "log", "ruleId": 900 + number % 5,
            "ruleName": f"Rule R{number % 7}", "ip": f"192.0.2.{number}", "country": "DE",
            "asn": 64500, "url": f"https://z/p{number}", "userAgent": AGENTS[number % 2],
            "labels": {"severity": "high", "method": "GET", "ruleGroup": "sqli", "status": 403,
                       "serverZone": "DE"}}


EVENTS = [event(number) for number in range(250)]


class Shield(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["shield_zones"] = [{"id": 41, "account": 1}, {"id": 42, "account": 2}]
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        run("import", "--db", server.db, "-",
            stdin="".join(json.dumps(e) + "\n" for e in EVENTS).encode())
        server.start()

    def page(self, target):
        answer = self.server.get(target)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def problem(self, answer, status):
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.json()["status"], status)
        self.has_fields("problem", answer.json())

    # holds: events.endpoint, events.first-page, events.next-page, events.prefix
    def test_tokens_lead_through_a_day_once(self):
        for first in (DAY, DAY + "/"):
            seen, target = [], first
            for _ in range(10):
                page = self.page(target)
                seen += [entry["log"] for entry in page["logs"]]
                if not page["hasMoreData"]:
                    break
                target = f"{DAY}/{page['continuationToken']}"
            self.assertEqual(len(seen), len(EVENTS))
            self.assertEqual(sorted(seen), sorted(e["log"] for e in EVENTS))

    # holds: events.camel-case
    def test_a_page_has_its_fields(self):
        page = self.page(DAY)
        self.has_fields("events.page", page)
        self.assertIsNone(page["errorResponse"])
        for entry in page["logs"]:
            self.has_fields("events.entry", entry)
            self.has_fields("events.labels", entry["labels"])
            self.assertEqual(set(entry), {"logId", "timestamp", "log", "labels"})
        newest = page["logs"][0]
        self.assertEqual(newest["timestamp"], NOON + 249000)
        self.assertEqual(newest["labels"], {
            "asn": "64500", "country": "DE", "ruleId": "904", "severity": "high", "method": "GET",
            "ruleGroup": "sqli", "status": "403", "serverZone": "DE"})
        for name in (*page, *newest, *newest["labels"]):
            self.assertRegex(name, r"^[a-z]")

    # holds: events.date
    def test_the_date_is_a_month_a_day_and_a_year(self):
        self.assertEqual(self.page("/shield/event-logs/41/11-02-2026")["logs"], [])
        for date in ("03-11-2026x", "2026-11-03", "11-3-2026", "13-01-2026", "11-31-2026", "11-03-26"):
            answer = self.server.get(f"/shield/event-logs/41/{date}")
            self.assertEqual(answer.status, 400, date)

    # holds: events.error, events.problem
    def test_errors_are_a_page_and_a_problem(self):
        for target, status in (("/shield/event-logs/41/nonsense", 400),
                               ("/shield/event-logs/41/10-01-2026", 400),
                               (f"{DAY}/nonsense", 400), ("/shield/event-logs/42/11-03-2026", 404)):
            answer = self.server.get(target)
            self.problem(answer, status)
            self.has_fields("events.page", answer.json())
            error = answer.json()["errorResponse"]
            self.has_fields("events.error", error)
            self.assertEqual((error["statusCode"], error["success"]), (status, False))
        self.problem(self.server.get(DAY, None), 401)

    def export(self, **body):
        window = {"from": NOON, "to": NOON + 3600000}
        return self.server.ask("POST", EXPORT, "user", json.dumps({**window, **body}).encode(),
                               Content_Type="application/json")

    def rows(self, *filters, **body):
        """Numbers of the events in an export."""
        if filters:
            body["filters"] = [dict(zip(("field", "op", "value"), f)) for f in filters]
        answer = self.export(**body)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertTrue(answer.headers["content-type"].startswith("text/csv"))
        self.assertIn("attachment", answer.headers["content-disposition"])
        found = csv.DictReader(io.StringIO(answer.body.decode(), newline=""))
        return sorted(int(row["url"].removeprefix("https://z/p")) for row in found)

    # holds: export.endpoint
    def test_an_export_is_a_file_of_the_whole_set(self):
        self.assertEqual(self.rows(), list(range(250)))
        self.assertEqual(self.rows(("action", "eq", ["block"])), list(range(1, 250, 2)))

    # holds: export.from-to
    def test_from_and_to_are_required_milliseconds(self):
        found = self.rows(**{"from": NOON + 1000, "to": NOON + 2001})
        self.assertEqual(found, [1, 2])
        for body in ({"from": None}, {"to": None}, {"from": "x"}, {"to": "2026-11-03"}):
            self.problem(self.export(**body), 400)
        self.problem(self.server.ask("POST", EXPORT, "user", b'{"to":%d}' % NOW,
                                     Content_Type="application/json"), 400)

    # holds: export.order
    def test_to_is_after_from(self):
        self.problem(self.export(**{"from": NOON, "to": NOON}), 400)
        self.problem(self.export(**{"from": NOON + 1, "to": NOON}), 400)
        self.assertEqual(self.rows(**{"from": NOON, "to": NOON + 1}), [0])

    # holds: export.72-hours
    def test_to_is_within_72_hours(self):
        oldest = NOW - MS_72_HOURS
        self.problem(self.export(**{"from": oldest - 9000, "to": oldest - 1}), 400)
        self.assertEqual(self.rows(**{"from": oldest - 9000, "to": oldest + 1}), [])

    # holds: export.query
    def test_free_text_looks_at_five_fields(self):
        for text, wanted in (("192.0.2.17", [17] + list(range(170, 180))),
                             ("901", list(range(1, 250, 5))), ("z/p24", [24] + list(range(240, 250))),
                             ("curl", list(range(0, 250, 2))), ("Rule R6", list(range(6, 250, 7))),
                             ("sqli", []), ("event 1", [])):
            self.assertEqual(self.rows(query=text), wanted, text)

    # holds: export.filters-and
    def test_filters_combine_with_and(self):
        self.assertEqual(self.rows(("action", "eq", ["block"]), ("ruleId", "eq", ["901"])),
                         [n for n in range(250) if n % 2 and n % 5 == 1])

    # holds: export.values-or
    def test_values_of_a_filter_combine_with_or(self):
        for op in ("in", "eq", "contains"):
            self.assertEqual(self.rows(("ruleId", op, ["901", "903"])),
                             [n for n in range(250) if n % 5 in (1, 3)])

    # holds: export.filter-shape, export.errors
    def test_filters_that_are_none_are_refused(self):
        for bad in ({"field": "colour", "op": "eq", "value": ["x"]},
                    {"field": "ip", "op": "like", "value": ["x"]},
                    {"field": "ip", "op": "eq", "value": "192.0.2.1"},
                    {"field": "ip", "op": "eq", "value": [1]}, {"op": "eq", "value": ["x"]},
                    {"field": "ip", "value": ["x"]}, "ip"):
            self.problem(self.export(filters=[bad]), 400)
        self.problem(self.export(filters={}), 400)
        self.problem(self.server.ask("POST", EXPORT, None, b"{}",
                                     Content_Type="application/json"), 401)


if __name__ == "__main__":
    unittest.main()
