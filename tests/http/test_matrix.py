"""Every route that takes an id, with every kind of id: one's own, another account's, and ids that
are none. What is another account's is answered exactly like what does not exist.

The routes are those of server/api/routes.c; a new one must be given its ids here.
"""
import json
import re
import unittest

from harness import CATALOG, Case, run, seed
from test_billing import BOOK

NONE = ("-1", "+1", "01", "1e3", "0x1", "9223372036854775808", "0")
ABSENT = "999999"
DATE = "11-03-26"
DAY = "11-03-2026"

# Path, where "?" is the id under test: an id of account 1, of account 2; the body of a POST.
IDS = {
    "/pullzone/?": ("101", "201"),
    "/pullzone/?/optimizer/statistics": ("101", "201"),
    "/pullzone/?/originshield/queuestatistics": ("101", "201"),
    "/pullzone/?/safehop/statistics": ("101", "201"),
    "/loadbalancer/?/usage": ("7", "8"),
    "/billing/invoices/?": ("2026-000001", "2026-000002"),
    "/billing/invoices/?/lines/1/explain": ("2026-000001", "2026-000002"),
    "/billing/invoices/2026-000001/lines/?/explain": ("1", None),
    "/v2/pullzones/?/logs": ("101", "201"),
    f"/{DATE}/?.log": ("101", "201"),
    f"/shield/event-logs/?/{DAY}": ("41", "42"),
    f"/shield/event-logs/?/{DAY}/": ("41", "42"),
    f"/shield/event-logs/?/{DAY}/0": ("41", "42"),
    "/shield/event-logs/?/export": ("41", "42"),
    "/mc/apps/?/deploy": ("shop", "desk"),
    "/keys/?": (None, None),
    "/invoices/?/void": (None, None),
    "/books/?": (None, None),
    "/books/?/activate": (None, None),
}
# The last 24 hours before the harness's clock.
BODIES = {"/shield/event-logs/?/export": b'{"from":1793696400000,"to":1793782800000}'}
# The operator's own, of all accounts.
OPERATORS = ("/keys/?", "/invoices/?/void", "/books/?", "/books/?/activate")


class Matrix(Case):
    """Both accounts have two of everything: zones, balancers, final invoices, log lines."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["load_balancers"] = [
            {"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [101]},
            {"id": 8, "account": 2, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [201]}]
        catalog["shield_zones"] = [{"id": 41, "account": 1}, {"id": 42, "account": 2}]
        catalog["container_apps"] = [{"id": "shop", "account": 1, "name": "shop"},
                                     {"id": "desk", "account": 2, "name": "desk"}]
        cls.more(catalog)
        db = server.db
        run("apply", "--db", db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 3 * 10**11}
                for zone in (101, 201)]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", db, "--month", "2026-10", "--finalize")
        server.start()

    @classmethod
    def more(cls, catalog):
        """What further routes need of the catalogue."""

    def judged(self, path, text):
        """Status, headers and body of an answer about an id, without what names id and request."""
        key = "operator" if path in OPERATORS else "user"
        method = next(row["method"] for row in seed.routes() if row["path"] == template(path))
        answer = self.server.ask(method, path.replace("?", text), key, BODIES.get(path),
                                 **({"Content_Type": "application/json"} if path in BODIES else {}))
        fixed = {k: v for k, v in answer.headers.items() if k not in ("x-request-id", "date")}
        body = answer.body.decode()
        for named in (path.replace("?", text), f'\\"{text}\\"', answer.headers["x-request-id"]):
            body = body.replace(named, "")
        fixed.pop("content-length", None)
        return answer.status, fixed, body

    def test_every_route_with_an_id_is_here(self):
        known = {template(path) for path in IDS}
        for row in seed.routes():
            if "{id}" in row["path"]:
                self.assertIn(row["path"], known, "give the route its ids in IDS")

    def test_own_ids_are_answered(self):
        for path, (own, _) in IDS.items():
            if own is not None:
                self.assertIn(self.judged(path, own)[0], (200, 204, 304), path)

    def test_ids_that_are_none_and_another_accounts_are_like_one_that_does_not_exist(self):
        for path, (_, foreign) in IDS.items():
            absent = self.judged(path, ABSENT)
            self.assertIn(absent[0], (403, 404), path)
            for text in NONE + ((foreign,) if foreign else ()):
                self.assertEqual(self.judged(path, text), absent, (path, text))


def template(path):
    """The row of the route table that a path of IDS belongs to."""
    for row in seed.routes():
        pattern = "[^/]+".join(map(re.escape, row["path"].split("{id}")))
        if "{id}" in row["path"] and re.fullmatch(pattern, path):
            return row["path"]
    raise AssertionError(f"{path} is no route")


if __name__ == "__main__":
    unittest.main()
