"""A month's invoices made final, disturbed: kill -9 at random moments, a second run beside the first,
no room. Numbers have no gap and none is there twice, what is there verifies, and the same command
again ends with the bytes of an undisturbed run.
"""
import os
import resource
import signal
import time
from pathlib import Path
from faults import LONG, folder, require, run, seed, start
from month import ACCOUNTS, FINALIZE, clean_month, completes, copy, make_month, whole_so_far

KILLS = 200 if LONG else 20
rng = seed()


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
    require(b"Wait for it to end" in second.stderr, "the remedy is missing:", second.stderr)
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
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

        done = run("invoice", "--db", db, *FINALIZE, expect=(0, 3), preexec_fn=limit)
        refused += done.returncode == 3
        require(done.returncode == 0 or str(db).encode() in done.stderr, "says", done.stderr)
        whole_so_far(db, clean)
        completes(db, clean, printed)
    require(refused, "no limit was too small")


def main(path):
    base = make_month(path, rng)
    db = path / "t.db"
    begin = time.monotonic()
    clean, printed = clean_month(base, path)
    longest = 1.2 * (time.monotonic() - begin)
    for case, more in ((killed, (longest,)), (two_at_once, ()), (file_limit, ())):
        case(base, db, clean, printed, *more)
        print(f"{case.__name__}: as it should be", flush=True)


with folder() as name:
    main(Path(name))
