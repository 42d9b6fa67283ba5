#!/usr/bin/env python3
"""A second opinion on price books and tiers, with Python's decimal and from billing.md 2 alone.

Random books are written as JSON in the units of people (GB, millions), so that their reading is
asked too, and their SHA-256 compared (or their refusal, where 10^18 units at a price pass 127 bits at
the scale of the list); then random months are rated, whole and in stretches, at
every threshold and its neighbours. Amounts are compared as text, segment by segment.

    tariff_oracle.py --runner build/tests/oracle/tariff_runner [--count N] [--seed N]

The seed is printed and also taken from TB_SEED. Exit status 0: no difference.
"""
import argparse
import hashlib
import json
import random
import subprocess
import sys
from decimal import Context, Decimal, setcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

setcontext(Context(prec=120))
EXA = 10 ** 18
MANTISSA_MAX = 2 ** 127 - 1
QUESTIONS = 20  # of each of a book's two lists


def text(value):
    """A decimal as the engine prints it."""
    return format(value.normalize(), "f") if value else "0"


def any_price(rng):
    digits = rng.randrange(16)
    longest = 6 if digits > 1 or rng.random() < 0.02 else 4  # mostly below the safe price
    return Decimal(rng.randrange(10 ** rng.randint(1, longest))).scaleb(-digits)


def digits_of(value):
    return max(0, -value.normalize().as_tuple().exponent) if value else 0


class Tiers:
    """A list of tiers in base units; places: from their written unit to the base unit."""

    def __init__(self, rng, places, top):
        self.places = places
        self.mode = rng.choice(("graduated", "graduated", "volume", "package"))
        self.included = rng.choice((0, 0, rng.randrange(1, top), rng.randrange(1, 1000)))
        self.absolute = rng.random() < 0.5
        self.says_axis = True
        starts = [0]
        if self.included and self.absolute and rng.random() < 0.4:
            starts = [self.included]
            self.says_axis = rng.random() < 0.5
        for _ in range(rng.choice((0, 1, 1, 2, 4, 9, 63))):
            start = starts[-1] + rng.choice((1, 2, rng.randrange(1, top // 8)))
            if start > EXA:
                break
            starts.append(start)
        self.starts = starts
        self.prices = [any_price(rng) for _ in starts]
        self.flats = [any_price(rng) if rng.random() < 0.3 else Decimal(0) for _ in starts]
        self.block = rng.randrange(1, top // 4) if self.mode == "package" else 0

    def unit_text(self, units):
        return text(Decimal(units).scaleb(-self.places))

    def price_of(self, k):
        """Per base unit, or per block."""
        return self.prices[k] if self.mode == "package" else self.prices[k].scaleb(-self.places)

    def is_safe(self):
        """10^18 units at any price, and all flats, fit 127 bits at the finest scale of all."""
        prices = [self.price_of(k) for k in range(len(self.starts))]
        scale = max(digits_of(value) for value in prices + self.flats)
        return (max(prices) * EXA + sum(self.flats)).scaleb(scale) <= MANTISSA_MAX

    def document(self, names, included_key, included):
        start, end, price = names
        if self.mode == "package":
            price = "price_per_block"
        tiers = []
        for k, begin in enumerate(self.starts):
            last = k + 1 == len(self.starts)
            tier = {start: self.unit_text(begin), price: text(self.prices[k]),
                    end: None if last else self.unit_text(self.starts[k + 1])}
            if self.flats[k]:
                tier["flat"] = text(self.flats[k])
            tiers.append(tier)
        section = {"mode": self.mode, "tiers": tiers}
        if self.included:
            section[included_key] = included
            if self.says_axis:
                section["included_axis"] = "absolute" if self.absolute else "net"
        if self.block:
            section["block"] = self.unit_text(self.block)
        return section

    def bounds(self, k):
        """Tier k on the month's usage, (begin, end]; free units lie before either."""
        shift = 0 if self.absolute else self.included
        end = self.starts[k + 1] + shift if k + 1 < len(self.starts) else None
        return self.starts[k] + shift, end

    def rate(self, used, units, whole):
        """The line that the runner prints."""
        first, last = max(used, self.included), used + units
        segments, total = [], Decimal(0)
        for k in range(len(self.starts)):
            begin, end = self.bounds(k)
            if self.mode == "volume":
                reached = whole > begin and (end is None or whole <= end)
                low, high = (first, last) if reached else (0, 0)
            else:
                low, high = max(first, begin), last if end is None else min(last, end)
            if low >= high:
                continue
            anchor = max(begin, self.included)
            count = high - low
            if self.mode == "package":
                count = -(-(high - anchor) // self.block) - -(-(low - anchor) // self.block)
            amount = self.price_of(k) * count
            if low <= anchor < high:
                amount += self.flats[k]
            total += amount
            segments.append(f" {k} {low} {high} {text(amount)}")
        return f"{text(total)} {units - max(0, last - first)}" + "".join(segments)

    def questions(self, rng):
        edges = [self.bounds(k)[0] for k in range(len(self.starts))]
        edges += [self.included, 0, 1, rng.choice((EXA, 10 ** 15, 10 ** 9))]
        for _ in range(QUESTIONS):
            whole = max(0, min(EXA, rng.choice(edges) + rng.choice((-1, 0, 1, 1000, 10 ** 9))))
            if rng.random() < 0.3:
                whole = rng.randrange(10 ** rng.randrange(1, 19))
            used = rng.choice((0, 0, rng.randrange(whole + 1), min(whole, rng.choice(edges))))
            units = rng.choice((whole - used, whole - used, rng.randrange(whole - used + 1)))
            yield used, units, whole


def make_book(rng):
    top = 10 ** rng.randrange(2, 16)
    volume, balancer = Tiers(rng, 9, top), Tiers(rng, 6, top)
    document = {
        "book": f"b-{rng.getrandbits(32)}", "currency": "USD",
        "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"volume": {"per": "GB", **volume.document(
            ("from", "to", "price"), "included", volume.unit_text(volume.included))}},
        "load_balancer": {"monthly_fee": "9.50", **balancer.document(
            ("from_millions", "to_millions", "price_per_million"), "included_requests",
            balancer.included)},
    }
    keys = list(document)
    rng.shuffle(keys)
    return {key: document[key] for key in keys}, volume, balancer


REFUSED = "10^18 units at this price pass 2^127-1."


def make_cases(rng, count):
    """(line to the runner, line expected)"""
    cases = []
    while len(cases) < count:
        document, volume, balancer = make_book(rng)
        canonical = json.dumps(document, sort_keys=True, separators=(",", ":"))
        question = "B " + json.dumps(document)
        if not (volume.is_safe() and balancer.is_safe()):
            cases.append((question, REFUSED))
            continue
        cases.append((question, hashlib.sha256(canonical.encode()).hexdigest()))
        for letter, tiers in (("v", volume), ("b", balancer)):
            for question in tiers.questions(rng):
                cases.append((f"{letter} {' '.join(map(str, question))}", tiers.rate(*question)))
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=1_000_000 if LONG else 60_000)
    parser.add_argument("--seed", type=int, help="else TB_SEED, or always the same")
    args = parser.parse_args()
    rng = random.Random(random_seed(args.seed))
    asked = refused = different = 0
    while asked < args.count:
        cases = make_cases(rng, min(20000, args.count - asked))
        lines = "".join(question + "\n" for question, _ in cases)
        done = subprocess.run([args.runner], input=lines, capture_output=True, text=True, check=True)
        answers = done.stdout.split("\n")[:-1]
        if len(answers) != len(cases):
            sys.exit(f"asked {len(cases)} questions, got {len(answers)} answers")
        book = ""
        for (question, expected), answer in zip(cases, answers):
            if question[0] == "B":
                book = question
            if answer != expected and not (expected is REFUSED and answer.endswith(REFUSED)):
                different += 1
                if different <= 10:
                    print(f"{book}\n{question}\n  engine {answer}\n  twin   {expected}")
        asked += len(cases)
        refused += sum(expected is REFUSED for _, expected in cases)
    print(f"{asked} cases, {refused} books refused, {different} differences")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
