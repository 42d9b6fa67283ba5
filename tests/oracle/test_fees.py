#!/usr/bin/env python3
"""Random histories of recurring fees: on accounts, pull zones and load balancers, by month and year, in arrears and in
advance, prorated or not. Catalogues change them at random seconds of seventeen months in a row, with a 29 February among
them, books change their amounts within months, and each month is made final once it is over.

The twin keeps what it has billed of each service period and works out a document as the difference, in fractions, by the
words of docs/charges.md. Every line and total must agree to the smallest unit, and verify must find no difference, which
rates each document again.

340 account-months; TB_LONG=1: 3,400. TB_SEED repeats a run.
"""
import calendar
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checked import check_documents  # noqa: E402
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS = 200 if LONG else 20
MONTHS = [(2027 + m // 12, m % 12 + 1) for m in range(1, 18)]  # 2027-02 to 2028-06
DAY = 86400


def moment(year, month, day=1):
    return calendar.timegm((year, month, day, 0, 0, 0))


def start(month):
    return moment(*month)


def end(month):
    return start(following(month))


def following(month):
    return (month[0] + month[1] // 12, month[1] % 12 + 1)


def month_of(at):
    return time.gmtime(at)[:2]


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def anniversary(day, years):
    year, month, dom = time.gmtime(day)[:3]
    return moment(year + years, month, min(dom, calendar.monthrange(year + years, month)[1]))


def rounded(value, digits):
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if value >= 0 else -whole, 10**digits)


class Books:
    """Fees with everything but their amounts for good; amounts by the hour from which a book has them."""
    def __init__(self, rng):
        self.fees = {}
        for every in ("month", "year"):
            for timing in ("arrears", "advance"):
                for prorate in (True, False):
                    name = f"{every}-{timing}-{'part' if prorate else 'whole'}"
                    self.fees[name] = {"name": f"Fee {name}", "every": every, "timing": timing, "prorate": prorate}
        self.starts = [moment(2027, 1)]
        for month in rng.sample(MONTHS, 4):
            self.starts.append(start(month) + rng.choice((0, rng.randrange(0, 28 * 24) * 3600)))
        self.starts = sorted(set(self.starts))
        self.amounts = [{name: Fraction(rng.randrange(1, 200000), 10**rng.choice((0, 2, 5))) for name in self.fees} for _ in self.starts]

    def texts(self):
        for i, at in enumerate(self.starts):
            fees = {name: {**fee, "amount": decimal(self.amounts[i][name])} for name, fee in self.fees.items()}
            yield {"book": f"b{i}", "currency": "USD", "effective_from": stamp(at), "minimum_monthly": "5.00", "fees": fees,
                   "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}, "load_balancer": {
                       "monthly_fee": "0", "included_requests": 0, "included_axis": "net", "mode": "graduated",
                       "tiers": [{"from_millions": 0, "to_millions": None, "price_per_million": "0"}]}}

    def amount(self, name, at):
        return [a for s, a in zip(self.starts, self.amounts) if s <= at][-1][name]

    def cuts(self, first, last):
        return [first, *(s for s in self.starts if first < s < last), last]


def decimal(value):
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    figures = str((value * 10**digits).numerator).rjust(digits + 1, "0")
    return f"{figures[:-digits]}.{figures[-digits:]}" if digits else figures


class Fee:
    """One fee of one owner: (from, to, quantity) with to None while it is on."""
    def __init__(self, owner, name):
        self.owner, self.name, self.spells = owner, name, []
        self.billed = {}  # service period: [price, [(from, to, quantity) billed in advance]]

    def set(self, at, quantity):
        if self.spells and self.spells[-1][1] is None:
            if self.spells[-1][2] == quantity:
                return
            self.spells[-1][1] = at
            if self.spells[-1][0] == at:
                self.spells.pop()
        if quantity:
            self.spells.append([at, None, quantity])

    def within(self, first, last, spells=None):
        for a, b, q in self.spells if spells is None else spells:
            a, b = max(a, first), min(last if b is None else b, last)
            if a < b:
                yield a, b, q

    def at(self, moment_, spells=None):
        return sum(q for a, b, q in (self.spells if spells is None else spells) if a <= moment_ and (b is None or moment_ < b))

    def runs(self):
        """Unbroken stretches, each from the day on which it begins."""
        runs = []
        for a, b, q in self.spells:
            if runs and runs[-1][-1][1] == a:
                runs[-1].append((a, b, q))
            else:
                runs.append([(a - a % DAY, b, q)])
        return runs


def adjust(fee, spells, first, last, period, price, prorate, before):
    """(charged, given back) for changes in [first, last) of a period of which `before` (a quantity, and the most so far) is billed."""
    now, most = before
    whole = period[1] - period[0]
    charged = credited = Fraction(0)
    for at in sorted({first, *(t for a, b, _ in spells for t in (a, b) if t is not None and first <= t < last)}):
        quantity = fee.at(at, spells)
        if prorate:
            part = price * (quantity - now) * Fraction(period[1] - at, whole)
            charged, credited = charged + max(part, 0), credited + min(part, 0)
        else:
            charged += price * max(0, quantity - most)
        now, most = quantity, max(most, quantity)
    return charged, credited


class Twin:
    def __init__(self, books):
        self.books = books

    def price(self, fee, month):
        """In the month's last book."""
        return self.books.amount(fee.name, end(month) - 1)

    def bill(self, fee, month):
        """Lines of the month's document: {(period start, credit): exact}."""
        terms, lines = self.books.fees[fee.name], {}
        by_month = self.monthly if terms["every"] == "month" else self.yearly
        by_month(fee, month, terms, lines)
        return lines

    def put(self, lines, period, charged, credited):
        if charged:
            lines[period[0], False] = lines.get((period[0], False), 0) + charged
        if credited:
            lines[period[0], True] = lines.get((period[0], True), 0) + credited

    def monthly(self, fee, month, terms, lines):
        first, last = start(month), end(month)
        advance, prorate = terms["timing"] == "advance", terms["prorate"]
        known = fee.billed.get(first)
        if known:
            price, quantity = known
            self.put(lines, (first, last), *adjust(fee, fee.spells, first, last, (first, last), price, prorate, (quantity, quantity)))
        elif prorate:
            cuts = self.books.cuts(first, last)
            total = sum(self.books.amount(fee.name, a) * q * Fraction(t - s, last - first)
                        for a, b in zip(cuts, cuts[1:]) for s, t, q in fee.within(a, b))
            self.put(lines, (first, last), total, 0)
        else:
            most = max((q for _, _, q in fee.within(first, last)), default=0)
            self.put(lines, (first, last), most * self.price(fee, month), 0)
        if advance and fee.at(last - 1):
            price, quantity = self.price(fee, month), fee.at(last - 1)
            fee.billed[last] = (price, quantity)
            self.put(lines, (last, end(following(month))), price * quantity, 0)

    def yearly(self, fee, month, terms, lines):
        first, last = start(month), end(month)
        for spells in fee.runs():
            over, years = spells[-1][1], 0
            while True:
                year = anniversary(spells[0][0], years), anniversary(spells[0][0], years + 1)
                years += 1
                if year[0] >= last or (over is not None and year[0] >= over):
                    break
                if terms["timing"] == "advance":
                    if year[1] <= first:
                        continue
                    begins = year[0] >= first
                    key = (spells[0][0], spells[0][2], year[0])
                    price = fee.billed.setdefault(key, self.price(fee, month)) if begins else fee.billed[key]
                    before = (0, 0) if begins else (fee.at(first - 1, spells), max((q for _, _, q in fee.within(year[0], first, spells)), default=0))
                    self.put(lines, year, *adjust(fee, spells, max(first, year[0]), min(last, year[1]), year, price, terms["prorate"], before))
                    continue
                stop = year[1] if over is None else min(year[1], over)
                if first < stop <= last:
                    price = self.price(fee, month)
                    if terms["prorate"]:
                        total = sum(price * q * Fraction(b - a, year[1] - year[0]) for a, b, q in fee.within(year[0], stop, spells))
                    else:
                        total = price * max(q for _, _, q in fee.within(year[0], stop, spells))
                    self.put(lines, year, total, 0)


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder, self.now = rng, folder, None
        self.books = Books(rng)
        self.twin = Twin(self.books)
        self.owners = {}  # (kind, id): {"account", "there", "fees": {name: quantity}}
        self.fees = {}
        self.documents = self.lines = self.credits = self.negative = 0
        for a in range(1, ACCOUNTS + 1):
            for kind, number in (("account", a), ("zone", 1000 + a), ("zone", 2000 + a), ("load_balancer", a)):
                self.owners[kind, number] = {"account": a, "there": kind == "account" or rng.random() < 0.6, "fees": {}}
        self.percent = {a: rng.choice((0, 0, 10)) for a in range(1, ACCOUNTS + 1)}

    def run(self, *words, status=0):
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], text=True, capture_output=True,
                              env={**os.environ, "TOLLBOOK_NOW": stamp(self.now)}, check=False)
        assert done.returncode == status, (words, done.returncode, done.stderr[-2000:], done.stdout[-3000:])
        return done.stdout

    def catalog(self):
        def one(kind, number, **more):
            fees = [name if quantity == 1 and self.rng.random() < 0.5 else {"fee": name, "quantity": quantity}
                    for name, quantity in self.owners[kind, number]["fees"].items()]
            return {"id": number, **more, **({"fees": fees} if fees else {})}
        there = [(k, o) for k, o in self.owners.items() if o["there"]]
        for _, o in there:
            o.setdefault("created", stamp(self.now))
        return {"accounts": [one(*k, name=f"a{k[1]}", **({"contract": {"discount_percent": str(self.percent[k[1]])}} if self.percent[k[1]] else {}))
                             for k, o in there if k[0] == "account"],
                "zones": [one(*k, name=f"z{k[1]}", account=o["account"], created=o["created"]) for k, o in there if k[0] == "zone"],
                "load_balancers": [one(*k, account=o["account"], zones=[], created=o["created"]) for k, o in there if k[0] == "load_balancer"]}

    def apply(self):
        (self.folder / "c.json").write_text(json.dumps(self.catalog()))
        self.run("apply", "--delete", self.folder / "c.json")
        for key, owner in self.owners.items():
            for name in self.books.fees:
                quantity = owner["fees"].get(name, 0) if owner["there"] else 0
                if quantity or (key, name) in self.fees:
                    self.fees.setdefault((key, name), Fee(key, name)).set(self.now, quantity)

    def change(self):
        for key, owner in self.owners.items():
            if self.rng.random() < 0.2:
                name = self.rng.choice(list(self.books.fees))
                owner["fees"][name] = self.rng.choice((0, 1, 1, 2, 3, 7))
                if not owner["fees"][name]:
                    del owner["fees"][name]
            if key[0] != "account" and self.rng.random() < 0.03:
                owner["there"] = not owner["there"]

    def moments(self, month):
        """Two or three changes; now and then with the month's first second, or one right after another."""
        some = sorted(self.rng.randrange(start(month), end(month)) for _ in range(self.rng.choice((1, 2, 3))))
        if self.rng.random() < 0.3:
            some.insert(0, start(month))
        if self.rng.random() < 0.3:
            some.append(some[-1] - some[-1] % DAY + DAY - 1)
        if month == (2028, 2):
            some.append(moment(2028, 2, 29) + self.rng.randrange(DAY))
        return sorted(set(some))

    def compare(self, month, printed):
        got = {d["account"]: d for d in printed}
        for a in range(1, ACCOUNTS + 1):
            active, lines, charges, credits = False, {}, Fraction(0), Fraction(0)
            for (key, name), fee in self.fees.items():
                if self.owners[key]["account"] != a:
                    continue
                for (period, credit), exact in self.twin.bill(fee, month).items():
                    lines[f"{key[0]}:{key[1]}", name, period, credit] = exact
                    amount = rounded(exact, 2)
                    charges, credits = charges + max(amount, 0), credits + min(amount, 0)
            active = self.active(a, month)
            off = rounded((charges + credits) * self.percent[a] / 100, 2)
            counted = charges + credits - off - credits + rounded(credits * self.percent[a] / 100, 2)
            least = max(Fraction(5) - counted, Fraction(0)) if active else Fraction(0)
            total = charges + credits - off + least
            if a not in got:
                assert not lines or not any(rounded(e, 2) for e in lines.values()), (a, month, lines)
                assert least == 0, (a, month)
                continue
            d = got[a]
            shown = {}
            for one in d["lines"]:
                if one["kind"] != "fee":
                    assert one["kind"] in ("discount", "minimum", "balancer_fee"), one
                    continue
                exact = Fraction(one["exact"])
                key = (one["resource"], one["fee"], calendar.timegm(time.strptime(one["service"]["start"], "%Y-%m-%dT%H:%M:%SZ")), exact < 0)
                shown.setdefault(key[:2] + (key[3],), []).append((exact, Fraction(one["amount"])))
                assert one["description"] == self.books.fees[one["fee"]]["name"]
                self.lines += 1
                self.credits += exact < 0
            wanted = {}
            for (resource, name, period, credit), exact in lines.items():
                wanted.setdefault((resource, name, credit), []).append((exact, rounded(exact, 2)))
            assert shown.keys() == wanted.keys(), (a, month, {k: v for k, v in (*shown.items(), *wanted.items()) if (k in shown) != (k in wanted)})
            for key in wanted:
                pairs = list(zip(sorted(shown[key]), sorted(wanted[key])))
                assert len(shown[key]) == len(wanted[key]), (a, month, key, shown[key], wanted[key])
                for (exact, amount), (exact_, amount_) in pairs:
                    assert abs(exact - exact_) <= Fraction(8, 10**18) and amount == amount_, (a, month, key, exact, exact_)
            assert Fraction(d["subtotal"]) == total, (a, month, d["subtotal"], total)
            self.documents += 1
            self.negative += total < 0

    def active(self, a, month):
        return any(k[0] == "zone" and o["account"] == a and any(b is None or b > start(month) for s, b in o.get("spans", ()) if s < end(month))
                   for k, o in self.owners.items())

    def spans(self):
        for (kind, _), o in self.owners.items():
            spans = o.setdefault("spans", [])
            open_ = bool(spans) and spans[-1][1] is None
            if o["there"] and not open_:
                spans.append([self.now, None])
            if not o["there"] and open_:
                spans[-1][1] = self.now

    def tell(self):
        self.now = moment(2027, 1, 20)
        self.run("init")
        if LONG:
            self.run("proof", "start")
        for text in self.books.texts():
            (self.folder / "b.json").write_text(json.dumps(text))
            self.run("book", self.folder / "b.json")
        self.apply()
        self.spans()
        for month in MONTHS:
            for at in self.moments(month):
                self.now = at
                self.change()
                self.apply()
                self.spans()
            self.now = end(month)
            printed = json.loads(self.run("invoice", "--month", "%d-%02d" % month, "--finalize", "--format", "json"))["invoices"]
            self.compare(month, [d for d in printed if d["period"]["start"] == stamp(start(month))])
        found = json.loads(self.run("verify", "--format", "json"))
        assert found["differences"] == [], found
        if LONG:
            check_documents(self.folder / "t.db")


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        history = History(rng, Path(folder))
        history.tell()
    print(f"seed {SEED}: {history.documents} documents with {history.lines} lines of fees agree; {history.credits} give back, "
          f"{history.negative} documents come below zero")
    assert history.credits and history.negative


main()
