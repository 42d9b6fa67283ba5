"""A month's invoices made final, disturbed: kill -9 at random moments, a second run beside the first,
no room. Numbers have no gap and none is there twice, what is there verifies, and the same command
again ends with the bytes of an undisturbed run.
"""
import json
import os
import resource
import shutil
import signal
import time
from pathlib import Path
from faults import LONG, SOURCE, folder, require, run, seed, start, verify

KILLS = 200 if LONG else 20
ACCOUNTS = 130  # three groups of the commits of a run
FINALIZE = ("--month", "2026-10", "--finalize")
rng = seed()


def catalog():
    accounts = range(1, ACCOUNTS + 1)
    return {
        "accounts": [{"id": a, "name": f"a{a}", "currency": "USD"} for a in accounts],
        "zones": [{"id": 10 * a + z, "account": a, "name": f"z{a}-{z}",
                   "type": ("premium", "volume")[z % 2], "created": "2026-01-05T00:00:00Z"}
                  for a in accounts for z in range(3)],
        "load_balancers": [{"id": a, "account": a, "created": "2026-01-10T00:00:00Z",
                            "deleted": None, "zones": [10 * a]} for a in accounts if a % 3 == 0],
    }


def usage(zones):
    """Some hours of October, in three places."""
    return "".join(
        json.dumps({"zone": zone["id"], "region": region, "requests": rng.randrange(10 ** 6),
                    "hour": f"2026-10-{rng.randrange(1, 32):02}T{rng.randrange(24):02}:00:00Z",
                    "bytes": rng.randrange(10 ** 12)}) + "\n"
        for zone in zones for region in ("DE", "NY", "SG") for _ in range(4)).encode()


def make_month(path):
    """A database whose October waits to be made final."""
    db, declared = path / "base.db", path / "catalog.json"
    what = catalog()
    declared.write_text(json.dumps(what))
    run("init", "--db", db)
    run("apply", "--db", db, declared)
    run("book", "--db", db, SOURCE / "fixtures" / "book.json")
    run("import", "--db", db, "-", stdin=usage(what["zones"]))
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
    return rows(db, "invoice"), rows(db, "ledger")


def whole_so_far(db, clean):
    """What is there is the beginning of the undisturbed run: numbers, chain and bytes included."""
    verify(db)
    invoices, ledger = money(db)
    require(len(invoices) == len(ledger), len(invoices), "invoices and", len(ledger), "entries")
    require(invoices == clean[0][:len(invoices)], "invoices differ from an undisturbed run's")
    require(ledger == clean[1][:len(ledger)], "the ledger differs from an undisturbed run's")
    return len(invoices)


def completes(db, clean, printed):
    done = run("invoice", "--db", db, *FINALIZE)
    require(whole_so_far(db, clean) == ACCOUNTS, "the run again left accounts out")
    require(done.stdout == printed, "the run again prints other invoices")


def killed(base, db, clean, printed, longest):
    kills = inside = tries = 0
    while kills < KILLS:
        copy(base, db)
        for _ in range(3):
            tries += 1
            require(tries < 20 * KILLS, "the kills come too late")
            process = start("invoice", "--db", db, *FINALIZE)
            time.sleep(rng.uniform(0, longest))
            process.kill()
            process.communicate()
            kills += process.returncode == -signal.SIGKILL
            inside += 0 < whole_so_far(db, clean) < ACCOUNTS
        completes(db, clean, printed)
    print(f"killed {kills} of {tries} runs, {inside} times with a part of the accounts done")


def two_at_once(base, db, clean, printed):
    """The first stands still in the middle, its output unread, and holds the database."""
    copy(base, db)
    first = start("invoice", "--db", db, *FINALIZE)
    begin = os.read(first.stdout.fileno(), 1)
    second = run("invoice", "--db", db, *FINALIZE, expect=(3,))
    require(second.stdout == b"" and f"process {first.pid}".encode() in second.stderr,
            "the second run says", second.stderr)
    rest, errors = first.communicate()
    require(first.returncode == 0 and begin + rest == printed, "the first run:", errors)
    completes(db, clean, printed)


def file_limit(base, db, clean, printed):
    """The files may not grow past a size: what a quota does."""
    refused = 0
    for step in range(1, 9):
        copy(base, db)
        room = step * (64 << 10)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        done = run("invoice", "--db", db, *FINALIZE, expect=(0, 3), preexec_fn=limit)
        refused += done.returncode == 3
        require(done.returncode == 0 or str(db).encode() in done.stderr, "says", done.stderr)
        whole_so_far(db, clean)
        completes(db, clean, printed)
    require(refused, "no limit was too small")


def main(path):
    base = make_month(path)
    db = copy(base, path / "clean.db")
    begin = time.monotonic()
    printed = run("invoice", "--db", db, *FINALIZE).stdout
    longest = 1.2 * (time.monotonic() - begin)
    clean = money(db)
    numbers = [row.split(b"\t")[3] for row in clean[0]]
    require(numbers == [b"2026-%06d" % (i + 1) for i in range(ACCOUNTS)], "numbers:", numbers)
    verify(db)
    for case, more in ((killed, (longest,)), (two_at_once, ()), (file_limit, ())):
        case(base, path / "t.db", clean, printed, *more)
        print(f"{case.__name__}: as it should be", flush=True)


with folder() as name:
    main(Path(name))
