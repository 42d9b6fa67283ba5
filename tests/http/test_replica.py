"""The primary's side of replication: the stream of pieces, bases to begin with, and how it stands. A copy is made of what
the server sends alone, and has the same content."""
import json
import os
import re
import subprocess
import struct
import sys
import threading
import unittest

from harness import BUILD, PATIENCE, SOURCE, Case, Server, hit, run

sys.path.insert(0, str(SOURCE / "tests/fault"))
from tables import content  # noqa: E402

REPLAY = BUILD / "tests/fault/replay"
HEAD = struct.Struct("<8s5q32s")
ME = "b-1.example; promotable"


def pieces_of(body):
    """[(number, chain)] of whole pieces, and nothing else."""
    found, at = [], 0
    while at < len(body):
        magic, number, epoch, _, _, length, chain = HEAD.unpack_from(body, at)
        assert magic == b"tbpiece1" and epoch == 1, (magic, epoch)
        found.append((number, chain))
        at += HEAD.size + length
    assert at == len(body)
    return found


class Replicas(Case):
    options = ("--replicas",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        for role in ("Replica", "Finance"):
            cls.server.keys[role] = cls.server.make_key(0, role)
        cls.server.start(*cls.options)

    def pieces(self, after, wait=0, key="Replica", **headers):
        answer = self.server.get(f"/replica/pieces?after={after}&wait={wait}", key, **headers)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-type"], "application/octet-stream")
        return answer.body

    def status(self, key="Replica"):
        return self.server.get("/replica/status", key).json()

    def post(self, second, n=1):
        body = b"".join(hit(101, second, 500 + i) for i in range(n))
        answer = self.server.ask("POST", "/ingest/logs", "ingest", body)
        self.assertEqual(answer.status, 200, answer.body)

    def copy_of(self, base, stream):
        copy = self.server.path / "copy.db"
        copy.write_bytes(base)
        bytes_ = self.server.path / "pieces"
        bytes_.write_bytes(stream)
        subprocess.run([REPLAY, "apply", copy, bytes_], check=True, timeout=60)
        return copy

    # --- the stream ---

    def test_a_base_and_the_pieces_after_it_are_the_same_database(self):
        base = self.server.get("/replica/base", "Replica")
        self.assertEqual(base.status, 200)
        first = int(base.headers["tollbook-piece"])
        goal, parts = [], []

        def follow():
            last = first
            while not goal or last < goal[0]:
                parts.append(self.pieces(last, 60, Tollbook_Replica=ME))
                last = pieces_of(parts[-1])[-1][0]

        following = threading.Thread(target=follow)
        following.start()
        for i in range(12):
            self.post(2000 + i, 50)
        for _ in range(3):  # more than the server reads at a time for one answer
            body = b"".join(hit(101, 2050).replace(b"0" * 32, os.urandom(16).hex().encode()) for _ in range(12000))
            self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", body).status, 200)
        goal.append(self.status()["piece"] + 1)
        self.post(2100)
        following.join(PATIENCE)
        stream, last = b"".join(parts), goal[0]
        self.assertEqual(self.pieces(first), stream)
        self.assertGreater(len(stream), 2 << 18)
        found = pieces_of(stream)
        self.assertEqual([number for number, _ in found], list(range(first + 1, last + 1)))
        self.assertEqual(found[-1][1].hex(), self.status()["digest"])
        copy = self.copy_of(base.body, stream)
        ours, theirs = content(self.server.db, ("piece",)), content(copy, ("piece",))
        self.assertEqual([name for name in ours if ours[name] != theirs.get(name)], [])
        ours = run("replica", "status", "--db", self.server.db).stdout
        self.assertEqual(run("replica", "status", "--db", copy).stdout, ours.replace(b"primary", b"standby"))
        run("verify", "--db", copy)

    def test_who_waits_is_answered_by_the_next_commit_or_by_its_time(self):
        last = self.status()["piece"]
        wires = [self.server.wire() for _ in range(40)]  # many more than the server's two workers
        for wire in wires:
            wire.send(f"GET /replica/pieces?after={last}&wait=60 HTTP/1.1\r\nHost: t\r\nAccessKey: "
                      f"{self.server.keys['Replica']}\r\n\r\n".encode())
        self.assertEqual(self.pieces(last, 1), b"")  # its time is over; the others wait on, and all else is answered
        self.post(3000)
        for wire in wires:
            wire.sock.settimeout(30)  # before the wait's own end, which would find the piece too
            self.assertEqual(pieces_of(wire.read().body)[0][0], last + 1)
            wire.sock.close()

    def test_a_stop_ends_the_waits(self):
        server = Server("--replicas")
        try:
            with server.wire() as wire:
                last = server.get("/replica/status", "operator").json()["piece"]
                wire.send(f"GET /replica/pieces?after={last}&wait=60 HTTP/1.1\r\nHost: t\r\nAccessKey: {server.keys['operator']}\r\n\r\n"
                          .encode())
                server.ask("GET", "/healthz")
                self.assertEqual(server.stop(), 0)
                answer = wire.read()
                self.assertEqual((answer.status, answer.body), (200, b""))
        finally:
            server.close()

    def test_pieces_stay_over_a_restart_and_are_trimmed_to_their_size(self):
        before = self.status()
        self.server.stop()
        self.server.start("--replicas", "--replica-keep", "7d", "--replica-keep", "1kB")
        try:
            self.assertEqual(self.server.messages().count("replication of"), 1)  # said when it began, and no more
            self.assertEqual({**self.status(), "standbys": []}, {**before, "standbys": []})
            while self.server.get("/replica/pieces?after=1", "Replica").status == 200:
                pass  # until a step of the periodic task has trimmed it
            kept = run("replica", "status", "--format", "table", "--db", self.server.db).stdout.decode()
            first, size = map(int, re.search(r"pieces (\d+) to \d+, (\d+) bytes", kept).groups())
            self.assertLess(size, 4000, kept)  # the piece that reaches over the limit is kept whole
            self.assertGreater(first, 2)
        finally:
            self.server.stop()
            self.server.start(*self.options)
        self.refused(self.server.get("/replica/pieces?after=1", "Replica"), 410, "replica.gone", "after")

    def test_what_was_never_there_is_gone_too(self):
        self.refused(self.server.get(f"/replica/pieces?after={self.status()['piece'] + 1}", "Replica"), 410, "replica.gone")

    def test_bad_questions(self):
        for query, field in (("", "after"), ("?after=-1", "after"), ("?after=x", "after"), ("?after=1&wait=61", "wait"),
                             ("?after=1&wait=-1", "wait")):
            self.refused(self.server.get(f"/replica/pieces{query}", "Replica"), 400, "validation_error", field)
        for name in ("a b", "x" * 65, "a; primary", ";", "a;promotable "  "x", "a;", "a; promotable;", "; promotable",
                     "a; url=ftp://b", "a; url=", "a; url=http://", "a; url=http://b/'", "a; url=http://" + "b" * 200, "a; schema=x",
                     "a; schema=", "a; schema=1234567", "a; promotable; more=1"):
            self.refused(self.server.get("/replica/pieces?after=1", "Replica", Tollbook_Replica=name), 400, "validation_error",
                         "Tollbook-Replica")

    # --- bases ---

    def test_a_download_that_was_cut_off_goes_on(self):
        base = self.server.get("/replica/base", "Replica")
        tag, half = base.headers["etag"], len(base.body) // 2
        rest = self.server.get("/replica/base", "Replica", Range=f"bytes={half}-", If_Range=tag)
        self.assertEqual((rest.status, rest.headers["etag"]), (206, tag))
        self.assertRegex(base.headers["tollbook-hash"], "^[0-9a-f]{32}$")
        self.assertEqual(rest.headers["tollbook-hash"], base.headers["tollbook-hash"])
        self.assertEqual(rest.headers["content-range"], f"bytes {half}-{len(base.body) - 1}/{len(base.body)}")
        self.assertEqual(rest.headers["content-length"], str(len(base.body) - half))
        self.assertEqual(base.body[:half] + rest.body, base.body)
        for headers in ({"Range": f"bytes={half}-"}, {"Range": f"bytes={half}-", "If_Range": '"other"'},
                        {"Range": f"bytes={len(base.body)}-", "If_Range": tag}, {"Range": "bytes=-5", "If_Range": tag}):
            whole = self.server.get("/replica/base", "Replica", **headers)
            self.assertEqual((whole.status, len(whole.body)), (200, len(base.body)), headers)
        self.assertEqual([path.name for path in self.server.path.iterdir() if ".base" in path.name], [])

    # --- who may, and who follows ---

    def test_the_role_opens_the_stream_and_nothing_else(self):
        for path in ("/replica/pieces?after=1", "/replica/base", "/replica/status"):
            self.refused(self.server.get(path, "user"), 403, "authorization.forbidden")
            self.refused(self.server.get(path, None), 401, "authentication.failed")
        self.refused(self.server.get("/replica/pieces?after=1", "Finance"), 403, "authorization.forbidden")
        self.assertEqual(self.status("Finance")["role"], "primary")
        for path in ("/keys", "/operations", "/billing?account=1", "/statistics"):
            self.refused(self.server.get(path, "Replica"), 403, "authorization.forbidden")
        self.assertIn(b"account 0", run("key", "create", "--server", self.server.url, "--key", self.server.keys["operator"],
                                        "--account", 1, "--role", "Replica", expect=2).stderr)

    def test_followers_are_listed_with_what_they_have(self):
        last = self.status()["piece"]
        self.post(5000)
        self.pieces(last, Tollbook_Replica="behind")
        self.pieces(last + 1, Tollbook_Replica=ME)
        listed = {one["name"]: one for one in self.status()["standbys"]}
        self.assertEqual(listed["behind"], {"name": "behind", "promotable": False, "piece": last, "lag_ms": 0})
        self.assertEqual(listed["b-1.example"], {"name": "b-1.example", "promotable": True, "piece": last + 1, "lag_ms": 0})
        shown = run("replica", "status", "--format", "table", "--server", self.server.url, "--key", self.server.keys["operator"])
        self.assertIn("read replica", re.search(r"^behind.*", shown.stdout.decode(), re.M).group())
        for i in range(40):
            self.pieces(last + 1, Tollbook_Replica=f"many-{i}")
        self.assertEqual(len(self.status()["standbys"]), 32 + 1)  # and the one that is promotable
        self.assertNotIn("behind", [one["name"] for one in self.status()["standbys"]])

    def test_metrics_say_how_it_stands(self):
        last = self.status()["piece"]
        self.pieces(last, Tollbook_Replica="one")
        text = self.server.get("/metrics").body.decode()
        self.assertIn(f"tollbook_replica_piece {last}\n", text)
        for line in (r"tollbook_replica_epoch 1", r'tollbook_replica_role\{role="primary"\} 1', r"tollbook_replica_followers \d+",
                     r"tollbook_replica_bytes_kept [1-9]\d+", r'tollbook_replica_follower_lag_seconds\{name="one"\} 0\.000'):
            self.assertRegex(text, rf"(?m)^{line}$")

    def test_off_is_not_for_a_served_file(self):
        self.assertIn(b"stop it", run("replica", "off", "--server", self.server.url, "--key", self.server.keys["operator"],
                                      expect=2).stderr)
        run("replica", "off", "--db", self.server.db, expect=3)


class Off(Case):
    def test_without_replicas_there_is_none(self):
        for path in ("/replica/pieces?after=0", "/replica/base", "/replica/status"):
            self.refused(self.server.get(path, "operator"), 404, "replica.off")
        run("replica", "status", "--db", self.server.db, expect=2)

    def piece_of(self, db):
        return json.loads(run("replica", "status", "--db", db).stdout)["piece"]

    def test_commands_make_pieces_until_it_is_off(self):
        server = Server("--replicas", "--replica-keep", "1h")
        try:
            self.assertIn("replication of", server.messages())
            server.stop()
            before = self.piece_of(server.db)
            server.make_key(1, "User")
            self.assertEqual(self.piece_of(server.db), before + 1)
            run("replica", "off", "--db", server.db)
            server.start()
            self.refused(server.get("/replica/status", "operator"), 404, "replica.off")
        finally:
            server.close()

    def test_bad_times_and_sizes(self):
        for text in ("24", "h", "0h", "10GiB", "1x", "99999999999d"):
            self.assertIn(b"24h", run("serve", "--db", self.server.db, "--replica-keep", text, expect=2).stderr)


if __name__ == "__main__":
    unittest.main()
