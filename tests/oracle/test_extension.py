"""The loadable extension: the sqlite3 shell shows the same rows as `tollbook query`, and finds the
same ones, without tollbook in between.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": "2026-11-18T00:00:00Z"}
QUERIES = [
    "SELECT * FROM buckets",
    "SELECT * FROM balancer_buckets",
    "SELECT * FROM countries",
    "SELECT zone,sum(bytes) FROM buckets WHERE hour>='2026-11-01' GROUP BY zone",
    "SELECT region,requests FROM buckets WHERE zone=101 AND hour<'2026-11-10' ORDER BY hour,region",
    "SELECT country,sum(requests) FROM countries WHERE zone=102 GROUP BY country",
]

shell = shutil.which("sqlite3")
if not shell:
    print("skipped: there is no sqlite3 shell")
    sys.exit(77)


def call(*words):
    done = subprocess.run([str(word) for word in words], env=ENVIRONMENT, capture_output=True,
                          check=False, timeout=120)
    if done.returncode:
        print(*words, "failed:", done.stderr.decode())
        sys.exit(1)
    return done.stdout.decode()


with tempfile.TemporaryDirectory(prefix="tollbook-extension-") as folder:
    db = Path(folder) / "t.db"
    tollbook = BUILD / "tollbook"
    call(tollbook, "init", "--db", db)
    call(tollbook, "apply", "--db", db, SOURCE / "fixtures" / "catalog.json")
    call(tollbook, "ingest", "--db", db, SOURCE / "fixtures" / "requests.log")
    call(tollbook, "import", "--db", db, SOURCE / "fixtures" / "buckets.ndjson")
    for query in QUERIES:
        ours = call(tollbook, "query", "--db", db, query).splitlines()
        theirs = call(shell, "-header", "-separator", "\t", "-cmd",
                      f".load {BUILD / 'tollbook_buckets'}", db, query).splitlines()
        if ours != theirs or len(ours) < 2:
            print(f"{query}\ntollbook: {ours[:3]} ({len(ours)})\nsqlite3: {theirs[:3]} ({len(theirs)})")
            sys.exit(1)
print(f"{len(QUERIES)} queries, the same rows")
