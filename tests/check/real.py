"""Bundles of the real program: a database with three customers, two months and most kinds of lines, made from the command line; its
log, whose entries are read back so that proofs can be made and forged (bundle_maker.Log); and a bundle of each document."""
import copy
import json
import os
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
TOLLBOOK, CHECKER = BUILD / "tollbook", BUILD / "tollbook-check"
NAME = "example.com/tollbook"
SINCE = "2026-01-05T00:00:00Z"

CATALOG = {
    "accounts": [
        {"id": 1, "name": "acme", "tax": {"VAT": "19"}, "discounts": {"EUUSDiscount": 5}, "fees": ["gold"],
         "contract": {"discount_percent": "2", "commit": {"monthly": "100"}}},
        {"id": 2, "name": "borealis", "tax": {"category": "AE", "reason": "Reverse charge"}},
        {"id": 3, "name": "cirrus", "contract": {"bandwidth": "percentile", "book": "cirrus-2026"}, "fees": ["pledge"]}],
    "zones": [
        {"id": 101, "account": 1, "name": "video", "created": SINCE},
        {"id": 102, "account": 1, "name": "bulk", "type": "volume", "created": SINCE},
        {"id": 103, "account": 1, "name": "more", "type": "volume", "created": SINCE},
        {"id": 104, "account": 1, "name": "own", "created": SINCE, "settings": {"PriceOverride": 0.000000000004, "OptimizerEnabled": True}},
        {"id": 201, "account": 2, "name": "live", "created": SINCE}, {"id": 301, "account": 3, "name": "port", "created": SINCE}],
    "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "zones": [101, 102]}],
    "meters": [
        {"meter": "scripts", "name": "Edge scripts", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region"]},
        {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "display": {"unit": "GB", "per": "1000000000"},
         "resource": "storage_zone"}]}
BOOK = {
    "book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "minimum_monthly": "1.00",
    "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}},
                  "volume": {"per": "GB", "tiers": [{"from": "0", "to": "100", "price": "0.005"}, {"from": "100", "to": None, "price": "0.004"}]},
                  "percentile": {"per": "Mbps", "percentile": "95", "price": "0.80"}},
    "optimizer": {"monthly": "9.50"},
    "load_balancer": {"monthly_fee": "9.50", "included_requests": 0, "included_axis": "absolute",
                      "tiers": [{"from_millions": 0, "to_millions": None, "price_per_million": "0.65"}]},
    "meters": {"scripts": {"per": "1000", "by": "region", "prices": {"*": {"price": "0.20"}}},
               "storage": {"per": "GB", "time": "month", "price": "0.02"}},
    "fees": {"gold": {"name": "Gold support", "amount": "12"}, "pledge": {"name": "Pledge", "amount": "120", "every": "year", "timing": "advance"}}}
LATER = {**BOOK, "book": "autumn-2026", "effective_from": "2026-10-16T00:00:00Z"}
LATER["bandwidth"] = {**BOOK["bandwidth"], "premium": {"per": "GB", "regions": {"EU": "0.012", "NA": "0.01", "ASIA": "0.03"}}}
# The third customer's own book. Its fee is given back in October by the book that billed it, which prices nothing else of that month.
OWN = {**BOOK, "book": "cirrus-2026", "effective_from": "2026-10-01T00:00:00Z", "scope": "contract"}


class Real:
    """In a folder of the caller's. Amounts of usage are drawn by `random`."""

    def __init__(self, folder, random, days=(1, 2, 17)):
        self.folder, self.random, self.days = Path(folder), random, days
        self.db, self.key = self.folder / "t.db", self.folder / "key"
        self.tool("init")
        self.vkey = self.tool("proof key", "--new", self.key, "--name", NAME, db=False).strip()
        self.tool("apply", "-", stdin=json.dumps(CATALOG), now="2026-09-01T00:00:00Z")
        for book in (BOOK, LATER, OWN):
            self.tool("book add", "-", stdin=json.dumps(book))
        self.use("2026-09")
        self.tool("proof start", "--proof-key-file", self.key, now="2026-10-02T00:00:00Z")
        self.tool("charge add", "--account", 1, "--amount", 25, "--description", "Set-up", "--month", "2026-09", now="2026-09-30T00:00:00Z")
        self.bill("2026-09", "2026-10-03T09:00:00Z")
        without = copy.deepcopy(CATALOG)
        without["accounts"][2]["fees"] = []
        self.tool("apply", "--backdated", "-", stdin=json.dumps(without), now="2026-10-20T00:00:00Z")
        self.use("2026-10")
        self.late()
        self.bill("2026-10", "2026-11-03T09:00:00Z")

    def tool(self, words, *more, db=True, now="2026-11-04T09:00:00Z", stdin=None, status=0):
        done = subprocess.run([TOLLBOOK, *words.split(), *(["--db", self.db] if db else []), *map(str, more)], input=stdin, text=True, check=False,
                              capture_output=True, env={**os.environ, "TOLLBOOK_NOW": now, "TOLLBOOK_CONFIG": "none"}, timeout=60)
        if status is not None and done.returncode != status:
            raise AssertionError(f"tollbook {words} {more}: exit {done.returncode}\n{done.stderr}{done.stdout[-2000:]}")
        return done.stdout

    def use(self, month):
        """Hours of zones, and what meters count; log lines of its second day, of which load balancers count."""
        rows = []
        for day in self.days:
            for zone in (101, 102, 103, 104, 201, 301):
                for region in ("DE", "NY", "SG"):
                    for hour in (0, 13):
                        rows.append({"zone": zone, "hour": f"{month}-{day:02}T{hour:02}:00:00Z", "region": region,
                                     "requests": self.random.randrange(1, 100), "bytes": self.random.randrange(1, 10**11)})
            rows.append({"meter": "scripts", "account": 1, "resource": "login", "dimensions": {"region": "DE"},
                         "hour": f"{month}-{day:02}T05:00:00Z", "value": self.random.randrange(1, 10**5)})
            rows.append({"meter": "storage", "account": 2, "resource": "films", "time": f"{month}-{day:02}T05:30:00Z",
                         "value": self.random.randrange(1, 10**12)})
        self.take(rows)
        moment = {"2026-09": 1788307200000, "2026-10": 1790899200000}[month]  # of the second
        lines = "".join(f"{cache}|200|{moment + i * 1000}|{self.random.randrange(10**6)}|{zone}|192.0.2.1|-|https://z/x|DE|agent|{'0' * 32}|DE\n"
                        for i, (zone, cache) in enumerate((zone, cache) for zone in (101, 102, 104) for cache in ("MISS", "HIT", "REVALIDATED")))
        self.tool("ingest", "-", stdin=lines)

    def take(self, rows, *words):
        self.tool("import", *words, "-", stdin="".join(json.dumps(row) + "\n" for row in rows), now="2026-11-02T09:00:00Z")

    def late(self):
        """Usage of September after its run: more of the first customer, and of the second."""
        self.take([{"zone": zone, "hour": "2026-09-02T13:00:00Z", "region": region, "requests": 5, "bytes": 5 * 10**9}
                   for zone in (101, 102, 201) for region in ("DE", "SG")], "--batch", "late")

    def bill(self, month, now):
        self.tool("invoice", "--month", month, "--finalize", "--proof-key-file", self.key, now=now)

    def numbers(self):
        return [line for line in self.tool("query", "SELECT number FROM invoice ORDER BY number").split()[1:]]

    def bundle(self, number, *words):
        out = self.folder / f"{number}{len(words)}.tollproof"
        out.unlink(missing_ok=True)
        self.tool("proof bundle", "--number", number, "--out", out, *words)
        return out.read_bytes()

    def entries(self):
        return [line.encode() for line in self.tool("query", "SELECT entry FROM proof_entry ORDER BY id").splitlines()[1:]]


if __name__ == "__main__":
    from random import Random
    Real(sys.argv[1], Random(1))
