"""apply, key, stats, query, verify and backup on a small database."""
import json
import sqlite3
import unittest
from tool import Case, lines


class Reading(Case):
    def setUp(self):
        super().setUp()
        self.apply()
        self.run_tool("ingest", "--db", "t.db", self.write("a.log", lines(0, 100)))

    def stats(self, *words, **more):
        return self.run_tool("stats", "--db", "t.db", "--account", 1, *words, **more)

    def test_stats_is_one_json_document_and_nothing_else(self):
        done = self.stats("--from", "2026-11-20", "--to", "2026-11-20")
        self.assertEqual(done.err, "")
        self.assertEqual(done.out.count("\n"), 1)
        answer = json.loads(done.out)
        self.assertEqual(answer["TotalRequestsServed"], 100)
        self.assertEqual(answer["TotalBandwidthUsed"], sum(1000 + n for n in range(100)))
        self.assertEqual(list(answer["RequestsServedChart"]), ["2026-11-20T00:00:00Z"])
        hourly = json.loads(self.stats("--zone", 101, "--hourly", "--exact", "--from",
                                       "2026-11-20T01:00", "--to", "2026-11-20T03:00").out)
        self.assertEqual(hourly["RequestsServedChart"],
                         {"2026-11-20T01:00:00Z": 10, "2026-11-20T02:00:00Z": 10})

    def test_each_kind_answers(self):
        for kind in ("optimizer", "queue", "safehop"):
            self.assertIn("Chart", self.stats("--zone", 101, "--kind", kind).out)

    def test_what_stats_refuses_is_named(self):
        self.assertIn("--from: ", self.stats("--from", "2024-01-01", status=2).err)
        self.assertIn("--to: ", self.stats("--to", "yesterday", status=2).err)
        self.assertIn("no pull zone 999 of account 1", self.stats("--zone", 999, status=2).err)
        done = self.run_tool("stats", "--db", "t.db", "--account", 9, status=2)
        self.assertIn("tollbook apply", done.err)

    def test_apply_is_idempotent_and_refuses_whole(self):
        self.assertIn("nothing changed", self.run_tool("apply", "--db", "t.db", "c.json").err)
        bad = '{"accounts":[{"id":1,"name":"a"}],"zones":[{"id":5,"account":2,"name":"z"}]}'
        done = self.run_tool("apply", "--db", "t.db", "-", stdin=bad.encode(), status=2)
        self.assertIn("zones[0]", done.err)
        self.assertIn("nothing changed", self.run_tool("apply", "--db", "t.db", "c.json").err)

    def test_containers_that_are_added_are_said(self):
        catalog = {"accounts": [{"id": 1, "name": "acme"}],
                   "registries": [{"id": "r", "url": "https://registry.example"}],
                   "container_apps": [{"id": "a", "account": 1, "name": "a"}]}
        self.write("d.json", json.dumps(catalog))
        said = self.run_tool("apply", "--delete", "--db", "t.db", "d.json").err
        self.assertIn("2 container applications, limits and registries added", said)
        self.assertIn("nothing changed", self.run_tool("apply", "--db", "t.db", "d.json").err)

    def test_a_key_is_printed_once_and_only_its_hash_is_kept(self):
        done = self.run_tool("key", "create", "--db", "t.db", "--account", 1, "--role", "UserApi")
        self.assertRegex(done.out, r"^[0-9a-f]{48}\n$")
        key = done.out.strip()
        for name in self.folder.glob("t.db*"):
            self.assertNotIn(key.encode(), name.read_bytes())
        listed = self.run_tool("key", "list", "--db", "t.db", "--format", "table").out
        self.assertIn("UserApi", listed)
        self.assertNotIn(key, listed)
        self.run_tool("key", "revoke", "--db", "t.db", "--id", 1)
        self.assertRegex(self.run_tool("key", "list", "--db", "t.db", "--format", "table").out,
                         r"\n1\t1\tUserApi\t\S+\t2026-11-20T12:00:00Z\t2026-11-20T12:00:00Z\t\n")
        self.assertIn("key list",
                      self.run_tool("key", "revoke", "--db", "t.db", "--id", 7, status=2).err)

    def test_whose_keys_there_can_be(self):
        self.run_tool("key", "create", "--db", "t.db", "--account", 2, status=2)
        self.run_tool("key", "create", "--db", "t.db", "--account", 0, status=2)
        self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role", "User", "--role",
                      "Ingest", status=2)
        self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role", "Ingest")
        self.run_tool("key", "create", "--db", "t.db", "--account", 1)
        self.assertIn("\t1\tUser\t", self.run_tool("key", "list", "--db", "t.db", "--format", "table").out)

    def test_query_prints_rows_for_programs_and_for_people(self):
        sql = "SELECT 'a,b' AS one, 'c\"d' AS two, NULL AS three, 'x\ty\\' AS four"
        self.assertEqual(self.run_tool("query", "--db", "t.db", sql).out,
                         "one\ttwo\tthree\tfour\na,b\tc\"d\t\tx\\ty\\\\\n")
        done = self.run_tool("query", "--db", "t.db", "--format", "csv", sql)
        self.assertEqual(done.stdout, b'one,two,three,four\r\n"a,b","c""d",,x\ty\\\r\n')
        table = self.run_tool("query", "--db", "t.db", "--format", "table",
                              "SELECT 1 AS a, 'long text' AS b UNION SELECT 22, 'z'").out
        self.assertEqual(table, "a   b\n1   long text\n22  z\n")
        self.assertEqual(self.total(), 100)

    def test_a_long_table_is_printed_whole(self):
        sql = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
               "SELECT i FROM n")
        out = self.run_tool("query", "--db", "t.db", "--format", "table", sql).out
        self.assertEqual(out.split(), ["i", *map(str, range(1, 5001))])

    def test_backup_is_a_database_of_its_own(self):
        done = self.run_tool("backup", "--db", "t.db", "--to", "b.db", "--progress")
        self.assertIn("b.db: written; it is being checked\n", done.err)
        self.assertEqual(self.usage("b.db"), self.usage())
        self.verify("b.db")
        self.assertIn("exists", self.run_tool("backup", "--db", "t.db", "--to", "b.db", status=3).err)

    def copies(self):
        return sorted(path.name for path in (self.folder / "copies").iterdir())

    def back_up(self, now, *words, **more):
        return self.run_tool("backup", "--db", "t.db", "--dir", "copies", *words, now=now, **more).err

    def test_copies_are_named_by_their_time_and_the_newest_are_kept(self):
        (self.folder / "copies").mkdir()
        others = ["t-20261101T000000Z.db.gz", "t-2026110aT000000Z.db", "tt-20261101T000000Z.db", "t.db", "u-20261101T000000Z.db"]
        for name in others:
            self.write(f"copies/{name}", "")
        said = self.back_up("2026-11-20T01:30:00Z")
        self.assertIn("copies/t-20261120T013000Z.db is a verified copy of t.db.", said)
        self.verify("copies/t-20261120T013000Z.db")
        self.assertNotIn("deleted", self.back_up("2026-11-21T01:30:00Z", "--keep", 2))
        self.write("copies/t-20261120T013000Z.db-wal", "")
        self.assertIn("1 old copy was deleted.", self.back_up("2026-11-22T01:30:00Z", "--keep", 2))
        self.assertEqual(self.copies(), sorted(["t-20261121T013000Z.db", "t-20261122T013000Z.db", *others]))
        self.assertIn("exists", self.back_up("2026-11-22T01:30:00Z", "--keep", 1, status=3))
        self.assertEqual(self.copies(), sorted(["t-20261121T013000Z.db", "t-20261122T013000Z.db", *others]))
        # A clock that was set back: the new copy is not the one that goes.
        self.assertIn("1 old copy was deleted.", self.back_up("2026-11-02T01:30:00Z", "--keep", 1))
        self.assertEqual(self.copies(), sorted(["t-20261102T013000Z.db", "t-20261122T013000Z.db", *others]))

    def test_where_a_copy_goes_is_one_place(self):
        for words, said in (((), "--to FILE or --dir DIR is missing"), (("--to", "a", "--dir", "b"), "not both"),
                            (("--to", "a", "--keep", 1), "--keep needs --dir"), (("--dir", "d" * 4000), "the path is too long")):
            self.assertIn(said, self.run_tool("backup", "--db", "t.db", *words, status=2).err)
        self.assertIn("none/t-20261120T120000Z.db", self.run_tool("backup", "--db", "t.db", "--dir", "none", status=3).err)

    def test_size_counts_every_page(self):
        def sizes(*words):
            lines = self.run_tool("size", "--db", "t.db", "--format", "table", *words).out.splitlines()
            self.assertEqual(lines[0], "what\tbytes")
            return {what: int(count) for what, count in (line.split("\t") for line in lines[1:])}
        whole = sizes()
        self.assertEqual(sum(whole.values()), (self.folder / "t.db").stat().st_size)
        self.assertGreater(whole["usage"], 0)
        self.assertLessEqual(sum(sizes("--by", "month").values()), sum(whole.values()))
        zones = sizes("--by", "zone")
        self.assertTrue(zones and all(z == "waiting" or z.isdigit() for z in zones), zones)
        self.assertEqual(len(sizes("--by", "kind", "--most", "1")), 1)
        self.run_tool("size", "--db", "t.db", "--by", "week", status=2)

    def test_verify_finds_a_difference_and_exits_1(self):
        self.run_tool("backup", "--db", "t.db", "--to", "b.db")
        db = sqlite3.connect(self.folder / "b.db")
        db.execute("DELETE FROM usage_page WHERE id = (SELECT min(id) FROM usage_page)")
        db.commit()
        db.close()
        done = self.run_tool("verify", "--db", "b.db", "--format", "table", status=1)
        self.assertNotEqual(done.out, "")
        self.assertIn("restore a backup", done.err)


if __name__ == "__main__":
    unittest.main()
