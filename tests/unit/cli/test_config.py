"""The configuration file, with the executable: what commands take of it, in which order, and what a bad one does."""
import http.client
import os
import re
import subprocess
import unittest
from pathlib import Path

from tool import TOOL, Case

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
            said = self.ask(*words, status=2).stderr
            self.assertEqual(said, f"tollbook {words[0]}: t.conf: line 2: No command has an option \"lisen\". "
                                   "Did you mean \"listen\"?\n")
        self.ask("stats", "--help")
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
        said = self.ask("serve", status=2).stderr.replace("t.conf", "/etc/tollbook/tollbook.conf")
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


if __name__ == "__main__":
    unittest.main()
