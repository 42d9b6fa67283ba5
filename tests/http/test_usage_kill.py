#!/usr/bin/env python3
"""kill -9 of what sends, of a follower that ships lines and cells, of the server, and of each usage server in turn (also SIGSTOP),
under load and while months are compacted: what is stored is what was sent, exactly, by zone, as counters and as request logs, and
no batch is half visible, at no time.

8 rounds; TB_LONG=1: 200.
"""
import json
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

from clickhouse import PROGRAM, ClickHouse
from follower import Follower, Writer
from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Server, hit, random_seed, run
from script import LONG

SEED = random_seed()
ROUNDS = 200 if LONG else 8
SHARDS = 3
PAIR = (101, 102)    # of `ingest`: a batch has as many lines of one as of the other
SHIPPED = (103, 104) # of `follow`: 103 as cells, 104 as lines, which it keeps
VICTIMS = ["sender", "follower", "server", *(f"shard {i}" for i in range(SHARDS)), *(f"hung shard {i}" for i in range(SHARDS))]
CREATED = {"account": 1, "created": "2026-01-05T00:00:00Z"}
CATALOG = {"accounts": [{"id": 1, "name": "acme"}],
           "zones": [{"id": zone, "name": f"z{zone}", "settings": {"EnableLogging": zone != 103}, **CREATED}
                     for zone in (*PAIR, *SHIPPED)]}


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what())
        threading.Event().wait(0.02)


class Watch(threading.Thread):
    """Asks for both zones of the pair again and again: one first, then the other, then the first again. Every batch adds as much
    to both, so the other is never less than the first was, nor more than it is then."""

    def __init__(self, ask):
        super().__init__(daemon=True)
        self.ask, self.over, self.seen, self.wrong = ask, threading.Event(), 0, []

    def run(self):
        while not self.over.wait(0.01):
            counts = [self.ask(zone) for zone in (PAIR[0], PAIR[1], PAIR[0])]
            if None in counts:
                continue
            self.seen += 1
            if not counts[0] <= counts[1] <= counts[2]:
                self.wrong.append(counts)


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Killed(unittest.TestCase):
    def setUp(self):
        self.shards = [ClickHouse() for _ in range(SHARDS)]
        for shard in self.shards:
            self.addCleanup(shard.close)
        self.options = ["--usage", "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.shards) + "/killed",
                        "--usage-timeout-ms", "2000", "--usage-compact-rows", "20"]
        self.server = Server(*self.options, log=None)
        self.addCleanup(self.server.folder.cleanup)
        self.addCleanup(lambda: self.server.process.kill())
        self.post("/catalog?delete=true", json.dumps(CATALOG).encode())
        folder = tempfile.TemporaryDirectory(prefix="tollbook-killed-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "logs").mkdir()
        self.writer = Writer(self.folder / "logs", random.Random(SEED), zones=SHIPPED)
        self.addCleanup(self.writer.close)
        self.follower = Follower(self.server.url, self.folder / "logs/access.log*", key=self.server.keys["ingest"],
                                 folder=self.folder).start()
        self.addCleanup(self.follower.close)
        self.sent, self.killed, self.compactions = 0, Counter(), 0

    def post(self, target, body):
        answer = self.server.ask("POST", target, "operator", body, content_type="application/json")
        self.assertIn(answer.status, (200, 201), answer.body)

    def write(self, rng, i):
        """A log with as many lines of each zone, so that a half visible batch shows."""
        path = self.folder / f"{i}.log"
        n = rng.randrange(50, 400)
        path.write_bytes(b"".join(hit(zone, rng.randrange(80000), 1000) for _ in range(n) for zone in PAIR))
        self.sent += n
        return path

    def send(self, path):
        return subprocess.Popen([TOLLBOOK, "ingest", "--server", self.server.url, "--key", self.server.keys["operator"], path],
                                env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def count_compactions(self):
        self.compactions += int(self.server.metric("tollbook_usage_compactions_total"))

    def kill(self, victim, sender, rng):
        if victim == "sender":
            sender.kill()
        elif victim == "follower":
            self.follower.kill()
            self.follower.start()
        elif victim == "server":
            self.count_compactions()
            self.server.process.kill()
            self.server.process.wait()
            self.server.log_file.close()
            self.server.start(*self.options)
        else:
            shard = self.shards[int(victim[-1])]
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

    def stored(self, zone):
        """None: it does not answer just now."""
        try:
            answer = self.server.get(f"/statistics?pullZone={zone}")
        except OSError:
            return None
        return answer.json()["TotalRequestsServed"] if answer is not None and answer.status == 200 else None

    def settled(self, zone):
        """What is stored once it answers: a server may be slow, and what is read while it is compacted is asked for again."""
        got = []
        until(lambda: got.append(self.stored(zone)) or got[-1] is not None, self.server.messages)
        return got[-1]

    def kept(self):
        """Lines of request logs."""
        try:
            days = [[self.server.get(f"/{day}/{zone}.log?end=1000000") for day in ("11-03-26", "11-04-26")] for zone in PAIR]
        except OSError as why:
            raise AssertionError(f"{why}\n{self.server.messages()}") from why
        return [sum(answer.body.count(b"\n") for answer in answers) for answers in days]

    def sent_whole(self, path):
        """Sent again until it is acknowledged, as cron does."""
        return self.send(path).wait(PATIENCE) == 0

    def one_round(self, i, rng):
        paths = [self.write(rng, f"{i}-{k}") for k in range(3)]
        senders = [self.send(path) for path in paths]
        self.writer.put(rng.randrange(1, 200))
        if rng.random() < 0.2:
            self.writer.rotate()
        threading.Event().wait(rng.random() * 0.15) # at a random point of their work
        victim = rng.choice(VICTIMS) if LONG else ["sender", "follower", "server", "shard 0", "shard 1", "shard 2",
                                                   f"hung shard {rng.randrange(SHARDS)}", "server"][i]
        self.killed[victim] += 1
        self.writer.put(rng.randrange(1, 50))
        self.kill(victim, rng.choice(senders), rng)
        for sender in senders:
            sender.wait(PATIENCE)
        until(lambda: self.ready() == 200, self.server.messages)
        one, other = (self.settled(zone) for zone in PAIR)
        self.assertEqual(one, other, f"round {i}, {victim}: a batch is half visible")
        for path in paths:
            until(lambda path=path: self.sent_whole(path), self.server.messages)
            path.unlink()
        self.assertEqual([self.settled(zone) for zone in PAIR], [self.sent, self.sent], f"round {i}, {victim}")
        written = [self.writer.written[zone] for zone in SHIPPED]
        until(lambda: [self.stored(zone) for zone in SHIPPED] == written,
              lambda: f"round {i}, {victim}: {[self.stored(zone) for zone in SHIPPED]} of {written}\n{self.follower.messages()}")
        until(lambda: self.kept() == [self.sent, self.sent], lambda: f"round {i}, {victim}: {self.kept()} of {self.sent} lines kept")

    def test_stored_is_sent(self):
        rng = random.Random(SEED)
        watch = Watch(self.stored)
        watch.start()
        for i in range(ROUNDS):
            self.one_round(i, rng)
        self.count_compactions()
        until(lambda: int(self.server.metric("tollbook_usage_compactions_total")) > 0, self.server.messages)
        watch.over.set()
        watch.join(PATIENCE)
        self.assertEqual(watch.wrong, [])
        self.assertGreater(watch.seen, ROUNDS)
        self.assertEqual(self.follower.stop(), 0)
        run("verify", "--server", self.server.url, "--key", self.server.keys["operator"])
        self.assertEqual(self.server.stop(), 0)
        print(f"{ROUNDS} rounds, {dict(self.killed)}; {2 * self.sent + self.writer.lines} lines, {self.compactions} compactions, "
              f"{watch.seen} looks", flush=True)


if __name__ == "__main__":
    unittest.main()
