"""Keys by mouse: "a key for me", made, shown once, used and revoked, by an account's administrator and by the operator; and
what each role is shown of what it may do."""
from pages import ConsoleCase, axe
from pictures import VIEWS
from cases_views import ViewsCase

# Buttons that change something, by their beginnings, and the operations behind them.
CHANGES = {"/operator/books": {"Add the book": "book add"}, "/operator/alerts": {"Look now": "alerts"},
           "/operator/run?month=2026-11": {}, "/what-if": {"Save": "scenario add"}, "/keys": {"Make the key": "key create", "Revoke": "key revoke"}}


class Steps:
    """Clicks and what is typed, counted as a person would."""

    def __init__(self, page):
        self.page, self.n = page, 0

    def click(self, role, name):
        self.n += 1
        self.page.click(self.page.named(role, name))


class Keys(ConsoleCase):
    def tearDown(self):
        for key in self.keys():
            if key["Hint"] not in {text[:6] for text in self.server.keys.values()} and not key["Revoked"]:
                self.server.ask("DELETE", f"/keys/{key['Id']}", "operator")

    def keys(self, who="operator"):
        return self.server.get("/keys", who).json()["Items"]

    def shown(self, page):
        return page.script("return [...document.querySelectorAll('main tbody tr[data-id]')].map(row => Number(row.dataset.id))")

    def confirmed(self, page):
        page.script("globalThis.asked = []; window.confirm = (text) => Boolean(asked.push(text))")

    def test_a_key_for_me(self):
        page = self.signed_in("admin")
        steps = Steps(page)
        steps.click("link", "Keys")
        self.whole(page)
        self.assertEqual(sorted(self.shown(page)), sorted(key["Id"] for key in self.keys("admin") if not key["Revoked"]))
        page.type("input[name=name]", "Eva's <b>reports</b>")
        page.script("document.querySelector('select[name=role]').value = 'SubuserBilling';"
                    "document.querySelector('select[name=role]').dispatchEvent(new Event('change'))")
        self.assertIn("bills and invoices", page.text("#role-means"))
        steps.n += 2  # the name and the role
        steps.click("button", "Make the key")
        page.wait("document.querySelector('.key-text')")
        text = page.text(".key-text")
        self.assertEqual(page.script("return document.activeElement.textContent"), "Copy")
        steps.click("button", "Copy")
        page.wait("['Copied', 'Selected: press Ctrl+C'].includes(document.activeElement.textContent)")
        self.assertLessEqual(steps.n, 5)
        self.assertIn("not shown again", page.text(".made-key"))
        self.assertEqual(self.server.get("/billing", text).status, 200)
        self.assertEqual(self.server.get("/statistics", text).status, 403)
        self.assertEqual(axe(page), [])
        page.click(page.named("button", "Done"))
        self.open(page, "/overview")
        self.open(page, "/keys")
        self.assertNotIn(text, page.script("return document.documentElement.outerHTML"))
        self.assertFalse(page.script("return JSON.stringify({...localStorage, ...sessionStorage, a: location.href, h: history.state}).includes(arguments[0])", text))
        made = next(key for key in self.keys() if key["Hint"] == text[:6])
        self.assertEqual(made["Name"], "Eva's <b>reports</b>")
        self.assertIn(made["Name"], page.text("tr[data-id='%d']" % made["Id"]))
        self.confirmed(page)
        page.click(page.named("button", f"Revoke {text[:6]}"))
        page.wait("![...document.querySelectorAll('main tbody tr')].some(row => row.dataset.id === '%d')" % made["Id"])
        self.assertIn("cannot be undone", page.script("return asked[0]"))
        self.assertEqual(self.server.get("/billing", text).status, 401)
        page.click("main input[type=checkbox]")
        page.wait("[...document.querySelectorAll('main tbody tr')].some(row => row.dataset.id === '%d')" % made["Id"])
        self.assertIn("revoked", page.text("tr[data-id='%d']" % made["Id"]))
        entries = self.server.ask("POST", "/operations/audit", "operator", b"{}").json()["answer"]["entries"][-2:]
        mine = next(key["Id"] for key in self.keys() if key["Hint"] == self.server.keys["admin"][:6])
        self.assertEqual([(one["operation"], one["key"]) for one in entries], [("key create", mine), ("key revoke", mine)])
        self.assertNotIn(text, str(entries))
        self.assertNotIn("Eva", str(entries))
        page.quiet()

    def test_a_customer_sees_its_own_and_leaves_the_operators(self):
        page = self.signed_in("admin", "/keys")
        listed = {key["Id"]: key for key in self.keys() if not key["Revoked"]}
        for key in self.shown(page):
            self.assertEqual(listed[key]["Account"], 1)
            buttons = page.script("return document.querySelectorAll(`tr[data-id='${arguments[0]}'] button`).length", key)
            self.assertEqual(buttons, listed[key]["Roles"] != ["Ingest"])
        self.assertEqual(page.script("return [...document.querySelector('select[name=role]').options].map(one => one.value)"),
                         ["User", "CustomerAdmin", "SubuserStatistics", "SubuserManage", "SubuserPullZones", "SubuserBilling"])
        self.assertNotIn("borealis", page.text("main"))

    def test_the_key_that_one_is_signed_in_with(self):
        made = self.server.ask("POST", "/keys", "operator", b'{"Account": 1, "Roles": ["CustomerAdmin"]}').json()
        page = self.page()
        self.sign_in(page, made["Key"], "/keys")
        self.assertEqual(page.script("return [...document.querySelectorAll('tr[data-id]')].filter(row => row.textContent.includes('yours')).map(row => row.dataset.id)"),
                         [str(made["Id"])])
        self.confirmed(page)
        page.click(page.named("button", f"Revoke {made['Hint']}"))
        page.wait("document.querySelector('form#sign-in')")
        self.assertIn("you will be signed out", page.script("return asked[0]"))
        page.quiet("401")

    def test_an_operator_makes_keys_for_any_account(self):
        page = self.signed_in("operator", "/keys")
        self.assertEqual(sorted(self.shown(page)), sorted(key["Id"] for key in self.keys() if not key["Revoked"]))
        page.type("input[name=account]", "borealis")
        page.click(page.named("button", "Make the key"))
        page.wait("document.querySelector('.key-text')")
        newest = self.keys()[-1]
        self.assertEqual((newest["Account"], newest["AccountName"], newest["Roles"], newest["Hint"]),
                         (2, "borealis", ["User"], page.text(".key-text")[:6]))
        page.clear("input[name=account]")
        page.type("input[name=account]", "nobody")
        page.click(page.named("button", "Make the key"))
        page.wait("document.querySelector('.key-form .error').textContent === 'There is no account of this name.'")
        page.script("document.querySelector('select[name=for]').value = 'operator';"
                    "document.querySelector('select[name=for]').dispatchEvent(new Event('change'))")
        self.assertEqual(page.script("return [...document.querySelector('select[name=role]').options].map(one => one.value)"),
                         ["Ingest", "Support", "Finance", "Operator"])
        self.assertFalse(page.script("return document.querySelector('input[name=account]').checkVisibility()"))
        self.open(page, "/keys?account=2")
        self.assertEqual(set(self.shown(page)), {key["Id"] for key in self.keys() if key["Account"] == 2 and not key["Revoked"]})
        self.assertIn("borealis", page.text(".page-head"))
        page.click(page.named("link", "All keys"))
        page.wait("document.querySelector('main tbody').textContent.includes('The operator')")
        page.quiet()


class EachRole(ViewsCase):
    """Of each view of the console, each role sees it without an error, and the buttons that it may use."""

    def test_what_changes_something_is_shown_to_those_who_may(self):
        for key in ("operator", "finance", "support", "admin", "user"):
            page = self.signed_in(key)
            may = page.promise("return (await (await fetch('/console/session')).json()).changes")
            own = {address.removeprefix("/console").split("?")[0] for address in self.views(page)}
            for view, buttons in CHANGES.items():
                if view.split("?")[0] not in own:
                    continue
                with self.subTest(key=key, view=view):
                    self.open(page, view)
                    self.assertEqual(page.text("main .trouble"), "")
                    seen = page.script("return [...document.querySelectorAll('main button')].map(one => one.textContent)")
                    for name, operation in buttons.items():
                        self.assertEqual(name in seen, operation in may, (name, seen))
            page.quiet()

    def test_finance_and_support_read_what_an_operator_reads(self):
        for key in ("finance", "support"):
            page = self.signed_in(key)
            for view in VIEWS["operator"]:
                if view.startswith("/do"):  # forms that change something: cases_changes.py
                    continue
                with self.subTest(key=key, view=view):
                    self.open(page, view)
                    self.assertEqual(page.text("main .trouble"), "")
                    self.assertNotIn("Not for this key", page.text("main"))
            page.quiet()
        page = self.signed_in("support", "/operator/run?month=2026-10")
        self.assertIn("Finance or Operator makes invoices final", page.text("main"))
        self.assertIn("Make ", self.signed_in("finance", "/operator/run?month=2026-10").text("main"))
