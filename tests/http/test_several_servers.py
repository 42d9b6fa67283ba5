#!/usr/bin/env python3
"""--server with several URLs: commands find the primary, whichever they ask first, and go on when it changes. What a failover cuts
off is sent again and counts once; what may not be sent twice is not."""
import json
import random
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import ENVIRONMENT, TOLLBOOK, hit, random_seed, run
from follower import Follower, Writer, stored, taken, until
from test_standby import Primary, Proxy, Standby, level

SEED = random_seed()
ROWS = b'{"zone":101,"region":"DE","hour":"2026-11-03T10:00:00Z","requests":10,"bytes":2500}\n'


class Pair(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-several-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.primary = Primary(log=None)
        self.standby = Standby(self.primary, "--promotable")
        level(self.standby)
        self.addCleanup(self.end)

    def end(self):
        for server in (self.primary, self.standby):
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
            server.log_file.close()
            server.folder.cleanup()

    def kill_primary(self):
        self.primary.process.kill()
        self.primary.process.wait()

    def promote(self):
        run("promote", "--db", self.standby.db)

    def command(self, *words, key="ingest", servers=None):
        """A command that is started; the primary is named last."""
        path = self.folder / f"key-{key}"
        path.write_text(self.primary.keys[key] + "\n")
        path.chmod(0o600)
        servers = servers or (self.standby.url, self.primary.url)
        return subprocess.Popen([TOLLBOOK, *map(str, words), "--server", ",".join(servers), "--key-file", path],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)

    def does(self, *words, status=0, **more):
        out, said = (command := self.command(*words, **more)).communicate()
        self.assertEqual(command.returncode, status, out + said)
        return out + said

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return path


class Commands(Pair):
    def test_what_writes_goes_to_the_primary(self):
        log = self.file("access.log", hit(101) + hit(102))
        self.does("ingest", log)
        self.does("import", self.file("rows", ROWS))
        self.does("ingest", log)  # nothing is new
        self.assertEqual(stored(self.primary.db), ({101: 11, 102: 1}, {101: 3500, 102: 1000}))
        self.does("key", "create", "--account", "1", "--role", "User", key="operator")
        self.assertIn("standby", self.does("replica", "status", key="operator"), "what only reads is answered by the first")

    def test_a_batch_that_is_cut_off_counts_once(self):
        """The primary took it, and its answer is lost."""
        for words in (("import", self.file("rows", ROWS)), ("import", self.file("more", ROWS + ROWS), "--batch", "b"),
                      ("ingest", self.file("access.log", hit(201)))):
            proxy = Proxy(self.primary.port)
            proxy.change = lambda data: None if b"accepted" in data else data
            self.does(*words, servers=(proxy.url, self.primary.url))
            proxy.socket.close()
        self.assertEqual(stored(self.primary.db), ({101: 30, 201: 1}, {101: 7500, 201: 1000}))

    def test_what_may_be_done_is_not_sent_again(self):
        proxy = Proxy(self.primary.port)
        proxy.change = lambda data: None
        before = run("key", "list", "--db", self.primary.db).stdout.count(b'"Hint"')
        said = self.does("key", "create", "--account", "1", "--role", "User", key="operator", status=3,
                         servers=(proxy.url, self.primary.url))
        self.assertIn("It was sent, and may be done", said)
        proxy.socket.close()
        self.assertEqual(run("key", "list", "--db", self.primary.db).stdout.count(b'"Hint"'), before + 1)

    def test_addresses(self):
        """Each is checked; a path before the API and a slash at the end may be there."""
        for servers, means in ((("http://a", "b"), "takes a URL"), (("http://a", ""), "takes a URL"),
                               (["http://a"] * 9, "takes a URL"), (["http://127.0.0.1:1"] * 2, "Check the URL")):
            self.assertIn(means, self.does("ingest", self.file("access.log", hit(101)), servers=servers,
                                           status=3 if "127" in servers[0] else 2))
        self.does("ingest", self.file("access.log", hit(101)), servers=(self.standby.url + "/", self.primary.url + "//"))

    def test_a_command_waits_for_the_new_primary(self):
        self.kill_primary()
        command = self.command("ingest", self.file("access.log", hit(101) + hit(102)))
        said = command.stderr.readline()
        self.assertRegex(said, r"The servers of --server are asked again in 1 second: \d tr\w+ \w+ left")
        self.promote()
        out, more = command.communicate()
        self.assertEqual(command.returncode, 0, said + out + more)
        self.assertEqual(stored(self.standby.db), ({101: 1, 102: 1}, {101: 1000, 102: 1000}))


class Console(Pair):
    def test_a_standby_says_where_changes_are_made(self):
        """And offers none itself, so that the page has no forms for them."""
        def session(server):
            return server.ask("POST", "/console/session", None, json.dumps({"key": self.primary.keys["operator"]}).encode(),
                              X_Tollbook_Console="1", Content_Type="application/json").json()
        here, there = session(self.standby), session(self.primary)
        self.assertEqual((here["primary"], here["changes"]), (self.primary.url, []))
        self.assertIsNone(there["primary"])
        self.assertIn("key create", there["changes"])
        self.assertEqual(here["offers"], there["offers"])
        self.promote()
        self.assertEqual({**session(self.standby), "now": there["now"]}, there)


class Follow(Pair):
    def ships(self, lost):
        """kill -9 of the primary under a follower. lost: the last lines that the primary acknowledged are not on the standby."""
        rng = random.Random(SEED)
        logs = self.folder / "logs"
        logs.mkdir()
        writer = Writer(logs, rng)
        follower = Follower(f"{self.primary.url},{self.standby.url}", logs / "access.log*", key=self.primary.keys["ingest"],
                            folder=self.folder).start()
        self.addCleanup(follower.close)
        self.addCleanup(writer.close)
        writer.put(rng.randrange(100, 300))
        until(lambda: sum(taken(self.primary.db)) >= writer.lines, follower.messages)
        writer.rotate()
        writer.put(rng.randrange(100, 300))
        if lost:
            level(self.standby)
            self.standby.process.send_signal(signal.SIGSTOP)
            writer.put(rng.randrange(1, 100))
            until(lambda: sum(taken(self.primary.db)) >= writer.lines, follower.messages)
        self.kill_primary()
        if lost:
            self.standby.process.send_signal(signal.SIGCONT)
        writer.put(rng.randrange(100, 300))
        until(lambda: follower.messages(), "it says nothing")
        self.promote()
        writer.put(rng.randrange(1, 100))
        until(lambda: sum(taken(self.standby.db)) >= writer.lines,
              lambda: f"{taken(self.standby.db)} of {writer.lines}\n{follower.messages()}")
        self.assertEqual(follower.stop(), 0)
        self.assertEqual(stored(self.standby.db), (dict(writer.written), dict(writer.bytes)))
        self.assertEqual(taken(self.standby.db), (writer.lines, 0))
        self.assertIn(f"{self.standby.url} answers now", follower.messages())
        run("verify", "--db", self.standby.db)

    def test_goes_on_with_the_new_primary(self):
        self.ships(lost=False)

    def test_sends_again_what_was_lost_with_the_primary(self):
        self.ships(lost=True)


if __name__ == "__main__":
    unittest.main()
