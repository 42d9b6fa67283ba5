"""What the program says about the fixtures, against the bytes in fixtures/expected.

`test_expected.py --write` writes them anew; a commit that does so says why. Their statistics are
checked by a second opinion in test_statistics.py.
"""
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
FIXTURES = SOURCE / "fixtures"
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": "2026-11-04T09:00:00Z"}

ANSWERS = {
    "account-1-daily.json": "stats --account 1 --from 2026-11-01 --to 2026-11-03",
    "account-2-default.json": "stats --account 2",
    "zone-101-hourly.json": "stats --account 1 --zone 101 --hourly --from 2026-11-03 --to 2026-11-03",
    "zone-102-exact.json": "stats --account 1 --zone 102 --hourly --exact"
                           " --from 2026-11-02T18:00:00Z --to 2026-11-03T06:30:00Z",
    "zone-101-queue.json": "stats --account 1 --zone 101 --kind queue --from 2026-11-01",
    "zone-103-optimizer.json": "stats --account 1 --zone 103 --kind optimizer --from 2026-11-01",
    "zone-201-safehop.json": "stats --account 2 --zone 201 --kind safehop --from 2026-11-01",
    "rejects.tsv": "query 'SELECT line, byte, reason FROM reject ORDER BY segment, line'",
}


def tollbook(db, command):
    name, *rest = shlex.split(command)
    run = subprocess.run([BUILD / "tollbook", name, "--db", db, *rest], capture_output=True,
                         env=ENVIRONMENT, check=False)
    if run.returncode:
        sys.exit(f"tollbook {command}: exit {run.returncode}\n{run.stderr.decode()}")
    return run.stdout.removesuffix(b"\n")  # a command ends its line, a body over HTTP has none


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        db = f"{folder}/t.db"
        tollbook(db, "init")
        tollbook(db, f"apply {FIXTURES}/catalog.json")
        tollbook(db, f"ingest {FIXTURES}/requests.log {FIXTURES}/requests-with-errors.log")
        tollbook(db, f"import {FIXTURES}/buckets.ndjson")
        for name, command in ANSWERS.items():
            path = FIXTURES / "expected" / name
            got = tollbook(db, command)
            if sys.argv[1:] == ["--write"]:
                path.parent.mkdir(exist_ok=True)
                path.write_bytes(got)
            elif not path.is_file() or path.read_bytes().removesuffix(b"\n") != got:
                wrong.append(name)
                print(f"{name}: tollbook {command} says:\n{got.decode()[:1000]}")
    if subprocess.run([sys.executable, FIXTURES / "make.py", "--check"], check=False).returncode:
        wrong.append("make.py")
    print(f"{len(ANSWERS)} answers, {len(wrong)} differ from fixtures/expected")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
