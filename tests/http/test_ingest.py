"""Bodies into the store: forms, compression, batches, refusals, and everybody at once."""
import gzip
import json
import shutil
import sqlite3
import subprocess
import unittest

from follower import set_fold_ids
from harness import ENVIRONMENT, TOLLBOOK, Case, Server, hit, run, together


def chunks(data, size):
    parts = [data[i:i + size] for i in range(0, len(data), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"


class Ingest(Case):
    serial = 5000

    def lines(self, n, **fields):
        """n lines that no other test sends."""
        first, Ingest.serial = Ingest.serial, Ingest.serial + n
        return b"".join(hit(101, first + i, **fields) for i in range(n))

    def post(self, body, target="/ingest/logs", key="ingest", **headers):
        return self.server.ask("POST", target, key, body, **headers)

    def total(self):
        return self.server.get("/statistics").json()["TotalRequestsServed"]

    def taken(self, answer, accepted, rejected=0, known=0, duplicate=False, ambiguous=0):
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["cache-control"], "no-store")
        report = answer.json()
        first, fits, warning = (report.pop(name) for name in ("firstReject", "fits", "warning"))
        self.assertEqual(first is not None, rejected > 0)
        if rejected == 0:
            self.assertIsNone(fits)
        self.assertEqual(warning is not None, rejected > 0)
        self.assertEqual(report, {"lines": accepted + rejected, "accepted": accepted,
                                  "rejected": rejected, "knownLines": known,
                                  "knownRefused": False, "duplicate": duplicate,
                                  "ambiguous": ambiguous, "cells": 0})
        return first

    def all_refused(self, answer, rejected):
        """422, and the report all the same."""
        self.assertEqual((answer.status, answer.headers["cache-control"]), (422, "no-store"), answer.body)
        report = answer.json()
        self.assertEqual((report["ErrorKey"], report["Field"]), ("ingest.all_refused", None))
        self.assertEqual((report["accepted"], report["rejected"], report["lines"]), (0, rejected, rejected))
        return report

    def test_a_body_of_which_nothing_counts_is_422_and_kept(self):
        """Fluent Bit's JSON array, say. Nothing is lost, and nothing changes where it comes again."""
        body = b'[{"date":1793707200.5,"log":"GET /one-422 200"},{"date":1793707201.5,"log":"GET /two 200"}]\n'
        before, size = self.total(), self.server.metric('tollbook_ingest_lines_total{result="rejected"}')
        for n, headers in enumerate(({}, {}, {"Idempotency_Key": "array"}, {"Idempotency_Key": "array"})):
            report = self.all_refused(self.post(body, **headers), 1 - n % 2)
            self.assertIn("Every line was refused", report["Message"])
            self.assertIn(f"Send them with the right one{' and under another batch id' if headers else ''};", report["Message"])
            self.assertEqual(report["firstReject"] is None, n % 2 == 1)
        self.assertEqual(self.server.metric('tollbook_ingest_lines_total{result="rejected"}'), size + 2)
        self.assertEqual(self.total(), before)
        kept = self.server.ask("POST", "/operations/intake", "operator", b"{}", Content_Type="application/json").json()
        self.assertIn("one-422", json.dumps(kept))
        mixed = self.post(body + self.lines(3))  # its first line is known by now
        self.assertEqual((mixed.status, mixed.json()["accepted"], mixed.json()["knownLines"]), (200, 3, 1))
        self.taken(self.post(self.lines(2) + body + self.lines(1)), 3, 1)
        good = self.lines(2)
        self.taken(self.post(good), 2)
        self.taken(self.post(good + body), 0, 1, known=2)  # lines of this body count

    def test_a_piece_of_which_nothing_counts_is_taken(self):
        """Its sender reads the counts, and goes on behind it."""
        body = b"nonsense of a piece\nand more\n"
        head = self.head_of(body)
        name = f"whole-{Ingest.serial}"
        self.all_refused(self.post(body, Idempotency_Key=name), 2)
        digest = self.segments(batch=name)["segments"][0]["hash"]
        self.assertEqual(self.post(body, "/ingest/logs/withdraw", "operator", Idempotency_Key=f"account 1/{name}").status, 200)
        piece = f"/ingest/logs?start=0&length={len(body)}&linesBefore=0&head={head}&hash={digest}"
        for lines in (2, 0):
            answer = self.post(body, piece)
            self.assertEqual((answer.status, answer.json()["rejected"]), (200, lines), answer.body)

    def test_a_body_in_another_form_says_which(self):
        combined = b'192.0.2.7 - - [03/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 "-" "agent"\n'
        answer = self.all_refused(self.post(combined * 3), 3)
        none = dict.fromkeys(("pipe", "combined", "vcombined", "vhost", "vhostCommon", "cloudfront", "caddy", "cloudflare",
                              "fastly", "buckets"), 0)
        self.assertEqual(answer["fits"], {**none, "looked": 3, "combined": 3})
        self.assertIn("Every line was refused: 3 of the 3 looked at are lines of the combined format",
                      answer["warning"])
        again = self.all_refused(self.post(combined * 3), 0)
        self.assertEqual((again["duplicate"], again["knownRefused"], again["knownLines"]), (True, True, 3))
        self.assertEqual(again["warning"], "Every line was refused when these bytes came before.")
        mostly = self.post(self.lines(1) + combined * 2).json()
        self.assertIn("Most lines were refused: 2 of the 2", mostly["warning"])
        rows = self.post(b'{"zone":101,"hour":"2026-11-03T10:00:00Z","region":"DE","requests":5}\n')
        self.assertIn("usage rows", rows.json()["warning"])
        fronted = self.post(b"a.example " + combined, "/ingest/logs?format=combined&zone=101&region=DE").json()
        self.assertIn("A host stands in front of the first line (lines of the combined format with a host in front)",
                      fronted["warning"])
        self.assertIsNone(self.post(combined, "/ingest/logs?format=combined&zone=101&region=DE").json()["warning"])
        missing = self.post(combined.replace(b"/a ", b"/b "), "/ingest/logs?format=combined&zone=999&region=GERMANY").json()
        self.assertIn("no catalogue declares pull zone 999", missing["warning"])
        self.assertIn("no region has the edge location GERMANY", missing["warning"])
        logs = self.post(self.lines(2), "/ingest/buckets?onError=skip").json()
        self.assertEqual(logs["fits"], {**none, "looked": 2, "pipe": 2})

    def test_lines_with_pipes_of_a_client_count(self):
        line = self.lines(1)
        head, agent = line.split(b"|DE|", 1)
        before = self.total()
        self.taken(self.post(head + b"|DE|a|b " + agent), 1)
        self.taken(self.post(head + b"|DE|a|SG|b " + agent), 1, ambiguous=1)
        self.assertEqual(self.total(), before + 2)
        self.assertIn(b"tollbook_ingest_ambiguous_lines_total 1", self.server.get("/metrics").body)

    def test_a_bomb_of_refused_lines_is_refused_whole(self):
        before = self.total()
        bomb = gzip.compress(b"\n" * (1 << 21))
        answer = self.post(bomb, Content_Encoding="gzip")
        self.refused(answer, 413, "request.body_too_large")
        self.assertIn("More than 1000000 lines of this body were refused.", answer.json()["Message"])
        answers = together(6, lambda i: self.post(bomb if i % 2 else self.lines(1)))
        self.assertEqual([a.status for a in answers], [200, 413] * 3)
        self.assertEqual(self.total(), before + 3)

    def test_a_bomb_of_pull_zones_is_refused_whole(self):
        """Good lines, each a row that the writer would have to place."""
        before = self.total()
        one = self.lines(1)
        fields = one.split(b"|")
        bomb = gzip.compress(b"".join(b"|".join([*fields[:4], b"%d" % (10**6 + i), *fields[5:]]) for i in range(90000)))
        self.assertLess(len(bomb), 512 << 10)
        answers = together(4, lambda i: self.post(bomb, Content_Encoding="gzip") if i % 2 else self.post(self.lines(1)))
        self.assertEqual([a.status for a in answers], [200, 413] * 2)
        self.refused(answers[1], 413, "request.body_too_large")
        self.assertIn("too many days of usage, counted for each edge location of a pull zone", answers[1].json()["Message"])
        self.assertEqual(self.total(), before + 2)

    def test_a_second_location_behind_long_history_counts(self):
        """It copies more days than a short commit may, and comes again by itself."""
        day = 24 * 3600000
        def hit(zone, at, region, number):
            return b"HIT|200|%d|1|%d|192.0.2.1|-|https://z/%d|%s|agent|-|DE\n" % (at, zone, number, region)
        now = int(self.lines(1).split(b"|")[2])
        zones, days = range(910001, 910007), range(3900)
        history = b"".join(hit(zone, now - day * back, b"DE", back) for zone in zones for back in days)
        self.taken(self.post(history, Content_Encoding="identity"), len(zones) * len(days))
        self.taken(self.post(b"".join(hit(zone, now, b"NY", 0) for zone in zones)), len(zones))
        done = run("verify", "--db", self.server.db)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_large_body_is_parsed_by_the_intake(self):
        before = self.total()
        large = self.lines(4000)
        self.assertGreater(len(large), 256 << 10)
        answers = together(4, lambda i: self.post(large))
        self.assertEqual(sum(a.json()["lines"] for a in answers), 4000)
        self.assertEqual(sum(a.json()["duplicate"] for a in answers), 3)
        packed = gzip.compress(self.lines(4000))  # small as it comes
        self.assertLess(len(packed), 128 << 10)
        self.taken(self.post(packed, Content_Encoding="gzip"), 4000)
        self.assertEqual(self.total(), before + 8000)
        self.assertIn(b"tollbook_intake_queue 0", self.server.get("/metrics").body)

    def test_every_form_of_a_body(self):
        forms = [("plain", lambda b: (b, {})), ("identity", lambda b: (b, {"Content_Encoding": "identity"})),
                 ("gzip", lambda b: (gzip.compress(b), {"Content_Encoding": "gzip"})),
                 ("GZIP", lambda b: (gzip.compress(b), {"Content_Encoding": "GZip"})),
                 ("gzip unsaid", lambda b: (gzip.compress(b), {})),
                 ("form", lambda b: (b, {"Content_Type": "application/x-www-form-urlencoded"})),
                 ("text", lambda b: (b, {"Content_Type": "text/plain; charset=utf-8"}))]
        if shutil.which("zstd"):
            forms.append(("zstd", lambda b: (subprocess.run(["zstd", "-q"], input=b, check=True,
                          capture_output=True).stdout, {"Content_Encoding": "zstd"})))
        for name, make in forms:
            with self.subTest(name):
                before = self.total()
                body, headers = make(self.lines(7))
                self.taken(self.post(body, **headers), 7)
                self.assertEqual(self.total(), before + 7)

    def test_an_empty_body_is_nothing_new(self):
        self.assertEqual(self.post(b"").json()["lines"], 0)

    def test_the_last_line_needs_no_end(self):
        self.taken(self.post(self.lines(3)[:-1]), 3)

    def test_chunked_bodies_of_any_cut(self):
        header = {"AccessKey": self.server.keys["ingest"], "Transfer-Encoding": "chunked"}
        with self.server.wire() as wire:
            for size in (1, 2, 7, 64, 100000):
                body = self.lines(5)
                self.taken(wire.ask("POST", "/ingest/logs", header, chunks(body, size)), 5)

    def test_a_body_cut_in_two_segments_anywhere(self):
        body = self.lines(2)
        with self.server.wire() as wire:
            for at in range(0, len(body) + 1, 3):
                head = (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: "
                        f"{self.server.keys['ingest']}\r\nContent-Length: {len(body)}\r\n\r\n")
                wire.send(head.encode() + body[:at])
                wire.send(body[at:])
                if at == 0:
                    self.taken(wire.read("POST"), 2)
                else:
                    self.taken(wire.read("POST"), 0, known=2, duplicate=True)

    def test_expect_100_continue(self):
        body = self.lines(4)
        with self.server.wire() as wire:
            wire.send((f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: "
                       f"{self.server.keys['ingest']}\r\nContent-Length: {len(body)}\r\n"
                       "Expect: 100-continue\r\n\r\n").encode())
            self.assertEqual(wire.read().status, 100)
            wire.send(body)
            self.taken(wire.read("POST"), 4)
        with self.server.wire() as wire:  # without a key: no body is asked for
            wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n"
                      b"Expect: 100-continue\r\n\r\n")
            self.assertEqual(wire.read().status, 401)
            self.assertTrue(wire.ended())

    def test_a_grown_log_adds_its_new_lines(self):
        old, new = self.lines(5), self.lines(3)
        self.taken(self.post(old), 5)
        self.taken(self.post(old + new), 3, known=5)
        self.taken(self.post(old + new), 0, known=8, duplicate=True)

    def test_refused_lines_are_counted_and_the_first_is_shown(self):
        bad = hit(101, 1).replace(b"|200|", b"|abc|")
        first = self.taken(self.post(self.lines(2) + bad + self.lines(1) + b"\n"), 3, 2)
        self.assertEqual((first["line"], first["byte"], first["reason"]), (3, 5, "STATUS"))
        self.assertTrue(first["message"])

    def test_on_error_stop_takes_nothing(self):
        before = self.total()
        bad = hit(101, 1).replace(b"|200|", b"|abc|")
        answer = self.post(self.lines(2) + bad + self.lines(1), "/ingest/logs?onError=stop")
        self.refused(answer, 400, "ingest.line_rejected")
        self.assertIn("Line 3, byte 5", answer.json()["Message"])
        self.assertEqual(self.total(), before)

    def test_a_batch_id_names_its_bytes(self):
        body, other = self.lines(4), self.lines(4)
        before = self.total()
        self.taken(self.post(body, Idempotency_Key="b-1"), 4)
        for _ in range(3):
            self.taken(self.post(body, Idempotency_Key="b-1"), 0, known=4, duplicate=True)
        self.taken(self.post(gzip.compress(body), Idempotency_Key="b-1", Content_Encoding="gzip"), 0,
                   known=4, duplicate=True)
        for wrong in (other, body + other, body[:-10], b""):
            self.refused(self.post(wrong, Idempotency_Key="b-1"), 409, "batch.conflict")
        self.assertEqual(self.total(), before + 4)

    def test_a_batch_id_is_its_account_s(self):
        self.server.keys.setdefault("theirs", self.new_key(2, "Ingest"))
        bodies = {key: self.lines(i + 2) for i, key in enumerate(("ingest", "theirs", "operator"))}
        for again in (False, True):
            for i, (key, body) in enumerate(bodies.items()):
                self.taken(self.post(body, key=key, Idempotency_Key="own"), *((0, 0, i + 2, True) if again else (i + 2,)))
                known = self.server.get("/ingest/segments?batch=own", key).json()["segments"]
                self.assertEqual([s["accepted"] for s in known], [i + 2])
        self.refused(self.post(bodies["theirs"], key="ingest", Idempotency_Key="own"), 409, "batch.conflict")
        back = self.post(bodies["theirs"], "/ingest/logs/withdraw", "operator", Idempotency_Key="account 2/own").json()
        self.assertEqual((back["segments"], back["accepted"]), (1, 3))
        self.taken(self.post(bodies["theirs"], key="theirs", Idempotency_Key="own"), 3)

    def new_key(self, account, role):
        made = self.server.ask("POST", "/keys", "operator", json.dumps({"account": account, "roles": [role]}).encode(),
                               Content_Type="application/json")
        self.assertEqual(made.status, 201, made.body)
        return made.json()["Key"]

    def segments(self, **query):
        text = "&".join(f"{k}={v}" for k, v in query.items())
        answer = self.server.get("/ingest/segments?" + text, "ingest")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def head_of(self, body):
        """The hash of the first line without its end: a batch of just these bytes has it."""
        Ingest.serial += 1
        name = f"head-{Ingest.serial}"
        self.post(body[:body.index(b"\n")], Idempotency_Key=name)
        return self.segments(batch=name)["segments"][0]["hash"]

    def test_a_log_s_segments_and_rungs_are_told(self):
        body = self.lines(20)
        self.taken(self.post(body), 20)
        known = self.segments(head=self.head_of(body), kind="log")
        one, = (s for s in known["segments"] if s["length"] == len(body))
        self.assertEqual((one["start"], one["lines"], one["accepted"], one["rejected"], one["kind"],
                          one["final"]), (0, 20, 20, 0, "log", True))
        self.assertEqual(known["total"], len(known["segments"]))
        ends = [i + 1 for i, c in enumerate(body) if c == 10]
        self.assertEqual([r["length"] for r in known["rungs"]],
                         [min(e for e in ends if e >= 512 << i) for i in range(2)])
        self.assertEqual(self.segments(head="0" * 32), {"total": 0, "segments": [], "rungs": [], "cells": 0})
        self.assertEqual(self.segments(head="0" * 32, skip=5)["segments"], [])

    def test_a_log_s_withdrawn_segment_is_told(self):
        body = self.lines(20)
        self.taken(self.post(body), 20)
        asked = {"head": self.head_of(body), "end": len(body), "lines": 20}
        self.assertIs(self.segments(**asked)["withdrawn"], False)
        self.assertEqual(self.post(body, "/ingest/logs/withdraw", key="operator").json()["lines"], 20)
        self.assertIs(self.segments(**asked)["withdrawn"], True)
        self.assertIs(self.segments(**{**asked, "lines": 19})["withdrawn"], False)
        self.assertIs(self.segments(**{**asked, "end": len(body) - 1})["withdrawn"], False)

    def test_where_a_log_ends_is_told_once_its_pieces_are_folded(self):
        """A follower asks for the segment that it sent last: others are folded into it by now."""
        server = Server(log=None)
        self.addCleanup(server.close)

        def set_block(ids, seal=0):
            server.stop()
            return set_fold_ids(server.db, ids, seal)

        self.addCleanup(set_block, 65536, set_block(4))
        log = server.path / "followed.log"
        for _ in range(7):
            with log.open("ab") as file:
                file.write(self.lines(3))
            run("follow", "--db", server.db, "--once", log)
        with sqlite3.connect(server.db) as db:
            head, start, end, before, lines = db.execute(
                "SELECT hex(head),start,length,lines_before,accepted FROM segment WHERE id=3").fetchone()
        db.close()
        self.assertEqual((before, lines), (6, 3))
        subprocess.run([TOLLBOOK, "ingest", "--db", server.db, "-"], input=self.lines(1), check=True,
                       env={**ENVIRONMENT, "TOLLBOOK_NOW": "2026-11-25T00:00:00Z"})
        server.start()
        known = server.get(f"/ingest/segments?head={head.lower()}&from={start}&end={end}&lines=9", "ingest").json()
        self.assertEqual([(s["start"], s["accepted"]) for s in known["segments"]],
                         [(0, 9), (end, 3), (end + (end - start), 3), (end + 2 * (end - start), 3), (end + 3 * (end - start), 3)])
        behind = server.get(f"/ingest/segments?head={head.lower()}&from={end}", "ingest").json()
        self.assertEqual(behind["total"], 4)

    def test_segments_need_a_role_and_a_name(self):
        for query, field in (("", "head"), ("head=12", "head"), ("head=" + "G" * 32, "head"),
                             ("head=" + "0" * 32 + "&batch=b", "head"), ("batch=b&skip=-1", "skip"),
                             ("batch=" + "b" * 256, "batch"), ("batch=b&kind=buckets", "kind"),
                             ("batch=b&end=5", "end"), ("head=" + "0" * 32 + "&end=-1", "end"),
                             ("head=" + "0" * 32 + "&end=1&lines=-1", "lines")):
            self.refused(self.server.get("/ingest/segments?" + query, "ingest"), 400,
                         "validation_error", field)
        self.refused(self.server.get("/ingest/segments?batch=b", "user"), 403,
                     "authorization.forbidden")

    def piece(self, body, query, **headers):
        return self.post(body, "/ingest/logs?" + "&".join(f"{k}={v}" for k, v in query.items()),
                         **headers)

    def test_pieces_make_one_chain(self):
        first, second = self.lines(6), self.lines(4)
        head, before = self.head_of(first), self.total()
        self.post(first)
        one, = (s for s in self.segments(head=head)["segments"] if s["length"] == len(first))
        total = self.segments(head=head)["total"]
        query = {"start": len(first), "length": len(first + second), "linesBefore": 6, "head": head,
                 "hash": "1" * 32, "final": "true", "known": total,
                 "rungs": f"{len(first) + 90}:{'2' * 32}"}
        for wrong in ({"start": 1}, {"linesBefore": 5}, {"known": total + 1}, {"head": "3" * 32}):
            self.refused(self.piece(second, {**query, **wrong}), 409, "batch.conflict")
        self.taken(self.piece(second, query), 4)
        self.taken(self.piece(second, query), 0, known=4, duplicate=True)
        self.taken(self.piece(first, {"start": one["start"], "length": len(first), "linesBefore": 1,
                                      "head": head, "hash": one["hash"]}), 0, known=5, duplicate=True)
        self.refused(self.piece(second, {**query, "hash": "4" * 32}), 409, "batch.conflict")
        known = self.segments(head=head)
        self.assertEqual([s["hash"] for s in known["segments"] if s["start"] == len(first)],
                         ["1" * 32])
        self.assertIn({"length": len(first) + 90, "hash": "2" * 32}, known["rungs"])
        self.assertEqual(self.total(), before + 5 + 4)

    def test_a_piece_s_refused_lines_are_numbered_over_the_log(self):
        first, bad = self.lines(3), hit(101, 1).replace(b"|200|", b"|abc|")
        self.post(first)
        query = {"start": len(first), "length": len(first + bad), "linesBefore": 3, "hash": "5" * 32,
                 "head": self.head_of(first)}
        refused = self.taken(self.piece(bad, query), 0, 1)
        self.assertEqual(refused["line"], 4)

    def test_a_piece_that_starts_a_log_must_be_what_its_hash_says(self):
        body = self.lines(3)
        before = self.total()
        answer = self.piece(body, {"start": 0, "length": len(body), "head": "6" * 32, "hash": "7" * 32})
        self.refused(answer, 400, "ingest.invalid", "hash")
        self.assertEqual(self.total(), before)

    def test_pieces_of_a_batch_are_its_segments(self):
        first, second = self.lines(2), self.lines(2)
        def query(start, length, before, final):
            return {"start": start, "length": length, "linesBefore": before, "head": "8" * 32,
                    "hash": f"{start:032x}", "final": final, "known": before // 2}
        named = {"Idempotency_Key": "chain"}
        end = 1000 + len(second)
        self.taken(self.piece(first, query(0, 1000, 0, "false"), **named), 2)
        self.refused(self.piece(second, query(999, end, 2, "true"), **named), 409, "batch.conflict")
        self.taken(self.piece(second, query(1000, end, 2, "true"), **named), 2)
        self.taken(self.piece(second, query(1000, end, 2, "true"), **named), 0, known=2, duplicate=True)
        self.refused(self.piece(second, query(end, end + 9, 4, "true"), **named), 409,
                     "batch.conflict")
        self.assertEqual([(s["start"], s["final"]) for s in self.segments(batch="chain")["segments"]],
                         [(0, False), (1000, True)])

    def test_one_sender_of_a_log_at_a_time(self):
        """Two that both knew nothing of it: one piece is taken, the other is told to look again."""
        body = self.lines(4)
        head = self.head_of(body)
        known = self.segments(head=head)["total"]
        two = [body[:body.index(b"\n", 200) + 1], body]
        answers = together(2, lambda i: self.piece(two[i], {
            "start": 0, "length": len(two[i]) + 1, "linesBefore": 0, "head": head, "hash": f"{i:032x}",
            "known": known}))
        self.assertEqual(sorted(a.status for a in answers), [200, 409])

    def test_bad_parameters(self):
        for query, field in (("format=xml", "format"), ("zone=1", "zone"), ("region=DE", "region"),
                             ("format=combined", "zone"), ("format=combined&zone=0&region=DE", "zone"),
                             ("onError=panic", "onError"),
                             ("format=combined&zone=101&region=D%20E", "region"),
                             ("format=combined&zone=101&region=" + "D" * 17, "region"),
                             ("format=combined&zone=x&region=DE", "zone"),
                             ("start=-1&head=" + "0" * 32, "start"), ("start=5&length=4", "length"),
                             ("start=0&length=4&linesBefore=-1", "linesBefore"),
                             ("start=0&length=4", "head"),
                             ("start=0&length=4&head=" + "0" * 32, "hash"),
                             ("start=0&length=4&head=" + "0" * 32 + "&hash=" + "0" * 32 + "&rungs=1:2",
                              "rungs")):
            self.refused(self.post(self.lines(1), "/ingest/logs?" + query), 400, "validation_error",
                         field)
        for batch in ("", "b" * 256, "b\xe4"):
            self.refused(self.post(self.lines(1), Idempotency_Key=batch), 400, "validation_error",
                         "Idempotency-Key")
        self.taken(self.post(self.lines(1), Idempotency_Key="b" * 255), 1)

    def test_combined_lines(self):
        line = ('192.0.2.1 - - [03/Nov/2026:12:00:00 +0000] "GET /%d HTTP/1.1" 200 512 "-" "a" HIT\n')
        body = "".join(line % i for i in range(3)).encode()
        before = self.total()
        self.taken(self.post(body, "/ingest/logs?format=combined&zone=101&region=DE"), 3)
        self.assertEqual(self.total(), before + 3)

    def test_usage_rows_whole_or_not_at_all(self):
        def row(hour, **more):
            return json.dumps({"zone": 102, "hour": f"2026-11-02T{hour:02}:00:00Z", "region": "DE",
                               "requests": 5, "bytes": 50, **more}).encode() + b"\n"
        before = self.total()
        self.taken(self.post(row(1) + row(2), "/ingest/buckets"), 2)
        self.assertEqual(self.total(), before + 10)
        for bad, place in ((row(3) + b"{}\n", "Line 2, byte "), (row(3) + row(4, typo=1), "Line 2, byte "),
                           (b"\n" + row(3), "Line 1, byte 1"),
                           (row(3) + row(4)[:-3], "Line 2, byte ")):
            answer = self.post(bad, "/ingest/buckets")
            self.refused(answer, 400, "ingest.line_rejected")
            self.assertTrue(answer.json()["Message"].startswith(place), answer.body)
        self.assertEqual(self.total(), before + 10)
        refused = self.taken(self.post(row(3) + row(4, typo=1), "/ingest/buckets?onError=skip"), 1, 1)
        self.assertIn('"typo"', refused["message"])
        self.taken(self.post(row(1) + row(2), "/ingest/buckets"), 0, known=2, duplicate=True)

    def test_a_broken_compressed_body_takes_nothing(self):
        before = self.total()
        whole = gzip.compress(self.lines(50))
        for body in (whole[:-9], whole[:40], b"\x1f\x8b junk"):
            answer = self.post(body, Content_Encoding="gzip")
            self.refused(answer, 400, "ingest.invalid")
        self.assertEqual(self.total(), before)

    def test_types_and_codings_that_are_not_known(self):
        for headers, field in (({"Content_Type": "multipart/form-data; boundary=x"}, "Content-Type"),
                               ({"Content_Type": "image/png"}, "Content-Type"),
                               ({"Content_Encoding": "br"}, "Content-Encoding"),
                               ({"Content_Encoding": "gzip, zstd"}, "Content-Encoding"),
                               ({"Content_Encoding": ""}, "Content-Encoding")):
            self.refused(self.post(self.lines(1), **headers), 415, "request.media_type", field)
        for target in ("/catalog", "/keys"):
            for headers in ({"Content_Type": "text/plain"}, {"Content_Encoding": "gzip"}):
                self.refused(self.post(b"{}", target, "operator", **headers), 415,
                             "request.media_type")

    def test_the_same_batch_from_eight_clients_counts_once(self):
        for headers in ({}, {"Idempotency_Key": "eight"}):
            body, before = self.lines(200), self.total()
            reports = [a.json() for a in together(8, lambda _: self.post(body, **headers))]
            self.assertEqual(sum(r["accepted"] for r in reports), 200)
            self.assertEqual([r["duplicate"] for r in reports].count(False), 1)
            self.assertEqual(self.total(), before + 200)

    def test_different_batches_at_once_all_count(self):
        bodies, before = [self.lines(20) for _ in range(24)], self.total()
        bad = hit(101, 1).replace(b"|200|", b"|abc|")

        def work(i):
            with self.server.wire() as wire:
                header = {"AccessKey": self.server.keys["ingest"]}
                for j in range(3):
                    self.taken(wire.ask("POST", "/ingest/logs", header, bodies[i * 3 + j]), 20)
                    # A refused one among those that are committed together takes only itself out.
                    self.refused(wire.ask("POST", "/ingest/logs?onError=stop", header, bad), 400,
                                 "ingest.line_rejected")

        together(8, work)
        self.assertEqual(self.total(), before + 480)

    def test_readers_beside_the_writer_see_whole_batches(self):
        bodies, before = [self.lines(50) for _ in range(10)], self.total()

        def work(i):
            if i == 0:
                for body in bodies:
                    self.taken(self.post(body), 50)
                return []
            return [self.total() for _ in range(30)]

        for seen in together(4, work):
            self.assertEqual(seen, sorted(seen))
            for value in seen:
                self.assertEqual((value - before) % 50, 0)
        self.assertEqual(self.total(), before + 500)

    def test_it_agrees_with_the_command_line(self):
        self.assertEqual(run("stats", "--db", self.server.db, "--account", 1).stdout,
                         self.server.get("/statistics").body + b"\n")


if __name__ == "__main__":
    unittest.main()
