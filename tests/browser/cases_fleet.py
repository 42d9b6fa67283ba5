"""The operator's home and a customer's page: accounts by name, figures that are the API's, and journeys with their steps counted."""
import json
import subprocess
from decimal import Decimal

from pages import ConsoleCase, axe
from harness import ENVIRONMENT, TOLLBOOK, Server, run

NAMES = ("Nordlicht Film", "Hafen Media", "Kite Games", "Alpenblick", "Zephyr News", "Quay Radio", "Sturm & Drang", "Ötztal TV")
BOOK = {"book": "list", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
FLEET = 75


def name_of(account):
    return NAMES[account - 1] if account <= len(NAMES) else f"Customer {account:05}"


def size_of(account, month):
    """GB of a day: account 3 doubles in November, account 2 loses half, the others stay."""
    factor = {(3, 11): 200, (2, 11): 50, (5, 11): 130}.get((account, month), 100)
    return 10**12 * (account % 7 + 1) * factor // 100


def rows_of(accounts):
    """Each day a little traffic of each account's first zone; September is invoiced, October is not."""
    for account in range(1, accounts + 1):
        for month, days in ((9, 3), (10, 4), (11, 4)):
            for day in range(1, days + 1):
                yield {"zone": account * 10 + 1, "hour": f"2026-{month:02}-{day:02}T05:00:00Z", "region": ("DE", "NY", "SG")[account % 3],
                       "requests": 1000 + account, "bytes": size_of(account, month), "cached_bytes": size_of(account, month) // 2,
                       "status_5xx": account % 4}


def catalog(accounts):
    return {"accounts": [{"id": one, "name": name_of(one), **({"contract": {"discount_percent": "5"}} if one == 3 else {})} for one in range(1, accounts + 1)],
            "zones": [{"id": account * 10 + n, "account": account, "name": f"{name_of(account).split()[0].lower()}-{account}-{n}",
                       "created": "2026-01-05T00:00:00Z"} for account in range(1, accounts + 1) for n in (1, 2)]}


class Fleet(Server):
    accounts = FLEET

    def make(self, log):
        run("init", "--db", self.db)
        run("apply", "--delete", "--db", self.db, "-", stdin=json.dumps(catalog(self.accounts)).encode())
        run("book", "--db", self.db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", self.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows_of(self.accounts)).encode())
        subprocess.run([TOLLBOOK, "invoice", "--db", self.db, "--month", "2026-09", "--finalize"], check=True, capture_output=True,
                       env={**ENVIRONMENT, "TOLLBOOK_NOW": "2026-10-01T06:00:00Z"})
        run("ledger", "pay", "--db", self.db, "--account", 1, "--amount", "60.00", "--reference", "wire 1")
        return {"operator": self.make_key(0, "Operator"), "user": self.make_key(3, "User")}
