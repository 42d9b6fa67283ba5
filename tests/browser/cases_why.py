"""Why a figure changed: the panel says what the API says, its address holds it, the keyboard works it, and a part leads to the
next question: from the bill to the zone, the day, the hour and its requests in five steps."""
import json

from pages import ConsoleCase, Site, axe  # first: it knows where the harness is
from harness import CATALOG, hit, run

BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "rounding": "half_up",
        "minimum_monthly": "0", "bandwidth": {"premium": {"per": "GB", "regions": {
            "EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}},
            "volume": {"per": "GB", "scope": "account", "mode": "graduated", "tiers": [{"from": "0", "to": None, "price": "0.005"}]}}}
PARTS = """return [...document.querySelectorAll('.why-panel tbody tr')].map(one => ({part: one.dataset.part,
    ...Object.fromEntries([...one.querySelectorAll('[data-field]')].map(cell => [cell.dataset.field, cell.dataset.value]))}))"""


def grown():
    """Zone 103 has most of November so far, on the third; zone 101 had most of September and October."""
    server = Site(log=hit(101))
    server.stop()
    catalog = json.loads(json.dumps(CATALOG))
    catalog["zones"].append({"id": 103, "account": 1, "name": "acme-volume", "type": "volume", "created": "2026-01-05T00:00:00Z"})
    run("apply", "--delete", "--db", server.db, "-", stdin=json.dumps(catalog).encode())
    run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
    run("ingest", "--db", server.db, "-", stdin=b"".join(hit(103, i, 10**9, edge=("DE", "NY", "SG")[i % 3]) for i in range(60)))
    rows = [{"zone": zone, "hour": f"2026-{month}-{day:02}T{hour:02}:00:00Z", "region": "DE", "requests": 100, "bytes": size * day,
             "cached_bytes": size} for month in ("09", "10") for zone, size in ((101, 10**8), (103, 10**6 * int(month)))
            for day in range(1, 29) for hour in (5, 17)]
    rows += [{"zone": 103, "hour": "2026-11-03T12:00:00Z", "region": "DE", "requests": 10, "bytes": 10**13}]
    run("import", "--db", server.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
    for month in ("2026-09", "2026-10"):
        run("invoice", "--db", server.db, "--month", month, "--finalize")
    server.start()
    return server


class Why(ConsoleCase):
    maxDiff = None
    served = staticmethod(grown)

    def why(self, key, **query):
        text = "&".join(f"{name.rstrip('_')}={value}" for name, value in query.items())
        answer = self.server.get("/insights/why?" + text, key)
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def says(self, page, answer):
        """The table is the answer's parts, in its order, and the rest below."""
        want = [{"part": part["key"], **{name: part[name] or "" for name in ("change", "value", "previous")}} for part in answer["parts"]]
        if answer["rest"]["count"]:
            want.append({"part": "rest", **{name: answer["rest"][name] or "" for name in ("change", "value", "previous")}})
        page.wait(lambda: page.script(PARTS) == want, f"{want}, not {page.script(PARTS)}")

    def click(self, page, css):
        page.wait(f"document.querySelector({css!r})", css)
        self.press(page, css, css)

    def press(self, page, element, css):
        """A link to another view takes this one away: it is marked, so that whole() does not take it for the next."""
        page.script("""const link = document.querySelector(arguments[0]);
            if (link.pathname && link.pathname !== location.pathname) document.querySelector('main > .view').dataset.left = '';
            globalThis.calm = undefined;""", css)
        page.click(element)
        self.whole(page)

    def test_from_the_bill_to_the_requests_in_five_steps(self):
        page = self.signed_in("user", "/billing")
        self.click(page, ".why[data-why=charges]")  # 1: what made it grow
        self.says(page, self.why("user", field="charges", by="zone", from_="2026-11-01", to="2026-11-30",
                                 against_from="2026-10-01", against_to="2026-10-31"))
        self.assertEqual(page.script(PARTS)[0]["part"], "103")
        self.assertIn("acme-volume +", page.text(".why-panel .reason"))
        self.click(page, ".why-panel tr[data-part='103'] a")  # 2: this zone, by day
        self.assertIn("/zones/103?", page.script("return location.href"))
        self.click(page, ".why-panel tbody tr:first-child a")  # 3: its day, by hour
        self.assertIn("3 Nov 2026", page.text(".range summary"))
        self.click(page, ".why-panel tbody tr:first-child a")  # 4: its hour's requests
        self.assertRegex(page.script("return location.href"), r"/logs\?.*zone=103.*from=2026-11-03T12:00Z.*to=2026-11-03T13:00Z")
        page.wait("document.querySelector('main .entries tbody tr')")  # 5: and here are its URLs
        self.assertIn("/x", page.text("main .entries tbody"))
        page.quiet()

    def test_each_total_has_its_reason(self):
        page = self.signed_in("user", "/overview?from=2026-10-01&to=2026-10-30&compare=previous")
        spans = {"from_": "2026-10-01", "to": "2026-10-30", "against_from": "2026-09-01", "against_to": "2026-09-30"}
        for figure, field in (("requests", "requests"), ("bandwidth", "bytes"), ("hit-rate", "hit_rate"), ("5xx", "status_5xx"),
                              ("4xx", "status_4xx"), ("origin", "origin_bytes"), ("origin-time", "origin_time")):
            self.click(page, f".why[data-why='{figure}']")
            self.assertEqual(page.script("return document.activeElement.textContent").split(":")[0], "Why")
            for split in ("zone", "region", "day") + (("status",) if figure == "requests" else ()):
                self.click(page, f".why-panel [data-split={split}]")
                with self.subTest(field=field, split=split):
                    self.says(page, self.why("user", field=field, by=split, **spans))
            self.assertEqual(page.script("return document.querySelectorAll('[data-split=product], [data-split=hour]').length"), 0)
        page.quiet()

    def test_the_address_holds_it_and_the_keyboard_works_it(self):
        page = self.signed_in("user", "/overview?from=2026-10-01&to=2026-10-07&compare=previous&why=bandwidth&split=region")
        self.says(page, self.why("user", field="bytes", by="region", from_="2026-10-01", to="2026-10-07",
                                 against_from="2026-09-24", against_to="2026-09-30"))
        self.assertEqual(page.script("return document.querySelector('[data-split=region]').ariaPressed"), "true")
        self.assertEqual(page.script("return document.querySelector('.why[data-why=bandwidth]').ariaExpanded"), "true")
        self.click(page, ".why-panel tr[data-part=DE] a")
        self.assertIn("region=DE", page.script("return location.search"))
        self.says(page, self.why("user", field="bytes", by="zone", region="DE", from_="2026-10-01", to="2026-10-07",
                                 against_from="2026-09-24", against_to="2026-09-30"))
        page.click(page.named("button", "Close"))
        page.wait("document.querySelector('.why-panel').hidden")
        self.assertEqual(page.script("return document.activeElement.dataset.why"), "bandwidth")
        page.keys("Enter")
        page.wait("!document.querySelector('.why-panel').hidden && document.activeElement.matches('.why-panel h2')")
        self.open(page, "/overview?from=2026-10-01&to=2026-10-07&compare=none&why=bandwidth")
        self.assertTrue(page.script("return document.querySelector('.why-panel').hidden"))
        self.assertFalse(page.script("return Boolean(document.querySelector('.tile-box .why'))"))
        page.quiet()

    def test_an_invoice_against_the_month_before(self):
        for key in ("user", "billing"):
            page = self.signed_in(key, "/billing")
            number = self.server.get("/billing/invoices", "user").json()["invoices"]
            [number] = [one["number"] for one in number if one["month"] == "2026-10"]
            self.press(page, page.named("link", f"Why? {number}"), f"a[aria-label='Why? {number}']")
            spans = {"from_": "2026-10-01", "to": "2026-10-31", "against_from": "2026-09-01", "against_to": "2026-09-30"}
            for split in ("zone", "product", "region"):
                self.click(page, f".why-panel [data-split={split}]")
                self.says(page, self.why(key, field="charges", by=split, **spans))
            self.assertIn("October 2026 against September 2026", page.text(".why-panel h2"))
            self.assertEqual(page.script("return document.querySelectorAll('.why-panel tbody a').length"), 0)
            page.quiet("sandboxed")  # the document's frame runs no script, ours neither

    def test_journey_why_a_line_of_an_invoice_grew(self):
        """The invoice, the line's "Why?": two steps from Billing. The panel is of the line's zone, and so says its sentence."""
        [number] = [one["number"] for one in self.server.get("/billing/invoices", "user").json()["invoices"] if one["month"] == "2026-10"]
        lines = self.server.get(f"/billing/invoices/{number}", "user").json()["lines"]
        [premium] = [one for one in lines if one["resource"] == "zone:101" and one["region"] == "EU"]
        [volume] = [one for one in lines if one["kind"] == "volume"]
        self.assertEqual([one["zone"] for one in volume["shares"]], [103])
        spans = {"from_": "2026-10-01", "to": "2026-10-31", "against_from": "2026-09-01", "against_to": "2026-09-30"}
        own = "return [...document.querySelectorAll('.why-panel tr[data-own]')].map(one => one.dataset.part)"
        expanded = "return [...document.querySelectorAll('[data-why][aria-expanded=true]')].map(one => one.dataset.why)"
        panel = "document.querySelector('.why-panel')"
        page = self.signed_in("user", "/billing")
        page.viewport(390)
        self.press(page, page.named("link", number), f"a[href*='/billing/{number}']")
        self.click(page, f".why[data-why='{volume['line']}']")
        self.says(page, self.why("user", field="charges", by="region", zone=103, **spans))
        self.assertTrue(page.text(".why-panel .reason").startswith("acme-volume "), page.text(".why-panel .reason"))
        self.assertEqual(page.text(".why-panel h2"), "Why: acme-volume, October 2026 against September 2026")
        self.assertEqual(self.too_wide(page), [])
        page.viewport(1280)
        self.click(page, f".why[data-why='{premium['line']}']")
        self.says(page, self.why("user", field="charges", by="region", zone=101, **spans))
        self.assertTrue(page.text(".why-panel .reason").startswith("acme-video "), page.text(".why-panel .reason"))
        self.assertEqual((page.script(own), page.script(expanded)), (["EU"], [str(premium["line"])]))
        self.click(page, ".why-panel [data-split=product]")
        self.says(page, self.why("user", field="charges", by="product", zone=101, **spans))
        self.assertEqual((page.script(own), page.script("return location.search")), (["bandwidth"], f"?why={premium['line']}&split=product"))
        page.script("history.go(-2)")
        page.wait(f"location.search === '?why={volume['line']}'")
        self.says(page, self.why("user", field="charges", by="region", zone=103, **spans))
        page.click(page.named("button", "Close"))
        page.wait(f"{panel}.hidden")
        self.assertEqual(page.script("return document.activeElement.getAttribute('aria-label')"), f"Why? Line {volume['line']}")
        page.keys("Enter")
        page.wait(f"!{panel}.hidden && document.activeElement.matches('.why-panel h2')")
        self.click(page, f".why[data-why='{volume['line']}']")
        self.assertTrue(page.script(f"return {panel}.hidden"), "a second click closes it")
        self.open(page, f"/billing/{number}?why=999")
        self.assertTrue(page.script(f"return {panel}.hidden"))
        page.quiet("sandboxed")

    def test_which_account_grew_and_why(self):
        page = self.signed_in("operator", "/overview?from=2026-10-01&to=2026-10-07&compare=previous&why=bandwidth")
        spans = {"from_": "2026-10-01", "to": "2026-10-07", "against_from": "2026-09-24", "against_to": "2026-09-30"}
        self.says(page, self.why("operator", field="bytes", by="account", **spans))
        first = page.script(PARTS)[0]["part"]
        self.click(page, ".why-panel tbody tr:first-child a")
        self.assertIn(f"account={first}", page.script("return location.search"))
        self.says(page, self.why("operator", field="bytes", by="zone", account=first, **spans))
        self.open(page, "/overview")
        self.click(page, "tr[data-account='1'] a.delta[href*='by=month']")  # of the month so far, against as much of the month before
        self.says(page, self.why("operator", field="bytes", by="zone", account=1, from_="2026-11-01", to="2026-11-04T09:00Z",
                                 against_from="2026-10-01", against_to="2026-10-04T09:00Z"))
        page.quiet()

    def test_it_fits_and_is_accessible(self):
        page = self.signed_in("user", "/overview?range=30d&why=bandwidth")
        for width in (360, 1440, 2560):
            page.viewport(width)
            self.whole(page)
            self.assertEqual(self.too_wide(page), [], width)
        for look in ("light", "dark"):
            page.scheme(look)
            self.assertEqual(axe(page), [], look)
        page.quiet()
