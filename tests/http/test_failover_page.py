#!/usr/bin/env python3
"""What docs/operate/failover.md prints, run as it stands there with this machine's places: the configuration of both machines, the check and the
notify command of keepalived, the commands of clients and of the resource agent. keepalived itself reads its configuration in the long form
(TB_LONG=1), where it is installed."""
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from edges import moved
from harness import ENVIRONMENT, PATIENCE, SOURCE, TOLLBOOK, hit, run
from follower import Follower, stored, taken, until
from script import held_port
from test_resource_agent import AGENT
from test_standby import Primary, long_form

PAGE = (SOURCE / "docs/operate/failover.md").read_text()


def block(begins):
    """The page's block that begins so."""
    return next(text for text in re.findall(r"(?ms)^```\w*\n(.*?)^```$", PAGE) if text.startswith(begins))


class Machine:
    """One of the two, with the page's configuration and check."""

    def __init__(self, folder, own, other, names):
        self.folder, self.port = folder, own
        folder.mkdir()
        self.db = folder / "tollbook.db"
        self.url = f"http://127.0.0.1:{own}"
        self.config = folder / "tollbook.conf"
        self.config.write_text(moved(block("db /var/lib"), {
            "/var/lib/tollbook/tollbook.db": self.db, "0.0.0.0:8080": f"127.0.0.1:{own}", "http://b.example:8080": f"http://127.0.0.1:{other}",
            "http://a.example:8080": self.url, "/etc/tollbook/replica.key": names["key"]}))
        self.process = None

    def start(self):
        self.log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen([TOLLBOOK, "serve", "--config", self.config, "--threads", "2"], stderr=self.log, env=ENVIRONMENT)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.log.close()
        self.process = None

    def check(self, address):
        """The exit status of the check, where the machine has the address, or has not."""
        script = self.folder / "check"
        script.write_text(moved(block("#!/bin/sh"), {"http://127.0.0.1:8080": self.url, "192.0.2.10": "127.0.0.1" if address else "192.0.2.10"}))
        script.chmod(0o755)
        return subprocess.run([script], capture_output=True, check=False, timeout=PATIENCE).returncode

    def waits_for(self, status, address=False):
        until(lambda: self.check(address) == status, lambda: (self.folder / "log").read_text())

    def notify_master(self):
        command = re.search(r'notify_master "(.*)"', block("global_defs"))[1]
        words = shlex.split(moved(command, {"/usr/bin/tollbook": TOLLBOOK, "/var/lib/tollbook/tollbook.db": self.db}))
        done = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stderr
        return done.stdout


@unittest.skipUnless(shutil.which("curl") and shutil.which("ip"), "curl or ip is not installed")
class Keepalived(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-failover-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        first = Primary(log=None)
        self.keys = first.keys
        key = self.folder / "replica.key"
        shutil.copy(first.key_file, key)
        first.stop()
        ports = held_port(), held_port()
        self.a, self.b = (Machine(self.folder / name, own, other, {"key": key})
                          for name, own, other in zip("ab", ports, reversed(ports)))
        shutil.copy(first.db, self.a.db)
        first.folder.cleanup()
        self.addCleanup(self.a.kill)
        self.addCleanup(self.b.kill)

    def test_the_address_moves(self):
        a, b = self.a, self.b
        a.start()
        a.waits_for(0)  # though its primary, the other one, was never there
        self.assertEqual(a.check(address=True), 1, "it has the address and is no primary yet")
        self.assertRegex(a.notify_master(), r"^epoch \d+$")
        self.assertEqual((a.check(True), a.check(False)), (0, 0))
        b.start()
        b.waits_for(0)
        self.assertEqual(b.check(True), 1)

        # A follower, by the page's command; the primary's machine dies under it.
        logs = self.folder / "logs"
        logs.mkdir()
        (logs / "access.log").write_bytes(hit(101))
        words = shlex.split(moved(block("tollbook follow"), {
            "https://a.example:8443": a.url, "https://b.example:8443": b.url, "/etc/tollbook/follow.key": self.folder / "key",
            "/var/log/nginx/": f"{logs}/"}))
        follower = Follower(a.url, logs / "access.log*", key=self.keys["ingest"], folder=self.folder)
        follower.words = ["follow", "--every", "20ms", "--metrics", follower.metrics, *words[2:-1], logs / "access.log*"]
        follower.start()
        self.addCleanup(follower.close)
        until(lambda: sum(taken(b.db)) == 1, follower.messages)
        a.kill()
        self.assertEqual((a.check(True), a.check(False)), (1, 1))
        self.assertEqual(b.check(False), 0)
        b.notify_master()
        self.assertEqual(b.check(True), 0)
        a.start()
        a.waits_for(0)
        self.assertEqual(a.check(True), 1)
        with open(logs / "access.log", "ab") as log:
            log.write(hit(102))
        until(lambda: sum(taken(a.db)) == 2, follower.messages)
        self.assertEqual(follower.stop(), 0)
        self.assertEqual(stored(a.db)[0], {101: 1, 102: 1})

        curl = shlex.split(moved(block("$ curl").splitlines()[0], {"$ ": "", "http://127.0.0.1:8080": b.url}))
        shown = subprocess.run([*curl, "-s"], capture_output=True, text=True, check=True, timeout=PATIENCE).stdout
        numbers = re.compile(r"\d+")
        self.assertEqual(numbers.sub("N", shown.strip()), numbers.sub("N", block("$ curl").splitlines()[1]))


class Configuration(unittest.TestCase):
    @long_form
    @unittest.skipUnless(shutil.which("keepalived"), "keepalived is not installed")
    def test_keepalived_reads_it(self):
        names = [path.name for path in Path("/sys/class/net").iterdir() if path.name != "lo"]
        with tempfile.TemporaryDirectory(prefix="tollbook-failover-") as folder:
            check, config = Path(folder) / "tollbook-check", Path(folder) / "keepalived.conf"
            check.write_text(block("#!/bin/sh"))
            check.chmod(0o755)
            config.write_text(moved(block("global_defs"), {"/etc/keepalived/tollbook-check": check, "eth0": names[0], "/usr/bin/tollbook": TOLLBOOK}))
            done = subprocess.run(["keepalived", "-t", "-f", config], capture_output=True, text=True, check=False, timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_the_agents_block(self):
        """validate-all and monitor, on a machine that is one of the page's nodes and serves nothing."""
        with tempfile.TemporaryDirectory(prefix="tollbook-failover-") as folder:
            key = Path(folder) / "key"
            key.write_text("k\n")
            text = moved(block("export OCF_RESOURCE_INSTANCE"), {"/usr/lib/ocf/resource.d/tollbook/server": AGENT})
            done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=False, timeout=PATIENCE, env={
                **ENVIRONMENT, "OCF_RESKEY_CRM_meta_on_node": "alpha", "OCF_RESKEY_key_file": str(key), "OCF_RESKEY_binary": str(TOLLBOOK),
                "HA_RSCTMP": folder})
            self.assertEqual((done.stdout, done.stderr), ("7\n", ""))

    def test_pcs_names_what_the_agent_has(self):
        """pcs itself is not run: its parameters and roles are those of the agent's meta-data."""
        known = subprocess.run([AGENT, "meta-data"], capture_output=True, text=True, check=True).stdout
        resource = block("pcs resource create tollbook-server ocf:tollbook:server").split("pcs resource create tollbook-ip")[0]
        words = [word for word in shlex.split(resource.replace("\\\n", " ")) if "=" in word]
        parameters = [word.split("=")[0] for word in words[:words.index("interval=10s")]]
        self.assertEqual(parameters, ["servers", "key_file", "options"])
        for name in parameters:
            self.assertIn(f'<parameter name="{name}"', known)
        for role in re.findall(r"role=(\w+)", resource):
            self.assertIn(f'role="{role}"', known)


if __name__ == "__main__":
    unittest.main()
