"""The process: how it starts, refuses to start, and stops."""
import resource
import signal
import socket
import subprocess
import threading
import time
import unittest
from unittest.mock import patch

from harness import ENVIRONMENT, LOG, PATIENCE, TOLLBOOK, Case, Server, Wire, hit, run


def refuse(*options):
    """serve with options that it must refuse: exit status and message."""
    done = subprocess.run([TOLLBOOK, "serve", "--start-timeout-ms", "0", *map(str, options)], capture_output=True, text=True,
                          env=ENVIRONMENT, timeout=PATIENCE, check=False)
    return done.returncode, done.stderr


class Start(Case):
    def test_a_second_server_on_the_file_names_the_first(self):
        status, message = refuse("--db", self.server.db, "--listen", "127.0.0.1:0")
        self.assertEqual(status, 3, message)
        self.assertIn(f"serve 127.0.0.1:{self.server.port}", message)
        self.assertEqual(self.server.get("/statistics").status, 200)

    def test_a_writing_command_beside_it_is_told_where_to_go(self):
        done = run("ingest", "--db", self.server.db, "-", stdin=hit(101, 1), expect=3)
        self.assertIn(f"--server http://127.0.0.1:{self.server.port}", done.stderr.decode())

    def test_a_taken_port_and_bad_options(self):
        status, message = refuse("--db", self.server.db, "--listen", f"127.0.0.1:{self.server.port}")
        self.assertEqual(status, 3)
        self.assertIn("--listen", message)
        for option in (("--listen", "example.org:80"), ("--listen", "127.0.0.1"),
                       ("--listen", "::1:80"), ("--listen", "127.0.0.1:99999"),
                       ("--listen", "[::1:80"), ("--rate-limit", "0"), ("--rate-limit", "9x"),
                       ("--cache-mb", "-1"), ("--threads", "0")):
            status, message = refuse("--db", self.server.db, *option)
            self.assertEqual(status, 2, (option, message))
            self.assertTrue(message)

    def test_a_missing_database_is_an_error(self):
        status, message = refuse("--db", self.server.path / "none.db", "--listen", "127.0.0.1:0")
        self.assertIn(status, (2, 3), message)
        self.assertIn("none.db", message)

    def test_it_says_where_it_listens(self):
        self.assertIn(f"listening on http://127.0.0.1:{self.server.port}", self.server.messages())


class Addresses(unittest.TestCase):
    def test_several_addresses_and_ipv6(self):
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            self.skipTest("no IPv6 here")
        server = Server("--listen", "[::1]:0")
        try:
            text = server.messages()
            port = int(text.split("http://[::1]:")[1].split()[0])
            with Wire(port, "::1") as wire:
                self.assertEqual(wire.ask("GET", "/healthz").status, 200)
            self.assertEqual(server.get("/healthz", None).status, 200)
        finally:
            server.close()


class Stop(unittest.TestCase):
    def setUp(self):
        self.server = None

    def start(self, *options, log=LOG):
        self.server = Server(*options, log=log)
        self.addCleanup(self.server.folder.cleanup)
        return self.server

    def verify(self):
        wal = self.server.path / "t.db-wal"
        self.assertEqual(wal.stat().st_size if wal.exists() else 0, 0, "not checkpointed")
        run("verify", "--db", self.server.db)

    def test_both_signals_end_it_well(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            server = self.start()
            self.assertEqual(server.get("/statistics").status, 200)
            self.assertEqual(server.stop(number), 0)
            self.verify()

    def test_other_signals_end_nothing(self):
        server = self.start()
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGPIPE):
            server.process.send_signal(number)
            self.assertEqual(server.get("/statistics").status, 200)
        self.assertEqual(server.stop(), 0)
        self.verify()

    def test_idle_connections_do_not_hold_it_up(self):
        server = self.start(*(word for name in ("idle", "header", "stop")
                              for word in (f"--{name}-timeout-ms", "600000")))
        idle = [server.wire() for _ in range(10)]
        for wire in idle[:5]:
            wire.ask("GET", "/healthz")
        begin = time.monotonic()
        used = idle[:5]
        status = server.stop()
        self.assertEqual(status, 0)
        self.assertLess(time.monotonic() - begin, PATIENCE / 2)
        for wire in used:
            self.assertTrue(wire.ended())

    def test_no_answer_is_cut_and_no_acknowledged_batch_lost(self):
        server = self.start(log=None)
        acknowledged, problems, begun = [], [], threading.Event()

        def reader():
            try:
                while True:
                    with server.wire() as wire:
                        while (answer := wire.ask("GET", "/statistics?dateFrom=2026-10-04", {
                                "AccessKey": server.keys["user"], "Accept-Encoding": "gzip"})):
                            if answer.status != 200:
                                problems.append(answer.status)
                            begun.set()
            except OSError:
                pass  # no more connections
            except AssertionError as cut:
                problems.append(str(cut))

        def sender(i):
            n = 0
            try:
                with server.wire() as wire:
                    while True:
                        body = hit(101, i * 10000 + n)
                        answer = wire.ask("POST", "/ingest/logs",
                                          {"AccessKey": server.keys["ingest"]}, body)
                        if answer is None or answer.status != 200:
                            if answer is not None and answer.status != 503:
                                problems.append(answer.body)
                            return
                        acknowledged.append(body)
                        n += 1
            except OSError:
                pass
            except AssertionError as cut:
                problems.append(str(cut))

        threads = [threading.Thread(target=reader) for _ in range(4)] + \
                  [threading.Thread(target=sender, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        begun.wait(PATIENCE)
        while len(acknowledged) < 50:
            time.sleep(0.001)
        self.assertEqual(server.stop(), 0)
        for thread in threads:
            thread.join(PATIENCE)
        self.assertEqual(problems, [])
        self.verify()
        # Every acknowledged line is there: each is known when it is sent again.
        lines = run("query", "--db", server.db, "--format", "tsv",
                    "SELECT sum(requests) FROM buckets WHERE zone = 101").stdout.split()
        self.assertGreaterEqual(int(lines[-1]), len(acknowledged))

    def test_a_request_under_way_is_finished(self):
        server = self.start()
        body = hit(101, 77)
        with server.wire() as wire:
            wire.send((f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['ingest']}"
                       f"\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body[:10])
            while server.metric("tollbook_received_bytes_total") < 10:
                time.sleep(0.005)
            server.process.send_signal(signal.SIGTERM)
            server.lets_nobody_in()
            wire.send(body[10:])
            answer = wire.read("POST")
            self.assertEqual(answer.status, 200)
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(wire.ended())
        self.assertEqual(server.stop(0), 0)
        self.verify()

    def begin(self, server, wire):
        """A request whose body does not end. One whose head does not is let go at once."""
        wire.send((f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['ingest']}\r\n"
                   "Expect: 100-continue\r\nContent-Length: 10\r\n\r\n").encode())
        self.assertIn(b" 100 ", wire.sock.recv(100))

    def test_a_request_that_never_ends_is_waited_for_only_so_long(self):
        server = self.start("--stop-timeout-ms", "200")
        with server.wire() as wire:
            self.begin(server, wire)
            with server.wire() as other:
                other.ask("GET", "/healthz")
            begin = time.monotonic()
            self.assertEqual(server.stop(), 0)
            self.assertLess(time.monotonic() - begin, PATIENCE / 2)
            self.assertTrue(wire.ended())
        self.verify()

    def test_a_long_ingest_is_told_to_end_and_takes_nothing(self):
        body = b"".join(hit(z, second) for z in range(1000, 1400) for second in range(1000))
        patience = 100
        while (status := self.told_to_end(body, patience)) is None:
            patience *= 2
            self.assertLess(patience, 2000 * PATIENCE, "this client is never quick enough")
        self.assertIn(status, (200, 503))  # 200: the machine was faster than the signal

    def told_to_end(self, body, patience):
        """The answer's status, or None where a busy machine did not send it before the stop's patience
        ended. What the database holds is all of the body, or nothing."""
        server = self.start("--stop-timeout-ms", str(patience), log=None)
        with server.wire() as wire:
            wire.send((f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['ingest']}"
                       f"\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body)
            while server.metric("tollbook_received_bytes_total") < len(body):
                time.sleep(0.001)  # a body that has not come is no ingest that runs
            server.process.send_signal(signal.SIGTERM)
            answer = wire.read("POST")
        self.assertEqual(server.stop(0), 0)
        self.verify()
        count = int(run("query", "--db", server.db, "--format", "tsv",
                        "SELECT coalesce(sum(requests),0) FROM buckets").stdout.split()[-1])
        self.assertIn(count, (0, body.count(b"\n")))
        if answer is None:
            return None
        self.assertEqual(count == 0, answer.status == 503, answer.body)
        if answer.status == 503:
            self.assertEqual(answer.error, "server.busy")
        return answer.status

    def test_a_second_signal_ends_it_at_once(self):
        server = self.start("--stop-timeout-ms", "600000", "--body-timeout-ms", "600000")
        with server.wire() as wire:
            self.begin(server, wire)
            with server.wire() as other:
                other.ask("GET", "/healthz")
            server.process.send_signal(signal.SIGTERM)
            while "stopping" not in server.messages():
                time.sleep(0.005)
            status = None
            while status is None:  # the second may come before the first one's handling has ended
                server.process.send_signal(signal.SIGTERM)
                try:
                    status = server.process.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            self.assertEqual(status, -signal.SIGTERM)
        server.log_file.close()
        run("verify", "--db", server.db)


class AfterAKill(unittest.TestCase):
    def test_what_was_acknowledged_is_there(self):
        server = Server(log=None)
        try:
            with server.wire() as wire:
                header = {"AccessKey": server.keys["ingest"]}
                for i in range(30):
                    self.assertEqual(wire.ask("POST", "/ingest/logs", header, hit(101, i)).status, 200)
            server.process.kill()
            server.process.wait()
            server.log_file.close()
            run("verify", "--db", server.db)
            server.start()
            self.assertEqual(server.get("/statistics").json()["TotalRequestsServed"], 30)
        finally:
            server.close()


class Old(unittest.TestCase):
    """More than one commit lets go of."""
    N = 40000
    EVENTS = b"".join(b'{"shield_zone":%d,"timestamp":1793520000000}\n' % zone for zone in range(1, 1301))

    def left(self, server):
        return run("query", "--db", server.db, "--format", "tsv", "SELECT count(*), sum(length(text)),"
                   " (SELECT count(*) FROM event_block) FROM reject").stdout.decode().splitlines()[1]

    def test_what_became_too_old_without_a_server_goes(self):
        server = Server(log=None)
        try:
            server.stop()
            with patch.dict(ENVIRONMENT, TOLLBOOK_NOW="2026-11-01T08:00:00Z"):
                run("import", "--db", server.db, "-", stdin=self.EVENTS)
                run("ingest", "--db", server.db, "-", stdin=b"no|log|line\n" * self.N, expect=1)
            self.assertEqual(self.left(server), f"{self.N}\t{self.N * 11}\t1300")
            server.start()
            end = time.monotonic() + PATIENCE
            while self.left(server) != f"{self.N}\t0\t0":
                self.assertIsNone(server.process.poll(), server.messages())
                self.assertLess(time.monotonic(), end, self.left(server))
            server.stop()
            run("verify", "--db", server.db)
        finally:
            server.close()


class Restart(unittest.TestCase):
    """A start waits for the server before it, which still has the port, and then the database."""

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def begin(self, *options):
        process = subprocess.Popen([TOLLBOOK, "serve", "--db", self.server.db, "--listen", f"127.0.0.1:{self.server.port}",
                                    "--port-file", self.server.path / "next-port", *options], stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.stderr.close)
        return process

    def says(self, process, text):
        for line in process.stderr:
            if text in line.decode():
                return
        self.fail(f"it never said: {text}")

    def test_it_waits_for_the_port_and_then_for_the_database(self):
        server, old = self.server, self.server.process
        body = hit(101, 7)
        with server.wire() as wire:
            wire.send((f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['ingest']}\r\n"
                       f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n").encode())
            self.assertIn(b" 100 ", wire.sock.recv(100))
            process = self.begin("--start-timeout-ms", "600000")
            self.says(process, f"Cannot listen on 127.0.0.1:{server.port}: tollbook (process {old.pid}) listens there: waiting 600 s "
                               "at most for it to end")
            old.send_signal(signal.SIGTERM)
            self.says(process, f"t.db is being written by serve 127.0.0.1:{server.port} (process {old.pid}): waiting 600 s at most")
            wire.send(body)
            self.assertEqual(wire.read("POST").status, 200)
        self.assertEqual(server.stop(0), 0)
        self.says(process, "listening on")
        server.process, server.log_file = process, open(server.log_path, "ab")
        self.assertEqual(server.get("/statistics").json()["TotalRequestsServed"], 81)

    def test_a_signal_ends_the_wait_and_so_does_time(self):
        process = self.begin("--start-timeout-ms", "600000")
        self.says(process, "waiting")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE), 3)
        process = self.begin("--start-timeout-ms", "60")
        self.assertEqual(process.wait(PATIENCE), 3)
        said = process.stderr.read().decode()
        self.assertEqual(said.count("waiting"), 1, said)
        self.assertIn("listens there. Choose another address with --listen.", said)
        run("key", "list", "--server", self.server.url, "--key", self.server.keys["operator"])


class FullDisk(unittest.TestCase):
    """A file that may not grow stands for the disk: writing is refused, reading goes on."""

    def body(self, i):
        return b"".join(hit(1000 + i * 2000 + z, z % 600) for z in range(2000))

    def test_writes_fail_with_a_standing_text_and_a_restart_writes_again(self):
        server = Server()
        try:
            server.stop()
            server.start(before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE,
                                                           (1500000, 1500000)))
            for i in range(100):
                answer = server.ask("POST", "/ingest/logs", "ingest", self.body(i))
                if answer.status != 200:
                    break
                taken = i + 1
            self.assertIn(answer.status, (500, 503))
            self.assertIn(answer.error, ("server.io", "server.disk_full"))
            self.assertNotIn(b".db", answer.body)
            self.assertIn(answer.error, server.messages())
            self.assertEqual(server.get("/statistics").json()["TotalRequestsServed"], 80)
            self.assertEqual(server.get("/healthz", None).status, 200)
            ready = server.get("/readyz", None)
            self.assertEqual((ready.status, ready.error), (503, "server.busy"))
            self.assertRegex(ready.json()["Message"], r"^t\.db: a write failed with an I/O error, .* restart this server\.$")
            server.stop()
            run("verify", "--db", server.db)
            server.start()
            self.assertEqual(server.get("/readyz", None).status, 200)
            for i in range(taken + 1):
                answer = server.ask("POST", "/ingest/logs", "ingest", self.body(i))
                self.assertEqual(answer.status, 200, answer.body)
                self.assertEqual(answer.json()["duplicate"], i < taken, i)
        finally:
            server.close()


if __name__ == "__main__":
    unittest.main()
