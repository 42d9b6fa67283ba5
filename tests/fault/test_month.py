"""A month made final where there is no room, by several at once, and beside a server. What was done
counts, numbers have no gap and none is there twice, and the same command again ends with the bytes
of an undisturbed run.
"""
import json
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from faults import (ENVIRONMENT, LONG, PATIENCE, SOURCE, TOLLBOOK, folder, in_own_mounts,
                    mount_small, require, run, seed, start)
from month import ACCOUNTS, FINALIZE, clean_month, completes, copy, make_month, money, whole_so_far

rng = seed()
AT_ONCE = 60 if LONG else 6
ROOMS = 40 if LONG else 8
PLENTY = 24 << 20  # for the file, its log and what is added


# --- a full disk ---

def full_disk(path):
    """A small file system, in a mount namespace of its own (this script again, inside)."""
    said = in_own_mounts(__file__, path)
    print(said or "skipped: this machine lets nobody mount; test_crash_billing has a size limit")


def inside(path):
    """There is room for a part of the month, a little more each time; then space is made."""
    base = make_month(path, rng)
    clean, printed = clean_month(base, path)
    small = path / "small"
    mount_small(small, base.stat().st_size + PLENTY)
    ballast, db = small / "ballast", small / "t.db"
    partly = refused = 0
    for number in range(ROOMS):
        ballast.unlink(missing_ok=True)
        copy(base, db)
        room = (32 << 10) + number * (1200 << 10) // ROOMS
        ballast.write_bytes(bytes(PLENTY - room))
        done = run("invoice", "--db", db, *FINALIZE, expect=(0, 3))
        text = done.stderr.decode()
        if done.returncode == 3:
            refused += 1
            require(str(db) in text and "full" in text and "free space" in text, "says", text)
        ballast.unlink()
        there = whole_so_far(db, clean)
        require(done.stdout.count(b'"number":') <= there, "printed and not there:", there)
        partly += 0 < there < ACCOUNTS
        completes(db, clean, printed)
    require(refused, "the disk was never full")
    require(partly, "the disk was never full in the middle")
    print(f"a disk that is full: {refused} runs of {ROOMS} stopped, {partly} of them in the middle, "
          "each went on once there was space")


def small_log(path):
    """The log beside the database stays small, however long the month is: files may not grow past 14
    MiB here, and the pages written come to more."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (14 << 20, 14 << 20))

    ids = range(1, 6001)
    db, declared = path / "t.db", path / "catalog.json"
    declared.write_text(json.dumps({
        "accounts": [{"id": i, "name": f"a{i}", "currency": "USD"} for i in ids],
        "zones": [{"id": i, "account": i, "name": f"z{i}", "type": "premium",
                   "created": "2026-01-05T00:00:00Z"} for i in ids]}))
    run("init", "--db", db)
    run("apply", "--db", db, declared)
    run("book", "--db", db, SOURCE / "fixtures" / "book.json")
    run("invoice", "--db", db, *FINALIZE, preexec_fn=limit)
    require(len(money(db)[0]) == len(ids), "invoices are missing")


# --- several at once ---

def at_once(path):
    """One does it, the others say who has the database; those that come after find it done."""
    base = make_month(path, rng)
    clean, printed = clean_month(base, path)
    db = path / "t.db"
    refused = 0
    for _ in range(AT_ONCE):
        copy(base, db)
        runs = [start("invoice", "--db", db, *FINALIZE) for _ in range(4)]
        outputs = [process.communicate(timeout=PATIENCE) for process in runs]
        ids = [str(process.pid).encode() for process in runs]
        for process, (out, text) in zip(runs, outputs):
            if process.returncode == 0:
                require(out == printed, "a run beside others prints other invoices")
                continue
            refused += 1
            # Whoever has just taken the lock may not have written its name yet.
            named = any(b"process " + other + b")" in text for other in ids) \
                or b"another process" in text
            require(process.returncode == 3 and out == b"" and str(db).encode() in text and named,
                    process.returncode, "prints", out, "says", text)
        require(any(process.returncode == 0 for process in runs), "nobody did it")
        require(whole_so_far(db, clean) == ACCOUNTS, "an account was left out")
    require(refused, "no two runs met")
    print(f"{AT_ONCE} times four runs at once, {refused} of them turned away")


def serving(db, port_file):
    process = subprocess.Popen([TOLLBOOK, "serve", "--db", db, "--listen", "127.0.0.1:0",
                                "--port-file", port_file, "--threads", "2"], env=ENVIRONMENT,
                               stderr=subprocess.PIPE)
    end = time.monotonic() + PATIENCE
    while not port_file.exists():
        require(process.poll() is None and time.monotonic() < end, "serve did not start")
        time.sleep(0.005)
    return process, port_file.read_text().strip()


def beside_serve(path):
    """The server holds the database: a run is told so and changes nothing; reading goes on."""
    base = make_month(path, rng)
    clean, printed = clean_month(base, path)
    db = copy(base, path / "t.db")
    process, port = serving(db, path / "port")
    for words in (FINALIZE, ("--void", "2026-000001")):
        done = run("invoice", "--db", db, *words, expect=(3,))
        text = done.stderr.decode()
        require(done.stdout == b"" and f"serve 127.0.0.1:{port} (process {process.pid})" in text,
                "says", text)
    require(run("invoice", "--db", db, "--month", "2026-10").stdout.count(b'"number":null')
            == ACCOUNTS, "drafts are missing beside a server")
    require(whole_so_far(db, clean) == 0, "something was made final beside a server")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    completes(db, clean, printed)


if sys.argv[1:2] == ["inside"]:
    inside(Path(sys.argv[2]))
    sys.exit(0)

for case in (full_disk, small_log, at_once, beside_serve):
    with folder() as name:
        case(Path(name))
    print(f"{case.__name__}: as it should be", flush=True)
