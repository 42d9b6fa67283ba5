#!/usr/bin/env python3
"""The ways in docs/shipping.md with the real programs: logrotate in both modes, with compression, and
rsyslog's omprog with confirmMessages. What is stored is what was written."""
import os
import random
import shutil
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Server, random_seed
from follower import Follower, Writer, line, stored, taken, until

SEED = random_seed()
# What a service's PATH has, and a user's may not.
PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"


def program(name):
    return shutil.which(name, path=PATH)


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-recipes-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server(log=None)
        self.addCleanup(self.server.close)
        self.logs = self.folder / "logs"
        self.logs.mkdir(mode=0o755)

    def takes(self, n, text):
        until(lambda: sum(taken(self.server.db)) >= n, lambda: f"{taken(self.server.db)} of {n}\n{text()}")


@unittest.skipUnless(program("logrotate"), "logrotate is not installed")
class Logrotate(Case):
    def rotates(self, *words, names="access.log*", pause=False):
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
            writer.put(rng.randrange(100, 300))
            if pause and i == 3:
                f.stop()
            some = sum(taken(self.server.db)) + rng.randrange(60)
            if f.process:
                until(lambda some=some: sum(taken(self.server.db)) >= min(some, writer.lines), f.messages)
            done = subprocess.run([program("logrotate"), "-f", "-s", self.folder / "state", conf],
                                  capture_output=True, check=False, timeout=PATIENCE)
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

    def test_rename_with_the_live_name_alone(self):
        self.rotates("rotate 20", "create", "compress", names="access.log")

    def test_copytruncate_and_compress(self):
        self.rotates("rotate 20", "copytruncate", "compress", pause=True)

    def test_copytruncate_and_compress_later(self):
        self.rotates("rotate 20", "copytruncate", "compress", "delaycompress", pause=True)


@unittest.skipUnless(program("rsyslogd"), "rsyslog is not installed")
class Rsyslog(Case):
    def start(self, transactions):
        key = self.folder / "key"
        key.write_text(self.server.keys["ingest"] + "\n")
        key.chmod(0o600)
        self.log = self.logs / "in.log"
        self.log.write_bytes(b"")
        conf = self.folder / "rsyslog.conf"
        conf.write_text(f'''
global(workDirectory="{self.folder}" maxMessageSize="64k")
module(load="imfile" mode="inotify")
module(load="omprog")
template(name="line" type="string" string="%msg%\\n")
input(type="imfile" File="{self.log}" Tag="edge" ruleset="ship")
ruleset(name="ship" queue.type="LinkedList" queue.dequeueBatchSize="500") {{
    action(type="omprog" template="line"
           binary="{TOLLBOOK} ingest --confirm --server {self.server.url} --key-file {key} -"
           confirmMessages="on" confirmTimeout="600000" useTransactions="{transactions}"
           output="{self.folder}/said" action.resumeInterval="1" action.resumeRetryCount="-1")
}}
''')
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
        self.server.start(port=self.server.port)
        self.takes(2 * n, self.said)
        self.stop()
        self.assertEqual(stored(self.server.db), ({101: 2 * n}, {101: 200 * n}))

    def test_line_by_line(self):
        self.ships("off", 60)

    def test_transactions(self):
        self.ships("on", 3000)


if __name__ == "__main__":
    unittest.main()
