"""The month's run as an operator works through it: what needs a look comes first and can be held back, the rest is made final
in a few steps, the documents are downloaded, and one is made void."""
import io
import json
import zipfile
from decimal import Decimal

from pages import BrowserCase, axe
from harness import run

MONTHS = ("2026-06", "2026-07", "2026-08", "2026-09")
OCTOBER = "2026-10"
BOOK = {"book": "b-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
SELLER = {"name": "Edge GmbH", "street": "Weg 1", "city": "Berlin", "postal_code": "10115", "country": "DE", "vat_id": "DE123456789",
          "terms_days": 14, "payment": {"iban": "DE02120300000000202051"}}
BUYER = {"name": "Nordlicht AB", "street": "Gata 2", "city": "Malmö", "postal_code": "21119", "country": "SE"}
NAMES = {11: "acme", 12: "borealis media", 13: "nordlicht", 14: "Aurora Inc", 15: "Brick Inc", 16: "Cobalt Inc"}
DOUBLED, NO_BOOK = 13, 12
CATALOG = {"seller": SELLER, "accounts": [
    {"id": number, "name": name, **({"currency": "EUR"} if number == NO_BOOK else {}), **({"buyer": BUYER} if number == DOUBLED else {})}
    for number, name in NAMES.items()],
    "zones": [{"id": 100 * number + 1, "account": number, "name": f"zone-{number}", "created": "2026-06-01T00:00:00Z"} for number in NAMES]}


class MonthsRun(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(CATALOG).encode())
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": 100 * number + 1, "hour": f"{month}-03T05:00:00Z", "region": "DE",
                 "bytes": number * (10**12 + at * 10**10) * (2 if (number, month) == (DOUBLED, OCTOBER) else 1)}
                for number in NAMES for at, month in enumerate((*MONTHS, OCTOBER))]
        run("import", "--db", server.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        for month in MONTHS:
            run("invoice", "--db", server.db, "--month", month, "--finalize", expect=1)  # NO_BOOK is refused
        cls.support = server.make_key(0, "Support")
        server.start()

    def run_of(self, month, *size, key=None):
        page = self.page(*size)
        page.goto(f"{self.server.url}/console/operator/run?month={month}")
        page.wait("document.querySelector('form#sign-in #key')")
        page.type("#key", key or self.server.keys["operator"])
        page.keys("Enter")
        page.wait(f"document.querySelectorAll('tr[data-account]').length === {len(NAMES) + 2}")  # and two accounts with nothing
        return page

    @staticmethod
    def states(page):
        return page.script("return [...document.querySelectorAll('tr[data-account]')].map(one => [Number(one.dataset.account), one.dataset.state,"
                           "one.querySelector('input')?.checked ?? null])")

    def test_1_what_needs_a_look_comes_first_and_is_held_back(self):
        page = self.run_of(OCTOBER)
        self.assertEqual(self.states(page)[:3], [[NO_BOOK, "stopped", None], [DOUBLED, "odd", False], [16, "draft", True]])
        answer = self.operation("preview", month=OCTOBER)["answer"]
        row = next(one for one in answer["rows"] if one["account"] == DOUBLED)
        said = page.script("return [...document.querySelectorAll('[data-what]')].map(one => one.textContent)")
        self.assertIn(next(one["text"] for one in row["looks_wrong"] if one["what"] == "unusual"), said)
        self.assertIn("more than usual: the median of its last 3 months is", " ".join(said))
        # a document's missing fields: each once, with whose and what to do, and not among what looks wrong
        self.assertFalse([text for text in said if "lacks" in text])
        gaps = page.script("return [...document.querySelectorAll('[data-field=missing]')].map(one => one.textContent)")
        self.assertEqual(len(gaps), len({field for one in answer["rows"] for field in one["missing"]}))
        self.assertIn("The buyer's name, of 5 accounts (borealis media, Cobalt Inc, Brick Inc and 2 more): declare buyer.name in the catalogue.", gaps)
        # the totals are the API's
        tiles = page.text(".tiles")
        (usd,) = answer["totals"]
        self.assertIn(f"{Decimal(usd['total']):,.2f}\xa0USD", tiles)
        self.assertIn(f"month before: {Decimal(usd['last']['total']):,.2f}\xa0USD", tiles)
        products = page.script("return [...document.querySelectorAll('[aria-label=\"Totals by product\"] tbody tr')].map(row => row.cells[0].textContent)")
        self.assertEqual(products, ["Bandwidth", "Before tax", "With tax"])
        # the legal check, and what cannot be made final with its reason in words, before any click
        ending = page.text("section[aria-label='Make it final']")
        self.assertIn("4 drafts chosen", ending)
        self.assertIn("None of them is a legal invoice yet", ending)
        self.assertIn("1 draft not chosen", ending)
        self.assertIn("borealis media cannot be made final. ", ending)
        self.assertIn("is without a price. No EUR price book is in force", ending)
        self.assertEqual(axe(page), [])
        page.quiet("401")

    def test_2_preview_finalise_send_in_four_steps(self):
        page, steps = self.run_of(OCTOBER), 0

        def click(name):
            nonlocal steps
            page.click(page.named("button", name))
            steps += 1
        click("Make 4 drafts final …")
        asked = page.text("section[aria-label='Make it final']")
        chosen = sum(Decimal(one["total"]) for one in self.operation("preview", month=OCTOBER)["answer"]["rows"]
                     if one["account"] not in (DOUBLED, NO_BOOK))
        self.assertIn(f"4 invoices of October 2026, {chosen:,.2f}\xa0USD", asked)
        self.assertIn("irrevocable", asked)
        self.assertIn("make it void", asked)
        page.type("main form input[pattern]", OCTOBER)
        steps += 1
        click("Make final")
        page.wait("document.querySelector('main').textContent.includes('4 invoices made final')")
        click("All as PDF (ZIP)")
        numbers = sorted(one["invoice"] for one in self.operation("preview", month=OCTOBER)["answer"]["rows"] if one["state"] == "final")
        self.assertEqual(len(numbers), 4)
        with zipfile.ZipFile(io.BytesIO(page.downloaded(f"{OCTOBER}-pdf.zip"))) as archive:
            self.assertIsNone(archive.testzip())
            self.assertEqual(sorted(archive.namelist()), [f"{number}.pdf" for number in numbers])
            self.assertTrue(all(archive.read(name).startswith(b"%PDF") for name in archive.namelist()))
        self.assertEqual(steps, 4)
        page.wait("document.querySelector('section[aria-label=Documents]').textContent.includes('No webhook is set')")
        # the doubled bill is still a draft, and first of those that can be chosen
        self.assertEqual(self.states(page)[:2], [[NO_BOOK, "stopped", None], [DOUBLED, "odd", False]])
        page.quiet("401")

    def test_3_all_that_is_left_is_one_run_and_says_by_name_what_failed(self):
        page = self.run_of(OCTOBER)
        page.type("[aria-label='Search in Invoices of the month']", "acme")
        page.wait("document.querySelectorAll('tr[data-account]').length === 2")
        page.click(page.named("button", "Choose all"))  # of what the search shows
        self.assertIn("No draft is chosen.", page.text("main"))
        page.clear("[aria-label='Search in Invoices of the month']")
        page.type("[aria-label='Search in Invoices of the month']", "nordlicht")
        page.wait("document.querySelectorAll('tr[data-account]').length === 1")
        page.click(page.named("button", "Choose all"))
        page.click(page.named("button", "Make 1 draft final …"))
        page.type("main form input[pattern]", OCTOBER)
        page.click(page.named("button", "Make final"))
        page.wait("document.querySelector('main').textContent.includes('1 invoice made final')")
        said = page.text("main .notice")
        self.assertIn("account 12 (borealis media): Traffic of pull zone 1201 in EU, ", said)
        self.assertNotIn("zone:1201", said)
        runs = run("query", "--db", self.server.db, "SELECT count(*) AS n FROM month_run WHERE account = 0")
        self.assertEqual(runs.stdout.split(), [b"n", b"%d" % (len(MONTHS) + 1)])
        page.quiet("401")

    def test_4_an_invoice_is_made_void_after_a_question(self):
        page = self.run_of(OCTOBER)
        number = next(one["invoice"] for one in self.operation("preview", month=OCTOBER)["answer"]["rows"] if one["account"] == DOUBLED)
        page.script("globalThis.asked = []; window.confirm = (text) => { asked.push(text); return asked.length > 1; }")
        page.click(page.named("button", f"Make {number} void"))
        self.assertIn(f"Make invoice {number} of nordlicht over ", page.script("return asked[0]"))
        self.assertEqual(self.operation("preview", month=OCTOBER, account=DOUBLED)["answer"]["rows"][0]["state"], "final")
        page.click(page.named("button", f"Make {number} void"))
        page.wait(f"document.querySelector('main').textContent.includes('Invoice {number} is void')")
        self.assertEqual(self.operation("preview", month=OCTOBER, account=DOUBLED)["answer"]["rows"][0]["state"], "draft")
        self.assertIn([DOUBLED, "odd", False], self.states(page))
        page.quiet("401")

    def test_5_a_phone_keeps_the_point(self):
        page = self.run_of(OCTOBER, 390)
        shown = page.script("return [...document.querySelector('[aria-label=\"Invoices of the month\"] thead tr').cells].filter(one => one.offsetWidth && one.getBoundingClientRect().right <= innerWidth)"
                            ".map(one => one.textContent)")
        self.assertEqual(shown[:3], ["Final", "Name", "Total"])
        self.assertEqual(page.promise("return document.documentElement.scrollWidth <= innerWidth"), True)
        self.assertEqual(axe(page), [])
        page.quiet("401")

    def test_6_a_key_that_only_reads_sees_it_and_has_no_button(self):
        page = self.run_of(OCTOBER, key=self.support)
        main = page.text("main")
        self.assertIn("A key of the role Finance or Operator makes invoices final.", main)
        self.assertIn("The buyer's name, of ", main)
        self.assertEqual(page.script("return [...document.querySelectorAll('main button, main input[type=checkbox]')].map(one => one.textContent).filter(text => /Void|Choose|final/.test(text))"), [])
        self.assertEqual(page.script("return document.querySelectorAll('main input[type=checkbox], main a[href*=\"/do/\"]').length"), 0)
        page.quiet("401")
