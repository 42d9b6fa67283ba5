"""Who may do what: every route x every role, every zone x every account, and keys that are none."""
import re
import unittest

from harness import SOURCE, Case, seed



def routes():
    """(method, a target, what it asks for, its errors' family) of every row of the route table."""
    for row in seed.routes():
        own = {"/keys/{id}": "/keys/999"}.get(row["path"], row["target"])
        access = {"pull_zones": "zones"}.get(row["access"], row["access"])
        yield row["method"], own, access, row["errors"]


# Roles that read every account: only account 0 has them.
OPERATORS = ("Operator", "Finance", "Support", "Replica")
ROUTES = [row for row in routes() if row[2] not in ("none", "any")]
# The console's rows, of which some want a header of their own: test_console.py.
OPEN = [target for _, target, access, _ in routes()
        if access == "none" and target != "/" and not target.startswith("/console")]
WORDS = {401: ("authentication.failed", "unauthorized"),
         403: ("authorization.forbidden", "forbidden")}
PULL_ZONE = ("optimizer/statistics", "originshield/queuestatistics", "safehop/statistics")


def roles():
    """The columns of the table in key.h: name -> what it opens."""
    text = (SOURCE / "include/tollbook/key.h").read_text()
    rows = re.findall(r'X\(\w+, "(\w+)"' + ", ([01])" * 10 + r"\)", text)
    names = ("statistics", "zones", "billing", "ingest", "operator", "keys", "read", "money", "admin", "stream")
    opens = {row[0]: {n for n, bit in zip(names, row[1:]) if bit == "1"} for row in rows}
    # What-if, insights and the search have no column of their own: billing's, statistics' and pull zones' roles ask
    # about their account, those that read all accounts about all.
    return {role: found | ({"billing"} if found & {"billing", "read"} else set())
            | ({"insights"} if found & {"statistics", "read"} else set())
            | ({"search"} if found & {"zones", "read"} else set())
            | ({"metrics"} if found & {"statistics", "billing", "read"} else set())
            | ({"admin_read"} if found & {"admin", "read"} else set())
            | ({"replica"} if found & {"stream", "read"} else set())
            for role, found in opens.items()}


class Auth(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()  # keys of every role are made while nothing holds the lock
        for role in roles():
            cls.server.keys[role] = cls.server.make_key(0 if role in OPERATORS else 1, role)
        cls.server.keys["several"] = cls.server.make_key(1, "SubuserStatistics", "Ingest")
        cls.server.start()

    def turned_away(self, answer, status, family):
        """Refused for its credentials, in the shape of the route's errors."""
        if family == "core":
            self.refused(answer, status, WORDS[status][0])
            return
        self.assertEqual(answer.status, status, answer.body)
        body = answer.json()
        if family == "logging":
            self.assertEqual(list(body), ["error"])
            self.assertEqual(list(body["error"]), ["code", "message", "details"])
            self.assertEqual(body["error"]["code"], WORDS[status][1])
        else:
            self.assertEqual(body["status"], status)
            self.has_fields("problem" if "type" in body else "problem.errors", body)

    # holds: auth.access-key, auth.balancer, auth.containers
    def test_every_route_and_role(self):
        table = roles()
        self.assertEqual(len(table), 16)
        self.assertGreater(len(ROUTES), 24)
        self.assertLessEqual({access for _, _, access, _ in ROUTES}, set.union(*table.values()))
        with self.server.wire() as wire:
            for method, target, access, family in ROUTES:
                for role, opens in table.items():
                    body = b"" if method == "POST" else None
                    answer = wire.ask(method, target, {"AccessKey": self.server.keys[role]}, body)
                    if access not in opens:
                        self.turned_away(answer, 403, family)
                    else:
                        self.assertNotIn(answer.status, (401, 403), (method, target, role))

    def test_roles_add_up(self):
        self.assertEqual(self.server.get("/statistics", "several").status, 200)
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "several", b"").status, 200)
        self.assertEqual(self.server.get("/keys", "several").status, 403)

    # holds: auth.access-key, auth.core-401, auth.logs-none, pullzone.401
    def test_no_key_is_401_on_every_closed_route(self):
        user = self.server.keys["user"]
        wrong = ["", "x", user[:-1], user + "0", user[:-1] + "g", user.upper(), "0" * 48,
                 user + " " + user, "Bearer " + user, "ä"]
        for method, target, _, family in ROUTES:
            answer = self.server.ask(method, target)
            self.turned_away(answer, 401, family)
            self.assertIn("AccessKey", answer.headers["www-authenticate"])
        with self.server.wire() as wire:
            for key in wrong:
                self.refused(wire.ask("GET", "/statistics", {"AccessKey": key}), 401,
                             "authentication.failed")
            self.refused(wire.ask("GET", "/statistics", {"Authorization": user}), 401,
                         "authentication.failed")

    def test_the_header_has_any_case(self):
        with self.server.wire() as wire:
            for name in ("AccessKey", "accesskey", "Accesskey", "ACCESSKEY"):
                answer = wire.ask("GET", "/statistics", {name: self.server.keys["user"]})
                self.assertEqual(answer.status, 200)

    def test_open_routes_need_none_and_ignore_a_wrong_one(self):
        for target in OPEN:
            status = 404 if target.startswith(("/replica/", "/proof/")) else 200  # neither is begun
            self.assertEqual(self.server.ask("GET", target).status, status)
            self.assertEqual(self.server.ask("GET", target, "wrong").status, status)

    def test_another_accounts_zone_is_one_that_does_not_exist(self):
        own = {"user": ("101", "102"), "other": ("201",)}
        ids = ["101", "102", "201", "999", "0", "-1", "+101", "0101", "101.0", "1e2", "0x65",
               "9223372036854775807", "9223372036854775808", "99999999999999999999", "%31%30%31",
               "101;x", "abc", "%D9%A1"]
        for key, zones in own.items():
            for zone in ids:
                for path in PULL_ZONE:
                    answer = self.server.get(f"/pullzone/{zone}/{path}", key)
                    if zone in zones:
                        self.assertEqual(answer.status, 200)
                    else:
                        self.refused(answer, 404, "pullZone.not_found", "PullZone")
                        self.assertNotIn("etag", answer.headers)
        for key, foreign in (("user", 201), ("other", 101)):
            hidden = self.server.get(f"/statistics?pullZone={foreign}", key)
            absent = self.server.get("/statistics?pullZone=999", key)
            self.refused(hidden, 404, "pullZone.not_found", "PullZone")
            self.assertEqual(hidden.body, absent.body)
            for zone in (0, -2, -9223372036854775808):
                self.refused(self.server.get(f"/statistics?pullZone={zone}", key), 404,
                             "pullZone.not_found")

    def test_accounts_answers_do_not_mix_in_the_cache(self):
        first = {key: self.server.get("/statistics", key) for key in ("user", "other")}
        for _ in range(3):
            for key, answer in first.items():
                again = self.server.get("/statistics", key)
                self.assertEqual(again.body, answer.body)
        self.assertEqual(first["user"].json()["TotalRequestsServed"], 80)
        self.assertEqual(first["other"].json()["TotalRequestsServed"], 40)
        stolen = self.server.get("/statistics", "other", If_None_Match=first["user"].headers["etag"])
        self.assertEqual(stolen.status, 200)
        self.assertEqual(stolen.body, first["other"].body)

    def test_keys_on_one_connection_do_not_mix(self):
        with self.server.wire() as wire:
            for key, requests in (("user", 80), ("other", 40), ("user", 80), ("wrong", None),
                                  ("other", 40)):
                header = {"AccessKey": self.server.keys.get(key, "0" * 48)}
                answer = wire.ask("GET", "/statistics", header)
                if requests is None:
                    self.assertEqual(answer.status, 401)
                else:
                    self.assertEqual(answer.json()["TotalRequestsServed"], requests)


class AccessLog(Case):
    options = ("--access-log", "-")

    def test_the_log_says_who_and_what_and_never_a_key(self):
        import json
        made = self.server.ask("POST", "/keys", "operator", b'{"Account":1}').json()["Key"]
        answer = self.server.get("/statistics?dateFrom=2026-11-01&secret=hush", made)
        with self.server.wire() as wire:
            wire.send(b'GET /a"b\\c\x01 HTTP/1.1\r\nHost: x\r\n\r\n')
            wire.read()
        self.server.stop()
        messages = self.server.messages()
        lines = [json.loads(line) for line in messages.splitlines() if line.startswith("{")]
        entry = next(e for e in lines if e["path"] == "/statistics")
        self.assertEqual(entry["id"], answer.headers["x-request-id"])
        self.assertEqual((entry["method"], entry["status"], entry["account"], entry["ip"]),
                         ("GET", 200, 1, "127.0.0.1"))
        self.assertEqual(entry["bytes"], len(answer.body))
        self.assertGreater(entry["key"], 0)
        self.assertEqual(len(lines), 3)
        for secret in (made, "hush", *self.server.keys.values()):
            self.assertNotIn(secret, messages)


if __name__ == "__main__":
    unittest.main()
