"""Bodies longer than 64 KiB, which the server receives apart from its workers: however they are cut and
whatever comes before and behind them, each line counts once; whoever leaves, stands or brings too much
harms nobody and leaves no memory behind."""
import random
import re
import socket
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, Server, hit, random_seed, together

APART = 65536  # longer ones
MIB = 1 << 20


def head(server, length, *lines, target="/ingest/logs", key="ingest"):
    fields = [f"POST {target} HTTP/1.1", "Host: x", f"AccessKey: {server.keys.get(key, key)}",
              f"Content-Length: {length}", *lines]
    return "\r\n".join(fields).encode() + b"\r\n\r\n"


class Lines:
    """Log lines of zone 101, no two alike."""

    def __init__(self):
        self.n = 0

    def take(self, n):
        first, self.n = self.n, self.n + n
        return b"".join(hit(101, i % 7200, 100000 + i) for i in range(first, first + n))

    def of(self, length):
        """A body of exactly so many bytes."""
        body = self.take(length // 95)
        last = hit(101, self.n % 7200, 7)
        body = body[:body.rindex(b"\n", 0, length - len(last)) + 1]
        self.n += 1
        return body + last.replace(b"agent", b"a" * (5 + length - len(body) - len(last)))


LINES = Lines()


class Uploads(Case):
    def taken(self, answer, body):
        self.assertIsNotNone(answer, "closed without an answer")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json()["accepted"], body.count(b"\n"), answer.body)

    def until(self, what, text):
        end = time.monotonic() + PATIENCE
        while not what():
            self.assertLess(time.monotonic(), end, text)
            time.sleep(0.01)

    def no_memory_is_left(self):
        self.until(lambda: self.server.metric("tollbook_body_bytes") == 0, "bytes of bodies are left")

    def test_lengths_beside_the_bound(self):
        with self.server.wire() as wire:
            for length in (APART - 1, APART, APART + 1, APART + 2, 3 * MIB):
                body = LINES.of(length)
                self.assertEqual(len(body), length)
                received = self.server.metric("tollbook_received_bytes_total")
                wire.send(head(self.server, length) + body)
                self.taken(wire.read("POST"), body)
                self.assertEqual(self.server.metric("tollbook_received_bytes_total"), received + length)

    def test_a_length_with_zeros_before_it(self):
        body = LINES.of(70000)
        with self.server.wire() as wire:
            wire.send(head(self.server, "000000000000070000") + body)
            self.taken(wire.read("POST"), body)
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)

    def test_a_request_that_says_what_stands_for_a_body_elsewhere(self):
        body = LINES.of(70000)
        with self.server.wire() as wire:
            wire.send(head(self.server, "00002") + b"\r\n" + head(self.server, 70000) + body)
            self.assertEqual(wire.read("POST").json()["lines"], 1)
            self.taken(wire.read("POST"), body)

    def test_a_client_that_waits_to_be_told_to_send(self):
        body = LINES.of(200000)
        with self.server.wire() as wire:
            for _ in range(2):
                wire.send(head(self.server, len(body), "Expect: 100-continue"))
                self.assertEqual(wire.read("POST").status, 100)
                wire.send(body[:1])
                self.server.get("/healthz")
                wire.send(body[1:])
                self.taken(wire.read("POST"), body)
                body = LINES.of(100000)

    def test_a_head_that_comes_alone_or_in_two(self):
        body = LINES.of(100000)
        with self.server.wire() as wire:
            start = head(self.server, len(body))
            for at in (len(start), 20, len(start) - 1, len(start) - 3):
                wire.send(start[:at])
                self.server.get("/healthz")
                wire.send(start[at:] + body)
                self.taken(wire.read("POST"), body)
                body = LINES.of(len(body))

    def stream(self, rng, n):
        """Requests one behind the other, and what each body has: None, it is none."""
        requests, bodies = [], []
        for _ in range(n):
            kind = rng.choice(["get", "small", "apart", "apart", "chunked"])
            body = b"" if kind == "get" else LINES.take(rng.randrange(1, 500) if kind == "small" else
                                                       rng.randrange(700, 6000))
            if kind == "get":
                requests.append(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            elif kind == "chunked":
                start = head(self.server, 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
                requests.append(start + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            else:
                requests.append(head(self.server, len(body)) + body)
            bodies.append(None if kind == "get" else body)
        return b"".join(requests), bodies

    def test_however_they_are_cut(self):
        rng = random.Random(random_seed())
        for _ in range(12):
            stream, bodies = self.stream(rng, 8)
            sizes = rng.choice([[1000, 20000], [12288, 20480], [1, 300000], [len(stream)] * 2])
            with self.server.wire() as wire:
                at = 0
                while at < len(stream):
                    size = rng.randint(*sizes)
                    wire.send(stream[at:at + size])
                    at += size
                    if rng.random() < 0.1:  # what was sent has time to be read by itself
                        self.server.get("/healthz")
                for body in bodies:
                    answer = wire.read()
                    if body is None:
                        self.assertEqual(answer.status, 200)
                    else:
                        self.taken(answer, body)
        self.no_memory_is_left()

    def test_each_line_counts_once(self):
        """Of many clients at once, each with several bodies on a connection."""
        bodies = [[LINES.of(rng) for rng in (70000, 400000, 100001, 2000000)] for _ in range(8)]
        before = self.requests()

        def send(i):
            with self.server.wire() as wire:
                for body in bodies[i]:
                    wire.send(head(self.server, len(body)) + body)
                    self.taken(wire.read("POST"), body)
        together(len(bodies), send)
        self.assertEqual(self.requests() - before, sum(body.count(b"\n") for four in bodies for body in four))
        self.no_memory_is_left()

    def requests(self):
        answer = self.server.get("/statistics?dateFrom=2026-11-03&dateTo=2026-11-06&hourly=true").json()
        return answer["TotalRequestsServed"]

    def test_who_may_not_send_is_told_so_at_once(self):
        for target, key, status in (("/ingest/logs", "wrong", 401), ("/ingest/logs", "user", 403),
                                    ("/nope", "ingest", 404), ("/healthz", "ingest", 405)):
            with self.server.wire() as wire:
                wire.send(head(self.server, MIB, target=target, key=key))
                answer = wire.read("POST")
                self.assertEqual(answer.status, status)
                self.assertEqual(answer.headers["connection"], "close")
                self.assertTrue(wire.ended())
        with self.server.wire() as wire:
            wire.send(head(self.server, APART + 1, key="user", target="/statistics").replace(b"POST", b"GET"))
            self.refused(wire.read(), 413, "request.body_too_large")

    def test_who_leaves_half_way_is_forgotten(self):
        body = LINES.of(300000)
        before, received = self.requests(), self.server.metric("tollbook_received_bytes_total")
        for at in (1, 5000, 20000, 70000, 299999):
            for how in ("shut", "reset", "close"):
                with self.server.wire() as wire:
                    wire.send(head(self.server, len(body)) + body[:at])
                    if how == "shut":
                        wire.shut()
                        self.assertTrue(wire.ended())
                    elif how == "reset":
                        wire.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        most = 3 * (1 + 5000 + 20000 + 70000 + 299999)  # a reset may overtake what was sent before it

        def came():
            return self.server.metric("tollbook_received_bytes_total") - received
        self.until(lambda: came() >= most * 2 / 3, "what was sent did not come")
        self.no_memory_is_left()
        self.assertEqual(self.requests(), before)
        self.assertLessEqual(came(), most)

    def test_all_bodies_together_have_a_bound(self):
        """512 MiB are eight of the longest, which are given all that they announced once a fourth is here."""
        part = b"x" * (17 * MIB)
        held = []
        try:
            for _ in range(8):
                held.append(self.server.wire())
                held[-1].send(head(self.server, 64 * MIB) + part)
            self.until(lambda: self.server.metric("tollbook_body_bytes") == 512 * MIB, "not all memory is given")
            for length in (MIB, 64 * MIB):
                answer = self.server.ask("POST", "/ingest/logs", "ingest", b"x" * length)
                self.refused(answer, 503, "server.busy")
                self.assertEqual(answer.headers["connection"], "close")
        finally:
            for wire in held:
                wire.sock.close()
        self.no_memory_is_left()
        body = LINES.of(MIB)
        self.taken(self.server.ask("POST", "/ingest/logs", "ingest", body), body)


class Slow(Case):
    options = ("--body-timeout-ms", "600")

    def test_one_that_stands_or_drips_is_cut(self):
        for drip in (b"", b"x"):
            begin = time.monotonic()
            with self.server.wire() as wire:
                wire.send(head(self.server, MIB) + b"x" * 50000)
                wire.sock.settimeout(0.02)
                while time.monotonic() - begin < PATIENCE:
                    try:
                        wire.sock.sendall(drip)
                        if wire.sock.recv(100) == b"":
                            break
                    except TimeoutError:
                        continue
                    except ConnectionError:
                        break
            took = time.monotonic() - begin
            self.assertGreater(took, 0.6 * 0.95)
            self.assertLess(took, PATIENCE, "not cut at all")
        self.assertEqual(self.server.metric('tollbook_deadline_closes_total{phase="body"}'), 2)


    def test_one_that_gets_on_has_its_time(self):
        body, begin = LINES.of(2 * MIB), time.monotonic()
        with self.server.wire() as wire:
            wire.send(head(self.server, len(body)) + body[:MIB])
            while time.monotonic() - begin < 1.2:
                self.server.get("/healthz")
            wire.send(body[MIB:])
            self.assertEqual(wire.read("POST").json()["accepted"], body.count(b"\n"))


# Stands before the C library: there is no memory for what came of a body with its head.
NO_MEMORY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
void *malloc(size_t size)
{
    static void *(*real)(size_t);
    if (size == 20480) return NULL;
    if (!real) real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    return real(size);
}
"""


@unittest.skipIf(re.search(rb"__(asan|tsan)_init", TOLLBOOK.read_bytes()),
                 "a sanitizer wants to be the first library")
class Scarce(Case):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            source, library = Path(folder) / "scarce.c", Path(folder) / "scarce.so"
            source.write_text(NO_MEMORY)
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
            ENVIRONMENT["LD_PRELOAD"] = str(library)
            try:
                super().setUpClass()
            finally:
                del ENVIRONMENT["LD_PRELOAD"]

    def test_a_beginning_that_cannot_be_kept_is_said(self):
        body = LINES.of(70000)
        start = head(self.server, len(body))
        for pieces in ([start + body[:1000]], [start, body[:1000]], [start[:50], start[50:]]):
            with self.server.wire() as wire:
                for piece in pieces:
                    wire.send(piece)
                    self.server.get("/healthz", None)
                if len(pieces) == 2 and len(pieces[0]) == 50:
                    wire.send(body[:1000])
                self.refused(wire.read("POST"), 503, "server.busy")
                self.assertTrue(wire.ended())
        few = LINES.take(100)
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", few).json()["accepted"], 100)


class Stopping(unittest.TestCase):
    def begin(self, server, wire, body):
        wire.send(head(server, len(body)) + body[:100000])
        end = time.monotonic() + PATIENCE
        while server.metric("tollbook_body_bytes") < 100000 and time.monotonic() < end:
            time.sleep(0.005)

    def test_one_that_is_under_way_is_finished(self):
        server, body = Server(), LINES.of(MIB)
        with server.wire() as wire:
            self.begin(server, wire, body)
            server.process.terminate()
            server.lets_nobody_in()
            wire.send(body[100000:])
            answer = wire.read("POST")
            self.assertEqual(answer.json()["accepted"], body.count(b"\n"))
            self.assertEqual(answer.headers["connection"], "close")
            self.assertTrue(wire.ended())
        self.assertEqual(server.stop(0), 0)
        server.close()

    def test_one_that_never_ends_is_waited_for_only_so_long(self):
        server = Server("--stop-timeout-ms", "200")
        with server.wire() as wire:
            self.begin(server, wire, LINES.of(MIB))
            server.process.terminate()
            self.assertTrue(wire.ended())
        self.assertEqual(server.stop(0), 0)
        server.close()


if __name__ == "__main__":
    unittest.main()
