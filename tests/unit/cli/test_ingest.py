"""tollbook ingest: accounts of what was taken, repeats, growth, kills, names, refusals."""
import gzip
import random
import os
import re
import shutil
import signal
import subprocess
import unittest
from pathlib import Path
from tool import TOOL, Case, line, lines, random_seed

SEED = random_seed()


class Ingest(Case):
    def ingest(self, *words, db="t.db", **more):
        return self.run_tool("ingest", "--db", db, *words, **more)

    def test_counts_are_on_standard_error_and_add_up(self):
        log = self.write("a.log", lines(0, 10) + b"bad\n\n" + lines(10, 20))
        done = self.ingest(log)
        self.assertEqual(done.out, "")
        self.assertIn("a.log: 22 lines: 20 accepted, 2 rejected", done.err)
        self.assertIn("line is 11, byte ", done.err)
        self.assertEqual(self.total(), 20)
        self.assertEqual([r[0] for r in self.query("SELECT line FROM reject ORDER BY 1")],
                         ["11", "12"])
        self.verify()

    def test_the_same_log_again_in_any_wrapping_changes_nothing(self):
        content = lines(0, 500)
        self.ingest(self.write("a.log", content))
        before = self.usage()
        again = [self.ingest("a.log"), self.ingest("-", stdin=content),
                 self.ingest(self.write("a.gz", gzip.compress(content))),
                 self.ingest("-", stdin=gzip.compress(content)),
                 self.ingest("--threads", "1", "a.log", "a.log")]
        if shutil.which("zstd"):
            packed = subprocess.run(["zstd", "-qc"], input=content, capture_output=True).stdout
            again.append(self.ingest(self.write("a.zst", packed)))
            again.append(self.ingest("-", stdin=packed))
        for done in again:
            self.assertIn("nothing new: its 500 lines", done.err)
        self.assertEqual(self.usage(), before)

    def test_a_zstd_window_that_is_too_large_is_said(self):
        frame = b"\x28\xb5\x2f\xfd\x00" + bytes([(31 - 10) << 3]) + b"\x01\x00\x00"
        done = self.ingest(self.write("a.zst", frame), status=2)
        self.assertIn("a.zst: The zstd data needs a window larger than 128 MiB", done.err)

    def test_a_grown_log_adds_only_its_new_lines(self):
        log = self.write("a.log", lines(0, 300))
        self.ingest(log)
        self.write("a.log", lines(0, 400))
        done = self.ingest(log)
        self.assertIn("100 lines: 100 accepted", done.err)
        self.assertIn("300 lines before them", done.err)
        self.assertEqual(self.total(), 400)
        self.assertIn("100 accepted", self.ingest("-", stdin=lines(0, 500)).err)
        self.assertEqual(self.total(), 500)

    def test_an_unterminated_last_line_waits_or_is_taken(self):
        log = self.write("a.log", lines(0, 5)[:-1])
        done = self.ingest(log)
        self.assertIn("4 accepted", done.err)
        self.assertIn("waits", done.err)
        self.assertIn("--final", done.err)
        self.assertIn("1 accepted", self.ingest("--final", log).err)
        self.write("a.log", lines(0, 6))
        self.assertIn("1 line: 1 accepted", self.ingest(log).err)
        self.assertEqual(self.total(), 6)
        self.init("u.db")
        self.assertIn("5 accepted", self.ingest("-", db="u.db", stdin=lines(0, 5)[:-1]).err)

    def test_a_last_line_cut_and_refused_is_read_once_it_is_whole(self):
        content = lines(0, 30)
        log = self.write("a.log", content)
        for way, cut in enumerate((700, 1000, 1300, 1600)):
            db = f"{way}.db"
            self.init(db)
            part = self.write("part", content[:cut])
            packed = self.write("part.gz", gzip.compress(content[:cut]))
            first = [self.ingest("-", db=db, stdin=content[:cut]), self.ingest(packed, db=db),
                     self.ingest("--final", part, db=db), self.ingest("-", db=db, stdin=content[:cut])]
            self.assertIn(", 1 rejected", first[0].err)
            for again in first[1:]:
                self.assertIn("nothing new", again.err)
            done = self.ingest(log, db=db)
            self.assertIn(f"{30 - content[:cut].count(10)} accepted, 0 rejected", done.err)
            self.assertEqual(self.total(db), 30)
            self.verify(db)

    def test_an_earlier_copy_of_a_known_log_is_nothing_new(self):
        content = lines(0, 200)
        self.ingest(self.write("a.log", content))
        for size in (1000, 2000, 9999):
            for done in (self.ingest(self.write("part", content[:size])),
                         self.ingest("-", stdin=content[:size]),
                         self.ingest(self.write("part.gz", gzip.compress(content[:size])))):
                self.assertIn("nothing new: an earlier copy", done.err)
        self.assertEqual(self.total(), 200)
        part = self.write("part", content[:1000])
        self.assertIn("9 accepted", self.ingest("--batch", "b", part).err)
        self.verify()

    def test_a_wrong_clock_leaves_the_lines_to_the_right_one(self):
        log = self.write("a.log", lines(0, 20))
        done = self.ingest(log, now="2026-03-15T12:00:00Z", status=2)
        self.assertIn("48 hours ahead of this machine's clock (2026-03-15T12:00:00Z)", done.err)
        self.assertIn("20 accepted", self.ingest(log).err)

    def test_lines_that_a_wrong_clock_refused_alone_are_brought_again(self):
        """As docs/ingest.md says: lines of before stand between them, so nothing shows that the clock is behind."""
        late, log = lines(0, 10).splitlines(True), b""
        for i in range(10):
            log += late[i] + line(100 + i).encode().replace(b"|17", b"|16")
        early = {"now": "2026-03-15T12:00:00Z"}
        self.assertIn("20 lines: 10 accepted, 10 rejected", self.ingest(self.write("a.log", log), **early).err)
        self.assertIn("more than 48 hours ahead", self.query("SELECT reason FROM reject")[0][0])
        with open(Path(__file__).resolve().parents[3] / "docs/ingest.md", encoding="utf-8") as text:
            command = re.search(r"tollbook (query.*48 hours ahead.*) > again.log\n", text.read()).group(1)
        again = subprocess.run(["sh", "-ec", f"'{TOOL}' {command.replace('FILE', 't.db')}"], cwd=self.folder, check=True,
                               env=self.environment("2026-03-15T12:00:00Z"), capture_output=True).stdout
        self.assertEqual(again.count(b"\n"), 10)
        for said in ("10 accepted, 0 rejected", "nothing new", "nothing new"):
            self.assertIn(said, self.ingest(self.write("again.log", again)).err)
        self.assertEqual(self.total(), 20)
        self.assertIn("nothing new", self.ingest("a.log").err)
        for name in ("again.log", "a.log"):
            self.assertIn("withdrawn", self.ingest("--withdraw", name).err)
        self.assertEqual(self.total(), 0)
        self.assertIn("20 accepted", self.ingest("a.log").err)
        self.verify()

    def size_of(self, name):
        try:
            return (self.folder / name).stat().st_size
        except FileNotFoundError:  # a checkpoint may end it at any moment
            return 0

    def test_a_killed_run_again_completes_to_the_clean_result(self):
        rng = random.Random(SEED)
        content = b"".join(line(n, zone=100 + n % 300, edge=f"E{n % 7}").encode()
                           for n in range(60000)) + b"bad\n"
        log = self.write("a.log", content)
        self.ingest(log)
        clean, wal = self.usage(), "k.db-wal"
        for round_ in range(6):
            for name in self.folder.glob("k.db*"):
                name.unlink()
            self.init("k.db")
            if round_ % 2:
                process = self.start("ingest", "--db", "k.db", "--threads", 2, log)
            else:  # a stream that never ends by itself: killed while it reads
                process = self.start("ingest", "--db", "k.db", "-", stdin=subprocess.PIPE)
                process.stdin.write(content[:rng.randrange(len(content))])
            size = rng.randrange(1 << 20)
            self.wait_for(lambda: process.poll() is not None or round_ % 2 == 0 or self.size_of(wal) > size)
            process.kill()
            process.wait()
            done = self.ingest(log, db="k.db")
            self.assertRegex(done.err, "60001 lines")
            self.assertEqual(self.usage("k.db"), clean)
            self.assertEqual(len(self.query("SELECT 1 FROM reject", "k.db")), 1)
            self.verify("k.db")

    def test_a_signal_ends_the_run_and_the_same_command_goes_on(self):
        # The thread sanitizer holds a signal back while its thread waits for a mutex, which the thread
        # that reads may hold for as long as nothing comes.
        alone = ("--threads", 1) if os.environ.get("TB_VARIANT") == "tsan" else ()
        process = self.start("ingest", "--db", "t.db", *alone, "-", stdin=subprocess.PIPE)
        process.stdin.write(lines(0, 5000) + b"HIT|2")  # more than a pipe holds: it is reading
        process.stdin.flush()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 3)
        said = process.stderr.read().decode()
        self.assertIn("interrupted", said)
        self.assertIn("Run the same command again", said)
        self.ingest("-", stdin=lines(0, 6000))
        self.assertEqual(self.total(), 6000)
        self.assertEqual(self.query("SELECT * FROM reject"), [])

    def test_a_batch_name_names_exactly_its_bytes(self):
        log = self.write("a.log", lines(0, 50))
        self.ingest("--batch", "b 1", log)
        self.assertIn("nothing new", self.ingest("--batch", "b 1", log).err)
        self.write("a.log", lines(0, 49))
        done = self.ingest("--batch", "b 1", log, status=2)
        self.assertIn('"b 1" is known with other bytes', done.err)
        self.assertEqual(self.total(), 50)
        self.assertIn("49 accepted", self.ingest("--batch", "b 2", log).err)

    def test_stop_says_where_it_stands_and_goes_on_once_corrected(self):
        good = lines(0, 100)
        self.ingest(self.write("a.log", good))
        self.write("a.log", good + lines(100, 150) + b"bad|line\n" + lines(151, 200))
        done = self.ingest("--on-error", "stop", "a.log", status=2)
        self.assertRegex(done.err, r"a\.log: line 151, byte \d+: ")
        self.assertIn("lines 1 to 100 are in the database", done.err)
        self.assertIn("--on-error skip", done.err)
        self.assertEqual(self.total(), 100)
        self.write("a.log", lines(0, 200))
        self.assertIn("100 accepted", self.ingest("--on-error", "stop", "a.log").err)
        self.assertEqual(self.total(), 200)

    def test_several_logs_are_taken_in_order_and_the_first_failure_ends(self):
        self.write("a.log", lines(0, 10))
        self.write("b.log", lines(10, 30))
        done = self.ingest("a.log", "b.log")
        self.assertIn("in all 30 lines: 30 accepted, 0 rejected", done.err)
        self.write("c.log", lines(30, 40))
        done = self.ingest("a.log", "missing.log", "c.log", status=2)
        self.assertIn("missing.log: It cannot be opened", done.err)
        self.assertEqual(self.total(), 30)

    COMBINED = '192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 "-" "agent"\n'

    def test_a_log_of_which_every_line_was_refused_fails_and_names_what_fits(self):
        combined = self.write("c.log", self.COMBINED * 1000)
        done = self.ingest(combined, status=1)
        self.assertIn("c.log: 1000 lines: 0 accepted, 1000 rejected", done.err)
        self.assertIn("c.log: every line was refused. 256 of the 256 looked at are lines of the combined "
                      "format. Take them with: tollbook ingest --db t.db --format combined --zone ID --region CODE c.log\n",
                      done.err)
        self.assertIn("nothing new: its 1000 lines were refused before",
                      self.ingest(combined, status=1).err)
        self.assertIn("1000 accepted", self.ingest("--format", "combined", "--zone", "7", "--region",
                                                   "NY", combined).err)
        packed = [self.write("p.gz", gzip.compress(lines(0, 20))), self.write("p.log", lines(20, 40))]
        for path in packed:
            self.assertIn(f"tollbook ingest --db t.db --format pipe {path}\n", self.ingest(
                "--format", "combined", "--zone", "7", "--region", "NY", path, status=1).err)
        rows = b'{"zone":101,"hour":"2026-11-20T10:00:00Z","region":"DE","requests":5}\n' * 3
        self.assertIn("Take them with: tollbook import --db t.db -\n", self.ingest("-", stdin=rows, status=1).err)
        done = self.ingest(self.write("garbage", b"hello\n\n"), status=1)
        self.assertIn("every line was refused, and no other format takes most of them", done.err)
        self.assertEqual(self.ingest(self.write("empty", b"")).returncode, 0)
        self.verify()

    def test_all_inputs_are_taken_and_the_refused_one_is_the_exit_status(self):
        self.write("a.log", lines(0, 10))
        self.write("bad.log", "no line\n")
        self.write("b.log", lines(10, 30))
        done = self.ingest("a.log", "bad.log", "b.log", status=1)
        self.assertIn("in all 31 lines: 30 accepted, 1 rejected", done.err)
        self.assertEqual(self.total(), 30)
        self.ingest("bad.log", "missing.log", "a.log", status=2)

    def test_what_a_log_has_grown_by_is_judged_by_itself(self):
        self.ingest(self.write("a.log", lines(0, 10)))
        self.write("a.log", lines(0, 10) + self.COMBINED.encode() * 5)
        done = self.ingest("a.log", status=1)
        self.assertIn("5 of the 5 looked at are lines of the combined format", done.err)
        self.assertIn("nothing new: its 15 lines were taken before", self.ingest("a.log").err)
        self.write("b.log", lines(10, 20))
        self.ingest("b.log")
        self.write("b.log", lines(10, 20) + b"HIT|20")
        self.assertIn("1 rejected", self.ingest("--final", "b.log").err)  # it is read anew later

    def test_most_lines_refused_are_a_warning(self):
        done = self.ingest(self.write("a.log", lines(0, 4) + self.COMBINED.encode() * 9))
        self.assertIn("a.log: most lines were refused. 9 of the 9 looked at", done.err)
        done = self.ingest(self.write("b.log", lines(10, 20) + self.COMBINED.encode() * 2))
        self.assertNotIn("looked at", done.err)

    def test_stop_names_what_fits_too(self):
        done = self.ingest("--on-error", "stop", self.write("c.log", self.COMBINED), status=2)
        self.assertIn("that line is one of lines of the combined format", done.err)

    def test_a_pipe_of_a_client_s_does_not_keep_a_line_from_being_counted(self):
        agents = [b"a|b", b"a|SG|b", b"|", b"a\\|b", b"\\x7c", b"a|" + b"%032x" % 7 + b"|US|5"]
        content = b"".join(lines(n, n + 1).replace(b"|agent|", b"|" + agent + b"|")
                           for n, agent in enumerate(agents))
        done = self.ingest(self.write("a.log", content))
        self.assertIn("a.log: 6 lines: 6 accepted, 2 of them with columns that could not be told apart, "
                      "0 rejected.", done.err)
        self.assertEqual(self.query("SELECT region, sum(requests), sum(bytes) FROM buckets GROUP BY 1 "
                                    "ORDER BY 1"), [["DE", "5", "5014"], ["SG", "1", "1001"]])
        self.assertEqual(self.query("SELECT sums->>'$.ambiguous' FROM segment"), [["2"]])
        self.assertIn("nothing new", self.ingest("a.log").err)
        self.verify()

    def zones(self):
        """101 hides the end of addresses, 102 all of them, 103 nothing."""
        self.apply('{"accounts":[{"id":1,"name":"acme"}],"zones":['
                   '{"id":101,"account":1,"name":"a"},'
                   '{"id":102,"account":1,"name":"b","settings":{"LogAnonymizationType":"Drop"}},'
                   '{"id":103,"account":1,"name":"c","settings":{"LoggingIPAnonymizationEnabled":false}}]}')

    def test_refused_lines_hide_addresses_as_their_zone_does(self):
        self.zones()
        bad = "".join(line(n, zone=zone).replace("|192.0.2.1|", f"|{address}|").replace("|DE\n", "|D?\n")
                      for n, (zone, address) in enumerate([
                          (101, "192.0.2.77"), (102, "192.0.2.77"), (103, "192.0.2.77"),
                          (104, "192.0.2.77"), (101, "2001:db8:1:2:3:4:5:6"), (102, "2001:db8::6")]))
        bad += self.COMBINED + "HIT|200|x|1|103|192.0.2.77|\n"
        self.ingest(self.write("a.log", bad), status=1)
        shown = [row[0] for row in self.query("SELECT CAST(text AS TEXT) FROM reject ORDER BY line")]
        for text, address in zip(shown, ["192.0.2.0", "0.0.0.0", "192.0.2.77", "192.0.2.0",
                                         "2001:db8:1:2::", "::"]):
            self.assertEqual(text.split("|")[5], address)
        self.assertTrue(shown[6].startswith("0.0.0.0 - - [20/Nov/2026:10:00:00 +0000]"), shown[6])
        self.assertIn("|0.0.0.0|", shown[7])

    def test_the_text_of_refused_lines_goes_after_72_hours(self):
        self.ingest(self.write("a.log", "secret-one\n" + lines(0, 1).decode()), now="2026-11-20T12:00:00Z")
        self.ingest(self.write("b.log", "secret-two\n" + lines(1, 2).decode()), now="2026-11-22T12:00:00Z")
        kept = "SELECT segment, line, byte, reason, CAST(text AS TEXT) FROM reject ORDER BY 1"
        why = "wrong number of columns: 12 or 15 expected"
        self.ingest(self.write("c.log", lines(2, 3)), now="2026-11-23T11:59:59Z")
        self.assertEqual(len([row for row in self.query(kept) if row[4]]), 2)
        self.verify()
        self.ingest(self.write("d.log", lines(3, 4)), now="2026-11-23T12:00:00Z")
        self.assertEqual(self.query(kept), [["1", "1", "11", why, ""], ["2", "1", "11", why, "secret-two"]])
        content = b"".join(path.read_bytes() for path in self.folder.glob("t.db*"))
        self.assertNotIn(b"secret-one", content)
        self.assertIn(b"secret-two", content)
        self.run_tool("import", "--db", "t.db", self.write("e", b'{"zone":1,"hour":"2026-11-20T10:00:00Z",'
                      b'"region":"DE","requests":5}\n'), now="2026-11-25T12:00:00Z")
        self.assertEqual([row[4] for row in self.query(kept)], ["", ""])
        self.assertEqual(self.query("SELECT * FROM reject_due"), [])
        self.verify()

    def test_a_clock_that_was_ahead_does_not_keep_text_longer(self):
        self.ingest(self.write("a.log", "secret-one\n"), status=1, now="2031-01-01T00:00:00Z")
        self.ingest(self.write("b.log", lines(1, 2)))
        self.assertEqual(self.query("SELECT length(text) FROM reject"), [["0"]])
        self.verify()

    def test_damaged_compressed_input_names_the_byte(self):
        packed = gzip.compress(lines(0, 1000))
        done = self.ingest(self.write("a.gz", packed[:-20]), status=2)
        self.assertRegex(done.err, rf"a\.gz: byte {len(packed) - 19}: The gzip data is cut off")
        self.assertEqual(self.total(), 0)

    def test_combined_lines_take_zone_and_edge_from_the_call(self):
        text = ('192.0.2.7 - - [20/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 51 "-" "agent"\n'
                '192.0.2.7 - - [20/Nov/2026:10:00:01 +0000] "GET /b HTTP/1.1" 404 9 "-" "agent"\n')
        words = ["--format", "combined", "--zone", "7", "--region", "NY", self.write("a.log", text)]
        self.assertIn("2 accepted", self.ingest(*words).err)
        self.assertIn("nothing new", self.ingest(*words).err)
        words[3] = "8"
        self.assertIn("Its first 159 bytes were taken in before, under another zone: ",
                      self.ingest(*words, status=1).err)
        self.assertIn("2 accepted", self.ingest("--batch", "again", *words).err)
        self.assertEqual(self.query("SELECT zone, region, sum(requests), sum(bytes) FROM buckets "
                                    "GROUP BY 1, 2 ORDER BY 1"),
                         [["7", "NY", "2", "60"], ["8", "NY", "2", "60"]])

    def test_the_lock_names_its_holder_and_the_form_that_works_beside_it(self):
        first = self.start("ingest", "--db", "t.db", "-", stdin=subprocess.PIPE)
        self.wait_for(lambda: (self.folder / "t.db.lock").exists() and
                      str(first.pid) in (self.folder / "t.db.lock").read_text())
        self.write("it's.log", lines(0, 10))
        done = self.ingest("--on-error", "stop", "it's.log", status=3)
        self.assertIn(str(first.pid), done.err)
        self.assertIn("tollbook ingest --server http://HOST:PORT --key KEY --on-error stop "
                      "'it'\\''s.log'", done.err)

    def test_progress_is_shown_on_standard_error_alone(self):
        self.write("a.log", lines(0, 10))
        self.assertEqual(self.ingest("--progress", "a.log").out, "")

    @unittest.skipIf(os.environ.get("TB_VARIANT"), "a sanitizer takes memory of its own")
    def test_memory_is_bounded_whatever_the_log(self):
        block = lines(0, 20000)
        process = self.start("ingest", "--db", "t.db", "--threads", 2, "-", stdin=subprocess.PIPE)
        for _ in range(64):
            process.stdin.write(block)
        process.stdin.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = status
        self.assertEqual(status, 0)
        self.assertEqual(self.total(), 64 * 20000)
        self.assertLess(used.ru_maxrss, 64 << 10)


if __name__ == "__main__":
    unittest.main()
