"""Nothing is acknowledged into a database that is gone: removed, renamed, replaced, without its -wal or
its -shm. Writing is refused with 503 and `store.gone`, /readyz says so, figures are not given, standard
error has one line; and what was acknowledged before is in the file that was open, whatever its name.
"""
import os
import shutil
import signal
import subprocess
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Server, hit, run

REST = ("", "-wal", "-shm")


def remove(server):
    server.db.unlink()


def rename(server):
    server.db.rename(server.path / "elsewhere.db")


def replace(server):
    shutil.copy(server.db, server.path / "copy.db")
    os.replace(server.path / "copy.db", server.db)


def replace_by_nothing(server):
    (server.path / "empty").touch()
    os.replace(server.path / "empty", server.db)


def move_folder(server):
    server.db.parent.rename(server.path / "elsewhere")


def remove_wal(server):
    Path(f"{server.db}-wal").unlink()


def replace_wal(server):
    shutil.copy(f"{server.db}-wal", server.path / "copy-wal")
    os.replace(server.path / "copy-wal", f"{server.db}-wal")


def remove_shm(server):
    Path(f"{server.db}-shm").unlink()


def remove_all(server):
    for end in (*REST, ".lock"):
        Path(f"{server.db}{end}").unlink()


def leads_to(link, target):
    try:
        return os.readlink(link) == target
    except FileNotFoundError:
        return False  # a connection that was closed meanwhile


# Each way, and the name under which the open file can be read once the server has ended.
WAYS = ((remove, None), (rename, "elsewhere.db"), (replace, None), (replace_by_nothing, None),
        (move_folder, "elsewhere/t.db"), (remove_wal, "home/t.db"), (replace_wal, "home/t.db"),
        (remove_shm, "home/t.db"), (remove_all, None))


class Gone(unittest.TestCase):
    def start(self):
        """A server whose database lies in a folder of its own, with some batches in its -wal."""
        server = Server(log=None)
        self.addCleanup(server.folder.cleanup)
        server.stop()
        (server.path / "home").mkdir()
        server.db.rename(server.path / "home" / "t.db")
        server.db = server.path / "home" / "t.db"
        server.start()
        self.addCleanup(lambda: server.process.poll() is None and server.stop(signal.SIGKILL))
        self.server, self.sent = server, 0
        for _ in range(3):
            self.assertEqual(self.post().status, 200)
        return server

    def post(self, count=10):
        body = b"".join(hit(101, self.sent + i) for i in range(count))
        answer = self.server.ask("POST", "/ingest/logs", "ingest", body)
        if answer.status == 200:
            self.sent += count
        return answer

    def refused(self, answer):
        self.assertEqual(answer.status, 503)
        self.assertEqual(answer.error, "store.gone")
        self.assertNotIn(str(self.server.path), answer.body.decode())

    def lines_about(self, text):
        return [line for line in self.server.messages().splitlines() if text in line]

    def stored(self, db):
        run("verify", "--db", db)
        return int(run("query", "--db", db, "SELECT sum(accepted) FROM segment").stdout.split()[-1])

    def test_nothing_is_acknowledged(self):
        for way, name in WAYS:
            with self.subTest(way.__name__):
                server = self.start()
                self.assertEqual(server.get("/readyz", None).status, 200)
                way(server)
                for _ in range(3):
                    self.refused(self.post())
                    self.refused(server.get("/readyz", None))
                    self.refused(server.get("/statistics"))
                self.refused(server.ask("POST", "/catalog", "operator", b"{}",
                                        Content_Type="application/json"))
                self.assertEqual(server.get("/healthz", None).status, 200)
                self.assertEqual(server.get("/metrics", None).status, 200)
                said = self.lines_about("store.gone")
                self.assertEqual(len(said), 1, server.messages())
                self.assertIn(f"{server.db}", said[0])
                self.assertRegex(said[0], "Put the same file back|start it again")
                if name:
                    self.assertEqual(server.stop(), 0)
                    self.assertEqual(self.stored(server.path / name), self.sent)

    def test_readiness_notices_it_alone(self):
        """Nobody writes: /readyz is asked, and figures are refused from then on."""
        server = self.start()
        self.assertEqual(server.get("/statistics").status, 200)
        rename(server)
        self.refused(server.get("/readyz", None))
        self.assertTrue(server.get("/readyz", None).json()["Message"].startswith("t.db was moved, removed or replaced"))
        self.refused(server.get("/statistics"))
        self.assertEqual(len(self.lines_about("store.gone")), 1)

    def test_the_same_file_put_back_is_written_again(self):
        server = self.start()
        for times in (1, 2):
            rename(server)
            self.refused(self.post())
            (server.path / "elsewhere.db").rename(server.db)
            self.assertEqual(server.get("/statistics").status, 200)
            self.assertEqual(self.post().status, 200)
            self.assertEqual(server.get("/readyz", None).status, 200)
            self.assertEqual(len(self.lines_about("store.gone")), times)
            self.assertEqual(len(self.lines_about("is back where it was")), times)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.stored(server.db), self.sent)

    def test_what_was_committed_is_in_the_file_before_the_server_ends(self):
        """The -wal is gone, and the server is killed: the look that met it moved everything out of it."""
        server = self.start()
        remove_wal(server)
        self.refused(self.post())
        server.stop(signal.SIGKILL)
        self.assertEqual(self.stored(server.db), self.sent)

    def test_a_removed_file_can_still_be_copied_out_of_the_process(self):
        """As docs/operate/backup.md says."""
        server = self.start()
        remove(server)
        self.refused(self.post())
        held = [fd for fd in Path(f"/proc/{server.process.pid}/fd").iterdir()
                if leads_to(fd, f"{server.db} (deleted)")]
        shutil.copy(held[0], server.path / "saved.db")
        self.assertEqual(self.stored(server.path / "saved.db"), self.sent)

    def test_a_restored_backup_is_served_after_a_restart(self):
        server = self.start()
        run("backup", "--db", server.db, "--to", server.path / "backup.db")
        backed_up = self.sent
        self.assertEqual(self.post().status, 200)
        os.replace(server.path / "backup.db", server.db)
        self.refused(self.post())
        run("ingest", "--db", server.db, "-", stdin=hit(101, 1), expect=3)  # the old one still runs
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.stored(server.db), backed_up)
        server.start()
        self.assertEqual(self.post().status, 200)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.stored(server.db), backed_up + 10)

    def test_a_command_that_writes_fails_too(self):
        """A long ingest whose database goes before it commits."""
        server = self.start()
        self.assertEqual(server.stop(), 0)
        pipe = server.path / "pipe"
        os.mkfifo(pipe)
        process = subprocess.Popen([TOLLBOOK, "ingest", "--db", server.db, pipe], env=ENVIRONMENT,
                                   stderr=subprocess.PIPE, stdout=subprocess.PIPE)
        with open(pipe, "wb") as feed:  # opens when it reads: the database is open then
            rename(server)
            feed.write(hit(101, 100000))
        _, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 3, errors)
        self.assertIn(b"removed or renamed", errors)
        self.assertEqual(self.stored(server.path / "elsewhere.db"), self.sent)


if __name__ == "__main__":
    unittest.main()
