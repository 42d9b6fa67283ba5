#!/usr/bin/env python3
"""`tollbook follow` where the database's disk is full, and where the clock is set. What is stored in the end
is what was written, each line once: to a database and to a server, through rotation and kills."""
import os
import random
import sys
from pathlib import Path

import faults
from faults import LONG, SOURCE, folder, in_own_mounts, make, mount_small, require, run, seed, verify

sys.path.insert(0, str(SOURCE / "tests" / "http"))
from follower import FAKETIME, Follower, Writer, stored, taken, until  # noqa: E402
from harness import ENVIRONMENT, Server  # noqa: E402

DAY_S = 86400
JUMPS = 60 if LONG else 14


def forget_clock(pid):
    """What faketime shares between processes, and a killed one leaves."""
    for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
        Path("/dev/shm", name).unlink(missing_ok=True)


class Away:
    """A writer, and a follower of a database, or of its server."""

    def __init__(self, path, db, rng, served):
        self.logs, self.rng, self.db = path / "logs", rng, db
        self.logs.mkdir(parents=True)
        self.server = None
        key = run("key", "create", "--db", db, "--account", 1, "--role", "Ingest").stdout.decode().strip()
        if served:
            self.server = Server(db=db)
        self.writer = Writer(self.logs, rng)
        self.follower = Follower(self.server.url if served else db, self.logs / "access.log*",
                                 key=key if served else None, folder=path).start()

    def writes(self, most=300):
        self.writer.put(self.rng.randrange(1, most))
        if self.rng.random() < 0.5:
            self.writer.rotate()

    def restart(self):
        """kill -9 of one of them."""
        if self.server and self.rng.random() < 0.5:
            self.server.process.kill()
            self.server.process.wait()
            forget_clock(self.server.process.pid)
            self.server.log_file.close()
            self.server.start()
        else:
            pid = self.follower.process.pid
            self.follower.kill()
            forget_clock(pid)
            self.follower.start()

    def takes(self, n):
        until(lambda: sum(taken(self.db)) >= n,
              lambda: f"{taken(self.db)} of {self.writer.lines}\n{self.follower.messages()}")

    def ends(self):
        self.writer.put(1)  # whoever has taken it is up, and hears a signal
        self.writer.close()
        self.takes(self.writer.lines)
        require(self.follower.stop() == 0, "the follower ends well", self.follower.messages())
        self.follower.once()  # whoever comes later finds nothing new
        if self.server:
            require(self.server.stop() == 0, "the server ends well", self.server.messages())
        require(taken(self.db) == (self.writer.lines, 0), f"{taken(self.db)} of {self.writer.lines} lines")
        require(stored(self.db) == (self.writer.written, self.writer.bytes), "every zone has what was written")
        verify(self.db)

    def close(self):
        self.follower.close()
        if self.server and self.server.process.poll() is None:
            self.server.process.kill()
            self.server.process.wait()
        if self.server:
            self.server.folder.cleanup()


def away(path, db, rng, served, case):
    it = Away(path / ("server" if served else "db"), db, rng, served)
    try:
        said = case(it)
        it.ends()
    finally:
        it.close()
    return f"{said}, {it.writer.lines} lines, {it.writer.rotations} rotations"


# --- a full disk ---

def full_disk(path):
    """A small file system, in a mount namespace of its own (this script again, inside)."""
    said = in_own_mounts(__file__, path)
    print(said or "skipped: this machine lets nobody mount")


def fill(ballast):
    """What is left of the file system, to the last byte."""
    with open(ballast, "ab", buffering=0) as out:
        size = 1 << 20
        while size:
            try:
                if out.write(bytes(size)) < size:
                    size //= 2
            except OSError:
                size //= 2


def without_room(small):
    def case(it):
        it.writes()
        it.takes(it.writer.lines)
        for _ in range(3):
            fill(small / "ballast")
            failed = it.follower.figure("failures_total") or 0
            # What the log of the database still has room for is taken. Then nothing is.
            until(lambda was=failed: it.writes(2000) or (it.follower.figure("failures_total") or 0) > was,
                  it.follower.messages)
            require(it.follower.figure("up") == 0, "the figures say that nothing is taken")
            before = taken(it.db)
            it.writes()
            if it.rng.random() < 0.7:
                it.restart()
            until(lambda: it.follower.figure("failures_total"), it.follower.messages)
            require(taken(it.db) == before, "nothing is taken on a full disk")
            require(it.writer.lines > sum(before), "something waits")
            (small / "ballast").unlink()
            if it.server and not LONG:  # which asked it to come again half a minute later
                it.follower.kill()
                it.follower.start()
            it.takes(it.writer.lines)
        said = it.follower.messages()
        require("full" in said or "space" in said, "a full disk is called so:", said)
        return "3 times full"
    return case


def inside(path):
    small = path / "small"
    mount_small(small, "40m")
    rng = random.Random(int(os.environ["TB_SEED"]))
    print("; ".join(away(path, make(small / f"{served}.db"), rng, served, without_room(small))
                    for served in (False, True)))


# --- a clock that is set ---

def set_clock(it, clock):
    """The clock stands a day earlier or later, or where it was, and the log's time with it."""
    day = it.rng.choice((-1, 0, 1))
    clock.write_text(f"@2026-11-{4 + day:02d} 09:00:00\n")
    moment = 1793782800 + day * DAY_S + it.rng.randrange(60)
    os.utime(it.writer.path, (moment, moment))


def clock_jumps(path):
    clock = path / "clock"
    rng = seed()

    def case(it):
        for _ in range(JUMPS):
            it.writes()
            set_clock(it, clock)
            it.writes()
            some = sum(taken(it.db))
            it.takes(some + rng.randrange(it.writer.lines - some + 1))
            if rng.random() < 0.3:
                it.restart()
        spread = run("query", "--db", it.db, "SELECT max(added_us) - min(added_us) > 86400000000 FROM segment")
        require(b"1" in spread.stdout.split(), "the clock of who stores did jump")
        return f"{JUMPS} jumps"

    for served in (False, True):
        db = make(path / f"{served}.db")
        clock.write_text("@2026-11-04 09:00:00\n")
        faked = {"LD_PRELOAD": FAKETIME, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
                 "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}
        now = ENVIRONMENT.pop("TOLLBOOK_NOW")
        ENVIRONMENT.update(faked)
        try:
            print(away(path, db, rng, served, case))
        finally:
            for name in faked:
                del ENVIRONMENT[name]
            ENVIRONMENT["TOLLBOOK_NOW"] = now


if sys.argv[1:2] == ["inside"]:
    inside(Path(sys.argv[2]))
    sys.exit(0)

ENVIRONMENT["TB_SEED"] = faults.ENVIRONMENT["TB_SEED"] = str(seed().randrange(1 << 32))
for one in (clock_jumps, full_disk):
    with folder() as name:
        one(Path(name))
    print(f"{one.__name__}: as it should be")
