"""A standby becomes the primary, with real servers: by the command, by a request, and as a file that nobody serves. What was
acknowledged is there, writes go on at the new primary, and the old one takes none any more.
"""
import contextlib
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import threading
import time
import unittest

from harness import ENVIRONMENT, TOLLBOOK, Server, hit, run
from receiver import Receiver
from test_alerts import GB, Alerts, usage
from test_standby import Primary, Proxy, Standby, level, state, until


def promote(standby, *options, expect=0):
    done = run("promote", "--db", standby.db, *options, expect=expect)
    return (done.stderr if expect else done.stdout).decode()


HEAD = struct.Struct("<8s5q32s")


def pieces_of(body):
    """[(number, epoch, chain)] of whole pieces, and nothing else."""
    found, at = [], 0
    while at < len(body):
        magic, number, epoch, _, _, length, chain = HEAD.unpack_from(body, at)
        assert magic == b"tbpiece1"
        found.append((number, epoch, chain))
        at += HEAD.size + length
    assert at == len(body)
    return found


def cut(proxy):
    """Nothing passes any more, in either direction."""
    proxy.to = 1  # nobody listens there
    for end in proxy.open:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class Old(Primary):
    def start_again(self, *options):
        """Without --replicas, as what it is then."""
        key = ("--standby-key-file", self.key_file) if "--standby-of" in options else ()
        Server.start(self, *options, *key)


class New(Standby):
    def start_again(self, *options):
        Server.start(self, *options)


class Case(unittest.TestCase):
    def setUp(self):
        self.primary = Old()
        self.addCleanup(self.primary.close)

    def standby(self, *options):
        one = New(self.primary, *options)
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

    def test_what_has_arrived_is_taken(self):
        """Of an answer of two pieces, the second of which never comes."""
        proxy = Proxy(self.primary.port)
        self.addCleanup(proxy.close)
        standby = New(self.primary, "--promotable", url=proxy.url)
        self.addCleanup(standby.close)
        piece = level(standby)["piece"]
        cut(proxy)
        for second in range(2):
            self.send(self.primary, second)
        came = []

        def change(data):
            if came:
                return b""
            second = data.find(b"tbpiece1", data.find(b"tbpiece1") + 1)
            if second < 0:
                return data
            came.append(second)
            return data[:second]

        proxy.change, proxy.to = change, self.primary.port
        until(lambda: came, standby)
        self.assertEqual(promote(standby), "epoch 2\n")
        _, second, *_ = pieces_of(standby.get(f"/replica/pieces?after={piece}", "replica").body)
        self.assertEqual(second[:2], (piece + 2, 2))


class Ends(Case):
    """The old primary: it hears of the new one, and never writes again."""

    def test_it_is_told_and_then_follows(self):
        standby = self.standby("--promotable")
        answer = standby.ask("POST", "/replica/promote", "operator")
        self.assertEqual((answer.status, answer.json()), (200, {"epoch": 2}))
        until(lambda: "knows that it is the primary no longer" in standby.messages(), standby)
        old = self.primary
        self.assertEqual(old.get("/replica/epoch", None).json()["role"], "superseded")
        refused = self.send(old)
        self.assertEqual((refused.status, refused.error), (503, "replica.superseded"))
        self.assertEqual(refused.json()["Primary"], standby.url)
        self.assertEqual(old.get("/readyz", None).status, 503)
        self.assertEqual(old.get("/pullzone").status, 200)
        self.assertEqual(old.get("/replica/pieces?after=1", "replica").error, "replica.superseded")
        self.assertEqual(old.get("/replica/base", "replica").error, "replica.superseded")
        self.assertIn(f"{standby.url}, has taken this one's place", old.messages())
        self.assertEqual(old.stop(), 0)
        for words in (("serve", "--listen", "127.0.0.1:0"), ("key", "create", "--account", 1, "--role", "User"), ("replica", "off")):
            said = run(*words, "--db", old.db, expect=2).stderr.decode()
            self.assertIn("--standby-of", said)
        self.send(standby)
        old.start_again("--standby-of", standby.url)
        until(lambda: state(old)["piece"] == state(standby)["piece"], old)
        self.assertEqual(state(old)["digest"], state(standby)["digest"])
        self.assertEqual((state(old)["role"], state(old)["epoch"]), ("standby", 2))
        self.assertEqual(list(old.path.glob("*unshared*")), [])

    def test_a_start_asks_the_standbys(self):
        standby = self.standby("--promotable")
        self.primary.stop()
        self.assertEqual(promote(standby), "epoch 2\n")
        said = run("serve", "--db", self.primary.db, "--listen", "127.0.0.1:0", expect=2).stderr.decode()
        self.assertIn(f"Start this server with --standby-of {standby.url}", said)
        standby.process.kill()
        said = run("serve", "--db", self.primary.db, "--listen", "127.0.0.1:0", expect=2).stderr.decode()
        self.assertIn("another server took its place, with epoch 2", said)  # it was noted
        standby.process.wait()
        standby.log_file.close()
        standby.start()  # with its old options: it may find nobody there, but nothing is lost
        self.assertEqual(state(standby)["epoch"], 2)

    def test_it_asks_standbys_that_are_silent(self):
        """The new one was started again, so it knows no longer whom to tell."""
        standby, old = self.standby("--promotable"), self.primary
        standby.stop()
        self.assertEqual(promote(standby), "epoch 2\n")
        old.stop()
        old.start()  # nobody answers it
        self.assertEqual(state(old)["role"], "primary")
        Server.start(standby)
        until(lambda: "has taken this one's place" in old.messages(), old)
        refused = self.send(old)
        self.assertEqual((refused.status, refused.error, refused.json()["Primary"]), (503, "replica.superseded", standby.url))
        old.stop()
        standby.stop()
        self.assertIn("another server took its place, with epoch 2",
                      run("serve", "--db", old.db, "--listen", "127.0.0.1:0", expect=2).stderr.decode())

    def test_what_only_the_old_one_has_is_saved_beside_it(self):
        proxy = Proxy(self.primary.port)
        self.addCleanup(proxy.close)
        standby = New(self.primary, "--promotable", url=proxy.url)
        self.addCleanup(standby.close)
        level(standby)
        cut(proxy)
        for second in range(3):
            self.assertEqual(self.send(self.primary, 10 + second).status, 200)
        mine = state(self.primary)
        self.assertEqual(promote(standby), "epoch 2\n")
        stream = standby.get("/replica/pieces?after=2", "replica").body
        shared = min((number for number, epoch, _ in pieces_of(stream) if epoch == 2)) - 1
        for second in range(5):
            self.assertEqual(self.send(standby, 20 + second).status, 200)
        old = self.primary
        old.stop()
        old.start_again("--standby-of", standby.url)
        until(lambda: state(old)["digest"] == state(standby)["digest"], old)
        saved, = old.path.glob("*unshared*")
        self.assertEqual(saved.name, f"t.db.unshared-1-{shared + 1}-{mine['piece']}")
        pieces = pieces_of(saved.read_bytes())
        self.assertEqual([number for number, *_ in pieces], list(range(shared, mine["piece"] + 1)))
        self.assertEqual(pieces[-1][2].hex(), mine["digest"])
        self.assertIn(f"They are saved in {saved}", old.messages())
        self.assertEqual(self.send(standby, 30).status, 200)
        until(lambda: state(old)["digest"] == state(standby)["digest"], old)

    def test_a_file_whose_log_is_read_is_not_replaced(self):
        """Its last commits are in the log, which is removed with it: a crash between would leave neither file whole."""
        proxy = Proxy(self.primary.port)
        self.addCleanup(proxy.close)
        standby = New(self.primary, "--promotable", url=proxy.url)
        self.addCleanup(standby.close)
        level(standby)
        cut(proxy)
        old = self.primary
        with contextlib.closing(sqlite3.connect(old.db, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM piece").fetchone()
            self.send(old)
            old.process.kill()
            old.process.wait()
            promote(standby)
            before = old.db.stat().st_ino
            said = run("serve", "--db", old.db, "--listen", "127.0.0.1:0", "--standby-of", standby.url, "--standby-key-file", old.key_file,
                       expect=3).stderr.decode()
        self.assertIn("t.db-wal) cannot be emptied", said)
        self.assertEqual(old.db.stat().st_ino, before)
        old.log_file.close()
        old.start_again("--standby-of", standby.url)
        until(lambda: state(old)["digest"] == state(standby)["digest"], old)
        self.assertEqual(len(list(old.path.glob("*unshared*"))), 1)

    def test_a_standby_that_finds_a_new_history_while_it_runs_stops_and_then_rejoins(self):
        """The new primary comes back after the old one was started as its standby."""
        proxy = Proxy(self.primary.port)
        self.addCleanup(proxy.close)
        standby = New(self.primary, "--promotable", url=proxy.url)
        self.addCleanup(standby.close)
        level(standby)
        cut(proxy)
        self.send(self.primary, 10)
        promote(standby)
        self.send(standby, 20)
        old = self.primary
        old.stop()
        back = Proxy(1)
        self.addCleanup(back.close)
        old.start_again("--standby-of", back.url)
        back.to = standby.port
        self.assertEqual(old.stop(0), 3)
        self.assertIn("its next start saves those pieces", old.messages())
        old.start_again("--standby-of", back.url)
        until(lambda: state(old)["digest"] == state(standby)["digest"], old)
        self.assertEqual(len(list(old.path.glob("*unshared*"))), 1)

    def test_the_last_primary_takes_its_place_again(self):
        """It starts as a standby of its standby, which has less, and is in nobody's list."""
        old = self.primary
        proxy = Proxy(old.port)
        self.addCleanup(proxy.close)
        standby = New(old, "--promotable", url=proxy.url)
        self.addCleanup(standby.close)
        level(standby)
        cut(proxy)
        self.send(old, 4)
        old.stop()
        back = Proxy(standby.port)
        self.addCleanup(back.close)
        asked = []

        def change(data):  # the first answers to who that is are cut off; curl asks twice
            if b'"role"' not in data or len(asked) == 4:
                return data
            asked.append(data)

        back.change = change
        old.start_again("--standby-of", back.url, "--promotable")
        until(lambda: "has fewer pieces than this copy" in old.messages(), old)
        self.assertEqual(len(asked), 4)
        self.assertNotIn("follows its primary no longer", old.messages())
        self.assertEqual(promote(old), "epoch 2\n")

    def test_an_answer_that_waits_may_be_stored_there(self):
        """So it is not replica.superseded, after which anything is sent to the new primary."""
        old = self.primary
        old.stop()
        old.keys["support"] = old.make_key(0, "Support")
        old.start("--acknowledge-after", "standby", "--standby-wait", 3600)
        last = state(old)["piece"]
        self.assertEqual(old.get(f"/replica/pieces?after={last}", "replica", Tollbook_Replica="b-1; promotable").status, 200)
        answers = []
        client = threading.Thread(target=lambda: answers.append(self.send(old, 3)))
        client.start()
        until(lambda: old.metric("tollbook_replica_answers_waiting") == 1, old)
        self.assertEqual(old.get("/replica/status", "support", Tollbook_Epoch=2).status, 200)
        self.assertEqual(old.get("/replica/status", "replica", Tollbook_Epoch=2**63 - 1).status, 200)
        self.assertEqual(old.get("/replica/status", "replica", Tollbook_Epoch=2).error, "replica.superseded")
        client.join()
        self.assertEqual((answers[0].status, answers[0].error), (503, "replica.unacknowledged"))

    def test_both_believe_and_neither_acknowledges_alone(self):
        """With --acknowledge-after standby: the network is cut between the two, and the standby is promoted too early."""
        waits = ("--acknowledge-after", "standby", "--standby-wait", 1)
        old = self.primary
        old.stop()
        old.start(*waits)
        proxy = Proxy(old.port)
        self.addCleanup(proxy.close)
        standby = New(old, "--promotable", *waits, url=proxy.url)
        self.addCleanup(standby.close)
        level(standby)
        self.assertEqual(self.send(old, 1).status, 200)
        cut(proxy)
        self.assertEqual(promote(standby), "epoch 2\n")
        for server in (old, standby):
            refused = self.send(server, 2)
            self.assertEqual((refused.status, refused.error), (503, "replica.unacknowledged"), server.messages())
        old.stop()
        old.start_again("--standby-of", standby.url, "--promotable")
        until(lambda: state(old)["digest"] == state(standby)["digest"], old)
        self.assertEqual(self.send(standby, 2).status, 200)  # the same lines: they count once


class Addresses(Case):
    def test_a_standby_of_several_goes_on_to_the_one_that_is_the_primary(self):
        first = self.standby("--promotable")
        second = New(self.primary, "--promotable", url=f"{first.url},{self.primary.url}")
        self.addCleanup(second.close)
        level(second)
        self.assertIn(f"is made from {self.primary.url}", second.messages())
        refused = self.send(second)
        self.assertEqual(refused.json()["Primary"], self.primary.url)
        self.assertEqual(promote(first), "epoch 2\n")
        until(lambda: state(second)["epoch"] == 2, second)
        self.assertEqual(self.send(first, 2).status, 200)
        until(lambda: state(second)["digest"] == state(first)["digest"], second)
        self.assertEqual(self.send(second).json()["Primary"], first.url)


class Refuses(Case):
    def test_without_force(self):
        replica = self.standby()
        self.assertIn("may be lost", promote(replica, expect=1))
        refused = replica.ask("POST", "/replica/promote", "operator")
        self.assertEqual((refused.status, refused.error), (409, "replica.not_promoted"))
        self.assertEqual(state(replica)["role"], "standby")
        refused = replica.ask("POST", "/replica/promote", "operator", b'{"force":1}', Content_Type="application/json")
        self.assertEqual((refused.status, refused.json()["Field"]), (400, "force"))
        done = replica.ask("POST", "/replica/promote", "operator", b'{"force":true}', Content_Type="application/json")
        self.assertEqual(done.json(), {"epoch": 2})
        self.assertIn("the primary already", promote(replica, expect=1))
        self.assertIn("no standby", promote(self.primary, expect=1))

    def test_a_copy_that_was_never_listed_also_after_a_restart(self):
        replica = self.standby()  # not promotable
        replica.stop()
        self.primary.stop()
        replica.start("--promotable")
        self.assertIn("does not hold the piece that lists it", promote(replica, expect=1))
        self.assertEqual(promote(replica, "--force"), "epoch 2\n")
        replica.stop()
        replica.start("--promotable")  # its own file, of the last primary
        self.assertEqual(promote(replica), "epoch 3\n")

    def test_a_copy_is_not_served_as_a_primary(self):
        replica = self.standby()
        replica.stop()
        moved = replica.path / "moved.db"
        shutil.copy(replica.db, moved)  # alone: what says that it is a copy is in the file
        said = run("serve", "--db", moved, "--listen", "127.0.0.1:0", expect=2).stderr.decode()
        self.assertIn(NOT_PROMOTED, said)
        self.assertIn("make it the primary with `promote`", said)
        self.assertIn("standby", run("replica", "status", "--db", moved).stdout.decode())
        run("promote", "--force", "--db", moved)
        run("replica", "off", "--db", moved)
        replica.db = moved
        for _ in range(2):
            Server.start(replica, "--replicas")
            self.assertEqual((state(replica)["role"], state(replica)["epoch"]), ("primary", 3))
            replica.stop()

    def test_a_seeded_copy_is_one_before_its_first_piece(self):
        self.primary.send(hit(101))
        replica = self.standby()
        replica.stop()
        self.assertIn(NOT_PROMOTED, run("key", "create", "--db", replica.db, "--account", 1, expect=2).stderr.decode())

    def test_backups_of_any_file_are_databases_of_their_own(self):
        replica = self.standby()
        self.primary.send(hit(101))
        level(replica)
        for server in (replica, self.primary):
            run("backup", "--db", server.db, "--to", server.path / "backup.db")
            run("verify", "--db", server.path / "backup.db")
            run("key", "create", "--db", server.path / "backup.db", "--account", 1)

    def test_an_older_state_of_a_primary_is_not_served(self):
        old, standby = self.primary, self.standby("--promotable")
        run("backup", "--db", old.db, "--to", old.path / "older.db")
        self.send(old)
        level(standby)
        old.stop()
        (old.path / "older.db").rename(old.db)
        said = run("serve", "--db", old.db, "--listen", "127.0.0.1:0", expect=2).stderr.decode()
        self.assertIn("this is an older state of the file", said)
        self.assertIn(f"--standby-of {standby.url}", said)

    def test_a_signal_alone_does_nothing(self):
        standby = self.standby("--promotable")
        for server in (standby, self.primary):
            server.process.send_signal(signal.SIGUSR2)
            until(lambda: "there is no request of that" in server.messages(), server)
        self.assertEqual(state(standby)["role"], "standby")


NOT_PROMOTED = "is a copy of its primary's database that was never promoted"
SUPERSEDED = "is the file of a former primary: another server took its place, with epoch 2"
# What a command gets in the place of what its help shows, and options with which it writes where it otherwise reads.
SAMPLES = {"ID": "1", "BOOK.json": "FILE", "CATALOG.json": "FILE", "OBJECT.json": "FILE", "SCENARIO.json|NAME...": "FILE",
           "SCENARIO.json": "FILE", "PAYMENTS.csv": "FILE", "YYYY-MM": "2026-10", "FIELD=COLUMN,...": "date=1", "BALANCES": "FILE"}
WRITES_WITH = {"alerts": ("--on",), "ledger begin": ("--month", "2026-01"), "ledger grace": ("--days", "3"),
               "invoice": ("--finalize", "--month", "2026-10"), "catalog change": ("--remove", "1")}
NAMED = {"ledger enter": "ledger pay"}
# The commands that write and are no operations. FILE: any file.
OTHERS = (("ingest", "FILE"), ("ingest", "--withdraw", "FILE"), ("import", "FILE"), ("import", "--withdraw", "FILE"), ("follow", "--once", "FILE"),
          ("serve", "--listen", "127.0.0.1:0"), ("usage", "migrate", "--to", "clickhouse://127.0.0.1:1/d"))
OPTIONAL = ("setup", "whatif")  # answer also where they cannot write
READERS = (("setup",), ("account", "list"), ("invoice", "--month", "2026-10"), ("replica", "status"), ("verify",), ("anchor",), ("book", "list"),
           ("query", "SELECT count(*) FROM zone"))


def words_of(name):
    """A call of the command with all that it needs, by its help."""
    usage = run("help", *name.split()).stdout.decode().split("\n", 1)[0].removeprefix(f"usage: tollbook {name}")
    words = re.sub(r"\[[^][]*(\[[^]]*\][^][]*)?\](\.\.\.)?", "", usage).split()
    return [*name.split(), *(SAMPLES.get(word, word.split("|")[0]) for word in words), *WRITES_WITH.get(name, ())]


class Files(Case):
    def refuses(self, db, sentence, operations):
        """Whatever writes is refused, and changes nothing; what reads is answered."""
        some = self.primary.path / "some"
        some.write_text("{}")
        calls = [*map(list, OTHERS), *(words_of(NAMED.get(one["name"], one["name"])) for one in operations
                                     if one["writes"] and one["name"] not in OPTIONAL)]
        before = db.read_bytes()
        for words in calls:
            words = [some if word == "FILE" else word for word in words]
            done = run(*words, "--db", db, expect=None)
            self.assertIn(sentence, done.stderr.decode(), words)
            self.assertEqual(done.returncode, 2, words)
        for words in READERS:
            run(*words, "--db", db)
        with subprocess.Popen([TOLLBOOK, "console", "--no-open", "--db", db], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT) as console:
            self.assertIn(b"/console/open", console.stdout.readline())
            console.terminate()
        self.assertEqual(db.read_bytes(), before)

    def test_no_command_writes_a_copy_or_a_superseded_file(self):
        standby = self.standby("--promotable")
        level(standby)
        operations = self.primary.ask("GET", "/operations", "operator").json()["operations"]
        standby.stop()
        self.primary.stop()
        self.refuses(standby.db, NOT_PROMOTED, operations)
        config = standby.path / "tollbook.conf"
        config.write_text(f"db {standby.db}\nstandby-of https://a.example\n")
        self.assertIn("its primary is https://a.example", run("key", "create", "--account", 1, "--config", config, expect=2).stderr.decode())
        self.assertEqual(promote(standby), "epoch 2\n")
        run("key", "create", "--db", standby.db, "--account", 1)
        Server.start(standby)
        run("serve", "--db", self.primary.db, "--listen", "127.0.0.1:0", expect=2)  # hears it of its standby
        self.refuses(self.primary.db, f"{SUPERSEDED}. Write to that server ({standby.url})", operations)

    def test_a_file_that_nobody_serves(self):
        standby = self.standby("--promotable")
        level(standby)
        until(lambda: state(self.primary)["standbys"], standby)
        self.send(self.primary)
        level(standby)
        standby.stop()
        self.assertEqual(promote(standby), "epoch 2\n")
        standby.start_again()
        self.assertEqual((state(standby)["role"], state(standby)["epoch"]), ("primary", 2))
        self.assertEqual(self.send(standby, 2).status, 200)
        said = run("serve", "--db", self.primary.db, "--listen", "127.0.0.1:0", expect=None).stderr.decode()
        self.assertIn("written by", said)

    def test_a_read_replica_needs_force(self):
        replica = self.standby()
        replica.stop()
        self.assertIn("--force", promote(replica, expect=1))
        self.assertEqual(promote(replica, "--force"), "epoch 2\n")

    def test_a_file_without_replication_says_so(self):
        alone = self.primary.path / "alone.db"
        run("init", "--db", alone)
        self.assertIn(b"not replicated", run("promote", "--db", alone, expect=2).stderr)


class Messages(Alerts):
    def test_messages_go_out_after_the_promotion_under_their_ids(self):
        replica_key = run("key", "create", "--db", self.db, "--account", 0, "--role", "Replica").stdout
        key_file = self.folder / "replica-key"
        key_file.touch(0o600)
        key_file.write_bytes(replica_key)
        self.apply()
        ends = threading.Event()
        self.addCleanup(ends.set)
        self.hear(lambda message, nth: lambda handler: ends.wait() and None)  # no try ends, so the message is due all the time
        primary = Server("--replicas", *self.options(), db=self.db)
        primary.keys["operator"] = self.key
        self.addCleanup(primary.process.kill)
        taken = primary.ask("POST", "/ingest/buckets", "operator", usage(101, "2026-11-03T05:00:00Z", 100 * GB).encode())
        self.assertEqual(taken.status, 200, taken.body)
        tried = self.receiver.until(lambda got: len(got) > 0, primary.messages)[0]
        others = Receiver()
        self.addCleanup(others.close)
        standby = self.server = Server("--standby-of", primary.url, "--standby-key-file", key_file, "--promotable",
                                       *self.options(others.url), db=self.folder / "copy.db")
        standby.keys["operator"] = self.key
        until(lambda: state(primary)["standbys"], standby)
        listed = state(primary)["piece"]
        until(lambda: state(standby)["piece"] == listed, standby)
        replica = {"AccessKey": replica_key.decode().strip()}
        with standby.wire() as wire:  # for a second, in which a sender looks for due messages five times
            self.assertEqual(wire.ask("GET", f"/replica/pieces?after={listed}&wait=1", replica).status, 200)
        self.assertEqual(others.all, [])
        primary.process.kill()
        primary.process.wait()
        primary.log_file.close()
        primary.folder.cleanup()
        self.assertEqual(promote(standby), "epoch 2\n")
        message, = others.until(lambda got: len(got) == 1, standby.messages)
        self.assertEqual((message.id, message.data), (tried.id, tried.data))
        self.until_listed(lambda listed: listed["messages"][0]["state"] == "delivered")
        self.assertEqual(len(others.all), 1)


if __name__ == "__main__":
    unittest.main()
