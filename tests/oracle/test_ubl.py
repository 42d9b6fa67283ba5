"""Electronic invoices against the business rules and against the canonical invoice they come from:
one of every kind, and random ones. Sums are equal to the cent, each canonical line is the sum of its
rows, and the same input gives the same bytes.
"""
import random
import re
import resource
import sys
import unittest
from decimal import ROUND_FLOOR, Decimal
from pathlib import Path
from xml.etree import ElementTree

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import script  # noqa: E402
import ubl_documents as made  # noqa: E402
import ubl_rules  # noqa: E402
import ubl_written  # noqa: E402
from ubl_rules import TOTAL  # noqa: E402

LUMPS = ("discount", "commit", "minimum")  # on the document as a whole
RANDOM = 4000 if script.LONG else 300


def read(folder, name):
    return ubl_rules.Document(Path(folder, f"{name}.xml").read_bytes())


def sums(canonical, document):
    """What of the document does not equal the canonical invoice's."""
    sign = -1 if document.credit else 1
    charged = [n for n in canonical["lines"] if n["kind"] in LUMPS]
    pairs = {"TaxExclusiveAmount": "subtotal", "TaxInclusiveAmount": "total", "PayableAmount": "payable",
             "PrepaidAmount": "paid"}
    wrong = [ours for theirs, ours in pairs.items()
             if document.number(TOTAL + theirs, 0) * sign != Decimal(canonical[ours])]
    if document.number("TaxTotal/TaxAmount") * sign != sum(Decimal(t["amount"]) for t in canonical["tax"]):
        wrong.append("tax")
    rows = {}
    for line in document.lines:
        number = int(line.text("ID").split(".")[0])
        rows[number] = rows.get(number, 0) + line.number("LineExtensionAmount") * sign
    for line in canonical["lines"]:
        if line not in charged and rows.pop(line["line"], None) != Decimal(line["amount"]):
            wrong.append(f"line {line['line']}")
    charges = sum(c.number("Amount") for c in document.charges) - \
        sum(c.number("Amount") for c in document.allowances)
    if charges * sign != sum(Decimal(n["amount"]) for n in charged) or any(rows.values()):
        wrong.append("charges")
    return wrong


def quantities(canonical, document):
    """The units of a canonical line's rows are the line's, where they are counted at all."""
    places = {"E34": 10**9, "C62": 1, "DAY": 86400, "HUR": 3600, "SEC": 1}
    sign, found, wrong = -1 if document.credit else 1, {}, []
    for line in document.lines:
        number, unit = int(line.text("ID").split(".")[0]), line.unit(document.quantity)
        month = made.seconds_of(made.MONTH)
        found.setdefault(number, []).append(
            line.number(document.quantity) * sign * (month if unit == "MON" else places.get(unit, 1)))
    for line in canonical["lines"]:
        metered = line["kind"] in ("meter", "percentile")  # in units of the price, rounded
        credit = line["kind"] == "charge" and Decimal(line["amount"]) < 0  # minus one at a price above zero
        if not metered and line["kind"] not in (*LUMPS, "correction") and \
                sum(found[line["line"]]) != Decimal(line["quantity"]) * (-1 if credit else 1):
            wrong.append(f"line {line['line']}: {found[line['line']]} for {line['quantity']}")
    return wrong


class Documents(unittest.TestCase):
    maxDiff = None

    def check(self, documents):
        with ubl_written.folder() as folder:
            self.assertEqual(ubl_written.write(documents, folder), {})
            for profile, name, canonical in documents:
                document = read(folder, name)
                self.assertEqual(ubl_rules.broken(document, profile), [], name)
                self.assertEqual(sums(canonical, document), [], name)
                self.assertEqual(quantities(canonical, document), [], name)

    def test_one_of_every_kind_keeps_the_rules(self):
        documents = ubl_written.matrix(made.KINDS, made.ONLY)
        self.check(documents)
        print(f"{len(documents)} documents, {len(ubl_rules.RULES)} rules", flush=True)

    def test_a_discount_says_what_it_is_a_percentage_of(self):
        documents = [("peppol", name, made.KINDS[name]().made()) for name in ("contract", "contract-yen")]
        with ubl_written.folder() as folder:
            self.assertEqual(ubl_written.write(documents, folder), {})
            (euros,), (yen,) = (read(folder, name).allowances for _, name, _ in documents)
        lines = {n["kind"]: n for n in documents[0][2]["lines"]}
        self.assertEqual(euros.text("AllowanceChargeReasonCode"), "95")
        self.assertEqual(euros.number("MultiplierFactorNumeric"), 5)
        self.assertEqual(euros.number("Amount"), -Decimal(lines["discount"]["amount"]))
        self.assertEqual(euros.number("BaseAmount") * 100, Decimal(lines["discount"]["tiers"][0]["to"]))
        self.assertFalse(yen.has("BaseAmount"))  # whole yen lie too far from the percentage

    def test_random_documents_keep_them_too(self):
        seed = script.random_seed()
        chance = random.Random(seed)
        self.check([(chance.choice(ubl_written.PROFILES), f"random-{i}", made.random_document(chance))
                    for i in range(RANDOM)])

    def test_what_cannot_be_written_is_refused_by_its_field(self):
        documents = ubl_written.matrix({kind: make for kind, (make, _) in made.REFUSED.items()})
        with ubl_written.folder() as folder:
            refused = ubl_written.write(documents, folder)
            self.assertEqual(list(Path(folder).iterdir()), [])
        for kind, (_, field) in made.REFUSED.items():
            for profile in ubl_written.PROFILES:
                self.assertEqual(refused[f"{kind}.{profile}"][0], field)
        self.assertIn("Account 1 lacks buyer.country (BT-55).", refused["no-country.peppol"][1])
        self.assertIn("BT-5", refused["three-decimals.peppol"][1])
        self.assertRegex(refused["no-seller.xrechnung"][1], r"seller\.name \(BT-27\) and \d+ more\.")

    def test_each_rule_can_be_broken(self):
        """Without any one of its texts a document breaks a rule, but for those that no rule asks for."""
        with ubl_written.folder() as folder:
            ubl_written.write([("xrechnung", "all", made.everything(paid="1.00").made())], folder)
            text = Path(folder, "all.xml").read_text()
        free = re.compile("Note|Street|PartyName|BIC|PaymentID|Description|SellersItem|CompanyLegalForm"
                          "|ProfileID|DueDate|FinancialInstitution|Percent")
        for match in re.finditer(r"<(cbc:\w+)[^>]*>([^<]*)</", text):
            changed = text[:match.start(2)] + text[match.end(2):]
            document = ubl_rules.Document(changed.encode())
            found = ubl_rules.broken(document, "xrechnung")
            self.assertTrue(found or free.search(match.group(1)), match.group())

    def test_amounts_that_differ_by_a_cent_are_found(self):
        with ubl_written.folder() as folder:
            canonical = made.everything(paid="1.00").made()
            ubl_written.write([("peppol", "all", canonical)], folder)
            text = Path(folder, "all.xml").read_text()
        for match in re.finditer(r'<cbc:(\w+Amount) currencyID="EUR">([\d.]+)<', text):
            if match.group(1) in ("PriceAmount", "BaseAmount", "Amount"):
                continue
            cent = str(Decimal(match.group(2)) + Decimal("0.01"))
            document = ubl_rules.Document((text[:match.start(2)] + cent + text[match.end(2):]).encode())
            self.assertTrue(ubl_rules.broken(document, "peppol") or sums(canonical, document), match.group())

    def test_texts_are_what_xml_can_hold(self):
        with ubl_written.folder() as folder:
            ubl_written.write([("peppol", "hostile", made.KINDS["hostile"]().made())], folder)
            document = read(folder, "hostile")
        texts = [e.text for e in document.element.iter() if e.text and e.text.strip()]
        self.assertFalse([t for t in texts if re.search("[\x00-\x1f\x7f\ufffe]", t.replace("\n", ""))])
        names = [n.text("Item/Name") for n in document.lines]
        self.assertIn("Bandwidth at its own price, bell here", names)
        note = next(n.text("Note") for n in document.lines if n.text("Note"))
        self.assertIn("<script>alert(\"&'\")</script>: 0.000000005 GB", note)
        self.assertIn("مرحبا بالعالم", note)
        seller = document.text(f"{ubl_rules.SELLER}/PartyLegalEntity/RegistrationName")
        self.assertTrue(seller.startswith("]]><!-- &amp; <b>\"'"), seller)
        self.assertFalse(document.has(f"{ubl_rules.SELLER}/PostalAddress/StreetName"))

    def test_quantities_are_those_that_people_use(self):
        with ubl_written.folder() as folder:
            ubl_written.write([("peppol", "all", made.everything().made())], folder)
            document = read(folder, "all")
        shown = {n.text("ID"): (n.text(document.quantity), n.unit(document.quantity),
                                n.text("Price/PriceAmount"), n.text("Price/BaseQuantity"))
                 for n in document.lines}
        self.assertEqual(shown["1"], ("18.234567891", "E34", "0.01", "1"))
        self.assertEqual(shown["5"], ("17", "DAY", "9.5", "31"))
        self.assertEqual(shown["6"], ("1", "MON", "9.5", "1"))
        self.assertEqual(shown["7.1"], ("1500001", "C62", "0.65", "1000000"))
        self.assertEqual(shown["7.2"], ("50000000", "C62", "0", "1000000"))

    def test_tiers_share_their_line_by_largest_remainder(self):
        canonical = made.many_prices().made()
        line = canonical["lines"][0]
        exact = [Decimal(t["amount"]) for t in line["tiers"]]
        self.assertEqual(sum(exact), Decimal(line["exact"]))
        wanted = [e.quantize(Decimal("0.01"), ROUND_FLOOR) for e in exact]
        left = int((Decimal(line["amount"]) - sum(wanted)) * 100)
        self.assertGreater(left, 10)
        for i in sorted(range(len(exact)), key=lambda i: (wanted[i] - exact[i], i))[:left]:
            wanted[i] += Decimal("0.01")
        with ubl_written.folder() as folder:
            ubl_written.write([("peppol", "many", canonical)], folder)
            document = read(folder, "many")
        self.assertEqual([n.number("LineExtensionAmount") for n in document.lines], wanted)

    def test_credit_notes_and_corrections_say_what_they_correct(self):
        kinds = {k: made.KINDS[k] for k in ("credit-note", "negative-invoice", "replacement", "corrections")}
        with ubl_written.folder() as folder:
            ubl_written.write(ubl_written.matrix(kinds), folder)
            documents = {kind: read(folder, f"{kind}.peppol") for kind in kinds}
        references = {kind: [n.text("InvoiceDocumentReference/ID") for n in d.all("BillingReference")]
                      for kind, d in documents.items()}
        self.assertEqual(references, {"credit-note": ["2026-000044"], "negative-invoice": ["2026-000044"],
                                      "replacement": ["2026-000120"],
                                      "corrections": ["2026-000044", "2026-000088"]})
        self.assertEqual({k for k, d in documents.items() if d.credit}, {"credit-note", "negative-invoice"})
        corrected = documents["corrections"]
        self.assertEqual(corrected.text("InvoicePeriod/StartDate"), "2026-08-01")
        self.assertEqual(corrected.text("InvoicePeriod/EndDate"), "2026-10-31")
        negative = [n for n in corrected.lines if n.number("InvoicedQuantity") < 0]
        self.assertEqual([n.text("InvoicePeriod/StartDate") for n in negative],
                         ["2026-08-01", "2026-09-01", "2026-09-01"])

    def test_the_same_input_gives_the_same_bytes(self):
        documents = ubl_written.matrix({k: made.KINDS[k] for k in ("everything", "corrections")})
        written = []
        for times in (1, 3):
            with ubl_written.folder() as folder:
                ubl_written.write(documents, folder, times)
                written.append([p.read_bytes() for p in sorted(Path(folder).iterdir())])
        self.assertEqual(*written)

    def test_writing_is_quick(self):
        """Ten thousand take a minute at most: 6 ms of processor each. Told, not asserted."""
        document = [("peppol", "all", made.everything().made())]
        with ubl_written.folder() as folder:
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            ubl_written.write(document, folder, 1000)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"1000 documents: {spent:.2f} s of processor", flush=True)

    def test_elements_are_in_the_schemas_order(self):
        with ubl_written.folder() as folder:
            ubl_written.write(ubl_written.matrix(made.KINDS), folder)
            for path in sorted(Path(folder).iterdir()):
                root = ElementTree.parse(path).getroot()
                order = [e.tag.split("}")[1] for e in root]
                wanted = [n for n in ORDER if n in order]
                self.assertEqual(list(dict.fromkeys(order)), wanted, path.name)


ORDER = ["CustomizationID", "ProfileID", "ID", "IssueDate", "DueDate", "InvoiceTypeCode",
         "CreditNoteTypeCode", "Note", "DocumentCurrencyCode", "TaxCurrencyCode", "BuyerReference",
         "InvoicePeriod", "BillingReference", "AccountingSupplierParty", "AccountingCustomerParty",
         "Delivery", "PaymentMeans", "PaymentTerms", "AllowanceCharge", "TaxTotal", "LegalMonetaryTotal",
         "InvoiceLine", "CreditNoteLine"]

if __name__ == "__main__":
    unittest.main(verbosity=2)
