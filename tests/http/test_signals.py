"""What an operator watches: figures of the process and the disk, the age of the last backup and of
the last verify.
"""
import os
import re
import subprocess
import time
import unittest
from pathlib import Path

from harness import ENVIRONMENT, PATIENCE, TOLLBOOK, Case, Server


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
        self.assertLessEqual(abs(int(values["process_open_fds"]) - len(os.listdir(proc / "fd"))), 2)
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
        count = int(self.samples()[1]["process_open_fds"])
        wires = [self.server.wire() for _ in range(10)]
        for wire in wires:
            wire.ask("GET", "/healthz")
        self.assertGreaterEqual(int(self.samples()[1]["process_open_fds"]), count + 9)
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


if __name__ == "__main__":
    unittest.main()
