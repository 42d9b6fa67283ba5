"""Operations with --db and with --server: the same words print and say the same, and leave the same behind."""
import json
import os
import unittest
from both import Both


class Catalogue(Both):
    def test_it_is_applied_alike(self):
        first = {"accounts": [{"id": 1, "name": "a"}], "zones": [
            {"id": 5, "account": 1, "name": "z", "created": "2026-01-05T00:00:00Z"}]}
        regions = [{"id": 1, "code": "DE", "name": "EU: Falkenstein, DE", "billing": "ASIA"}]
        for change, said in (({}, " 1 changed, 5 deleted, "), ({}, "nothing changed"),
                             ({"container_limits": [{"account": 1}]}, "and 1 container applications"),
                             ({"accounts": [{"id": 1, "name": "b"}, {"id": 9, "name": "n"}]},
                              "1 accounts, 0 zones, 0 load balancers and 0 shield zones added;"),
                             ({"regions": regions}, "1 edge locations with usage are billed")):
            first |= change
            done = self.both("apply", self.write("c.json", json.dumps(first)))
            self.assertIn("tollbook apply: c.json: ", done.err)
            self.assertIn(said, done.err)
        for bad, said in (('{"acounts":[]}', "acounts: "), ("{", "byte 2: "),
                          ('{"accounts":[{"id":1,"name":"a"}],"zones":[{"id":5,"account":2,"name":"z"}]}',
                           "zones[0]")):
            done = self.both("apply", "-", stdin=bad.encode(), status=2, alike=False)
            self.assertIn(said.lower(), done.err.lower())
        self.same("account", "zone", "region")


class Keys(Both):
    def test_they_are_listed_and_revoked_alike(self):
        for words, status in ((("key", "list"), 0), (("key", "revoke", "--id", 2), 0),
                              (("key", "revoke", "--id", 2), 0), (("key", "list"), 0)):
            self.both(*words, status=status)
        for words in (("key", "revoke", "--id", 9), ("key", "revoke", "--id", 0),
                      ("key", "create", "--account", 9), ("key", "create", "--account", 0),
                      ("key", "create", "--account", 1, "--role", "user"),
                      ("key", "create", "--account", 0, "--role", "User", "--role", "Ingest")):
            self.both(*words, status=2, alike=False)
        self.assertEqual(self.query("SELECT count(*) FROM key"), [["2"]])

    def test_one_is_made_alike(self):
        for words in ((), ("--role", "User", "--role", "SubuserBilling")):
            made = [self.run_tool("key", "create", "--account", 1, *words, *place)
                    for place in (("--db", "l.db"), self.place)]
            self.assertEqual(made[0].err, made[1].err)
            self.assertNotEqual(made[0].out, made[1].out)
            for done in made:
                self.assertRegex(done.out, r"^[0-9a-f]{48}\n$")
        self.assertIn("key create: Key 4 is made. It is shown this once.\n", made[1].err)
        rows = [self.run_tool("key", "list", *place).out.splitlines()
                for place in (("--db", "l.db"), self.place)]
        for here, there in zip(*rows):
            self.assertEqual([here.split("\t")[i] for i in (0, 1, 2, 4, 5)],
                             [there.split("\t")[i] for i in (0, 1, 2, 4, 5)])

    def test_the_secret_is_the_one_that_is_given_or_the_servers(self):
        secret = self.write("secret", self.run_tool("key", "secret").out)
        os.chmod(self.folder / "secret", 0o600)
        words = ("key", "create", "--account", 1, "--secret-file", secret)
        done = self.run_tool(*words, *self.place, status=2)
        self.assertIn("--secret-file goes with --db alone", done.err)
        done = self.run_tool(*words, "--db", "l.db")
        self.assertIn("It is shown this once, and by GET /apikey.", done.err)
        self.run_tool("key", "create", "--account", 1, "--secret-file", "none", "--db", "l.db",
                      status=3)
        self.assertEqual(self.query("SELECT count(*),count(sealed) FROM key", "l.db"), [["3", "1"]])


if __name__ == "__main__":
    unittest.main()
