#!/usr/bin/env python3
"""The empty patch gives every stored invoice to the byte: the fixture history and the fixtures' own
catalogue billed by the real binary, then each invoice made again from what is stored, under the
books that the scenario makes, and its canonical text compared (replay_runner)."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
TOOL, RUNNER = BUILD / "tollbook", BUILD / "tests" / "oracle" / "replay_runner"
NOW = "2026-12-02T12:00:00Z"

if not TOOL.exists() or not RUNNER.exists():
    print("skipped: there is no", TOOL, "or no", RUNNER)
    sys.exit(77)


class Replay(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-replay-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tool("init")

    def tool(self, *words):
        done = subprocess.run([TOOL, words[0], "--db", "t.db", *words[1:]], cwd=self.folder,
                              capture_output=True, env={**os.environ, "TOLLBOOK_NOW": NOW})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def finalize(self, first, months):
        for n in range(first, first + months):
            self.tool("invoice", "--month", f"{2025 + n // 12}-{n % 12 + 1:02}", "--finalize")

    def replay(self):
        done = subprocess.run([RUNNER, "t.db"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout[:2000] + done.stderr)
        return int(done.stdout.split()[0])

    def test_the_history(self):
        subprocess.run([sys.executable, SOURCE / "fixtures/history.py", self.folder], check=True)
        for words in (("apply", "catalog.json"), ("book", "book.json"),
                      ("import", "history.ndjson")):
            self.tool(*words)
        self.finalize(5, 18)
        self.assertEqual(self.replay(), 216)

    def test_the_fixtures_with_a_book_that_begins_within_a_month(self):
        fixtures = SOURCE / "fixtures"
        catalog = json.loads((fixtures / "catalog.json").read_text())
        book = json.loads((fixtures / "book.json").read_text())
        catalog["regions"] = [{"id": i, "code": code, "name": f"EU: {code}", "billing": billing}
                              for i, (code, billing) in enumerate(
                                  zip(("DE", "UK", "NY", "LA", "SG", "AU", "QX7"),
                                      ("EU", "EU", "NA", "NA", "ASIA", "ASIA", "AF")), 1)]
        catalog["zones"].append({"id": 999, "account": 1, "name": "found", "type": "volume"})
        (self.folder / "c.json").write_text(json.dumps(catalog))
        self.tool("apply", "--delete", "c.json")
        for name, more in ((book["book"], {}), ("euro", {"currency": "EUR"}), (
                "mid", {"effective_from": "2026-11-14T07:00:00Z", "minimum_monthly": "2.00"})):
            (self.folder / "b.json").write_text(json.dumps({**book, "book": name, **more}))
            self.tool("book", "b.json")
        for log in ("requests.log", "requests-with-errors.log"):
            self.tool("ingest", fixtures / log)
        self.tool("import", fixtures / "buckets.ndjson")
        self.finalize(12, 11)
        self.assertGreater(self.replay(), 15)


if __name__ == "__main__":
    unittest.main()
