"""Continuous backup of a running server, over HTTP and beside it: batches are posted while followers are killed and come
again, the server is started anew, and pieces are trimmed before they were read. The restored database has every
acknowledged batch."""
import random
import re
import signal
import sqlite3
import subprocess
import unittest

from harness import ENVIRONMENT, SOURCE, TOLLBOOK, Server, hit, random_seed, run
from script import LONG
from test_standby import Proxy

SEED = random_seed()
ROUNDS = 40 if LONG else 3


class Followed(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(SEED)
        self.server = Server("--replicas", log=None)
        self.addCleanup(self.server.close)
        self.folder = self.server.path
        self.d = self.folder / "d"
        self.key = self.folder / "replica.key"
        self.key.write_text(self.make_key())
        self.key.chmod(0o600)
        self.posted = 0

    def make_key(self):
        args = ("key", "create", "--server", self.server.url, "--account", 0, "--role", "Replica")
        done = subprocess.run([TOLLBOOK, *map(str, args)], capture_output=True, check=True,
                              env={**ENVIRONMENT, "TOLLBOOK_KEY": self.server.keys["operator"]})
        return done.stdout.decode().strip()

    def follow(self, *words):
        process = subprocess.Popen([TOLLBOOK, "backup", "--follow", self.d, *map(str, words)], stderr=subprocess.PIPE, env=ENVIRONMENT)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def remote(self, *words):
        return self.follow("--server", self.server.url, "--key-file", self.key, *words)

    def post(self, n=3):
        for _ in range(n):
            self.posted += 1
            answer = self.server.ask("POST", "/ingest/logs", "ingest", hit(101, self.posted))
            self.assertEqual(answer.status, 200, answer.body)

    def wait_for(self, process, text):
        said = b""
        for line in process.stderr:
            said += line
            if text in line:
                return said
        self.fail(said.decode())

    def end(self, process):
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(), 0, said)
        return said

    def restored(self):
        out = self.folder / "r.db"
        facts = dict(row.split(" ", 1) for row in run("restore", self.d, "--out", out).stdout.decode().splitlines())
        anchor = run("anchor", "--db", self.server.db).stdout.decode().split()[0]
        self.assertEqual(facts["anchor"], anchor, f"seed {SEED}")
        requests = run("query", "--db", out, "--format", "tsv", "SELECT sum(requests) FROM buckets").stdout.split()[-1]
        self.assertEqual(int(requests), self.posted)
        for path in self.folder.glob("r.db*"):
            path.unlink()
        return facts

    def test_followers_are_killed_and_come_again(self):
        for i in range(ROUNDS):
            process = self.remote() if i % 2 else self.follow("--db", self.server.db)
            if i == 0:
                self.wait_for(process, b"is a verified base")
            self.post()
            try:
                process.wait(timeout=self.random.random() * 0.2)
            except subprocess.TimeoutExpired:
                process.send_signal(self.random.choice((signal.SIGKILL, signal.SIGTERM)))
            process.wait()
        process = self.remote()
        self.wait_for(process, b"goes on behind")
        self.post()
        self.assertIn("has all up to piece", self.end(process))
        self.restored()

    def test_a_server_that_is_away_and_one_that_keeps_too_little(self):
        process = self.remote()
        self.wait_for(process, b"is a verified base")
        self.post()
        self.server.stop()
        self.wait_for(process, b"Check the URL and that the server runs")
        self.server.start("--replicas")
        self.wait_for(process, b"Pieces come again")
        self.post()
        self.end(process)
        self.assertEqual(len(list(self.d.glob("base-*"))), 1)
        self.restored()
        # The server forgets pieces while nobody follows: what was never copied is named, and a base begins anew.
        self.server.stop()
        self.server.start()
        self.post()
        self.server.stop()
        with sqlite3.connect(self.server.db) as db:
            db.execute("DELETE FROM piece WHERE id<(SELECT max(id) FROM piece)")
        db.close()
        self.server.start()
        process = self.remote()
        said = self.wait_for(process, b"is a verified base").decode()
        self.assertIn("A new base is made.", said)
        self.post()
        self.end(process)
        self.restored()

    def test_the_page_by_its_own_words(self):
        page = (SOURCE / "docs/operate/backup.md").read_text()
        section = page[page.index("## Continuous backup"):page.index("## Verify")]
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", section, re.M | re.S)
        tools = self.folder / "bin"
        tools.mkdir()
        for name, text in (("tollbook", f'exec "{TOLLBOOK}" "$@"'), ("rclone", 'echo "$@" >> rclone.log'),
                           ("date", '[ "$*" = "-d yesterday 14:05 +%Y-%m-%dT%H:%M:%S%:z" ] && echo 2026-11-04T10:00:00+01:00')):
            (tools / name).write_text(f"#!/bin/sh\n{text}\n")
            (tools / name).chmod(0o755)
        ship = self.folder / "ship"
        ship.write_text(next(text for kind, text in blocks if kind == "sh"))
        ship.chmod(0o755)
        self.post()
        for kind, text in blocks:
            if kind:
                continue
            for old, new in (("/var/lib/tollbook/tollbook.db", str(self.server.db)), ("/backup/tollbook", "d"),
                             ("https://tollbook.example.net", self.server.url),
                             ("--follow", f"--once --after-file {ship} --follow")):
                text = text.replace(old, new)
            done = subprocess.run(["sh", "-e"], input=text.encode(), capture_output=True, cwd=self.folder, check=False,
                                  env={**ENVIRONMENT, "PATH": f"{tools}:{ENVIRONMENT['PATH']}", "TOLLBOOK_KEY": self.server.keys["operator"]})
            self.assertEqual(done.returncode, 0, text + done.stderr.decode())
            self.post()
        facts = [row.split()[0] for row in done.stdout.decode().splitlines()]
        shown = next(text for kind, text in blocks if kind == "console")
        self.assertEqual(facts, [row.split()[0] for row in shown.splitlines()])
        run("verify", "--db", self.folder / "restored.db")
        sent = (self.folder / "rclone.log").read_text()
        self.assertRegex(sent, r"^copyto d/base-\S+\.db store:tollbook/base-\S+\.db\n(copyto d/pieces-\S+\.tbp store:tollbook/pieces-\S+\.tbp\n)+$")

    def test_a_base_that_is_cut_off_goes_on(self):
        self.server.ask("POST", "/ingest/logs", "ingest", b"".join(hit(z, z % 600, z) for z in range(1000, 5000)))
        self.posted += 4000
        sent, cut = [0], []
        proxy = Proxy(self.server.port)
        self.addCleanup(proxy.close)

        def change(data):
            """Cuts each of the first three answers off after 200,000 bytes."""
            sent[0] += len(data)
            if len(cut) < 3 and sent[0] > 200000:
                cut.append(sent[0])
                sent[0] = 0
                return None
            return data

        proxy.change = change
        process = self.follow("--server", proxy.url, "--key-file", self.key, "--once")
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(), 0, said)
        self.assertEqual((len(cut), said.count("It goes on from there.")), (3, 3), said)
        size = next(self.d.glob("base-*")).stat().st_size
        self.assertLess(sent[0], size - 200000, "the last answer had the whole base")
        self.restored()

    def test_what_a_server_refuses(self):
        self.key.write_text(self.server.keys["user"])
        process = self.remote("--once")
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(), 3)
        self.assertIn(f"{self.server.url}: It answers 403: ", said)


unittest.main()
