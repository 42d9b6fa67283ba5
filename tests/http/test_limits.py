"""Sizes and numbers at their limits, and deadlines that a drip cannot move."""
import os
import socket
import struct
import threading
import time
import unittest

from harness import PATIENCE, Case, Wire, hit

MIB = 1 << 20


def head(server, length):
    return (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['ingest']}\r\n"
            f"Content-Length: {length}\r\n\r\n").encode()


class Sizes(Case):
    options = ("--body-mb", "1", "--body-timeout-ms", "30000")  # no deadline is meant here

    def test_a_body_of_the_limit_is_taken_and_one_byte_more_is_not(self):
        for length, status in ((MIB - 1, 422), (MIB, 422), (MIB + 1, 413)):  # taken, and no line of the format
            answer = self.server.ask("POST", "/ingest/logs", "ingest", b"x" * (length - 1) + b"\n")
            self.assertEqual(answer.status, status, length)

    def test_an_announced_giant_is_refused_before_it_is_sent(self):
        for length in (MIB + 1, 1 << 40, 10 ** 18 - 1):
            with self.server.wire() as wire:
                wire.send(head(self.server, length))
                self.refused(wire.read(), 413, "request.body_too_large")
                self.assertTrue(wire.ended())

    def test_a_chunked_body_that_outgrows_the_limit_is_refused(self):
        with self.server.wire() as wire:
            wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                      b"AccessKey: " + self.server.keys["ingest"].encode() + b"\r\n\r\n")
            for _ in range(17):
                wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
            wire.send(b"0\r\n\r\n")
            self.refused(wire.read(), 413, "request.body_too_large")
            self.assertTrue(wire.ended())

    def test_an_endless_chunked_body_is_cut(self):
        with self.server.wire() as wire:
            wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                      b"AccessKey: " + self.server.keys["ingest"].encode() + b"\r\n\r\n")
            try:
                for _ in range(1000):
                    wire.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")
                self.fail("64 MiB were taken")
            except ConnectionError:
                pass

    def test_a_body_that_unpacks_to_more_than_four_times_the_limit_is_refused(self):
        import gzip
        for size, status in ((4 * MIB, 422), (4 * MIB + 100, 413)):
            line = b"x" * 99 + b"\n"
            body = gzip.compress(line * (size // 100) + b"y" * (size % 100), 1)
            self.assertLess(len(body), MIB)
            answer = self.server.ask("POST", "/ingest/logs", "ingest", body, Content_Encoding="gzip")
            self.assertEqual(answer.status, status, answer.body)

    def test_refusals_before_the_body_reach_clients_that_send_it_anyway(self):
        for target, key, status in (("/ingest/logs", "wrong", 401), ("/ingest/logs", "user", 403),
                                    ("/nope", "ingest", 404), ("/healthz", "ingest", 405)):
            answer = self.server.ask("POST", target, key, b"x" * MIB)
            self.assertIsNotNone(answer, target)
            self.assertEqual(answer.status, status)
            self.assertEqual(answer.headers["connection"], "close")


class GivenUp(Case):
    options = ("--body-mb", "1", "--body-timeout-ms", "2000")

    def test_bodies_leave_no_memory_behind(self):
        for _ in range(3):
            with self.server.wire() as wire:  # given up half way
                wire.send(head(self.server, MIB) + b"x" * 500000)
        self.server.ask("POST", "/ingest/logs", "ingest", hit(101, 9999))
        end = time.monotonic() + PATIENCE
        while self.server.metric("tollbook_body_bytes") and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(self.server.metric("tollbook_body_bytes"), 0)


class Connections(Case):
    options = ("--connections", "8")

    def test_above_the_limit_the_longest_idle_one_makes_room(self):
        held = [self.server.wire() for _ in range(8)]
        for wire in held + held[:1]:
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)
        for wire in held[1:4]:
            self.assertEqual(self.server.get("/healthz", None).status, 200)
        self.assertEqual(held[0].ask("GET", "/healthz").status, 200)
        self.assertTrue(held[1].ended())
        self.assertGreaterEqual(self.server.metric("tollbook_connections_evicted_total"), 1)
        for wire in held:
            wire.sock.close()

    def test_connections_are_spread_over_the_workers(self):
        def counts():
            text = held[0].ask("GET", "/metrics").body.decode()
            return [int(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                    if line.startswith("tollbook_connections{")]

        held = [self.server.wire()]
        patience = time.monotonic() + PATIENCE
        while sum(counts()) > 1 and time.monotonic() < patience:
            pass  # a connection of an earlier test is still being closed, and would be counted
        held += [self.server.wire() for _ in range(5)]
        for wire in held:
            wire.ask("GET", "/healthz")
        spread = counts()
        self.assertEqual(len(spread), 2)
        self.assertEqual(sum(spread), 6)
        self.assertLessEqual(max(spread) - min(spread), 1, spread)
        for wire in held:
            wire.sock.close()


class Deadlines(Case):
    options = ("--header-timeout-ms", "400", "--body-timeout-ms", "600", "--idle-timeout-ms", "800")

    def drip(self, wire, data, begin, pause=0.02):
        """Sends byte by byte until the connection is cut; returns the seconds since begin."""
        wire.sock.setblocking(False)
        try:
            for byte in data * 10000:
                wire.sock.send(bytes([byte]))
                time.sleep(pause)
                try:
                    if wire.sock.recv(100) == b"":
                        break
                except BlockingIOError:
                    pass
                if time.monotonic() - begin > PATIENCE:
                    break
        except ConnectionError:
            pass
        return time.monotonic() - begin

    def cut_after(self, seconds, least):
        """Cut, and not before its time. The clock was started before the server's own could be, so
        that a busy machine only adds to the seconds; the server's ticks by a few milliseconds."""
        self.assertGreater(seconds, least * 0.95)
        self.assertLess(seconds, PATIENCE, "not cut at all")

    def test_a_dripping_head_is_cut(self):
        for start in (b"", b"GET /healthz HTTP/1.1\r\n", b"GET /healthz HTTP/1.1\r\nHost: x\r\n"):
            begin = time.monotonic()
            with self.server.wire() as wire:
                wire.send(start)
                self.cut_after(self.drip(wire, b"X-A: b\r\n" if start else b"GET /", begin), 0.4)

    def test_silence_is_cut(self):
        begin = time.monotonic()
        with self.server.wire() as wire:
            self.assertTrue(wire.ended())
        self.cut_after(time.monotonic() - begin, 0.4)

    def test_an_idle_connection_is_cut_and_a_busy_one_is_not(self):
        patience = time.monotonic() + PATIENCE
        while not self.stays_while_busy():
            self.assertLess(time.monotonic(), patience, "this client is never quick enough")

    def stays_while_busy(self):
        """Whether this client was quick enough to keep its connection for long; it was cut then."""
        with self.server.wire() as wire:
            begin = last = time.monotonic()
            while last - begin < 1.5:
                before, last = last, time.monotonic()
                answer = wire.ask("GET", "/healthz")
                if answer is None and time.monotonic() - before > 0.8 * 0.95:
                    return False
                self.assertEqual(answer.status, 200)
                time.sleep(0.1)
            self.assertTrue(wire.ended())
        self.cut_after(time.monotonic() - last, 0.8)
        return True

    def test_a_dripping_body_is_cut(self):
        key = self.server.keys["ingest"].encode()
        for framing, drip in ((b"Content-Length: 10000\r\n\r\n", b"x"),
                              (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
                              (b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\n", b"x")):
            begin = time.monotonic()
            with self.server.wire() as wire:
                wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: " + key + b"\r\n" +
                          framing)
                self.cut_after(self.drip(wire, drip, begin), 0.6)

    def test_a_client_that_does_not_read_is_cut(self):
        with self.server.wire() as wire:
            wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            one = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
            try:
                for _ in range(300):
                    wire.send(one)
            except ConnectionError:
                return
            late = 'tollbook_deadline_closes_total{phase="send"}'
            end = time.monotonic() + PATIENCE
            while self.server.metric(late) == 0 and time.monotonic() < end:
                time.sleep(0.05)
            self.assertGreaterEqual(self.server.metric(late), 1)

    def test_it_serves_while_many_are_slow(self):
        slow = [Wire(self.server.port) for _ in range(60)]
        for wire in slow:
            wire.send(b"GET /he")
        for _ in range(20):
            self.assertEqual(self.server.get("/healthz", None).status, 200)
        for wire in slow:
            self.assertTrue(wire.ended())
            wire.sock.close()
        self.assertGreaterEqual(
            self.server.metric('tollbook_deadline_closes_total{phase="new"}'), 60)

    def test_resets_at_every_moment_do_no_harm(self):
        key = self.server.keys["ingest"].encode()
        whole = (b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: " + key +
                 b"\r\nContent-Length: 20\r\n\r\n" + b"x" * 20)
        for at in range(0, len(whole) + 1, 5):
            with self.server.wire() as wire:
                wire.send(whole[:at])
                wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertEqual(self.server.get("/statistics").status, 200)


class Descriptors(Case):
    def test_no_descriptor_is_left_open(self):
        folder = f"/proc/{self.server.process.pid}/fd"
        self.server.get("/statistics")
        before = len(os.listdir(folder))
        for _ in range(50):
            self.server.get("/statistics")
            with self.server.wire() as wire:
                wire.send(b"GET /nope HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")
                wire.read()
        end = time.monotonic() + PATIENCE
        while len(os.listdir(folder)) > before and time.monotonic() < end:
            time.sleep(0.01)
        self.assertLessEqual(len(os.listdir(folder)), before)


class Busy(Case):
    options = ("--connections", "1", "--body-mb", "1024")

    def upload(self, over):
        head = (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['ingest']}\r\n"
                "Content-Length: 1000000000\r\n\r\n").encode()
        while not over.is_set():
            try:
                with self.server.wire() as wire:
                    wire.send(head)
                    while not over.wait(0.005):
                        wire.send(b"x" * 20000)
            except OSError:
                pass  # it did not get on: this machine is busy

    def test_beside_one_that_gets_on_another_waits_and_is_told(self):
        over = threading.Event()
        thread = threading.Thread(target=self.upload, args=(over,))
        thread.start()
        try:
            answer, end = None, time.monotonic() + PATIENCE
            while (answer is None or answer.status == 200) and time.monotonic() < end:
                with self.server.wire() as wire:
                    answer = wire.ask("GET", "/healthz")
            self.refused(answer, 503, "server.busy")
            self.assertEqual(answer.headers["retry-after"], "1")
        finally:
            over.set()
            thread.join()
        self.assertEqual(self.server.get("/healthz", None).status, 200)
        self.assertGreaterEqual(
            self.server.metric('tollbook_connections_refused_total{reason="full"}'), 1)


class Rate(Case):
    options = ("--rate-limit", "3")

    def test_above_the_rate_429_for_that_account_alone(self):
        with self.server.wire() as wire:
            header = {"AccessKey": self.server.keys["user"]}
            taken, end = 0, time.monotonic() + PATIENCE
            while (answer := wire.ask("GET", "/statistics", header)).status == 200:
                taken += 1  # a slow client may have more than three, never fewer
                self.assertLess(time.monotonic(), end)
            self.assertGreaterEqual(taken, 3)
            self.refused(answer, 429, "request.rate_limited")
            self.assertTrue(answer.headers["retry-after"].isdigit())
            self.assertEqual(self.server.get("/statistics", "other").status, 200)
            self.assertEqual(self.server.get("/healthz", None).status, 200)
            end = time.monotonic() + PATIENCE
            while wire.ask("GET", "/statistics", header).status == 429:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
