#!/usr/bin/env python3
"""ingest --withdraw and import --withdraw with the real binary, on a database and through a server: who
may, what the answer and the audit log say, logs that came in parts, packed, as a stream or with a
name, and a follower whose log is withdrawn meanwhile."""
import gzip
import json
import os
import re
import tempfile
import unittest
from pathlib import Path

from follower import Follower, line, stored, until
from harness import CATALOG, Case, hit, once, run, together


def taken(db):
    return sum(stored(db)[0].values())


ROW = b'{"zone":101,"hour":"2026-11-03T10:00:00Z","region":"DE","requests":7,"queued_max":3}\n'


class Served(Case):
    serial = 70000

    def lines(self, n):
        """n lines that no other test has."""
        first, Served.serial = Served.serial, Served.serial + n
        return b"".join(hit(101, first + i) for i in range(n))

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-withdraw-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.before = self.total()

    def total(self):
        return self.server.get("/statistics").json()["TotalRequestsServed"]

    def post(self, target, body, key="operator", **headers):
        return self.server.ask("POST", target, key, body, **headers)

    def tool(self, *words, key="operator", expect=0):
        return run(*words, "--server", self.server.url, "--key", self.server.keys[key],
                   expect=expect).stderr.decode()

    def write(self, name, data):
        path = self.folder / name
        path.write_bytes(data)
        return path

    def entries(self):
        reply = self.post("/operations/audit", b"{}").json()
        return reply["answer"]["entries"]

    def test_a_body_is_taken_back_once(self):
        body = self.lines(5) + b"no line\n"
        self.assertEqual(self.post("/ingest/logs", body, "ingest").json()["accepted"], 5)
        self.assertEqual(self.total(), self.before + 5)
        for key, status in (("ingest", 403), ("user", 403), (None, 401)):
            self.assertEqual(self.post("/ingest/logs/withdraw", body, key).status, status)
        entries = len(self.entries())
        done = self.post("/ingest/logs/withdraw?source=a.log", body)
        told = done.json()
        entry = told.pop("entry")
        self.assertEqual((done.status, told),
                         (200, {"segments": 1, "lines": 6, "accepted": 5, "rejected": 1,
                                "keptLines": 5, "events": 0, "maxima": [], "named": 0,
                                "batch": None}))
        self.assertEqual(self.total(), self.before)
        (one,) = self.entries()[entries:]
        self.assertEqual(one["id"], entry)
        self.assertEqual((one["operation"], one["origin"]), ("ingest --withdraw", "127.0.0.1"))
        self.assertGreater(one["key"], 0)
        self.assertEqual((one["arguments"]["file"], one["arguments"]["lines"],
                          len(one["arguments"]["ids"])), ("a.log", 6, 1))
        self.assertEqual(self.post("/ingest/logs/withdraw", body).json()["segments"], 0)
        self.assertEqual(len(self.entries()), entries + 1)
        self.assertEqual(self.post("/ingest/logs", body, "ingest").json()["accepted"], 5)
        self.assertEqual(self.post("/ingest/logs/withdraw", gzip.compress(body)).json()["segments"], 1)

    def test_what_is_tried_is_taken_back(self):
        body = self.lines(7) + b"no line\n"
        self.post("/ingest/logs", body, "ingest")
        entries = len(self.entries())
        tried = self.post("/ingest/logs/withdraw?dryRun=true", body).json()
        self.assertEqual((tried["segments"], tried["lines"], tried["accepted"], tried["rejected"], tried["more"]), (1, 8, 7, 1, False))
        self.assertNotIn("entry", tried)
        self.assertEqual((self.total(), len(self.entries())), (self.before + 7, entries))
        self.assertEqual(self.post("/ingest/logs/withdraw?dryRun=true", self.lines(1)).json()["segments"], 0)
        done = self.post("/ingest/logs/withdraw", body).json()
        self.assertEqual((done["accepted"], self.total()), (7, self.before))
        self.refused(self.post("/ingest/logs/withdraw?dryRun=2", body), 400, "validation_error", "dryRun")
        for path in ("/ingest/logs", "/ingest/buckets"):  # refused, so that nobody takes it for a try
            self.refused(self.post(path + "?dryRun=true", body), 400, "validation_error", "dryRun")

    def test_lines_that_wait(self):
        bodies = []
        for _ in range(4):  # few lines of several zones: they wait together
            first, Served.serial = Served.serial, Served.serial + 30
            bodies.append(b"".join(hit(101 + i % 2, first + i) for i in range(30)))
            self.assertEqual(self.post("/ingest/logs", bodies[-1], "ingest").json()["accepted"], 30)
        self.assertEqual(self.total(), self.before + 120)
        for body in (bodies[1], bodies[3]):
            done = self.post("/ingest/logs/withdraw", body).json()
            self.assertEqual((done["segments"], done["keptLines"]), (1, 30))
            self.assertEqual(self.post("/ingest/logs/withdraw", body).json()["segments"], 0)
        self.assertEqual(self.total(), self.before + 60)

    def test_a_large_body_is_parsed_by_the_intake(self):
        large = self.lines(4000)
        packed = gzip.compress(self.lines(4000))  # small as it comes
        self.assertGreater(len(large), 256 << 10)
        for body in (large, packed):
            self.assertEqual(self.post("/ingest/logs", body, "ingest").json()["accepted"], 4000)
        answers = together(6, lambda i: self.post("/ingest/logs/withdraw", (large, packed)[i % 2])
                           if i < 4 else self.post("/ingest/logs", self.lines(1), "ingest"))
        self.assertEqual([a.status for a in answers], [200] * 6)
        self.assertEqual(sum(a.json()["segments"] for a in answers[:4]), 2)
        self.assertEqual(self.total(), self.before + 2)
        for one in answers[4:]:
            self.before += one.json()["accepted"]

    def peak(self):
        status = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) >> 10

    def test_a_log_of_many_segments(self):
        for segments in (60, 300):  # in one round, and in several
            body = b""
            before, key = self.peak(), self.server.keys["ingest"]
            with self.server.wire() as wire:
                for _ in range(segments):
                    body += self.lines(2)
                    self.assertEqual(wire.ask("POST", "/ingest/logs", {"AccessKey": key}, body)
                                     .json()["accepted"], 2)
            done = self.post("/ingest/logs/withdraw", body).json()
            self.assertEqual((done["segments"], done["accepted"], done["keptLines"]),
                             (segments, 2 * segments, 2 * segments))
            self.assertEqual(self.total(), self.before)
            if not os.environ.get("TB_VARIANT"):  # a sanitizer takes memory of its own
                self.assertLess(self.peak() - before, 64, segments)

    def test_a_named_body_and_rows(self):
        body = self.lines(3)
        self.post("/ingest/logs", body, Idempotency_Key="w1")
        named = self.post("/ingest/logs/withdraw", body).json()
        self.assertEqual((named["segments"], named["named"], named["batch"]), (0, 1, "w1"))
        other = self.post("/ingest/logs/withdraw", body + self.lines(1)[:-9], Idempotency_Key="w1")
        self.assertEqual(other.json()["segments"], 1)  # a longer body has the batch in front
        self.post("/ingest/logs", body, Idempotency_Key="w1")
        self.refused(self.post("/ingest/logs/withdraw", self.lines(3), Idempotency_Key="w1"), 409,
                     "batch.conflict")
        self.assertEqual(self.post("/ingest/logs/withdraw", body, Idempotency_Key="w1").json()
                         ["segments"], 1)
        self.assertEqual(self.total(), self.before)
        self.assertEqual(self.post("/ingest/buckets", ROW).json()["accepted"], 1)
        self.assertEqual(self.total(), self.before + 7)
        done = self.post("/ingest/buckets/withdraw", ROW).json()
        self.assertEqual((done["segments"], done["maxima"]), (1, ["queued_max"]))
        self.assertEqual(self.total(), self.before)

    def test_a_bad_request(self):
        body = self.lines(1)
        self.refused(self.post("/ingest/logs/withdraw?source=" + "x" * 256, body), 400,
                     "validation_error", "source")
        self.refused(self.post("/ingest/logs/withdraw?format=nonsense", body), 400,
                     "validation_error", "format")
        self.refused(self.post("/ingest/logs/withdraw?start=5", body), 400, "validation_error",
                     "length")

    def test_a_log_that_came_in_parts(self):
        whole = self.lines(40)
        log = self.write("a.log", whole[:len(whole) // 2])  # in the midst of a line
        self.tool("ingest", log)
        log.write_bytes(whole)
        self.tool("ingest", log)
        self.assertEqual(self.total(), self.before + 40)
        part = self.write("part.log", whole[:len(whole) // 2])
        self.assertIn("Withdraw the longest copy of it. Nothing was withdrawn.",
                      self.tool("ingest", "--withdraw", part, expect=1))
        self.assertEqual(self.total(), self.before + 40)
        packed = self.write("a.log.gz", gzip.compress(whole))
        said = self.tool("ingest", "--withdraw", packed)
        self.assertIn("a.log.gz: withdrawn: 40 lines, 40 of them accepted, in 2 segments.", said)
        self.assertEqual(self.total(), self.before)
        self.assertIn("nothing was withdrawn", self.tool("ingest", "--withdraw", log, expect=1))
        self.tool("ingest", packed)
        self.assertEqual(self.total(), self.before + 40)
        self.tool("ingest", "--withdraw", log)
        self.assertEqual(self.total(), self.before)

    def requests(self):
        text = self.server.ask("GET", "/metrics").body.decode()
        return sum(int(n) for n in re.findall(
            r'^tollbook_requests_total\{route="withdraw_logs".* (\d+)$', text, re.M))

    def test_segments_go_together_and_are_told_of_once(self):
        body, log = b"", self.folder / "many.log"
        with self.server.wire() as wire:
            for _ in range(130):
                body += self.lines(1)
                wire.ask("POST", "/ingest/logs", {"AccessKey": self.server.keys["ingest"]}, body)
        log.write_bytes(body)
        entries, requests = len(self.entries()), self.requests()
        self.assertIn("130 lines, 130 of them accepted, in 130 segments",
                      self.tool("ingest", "--withdraw", log))
        self.assertEqual(self.total(), self.before)
        self.assertEqual(len(self.entries()), entries + 1)
        self.assertEqual(self.requests() - requests, 3)

    def test_a_last_line_that_got_its_end_later(self):
        whole = self.lines(10)
        cut = b"".join(whole.splitlines(keepends=True)[:6])[:-1]
        log = self.write("e.log", cut)
        self.tool("ingest", "--final", log)
        log.write_bytes(whole)
        self.tool("ingest", log)
        self.assertEqual(self.total(), self.before + 10)
        self.assertIn("10 lines, 10 of them accepted, in 3 segments",
                      self.tool("ingest", "--withdraw", log))
        self.assertEqual(self.total(), self.before)
        log.unlink()
        self.assertIn("It cannot be opened", self.tool("ingest", "--withdraw", log, expect=2))

    def test_names_rows_and_one_of_several_that_is_unknown(self):
        log, unknown = self.write("n.log", self.lines(4)), self.write("u.log", self.lines(1))
        self.tool("ingest", "--batch", "n1", log)
        self.assertIn('these bytes are the batch "n1"',
                      self.tool("ingest", "--withdraw", log, expect=1))
        self.tool("ingest", "--withdraw", "--batch", "n1", log)
        self.tool("ingest", log)
        self.tool("ingest", "--withdraw", unknown, log, expect=1)  # the second one goes
        rows = self.write("rows.ndjson", ROW.replace(b"10:00", b"11:00"))
        self.tool("import", rows)
        self.assertIn("not withdrawn: queued_max.", self.tool("import", "--withdraw", rows))
        self.assertEqual(self.total(), self.before)
        self.tool("ingest", log)
        self.tool("ingest", "--withdraw", log, key="ingest", expect=2)
        self.tool("ingest", "--withdraw", log)

    def test_a_follower_does_not_count_again_what_was_withdrawn(self):
        log = self.folder / "f.log"
        log.write_bytes(self.lines(5))
        follower = Follower(self.server.url, log, key=self.server.keys["ingest"], folder=self.folder)
        self.addCleanup(follower.close)
        follower.start()
        until(lambda: self.total() == self.before + 5, follower.messages)
        self.tool("ingest", "--withdraw", log)
        with open(log, "ab") as more:
            more.write(self.lines(3))
        until(lambda: "was withdrawn" in follower.messages(), follower.messages)
        self.assertEqual(self.total(), self.before)
        self.assertLess(follower.messages().count("withdrawn"), 5)
        log.rename(self.folder / "f.log.1")  # the next log is followed as ever
        log.write_bytes(self.lines(2))
        until(lambda: self.total() == self.before + 2, follower.messages)
        follower.stop()
        Follower(self.server.url, self.folder / "f.log.1", key=self.server.keys["ingest"],
                 folder=self.folder).once()
        self.assertEqual(self.total(), self.before + 10)  # who begins anew counts it again


class Local(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-withdraw-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.db = self.folder / "t.db"
        once("withdraw", self.db, self.make)

    def make(self):
        run("init", "--db", self.db)
        catalog = self.folder / "catalog.json"
        catalog.write_text(json.dumps(CATALOG))
        run("apply", "--delete", "--db", self.db, catalog)

    def tool(self, *words, expect=0, stdin=None):
        return run(*words[:1], "--db", self.db, *words[1:], expect=expect, stdin=stdin).stderr.decode()

    def test_a_stream_and_what_it_says(self):
        lines = b"".join(line(i, 101, 100) for i in range(6))
        log = self.folder / "s.log"
        log.write_bytes(lines)
        self.tool("ingest", "--every", "5s", "-", stdin=lines)
        self.assertEqual(taken(self.db), 6)
        self.assertIn("--every: a stream without an end cannot be withdrawn.",
                      self.tool("ingest", "--withdraw", "--every", "5s", "-", stdin=lines, expect=2))
        self.assertIn("withdrawn: 6 lines", self.tool("ingest", "--withdraw", "-", stdin=lines))
        self.assertEqual(taken(self.db), 0)
        self.tool("ingest", log)
        self.assertIn("withdrawn: 6 lines", self.tool("ingest", "--withdraw", "--progress", log))
        self.assertIn("were not taken", self.tool("ingest", "--withdraw", log, expect=1))
        self.tool("verify")

    def test_options_of_then(self):
        log = self.folder / "c.log"
        log.write_bytes(b'192.0.2.7 - - [03/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 "-" "a"\n')
        how = ("--format", "combined", "--zone", "101", "--region", "DE")
        self.tool("ingest", *how, log)
        for wrong in (("--format", "combined", "--zone", "102", "--region", "DE"),
                      ("--format", "combined", "--zone", "101", "--region", "UK"), ()):
            self.assertIn("not with these options",
                          self.tool("ingest", "--withdraw", *wrong, log, expect=1))
            self.assertEqual(taken(self.db), 1)
        self.tool("ingest", "--withdraw", *how, log)
        self.assertEqual(taken(self.db), 0)

    def test_shield_events_stay_and_are_named(self):
        event = (b'{"shield_zone":42,"timestamp":1793707200000,"log":"x"}\n' + ROW)
        self.tool("import", "-", stdin=event)
        said = self.tool("import", "--withdraw", "-", stdin=event)
        self.assertIn("not withdrawn: 1 shield event.", said)
        self.tool("verify")


if __name__ == "__main__":
    unittest.main()
