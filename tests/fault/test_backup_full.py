"""A continuous backup whose disk is full: it says so, keeps what it has, and goes on when there is room, with nothing
missing in the end. As a service, with --once, and where there is no room for a base."""
import signal
import subprocess
import sys
from pathlib import Path

from faults import BUILD, ENVIRONMENT, TOLLBOOK, folder, in_own_mounts, lines, make, mount_small, require, run, seed

REPLAY = BUILD / "tests" / "fault" / "replay"


def wait_for(process, text):
    said = b""
    for line in process.stderr:
        said += line
        if text in line:
            return
    require(False, text, "is never said:", said.decode())


def follow(db, d, *words):
    return subprocess.Popen([TOLLBOOK, "backup", "--db", db, "--follow", d, *words], env=ENVIRONMENT, stderr=subprocess.PIPE)


def fill(ballast):
    """Writes until there is no room."""
    with open(ballast, "wb", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


def inside(path):
    small = path / "small"
    mount_small(small, "5m")
    rng = seed()
    db, d, ballast, out = make(path / "t.db"), small / "d", small / "ballast", path / "r.db"
    subprocess.run([REPLAY, "on", db], check=True)
    log = path / "log"

    def commit():
        log.write_bytes(lines(rng, 200))
        run("ingest", "--db", db, log)

    fill(ballast)
    done = run("backup", "--db", db, "--follow", d, "--once", expect=(3,))
    require(b"full" in done.stderr or b"space" in done.stderr, "no room for a base:", done.stderr)
    require(not list(d.glob("base*")), "half a base")
    ballast.unlink()
    process = follow(db, d, "--every", "50ms")
    wait_for(process, b"is a verified base")
    for _ in range(2):
        fill(ballast)
        commit()
        wait_for(process, b"space")
        require(process.poll() is None, "it has ended")
        ballast.unlink()
        wait_for(process, b"Files can be written again")
    fill(ballast)
    commit()
    process.send_signal(signal.SIGTERM)
    said = process.stderr.read()
    require(process.wait() == 3 and b"space" in said, "an end without room:", said)
    ballast.unlink()
    run("backup", "--db", db, "--follow", d, "--once")
    facts = run("restore", d, "--out", out).stdout.split()
    require(facts[7] == run("anchor", "--db", db).stdout.split()[0], "something is missing", facts)
    require(not list(d.glob(".*.part")), "half a file")
    print("5 times full")


if sys.argv[1:2] == ["inside"]:
    inside(Path(sys.argv[2]))
    sys.exit(0)

with folder() as name:
    said = in_own_mounts(__file__, Path(name))
if not said:
    print("skipped: this machine lets nobody mount")
    sys.exit(77)
print(said)
