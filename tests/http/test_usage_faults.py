"""A usage server that is away, hangs, refuses or answers nonsense (serve --usage): its zones get 503 usage.away, the others are
answered; the operator is told which server it is and why; what is sent again once it is back counts once; nobody restarts
anything."""
import contextlib
import datetime
import json
import re
import signal
import sqlite3
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from clickhouse import PROGRAM, ClickHouse
from fakeusage import Fake
from harness import CATALOG, PATIENCE, Case, Server, hit, run, together
from test_usage_servers import seal

ZONES = (101, 102, 201, 999)
LIMIT_MS = 1500
# What a server does, and what is said of it.
AWAY = {"hang": "Look whether it hangs", "garbage": "Look at its log", "other": "it is no ClickHouse server: HTTP 200",
        "500": "it is no ClickHouse server: HTTP 500", "half": "Look at its log", "silent": "Look at its log",
        (193, "Wrong password for user u"): "code 193, Wrong password for user u. Look at the password in the file of "
                                            "--usage-credentials"}
REFUSED = {243: "Make room on its disk", 252: "It merges too slowly", 241: "Raise max_memory_usage", 999: "Look at its log"}


def lines(zone, seconds):
    return b"".join(hit(zone, second, 1000 + second) for second in seconds)


def until(true, what):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(what() if callable(what) else what)
        threading.Event().wait(0.02)


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Faults(Case):
    @classmethod
    def setUpClass(cls):
        cls.shards = [ClickHouse(), ClickHouse()]
        cls.fakes = [Fake(shard) for shard in cls.shards]
        cls.folder = tempfile.TemporaryDirectory(prefix="tollbook-usage-")
        login = Path(cls.folder.name) / "login"
        login.write_text("default\n\n")
        login.chmod(0o600)
        cls.login = login
        cls.often = ["--usage-timeout-ms", LIMIT_MS, "--usage-cache-mb", 0]
        cls.url = "clickhouse://" + ",".join(f"127.0.0.1:{f.port}" for f in cls.fakes) + "/faults"
        cls.server = Server("--usage", cls.url + "?shards=2", "--usage-credentials", login, *cls.often, log=None)
        cls.sent = {zone: 0 for zone in ZONES}
        cls.next = cls.asked = 0
        cls.post_all(cls)
        owners = cls.shards[1].ask("SELECT DISTINCT owner FROM faults.cell WHERE scope=1").split()
        cls.there = [zone for zone in (101, 102) if str(zone) in owners]
        cls.here = [zone for zone in (101, 102) if str(zone) not in owners]

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.folder.cleanup()
        for each in cls.fakes + cls.shards:
            each.close()
        cls.folder.cleanup()

    def body(self):
        Faults.next += 3
        return b"".join(lines(zone, range(Faults.next, Faults.next + 3)) for zone in ZONES)

    def post(self, body):
        return self.server.ask("POST", "/ingest/logs", "operator", body)

    def post_all(self, body=None):
        got = self.server.ask("POST", "/ingest/logs", "operator", body or self.body(self))
        assert got.status == 200, got.body
        for zone in ZONES:
            self.sent[zone] += 3

    def question(self, zone):
        """One that no answer is kept for."""
        Faults.asked += 1
        later, sooner = divmod(self.asked, 10)
        first, last = (datetime.date(2026, 11, day) + datetime.timedelta(days) for day, days in ((1, -sooner), (4, later)))
        return f"/statistics?pullZone={zone}&dateFrom={first}&dateTo={last}"

    def requests(self, zone):
        got = self.server.get(self.question(zone))
        return got.json()["TotalRequestsServed"] if got.status == 200 else got

    def ready(self):
        return self.server.ask("GET", "/readyz")

    def figure(self, name, shard):
        text = self.server.ask("GET", "/metrics").body.decode()
        return int(re.search(rf'^{name}{{shard="{shard}",.*}} (\d+)$', text, re.M).group(1))

    def up(self, shard):
        return self.figure("tollbook_usage_up", shard) == 1

    def back(self):
        until(lambda: self.ready().status == 200, lambda: self.ready().body.decode() + self.server.messages())

    @contextlib.contextmanager
    def fault(self, shard, fault):
        self.fakes[shard - 1].break_with(fault)
        try:
            yield self.fakes[shard - 1]
        finally:
            self.fakes[shard - 1].heal()
            self.back()

    def stored_is_sent(self):
        for zone in (101, 102):
            got = self.requests(zone)
            self.assertEqual(got, self.sent[zone], (got.body.decode() if hasattr(got, "body") else "") + self.server.messages())

    def test_1_away(self):
        for fault, said in AWAY.items():
            body = self.body()
            with self.subTest(fault=fault), self.fault(2, fault) as fake:
                until(lambda: self.ready().status == 503, "nobody noticed")
                ready = self.ready()
                self.refused(ready, 503, "usage.away")
                self.assertIn(f"127.0.0.1:{fake.port} (shard 2 of 2)", ready.json()["Message"])
                self.assertIn(said, ready.json()["Message"])
                self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
                self.assertEqual((self.up(1), self.up(2)), (True, False))
                for zone in self.there:
                    self.refused(self.requests(zone), 503, "usage.away")
                    self.assertIn("retry-after", self.requests(zone).headers)
                    self.assertNotIn(b"127.0.0.1", self.requests(zone).body)
                for zone in self.here:
                    self.assertEqual(self.requests(zone), self.sent[zone])
            self.post_all(body)
            self.stored_is_sent()

    def test_2_refused(self):
        """The server is there, and takes no rows."""
        for code, remedy in REFUSED.items():
            body = self.body()
            with self.subTest(code=code), self.fault(1, code) as fake:
                refused = self.post(body)
                self.refused(refused, 503, "usage.away")
                self.assertIn("retry-after", refused.headers)
                self.assertIn("(shard 1 of 2)", refused.json()["Message"])
                self.assertIn(f"code {code}, it is so. {remedy}", refused.json()["Message"])
                ready = self.ready()
                if code == 243: # until it stores rows again
                    self.refused(ready, 503, "usage.away")
                    self.assertIn(f"(shard 1 of 2): code 243, it is so. {remedy}", ready.json()["Message"])
                else:
                    self.assertEqual(ready.status, 200)
                fake.heal()
                self.post_all(body)
            self.stored_is_sent()

    def test_3_batches_wait_for_its_return(self):
        """They wait in the queue, within its bounds; what has no usage goes on."""
        body = self.body()
        answers = []
        waiter = threading.Thread(target=lambda: answers.append(self.post(body)))
        with self.fault(2, "silent"):
            until(lambda: self.ready().status == 503, "nobody noticed")
            waiter.start()
            until(lambda: int(self.server.metric("tollbook_writer_queue")) == 1, "nothing waits")
            made = self.server.ask("POST", "/keys", "operator", b'{"account":1,"roles":["User"]}',
                                   content_type="application/json")
            self.assertIn(made.status, (200, 201), made.body)
        waiter.join()
        self.assertEqual(answers[0].status, 200, answers[0].body)
        for zone in ZONES:
            self.sent[zone] += 3
        self.stored_is_sent()

    # It was done, or not: its batch never counts, and the sender is told.
    def test_3_an_insert_is_sent_once(self):
        for _ in range(4): # on connections that were used before, too
            body = self.body()
            with self.fault(2, "lost") as fake:
                self.assertEqual(self.post(body).status, 503)
            self.post_all(body)
        self.stored_is_sent()
        with fake.lock:
            ids = [each for sql, each in fake.statements if sql.startswith("INSERT")]
        self.assertEqual(len(ids), len(set(ids)))

    def test_4_inserts_are_few(self):
        self.restart("--usage-gather-ms", 3000, *self.often) # a second is short for a busy machine
        bodies = [self.body() for _ in range(24)]
        before = [fake.inserts() for fake in self.fakes]
        together(len(bodies), lambda i: self.assertEqual(self.post(bodies[i]).status, 200))
        for zone in ZONES:
            self.sent[zone] += 3 * len(bodies)
        for fake, was in zip(self.fakes, before):
            self.assertLessEqual(fake.inserts() - was, 8) # one by one: 24
        self.stored_is_sent()
        self.restart(*self.often)

    def test_5_a_statement_that_is_given_up_ends(self):
        """Its time is over, or its client has left; the server is there all the while."""
        for leaves in (False, True):
            shard, zone = next((n, z) for n, zs in ((1, self.here), (2, self.there)) for z in zs)
            with self.subTest(leaves=leaves), self.fault(shard, "select") as fake:
                killed = len(fake.kills)
                if leaves:
                    with self.asking(zone):
                        until(fake.held.is_set, "it asked nothing")
                else:
                    self.refused(self.requests(zone), 503, "usage.away")
                until(lambda: len(fake.kills) > killed, "it was not ended")
                self.assertEqual(self.ready().status, 200)
            self.stored_is_sent()
        ids = [i for s, i in self.fakes[0].statements if i]
        self.assertEqual(len(ids), len(set(ids)))

    @contextlib.contextmanager
    def asking(self, zone):
        with self.server.wire() as wire:
            wire.send(f"GET {self.question(zone)} HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['user']}\r\n\r\n".encode())
            yield

    def test_5_a_what_many_left_ends_and_nothing_else(self):
        """KILL QUERYs are lost on their way for a while; one statement is still waited for."""
        zone = self.there[0]
        self.restart("--usage-timeout-ms", 60000, "--usage-cache-mb", 0, "--usage-compact-rows", 10**9) # nobody else asks for rows
        with self.fault(2, "endless") as fake, self.asking(zone):
            def at_it():
                return self.shards[1].ask("SELECT query_id FROM system.processes WHERE query_id LIKE 'tollbook-%'"
                                          " AND query LIKE '%system.numbers%'").split() # not compaction's look
            until(lambda: len(at_it()) == 1, at_it)
            stays = at_it()
            failed = self.figure("tollbook_usage_failures_total", 2)
            with contextlib.ExitStack() as leaving:
                for _ in range(4):
                    leaving.enter_context(self.asking(zone))
                until(lambda: len(at_it()) == 5, at_it)
            until(lambda: self.figure("tollbook_usage_failures_total", 2) == failed + 4, "they are still waited for")
            lost = len(fake.kills)
            until(lambda: len(fake.kills) > lost + 1, "it is not tried again")
            self.assertEqual(len(at_it()), 5)
            fake.held.set()
            until(lambda: at_it() == stays, lambda: f"{stays} of {at_it()}; {fake.kills}")
            self.assertEqual(self.ready().status, 200)
            self.assertEqual(at_it(), stays)
        until(lambda: not at_it(), at_it)
        self.restart(*self.often)
        self.stored_is_sent()

    def test_5_b_an_error_behind_rows(self):
        """An answer that is expected to be short is not waited for whole, and is no answer where an error follows its rows; one that is long
        after all is asked for again."""
        shard, zone = next((n, z) for n, zs in ((1, self.here), (2, self.there)) for z in zs)
        self.post_all(self.body())
        with self.fault(shard, "late"):
            for question in (self.question(zone), self.question(zone) + "&hourly=true"):
                self.refused(self.server.get(question), 503, "usage.away")
        self.post_all(self.body()) # no answer is kept of what it comes to
        with self.fault(shard, "long") as fake:
            before = len(fake.statements)
            self.assertEqual(self.requests(zone), self.sent[zone])
            asked = [sql for sql, _ in fake.statements[before:] if " FROM faults.cell WHERE" in sql]
            self.assertEqual((len(asked), len(set(asked))), (2, 1))
        self.stored_is_sent()

    def test_6_who_asks(self):
        self.assertEqual(self.fakes[0].users, {("default", None)})
        login = Path(self.folder.name) / "secret"
        login.write_text("nobody\nsesame-7f3a\n")
        login.chmod(0o644)
        other = Server(log=None)
        other.stop()
        said = run("serve", "--db", other.db, "--listen", "127.0.0.1:0", "--usage", self.url, "--usage-credentials", login,
                   expect=3).stderr
        self.assertRegex(said, rb"code 19[23], ")
        self.assertIn(b"--usage-credentials", said)
        self.assertIn(b"chmod 600", said)
        self.assertNotIn(b"sesame", said)
        self.assertIn(("nobody", "sesame-7f3a"), self.fakes[0].users)
        for url in ("clickhouse://u:sesame@a:1/x", "clickhouse://a:0/x", "clickhouse://a:99999/x", "clickhouse://a:x/x",
                    "clickhouse://a,b/x?shards=3", "clickhouse://a/x?shards=0", "clickhouse://a/x?other=1", "clickhouse://[a/x"):
            said = run("serve", "--db", other.db, "--usage", url, expect=2).stderr
            self.assertIn(b"--usage", said)
            self.assertNotIn(b"sesame", said)
        for text in ("", "\nb\n", "a\nb\nc\n", "x" * 200 + "\nb\n"):
            login.write_text(text)
            said = run("serve", "--db", other.db, "--usage", self.url, "--usage-credentials", login, expect=3).stderr
            self.assertIn(b"does not hold two lines", said)
        other.folder.cleanup()

    def test_6_who_asks_is_read_again_at_sighup(self):
        login = Path(self.folder.name) / "changed"
        login.write_text("default\n\n")
        login.chmod(0o600)
        other = Server("--usage", self.url.replace("/faults", "/logins") + "?shards=2", "--usage-credentials", login, *self.often,
                       log=None)
        self.addCleanup(other.folder.cleanup)
        self.addCleanup(other.stop)
        login.write_text("default\nchanged-7f3a\n")
        other.process.send_signal(signal.SIGHUP)
        until(lambda: other.get("/statistics") and ("default", "changed-7f3a") in self.fakes[0].users, other.messages)
        self.assertIn("reloaded the login of the usage servers", other.messages())
        login.write_text("a\nb\nc\n")
        other.process.send_signal(signal.SIGHUP)
        until(lambda: "the login of the usage servers stays as it was" in other.messages(), other.messages)

    @staticmethod
    def is_late(said):
        """A handshake has three seconds, and a machine that has more to do may take them."""
        return "Timeout was reached" in said.strip().splitlines()[-1]

    def has_started(self, server, *options):
        try:
            server.start(*options)
        except AssertionError:
            server.log_file.close()
            self.assertTrue(self.is_late(server.messages()), server.messages())
            return False
        return True

    def test_7_tls(self):
        pem = Path(self.folder.name) / "tls.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                        "-subj", "/CN=usage", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out",
                        str(pem) + ".crt"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(str(pem) + ".crt", pem)
        fake = Fake(self.shards[0], context)
        self.addCleanup(fake.close)
        secure = ["--usage", f"clickhouse://127.0.0.1:{fake.port}/tls?secure=1"]
        other = Server(log=None)
        other.stop()
        said = []
        until(lambda: said.append(run("serve", "--db", other.db, "--listen", "127.0.0.1:0", *secure, expect=3).stderr.decode())
              or not self.is_late(said[-1]), lambda: said[-1])
        self.assertIn("--usage-ca", said[-1])
        until(lambda: self.has_started(other, *secure, "--usage-ca", str(pem) + ".crt"), other.messages)
        until(lambda: other.ask("GET", "/readyz").status == 200, other.messages)
        other.stop()
        other.folder.cleanup()

    def restart(self, *options):
        self.server.stop()
        self.server.start("--usage", self.url, "--usage-credentials", self.login, *options)

    def test_8_one_that_hangs_holds_up_nobody_else(self):
        """More questions than workers wait for it; what another one has, and what is remembered, is answered meanwhile."""
        zone = self.there[0]
        account = "/statistics?dateFrom=2026-11-01&dateTo=2026-11-" # its own rows lie on the other shard
        self.restart("--usage-timeout-ms", 60000)
        self.assertEqual(self.requests(zone), self.sent[zone])
        answers = []
        with self.fault(2, "select") as fake:
            self.assertEqual(self.requests(zone), self.sent[zone]) # remembered
            self.post_all(self.body())
            expected, asked = self.sent[101] + self.sent[102], len(fake.statements)
            asking = [threading.Thread(target=lambda: answers.append(self.requests(zone))) for _ in range(12)]
            for thread in asking:
                thread.start()
            until(lambda: sum(s.startswith("SELECT") and ".cell" in s for s, _ in fake.statements[asked:]) >= 4, "they do not ask")
            for day in ("04", "05", "06"):
                self.assertEqual(self.server.get(account + day).json()["TotalRequestsServed"], expected)
            self.assertEqual(self.ready().status, 200)
            self.assertEqual(answers, [])
        for thread in asking:
            thread.join(PATIENCE)
        self.assertEqual(len(answers), len(asking))
        self.restart(*self.often)
        self.stored_is_sent()

    def ask_list(self, to):
        """Of a server that answered nothing: 503, or cut off where it had begun."""
        try:
            to.append(self.server.get("/pullzone", "other").status)
        except AssertionError as cut:
            to.append(str(cut))

    def test_8_b_a_long_list_holds_up_nobody_either(self):
        """It is made while it is sent: of its pieces the first or a later one has to ask a server that hangs, and its worker answers others
        meanwhile."""
        zones = [{"id": zone, "account": 2, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z"} for zone in range(3000, 4300)]
        declared = {**CATALOG, "zones": [*CATALOG["zones"], *zones]}
        got = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(declared).encode(), content_type="application/json")
        self.assertEqual(got.status, 200, got.body)
        self.post(b"".join(lines(zone["id"], [1]) for zone in zones))
        self.restart("--usage-timeout-ms", 60000, "--usage-cache-mb", 0)
        whole = self.server.get("/pullzone", "other")
        self.assertEqual(len(whole.json()), 1301)
        for asked in (1, 3):
            lists, left, fake = [], [asked], self.fakes[1]

            def watch(sql, left=left, fake=fake):
                left[0] -= ".cell" in sql
                if not left[0]:
                    fake.break_with("select")
            fake.watch = watch
            asking = [threading.Thread(target=self.ask_list, args=(lists,)) for _ in range(4)]
            for thread in asking:
                thread.start()
            self.assertTrue(fake.held.wait(PATIENCE))
            for _ in range(8):
                self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
                self.assertEqual(self.server.get("/pullzone/count", "other").json(), {"Count": 1301})
            self.assertEqual(lists, [])
            fake.watch = lambda sql: None
            fake.heal()
            fake.held.clear()
            for thread in asking:
                thread.join(PATIENCE)
            self.assertEqual(len(lists), 4)
            self.back()
            self.assertTrue(self.server.get("/pullzone", "other").body == whole.body)
        with self.fault(2, "silent"):
            self.refused(self.server.get("/pullzone", "other"), 503, "usage.away")
        self.back()
        self.restart(*self.often)

    def test_9_started_while_one_is_away(self):
        """The file knows its servers: those that are there answer, the other one is looked at once it is back."""
        self.fakes[1].break_with("silent")
        self.restart(*self.often)
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
        ready = self.ready()
        self.refused(ready, 503, "usage.away")
        self.assertIn(f"127.0.0.1:{self.fakes[1].port} (shard 2 of 2)", ready.json()["Message"])
        zone = self.there[0]
        account = "/statistics?dateFrom=2026-11-01&dateTo=2026-11-04"
        self.assertEqual(self.server.get(account).json()["TotalRequestsServed"], self.sent[101] + self.sent[102])
        self.refused(self.requests(zone), 503, "usage.away")
        self.fakes[1].heal()
        self.back()
        self.post_all(self.body())
        self.stored_is_sent()
        with self.subTest("another server in its place"):
            self.fakes[1].break_with("silent")
            self.restart(*self.often)
            self.fakes[1].behind = self.shards[0]
            self.fakes[1].heal()
            said = "Server 2 of --usage is number 1 of the database faults."
            until(lambda: said in self.server.messages(), self.server.messages)
            self.refused(self.ready(), 503, "usage.away")
            self.refused(self.requests(zone), 503, "usage.away")
            self.fakes[1].behind = self.shards[1]
            self.back()
            self.stored_is_sent()
        with self.subTest("a file that does not know them yet"):
            self.fakes[1].break_with("silent")
            other = Server(log=None)
            other.stop()
            run("serve", "--db", other.db, "--listen", "127.0.0.1:0", "--usage", self.url.replace("/faults", "/unknown"),
                "--usage-credentials", self.login, expect=3)
            other.folder.cleanup()
            self.fakes[1].heal()

    def test_9_b_twenty_thousand_refused(self):
        """Each commit that fails leaves a gap for good, which a statement must leave out. Last, as statements are longer then."""
        self.back()
        for number in range(3):
            body = self.body()
            with self.fault(1 + number % 2, 252):
                self.refused(self.post(body), 503, "usage.away")
            self.post_all(body)
        self.stored_is_sent()
        self.server.stop()
        with contextlib.closing(sqlite3.connect(self.server.db)) as file, file:
            file.create_function("tb_seal", -1, seal)
            (last,), = file.execute("SELECT value FROM meta WHERE name='usage_batch'")
            gaps = [(f"usage_gap_{(life << 20) + 2}", (life + 1 << 20) - 1) for life in range((last >> 20) + 1, (last >> 20) + 20001)]
            file.executemany("INSERT INTO meta(name,value) VALUES(?,?)", gaps)
            file.execute("UPDATE meta SET value=? WHERE name='usage_batch'", (gaps[-1][1] + 1,))
        self.server.start("--usage", self.url, "--usage-credentials", self.login, *self.often)
        self.back()
        self.stored_is_sent()
        self.post_all(self.body())
        self.stored_is_sent()


if __name__ == "__main__":
    unittest.main()
