"""Every view of every role, as server/quickstart's fixtures fill it: what axe finds in light and dark, narrow and wide, paper,
and how soon the first view is there."""
import json
import statistics

from pages import ConsoleCase, axe
from pictures import DEARER, VIEWS, Fixtures

OPENED = ["/overview?account=3&range=30d", "/zones?account=3", "/zones/301?account=3", "/zones", "/what-if?account=3",
          "/billing", "/billing?account=3", "/billing/2026-000010?account=3"]  # by an operator
NARROW, WIDE = 360, 2560
WEIGHT, REQUESTS = 150_000, 24  # bytes of the first view over the wire, and in how many answers
SOON = 300  # ms from an answer of the server to what it says on screen
MANY = 400


class ViewsCase(ConsoleCase):
    """On the server that the pictures are made of."""

    served = Fixtures


class Everybody(ViewsCase):
    def test_every_view_of_a_customer(self):
        self.look("user")

    def test_every_view_of_who_sees_the_bill_alone(self):
        self.look("billing")

    def test_every_view_of_an_operator(self):
        page = self.look("operator", *OPENED)
        self.open(page, "/zones?account=3")
        self.open(page, "/what-if?account=3&scenario=" + json.dumps(DEARER, separators=(",", ":")))
        page.click(page.named("button", "Run this scenario"))
        page.wait("document.querySelector('main [data-chart=what-if-months]')")
        self.whole(page)
        self.assertEqual(axe(page), [])
        page.quiet()

    def look(self, key, *more):
        page = self.signed_in(key, "/")
        views = [*VIEWS[key], *more]
        self.assertEqual({address.split("?")[0] for address in self.views(page)} - {"/console" + view.split("?")[0] for view in views},
                         set(), "a view that nobody looks at")
        for view in views:
            with self.subTest(key=key, view=view):
                self.one(page, view)
        return page

    def one(self, page, view):
        page.scheme("light")
        page.viewport(WIDE)
        self.open(page, view)
        self.assertEqual(page.text("main .trouble"), "")
        self.assertNotIn("Not for this key", page.text("main"))
        self.assertEqual(self.too_wide(page), [], f"at {WIDE} px")
        self.assertEqual(axe(page), [])
        page.scheme("dark")
        page.viewport(NARROW)
        page.wait("matchMedia('(prefers-color-scheme: dark)').matches")
        self.assertEqual(self.too_wide(page), [], f"at {NARROW} px")
        self.assertEqual(axe(page, runOnly=["color-contrast"]), [])
        page.quiet()


class Paper(ViewsCase):
    def test_the_menu_is_gone_and_tables_are_whole(self):
        page = self.signed_in(path="/billing")
        self.on_paper(page, "/billing", 10)
        self.on_paper(page, "/billing/2026-000010", 6)

    def test_of_many_rows_each_is_printed(self):
        page = self.signed_in(path="/billing")
        page.script("""globalThis.ask = fetch;
            fetch = async (url, options) => !String(url).startsWith('/billing/summary') ? ask(url, options) : new Response(JSON.stringify(
                Array.from({length: %d}, (_, n) => ({PullZoneId: n + 1, MonthlyUsage: n, MonthlyBandwidthUsed: n}))),
                {headers: {'Content-Type': 'application/json'}});""" % MANY)
        self.open(page, "/overview")
        self.open(page, "/billing")
        rows = "document.querySelectorAll('[aria-label=\"Charges by zone\"] tbody tr[data-zone]').length"
        self.assertLess(page.script("return " + rows), MANY)
        self.on_paper(page, None, MANY)
        page.wait(f"{rows} < {MANY}")

    def on_paper(self, page, path, least):
        if path:
            self.open(page, path)
        page.browser.cdp("Emulation.setEmulatedMedia", media="print")
        try:
            # The tables draw all their rows with the event, which comes a frame after the media query matches.
            page.wait(f"matchMedia('print').matches && document.querySelectorAll('main tbody tr:not(.spacer)').length >= {least}")
            found = page.script("""const seen = (css) => [...document.querySelectorAll(css)].filter(one => one.checkVisibility()).map(one => one.outerHTML.slice(0, 90));
                return {controls: seen('.top, .frame > nav, .table-tools input, .skip, main .button, main button:not(.tile, .key, .sort, tbody button.quiet), .acts'),
                    cut: [...document.querySelectorAll('.table-scroll')].filter(one => one.scrollHeight > one.clientHeight + 1).length,
                    headings: seen('.table-tools h2').length}""")
            self.assertEqual((found["controls"], found["cut"]), ([], 0))
            self.assertGreaterEqual(found["headings"], 1)
        finally:
            page.browser.cdp("Emulation.setEmulatedMedia", media="")


class First(ViewsCase):
    def test_what_the_first_view_costs(self):
        page = self.signed_in(path="/overview?range=30d")
        times = []
        for _ in range(3):
            page.uncached()
            page.forget()
            page.reload()
            self.whole(page)
            times.append(page.wait("""(shown => { const [load] = performance.getEntriesByType('navigation'),
                asked = performance.getEntriesByType('resource').find(one => one.name.includes('/insights'));
                return shown && asked && {page: shown.startTime - load.responseEnd, answer: shown.startTime - asked.responseEnd}; })
                (performance.getEntriesByName('tollbook:shown')[0])"""))
        first = page.traffic()
        bytes_, soonest = sum(one["bytes"] for one in first), min(one["answer"] for one in times)
        print(f"first view: {len(first)} requests, {bytes_} bytes; on screen {soonest:.0f} ms after its answer at best,"
              f" {statistics.median(one['answer'] for one in times):.0f} ms in the middle;"
              f" {min(one['page'] for one in times):.0f} ms after the page's own at best")
        self.assertTrue(all(one["done"] for one in first), first)
        self.assertGreater(bytes_, WEIGHT / 10, "it was asked for anew")
        self.assertLessEqual(bytes_, WEIGHT)
        self.assertLessEqual(len(first), REQUESTS, first)
        self.assertLessEqual(soonest, SOON, times)
