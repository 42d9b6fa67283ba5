"""serve --acknowledge-after standby: a write is answered with success once every listed standby has it. The standbys are
raw requests here: by asking for what follows a piece they say that they have it."""
import json
import re
import select
import time
import unittest

import test_standby as pair
from harness import PATIENCE, Case, hit, run

HOURS = 3600  # a wait that no test sees the end of
PIECES = "/replica/pieces"


class Standby:
    """Asks for pieces, and so says what it has."""

    def __init__(self, server, name="b-1", **parts):
        self.server = server
        self.header = "; ".join((name, "promotable", *(f"{key}={value}" for key, value in parts.items())))

    def ask(self, piece, wait=0):
        return self.server.get(f"{PIECES}?after={piece}&wait={wait}", "Replica", Tollbook_Replica=self.header)

    def has(self, piece):
        answer = self.ask(piece)
        assert answer.status == 200, answer.body
        return answer


class Acknowledge(Case):
    wait, absent = HOURS, "refuse"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server.keys["Replica"] = cls.server.make_key(0, "Replica")

    def setUp(self):
        self.start()
        self.addCleanup(self.end)

    def end(self):
        self.server.stop()
        for one in json.loads(run("replica", "status", "--db", self.server.db).stdout)["standbys"]:
            run("replica", "drop", one["name"], "--db", self.server.db)

    def start(self, **options):
        given = {"--acknowledge-after": "standby", "--standby-wait": self.wait, "--standby-absent": self.absent, **options}
        self.server.start("--replicas", *(word for pair in given.items() for word in pair))

    def piece(self):
        return self.server.get("/replica/status", "operator").json()["piece"]

    def send(self, body, method="POST", target="/ingest/logs", key="ingest", **headers):
        """A request whose answer is read later."""
        wire = self.server.wire()
        self.addCleanup(wire.sock.close)
        fields = {"Host": "t", "AccessKey": self.server.keys[key], "Content-Length": len(body), **headers}
        head = [f"{method} {target} HTTP/1.1"] + [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
        wire.send("\r\n".join(head).encode() + b"\r\n\r\n" + body)
        return wire

    def until(self, n):
        """Waits until so many answers wait."""
        end = time.monotonic() + PATIENCE
        while self.server.metric("tollbook_replica_answers_waiting") != n:
            self.assertLess(time.monotonic(), end, "no answer waits")


class Waits(Acknowledge):
    def test_an_answer_waits_until_every_standby_has_its_piece(self):
        one, two = Standby(self.server), Standby(self.server, "b-2", url="http://b-2:8080", schema=31)
        one.has(self.piece())
        two.has(self.piece())
        wire = self.send(hit(101, 1))
        self.until(1)
        last = self.piece()
        one.has(last)
        self.until(1)
        two.has(last - 1)
        self.until(1)
        two.has(last)
        self.assertEqual(wire.read().status, 200)
        self.until(0)
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 1)).status, 200)  # known: at once

    def test_an_answer_that_was_found_without_the_writer_waits_too(self):
        standby = Standby(self.server)
        standby.has(self.piece())
        first = self.send(hit(101, 2), Idempotency_Key="two")
        self.until(1)
        again = self.send(hit(101, 2), Idempotency_Key="two")
        self.until(2)
        standby.has(self.piece())
        self.assertEqual(first.read().status, 200)
        self.assertEqual(again.read().status, 200)

    def test_what_reads_or_is_refused_waits_for_nobody(self):
        Standby(self.server).has(self.piece())
        wire = self.send(hit(101, 3))
        self.until(1)
        self.assertEqual(self.server.get("/statistics").status, 200)
        self.assertEqual(self.operation("account-list", b"{}").status, 200)
        self.refused(self.server.ask("POST", "/ingest/logs?format=nothing", "ingest", hit(101)), 400, "validation_error")
        self.until(1)

    def test_many_answers_are_released_together(self):
        standby = Standby(self.server)
        standby.has(self.piece())
        wires = [self.send(hit(101, 100 + i)) for i in range(50)]
        self.until(50)
        standby.has(self.piece())
        self.assertEqual([wire.read().status for wire in wires], [200] * 50)

    def test_operations_that_write_wait_and_drop_does_not(self):
        one, gone = Standby(self.server), Standby(self.server, "gone")
        one.has(self.piece())
        gone.has(self.piece())
        paid = b'{"account":1,"kind":"payment","amount":"5","reference":"wire 1"}'
        self.assertEqual(self.operation("ledger-enter?dryRun=true", paid).status, 200)
        wire = self.send(paid, target="/operations/ledger-enter", key="operator", Content_Type="application/json")
        self.until(1)
        one.has(self.piece())
        self.until(1)
        self.assertEqual(self.operation("replica-drop", b'{"name":"gone"}').status, 200)
        self.assertEqual(wire.read().status, 200)

    def operation(self, name, body):
        return self.server.ask("POST", f"/operations/{name}", "operator", body, Content_Type="application/json")

    def test_a_stop_ends_the_waits(self):
        Standby(self.server).has(self.piece())
        wire = self.send(hit(101, 5))
        self.until(1)
        self.assertEqual(self.server.stop(), 0)
        answer = wire.read()
        self.refused(answer, 503, "replica.unacknowledged")
        self.assertEqual(answer.headers["connection"], "close")
        self.start()  # it is stored, and the same again counts once
        Standby(self.server).has(self.piece())
        self.assertTrue(self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 5)).json()["duplicate"])

    def test_after_a_start_nothing_is_acknowledged_before_the_standbys_have_asked(self):
        standby = Standby(self.server)
        standby.has(self.piece())
        self.server.stop()
        self.start()
        listed = self.server.get("/replica/status", "operator").json()["standbys"]
        self.assertEqual([(one["name"], one["promotable"], one["piece"]) for one in listed], [("b-1", True, 0)])
        wire = self.send(hit(101, 6))
        self.until(1)
        standby.has(self.piece())
        self.assertEqual(wire.read().status, 200)

    def test_old_clients_large_bodies_and_clients_that_leave(self):
        standby = Standby(self.server)
        standby.has(self.piece())
        large = self.send(b"".join(hit(101, 1000 + i) for i in range(20000)))
        self.until(1)
        old = self.server.wire()
        body = hit(101, 7)
        old.send(f"POST /ingest/logs HTTP/1.0\r\nAccessKey: {self.server.keys['ingest']}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                 + body)
        self.until(2)
        gone = self.send(hit(101, 8))
        self.until(3)
        gone.sock.close()
        standby.has(self.piece())
        self.assertEqual(large.read().status, 200)
        self.assertEqual(old.read().status, 200)
        self.assertTrue(old.ended())
        old.sock.close()
        self.until(0)

    def test_a_full_server_still_hears_its_standby(self):
        self.server.stop()
        self.start(**{"--connections": 4})
        with self.server.wire() as line:
            def ask(target, key="Replica", **headers):
                answer = line.ask("GET", target, {"AccessKey": self.server.keys[key], **headers})
                self.assertEqual(answer.status, 200)
                return answer

            def has_newest():
                newest = json.loads(ask("/replica/status", "operator").body)["piece"]
                ask(f"{PIECES}?after={newest}", **{"Tollbook-Replica": "b-1; promotable"})

            has_newest()
            wires = [self.send(hit(101, 10 + i)) for i in range(6)]
            end = time.monotonic() + PATIENCE
            refused, waiting = [], 0
            while len(refused) + waiting < len(wires):  # what does not fit is refused, and told so
                refused = select.select([wire.sock for wire in wires], [], [], 0.01)[0]
                waiting = int(re.search(rb"(?m)^tollbook_replica_answers_waiting (\d+)", ask("/metrics", "operator").body)[1])
                self.assertLess(time.monotonic(), end, (len(refused), waiting))
            self.assertTrue(waiting and len(refused) >= 3, (len(refused), waiting))
            has_newest()
            self.assertEqual([wire.read().status for wire in wires if wire.sock not in refused], [200] * waiting)

    def test_who_is_not_promotable_is_not_asked(self):
        Standby(self.server).has(self.piece())
        wire = self.send(hit(101, 20))
        self.until(1)
        self.server.get(f"{PIECES}?after={self.piece()}", "Replica", Tollbook_Replica="b-1")
        self.server.get(f"{PIECES}?after={self.piece()}", "Replica", Tollbook_Replica="reader")
        self.assertEqual(Standby(self.server).ask(self.piece() + 1).status, 410)  # nor what it cannot have
        self.until(1)
        Standby(self.server).has(self.piece())
        self.assertEqual(wire.read().status, 200)

    def test_two_standbys_of_one_name(self):
        one, two = (Standby(self.server, url=f"http://b:{port}", schema=31) for port in (1, 2))
        one.has(self.piece())
        self.refused(two.ask(self.piece()), 400, "validation_error", "Tollbook-Replica")
        one.has(self.piece())

    def test_more_standbys_than_can_be_listed(self):
        for i in range(16):
            Standby(self.server, f"b-{i}").has(self.piece())
        self.refused(Standby(self.server, "more").ask(self.piece()), 400, "validation_error", "name")
        self.assertEqual(len(self.server.get("/replica/status", "operator").json()["standbys"]), 16)


class Refuses(Acknowledge):
    wait = 1

    def test_what_no_standby_took_in_time_is_not_acknowledged_and_counts_once(self):
        standby = Standby(self.server)
        standby.has(self.piece())
        answer = self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 1), Idempotency_Key="once")
        self.refused(answer, 503, "replica.unacknowledged")
        self.assertEqual(answer.headers["retry-after"], "1")
        standby.has(self.piece())
        answer = self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 1), Idempotency_Key="once")
        self.assertEqual((answer.status, answer.json()["duplicate"]), (200, True))

    def test_a_key_that_is_not_acknowledged_is_not_shown(self):
        Standby(self.server).has(self.piece())
        answer = self.server.ask("POST", "/keys", "operator", b'{"Account":1,"Roles":["User"]}', Content_Type="application/json")
        self.refused(answer, 503, "replica.unacknowledged")
        self.assertIn("revoke it", answer.json()["Message"])

    def test_without_a_standby_nothing_is_acknowledged(self):
        self.refused(self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 2)), 503, "replica.unacknowledged")


class Continues(Acknowledge):
    wait, absent = 1, "continue"
    ALONE, AGAIN, NONE = "has not taken a piece", "wait for all listed standbys again", "no standby is listed"

    def post(self, second):
        return self.server.ask("POST", "/ingest/logs", "ingest", hit(101, second)).status

    def said(self, text):
        return self.server.messages()[self.before:].count(text)

    def setUp(self):
        path = self.server.path / "stderr"
        self.before = len(path.read_text()) if path.exists() else 0
        super().setUp()

    def test_a_standby_that_is_away_is_not_waited_for_until_it_has_caught_up(self):
        self.assertEqual((self.server.metric("tollbook_unprotected"), self.said(self.NONE)), (1, 1))
        self.assertEqual(self.post(1), 200)
        standby = Standby(self.server)
        standby.has(self.piece())
        standby.has(self.piece())
        self.assertEqual((self.server.metric("tollbook_unprotected"), self.said(self.AGAIN)), (0, 1))
        self.assertEqual(self.post(2), 200)  # after its time
        self.assertEqual((self.server.metric("tollbook_unprotected"), self.said(self.ALONE)), (1, 1))
        self.assertEqual([self.post(3 + i) for i in range(3)], [200] * 3)  # at once, or this test would take much longer
        standby.has(self.piece() - 3)
        self.assertEqual(self.server.metric("tollbook_unprotected"), 1)
        standby.has(self.piece())
        self.assertEqual((self.server.metric("tollbook_unprotected"), self.said(self.AGAIN)), (0, 2))
        self.assertEqual(self.post(9), 200)  # after its time
        self.assertEqual((self.server.metric("tollbook_unprotected"), self.said(self.ALONE), self.said(self.NONE)), (1, 2, 1))


class Pair(unittest.TestCase):
    """Two real servers."""

    def setUp(self):
        self.primary = pair.Primary("--acknowledge-after", "standby")
        self.addCleanup(self.primary.close)
        self.standby = pair.Standby(self.primary, "--promotable")
        self.addCleanup(self.standby.close)

    def test_what_is_acknowledged_the_standby_has(self):
        for i in range(5):
            self.primary.send(hit(101, i))
            self.assertEqual(pair.state(self.standby)["piece"], pair.state(self.primary)["piece"])

    def test_what_was_not_acknowledged_is_once_the_standby_is_back(self):
        self.primary.stop()
        self.primary.start("--acknowledge-after", "standby", "--standby-wait", 1)
        pair.level(self.standby)
        self.standby.stop()
        answer = self.primary.ask("POST", "/ingest/logs", "ingest", hit(101, 9))
        self.assertEqual((answer.status, answer.error), (503, "replica.unacknowledged"))
        self.standby.start("--promotable")
        pair.level(self.standby)
        self.assertTrue(self.primary.ask("POST", "/ingest/logs", "ingest", hit(101, 9)).json()["duplicate"])


class Options(unittest.TestCase):
    def test_bad_options(self):
        for words, told in ((("--acknowledge-after", "both"), "commit or standby"), (("--standby-wait", "5"), "--acknowledge-after standby"),
                            (("--standby-absent", "continue"), "--acknowledge-after standby"),
                            (("--acknowledge-after", "standby", "--standby-absent", "wait"), "refuse or continue")):
            self.assertIn(told, run("serve", "--db", "none.db", *words, expect=2).stderr.decode())


if __name__ == "__main__":
    unittest.main()
