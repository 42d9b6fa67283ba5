"""A standby beside its primary, two real servers: it makes its copy itself, follows, and answers what only reads with the same
bytes; it refuses every write and names its primary. What is cut off, damaged, withheld or of another history never gets into
the copy. Whether a standby has a piece is asked of it: nothing waits for a guessed time.
"""
import json
import os
import random
import signal
import socket
import sqlite3
import tempfile
import threading
import time
import unittest
from pathlib import Path

from harness import CATALOG, PATIENCE, SOURCE, Server, hit, random_seed, run
from test_billing import BOOK

LONG = bool(os.environ.get("TB_LONG"))
ASKED = (
    "/statistics?dateFrom=2026-11-03&dateTo=2026-11-04", "/statistics?dateFrom=2026-11-03&dateTo=2026-11-04&hourly=true",
    "/pullzone", "/pullzone/101", "/insights?by=country&dateFrom=2026-11-03&dateTo=2026-11-04",
    "/billing", "/billing/summary", "/billing/invoices", "/billing/statement", "/billing/alerts", "/meters", "/user",
    "/v2/pullzones/101/logs?from=2026-11-03T12:00:00Z&to=2026-11-03T13:00:00Z", "/region", "/country",
)
OPERATOR = ("/keys", "/ingest/segments", "/invoices/late", "/operations", "/billing?account=1", "/billing/invoices?account=1")


def long_form(test):
    """A test, or a class of them, that belongs to the long form alone."""
    return test if LONG else None


class Primary(Server):
    """With replication, and a key for copies in a file."""

    def start(self, *options, **more):
        if "replica" not in self.keys:
            self.keys["replica"] = self.make_key(0, "Replica")
            self.write_key()
        super().start("--replicas", *options, **more)

    def write_key(self):
        self.key_file = self.path / "replica-key"
        self.key_file.write_text(self.keys["replica"] + "\n")
        self.key_file.chmod(0o600)

    def post(self, path, document):
        body = document if isinstance(document, bytes) else json.dumps(document).encode()
        answer = self.ask("POST", path, "ingest" if path.startswith("/ingest") else "operator", body)
        if answer.status not in (200, 201):
            raise AssertionError(f"{path}: {answer.status} {answer.body}")
        return answer.json()

    def send(self, lines):
        self.post("/ingest/logs", lines)


class Upgraded(Server):
    """Over a file that is there."""

    def __init__(self, db):
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-upgraded-")
        self.path, self.db, self.keys, self.promotable = Path(self.folder.name), db, {}, False

    write_key = Primary.write_key


def schema_of(path):
    with sqlite3.connect(path) as db:
        (schema,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return schema


class Standby(Server):
    def __init__(self, primary, *options, url=None):
        self.primary = primary
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-standby-")
        self.path = Path(self.folder.name)
        self.db = self.path / "copy.db"
        self.keys = primary.keys
        self.of = url or primary.url
        self.promotable = "--promotable" in options
        self.start(*options)

    def start(self, *options, **more):
        key_file = () if "--standby-key-file" in options else ("--standby-key-file", self.primary.key_file)
        super().start("--standby-of", self.of, *key_file, *options, **more)


def state(server):
    return server.get("/replica/status", "operator").json()


def change(path, table, to):
    """Changes the newest row of a table, without its triggers."""
    with sqlite3.connect(path) as db:
        triggers = db.execute("SELECT name,sql FROM sqlite_schema WHERE type='trigger' AND tbl_name=?", (table,)).fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        db.execute(f"UPDATE {table} SET {to} WHERE id=(SELECT max(id) FROM {table})")
        for _, sql in triggers:
            db.execute(sql)
    db.close()


def until(what, server):
    """Waits for an event in a server; what() is asked over and over."""
    end = time.monotonic() + PATIENCE
    while not (found := what()):
        if time.monotonic() > end or server.process.poll() is not None:
            raise AssertionError(server.messages())
    return found


def verified(standby):
    """Waits until a new copy is verified."""
    until(lambda: not Path(f"{standby.db}.unverified").exists(), standby)


def level(standby):
    """Waits until the standby has what its primary has, its own listing too, and is verified; returns the primary's state."""
    verified(standby)
    if standby.promotable:
        until(lambda: any(one["name"].endswith(f"-{standby.port}") for one in state(standby.primary)["standbys"]), standby)
    theirs = state(standby.primary)
    until(lambda: state(standby).get("piece", 0) >= theirs["piece"], standby)
    return theirs


class Proxy:
    """Passes connections on to a server, and does to what comes back as it is told: `change` gets bytes of answers and returns
    others, or None to cut the connection."""

    def __init__(self, port):
        self.to, self.change = port, lambda data: data
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.open = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.socket.accept()
            except OSError:
                return
            try:
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                near.close()
                continue
            self.open += [near, far]
            for source, target, back in ((near, far, False), (far, near, True)):
                threading.Thread(target=self.carry, args=(source, target, back), daemon=True).start()

    def carry(self, source, target, back):
        try:
            while data := source.recv(1 << 16):
                data = self.change(data) if back else data
                if data is None:
                    break
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.socket.close()
        for end in self.open:
            end.close()


class OldParser(Proxy):
    """In front of a primary: refuses what a program of schema 30 does not know of Tollbook-Replica, with its words."""

    def __init__(self, port):
        self.knows, self.refused = False, 0
        super().__init__(port)

    def carry(self, source, target, back):
        while not back and (data := self.read(source)):
            if not self.knows and any(b"tollbook-replica:" in line.lower() and line.count(b";") > 1 or b"schema=" in line
                                      for line in data.split(b"\r\n")):
                self.refused += 1
                source.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                               % (len(REFUSAL), REFUSAL))
            else:
                target.sendall(data)
        super().carry(source, target, back)

    @staticmethod
    def read(source):
        try:
            return source.recv(1 << 16)
        except OSError:
            return b""


REFUSAL = json.dumps({"ErrorKey": "validation_error", "Field": "Tollbook-Replica", "Message":
                      "It is a name of at most 64 letters, digits, dots, underscores and hyphens, or that and \"; promotable\"."}).encode()


def listed_schema(primary):
    with sqlite3.connect(f"file:{primary.db}?mode=ro", uri=True) as db:
        listed = db.execute("SELECT url,program_schema FROM standby").fetchall()
    db.close()
    return [one for one in listed if one[0] and one[1] > 30]


class Case(unittest.TestCase):
    longMessage = True

    @classmethod
    def setUpClass(cls):
        cls.primary = Primary()
        cls.addClassCleanup(cls.primary.close)

    def standby(self, *options, **more):
        one = Standby(self.primary, *options, **more)
        self.addCleanup(one.close)
        return one

    def same(self, standby, more=()):
        level(standby)
        for path, key in [*((p, "user") for p in (*ASKED, *more)), *((p, "operator") for p in OPERATOR)]:
            ours, theirs = standby.get(path, key), self.primary.get(path, key)
            if 429 in (ours.status, theirs.status):
                continue  # request logs are asked for rarely; each server counts by itself
            self.assertEqual((ours.status, ours.body), (theirs.status, theirs.body), path)
            self.assertIn("tollbook-replica-lag-ms", ours.headers, path)
            self.assertNotIn("tollbook-replica-lag-ms", theirs.headers, path)
        ours, theirs = state(standby), state(self.primary)
        self.assertEqual([ours[k] for k in ("epoch", "piece", "version", "digest")],
                         [theirs[k] for k in ("epoch", "piece", "version", "digest")])


class Follows(Case):
    def test_a_copy_is_made_and_follows_what_is_written(self):
        standby = self.standby("--promotable")
        self.same(standby)
        self.primary.send(b"".join(hit(101, i, 4321) for i in range(50)))
        self.same(standby)
        self.primary.post("/ingest/buckets", b"".join(json.dumps(
            {"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**11}).encode() + b"\n" for zone in (101, 201)))
        self.primary.post("/books", BOOK)
        self.primary.post("/operations/invoice", {"month": "2026-10", "finalize": True})
        self.primary.post("/ledger", {"account": 1, "kind": "payment", "amount": "1.00", "reference": "bank 1"})
        self.primary.post("/invoices/2026-000002/void", b"")
        self.same(standby, ("/billing/invoices/2026-000001", "/billing/invoices/2026-000001/forms",
                            "/billing/invoices/2026-000001?format=csv", "/billing/invoices/2026-000001?format=html",
                            "/billing/what-if", "/billing/forecast"))
        listed = [one for one in state(self.primary)["standbys"] if one["name"].endswith(f"-{standby.port}")]
        self.assertEqual([(one["promotable"]) for one in listed], [True])
        ours = state(standby)
        self.assertEqual(ours["role"], "standby")
        self.assertLess(ours["lag_ms"], 30000)
        self.assertEqual(standby.get("/readyz", None).status, 200)
        self.assertEqual(standby.metric('tollbook_replica_role{role="standby"}'), 1)
        self.assertEqual(standby.metric("tollbook_replica_following"), 1)

    def test_keys_are_in_force_at_once_and_revoked_ones_are_not(self):
        standby = self.standby()
        made = self.primary.ask("POST", "/keys", "operator", json.dumps({"account": 2, "role": ["User"]}).encode(),
                                Content_Type="application/json").json()
        until(lambda: standby.get("/user", made["Key"]).status == 200, standby)
        self.primary.ask("DELETE", f"/keys/{made['Id']}", "operator")
        until(lambda: standby.get("/user", made["Key"]).status == 401, standby)

    def make_copy_key(self, file):
        made = self.primary.post("/operations/key-create", {"account": 0, "roles": ["Replica"]})["answer"]
        file.write_text(made["Key"] + "\n")
        file.chmod(0o600)
        return made["Id"]

    def test_the_key_is_read_again_at_sighup(self):
        file = self.primary.path / "changing-key"
        first = self.make_copy_key(file)
        standby = self.standby("--standby-key-file", file)

        def hang_up(said):
            before = standby.messages().count(said)
            standby.process.send_signal(signal.SIGHUP)
            until(lambda: standby.messages().count(said) > before, standby)

        level(standby)
        self.primary.post("/operations/key-revoke", {"id": first})
        until(lambda: "nothing can be taken from the primary" in standby.messages(), standby)
        for wrong in ("", "two\nlines\n", "x" * 2000):
            file.write_text(wrong)
            hang_up("SIGHUP: the standby's key stays as it was: --standby-key-file")
        self.primary.send(hit(101, 17, 99))
        self.make_copy_key(file)
        hang_up("SIGHUP: reloaded the standby's key")
        level(standby)

    def test_writes_are_refused_and_reading_posts_answered(self):
        standby = self.standby()
        level(standby)
        json_type = {"Content_Type": "application/json"}
        for method, path, key, body, more in (
                ("POST", "/ingest/logs", "ingest", hit(101), {"Content_Type": "text/plain"}),
                ("POST", "/events", "ingest", b"[]", json_type),
                ("POST", "/keys", "operator", b'{"account":1,"role":["User"]}', json_type),
                ("DELETE", "/keys/1", "operator", None, {}),
                ("POST", "/catalog", "operator", b"{}", json_type),
                ("POST", "/ledger", "operator", b"{}", json_type),
                ("POST", "/pullzone/101/purgeCache", "user", b"{}", json_type),
                ("POST", "/operations/key-create", "operator", b'{"account":1,"role":["User"]}', json_type)):
            answer = standby.ask(method, path, key, body, **more)
            self.assertEqual((answer.status, answer.error, answer.json().get("Primary")),
                             (503, "replica.read_only", self.primary.url), path)
            self.assertIn(self.primary.url, answer.json()["Message"])
        for path, key, body in (("/operations/verify", "operator", b"{}"),
                                ("/operations/forecast", "operator", b'{"account":1}'),
                                ("/operations/apply?dryRun=true", "operator", b"{}"),
                                ("/catalog?dryRun=true", "operator", json.dumps(CATALOG).encode()),
                                ("/operations/ledger-enter?dryRun=true", "operator",
                                 b'{"account":1,"kind":"payment","amount":"3.00","reference":"try"}'),
                                ("/billing/what-if", "user", b'{"from":"2026-10","to":"2026-10","scenarios":[]}')):
            ours = standby.ask("POST", path, key, body, **json_type)
            theirs = self.primary.ask("POST", path, key, body, **json_type)
            self.assertEqual((ours.status, ours.body), (theirs.status, theirs.body), path)
            self.assertNotIn(ours.status, (500, 503), path)
        ours = standby.ask("POST", "/console/session", None, json.dumps({"key": standby.keys["user"]}).encode(),
                           X_Tollbook_Console="1", **json_type)
        self.assertIn(ours.status, (200, 201, 204), ours.body)
        self.same(standby)

    def test_a_read_replica_follows_a_standby(self):
        standby = self.standby()
        second = Standby(self.primary, url=standby.url)
        self.addCleanup(second.close)
        self.primary.send(hit(102, 7, 99))
        self.same(second)

    def test_it_goes_on_after_it_was_killed(self):
        standby = self.standby()
        standby.process.send_signal(signal.SIGKILL)
        standby.process.wait()
        self.primary.send(hit(101, 8, 1234))
        standby.log_file.close()
        standby.start()
        self.same(standby)


class Breaks(unittest.TestCase):
    def setUp(self):
        self.primary = Primary()
        self.addCleanup(lambda: self.primary.close())
        self.proxy = Proxy(self.primary.port)
        self.addCleanup(self.proxy.close)

    def standby(self, *options):
        one = Standby(self.primary, *options, url=self.proxy.url)
        self.addCleanup(one.folder.cleanup)
        self.addCleanup(lambda: one.close())
        return one

    def ended(self, standby):
        until(lambda: "follows its primary no longer" in standby.messages(), standby)
        self.assertEqual(standby.get("/readyz", None).status, 503)
        self.assertRegex(standby.messages(), r"Here: piece \d+, digest [0-9a-f]{64}; there: piece \d+, digest [0-9a-f]{64}\. "
                                             r"Stop this server, remove \S+copy\.db and start it again")
        self.assertEqual(standby.get("/user").status, 200)  # it goes on answering

    @long_form
    def test_the_primary_goes_and_comes_back(self):
        standby = self.standby("--max-lag", 3)
        second = Standby(self.primary, "--max-lag", 3, url=standby.url)
        self.addCleanup(second.close)
        until(lambda: standby.get("/readyz", None).status == 200, standby)
        until(lambda: second.get("/readyz", None).status == 200, second)
        self.assertEqual(self.primary.stop(), 0)
        until(lambda: standby.get("/readyz", None).status == 503, standby)
        until(lambda: second.get("/readyz", None).status == 503, second)  # the lag of what it follows is its own, too
        self.assertGreaterEqual(int(standby.get("/user").headers["tollbook-replica-lag-ms"]), 1000)
        self.assertEqual(standby.metric("tollbook_replica_following"), 0)
        run("apply", "--db", self.primary.db, self.catalog(103))  # a command makes a piece, too
        self.primary.start()
        self.proxy.to = self.primary.port
        until(lambda: standby.get("/readyz", None).status == 200, standby)
        level(standby)
        self.assertEqual(standby.get("/pullzone/103").status, 200)
        away = [line for line in standby.messages().splitlines() if "nothing can be taken" in line]
        self.assertEqual(len(away), 1, away)

    def catalog(self, zone):
        path = self.primary.path / "more.json"
        path.write_text(json.dumps({"accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
                                    "zones": [{"id": z, "account": 1 + (z == 201), "name": f"z{z}", "created": "2026-01-05T00:00:00Z"}
                                              for z in (101, 102, 201, zone)]}))
        return path

    def test_a_piece_that_was_damaged_on_its_way_is_fetched_again(self):
        standby = self.standby()
        level(standby)
        hurt = []

        def change(data):
            at = data.find(b"tbpiece1")
            if at < 0 or hurt or len(data) < at + 90:
                return data
            hurt.append(at)
            return data[:at + 85] + bytes([data[at + 85] ^ 1]) + data[at + 86:]

        self.proxy.change = change
        self.primary.send(hit(101, 9, 77))
        level(standby)
        self.assertTrue(hurt)
        self.assertEqual(state(standby)["digest"], state(self.primary)["digest"])

    @long_form
    def test_a_piece_that_is_withheld_ends_nothing_and_one_that_never_fits_ends_it(self):
        standby = self.standby()
        level(standby)
        self.proxy.change = lambda data: None if b"tbpiece1" in data else data  # cut off before it
        self.primary.send(hit(101, 10, 78))
        until(lambda: "nothing can be taken" in standby.messages(), standby)
        self.proxy.change = lambda data: data
        level(standby)
        self.proxy.change = lambda data: data.replace(b"tbpiece1\x05", b"tbpiece1\x07").replace(b"tbpiece1\x04", b"tbpiece1\x07")
        self.primary.send(hit(101, 11, 79))
        self.ended(standby)

    def test_another_history_ends_it(self):
        standby = self.standby()
        level(standby)
        self.assertEqual(standby.stop(), 0)
        change(standby.db, "piece", "chain=zeroblob(32)")
        standby.start()
        self.ended(standby)
        standby.close = standby.stop  # it would verify

    @long_form
    def test_what_was_trimmed_ends_it_and_a_new_copy_is_made(self):
        standby = self.standby()
        level(standby)
        self.assertEqual(standby.stop(), 0)
        self.primary.stop()
        run("replica", "off", "--db", self.primary.db)
        self.primary.start()
        self.proxy.to = self.primary.port
        standby.start()
        self.ended(standby)
        standby.stop()
        for end in ("", "-wal", "-shm"):
            Path(f"{standby.db}{end}").unlink(missing_ok=True)
        standby.start()
        level(standby)
        self.assertEqual(state(standby)["digest"], state(self.primary)["digest"])

    @long_form
    def test_a_base_that_is_cut_off_goes_on(self):
        cuts = []

        def change(data):
            if len(cuts) < 2 and len(data) > 20000:
                cuts.append(len(data))
                return None
            return data

        self.proxy.change = change
        standby = self.standby()
        level(standby)
        self.assertTrue(cuts)
        self.assertFalse((standby.path / "copy.db.partial").exists())

    def test_a_base_that_was_damaged_on_its_way_is_refused(self):
        hurt = []

        def change(data):
            if hurt or len(data) <= 20000:
                return data
            hurt.append(len(data))
            return data[:-1] + bytes([data[-1] ^ 1])

        self.proxy.change = change
        copy = self.primary.path / "copy.db"
        done = run("serve", "--db", copy, "--listen", "127.0.0.1:0", "--standby-of", self.proxy.url, "--standby-key-file",
                   self.primary.key_file, expect=1)
        self.assertIn(b"The base was damaged on its way: it has the hash ", done.stderr)
        self.assertEqual([path.name for path in copy.parent.glob("copy.db*")], [])

    def test_a_base_of_a_damaged_primary_is_found_and_not_promoted(self):
        self.assertEqual(self.primary.stop(), 0)
        change(self.primary.db, "segment", "accepted=accepted+1")
        self.primary.start()
        self.proxy.to = self.primary.port
        standby = self.standby("--promotable")
        until(lambda: "does not agree with itself" in standby.messages(), standby)
        self.assertIn("If that has the same, so has the primary's file: verify that.", standby.messages())
        until(lambda: state(standby)["piece"] == state(self.primary)["piece"], standby)
        ready = standby.get("/readyz", None)
        self.assertEqual((ready.status, "does not agree with itself" in ready.json()["Message"]), (503, True))
        standby.stop()  # what was never verified is not promoted by a command either
        link = standby.path / "link.db"
        link.symlink_to(standby.db)
        for path in (standby.db, link):
            self.assertIn(b"has not been verified since it was made", run("promote", "--db", path, expect=1).stderr)
        self.assertEqual(run("promote", "--db", standby.db, "--force").stdout, b"epoch 2\n")
        for one in (standby, self.primary):
            one.close = one.stop  # it would verify

    def test_a_copy_whose_verification_was_cut_off_is_verified_at_the_next_start(self):
        """Also where a link leads to it."""
        standby = self.standby()
        verified(standby)
        self.assertEqual(standby.stop(), 0)
        Path(f"{standby.db}.unverified").touch()
        link = standby.path / "link.db"
        link.symlink_to(standby.db)
        standby.db, real = link, standby.db
        standby.start()
        standby.db = real
        verified(standby)
        self.assertIn("is verified", standby.messages())

    def test_a_copy_that_disagrees_with_itself_is_found(self):
        standby = self.standby()
        level(standby)
        self.assertEqual(standby.stop(), 0)
        change(standby.db, "segment", "accepted=accepted+1")
        standby.start()
        until(lambda: "does not agree with itself" in standby.messages(), standby)
        self.assertEqual(standby.get("/readyz", None).status, 503)
        self.assertGreater(standby.metric("tollbook_replica_differences"), 0)
        standby.close = standby.stop  # it would verify


class Upgrades(unittest.TestCase):
    """Two files as a tollbook of schema 30 left them. The standby's program is upgraded first."""

    def test_a_copy_takes_the_schema_of_its_primary(self):
        with tempfile.TemporaryDirectory(prefix="tollbook-upgraded-") as folder:
            path, copy = Path(folder) / "t.db", Path(folder) / "copy.db"
            for file in (path, copy):
                with sqlite3.connect(file, isolation_level=None) as db:
                    db.executescript((SOURCE / "fixtures/db/v30.sql").read_text())
                    db.execute("PRAGMA journal_mode=WAL")
                db.close()
            primary = Upgraded(path)
            primary.keys["replica"] = primary.make_key(0, "Replica")  # the first command upgrades the file
            primary.keys["operator"] = primary.make_key(0, "Operator")
            self.assertNotEqual(schema_of(path), 30)
            primary.write_key()
            standby = Upgraded(copy)
            standby.primary, standby.keys = primary, primary.keys
            self.addCleanup(lambda: [one.process.kill() for one in (primary, standby) if hasattr(one, "process")])
            standby.start("--standby-of", "http://127.0.0.1:9", "--standby-key-file", primary.key_file)
            self.assertIn("tollbook_replica_piece 3\n", standby.get("/metrics").body.decode())
            self.assertEqual(schema_of(copy), 30)
            standby.stop()
            primary.start()
            standby.start("--standby-of", primary.url, "--standby-key-file", primary.key_file)
            there = level(standby)
            self.assertEqual(state(standby)["digest"], there["digest"])
            self.assertEqual(schema_of(copy), schema_of(path))
            standby.stop()
            primary.stop()
            for file in (path, copy):
                run("verify", "--db", file)


    def test_a_primary_of_schema_30_is_not_told_what_it_does_not_know(self):
        primary = Primary()
        self.addCleanup(primary.close)
        old = OldParser(primary.port)
        self.addCleanup(old.close)
        standby = Standby(primary, "--promotable", url=old.url)
        self.addCleanup(standby.close)
        level(standby)
        primary.send(hit(101, 3))
        level(standby)
        self.assertNotIn("nothing can be taken", standby.messages())
        self.assertGreaterEqual(old.refused, 1)
        old.knows = True  # it was upgraded, and so has new connections
        for end in old.open:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        until(lambda: listed_schema(primary), standby)


class Options(unittest.TestCase):
    def test_bad_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            key = Path(folder, "key")
            key.write_text("k\n")
            db = ("--db", Path(folder, "x.db"))
            for options, said in ((("--standby-of", "http://h"), "needs --standby-key-file"),
                                  (("--promotable",), "need --standby-of"),
                                  (("--standby-of", "h:1", "--standby-key-file", key), "address of the primary")):
                done = run("serve", *db, *options, expect=2)
                self.assertIn(said, done.stderr.decode())


@long_form
class Random(Case):
    def test_after_any_operations_both_answer_the_same(self):
        dice = random.Random(random_seed())
        self.primary.post("/books", BOOK)
        standby = self.standby()
        for step in range(2000):
            what = dice.randrange(6)
            if what < 3:
                self.primary.send(b"".join(hit(dice.choice((101, 102)), dice.randrange(3600), dice.randrange(10**6),
                                               dice.choice(("HIT", "MISS")), 200, dice.choice(("DE", "NY", "SG")))
                                           for _ in range(dice.randrange(1, 40))) + hit(101, 1, step + 10**7))
            elif what == 3:
                self.primary.ask("POST", "/keys", "operator", json.dumps({"account": 1, "role": ["User"]}).encode(),
                                 Content_Type="application/json")
            elif what == 4:
                keys = self.primary.get("/keys", "operator").json()
                spare = [k for k in keys.get("Keys", []) if k["Id"] > 6 and not k.get("Revoked")]
                if spare:
                    self.primary.ask("DELETE", f"/keys/{dice.choice(spare)['Id']}", "operator")
            else:
                self.primary.post("/ledger", {"account": 1, "kind": "payment", "amount": f"{dice.randrange(1, 999)}.00",
                                              "reference": f"bank {step}"})
            if dice.randrange(10) == 0:
                self.same(standby)
        self.same(standby)


if __name__ == "__main__":
    unittest.main()
