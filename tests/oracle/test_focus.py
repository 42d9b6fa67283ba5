"""FOCUS 1.2 (FinOps Open Cost and Usage Specification): a table of its columns, of what may be null and
of the values that are allowed, over one document of every kind and over random ones.

Written from the specification. A column is (may it be null, the rule of its values): a rule takes the
cell and the row. "?" in the first place: the rule says it itself.
"""
import csv
import json
import random
import re
import sys
import unittest
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import script  # noqa: E402
import ubl_documents as made  # noqa: E402
import ubl_written  # noqa: E402

RANDOM = 4000 if script.LONG else 300
LABELS = {"env": "prod", "team": "ops"}
ZONE_LABELS = {101: {"team": "web"}, 104: {"<": "\"'"}}
KNOWN = ["account\tacme \"1\"\t" + json.dumps(LABELS)] + \
    [f"labels\t{zone}\t{json.dumps(labels)}" for zone, labels in ZONE_LABELS.items()]

SUBCATEGORIES = {"Content Delivery": "Networking", "Application Networking": "Networking",
                 "Other (Networking)": "Networking", "Other (Other)": "Other"}
UNITS = {"B", "GB", "Requests", "1000000 Requests", "Seconds", "Months", "Units", "Mbps", "GB-Months", "GB-Hours",
         "Licences", "Packs", "Charges"}


def number(cell, row=None):
    return re.fullmatch(r"-?(0|[1-9]\d*)(\.\d+)?", cell)


def price(cell, row):
    return number(cell) and Decimal(cell) >= 0


def moment(cell, row):
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", cell)


def words(cell, row):
    return cell.strip()


def among(*values):
    return lambda cell, row: cell in values


def priced(row):
    return row["ChargeCategory"] in ("Usage", "Purchase") and row["ChargeClass"] != "Correction"


def of_charges(rule):
    """Null for tax, not null for what is used or bought, free otherwise."""
    def check(cell, row):
        if row["ChargeCategory"] == "Tax":
            return not cell
        return rule(cell, row) if cell or priced(row) else True
    return check


def with_other(column, rule=words):
    """Null exactly where the other column is."""
    return lambda cell, row: bool(cell) == bool(row[column]) and (not cell or rule(cell, row))


def consumed(cell, row):
    if row["ChargeCategory"] != "Usage":
        return not cell
    return number(cell) if cell or row["ChargeClass"] != "Correction" else True


def frequency(cell, row):
    return cell in ("One-Time", "Recurring", "Usage-Based") and \
        not (cell == "Usage-Based" and row["ChargeCategory"] == "Purchase")


def product(cost, unit_price):
    def check(cell, row):
        if not row[unit_price] or row["ChargeClass"] == "Correction":
            return number(cell)
        return Decimal(row[unit_price]) * Decimal(row["PricingQuantity"]) == Decimal(cell)
    return check


def name_of_resource(cell, row):
    return not cell or (row["ResourceId"] and cell != row["ResourceId"])


def tags(cell, row):
    zone = row["ResourceId"].removeprefix("zone:")
    own = ZONE_LABELS.get(int(zone), {}) if zone.isdigit() else {}
    return json.loads(cell) == {**LABELS, **own}


COLUMNS = {
    "BilledCost": (False, number),
    "BillingAccountId": (False, words),
    "BillingAccountName": (False, among('acme "1"')),
    "BillingCurrency": (False, lambda c, row: re.fullmatch("[A-Z]{3}", c)),
    "BillingPeriodEnd": (False, moment),
    "BillingPeriodStart": (False, lambda c, row: moment(c, row) and c < row["BillingPeriodEnd"]),
    "ChargeCategory": (False, among("Usage", "Purchase", "Tax", "Credit", "Adjustment")),
    "ChargeClass": (True, among("Correction")),
    "ChargeDescription": (False, words),
    "ChargeFrequency": (False, frequency),
    "ChargePeriodEnd": (False, moment),
    "ChargePeriodStart": (False, lambda c, row: moment(c, row) and c < row["ChargePeriodEnd"]),
    "ConsumedQuantity": ("?", consumed),
    "ConsumedUnit": ("?", with_other("ConsumedQuantity", among("B", "Requests", "B-Seconds", "Licences", "Packs"))),
    "ContractedCost": (False, product("ContractedCost", "ContractedUnitPrice")),
    "ContractedUnitPrice": ("?", of_charges(price)),
    "EffectiveCost": (False, number),
    "InvoiceId": (False, words),  # the documents are issued
    "InvoiceIssuerName": (False, words),
    "ListCost": (False, product("ListCost", "ListUnitPrice")),
    "ListUnitPrice": ("?", of_charges(price)),
    "PricingCategory": ("?", of_charges(among("Standard"))),
    "PricingQuantity": ("?", of_charges(number)),
    "PricingUnit": ("?", with_other("PricingQuantity", lambda c, row: c in UNITS)),
    "ProviderName": (False, words),
    "PublisherName": (False, words),
    "RegionId": (True, words),
    "RegionName": ("?", with_other("RegionId")),
    "ResourceId": (True, lambda c, row: re.fullmatch(r"(zone|load_balancer):\d+|script:\w+", c)),
    "ResourceName": ("?", name_of_resource),
    "ResourceType": ("?", with_other("ResourceId")),
    "ServiceCategory": (False, among("Networking", "Other")),
    "ServiceName": (False, words),
    "ServiceSubcategory": (False, lambda c, row: SUBCATEGORIES[c] == row["ServiceCategory"]),
    "SkuId": ("?", of_charges(words)),
    "SkuMeter": ("?", with_other("SkuId")),
    "SkuPriceDetails": (True, lambda c, row: row["SkuPriceId"]),
    "SkuPriceId": ("?", of_charges(words)),
    "SubAccountId": (False, words),
    "SubAccountName": ("?", with_other("SubAccountId")),
    "Tags": (False, tags),
}


def holds(null, rule, cell, row):
    if not cell and null != "?":
        return null
    try:
        return rule(cell, row)
    except (ArithmeticError, LookupError, ValueError):  # another cell is not as it should be
        return False


def broken(row):
    return [f"{column}: {row[column]!r}" for column, (null, rule) in COLUMNS.items()
            if not holds(null, rule, row[column], row)]


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Focus(unittest.TestCase):
    maxDiff = None

    def rows(self, documents):
        """{name: its rows}"""
        with ubl_written.folder() as folder:
            refused = ubl_written.write([("focus", name, d) for name, d in documents.items()], folder,
                                        known=KNOWN)
            self.assertEqual(refused, {})
            return {name: read(Path(folder, f"{name}.csv")) for name in documents}

    def check(self, documents):
        for name, rows in self.rows(documents).items():
            document, found = documents[name], [b for row in rows for b in broken(row)]
            self.assertEqual(found, [], name)
            self.assertTrue(all(list(row) == list(COLUMNS) for row in rows), name)
            self.check_sums(name, document, rows)

    def check_sums(self, name, document, rows):
        def total(column, wanted):
            return sum(Decimal(r[column]) for r in rows if wanted(r))
        self.assertEqual(total("BilledCost", lambda r: True), Decimal(document["payable"]), name)
        self.assertEqual(total("BilledCost", lambda r: r["ChargeCategory"] == "Tax"),
                         sum(Decimal(t["amount"]) for t in document["tax"]), name)
        for line in document["lines"]:
            for share in line.get("shares", ()):
                mine = [r for r in rows if r["SkuId"] == "volume" and not r["ChargeClass"] and
                        r["ResourceId"] == f"zone:{share['zone']}"]
                if sum(n["kind"] == "volume" for n in document["lines"]) == 1:
                    self.assertEqual(sum(Decimal(r["BilledCost"]) for r in mine), Decimal(share["amount"]))
                    self.assertEqual(sum(Decimal(r["ConsumedQuantity"]) for r in mine),
                                     Decimal(share["bytes"]), name)

    def test_every_kind_of_document_keeps_the_rules(self):
        kinds = {**made.KINDS, **{k: f for k, (f, _) in made.REFUSED.items() if k not in ("draft", "no-seller")}}
        self.check({kind: make().made() for kind, make in kinds.items()})
        print(f"{len(kinds)} documents, {len(COLUMNS)} columns", flush=True)

    def test_random_documents_keep_them_too(self):
        chance = random.Random(script.random_seed())
        self.check({f"random-{i}": made.random_document(chance) for i in range(RANDOM)})

    def test_the_parties_are_the_sellers(self):
        rows = self.rows({"plain": made.plain_document().made(),
                          "unsold": made.plain_document(seller=None).made()})
        for column in ("InvoiceIssuerName", "ProviderName", "PublisherName"):
            self.assertEqual({r[column] for r in rows["plain"]}, {"Tollbook Netze GmbH"})
            self.assertEqual({r[column] for r in rows["unsold"]}, {"tollbook"})

    def test_tiers_of_shared_volume_have_their_prices(self):
        d = made.Document()
        d.volume({102: 700_000 * made.GB, 103: 400_001 * made.GB + 3})
        rows = [r for r in self.rows({"d": d.made()})["d"] if r["ChargeCategory"] == "Usage"]
        self.assertEqual([(r["ResourceId"], r["ContractedUnitPrice"]) for r in rows],
                         [(f"zone:{z}", p) for z in (102, 103) for p in ("0.005", "0.004", "0.003")])
        self.assertEqual(sum(Decimal(r["ContractedCost"]) for r in rows), Decimal(d.lines[0]["exact"]))
        for price_of_tier, tier in zip(("0.005", "0.004", "0.003"), d.lines[0]["tiers"]):
            self.assertEqual(sum(Decimal(r["ConsumedQuantity"]) for r in rows
                                 if r["ContractedUnitPrice"] == price_of_tier), Decimal(tier["units"]))

    def test_each_rule_finds_what_breaks_it(self):
        rows = self.rows({"all": made.corrections().made()})["all"]
        for column, (null, _) in COLUMNS.items():
            changed = [{**row, column: "?" if row[column] != "?" else "!"} for row in rows]
            emptied = [{**row, column: ""} for row in rows]
            found = [b for row in changed + emptied for b in broken(row)]
            self.assertTrue(found or column == "ResourceName", column)  # any name, or none


if __name__ == "__main__":
    unittest.main(verbosity=2)
