"""Every route that takes an id, with every kind of id: one's own, another account's, and ids that
are none, asked with a key, with a bearer token and with the console's session of every role. What is another account's is
answered exactly like what does not exist; a role that does not open a route hears the same of every
id.

The routes are those of server/api/routes.c; a new one must be given its ids here.
"""
import functools
import json
import os
import re
import subprocess
import unittest

from harness import CATALOG, ENVIRONMENT, PATIENCE, TOLLBOOK, Case, run, seed
from test_auth import OPERATORS as OPERATOR_ROLES, roles
from test_billing import BOOK

NONE = ("-1", "+1", "01", "1e3", "0x1", "9223372036854775808", "0")
ABSENT = "999999"
DATE = "11-03-26"
DAY = "11-03-2026"

# Path, where "?" is the id under test: an id of account 1, of account 2; the body of a POST.
IDS = {
    "/pullzone/?": ("101", "201"),
    "/pullzone/?/optimizer/statistics": ("101", "201"),
    "/pullzone/?/originshield/queuestatistics": ("101", "201"),
    "/pullzone/?/safehop/statistics": ("101", "201"),
    "/loadbalancer/?/usage": ("7", "8"),
    "/billing/summary/?/pdf": ("1", "2"),
    "/billing/invoices/?": ("2026-000001", "2026-000002"),
    "/billing/invoices/?/forms": ("2026-000001", "2026-000002"),
    "/billing/invoices/?/proof": ("2026-000001", "2026-000002"),
    "/billing/invoices/?/lines/1/explain": ("2026-000001", "2026-000002"),
    "/billing/invoices/2026-000001/lines/?/explain": ("1", None),
    "/billing/alerts/?": (None, None),
    "/meters/?/usage": (None, None),
    "/v2/pullzones/?/logs": ("101", "201"),
    "/v2/pullzones/?/logs/summary": ("101", "201"),
    f"/{DATE}/?.log": ("101", "201"),
    f"/?/{DAY}": ("101", "201"),
    f"/shield/event-logs/?/{DAY}": ("41", "42"),
    f"/shield/event-logs/?/{DAY}/0": ("41", "42"),
    "/shield/event-logs/?/export": ("41", "42"),
    "/shield/event-logs/?/search": ("41", "42"),
    "/shield/shield-zone/?": ("41", "42"),
    "/shield/shield-zone/get-by-pullzone/?": ("101", "201"),
    "/shield/metrics/overview/?": ("41", "42"),
    "/shield/metrics/overview/?/detailed": ("41", "42"),
    "/shield/metrics/rate-limits/?": ("41", "42"),
    "/shield/metrics/shield-zone/?/bot-detection": ("41", "42"),
    "/shield/metrics/shield-zone/?/upload-scanning": ("41", "42"),
    "/shield/metrics/shield-zone/?/api-guardian": ("41", "42"),
    "/shield/metrics/shield-zone/?/waf-rule/941100": ("41", "42"),
    "/pullzone/?/purgeCache": ("101", "201"),
    "/mc/apps/?": ("shop", "desk"),
    "/mc/apps/?/deploy": ("shop", "desk"),
    "/mc/apps/?/deployment": ("shop", "desk"),
    "/keys/?": (None, None),
    "/invoices/?/void": (None, None),
    "/books/?": (None, None),
    "/books/?/activate": (None, None),
    "/operations/?": (None, None),
}
# What takes no id, but a day, and what is answered by another route's handler.
WITHOUT_IDS = ("/user/audit/{id}", "/billing/payment-request-invoice/{id}/pdf")
# They look their id up as the first of them does: roles and ids are not asked one by one.
ALIKE = tuple(path for path in IDS if path.startswith("/shield/metrics/"))[1:] + ("/shield/shield-zone/get-by-pullzone/?",)
ALL_ACCOUNTS = ("Operator", "Finance", "Support")  # whose keys read every account
# The last 24 hours before the harness's clock.
BODIES = {path: b'{"from":1793696400000,"to":1793782800000}'
          for path in ("/shield/event-logs/?/export", "/shield/event-logs/?/search")}
# The operator's own, of all accounts.
OPERATORS = ("/keys/?", "/invoices/?/void", "/books/?", "/books/?/activate", "/operations/?")


class Matrix(Case):
    """Both accounts have two of everything: zones, balancers, final invoices, log lines."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["load_balancers"] = [
            {"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [101]},
            {"id": 8, "account": 2, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [201]}]
        catalog["shield_zones"] = [{"id": 41, "account": 1, "zone": 101}, {"id": 42, "account": 2, "zone": 201}]
        catalog["container_apps"] = [{"id": "shop", "account": 1, "name": "shop"},
                                     {"id": "desk", "account": 2, "name": "desk"}]
        cls.more(catalog)
        db = server.db
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 3 * 10**11}
                for zone in (101, 201)]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", db, "--month", "2026-10", "--finalize")
        run("proof", "key", "--new", server.path / "key", "--name", "example.com/matrix")
        run("proof", "start", "--db", db, "--proof-key-file", server.path / "key")
        cls.asking = cls.credentials()
        server.start("--token-key", cls.secret, "--purge-hook", "/bin/true")
        cls.asking += [(role, "session", cls.session(header["AccessKey"]))
                       for role, how, header in cls.asking if how == "key" and role not in ("Ingest", "Replica")]

    @classmethod
    def session(cls, key):
        answer = cls.server.ask("POST", "/console/session", body=json.dumps({"key": key}).encode(),
                                X_Tollbook_Console="1", Content_Type="application/json")
        return {"Cookie": answer.headers["set-cookie"].split(";")[0], "X-Tollbook-Console": "1"}

    @classmethod
    def credentials(cls):
        """(role, how, header) of a key and a token of every role; the operator's has no tokens."""
        cls.secret = cls.server.path / "secret"
        cls.secret.touch(0o600)
        cls.secret.write_bytes(os.urandom(16).hex().encode())
        found = []
        for role in roles():
            account = 0 if role in OPERATOR_ROLES else 1
            found.append((role, "key", {"AccessKey": cls.server.make_key(account, role)}))
            if account:
                done = subprocess.run(
                    [TOLLBOOK, "token", "--token-key", cls.secret, "--account", "1", "--role", role],
                    env=ENVIRONMENT, check=True, capture_output=True, timeout=PATIENCE)
                found.append((role, "token", {"Authorization": f"Bearer {done.stdout.decode().strip()}"}))
        return found

    @classmethod
    def more(cls, catalog):
        """What further routes need of the catalogue."""

    def judged(self, path, text, wire=None, header=None):
        """Status, headers and body of an answer about an id, without what names id and request."""
        method = row_of(path)["method"]
        fields = dict(header or {"AccessKey": self.server.keys[
            "operator" if path in OPERATORS else "user"]})
        if path in BODIES:
            fields["Content-Type"] = "application/json"
        if wire and path not in BODIES:  # a refused body ends its connection
            answer = wire.ask(method, path.replace("?", text), fields, BODIES.get(path))
        else:
            with self.server.wire() as own:
                answer = own.ask(method, path.replace("?", text), fields, BODIES.get(path))
        fixed = {k: v for k, v in answer.headers.items() if k not in ("x-request-id", "date")}
        body = answer.body.decode(errors="replace")
        for named in (path.replace("?", text), f'\\"{text}\\"', f"no alert {text}.", answer.headers["x-request-id"]):
            body = body.replace(named, "")
        fixed.pop("content-length", None)
        return answer.status, fixed, body

    def test_every_route_with_an_id_is_here(self):
        known = {template(path) for path in IDS}
        for row in seed.routes():
            if "{id}" in row["path"] and row["path"] not in WITHOUT_IDS:
                self.assertIn(row["path"], known, "give the route its ids in IDS")

    def test_own_ids_are_answered(self):
        for path, (own, _) in IDS.items():
            if own is not None:
                self.assertIn(self.judged(path, own)[0], (200, 204, 304), path)

    def test_ids_that_are_none_and_another_accounts_are_like_one_that_does_not_exist(self):
        for path, (_, foreign) in IDS.items():
            absent = self.judged(path, ABSENT)
            self.assertIn(absent[0], (403, 404), path)
            for text in NONE + ((foreign,) if foreign else ()):
                self.assertEqual(self.judged(path, text), absent, (path, text))


    def ids_alike(self, path, ids, wire, header):
        """What is said of all these ids, once it is seen to be one answer."""
        answers = [self.judged(path, text, wire, header) for text in ids]
        for text, answer in zip(ids, answers):
            self.assertEqual(answer, answers[0], (path, text))
        return answers[0]

    def test_every_role_with_key_and_token_and_every_id(self):
        opens = roles()
        for path, (own, foreign) in IDS.items():
            if path in ALIKE:
                continue
            access = {"pull_zones": "zones"}.get(row_of(path)["access"], row_of(path)["access"])
            others = [ABSENT, *NONE, *([foreign] if foreign else [])]
            with self.server.wire() as wire:
                for role, how, header in self.asking:
                    asked = (path, role, how)
                    if access not in opens[role]:
                        ids = others + ([own] if own else [])
                        self.assertEqual(self.ids_alike(path, ids, wire, header)[0], 403, asked)
                    else:
                        status, _, body = self.ids_alike(path, others, wire, header)
                        # An operator's key must name an account before any id is looked up.
                        names_none = role in ALL_ACCOUNTS and path.startswith("/billing/")
                        self.assertIn(status, (400,) if names_none else (403, 404), asked)
                        self.assertNotIn("borealis", body)

    def test_no_credentials_and_wrong_ones_hear_the_same_of_every_id(self):
        for path, (own, foreign) in IDS.items():
            ids = [ABSENT, *NONE, *filter(None, (own, foreign))]
            with self.server.wire() as wire:
                for header in ({"Accept": "*/*"}, {"AccessKey": "0" * 48},
                               {"Authorization": "Bearer a.b.c"}):
                    self.assertIn(self.ids_alike(path, ids, wire, header)[0], (401, 403), path)

    def test_ids_in_queries(self):
        for role, how, header in self.asking:
            if "statistics" not in roles()[role]:
                continue
            with self.server.wire() as wire:
                absent = self.ids_alike("/statistics?pullZone=?", [ABSENT, "201", "0"], wire, header)
                self.assertEqual(absent[0], 404, (role, how))

    def test_lists_name_nothing_of_another_account(self):
        listed = [row for row in seed.routes()
                  if row["method"] == "GET" and "{id}" not in row["path"] and row["errors"] != "logging"
                  and row["access"] not in ("none", "operator", "read", "money", "admin", "ingest")
                  and row["path"] != "/console/session"]  # which a key does not open
        self.assertGreater(len(listed), 8)
        for row in listed:
            for role, how, header in self.asking:
                if role in ALL_ACCOUNTS:
                    continue
                with self.server.wire() as wire:
                    answer = wire.ask("GET", row["path"], header)
                self.assertIn(answer.status, (200, 400, 403, 404), (row["path"], role, how))
                for word in (b"borealis", b"desk", b"2026-000002"):
                    self.assertNotIn(word, answer.body, (row["path"], role, how))


@functools.cache
def row_of(path):
    """The row of the route table that a path of IDS belongs to, or of one with a query."""
    path = path.split("?pullZone")[0]
    wanted = template(path) if "?" in path else path
    return next(row for row in seed.routes() if row["path"] == wanted)


@functools.cache
def template(path):
    """The row of the route table that a path of IDS belongs to."""
    for row in seed.routes():
        pattern = "[^/]+".join(map(re.escape, re.split(r"\{\w+\}", row["path"])))
        if "{id}" in row["path"] and re.fullmatch(pattern, path):
            return row["path"]
    raise AssertionError(f"{path} is no route")


if __name__ == "__main__":
    unittest.main()
