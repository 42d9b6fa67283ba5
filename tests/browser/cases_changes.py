"""What can be changed by mouse, as journeys whose steps are counted: a payment, a dearer Europe and who pays more, a discount, a
new customer with a zone. Each is previewed, done once, noted in the audit log and can be taken back."""
import json
from decimal import Decimal

from pages import BrowserCase, ConsoleCase, axe
from harness import hit, run

BOOK = {"book": "b-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}},
                      "volume": {"per": "GB", "tiers": [{"from": "0", "to": "500", "price": "0.005"}, {"from": "500", "to": None, "price": "0.004"}]}},
        "load_balancer": {"monthly_fee": "9.50", "included_requests": 50000000, "included_axis": "absolute", "tiers": [{"from_millions": 50, "to_millions": None, "price_per_million": 0.65}]}}


class Changes(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        for month, size in (("08", 4), ("09", 3), ("10", 9)):
            rows = [{"zone": zone, "hour": f"2026-{month}-03T05:00:00Z", "region": region, "bytes": size * 10**11}
                    for zone, region in ((101, "DE"), (201, "SG"))]
            run("import", "--db", server.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        run("invoice", "--db", server.db, "--month", "2026-09", "--finalize")
        server.start()

    def signed_in(self, view, size=(), key="operator"):
        page = self.page(*size)
        page.goto(f"{self.server.url}/console{view}")
        page.wait("document.querySelector('form#sign-in #key')")
        page.type("#key", self.server.keys.get(key, key))
        page.keys("Enter")
        page.wait("document.querySelector('.frame main h1')")
        self.steps = 0
        return page

    def step(self, act, *given):
        """What a person does, counted."""
        self.steps += 1
        return act(*given)

    def field(self, page, label):
        page.wait(f"[...document.querySelectorAll('.do-form label')].some(one => one.textContent.startsWith({json.dumps(label)}))")
        return page.script("const label = [...document.querySelectorAll('.do-form label')].find(one => one.textContent.startsWith(arguments[0]));"
                           "label.control.closest('details')?.setAttribute('open', ''); return label.control", label)

    def fill(self, page, label, text):
        control = self.field(page, label)
        page.clear(control)
        page.type(control, text)

    def press(self, page, name):
        page.click(page.named("button", name))

    def previewed(self, page):
        page.wait("document.querySelector('.do-outcome h2')?.textContent.startsWith('Preview')")

    def done(self, page):
        page.wait("document.querySelector('.do-outcome h2')?.textContent === 'Done'")
        return int(page.script("return document.querySelector('.do-outcome [data-entry]').dataset.entry"))

    def audited(self, entry, operation, **arguments):
        noted, = [one for one in self.operation("audit", after=entry - 1)["answer"]["entries"] if one["id"] == entry]
        self.assertEqual(noted["operation"], operation)
        self.assertLessEqual(arguments.items(), noted["arguments"].items())

    def test_a_payment_is_recorded(self):
        page = self.signed_in("/do/payment?account=1")
        due = self.operation("ledger-aging", account=1)["answer"]["accounts"][0]["invoices"][0]
        before = Decimal(self.operation("ledger", account=1)["answer"]["balance"])
        page.wait("document.querySelector('.open-items button')")
        self.step(page.click, page.find(".open-items button"))  # the invoice: its number and what remains of it
        self.step(page.type, self.field(page, "Bank's reference"), "SEPA 4711")
        self.step(self.press, page, "Preview")
        self.previewed(page)
        self.assertEqual(Decimal(page.script("return document.querySelector('[data-field=after]').dataset.value")), before + Decimal(due["remaining"]))
        self.assertEqual(Decimal(self.operation("ledger", account=1)["answer"]["balance"]), before, "a preview changes nothing")
        self.assertEqual(axe(page), [])
        self.step(self.press, page, "Record the payment")
        entry = self.done(page)
        self.assertEqual(self.steps, 4)
        self.audited(entry, "ledger enter", account=1, kind="payment", amount=due["remaining"], invoice=due["number"], reference="SEPA 4711")
        self.assertEqual(Decimal(self.operation("ledger", account=1)["answer"]["balance"]), before + Decimal(due["remaining"]))
        page.click(page.named("link", "Take it back"))
        page.wait("document.querySelector('h1').textContent === 'Correct a balance'")
        self.assertEqual(self.field(page, "Amount") and page.script("return arguments[0].value", self.field(page, "Amount")), f"-{due['remaining']}")
        self.press(page, "Preview")
        self.previewed(page)
        self.press(page, "Enter the correction")
        self.done(page)
        self.assertEqual(Decimal(self.operation("ledger", account=1)["answer"]["balance"]), before)
        page.quiet("401")

    def test_from_the_customers_page_and_the_bill_to_its_forms(self):
        page = self.signed_in("/accounts/1")
        page.wait("document.querySelector('[aria-label=Changes] a')")
        page.click(page.named("link", "Record a payment"))
        page.wait("document.querySelector('.open-items button')")
        self.assertEqual(page.script("return document.querySelector('[name=account]').value"), "1")
        page.wait("document.querySelector('.account-said').textContent === 'acme'")
        page.goto(f"{self.server.url}/console/billing?account=1")
        page.click(page.named("link", "Grant credit"))
        page.wait("document.querySelector('[name=expires]')")
        self.fill(page, "Amount", "25")
        self.fill(page, "Last day", "2026-12-31")
        self.press(page, "Preview")
        self.previewed(page)
        self.press(page, "Grant the credit")
        self.audited(self.done(page), "ledger credit", account=1, amount="25", expires="2026-12-31")
        self.assertIn("25.00\xa0USD for account 1", page.text(".do-outcome .notice"))
        page.goto(f"{self.server.url}/console/zones/101")
        page.click(page.named("link", "Change"))
        page.wait("document.querySelector('h1').textContent === 'Pull zone: acme-video'")
        page.quiet("401")

    def test_a_refusal_is_at_its_field_and_nothing_is_done_twice(self):
        page = self.signed_in("/do/charge")
        self.press(page, "Preview")
        wrong = "return [...document.querySelectorAll('[aria-invalid=true]')].map(one => one.name)"
        self.assertEqual(page.script(wrong), ["account", "amount"])
        self.fill(page, "Account", "boreal")
        page.wait("document.querySelector('[name=account]').value === '2'", "an account is found by its name")
        self.fill(page, "Amount", "1.005")
        self.press(page, "Preview")
        page.wait("document.querySelector('[name=amount]').getAttribute('aria-invalid') === 'true'")
        self.assertIn("digits", page.script("return document.querySelector('[name=amount]').closest('.field').querySelector('.error').textContent"))
        self.fill(page, "Amount", "7.50")
        self.press(page, "Preview")
        self.previewed(page)
        self.fill(page, "Note", "for the setup")
        page.wait("!document.querySelector('.do-outcome h2')", "what was previewed is not what would be sent any more")
        self.press(page, "Preview")
        self.previewed(page)
        before = Decimal(self.operation("ledger", account=2)["answer"]["balance"])
        page.script("for (let n = 0; n < 3; n++) [...document.querySelectorAll('.do-outcome button')].at(-1).click()")
        self.audited(self.done(page), "ledger enter", account=2, amount="-7.50", note="for the setup")
        self.assertEqual(Decimal(self.operation("ledger", account=2)["answer"]["balance"]), before - Decimal("7.50"))
        page.quiet("401", "400")

    def test_a_dearer_europe_and_who_pays_more(self):
        page = self.signed_in("/operator/books?book=b-2026")
        self.step(page.click, page.named("link", "A copy with other prices"))
        self.step(self.fill, page, "Traffic, Europe", "0.02")
        self.step(self.press, page, "Preview")
        page.wait("document.querySelector('.do-outcome .what-if-answer [data-field=losers]')")
        asked = self.server.ask("POST", "/billing/what-if", "operator", json.dumps({"from": "2026-08", "to": "2026-10", "scenarios": [
            {"scenario": "x", "base": "b-2026", "patch": {"bandwidth": {"premium": {"regions": {"EU": "0.02"}}}}}]}).encode(), Content_Type="application/json").json()
        told, = asked["scenarios"]
        for field in ("before", "after", "delta", "losers"):
            self.assertEqual(page.script("return document.querySelector(`.what-if-answer [data-field=${arguments[0]}]`).dataset.value", field), str(told[field]))
        self.assertIn("acme", page.text(".what-if-answer"))
        changed = page.script("return [...document.querySelectorAll('.do-outcome tr[data-path]')].map(row => [row.dataset.path, row.cells[1].textContent, row.cells[2].textContent])")
        self.assertIn(["bandwidth.premium.regions.EU", "0.01", "0.02"], changed)
        self.assertEqual({row[0] for row in changed}, {"book", "effective_from", "bandwidth.premium.regions.EU"})
        self.assertEqual(axe(page), [])
        self.step(self.press, page, "Add the book")
        self.audited(self.done(page), "book add", shadow=True)
        self.assertEqual(self.steps, 4)
        stored = self.operation("book-show", book="b-2026-v2")["answer"]
        self.assertEqual(stored["bandwidth"]["premium"]["regions"], {"EU": "0.02", "NA": "0.01", "ASIA": "0.03"})
        self.assertEqual(stored["load_balancer"], self.operation("book-show", book="b-2026")["answer"]["load_balancer"])
        page.click(page.named("link", "Bring it into force"))
        page.wait("document.querySelector('h1').textContent.includes('into force') && document.querySelector('.do-form')")
        self.press(page, "Preview")
        page.wait("document.querySelector('.do-outcome h2')?.textContent === 'It would be refused'", "acme would pay twice as much")
        self.assertIn("account 1", page.text(".do-outcome"))
        page.goto(f"{self.server.url}/console/do/drop?book=b-2026-v2")
        page.wait("document.querySelector('.do-form')")
        self.press(page, "Preview")
        self.previewed(page)
        self.press(page, "Drop it")
        self.done(page)
        self.assertEqual(len(self.operation("book-list")["answer"]["books"]), 1)
        page.quiet("401")

    def test_a_contract_with_a_discount(self):
        page = self.signed_in("/do/contract")
        before = self.operation("catalog-show")["out"]
        self.step(self.fill, page, "Customer", "1")
        self.step(self.press, page, "Go on")
        self.step(self.fill, page, "Discount, in percent", "5")
        self.step(self.press, page, "Preview")
        page.wait("document.querySelector('.do-outcome .what-if-answer [data-field=delta]')")
        change = Decimal(page.script("return document.querySelector('.what-if-answer [data-field=delta]').dataset.value"))
        billed = Decimal(page.script("return document.querySelector('.what-if-answer [data-field=before]').dataset.value"))
        self.assertAlmostEqual(change, -billed / 20, delta=Decimal("0.03"))
        self.assertEqual(self.operation("catalog-show")["out"], before)
        self.step(self.press, page, "Declare the contract")
        self.audited(self.done(page), "catalog change", list="accounts")
        self.assertEqual(self.steps, 5)
        self.assertEqual(self.operation("catalog-show", list="accounts", id=1)["answer"]["document"]["contract"], {"discount_percent": "5"})
        page.click(page.named("button", "Put it back as it was"))
        page.wait("!document.querySelector('.do-outcome button')")
        self.assertEqual(self.operation("catalog-show")["out"], before)
        page.goto(f"{self.server.url}/console/do/contract?id=1")
        self.fill(page, "Discount, in percent", "5.123456")
        self.press(page, "Preview")
        page.wait("document.querySelector('[name=\"contract.discount_percent\"]').getAttribute('aria-invalid') === 'true'")
        page.quiet("401", "400")

    def test_a_new_customer_with_a_zone(self):
        page = self.signed_in("/do/customer")
        before = self.operation("catalog-show")["out"]
        self.step(self.fill, page, "Name", "dune")
        self.step(self.press, page, "Preview")
        self.previewed(page)
        self.step(self.press, page, "Declare the customer")
        self.audited(self.done(page), "catalog change", list="accounts", was="none")
        self.step(page.click, page.named("link", "Add a pull zone for it"))
        self.step(self.fill, page, "Number", "501")
        self.step(self.fill, page, "Name", "dune-video")
        self.step(self.fill, page, "Hostnames", "video.dune.example cdn.dune.example")
        self.step(self.press, page, "Preview")
        self.previewed(page)
        self.assertEqual(axe(page), [])
        self.step(self.press, page, "Declare the zone")
        self.done(page)
        self.assertEqual(self.steps, 9)
        self.assertEqual(self.operation("catalog-show", list="accounts", id=3)["answer"]["document"], {"id": 3, "name": "dune"})
        zone = self.operation("catalog-show", list="zones", id=501)["answer"]["document"]
        self.assertEqual({**zone, "created": None}, {"id": 501, "account": 3, "name": "dune-video", "created": None, "hostnames": ["video.dune.example", "cdn.dune.example"]})
        page.click(page.named("button", "Remove it again"))
        page.wait("document.querySelector('.do-outcome').textContent.includes('deleted')")
        page.goto(f"{self.server.url}/console/do/customer?id=3")
        page.click(page.named("button", "Remove this customer"))
        self.previewed(page)
        self.press(page, "Remove it")
        self.done(page)
        self.assertEqual(self.operation("catalog-show")["out"], before)
        page.quiet("401")

    def test_an_input_is_withdrawn_after_a_look(self):
        body = b"".join(hit(101, 40000 + i) for i in range(9)) + b"no line\n"
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", body).json()["accepted"], 9)
        before = self.server.get("/statistics").json()["TotalRequestsServed"]
        file = self.server.path / "wrong.log"
        file.write_bytes(body)
        page = self.signed_in("/operator/intake")
        self.step(page.click, page.named("link", "Withdraw an input"))
        self.step(page.type, self.field(page, "The input"), str(file))
        self.step(self.press, page, "Preview")
        self.previewed(page)
        facts = "return [...document.querySelectorAll('.do-outcome dd')].map(one => one.textContent).slice(0, 4)"
        self.assertEqual(page.script(facts), ["1", "10", "9", "1"])
        self.assertEqual(self.server.get("/statistics").json()["TotalRequestsServed"], before)
        self.step(self.press, page, "Withdraw it")
        self.audited(self.done(page), "ingest --withdraw", file="wrong.log", lines=10)
        self.assertEqual(self.steps, 4)
        self.assertEqual(self.server.get("/statistics").json()["TotalRequestsServed"], before - 9)
        page.goto(f"{self.server.url}/console/do/withdraw")
        page.type(self.field(page, "The input"), str(file))
        self.press(page, "Preview")
        page.wait("document.querySelector('.do-outcome').textContent.includes('not known')")
        page.quiet("401")

    def test_every_form_is_there_and_fits_a_phone(self):
        page = self.signed_in("/do", (390, 800))
        page.wait("document.querySelectorAll('.do-groups a').length > 15")
        self.assertEqual(axe(page), [])
        forms = page.promise("return (await import(performance.getEntriesByType('resource').map(one => one.name).find(name => name.includes('/js-forms.')))).FORMS")
        known = {one["name"]: {p["name"] for p in one["parameters"]} for one in self.server.get("/operations", "operator").json()["operations"]}
        for form in forms:
            if "operation" in form:
                named = [*form.get("fields", []), *form.get("fixed", {}), *form.get("hidden", []), *form.get("labels", {}), *form.get("helps", {}), *form.get("needs", []),
                         *(form[one] for one in ("minus", "reference", "shadows") if one in form)]
                self.assertLessEqual(set(named), known[form["operation"]], form["id"])
        addresses = page.script("return [...document.querySelectorAll('.do-groups a')].map(one => one.getAttribute('href'))")
        for address in addresses:
            with self.subTest(form=address):
                page.goto(self.server.url + address)
                page.wait("document.querySelector('.do-form')")
                self.assertEqual(ConsoleCase.too_wide(page), [])
                self.assertEqual(page.text(".trouble"), "")
        page.quiet("401", "404")  # a seller that is not declared yet

    def test_a_key_sees_the_forms_that_it_may_use(self):
        forms = "return [...document.querySelectorAll('.do-groups a')].map(one => one.getAttribute('href').split('/').at(-1))"
        for role, menu in (("Finance", True), ("Support", False)):
            made = self.server.ask("POST", "/keys", "operator", json.dumps({"Account": 0, "Roles": [role]}).encode(), Content_Type="application/json").json()
            page = self.signed_in("/do", key=made["Key"])
            named = page.script("return [...document.querySelectorAll('nav a')].some(one => one.textContent === 'Changes')")
            self.assertEqual(named, menu, role)
            if role == "Finance":
                self.assertEqual(page.script(forms), ["payment", "bank-list", "charge", "one-off", "one-off-drop", "refund", "credit", "correction", "grace"])
                page.goto(f"{self.server.url}/console/do/zone")
                page.wait("document.querySelector('h1').textContent === 'Not for this key'")
            page.quiet("401")

    def test_old_usage_is_deleted_after_a_look(self):
        page = self.signed_in("/do/retain")
        self.fill(page, "Keep request logs for", "1h")
        self.press(page, "Preview")
        self.previewed(page)
        self.assertIn("would go", page.text(".do-outcome"))
        page.quiet("401")
