"""What a view says in words and in money: names, reasons, empty places, and what stays of a table on a phone."""
import base64
import json
import subprocess
import tempfile
from decimal import Decimal
from pathlib import Path

from pages import ConsoleCase
from pictures import DEARER, Fixtures


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

    def test_controls_of_time_are_words(self):
        page = self.signed_in(path="/overview?range=30d")
        self.assertIn("Zoom out", page.text(".range"))
        page.click(page.find(".range summary"))
        self.assertEqual(self.texts(page, ".range label")[:4], ["First day (UTC)", "Last day (UTC)", "Compare with\nthe same weekdays before\nthe time directly before\nthe same time last year\nnothing",
                                                               "One point each\nhour, day or month, as it suits\nhour\nday\nmonth"])

    def test_the_bar_of_time_stays_where_it_is(self):
        page = self.signed_in(path="/overview?range=30d")
        place = "const {top, right, bottom} = document.querySelector('.range').getBoundingClientRect(); return [top, right, bottom]"
        before = page.script(place)
        page.click(page.find(".range summary"))
        page.script("const one = document.querySelector('[name=compare]'); one.focus(); one.value = 'year'; one.dispatchEvent(new Event('change', {bubbles: true}))")
        self.whole(page)
        self.assertEqual(page.script("return [document.querySelector('.range details').open, document.activeElement.name]"), [True, "compare"], "the popover stays")
        self.assertEqual(page.script(place), before)
        page.keys("Escape")
        for path in ("/overview", "/overview?range=24h", "/overview?from=2026-10-03T04:00Z&to=2026-10-03T09:00Z", "/zones?range=12m", "/zones/301?range=90d"):
            self.open(page, path)
            self.assertEqual(page.script(place)[1:], before[1:], path)
        page.viewport(390)
        page.click(page.find(".range summary"))
        self.assertEqual(self.too_wide(page), [])
        self.assertGreaterEqual(page.script("return document.querySelector('.pop-body').getBoundingClientRect().left"), 0)

    def test_weekdays_stand_beside_weekdays(self):
        for path, words, want in (("/overview?range=30d", {"from": "2026-10-06", "to": "2026-11-04"}, "before, 1 Sept to 30 Sept 2026"),
                                  ("/overview?from=2026-11-03T20:00Z&to=2026-11-03T22:00Z", None, "before, 27 Oct, 20:00 to 22:00"),
                                  ("/overview?from=2026-11-03T20:00Z&to=2026-11-03T22:00Z&compare=day", None, "before, 2 Nov, 20:00 to 22:00")):
            page = self.signed_in(path=path)
            self.assertIn(want, self.texts(page, "[data-chart=series] .key"))
            if words:
                answer = self.server.get("/insights?from=2026-10-06&to=2026-11-04&compare=week&by=day").json()
                self.assertEqual(answer["compare"], {"from": "2026-09-01T00:00:00Z", "to": "2026-09-30T09:00:00Z"})
                change = 100 * (answer["totals"]["TotalRequestsServed"] / answer["previous"]["TotalRequestsServed"] - 1)
                self.assertIn(f"{change:+.1f} %", page.text("[data-figure=requests]"))

    def test_zones_are_sorted_by_change_and_by_rate_of_errors(self):
        answer = self.server.get("/insights?from=2026-10-06&to=2026-11-04&compare=week&top=100").json()["zones"]["items"]
        change = {str(zone["id"]): zone["TotalRequestsServed"] / zone["previous"]["TotalRequestsServed"] for zone in answer}
        rate = {str(zone["id"]): zone["Errors5xx"] / zone["TotalRequestsServed"] for zone in answer}
        page = self.signed_in(path="/zones?range=30d")
        ids = "return [...document.querySelectorAll('tr[data-zone]')].map(one => one.dataset.zone)"
        for head, of in (("Change", change), ("5xx, of requests", rate)):
            for way in (-1, 1):
                page.click(page.named("button", head))
                self.whole(page)
                self.assertEqual(page.script(ids), sorted(of, key=lambda one: way * of[one]), head)
        self.assertEqual(page.script("return document.querySelector('tr[data-zone=\"303\"] [data-field=Errors5xx]').textContent"), f"{100 * rate['303']:.2f} %")
        self.open(page, "/overview?range=30d&top-sort=-TotalRequestsServed.change")
        self.assertEqual(page.script(ids), sorted(change, key=lambda one: -change[one]))

    def test_one_tooltip_and_a_rule_through_all_charts(self):
        page = self.signed_in(path="/overview?range=30d")
        page.script("document.querySelector('[data-chart=series] .stage').focus()")
        page.keys("Home", "Right")
        shown = "return ['.tip', '.rule'].map(css => [...document.querySelectorAll(css)].filter(one => one.checkVisibility()).length)"
        self.assertEqual(page.script(shown), [1, 3])
        tip = self.texts(page, ".tip .row > span, .tip .when")
        self.assertIn("Wed, 7 Oct 2026", tip)
        self.assertIn("Wed, 2 Sept 2026", tip)
        self.assertIn("Change", tip)

    def test_rows_say_how_they_changed(self):
        page = self.signed_in(path="/overview?range=30d&region-sort=-TotalBandwidthUsed.change")
        for path, rows in (("/overview?range=30d&region-sort=-TotalBandwidthUsed.change", "tr[data-region]"), ("/zones?range=30d", "tr[data-zone]")):
            self.open(page, path)
            heads = page.script("return [...document.querySelector(arguments[0]).closest('table').querySelectorAll('th')].map(one => one.textContent)", rows)
            changes = page.script("return [...document.querySelectorAll(arguments[0])].map(one => one.cells[arguments[1]].textContent)", rows, heads.index("Change"))
            self.assertTrue(changes, path)
            for one in changes:
                self.assertRegex(one, r"^([+−±][\d,.]+ %|new)$")
            if "region" in path:
                number = [float(one.replace("−", "-").replace("±", "").removesuffix("\xa0%").removesuffix(" %").replace(",", "")) for one in changes]
                self.assertEqual(number, sorted(number, reverse=True))


class FirstPaint(PlainCase):
    def test_a_page_whose_scripts_are_late_has_its_frame(self):
        page = self.page()
        page.uncached()
        page.browser.cdp("Network.setBlockedURLs", urls=["*/js-*"])
        try:
            page.goto(self.server.url + "/console/overview")
            self.assertEqual(self.texts(page, ".top .brand"), ["tollbook"])
            page.wait("getComputedStyle(document.querySelector('.loading')).visibility === 'visible'")
            bar, ground = page.script("return [document.querySelector('.top'), document.body].map(one => getComputedStyle(one).backgroundColor)")
            self.assertNotEqual(bar, ground)
            page.viewport(390)
            self.assertEqual(self.too_wide(page), [])
        finally:
            page.browser.cdp("Network.setBlockedURLs", urls=[])
        page.quiet("ERR_BLOCKED_BY_CLIENT")


class Settings(PlainCase):
    def test_what_was_changed_comes_first(self):
        page = self.signed_in(path="/zones/301?tab=settings")
        changed = "return [...document.querySelectorAll('[aria-label=Changed] dd')].map(one => one.dataset.setting)"
        page.wait("document.querySelector('[aria-label=Changed] dd')")
        self.assertEqual(page.script(changed), ["OriginUrl", "OptimizerEnabled"])
        self.assertFalse(page.script("return document.querySelector('main details.all').open"))
        page.click(page.find("main details.all summary"))
        self.assertGreater(len(self.texts(page, "main details.all dd")), 150)


class Money(PlainCase):
    def test_charges_of_zones_are_of_the_month_that_is_shown(self):
        page = self.signed_in(path="/zones?from=2026-10-01&to=2026-10-31")
        page.wait("document.querySelector('tr[data-zone=\"302\"] [data-field=MonthlyUsage]').dataset.value")
        self.assertIn("Charges, October 2026", self.texts(page, "th"))
        line = self.server.get("/billing/invoices/2026-000010").json()["lines"][5]
        self.assertEqual(page.script("return document.querySelector('tr[data-zone=\"302\"] [data-field=MonthlyUsage]').dataset.value"), line["shares"][0]["exact"])
        charges = {}
        for line in self.server.get("/billing/invoices/2026-000010").json()["lines"]:
            if line.get("meter"):
                continue
            for zone, amount in [(one["zone"], one["exact"]) for one in line.get("shares", [])] or [(line["resource"].removeprefix("zone:"), line["exact"])]:
                charges[str(zone)] = charges.get(str(zone), 0) + Decimal(amount)
        ids = "return [...document.querySelectorAll('tr[data-zone]')].map(one => one.dataset.zone)"
        for way in (-1, 1):
            page.click(page.named("button", "Charges, October 2026"))
            self.whole(page)
            self.assertEqual(page.script(ids), sorted(charges, key=lambda one: way * charges[one]))
        self.open(page, "/zones?range=30d")
        self.assertIn("November 2026 so\u00a0far", self.texts(page, "th"))
        so_far = {str(one["PullZoneId"]): one["MonthlyUsage"] for one in self.server.get("/billing/summary").json()}
        shown = page.script("return Object.fromEntries([...document.querySelectorAll('tr[data-zone]')].map(row => [row.dataset.zone, row.querySelector('[data-field=MonthlyUsage]').dataset.value]))")
        self.assertEqual({zone: float(value) for zone, value in shown.items()}, so_far)

    def test_billing_begins_with_what_is_due_and_its_document(self):
        page = self.signed_in(path="/billing")
        first = self.texts(page, ".tiles.money .tile")[0]
        self.assertEqual(first.split("\n"), ["Due 15 Nov 2026", "150.02 USD", "2026-000010 as PDF"])
        page.click(page.named("link", "2026-000010 as PDF"))
        self.assertTrue(page.downloaded("2026-000010.pdf").startswith(b"%PDF"))

    def test_there_is_one_forecast_of_a_month(self):
        page = self.signed_in("operator", "/operator/accounts")
        page.wait("document.querySelector('tr[data-account=\"3\"] [data-field=forecast]')?.dataset.value")
        shown = page.script("const cells = document.querySelector('tr[data-account=\"3\"]').cells; return [...cells].map(one => one.textContent)")
        foretold = self.server.get("/billing/forecast").json()["money"]["net"]["p50"]
        self.assertIn(f"{float(foretold):.2f}\xa0USD", shown)


class Fits(PlainCase):
    def test_no_table_is_cut_on_a_usual_screen(self):
        for key, paths in (("operator", ("/overview", "/accounts/3", "/operator/run", "/operator/accounts", "/keys")), ("user", ("/logs?zone=301", "/zones?range=30d", "/billing", "/billing/2026-000010?why=6"))):
            page = self.signed_in(key, paths[0])
            for path in paths:
                self.open(page, path)
                self.assertEqual(page.script("return [...document.querySelectorAll('.table-scroll')].filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"), [], path)

    def test_the_home_leaves_out_a_currency_of_nothing_and_has_four_figures_in_a_row(self):
        page = self.signed_in("operator", "/overview")
        tiles = page.script("return [...document.querySelectorAll('.fours .tile')].map(one => [one.innerText.split('\\n')[1].slice(-3), one.getBoundingClientRect().top])")
        self.assertEqual([currency for currency, _ in tiles], ["USD"] * 4, "EUR has an account and no money")
        self.assertEqual(len({top for _, top in tiles}), 1)

    def test_the_header_names_the_role_in_words(self):
        self.assertEqual(self.signed_in("billing", "/").text(".who"), "nordlicht · Billing")


class Invoice(PlainCase):
    def test_an_electronic_invoice_that_cannot_be_says_why_from_the_start(self):
        page = self.signed_in(path="/billing/2026-000010")
        said = next(one["lacks"] for one in self.server.get("/billing/invoices/2026-000010/forms").json()["forms"] if one["form"] == "ubl")
        self.assertIn("lacks seller.endpoint.scheme", said)
        self.assertEqual(self.texts(page, "#lacks-ubl"), [f"No UBL: {said}"])
        self.assertEqual(page.script("return [...document.querySelectorAll('.segments button:disabled')].map(one => [one.textContent, one.getAttribute('aria-describedby'), one.title])"),
                         [["UBL", "lacks-ubl", said]])
        page.click(page.named("link", "XRechnung"))
        self.assertIn(b"xrechnung_3.0", page.downloaded("2026-000010-xrechnung.xml"))
        self.assertEqual(page.script("return [...document.querySelectorAll('a.button[download]')].map(one => one.download)"),
                         [f"2026-000010{end}" for end in (".pdf", "-xrechnung.xml", ".csv", ".focus.csv", ".json")])
        page.quiet()

    def test_journey_an_invoice_as_pdf_and_as_xrechnung(self):
        """Billing, the invoice, its two files: three steps."""
        page, steps = self.signed_in("billing", "/"), 0
        for name in ("2026-000010", "PDF", "XRechnung"):
            page.click(page.named("link", name))
            self.whole(page)
            steps += 1
        self.assertEqual((steps, page.script("return location.pathname")), (3, "/console/billing/2026-000010"))
        self.assertTrue(page.downloaded("2026-000010.pdf").startswith(b"%PDF"))
        self.assertIn(b"<cbc:ID>2026-000010</cbc:ID>", page.downloaded("2026-000010-xrechnung.xml"))
        page.quiet()

    def test_a_line_that_is_explained_comes_into_sight_zone_by_zone(self):
        page = self.signed_in(path="/billing/2026-000010")
        page.script("scrollTo(0, 0)")
        page.click(page.named("button", "Explain line 6"))
        page.wait("document.querySelector('tr[data-share]')")
        self.whole(page)
        opened = "document.querySelector('[aria-label=\"The line taken apart\"]')"
        self.assertTrue(page.script(f"return {opened}.getBoundingClientRect().top < innerHeight / 2"), "it is in sight")
        self.assertTrue(page.script(f"return {opened}.contains(document.activeElement)"), "the focus is there")
        self.assertIn("Line 6", page.text("#live"))
        self.assertEqual(page.script("return [...document.querySelectorAll('button[aria-label^=\"Explain line\"][aria-expanded=true]')].map(one => one.ariaLabel)"),
                         ["Explain line 6"])
        line = next(one for one in self.server.get("/billing/invoices/2026-000010").json()["lines"] if one["line"] == 6)
        shown = page.script("return [...document.querySelectorAll('tr[data-share]')].map(row => [row.dataset.share, row.querySelector('[data-field=bytes]').dataset.value])")
        self.assertEqual(shown, [[str(one["zone"]), one["bytes"]] for one in line["shares"]])
        self.assertEqual(self.texts(page, "[aria-label=Tiers] tbody td")[1:3], ["not reached", "11.2 TB"])

    def paper(self, page):
        """How many pages it prints, and what each says."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "paper.pdf"
            file.write_bytes(base64.b64decode(page.browser.cdp("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)["data"]))
            text = subprocess.run(["pdftotext", "-layout", file, "-"], check=True, capture_output=True, text=True).stdout
            subprocess.run(["pdftoppm", "-r", "20", "-gray", file, f"{folder}/page"], check=True)
            corners = [one.read_bytes()[-1] for one in sorted(Path(folder).glob("page*.pgm"))]
        return [part.split() for part in text.removesuffix("\f").split("\f")], corners

    def test_an_invoice_prints_its_document_alone_and_light(self):
        number = "2026-000010"
        page = self.page()
        page.goto(self.server.url + "/console/")
        self.signed_in(path=f"/billing/{number}", page=page)
        page.script("document.documentElement.dataset.theme = 'dark'")
        page.scheme("dark")
        pages, corners = self.paper(page)
        document = self.server.get(f"/billing/invoices/{number}?format=html").body
        (self.server.path / "alone.html").write_bytes(document)
        page.scheme("light")
        look = page.script("return [document.querySelector('#app').checkVisibility(), document.adoptedStyleSheets.length, getComputedStyle(document.querySelector('h1')).fontSize]")
        self.assertEqual(look, [True, 0, "20px"], "the page is back")
        page.goto((self.server.path / "alone.html").as_uri())
        alone, _ = self.paper(page)
        self.assertEqual(pages, alone, "as the document by itself")
        self.assertEqual(len(pages), 2)
        self.assertTrue(all(len(words) > 20 for words in pages), "none is blank")
        self.assertEqual(set(corners), {255}, "light")


class Words(PlainCase):
    def test_a_filter_knows_countries_by_name_and_says_at_its_field_what_it_does_not_know(self):
        page = self.signed_in(path="/logs?zone=301")
        page.script("const one = document.querySelector('[aria-label=\"Filter by\"]'); one.value = 'country'; one.dispatchEvent(new Event('change'))")
        field = "document.querySelector('[aria-label=\"Value of the filter\"]')"
        page.type("[aria-label='Value of the filter']", "Atlantis")
        page.click(page.named("button", "Filter"))
        self.assertIn("No country of this name", page.script(f"return {field}.validationMessage"))
        self.assertNotIn("country", page.url())
        page.clear("[aria-label='Value of the filter']")
        page.type("[aria-label='Value of the filter']", "Germany")
        page.click(page.named("button", "Filter"))
        page.wait("location.search.includes('country=DE')")
        self.whole(page)
        self.assertEqual(page.text("main .trouble"), "")


class Empty(ConsoleCase):
    def test_an_account_without_anything_reads_no_command(self):
        page = self.signed_in("empty", "/")
        for address in self.views(page) + ["/console/zones/101", "/console/logs?zone=101"]:
            self.open(page, address.removeprefix("/console"))
            self.assertNotRegex(page.text("main"), r"tollbook \w+ --|catalog", address)
        self.open(page, "/overview")
        self.assertIn("No zone yet. Your provider adds zones to this account", page.text("main .notice"))

    def test_a_fresh_zone_has_nothing_changed(self):
        page = self.signed_in("other", "/zones/201?tab=settings")
        page.wait("document.querySelector('[aria-label=Changed]')")
        self.assertEqual(page.text("[aria-label=Changed] p"), "Nothing: every setting has its default.")


class WhatIf(PlainCase):
    def run_it(self, key, account=""):
        page = self.signed_in(key, f"/what-if?{account}scenario=" + json.dumps(DEARER, separators=(",", ":")))
        page.click(page.named("button", "Run this scenario"))
        page.wait("document.querySelector('main [data-chart=what-if-months]')")
        self.whole(page)
        return page

    def test_accounts_have_names_and_a_customer_is_you(self):
        page = self.run_it("operator")
        self.assertIn("nordlicht", self.texts(page, "[aria-label=Accounts] tbody td"))
        self.assertNotIn("Account 3:", page.text("main"))
        page = self.run_it("user")
        self.assertEqual(self.texts(page, ".tiles .name"), ["You would pay", "You would pay more", "You paid"])
        self.assertNotRegex(page.text(".what-if-answer"), "[Aa]ccount")

    def test_books_that_cost_the_same_have_no_break_even(self):
        page = self.signed_in("operator", "/what-if")
        page.wait("document.querySelector('[aria-label=\"Cost curves\"] li')")
        self.assertEqual(self.texts(page, "[aria-label='Cost curves'] li"), ["Both cost the same, whatever the usage."])
        self.assertNotIn("EB", page.text("[aria-label='Cost curves']"))


class Tables(PlainCase):
    PHONE = 390

    def in_sight(self, page, cells):
        """How much of the first such cell is within its table's box."""
        return page.script("""const one = document.querySelector(arguments[0]), box = one.closest('.table-scroll').getBoundingClientRect(), at = one.getBoundingClientRect();
            return (Math.min(at.right, box.right) - at.left) / at.width;""", cells)

    def test_a_phone_shows_what_a_table_is_for(self):
        for key, path, cells in (("operator", "/operator/accounts", "[data-field=monthToDate]"), ("user", "/billing", "[data-field=total]"), ("operator", "/operator/run?month=2026-10", "[data-field=total]"),
                                 ("user", "/billing/2026-000010", "[data-field=amount]")):
            page = self.signed_in(key, path)
            page.viewport(self.PHONE)
            self.assertGreater(self.in_sight(page, f"td{cells}"), 0.99, path)
        self.open(page, "/logs?zone=301")
        self.assertGreater(self.in_sight(page, "td.wide"), 0.99)
        self.assertGreater(page.script("return document.querySelector('td.wide').clientWidth"), 120)

    def test_what_is_touched_is_44_px(self):
        for path in ("/overview", "/logs?zone=301", "/billing", "/billing/2026-000010"):
            page = self.signed_in("user", path)
            page.viewport(self.PHONE)
            small = page.script("""return [...document.querySelectorAll('button, select, input, summary, .button, td a')].filter(one => one.checkVisibility())
                .filter(one => one.getBoundingClientRect().height < 43.9 && !one.closest('.chip, .legend, th')).map(one => one.outerHTML.slice(0, 80))""")
            self.assertEqual(small, [], path)

    def test_a_long_name_is_cut_and_rows_are_of_one_height(self):
        page = self.signed_in("operator", "/operator/run?month=2026-10")
        page.wait("document.querySelector('tr[data-account]')")
        page.script("document.querySelector('tr[data-account] td:nth-child(3) a').textContent = 'long'.repeat(60)")
        seen = page.script("""const rows = [...document.querySelectorAll('tr[data-account]')], cell = rows[0].cells[2];
            return [new Set(rows.map(row => Math.round(row.getBoundingClientRect().height))).size, cell.scrollWidth > cell.clientWidth, cell.clientWidth <= 260]""")
        self.assertEqual(seen, [1, True, True])
        page.script("document.querySelector('tr[data-account] td:nth-child(3) a').focus()")
        self.assertTrue(page.script("const cell = document.querySelector('tr[data-account]').cells[2]; return cell.scrollWidth <= cell.clientWidth"), "whole on focus")
