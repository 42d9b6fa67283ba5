"""The console's pages and sessions: what is served and how it may be kept, who may sign in and for how long,
what a cookie stands for, and what it does not let another page do.
"""
import gzip
import hashlib
import json
import os
import pathlib
import re
import signal
import stat
import subprocess
import tempfile
import time
import unittest

import harness
from test_billing import BOOK
from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, Server, Wire, run, together

JSON = {"Content-Type": "application/json"}
PAGE = {"X-Tollbook-Console": "1"}
FLAGS = ["Path=/", "HttpOnly", "SameSite=Strict"]
HALF_DAY = 12 * 3600
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
CSP = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
       "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")


def until(true):
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError("it does not happen")
        time.sleep(0.005)


class Console(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()
        cls.secret = cls.server.path / "secret"
        cls.secret.touch(0o600)
        cls.secret.write_bytes(b"s" * 32)
        cls.server.keys["Support"] = cls.server.make_key(0, "Support")
        for role in ("SubuserBilling", "SubuserStatistics", "UserApi", "CustomerAdmin"):
            cls.server.keys[role] = cls.server.make_key(1, role)
        cls.visitors = 0
        cls.start()

    @classmethod
    def start(cls, *options):
        cls.server.start("--token-key", cls.secret, "--access-log", cls.server.path / "access", *options)

    def restart(self, *options):
        self.server.stop()
        self.start(*options)

    def token(self, *options):
        done = subprocess.run([TOLLBOOK, "token", "--token-key", self.secret, "--account", "1", *options],
                              env=ENVIRONMENT, check=True, capture_output=True, timeout=PATIENCE)
        return done.stdout.decode().strip()

    # --- asking ---

    def raw(self, method, target, headers=None, body=b""):
        """An answer that is not held against the API's document: pages are no part of it."""
        fields = {"Host": "test", **(headers or {})}
        if body:
            fields["Content-Length"] = str(len(body))
        with self.server.wire() as wire:
            wire.send("\r\n".join([f"{method} {target} HTTP/1.1", *(f"{k}: {v}" for k, v in fields.items())])
                      .encode("latin-1") + b"\r\n\r\n" + body)
            return wire.read(method)

    def visitor(self):
        """Headers of one who was not here before, so that limits of others do not count for him."""
        type(self).visitors += 1
        return {"X-Forwarded-For": f"198.51.100.1, 10.0.{self.visitors // 250}.{self.visitors % 250}"}

    def sign_in(self, key, headers=None, body=None):
        body = json.dumps({"key": self.server.keys.get(key, key)}).encode() if body is None else body
        with self.server.wire() as wire:
            return wire.ask("POST", "/console/session", {**JSON, **PAGE, **(headers or self.visitor())}, body)

    def cookie(self, key):
        answer = self.sign_in(key)
        self.assertEqual(answer.status, 200, answer.body)
        return {"Cookie": answer.headers["set-cookie"].split(";")[0]}

    def ask(self, method, target, headers=None, body=None):
        with self.server.wire() as wire:
            return wire.ask(method, target, headers, body)

    def session(self, cookie):
        return self.ask("GET", "/console/session", cookie)

    # --- pages ---

    def test_a_browser_at_the_door_is_led_in_and_a_script_is_not(self):
        for accept in (BROWSER, "text/html", "TEXT/HTML;q=0.3, application/json;q=0.1"):
            for method in ("GET", "HEAD"):
                answer = self.raw(method, "/", {"Accept": accept})
                self.assertEqual((answer.status, answer.headers["location"]), (302, "/console/"), accept)
        for accept in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}, {"Accept": "text/*;q=0"},
                       {"Accept": "text/html;q=0"}, {"Accept": ""}):
            self.refused(self.raw("GET", "/", accept), 404, "resource.not_found")

    def test_every_address_of_the_console_is_the_page(self):
        first = self.raw("GET", "/console/")
        self.assertEqual(first.status, 200)
        for target in ("/console", "/Console/overview?from=2026-10-01", "/console/zones/101", "/console/a/b/c/d",
                       "/console/billing/2026-000001", "/console/%3Cscript%3E"):
            self.assertEqual(self.raw("GET", target).body, first.body, target)
        self.assertEqual(self.raw("POST", "/console/zones").status, 405)
        self.assertEqual(self.raw("GET", "/consoles").status, 404)

    def guarded(self, answer):
        self.assertEqual(answer.headers["content-security-policy"], CSP)
        self.assertEqual(answer.headers["x-content-type-options"], "nosniff")
        self.assertEqual(answer.headers["referrer-policy"], "no-referrer")
        self.assertNotIn("set-cookie", answer.headers)

    def test_the_page_is_asked_for_again_and_costs_nothing_then(self):
        for accept in ({}, {"Accept-Encoding": "gzip, br"}):
            page = self.raw("GET", "/console/", accept)
            self.guarded(page)
            self.assertEqual(page.headers["cache-control"], "no-cache")
            self.assertEqual(page.headers["content-type"], "text/html; charset=utf-8")
            self.assertEqual(page.headers["vary"], "Accept-Encoding")
            again = self.raw("GET", "/console/zones", {**accept, "If-None-Match": page.headers["etag"]})
            self.assertEqual((again.status, again.body), (304, b""))
            self.guarded(again)
            head = self.raw("HEAD", "/console/", accept)
            self.assertEqual((head.status, head.body), (200, b""))
            self.assertEqual(head.headers["content-length"], page.headers["content-length"])
            self.assertEqual(self.raw("GET", "/console/", {**accept, "If-None-Match": '"x"'}).status, 200)

    def assets(self):
        page = self.raw("GET", "/console/").body.decode()
        found = set(re.findall(r'"(/console/assets/[^"]+)"', page))
        while True:
            texts = {name: self.raw("GET", name).body.decode() for name in found if name.endswith((".js", ".css"))}
            more = {"/console/assets/" + name for text in texts.values()
                    for name in re.findall(r"""["'(]\./([\w.-]+\.[0-9a-f]{16}\.\w+)["')]""", text)}
            if more <= found:
                return sorted(found)
            found |= more

    def test_assets_are_named_by_what_they_are_and_kept_for_ever(self):
        names = self.assets()
        self.assertTrue(any("dygraph" in name for name in names), names)
        for name in names:
            self.assertRegex(name, r"^/console/assets/[\w.-]+\.[0-9a-f]{16}\.(js|css|svg|png)$")
            zipped = self.raw("GET", name, {"Accept-Encoding": "gzip"})
            plain = self.raw("GET", name)
            for answer in (zipped, plain):
                self.guarded(answer)
                self.assertEqual(answer.status, 200, name)
                self.assertEqual(answer.headers["cache-control"], "public, max-age=31536000, immutable")
                self.assertEqual(self.raw("GET", name, {"If-None-Match": answer.headers["etag"], **(
                    {"Accept-Encoding": "gzip"} if answer is zipped else {})}).status, 304)
            self.assertEqual(zipped.headers["content-encoding"], "gzip")
            self.assertNotIn("content-encoding", plain.headers)
            self.assertEqual(gzip.decompress(zipped.body), plain.body)
            self.assertEqual(self.raw("HEAD", name).headers["content-length"], str(len(plain.body)))
        kinds = {name.rsplit(".", 1)[1]: self.raw("GET", name).headers["content-type"] for name in names}
        self.assertEqual(kinds["js"], "text/javascript; charset=utf-8")

    def test_what_is_no_asset_is_not_found(self):
        good = self.assets()[0]
        other = good[:-6] + ("0" if good[-6] != "0" else "1") + good[-5:]
        for target in ("/console/assets/x.js", "/console/assets/index.html", good + "x", good.upper(), other,
                       "/console/assets/js/main.js", good + "/"):
            self.refused(self.raw("GET", target), 404, "resource.not_found")
        self.assertEqual(self.raw("GET", "/console/assets/../session").status, 400)

    def test_first_view_weighs_little(self):
        names = ["/console/", *self.assets()]
        weight = sum(len(self.raw("GET", name, {"Accept-Encoding": "gzip"}).body) for name in names
                     if "views" not in name and "js-proof" not in name)  # which a view alone loads
        self.assertLess(weight, 150_000)

    # --- signing in ---

    def test_a_key_becomes_a_session(self):
        answer = self.sign_in("user")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["cache-control"], "no-store")
        text, *flags = answer.headers["set-cookie"].split("; ")
        self.assertRegex(text, rf"^tollbook_session_{self.server.port}=[0-9a-f]{{64}}$")
        self.assertEqual(flags, [*FLAGS, f"Max-Age={HALF_DAY}"])
        session = answer.json()
        self.assertEqual(session, {
            "role": "User", "account": 1, "name": "acme", "key": session["key"], "now": harness.NOW, "expires": "2026-11-04T21:00:00Z",
            "version": session["version"],
            "offers": ["statistics", "zones", "logs", "events", "billing", "whatif", "containers"], "changes": [], "primary": None})
        self.assertEqual(self.session({"Cookie": f"a=b; {text}; c=d"}).json(), session)

    def test_what_is_offered_is_what_the_routes_open(self):
        shown = {"statistics": ("/statistics", "/insights?from=2026-11-03&to=2026-11-04"), "zones": ("/pullzone",),
                 "logs": ("/v2/pullzones/101/logs",), "events": ("/shield/event-logs/41/11-03-2026",),
                 "billing": ("/billing",), "containers": ("/mc/apps",), "operator": ("/invoices/late",), "keys": ("/keys",)}
        for key in ("user", "operator", "Support", "CustomerAdmin", "SubuserBilling", "SubuserStatistics"):
            cookie = self.cookie(key)
            session = self.session(cookie).json()
            self.assertEqual(session["account"], None if key in ("operator", "Support") else 1)
            for offer, targets in shown.items():
                asked = [self.ask("GET", target, cookie) for target in targets]
                is_open = any(a.status != 403 and a.headers["content-type"] and not (
                    a.status == 404 and b"requested resource was not found" in a.body) for a in asked)
                self.assertEqual(offer in session["offers"], is_open, (key, offer, [a.status for a in asked]))
            self.assertEqual("whatif" in session["offers"], key != "SubuserStatistics")
            self.assertNotIn("limits", session["offers"], "none are declared")

    def test_the_cookie_is_secure_where_tls_ends_before_us(self):
        for header in ({"X-Forwarded-Proto": "https"}, {"Origin": "https://console.example"}):
            answer = self.sign_in("user", {**self.visitor(), **header})
            self.assertEqual(answer.headers["set-cookie"].split("; ")[-1], "Secure")
        answer = self.sign_in("user", {**self.visitor(), "X-Forwarded-Proto": "http", "Origin": "http://x"})
        self.assertNotIn("Secure", answer.headers["set-cookie"])

    def test_what_people_paste_around_a_key_is_forgiven(self):
        self.assertEqual(self.sign_in(f" \t{self.server.keys['user']}\r\n").status, 200)

    def test_a_key_that_is_none_and_one_that_may_look_at_nothing(self):
        user = self.server.keys["user"]
        for key in ("", "x", user[:-1], user + "0", user.upper(), "ä", "a.b.c", "x" * 5000, "\u202e" + user):
            self.refused(self.sign_in(key), 401, "authentication.failed", "key")
        refused = self.sign_in("ingest")
        self.refused(refused, 403, "authorization.forbidden", "key")
        self.assertIn("Ingest", refused.json()["Message"])
        self.assertNotIn("set-cookie", refused.headers)

    def test_a_body_that_is_none(self):
        for body in (b"", b"{}", b"[]", b'"x"', b"{", b'{"key":1}', b'{"key":null}', b'{"key":"a","key":"b"}',
                     b'{"Key":"x"}', b'{"key":"\\u0000"}', b"\xff"):
            self.refused(self.sign_in("", body=body), 400, "validation_error", "key")
        self.assertEqual(self.sign_in("x" * 9000).status, 413)
        answer = self.ask("POST", "/console/session", {**PAGE, "Content-Type": "text/plain"}, b'{"key":"x"}')
        self.refused(answer, 415, "request.media_type")

    def test_a_page_from_elsewhere_cannot_sign_in_or_out(self):
        cookie = self.cookie("user")
        for header in ({}, {"X-Tollbook-Console": "0"}, {"X-Tollbook-Console": "11"}, {"X-Tollbook-Console": ""}):
            body = json.dumps({"key": self.server.keys["user"]}).encode()
            self.refused(self.ask("POST", "/console/session", {**JSON, **header}, body), 403,
                         "authorization.forbidden")
            self.refused(self.ask("DELETE", "/console/session", {**cookie, **header}), 403,
                         "authorization.forbidden")
        self.assertEqual(self.session(cookie).status, 200)

    def test_failed_sign_ins_of_one_address_are_limited(self):
        here, there = self.visitor(), self.visitor()
        for _ in range(10):
            self.refused(self.sign_in("wrong", here), 401, "authentication.failed")
        for key in ("wrong", "user"):
            answer = self.sign_in(key, here)
            self.refused(answer, 429, "request.rate_limited")
            self.assertTrue(0 < int(answer.headers["retry-after"]) <= 60)
        self.assertEqual(self.sign_in("user", there).status, 200)
        for _ in range(12):  # who signs in is not counted
            self.assertEqual(self.sign_in("user", there).status, 200)

    def test_behind_a_proxy_that_adds_its_line_nobody_chooses_his_address(self):
        victim, proxy_saw = "10.9.0.1", "10.9.0.2"
        statuses = []
        for i in range(25):
            said = victim if i % 2 else f"203.0.113.{i}"  # the visitor's own line, then the proxy's
            answer = self.raw("POST", "/console/session", {
                **JSON, **PAGE, "X-Forwarded-For": f"{said}\r\nX-Forwarded-For: {proxy_saw}"}, b'{"key":"wrong"}')
            statuses.append(answer.status)
        self.assertEqual(statuses, [401] * 10 + [429] * 15)
        self.assertEqual(self.sign_in("user", {"X-Forwarded-For": victim}).status, 200)
        self.assertEqual(self.sign_in("user", {"X-Forwarded-For": proxy_saw}).status, 429)

    def test_of_two_lines_about_tls_the_proxys_counts(self):
        for said, proxys, secure in (("http", "https", True), ("https", "http", False)):
            answer = self.raw("POST", "/console/session", {
                **JSON, **PAGE, **self.visitor(), "X-Forwarded-Proto": f"{said}\r\nX-Forwarded-Proto: {proxys}"},
                json.dumps({"key": self.server.keys["user"]}).encode())
            self.assertEqual("Secure" in answer.headers["set-cookie"], secure)

    def test_addresses_of_one_network_of_ipv6_are_one(self):
        for last in range(10):
            self.sign_in("wrong", {"X-Forwarded-For": f"2001:db8:1:2::{last}"})
        self.assertEqual(self.sign_in("user", {"X-Forwarded-For": "2001:db8:1:2:3:4:5:6"}).status, 429)
        self.assertEqual(self.sign_in("user", {"X-Forwarded-For": "2001:db8:1:3::1"}).status, 200)

    # --- what a cookie stands for ---

    def test_it_stands_for_the_key_on_every_route(self):
        for key in ("user", "SubuserBilling", "SubuserStatistics", "operator", "other"):
            cookie = self.cookie(key)
            for row in harness.seed.routes():
                if row["method"] != "GET" or row["access"] == "none" or row["path"] == "/console/session":
                    continue
                target = row["target"]
                by_key = self.server.get(target, key)
                by_cookie = self.ask("GET", target, cookie)
                self.assertEqual((by_cookie.status, by_cookie.body.replace(
                    by_cookie.headers["x-request-id"].encode(), b"")), (by_key.status, by_key.body.replace(
                        by_key.headers["x-request-id"].encode(), b"")), (key, target))

    def test_a_key_in_the_request_counts_more(self):
        cookie = self.cookie("user")
        other = self.ask("GET", "/pullzone/201", {**cookie, "AccessKey": self.server.keys["other"]})
        self.assertEqual(other.status, 200)
        for wrong in ({"AccessKey": "x"}, {"Authorization": "Bearer x"}):
            self.refused(self.ask("GET", "/statistics", {**cookie, **wrong}), 401, "authentication.failed")
        self.refused(self.ask("GET", "/console/session", {"AccessKey": self.server.keys["user"]}), 401,
                     "authentication.failed")

    def test_changes_need_the_header_and_name_the_key(self):
        cookie = self.cookie("operator")
        entry = json.dumps({"account": 1, "kind": "payment", "amount": "3.00", "reference": "c1"}).encode()
        for method, target, body in (("POST", "/ledger", entry), ("DELETE", "/keys/999", None),
                                     ("POST", "/operations/audit", b"{}")):
            refused = self.ask(method, target, {**cookie, **JSON}, body)
            self.refused(refused, 403, "authorization.forbidden")
            self.assertIn("X-Tollbook-Console", refused.json()["Message"])
        self.assertEqual(self.ask("POST", "/ledger", {**cookie, **JSON, **PAGE}, entry).status, 200)
        reply = self.ask("POST", "/operations/audit", {**cookie, **JSON, **PAGE}, b"{}").json()
        last = reply["answer"]["entries"][-1]
        keys = self.server.get("/keys", "operator").json()["Items"]
        own, = [k["Id"] for k in keys if k["Roles"] == ["Operator"]]
        self.assertEqual((last["operation"], last["key"]), ("ledger enter", own))

    def test_a_page_from_elsewhere_is_told_nothing_by_preflights(self):
        self.restart("--cors-origin", "https://evil.example")
        answer = self.ask("OPTIONS", "/ledger", {"Origin": "https://evil.example",
                                                 "Access-Control-Request-Method": "POST",
                                                 "Access-Control-Request-Headers": "x-tollbook-console"})
        self.assertNotIn("console", answer.headers["access-control-allow-headers"].lower())
        self.assertNotIn("access-control-allow-credentials", answer.headers)
        self.restart()

    def test_hostile_cookies_are_no_session(self):
        good = self.cookie("user")["Cookie"]
        name, text = good.split("=")
        for value in (f"{name}=", name, "=", ";", f"{name}={text[:-1]}", good + "0", good.upper(),
                      f"{name}=" + "0" * 64, f"{name}=" + "a" * 5000, f"{name}=%00", f'{name}="{text}"',
                      f"{name}= {text}", "x" + good, f"{name}0={text}", f"{name[:-1]}={text}", f"tollbook_session={text}",
                      f"{name}='; DROP TABLE keys; --", f"{name}=x; " * 16 + good, "; " * 3000,
                      f"{name}=" + "\x80" * 64):
            self.refused(self.ask("GET", "/statistics", {"Cookie": value}), 401, "authentication.failed")
        self.assertEqual(self.ask("GET", "/statistics", {"Cookie": f"a=1;{good} ;b=2"}).status, 401)
        self.assertEqual(self.ask("GET", "/statistics", {"Cookie": f"a=1;{good};b=2"}).status, 200)
        for name in ("xxxxxx", "L", "Cookies"):  # no other header is a cookie, whatever it is called inside
            self.assertEqual(self.ask("GET", "/statistics", {name: good}).status, 401, name)

    def test_of_several_cookies_the_one_that_is_good_counts(self):
        good, other = self.cookie("user")["Cookie"], self.cookie("other")["Cookie"]
        name = good.split("=")[0]
        for before in (f"{name}=x; ", f"{name}=; ", f"{name}={'0' * 64}; ", f"{name}=x; " * 15):
            self.assertEqual(self.ask("GET", "/statistics", {"Cookie": before + good}).status, 200, before)
        both = {"Cookie": f"{good}; {other}"}
        self.assertEqual(self.session(both).json()["account"], 1)
        self.assertEqual(self.ask("DELETE", "/console/session", {**both, **PAGE}).status, 204)
        self.assertEqual([self.session({"Cookie": c}).status for c in (good, other)], [401, 401])

    def test_every_answer_of_the_console_is_guarded(self):
        cookie = self.cookie("user")
        body = json.dumps({"key": self.server.keys["user"]}).encode()
        for method, target, headers, body, status in (
                ("GET", "/", {"Accept": BROWSER}, b"", 302), ("GET", "/?a=b", {}, b"", 404),
                ("GET", "/console/assets/x.js", {}, b"", 404), ("GET", "/console/assets/../x", {}, b"", 400),
                ("POST", "/console", {}, b"", 405), ("GET", "/Console?a", {}, b"", 200),
                ("GET", "/console/open?code=x", {}, b"", 303), ("GET", "/console/open?code=%zz", {}, b"", 400),
                ("GET", "/console/session", {}, b"", 401), ("GET", "/console/session", cookie, b"", 200),
                ("PUT", "/console/session", {}, b"", 405), ("POST", "/console/session", {**JSON, **PAGE}, b"x", 400),
                ("POST", "/console/session", JSON, body, 403),
                ("POST", "/console/session", {**PAGE, "Content-Type": "text/plain"}, body, 415),
                ("POST", "/console/session", {**JSON, **PAGE, **self.visitor()}, body, 200),
                ("DELETE", "/console/session", PAGE, b"", 204), ("GET", "/console/" + "x" * 5000, {}, b"", 414)):
            answer = self.raw(method, target, headers, body)
            self.assertEqual(answer.status, status, (method, target[:40]))
            names = [name for name, _ in answer.fields]
            self.assertEqual(names.count("content-security-policy"), 1, (method, target[:40]))
            self.assertEqual(answer.headers["content-security-policy"], CSP, (method, target[:40]))
            self.assertEqual(answer.headers["referrer-policy"], "no-referrer")
        for target in ("/consoles", "/statistics", "/openapi.json"):
            self.assertNotIn("content-security-policy", self.raw("GET", target).headers)

    def test_a_document_that_a_browser_opens_may_run_nothing(self):
        self.server.stop()
        run("book", "--db", self.server.db, "-", stdin=json.dumps(BOOK).encode())
        run("invoice", "--db", self.server.db, "--month", "2026-10", "--finalize", "--empty")
        self.start()
        number = self.server.get("/billing/invoices").json()["invoices"][0]["number"]
        page = self.ask("GET", f"/billing/invoices/{number}", {**self.cookie("user"), "Accept": "text/html"})
        self.assertEqual((page.status, page.headers["content-type"]), (200, "text/html; charset=utf-8"))
        policy = page.headers["content-security-policy"].split("; ")
        self.assertTrue({"default-src 'none'", "frame-ancestors 'self'", "sandbox"} <= set(policy), policy)
        self.assertNotIn(b"<script", page.body)
        self.assertNotIn("content-security-policy", self.server.get("/statistics").headers)

    def test_another_accounts_zone_is_one_that_does_not_exist(self):
        cookie = self.cookie("user")
        asked = [self.ask("GET", f"/pullzone/{zone}", cookie) for zone in ("201", "999")]
        self.assertEqual(asked[0].status, 404)
        self.assertEqual(asked[0].body, asked[1].body)

    # --- its end ---

    def test_two_sessions_and_signing_out_of_one(self):
        one, two = self.cookie("user"), self.cookie("user")
        self.assertNotEqual(one, two)
        gone = self.ask("DELETE", "/console/session", {**one, **PAGE})
        self.assertEqual((gone.status, gone.headers["set-cookie"]),
                         (204, "; ".join([f"tollbook_session_{self.server.port}=", *FLAGS, "Max-Age=0"])))
        self.refused(self.session(one), 401, "authentication.failed")
        self.refused(self.ask("GET", "/statistics", one), 401, "authentication.failed")
        self.assertEqual(self.session(two).status, 200)
        self.assertEqual(self.ask("DELETE", "/console/session", {**one, **PAGE}).status, 204)

    def test_signing_in_again_ends_the_session_before(self):
        first, other = self.cookie("user"), self.cookie("user")
        self.assertEqual(self.sign_in("wrong", {**self.visitor(), **first}).status, 401)
        self.assertEqual(self.sign_in("ingest", {**self.visitor(), **first}).status, 403)
        self.assertEqual(self.session(first).status, 200)
        again = self.sign_in("other", {**self.visitor(), **first})
        self.assertEqual(again.json()["account"], 2)
        self.refused(self.session(first), 401, "authentication.failed")
        self.assertEqual(self.session(other).status, 200)
        self.assertEqual(self.session({"Cookie": again.headers["set-cookie"].split(";")[0]}).status, 200)

    def test_a_revoked_key_ends_its_sessions_at_once(self):
        made = self.server.ask("POST", "/keys", "operator", b'{"Account": 1, "Roles": ["User"]}', **{
            "Content-Type": "application/json"}).json()
        cookie, other = self.cookie(made["Key"]), self.cookie("user")
        with self.server.wire() as wire:
            self.assertEqual(wire.ask("GET", "/statistics", cookie).status, 200)
            self.assertEqual(self.server.ask("DELETE", f"/keys/{made['Id']}", "operator").status, 204)
            self.refused(wire.ask("GET", "/statistics", cookie), 401, "authentication.failed")
        self.assertEqual(self.session(other).status, 200)

    def test_a_restart_ends_all(self):
        cookie = self.cookie("user")
        self.restart()
        self.refused(self.session(cookie), 401, "authentication.failed")

    def test_the_seventeenth_session_of_a_key_ends_its_first(self):
        cookies = [self.cookie("UserApi") for _ in range(17)]
        self.assertEqual([self.session(cookie).status for cookie in cookies], [401] + [200] * 16)

    def test_a_token_signs_in_until_its_end(self):
        session = self.sign_in(self.token("--hours", "2"))
        self.assertEqual(session.json()["expires"], "2026-11-04T11:00:00Z")
        self.assertIn(f"Max-Age={2 * 3600}", session.headers["set-cookie"])
        self.assertEqual(self.sign_in(self.token("--hours", "24")).json()["expires"], "2026-11-04T21:00:00Z")

    def test_other_tokens_keys_end_the_sessions_of_tokens(self):
        by_token, by_key = self.cookie(self.token()), self.cookie("user")
        self.read_again()
        self.assertEqual(self.session(by_token).status, 200)
        self.secret.write_bytes(b"t" * 32)
        try:
            self.read_again()
            self.assertEqual(self.session(by_token).status, 401)
            self.assertEqual(self.session(by_key).status, 200)
        finally:
            self.secret.write_bytes(b"s" * 32)
            self.restart()

    def read_again(self):
        """SIGHUP, until the server says that it has read its files."""
        before = self.server.messages().count("SIGHUP: reloaded")
        self.server.process.send_signal(signal.SIGHUP)
        until(lambda: self.server.messages().count("SIGHUP: reloaded") > before)

    def test_many_at_once(self):
        """What the thread sanitizer looks at: sign-ins, requests and sign-outs of one key side by side."""
        def work(i):
            cookie = self.cookie(("user", "other", "SubuserBilling")[i % 3])
            for _ in range(4):
                self.session(cookie)
            return self.ask("DELETE", "/console/session", {**cookie, **PAGE}).status
        self.assertEqual(together(8, work), [204] * 8)

    def test_no_key_and_no_session_is_in_a_log_or_an_address(self):
        cookie = self.cookie("user")
        self.ask("GET", "/statistics", cookie)
        self.sign_in("0123456789abcdef" * 3)
        self.restart()
        logged = (self.server.path / "access").read_text() + self.server.messages()
        self.assertIn('"path":"/console/session"', logged)
        for secret in (self.server.keys["user"], cookie["Cookie"].split("=")[1], "0123456789abcdef" * 3):
            self.assertNotIn(secret, logged)

    def test_off_is_off(self):
        self.restart("--console", "off")
        for target in ("/", "/console", "/console/", "/console/zones", "/console/assets/main.js", "/console/open"):
            self.refused(self.raw("GET", target, {"Accept": BROWSER}), 404, "resource.not_found")
        self.refused(self.raw("POST", "/console/session", {**JSON, **PAGE}, b'{"key":"x"}'), 404,
                     "resource.not_found")
        self.restart()


class Command(unittest.TestCase):
    """`tollbook console`: a link that signs in once, and a database that stays as it was."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()

    @classmethod
    def tearDownClass(cls):
        cls.server.folder.cleanup()

    def begun(self, *options, environment=None):
        """The process and what it printed first."""
        process = subprocess.Popen([TOLLBOOK, "console", "--db", self.server.db, *options], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment or ENVIRONMENT)
        self.addCleanup(process.kill)
        return process

    def ended(self, process):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, said)
        return said

    def get(self, link, cookie=None, method="GET"):
        port, target = re.fullmatch(r"http://127\.0\.0\.1:(\d+)(/.*)", link).groups()
        with Wire(int(port)) as wire:
            fields = "".join(f"{k}: {v}\r\n" for k, v in (cookie or {}).items())
            wire.send(f"{method} {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n".encode())
            return wire.read(method)

    def test_the_link_works_once_and_the_session_goes_on(self):
        for options, role, account in (((), "Operator", None), (("--account", "2"), "User", 2)):
            process = self.begun("--no-open", *options)
            link = process.stdout.readline().strip()
            self.assertRegex(link, r"^http://127\.0\.0\.1:\d+/console/open\?code=[0-9a-f]{64}$")
            base = link.split("/console")[0]
            self.assertEqual(self.get(link, method="HEAD").status, 303)
            self.assertNotIn("set-cookie", self.get(link[:-1] + "x").headers)
            first = self.get(link)
            self.assertEqual((first.status, first.headers["location"]), (303, "/console/"))
            cookie = {"Cookie": first.headers["set-cookie"].split(";")[0]}
            again = self.get(link)
            self.assertEqual(again.status, 303)
            self.assertNotIn("set-cookie", again.headers)
            session = self.get(base + "/console/session", cookie).json()
            self.assertEqual((session["role"], session["account"]), (role, account))
            self.assertEqual(self.get(base + "/keys", cookie).status, 403 if account else 200)
            self.assertNotIn("set-cookie", self.get(base + "/console/open").headers)
            self.ended(process)

    def test_two_servers_of_a_host_keep_their_sessions_apart(self):
        """A browser keeps one cookie of a name for all ports of a host."""
        other = Server()
        self.addCleanup(other.folder.cleanup)
        self.addCleanup(other.stop)
        process = self.begun("--no-open")
        link = process.stdout.readline().strip()
        jar = {}
        key = json.dumps({"key": other.keys["user"]}).encode()
        for answer in (other.ask("POST", "/console/session", None, key, **JSON, **PAGE), self.get(link)):
            name, text = answer.headers["set-cookie"].split(";")[0].split("=")
            jar[name] = text
        both = {"Cookie": "; ".join(f"{name}={text}" for name, text in jar.items())}
        self.assertEqual(other.ask("GET", "/console/session", **both).json()["role"], "User")
        self.assertEqual(self.get(link.split("/console")[0] + "/console/session", both).json()["role"], "Operator")
        self.ended(process)

    def test_the_link_ends_the_session_before(self):
        process = self.begun("--no-open")
        link = process.stdout.readline().strip()
        with Wire(int(re.search(r":(\d+)/", link)[1])) as wire:
            answer = wire.ask("POST", "/console/session", {**JSON, **PAGE},
                              json.dumps({"key": self.server.keys["user"]}).encode())
            before = {"Cookie": answer.headers["set-cookie"].split(";")[0]}
            self.assertEqual(wire.ask("GET", "/console/session", before).status, 200)
            self.assertIn("set-cookie", self.get(link, before).headers)
            self.assertEqual(wire.ask("GET", "/console/session", before).status, 401)
        self.ended(process)

    def opener(self, status=0, **environment):
        """A process whose xdg-open writes its arguments to a file and ends so; that file, and where links lie."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.server.path))
        asked, private = folder / "asked", folder / "private"
        private.mkdir()
        opener = folder / "xdg-open"
        opener.write_text(f'#!/bin/sh\nprintf "%s" "$*" > {asked}.part && mv {asked}.part {asked}\nexit {status}\n')
        opener.chmod(0o755)
        process = self.begun(environment={**ENVIRONMENT, "PATH": f"{folder}:{os.environ['PATH']}",
                                          "XDG_RUNTIME_DIR": str(private), **environment})
        self.assertIn("opening http://127.0.0.1:", process.stderr.readline())
        until(asked.exists)
        return process, pathlib.Path(asked.read_text()), private

    def led_to(self, page):
        """The link of the page that the browser is given."""
        text = page.read_text()
        link, = re.findall(r'http-equiv="refresh" content="0; url=([^"]+)"', text)
        self.assertIn(f'<a href="{link}">', text)
        return link

    def test_a_browser_is_led_by_a_file_that_its_user_alone_can_read(self):
        """Whoever is on the machine sees the arguments of every program, so the link is not among them."""
        process, page, private = self.opener()
        self.assertEqual((page.parent.parent, page.suffix), (private, ".html"))
        self.assertEqual([stat.S_IMODE(p.stat().st_mode) for p in (page, page.parent)], [0o600, 0o700])
        link = self.led_to(page)
        self.assertNotIn("set-cookie", self.get(link[:-1] + "x").headers)
        self.assertTrue(page.exists())
        self.assertIn("set-cookie", self.get(link).headers)
        until(lambda: not os.listdir(private))
        self.assertNotIn("code=", self.ended(process))

    def test_the_file_goes_with_the_server(self):
        process, page, private = self.opener(XDG_RUNTIME_DIR="/nonexistent", TMPDIR=str(self.server.path))
        self.assertEqual(page.parent.parent, self.server.path)
        self.assertNotIn("code=", self.ended(process))
        self.assertFalse(page.parent.exists())

    def test_where_the_browser_fails_the_link_is_said(self):
        process, page, private = self.opener(status=3)
        self.assertIn("works once", process.stderr.readline())
        self.assertEqual(os.listdir(private), [])
        self.assertIn("set-cookie", self.get(process.stderr.readline().strip()).headers)
        self.ended(process)

    def test_without_a_browser_it_says_the_address(self):
        process = self.begun(environment={**ENVIRONMENT, "PATH": "/nonexistent"})
        process.stderr.readline()
        self.assertIn("works once", process.stderr.readline())
        self.assertEqual(self.get(process.stderr.readline().strip()).status, 303)
        self.ended(process)

    def test_looking_changes_nothing(self):
        before = hashlib.sha256(self.server.db.read_bytes()).hexdigest()
        later = {**ENVIRONMENT, "TOLLBOOK_NOW": "2027-03-01T00:00:00Z"}  # request logs would be let go by then
        process = self.begun("--no-open", environment=later)
        link = process.stdout.readline().strip()
        cookie = {"Cookie": self.get(link).headers["set-cookie"].split(";")[0]}
        self.get(link.split("/console")[0] + "/keys", cookie)
        self.ended(process)
        self.assertEqual(hashlib.sha256(self.server.db.read_bytes()).hexdigest(), before)

    def test_what_it_refuses(self):
        self.assertIn(b"no account 9", run("console", "--db", self.server.db, "--account", "9", expect=2).stderr)
        run("console", "--db", self.server.path / "none.db", expect=3)
        process = self.begun("--no-open")
        process.stdout.readline()
        self.assertIn(b"console", run("console", "--db", self.server.db, "--no-open", expect=3).stderr)
        self.ended(process)


if __name__ == "__main__":
    unittest.main()
