"""Machines that are lost, and two that both believe to be the primary. Clients write all the time; with --acknowledge-after
standby each acknowledged write is in the history that survives, once, whatever ends when: the primary with its folder, the
standby, both, or the network between any two. What was not acknowledged is sent again and counts once.
"""
import atexit
import random
import shutil
import sqlite3
import sys
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "http"))
from harness import PATIENCE, Server, Wire, random_seed, run  # noqa: E402
from load import Load, in_file  # noqa: E402
from network import Network  # noqa: E402
from script import LONG  # noqa: E402
from tables import content  # noqa: E402
from test_billing import BOOK  # noqa: E402
from test_standby import Primary, Standby, state, verified  # noqa: E402

SEED = random_seed()
ROUNDS = 200 if LONG else 10
CLIENTS = 2
BUSY_S = 0.05  # before a client that was refused writes again
ACKNOWLEDGE = ("--acknowledge-after", "standby", "--standby-wait", "1")
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


def serve(server, *options, **more):
    """As the primary, also what was made as a standby."""
    Server.start(server, "--replicas", *options, **more)


class Rejoined(Standby):
    """An old primary, with its file, as the standby of another server."""

    def __init__(self, before, primary, url, *options):
        self.primary, self.keys, self.of = primary, primary.keys, url
        self.folder, self.path, self.db = before.folder, before.path, before.db
        self.start(*options)


class Clients:
    """Threads that write through a network. What was not acknowledged is kept, to be sent again."""

    def __init__(self, test, network, server, most=10**9):
        self.most = most  # writes that are acknowledged, about
        self.test, self.network, self.keys = test, network, server.keys
        self.load = test.load
        self.over, self.last_begun = False, 0  # when the last acknowledged write was sent
        self.acknowledged, self.refused, self.unsure = 0, Counter(), []
        self.changed = threading.Condition()
        self.threads = [threading.Thread(target=self.write_on) for _ in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def write_on(self):
        while not self.over and self.acknowledged < self.most and not self.refused["replica.superseded"]:
            write = self.load.write()
            begun = time.monotonic()
            try:
                answer = send(write, self.port(), self.keys)
            except OSError:
                answer = None
            with self.changed:
                if answer and answer.status in (200, 201):
                    self.load.acknowledge(write, answer)
                    self.acknowledged += 1
                    self.last_begun = max(self.last_begun, begun)
                else:
                    self.unsure.append(write)
                    self.refused[answer.error if answer else "no answer"] += 1
                self.changed.notify_all()
                if answer and answer.status == 503:
                    self.changed.wait(BUSY_S)
            if not answer and not self.network.answers():
                return

    def port(self):
        return int(self.network.url.rsplit(":", 1)[1])

    def until(self, what):
        with self.changed:
            self.test.assertTrue(self.changed.wait_for(what, PATIENCE), (self.acknowledged, self.refused))

    def until_more(self, n):
        goal = self.acknowledged + n
        self.until(lambda: self.acknowledged >= goal)

    def end(self):
        self.over = True
        for thread in self.threads:
            thread.join(PATIENCE)
        return self.unsure


def send(write, port, keys):
    with Wire(port) as wire:
        return write.send(wire, keys)


class Machines(unittest.TestCase):
    longMessage = True

    def setUp(self):
        self.rng = random.Random(SEED)
        self.load = Load(self.rng)
        self.servers = []
        self.primary = self.known(Primary(log=None))
        self.primary.post("/books", BOOK)
        self.primary.stop()
        self.primary.start(*ACKNOWLEDGE)
        self.keys = self.primary.keys
        self.key_file = self.primary.path.with_name(self.primary.path.name + "-replica-key")
        shutil.copy(self.primary.key_file, self.key_file)
        self.primary.key_file = self.key_file  # it outlives the machine
        self.addCleanup(self.key_file.unlink)
        self.wan = Network(self.primary.port)      # between client and primary
        self.between = Network(self.primary.port)  # between primary and standby
        self.addCleanup(self.wan.close)
        self.addCleanup(self.between.close)
        self.addCleanup(self.end_all)

    def known(self, server):
        self.servers.append(started(server))
        return server

    def end_all(self):
        for server in self.servers:
            if server.process.poll() is None:
                server.stop()
        for server in self.servers:
            server.folder.cleanup()

    # --- machines ---

    def attach(self, *options):
        """A standby of the primary, which has all that the primary has, and is listed."""
        self.connect()
        self.standby = self.known(Standby(self.primary, "--promotable", *(options or ACKNOWLEDGE), url=self.between.url))
        self.standby.key_file = self.key_file
        self.level()

    def connect(self):
        self.primary.key_file = self.key_file
        self.between.fail()
        self.between.to = self.wan.to = self.primary.port

    def level(self):
        """Waits until the primary knows that its standby has all, the entry in its list too."""
        end = time.monotonic() + PATIENCE
        while True:
            theirs = state(self.primary)
            if (theirs["piece"], True) in [(one["piece"], one["promotable"]) for one in theirs["standbys"]]:
                return
            self.assertLess(time.monotonic(), end, self.primary.messages() + self.standby.messages())
            self.standby.get(f"/replica/pieces?after={theirs['piece']}&wait=1", "replica")

    def lose(self, server):
        """The machine burns."""
        kill(server)
        shutil.rmtree(server.path)

    def promote(self, server):
        """A new copy is not promoted before it is verified."""
        verified(server)
        done = run("promote", "--db", server.db, expect=None)
        self.assertRegex(done.stdout, rb"epoch \d+", done.stderr.decode() + server.messages())

    def anchor(self, server):
        answer = server.ask("POST", "/operations/anchor", "operator", b"{}", Content_Type="application/json")
        return answer.json()["answer"]["digest"]

    # --- what is there ---

    def check(self, server, anchors, why):
        """Every acknowledged write, none twice, and each anchor of a moment when all was acknowledged."""
        found = in_file(server.db)
        for write in self.load.acknowledged:
            if write.kind in ("named batch", "payment", "charge"):
                self.assertEqual(found.get((write.kind, write.number)), write.lines or 1, (why, write))
        with sqlite3.connect(f"file:{server.db}?mode=ro", uri=True) as db:
            keys = db.execute("SELECT count(*) FROM key").fetchone()[0]
            twice = db.execute("SELECT account,month FROM invoice WHERE kind='invoice' GROUP BY 1,2 HAVING count(*)>1").fetchall()
            lines = db.execute("SELECT coalesce(sum(accepted),0) FROM segment").fetchone()[0]
        db.close()
        self.assertEqual(twice, [], why)
        made = [write for write in self.load.acknowledged if write.kind == "key"]
        self.assertGreaterEqual(keys, len(made), why)
        for write in made[-3:]:
            self.assertEqual(server.get("/user", write.answer.json()["Key"]).status, 200, why)
        self.assertGreaterEqual(lines, sum(write.lines for write in self.load.acknowledged), why)
        for anchor in anchors:
            run("verify", "--db", server.db, "--against", anchor)

    def send_again(self, unsure, server, why):
        """Until all is acknowledged; then every batch counts once."""
        for write in unsure:
            if not write.repeats:
                continue
            for _ in range(PATIENCE):
                answer = send(write, server.port, self.keys)
                if answer and answer.status in (200, 201):
                    break
            self.assertIn(answer.status, (200, 201), (why, answer.body))
            self.load.acknowledge(write, answer)
        with sqlite3.connect(f"file:{server.db}?mode=ro", uri=True) as db:
            lines = db.execute("SELECT coalesce(sum(accepted),0) FROM segment").fetchone()[0]
        db.close()
        self.assertEqual(lines, sum(write.lines for write in self.load.acknowledged), why)


class Lost(Machines):
    # --- what happens before the machine is lost ---

    def nothing(self, clients):
        pass

    def standby_killed(self, clients):
        """Nothing is acknowledged until it is back."""
        kill(self.standby)
        clients.until(lambda: clients.refused["replica.unacknowledged"] > 0)
        before = clients.acknowledged
        clients.until(lambda: clients.refused["replica.unacknowledged"] > CLIENTS)
        self.assertEqual(clients.acknowledged, before, "acknowledged without a standby")
        self.standby.start("--promotable", *ACKNOWLEDGE)
        clients.until_more(1)

    def both_killed(self, clients):
        kill(self.primary)
        kill(self.standby)
        serve(self.primary, *ACKNOWLEDGE)
        self.standby.start("--promotable", *ACKNOWLEDGE)
        self.level()

    def answers_lost(self, clients):
        """Between client and primary, after the commit."""
        self.wan.fail(*[lambda answer: (b"", True)] * self.rng.randrange(1, 4), only=b"POST")
        clients.until(lambda: clients.refused["no answer"] > 0)

    def standby_cut_off(self, clients):
        self.between.break_off(*self.rng.choice((("there",), ("back",))), silent=self.rng.random() < 0.5)
        clients.until(lambda: clients.refused["replica.unacknowledged"] > 0)
        self.between.mend()
        clients.until_more(1)

    def standby_made_anew(self, clients):
        """Its copy is lost, and it has no piece behind its new base yet when the primary is lost too."""
        self.assertEqual(self.standby.stop(), 0)
        for end in ("", "-wal", "-shm"):
            Path(f"{self.standby.db}{end}").unlink(missing_ok=True)
        self.between.fail(*[lambda answer: (b"", True)] * 10000)
        self.standby.start("--promotable", *ACKNOWLEDGE)

    def test_rounds(self):
        self.attach()
        happens = [self.nothing] * 4 + [self.standby_killed, self.both_killed, self.answers_lost, self.standby_cut_off,
                                      self.standby_made_anew]
        anchors = []
        for i in range(ROUNDS):
            if i % len(happens) == 0:
                self.rng.shuffle(happens)
            act = happens[i % len(happens)]
            why = f"round {i}: {act.__name__}, TB_SEED={SEED}"
            anchors.append(self.anchor(self.primary))
            clients = Clients(self, self.wan, self.primary)
            clients.until_more(self.rng.randrange(1, 12))
            act(clients)
            self.lose(self.primary)
            unsure = clients.end()
            self.promote(self.standby)
            self.check(self.standby, anchors[-1:], why)
            self.primary = self.standby
            self.attach()
            self.send_again(unsure, self.primary, why)
            counts[f"machine lost, {act.__name__.replace('_', ' ')}"] += 1
            counts["acknowledged"] += clients.acknowledged
            counts["not acknowledged"] += len(unsure)
        self.check(self.primary, self.rng.sample(anchors, 5), "the end")
        run("verify", "--db", self.primary.db)


class Two(Machines):
    """The standby is promoted while the primary lives, with clients at both. What the old primary acknowledged until then, and
    what the new one does from then on, is in the new one's file; the old one acknowledges nothing that came later."""

    ALONE = ("--acknowledge-after", "commit")

    def setUp(self):
        super().setUp()
        self.other = Network(self.primary.port)  # between client and standby
        self.addCleanup(self.other.close)

    def break_off(self):
        how = self.rng.choice(((), ("there",), ("back",), ("there", "back")))
        if how:
            self.between.break_off(*how, silent=self.rng.random() < 0.5)
        return "-".join(how) or "whole"

    def heal(self, old):
        """The old primary hears of the new one, and takes writes no more."""
        self.between.mend()
        old.until(lambda: old.refused["replica.superseded"] > 0)

    def swap(self, rejoins):
        """The old primary becomes the standby of the new one, with its file; or another machine does."""
        before = self.primary
        self.assertEqual(before.stop(), 0)
        self.primary = self.standby
        self.assertEqual(self.primary.stop(), 0)
        serve(self.primary, *ACKNOWLEDGE)
        if not rejoins:
            self.attach(*self.ALONE)
            return
        self.connect()
        self.standby = self.known(Rejoined(before, self.primary, self.between.url, "--promotable", *self.ALONE))
        self.level()
        theirs, ours = content(self.primary.db, ("piece",)), content(self.standby.db, ("piece",))
        self.assertEqual([name for name in theirs if theirs[name] != ours.get(name)], [])
        counts["rejoined, with pieces of its own saved" if list(before.path.glob("*.unshared-*")) else "rejoined"] += 1
        for path in before.path.glob("*.unshared-*"):
            path.unlink()

    def test_rounds(self):
        self.attach(*self.ALONE)
        for i in range(ROUNDS):
            old = Clients(self, self.wan, self.primary)
            self.other.to = self.standby.port
            old.until_more(self.rng.randrange(1, 8))
            how = self.break_off()
            why = f"round {i}: network {how}, TB_SEED={SEED}"
            if how != "whole" and self.rng.random() < 0.5:
                old.until(lambda old=old: old.refused["replica.unacknowledged"] > 0)
            new = Clients(self, self.other, self.standby, most=self.rng.randrange(1, 8))
            self.promote(self.standby)
            promoted = time.monotonic()
            new.until(lambda new=new: new.acknowledged >= new.most)
            self.heal(old)
            unsure = old.end() + new.end()
            self.assertLess(old.last_begun, promoted, why + ": the old primary acknowledged after the promotion")
            self.check(self.standby, (), why)
            self.swap(self.rng.random() < 0.5)
            self.send_again(unsure, self.primary, why)
            counts[f"two primaries, network {how}"] += 1
            counts["acknowledged by the old"] += old.acknowledged
            counts["acknowledged by the new"] += new.acknowledged
        self.check(self.primary, (), "the end")
        run("verify", "--db", self.primary.db)


if __name__ == "__main__":
    unittest.main()
