"""A month made final through a running server: the same invoices as a local run makes of a copy, also
where the client or the server is killed in the middle, and where two clients run at once. No number
is lost or given twice.
"""
import signal
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from pathlib import Path
from faults import (ENVIRONMENT, LONG, PATIENCE, TOLLBOOK, folder, require, run, seed, start)
from month import ACCOUNTS, FINALIZE, clean_month, copy, make_month, money, whole_so_far

rng = seed()
KILLS = 60 if LONG else 6


class Serving:
    """`tollbook serve` on a database, and commands sent to it."""

    def __init__(self, db, key):
        self.db, self.key = db, key
        self.port_file = Path(str(db) + ".port")
        self.start()

    def start(self):
        self.port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [TOLLBOOK, "serve", "--db", self.db, "--listen", "127.0.0.1:0", "--port-file",
             self.port_file, "--threads", "2"], env=ENVIRONMENT, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while not (self.port_file.exists() and self.port_file.read_text().strip()):
            require(self.process.poll() is None and time.monotonic() < end, "serve did not start")
            time.sleep(0.005)
        self.place = ("--server", f"http://127.0.0.1:{self.port_file.read_text().strip()}",
                      "--key", self.key)

    def stop(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)


def prepared(path):
    base = make_month(path, rng)
    key = run("key", "create", "--db", base, "--account", "0", "--role", "Operator").stdout
    clean, printed = clean_month(base, path)
    return base, key.decode().strip(), clean, printed


def ends_alike(db, clean, printed, serving):
    """The command again completes the month, with an undisturbed local run's bytes."""
    done = run("invoice", *serving.place, *FINALIZE)
    require(done.stdout == printed, "prints other invoices than a local run")
    serving.stop()
    require(whole_so_far(db, clean) == ACCOUNTS, "an account was left out")
    require(money(db)[2] == clean[2], "other runs than a local run notes")


def same_as_local(path):
    base, key, clean, printed = prepared(path)
    db = copy(base, path / "t.db")
    forms = ("csv", "html", "focus")
    drafts = run("invoice", "--db", db, "--month", "2026-10").stdout
    draft_forms = [run("invoice", "--db", db, "--month", "2026-10", "--format", form).stdout
                   for form in forms]
    serving = Serving(db, key)
    require(run("invoice", *serving.place, "--month", "2026-10").stdout == drafts, "other drafts")
    for form, text in zip(forms, draft_forms):
        there = run("invoice", *serving.place, "--month", "2026-10", "--format", form).stdout
        require(there == text, "other drafts as", form)
    done = run("invoice", *serving.place, *FINALIZE)
    require(done.stdout == printed, "prints other invoices than a local run")
    require(b"155 accounts: 130 made final" in done.stderr, done.stderr)
    again = run("invoice", *serving.place, *FINALIZE)
    require(again.stdout == printed and b"130 final before" in again.stderr, again.stderr)
    for form in forms:
        here = run("invoice", "--db", db, "--month", "2026-10", "--format", form).stdout
        there = run("invoice", *serving.place, "--month", "2026-10", "--format", form).stdout
        require(there == here, "other invoices as", form)
    ends_alike(db, clean, printed, serving)


def await_invoices(db, want, client):
    """Until so many are final: what is printed comes at the end, whole."""
    with closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as reader:
        while reader.execute("SELECT count(*) FROM invoice").fetchone()[0] < want:
            require(client.poll() in (None, 0), "the client ended early")


def killed_server(path):
    """Wherever it dies, whole groups are there; what the client printed is final."""
    base, key, clean, printed = prepared(path)
    partly = 0
    for number in range(KILLS):
        db = copy(base, path / "t.db")
        serving = Serving(db, key)
        client = start("invoice", *serving.place, *FINALIZE)
        await_invoices(db, (number % 3) * 45, client)
        time.sleep(rng.random() * 0.02)
        serving.stop(signal.SIGKILL)
        out, text = client.communicate(timeout=PATIENCE)
        there = whole_so_far(db, clean)
        require(out.count(b'"number":') <= there, "printed and not there")
        require(client.returncode in (0, 3), client.returncode, text)
        partly += 0 < there < ACCOUNTS
        serving.start()
        ends_alike(db, clean, printed, serving)
    require(partly, "no server died in the middle")
    print(f"{KILLS} servers killed, {partly} in the middle of the month")


def killed_client(path):
    base, key, clean, printed = prepared(path)
    for number in range(KILLS):
        db = copy(base, path / "t.db")
        serving = Serving(db, key)
        client = start("invoice", *serving.place, *FINALIZE)
        await_invoices(db, number % 3 * 45, client)
        client.send_signal(signal.SIGKILL)
        client.communicate(timeout=PATIENCE)
        ends_alike(db, clean, printed, serving)


def at_once(path):
    """Two clients: each account once, and both print all of it."""
    base, key, clean, printed = prepared(path)
    for _ in range(KILLS // 2):
        db = copy(base, path / "t.db")
        serving = Serving(db, key)
        runs = [start("invoice", *serving.place, *FINALIZE) for _ in range(2)]
        outputs = [None, None]

        def end(i):
            outputs[i] = runs[i].communicate(timeout=PATIENCE)

        threads = [threading.Thread(target=end, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process, (out, text) in zip(runs, outputs):
            require(process.returncode == 0 and out == printed, process.returncode, text)
        serving.stop()
        require(whole_so_far(db, clean) == ACCOUNTS, "an account was left out")


def beside_ingest(path):
    """Usage that comes while the month is made final lies before or after an account's invoice, never
    across it: every invoice re-rates to its bytes."""
    base, key, _, _ = prepared(path)
    db = copy(base, path / "t.db")
    serving = Serving(db, key)
    stop = threading.Event()
    sent = []

    def ingest():
        while not stop.is_set():
            row = (f'{{"zone":{10 * rng.randrange(1, ACCOUNTS + 1)},"region":"DE","requests":1,'
                   f'"hour":"2026-10-{rng.randrange(1, 32):02}T05:00:00Z","bytes":1000000000}}\n')
            run("import", *serving.place, "--batch", f"b{len(sent)}", "-", stdin=row.encode())
            sent.append(row)

    thread = threading.Thread(target=ingest)
    thread.start()
    try:
        run("invoice", *serving.place, *FINALIZE)
    finally:
        stop.set()
        thread.join()
    serving.stop()
    run("verify", "--db", db)
    invoices, ledger, runs = money(db)
    numbers = [row.split(b"\t")[3] for row in invoices]
    require(numbers == [b"2026-%06d" % (i + 1) for i in range(ACCOUNTS)], "numbers:", numbers)
    kinds = [row.split(b"\t")[3] for row in ledger]
    require(kinds.count(b"invoice") == ACCOUNTS and sent, len(ledger), "entries,", len(sent), "batches")
    require(runs[-1].split(b"\t")[1] == b"0", "nobody noted that the others had nothing")


for case in (same_as_local, killed_server, killed_client, at_once, beside_ingest):
    with folder() as name:
        case(Path(name))
    print(f"{case.__name__}: as it should be", flush=True)
