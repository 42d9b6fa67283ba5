#!/usr/bin/env python3
"""kill -9 of what sends, of the server, and of each usage server in turn (also SIGSTOP), under load: what is stored is what was
sent, exactly, by zone, as counters and as request logs, and no batch is half visible.

6 rounds; TB_LONG=1: 200.
"""
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from clickhouse import PROGRAM, ClickHouse
from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Server, hit, random_seed
from script import LONG

SEED = random_seed()
ROUNDS = 200 if LONG else 6
ZONES = (101, 102)
VICTIMS = ("sender", "server", "shard 1", "shard 2", "hung shard 1", "hung shard 2")


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what())
        threading.Event().wait(0.02)


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Killed(unittest.TestCase):
    def setUp(self):
        self.shards = [ClickHouse(), ClickHouse()]
        for shard in self.shards:
            self.addCleanup(shard.close)
        self.options = ["--usage", "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.shards) + "/killed",
                        "--usage-timeout-ms", "2000"]
        self.server = Server(*self.options, log=None)
        self.addCleanup(self.server.folder.cleanup)
        folder = tempfile.TemporaryDirectory(prefix="tollbook-killed-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.sent = 0

    def write(self, rng, i):
        """A log with as many lines of each zone, so that a half visible batch shows."""
        path = self.folder / f"{i}.log"
        n = rng.randrange(50, 400)
        path.write_bytes(b"".join(hit(zone, rng.randrange(80000), 1000) for _ in range(n) for zone in ZONES))
        self.sent += n
        return path

    def send(self, path):
        return subprocess.Popen([TOLLBOOK, "ingest", "--server", self.server.url, "--key", self.server.keys["operator"], path],
                                env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self, victim, sender, rng):
        if victim == "sender":
            sender.kill()
        elif victim == "server":
            port = self.server.port
            self.server.process.kill()
            self.server.process.wait()
            self.server.log_file.close()
            self.server.start(*self.options, port=port)
        else:
            shard = self.shards[int(victim[-1]) - 1]
            if victim.startswith("hung"):
                shard.process.send_signal(signal.SIGSTOP)
                until(lambda: self.ready() == 503, self.server.messages)
                shard.process.send_signal(signal.SIGCONT)
            else:
                shard.kill()
                if rng.random() < 0.5:
                    until(lambda: self.ready() == 503, self.server.messages)
                shard.start()

    def ready(self):
        return self.server.ask("GET", "/readyz").status

    def stored(self):
        got = [self.server.get(f"/statistics?pullZone={zone}") for zone in ZONES]
        return [answer.json()["TotalRequestsServed"] if answer.status == 200 else answer.status for answer in got]

    def kept(self):
        """Lines of request logs."""
        days = [[self.server.get(f"/{day}/{zone}.log?end=1000000") for day in ("11-03-26", "11-04-26")] for zone in ZONES]
        return [sum(answer.body.count(b"\n") for answer in answers) for answers in days]

    def sent_whole(self, path):
        """Sent again until it is acknowledged, as cron does."""
        sender = self.send(path)
        return sender.wait(PATIENCE) == 0

    def one_round(self, i, rng):
        paths = [self.write(rng, f"{i}-{k}") for k in range(3)]
        senders = [self.send(path) for path in paths]
        threading.Event().wait(rng.random() * 0.15) # at a random point of their work
        victim = VICTIMS[i % len(VICTIMS)] if not LONG else rng.choice(VICTIMS)
        self.kill(victim, rng.choice(senders), rng)
        for sender in senders:
            sender.wait(PATIENCE)
        until(lambda: self.ready() == 200, self.server.messages)
        one, other = self.stored()
        self.assertEqual(one, other, f"round {i}, {victim}: a batch is half visible")
        for path in paths:
            until(lambda path=path: self.sent_whole(path), self.server.messages)
        self.assertEqual(self.stored(), [self.sent, self.sent], f"round {i}, {victim}")
        self.assertEqual(self.kept(), [self.sent, self.sent], f"round {i}, {victim}")

    def test_stored_is_sent(self):
        rng = random.Random(SEED)
        for i in range(ROUNDS):
            self.one_round(i, rng)
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
