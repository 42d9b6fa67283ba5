"""Days that end while they are read: request logs and shield events at midnight, UTC, with the server's
wall clock moved under it (libfaketime; the monotonic one runs on). What is being read stays whole,
what is asked for afterwards is what is kept then.
"""
import json
import os
import re
import shutil
import sys
import unittest
from pathlib import Path

import harness
from harness import CATALOG, ENVIRONMENT, Server, run

LIBRARY = next(iter(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)
if LIBRARY is None or not shutil.which("faketime"):
    print("skipped: there is no libfaketime")
    sys.exit(77)

BEFORE, AFTER = "2026-11-04 23:59:58", "2026-11-05 00:00:00"
BEFORE_MS = 1793836798000
DAY_MS = 86400000
MIDNIGHT_MS = BEFORE_MS + 2000
LINES = 60000
EVENTS = 20000
WALK = 250


def clock(text):
    return {**ENVIRONMENT, "TOLLBOOK_NOW": text.replace(" ", "T") + "Z"}


def line(ms, n):
    return (f"HIT|200|{ms}|{n}|101|192.0.2.1|-|https://h/{'%x' % (n * 7919) * 30}|DE|agent|{n:032x}|"
            "DE\n")


def event(zone, ms, i):
    return json.dumps({"shield_zone": zone, "timestamp": ms, "logId": f"e{i:06}",
                       "url": "https://h/" + "x" * 300}) + "\n"


class Midnight(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        harness.ENVIRONMENT = clock(BEFORE)
        CATALOG["shield_zones"] = [{"id": 42, "account": 1}, {"id": 43, "account": 1}]
        try:
            cls.server = Server(log=None)
        finally:
            del CATALOG["shield_zones"]
        cls.server.stop()
        # the last two seconds of the day that is about to be over, three days ago
        last = BEFORE_MS - 3 * DAY_MS
        text = "".join(line(last + i // 30, i) for i in range(LINES))
        text += line(MIDNIGHT_MS - 3 * DAY_MS, LINES)
        run("ingest", "--db", cls.server.db, "-", stdin=text.encode())
        # the oldest of the three days, and the one after it
        old = MIDNIGHT_MS - 3 * DAY_MS
        rows = "".join(event(42, old + i * DAY_MS // EVENTS * 2, i) for i in range(EVENTS))
        rows += "".join(event(43, old + d * DAY_MS + i, d * WALK + i)
                        for d in range(2) for i in range(WALK))
        run("import", "--db", cls.server.db, "-", stdin=rows.encode())
        cls.time = cls.server.path / "time"
        cls.start()

    @classmethod
    def start(cls):
        cls.set_clock(BEFORE)
        moving = {k: v for k, v in ENVIRONMENT.items() if k != "TOLLBOOK_NOW"}
        harness.ENVIRONMENT = {
            **moving, "TZ": "UTC", "LD_PRELOAD": str(LIBRARY), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_TIMESTAMP_FILE": str(cls.time),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}
        try:
            cls.server.start()
        finally:
            harness.ENVIRONMENT = clock(BEFORE)

    @classmethod
    def tearDownClass(cls):
        try:
            cls.server.close()
        finally:
            harness.ENVIRONMENT = ENVIRONMENT

    @classmethod
    def set_clock(cls, text):
        part = cls.time.with_suffix(".part")
        part.write_text(text + "\n")
        part.rename(cls.time)

    def post(self, target, text):
        answer = self.server.ask("POST", target, "ingest", text.encode())
        self.assertEqual(answer.status, 200, answer.body)

    def opened(self, method, target, body=b""):
        """A stream of which a little is read."""
        wire = self.server.wire()
        wire.send(f"{method} {target} HTTP/1.1\r\nHost: x\r\nAccessKey: {self.server.keys['user']}\r\n"
                  "Content-Type: application/json\r\n"
                  f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        self.addCleanup(wire.sock.close)
        self.assertTrue(wire.fill())
        return wire

    def stored(self, table):
        """Blocks, as a reader of its own sees them."""
        done = run("query", "--db", self.server.db, f"SELECT count(*) FROM {table}")
        return int(re.search(rb"\d+", done.stdout).group())

    # holds: logs.3-days
    def test_what_is_read_stays_whole_and_what_is_asked_later_is_what_is_kept(self):
        ask = self.server.get
        blocks = self.stored("log_block"), self.stored("event_block")
        first = ask("/shield/event-logs/43/11-02-2026").json()
        next_day = ask("/shield/event-logs/43/11-03-2026").json()
        self.assertTrue(first["hasMoreData"] and next_day["hasMoreData"])
        log = self.opened("GET", "/11-01-26/101.log?sort=asc")
        window = {"from": MIDNIGHT_MS - 3 * DAY_MS, "to": BEFORE_MS}
        export = self.opened("POST", "/shield/event-logs/42/export", json.dumps(window).encode())

        self.set_clock(AFTER)
        # what comes in takes with it what is over
        self.post("/ingest/logs", line(MIDNIGHT_MS - 1000, 7))
        self.post("/ingest/buckets", event(42, MIDNIGHT_MS, EVENTS))
        self.assertLess(self.stored("log_block"), blocks[0])
        self.assertLess(self.stored("event_block"), blocks[1])

        rows = log.read().body.decode().splitlines()
        self.assertEqual(sorted(int(row.split("|")[3]) for row in rows), list(range(LINES)))
        ids = [row.split(",")[1] for row in export.read().body.decode().split("\r\n")[1:-1]]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertLessEqual({f"e{i:06}" for i in range(EVENTS // 2, EVENTS)}, set(ids))

        answer = ask("/11-01-26/101.log")
        self.assertEqual((answer.status, answer.json()["error"]["code"]), (400, "invalid_request"))
        self.assertEqual(ask("/11-02-26/101.log").body.count(b"\n"), 1)
        self.assertEqual(ask("/11-05-26/101.log").body, b"")
        page = ask("/v2/pullzones/101/logs?from=2026-11-02T00:00:00Z").json()
        self.assertEqual([e["bytesSent"] for e in page["data"]], [7, LINES])
        for path in ("11-02-2026", f"11-02-2026/{first['continuationToken']}"):
            answer = ask(f"/shield/event-logs/43/{path}")
            self.assertEqual((answer.status, answer.json()["errorResponse"]["errorKey"]),
                             (400, "invalid_datetime_window.event_logs"))
        rest = ask(f"/shield/event-logs/43/11-03-2026/{next_day['continuationToken']}").json()
        self.assertEqual([e["logId"] for e in rest["logs"]],
                         [f"e{WALK + i:06}" for i in reversed(range(50, 150))])
        self.assertEqual(ask("/shield/event-logs/42/11-05-2026").json()["logs"][0]["logId"],
                         f"e{EVENTS:06}")
        window["to"] = MIDNIGHT_MS + 1000
        body = self.server.ask("POST", "/shield/event-logs/42/export", "user",
                               json.dumps(window).encode(), Content_Type="application/json").body
        self.assertEqual(body.count(b"\r\n"), 1 + EVENTS // 2 + 1)


if __name__ == "__main__":
    unittest.main()
