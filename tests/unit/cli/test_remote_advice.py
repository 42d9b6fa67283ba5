"""Advice through a running server: what the same commands print with --db, on the same file, and what is
wrong with arguments that come from a query or as JSON."""
import json
import unittest
import urllib.error
import urllib.request
from tool import Case, random_seed

BOOK = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.02"}}},
        "load_balancer": {"monthly_fee": "3", "tiers": [
            {"from_millions": 0, "to_millions": None, "price_per_million": "0.5"}]}}
CATALOG = {"accounts": [{"id": i, "name": f"a{i}"} for i in (1, 2, 3)],
           "zones": [{"id": 100 + i, "account": i, "name": f"z{i}",
                      "created": "2026-01-05T00:00:00Z"} for i in (1, 2, 3)]}


class Advice(Case):
    """The server writes t.db; --db reads the same file beside it."""

    def setUp(self):
        super().setUp()
        self.key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role",
                                 "Operator").out.strip()
        self.apply(json.dumps(CATALOG))
        self.run_tool("book", "add", "--db", "t.db", self.write("b.json", json.dumps(BOOK)))
        rows = [{"zone": 100 + i, "hour": f"2026-{month:02}-{day:02}T05:00:00Z", "region": region,
                 "requests": 9, "bytes": (day + i) * 10 ** 9}
                for i in (1, 2, 3) for month in (9, 10, 11) for day in range(1, 20)
                for region in ("DE", "NY")]
        self.run_tool("import", "--db", "t.db", "-",
                      stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        port = self.folder / "port"
        self.server = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file",
                                 "port", "--threads", 2)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        self.url = f"http://127.0.0.1:{port.read_text().strip()}"
        self.place = ["--server", self.url, "--key", self.key]

    def both(self, *words, status=0):
        here = self.run_tool(*words, "--db", "t.db", status=status)
        there = self.run_tool(*words, *self.place, status=status)
        self.assertEqual((there.out, there.err), (here.out, here.err))
        return here

    def post(self, path, body):
        """The answer's status and its JSON."""
        ask = urllib.request.Request(self.url + path, json.dumps(body).encode(), method="POST",
                                     headers={"AccessKey": self.key,
                                              "Content-Type": "application/json"})
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(ask) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)

    def refused(self, name, cases):
        """Each is a query, a body, the field that is named, and words of the message."""
        for query, body, field, text in cases:
            status, answer = self.post(f"/operations/{name}{query}", body)
            self.assertEqual((status, answer.get("Field")), (400, field), answer)
            self.assertIn(text, answer["Message"])

    def test_percentile(self):
        for words in (("--zone", 101), ("--account", 2, "--month", "2026-09"),
                      ("--zone", 103, "--percentile", "99.9", "--commit", "0.5"),
                      ("--account", 1, "--format", "table", "--commit", 12)):
            self.assertTrue(self.both("percentile", *words).out)
        status, answer = self.post("/operations/percentile?zone=101", {"month": "2026-10"})
        self.assertEqual((status, answer["answer"]), (200, json.loads(answer["out"])))
        self.assertEqual(answer["answer"]["resource"], "zone:101")
        self.refused("percentile", (
            ("", {}, "zone", "Give it, or an account"), ("?zone=0", {}, "zone", "from 1 up"),
            ("", {"zone": "101"}, "zone", "a whole number"), ("?zone=101", {"zone": 101}, "zone", "twice"),
            ("", {"zone": 101, "month": "2026-12"}, "month", "future"),
            ("?zone=101&month=2026-13", {}, "month", "Write it like 2026-10"),
            ("", {"zone": 101, "commit": "1e3"}, "commit", ""),
            ("", {"zone": 101, "percentile": "0"}, "percentile", "above 0"),
            ("", {"zone": 101, "format": "xml"}, "format", "table, json or csv"),
            ("", {"zone": 101, "zones": 1}, "zones", "Unknown member")))

    def asked(self, query):
        ask = urllib.request.Request(f"{self.url}/billing/forecast?account=1&paths=500&{query}", headers={"AccessKey": self.key})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(ask) as answer:
            return json.load(answer)

    def test_the_probabilities_are_those_of_the_paths(self):
        """Asked for each cent, they give every path's amount; these have the forecast's own mean and quantiles."""
        seed = random_seed()
        gross = self.asked(f"seed={seed}")["money"]["gross"]
        cents = {name: int(value.replace(".", "")) for name, value in gross.items()}
        over, at = {}, cents["p50"]
        for step in (-1, 1):  # to where every path, or none, is above
            at = cents["p50"]
            while at not in over or 0 < over[at] < 500:
                row, = self.asked(f"seed={seed}&above={at // 100}.{at % 100:02}")["above"]
                self.assertEqual(row["probability"], f"{row['paths'] / 500:.6f}")
                over[at] = row["paths"]
                at += step if 0 < over[at] < 500 else 0
        paths = [cent for cent in sorted(over)[1:] for _ in range(over[cent - 1] - over[cent])]
        self.assertEqual(len(paths), 500, f"seed {seed}")
        self.assertGreater(len(set(paths)), 5, f"seed {seed}: all paths alike show nothing")
        self.assertEqual({name: paths[-(-500 * p // 100) - 1] for name, p in (("p5", 5), ("p50", 50), ("p95", 95))},
                         {name: cents[name] for name in ("p5", "p50", "p95")}, f"seed {seed}")
        self.assertEqual((2 * sum(paths) + 500) // 1000, cents["mean"], f"seed {seed}")
        self.assertEqual(self.both("forecast", "--account", 1, "--above", "5", "--format", "json").out.count('"above"'), 1)
        self.assertIn("100.0 % likely to exceed 0.5 USD, tax included",
                      self.both("forecast", "--account", 1, "--above", "0.50", "--format", "table").out)
        for wrong in ("-1", "x", "1e3", "0.1234567", "1000000000000000001"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.asked(f"above={wrong}")
            with refused.exception as answer:
                self.assertEqual((answer.code, json.load(answer)["Field"]), (400, "above"), wrong)

    def test_forecasts_of_all_accounts_come_in_parts(self):
        more = self.write("more.json", json.dumps({**CATALOG, "accounts": [{"id": i, "name": f"a{i}"} for i in range(1, 130)]}))
        self.run_tool("apply", more, *self.place)
        for form in ("table", "csv", "json"):
            here = self.both("forecast", "--all", "--paths", 200, "--format", form)
        every = json.loads(here.out)
        self.assertEqual((every["total"], len(every["accounts"])), (129, 129))
        body, accounts, parts = {"all": True, "paths": 200, "format": "json"}, [], 0
        while body:
            status, reply = self.post("/operations/forecast", body)
            self.assertEqual(status, 200)
            accounts += reply["answer"]["accounts"]
            parts += 1
            body = {**body, "next": reply["next"]} if reply.get("next") else None
        self.assertEqual((accounts, parts), (every["accounts"], 3))
        self.refused("forecast", (("", {"all": True, "account": 1}, "all", "Both"),
                                  ("", {"all": True, "next": "671 5 x"}, "next", "")))
        status, answer = self.post("/operations/forecast", {"all": True, "paths": 20000})
        self.assertEqual((status, answer["Field"]), (400, "paths"))

    def test_solve(self):
        other = self.write("o.json", json.dumps({**BOOK, "book": "other", "load_balancer": {
            "monthly_fee": "4", "tiers": [{"from_millions": 0, "to_millions": None,
                                           "price_per_million": "0.25"}]}}))
        scenario = self.write("s.json", json.dumps({"scenario": "s", "patch": {
            "load_balancer": {"monthly_fee": "1"}}}))
        span = ("--from", "2026-09", "--to", "2026-10")
        for words, status in (
                (("break-even", "standard", other), 0), (("break-even", other, scenario), 0),
                (("break-even", "standard", other, "--format", "table"), 0),
                (("break-even", "standard", "--of", "premium", "--against", "premium", "--minimum",
                  "--mix", "EU=40,NA=60"), 0),
                (("price", *span, "--price", "bandwidth", "--change", 5), 0),
                (("price", *span, "--price", "load_balancer", "--change", 5), 1),
                (("price", *span, "--price", "bandwidth", "--book", other, "--format", "table"), 0),
                (("commit", *span, "--account", 2, "--offer", "0=0", "--offer", "50=20"), 0),
                (("commit", *span, "--account", 2, "--offer", "0=0", "--between", "linear",
                  "--offer", "500=20", "--step", "0.5", "--format", "table"), 0)):
            self.assertTrue(self.both("solve", *words, status=status).out)
        for where in (("--db", "t.db"), self.place, ()):
            said = self.run_tool("solve", "break-even", other, "nowhere", *where, status=2).err
            self.assertIn('There is no book "nowhere" in the database', said)
        self.assertIn("There is no such file", self.run_tool("solve", "break-even", other, "nowhere",
                                                             status=2).err)
        bad = self.write("bad.json", '{"book":1},"of":"volume"')
        for where in (("--db", "t.db"), self.place, ()):
            said = self.run_tool("solve", "break-even", other, bad, *where, status=2).err
            self.assertIn("bad.json: ", said)
        self.assertIn("one word too many", self.run_tool("solve", "break-even", other, other, other,
                                                         status=2).err)
        status, answer = self.post("/operations/solve-break-even?against=premium&of=volume", {
            "book": {**BOOK, "bandwidth": {**BOOK["bandwidth"], "volume": {"per": "GB", "tiers": [
                {"from": "0", "to": None, "price": "0.005"}]}}}})
        self.assertEqual((status, answer["answer"]), (200, json.loads(answer["out"])))
        self.refused("solve-break-even", (
            ("", {"book": "standard"}, "against", "a second book"),
            ("", {"book": 5, "second": "standard"}, "book", "a JSON object, or the name"),
            ("", {"book": "standard", "second": {"book": "x"}}, "second.currency", ""),
            ("", {"book": "standard", "second": {"scenario": "s", "base": "x"}}, "second.base",
             "not in the database"),
            ("?mix=EU=100", {"book": "standard", "second": "standard"}, "mix", "premium"),
            ("", {"book": "standard", "against": "premium", "mix": "EU"}, "mix", "each region"),
            ("", {"book": "standard", "second": "standard", "upTo": "1.5"}, "upTo", "digits")))
        price = {"from": "2026-09", "to": "2026-10", "price": ["bandwidth"]}
        self.refused("solve-price", (
            ("", {**price, "price": []}, "price", "empty list"),
            ("", {**price, "price": ["x"]}, "price", "bandwidth.premium.regions.EU"),
            ("", {**price, "target": "1", "change": "1"}, "change", "not both"),
            ("", {**price, "to": "2026-08"}, "from", "is after to"),
            ("", {**price, "currency": "US"}, "currency", "at least 3"),
            ("", {**price, "digits": 16}, "digits", "from 0 to 15"),
            ("", {**price, "book": {"scenario": "s"}}, "book.base", "must name its base")))
        commit = {"from": "2026-09", "to": "2026-10", "account": 1, "offer": ["0=0"]}
        self.refused("solve-commit", (
            ("", {**commit, "account": None}, "account", "missing"),
            ("", {**commit, "offer": ["5"]}, "offer", "500=10"),
            ("", {**commit, "offer": [f"{i}=0" for i in range(65)]}, "offer", "More than 64"),
            ("", {**commit, "step": "x"}, "step", ""),
            ("", {**commit, "between": "x"}, "between", "step or linear")))

    def test_forecast(self):
        for words in (("--account", 1), ("--account", 2, "--seed", 7, "--paths", 200, "--format", "table"),
                      ("--backtest", "--account", 3, "--paths", 100),
                      ("--backtest", "--paths", 8000), ("--backtest", "--paths", 8000, "--format", "table")):
            self.assertTrue(self.both("forecast", *words).out)
        status, answer = self.post("/operations/forecast", {"account": 1})
        self.assertEqual((status, answer["answer"]), (200, json.loads(answer["out"])))
        self.refused("forecast", (
            ("", {}, "account", "or --all"), ("", {"account": 1, "paths": 99}, "paths", "100 to"),
            ("", {"account": 1, "seed": 2 ** 32}, "seed", "4294967295"),
            ("?backtest=yes", {}, "backtest", "true or false"),
            ("", {"backtest": True, "paths": 10001}, "paths", "At most 10000")))

    def test_a_backtest_goes_on_where_it_stopped(self):
        whole = self.run_tool("forecast", "--db", "t.db", "--backtest", "--paths", 8000).out
        parts, ask = [], {"backtest": True, "paths": 8000, "next": ""}
        while not parts or ask["next"]:
            status, answer = self.post("/operations/forecast", ask)
            self.assertEqual(status, 200)
            parts.append(answer["out"])
            ask["next"] = answer["next"]
        self.assertEqual((len(parts), "".join(parts)), (3, whole))
        self.assertEqual(len(json.loads(whole)["accounts"]), 3)
        begun = self.post("/operations/forecast", {**ask, "next": ""})[1]["next"]
        rest = begun[begun.index(" "):]
        for bad in ("x", begun[:begun.rindex(" ")], "f" + begun, "-" + begun, "8" * 18 + rest,
                    "9" * 19 + rest, "0" + rest, begun + " 0", begun.replace(" ", "  ", 1)):
            self.refused("forecast", (("", {**ask, "next": bad}, "next", "the last answer"),))

    def test_whatif(self):
        span = ("--from", "2026-09", "--to", "2026-11")
        eu = {"scenario": "eu", "base": "standard", "usage": [{"zone": 999, "factor": "2"}],
              "patch": {"bandwidth": {"premium": {"regions": {"EU": "0.011"}}}}}
        self.write("eu.json", json.dumps(eu))
        self.write("same.json", '{"scenario":"same"}')
        for form in ("json", "csv", "html", "table"):
            done = self.both("whatif", *span, "--no-store", "--format", form, "eu.json", "same.json")
            self.assertIn("there is no pull zone 999", done.err)
        self.both("whatif", *span, "--no-store", "--account", 2, "same.json")
        self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]])
        words = ("whatif", *span, "eu.json")
        here = self.run_tool(*words, "--db", "t.db")
        self.assertIn("The scenarios are not kept: ", here.err)
        there = self.run_tool(*words, *self.place)
        self.assertEqual(there.out, here.out)
        self.assertIn('Scenario "eu" (sha256 ', there.err)
        self.assertNotIn("kept", self.both(*words).err)
        self.assertEqual(self.both("whatif", *span, "eu").out, here.out)
        self.assertEqual(self.query("SELECT name FROM scenario"), [["eu"]])
        for where in (("--db", "t.db"), self.place):
            said = self.run_tool("whatif", *span, "eu.json", "nothing", *where, status=2).err
            self.assertIn('No scenario "nothing" is stored', said)
            self.run_tool("whatif", "--from", "2020-01", "--to", "2020-02", "eu", *where, status=1)

    def test_a_long_whatif_is_drained_here_and_sent_as_a_whole(self):
        names = [self.write(f"m{i}.json", json.dumps({"scenario": f"m{i}"})) for i in range(1200)]
        words = ("whatif", "--from", "2026-09", "--to", "2026-11", "--no-store", "--format", "html")
        self.assertGreater(len(self.both(*words, *names).out), 3 << 20)

    def test_which_scenario_is_wrong(self):
        good, span = {"scenario": "a"}, {"from": "2026-09", "to": "2026-10"}
        self.refused("whatif", (
            ("", span, "scenarios", "missing"), ("", {**span, "scenarios": 5}, "scenarios", "It must be"),
            ("", {**span, "scenarios": [good, {"scenario": "b", "extra": 1}]}, "scenarios[1].extra", ""),
            ("", {**span, "scenarios": [good, {"scenario": "b", "usage": [{"factor": "-1"}]}]},
             "scenarios[1].usage[0].factor", ""),
            ("", {**span, "to": "2026-12", "scenarios": good}, "to", "future"),
            ("", {**span, "format": "pdf", "scenarios": good}, "format", "table, json, csv or html")))
        status, answer = self.post("/operations/whatif", {**span, "scenarios": [good, "none"]})
        self.assertEqual((status, answer["Field"]), (404, "scenarios[1].scenario"))
        self.write("good.json", json.dumps(good))
        self.write("bad.json", json.dumps({"scenario": "b", "extra": 1}))
        said = self.run_tool("whatif", "--db", "t.db", "--from", "2026-09", "--to", "2026-10",
                             "bad.json", "good.json", status=2).err
        self.assertIn("tollbook whatif: bad.json: ", said)


if __name__ == "__main__":
    unittest.main()
