"""Help, versions, mistakes: what the command line says about itself, and its exit statuses."""
import json
import lzma
import os
import re
import shlex
import socket
import sqlite3
import subprocess
import unittest
from pathlib import Path
from tool import TOOL, Case, lines

SOURCE = Path(__file__).resolve().parents[3]
HINT = re.compile(r": ((?:[\w-]+ (?:(?!: )[^\n])*\| )?tollbook [^\n]*)$", re.M)

COMMANDS = ["init", "setup", "apply", "key create", "key revoke", "key list", "ingest", "import", "serve",
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
        said = self.run_tool("--version").out
        self.assertRegex(said, r"^tollbook \d+\.\d+\.\d+\nschema \d+\ncommit ([0-9a-f]{12}(-modified)?|unknown)\nSQLite ")
        parts = [line.split() for line in said.splitlines()[3:]]
        self.assertEqual([name for name, _ in parts], ["SQLite", "libmicrohttpd", "libcurl", "GnuTLS", "OpenSSL", "jansson", "libsodium",
                                                       "zlib", "zstd", "xxHash"])
        for name, version in parts:
            self.assertRegex(version, r"^\d+\.\d+", name)
        schema = int.from_bytes((self.folder / "t.db").read_bytes()[60:64], "big")  # as SQLite's files have it
        self.assertIn(f"schema {schema}\n", said)

    def test_mistakes_are_status_2_on_standard_error_and_name_the_remedy(self):
        for words, remedy in (
                ([], "tollbook help"),
                (["ingets"], 'mean "ingest"'),
                (["nonsense"], "tollbook help"),
                (["help", "nonsense"], "tollbook help"),
                (["key"], "create, list, revoke or secret"),
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
                (["ingest", "--db", "t.db", "--on-error", "ignore", "l"], "skip or stop"),
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

    def test_hints_run_as_they_are_printed(self):
        """With a name that a shell has to read in quotes."""
        db = "t 'of' ours.db"
        self.init(db)
        self.run_tool("apply", "--db", db, "-", stdin=json.dumps({
            "accounts": [{"id": 1, "name": "a"}], "zones": [{"id": 101, "account": 1, "name": "z"}]}).encode())
        self.run_tool("ingest", "--db", db, self.write("a.log", lines(0, 5)))
        for name, content in (("an other.log", lines(5, 9)), ("-d.log", lines(9, 12)), ("-d 'x FILE .log.xz", lzma.compress(lines(12, 15))),
                              ("rows.xz", lzma.compress(b'{"zone": 101, "hour": "2026-10-04T05:00:00Z", "region": "DE", "bytes": 1}\n'))):
            self.write(name, content)
        self.run_tool("book", "--db", db, "-", stdin=json.dumps({
            "book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
            "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}).encode())
        self.run_tool("import", "--db", db, "-", stdin=json.dumps({
            "zone": 101, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10 ** 12}).encode())
        wrong = ("--format", "combined", "--zone", 101, "--region", "DE")
        for words, status, hint, then in (
                (["verify", "--db", "no 'such.db"], 3, "init", 0),
                (["book", "show", "--db", db, "none"], 2, "book list", 0),
                (["scenario", "show", "--db", db, "none"], 2, "scenario list", 0),
                (["key", "revoke", "--db", db, "--id", 9], 2, "key list", 0),
                (["invoice", "--db", db, "--month", "2026-10", "--finalize"], 0, "invoice", 1),
                (["ingest", "--db", db, *wrong, "an other.log"], 1, "query", 0),
                (["ingest", "--db", db, *wrong, "--", "-d.log"], 1, "ingest", 0),
                (["ingest", "--db", db, "--on-error", "skip", "--", "-d 'x FILE .log.xz"], 2, "ingest", 0),
                (["import", "--db", db, "rows.xz"], 2, "import", 0),
                (["ledger", "close", "--db", db, "--month", "2026-10"], 0, None, 0),
                (["ledger", "pay", "--db", db, "--account", 1, "--amount", 1, "--reference", "r"], 1, "ledger close", 0)):
            with self.subTest(words=words):
                now = "2026-10-30T09:00:00Z" if words[1] == "pay" else "2026-11-20T12:00:00Z"
                said = self.run_tool(*words, status=status, now=now).err
                found = HINT.findall(said)
                self.assertIn(f"tollbook {hint} " if hint else "", "".join(found), said)
                for line in found:
                    done = subprocess.run(["sh", "-c", line], capture_output=True, cwd=self.folder, text=True, timeout=60,
                                          env={**self.environment(), "PATH": f"{TOOL.parent}:{os.environ['PATH']}"})
                    self.assertEqual(done.returncode, then, f"{line}\n{done.stderr}")

    def test_hints_in_the_sources_are_command_lines(self):
        """What a message ends with behind ": tollbook " or a pipe has a command's name and its options, and leaves the place to
        server/cli/hint.c; a command that is only named is written without the word."""
        shown = {command: self.run_tool("help", *command.split()).out for command in
                 re.findall(r"^  (\w+(?: [\w-]+)?) {2,}", self.run_tool("help").out, re.M)}
        seen = 0
        for path in sorted([*SOURCE.glob("engine/**/*.c"), *SOURCE.glob("server/**/*.[ch]"), *SOURCE.glob("engine/**/*.h")]):
            text = re.sub(r'"\s*PRI\w+\s*("?)', lambda found: "X" + ("" if found[1] else '"'), path.read_text())
            text = re.sub(r'(?<!\\)"\s*\n\s*"', "", text)
            for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', text):
                for hint in re.findall(r"(?:^|: )tollbook ([a-z][^\n]*)" if path.name == "fit.h" else r"(?:: |\| )tollbook ([a-z][^\n]*)", literal):
                    name = max((c for c in shown if re.match(re.escape(c) + r"(?![\w-])", hint)), key=len, default=None)
                    if hint.startswith("help"):
                        continue
                    with self.subTest(path=path.name, hint=hint):
                        seen += 1
                        self.assertIsNotNone(name)
                        self.assertNotRegex(hint, r"--(db|server)\b|\.$")
                        given = re.findall(r"--([\w-]+)", hint)
                        for option in given:
                            self.assertIn(f"  --{option}", shown[name])
                        needed = re.findall(r"^  --([\w-]+).*\(required\)$", shown[name], re.M)
                        self.assertLessEqual(set(needed) - {"db"}, set(given))
        self.assertGreater(seen, 20)

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

    def test_systemd_is_told_once_it_follows(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            ready.bind(str(self.folder / "notify"))
            ready.settimeout(60)
            words = ["--server", "http://127.0.0.1:1", "--key", "0"]  # also while the server is away
            process = subprocess.Popen([TOOL, "follow", *words, "none.log"], stderr=subprocess.DEVNULL,
                                       env={**self.environment(), "NOTIFY_SOCKET": str(self.folder / "notify")}, cwd=self.folder)
            self.addCleanup(self.end, process)
            self.assertEqual(ready.recv(100), b"READY=1")
            process.terminate()
            self.assertEqual(process.wait(60), 0)


class Setup(Case):
    """tollbook setup: what is missing is made, a key is shown once, and a second call changes nothing."""

    def setup(self, db, *words, status=0, **more):
        done = self.run_tool("setup", "--db", db, *words, status=status, **more)
        done.left = (self.folder / f"{db}.first-key").exists()
        return done

    def keys(self, db):
        return [row.split("\t")[2] for row in self.run_tool("key", "list", "--db", db, "--format", "table").out.splitlines()[1:]]

    def opens(self, key, db):
        """Whether the key is an operator's, asked of a server."""
        process = self.start("serve", "--db", db, "--listen", "127.0.0.1:0", "--port-file", "port")
        self.wait_for(lambda: (self.folder / "port").exists())
        url = f"http://127.0.0.1:{(self.folder / 'port').read_text().strip()}"
        self.assertIn("has the role Operator", self.run_tool("setup", "--server", url, key=key).err)
        beside = self.setup(db)
        self.end(process)
        (self.folder / "port").unlink()
        return beside

    def test_a_new_database_has_a_key_that_is_shown_once(self):
        first = self.setup("new.db")
        self.assertRegex(first.out, r"^[0-9a-f]{48}\n$")
        for words in ("new.db is now an empty database", "GiB are free", "No pull zone is declared", "shown only once"):
            self.assertIn(words, first.err)
        self.assertFalse(first.left)
        second = self.setup("new.db")
        self.assertEqual((second.out, second.left), ("", False))
        self.assertIn(f"Key 1 ({first.out[:6]}..., made at ", second.err)
        self.assertEqual(self.keys("new.db"), ["Operator"])
        self.assertEqual(self.opens(first.out.strip(), "new.db").out, "")
        self.assertIn("\tsetup\t", self.run_tool("audit", "--db", "new.db", "--format", "table").out)
        self.run_tool("verify", "--db", "new.db")

    def test_a_service_leaves_the_key_and_it_is_shown_beside_it(self):
        made = self.setup("new.db", "--unattended")
        self.assertEqual((made.out, made.left), ("", True))
        self.assertIn("new.db.first-key until", made.err)
        file = self.folder / "new.db.first-key"
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        key = file.read_text()
        self.assertEqual(self.setup("new.db", "--unattended").err, "")
        self.write("other.db", "one that the server upgrades, or says what is wrong with it")
        self.assertEqual(self.setup("other.db", "--unattended").err, "")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([TOOL, "setup", "--db", "new.db"], stdout=full, stderr=subprocess.PIPE,
                                  env=self.environment(), cwd=self.folder)
        self.assertEqual(done.returncode, 3)
        self.assertIn(b"The key is still in", done.stderr)
        self.assertEqual(self.opens(key.strip(), "new.db").out, key)
        self.assertFalse(file.exists())
        self.assertEqual(self.setup("new.db").out, "")

    def test_of_two_first_calls_one_makes_the_key_and_the_other_says_so(self):
        for trial in range(6):
            db = f"{trial}.db"
            calls = [self.start("setup", "--db", db, stdout=subprocess.PIPE) for _ in range(2)]
            done = [(*map(bytes.decode, call.communicate(timeout=60)), call.returncode) for call in calls]
            self.assertEqual(len({out for out, _, _ in done if out}), 1, done)
            for out, err, status in done:
                if status == 3:
                    self.assertRegex(err, r"is being written by (setup \(process \d+\)|another process)\.")
                    self.assertIn("wait for it to end, then run this again", err)
                else:
                    self.assertEqual(status, 0, err)
                    self.assertRegex(err, "is the operator's key|has the role Operator|Another `setup` has shown the key")
            self.assertFalse((self.folder / f"{db}.first-key").exists())
            self.assertEqual(self.keys(db), ["Operator"])

    def test_a_database_that_was_cut_off_while_it_was_made_is_made(self):
        for size in (0, 4096):
            blank = sqlite3.connect(self.folder / "new.db")
            if size:
                blank.execute("PRAGMA journal_mode=WAL")
            blank.close()
            self.assertEqual((self.folder / "new.db").stat().st_size, size)
            said = self.run_tool("audit", "--db", "new.db", status=3).err
            self.assertIn("new.db is empty: it is being made, or has lost what it held. A new one is made with: tollbook init --db new.db", said)
            self.assertRegex(self.setup("new.db").out, r"^[0-9a-f]{48}\n$")
            (self.folder / "new.db").unlink()

    def test_a_file_that_is_not_the_databases_key_is_not_shown(self):
        file = self.folder / "t.db.first-key"
        self.write("t.db.first-key", "0" * 48 + "\n")
        file.chmod(0o600)
        shown = self.setup("t.db").out
        self.assertNotEqual(shown, "0" * 48 + "\n")
        self.assertRegex(shown, r"^[0-9a-f]{48}\n$")
        self.assertFalse(file.exists())
        self.write("elsewhere", shown)
        file.symlink_to(self.folder / "elsewhere")
        self.assertEqual(self.setup("t.db").out, "")
        self.assertTrue(file.is_symlink())

    def test_a_revoked_key_is_replaced_and_none_is_made_beside_a_server(self):
        self.setup("t.db")
        self.run_tool("key", "revoke", "--db", "t.db", "--id", "1")
        process = self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file", "port")
        self.wait_for(lambda: (self.folder / "port").exists())
        refused = self.setup("t.db", status=3)
        self.assertEqual((refused.out, refused.left), ("", False))
        self.assertIn(f"is being written by serve 127.0.0.1:{(self.folder / 'port').read_text().strip()}", refused.err)
        self.end(process)
        self.assertRegex(self.setup("t.db").out, r"^[0-9a-f]{48}\n$")

    def test_what_is_not_well_is_said(self):
        self.setup("t.db")
        self.write("log", lines(0, 3, edge="XX"))
        self.run_tool("ingest", "--db", "t.db", "log")
        self.assertIn('1 edge location is in usage and in no region of the catalogue, so without a price: "XX". Add it to "regions".',
                      self.setup("t.db").err)
        self.assertIn("The clock is behind, or was ahead: it is 2026-11-20T11:00:00Z, and usage was stored at 2026-11-20T12:00:00Z",
                      self.setup("t.db", now="2026-11-20T11:00:00Z").err)

    @unittest.skipUnless(os.geteuid() == 0, "root alone makes files of others")
    def test_another_users_database_is_named_with_the_way(self):
        (self.folder / "the irs").mkdir()
        os.chown(self.folder / "the irs", 65534, 65534)
        done = self.run_tool("setup", "--db", "the irs/t.db", status=3)
        self.assertIn("belongs to user 65534, and this is user 0. Run this as that user: runuser -u nobody -- "
                      "tollbook setup --db 'the irs/t.db'\n", done.err)
        self.assertEqual(list((self.folder / "the irs").iterdir()), [])
        os.chown(self.folder / "t.db", 65534, 65534)
        self.assertIn("t.db belongs to user 65534", self.run_tool("setup", "--db", "t.db", status=3).err)


if __name__ == "__main__":
    unittest.main()
