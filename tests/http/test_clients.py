"""What clients by others send and read: paths in other spellings, browsers' preflights, tokens without
their scheme, and answers that say what a client has to know.
"""
import json
import time
import unittest

from harness import CATALOG, PATIENCE, Case, Server, run

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
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(catalog).encode())
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


HOOK = r"""#!/bin/sh
printf '%s|' "$@" >>"$FOLDER/calls"; echo >>"$FOLDER/calls"
case $4 in
fail) echo "no such cache"; exit 7;;
hang) exec sleep 600;;
esac
"""


class Beside(unittest.TestCase):
    """What clients ask for beside statistics and billing, and purging by the operator's program."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(log=None)
        cls.server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"][0]["hostnames"] = ["Video.Acme.Example"]
        catalog["zones"][2]["hostnames"] = ["live.borealis.example"]
        catalog["container_apps"] = [
            {"id": "shop", "account": 1, "name": "shop", "description": "sells", "status": "active"},
            {"id": "desk", "account": 2, "name": "desk"}]
        catalog["registries"] = [
            {"id": "dockerhub", "url": "https://registry.example"},
            {"id": "77", "account": 1, "url": "https://own.example:5000", "username": "u",
             "secret": "s"},
            {"id": "dockerhub", "account": 2, "url": "https://mirror.example"},
            {"id": "88", "account": 2, "url": "https://other.example"}]
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(catalog).encode())
        run("ledger", "pay", "--db", cls.server.db, "--account", 2, "--amount", "12.50",
            "--reference", "x")
        for role in ("UserApi", "SubuserPullZones", "SubuserStatistics"):
            cls.server.keys[role] = cls.server.make_key(1, role)
        cls.hook = cls.server.path / "hook"
        cls.hook.write_text(HOOK.replace("$FOLDER", str(cls.server.path)))
        cls.hook.chmod(0o755)
        cls.options = ("--purge-hook", cls.hook, "--purge-timeout-ms", 600000)
        cls.server.start(*cls.options)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    refused = Case.refused

    def calls(self):
        path = self.server.path / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return [line.rstrip("|").split("|") for line in lines]

    def test_who_the_key_belongs_to(self):
        user = self.server.get("/user").json()
        self.assertEqual((user["Name"], user["FirstName"], user["Email"], user["Roles"]),
                         ("acme", "acme", None, ["User"]))
        self.assertEqual(user["Id"], self.server.get("/pullzone/101").json()["UserId"])
        self.assertEqual(user["AccountId"], user["Id"])
        self.assertIn(b'"Balance":0.0,', self.server.get("/user").body)
        self.assertIn(b'"Balance":12.5,', self.server.get("/user", "other").body)
        self.refused(self.server.get("/user", "SubuserStatistics"), 403, "authorization.forbidden")
        self.refused(self.server.get("/user", None), 401, "authentication.failed")

    def test_countries(self):
        countries = {row["IsoCode"]: row for row in self.server.get("/country").json()}
        self.assertGreater(len(countries), 240)
        self.assertEqual(sum(row["IsEU"] for row in countries.values()), 27)
        for code, name, eu in (("DE", "Germany", True), ("GB", "United Kingdom", False),
                               ("TW", "Taiwan", False), ("HR", "Croatia", True)):
            self.assertEqual((countries[code]["Name"], countries[code]["IsEU"]), (name, eu))
        self.refused(self.server.get("/country", None), 401, "authentication.failed")

    def test_what_there_is_none_of_is_an_empty_page(self):
        for path in ("/storagezone?page=1", "/dnszone?page=1&perPage=1000", "/dnszone", "/videolibrary/?page=2&perPage=5",
                     "/compute/script", "/abusecase"):
            self.assertEqual(self.server.get(path).body, b'{"Items":[],"CurrentPage":1,"TotalItems":0,'
                             b'"HasMoreItems":false}', path)
            self.refused(self.server.get(path, None), 401, "authentication.failed")

    def test_lists_that_begin_with_page_0_are_bare_without_a_page(self):
        for path in ("/storagezone", "/storagezone?page=0", "/videolibrary?page=&search=x"):
            self.assertEqual(self.server.get(path).body, b"[]", path)
        for query in ("page=-1", "page=x", "perPage=4"):
            self.refused(self.server.get(f"/storagezone?{query}"), 400, "validation_error", query.split("=")[0])

    def test_registries_are_the_accounts_and_everybodys(self):
        page = self.server.get("/mc/registries").json()
        self.assertEqual(page, {"items": [
            {"id": 77, "displayName": "77", "hostName": "own.example:5000", "userName": "u",
             "isPublic": False},
            {"displayName": "dockerhub", "hostName": "registry.example", "userName": None,
             "isPublic": True}], "meta": {"totalItems": 2}, "cursor": None})
        other = self.server.get("/mc/registries", "other").json()["items"]
        self.assertEqual([row["hostName"] for row in other], ["other.example", "mirror.example"])

    def test_an_application_by_its_id(self):
        app = self.server.get("/mc/apps/shop").json()
        self.assertEqual((app["id"], app["name"], app["status"], app["volumes"]),
                         ("shop", "shop", "active", []))
        for path, key in (("/mc/apps/desk", "user"), ("/mc/apps/shop", "other"),
                          ("/mc/apps/Shop", "user"), ("/mc/apps/none", "user")):
            answer = self.server.get(path, key)
            self.assertEqual((answer.status, answer.json()["detail"]), (404, "Application not found."))

    def test_a_zone_is_purged_by_the_hook(self):
        for body, call in ((None, ["1", "101", "all"]), (b"{}", ["1", "101", "all"]),
                           (b"null", ["1", "101", "all"]), (b'{"CacheTag":null}', ["1", "101", "all"]),
                           (b'{"CacheTag":"x y;$(z) -a"}', ["1", "101", "tag", "x y;$(z) -a"])):
            answer = self.server.ask("POST", "/pullzone/101/purgeCache", "SubuserPullZones", body,
                                     Content_Type="application/json")
            self.assertEqual((answer.status, answer.body), (204, b""), body)
            self.assertEqual(self.calls(), [call])

    # bunnycdn-node and modules for WHMCS purge at the old base address
    def test_both_are_purged_below_api(self):
        answer = self.server.ask("POST", "/api/pullzone/101/purgeCache", "user")
        self.assertEqual((answer.status, self.calls()), (204, [["1", "101", "all"]]))
        url = "https://acme-video.b-cdn.net/a.js"
        answer = self.server.ask("POST", f"/api/purge?url={url}", "user")
        self.assertEqual((answer.status, self.calls()), (200, [["1", "101", "url", url]]))
        self.refused(self.server.ask("POST", "/api/pullzone/201/purgeCache", "user"), 404, "pullZone.not_found")
        self.assertEqual(self.calls(), [])

    def test_a_url_is_purged_by_the_hook(self):
        for query, zone, kind in (("url=https://acme-video.b-cdn.net/a/b.js", "101", "url"),
                                  ("url=https%3A%2F%2FVIDEO.acme.example%2F*&async=true", "101", "url"),
                                  ("url=http://acme-static.b-cdn.net:80/a%20b", "102", "url"),
                                  ("url=acme-static.b-cdn.net/x%3Fa://b&exactPath=true", "102", "exact")):
            answer = self.server.ask("POST", f"/purge?{query}", "user")
            self.assertEqual((answer.status, answer.body), (200, b""), query)
            (account, number, how, url), = self.calls()
            self.assertEqual((account, number, how), ("1", zone, kind))
            self.assertTrue(url.lower().startswith(("http", "acme-static")), url)

    def test_anothers_zone_is_as_one_that_is_not_there(self):
        for key, path in (("user", "/pullzone/201/purgeCache"), ("user", "/pullzone/999/purgeCache"),
                          ("other", "/pullzone/101/purgeCache"), ("user", "/pullzone/x/purgeCache"),
                          ("user", "/purge?url=https://borealis-live.b-cdn.net/"),
                          ("user", "/purge?url=https://live.borealis.example/"),
                          ("other", "/purge?url=https://video.acme.example/"),
                          ("user", "/purge?url=https://b-cdn.net/"), ("user", "/purge?url=https://"),
                          ("user", "/purge?url=https:///acme-video.b-cdn.net/"),
                          ("user", "/purge?url=https://acme-video.b-cdn.net@evil/"),
                          ("user", "/purge?url=https://acme-video.b-cdn.net:80@evil/"),
                          ("user", "/purge?url=https://acme-video.b-cdn.net:80%5C@evil/")):
            self.refused(self.server.ask("POST", path, key), 404, "pullZone.not_found")
        self.refused(self.server.ask("POST", "/pullzone/101/purgeCache", "SubuserStatistics"), 403,
                     "authorization.forbidden")
        self.assertEqual(self.calls(), [])

    def test_what_cannot_be_purged(self):
        for query in ("", "?url=", "?url=%0a", "?url=https://acme-video.b-cdn.net/%01",
                      "?url=https://acme-video.b-cdn.net/&exactPath=perhaps",
                      "?url=acme-video.b-cdn.net/" + "x" * 2048, "?url=-acme-video.b-cdn.net/"):
            self.refused(self.server.ask("POST", f"/purge{query}", "user"), 400, "validation_error")
        for body in (b"[]", b"1", b'{"CacheTag":1}', b"{", b'{"CacheTag":"a\\nb"}', b'{"CacheTag":"-x"}',
                     b'{"CacheTag":"\\u002d-all"}'):
            answer = self.server.ask("POST", "/pullzone/101/purgeCache", "user", body,
                                     Content_Type="application/json")
            self.refused(answer, 400, "validation_error")
        self.assertEqual(self.calls(), [])

    def test_a_hook_that_fails_is_heard(self):
        answer = self.server.ask("POST", "/pullzone/101/purgeCache", "user", b'{"CacheTag":"fail"}',
                                 Content_Type="application/json")
        self.refused(answer, 500, "server.io")
        self.assertNotIn(b"hook", answer.body)
        self.assertIn("purging zone 101 of account 1: no such cache", self.server.messages())
        self.assertIn("the hook: it ended with status 7", self.server.messages())
        self.calls()

    def test_a_stop_ends_a_hook(self):
        wire = self.server.wire()
        wire.send(f"POST /pullzone/101/purgeCache HTTP/1.1\r\nHost: x\r\nAccessKey: "
                  f"{self.server.keys['user']}\r\nContent-Type: application/json\r\n"
                  "Content-Length: 19\r\n\r\n{\"CacheTag\":\"hang\"}".encode())
        end = time.monotonic() + PATIENCE
        while not (self.server.path / "calls").exists():
            self.assertLess(time.monotonic(), end)
        self.assertEqual(self.server.stop(), 0)
        answer = wire.read("POST")
        self.assertTrue(answer is None or answer.status == 503)
        self.calls()
        self.server.start(*self.options)

    def test_without_a_hook_it_is_not_implemented(self):
        self.server.stop()
        self.server.start()
        try:
            for path in ("/pullzone/101/purgeCache", "/purge?url=https://acme-video.b-cdn.net/"):
                answer = self.server.ask("POST", path, "user")
                self.refused(answer, 501, "purge.not_set_up")
                self.assertIn("--purge-hook", answer.json()["Message"])
        finally:
            self.server.stop()
            self.server.start(*self.options)


if __name__ == "__main__":
    unittest.main(verbosity=2)
