"""POST /operations/NAME: what an operation is given in a query and in a body meets the same checks, whatever
it is; the reply holds what a command line prints."""
import json
import unittest
from harness import Case


class Operations(Case):
    def ask(self, target, document=None):
        body = b"" if document is None else json.dumps(document).encode()
        return self.server.ask("POST", "/operations/" + target, "operator", body)

    def test_the_reply_holds_what_a_command_line_prints(self):
        listed = self.ask("key-list").json()
        self.assertEqual(listed["out"].split("\n")[0], "id\taccount\troles\tkey\tcreated\trevoked")
        self.assertEqual(listed["answer"], self.server.get("/keys", "operator").json())
        self.assertEqual((listed["said"], listed["no"], listed["next"]), ([], False, ""))
        made = self.ask("key-create?account=1", {"Roles": ["User", "SubuserBilling"]})
        self.assertEqual(made.status, 201)
        made = made.json()
        self.assertEqual(made["out"], made["answer"]["Key"] + "\n")
        self.assertEqual(made["said"], [f"Key {made['answer']['Id']} is made. It is shown only once."])
        self.assertEqual(made["answer"]["Roles"], ["User", "SubuserBilling"])
        gone = self.ask("key-revoke", {"id": made["answer"]["Id"]}).json()
        self.assertEqual((gone["answer"], gone["said"]),
                         (None, [f"Key {made['answer']['Id']} is revoked."]))

    BAD = (
        ("key-create", {}, 400, "Account"),
        ("key-create", {"account": "1"}, 400, "Account"),
        ("key-create", {"Account": 1.5}, 400, "Account"),
        ("key-create", {"Account": -1}, 400, "Account"),
        ("key-create", {"Account": 1, "account": 1}, 400, "Account"),
        ("key-create", {"Account": 1, "Roles": []}, 400, "Roles"),
        ("key-create", {"Account": 1, "Roles": [1]}, 400, "Roles"),
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
    )

    def test_bad_input_is_refused_by_its_name(self):
        for target, document, status, field in self.BAD:
            with self.subTest(target=target, document=document):
                self.refused(self.ask(target, document), status,
                             {400: "validation_error", 404: "resource.not_found"}[status], field)


if __name__ == "__main__":
    unittest.main()
