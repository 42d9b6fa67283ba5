"""TLS in the server: versions, certificates that are read again, handshakes that are slow or go wrong, and the end of a
connection. Python's ssl, curl and `openssl s_client` are the clients. The long form runs other scripts through TLS.
"""
import contextlib
import os
import re
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, Server, Tls, Wire, hit, run
from script import LONG

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
COPIES = 30  # of a large answer: more than the sockets hold
LAST = HEALTH.replace(b"Host: x", b"Host: x\r\nConnection: close")
FOLDER = tempfile.TemporaryDirectory(prefix="tollbook-tls-")
PAIR = Tls(FOLDER.name)


def hello():
    """What a client sends first."""
    sent = ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        PAIR.context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost").do_handshake()
    return sent.read()


def raw(port):
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


def rest(sock):
    """All that comes, and whether its end is the session's."""
    got = bytearray()
    while True:
        try:
            piece = sock.recv(1 << 16)
        except ConnectionError:
            return bytes(got), False
        if not piece:
            return bytes(got), True
        got += piece


class Encrypted(Case):
    options = PAIR.options

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.wire = lambda: Wire(cls.server.port, context=PAIR.context)

    def wire(self, **settings):
        context = PAIR.client()
        for name, value in settings.items():
            setattr(context, name, value)
        return Wire(self.server.port, context=context)

    def s_client(self, *options, say=HEALTH):
        """openssl's client, which sends `say` and ends; its output."""
        done = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", "-CAfile", PAIR.certificate,
                               "-ign_eof", *options], input=say, capture_output=True, check=False, timeout=PATIENCE)
        return (done.stdout + done.stderr).decode(errors="replace")

    # --- the handshake ---

    def test_versions(self):
        for version in ("TLSv1_2", "TLSv1_3"):
            version = ssl.TLSVersion[version]
            with self.wire(minimum_version=version, maximum_version=version) as wire:
                self.assertEqual(wire.ask("GET", "/healthz").status, 200)
                self.assertEqual(wire.sock.version(), version.name.replace("_", "."))
        for refused in (("-tls1_1", "-cipher", "ALL@SECLEVEL=0"), ("-tls1_2", "-cipher", "AES128-GCM-SHA256"),
                        ("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"), ("-alpn", "h2")):
            self.assertRegex(self.s_client(*refused), "alert (protocol version|handshake failure|no application protocol)", refused)

    def test_the_protocol_is_http_1(self):
        for offered, chosen in ((["h2", "http/1.1"], "http/1.1"), (["http/1.0"], "http/1.0"), ([], None)):
            context = PAIR.client()
            if offered:
                context.set_alpn_protocols(offered)
            with Wire(self.server.port, context=context) as wire:
                self.assertEqual(wire.sock.selected_alpn_protocol(), chosen)
                self.assertEqual(wire.ask("GET", "/healthz").status, 200)

    def test_plain_http_is_told_so(self):
        failures = self.server.metric("tollbook_tls_failures_total")
        with raw(self.server.port) as sock:
            sock.sendall(HEALTH)
            answer = rest(sock)[0]
        self.assertTrue(answer.startswith(b"HTTP/1.1 400 "), answer)
        self.assertIn(b"Begin its URL with https://.", answer)
        with raw(self.server.port) as sock:
            sock.sendall(b"\x00\x01nonsense")
            self.assertEqual(rest(sock)[0], b"")
        with raw(self.server.port) as sock:  # a record of a handshake that holds none: an alert
            sock.sendall(b"\x16\x03\x01\x00\x04\x01\xff\xff\xff" + b"x" * 100)
            self.assertEqual(rest(sock)[0][:1], b"\x15")
        self.assertEqual(self.server.metric("tollbook_tls_failures_total"), failures + 3)

    def test_byte_by_byte(self):
        """A handshake and a request, a byte in each segment, and one in each record."""
        with raw(self.server.port) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            ours, theirs = ssl.MemoryBIO(), ssl.MemoryBIO()
            session = PAIR.context.wrap_bio(theirs, ours, server_hostname="localhost")

            def go_on(step):
                while True:
                    with contextlib.suppress(ssl.SSLWantReadError):
                        done = step()
                        break_now = True
                    sent, break_now = ours.read(), "done" in locals()
                    for byte in sent:
                        sock.sendall(bytes([byte]))
                    if break_now:
                        return done
                    theirs.write(sock.recv(1 << 16))

            go_on(session.do_handshake)
            for byte in HEALTH:
                go_on(lambda b=bytes([byte]): session.write(b))
            self.assertTrue(go_on(lambda: session.read(1000)).startswith(b"HTTP/1.1 200 "))

    def test_no_renegotiation_and_new_keys(self):
        with self.wire() as wire:
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)
        for options, command, after in ((("-tls1_2",), b"R\n", None), (("-tls1_3",), b"K\n", b"HTTP/1.1 200")):
            with subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", "-CAfile",
                                   PAIR.certificate, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, bufsize=0) as client:
                said = b""
                while b"Verify return code" not in said:
                    said += client.stdout.read(1 << 16)
                client.stdin.write(command)
                said = b""
                while after and b"KEYUPDATE" not in said:
                    said += client.stdout.read(1 << 16)
                with contextlib.suppress(BrokenPipeError):
                    client.stdin.write(LAST if after else HEALTH)
                while piece := client.stdout.read(1 << 16):
                    said += piece
                client.stdin.close()
            if after:
                self.assertIn(after, said)
            else:
                self.assertNotIn(b"HTTP/1.1 200", said)

    # --- requests ---

    def test_requests_in_one_record_and_in_many(self):
        with self.wire() as wire:
            wire.send(HEALTH * 30)
            self.assertEqual([wire.read().status for _ in range(30)], [200] * 30)
            wire.send(HEALTH[:20])
            wire.send(HEALTH[20:] + HEALTH)
            self.assertEqual([wire.read().status for _ in range(2)], [200] * 2)

    def test_the_cookie_is_secure(self):
        answer = self.server.ask("POST", "/console/session", body=b'{"key":"%s"}' % self.server.keys["user"].encode(),
                                 X_Tollbook_Console="1", Content_Type="application/json")
        self.assertEqual(answer.status, 200, answer.body)
        self.assertTrue(answer.headers["set-cookie"].endswith("; Secure"), answer.headers)

    def test_clients(self):
        """curl with both HTTP versions, and tollbook itself."""
        url = f"https://localhost:{self.server.port}/openapi.json"
        plain, zipped, old = [subprocess.run(["curl", "-sS", "--cacert", PAIR.certificate, *options, url], check=True,
                                             capture_output=True).stdout for options in ((), ("--compressed",), ("--http1.0",))]
        self.assertGreater(len(plain), 100000)
        self.assertEqual(plain, zipped)
        self.assertEqual(plain, old)
        self.assertEqual(subprocess.run(["curl", "-s", url], check=False).returncode, 60)  # not trusted
        for options, expect in (((), 3), (("--ca", PAIR.certificate), 0)):
            done = run("ingest", "--server", self.server.url, "--key", self.server.keys["ingest"], *options, "-",
                       stdin=hit(101), expect=None)
            self.assertEqual(done.returncode, expect, done.stderr)
        said = run("ingest", "--db", self.server.db, "-", stdin=hit(101), expect=None).stderr.decode()
        self.assertIn(f"--server https://127.0.0.1:{self.server.port} ", said)

    # --- bodies and answers ---

    def upload(self, body, cuts=(), after=b""):
        """A batch, cut into records there, and `after` in the last one. Returns the wire."""
        wire = self.wire()
        head = (f"POST /ingest/logs HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['ingest']}\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        data, at = head + body + after, 0
        for cut in (*(len(head) + c for c in cuts), len(data)):
            wire.send(data[at:cut])
            at = cut
        return wire

    def test_a_large_body_is_received_whole(self):
        lines = b"".join(hit(101, i % 3600, 5000 + i) for i in range(20000))
        turn = (20 << 10) + (1 << 20)  # what came with the head, and a turn of the body receiver; the rest is within a record
        for n, cuts in ((turn + 5000, ()), (70000, (1, 2, 30000)), (66000, (-3, 65000)), (200000, (199999,))):
            n = lines.rindex(b"\n", 0, n) + 1
            body, lines = lines[:n], lines[n:]  # new lines each time
            with self.upload(body, [n - 1 if c == 199999 else c for c in cuts], HEALTH) as wire:
                answer = wire.read("POST")
                self.assertEqual((answer.status, answer.json()["accepted"]), (200, body.count(b"\n")), answer.body)
                self.assertEqual(wire.read().status, 200)

    def test_a_slow_reader_gets_every_byte(self):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", self.server.port))
        ask = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"
        with PAIR.context.wrap_socket(sock, server_hostname="localhost") as sock:
            sock.sendall(ask * COPIES + LAST)
            parts, whole = rest(sock)
        self.assertTrue(whole)
        document = self.server.ask("GET", "/openapi.json").body
        self.assertEqual(parts.count(b"\r\n\r\n" + document), COPIES)
        self.assertTrue(parts.endswith(b'{"status":"alive"}'))

    # --- the end ---

    def test_the_last_answer_ends_the_session(self):
        for data in (LAST, b"nonsense\r\n\r\n", HEALTH.replace(b"1.1", b"1.0")):
            with self.wire() as wire:
                wire.send(data)
                answer, whole = rest(wire.sock)
                self.assertTrue(answer.startswith(b"HTTP/1."), answer)
                self.assertTrue(whole, data)

    def test_half_a_connection(self):
        """A client that has ended its side, without the session's end, still gets its answer."""
        with self.wire() as wire:
            wire.send(HEALTH)
            wire.shut()
            self.assertEqual(wire.read().status, 200)
            self.assertTrue(rest(wire.sock)[1])

    def test_the_clients_end_is_answered(self):
        with self.wire() as wire:
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)
            wire.sock.unwrap()  # sends the alert and waits for ours


class Short(unittest.TestCase):
    """Deadlines, and room for few."""

    def setUp(self):
        self.server = Server(*PAIR.options, "--header-timeout-ms", "2000", "--body-timeout-ms", "400", "--idle-timeout-ms", "300",
                             log=b"")
        self.server.wire = lambda: Wire(self.server.port, context=PAIR.context)

    def tearDown(self):
        self.server.close()

    def test_handshakes_that_do_not_go_on(self):
        """None holds up others, and each ends at its deadline."""
        first = hello()
        socks = [raw(self.server.port) for _ in range(150)]
        for i, sock in enumerate(socks):
            sock.sendall(first[:(0, 1, 100, len(first))[i % 4]])
        half = Wire(self.server.port, context=PAIR.context)  # a head that does not go on
        half.send(HEALTH[:10])
        began = time.monotonic()
        self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
        self.assertGreater(self.server.metric("tollbook_lobby_connections"), 100)
        for sock in socks:
            rest(sock)
            sock.close()
        self.assertEqual(rest(half.sock), (b"", False))
        half.sock.close()
        self.assertLess(time.monotonic() - began, PATIENCE / 2)
        self.assertEqual(self.server.metric('tollbook_deadline_closes_total{phase="new"}'), 151)
        self.assertLess(self.server.metric("tollbook_lobby_connections"), 2)  # perhaps the one that asks

    def test_an_answer_that_is_cut_off_has_no_end(self):
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(PATIENCE)
        sock.connect(("127.0.0.1", self.server.port))
        late = 'tollbook_deadline_closes_total{phase="send"}'
        with PAIR.context.wrap_socket(sock, server_hostname="localhost", suppress_ragged_eofs=False) as sock:
            sock.sendall(b"GET /openapi.json HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" * 60)
            end = time.monotonic() + PATIENCE
            while self.server.metric(late) == 0:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            self.assertFalse(rest(sock)[1])

    def test_an_idle_connection_is_closed(self):
        with self.server.wire() as wire:
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)
            self.assertEqual(rest(wire.sock), (b"", True))
        with self.server.wire() as wire:
            self.assertEqual(wire.ask("GET", "/healthz").status, 200)
            self.server.process.terminate()
            self.assertEqual(rest(wire.sock), (b"", True))
            self.assertEqual(self.server.stop(0), 0)


class Cut(unittest.TestCase):
    def test_an_answer_that_fails_half_way_has_no_end(self):
        """The older block of a zone's log cannot be read. The server closes the connection; the session does not end."""
        server = Server(log=b"")
        self.addCleanup(server.folder.cleanup)
        self.addCleanup(server.stop)
        server.wire = lambda: Wire(server.port, context=PAIR.context)
        server.stop()
        for text, n in (("x", 100), ("y" * 100, 8000)):
            line = hit(101, 0).replace(b"https://z/x", b"https://z/" + text.encode())
            run("ingest", "--db", server.db, "-", stdin=b"".join(
                line.replace(b"1793707200000", b"%d" % ((1793754000000 if n == 100 else 1793779200000) + i)) for i in range(n)))
        with contextlib.closing(sqlite3.connect(server.db)) as file, file:
            trigger = file.execute("SELECT sql FROM sqlite_master WHERE name='log_block_no_update'").fetchone()[0]
            file.execute("DROP TRIGGER log_block_no_update")
            file.execute("UPDATE log_block SET data=zeroblob(length(data)) WHERE id=(SELECT id FROM log_block ORDER BY last_ms LIMIT 1)")
            file.execute(trigger)
        server.start(*PAIR.options)
        with Wire(server.port, context=PAIR.context) as wire:
            wire.send(f"GET /11-04-26/101.log HTTP/1.1\r\nHost: x\r\nAccessKey: {server.keys['user']}\r\n\r\n".encode())
            answer, whole = rest(wire.sock)
        self.assertTrue(answer.startswith(b"HTTP/1.1 200 "), answer[:300])
        self.assertFalse(answer.endswith(b"\r\n0\r\n\r\n"))
        self.assertFalse(whole)
        self.assertEqual(server.metric('tollbook_deadline_closes_total{phase="send"}'), 0)  # it did not wait for its deadline
        self.assertEqual(server.stop(), 0)


class Files(unittest.TestCase):
    """What is said of bad files, at the start and at SIGHUP."""

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tollbook-tls-")))
        run("init", "--db", self.folder / "t.db")

    def refused(self, status, *options):
        done = run("serve", "--db", self.folder / "t.db", "--listen", "127.0.0.1:0", *options, expect=None)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.decode()

    def test_what_cannot_be_used(self):
        other = Tls(self.folder, "other")
        empty, sealed = self.folder / "empty", self.folder / "sealed"
        empty.write_text("nothing\n")
        subprocess.run(["openssl", "ec", "-aes128", "-passout", "pass:x", "-in", PAIR.key, "-out", sealed], check=True, capture_output=True)
        for status, cert, key, why in ((2, PAIR.certificate, None, "need each other"), (2, None, PAIR.key, "need each other"),
                                       (3, self.folder / "no", PAIR.key, "--tls-cert .*/no: No such file"),
                                       (3, PAIR.certificate, self.folder / "no", "--tls-key .*/no: No such file"),
                                       (3, empty, PAIR.key, "holds no certificate"), (3, PAIR.certificate, empty, "holds no private key"),
                                       (3, PAIR.certificate, sealed, "without a passphrase"),
                                       (3, PAIR.certificate, other.key, "The key does not belong to the certificate")):
            options = [word for option, path in (("--tls-cert", cert), ("--tls-key", key)) if path for word in (option, path)]
            self.assertRegex(self.refused(status, *options), why)

    def test_a_chain_and_other_keys(self):
        """The whole chain is sent, whatever its order; keys of RSA and Ed25519 serve, too."""
        root = Tls(self.folder, "root", "-addext", "keyUsage=keyCertSign")
        for kind in (("-newkey", "ed25519"), *[("-newkey", "rsa:2048")] * LONG):
            leaf = Tls(self.folder, "leaf", "-CA", root.certificate, "-CAkey", root.key, "-addext", "basicConstraints=CA:FALSE", key=kind)
            leaf.certificate.write_text(leaf.certificate.read_text() + root.certificate.read_text())
            server = Server(*leaf.options, log=b"")
            with Wire(server.port, context=root.context) as wire:
                self.assertEqual(wire.ask("GET", "/healthz").status, 200)
            server.wire = lambda s=server: Wire(s.port, context=root.context)
            server.close()

    def test_what_is_warned_of(self):
        old = Tls(self.folder, "old")
        self.assertEqual(subprocess.run(["openssl", "x509", "-in", old.certificate, "-signkey", old.key, "-days", "0", "-out",
                                         old.certificate], capture_output=True, check=False).returncode, 0)  # valid until now
        PAIR.key.chmod(0o640)
        self.addCleanup(PAIR.key.chmod, 0o600)
        for pair, why in ((PAIR, f"Warning: others may read the TLS key {PAIR.key}: chmod 600"),
                          (old, f"Warning: the certificate {old.certificate} expired at 20")):
            server = Server(*pair.options, log=b"")
            server.wire = lambda s=server: Wire(s.port, context=unverified())
            self.assertIn(f" warning tollbook serve: {why}", server.messages())
            self.assertIn(f"listening on https://127.0.0.1:{server.port}", server.messages())
            server.close()


def unverified():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Hupped(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tollbook-tls-")))
        self.old, self.new = Tls(self.folder, "old"), Tls(self.folder, "new")
        self.both = ssl.create_default_context(cafile=self.old.certificate)
        self.both.load_verify_locations(self.new.certificate)
        self.cert, self.key = self.folder / "cert", self.folder / "key"
        self.put(self.old)
        self.server = Server("--tls-cert", self.cert, "--tls-key", self.key, "--logging-listen", "127.0.0.1:0", log=b"")
        self.server.wire = lambda: Wire(self.server.port, context=self.both)
        self.addCleanup(self.server.close)

    def put(self, cert, key=None):
        self.cert.write_text(cert.certificate.read_text())
        self.key.write_text((key or cert).key.read_text())
        self.key.chmod(0o600)

    def hup(self):
        before = len(self.server.messages())
        self.server.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE
        while "SIGHUP: reloaded " not in (new := self.server.messages()[before:]) or not new.endswith("\n"):
            self.assertLess(time.monotonic(), end, new)
            time.sleep(0.005)
        return new

    def name(self, port=None):
        with Wire(port or self.server.port, context=self.both) as wire:
            return dict(pair[0] for pair in wire.sock.getpeercert()["subject"])["commonName"]

    def test_the_next_sessions_have_the_new_certificate(self):
        logging = int(re.search(r"https://127\.0\.0\.1:(\d+) for request logs", self.server.messages())[1])
        stop, counts, wrong = threading.Event(), [0, 0], []

        def load(i):
            while not stop.is_set():
                try:
                    self.assertEqual(self.server.ask("GET", "/healthz").status, 200)
                    counts[i] += 1
                except Exception as problem:  # shown below
                    wrong.append(problem)

        threads = [threading.Thread(target=load, args=(i,)) for i in range(2)]
        with self.server.wire() as before:
            self.assertEqual(before.ask("GET", "/healthz").status, 200)
            for thread in threads:
                thread.start()
            for pair, name in ((self.new, "new"), (self.old, "old")) * 3:
                seen = sum(counts)
                self.put(pair)
                self.assertIn("reloaded the TLS certificate", self.hup())
                self.assertEqual((self.name(), self.name(logging)), (name, name))
                while sum(counts) < seen + 4 and not wrong:
                    time.sleep(0.002)
            stop.set()
            for thread in threads:
                thread.join()
            self.assertEqual(before.ask("GET", "/healthz").status, 200)  # with the certificate of its beginning
        self.assertEqual(wrong, [])

    def test_a_bad_pair_leaves_the_old_one(self):
        stays = "SIGHUP: the TLS certificate stays as it was: "
        self.put(self.new, self.old)
        self.assertIn(stays + f"--tls-cert {self.cert}, --tls-key {self.key}: The key does not belong to the certificate.", self.hup())
        self.key.unlink()
        self.assertIn(stays + f"--tls-key {self.key}: No such file", self.hup())
        os.mkfifo(self.key)
        self.assertIn(stays + f"{self.key}: not a regular file", self.hup())
        self.assertEqual(self.name(), "old")
        self.key.unlink()
        self.put(self.new)
        self.hup()
        self.assertEqual(self.name(), "new")


class Others(unittest.TestCase):
    """Other scripts, with TLS between their clients and their servers: in the long form all of them."""

    def test_through_tls(self):
        environment = {**ENVIRONMENT, "TB_TLS": "1"}
        environment.pop("TB_LONG", None)
        for name in ["guard"] + ["framing", "malformed", "ingest", "ingest_stream", "logs", "cache", "flood", "slow"] * LONG:
            with self.subTest(name):
                done = subprocess.run([sys.executable, Path(__file__).with_name(f"test_{name}.py")], env=environment,
                                      capture_output=True, check=False, timeout=600)
                self.assertEqual(done.returncode, 0, done.stderr.decode()[-3000:])


if __name__ == "__main__":
    unittest.main()
