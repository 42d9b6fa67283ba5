"""Shield events over HTTP: pages and their tokens, the three-day window, the CSV export and its filters,
another account's shield zones, clients that stop reading."""
import csv
import io
import json
import threading
import unittest

from harness import Case, run

NOW_MS = 1793782800000  # the harness's clock, 2026-11-04T09:00:00Z
DAY_MS = 86400000
TODAY, YESTERDAY, OLDEST = "11-04-2026", "11-03-2026", "11-02-2026"
CATALOG = {"accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
           "zones": [{"id": 101, "account": 1, "name": "acme-video"}],
           "shield_zones": [{"id": 42, "account": 1, "zone": 101, "name": "acme"},
                            {"id": 43, "account": 1}, {"id": 44, "account": 1},
                            {"id": 50, "account": 2}]}
COLUMNS = ("timestamp,logId,feature,action,ruleId,ruleName,ip,country,asn,ja4,method,url,userAgent,"
           "severity,status,serverZone").split(",")
NONE = ("-1", "+1", "01", "1e3", "0x1", "9223372036854775808", "2147483648", "0", "x", "%34%32")


def event(i, zone=42, at=None, **more):
    return {"shield_zone": zone, "timestamp": NOW_MS - 3600000 + i if at is None else at,
            "logId": f"e{i:06}", "log": f"event {i}", "ip": f"10.0.{i // 256}.{i % 256}",
            "labels": {"asn": 64500 + i % 3, "country": "DE"}, **more}


def lines(events):
    return "".join(json.dumps(e) + "\n" for e in events).encode()


class Shield(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.server.stop()
        run("apply", "--delete", "--db", cls.server.db, "-", stdin=json.dumps(CATALOG).encode())
        run("import", "--db", cls.server.db, "-", stdin=lines(event(i) for i in range(250)))
        cls.server.start()

    def page(self, path, key="user", status=200):
        answer = self.server.get(f"/shield/event-logs/{path}", key)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def walk(self, zone, day=TODAY, between=None):
        """The ids of all pages from the first on, in their order."""
        seen, token = [], ""
        while True:
            page = self.page(f"{zone}/{day}/{token}")
            self.assertIsNone(page["errorResponse"])
            seen += [log["logId"] for log in page["logs"]]
            if not page["hasMoreData"]:
                self.assertIsNone(page["continuationToken"])
                return seen
            self.assertEqual(len(page["logs"]), 100)
            token = page["continuationToken"]
            if between:
                between()

    def add(self, events, expect=200, **headers):
        answer = self.server.ask("POST", "/ingest/buckets", "ingest", lines(events), **headers)
        self.assertEqual(answer.status, expect, answer.body)
        return answer.json()

    def export(self, zone=42, key="user", status=200, media="application/json", raw=None, **body):
        body = {"from": NOW_MS - DAY_MS, "to": NOW_MS, **body}
        answer = self.server.ask("POST", f"/shield/event-logs/{zone}/export", key,
                                 json.dumps(body).encode() if raw is None else raw,
                                 Content_Type=media)
        self.assertEqual(answer.status, status, answer.body)
        return answer

    def rows(self, **body):
        text = self.export(**body).body.decode()
        table = list(csv.reader(io.StringIO(text, newline="")))
        self.assertEqual(table[0], COLUMNS)
        self.assertTrue(text.endswith("\r\n"))
        return [dict(zip(COLUMNS, row)) for row in table[1:]]


class Zones(Shield):
    def listed(self, query="", key="user", status=200):
        answer = self.server.get(f"/shield/shield-zones{query}", key)
        self.assertEqual(answer.status, status, answer.body)
        return answer.json()

    def declare(self, catalog):
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(catalog).encode())
        self.assertEqual(answer.status, 200, answer.body)

    def test_an_account_sees_its_own_and_which_zone_each_protects(self):
        all_of_it = self.listed()
        self.assertEqual(all_of_it, {
            "data": [{"shieldZoneId": 42, "pullZoneId": 101, "name": "acme"},
                     {"shieldZoneId": 43, "pullZoneId": None, "name": None},
                     {"shieldZoneId": 44, "pullZoneId": None, "name": None}],
            "page": {"totalCount": 3, "totalPages": 1, "currentPage": 1, "nextPage": None, "pageSize": 10}})
        self.assertEqual([zone["shieldZoneId"] for zone in self.listed(key="other")["data"]], [50])

    def test_pages_together_are_the_list(self):
        found, number = [], 1
        while number:
            page = self.listed(f"?page={number}&perPage=2")
            self.assertEqual((page["page"]["totalCount"], page["page"]["totalPages"], page["page"]["currentPage"]),
                             (3, 2, number))
            found += page["data"]
            number = page["page"]["nextPage"]
        self.assertEqual(found, self.listed()["data"])
        self.assertEqual(self.listed("?page=9")["data"], [])
        for query in ("?page=0", "?perPage=0", "?perPage=1001", "?page=x"):
            self.assertEqual(self.listed(query, status=400)["status"], 400, query)

    def test_one_that_the_catalogue_drops_is_listed_no_more(self):
        catalog = {**CATALOG, "shield_zones": CATALOG["shield_zones"][1:]}
        self.declare(catalog)
        self.assertEqual([zone["shieldZoneId"] for zone in self.listed()["data"]], [43, 44])
        self.declare(CATALOG)
        self.assertEqual([zone["shieldZoneId"] for zone in self.listed()["data"]], [42, 43, 44])


class Pages(Shield):
    def test_a_day_is_walked_newest_first(self):
        self.assertEqual(self.walk(42), [f"e{i:06}" for i in reversed(range(250))])
        first = self.page(f"42/{TODAY}")
        for path in (f"42/{TODAY}/", f"42/{TODAY}/0", f"42/{TODAY}/-",
                     f"42/{TODAY}/{first['startToken']}"):
            self.assertEqual(self.page(path), first, path)
        self.assertEqual(first["logs"][0], {
            "logId": "e000249", "timestamp": NOW_MS - 3600000 + 249, "log": "event 249",
            "labels": {"asn": "64500", "country": "DE", "ruleId": "", "severity": "", "method": "",
                       "ruleGroup": "", "status": "", "serverZone": ""}})
        second = self.page(f"42/{TODAY}/{first['continuationToken']}")
        again = self.page(f"42/{TODAY}/{second['startToken']}")
        self.assertEqual(again, second)

    def test_an_empty_day_is_a_page(self):
        page = self.page(f"44/{YESTERDAY}/")
        self.assertEqual(page, {"logs": [], "hasMoreData": False, "continuationToken": None,
                                "startToken": None, "errorResponse": None})

    def test_arrivals_repeat_nothing_and_hide_nothing(self):
        there = [event(i, 43, at=NOW_MS - 7200000 + 10 * i) for i in range(0, 450)]
        self.add(there)
        late = iter(range(500, 10000))

        def arrive():  # newer ones, older ones, and some between
            fresh = [event(next(late), 43, at=NOW_MS - 7200000 + offset)
                     for offset in (5000 + 7, -3, 4490, 2215, 333, 15)]
            self.add(fresh)

        seen = self.walk(43, between=arrive)
        self.assertEqual(len(seen), len(set(seen)))
        self.assertLessEqual({e["logId"] for e in there}, set(seen))
        old = [i for i in seen if int(i[1:]) < 450]
        self.assertEqual(old, [e["logId"] for e in reversed(there)])

    def test_tokens_are_for_one_account_zone_and_day(self):
        token = self.page(f"42/{TODAY}")["continuationToken"]
        for path, key in ((f"43/{TODAY}", "user"), (f"42/{YESTERDAY}", "user"),
                          (f"50/{TODAY}", "other")):
            self.no_page(f"{path}/{token}", 400, "invalid_token.event_logs", key)
        forged = [token[:-1], token + "A", "A" + token, token[::-1], token.swapcase(), "1", "00",
                  "a" * 127, token[:20] + ("A" if token[20] != "A" else "B") + token[21:]]
        for text in forged:
            self.no_page(f"42/{TODAY}/{text}", 400, "invalid_token.event_logs")
        start = self.page(f"42/{TODAY}")["startToken"]
        self.assertNotEqual(start, token)

    def test_a_token_outlives_the_server(self):
        token = self.page(f"42/{TODAY}")["continuationToken"]
        page = self.page(f"42/{TODAY}/{token}")
        copy = self.server.path / "copy.db"
        run("backup", "--db", self.server.db, "--to", copy)
        for db in (self.server.db, copy, self.server.db):
            self.server.stop()
            self.server.db = db
            self.server.start()
            self.assertEqual(self.page(f"42/{TODAY}/{token}"), page)

    def no_page(self, path, status, key, who="user"):
        page = self.page(path, who, status)
        self.assertEqual(page["errorResponse"], {
            "statusCode": status, "success": False, "message": page["detail"], "errorKey": key})
        self.assertEqual((page["logs"], page["hasMoreData"]), ([], False))
        self.assertEqual(page["status"], status)
        self.assertEqual(page["title"], {400: "Bad Request", 404: "Not Found"}[status])
        self.assertTrue(page["type"].startswith("https://"))
        return page

    def test_the_window_is_three_utc_days(self):
        for day in (TODAY, YESTERDAY, OLDEST):
            self.page(f"44/{day}")
        for day in ("11-01-2026", "11-05-2026", "11-04-2025", "01-01-0001", "12-31-9999"):
            self.no_page(f"42/{day}", 400, "invalid_datetime_window.event_logs")
        for day in ("2026-11-04", "11-4-2026", "13-01-2026", "02-30-2026", "00-10-2026", "11-00-2026",
                    "11-04-26", "x", "11-04-2026x", "-1-04-2026", "11-04-+026",
                    "11%2D04-2026"):
            self.no_page(f"42/{day}", 400, "invalid_date.event_logs")

    def test_zones_that_are_none_and_anothers_are_alike(self):
        absent = self.no_page(f"49/{TODAY}", 404, "shieldzone.not_found")
        for text in NONE + ("50",):
            page = self.no_page(f"{text}/{TODAY}", 404, "shieldzone.not_found")
            self.assertEqual({**page, "instance": ""}, {**absent, "instance": ""})
        self.page(f"50/{TODAY}", "other")
        self.no_page(f"42/{TODAY}", 404, "shieldzone.not_found", "other")

    def test_without_a_key_it_is_a_problem(self):
        for method, target in (("GET", f"/shield/event-logs/42/{TODAY}"),
                               ("GET", f"/shield/event-logs/42/{TODAY}/"),
                               ("POST", "/shield/event-logs/42/export")):
            answer = self.server.ask(method, target, None, b"{}" if method == "POST" else None)
            self.assertEqual(answer.status, 401)
            self.assertEqual(list(answer.json()), ["type", "title", "status", "detail", "instance"])
            self.assertEqual(answer.json()["title"], "Unauthorized")


class Arrival(Shield):
    def test_rows_and_events_come_together(self):
        batch = lines([event(1, 44), event(2, 44), {"shield_zone": 44, "timestamp": NOW_MS, "ip": "::1"}])
        batch += b'{"zone":101,"hour":"2026-11-04T08:00:00Z","region":"DE","requests":7}\n'
        for duplicate in (False, True):
            answer = self.server.ask("POST", "/ingest/buckets", "ingest", batch,
                                     Idempotency_Key="together")
            self.assertEqual(answer.json()["duplicate"], duplicate)
        self.assertEqual(len(self.walk(44)), 3)
        other = self.server.ask("POST", "/ingest/buckets", "ingest", batch + batch,
                                Idempotency_Key="together")
        self.assertEqual(other.status, 409)
        # the same events in another batch are the same where they say who they are
        self.add([event(1, 44), event(3, 44)])
        self.assertEqual(len(self.walk(44)), 4)

    def test_a_bad_line_is_refused_with_its_place(self):
        good, bad = lines([event(10, 43)]), b'{"shield_zone":43,"timestamp":1,"colour":1}\n'
        answer = self.server.ask("POST", "/ingest/buckets", "ingest", good + bad)
        self.refused(answer, 400, "ingest.line_rejected")
        self.assertIn("Line 2, byte 31", answer.json()["Message"])
        self.assertNotIn("e000010", self.walk(43))
        answer = self.server.ask("POST", "/ingest/buckets?onError=skip", "ingest", good + bad).json()
        self.assertEqual((answer["accepted"], answer["rejected"]), (1, 1))
        self.assertEqual(answer["firstReject"]["reason"], "TOO_OLD")
        self.assertIn("e000010", self.walk(43))

    def test_events_wait_for_their_zone_and_old_ones_are_gone(self):
        self.add([event(0, 77), event(1, 77, at=NOW_MS - 3 * DAY_MS)])
        self.page(f"77/{TODAY}", status=404)
        more = {**CATALOG, "shield_zones": CATALOG["shield_zones"] + [{"id": 77, "account": 1}]}
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(more).encode(),
                                 Content_Type="application/json")
        self.assertEqual(answer.json()["shieldZonesAdded"], 1)
        self.assertEqual(self.walk(77), ["e000000"])
        self.assertEqual(self.walk(77, OLDEST) + self.walk(77, YESTERDAY), [])
        wrong = {**CATALOG, "shield_zones": [{"id": 77, "account": 2}]}
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(wrong).encode(),
                                 Content_Type="application/json")
        self.refused(answer, 400, "catalog.invalid", "shield_zones[0].account")


class Export(Shield):
    def test_the_whole_window_as_csv(self):
        answer = self.export()
        self.assertTrue(answer.headers["content-type"].startswith("text/csv"))
        self.assertEqual(answer.headers["content-disposition"],
                         'attachment; filename="event-logs-42.csv"')
        rows = self.rows()
        self.assertEqual([row["logId"] for row in rows], [f"e{i:06}" for i in range(250)])
        self.assertEqual(rows[0]["timestamp"], "2026-11-04T08:00:00.000Z")
        self.assertEqual(rows[7]["timestamp"], "2026-11-04T08:00:00.007Z")
        self.assertEqual((rows[7]["ip"], rows[7]["asn"]), ("10.0.0.7", "64501"))
        for media in ("text/json", "application/problem+json", "application/json; charset=utf-8"):
            self.assertEqual(self.export(media=media).body, answer.body)
        self.assertEqual(self.export(media="text/plain", status=415).json()["status"], 415)

    def test_the_window_is_half_open(self):
        start = NOW_MS - 3600000
        ids = [row["logId"] for row in self.rows(**{"from": start + 3, "to": start + 6})]
        self.assertEqual(ids, ["e000003", "e000004", "e000005"])
        self.assertEqual(self.rows(**{"from": 0, "to": start}), [])
        self.assertEqual(len(self.rows(**{"from": 0, "to": NOW_MS})), 250)

    def test_filters(self):
        self.add([
            {"shield_zone": 43, "timestamp": NOW_MS - 900000, "logId": f"f{i}", **fields}
            for i, fields in enumerate([
                {"ip": "192.0.2.1", "url": "https://a/Login", "action": "block", "ruleId": 9},
                {"ip": "2001:db8::1", "url": "https://a/img.PNG", "action": "log"},
                {"ip": "192.0.2.200", "userAgent": "sqlmap/1.7", "action": "block", "ja4": "t13"},
                {"ip": "x", "ruleName": "SQL injection", "country": "FR", "feature": "bot"}])])

        def found(*filters, **body):
            filters = [dict(zip(("field", "op", "value"), f)) for f in filters]
            return "".join(row["logId"][1:] for row in self.rows(
                zone=43, filters=filters or None, **{"from": NOW_MS - 900000,
                                                     "to": NOW_MS - 899999, **body}))

        self.assertEqual(found(), "0123")
        self.assertEqual(found(("action", "eq", ["block"])), "02")
        self.assertEqual(found(("action", "in", ["block", "log"])), "012")
        self.assertEqual(found(("action", "eq", ["block"]), ("ja4", "eq", ["t13"])), "2")
        self.assertEqual(found(("ip", "cidr", ["192.0.2.0/25"])), "0")
        self.assertEqual(found(("ip", "cidr", ["192.0.2.0/24", "2001:db8::/32"])), "012")
        self.assertEqual(found(("url", "wildcard", ["*.png", "*login"])), "01")
        self.assertEqual(found(("url", "contains", ["LOGIN"])), "0")
        self.assertEqual(found(("ua", "wildcard", ["sqlmap*"])), "2")
        self.assertEqual(found(("country", "eq", ["FR"]), ("feature", "in", ["bot"])), "3")
        self.assertEqual(found(query="sql"), "23")
        self.assertEqual(found(("action", "eq", ["block"]), query="SQL"), "2")
        self.assertEqual(found(query="9"), "02")

    def test_what_is_not_valid_is_a_problem(self):
        window = {"from": NOW_MS - 1000, "to": NOW_MS}
        ip = {"field": "ip", "op": "cidr", "value": ["10.0.0.0/8"]}
        for body, word in ((b"", "byte"), (b"[]", "object"), (b"{}", "from"),
                           ({"from": 1}, "to"), ({"from": NOW_MS, "to": NOW_MS}, "to"),
                           ({"from": 1, "to": NOW_MS - 3 * DAY_MS - 1}, "72 hours"),
                           ({"from": 1, "to": NOW_MS + DAY_MS}, "72 hours"),
                           ({"from": "1", "to": NOW_MS}, "from"),
                           ({**window, "filters": [{**ip, "field": "asn"}]}, "filters[0].op"),
                           ({**window, "filters": [ip, {**ip, "value": ["10.0.0.0/40"]}]},
                            "filters[1].value"),
                           ({**window, "filters": [{**ip, "op": "like"}]}, "filters[0].op"),
                           ({**window, "filters": [{**ip, "field": "colour"}]}, "filters[0].field"),
                           ({**window, "query": 1}, "query")):
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            problem = self.export(status=400, raw=raw).json()
            self.assertEqual(list(problem), ["type", "title", "status", "detail", "instance"])
            self.assertEqual(problem["title"], "Bad Request")
            self.assertEqual(problem["instance"], "/shield/event-logs/42/export")
            self.assertIn(word.lower(), problem["detail"].lower())

    def test_a_body_that_is_long_is_not_read_as_json(self):
        self.assertEqual(self.export(status=413, raw=b" " * ((4 << 20) + 1)).json()["status"], 413)
        self.export(status=400, raw=b" " * (4 << 20))

    def test_another_accounts_zone_is_none(self):
        for zone in NONE + ("50", "49"):
            self.assertEqual(self.export(zone=zone, status=404).json()["detail"],
                             "The requested Shield Zone was not found.")
        self.export(zone=42, key="other", status=404)
        self.assertEqual(self.export(zone=50, key="other").body.count(b"\n"), 1)

    def test_cells_are_quoted_and_guarded(self):
        self.add([event(1, 44, at=NOW_MS - 60000, url='a,"b"\r\nc', userAgent="=cmd()", ruleName="-1")])
        body = self.export(zone=44).body
        self.assertIn(b',"a,""b""\r\nc",\'=cmd(),', body)
        self.assertIn(b",'-1,", body)
        row = self.rows(zone=44)[0]
        self.assertEqual((row["url"], row["userAgent"]), ('a,"b"\r\nc', "'=cmd()"))


class Long(Shield):
    """A zone with more than one piece of everything."""
    COUNT = 20000

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        events = lines(event(i, 43, at=NOW_MS - 3600000 + i // 7, url="https://example.com/" + "x" * 300)
                       for i in range(cls.COUNT))
        answer = cls.server.ask("POST", "/ingest/buckets", "ingest", events)
        assert answer.status == 200, answer.body

    def test_a_stream_holds_each_event_once_while_others_arrive(self):
        stop = threading.Event()

        def arrive():
            n = self.COUNT
            while not stop.is_set():
                self.add([event(n + k, 43, at=NOW_MS - 3600000 + (n + k) * 7919 % 3000)
                          for k in range(50)])
                n += 50

        thread = threading.Thread(target=arrive)
        thread.start()
        try:
            for _ in range(3):
                ids = [row["logId"] for row in self.rows(zone=43)]
                self.assertEqual(len(ids), len(set(ids)))
                old = [i for i in ids if int(i[1:]) < self.COUNT]
                self.assertEqual(old, [f"e{i:06}" for i in range(self.COUNT)])
        finally:
            stop.set()
            thread.join()

    def test_filters_that_are_much_work_are_done_in_turns_with_other_requests(self):
        window = {"from": NOW_MS - DAY_MS, "to": NOW_MS - 3600000 + 1500}
        plain = self.export(zone=43, filters=[{"field": "url", "op": "contains",
                                               "value": ["example.com/xx"]}], **window).body
        self.assertGreater(plain.count(b"\r\n"), 10000)
        values = [f"xx{i}" for i in range(99)] + ["EXAMPLE.com/xx"]
        answer = self.export(zone=43, filters=[{"field": "url", "op": "contains", "value": values}],
                             **window)
        self.assertEqual(answer.body, plain)
        answer = self.export(zone=43, query="xxxxy", **window)
        self.assertEqual(answer.body.count(b"\r\n"), 1)

    def test_gzip_holds_the_same(self):
        import gzip
        body = {"from": NOW_MS - DAY_MS, "to": NOW_MS - 3500000}
        plain = self.export(zone=43, **body).body
        answer = self.server.ask("POST", "/shield/event-logs/43/export", "user",
                                 json.dumps(body).encode(), Accept_Encoding="gzip",
                                 Content_Type="application/json")
        self.assertEqual(answer.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(answer.body), plain)

    def test_clients_that_stop_reading_hold_up_nobody(self):
        body = json.dumps({"from": NOW_MS - DAY_MS, "to": NOW_MS}).encode()
        head = (f"POST /shield/event-logs/43/export HTTP/1.1\r\nHost: x\r\nAccessKey: "
                f"{self.server.keys['user']}\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n").encode()
        wires = [self.server.wire() for _ in range(8)]
        for wire in wires:
            wire.send(head + body)
            self.assertTrue(wire.fill())  # it has begun, and is not read any further
        self.assertEqual(len(self.page(f"43/{TODAY}")["logs"]), 100)
        self.add([event(0, 44)])
        for wire in wires[:4]:
            wire.sock.close()
        self.assertEqual(self.server.get("/healthz", None).status, 200)
        rest = wires[4].read()  # who goes on reading gets it all
        self.assertEqual(rest.body.count(b"\r\n"), self.export(zone=43).body.count(b"\r\n"))
        for wire in wires[4:]:
            wire.sock.close()


del Shield

if __name__ == "__main__":
    unittest.main()
