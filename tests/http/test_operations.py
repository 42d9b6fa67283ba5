"""POST /operations/NAME: what an operation is given in a query and in a body meets the same checks, whatever
it is; the reply holds what a command line prints."""
import json
import re
import unittest
from harness import CONTRACT, SOURCE, Case, run
from test_billing import BOOK


class Operations(Case):
    def ask(self, target, document=None):
        body = b"" if document is None else json.dumps(document).encode()
        return self.server.ask("POST", "/operations/" + target, "operator", body)

    def test_the_reply_holds_what_a_command_line_prints(self):
        listed = self.ask("key-list", {"format": "table"}).json()
        self.assertEqual(listed["out"].split("\n")[0], "id\taccount\troles\tkey\tcreated\trevoked\tname")
        self.assertEqual(listed["answer"], self.server.get("/keys", "operator").json())
        self.assertEqual((listed["said"], listed["no"], listed["next"]), ([], False, ""))
        self.assertEqual(json.loads(self.ask("key-list").json()["out"]), listed["answer"])
        refused = self.ask("key-list", {"fromat": "table"})
        self.assertEqual((refused.status, refused.json()["Message"]), (400, 'Unknown member "fromat". Did you mean "format"?'))
        made = self.ask("key-create?account=1", {"Roles": ["User", "SubuserBilling"]})
        self.assertEqual(made.status, 201)
        made = made.json()
        self.assertEqual(made["out"], made["answer"]["Key"] + "\n")
        self.assertEqual(made["said"], [f"Key {made['answer']['Id']} is made. It is shown only once."])
        self.assertEqual(made["answer"]["Roles"], ["User", "SubuserBilling"])
        gone = self.ask("key-revoke", {"id": made["answer"]["Id"]}).json()
        self.assertEqual((gone["answer"], gone["said"]),
                         (None, [f"Key {made['answer']['Id']} is revoked."]))

    def test_a_document_that_may_be_left_out(self):
        """ledger begin has one: its other arguments are always a query."""
        self.assertEqual(self.ask("ledger-begin").json()["answer"], {"month": None})
        begun = self.ask("ledger-begin?month=2026-01").json()
        self.assertEqual(begun["answer"], {"month": "2026-01", "entered": 0, "known": 0, "takenBack": 0})
        row = {"account": 1, "amount": "-12.50", "due": "2025-12-14"}
        begun = self.ask("ledger-begin?month=2026-01", {"balances": [row]}).json()
        self.assertEqual((begun["answer"]["entered"], begun["no"]), (1, False))
        csv = self.server.ask("POST", "/operations/ledger-begin?month=2026-01", "operator",
                              b"account,amount,due\n1,-12.50,2025-12-14\n").json()
        self.assertEqual(csv["answer"]["known"], 1)
        self.assertEqual(self.ask("ledger-begin?month=2026-01", {"balances": [{"account": 1}]}).status, 400)
        self.refused(self.ask("ledger-begin", {"balances": [row]}), 400, "validation_error", "month")
        there = ("ledger", "begin", "--server", self.server.url, "--key", self.server.keys["operator"])
        self.assertEqual(run(*there).stdout, b"2026-01\n")
        self.assertIn(b"as before", run(*there, "--month", "2026-01").stderr)
        self.assertIn(b"1 known", run(*there, "--month", "2026-01", "-", stdin=b"account,amount,due\n1,-12.5,2025-12-14\n").stderr)
        self.assertEqual(self.server.ask("POST", "/operations/ledger-begin", "user", b"").status, 403)

    BAD = (
        ("key-create", {}, 400, "Account"),
        ("key-create", {"account": "1"}, 400, "Account"),
        ("key-create", {"Account": 1.5}, 400, "Account"),
        ("key-create", {"Account": -1}, 400, "Account"),
        ("key-create", {"Account": 1, "account": 1}, 400, "Account"),
        ("key-create", {"Account": 1, "Roles": []}, 400, "Roles"),
        ("key-create", {"Account": 1, "Roles": [1]}, 400, "Roles"),
        ("key-create", {"Account": 1, "Roles": [None]}, 400, "Roles"),
        ("key-create", {"Account": 1, "roles": ["user"]}, 400, "Roles"),
        ("key-create", {"Account": 1, "colour": 1}, 400, "colour"),
        ("key-create?Account=x", None, 400, "Account"),
        ("key-create?account=1", {"Account": 1}, 400, "Account"),
        ("key-create?account=1&roles=user", None, 400, "Roles"),
        ("key-create?account=99", None, 404, "Account"),
        ("key-revoke", None, 400, "id"),
        ("key-revoke", {"id": "1"}, 400, "id"),
        ("key-revoke?id=0x1", None, 400, "id"),
        ("key-revoke?id=999", None, 404, "id"),
        ("scenario-show?scenario=none", None, 404, "scenario"),
        ("scenario-show?scenario=one@1", None, 400, "scenario"),
        ("scenario-show", {"scenario": 1}, 400, "scenario"),
        ("key-revoked", None, 404, None),
        ("book-show", None, 400, "book"),
        ("book-show", {"book": ""}, 400, "book"),
        ("book-show", {"book": "x" * 65}, 400, "book"),
        ("book-show", {"book": "a\n"}, 400, "book"),
        ("book-show?book=none", None, 404, "book"),
        ("book-diff?book=none", None, 400, "other"),
        ("book-report?month=2026-13", None, 400, "month"),
        ("book-report", {"month": 202610}, 400, "month"),
        ("book-activate", {"book": "x", "months": 0}, 400, "months"),
        ("book-activate", {"book": "x", "months": "1"}, 400, "months"),
        ("book-activate", {"book": "x", "maxChange": 10}, 400, "maxChange"),
        ("book-activate", {"book": "x", "max-change": "1e3"}, 400, "maxChange"),
        ("book-activate", {"book": "x", "anyway": "true"}, 400, "anyway"),
        ("book-activate?book=x&anyway=2", None, 400, "anyway"),
        ("book-activate", {"book": "x"}, 404, "book"),
        ("whatif", {"from": "2026-10", "to": "2026-10",
                    "scenarios": [{"scenario": "a", "patch": {}}, {"scenario": "b", "patch": 1}]}, 400,
         "scenarios[1].patch"),
    )

    def test_arguments_are_bounded(self):
        for more, status, key in ((0, 400, "validation_error"), (1, 413, "request.body_too_large")):
            body = b'{"after":0,"next":"' + b"x" * ((16 << 20) - 21 + more) + b'"}'
            self.refused(self.server.ask("POST", "/operations/audit", "operator", body), status, key)

    def test_stored_scenarios_are_bounded(self):
        """A name is short and what it stands for is not."""
        book = {**BOOK, "book": "b" * 64}
        self.server.ask("POST", "/books", "operator", json.dumps(book).encode())
        usage = [{"account": 10**15 + i, "factor": "1.000001"} for i in range(1024)]
        big = {"scenario": "big", "base": book["book"], "patch": {}, "usage": usage}
        self.assertEqual(self.ask("scenario-add", big).status, 201)
        document = {"from": "2026-10", "to": "2026-10", "scenarios": ["big"] * 600}
        self.refused(self.ask("whatif", document), 400, "whatif.too_much", "scenarios")
        document["scenarios"] = ["big"] * 2
        self.refused(self.ask("whatif", document), 400, "validation_error")

    def test_a_backtest_goes_on_from_no_count_that_is_made_up(self):
        """The counts of 41 numbers; the others are a moment, an account and sums."""
        counts = {*range(4, 8), *(9 + 5 * day + i for day in range(5) for i in range(4)), 34, 35, 36}
        for number in range(4, 41):
            numbers = [1793782800000000 if i == 0 else 1 << 62 if i == number else 0 for i in range(41)]
            answer = self.ask("forecast", {"backtest": True,
                                           "next": " ".join(map(str, numbers))})
            if number in counts:
                self.refused(answer, 400, "validation_error", "next")
            else:
                self.assertEqual(answer.status, 200, number)

    def test_the_list_says_what_a_form_needs(self):
        listed = {one["name"]: one for one in self.server.get("/operations", "operator").json()["operations"]}
        enter = {one["name"]: one for one in listed["ledger enter"]["parameters"]}
        self.assertEqual(enter["kind"]["choices"], ["payment", "adjustment"])
        self.assertEqual((enter["account"]["kind"], enter["account"]["minimum"], enter["account"]["maximum"]), ("number", 1, 2**63 - 1))
        self.assertEqual((enter["reference"]["kind"], enter["reference"]["minLength"], enter["reference"]["maxLength"]), ("text", 1, 63))
        activate = {one["name"]: one for one in listed["book activate"]["parameters"]}
        self.assertEqual((activate["maxChange"]["default"], activate["maxChange"]["value"]), ("10", "PERCENT"))
        self.assertEqual({name for name, one in listed.items() if any("choices" in p and p["kind"] != "choice" for p in one["parameters"])}, set())
        self.assertIn("--shadow", listed["book add"]["details"])
        for name, one in listed.items():
            told = self.server.ask("POST", "/operations/" + name.replace(" ", "-"), "user", b"{}")
            self.assertEqual(told.status, 403, name)

    def balance(self, account):
        return self.ask("ledger", {"account": account}).json()["answer"]["balance"]

    def test_what_is_tried_is_taken_back(self):
        paid = {"account": 2, "kind": "payment", "amount": "12.50", "reference": "try 1"}
        before, entries = self.balance(2), len(self.ask("audit", {}).json()["answer"]["entries"])
        tried = self.ask("ledger-enter?dryRun=true", paid)
        self.assertEqual((tried.status, tried.json()["answer"]["known"], tried.json()["answer"]["balance"]), (200, False, "12.5"))
        self.assertNotIn("entry", tried.json())
        self.assertEqual(self.balance(2), before)
        self.assertEqual(len(self.ask("audit", {}).json()["answer"]["entries"]), entries)
        self.refused(self.ask("ledger-enter?dryRun=true", {**paid, "amount": "-1"}), 400, "validation_error", "amount")
        self.refused(self.ask("ledger-enter?dryRun=yes!", paid), 400, "validation_error", "dryRun")
        done = self.ask("ledger-enter?dryRun=false", paid).json()
        noted = self.ask("audit", {"after": done["entry"] - 1}).json()["answer"]["entries"]
        self.assertEqual((noted[0]["id"], noted[0]["operation"], noted[0]["arguments"]["reference"]), (done["entry"], "ledger enter", "try 1"))
        self.assertNotIn("entry", self.ask("ledger-enter", paid).json(), "the same again leaves no entry")
        self.refused(self.ask("key-create?dryRun=true", {"Account": 1, "Roles": ["User"]}), 400, "validation_error", "dryRun")
        made = self.ask("key-create", {"Account": 1, "Roles": ["User"]}).json()["answer"]
        self.assertEqual(self.ask("key-revoke?dryRun=true", {"id": made["Id"]}).status, 200)
        self.assertEqual(self.server.ask("GET", "/user", made["Key"]).status, 200, "the key still works")
        own = {"account": 2, "kind": "payment", "amount": "1", "reference": "own path"}
        self.assertEqual(self.server.ask("POST", "/ledger?dryRun=true", "operator", json.dumps(own).encode()).status, 200)
        self.assertIn("own path", self.ask("ledger", {"account": 2}).json()["out"], "a path of its own ignores it")

    def test_what_reads_and_then_writes_is_tried_too(self):
        self.ask("book-add", {**BOOK, "book": "tried", "effective_from": "2026-01-01T00:00:00Z"})
        self.assertEqual(self.ask("book-add?shadow=true", {**BOOK, "book": "tried-shadow", "effective_from": "2027-01-01T00:00:00Z"}).status, 201)
        states = {one["book"]: one["state"] for one in self.ask("book-list").json()["answer"]["books"]}
        tried = self.ask("book-activate?dryRun=true", {"book": "tried-shadow"}).json()
        self.assertEqual((tried["answer"]["active"], tried["no"]), (True, False))
        self.assertEqual({one["book"]: one["state"] for one in self.ask("book-list").json()["answer"]["books"]}, states)
        self.assertEqual(self.ask("book-activate", {"book": "tried-shadow"}).json()["answer"]["active"], True)
        for name, given in (("alerts", {"on": True}), ("ledger-grace", {"days": "5"})):
            before = self.ask(name, {}).json()["answer"]
            self.assertEqual(self.ask(name + "?dryRun=true", given).status, 200)
            self.assertEqual(self.ask(name, {}).json()["answer"], before)
        self.assertIn("out", self.ask("key-list?dryRun=true").json())  # what only reads is as ever

    def test_one_object_of_the_catalogue_changes(self):
        def whole():
            return json.loads(self.ask("catalog-show", {}).json()["out"])

        before = whole()
        same = self.ask("apply", before).json()
        self.assertEqual((same["answer"]["changed"], same["answer"]["deleted"]), (0, 0))
        account = {"id": 70, "name": "new", "tax": {"VAT": 19.10}}
        tried = self.ask("catalog-change?list=accounts&dryRun=true&was=none", account).json()
        self.assertEqual((tried["answer"]["accountsAdded"], tried["answer"]["dryRun"]), (1, True))
        self.assertEqual(whole(), before)
        self.assertEqual(self.ask("catalog-change?list=accounts&was=none", account).json()["answer"]["accountsAdded"], 1)
        self.refused(self.ask("catalog-change?list=accounts&was=none", account), 400, "validation_error", "was")
        zone = {"id": 7001, "account": 70, "name": "new-zone", "created": "2026-11-01T00:00:00Z"}
        self.assertEqual(self.ask("catalog-change?list=zones", zone).json()["answer"]["zonesAdded"], 1)
        after = whole()
        self.assertEqual([one for one in after["accounts"] if one not in before["accounts"]], [account])
        self.assertEqual([one for one in after["zones"] if one not in before["zones"]], [zone])
        shown = self.ask("catalog-show", {"list": "accounts", "id": 70}).json()["answer"]
        self.assertEqual(shown["document"], account)
        changed = {**account, "contract": {"discount_percent": "5"}}
        self.refused(self.ask("catalog-change?list=accounts&was=" + "0" * 64, changed), 400, "validation_error", "was")
        self.assertEqual(self.ask("catalog-change?list=accounts&was=" + shown["sha256"], changed).json()["answer"]["changed"], 1)
        self.refused(self.ask("catalog-change?list=accounts", {**account, "contract": {"discount_percent": "x"}}), 400,
                     "catalog.invalid", "contract.discount_percent")
        self.refused(self.ask("catalog-change?list=zones", {**zone, "account": 71}), 400, "catalog.invalid", "account")
        self.refused(self.ask("catalog-change?list=accounts&remove=70"), 400, "catalog.invalid", None)  # its zone is left
        self.assertEqual(self.ask("catalog-change?list=zones&remove=7001").json()["answer"]["deletions"],
                         [{"list": "zones", "id": 7001, "name": "new-zone"}])
        self.assertEqual(self.ask("catalog-change?list=accounts&remove=70").json()["answer"]["deleted"], 1)
        self.assertEqual(whole(), before)
        for target, document, status, field in (
                ("catalog-change?list=accounts&remove=70", None, 404, "remove"), ("catalog-change?list=accounts", None, 400, "document"),
                ("catalog-change?list=accounts&remove=1", {"id": 1, "name": "x"}, 400, "remove"), ("catalog-change", {"id": 1, "name": "x"}, 400, "list"),
                ("catalog-show?id=1", None, 400, "list"), ("catalog-show?list=accounts&id=70", None, 404, "id")):
            with self.subTest(target=target):
                self.refused(self.ask(target, document), status, {400: "validation_error", 404: "resource.not_found"}[status], field)
        for bad in ([], {"name": "x"}, {"id": "7", "name": "x"}, {"id": 0, "name": "x"}):
            self.refused(self.ask("catalog-change?list=accounts", bad), 400, "catalog.invalid")

    def test_bad_input_is_refused_by_its_name(self):
        for target, document, status, field in self.BAD:
            with self.subTest(target=target, document=document):
                self.refused(self.ask(target, document), status,
                             {400: "validation_error", 404: "resource.not_found"}[status], field)


ROW = re.compile(r'OPERATION\((\w+), "([^"]+)", \w+, \w+, "\w+", "([^"]+)", (\S+), (\S+)\)')
TYPES = {"boolean": "boolean", "integer": "integer", "string": "string", "object": "object",
         "object or string": None}
VALUES = {"boolean": "true", "integer": "1", "string": "2026-10"}


def resolved(schema):
    """A schema of the document, behind its $ref."""
    found = CONTRACT.document
    for name in schema.get("$ref", "").split("/")[1:]:
        found = found[name]
    return found if "$ref" in schema else schema


class OwnPaths(Case):
    """Of each path that is an operation's docs/openapi.yaml names exactly the operation's parameters."""

    def promised(self, method, path):
        """The path's query parameters, and the schema of its body; None: it takes none."""
        template, = (p for p in CONTRACT.document["paths"] if re.sub(r"{\w+}", "{id}", p) == path)
        entry = CONTRACT.document["paths"][template][method.lower()]
        query = {p["name"]: p for p in map(resolved, entry.get("parameters", [])) if p["in"] == "query"}
        body = entry.get("requestBody")
        return query, body and resolved(body["content"]["application/json"]["schema"])

    def same_type(self, parameter, schema):
        schema = resolved(schema)
        if parameter["repeats"]:
            self.assertEqual(schema["type"], "array")
            schema = resolved(schema["items"])
        self.assertEqual(schema.get("type"), TYPES[parameter["type"]])

    def ask(self, method, path, name, value):
        return self.server.ask(method, f"{path.replace('{id}', '1')}?{name}={value}", "operator")

    def refused_beside(self, method, path, parameter):
        """What the document does not name may not go with this path."""
        answer = self.ask(method, path, parameter["name"], VALUES[parameter["type"]])
        self.refused(answer, 400, "validation_error")

    def same_bounds(self, method, path, name, schema):
        for bound, beyond in (("minimum", -1), ("maximum", 1)):
            if bound in schema:
                answer = self.ask(method, path, name, schema[bound])
                self.assertFalse(answer.status == 400 and answer.json()["Field"] == name, name)
                self.refused(self.ask(method, path, name, schema[bound] + beyond), 400,
                             "validation_error", name)

    def test_each_path_names_the_parameters_of_its_operation(self):
        listed = self.server.get("/operations", "operator").json()["operations"]
        operations = {one["name"]: one["parameters"] for one in listed}
        rows = ROW.findall((SOURCE / "server/api/routes.c").read_text())
        self.assertGreater(len(rows), 9)
        for method, path, name, *given in rows:
            with self.subTest(path=f"{method} {path}"):
                self.one_path(method, path, {p["name"]: p for p in operations[name]},
                              [word.strip('"') for word in given])

    def one_path(self, method, path, parameters, given):
        query, body = self.promised(method, path)
        if "{id}" in path and given[1] == "NULL":
            given[1] = next(iter(parameters))  # the first operand
        for name in given:
            parameters.pop(name, None)
        document = [name for name, p in parameters.items() if p["type"] == "object"]
        for name in document:
            self.assertEqual(resolved(body)["type"], "object")
            del parameters[name]
        named = query if document or body is None else body["properties"]
        self.assertLessEqual(named.keys(), parameters.keys())
        for name, parameter in parameters.items():
            if name not in named:
                self.refused_beside(method, path, parameter)
                continue
            schema = named[name].get("schema", named[name])
            self.same_type(parameter, schema)
            if named is query:
                self.same_bounds(method, path, name, schema)
            required = named[name].get("required", False) if named is query \
                else name in body.get("required", [])
            # A key of an account need not name it.
            self.assertEqual(required, parameter["required"] and (name, path[:9]) != ("account", "/billing/"), name)


if __name__ == "__main__":
    unittest.main()
