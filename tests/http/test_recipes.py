#!/usr/bin/env python3
"""The ways in docs/shipping.md and docs/ingest.md with the real programs: logrotate in both modes, with compression and with
dates in names, rsyslog's omprog with confirmMessages, cron's line and curl. What is stored is what was
written. The lines are those of the pages, where they stand there."""
import os
import random
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from edges import moved, pasted, program
from harness import BUILD, ENVIRONMENT, PATIENCE, TOLLBOOK, Server, random_seed
from follower import FAKETIME, Follower, Writer, line, stored, taken, until

SEED = random_seed()


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-recipes-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server(log=None)
        self.addCleanup(self.server.close)
        self.logs = self.folder / "logs"
        self.logs.mkdir(mode=0o755)

    def key(self):
        """The key file of a command that is not started by Follower."""
        path = self.folder / "key"
        path.write_text(self.server.keys["ingest"] + "\n")
        path.chmod(0o600)
        return path

    def takes(self, n, text):
        until(lambda: sum(taken(self.server.db)) >= n, lambda: f"{taken(self.server.db)} of {n}\n{text()}")


@unittest.skipUnless(program("logrotate"), "logrotate is not installed")
@unittest.skipUnless(program("faketime"), "faketime is not installed")
class Logrotate(Case):
    def rotates(self, *words, names="access.log*", pause=False, days=False):
        """Eight rotations under a writer and a follower, which is away for two of them."""
        rng = random.Random(SEED)
        writer = Writer(self.logs, rng)
        conf = self.folder / "logrotate.conf"
        conf.write_text(f"{self.logs}/access.log {{\n" + "".join(f"    {word}\n" for word in words) + "}\n")
        conf.chmod(0o644)
        f = Follower(self.server.url, self.logs / names, key=self.server.keys["ingest"],
                     folder=self.folder).start()
        self.addCleanup(f.close)
        self.addCleanup(writer.close)
        for i in range(8):
            before = writer.lines
            writer.put(rng.randrange(100, 300))
            if pause and i == 3:
                f.stop()
            # A line of this log at least: one that came and went between two looks was never seen.
            some = max(sum(taken(self.server.db)) + rng.randrange(60), before + 1)
            if f.process:
                until(lambda some=some: sum(taken(self.server.db)) >= min(some, writer.lines), f.messages)
            # Not by faketime's command, which stumbles over what a killed process of its number left.
            clock = {"LD_PRELOAD": FAKETIME, "FAKETIME": f"@2026-11-1{i} 00:00:00"} if days else {}
            done = subprocess.run([program("logrotate"), "-f", "-s", self.folder / "state", conf],
                                  env={**ENVIRONMENT, **clock}, capture_output=True, check=False,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            if "copytruncate" not in words:
                writer.put(3)  # before it opens its log again
                writer.close()
                writer.open()
            if pause and i == 5:
                f.start()
        writer.put(10)
        self.takes(writer.lines, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(stored(self.server.db), (dict(writer.written), dict(writer.bytes)))
        self.assertEqual(taken(self.server.db), (writer.lines, 0))

    # `create` and `compress` without delaycompress: what the writer still adds to a log that is packed is in no
    # file any more. A follower that has it open reads it; one that is away cannot.

    def test_rename_and_compress(self):
        self.rotates("rotate 20", "create", "compress")

    def test_rename_and_compress_later(self):
        self.rotates("rotate 20", "create", "compress", "delaycompress", pause=True)

    def test_dates_in_names(self):
        """A day between two rotations, by faketime."""
        self.rotates("rotate 20", "create", "compress", "delaycompress", "dateext", pause=True, days=True)
        self.assertEqual(len(list(self.logs.glob("access.log-202611*"))), 8)

    def test_dates_in_names_of_copies(self):
        self.rotates("rotate 20", "copytruncate", "compress", "dateext", "dateformat -%Y-%m-%d", pause=True, days=True)
        self.assertEqual(len(list(self.logs.glob("access.log-2026-11-*.gz"))), 8)

    def test_rename_with_the_live_name_alone(self):
        self.rotates("rotate 20", "create", "compress", names="access.log")

    def test_copytruncate_and_compress(self):
        self.rotates("rotate 20", "copytruncate", "compress", pause=True)

    def test_copytruncate_and_compress_later(self):
        self.rotates("rotate 20", "copytruncate", "compress", "delaycompress", pause=True)


@unittest.skipUnless(program("rsyslogd"), "rsyslog is not installed")
class Rsyslog(Case):
    def start(self, transactions):
        self.log = self.logs / "in.log"
        self.log.write_bytes(b"")
        conf = self.folder / "rsyslog.conf"
        rules = moved(pasted("rsyslog")[0], {
            "/usr/bin/tollbook": TOLLBOOK, "https://stats.example": self.server.url,
            "/etc/tollbook/follow.key": self.key(), "/var/log/edge/access.log": self.log,
            "/var/log/tollbook-omprog.log": self.folder / "said",
            'useTransactions="on"': f'useTransactions="{transactions}"'})
        conf.write_text(f'global(workDirectory="{self.folder}" maxMessageSize="64k")\n{rules}')
        self.pid = self.folder / "pid"
        self.process = subprocess.Popen([program("rsyslogd"), "-n", "-f", conf, "-i", self.pid],
                                        env=ENVIRONMENT, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.addCleanup(self.stop)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def said(self):
        path = self.folder / "said"
        return path.read_text(errors="replace") if path.exists() else "nothing said"

    def put(self, first, n):
        with open(self.log, "ab") as log:
            log.write(b"".join(line(first + i, 101, 100) for i in range(n)))

    def ships(self, transactions, n):
        self.start(transactions)
        self.put(0, n)
        self.takes(n, self.said)
        self.server.process.kill()
        self.server.process.wait()
        self.server.log_file.close()
        self.put(n, n)
        self.server.start()
        self.takes(2 * n, self.said)
        self.stop()
        self.assertEqual(stored(self.server.db), ({101: 2 * n}, {101: 200 * n}))

    def test_line_by_line(self):
        self.ships("off", 60)

    def test_transactions(self):
        self.ships("on", 3000)


class Commands(Case):
    """The page's lines for a shell, as they stand there."""

    def shell(self, command, places, expect=0):
        done = subprocess.run(["sh", "-c", moved(command, {"https://stats.example": self.server.url, **places})],
                              env={**ENVIRONMENT, "PATH": f"{BUILD}:{os.environ['PATH']}",
                                   "KEY": self.server.keys["ingest"]},
                              capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_cron(self):
        row = pasted("cron")[0].split(None, 6)
        self.assertEqual(row[:6], ["*/5", *"****", "tollbook"])
        log = self.logs / "access.log"
        for some in range(1, 4):
            with open(log, "ab") as out:
                out.write(b'192.0.2.1 - - [03/Nov/2026:10:00:0%d +0000] "GET / HTTP/1.1" 200 100 "-" "agent"\n' % some)
            for _ in range(2):
                self.shell(row[6], {"/etc/tollbook/follow.key": self.key(), "/var/log/nginx/": f"{self.logs}/"})
                self.assertEqual(taken(self.server.db), (some, 0))
            log.rename(self.logs / f"access.log.{9 - some}")

    def test_curl(self):
        """A batch counts once by its id: sent again it changes nothing, and other lines are refused."""
        batch = self.folder / "batch.log"
        command = pasted("HTTP")[0]
        for name, lines, expect, stored_lines in (("a", 3, 0, 3), ("a", 3, 0, 3), ("b", 3, 0, 6), ("a", 4, 22, 6)):
            with self.subTest(name=name, lines=lines):
                batch.write_bytes(b"".join(line(i, 101, 100) for i in range(lines)))
                self.shell(command, {"10:00:05Z-17": f"10:00:05Z-{name}", "batch.log": batch}, expect)
                self.assertEqual(taken(self.server.db), (stored_lines, 0))

    def test_a_pipe(self):
        """The page's pipe, of a writer that writes and ends."""
        (self.folder / "in").write_bytes(b"".join(line(i, 101, 100) for i in range(50)))
        self.shell(pasted("A pipe")[0], {"/etc/tollbook/follow.key": self.key(),
                                         "my-log-writer": f"cat {self.folder}/in"})
        self.assertEqual(taken(self.server.db), (50, 0))


if __name__ == "__main__":
    unittest.main()
