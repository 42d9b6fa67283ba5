"""GET /metrics/account says what /insights, /billing and /billing/forecast say, in both text formats; who sees what;
its bounds. docs/watching.md lists what is answered.

    tests/http/test_account_metrics.py            compare
    tests/http/test_account_metrics.py --write    write the table of docs/watching.md
"""
import json
import re
import shutil
import subprocess
import sys
import unittest
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from harness import CATALOG, SOURCE, Case, Server, hit, run  # noqa: E402
from test_billing import BOOK  # noqa: E402

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# What Prometheus 2 and 3 send.
PROMETHEUS = ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
              "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
              "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
              "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.3,text/plain;version=0.0.4;q=0.2,*/*;q=0.1")
PREFIX = "tollbook_account_"
PAGE = SOURCE / "docs/watching.md"
SAMPLE = re.compile(r'^([a-z_0-9]+)(?:\{(.*)\})? (-?\d+(?:\.\d+)?)$')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"(?:,|$)')
# A sample's name and its field in /insights.
SUMS = {"month_requests": "TotalRequestsServed", "month_sent_bytes": "TotalBandwidthUsed",
        "month_cached_bytes": "TotalBandwidthCached", "month_origin_bytes": "TotalOriginTraffic"}


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], text)


def samples(text):
    """{(name without its prefix, ((label, value), ...)): text of the value}; each is there once."""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.match(line).groups()
        key = name.removeprefix(PREFIX), tuple((k, unescaped(v)) for k, v in LABEL.findall(labels or ""))
        assert key not in found, line
        found[key] = value
    return found


def heads(text):
    """[(name, help, type)] in order; each family is in one piece."""
    found = re.findall(r"^# HELP (\S+) (.*)\n# TYPE \1 (\S+)$", text, re.M)
    seen = [name for name, _, _ in found]
    assert len(seen) == len(set(seen))
    family = None
    for line in text.splitlines():
        if line.startswith("# HELP"):
            family = line.split()[2]
        elif not line.startswith("#"):
            assert re.match(rf"{family}(_info)?[ {{]", line), (family, line)
    return found


class Figures(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = server.path / "catalog.json"
        name = 'quo"te \\ back'
        catalog.write_text(json.dumps({
            "accounts": [*CATALOG["accounts"], {"id": 3, "name": "prepaid", "prepaid": True}],
            "zones": [{**CATALOG["zones"][0], "name": name}, *CATALOG["zones"][1:], {**CATALOG["zones"][0], "id": 301, "account": 3}]}))
        run("apply", "--db", server.db, catalog)
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        rows = "".join(json.dumps({"hour": f"2026-{month:02}-{day:02}T05:00:00Z", "zone": zone, "region": "DE",
                                   "requests": 1000, "bytes": 3 * 10**11 + day * 10**9, "origin_bytes": day}) + "\n"
                       for zone in (101, 301) for month, days in ((9, 30), (10, 31), (11, 3)) for day in range(1, days + 1))
        run("import", "--db", server.db, "-", stdin=rows.encode())
        run("import", "--db", server.db, "-", stdin=json.dumps({"hour": "2026-11-02T05:00:00Z", "zone": 102, "region": "DE",
                                                                "requests": 5, "cache_unknown": 2}).encode())
        for month in ("2026-09", "2026-10"):
            run("invoice", "--db", server.db, "--month", month, "--finalize", expect=None)
        run("ledger", "pay", "--db", server.db, "--account", 1, "--amount", "1.25", "--reference", "p1")
        run("ledger", "pay", "--db", server.db, "--account", 3, "--amount", "287", "--reference", "p3")
        server.keys |= {"prepaid": server.make_key(3, "User"), "sees": server.make_key(1, "SubuserStatistics"),
                        "pays": server.make_key(1, "SubuserBilling"), "zones": server.make_key(1, "SubuserPullZones"),
                        "both": server.make_key(1, "SubuserStatistics", "SubuserBilling"),
                        "support": server.make_key(0, "Support"), "finance": server.make_key(0, "Finance")}
        server.start()

    def text(self, key="user", query="", **headers):
        answer = self.server.get("/metrics/account" + query, key, **headers)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.body.decode()

    # --- values ---

    def test_traffic_is_that_of_insights(self):
        for key, by_label in (("user", 2), ("prepaid", 1)):
            insights = self.server.get("/insights?from=2026-11-01&top=100", key).json()
            found = samples(self.text(key))
            for what, items in (("zone", insights["zones"]["items"]), ("region", insights["regions"])):
                self.assertEqual({labels[0][1] for (name, labels) in found if name == f"{what}_info"},
                                 {str(one["id"]) for one in items})
                for one in items:
                    self.one_is(found, what, one)
            self.assertEqual(int(found["zones", ()]), by_label)

    def one_is(self, found, what, one):
        label = (what, str(one["id"]))
        self.assertEqual(found[f"{what}_info", (label, ("name", one["name"]))], "1")
        for name, field in SUMS.items():
            self.assertEqual(found[f"{what}_{name}", (label,)], str(one[field]), (label, name))
        for status in ("4xx", "5xx"):
            self.assertEqual(found[f"{what}_month_errors", (label, ("status", status))], str(one["Errors" + status]))
        hits, lookups = (int(found[f"{what}_month_cache_{name}", (label,)]) for name in ("hits", "lookups"))
        self.assertLessEqual(lookups, one["TotalRequestsServed"])
        self.assertEqual(None if lookups == 0 else round(100 * hits / lookups, 6),
                         one["CacheHitRate"] if one["CacheHitRate"] is None else round(one["CacheHitRate"], 6))

    def test_a_request_without_a_cache_status_is_no_lookup(self):
        found = samples(self.text())
        self.assertEqual([int(found[f"zone_month_{name}", (("zone", "102"),)]) for name in ("requests", "cache_lookups")], [45, 43])

    def test_money_is_that_of_bills_and_forecasts(self):
        for key in ("user", "prepaid"):
            found = samples(self.text(key))
            bill, forecast = (self.server.get(path, key).json() for path in ("/billing", "/billing/forecast"))
            invoices = self.server.get("/billing/invoices", key).json()["invoices"]
            money = lambda name, *labels: Decimal(found[name, (("currency", "USD"), *labels)])  # noqa: E731
            self.assertGreater(money("month_charges"), 1)
            self.assertAlmostEqual(money("month_charges"), Decimal(str(bill["ThisMonthCharges"])), 9)
            self.assertEqual(money("month_charges_with_tax"), round(money("month_charges"), 2))  # no tax is declared
            self.assertEqual(found["charges_complete", ()], "1")
            self.assertEqual(money("balance"), Decimal(str(bill["Balance"])))
            owed = [(one["due"], Decimal(one["remaining"])) for one in invoices if one["remaining"]]
            self.assertEqual(money("open_amount"), sum(amount for _, amount in owed))
            self.assertEqual(money("overdue_amount"), sum(amount for due, amount in owed if due < "2026-11-04"))
            for percentile in ("5", "50", "95"):
                for name, of in (("forecast_charges", "net"), ("forecast_charges_with_tax", "gross")):
                    self.assertEqual(found[name, (("currency", "USD"), ("percentile", percentile))],
                                     forecast["money"][of]["p" + percentile])
            if key == "prepaid":
                self.assertEqual(money("available_balance"), Decimal(str(bill["AvailableBalance"])))
            else:
                self.assertNotIn(("available_balance", (("currency", "USD"),)), found)
                self.assertGreater(money("open_amount"), 0)

    def test_when_a_prepaid_balance_ends(self):
        lasts = self.server.get("/billing/forecast", "prepaid").json()["balance_lasts_until"]
        found = samples(self.text("prepaid"))
        for percentile in ("5", "50", "95"):
            said = found.get(("balance_end_timestamp_seconds", (("percentile", percentile),)))
            day = lasts["p" + percentile]
            self.assertEqual(said and int(said), day and self.seconds(day))
        self.assertIsNotNone(lasts["p5"])
        self.assertIsNone(lasts["p95"])  # a sample that is not there
        self.assertNotIn("balance_end", self.text())

    def seconds(self, day):
        return int(subprocess.run(["date", "-u", "-d", day, "+%s"], capture_output=True, check=True).stdout)

    def test_what_the_account_and_the_month_are(self):
        found = samples(self.text())
        self.assertEqual(found["info", (("account", "1"), ("name", "acme"))], "1")
        self.assertEqual(int(found["month_start_timestamp_seconds", ()]), self.seconds("2026-11-01"))

    # --- form ---

    def test_the_client_chooses_the_form(self):
        for accept in PROMETHEUS:
            answer = self.server.get("/metrics/account", Accept=accept)
            self.assertEqual(answer.headers["content-type"], OPEN)
            self.assertTrue(answer.body.endswith(b"\n# EOF\n"))
        for accept in ("*/*", "text/plain", "text/plain;version=0.0.4", "application/json", ""):
            answer = self.server.get("/metrics/account", Accept=accept)
            self.assertEqual(answer.headers["content-type"], TEXT, accept)
            self.assertNotIn(b"EOF", answer.body)
        self.assertEqual(self.server.get("/metrics/account").headers["content-type"], TEXT)
        self.assertEqual(samples(self.text(Accept=PROMETHEUS[0])), samples(self.text()))

    def test_an_answer_is_cached_in_its_form(self):
        for accept, kind in ((PROMETHEUS[0], OPEN), ("text/plain", TEXT)) * 2:
            answer = self.server.get("/metrics/account", "both", Accept=accept)
            self.assertEqual(answer.headers["content-type"], kind)
            again = self.server.get("/metrics/account", "both", Accept=accept, If_None_Match=answer.headers["etag"])
            self.assertEqual(again.status, 304)
        other = self.server.get("/metrics/account", "both", Accept=PROMETHEUS[0], If_None_Match=answer.headers["etag"])
        self.assertEqual(other.status, 200)

    def test_types_units_and_names(self):
        plain, full = self.text("prepaid"), self.text("prepaid", Accept=PROMETHEUS[0])
        for name, sense, kind in heads(plain):
            self.assertEqual(kind, "gauge")
            self.assertTrue(name.startswith(PREFIX) and sense.endswith("."), name)
        for name, _, kind in heads(full):
            self.assertIn(kind, ("gauge", "info"), name)
            self.assertFalse(name.endswith(("_info", "_total")), name)
            unit = re.search(rf"^# UNIT {name} (\S+)$", full, re.M)
            self.assertEqual(unit and unit[1], next((u for u in ("bytes", "seconds") if name.endswith("_" + u)), None), name)
        if not shutil.which("promtool"):
            self.skipTest("promtool is not installed (tests/dependencies test)")
        done = subprocess.run(["promtool", "check", "metrics"], input=plain.encode(), capture_output=True, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, b""))

    # --- who sees what ---

    def parts(self, text):
        names = {name for name, _ in samples(text)}
        return {part for part, name in (("traffic", "zone_month_requests"), ("money", "balance")) if name in names}

    def test_roles_decide_the_parts(self):
        for key, query, parts in (("user", "", {"traffic", "money"}), ("both", "", {"traffic", "money"}),
                                  ("sees", "", {"traffic"}), ("pays", "", {"money"}), ("pays", "?account=1", {"money"}),
                                  ("operator", "?account=1", {"traffic", "money"}), ("support", "?account=1", {"traffic", "money"}),
                                  ("finance", "?account=1", {"traffic", "money"})):
            self.assertEqual(self.parts(self.text(key, query)), parts, key)
        self.assertNotIn("charges", self.text("sees"))
        self.assertEqual(self.text("operator", "?account=1"), self.text())
        for key in ("zones", "ingest"):
            self.refused(self.server.get("/metrics/account", key), 403, "authorization.forbidden")
        self.refused(self.server.ask("GET", "/metrics/account"), 401, "authentication.failed")

    def test_an_account_sees_itself_alone(self):
        self.refused(self.server.get("/metrics/account?account=2"), 403, "authorization.forbidden", "account")
        self.refused(self.server.get("/metrics/account?account=99"), 403, "authorization.forbidden", "account")
        self.refused(self.server.get("/metrics/account", "operator"), 400, "validation_error", "account")
        self.refused(self.server.get("/metrics/account?account=99", "operator"), 404, "resource.not_found")
        other = self.text("other")
        self.assertEqual({labels[0][1] for name, labels in samples(other) if name == "zone_info"}, {"201"})
        self.assertIn('account="2"', other)

    def test_a_key_may_come_as_a_bearer_token(self):
        answer = self.server.ask("GET", "/metrics/account", Authorization="Bearer " + self.server.keys["user"])
        self.assertEqual(answer.body.decode(), self.text())
        self.refused(self.server.ask("GET", "/metrics/account", Authorization="Bearer " + 48 * "0"), 401, "authentication.failed")

    # --- the page ---

    def test_the_page_lists_what_is_answered(self):
        text = self.text("prepaid")
        lines = ["| metric | labels | meaning |", "|---|---|---|"]
        for name, sense, _ in heads(text):
            if PREFIX + "region_month" in name:
                continue
            labels = dict.fromkeys(label for (of, found) in samples(text) if PREFIX + of == name for label, _ in found)
            lines.append(f"| `{name.removeprefix(PREFIX)}` | {', '.join(f'`{label}`' for label in labels)} | {sense} |")
        page = PAGE.read_text()
        start = page.index("<!-- metrics -->") + len("<!-- metrics -->\n\n")
        stop = page.index("\n<!-- end of metrics -->")
        if "--write" in sys.argv:
            PAGE.write_text(page[:start] + "\n".join(lines) + "\n" + page[stop:])
        else:
            self.assertEqual(page[start:stop].splitlines(), lines)


class Changes(Case):
    """What a scraper sees while the data changes."""

    def requests(self, zone=101):
        return int(samples(self.server.get("/metrics/account").body.decode())["zone_month_requests", (("zone", str(zone)),)])

    def send(self, line):
        answer = self.server.ask("POST", "/ingest/logs", "ingest", line, Content_Type="text/plain")
        self.assertEqual(answer.status, 200, answer.body)

    def test_late_lines_of_this_month_count_and_those_of_an_earlier_one_do_not(self):
        before = self.requests()
        moment = 1793707200000
        self.send(hit(101, 3000))  # within the hour
        self.send(hit(101).replace(b"1793707200000", str(moment - 86400000).encode()))  # of the day before
        self.assertEqual(self.requests(), before + 2)
        self.send(hit(101).replace(b"1793707200000", str(moment - 10 * 86400000).encode()))
        self.assertEqual(self.requests(), before + 2)

    def test_the_forecast_is_an_hours(self):
        answer = self.server.ask("POST", "/books", "operator", json.dumps(BOOK).encode())
        self.assertEqual(answer.status, 201, answer.body)
        median = "forecast_charges", (("currency", "USD"), ("percentile", "50"))
        so_far = "month_charges", (("currency", "USD"),)
        before = samples(self.server.get("/metrics/account", "other").body.decode())
        row = {"hour": "2026-11-03T05:00:00Z", "zone": 201, "region": "DE", "requests": 1, "bytes": 10**15}
        answer = self.server.ask("POST", "/ingest/buckets", "operator", json.dumps(row).encode(), Content_Type="application/x-ndjson")
        self.assertEqual(answer.status, 200, answer.body)
        after = samples(self.server.get("/metrics/account", "other").body.decode())
        self.assertGreater(Decimal(after[so_far]), Decimal(before[so_far]))
        self.assertEqual(after[median], before[median])
        self.assertNotEqual(self.server.get("/billing/forecast", "other").json()["money"]["net"]["p50"], after[median])

    def test_what_is_withdrawn_is_gone(self):
        before = self.requests(102)
        line = hit(102, 77)
        self.send(line)
        self.assertEqual(self.requests(102), before + 1)
        answer = self.server.ask("POST", "/ingest/logs/withdraw", "operator", line, Content_Type="text/plain")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(self.requests(102), before)


class Many(unittest.TestCase):
    def test_two_thousand_zones_are_listed_and_the_others_counted(self):
        server = Server(log=None)
        self.addCleanup(server.close)
        server.stop()
        zones = range(1000, 3003)
        catalog = server.path / "many.json"
        catalog.write_text(json.dumps({**CATALOG, "zones": CATALOG["zones"] + [
            {**CATALOG["zones"][2], "id": zone, "name": f"z{zone}"} for zone in zones]}))
        run("apply", "--db", server.db, catalog)
        run("import", "--db", server.db, "-", stdin="".join(
            json.dumps({"hour": "2026-11-03T05:00:00Z", "zone": zone, "region": "DE", "requests": 1, "bytes": zone}) + "\n"
            for zone in zones).encode())
        server.start()
        found = samples(server.get("/metrics/account", "other").body.decode())
        self.assertEqual((found["zones", ()], found["zones_left_out", ()]), ("2004", "4"))
        listed = [int(labels[0][1]) for name, labels in found if name == "zone_month_sent_bytes"]
        self.assertEqual(listed, list(range(1003, 3003)))  # zone 201 has nothing
        self.assertEqual(int(found["region_month_sent_bytes", (("region", "DE"),)]), sum(zones))


if __name__ == "__main__":
    unittest.main(argv=[arg for arg in sys.argv if arg != "--write"])
