"""solve: break-evens of random books, price factors and commits over random portfolios, compared with a
second opinion in Python; cases without an answer; refusals."""
import json
import os
import random
import unittest
from fractions import Fraction
from tool import Case

SEED = int(os.environ.get("TB_SEED") or random.randrange(1 << 32))
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
        print("seed", SEED)
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
                (("a.json", "nowhere"), 2, "neither a book"),
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


if __name__ == "__main__":
    unittest.main()
