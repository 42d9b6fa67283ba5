"""slowhttptest against the server: slow headers, slow bodies and slow readers neither hold it nor end
it, while ordinary requests go on being answered. Skipped where the tool is not installed."""
import shutil
import subprocess
import threading
import time
import unittest

from harness import PATIENCE, Case, Wire

CLIENTS = "24"
KINDS = {
    "slow headers": ["-H", "-i", "1"],
    "slow bodies": ["-B", "-i", "1", "-s", "8192", "-t", "POST"],
    "slow readers": ["-X", "-w", "1", "-y", "2", "-n", "1", "-z", "1", "-k", "2"],
}


@unittest.skipUnless(shutil.which("slowhttptest"), "slowhttptest is not installed")
class Slow(Case):
    # As many connections as the attackers use: without the sweeper there would be no room left.
    options = ("--connections", CLIENTS, "--header-timeout-ms", "300", "--body-timeout-ms", "300",
               "--idle-timeout-ms", "300")

    def answered(self, over):
        """Ordinary requests while the attack lasts; returns how many were answered."""
        count, end = 0, time.monotonic() + PATIENCE
        while not over.is_set() and time.monotonic() < end:
            try:
                with Wire(self.server.port) as wire:
                    answer = wire.ask("GET", "/healthz")
            except OSError:
                continue
            count += answer is not None and answer.status == 200
        return count

    def attack(self, flags, path):
        over = threading.Event()
        tool = subprocess.Popen(
            ["slowhttptest", *flags, "-c", CLIENTS, "-r", "50", "-l", "4", "-p", "2",
             "-u", self.server.url + path],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        threading.Thread(target=lambda: (tool.wait(), over.set()), daemon=True).start()
        try:
            return self.answered(over)
        finally:
            tool.kill()
            tool.wait()

    def test_service_goes_on_beside_slow_clients(self):
        for name, flags in KINDS.items():
            with self.subTest(name):
                path = "/ingest/logs" if name == "slow bodies" else "/openapi.json"
                self.assertGreater(self.attack(flags, path), 20)
                self.assertEqual(self.server.get("/statistics").status, 200)


if __name__ == "__main__":
    unittest.main()
