"""A listener in front of a real ClickHouse server that passes everything on, until it is told to misbehave."""
import http.server
import ssl
import threading
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE


ENDLESS = b"SELECT count() FROM system.numbers WHERE NOT ignore(sleep(0.1)) SETTINGS max_block_size=10"


class Fake:
    """fault: None; "hang" accepts and never answers; "garbage", "other", "half", "silent" answer as no ClickHouse does; a number
    refuses INSERTs with that code of ClickHouse's, (number, sentence) everything; "select" holds SELECTs of rows (not of parts, at which
    compaction looks once a second: the writer would wait for it), "endless" has the real server work until it is told to end, in their
    place, and cuts off each KILL QUERY until `held` is set; "lost" does INSERTs and loses their answers; "late" and "long" are of answers
    that are not asked for whole (wait_end_of_query): an error comes behind the rows, and behind a megabyte of them."""

    def __init__(self, behind, context=None):
        self.behind, self.fault = behind, None
        self.watch = lambda sql: None # called with each statement before it is passed on
        self.lock, self.released = threading.Lock(), threading.Event()
        self.statements, self.kills, self.users, self.held = [], [], set(), threading.Event()
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True # an answer is two writes: the second would wait 40 ms for the first

            def do_POST(self):
                fake.answer(self)

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass

        self.listener = Listener(("127.0.0.1", 0), Handler)
        if context:
            # A handshake is its handler's: one that is slow, or fails, keeps no other waiting.
            self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def break_with(self, fault):
        self.released.clear()
        self.held.clear()
        self.fault = fault

    def heal(self):
        self.fault = None
        self.released.set()

    def close(self):
        self.heal()
        self.listener.shutdown()
        self.listener.server_close()

    def inserts(self):
        """Those that came with rows: a fold writes its own, and who writes says so."""
        with self.lock:
            return sum(sql.startswith("INSERT") and " FORMAT " in sql for sql, _ in self.statements)

    def answer(self, h):
        body = h.rfile.read(int(h.headers.get("Content-Length", 0)))
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(h.path).query))
        self.reply(h, body, query.get("query") or body.decode(), query.get("query_id"))

    def reply(self, h, body, sql, query_id):
        fault = self.fault
        with self.lock:
            self.statements.append((sql, query_id))
            self.users.add((h.headers.get("X-ClickHouse-User"), h.headers.get("X-ClickHouse-Key")))
            if sql.startswith("KILL"):
                self.kills.append(sql)
        self.watch(sql)
        rows = sql.startswith("SELECT") and not sql.startswith("SELECT 1 ") and "FROM system." not in sql
        if fault == "select" and rows: # whoever still waits then gets an answer: a server that was slow is not away
            self.held.set()
            self.released.wait(PATIENCE)
            self.pass_on(h, body)
        elif fault == "endless" and rows and ".cell" in sql:
            self.pass_on(h, ENDLESS)
        elif fault == "endless" and sql.startswith("KILL") and not self.held.is_set():
            h.close_connection = True
        elif fault == "hang":
            self.held.set()
            self.released.wait(PATIENCE)
            h.close_connection = True
        elif isinstance(fault, tuple) or (isinstance(fault, int) and sql.startswith("INSERT")):
            code, sentence = fault if isinstance(fault, tuple) else (fault, "it is so")
            self.say(h, 500, f"Code: {code}, e.displayText() = DB::Exception: {sentence}. More words, "
                             "e.what() = DB::Exception\n".encode())
        elif fault == "other":
            self.say(h, 200, b"1\n", ours=False)
        elif fault == "500":
            self.say(h, 500, b"<html>oops</html>", ours=False)
        elif fault == "garbage":
            h.wfile.write(b"\x00\xff nonsense\r\n\r\n" * 9)
            h.close_connection = True
        elif fault == "half":
            self.say(h, 200, b"1\n", length=100)
            h.close_connection = True
        elif fault == "silent":
            h.close_connection = True
        elif fault == "lost" and sql.startswith("INSERT"):
            urllib.request.urlopen(self.request(h, body), timeout=PATIENCE).close()
            h.close_connection = True
        elif fault in ("late", "long") and "wait_end_of_query" not in h.path:
            rows = urllib.request.urlopen(self.request(h, body), timeout=PATIENCE).read()
            if fault == "long":
                rows *= 1 + (1 << 20) // len(rows)
            self.say(h, 200, rows + b"Code: 241, e.displayText() = DB::Exception: Memory limit, e.what() = DB::Exception\n")
        else:
            self.pass_on(h, body)

    @staticmethod
    def say(h, status, body, ours=True, length=None):
        h.send_response(status)
        if ours:
            h.send_header("X-ClickHouse-Server-Display-Name", "fake")
        h.send_header("Content-Length", str(length or len(body)))
        h.end_headers()
        h.wfile.write(body)

    def request(self, h, body):
        names = {k: v for k, v in h.headers.items() if k.startswith("X-ClickHouse")}
        names["Content-Type"] = "application/octet-stream"
        return urllib.request.Request(f"http://127.0.0.1:{self.behind.port}{h.path}", body, names)

    def pass_on(self, h, body):
        try:
            with urllib.request.urlopen(self.request(h, body), timeout=PATIENCE) as got:
                self.say(h, got.status, got.read())
        except urllib.error.HTTPError as got:
            self.say(h, got.code, got.read())
        except OSError:
            h.close_connection = True
