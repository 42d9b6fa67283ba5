"""serve --acknowledge-after standby: a write is answered with success once every listed standby has it. The standbys are
raw requests here: by asking for what follows a piece they say that they have it."""
import json
import time
import unittest

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


if __name__ == "__main__":
    unittest.main()
