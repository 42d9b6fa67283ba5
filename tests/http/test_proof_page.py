#!/usr/bin/env python3
"""What docs/proof.md prints, run as it stands there against a server: the file of a bill is fetched and checked, by tollbook-check, by
docs/examples/check.py and by hand. Hashes (16 digits and more, or 16 in fours) are of each run its own, all else is compared."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from edges import moved
from harness import BUILD, NOW, PATIENCE, SOURCE, Server, run

sys.path.insert(0, str(SOURCE / "tests/check"))
from bundle_maker import Signer, b64  # noqa: E402

PAGE = (SOURCE / "docs/proof.md").read_text()
LOG = Signer("example.com/tollbook", b"seed of a log's key, of 32 bytes")
CATALOG = {"accounts": [{"id": id_, "name": name, "currency": "USD", "tax": {"VAT": "19"}} for id_, name in ((1, "a"), (2, "b"), (3, "acme"))],
           "zones": [{"id": 100 * account + 1, "account": account, "name": f"z{account}", "created": "2026-01-05T00:00:00Z"} for account in (1, 2, 3)]}
BOOK = {"book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}


def steps():
    """[command, what it prints] of the page's console blocks."""
    found = []
    for line in "".join(re.findall(r"^```console\n(.*?)^```", PAGE, re.M | re.S)).splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:], ""])
        else:
            found[-1][1] += line
    return found


def without_hashes(text):
    return re.sub(r"\b[0-9a-f]{16,64}\b|\b[0-9a-f]{4}(?: [0-9a-f]{4}){3}\b", lambda found: f"({len(found[0])} digits)", text)


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(log=None)
        cls.server.stop()
        folder = cls.server.path
        key = folder / "key"
        key.write_text(f"PRIVATE+KEY+{LOG.name}+{LOG.id.hex()}+{b64(bytes([1]) + LOG.seed)}\n")
        key.chmod(0o600)
        run("apply", "--db", cls.server.db, "--delete", "-", stdin=json.dumps(CATALOG).encode())
        run("book", "add", "--db", cls.server.db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", cls.server.db, "-", stdin="".join(json.dumps(
            {"zone": zone, "hour": f"2026-10-{day:02}T{hour:02}:00:00Z", "region": region, "requests": 100 * day + hour, "bytes": zone * 10**8 + day})
            + "\n" for zone in (101, 201, 301) for day in range(1, 32) for hour in (4, 20) for region in ("DE", "NY", "SG")).encode())
        run("proof", "start", "--db", cls.server.db, "--proof-key-file", key)
        cls.old = run("proof", "checkpoint", "--db", cls.server.db).stdout
        run("invoice", "--db", cls.server.db, "--month", "2026-10", "--finalize", "--proof-key-file", key)
        cls.customer = cls.server.make_key(3, "User")
        cls.server.start("--proof-key-file", key)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @unittest.skipUnless(shutil.which("jq"), "jq is not installed (tests/dependencies test)")
    def test_every_command(self):
        folder = self.server.path / "customer"
        folder.mkdir()
        shutil.copy(SOURCE / "docs/examples/check.py", folder)
        (folder / "log.vkey").write_text(LOG.vkey + "\n")
        (folder / "september.checkpoint").write_bytes(self.old)
        mark = "--- end of step ---"
        script = moved("".join(f"{command}echo '{mark}'\n" for command, _ in steps()), {"https://stats.example": self.server.url})
        done = subprocess.run(["bash"], input=script, text=True, cwd=folder, check=False, timeout=PATIENCE, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "KEY": self.customer,
                                                             "TOLLBOOK_NOW": NOW})
        for (command, wanted), printed in zip(steps(), done.stdout.split(mark + "\n")):
            with self.subTest(command):
                self.assertEqual(without_hashes(printed), without_hashes(wanted), f"\n$ {command}{printed}")

    def test_the_key_is_the_pages(self):
        name, id_, data = LOG.vkey.split("+", 2)
        self.assertIn(f"`{name}+{id_}+{data[:8]}…`", PAGE)


if __name__ == "__main__":
    unittest.main()
