"""Help, versions, mistakes: what the command line says about itself, and its exit statuses."""
import re
import socket
import subprocess
import unittest
from tool import TOOL, Case

COMMANDS = ["init", "apply", "key create", "key revoke", "key list", "ingest", "import", "serve",
            "stats", "book add", "book list", "book show", "book diff", "book activate", "book drop",
            "book report", "book", "whatif", "scenario add", "scenario list", "scenario show", "usage",
            "invoice", "forecast", "ledger pay", "ledger adjust", "ledger", "verify", "backup", "query"]


class Usage(Case):
    def test_help_lists_every_subcommand_and_each_has_its_own(self):
        text = self.run_tool("help").out
        for word in ("--help", "-h"):
            self.assertEqual(text, self.run_tool(word).out)
        for command in COMMANDS:
            self.assertIn(f"\n  {command} ", text)
            own = self.run_tool(*command.split(), "--help").out
            self.assertEqual(own, self.run_tool("help", *command.split()).out)
            self.assertTrue(own.startswith(f"usage: tollbook {command} "))
            self.assertIn("  --db FILE", own)

    def test_help_of_a_group_lists_its_words(self):
        text = self.run_tool("help", "key").out
        for word in ("--help", "-h"):
            self.assertEqual(text, self.run_tool("key", word).out)
        self.assertIn("key revoke", text)
        self.assertNotIn("  ingest", text)

    def test_files_are_their_owners_alone(self):
        self.run_tool("init", "--db", "own.db")
        for path in self.folder.glob("own.db*"):
            self.assertEqual(path.stat().st_mode & 0o077, 0, path)

    def test_version(self):
        self.assertRegex(self.run_tool("--version").out, r"^tollbook \d+\.\d+\.\d+\n$")

    def test_mistakes_are_status_2_on_standard_error_and_name_the_remedy(self):
        for words, remedy in (
                ([], "tollbook help"),
                (["ingets"], 'mean "ingest"'),
                (["nonsense"], "tollbook help"),
                (["help", "nonsense"], "tollbook help"),
                (["key"], "create, revoke, list"),
                (["init"], "--db FILE is missing"),
                (["init", "--db", "x.db", "y"], "too many"),
                (["ingest", "--db", "t.db"], "LOG...|- is missing"),
                (["ingest", "l"], "--db FILE is missing (or --server"),
                (["ingest", "--db", "t.db", "--server", "http://h", "l"], "exclude"),
                (["ingest", "--server", "http://h", "l"], "--key"),
                (["ingest", "--server", "http://h", "l"], "TOLLBOOK_KEY"),
                (["ingest", "--server", "http://h", "--key", "k" * 256, "l"], "255"),
                (["ingest", "--db", "t.db", "--key", "k", "l"], "--server"),
                (["ingest", "--db", "t.db", "--threads", "0", "l"], "from 1 to"),
                (["ingest", "--db", "t.db", "--on-error", "ignore", "l"], "skip|stop"),
                (["ingest", "--db", "t.db", "--batch", "b", "l", "m"], "one input"),
                (["ingest", "--db", "t.db", "--batch", "b" * 284, "l"], "255"),
                (["ingest", "--db", "t.db", "--batch", "b ", "l"], "printable ASCII"),
                (["ingest", "--db", "t.db", "--batch", "b\tb", "l"], "printable ASCII"),
                (["import", "--db", "t.db", "--batch", "b\u00e4", "l"], "printable ASCII"),
                (["ingest", "--db", "t.db", "--zone", "1", "l"], "give another format"),
                (["ingest", "--db", "t.db", "--format", "combined", "l"], "give zone"),
                (["ingest", "--db", "t.db", "--format", "combined", "--zone", "1", "--region", "a b",
                  "l"], "letters"),
                (["stats", "--db", "t.db", "--account", "1", "--kind", "queue"], "--zone"),
                (["stats", "--db", "t.db", "--account", "1", "--form", "x"], 'mean "--from"'),
                (["key", "create", "--db", "t.db", "--account", "1", "--role", "user"], "no role"),
                (["ingest", "--server", "ftp://h", "--key", "k", "l"], "http://"),
                (["query", "--db", "t.db", "DELETE FROM reject"], "read"),
                (["query", "--db", "t.db", "SELEC 1"], "SELEC")):
            with self.subTest(words=words):
                done = self.run_tool(*words, status=2)
                self.assertEqual(done.out, "")
                self.assertIn(remedy, done.err)
                self.assertTrue(done.err.startswith("tollbook"))

    def test_a_clock_that_is_none_is_refused(self):
        done = self.run_tool("stats", "--db", "t.db", "--account", "1", status=2, now="yesterday")
        self.assertIn("RFC 3339", done.err)

    def test_the_environment_is_status_3(self):
        self.assertIn("tollbook init", self.run_tool("verify", "--db", "no.db", status=3).err)
        self.assertIn("exists already", self.run_tool("init", "--db", "t.db", status=3).err)
        self.write("text", "not a database, but long enough to be looked at\n" * 100)
        self.assertIn("text", self.run_tool("verify", "--db", "text", status=3).err)

    def test_a_result_that_cannot_be_written_is_status_3(self):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "help"], stdout=full, stderr=subprocess.PIPE,
                                  env=self.environment(), cwd=self.folder)
            self.assertEqual(done.returncode, 3)
            done = subprocess.run([TOOL, "query", "--db", "t.db", "SELECT 1"], stdout=full,
                                  stderr=subprocess.PIPE, env=self.environment(), cwd=self.folder)
            self.assertEqual(done.returncode, 3)
            done = subprocess.run([TOOL, "key", "create", "--db", "t.db", "--account", "0", "--role",
                                   "Operator"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  env=self.environment(), cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn("Key 1 is made", done.stderr)
        self.assertIn("Nobody has seen the new key. Revoke it", done.stderr)

    def test_systemd_is_told_once_it_listens(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(self.folder / "notify"))
            ready.settimeout(60)
            process = subprocess.Popen([TOOL, "serve", "--db", "t.db", "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE,
                                       env={**self.environment(), "NOTIFY_SOCKET": str(self.folder / "notify")}, cwd=self.folder)
            self.addCleanup(self.end, process)
            self.assertEqual(ready.recv(100), b"READY=1")
            port = re.search(rb"listening on http://127.0.0.1:(\d+)", process.stderr.readline()).group(1)
            socket.create_connection(("127.0.0.1", int(port)), timeout=60).close()


if __name__ == "__main__":
    unittest.main()
