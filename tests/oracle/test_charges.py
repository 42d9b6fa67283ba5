#!/usr/bin/env python3
"""Random histories of one-off charges: accounts in three currencies, with and without usage, over three months in a row.
Charges and credits are added for the month and for later ones, some are dropped, usage comes late, and invoices become void
and are made again. Some charges have a tax category of their own. Which charge each document bills, how much of a credit it
can bear, and each tax row are worked out here in fractions by the words of docs/charges.md, and must agree to the smallest
unit; verify must find no difference.

180 account-months; TB_LONG=1: 1,800. TB_SEED repeats a run.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS = 600 if LONG else 60
MONTHS = ("2026-08", "2026-09", "2026-10")
AFTER = dict(zip(MONTHS, ("2026-09-03", "2026-10-03", "2026-11-03")))
DIGITS = {"EUR": 2, "JPY": 0, "KWD": 3}
UNTAXED = ("Z", "E", "AE", "K", "G", "O")  # in the order of tax rows
PRICE, MINIMUM = Fraction(37, 100), Fraction(1)


def rounded(value, digits):
    scaled = abs(value) * 10**digits
    whole = (2 * scaled.numerator + scaled.denominator) // (2 * scaled.denominator)
    return Fraction(whole if value >= 0 else -whole, 10**digits)


def text(value, digits):
    whole = value * 10**digits
    assert whole.denominator == 1
    sign, figures = "-" if whole < 0 else "", str(abs(whole.numerator)).rjust(digits + 1, "0")
    return sign + (f"{figures[:-digits]}.{figures[-digits:]}" if digits else figures)


class Charge:
    def __init__(self, number, month, amount, category):
        self.id, self.month, self.amount, self.category, self.billed, self.dropped = number, month, amount, category, {}, False

    def due(self):
        return self.amount - sum(self.billed.values())


class Account:
    def __init__(self, number, rng):
        self.id, self.currency = number, rng.choice(list(DIGITS))
        self.digits = DIGITS[self.currency]
        self.has_zone, self.percent = rng.random() < 0.8, rng.choice((0, 19))
        self.used, self.owed = {m: 0 for m in MONTHS}, {}  # owed: what documents have billed of each month's usage
        self.charges, self.standing, self.before = [], {}, {}  # before: what was owed before a document

    def own(self, month):
        return max(rounded(PRICE * Fraction(self.used[month], 10**9), self.digits), MINIMUM) if self.has_zone else Fraction(0)

    def document(self, month):
        """(charges by id, subtotal) of the month's document. Its own lines bear credits, its corrections of late usage do not."""
        late = sum(self.own(m) - self.owed[m] for m in self.owed if m < month)
        charges = [c for c in self.charges if not c.dropped and c.month <= month and c.due()]
        left = {k: sum((c.due() for c in charges if c.due() > 0 and c.category == k), Fraction(0)) for k in (None, *UNTAXED)}
        left[None] += self.own(month)
        lines = {}
        for c in charges:
            amount = c.due() if c.due() > 0 else max(c.due(), -left[c.category])
            left[c.category] += min(amount, 0)
            if amount:
                lines[c.id] = amount
        return lines, sum(left.values()) + late

    def taxes(self, month, lines):
        """(category, base, amount) of each row on the document's own lines."""
        sums = {}
        for c in self.charges:
            if c.id in lines:
                sums[c.category] = sums.get(c.category, 0) + lines[c.id]
        if self.has_zone or None in sums:
            base = sums.pop(None, 0) + self.own(month)
            if self.percent:
                yield "S", base, rounded(base * self.percent / 100, self.digits)
        for category in UNTAXED:
            if category in sums:
                yield category, sums[category], Fraction(0)


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder, self.now = rng, folder, None
        self.accounts = [Account(i + 1, rng) for i in range(ACCOUNTS)]
        self.documents = self.carried = self.voided = self.dropped = 0

    def run(self, *words, stdin="", status=0):
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], input=stdin, text=True,
                              capture_output=True, env={**os.environ, "TOLLBOOK_NOW": f"{self.now}T09:00:00Z"}, check=False)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout

    def declare(self):
        catalog = {"accounts": [{"id": a.id, "name": f"a{a.id}", "currency": a.currency,
                                 **({"tax": {"category": "S", "rate": str(a.percent)}} if a.percent else {})} for a in self.accounts],
                   "zones": [{"id": 1000 + a.id, "account": a.id, "name": f"z{a.id}", "created": "2026-08-01T00:00:00Z"}
                             for a in self.accounts if a.has_zone]}
        self.now = "2026-07-30"
        subprocess.run([TOOL, "init", "--db", self.folder / "t.db"], check=True, capture_output=True)
        (self.folder / "c.json").write_text(json.dumps(catalog))
        self.run("apply", self.folder / "c.json")
        for currency in DIGITS:
            (self.folder / "b.json").write_text(json.dumps(
                {"book": currency, "currency": currency, "effective_from": "2026-01-01T00:00:00Z", "minimum_monthly": "1",
                 "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.37"}}}}))
            self.run("book", self.folder / "b.json")

    def use(self, month):
        rows = []
        for a in self.accounts:
            if a.has_zone and self.rng.random() < 0.7:
                some = self.rng.randrange(1, 200 * 10**9)
                a.used[month] += some
                rows.append(json.dumps({"zone": 1000 + a.id, "hour": f"{month}-{self.rng.randrange(1, 28):02}T05:00:00Z", "region": "DE", "bytes": some}))
        self.run("import", "-", stdin="\n".join(rows) + "\n")

    def charge(self, a, month):
        amount = Fraction(self.rng.randrange(1, 90000), 10**a.digits) * self.rng.choice((1, 1, -1, -3))
        category = self.rng.choice((None, None, None, *UNTAXED[:3]))
        words = ("charge", "add", *(("--tax-category", category) if category else ()), "--account", a.id, "--amount", text(amount, a.digits), "--description", f"of {month}", "--month", month,
                 "--reference", f"r{len(a.charges)}")
        number = int(self.run(*words))
        if self.rng.random() < 0.2:
            assert int(self.run(*words)) == number, "the same reference again changes nothing"
        a.charges.append(Charge(number, month, amount, category))

    def change(self, month):
        later = [m for m in MONTHS if m >= month]
        for a in self.accounts:
            for _ in range(self.rng.choice((0, 0, 1, 2, 3))):
                self.charge(a, self.rng.choice(later))
            for c in a.charges:
                if not c.dropped and self.rng.random() < 0.1:
                    self.run("charge", "drop", c.id, status=2 if c.billed else 0)
                    c.dropped = not c.billed
                    self.dropped += c.dropped

    def compare(self, month, printed):
        got = {d["account"]: d for d in printed if d["period"]["start"].startswith(month) and d["kind"] == "invoice" and d["state"] == "final"}
        for a in self.accounts:
            if month in a.standing:
                continue
            lines, subtotal = a.document(month)
            if not lines and not a.has_zone:
                assert a.id not in got, (a.id, month)
                continue
            d = got[a.id]
            shown = {int(one["resource"][7:]): one for one in d["lines"] if one["kind"] == "charge"}
            assert {i: Fraction(one["amount"]) for i, one in shown.items()} == lines, (a.id, month, shown, lines)
            for c in a.charges:
                if c.id in shown:
                    tier, = shown[c.id]["tiers"]
                    assert (Fraction(tier["list_price"]), Fraction(tier["amount"])) == (c.amount, lines[c.id])
                    assert shown[c.id]["description"] == f"of {c.month}"
                    assert shown[c.id].get("tax_category") == c.category
                    self.carried += c.month != month
            assert Fraction(d["subtotal"]) == subtotal, (a.id, month, d["subtotal"], subtotal)
            rows = [(one["category"], Fraction(one["base"]), Fraction(one["amount"])) for one in d["tax"] if "month" not in one]
            assert rows == list(a.taxes(month, lines)), (a.id, month, rows)
            late = [one for one in d["tax"] if "month" in one]
            assert Fraction(d["total"]) == subtotal + sum(Fraction(one["amount"]) for one in d["tax"])
            assert all(one["category"] == "S" and not one.get("charges") for one in late), (a.id, month)
            for one in late:  # of all that is billed of the month and has the account's taxes, less what was charged
                taxed = a.own(one["month"]) + sum(c.billed.get(a.standing[one["month"]], 0) for c in a.charges if c.category is None)
                apart = Fraction(one["amount"]) + Fraction(one["billed"]) - rounded(taxed * a.percent / 100, a.digits)
                assert abs(apart) <= (0 if a.digits else 1), (a.id, month, apart)  # yen: the norm's limit may turn a rounding
            for c in a.charges:
                if c.id in lines:
                    c.billed[d["number"]] = lines[c.id]
            a.standing[month] = d["number"]
            a.before[d["number"]] = dict(a.owed)
            a.owed.update({m: a.own(m) for m in (*a.owed, month)})
            self.documents += 1

    def finalize(self, month):
        self.compare(month, json.loads(self.run("invoice", "--month", month, "--finalize"))["invoices"])

    def undo(self, month):
        """Some of the month's documents become void; a few have another charge when they are made again."""
        chosen = [a for a in self.accounts if month in a.standing and self.rng.random() < 0.15]
        for a in chosen:
            number = a.standing.pop(month)
            self.run("invoice", "--void", number)
            a.owed = a.before.pop(number)
            for c in a.charges:
                c.billed.pop(number, None)
            if self.rng.random() < 0.5:
                self.charge(a, month)
            self.voided += 1
        return chosen

    def listed(self):
        rows = json.loads(self.run("charge", "list", "--format", "json"))["charges"]
        known = {c.id: c for a in self.accounts for c in a.charges if not c.dropped}
        assert {r["id"]: (Fraction(r["amount"]), Fraction(r["due"])) for r in rows} == {i: (c.amount, c.due()) for i, c in known.items()}

    def tell(self):
        self.declare()
        for month in MONTHS:
            self.now = f"{month}-28"
            self.use(month)
            self.change(month)
            self.now = AFTER[month]
            self.finalize(month)
            if self.undo(month):
                self.finalize(month)
            self.listed()
            self.use(month)  # late
        assert json.loads(self.run("verify", "--format", "json"))["differences"] == []


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        history = History(rng, Path(folder))
        history.tell()
    print(f"seed {SEED}: {history.documents} documents agree; {history.carried} charges came later than their month, {history.voided} documents void, "
          f"{history.dropped} charges dropped")
    assert history.carried and history.voided and history.dropped


main()
