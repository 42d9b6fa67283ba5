"""The views of money: what they show is what the API says; an invoice's line opens into tiers, days and hours by
its address; the document stands in a frame; a key without statistics sees them too."""
import json
import re

from pages import BrowserCase  # first: it knows where the harness is
from harness import CATALOG, run

BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "rounding": "half_up",
        "minimum_monthly": "1.00", "bandwidth": {"premium": {"per": "GB", "regions": {
            "EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}},
            "volume": {"per": "GB", "scope": "account", "mode": "graduated", "tiers": [
                {"from": "0", "to": "2000", "price": "0.005"}, {"from": "2000", "to": None, "price": "0.004"}]}}}


class Billing(BrowserCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"].append({"id": 103, "account": 1, "name": "acme-volume", "type": "volume",
                                 "created": "2026-01-05T00:00:00Z"})
        file = server.path / "more.json"
        file.write_text(json.dumps(catalog))
        run("apply", "--delete", "--db", server.db, file)
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        rows = [{"zone": 201, "hour": f"2026-{month}-05T05:00:00Z", "region": "DE", "bytes": 10**12} for month in ("09", "10")]
        rows += [{"zone": zone, "hour": f"2026-{month}-{day:02}T{hour:02}:00:00Z", "region": "DE",
                 "bytes": 10**11 * (day % 3 + 1)}
                for zone in (101, 103) for month, last in (("10", 28), ("11", 3))
                for day in range(1, last + 1) for hour in (5, 17)]
        run("import", "--db", server.db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", server.db, "--month", "2026-09", "--account", 2, "--finalize")
        run("invoice", "--db", server.db, "--month", "2026-10", "--finalize")
        run("ledger", "pay", "--db", server.db, "--account", 1, "--amount", "10", "--reference", "wire 1")
        server.keys["billing"] = server.make_key(1, "SubuserBilling")
        server.start()

    def opened(self, path, key="user"):
        page = self.page(1280, 900)
        page.goto(self.server.url + path)
        page.type("#key", self.server.keys[key])
        page.keys("Enter")
        return page

    def figures(self, page):
        return page.script("""return Object.fromEntries([...document.querySelectorAll('main [data-field]')]
            .filter(one => !one.closest('[data-product]'))
            .map(one => [one.dataset.field, one.dataset.value]))""")

    def shows_each_day(self, page, foretold):
        """The chart's table has the forecast's own figures, written with three digits."""
        page.click("[data-chart=month] figcaption > button")
        page.wait("document.querySelector('[data-chart=month] .chart-table tbody tr')")
        cells = page.script("return [...document.querySelectorAll('[data-chart=month] .chart-table tbody tr')].map(one => one.lastElementChild.textContent)")
        self.assertEqual((len(cells), foretold["days"][0]["day"], foretold["days"][-1]["day"]), (30, "2026-11-03", "2026-11-30"))
        for one in foretold["days"]:
            shown = [float(number) * 1000 ** " kMGTP".index(unit or " ")
                     for number, unit in re.findall(r"([\d.]+)\s([kMGTP]?)B", cells[int(one["day"][8:]) - 1])]
            expected = [int(one[name]) for name in (("p50", "p5", "p95") if one["p5"] != one["p95"] else ("p50",))]
            self.assertEqual(len(shown), len(expected), one)
            for a, b in zip(shown, expected):
                self.assertAlmostEqual(a / b, 1, delta=0.006, msg=one)

    def test_the_month_is_what_the_api_says(self):
        for key in ("user", "billing"):
            page = self.opened("/console/billing", key)
            page.wait("document.querySelector('main [data-field=MonthlyUsage]')")
            page.wait("document.querySelector('main [data-field=p50]')")
            page.wait("document.querySelector('main [data-field=remaining]')")
            page.wait("document.querySelector('[data-chart=month]').dataset.draws > 0")
            shown = self.figures(page)
            billing = self.server.get("/billing").json()
            for field in ("ThisMonthCharges", "Balance", "AvailableBalance"):
                self.assertEqual(float(shown[field]), billing[field], field)
            self.assertEqual(billing["AvailableBalance"], billing["Balance"])
            self.assertNotIn("less what is used", page.text(".tiles"), "it is not, of who pays by invoice")
            forecast = self.server.get("/billing/forecast").json()
            self.assertEqual(shown["p50"], forecast["money"]["net"]["p50"])
            usage = page.script("""return [...document.querySelectorAll('[aria-label="Forecast by product and region"] tr[data-product]')]
                .map(row => [row.dataset.product, row.dataset.region ?? null, Object.fromEntries([...row.querySelectorAll('[data-field]')]
                    .map(one => [one.dataset.field, one.dataset.value]))])""")
            fields = ("so_far", "p50", "p5", "p95")
            self.assertEqual(sorted(usage, key=str), sorted(([one["product"], one["region"], {f: one[f] for f in fields}] for one in forecast["usage"]), key=str))
            self.shows_each_day(page, forecast["bytes"])
            listed = self.server.get("/billing/invoices").json()["invoices"][0]
            self.assertEqual((shown["total"], shown["remaining"]), (listed["total"], listed["remaining"]))
            zones = page.script("""return [...document.querySelectorAll('main tr[data-zone]')].map(row =>
                [row.dataset.zone, row.querySelector('[data-field=MonthlyUsage]').dataset.value])""")
            summary = {str(one["PullZoneId"]): one["MonthlyUsage"]
                       for one in self.server.get("/billing/summary").json()}
            self.assertEqual({zone: float(value) for zone, value in zones}, summary)
            page.wait("[...document.querySelectorAll('main tr[data-zone] [data-field=MonthlyUsage]')].every(one => one.textContent.includes('USD'))")
            page.quiet("/console/session - .* 401")

    def test_a_line_opens_into_tiers_days_and_hours(self):
        number = self.server.get("/billing/invoices").json()["invoices"][0]["number"]
        whole = self.server.get(f"/billing/invoices/{number}").json()
        line = next(one for one in whole["lines"] if one["kind"] == "volume")
        path = f"/billing/invoices/{number}/lines/{line['line']}/explain"
        crossing = self.server.get(path).json()["crossings"][0]
        day = crossing["hour"][:10]
        page = self.opened(f"/console/billing/{number}?line={line['line']}&day={day}")
        page.wait("document.querySelectorAll('[data-chart=hours]').length")
        page.wait("document.querySelector('main [data-field=quantity]')")
        hours = page.script("""return [...document.querySelectorAll('section[aria-label^="Hours of"] tbody tr')].map(row =>
            [row.querySelector('[data-field=quantity]').dataset.value, row.querySelectorAll('.chip').length])""")
        want = self.server.get(f"{path}?day={day}").json()["hours"]
        self.assertEqual(len(want), 24)
        self.assertEqual(hours, [[one["quantity"], int(one["hour"] == crossing["hour"])] for one in want])
        days = page.script("""return [...document.querySelectorAll('section[aria-label=Days] tbody tr')].map(row =>
            row.querySelector('[data-field=quantity]').dataset.value)""")
        self.assertEqual(days, [one["quantity"] for one in self.server.get(path).json()["days"]])
        tiers = page.script("""return [...document.querySelectorAll('section[aria-label=Tiers] [data-field=amount]')]
            .map(one => one.dataset.value)""")
        self.assertEqual(tiers, [one["amount"] for one in line["tiers"]])
        for field in ("from", "to", "units", "list_price"):
            shown = page.script("return [...document.querySelectorAll('section[aria-label=Tiers] [data-field=' + arguments[0] + ']')].map(one => one.dataset.value)", field)
            self.assertEqual(shown, [one[field] or "" for one in line["tiers"]], field)
        prices = page.script("return [...document.querySelectorAll('section[aria-label=Tiers] [data-field=list_price]')].map(one => one.textContent)")
        self.assertEqual(prices, ["0.005\xa0USD per GB", "0.004\xa0USD per GB"])
        listed = self.server.get("/billing/invoices").json()["invoices"][0]
        self.assertEqual(page.script("return ['state', 'remaining'].map(name => document.querySelector(`.facts [data-field=${name}]`).dataset.value)"),
                         ["open", listed["remaining"]])
        named = page.script("return [...document.querySelectorAll('main tr[data-zone]')].map(row => [row.dataset.zone, row.cells[2].textContent])")
        self.assertEqual(named, [["101", "acme-video"]])
        self.assertEqual(page.script("return document.querySelector('iframe').getAttribute('sandbox')"), "")
        page.browser.post("/frame", id=0)
        self.assertIn(number, page.script("return document.body.textContent"))
        page.browser.post("/frame", id=None)
        page.click(page.named("button", f"Explain line {line['line']}"))
        page.wait("!location.search.includes('line=')")
        page.wait("document.querySelector('section[aria-label=\"The line taken apart\"]').hidden")
        page.quiet("/console/session - .* 401")

    def test_an_invoice_of_somebody_else_is_not_there(self):
        page = self.opened("/console/billing/2026-999999")
        page.wait("document.querySelector('.trouble .error')")
        self.assertEqual(page.script("return [...document.querySelectorAll('main iframe, main .button, main table')].filter(one => one.checkVisibility()).length"), 0)
        page.click("main .empty a")
        page.wait("location.pathname === '/console/billing'")
        page.quiet("/console/session - .* 401", "404")

    def test_a_correction_and_a_void_invoice_say_what_they_are(self):
        server = self.server

        void = next(one["number"] for one in server.get("/billing/invoices", "other").json()["invoices"] if one["month"] == "2026-10")
        self.operation("invoice", void=void)
        run("import", "--server", server.url, "--key", server.keys["operator"], "-", stdin=json.dumps(
            {"zone": 201, "hour": "2026-09-07T05:00:00Z", "region": "DE", "bytes": 7 * 10**12}).encode())
        self.operation("invoice", month="2026-10", account=2, finalize=True)
        listed = server.get("/billing/invoices", "other").json()["invoices"]
        new = next(one["number"] for one in listed if one["replaces"] == void)
        line = next(one for one in server.get(f"/billing/invoices/{new}", "other").json()["lines"] if one["kind"] == "correction")
        page = self.opened(f"/console/billing/{void}", "other")
        page.click(page.named("link", new))
        page.wait(f"location.pathname.endsWith('{new}')")
        page.click(page.named("button", f"Explain line {line['line']}"))
        opened = "document.querySelector('section[aria-label=\"The line taken apart\"]')"
        page.wait(f"{opened}.textContent.includes('correction of bandwidth, September 2026')")
        explained = server.get(f"/billing/invoices/{new}/lines/{line['line']}/explain", "other").json()
        self.assertIn(f"The days add up to {int(explained['sum']):,} bytes.", page.script(f"return {opened}.textContent"))
        self.assertIn(f"the difference: {int(line['quantity']):,} bytes.", page.script(f"return {opened}.textContent"))
        page.quiet("/console/session - .* 401")

    def test_a_line_that_is_none(self):
        number = self.server.get("/billing/invoices").json()["invoices"][0]["number"]
        page = self.opened(f"/console/billing/{number}?line=999")
        page.wait("document.querySelector('.trouble .error')")
        opened = "document.querySelector('section[aria-label=\"The line taken apart\"]')"
        self.assertTrue(page.script(f"return {opened}.hidden"))
        page.click(page.named("button", "Explain line 1"))
        page.wait(f"!{opened}.hidden && {opened}.textContent.includes('Line 1:')")
        self.assertEqual(page.text(".trouble"), "")
