"""Flipped bits: a database with 1 to 64 random bits turned over never crashes a command. Either it
is refused, or verify finds the damage, or every answer is what it was.

Names are not answers here: the text of a catalogue has no second copy to be compared with.
"""
import hashlib
import json
import os
from pathlib import Path
from faults import LONG, counters, folder, lines, make, require, run, seed

rng = seed()
FILES = 2000 if LONG else 120


def without_names(value):
    """GeoTrafficDistribution is keyed by region names: only its figures are compared."""
    value = json.loads(value)
    value["GeoTrafficDistribution"] = sorted(value["GeoTrafficDistribution"].values())
    return value


def answers(db):
    """Everything that is counted, or None where a command refuses to answer."""
    out = []
    for table in ("buckets", "balancer_buckets", "countries"):
        done = run("query", "--db", db, f"SELECT * FROM {table}", expect=None)
        if done.returncode:
            return None
        out.append(hashlib.sha256(done.stdout).hexdigest())
    for account in (1, 2):
        done = run("stats", "--db", db, "--account", account, expect=None)
        if done.returncode:
            return None
        out.append(without_names(done.stdout))
    return out


def remove(db):
    for end in ("", "-wal", "-shm", ".lock"):
        Path(str(db) + end).unlink(missing_ok=True)


with folder() as name:
    path = Path(name)
    db = make(path / "t.db")
    for i in range(3):
        log = path / f"{i}.log"
        log.write_bytes(lines(rng, 3000))
        run("ingest", "--db", db, log)
    run("query", "--db", db, "SELECT 1")
    content = db.read_bytes()
    require(not Path(str(db) + "-wal").exists() or os.path.getsize(str(db) + "-wal") == 0,
            "the last writer left a WAL")
    expected = answers(db)
    counts = {"refused": 0, "found": 0, "harmless": 0}
    for number in range(FILES):
        damaged = bytearray(content)
        flips = [rng.randrange(len(damaged) * 8) for _ in range(rng.choice([1, 1, 2, 8, 64]))]
        for bit in flips:
            damaged[bit // 8] ^= 1 << bit % 8
        copy = path / "copy.db"
        remove(copy)
        copy.write_bytes(damaged)
        verdict = run("verify", "--db", copy, expect=(0, 1, 3)).returncode
        found = answers(copy)
        require(verdict or found is not None, "verify is content, but a command is not; bits", flips)
        require(verdict or found == expected, "wrong answers that verify does not see; bits", flips)
        counts["refused" if verdict == 3 else "found" if verdict else "harmless"] += 1
        run("ingest", "--db", copy, path / "0.log", expect=None)  # any status, but no signal
        remove(copy)
    print(f"{FILES} files with flipped bits:", counts)
