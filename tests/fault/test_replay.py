"""Replication, by its pieces alone: files with something in every table are made by commits that a copy of the empty file
then applies. All tables of the copy are the same, and it verifies."""
import subprocess
import sys
import tempfile
from pathlib import Path

import rich
from faults import BUILD, require, run
from tables import content

REPLAY = BUILD / "tests" / "fault" / "replay"


def replay(*words):
    done = subprocess.run([REPLAY, *map(str, words)], capture_output=True, check=False)
    require(done.returncode == 0, words, done.stderr.decode())
    return done.stdout.decode()


class Replicated(rich.Maker):
    """Replication is on from the beginning, and copy.db is the file as it was then."""

    serving = ("--replica-keep", "3650d")  # months pass

    def __init__(self, folder, name):
        super().__init__(folder, name)
        replay("on", self.db)
        self.copy = folder / f"copy-{name}"
        self.tool("backup", "--to", self.copy)


def main():
    rich.Maker = Replicated
    with tempfile.TemporaryDirectory(prefix="tollbook-replay-") as place:
        for make in (rich.rich, rich.wide, rich.aged, rich.events):
            m = make(Path(place))
            said = replay("follow", m.copy, m.db)
            ours, theirs = content(m.db), content(m.copy)
            differ = [name for name in ours if ours[name] != theirs.get(name)]
            require(not differ and ours.keys() == theirs.keys(), make.__name__, "tables that differ:", differ)
            run("verify", "--db", m.copy)
            print(make.__name__, said.strip(), sum(map(len, ours.values())), "rows")
    sys.exit(0)


main()
