"""What `invoice` prints is a whole document or nothing: an account whose figures pass all limits is
refused alone, what a broken standard output does not take is said, and usage that no account pays for
is named beside it."""
import csv
import http.server
import io
import json
import os
import re
import signal
import sqlite3
import subprocess
import threading
import unittest
from decimal import Decimal
from tool import TOOL, Case

OCTOBER = ("--month", "2026-10")
BOOK = {"book": "apart", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.010000000000001"}}}}
FORMS = ("json", "csv", "html", "focus")
EXA = 10 ** 18


def zone(number, account, **settings):
    return {"id": number, "account": account, "name": f"zone {number}", "settings": settings,
            "created": "2026-01-05T00:00:00Z"}


def accounts(*ids):
    return [{"id": i, "name": f"account {i}"} for i in ids]


class Documents(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)))

    def declare(self, owners, *zones):
        self.apply(json.dumps({"accounts": accounts(*owners), "zones": list(zones)}))

    def take(self, **more):
        """Rows by zone, as zone_101=5: bytes of one hour in October."""
        rows = [{"zone": int(name[5:]), "hour": "2026-10-03T05:00:00Z", "region": "DE",
                 "requests": 3, "bytes": amount} for name, amount in more.items()]
        self.run_tool("import", "--db", "t.db", "-",
                      stdin="".join(json.dumps(row) + "\n" for row in rows).encode())

    def invoice(self, *words, **more):
        return self.run_tool("invoice", "--db", "t.db", *OCTOBER, *words, **more)

    def whole(self, form, out):
        """The accounts of a document that is one."""
        if form == "json":
            return [i["account"] for i in json.loads(out)["invoices"]]
        if form == "html":
            self.assertTrue(out.startswith("<!DOCTYPE html>") and out.endswith("</html>\n"))
            return [int(re.match(r"\d+", a)[0])
                    for a in out.split('<dt>Account</dt><dd dir="auto">')[1:]]
        rows = list(csv.DictReader(io.StringIO(out, newline="")))
        return sorted({int(r.get("account") or r["BillingAccountId"]) for r in rows})

    # --- amounts of scales far apart ---

    def apart(self):
        """Half a currency unit a byte, and 24 digits: both fit, their sum has 39 digits."""
        self.declare((1, 2), zone(101, 1, PriceOverride=0.5), zone(102, 1), zone(201, 2))
        self.take(zone_101=10 ** 15, zone_102=1, zone_201=10 ** 9)

    def test_what_a_whatif_bills_an_invoice_bills(self):
        self.apart()
        draft = json.loads(self.invoice().out)["invoices"][0]
        self.assertEqual((draft["subtotal"], draft["residual"]),
                         ("500000000000000.00", "-0.000000000010000000000001"))
        self.assertEqual([l["exact"] for l in draft["lines"]],
                         ["0.000000000010000000000001", "500000000000000"])
        scenario = self.write("s.json", '{"scenario":"same","base":"apart","patch":{}}')
        replayed = json.loads(self.run_tool("whatif", "--db", "t.db", "--from", "2026-10", "--to",
                                            "2026-10", "--format", "json", scenario).out)
        self.assertEqual(replayed["scenarios"][0]["accounts"][0]["before"], draft["subtotal"])
        for form in FORMS:
            self.assertEqual(self.whole(form, self.invoice("--format", form).out), [1, 2], form)
        self.invoice("--finalize")
        for form in FORMS:
            self.assertEqual(self.whole(form, self.invoice("--format", form).out), [1, 2], form)
        self.assertIn("500,000,000,000,000.00", self.invoice("--format", "html").out)
        self.verify()

    # --- an account that passes all limits ---

    def absurd(self):
        self.declare((1, 2, 3), zone(101, 1), zone(201, 2, PriceOverride=10 ** 20), zone(202, 2),
                     zone(301, 3))
        self.take(zone_101=10 ** 9, zone_201=EXA, zone_202=5, zone_301=10 ** 9)

    def test_an_absurd_account_is_refused_alone(self):
        self.absurd()
        for form in FORMS:
            done = self.invoice("--format", form, status=1)
            self.assertEqual(self.whole(form, done.out), [1, 3], form)
            self.assertIn("account 2 (account 2): override in EU of zone:201: ", done.err)
            self.assertIn("1 account is refused", done.err)
        done = self.invoice("--account", 2, status=1)
        self.assertEqual(self.whole("json", done.out), [])
        self.assertNotIn("nothing to invoice", done.err)
        done = self.invoice("--finalize", status=1)
        self.assertEqual(self.whole("json", done.out), [1, 3])
        self.assertIn("account 2 (account 2): override in EU of zone:201: ", done.err)
        self.assertIn("2 made final, 0 final before, 0 with nothing due, 1 refused", done.err)
        self.assertEqual(self.whole("json", self.invoice(status=1).out), [1, 3])
        self.verify()

    def test_what_is_stored_of_a_refused_account_is_shown(self):
        self.declare((1,), zone(101, 1))
        self.take(zone_101=10 ** 9)
        self.invoice("--finalize")
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001")
        self.declare((1,), zone(101, 1), zone(102, 1, PriceOverride=10 ** 20))
        self.take(zone_102=EXA)
        done = self.invoice(status=1)
        self.assertEqual([i["state"] for i in json.loads(done.out)["invoices"]], ["void"])
        self.assertIn("account 1 (account 1): override in EU of zone:102: ", done.err)

    # --- nothing, where it is not whole ---

    def damage(self, number):
        with sqlite3.connect(self.folder / "t.db") as db:
            # October's chunk of days: its row is read wherever the rest of it waits
            db.execute("INSERT OR REPLACE INTO chunk SELECT (id<<18)+131072+681,zeroblob(40)"
                       " FROM series WHERE scope=1 AND owner=?", (number,))

    def test_a_failure_half_way_prints_nothing(self):
        self.absurd()
        self.damage(301)
        for words in ((), ("--finalize",), ("--format", "html")):
            done = self.invoice(*words, status=3)
            self.assertEqual(done.out, "", words)
            self.assertIn("account 3: ", done.err)
        done = self.invoice("--account", 1)
        self.assertEqual(self.whole("json", done.out), [1])

    def outside(self, *words, **more):
        done = subprocess.run([TOOL, "invoice", "--db", "t.db", *OCTOBER, *words], cwd=self.folder,
                              stderr=subprocess.PIPE, timeout=120, text=True,
                              **{"env": self.environment(), **more})
        return done.returncode, done.stderr

    def test_a_standard_output_that_takes_nothing_is_said(self):
        self.declare((1,), zone(101, 1))
        self.take(zone_101=10 ** 9)
        said = "could not be written to standard output"
        for words in ((), ("--finalize",), ("--format", "csv")):
            with open("/dev/full", "w") as full:
                status, err = self.outside(*words, stdout=full)
            self.assertEqual((status, said in err), (3, True), err)
            reader, writer = os.pipe()
            os.close(reader)
            status, err = self.outside(*words, stdout=writer)
            os.close(writer)
            self.assertEqual((status, said in err), (3, True), err)

    def test_a_long_document_waits_in_a_file_without_a_name(self):
        numbers = range(1001, 4001)
        self.declare((1,), *(zone(n, 1) for n in numbers))
        self.take(**{f"zone_{n}": 10 ** 9 for n in numbers})
        waiting = self.folder / "waiting"
        waiting.mkdir()
        with open(self.folder / "out.json", "wb") as out:
            status, err = self.outside(stdout=out, env={**self.environment(),
                                                        "TMPDIR": str(waiting)})
        self.assertEqual(status, 0, err)
        self.assertGreater((self.folder / "out.json").stat().st_size, 1 << 20)
        lines = json.loads((self.folder / "out.json").read_bytes())["invoices"][0]["lines"]
        self.assertEqual(sum(Decimal(l["amount"]) for l in lines), Decimal("30"))
        self.assertEqual(list(waiting.iterdir()), [])
        with open(self.folder / "out.json", "wb") as out:
            status, err = self.outside(stdout=out, env={**self.environment(), "TMPDIR": "/none"})
        self.assertEqual((status, (self.folder / "out.json").stat().st_size), (3, 0))
        self.assertIn("TMPDIR", err)

    # --- usage that no account pays for ---

    def test_usage_of_zones_without_an_account_is_named(self):
        self.declare((1,), zone(101, 1))
        self.take(zone_101=10 ** 9, zone_999=5 * 10 ** 9, zone_998=7)
        self.run_tool("import", "--db", "t.db", "-", stdin=json.dumps(
            {"load_balancer": 8, "hour": "2026-10-03T05:00:00Z", "requests": 12}).encode() + b"\n")
        for words in ((), ("--finalize",)):
            done = self.invoice(*words)
            self.assertEqual(self.whole("json", done.out), [1])
            said = [l.split(": ", 1)[1] for l in done.err.splitlines()]
            self.assertEqual([l for l in said if "no account" in l], [
                "Pull zone 999 belongs to no account and is not billed: 3 requests, 5000000000 bytes"
                " in 2026-10.",
                "Pull zone 998 belongs to no account and is not billed: 3 requests, 7 bytes in"
                " 2026-10.",
                "Load balancer 8 belongs to no account and is not billed: 12 requests in 2026-10."])
            self.assertTrue(said[-1].startswith("Declare them in the catalogue"), said)
        self.assertNotIn("999", self.invoice("--account", 1).err)
        self.assertNotIn("999", self.run_tool("invoice", "--db", "t.db", "--month", "2026-09").err)
        self.declare((1,), zone(101, 1), zone(998, 1), zone(999, 1))
        self.assertNotIn("999", self.invoice().err)

    def test_a_month_of_no_account_at_all_says_what_there_is(self):
        self.take(**{f"zone_{n}": n for n in range(900, 925)})
        for words in ((), ("--finalize",)):
            done = self.invoice(*words, status=1)
            self.assertEqual(self.whole("json", done.out), [])
            self.assertEqual(done.err.count("belongs to no account"), 20)
            self.assertIn("Pull zone 924 ", done.err)
            self.assertIn("Pull zone, 5 more: 15 requests, 4510 bytes in 2026-10.", done.err)
            self.assertIn("nothing to invoice in 2026-10 for the accounts that there are", done.err)


class Answers(http.server.BaseHTTPRequestHandler):
    """A server that says what a test wants to hear; the test's list is the class's. An answer may be
    a function of what was asked."""
    replies = []

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = self.replies.pop(0)
        self.answer(*(reply(body) if callable(reply) else reply))

    def answer(self, status, document):
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


class Remote(Case):
    def setUp(self):
        super().setUp()
        self.started = threading.Event()

    def invoice(self, *replies, status, words=()):
        Answers.replies = list(replies)
        with http.server.HTTPServer(("127.0.0.1", 0), Answers) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
            thread.start()
            try:
                self.client = self.start("invoice", *OCTOBER, "--server",
                                         f"http://127.0.0.1:{server.server_port}", "--key", "k",
                                         *words, stdout=subprocess.PIPE)
                self.started.set()
                out, err = (text.decode() for text in self.client.communicate(timeout=120))
            finally:
                server.shutdown()
                thread.join()
        self.assertEqual(self.client.returncode, status, err)
        self.assertEqual(Answers.replies, [], "all of it was asked for")
        return out, err

    @staticmethod
    def reply(out, follows="", said=(), no=False):
        return 200, {"out": out, "said": list(said), "answer": None, "no": no, "next": follows}

    def test_what_came_in_several_answers_is_one_document(self):
        asked = []

        def second(body):
            asked.append(body)
            return self.reply("2]}\n", said=["done"])

        out, err = self.invoice(self.reply('{"invoices":[1,', "three more", ["first"]), second,
                                status=0)
        self.assertEqual(json.loads(out), {"invoices": [1, 2]})
        self.assertEqual(asked, [{"month": "2026-10", "next": "three more"}])
        self.assertRegex(err, r"(?s)invoice: first\n.*invoice: done\n")

    def test_a_no_is_one_wherever_it_was_said(self):
        self.invoice(self.reply("a", "more", no=True), self.reply("b"), status=1)

    def test_a_server_that_fails_half_way_prints_nothing(self):
        out, err = self.invoice(self.reply("a", "more"),
                                (500, {"ErrorKey": "server.io", "Message": "no"}), status=3)
        self.assertEqual(out, "")
        self.assertIn("Nothing is printed. What was done before stays done", err)

    def test_an_answer_that_cannot_be_tollbooks_is_none(self):
        for replies in (((200, [1]),), ((200, {"made": 1}),), ((200, {"out": 1, "next": ""}),),
                        (self.reply("a", "more"), (200, {"out": "b"}))):
            out, err = self.invoice(*replies, status=2)
            self.assertEqual(out, "")
            self.assertIn("The answer is not tollbook's. Check the URL.", err)

    def test_interrupted_between_answers_it_prints_nothing_and_says_so(self):
        def interrupted(_):
            self.started.wait()
            self.client.send_signal(signal.SIGINT)
            return self.reply("a", "more")

        for words in ((), ("--finalize",)):
            self.started.clear()
            out, err = self.invoice(interrupted, words=words, status=3)
            self.assertEqual(out, "")
            self.assertIn("Interrupted. Nothing is printed: run the same command again to go on.",
                          err)


if __name__ == "__main__":
    unittest.main()
