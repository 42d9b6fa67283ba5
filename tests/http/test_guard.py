"""Raw bytes on a socket: what libmicrohttpd lets through must be refused, once, and the connection
closed; what is merely unusual must work. One row a case, sent whole, in two parts at every byte, or
byte by byte."""
import unittest

from harness import Case

# name, bytes, status (0: closed without an answer), JSON body
HEAD = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
CASES = [
    ("two hosts", HEAD + b"Host: y\r\n\r\n", 400),
    ("no host", b"GET /healthz HTTP/1.1\r\n\r\n", 400),
    ("length and chunks", HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("two equal lengths", HEAD + b"Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400),
    ("two lengths", HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabc", 400),
    ("length in a list", HEAD + b"Content-Length: 3, 3\r\n\r\nabc", 400),
    ("negative length", HEAD + b"Content-Length: -3\r\n\r\n", 400),
    ("signed length", HEAD + b"Content-Length: +3\r\n\r\nabc", 400),
    ("length of 2^64-1", HEAD + b"Content-Length: 18446744073709551615\r\n\r\n", 400),
    ("length of 2^64", HEAD + b"Content-Length: 18446744073709551616\r\n\r\n", 400),
    ("empty length", HEAD + b"Content-Length: \r\n\r\n", 400),
    ("space before the colon", HEAD + b"Transfer-Encoding : chunked\r\n\r\n", 400),
    ("tab before the colon", HEAD + b"X-A\t: b\r\n\r\n", 400),
    ("a name that is no token", HEAD + b"X(A): b\r\n\r\n", 400),
    ("encoding identity", HEAD + b"Transfer-Encoding: identity\r\n\r\n", 400),
    ("encoding list", HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 400),
    ("two encodings", HEAD + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("chunks with 1.0", b"POST /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    ("bare CR in a value", HEAD + b"X-A: a\rb\r\n\r\n", 400),
    ("control byte in a value", HEAD + b"X-A: a\x01b\r\n\r\n", 400),
    ("DEL in a value", HEAD + b"X-A: a\x7fb\r\n\r\n", 400),
    ("two keys", HEAD + b"AccessKey: a\r\nAccessKey: b\r\n\r\n", 400),
    ("two authorizations", HEAD + b"Authorization: a\r\nAuthorization: a\r\n\r\n", 400),
    ("HTTP/1.9", b"GET /healthz HTTP/1.9\r\nHost: x\r\n\r\n", 400),
    ("lower-case method", b"get /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 501),
    ("unknown method", b"BREW /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 501),
    ("TRACE", b"TRACE /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    ("OPTIONS", b"OPTIONS /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 405),
    ("OPTIONS *", b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("CONNECT to a host", b"CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("absolute target", b"GET http://x/healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("no slash", b"GET healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("8-bit path", b"GET /healthz\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("control byte in the target", b"GET /healthz\x01 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("NUL in the path", b"GET /healthz\x00/x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("NUL in the query", b"GET /healthz?a=b\x00c HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("space in the target", b"GET /healthz x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("two spaces", b"GET  /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("two spaces behind", b"GET /healthz  HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("fragment", b"GET /healthz#x HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("%00", b"GET /healthz%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("%00 in the query", b"GET /healthz?a=%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("broken escape", b"GET /healthz?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("cut escape", b"GET /healthz?a=% HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded slash", b"GET /x%2Fhealthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded backslash", b"GET /x%5chealthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("dot segment", b"GET /x/../healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("encoded dot segment", b"GET /x/%2e%2E/healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("half encoded dot segment", b"GET /x/.%2e HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("single dot", b"GET /./healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("double slash", b"GET //healthz HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ("two trailing slashes", b"GET /healthz// HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ("semicolon", b"GET /healthz;x=1 HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ("overlong UTF-8", b"GET /%c0%ae%c0%ae/healthz HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ("encoded letter", b"GET /%68ealthz HTTP/1.1\r\nHost: x\r\n\r\n", 404),
    ("control byte in a path", b"GET /healthz\x0f HTTP/1.1\r\nHost: x\r\n\r\n", 400),
    ("body where none belongs, 64 KiB and a byte", HEAD + b"Content-Length: 65537\r\n\r\nabc", 413),
    ("chunks where none belong, 64 KiB and a byte", HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
     b"10000\r\n" + b"x" * 65536 + b"\r\n1\r\nx\r\n0\r\n\r\n", 413),
]
CLOSES = {400, 413, 414, 431}

FINE = [
    ("plain", HEAD + b"\r\n"),
    ("length 0", HEAD + b"Content-Length: 0\r\n\r\n"),
    ("empty line before", b"\r\n" + HEAD + b"\r\n"),
    ("no space after the colon", b"GET /healthz HTTP/1.1\r\nHost:x\r\n\r\n"),
    ("space after the value", b"GET /healthz HTTP/1.1\r\nHost: x \t \r\n\r\n"),
    ("8-bit value", HEAD + b"X-A: \xc3\xa4\r\n\r\n"),
    ("empty value", HEAD + b"X-A:\r\n\r\n"),
    ("query", b"GET /healthz?a=%2F..%2F&b=/../ HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("1.0 without a host", b"GET /healthz HTTP/1.0\r\n\r\n"),
    ("64 lines", HEAD + b"".join(b"X-%d: y\r\n" % i for i in range(63)) + b"\r\n"),
    ("target of 4096 bytes", b"GET /healthz?" + b"a" * (4096 - 9) + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
    ("900 parameters", b"GET /healthz?" + b"a&" * 1500 + b" HTTP/1.1\r\nHost: x\r\n\r\n"),
]


# A body that the route does not take is read and not looked at.
IGNORED = [
    ("an object", b"Content-Length: 2\r\n\r\n{}"),
    ("no JSON, of an unknown coding", b"Content-Encoding: x\r\nContent-Length: 3\r\n\r\nabc"),
    ("chunks", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"),
    ("64 KiB", b"Content-Length: 65536\r\n\r\n" + b"x" * 65536),
    ("64 KiB in chunks", b"Transfer-Encoding: chunked\r\n\r\n" +
     (b"4000\r\n" + b"x" * 16384 + b"\r\n") * 4 + b"0\r\n\r\n"),
]


class Guard(Case):
    options = ("--header-timeout-ms", "30000")

    def check(self, name, data, status):
        with self.server.wire() as wire:
            wire.send(data)
            answer = wire.read()
            self.assertIsNotNone(answer, name)
            self.assertEqual(answer.status, status, name)
            self.assertEqual(list(answer.json()), ["ErrorKey", "Field", "Message"])
            if status in CLOSES:
                self.assertTrue(wire.ended(), f"{name}: something follows the refusal")

    def test_what_must_be_refused(self):
        for name, data, status in CASES:
            with self.subTest(name):
                self.check(name, data, status)

    def test_limits_at_their_edge(self):
        def lines(n):
            return HEAD + b"".join(b"X-%d: y\r\n" % i for i in range(n - 1)) + b"\r\n"
        self.check("65 lines", lines(65), 431)
        self.check("12 KiB of headers", HEAD + b"X: " + b"a" * (12288 - 5) + b"\r\n\r\n", 431)
        self.check("4097 bytes", b"GET /" + b"a" * 4096 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414)
        with self.server.wire() as wire:
            wire.send(HEAD + b"X: " + b"a" * (12288 - 6) + b"\r\n\r\n")
            self.assertEqual(wire.read().status, 200)

    def test_the_largest_head_has_room(self):
        target = b"/healthz?" + b"a=b&" * 1021 + b"abc"
        self.assertEqual(len(target), 4096)
        names = [b"X-%d" % i for i in range(63)]
        room = 12288 - len(b"HostX") - sum(map(len, names))
        values = [b"v" * (room // 63) for _ in names]
        values[0] += b"v" * (room % 63)
        head = b"GET " + target + b" HTTP/1.1\r\nHost: X\r\n" + b"".join(
            name + b": " + value + b"\r\n" for name, value in zip(names, values)) + b"\r\n"
        with self.server.wire() as wire:
            for _ in range(2):
                wire.send(head)
                self.assertEqual(wire.read().status, 200)
            wire.send(head.replace(b"vv", b"vvv", 1))
            self.assertEqual(wire.read().status, 431)

    def test_the_largest_head_that_the_library_sees_has_room(self):
        lines = [b"Host: X", b"Cookie: ", b"Accept: ", b"Origin: "]
        room = 12288 - len(b"HostXCookieAcceptOrigin")
        for share in (room // 3, room - 2, 1):
            values = [share, (room - share) // 2, room - share - (room - share) // 2]
            head = (b"GET /healthz?" + b"a=b&" * 1021 + b"abc HTTP/1.1\r\n" + lines[0] + b"\r\n" +
                    b"".join(line + b"v" * n + b"\r\n" for line, n in zip(lines[1:], values)) + b"\r\n")
            with self.server.wire() as wire:
                wire.send(head * 5 + head.replace(b"vv", b"vvv", 1))
                self.assertEqual([wire.read().status for _ in range(6)], [200] * 5 + [431], share)

    def test_what_is_fine(self):
        for name, data in FINE:
            with self.subTest(name), self.server.wire() as wire:
                wire.send(data)
                answer = wire.read()
                self.assertIsNotNone(answer, name)
                self.assertEqual(answer.status, 200, name)
                self.assertEqual(answer.json(), {"status": "alive"})

    def test_a_body_that_nobody_asked_for_is_ignored(self):
        key = f"AccessKey: {self.server.keys['user']}\r\n".encode()
        with self.server.wire() as wire:
            for name, body in IGNORED:
                with self.subTest(name):
                    wire.send(b"GET /pullzone HTTP/1.1\r\nHost: x\r\n" + key + body + HEAD + b"\r\n")
                    self.assertEqual([wire.read().status, wire.read().status], [200, 200])

    def test_a_request_may_come_in_two_parts_cut_anywhere(self):
        data = HEAD + b"Accept-Encoding: gzip\r\nX-A: b\r\n\r\n"
        with self.server.wire() as wire:
            for at in range(1, len(data)):
                wire.send(data[:at])
                wire.send(data[at:])
                self.assertEqual(wire.read().status, 200, at)

    def test_a_refusal_is_the_same_byte_by_byte(self):
        for name, data, status in CASES[:3] + CASES[11:12]:
            with self.subTest(name), self.server.wire() as wire:
                try:
                    for byte in data:
                        wire.send(bytes([byte]))
                except ConnectionError:
                    pass  # refused before its end was sent
                answer = wire.read()
                if answer is not None:  # else a reset ran ahead of it
                    self.assertEqual(answer.status, status)

    def test_pipelined_requests_are_answered_in_order(self):
        with self.server.wire() as wire:
            wire.send((HEAD + b"\r\n") * 3 + b"GET /nope HTTP/1.1\r\nHost: x\r\n\r\n" + HEAD + b"\r\n")
            self.assertEqual([wire.read().status for _ in range(5)], [200, 200, 200, 404, 200])

    def test_a_folded_header_gives_no_key(self):
        key = self.server.keys["user"].encode()
        for data in (b"AccessKey:\r\n " + key, b"AccessKey: " + key[:20] + b"\r\n " + key[20:],
                     b"Access\r\n Key: " + key, b"X: y\r\n AccessKey: " + key):
            with self.server.wire() as wire:
                wire.send(b"GET /statistics HTTP/1.1\r\nHost: x\r\n" + data + b"\r\n\r\n")
                answer = wire.read()
                if answer is not None:
                    self.assertIn(answer.status, (400, 401), data)

    def test_a_nul_in_the_key_leaves_no_longer_key(self):
        key = self.server.keys["user"].encode()
        with self.server.wire() as wire:
            wire.send(b"GET /statistics HTTP/1.1\r\nHost: x\r\nAccessKey: " + key[:-1] + b"\0" +
                      key[-1:] + b"\r\n\r\n")
            self.assertIn(wire.read().status, (400, 401))

    def test_a_trailer_gives_no_key(self):
        key = self.server.keys["ingest"].encode()
        with self.server.wire() as wire:
            wire.send(b"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                      b"0\r\nAccessKey: " + key + b"\r\n\r\n")
            self.assertEqual(wire.read().status, 401)

    def test_broken_chunks(self):
        head = (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['ingest']}"
                "\r\nTransfer-Encoding: chunked\r\n\r\n").encode()
        for name, data, status in (("no number", b"zz\r\n", 400), ("no CRLF", b"3\r\nabcXY", 400),
                                   ("65 bits", b"1FFFFFFFFFFFFFFFF\r\n", 413),
                                   ("empty number", b"\r\n", 400)):
            with self.subTest(name), self.server.wire() as wire:
                wire.send(head + data)
                answer = wire.read()
                self.assertIsNotNone(answer, name)
                self.assertEqual(answer.status, status, name)
                self.assertTrue(wire.ended())

    def test_afterwards_it_still_serves(self):
        self.assertEqual(self.server.get("/statistics").status, 200)



if __name__ == "__main__":
    unittest.main()
