"""What all test scripts share: the seed of the random ones, databases that are made once, and a line
for each test that is skipped.

The seed is TB_SEED, or one from the clock where the long form is asked for (TB_LONG=1), or always
the same. It is printed, so that TB_SEED runs the same test again. A line "skipped: REASON" is how
tests/run learns of a skip (tests/skips.py).
"""
import os
import socket
import time
import unittest
from pathlib import Path

os.environ["TOLLBOOK_CONFIG"] = "none"  # not the configuration file of this machine
SEED = 20261104  # as in tests/seed.h
LONG = os.environ.get("TB_LONG") == "1"


def random_seed(given=None):
    given = os.environ.get("TB_SEED") if given is None else given
    value = int(given) if given not in (None, "") else time.time_ns() & 0xffffffff if LONG else SEED
    print(f"TB_SEED={value}", flush=True)
    return value


def held_port():
    """A port of 127.0.0.1 that the system gives to no other process until this one ends, though nobody listens there: a server
    that sets SO_REUSEADDR may listen on it, end, and listen again. A port that is looked up and left may be another test's by then."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    port = holder.getsockname()[1]
    holder.detach()  # stays open
    return port


_made = {}


def once(what, path, make):
    """The file at path, which make() writes: a script calls it once for each `what`, and copies the
    bytes after that, since to make a database takes longer than most tests. Returns what make did."""
    if what in _made:
        Path(path).write_bytes(_made[what][0])
    else:
        done = make()
        _made[what] = Path(path).read_bytes(), done
    return _made[what][1]


def _tell(add_skip):
    def told(result, test, reason):
        print("skipped:", reason, flush=True)
        add_skip(result, test, reason)
    return told


unittest.TextTestResult.addSkip = _tell(unittest.TextTestResult.addSkip)
