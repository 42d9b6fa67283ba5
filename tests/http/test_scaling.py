"""docs/scaling.md: the lines that set up two shards are run as they stand, on other ports."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from types import SimpleNamespace

from clickhouse import PROGRAM, ClickHouse
from harness import CATALOG, ENVIRONMENT, LOG, PATIENCE, SOURCE, TOLLBOOK
from script import held_port


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Scaling(unittest.TestCase):
    def test_opened_for_the_control_server(self):
        """The two files, beside what Debian has: the user with its password is let in, and nobody else from elsewhere."""
        listen, users = re.findall(r"```xml\n(.*?)```", (SOURCE / "docs/scaling.md").read_text(), re.S)
        self.assertIn("<listen_host>0.0.0.0</listen_host>", listen)
        shard = ClickHouse()
        self.addCleanup(shard.close)
        shard.kill()
        users = users.replace("HASH", hashlib.sha256(b"word").hexdigest()).replace("<ip>127.0.0.1</ip>", "")
        (shard.path / "users.d").mkdir()
        (shard.path / "users.d/tollbook.xml").write_text(users.replace("CONTROL", "127.0.0.1"))
        shard.launch()
        said = [self.ask(shard, who) for who in ({"X-ClickHouse-User": "tollbook", "X-ClickHouse-Key": "word"},
                                                 {"X-ClickHouse-User": "tollbook", "X-ClickHouse-Key": "wrong"}, {})]
        self.assertEqual([code == 200 for code, _ in said], [True, False, False])
        self.assertEqual([text[:9] for _, text in said], ["1\n", "Code: 193", "Code: 195"])

    @staticmethod
    def ask(shard, names):
        """Until it listens."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{shard.port}/", b"SELECT 1", names)
                with urllib.request.urlopen(request, timeout=PATIENCE) as got:
                    return got.status, got.read().decode()
            except urllib.error.HTTPError as got:
                return got.code, got.read().decode()
            except OSError:
                if shard.process.poll() is not None or time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def shards(self, folder):
        """Two servers with the configuration that the page's lines write; their HTTP ports."""
        page = (SOURCE / "docs/scaling.md").read_text()
        lines = next(text for text in re.findall(r"```console\n(.*?)```", page, re.S) if "users.xml" in text)
        writes, starts = lines.split("clickhouse-server --config-file", 1)
        self.assertEqual(starts.count("shard"), 2)
        subprocess.run(["bash", "-ec", writes], cwd=folder, check=True, timeout=PATIENCE)
        ports = []
        for n in "89":
            config = folder / f"shard{n}.xml"
            text = config.read_text()
            for port in ("123", "000", "009"):
                ports.append(held_port())
                text = text.replace(f"port>{n}{port}<", f"port>{ports[-1]}<")
            config.write_text(text)
            server = subprocess.Popen([PROGRAM, f"--config-file={config}"], cwd=folder, env=ENVIRONMENT,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.ask(SimpleNamespace(port=ports[-3], process=server), {})
        return ports[0], ports[3]

    def test_two_shards_from_nothing(self):
        text = re.search(r"```sh\n(.*?)```", (SOURCE / "docs/scaling.md").read_text(), re.S).group(1)
        self.assertLessEqual(len(text.splitlines()), 10)
        folder = tempfile.mkdtemp(prefix="tollbook-scaling-")
        self.addCleanup(shutil.rmtree, folder)
        shards = self.shards(Path(folder))
        for old, new in (("8123", shards[0]), ("9123", shards[1]), ("8080", held_port())):
            text = text.replace(f"127.0.0.1:{old}", f"127.0.0.1:{new}")
        (Path(folder) / "catalog.json").write_text(json.dumps(CATALOG))
        (Path(folder) / "access.log").write_bytes(LOG)
        path = f"{Path(TOLLBOOK).parent}:{os.environ['PATH']}"
        sql = re.findall(r"```sh\n(.*?)```", (SOURCE / "docs/scaling.md").read_text(), re.S)[1]
        text += "".join(sql.replace("127.0.0.1:8123", f"127.0.0.1:{port}") for port in shards)
        done = subprocess.run(["bash", "-ec", "trap 'kill $!' EXIT\n" + text], cwd=folder, capture_output=True,
                              env={**ENVIRONMENT, "PATH": path}, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        rows = re.findall(r"^(\d+)\t\d+\t2026-11-03 12:00:00\t(\d+)\t\d+$", done.stdout.decode(), re.M)
        self.assertEqual({zone: sum(int(n) for z, n in rows if z == zone) for zone, _ in rows}, {"101": 40, "102": 40, "201": 40})
        self.assertIn('"TotalRequestsServed":80,', done.stdout.decode().replace(" ", ""))  # account 1's of LOG


if __name__ == "__main__":
    unittest.main()
