"""The tamper matrix: one value of one row changed, a row deleted, doubled or swapped with another, in
every table that the file has (new tables join by themselves), by somebody who takes the triggers away
and puts them back. verify must see each. What it need not see stands in COSMETIC, with the reason.

TB_LONG=1 tries every kind of change at every chosen row. Otherwise every second column is changed in one row, once, and one
row deleted, one doubled, one swapped; which columns, the seed says.
"""
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import rich
from faults import LONG, PATIENCE, TOLLBOOK, random_seed, require
from tamper import Rewriter, flipped, others

# (table, column or "row"): the reason.
COSMETIC = {
    ("reject", "line"): "refused lines bill nothing and are shown to the operator alone",
    ("reject", "byte"): "as above",
    ("reject", "reason"): "as above",
    ("reject", "text"): "as above",
    ("reject", "row"): "as above: how many there are is counted, not which",
}
TREES = ("book_span", "invoice_span", "log_span")
GONE = ("retention", "usage_gone")  # in a database of its own: what went is checked less
EVENT_IDS = ("event_id_run", "event_id_page", "event_id_month")  # likewise: only a server takes events
HALF = random_seed() % 2
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def of_tree(name):
    return name.startswith(TREES)


def cells(table, accounts):
    """(what, change) of every change to one value."""
    chosen = table.some()
    for number, column in enumerate(table.columns):
        if not LONG and number % 2 != HALF:
            continue
        for turn, i in enumerate(chosen):
            if not LONG and turn != number % len(chosen):
                continue
            value = table.rows[i][column]
            if isinstance(value, bytes) and table.name.endswith("_node"):
                last = len(value) - 1
                places = (0, 1, 3, 5, 15, last // 2, last) + (
                    (2, 7, 12, 19, last // 4, last - 5) if LONG else ())
                new = [flipped(value, at, at % 8) for at in places]
            else:
                new = others(table, column, value, accounts)
                if not LONG:
                    new = new[turn % len(new):][:1]
            for other in dict.fromkeys(new):
                yield (table.name, column, i, repr(other)[:40]), table.set(i, column, other)


def rows(table):
    """(what, change) of every change to whole rows."""
    chosen = table.some()
    for turn, i in enumerate(chosen):
        if LONG or turn == len(table.columns) % len(chosen):
            yield (table.name, "row", i, "deleted"), table.delete(i)
        if LONG or turn == (len(table.columns) + 1) % len(chosen):
            yield (table.name, "row", i, "doubled"), table.duplicate(i)
    if len(table.rows) > 1:
        yield (table.name, "row", 0, "all deleted"), table.delete_all()
    for a, b in list(zip(chosen, chosen[1:]))[None if LONG else -1:]:
        yield (table.name, "row", a, f"swapped with {b}"), table.swap(a, b)


class Matrix:
    def __init__(self, folder, path):
        self.folder, self.rewriter = folder, Rewriter(path)
        self.counts, self.passed, self.odd = Counter(), [], []
        accounts = next(t for t in self.rewriter.tables if t.name == "account")
        self.accounts = [row["id"] for row in accounts.rows]

    def trials(self, wanted):
        for table in self.rewriter.tables:
            if wanted(table.name):
                yield from cells(table, self.accounts)
                yield from rows(table)

    def attempt(self, trial):
        what, change = trial
        with tempfile.TemporaryDirectory(dir=self.folder) as place:
            path = Path(place) / "t.db"
            if not self.rewriter.copy(path, change):
                return what, None, ""
            done = subprocess.run([TOLLBOOK, "verify", "--db", path], capture_output=True,
                                  check=False, timeout=PATIENCE)
            return what, done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def run(self, wanted, pool):
        for what, status, said in pool.map(self.attempt, self.trials(wanted)):
            if status is None and LONG:
                print("  refused by the file:", *what)
            key = "refused" if status is None else "found" if status else "passed"
            if status not in (None, 0, 1):
                self.odd.append((*what, "exit", status, said[-300:]))
            self.counts[key] += 1
            if key == "passed":
                self.passed.append(what)


# Only a file whose usage is on ClickHouse servers has rows there.
ELSEWHERE = ("usage_day",)


def let_wait(path):
    """Some of the series wait for their places, as in a busy hour."""
    with sqlite3.connect(path) as db:
        (trigger,) = db.execute("SELECT sql FROM sqlite_schema WHERE name='series_new_sealed'").fetchone()
        db.execute("DROP TRIGGER series_new_sealed")
        db.execute("INSERT INTO series_new SELECT * FROM series_placed WHERE id/64%2")
        db.execute("DELETE FROM series_placed WHERE id IN(SELECT id FROM series_new)")
        db.execute(trigger)
    db.close()


def main():
    with tempfile.TemporaryDirectory(prefix="tollbook-tamper-", dir=MEMORY) as place, \
            ThreadPoolExecutor(os.cpu_count()) as pool:
        folder, begun = Path(place), time.monotonic()
        made = [rich.rich(folder), rich.wide(folder), rich.aged(folder), rich.events(folder)]
        let_wait(made[0].db)
        for m in made:
            require("no differences" in m.tool("verify", "--format", "table"), "not sound to begin with")
        counts, passed, odd = Counter(), [], []
        for m, wanted in zip(made, (lambda name: name not in GONE + EVENT_IDS and (LONG or not of_tree(name)), of_tree,
                                    lambda name: name in GONE, lambda name: name in EVENT_IDS)):
            matrix = Matrix(folder, m.db)
            few = [(t.name, len(t.rows)) for t in matrix.rewriter.tables if len(t.rows) < 3 and t.name
                   not in ("extra", "secret", *ELSEWHERE) and not t.name.endswith(("_node", "_parent"))
                   and (m is made[0] and t.name not in GONE + EVENT_IDS or m is made[2] and t.name in GONE
                        or m is made[3] and t.name in EVENT_IDS)]
            require(not few, "tables with fewer than three rows", few)
            untouched = matrix.attempt((("", "", 0, "nothing"), lambda db: True))
            require(untouched[1] == 0, "changed by the test itself:", untouched[2])
            matrix.run(wanted, pool)
            counts += matrix.counts
            passed += matrix.passed
            odd += matrix.odd
        unseen = [what for what in passed if what[:2] not in COSMETIC]
        seen = Counter(what[:2] for what in passed)
        print(f"{sum(counts.values())} changes in {time.monotonic() - begun:.0f} s:", dict(counts))
        for key in sorted(seen):
            print(f"  passed, {key[0]}.{key[1]} ({seen[key]}):", COSMETIC.get(key, "NOT ALLOWED"))
        for what in unseen:
            print("  not seen:", *what)
        require(not LONG or set(COSMETIC) <= set(seen), "cosmetic, and always found:", set(COSMETIC) - set(seen))
        for what in odd:
            print("  neither found nor passed:", *what)
        sys.exit(bool(unseen or odd))


main()
