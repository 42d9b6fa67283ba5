"""What a view says in words and in money: names, reasons, empty places, and what stays of a table on a phone."""
import json

from pages import ConsoleCase
from pictures import Fixtures


class PlainCase(ConsoleCase):
    """On the server that the pictures are made of."""

    served = Fixtures

    def texts(self, page, css):
        return page.script("return [...document.querySelectorAll(arguments[0])].filter(one => one.checkVisibility()).map(one => one.innerText)", css)


class Traffic(PlainCase):
    def test_errors_are_shares_of_the_requests(self):
        page = self.signed_in(path="/overview?range=30d")
        self.assertRegex(page.text("[data-figure='5xx']"), r"0\.0\d %\n[+−±][\d.]+ pt")
        self.assertEqual(page.script("return [...document.querySelectorAll('[data-chart=status] .key')].map(one => one.textContent)"), ["4xx", "5xx"])

    def test_rows_say_how_they_changed(self):
        page = self.signed_in(path="/overview?range=30d&region-sort=-change")
        for path, rows in (("/overview?range=30d&region-sort=-change", "tr[data-region]"), ("/zones?range=30d", "tr[data-zone]")):
            self.open(page, path)
            heads = page.script("return [...document.querySelector(arguments[0]).closest('table').querySelectorAll('th')].map(one => one.textContent)", rows)
            changes = page.script("return [...document.querySelectorAll(arguments[0])].map(one => one.cells[arguments[1]].textContent)", rows, heads.index("Change"))
            self.assertTrue(changes, path)
            for one in changes:
                self.assertRegex(one, r"^([+−±][\d,.]+ %|new)$")
            if "region" in path:
                number = [float(one.replace("−", "-").replace("±", "").removesuffix("\xa0%").removesuffix(" %").replace(",", "")) for one in changes]
                self.assertEqual(number, sorted(number, reverse=True))


class Invoice(PlainCase):
    def test_an_electronic_invoice_that_cannot_be_says_why(self):
        page = self.signed_in(path="/billing/2026-000010")
        page.click(page.named("button", "UBL"))
        page.wait("document.querySelector('#lacks-ubl')")
        self.assertIn("This invoice cannot be UBL: Account 3 lacks seller.endpoint.scheme", page.text("#lacks-ubl"))
        self.assertEqual(page.script("return [...document.querySelectorAll('.segments button:disabled')].map(one => one.textContent)"), ["UBL"])
        page.click(page.named("button", "XRechnung"))
        self.assertIn(b"xrechnung_3.0", page.downloaded("2026-000010-xrechnung.xml"))
        self.assertEqual(page.script("return [...document.querySelectorAll('a.button[download]')].map(one => one.download)"),
                         [f"2026-000010{end}" for end in (".pdf", ".csv", ".focus.csv", ".json")])
        page.quiet("400")
