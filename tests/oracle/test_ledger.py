#!/usr/bin/env python3
"""Random histories of accounts' money, told to tollbook and worked out here: usage, late usage, credits with
and without a last day, invoices that draw them, voids, payments by hand and from bank lists, adjustments,
closings in any order. Balances, credits, what remains of each invoice and its age, and the sums of the
general ledger must agree to the last digit.

500 account-months; TB_LONG=1: 20,000. TB_SEED repeats a run.
"""
import csv
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
SEED = random_seed()
ACCOUNTS, MONTHS = (100, 11) if LONG else (50, 10)
CENT = Decimal("0.01")
NEVER = "9999-12-31"


class Invoice:
    def __init__(self, number, month, parts, taxes, issued, due):
        self.number, self.month, self.parts, self.issued, self.due = number, month, parts, issued, due
        self.made = self.void_at = 0  # by what happened before
        self.net = sum(parts.values()) * CENT
        self.taxes, self.tax = taxes, sum(taxes.values())  # by month
        self.total, self.drawn, self.void = self.net + self.tax, [], None  # void: its day

    def stood(self, day):
        """At the beginning of that day."""
        return self.issued < day and (self.void is None or self.void >= day)


class Account:
    """Everything that happened to an account, and what follows from it by the words of docs/ledger.md."""

    def __init__(self, number, rng):
        self.id, self.rate, self.terms = number, rng.choice((0, 20, 19)), rng.choice((None, 0, 14, 40))
        self.used = defaultdict(int)  # GB by month
        self.credits, self.invoices, self.money = [], [], []
        self.debits = []  # adjustments below zero: (reference, day, amount)
        self.entries = []  # (day, amount)
        self.sums = defaultdict(Decimal)  # (month of the entry, account of the general ledger)

    def post(self, day, amount, **lines):
        self.entries.append((day, amount))
        for name, value in lines.items():
            self.sums[f"{day:%Y-%m}", name] += value

    def grant(self, amount, expires, day):
        self.credits.append({"expires": expires or NEVER, "left": amount, "turn": len(self.credits),
                             "touched": day, "back": ""})
        self.post(day, amount, credits=-amount, revenue=amount)

    def expire(self, today):
        for c in self.credits:
            if max(c["expires"], c["back"]) < str(today) and c["left"]:
                day = max(date.fromisoformat(max(c["expires"], c["back"])) + timedelta(1), c["touched"])
                if f"{day:%Y-%m}" in CLOSED:
                    day = today
                self.post(day, -c["left"], credits=c["left"], revenue=-c["left"])
                c["left"], c["touched"] = Decimal(0), day

    def finalize(self, month, number, today):
        """The month, and what came late for those before it."""
        parts = {month: self.used[month] - self.billed(month)}
        for m in [m for m in self.used if m < month and m in RUN_MONTHS and not self.waits_for_own(m)]:
            if self.used[m] != self.billed(m):
                parts[m] = self.used[m] - self.billed(m)
        due = today if self.terms is None else today + timedelta(self.terms)
        invoice = Invoice(number, month, parts, {m: self.tax(m, p) for m, p in parts.items()}, today, due)
        if self.credits:
            self.expire(today)
        lies = self.lies(next((i for i in reversed(self.invoices) if i.month == month and i.void), None))
        self.post(today, -invoice.total, receivables=invoice.total, revenue=-invoice.net,
                  tax=-invoice.tax)
        open_ = invoice.total
        for c in sorted(self.credits, key=lambda c: (c["expires"], c["turn"])):
            part = min(open_, c["left"])
            if part and max(c["expires"], c["back"]) >= str(today):
                open_ -= part
                c["left"] -= part
                c["touched"] = today
                invoice.drawn.append((c, part))
                self.post(today, Decimal(0), credits=part, receivables=-part)
        invoice.covered = min(open_, lies)
        invoice.paid = invoice.total - open_ + invoice.covered
        invoice.since = {m: max((i.made for i in self.invoices if m in i.parts and not i.void), default=0)
                         for m in parts}
        invoice.made = tick()
        self.invoices.append(invoice)
        return invoice

    def tax(self, month, part):
        """On all that the month comes to now, less what invoices have charged of it."""
        all_of_it = (self.billed(month) + part) * CENT * self.rate / 100
        charged = sum(i.taxes.get(month, 0) for i in self.invoices if not i.void)
        return all_of_it.quantize(CENT, ROUND_HALF_UP) - charged

    def billed(self, month):
        return sum(i.parts.get(month, 0) for i in self.invoices if not i.void)

    def waits_for_own(self, month):
        """Its invoice is void, and only its own run bills it."""
        own = [i for i in self.invoices if i.month == month]
        return bool(own) and all(i.void for i in own)

    def accrued(self, month):
        """GB of the months up to this one that no invoice had billed by its end."""
        end = date(int(month[:4]) + (month[5:] == "12"), int(month[5:]) % 12 + 1, 1)
        total, counted = 0, set()
        for m in sorted((m for m in {*self.used, month} if m <= month), reverse=True):
            standing = [i for i in self.invoices if m in i.parts and i.stood(end)]
            if standing:
                void = next((i for i in standing if i.month == m and i.void), None)
                if void and m not in counted and self.ran_after(month, end, void):
                    again = next((i for i in self.invoices if i.month == m and i.issued >= end), None)
                    parts = self.not_billed(again, end) if again else {}
                    total += sum(parts.values()) if again else self.used[m]
                    total -= sum(i.parts[m] for i in standing)
                    counted.update(parts)
                continue
            own = [i for i in self.invoices if i.month == m]
            first = next((i for i in own if i.issued >= end), None)
            other = next((i for i in self.invoices if m in i.parts and i.issued >= end), None)
            if first:
                parts = self.not_billed(first, end)
                total += sum(parts.values())
                counted.update(parts)
            elif m not in counted:
                total += other.parts[m] if other else self.used[m]
                if m not in RUN_MONTHS:  # a draft: with what waits
                    waiting = [k for k in self.used if k < m and k in RUN_MONTHS and not self.waits_for_own(k)]
                    total += sum(self.used[k] - self.billed(k) for k in waiting) if m == month else 0
                    counted.update(k for k in waiting if m == month and self.used[k] != self.billed(k))
        return total

    def not_billed(self, invoice, end):
        """Its month, and what it corrects but for what stood on another one then, going on from the same."""
        return {k: p for k, p in invoice.parts.items() if k == invoice.month or not any(
            i.stood(end) and i.month != k and i.since.get(k) == invoice.since[k] for i in self.invoices)}

    def ran_after(self, month, end, void):
        """The month's run came after the void, so it left out what was late for it."""
        own = next((i for i in self.invoices if i.month == month and i.issued >= end), None)
        return own.made > void.void_at if own else RUN_AT.get(month, NEVER) >= str(void.void)

    def make_void(self, invoice, today):
        invoice.void, invoice.void_at = today, tick()
        self.expire(today)
        self.post(today, invoice.total, receivables=-invoice.total, revenue=invoice.net, tax=invoice.tax)
        for c, part in invoice.drawn:
            c["left"] += part
            c["touched"], c["back"] = today, str(today)
            self.post(today, Decimal(0), credits=-part, receivables=part)

    def pay(self, amount, number, day):
        self.money.append((amount, number))
        self.post(day, amount, bank=amount, receivables=-amount)

    def adjust(self, amount, reference, day):
        if amount < 0:
            self.debits.append((reference, day, -amount))
        else:
            self.money.append((amount, None))
        self.post(day, amount, revenue=amount, receivables=-amount)

    def remaining(self):
        """Of invoices, of debits, and what nothing has taken."""
        left = {i.number: i.total - sum(p for _, p in i.drawn) for i in self.invoices if not i.void}
        owed = {reference: amount for reference, _, amount in self.debits}
        pool = Decimal(0)
        for amount, number in self.money:
            part = min(left.get(number, Decimal(0)), amount)
            if part:
                left[number] -= part
            pool += amount - part
        for i in self.invoices:  # what their texts say that money in the account has paid
            if not i.void:
                part = min(left[i.number], i.covered, pool)
                left[i.number] -= part
                pool -= part
        self.unclaimed = pool
        due = [(i.due, left, i.number) for i in self.invoices if not i.void]
        due += [(day, owed, reference) for reference, day, _ in self.debits]
        for _, of, name in sorted(due, key=lambda d: d[0]):
            part = min(of[name], pool)
            of[name] -= part
            pool -= part
        return left, owed, pool

    def lies(self, void):
        """What there is for one invoice more: what the void one had whose place it takes, or what all others leave."""
        pool = self.remaining()[2]
        had = void.covered + sum(amount for amount, number in self.money if number == void.number) if void else 0
        return max(pool, min(had, self.unclaimed))

    def balance(self):
        return sum((amount for _, amount in self.entries), Decimal(0))


CLOSED, RUN_MONTHS, RUN_AT, TICKS = set(), set(), {}, []


def tick():
    TICKS.append(None)
    return len(TICKS)


class History:
    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.accounts = [Account(i + 1, rng) for i in range(ACCOUNTS)]
        self.turn, self.serial, self.kept = 0, defaultdict(int), {}
        self.void_months = set()
        CLOSED.clear()
        RUN_MONTHS.clear()
        RUN_AT.clear()

    def tool(self, *words, day, stdin=None, status=0):
        now = f"{day}T{6 + self.turn % 12:02}:00:00Z"
        done = subprocess.run([TOOL, *map(str, words), "--db", self.folder / "t.db"], input=stdin,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "TOLLBOOK_NOW": now})
        if done.returncode != status:
            sys.exit(f"seed {SEED}: {words} at {now}: {done.returncode}\n{done.stdout[-2000:]}{done.stderr}")
        return done.stdout

    def name(self):
        self.turn += 1
        return f"r{self.turn}"

    def begin(self, day):
        self.tool("init", day=day)
        self.declare(day)
        self.tool("book", "-", day=day, stdin=json.dumps(
            {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
             "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}))

    def declare(self, day):
        made = {"accounts": [{"id": a.id, "name": f"a{a.id}", "tax": {"VATRate": a.rate},
                              **({} if a.terms is None else {"terms_days": a.terms})} for a in self.accounts],
                "zones": [{"id": 1000 + a.id, "account": a.id, "name": f"z{a.id}",
                           "created": "2026-01-01T00:00:00Z"} for a in self.accounts]}
        self.tool("apply", "--delete", "--backdated", "-", day=day, stdin=json.dumps(made))

    def amount(self):
        return Decimal(self.rng.choice((self.rng.randrange(1, 400), self.rng.randrange(1, 40000)))) * CENT

    # --- what happens ---

    def use(self, month, day, late):
        rows = []
        for a in self.accounts:
            if self.rng.random() < (0.15 if late else 0.9):
                gb = self.rng.choice((1, self.rng.randrange(1, 90), self.rng.randrange(1, 9000)))
                a.used[month] += gb
                rows.append(json.dumps({"zone": 1000 + a.id, "hour": f"{month}-0{self.rng.randrange(1, 10)}"
                                        "T05:00:00Z", "region": "DE", "bytes": gb * 10**9}))
        if rows:
            self.tool("import", "-", day=day, stdin="\n".join(rows) + "\n")

    def grant(self, day, run):
        for a in self.rng.sample(self.accounts, 8):
            amount = self.amount()
            expires = self.rng.choice((None, run, day + timedelta(self.rng.randrange(0, 100))))
            self.tool("ledger", "credit", "--account", a.id, "--amount", amount, "--reference", self.name(),
                      *(("--expires", expires) if expires else ()), day=day)
            a.grant(amount, str(expires) if expires else None, day)

    def finalize(self, month, day):
        shown = json.loads(self.tool("invoice", "--month", month, "--finalize", day=day))["invoices"]
        before = {i.number for a in self.accounts for i in a.invoices}
        new = [i for i in shown if i["number"] not in before]
        for i in new:
            a = self.accounts[i["account"] - 1]
            made = a.finalize(month, i["number"], day)
            want = (str(made.total.quantize(CENT)), str(made.paid.quantize(CENT)))
            self.same(f"{i['number']} total and paid", (i["total"], i["paid"]), want)
        RUN_MONTHS.add(month)
        RUN_AT.setdefault(month, str(day))

    def void(self, month, day):
        able = [a for a in self.accounts if a.invoices and not a.invoices[-1].void
                and f"{a.invoices[-1].issued:%Y-%m}" == f"{day:%Y-%m}"]
        for a in self.rng.sample(able, min(4, len(able))):
            invoice = a.invoices[-1]
            self.tool("invoice", "--void", invoice.number, day=day)
            a.make_void(invoice, day)

    def void_old(self, day):
        """Invoices of earlier months: any that no later one goes on from."""
        for a in self.rng.sample(self.accounts, 6):
            able = [i for n, i in enumerate(a.invoices) if not i.void and not any(
                set(i.parts) & set(k.parts) for k in a.invoices[n + 1:] if not k.void)]
            if able:
                invoice = self.rng.choice(able)
                self.tool("invoice", "--void", invoice.number, day=day)
                a.make_void(invoice, day)
                self.void_months.add(invoice.month)

    def pay(self, day):
        for a in self.rng.sample(self.accounts, 6):
            number = self.rng.choice([None, *(i.number for i in a.invoices if not i.void)])
            amount = self.amount()
            self.tool("ledger", "pay", "--account", a.id, "--amount", amount, "--reference", self.name(),
                      *(("--invoice", number) if number else ()), day=day)
            a.pay(amount, number, day)
        for a in self.rng.sample(self.accounts, 3):
            amount = self.amount() * self.rng.choice((1, -1)) / 4
            amount = amount.quantize(CENT)
            if amount:
                reference = self.name()
                self.tool("ledger", "adjust", "--account", a.id, "--amount", amount, "--reference",
                          reference, day=day)
                a.adjust(amount, reference, day)

    def bank(self, day):
        rows = ["when,what,who,sum,no"]
        for a in self.rng.sample(self.accounts, min(20, ACCOUNTS)):
            left, _, _ = a.remaining()
            number = self.rng.choice([None, *left])
            amount = left[number] if number and left[number] and self.rng.random() < 0.6 else self.amount()
            fits = [n for n, rest in left.items() if rest == amount]
            rows.append(f"{day},{'RE ' + number if number else 'thanks'},{a.id},{amount},{self.name()}")
            a.pay(amount, number or (fits[0] if len(fits) == 1 else None), day)
        (self.folder / "bank.csv").write_text("\n".join(rows) + "\n")
        for _ in range(2):  # again: nothing changes
            self.tool("ledger", "import", "--map", "date=when,amount=sum,reference=what,account=who,id=no",
                      self.folder / "bank.csv", day=day)

    def close(self, months, day):
        for month in self.rng.sample(months, self.rng.randrange(0, len(months) + 1)):
            if month not in CLOSED:
                self.tool("ledger", "accrue", day=day)
                for a in self.accounts:
                    a.expire(day)
                self.tool("ledger", "close", "--month", month, day=day)
                CLOSED.add(month)
                self.kept[month] = self.export(month, day)

    # --- what must hold ---

    def same(self, what, got, want):
        if got != want:
            sys.exit(f"seed {SEED}: {what}: tollbook says {got}, it is {want}")

    def export(self, month, day):
        return self.tool("ledger", "export", "--month", month, "--format", "csv", day=day)

    def check_ages(self, day):
        shown = json.loads(self.tool("ledger", "aging", "--format", "json", day=day))["accounts"]
        want = []
        for a in self.accounts:
            left, owed, _ = a.remaining()
            due = [(i.number, i.due, left.get(i.number)) for i in a.invoices]
            due += [(reference, on, owed[reference]) for reference, on, _ in a.debits]
            ages = defaultdict(Decimal)
            for _, on, rest in due:
                late = (day - on).days
                ages["current" if late <= 0 else "days_1_30" if late <= 30 else "days_31_60" if late <= 60
                     else "days_61_90" if late <= 90 else "over_90"] += rest or 0
            total = sum(ages.values())
            if total:
                want.append({"account": a.id,
                             **{k: str(Decimal(ages[k]).quantize(CENT)) for k in
                                ("current", "days_1_30", "days_31_60", "days_61_90", "over_90")},
                             "total": str(total.quantize(CENT)),
                             "invoices": [{"number": name, "due": str(on), "remaining": str(rest.quantize(CENT))}
                                          for name, on, rest in due if rest]})
        self.same("ageing", shown, want)

    def check_balances(self, day):
        rows = self.tool("query", "SELECT account, kind, amount FROM ledger", day=day).splitlines()[1:]
        sums = defaultdict(Decimal)
        for row in rows:
            account, _, amount = row.split("\t")
            sums[int(account)] += Decimal(amount)
        for a in self.accounts:
            self.same(f"balance of {a.id}", sums[a.id], a.balance())
            left, owed, pool = a.remaining()
            credit = sum(c["left"] for c in a.credits)
            self.same(f"identity of {a.id}", a.balance(),
                      pool + credit - sum(left.values()) - sum(owed.values()))

    def check_books(self, months, day):
        unbilled = Decimal(0)
        for month in months:
            text = self.export(month, day)
            if month in self.kept:
                self.same(f"the closed {month}", text, self.kept[month])
            entries, sums = defaultdict(Decimal), defaultdict(Decimal)
            for r in csv.DictReader(io.StringIO(text, newline="")):
                value = Decimal(r["debit"] or 0) - Decimal(r["credit"] or 0)
                entries[r["entry"]] += value
                accrued = r["entry"].startswith(("accrual", "reversal"))
                sums["accrued " + r["account_name"] if accrued else r["account_name"]] += value
            self.same(f"entries of {month} that do not balance", {e for e, v in entries.items() if v}, set())
            self.same(f"accruals of {month}", sums["accrued unbilled"], -sums["accrued revenue"])
            unbilled += sums["accrued unbilled"] if month < "2027" else 0  # January takes it back
            for name in ("receivables", "revenue", "tax", "bank", "credits", "prepaid", "unbilled"):
                want = sum(a.sums[month, name] for a in self.accounts)
                self.same(f"{name} of {month}", sums[name], want)
        waits = sum((a.used[m] - a.billed(m)) * CENT for a in self.accounts for m in a.used)
        self.same("what is accrued in the end", unbilled, waits)

    def check_accruals(self, months, day):
        """Of months that are open and not between closed ones: theirs are kept as they were."""
        for month in months:
            after = f"2026-{int(month[5:]) + 1:02}"
            if month in CLOSED or after in CLOSED:
                continue
            shown = defaultdict(Decimal)
            for r in csv.DictReader(io.StringIO(self.export(month, day), newline="")):
                if r["entry"].startswith("accrual") and r["account_name"] == "unbilled":
                    shown[int(r["account"])] += Decimal(r["debit"] or 0) - Decimal(r["credit"] or 0)
            for a in self.accounts:
                self.same(f"accrual of {month}, account {a.id}", shown[a.id], a.accrued(month) * CENT)

    def month(self, number):
        month, begin = f"2026-{number:02}", date(2026, number, 1)
        after = date(2026 + number // 12, number % 12 + 1, 1)
        self.use(month, begin + timedelta(10), late=False)
        run = after + timedelta(1)
        self.grant(begin + timedelta(11), run)
        self.pay(begin + timedelta(12))
        if number > 1:
            self.use(f"2026-{number - 1:02}", begin + timedelta(13), late=True)
        if self.rng.random() < 0.4:
            for a in self.accounts:
                a.terms = self.rng.choice((None, 0, 14, 40))
            self.declare(begin + timedelta(14))
        run = after + timedelta(1)
        if number > 1 and self.rng.random() < 0.4:
            self.void_old(after)
        self.finalize(month, run)
        self.pay(run)
        self.void(month, run + timedelta(1))
        if self.rng.random() < 0.5:
            self.use(month, run + timedelta(1), late=True)
        self.finalize(month, run + timedelta(self.rng.choice((1, 2))))
        for m in sorted(self.void_months - {month}):
            if self.rng.random() < 0.5:
                self.finalize(m, run + timedelta(2))
                self.void_months.discard(m)
        self.bank(run + timedelta(3))
        if self.rng.random() < 0.5:
            self.close([f"2026-{m:02}" for m in range(1, number + 1)], run + timedelta(4))
        self.check_ages(run + timedelta(5))
        if self.rng.random() < 0.7:
            self.void_old(run + timedelta(18))

    def run(self):
        self.begin(date(2026, 1, 1))
        for number in range(1, MONTHS + 1):
            self.month(number)
        last = date(2027, 1, 20)
        self.tool("ledger", "accrue", day=last)
        for a in self.accounts:
            a.expire(last)
        self.check_balances(last)
        self.check_ages(last)
        self.check_books([f"2026-{m:02}" for m in range(1, 13)] + ["2027-01"], last)
        self.check_accruals([f"2026-{m:02}" for m in range(1, 12)], last)
        self.tool("verify", day=last)


def main():
    if not TOOL.exists():
        print("skipped: there is no", TOOL)
        sys.exit(77)
    rng, months = random.Random(SEED), 0
    for _ in range(20000 // (ACCOUNTS * MONTHS) + 1 if LONG else 1):
        with tempfile.TemporaryDirectory(prefix="tollbook-ledger-") as folder:
            history = History(rng, Path(folder))
            history.run()
            months += ACCOUNTS * MONTHS
            invoices = [i for a in history.accounts for i in a.invoices]
            print(f"{len(invoices)} invoices, {sum(bool(i.void) for i in invoices)} void,"
                  f" {sum(len(i.drawn) for i in invoices)} draws, {len(CLOSED)} months closed")
    print(f"{months} account-months agree")


main()
