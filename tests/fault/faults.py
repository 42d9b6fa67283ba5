"""What the fault scripts share: the real executable, databases, logs at random, and answers to compare.

TB_LONG=1 asks for the long form.
"""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import LONG, once, random_seed  # noqa: E402

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
TOLLBOOK = BUILD / "tollbook"
NOW = "2026-11-04T09:00:00Z"
FIRST_MS = 1793664000000  # 2026-11-03T00:00:00Z
PATIENCE = 120
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": NOW}
ZONES = {101: 1, 102: 1, 201: 2, 999: None}  # the last is nobody's
CATALOG = {
    "accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
    "zones": [{"id": zone, "account": account, "name": f"zone-{zone}"}
              for zone, account in ZONES.items() if account],
    "meters": [{"meter": "disk", "kind": "gauge", "unit": "byte", "resource": "disk"},
               {"meter": "runs", "kind": "counter", "unit": "run", "resource": "script"}],
}


def seed():
    return random.Random(random_seed())


def require(condition, *what):
    if not condition:
        print("not so:", *what)
        sys.exit(1)


def start(*arguments, **options):
    return subprocess.Popen([TOLLBOOK, *map(str, arguments)], env=ENVIRONMENT,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


def run(*arguments, expect=(0,), stdin=None, **options):
    """Exit status and outputs. A signal, or a status that was not expected, ends the test."""
    done = subprocess.run([options.pop("program", TOLLBOOK), *map(str, arguments)], input=stdin,
                          env=ENVIRONMENT, capture_output=True, check=False, timeout=PATIENCE,
                          **options)
    require(done.returncode >= 0, f"tollbook {arguments} ended by signal {-done.returncode}",
            done.stderr.decode(errors="replace"))
    require(expect is None or done.returncode in expect,
            f"tollbook {arguments}: exit {done.returncode}", done.stderr.decode(errors="replace"))
    return done


def folder():
    return tempfile.TemporaryDirectory(prefix="tollbook-fault-")


def make(db):
    """An empty database with CATALOG."""
    catalog = db.with_suffix(".json")
    catalog.write_text(json.dumps(CATALOG))

    def init():
        run("init", "--db", db)
        run("apply", "--db", db, catalog)

    once("made", db, init)
    return db


class Service:
    """`serve`, to be killed."""
    def __init__(self, db, path, *options):
        self.port_file = path / "port"
        self.port_file.unlink(missing_ok=True)
        self.errors = open(path / "serve.stderr", "ab")
        self.process = subprocess.Popen(
            [TOLLBOOK, "serve", "--db", db, "--listen", "127.0.0.1:0", "--port-file",
             self.port_file, "--threads", "2", *map(str, options)], env=ENVIRONMENT, stderr=self.errors)
        end = time.monotonic() + PATIENCE
        while not self.port_file.exists():
            require(self.process.poll() is None and time.monotonic() < end, "serve did not start",
                    (path / "serve.stderr").read_text())
            time.sleep(0.005)
        self.port = int(self.port_file.read_text())

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.errors.close()


def kill_soon(process, seconds):
    """Kills a process after so many seconds. Whether that came before its end."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


def lines(rng, count):
    """Request log lines, some of them not to be parsed."""
    out = []
    for _ in range(count):
        if rng.random() < 0.001:
            out.append("no line of ours\n")
            continue
        out.append(f"{rng.choice(['HIT', 'MISS', 'REVALIDATED', 'BYPASS'])}|"
                   f"{rng.choice([200, 200, 206, 304, 404, 503])}|"
                   f"{FIRST_MS + rng.randrange(86400000)}|{rng.randrange(10 ** 6)}|"
                   f"{rng.choice(list(ZONES))}|192.0.2.{rng.randrange(256)}|-|https://z/x|"
                   f"{rng.choice(['DE', 'NY', 'SG', 'QQ'])}|agent|{rng.getrandbits(128):032x}|"
                   f"{rng.choice(['DE', 'AT', '-'])}\n")
    return "".join(out).encode()


def counters(db):
    """Every counter that the database holds, as rows."""
    return b"".join(run("query", "--db", db, f"SELECT * FROM {table}").stdout
                    for table in ("buckets", "balancer_buckets", "countries"))


def statistics(db):
    return b"".join(run("stats", "--db", db, "--account", account, *more).stdout
                    for account in (1, 2)
                    for more in ((), ("--hourly",)))


def in_own_mounts(script, path):
    """Runs the script again as `script inside path`, where mounting is its own affair. Its last line, or
    None where this machine lets nobody mount."""
    how = "-m" if os.geteuid() == 0 else "-rm"
    done = subprocess.run(["unshare", how, sys.executable, script, "inside", path], env=ENVIRONMENT,
                          capture_output=True, check=False)
    if done.returncode == 77 or done.stderr.startswith(b"unshare:"):
        return None
    require(done.returncode == 0, done.stdout.decode(), done.stderr.decode())
    return done.stdout.decode().splitlines()[-1]


def mount_small(folder_name, size):
    """An empty file system of this size there; ends the script as skipped where that cannot be."""
    folder_name.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder_name],
                      capture_output=True, check=False).returncode:
        sys.exit(77)


def verify(db):
    done = run("verify", "--db", db, expect=(0, 1))
    require(done.returncode == 0, "verify:", (done.stdout + done.stderr).decode())
