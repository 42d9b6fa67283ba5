"""Alerts and invoice.finalized as webhooks: signed, tried again under the same id, never lost, whatever
the receiver does and whenever the server dies. `tollbook alerts` lists them, here and over --server."""
import json
import os
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from harness import PATIENCE, SOURCE, Server, once, run
from receiver import Receiver, signature
from script import held_port

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"
GB = 10**9
BOOK = {"book": "usd", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "1", "NA": "1", "ASIA": "1",
                                                           "SA": "1", "AF": "1"}}}}
MONTH = {"id": "big-month", "kind": "month_to_date", "above": "100"}


def catalog(first=(MONTH,), second=()):
    return {"accounts": [{"id": 1, "name": "acme", "currency": "USD", "tax": {"VAT": "20"},
                          "alerts": list(first)},
                         {"id": 2, "name": "borealis", "currency": "USD", "alerts": list(second)}],
            "zones": [{"id": 101, "account": 1, "name": "a", "created": "2026-01-05T00:00:00Z"},
                      {"id": 201, "account": 2, "name": "b", "created": "2026-01-05T00:00:00Z"}]}


def usage(zone, hour, amount):
    return json.dumps({"zone": zone, "hour": hour, "region": "DE", "bytes": amount}) + "\n"


class Alerts(unittest.TestCase):
    longMessage = True
    OPTIONS = ("--alert-retry-ms", "10")

    def setUp(self):
        self.place = tempfile.TemporaryDirectory(prefix="tollbook-alerts-")
        self.folder = Path(self.place.name)
        self.db, self.secret = self.folder / "t.db", self.folder / "secret"
        self.write_secret(SECRET)
        self.key = once("alerts", self.db, self.make)
        self.server = self.receiver = None

    def make(self):
        run("init", "--db", self.db)
        run("book", "add", "--db", self.db, "-", stdin=json.dumps(BOOK).encode())
        return run("key", "create", "--db", self.db, "--account", 0, "--role", "Operator").stdout.decode().strip()

    def tearDown(self):
        if self.server:
            self.server.close() # verifies it
        else:
            run("verify", "--db", self.db)
        if self.receiver:
            self.receiver.close()
        self.place.cleanup()

    def write_secret(self, text):
        self.secret.touch(0o600)
        self.secret.write_text(text + "\n")

    def apply(self, *alerts):
        run("apply", "--delete", "--db", self.db, "-", stdin=json.dumps(catalog(*alerts)).encode())

    def take(self, *rows):
        run("import", "--db", self.db, "-", stdin="".join(rows).encode())

    def hear(self, answer=lambda message, nth: 204):
        self.receiver = Receiver(answer)

    def options(self, url=None):
        return ("--alert-url", url or self.receiver.url, "--alert-secret-file", self.secret, *self.OPTIONS)

    def serve(self, *more):
        self.server = Server(*self.options(), *more, db=self.db)
        self.server.keys["operator"] = self.key

    def stop(self):
        self.server.close()
        self.server = None

    def listed(self, *words):
        if self.server:
            words = ("--server", self.server.url, "--key", self.key, *words)
        else:
            words = ("--db", self.db, *words)
        return json.loads(run("alerts", "--format", "json", *words).stdout)

    def until_listed(self, true):
        """The list, once true(list) holds of it: what was answered is noted a moment later."""
        end = time.monotonic() + PATIENCE
        while not true(listed := self.listed()):
            self.assertLess(time.monotonic(), end, listed)
            time.sleep(0.01)
        return listed

    def import_over_http(self, *rows):
        answer = self.server.ask("POST", "/ingest/buckets", "operator", "".join(rows).encode())
        self.assertEqual(answer.status, 200, answer.body)


class Sending(Alerts):
    def test_an_alert_goes_out_signed_and_is_listed(self):
        self.apply()
        self.hear()
        self.serve()
        self.import_over_http(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        message, = self.receiver.until(lambda got: len(got) == 1, self.server.messages)
        self.assertEqual(message.signature, signature(SECRET, message.id, message.timestamp, message.raw))
        self.assertEqual(message.type, "application/json")
        self.assertEqual(message.path, "/hook?from=tollbook")
        self.assertRegex(message.id, "^msg_[0-9a-f]{32}$")
        self.assertRegex(message.body["timestamp"], "^2026-11-04T09:00:")
        self.assertEqual(message.body["type"], "alert.raised")
        self.assertEqual(message.data, {"account": 1, "alert": "big-month", "kind": "month_to_date",
                                        "month": "2026-11", "above": "100", "seen": "120.00",
                                        "currency": "USD"})
        listed = self.until_listed(lambda l: l["messages"][0]["state"] == "delivered")
        self.assertEqual(listed["messagesOn"], True)
        alert, = listed["alerts"]
        self.assertEqual((alert["alert"], alert["threshold"], alert["seen"], alert["cleared"],
                          alert["raisedMessage"]), ("big-month", "100", "120", None, message.id))
        self.assertEqual(listed["messages"][0]["status"], 204)
        self.assertEqual(self.listed("--account", 2)["alerts"], [])
        self.assertEqual(self.server.metric("tollbook_messages_delivered_total"), 1)
        self.assertEqual(self.server.metric("tollbook_outbox_waiting"), 0)
        said = run("alerts", "--server", self.server.url, "--key", self.key, "--evaluate").stderr
        self.assertIn(b"0 alerts raised, 0 cleared", said)
        # raised once a month; sent again where that is asked for, under its id
        run("alerts", "--server", self.server.url, "--key", self.key, "--resend", message.id)
        again = self.receiver.until(lambda got: len(got) == 2, self.server.messages)[1]
        self.assertEqual((again.id, again.raw), (message.id, message.raw))
        run("alerts", "--server", self.server.url, "--key", self.key, "--resend", "msg_no", expect=2)

    def test_a_receiver_of_a_private_authority(self):
        pem, crt = self.folder / "tls.pem", self.folder / "tls.crt"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "9",
                        "-subj", "/CN=alerts", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", pem, "-out", crt],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, pem)
        self.hear()
        self.receiver.http.socket = context.wrap_socket(self.receiver.http.socket, server_side=True)
        self.receiver.url = self.receiver.url.replace("http:", "https:")
        self.apply()
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.serve()
        listed = self.until_listed(lambda l: l["messages"] and l["messages"][0]["error"])
        self.assertRegex(listed["messages"][0]["error"], "serve --ca FILE names the authority of its certificate.$")
        self.stop()
        self.serve("--ca", crt)
        self.receiver.until(lambda got: len(got) == 1, self.server.messages)

    def test_a_receiver_that_fails_is_tried_again_under_the_same_id(self):
        def answer(message, nth):
            return (None, 500, 302, 204)[nth] if nth < 4 else 500
        self.apply()
        self.hear(answer)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.serve()
        got = self.receiver.until(lambda got: len(got) == 4, self.server.messages)
        listed = self.until_listed(lambda l: l["messages"][0]["state"] == "delivered")
        self.assertEqual(len({m.id for m in got}), 1)
        self.assertEqual(len({m.raw for m in got}), 1)
        self.assertEqual({m.path for m in got}, {"/hook?from=tollbook"}, "no redirect is followed")
        for m in got:
            self.assertEqual(m.signature, signature(SECRET, m.id, m.timestamp, m.raw))
        self.assertEqual(listed["messages"][0]["attempts"], 4)

    def test_a_receiver_says_when_it_may_be_tried_again(self):
        at = lambda text: time.mktime(time.strptime(text[:19], "%Y-%m-%dT%H:%M:%S"))

        def answer(message, nth):
            seconds = "3000" if message.data["account"] == 1 else "99999999"

            def later(handler):
                handler.send_response(503)
                handler.send_header("Retry-After", seconds)
                handler.send_header("Content-Length", "0")
                handler.end_headers()
            return later
        self.apply((MONTH,), (MONTH,))
        self.hear(answer)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB), usage(201, "2026-11-03T05:00:00Z", 110 * GB))
        self.serve()
        listed = self.until_listed(lambda l: len(l["messages"]) == 2 and all(m["status"] for m in l["messages"]))
        for m in listed["messages"]:
            self.assertEqual((m["state"], m["status"], m["attempts"]), ("waiting", 503, 1))
            least = 3000 if m["account"] == 1 else 7200
            self.assertTrue(least <= at(m["next"]) - at(m["created"]) <= least + PATIENCE, m)

    def test_usage_without_a_price_is_said_once(self):
        self.apply((MONTH,), (MONTH, {"id": "low", "kind": "balance", "below": "-5000"}))
        self.hear()
        self.take(usage(101, "2026-11-03T05:00:00Z", 150 * GB),
                  usage(201, "2026-11-03T05:00:00Z", 500 * GB).replace('"DE"', '"QQ"'))
        self.serve()
        self.receiver.until(lambda got: len(got) == 1, self.server.messages)
        end = time.monotonic() + PATIENCE
        while self.server.metric("tollbook_alerts_unpriced_accounts") != 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)
        self.assertEqual(self.server.messages().count("1 account with alerts on money has usage without a price"), 1)

    def test_what_is_gone_is_given_up_and_can_be_sent_again(self):
        self.apply()
        self.hear(lambda message, nth: 204 if nth else 410)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.serve()
        message, = self.until_listed(lambda l: l["messages"] and l["messages"][0]["status"])["messages"]
        self.assertEqual((message["state"], message["status"], message["attempts"]), ("failed", 410, 1))
        self.assertIn("410", message["error"])
        self.assertEqual(self.server.metric("tollbook_outbox_failed"), 1)
        self.stop()
        run("alerts", "--db", self.db, "--resend", message["id"])
        self.serve()
        self.until_listed(lambda l: l["messages"][0]["state"] == "delivered")
        self.assertEqual([m.id for m in self.receiver.all], [message["id"]] * 2)

    def test_turning_messages_on_is_in_the_audit_log_once(self):
        def entries():
            return [line.split("\t")[2:5] + ["\"on\":true" in line] for line in run("audit", "--db", self.db, "--format", "table").stdout.decode().splitlines()
                    if "\talerts\t" in line]
        self.hear()
        on = ["0", "serve", "alerts", True]
        for found in ([on], [on]):
            self.serve()
            self.stop()
            self.assertEqual(entries(), found)
        run("alerts", "--db", self.db, "--off")
        self.serve()
        self.stop()
        self.assertEqual(entries()[::2], [on, on])

    def test_a_slow_receiver_holds_up_neither_others_nor_a_stop(self):
        def answer(message, nth):
            return (lambda handler: handler.rfile.read(1) and None) if message.data["account"] == 1 else 204
        self.apply((MONTH,), (MONTH,))
        self.hear(answer)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB),
                  usage(201, "2026-11-03T05:00:00Z", 200 * GB))
        self.serve("--alert-timeout-ms", "600000")
        self.receiver.until(lambda got: {m.data["account"] for m in got} == {1, 2}, self.server.messages)
        self.until_listed(lambda l: {m["account"]: m["state"] for m in l["messages"]} ==
                          {1: "waiting", 2: "delivered"})
        self.stop()
        waiting, = [m for m in self.listed()["messages"] if m["account"] == 1]
        self.assertEqual((waiting["state"], waiting["attempts"]), ("waiting", 0), "a stop is no try")

    def test_an_answer_is_bounded_in_time_and_length(self):
        """Silence, headers without end, bodies without end; of one of these the status comes in time, and says that it is taken."""
        def flood(handler, head, piece):
            handler.wfile.write(head)
            for _ in range(10000):
                handler.wfile.write(piece)

        def answer(message, nth):
            return (lambda handler: handler.rfile.read(1) and None,
                    lambda handler: flood(handler, b"HTTP/1.1 200 OK\r\n", b"X-A: " + b"b" * 999 + b"\r\n"),
                    lambda handler: flood(handler, b"HTTP/1.1 202 Taken\r\n\r\n", b"c" * 999))[min(nth, 2)]
        self.apply()
        self.hear(answer)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.serve("--alert-timeout-ms", "500")
        message, = self.until_listed(lambda l: l["messages"] and
                                     l["messages"][0]["state"] == "delivered")["messages"]
        self.assertEqual(message["status"], 202)
        self.assertGreaterEqual(message["attempts"], 3)  # more, where this machine is slower than the timeout

    def test_a_receiver_may_come_later(self):
        port = held_port()
        self.apply()
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.server = Server(*self.options(f"http://127.0.0.1:{port}/"), db=self.db)
        message, = self.until_listed(lambda l: l["messages"] and l["messages"][0]["attempts"] > 1)["messages"]
        self.assertEqual((message["state"], message["status"]), ("waiting", 0))
        self.assertIn("connect", message["error"])
        self.receiver = Receiver(port=port)
        got = self.receiver.until(lambda got: got, self.server.messages)
        self.assertEqual(got[0].id, message["id"])

    def test_the_secret_is_read_again(self):
        self.apply((MONTH,), (MONTH,))
        self.hear()
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB))
        self.serve()
        self.receiver.until(lambda got: len(got) == 1, self.server.messages)
        self.write_secret("whsec_short")
        self.server.process.send_signal(signal.SIGHUP)
        self.until(lambda: "stays as it was" in self.server.messages())
        self.write_secret(SECRET + "\n" + OTHER)
        self.server.process.send_signal(signal.SIGHUP)
        self.until(lambda: "reloaded the alert secret file" in self.server.messages())
        self.import_over_http(usage(201, "2026-11-03T05:00:00Z", 200 * GB))
        second = self.receiver.until(lambda got: len(got) == 2, self.server.messages)[1]
        self.assertEqual(second.data["account"], 2)
        self.assertEqual(second.signature.split(" "), [
            signature(secret, second.id, second.timestamp, second.raw) for secret in (SECRET, OTHER)])

    def until(self, true):
        end = time.monotonic() + PATIENCE
        while not true():
            self.assertLess(time.monotonic(), end, self.server.messages())
            time.sleep(0.005)

    def test_what_is_no_receiver_is_refused_at_the_start(self):
        for words in (("--alert-url", "http://127.0.0.1/"), ("--alert-secret-file", self.secret),
                      ("--alert-url", "ftp://127.0.0.1/", "--alert-secret-file", self.secret),
                      ("--alert-url", "nonsense", "--alert-secret-file", self.secret),
                      ("--alert-url", "http://me:secret@127.0.0.1/", "--alert-secret-file", self.secret)):
            run("serve", "--db", self.db, "--listen", "127.0.0.1:0", *words, expect=2)
        for text in ("", "whsec_", "whsec_QUJD", f"{SECRET}\n{OTHER}\n{SECRET}", f"{SECRET}\nx", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_%%%"):
            self.write_secret(text)
            done = run("serve", "--db", self.db, "--listen", "127.0.0.1:0", "--alert-url",
                       "http://127.0.0.1/", "--alert-secret-file", self.secret, expect=3)
            self.assertIn(b"whsec_", done.stderr)


class Page(Alerts):
    def test_the_receiver_of_the_page(self):
        """docs/alerts.md: its catalogue is taken, its receiver takes what is sent, and nothing else."""
        page = (SOURCE / "docs" / "alerts.md").read_text()
        declared = json.loads(re.search(r"```json\n(.*?)```", page, re.S).group(1))
        run("apply", "--delete", "--db", self.db, "-", stdin=json.dumps(
            {**declared, "zones": catalog()["zones"][:1]}).encode())
        self.take(usage(101, "2026-11-03T05:00:00Z", 101 * GB))
        script = self.folder / "receiver.py"
        script.write_text(re.search(r"```python\n(.*?)```", page, re.S).group(1))
        port = held_port()
        receiver = subprocess.Popen([sys.executable, "-u", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                    env={**os.environ, "PORT": str(port), "SECRET": SECRET}, text=True)
        self.addCleanup(receiver.stdout.close)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.kill)
        self.server = Server(*self.options(f"http://127.0.0.1:{port}/"), db=self.db)
        self.server.keys["operator"] = self.key
        said = next(line for line in receiver.stdout if "big-month" in line)
        self.assertRegex(said, "^alert.raised .*'seen': '101.00'")
        self.until_listed(lambda l: {m["state"] for m in l["messages"]} == {"delivered"})
        forged = urllib.request.Request(f"http://127.0.0.1:{port}/", b"{}", {
            "webhook-id": "msg_1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"})
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(forged)
        self.assertEqual(refused.exception.code, 401)
        refused.exception.close()


class Finalized(Alerts):
    def test_an_invoice_and_its_message_come_together(self):
        self.apply(())
        self.hear()
        self.take(usage(101, "2026-10-03T05:00:00Z", 10 * GB), usage(201, "2026-10-03T05:00:00Z", 3 * GB))
        run("invoice", "--db", self.db, "--month", "2026-10", "--account", 1, "--finalize")
        self.assertEqual(self.listed()["messages"], [], "nobody wants them yet")
        run("invoice", "--db", self.db, "--void", "2026-000001")
        run("ledger", "credit", "--db", self.db, "--account", 1, "--amount", "5")
        self.serve()
        run("invoice", "--server", self.server.url, "--key", self.key, "--month", "2026-10", "--finalize")
        got = self.receiver.until(lambda got: len(got) == 2, self.server.messages)
        self.assertEqual({m.body["type"] for m in got}, {"invoice.finalized"})
        one = next(m for m in got if m.data["account"] == 1)
        self.assertEqual(one.data, {
            "account": 1, "number": "2026-000002", "kind": "invoice", "month": "2026-10",
            "total": "12.00", "payable": "7.00", "currency": "USD", "issued": "2026-11-04",
            "replaces": "2026-000001",
            "links": {"self": "/billing/invoices/2026-000002",
                      "pdf": "/billing/invoices/2026-000002?format=pdf"}})

    def test_messages_can_be_turned_off(self):
        self.apply(())
        self.take(usage(101, "2026-10-03T05:00:00Z", 10 * GB), usage(201, "2026-10-03T05:00:00Z", 3 * GB))
        run("alerts", "--db", self.db, "--on")
        run("invoice", "--db", self.db, "--month", "2026-10", "--account", 1, "--finalize")
        self.assertEqual([m["state"] for m in self.listed()["messages"]], ["waiting"])
        server = Server(db=self.db)
        self.assertIn("wait for a server with --alert-url", server.messages())
        server.close()
        run("alerts", "--db", self.db, "--off")
        run("invoice", "--db", self.db, "--month", "2026-10", "--finalize")
        self.assertEqual([m["state"] for m in self.listed()["messages"]], ["failed"])


class Dying(Alerts):
    def test_a_killed_server_loses_nothing_and_sends_under_no_other_id(self):
        """It is killed while a message is on its way, again and again; at last all have arrived."""
        self.apply((MONTH,), (MONTH,))
        up, served = threading.Event(), []

        def kill(_):
            up.wait(PATIENCE)
            served[-1].kill()  # no later one: a message of the last round does not end what comes after
        self.hear(lambda message, nth: kill)
        self.take(usage(101, "2026-11-03T05:00:00Z", 100 * GB),
                  usage(201, "2026-11-03T05:00:00Z", 200 * GB))
        for _ in range(3):
            up.clear()
            self.serve()
            served.append(self.server.process)
            up.set()
            self.server.process.wait(PATIENCE)
            self.server.log_file.close()
            self.server.folder.cleanup()
        before = {m.id for m in self.receiver.all}
        self.receiver.answer = lambda message, nth: 204
        self.serve()
        listed = self.until_listed(lambda l: [m["state"] for m in l["messages"]] == ["delivered"] * 2)
        ids = {m["id"] for m in listed["messages"]}
        self.assertEqual(ids, {m.id for m in self.receiver.all})
        self.assertLessEqual(before, ids)
        self.assertEqual({m.data["account"] for m in self.receiver.all}, {1, 2})
        self.assertEqual(len(listed["alerts"]), 2)


if __name__ == "__main__":
    unittest.main()
