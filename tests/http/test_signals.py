"""Signals of a running server: SIGHUP reopens the access log and reads secrets and token keys
again, each whole or not at all; SIGUSR1 prints a line; SIGTERM drains (test_serve.py has more of
it). And what an operator watches: figures of the process and the disk, the age of the last backup
and of the last verify, and who may ask for them.
"""
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

from harness import ENVIRONMENT, NOW, PATIENCE, TOLLBOOK, Case, Server, run, together

TOKEN_ROUTE = "/v2/pullzones/101/logs?limit=1"
SECRETS = [letter * 64 for letter in "abc"]


class Hupped(unittest.TestCase):
    def setUp(self):
        self.server = None

    def tearDown(self):
        if self.server:
            self.server.close()

    def file(self, name, text, mode=0o600):
        path = self.server.path / name
        path.write_text(text)
        path.chmod(mode)
        return path

    def begin(self, **files):
        """Starts with these options, each a file of its name with a first text (None: none yet)."""
        self.server = Server()
        self.server.stop()
        words = []
        for option, text in files.items():
            path = self.server.path / option
            if text is not None:
                self.file(option, text)
            words += ["--" + option.replace("_", "-"), path]
        self.server.start(*words)
        return self.server

    def signal(self, number, expected):
        """Sends it; returns the lines it made on standard error, up to one with `expected`."""
        server = self.server
        before = len(server.messages())
        server.process.send_signal(number)
        end = time.monotonic() + PATIENCE
        while True:
            new = server.messages()[before:]
            if expected in new and new.endswith("\n"):
                return [re.sub(rf"^{NOW[:-1]}\.000Z (info|warning) ", "", line) for line in new.splitlines()]
            if server.process.poll() is not None or time.monotonic() > end:
                self.fail(f"no {expected!r} in {new!r}")
            time.sleep(0.005)

    def hup(self):
        return self.signal(signal.SIGHUP, "SIGHUP: reloaded ")

    # --- the access log ---

    def lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def wait_for_lines(self, path, n):
        end = time.monotonic() + PATIENCE
        while path.read_bytes().count(b"\n") < n:
            self.assertLess(time.monotonic(), end, path.read_text())
            time.sleep(0.005)
        return self.lines(path)

    def test_the_next_line_goes_to_the_new_file(self):
        server = self.begin(access_log=None)
        log, aside = server.path / "access_log", server.path / "access_log.1"
        server.get("/healthz", None)
        log.rename(aside)
        server.get("/region", None)  # still to the old one, under its new name
        self.wait_for_lines(aside, 2)  # a line is written once its answer is sent
        self.assertEqual(self.hup(), ["tollbook serve: SIGHUP: reloaded the access log"])
        server.get("/readyz", None)
        self.assertEqual([line["path"] for line in self.wait_for_lines(log, 1)], ["/readyz"])
        self.assertEqual([line["path"] for line in self.lines(aside)], ["/healthz", "/region"])
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)

    def test_no_line_is_lost_or_torn_while_it_is_renamed_under_load(self):
        server = self.begin(access_log=None)
        log, n, files = server.path / "access_log", 400, []
        done = threading.Event()

        def ask(i):
            with server.wire() as wire:
                for k in itertools.count():
                    if k >= n and len(files) > 2:
                        return k
                    wire.ask("GET", f"/none/{i}/{k}")

        def rotate():
            while not done.is_set():
                aside = server.path / f"aside.{len(files)}"
                log.rename(aside)
                files.append(aside)
                self.hup()

        turner = threading.Thread(target=rotate)
        turner.start()
        try:
            counts = together(4, ask)
        finally:
            done.set()
            turner.join()
        server.stop()
        paths = [line["path"] for file in [*files, log] for line in self.lines(file)]
        asked = [f"/none/{i}/{k}" for i, count in enumerate(counts) for k in range(count)]
        self.assertEqual(sorted(paths), sorted(asked))
        server.start()

    def test_a_log_that_cannot_be_opened_leaves_the_old_one(self):
        server = self.begin(access_log=None)
        log, aside = server.path / "access_log", server.path / "aside"
        for make in (log.mkdir, lambda: os.mkfifo(log), lambda: log.symlink_to(log)):
            log.rename(aside)
            make()
            before = len(self.lines(aside))
            said = self.hup()
            self.assertEqual(len(said), 2, said)
            self.assertIn(f"the access log stays as it was: {log}: ", said[0])
            self.assertTrue(said[1].endswith("reloaded nothing"), said)
            server.get("/region", None)
            self.assertEqual(self.wait_for_lines(aside, before + 1)[-1]["path"], "/region")
            if log.is_dir():
                log.rmdir()
            else:
                log.unlink()
            aside.rename(log)
        self.hup()
        server.get("/healthz", None)
        self.wait_for_lines(log, 4)

    def test_nothing_to_reload(self):
        self.server = Server("--access-log", "-")
        self.assertEqual(self.hup(), ["tollbook serve: SIGHUP: reloaded nothing"])

    # --- token keys and secrets ---

    def token(self, text):
        """A token under the secret of this text, as another issuer would make it."""
        path = self.file("issuer", text)
        done = run("token", "--token-key", path, "--account", 1, "--role", "User")
        return {"Authorization": "Bearer " + done.stdout.decode().strip()}

    def taken(self, wire, token):
        return wire.ask("GET", TOKEN_ROUTE, token).status == 200

    def test_token_keys_are_read_again(self):
        server = self.begin(token_key=SECRETS[0])
        old, new = self.token(SECRETS[0]), self.token(SECRETS[1])
        with server.wire() as wire, server.wire() as other:
            for each in (wire, other, wire, other):  # connections of both workers
                self.assertTrue(self.taken(each, old))
                self.assertFalse(self.taken(each, new))
            self.file("token_key", SECRETS[1])
            self.assertTrue(self.taken(wire, old))  # not before the signal
            self.assertEqual(self.hup(), ["tollbook serve: SIGHUP: reloaded the token key"])
            for each in (wire, other):
                self.assertFalse(self.taken(each, old))
                self.assertTrue(self.taken(each, new))

    def test_bad_files_keep_what_was_in_force(self):
        server = self.begin(token_key=SECRETS[0], secret_file=SECRETS[0], access_log=None)
        token = self.token(SECRETS[0])
        shown = server.ask("POST", "/keys", "operator", b'{"Account":1}',
                           Content_Type="application/json").json()["Key"]
        for name, what in (("token_key", "the token key"), ("secret_file", "the secret file")):
            path, other = server.path / name, {"token_key", "secret_file"} - {name}
            rest = {"token_key": "the token key", "secret_file": "the secret file"}[other.pop()]
            for spoil in (path.unlink, lambda: path.write_text("too short\n"),
                          lambda: path.write_text("x" * 70000), lambda: path.write_text(""),
                          lambda: (path.unlink(), path.mkdir()),
                          lambda: (path.rmdir(), os.mkfifo(path))):
                spoil()
                said = self.hup()
                self.assertEqual(len(said), 2, said)
                self.assertIn(f"SIGHUP: {what} stays as it was: ", said[0])
                self.assertIn(str(path), said[0])
                self.assertTrue(said[1].endswith(f": reloaded the access log, {rest}"), said)
                with server.wire() as wire:
                    self.assertTrue(self.taken(wire, token), said)
                keys = [key["Key"] for key in server.get("/apikey").json()["Items"]]
                self.assertIn(shown, keys)
            path.unlink()
            self.file(name, SECRETS[0])
        self.assertEqual(len(self.hup()), 1)

    def test_the_secret_is_read_again(self):
        server = self.begin(secret_file=SECRETS[0])

        def make():
            return server.ask("POST", "/keys", "operator", b'{"Account":1}',
                              Content_Type="application/json").json()["Key"]

        def shown():
            return {key["Key"] for key in server.get("/apikey").json()["Items"]}

        first = make()
        self.assertIn(first, shown())
        self.file("secret_file", SECRETS[1])
        self.assertEqual(self.hup(), ["tollbook serve: SIGHUP: reloaded the secret file"])
        self.assertNotIn(first, shown())  # sealed under the other one: masked, and valid
        self.assertEqual(server.get("/statistics", first).status, 200)
        second = make()
        self.assertIn(second, shown())
        self.file("secret_file", SECRETS[0])
        self.hup()
        self.assertIn(first, shown())
        self.assertNotIn(second, shown())

    def test_an_open_file_is_warned_of_again(self):
        self.begin(secret_file=SECRETS[0])
        self.file("secret_file", SECRETS[1], mode=0o644)
        said = self.hup()
        self.assertIn("Warning: others may read", said[0])

    def test_requests_under_way_see_one_key_or_the_other(self):
        """Clients ask without a pause while the key changes to and fro: no answer but 200, 403 and
        429 (of the logs' own limit), and the sanitizers have nothing to say."""
        server = self.begin(token_key=SECRETS[0], secret_file=SECRETS[0])
        tokens = [self.token(text) for text in SECRETS[:2]]
        done, statuses = threading.Event(), set()

        def ask(i):
            with server.wire() as wire:
                while not done.is_set():
                    statuses.add(wire.ask("GET", TOKEN_ROUTE, tokens[i % 2]).status)
                    statuses.add(wire.ask("GET", "/apikey",
                                          {"AccessKey": server.keys["user"]}).status)

        def change(_):
            for k in range(30):
                for name in ("token_key", "secret_file"):
                    self.file("new", SECRETS[k % 2]).rename(server.path / name)
                self.assertEqual(len(self.hup()), 1)
            done.set()

        together(5, lambda i: change(i) if i == 4 else ask(i))
        self.assertLessEqual(statuses, {200, 403, 429})
        self.assertIn(200, statuses)

    # --- SIGUSR1 ---

    def status(self):
        said = self.signal(signal.SIGUSR1, "status ")
        self.assertEqual(len(said), 1, said)
        self.assertTrue(said[0].startswith("tollbook serve: status version="), said)
        return dict(pair.split("=") for pair in said[0].split("status ")[1].split(" "))

    def test_a_line_of_status(self):
        server = self.begin(access_log=None)
        first = self.status()
        self.assertEqual((first["commit_age_s"], first["backup_age_s"], first["verify_age_s"]),
                         ("-", "-", "-"))
        for _ in range(3):
            server.get("/region", None)
        run("backup", "--db", server.db, "--to", server.path / "copy.db")
        self.assertEqual(server.ask("POST", "/ingest/logs", "ingest", b"").status, 200)
        with server.wire() as wire:
            wire.ask("GET", "/healthz")
            end = time.monotonic() + PATIENCE
            while int((status := self.status())["requests"]) < 5:  # counted once they are sent
                self.assertLess(time.monotonic(), end)
        self.assertEqual(list(status), list(first))
        version = subprocess.run([TOLLBOOK, "--version"], capture_output=True, text=True,
                                 env=ENVIRONMENT, check=True).stdout
        self.assertIn(status["version"], version)
        self.assertEqual(int(status["requests"]), 5)
        self.assertGreaterEqual(int(status["connections"]), 1)
        self.assertIn(status["writer"], ("idle", "busy"))
        self.assertEqual((status["writer_queue"], status["store"], status["log_dropped"]),
                         ("0", "ok", "0"))
        self.assertEqual(int(status["store_bytes"]), server.db.stat().st_size)
        self.assertGreaterEqual(int(status["data_version"]), int(first["data_version"]))
        self.assertEqual(status["backup_age_s"], "0")
        for name in ("uptime_s", "disk_free_bytes", "resident_bytes", "open_fds", "wal_bytes"):
            self.assertRegex(status[name], r"^\d+$", name)

    def test_a_commit_has_an_age(self):
        server = self.begin(access_log=None)
        version = self.status()["data_version"]
        body = (b"HIT|200|1793707200000|1|101|192.0.2.1|-|https://z/x|DE|agent|" + b"1" * 32 +
                b"|DE\n")
        self.assertEqual(server.ask("POST", "/ingest/logs", "ingest", body).status, 200)
        status = self.status()
        self.assertGreater(int(status["data_version"]), int(version))
        self.assertRegex(status["commit_age_s"], r"^\d+$")

    # --- SIGTERM ---

    def test_other_signals_do_not_end_a_drain(self):
        """SIGHUP and SIGUSR1 while a request is still under way: it is finished all the same."""
        server = self.begin(access_log=None)
        body = b"HIT|200|1793707200000|1|101|192.0.2.1|-|https://z/x|DE|a|" + b"2" * 32 + b"|DE\n"
        with server.wire() as wire:
            head = ("POST /ingest/logs HTTP/1.1\r\nHost: x\r\n"
                    f"AccessKey: {server.keys['ingest']}\r\nContent-Length: {len(body)}\r\n\r\n")
            wire.send(head.encode() + body[:10])
            while server.metric("tollbook_received_bytes_total") < 10:
                time.sleep(0.005)
            self.signal(signal.SIGTERM, "stopping: ")
            end = time.monotonic() + PATIENCE
            while signal.SIGHUP not in self.ignored():  # it says so just before it is
                self.assertLess(time.monotonic(), end)
                time.sleep(0.005)
            for number in (signal.SIGHUP, signal.SIGUSR1):
                server.process.send_signal(number)
            wire.send(body[10:])
            answer = wire.read("POST")
            self.assertEqual((answer.status, answer.headers["connection"]), (200, "close"))
            self.assertTrue(wire.ended())
        self.assertEqual(server.stop(0), 0)
        self.assertTrue(server.messages().rstrip().endswith("finished first"), server.messages())
        server.start()

    def ignored(self):
        text = Path(f"/proc/{self.server.process.pid}/status").read_text()
        mask = int(re.search(r"^SigIgn:\s*(\w+)", text, re.M).group(1), 16)
        return {number for number in signal.Signals if mask >> (number - 1) & 1}


class Figures(Case):
    """/metrics and what it says of process, disk, backups."""

    def samples(self):
        text = self.server.get("/metrics", None).body.decode()
        types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        for name in types:
            self.assertEqual(len(re.findall(rf"^# (?:HELP|TYPE) {name} ", text, re.M)), 2, name)
        return types, dict(re.findall(r"^(\w+) (\S+)$", text, re.M))

    def test_the_process(self):
        types, values = self.samples()
        proc = Path(f"/proc/{self.server.process.pid}")
        resident = int((proc / "statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.assertEqual(types["process_resident_memory_bytes"], "gauge")
        self.assertRegex(values["process_resident_memory_bytes"], r"^\d+$")
        shown = int(values["process_resident_memory_bytes"])
        self.assertTrue(resident / 2 < shown < resident * 2, (shown, resident))
        self.assertEqual(types["process_cpu_seconds_total"], "counter")
        self.assertRegex(values["process_cpu_seconds_total"], r"^\d+\.\d{6}$")
        self.assertEqual(types["process_open_fds"], "gauge")
        self.assertEqual(types["process_start_time_seconds"], "gauge")
        boot = int(re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.M).group(1))
        ticks = int((proc / "stat").read_text().rsplit(")", 1)[1].split()[19])
        began = boot + ticks / os.sysconf("SC_CLK_TCK")
        self.assertLess(abs(float(values["process_start_time_seconds"]) - began), 2)

    def test_time_goes_on_and_the_start_does_not(self):
        _, first = self.samples()
        used = float(first["process_cpu_seconds_total"])
        begin = time.monotonic()
        while True:  # for some of the hundredths that the start is told in
            _, values = self.samples()
            passed = time.monotonic() - begin
            self.assertEqual(values["process_start_time_seconds"],
                             first["process_start_time_seconds"])
            if passed > 0.05 and float(values["process_cpu_seconds_total"]) > used:
                break
            self.assertLess(passed, PATIENCE)

    def test_descriptors_are_counted(self):
        folder = f"/proc/{self.server.process.pid}/fd"
        wires = [self.server.wire() for _ in range(10)]
        end = time.monotonic() + PATIENCE
        while True:  # connections of other tests may still end
            for wire in wires:
                wire.ask("GET", "/healthz")
            asked = wires[0].ask("GET", "/metrics").body.decode()
            shown = int(re.search(r"^process_open_fds (\d+)$", asked, re.M).group(1))
            if shown == len(os.listdir(folder)):
                break
            self.assertLess(time.monotonic(), end, (shown, os.listdir(folder)))
        self.assertGreater(shown, 13)
        for wire in wires:
            wire.sock.close()

    def test_the_disk(self):
        types, values = self.samples()
        disk = os.statvfs(self.server.path)
        free = disk.f_bavail * disk.f_frsize
        self.assertEqual(types["tollbook_disk_free_bytes"], "gauge")
        self.assertLess(abs(int(values["tollbook_disk_free_bytes"]) - free), max(free / 2, 1 << 20))


class Ages(unittest.TestCase):
    BACKUP, VERIFY = "tollbook_last_backup_age_seconds", "tollbook_last_verify_age_seconds"

    def setUp(self):
        self.server = Server()
        self.addCleanup(self.server.close)

    def ages(self):
        text = self.server.get("/metrics", None).body.decode()
        found = dict(re.findall(rf"^({self.BACKUP}|{self.VERIFY}) (\S+)$", text, re.M))
        for name in found:
            self.assertIn(f"# TYPE {name} gauge\n", text)
        return found

    def at(self, moment, *words, expect=0):
        done = subprocess.run([TOLLBOOK, *map(str, words)], capture_output=True, text=True,
                              check=False, env={**ENVIRONMENT, "TOLLBOOK_NOW": moment},
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    # The server's clock stands at 2026-11-04T09:00:00Z.
    def test_they_come_with_the_first_and_go_on_from_the_last(self):
        server = self.server
        self.assertEqual(self.ages(), {})
        self.at("2026-11-04T08:00:00Z", "backup", "--db", server.db, "--to", server.path / "a.db")
        self.assertEqual(self.ages(), {self.BACKUP: "3600"})
        self.at("2026-11-03T09:00:01Z", "verify", "--db", server.db)
        self.assertEqual(self.ages(), {self.BACKUP: "3600", self.VERIFY: "86399"})
        link = server.path / "link.db"  # the same database by another path
        link.symlink_to(server.db)
        self.at("2026-11-04T08:59:00Z", "verify", "--db", link)
        self.at("2026-11-04T08:59:30Z", "backup", "--db", server.db, "--to", server.path / "b.db")
        self.assertEqual(self.ages(), {self.BACKUP: "30", self.VERIFY: "60"})
        self.at("2027-01-01T00:00:00Z", "verify", "--db", server.db)  # a clock that is ahead
        self.assertEqual(self.ages()[self.VERIFY], "0")
        server.stop()
        server.start()
        self.assertEqual(self.ages(), {self.BACKUP: "30", self.VERIFY: "0"})

    def test_what_failed_is_no_backup_and_no_verify(self):
        server = self.server
        self.at("2026-11-04T08:00:00Z", "backup", "--db", server.db, "--to",
                server.path / "none" / "a.db", expect=3)
        other = "14-1f-16-9-4-1c-4-4-3-" + "a15be079638e6987" * 4
        self.at("2026-11-04T08:00:00Z", "verify", "--db", server.db, "--against", other, expect=1)
        self.assertEqual(self.ages(), {})

    def test_a_copy_gets_no_file_beside_it(self):
        server = self.server
        folder = server.path / "backups"
        folder.mkdir()
        self.at("2026-11-04T08:00:00Z", "backup", "--db", server.db, "--to", folder / "a.db")
        self.at("2026-11-04T08:00:00Z", "verify", "--db", folder / "a.db")
        self.assertEqual([file.name for file in folder.iterdir() if "last" in file.name], [])
        self.assertEqual(self.ages(), {self.BACKUP: "3600"})

    def test_a_mark_that_says_nothing_is_no_mark(self):
        mark = self.server.path / "t.db.last-verify"
        for text in ("", "yesterday\n", "2026-13-04T08:00:00Z\n", "2026-11-04T08:00"):
            mark.write_text(text)
            self.assertEqual(self.ages(), {})
        mark.unlink()
        os.mkfifo(mark)
        self.assertEqual(self.ages(), {})
        mark.unlink()
        mark.mkdir()
        done = self.at("2026-11-04T08:00:00Z", "verify", "--db", self.server.db)
        self.assertIn(f"is not noted for GET /metrics: {mark} cannot be written", done.stderr)
        self.assertEqual(list(self.server.path.glob("*.last-verify.*")), [])
        mark.rmdir()
        self.at("2026-11-04T08:00:00Z", "verify", "--db", self.server.db)
        self.assertEqual(mark.read_text(), "2026-11-04T08:00:00Z\n")
        self.assertEqual(mark.stat().st_mode & 0o777, 0o644)


class MetricsKey(Case):
    options = ("--metrics-key",)

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        secret = server.path / "token"
        secret.write_text(SECRETS[0])
        secret.chmod(0o600)
        server.keys["feeder"] = server.make_key(0, "Ingest")
        server.start(*cls.options, "--token-key", secret)
        cls.secret = secret

    def test_it_asks_for_a_key(self):
        for key in (None, "0" * 48, "x"):
            answer = self.server.get("/metrics", key)
            self.refused(answer, 401, "authentication.failed")
            self.assertIn("Bearer", answer.headers["www-authenticate"])
        for key in ("user", "other", "ingest"):
            self.refused(self.server.get("/metrics", key), 403, "authorization.forbidden")
        for key in ("operator", "feeder"):
            said = re.search(r'tollbook_build_info\{version="(.*)",schema="(\d+)",commit="(.*)"\} 1',
                             self.server.get("/metrics", key).body.decode())
            version = subprocess.run([TOLLBOOK, "--version"], capture_output=True, text=True, check=True).stdout
            self.assertTrue(version.startswith("tollbook {}\nschema {}\ncommit {}\n".format(*said.groups())), said)

    def test_as_scrapers_send_it(self):
        for key, status in (("operator", 200), ("feeder", 200), ("user", 403)):
            for form in ("Bearer {}", "bearer {}", "{}"):
                answer = self.server.get("/metrics", None,
                                         Authorization=form.format(self.server.keys[key]))
                self.assertEqual(answer.status, status, (key, form))
        token = run("token", "--token-key", self.secret, "--account", 1).stdout.decode().strip()
        self.assertEqual(self.server.get("/metrics", None, Authorization=f"Bearer {token}").status,
                         403)
        # Elsewhere a key is no bearer token, as ever, and what was open stays open.
        self.assertEqual(self.server.get("/statistics", None, Authorization="Bearer " +
                                         self.server.keys["user"]).status, 401)
        for target in ("/healthz", "/readyz", "/region", "/openapi.json"):
            self.assertEqual(self.server.get(target, None).status, 200)


if __name__ == "__main__":
    unittest.main()
