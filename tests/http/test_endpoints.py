"""Every endpoint answers what it says, to the byte where the command line has a twin."""
import gzip
import json
import re
import unittest

from follower import until
from harness import ENVIRONMENT, NOW, SOURCE, Case, Server, hit, run, seed

DAY = "dateFrom=2026-11-03&dateTo=2026-11-03"


class Statistics(Case):
    def twin(self, *options):
        return run("stats", "--db", self.server.db, *options).stdout.removesuffix(b"\n")

    # holds: statistics.endpoint
    def test_statistics_is_what_the_command_prints(self):
        words = ("--account", 1, "--from", "2026-11-01", "--to", "2026-11-03")
        answer = self.server.get("/statistics?dateFrom=2026-11-01&dateTo=2026-11-03")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["content-type"], "application/json")
        self.assertEqual(answer.body, self.twin(*words))
        zone = self.server.get("/statistics?dateFrom=2026-11-01&dateTo=2026-11-03&pullZone=102")
        self.assertEqual(zone.body, self.twin(*words, "--zone", 102))
        self.assertNotEqual(zone.body, answer.body)

    # holds: statistics.optimizer, statistics.queue, statistics.safehop
    def test_zone_statistics_are_what_the_command_prints(self):
        for path, kind in (("optimizer/statistics", "optimizer"), ("safehop/statistics", "safehop"),
                           ("originshield/queuestatistics", "queue")):
            answer = self.server.get(f"/pullzone/101/{path}?hourly=true&{DAY}")
            self.assertEqual(answer.status, 200, path)
            self.assertEqual(answer.body,
                             self.twin("--account", 1, "--zone", 101, "--kind", kind, "--hourly",
                                       "--from", "2026-11-03", "--to", "2026-11-03"))

    def test_no_dates_is_the_last_month(self):
        chart = self.server.get("/statistics").json()["RequestsServedChart"]
        self.assertEqual(len(chart), 32)
        self.assertEqual(min(chart), "2026-10-04T00:00:00Z")
        self.assertEqual(max(chart), "2026-11-04T00:00:00Z")

    def test_today_alone_has_one_key_in_every_chart(self):
        answer = self.server.get("/statistics?dateFrom=2026-11-04&dateTo=2026-11-04").json()
        for name, chart in answer.items():
            if name.endswith("Chart") and name != "UserBalanceHistoryChart":
                self.assertEqual(list(chart), ["2026-11-04T00:00:00Z"], name)

    # holds: statistics.own-parameters, statistics.exact
    def test_hourly_exact_and_latest(self):
        hours = self.server.get(f"/statistics?hourly=true&{DAY}").json()["RequestsServedChart"]
        self.assertEqual(len(hours), 24)
        exact = self.server.get("/statistics?hourly=True&exactRange=1&dateFrom=2026-11-03T11:30:00Z"
                                "&dateTo=2026-11-03T13:00:00Z").json()["RequestsServedChart"]
        self.assertEqual(exact, {"2026-11-03T11:00:00Z": 0, "2026-11-03T12:00:00Z": 80})
        self.refused(self.server.get("/statistics?loadLatest=true"), 400,
                     "statistics.date_range_invalid", "dateFrom")

    def test_a_region_narrows_the_answer(self):
        regions = {r["RegionCode"]: r for r in self.server.get("/region", None).json()}
        everywhere = self.server.get(f"/statistics?{DAY}").json()
        one = self.server.get(f"/statistics?{DAY}&serverZoneId={regions['NY']['Id']}").json()
        self.assertEqual(list(one["GeoTrafficDistribution"]), [regions["NY"]["Name"]])
        self.assertLess(one["TotalRequestsServed"], everywhere["TotalRequestsServed"])
        nowhere = self.server.get(f"/statistics?{DAY}&serverZoneId=999999").json()
        self.assertEqual(nowhere["TotalRequestsServed"], 0)

    def test_load_flags_gate_nothing(self):
        plain = self.server.get(f"/statistics?{DAY}").body
        for value in ("true", "False", "1"):
            flags = "&".join(f"load{name}={value}" for name in (
                "Errors", "OriginResponseTimes", "OriginTraffic", "RequestsServed",
                "BandwidthUsed", "OriginShieldBandwidth", "GeographicTrafficDistribution",
                "UserBalanceHistory"))
            self.assertEqual(self.server.get(f"/statistics?{DAY}&{flags}").body, plain)

    def test_parameters_are_read_strictly_and_generously(self):
        plain = self.server.get(f"/statistics?{DAY}").body
        for same in (f"{DAY}&pullZone=-1&serverZoneId=-1", f"{DAY}&per_page=9&loadCacheHitRate=x",
                     f"{DAY}&hourly=", f"{DAY}&hourly", f"&&{DAY}&", f"pullZone=101&{DAY}&pullZone=-1",
                     "dateFrom=11%2F3%2F2026&dateTo=11-3-2026", f"{DAY}&HOURLY=false",
                     "dateFrom=2026-11-03T00:00:00%2B00:00&dateTo=2026-11-03+23:00",
                     "datefrom=2026-11-03&DATETO=2026-11-03"):
            self.assertEqual(self.server.get(f"/statistics?{same}").body, plain, same)
        for query, field in (("hourly=yes", "hourly"), ("exactRange=2", "exactRange"),
                             ("loadLatest=tRUE", "loadLatest"), ("loadErrors=maybe", "loadErrors"),
                             ("pullZone=x", "pullZone"), ("pullZone=%2B1", "pullZone"),
                             ("pullZone=01", "pullZone"), ("pullZone=1e3", "pullZone"),
                             ("pullZone=0x1", "pullZone"), ("pullZone=%D9%A1", "pullZone"),
                             ("pullZone=9223372036854775808", "pullZone"),
                             ("serverZoneId=--1", "serverZoneId"), ("serverZoneId=1.0", "serverZoneId"),
                             ("dateFrom=2026-02-30", "dateFrom"), ("dateTo=soon", "dateTo")):
            self.refused(self.server.get(f"/statistics?{query}"), 400, "validation_error", field)

    def test_dates_out_of_range_are_refused(self):
        for query, field in (("dateFrom=2025-11-03", "dateFrom"), ("dateFrom=2026-11-05", "dateFrom"),
                             ("dateFrom=2026-11-03&dateTo=2026-11-02", "dateTo"),
                             ("dateFrom=2026-09-20&dateTo=2026-11-03", "dateTo"),
                             ("dateFrom=2026-10-01&hourly=true", "dateFrom")):
            self.refused(self.server.get(f"/statistics?{query}"), 400,
                         "statistics.date_range_invalid", field)

    def test_head_is_get_without_body(self):
        for target in (f"/statistics?{DAY}", "/region", "/healthz", "/metrics", "/openapi.json"):
            head, get = (self.server.ask(m, target, "user") for m in ("HEAD", "GET"))
            self.assertEqual(head.status, get.status)
            if target != "/metrics":  # which counts these very requests
                self.assertEqual(head.headers["content-length"], get.headers["content-length"])
            self.assertEqual(head.headers.get("etag"), get.headers.get("etag"))


class Information(Case):
    def test_regions_need_no_key_and_have_all_fields(self):
        regions = self.server.get("/region", None).json()
        self.assertEqual([r["Id"] for r in regions], sorted(r["Id"] for r in regions))
        self.assertEqual(list(regions[0]), [
            "Id", "Name", "PricePerGigabyte", "RegionCode", "ContinentCode", "CountryCode",
            "Latitude", "Longitude", "AllowLatencyRouting"])
        for region in regions:
            self.assertIn(": ", region["Name"])
            self.assertIsInstance(region["PricePerGigabyte"], (int, float))

    def test_health(self):
        self.assertEqual(self.server.get("/healthz", None).json(), {"status": "alive"})
        self.assertEqual(self.server.get("/readyz", None).json(), {"status": "ready"})

    def test_metrics_are_prometheus_text(self):
        self.server.get("/statistics")
        answer = self.server.get("/metrics", None)
        self.assertTrue(answer.headers["content-type"].startswith("text/plain; version=0.0.4"))
        seen, sums = set(), {}
        for line in answer.body.decode().splitlines():
            if line.startswith("# TYPE "):
                name = line.split()[2]
                self.assertNotIn(name, seen, "declared twice")
                seen.add(name)
            elif not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                float(value)
                base = name.split("{")[0]
                self.assertTrue(base in seen or base.rsplit("_", 1)[0] in seen, line)
                sums[base] = sums.get(base, 0) + float(value)
        for name in ("tollbook_requests_total", "tollbook_request_seconds_bucket",
                     "tollbook_ingest_lines_total", "tollbook_store_bytes", "tollbook_wal_bytes",
                     "tollbook_newest_bucket_age_seconds", "tollbook_answer_cache_hits_total",
                     "tollbook_connections", "tollbook_writer_alive"):
            self.assertIn(name, sums)
        self.assertEqual(sums["tollbook_newest_bucket_age_seconds"], 21 * 3600)
        self.assertNotIn(self.server.keys["user"].encode(), answer.body)

    def test_the_age_of_what_was_stored_last(self):
        """By kind, and only of a kind that there is."""
        server = Server(log=None)
        self.addCleanup(server.close)

        def ages():
            return re.findall(r"^tollbook_newest_segment_age_seconds(.*)$",
                              server.ask("GET", "/metrics").body.decode(), re.M)
        self.assertEqual(ages(), [])
        self.assertEqual(server.stop(), 0)
        ENVIRONMENT["TOLLBOOK_NOW"] = "2026-11-04T08:00:00Z"
        run("ingest", "--db", server.db, "-", stdin=hit(101))
        ENVIRONMENT["TOLLBOOK_NOW"] = NOW
        server.start()
        self.assertEqual(ages(), ['{kind="logs"} 3600'])
        row = b'{"zone":101,"hour":"2026-11-02T01:00:00Z","region":"DE","requests":5,"bytes":50}\n'
        self.assertEqual(server.ask("POST", "/ingest/buckets", "operator", row).status, 200)
        until(lambda: ages() == ['{kind="logs"} 3600', '{kind="buckets"} 0'], ages) # counted at most a part of the time

    def test_the_openapi_document_is_the_committed_one(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed")
        document = self.server.get("/openapi.json", None).json()
        self.assertEqual(document, yaml.load((SOURCE / "docs/openapi.yaml").read_text(),
                                             getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
        self.assertEqual(document["info"]["version"], "1.0.0")

    def test_documents_that_are_kept_compressed_are_sent_either_way(self):
        for target, key in (("/openapi.json", None), ("/country", "user")):
            plain, zipped = self.server.get(target, key), self.server.get(target, key, Accept_Encoding="gzip")
            self.assertEqual(zipped.headers["content-encoding"], "gzip")
            self.assertEqual(gzip.decompress(zipped.body), plain.body)

    def test_every_documented_operation_exists_and_every_route_is_documented(self):
        paths = self.server.get("/openapi.json", None).json()["paths"]
        documented = {(method.upper(), path) for path, item in paths.items() for method in item}
        for method, path in documented:
            target = path.replace("{pullZoneId}", "101").replace("{keyId}", "999").replace("{day}", "11-03-2026")
            answer = self.server.ask(method, target, None, b"" if method == "POST" else None)
            off = path == "/replica/epoch" or path.startswith("/proof/")  # neither is begun
            self.assertIn(answer.status, (200, 401, 403) if "console" in path else (404,) if off else (200, 401), (method, path))
        rows = {(row["method"], row["path"].replace("{+tile}", "{id}")) for row in seed.routes()
                if row["path"] not in ("/", "/console", "/console/open") and not row["path"].startswith("/console/{+")
                and not row["path"].startswith("/console/assets/")}  # pages for people
        self.assertEqual(rows, {(method, re.sub(r"\{(?!day)\w+\}", "{id}", path))
                                for method, path in documented})

    def test_answers_have_the_documented_members(self):
        document = self.server.get("/openapi.json", None).json()
        schemas = document["components"]["schemas"]
        for target, schema in (("/statistics", "StatisticsModel"),
                               ("/pullzone/101/optimizer/statistics", "OptimizerStatisticsModel"),
                               ("/pullzone/101/originshield/queuestatistics", "QueueStatisticsModel"),
                               ("/pullzone/101/safehop/statistics", "SafeHopStatisticsModel")):
            answer = self.server.get(target).json()
            self.assertEqual(list(answer), schemas[schema]["required"], target)
        self.assertEqual(list(self.server.get("/region", None).json()[0]),
                         schemas["Region"]["required"])
        key = self.server.get("/keys", "operator").json()["Items"][0]
        self.assertEqual(list(key), schemas["ListedKey"]["required"])


class Operator(Case):
    def post(self, target, document, key="operator"):
        return self.server.ask("POST", target, key, json.dumps(document).encode(),
                               Content_Type="application/json")

    def test_a_key_lives_from_its_answer_to_its_revocation(self):
        made = self.post("/keys", {"Account": 1, "Roles": ["UserApi"]})
        self.assertEqual(made.status, 201)
        key = made.json()
        self.assertEqual(key["Account"], 1)
        self.assertEqual(key["Roles"], ["UserApi"])
        self.assertTrue(key["Key"].startswith(key["Hint"]))
        listed = {k["Id"]: k for k in self.server.get("/keys", "operator").json()["Items"]}
        self.assertIsNone(listed[key["Id"]]["Revoked"])
        self.assertNotIn("Key", listed[key["Id"]])
        with self.server.wire() as wire:  # also on a connection that used it before
            header = {"AccessKey": key["Key"]}
            self.assertEqual(wire.ask("GET", "/statistics", header).status, 200)
            gone = self.server.ask("DELETE", f"/keys/{key['Id']}", "operator")
            self.assertEqual((gone.status, gone.body), (204, b""))
            self.refused(wire.ask("GET", "/statistics", header), 401, "authentication.failed")
        again = self.server.ask("DELETE", f"/keys/{key['Id']}", "operator")
        self.assertEqual(again.status, 204)
        listed = {k["Id"]: k for k in self.server.get("/keys", "operator").json()["Items"]}
        self.assertEqual(listed[key["Id"]]["Revoked"], "2026-11-04T09:00:00Z")

    def test_keys_that_make_no_sense_are_refused(self):
        for document, field in (({"Roles": ["User"]}, "Account"), ({"Account": "1"}, "Account"),
                                ({"Account": -1}, "Account"), ({"Account": 1, "Roles": []}, "Roles"),
                                ({"Account": 1, "Roles": ["user"]}, "Roles"),
                                ({"Account": 0, "Roles": ["User"]}, "Roles"),
                                ({"Account": 1, "Extra": 1}, None), ([], None)):
            self.refused(self.post("/keys", document), 400, "validation_error", field)
        self.refused(self.post("/keys", {"Account": 99}), 404, "resource.not_found", "Account")
        for body in (b"", b"{", b"{} x", b'{"Account":1,"Account":2}', b"[" * 30000,
                     b'{"Account":1e400}', b'{"Account":9223372036854775808}'):
            answer = self.server.ask("POST", "/keys", "operator", body)
            self.refused(answer, 400, "validation_error")

    def test_revoking_what_is_not_there_is_404(self):
        for key in ("999", "0", "-1", "01", "x", "9223372036854775808"):
            self.refused(self.server.ask("DELETE", f"/keys/{key}", "operator"), 404,
                         "resource.not_found")

    def test_a_catalogue_is_applied_whole_or_refused_with_its_place(self):
        more = {"accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"},
                             {"id": 3, "name": "cirrus"}],
                "zones": [{"id": 101, "account": 1, "name": "acme-video",
                           "created": "2026-01-05T00:00:00Z"},
                          {"id": 102, "account": 1, "name": "acme-static",
                           "created": "2026-01-05T00:00:00Z"},
                          {"id": 201, "account": 2, "name": "borealis-live",
                           "created": "2026-01-05T00:00:00Z"},
                          {"id": 301, "account": 3, "name": "cirrus-web"}]}
        done = self.post("/catalog", more)
        self.assertEqual(done.status, 200, done.body)
        self.assertEqual(done.json()["accountsAdded"], 1)
        self.assertEqual(done.json()["zonesAdded"], 1)
        self.assertEqual(self.post("/catalog", more).json()["changed"], 0)
        less = {**more, "zones": more["zones"][:2], "accounts": more["accounts"][:1]}
        refused = self.post("/catalog", less)
        self.assertEqual((refused.status, refused.json()["ErrorKey"], refused.json()["Field"]),
                         (409, "catalog.deletes_much", "delete"))
        self.assertEqual(refused.json()["deletions"], [
            {"list": "accounts", "id": 2, "name": "borealis"}, {"list": "accounts", "id": 3, "name": "cirrus"},
            {"list": "zones", "id": 201, "name": "borealis-live"}, {"list": "zones", "id": 301, "name": "cirrus-web"}])
        tried = self.post("/catalog?dryRun=true", less).json()
        self.assertEqual((tried["deleted"], tried["dryRun"], len(tried["deletions"])), (4, True, 4))
        refused = self.post("/operations/apply", less)
        self.assertEqual((refused.status, refused.json()["ErrorKey"]), (409, "catalog.deletes_much"))
        self.assertEqual((refused.json()["no"], len(refused.json()["answer"]["deletions"])), (True, 4))
        self.assertEqual(self.post("/catalog", more).json()["changed"], 0)  # nothing of it was done
        self.assertEqual(self.post("/catalog?delete=true", less).json()["deleted"], 4)
        self.assertEqual(self.post("/catalog", more).json()["restored"], 4)
        bad = json.loads(json.dumps(more))
        bad["zones"][3]["colour"] = "red"
        self.refused(self.post("/catalog", bad), 400, "catalog.invalid", "zones[3].colour")
        self.refused(self.server.ask("POST", "/catalog", "operator", b"{",
                                     Content_Type="application/json"), 400, "catalog.invalid")


if __name__ == "__main__":
    unittest.main()
