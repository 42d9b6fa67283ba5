#!/usr/bin/env python3
"""kill -9 of the follower and of the server in turn, while the log is written and rotated in every way:
what is stored is what was written, exactly, by zone, in lines and bytes.

20 rounds; TB_LONG=1: 200.
"""
import random
import unittest
from pathlib import Path
import tempfile

from harness import Server, random_seed
from script import LONG
from follower import Follower, Writer, stored, taken, until

SEED = random_seed()
ROUNDS = 200 if LONG else 20


class Killed(unittest.TestCase):
    def setUp(self):
        self.server = Server(log=None)
        folder = tempfile.TemporaryDirectory(prefix="tollbook-follow-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.logs = self.folder / "logs"
        self.logs.mkdir()

    def restart_server(self, kill):
        if kill:
            self.server.process.kill()
            self.server.process.wait()
            self.server.log_file.close()
        else:
            self.assertEqual(self.server.stop(), 0)
        self.server.start()

    def one_round(self, i, rng, writer, follower):
        """Writes and rotates; kills one of the two after it has taken in a part, or at once."""
        before = sum(taken(self.server.db))
        for _ in range(rng.randrange(1, 4)):
            writer.put(rng.randrange(1, 400))
            if rng.random() < 0.7:
                writer.rotate()
        writer.put(rng.randrange(1, 50))
        some = before + rng.randrange(3) * (writer.lines - before) // 4
        until(lambda: sum(taken(self.server.db)) >= some, follower.messages)
        if i % 2:
            self.restart_server(kill=rng.random() < 0.8)
        else:
            follower.kill()
            writer.put(rng.randrange(1, 100))
            if rng.random() < 0.5:
                writer.rotate()
            follower.start()

    def test_stored_is_written(self):
        rng = random.Random(SEED)
        writer = Writer(self.logs, rng)
        follower = Follower(self.server.url, self.logs / "access.log*", key=self.server.keys["ingest"],
                            folder=self.folder).start()
        self.addCleanup(follower.close)
        for i in range(ROUNDS):
            self.one_round(i, rng, writer, follower)
        writer.close()
        until(lambda: sum(taken(self.server.db)) >= writer.lines,
              lambda: f"{taken(self.server.db)} of {writer.lines}\n{follower.messages()}")
        self.assertEqual(follower.stop(), 0)
        self.assertEqual(stored(self.server.db), (dict(writer.written), dict(writer.bytes)))
        self.assertEqual(taken(self.server.db), (writer.lines, 0))
        # Whoever comes later finds nothing new: no state is needed to know that.
        self.assertEqual(follower.once(), "")
        self.assertEqual(taken(self.server.db), (writer.lines, 0))
        self.server.close()
        print(f"{ROUNDS} rounds, {writer.rotations} rotations, {writer.lines} lines", flush=True)


if __name__ == "__main__":
    unittest.main()
