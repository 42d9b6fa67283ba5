"""`tollbook status`: of a file that nobody writes, beside a running server, and by a server; what is healthy, each thing that
is not, and the exit status that a monitoring script reads. The clock stands at 2026-11-04T09:00:00Z.
"""
import json
import os
import re
import sqlite3
import subprocess
import unittest

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, run

ANY = ("--backup-hours", 0, "--verify-hours", 0, "--min-free-mb", 0)


def status(*words, **variables):
    done = subprocess.run([TOLLBOOK, "status", *map(str, words)], capture_output=True, text=True, check=False, timeout=PATIENCE,
                          env={**ENVIRONMENT, **variables})
    return done.returncode, done.stdout, done.stderr


class Status(Case):
    def tearDown(self):
        for mark in self.server.path.glob("t.db.last-*"):
            mark.unlink()

    def note(self, what, moment):
        (self.server.path / f"t.db.last-{what}").write_text(moment + "\n")

    def there(self, *words):
        """By the server, as an operator."""
        return status("--server", self.server.url, *words, TOLLBOOK_KEY=self.server.keys["operator"])

    def here(self, *words):
        return status("--db", self.server.db, *words)

    def problems(self, *words):
        """The same from both sides."""
        found = []
        for code, out, err in self.here(*words), self.there(*words):
            answer = json.loads(re.sub(r"Only \d+ MiB", "Only some MiB", out))  # others write to that disk
            self.assertEqual((err, code), ("", 0 if answer["healthy"] else 1))
            self.assertEqual(answer["healthy"], answer["problems"] == [])
            found.append(answer["problems"])
        self.assertEqual(found[0], found[1])
        return {one["problem"]: one["text"] for one in found[0]}

    def test_a_server_says_what_it_is(self):
        self.note("backup", "2026-11-04T02:30:00Z")
        self.note("verify", "2026-11-03T09:00:00Z")
        answer = json.loads(self.there("--min-free-mb", 0)[1])
        version = run("--version").stdout.decode().split()[1]
        address = f"127.0.0.1:{self.server.port}"
        self.assertEqual((answer["healthy"], answer["version"]), (True, version))
        self.assertEqual(answer["schema"], sqlite3.connect(self.server.db).execute("PRAGMA user_version").fetchone()[0])
        self.assertEqual(answer["server"].keys(), {"ready", "listen", "since", "writesWaiting"})
        self.assertEqual((answer["server"]["ready"], answer["server"]["listen"]), (True, [address]))
        self.assertEqual(answer["writer"]["name"], f"serve {address} (process {self.server.process.pid})")
        self.assertEqual((answer["newestUsage"], answer["newestLog"], answer["newestImport"]),
                         ("2026-11-03T12:00:00Z", "2026-11-04T09:00:00Z", None))
        self.assertEqual((answer["lastBackup"], answer["lastVerify"]), ("2026-11-04T02:30:00Z", "2026-11-03T09:00:00Z"))
        self.assertIsNone(answer["lastBase"])
        self.assertEqual(answer["messages"], {"waiting": 0, "failed": 0, "oldest": None})
        self.assertEqual(answer["disk"]["database"], os.stat(self.server.db).st_size)
        disk = os.statvfs(self.server.path)
        self.assertLess(abs(answer["disk"]["free"] - disk.f_bavail * disk.f_frsize), max(disk.f_bavail * disk.f_frsize / 2, 1 << 20))

    def test_beside_a_server_the_file_names_it(self):
        code, out, _ = self.here(*ANY, "--format", "table")
        self.assertEqual(code, 0)
        rows = dict(line.split("\t") for line in out.splitlines())
        self.assertEqual(rows["written by"], f"serve 127.0.0.1:{self.server.port} (process {self.server.process.pid})")
        self.assertRegex(rows["since"], r"^2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\dZ, \d+ \w+ ago$")
        self.assertEqual((rows["health"], rows["newest usage"], rows["last backup"]),
                         ("healthy", "2026-11-03T12:00:00Z, 21 hours ago", "never"))
        self.assertIn(", schema ", rows["version"])
        self.assertIsNone(json.loads(self.here(*ANY)[1])["server"])

    def test_what_nobody_writes(self):
        copy = self.server.path / "copy.db"
        run("backup", "--db", self.server.db, "--to", copy)
        code, out, err = status("--db", copy, *ANY)
        self.assertEqual((code, err, json.loads(out)["writer"]), (0, "", None))
        self.assertIn("written by\tno process\n", status("--db", copy, *ANY, "--format", "table")[1])

    def test_old_runs(self):
        never = {"backup": "No backup was made yet: run tollbook backup.", "verify": "No verify was made yet: run tollbook verify."}
        self.assertEqual(self.problems("--min-free-mb", 0), never)
        self.assertEqual(self.problems(*ANY), {})
        self.note("backup", "2026-11-03T07:00:00Z")  # 26 hours
        self.note("verify", "2026-11-03T06:59:59Z")
        self.assertEqual(self.problems("--min-free-mb", 0),
                         {"verify": "The last verify that succeeded began at 2026-11-03T06:59:59Z, 26 hours ago."})
        self.assertEqual(self.problems("--min-free-mb", 0, "--verify-hours", 27), {})
        self.assertEqual(self.problems("--min-free-mb", 0, "--verify-hours", 0, "--backup-hours", 25).keys(), {"backup"})

    def test_a_full_disk(self):
        found = self.problems("--backup-hours", 0, "--verify-hours", 0, "--min-free-mb", 1 << 40)
        self.assertEqual(found, {"disk": "Only some MiB are free on the database's disk."})

    def test_logs_that_stopped(self):
        self.assertEqual(self.problems(*ANY, "--intake-hours", 1), {})
        later = {**ENVIRONMENT, "TOLLBOOK_NOW": "2026-11-04T10:00:01Z"}
        done = subprocess.run([TOLLBOOK, "status", "--db", self.server.db, *map(str, ANY), "--intake-hours", "1"], env=later,
                              capture_output=True, check=False)
        self.assertEqual((done.returncode, json.loads(done.stdout)["problems"]),
                         (1, [{"problem": "intake", "text": "The newest log lines were stored at 2026-11-04T09:00:00Z, 60 minutes ago."}]))
        empty = self.server.path / "empty.db"
        run("init", "--db", empty)
        code, out, _ = status("--db", empty, *ANY, "--intake-hours", 1)
        self.assertEqual((code, json.loads(out)["problems"][0]["text"]),
                         (1, "No log line and no row of an import was stored yet."))

    def test_forms(self):
        code, out, _ = self.here(*ANY, "--json", "--format", "table")
        self.assertEqual((code, json.loads(out)["healthy"]), (0, True))
        self.assertTrue(self.here(*ANY, "--format", "csv")[1].startswith("what,state\nhealth,healthy\n"))
        code, _, err = self.here("--json", "--format", "csv")
        self.assertEqual(code, 2)
        self.assertIn("not both", err)
        self.assertTrue(self.there(*ANY, "--format", "table")[1].startswith("what\tstate\nhealth\thealthy\n"))

    def test_without_a_key_a_server_says_whether_it_is_ready(self):
        self.assertEqual(status("--server", self.server.url), (0, '{"ready":true}\n', ""))
        self.assertEqual(status("--format", "table", TOLLBOOK_SERVER=self.server.url), (0, "what\tstate\nserver\tready\n", ""))
        code, out, err = status("--server", self.server.url, TOLLBOOK_KEY="0" * 48)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("(HTTP 401)", err)

    def test_what_cannot_be_reached(self):
        code, out, err = status("--server", "http://127.0.0.1:1")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("Check the URL and that the server runs", err)
        code, out, err = status("--db", self.server.path / "none.db")
        self.assertEqual((code, out), (3, ""))
        code, out, err = status()  # that of the package, which a test's machine has not
        self.assertIn("/var/lib/tollbook/tollbook.db", err)
        self.assertEqual(code, 3)


class Gone(unittest.TestCase):
    def test_a_server_whose_database_is_gone_is_asked_once(self):
        from harness import Server
        server = Server()
        self.addCleanup(server.folder.cleanup)
        moved = server.db.with_name("moved.db")
        server.db.rename(moved)
        for key in {}, {"TOLLBOOK_KEY": server.keys["operator"]}:
            code, out, err = status("--server", server.url, *(ANY if key else ()), **key)
            self.assertEqual((code, out), (3, ""))
            self.assertIn("(HTTP 503)", err)
            self.assertNotIn("asked again", err)
        moved.rename(server.db)
        server.stop()


if __name__ == "__main__":
    unittest.main()
