"""Clients of the deployed service's old base address put /api before each path: what is asked there is what is asked
without it, by the same keys."""
import json
import unittest

from harness import Case, seed

READ = [row["path"] for row in seed.routes() if row["method"] == "GET"]
EXACT = [row["path"] for row in seed.routes() if row["exact"]]
CHANGED = [(row["method"], row["path"]) for row in seed.routes()
           if row["method"] != "GET" and not row["exact"] and not row["path"].startswith("/api/")]


def target(path):
    """A path of account 1, where its route is one of pull zones."""
    return path.replace("{id}", "101").replace("{+file}", "x").replace("{+view}", "x")


class OldAddress(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        cls.server.keys["statistics"] = cls.server.make_key(1, "SubuserStatistics")
        cls.server.start()

    def test_every_get_is_the_same_below_api_with_the_same_keys(self):
        opened = 0
        with self.server.wire() as wire:
            for path in map(target, (path for path in READ if path not in EXACT)):
                for key in (None, "user", "other", "statistics", "ingest", "operator"):
                    fields = {"AccessKey": self.server.keys[key]} if key else {}
                    plain, below = (wire.ask("GET", before + path, fields) for before in ("", "/api"))
                    self.assertEqual((below.status, below.headers.get("content-type")),
                                     (plain.status, plain.headers.get("content-type")), (path, key))
                    if plain.status < 300:
                        opened += 1
                        self.assertEqual(below.body, plain.body, (path, key))
        self.assertGreater(opened, 40)

    def test_questions_ids_and_tags_are_the_same(self):
        plain = self.server.get("/pullzone/101/optimizer/statistics?hourly=true")
        self.assertEqual(plain.status, 200)
        for before in ("/api", "/API", "/Api"):
            below = self.server.get(before + "/pullzone/101/optimizer/statistics?hourly=true")
            self.assertEqual((below.body, below.headers.get("etag")), (plain.body, plain.headers.get("etag")))
        head = self.server.ask("HEAD", "/api/statistics", "user")
        self.assertEqual((head.status, head.body), (200, b""))
        self.refused(self.server.get("/api/pullzone/201"), 404, "pullZone.not_found")
        self.refused(self.server.get("/api/pullzone?page=-1"), 400, "validation_error", "page")

    def test_what_a_proxy_may_keep_to_itself_is_not_there(self):
        self.assertEqual({path.split("/")[1] for path in EXACT}, {"", "console", "metrics"})
        for path in map(target, EXACT):
            for key in (None, "operator"):
                for method in ("GET", "POST", "DELETE"):
                    self.refused(self.server.ask(method, "/api" + path, key), 404, "resource.not_found")

    def test_the_prefix_is_taken_off_once(self):
        for path in ("/api", "/api/", "/api/api/region", "/api//region", "/apiregion", "/api/none"):
            self.refused(self.server.get(path, "operator"), 404, "resource.not_found")

    def test_whatever_changes_something_asks_for_the_same_rights_there(self):
        for method, path in CHANGED:
            for key in (None, "user", "other", "statistics", "ingest", "operator"):
                plain, below = (self.server.ask(method, before + target(path), key, b"[]") for before in ("", "/api"))
                self.assertEqual((below.status, below.headers.get("allow")),
                                 (plain.status, plain.headers.get("allow")), (method, path, key))
        answer = self.server.ask("PUT", "/api/keys", "operator", b"{}")
        self.refused(answer, 405, "request.method_not_allowed")
        self.assertEqual(answer.headers["allow"], self.server.ask("PUT", "/keys", "operator", b"{}").headers["allow"])

    def test_a_change_is_made_and_noted_there(self):
        made = self.server.ask("POST", "/api/keys", "operator", b'{"account": 1, "roles": ["User"]}')
        self.assertEqual(made.status, 201, made.body)
        self.assertEqual(self.server.get("/region", made.json()["Key"]).status, 200)
        number = made.json()["Id"]
        self.refused(self.server.ask("DELETE", f"/api/keys/{number}", "user"), 403, "authorization.forbidden")
        self.assertEqual(self.server.ask("DELETE", f"/api/keys/{number}", "operator").status, 204)
        noted = self.server.ask("POST", "/api/operations/audit", "operator", b"{}").body
        self.assertIn(b"key create", noted)
        self.assertIn(b"key revoke", noted)

    def test_events_have_a_path_of_their_own_there(self):
        one = {"specversion": "1.0", "type": "none", "id": "1", "source": "s", "subject": "account:1"}
        answer = self.server.ask("POST", "/api/v1/events", "ingest", json.dumps(one).encode(),
                                 Content_Type="application/cloudevents+json")
        self.assertNotIn(answer.status, (401, 403, 404, 405))
        answer = self.server.get("/api/v1/events", "ingest")
        self.refused(answer, 405, "request.method_not_allowed")
        self.assertEqual(answer.headers["allow"], "POST")


if __name__ == "__main__":
    unittest.main()
