"""The operator's views: what they show is what the API says, a book's mistake is shown at its place, and a month
is made final only when it was asked for twice."""
import json
import re

from pages import BrowserCase, axe
from harness import hit, run

BOOK = {"book": "b-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
NEXT = {**BOOK, "book": "b-2027", "effective_from": "2027-01-01T00:00:00Z"}


class Operator(BrowserCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        for month, size in (("09", 3), ("10", 9)):
            rows = [{"zone": zone, "hour": f"2026-{month}-03T05:00:00Z", "region": "DE", "bytes": size * 10**12}
                    for zone in (101, 201)]
            run("import", "--db", server.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        run("invoice", "--db", server.db, "--month", "2026-09", "--finalize")
        server.start()

    def signed_in(self, view, key="operator", size=()):
        page = self.page(*size)
        page.goto(f"{self.server.url}/console/operator/{view}")
        page.wait("document.querySelector('form#sign-in #key')")
        page.type("#key", self.server.keys[key])
        page.keys("Enter")
        page.wait("document.querySelector('.frame main h1')")
        return page

    def figures(self, page, field):
        """account -> the figure of the API that its row shows."""
        return page.script("return Object.fromEntries([...document.querySelectorAll(`[data-account] [data-field=${arguments[0]}]`)]"
                           ".map(one => [one.closest('[data-account]').dataset.account, one.dataset.value]))", field)

    def test_accounts_are_what_the_operation_lists(self):
        page = self.signed_in("accounts")
        page.wait("document.querySelectorAll('tr[data-account]').length === 2")
        listed = self.operation("account-list")["answer"]["accounts"]
        for field in ("monthToDate", "balance"):
            self.assertEqual(self.figures(page, field), {str(one["account"]): one[field] for one in listed})
        page.click(page.named("button", "CSV"))
        head, *rows = [row.split(",") for row in page.downloaded("accounts.csv").decode().splitlines()]
        at = {name: head.index(name) for name in ("ID", "monthToDate", "balance", "currency")}
        self.assertEqual([[row[at["ID"]], row[at["monthToDate"]], row[at["balance"]], row[at["currency"]]] for row in rows],
                         [[str(one["account"]), one["monthToDate"], one["balance"], one["currency"]] for one in listed])
        page.click(page.named("button", "Forecast again"))
        page.wait("!document.querySelector('.table-tools button').disabled")
        page.quiet("401")

    def test_a_book_is_added_compared_and_dropped(self):
        page = self.signed_in("books")
        page.wait("document.querySelector('textarea')")
        wrong = json.dumps(BOOK, indent=1).replace('"0.03"', '"three"')
        page.script("document.querySelector('textarea').value = arguments[0]", wrong)
        page.click(page.named("button", "Add the book"))
        page.wait("document.querySelector('#book-says').textContent")
        line = wrong[:wrong.index('"three"')].count("\n") + 1
        self.assertIn(f"Line {line}:", page.text("#book-says"))
        at = page.script("return document.querySelector('textarea').selectionStart")
        self.assertTrue(0 <= at - wrong.index('"three"') <= 1, at)
        page.script("document.querySelector('textarea').value = arguments[0]", json.dumps(
            {**NEXT, "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.02", "NA": "0.01", "ASIA": "0.03"}}}}))
        page.click(page.named("button", "Add the book"))
        page.wait("document.querySelectorAll('tbody tr').length === 2")
        page.goto(f"{self.server.url}/console/operator/books?first=b-2026&second=b-2027")
        page.wait("[...document.querySelectorAll('td')].some(cell => cell.textContent === 'bandwidth.premium.EU')")
        page.click(page.named("link", "Drop"))
        page.click(page.named("button", "Preview"))
        page.click(page.named("button", "Drop it"))
        page.wait("document.querySelector('.do-outcome [data-entry]')")
        self.assertEqual(len(self.operation("book-list")["answer"]["books"]), 1)
        page.quiet("401", "400")

    def test_a_month_is_made_final_when_it_is_asked_for_twice(self):
        page = self.signed_in("run?month=2026-10")
        page.wait("document.querySelectorAll('tr[data-account]').length === 2")
        rows = self.operation("preview", month="2026-10")["answer"]["rows"]
        self.assertEqual(self.figures(page, "total"), {str(one["account"]): one["total"] for one in rows})
        shown = page.script("return [...document.querySelectorAll('[data-what]')].map(one => one.textContent)")
        self.assertEqual(sorted(shown), sorted(one["text"].replace("`", "") for row in rows for one in row["looks_wrong"] if one["what"] != "lacks"))
        self.assertEqual(len(shown), 2)  # three times as much as usual: both are chosen by hand
        sums = page.script("return [...document.querySelectorAll('.tile')].filter(one => one.querySelector('[data-field=sum]')).map(one => one.textContent)")
        self.assertTrue(sums and all(re.fullmatch(r"Total in (\w+).*\xa0\1month before: .*\xa0\1 \(.* %\)", one) for one in sums), sums)
        page.click(page.named("button", "Choose all"))
        page.click(page.named("button", "Make 2 drafts final …"))
        page.wait("document.querySelector('main form input[pattern]')")
        page.type("main form input[pattern]", "2026-09")
        page.click(page.named("button", "Make final"))
        self.assertEqual(len(self.server.get("/billing/invoices").json()["invoices"]), 1)
        page.clear("main form input[pattern]")
        page.type("main form input[pattern]", "2026-10")
        page.click(page.named("button", "Make final"))
        page.wait("document.querySelector('main').textContent.includes('No draft is left')")
        page.wait("document.querySelector('main .notice')")
        self.assertEqual(len(self.server.get("/billing/invoices").json()["invoices"]), 2)
        page.quiet("401")

    def test_a_running_month_cannot_be_made_final(self):
        page = self.signed_in("run?month=2026-11")
        page.wait("document.querySelector('main').textContent.includes('is not over')")
        self.assertNotIn("Make final", page.text("main"))
        page.quiet("401")

    def test_health_and_intake_show_the_servers_figures(self):
        page = self.signed_in("health")
        page.wait("document.querySelector('[data-field=tollbook_store_bytes]')")
        shown = int(page.script("return document.querySelector('[data-field=tollbook_store_bytes]').dataset.value"))
        self.assertEqual(shown, self.server.metric("tollbook_store_bytes"))
        page.script("""globalThis.ask = fetch;
            fetch = (url, options) => (String(url).includes('verify') ? new Promise((_, no) => options.signal.addEventListener('abort',
                () => no(new DOMException('', 'AbortError')))) : ask(url, options));""")
        page.click(page.named("button", "Verify now"))
        page.click(page.named("button", "Cancel"))
        page.wait("!document.querySelector('main progress')")
        self.assertEqual(page.text(".trouble"), "")
        page.script("fetch = ask")
        page.click(page.named("button", "Verify now"))
        page.wait("document.querySelector('main').textContent.includes('No differences.')")
        page.wait("document.querySelector('[data-field=tollbook_last_verify_age_seconds]').dataset.value", "the run that the page asked for counts")
        self.assertNotIn("never: tollbook verify", page.text("main"))
        page.goto(f"{self.server.url}/console/operator/intake")
        page.wait("document.querySelector('[data-field=tollbook_store_lines_accepted]')")
        page.wait("document.querySelectorAll('main .empty:not([hidden])').length === 2")  # nothing refused, nobody's usage
        shown = page.script("return [...document.querySelectorAll('[aria-label=Sources] tbody tr')].map(row => [row.cells[0].textContent, row.cells[2].textContent,"
                            "...[...row.querySelectorAll('[data-field]')].map(one => Number(one.dataset.value))])")
        listed = self.operation("intake")["answer"]["sources"]
        self.assertEqual(shown, [[one["source"], "now", one["accepted"], one["rejected"], one["segments"]] for one in listed])
        self.assertTrue(shown)
        hostile = "<img src=x onerror=document.title='x'>|\u202e"
        self.server.ask("POST", "/ingest/logs", "ingest", f"{hostile}\n{hit(999).decode()}".encode())
        page.reload()
        page.wait("document.querySelectorAll('main section:not([aria-label=Sources]) > .table-scroll tbody tr').length === 2")
        self.assertIn(hostile, page.script("return document.querySelector('main td code').textContent"))
        self.assertIn("pull zone 999", page.text("main"))
        self.assertEqual(axe(page), [])
        page.quiet("401")

    def test_a_customer_is_not_offered_them(self):
        page = self.signed_in("accounts", key="user")
        page.wait("document.querySelector('main h1').textContent === 'Not for this key'")
        self.assertNotIn("Health", page.text("nav"))
        page.quiet("401")
