"""A bill is checked in the browser: from its page, with the log's key and with another one."""
import json

from pages import BrowserCase  # first: it knows where the harness is
from cases_billing import BOOK
from harness import run


class Check(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        row = {"zone": 101, "hour": "2026-10-05T05:00:00Z", "region": "DE", "bytes": 10**12}
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", server.db, "-", stdin=json.dumps(row).encode() + b"\n")
        cls.vkeys = [run("proof", "key", "--new", server.path / name, "--name", "example.com/bills").stdout.decode().strip()
                     for name in ("log-key", "another-key")]
        run("proof", "start", "--db", server.db)
        run("invoice", "--db", server.db, "--month", "2026-10", "--finalize", "--proof-key-file", server.path / "log-key")
        server.start()

    def checked(self, page):
        """What the page says of each check."""
        page.wait("document.querySelector('[data-field=verdict]')")
        return page.script("return Object.fromEntries([...document.querySelectorAll('main [data-field]')].map(one => [one.dataset.field, one.dataset.value]))")

    def test_a_bill_from_its_page(self):
        page = self.page(1280, 900)
        page.goto(self.server.url + "/console/billing/2026-000001")
        page.type("#key", self.server.keys["user"])
        page.keys("Enter")
        page.wait("document.querySelector('main a[href*=\"/console/check\"]')")
        page.click("main a[href*='/console/check']")
        self.assertEqual(self.checked(page), {"verdict": "true", "inclusion": "true", "signature": "null"})
        for vkey, right in zip(self.vkeys, ("true", "false")):
            page.script("document.querySelector('[data-field=verdict]').remove()")
            page.clear("input[name=key]")
            page.type("input[name=key]", vkey)
            page.keys("Enter")
            self.assertEqual(self.checked(page), {"verdict": right, "inclusion": "true", "signature": right})
        self.assertIn("tollbook-check 2026-000001.tollproof", page.text("main"))
