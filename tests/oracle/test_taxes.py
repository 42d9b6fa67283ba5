#!/usr/bin/env python3
"""Random histories of taxes: accounts in four currencies whose taxes change from month to month and are amended for
months that are final, usage that comes late, is withdrawn in pieces and at last altogether, invoices that become void and
are made again, payments. What each document bills and taxes is worked out here by the words of docs/invoicing.md, and must
agree to the smallest unit. Once all is withdrawn, each account's documents come to 0 and its balance to what it has paid.
Those of one tax are written as electronic invoices too, which must keep the rules of the norm.

500 account-months; TB_LONG=1: 20,000. TB_SEED repeats a run.
"""
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402
import ubl_rules  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS, MONTHS, PIECES = (2500, 8, 24) if LONG else (84, 6, 9)
DIGITS = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3}
PRICE = Decimal("0.37")
TAXES = ({"category": "S", "rate": "19"}, {"category": "S", "rate": "7.7"}, {"category": "S", "rate": "20"},
         {"category": "AE", "reason": "Reverse charge"}, {"category": "E", "reason": "Exempt by law"},
         {"GST": "5", "PST": "7.25"}, None)


def rates(tax):
    """The rows of a declared tax: (name, category, percent)."""
    if tax is None:
        return []
    if "category" in tax:
        return [("VAT", tax["category"], Decimal(tax.get("rate", "0")))]
    return [(name, "S", Decimal(percent)) for name, percent in tax.items()]


def month_name(i):
    return f"2026-{i:02}" if i <= 12 else f"2027-{i - 12:02}"


def apart(percent, base, amount):
    return amount - (base * percent / 100).quantize(Decimal("0.01"), ROUND_HALF_UP)


def held(rate, base, tax, rows, charged, total):
    """In yen: where the rows of a category and percent lie a whole unit from percent x base (BR-CO-17), the last is
    rounded to the other side, unless what is charged of the month would lie as far from its own."""
    same = [(b, t) for r, b, t in rows if r[1:] == rate[1:]] + [(base, tax)]
    far = apart(rate[2], sum(b for b, _ in same), sum(t for _, t in same))
    other = tax - (1 if far > 0 else -1)
    return other if abs(far) >= 1 and abs(apart(rate[2], total, charged + other)) < 1 else tax


class Account:
    def __init__(self, number, rng):
        self.id, self.currency, self.paid = number, rng.choice(list(DIGITS)), Decimal(0)
        self.unit = Decimal(1).scaleb(-DIGITS[self.currency])
        self.zones = [10 * number + i for i in range(1 + rng.randrange(3))]
        self.tax, self.taxes = rng.choice(TAXES), {}  # now; by month that is over
        self.used = defaultdict(int)  # bytes by (month, zone)
        self.documents = {}  # those that stand: number to Document

    def rounded(self, amount):
        return amount.quantize(self.unit, ROUND_HALF_UP)

    def lines(self, month):
        """What the month's lines come to now, and have been billed at, by zone."""
        billed = defaultdict(Decimal)
        for d in self.documents.values():
            for zone, amount in d.parts.get(month, {}).items():
                billed[zone] += amount
        now = {z: self.rounded(PRICE * self.used[month, z] / 10**9) for z in self.zones if (month, z) in self.used}
        return now, billed

    def change(self, month):
        now, billed = self.lines(month)
        return {z: now.get(z, 0) - billed.get(z, 0) for z in {*now, *billed} if now.get(z, 0) != billed.get(z, 0)}

    def billed(self, month):
        """What documents have billed of a month, by the taxes under which they did, in the order of their first."""
        groups = {}
        for d in self.documents.values():
            for taxes, base, charged in d.rows.get(month, ()):
                lines, sums = groups.setdefault(taxes, [Decimal(0), defaultdict(Decimal)])
                groups[taxes][0] = lines + base
                for rate, tax in charged.items():
                    sums[rate] += tax
        return groups

    def shares(self, month, amount):
        """(taxes, base) of what is added or taken back: taken back as it was billed, the newest first."""
        shares = []
        if amount < 0:
            for taxes, (lines, _) in reversed(self.billed(month).items()):
                base = max(-lines, amount) if lines > 0 else 0
                if base:
                    shares.append((taxes, base))
                    amount -= base
        if amount or not shares:
            shares.append((tuple(rates(self.taxes[month])), amount))
        return shares


class Document:
    def __init__(self, account, kind, parts, own=None):
        self.kind, self.parts = kind, parts  # amounts by month and zone, its own first
        self.rows, flat = {}, []  # by month: (taxes, base, tax by rate)
        for m, part in parts.items():
            groups = account.billed(m)
            self.rows[m] = [self.row(account, share, groups, flat, m == own)
                            for share in account.shares(m, sum(part.values()))]
        self.net = sum(sum(p.values()) for p in parts.values())
        self.total = self.net + sum(tax for _, _, tax in flat)

    @staticmethod
    def row(account, share, groups, flat, own):
        """On all that stays billed under these taxes, less what was charged of it before."""
        (taxes, base), made = share, {}
        lines, charged = groups.get(taxes, (Decimal(0), {}))
        for rate in taxes:
            before = charged.get(rate, Decimal(0))
            tax = account.rounded((lines + base) * rate[2] / 100) - before
            if not own and account.unit == 1:
                tax = held(rate, base, tax, flat, before, lines + base)
            flat.append((rate, base, tax))
            made[rate] = tax
        return taxes, base, made


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.accounts = [Account(i + 1, rng) for i in range(ACCOUNTS)]
        self.pieces, self.turn, self.checked, self.written = [], 0, 0, 0

    def tool(self, *words, now, stdin=None, allowed=(0,)):
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], input=stdin, text=True,
                              capture_output=True, check=False, env={**os.environ, "TOLLBOOK_NOW": now})
        if done.returncode not in allowed:
            sys.exit(f"seed {SEED}: {words} at {now}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        return done.stdout

    def same(self, what, got, want):
        if got != want:
            sys.exit(f"seed {SEED}: {what}: tollbook says {got}, it is {want}")

    def at(self, month, day):
        self.turn += 1
        return f"{month_name(month)}-{day:02}T{self.turn // 3600 % 24:02}:{self.turn // 60 % 60:02}:{self.turn % 60:02}Z"

    def declare(self, now, *words):
        party = {"name": "Seller", "country": "DE", "city": "Ulm", "postal_code": "89073", "vat_id": "DE123456789",
                 "endpoint": {"scheme": "9930", "id": "DE123456789"}}
        buyer = {**party, "name": "Buyer", "reference": "4711", "country": "FR", "vat_id": "FR12345678901",
                 "endpoint": {"scheme": "9957", "id": "FR12345678901"}}
        self.tool("apply", "-", *words, now=now, stdin=json.dumps({
            "seller": {**party, "contact": {"name": "A", "phone": "+49 1", "email": "a@example.com"},
                       "payment": {"iban": "DE89370400440532013000"}, "terms_days": 14},
            "accounts": [{"id": a.id, "name": f"a{a.id}", "currency": a.currency, "buyer": buyer,
                          **({"tax": a.tax} if a.tax else {})} for a in self.accounts],
            "zones": [{"id": z, "account": a.id, "name": f"z{z}", "created": "2026-01-01T00:00:00Z"}
                      for a in self.accounts for z in a.zones]}))

    def amend(self, month):
        """A tax that is declared for a month after it was made final: what is billed stays as it is."""
        for a in self.rng.sample(self.accounts, 6):
            a.tax = a.taxes[month] = self.rng.choice(TAXES)
        self.declare(f"{month_name(month)}-28T00:00:00Z", "--backdated")

    def take(self, month, now, share):
        """A file of usage of some accounts, which can be withdrawn."""
        rows = {}
        for a in self.accounts:
            if self.rng.random() < share:
                zone = self.rng.choice(a.zones)
                rows[a.id, zone] = self.rng.choice((self.rng.randrange(10**8, 10**10), self.rng.randrange(10**8, 10**12)))
        if not rows:
            return
        file = self.folder / f"{self.turn}.ndjson"
        file.write_text("".join(json.dumps({"zone": z, "hour": f"{month_name(month)}-05T01:00:00Z", "region": "DE",
                                            "bytes": n}) + "\n" for (_, z), n in rows.items()))
        self.tool("import", file, now=now)
        self.move(month, rows, 1)
        self.pieces.append((month, file, rows))

    def move(self, month, rows, sign):
        for (account, zone), n in rows.items():
            self.accounts[account - 1].used[month, zone] += sign * n

    def withdraw(self, piece, now):
        month, file, rows = self.pieces.pop(piece)
        self.tool("import", "--withdraw", file, now=now)
        self.move(month, rows, -1)

    # --- documents ---

    def expected(self, a, month):
        """The documents that the month's run makes of an account: credit notes, then the invoice."""
        notes, parts = [], {}
        for m in range(1, month):
            part = a.change(m)
            if part and sum(part.values()) < 0:
                notes.append(Document(a, "credit_note", {m: part}))
            elif part:
                parts[m] = part
        own = a.change(month) if not any(month in d.parts for d in a.documents.values()) else {}
        if own or parts:
            notes.append(Document(a, "invoice", {**({month: own} if own else {}), **parts}, month))
        return notes

    def stored(self, after):
        with sqlite3.connect(f"file:{self.folder / 't.db'}?mode=ro", uri=True) as db:
            rows = db.execute("SELECT document FROM invoice WHERE id>? ORDER BY id", (after,)).fetchall()
        db.close()
        return [json.loads(text) for (text,) in rows]

    def run(self, month, now):
        with sqlite3.connect(self.folder / "t.db") as db:
            (last,) = db.execute("SELECT coalesce(max(id),0) FROM invoice").fetchone()
        db.close()
        want = {a.id: self.expected(a, month) for a in self.accounts}
        self.tool("invoice", "--month", month_name(month), "--finalize", now=now, allowed=(0, 1))
        made = defaultdict(list)
        for paper in self.stored(last):
            made[paper["account"]].append(paper)
        for a in self.accounts:
            self.same(f"account {a.id}, documents of {month_name(month)}",
                      [p["kind"] for p in made[a.id]], [d.kind for d in want[a.id]])
            for paper, document in zip(made[a.id], want[a.id]):
                self.check(a, month, paper, document)
                a.documents[paper["number"]] = document
        return made

    def check(self, a, month, paper, document):
        rows, at = {}, f"{paper['number']} ({a.currency})"
        for row in paper["tax"]:
            m = int(row["month"][:4]) * 12 + int(row["month"][5:]) - 2026 * 12 if "month" in row else month
            rows[m, (row["name"], row["category"], Decimal(row["percent"]))] = Decimal(row["amount"])
        want = {(m, rate): tax for m, shares in document.rows.items() for _, _, made in shares
                for rate, tax in made.items()}
        # Lines that come to nothing have a row of nothing.
        self.same(f"{at} taxes", {k: v for k, v in rows.items() if v or k in want}, want)
        self.same(f"{at} subtotal", Decimal(paper["subtotal"]), document.net)
        self.same(f"{at} total", Decimal(paper["total"]), document.total)
        self.checked += 1

    def void(self, made, month, now):
        """Invoices that were just made; their month is made final again, with what came since."""
        able = [a for a in self.accounts if len(made[a.id]) == 1 and made[a.id][0]["kind"] == "invoice"]
        for a in self.rng.sample(able, min(5, len(able))):
            number = made[a.id][0]["number"]
            self.tool("invoice", "--void", number, now=now)
            del a.documents[number]

    def pay(self, now):
        for a in self.rng.sample(self.accounts, 4):
            amount = a.rounded(Decimal(self.rng.randrange(1, 40000)) / 100) or a.unit
            self.tool("ledger", "pay", "--account", a.id, "--amount", amount, "--reference", f"p{self.turn}-{a.id}",
                      now=now)
            a.paid += amount

    # --- the end ---

    def check_settled(self, now):
        for a in self.accounts:
            self.same(f"account {a.id}, what its documents come to", sum(d.total for d in a.documents.values()), 0)
        shown = json.loads(self.tool("ledger", "aging", "--format", "json", now=now))["accounts"]
        open_ = {row["account"]: row for row in shown if Decimal(row.get("total", "0")) > 0}
        self.same("what is open when all is settled", open_, {})
        with sqlite3.connect(self.folder / "t.db") as db:
            balances = defaultdict(Decimal)
            for account, amount in db.execute("SELECT account,amount FROM ledger"):
                balances[account] += Decimal(amount)
        db.close()
        for a in self.accounts:
            self.same(f"account {a.id}, balance", balances[a.id], a.paid)

    def check_electronic(self, month, now):
        """Those that cannot be written say why: several taxes on one base, or none."""
        out = self.folder / f"e{month}"
        subprocess.run([TOOL, "invoice", "--month", month_name(month), "--format", "ubl", "--out", out, "--db",
                        self.folder / "t.db"], capture_output=True, check=False,
                       env={**os.environ, "TOLLBOOK_NOW": now})
        for file in sorted(out.glob("*.xml")):
            document = ubl_rules.Document(file.read_bytes())
            self.same(f"{file.name}, what it breaks", ubl_rules.broken(document, "peppol"), [])
            self.written += 1


def main():
    rng = random.Random(SEED)
    with tempfile.TemporaryDirectory() as folder:
        h = History(rng, Path(folder))
        h.tool("init", now="2026-01-01T00:00:00Z")
        for currency in DIGITS:
            h.tool("book", "-", now="2026-01-01T00:00:00Z", stdin=json.dumps(
                {"book": f"b{currency}", "currency": currency, "effective_from": "2026-01-01T00:00:00Z",
                 "bandwidth": {"premium": {"per": "GB", "regions": {"EU": str(PRICE)}}}}))
        for month in range(1, MONTHS + 3):
            if month > 1:
                h.amend(month - 1)
            for a in h.accounts:
                a.tax = rng.choice(TAXES) if rng.random() < 0.4 else a.tax
            h.declare(h.at(month, 10))
            for a in h.accounts:
                a.taxes[month] = a.tax
            ending = month > MONTHS
            for _ in range(0 if ending else PIECES):
                h.take(month if rng.random() < 0.6 else rng.randrange(1, month + 1), h.at(month, 20), 0.35)
            for _ in range(len(h.pieces) if ending else PIECES // 3):
                if h.pieces:
                    h.withdraw(rng.randrange(len(h.pieces)), h.at(month, 21))
            made = h.run(month, h.at(month + 1, 2))
            h.pay(h.at(month + 1, 2))
            if not ending:
                h.void(made, month, h.at(month + 1, 2))
                h.run(month, h.at(month + 1, 2))
            h.check_electronic(month, h.at(month + 1, 3))
        h.check_settled(h.at(MONTHS + 3, 4))
        h.tool("verify", now=h.at(MONTHS + 3, 4))
        print(f"seed {SEED}: {ACCOUNTS * MONTHS} account-months, {h.checked} documents, {h.written} electronic ones: "
              "0 differences")


if __name__ == "__main__":
    main()
