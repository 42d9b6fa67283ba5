"""The workload `replica` of `run` beside this file: a log in batches of 5,000 lines to a server alone, to one whose commits make
pieces, to one that a standby follows, and to one that answers when the standby has it. All times are of processors, but the last: from the last acknowledgement until the
standby has it."""
import json
import time
from http.client import HTTPConnection

BATCH = 5000


def batches(path):
    with open(path, "rb") as log:
        lines = log.readlines()
    return [b"".join(lines[i:i + BATCH]) for i in range(0, len(lines), BATCH)]


def post(port, key, bodies):
    """Seconds of each; what went wrong."""
    connection, waits = HTTPConnection("127.0.0.1", port), []
    for body in bodies:
        begin = time.monotonic()
        connection.request("POST", "/ingest/logs", body, {"AccessKey": key, "Content-Type": "text/plain"})
        answer = connection.getresponse()
        said = answer.read()
        waits.append(time.monotonic() - begin)
        if answer.status != 200:
            return waits, [f"replica: a batch was not taken: {answer.status} {said[:200]!r}"]
    return waits, []


def status(port, key):
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/replica/status", headers={"AccessKey": key})
    return json.loads(connection.getresponse().read())


def until_equal(primary, standby, key):
    """Waits until the standby has the primary's newest piece: (seconds, what went wrong)."""
    begin, wanted = time.monotonic(), status(primary, key)
    while (now := status(standby, key))["piece"] < wanted["piece"]:
        if time.monotonic() - begin > 60:
            return 60, [f"replica: the standby has piece {now['piece']} of {wanted['piece']}"]
        time.sleep(0.002)
    return time.monotonic() - begin, [] if now["digest"] == wanted["digest"] else ["replica: the digests differ"]
