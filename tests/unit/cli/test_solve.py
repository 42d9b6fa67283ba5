"""solve: break-evens of random books, price factors and commits over random portfolios, compared with a
second opinion in Python; cases without an answer; refusals."""
import json
import random
import unittest
from decimal import Decimal
from fractions import Fraction
from tool import Case, random_seed

SEED = random_seed()
EPSILON = Fraction(1, 10 ** 12)


def decimal(value):
    """A Fraction whose denominator is a power of ten, as plain text."""
    digits = 0
    while (value * 10 ** digits).denominator != 1:
        digits += 1
    units = int(value * 10 ** digits)
    text = f"{abs(units):0{digits + 1}}"
    text = text[:len(text) - digits] + ("." + text[len(text) - digits:] if digits else "")
    return ("-" if units < 0 else "") + text


class Tiers:
    """Load balancer tiers in single requests, rated for any rational usage."""

    def __init__(self, rng, span):
        self.mode = rng.choice(("graduated", "volume", "package"))
        self.fee = Fraction(rng.choice((0, rng.randrange(40))), 10)
        self.included = rng.choice((0, 0, rng.randrange(1, span)))
        self.absolute = rng.random() < 0.5
        self.block = rng.randint(1, span // 3)
        self.tiers, start = [], 0
        for _ in range(rng.randint(1, 4)):
            per_unit = Fraction(rng.randrange(30), 1000)
            price = per_unit * rng.randint(1, self.block) if self.mode == "package" else per_unit
            flat = Fraction(rng.randrange(30), 10) if rng.random() < 0.3 else Fraction(0)
            self.tiers.append((start, price, flat))
            start += rng.randint(1, span // 2)

    def document(self, name):
        def millions(units):
            return decimal(Fraction(units, 10 ** 6))
        rows = []
        for k, (start, price, flat) in enumerate(self.tiers):
            end = millions(self.tiers[k + 1][0]) if k + 1 < len(self.tiers) else None
            row = {"from_millions": millions(start), "to_millions": end, "flat": decimal(flat)}
            if self.mode == "package":
                row["price_per_block"] = decimal(price)
            else:
                row["price_per_million"] = decimal(price * 10 ** 6)
            rows.append(row)
        section = {"monthly_fee": decimal(self.fee), "mode": self.mode, "tiers": rows}
        if self.included:
            section |= {"included_requests": self.included,
                        "included_axis": "absolute" if self.absolute else "net"}
        if self.mode == "package":
            section["block"] = millions(self.block)
        return {"book": name, "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
                "load_balancer": section}

    def cost(self, units):
        total, shift = self.fee, 0 if self.absolute else self.included
        bounds = [start + shift for start, _, _ in self.tiers] + [None]
        for k, (_, price, flat) in enumerate(self.tiers):
            begin = max(bounds[k], self.included)
            end = units if bounds[k + 1] is None else min(units, bounds[k + 1])
            if self.mode == "volume":
                last = bounds[k + 1] is None or units <= bounds[k + 1]
                if units > max(bounds[k], self.included) and last:
                    total += price * (units - self.included) + flat
            elif end > begin:
                count = -((begin - end) // self.block) if self.mode == "package" else end - begin
                total += price * count + flat
        return total


def sign(value):
    return "equal" if value == 0 else "a" if value < 0 else "b"


def expected(a, b, top):
    """Ranges by brute force, and the breaks between them."""
    signs = [sign(a.cost(Fraction(u)) - b.cost(Fraction(u))) for u in range(top + 1)]
    ranges, kinds = [], []
    for u, what in enumerate(signs):
        if ranges and ranges[-1][0] == what:
            ranges[-1][2] = u
            continue
        if ranges and "equal" not in (what, ranges[-1][0]):
            behind = sign(a.cost(u - 1 + EPSILON) - b.cost(u - 1 + EPSILON))
            kinds.append("jump" if behind == what else "crossing")
        ranges.append([what, u, u])
        if what == "equal":
            kinds.append(None)
    singles = iter([r for r in ranges if r[0] == "equal"])
    kinds = [("equal" if r[1] == r[2] else "overlap") if k is None and (r := next(singles))
             else k for k in kinds]
    return ranges, kinds


class BreakEven(Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)

    def ask(self, *words, **more):
        return json.loads(self.run_tool("solve", "break-even", *words, **more).out)

    def test_random_books_agree_with_brute_force(self):
        told = 0
        for _ in range(60):
            span = self.rng.randint(6, 60)
            a, b, top = Tiers(self.rng, span), Tiers(self.rng, span), self.rng.randint(1, 150)
            self.write("a.json", json.dumps(a.document("a")))
            self.write("b.json", json.dumps(b.document("b")))
            answer = self.ask("a.json", "b.json", "--up-to", top)
            if any(r["cheaper"] == "many" for r in answer["ranges"]):
                continue
            ranges, kinds = expected(a, b, top)
            documents = json.dumps([a.document("a"), b.document("b"), top])
            self.assertEqual([[r["cheaper"], int(r["from"]), int(r["to"])]
                              for r in answer["ranges"]], ranges, documents)
            self.assertEqual([x["kind"] for x in answer["breaks"]], kinds, documents)
            for broken in answer["breaks"]:
                told += 1
                for point in broken["costs"]:
                    units = Fraction(point["units"])
                    self.assertEqual((Fraction(point["a"]), Fraction(point["b"])),
                                     (a.cost(units), b.cost(units)), documents)
                if "exact" in broken:
                    at = Fraction(broken["exact"])
                    self.assertEqual(a.cost(at), b.cost(at), documents)
        self.assertGreater(told, 20)

    def test_stored_books_and_kinds_against_each_other(self):
        book = {"book": "net", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
                "minimum_monthly": "1.00", "bandwidth": {
                    "premium": {"per": "GB", "regions": {"EU": "0.01", "ASIA": "0.03"}},
                    "volume": {"per": "GB", "tiers": [
                        {"from": "0", "to": "500", "price": "0.015"},
                        {"from": "500", "to": None, "price": "0.004"}]}}}
        self.run_tool("book", "--db", "t.db", self.write("n.json", json.dumps(book)))
        answer = self.ask("--db", "t.db", "net", "--of", "premium", "--against", "volume",
                          "--minimum")
        self.assertEqual([x["kind"] for x in answer["breaks"]], ["overlap", "crossing"])
        # 0.01 x = 7.5 + 0.004 (x - 500)
        self.assertEqual(Fraction(answer["breaks"][1]["exact"]), Fraction(5500 * 10 ** 9, 6))
        mixed = self.ask("--db", "t.db", "net", "--of", "premium", "--against", "volume",
                         "--mix", "EU=50,ASIA=50", "--discount", "25")
        # 0.015 x to 500 GB for both, then apart
        self.assertEqual(mixed["breaks"][0]["kind"], "overlap")
        self.assertEqual(mixed["breaks"][0]["costs"][-1]["units"], str(500 * 10 ** 9))

    def test_a_scenario_stands_for_its_patched_base(self):
        rows = [{"from_millions": 0, "to_millions": None, "price_per_million": "0.5"}]
        book = {"book": "net", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
                "load_balancer": {"monthly_fee": "3", "tiers": rows}}
        rows = [rows[0] | {"price_per_million": "0.25"}]
        scenario = {"scenario": "s", "patch": {"load_balancer": {"monthly_fee": "4", "tiers": rows}}}
        self.write("n.json", json.dumps(book))
        self.write("s.json", json.dumps(scenario))
        answer = self.ask("n.json", "s.json")
        self.assertEqual([(x["kind"], x["costs"][0]["units"]) for x in answer["breaks"]],
                         [("equal", "4000000")])
        self.write("b.json", json.dumps(scenario | {"base": "net"}))
        done = self.run_tool("solve", "break-even", "n.json", "b.json", status=2)
        self.assertIn("not in the database", done.err)
        self.run_tool("book", "--db", "t.db", "n.json")
        self.assertEqual(self.ask("--db", "t.db", "net", "b.json"), answer)
        self.write("u.json", json.dumps(scenario | {"usage": [{"factor": "2"}]}))
        done = self.run_tool("solve", "break-even", "n.json", "u.json", status=2)
        self.assertIn("remove `usage`", done.err)

    def test_no_break_even_is_said_in_words(self):
        rows = [{"from_millions": 0, "to_millions": None, "price_per_million": "0.5"}]
        for name, fee in (("low", "1"), ("high", "2")):
            self.write(f"{name}.json", json.dumps(
                {"book": name, "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
                 "load_balancer": {"monthly_fee": fee, "tiers": rows}}))
        answer = self.ask("low.json", "high.json")
        self.assertEqual(answer["breaks"], [])
        self.assertIn("There is no break-even: a is cheaper", answer["words"])
        text = self.run_tool("solve", "break-even", "low.json", "high.json", "--format", "table").out
        self.assertIn(answer["words"], text)

    def test_refusals(self):
        self.write("a.json", json.dumps(Tiers(self.rng, 9).document("a")))
        self.write("bad.json", '{"book":"x"}')
        for words, status, text in (
                (("a.json",), 2, "--against"),
                (("a.json", "nowhere"), 2,
                 "nowhere: There is no such file. There is no book \"nowhere\""),
                (("a.json", "bad.json"), 2, "bad.json"),
                (("a.json", "a.json", "--of", "premium"), 2, "no prices for EU"),
                (("a.json", "a.json", "--of", "premium", "--mix", "EU=50,EU=50"), 2, "each region"),
                (("a.json", "a.json", "--of", "premium", "--mix", "EU=50,"), 2, "--mix"),
                (("a.json", "a.json", "--mix", "EU=100"), 2, "premium"),
                (("a.json", "a.json", "--against", "volume"), 2, "requests"),
                (("a.json", "a.json", "--up-to", "1.5"), 2, "--up-to"),
                (("a.json", "a.json", "--up-to", "1000000000000000001"), 2, "10^18")):
            done = self.run_tool("solve", "break-even", *words, status=status)
            self.assertIn(text, done.err)


NOW = "2026-12-02T00:00:00Z"
MONTHS = [f"2026-{m:02}" for m in range(1, 12)]
REGIONS = {"DE": "EU", "NY": "NA", "SG": "ASIA"}
PRICES = {"EU": Fraction("0.01"), "NA": Fraction("0.012"), "ASIA": Fraction("0.03")}


def cents(value):
    """Half up, in hundredths."""
    return Fraction((value * 100 + Fraction(1, 2)).__floor__(), 100)


class Portfolio(Case):
    """Premium traffic of random accounts, billed by a few lines of Python as well."""

    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.minimum = Fraction(self.rng.choice((0, 1, 25)))
        book = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
                "minimum_monthly": decimal(self.minimum), "bandwidth": {"premium": {
                    "per": "GB", "regions": {r: decimal(p) for r, p in PRICES.items()}}},
                "load_balancer": {"monthly_fee": "9.50", "tiers": [
                    {"from_millions": 0, "to_millions": None, "price_per_million": "0.65"}]}}
        accounts = range(1, 6)
        catalog = {"accounts": [{"id": a, "name": f"a{a}"} for a in accounts],
                   "zones": [{"id": 100 + a, "account": a, "name": f"z{a}", "type": "premium",
                              "created": "2026-01-01T00:00:00Z"} for a in accounts]}
        self.run_tool("book", "--db", "t.db", self.write("b.json", json.dumps(book)))
        self.apply(json.dumps(catalog))
        self.used, rows = {}, []
        for account in accounts:
            for month in MONTHS:
                for place, region in REGIONS.items():
                    if self.rng.random() < 0.2:
                        continue
                    sent = self.rng.randrange(10 ** self.rng.randint(8, 14))
                    self.used[account, month, region] = sent
                    rows.append({"zone": 100 + account, "hour": f"{month}-03T05:00:00Z",
                                 "region": place, "requests": 1, "bytes": sent})
        self.run_tool("import", "--db", "t.db", "-", now=NOW,
                      stdin="".join(json.dumps(r) + "\n" for r in rows).encode())

    def revenue(self, prices, minimum=None, account=None):
        minimum = self.minimum if minimum is None else max(minimum, self.minimum)
        total = Fraction(0)
        for a in range(1, 6):
            for month in MONTHS if account in (None, a) else ():
                lines = sum(cents(self.used.get((a, month, r), 0) * price / 10 ** 9)
                            for r, price in prices.items())
                total += max(lines, cents(minimum))
        return total

    def ask(self, *words, status=0):
        done = self.run_tool("solve", *words[:1], "--db", "t.db", "--from", MONTHS[0], "--to",
                             MONTHS[-1], *words[1:], status=status, now=NOW)
        return json.loads(done.out)

    def test_no_price_of_the_grid_is_nearer(self):
        before = self.revenue(PRICES)
        for change in ("0", "10", str(self.rng.randint(-8, 40))):
            region = self.rng.choice(list(PRICES))
            status = int(self.revenue(PRICES | {region: Fraction(0)}) >
                         cents(before * (100 + Fraction(change)) / 100))
            answer = self.ask("price", "--price", f"bandwidth.premium.regions.{region}",
                              "--change", change, "--digits", "4", status=status)
            self.assertEqual(Fraction(answer["span"]["before"]), before)
            target = cents(before * (100 + Fraction(change)) / 100)
            self.assertEqual(Fraction(answer["target"]), target)
            if answer["outcome"] == "always_above":
                self.assertGreater(self.revenue(PRICES | {region: Fraction(0)}), target)
                continue
            price = Fraction(answer["prices"][0]["after"])
            earned = self.revenue(PRICES | {region: price})
            self.assertEqual(Fraction(answer["after"]), earned)
            self.assertEqual(Fraction(answer["residual"]), earned - target)
            for n in range(-8, 9):
                other = price + Fraction(n, 10 ** 4)
                if other >= 0:
                    there = self.revenue(PRICES | {region: other})
                    self.assertGreaterEqual(abs(there - target), abs(earned - target))
            self.assertEqual(answer["outcome"], "found" if earned == target else "nearest")

    def test_a_group_and_its_scenario(self):
        answer = self.ask("price", "--price", "bandwidth", "--change", "25", "--digits", "6")
        prices = {p["path"].rsplit(".", 1)[1]: Fraction(p["after"]) for p in answer["prices"]}
        self.assertEqual(Fraction(answer["after"]), self.revenue(prices))
        factor = Fraction(answer["factor"])
        for region, price in prices.items():
            self.assertLess(abs(price - PRICES[region] * factor), Fraction(3, 10 ** 6))
        patch = answer["scenarios"][0]["patch"]["bandwidth"]["premium"]["regions"]
        self.assertEqual({r: Fraction(p) for r, p in patch.items()}, prices)
        self.assertEqual(answer["scenarios"][0]["base"], "standard")

    def test_where_there_is_no_price_the_answer_is_words(self):
        flat = self.ask("price", "--price", "load_balancer", "--change", "5", status=1)
        self.assertEqual(flat["outcome"], "flat")
        self.assertIn("No factor changes the revenue", flat["words"])
        self.assertNotIn("prices", flat)
        low = self.ask("price", "--price", "bandwidth.premium.regions.EU", "--target", "0.01",
                       status=1)
        self.assertEqual(low["outcome"], "always_above")
        self.assertIn("There is no such price", low["words"])
        high = self.ask("price", "--price", "bandwidth", "--target", "1" + 25 * "0", status=1)
        self.assertEqual(high["outcome"], "always_below")

    def test_another_book_all_over(self):
        book = {"book": "other", "currency": "USD", "effective_from": "2027-01-01T00:00:00Z",
                "bandwidth": {"premium": {"per": "GB", "regions": {
                    "EU": "0.005", "NA": "0.005", "ASIA": "0.005"}}}}
        self.minimum, before = 0, self.revenue(PRICES)
        answer = self.ask("price", "--price", "bandwidth", "--digits", "7", "--book",
                          self.write("o.json", json.dumps(book)))
        prices = {p["path"].rsplit(".", 1)[1]: Fraction(p["after"]) for p in answer["prices"]}
        self.assertEqual(Fraction(answer["after"]), self.revenue(prices))
        self.assertEqual(len(set(prices.values())), 1)
        self.assertGreaterEqual(Fraction(answer["span"]["before"]), before)

    def test_the_answers_scenario_can_be_asked_about_again(self):
        answer = self.ask("price", "--price", "bandwidth", "--change", "10", "--digits", "5")
        scenario = self.write("s.json", json.dumps(answer["scenarios"][0]))
        again = self.ask("price", "--price", "bandwidth", "--digits", "5", "--book", scenario,
                         "--target", answer["after"])
        self.assertEqual(again["after"], answer["after"])
        self.assertEqual(again["outcome"], "found")

    def test_whatif_bills_the_answers_scenario_at_the_same_total(self):
        """Two ways over the same months: the solver's portfolio, and every month billed again."""
        for paths, change in ((("bandwidth",), "10"), (("bandwidth",), "-7.5"),
                              (("bandwidth.premium.regions.EU",), "3")):
            words = [word for path in paths for word in ("--price", path)]
            answer = self.ask("price", *words, "--change", change, "--digits", "6")
            scenario = self.write("s.json", json.dumps(answer["scenarios"][0]))
            done = self.run_tool("whatif", "--db", "t.db", "--from", MONTHS[0], "--to", MONTHS[-1],
                                 "--format", "json", scenario, now=NOW)
            found = json.loads(done.out)["scenarios"][0]
            self.assertEqual(Fraction(found["after"]), Fraction(answer["after"]))
            self.assertEqual(Fraction(found["before"]), Fraction(answer["span"]["before"]))

    def table(self, *words, status=0):
        return self.run_tool("solve", words[0], "--db", "t.db", "--from", MONTHS[0], "--to",
                             MONTHS[-1], "--format", "table", *words[1:], status=status,
                             now=NOW).out

    @staticmethod
    def span_line(answer):
        span = answer["span"]
        said = [f"{span[n]} {word}{'s' if span[n] != 1 else ''}"
                for n, word in (("accounts", "account"), ("bills", "bill"))]
        return f"{span['from']} to {span['to']}, {said[0]}, {said[1]}"

    def test_the_table_of_prices_has_the_figures_of_the_json(self):
        for words, status in ((("--change", "10", "--digits", "4"), 0),
                              (("--change", "-20", "--digits", "1", "--account", 1), 0),
                              (("--target", "1" + 25 * "0"), 1)):
            words = ("price", "--price", "bandwidth", *words)
            answer = self.ask(*words, status=status)
            rows = [("before", answer["span"]["before"]), ("target", answer["target"])]
            lines = []
            if status == 0:
                digits = answer["digits"]
                rows += [("after", answer["after"]), ("residual", answer["residual"])]
                lines = [f"factor      {answer['factor']}, prices to {digits} "
                         f"digit{'s' if digits != 1 else ''}:"]
                lines += [f"  {p['book']} {p['path']}: {p['before']} -> {p['after']}"
                          for p in answer["prices"]]
                lines += [f"{name:<12}{answer['beside'][key]} USD"
                          for name, key in (("a step down", "below"), ("a step up", "above"))
                          if key in answer["beside"]]
                self.assertIn("above", answer["beside"])
            expected = [self.span_line(answer), *(f"{name:<12}{sum} USD" for name, sum in rows),
                        *lines, answer["words"]]
            self.assertEqual(self.table(*words, status=status).splitlines(), expected)

    def test_the_table_of_commits_has_the_figures_of_the_json(self):
        def row(point):
            return (f"{point['commit']:>14}{point['discount']:>12}{point['cost']:>18}"
                    f"{point['shortfall']:>18}")

        self.apply(json.dumps({"accounts": [{"id": 8, "name": "a8"}], "zones": [
            {"id": 108, "account": 8, "name": "z", "created": "2026-11-01T00:00:00Z"}]}))
        self.run_tool("import", "--db", "t.db", "-", now=NOW, stdin=json.dumps({
            "zone": 108, "hour": "2026-11-03T05:00:00Z", "region": "DE",
            "bytes": 10 ** 14}).encode() + b"\n")
        for account, notes, between, *offers in (
                (8, ["", "", "  least"], "step", "0=0", "500=20.5", "760=25"),
                (8, ["", "", "  least, between offers"], "linear", "0=0", "1000=90"),
                (8, ["  least", ""], "step", "0=0", "5000=2"),
                (self.rng.randint(1, 5), None, "step", "0=0", "50=5", "5000=60")):
            words = ["commit", "--account", account, "--between", between]
            words += [word for offer in offers for word in ("--offer", offer)]
            answer = self.ask(*words)
            points = answer["offers"][:]
            best = [o["commit"] for o in points].count(answer["best"]["commit"])
            said = ["  least" if o["commit"] == answer["best"]["commit"] else "" for o in points]
            if not best:
                points.append(answer["best"])
                said.append("  least, between offers")
            self.assertEqual(said, notes or said)
            expected = [self.span_line(answer), f"billed {answer['span']['before']} USD",
                        f"{'commit':>14}{'% off':>12}{'cost':>18}{'of it unused':>18}",
                        *(row(point) + note for point, note in zip(points, said)), answer["words"]]
            offered = answer["contract"]
            if offered:
                self.assertEqual(offered, {"commit": {"monthly": answer["best"]["commit"]},
                                           "discount_percent": answer["best"]["discount"]})
                expected.append('In the account\'s catalogue entry: "contract": '
                                + json.dumps(offered, separators=(",", ":")))
            self.assertEqual(offered is not None,
                             Decimal(answer["saving"]) > 0 < Decimal(answer["best"]["commit"]))
            self.assertEqual(self.table(*words).splitlines(), expected)
            best, billed = answer["best"], Decimal(answer["span"]["before"])
            saved = billed - Decimal(best["cost"])
            self.assertEqual(answer["words"], (
                f"A commit of {best['commit']} USD a month ({best['discount']} % off) would have cost"
                f" {best['cost']}, which is {saved} less than what was billed." if saved > 0 else
                f"No commit would have cost less than what was billed, {billed} USD; the least costly"
                f" one, {best['commit']} a month, comes to {best['cost']}."))

    def test_the_table_says_what_its_figures_leave_out(self):
        """Another currency, a running month, usage without a price: before, and under the book asked
        about."""
        used = [{"zone": 101, "hour": "2026-12-01T05:00:00Z", "region": "DE", "bytes": 10 ** 9},
                {"zone": 102, "hour": "2026-12-01T05:00:00Z", "region": "ZA", "bytes": 10 ** 9},
                {"zone": 109, "hour": "2026-12-01T05:00:00Z", "region": "DE", "bytes": 10 ** 9}]
        self.apply(json.dumps({"accounts": [{"id": 9, "name": "euro", "currency": "EUR"}], "zones": [
            {"id": 109, "account": 9, "name": "z", "created": "2026-12-01T00:00:00Z"}]}))
        self.run_tool("import", "--db", "t.db", "-", now=NOW,
                      stdin="".join(json.dumps(r) + "\n" for r in used).encode())
        book = {"book": "asia", "currency": "USD", "effective_from": "2027-01-01T00:00:00Z",
                "bandwidth": {"premium": {"per": "GB", "regions": {"ASIA": "0.03"}}}}
        self.write("asia.json", json.dumps(book))
        words = ("solve", "price", "--db", "t.db", "--from", "2026-12", "--to", "2026-12",
                 "--price", "bandwidth", "--target", "1", "--format", "table", "--currency", "USD")
        running = "The last month is still running, and has no minimum yet."
        other = "1 bill in other currencies is left out."
        out = self.run_tool(*words, now=NOW).out.splitlines()
        self.assertEqual(out[-3:], [other, running, "1 bill has usage without a price today."])
        out = self.run_tool(*words, "--book", "asia.json", status=1, now=NOW).out.splitlines()
        self.assertEqual(out[-4:], [other, running, "1 bill has usage without a price today.",
                                    "2 bills have usage without a price under the changed book."])
        out = self.table("price", "--price", "bandwidth").splitlines()
        self.assertNotIn("currencies", " ".join(out))
        self.assertNotIn("running", out[-1])

    def commit_cost(self, account, commit, discount):
        prices = {r: p * (100 - discount) / 100 for r, p in PRICES.items()}
        return self.revenue(prices, commit, account)

    def test_offers_cost_what_python_says_and_the_least_is_chosen(self):
        for between in ("step", "linear"):
            account = self.rng.randint(1, 5)
            offers = sorted({(self.rng.randrange(3000), 0) for _ in range(4)})
            offers = [(c, 6 * k) for k, (c, _) in enumerate(offers)]
            words = [w for c, d in offers for w in ("--offer", f"{c}={d}")]
            answer = self.ask("commit", "--account", account, "--between", between, *words)
            costs = [self.commit_cost(account, c, d) for c, d in offers]
            self.assertEqual([Fraction(o["cost"]) for o in answer["offers"]], costs)
            self.assertLessEqual(Fraction(answer["best"]["cost"]),
                                 min([*costs, Fraction(answer["grid"]["cost"])]))
            best = answer["best"]
            self.assertEqual(Fraction(best["cost"]), self.commit_cost(
                account, Fraction(best["commit"]), Fraction(best["discount"])))
            self.assertEqual(Fraction(best["shortfall"]), Fraction(best["cost"]) - self.commit_cost(
                account, Fraction(0), Fraction(best["discount"])))
            if between == "step":
                self.assertEqual(Fraction(best["cost"]), min(costs))
                continue
            for (low, less), (high, more) in zip(offers, offers[1:]):
                for commit in range(low, high + 1, max(1, (high - low) // 40)):
                    discount = less + Fraction(commit - low, high - low) * (more - less)
                    self.assertGreaterEqual(
                        self.commit_cost(account, commit, discount) * Fraction(1001, 1000),
                        Fraction(best["cost"]))

    def test_refusals(self):
        span = ("--db", "t.db", "--from", "2026-01", "--to", "2026-11")
        for words, status, text in (
                (("price", *span, "--price", "bandwidth.x"), 2, "bandwidth.premium.regions.EU"),
                (("price", *span), 2, "--price"),
                (("price", *span, "--price", "bandwidth", "--target", "1", "--change", "1"), 2,
                 "target, not both"),
                (("price", "--db", "t.db", "--from", "2026-11", "--to", "2026-01", "--price",
                  "bandwidth"), 2, "is after to"),
                (("price", "--db", "t.db", "--from", "2026-11", "--to", "2027-01", "--price",
                  "bandwidth"), 2, "future"),
                (("price", "--db", "t.db", "--from", "2026-1", "--to", "2026-11", "--price",
                  "bandwidth"), 2, "Write it like"),
                (("price", *span, "--price", "bandwidth", "--currency", "EUR"), 1, "nothing"),
                (("price", *span, "--price", "bandwidth", "--account", "77"), 2,
                 "no account 77"),
                (("commit", *span, "--account", "77", "--offer", "0=0"), 2, "no account 77"),
                (("commit", *span, "--account", "1", "--offer", "5"), 2, "500=10"),
                (("commit", *span, "--account", "1", "--offer", "5=1", "--offer", "5=2"), 2,
                 "above the one before"),
                (("commit", *span, "--account", "1", "--offer", "5=101"), 2, "0 to 100"),
                (("commit", *span, "--offer", "5=1"), 2, "--account")):
            done = self.run_tool("solve", *words, status=status, now=NOW)
            self.assertIn(text, done.err)

    def test_a_long_list_of_prices_ends_with_a_whole_name(self):
        tiers = [{"from": str(i), "to": str(i + 1) if i < 30 else None, "price": "0.01"}
                 for i in range(31)]
        self.run_tool("book", "--db", "t.db", self.write("long.json", json.dumps({
            "book": "long", "currency": "USD", "effective_from": "2026-02-01T00:00:00Z",
            "bandwidth": {"volume": {"per": "GB", "tiers": tiers}}})))
        said = self.run_tool("solve", "price", "--db", "t.db", "--from", "2026-01", "--to",
                             "2026-11", "--price", "nope", status=2, now=NOW).err
        names = said.split("There are: ")[1].split(" and more, see `book show`.")[0]
        for name in names.split(", "):
            self.assertRegex(name, r"^(minimum_monthly|load_balancer\.[a-z_]+(\[\d+\]\.[a-z_]+)?|"
                             r"bandwidth\.premium\.regions\.[A-Z]+|"
                             r"bandwidth\.volume\.tiers\[\d+\]\.price)$")


if __name__ == "__main__":
    unittest.main()
