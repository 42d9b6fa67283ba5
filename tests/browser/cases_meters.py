"""Meters: what the page says is what the API says; one meter by resource and by a dimension; its line in Billing."""
import json
from decimal import Decimal

from pages import ConsoleCase, axe
from pictures import Fixtures

ROWS = """return Object.fromEntries([...document.querySelectorAll('main tbody tr[data-meter]')].map(one => [one.dataset.meter,
    Object.fromEntries([...one.querySelectorAll('[data-field]')].map(cell => [cell.dataset.field, cell.dataset.value]))]))"""
GROUPS = """return Object.fromEntries([...document.querySelectorAll('main tbody tr[data-group]')].map(one => [one.dataset.group,
    one.querySelector('[data-field=value]').dataset.value]))"""


class Meters(ConsoleCase):
    served = Fixtures

    def used(self, meter, **query):
        text = "&".join(f"{name}={value}" for name, value in {"from": "2026-11-01", "to": "2026-12-01", "window": "MONTH", **query}.items())
        answer = self.server.get(f"/meters/{meter}/usage?{text}")
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()["data"]

    def test_meters_show_the_months_usage_and_money(self):
        page = self.signed_in("user", "/meters")
        shown = page.script(ROWS)
        self.assertEqual(sorted(shown), ["port", "script_requests", "storage"])
        for meter, row in shown.items():
            self.assertEqual(row["value"], self.used(meter)[0]["value"], meter)
        answer = self.server.get("/insights/why?field=charges&by=product&top=20&from=2026-11-01&to=2026-11-30"
                                 "&against_from=2026-10-01&against_to=2026-10-31").json()
        money = {part["key"][6:]: part["value"] for part in answer["parts"] if part["key"].startswith("meter:")}
        self.assertEqual({meter: row["charges"] for meter, row in shown.items()}, money)
        self.assertEqual([part["name"] for part in answer["parts"] if part["key"] == "meter:storage"], ["Storage"])
        self.assertEqual(axe(page), [])

    def test_a_meter_is_split_by_resource_and_dimension(self):
        page = self.signed_in("user", "/meters/storage?from=2026-11-01&to=2026-11-03&by=day")
        days = {"from": "2026-11-01", "to": "2026-11-04", "window": "DAY"}
        whole = sum(int(row["value"]) for row in self.used("storage", **days))
        self.assertEqual(page.script(GROUPS), {"": str(whole)})
        page.click(page.named("button", "By region"))
        self.whole(page)
        regions = {}
        for row in self.used("storage", **days, groupBy="region"):
            regions[row["dimensions"]["region"]] = regions.get(row["dimensions"]["region"], 0) + int(row["value"])
        self.assertEqual(page.script(GROUPS), {region: str(value) for region, value in regions.items()})
        self.assertIn("split=region", page.url())
        page.click(page.named("button", "By storage zone"))
        self.whole(page)
        self.assertEqual(sorted(page.script(GROUPS)), ["films", "films-us", "press"])
        self.assertIn("GB", page.text("main tbody"))
        self.assertEqual(axe(page), [])
        page.viewport(390)
        self.assertEqual(self.too_wide(page), [])

    def test_billing_and_an_invoice_have_meters_by_their_names(self):
        page = self.signed_in("user", "/billing")
        billing = json.loads(self.server.get("/billing").body, parse_float=Decimal)
        found = page.find("[data-field=MonthlyChargesStorage]")
        self.assertEqual(Decimal(page.script("return arguments[0].dataset.value", found)), billing["MonthlyChargesStorage"])
        self.open(page, "/billing/2026-000010")
        self.assertIn("Edge script requests", page.text("main"))
        self.assertIn("Transit port", page.text("main"))
        self.assertEqual(axe(page), [])
