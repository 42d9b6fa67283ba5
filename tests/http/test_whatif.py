"""POST /billing/what-if on the real server: whose months, bounds, forms, and others at work."""
import json
import os
import signal
import threading
import unittest
from pathlib import Path

from harness import CATALOG, Case, Server, run, together

BOOK = {"book": "standard", "currency": "USD", "effective_from": "2021-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "10", "NA": "20", "ASIA": "30"}}}}
EU = {"scenario": "eu-plus-10", "base": "standard",
      "patch": {"bandwidth": {"premium": {"regions": {"EU": 11.00}}}}}
MANY = 60  # further accounts, with a zone each that has always existed


class Whatif(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        s = cls.server
        s.stop()
        one, two = CATALOG["accounts"]
        catalog = {"accounts": [one, {**two, "contract": {"book": "for-two"}}] + [{"id": 1000 + i, "name": f"m{i}"}
                                                      for i in range(MANY)],
                   "zones": CATALOG["zones"] + [{"id": 5000 + i, "account": 1000 + i,
                                                 "name": f"m{i}"} for i in range(MANY)]}
        cls.file("catalog.json", catalog, "apply", "--delete")
        cls.file("book.json", BOOK, "book", "add")
        cls.file("own.json", {**BOOK, "book": "for-two", "scope": "contract", "bandwidth": {
            "premium": {"per": "GB", "regions": {"EU": "1", "NA": "2"}}}}, "book", "add")
        rows = [{"zone": zone, "hour": f"2026-10-{day:02}T05:00:00Z", "region": region,
                 "bytes": 10**9 * day} for zone in (101, 201) for day in (3, 7)
                for region in ("DE", "NY")]
        run("import", "--db", s.db, "-", stdin="".join(
            json.dumps(row) + "\n" for row in rows).encode())
        cls.file("s.json", EU, "scenario", "add")
        s.keys["stats"] = s.make_key(1, "SubuserStatistics")
        s.keys["biller"] = s.make_key(2, "SubuserBilling")
        s.start()

    @classmethod
    def file(cls, name, content, *command):
        path = cls.server.path / name
        path.write_text(json.dumps(content))
        run(*command, "--db", cls.server.db, path)

    def ask(self, *scenarios, key="user", body=None, first="2026-10", last="2026-10", account=None,
            **headers):
        question = {"from": first, "to": last, "scenarios": list(scenarios)}
        if account is not None:
            question["account"] = account
        body = json.dumps(question).encode() if body is None else body
        headers.setdefault("Content_Type", "application/json")
        return self.server.ask("POST", "/billing/what-if", key, body, **headers)

    def one(self, *scenarios, **more):
        answer = self.ask(*scenarios, **more)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["scenarios"][0]

    # --- whose months ---

    def test_a_customer_sees_its_own_account_alone(self):
        for key, account in (("user", 1), ("biller", 2)):
            s = self.one(EU, key=key)
            self.assertEqual([a["account"] for a in s["accounts"]], [account])
            self.assertEqual((s["before"], s["after"], s["percent"]), ("300.00", "310.00", "3.3333"))
            self.assertEqual([i["account"] for i in s["increases"]], [account])
        self.assertEqual(self.one(EU, account=1)["accounts"], self.one(EU)["accounts"])
        self.refused(self.ask(EU, account=2), 400, "validation_error", "account")

    def test_contract_books_of_others_are_not_there(self):
        own = {"scenario": "mine", "contract": {"book": "for-two"}}
        s = self.one(own, key="biller", last="2026-11")  # account 2's contract names it since November
        self.assertEqual((s["before"], s["after"]), ("300.00", "30.00"))
        for scenario in (own, {"scenario": "x", "base": "for-two", "replaces": "all"}):
            self.refused(self.ask(scenario), 400, "validation_error")
        self.assertNotIn("for-two", json.dumps(self.one({"scenario": "all"}, last="2026-11")))
        self.assertIn("for-two", json.dumps(self.one({"scenario": "all"}, key="operator")))
        self.assertEqual(self.one(own, key="operator", account=1)["after"], "30.00")

    def test_a_contract_for_one_account(self):
        s = self.one({"scenario": "x", "contracts": {"1": {"discount_percent": "10", "commit": {"monthly": "280"}}}},
                     key="operator")
        self.assertEqual([(a["account"], a["after"]) for a in s["accounts"]][:2], [(1, "280.00"), (2, "300.00")])
        self.refused(self.ask({"scenario": "x", "contract": {"discount": 5}}), 400, "validation_error",
                     "scenarios[0].contract.discount")

    def test_an_operator_sees_all_or_the_one_it_names(self):
        s = self.one(EU, key="operator")
        self.assertEqual(len(s["accounts"]), MANY + 2)
        self.assertEqual((s["before"], s["losers"]), ("660.00", 2))
        self.assertEqual([a["account"] for a in self.one(EU, key="operator", account=2)["accounts"]],
                         [2])

    def test_stored_scenarios_are_the_operators(self):
        self.assertEqual(self.one("eu-plus-10", key="operator"), self.one(EU, key="operator"))
        self.refused(self.ask("eu-plus-10"), 400, "validation_error", "scenarios[0]")
        self.refused(self.ask(EU, "nothing", key="operator"), 404, "resource.not_found",
                     "scenarios[1].scenario")

    def test_who_may_not_ask(self):
        self.refused(self.ask(EU, key="stats"), 403, "authorization.forbidden")
        self.refused(self.ask(EU, key="ingest"), 403, "authorization.forbidden")
        self.refused(self.ask(EU, key="0" * 48), 401, "authentication.failed")
        self.refused(self.server.get("/billing/what-if"), 405, "request.method_not_allowed")

    # --- the answer ---

    def test_it_is_what_the_command_line_prints(self):
        answer = self.ask(EU, key="operator")
        out = run("whatif", "--db", self.server.db, "--from", "2026-10", "--to", "2026-10",
                  self.server.path / "s.json").stdout
        self.assertEqual(answer.body, out)
        self.assertEqual(answer.headers["content-type"], "application/json")

    def test_numbers_keep_their_digits(self):
        price = '{"scenario":"x","base":"standard","patch":{"bandwidth":{"premium":{"regions":' \
                '{"EU":10.000000000000001}}}}}'
        body = f'{{"scenarios":[ {price} , {json.dumps(EU)}],"to":"2026-10","from":"2026-10"}}'
        answer = self.ask(body=body.encode()).json()["scenarios"]
        self.assertEqual([s["scenario"] for s in answer], ["x", "eu-plus-10"])
        self.assertEqual(answer[0]["after"], "300.00")
        text = run("whatif", "--db", self.server.db, "--from", "2026-10", "--to", "2026-10", "-",
                   stdin=price.encode()).stdout
        self.assertEqual(json.loads(text)["scenarios"][0]["book_sha256"], answer[0]["book_sha256"])

    def test_forms_by_accept(self):
        page = self.ask(EU, Accept="text/html")
        self.assertEqual(page.headers["content-type"], "text/html; charset=utf-8")
        self.assertIn(b"<svg ", page.body)
        rows = self.ask(EU, Accept="text/csv").body.decode().split("\r\n")
        self.assertTrue(rows[0].startswith("scenario,scenario_sha256,") and rows[0].endswith(",percent,item"))
        self.assertEqual({row.count(",") for row in rows if row}, {rows[0].count(",")})
        self.assertTrue(self.ask(EU, Accept="image/png").json()["scenarios"])

    def test_nothing_is_stored(self):
        before = run("scenario", "list", "--db", self.server.db).stdout
        self.one({**EU, "scenario": "another"})
        self.assertEqual(run("scenario", "list", "--db", self.server.db).stdout, before)

    # --- refusals ---

    def test_bodies_that_are_none(self):
        for body in (b"", b"{", b"[]", b"null", b'{"from":"2026-10"}', b"\xff", b'{"a":1,"a":2}'):
            self.refused(self.ask(body=body), 400, "validation_error")
        self.refused(self.ask(), 400, "validation_error", "scenarios")
        self.refused(self.ask(1), 400, "validation_error", "scenarios[0]")
        self.refused(self.ask(EU, account=0), 400, "validation_error", "account")
        self.refused(self.ask(body=b'{"from":"2026-10","to":"2026-10","scenarios":[],"x":1}'), 400,
                     "validation_error", "x")
        self.refused(self.ask(EU, Content_Type="text/plain"), 415, "request.media_type")

    def test_spans_that_are_none(self):
        for first, last, field in (("2026-10", "2026-09", "from"), ("2026-10", "2026-12", "to"),
                                   ("2026-1", "2026-10", "from"), ("2026-10", "", "to")):
            self.refused(self.ask(EU, first=first, last=last), 400, "validation_error", field)

    def test_scenarios_that_are_none(self):
        self.refused(self.ask(EU, {**EU, "scenario": "b", "extra": 1}), 400, "validation_error",
                     "scenarios[1].extra")
        self.refused(self.ask({**EU, "patch": {"minimum_monthly": "-1"}}), 400, "book.invalid",
                     "patch.minimum_monthly")
        self.refused(self.ask({**EU, "base": "none"}), 400, "validation_error", "base")
        self.refused(self.ask(EU, EU), 400, "validation_error", "scenario")
        self.refused(self.ask({**EU, "usage": [{"factor": -1}]}), 400, "validation_error",
                     "scenarios[0].usage[0].factor")

    def test_a_span_without_data(self):
        self.refused(self.ask(EU, first="2020-01", last="2020-03"), 404, "whatif.no_data")

    # --- bounds ---

    def named(self, n):
        return [{**EU, "scenario": f"s{i}"} for i in range(n)]

    def test_what_is_asked_at_once_is_bounded(self):
        self.refused(self.ask(*self.named(65)), 400, "whatif.too_much", "scenarios")
        self.assertEqual(self.ask(*self.named(64)).status, 200)
        self.refused(self.ask(EU, first="2021-10", last="2026-10"), 400, "whatif.too_much", "from")
        self.assertEqual(self.ask(EU, first="2021-11", last="2026-10").status, 200)
        refused = self.ask(*self.named(64), first="2021-11", last="2026-10", key="operator")
        self.refused(refused, 400, "whatif.too_much", "scenarios")
        self.assertIn("at most 200000 are made at once", refused.json()["Message"])
        huge = json.dumps({"from": "2026-10", "to": "2026-10", "scenarios": [EU]}) + " " * (4 << 20)
        self.refused(self.ask(body=huge.encode()), 413, "request.body_too_large")

    def test_others_are_answered_meanwhile(self):
        done = threading.Event()
        heavy = self.named(50)

        def ask(i):
            if i < 3:
                answer = self.ask(*heavy, first="2021-11", last="2026-10", key="operator")
                done.set()
                return answer.status
            n = 0
            with self.server.wire() as wire:
                while not done.is_set():
                    answer = wire.ask("GET", "/billing", {"AccessKey": self.server.keys["user"]})
                    self.assertEqual(answer.status, 200)
                    n += 1
            return n

        results = together(7, ask)
        self.assertEqual(set(results[:3]), {200})
        self.assertTrue(all(results[3:]), f"a connection had to wait: {results}")

    def test_usage_comes_in_meanwhile(self):
        def work(i):
            if i == 0:
                answers = [self.ask(EU, key="operator", first="2022-01") for _ in range(5)]
                return {a.json()["scenarios"][0]["before"] for a in answers}
            for n in range(10):
                row = {"zone": 102, "hour": "2026-09-03T05:00:00Z", "region": "DE", "bytes": n + 1}
                self.assertEqual(self.server.ask("POST", "/ingest/buckets", "ingest",
                                                 json.dumps(row).encode()).status, 200)
            return None

        self.assertEqual(len(together(2, work)[0]), 1, "bytes too few to be billed")


@unittest.skipIf(os.environ.get("TB_VARIANT"), "a sanitizer takes memory of its own")
class Memory(Case):
    """Many small values in a body must not take many times its bytes, nor stay in memory."""

    def status(self, name):
        text = Path(f"/proc/{self.server.process.pid}/status").read_text()
        return int(text.split(name + ":")[1].split()[0]) >> 10

    def ask_nine(self, path, key, body, status):
        """At once. One too many may wait for the three threads."""
        answers = together(9, lambda _: self.server.ask("POST", path, key, body, Content_Type="application/json").status)
        self.assertLessEqual(set(answers), {status, 503}, (path, len(body)))
        self.assertIn(status, answers)

    def test_bodies_of_small_values(self):
        before = self.status("VmRSS")
        for path, key, most in (("/billing/what-if", "user", 13000), ("/operations/whatif", "operator", 26000)):
            for n, status in ((1 << 20, 413), (most, 400)):  # far too many, and about as many as may be
                self.ask_nine(path, key, b'{"scenarios":[' + b"{}," * n + b"{}]}", status)
        self.assertLess(self.status("VmHWM") - before, 64)

    def test_bodies_of_long_names(self):
        """4 MiB, with about as many names as may be, with more, with longer ones, and with one."""
        before = self.status("VmRSS")
        for n, size, status in ((32000, 59, 400), (65000, 59, 413), (1000, 4100, 413), (1, (4 << 20) - 200, 413)):
            names = ",".join(f'"{i:0{size}}":1' for i in range(n)).ljust((4 << 20) - 100)
            for text in (f"{{{names}}}", f'{{"scenarios":[{{{names}}}]}}'):
                self.ask_nine("/billing/what-if", "user", text.encode(), status)
        self.assertLess(self.status("VmHWM") - before, 64)


class Stopping(unittest.TestCase):
    def test_a_stop_ends_the_computation(self):
        server = Server()
        try:
            server.stop()
            Whatif.server = server
            Whatif.file("catalog.json", {
                "accounts": [{"id": i, "name": "a"} for i in range(1, 61)],
                "zones": [{"id": 1000 + i, "account": i, "name": "z"} for i in range(1, 61)]},
                        "apply", "--delete")
            Whatif.file("book.json", BOOK, "book", "add")
            server.start()
            question = {"from": "2021-11", "to": "2026-10",
                        "scenarios": [{**EU, "scenario": f"s{i}"} for i in range(50)]}
            with server.wire() as wire:
                body = json.dumps(question).encode()
                wire.send(b"POST /billing/what-if HTTP/1.1\r\nHost: t\r\nContent-Type: "
                          b"application/json\r\nAccessKey: " + server.keys["operator"].encode() +
                          b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
                server.get("/healthz")
                server.process.send_signal(signal.SIGTERM)
                answer = wire.read("POST")
                self.assertTrue(answer is None or answer.status in (200, 503), answer)
            self.assertEqual(server.stop(0), 0)
        finally:
            if server.process.poll() is None:
                server.process.kill()
            server.folder.cleanup()


if __name__ == "__main__":
    unittest.main()
