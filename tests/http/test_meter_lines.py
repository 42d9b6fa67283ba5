"""Usage lines of meters over HTTP: mixed with rows of pull zones, once, whole or not at all."""
import json
import sqlite3
import unittest

from harness import CATALOG, Case, Server, run

METERS = [{"meter": "runs", "kind": "counter", "unit": "run", "resource": "script", "dimensions": ["region"]},
          {"meter": "disk", "kind": "gauge", "unit": "byte", "resource": "disk"},
          {"meter": "port", "kind": "sample", "unit": "byte", "interval": 300, "resource": "port"}]


def runs(value, hour=1, **more):
    return json.dumps({"meter": "runs", "resource": "s1", "hour": f"2026-11-02T{hour:02}:00:00Z",
                       "dimensions": {"region": "DE"}, "value": value, **more}).encode() + b"\n"


def disk(value, **more):
    return json.dumps({"meter": "disk", "resource": "d1", "time": "2026-11-02T01:07:30Z", "value": value,
                       **more}).encode() + b"\n"


def zone(hour):
    return json.dumps({"zone": 102, "hour": f"2026-11-02T{hour:02}:00:00Z", "region": "DE", "requests": 5}).encode() + b"\n"


class Lines(Case):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(log=None)
        catalog = cls.server.path / "meters.json"
        catalog.write_text(json.dumps({**CATALOG, "meters": METERS}))
        run("apply", "--server", cls.server.url, "--key", cls.server.keys["operator"], catalog)

    def post(self, body, onto="", *, status=200, **headers):
        answer = self.server.ask("POST", "/ingest/buckets" + onto, "operator", body, **headers)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def held(self):
        """The values of gauges that hold, latest last."""
        with sqlite3.connect(f"file:{self.server.db}?mode=ro", uri=True) as db:
            return [value for value, in db.execute(
                "SELECT g.value FROM gauge g WHERE gone_version=9223372036854775807 ORDER BY at_us,segment")]

    def test_lines_of_all_kinds_in_one_body(self):
        body = runs(5, account=1) + zone(1) + runs(7) + disk(10, account=2)
        self.assertEqual(self.post(body)["accepted"], 4)
        again = self.post(body)
        self.assertEqual((again["accepted"], again["knownLines"], again["duplicate"]), (0, 4, True))
        self.assertEqual(self.held()[0], 10)
        self.assertEqual(self.post(disk(11), Idempotency_Key="night")["accepted"], 1)
        self.assertEqual(self.post(disk(11), Idempotency_Key="night")["accepted"], 0)
        self.assertEqual(self.post(disk(12), Idempotency_Key="night", status=409)["ErrorKey"], "batch.conflict")
        self.assertEqual(self.held(), [10, 11])
        self.post(disk(11), "/withdraw", Idempotency_Key="night")
        self.assertEqual(self.held(), [10])

    def test_refused_lines(self):
        cases = [
            (runs(1, account=1, resource="x").replace(b'"runs"', b'"rns"'), 'Did you mean "runs"?'),
            (runs(1, resource="unnamed"), '"account" is missing'),
            (runs(1, account=77, resource="x"), "77, which no catalogue declares"),
            (disk(1, account=1, resource="x").replace(b'"time"', b'"hour"'), "on the hour"),
            (runs(1, account=1, resource="x", dimensions={"zone": "1"}), 'does not have: "zone"'),
            (runs(1, account=1, resource="x", dimensions={}), 'lacks the meter\'s dimension "region"'),
            (runs(1, account=1, resource="x" * 65), '"resource" must be a text of 1 to 64 bytes'),
            (runs(1.5, account=1, resource="x"), '"value" must be a whole number'),
            (runs(1, account=1, resource="x", colour="red"), '"colour" is not a key'),
        ]
        for body, says in cases:
            answer = self.post(zone(2) + body, status=400)
            self.assertEqual(answer["ErrorKey"], "ingest.line_rejected")
            self.assertTrue(answer["Message"].startswith("Line 2, byte "), answer)
            self.assertIn(says, answer["Message"])
        report = self.post(zone(3) + b"".join(body for body, _ in cases), "?onError=skip")
        self.assertEqual((report["accepted"], report["rejected"]), (1, len(cases)))
        self.assertEqual(report["firstReject"]["line"], 2)


if __name__ == "__main__":
    unittest.main()
