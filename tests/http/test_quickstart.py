"""server/quickstart: one answer and out with --once; serving, with the commands it suggests tried
as printed, until Ctrl-C; exit 0, nothing left behind.
"""
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
TOTAL = re.compile(r"TotalBandwidthUsed +([\d,]+) bytes")


def left_behind():
    return {path.name for path in (SOURCE / "build").glob("quickstart.*")}


def need(truth, sentence, seen=""):
    if not truth:
        sys.exit(f"{sentence}\n{seen}")


def once():
    run = subprocess.run([SOURCE / "server" / "quickstart", "--once", "--build", BUILD],
                         capture_output=True, text=True, check=False)
    need(run.returncode == 0, f"--once: exit {run.returncode}", run.stdout + run.stderr)
    found = TOTAL.search(run.stdout)
    need(found, "--once prints no total", run.stdout)
    return int(found[1].replace(",", ""))


def suggested(text, word):
    """The suggested command that has this word, as a user would copy it."""
    found = [line for line in re.findall(r"^  ([^# ].*)$", text, re.M) if word in line]
    need(found, f"no suggestion with {word}", text)
    return subprocess.run(["bash", "-c", found[0]], cwd=SOURCE, capture_output=True, text=True,
                          check=False)


def serving():
    server = subprocess.Popen([SOURCE / "server" / "quickstart", "--build", BUILD], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True)
    try:
        text = ""
        for line in server.stdout:
            text += line
            if line.startswith("Serving until"):
                break
        curl = suggested(text, "curl")
        need("TotalRequestsServed" in json.loads(curl.stdout), "curl got no answer", curl.stderr)
        ingest = suggested(text, "tollbook ingest")
        need(ingest.returncode == 0 and "nothing new" in ingest.stderr, "ingest", ingest.stderr)
        query = suggested(text, "tollbook query")
        need(len(query.stdout.splitlines()) == 6, "query", query.stdout + query.stderr)
        need(suggested(text, "tollbook help").returncode == 0, "help")
    finally:
        os.killpg(server.pid, signal.SIGINT)
        status = server.wait(timeout=60)
    need(status == 0, f"Ctrl-C: exit {status}")


before = left_behind()
need(once() == 115182733, "the fixtures' total is 115182733 bytes")
serving()
need(left_behind() <= before, "a database was left behind", left_behind())
print("quickstart answers, serves and leaves nothing behind")
