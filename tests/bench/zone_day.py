#!/usr/bin/env python3
"""Bytes of usage for each day of a pull zone, of accounts that have one:

    tests/bench/zone_day.py TOLLBOOK [ACCOUNTS [DAYS]]

Each zone has traffic at two locations in most hours, imported a day at a time. Pending rows are a
part of `usage`; they take less once they are compacted. Then each account gets a second zone, which begins with a copy.
"""
import argparse
import json
import random
import re
import subprocess
import tempfile
from pathlib import Path

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("tollbook")
parser.add_argument("accounts", nargs="?", type=int, default=300)
parser.add_argument("days", nargs="?", type=int, default=60)
options = parser.parse_args()
tollbook, accounts, days = options.tollbook, options.accounts, options.days
METRICS = {"requests": 9000, "bytes": 10**10, "cached_bytes": 10**10, "status_3xx": 900, "status_4xx": 300,
           "origin_bytes": 10**9, "origin_time_ms_sum": 10**6, "origin_time_count": 900}


def run(db, *words, stdin="", now="2026-12-01T00:00:00Z"):
    return subprocess.run([tollbook, *words[:1], "--db", db, *words[1:]], input=stdin, check=True, text=True,
                          capture_output=True, env={"TOLLBOOK_NOW": now}).stdout


def apply(db, zones):
    run(db, "apply", "-", stdin=json.dumps({
        "accounts": [{"id": i, "name": f"a{i}"} for i in range(1, accounts + 1)],
        "zones": [{"id": 1000 * z + i, "account": i, "name": f"z{z}-{i}"} for z in range(1, zones + 1)
                  for i in range(1, accounts + 1)]}), now="2026-09-01T00:00:00Z")


def day_of(zone, day):
    for i in range(1, accounts + 1):
        for hour in range(24):
            for region in ("DE", "NY"):
                if random.random() < .7:
                    yield json.dumps({"zone": 1000 * zone + i, "region": region, "hour": f"2026-{10 + day // 28}-{1 + day % 28:02}T{hour:02}:00:00Z",
                                      **{m: random.randrange(most) for m, most in METRICS.items()}})


def say(db, zone_days, what):
    kinds = dict(re.findall(r"^(\S.*?)\s+(\d+)$", run(db, "size"), re.M))
    waiting = dict(re.findall(r"^(\S+)\s+(\d+)$", run(db, "size", "--by", "month"), re.M)).get("waiting", 0)
    print(f"{what}: {int(kinds['usage']) / zone_days:.0f} bytes a zone-day (of them {int(waiting) / zone_days:.0f} pending)")


with tempfile.TemporaryDirectory() as folder:
    db = Path(folder) / "t.db"
    random.seed(1)
    run(db, "init")
    apply(db, 2)
    for day in range(days):
        run(db, "import", "-", stdin="\n".join(day_of(1, day)))
    say(db, accounts * days, "one zone each")
    run(db, "import", "-", stdin="\n".join(day_of(2, days)))
    say(db, accounts * (days + 1), "with a day of a second")
    run(db, "verify")
