"""GET /search: what an account has by a part of its name, and accounts for the operator."""
import json
import unittest

from harness import CATALOG, Case, run


class Search(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"][0]["hostnames"] = ["cdn.Example.com", {"Value": "video.example.org"}]
        catalog["zones"].append({"id": 7, "account": 2, "name": "Größe 100%_", "created": "2026-01-05T00:00:00Z"})
        catalog["zones"] += [{"id": 300 + i, "account": 2, "name": f"many-{i:02}", "created": "2026-01-05T00:00:00Z"}
                             for i in range(30)]
        catalog["load_balancers"] = [
            {"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [101]},
            {"id": 8, "account": 2, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [201]}]
        catalog["shield_zones"] = [{"id": 41, "account": 1, "name": "acme-shield", "zone": 101}, {"id": 42, "account": 2},
                                   {"id": 101, "account": 1}]
        run("apply", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
        for role in ("SubuserPullZones", "SubuserBilling"):
            server.keys[role] = server.make_key(1, role)
        server.keys["support"] = server.make_key(0, "Support")
        server.start()

    def search(self, query, key="user"):
        answer = self.server.get(f"/search?{query}", key)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def found(self, text, key="user"):
        return [(one["Type"], one["Id"]) for one in self.search(f"search={text}", key)["SearchResults"]]

    def test_an_answer_has_the_members_that_clients_read(self):
        self.assertEqual(self.search("search=acme-s"), {
            "Query": "acme-s", "TotalCount": 2, "Total": 2, "From": 0, "Size": 20, "SearchResults": [
                {"Type": "PullZone", "Id": 102, "Title": "acme-static", "Name": "acme-static",
                 "Description": "acme-static.b-cdn.net"},
                {"Type": "ShieldZone", "Id": 41, "Title": "acme-shield", "Name": "acme-shield",
                 "Description": "Shield zone of pull zone 101"}]})

    def test_names_hostnames_and_numbers_are_found_in_any_case(self):
        self.assertEqual(self.found("ACME-V"), [("PullZone", 101)])
        self.assertEqual(self.found("b-cdn.net"), [("PullZone", 101), ("PullZone", 102)])
        for text, host in (("EXAMPLE.com", "cdn.Example.com"), ("example.ORG", "video.example.org"),
                           ("acme-video", "acme-video.b-cdn.net")):
            one, = self.search(f"search={text}")["SearchResults"]
            self.assertEqual((one["Id"], one["Description"]), (101, host))
        self.assertEqual(self.found("101"), [("PullZone", 101), ("ShieldZone", 101)])
        self.assertEqual(self.found("7"), [("LoadBalancer", 7)])
        self.assertEqual(self.search("search=7")["SearchResults"][0]["Title"], "Load balancer 7")
        self.assertEqual(self.found("10"), [])  # a part of a number is none

    def test_texts_are_taken_as_they_are(self):
        self.assertEqual(self.found("100%25_", "other"), [("PullZone", 7)])
        self.assertEqual(self.found("gr%C3%B6%C3%9Fe", "other"), [("PullZone", 7)])
        for text in ("%25", "_", "*", "'", '%22', "%FF"):
            self.assertEqual(self.found(text), [])
        self.assertEqual(self.search("search=%FF%22")["Query"], '\ufffd"')

    def test_another_accounts_are_never_found(self):
        for text in ("borealis", "201", "42", "8", "many"):
            self.assertEqual(self.found(text), [], text)
        self.assertEqual(self.found("acme", "other"), [])
        self.assertEqual(self.found("42", "other"), [("ShieldZone", 42)])
        self.assertEqual(self.search("search=zz&account=1")["TotalCount"], 0)
        self.refused(self.server.get("/search?search=borealis&account=2"), 403, "authorization.forbidden", "account")

    def test_the_operator_finds_accounts_and_the_parts_of_one(self):
        for key in ("operator", "support"):
            for text in ("AC", "orea", "1", "2", "9", "e"):
                listed = self.server.ask("POST", "/operations/account-list", key, json.dumps(
                    {"names": True, "search": text}).encode()).json()["answer"]["accounts"]
                self.assertEqual(self.search(f"search={text}", key)["SearchResults"], [
                    {"Type": "Account", "Id": one["account"], "Title": one["name"], "Name": one["name"],
                     "Description": "Account"} for one in listed])
            self.assertEqual(self.found("acme-v&account=1", key), [("PullZone", 101)])
        self.refused(self.server.get("/search?search=a&account=9", "operator"), 404, "resource.not_found")
        self.refused(self.server.get("/search?search=a&account=0", "operator"), 400, "validation_error", "account")

    def test_pages_go_through_all_kinds(self):
        every = self.found("&size=1000&search=e", "other")
        self.assertEqual(len(self.search("search=many", "other")["SearchResults"]), 20)
        self.assertEqual(self.search("search=many", "other")["TotalCount"], 30)
        pages = [self.search(f"search=e&size=7&from={at}", "other") for at in range(0, len(every) + 7, 7)]
        self.assertEqual([(one["Type"], one["Id"]) for page in pages for one in page["SearchResults"]], every)
        self.assertEqual({page["Total"] for page in pages}, {len(every)})
        self.assertEqual(self.search("search=e&from=2147483647", "other")["SearchResults"], [])

    def test_without_a_text_nothing_is_found(self):
        for query in ("", "search=", "size=5"):
            empty = self.search(query)
            self.assertEqual((empty["Query"], empty["TotalCount"], empty["SearchResults"]), ("", 0, []))

    def test_bounds_and_roles(self):
        self.assertEqual(self.search("search=" + "x" * 255)["TotalCount"], 0)
        for query, field in (("search=" + "x" * 256, "search"), ("search=a&from=-1", "from"), ("search=a&from=2147483648", "from"),
                             ("search=a&size=0", "size"), ("search=a&size=1001", "size"), ("search=a&size=x", "size")):
            self.refused(self.server.get(f"/search?{query}"), 400, "validation_error", field)
        self.refused(self.server.get("/search?search=a", None), 401, "authentication.failed")
        for key in ("ingest", "SubuserBilling"):
            self.refused(self.server.get("/search?search=a", key), 403, "authorization.forbidden")
        self.assertEqual(self.found("acme-v", "SubuserPullZones"), [("PullZone", 101)])


if __name__ == "__main__":
    unittest.main()
