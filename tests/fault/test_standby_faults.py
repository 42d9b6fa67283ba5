"""A standby and a continuous backup whose network, processes and disks fail. After each round the copy is the primary's, row
by row, in its answers, its digest and its anchor, and verifies; nothing that was acknowledged is missing, and a copy that has
stopped following says what to do, which then works. What is damaged never gets into a copy without a word.
"""
import atexit
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
from faults import in_own_mounts, mount_small  # noqa: E402
from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, random_seed, run  # noqa: E402
from load import Load, in_file  # noqa: E402
from network import LOSE_REQUEST, Faults, Network  # noqa: E402
from script import LONG  # noqa: E402
from tables import content  # noqa: E402
from test_billing import BOOK  # noqa: E402
from test_standby import ASKED, OPERATOR, Primary, Standby, state  # noqa: E402

SEED = random_seed()
ROUNDS = int(os.environ.get("R") or (240 if LONG else 9))
BACKUP_ROUNDS = 60 if LONG else 3
ENDED = "follows its primary no longer"
NO_NEWS = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n"
HERE_ALONE = ("piece",)  # a copy keeps pieces by its own rule
counts = Counter()
atexit.register(lambda: print(", ".join(f"{what} {n}" for what, n in sorted(counts.items())), flush=True))


def started(server):
    """Nothing outlives the test that failed."""
    atexit.register(lambda: server.process.poll() is None and server.process.kill())
    return server


def kill(server):
    server.process.kill()
    server.process.wait()
    server.log_file.close()


class Pair(unittest.TestCase):
    longMessage = True

    def setUp(self):
        self.rng = random.Random(SEED)
        self.primary = started(Primary(log=None))
        self.addCleanup(self.primary.close)
        self.primary.post("/books", BOOK)
        self.load = Load(self.rng)
        self.network = Network(self.primary.port)
        self.addCleanup(self.network.close)
        self.faults = Faults(self.rng)

    def begin(self):
        self.standby = started(Standby(self.primary, url=self.network.url))
        self.addCleanup(lambda: self.standby.close())

    # --- writing ---

    def write(self, n=1):
        """Each is acknowledged."""
        for _ in range(n):
            self.write_one(self.load.write())

    def write_one(self, write):
        with self.primary.wire() as wire:
            answer = write.send(wire, self.primary.keys)
        self.assertIn(answer.status, (200, 201), answer.body)
        self.load.acknowledge(write, answer)

    def restart_primary(self):
        self.primary.start()
        self.network.to = self.primary.port

    # --- waiting and comparing ---

    def follows(self):
        """Waits until the copy has what the primary has. False: it has ended."""
        goal, end = state(self.primary)["piece"], time.monotonic() + PATIENCE
        while (own := state(self.standby)["piece"]) < goal:
            if self.has_ended():
                return False
            self.assertLess(time.monotonic(), end, self.standby.messages())
            self.standby.get(f"/replica/pieces?after={own}&wait=1", "replica")
        return not self.has_ended()

    def has_ended(self):
        return ENDED in self.standby.messages()

    def remedy(self):
        """Does what the message says."""
        said = re.search(r"Stop this server, remove (\S+) and start it again: a new copy is made\.", self.standby.messages())
        self.assertTrue(said, self.standby.messages())
        self.assertEqual(self.standby.get("/readyz", None).status, 503)
        self.assertEqual(self.standby.stop(), 0)
        self.begin_anew(said[1])
        counts["ended, and the remedy works"] += 1

    def begin_anew(self, path):
        for end in ("", "-wal", "-shm"):
            Path(f"{path}{end}").unlink(missing_ok=True)
        self.standby.log_path.unlink()
        self.standby.start()

    def same(self, why):
        if not self.follows():
            self.remedy()
            self.assertTrue(self.follows(), self.standby.messages())
        theirs, ours = content(self.primary.db, HERE_ALONE), content(self.standby.db, HERE_ALONE)
        self.assertEqual([name for name in theirs if theirs[name] != ours.get(name)], [], why)
        self.assertEqual(*[[state(one)[k] for k in ("epoch", "piece", "version", "digest")] for one in (self.primary, self.standby)], why)
        for path, key in ((self.rng.choice(ASKED), "user"), (self.rng.choice(OPERATOR), "operator")):
            ours, theirs = (one.get(path, key) for one in (self.standby, self.primary))
            if 429 not in (ours.status, theirs.status):
                self.assertEqual((ours.status, ours.body), (theirs.status, theirs.body), (why, path))
        self.assertEqual(*[self.operation(one, "anchor")["digest"] for one in (self.primary, self.standby)], why)
        self.assertEqual(self.operation(self.standby, "verify")["differences"], [], why)
        self.check_acknowledged(why)

    def operation(self, server, name):
        answer = server.ask("POST", f"/operations/{name}", "operator", b"{}", Content_Type="application/json")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["answer"]

    def check_acknowledged(self, why):
        found = in_file(self.standby.db)
        for write in self.load.acknowledged:
            if write.kind in ("named batch", "payment", "charge"):
                self.assertEqual(found.get((write.kind, write.number)), write.lines or 1, why)


class Stream(Pair):
    """The network between a standby and its primary, and their processes."""

    # --- rounds ---

    def hold_and_write(self):
        """Several pieces wait, so that one answer has them."""
        self.network.break_off(silent=True)
        self.write(self.rng.randrange(2, 5))

    def answer_fails(self, fault, times):
        for _ in range(20):
            self.hold_and_write()
            if self.network.failed():
                self.network.fail(*[fault] * times)
            self.network.mend()
            self.follows()
            if self.network.failed() or self.has_ended():
                break
        self.network.fail()

    def requests_are_lost(self):
        self.answer_fails(LOSE_REQUEST, self.rng.randrange(1, 4))

    def network_is_cut(self):
        directions = self.rng.choice((("there",), ("back",), ("there", "back")))
        self.network.break_off(*directions, silent=self.rng.random() < 0.5)
        self.write(self.rng.randrange(1, 5))
        self.network.mend()

    def base_fails(self):
        """The copy is lost, and made again over the same network."""
        fault = self.rng.choice((self.faults.cut, self.faults.damage, self.faults.damage_anywhere, self.faults.lose, LOSE_REQUEST))
        self.assertEqual(self.standby.stop(), 0)
        self.network.fail(*[fault] * self.rng.randrange(1, 3), only=b"GET /replica/base")
        self.write(1)
        for _ in range(3):
            try:
                self.begin_anew(self.standby.db)
                return
            except AssertionError:  # it has ended with a message, and may be started again
                self.assertRegex(self.standby.messages(), r"copy\.db")
                counts["a damaged base is refused"] += 1
                self.standby.log_file.close()
        self.fail(self.standby.messages())

    def while_writing(self, act):
        """act() at a random moment of several writes."""
        gate, left = threading.Event(), self.rng.randrange(1, 6)

        def body():
            for i in range(6):
                if i == left:
                    gate.set()
                write = self.load.write()
                try:
                    self.write_one(write)
                except (OSError, AttributeError):
                    return  # the primary is gone: it was not acknowledged

        thread = threading.Thread(target=body)
        thread.start()
        gate.wait(PATIENCE)
        act()
        thread.join(PATIENCE)

    def standby_is_killed(self):
        self.while_writing(lambda: kill(self.standby))
        self.standby.start()

    def standby_is_killed_within_an_answer(self):
        def half(answer):
            if not answer.pieces():
                return None
            whole = answer.wire()
            self.standby.process.kill()
            return whole[:self.rng.randrange(len(whole))], True

        self.network.fail(half)
        self.write(1)
        self.standby.process.wait(PATIENCE)
        self.standby.log_file.close()
        self.standby.start()

    def primary_is_killed(self):
        self.while_writing(lambda: kill(self.primary))
        self.restart_primary()
        self.never_ended("what the standby had was not in the primary")

    def primary_is_killed_when_it_answers(self):
        """What was sent was durable: the answer comes to the standby after its sender's death."""
        def last_words(answer):
            if not answer.pieces():
                return None
            self.primary.process.kill()
            self.primary.process.wait()
            return answer.wire(), True

        self.network.fail(last_words)
        write = self.load.write()
        try:
            self.write_one(write)
        except (OSError, AttributeError):
            pass
        self.primary.process.wait(PATIENCE)
        self.primary.log_file.close()
        self.restart_primary()
        self.never_ended("what was sent was not durable")

    def never_ended(self, why):
        self.assertTrue(self.follows(), why + "\n" + self.standby.messages())

    def lag_ms(self):
        return int(self.standby.get("/user").headers["tollbook-replica-lag-ms"])

    def lag_is_no_lie(self):
        """Answers without the pieces that there are do not make the copy current."""
        lags = []

        def empty(answer):
            if not answer.pieces():
                return None
            lags.append(self.lag_ms())
            while self.lag_ms() < 50:
                pass
            return (answer.wire(b"") if honest else NO_NEWS), False

        honest = self.rng.random() < 0.5  # about what is there; else the copy learns it when it asks how the primary stands
        before = (lambda answer: answer.pieces() and self.faults.foreign(answer), lambda answer: answer.pieces() and (NO_NEWS, False))
        self.network.fail(*() if honest else before, empty, empty)
        self.write(1)
        while not self.network.failed():
            self.standby.get("/replica/pieces?after=0&wait=0", "replica")
        self.assertGreaterEqual(lags[1], 50, "an answer that was emptied made the copy current")

    def kinds(self):
        answers = [(f"answer: {name.replace('_', ' ')}", lambda f=getattr(self.faults, name): self.answer_fails(f, self.rng.randrange(1, 3)))
                   for name in ("damage", "damage_anywhere", "shuffle", "double", "withhold", "withhold_all", "cut", "shorten", "lose", "old",
                                "foreign")]
        often = [("answer: damage, again and again", lambda: self.answer_fails(self.faults.damage, 5)),
                 ("answer: shuffle, again and again", lambda: self.answer_fails(self.faults.shuffle, 5))]
        rest = [("requests lost", self.requests_are_lost), ("network cut", self.network_is_cut), ("base fails", self.base_fails),
                ("standby killed", self.standby_is_killed), ("standby killed within an answer", self.standby_is_killed_within_an_answer),
                ("primary killed", self.primary_is_killed), ("primary killed when it answers", self.primary_is_killed_when_it_answers),
                ("lag", self.lag_is_no_lie)]
        return answers + often + rest

    def test_rounds(self):
        self.begin()
        kinds = self.kinds()
        for i in range(ROUNDS):
            if i % len(kinds) == 0:
                self.rng.shuffle(kinds)
            name, act = kinds[i % len(kinds)]
            act()
            self.same(f"round {i}: {name}, TB_SEED={SEED}")
            counts[name] += 1


if __name__ == "__main__":
    unittest.main()
