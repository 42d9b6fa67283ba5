"""docs/roles.md says what each role may do. Every operation and every route is asked with a key of every role, over
HTTP, and the page's tables are what was answered. What a key that is bound to an account sees is that account.

    tests/http/test_roles.py            compare
    tests/http/test_roles.py --write    write the tables of docs/roles.md
"""
import json
import re
import sys
import unittest

from harness import SOURCE, Case, seed
from test_auth import OPERATORS, roles
from test_billing import BOOK

PAGE = SOURCE / "docs/roles.md"
# The roles with a column of their own, and those that have the same rights.
ALIKE = {"Operator": (), "Finance": (), "Support": (), "CustomerAdmin": (), "User": ("UserApi",),
         "SubuserManage": ("SubuserAPIManage",), "SubuserStatistics": ("SubuserAPIStatistics",),
         "SubuserPullZones": ("SubuserAPIPullZones",), "SubuserBilling": ("SubuserAPIBilling",), "Ingest": (), "Replica": ()}
RUNNING = ("Operator", "Finance", "Support", "CustomerAdmin")  # all others run no operation
# What makes an operation write that otherwise only reads: a query and a body. Only refusals are looked at.
SCENARIO = {"from": "2026-10", "to": "2026-10", "scenarios": [{"scenario": "s", "patch": {"minimum_monthly": "5"}}]}
WRITING = {"invoice": ("?finalize=true", b""), "ledger begin": ("?month=2026-10", b""), "ledger grace": ("?days=3", b""),
           "alerts": ("?resend=none", b""), "whatif": ("", json.dumps(SCENARIO).encode())}
NO_CHANGE = b"this key may change nothing"


def path_of(name):
    return "/operations/" + name.replace(" ", "-")


def write_flags():
    """The operations that write only with one of their flags, of the table's rows."""
    text = "".join(path.read_text() for path in sorted((SOURCE / "engine/ops").rglob("*_operations.c")))
    return {name for name, row in re.findall(r'\{\.name = "([a-z -]+)",(.*?)\}[,;\n]', text, re.S)
            if ".write_flags" in row}


class Keyed(Case):
    """A key of every role, named by it; of account 2 another CustomerAdmin's."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        for role in roles():
            server.keys[role] = server.make_key(0 if role in OPERATORS else 1, role)
        server.keys["admin 2"] = server.make_key(2, "CustomerAdmin")
        server.start()

    def run_as(self, role, name, arguments=None):
        return self.server.ask("POST", path_of(name), role, json.dumps(arguments or {}).encode())


class Roles(Keyed):
    def right(self, role, name):
        """A cell: whether the role may run it, and write with it."""
        if self.run_as(role, name).status == 403:
            return "–"
        query, body = WRITING.get(name, ("", b"{}"))
        answer = self.server.ask("POST", path_of(name) + query, role, body)
        cell = "reads" if answer.status == 403 or NO_CHANGE in answer.body else "yes"
        return {"yes": "own account", "reads": "reads own account"}[cell] if role == "CustomerAdmin" else cell

    # --- the tables ---

    def operations(self):
        """(name, {role: cell}) of every operation. Those that may be refused are asked with the weakest key first."""
        listed = self.server.get("/operations", "Operator").json()["operations"]
        for operation in listed:
            yield operation["name"], {role: self.right(role, operation["name"]) for role in reversed(RUNNING)}

    def routes(self):
        for row in seed.routes():
            if row["access"] in ("none", "any") or row["path"].startswith("/operations"):
                continue
            target = {"/keys/{id}": "/keys/999999"}.get(row["path"], row["path"].replace("{id}", "101"))
            body = b"" if row["method"] == "POST" else None
            with self.server.wire() as wire:
                yield row, {role: wire.ask(row["method"], target, {"AccessKey": self.server.keys[role]}, body).status
                            not in (401, 403) for role in roles()}

    def tables(self):
        lines = ["| operation | " + " | ".join(RUNNING) + " |", "|---" * (len(RUNNING) + 1) + "|"]
        for name, cells in self.operations():
            lines.append(f"| `{name}` | " + " | ".join(cells[role] for role in RUNNING) + " |")
        paths = ["| route | " + " | ".join(ALIKE) + " |", "|---" * (len(ALIKE) + 1) + "|"]
        for row, opens in self.routes():
            for role, others in ALIKE.items():
                for other in others:
                    self.assertEqual(opens[other], opens[role], (row["path"], other))
            paths.append(f"| `{row['method']} {row['path']}` | "
                         + " | ".join("yes" if opens[role] else "–" for role in ALIKE) + " |")
        return {"operations": "\n".join(lines), "routes": "\n".join(paths)}

    def test_1_the_page_says_what_is_answered(self):
        text = PAGE.read_text()
        for name, table in self.tables().items():
            begin, end = f"<!-- {name} -->\n\n", f"\n<!-- end of {name} -->"
            start, stop = text.index(begin) + len(begin), text.index(end)
            if "--write" in sys.argv:
                text = f"{text[:start]}{table}\n{text[stop:]}"
                PAGE.write_text(text)
            else:
                self.assertEqual(text[start:stop].splitlines(), table.splitlines())

    def test_1_every_operation_that_writes_with_a_flag_is_asked_with_it(self):
        self.assertLessEqual(write_flags(), WRITING.keys())

    def test_2_what_is_listed_is_what_may_be_run(self):
        table = re.findall(r"^\| `([a-z -]+)` \| (.*?) \| (.*?) \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.M)
        self.assertGreater(len(table), 40)
        for column, role in enumerate(RUNNING, 1):
            listed = {one["name"]: one["writes"] for one in self.server.get("/operations", role).json()["operations"]}
            self.assertEqual(list(listed), [row[0] for row in table if row[column] != "–"], role)
            entered = self.server.ask("POST", "/console/session", body=json.dumps({"key": self.server.keys[role]}).encode(),
                                      Content_Type="application/json", X_Tollbook_Console="1").json()
            self.assertEqual(entered["changes"], [name for name, writes in listed.items() if writes], role)
            self.assertFalse([row[0] for row in table if row[column].startswith("reads") and listed[row[0]]], role)
        for role in ALIKE.keys() - set(RUNNING):
            self.refused(self.server.get("/operations", role), 403, "authorization.forbidden")
            self.refused(self.run_as(role, "key list"), 403, "authorization.forbidden")

    def test_2_who_may_change_nothing_still_asks_what_if(self):
        self.server.ask("POST", "/books", "Operator", json.dumps(BOOK).encode())
        fresh = {**SCENARIO, "scenarios": [{"scenario": "fresh", "patch": {"minimum_monthly": "6"}}]}
        for role, kept in (("Support", False), ("Finance", False), ("Operator", True)):
            answer = self.run_as(role, "whatif", fresh)
            self.assertEqual(answer.status, 200, answer.body)
            self.assertEqual(NO_CHANGE not in answer.body, kept, role)
            names = [one["scenario"] for one in self.run_as("Support", "scenario list").json()["answer"]["scenarios"]]
            self.assertEqual("fresh" in names, kept, role)


class CustomerAdmin(Keyed):
    """Keys of its own account, with no more rights than its own."""

    def make(self, *names, key="CustomerAdmin", **more):
        return self.server.ask("POST", "/keys", key, json.dumps({"Roles": names, **more} if names else more).encode())

    def listed(self, key="CustomerAdmin", query=""):
        answer = self.server.get("/keys" + query, key)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["Items"]

    def test_it_makes_lists_and_revokes_keys_of_its_account(self):
        made = self.make("UserApi", "SubuserBilling")
        self.assertEqual((made.status, made.json()["Account"]), (201, 1))
        self.assertEqual(self.make(Account=1).json()["Roles"], ["User"])
        self.assertEqual(self.server.get("/statistics", made.json()["Key"]).status, 200)
        self.assertEqual({key["Account"] for key in self.listed()}, {1})
        self.assertIn(made.json()["Id"], [key["Id"] for key in self.listed()])
        self.assertNotIn("Key", self.listed()[0])
        for _ in range(2):
            self.assertEqual(self.server.ask("DELETE", f"/keys/{made.json()['Id']}", "CustomerAdmin").status, 204)
        self.assertEqual(self.server.get("/statistics", made.json()["Key"]).status, 401)
        entry = self.run_as("Operator", "audit").json()["answer"]["entries"][-1]
        mine = next(key for key in self.listed() if key["Roles"] == ["CustomerAdmin"])
        self.assertEqual((entry["operation"], entry["key"]), ("key revoke", mine["Id"]))

    def test_a_key_has_a_name_that_only_lists_say(self):
        made = self.make("User", Name="Eva, \u00fcber CI").json()
        self.assertEqual(made["Name"], "Eva, \u00fcber CI")
        for key in ("CustomerAdmin", "Operator"):
            self.assertEqual([one["Name"] for one in self.listed(key) if one["Id"] == made["Id"]], [made["Name"]])
        self.assertEqual({one["Name"] for one in self.listed() if one["Id"] < made["Id"]} - {""}, set())
        self.assertNotIn("Eva", self.run_as("Operator", "audit").body.decode())
        for name in ("", "x" * 65, "a\nb"):
            self.refused(self.make("User", Name=name), 400, "validation_error", "Name")

    def test_every_role_up_to_its_own_and_none_above(self):
        above = {"Ingest", *OPERATORS}
        for role in roles():
            answer = self.make(role)
            self.assertEqual(answer.status, 201 if role not in above else 400 if role in OPERATORS else 403, role)
        self.refused(self.make("User", "Ingest"), 403, "authorization.forbidden", "Roles")

    def test_another_account_is_one_that_does_not_exist(self):
        other = self.make("User", key="admin 2").json()
        answers = [self.server.ask("DELETE", f"/keys/{number}", "CustomerAdmin") for number in (other["Id"], 999999, "x")]
        for answer in answers:
            self.refused(answer, 404, "resource.not_found", "id")
            self.assertEqual(answer.body, answers[0].body)
        self.assertEqual(self.server.get("/statistics", other["Key"]).status, 200)
        for target, document in (("/keys", {"Account": 2}), ("/operations/key-list", {"account": 2}),
                                 ("/operations/alerts", {"account": 2}), ("/operations/key-list", {"account": 0}),
                                 ("/operations/alert-list", {"account": 2}), ("/operations/alert-drop", {"account": 2, "id": "a"}),
                                 ("/operations/alert-set", {"account": 2, "id": "a"})):
            body = json.dumps(document).encode()
            absent = json.dumps({**document, **{name: 999 for name in document if name.lower() == "account"}}).encode()
            known, unknown = (self.server.ask("POST", target, "CustomerAdmin", one) for one in (body, absent))
            self.refused(known, 404, "resource.not_found")
            self.assertEqual(re.sub(r"account \d+", "", known.json()["Message"]),
                             re.sub(r"account \d+", "", unknown.json()["Message"]))
        self.refused(self.server.get("/keys?account=2", "CustomerAdmin"), 404, "resource.not_found")
        both = self.server.ask("POST", "/operations/alert-list?account=2", "CustomerAdmin", b'{"account": 1}')
        self.assertIn(both.status, (400, 404))
        self.assertEqual({key["Account"] for key in self.listed("Support", "?account=2")}, {2})
        self.assertEqual({key["Account"] for key in self.listed("Support", "?account=0")}, {0})

    def test_keys_that_are_above_it_are_not_its_to_revoke(self):
        ingest = next(key for key in self.listed() if key["Roles"] == ["Ingest"])
        self.refused(self.server.ask("DELETE", f"/keys/{ingest['Id']}", "CustomerAdmin"), 403, "authorization.forbidden")
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", b"").status, 200)

    def test_its_alerts_are_listed_without_the_operators_messages(self):
        found = self.run_as("CustomerAdmin", "alerts").json()["answer"]
        self.assertEqual((found["alerts"], found["messages"]), ([], []))
        self.refused(self.run_as("CustomerAdmin", "alerts", {"off": True}), 403, "authorization.forbidden")


if __name__ == "__main__":
    unittest.main(argv=[word for word in sys.argv if word != "--write"])
