"""The console's face: weight, widths, signing in, the keyboard alone, and what an idle page costs. Figures are counted, not clocked."""
from pages import NOT_SIGNED_IN, ConsoleCase, axe

WEIGHT = 150_000  # bytes of the first view over the wire
NARROW = 360


class Weight(ConsoleCase):
    def test_the_first_view_and_the_second_visit(self):
        page = self.page()
        page.uncached()
        page.forget()
        self.sign_in(page, path="/logs?zone=101")
        first = page.traffic()
        self.assertLessEqual(sum(one["bytes"] for one in first), WEIGHT, first)
        self.assertEqual({one["url"].split("/")[2] for one in first}, {self.server.url.split("/")[2]}, "asks nobody else")
        page.forget()
        page.reload()
        self.whole(page)
        again = [one for one in page.traffic() if "/console/assets/" in one["url"] and one["bytes"]]
        self.assertEqual(again, [], "what has a name by its content is asked for once")

    def test_an_idle_page_costs_304s(self):
        page = self.signed_in(path="/overview")
        page.forget()
        self.asked_again(page)
        asked = page.wait(lambda: [one for one in page.traffic() if "/insights" in one["url"] and one["done"] and one["status"]])
        self.assertEqual({one["status"] for one in asked}, {304}, asked)
        self.assertLess(max(one["bytes"] for one in asked), 600)


class Looks(ConsoleCase):
    """Before anybody is signed in. (The views: cases_views.py.)"""

    def test_signing_in(self):
        page = self.page(NARROW)
        page.goto(self.server.url + "/console/")
        page.find("#key")
        self.assertEqual(self.too_wide(page), [])
        self.assertEqual(axe(page), [])
        page.scheme("dark")
        self.assertEqual(axe(page), [])


class Keyboard(ConsoleCase):
    def test_signing_in_walking_filtering_and_signing_out(self):
        page = self.page()
        page.goto(self.server.url + "/console/logs?zone=101")
        page.find("#key")
        self.assertEqual(page.script("return document.activeElement.id"), "key")
        page.keys(*self.server.keys["user"], "Enter")
        self.whole(page)
        page.quiet(NOT_SIGNED_IN)
        self.walk_to(page, "document.activeElement.closest('.filter') && document.activeElement.placeholder === 'words'")
        page.keys(*"404", "Enter")
        page.wait("location.search.includes('search=404')")
        self.walk_to(page, "document.activeElement.getAttribute('aria-label') === 'Take away the filter any field'")
        page.keys("Enter")
        page.wait("!location.search.includes('search')")
        self.whole(page)
        self.walk_to(page, "document.activeElement.closest('.entries tbody')")
        page.keys("Enter")
        page.wait("document.querySelector('.unfolded:not([hidden])')")
        self.walk_to(page, "document.activeElement.matches('.unfolded .only')")
        page.keys("Enter")
        page.wait("document.querySelector('.chips li')")
        self.walk_to(page, "document.activeElement.textContent === 'Containers'", back=True)
        page.keys("Enter")
        page.wait("location.pathname === '/console/containers' && document.activeElement.matches('h1')")
        self.walk_to(page, "document.activeElement.matches('.sign-out')", back=True)
        page.keys("Enter")
        page.find("form#sign-in")

    def walk_to(self, page, there, back=False):
        """Tab by Tab; each stop is in sight and shows that it has the focus."""
        for _ in range(80):
            page.keys("Tab", holding=("Shift",) if back else ())
            stop = page.script(f"""const one = document.activeElement, box = one.getBoundingClientRect(), look = getComputedStyle(one);
                return {{there: Boolean({there}), shows: look.outlineStyle !== 'none' && look.outlineWidth !== '0px',
                    seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight, what: one.outerHTML.slice(0, 100)}};""")
            if stop["what"].startswith("<body"):
                continue  # around the page once
            self.assertTrue(stop["shows"], f"no focus is seen: {stop['what']}")
            self.assertTrue(stop["seen"], f"out of sight: {stop['what']}")
            if stop["there"]:
                return
        self.fail(f"80 times Tab lead nowhere: {there}")

    def test_escape_closes_the_menu_of_a_narrow_page(self):
        page = self.signed_in(path="/containers")
        page.viewport(NARROW)
        page.script("document.querySelector('.menu').focus()")
        page.keys("Enter", *["Tab"] * 4)
        self.assertEqual(page.script("return document.activeElement.textContent"), "Overview")
        page.keys("Escape")
        self.assertEqual(page.script("return [document.querySelector('nav').hidden, document.activeElement.ariaLabel]"), [True, "Menu"])

    def test_the_first_stop_leads_past_the_menu(self):
        page = self.signed_in(path="/containers")
        page.keys("Tab")
        self.assertEqual(page.script("return document.activeElement.textContent"), "To the content")
        page.keys("Enter")
        self.assertEqual(page.script("return document.activeElement.id"), "main")
