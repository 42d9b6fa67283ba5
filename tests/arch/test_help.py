"""A script that is started by hand tells how when it is asked, and does nothing else: no folder is called "--help"."""
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from house import SOURCE, tracked_files, verdict


def scripts():
    """Executable Python outside tests that take a word."""
    for file in tracked_files():
        path = SOURCE / file
        if not file.startswith(("fixtures/", "server/", "tests/")) or not os.access(path, os.X_OK):
            continue
        if path.name.startswith("test_") or path.suffix not in ("", ".py"):
            continue
        text = path.read_text()
        if text.startswith("#!/usr/bin/env python3") and ("sys.argv" in text or "argparse" in text):
            yield file


def check(file):
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run([SOURCE / file, "--help"], cwd=folder, capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            yield f"{file} --help: runs for more than 20 seconds"
            return
        if done.returncode or not done.stdout.strip():
            yield f"{file} --help: exit status {done.returncode}, {done.stderr.strip()[-200:] or 'and says nothing'}"
        for made in os.listdir(folder):
            yield f"{file} --help: makes {made}"


found = list(scripts())
with ThreadPoolExecutor(2) as pool:
    violations = [line for lines in pool.map(lambda file: list(check(file)), found) for line in lines]
if "fixtures/history.py" not in found:
    violations.append("fixtures/history.py is not among the scripts that were looked for")
verdict(violations, f"{len(found)} scripts")
