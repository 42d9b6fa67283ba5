"""Compression, entity tags and the answer cache: exact, and exact again after every commit."""
import contextlib
import fcntl
import gzip
import json
import re
import threading
import time
import unittest
from email.utils import formatdate, parsedate_to_datetime

from harness import PATIENCE, Case, hit, together

ASK = "/statistics?dateFrom=2026-10-04&dateTo=2026-11-03"


class Representation(Case):
    def test_gzip_where_the_client_takes_it(self):
        plain = self.server.get(ASK)
        self.assertGreater(len(plain.body), 1024)
        for accept in ("gzip", "GZIP", "deflate, gzip;q=0.5", "*", "gzip;q=1.000, identity;q=0.5",
                       "br;q=1, gzip ; q=0.001", "x-gzip", "identity;q=0.5,*"):
            answer = self.server.get(ASK, Accept_Encoding=accept)
            self.assertEqual(answer.headers.get("content-encoding"), "gzip", accept)
            self.assertEqual(gzip.decompress(answer.body), plain.body)
            self.assertLess(len(answer.body), len(plain.body) // 2)
        for accept in ("", "identity", "gzip;q=0", "gzip;q=0.000", "br", "*;q=0", "gzip;q=0.4, "
                       "identity;q=0.5", "gzip;q=2", "gzip;q=x", "gzip;level=9", "gzipped"):
            answer = self.server.get(ASK, Accept_Encoding=accept)
            self.assertNotIn("content-encoding", answer.headers, accept)
            self.assertEqual(answer.body, plain.body)

    def test_vary_wherever_compression_may_happen(self):
        for target in (ASK, "/region", "/openapi.json", "/metrics"):
            for accept in ("gzip", "identity"):
                answer = self.server.get(target, Accept_Encoding=accept)
                self.assertEqual(answer.headers["vary"], "Accept-Encoding")
                self.assertEqual("content-encoding" in answer.headers, accept == "gzip", target)

    def test_small_bodies_and_errors_stay_plain(self):
        for target in ("/healthz", "/pullzone/101/safehop/statistics?dateFrom=2026-11-03", "/nope"):
            answer = self.server.get(target, Accept_Encoding="gzip")
            self.assertNotIn("content-encoding", answer.headers)
            self.assertLess(len(answer.body), 1024)

    def test_tags_are_strong_and_differ_by_form(self):
        tags = set()
        for accept in ("gzip", "identity"):
            first, again = (self.server.get(ASK, Accept_Encoding=accept) for _ in range(2))
            self.assertRegex(first.headers["etag"], r'^"[0-9a-f-]+g?"$')
            self.assertEqual(first.headers["etag"], again.headers["etag"])
            tags.add(first.headers["etag"])
        self.assertEqual(len(tags), 2)
        self.assertEqual(self.server.get(ASK).headers["cache-control"], "private, no-cache")

    def test_the_same_question_in_other_words_has_the_same_tag(self):
        tag = self.server.get(ASK).headers["etag"]
        for words in ("/statistics?dateTo=11-3-2026&dateFrom=2026-10-04T05:00:00Z",
                      ASK + "&pullZone=-1&loadErrors=true&x=y"):
            self.assertEqual(self.server.get(words).headers["etag"], tag)
        others = [ASK + "&pullZone=101", ASK + "&serverZoneId=1", ASK.replace("04", "05"),
                  "/pullzone/101/safehop/statistics?" + ASK.split("?")[1],
                  "/pullzone/102/safehop/statistics?" + ASK.split("?")[1],
                  "/pullzone/101/originshield/queuestatistics?" + ASK.split("?")[1]]
        tags = {self.server.get(other).headers["etag"] for other in others}
        self.assertEqual(len(tags | {tag}), len(others) + 1)

    def test_304_says_what_200_would_have_said(self):
        for accept in ("gzip", "identity"):
            full = self.server.get(ASK, Accept_Encoding=accept)
            tag = full.headers["etag"]
            for condition in (tag, f'W/{tag}', f'"x", {tag}', f' "a" ,W/"b",{tag}, "c"'):
                for method in ("GET", "HEAD"):
                    answer = self.server.ask(method, ASK, "user", None, If_None_Match=condition,
                                             Accept_Encoding=accept)
                    self.assertEqual(answer.status, 304, condition)
                    self.assertEqual(answer.body, b"")
                    for name in ("etag", "cache-control", "vary", "content-length"):
                        self.assertEqual(answer.headers[name], full.headers[name], name)
            for condition in ('"x"', tag.strip('"'), tag[:-1], tag.upper(), tag.replace("-", "-0"),
                              tag.split("-")[0] + '-0"', '"', "", tag[:-2] + '0"', "W/",
                              f'"{"0" * 32}-1"', "*"):
                answer = self.server.get(ASK, If_None_Match=condition, Accept_Encoding=accept)
                self.assertEqual(answer.status, 200, condition)

    def test_a_tag_of_one_form_does_not_stand_for_the_other(self):
        plain, packed = (self.server.get(ASK, Accept_Encoding=a) for a in ("identity", "gzip"))
        for tag, accept in ((plain.headers["etag"], "gzip"), (packed.headers["etag"], "identity")):
            self.assertEqual(self.server.get(ASK, If_None_Match=tag, Accept_Encoding=accept).status,
                             200)

    def test_a_304_keeps_the_connection(self):
        tag = self.server.get(ASK).headers["etag"]
        with self.server.wire() as wire:
            header = {"AccessKey": self.server.keys["user"], "If-None-Match": tag}
            for _ in range(3):
                self.assertEqual(wire.ask("GET", ASK, header).status, 304)
            del header["If-None-Match"]
            self.assertEqual(wire.ask("GET", ASK, header).status, 200)

    def test_every_answer_has_its_own_id(self):
        ids = [self.server.get(ASK).headers["x-request-id"] for _ in range(5)]
        with self.server.wire() as wire:
            header = {"AccessKey": self.server.keys["user"]}
            ids += [wire.ask("GET", ASK, header).headers["x-request-id"] for _ in range(20)]
        self.assertEqual(len(set(ids)), 25)
        for one in ids:
            self.assertTrue(re.fullmatch(r"[0-9a-f]{16}", one))


class Freshness(Case):
    options = ("--cache-mb", "64")
    cached = True

    def count(self):
        return self.server.get(ASK).json()["TotalRequestsServed"]

    def test_an_acknowledged_batch_is_in_the_next_answer(self):
        before = self.count()
        tag = self.server.get(ASK).headers["etag"]
        for i in range(20):
            self.assertEqual(self.count(), before + i)
            done = self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 1000 + i))
            self.assertEqual(done.json()["accepted"], 1)
            answer = self.server.get(ASK, If_None_Match=tag)
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.json()["TotalRequestsServed"], before + i + 1)
            self.assertNotEqual(answer.headers["etag"], tag)
            tag = answer.headers["etag"]

    def test_a_known_batch_and_a_refused_one_change_no_answer(self):
        first = self.server.get(ASK)
        self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 2000))
        second = self.server.get(ASK)
        self.assertTrue(self.server.ask("POST", "/ingest/logs", "ingest",
                                        hit(101, 2000)).json()["duplicate"])
        self.assertEqual(self.server.ask("POST", "/ingest/buckets", "ingest", b"x").status, 400)
        self.assertEqual(self.server.get(ASK).body, second.body)
        self.assertNotEqual(first.body, second.body)

    def test_hits_are_counted(self):
        ask = "/statistics?dateFrom=2026-10-30"
        self.server.get(ask)
        hits = self.server.metric("tollbook_answer_cache_hits_total")
        for _ in range(5):
            self.server.get(ask)
        gained = self.server.metric("tollbook_answer_cache_hits_total") - hits
        self.assertEqual(gained, 5 if self.cached else 0)

    def test_every_answer_has_the_date_of_its_second(self):
        self.server.get(ASK)
        dates, until = set(), time.monotonic() + 30
        while len(dates) < 2 and time.monotonic() < until:
            before = int(time.time())
            text = self.server.get(ASK).headers["date"]
            moment = parsedate_to_datetime(text)
            self.assertEqual(formatdate(moment.timestamp(), usegmt=True), text)
            self.assertTrue(before - 1 <= moment.timestamp() <= time.time(), text)
            dates.add(text)
        self.assertEqual(len(dates), 2, "the same date for seconds")

    def test_many_clients_get_the_same_bytes(self):
        want = {a: self.server.get(ASK, Accept_Encoding=a).body for a in ("gzip", "identity")}

        def work(i):
            accept = ("gzip", "identity")[i % 2]
            header = {"AccessKey": self.server.keys["user"], "Accept-Encoding": accept}
            with self.server.wire() as wire:
                return all(wire.ask("GET", ASK, header).body == want[accept] for _ in range(50))

        self.assertTrue(all(together(8, work)))


class WithoutCache(Freshness):
    options = ("--cache-mb", "0")
    cached = False


class TinyCache(Freshness):
    """A megabyte: 64 KiB a shard. Answers that do not fit are simply computed."""

    options = ("--cache-mb", "1")

    def test_what_is_evicted_is_computed_again(self):
        targets = [f"/statistics?hourly=true&dateFrom=2026-11-{d:02}&dateTo=2026-11-{d:02}"
                   f"&serverZoneId={r}" for d in (1, 2, 3) for r in range(1, 80)]
        header = {"AccessKey": self.server.keys["user"]}
        with self.server.wire() as wire:
            first = [wire.ask("GET", t, header).body for t in targets]
            self.assertLessEqual(self.server.metric("tollbook_answer_cache_bytes"), 1 << 20)
            self.assertLess(self.server.metric("tollbook_answer_cache_entries"), len(targets))
            self.assertEqual([wire.ask("GET", t, header).body for t in targets], first)


# SQLite's locks of readers, in the -shm file: each byte is a snapshot that keeps the WAL.
READERS = range(123, 128)


class Snapshots(Case):
    options = ("--cache-mb", "0")

    def readers(self):
        with open(f"{self.server.db}-shm", "r+b") as shm:
            def is_held(byte):
                try:
                    fcntl.lockf(shm, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                except OSError:
                    return True
                fcntl.lockf(shm, fcntl.LOCK_UN, 1, byte)
                return False
            return sum(map(is_held, READERS))

    def test_no_thread_waits_with_one(self):
        self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 3000))
        for _ in range(20):
            with contextlib.ExitStack() as wires:
                for wire in [wires.enter_context(self.server.wire()) for _ in range(8)]:
                    answer = wire.ask("GET", ASK, {"AccessKey": self.server.keys["user"]})
                    self.assertEqual(answer.status, 200)
                end = time.monotonic() + PATIENCE
                while self.readers():
                    self.assertLess(time.monotonic(), end, "a snapshot stays open")

    def test_what_is_acknowledged_is_in_every_answer_from_then_on(self):
        """While others ask all the time, so that a round of a worker's has many answers."""
        key = {"AccessKey": self.server.keys["user"]}
        before = json.loads(self.server.get(ASK).body)["TotalRequestsServed"]
        acknowledged, over = [0], threading.Event()

        def ask(wire, at_least):
            answer = wire.ask("GET", ASK, key)
            self.assertEqual(answer.status, 200)
            self.assertGreaterEqual(json.loads(answer.body)["TotalRequestsServed"], before + at_least)

        def reads():
            with self.server.wire() as wire:
                while not over.is_set():
                    ask(wire, acknowledged[0])

        def work(i):
            if i:
                reads()
                return
            try:
                for n in range(40):
                    answer = self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 4000 + n))
                    self.assertEqual(answer.status, 200)
                    acknowledged[0] = n + 1
            finally:
                over.set()

        together(12, work)


class Counted(Case):
    options = ("--access-log", "-")

    def test_what_has_no_body_counts_no_bytes(self):
        full = self.server.get(ASK, Accept_Encoding="identity")
        asked = [("GET", full, len(full.body))]
        for method, tag in (("HEAD", None), ("GET", full.headers["etag"]),
                            ("HEAD", full.headers["etag"])):
            more = {"If_None_Match": tag} if tag else {}
            answer = self.server.ask(method, ASK, "user", Accept_Encoding="identity", **more)
            self.assertEqual((answer.status, answer.body), (304 if tag else 200, b""))
            self.assertEqual(answer.headers["content-length"], str(len(full.body)))
            asked.append((method, answer, 0))
        self.server.stop()
        logged = {line["id"]: line for line in
                  map(json.loads, re.findall(r"^{.*}$", self.server.messages(), re.M))}
        for method, answer, sent in asked:
            line = logged[answer.headers["x-request-id"]]
            self.assertEqual((line["method"], line["status"], line["bytes"]),
                             (method, answer.status, sent))


if __name__ == "__main__":
    unittest.main()
