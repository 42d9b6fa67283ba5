"""POST /events: CloudEvents with usage of meters, each event once, whoever sends it again and in whatever body."""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from harness import CATALOG, ENVIRONMENT, NOW, PATIENCE, SOURCE, Server, run

METERS = [
    {"meter": "calls", "name": "Calls", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region"]},
    {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "resource": "storage_zone"},
    {"meter": "port", "name": "Transit", "kind": "sample", "unit": "byte", "interval": 300, "resource": "port"}]


def event(number, meter="calls", subject="s1", value=5, account=1, time="2026-11-03T12:07:00Z", **more):
    made = {"specversion": "1.0", "id": str(number), "source": "test", "type": meter, "subject": subject,
            "data": {"account": account, "value": value}}
    if meter == "calls":
        made["data"]["dimensions"] = {"region": "DE"}
    if time:
        made["time"] = time
    return {**made, **more}
BOOK = {"book": "meters", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}}},
        "meters": {"calls": {"per": "100", "price": "2.00"}, "storage": {"per": "1", "time": "hour", "price": "0"},
                   "port": {"percentile": "95", "per": "Mbps", "price": "0"}}}


class Metered(Server):
    """With meters, and a key of the operator that may send usage."""
    def make(self, log):
        keys = super().make(log)
        run("apply", "--db", self.db, "-", stdin=json.dumps({**CATALOG, "meters": METERS}).encode())
        run("book", "add", "--backdated", "--db", self.db, "-", stdin=json.dumps(BOOK).encode())
        return {**keys, "fleet": self.make_key(0, "Ingest")}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Events(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Metered(log=b"")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    def post(self, body, key="fleet", path="/events", kind=None, **headers):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = kind or f"application/cloudevents{'-batch' if isinstance(body, list) else ''}+json"
        return self.server.ask("POST", path, key, text, Content_Type=kind, **headers)

    def taken(self, answer, accepted, duplicates=0):
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json(), {"accepted": accepted, "duplicates": duplicates, "rejected": []})

    def counted(self, segments=False):
        what = "count(*)" if segments else "coalesce(sum(accepted),0)"
        done = run("query", "--db", self.server.db, "--format", "tsv", f"SELECT {what} FROM segment WHERE name LIKE 'events %'")
        return int(done.stdout.split()[-1])

    def test_one_event_a_list_and_plain_json(self):
        before = self.counted()
        self.taken(self.post(event("one")), 1)
        self.taken(self.post([event("two"), event("three", "storage", "z1", "77", time=None)]), 2)
        self.taken(self.post(event("four", "port", "p1"), kind="application/json"), 1)
        self.taken(self.post([event("five")], kind="application/json; charset=utf-8"), 1)
        self.taken(self.post([]), 0)
        self.assertEqual(self.counted(), before + 5)

    def test_the_same_again_changes_nothing(self):
        before = self.counted()
        self.taken(self.post([event("a"), event("b")]), 2)
        self.taken(self.post([event("a"), event("b")]), 0, 2)
        self.taken(self.post(event("b", value=9, subject="s2")), 0, 1)
        self.taken(self.post([event("b"), event("c"), event("c"), event("a", time="2026-10-03T12:07:00Z")]), 1, 3)
        self.taken(self.post(event("a", source="another")), 1)
        self.assertEqual(self.counted(), before + 4)
        run("verify", "--db", self.server.db)

    def test_an_id_belongs_to_the_account_of_the_key(self):
        self.taken(self.post(event("owned")), 1)
        self.taken(self.post(event("owned"), "ingest"), 1)
        self.taken(self.post(event("owned"), "ingest"), 0, 1)

    def test_if_one_is_refused_nothing_counts(self):
        before = self.counted(segments=True)
        answer = self.post([event("r1"), event("r2", "cals"), 7, event("r3", value=-1), event("r4", account=2)])
        self.assertEqual(answer.status, 422)
        report = answer.json()
        self.assertEqual((report["accepted"], report["duplicates"]), (0, 0))
        self.assertEqual([one["index"] for one in report["rejected"]], [1, 2, 3, 4])
        for one, part in zip(report["rejected"], ("calls", "not an object", "value", "account 1")):
            self.assertIn(part, one["reason"])
        self.assertEqual(self.counted(segments=True), before)
        self.taken(self.post(event("r1")), 1)

    def test_what_is_no_cloud_event_is_400(self):
        for body in (b"", b"{", b"3", b"[1]", b'{"id":"1"}', b'{"specversion":"1.0","id":"1","id":"2"}'):
            answer = self.post(body, kind="application/json")
            self.assertEqual((answer.status, answer.error), (400, "ingest.invalid"), body)
        self.assertEqual(self.post([event("f")], kind="application/cloudevents+json").status, 400)
        self.assertEqual(self.post(event("f"), kind="application/cloudevents-batch+json").status, 400)
        self.assertEqual(self.post(event("f"), kind="text/plain").status, 415)
        self.assertEqual(self.post(b"[" + b"[],"  * 40000 + b"[]]", kind="application/json").status, 413)

    def test_a_large_list_is_parsed_by_the_pool(self):
        self.taken(self.post([event(f"large-{i}", subject=f"s{i % 70}") for i in range(2000)]), 2000)
        self.taken(self.post([event(f"large-{i}", subject=f"s{i % 70}") for i in range(1000, 3000)]), 1000, 1000)

    def test_who_may_post(self):
        self.assertEqual(self.post(event("k"), "user").status, 403)
        self.assertEqual(self.post(event("k"), None).status, 401)
        self.assertEqual(self.post(event("k"), "operator").status, 200)

    def test_the_key_of_an_account_sends_its_own_events(self):
        answer = self.post([event("own 1"), event("own 2", subject="s2", account=2)], "ingest")
        self.assertEqual((answer.status, answer.json()["rejected"]),
                         (422, [{"index": 1, "reason": '"account" is 2, but the key is of account 1.'}]))
        left_out = {**event("own 3", subject="own"), "data": {"value": 1, "dimensions": {"region": "DE"}}}
        self.assertEqual(self.post(left_out).status, 422)
        self.taken(self.post(left_out, "ingest"), 1)

    def test_a_key_as_a_bearer_token(self):
        key = self.server.keys["fleet"]
        for path in ("/api/v1/events", "/events"):
            answer = self.post([event(f"bearer {path}")], None, path, Authorization=f"Bearer {key}")
            self.taken(answer, 1)
        self.assertEqual(self.post([event("b")], None, Authorization=f"Bearer {key[:-1]}x").status, 401)
        self.assertEqual(self.server.ask("GET", "/ingest/segments", None, Authorization=f"Bearer {key}").status, 401)


class Months(unittest.TestCase):
    def at(self, now):
        """The server with another clock."""
        self.server.stop()
        ENVIRONMENT["TOLLBOOK_NOW"] = now
        self.server.start()

    def setUp(self):
        self.server = Metered(log=b"")
        self.addCleanup(self.server.close)
        self.addCleanup(ENVIRONMENT.update, TOLLBOOK_NOW=NOW)

    def post(self, *events):
        answer = self.server.ask("POST", "/events", "fleet", json.dumps(events).encode(), Content_Type="application/json")
        return answer.status, answer.json()

    def finalize(self, month):
        done = run("invoice", "--db", self.server.db, "--month", month, "--finalize", "--format", "json")
        return json.loads(done.stdout)["invoices"]

    def test_ids_outlast_their_month_until_it_is_billed(self):
        october = event("o", time="2026-10-31T23:59:59Z", value=1000)
        taken, known = ({"accepted": n, "duplicates": 1 - n, "rejected": []} for n in (1, 0))
        self.assertEqual(self.post(october), (200, taken))
        self.assertEqual(self.post({**event("t", time=None), "subject": "s2"}), (200, taken))
        self.at("2027-01-04T00:00:00Z")
        self.assertEqual(self.post(october), (200, known))
        self.assertEqual(self.post({**event("t", time=None), "subject": "s2"}), (200, known))
        self.server.stop()
        lines = [line for line in self.finalize("2026-10")[0]["lines"] if line["kind"] == "meter"]
        self.assertEqual([(line["resource"], line["quantity"], line["amount"]) for line in lines],
                         [("meter:calls", "1000", "20.00")])
        self.server.start()
        for late in (october, event("another", time="2026-10-05T00:00:00Z")):
            status, report = self.post(event("new"), late)
            self.assertEqual((status, report["accepted"]), (422, 0))
            self.assertEqual([one["index"] for one in report["rejected"]], [1])
            self.assertIn("2026-10", report["rejected"][0]["reason"])

    def test_an_event_of_a_final_month_is_a_correction(self):
        self.assertEqual(self.post(event("o", time="2026-10-31T23:59:59Z", value=1000))[0], 200)
        self.server.stop()
        self.finalize("2026-10")
        self.server.start()
        self.assertEqual(self.post(event("late", time="2026-10-30T00:00:00Z", value=500), event("o"))[1],
                         {"accepted": 1, "duplicates": 1, "rejected": []})
        self.at("2026-12-02T00:00:00Z")
        self.server.stop()
        (invoice,) = self.finalize("2026-11")
        self.assertIn("10.00", json.dumps(invoice["lines"]))
        self.server.start()


SDK = """
import { OpenMeter } from '@openmeter/sdk'
const [baseUrl, apiKey] = process.argv.slice(2)
const openmeter = new OpenMeter({ baseUrl, apiKey })
const one = { id: 'sdk-1', type: 'calls', subject: 'sdk', time: new Date('2026-11-03T12:00:00Z'), data: { account: 1, value: '7', dimensions: { region: 'DE' } } }
const answers = [
  await openmeter.events.ingest(one),
  await openmeter.events.ingest([one, { ...one, id: undefined }, { ...one, id: 'sdk-2' }]),
]
for (const wrong of [{ ...one, id: 'sdk-3', type: 'cals' }, { ...one, id: 'sdk-3', data: {} }])
  try { await openmeter.events.ingest(wrong); answers.push('taken') } catch (error) { answers.push(error.status) }
try { await new OpenMeter({ baseUrl, apiKey: 'wrong' }).events.ingest(one) } catch (error) { answers.push(error.status) }
console.log(JSON.stringify(answers))
"""
LINT = Path(os.environ.get("TB_LINT") or SOURCE / "build/lint")


class OpenMeter(unittest.TestCase):
    def test_its_sdk_works_unchanged(self):
        if not (LINT / "node_modules/@openmeter/sdk").is_dir():
            self.skipTest((LINT / "why").read_text().strip() if (LINT / "why").exists() else
                          "OpenMeter's SDK is not installed (tests/run installs it)")
        with Metered() as server, tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "sdk.mjs"
            script.write_text(SDK)
            (Path(folder) / "node_modules").symlink_to(LINT / "node_modules")
            done = subprocess.run(["node", script, server.url, server.keys["fleet"]], capture_output=True, check=False,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, 0, done.stderr)
            ok = {"rejected": []}
            self.assertEqual(json.loads(done.stdout),
                             [{"accepted": 1, "duplicates": 0, **ok}, {"accepted": 2, "duplicates": 1, **ok}, 422, 422, 401])


if __name__ == "__main__":
    unittest.main()
