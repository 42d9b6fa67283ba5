"""What the tests of `tollbook follow` share: the process, a writer of numbered lines that rotates its
log in every way, and what came of it: stored is compared with written, by zone, lines and bytes.

Nothing sleeps for a guessed time: a test waits until what it looks at is so.
"""
import contextlib
import gzip
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, run

BUSY_S = 0.01  # between two looks
FAKETIME = "/usr/$LIB/faketime/libfaketimeMT.so.1"  # the dynamic linker knows what $LIB is


def until(what, text):
    """Waits until what() is true, and returns it."""
    end = time.monotonic() + PATIENCE
    while not (got := what()):
        if time.monotonic() > end:
            raise AssertionError(text() if callable(text) else text)
        time.sleep(BUSY_S)
    return got


def line(number, zone, size, end=b"\n"):
    """A pipe line that no other one equals."""
    return (f"HIT|200|{1793707200000 + number}|{size}|{zone}|192.0.2.1|-|https://z/{number}|DE|agent|"
            f"{number:032x}|DE").encode() + end


def set_fold_ids(db, ids, seal=0):
    """Segments are folded in blocks of so many ids. Returns the seal that the row had."""
    with contextlib.closing(sqlite3.connect(db)) as file, file:
        before, = file.execute("SELECT seal FROM meta WHERE name='fold_ids'").fetchone()
        file.create_function("tb_seal", -1, lambda *_: 0)
        file.execute("UPDATE meta SET value=? WHERE name='fold_ids'", (ids - 1,))
        file.execute("UPDATE meta SET seal=? WHERE name='fold_ids'", (seal,))
    return before


class Follower:
    """`tollbook follow`, of a server (with its key) or of a database."""

    def __init__(self, place, *names, key=None, options=("--every", "20ms"), folder=None):
        self.folder = Path(folder or Path(names[0]).parent)
        self.metrics = self.folder / "figures.prom"
        self.said = self.folder / "said"
        self.words = ["follow", *options, "--metrics", self.metrics]
        if key:
            key_file = self.folder / "key"
            key_file.write_text(key + "\n")
            key_file.chmod(0o600)
            self.words += ["--server", place, "--key-file", key_file]
        else:
            self.words += ["--db", place]
        self.words += names
        self.process = None

    def start(self, before=None, faster=1):
        """faster: its clocks run so many times as fast."""
        clock = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"+0 x{faster}", "NO_FAKE_STAT": "1"} if faster > 1 else {}
        with open(self.said, "ab") as said:
            self.process = subprocess.Popen([TOLLBOOK, *map(str, self.words)], stderr=said,
                                            env={**ENVIRONMENT, **clock}, preexec_fn=before)
        return self

    def once(self, expect=0):
        return run(*[word for word in self.words], "--once", expect=expect).stderr.decode()

    def messages(self):
        return self.said.read_text(errors="replace") if self.said.exists() else ""

    def figure(self, name, file=None):
        """A figure, of a file or of all; None where it is not there."""
        label = f'{{file="{file}"}}' if file else ""
        text = self.metrics.read_text() if self.metrics.exists() else ""
        found = re.search(rf"^tollbook_follow_{name}{re.escape(label)} (\S+)$", text, re.M)
        return int(found.group(1)) if found else None

    def close(self):
        if self.process:
            self.kill()

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.process = None
        return status


class Writer:
    """Writes numbered lines to one log, as a server does, and rotates it."""

    def __init__(self, folder, rng, name="access.log", zones=(101, 102, 201)):
        self.path = Path(folder) / name
        self.rng, self.zones = rng, zones
        self.written, self.bytes = Counter(), Counter()
        self.number = 0
        self.half = b""
        self.rotations = 0
        self.open()

    def open(self):
        self.file = open(self.path, "ab", buffering=0)

    def close(self):
        self.file.close()

    def put(self, n):
        """n lines, in writes that end anywhere; a started line is ended first."""
        text = b""
        for _ in range(n):
            zone, size = self.rng.choice(self.zones), self.rng.randrange(1, 5000)
            text += line(self.number, zone, size)
            self.number += 1
            self.written[zone] += 1
            self.bytes[zone] += size
        while text:
            cut = self.rng.randrange(1, len(text) + 1)
            self.file.write(text[:cut])
            text = text[cut:]

    def older(self):
        """Makes room for .1: the rotated logs move up, and .2 and above are packed at times."""
        found = sorted((path for path in self.path.parent.glob(self.path.name + ".*")),
                       key=lambda path: -int(path.name.split(".")[2]))
        for path in found:
            parts = path.name.split(".")
            parts[2] = str(int(parts[2]) + 1)
            path.rename(path.with_name(".".join(parts)))

    def rotated(self):
        return self.path.with_name(self.path.name + ".1")

    def rename(self):
        """As logrotate with create: the writer goes on in a new file."""
        self.older()
        self.path.rename(self.rotated())
        if self.rng.random() < 0.5:
            self.put(self.rng.randrange(3))  # before it is told to open its log again
        self.close()
        self.open()
        self.rotations += 1

    def copy_truncate(self):
        self.older()
        shutil.copyfile(self.path, self.rotated())
        self.file.truncate(0)
        self.rotations += 1

    def pack(self):
        """The newest rotated log becomes .gz, as gzip does it: beside it, then in its place."""
        plain = self.rotated()
        if not plain.exists():
            return
        packed = plain.with_name(plain.name + ".gz")
        raw = gzip.compress(plain.read_bytes())
        with open(packed, "wb", buffering=0) as out:
            middle = self.rng.randrange(len(raw))
            out.write(raw[:middle])
            os.fsync(out.fileno())
            out.write(raw[middle:])
        plain.unlink()

    def rotate(self):
        self.rng.choice((self.rename, self.copy_truncate))()
        if self.rng.random() < 0.6:
            self.pack()

    @property
    def lines(self):
        return sum(self.written.values())


def restore(server, backup):
    """The server's database becomes what the backup holds, as docs/operate/backup.md says."""
    server.stop()
    for end in ("", "-wal", "-shm"):
        Path(f"{server.db}{end}").unlink(missing_ok=True)
    shutil.copy(backup, server.db)
    server.start()


def stored(db):
    """Lines and bytes by zone, as the database has them."""
    rows = run("query", "--db", db, "--format", "csv",
               "SELECT zone, sum(requests), sum(bytes) FROM buckets GROUP BY zone").stdout.decode()
    fields = [row.split(",") for row in rows.splitlines()[1:]]
    return ({int(zone): int(requests) for zone, requests, _ in fields},
            {int(zone): int(size) for zone, _, size in fields})


def taken(db):
    """Lines that were accepted and refused. Tests ask again and again: not by a process each time."""
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True, timeout=PATIENCE)) as file:
        return file.execute("SELECT coalesce(sum(accepted), 0), coalesce(sum(rejected), 0) FROM segment").fetchone()
