"""Prepaid accounts through the tool, against a twin: random usage (much of it late), prices that change within
months, taxes that are declared anew, accounts that begin and stop to be prepaid, days that are missed,
payments, months that are made final, made void and made final again.

The twin knows the usage hour by hour and bills it by itself, in fractions. From that it says which
entries there must be after each `ledger accrue`, and compares the whole ledger: days, amounts, moments,
references. Of what it finds in it: the days of a month sum to what the month has come to, with the
reversal of one that was made final to 0; an invoice without corrections comes to the twin's bill, and
its paid amount is what the balance before it covers, days without an invoice aside.

TB_LONG=1 asks for 20,000 months of accounts; TB_SEED repeats one.
"""
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
if not TOOL.exists():
    print("skipped: there is no", TOOL)
    sys.exit(77)

FILES, ACCOUNTS, MONTHS = (40, 84, 6) if LONG else (1, 84, 6)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
BEGIN = datetime(2026, 1, 1, tzinfo=timezone.utc)
REGIONS = {"DE": "EU", "SG": "ASIA"}
GB = 10**9


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def first_of(month):
    return datetime(2026 + month // 12, month % 12 + 1, 1, tzinfo=timezone.utc)


def month_of(moment):
    return 12 * (moment.year - 2026) + moment.month - 1


def name_of(month):
    return first_of(month).strftime("%Y-%m")


def cents(amount):
    """Half up, away from zero; amounts here are not negative."""
    return Fraction((amount * 200 + 1).__floor__() // 2, 100)


class Account:
    def __init__(self, number, rng):
        self.id = number
        self.prepaid = rng.random() < 0.8
        self.taxes = [(BEGIN - DAY, rng.choice((0, 7, 19, 20)))]
        self.usage = defaultdict(int)  # (hour, region): bytes
        self.ledger = []               # what must be there: (kind, amount, reference, moment)
        self.last = None               # day of the last entry
        self.over = set()              # months that take no more days
        self.entered = defaultdict(Fraction)
        self.late = defaultdict(bool)  # months that something came late for after they were final


class Twin:
    def __init__(self, rng):
        self.books = []  # (beginning, {region: price}, minimum)
        self.accounts = {n: Account(n, rng) for n in range(1, ACCOUNTS + 1)}

    def price(self, region, hour):
        return max((book for book in self.books if book[0] <= hour), key=lambda b: b[0])[1][REGIONS[region]]

    def tax(self, account, month):
        end = first_of(month + 1) - HOUR
        return [rate for since, rate in account.taxes if since <= end][-1]

    def gross(self, account, month, until):
        """What the month has come to by then; with the minimum once it is over."""
        lines = defaultdict(Fraction)
        for (hour, region), count in account.usage.items():
            if first_of(month) <= hour < min(until, first_of(month + 1)):
                lines[REGIONS[region]] += Fraction(count, GB) * self.price(region, hour)
        net = sum((cents(line) for line in lines.values()), Fraction(0))
        if until >= first_of(month + 1):
            net = max(net, self.books[0][2])
        return net + cents(net * self.tax(account, month) / 100)

    def accrue(self, account, now):
        today = now.replace(hour=0, minute=0, second=0)
        last = account.last
        day = last + DAY if last else first_of(month_of(today - DAY) - 1)
        while day < today:
            month = month_of(day)
            end = min(first_of(month + 1), today)
            if month >= 0 and month not in account.over:
                self.accrue_days(account, month, day, end)
            day = end

    def accrue_days(self, account, month, day, end):
        if self.gross(account, month, end) == -account.entered[month]:
            return
        while day < end:
            day += DAY
            amount = -self.gross(account, month, day) - account.entered[month]
            if amount:
                reference = f"prepaid {account.id} {(day - DAY).strftime('%Y-%m-%d')}"
                account.ledger.append(("usage", amount, reference, day - timedelta(seconds=1)))
                account.entered[month] += amount
                account.last = day - DAY

    def reverse(self, account, month, now):
        account.over.add(month)
        if account.entered[month]:
            account.ledger.append(("usage_reversal", -account.entered[month],
                                   f"prepaid {account.id} {name_of(month)}", now))
            account.entered[month] = Fraction(0)


class History:
    def __init__(self, folder, rng):
        self.db, self.rng, self.twin = folder / "t.db", rng, Twin(rng)
        self.now = BEGIN
        self.run("init")
        self.declare()
        self.add_book(BEGIN - 400 * DAY)
        self.next_final = 0
        self.checked = 0

    def run(self, *words, stdin="", status=(0,)):
        at = next((i for i, word in enumerate(words) if str(word).startswith("-")), len(words))
        words = [*map(str, words[:at]), "--db", str(self.db), *map(str, words[at:])]
        done = subprocess.run([TOOL, *words], input=stdin.encode(), capture_output=True, check=False,
                              env={**os.environ, "TOLLBOOK_NOW": stamp(self.now)}, timeout=300)
        assert done.returncode in status, (words, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    # --- what happens ---

    def declare(self):
        accounts = [{"id": a.id, "name": "x", "prepaid": a.prepaid, "tax": {"VAT": str(a.taxes[-1][1])}}
                    for a in self.twin.accounts.values()]
        zones = [{"id": 1000 + a["id"], "account": a["id"], "name": "z", "created": stamp(BEGIN)}
                 for a in accounts]
        self.run("apply", "--delete", "-", stdin=json.dumps({"accounts": accounts, "zones": zones}))

    def redeclare(self):
        for account in self.rng.sample(list(self.twin.accounts.values()), 6):
            if self.rng.random() < 0.5:
                account.prepaid = not account.prepaid
            else:
                account.taxes.append((self.now, self.rng.choice((0, 7, 19, 20))))
        self.declare()

    def add_book(self, begin):
        prices = {region: Fraction(self.rng.randrange(5, 40), 1000) for region in ("EU", "ASIA")}
        self.twin.books.append((begin, prices, Fraction(1)))
        self.run("book", "-", stdin=json.dumps({
            "book": f"b{len(self.twin.books)}", "currency": "USD", "effective_from": stamp(begin),
            "minimum_monthly": "1.00", "bandwidth": {"premium": {"per": "GB", "regions": {
                region: f"{float(price):.3f}" for region, price in prices.items()}}}}))

    def take(self):
        rows = []
        for account in self.rng.sample(list(self.twin.accounts.values()), ACCOUNTS // 3):
            for _ in range(self.rng.randrange(1, 5)):
                back = self.rng.choice((0, 0, 1, 1, 2, 5, 20, 45))
                hour = self.now.replace(minute=0, second=0) - back * DAY - self.rng.randrange(1, 24) * HOUR
                if hour < BEGIN:
                    continue
                region, count = self.rng.choice(list(REGIONS)), self.rng.randrange(1, 60 * GB)
                account.usage[hour, region] += count
                account.late[month_of(hour)] |= month_of(hour) in account.over
                rows.append(json.dumps({"zone": 1000 + account.id, "hour": stamp(hour),
                                        "region": region, "bytes": count}))
        self.run("import", "-", stdin="\n".join(rows) + "\n")

    def pay(self):
        account = self.rng.choice(list(self.twin.accounts.values()))
        amount = self.rng.randrange(1, 3000)
        reference = f"p{len(account.ledger)}-{account.id}"
        self.run("ledger", "pay", "--account", account.id, "--amount", f"{amount / 100:.2f}",
                 "--reference", reference)
        account.ledger.append(("payment", Fraction(amount, 100), reference, self.now))

    def accrue(self):
        one = self.rng.choice(list(self.twin.accounts.values())) if self.rng.random() < 0.2 else None
        if one and not one.prepaid:
            return
        self.run("ledger", "accrue", *(("--account", one.id) if one else ()))
        for account in [one] if one else self.twin.accounts.values():
            if account.prepaid:
                self.twin.accrue(account, self.now)

    def finalize(self, month):
        said = json.loads(self.run("invoice", "--month", name_of(month), "--finalize",
                                   "--format", "json"))["invoices"]
        for account in self.twin.accounts.values():
            if month not in account.over:
                self.twin.reverse(account, month, self.now)
        self.take_entries(month, {i["number"]: i for i in said})

    def void(self):
        """The newest invoices of a month, some of them; then all of them again."""
        month = self.next_final - 1
        numbers = [row[0] for row in self.query(
            "SELECT number FROM invoice WHERE month=? AND kind='invoice' AND state='final'",
            (month_of(first_of(month)) + 12 * 56,))]
        for number in self.rng.sample(numbers, min(3, len(numbers))):
            self.run("invoice", "--void", number, status=(0, 2))
        self.take_entries(month, {})
        self.accrue()
        self.compare()
        self.finalize(month)

    # --- what there is ---

    def query(self, sql, values=()):
        db = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)
        try:
            return db.execute(sql, values).fetchall()
        finally:
            db.close()

    def entries(self):
        found = defaultdict(list)
        for account, kind, amount, reference, at_us in self.query(
                "SELECT account,kind,amount,reference,at_us FROM ledger ORDER BY id"):
            found[account].append((kind, Fraction(amount), reference,
                                   datetime.fromtimestamp(at_us // 10**6, timezone.utc)))
        return found

    def take_entries(self, month, invoices):
        """What invoices entered: amounts of a month without anything late are the twin's."""
        for number, entries in self.entries().items():
            account = self.twin.accounts[number]
            known = {(kind, reference) for kind, _, reference, _ in account.ledger}
            for entry in entries:
                kind, amount, reference, _ = entry
                if kind not in ("invoice", "void", "credit_note") or (kind, reference) in known:
                    continue
                if kind == "invoice":
                    self.check_invoice(account, month, invoices[reference], amount)
                account.ledger.append(entry)

    def check_invoice(self, account, month, invoice, amount):
        total, paid = Fraction(invoice["total"]), Fraction(invoice["paid"])
        assert -amount == total, (account.id, invoice)
        if not any(account.late[m] for m in range(month + 1)):
            bill = self.twin.gross(account, month, first_of(month + 1))
            assert total == bill, (account.id, name_of(month), total, bill)
        left = sum((entry[1] for entry in account.ledger if not entry[0].startswith("usage")), Fraction(0))
        covered = min(max(left, Fraction(0)), total)
        assert paid == covered, (account.id, invoice["number"], paid, covered)
        assert invoice.get("drawn") == ("0.00" if covered else None), (account.id, invoice)
        self.checked += 1

    def compare(self):
        found = self.entries()
        for account in self.twin.accounts.values():
            there, wanted = found[account.id], account.ledger
            assert there == wanted, (account.id, [e for e in zip(there, wanted) if e[0] != e[1]][:3],
                                     there[len(wanted):][:3], wanted[len(there):][:3])
            months = defaultdict(Fraction)
            for kind, amount, reference, _ in there:
                if kind.startswith("usage"):
                    months[reference.split()[-1][:7]] += amount
            for month in account.over:
                assert months[name_of(month)] == 0, (account.id, name_of(month))

    def step(self):
        self.now += timedelta(hours=self.rng.randrange(20, 100), minutes=self.rng.randrange(60))
        month = month_of(self.now)
        self.take()
        if self.rng.random() < 0.15:
            self.redeclare()
        begin = (self.now + self.rng.randrange(1, 90) * HOUR).replace(minute=0, second=0)
        if self.rng.random() < 0.1 and begin not in {book[0] for book in self.twin.books}:
            self.add_book(begin)
        if self.rng.random() < 0.5:
            self.pay()
        if self.rng.random() < 0.8:
            self.accrue()
        while self.next_final < month and (self.now.day > 3 or self.rng.random() < 0.3):
            self.finalize(self.next_final)
            self.next_final += 1
            if self.rng.random() < 0.4:
                self.now += HOUR
                self.void()
        self.compare()


def main():
    rng = random.Random(random_seed())
    months = invoices = days = 0
    for _ in range(FILES):
        with tempfile.TemporaryDirectory(prefix="tollbook-prepaid-") as folder:
            history = History(Path(folder), rng)
            while month_of(history.now) < MONTHS:
                history.step()
            history.run("verify")
            months += ACCOUNTS * MONTHS
            invoices += history.checked
            days += sum(e[0] == "usage" for a in history.twin.accounts.values() for e in a.ledger)
    print(f"{months} months of accounts: {days} days, {invoices} invoices, as they should be")


main()
