"""Makes logs, bundles and receipts from nothing but the specifications: an independent generator for the tests of checkers. It
imports neither tollbook nor check.py; trees are RFC 6962's recursion, signatures RFC 8032's arithmetic on pairs of numbers.

    log = Log("example.com/tollbook", seed)      entries, proofs and signed checkpoints of any size
    World(Log, random).bundle(number)            a bundle as a dict in the order of its members; write() makes the bytes
"""
import base64
import functools
import hashlib
import json
from collections import defaultdict
from decimal import Decimal

FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, FIELD) % FIELD
BASE = (15112221349535400772501151409588531511454012693041857206046113283949847762202,
        46316835694926478169428394003475163141307993866256225615783033603165251855960)


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def b64(data):
    return base64.b64encode(data).decode()


def canonical(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def write(bundle):
    """The bytes of a bundle or of receipts."""
    return json.dumps(bundle, ensure_ascii=False, separators=(",", ":")).encode()


# --- signing (RFC 8032, 5.1.6)

def add(p, q):
    """Of points as (X, Y, Z) with x = X/Z and y = Y/Z."""
    a, c, d = p[2] * q[2] % FIELD, p[0] * q[0] % FIELD, p[1] * q[1] % FIELD
    e = CURVE * c * d % FIELD
    f, g = a * a - e, a * a + e
    return a * f * ((p[0] + p[1]) * (q[0] + q[1]) - c - d) % FIELD, a * g * (d + c) % FIELD, f * g % FIELD


DOUBLED = functools.reduce(lambda found, _: [*found, add(found[-1], found[-1])], range(255), [(*BASE, 1)])


def times(n):
    """n times the base point, as 32 bytes."""
    x, y, z = functools.reduce(add, (point for i, point in enumerate(DOUBLED) if n >> i & 1), (0, 1, 1))
    x, y = x * pow(z, -1, FIELD) % FIELD, y * pow(z, -1, FIELD) % FIELD
    return (y | (x & 1) << 255).to_bytes(32, "little")


def number(data):
    return int.from_bytes(data, "little")


class Signer:
    """A key of a log, or of a witness, from its seed of 32 bytes."""

    def __init__(self, name, seed, witness=False):
        digest = hashlib.sha512(seed).digest()
        self.name, self.seed, self.witness, self.prefix = name, seed, witness, digest[32:]
        self.scalar = number(digest[:32]) & (1 << 254) - 8 | 1 << 254
        self.public = times(self.scalar)
        typed = bytes([4 if witness else 1]) + self.public
        self.id = sha(name.encode(), b"\n", typed)[:4]
        self.vkey = f"{name}+{self.id.hex()}+{b64(typed)}"

    @staticmethod
    def from_file(text):
        """Of a key file that `tollbook proof key --new` made."""
        name, _, data = text.strip().removeprefix("PRIVATE+KEY+").split("+", 2)
        return Signer(name, base64.b64decode(data)[1:])

    def sign(self, message):
        r = number(hashlib.sha512(self.prefix + message).digest()) % ORDER
        point = times(r)
        k = number(hashlib.sha512(point + self.public + message).digest()) % ORDER
        return point + ((r + k * self.scalar) % ORDER).to_bytes(32, "little")

    def line(self, text, time=0):
        """A signature line of a note's text."""
        moment = time.to_bytes(8, "big") if self.witness else b""
        message = f"cosignature/v1\ntime {time}\n{text}" if self.witness else text
        return f"\u2014 {self.name} {b64(self.id + moment + self.sign(message.encode()))}\n"


# --- the tree (RFC 6962, 2.1)

def half(n):
    """The largest power of two below n."""
    return 1 << (n - 1).bit_length() - 1


class Tree:
    def __init__(self, leaves):
        self.leaves = leaves
        self.root_of = functools.lru_cache(None)(self._root_of)

    def _root_of(self, start, end):
        if end - start < 2:
            return self.leaves[start] if end > start else sha()
        middle = start + half(end - start)
        return sha(b"\1", self.root_of(start, middle), self.root_of(middle, end))

    def path(self, index, start, end):
        if end - start == 1:
            return []
        middle = start + half(end - start)
        if index < middle:
            return self.path(index, start, middle) + [self.root_of(middle, end)]
        return self.path(index, middle, end) + [self.root_of(start, middle)]

    def growth(self, old, start, end, whole=True):
        if old == end:
            return [] if whole else [self.root_of(start, end)]
        middle = start + half(end - start)
        if old <= middle:
            return self.growth(old, start, middle, whole) + [self.root_of(middle, end)]
        return self.growth(old, middle, end, False) + [self.root_of(start, middle)]


class Log:
    """Entries under a key, and what is signed and proved of them."""

    def __init__(self, signer, entries=(), witnesses=()):
        self.signer, self.entries, self.witnesses = signer, list(entries), witnesses

    def add(self, entry):
        self.entries.append(entry if isinstance(entry, bytes) else canonical(entry).encode())
        return len(self.entries) - 1

    @functools.cached_property
    def tree(self):
        """Of the log when it is complete."""
        return Tree([sha(b"\0", entry) for entry in self.entries])

    @functools.lru_cache(None)
    def checkpoint(self, size=None, time=1764547200):
        size = len(self.entries) if size is None else size
        text = f"{self.signer.name}\n{size}\n{b64(self.tree.root_of(0, size))}\n"
        return text + "\n" + self.signer.line(text) + "".join(witness.line(text, time) for witness in self.witnesses)

    def proof(self, index, size=None):
        size = len(self.entries) if size is None else size
        hashes = "".join(f"{b64(one)}\n" for one in self.tree.path(index, 0, size))
        return f"c2sp.org/tlog-proof@v1\nindex {index}\n{hashes}\n{self.checkpoint(size)}"

    def growth(self, old, size=None):
        size = len(self.entries) if size is None else size
        hashes = self.tree.growth(old, 0, size) if 0 < old < size else []
        return {"from": old, "hashes": [b64(one) for one in hashes]}


# --- documents, terms and usage of some customers

MONTHS = ("2026-08", "2026-09", "2026-10")
PLACES = {"DE": "EU", "FR": "EU", "NY": "NA", "SG": "ASIA"}
PRICES = {"EU": Decimal("0.01"), "NA": Decimal("0.01"), "ASIA": Decimal("0.03")}


def book_text(name="standard-2026"):
    return canonical({"bandwidth": {"premium": {"per": "GB", "regions": {region: str(price) for region, price in PRICES.items()}}},
                      "book": name, "currency": "USD", "effective_from": "2026-01-01T00:00:00Z"})


class World:
    """A log with a book, three customers, the usage of three months and their documents. The first customer's usage of a day in
    September comes late: that document of October corrects it. What is committed stays in `opened`, by the entry's index."""

    def __init__(self, signer, random, witnesses=(), days=6, hours=3):
        self.log, self.random = Log(signer, witnesses=witnesses), random
        self.opened, self.documents, self.terms, self.days = {}, {}, {}, defaultdict(dict)
        self.previous, self.numbers = None, 0
        self.book = book_text()
        self.book_at = self.log.add({"book": "standard-2026", "sha256": hashlib.sha256(self.book.encode()).hexdigest(), "type": "book", "v": 1})
        for month in MONTHS:
            for day in range(1, days + 1):
                for account in (1, 2, 3):
                    self.use(account, f"{month}-{day:02}", hours)
            if month == MONTHS[2]:
                self.late = self.use(1, f"{MONTHS[1]}-02", hours, again=True)
            for account in (1, 2, 3):
                self.bill(account, month)

    def commit(self, text, entry):
        salt = self.random.randbytes(32)
        index = self.log.add({**entry, "commit": b64(sha(salt, text.encode())), "v": 1})
        self.opened[index] = {"text": text, "salt": b64(salt)}
        return index

    def use(self, account, day, hours, again=False):
        lines, before = [], self.days[account].get(day)
        for zone in (100 * account + 1, 100 * account + 2):
            for place in PLACES:
                for hour in range(hours):
                    count = self.random.randrange(1, 10**9)
                    lines.append(f"zone\t{zone}\t{place}\t{day}T{hour:02}:00:00Z\trequests={count % 977 + 1}\tbytes={count}\n")
        lines += [f"meter\tscripts\tlogin\t\t\t{day}T01:00:00Z\t{self.random.randrange(1, 1000)}\n"] if account == 1 else []
        of = {"of": before} if again else {}
        index = self.commit("".join(lines), {"day": day, "type": "usage", **of})
        self.opened[index].update(day=day, of=before)
        self.days[account][day] = index
        return before, index

    def month_of(self, account, month, days):
        return {"bytes": [], "contract": {"percentile": False}, "days": [[self.opened[index]["day"], index] for index in days], "fees": [],
                "meters": [{"id": "scripts", "kind": "counter"}] if account == 1 else [], "month": month,
                "parts": [{"book": {"id": "standard-2026", "sha256": hashlib.sha256(self.book.encode()).hexdigest()},
                           "from": f"{month}-01T00:00:00Z", "to": None}],
                "places": [{"code": code, "region": region} for code, region in PLACES.items()], "ties": []}

    def quantities(self, days):
        """{(kind, thing, region): quantity} of some days."""
        sums = defaultdict(int)
        for index in days:
            for line in self.opened[index]["text"].splitlines():
                fields = line.split("\t")
                if fields[0] == "zone":
                    sums["bandwidth", f"zone:{fields[1]}", PLACES[fields[2]]] += int(line.rpartition("bytes=")[2])
                else:
                    sums["meter", "script:login", ""] += int(fields[6])
        return sums

    @staticmethod
    def line(number_, key, quantity, corrects=None):
        kind, resource, region = key
        price = PRICES[region] if kind == "bandwidth" else Decimal(0)
        line = {"amount": str((quantity * price / 10**9).quantize(Decimal("0.01"))), "kind": "correction" if corrects else kind,
                "line": number_, "quantity": str(quantity), "region": region, "resource": resource}
        if kind == "meter":
            line["meter"] = "scripts"
        if corrects:
            line["corrects"] = {"invoice": corrects, "kind": kind, "since": 1}
            line["period"] = {"end": "2026-10-01T00:00:00Z", "start": "2026-09-01T00:00:00Z"}
        return line

    def bill(self, account, month):
        self.numbers += 1
        name = f"2026-{self.numbers:06}"
        days = [index for day, index in sorted(self.days[account].items()) if day.startswith(month)]
        lines = [self.line(0, key, quantity) for key, quantity in sorted(self.quantities(days).items())]
        lates = []
        if (account, month) == (1, MONTHS[2]):
            lates, corrections = self.corrections()
            lines += corrections
        for at, line in enumerate(lines):
            line["line"] = at + 1
        document = {"account": account, "book": {"id": "standard-2026", "sha256": hashlib.sha256(self.book.encode()).hexdigest()},
                    "currency": "USD", "kind": "invoice", "lines": lines, "number": name, "paid": "0.00",
                    "period": {"end": f"{month[:5]}{int(month[5:]) + 1:02}-01T00:00:00Z", "start": f"{month}-01T00:00:00Z"},
                    "previous": self.previous, "state": "final", "tax": [], "watermark": self.numbers}
        document["subtotal"] = document["total"] = document["payable"] = str(sum(Decimal(line["amount"]) for line in lines))
        text = self.sealed(document)
        index = self.commit(text, {"month": month, "type": "invoice"})
        terms = {"account": account, "charges": [], "kind": "invoice", "lates": lates, "month": month,
                 "months": [self.month_of(account, month, days)], "number": name, "rules": "now", "v": 1, "watermark": self.numbers}
        self.documents[name] = index
        self.terms[name] = self.commit(canonical(terms), {"month": month, "type": "terms"})

    def sealed(self, document):
        """With its own sha256."""
        document.pop("sha256", None)
        document["sha256"] = self.previous = hashlib.sha256(canonical(document).encode()).hexdigest()
        return canonical(document)

    def corrections(self):
        old, new = self.late
        before = [index for day, index in sorted(self.days[1].items()) if day.startswith(MONTHS[1])]
        after, before = before, [old if index == new else index for index in before]
        was, now = self.quantities(before), self.quantities(after)
        lates = [{"after": self.month_of(1, MONTHS[1], after), "before": [self.month_of(1, MONTHS[1], before)],
                  "billed": [{"number": "2026-000004"}], "invoice": "2026-000004", "month": MONTHS[1], "since": 1}]
        return lates, [self.line(0, key, now[key] - was[key], "2026-000004") for key in sorted(now) if now[key] != was[key]]

    # --- what a customer gets

    def part(self, index, size=None):
        return {**self.opened[index], "proof": self.log.proof(index, size)}

    def day(self, index, size=None):
        one = self.opened[index]
        return {"day": one["day"], "of": one["of"], "text": one["text"], "salt": one["salt"], "proof": self.log.proof(index, size)}

    def bundle(self, name, size=None, since=None):
        terms = json.loads(self.opened[self.terms[name]]["text"])
        months = [*terms["months"], *(month for late in terms["lates"] for month in (*late["before"], late["after"]))]
        days = sorted({index for month in months for _, index in month["days"]})
        return {"v": 1, "log": self.log.signer.name, "checkpoint": self.log.checkpoint(size),
                "invoice": self.part(self.documents[name], size), "terms": self.part(self.terms[name], size),
                "books": [{"text": self.book, "proof": self.log.proof(self.book_at, size)}],
                "days": [self.day(index, size) for index in days],
                "earlier": [self.part(self.documents[late["invoice"]], size) for late in terms["lates"]],
                "consistency": None if since is None else self.log.growth(since, size)}

    def receipts(self, account, month):
        days = sorted(index for day, index in self.days[account].items() if day.startswith(month))
        return {"month": month, "log": self.log.signer.name, "checkpoint": self.log.checkpoint(), "days": [self.day(index) for index in days]}
