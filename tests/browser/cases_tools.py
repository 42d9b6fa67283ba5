"""The tools of the browser tests see what they are there for: what a page asks for and what comes over the
wire, a server out of reach, errors on the console, the user's colours and width, and what axe finds."""
import tempfile
from pathlib import Path

from pages import BrowserCase, axe

PAGE = """<!doctype html><html lang=en><title>A page</title><style>
main { background: white; color: black } p { height: 20px; width: 20px }
@media (prefers-color-scheme: dark) { main { background: black; color: #222 } }
@media (max-width: 400px) { p { width: 500px } }
</style><main><h1>Tools</h1><label>Name <input id=name></label> <button>Say it</button><p></p></main>
<script>
document.querySelector('button').onclick = () => { document.title = document.querySelector('#name').value };
document.querySelector('main').onmousemove = event => { window.last = event.buttons };
</script>"""


class Tools(BrowserCase):
    def here(self, page):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (Path(folder.name) / "page.html").write_text(PAGE)
        page.goto(f"file://{folder.name}/page.html")

    def test_mouse_and_keys(self):
        page = self.page()
        self.here(page)
        page.type("#name", "by the mouse")
        page.click(page.named("button", "Say it"))
        page.wait("document.title === 'by the mouse'")
        page.clear("#name")
        page.type("#name", "by keys")
        page.keys("Tab", "Enter")
        page.wait("document.title === 'by keys'")
        page.drag(page.find("main"), (0, 0), (20, 0))
        self.assertEqual(page.script("return window.last"), 1)

    def test_colours_widths_and_what_axe_finds(self):
        page = self.page()
        self.here(page)
        self.assertEqual(axe(page), [])
        page.scheme("dark")
        self.assertTrue(any(one.startswith("color-contrast: h1:") for one in axe(page)))
        wide = "return document.documentElement.scrollWidth > innerWidth"
        self.assertFalse(page.script(wide))
        page.viewport(360)
        self.assertTrue(page.script(wide))

    def test_what_comes_over_the_wire(self):
        page = self.page()
        page.goto(self.server.url + "/healthz")
        page.forget()
        ask = ("return (await fetch('/statistics?dateFrom=2026-11-01&dateTo=2026-11-03',"
               "{cache: 'no-cache', headers: {AccessKey: arguments[0]}})).status")
        for _ in range(2):
            self.assertEqual(page.promise(ask, self.server.keys["user"]), 200)
        first, second = page.wait(lambda: (found := page.traffic()) and all(one["done"] for one in found) and found)
        self.assertEqual((first["method"], first["status"], second["status"]), ("GET", 200, 304))
        self.assertGreater(first["bytes"], 500)
        self.assertLess(second["bytes"], 500)
        page.quiet("favicon")

    def test_errors_and_a_server_out_of_reach(self):
        page = self.page()
        page.goto(self.server.url + "/healthz")
        ask = "return (await fetch('/healthz')).status"
        page.offline()
        with self.assertRaisesRegex(AssertionError, "Failed to fetch"):
            page.promise(ask)
        page.offline(False)
        self.assertEqual(page.promise(ask), 200)
        page.quiet("ERR_INTERNET_DISCONNECTED", "favicon")
        page.script("setTimeout(() => { throw Error('on its own') })")
        page.wait(lambda: page.messages())
        with self.assertRaisesRegex(AssertionError, "on its own"):
            page.quiet()

    def test_no_tab_inherits_what_another_left(self):
        first = self.page()
        first.goto(self.server.url + "/healthz")
        first.script("document.cookie = 'a=1'; localStorage.b = 2")
        beside = first.another()
        beside.goto(self.server.url + "/healthz")
        left = "return document.cookie + localStorage.b"
        self.assertEqual(beside.script(left), "a=12")
        again = self.page()
        again.goto(self.server.url + "/healthz")
        self.assertEqual(again.script(left), "undefined")
