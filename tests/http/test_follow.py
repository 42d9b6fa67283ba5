#!/usr/bin/env python3
"""`tollbook follow`: what it takes for new, what it waits for, what it says, and how it ends."""
import contextlib
import gzip
import http.client
import http.server
import json
import os
import random
import re
import resource
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse
from pathlib import Path

from harness import CATALOG, ENVIRONMENT, PATIENCE, TOLLBOOK, Server, once, random_seed, run
from script import LONG
from follower import Follower, Writer, line, restore, set_fold_ids, stored, taken, until

SEED = random_seed()
TAKEN = b'{"lines":4,"accepted":4,"rejected":0,"knownLines":0}'


def lines(first, n, zone=101, size=100):
    return b"".join(line(first + i, zone, size) for i in range(n))


def unpackable_lines(n):
    """Lines of 500 bytes that no packing makes much shorter."""
    noise = random.Random(os.urandom(8))
    return b"".join(line(i, 101, 100).replace(b"agent", b"%0400x" % noise.getrandbits(1600))
                    for i in range(n))


class Local(unittest.TestCase):
    """Of a database: each test has its own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-follow-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.db = self.folder / "t.db"
        once("follow", self.db, self.make)
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.log = self.logs / "a.log"
        self.running = []

    def tearDown(self):
        for follower in self.running:
            follower.close()

    def make(self):
        run("init", "--db", self.db)
        catalog = self.folder / "catalog.json"
        catalog.write_text(json.dumps(CATALOG))
        run("apply", "--delete", "--db", self.db, catalog)

    def follower(self, *names, options=("--every", "20ms")):
        follower = Follower(self.db, *(names or [self.logs / "*"]), folder=self.folder,
                            options=options)
        self.running.append(follower)
        return follower

    def takes(self, follower, n):
        until(lambda: sum(taken(self.db)) >= n, lambda: f"{taken(self.db)}\n{follower.messages()}")
        self.assertEqual(sum(taken(self.db)), n)

    # --- what is new ---

    def test_a_log_that_grows(self):
        f = self.follower()
        self.log.write_bytes(lines(0, 10))
        self.assertEqual(f.once(), "")
        self.assertEqual(taken(self.db), (10, 0))
        self.assertEqual(f.once(), "")
        with open(self.log, "ab") as log:
            log.write(lines(10, 5) + line(15, 101, 100)[:30])
        f.once()
        self.assertEqual(taken(self.db), (15, 0))
        self.assertEqual(f.figure("waiting_bytes", self.log), 30)
        self.assertEqual(f.figure("lag_bytes", self.log), 0)
        with open(self.log, "ab") as log:
            log.write(line(15, 101, 100)[30:])
        f.once()
        self.assertEqual(taken(self.db), (16, 0))
        self.assertEqual(stored(self.db), ({101: 16}, {101: 1600}))

    def test_what_ingest_took_is_not_taken_again(self):
        self.log.write_bytes(lines(0, 50))
        run("ingest", "--db", self.db, self.log)
        with open(self.log, "ab") as log:
            log.write(lines(50, 50))
        self.follower().once()
        self.assertEqual(taken(self.db), (100, 0))
        run("ingest", "--db", self.db, self.log)
        self.assertEqual(taken(self.db), (100, 0))

    def test_a_last_line_that_ingest_took_and_that_got_its_end(self):
        self.log.write_bytes(lines(0, 3)[:-1])
        run("ingest", "--db", self.db, "--final", self.log)
        with open(self.log, "ab") as log:
            log.write(b"\n" + lines(3, 2))
        self.follower().once()
        self.assertEqual(taken(self.db), (5, 0))

    def test_a_last_line_that_was_refused_and_that_got_its_end(self):
        whole, cut = lines(0, 6), len(lines(0, 3)) + 40
        self.log.write_bytes(whole[:cut])
        run("ingest", "--db", self.db, "--final", self.log)
        self.assertEqual(taken(self.db), (3, 1))
        f = self.follower()
        f.once()  # it meets that line without its end
        self.assertEqual(f.figure("waiting_bytes", self.log), 40)
        self.log.write_bytes(whole)
        f.once()
        run("ingest", "--db", self.db, self.log)
        self.assertEqual(taken(self.db), (6, 1))

    def test_files_that_appear_later_and_two_names_of_one(self):
        f = self.follower().start()
        until(lambda: "no such file yet" in f.messages(), "said")
        self.log.write_bytes(b"")
        (self.logs / "b.log").write_bytes(lines(0, 7))
        self.takes(f, 7)
        os.link(self.logs / "b.log", self.logs / "c.log")
        with open(self.logs / "c.log", "ab") as log:
            log.write(lines(7, 1))
        self.log.write_bytes(lines(100, 2))
        self.takes(f, 10)
        self.assertEqual(f.stop(), 0)

    def test_combined_lines_and_what_they_do_not_say(self):
        self.log.write_bytes(b'192.0.2.1 - - [03/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 77 "-" '
                             b'"agent"\n')
        f = self.follower(options=("--format", "combined", "--zone", "102", "--region", "DE"))
        f.once()
        f.once()
        self.assertEqual(stored(self.db), ({102: 1}, {102: 77}))
        self.assertIn("Combined lines have no zone", self.follower(options=("--format", "combined")).once(expect=2))

    def test_combined_lines_with_a_host_in_front_are_a_warning(self):
        self.log.write_bytes(b'a.example 192.0.2.1 - - [03/Nov/2026:12:00:00 +0000] "GET /a HTTP/1.1" 200 77 "-" "agent"\n')
        said = self.follower(options=("--format", "combined", "--zone", "102", "--region", "DE")).once()
        self.assertIn(f"{self.log}: warning: a host stands in front of its first line", said)

    def test_a_log_that_forks_inside_a_folded_row(self):
        """It is known up to the row's start: what both have behind that counts for both."""
        seal = set_fold_ids(self.db, 4)
        for i in range(8):
            with self.log.open("ab") as log:
                log.write(lines(100 + 3 * i, 3))
            self.follower().once()
        later = self.folder / "later.log"
        later.write_bytes(lines(500, 1))
        subprocess.run([TOLLBOOK, "ingest", "--db", self.db, later], check=True, capture_output=True,
                       env={**ENVIRONMENT, "TOLLBOOK_NOW": "2026-11-25T00:00:00Z"})
        size = len(lines(100, 1))

        def rows():
            with contextlib.closing(sqlite3.connect(self.db)) as db:
                return db.execute("SELECT start,length,accepted FROM segment ORDER BY id").fetchall()

        self.assertEqual(rows()[:2], [(0, 9 * size, 9), (9 * size, 21 * size, 12)])
        self.assertEqual(taken(self.db), (25, 0))
        for n, way in enumerate(("follow", "ingest")):  # 15 lines are the same, of which 9 end with a row
            forked = self.folder / f"{way}.log"
            forked.write_bytes(lines(100, 15) + lines(1000 * (n + 1), 10))
            run(way, "--db", self.db, *(["--once"] if way == "follow" else []), forked)
            self.assertEqual(taken(self.db), (25 + 16 * (n + 1), 0))
            self.assertEqual(rows()[-1], (9 * size, forked.stat().st_size, 16))
            self.assertIn("nothing new", run("ingest", "--db", self.db, forked).stderr.decode())
        self.assertIn("nothing new", run("ingest", "--db", self.db, self.log).stderr.decode())
        self.assertEqual(taken(self.db), (57, 0))
        set_fold_ids(self.db, 65536, seal)
        run("verify", "--db", self.db)

    def test_a_byte_order_mark_costs_no_line(self):
        mark = b"\xef\xbb\xbf"
        self.log.write_bytes(mark + lines(0, 3))
        f = self.follower()
        f.once()
        with open(self.log, "ab") as log:
            log.write(lines(3, 2) + mark + lines(5, 1))  # files with one, put together
        f.once()
        self.assertEqual(taken(self.db), (6, 0))
        self.assertIn("nothing new", run("ingest", "--db", self.db, self.log).stderr.decode())
        stream = mark + lines(100, 4)
        run("ingest", "--db", self.db, "--every", "1s", "-", stdin=stream)
        (self.folder / "later").write_bytes(stream)
        self.assertIn("nothing new", run("ingest", "--db", self.db, self.folder / "later").stderr.decode())
        self.assertEqual(taken(self.db), (10, 0))
        head = mark + b"#Version: 1.0\n#Fields: date time sc-bytes sc-status\n"
        front = b"2026-11-03\t12:00:00\t5\t200\n"
        words = ("ingest", "--db", self.db, "--format", "cloudfront", "--zone", "101")
        (self.folder / "front").write_bytes(head + front * 2)
        run(*words, self.folder / "front")
        self.assertEqual(taken(self.db), (14, 0))
        (self.folder / "other").write_bytes(head + front * 3 + mark + b"#Fields: sc-status date time sc-bytes\n" + front)
        said = run(*words, self.folder / "other", expect=2).stderr.decode()
        self.assertIn("a head names other columns than the log's beginning", said)

    def test_a_name_that_is_no_utf_8(self):
        names = [b"a\xff.log", b"a\xfe.log", b'q"\\b\n.log', "\u00fc\u009b.log".encode(), b"a\\xff.log"]
        for i, name in enumerate(names):
            with open(os.path.join(os.fsencode(self.logs), name), "wb") as log:
                log.write(lines(10 * i, 2) + b"half")
        f = self.follower()
        f.once()
        text = f.metrics.read_bytes().decode()  # all of it
        shown = [label.replace("\\\\", "\0").replace('\\"', '"').replace("\0", "\\")
                 for label in re.findall(r'waiting_bytes\{file="(.*)"\} 4$', text, re.M)]
        told = [r"a\xff.log", r"a\xfe.log", r'q"\b\x0a.log', "\u00fc\\xc2\\x9b.log", r"a\x5cxff.log"]
        self.assertEqual(sorted(shown), sorted(f"{self.logs}/{name}" for name in told))
        status = run("follow", "--status", "--metrics", f.metrics).stdout.decode()
        for name in told:
            self.assertIn(f"  {self.logs}/{name}\n", status)
        said = run("ingest", "--db", self.db, os.fsdecode(os.fsencode(self.logs) + b"/" + names[0])).stderr.decode()
        self.assertIn(r"a\xff.log", said)
        self.assertIn("nothing new", said)

    # --- rotation ---

    def test_renamed_and_deleted_it_is_read_to_its_end(self):
        f = self.follower(self.log).start()
        with open(self.log, "ab", buffering=0) as log:
            log.write(lines(0, 3))
            self.takes(f, 3)
            away = self.folder / "away"
            self.log.rename(away)
            log.write(lines(3, 3))
            self.takes(f, 6)
            away.unlink()
            self.log.write_bytes(lines(50, 1))
            log.write(lines(6, 3))
            self.takes(f, 10)
        self.assertEqual(f.stop(), 0)

    def test_copied_and_truncated(self):
        f = self.follower().start()
        with open(self.log, "ab", buffering=0) as log:
            log.write(lines(0, 100))
            self.takes(f, 100)
            (self.logs / "a.log.1").write_bytes(self.log.read_bytes())
            log.truncate(0)
            log.write(lines(200, 150))  # it is longer than what was read of the old one
            self.takes(f, 250)
        until(lambda: f.figure("restarts_total") == 1, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(stored(self.db), ({101: 250}, {101: 25000}))

    def test_written_anew_with_the_same_first_line_and_length(self):
        """The first line and the length tell nothing; the bytes before what was read do."""
        self.log.write_bytes(line(0, 101, 100) + lines(100, 20))
        f = self.follower().start()
        self.takes(f, 21)
        was = self.log.stat().st_ino
        with open(self.log, "r+b") as log:
            log.write(line(0, 101, 100) + lines(300, 20))
        self.assertEqual(self.log.stat().st_ino, was)
        self.takes(f, 42)  # the first line stands in another log now
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages().count("written anew"), 1)

    def test_written_anew_as_the_beginning_of_what_it_was(self):
        """By the points at 512 bytes, 1 KiB and so on nobody can tell it from an earlier copy, which adds nothing."""
        self.log.write_bytes(lines(0, 100))
        f = self.follower().start()
        self.takes(f, 100)
        short = lines(0, 50) + lines(200, 10)
        self.assertLess(4096, len(lines(0, 50)))
        with open(self.log, "r+b") as log:
            log.truncate(0)
            log.write(short)
        until(lambda: "an earlier copy" in f.messages(), f.messages)
        self.assertIn(f"its {len(short)} bytes add nothing", f.messages())
        self.assertEqual(f.messages().count("what is known of it is passed over"), 1)
        self.assertNotIn("as a new log", f.messages())
        until(lambda: f.figure("earlier_bytes", self.log) == len(short), f.messages)
        until(lambda: f.figure("earlier_copies_total") == 1, f.messages)  # the file may be of the moment before
        self.assertEqual(f.figure("lag_bytes", self.log), 0)
        self.assertEqual(taken(self.db), (100, 0))
        with open(self.log, "ab") as log:
            log.write(lines(210, 40))  # past 8192 bytes: it is another log
        self.takes(f, 200)
        until(lambda: f.figure("earlier_bytes", self.log) == 0, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages().count("an earlier copy"), 1, f.messages())
        self.assertIn("nothing new: its 100 lines", run("ingest", "--db", self.db, self.log).stderr.decode())

    def test_an_earlier_copy_is_said_packed_or_plain(self):
        data = lines(0, 100)
        (self.folder / "whole").write_bytes(data)
        run("ingest", "--db", self.db, self.folder / "whole")
        cut = len(lines(0, 60))
        self.log.write_bytes(data[:cut])
        packed = self.logs / "b.log.gz"
        packed.write_bytes(gzip.compress(data[:cut - len(lines(59, 1))]))
        f = self.follower()
        said = f.once()
        self.assertEqual(said.count("It is an earlier copy"), 2, said)
        self.assertEqual(taken(self.db), (100, 0))
        self.assertEqual(f.figure("earlier_bytes", self.log), cut)
        self.assertEqual(f.figure("earlier_bytes", packed), cut - len(lines(59, 1)))
        self.assertEqual(f.figure("earlier_copies_total"), 2)
        f.start()
        until(lambda: f.figure("earlier_copies_total") == 2, f.messages)
        self.log.write_bytes(data[:cut + 90])  # another one, and longer
        until(lambda: f.figure("earlier_bytes", self.log) == cut + 90, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(taken(self.db), (100, 0))

    def test_a_packed_log_is_taken_once_it_is_complete(self):
        data = lines(0, 2000).replace(b"agent", b"a" * 10000)  # more than one piece
        raw = gzip.compress(data, 1)
        packed = self.logs / "a.log.1.gz"
        for size in (1, 5, len(raw) // 2, len(raw) - 1):
            packed.write_bytes(raw[:size])
            said = self.follower().once(expect=1 if size > 1 else 0)
            self.assertEqual("is cut off" in said, size > 1, said)
            self.assertEqual(taken(self.db), (0, 0))
        f = self.follower().start()
        until(lambda: f.figure("logs") == 1, f.messages)
        packed.write_bytes(raw)
        self.takes(f, 2000)
        self.assertEqual(f.stop(), 0)
        (self.logs / "b.log").write_bytes(data + lines(2000, 2))
        self.follower().once()
        self.assertEqual(taken(self.db), (2002, 0))

    def test_a_packed_log_that_is_known_is_unpacked_once(self):
        data = unpackable_lines(12000)
        self.log.write_bytes(data)
        run("ingest", "--db", self.db, self.log)
        self.log.unlink()
        packed = self.logs / "a.log.1.gz"
        packed.write_bytes(gzip.compress(data, 1))
        f = self.follower().start()
        until(lambda: f.figure("logs") == 1 and f.figure("lag_bytes", packed) is None, f.messages)
        read = int(re.search(r"rchar: (\d+)", Path(f"/proc/{f.process.pid}/io").read_text()).group(1))
        self.assertEqual(f.stop(), 0)
        self.assertLess(packed.stat().st_size, read)
        self.assertLess(read, 1.5 * packed.stat().st_size)

    def test_a_packed_log_that_is_known_but_not_whole(self):
        self.log.write_bytes(lines(0, 2000))
        run("ingest", "--db", self.db, self.log)
        packed = self.logs / "a.log.1.gz"
        for cut in (4, 8, 300):  # in its trailer, before it, and in the lines
            packed.write_bytes(gzip.compress(lines(0, 2000))[:-cut])
            self.assertIn(f"{packed}: ", self.follower().once(expect=1), cut)
        packed.write_bytes(gzip.compress(lines(0, 2001)))
        self.assertEqual(self.follower().once(), "")
        self.assertEqual(taken(self.db), (2001, 0))

    def test_a_packed_log_still_being_written_says_nothing(self):
        raw = gzip.compress(lines(0, 400))
        step = len(raw) // 6 + 1
        with open(self.logs / "a.gz", "wb", buffering=0) as out:
            out.write(raw[:step])
            f = self.follower().start()
            for at in range(step, len(raw), step):
                out.write(raw[at:at + step])
                written = f.figure("written_seconds")
                looks = f.metrics.stat().st_mtime_ns if written else 0
                until(lambda was=looks: f.metrics.exists() and f.metrics.stat().st_mtime_ns != was,
                      "it looks")
        self.takes(f, 400)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages(), "")

    def test_a_packed_log_without_a_last_line_end(self):
        (self.logs / "a.gz").write_bytes(gzip.compress(lines(0, 3)[:-1]))
        self.follower().once()
        self.assertEqual(taken(self.db), (3, 0))
        self.follower().once()
        self.assertEqual(taken(self.db), (3, 0))

    # --- hostile files ---

    def test_one_bad_file_keeps_none_from_another(self):
        (self.logs / "dir").mkdir()
        (self.logs / "unreadable").symlink_to("/proc/self/mem")
        os.mkfifo(self.logs / "fifo")
        (self.logs / "other.xz").write_bytes(b"\xfd7zXZ\0" + bytes(100))
        (self.logs / "empty").write_bytes(b"")
        self.log.write_bytes(lines(0, 5))
        f = self.follower().start()
        self.takes(f, 5)
        until(lambda: f.figure("trouble", self.logs / "unreadable") == 1, f.messages)
        with open(self.log, "ab") as log:
            log.write(lines(5, 5))
        self.takes(f, 10)
        self.log.unlink()
        self.log.mkdir()
        until(lambda: f.figure("trouble", self.log) == 1, f.messages)
        self.assertEqual(f.stop(), 0)
        said = f.messages()
        for word in ("dir: It is not a regular file", "unreadable: Reading failed", "fifo: It is not a regular file",
                     "other.xz: It is a file of xz, which is not read", "a.log: It is not a regular file"):
            self.assertEqual(said.count(word), 1, said)
        self.assertEqual(run("follow", "--status", "--metrics", f.metrics, expect=1).returncode, 1)

    def test_what_cannot_be_looked_at_is_no_missing_file(self):
        (self.logs / "loop").symlink_to(self.logs / "loop")
        names = (self.logs / "loop", self.logs / "loop" / "a.log", self.logs / "loop" / "*.log")
        f = self.follower(*names)
        said = f.once(expect=1)
        for name in names:
            self.assertIn(f"{name}: It cannot be looked at: Too many levels of symbolic links.", said)
            self.assertEqual(f.figure("trouble", name), 1)
        self.assertNotIn("no such file", said)
        (self.logs / "loop").unlink()
        (self.logs / "loop").mkdir()
        (self.logs / "loop" / "a.log").write_bytes(lines(0, 3))
        f = self.follower(*names[1:])
        self.assertEqual(f.once(), "")
        self.assertIsNone(f.figure("trouble", names[2]))
        self.assertEqual(taken(self.db), (3, 0))

    def test_once_is_1_where_nothing_of_a_file_counts_as_ingest_is(self):
        good, bad, none = (self.logs / name for name in ("good.log", "bad.log", "none*.log"))
        good.write_bytes(lines(0, 3))
        bad.write_bytes(b"no line of ours\n" * 2)
        for _ in range(2):  # what is known to be refused is no better the second time
            said = self.follower(good, bad).once(expect=1)
            self.assertIn(f"{bad}: Every line was refused: is this the log's format?", said)
            self.assertNotIn(f"{good}: ", said)
            run("ingest", "--db", self.db, bad, expect=1)
        with open(bad, "ab") as log:
            log.write(lines(3, 1) + b"no line\n")
        self.assertNotIn("Every line was refused", self.follower(good, bad).once())
        self.assertIn(f"{none}: There is no such file.\n", self.follower(good, none).once(expect=1))
        self.assertEqual(self.follower(good).once(), "")

    def test_a_zone_that_no_catalogue_declares_is_said_once(self):
        request = b'192.0.2.7 - - [03/Nov/2026:10:00:00 +0000] "GET /%d HTTP/1.1" 200 51 "-" "agent"\n'
        logs = [self.logs / f"{number}.log" for number in range(3)]
        for number, log in enumerate(logs):
            log.write_bytes(request % number)
        said = self.follower(*logs, options=("--format", "combined", "--zone", "999", "--region", "GERMANY")).once()
        self.assertEqual(said.count("no catalogue declares pull zone 999"), 1, said)
        self.assertEqual(said.count("no region has the edge location GERMANY"), 1, said)

    def test_a_folder_that_goes_is_no_lost_log(self):
        (self.logs / "old").mkdir()
        f = self.follower().start()
        until(lambda: f.figure("trouble", self.logs / "old") == 1, f.messages)
        self.assertEqual(f.figure("lag_bytes", self.logs / "old"), 0)
        (self.logs / "old").rmdir()
        until(lambda: f.figure("logs") == 0, f.messages)
        self.assertEqual(f.figure("lost_logs_total"), 0)
        self.assertNotIn("It is gone", f.messages())
        self.assertEqual(f.stop(), 0)

    def test_a_log_that_a_wrong_clock_refuses_is_sent_again(self):
        for i, beside in enumerate((b"", b"junk\n" * 2, line(90, 101, 100).replace(b"|1793", b"|1783"))):
            self.log.with_suffix(f".{i}").write_bytes(beside + lines(10 * i, 5))
        f = self.follower(f"{self.log.with_suffix('')}.*")
        words = [TOLLBOOK, *map(str, f.words)]
        early = dict(ENVIRONMENT, TOLLBOOK_NOW="2026-10-01T00:00:00Z")
        done = subprocess.run([*words, "--once"], env=early, capture_output=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count(b"more than 48 hours ahead"), 3, done.stderr)
        self.assertEqual(taken(self.db), (0, 0))
        self.assertNotIn("ahead", f.once())
        self.assertEqual(taken(self.db), (16, 2))

    def test_lines_of_a_mebibyte_and_nuls_and_half_a_line(self):
        self.log.write_bytes(b"x" * (3 << 20))
        f = self.follower().start()
        until(lambda: f.figure("waiting_bytes", self.log) == 3 << 20, f.messages)
        with open(self.log, "ab", buffering=0) as log:
            log.write(b"y" * 1000)
            until(lambda: f.figure("waiting_bytes", self.log) == (3 << 20) + 1000, f.messages)
            log.write(b"\n" + lines(0, 2) + b"\0" * 5000 + b"\n" + lines(2, 2) + b"HIT|")
            self.takes(f, 6)
            until(lambda: f.figure("waiting_bytes", self.log) == 4, f.messages)
            log.write(lines(4, 1)[4:])
            self.takes(f, 7)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(taken(self.db), (5, 2))
        self.assertIn("nothing new", run("ingest", "--db", self.db, self.log).stderr.decode())

    def test_more_logs_than_descriptors(self):
        n = 10000 if LONG else 150
        for i in range(n):
            (self.logs / f"{i}.log").write_bytes(lines(i * 10, 1))
        f = self.follower()
        f.start(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90)))
        for some in range(0, n + 1, 50):  # each is a commit: many take long
            until(lambda some=some: sum(taken(self.db)) >= some, f.messages)
        for i in range(0, n, 7):
            (self.logs / f"{i}.log").rename(self.logs / f"{i}.log.1")
            with open(self.logs / f"{i}.log.1", "ab") as log:
                log.write(lines(i * 10 + 1, 1))
            (self.logs / f"{i}.log").write_bytes(lines(i * 10 + 2, 1))
        all_of_them = n + 2 * len(range(0, n, 7))
        for some in range(n, all_of_them, 50):
            until(lambda some=some: sum(taken(self.db)) >= some, f.messages)
        self.takes(f, all_of_them)
        until(lambda: f.figure("open_logs"), "figures")
        self.assertLessEqual(f.figure("open_logs"), 90 - 48)
        memory = int(Path(f"/proc/{f.process.pid}/statm").read_text().split()[1]) * 4096
        if not os.environ.get("TB_VARIANT"):
            self.assertLess(memory, 200 << 20)
        self.assertEqual(f.stop(), 0)
        # Nor does it ever run out of descriptors: that would be said.
        self.assertEqual(f.messages(), "")

    def test_the_last_look_takes_no_more_descriptors_than_others(self):
        """A signal ships what is new of more logs than may be open, and writes the last figures."""
        n = 100
        logs = [self.logs / f"{i}.log" for i in range(n)]
        for i, log in enumerate(logs):
            log.write_bytes(lines(i * 10, 1))
        f = self.follower(options=("--every", "60m"))
        f.start(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90)))
        self.takes(f, n)
        for i, log in enumerate(logs):
            with open(log, "ab") as more:
                more.write(lines(i * 10 + 1, 1))
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages(), "")
        shipped, refused = taken(self.db)
        self.assertEqual((f.figure("lines_total"), refused), (shipped, 0))
        self.assertGreater(shipped, n)  # its two seconds are enough for all of them on a quick machine
        f.once()
        self.assertEqual(taken(self.db), (2 * n, 0))

    def test_too_few_descriptors_are_said_once_and_cost_time_alone(self):
        """So few that there is none left for a log that is due."""
        for i in range(50):
            (self.logs / f"{i}.log").write_bytes(lines(i * 10, 1))
        f = self.follower()
        f.start(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40)))
        self.takes(f, 50)
        for i in range(50):
            with open(self.logs / f"{i}.log", "ab") as more:
                more.write(lines(i * 10 + 1, 1))
        self.takes(f, 100)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages().count("\n"), 1, f.messages())
        self.assertIn("Too many files are open: logs wait", f.messages())
        self.assertIn("ulimit -n", f.messages())

    def test_what_was_not_shipped_of_a_log_that_is_gone_is_said(self):
        """Of more logs than stay open, each with a line that has no end."""
        n = 80
        logs = [self.logs / f"{i}.log" for i in range(n)]
        for i, log in enumerate(logs):
            log.write_bytes(lines(i * 10, 1) + b"half")
        f = self.follower()
        f.start(before=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90)))
        self.takes(f, n)
        until(lambda: f.figure("waiting_bytes", logs[-1]) == 4, f.messages)
        for log in logs:
            log.unlink()
        until(lambda: f.figure("logs") is not None and f.figure("logs") <= 90 - 48, f.messages)
        self.assertEqual(f.stop(), 0)
        said = f.messages().splitlines()
        gone = [row for row in said if row.endswith("is gone, and 4 bytes at its end are a line without an end.")]
        self.assertGreaterEqual(len(gone), n - (90 - 48) - 16, said)
        self.assertEqual(f.figure("lost_logs_total"), 0)

    def test_figures_that_cannot_be_written_stop_nothing(self):
        f = self.follower()
        (self.folder / "figures.prom").mkdir()
        f.start()
        self.log.write_bytes(lines(0, 5))
        self.takes(f, 5)
        with open(self.log, "ab") as log:
            log.write(lines(5, 5))
        self.takes(f, 10)
        self.assertEqual(f.stop(), 0)
        self.assertGreaterEqual(f.messages().count("Is a directory"), 1)

    # --- how it ends ---

    def test_a_signal_ships_what_is_there(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                before = sum(taken(self.db))
                log = self.logs / f"{number}.log"
                log.write_bytes(lines(number * 100, 3))
                f = self.follower(log, options=("--every", "60m")).start()
                self.takes(f, before + 3)
                with open(log, "ab") as more:
                    more.write(lines(number * 100 + 3, 3))
                self.assertEqual(f.stop(number), 0)
                self.assertEqual(sum(taken(self.db)), before + 6)

    def test_many_bytes_do_not_wait(self):
        f = self.follower(self.log, options=("--every", "60m", "--bytes", "1000")).start()
        self.log.write_bytes(lines(0, 1))
        until(lambda: f.messages() or f.metrics.exists() or True, "")
        with open(self.log, "ab") as log:
            log.write(lines(1, 20))
        until(lambda: sum(taken(self.db)) == 21, f.messages)
        self.assertEqual(f.stop(), 0)

    def test_a_second_follower_of_the_database_is_told_what_to_do(self):
        self.log.write_bytes(lines(0, 3))
        f = self.follower().start()
        self.takes(f, 3)
        said = run("follow", "--db", self.db, "--once", self.log, expect=3).stderr.decode()
        self.assertIn(f"tollbook follow --server http://HOST:PORT --key KEY --once {self.log}", said)
        self.assertEqual(f.stop(), 0)

    def test_two_followers_of_one_log(self):
        rng = random.Random(SEED)
        writer = Writer(self.logs, rng)
        server = Server(log=None)
        self.addCleanup(server.close)
        both = [Follower(server.url, self.logs / "access.log*", key=server.keys["ingest"],
                         folder=self.logs.parent / name) for name in ("x", "y") if
                not (self.logs.parent / name).mkdir()]
        self.running += both
        for f in both:
            f.start()
        for _ in range(20):
            writer.put(200)
            some = sum(taken(server.db)) + 50
            until(lambda some=some: sum(taken(server.db)) >= min(some, writer.lines),
                  lambda: both[0].messages())
        writer.close()
        until(lambda: sum(taken(server.db)) >= writer.lines, lambda: both[0].messages())
        for f in both:
            self.assertEqual(f.stop(), 0)
        self.assertEqual(stored(server.db), (dict(writer.written), dict(writer.bytes)))

    def test_status(self):
        self.log.write_bytes(lines(0, 3) + b"half")
        f = self.follower()
        f.once()
        shown = run("follow", "--status", "--metrics", f.metrics).stdout.decode()
        self.assertRegex(shown, rf"(?m)^ +0 +0 +4  {self.log}$")
        self.assertIn("1 log, 3 lines shipped since the start, 0 refused; ", shown)
        late = dict(ENVIRONMENT, TOLLBOOK_NOW="2026-11-04T09:10:00Z")
        done = subprocess.run([TOLLBOOK, "follow", "--status", "--metrics", f.metrics], env=late,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"The figures are old", done.stderr)
        self.assertIn("--metrics FILE", run("follow", "--status", expect=2).stderr.decode())

    def test_refused_lines_are_told_of_at_each_power_of_ten(self):
        self.log.write_bytes(b"")  # or it may say that there is no such file yet
        f = self.follower()
        f.start()
        stray = b"no|log|line\n"
        for written in (1, 9, 10, 99, 100, 250):
            with self.log.open("ab") as out:
                out.write(stray * (written - (f.figure("rejected_lines_total") or 0)))
            until(lambda n=written: f.figure("rejected_lines_total") == n, f.messages)
        said = f.messages().splitlines()
        self.assertEqual([re.search(r"In all (\d+) of ", one)[1] for one in said], ["1", "10", "100"], said)
        self.assertIn(f"{self.log}: line 1, byte ", said[0])
        self.assertIn(f"{self.log}: line 10, byte ", said[1])
        self.assertTrue(said[0].endswith(". In all 1 of 1 line since the start was refused."), said)
        self.assertEqual(f.stop(), 0)
        shown = run("follow", "--status", "--metrics", f.metrics).stdout.decode()
        self.assertIn("1 log, 250 lines shipped since the start, 250 refused; ", shown)

    def test_what_is_asked_for_wrongly(self):
        for words, said in ((["x.log"], "--db FILE is missing (or --server URL"),
                            (["--db", self.db], "FILE-OR-GLOB... is missing"),
                            (["--db", self.db, "--server", "http://h", "x"], "exclude each other"),
                            (["--db", self.db, "--key-file", "k", "x"], "--key-file needs --server"),
                            (["--server", "http://h", "x"], "--server needs a key"),
                            (["--server", "http://h", "--key-file", "/dev/null", "x"], "It holds no key"),
                            (["--db", self.db, "--every", "1h", "x"], "like 500ms, 2s or 1m"),
                            (["--db", self.db, "--zone", "1", "x"], "Pipe lines name their zone"),
                            (["--db", self.db, ""], "is an empty text")):
            with self.subTest(words):
                self.assertIn(said, run("follow", *words, expect=2).stderr.decode())


class Otherwise(unittest.TestCase):
    """A log that is known counts once, whatever the options under which it comes again."""
    JSON = ["--format", "json", "--map", "time=time,status=status,bytes=bytes", "--zone", "101", "--region", "DE"]
    COMBINED = ["--format", "combined", "--zone", "101", "--region", "DE"]
    SAID = "taken in before, under another "
    OTHERS = {
        "region": (JSON, [*JSON[:-1], "NY"]),
        "no region": (JSON, JSON[:-2]),
        "zone": (JSON, [*JSON[:5], "102", *JSON[6:]]),
        "map": (JSON, [*JSON[:3], "time=time,status=status,bytes=sent", *JSON[4:]]),
        "format": (COMBINED, ["--format", 'apache:%h %l %u %t \\"%r\\" %>s %O \\"%{Referer}i\\" \\"%{User-Agent}i\\"',
                              *COMBINED[2:]]),
    }

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-follow-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server(log=None)
        self.addCleanup(self.server.close)
        self.db = self.folder / "t.db"
        run("init", "--db", self.db)
        self.number = 0

    def make_log(self, options, n=30):
        """Lines that no other log has."""
        text = ""
        for self.number in range(self.number + 1, self.number + n + 1):
            at, i = self.number % 60, self.number
            text += (f'192.0.2.7 - - [03/Nov/2026:12:00:{at:02} +0000] "GET /{i} HTTP/1.1" 200 {i} "-" "agent"\n'
                     if "combined" in options[1] or "apache" in options[1] else
                     f'{{"time":"2026-11-03T12:00:{at:02}Z","status":"200","bytes":{i},"sent":{i * 2}}}\n')
        path = self.folder / f"{self.number}.log"
        path.write_text(text)
        return path

    def places(self):
        key = self.folder / "key"
        key.write_text(self.server.keys["ingest"])
        key.chmod(0o600)
        return {"--db": (self.db, ["--db", self.db]),
                "--server": (self.server.db, ["--server", self.server.url, "--key-file", key])}

    def test_every_option_by_every_tool(self):
        for place, (db, words) in self.places().items():
            logs = {name: self.make_log(base) for name, (base, _) in self.OTHERS.items()}
            for base in (self.JSON, self.COMBINED):
                run("ingest", *words, *base, *(logs[name] for name, one in self.OTHERS.items() if one[0] is base))
            count = taken(db)
            self.assertEqual(count, (30 * len(logs), 0))
            for name, (_, other) in self.OTHERS.items():
                log, differs = logs[name], f"{self.SAID}{name.removeprefix('no ')}"
                with self.subTest(place=place, option=name):
                    new = self.make_log(other)
                    self.assertIn(differs, run("ingest", *words, *other, log, new, expect=1).stderr.decode())
                    count = (count[0] + 30, 0)  # the other log is taken
                    said = run("follow", "--once", *words, *other, log).stderr.decode()
                    self.assertIn(f"Its {log.stat().st_size} bytes were {differs}. They do not count again", said)
                    if place == "--server":
                        query = urllib.parse.urlencode({k[2:]: v for k, v in zip(other[::2], other[1::2])})
                        answer = self.server.ask("POST", f"/ingest/logs?{query}", "ingest", log.read_bytes())
                        self.assertEqual((answer.status, answer.error), (409, "ingest.other_options"))
                        self.assertIn("Idempotency-Key", answer.json()["Message"])
                    else:
                        said = run("ingest", *words, *other, "-", stdin=log.read_bytes(), expect=1).stderr.decode()
                        self.assertIn(differs, said)
                    self.assertEqual(taken(db), count)

    def test_a_live_log_whose_follower_is_given_another_region(self):
        """It is read in one way to its end, and the log that begins after it in the new one."""
        other = self.OTHERS["region"][1]
        for place, (db, words) in self.places().items():
            log, packed = self.make_log(self.JSON), self.folder / f"packed{place}.gz"
            packed.write_bytes(gzip.compress(log.read_bytes()))
            run("follow", "--once", *words, *self.JSON, log)
            with log.open("ab") as file:
                file.write(self.make_log(self.JSON).read_bytes())
            new = self.make_log(self.JSON)
            for _ in range(2):
                said = run("follow", "--once", *words, *other, log, packed, new, expect=1).stderr.decode()
                self.assertIn(f"{log}: Its first ", said)
                self.assertIn("what follows them is not taken. Take it in with the options of then", said)
                self.assertIn(f"{packed}: Its ", said)
                self.assertEqual(taken(db), (60, 0), place)
            run("follow", "--once", *words, *self.JSON, log, packed)
            self.assertEqual(taken(db), (90, 0), place)
            self.assertIn("They do not count again", run("follow", "--once", *words, *other, log).stderr.decode())
            self.assertIn("nothing new", run("ingest", *words, *self.JSON, log).stderr.decode())
        found = run("query", "--db", self.db, "--format", "csv", "SELECT region, sum(requests) FROM buckets GROUP BY 1")
        self.assertEqual(found.stdout.decode().split()[1:], ["DE,60", "NY,30"])

    def test_a_follower_that_runs_is_told_when_another_one_was_faster(self):
        """The log is not there yet when it starts, and old options take its beginning."""
        log, other = self.make_log(self.JSON), self.OTHERS["region"][1]
        text = log.read_bytes()
        run("follow", "--once", *self.places()["--server"][1], *self.JSON, log)
        f = Follower(self.server.url, log, key=self.server.keys["ingest"], options=("--every", "20ms", *other),
                     folder=self.folder).start()
        self.addCleanup(f.close)
        until(lambda: "They do not count again" in f.messages(), f.messages)
        with log.open("ab") as file:
            file.write(text.replace(b"200", b"404"))
        until(lambda: "what follows them is not taken" in f.messages(), f.messages)
        self.assertEqual(f.figure("trouble", log) or until(lambda: f.figure("trouble", log), f.messages), 1)
        run("follow", "--once", *self.places()["--server"][1], *self.JSON, log)
        log.rename(self.folder / "rotated")
        log.write_bytes(self.make_log(self.JSON).read_bytes())
        until(lambda: sum(taken(self.server.db)) >= 90, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(taken(self.server.db), (90, 0))

    def test_a_few_lines_under_other_options_do_not_open_the_rest(self):
        """Three lines were tried under another region; the whole log under it is still the known one."""
        log, other = self.make_log(self.JSON), self.OTHERS["region"][1]
        few = self.folder / "few.log"
        few.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:3]))
        run("ingest", "--db", self.db, *self.JSON, log)
        run("ingest", "--db", self.db, *other, few)
        before = stored(self.db)
        for words in (("ingest",), ("follow", "--once")):
            said = run(*words, "--db", self.db, *other, log, expect=None).stderr.decode()
            self.assertEqual(stored(self.db), before, f"{words}: {said}")

    def grow(self, n=3):
        """A log, line after line, by bytes: the first one is there before anything else."""
        lines = self.make_log(self.JSON, n).read_bytes().splitlines(keepends=True)
        return self.folder / f"grows{self.number}.log", lines

    def test_of_two_ways_that_take_a_log_as_it_grows_one_goes_on(self):
        """Each has its first line, by which it cannot be told; whoever comes to the second one first has the log."""
        other = self.OTHERS["region"][1]
        for place, (db, words) in self.places().items():
            for way in ("follow", "ingest"):
                with self.subTest(place=place, way=way):
                    log, lines = self.grow(12)
                    command = ("follow", "--once") if way == "follow" else ("ingest",)
                    log.write_bytes(lines[0])
                    before = taken(db)[0]
                    run(*command, *words, *self.JSON, log)
                    run(*command, *words, *other, log)
                    self.assertEqual(taken(db)[0], before + 2)
                    for n in (2, 3, 12):
                        log.write_bytes(b"".join(lines[:n]))
                        run(*command, *words, *self.JSON, log)
                        said = run(*command, *words, *other, log, expect=None).stderr.decode()
                        self.assertIn("taken in before", said)
                        self.assertEqual(taken(db)[0], before + 1 + n, said)

    def test_of_two_followers_that_run_one_goes_on(self):
        """Both have its first line. Their questions may cross, and then both count some more lines."""
        other = self.OTHERS["region"][1]
        log, lines = self.grow(300)
        followers = [Follower(self.server.url, log, key=self.server.keys["ingest"], folder=self.folder,
                              options=("--every", f"{every}ms", *options)) for every, options in ((20, self.JSON), (30, other))]
        said = lambda: followers[0].messages()  # both write there
        log.write_bytes(lines[0])
        for i, f in enumerate(followers):
            f.metrics = self.folder / f"{i}.prom"
            f.words[f.words.index("--metrics") + 1] = f.metrics
            f.start()
            self.addCleanup(f.close)
        until(lambda: taken(self.server.db)[0] == 2, said)
        n = 1
        while "what follows them is not taken" not in said():
            before = taken(self.server.db)[0]
            with log.open("ab") as file:
                file.write(lines[n])
            n += 1
            until(lambda: taken(self.server.db)[0] > before, said)
            until(lambda: all(f.figure("lag_bytes", log) == 0 or f.figure("trouble", log) for f in followers), said)
        before = taken(self.server.db)[0]
        for line in lines[n:n + 20]:
            with log.open("ab") as file:
                file.write(line)
        until(lambda: taken(self.server.db)[0] >= before + 20, said)
        self.assertEqual([f.stop() for f in followers], [0, 0])
        self.assertEqual(taken(self.server.db)[0], before + 20)

    def test_a_stream_that_is_confirmed_line_by_line(self):
        other = self.OTHERS["region"][1]
        for place, (db, words) in self.places().items():
            for n in (1, 12):  # its first line and all of it are known
                with self.subTest(place=place, known=n):
                    log, lines = self.grow(12)
                    log.write_bytes(b"".join(lines[:n]))
                    before = taken(db)[0]
                    run("ingest", *words, *self.JSON, log)
                    if n == 1:
                        log.write_bytes(b"".join(lines))
                        run("ingest", *words, *other, "--confirm", "-", stdin=b"".join(lines[:1]))
                        run("ingest", *words, *self.JSON, log)
                    said = run("ingest", *words, *other, "--confirm", "-", stdin=b"".join(lines), expect=1).stderr.decode()
                    self.assertIn(self.SAID, said)
                    again = lines[:-(-512 // len(lines[0]))]  # so much tells it from another log
                    self.assertLessEqual(taken(db)[0], before + 12 + len(again), said)

    def test_logs_that_begin_alike_by_chance(self):
        """Two followers; the logs part behind their second line."""
        other = self.OTHERS["zone"][1]
        for place, (db, words) in self.places().items():
            log, lines = self.grow(40)
            twin, others = self.grow(40)
            others[:2] = lines[:2]
            before = taken(db)[0]
            for n in (2, 3, 10, 40):
                log.write_bytes(b"".join(lines[:n]))
                twin.write_bytes(b"".join(others[:n]))
                for options, file in ((self.JSON, log), (other, twin)):
                    run("follow", "--once", *words, *options, file)
            self.assertEqual(taken(db)[0], before + 80, place)

    def test_the_way_out_of_a_log_that_begins_with_the_same_512_bytes(self):
        other = self.OTHERS["zone"][1]
        for place, (db, words) in self.places().items():
            log, lines = self.grow(40)
            twin, others = self.grow(40)
            others[:10] = lines[:10]
            twin.write_bytes(b"".join(others[:30]))
            before = taken(db)[0]
            for n in (10, 40):
                log.write_bytes(b"".join(lines[:n]))
                run("ingest", *words, *self.JSON, log)
            said = run("follow", "--once", *words, *other, twin, expect=1).stderr.decode()
            self.assertIn("take it in with `tollbook ingest --batch ID` and start again", said)
            self.assertEqual(taken(db)[0], before + 40)
            run("ingest", *words, *other, "--batch", f"twin {place}", twin)
            run("follow", "--once", *words, *other, twin)
            self.assertEqual(taken(db)[0], before + 70)
            for n in (31, 40):
                twin.write_bytes(b"".join(others[:n]))
                run("follow", "--once", *words, *other, twin)
                self.assertEqual(taken(db)[0], before + 40 + n)

    def test_half_a_line_behind_what_is_known_is_no_trouble(self):
        other = self.OTHERS["region"][1]
        for n in (3, 12):  # one that might be another log, and one that is not
            log, lines = self.grow(n + 1)
            log.write_bytes(b"".join(lines[:n]) + lines[n][:20])
            run("ingest", "--db", self.db, *self.JSON, log)
            before = taken(self.db)
            f = Follower(self.db, log, options=("--every", "20ms", *other), folder=self.folder).start()
            self.addCleanup(f.close)
            until(lambda: "They do not count again" in f.messages() and f.figure("waiting_bytes", log) == 20, f.messages)
            self.assertEqual(f.stop(), 0)
            self.assertNotIn("is not taken", f.messages())
            self.assertEqual(taken(self.db), before)

    def test_a_stream_under_other_options_ends(self):
        """Its writer goes on, and is not held up."""
        log, other = self.make_log(self.JSON), self.OTHERS["region"][1]
        run("ingest", "--db", self.db, *self.JSON, log)
        process = subprocess.Popen([TOLLBOOK, "ingest", "--db", self.db, *other, "--every", "1s", "-"],
                                   stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        process.stdin.write(log.read_bytes())
        process.stdin.flush()
        self.assertEqual(process.wait(PATIENCE), 1)
        said = process.stderr.read().decode()
        process.stdin.close()
        process.stderr.close()
        self.assertIn(self.SAID, said)
        self.assertEqual(taken(self.db)[0], 30)

    def test_the_way_out_is_to_withdraw_first(self):
        log, other = self.make_log(self.JSON), self.OTHERS["zone"][1]
        run("ingest", "--db", self.db, *self.JSON, log)
        self.assertIn("not with these options",
                      run("ingest", "--db", self.db, "--withdraw", *other, log, expect=1).stderr.decode())
        run("ingest", "--db", self.db, "--withdraw", *self.JSON, log)
        self.assertNotIn(self.SAID, run("follow", "--once", "--db", self.db, *other, log).stderr.decode())
        self.assertEqual(stored(self.db)[0], {102: 30})
        self.assertIn(self.SAID, run("ingest", "--db", self.db, *self.JSON, log, expect=1).stderr.decode())
        run("ingest", "--db", self.db, "--batch", "again", *self.JSON, log)
        self.assertEqual(stored(self.db)[0], {101: 30, 102: 30})
        run("verify", "--db", self.db)


class Remote(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-follow-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.log = self.folder / "a.log"

    def test_a_server_that_is_away(self):
        server = Server(log=None)
        key = server.keys["ingest"]
        self.assertEqual(server.stop(), 0)
        f = Follower(server.url, self.log, key=key, folder=self.folder).start()
        self.addCleanup(f.close)
        self.log.write_bytes(lines(0, 1000))
        until(lambda: f.figure("failures_total") and f.figure("failures_total") >= 2, f.messages)
        self.assertEqual(f.figure("up"), 0)
        with open(self.log, "ab", buffering=0) as log:
            self.log.rename(self.folder / "gone")
            log.write(lines(1000, 10))
        (self.folder / "gone").unlink()  # it is open, and nothing of it was shipped
        server.start()
        until(lambda: sum(taken(server.db)) >= 1010, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(taken(server.db), (1010, 0))
        self.assertEqual(f.messages().count("Check the URL"), 1, f.messages())
        self.assertEqual(f.messages().count("accepts data again"), 1)
        server.close()

    def test_a_server_restored_from_a_backup(self):
        """The backup has the first of two logs in part, and the second not at all."""
        second = self.folder / "b.log"
        for options in ((), ("--cells", "on")):
            with self.subTest(options):
                server = Server(*options, log=None)
                backup = self.folder / f"backup{len(options)}.db"
                self.log.write_bytes(lines(0, 10))
                second.unlink(missing_ok=True)
                f = Follower(server.url, self.log, second, key=server.keys["ingest"], folder=self.folder)
                self.addCleanup(f.close)
                f.start()
                until(lambda: sum(taken(server.db)) == 10, f.messages)
                run("backup", "--db", server.db, "--to", backup)
                second.write_bytes(lines(100, 7))
                for first, n in ((10, 5), (15, 5)):
                    with open(self.log, "ab") as log:
                        log.write(lines(first, n))
                    until(lambda: sum(taken(server.db)) == first + n + 7, f.messages)
                restore(server, backup)
                self.assertEqual(taken(server.db), (10, 0))
                with open(self.log, "ab") as log, open(second, "ab") as other:
                    log.write(lines(20, 3))
                    other.write(lines(107, 2))
                until(lambda: sum(taken(server.db)) == 32, f.messages)
                until(lambda: f.figure("lag_bytes", self.log) == 0 == f.figure("lag_bytes", second), f.messages)
                self.assertEqual(f.messages().count("restored from a backup"), 2, f.messages())
                until(lambda: f.figure("troubles_total") == 2, f.messages)
                until(lambda: f.figure("trouble", self.log) == 0, f.messages)
                with open(self.log, "ab") as log:
                    log.write(lines(23, 2))
                until(lambda: sum(taken(server.db)) == 34, f.messages)
                self.assertEqual(f.stop(), 0)
                self.assertEqual(stored(server.db), ({101: 34}, {101: 3400}))
                f.once()
                self.assertEqual(taken(server.db), (34, 0))
                f.said.unlink()
                server.close()

    def restored(self, trouble):
        """A follower whose server lost three logs that grow no more; of one, which was withdrawn, nothing is missing. trouble:
        what happens between."""
        server = Server(log=None)
        self.addCleanup(server.close)
        backup = self.folder / "backup.db"
        gone = self.folder / "w.log.1"
        gone.write_bytes(lines(500, 4))
        f = Follower(server.url, self.folder / "*.log*", key=server.keys["ingest"], folder=self.folder)
        self.addCleanup(f.close)
        f.start()
        until(lambda: sum(taken(server.db)) == 4, f.messages)
        run("ingest", "--withdraw", "--server", server.url, "--key", server.keys["operator"], gone)
        (self.folder / "a.log.1").write_bytes(lines(100, 5))
        until(lambda: sum(taken(server.db)) == 9, f.messages)
        run("backup", "--db", server.db, "--to", backup)
        with open(self.folder / "a.log.1", "ab") as log:
            log.write(lines(105, 3))
        (self.folder / "a.log.2.gz").write_bytes(gzip.compress(lines(200, 6)))
        (self.folder / "b.log.1").write_bytes(lines(300, 2))
        self.log.write_bytes(lines(0, 10))
        until(lambda: stored(server.db)[0] == {101: 26}, f.messages)
        trouble(server, f, lambda: restore(server, backup))
        until(lambda: stored(server.db)[0] == {101: 29}, f.messages)
        until(lambda: f.figure("up") == 1, f.messages)
        with open(self.log, "ab") as log:
            log.write(lines(13, 2))
        until(lambda: stored(server.db)[0][101] >= 31, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(stored(server.db), ({101: 31}, {101: 3100}))
        self.assertEqual(f.messages().count("Logs that grow no more"), 1, f.messages())
        run("verify", "--db", server.db)

    def append(self, data):
        with open(self.log, "ab") as log:
            log.write(data)

    def test_a_restored_server_and_logs_that_grow_no_more(self):
        self.restored(lambda server, f, again: (again(), self.append(lines(10, 3))))

    def test_a_restored_server_that_is_noticed_by_its_absence(self):
        """No log that the server had gets a line: the live one was rotated meanwhile."""
        def trouble(server, f, again):
            server.stop()
            self.log.rename(self.folder / "a.log.0")
            self.log.write_bytes(lines(10, 3))
            until(lambda: f.figure("failures_total"), f.messages)
            again()

        self.restored(trouble)

    def test_a_key_that_is_wrong_and_a_server_that_is_none(self):
        server = Server(log=None)
        self.log.write_bytes(lines(0, 10))
        f = Follower(server.url, self.log, key="no-such-key", folder=self.folder)
        self.assertIn("(HTTP 401)", f.once(expect=3))
        f = Follower(server.url + "/elsewhere", self.log, key=server.keys["ingest"], folder=self.folder)
        self.assertIn("(HTTP 404)", f.once(expect=3))
        server.close()

    def test_a_name_that_is_no_utf_8(self):
        server = Server(log=None)
        self.addCleanup(server.close)
        name = os.fsdecode(os.fsencode(self.folder) + b"/a\xff\n.log")
        with open(name, "wb") as log:
            log.write(lines(0, 5))
        f = Follower(server.url, name, key=server.keys["ingest"], folder=self.folder)
        self.assertEqual(run(*f.words, "--once").stderr, b"")
        self.assertEqual(taken(server.db), (5, 0))
        more = run("ingest", "--server", server.url, "--key-file", self.folder / "key", name).stderr.decode()
        self.assertIn("nothing new", more)

    def test_a_server_with_small_bodies(self):
        server = Server("--body-mb", "1", log=None)
        self.log.write_bytes(unpackable_lines(10000))
        f = Follower(server.url, self.log, key=server.keys["ingest"], folder=self.folder)
        self.assertEqual(f.once(), "")
        self.assertEqual(taken(server.db), (10000, 0))
        self.log.write_bytes(unpackable_lines(10000))
        run("ingest", "--server", server.url, "--key-file", self.folder / "key", self.log)
        self.assertEqual(taken(server.db), (20000, 0))
        server.close()

    def proxy(self, server, look):
        """The address of a proxy. look(command, path, body): a status and a body in place of the server's, or None."""
        class Proxy(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                said = look(self.command, self.path, body)
                if not said:
                    peer = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
                    peer.request(self.command, self.path, body, dict(self.headers))
                    got = peer.getresponse()
                    said = got.status, got.read()
                    peer.close()
                self.send_response(said[0])
                self.send_header("Content-Length", str(len(said[1])))
                self.end_headers()
                self.wfile.write(said[1])

            do_POST = do_GET

            def log_message(self, *_):
                pass

        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        return f"http://127.0.0.1:{proxy.server_port}"

    def add(self, first, n, log=None):
        with open(log or self.log, "ab") as file:
            file.write(lines(first, n))

    def test_ingest_of_a_log_that_grows_and_is_taken_meanwhile(self):
        server = Server(log=None)
        self.addCleanup(server.close)
        asked = []

        def look(command, path, _):
            if command == "GET" and "segments" in path and not asked:
                asked.append(path)
                self.add(13, 4)
                run("ingest", "--server", server.url, "--key", server.keys["ingest"], self.log)
                self.add(17, 2)
        self.add(0, 10)
        run("ingest", "--server", server.url, "--key", server.keys["ingest"], self.log)
        self.add(10, 3)
        run("ingest", "--server", self.proxy(server, look), "--key", server.keys["ingest"], self.log)
        self.assertEqual(len(asked), 1)
        self.assertEqual(taken(server.db), (19, 0))

    def test_another_sender_after_a_log_was_withdrawn_and_came_again(self):
        server = Server(log=None)
        self.addCleanup(server.close)
        words = ("ingest", "--server", server.url, "--key")
        self.add(0, 10)
        run(*words, server.keys["ingest"], self.log)
        run(*words, server.keys["operator"], "--withdraw", self.log)
        run(*words, server.keys["ingest"], self.log)
        held = threading.Event()
        go = threading.Event()

        def look(command, *_):
            if command == "POST" and not held.is_set():
                held.set()
                go.wait(PATIENCE)
        f = Follower(self.proxy(server, look), self.log, key=server.keys["ingest"], folder=self.folder).start()
        self.addCleanup(f.close)
        until(lambda: f.figure("lag_bytes", self.log) == 0, f.messages)
        self.add(10, 3)
        self.assertTrue(held.wait(PATIENCE))
        self.add(13, 2)
        run(*words, server.keys["ingest"], self.log)
        self.add(15, 5)
        go.set()
        until(lambda: stored(server.db)[0][101] == 20, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(f.messages(), "")
        self.assertEqual(stored(server.db)[0], {101: 20})

    def test_a_copy_that_ends_where_a_piece_ends_and_grows(self):
        for options in ((), ("--cells", "on")):
            with self.subTest(options):
                server = Server(*options, log=None)
                self.addCleanup(server.close)
                self.log.unlink(missing_ok=True)
                for first in (0, 50):
                    self.add(first, 50)
                    run("ingest", "--server", server.url, "--key", server.keys["ingest"], self.log)
                copy = self.folder / f"copy{len(options)}.log"
                f = Follower(server.url, copy, key=server.keys["ingest"], folder=self.folder)
                self.add(0, 50, copy)
                f.start()
                self.addCleanup(f.close)
                until(lambda: f.figure("lag_bytes", copy) == 0, f.messages)
                self.add(50, 25, copy)
                until(lambda: f.figure("earlier_bytes", copy), f.messages)
                self.add(75, 25, copy)
                until(lambda: f.figure("earlier_bytes", copy) == 0, f.messages)
                self.add(100, 1, copy)
                until(lambda: sum(taken(server.db)) >= 101, f.messages)
                self.assertEqual(f.stop(), 0)
                self.assertEqual(taken(server.db), (101, 0))

    def test_a_proxy_with_small_bodies(self):
        server = Server(log=None)
        refused = []

        def small(command, _, body):
            if command == "GET" or len(body) <= 1 << 20:
                return None
            refused.append(len(body))
            return 413, b"<html>413 Request Entity Too Large</html>"

        url = self.proxy(server, small)
        self.log.write_bytes(unpackable_lines(10000))
        f = Follower(url, self.log, key=server.keys["ingest"], folder=self.folder)
        self.assertEqual(f.once(), "")
        self.assertEqual(taken(server.db), (10000, 0))
        self.assertGreater(len(refused), 0)
        self.log.write_bytes(unpackable_lines(10000))
        run("ingest", "--server", url, "--key-file", self.folder / "key", self.log)
        self.assertEqual(taken(server.db), (20000, 0))
        server.close()

    def pretend(self, post):
        """The URL of a server that knows nothing, and answers POST with what post(path, body) says: a status, a body, and
        headers."""
        class Answers(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def answer(self, status, body, *fields):
                self.send_response_only(status)
                for name, value in (*fields, ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.answer(200, b'{"total":0,"segments":[],"rungs":[]}')

            def do_POST(self):
                self.answer(*post(self.path, self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *_):
                pass

        fake = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        threading.Thread(target=fake.serve_forever, daemon=True).start()
        self.addCleanup(fake.server_close)
        self.addCleanup(fake.shutdown)
        return f"http://127.0.0.1:{fake.server_port}"

    @unittest.skipIf(re.search(rb"__(asan|tsan)_init", Path(TOLLBOOK).read_bytes()), "a sanitizer wants to be the first library")
    def test_a_server_that_says_how_long(self):
        """Seconds, or a date by its own clock; the follower's runs twenty times as fast."""
        asked, faster = [], 20
        fields = [[("Retry-After", "50")],
                  [("Retry-After", "Wed, 21 Oct 2015 07:29:00 GMT"), ("Date", "Wed, 21 Oct 2015 07:28:00 GMT")],
                  [("Retry-After", "soon")]]

        def post(*_):
            asked.append(time.monotonic())
            return (503, b"{}", *fields[len(asked) - 1]) if len(asked) <= len(fields) else (200, TAKEN)

        self.log.write_bytes(lines(0, 4))
        f = Follower(self.pretend(post), self.log, key="k", folder=self.folder)
        self.addCleanup(f.close)
        f.start(faster=faster)
        until(lambda: f.figure("lines_total") == 4, f.messages)
        waits = [faster * (b - a) for a, b in zip(asked, asked[1:])]
        for wait, least in zip(waits, (50, 60, 1)):
            self.assertGreaterEqual(wait, least * 0.95)

    def test_a_server_that_asks_to_wait(self):
        asked = []

        def post(*piece):
            asked.append(piece)
            return (503, b"{}", ("Retry-After", "1")) if len(asked) < 3 else (200, TAKEN)

        self.log.write_bytes(lines(0, 4))
        f = Follower(self.pretend(post), self.log, key="k", folder=self.folder)
        self.addCleanup(f.close)
        f.start()
        until(lambda: f.figure("lines_total") == 4, f.messages)
        self.assertEqual(f.stop(), 0)
        self.assertEqual(len(asked), 3)
        self.assertEqual(len(set(asked)), 1)  # what was not acknowledged is sent again as it was
        self.assertEqual(f.figure("failures_total"), 2)

    def test_lines_of_now_do_not_wait_for_packed_logs(self):
        """Two packed logs of two pieces each; a line is written as soon as the first piece is there."""
        came = []

        def post(_, body):
            if not came:
                self.log.write_bytes(lines(0, 4))
            came.append(len(body))
            return 200, TAKEN

        for name in ("b.log.gz", "c.log.gz"):
            text = b"".join(b"%s %s\n" % (name.encode(), os.urandom(9000).hex().encode()) for _ in range(1000))
            (self.folder / name).write_bytes(gzip.compress(text, 0))
        f = Follower(self.pretend(post), self.folder / "*.log*", key="k", folder=self.folder)
        self.addCleanup(f.close)
        f.start()
        until(lambda: len(came) == 5, f.messages)
        self.assertEqual(came.index(len(lines(0, 4))), 1, came)
        self.assertEqual(f.stop(), 0)


if __name__ == "__main__":
    unittest.main()
