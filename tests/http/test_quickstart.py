"""server/quickstart: one answer and out with --once; serving, with the commands it suggests tried
as printed, until Ctrl-C; exit 0, nothing left behind.
"""
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
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


def looks(text):
    """The console's address and keys are what a browser needs to see ten months and their invoices."""
    page = re.search(r"^  (http://\S+)/console/$", text, re.M)
    keys = re.findall(r"^  as .*?  ([0-9a-f]{48})$", text, re.M)
    need(page and len(keys) == 2, "no address and two keys", text)
    url = page[1]
    with urllib.request.urlopen(url + "/console/") as answer:
        need(b"<title>tollbook</title>" in answer.read(), "no page")
    offers, found, cookies = [], {}, []
    for key in keys:
        asked = urllib.request.Request(
            url + "/console/session", json.dumps({"key": key}).encode(),
            {"Content-Type": "application/json", "X-Tollbook-Console": "1"})
        with urllib.request.urlopen(asked) as answer:
            offers.append(json.load(answer)["offers"])
            cookies.append(answer.headers["Set-Cookie"].split(";")[0])
        if "operator" not in offers[-1]:
            for path in ("/billing/invoices", "/statistics"):
                with urllib.request.urlopen(urllib.request.Request(url + path, headers={"Cookie": cookies[-1]})) as answer:
                    found[path] = json.load(answer)
    need({"statistics", "billing", "whatif"} <= set(offers[0]) and "operator" in offers[1], "offers", offers)
    what_if = {"from": "2026-01", "to": "2026-10", "scenarios": [json.loads((SOURCE / "fixtures/scenario.json").read_text())]}
    asked = urllib.request.Request(url + "/billing/what-if", json.dumps(what_if).encode(), {
        "Content-Type": "application/json", "X-Tollbook-Console": "1", "Cookie": cookies[0]})
    with urllib.request.urlopen(asked) as answer:
        need(json.load(answer)["scenarios"], "no what-if")
    need(found["/statistics"]["TotalRequestsServed"] > 10**7, "no traffic", found)
    need(len(found["/billing/invoices"]["invoices"]) == 10, "no ten invoices", found["/billing/invoices"])


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
        looks(text)
    finally:
        os.killpg(server.pid, signal.SIGINT)
        status = server.wait(timeout=60)
    need(status == 0, f"Ctrl-C: exit {status}")


before = left_behind()
need(once() == 115182733, "the fixtures' total is 115182733 bytes")
serving()
need(left_behind() <= before, "a database was left behind", left_behind())
print("quickstart answers, serves and leaves nothing behind")
