"""GET /user/audit/{date}: the audit log as an account sees it, in the form that clients of the deployed service read."""
import json
import unittest

from harness import CATALOG, Case, run
from test_billing import BOOK

DAY = "11-04-2026"  # of the harness's clock
MEMBERS = ["Timestamp", "Product", "ResourceType", "ResourceId", "Action", "ActorId", "ActorType", "Diff"]


class UserAudit(Case):
    """Changes of account 1 by its own key, by the operator and on the command line; others are of account 2 or of all."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        for account, name in ((1, "admin"), (2, "admin 2")):
            server.keys[name] = server.make_key(account, "CustomerAdmin")
        run("ledger", "adjust", "--db", server.db, "--account", "1", "--amount", "-1.50", "--reference", "cli", "--note", "inner")
        server.start()
        made = server.ask("POST", "/keys", "admin", b'{"Roles": ["User"]}').json()
        cls.made = made["Id"]
        alert = {"id": "b", "kind": "month_to_date", "above": "5"}
        for key in ("admin", "admin 2"):
            cls.send("POST", "/billing/alerts", key, alert)
        cls.send("DELETE", "/billing/alerts/b", "admin")
        cls.send("DELETE", f"/keys/{cls.made}", "operator")
        for account in (1, 2):
            cls.send("POST", "/ledger", "operator", {"account": account, "kind": "payment", "amount": "3.00",
                                                     "reference": f"p{account}", "note": "inner"})
        cls.send("POST", "/books", "operator", BOOK)
        cls.send("POST", "/catalog", "operator", {**CATALOG, "load_balancers": [
            {"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None, "zones": [101]}]})
        scenario = {"scenario": "s", "patch": {"minimum_monthly": "5"}}
        cls.send("POST", "/operations/whatif", "operator",
                 {"account": 1, "from": "2026-10", "to": "2026-10", "scenarios": [scenario]})

    @classmethod
    def send(cls, method, path, key, body=None):
        answer = cls.server.ask(method, path, key, json.dumps(body).encode() if body is not None else None)
        assert answer.status < 300, (path, answer.body)

    def page(self, query="", key="admin", day=DAY):
        answer = self.server.get(f"/user/audit/{day}?{query}", key)
        self.assertEqual(answer.status, 200, answer.body)
        page = answer.json()
        self.assertEqual(list(page), ["Logs", "HasMoreData", "ContinuationToken"])
        return page

    def said(self, query="", key="admin"):
        return [(one["ResourceType"], one["Action"], one["ResourceId"], one["ActorType"])
                for one in self.page(query, key)["Logs"]]

    def walk(self, query):
        logs, token = [], ""
        while token is not None:
            page = self.page(f"{query}&ContinuationToken={token}")
            self.assertEqual(page["HasMoreData"], page["ContinuationToken"] is not None)
            logs += page["Logs"]
            token = page["ContinuationToken"]
        return logs

    def test_1_an_account_sees_what_concerns_it_alone(self):
        own = [row for row in self.said() if row[1:] != ("Create", None, "Operator")]  # keys of the command line
        self.assertEqual(own, [("LedgerEntry", "Create", "cli", "Operator"), ("ApiKey", "Create", None, "ApiKey"),
                               ("Alert", "Update", "b", "ApiKey"), ("Alert", "Delete", "b", "ApiKey"),
                               ("ApiKey", "Delete", str(self.made), "Operator"), ("LedgerEntry", "Create", "p1", "Operator")])
        other = [row for row in self.said(key="admin 2") if row[0] != "ApiKey"]
        self.assertEqual(other, [("Alert", "Update", "b", "ApiKey"), ("LedgerEntry", "Create", "p2", "Operator")])
        self.assertNotIn(b"p1", self.server.get(f"/user/audit/{DAY}", "admin 2").body)

    def test_1_what_the_operator_gave_is_not_shown(self):
        text = self.server.get(f"/user/audit/{DAY}", "user").body
        for word in (b"inner", b"user ", b"127.0.0.1", b"3.00", b"scenario"):
            self.assertNotIn(word, text)
        for one in self.page()["Logs"]:
            self.assertEqual(list(one), MEMBERS)
            self.assertEqual(one["Timestamp"], "2026-11-04T09:00:00Z")
            self.assertEqual(one["Diff"] is None, one["ActorType"] == "Operator")
            self.assertEqual(one["ActorId"] is None, one["ActorType"] == "Operator")
        alert, = self.page("ResourceType=Alert&ResourceId=b&Order=Descending&Limit=1")["Logs"]
        self.assertEqual(json.loads(alert["Diff"]), {"account": 1, "id": "b"})

    def test_1_filters_of_a_name_are_alternatives_and_names_combine(self):
        every = self.page()["Logs"]
        for query, fits in (("Product=billing", lambda e: e["Product"] == "Billing"),
                            ("ResourceType=Alert&ResourceType=LedgerEntry", lambda e: e["ResourceType"] != "ApiKey"),
                            ("ResourceType[0]=Alert&ResourceType[1]=ApiKey", lambda e: e["ResourceType"] != "LedgerEntry"),
                            ("resourceid=b&Product=Account", lambda e: False), ("ResourceId=", lambda e: True),
                            (f"ResourceId={self.made}&Product=Account", lambda e: e["ResourceId"] == str(self.made)),
                            ("ActorId=x", lambda e: False)):
            self.assertEqual(self.page(query)["Logs"], [one for one in every if fits(one)], query)
        actor = next(one["ActorId"] for one in every if one["ActorId"])
        self.assertEqual(self.page(f"ActorId={actor}")["Logs"], [one for one in every if one["ActorId"] == actor])

    def test_1_pages_follow_each_other_in_both_orders(self):
        every = self.page()["Logs"]
        self.assertGreater(len(every), 5)
        for limit in (1, 2, 3, len(every), len(every) + 1, 10000):
            self.assertEqual(self.walk(f"Limit={limit}"), every)
            self.assertEqual(self.walk(f"Limit={limit}&Order=Descending"), every[::-1])
        self.assertEqual(self.walk("Limit=2&Product=Billing&Order=descending"),
                         [one for one in every[::-1] if one["Product"] == "Billing"])

    def test_2_new_entries_do_not_move_those_of_later_pages(self):
        every = self.page()["Logs"]
        tokens = {order: self.page(f"Limit=2&Order={order}")["ContinuationToken"] for order in ("Ascending", "Descending")}
        self.send("POST", "/billing/alerts", "admin", {"id": "later", "kind": "month_to_date", "above": "9"})
        later = {order: self.page(f"Limit=100&Order={order}&ContinuationToken={token}")["Logs"]
                 for order, token in tokens.items()}
        self.assertEqual(later["Descending"], every[::-1][2:])
        self.assertEqual(later["Ascending"][:-1], every[2:])
        self.assertEqual(later["Ascending"][-1]["ResourceId"], "later")

    def test_2_days_in_the_forms_that_clients_send(self):
        every = self.page()
        for day in ("2026-11-04", "11-04-26", "11-4-2026", "2026-11-04T23:59:59Z", "2026-11-04T00:00:00.000Z"):
            self.assertEqual(self.page(day=day), every, day)
        for day in ("11-03-2026", "11-05-2026", "2026-11-05T00:00:00Z", "12-31-9999"):
            self.assertEqual(self.page(day=day), {"Logs": [], "HasMoreData": False, "ContinuationToken": None})

    def test_2_bad_input(self):
        for day in ("13-01-2026", "02-30-2026", "11-04", "x", "11-04-20x6", "11-xx-26", "2026-11-04Z", "1793782800", "%31"):
            self.refused(self.server.get(f"/user/audit/{day}", "user"), 400, "validation_error", "date")
        for query, field in (("Limit=0", "Limit"), ("Limit=10001", "Limit"), ("Limit=x", "Limit"), ("Order=up", "Order"),
                             ("ContinuationToken=x", "ContinuationToken"), ("ContinuationToken=0", "ContinuationToken"),
                             ("ContinuationToken=-1", "ContinuationToken"), ("&".join(["ActorId=1"] * 33), None)):
            self.refused(self.server.get(f"/user/audit/{DAY}?{query}", "user"), 400, "validation_error", field)
        self.page("ContinuationToken=9223372036854775807")
        self.page("&".join(["ActorId=1"] * 32))
        self.refused(self.server.get(f"/user/audit/{DAY}", None), 401, "authentication.failed")
        for key in ("ingest", "operator"):
            self.refused(self.server.get(f"/user/audit/{DAY}", key), 403, "authorization.forbidden")
        self.assertEqual(self.server.get("/user/audit", "user").status, 404)


if __name__ == "__main__":
    unittest.main()
