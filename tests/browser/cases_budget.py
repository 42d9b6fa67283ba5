"""Billing: twelve months and what the running one may come to; "will I exceed 500 USD, alert me" by mouse, touch and keys."""
import json
import re
from decimal import Decimal

from cases_keys import Steps
from pages import ConsoleCase, axe
from pictures import Fixtures


class Budget(ConsoleCase):
    served = Fixtures

    def tearDown(self):
        for one in self.alerts():
            self.server.ask("DELETE", f"/billing/alerts/{one['id']}", "admin")

    def alerts(self, key="admin", query=""):
        return self.server.get(f"/billing/alerts{query}", key).json()["alerts"]

    def probability(self, amount):
        return self.server.get(f"/billing/forecast?above={amount}").json()["above"][0]["probability"]

    def shown(self, page):
        """(amount, probability) once the server has said the one of the other."""
        page.wait("document.querySelector('.chance [data-field=probability]')")
        amount = page.script("return document.querySelector('.budget .amount').value")
        want = self.probability(amount)
        page.wait(f"document.querySelector('.chance [data-field=probability]')?.dataset.value === '{want}'"
                  f" && document.querySelector('.chance').textContent.includes('{Decimal(amount):,.2f}')", f"what the server says of {amount}")
        self.assertEqual(page.script("return document.querySelector('.budget-line').getAttribute('aria-valuenow')"), amount)
        return Decimal(amount), want

    def test_will_i_exceed_500_usd_alert_me(self):
        page = self.signed_in("admin", "/overview")
        steps = Steps(page)
        steps.click("link", "Billing")
        self.shown(page)
        steps.n += 1
        entry = page.find(".budget .amount")
        page.script("document.querySelector('.budget .amount').select()")
        page.type(entry, "500")
        page.keys("Enter")
        amount, probability = self.shown(page)
        self.assertEqual(amount, 500)
        self.assertLess(Decimal(probability), Decimal("0.05"))
        self.assertRegex(page.text(".chance"), r"^(less than 1|[0-4]) % likely to exceed 500\.00\sUSD this month$")
        steps.click("button", "Alert me")
        page.wait("document.querySelector('[data-alert=budget]')")
        self.assertLessEqual(steps.n, 3)
        self.assertEqual(self.alerts(), [{"id": "budget", "kind": "forecast", "above": "500", "probability": "0.5", "own": True, "raised": None, "seen": None}])
        self.assertIn("at least 50 % likely above 500.00", page.text("[data-alert=budget]"))
        self.assertIn("Messages about alerts are off", page.text(".budget"))

        page.click(page.named("button", "Change"))
        page.script("const one = document.querySelector('.budget-alert select'); one.value = '0.9'; document.querySelector('.budget .amount').select()")
        page.type(page.find(".budget .amount"), "1,250.50")
        page.click(page.named("button", "Change alert"))
        page.wait("document.querySelector('[data-alert=budget]')?.textContent.includes('1,250.50')")
        self.assertEqual([(one["above"], one["probability"]) for one in self.alerts()], [("1250.5", "0.9")])
        self.open(page, "/overview")
        self.open(page, "/billing")
        self.assertEqual(self.shown(page)[0], Decimal("1250.50"), "the line begins at the alert")
        page.click(page.named("button", "Remove: The month at least 90 % likely above 1,250.50\xa0USD"))
        page.wait("!document.querySelector('[data-alert]')")
        self.assertEqual(self.alerts(), [])
        told = self.operation("audit")["answer"]["entries"]
        self.assertEqual([one["operation"] for one in told if one["operation"].startswith("alert ")][-3:], ["alert set", "alert set", "alert drop"])
        self.assertEqual(axe(page), [])

    def test_the_line_is_dragged_by_mouse_touch_and_keys(self):
        page = self.signed_in("admin", "/billing")
        first, likely = self.shown(page)
        page.drag(page.find(".budget-line"), (0, 0), (0, 60))
        second, more = self.shown(page)
        self.assertLess(second, first)
        self.assertGreater(Decimal(more), Decimal(likely))
        box = page.script("const r = document.querySelector('.budget-line').getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2, r.height]")
        self.assertGreaterEqual(box[2], 44)
        for kind, at in (("touchStart", 0), ("touchMove", -10), ("touchMove", -30), ("touchEnd", None)):
            page.browser.cdp("Input.dispatchTouchEvent", type=kind, touchPoints=[] if at is None else [{"x": box[0], "y": box[1] + at}])
        third, _ = self.shown(page)
        self.assertGreater(third, second)
        page.script("document.querySelector('.budget-line').focus()")
        page.keys("Down")
        lower, _ = self.shown(page)
        page.keys("Up")
        self.assertEqual(self.shown(page)[0], third)
        self.assertLess(lower, third)
        self.assertEqual(lower % (third - lower), 0, "on round amounts")
        self.assertIn("likely to be exceeded", page.script("return document.querySelector('.budget-line').getAttribute('aria-valuetext')"))
        page.script("document.querySelector('.budget .amount').select()")
        page.type(page.find(".budget .amount"), "much")
        page.keys("Enter")
        self.assertIn("Write an amount such as 500.00", page.text(".chance"))

    def table(self, page):
        if page.script("return document.querySelector('[data-chart=months] .chart-table').hidden"):
            page.click("[data-chart=months] figcaption > button")
        page.wait("document.querySelector('[data-chart=months] .chart-table tbody tr')")
        return page.script("return [[...document.querySelectorAll('[data-chart=months] .chart-table th')].map(one => one.textContent.trim().replace(/ [↓↑]$/, '')),"
                           "...[...document.querySelectorAll('[data-chart=months] .chart-table tbody tr')].map(row => [...row.cells].map(one => one.textContent))]")

    def test_twelve_months_and_the_forecast_in_money(self):
        page = self.signed_in("user", "/billing")
        self.assertEqual(page.script("return [...document.querySelectorAll('.tiles.money .tile .name')].map(one => one.textContent)"), ["Due 15 Nov 2026", "This month so far", "At the month's end"])
        self.shown(page)
        head, *rows = self.table(page)
        totals = {one["month"]: one["total"] for one in self.server.get("/billing/invoices").json()["invoices"]}
        self.assertEqual(len(rows), 12)
        self.assertEqual([row[1] for row in rows], ["–"] + [f"{Decimal(totals[f'2026-{n:02}']):,.2f}\xa0USD" for n in range(1, 11)] + ["–"])
        gross = self.server.get("/billing/forecast").json()["money"]["gross"]
        self.assertEqual(rows[-1][3], f"{gross['p50']}\xa0USD ({gross['p5']}\xa0USD to {gross['p95']}\xa0USD)")
        every = self.operation("forecast", all=True)["answer"]["accounts"]
        self.assertEqual([one["money"]["gross"] for one in every if one["account"] == 3], [gross], "one forecast of a month")
        self.assertEqual(page.script("return performance.getEntriesByType('resource').filter(one => /invoices\\/20/.test(one.name)).length"), 0)
        page.click(page.named("button", "By zone"))
        page.wait("document.querySelector('[data-chart=months] .key')?.textContent === 'nordlicht-film'")
        self.whole(page)
        head, *rows = self.table(page)
        self.assertEqual(head[1:], ["nordlicht-film", "nordlicht-shop", "nordlicht-api", "nordlicht-press", "Fees and taxes", "at its end"])
        for row in rows[1:11]:
            self.assertAlmostEqual(float(sum(Decimal(re.sub(r"[^\d.]", "", cell) or "0") for cell in row[1:6])),
                                   float(totals[f"2026-{rows.index(row):02}"]), delta=0.05)
        self.assertIn("months=zones", page.url())
        self.assertEqual(axe(page), [])

    def test_who_sees_bills_sees_alerts_and_sets_none(self):
        self.server.ask("POST", "/billing/alerts", "operator", json.dumps({"account": 3, "id": "mine", "kind": "balance", "below": "-50"}).encode(),
                        Content_Type="application/json")
        for key in ("user", "billing"):
            page = self.signed_in(key, "/overview" if key == "user" else "/what-if")
            self.open(page, "/billing")
            self.shown(page)
            page.wait("document.querySelector('[data-alert=mine]')")
            self.assertIn("Balance below −50.00", page.text("[data-alert=mine]"))
            self.assertEqual(page.script("return [...document.querySelectorAll('.budget button')].filter(one => one.checkVisibility()).length"), 0)
            page.click(page.named("button", "Sign out"))

    def test_the_operator_sets_them_for_a_customer(self):
        page = self.signed_in("operator", "/billing?account=3")
        self.shown(page)
        page.click(page.named("button", "Alert me"))
        page.wait("document.querySelector('[data-alert=budget]')")
        self.assertEqual([one["id"] for one in self.alerts()], ["budget"])
        page.click(page.script("return document.querySelector('[data-alert=budget] button:last-of-type')"))
        page.wait("!document.querySelector('[data-alert]')")
        self.assertEqual(self.alerts(), [])
