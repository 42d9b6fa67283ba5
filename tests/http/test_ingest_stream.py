#!/usr/bin/env python3
"""ingest -: a stream without an end is stored as it comes, and answered where that is asked for."""
import os
import random
import re
import select
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Server, hit, random_seed, run
from follower import line, restore, stored, taken, until

MIB = 1 << 20
SEED = random_seed()


def lines(first, n, size=100):
    return b"".join(line(first + i, 101, size) for i in range(n))


class Stream(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-stream-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.server = Server(log=None)
        self.key = self.folder / "key"
        self.key.write_text(self.server.keys["ingest"] + "\n")
        self.key.chmod(0o600)

    def tearDown(self):
        self.server.close()

    def kill_server(self):
        self.server.process.kill()
        self.server.process.wait()
        self.server.log_file.close()

    def start(self, *options):
        self.process = subprocess.Popen(
            [TOLLBOOK, "ingest", "--server", self.server.url, "--key-file", self.key, *options, "-"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(self.close)
        return self.process

    def close(self):
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()

    def write(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end(self, status=0):
        out, said = self.process.communicate(timeout=PATIENCE)
        self.assertEqual(self.process.returncode, status, said)
        return out, said.decode()

    def takes(self, n):
        until(lambda: sum(taken(self.server.db)) >= n, lambda: str(taken(self.server.db)))
        self.assertEqual(sum(taken(self.server.db)), n)

    def questions(self):
        """How often the server was asked what it knows."""
        text = self.server.ask("GET", "/metrics").body.decode()
        return sum(int(value) for value in
                   re.findall(r'^tollbook_requests_total\{route="[^"]*segments[^"]*".* (\d+)$', text, re.M))

    def file(self, data):
        path = self.folder / "file.log"
        path.write_bytes(data)
        return run("ingest", "--server", self.server.url, "--key-file", self.key, path).stderr.decode()

    def test_what_has_come_is_stored(self):
        data = lines(0, 10)
        self.start("--every", "20ms")
        self.write(data[:450])
        self.takes(data[:450].count(b"\n"))
        self.write(data[450:])
        self.takes(10)
        self.write(lines(10, 1)[:-1])
        _, said = self.end()
        self.assertIn("11 lines: 11 accepted, 0 rejected", said)
        self.assertIn("nothing new", self.file(lines(0, 11)))  # it began with its file's first byte
        self.assertEqual(taken(self.server.db), (11, 0))

    def test_bytes_and_a_signal(self):
        self.start("--every", "60m", "--bytes", "2000")
        self.write(lines(0, 5))
        self.write(lines(5, 30))
        until(lambda: sum(taken(self.server.db)) >= 20, "stored")
        self.write(lines(35, 2) + b"half")
        until(lambda: sum(taken(self.server.db)) >= 20, "stored")
        self.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.process.wait(PATIENCE), 0)
        self.assertGreaterEqual(sum(taken(self.server.db)), 35)

    def test_a_stream_that_begins_like_a_known_log(self):
        self.file(lines(0, 100))
        before = self.questions()
        self.start("--every", "20ms")
        self.write(lines(0, 60))
        until(lambda: self.questions() > before, "it asks what is known")
        self.write(lines(60, 60))
        self.takes(120)
        _, said = self.end()
        self.assertIn("its first 100 lines were taken before", said)
        self.assertEqual(stored(self.server.db), ({101: 120}, {101: 12000}))

    def test_a_stream_that_another_sender_overtakes(self):
        """Behind what it shipped itself, others took more than has come of it."""
        self.start("--every", "20ms")
        self.write(lines(0, 100))
        self.takes(100)
        self.file(lines(0, 150))
        self.write(lines(100, 20))
        # Two seconds later it is no beginning any more that might be told apart soon.
        self.assertTrue(select.select([self.process.stderr], [], [], PATIENCE)[0])
        self.write(lines(120, 40))
        self.takes(160)
        _, said = self.end()
        self.assertIn("its first 50 lines were taken before", said)
        self.assertEqual(stored(self.server.db), ({101: 160}, {101: 16000}))

    def test_a_stream_that_only_begins_like_a_known_log(self):
        self.file(lines(0, 100))
        self.start("--every", "20ms")
        self.write(lines(0, 60))
        self.write(lines(1000, 100))
        self.takes(260)
        self.end()
        self.assertEqual(taken(self.server.db), (260, 0))

    def greeted(self, n):
        """n lines behind the first one of the log that is known."""
        self.file(lines(0, 100))
        return lines(0, 1) + lines(1000, n - 1)

    def test_a_stream_with_the_first_line_of_a_known_log_waits_for_nothing_more(self):
        data = self.greeted(5)
        self.start("--every", "20ms")
        self.write(data)
        self.takes(105)
        self.write(lines(1004, 2))
        self.takes(107)
        _, said = self.end()
        self.assertIn("It begins like a log that is known, and is another one", said)
        self.assertIn("7 lines: 7 accepted, 0 rejected", said)
        self.assertIn("nothing new", self.file(data + lines(1004, 2)))

    def stop_once_asked(self, data):
        before = self.questions()
        self.start("--every", "60m", "--bytes", "1")
        self.write(data)
        until(lambda: self.questions() > before, "it asks what is known")
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        return self.end()[1]

    def test_a_signal_while_it_may_be_known(self):
        said = self.stop_once_asked(self.greeted(20) + b"half")
        self.assertIn("20 lines: 20 accepted, 0 rejected", said)
        self.assertEqual(taken(self.server.db), (120, 0))

    def test_a_copy_of_a_known_log_that_is_cut_off_is_not_counted_again(self):
        self.file(lines(0, 100))
        self.assertIn("its last 60 lines were not counted: a known log has the same first 4",
                      self.stop_once_asked(lines(0, 60)))
        self.start("--every", "20ms")
        self.write(lines(0, 70) + b"half a line")
        self.assertIn("its last 71 lines were not counted", self.end()[1])
        self.assertEqual(taken(self.server.db), (100, 0))

    def test_a_copy_of_a_known_stream(self):
        self.start("--every", "60m")
        self.write(lines(0, 100))
        self.end()
        self.assertIn("nothing new", self.file(lines(0, 60)))
        self.assertIn("its last 60 lines were not counted", self.stop_once_asked(lines(0, 60)))
        self.assertEqual(taken(self.server.db), (100, 0))

    def test_a_server_that_goes_away_and_comes_back(self):
        self.start("--every", "20ms")
        self.write(lines(0, 10))
        self.takes(10)
        self.kill_server()
        self.write(lines(10, 10))
        self.server.start()
        self.takes(20)
        self.end()

    def test_a_server_restored_from_a_backup(self):
        """What it lacks came once; all that waits and comes is stored, and the rest is brought by a file."""
        backup, long = self.folder / "backup.db", b"x" * (2 << 20) + b"\n"
        self.start("--every", "20ms")
        self.write(lines(0, 10))
        self.takes(10)
        run("backup", "--db", self.server.db, "--to", backup)
        self.write(lines(10, 4) + long + lines(14, 6))
        self.takes(21)
        base = len(lines(0, 20) + long)
        restore(self.server, backup)
        self.write(lines(20, 5))
        self.takes(15)
        self.write(lines(25, 2) + long + lines(27, 2) + lines(29, 1)[:-1])
        _, said = self.end(status=1)
        self.assertEqual(taken(self.server.db), (20, 1))
        self.assertEqual(said.count("restored from a backup"), 1, said)
        self.assertIn(f"from its first byte on: head -c {base} FILE | tollbook ingest --server {self.server.url} --key-file ", said)
        self.assertNotIn("batch id", said)
        whole = lines(0, 14) + long + lines(14, 13) + long + lines(27, 3)
        self.file(whole[:base])
        self.assertEqual(taken(self.server.db), (30, 2))
        self.assertEqual(stored(self.server.db), ({101: 30}, {101: 3000}))

    def test_a_restored_server_and_the_last_line(self):
        backup = self.folder / "backup.db"
        run("backup", "--db", self.server.db, "--to", backup)
        self.start("--every", "20ms")
        self.write(lines(0, 10))
        self.takes(10)
        restore(self.server, backup)
        self.write(lines(10, 1)[:-1])
        _, said = self.end(status=1)
        self.assertIn("restored from a backup", said)
        self.assertEqual(taken(self.server.db), (1, 0))

    def test_a_restored_server_and_answers(self):
        backup = self.folder / "backup.db"
        run("backup", "--db", self.server.db, "--to", backup)
        self.start("--confirm")
        self.answers(1)
        for i in range(3):
            self.write(lines(i, 1))
            self.assertEqual(self.answers(1), ["OK"])
        restore(self.server, backup)
        self.write(b"BEGIN TRANSACTION\n" + lines(3, 2) + b"COMMIT TRANSACTION\n")
        self.assertEqual(self.answers(4), ["OK", "DEFER_COMMIT", "DEFER_COMMIT", "OK"])
        self.assertEqual(taken(self.server.db), (2, 0))
        self.write(lines(5, 1))
        self.assertEqual(self.answers(1), ["OK"])
        _, said = self.end(status=1)
        self.assertEqual(said.count("restored from a backup"), 1, said)
        self.assertEqual(taken(self.server.db), (3, 0))

    def withdraw(self, data):
        """All that was taken of this."""
        path = self.folder / "withdrawn.log"
        path.write_bytes(data)
        run("ingest", "--withdraw", "--server", self.server.url, "--key", self.server.keys["operator"], path)

    def bring_back(self, whole, said):
        """The commands that the stream has said, of a file that has it from its first byte on."""
        path = self.folder / "whole.log"
        path.write_bytes(whole)
        commands = re.findall(r"from its first byte on: ([^\n]* FILE [^\n]*)", said)
        for command in commands:
            subprocess.run(["sh", "-ec", command.replace(" FILE ", f" '{path}' ").replace("| tollbook", f"| '{TOLLBOOK}'")],
                           check=True, env=ENVIRONMENT, capture_output=True)
        return len(commands)

    def test_a_stream_that_was_withdrawn(self):
        """What was taken back stays so until somebody brings it; what comes is counted. Twice in one stream."""
        long = b"x" * (2 << 20) + b"\n"
        parts = [lines(0, 10), lines(10, 4) + long + lines(14, 3), lines(17, 5)]
        self.start("--every", "20ms")
        self.write(parts[0])
        self.takes(10)
        self.withdraw(parts[0])
        self.write(parts[1])
        self.takes(18)  # ever; ten of them are no more
        self.assertEqual(stored(self.server.db)[0], {101: 7})
        self.withdraw(parts[1])
        self.write(parts[2][:-1])
        _, said = self.end()
        self.assertEqual(stored(self.server.db), ({101: 5}, {101: 500}))
        self.assertEqual(said.count("withdrawn"), 2, said)
        self.assertNotIn("another one", said)
        self.assertNotIn("backup", said)
        self.assertEqual(self.bring_back(b"".join(parts), said), 2)
        self.assertEqual(stored(self.server.db), ({101: 22}, {101: 2200}))

    def test_a_withdrawn_stream_and_answers(self):
        self.start("--confirm")
        self.answers(1)
        for i in range(3):
            self.write(lines(i, 1))
            self.assertEqual(self.answers(1), ["OK"])
        self.withdraw(lines(0, 3))
        self.write(b"BEGIN TRANSACTION\n" + lines(3, 2) + b"COMMIT TRANSACTION\n")
        self.assertEqual(self.answers(4), ["OK", "DEFER_COMMIT", "DEFER_COMMIT", "OK"])
        _, said = self.end()
        self.assertEqual(said.count("withdrawn"), 1, said)
        self.assertEqual(stored(self.server.db), ({101: 2}, {101: 200}))

    def taken_in_again(self, lose):
        """From a file that has more by then than the stream has sent: that is met, and nothing counts twice."""
        self.start("--every", "60m", "--bytes", "1")
        self.write(lines(0, 10))
        self.takes(10)
        lose()
        self.file(lines(0, 14))
        self.write(lines(10, 6))
        _, said = self.end()
        self.assertEqual(stored(self.server.db), ({101: 16}, {101: 1600}))
        self.assertNotIn("as a new log", said)

    def test_withdrawn_and_taken_in_again_from_a_file(self):
        self.taken_in_again(lambda: self.withdraw(lines(0, 10)))

    def test_restored_and_taken_in_again_from_a_file(self):
        backup = self.folder / "backup.db"
        run("backup", "--db", self.server.db, "--to", backup)
        self.taken_in_again(lambda: restore(self.server, backup))

    def test_restored_twice(self):
        """Each time the command names what was lost then."""
        backups = [self.folder / f"backup{i}.db" for i in range(2)]
        self.start("--every", "20ms")
        for i, backup in enumerate(backups):
            self.write(lines(10 * i, 4))
            until(lambda n=4 * i + 4: stored(self.server.db)[0].get(101) == n, lambda: str(taken(self.server.db)))
            run("backup", "--db", self.server.db, "--to", backup)
            self.write(lines(10 * i + 4, 6))
            until(lambda n=4 * i + 10: stored(self.server.db)[0].get(101) == n, lambda: str(taken(self.server.db)))
            restore(self.server, backup)
        self.write(lines(20, 2))
        _, said = self.end(status=1)
        self.assertEqual(self.bring_back(lines(0, 22), said), 2)
        self.assertEqual(stored(self.server.db), ({101: 22}, {101: 2200}))

    def test_lines_that_are_too_long(self):
        self.start("--every", "20ms")
        self.write(lines(0, 1) + b"x" * (5 << 20) + b"\n" + lines(1, 1))
        self.takes(3)
        self.end()
        self.assertEqual(taken(self.server.db), (2, 1))
        self.assertIn("nothing new", self.file(lines(0, 1) + b"x" * (5 << 20) + b"\n" + lines(1, 1)))

    def test_a_line_too_long_in_what_is_known(self):
        data = lines(0, 2) + b"x" * (2 << 20) + b"\n" + lines(2, 3)
        self.file(data)
        self.start("--every", "60m")
        self.write(data)
        _, said = self.end()
        self.assertIn("its first 6 lines were taken before", said)
        self.assertEqual(taken(self.server.db), (5, 1))

    def test_another_sender_has_taken_a_line_that_is_too_long(self):
        """What was cut of it is not known any more, and what follows is found all the same."""
        long = b"x" * (3 << 20) + b"\n"
        shared = lines(0, 2) + long + lines(2, 2) + long + lines(4, 1)
        self.start("--every", "60m", "--bytes", "1")
        self.write(lines(0, 2))
        self.takes(2)
        self.file(shared)
        self.assertEqual(taken(self.server.db), (5, 2))
        self.write(shared[len(lines(0, 2)):] + lines(5, 3) + long + lines(8, 1))
        self.takes(12)
        self.end()
        self.assertEqual(taken(self.server.db), (9, 3))
        self.assertEqual(stored(self.server.db), ({101: 9}, {101: 900}))
        self.assertIn("nothing new", self.file(shared + lines(5, 3) + long + lines(8, 1)))

    def test_another_sender_has_taken_a_line_that_was_refused(self):
        shared = lines(0, 2) + b"nothing\n" + lines(2, 2)
        self.start("--every", "60m", "--bytes", "1")
        self.write(lines(0, 2))
        self.takes(2)
        (self.folder / "file.log").write_bytes(shared[:len(lines(0, 2)) + 8])
        run("ingest", "--server", self.server.url, "--key-file", self.key, self.folder / "file.log", expect=1)
        self.file(shared)
        self.write(shared[len(lines(0, 2)):] + lines(4, 1))
        self.end()
        self.assertEqual(taken(self.server.db), (5, 1))

    def test_another_sender_at_random(self):
        """It brings in more of the log than the stream has, which is in the middle of a line too."""
        print(f"seed {SEED}")
        rng = random.Random(SEED)
        good = bad = 0
        for first in (0, 100, 200, 300):
            kinds = [0, *rng.choices(range(3), (6, 2, 2), k=rng.randrange(6, 14))]
            log = [(lines(first + i, 1), b"x" * rng.randrange(MIB + 1, 5 * MIB // 2) + b"\n", b"nothing\n")[kind]
                   for i, kind in enumerate(kinds)]
            whole = b"".join(log)
            good += kinds.count(0)
            bad += len(kinds) - kinds.count(0)
            cuts = sorted(rng.randrange(len(whole)) for _ in range(6))
            self.start("--every", "60m", "--bytes", "1")
            ahead = 1
            for begin, end in zip([0, *cuts], [*cuts, len(whole)]):
                self.write(whole[begin:end])
                if rng.random() < 0.6:
                    ahead = rng.randrange(max(ahead, whole[:end].count(b"\n")), len(log) + 1)
                    (self.folder / "file.log").write_bytes(b"".join(log[:ahead]))
                    run("ingest", "--server", self.server.url, "--key-file", self.key, self.folder / "file.log",
                        expect=None)
            self.end()
            self.assertIn("nothing new", self.file(whole))
            accepted, rejected = taken(self.server.db)
            self.assertEqual(accepted, good)
            self.assertGreaterEqual(rejected, bad)  # two that bring refused lines alone at once both list them

    def test_more_waits_than_a_body_may_have(self):
        self.server.close()
        self.server = Server("--body-mb", "1", log=None)
        self.key.write_text(self.server.keys["ingest"] + "\n")
        data = b"".join(line(i, 101, 100).replace(b"agent", os.urandom(200).hex().encode())
                        for i in range(10000))
        self.start("--every", "60m", "--bytes", str(16 << 20))
        self.write(data)
        _, said = self.end()
        self.assertIn("10000 lines: 10000 accepted, 0 rejected", said)
        self.assertIn("nothing new", self.file(data))
        self.assertEqual(taken(self.server.db), (10000, 0))

    def answers(self, n):
        return [self.process.stdout.readline().decode().rstrip("\n") for _ in range(n)]

    def test_each_line_is_answered(self):
        self.start("--confirm")
        self.assertEqual(self.answers(1), ["OK"])
        for i in range(5):
            self.write(lines(i, 1))
            self.assertEqual(self.answers(1), ["OK"])
            self.assertEqual(taken(self.server.db), (i + 1, 0))
        self.assertIn("5 lines", self.end()[1])

    def test_a_transaction_is_answered_once_it_is_stored(self):
        self.start("--confirm")
        self.assertEqual(self.answers(1), ["OK"])
        self.write(b"BEGIN TRANSACTION\n" + lines(0, 3))
        self.assertEqual(self.answers(4), ["OK"] + ["DEFER_COMMIT"] * 3)
        self.assertEqual(taken(self.server.db), (0, 0))
        self.write(b"COMMIT TRANSACTION\n")
        self.assertEqual(self.answers(1), ["OK"])
        self.assertEqual(taken(self.server.db), (3, 0))
        # One that is not committed is not stored: whoever sent it sends it again.
        self.write(b"BEGIN TRANSACTION\n" + lines(3, 3))
        self.assertEqual(self.answers(4), ["OK"] + ["DEFER_COMMIT"] * 3)
        self.end()
        self.assertEqual(taken(self.server.db), (3, 0))

    def test_the_same_lines_are_other_lines_in_a_stream(self):
        self.start("--confirm")
        self.answers(1)
        for _ in range(4):
            self.write(hit(101))
            self.assertEqual(self.answers(1), ["OK"])
        self.end()
        self.assertEqual(taken(self.server.db), (4, 0))

    def test_an_answer_waits_for_a_server_that_is_away(self):
        self.start("--confirm")
        self.answers(1)
        self.kill_server()
        self.write(lines(0, 1))
        self.assertIn(b"Check the URL", self.process.stderr.readline())
        self.assertEqual(select.select([self.process.stdout], [], [], 0)[0], [])
        self.server.start()
        self.assertEqual(self.answers(1), ["OK"])
        self.end()
        self.assertEqual(taken(self.server.db), (1, 0))

    def test_what_is_asked_for_wrongly(self):
        for words, said in ((["--every", "5s", "a.log"], "are for standard input"),
                            (["--every", "x", "-"], "like 500ms"),
                            (["--confirm", "--every", "5s", "-"], "leave out --every"),
                            (["--every", "5s", "--batch", "b", "-"], "takes no --batch")):
            with self.subTest(words):
                done = run("ingest", "--db", self.folder / "no.db", *words, expect=2)
                self.assertIn(said, done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
