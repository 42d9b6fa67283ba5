"""What the specification says of container applications: the list, the limits, deploying, and the
shape of every error. The registry's digest has tests of its own.
"""
import json
import sqlite3
import unittest

from harness import CATALOG, Case, Server, run

ENDPOINT = {"id": "e1", "address": "shop.acme.example", "type": "cdn"}
TABLES = ("container", "deployment")


def catalogue():
    catalog = json.loads(json.dumps(CATALOG))
    catalog["container_apps"] = [
        {"id": "shop", "account": 1, "name": "shop", "description": "sells",
         "displayEndpoint": ENDPOINT},
        {"id": "bare", "account": 1, "name": "bare", "status": "inactive"},
        {"id": "halted", "account": 1, "name": "halted", "status": "suspended"},
        {"id": "desk", "account": 2, "name": "desk"}]
    catalog["container_limits"] = [{"account": 1, "maxNumberOfApplications": 5}]
    return catalog


class Containers(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(catalogue()).encode())
        cls.server.start()

    def apps(self):
        page = self.server.get("/mc/apps").json()
        return {item["id"]: item for item in page["items"]}

    # holds: apps.endpoint, apps.status, apps.endpoint-type, containers.prefix
    def test_the_list_has_its_fields(self):
        page = self.server.get("/mc/apps").json()
        self.has_fields("apps.page", page)
        self.has_fields("apps.meta", page["meta"])
        self.assertEqual(page["meta"]["totalItems"], 3)
        for item in page["items"]:
            self.has_fields("apps.item", item)
        shop = self.apps()["shop"]
        self.has_fields("apps.display", shop["displayEndpoint"])
        self.assertEqual((shop["name"], shop["description"], shop["status"]),
                         ("shop", "sells", "unknown"))
        self.assertEqual(shop["displayEndpoint"], ENDPOINT)
        self.assertEqual(set(self.apps()), {"shop", "bare", "halted"})

    def test_pages_follow_each_other_by_their_cursor(self):
        seen, cursor, sizes = [], None, []
        while cursor is not None or not seen:
            page = self.server.get("/mc/apps?limit=2" +
                                   (f"&nextCursor={cursor}" if cursor else "")).json()
            self.assertEqual(page["meta"]["totalItems"], 3)
            seen += [item["id"] for item in page["items"]]
            sizes.append(len(page["items"]))
            cursor = page["cursor"]
            self.assertLess(len(sizes), 4)
        self.assertEqual((seen, sizes), (sorted(self.apps()), [2, 1]))
        first = self.server.get("/mc/apps?limit=2").json()["cursor"]
        self.refused_cursor(first, "other")  # another account's
        self.refused_cursor(first[:-1], "user")
        self.assertIsNone(self.server.get("/mc/apps?limit=3").json()["cursor"])

    def refused_cursor(self, cursor, key):
        answer = self.server.get(f"/mc/apps?limit=2&nextCursor={cursor}", key)
        self.assertEqual(answer.status, 400)
        self.assertEqual(answer.json()["errors"][0]["field"], "nextCursor")

    # holds: limits.endpoint, limits.existing
    def test_limits_have_their_fields(self):
        limits = self.server.get("/mc/limits").json()
        self.has_fields("limits", limits)
        self.assertEqual((limits["maxNumberOfApplications"],
                          limits["existingNumberOfApplications"]), (5, 3))

    def test_the_console_is_offered_limits_where_there_are_some(self):
        for key, declared in (("user", True), ("other", False)):
            answer = self.server.ask("POST", "/console/session", None, json.dumps({"key": self.server.keys[key]}).encode(),
                                     Content_Type="application/json", X_Tollbook_Console="1")
            self.assertEqual("limits" in answer.json()["offers"], declared, key)

    # holds: containers.camel-case
    def test_names_begin_with_a_small_letter(self):
        shop = self.apps()["shop"]
        for name in (*self.server.get("/mc/apps").json(), *shop, *shop["displayEndpoint"],
                     *self.server.get("/mc/limits").json(),
                     *self.server.ask("POST", "/mc/apps/none/deploy", "user").json(),
                     *self.server.get("/mc/apps", None).json()):
            self.assertRegex(name, r"^[a-z]")

    # holds: deploy.endpoint
    def test_deploying_makes_an_application_active(self):
        self.assertEqual(self.apps()["bare"]["status"], "inactive")
        answer = self.server.ask("POST", "/mc/apps/bare/deploy", "user")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(self.apps()["bare"]["status"], "active")

    # holds: apps.errors, deploy.errors, limits.errors, auth.containers
    def test_errors_are_problems_with_errors_but_for_401(self):
        for method, target, key, status in (
                ("GET", "/mc/apps?limit=0", "user", 400),
                ("GET", "/mc/apps?nextCursor=x", "user", 400),
                ("POST", "/mc/apps/none/deploy", "user", 404),
                ("POST", "/mc/apps/desk/deploy", "user", 404),
                ("POST", "/mc/apps/halted/deploy", "user", 409),
                ("GET", "/mc/limits", "other", 404)):
            answer = self.server.ask(method, target, key)
            self.assertEqual((answer.status, answer.json()["status"]), (status, status), target)
            self.has_fields("problem.errors", answer.json())
            self.assertNotIn("type", answer.json())
        wrong = self.server.get("/mc/apps?limit=0").json()["errors"]
        self.assertEqual(wrong[0]["field"], "limit")
        self.has_fields("problem.error", wrong[0])
        for method, target in (("GET", "/mc/apps"), ("POST", "/mc/apps/shop/deploy"),
                               ("GET", "/mc/limits")):
            answer = self.server.ask(method, target)
            self.assertEqual((answer.status, answer.json()["status"]), (401, 401))
            self.has_fields("problem", answer.json())
            self.assertNotIn("errors", answer.json())


class Broken(Case):
    """Tables are missing: the server cannot answer."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(catalogue()).encode())
        db = sqlite3.connect(cls.server.db)
        for table in TABLES:
            db.execute(f"ALTER TABLE {table} RENAME TO lost_{table}")
        db.commit()
        db.close()
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.folder.cleanup()

    # holds: apps.errors, deploy.errors, limits.errors
    def test_failures_are_500_with_errors(self):
        for method, target in (("GET", "/mc/apps"), ("POST", "/mc/apps/shop/deploy"),
                               ("GET", "/mc/limits")):
            answer = self.server.ask(method, target, "user")
            self.assertEqual(answer.status, 500, (target, answer.body))
            self.assertEqual(answer.json()["status"], 500)
            self.has_fields("problem.errors", answer.json())
            self.assertNotIn(b"lost_", answer.body)


if __name__ == "__main__":
    unittest.main()
