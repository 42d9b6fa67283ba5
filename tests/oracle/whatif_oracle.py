#!/usr/bin/env python3
"""A second opinion on what-ifs: random portfolios under random scenarios, text compared.

Written from billing.md 6 and tollbook/whatif.h, not from the engine; single bills come from
bill_oracle.py's twin. A portfolio has up to forty accounts of one to four months in one of two
currencies under shared books, and scenarios that patch prices, remove regions and sections, replace
tiers, change rounding, put one book everywhere, and multiply usage (zero included, several entries
matching at once). Every total, account, month, percentile, increase with its lines and entry without
a price is compared.

    whatif_oracle.py --runner build/tests/oracle/whatif_runner [--count 40] [--seed N]

The seed is printed and also taken from TB_SEED; TB_LONG=1 asks for 1,500 portfolios. Exit status 0:
no difference.
"""
import argparse
import calendar
import hashlib
import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

from bill_oracle import (MODES, REGIONS, ROUNDING, ZERO, Bill, any_book, any_contract, any_month,
                         any_parts, any_price, contract_record, plain, rounded)

SHOWN = 10       # increases, and lines of one
UNPRICED = 100   # entries


# --- random portfolios -------------------------------------------------------------------------

def any_patch(rng, base):
    """A patch after which the book is still one."""
    patch = {}
    premium = base["bandwidth"].get("premium")
    if premium and rng.random() < 0.8:
        regions = {}
        for region in rng.sample(REGIONS, rng.randrange(1, 4)):
            known = region in premium["regions"]
            regions[region] = None if known and rng.random() < 0.15 else any_price(rng)
        patch["bandwidth"] = {"premium": {"regions": regions}}
    if rng.random() < 0.2:
        patch["rounding"] = rng.choice(list(MODES))
    if rng.random() < 0.2:
        patch["minimum_monthly"] = rng.choice([None, "0", "3.50", any_price(rng)])
    if rng.random() < 0.15:
        patch["optimizer"] = rng.choice([None, {"monthly": any_price(rng)}])
    if rng.random() < 0.2 and "load_balancer" in base:
        patch["load_balancer"] = rng.choice([None, {"monthly_fee": any_price(rng)}])
    if rng.random() < 0.2:
        other = any_book(rng, "other", base["currency"])["bandwidth"].get("volume")
        gone = {key: None for key in base["bandwidth"].get("volume", {})}
        patch.setdefault("bandwidth", {})["volume"] = {**gone, **other} if other else None
    return patch


def any_factor(rng):
    return rng.choice(["0", "1", "1.10", "0.5", "2", 3, "0.333333", "1.000001", "0.95",
                       plain(Decimal(rng.randrange(5 * 10 ** 6)).scaleb(-6))])


def any_usage(rng, zones, balancers, accounts):
    entries = []
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        entry = {"factor": any_factor(rng)}
        kind = rng.random()
        if kind < 0.25:
            entry["product"] = "load_balancer"
        elif kind < 0.4 and balancers:
            entry["load_balancer"] = rng.choice(balancers)
        elif kind < 0.85:
            if rng.random() < 0.5:
                entry["product"] = rng.choice(["bandwidth", "premium", "volume", "override"])
            if rng.random() < 0.5:
                entry["region"] = rng.choice(REGIONS)
            if rng.random() < 0.4 and zones:
                entry["zone"] = rng.choice(zones)
        if rng.random() < 0.2:
            entry["account"] = rng.choice(accounts)
        entries.append(entry)
    return entries


def any_scenario(rng, number, books, portfolio):
    scenario = {"scenario": f"case-{number}"}
    if rng.random() < 0.8:
        base = rng.choice(books)
        scenario["base"] = base["book"]
        scenario["patch"] = {} if rng.random() < 0.1 else any_patch(rng, base)
        if rng.random() < 0.2:
            scenario["replaces"] = "all"
    elif rng.random() < 0.7:
        scenario["patch"] = {"minimum_monthly": any_price(rng), "rounding": rng.choice(list(MODES))}
    zones = [e[0] for m in portfolio for e in m["bytes"]]
    balancers = [e[0] for m in portfolio for e in m["balancers"]]
    usage = any_usage(rng, zones, balancers, [m["account"] for m in portfolio])
    if usage:
        scenario["usage"] = usage
    if rng.random() < 0.2:
        scenario["contract"] = named_contract(rng, books, scenario.get("base"))
    if rng.random() < 0.3:
        accounts = sorted({m["account"] for m in portfolio} | {999})
        base = scenario["base"] if "replaces" in scenario else None
        scenario["contracts"] = {str(a): named_contract(rng, books, base)
                                 for a in rng.sample(accounts, rng.randrange(1, min(4, len(accounts)) + 1))}
    return scenario


def named_contract(rng, books, base=None):
    """A contract as a scenario's text has it: months by name, perhaps with a book."""
    contract = any_contract(rng, 675)
    if "commit" in contract:
        for end in ("from", "to"):
            number = contract["commit"][end]
            contract["commit"][end] = f"{1970 + number // 12}-{number % 12 + 1:02}"
        if contract["commit"]["from"] > contract["commit"]["to"]:
            del contract["commit"]["to"]
        elif rng.random() < 0.3:
            del contract["commit"]["from"]
    if rng.random() < 0.3:
        contract["book"] = base or rng.choice(books)["book"]
    return contract


def any_portfolio(rng):
    books = [any_book(rng, f"book-{i}", rng.choice(["USD", "USD", "JPY"])) for i in range(3)]
    months, account = [], 0
    for _ in range(rng.choice([1, 3, 8, 20, 40])):
        account += rng.randrange(1, 4)
        currency = rng.choice(["USD", "USD", "USD", "JPY"])
        number = 672 + rng.randrange(6)
        for _ in range(rng.randrange(1, 5)):
            if rng.random() < 0.03:
                currency = rng.choice(["USD", "JPY"])
            months.append(one_month(rng, account, number, currency, books))
            number += rng.choice([1, 1, 1, 2])
    return books, months


def one_month(rng, account, number, currency, books):
    m = any_month(rng)
    m.update(meters=[], usage=[], samples=[], percentile=None)
    year, month = 1970 + number // 12, number % 12 + 1
    begin = calendar.timegm((year, month, 1, 0, 0, 0))
    end = calendar.timegm((year + (month == 12), month % 12 + 1, 1, 0, 0, 0))
    own = [i for i, b in enumerate(books) if b["currency"] == currency]
    m.update(account=account, number=number, seconds=end - begin, currency=currency, tax=[],
             asked=[])
    m["parts"] = [(low, high, own[i % len(own)] if own and i >= 0 else -1)
                  for low, high, i in any_parts(rng, begin, end, max(1, len(own)))]
    n = len(m["parts"])
    lengths = [high - low for low, high, _ in m["parts"]]
    m["bytes"] = [e for e in m["bytes"] if e[1] < n]
    m["optimizers"] = [(z, p, min(s, lengths[p]), price) for z, p, s, price in once(m["optimizers"])
                       if p < n]
    m["balancers"] = [(b, p, min(s, lengths[p]), r) for b, p, s, r in m["balancers"] if p < n]
    return m


def once(optimizers):
    """One entry for each zone and part, so that shorter parts hold their seconds."""
    seen = {}
    for e in optimizers:
        seen.setdefault(e[:2], e)
    return list(seen.values())


# --- the twin ----------------------------------------------------------------------------------

def merge(target, patch):
    """MergePatch of RFC 7396."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merge(result.get(key), value)
    return result


def matches(entry, account, charge=None, region=None, zone=None, balancer=None):
    product = entry.get("product")
    products = ({"bandwidth", {"p": "premium", "v": "volume", "o": "override"}[charge]} if charge
                else {"load_balancer"})
    return ((product is None or product in products)
            and entry.get("region", region) == region and entry.get("zone", zone) == zone
            and entry.get("load_balancer", balancer) == balancer
            and entry.get("account", account) == account)


def scaled(quantity, entries):
    factor = Decimal(1)
    for entry in entries:
        factor *= Decimal(str(entry["factor"]))
    return int(rounded(quantity * factor, 0))


class Case:
    """One scenario."""

    def __init__(self, scenario, books):
        self.scenario = scenario
        self.usage = scenario.get("usage", [])
        self.originals = books
        base = scenario.get("base")
        patch = scenario.get("patch", {})
        self.made = {i: merge(b, patch) for i, b in enumerate(books) if base in (None, b["book"])}
        self.currency = books[next(iter(self.made))]["currency"] if base else None
        self.everywhere = next(iter(self.made)) if scenario.get("replaces") == "all" else None
        self.books = [self.made.get(i, b) for i, b in enumerate(books)]

    def takes(self, m):
        return self.currency in (None, m["currency"])

    def contract(self, m):
        """The account's contract under the scenario, months as numbers; None: it keeps its own."""
        agreed = self.scenario.get("contracts", {}).get(str(m["account"]), self.scenario.get("contract"))
        if agreed is None or "commit" not in agreed:
            return agreed
        commit = agreed["commit"]
        ends = {end: int(commit[end][:4]) * 12 + int(commit[end][5:]) - 1970 * 12 - 1 if end in commit else far
                for end, far in (("from", -10 ** 6), ("to", 10 ** 6))}
        return {**agreed, "commit": {**commit, **ends}}

    def month(self, m):
        """The month under the scenario."""
        n = dict(m, books=self.books)
        agreed = self.contract(m)
        if agreed is not None:
            n["contract"] = agreed
        if agreed and "book" in agreed:
            (own,) = [i for i, b in enumerate(self.originals) if b["book"] == agreed["book"]]
            if self.originals[own]["currency"] != m["currency"]:
                own = -1
                n["lacks"] = agreed["book"]
            n["parts"] = [(low, high, own) for low, high, _ in m["parts"]]
        if self.everywhere is not None and not n.get("lacks"):
            n["parts"] = [(low, high, self.everywhere) for low, high, _ in m["parts"]]
        n["bytes"] = [e[:6] + (scaled(e[6], [u for u in self.usage if matches(
            u, m["account"], charge=e[2], region=None if e[3][0] == "?" else e[3], zone=e[0])]),)
            for e in m["bytes"]]
        n["balancers"] = [e[:3] + (scaled(e[3], [u for u in self.usage if matches(
            u, m["account"], balancer=e[0])]),) for e in m["balancers"]]
        n["bytes"] = [e for e in n["bytes"] if e[6]]
        return n


def percent_of(before, after):
    if before <= 0:  # nothing, or a discount's line: no percentage says anything
        return None
    return rounded(ROUNDING.divide((after - before) * 100, before), 4)


def change(before, after):
    percent = percent_of(before, after)
    return " ".join([plain(before), plain(after), plain(after - before),
                     "-" if percent is None else plain(percent)])


def spread(name, values):
    values = sorted(values)
    n = len(values)
    if not n:
        return f"{name} 0 0 0 0"
    return " ".join([name, str(n)] + [plain(values[-(-n * p // 100) - 1]) for p in (5, 50, 95)])


class Fed:
    """An account-month with its two bills."""

    def __init__(self, m, before, after):
        self.m, self.bills = m, (before, after)
        self.amounts = tuple(sum((line[5] for line in b.lines), ZERO) for b in self.bills)

    def lines(self, side):
        return {line[:3]: line[5] for line in self.bills[side].lines}


KINDS = ["bandwidth", "volume", "override", "optimizer", "balancer_fee", "balancer_requests",
         "discount", "commit", "minimum"]


def line_key(line):
    kind, resource, region = line
    return KINDS.index(kind), int(resource.split(":")[1]), "" if region == "-" else region


def named(line, account):
    """The bill's twin calls every account 1."""
    kind, resource, region = line
    return (kind, f"account:{account}" if resource.startswith("account:") else resource, region)


def sums(fed):
    return tuple(sum((f.amounts[side] for f in fed), ZERO) for side in (0, 1))


def increase_text(account, fed):
    lines = {}
    for f in fed:
        for side in (0, 1):
            for line, amount in f.lines(side).items():
                lines.setdefault(named(line, account), [ZERO, ZERO])[side] += amount
    rising = sorted((k for k, (b, a) in lines.items() if a > b),
                    key=lambda k: (lines[k][0] - lines[k][1], line_key(k)))
    out = [f"increase {account} {change(*sums(fed))} {max(0, len(rising) - SHOWN)}"]
    return out + [f"line {' '.join(k)} {change(*lines[k])}" for k in rising[:SHOWN]]


def group_text(currency, fed):
    accounts, months = {}, {}
    for f in fed:
        accounts.setdefault(f.m["account"], []).append(f)
        months.setdefault(f.m["number"], []).append(f)
    deltas = {a: sums(own)[1] - sums(own)[0] for a, own in accounts.items()}
    counts = [sum(d > 0 for d in deltas.values()), sum(d < 0 for d in deltas.values()),
              sum(d == 0 for d in deltas.values())]
    out = [f"group {currency} {len(fed)} {change(*sums(fed))} {' '.join(map(str, counts))}"]
    out += [f"account {a} {len(own)} {change(*sums(own))}" for a, own in sorted(accounts.items())]
    out += [f"month {n} {len(own)} {change(*sums(own))}" for n, own in sorted(months.items())]
    percents = [percent_of(*sums(own)) for own in accounts.values()]
    out.append(spread("delta", deltas.values()))
    out.append(spread("percent", [p for p in percents if p is not None]))
    for account in sorted((a for a in deltas if deltas[a] > 0), key=lambda a: (-deltas[a], a))[:SHOWN]:
        out += increase_text(account, accounts[account])
    return out


def gap_entries(f):
    """(what is shown, the whole key, quantity, whether it lacks a price today) in the bill's order."""
    before = {(k[2], k[3], k[4]) for k in f.bills[0].gaps}
    for key, quantity in sorted(f.bills[1].gaps.items()):
        yield key, quantity, (key[2], key[3], key[4]) in before


def unpriced_text(fed):
    """Entries by account, those of one thing and reason in several months as one."""
    entries, bills, hidden = [], 0, 0
    for f in fed:
        bills += bool(f.bills[1].gaps)
        missed = False
        for key, quantity, before in gap_entries(f):
            reason = key[5] if key[5].startswith(("Book", "The")) else (key[5], f.m["number"])
            own = (f.m["account"], *key[2:5], reason)
            same = [e for e in entries if e["key"] == own]
            if same:
                same[0]["quantity"] += quantity
                same[0]["before"] &= before
            elif len(entries) < UNPRICED:
                entries.append({"key": own, "month": f.m["number"], "quantity": quantity,
                                "before": before})
            else:
                missed = True
        hidden += missed
    lines = []
    for e in entries:
        account, resource, what, unit, _ = e["key"]
        if resource.startswith("account:"):
            resource = f"account:{account}"
        lines.append(f"unpriced {account} {e['month']} {resource} {what} {e['quantity']} {unit} "
                     f"{int(e['before'])}")
    return bills, hidden, lines


def canonical(book):
    return json.dumps(book, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def answer(books, months, scenarios):
    out = []
    before = [Bill(dict(m, books=books)) for m in months]
    for scenario in scenarios:
        case = Case(scenario, books)
        fed = [Fed(m, b, Bill(case.month(m))) for m, b in zip(months, before) if case.takes(m)]
        others = [m for m in months if not case.takes(m)]
        bills, hidden, unpriced = unpriced_text(fed)
        pairs = {(m["account"], m["currency"]) for m in others}
        out.append(f"scenario {scenario['scenario']} {len(pairs)} {len(others)} {bills} {hidden}")
        for i, book in case.made.items():
            sha = hashlib.sha256(canonical(book).encode()).hexdigest()
            out.append(f"book {books[i]['book']} {sha}")
        named = {c.get("book") for c in scenario.get("contracts", {}).values()}
        for i, book in enumerate(books):
            if i not in case.made and book["book"] in named:
                out.append(f"book {book['book']} {hashlib.sha256(canonical(book).encode()).hexdigest()}")
        for currency in sorted({f.m["currency"] for f in fed}):
            out += group_text(currency, [f for f in fed if f.m["currency"] == currency])
        out += unpriced
    return "\n".join(out + ["end", ""])


# --- comparing ---------------------------------------------------------------------------------

def fits(bill):
    """Whether the month's sums fit 2^127 - 1 at the finest scale prices can have, also before a discount."""
    largest = sum((abs(line[4]) for line in bill.lines), ZERO)
    return largest.scaleb(26) < 2 ** 127


def fitting_portfolio(rng):
    while True:
        books, months = any_portfolio(rng)
        scenarios = [any_scenario(rng, i, books, months) for i in range(rng.randrange(1, 6))]
        bills = [Bill(dict(m, books=books)) for m in months]
        for scenario in scenarios:
            case = Case(scenario, books)
            bills += [Bill(case.month(m)) for m in months if case.takes(m)]
        if all(map(fits, bills)):
            return books, months, scenarios


def written(books, months, scenarios):
    out = ["portfolio"] + ["book " + json.dumps(b) for b in books]
    out += ["scenario " + json.dumps(s) for s in scenarios]
    for m in months:
        out.append(f"month {m['number']} {m['currency']} {int(m['running'])} {int(m['active'])}")
        out.append(f"account {m['account']}")
        out += contract_record(m["contract"])
        for name, key in (("part", "parts"), ("bytes", "bytes"), ("optimizer", "optimizers"),
                          ("balancer", "balancers")):
            out += [" ".join([name, *map(str, record)]) for record in m[key]]
        out.append("feed")
    return "\n".join(out + ["results", ""])


def difference(asked, expected, got):
    print("portfolios differ; the input:")
    print(written(*asked))
    for number, (want, have) in enumerate(zip(expected.splitlines(), got.splitlines()), 1):
        if want != have:
            print(f"line {number} of the answer\n  twin   {want}\n  engine {have}")
            return
    print("one answer is longer than the other")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--count", type=int, default=1500 if LONG else 40)
    parser.add_argument("--seed", type=int, help="else TB_SEED, or always the same")
    options = parser.parse_args()
    rng = random.Random(random_seed(options.seed))
    bills = 0
    for _ in range(options.count):
        asked = fitting_portfolio(rng)
        expected = answer(*asked)
        run = subprocess.run([options.runner], input=written(*asked), text=True,
                             capture_output=True)
        if run.returncode:
            print(written(*asked))
            sys.exit(f"the runner ended with {run.returncode}: {run.stderr[-2000:]}")
        if run.stdout != expected:
            difference(asked, expected, run.stdout)
            return 1
        bills += len(asked[1]) * len(asked[2])
    print(f"{options.count} portfolios, {bills} bills under scenarios, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
