"""The day's origin errors of a pull zone, and the client's network in its request logs: fingerprint, number and name of the
autonomous system, where the log's format has them."""
import json
import unittest

from harness import CATALOG, Case, Server, run
from test_logs import HOUR, NOW_MS, iso, line

ERRORS, PLAIN, OFF, BOTH, MANY = range(320, 325)
TODAY, YESTERDAY = "11-04-2026", "11-03-2026"
SETTINGS = {OFF: {"EnableLogging": False}}


class Answers(Case):
    @classmethod
    def setUpClass(cls):
        zones = [{"id": zone, "account": 1, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z", "hostnames": [f"z{zone}.example"],
                  "settings": {"LoggingIPAnonymizationEnabled": False, **SETTINGS.get(zone, {})}}
                 for zone in (ERRORS, PLAIN, OFF, BOTH, MANY)]
        CATALOG["zones"] += zones
        try:
            cls.server = Server(log=None, *cls.options)
        finally:
            CATALOG["zones"] = [zone for zone in CATALOG["zones"] if zone not in zones]

    def ingest(self, text, query="", expect=200):
        answer = self.server.ask("POST", f"/ingest/logs{query}", "ingest", text.encode())
        self.assertEqual(answer.status, expect, answer.body)
        return answer.json()


class OriginErrors(Answers):
    def errors(self, path, key="user", status=200, server=None):
        answer = (server or self.server).get(f"/{path}", key)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def test_failures_of_the_origin_and_no_others(self):
        rid, odd = "00112233445566778899aabbccddeeff", '"' * 31 + "\\"  # as long as an id, and none
        lines = [line(ERRORS, NOW_MS - 5000, "MISS", 502, url="https://cdn.example/a?b=%22\"c", rid=rid, edge="NY"),
                 line(ERRORS, NOW_MS - 4000, "-", 504, url="/slow", rid="-"),
                 line(ERRORS, NOW_MS - 3000, "HIT", 500), line(ERRORS, NOW_MS - 2000, "MISS", 404),
                 line(ERRORS, NOW_MS - 1000, "BYPASS", 508, rid=odd), line(ERRORS, NOW_MS - 30 * HOUR, "MISS", 503)]
        self.assertEqual(self.ingest("\n".join(lines) + "\n")["accepted"], 6)
        page = self.errors(f"{ERRORS}/{TODAY}")
        self.assertEqual((page["hasMoreData"], page["continuationToken"], page["startToken"]), (False, None, "0"))
        self.assertEqual([(one["logId"], NOW_MS - one["timestamp"], one["labels"]) for one in page["logs"]], [
            (odd, 1000, {"ErrorCode": "http_loop_detected", "StatusCode": "508", "ServerZone": "DE"}),
            (None, 4000, {"ErrorCode": "http_timeout", "StatusCode": "504", "ServerZone": "DE"}),
            ("00112233-4455-6677-8899-aabbccddeeff", 5000,
             {"ErrorCode": "http_request_failure", "StatusCode": "502", "ServerZone": "NY"})])
        log = json.loads(page["logs"][2]["log"])
        self.assertEqual(list(log), ["RequestUrl", "PullZoneId", "Message", "ErrorCode", "StatusCode"])
        self.assertEqual((log["RequestUrl"], log["PullZoneId"], log["ErrorCode"], log["StatusCode"]),
                         ('/a?b=%22"c', ERRORS, "http_request_failure", 502))
        self.assertEqual([one["labels"]["StatusCode"] for one in self.errors(f"{ERRORS}/{YESTERDAY}/")["logs"]], ["503"])

    def test_pages(self):
        lines = [line(MANY, NOW_MS - HOUR - i, "MISS", 500, rid=f"{i:032x}") for i in range(2001)]
        self.ingest("\n".join(lines) + "\n")
        seen, token = [], ""
        for more in (True, True, False):
            page = self.errors(f"{MANY}/{TODAY}?continuationToken={token}")
            self.assertEqual((page["hasMoreData"], page["startToken"]), (more, token or "0"))
            seen += [NOW_MS - HOUR - one["timestamp"] for one in page["logs"]]
            token = page["continuationToken"]
        self.assertIsNone(token)
        self.assertEqual(seen, list(range(2001)))
        self.assertEqual(self.errors(f"{MANY}/{TODAY}?continuationToken=2001")["logs"], [])

    def test_refusals(self):
        for path in (f"{PLAIN}/13-01-2026", f"{PLAIN}/10-31-2026", f"{PLAIN}/11-06-2026", f"{PLAIN}/02-30-2026",
                     f"{PLAIN}/{TODAY}?continuationToken=x", f"{PLAIN}/{TODAY}?continuationToken=-1"):
            error = self.errors(path, status=400)["error"]
            self.assertEqual((error["code"], len(error["details"])), ("invalid_request", 1), path)
        self.assertEqual(self.errors(f"{OFF}/{TODAY}", status=404)["error"]["code"], "logging_disabled")
        for zone in (201, 999, "x", "01", 2**63):
            self.assertEqual(self.errors(f"{zone}/{TODAY}", status=403)["error"]["code"], "forbidden", zone)
        self.assertEqual(self.errors(f"{ERRORS}/{TODAY}", key="other", status=403)["error"]["code"], "forbidden")
        # Other paths of two parts stay what they were.
        self.refused(self.server.get("/keys/7", "operator"), 405, "request.method_not_allowed")
        self.refused(self.server.get("/101/2026-11-04"), 404, "resource.not_found")


class Network(Answers):
    MAP = "time=ts,status=st,bytes=n,zone=z,asn=as,ja4=fp,organization=org"

    def logs(self, zone, query=""):
        answer = self.server.get(f"/v2/pullzones/{zone}/logs?limit=10000&order=asc{query}", "user")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]

    @staticmethod
    def line(zone, at, **more):
        return json.dumps({"ts": at, "st": 200, "n": 5, "z": zone, **more}, ensure_ascii=False) + "\n"

    @staticmethod
    def shown(entries):
        return [(one.get("ja4Fingerprint"), one.get("asn"), one.get("asnOrganization")) for one in entries]

    def test_what_a_log_has_is_answered_and_can_be_withdrawn(self):
        ja4 = "t13d1516h2_8daaf6152771_b0da82dd1658"
        cases = [({"as": 64500, "fp": ja4, "org": "Acme Net ü"}, (ja4, 64500, "Acme Net ü")),
                 ({"as": "AS64501"}, (None, 64501, None)), ({"as": "as007"}, (None, 7, None)),
                 ({"as": 4294967295, "org": "-"}, (None, 4294967295, None)),
                 ({"as": 4294967296}, (None, None, None)), ({"as": "64 500"}, (None, None, None)), ({"as": "AS"}, (None, None, None)),
                 ({"as": 0}, (None, None, None)), ({"fp": ""}, (None, None, None)), ({}, (None, None, None)),
                 ({"org": "x" * 3000}, (None, None, "x" * 3000))]
        # Beside lines of a format without these columns, in the same blocks.
        self.ingest("".join(line(BOTH, NOW_MS - HOUR + i, rid=f"{i:032x}") + "\n" for i in range(0, 100, 3)))
        text = "".join(self.line(BOTH, (NOW_MS - HOUR + 1000 + i) / 1000, **given) for i, (given, _) in enumerate(cases))
        query = f"?format=json&map={self.MAP}&region=DE"
        self.assertEqual(self.ingest(text, query)["accepted"], len(cases))
        entries = self.logs(BOTH)
        self.assertEqual(self.shown(entries[:34]), [(None, None, None)] * 34)
        self.assertEqual(self.shown(entries[34:]), [expected for _, expected in cases])
        self.assertNotIn("asn", entries[0])
        answer = self.server.get(f"/11-04-26/{BOTH}.log", "user")  # its columns are fixed
        self.assertEqual({len(one.split("|")) for one in answer.body.decode().splitlines()}, {12})
        withdrawn = self.server.ask("POST", f"/ingest/logs/withdraw{query}", "operator", text.encode())
        self.assertEqual(withdrawn.status, 200, withdrawn.body)
        self.assertEqual(self.logs(BOTH), entries[:34])
        self.assertEqual(self.ingest(text, query)["accepted"], len(cases))
        self.assertEqual(self.logs(BOTH), entries)

    def test_formats_that_have_them(self):
        cloudflare = {"CacheCacheStatus": "hit", "ClientRequestHost": f"z{PLAIN}.example", "EdgeResponseBytes": 5, "EdgeResponseStatus": 200,
                      "EdgeStartTimestamp": (NOW_MS - 5000) * 1000000, "EdgeColoCode": "DE", "ClientASN": 64502, "JA4": "t13d_a"}
        self.ingest(json.dumps(cloudflare) + "\n", "?format=json&map=cloudflare")
        described = "nginx:$msec+$status+$bytes_sent+$host+$tollbook_asn+$tollbook_ja4+%22$tollbook_organization%22"
        self.ingest(f'{NOW_MS // 1000 - 4}.000 200 5 z{PLAIN}.example 64503 t13d_b "Some Net"\n', f"?format={described}&region=DE")
        w3c = "cloudfront:timestamp(ms)+sc-status+sc-bytes+x-host-header+x-edge-location+asn"
        self.ingest(f"{NOW_MS - 3000}\t200\t5\tz{PLAIN}.example\tDE\t64504\n", f"?format={w3c}")
        apache = "apache:%25{msec}t+%25s+%25O+%25V+%25{TOLLBOOK_ASN}e+%25{TOLLBOOK_JA4}e+%22%25{TOLLBOOK_ORGANIZATION}e%22"
        self.ingest(f'{NOW_MS - 2000} 200 5 z{PLAIN}.example AS64505 t13d_c "Other Net"\n', f"?format={apache}&region=DE")
        self.assertEqual(self.shown(self.logs(PLAIN)), [("t13d_a", 64502, None), ("t13d_b", 64503, "Some Net"), (None, 64504, None),
                                                       ("t13d_c", 64505, "Other Net")])

    def test_many_small_batches_become_blocks(self):
        """Blocks with and without the columns are joined, and verify reads them."""
        query = f"?format=json&map={self.MAP}&region=DE"
        for part in range(30):
            self.ingest("".join(self.line(MANY, (NOW_MS - 2 * HOUR + 100 * part + i) / 1000, **{"as": 64500 + part} if part % 2 else {})
                                for i in range(40)), query)
        expected = [(None, 64500 + part if part % 2 else None, None) for part in range(30) for _ in range(40)]
        self.assertEqual(self.shown(self.logs(MANY, f"&from={iso(NOW_MS - 2 * HOUR)}&to={iso(NOW_MS - HOUR - 1)}")), expected)
        run("verify", "--db", self.server.db)


if __name__ == "__main__":
    unittest.main()
