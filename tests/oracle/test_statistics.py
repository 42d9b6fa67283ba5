"""`tollbook stats` against tests/oracle/statistics.py, byte for byte.

The fixtures' logs and bucket rows, then as much again at random (TB_SEED reruns it), go into a
database through the command line; each question goes to the program and to the twin.
"""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
sys.path.insert(0, str(SOURCE / "tests" / "oracle"))
from statistics_twin import Answer, Usage, resolve  # noqa: E402
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

TOLLBOOK = BUILD / "tollbook"
FIXTURES = SOURCE / "fixtures"
NOW = "2026-11-04T09:00:00Z"
CLOCK = datetime(2026, 11, 4, 9, tzinfo=timezone.utc)
ENVIRONMENT = {**os.environ, "TOLLBOOK_NOW": NOW}


def tollbook(*arguments, expect=0):
    run = subprocess.run([TOLLBOOK, *map(str, arguments)], capture_output=True, text=True,
                         env=ENVIRONMENT, check=False)
    if run.returncode != expect:
        sys.exit(f"tollbook {' '.join(map(str, arguments))}: exit {run.returncode}\n{run.stderr}")
    return run.stdout.rstrip("\n")


def random_log(dice, zones, edges, lines):
    """Lines of the last 38 days, out of order."""
    out = []
    for _ in range(lines):
        moment = int((CLOCK - timedelta(seconds=dice.randrange(38 * 86400))).timestamp() * 1000)
        out.append("|".join([
            dice.choice(["HIT", "MISS", "STALE", "UPDATING", "REVALIDATED", "EXPIRED", "-"]),
            str(dice.choice([200, 206, 301, 304, 404, 429, 500, 503])), str(moment),
            str(dice.randrange(1 << dice.randrange(1, 40))), str(dice.choice(zones)), "192.0.2.1",
            "-", "https://example/x", dice.choice(edges), "agent", "0" * 32, "DE"]))
    return "".join(line + "\n" for line in out)


def text_date(dice, moment):
    if moment is None:
        return None
    return dice.choice([f"{moment:%Y-%m-%d}", f"{moment:%Y-%m-%dT%H:%M:%SZ}"])


def ask(question, db, account):
    arguments = ["stats", "--db", db, "--account", account, "--kind", question["kind"]]
    for name in ("zone", "from", "to"):
        if question[name] is not None:
            arguments += [f"--{name}", question[name]]
    arguments += ["--hourly"] * question["hourly"] + ["--exact"] * question["exact"]
    return tollbook(*arguments)


def moment_of(text):
    if text is None:
        return None
    moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def expected(question, usage, owned, names):
    begin, end = moment_of(question["from"]), moment_of(question["to"])
    exact = question["exact"] and question["kind"] == "statistics"
    first, last = resolve(CLOCK, begin, end, question["hourly"], exact)
    zones = owned if question["zone"] is None else {question["zone"]}
    answer = Answer(usage, zones, None, first, last, question["hourly"])
    if question["kind"] == "statistics":
        return answer.statistics(names)
    return getattr(answer, question["kind"])()


def difference(got, want):
    """The first fields that differ, and in a chart the first bucket."""
    lines = []
    got, want = json.loads(got), json.loads(want)
    for field in [f for f in want if got.get(f) != want[f]][:4]:
        mine, theirs = got.get(field), want[field]
        if isinstance(mine, dict) and isinstance(theirs, dict):
            keys = [k for k in {**theirs, **mine} if mine.get(k) != theirs.get(k)]
            field, mine, theirs = f"{field}[{keys[0]}]", mine.get(keys[0]), theirs.get(keys[0])
        lines.append(f"{field}: got {mine}, want {theirs}")
    return "\n".join(lines) or "the same values, other bytes (order or number format)"


def questions(dice, zones, count):
    """The fixed ones first: one of each kind, hourly and daily, all of an account, exact hours."""
    plain = {"kind": "statistics", "zone": None, "from": None, "to": None, "hourly": False,
             "exact": False}
    yield plain
    yield {**plain, "hourly": True}
    yield {**plain, "from": "2026-11-03", "to": "2026-11-03"}
    yield {**plain, "from": "2026-11-02T05:30:00Z", "to": "2026-11-02T07:00:00Z", "hourly": True,
           "exact": True}
    yield {**plain, "from": "2026-11-01T20:00:00Z", "to": "2026-11-02T02:00:01Z", "hourly": True,
           "exact": True, "zone": zones[0]}
    for kind in ("statistics", "optimizer", "queue", "safehop"):
        for zone in zones:
            yield {**plain, "kind": kind, "zone": zone}
            yield {**plain, "kind": kind, "zone": zone, "hourly": True, "from": "2026-11-01"}
    for _ in range(count):
        begin = CLOCK - timedelta(seconds=dice.randrange(29 * 86400))
        end = begin + timedelta(seconds=dice.randrange(9 * 86400))
        begin, end = (m.replace(microsecond=0) for m in (begin, end))
        yield {"kind": "statistics", "zone": dice.choice([None, *zones]),
               "from": text_date(dice, begin), "to": dice.choice([None, f"{end:%Y-%m-%dT%H:%M:%SZ}"]),
               "hourly": dice.random() < 0.6, "exact": dice.random() < 0.5}


def fill(db, dice, zones, edges, usage):
    """Everything into the database and into the twin; each input twice, which must change nothing."""
    folder = Path(db).parent
    log = (FIXTURES / "requests.log").read_text()
    more = random_log(dice, zones, edges, 4000)
    (folder / "more.log.gz").write_bytes(gzip.compress(more.encode()))
    combined = (FIXTURES / "access_combined.log").read_text()
    for _ in range(2):
        tollbook("ingest", "--db", db, FIXTURES / "requests.log", folder / "more.log.gz")
        tollbook("ingest", "--db", db, "--format", "combined", "--zone", zones[1], "--region", edges[0],
                 FIXTURES / "access_combined.log")
        tollbook("import", "--db", db, FIXTURES / "buckets.ndjson")
    usage.pipe_log(log)
    usage.pipe_log(more)
    usage.combined_log(combined, zones[1], edges[0])
    usage.bucket_rows((FIXTURES / "buckets.ndjson").read_text())


def main():
    dice = random.Random(random_seed())
    catalog = json.loads((FIXTURES / "catalog.json").read_text())
    zones = [zone["id"] for zone in catalog["zones"]] + [999]
    usage = Usage()
    asked = 0
    with tempfile.TemporaryDirectory() as folder:
        db = f"{folder}/t.db"
        tollbook("init", "--db", db)
        tollbook("apply", "--db", db, FIXTURES / "catalog.json")
        rows = tollbook("query", "--db", db, "SELECT code, name FROM region").splitlines()
        names = dict(row.split("\t") for row in rows[1:])
        fill(db, dice, zones, [*sorted(names)[::7], "QX7", "zz-9"], usage)
        tollbook("verify", "--db", db)
        for account in [a["id"] for a in catalog["accounts"]]:
            owned = [zone["id"] for zone in catalog["zones"] if zone["account"] == account]
            for question in questions(dice, owned, 40) if owned else ():
                got = ask(question, db, account)
                want = expected(question, usage, set(owned), names)
                asked += 1
                if got != want:
                    sys.exit(f"account {account}, {question}:\n{difference(got, want)}")
    print(f"{asked} answers, byte for byte the same")


if __name__ == "__main__":
    main()
