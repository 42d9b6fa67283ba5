"""What the command line's tests share: the executable in a folder of its own, and input lines."""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from script import LONG, once, random_seed  # noqa: E402

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[3] / "build" / "dev")
TOOL = BUILD / "tollbook"
NOW = "2026-11-20T12:00:00Z"
DAY_MS = 1795132800000  # 2026-11-20T00:00:00Z

if not TOOL.exists():
    print("skipped: there is no", TOOL)
    sys.exit(77)


def line(n, zone=101, edge="DE", ms=None):
    """An accepted pipe line of 1000 + n bytes sent; one in four missed the cache."""
    ms = DAY_MS + n % 10 * 3600000 if ms is None else ms
    return (f"{'MISS' if n % 4 == 3 else 'HIT'}|{404 if n % 5 == 4 else 200}|{ms}|{1000 + n}|{zone}"
            f"|192.0.2.1|-|https://example.com/{n}|{edge}|agent|{n:032x}|DE\n")


def lines(first, last, **more):
    return "".join(line(n, **more) for n in range(first, last)).encode()


class Case(unittest.TestCase):
    """Each test has a folder with an empty database t.db."""

    any_clock = True  # declarations are taken whatever clock a test has set before

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="tollbook-cli-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.init("t.db")

    def init(self, name):
        once("init", self.folder / name, lambda: self.run_tool("init", "--db", name))

    def environment(self, now=NOW, key=None):
        return {**os.environ, "TOLLBOOK_NOW": now, **({"TOLLBOOK_KEY": key} if key else {})}

    def run_tool(self, *words, status=0, stdin=b"", now=NOW, key=None):
        """Runs to the end; the status must be as given. Both outputs come as text."""
        if self.any_clock and words and (words[0] == "apply" or words[0] == "book" and words[1] in ("--db", "add", "activate")):
            words = (*words, "--backdated")
        done = subprocess.run([TOOL, *map(str, words)], input=stdin, capture_output=True,
                              cwd=self.folder, env=self.environment(now, key), timeout=120)
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        self.assertEqual(done.returncode, status, f"{words}: {done.out}{done.err}")
        self.assertEqual(done.out[-1:].strip("\n"), "", f"{words}: the last line has no end")
        return done

    def start(self, *words, **more):
        process = subprocess.Popen([TOOL, *map(str, words)], cwd=self.folder,
                                   env=self.environment(), stderr=subprocess.PIPE, **more)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream:
                stream.close()

    def wait_for(self, what, seconds=60):
        deadline = time.monotonic() + seconds
        while not what():
            self.assertLess(time.monotonic(), deadline, "waited too long")
            time.sleep(0.005)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def query(self, sql, db="t.db"):
        out = self.run_tool("query", "--db", db, "--format", "tsv", sql).out
        return [row.split("\t") for row in out.splitlines()[1:]]

    def change(self, change):
        """Past the triggers, which are there again afterwards."""
        with sqlite3.connect(self.folder / "t.db") as db:
            triggers = db.execute("SELECT name,sql FROM sqlite_schema"
                                  " WHERE type='trigger'").fetchall()
            for name, _ in triggers:
                db.execute(f"DROP TRIGGER {name}")
            change(db)
            for _, sql in triggers:
                db.execute(sql)
        db.close()

    def usage(self, db="t.db"):
        return self.query("SELECT * FROM buckets ORDER BY 1,2,3,4", db)

    def total(self, db="t.db"):
        return int(self.query("SELECT coalesce(sum(requests),0) FROM buckets", db)[0][0])

    def verify(self, db="t.db"):
        self.assertIn("no differences", self.run_tool("verify", "--db", db, "--format", "table").out)

    def run_bytes(self, *words):
        done = subprocess.run([TOOL, *map(str, words)], capture_output=True, cwd=self.folder,
                              env=self.environment(), timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def apply(self, document='{"accounts":[{"id":1,"name":"acme"}],'
              '"zones":[{"id":101,"account":1,"name":"video","type":"premium"}]}', now=NOW):
        self.run_tool("apply", "--db", "t.db", "--delete", self.write("c.json", document), now=now)
