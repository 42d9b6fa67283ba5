"""tollbook forecast: its table, its JSON, short histories, and the backtest whose figure the docs give."""
import csv
import io
import json
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tool import Case, unittest

ROOT = Path(__file__).resolve().parents[3]
NOW = "2026-11-20T12:00:00Z"
GB = 10**9


class History(Case):
    """Twelve accounts and a year and a half, made by fixtures/history.py, once."""
    made = None

    def setUp(self):
        super().setUp()
        if History.made:
            (self.folder / "t.db").write_bytes(History.made)
            return
        subprocess.run([sys.executable, ROOT / "fixtures/history.py", self.folder], check=True)
        self.run_tool("apply", "--db", "t.db", "catalog.json")
        self.run_tool("book", "add", "--db", "t.db", "book.json")
        self.run_tool("import", "--db", "t.db", "history.ndjson")
        History.made = (self.folder / "t.db").read_bytes()

    @unittest.skipIf(os.environ.get("TB_VARIANT"), "it is about figures, not about memory")
    def test_the_docs_give_what_the_backtest_says(self):
        said = self.run_tool("forecast", "--db", "t.db", "--backtest", "--format", "table").out
        docs = (ROOT / "docs/forecast.md").read_text()
        for row in said.splitlines()[:19]:
            self.assertIn(row.rstrip() + "\n", docs)
        total = re.search(r"^all +680 +([\d.]+)", said, re.M)
        self.assertTrue(85 <= float(total.group(1)) <= 95, said)
        one = json.loads(self.run_tool("forecast", "--db", "t.db", "--backtest", "--account", 9,
                                       "--paths", 200).out)
        self.assertEqual([one["total"]["forecasts"], one["total"]["months"], one["paths"]],
                         [60, 12, 200])
        self.assertEqual(one["accounts"][0]["from_day"][4]["day"], 21)
        for row in (one["accounts"][0], one["total"]):
            self.assertLess(float(row["pinball"]), float(row["pinball_best_single"]))
            self.assertIn(row["best_single"], ("seasonal_naive", "damped_ets", "robust_regression"))
        loss = re.search(r"^all .* ([\d.]+) +([\d.]+)  \w+$", said, re.M)
        self.assertLess(float(loss.group(1)), 0.95 * float(loss.group(2)))

    def test_a_forecast_is_ordered_repeatable_and_apart_from_the_bill(self):
        before = self.run_tool("invoice", "--db", "t.db", "--month", "2026-11").out
        first = self.run_tool("forecast", "--db", "t.db", "--account", 9).out
        self.assertEqual(self.run_tool("forecast", "--db", "t.db", "--account", 9).out, first)
        other = self.run_tool("forecast", "--db", "t.db", "--account", 9, "--seed", 2).out
        self.assertNotEqual(other, first)
        f = json.loads(first)
        self.assertEqual([f["month"], f["generator"], f["seed"], f["paths"], f["method"]],
                         ["2026-11", "mt19937", 1, 10000, "trend_and_season"])
        for row in [*f["usage"], f["bytes"]]:
            low = [int(row[k]) for k in ("so_far", "p5", "p50", "p95")]
            self.assertEqual(low, sorted(low))
        days = f["bytes"]["days"]
        self.assertEqual([one["day"] for one in days], [f"2026-11-{day}" for day in range(20, 31)])
        for quantile in ("p5", "p50", "p95"):
            path = [int(f["bytes"]["so_far"]), *(int(one[quantile]) for one in days)]
            self.assertEqual(path, sorted(path))
        for one in days:
            self.assertEqual(int(one["p5"]) <= int(one["p50"]) <= int(one["p95"]), True, one)
        self.assertEqual({k: v for k, v in days[-1].items() if k != "day"}, {k: f["bytes"][k] for k in ("mean", "p5", "p50", "p95")})
        self.assertLess(int(days[0]["p95"]) - int(days[0]["p5"]), int(days[-1]["p95"]) - int(days[-1]["p5"]))
        net, gross = f["money"]["net"], f["money"]["gross"]
        self.assertAlmostEqual(float(gross["p50"]), 1.2 * float(net["p50"]), delta=0.01)
        self.assertAlmostEqual(float(net["p50"]), 93.7, delta=2)
        self.assertEqual({(u["product"], u["region"]) for u in f["usage"]},
                         {("premium", "EU"), ("premium", "NA"), ("premium", "ASIA"),
                          ("volume", "EU"), ("volume", "NA"), ("override", "EU")})
        self.assertEqual(self.run_tool("invoice", "--db", "t.db", "--month", "2026-11").out, before)

    def test_every_account_has_the_figures_of_its_own_forecast(self):
        every = json.loads(self.run_tool("forecast", "--db", "t.db", "--all", "--format", "json", "--seed", 7).out)
        self.assertEqual((every["month"], every["usage_until"], every["seed"], every["paths"], every["total"]),
                         ("2026-11", "2026-11-20T12:00:00Z", 7, 10000, 12))
        self.assertEqual([one["account"] for one in every["accounts"]], list(range(1, 13)))
        for row in every["accounts"]:
            one = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", row["account"], "--seed", 7).out)
            del one["bytes"]["days"]
            self.assertEqual(row, {"name": f"account-{row['account']}", "why": None, "budget": None, "likely": None, **{
                name: one[name] for name in ("account", "currency", "method", "reason", "money", "bytes", "complete")}})
        rows = list(csv.DictReader(io.StringIO(self.run_tool("forecast", "--db", "t.db", "--all", "--format", "csv", "--seed", 7).out)))
        self.assertEqual([(row["account"], row["net p95"], row["with tax p50"], row["bytes p50"]) for row in rows],
                         [(str(one["account"]), one["money"]["net"]["p95"], one["money"]["gross"]["p50"], one["bytes"]["p50"])
                          for one in every["accounts"]])
        table = self.run_tool("forecast", "--db", "t.db", "--all", "--format", "table", "--progress").out
        self.assertIn("net p95", table.splitlines()[0])
        self.assertEqual(len(table.splitlines()), 13)

    def test_an_account_that_cannot_be_forecast_says_why_in_its_row(self):
        self.run_tool("import", "--db", "t.db", self.write("much.ndjson", json.dumps(
            {"zone": 1201, "hour": "2026-11-10T05:00:00Z", "region": "DE", "bytes": 2 * 10**17}) + "\n"))
        rows = json.loads(self.run_tool("forecast", "--db", "t.db", "--all", "--format", "json", "--paths", 100).out)["accounts"]
        self.assertEqual([one["why"] for one in rows[:11]], [None] * 11)
        self.assertEqual((rows[11]["account"], rows[11]["why"]), (12, "A day of more than 10^17 units cannot be used for a forecast."))
        self.assertIn("12,account-12,,-,-,-,-,-,-,-,-,-,,A day of more than",
                      self.run_tool("forecast", "--db", "t.db", "--all", "--format", "csv", "--paths", 100).out)

    def test_a_row_says_how_likely_its_budget_is_exceeded(self):
        """The budget is the largest amount of the account's alerts on the month's money, whoever set them; how likely is of the paths
        that p5, p50 and p95 are of, so it is known within them."""
        gross = {one["account"]: one["money"]["gross"] for one in json.loads(self.run_tool(
            "forecast", "--db", "t.db", "--all", "--format", "json").out)["accounts"]}
        bounds = {1: ("p95", 0, 0.05), 2: ("p50", 0.05, 0.5), 3: ("p5", 0.5, 0.95)}
        for account, (name, _, _) in bounds.items():
            for n, (kind, amount) in enumerate((("forecast", "0.01"), ("month_to_date", gross[account][name]), ("forecast", "0.02"), ("usage", 10**15))):
                self.run_tool("alert", "set", "--db", "t.db", f"a{n}", "--account", account, "--kind", kind, "--above", amount,
                              *(("--probability", "0.5") if kind == "forecast" else ()))
        subprocess.run([sys.executable, ROOT / "fixtures/history.py", self.folder], check=True)
        catalog = json.loads((self.folder / "catalog.json").read_text())
        catalog["accounts"][3]["alerts"] = [{"id": "declared", "kind": "forecast", "above": "0.5", "probability": "0.9"}]
        self.run_tool("apply", "--db", "t.db", self.write("alerts.json", json.dumps(catalog)))
        rows = json.loads(self.run_tool("forecast", "--db", "t.db", "--all", "--format", "json").out)["accounts"]
        self.assertEqual([(one["budget"], one["likely"]) for one in rows[3:]], [("0.50", "1.000000")] + [(None, None)] * 8)
        for row in rows[:3]:
            name, least, most = bounds[row["account"]]
            self.assertEqual(row["budget"], gross[row["account"]][name])
            self.assertTrue(least <= float(row["likely"]) <= most, row)
            [above] = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", row["account"], "--above", row["budget"]).out)["above"]
            self.assertEqual(row["likely"], above["probability"])
        listed = csv.DictReader(io.StringIO(self.run_tool("forecast", "--db", "t.db", "--all", "--format", "csv").out))
        self.assertEqual([(row["budget"], row["likely"]) for row in listed], [(one["budget"] or "-", one["likely"] or "-") for one in rows])

    def test_one_account_or_all(self):
        self.assertIn("Both --all and --account", self.run_tool("forecast", "--db", "t.db", "--all", "--account", 1, status=2).err)
        self.assertIn("Give --account ID, or --all", self.run_tool("forecast", "--db", "t.db", status=2).err)

    def test_the_table_names_methods_reasons_and_the_seed(self):
        table = self.run_tool("forecast", "--db", "t.db", "--account", 10, "--format", "table").out
        self.assertIn("forecast, not a bill", table)
        self.assertIn("ended: No usage in the last 28 days", table)
        self.assertIn("10000 paths, generator mt19937, seed 1.", table)
        self.assertRegex(table, r"net, USD +\d")
        lb = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", 12).out)["usage"]
        self.assertEqual([u["unit"] for u in lb], ["byte", "request"])


class Short(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("apply", "--delete", "--db", "t.db", ROOT / "fixtures/catalog.json")
        self.run_tool("book", "add", "--db", "t.db", ROOT / "fixtures/book.json")

    def add(self, days, until="2026-11-20", zone=102, size=GB, region="DE"):
        end = datetime.fromisoformat(until).replace(tzinfo=timezone.utc)
        rows = [{"zone": zone, "hour": (end - timedelta(days=d)).strftime("%Y-%m-%dT10:00:00Z"),
                 "region": region, "bytes": size} for d in range(1, days + 1)]
        self.run_tool("import", "--db", "t.db",
                      self.write("h.ndjson", "".join(json.dumps(r) + "\n" for r in rows)))

    def forecast(self, *words, **more):
        return json.loads(self.run_tool("forecast", "--db", "t.db", "--account", 1, *words,
                                        **more).out)

    def test_no_history_says_so(self):
        f = self.forecast()
        self.assertEqual([f["method"], f["usage"], f["bytes"]["p95"]], ["so_far", [], "0"])
        self.assertIn("No complete day", f["reason"])
        self.assertEqual(f["money"]["net"]["p5"], f["money"]["net"]["p95"])
        with_fees = self.run_tool("invoice", "--db", "t.db", "--month", "2026-11",
                                  "--account", 1, now="2026-12-01T00:00:00Z").out
        self.assertEqual(json.loads(with_fees)["invoices"][0]["subtotal"],
                         f["money"]["net"]["p50"])

    def test_a_few_days_are_a_plain_rule(self):
        self.add(10)
        f = self.forecast()
        self.assertEqual(f["method"], "plain_days")
        self.assertIn("Fewer than 28 days", f["reason"])
        # the newest hour is 10:00 of the 19th: 9 days known whole, 11 days and 13 hours to come
        self.assertEqual(f["usage_until"], "2026-11-19T11:00:00Z")
        self.assertEqual(int(f["bytes"]["p50"]), 10 * GB + 11 * GB + GB * 13 // 24)
        self.assertEqual([(one["day"], int(one["p50"])) for one in f["bytes"]["days"]],
                         [(f"2026-11-{19 + k}", 10 * GB + k * GB + GB * 13 // 24) for k in range(12)])

    def test_what_stops_coming_is_waited_for_a_week(self):
        self.add(40, until="2026-11-16")
        self.assertEqual(self.forecast()["usage_until"], "2026-11-15T11:00:00Z")
        self.assertEqual(self.forecast(now="2026-11-23T12:00:00Z")["usage_until"],
                         "2026-11-23T12:00:00Z")

    def test_days_before_the_month_are_none_of_it(self):
        self.add(10, until="2026-10-29")
        f = self.forecast(now="2026-11-02T12:00:00Z")
        self.assertEqual((f["month"], f["usage_until"], f["bytes"]["so_far"]), ("2026-11", "2026-10-28T11:00:00Z", "0"))
        self.assertEqual([(one["day"], int(one["p5"]), int(one["p95"])) for one in f["bytes"]["days"]],
                         [(f"2026-11-{day:02}", day * GB, day * GB) for day in range(1, 31)])

    def test_a_zone_that_changed_its_type_has_its_past_with_the_new_one(self):
        self.add(60)
        before = {u["product"]: u for u in self.forecast()["usage"]}
        catalog = json.loads((ROOT / "fixtures/catalog.json").read_text())
        next(z for z in catalog["zones"] if z["id"] == 102)["type"] = "volume"
        self.run_tool("apply", "--db", "t.db", self.write("c2.json", json.dumps(catalog)))
        after = {u["product"]: u for u in self.forecast()["usage"]}
        self.assertEqual([before["premium"]["days"], after["volume"]["days"]], [59, 59])
        self.assertEqual(after["premium"]["so_far"], after["premium"]["p95"])
        self.assertEqual([after["premium"]["so_far"], after["volume"]["so_far"]],
                         [before["premium"]["so_far"], "0"])
        self.assertEqual(int(after["volume"]["p50"]) + int(after["premium"]["p50"]),
                         int(before["premium"]["p50"]))

    def test_requests_of_a_balancer_go_on(self):
        end = datetime(2026, 11, 20, tzinfo=timezone.utc)
        rows = [{"load_balancer": 7, "hour": (end - timedelta(days=d)).strftime("%Y-%m-%dT23:00:00Z"),
                 "requests": 3000000} for d in range(1, 40)]
        self.run_tool("import", "--db", "t.db",
                      self.write("h.ndjson", "".join(json.dumps(r) + "\n" for r in rows)))
        row = next(u for u in self.forecast()["usage"] if u["product"] == "load_balancer")
        self.assertEqual([row["so_far"], row["p50"]], ["57000000", "90000000"])

    def test_usage_without_a_price_is_named(self):
        self.add(5, region="QX7")
        f = self.forecast()
        self.assertFalse(f["complete"])
        self.assertEqual([f["unpriced"][0]["resource"], f["usage"][0]["product"]],
                         ["zone:102", "unpriced"])
        table = self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "table").out
        self.assertIn("Some usage has no price", table)

    def test_absurd_accounts_leave_the_others(self):
        catalog = {"accounts": [{"id": i, "name": f"account {i}"} for i in range(1, 5)],
                   "zones": [{"id": 100 * i + 1, "account": i, "name": f"zone {i}",
                              "created": "2026-01-05T00:00:00Z"} for i in range(1, 5)]}
        self.run_tool("apply", "--delete", "--db", "t.db", self.write("c3.json", json.dumps(catalog)))
        for zone, size in ((101, GB), (201, 10 ** 18), (301, 10 ** 18), (401, GB)):
            self.add(90, zone=zone, size=size)
        backtest = ("forecast", "--db", "t.db", "--backtest", "--paths", 100, "--format")
        done = self.run_tool(*backtest, "json", status=1)
        said = json.loads(done.out)
        self.assertEqual([a["account"] for a in said["accounts"]], [1, 4])
        self.assertEqual([said["total"]["forecasts"], said["total"]["bytes_hits"]], [10, 10])
        for line in ("account 2: A day of more than 10^17", "account 3: A day of more than 10^17",
                     "2 accounts are left out"):
            self.assertIn(line, done.err)
        self.assertRegex(self.run_tool(*backtest, "table", status=1).out, r"(?m)^all +10 ")
        done = self.run_tool(*backtest, "json", "--account", 2, status=1)
        self.assertEqual(json.loads(done.out)["accounts"], [])

    def test_refusals(self):
        self.assertIn("no account 9", self.run_tool("forecast", "--db", "t.db", "--account", 9,
                                                    status=2).err)
        self.assertIn("--account: It is missing", self.run_tool("forecast", "--db", "t.db",
                                                                status=2).err)
        for option, value in (("--seed", "4294967296"), ("--paths", "99"), ("--format", "xml")):
            self.assertIn(option, self.run_tool("forecast", "--db", "t.db", "--account", 1, option,
                                                value, status=2).err)


if __name__ == "__main__":
    unittest.main()
