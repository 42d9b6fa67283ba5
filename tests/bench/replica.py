"""The workload `replica` of `run` beside this file: a log in batches of 5,000 lines to a server alone, to one whose commits make
pieces, to one that a standby follows, and to one that
answers when the standby has it. Then what a standby that was away takes to have all of it, how far one is behind while
batches come at an even pace, and what it takes to make one from a base."""
import json
import os
import shutil
import time
from http.client import HTTPConnection

BATCH = 5000


def batches(path):
    with open(path, "rb") as log:
        lines = log.readlines()
    return [b"".join(lines[i:i + BATCH]) for i in range(0, len(lines), BATCH)]


def send(connection, key, body):
    """What went wrong."""
    connection.request("POST", "/ingest/logs", body, {"AccessKey": key, "Content-Type": "text/plain"})
    answer = connection.getresponse()
    said = answer.read()
    return [] if answer.status == 200 else [f"replica: a batch was not taken: {answer.status} {said[:200]!r}"]


def post(port, key, bodies):
    """Seconds of each; what went wrong."""
    connection, waits, wrong = HTTPConnection("127.0.0.1", port), [], []
    for body in bodies:
        begin = time.monotonic()
        wrong += send(connection, key, body)
        waits.append(time.monotonic() - begin)
    return waits, wrong[:1]


def status(connection, key):
    connection.request("GET", "/replica/status", headers={"AccessKey": key})
    return json.loads(connection.getresponse().read())


def until_equal(primary, standby, key, pause=0.002):
    """Waits until the standby has the primary's newest piece: (seconds, what went wrong)."""
    begin, wanted = time.monotonic(), status(primary, key)
    while (now := status(standby, key))["piece"] < wanted["piece"]:
        if time.monotonic() - begin > 120:
            return 120, [f"replica: the standby has piece {now['piece']} of {wanted['piece']}"]
        time.sleep(pause)
    return time.monotonic() - begin, [] if now["digest"] == wanted["digest"] else ["replica: the digests differ"]


def paced(primary, standby, keys, bodies, rate):
    """Batches at so many lines a second: how long after its answer the standby had each, in seconds; the rate that was reached; what
    went wrong."""
    lags, wrong, begin = [], [], time.monotonic()
    for i, body in enumerate(bodies):
        time.sleep(max(0, begin + i * BATCH / rate - time.monotonic()))
        wrong += send(primary, keys[0], body)
        lag, differs = until_equal(primary, standby, keys[1], 0.001)
        lags.append(lag)
        wrong += differs
    return lags, BATCH * len(bodies) / (time.monotonic() - begin), wrong[:1]


def is_ready(port):
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/readyz")
    return connection.getresponse().status == 200


def copied(store, to):
    """Seconds of a copy of the file that is on the disk, as cp and sync make it."""
    begin = time.monotonic()
    shutil.copyfile(store, to)
    with open(to, "rb+") as copy:
        os.fsync(copy.fileno())
    return time.monotonic() - begin
