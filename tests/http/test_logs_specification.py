"""What the specification says of the CDN request logging API, v2 and v1: who may read, what each
status and code is, the cache statuses, the rate, and how long lines are kept.
"""
import json
import sqlite3
import unittest

from harness import CATALOG, Case, Server, hit, run

V2, V1 = "/v2/pullzones/{}/logs", "/11-03-26/{}.log"
STATUSES = ("HIT", "MISS", "BYPASS", "REVALIDATED", "STALE", "UPDATING", "-")
DAYS_AGO_3 = -3 * 3600 - 2 * 86400  # seconds from hit()'s moment to three days before NOW


def codes(answer):
    return answer.status, answer.json()["error"]["code"]


class Logs(Case):
    """Zone 101 logs, 102 does not, 103 is suspended, 104 is disabled, all of account 1."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"][1]["settings"] = {"EnableLogging": False}
        for zone, settings in ((103, {"Suspended": True}), (104, {"Enabled": False}), (105, {}),
                               (106, {}), (107, {}), (108, {"MonthlyBandwidthLimit": 900}),
                               (109, {"MonthlyBandwidthLimit": 1100}),
                               (110, {"MonthlyBandwidthLimit": 900})):
            catalog["zones"].append({"id": zone, "account": 1, "name": f"z{zone}",
                                     "created": "2026-01-05T00:00:00Z", "settings": settings})
        catalog["zones"][-1]["type"] = "volume"
        catalog["accounts"].append({"id": 3, "name": "broke", "prepaid": True})
        catalog["zones"].append({"id": 202, "account": 3, "name": "z202",
                                 "created": "2026-01-05T00:00:00Z"})
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        server.keys["broke"] = server.make_key(3, "User")
        lines = b"".join(hit(105, i, 1000, cache) for i, cache in enumerate(STATUSES))
        lines += hit(108) + hit(109) + hit(110)
        lines += b"".join(hit(106, DAYS_AGO_3 + s) for s in (-1, 0, 1))
        run("ingest", "--db", server.db, "-", stdin=lines)
        server.start()

    # holds: logs.versions, logs.v2, logs.v1, auth.logs-key
    def test_both_versions_show_the_same_lines(self):
        page = self.server.get(V2.format(105))
        self.assertEqual((page.status, page.headers["content-type"]), (200, "application/json"))
        self.assertEqual(list(page.json()), ["data", "pagination", "query"])
        text = self.server.get(V1.format(105))
        self.assertEqual(text.status, 200)
        self.assertTrue(text.headers["content-type"].startswith("text/plain"))
        rows = [line.split("|") for line in text.body.decode().splitlines()]
        self.assertEqual([len(row) for row in rows], [12] * len(STATUSES))
        self.assertEqual([row[0] for row in rows],
                         [entry.get("cacheStatus") for entry in page.json()["data"]])

    # holds: logs.cache-hit, logs.cache-miss, logs.cache-bypass, logs.cache-revalidated
    # holds: logs.cache-stale, logs.cache-updating, logs.cache-none
    def test_every_cache_status_is_stored_and_returned(self):
        page = self.server.get(V2.format(105) + "?order=asc").json()
        self.assertEqual([entry["cacheStatus"] for entry in page["data"]], list(STATUSES))
        for status in STATUSES:
            found = self.server.get(V2.format(105) + f"?cacheStatus={status}").json()["data"]
            self.assertEqual([entry["cacheStatus"] for entry in found], [status])

    # holds: logs.401, auth.logs-none
    def test_no_credentials_are_401(self):
        for path in (V2, V1):
            self.assertEqual(codes(self.server.get(path.format(101), None)), (401, "unauthorized"))

    # holds: logs.403, auth.logs-wrong, auth.logs-suspended
    def test_wrong_credentials_and_zones_that_are_off_are_403(self):
        for path in (V2, V1):
            self.assertEqual(codes(self.server.get(path.format(101), "0" * 48)), (403, "forbidden"))
            for zone in (103, 104):
                self.assertEqual(codes(self.server.get(path.format(zone))), (403, "forbidden"))

    # holds: auth.logs-suspended
    def test_zones_that_their_limit_or_their_funds_disable_are_403(self):
        for zone, key in ((108, "user"), (110, "user"), (202, "broke")):
            self.assertFalse(self.server.get(f"/pullzone/{zone}", key).json()["Enabled"])
            for path in (V2, V1):
                self.assertEqual(codes(self.server.get(path.format(zone), key)), (403, "forbidden"))
        self.assertTrue(self.server.get("/pullzone/109").json()["Enabled"])
        self.assertEqual(self.server.get(V2.format(109)).status, 200)

    # holds: logs.404, logs.enabled
    def test_a_zone_without_logging_is_404(self):
        for path in (V2, V1):
            self.assertEqual(codes(self.server.get(path.format(102))), (404, "logging_disabled"))

    # holds: logs.400
    def test_parameters_that_are_none_are_400(self):
        for path, query in ((V2, "limit=0"), (V2, "from=soon"), (V2, "order=up"), (V1, "sort=up"),
                            (V1, "start=-1")):
            answer = self.server.get(f"{path.format(101)}?{query}")
            self.assertEqual(codes(answer), (400, "invalid_request"))
            self.assertTrue(answer.json()["error"]["details"])

    # holds: logs.429, logs.rate
    def test_the_31st_request_in_ten_seconds_is_429(self):
        with self.server.wire() as wire:
            for version, zone in ((V2, 107), (V1, 101)):
                header = {"AccessKey": self.server.keys["user"]}
                answers = [wire.ask("GET", version.format(zone) + "?", header) for _ in range(31)]
                self.assertEqual([a.status for a in answers[:10]], [200] * 10)
                if zone == 107:  # asked by this test alone
                    self.assertEqual([a.status for a in answers], [200] * 30 + [429])
                self.assertEqual(codes(answers[-1]), (429, "rate_limited"))
                self.assertRegex(answers[-1].headers["retry-after"], r"^\d+$")
                self.assertLessEqual(int(answers[-1].headers["retry-after"]), 10)

    # holds: logs.3-days
    def test_lines_are_kept_for_three_days(self):
        shown = self.server.get("/11-01-26/106.log").body.decode().splitlines()
        self.assertEqual(len(shown), 2)
        answer = self.server.get(V2.format(106) + "?from=2026-11-01T09:00:00Z&limit=10")
        self.assertEqual(len(answer.json()["data"]), 2)
        for target in (V2.format(106) + "?from=2026-10-31T09:00:00Z&to=2026-11-02T00:00:00Z",
                       "/10-31-26/106.log"):
            self.assertEqual(codes(self.server.get(target)), (400, "invalid_request"))

    # holds: logs.near-real-time
    def test_what_was_acknowledged_is_there(self):
        before = len(self.server.get(V2.format(201), "other").json()["data"])
        answer = self.server.ask("POST", "/ingest/logs", "operator", hit(201, 500) + hit(201, 501))
        self.assertEqual(answer.status, 200, answer.body)
        after = self.server.get(V2.format(201), "other").json()["data"]
        self.assertEqual(len(after), before + 2)
        self.assertEqual(after[0]["timestamp"], "2026-11-03T12:08:21.000Z")


class Broken(unittest.TestCase):
    # holds: logs.500
    def test_a_damaged_block_is_500(self):
        server = Server()
        try:
            server.stop()
            with open(server.db, "rb") as file:
                content = bytearray(file.read())
            db = sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)
            blobs = [row[0] for row in db.execute("SELECT data FROM log_block WHERE zone=101 UNION ALL"
                                                  " SELECT data FROM log_run")]
            db.close()
            blob = max(blobs, key=len)
            at = bytes(content).find(blob)
            self.assertGreater(at, 0)
            content[at + len(blob) // 2] ^= 0xFF
            with open(server.db, "wb") as file:
                file.write(content)
            server.start()
            answer = server.get(V2.format(101))
            self.assertEqual(codes(answer), (500, "internal_error"))
            self.assertNotIn(str(server.db).encode(), answer.body)
            server.stop()
        finally:
            server.folder.cleanup()


if __name__ == "__main__":
    unittest.main()
