#!/usr/bin/env python3
"""A second opinion on bills: whole random months rated with Python's decimal, text compared.

Written from the billing rules and tollbook/bill.h, not from the engine. A month has up to five
parts under random books (one part in eight has none), zones under every charge with discounts that
change within a part, volume and request tiers of all modes and both axes, optimizers, load
balancers created and deleted within the month, meters of every kind under rates by unit, time, scope and
dimension, bandwidth at a percentile, taxes, and in half of the months a contract. Half of the months have usage on thresholds
and beside them. A third have prices that no one asks for beside tiny ones: what the lines come to fits,
their exact sum as one number of 128 bits does not. Every line, row, share, gap, tax and total is
compared, and the amount alone, as what-ifs make it.

    bill_oracle.py --runner build/tests/oracle/bill_runner [--count 500] [--seed N]
                   [--other RUNNER]...

--other names a runner of another build, whose answers must have the same digest. The seed is
printed and also taken from TB_SEED; TB_LONG=1 asks for 24,000 months. Exit status 0: no difference.
"""
import argparse
import calendar
import datetime
import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, Inexact, setcontext
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

# Nothing may be rounded unless a rule says so.
setcontext(Context(prec=400, Emin=-9999, Emax=9999, traps=[Inexact]))
ROUNDING = Context(prec=400, Emin=-9999, Emax=9999)
MODES = {"half_up": ROUND_HALF_UP, "half_even": ROUND_HALF_EVEN}
MINOR = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3}
REGIONS = ["EU", "NA", "ASIA", "SA", "AF"]
GB, MILLION = 10 ** 9, 10 ** 6
ZERO = Decimal(0)
BATCH = 200


def rounded(value, digits, mode=ROUND_HALF_UP):
    return value.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=ROUNDING)


def quotient(value, numerator, denominator, digits):
    """value x numerator / denominator, half up. 400 digits hold every tie."""
    return rounded(ROUNDING.divide(value * numerator, Decimal(denominator)), digits)


def plain(value):
    if not value:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def fixed(value, digits):
    return format(rounded(value, digits) if value else ZERO.scaleb(-digits), "f")


def places(value):
    text = plain(value)
    return len(text) - text.index(".") - 1 if "." in text else 0


# --- random months ---------------------------------------------------------------------------

def any_price(rng, small=False):
    kind = rng.random()
    if kind < 0.1:
        return "0"
    if kind < 0.5:
        return rng.choice(["0.01", "0.03", "0.045", "0.06", "0.005", "0.65", "9.50", "1.00"])
    if kind < 0.8:
        digits = rng.randrange(1, 16)
        return "0." + str(rng.randrange(10 ** digits)).rjust(digits, "0")
    return f"{rng.randrange(2 if small else 60)}.{rng.randrange(1000):03d}"


def any_units(rng):
    """All lengths up to 10^18 alike, with round numbers among them."""
    size = 10 ** rng.randrange(19)
    if rng.random() < 0.2:
        return size
    return min(10 ** 18, rng.randrange(1, 10 * size))


def any_tiers(rng, unit, names, step=1):
    """A list of tiers as the document has it; thresholds are near what months use, and multiples of
    step."""
    mode = rng.choice(["graduated", "graduated", "volume", "package"])
    scale = 10 ** rng.randrange(17)
    cuts = sorted({-(-rng.randrange(1, 20 * scale) // step) * step for _ in range(rng.randrange(5))})
    included = -(-rng.choice([0, 0, rng.randrange(1, 20 * scale)]) // step) * step
    section = {"mode": mode}
    first = 0
    if included:
        axis = rng.choice(["absolute", "net"])
        section["included_axis"] = axis
        if axis == "absolute" and rng.random() < 0.4:
            first = included
            cuts = [c for c in cuts if c > included]
            if rng.random() < 0.5:
                del section["included_axis"]
    bounds = [first] + [c for c in cuts if c > first]
    shown = [plain(Decimal(b).scaleb(-(len(str(unit)) - 1))) for b in bounds] + [None]
    tiers = []
    for low, high in zip(shown, shown[1:]):
        tier = {names[0]: low, names[1]: high}
        tier["price_per_block" if mode == "package" else names[2]] = any_price(rng)
        if rng.random() < 0.3:
            tier["flat"] = any_price(rng)
        tiers.append(tier)
    section["tiers"] = tiers
    if mode == "package":
        block = max(1, scale // rng.choice([1, 2, 3, 10]))
        section["block"] = plain(Decimal(block).scaleb(-(len(str(unit)) - 1)))
    return section, included


def any_book(rng, name, currency, stored=False):
    book = {"book": name, "currency": currency, "effective_from": "2020-01-01T00:00:00Z",
            "rounding": rng.choice(list(MODES))}
    if rng.random() < 0.8:
        book["minimum_monthly"] = rng.choice(["1.00", "1", "0", "25", any_price(rng), "1000000"])
    book["bandwidth"] = {}
    if rng.random() < 0.95:
        regions = {r: any_price(rng) for r in REGIONS if rng.random() < 0.95}
        book["bandwidth"]["premium"] = {"per": "GB", "regions": regions}
    if rng.random() < 0.95:
        section, included = any_tiers(rng, GB, ("from", "to", "price"))
        section["per"] = "GB"
        if included:
            section["included"] = plain(Decimal(included) / GB)
        book["bandwidth"]["volume"] = section
    if rng.random() < 0.95:
        book["optimizer"] = {"monthly": any_price(rng)}
    if rng.random() < 0.95:
        section, included = any_tiers(rng, MILLION,
                                      ("from_millions", "to_millions", "price_per_million"),
                                      MILLION if stored else 1)
        section["monthly_fee"] = any_price(rng)
        if included:
            section["included_requests"] = included
        book["load_balancer"] = section
    return book


# --- meters: id, kind, unit, display unit, units of it, interval, noun, dimensions ----------

METERS = [("calls", "counter", "call", "kcall", 1000, 0, "script", ["region", "plan"]),
          ("dozens", "counter", "egg", "dozen", 12, 0, "hen", ["region"]),
          ("octets", "counter", "byte", "GB", GB, 0, "bucket", []),
          ("pods", "gauge", "pod", "-", 1, 0, "pod", ["region", "plan"]),
          ("port", "sample", "byte", "GB", GB, 3600, "port", ["region"]),
          ("ram", "gauge", "byte", "GB", GB, 0, "pod", ["plan"]),
          ("seats", "sample", "seat", "-", 1, 300, "team", [])]
VALUES = [["BR", "DE", "US"], ["free", "pro"]]


def any_rate(rng):
    """`price`, or tiers in units of `per`."""
    if rng.random() < 0.4:
        return {"price": any_price(rng)}
    section, included = any_tiers(rng, 1, ("from", "to", "price"))
    scale = 10 ** rng.randrange(4)
    cut = lambda text: None if text is None else plain(Decimal(int(text) % (40 * scale)) / rng.choice([1, 1, 1, 10]))
    bounds = sorted({Decimal(cut(t["from"])) for t in section["tiers"][1:]} - {Decimal(0)})
    tiers = [dict(section["tiers"][0], **{"from": "0"})]
    for bound, tier in zip(bounds, section["tiers"][1:]):
        tiers[-1] = dict(tiers[-1], to=plain(bound))
        tiers.append(dict(tier, **{"from": plain(bound)}))
    tiers[-1]["to"] = None
    section["tiers"] = tiers
    if included:
        section["included"] = plain(Decimal(rng.randrange(1, 20 * scale)))
        section["included_axis"] = rng.choice(["absolute", "net"])
    if "block" in section:
        section["block"] = plain(Decimal(rng.choice([1, 2, 5, 10, 64])))
    return section


def any_meter_rate(rng, meter):
    _, kind, unit, display, _, _, _, dimensions = meter
    rate = {"per": rng.choice(["1", "7", "1000000", unit] + ([display] if display != "-" else []) * 3)}
    if kind == "gauge":
        rate["time"] = rng.choice(["hour", "month"])
    if kind == "sample":
        rate["percentile"] = rng.choice(["95", "95", "99.9", "50", "0.001"])
        if unit == "byte" and rng.random() < 0.7:
            rate["per"] = "Mbps"
    if rng.random() < 0.4:
        rate["scope"] = rng.choice(["account", "resource"])
    if dimensions and rng.random() < 0.5:
        rate["by"] = rng.choice(dimensions)
        values = [v for v in VALUES[["region", "plan"].index(rate["by"])] + ["*"] if rng.random() < 0.7] or ["*"]
        rate["prices"] = {v: any_rate(rng) for v in values}
    else:
        rate.update(any_rate(rng))
    if rng.random() < 0.3:
        rate["minimum"] = rng.choice(["100", "0", any_price(rng)])
    if rng.random() < 0.06:
        if kind != "gauge":
            rate.update({"per": "Furlong"})
        elif rng.random() < 0.5:
            rate["per"] = "Mbps"
        else:
            del rate["time"]
    return rate


def any_intervals(rng, n):
    """Some intervals and their sums, many of them equal."""
    size = 10 ** rng.randrange(1, 12)
    values = [rng.randrange(1, size) for _ in range(rng.choice([1, 5, 100]))]
    share = rng.choice([0.01, 0.06, 0.5, 1])
    return {i: rng.choice(values) for i in range(n) if rng.random() < share}


def any_meters(rng, m):
    m["meters"] = [x for x in METERS if rng.random() < 0.4]
    m["usage"], m["samples"], m["percentile"] = [], [], None
    for book in m["books"]:
        rates = {x[0]: any_meter_rate(rng, x) for x in m["meters"] if rng.random() < 0.92}
        if rates:
            book["meters"] = rates
        if rng.random() < 0.8:
            book["bandwidth"]["percentile"] = {"per": "Mbps", "percentile": rng.choice(["95", "90"]), **any_rate(rng)}
    for number, (_, kind, _, _, per, interval, noun, dimensions) in enumerate(m["meters"]):
        size = per * 10 ** rng.randrange(4) * (rng.choice([3600, m["seconds"]]) if kind == "gauge" else 1)
        n = m["seconds"] // interval if interval else 0
        if n and m["running"]:
            n = rng.randrange(1, n + 1)
        for resource in sorted(rng.sample(["a", "b-1", "b.1", "c", "script:9"], rng.randrange(4))):
            series = {tuple(rng.choice(VALUES[["region", "plan"].index(d)] + ["-"]) for d in dimensions)
                      + ("-",) * (2 - len(dimensions)) for _ in range(rng.randrange(1, 4))}
            for values in sorted(series, key=lambda v: [x if x != "-" else "" for x in v]):
                if kind == "sample":
                    m["samples"].append((number, resource, *values, n, any_intervals(rng, n)))
                    continue
                for part in range(len(m["parts"])):
                    if rng.random() < 0.8:
                        quantity = rng.choice([0, 1, size, 12 * size, rng.randrange(50 * size), any_units(rng)])
                        m["usage"].append((number, part, resource, *values, quantity))
    if rng.random() < 0.2:
        interval = rng.choice([300, 3600])
        n = m["seconds"] // interval
        m["percentile"] = (interval, n, any_intervals(rng, n))


def any_parts(rng, begin, end, n_books):
    hours = (end - begin) // 3600
    cuts = sorted(rng.sample(range(1, hours), rng.choice([0, 0, 1, 1, 2, 4])))
    at = [begin] + [begin + 3600 * h for h in cuts] + [end]
    parts = []
    for low, high in zip(at, at[1:]):
        parts.append((low, high, -1 if rng.random() < 0.12 else rng.randrange(n_books)))
    return parts


def any_bytes(rng, n_parts):
    entries = []
    own = [any_price(rng, small=True) for _ in range(2)]
    own = [plain(Decimal(p).scaleb(-9)) if Decimal(p) and places(Decimal(p)) <= 6 else "0.00000001"
           for p in own]
    for zone in sorted(rng.sample(range(1, 1000), rng.randrange(7))):
        charges = rng.sample("pvo", rng.choice([1, 1, 1, 2, 3]))
        for part in range(n_parts):
            for charge in sorted(charges, key="pvo".index):
                for region in REGIONS + ["?X1", "?QQ"]:
                    if rng.random() > (0.6 if region[0] != "?" else 0.06):
                        continue
                    for _ in range(rng.choice([1, 1, 1, 2, 3])):
                        discount = rng.choice([0, 0, 10, 33, 50, 100, rng.randrange(101)])
                        price = rng.choice(own) if charge == "o" else "0"
                        entries.append((zone, part, charge, region, discount, price,
                                        any_units(rng)))
    return entries


def any_month(rng):
    year, month = 2026, rng.randrange(1, 13)
    begin = calendar.timegm((year, month, 1, 0, 0, 0))
    next_month = (year, month + 1) if month < 12 else (year + 1, 1)
    end = calendar.timegm((*next_month, 1, 0, 0, 0))
    m = {"number": (year - 1970) * 12 + month - 1, "seconds": end - begin,
         "currency": rng.choice(["USD", "USD", "USD", "EUR", "JPY", "KWD"]),
         "running": rng.random() < 0.15, "active": rng.random() < 0.85}
    m["books"] = [any_book(rng, f"book-{i}", m["currency"]) for i in range(rng.randrange(1, 5))]
    m["parts"] = any_parts(rng, begin, end, len(m["books"]))
    m["bytes"] = any_bytes(rng, len(m["parts"]))
    lengths = [high - low for low, high, _ in m["parts"]]
    prices = ["-", "-", any_price(rng), any_price(rng)]
    m["optimizers"] = []
    for zone in sorted(rng.sample(range(1, 1000), rng.randrange(4))):
        for part, length in enumerate(lengths):
            left = length
            for _ in range(rng.choice([1, 1, 2, 3])):
                seconds = rng.choice([left, left, rng.randrange(left + 1)])
                left -= seconds
                m["optimizers"].append((zone, part, seconds, rng.choice(prices)))
    m["balancers"] = []
    for balancer in sorted(rng.sample(range(1, 100), rng.randrange(4))):
        for part, length in enumerate(lengths):
            if rng.random() < 0.8:
                seconds = rng.choice([length, length, rng.randrange(length + 1)])
                requests = rng.choice([0, any_units(rng), any_units(rng)])
                m["balancers"].append((balancer, part, seconds, requests))
    m["tax"] = [(f"tax{i}", rng.choice(["19", "7.7", "0", "20.123", "8.875"]))
                for i in range(rng.choice([0, 1, 1, 2, 8]))]
    m["contract"] = any_contract(rng, m["number"])
    any_meters(rng, m)
    m["asked"] = sorted({e[0] for e in m["bytes"]} | {e[0] for e in m["optimizers"]} | {1000})
    return m


def any_contract(rng, number):
    """As a catalogue has it; months by their number. Half of the months have none."""
    contract = {}
    if rng.random() < 0.5:
        return contract
    if rng.random() < 0.7:
        contract["discount_percent"] = rng.choice(
            ["5", "0", "100", "33.3333", "0.0001", "12.5", plain(Decimal(rng.randrange(10 ** 6)) / 10 ** 4)])
    if rng.random() < 0.4:
        contract["minimum_monthly"] = rng.choice(["0", "10", "1000000", any_price(rng)])
    if rng.random() < 0.6:
        contract["commit"] = {"monthly": rng.choice(["1000", "0", "50000.005", "1" + "0" * 9, any_price(rng)]),
                              "from": number + rng.choice([-9, -1, 0, 0, 0, 1]),
                              "to": number + rng.choice([9, 1, 0, 0, 0])}
    return contract


def marks(m, section):
    """Positions where something changes on the axes of the month's books."""
    found = {0}
    for document in m["books"]:
        book = Book(document)
        tiers = book.volume if section == "bytes" else book.balancer
        if tiers:
            found |= {tiers.included} | {t["begin"] for t in tiers.tiers}
    return sorted(found)


def snap(rng, m):
    """Moves sums of usage onto the marks and beside them, and makes zones' volumes equal."""
    volume = [i for i, e in enumerate(m["bytes"]) if e[2] == "v" and e[3][0] != "?"]
    if rng.random() < 0.3:
        same, kept, zones = any_units(rng), [], set()
        for e in m["bytes"]:
            if e[2] == "v":
                if e[3][0] == "?" or e[0] in zones:
                    continue
                zones.add(e[0])
                e = e[:6] + (same,)
            kept.append(e)
        m["bytes"] = kept
    elif volume:
        last = volume[-1]
        others = sum(m["bytes"][i][6] for i in volume[:-1])
        wanted = [w for mark in marks(m, "bytes") for w in (mark - 1, mark, mark + 1) if w > others]
        if wanted:
            m["bytes"][last] = m["bytes"][last][:6] + (rng.choice(wanted) - others,)
    for i, (balancer, part, seconds, _) in enumerate(m["balancers"]):
        others = sum(e[3] for e in m["balancers"][:i] if e[0] == balancer)
        wanted = [w for mark in marks(m, "requests") for w in (mark - 1, mark, mark + 1)
                  if w >= others]
        if wanted and rng.random() < 0.7:
            m["balancers"][i] = (balancer, part, seconds, rng.choice(wanted) - others)


def exaggerate(rng, m):
    """Prices that no one asks for beside tiny ones: each line still fits, their sum may not."""
    for book in m["books"]:
        bandwidth = book["bandwidth"]
        for region in bandwidth.get("premium", {"regions": {}})["regions"]:
            if rng.random() < 0.3:
                bandwidth["premium"]["regions"][region] = rng.choice(
                    ["170000", "99999.999999999999999", "0.010000000000001", "0.000000000000001"])
        if "volume" in bandwidth and rng.random() < 0.5:
            bandwidth["volume"] = {"per": "GB", "mode": "graduated", "tiers": [
                {"from": "0", "to": None,
                 "price": rng.choice(["1" + "0" * 20, "123456789012", "0.000000000000001"])}]}
    for i, e in enumerate(m["bytes"]):
        if e[2] == "o":
            price = rng.choice(["0.5", "170141", "1000000000000", "0.000000000000001"])
            m["bytes"][i] = e[:5] + (price, e[6])
    m["tax"] = [(name, rng.choice([percent, "19.123456789012345", "100"]))
                for name, percent in m["tax"]]


def contract_record(contract):
    commit = contract.get("commit", {"monthly": "-", "from": 0, "to": 0})
    return [" ".join(["contract", contract.get("discount_percent", "0"), contract.get("minimum_monthly", "-"),
                      commit["monthly"], str(commit["from"]), str(commit["to"])])] if contract else []


def written(m):
    """The month as the runner reads it."""
    out = [f"month {m['number']} {m['currency']} {int(m['running'])} {int(m['active'])}"]
    out += ["book " + json.dumps(b) for b in m["books"]]
    for name, key in (("part", "parts"), ("bytes", "bytes"), ("optimizer", "optimizers"),
                      ("balancer", "balancers"), ("tax", "tax"), ("usage", "usage")):
        if name == "usage":
            out += [" ".join(["meter", *map(str, x[:7]), *(x[7] + ["-", "-"])[:2]]) for x in m["meters"]]
        out += [" ".join([name, *map(str, record)]) for record in m[key]]
    out += [" ".join(["samples", *map(str, x[:5]), *(f"{i}:{v}" for i, v in x[5].items())]) for x in m["samples"]]
    if m["percentile"]:
        interval, n, values = m["percentile"]
        out.append(" ".join(["percentile", str(interval), str(n), *(f"{i}:{v}" for i, v in values.items())]))
    out += contract_record(m["contract"])
    out += [f"charges {zone}" for zone in m["asked"]]
    return "\n".join(out + ["rate", ""])


# --- the twin --------------------------------------------------------------------------------

class Tiers:
    """A section's tiers in base units. `begin` is the last position before a tier on the month's
    usage, `before` the last position before its first charged unit."""

    def __init__(self, section, unit, names, included):
        self.mode = section.get("mode", "graduated")
        self.included = included
        self.block = int(Decimal(section["block"]) * unit) if "block" in section else None
        net = section.get("included_axis") == "net"
        shift = included if net else 0
        self.tiers = []
        for t in section["tiers"]:
            begin = int(Decimal(str(t[names[0]])) * unit) + shift
            package = self.mode == "package"
            shown = Decimal(t["price_per_block" if package else names[2]])
            self.tiers.append({"begin": begin, "before": max(begin, included), "shown": shown,
                               "price": shown if package else shown / unit,
                               "flat": Decimal(t.get("flat", "0"))})

    def of(self, position):
        return [t for t in self.tiers if t["begin"] < position][-1]

    def rows(self, used, units, whole):
        """(from, to, price, shown, amount) of units at positions (used, used + units]."""
        end, rows = used + units, []
        if used < self.included:
            rows.append((used, min(end, self.included), ZERO, ZERO, ZERO))
        start = max(used, self.included)
        if start >= end:
            return rows
        cuts = {start, end}
        if self.mode != "volume":
            cuts |= {t["begin"] for t in self.tiers if start < t["begin"] < end}
        cuts = sorted(cuts)
        for low, high in zip(cuts, cuts[1:]):
            tier = self.of(whole if self.mode == "volume" else high)
            amount = tier["price"] * self.count(tier, low, high)
            if low < tier["before"] + 1 <= high:
                amount += tier["flat"]
            rows.append((low, high, tier["price"], tier["shown"], amount))
        return rows

    def count(self, tier, low, high):
        if self.mode != "package":
            return high - low
        # The first unit and every block-th after it begin a block.
        low, high = low - tier["before"], high - tier["before"]
        return (high - 1) // self.block - (low - 1) // self.block


def decimal_of(fraction):
    """Of a fraction that a decimal can be."""
    return ROUNDING.divide(Decimal(fraction.numerator), Decimal(fraction.denominator))


class MeterTiers(Tiers):
    """The same in units of a meter, with fractions as prices: `per` units cost a price."""

    def __init__(self, section, per):
        if "price" in section:
            section = dict(section, tiers=[{"from": "0", "to": None, "price": section["price"]}])
        self.mode, self.per = section.get("mode", "graduated"), per
        package = self.mode == "package"
        self.fits = True
        self.included = self.units(section.get("included", "0"))
        self.block = self.units(section["block"]) if package else None
        shift = self.included if section.get("included_axis") == "net" else 0
        self.tiers = []
        for t in section["tiers"]:
            begin = self.units(t["from"]) + shift
            shown = Decimal(t["price_per_block" if package else "price"])
            self.tiers.append({"begin": begin, "before": max(begin, self.included), "shown": shown,
                               "price": Fraction(shown) / (1 if package else per),
                               "flat": Fraction(t.get("flat", "0"))})

    def units(self, text):
        units = Fraction(text) * self.per
        self.fits = self.fits and units.denominator == 1
        return int(units)


class MeterRate:
    """None in `prices`: the rate cannot price the meter."""

    def __init__(self, rate, meter, seconds):
        _, kind, unit, display, display_per, interval, _, dimensions = meter
        per = rate["per"]
        number = (int(per) if per.isdigit() else 1 if per == unit else display_per if per == display
                  else 125000 * interval if per == "Mbps" and kind == "sample" and unit == "byte" else None)
        if kind == "gauge":
            number = number and "time" in rate and number * {"hour": 3600, "month": seconds}[rate["time"]]
        self.scope, self.by = rate.get("scope", "account"), rate.get("by")
        self.percentile = Fraction(rate["percentile"]) if "percentile" in rate else None
        self.minimum = Decimal(rate.get("minimum", "0"))
        self.has_minimum = "minimum" in rate
        self.prices = {}
        for value, section in rate.get("prices", {"*": rate}).items():
            tiers = MeterTiers(section, number) if number else None
            self.prices[value] = tiers if tiers and tiers.fits else None

    def price(self, value):
        """(found, tiers)"""
        key = value if self.by and value in self.prices else "*"
        return key in self.prices, self.prices.get(key)


class Book:
    def __init__(self, document):
        self.id, self.document = document["book"], document
        self.mode = MODES[document["rounding"]]
        self.minimum = Decimal(document.get("minimum_monthly", "0"))
        bandwidth = document["bandwidth"]
        self.premium = {r: Decimal(p) for r, p in
                        bandwidth.get("premium", {"regions": {}})["regions"].items()}
        self.volume = self.balancer = self.optimizer = None
        if "volume" in bandwidth:
            v = bandwidth["volume"]
            self.volume = Tiers(v, GB, ("from", "to", "price"),
                                int(Decimal(v.get("included", "0")) * GB))
        if "optimizer" in document:
            self.optimizer = Decimal(document["optimizer"]["monthly"])
        if "load_balancer" in document:
            b = document["load_balancer"]
            self.fee = Decimal(b["monthly_fee"])
            self.balancer = Tiers(b, MILLION, ("from_millions", "to_millions", "price_per_million"),
                                  b.get("included_requests", 0))


class Bill:
    def __init__(self, m):
        self.m = m
        books = [Book(b) for b in m["books"]]
        self.books = [None if i < 0 else books[i] for _, _, i in m["parts"]]
        self.minor = MINOR[m["currency"]]
        in_force = [b for b in self.books if b]
        self.mode = in_force[-1].mode if in_force else ROUND_HALF_UP
        self.lines, self.gaps, self.charges = [], {}, {}
        self.bandwidth("p", "bandwidth")
        self.volume()
        self.bandwidth("o", "override")
        self.bandwidth_percentile()
        self.optimizers()
        self.balancer_fees()
        self.requests()
        self.meters()
        self.discount()
        self.commit()
        self.minimum()

    # rows are [part, from, to, units, price, shown, amount]
    def line(self, kind, resource, region, rows, quantity=None, shares=()):
        exact = sum((r[6] for r in rows), ZERO)
        amount = rounded(exact, self.minor, self.mode)
        if quantity is None:
            quantity = sum(r[3] for r in rows)
        self.lines.append((kind, resource, region, quantity, exact, amount, rows, shares))
        if resource.startswith("zone:"):
            self.charge(int(resource[5:]), exact)
        return exact, amount

    def charge(self, zone, amount):
        self.charges[zone] = self.charges.get(zone, ZERO) + amount

    def gap(self, rank, resource, what, quantity, unit, part, region_known=True):
        book = self.books[part]
        begin = datetime.datetime.fromtimestamp(self.m["parts"][part][0], datetime.timezone.utc)
        reason = ("The location" if not region_known else f"Book {book.id} " if book
                  else f"The contract {self.m['lacks']}" if self.m.get("lacks") else f"No {begin:%Y-%m-%dT%H}")
        number = int(resource.split(":")[1]) if rank != 1.5 else 0
        key = (rank, number, resource, what, unit, reason)
        self.gaps[key] = self.gaps.get(key, 0) + quantity

    @staticmethod
    def gathered(found):
        """Units by part and price, laid one behind the other."""
        sums, rows, at = {}, [], 0
        for part, units, price, shown in found:
            before = sums.get((part, price), (0, shown))
            sums[part, price] = (before[0] + units, before[1])
        for (part, price), (units, shown) in sums.items():
            rows.append([part, at, at + units, units, price, shown, None])
            at += units
        return rows

    def prorated(self, rows):
        """Seconds at one price are one whole; the last of its rows takes the rest."""
        for price in {r[4] for r in rows}:
            mine = [r for r in rows if r[4] == price]
            left = quotient(price, sum(r[3] for r in mine), self.m["seconds"], 18)
            for r in mine[:-1]:
                r[6] = quotient(price, r[3], self.m["seconds"], 18)
                left -= r[6]
            mine[-1][6] = left
        return rows

    def bandwidth(self, charge, kind):
        groups = {}
        if self.m.get("percentile"):
            return
        for zone, part, c, region, discount, price, units in self.m["bytes"]:
            if c != charge:
                continue
            book = self.books[part]
            if region[0] == "?":
                self.gap(0, f"zone:{zone}", region[1:], units, "byte", part, False)
            elif book is None or (charge == "p" and region not in book.premium):
                self.gap(0, f"zone:{zone}", region, units, "byte", part)
            else:
                shown = unit_price = Decimal(price)
                if charge == "p":
                    shown = book.premium[region]
                    unit_price = shown / GB * (100 - discount) / 100
                groups.setdefault((zone, REGIONS.index(region)), []).append(
                    (part, units, unit_price, shown))
        for (zone, region), found in sorted(groups.items(), key=lambda item: item[0]):
            rows = self.gathered(found)
            for r in rows:
                r[6] = r[3] * r[4]
            self.line(kind, f"zone:{zone}", REGIONS[region], rows)

    def volume(self):
        by_part, by_zone = {}, {}
        if self.m.get("percentile"):
            return
        for zone, part, c, region, _, _, units in self.m["bytes"]:
            if c != "v":
                continue
            book = self.books[part]
            if region[0] == "?":
                self.gap(0, f"zone:{zone}", region[1:], units, "byte", part, False)
            elif book is None or not book.volume:
                self.gap(0, f"zone:{zone}", "volume", units, "byte", part)
            else:
                by_part[part] = by_part.get(part, 0) + units
                by_zone[zone] = by_zone.get(zone, 0) + units
        if not by_part:
            return
        rows = self.on_axis({p: (self.books[p].volume, u) for p, u in by_part.items()})
        exact = sum((r[6] for r in rows), ZERO)
        self.line("volume", "account:1", "-", rows, None, self.shares(by_zone, exact))

    def shares(self, by_zone, exact):
        minor_units = int(rounded(exact, self.minor, self.mode).scaleb(self.minor))
        total = sum(by_zone.values())
        zones = sorted(by_zone)
        floors = {z: minor_units * by_zone[z] // total for z in zones}
        order = sorted(zones, key=lambda z: (-(minor_units * by_zone[z] % total), z))
        for z in order[:minor_units - sum(floors.values())]:
            floors[z] += 1
        fitting = max(d for d in range(19) if d == 0 or exact.scaleb(d) < 2 ** 127)
        digits, left, shares = max(fitting, places(exact)), exact, []
        for z in zones:
            mine = left if z == zones[-1] else quotient(exact, by_zone[z], total, digits)
            left -= mine
            self.charge(z, mine)
            shares.append((z, by_zone[z], Decimal(floors[z]).scaleb(-self.minor), mine))
        return shares

    @staticmethod
    def on_axis(spans):
        used, rows = 0, []
        whole = sum(units for _, units in spans.values())
        for part in sorted(spans):
            tiers, units = spans[part]
            for low, high, price, shown, amount in tiers.rows(used, units, whole):
                rows.append([part, low, high, high - low, price, shown, amount])
            used += units
        return rows

    def optimizers(self):
        groups = {}
        for zone, part, seconds, price in self.m["optimizers"]:
            book = self.books[part]
            if seconds == 0:
                continue
            if book is None or (price == "-" and book.optimizer is None):
                self.gap(0, f"zone:{zone}", "optimizer", seconds, "second", part)
                continue
            fee = book.optimizer if price == "-" else Decimal(price)
            groups.setdefault(zone, []).append((part, seconds, fee, fee))
        for zone, found in groups.items():
            self.line("optimizer", f"zone:{zone}", "-", self.prorated(self.gathered(found)))

    def balancer_fees(self):
        groups = {}
        for balancer, part, seconds, _ in self.m["balancers"]:
            book = self.books[part]
            if seconds == 0:
                continue
            if book is None or not book.balancer:
                self.gap(1, f"load_balancer:{balancer}", "load_balancer", seconds, "second", part)
                continue
            groups.setdefault(balancer, []).append((part, seconds, book.fee, book.fee))
        for balancer, found in groups.items():
            self.line("balancer_fee", f"load_balancer:{balancer}", "-",
                      self.prorated(self.gathered(found)))

    def requests(self):
        groups = {}
        for balancer, part, _, requests in self.m["balancers"]:
            book = self.books[part]
            if requests == 0:
                continue
            if book is None or not book.balancer:
                self.gap(1, f"load_balancer:{balancer}", "load_balancer", requests, "request", part)
                continue
            groups.setdefault(balancer, {})[part] = (book.balancer, requests)
        for balancer, spans in groups.items():
            self.line("balancer_requests", f"load_balancer:{balancer}", "-", self.on_axis(spans))

    # --- meters

    def divided(self, spans):
        """The rows of spans {part: (MeterTiers, units)} on one axis. Fractions are rounded once."""
        per = math.lcm(*(tiers.per for tiers, _ in spans.values()))
        exact = set(str(per)[1:]) <= {"0"} and str(per)[0] == "1"
        rows, used, whole, sum_of, last = [], 0, sum(u for _, u in spans.values()), Fraction(0), None
        for part in sorted(spans):
            tiers, units = spans[part]
            for low, high, price, shown, amount in tiers.rows(used, units, whole):
                divided = tiers.mode != "package" and shown
                of_units = Fraction(price) * (high - low) if divided else Fraction(0)
                row = [part, low, high, high - low, shown * (per // tiers.per) if divided else shown, shown,
                       Fraction(amount) - of_units, of_units]
                sum_of += of_units
                last = row if divided else last
                rows.append(row)
            used += units
        taken = 0
        for row in rows:
            of_units = row.pop()
            if not exact:
                of_units = self.rounded18(sum_of) - taken if row is last else self.rounded18(of_units)
                taken += of_units
            row[6] = decimal_of(row[6] + of_units)
        return rows

    @staticmethod
    def rounded18(value):
        return Fraction(math.floor(value * 10 ** 18 + Fraction(1, 2)), 10 ** 18)

    @staticmethod
    def picked(percentile, series, n):
        """The percentile of the sum of series."""
        sums = [sum(values.get(i, 0) for values in series) for i in range(n)]
        return sorted(sums, reverse=True)[math.floor((100 - percentile) * n / 100)]

    def sampled(self, kind, resource, region, tiers, quantity):
        part = len(self.m["parts"]) - 1
        if quantity:
            return self.line(kind, resource, region, self.divided({part: (tiers, quantity)}))
        shown = tiers.tiers[0]["shown"]
        return self.line(kind, resource, region, [[part, 0, 0, 0, shown, shown, ZERO]])

    def bandwidth_percentile(self):
        if not self.m.get("percentile") or not self.m["percentile"][2]:
            return
        interval, n, values = self.m["percentile"]
        part = len(self.m["parts"]) - 1
        book = self.books[part]
        rate = book and book.document["bandwidth"].get("percentile")
        meter = ("", "sample", "byte", "-", 1, interval, "", [])
        tiers = rate and MeterRate(rate, meter, self.m["seconds"]).prices["*"]
        if not tiers:
            self.gap(0.5, "account:1", "percentile", sum(values.values()), "byte", part)
            return
        self.sampled("percentile", "account:1", "-", tiers,
                     self.picked(Fraction(rate["percentile"]), [values], n))

    def meters(self):
        self.minima = ZERO
        if not self.m.get("meters"):
            return
        lines = {}
        seconds, last_part = self.m["seconds"], len(self.m["parts"]) - 1
        rates = [[None if b is None or x[0] not in b.document.get("meters", {})
                  else MeterRate(b.document["meters"][x[0]], x, seconds) for b in self.books]
                 for x in self.m["meters"]]
        entries = [(number, part, resource, values, quantity) for number, part, resource, *values, quantity
                   in self.m["usage"] if quantity]
        entries += [(number, last_part, resource, values, (n, sums)) for number, resource, *values, n, sums
                    in self.m["samples"] if sums]
        for number, part, resource, values, quantity in entries:
            meter = self.m["meters"][number]
            rate, unit = rates[number][part], meter[2] + ("-second" if meter[1] == "gauge" else "")
            value = values[meter[7].index(rate.by)] if rate and rate.by else "-"
            tiers = rate.price(value)[1] if rate else None
            if not tiers:
                amount = quantity if isinstance(quantity, int) else sum(quantity[1].values())
                self.gap(1.5, f"meter:{meter[0]}", value if value != "-" else "usage", amount, unit, part)
                continue
            of = f"{meter[6]}:{resource}" if rate.scope == "resource" else f"meter:{meter[0]}"
            by = meter[7].index(rate.by) if rate.by else -1
            key = (number, of, "" if value == "-" else value, by)
            lines.setdefault(key, []).append((part, tiers, quantity, rate))
        billed = {}
        for (number, of, value, _), found in sorted(lines.items(), key=lambda item: item[0]):
            if self.m["meters"][number][1] == "sample":
                _, tiers, (n, _), rate = found[0]
                _, amount = self.sampled("meter", of, value or "-", tiers,
                                         self.picked(rate.percentile, [f[2][1] for f in found], n))
            else:
                spans = {}
                for part, tiers, quantity, _ in found:
                    spans[part] = (tiers, spans.get(part, (None, 0))[1] + quantity)
                _, amount = self.line("meter", of, value or "-", self.divided(spans))
            billed[number] = billed.get(number, ZERO) + amount
        for number, amount in sorted(billed.items()):
            if not self.m["running"]:
                self.meter_minimum(self.m["meters"][number][0], rates[number], amount)

    def meter_minimum(self, meter, rates, billed):
        found = []
        for part, (low, high, _) in enumerate(self.m["parts"]):
            if self.books[part]:
                least = rates[part].minimum if rates[part] else ZERO
                found.append((part, high - low, least, least))
        if all(least <= billed for _, _, least, _ in found):
            return
        rows = self.prorated(self.gathered(found))
        end = rows[-1][2]
        rows.append([rows[-1][0], end, end, 0, ZERO, ZERO, -billed])
        if sum(r[6] for r in rows) > 0:
            self.minima += self.line("minimum", f"meter:{meter}", "-", rows, 1)[1]

    def billed(self):
        return sum((line[5] for line in self.lines), ZERO)

    def discount(self):
        """A percentage of what the lines so far come to, rounded once."""
        percent = Decimal(self.m.get("contract", {}).get("discount_percent", 0))
        billed = self.billed() - self.minima
        if percent and billed:
            self.line("discount", "account:1", "-",
                      [[len(self.m["parts"]) - 1, 0, int(billed.scaleb(self.minor)), 0, percent, percent,
                        -billed * percent / 100]], 1)

    def commit(self):
        commit = self.m.get("contract", {}).get("commit")
        if commit and commit["from"] <= self.m["number"] <= commit["to"] and not self.m["running"]:
            self.at_least("commit", lambda book: Decimal(commit["monthly"]))

    def minimum(self):
        own = self.m.get("contract", {}).get("minimum_monthly")
        if not self.m["running"] and self.m["active"]:
            self.at_least("minimum", lambda book: book.minimum if own is None else Decimal(own))

    def at_least(self, kind, monthly):
        """What the lines so far lack of it, where a book is in force."""
        found = []
        for part, (low, high, _) in enumerate(self.m["parts"]):
            book = self.books[part]
            if book is None:
                self.gap(2, "account:1", kind, high - low, "second", part)
            else:
                found.append((part, high - low, monthly(book), monthly(book)))
        if not found:
            return
        rows = self.prorated(self.gathered(found))
        end = rows[-1][2]
        rows.append([rows[-1][0], end, end, 0, ZERO, ZERO, -self.billed()])
        if sum(r[6] for r in rows) > 0:
            self.line(kind, "account:1", "-", rows, 1)

    def text(self):
        out = []
        for number, (kind, resource, region, quantity, exact, amount, rows, shares) in \
                enumerate(self.lines, 1):
            out.append(f"line {number} {kind} {resource} {region} {quantity} {plain(exact)} "
                       f"{fixed(amount, self.minor)}")
            out += [" ".join(["tier", *map(str, r[:4]), *map(plain, r[4:])]) for r in rows]
            out += [f"share {z} {b} {fixed(a, self.minor)} {plain(e)}" for z, b, a, e in shares]
        for (_, _, resource, what, unit, _), quantity in sorted(self.gaps.items()):
            out.append(f"unpriced {resource} {what} {quantity} {unit}")
        exact = sum((line[4] for line in self.lines), ZERO)
        subtotal = total = sum((line[5] for line in self.lines), ZERO)
        for name, percent in self.m["tax"]:
            tax = rounded(subtotal * Decimal(percent) / 100, self.minor, self.mode)
            out.append(f"tax {name} {fixed(subtotal, self.minor)} {fixed(tax, self.minor)}")
            total += tax
        out.append(f"total {fixed(subtotal, self.minor)} {fixed(total, self.minor)} {plain(exact)} "
                   f"{plain(subtotal - exact)}")
        out += [f"charges {z} {plain(self.charges.get(z, ZERO))}" for z in self.m["asked"]]
        out.append(f"alone {fixed(subtotal, self.minor)} {int(bool(self.gaps))}")
        return "\n".join(out + ["end", ""])


# --- comparing -------------------------------------------------------------------------------

def fitting_month(rng):
    """A month each of whose lines fits 2^127 - 1 at the finest scale of its prices and amounts. The
    bill's own sums need not: they have to come out all the same."""
    while True:
        m = any_month(rng)
        if rng.random() < 0.5:
            snap(rng, m)
        if rng.random() < 0.3:
            exaggerate(rng, m)
        expected = Bill(m)
        if all(abs(line[4]).scaleb(scale_of(line)) < 2 ** 127 for line in expected.lines):
            return m, expected.text()


MORE_PLACES = {"bandwidth": 13, "volume": 11, "balancer_requests": 8, "override": 0}


def scale_of(line):
    """Seconds have 18 digits. Prices have those of their unit, of a discount, and up to two zeros at
    their end."""
    if line[0] not in MORE_PLACES:
        return 18
    return max(max(places(r[5]) + MORE_PLACES[line[0]], places(r[6])) for r in line[6])


def as_meters(m):
    """The month with bandwidth sold as two meters: prices by region for each zone, and the account's volume tiers."""
    books = []
    for book in m["books"]:
        premium, volume = book["bandwidth"].get("premium"), book["bandwidth"].get("volume")
        rates = {}
        if premium and premium["regions"]:
            rates["premium"] = {"per": "GB", "by": "region", "scope": "resource",
                                "prices": {r: {"price": p} for r, p in premium["regions"].items()}}
        if volume:
            rates["volume"] = dict(volume)
        books.append({**{k: book[k] for k in ("book", "currency", "effective_from", "rounding")}, "meters": rates})
    usage = [(0 if charge == "p" else 1, part, zone, region if charge == "p" else "-", "-", units)
             for zone, part, charge, region, _, _, units in m["bytes"]]
    merged = {}
    for *key, units in usage:
        merged[tuple(key)] = merged.get(tuple(key), 0) + units
    meters = [(name, "counter", "byte", "GB", GB, 0, "zone", ["region"]) for name in ("premium", "volume")]
    order = lambda item: (item[0][0], str(item[0][2]), item[0][3], item[0][1])
    return dict(m, books=books, meters=meters, bytes=[],
                usage=[(*key, units) for key, units in sorted(merged.items(), key=order)])


def check_bandwidth_as_meters(runner, rng, count):
    """A bandwidth price expressed as a meter bills the same to the digit."""
    pairs = []
    for _ in range(count):
        m = any_month(rng)
        m.update(optimizers=[], balancers=[], tax=[], contract={}, running=True, meters=[], usage=[], samples=[],
                 percentile=None, asked=[])
        m["books"] = [{k: v for k, v in b.items() if k != "meters"} for b in m["books"]]
        m["bytes"] = [(zone, part, charge, region, 0, price, units) for zone, part, charge, region, _, price, units
                      in m["bytes"] if charge != "o" and region[0] != "?"]
        pairs.append((m, as_meters(m)))
    text = "".join(written(m) for pair in pairs for m in pair)
    run = subprocess.run([runner], input=text, text=True, capture_output=True, check=True)
    answers = run.stdout.split("end\n")
    for i, pair in enumerate(pairs):
        found = []
        for answer in answers[2 * i:2 * i + 2]:
            lines = [line.split()[3:] for line in answer.splitlines() if line.startswith("line ")]
            found.append(sorted([r if r.startswith("zone:") else "", *more] for r, *more in lines))
        if found[0] != found[1]:
            print(written(pair[0]), written(pair[1]), *found, sep="\n")
            sys.exit("bandwidth and its meters are billed differently")
    return sum(a.count("line ") for a in answers) // 2


def difference(m, expected, answer):
    print("months differ; the input:")
    print(written(m))
    for number, (want, have) in enumerate(zip(expected.splitlines(), answer.splitlines()), 1):
        if want != have:
            print(f"line {number} of the answer\n  twin   {want}\n  engine {have}")
            return
    print("one answer is longer than the other")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runner", required=True)
    parser.add_argument("--other", action="append", default=[],
                        help="another build's runner: its answers must have the same digest")
    parser.add_argument("--count", type=int,
                        default=24000 if LONG else 500)
    parser.add_argument("--seed", type=int, help="else TB_SEED, or always the same")
    options = parser.parse_args()
    rng = random.Random(random_seed(options.seed))
    lines = 0
    for first in range(0, options.count, BATCH):
        months = [fitting_month(rng) for _ in range(min(BATCH, options.count - first))]
        text = "".join(written(m) for m, _ in months)
        run = subprocess.run([options.runner], input=text, text=True, capture_output=True)
        if run.returncode:
            sys.exit(f"the runner ended with {run.returncode}: {run.stderr[-2000:]}")
        answers = [a + "end\n" for a in run.stdout.split("end\n")[:-1]]
        if len(answers) != len(months):
            sys.exit(f"{len(months)} months asked, {len(answers)} answered")
        for (m, expected), answer in zip(months, answers):
            if expected != answer:
                difference(m, expected, answer)
                return 1
            lines += answer.count("line ")
        digests = {subprocess.run([runner, "--digest"], input=text, text=True, check=True,
                                  capture_output=True).stdout
                   for runner in [options.runner, *options.other] if options.other}
        if len(digests) > 1:
            sys.exit(f"builds differ: {digests}")
    same = check_bandwidth_as_meters(options.runner, rng, options.count // 4)
    print(f"{options.count} months, {lines} lines, no difference; {same} lines of bandwidth bill the same as meters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
