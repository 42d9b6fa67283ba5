"""GET /pullzone, one zone and their count: paging, search, the model's fields, live figures."""
import gzip
import json
import unittest
from harness import CATALOG, Case, Server, run

BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {r: "0.01" for r in
                                                           ("EU", "NA", "ASIA", "SA", "AF")}},
                      "volume": {"per": "GB", "tiers": [
                          {"from": "0", "to": "1", "price": "0.005"},
                          {"from": "1", "to": None, "price": "0.003"}]}},
        "optimizer": {"monthly": "12.40"}}
MANY = 1234  # zones of account 3


class PullZones(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"] += [{"id": 3, "name": "many"}, {"id": 4, "name": "mixed"}]
        catalog["zones"][1]["settings"] = {
            "MonthlyBandwidthLimit": 5000, "LogAnonymizationType": "Drop", "BlockedIps": ["::1"],
            "EnableLogging": True}
        catalog["zones"][1]["hostnames"] = ["WWW.acme.example", {
            "Value": "b.example", "ForceSSL": True, "Certificate": "TUlJ"}]
        catalog["zones"] += [{"id": 10000 + i, "account": 3, "name": f"zone-{i:05}"}
                             for i in range(MANY)]
        catalog["zones"] += [{"id": 401, "account": 4, "name": "v1", "type": "volume"},
                             {"id": 402, "account": 4, "name": "p1"},
                             {"id": 403, "account": 4, "name": "v2", "type": "volume",
                              "hostnames": ['a"b\\c.example', "\u00e4.example"]}]
        catalog["load_balancers"] = [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z",
                                      "deleted": None, "zones": [101]}]
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": 101, "hour": "2026-11-02T05:00:00Z", "region": "DE", "bytes": 3 * 10**11},
                {"zone": 401, "hour": "2026-11-02T05:00:00Z", "region": "DE", "bytes": 10**9},
                {"zone": 402, "hour": "2026-11-02T05:00:00Z", "region": "DE", "bytes": 10**9},
                {"zone": 403, "hour": "2026-11-02T05:00:00Z", "region": "DE", "bytes": 3 * 10**9}]
        run("import", "--db", server.db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        for account in (3, 4):
            server.keys[str(account)] = server.make_key(account, "UserApi")
        server.keys["statistics"] = server.make_key(1, "SubuserStatistics")
        server.start()

    def zones(self, query="", key="user"):
        answer = self.server.get(f"/pullzone{query}", key)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.headers["content-type"], "application/json")
        return answer.json()

    def ids(self, query="", key="user"):
        found = self.zones(query, key)
        return [zone["Id"] for zone in (found["Items"] if isinstance(found, dict) else found)]

    # holds: pullzone.endpoint, pullzone.page-default, pullzone.page-zero
    def test_without_a_page_it_is_a_bare_list_of_the_accounts_zones(self):
        for query in ("", "?page=0", "?page=&perPage=5", "?search="):
            found = self.zones(query)
            self.assertIsInstance(found, list)
            self.assertEqual([z["Id"] for z in found], [101, 102])
        self.assertEqual(self.ids(key="other"), [201])

    # holds: pullzone.page-above-zero
    def test_a_page_says_where_it_is(self):
        for page, count, more in ((1, 500, True), (2, 500, True), (3, 234, False), (4, 0, False),
                                  (2147483647, 0, False)):
            found = self.zones(f"?page={page}&perPage=500", "3")
            self.assertEqual(list(found), ["Items", "CurrentPage", "TotalItems", "HasMoreItems"])
            self.has_fields("page", found)
            self.assertEqual((found["CurrentPage"], found["TotalItems"], found["HasMoreItems"]),
                             (page, MANY, more))
            self.assertEqual([z["Id"] for z in found["Items"]],
                             [10000 + (page - 1) * 500 + i for i in range(count)])

    def test_pages_together_are_the_list(self):
        pages = [i for page in range(1, 5) for i in self.ids(f"?page={page}&perPage=400", "3")]
        self.assertEqual(pages, self.ids(key="3"))
        self.assertEqual(len(pages), MANY)

    def test_the_list_is_streamed_and_zipped(self):
        plain = self.server.get("/pullzone", "3")
        self.assertEqual(plain.headers["transfer-encoding"], "chunked")
        zipped = self.server.get("/pullzone", "3", Accept_Encoding="gzip")
        self.assertEqual(zipped.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(zipped.body), plain.body)
        self.assertEqual(self.server.ask("HEAD", "/pullzone", "3").status, 200)

    def test_a_client_may_go_in_the_middle_of_the_list(self):
        for _ in range(3):
            with self.server.wire() as wire:
                key = self.server.keys["3"]
                wire.send(f"GET /pullzone HTTP/1.1\r\nHost: t\r\nAccessKey: {key}\r\n\r\n".encode())
                wire.fill()
        self.assertEqual(len(self.zones(key="3")), MANY)

    def test_settings_of_megabytes_are_streamed_piece_by_piece(self):
        """More than an answer's buffer holds, as a list and as a page; nothing is lost or cut."""
        server = Server(log=None)
        try:
            big = "x" * (2 << 20)
            catalog = json.loads(json.dumps(CATALOG))
            catalog["zones"] = [{"id": i, "account": 1, "name": f"z{i}",
                                 "settings": {"ErrorPageCustomCode": big} if i % 4 else {}}
                                for i in range(1, 14)]
            server.stop()
            run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
            server.start()
            whole = server.get("/pullzone").json()
            self.assertEqual([zone["Id"] for zone in whole], list(range(1, 14)))
            self.assertEqual({zone["ErrorPageCustomCode"] for zone in whole}, {None, big})
            for target, page, more in (("page=1&perPage=12", whole[:12], True),
                                       ("page=2&perPage=7", whole[7:], False)):
                answer = server.get(f"/pullzone?{target}").json()
                self.assertEqual(list(answer), ["Items", "CurrentPage", "TotalItems", "HasMoreItems"])
                self.assertTrue(answer["Items"] == page, target)
                self.assertEqual((answer["TotalItems"], answer["HasMoreItems"]), (13, more))
        finally:
            server.close()

    # holds: pullzone.search
    def test_search_looks_at_names_and_hostnames(self):
        for text, ids in (("STATIC", [102]), ("acme", [101, 102]), ("www.ACME", [102]),
                          ("b.example", [102]), ("acme-video.b-cdn.net", [101]), ("%25", []),
                          ("_", []), ("nothing", [])):
            self.assertEqual(self.ids(f"?search={text}"), ids, text)
        for text in ("%22b%5CC", "%5C", "%C3%A4.EX"):  # JSON writes two of them with escapes
            self.assertEqual(self.ids(f"?search={text}", "4"), [403], text)
        found = self.zones("?search=zone-000&page=2&perPage=60", "3")
        self.assertEqual([z["Id"] for z in found["Items"]], list(range(10060, 10100)))
        self.assertEqual((found["TotalItems"], found["HasMoreItems"]), (100, False))

    # holds: pullzone.page-bounds, pullzone.per-page-bounds
    def test_bounds(self):
        for query, field in (("page=-1", "page"), ("page=2147483648", "page"), ("page=x", "page"),
                             ("perPage=4", "perPage"), ("perPage=1001", "perPage"),
                             ("includeCertificate=2", "includeCertificate")):
            self.refused(self.server.get(f"/pullzone?{query}"), 400, "validation_error", field)
        for query in ("page=1&perPage=5", "page=1&perPage=1000", "page=1&something=else"):
            self.assertEqual(self.ids(f"?{query}"), [101, 102])

    def test_one_zone_is_its_item_of_the_list(self):
        for zone in self.zones():
            self.assertEqual(self.zones(f"/{zone['Id']}"), zone)
        for zone in ("201", "99", "0", "-1", "+1", "01", "1e3", "0x1", "9223372036854775808"):
            self.refused(self.server.get(f"/pullzone/{zone}"), 404, "pullZone.not_found", "PullZone")

    def test_count(self):
        self.assertEqual(self.zones("/count"), {"Count": 2})
        self.assertEqual(self.zones("/count", "3"), {"Count": MANY})

    # holds: pullzone.401
    def test_keys_and_roles(self):
        for path in ("/pullzone", "/pullzone/101", "/pullzone/count"):
            self.refused(self.server.get(path, None), 401, "authentication.failed")
            self.refused(self.server.get(path, "statistics"), 403, "authorization.forbidden")

    # holds: pullzone.hostnames, pullzone.certificate, pullzone.certificate-default
    def test_settings_show(self):
        zone = self.zones("/102")
        self.assertEqual(len(zone), 170)
        self.assertEqual((zone["LogAnonymizationType"], zone["BlockedIps"]), (1, ["::1"]))
        self.assertEqual((zone["Name"], zone["Type"]), ("acme-static", 0))
        self.assertEqual([h["Value"] for h in zone["Hostnames"]],
                         ["acme-static.b-cdn.net", "WWW.acme.example", "b.example"])
        self.assertIsNone(zone["Hostnames"][2]["Certificate"])
        zone = self.zones("/102?includeCertificate=True")
        self.assertEqual(zone["Hostnames"][2]["Certificate"], "TUlJ")
        for hostname in zone["Hostnames"]:
            self.has_fields("pullzone.hostname", hostname)
        self.assertEqual(self.zones("/101")["LoadBalancerId"], 7)

    # holds: pullzone.enabled, pullzone.used, pullzone.charges
    def test_what_is_live(self):
        first, second = self.zones()
        self.assertEqual(first["MonthlyBandwidthUsed"], 3 * 10**11 + sum(range(1000, 1040)))
        self.assertEqual((first["Enabled"], second["Enabled"]), (True, False))
        self.assertEqual(first["OptimizerPricing"], 12.4)
        summary = {z["PullZoneId"]: z for z in self.server.get("/billing/summary").json()}
        for zone in (first, second):
            self.assertEqual(zone["MonthlyCharges"], summary[zone["Id"]]["MonthlyUsage"])
            self.assertEqual(zone["MonthlyBandwidthUsed"],
                             summary[zone["Id"]]["MonthlyBandwidthUsed"])

    def test_volume_zones_share_the_accounts_tiers_on_any_page(self):
        zones = {z["Id"]: z["MonthlyCharges"] for z in self.zones(key="4")}
        self.assertEqual(zones, {401: 0.0035, 402: 0.01, 403: 0.0105})
        for zone, charges in zones.items():
            self.assertEqual(self.zones(f"/{zone}", "4")["MonthlyCharges"], charges)


class SearchPaged(Case):
    options = ("--search-paged",)

    def test_a_search_without_a_page_is_a_page(self):
        found = self.server.get("/pullzone?search=acme").json()
        self.assertEqual((found["CurrentPage"], found["TotalItems"]), (1, 2))
        for query in ("?search=acme&page=0", "", "?search="):
            self.assertIsInstance(self.server.get(f"/pullzone{query}").json(), list)


if __name__ == "__main__":
    unittest.main()
