"""What the scripts about a month's invoices share: a database whose October waits to be made final, and
what must hold of it however the run was disturbed.
"""
import json
import shutil
from pathlib import Path
from faults import SOURCE, require, run, verify

ACCOUNTS = 130  # with an invoice: three groups of the commits of a run
IDLE = range(200, 225)  # accounts with nothing due: the end of the third group, and one more
FINALIZE = ("--month", "2026-10", "--finalize")


def catalog(count):
    accounts = range(1, count + 1)
    return {
        "accounts": [{"id": a, "name": f"a{a}", "currency": "USD"} for a in (*accounts, *IDLE)],
        "zones": [{"id": 10 * a + z, "account": a, "name": f"z{a}-{z}",
                   "type": ("premium", "volume")[z % 2], "created": "2026-01-05T00:00:00Z"}
                  for a in accounts for z in range(3)]
        + [{"id": 10 * a, "account": a, "name": f"z{a}", "created": "2026-01-05T00:00:00Z",
            "settings": {"Enabled": False}} for a in IDLE],
        "load_balancers": [{"id": a, "account": a, "created": "2026-01-10T00:00:00Z",
                            "deleted": None, "zones": [10 * a]} for a in accounts if a % 3 == 0],
    }


def usage(zones, rng):
    """Some hours of October, in three places."""
    return "".join(
        json.dumps({"zone": zone["id"], "region": region, "requests": rng.randrange(10 ** 6),
                    "hour": f"2026-10-{rng.randrange(1, 32):02}T{rng.randrange(24):02}:00:00Z",
                    "bytes": rng.randrange(10 ** 12)}) + "\n"
        for zone in zones for region in ("DE", "NY", "SG") for _ in range(4)).encode()


def make_month(path, rng, count=ACCOUNTS):
    """A database whose October waits to be made final."""
    db, declared = path / "base.db", path / "catalog.json"
    what = catalog(count)
    declared.write_text(json.dumps(what))
    run("init", "--db", db)
    run("alerts", "--db", db, "--on")
    run("apply", "--db", db, declared)
    run("book", "--db", db, SOURCE / "fixtures" / "book.json")
    run("import", "--db", db, "-", stdin=usage(
        [zone for zone in what["zones"] if zone["account"] not in IDLE], rng))
    for account in (2, 60, count):
        run("ledger", "credit", "--db", db, "--account", account, "--amount", "3.50")
        run("ledger", "credit", "--db", db, "--account", account, "--amount", "1", "--expires", "2026-12-31")
    return db


def copy(base, to):
    """The base as a database of its own; nothing is open, so the file is all there is of it."""
    for end in ("", "-wal", "-shm", ".lock"):
        Path(str(to) + end).unlink(missing_ok=True)
    shutil.copy(base, to)
    return to


def rows(db, table):
    return run("query", "--db", db, f"SELECT * FROM {table} ORDER BY id").stdout.splitlines()[1:]


def money(db):
    return rows(db, "invoice"), rows(db, "ledger"), rows(db, "month_run")


def told(db):
    """The numbers of the invoices that a message waits to tell of."""
    return run("query", "--db", db, "--format", "tsv", "SELECT body->>'$.data.number' FROM outbox WHERE"
               " type='invoice.finalized' AND state='waiting' ORDER BY id").stdout.splitlines()[1:]


def whole_so_far(db, clean):
    """What is there is the beginning of the undisturbed run: numbers, chain and bytes included."""
    verify(db)
    invoices, ledger, runs = money(db)
    kinds = [row.split(b"\t")[3] for row in ledger]
    require(len(invoices) == kinds.count(b"invoice"), len(invoices), "invoices and", len(ledger), "entries")
    require(len(invoices) < ACCOUNTS or b"credit_drawn" in kinds, "nothing was drawn")
    final = [row.split(b"\t")[5] for row in runs if row.split(b"\t")[4] == b"final"]
    require(final == [row.split(b"\t")[3] for row in invoices], "runs are noted of", final)
    require(runs == clean[2][:len(runs)], "runs differ from an undisturbed run's")
    require(told(db) == [row.split(b"\t")[3] for row in invoices], "messages are of", told(db))
    require(len(invoices) < ACCOUNTS or len(runs) > len(invoices), "the third group is cut in two")
    require(invoices == clean[0][:len(invoices)], "invoices differ from an undisturbed run's")
    require(ledger == clean[1][:len(ledger)], "the ledger differs from an undisturbed run's")
    return len(invoices)


def completes(db, clean, printed):
    done = run("invoice", "--db", db, *FINALIZE)
    require(whole_so_far(db, clean) == len(clean[0]), "the run again left accounts out")
    require(money(db)[2] == clean[2], "the run again noted other runs")
    require(done.stdout == printed, "the run again prints other invoices")


def clean_month(base, path):
    """Invoices, ledger and runs of an undisturbed run, and what it prints."""
    db = copy(base, path / "clean.db")
    printed = run("invoice", "--db", db, *FINALIZE).stdout
    clean = money(db)
    numbers = [row.split(b"\t")[3] for row in clean[0]]
    require(numbers == [b"2026-%06d" % (i + 1) for i in range(len(numbers))], "numbers:", numbers)
    whose = [int(row.split(b"\t")[1]) for row in clean[2]]
    require(whose[len(numbers):] == [*IDLE, 0], "runs:", whose)
    again = run("invoice", "--db", db, *FINALIZE).stdout
    require(again == printed and money(db) == clean, "the same run again is another")
    verify(db)
    return clean, printed
