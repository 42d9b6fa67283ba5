"""Whole months through the tool, against a twin: random catalogues that change within the months,
price books that begin within them, usage rows and log lines; `tollbook invoice` drafts each account.

The twin works out from the documents what a bill is made of (which book, charge, discount and
region an hour falls under, how long optimizers and load balancers were there, which balancer a
zone was attached to) and rates that with bill_oracle's decimals. Every line's quantity, exact and
rounded amount, every gap, tax and total is compared.

Then the same usage comes a part at a time, and months are made final in between: many with nothing due,
by everybody or one account alone, some before, some after. What all documents together have billed
for a month is what the twin bills of all its usage, and no month is billed twice.

TB_LONG=1 asks for 21,600 months; TB_SEED repeats one.
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
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from bill_oracle import Bill, any_book, any_contract, fixed, plain  # noqa: E402
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
TOOL = BUILD / "tollbook"
if not TOOL.exists():
    print("skipped: there is no", TOOL)
    sys.exit(77)

FILES, ACCOUNTS = (80, 90) if LONG else (2, 90)
MONTHS = [(2026, 8), (2026, 9), (2026, 10)]
BEGIN, END = calendar.timegm((2026, 8, 1, 0, 0, 0)), calendar.timegm((2026, 11, 1, 0, 0, 0))
EVER, NEVER = -10 ** 12, 10 ** 12
REGIONS = {"DE": "EU", "NY": "NA", "SG": "ASIA", "BR": "SA", "ZA": "AF", "UK": "EU"}
DISCOUNTS = {"EUUSDiscount": ["EU", "NA"], "SouthAmericaDiscount": ["SA"], "AfricaDiscount": ["AF"],
             "AsiaOceaniaDiscount": ["ASIA"]}
MINOR = {"USD": 2, "EUR": 2, "JPY": 0, "KWD": 3}


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def any_moment(rng):
    """Now and then on a full hour or a month's first moment."""
    at = rng.randrange(BEGIN - 20 * 86400, END)
    kind = rng.random()
    if kind < 0.2:
        return at - at % 3600
    return calendar.timegm((2026, 9, 1, 0, 0, 0)) if kind < 0.25 else at


# --- random documents ------------------------------------------------------------------------

def any_discounts(rng):
    return {name: rng.choice([5, 20, 33, 100]) for name in DISCOUNTS if rng.random() < 0.2}


def name_of(month):
    return f"{1970 + month // 12}-{month % 12 + 1:02d}"


def agree(rng, account):
    """A contract, perhaps with a book: one for contracts, any other, or one that is not there."""
    contract = any_contract(rng, 680)
    commit = contract.get("commit", {"from": 0, "to": 0})
    if commit["from"] > commit["to"]:
        commit["to"] = commit["from"]
    for end in ("from", "to"):
        commit[end] = name_of(commit[end])
        if rng.random() < 0.3:
            del commit[end]
    if rng.random() < 0.3:
        contract["book"] = f"{account['currency']}-{rng.choice(['own', 'own', 0, 1, 2, 'none'])}"
    account.pop("contract", None)
    if contract:
        account["contract"] = contract


def any_zone(rng, number, account):
    settings = any_discounts(rng)
    if rng.random() < 0.15:
        settings["PriceOverride"] = rng.choice([1e-08, 2.5e-09, 0.00000003, 0])
    if rng.random() < 0.3:
        settings["OptimizerEnabled"] = rng.random() < 0.8
    if rng.random() < 0.15:
        settings["OptimizerPricing"] = rng.choice([9.5, 0, 3.21])
    if rng.random() < 0.1:
        settings["Enabled"] = False
    zone = {"id": number, "account": account, "name": f"zone {number}",
            "type": rng.choice(["premium", "volume"]), "settings": settings}
    if rng.random() < 0.7:
        zone["created"] = stamp(any_moment(rng))
    return zone


def any_balancer(rng, number, account, zones):
    balancer = {"id": number, "account": account, "zones": zones}
    if rng.random() < 0.7:
        balancer["created"] = stamp(any_moment(rng))
    if rng.random() < 0.3:
        begin = calendar.timegm(time.strptime(balancer["created"], "%Y-%m-%dT%H:%M:%SZ")) \
            if "created" in balancer else BEGIN
        balancer["deleted"] = stamp(rng.randrange(begin + 1, END + 86400))
    return balancer


def any_catalogs(rng):
    """Three documents: what the first says, changed twice. Currencies stay."""
    accounts = [{"id": a, "name": f"account {a}", "currency": rng.choice(list(MINOR)),
                 "discounts": any_discounts(rng)} for a in range(1, ACCOUNTS + 1)]
    for account in accounts:
        account["tax"] = [{"name": f"tax{i}", "percent": rng.choice(["19", "7.7", "8.875"])}
                          for i in range(rng.choice([0, 1, 2]))]
        agree(rng, account)
    zones, balancers = {}, {}
    catalogs = []
    for turn in range(3):
        for account in accounts:
            a = account["id"]
            if turn and rng.random() < 0.2:
                account["discounts"] = any_discounts(rng)
            if turn and rng.random() < 0.2:
                agree(rng, account)
            for number in (a * 10 + 1, a * 10 + 2, a * 10 + 3):
                if rng.random() < (0.6 if turn == 0 else 0.2):
                    old = zones.get(number)
                    zones[number] = any_zone(rng, number, a)
                    if old:
                        zones[number].pop("created", None)
                        if "created" in old:
                            zones[number]["created"] = old["created"]
                elif turn and rng.random() < 0.1:
                    zones.pop(number, None)
            own = [n for n in sorted(zones) if n // 10 == a]
            taken = set()
            for number in (a * 10 + 7, a * 10 + 8):
                if number in balancers or rng.random() < 0.25:
                    mine = [z for z in own if z not in taken and rng.random() < 0.5]
                    if number in balancers:
                        balancers[number] = {**balancers[number], "zones": mine}
                    else:
                        balancers[number] = any_balancer(rng, number, a, mine)
                    taken |= set(mine)
                    if turn and rng.random() < 0.1:
                        del balancers[number]
        catalogs.append(json.loads(json.dumps({
            "accounts": accounts, "zones": [zones[z] for z in sorted(zones)],
            "load_balancers": [balancers[b] for b in sorted(balancers)],
            "regions": [{"id": i, "code": code, "name": f"EU: Place, {code}", "billing": billing}
                        for i, (code, billing) in enumerate(REGIONS.items(), 1)]})))
    return catalogs


def any_books(rng):
    books = []
    for currency in MINOR:
        moments = {BEGIN - 86400 * 100} if rng.random() < 0.8 else set()
        while len(moments) < 3:
            at = rng.randrange(BEGIN, END)
            moments.add(at - at % 3600)
        for i, at in enumerate(sorted(moments)):
            book = any_book(rng, f"{currency}-{i}", currency, stored=True)
            book["effective_from"] = stamp(at)
            if currency in ("EUR", "KWD"):  # so that months have nothing due
                book.pop("minimum_monthly", None)
            books.append((at, book))
        at = rng.choice([BEGIN - 86400 * 100, rng.randrange(BEGIN // 3600, END // 3600) * 3600])
        own = any_book(rng, f"{currency}-own", currency, stored=True)
        books.append((at, {**own, "effective_from": stamp(at), "scope": "contract"}))
    return books


def any_usage(rng):
    """(zone or balancer, hour, region, bytes, requests that reached a balancer, is a log line)"""
    rows = []
    for a in range(1, ACCOUNTS + 1):
        for number in (a * 10 + 1, a * 10 + 2, a * 10 + 3):
            for _ in range(rng.randrange(12)):
                hour = rng.randrange(BEGIN // 3600, END // 3600)
                region = "ZZ" if rng.random() < 0.01 else rng.choice(list(REGIONS))
                rows.append((number, hour, region, rng.randrange(1, 10 ** rng.randrange(1, 14)),
                             0, False))
            for _ in range(rng.randrange(6)):
                hour = rng.randrange(BEGIN // 3600, END // 3600)
                miss = rng.random() < 0.7
                rows.append((number, hour, rng.choice(list(REGIONS)), rng.randrange(1, 10 ** 6),
                             int(miss), True))
        for number in (a * 10 + 7, a * 10 + 8):
            for _ in range(rng.randrange(4)):
                hour = rng.randrange(BEGIN // 3600, END // 3600)
                rows.append((number, hour, None, 0, rng.randrange(10 ** rng.randrange(1, 10)),
                             False))
    return rows


# --- the twin --------------------------------------------------------------------------------

def moment(thing, member, otherwise):
    text = thing.get(member)
    return calendar.timegm(time.strptime(text, "%Y-%m-%dT%H:%M:%SZ")) if text else otherwise


class Thing:
    """A thing's documents, each from a moment on, and when it was declared and there."""

    def __init__(self, kind, number, catalogs, applied):
        self.said, self.spells = [], []
        for at, catalog in zip(applied, catalogs):
            found = next((t for t in catalog[kind] if t["id"] == number), None)
            if found is None:
                if self.spells and self.spells[-1][1] == NEVER:
                    self.spells[-1] = (self.spells[-1][0], at)
                continue
            if self.spells and self.spells[-1][1] == NEVER:
                if found != self.said[-1][1]:
                    self.said.append((at, found))
                continue
            if not self.said:
                self.declared = at
            begin = at if self.said else EVER
            self.said.append((begin, found))
            self.spells.append((begin, NEVER))
        if not self.said:
            return
        last = self.said[-1][1]
        self.created, self.ended = moment(last, "created", EVER), moment(last, "deleted", NEVER)
        self.there = [(max(b, self.created), min(e, self.ended)) for b, e in self.spells]

    def at(self, seconds):
        return [doc for begin, doc in self.said if begin <= seconds][-1]

    def first_month(self):
        """In which it was first declared."""
        first = time.gmtime(self.declared)
        return (first.tm_year - 1970) * 12 + first.tm_mon - 1

    def seconds(self, low, high):
        return sum(max(0, min(e, high) - max(b, low)) for b, e in self.there)


class Twin:
    def __init__(self, catalogs, applied, books, usage):
        def things(kind):
            ids = {t["id"] for c in catalogs for t in c[kind]}
            return {n: Thing(kind, n, catalogs, applied) for n in ids}
        self.accounts, self.zones = things("accounts"), things("zones")
        self.balancers = things("load_balancers")
        self.books = books
        self.usage = {}
        for row in usage:
            self.usage.setdefault(row[0], []).append(row)
        self.ties = self.attachments(catalogs, applied)

    @staticmethod
    def attachments(catalogs, applied):
        """(zone, balancer, from, to). A zone's first one holds for all earlier time where
        its balancer is declared first."""
        ties, live, seen, known = [], {}, set(), set()
        for at, catalog in zip(applied, catalogs):
            wanted = {(z, b["id"]) for b in catalog["load_balancers"] for z in b["zones"]}
            # balancer by balancer: what one gives up ends before, or after, another one takes it
            for b in sorted(catalog["load_balancers"], key=lambda b: b["id"]):
                for tie in [t for t in live if t[1] == b["id"] and t not in wanted]:
                    ties.append((*tie, live.pop(tie), at))
                for z in b["zones"]:
                    if (z, b["id"]) in live:
                        continue
                    first = b["id"] not in known and z not in seen
                    live[z, b["id"]] = EVER if first else at
                    seen.add(z)
                known.add(b["id"])
            gone = [t for t in live if t not in wanted]
            for tie in gone:
                ties.append((*tie, live.pop(tie), at))
        return ties + [(*tie, begin, NEVER) for tie, begin in live.items()]

    def charge(self, zone, account, seconds, region):
        doc = zone.at(seconds)
        settings = doc["settings"]
        override = Decimal(str(settings.get("PriceOverride", 0)))
        if override > 0:
            return "o", 0, plain(override)
        if doc["type"] == "volume":
            return "v", 0, "0"
        percents = [source.get(name, 0) for name, regions in DISCOUNTS.items() if region in regions
                    for source in (settings, account.at(seconds)["discounts"])]
        return "p", max(percents, default=0), "0"

    def month(self, number, year, month):
        account = self.accounts[number]
        low = calendar.timegm((year, month, 1, 0, 0, 0))
        high = calendar.timegm((year, month + 1, 1, 0, 0, 0))
        currency = account.at(high - 1)["currency"]
        books = [(at, b) for at, b in self.books if b["currency"] == currency and at < high]
        contract = account.at(high - 3600).get("contract", {})
        lacks = None
        if "book" in contract and contract["book"] not in [b["book"] for _, b in self.books]:
            parts, lacks = [(low, high, -1)], contract["book"]
        else:
            parts = self.parts(books, contract.get("book"), low, high)
        m = {"number": (year - 1970) * 12 + month - 1, "seconds": high - low, "currency": currency,
             "running": False, "active": False, "books": [b for _, b in books], "parts": parts,
             "bytes": [], "optimizers": [], "balancers": [], "asked": [],
             "contract": self.numbered(contract, account.first_month()), "lacks": lacks,
             "tax": [(t["name"], t["percent"]) for t in account.at(high - 3600)["tax"]]}
        zones = [z for z in sorted(self.zones) if self.zones[z].said[0][1]["account"] == number]
        for z in zones:
            self.add_zone(m, z, account)
        for b in sorted(self.balancers):
            if self.balancers[b].said[0][1]["account"] == number:
                self.add_balancer(m, b)
        return m

    @staticmethod
    def parts(books, named, low, high):
        """The account's own book holds from its moment on; the currency's others before that."""
        own = next(((at, i) for i, (at, b) in enumerate(books) if b["book"] == named), (NEVER, -1))
        series = [(at, i) for i, (at, b) in enumerate(books) if "scope" not in b and at < own[0]]
        series.append(own)
        cuts = sorted({low} | {at for at, _ in series if low < at < high})
        parts = []
        for begin, end in zip(cuts, cuts[1:] + [high]):
            held = [i for at, i in series if at <= begin]
            parts.append((begin, end, held[-1] if held else -1))
        return parts

    @staticmethod
    def numbered(contract, first):
        """Its months by number. Without from, a commit begins with the account."""
        if "commit" not in contract:
            return contract
        commit = contract["commit"]
        ends = {end: (int(commit[end][:4]) - 1970) * 12 + int(commit[end][5:]) - 1
                for end in ("from", "to") if end in commit}
        return {**contract, "commit": {"monthly": commit["monthly"], "from": first, "to": 10 ** 9, **ends}}

    @staticmethod
    def part(m, seconds):
        return next(i for i, (low, high, _) in enumerate(m["parts"]) if low <= seconds < high)

    def in_month(self, m, number):
        low, high = m["parts"][0][0], m["parts"][-1][1]
        return [r for r in self.usage.get(number, []) if low <= r[1] * 3600 < high]

    def add_zone(self, m, z, account):
        zone = self.zones[z]
        for _, hour, code, amount, _, _ in self.in_month(m, z):
            region = REGIONS.get(code, "?" + code)
            charge, discount, price = self.charge(zone, account, hour * 3600, region)
            m["bytes"].append((z, self.part(m, hour * 3600), charge, region, discount, price,
                               amount))
        for i, (low, high, _) in enumerate(m["parts"]):
            ends = [begin for begin, _ in zone.said[1:]] + [NEVER]
            for (begin, doc), end in zip(zone.said, ends):
                settings = doc["settings"]
                there = zone.seconds(max(low, begin), min(high, end))
                if there <= 0:
                    continue
                m["active"] |= settings.get("Enabled", True)
                if settings.get("OptimizerEnabled"):
                    own = settings.get("OptimizerPricing")
                    m["optimizers"].append((z, i, there, "-" if own is None else plain(
                        Decimal(str(own)))))

    def add_balancer(self, m, b):
        balancer = self.balancers[b]
        requests = [0] * len(m["parts"])
        for row in self.in_month(m, b):
            requests[self.part(m, row[1] * 3600)] += row[4]
        for z, other, begin, end in self.ties:
            if other != b:
                continue
            begin, end = max(begin, balancer.created), min(end, balancer.ended)
            for row in self.in_month(m, z):
                if row[5] and begin <= row[1] * 3600 < end:
                    requests[self.part(m, row[1] * 3600)] += row[4]
        for i, (low, high, _) in enumerate(m["parts"]):
            seconds = balancer.seconds(low, high)
            if seconds or requests[i]:
                m["balancers"].append((b, i, seconds, requests[i]))


# --- running and comparing -------------------------------------------------------------------

def run(folder, now, *words, stdin="", expect=(0,), **more):
    done = subprocess.run([TOOL, *words], input=stdin.encode(), capture_output=True, cwd=folder,
                          env={**os.environ, "TOLLBOOK_NOW": now, **more})
    if done.returncode not in expect:
        sys.exit(f"{words}: exit {done.returncode}: {done.stderr.decode()[-1500:]}")
    return done.stdout.decode()


def take(folder, usage):
    rows, lines = [], []
    for n, (number, hour, code, amount, requests, logged) in enumerate(usage):
        if logged:
            lines.append(f"{'MISS' if requests else 'HIT'}|200|{hour * 3600000 + n % 3600000}|"
                         f"{amount}|{number}|192.0.2.1|-|https://example.com/|{code}|agent|{n:032x}"
                         f"|DE\n")
        elif code is None:
            rows.append({"load_balancer": number, "hour": stamp(hour * 3600), "requests": requests})
        else:
            rows.append({"zone": number, "hour": stamp(hour * 3600), "region": code,
                         "bytes": amount})
    run(folder, stamp(END), "import", "--db", "t.db", "-",
        stdin="".join(json.dumps(r) + "\n" for r in rows))
    run(folder, stamp(END), "ingest", "--db", "t.db", "-", stdin="".join(lines))


def expected_of(m, account):
    bill = Bill(m)
    minor = MINOR[m["currency"]]

    def own(resource):
        return f"account:{account}" if resource == "account:1" else resource
    lines = [[kind, own(resource), region.strip("-"), str(quantity), plain(exact),
              fixed(amount, minor)]
             for kind, resource, region, quantity, exact, amount, _, _ in bill.lines]
    gaps = sorted([own(resource), what, str(quantity), unit]
                  for (_, _, resource, what, unit, _), quantity in bill.gaps.items())
    said = [record.split(" ") for record in bill.text().splitlines()]
    total = next(words for words in said if words[0] == "total")
    return {"currency": m["currency"], "lines": lines, "gaps": gaps,
            "tax": [words[1:] for words in said if words[0] == "tax"],
            "subtotal": total[1], "total": total[2], "residual": total[4]}


def answered(draft):
    return {"currency": draft["currency"],
            "lines": [[x["kind"], x["resource"], x["region"] or "", x["quantity"], x["exact"],
                       x["amount"]] for x in draft["lines"]],
            "gaps": sorted([x["resource"], x["what"], x["quantity"], x["unit"]]
                           for x in draft["unpriced"]),
            "tax": [[t["name"], t["base"], t["amount"]] for t in draft["tax"]],
            "subtotal": draft["subtotal"], "total": draft["total"], "residual": draft["residual"]}


def same_elsewhere(rng, folder, year, month):
    """A month has the same bytes in any form, wherever the machine stands and whatever it speaks."""
    words = ("invoice", "--db", "t.db", "--month", f"{year}-{month:02d}", "--format",
             rng.choice(["json", "csv", "html", "focus"]))
    now = stamp(END + 4 * 86400)
    here = run(folder, now, *words, TZ="UTC", LC_ALL="C")
    there = run(folder, now, *words, TZ=rng.choice(["Pacific/Chatham", "America/St_Johns"]),
                LC_ALL=rng.choice(["de_DE.UTF-8", "ar_EG.UTF-8", "tr_TR.UTF-8"]), LANG="fr_FR.UTF-8")
    if here != there:
        sys.exit(f"{words}: other bytes under another locale and time zone")


def billed(folder):
    """What the documents that stand have billed: {(account, "2026-08"): amount}, and the invoices
    that say so."""
    out = run(folder, stamp(END), "query", "--db", "t.db", "--format", "tsv",
              "SELECT document FROM invoice WHERE state='final'").splitlines()[1:]
    sums, own, carried = {}, set(), set()
    for text in out:
        document = json.loads(text)
        for line in document["lines"]:
            month = line.get("period", document["period"])["start"][:7]
            key = document["account"], month
            sums[key] = sums.get(key, 0) + Decimal(line["amount"])
            if line["kind"] == "correction" and line["corrects"]["invoice"] is None:
                carried.add(key)
        if document["kind"] == "invoice":
            own.add((document["account"], document["period"]["start"][:7]))
    if own & carried:
        sys.exit(f"billed by an invoice and beside it: {own & carried}")
    return sums, carried


def in_parts(rng, folder, catalogs, applied, books, usage, twin):
    """Usage in parts, months made final in between; how many months were billed on later ones."""
    run(folder, stamp(applied[0]), "init", "--db", "t.db")
    for at, catalog in zip(applied, catalogs):
        (folder / "c.json").write_text(json.dumps(catalog))
        run(folder, stamp(at), "apply", "--delete", "--backdated", "--db", "t.db", "c.json")
    for _, book in books:
        run(folder, stamp(END), "book", "add", "--db", "t.db", "-", stdin=json.dumps(book))
    usage = rng.sample(usage, len(usage))
    ends = [0, 0, *sorted(rng.randrange(len(usage) // 2) for _ in range(2)), len(usage)]
    runs, left = ["2026-08", "2026-09", "2026-10"], {"2026-08", "2026-09", "2026-10"}
    for n, (low, high) in enumerate(zip(ends, ends[1:])):
        take(folder, usage[low:high])
        month = runs[n] if n < len(runs) else rng.choice(runs)
        one = [] if rng.random() < 0.7 else ["--account", str(rng.randrange(1, ACCOUNTS + 1))]
        run(folder, stamp(END + 4 * 86400), "invoice", "--db", "t.db", "--month", month,
            "--finalize", *one, expect=(0, 1))
        left -= set() if one else {month}
    for month in (*sorted(left), "2026-11"):
        run(folder, stamp(END + 40 * 86400), "invoice", "--db", "t.db", "--month", month,
            "--finalize", expect=(0, 1))
    run(folder, stamp(END), "verify", "--db", "t.db")
    sums, carried = billed(folder)
    for account in range(1, ACCOUNTS + 1):
        wants = {f"{y}-{m:02d}": expected_of(twin.month(account, y, m), account) for y, m in MONTHS}
        if any(want["gaps"] for want in wants.values()):
            continue  # refused, or with late usage that has no price
        for month, want in wants.items():
            have = sums.get((account, month), Decimal(0))
            if have != Decimal(want["subtotal"]):
                sys.exit(f"{month}, account {account}: in parts {have}, at once {want['subtotal']}")
    return len(carried)


def one_file(rng, folder):
    catalogs, books, usage = any_catalogs(rng), any_books(rng), any_usage(rng)
    # the accounts are first declared before the months, or within them
    first = BEGIN + rng.choice([-40, 20, 45]) * 86400
    applied = [first] + sorted(max(any_moment(rng), first + 1) for _ in range(2))
    run(folder, stamp(applied[0]), "init", "--db", "t.db")
    taken = rng.randrange(3)
    for turn, (at, catalog) in enumerate(zip(applied, catalogs)):
        (folder / "c.json").write_text(json.dumps(catalog))
        run(folder, stamp(at), "apply", "--delete", "--backdated", "--db", "t.db", "c.json")
        if turn == taken:
            take(folder, usage)
    for _, book in books:
        run(folder, stamp(END), "book", "add", "--db", "t.db", "-", stdin=json.dumps(book))
    twin = Twin(catalogs, applied, books, usage)
    lines = 0
    for year, month in MONTHS:
        text = run(folder, stamp(END + 4 * 86400), "invoice", "--db", "t.db", "--month",
                   f"{year}-{month:02d}")
        same_elsewhere(rng, folder, year, month)
        drafts = {d["account"]: d for d in json.loads(text)["invoices"]}
        for account in range(1, ACCOUNTS + 1):
            want = expected_of(twin.month(account, year, month), account)
            have = answered(drafts[account]) if account in drafts else {
                **want, "lines": [], "gaps": []}
            lines += len(want["lines"])
            if want != have:
                print(f"{year}-{month:02d}, account {account}: applied {[*map(stamp, applied)]}")
                for key in want:
                    if want[key] != have[key]:
                        print(f"{key}\n  twin     {want[key]}\n  tollbook {have[key]}")
                sys.exit(1)
    parts = folder / "parts"
    parts.mkdir()
    return lines, in_parts(rng, parts, catalogs, applied, books, usage, twin)


def main():
    rng = random.Random(random_seed())
    lines = carried = 0
    for _ in range(FILES):
        folder = Path(tempfile.mkdtemp(prefix="tollbook-months-"))
        try:
            seen = one_file(rng, folder)
            lines, carried = lines + seen[0], carried + seen[1]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{FILES * ACCOUNTS * len(MONTHS)} months, {lines} lines, no difference; {carried} were run"
          " with nothing due and billed on a later invoice")
    if LONG and not carried:
        sys.exit("no month was billed on a later invoice")


if __name__ == "__main__":
    main()
