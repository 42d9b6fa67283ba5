"""One reading of a request: each header in each spelling, with each thing behind it. What a table says is
answered, in order, and then the connection is good for more, or it ends: never another answer, never the
library's page, and nothing waits for a deadline (the client closes its side, and the deadlines are long).

The table says what must come from the meaning of each part alone: whether the first request is sound,
whether it is the connection's last, and what is behind it."""
import contextlib
import itertools
import json
import re
import selectors
import socket
import unittest

from harness import Case, connect, hit

AT_ONCE = 64  # connections
PATIENCE = 10  # seconds until something comes on any of them

# Ways to write a header, whether it is still one, and whether it is tried with everything.
SPELLINGS = [
    ("plain", lambda name, value: name + b": " + value, True, True),
    ("no blank", lambda name, value: name + b":" + value, True, False),
    ("blanks in front", lambda name, value: name + b": \t  " + value, True, False),
    ("a blank behind", lambda name, value: name + b": " + value + b" ", True, False),
    ("a tab behind", lambda name, value: name + b":" + value + b"\t", True, False),
    ("blanks around", lambda name, value: name + b":\t" + value + b" \t ", True, True),
    ("capitals", lambda name, value: name.upper() + b": " + value.upper(), True, False),
    ("small letters", lambda name, value: name.lower() + b": " + value.lower(), True, False),
    ("mixed, a blank behind", lambda name, value: name.swapcase() + b": " + value.title() + b" ", True, False),
    ("a blank before the colon", lambda name, value: name + b" : " + value, False, True),
    ("folded", lambda name, value: name + b":\r\n " + value, False, False),
]

CHUNKS = b"3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n"
TRAILERS = CHUNKS + b"X-A: b\r\nAccessKey: x\r\n\r\n"

# Name and value, the body, and of HTTP/1.1 and HTTP/1.0: whether it is sound, and whether it is the last.
GOES_ON, LAST, WRONG, TOO_LONG = "goes on", "last", "wrong", "too long"
HEADERS = [
    ("length", (b"Content-Length", b"5"), b"hello", GOES_ON, LAST),
    ("length 0", (b"Content-Length", b"0"), b"", GOES_ON, LAST),
    ("length with zeros", (b"Content-Length", b"000000000005"), b"hello", GOES_ON, LAST),
    ("length in a list", (b"Content-Length", b"5, 5"), b"hello", WRONG, WRONG),
    ("chunks", (b"Transfer-Encoding", b"chunked"), CHUNKS + b"\r\n", GOES_ON, WRONG),
    ("trailers", (b"Transfer-Encoding", b"chunked"), TRAILERS, GOES_ON, WRONG),
    ("400 trailer lines", (b"Transfer-Encoding", b"chunked"), CHUNKS + b"a:b\r\n" * 400 + b"\r\n", GOES_ON, WRONG),
    ("no known encoding", (b"Transfer-Encoding", b"identity"), b"", WRONG, WRONG),
    ("expects for nothing", (b"Expect", b"100-continue"), b"", GOES_ON, LAST),
    ("expects something else", (b"Expect", b"the worst"), b"", GOES_ON, LAST),
    ("close", (b"Connection", b"close"), b"", LAST, LAST),
    ("keep alive", (b"Connection", b"keep-alive"), b"", GOES_ON, GOES_ON),
    ("close in a list", (b"Connection", b"x,close , Keep-Alive"), b"", LAST, LAST),
    ("cookie", (b"Cookie", b"a=b; c=d"), b"", GOES_ON, LAST),
    ("a letter", (b"B", b"x"), b"", GOES_ON, LAST),
    ("too long a body", (b"Content-Length", b"70000"), b"x" * 70000, TOO_LONG, TOO_LONG),
    ("upgrade", (b"Upgrade", b"h2c"), b"", GOES_ON, LAST),
]
# More lines beside the header in question.
BESIDE = [(b"", None), (b"Expect: 100-continue \r\n", None), (b"connection:\tCLOSE\t\r\n", LAST)]

NEXT = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
# What stands behind, and what is answered where the first request is not the last.
BEHIND = [
    ("nothing", b"", []),
    ("an empty line", b"\r\n", []),
    ("a request", NEXT, [200]),
    ("an empty line and a request", b"\r\n" + NEXT, [200]),
    ("a request to close, and another", NEXT[:-2] + b"Connection: close\r\n\r\n" + NEXT, [200]),
    ("an older request, and another", b"GET /healthz HTTP/1.0\r\n\r\n" + NEXT, [200]),
    ("a request with chunks ", b"POST /nope HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:chunked \r\n\r\n1\r\na\r\n0\r\n\r\n", [404]),
    ("half a request", NEXT[:20], []),
    ("no request", b"nonsense\r\n\r\n" + NEXT, [400]),
    ("a body without a head", b"x" * 300, []),
    ("bare LF", NEXT.replace(b"\r\n", b"\n"), [400]),
    ("an answer", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", [400]),
]


def table():
    """Name, bytes, and the statuses that must come."""
    for version, target, header, spelling, beside, behind in itertools.product(
            (b"HTTP/1.1", b"HTTP/1.0"), (b"/healthz", b"/statistics"), HEADERS, SPELLINGS, BESIDE, BEHIND):
        beyond = (version != b"HTTP/1.1") + (target != b"/healthz") + bool(beside[0])
        if beyond > (1 if spelling[3] else 0):
            continue
        name, line, body, new, old = header
        way = (new if version == b"HTTP/1.1" else old) if spelling[2] else WRONG
        status = {WRONG: 400, TOO_LONG: 413}.get(way, 200)
        if target == b"/statistics" and way != WRONG:
            status, way = 401, LAST if body else way  # it is refused before its body
        if way == GOES_ON and beside[1]:
            way = LAST
        data = (b"GET " + target + b" " + version + b"\r\nHost: x\r\n" + beside[0] +
                spelling[1](*line) + b"\r\n\r\n" + body)
        yield (" | ".join((version.decode(), target.decode(), name, spelling[0], beside[0].decode().strip(), behind[0])),
               data + behind[1], [status] + (behind[2] if way == GOES_ON else []))


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def answers(raw):
    """The statuses, in order; raises where it is anything but whole answers in JSON, the last one alone with close."""
    statuses, closed = [], False
    while raw:
        if raw.startswith(CONTINUE):
            raw = raw[len(CONTINUE):]
            continue
        head, _, rest = raw.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        if closed:
            raise ValueError("something behind an answer that closes")
        if not status or not length or b"application/json" not in head:
            raise ValueError("no answer in JSON")
        json.loads(rest[:int(length[1])])
        closed = b"\r\nconnection: close" in head.lower()
        statuses.append(int(status[1]))
        raw = rest[int(length[1]):]
    return statuses


class Talk:
    """A connection that has sent a row. Once it has the answers that must come it closes its side."""

    def __init__(self, port, row):
        self.name, self.data, self.wanted = row
        self.sock = connect(port)
        self.got = b""
        self.seen = None
        with contextlib.suppress(ConnectionError):  # it was refused before its end
            self.sock.sendall(self.data)

    def goes_on(self):
        try:
            piece = self.sock.recv(1 << 16)
        except ConnectionError:
            piece = b""
        self.got += piece
        try:
            self.seen = answers(self.got)
        except ValueError as problem:
            self.seen = problem
        if piece and self.seen == self.wanted:
            with contextlib.suppress(OSError):  # it has ended already
                self.sock.shutdown(socket.SHUT_WR)
        return bool(piece)

    def __str__(self):
        return f"{self.name}: {self.seen}, not {self.wanted}\n  {self.data[:300]}\n  {self.got[:600]}"


def talk(port, rows):
    """Has each row answered, and returns the talks that went wrong."""
    wrong, rows = [], iter(rows)
    with selectors.DefaultSelector() as selector:
        while True:
            for row in itertools.islice(rows, AT_ONCE - len(selector.get_map())):
                one = Talk(port, row)
                selector.register(one.sock, selectors.EVENT_READ, one)
            if not selector.get_map():
                return wrong
            ready = selector.select(PATIENCE)
            for key in [key for key, _ in ready] or list(selector.get_map().values()):
                one = key.data
                if ready and one.goes_on():
                    continue
                selector.unregister(one.sock)
                one.sock.close()
                if not ready or one.seen != one.wanted:
                    wrong.append(f"{one}{'' if ready else '  and no end'}")


class Framing(Case):
    options = ("--header-timeout-ms", "60000", "--idle-timeout-ms", "60000", "--body-timeout-ms", "60000")

    def test_each_header_in_each_spelling_with_each_thing_behind_it(self):
        rows = list(table())
        self.assertGreater(len(rows), 2000)
        self.answered(rows)

    def answered(self, rows):
        wrong = talk(self.server.port, rows)
        self.assertFalse(wrong, f"{len(wrong)} of {len(rows)}:\n" + "\n".join(wrong[:10]))

    def test_a_body_that_the_library_does_not_see(self):
        def rows():
            for i, (spelling, beside, behind) in enumerate(itertools.product(SPELLINGS, BESIDE, BEHIND)):
                if not spelling[2] or (spelling[0] != "plain" and behind[0] not in ("a request", "no request")):
                    continue
                body = b"".join(hit(101, j, 100 * i + j) for j in range(800))
                self.assertGreater(len(body), 65536)
                yield (" | ".join((spelling[0], beside[0].decode().strip(), behind[0])),
                       b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\n" + beside[0] +
                       b"AccessKey: " + self.server.keys["ingest"].encode() + b" \r\n" +
                       spelling[1](b"Content-Length", str(len(body)).encode()) + b"\r\n\r\n" + body + behind[1],
                       [200] + ([] if beside[1] else behind[2]))
        self.answered(list(rows()))

    def test_nothing_is_sent_behind_a_stream(self):
        key = self.server.keys["user"].encode()
        for line in (b"GET /pullzone HTTP/1.0", b"GET /pullzone HTTP/1.0\r\nConnection: keep-alive",
                     b"GET /pullzone HTTP/1.1\r\nConnection: close"):
            for name, behind, _ in BEHIND:
                with self.subTest(line=line, behind=name), self.server.wire() as wire:
                    wire.send(line + b"\r\nHost: x\r\nAccessKey: " + key + b"\r\n\r\n" + behind)
                    answer = wire.read()
                    self.assertEqual(answer.headers["connection"], "close")
                    self.assertTrue(wire.ended() or "transfer-encoding" not in answer.headers)
                    self.assertEqual(len(json.loads(answer.body or wire.buffer)), 2)

    def test_a_client_is_asked_for_its_body_once_it_is_let_in(self):
        for length in (5, 70000):
            with self.subTest(length), self.server.wire() as wire:
                for key, status in (("ingest", b"100"), ("nobody", b"401")):
                    wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue \r\nAccessKey: " +
                              self.server.keys.get(key, key).encode() + b"\r\nContent-Length: %d \r\n\r\n" % length)
                    while b"\r\n\r\n" not in wire.buffer:
                        self.assertTrue(wire.fill())
                    self.assertEqual(wire.buffer.split(b" ")[1], status)
                    if status == b"100":
                        wire.buffer = b""
                        wire.send(b"-" * length)
                        self.assertEqual(wire.read().status, 422)  # a line, which no format fits


if __name__ == "__main__":
    unittest.main()
