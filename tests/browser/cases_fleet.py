"""The operator's home and a customer's page: accounts by name, figures that are the API's, and journeys with their steps counted."""
import json
import subprocess
from decimal import Decimal

from pages import ConsoleCase, axe
from browser import the
from harness import ENVIRONMENT, TOLLBOOK, Server, run

NAMES = ("Nordlicht Film", "Hafen Media", "Kite Games", "Alpenblick", "Zephyr News", "Quay Radio", "Sturm & Drang", "Ötztal TV")
BOOK = {"book": "list", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
FLEET = 75


def name_of(account):
    return NAMES[account - 1] if account <= len(NAMES) else f"Customer {account:05}"


def size_of(account, month):
    """GB of a day: account 3 doubles in November, account 2 loses half, the others stay."""
    factor = {(3, 11): 200, (2, 11): 50, (5, 11): 130}.get((account, month), 100)
    return 10**12 * (account % 7 + 1) * factor // 100


def rows_of(accounts):
    """Each day a little traffic of each account's first zone; September is invoiced, October is not."""
    for account in range(1, accounts + 1):
        for month, days in ((9, 3), (10, 4), (11, 4)):
            for day in range(1, days + 1):
                yield {"zone": account * 10 + 1, "hour": f"2026-{month:02}-{day:02}T05:00:00Z", "region": ("DE", "NY", "SG")[account % 3],
                       "requests": 1000 + account, "bytes": size_of(account, month), "cached_bytes": size_of(account, month) // 2,
                       "status_5xx": account % 4}


def catalog(accounts):
    return {"accounts": [{"id": one, "name": name_of(one), **({"contract": {"discount_percent": "5"}, "alerts": [{"id": "big-month", "kind": "month_to_date", "above": "100"}]} if one == 3 else {})} for one in range(1, accounts + 1)],
            "zones": [{"id": account * 10 + n, "account": account, "name": f"{name_of(account).split()[0].lower()}-{account}-{n}",
                       "created": "2026-01-05T00:00:00Z"} for account in range(1, accounts + 1) for n in (1, 2)]}


class Fleet(Server):
    accounts = FLEET

    def make(self, log):
        run("init", "--db", self.db)
        run("apply", "--delete", "--db", self.db, "-", stdin=json.dumps(catalog(self.accounts)).encode())
        run("book", "--db", self.db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", self.db, "-", stdin="".join(json.dumps(row) + "\n" for row in rows_of(self.accounts)).encode())
        self.bill()
        return {"operator": self.make_key(0, "Operator"), "user": self.make_key(3, "User")}

    def bill(self):
        subprocess.run([TOLLBOOK, "invoice", "--db", self.db, "--month", "2026-09", "--finalize"], check=True, capture_output=True,
                       env={**ENVIRONMENT, "TOLLBOOK_NOW": "2026-10-01T06:00:00Z"})
        run("ledger", "pay", "--db", self.db, "--account", 1, "--amount", "60.00", "--reference", "wire 1")
        run("alerts", "--db", self.db, "--evaluate", expect=None)


class Many(Fleet):
    """As many accounts as a large operator has; nothing is billed, which takes longest to make and changes no question."""
    accounts = 10000

    def bill(self):
        pass


def fleet():
    return Fleet(log=b"a fleet, as it makes it")


def many():
    return Many(log=b"many, as it makes them")


class FleetCase(ConsoleCase):
    served = staticmethod(fleet)

    def asked(self, page):
        """The questions to the API since the page was told to forget, without their parameters."""
        return sorted(one["url"].split("?")[0].split("/", 3)[3] for one in page.traffic() if "/console/assets/" not in one["url"] and "/console/" not in one["url"])

    @staticmethod
    def rows(page, css):
        return page.script("return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map(row => [Number(row.dataset.account), row.cells[0].textContent, "
                           "...[...row.querySelectorAll('[data-field]')].map(one => one.dataset.value)])", css)

    @staticmethod
    def forecasts(page):
        return dict(page.script("return [...document.querySelectorAll('[aria-label=Accounts] tr[data-account]')].map(row => [Number(row.dataset.account), row.querySelector('[data-field=forecast]').dataset.value])"))

    def tile(self, page, field):
        return page.script("return document.querySelector(`.tiles [data-field=${arguments[0]}]`)?.dataset.value", field)

    def find_customer(self, page, text):
        page.keys("/")
        page.wait("document.activeElement.matches('nav [role=combobox]')")
        page.keys(*text)
        page.wait("document.querySelector('nav [role=listbox]:not([hidden]) [role=option][data-account]')")


class Home(FleetCase):
    def test_its_figures_are_the_apis(self):
        page = self.signed_in("operator", "/overview")
        self.assertTrue(page.url().endswith("/console/overview"), page.url())
        found = self.operation("account-summary", top=6)["answer"]
        [usd] = found["currencies"]
        self.assertEqual({field: self.tile(page, field) for field in ("charges", "owed", "overdue", "unbilled")},
                         {field: usd[field] for field in ("charges", "owed", "overdue", "unbilled")})
        for number, name in ((0, "grown"), (1, "grown_percent"), (2, "fallen")):
            page.script("document.querySelectorAll('[aria-label=Which] button')[arguments[0]].click()", number)
            self.assertEqual(self.rows(page, "[aria-label^='Customers whose']"),
                             [[one["account"], one["name"], one["charges"], one["previous"], one["change"], one["percent"]] for one in usd[name]], name)
        self.assertEqual(self.rows(page, "[aria-label^='Customers with most']"), [[one["account"], one["name"], one["overdue"], one["owed"]] for one in usd["most_overdue"]])
        self.assertEqual(len(usd["most_overdue"]), 6)
        told = page.script("return Object.fromEntries([...document.querySelectorAll('[data-todo]')].map(one => [one.dataset.todo, one.textContent]))")
        self.assertEqual(list(told), ["overdue", "unbilled"])
        self.assertIn(f"{usd['overdue_accounts']} accounts", told["overdue"])
        self.assertIn("October 2026 of 75 accounts", told["unbilled"])
        traffic = self.server.get("/insights?rank=accounts&top=10&sort=TotalBandwidthUsed&from=2026-10-29&to=2026-11-04", "operator").json()
        self.assertEqual(self.tile(page, "TotalBandwidthUsed"), str(traffic["totals"]["TotalBandwidthUsed"]))
        shown = page.script("return [...document.querySelectorAll('[aria-label=\"Most traffic\"] tbody tr')].map(row => [Number(row.dataset.account), row.querySelector('[data-field=TotalBandwidthUsed]').dataset.value])")
        self.assertEqual(shown, [[one["id"], str(one["TotalBandwidthUsed"])] for one in traffic["accounts"]["items"]])
        page.quiet()

    def test_an_oracle_of_who_grew(self):
        """By hand: price times usage of the first four days of each month."""
        charged = {one: {month: Decimal(4 * size_of(one, month)) / 10**9 * Decimal("0.03" if one % 3 == 2 else "0.01") * (Decimal("0.95") if one == 3 else 1)
                         for month in (10, 11)} for one in range(1, FLEET + 1)}
        change = {one: months[11] - months[10] for one, months in charged.items() if months[11] != months[10]}
        [usd] = self.operation("account-summary")["answer"]["currencies"]
        self.assertEqual([(one["account"], Decimal(one["change"])) for one in usd["grown"]],
                         sorted(((one, by) for one, by in change.items() if by > 0), key=lambda row: -row[1]))
        self.assertEqual([(one["account"], Decimal(one["change"])) for one in usd["fallen"]], [(2, change[2])])
        self.assertEqual(Decimal(usd["charges"]), sum(months[11] for months in charged.values()))
        self.assertEqual(Decimal(usd["previous"]), sum(months[10] for months in charged.values()))

    def test_what_the_month_may_come_to(self):
        """Of few accounts without a click; the sum of the rows' means by Python, and no question again when the page is left and opened."""
        page = self.signed_in("operator", "/overview")
        page.wait("document.querySelector('[data-field=expected]')")
        rows, given = [], {"all": True}
        while True:
            answer = self.server.ask("POST", "/operations/forecast", "operator", json.dumps(given).encode(), Content_Type="application/json").json()
            rows += answer["answer"]["accounts"]
            if not answer["next"]:
                break
            given["next"] = answer["next"]
        self.assertEqual(len(rows), FLEET)
        shown = page.script("return document.querySelector('[data-field=expected]').dataset.value")
        self.assertEqual(shown, str(sum(Decimal(one["money"]["net"]["mean"]) for one in rows)))
        [budget] = [one for one in rows if one["budget"]]
        self.assertEqual((budget["account"], budget["budget"]), (3, "100.00"))
        self.assertEqual(page.script("return [...document.querySelectorAll('[aria-label=\"At the month\\'s end\"] li')].map(one => [Number(one.dataset.account), one.textContent.replaceAll('\u00a0', ' ')])"),
                         [[3, "Kite Games: 100 % likely to exceed 100.00 USD, tax included"]])
        page.forget()
        self.open(page, "/operator/accounts")
        self.assertEqual(self.forecasts(page), {one["account"]: one["money"]["net"]["p50"] for one in rows})
        self.open(page, "/overview")
        page.wait("document.querySelector('[data-field=expected]')")
        self.assertNotIn("operations/forecast", self.asked(page))
        page.click(page.named("button", "Forecast again"))
        page.wait("document.querySelector('[aria-label^=\"At the month\"] .running') === null")
        self.assertEqual(self.asked(page).count("operations/forecast"), 2)
        page.quiet()

    def test_accounts_are_sorted_by_their_forecasts(self):
        page = self.signed_in("operator", "/operator/accounts?sort=-forecast")
        page.wait("[...document.querySelectorAll('[data-field=forecast]')].length && [...document.querySelectorAll('[data-field=forecast]')].every(one => one.dataset.value)")
        for sign in (-1, 1):
            shown = list(self.forecasts(page).values())
            self.assertEqual(shown, sorted(shown, key=lambda value: sign * Decimal(value)))
            page.click(page.named("button", "Forecast"))
            self.whole(page)
        page.quiet()

    def test_which_customer_grew_most(self):
        """No step to see it; one to its page, one to its zones."""
        page = self.signed_in("operator", "/overview")
        [most, *_] = self.operation("account-summary")["answer"]["currencies"][0]["grown"]
        self.assertEqual(self.rows(page, "[aria-label^='Customers whose']")[0][:2], [most["account"], most["name"]])
        page.click("[aria-label^='Customers whose'] tbody a")
        page.wait(f"document.querySelector('main h1').textContent === '{most['name']}'")
        page.click("main .segments a[href*='/zones']")
        page.wait("document.querySelector('main h1').textContent === 'Zones'")
        self.whole(page)
        self.assertEqual(page.script("return document.querySelectorAll('tr[data-zone]').length"), 2)
        page.quiet()

    def test_is_anything_unhealthy(self):
        """No step to see it; one to its figures."""
        page = self.signed_in("operator", "/overview")
        said = page.wait("document.querySelector('[data-field=health]')?.dataset.value")
        self.assertEqual(said, "backup verify")
        self.assertIn("No backup was ever made", page.text("[data-field=health]"))
        page.click(".health a")
        page.wait("document.querySelector('main h1').textContent === 'Health'")
        page.quiet()

    def test_no_view_asks_for_a_number(self):
        page = self.signed_in("operator", "/overview")
        for path in self.views(page):
            self.open(page, path.removeprefix("/console"))
            self.assertEqual(page.script("return document.querySelectorAll('main input[type=number][name=account], main input[type=number][placeholder=all]').length"), 0, path)
            self.assertNotIn("account's number", page.text("main"), path)
        page.quiet()

    def test_it_is_usable_by_everybody(self):
        page = self.signed_in("operator", "/overview")
        for path in ("/overview", "/accounts/3", "/billing?account=3", "/operator/alerts"):
            self.open(page, path)
            for width in (360, 1440, 2560):
                page.viewport(width)
                self.assertEqual(self.too_wide(page), [], (path, width))
            self.assertEqual(axe(page), [], path)
            page.scheme("dark")
            self.assertEqual(axe(page), [], path)
            page.scheme("light")
        page.quiet()


class Finder(FleetCase):
    def test_a_customer_is_found_by_the_keyboard_alone(self):
        page = self.signed_in("operator", "/overview")
        self.find_customer(page, "kite")
        self.assertEqual(page.script("const field = document.activeElement; return [field.getAttribute('aria-expanded'), "
                                     "document.getElementById(field.getAttribute('aria-activedescendant')).textContent]"), ["true", "Kite Games3"])
        page.keys("Enter")
        page.wait("location.pathname === '/console/accounts/3'")
        self.whole(page)
        self.find_customer(page, "customer 0001")
        page.keys("Down")
        second = page.script("return Number(document.querySelector('nav [aria-selected=true]').dataset.account)")
        listed = self.operation("account-list", names=True, search="customer 0001", sort="name", limit=8)["answer"]["accounts"]
        self.assertEqual(second, listed[1]["account"])
        self.assertEqual(axe(page), [])
        page.keys("Escape")
        page.wait("document.querySelector('nav [role=listbox]').hidden")
        page.quiet()

    def test_a_number_finds_it_and_a_name_that_nobody_has_says_so(self):
        page = self.signed_in("operator", "/overview")
        self.find_customer(page, "75")
        self.assertEqual(page.script("return document.querySelector('nav [role=option]').textContent"), "Customer 0007575")
        page.keys("Escape", "Escape")
        page.wait("document.activeElement.value === ''")
        page.keys(*"nobody")
        page.wait("document.querySelector('nav [role=option]')?.textContent.includes('No account')")
        page.quiet()

    def test_a_view_is_of_one_account_or_of_all(self):
        page = self.signed_in("operator", "/zones")
        self.assertIn("150 rows", page.text("main"))
        page.click("main .account-choice [role=combobox]")
        page.keys(*"quay")
        page.wait("document.querySelector('main [role=option][data-account]')")
        page.keys("Enter")
        page.wait("location.search.includes('account=6')")
        self.whole(page)
        self.assertEqual(page.text("main .account-choice a"), "Quay Radio")
        self.assertEqual(page.script("return document.querySelectorAll('tr[data-zone]').length"), 2)
        page.click(page.named("button", "All accounts"))
        self.whole(page)
        self.assertNotIn("account=", page.url())
        self.assertIn("150 rows", page.text("main"))
        page.quiet()

    def test_a_customer_has_none_of_it(self):
        page = self.signed_in("user", "/overview")
        self.assertEqual(page.script("return document.querySelectorAll('[role=combobox]').length"), 0)
        page.keys("/")
        self.open(page, "/accounts/3")
        self.assertEqual(page.text("main h1"), "Not for this key")
        page.quiet()


class Customer(FleetCase):
    def test_its_figures_are_the_apis(self):
        page = self.signed_in("operator", "/accounts/3")
        self.assertEqual(page.text("main h1"), "Kite Games")
        [row] = self.operation("account-list", after=2, limit=1)["answer"]["accounts"]
        self.assertEqual({field: self.tile(page, field) for field in ("monthToDate", "balance", "owed")}, {field: row[field] for field in ("monthToDate", "balance", "owed")})
        of = {name: self.server.get(f"/billing{path}", "user").json() for name, path in (("invoices", "/invoices"), ("statement", "/statement"), ("forecast", "/forecast"))}
        self.assertEqual(self.tile(page, "p50"), of["forecast"]["money"]["net"]["p50"])
        shown = page.script("return [...document.querySelectorAll('[aria-label=\"Invoices and credit notes\"] tbody tr')].map(row => [row.cells[0].textContent, row.querySelector('[data-field=total]').dataset.value])")
        self.assertEqual(shown, [[one["number"], one["total"]] for one in of["invoices"]["invoices"]])
        shown = page.script("return [...document.querySelectorAll('[aria-label=\"Entries of the ledger\"] tbody tr')].map(row => [...row.querySelectorAll('[data-field]')].map(one => one.dataset.value))")
        self.assertEqual(shown, [[one["amount"], one["balance"]] for one in reversed(of["statement"]["entries"])])
        self.assertIn("big-month", page.text("[aria-label=Alerts]"))
        keys = [one for one in self.operation("key-list")["answer"]["Items"] if one["Account"] == 3]
        self.assertEqual(page.script("return [...document.querySelectorAll('[aria-label=Keys] tbody tr')].map(row => [row.cells[0].textContent, row.cells[1].textContent])"),
                         [[str(one["Id"]), ", ".join(one["Roles"])] for one in keys])
        self.assertNotIn(self.server.keys["user"], page.script("return document.body.innerHTML"))
        page.quiet()

    def test_its_documents_open(self):
        page = self.signed_in("operator", "/accounts/3")
        [number] = [one["number"] for one in self.server.get("/billing/invoices", "user").json()["invoices"]]
        link = page.script("return document.querySelector('a[download$=\".pdf\"]').getAttribute('href')")
        self.assertIn("account=3", link)
        self.assertTrue(self.server.get(link, "operator").body.startswith(b"%PDF"))
        page.click(page.named("button", f"{number} as XRechnung"))
        page.wait(f"document.querySelector('main .trouble').textContent.includes('{number} cannot be XRechnung')", "there is no seller, which it needs")
        self.assertTrue(page.script("return document.querySelector('button[aria-label$=\"as XRechnung\"]').disabled"))
        page.click(page.named("link", number))
        page.wait(f"document.querySelector('main h1').textContent === '{number}'")
        self.open(page, f"/billing/{number}?account=3&line=1")
        self.assertIn("Line 1", page.text("[aria-label='The line taken apart']"))
        self.assertIn("kite-3-1", page.text("main"))
        page.quiet("400")

    def test_one_that_is_not_there(self):
        page = self.signed_in("operator", "/accounts/9999")
        self.assertIn("There is no such account.", page.text("main"))
        page.quiet()

    def test_alerts_have_names(self):
        page = self.signed_in("operator", "/operator/alerts")
        self.assertEqual(page.text("[aria-label=Alerts] tbody a"), "Kite Games")
        page.quiet()


class TenThousand(FleetCase):
    """With ten thousand accounts the page asks as often as with 75."""

    def test_the_home_asks_no_more_than_of_a_few(self):
        asked = {}
        for made in (fleet, many):
            type(self).server = the(made)
            page = self.page()
            page.forget()
            self.sign_in(page, "operator", "/overview")
            if made == fleet:
                page.wait("document.querySelector('[data-field=expected]')")
            asked[made] = self.asked(page)
        self.assertIn("October 2026 of 10,000 accounts", page.text("main"))
        self.find_customer(page, "customer 0999")
        page.keys("Enter")
        page.wait("document.querySelector('main h1').textContent === 'Customer 09990'")
        self.whole(page)
        self.assertLess(max(one["bytes"] for one in page.traffic()), 200_000)
        self.assertEqual(asked[fleet].count("operations/forecast"), 2)
        self.assertEqual(asked[many], [one for one in asked[fleet] if one != "operations/forecast"])
        self.assertEqual(asked[fleet].count("operations/account-summary"), 1)

    def test_forecasts_begin_by_a_button_and_go_on_where_they_were_cancelled(self):
        type(self).server = the(many)
        page = self.signed_in("operator", "/overview")
        page.forget()
        self.open(page, "/operator/accounts")
        self.assertNotIn("operations/forecast", self.asked(page))
        page.click(page.named("button", "Forecast 10,000 accounts"))
        page.wait("Number(document.querySelector('.running progress')?.value) >= 0.01")
        page.click(page.named("button", "Cancel"))
        page.wait("!document.querySelector('.running')")
        self.assertTrue(all(self.forecasts(page)[one] for one in range(1, 21)))
        page.click(page.named("button", "Go on with the forecast"))
        page.wait("/Forecast: [1-9]\\d+ of 10,000/.test(document.querySelector('.running')?.textContent)")
        page.click(page.named("button", "Cancel"))
        page.quiet()
