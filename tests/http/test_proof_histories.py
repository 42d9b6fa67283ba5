"""Random years of bills, told twice: to a file with a log of documents and replication, whose standby is promoted in the middle of
the year, and to a plain file. Usage of pull zones and load balancers that nobody has declared finds its account later, edge
locations move between billing regions, and accounts change their currency while they may. Usage comes in time, late, and is
withdrawn; documents are made void.

Both files must have the same documents to the byte, every document must be rated again from what its customer gets, and `verify`
must find no difference. One year of a few months; TB_LONG=1: many whole years. TB_SEED repeats a run.
"""
import contextlib
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from harness import BUILD, ENVIRONMENT, SOURCE, TOLLBOOK, random_seed
from test_standby import Primary, Standby, level

sys.path.insert(0, str(SOURCE / "tests/oracle"))
sys.path.insert(0, str(SOURCE / "tests/check"))
from checked import check_documents  # noqa: E402
from real import BOOK, NAME  # noqa: E402

LONG = bool(os.environ.get("TB_LONG"))
YEARS, MONTHS = (16, 12) if LONG else (1, 3)
BILLING = ("EU", "NA", "ASIA")
PLACES = ("DE", "NY", "SG", "UK")
ACCOUNTS = 4  # at first
CONTRACTS = ({}, {"discount_percent": "7"}, {"commit": {"amount": "120", "every": "quarter", "from": "2026-01", "rollover": True}}, {"bandwidth": "percentile"},
             {"commit": {"monthly": "40"}, "cap": {"monthly": "30", "action": "disable"}}, {"cap": {"monthly": "5", "action": "alert"}}, {"minimum_monthly": "25"})
OWN = re.compile(r'"((watermark|since)":\d+|(previous|sha256)":("\w+"|null))|/\S+(kept|plain|copy)\.db')  # a file with a log has more commits, and a chain of its own


def books():
    for currency in ("USD", "EUR"):
        name = f"{currency.lower()}-2026"
        yield {**BOOK, "book": name, "currency": currency}
        later = copy.deepcopy({**BOOK, "book": f"{name}-july", "currency": currency, "effective_from": "2026-07-16T05:00:00Z"})
        later["bandwidth"]["premium"]["regions"] = {"EU": "0.011", "NA": "0.009", "ASIA": "0.02"}
        yield later


class Kept(Primary):
    """Over a file that is there."""

    def __init__(self, db, keys):
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-kept-")
        self.path, self.db, self.keys = Path(self.folder.name), db, keys
        self.write_key()
        self.start()

    def end(self):
        self.process.kill()
        self.folder.cleanup()


class Year:
    def __init__(self, rng, folder):
        self.rng, self.folder = rng, folder
        self.files = {"kept": folder / "kept.db", "plain": folder / "plain.db"}
        self.key = folder / "key"
        self.now = "2025-12-20T00:00:00Z"
        self.catalog = {
            "accounts": [{"id": a, "name": f"account {a}", "currency": "USD", "tax": {"VAT": "19"}} for a in range(1, ACCOUNTS + 1)],
            "zones": [{"id": 100 * a + n, "account": a, "name": f"zone-{a}-{n}", "type": ("premium", "volume")[n % 2], "created": self.now}
                      for a in range(1, ACCOUNTS + 1) for n in (1, 2, 3)],
            "load_balancers": [{"id": 10 + a, "account": a, "created": self.now, "zones": [100 * a + 1]} for a in range(1, ACCOUNTS + 1)],
            "regions": [{"id": i, "code": code, "name": f"EU: Place, {code}", "billing": BILLING[i % 3]} for i, code in enumerate(PLACES, 1)],
            "meters": [{"meter": "scripts", "name": "Scripts", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region"]},
                       {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "resource": "bucket",
                        "display": {"unit": "GB", "per": "1000000000"}}]}
        self.seen = {"found": 0, "regions": 0, "currencies": 0, "refused": 0, "withdrawn": 0, "void": 0}
        self.unknown = {"zone": [901, 902, 903, 904], "load_balancer": [91, 92]}  # which nobody has declared yet
        self.standby = None
        self.given = []  # imports that were not withdrawn

    # --- both files ---

    def tool(self, file, *words, stdin=None):
        done = subprocess.run([TOLLBOOK, *map(str, words), "--db", self.files[file]], input=stdin, text=True, capture_output=True, check=False,
                              env={**ENVIRONMENT, "TOLLBOOK_NOW": self.now})
        return done.returncode, done.stdout, done.stderr

    def both(self, *words, stdin=None, may=(0,)):
        """The same to both; what they answer must be the same."""
        one, other = ((status, OWN.sub("", out), OWN.sub("", said)) for status, out, said in (self.tool(file, *words, stdin=stdin) for file in self.files))
        if one != other or one[0] not in may:
            one, other = (f"exit {status}\n{said}{out}" for status, out, said in (one, other))
            at = max(len(os.path.commonprefix((one, other))) - 300, 0)
            raise AssertionError(f"{self.now}: {words}: {stdin}\n...{one[at:at + 1200]}\n\n...{other[at:at + 1200]}")
        return one[0], one[1]

    # --- what happens ---

    def account(self):
        return self.rng.choice(self.catalog["accounts"])["id"]

    def declare(self, may=(0,)):
        return self.both("apply", "--backdated", "--delete", "-", stdin=json.dumps(self.catalog), may=may)[0]

    def change(self):
        """A change of the catalogue, which may be refused: then nothing has changed."""
        before = copy.deepcopy(self.catalog)
        kind = self.rng.choice(("account", "zone", "zone", "balancer", "move", "region", "currency", "currency", "tax", "type", "contract", "contract", "gone"))
        one = self.rng.choice({"type": self.catalog["zones"], "gone": self.catalog["zones"], "region": self.catalog["regions"]}.get(kind, self.catalog["accounts"]))
        account = self.account()
        if kind == "account":
            self.catalog["accounts"].append({"id": len(self.catalog["accounts"]) + 1, "name": "new", "currency": "USD"})
        elif kind == "move":
            self.rng.choice(self.catalog["zones"] + self.catalog["load_balancers"])["account"] = account
        elif kind == "zone" and self.unknown["zone"]:
            self.catalog["zones"].append({"id": self.unknown["zone"].pop(), "account": account, "name": f"found by {account}"})
        elif kind == "balancer" and self.unknown["load_balancer"]:
            taken = {zone for balancer in self.catalog["load_balancers"] for zone in balancer["zones"]}
            free = [zone["id"] for zone in self.catalog["zones"] if zone["account"] == account and zone["id"] not in taken]
            self.catalog["load_balancers"].append({"id": self.unknown["load_balancer"].pop(), "account": account, "created": self.now,
                                                   "zones": free[:1]})
        elif kind == "region":
            one["billing"] = self.rng.choice(BILLING)
        elif kind == "currency":
            one = self.rng.choice(self.catalog["accounts"][-2:])  # the newest, which may have no entry yet
            one["currency"] = "EUR" if one["currency"] == "USD" else "USD"
        elif kind == "contract":
            one["contract"] = self.rng.choice(CONTRACTS)
        elif kind == "gone":
            self.catalog["zones"].remove(one)
            for balancer in self.catalog["load_balancers"]:
                balancer["zones"] = [zone for zone in balancer["zones"] if zone != one["id"]]
        elif kind == "type":
            one["type"] = self.rng.choice(("premium", "volume"))
        else:
            one["tax"] = {"VAT": self.rng.choice(("7", "19", "20"))}
        refused = self.declare(may=(0, 1, 2)) != 0
        changed = before != self.catalog
        self.seen["refused"] += refused
        self.seen["found"] += changed and not refused and kind in ("zone", "balancer")
        assert refused or kind != "move" or not changed, self.now  # neither zones nor balancers move once they have an account
        self.seen["regions"] += changed and not refused and kind == "region"
        self.seen["currencies"] += changed and not refused and kind == "currency"
        if refused:
            self.catalog = before
            if kind == "zone" or kind == "balancer":
                raise AssertionError(f"{self.now}: a {kind} that nobody had is refused")

    def owners(self, kind, unknown):
        return [one["id"] for one in self.catalog[kind]] + self.unknown[unknown]

    def use(self, month, n):
        rows = []
        for _ in range(n):
            hour = f"{month}-{self.rng.randrange(1, 29):02}T{self.rng.randrange(24):02}:00:00Z"
            kind = self.rng.random()
            if kind < 0.7:
                rows.append({"zone": self.rng.choice(self.owners("zones", "zone")), "hour": hour, "region": self.rng.choice(PLACES),
                             "requests": self.rng.randrange(1, 9), "bytes": self.rng.randrange(1, 10**self.rng.randrange(3, 13))})
            elif kind < 0.8:
                rows.append({"load_balancer": self.rng.choice(self.owners("load_balancers", "load_balancer")), "hour": hour, "requests": self.rng.randrange(10**7)})
            elif kind < 0.9:
                account = self.account()
                rows.append({"meter": "scripts", "account": account, "resource": f"s{account}", "dimensions": {"region": self.rng.choice(PLACES)}, "hour": hour,
                             "value": self.rng.randrange(10**5)})
            else:
                account = self.account()
                rows.append({"meter": "storage", "account": account, "resource": f"b{account}", "time": hour, "value": self.rng.randrange(10**12)})
        text = "".join(json.dumps(row) + "\n" for row in rows)
        self.both("import", "-", stdin=text)
        return text

    def withdraw(self):
        if not self.given:
            return
        self.both("import", "--withdraw", "-", stdin=self.given.pop(self.rng.randrange(len(self.given))), may=(0, 1, 2))
        self.seen["withdrawn"] += 1

    def charge(self, month):
        self.both("charge", "add", "--account", self.account(), "--amount", self.rng.choice(("25", "-3.50")), "--description",
                  "Work", "--month", month, may=(0, 1, 2))

    def void(self):
        numbers = self.numbers()
        if numbers:
            status, _ = self.both("invoice", "--void", self.rng.choice(numbers[-6:]), may=(0, 1, 2))  # not one that is corrected
            self.seen["void"] += not status

    def numbers(self):
        return self.both("query", "SELECT number FROM invoice WHERE state='final' ORDER BY number")[1].split()[1:]

    def month(self, month, after):
        for day in sorted(self.rng.randrange(5, 29) for _ in range(self.rng.randrange(5))):
            self.now = f"{month}-{day:02}T{self.rng.randrange(24):02}:30:00Z"
            self.change()
        self.now = f"{month}-28T23:45:00Z"
        self.given.append(self.use(month, self.rng.randrange(20, 60)))
        if self.rng.random() < 0.5:
            self.charge(month)
        self.now = f"{after}-03T09:00:00Z"
        self.tool("kept", "proof", "close-days", "--proof-key-file", self.key)
        if self.rng.random() < 0.3:
            self.change()
        self.both("invoice", "--month", month, "--finalize", may=(0, 1))
        self.now = f"{after}-04T09:00:00Z"
        for _ in range(self.rng.randrange(3)):  # what comes late is billed with the next month
            self.rng.choice((self.withdraw, self.void, self.change, lambda: self.given.append(self.use(month, 8))))()

    # --- the standby ---

    def follow(self):
        """The standby is made, or takes what commands have written."""
        with contextlib.ExitStack() as running:
            primary = Kept(self.files["kept"], self.keys)
            running.callback(primary.end)
            if self.standby is None:
                self.standby = Standby(primary, "--promotable")
            else:
                self.standby.of, self.standby.primary = primary.url, primary
                self.standby.start("--promotable")
            running.callback(self.standby.process.kill)
            level(self.standby)
            self.standby.stop()
            primary.stop()

    def promote(self):
        self.follow()
        self.files["kept"] = self.standby.db
        status, _, said = self.tool("kept", "promote")
        assert not status, said

    def tell(self):
        subprocess.run([TOLLBOOK, "proof", "key", "--new", self.key, "--name", NAME], check=True, capture_output=True, env=ENVIRONMENT)
        self.both("init")
        self.declare()
        for book in books():
            self.both("book", "add", "-", stdin=json.dumps(book))
        months = [f"2026-{m:02}" for m in range(1, MONTHS + 1)]
        begin, middle = self.rng.choice((0, 0, MONTHS // 3)), self.rng.randrange(MONTHS // 4, MONTHS - 1)
        for i, month in enumerate(months):
            if i == begin:
                assert not self.tool("kept", "proof", "start", "--proof-key-file", self.key)[0]
            if i == max(middle - 1, 0):
                self.keys = {name: self.tool("kept", "key", "create", "--account", 0, "--role", role)[1].strip()
                             for name, role in (("operator", "Operator"), ("replica", "Replica"))}
                self.follow()
            if i == middle:
                self.promote()
            self.month(month, f"2026-{i + 2:02}" if i < 11 else "2027-01")
        self.judge(begin)

    def end(self):
        if self.standby:
            self.standby.folder.cleanup()

    def judge(self, begin):
        documents = "SELECT number,state,document FROM invoice ORDER BY number"
        self.both("query", documents)
        self.both("query", "SELECT account,kind,currency,amount,reference,note FROM ledger ORDER BY id")
        for file in self.files:
            status, out, said = self.tool(file, "verify")
            assert not status, said + out
        self.documents = check_documents(self.files["kept"], begin == 0)
        assert not self.tool("kept", "proof", "close-days", "--proof-key-file", self.key)[0]
        for number in self.rng.sample(self.numbers(), min(3, len(self.numbers()))):
            self.check_bundle(number, begin)

    def check_bundle(self, number, begin):
        bundle = self.folder / f"{number}.tollproof"
        status, _, said = self.tool("kept", "proof", "bundle", "--number", number, "--out", bundle)
        if begin and "it cannot be proven" in said:
            return
        assert not status, said
        vkey = subprocess.run([TOLLBOOK, "proof", "vkey", "--key-file", self.key], check=True, capture_output=True, text=True, env=ENVIRONMENT).stdout.strip()
        done = subprocess.run([BUILD / "tollbook-check", bundle, "--key", vkey], capture_output=True, text=True, check=False)
        assert not done.returncode, done.stdout + done.stderr


class Histories(unittest.TestCase):
    def test_a_year_with_a_log_and_a_failover_bills_as_one_without(self):
        seed = random_seed()
        seen, documents = {}, 0
        for n in range(YEARS):
            with self.subTest(seed=seed + n), tempfile.TemporaryDirectory(prefix="tollbook-history-") as folder:
                year = Year(random.Random(seed + n), Path(folder))
                self.addCleanup(year.end)
                year.tell()
                documents += year.documents
                seen = {name: seen.get(name, 0) + count for name, count in year.seen.items()}
        print(f"{YEARS} years from seed {seed}: {documents} documents checked; {seen}")
        if LONG:
            self.assertTrue(all(seen.values()), seen)


if __name__ == "__main__":
    unittest.main()
