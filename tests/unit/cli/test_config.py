"""The configuration file, with the executable: what commands take of it, in which order, and what a bad one does. And
messages: which are written, and in which form."""
import http.client
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from tool import TOOL, Case, line

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])


class Config(Case):
    def conf(self, *lines, mode=0o644):
        self.write("t.conf", "".join(line + "\n" for line in lines))
        (self.folder / "t.conf").chmod(mode)

    def ask(self, *words, status=0, stdin="", **variables):
        done = subprocess.run([TOOL, *words], input=stdin, capture_output=True, text=True, cwd=self.folder, timeout=120,
                              env={**self.environment(), "TOLLBOOK_CONFIG": "t.conf", **variables}, check=False)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def place(self, *words, **variables):
        """Of the missing databases the one that was looked for."""
        return self.ask("query", *words, "SELECT 1", status=3, **variables).stderr.split(":")[1].strip()

    def test_the_command_line_counts_first_then_the_environment_then_the_file(self):
        self.conf("# nightly", "db file.db", "memory-mb 64", "listen 127.0.0.1:1")  # the last is another command's
        self.assertEqual(self.place(), "file.db")
        self.assertEqual(self.place(TOLLBOOK_DB="environment.db"), "environment.db")
        self.assertEqual(self.place("--db", "line.db", TOLLBOOK_DB="environment.db"), "line.db")
        self.assertEqual(self.place("--db=line.db"), "line.db")

    def test_another_file_or_none(self):
        self.conf("db missing.db")
        self.write("other.conf", "db t.db")
        query = "query", "SELECT 1"
        self.ask(*query, status=3)
        self.ask(*query, "--config", "other.conf")
        self.ask(*query, TOLLBOOK_CONFIG="other.conf")
        for none in ["--config", "none"], ["--config", ""], ["--config="]:
            self.assertIn("--db FILE is missing", self.ask(*query, *none, status=2).stderr)
        self.assertIn("--db FILE is missing", self.ask(*query, status=2, TOLLBOOK_CONFIG="none").stderr)
        self.assertIn("No such file", self.ask(*query, "--config", "absent.conf", status=2).stderr)
        self.assertIn("Is a directory", self.ask(*query, "--config", ".", status=3).stderr)

    def test_a_bad_file_stops_every_command(self):
        self.conf("db t.db", "lisen 127.0.0.1:0")
        for words in ["query", "SELECT 1"], ["stats", "--account", "1"], ["serve"], ["follow", "x"]:
            said = re.sub(r"^\S+Z error ", "", self.ask(*words, status=2).stderr)
            self.assertEqual(said, f"tollbook {words[0]}: t.conf: line 2: No command has an option \"lisen\". "
                                   "Did you mean \"listen\"?\n")
        self.ask("stats", "--help")
        self.conf("db t.db", "retain 5x", "listen 127.0.0.1:0")  # what only serve can judge
        self.assertIn("tollbook serve: t.conf: line 2: --retain 5x: ", self.ask("serve", status=2).stderr)
        self.ask("query", "SELECT 1")
        self.assertIn("tollbook serve: --retain 6x: ", self.ask("serve", "--retain", "6x", status=2).stderr)
        self.conf("key " + "5" * 20, "db t.db", mode=0o640)
        self.assertIn('t.conf: line 1: "key" is a secret', self.ask("query", "SELECT 1", status=3).stderr)
        self.conf("key " + "5" * 20, "db t.db", mode=0o600)
        self.ask("query", "SELECT 1")

    def test_the_documents_example_is_taken(self):
        text = (SOURCE / "docs/operate/configure.md").read_text()
        example, = re.findall(r"^```conf\n(.*?)^```$", text, re.M | re.S)
        self.conf(*example.splitlines())
        self.assertEqual(self.place(), "/var/lib/tollbook/tollbook.db")
        self.conf("# the server", "db /var/lib/tollbook/tollbook.db", "lisen 127.0.0.1:8080")
        said = self.ask("backup", status=2).stderr.replace("t.conf", "/etc/tollbook/tollbook.conf")
        self.assertIn(said, text)

    def test_a_server_and_its_senders_share_a_file(self):
        key = self.run_tool("key", "create", "--db", "t.db", "--account", "0", "--role", "Operator").out.strip()
        self.write("key", key)
        (self.folder / "key").chmod(0o600)
        plain = ["db t.db", "listen 127.0.0.1:0", "port-file port", "metrics-key", "cors-origin https://a.example",
                 "cors-origin https://b.example", "threads 1"]
        self.conf(*plain)
        server = self.start("serve", "--config", "t.conf")
        self.wait_for(lambda: (self.folder / "port").exists() or server.poll() is not None)
        port = int((self.folder / "port").read_text())
        for origin in "https://a.example", "https://b.example":
            wire = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            wire.request("GET", "/metrics", headers={"Origin": origin})
            answer = wire.getresponse()
            self.assertEqual((answer.status, answer.getheader("Access-Control-Allow-Origin")), (401, origin))
            wire.close()
        self.conf(*plain, f"server http://127.0.0.1:{port}", "key-file key")
        self.ask("apply", "-", stdin='{"accounts":[{"id":7,"name":"sent"}]}', TOLLBOOK_DB="")
        counted = self.ask("query", "SELECT count(*) FROM account").stdout  # of the file: query takes no server
        self.assertEqual(counted, "count(*)\n1\n")
        server.terminate()
        self.assertEqual(server.wait(60), 0)


class Messages(Case):
    def ask(self, *words, status=0, **variables):
        done = subprocess.run([TOOL, *words], capture_output=True, text=True, cwd=self.folder, timeout=120, check=False,
                              env={**self.environment(), **variables})
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stderr.splitlines()

    def test_levels(self):
        self.write("log", "bad\n" + line(1))
        self.apply()
        self.assertEqual(len(self.ask("ingest", "--db", "t.db", "log")), 2)
        self.assertEqual(self.ask("ingest", "--db", "t.db", "log"), ["tollbook ingest: log: nothing new: its 2 lines were taken before."])
        self.assertEqual(self.ask("ingest", "--db", "t.db", "--log-level", "warning", "log"), [])
        self.assertEqual(len(self.ask("ingest", "--db", "no.db", "--log-level", "error", "log", status=3)), 1)
        self.write("t.conf", "log-level debug\nthreads 1\n")
        said = self.ask("ingest", "--config", "t.conf", "log", TOLLBOOK_DB="t.db")
        for part in ("--config t.conf: given", "--db t.db: TOLLBOOK_DB", "--threads 1: line 2 of t.conf"):
            self.assertIn("tollbook ingest: " + part, said)
        self.assertNotIn("abcd", "".join(self.ask("stats", "--server", "http://127.0.0.1:1", "--key", "abcd", "--account", "1",
                                                  "--log-level", "debug", status=3)))

    def test_json_lines(self):
        rows = [json.loads(row) for row in self.ask("query", "--db", "t.db", "--log-format", "json",
                                                    'SELECT "\n\x01"', status=2)]
        self.assertEqual([(row["time"], row["level"], row["command"]) for row in rows[:1]],
                         [("2026-11-20T12:00:00.000Z", "error", "query")])
        self.assertIn("\\x01", rows[0]["message"])

    def test_a_service_has_moments_and_the_journal_priorities(self):
        missing = ("follow", "--db", "no.db", "--once", "log")
        self.assertRegex(self.ask(*missing, status=3)[0], r"^2026-11-20T12:00:00\.000Z error tollbook follow: no\.db: ")
        read, write = os.pipe()
        about = os.fstat(write)
        for name, begin in ((f"{about.st_dev}:{about.st_ino}", "<3>tollbook follow: no.db: "),
                            (f"{about.st_dev}:1", "2026-11-20T12:00:00.000Z error tollbook")):
            subprocess.run([TOOL, *missing], cwd=self.folder, stderr=write, timeout=120, check=False,
                           env={**self.environment(), "JOURNAL_STREAM": name})
            self.assertTrue(os.read(read, 65536).decode().startswith(begin))
        os.close(read)
        os.close(write)


if __name__ == "__main__":
    unittest.main()
