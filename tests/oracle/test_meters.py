#!/usr/bin/env python3
"""Random histories of meters: counters, gauges and samples of many accounts over three months in a row, under price books whose
prices, units, tiers, scopes and minima change at an hour in the middle of a month. Usage comes in time and late, and some of it
is withdrawn. Accounts and meters are deleted and declared again, in the month and over its end, and a meter's `round_up`
changes. What each month comes to is worked out here in fractions by the words of docs/meters.md, line by line, and must agree to
the last digit; verify must find no difference.

Nothing of the product is used but its command line. 1,020 account-months; TB_LONG=1: 20,400. TB_SEED repeats a run.
"""
import calendar
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checked import check_documents  # noqa: E402
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS = 6800 if LONG else 340
MONTHS = ("2026-08", "2026-09", "2026-10")
AFTER = dict(zip(MONTHS, ("2026-09-03T09:00:00Z", "2026-10-03T09:00:00Z", "2026-11-03T09:00:00Z")))
FOREVER = datetime(9999, 1, 1, tzinfo=timezone.utc)
CURRENCIES = {"EUR": 2, "JPY": 0, "KWD": 3}
REGIONS = ("DE", "US", "ZZ")


def moment(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def shown(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def month_of(when):
    return when.strftime("%Y-%m")


def span(month):
    first = datetime(int(month[:4]), int(month[5:]), 1, tzinfo=timezone.utc)
    return first, first + timedelta(days=calendar.monthrange(first.year, first.month)[1])


def seconds(month):
    first, end = span(month)
    return int((end - first).total_seconds())


def half_up(value, digits):
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if value >= 0 else -whole, 10**digits)


# --- what is declared ---

METERS = {
    "calls": {"meter": "calls", "name": "Calls", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region"]},
    "minutes": {"meter": "minutes", "name": "Minutes", "kind": "counter", "unit": "minute", "resource": "room"},
    "storage": {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "resource": "bucket", "dimensions": ["region", "class"],
                "display": {"unit": "GB", "per": "1000000000"}},
    "ram": {"meter": "ram", "name": "Memory", "kind": "gauge", "unit": "byte", "resource": "pod", "round_up": "64000000",
            "display": {"unit": "GB", "per": "1000000000"}},
    "port": {"meter": "port", "name": "Transit", "kind": "sample", "unit": "byte", "interval": 3600, "resource": "port", "dimensions": ["region"]},
}
DISPLAY = {"GB": 10**9, "request": 1, "minute": 1, "byte": 1}


def decimal(value):
    """A fraction with a finite decimal, as text."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    whole = str(abs((value * 10**digits).numerator)).rjust(digits + 1, "0")
    return ("-" if value < 0 else "") + (whole[:len(whole) - digits] + ("." + whole[len(whole) - digits:] if digits else ""))


class Price:
    """One entry: tiers in units of `per`."""

    def __init__(self, rng, shape, top):
        self.mode, self.axis, self.included, self.block = shape["mode"], shape["axis"], shape["included"], shape["block"]
        n = shape["tiers"]
        cuts = sorted(rng.sample(range(1, 40), n - 1))
        start = self.included if self.axis == "absolute" and self.included and shape["late_start"] else Fraction(0)
        ends = [start + top * Fraction(c, 40) for c in cuts]
        self.tiers = []
        for i in range(n):
            price = Fraction(rng.randrange(0, 2000), 10**rng.randrange(0, 6))
            flat = Fraction(rng.randrange(1, 300), 100) if rng.random() < 0.2 and not shape["one"] else Fraction(0)
            self.tiers.append((([start] + ends)[i], ends[i] if i < n - 1 else None, price, flat))

    def json(self, one):
        if one:
            return {"price": decimal(self.tiers[0][2])}
        key = "price_per_block" if self.mode == "package" else "price"
        out = {"mode": self.mode, "tiers": [
            {"from": decimal(a), "to": None if b is None else decimal(b), key: decimal(p), **({"flat": decimal(f)} if f else {})}
            for a, b, p, f in self.tiers]}
        if self.included:
            out.update(included=decimal(self.included), included_axis=self.axis)
        if self.mode == "package":
            out["block"] = decimal(self.block)
        return out

    def rate(self, used, units, whole, per):
        """The amount of units after `used`, in a month of `whole`; per: base units that a unit of the tiers has."""
        free = self.included * per
        shift = free if self.axis == "net" else 0
        total = Fraction(0)
        for low, high, price, flat in self.tiers:
            begin = low * per + shift
            end = None if high is None else high * per + shift
            anchor = max(begin, free)
            if self.mode == "volume":  # all units at the tier that the month reaches
                if (end is not None and whole > end) or (low != self.tiers[0][0] and whole <= begin):
                    continue
                a, b = max(used, free), used + units
            else:
                a, b = max(used, begin, free), used + units if end is None else min(used + units, end)
            if b <= a:
                continue
            if self.mode == "package":
                step = self.block * per
                total += price * (-(-(b - anchor) // step) - -(-(a - anchor) // step))
            else:
                total += price * (b - a) / per
            if a <= anchor < b:
                total += flat
        return total


class Rate:
    """A meter's rate in one book. shape: what both books of an account's currency have in common."""

    def __init__(self, rng, shape):
        self.shape = shape
        values = shape["values"]
        self.prices = {v: Price(rng, shape, shape["top"]) for v in values}

    def per(self, month):
        s = self.shape
        if s["percentile"]:
            return Fraction(METERS[s["meter"]]["interval"] * 10**6, 8)
        units = DISPLAY[s["per"]] if s["per"] in DISPLAY else int(s["per"])
        return Fraction(units * {None: 1, "hour": 3600, "month": seconds(month)}[s["time"]])

    def price(self, value):
        return self.prices[value] if value in self.prices else self.prices["*"]

    def json(self):
        s = self.shape
        out = {"per": s["per"], "scope": s["scope"]}
        if s["time"]:
            out["time"] = s["time"]
        if s["percentile"]:
            out["percentile"] = s["percentile"]
        if s["minimum"]:
            out["minimum"] = decimal(s["minimum"])
        if s["by"]:
            out.update(by=s["by"], prices={v: p.json(s["one"]) for v, p in self.prices.items()})
        else:
            out.update(self.prices[""].json(s["one"]))
        return out


def shape_of(rng, meter):
    m = METERS[meter]
    kind = m["kind"]
    by = rng.choice([None, *m.get("dimensions", ())])
    time = rng.choice(("hour", "month")) if kind == "gauge" else None
    per = "Mbps" if kind == "sample" else rng.choice(("GB", "1000000000", "byte")) if kind == "gauge" and time == "hour" else \
        "GB" if kind == "gauge" else rng.choice(("1000", "1", "37", m["unit"]))
    top = {"counter": {"1000": 300, "37": 8000}.get(per, 300000), "sample": Fraction(50), "gauge": 400 if time == "month" else 300000}[kind]
    if per == "byte":
        top *= 10**9
    mode = rng.choice(("graduated", "graduated", "volume", "package"))
    one = rng.random() < 0.3
    included = Fraction(0) if one or rng.random() < 0.5 else Fraction(top) * Fraction(rng.randrange(1, 10), 40)
    return {"meter": meter, "by": by, "time": time, "per": per, "top": Fraction(top), "mode": "graduated" if one else mode, "one": one,
            "included": included, "axis": rng.choice(("net", "absolute")), "late_start": False,
            "block": Fraction(top) * Fraction(rng.randrange(1, 6), 40), "tiers": 1 if one else rng.randrange(1, 4),
            "scope": rng.choice(("account", "resource")), "percentile": rng.choice(("95", "90", "50")) if kind == "sample" else None,
            "minimum": Fraction(rng.randrange(1, 3000)) if rng.random() < 0.3 else None,
            "values": ["*", *rng.sample(("DE", "US") if by == "region" else ("hot", "cold"), 1)] if by else [""]}


class Book:
    def __init__(self, rng, name, currency, begins, shapes):
        self.name, self.currency, self.begins = name, currency, begins
        self.rates = {m: Rate(rng, shape) for m, shape in shapes.items()}

    def json(self):
        return {"book": self.name, "currency": self.currency, "effective_from": shown(self.begins),
                "meters": {m: r.json() for m, r in self.rates.items()}}


# --- usage ---

class Series:
    def __init__(self, meter, resource, dimensions):
        self.meter, self.resource, self.dimensions = meter, resource, dimensions
        self.counts = defaultdict(int)  # hour or interval: sum
        self.values = defaultdict(list)  # moment: [(order, value)]

    def value_of(self, by):
        return self.dimensions[by] if by else ""

    def total(self, start, end):
        return sum(v for when, v in self.counts.items() if start <= when < end)

    def integral(self, start, end, step, gaps):
        held = sorted((when, max(rows)[1]) for when, rows in self.values.items() if rows)
        total = 0
        for i, (when, value) in enumerate(held):
            until = held[i + 1][0] if i + 1 < len(held) else end
            a, b = max(when, start), min(until, end)
            if a < b:
                gone = sum(max(0, int((min(b, y) - max(a, x)).total_seconds())) for x, y in gaps)
                total += -(-value // step) * step * (int((b - a).total_seconds()) - gone)
        return total


class Account:
    def __init__(self, number, rng):
        self.id, self.currency = number, rng.choice(list(CURRENCIES))
        self.series, self.owed = [], {}
        self.gaps = []  # in which it was deleted
        for meter in rng.sample(list(METERS), rng.randrange(1, 5)):
            m = METERS[meter]
            for r in range(rng.randrange(1, 4)):
                for _ in range(rng.randrange(1, 3)):
                    dims = {d: rng.choice(REGIONS if d == "region" else ("hot", "cold")) for d in m.get("dimensions", ())}
                    if all((s.meter, s.resource, s.dimensions) != (meter, f"{m['resource']}-{number}-{r}", dims) for s in self.series):
                        self.series.append(Series(meter, f"{m['resource']}-{number}-{r}", dims))

    def lines(self, month, books, steps):
        """{(kind, meter, resource, region): (exact, amount, quantity)}; steps: the meters' round_up in the month"""
        digits = CURRENCIES[self.currency]
        first, end = span(month)
        mine = sorted((b for b in books if b.currency == self.currency and b.begins < end), key=lambda b: b.begins)
        parts = []
        for i, b in enumerate(mine):
            until = mine[i + 1].begins if i + 1 < len(mine) else end
            if max(b.begins, first) < until:
                parts.append((b, first if not parts else max(b.begins, first), until))
        out = {}
        for meter, m in METERS.items():
            lines = self.sampled(month, m, mine[-1]) if m["kind"] == "sample" else self.counted(month, m, parts, steps.get(meter, 1))
            billed = Fraction(0)
            for (resource, value), (amount, quantity) in lines.items():
                exact = half_up(amount, 18)
                out["meter", meter, resource, value] = exact, half_up(exact, digits), quantity
                billed += half_up(exact, digits)
            least = defaultdict(int)  # seconds of each minimum
            for book, a, b in parts:
                least[book.rates[meter].shape["minimum"] or Fraction(0)] += int((b - a).total_seconds())
            lacks = sum(half_up(price * n / seconds(month), 18) for price, n in least.items()) - billed
            if lines and lacks > 0:
                out["minimum", meter, f"meter:{meter}", ""] = lacks, half_up(lacks, digits), None
        return out

    def groups(self, meter, shape):
        """The series that have a line together, by (resource, value)."""
        groups = defaultdict(list)
        for s in self.series:
            if s.meter == meter:
                own = f"{METERS[meter]['resource']}:{s.resource}" if shape["scope"] == "resource" else f"meter:{meter}"
                groups[own, s.value_of(shape["by"])].append(s)
        return groups

    def counted(self, month, m, parts, step):
        """Parts whose books say scope and `by` alike share their lines."""
        lines = defaultdict(list)  # (resource, value): rate and units of each part
        for book, a, b in parts:
            rate = book.rates[m["meter"]]
            for key, members in self.groups(m["meter"], rate.shape).items():
                units = sum(s.total(a, b) if m["kind"] == "counter" else s.integral(a, b, step, self.gaps) for s in members)
                if units:
                    lines[key].append((rate, units))
        out = {}
        for (resource, value), used in lines.items():
            whole, before, total = sum(units for _, units in used), 0, Fraction(0)
            for rate, units in used:
                total += rate.price(value).rate(Fraction(before), Fraction(units), Fraction(whole), rate.per(month))
                before += units
            out[resource, value] = total, whole
        return out

    def sampled(self, month, m, book):
        lines = {key: self.percentile(month, m, book, members, key[1])
                 for key, members in self.groups(m["meter"], book.rates[m["meter"]].shape).items()}
        return {key: line for key, line in lines.items() if line}

    def percentile(self, month, m, book, members, value):
        first, end = span(month)
        n = seconds(month) // m["interval"]
        sums = [0] * n
        for s in members:
            for when, v in s.counts.items():
                if first <= when < end:
                    sums[int((when - first).total_seconds()) // m["interval"]] += v
        if not any(sums):
            return None
        rate = book.rates[m["meter"]]
        discard = int((1 - Fraction(int(rate.shape["percentile"]), 100)) * n)
        billed = sorted(sums, reverse=True)[discard]
        return rate.price(value).rate(Fraction(0), Fraction(billed), Fraction(billed), rate.per(month)), billed


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder, self.now, self.order = rng, folder, None, 0
        self.accounts = [Account(i + 1, rng) for i in range(ACCOUNTS)]
        self.books, self.seen, self.steps = [], set(), []
        self.documents = self.agreed = self.corrected = self.withdrawn = 0

    def run(self, *words):
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], text=True, capture_output=True,
                              env={**os.environ, "TOLLBOOK_NOW": self.now}, check=False)
        assert done.returncode == 0, (words, done.returncode, done.stderr)
        return done.stdout

    def file(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def declare(self):
        subprocess.run([TOOL, "init", "--db", self.folder / "t.db"], check=True, capture_output=True)
        self.apply(moment("2026-07-30T09:00:00Z"))
        if LONG:
            self.run("proof", "start")
        for currency in CURRENCIES:
            ways = [{m: shape_of(self.rng, m) for m in METERS} for _ in range(2)]
            for i, begins in enumerate(("2026-01-01T00:00:00Z", "2026-09-11T05:00:00Z", "2026-10-20T22:00:00Z")):
                book = Book(self.rng, f"{currency}-{i}", currency, moment(begins), ways[i % 2])
                self.books.append(book)
                self.run("book", self.file("b.json", json.dumps(book.json())))

    def apply(self, when, gone=(), without=None):
        """Declares all but these accounts and this meter."""
        step = self.rng.choice((1, 1000000, 64000000))
        self.now = shown(when)
        self.steps.append((when, step))
        meters = [{**m, "round_up": str(step)} if "round_up" in m else m for m in METERS.values() if m["meter"] != without]
        self.run("apply", "--delete", self.file("c.json", json.dumps({
            "accounts": [{"id": a.id, "name": f"a{a.id}", "currency": a.currency} for a in self.accounts if a not in gone], "meters": meters})))
        for a in self.accounts:
            if a.gaps and a.gaps[-1][1] == FOREVER and a not in gone:
                a.gaps[-1] = a.gaps[-1][0], when
            elif a in gone and not (a.gaps and a.gaps[-1][1] == FOREVER):
                a.gaps.append((when, FOREVER))

    def steps_of(self, month):
        """A declaration counts that was applied by the beginning of the month's last hour."""
        last = span(month)[1] - timedelta(hours=1)
        return {"ram": [step for when, step in self.steps if when <= last][-1]}

    def come_and_go(self, month):
        """Deletes accounts and a meter in the month, and declares them again: in the month, or before its run."""
        first, end = span(month)[0] + timedelta(days=4), moment(AFTER[month]) - timedelta(hours=1)
        times = sorted(first + timedelta(seconds=self.rng.randrange(int((end - first).total_seconds()))) for _ in range(3))
        for when in times[:2]:
            self.apply(when, self.rng.sample(self.accounts, ACCOUNTS // 8), self.rng.choice(list(METERS)))
        self.apply(times[2])

    def some(self, s, month):
        """One usage line of a series; returns (text, undo)."""
        m, rng = METERS[s.meter], self.rng
        first, _ = span(month)
        when = first + timedelta(seconds=rng.randrange(seconds(month)))
        hour = when.replace(minute=0, second=0)
        line = {"meter": s.meter, "resource": s.resource}
        if s.dimensions:
            line["dimensions"] = s.dimensions
        if m["kind"] == "gauge":
            value = rng.choice((0, rng.randrange(10**6, 3 * 10**9), rng.randrange(10**9, 900 * 10**9)))
            self.order += 1
            row = (self.order, value)
            s.values[when].append(row)
            line.update(time=shown(when), value=value)
            return line, lambda: s.values[when].remove(row)
        value = rng.randrange(1, 200000) if m["kind"] == "counter" else rng.randrange(1, 40 * 10**9)
        s.counts[hour] += value

        def undo():
            s.counts[hour] -= value
        line.update({"hour": shown(hour)} if m["kind"] == "counter" else {"time": shown(when)}, value=value)
        return line, undo

    def use(self, month, share, name):
        """Imports usage of some accounts. Returns what takes it back."""
        lines, undos = [], []
        for a in self.accounts:
            if self.rng.random() >= share:
                continue
            for s in a.series:
                dense = METERS[s.meter]["kind"] == "sample" and share == 1
                for _ in range(self.rng.randrange(40, 120) if dense else self.rng.randrange(0, 4)):
                    line, undo = self.some(s, month)
                    # an account may be left out where the resource was seen with it
                    if (s.meter, s.resource) not in self.seen or self.rng.random() < 0.5:
                        line["account"] = a.id
                    self.seen.add((s.meter, s.resource))
                    lines.append(json.dumps(line))
                    undos.append(undo)
        self.run("import", self.file(name, "\n".join(lines) + "\n"))
        return undos

    def withdraw(self, name, undos):
        self.run("import", "--withdraw", self.folder / name)
        for undo in undos:
            undo()
        self.withdrawn += len(undos)

    def finalize(self, month):
        documents = defaultdict(list)
        for d in json.loads(self.run("invoice", "--month", month, "--finalize"))["invoices"]:
            documents[d["account"]].append(d)
        for a in self.accounts:
            want = a.lines(month, self.books, self.steps_of(month))
            got, correction = {}, Fraction(0)
            for d in documents[a.id]:
                for line in d["lines"]:
                    if line["kind"] == "correction" or d["kind"] == "credit_note":
                        correction += Fraction(line["amount"])
                        continue
                    key = line["kind"], line["meter"], line["resource"], line["region"] if line["kind"] == "meter" else ""
                    got[key] = Fraction(line["exact"]), Fraction(line["amount"]), None if line["kind"] == "minimum" else int(line["quantity"])
                    assert sum(Fraction(t["amount"]) for t in line["tiers"]) == Fraction(line["exact"]), (a.id, key, line)
            if all(d["kind"] != "invoice" for d in documents[a.id]) and not any(v[1] for v in want.values()):
                want = {}  # nothing is due: no invoice
            assert got == want, (a.id, month, sorted(set(got.items()) ^ set(want.items()), key=repr))
            late = Fraction(0)
            for earlier in a.owed:
                now = sum(v[1] for v in a.lines(earlier, self.books, self.steps_of(earlier)).values())
                late += now - a.owed[earlier]
                a.owed[earlier] = now
            assert correction == late, (a.id, month, correction, late)
            self.corrected += late != 0
            a.owed[month] = sum(v[1] for v in want.values())
            self.documents += bool(documents[a.id])
            self.agreed += 1

    def tell(self):
        self.declare()
        for i, month in enumerate(MONTHS):
            self.come_and_go(month)
            self.now = AFTER[month]
            self.use(month, 1, f"{month}.ndjson")
            extra = self.use(month, 0.3, f"{month}-extra.ndjson")
            if i:
                late = self.use(MONTHS[i - 1], 0.3, f"{month}-late.ndjson")
                if i == 2:
                    self.withdraw(f"{month}-late.ndjson", late)
            if i < 2:
                self.withdraw(f"{month}-extra.ndjson", extra)
            self.finalize(month)
        assert json.loads(self.run("verify", "--format", "json"))["differences"] == []
        if LONG:
            check_documents(self.folder / "t.db")


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        history = History(rng, Path(folder))
        history.tell()
    print(f"seed {SEED}: {history.agreed} account-months agree, {history.documents} documents, {history.corrected} with corrections, "
          f"{history.withdrawn} lines withdrawn")
    assert history.corrected and history.withdrawn


main()
