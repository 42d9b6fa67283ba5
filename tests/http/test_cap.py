"""A contract's cap over the wire: the server raises its alert, and what customers see follows: zones that are disabled, and
charges that stay at the cap."""
import json
import time
import unittest

import harness
from harness import CATALOG, ENVIRONMENT, PATIENCE, Server, run

from test_billing import BOOK

GB = 10**9
ZONE, LOGS = "/pullzone/201", "/v2/pullzones/201/logs"


class Cap(unittest.TestCase):
    """It is the 4th of November. Account 2 pays 1 cent a GB."""

    def setUp(self):
        self.server = Server(log=b"")
        self.addCleanup(self.server.close)
        self.server.stop()
        run("book", "--db", self.server.db, "-", stdin=json.dumps(BOOK).encode())

    def declare(self, cap):
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"][1].update(contract={"minimum_monthly": "0", "cap": cap})
        catalog["zones"][2].update(created="2026-11-01T00:00:00Z", settings={"EnableLogging": True})
        run("apply", "--delete", "--db", self.server.db, "-", stdin=json.dumps(catalog).encode())

    def take(self, day, gigabytes):
        run("import", "--db", self.server.db, "-", stdin=json.dumps(
            {"zone": 201, "hour": f"2026-11-{day}:00:00Z", "region": "DE", "bytes": gigabytes * GB}).encode() + b"\n")

    def at(self, now):
        harness.ENVIRONMENT = {**ENVIRONMENT, "TOLLBOOK_NOW": now}
        self.addCleanup(setattr, harness, "ENVIRONMENT", ENVIRONMENT)

    def alerts(self):
        said = json.loads(run("alerts", "--db", self.server.db, "--format", "json").stdout)["alerts"]
        return [(a["alert"], a["kind"]) for a in said if not a.get("cleared")]

    def see(self):
        """Whether the zone is enabled, and what the month comes to."""
        shown = self.server.get(ZONE, "other").json()["Enabled"]
        self.assertEqual([z["Enabled"] for z in self.server.get("/pullzone", "other").json()], [shown])
        answer = self.server.get(LOGS, "other")
        self.assertEqual(answer.status, 200 if shown else 403)
        if not shown:
            self.assertIn("cap of its contract", answer.body.decode())
        return shown, self.server.get("/billing", "other").json()["ThisMonthCharges"]

    def test_zones_are_disabled_until_the_months_end_or_a_higher_cap(self):
        self.declare({"monthly": "3", "action": "disable"})
        self.take("01T05", 250)
        self.server.start()
        self.assertEqual(self.see(), (True, 2.5))
        self.server.stop()
        self.take("02T05", 100)
        self.server.start()  # it looks at once
        end = time.monotonic() + PATIENCE
        while not self.alerts():
            self.assertLess(time.monotonic(), end, self.server.messages())
        self.assertEqual(self.alerts(), [("contract:cap", "cap")])
        self.assertEqual(self.see(), (False, 3.5))
        self.server.stop()
        self.at("2026-11-05T09:30:00Z")
        self.take("05T08", 40)  # after the alert
        self.server.start()
        self.assertEqual(self.see(), (False, 3.5))
        self.server.stop()
        self.declare({"monthly": "10", "action": "disable"})
        self.server.start()
        self.assertEqual(self.see(), (True, 3.9))
        self.server.stop()
        self.declare({"monthly": "3", "action": "alert"})
        self.server.start()
        self.assertEqual(self.see(), (True, 3.9))
        self.server.stop()
        self.declare({"monthly": "3", "action": "disable"})
        self.at("2026-12-01T00:00:01Z")
        self.server.start()
        self.assertEqual(self.see(), (True, 0))


if __name__ == "__main__":
    unittest.main()
