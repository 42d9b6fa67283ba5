"""A standby becomes the primary, with real servers: by the command, by a request, and as a file that nobody serves. What was
acknowledged is there, writes go on at the new primary, and the old one takes none any more.
"""
import json
import os
import signal
import threading
import time
import unittest

from harness import PATIENCE, hit, run
from test_standby import Primary, Standby, level, state, until


def promote(standby, *options, expect=0):
    done = run("promote", "--db", standby.db, *options, expect=expect)
    return (done.stderr if expect else done.stdout).decode()


class Case(unittest.TestCase):
    def setUp(self):
        self.primary = Primary()
        self.addCleanup(self.primary.close)

    def standby(self, *options):
        one = Standby(self.primary, *options)
        self.addCleanup(one.close)
        level(one)
        return one

    def send(self, server, second=1):
        return server.ask("POST", "/ingest/logs", "ingest", hit(101, second))


class Promotes(Case):
    def test_by_the_command_under_load(self):
        """Reads are answered all the time, over one connection each; writes are refused before and taken after."""
        standby = self.standby("--promotable")
        stop, failed, asked = threading.Event(), [], [0]

        def read():
            with standby.wire() as wire:
                while not stop.is_set():
                    answer = wire.ask("GET", "/pullzone", {"AccessKey": standby.keys["user"]})
                    asked[0] += 1
                    if not answer or answer.status != 200:
                        failed.append(answer)
                        return

        readers = [threading.Thread(target=read) for _ in range(2)]
        for one in readers:
            one.start()
        try:
            refused = self.send(standby)
            self.assertEqual((refused.status, refused.error), (503, "replica.read_only"))
            before = state(standby)
            began = time.monotonic()
            self.assertEqual(promote(standby), "epoch 2\n")
            took = time.monotonic() - began
            self.assertEqual(self.send(standby).status, 200)
        finally:
            stop.set()
        for one in readers:
            one.join()
        print(f"promoted within {took * 1000:.0f} ms, the command included; {asked[0]} reads meanwhile")
        self.assertEqual(failed, [])
        after = state(standby)
        self.assertEqual((after["role"], after["epoch"]), ("primary", 2))
        self.assertGreaterEqual(after["piece"], before["piece"] + 2)
        self.assertEqual(standby.get("/readyz").status, 200)
        self.assertEqual(run("verify", "--db", standby.db).returncode, 0)


if __name__ == "__main__":
    unittest.main()
