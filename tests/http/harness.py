"""What the HTTP tests share: a database made through the command line, the real server on a port that
it keeps from start to start, a client that parses little (so that it hides nothing), and a judgement of
how the server ended. Every answer to Wire.ask is held against docs/openapi.yaml (contract.py): one
that the document does not promise fails the test that asked.

The clock is fixed by TOLLBOOK_NOW; deadlines under test are made short with options; nothing sleeps
for a guessed time, waiting always ends with an event and a generous bound.

With TB_TLS=1 the servers speak TLS, and so do the connections to them: test_tls.py runs other scripts so.
"""
import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from contract import Contract

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import held_port, once, random_seed  # noqa: E402

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
sys.path.insert(0, str(SOURCE / "tests/seed"))
import seed  # noqa: E402
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
TOLLBOOK = BUILD / "tollbook"
CONTRACT = Contract(SOURCE / "docs/openapi.yaml")
NOW = "2026-11-04T09:00:00Z"
PATIENCE = 60  # seconds; sanitizers and a shared machine are slow
GATHER = ("--usage-gather-ms", "50")  # by default a second, for which each batch but the first would wait
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": NOW}
TLS = None  # a Tls, if all servers speak TLS

CATALOG = {
    "accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
    "zones": [
        {"id": 101, "account": 1, "name": "acme-video", "created": "2026-01-05T00:00:00Z"},
        {"id": 102, "account": 1, "name": "acme-static", "created": "2026-01-05T00:00:00Z"},
        {"id": 201, "account": 2, "name": "borealis-live", "created": "2026-01-05T00:00:00Z"},
    ],
}


def hit(zone, second=0, bytes_sent=1000, cache="HIT", status=200, edge="DE"):
    """A request log line on 3 November 2026, 12:00 and `second` seconds."""
    moment = 1793707200000 + second * 1000
    return (f"{cache}|{status}|{moment}|{bytes_sent}|{zone}|192.0.2.1|-|https://z/x|{edge}|agent|"
            f"{'0' * 32}|DE\n").encode()


LOG = b"".join(hit(zone, i, 1000 + i, dict(enumerate(["HIT", "MISS"])).get(i % 3, "STALE"),
                   [200, 304, 404, 503][i % 4], ["DE", "NY", "SG"][i % 3])
               for zone in (101, 102, 201) for i in range(40))


def run(*arguments, expect=0, stdin=None):
    done = subprocess.run([TOLLBOOK, *map(str, arguments)], input=stdin, capture_output=True,
                          env=ENVIRONMENT, check=False, timeout=PATIENCE)
    if expect is not None and done.returncode != expect:
        raise AssertionError(f"tollbook {arguments}: exit {done.returncode}, not {expect}\n"
                             f"{done.stderr.decode(errors='replace')}{done.stdout[-3000:].decode(errors='replace')}")
    return done


class Answer:
    def __init__(self, head, body, method="GET"):
        lines = head.split(b"\r\n")
        self.version, status, _ = (lines[0].split(b" ", 2) + [b""])[:3]
        self.status = int(status)
        self.fields = [(k.decode().lower(), v.strip().decode("latin-1"))
                       for k, v in (line.split(b":", 1) for line in lines[1:])]
        self.headers = dict(self.fields)
        self.body = body
        self.method = method

    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        return self.json()["ErrorKey"]


class Tls:
    """A certificate of our own making for 127.0.0.1, its key, and the context of a client that trusts it."""

    def __init__(self, folder, name="tls", *options, key=("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256")):
        self.certificate, self.key = (Path(folder) / f"{name}{end}" for end in (".pem", ".key"))
        subprocess.run(["openssl", "req", "-x509", *key, "-nodes", "-subj", f"/CN={name}", "-days", "9",
                        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1", *options,
                        "-keyout", self.key, "-out", self.certificate], check=True, capture_output=True)
        self.options = ("--tls-cert", self.certificate, "--tls-key", self.key)
        self.context = self.client()

    def client(self):
        context = ssl.create_default_context(cafile=self.certificate)
        context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)  # Python sets it: a cut stream would have a clean end
        context.sslsocket_class = TlsSocket
        return context


def is_cut(error):
    """Whether the stream ended without a closure alert: Pythons differ in what they raise."""
    return isinstance(error, ssl.SSLEOFError) or error.reason == "UNEXPECTED_EOF_WHILE_READING"


class TlsSocket(ssl.SSLSocket):
    """Behaves as a plain socket where the connection is over."""

    def recv(self, *arguments):
        try:
            return super().recv(*arguments)
        except ssl.SSLError as end:
            if not is_cut(end):
                raise
            raise ConnectionResetError("no closure alert") from end

    def sendall(self, *arguments):
        try:
            return super().sendall(*arguments)
        except ssl.SSLEOFError as end:
            raise BrokenPipeError from end

    def shutdown(self, how):
        socket.socket.shutdown(self, how)  # the session goes on in the other direction


def connect(port, host="127.0.0.1", context=None):
    sock = socket.create_connection((host, port), timeout=PATIENCE)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    context = context or (TLS and TLS.context)
    return context.wrap_socket(sock, server_hostname=host, suppress_ragged_eofs=False) if context else sock


class Wire:
    """One connection. Reads exactly what the headers announce."""

    def __init__(self, port, host="127.0.0.1", context=None):
        self.sock = connect(port, host, context)
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def shut(self):
        self.sock.shutdown(socket.SHUT_WR)

    def fill(self):
        try:
            piece = self.sock.recv(1 << 16)
        except ConnectionError:
            piece = b""
        self.buffer += piece
        return bool(piece)

    def read(self, method="GET"):
        """The next answer, or None where the connection ends instead."""
        while b"\r\n\r\n" not in self.buffer:
            if not self.fill():
                return None
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        answer = Answer(head, b"", method)
        if answer.headers.get("transfer-encoding") == "chunked" and method != "HEAD":
            answer.body = b"".join(iter(self.chunk, b""))
            return answer
        length = int(answer.headers.get("content-length", 0))
        if method == "HEAD" or answer.status in (204, 304):
            length = 0
        while len(self.buffer) < length:
            if not self.fill():
                raise AssertionError(f"cut after {len(self.buffer)} of {length} bytes")
        answer.body, self.buffer = self.buffer[:length], self.buffer[length:]
        return answer

    def line(self):
        while b"\r\n" not in self.buffer:
            if not self.fill():
                raise AssertionError("cut within a chunked body")
        line, self.buffer = self.buffer.split(b"\r\n", 1)
        return line

    def chunk(self):
        """The next piece of a chunked body; empty at its end."""
        length = int(self.line(), 16)
        while len(self.buffer) < length + 2:
            if not self.fill():
                raise AssertionError("cut within a chunk")
        piece, self.buffer = self.buffer[:length], self.buffer[length + 2:]
        return piece

    def ended(self):
        """Whether the peer closes without sending more. Waits for it."""
        while self.fill():
            pass
        return self.buffer == b""

    def ask(self, method, target, headers=None, body=None):
        fields = {"Host": "test", **(headers or {})}
        if body is not None and "Transfer-Encoding" not in fields:
            fields.setdefault("Content-Length", str(len(body)))
        lines = [f"{method} {target} HTTP/1.1"] + [f"{k}: {v}" for k, v in fields.items()]
        try:
            self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))
        except ConnectionError:
            pass  # refused before its end was sent: the answer is there to be read
        answer = self.read(method)
        if answer is not None:
            CONTRACT.check(method, target, answer)
        return answer


class Server:
    """`tollbook serve` on a fresh database with CATALOG, LOG and one key of each use."""

    port = None

    def __init__(self, *options, log=LOG, db=None):
        self.folder = tempfile.TemporaryDirectory(prefix="tollbook-http-")
        self.path = Path(self.folder.name)
        self.db = db or self.path / "t.db"
        self.keys = dict(once(log, self.db, lambda: self.make(log))) if not db else {}
        self.start(*options)

    def make(self, log):
        run("init", "--db", self.db)
        catalog = self.path / "catalog.json"
        catalog.write_text(json.dumps(CATALOG))
        run("apply", "--db", self.db, catalog)
        if log:
            run("ingest", "--db", self.db, "-", stdin=log)
        return {name: self.make_key(account, role)
                for name, account, role in (("user", 1, "User"), ("other", 2, "User"),
                                            ("ingest", 1, "Ingest"), ("operator", 0, "Operator"))}

    def make_key(self, account, *roles):
        words = [word for role in roles for word in ("--role", role)]
        done = run("key", "create", "--db", self.db, "--account", account, *words)
        return done.stdout.decode().strip()

    def start(self, *options, before=None):
        self.port = self.port or held_port()
        port_file = self.path / "port"
        port_file.unlink(missing_ok=True)
        self.log_path = self.path / "stderr"
        self.log_file = open(self.log_path, "ab")
        if "--usage" in options and GATHER[0] not in options:
            options = (*options, *GATHER)
        if TLS:
            options = (*TLS.options, *options)
        self.process = subprocess.Popen(
            [TOLLBOOK, "serve", "--db", self.db, "--listen", f"127.0.0.1:{self.port}", "--port-file",
             port_file, "--threads", "2", *map(str, options)],
            stderr=self.log_file, env=ENVIRONMENT, preexec_fn=before)
        end = time.monotonic() + PATIENCE
        while not port_file.exists():
            if self.process.poll() is not None or time.monotonic() > end:
                raise AssertionError("the server did not start:\n" + self.messages())
            time.sleep(0.005)
        self.url = f"http{'s' * ('--tls-cert' in options)}://127.0.0.1:{self.port}"

    def messages(self):
        return self.log_path.read_text(errors="replace")

    def wire(self):
        return Wire(self.port)

    def ask(self, method, target, key=None, body=None, **headers):
        """One request on a connection of its own. key: a name of self.keys, or a key's text."""
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            fields["AccessKey"] = self.keys.get(key, key)
        with self.wire() as wire:
            return wire.ask(method, target, fields, body)

    def get(self, target, key="user", **headers):
        return self.ask("GET", target, key, **headers)

    def metric(self, name):
        text = self.ask("GET", "/metrics").body.decode()
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.M)
        return float(found.group(1)) if found else 0

    def lets_nobody_in(self):
        """Waits until it refuses connections, as it does once it is to stop."""
        while True:
            try:
                with self.wire() as late:
                    late.ask("GET", "/healthz")
            except OSError:
                return

    def stop(self, number=signal.SIGTERM):
        """Asks it to end (number 0: it was asked already); returns its exit status. A sanitizer's
        finding is a failure."""
        if number and self.process.poll() is None:
            self.process.send_signal(number)
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("the server did not stop:\n" + self.messages()) from None
        self.log_file.close()
        if re.search(r"ERROR: \w+Sanitizer|WARNING: ThreadSanitizer",
                     self.messages()):
            raise AssertionError(self.messages())
        return status

    def close(self):
        try:
            status = self.stop()
            if status != 0:
                raise AssertionError(f"exit {status}\n{self.messages()}")
            run("verify", "--db", self.db)
        finally:
            self.folder.cleanup()


class Case(unittest.TestCase):
    """Tests that share one server. It must end well and leave a database that verifies."""

    options = ()
    longMessage = True

    @classmethod
    def setUpClass(cls):
        cls.server = Server(*cls.options)
        cls.addClassCleanup(cls.kill)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @classmethod
    def kill(cls):
        """After a set-up that failed, when there is no tearDownClass: a server that stays would keep the output open."""
        if cls.server.process and cls.server.process.poll() is None:
            cls.server.process.kill()

    def has_fields(self, group, value):
        """The object has every field of a group of tests/seed/fields.txt, each of its type."""
        for field, kind in seed.fields()[group][4].items():
            self.assertIn(field, value, group)
            self.assertTrue(seed.of_type(value[field], kind),
                            f"{group}: {field} is {value[field]!r}, not {kind}")

    def refused(self, answer, status, key, field=None):
        """An error with the right status and an ApiErrorData body, whatever it was."""
        self.assertIsNotNone(answer, "closed without an answer")
        self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        self.assertNotIn("server", answer.headers)
        if answer.method == "HEAD":
            return
        error = answer.json()
        self.assertEqual(list(error), ["ErrorKey", "Field", "Message"])
        self.assertEqual(error["ErrorKey"], key)
        self.assertTrue(error["Message"])
        if field is not None:
            self.assertEqual(error["Field"], field)


def together(n, work):
    """work(i) in n threads that start at once; their results, in order."""
    gate, results = threading.Barrier(n), [None] * n

    def body(i):
        gate.wait()
        try:
            results[i] = work(i)
        except BaseException as problem:  # shown by the caller
            results[i] = problem

    threads = [threading.Thread(target=body, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


if os.environ.get("TB_TLS") == "1":
    made = tempfile.TemporaryDirectory(prefix="tollbook-tls-")  # until the script ends
    TLS = Tls(made.name)
    ENVIRONMENT["SSL_CERT_FILE"] = str(TLS.certificate)
