"""Contracts that count more than a month, against a twin: commits by month, quarter and year, in ramps and with rollover, and
caps of both actions, over fourteen months and two after them. Usage comes in its month or late, batches are taken back, months
are made final in time, late and out of order, invoices are made void and made again, contracts change, and credits are given.

The twin knows nothing of how the tool does it. It says from the usage alone what each month comes to: its bandwidth, discount,
true-up and cap. Each invoice's own lines are compared when it is made, and in the end all documents together have billed of
each month what it comes to; credits have taken at most that, and what is left of them is due. `verify` rates every document again, to the byte, and so does whoever has its usage, terms and books alone.

TB_LONG=1 asks for 40 files; TB_SEED repeats one.
"""
import calendar
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checked import check_documents  # noqa: E402
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
if not TOOL.exists():
    print("skipped: there is no", TOOL)
    sys.exit(77)

FILES, ACCOUNTS, MONTHS = (40 if LONG else 1), 24, 14
FIRST = 2026 * 12  # January; months are numbered from year 0
BOOK = {"book": "plain", "currency": "USD", "effective_from": "2025-01-01T00:00:00Z", "minimum_monthly": "0",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.37"}}}}
LENGTH = {"month": 1, "quarter": 3, "year": 12}
CENT = Decimal("0.01")


def cents(amount):
    return amount.quantize(CENT, ROUND_HALF_UP)


def name(month):
    return f"{month // 12}-{month % 12 + 1:02}"


def start(month):
    return calendar.timegm((month // 12, month % 12 + 1, 1, 0, 0, 0))


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def any_contract(rng):
    contract = {"minimum_monthly": "0", "discount_percent": rng.choice(["0", "0", "10", "3.75", "12.5"])}
    ramps, at = [], FIRST + rng.randrange(-3, 3)
    for _ in range(rng.choice([0, 1, 1, 1, 2, 3])):
        every = rng.choice(["month", "quarter", "quarter", "year"])
        to = at + rng.randrange(1, 14)
        ramps.append({"amount": str(rng.choice([50, 200, 777.77, 3000])), "every": every, "from": name(at), "to": name(to),
                      "rollover": rng.random() < 0.4})
        at = to + 1
    if ramps:
        if rng.random() < 0.3:
            del ramps[-1]["to"]
        contract["commit"] = ramps if len(ramps) > 1 or rng.random() < 0.3 else ramps[0]
    if rng.random() < 0.6:
        contract["cap"] = {"monthly": str(rng.choice([40, 90, 333.33])), "action": rng.choice(["alert", "disable", "disable"])}
    return contract


def number(text):
    return int(text[:4]) * 12 + int(text[5:]) - 1


class Twin:
    """What one account's months come to."""

    def __init__(self, contracts):
        self.contracts = contracts  # [(the first month whose end has it, contract)]
        self.usage = []             # (hour, bytes, batch)
        self.alerts = {}            # month: [raised, cleared]

    def contract(self, month):
        return [c for since, c in self.contracts if since <= month][-1]

    def net(self, month, until=None):
        """Bandwidth and discount; of hours up to a moment."""
        end = start(month + 1)
        used = sum(n for hour, n, _ in self.usage if start(month) <= hour < end and (until is None or hour <= until))
        line = cents(Decimal(used) * Decimal("0.37") / 10 ** 9)
        return line - cents(line * Decimal(self.contract(month)["discount_percent"]) / 100)

    def period(self, contract, month):
        """(first month, last month, owed, whether the one before rolls over), or None."""
        commits = contract.get("commit", [])
        before = None
        for commit in commits if isinstance(commits, list) else [commits]:
            since, to = number(commit["from"]), number(commit["to"]) if "to" in commit else 10 ** 6
            if since <= month <= to:
                length = LENGTH[commit["every"]]
                first = since + (month - since) // length * length
                last = min(first + length - 1, to)
                owed = Decimal(commit["amount"])
                if last - first + 1 < length:
                    owed = (owed * (last - first + 1) / length).quantize(Decimal(10) ** -18, ROUND_HALF_UP)
                rolls = commit["rollover"] if first > since else before is not None and before["rollover"]
                return first, last, owed, rolls
            before = commit
        return None

    def true_up(self, month, until=None):
        period = self.period(self.contract(month), month)
        if not period or period[1] != month:
            return Decimal(0)
        first, _, owed, rolls = period
        used = self.net(month, until) + sum(self.net(m) + self.true_up(m) for m in range(first, month))
        if rolls:
            used += self.true_up(first - 1)
        return max(cents(owed - used), Decimal(0))

    def off(self, month):
        """What the cap takes off."""
        cap, alert = self.contract(month).get("cap"), self.alerts.get(month)
        if not cap or cap["action"] != "disable" or not alert or alert[1] < start(month + 1) or alert[2] < Decimal(cap["monthly"]):
            return Decimal(0)
        whole = self.net(month) + self.true_up(month)
        part = self.net(month, alert[0]) + self.true_up(month, alert[0])
        return max(min(whole - part, whole - Decimal(cap["monthly"])), Decimal(0))

    def evaluate(self, now):
        month = FIRST + next(m for m in range(-12, 100) if start(FIRST + m) <= now < start(FIRST + m + 1))
        contract = [c for since, c in self.contracts if since <= month][-1]
        cap, alert = contract.get("cap"), self.alerts.get(month)
        net = self.net(month)
        reached = cap is not None and net >= Decimal(cap["monthly"])
        stands = alert is not None and alert[1] == 10 ** 12
        if stands and (not reached or alert[2] < Decimal(cap["monthly"])):
            alert[1] = now
        if reached and (not stands or alert[1] == now):
            self.alerts[month] = [now, 10 ** 12, Decimal(cap["monthly"])]

    def comes_to(self, month):
        return self.net(month) + self.true_up(month) - self.off(month)


class File:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.folder = Path(tempfile.mkdtemp())
        self.twins = {}
        self.batches = {}
        self.declared = {}
        self.checked = self.last = 0

    def run(self, *words, now, status=(0,), stdin=b""):
        done = subprocess.run([TOOL, *map(str, words)], input=stdin, capture_output=True, cwd=self.folder,
                              env={**os.environ, "TOLLBOOK_NOW": stamp(now)})
        assert done.returncode in status, f"{words} at {stamp(now)}: {done.stdout.decode()[-3000:]}{done.stderr.decode()[-2000:]}"
        return done.stdout.decode()

    def apply(self, now):
        (self.folder / "c.json").write_text(json.dumps({
            "accounts": [{"id": a, "name": f"a{a}", "contract": c} for a, c in self.declared.items()],
            "zones": [{"id": 100 + a, "account": a, "name": f"z{a}", "created": "2025-06-01T00:00:00Z"} for a in self.declared]}))
        self.run("apply", "--db", "t.db", "c.json", now=now)

    def take(self, now, late=False):
        """Usage of the running month up to now, or of an earlier one."""
        self.last += 1
        batch, rows = self.last, []
        for account, twin in self.twins.items():
            if self.rng.random() < (0.85 if late else 0.2):
                continue
            month = now // 86400
            for _ in range(self.rng.randrange(1, 3)):
                end = now
                begin = now - 20 * 86400
                if late:
                    end = now - self.rng.randrange(30, 150) * 86400
                    begin = end - 10 * 86400
                hour = self.rng.randrange(max(begin, start(FIRST)) // 3600, max(end, start(FIRST) + 86400) // 3600) * 3600
                size = self.rng.choice([1, 30, 120, 700]) * self.rng.randrange(1, 10 ** 9)
                twin.usage.append((hour, size, batch))
                rows.append(json.dumps({"zone": 100 + account, "hour": stamp(hour), "region": "DE", "requests": 1, "bytes": size}))
        if not rows:
            return
        path = self.folder / f"b{batch}"
        path.write_text("\n".join(rows) + "\n")
        self.batches[batch] = path
        self.run("import", "--db", "t.db", path, now=now)

    def withdraw(self, now):
        if not self.batches:
            return
        batch = self.rng.choice(list(self.batches))
        self.run("import", "--withdraw", "--db", "t.db", self.batches.pop(batch), now=now)
        for twin in self.twins.values():
            twin.usage = [u for u in twin.usage if u[2] != batch]

    def give_credit(self, month, now):
        account = self.rng.randrange(1, ACCOUNTS + 1)
        self.run("charge", "add", "--db", "t.db", "--account", account, "--amount", -self.rng.randrange(1, 3000), "--description", "Goodwill",
                 "--month", name(month), now=now)

    def evaluate(self, now):
        self.run("alerts", "--db", "t.db", "--evaluate", now=now)
        for twin in self.twins.values():
            twin.evaluate(now)

    def finalize(self, month, now):
        before = {i["number"] for i in self.documents(month, now)}
        self.run("invoice", "--db", "t.db", "--month", name(month), "--finalize", now=now, status=(0, 1))
        for invoice in self.documents(month, now):
            if invoice["number"] in before or invoice["kind"] != "invoice" or invoice["period"]["start"] != stamp(start(month)):
                continue
            twin = self.twins[invoice["account"]]
            lines = {"commit": Decimal(0), "cap": Decimal(0)}
            for line in invoice["lines"]:
                if line["kind"] in lines:
                    lines[line["kind"]] += Decimal(line["amount"])
                assert sum(Decimal(t["amount"]) for t in line["tiers"]) == Decimal(line["exact"]), line
            wanted = {"commit": twin.true_up(month), "cap": -twin.off(month)}
            assert lines == wanted, f"{invoice['number']}, account {invoice['account']}, {name(month)}: {lines}, not {wanted}"
            self.checked += 1

    def documents(self, month, now):
        text = self.run("invoice", "--db", "t.db", "--month", name(month), now=now, status=(0, 1))
        return [i for i in (json.loads(text)["invoices"] if text else []) if i["number"]]

    def void(self, month, now):
        final = [i["number"] for i in self.documents(month, now) if i["kind"] == "invoice" and i["state"] == "final"]
        for number_ in self.rng.sample(final, min(len(final), 2)):
            self.run("invoice", "--db", "t.db", "--void", number_, now=now, status=(0, 2))  # 2: a correction is on another document

    def play(self):
        for account in range(1, ACCOUNTS + 1):
            self.declared[account] = any_contract(self.rng)
            self.twins[account] = Twin([(0, self.declared[account])])
        self.run("init", "--db", "t.db", now=start(FIRST) - 86400)
        self.run("proof", "start", "--db", "t.db", now=start(FIRST) - 86400)
        self.apply(start(FIRST) - 86400)
        (self.folder / "book.json").write_text(json.dumps(BOOK))
        self.run("book", "add", "--db", "t.db", "book.json", now=start(FIRST) - 86400)
        waiting = []
        for month in range(FIRST, FIRST + MONTHS):
            for day in (7, 15, 26):
                now = start(month) + day * 86400 + self.rng.randrange(0, 80000)
                self.take(now)
                if self.rng.random() < 0.4:
                    self.take(now, late=True)
                if self.rng.random() < 0.1:
                    self.withdraw(now)
                if self.rng.random() < 0.4:
                    self.give_credit(month, now)
                if self.rng.random() < 0.1:
                    account = self.rng.randrange(1, ACCOUNTS + 1)
                    self.declared[account] = any_contract(self.rng)
                    self.twins[account].contracts.append((month, self.declared[account]))
                    self.apply(now)
                if self.rng.random() < 0.8:
                    self.evaluate(now + 600)
            waiting.append(month)
            now = start(month + 1) + 86400
            self.rng.shuffle(waiting)
            for one in list(waiting):
                if self.rng.random() < 0.75:
                    self.finalize(one, now)
                    waiting.remove(one)
            if self.rng.random() < 0.4:
                again = self.rng.randrange(max(FIRST, month - 3), month + 1)
                self.void(again, now + 3600)
                if again not in waiting:
                    waiting.append(again)
        end = start(FIRST + MONTHS) + 40 * 86400
        for month in sorted(waiting):
            self.finalize(month, end)
        for month in range(FIRST + MONTHS, FIRST + MONTHS + 2):
            self.finalize(month, end + (month - FIRST) * 3 * 86400)
        self.compare(end + 90 * 86400)

    def compare(self, now):
        self.run("verify", "--db", "t.db", now=now)
        check_documents(self.folder / "t.db")
        billed, taken, seen = {}, {}, set()  # taken by credits
        for month in range(FIRST, FIRST + MONTHS + 2):
            for i in self.documents(month, now):
                if i["number"] in seen or i["state"] != "final":
                    continue
                seen.add(i["number"])
                for line in i["lines"]:
                    key = i["account"], number(line.get("period", i["period"])["start"][:7])
                    sums = taken if line["kind"] == "charge" or line.get("corrects", {}).get("kind") == "correction" else billed
                    sums[key] = sums.get(key, Decimal(0)) + Decimal(line["amount"])
        assert all(-billed[key] <= credit <= 0 for key, credit in taken.items()), (billed, taken)
        charges = json.loads(self.run("charge", "list", "--db", "t.db", "--format", "json", now=now))["charges"]
        assert sum(taken.values()) == sum(Decimal(c["amount"]) - Decimal(c["due"]) for c in charges) < 0
        for account, twin in self.twins.items():
            for month in range(FIRST, FIRST + MONTHS + 2):
                found, wanted = billed.get((account, month), Decimal(0)), twin.comes_to(month)
                assert found == wanted, f"account {account}, {name(month)}: billed {found}, not {wanted}: {twin.contracts}"
                self.checked += 1


def main():
    seed, checked = random_seed(), 0
    for i in range(FILES):
        file = File(seed + i)
        try:
            file.play()
        except AssertionError:
            print(f"TB_SEED={seed + i}, in {file.folder}", file=sys.stderr)
            raise
        shutil.rmtree(file.folder)
        checked += file.checked
    print(f"{checked} months and invoices agree (seed {seed})")


if __name__ == "__main__":
    main()
