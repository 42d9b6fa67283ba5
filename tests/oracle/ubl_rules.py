"""The business rules of EN 16931 that matter here, and those of Peppol about lines and periods, as a
table over a parsed document. Written from the norm's wording; the official stylesheets are another
test's. Amounts are Decimal. A rule is a function of the document that is true where it holds.
"""
import re
from decimal import Decimal
from xml.etree import ElementTree

CAC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonAggregateComponents-2}"
CBC = "{urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2}"
UNITS = {"E34", "C62", "MON", "DAY", "HUR", "SEC", "EA", "XPK"}
CATEGORIES = {"S", "Z", "E", "AE", "K", "G", "O"}
SELLER, BUYER = "AccountingSupplierParty/Party", "AccountingCustomerParty/Party"
TOTAL = "LegalMonetaryTotal/"
# Aggregates, by their names; every other element is a basic one.
AGGREGATES = {"AccountingSupplierParty", "AccountingCustomerParty", "Party", "PartyName", "PostalAddress",
              "Country", "PartyTaxScheme", "TaxScheme", "PartyLegalEntity", "Contact", "Delivery",
              "DeliveryLocation", "Address", "PaymentMeans", "PayeeFinancialAccount", "PaymentTerms",
              "FinancialInstitutionBranch", "AllowanceCharge", "TaxCategory", "TaxTotal", "TaxSubtotal",
              "LegalMonetaryTotal", "InvoiceLine", "CreditNoteLine", "Item", "Price", "InvoicePeriod",
              "BillingReference", "InvoiceDocumentReference", "ClassifiedTaxCategory",
              "SellersItemIdentification"}


def path_of(path):
    return "/".join((CAC if step in AGGREGATES else CBC) + step for step in path.split("/"))


class Node:
    """An element, its parts by their names without prefixes: "TaxTotal/TaxAmount"."""

    def __init__(self, element):
        self.element = element

    def all(self, path):
        return [Node(e) for e in self.element.findall(path_of(path))]

    def text(self, path):
        found = self.element.find(path_of(path))
        return None if found is None else found.text

    def has(self, path):
        return bool((self.text(path) or "").strip())

    def number(self, path, default=None):
        text = self.text(path)
        return Decimal(default) if text is None else Decimal(text)

    def unit(self, path):
        return self.element.find(path_of(path)).get("unitCode")


class Document(Node):
    def __init__(self, data):
        super().__init__(ElementTree.fromstring(data))
        self.credit = self.element.tag.endswith("CreditNote")
        self.lines = self.all("CreditNoteLine" if self.credit else "InvoiceLine")
        self.quantity = "CreditedQuantity" if self.credit else "InvoicedQuantity"
        self.currency = self.text("DocumentCurrencyCode")
        self.charges = [c for c in self.all("AllowanceCharge") if c.text("ChargeIndicator") == "true"]
        self.allowances = [c for c in self.all("AllowanceCharge") if c.text("ChargeIndicator") != "true"]
        self.breakdown = self.all("TaxTotal/TaxSubtotal")

    def categories(self):
        """(category, percent) of each line, charge and allowance."""
        return [(n.text("ID"), n.text("Percent")) for line in self.lines
                for n in line.all("Item/ClassifiedTaxCategory")] + \
               [(n.text("ID"), n.text("Percent")) for c in self.all("AllowanceCharge")
                for n in c.all("TaxCategory")]

    def vat(self, side):
        return [n.text("CompanyID") for n in self.all(f"{side}/PartyTaxScheme")
                if n.text("TaxScheme/ID") == "VAT"]

    def tax_ids(self, side):
        return [n.text("CompanyID") for n in self.all(f"{side}/PartyTaxScheme")]


def amounts(document):
    """Every amount but prices and their discounts."""
    prices = {id(e) for price in document.element.iter(f"{CAC}Price") for e in price.iter()}
    return [e for e in document.element.iter()
            if e.get("currencyID") and id(e) not in prices]


def two_decimals(document):
    return all(re.fullmatch(r"-?\d+(\.\d{1,2})?", e.text) for e in amounts(document))


def total(nodes, path):
    return sum((n.number(path) for n in nodes), Decimal(0))


def each(nodes, *paths):
    return all(n.has(p) for n in nodes for p in paths)


def categorized(d, category):
    return any(c == category for c, _ in d.categories())


def of(category, test):
    """A rule for documents with this category."""
    return lambda d: not categorized(d, category) or test(d)


def rates(category, wanted):
    return lambda d: all(wanted(p) for c, p in d.categories() if c == category)


def groups(d, category):
    return [b for b in d.breakdown if b.text("TaxCategory/ID") == category]


def one_breakdown(category):
    """Of the standard rate one for each percent, of others one; what is not subject to VAT stands alone."""
    return of(category, lambda d: groups(d, category) and
              len({b.text("TaxCategory/Percent") for b in groups(d, category)}) == len(groups(d, category)) and
              (category == "S" or len(groups(d, category)) == 1) and (category != "O" or len(d.breakdown) == 1))


def base(d, category, percent):
    """What the lines and charges of a category and percent come to."""
    def in_it(nodes, path):
        return [n for n in nodes for c in n.all(path) if c.text("ID") == category and
                (category == "O" or c.number("Percent") == percent)]
    return total(in_it(d.lines, "Item/ClassifiedTaxCategory"), "LineExtensionAmount") + \
        total(in_it(d.charges, "TaxCategory"), "Amount") - total(in_it(d.allowances, "TaxCategory"), "Amount")


def taxable(category):
    return of(category, lambda d: all(
        b.number("TaxableAmount") == base(d, category, b.number("TaxCategory/Percent", 0)) for b in groups(d, category)))


def untaxed(category):
    return of(category, lambda d: all(b.number("TaxAmount") == 0 for b in groups(d, category)))


def is_reasoned(b):
    return b.has("TaxCategory/TaxExemptionReason") or b.has("TaxCategory/TaxExemptionReasonCode")


def reasoned(category):
    return of(category, lambda d: all(map(is_reasoned, groups(d, category))))


def unreasoned(category):
    return of(category, lambda d: not any(map(is_reasoned, groups(d, category))))


def rate_is_zero(text):
    return text is not None and Decimal(text) == 0


def tax_of_base(d):
    """As the norm's own check has it: less than 1 apart."""
    return all(abs(round(b.number("TaxableAmount") * b.number("TaxCategory/Percent", 0) / 100, 2) -
                   b.number("TaxAmount")) < 1 for b in d.breakdown)


def line_agrees(d):
    for line in d.lines:
        price = line.number("Price/PriceAmount") / line.number("Price/BaseQuantity", 1)
        if abs(line.number(d.quantity) * price - line.number("LineExtensionAmount")) > Decimal("0.02"):
            return False
    return True


def within(d):
    first, last = d.text("InvoicePeriod/StartDate"), d.text("InvoicePeriod/EndDate")
    return all(first <= p.text("StartDate") <= p.text("EndDate") <= last
               for line in d.lines for p in line.all("InvoicePeriod"))


def gross_agrees(d):
    for line in d.lines:
        for a in line.all("Price/AllowanceCharge"):
            if line.number("Price/PriceAmount") != a.number("BaseAmount") - a.number("Amount"):
                return False
    return True


def currencies(d):
    other = d.text("TaxCurrencyCode")
    ours = {e.get("currencyID") for e in d.element.iter() if e.get("currencyID")}
    return ours <= {d.currency, other} and other != d.currency


def other_tax(d):
    """One total of the tax in each of the two currencies; the second without a breakdown."""
    totals = d.all("TaxTotal")
    found = [n.element.find(path_of("TaxAmount")).get("currencyID") for n in totals]
    other = d.text("TaxCurrencyCode")
    return found == [d.currency] + ([other] if other else []) and \
        [len(n.all("TaxSubtotal")) for n in totals[1:]] == [0] * (len(totals) - 1) and \
        (len(totals) < 2 or (totals[0].number("TaxAmount") < 0) == (totals[1].number("TaxAmount") < 0))


def no_empty(d):
    return all(list(e) or (e.text or "").strip() for e in d.element.iter())


def unique(values):
    return len(set(values)) == len(values)


VAT_PREFIX = re.compile(r"[A-Z]{2}.+")

def percent_agrees(d):
    """Within 0.02, as the norm's own programs ask."""
    return all(abs(a.number("BaseAmount") * a.number("MultiplierFactorNumeric") / 100 - a.number("Amount")) <= Decimal("0.02")
               for a in d.allowances + d.charges if a.has("BaseAmount"))


RULES = {
    "BR-01": lambda d: d.has("CustomizationID"),
    "BR-02": lambda d: d.has("ID"),
    "BR-03": lambda d: re.fullmatch(r"\d{4}-\d\d-\d\d", d.text("IssueDate") or ""),
    "BR-04": lambda d: d.text("CreditNoteTypeCode" if d.credit else "InvoiceTypeCode") ==
    ("381" if d.credit else "380"),
    "BR-05": lambda d: re.fullmatch("[A-Z]{3}", d.currency or ""),
    "BR-06": lambda d: d.has(f"{SELLER}/PartyLegalEntity/RegistrationName"),
    "BR-07": lambda d: d.has(f"{BUYER}/PartyLegalEntity/RegistrationName"),
    "BR-08": lambda d: len(d.all(f"{SELLER}/PostalAddress")) == 1,
    "BR-09": lambda d: d.has(f"{SELLER}/PostalAddress/Country/IdentificationCode"),
    "BR-10": lambda d: len(d.all(f"{BUYER}/PostalAddress")) == 1,
    "BR-11": lambda d: d.has(f"{BUYER}/PostalAddress/Country/IdentificationCode"),
    "BR-12": lambda d: d.has(f"{TOTAL}LineExtensionAmount"),
    "BR-13": lambda d: d.has(f"{TOTAL}TaxExclusiveAmount"),
    "BR-14": lambda d: d.has(f"{TOTAL}TaxInclusiveAmount"),
    "BR-15": lambda d: d.has(f"{TOTAL}PayableAmount"),
    "BR-16": lambda d: d.lines,
    "BR-21": lambda d: each(d.lines, "ID") and unique([n.text("ID") for n in d.lines]),
    "BR-22": lambda d: each(d.lines, d.quantity),
    "BR-23": lambda d: all(n.unit(d.quantity) in UNITS for n in d.lines),
    "BR-24": lambda d: each(d.lines, "LineExtensionAmount"),
    "BR-25": lambda d: each(d.lines, "Item/Name"),
    "BR-26": lambda d: each(d.lines, "Price/PriceAmount"),
    "BR-27": lambda d: all(n.number("Price/PriceAmount") >= 0 for n in d.lines),
    "BR-28": lambda d: all(a.number("BaseAmount") >= 0 for n in d.lines
                           for a in n.all("Price/AllowanceCharge")),
    "BR-29": lambda d: d.text("InvoicePeriod/StartDate") <= d.text("InvoicePeriod/EndDate"),
    "BR-30": lambda d: all(p.text("StartDate") <= p.text("EndDate") for n in d.lines
                           for p in n.all("InvoicePeriod")),
    "BR-31": lambda d: each(d.allowances, "Amount"),
    "BR-32": lambda d: each(d.allowances, "TaxCategory/ID"),
    "BR-33": lambda d: each(d.allowances, "AllowanceChargeReason"),
    "BR-36": lambda d: each(d.charges, "Amount"),
    "BR-37": lambda d: each(d.charges, "TaxCategory/ID"),
    "BR-38": lambda d: each(d.charges, "AllowanceChargeReason"),
    "BR-45": lambda d: each(d.breakdown, "TaxableAmount"),
    "BR-46": lambda d: each(d.breakdown, "TaxAmount"),
    "BR-47": lambda d: all(b.text("TaxCategory/ID") in CATEGORIES for b in d.breakdown),
    "BR-48": lambda d: each(d.breakdown, "TaxCategory/Percent"),
    "BR-49": lambda d: each(d.all("PaymentMeans"), "PaymentMeansCode"),
    "BR-50": lambda d: each(d.all("PaymentMeans/PayeeFinancialAccount"), "ID"),
    "BR-53": lambda d: other_tax(d),
    "BR-55": lambda d: each(d.all("BillingReference"), "InvoiceDocumentReference/ID"),
    "BR-57": lambda d: each(d.all("Delivery/DeliveryLocation/Address"), "Country/IdentificationCode"),
    "BR-61": lambda d: all(m.has("PayeeFinancialAccount/ID") for m in d.all("PaymentMeans")
                           if m.text("PaymentMeansCode") in ("30", "58")),
    "BR-62": lambda d: all(e.get("schemeID") for e in d.element.iter(f"{CBC}EndpointID")),
    "BR-CO-03": lambda d: not d.has("TaxPointDate"),
    "BR-CO-04": lambda d: each(d.lines, "Item/ClassifiedTaxCategory/ID"),
    "BR-CO-09": lambda d: all(VAT_PREFIX.fullmatch(v) for v in d.vat(SELLER) + d.vat(BUYER)),
    "BR-CO-10": lambda d: d.number(f"{TOTAL}LineExtensionAmount") == total(d.lines, "LineExtensionAmount"),
    "BR-CO-11": lambda d: d.number(f"{TOTAL}AllowanceTotalAmount", 0) == total(d.allowances, "Amount"),
    "BR-CO-12": lambda d: d.number(f"{TOTAL}ChargeTotalAmount", 0) == total(d.charges, "Amount"),
    "BR-CO-13": lambda d: d.number(f"{TOTAL}TaxExclusiveAmount") ==
    d.number(f"{TOTAL}LineExtensionAmount") - d.number(f"{TOTAL}AllowanceTotalAmount", 0) +
    d.number(f"{TOTAL}ChargeTotalAmount", 0),
    "BR-CO-14": lambda d: d.number("TaxTotal/TaxAmount") == total(d.breakdown, "TaxAmount"),
    "BR-CO-15": lambda d: d.number(f"{TOTAL}TaxInclusiveAmount") ==
    d.number(f"{TOTAL}TaxExclusiveAmount") + d.number("TaxTotal/TaxAmount"),
    "BR-CO-16": lambda d: d.number(f"{TOTAL}PayableAmount") ==
    d.number(f"{TOTAL}TaxInclusiveAmount") - d.number(f"{TOTAL}PrepaidAmount", 0),
    "BR-CO-17": tax_of_base,
    "BR-CO-18": lambda d: d.breakdown,
    "BR-CO-25": lambda d: d.number(f"{TOTAL}PayableAmount") <= 0 or d.has("DueDate") or
    d.has("PaymentTerms/Note"),
    "BR-CO-26": lambda d: d.vat(SELLER) or d.has(f"{SELLER}/PartyLegalEntity/CompanyID"),
    "BR-DEC": two_decimals,
    "BR-S-01": one_breakdown("S"), "BR-Z-01": one_breakdown("Z"), "BR-E-01": one_breakdown("E"),
    "BR-AE-01": one_breakdown("AE"), "BR-G-01": one_breakdown("G"), "BR-IC-01": one_breakdown("K"),
    "BR-O-01": one_breakdown("O"),
    **{f"BR-{name}-02": of(name, lambda d: d.tax_ids(SELLER)) for name in "SZE"},
    "BR-AE-02": of("AE", lambda d: d.vat(SELLER) and
                   (d.vat(BUYER) or d.has(f"{BUYER}/PartyLegalEntity/CompanyID"))),
    "BR-G-02": of("G", lambda d: d.vat(SELLER)),
    "BR-IC-02": of("K", lambda d: d.vat(SELLER) and d.vat(BUYER)),
    "BR-O-02": of("O", lambda d: not d.vat(SELLER) and not d.vat(BUYER)),
    "BR-S-05": rates("S", lambda p: p is not None and Decimal(p) > 0),
    **{f"BR-{rule}-05": rates(name, rate_is_zero)
       for rule, name in (("Z", "Z"), ("E", "E"), ("AE", "AE"), ("G", "G"), ("IC", "K"))},
    "BR-O-05": rates("O", lambda p: p is None),
    **{f"BR-{rule}-08": taxable(name) for rule, name in
       (("S", "S"), ("Z", "Z"), ("E", "E"), ("AE", "AE"), ("G", "G"), ("IC", "K"), ("O", "O"))},
    **{f"BR-{rule}-09": untaxed(name) for rule, name in
       (("Z", "Z"), ("E", "E"), ("AE", "AE"), ("G", "G"), ("IC", "K"), ("O", "O"))},
    **{f"BR-{rule}-10": reasoned(name) for rule, name in
       (("E", "E"), ("AE", "AE"), ("G", "G"), ("IC", "K"), ("O", "O"))},
    "BR-S-10": unreasoned("S"), "BR-Z-10": unreasoned("Z"),
    "BR-IC-11": of("K", lambda d: d.has("InvoicePeriod/StartDate")),
    "BR-IC-12": of("K", lambda d: d.has("Delivery/DeliveryLocation/Address/Country/IdentificationCode")),
    "PEPPOL-R003": lambda d: d.has("BuyerReference"),
    "PEPPOL-R008": no_empty,
    "PEPPOL-R040": percent_agrees,
    "PEPPOL-R041": lambda d: all(a.has("BaseAmount") == a.has("MultiplierFactorNumeric")
                                 for a in d.allowances + d.charges),
    "PEPPOL-R046": gross_agrees,
    "PEPPOL-R051": currencies,
    "PEPPOL-R110": within,
    "PEPPOL-R120": line_agrees,
    "PEPPOL-R121": lambda d: all(n.number("Price/BaseQuantity", 1) > 0 for n in d.lines),
    "PEPPOL-R130": lambda d: all(n.unit("Price/BaseQuantity") == n.unit(d.quantity) for n in d.lines),
}

PROFILE_RULES = {
    "peppol": {
        "PEPPOL-R010": lambda d: d.has(f"{BUYER}/EndpointID"),
        "PEPPOL-R020": lambda d: d.has(f"{SELLER}/EndpointID"),
        "PEPPOL-R004": lambda d: d.text("CustomizationID").endswith("poacc:billing:3.0"),
    },
    "xrechnung": {
        "BR-DE-1": lambda d: d.all("PaymentMeans"),
        "BR-DE-2": lambda d: d.all(f"{SELLER}/Contact"),
        "BR-DE-3": lambda d: d.has(f"{SELLER}/PostalAddress/CityName"),
        "BR-DE-4": lambda d: d.has(f"{SELLER}/PostalAddress/PostalZone"),
        "BR-DE-5": lambda d: d.has(f"{SELLER}/Contact/Name"),
        "BR-DE-6": lambda d: d.has(f"{SELLER}/Contact/Telephone"),
        "BR-DE-7": lambda d: d.has(f"{SELLER}/Contact/ElectronicMail"),
        "BR-DE-8": lambda d: d.has(f"{BUYER}/PostalAddress/CityName"),
        "BR-DE-9": lambda d: d.has(f"{BUYER}/PostalAddress/PostalZone"),
        "BR-DE-10": lambda d: each(d.all("Delivery/DeliveryLocation/Address"), "CityName", "PostalZone"),
        "BR-DE-14": lambda d: each(d.breakdown, "TaxCategory/Percent"),
        "BR-DE-15": lambda d: d.has("BuyerReference"),
        "BR-DE-21": lambda d: d.text("CustomizationID").endswith("xrechnung_3.0"),
    },
}


def holds(rule, document):
    try:
        return rule(document)
    except (TypeError, AttributeError, ArithmeticError):  # what it asks for is not there
        return False


def broken(document, profile):
    return [name for name, rule in {**RULES, **PROFILE_RULES[profile]}.items()
            if not holds(rule, document)]
