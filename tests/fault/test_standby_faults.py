"""A standby and a continuous backup whose network, processes and disks fail. After each round the copy is the primary's, row
by row, in its answers, its digest and its anchor, and verifies; nothing that was acknowledged is missing, and a copy that has
stopped following says what to do, which then works. What is damaged never gets into a copy without a word.
"""
import atexit
import random
import re
import shutil
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
ROUNDS = 240 if LONG else 8
BACKUP_ROUNDS = 60 if LONG else 2
ENDED = "follows its primary no longer"
NO_NEWS = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: 0\r\n\r\n"
HERE_ALONE = ("piece",)  # a copy keeps pieces by its own rule
SMALL = Path(sys.argv[2]) if sys.argv[1:2] == ["inside"] else None  # where small disks may be mounted
RESTORED_ALONE = ("piece", "head", "meta")  # what is restored is not replicated
counts = Counter()
atexit.register(lambda: print(", ".join(f"{what} {n}" for what, n in sorted(counts.items())), flush=True))


def started(server):
    """Nothing outlives the test that failed."""
    atexit.register(lambda: server.process.poll() is None and server.process.kill())
    return server


def fill(disk):
    """Until there is no room."""
    with open(disk / "ballast", "ab", buffering=0) as file:
        try:
            while file.write(bytes(4096)):
                pass
        except OSError:
            pass


def free(disk):
    (disk / "ballast").unlink(missing_ok=True)


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
        self.operation(self.primary, "proof-start")
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
        self.standby.log_path.write_bytes(b"")
        self.standby.start()

    def same(self, why):
        if not self.follows():
            self.remedy()
            self.assertTrue(self.follows(), self.standby.messages())
        theirs, ours = content(self.primary.db, HERE_ALONE), content(self.standby.db, HERE_ALONE)
        self.assertTrue(theirs["proof_entry"], "the log of documents has entries")
        self.assertEqual([name for name in theirs if theirs[name] != ours.get(name)], [], why)
        self.assertEqual(*[[state(one)[name] for name in ("epoch", "piece", "version", "digest")]
                           for one in (self.primary, self.standby)], why)
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
        names = ("damage", "damage_anywhere", "shuffle", "double", "withhold", "withhold_all", "cut", "shorten", "lose", "old", "foreign")
        answers = [(f"answer: {name.replace('_', ' ')}",
                    lambda fault=getattr(self.faults, name): self.answer_fails(fault, self.rng.randrange(1, 3))) for name in names]
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


class Backup(Pair):
    """A continuous backup of the primary over the same network. What it restores is what the primary had at that piece."""

    def setUp(self):
        super().setUp()
        self.folder = self.primary.path / "d"
        self.moments = []  # (piece, content, anchor), of the primary while it rested
        self.process = None
        self.addCleanup(lambda: self.process and self.process.poll() is None and self.process.kill())

    def begin(self):
        self.said = self.primary.path / "follow.said"
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(
                [TOLLBOOK, "backup", "--follow", self.folder, "--server", self.network.url, "--key-file", self.primary.key_file,
                 "--every", "20ms", "--base-every", self.rng.choice(("1s", "24h"))], stderr=said, env=ENVIRONMENT)
        atexit.register(lambda process=self.process: process.poll() is None and process.kill())

    def note(self):
        rows, anchor = content(self.primary.db, RESTORED_ALONE), self.operation(self.primary, "anchor")["digest"]
        self.moments.append((state(self.primary)["piece"], rows, anchor))

    def files(self):
        return [path for path in self.folder.glob("[bp]*") if path.suffix in (".db", ".tbp")]

    def until_it_is_there(self, piece):
        """Its folder has the primary's newest piece. It begins again where it ended, which it says."""
        end = time.monotonic() + PATIENCE
        while not any(int(re.split(r"[-.]", path.name)[-2]) >= piece for path in self.files()):
            self.assertLess(time.monotonic(), end, self.said.read_text())
            if self.process.poll() is not None:
                self.assertTrue(self.said.read_text())
                self.begin()
            time.sleep(0.005)

    def stop(self):
        self.process.terminate()
        self.assertEqual(self.process.wait(PATIENCE), 0, self.said.read_text())

    def restored(self, piece):
        out = self.primary.path / "restored.db"
        out.unlink(missing_ok=True)
        done = run("restore", self.folder, "--out", out, "--piece", piece, expect=None)
        return done, out

    def check(self, why):
        piece, rows, anchor = self.rng.choice(self.moments)
        done, out = self.restored(piece)
        self.assertEqual(done.returncode, 0, (why, done.stderr))
        self.assertEqual(dict(row.split(" ", 1) for row in done.stdout.decode().splitlines())["anchor"], anchor, why)
        ours = content(out, RESTORED_ALONE)
        self.assertEqual([name for name in rows if rows[name] != ours.get(name)], [], why)

    # --- rounds ---

    def killed(self):
        self.write(self.rng.randrange(1, 4))
        self.process.kill()
        self.process.wait()
        self.write(1)
        self.begin()

    def killed_within_an_answer(self):
        def half(answer):
            whole = answer.wire()
            self.process.kill()
            return whole[:self.rng.randrange(len(whole))], True

        self.network.fail(half, only=b"GET /replica/")
        self.write(2)
        self.process.wait(PATIENCE)
        self.begin()

    def network_is_cut(self):
        self.network.break_off(*self.rng.choice((("there",), ("back",))), silent=self.rng.random() < 0.5)
        self.write(2)
        self.network.mend()

    def answers_fail(self):
        faults = self.faults
        kinds = (faults.damage, faults.damage_anywhere, faults.shuffle, faults.double, faults.withhold, faults.cut, faults.shorten, faults.lose,
                 faults.old, faults.foreign, LOSE_REQUEST)
        self.network.fail(*[self.rng.choice(kinds) for _ in range(2)], only=b"GET /replica/")
        self.write(self.rng.randrange(2, 5))
        self.until_it_is_there(state(self.primary)["piece"])
        self.network.fail()

    def base_fails(self):
        """The copy begins in another folder."""
        self.stop()
        self.moments.clear()
        self.folder = self.folder.with_name(self.folder.name + "d")
        faults = self.faults
        self.network.fail(self.rng.choice((faults.damage, faults.cut, faults.lose, faults.damage_anywhere)), only=b"GET /replica/base")
        self.begin()
        self.write(1)

    def primary_is_killed(self):
        self.write(1)
        kill(self.primary)
        self.restart_primary()
        self.write(2)

    def file_is_damaged(self):
        """A restore refuses it, or does not need what is damaged."""
        self.stop()
        file = self.rng.choice(sorted(self.files()))
        whole = file.read_bytes()
        at = self.rng.choice([i for i, byte in enumerate(whole) if byte])
        file.write_bytes(whole[:at] + bytes([whole[at] ^ self.rng.randrange(1, 256)]) + whole[at + 1:])
        if self.moments:
            piece, rows, _ = self.rng.choice(self.moments)
            done, out = self.restored(piece)
            if done.returncode:
                self.assertIn(b"\n", done.stderr)
                counts["a damaged backup is refused"] += 1
            else:
                ours = content(out, RESTORED_ALONE)
                self.assertEqual([name for name in rows if rows[name] != ours.get(name)], [], (file, at))
        file.write_bytes(whole)
        self.begin()

    def test_rounds(self):
        self.begin()
        self.write(2)
        kinds = [self.killed, self.killed_within_an_answer, self.network_is_cut, self.answers_fail, self.base_fails, self.primary_is_killed,
                 self.file_is_damaged]
        for i in range(BACKUP_ROUNDS):
            if i % len(kinds) == 0:
                self.rng.shuffle(kinds)
            act = kinds[i % len(kinds)]
            act()
            self.network.fail()
            self.note()
            self.until_it_is_there(self.moments[-1][0])
            self.check(f"round {i}: {act.__name__}, TB_SEED={SEED}")
            counts[f"backup: {act.__name__.replace('_', ' ')}"] += 1
        self.stop()


class Full(Pair):
    """Databases on small disks, which are full and then are not. Both servers go on by themselves; a start that needs more says so."""

    def begin(self):
        self.theirs, self.ours = (SMALL / name for name in "ps")
        self.primary.stop()
        self.primary.db = shutil.move(self.primary.db, self.theirs / "t.db")
        self.restart_primary()
        super().begin()
        self.standby.stop()
        self.standby.db = self.ours / "copy.db"
        self.standby.start()
        self.write()
        self.same("begun")

    def until_it_says(self, pattern):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.standby.messages()):
            self.assertLess(time.monotonic(), end, self.standby.messages())
            time.sleep(0.005)

    def standby_is_full(self):
        fill(self.ours)
        self.write_until(lambda _: re.search(r"nothing can be taken.*(full|space)", self.standby.messages()))
        self.assertEqual(self.standby.get("/user").status, 200)

    def write_until(self, what):
        for _ in range(400):
            write = self.load.write()
            with self.primary.wire() as wire:
                answer = write.send(wire, self.primary.keys)
            if answer.status in (200, 201):
                self.load.acknowledge(write, answer)
            if what(answer.status):
                return write, answer
        self.fail("a full disk is never noticed")
        return None

    def primary_is_full(self):
        fill(self.theirs)
        write, answer = self.write_until(lambda status: status not in (200, 201))
        self.assertIn(answer.status, (503, 507), answer.body)
        self.assertRegex(answer.json()["Message"], "(?i)space|full")
        self.assertTrue(self.follows(), self.standby.messages())
        free(self.theirs)
        if write.repeats:
            self.write_one(write)

    def no_room_for_a_copy(self):
        self.assertEqual(self.standby.stop(), 0)
        Path(self.standby.db).unlink()
        fill(self.ours)
        with self.assertRaises(AssertionError):
            self.begin_anew(self.standby.db)
        self.assertRegex(self.standby.messages(), "(?i)space|full")
        self.standby.log_file.close()
        free(self.ours)
        self.begin_anew(self.standby.db)

    def no_room_for_a_base(self):
        self.assertEqual(self.standby.stop(), 0)
        self.primary.stop()  # and with it the base that it keeps
        self.restart_primary()
        fill(self.theirs)
        thread = threading.Thread(target=self.begin_anew, args=(self.standby.db,))
        thread.start()
        self.until_it_says("base does not come")
        self.assertRegex(self.standby.messages(), "(?i)space|full")
        free(self.theirs)
        thread.join(PATIENCE)

    def test_rounds(self):
        self.begin()
        for act in (self.standby_is_full, self.primary_is_full, self.no_room_for_a_copy, self.no_room_for_a_base) * (10 if LONG else 1):
            self.standby.log_path.write_bytes(b"")
            act()
            for disk in (self.ours, self.theirs):
                free(disk)
            self.same(f"{act.__name__}, TB_SEED={SEED}")
            counts[f"disk: {act.__name__.replace('_', ' ')}"] += 1


class Disks(unittest.TestCase):
    def test_full_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            said = in_own_mounts(__file__, Path(folder))
        if said is None:
            self.skipTest("this machine lets nobody mount")
        print(said)


if SMALL:
    for name in "ps":
        mount_small(SMALL / name, "24m")  # databases, their logs, and a base
    unittest.main(argv=[__file__, "Full"])
elif __name__ == "__main__":
    del Full
    unittest.main()
