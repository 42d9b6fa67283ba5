#!/usr/bin/env python3
"""Random histories of one-off charges: accounts in three currencies, with and without usage, over four months in a row.
Charges and credits are added for the month and for later ones, some are dropped, usage comes late and is withdrawn, fees are
given back, and documents become void and are made again. Some charges have a tax category of their own, some accounts have two
taxes, and some pay in advance. Which charge each document bills, how much of a credit it can bear, what of that is due again once
its month is cheaper, and each tax row are worked out here in fractions by the words of docs/charges.md, and must agree to the
smallest unit; verify must find no difference, and neither must a customer who checks the documents.

168 account-months; TB_LONG=1: 2,400. TB_SEED repeats a run.
"""
import calendar
import json
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checked import check_documents  # noqa: E402
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS = 600 if LONG else 42
MONTHS = ("2026-08", "2026-09", "2026-10", "2026-11")
AFTER = dict(zip(MONTHS, ("2026-09-03", "2026-10-03", "2026-11-03", "2026-12-03")))
DIGITS = {"EUR": 2, "JPY": 0, "KWD": 3}
UNTAXED = ("Z", "E", "AE", "K", "G", "O")  # in the order of tax rows
TAXES = ({}, {"VAT": "19"}, {"VAT": "19"}, {"GST": "5", "PST": "7.25"})
PRICE, MINIMUM = Fraction(37, 100), Fraction(1)
FEE = Fraction(60)  # of a month, in advance


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
        self.id, self.month, self.amount, self.category, self.dropped = number, month, amount, category, False
        self.billed = {}  # by document; what is due again is taken off its invoice

    def due(self):
        return self.amount - sum(self.billed.values())


class Account:
    def __init__(self, number, rng):
        self.id, self.currency = number, rng.choice(list(DIGITS))
        self.digits = DIGITS[self.currency]
        self.has_zone, self.tax, self.prepaid = rng.random() < 0.8, rng.choice(TAXES), rng.random() < 0.2
        self.has_fee, self.ended = rng.random() < 0.4, None  # ended: (month, day) on which its fee was taken off
        self.used, self.owed = {m: 0 for m in MONTHS}, {}  # owed: what documents have billed of each month
        self.charges, self.standing, self.before = [], {}, {}  # before: what was owed before a document
        self.totals, self.notes = {}, {}  # of valid documents; of credit notes (month, what was owed before, what is due again)

    def fees(self, month):
        """Charged for the month to come, and given back for the rest of this one."""
        if not self.has_fee or (self.ended and self.ended[0] < month):
            return Fraction(0), Fraction(0)
        if not self.ended or self.ended[0] > month:
            return FEE, Fraction(0)
        days = calendar.monthrange(*map(int, month.split("-")))[1]
        return Fraction(0), -rounded(FEE * (days - self.ended[1] + 1 - Fraction(9, 24)) / days, self.digits)

    def own(self, month):
        charged, given_back = self.fees(month)
        charged += rounded(PRICE * Fraction(self.used[month], 10**9), self.digits)
        return given_back + (max(charged, MINIMUM) if self.has_zone else charged)

    def document(self, month):
        """(charges by id, subtotal) of the month's document. Its own lines bear credits, its corrections of late usage do not."""
        late = sum(max(self.own(m) - self.owed[m], 0) for m in self.owed if m < month)
        charges = [c for c in self.charges if not c.dropped and c.month <= month and c.due()]
        sums = {k: sum((c.due() for c in charges if c.due() > 0 and c.category == k), Fraction(0)) for k in (None, *UNTAXED)}
        sums[None] += self.own(month)
        lines = {}
        for c in charges:
            amount = c.due() if c.due() > 0 else max(c.due(), min(-sums[c.category], 0))
            sums[c.category] += min(amount, 0)
            if amount:
                lines[c.id] = amount
        return lines, sum(sums.values()) + late

    def taxes(self, month, lines):
        """(category, base, amount) of each row on the document's own lines."""
        sums = {}
        for c in self.charges:
            if c.id in lines:
                sums[c.category] = sums.get(c.category, 0) + lines[c.id]
        if self.lines(month) or None in sums:
            base = sums.pop(None, 0) + self.own(month)
            for percent in self.tax.values():
                yield "S", base, rounded(base * Fraction(percent) / 100, self.digits)
        for category in UNTAXED:
            if category in sums:
                yield category, sums[category], Fraction(0)

    def lines(self, month):
        return self.has_zone or any(self.fees(month))

    def excess(self, month):
        """By charge, what the month's document has taken of credits and the month can no longer bear: the newest charges first."""
        number, again = self.standing[month], {}
        charges = [c for c in self.charges if c.category is None and number in c.billed]
        room = max(self.own(month) + sum(max(c.billed[number], 0) for c in charges), 0)
        for c in charges:
            if c.billed[number] < 0:
                borne = min(room, -c.billed[number])
                room -= borne
                if borne < -c.billed[number]:
                    again[c] = -c.billed[number] - borne
        return again

    def billed(self, month):
        """Of the month, with the account's taxes."""
        return self.owed[month] + sum(c.billed.get(self.standing[month], 0) for c in self.charges if c.category is None)


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder, self.now = rng, folder, None
        self.accounts = [Account(i + 1, rng) for i in range(ACCOUNTS)]
        self.pieces, self.files = [], 0  # files of usage: (name, [(account, month, bytes)])
        self.documents = self.notes = self.carried = self.again = self.below = self.voided = self.kept = self.dropped = 0  # kept: not voided

    def run(self, *words, stdin="", status=0):
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], input=stdin, text=True,
                              capture_output=True, env={**os.environ, "TOLLBOOK_NOW": f"{self.now}T09:00:00Z"}, check=False)
        assert done.returncode == status, (words, done.returncode, done.stderr)
        return done.stdout

    def apply(self):
        (self.folder / "c.json").write_text(json.dumps(
            {"accounts": [{"id": a.id, "name": f"a{a.id}", "currency": a.currency, **({"tax": a.tax} if a.tax else {}),
                           **({"prepaid": True} if a.prepaid else {}),
                           **({"fees": ["ip"]} if a.has_fee and not a.ended else {})} for a in self.accounts],
             "zones": [{"id": 1000 + a.id, "account": a.id, "name": f"z{a.id}", "created": "2026-08-01T00:00:00Z"}
                       for a in self.accounts if a.has_zone]}))
        self.run("apply", self.folder / "c.json")

    def declare(self):
        self.now = "2026-07-30"
        self.run("init")
        self.run("proof", "start")
        self.apply()
        for currency in DIGITS:
            (self.folder / "b.json").write_text(json.dumps(
                {"book": currency, "currency": currency, "effective_from": "2026-01-01T00:00:00Z", "minimum_monthly": "1",
                 "fees": {"ip": {"name": "Address", "amount": str(FEE), "timing": "advance"}},
                 "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.37"}}}}))
            self.run("book", self.folder / "b.json")
        (self.folder / "balances.json").write_text('{"balances": []}')
        self.now = "2026-08-01"
        self.run("ledger", "begin", "--month", MONTHS[0], self.folder / "balances.json")

    def end_fees(self, month, day):
        for a in self.accounts:
            if a.has_fee and not a.ended and self.rng.random() < 0.5:
                a.ended = (month, day)
        self.now = f"{month}-{day:02}"
        self.apply()

    def use(self, month):
        """Two files of usage, which can be withdrawn."""
        for _ in range(2):
            rows, piece = [], []
            for a in self.accounts:
                if a.has_zone and self.rng.random() < 0.5:
                    some = self.rng.randrange(1, 200 * 10**9)
                    a.used[month] += some
                    piece.append((a, month, some))
                    rows.append(json.dumps({"zone": 1000 + a.id, "hour": f"{month}-{self.rng.randrange(1, 28):02}T05:00:00Z", "region": "DE", "bytes": some}))
            self.files += 1
            name = self.folder / f"{self.files}.ndjson"
            name.write_text("\n".join(rows) + "\n")
            self.run("import", name)
            self.pieces.append((name, piece))

    def withdraw(self):
        name, piece = self.pieces.pop(self.rng.randrange(len(self.pieces)))
        self.run("import", "--withdraw", name)
        for a, month, some in piece:
            a.used[month] -= some

    def charge(self, a, month):
        amount = Fraction(self.rng.randrange(1, 90000), 10**a.digits) * self.rng.choice((1, -1, -1, -3))
        if self.rng.random() < 0.3 and a.own(month):  # a part of what the month comes to by now, or all of it
            amount = -rounded(abs(a.own(month)) * self.rng.choice((10, 50, 100)) / 100, a.digits) or amount
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
            for _ in range(self.rng.choice((0, 0, 1, 2))):
                self.charge(a, self.rng.choice(later))
            for c in a.charges:
                if not c.dropped and self.rng.random() < 0.1:
                    self.run("charge", "drop", c.id, status=2 if c.billed else 0)
                    c.dropped = not c.billed
                    self.dropped += c.dropped

    def compare_taxes(self, a, d, subtotal):
        assert Fraction(d["subtotal"]) == subtotal, (a.id, d["number"], d["subtotal"], subtotal)
        assert Fraction(d["total"]) == subtotal + sum(Fraction(one["amount"]) for one in d["tax"])
        late = [one for one in d["tax"] if "month" in one]
        assert all(one["category"] == "S" and not one.get("charges") for one in late), (a.id, d["number"])
        for one in late:  # of all that is billed of the month and has the account's taxes, less what was charged
            wanted = rounded(a.billed(one["month"]) * Fraction(one["percent"]) / 100, a.digits)
            apart = Fraction(one["amount"]) + Fraction(one["billed"]) - wanted
            assert abs(apart) <= (0 if a.digits else 1), (a.id, d["number"], one, wanted)  # yen: the norm's limit may turn a rounding

    def compare_note(self, a, d):
        month = d["period"]["start"][:7]
        before, again = a.owed[month], a.excess(month)
        for c, amount in again.items():
            c.billed[a.standing[month]] += amount
        a.owed[month] = a.own(month)
        self.compare_taxes(a, d, a.owed[month] - before + sum(again.values()))
        a.notes[d["number"]] = (month, before, again)
        self.notes += 1
        self.again += bool(again)
        self.below += a.billed(month) < 0

    def compare_invoice(self, a, d, month, lines, subtotal):
        shown = {int(one["resource"][7:]): one for one in d["lines"] if one["kind"] == "charge"}
        assert {i: Fraction(one["amount"]) for i, one in shown.items()} == lines, (a.id, month, shown, lines)
        for c in a.charges:
            if c.id in shown:
                tier, = shown[c.id]["tiers"]
                assert (Fraction(tier["list_price"]), Fraction(tier["amount"])) == (c.amount, lines[c.id])
                assert shown[c.id]["description"] == f"of {c.month}"
                assert shown[c.id].get("tax_category") == c.category
                c.billed[d["number"]] = lines[c.id]
                self.carried += c.month != month
        rows = [(one["category"], Fraction(one["base"]), Fraction(one["amount"])) for one in d["tax"] if "month" not in one]
        assert rows == list(a.taxes(month, lines)), (a.id, month, rows)
        a.standing[month], a.before[d["number"]] = d["number"], dict(a.owed)
        a.owed.update({m: a.own(m) for m in (*a.owed, month)})
        self.compare_taxes(a, d, subtotal)
        self.documents += 1

    def finalize(self, month):
        printed = json.loads(self.run("invoice", "--month", month, "--finalize"))["invoices"]
        for a in self.accounts:
            made = [d for d in printed if d["account"] == a.id and d["state"] == "final" and d["number"] not in a.totals]
            a.totals.update({d["number"]: Fraction(d["total"]) for d in made})
            if month in a.standing:
                assert not made
                continue
            lines, subtotal = a.document(month)  # without what this run's credit notes make due again
            notes = [d for d in made if d["kind"] == "credit_note"]
            assert {d["period"]["start"][:7] for d in notes} == {m for m in a.owed if a.own(m) < a.owed[m]}, (a.id, month)
            for d in notes:
                self.compare_note(a, d)
            invoices = [d for d in made if d["kind"] == "invoice"]
            assert len(invoices) == bool(lines or subtotal or a.lines(month)), (a.id, month)
            for d in invoices:
                self.compare_invoice(a, d, month, lines, subtotal)

    def undo(self, month):
        """Some of the month's documents become void; a few have another charge when they are made again."""
        for a in self.accounts:
            if month in a.standing and self.rng.random() < 0.15:
                number = a.standing.pop(month)
                self.run("invoice", "--void", number)
                del a.totals[number]
                a.owed = a.before.pop(number)
                for c in a.charges:
                    c.billed.pop(number, None)
                if self.rng.random() < 0.5:
                    self.charge(a, month)
                self.voided += 1

    def undo_notes(self):
        """Some credit notes of the month's runs become void, unless an invoice has what they made due again."""
        for a in self.accounts:
            for number, (month, before, again) in a.notes.items():
                if self.rng.random() < 0.3:
                    kept = any(abs(sum(c.billed.values()) - amount) > abs(c.amount) for c, amount in again.items())
                    self.run("invoice", "--void", number, status=2 if kept else 0)
                    self.kept += kept
                    if not kept:
                        del a.totals[number]
                        a.owed[month] = before
                        for c, amount in again.items():
                            c.billed[a.standing[month]] -= amount
            a.notes = {}

    def listed(self):
        rows = json.loads(self.run("charge", "list", "--format", "json"))["charges"]
        known = {c.id: c for a in self.accounts for c in a.charges if not c.dropped}
        assert {r["id"]: (Fraction(r["amount"]), Fraction(r["due"])) for r in rows} == {i: (c.amount, c.due()) for i, c in known.items()}

    def tell(self):
        self.declare()
        for month in MONTHS:
            self.end_fees(month, 5)
            self.now = f"{month}-28"
            self.use(month)
            self.change(month)
            self.run("ledger", "accrue")
            self.now = AFTER[month]
            self.finalize(month)
            self.undo(month)
            self.finalize(month)
            self.undo_notes()
            self.listed()
            self.use(self.rng.choice([m for m in MONTHS if m <= month]))  # late
            for _ in range(3):
                self.withdraw()
        for a in self.accounts[:: 1 + ACCOUNTS // 20]:
            rows = json.loads(self.run("ledger", "--account", a.id, "--format", "json"))
            assert Fraction(rows["balance"]) == -sum(a.totals.values()), a.id
        assert json.loads(self.run("verify", "--format", "json"))["differences"] == []
        check_documents(self.folder / "t.db")


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        history = History(rng, Path(folder))
        history.tell()
    print(f"seed {SEED}: {history.documents} invoices and {history.notes} credit notes agree; {history.carried} charges came later than "
          f"their month, {history.again} credit notes made credits due again, {history.below} took a month below zero, "
          f"{history.voided} invoices void, {history.kept} credit notes kept, {history.dropped} charges dropped")
    assert all((history.carried, history.again, history.below, history.voided, history.dropped))


main()
