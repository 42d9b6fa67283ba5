"""What is no request, as the first and as a later one of a connection: one answer at most, ours and
in JSON, or the end; never two, never the library's page, never a status that blames the server."""
import json
import random
import re
import unittest

from harness import Case, random_seed

GOOD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"


def get(*lines, version=b"HTTP/1.1"):
    return b"\r\n".join((b"GET /healthz " + version, b"Host: x") + lines) + b"\r\n\r\n"


def chunked(body, target=b"/healthz"):
    return (b"GET " + target + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + body)


# name, bytes, the statuses that are allowed beside the end without an answer
FORMS = [
    ("length in a list", get(b"Content-Length: 4, 4") + b"abcd", {400}),
    ("negative length", get(b"Content-Length: -4"), {400}),
    ("signed length", get(b"Content-Length: +4") + b"abcd", {400}),
    ("hexadecimal length", get(b"Content-Length: 0x4") + b"abcd", {400}),
    ("empty length", get(b"Content-Length:"), {400}),
    ("length with a point", get(b"Content-Length: 4.0") + b"abcd", {400}),
    ("length of 2^64", get(b"Content-Length: 18446744073709551616"), {400}),
    ("length of 2^64-1", get(b"Content-Length: 18446744073709551615"), {400}),
    ("two lengths", get(b"Content-Length: 4", b"Content-Length: 5") + b"abcde", {400}),
    ("two equal lengths", get(b"Content-Length: 4", b"Content-Length: 4") + b"abcd", {400}),
    ("length and chunks", get(b"Content-Length: 5", b"Transfer-Encoding: chunked") + b"0\r\n\r\n", {400}),
    ("chunks and length", get(b"Transfer-Encoding: chunked", b"Content-Length: 5") + b"0\r\n\r\n", {400}),
    ("two encodings", get(b"Transfer-Encoding: chunked", b"Transfer-Encoding: identity"), {400}),
    ("encoding list", get(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n", {400}),
    ("chunks with 1.0", get(b"Transfer-Encoding: chunked", version=b"HTTP/1.0") + b"0\r\n\r\n", {400}),
    ("a folded header", get(b"X-A: a", b" b"), {400}),
    ("folded with a tab", get(b"X-A: a", b"\tb: c"), {400}),
    ("a line without a colon", get(b"nonsense"), {400}),
    ("a first line without a colon", b"GET / HTTP/1.1\r\nnonsense\r\nHost: x\r\n\r\n", {400}),
    ("a line that begins with a colon", get(b": v", b"GET /statistics HTTP/1.1"), {400}),
    ("a name with a space", get(b"X A: b"), {400}),
    ("a space before the colon", get(b"Content-Length : 3"), {400}),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", {400}),
    ("two hosts", get(b"Host: y"), {400}),
    ("bare LF", GOOD.replace(b"\r\n", b"\n"), {400}),
    ("one bare LF", b"GET /healthz HTTP/1.1\r\nHost: x\nX: y\r\n\r\n", {400}),
    ("bare CR", get(b"X-A: a\rb"), {400}),
    ("NUL in a value", get(b"X-A: a\0b"), {400}),
    ("NUL in a name", get(b"X\0A: b"), {400}),
    ("NUL in the target", b"GET /heal\0thz HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("NUL first", b"\0" + GOOD, {400}),
    ("HTTP/2.0", get(version=b"HTTP/2.0"), {400}),
    ("HTTP/0.9", get(version=b"HTTP/0.9"), {400}),
    ("HTTP/1.10", get(version=b"HTTP/1.10"), {400}),
    ("http/1.1", get(version=b"http/1.1"), {400}),
    ("HTTP/1.9", get(version=b"HTTP/1.9"), {400}),
    ("no version", b"GET /healthz\r\nHost: x\r\n\r\n", {400}),
    ("no target", b"GET HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("two spaces and no target", b"GET  HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("a method that is no token", b"GE(T /healthz HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("a bare CR first", b"\r" + GOOD, {400}),
    ("11,000 empty lines", b"\r\n" * 11000 + GOOD, {400}),
    ("a space first", b" GET / HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("a word", b"GET\r\n\r\n", {400}),
    ("HTTP/2's preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", {400}),
    ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\n" * 40, {400}),
    ("a target of 5 KB", b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", {414}),
    ("a target of 8 KB and headers of 12 KB", b"GET /" + b"a" * 8000 + b" HTTP/1.1\r\nHost: x\r\n" +
     b"".join(b"X-%d: " % i + b"a" * 180 + b"\r\n" for i in range(63)) + b"\r\n", {414}),
    ("a target of 30 KB", b"GET /" + b"a" * 30000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", {414}),
    ("a target without an end", b"GET /" + b"a" * 40000, {414}),
    ("a value of 30 KB", get(b"X-A: " + b"a" * 30000), {431}),
    ("a value without an end", b"GET / HTTP/1.1\r\nX-A: " + b"a" * 40000, {431}),
    ("a name of 30 KB", get(b"a" * 30000 + b": b"), {431}),
    ("a cookie of 13 KB", get(b"Cookie: " + b"a=b; " * 2600), {431}),
    ("2,000 headers", get(*[b"a:b"] * 2000), {431}),
    ("a chunk of zz", chunked(b"zz\r\n"), {400}),
    ("a chunk of -1", chunked(b"-1\r\n"), {400}),
    ("a chunk of 0x1", chunked(b"0x1\r\nA\r\n0\r\n\r\n"), {400}),
    ("a chunk of nothing", chunked(b"\r\n"), {400}),
    ("a chunk and a space", chunked(b"1 \r\nA\r\n0\r\n\r\n"), {400}),
    ("a chunk of 65 bits", chunked(b"1FFFFFFFFFFFFFFFF\r\n"), {413}),
    ("a chunk without its end", chunked(b"3\r\nabcXY0\r\n\r\n"), {400}),
    ("a chunk with a bare LF", chunked(b"3\nabc\n0\n\n"), {400}),
    ("an extension of 30 KB", chunked(b"3;" + b"a" * 30000 + b"\r\nabc\r\n0\r\n\r\n"), {400}),
    ("an extension without an end", chunked(b"3;" + b"a" * 40000), {400}),
    ("a trailer without a colon", chunked(b"0\r\nnonsense\r\n\r\n"), {400}),
    ("a folded trailer", chunked(b"0\r\nX: a\r\n b\r\n\r\n"), {400}),
    ("a trailer of 30 KB", chunked(b"0\r\nX: " + b"a" * 30000 + b"\r\n\r\n"), {431}),
    ("a page with a dot segment", b"GET /console/../statistics HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("an asset behind an encoded slash", b"GET /console/assets%2fmain.js HTTP/1.1\r\nHost: x\r\n\r\n", {400}),
    ("a NUL in a cookie", get(b"Cookie: tollbook_session_8080=a\0b"), {400}),
    ("a control in the console's header", get(b"X-Tollbook-Console: \x01"), {400}),
    ("a sign-in of two lengths", b"POST /console/session HTTP/1.1\r\nHost: x\r\nX-Tollbook-Console: 1\r\n"
     b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
    ("a sign-in in a broken chunk", b"POST /console/session HTTP/1.1\r\nHost: x\r\nX-Tollbook-Console: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", {400}),
    ("a sign-in of 1 GB", b"POST /console/session HTTP/1.1\r\nHost: x\r\nX-Tollbook-Console: 1\r\n"
     b"Content-Length: 1000000000\r\n\r\n{}", {413}),
]

FINE = [
    ("a cookie of 2,000 crumbs", get(b"Cookie: " + b"a=b;" * 2000)),
    ("a cookie of bare crumbs", get(b"cookie: " + b"a;" * 2000)),
    ("two cookies", get(b"Cookie: tollbook_session_8080=a", b"Cookie: tollbook_session_8080=b")),
    ("a page", b"GET /console/zones/101?from=x HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("an extension", chunked(b"3;a=b\r\nabc\r\n0;x\r\n\r\n")),
    ("a trailer", chunked(b"3\r\nabc\r\n0\r\nX-A: b\r\nX-B:\r\n\r\n")),
    ("chunks in capitals", get(b"TRANSFER-ENCODING: Chunked") + b"A\r\n0123456789\r\n0\r\n\r\n"),
    ("empty lines before", b"\r\n\r\n" + GOOD),
    ("10,000 empty lines before", b"\r\n" * 10000 + GOOD),
    ("400 trailer lines", chunked(b"0\r\n" + b"a:b\r\n" * 400 + b"\r\n")),
    ("no spaces", GOOD.replace(b": ", b":")),
]


class Malformed(Case):
    # No deadline ends what should be answered.
    options = ("--header-timeout-ms", "30000", "--idle-timeout-ms", "30000")

    def rest(self, wire):
        """All that comes until the end."""
        while wire.fill():
            pass
        return wire.buffer

    def judge(self, name, raw, statuses):
        self.assertNotIn(b"<html", raw.lower(), name)
        self.assertLessEqual(len(re.findall(rb"HTTP/1\.1 \d", raw)), 1, f"{name}: {raw}")
        if not raw:
            return False
        head, body = raw.split(b"\r\n\r\n", 1)
        self.assertIn(int(head.split(b" ")[1]), statuses, f"{name}: {raw}")
        self.assertEqual(list(json.loads(body)), ["ErrorKey", "Field", "Message"])
        self.assertIn(b"connection: close", head.lower())
        return True

    def test_as_the_first_request(self):
        answered = 0
        for name, data, statuses in FORMS:
            with self.subTest(name), self.server.wire() as wire:
                self.send(wire, data)
                answered += self.judge(name, self.rest(wire), statuses)
        self.assertGreaterEqual(answered, len(FORMS) - 4)  # a reset may overtake a long one's answer

    def test_as_the_second_request(self):
        answered = 0
        for name, data, statuses in FORMS:
            with self.subTest(name), self.server.wire() as wire:
                wire.send(GOOD)
                self.assertEqual(wire.read().status, 200)
                self.send(wire, data)
                answered += self.judge(name, self.rest(wire), statuses)
        self.assertGreaterEqual(answered, len(FORMS) - 4)

    def test_right_behind_another_request(self):
        for name, data, statuses in FORMS:
            with self.subTest(name), self.server.wire() as wire:
                self.send(wire, GOOD + GOOD + data)
                for _ in range(2):
                    answer = wire.read()
                    self.assertIsNotNone(answer, name)
                    self.assertEqual(answer.status, 200, name)
                self.judge(name, self.rest(wire), statuses)

    def test_byte_by_byte(self):
        for name, data, statuses in FORMS:
            if len(data) > 300:
                continue
            with self.subTest(name), self.server.wire() as wire:
                wire.send(GOOD)
                self.assertEqual(wire.read().status, 200)
                try:
                    for byte in data:
                        wire.send(bytes([byte]))
                except ConnectionError:
                    pass
                self.judge(name, self.rest(wire), statuses)

    def test_what_is_fine_is_answered_and_the_next_too(self):
        for name, data in FINE:
            for pieces in ([data + GOOD], [data, GOOD], [bytes([b]) for b in data[:400]] + [data[400:] + GOOD]):
                with self.subTest(name), self.server.wire() as wire:
                    wire.send(GOOD)
                    for piece in pieces:
                        wire.send(piece)
                    self.assertEqual([wire.read().status for _ in range(3)], [200] * 3, name)

    def test_requests_cut_anywhere_are_answered_in_order(self):
        rng = random.Random(random_seed())
        kinds = [GOOD, FINE[0][1], FINE[2][1], FINE[3][1], get(b"Content-Length: 40000") + b"x" * 40000,
                 chunked(b"1000\r\n" + b"y" * 4096 + b"\r\n0\r\n\r\n"), get(b"X-A: " + b"a" * 9000), get(b"Accept: " + b"a" * 9000)]
        for _ in range(30):
            requests = [rng.choice(kinds) for _ in range(rng.randint(1, 12))]
            data = b"".join(requests)
            with self.server.wire() as wire:
                while data:
                    n = rng.choice([1, 7, 300, 5000, 50000])
                    wire.send(data[:n])
                    data = data[n:]
                got = [wire.read().status for _ in requests]
                self.assertEqual(got, [200] * len(requests))

    def test_it_is_counted(self):
        before = self.server.metric("tollbook_malformed_requests_total")
        with self.server.wire() as wire:
            wire.send(b"nonsense\r\n\r\n")
            self.rest(wire)
        self.assertEqual(self.server.metric("tollbook_malformed_requests_total"), before + 1)

    @staticmethod
    def send(wire, data):
        try:
            wire.send(data)
        except ConnectionError:
            pass  # it was refused before its end


if __name__ == "__main__":
    unittest.main()
