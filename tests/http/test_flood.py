"""Many clients that send or read almost nothing, beside ordinary ones: each ordinary request is
answered. TB_LONG=1 uses the server's default limits and thousands of slow clients."""
import os
import resource
import socket
import threading
import time
import unittest

from harness import PATIENCE, Case, Wire

LONG = os.environ.get("TB_LONG") == "1"
CONNECTIONS = 512 if LONG else 16
DRIPS = int(os.environ.get("TB_DRIPS", 2000 if LONG else 300))
READERS = 1000 if LONG else 40
GOOD = 400 if LONG else 10
ENDED = "the connection ended"
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * (DRIPS + READERS) + 256)), hard))


class Attack(threading.Thread):
    """Keeps `n` connections open, each doing its `move` ten times a second; opens a new one for each
    that the server ends."""

    def __init__(self, port, n, begin, move):
        super().__init__(daemon=True)
        self.port, self.n, self.begin, self.move = port, n, begin, move
        self.over, self.full = threading.Event(), threading.Event()
        self.socks, self.moves = {}, 0

    def open_one(self):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        sock.settimeout(PATIENCE)
        try:
            sock.connect(("127.0.0.1", self.port))
            self.begin(sock)
        except OSError:
            sock.close()
            return
        sock.setblocking(False)
        self.socks[sock.fileno()] = sock

    def run(self):
        while not self.over.is_set():
            for _ in range(self.n - len(self.socks)):
                self.open_one()
                if self.over.is_set():
                    break
            if len(self.socks) == self.n:
                self.full.set()
            for fd, sock in list(self.socks.items()):
                self.moves += 1
                try:
                    self.move(sock)
                except BlockingIOError:
                    pass
                except OSError:
                    sock.close()
                    del self.socks[fd]
            self.over.wait(0.1)
        for sock in self.socks.values():
            sock.close()

    def __enter__(self):
        self.start()
        self.full.wait(PATIENCE)
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def drip(sock):
    sock.send(b"a")
    if sock.recv(4096) == b"":
        raise ConnectionError


def sip(sock):
    if sock.recv(1) == b"":
        raise ConnectionError


class Flood(Case):
    options = ("--connections", str(CONNECTIONS))

    def ask(self, wire):
        """None, where it is answered; else the status, or ENDED."""
        try:
            wire.send(HEAD)
        except ConnectionError:
            return ENDED
        answer = wire.read()
        return ENDED if answer is None else answer.status if answer.status != 200 else None

    def good(self, label):
        """Ordinary requests, each on a connection of its own and one on a connection that is kept. A
        kept one may end before it has its next request, as HTTP allows: then that is on a new one, once."""
        failed, slowest, again, kept = [], 0.0, 0, Wire(self.server.port)
        for _ in range(GOOD):
            begin = time.monotonic()
            try:
                with Wire(self.server.port) as wire:
                    failed += filter(None, [self.ask(wire)])
                said = self.ask(kept)
                if said == ENDED:
                    kept.sock.close()
                    kept, again = Wire(self.server.port), again + 1
                    said = self.ask(kept)
                failed += filter(None, [said])
            except OSError as e:
                failed.append(e)
            slowest = max(slowest, time.monotonic() - begin)
        kept.sock.close()
        evicted = self.server.metric("tollbook_connections_evicted_total")
        print(f"{label}: {2 * GOOD} requests, {len(failed)} failed, slowest pair {slowest * 1000:.0f} ms, "
              f"kept connection opened {again} times again, {evicted:.0f} evicted", flush=True)
        self.assertEqual(failed, [])

    def test_heads_that_never_end(self):
        with Attack(self.server.port, DRIPS, lambda s: s.send(b"GET /he"), drip) as attack:
            self.good(f"{DRIPS} dripping heads")
            self.assertGreater(attack.moves, 0)

    def test_second_heads_that_never_end(self):
        def begin(sock):
            sock.send(HEAD)
            sock.recv(4096)
            sock.send(b"GET /he")
        with Attack(self.server.port, DRIPS // 4, begin, drip):
            self.good(f"{DRIPS // 4} dripping second heads")

    def test_bodies_that_never_end(self):
        head = (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['ingest']}\r\n"
                "Content-Length: 100000\r\n\r\n").encode()
        with Attack(self.server.port, READERS, lambda s: s.send(head), drip):
            self.good(f"{READERS} dripping bodies")

    def test_answers_that_are_never_read(self):
        one = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        with Attack(self.server.port, READERS, lambda s: s.send(one * 20), sip):
            self.good(f"{READERS} slow readers")

    def test_idle_connections(self):
        def begin(sock):
            sock.send(HEAD)
            sock.recv(4096)
        with Attack(self.server.port, READERS, begin, sip):
            self.good(f"{READERS} idle connections")


if __name__ == "__main__":
    unittest.main()
