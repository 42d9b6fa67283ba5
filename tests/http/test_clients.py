"""What clients by others send and read: paths in other spellings, browsers' preflights, tokens without
their scheme, and answers that say what a client has to know.
"""
import json
import unittest

from harness import CATALOG, Case, Server, run

APP = "https://console.example"
LOCAL = "http://localhost:5173"
EXPOSED = "ETag, X-Request-Id, Retry-After, Content-Disposition"
SENT = "AccessKey, Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-None-Match"


class Paths(Case):
    def test_letter_case_and_one_slash_do_not_matter(self):
        for path in ("/pullzone", "/PullZone", "/PULLZONE/", "/pullzone/", "/PullZone/Count",
                     "/PullZone/101", "/pullZone/101/", "/pullzone/101/SafeHop/Statistics",
                     "/pullzone/101/OriginShield/QueueStatistics/", "/Statistics", "/statistics/",
                     "/billing/Summary", "/Healthz/", "/region/", "/OpenAPI.json"):
            self.assertEqual(self.server.get(path).status, 200, path)
        self.assertEqual(self.server.get("/PullZone/101/").json(), self.server.get("/pullzone/101").json())
        self.assertEqual(self.server.get("/PullZone/?page=1&perPage=5").json(),
                         self.server.get("/pullzone?page=1&perPage=5").json())

    def test_two_slashes_are_another_path(self):
        for path in ("//", "//pullzone", "/pullzone//", "/pullzone//101", "/pullzone/101//",
                     "/pullzones", "/pullzon%65", "/"):
            self.refused(self.server.get(path), 404, "resource.not_found")

    def test_another_method_is_told_what_is_allowed_there(self):
        answer = self.server.ask("PUT", "/PullZone/", "user")
        self.refused(answer, 405, "request.method_not_allowed")
        self.assertEqual(answer.headers["allow"], "GET, HEAD")


class Money(unittest.TestCase):
    """Answers that a client bills or is billed by."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"].append({"id": 3, "name": "broke", "prepaid": True})
        catalog["zones"] += [
            {"id": 301, "account": 3, "name": "unpaid"},
            {"id": 111, "account": 1, "name": "set", "settings": {"Enabled": False}},
            {"id": 112, "account": 1, "name": "hung", "settings": {"Suspended": True}},
            {"id": 113, "account": 1, "name": "full", "settings": {"MonthlyBandwidthLimit": 10}}]
        row = {"zone": 113, "hour": "2026-11-03T05:00:00Z", "region": "DE", "bytes": 10}
        run("apply", "--db", cls.server.db, "-", stdin=json.dumps(catalog).encode())
        run("import", "--db", cls.server.db, "-", stdin=json.dumps(row).encode())
        cls.server.keys["broke"] = cls.server.make_key(3, "UserApi")
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def test_the_summary_has_the_public_fields_alone(self):
        for zone in self.server.get("/billing/summary").json():
            self.assertEqual(list(zone), ["PullZoneId", "MonthlyUsage", "MonthlyBandwidthUsed"])

    def test_a_disabled_zone_says_why_its_logs_are_closed(self):
        for key, zone, why in (("user", 111, "disabled or suspended by its settings"),
                               ("user", 112, "disabled or suspended by its settings"),
                               ("user", 113, "reached its MonthlyBandwidthLimit"),
                               ("broke", 301, "prepaid and its balance is not above 0")):
            for path in (f"/v2/pullzones/{zone}/logs", f"/11-03-26/{zone}.log"):
                answer = self.server.get(path, key)
                self.assertEqual(answer.status, 403, path)
                error = answer.json()["error"]
                self.assertEqual(error["code"], "forbidden")
                self.assertIn(why, error["message"])

    def test_lists_may_end_with_a_comma(self):
        for query in ("status=2xx,", "status=2xx", "status=200,"):
            found = self.server.get(f"/v2/pullzones/101/logs?{query}").json()["data"]
            self.assertEqual({entry["statusCode"] for entry in found}, {200}, query)
        whole = self.server.get("/11-03-26/101.log?status=2").body
        self.assertEqual(self.server.get("/11-03-26/101.log?status=2,").body, whole)
        self.assertEqual(whole.count(b"\n"), 10)
        for query in ("status=,", "status=,2xx", "status=2xx,,"):
            self.assertEqual(self.server.get(f"/v2/pullzones/101/logs?{query}").status, 400, query)

    def test_a_cache_status_in_any_case(self):
        for spelling in ("hit", "Hit", "HIT", "hIT,"):
            found = self.server.get(f"/v2/pullzones/101/logs?cacheStatus={spelling}").json()["data"]
            self.assertEqual({entry["cacheStatus"] for entry in found}, {"HIT"}, spelling)


class Browsers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--cors-origin", APP, "--cors-origin", LOCAL)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def preflight(self, path, origin=APP, method="GET", server=None):
        return (server or self.server).ask("OPTIONS", path, Origin=origin,
                                           Access_Control_Request_Method=method,
                                           Access_Control_Request_Headers="accesskey")

    def test_a_preflight_is_answered_without_a_key(self):
        for path, methods in (("/statistics", "GET, HEAD"), ("/keys", "GET, HEAD, POST"),
                              ("/PullZone/101/", "GET, HEAD"), ("/billing/what-if", "POST")):
            for origin in (APP, LOCAL):
                answer = self.preflight(path, origin)
                self.assertEqual((answer.status, answer.body), (204, b""), path)
                self.assertEqual(answer.headers["access-control-allow-origin"], origin)
                self.assertEqual(answer.headers["access-control-allow-methods"], methods)
                self.assertEqual(answer.headers["access-control-allow-headers"], SENT)
                self.assertEqual(answer.headers["access-control-max-age"], "600")
                self.assertEqual(answer.headers["vary"], "Origin")

    def test_what_is_no_preflight_for_us(self):
        for answer in (self.preflight("/statistics", "https://other.example"),
                       self.preflight("/statistics", APP + ".evil.example"),
                       self.preflight("/statistics", "null"),
                       self.server.ask("OPTIONS", "/statistics", Origin=APP)):
            self.assertEqual(answer.status, 405)
            self.assertEqual(answer.headers["vary"], "Origin")
            self.assertNotIn("access-control-allow-methods", answer.headers)
        self.assertEqual(self.preflight("/nowhere").status, 404)

    def test_answers_and_errors_say_who_may_read_them(self):
        for target, key, status in (("/statistics", "user", 200), ("/statistics", "user", 200),
                                    ("/pullzone", "user", 200), ("/statistics", None, 401),
                                    ("/pullzone/999", "user", 404), ("/nowhere", "user", 404),
                                    ("/statistics?hourly=x", "user", 400),
                                    ("/v2/pullzones/101/logs", "user", 200)):
            for encoding in ("identity", "gzip"):
                for origin in (APP, LOCAL, "https://other.example", None):
                    fields = {"Accept_Encoding": encoding, **({"Origin": origin} if origin else {})}
                    answer = self.server.get(target, key, **fields)
                    self.assertEqual(answer.status, status, target)
                    self.assertIn("Origin", answer.headers["vary"].split(", "))
                    known = origin in (APP, LOCAL)
                    self.assertEqual(answer.headers.get("access-control-allow-origin"),
                                     origin if known else None, target)
                    self.assertEqual(answer.headers.get("access-control-expose-headers"),
                                     EXPOSED if known else None)
        tag = self.server.get("/statistics", Origin=APP).headers["etag"]
        again = self.server.get("/statistics", Origin=APP, If_None_Match=tag)
        self.assertEqual((again.status, again.headers["access-control-allow-origin"]), (304, APP))
        self.assertEqual(again.headers["vary"], "Accept-Encoding, Origin")

    def test_off_by_default(self):
        server = Server(log=None)
        try:
            self.assertEqual(self.preflight("/statistics", server=server).status, 405)
            answer = server.get("/statistics", Origin=APP)
            self.assertEqual(answer.headers["vary"], "Accept-Encoding")
            self.assertNotIn("access-control-allow-origin", answer.headers)
        finally:
            server.close()

    def test_an_origin_is_a_scheme_and_a_host(self):
        for text in ("*", "null", "console.example", "https://console.example/", "https://",
                     "https://console.example/x", "https://a b", "ftp://x", "https://Console.example",
                     "https://x?y", "https://u@x"):
            done = run("serve", "--db", self.server.db, "--cors-origin", text, expect=2)
            self.assertIn(b"--cors-origin", done.stderr, text)


class Tokens(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        key = cls.server.path / "token"
        key.write_bytes(b"s" * 32)
        key.chmod(0o600)
        cls.server.start("--token-key", key)
        cls.token = run("token", "--token-key", key, "--account", 1, "--role", "User",
                        "--hours", "1").stdout.decode().strip()

    def test_a_token_needs_no_scheme(self):
        for text in (self.token, f"Bearer {self.token}", f"bearer {self.token}"):
            self.assertEqual(self.server.get("/pullzone", None, Authorization=text).status, 200)
        for text in (f"Basic {self.token}", f"Bearer{self.token}", self.token + " x", "x",
                     self.server.keys["user"]):
            self.refused(self.server.get("/pullzone", None, Authorization=text), 401,
                         "authentication.failed")

    def test_a_key_goes_before_a_token(self):
        answer = self.server.get("/pullzone", "nonsense", Authorization=self.token)
        self.refused(answer, 401, "authentication.failed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
