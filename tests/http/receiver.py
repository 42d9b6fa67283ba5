"""A receiver of webhooks on a loopback port. It checks each signature as the Standard Webhooks
specification says, with nothing of tollbook's, keeps what it was sent, and answers as it is told."""
import base64
import hashlib
import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PATIENCE = 60


def signature(secret, number, timestamp, body):
    key = base64.b64decode(secret.removeprefix("whsec_"))
    said = f"{number}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, said, hashlib.sha256).digest()).decode()


class Message:
    def __init__(self, headers, body, path):
        self.id, self.timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        self.signature, self.type = headers["webhook-signature"], headers["content-type"]
        self.raw, self.path, self.agent = body, path, headers["user-agent"]
        self.body = json.loads(body)
        self.data = self.body["data"]


class Receiver:
    """answer(message, nth): a status, None to hang up without an answer, or a function that is given the
    handler. nth: how often this id has come, from 0."""

    def __init__(self, answer=lambda message, nth: 204, port=0):
        self.answer, self.all, self.changed = answer, [], threading.Condition()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                self.reply(receiver.take(Message(self.headers, body, self.path)))

            def reply(self, what):
                if callable(what):
                    what = what(self)
                if what is None:
                    self.close_connection = True
                    return
                self.send_response(what)
                if 300 <= what < 400:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, *_):
                pass

        self.http = Quiet(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?from=tollbook"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def take(self, message):
        with self.changed:
            nth = sum(m.id == message.id for m in self.all)
            self.all.append(message)
            self.changed.notify_all()
            return self.answer(message, nth)

    def until(self, true, say=lambda: ""):
        """Waits until true(messages) holds of all that came."""
        end = time.monotonic() + PATIENCE
        with self.changed:
            while not true(self.all):
                left = end - time.monotonic()
                if left <= 0:
                    raise AssertionError([(m.id, m.body) for m in self.all], say())
                self.changed.wait(left)
            return list(self.all)

    def close(self):
        self.http.shutdown()
        self.http.server_close()
