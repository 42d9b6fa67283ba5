"""GET /apikey: pages of the account's keys; sealed texts under the operator's secret."""
import os
import sqlite3
import unittest
from harness import Case, run


class Sealed(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        cls.secret = server.path / "secret"
        cls.secret.write_bytes(run("key", "secret").stdout)
        os.chmod(cls.secret, 0o600)
        cls.shown = [run("key", "create", "--db", server.db, "--account", 2, "--role", "UserApi",
                         "--role", "Ingest", "--secret-file", cls.secret).stdout.decode().strip()
                     for _ in range(12)]
        server.keys["statistics"] = server.make_key(1, "SubuserStatistics")
        server.start("--secret-file", cls.secret)

    def page(self, query="", key="other"):
        answer = self.server.get(f"/apikey{query}", key)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["cache-control"], "no-store")
        found = answer.json()
        self.assertEqual(list(found), ["Items", "CurrentPage", "TotalItems", "HasMoreItems"])
        return found

    # holds: apikey.endpoint, apikey.key, apikey.roles
    def test_sealed_keys_are_shown_and_others_masked(self):
        found = self.page()
        self.assertEqual((found["CurrentPage"], found["TotalItems"], found["HasMoreItems"]),
                         (1, 13, False))
        self.has_fields("apikey.page", found)
        for item in found["Items"]:
            self.has_fields("apikey.item", item)
        first, *rest = found["Items"]
        self.assertEqual(first["Key"], self.server.keys["other"][:6] + "*" * 42)
        self.assertEqual(first["Roles"], ["User"])
        self.assertEqual([i["Key"] for i in rest], self.shown)
        self.assertEqual(rest[0]["Roles"], ["UserApi", "Ingest"])
        self.assertEqual([i["Id"] for i in found["Items"]], sorted(i["Id"] for i in found["Items"]))
        self.assertEqual(self.server.get("/pullzone", rest[3]["Key"]).status, 200)

    def test_pages(self):
        ids = [i["Id"] for i in self.page()["Items"]]
        for page, more in ((1, True), (2, True), (3, False), (4, False)):
            found = self.page(f"?page={page}&perPage=5")
            self.assertEqual([i["Id"] for i in found["Items"]], ids[page * 5 - 5:page * 5])
            self.assertEqual((found["CurrentPage"], found["TotalItems"], found["HasMoreItems"]),
                             (page, 13, more))

    # holds: apikey.page-bounds, apikey.per-page-bounds
    def test_bounds(self):
        for query, field in (("page=0", "page"), ("page=2147483648", "page"), ("page=-1", "page"),
                             ("perPage=4", "perPage"), ("perPage=1001", "perPage")):
            self.refused(self.server.get(f"/apikey?{query}", "other"), 400, "validation_error", field)
        self.assertEqual(self.page("?page=2147483647&perPage=1000")["Items"], [])

    def test_roles(self):
        self.refused(self.server.get("/apikey", None), 401, "authentication.failed")
        for key in ("statistics", "ingest", "operator"):
            self.refused(self.server.get("/apikey", key), 403, "authorization.forbidden")

    def test_a_key_made_over_http_is_sealed_and_a_revoked_one_not_listed(self):
        made = self.server.ask("POST", "/keys", "operator", b'{"Account":1,"Roles":["UserApi"]}').json()
        listed = {i["Id"]: i["Key"] for i in self.page(key="user")["Items"]}
        self.assertEqual(listed[made["Id"]], made["Key"])
        self.assertEqual(self.server.ask("DELETE", f"/keys/{made['Id']}", "operator").status, 204)
        self.assertNotIn(made["Id"], [i["Id"] for i in self.page(key="user")["Items"]])

    def test_the_file_holds_no_text_of_a_key(self):
        with open(self.server.db, "rb") as file:
            content = file.read()
        for key in self.shown:
            self.assertNotIn(key.encode(), content)
            self.assertNotIn(bytes.fromhex(key), content)
        db = sqlite3.connect(f"file:{self.server.db}?mode=ro", uri=True)
        sizes = db.execute("SELECT DISTINCT length(sealed) FROM key WHERE sealed IS NOT NULL")
        self.assertEqual(sizes.fetchall(), [(88,)])
        db.close()

    def test_under_another_secret_keys_are_masked_and_valid(self):
        server, old = self.server, self.shown[0]
        other = server.path / "other-secret"
        other.write_bytes(run("key", "secret").stdout)
        server.stop()
        try:
            server.start("--secret-file", other)
            made = server.ask("POST", "/keys", "operator", b'{"Account":1}',
                              Content_Type="application/json").json()["Key"]
            self.assertIn(made, [item["Key"] for item in self.page(key=made)["Items"]])
            masked = [item["Key"] for item in self.page(key=old)["Items"]]
            self.assertIn(old[:6] + "*" * 42, masked)
            self.assertFalse(set(masked) & set(self.shown))
            self.assertIn(f"Warning: others may read the secret file {other}", server.messages())
            server.stop()
        finally:
            server.start("--secret-file", self.secret)
        self.assertIn(old, [item["Key"] for item in self.page(key=old)["Items"]])
        self.assertNotIn(made, [item["Key"] for item in self.page(key=made)["Items"]])


class Masked(Case):
    def test_without_a_secret_keys_are_masked(self):
        for item in self.server.get("/apikey").json()["Items"]:
            self.assertRegex(item["Key"], r"^[0-9a-f]{6}\*{42}$")


class Files(unittest.TestCase):
    def test_a_file_that_is_none_is_refused(self):
        for content, why in ((None, "is not there"), (b"", "64 hexadecimal"),
                             (b"ab" * 31, "64 hexadecimal"), (b"zz" * 32, "64 hexadecimal"),
                             (b"ab" * 33, "64 hexadecimal")):
            path = f"/nonexistent-{os.getpid()}"
            if content is not None:
                read, write = os.pipe()
                os.write(write, content)
                os.close(write)
                path = f"/proc/{os.getpid()}/fd/{read}"
            done = run("serve", "--db", "nowhere", "--secret-file", path, expect=3)
            self.assertIn(why, done.stderr.decode())
            self.assertIn("tollbook key secret", done.stderr.decode())


if __name__ == "__main__":
    unittest.main()
