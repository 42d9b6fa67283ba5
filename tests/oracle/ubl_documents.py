"""Canonical invoices made for the tests of electronic invoices: one of every kind that tollbook can
make, and random ones. Money is Decimal; nothing here knows the engine's code.

A document is a dict as canonical JSON has it. Its hashes are zeros: reading does not refuse them.
"""
import json
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

import decimal
decimal.getcontext().prec = 120

MONTH = (2026, 10)
MINOR = {"JPY": 0, "KWD": 3}
UNITS = {"bandwidth": "byte", "volume": "byte", "override": "byte", "optimizer": "second",
         "balancer_fee": "second", "balancer_requests": "request", "minimum": "month",
         "discount": "month", "commit": "month", "correction": "byte", "percentile": "byte"}
ZEROS = "0" * 64

SELLER = {"name": "Tollbook Netze GmbH", "street": "Am Kanal 1", "city": "Berlin",
          "postal_code": "10115", "country": "DE", "vat_id": "DE123456789", "tax_id": "12/345/67890",
          "registration_id": "HRB 12345", "legal_info": "Amtsgericht Charlottenburg",
          "trading_name": "Tollbook", "endpoint": {"scheme": "9930", "id": "DE123456789"},
          "contact": {"name": "Billing", "phone": "+49 30 1234567", "email": "billing@seller.example"},
          "payment": {"iban": "DE02120300000000202051", "bic": "BYLADEM1001",
                      "account_name": "Tollbook Netze GmbH"},
          "note": "Thank you."}
BUYER = {"name": "Acheteur SA", "street": "1 rue de la Paix", "city": "Paris", "postal_code": "75002",
         "country": "FR", "vat_id": "FR40303265045", "reference": "PO-4711",
         "endpoint": {"scheme": "9957", "id": "FR40303265045"},
         "contact": {"email": "invoices@buyer.example"}}


def plain(value):
    """Decimal text without zeros at its end."""
    value = Decimal(value)
    text = format(value, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def rounded(value, digits):
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def month_after(month, n=1):
    count = month[0] * 12 + month[1] - 1 + n
    return count // 12, count % 12 + 1


def start_of(month):
    return f"{month[0]:04}-{month[1]:02}-01T00:00:00Z"


def seconds_of(month):
    import datetime
    first, last = (datetime.date(*m, 1) for m in (month, month_after(month)))
    return (last - first).days * 86400


def period(month):
    return {"start": start_of(month), "end": start_of(month_after(month))}


def allocate(total, weights, digits):
    """The total in minor units by largest remainder of the weights' shares."""
    unit = Decimal(1).scaleb(-digits)
    exact = [Decimal(w) * total / sum(weights) for w in weights]
    given = [e.quantize(unit, ROUND_FLOOR) for e in exact]
    for _ in range(int((total - sum(given)) / unit)):
        i = max(range(len(exact)), key=lambda k: exact[k] - given[k])
        given[i] += unit
    return given


class Document:
    """A statement that is being put together."""

    def __init__(self, currency="EUR", tax=("VAT", "19"), month=MONTH, late=None, **more):
        """late: by month, the tax on its corrections, what was charged of it before, and units more of this one."""
        self.currency, self.month, self.late, self.more = currency, month, late or {}, more
        self.digits = MINOR.get(currency, 2)
        self.tax = tax
        self.lines = []
        self.seller, self.buyer = json.loads(json.dumps(SELLER)), json.loads(json.dumps(BUYER))

    # --- lines ---

    def line(self, kind, resource, quantity, tiers, region=None, amount=None, exact=None, **more):
        """tiers: (from, to, price per unit, list price, amount)."""
        made = [{"from": plain(a), "to": plain(b), "units": plain(Decimal(b) - Decimal(a)),
                 "price": plain(p), "list_price": plain(shown), "amount": plain(money), "part": 0}
                for a, b, p, shown, money in tiers]
        exact = sum((Decimal(t["amount"]) for t in made), Decimal(0)) if exact is None else Decimal(exact)
        amount = rounded(exact, self.digits) if amount is None else Decimal(amount)
        line = {"line": len(self.lines) + 1, "kind": kind, "resource": resource, "region": region,
                "quantity": plain(quantity), "unit": UNITS.get(kind), "tiers": made,
                "exact": plain(exact), "amount": f"{amount:.{self.digits}f}", "evidence": None}
        line.update(more)
        self.lines.append(line)
        return line

    def bandwidth(self, zone, region, amount_of_bytes, per_gb="0.01", discount=0):
        price = Decimal(per_gb) / 10**9 * (100 - discount) / 100
        return self.line("bandwidth", f"zone:{zone}", amount_of_bytes,
                         [(0, amount_of_bytes, price, per_gb, price * amount_of_bytes)], region)

    def override(self, zone, amount_of_bytes, price):
        price = Decimal(price)
        return self.line("override", f"zone:{zone}", amount_of_bytes,
                         [(0, amount_of_bytes, price, price, price * amount_of_bytes)])

    def volume(self, shares, edges=(500_000 * 10**9, 1_000_000 * 10**9),
               prices=("0.005", "0.004", "0.003")):
        """shares: {zone: bytes}."""
        total, at, tiers = sum(shares.values()), 0, []
        for edge, price in zip([*edges, None], prices):
            to = total if edge is None else min(edge, total)
            if to > at:
                each = Decimal(price) / 10**9
                tiers.append((at, to, each, price, each * (to - at)))
                at = to
        line = self.line("volume", "account:1", total, tiers)
        zones = sorted(shares)
        given = allocate(Decimal(line["amount"]), [shares[z] for z in zones], self.digits)
        line["shares"] = [{"zone": z, "bytes": plain(shares[z]), "amount": f"{g:.{self.digits}f}",
                           "exact": plain(g)} for z, g in zip(zones, given)]
        return line

    def timed(self, kind, resource, seconds, monthly):
        exact = (Decimal(monthly) * seconds / seconds_of(self.month)).quantize(
            Decimal(1).scaleb(-18), ROUND_HALF_UP)
        return self.line(kind, resource, seconds, [(0, seconds, monthly, monthly, exact)])

    def requests(self, balancer, count, included=50_000_000, per_million="0.65"):
        each = Decimal(per_million) / 10**6
        tiers = [(included, count, each, per_million, each * (count - included))] \
            if count > included else [(0, count, 0, 0, 0)]
        return self.line("balancer_requests", f"load_balancer:{balancer}", count, tiers)

    def meter(self, meter, name, quantity, prices, per=None, per_unit=None, unit="request", region=None, resource=None,
              unece="C62", **more):
        """prices: (units, price for `per`, flat)."""
        at, tiers = 0, []
        for units, price, flat in prices:
            exact = (Decimal(price) * units / Decimal(per or 1)).quantize(Decimal(1).scaleb(-18), ROUND_HALF_UP)
            tiers.append((at, at + units, price, price, exact + Decimal(flat)))
            at += units
        line = self.line("meter", resource or f"meter:{meter}", quantity, tiers, region, meter=meter, description=name,
                         unit=unit, unece=unece, **more)
        line.update({k: v for k, v in (("per", per and plain(per)), ("per_unit", per_unit)) if v})
        return line

    def minimum(self, amount):
        return self.line("minimum", "account:1", 1, [], exact=amount)

    def used(self):
        return sum((Decimal(n["amount"]) for n in self.lines if n["kind"] != "correction"), Decimal(0))

    def discount(self, percent):
        base = self.used()
        exact = -base * Decimal(percent) / 100
        line = self.line("discount", "account:1", 1, [(0, base.scaleb(self.digits), percent, percent, exact)])
        line["tiers"][0]["units"] = "0"
        return line

    def commit(self, monthly):
        used, seconds = self.used(), seconds_of(self.month)
        if used >= Decimal(monthly):
            return None
        line = self.line("commit", "account:1", 1, [(0, seconds, monthly, monthly, monthly),
                                                    (seconds, seconds, 0, 0, -used)])
        return line

    def correction(self, kind, month, invoice, *, zone=101, quantity=0, tiers=(), amount=None,
                   region=None, resource=None, exact=None):
        line = self.line("correction", resource or f"zone:{zone}", quantity, tiers, region,
                         amount, exact)
        for tier in line["tiers"]:
            if Decimal(quantity) < 0:
                tier["units"] = plain(-Decimal(tier["units"]))
        line["unit"] = UNITS.get(kind)
        line["corrects"] = {"invoice": invoice, "kind": kind, "since": 7}
        line["period"] = period(month)
        return line

    def charge(self, number, amount, category=None):
        own = {"tax_category": category} if category else {}
        return self.line("charge", f"charge:{number}", 1, [(0, 1, amount, amount, amount)], description=f"Agreed on, {number}",
                         **own)

    # --- the whole ---

    def base(self, month):
        """What the month's corrections come to; None: the lines that no month of `late` has."""
        late = {period(m)["start"]: m for m in self.late}
        return sum((Decimal(n["amount"]) for n in self.lines
                    if "tax_category" not in n and late.get(n.get("period", {}).get("start")) == month), Decimal(0))

    def charge_rows(self, text):
        for category in ("Z", "E", "AE", "K", "G", "O"):
            amounts = [Decimal(n["amount"]) for n in self.lines if n.get("tax_category") == category]
            if amounts:
                rest = next((tax[3:] for tax in [self.tax] if tax and tax[2:3] == (category,)), ())
                yield {**self.tax_row(("VAT", "0", category, *rest), sum(amounts), text), "charges": True}

    def tax_row(self, tax, base, text):
        name, percent, *rest = tax
        return {"amount": text(rounded(base * Decimal(percent) / 100, self.digits)), "base": text(base),
                "category": rest[0] if rest else "S" if Decimal(percent) else "Z", "name": name,
                "percent": plain(percent), "reason": rest[1] if len(rest) > 1 else None,
                "reason_code": rest[2] if len(rest) > 2 else None}

    def made(self):
        total = sum((Decimal(line["amount"]) for line in self.lines), Decimal(0))
        exact = sum((Decimal(line["exact"]) for line in self.lines), Decimal(0))
        text = lambda value: f"{value:.{self.digits}f}"
        rows = [self.tax_row(tax, self.base(None), text) for tax in (
            self.tax if isinstance(self.tax, list) else [self.tax] if self.tax else [])]
        if self.lines and all("tax_category" in n for n in self.lines):
            rows = []
        rows += self.charge_rows(text)
        for month, (tax, billed, more) in self.late.items():
            row = self.tax_row(tax, self.base(month), text)
            row.update(amount=text(Decimal(row["amount"]) + Decimal(more)), billed=text(Decimal(billed)),
                       month=f"{month[0]}-{month[1]:02}")
            rows.append(row)
        sum_of_tax = sum((Decimal(row["amount"]) for row in rows), Decimal(0))
        paid = Decimal(self.more.get("paid", 0))
        document = {
            "account": 1, "book": {"id": "standard-2026", "sha256": ZEROS}, "buyer": self.buyer,
            "currency": self.currency, "due": "2026-11-18", "issued": "2026-11-04", "kind": "invoice",
            "ledger": {"count": 3, "head": ZEROS}, "lines": self.lines, "number": "2026-000123",
            "paid": text(paid), "payable": text(total + sum_of_tax - paid),
            "period": period(self.month), "previous": ZEROS, "residual": plain(total - exact),
            "seller": self.seller, "sha256": ZEROS, "state": "final", "subtotal": text(total),
            "tax": rows, "total": text(total + sum_of_tax), "unpriced": [], "version": 2,
            "watermark": 123}
        document.update({k: v for k, v in self.more.items() if k != "paid"})
        return document


def canonical(document):
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


# --- one of every kind ---

GB = 10**9
ZONES = {101: "main", 102: "مرحبا بالعالم", 103: "画像配信", 104: "<script>alert(\"&'\")</script>",
         105: "bell\x01here", 106: "שלום " + "é" * 120, 107: "  "}


def everything(**more):
    d = Document(**more)
    d.bandwidth(101, "EU", 18_234_567_891)
    d.bandwidth(101, "NA", 123_456, discount=5)
    d.volume({102: 700_000 * GB, 103: 400_001 * GB + 3, 104: 5})
    d.override(105, 333_333_333, "0.000000012345678")
    d.timed("optimizer", "zone:103", 17 * 86400, "9.50")
    d.timed("balancer_fee", "load_balancer:7", seconds_of(d.month), "9.50")
    d.requests(7, 51_500_001)
    return d


def plain_document(**more):
    d = Document(**more)
    d.bandwidth(101, "EU", 18_234_567_891)
    return d


def corrections(**more):
    d = everything(**more)
    earlier, price = month_after(MONTH, -2), Decimal("0.01") / GB
    d.correction("bandwidth", earlier, "2026-000044", quantity=31_200 * GB, region="EU",
                 tiers=[(5 * GB, 31_205 * GB, price, "0.01", price * 31_200 * GB)])
    d.correction("bandwidth", earlier, "2026-000044", quantity=-7 * GB, region="NA",
                 tiers=[(0, 7 * GB, price, "0.01", -price * 7 * GB)])
    d.correction("minimum", month_after(MONTH, -1), None, resource="account:1", amount="-0.99",
                 exact="-0.99")
    d.correction("volume", month_after(MONTH, -1), "2026-000088", resource="account:1",
                 quantity=-3 * GB, tiers=[(0, 3 * GB, Decimal("0.005") / GB, "0.005", "-0.015")],
                 amount="-0.01")
    return d


def meters(**more):
    d = Document(**more)
    month = seconds_of(d.month)
    d.line("percentile", "account:1", 36_000_000_000, [(0, 36_000_000_000, "0.8", "0.8", 64)], per="450000000",
           per_unit="Mbps")
    d.meter("calls", "Script calls", 1_234_567, [(1_234_567, "0.20", 0)], per=10**6, resource="script:a_1",
            ledger_code="4100")
    d.meter("plain", "Licences, \"all\"", 12, [(10, 0, 0), (2, "1.5", 0)], unit="licence", unece="EA")
    d.meter("storage", "Storage", 150 * GB * month, [(100 * GB * month, "0.02", 0), (50 * GB * month, "0.01", "2.50")],
            per=GB * month, per_unit="GB-month", unit="byte-second", region="DE")
    d.meter("storage", "Storage", 3600 * GB, [(3600 * GB, "0.03", 0)], per=GB * month, per_unit="GB-month",
            unit="byte-second", region="a, b")
    d.meter("ram", "Memory", 987654321987654321, [(987654321987654321, "0.005", 0)], per=GB * 3600, per_unit="GB-hour",
            unit="byte-second")
    packs = d.meter("packs", "Packs", 25, [(25, 3, 0)], unit="pack", unece="XPK")
    packs["tiers"][0].update(blocks="3", amount="9")
    packs.update(exact="9", amount=f"{rounded(9, d.digits):.{d.digits}f}")
    d.line("minimum", "meter:packs", 1, [], exact="11", meter="packs", description="Packs", unece="XPK")
    late = d.correction("meter", month_after(d.month, -1), "2026-000044", resource="script:b", quantity=-2 * 10**6,
                        tiers=[(0, 2 * 10**6, "0.2", "0.2", "-0.4")])
    late.update(meter="calls", description="Script calls", per="1000000", unit="request", unece="C62")
    return d


AUGUST, SEPTEMBER = month_after(MONTH, -2), month_after(MONTH, -1)


def credit_note(**more):
    d = Document(kind="credit_note", corrects="2026-000044", month=month_after(MONTH, -1), due=None, **more)
    price, earlier = Decimal("0.01") / GB, month_after(MONTH, -1)
    d.correction("bandwidth", earlier, "2026-000044", quantity=-900 * GB, region="EU",
                 tiers=[(0, 900 * GB, price, "0.01", -price * 900 * GB)])
    d.correction("bandwidth", earlier, "2026-000044", quantity=100 * GB, region="NA",
                 tiers=[(0, 100 * GB, price * 2, "0.02", price * 2 * 100 * GB)])
    d.correction("balancer_requests", earlier, "2026-000044", resource="load_balancer:7",
                 quantity=-2_000_000, tiers=[(50_000_000, 52_000_000, Decimal("0.00000065"), "0.65",
                                              "-1.3")])
    d.correction("correction", earlier, "2026-000044", resource="account:1", amount="0.40",
                 exact="0.4")
    return d


def negative_invoice():
    d = plain_document()
    price = Decimal("0.01") / GB
    d.correction("bandwidth", month_after(MONTH, -1), "2026-000044", quantity=-9000 * GB, region="EU",
                 tiers=[(0, 9000 * GB, price, "0.01", -price * 9000 * GB)])
    return d


def minimum_alone():
    d = Document()
    d.minimum("1.00")
    return d


def with_minimum():
    d = plain_document()
    d.minimum("0.82")
    return d


def contract(percent="5", monthly="100000", minimum="12.34", **more):
    d = everything(**more)
    d.discount(percent)
    if monthly:
        d.commit(monthly)
    if minimum:
        d.minimum(minimum)
    return d


def commit_alone(**more):
    d = Document(**more)
    d.commit("1000")
    return d


def contract_corrected():
    """Late usage changes the discount and the commit of another month, each a line of that month."""
    d = contract()
    price, earlier = Decimal("0.01") / GB, month_after(MONTH, -1)
    d.correction("bandwidth", earlier, "2026-000044", quantity=500 * GB, region="EU",
                 tiers=[(0, 500 * GB, price, "0.01", price * 500 * GB)])
    for kind, amount in (("discount", "-0.25"), ("commit", "-4.75"), ("minimum", "1.00")):
        d.correction(kind, earlier, "2026-000044", resource="account:1", amount=amount, exact=amount)
    return d


def contract_credited():
    d = Document(kind="credit_note", corrects="2026-000044", month=month_after(MONTH, -1), due=None)
    price, earlier = Decimal("0.01") / GB, month_after(MONTH, -1)
    d.correction("bandwidth", earlier, "2026-000044", quantity=-900 * GB, region="EU",
                 tiers=[(0, 900 * GB, price, "0.01", -price * 900 * GB)])
    d.correction("discount", earlier, "2026-000044", resource="account:1", amount="0.45", exact="0.45")
    return d


def with_parties(document, seller=None, buyer=None):
    for party, changes in ((document.seller, seller), (document.buyer, buyer)):
        party.update(changes or {})
        for key in [key for key, value in party.items() if value is None]:
            del party[key]
    return document


def hostile():
    d = everything()
    evil = "]]><!-- &amp; <b>\"'\x02\t\n \u202e\ufffe" + "\U0001F600" * 20
    return with_parties(d, {"name": evil, "note": evil, "street": "  \t ", "street2": "\x01"},
                        {"name": "株式会社例 " + "ö" * 120, "city": "القاهرة", "street": "<x>"})


def many_prices():
    d = Document()
    price = lambda i: Decimal(1_300_000 - 7_777 * i) / 10**16
    d.line("volume", "account:1", 12_345 * GB,
           [(i * 100 * GB, min((i + 1) * 100, 12_345) * GB, price(i), "0.1",
             price(i) * (min((i + 1) * 100, 12_345) - i * 100) * GB) for i in range(124)])
    return d


def fine_prices():
    d = Document()
    d.bandwidth(101, "EU", 987_654_321_987_654_321, "0.000000000000001")
    d.bandwidth(101, "NA", 10**18, "0.123456789012345", discount=33)
    d.override(105, 1, "170141.123456789012345")
    return d


def yen(**more):
    d = everything(currency="JPY", **more)
    for zone in range(200, 205):
        d.bandwidth(zone, "ASIA", 33 * GB, "0.51")
    return d


def free():
    d = Document()
    d.requests(7, 12)
    d.bandwidth(101, "EU", 5, "0")
    d.timed("optimizer", "zone:103", 3601, "0.01")
    return d


def packages():
    """Blocks of 10 million: units times price is not the amount."""
    d = Document()
    d.line("balancer_requests", "load_balancer:7", 25_000_001,
           [(0, 25_000_001, Decimal("1.5") / 10**6, "1.5", "4.5")])
    d.line("volume", "account:1", 7 * GB, [(0, 5 * GB, 0, 0, 25), (5 * GB, 7 * GB, 0, 0, 0)])
    return d


ITALIAN = {"country": "IT", "vat_id": "IT12345670017", "tax_id": "12345670017"}
REACHED = {"scheme": "0088", "id": "4006381333931"}
# Schemes whose numbers Peppol checks, each with one that is right.
NUMBERS = {"0007": "5567321707", "0088": "4098765000003", "0151": "51824753556", "0184": "DK12345678",
           "0192": "910000004", "0208": "0202239951"}


def numbered(scheme):
    own = {"endpoint": {"scheme": scheme, "id": NUMBERS[scheme]}, "registration_id": NUMBERS[scheme],
           "registration_scheme": scheme}
    return with_parties(everything(), own, own)


KINDS = {
    "plain": plain_document,
    "tiered": lambda: _with(Document(), lambda d: d.volume({102: 1_200_000 * GB + 7})),
    "volume-shares": lambda: _with(Document(), lambda d: d.volume({102: 3 * GB, 103: 7 * GB + 1, 104: 1})),
    "optimizer": lambda: _with(Document(), lambda d: d.timed("optimizer", "zone:103", 1_812_916, "9.50")),
    "balancer": lambda: _with(Document(), lambda d: d.timed("balancer_fee", "load_balancer:7", 40 * 3600,
                                                            "9.50"), lambda d: d.requests(7, 151_500_001)),
    "minimum": with_minimum,
    "minimum-alone": minimum_alone,
    "contract": contract,
    "contract-whole-discount": lambda: contract("100", None, None),
    "contract-of-thirds": lambda: contract("33.3333", "70000.005", None),
    "contract-AE": lambda: contract(tax=("VAT", "0", "AE")),
    "contract-yen": lambda: contract("7.5", "1000000", None, currency="JPY"),
    "contract-corrected": contract_corrected,
    "contract-credited": contract_credited,
    "contract-against-correction": lambda: _with(negative_invoice(), lambda d: d.discount("5")),
    "commit-alone": commit_alone,
    "commit-alone-O": lambda: commit_alone(tax=("None", "0", "O")),
    "meters": meters,
    "meters-yen": lambda: meters(currency="JPY"),
    "meters-discounted": lambda: _with(meters(), lambda d: d.discount("5")),
    "charges": lambda: _with(everything(), lambda d: d.charge(1, "120"), lambda d: d.charge(2, "-0.50")),
    "charges-of-other-categories": lambda: _with(
        corrections(late={AUGUST: (("VAT", "19"), "3.04", "0.01"), SEPTEMBER: (("VAT", "16"), "3.04", "0.01")}),
        lambda d: d.charge(1, "120", "Z"), lambda d: d.charge(2, "40", "AE"), lambda d: d.charge(3, "-20.25", "AE"),
        lambda d: d.charge(4, "3", "G"), lambda d: d.charge(5, "1", "K"), lambda d: d.charge(6, "2")),
    "charges-of-another-category-alone": lambda: _with(Document(), lambda d: d.charge(1, "120", "AE")),
    "charges-of-the-account's-category": lambda: _with(
        everything(tax=("VAT", "0", "E", "Exempt under article 132", None)), lambda d: d.charge(1, "120", "E")),
    "charges-O-alone": lambda: _with(Document(), lambda d: d.charge(1, "120", "O")),
    "everything": everything,
    "paid": lambda: everything(paid="10.00"),
    "paid-whole": lambda: plain_document(paid="0.21"),
    "corrections": corrections,
    "credit-note": credit_note,
    "negative-invoice": negative_invoice,
    "corrections-of-other-taxes": lambda: corrections(late={
        AUGUST: (("VAT", "0", "AE", "Reverse charge", "VATEX-EU-AE"), "0", "0"), SEPTEMBER: (("VAT", "16"), "3.04", "0.01")}),
    "corrections-of-one-rate": lambda: corrections(late={
        AUGUST: (("VAT", "19"), "3.04", "0.01"), SEPTEMBER: (("VAT", "19"), "0", "-0.01")}),
    "corrections-within-the-union": lambda: corrections(late={
        AUGUST: (("VAT", "0", "K"), "0", "0"), SEPTEMBER: (("VAT", "0", "E", "Exempt", None), "0", "0")}),
    "credit-note-of-its-month": lambda: credit_note(tax=None, late={SEPTEMBER: (("VAT", "7"), "1.42", "0.01")}),
    "credit-note-of-its-month-taxed-in-yen": lambda: with_parties(
        credit_note(tax=None, late={SEPTEMBER: (("VAT", "7"), "1.42", "-0.01")}), {"tax_currency": "JPY", "tax_rate": "163.27"}),
    "replacement": lambda: everything(replaces="2026-000120"),
    "zero-Z": lambda: everything(tax=("VAT", "0")),
    "zero-E": lambda: everything(tax=("VAT", "0", "E", "Exempt under article 132", None)),
    "zero-E-code": lambda: everything(tax=("VAT", "0", "E", None, "VATEX-EU-132")),
    "zero-AE": lambda: everything(tax=("VAT", "0", "AE")),
    "zero-AE-reason": lambda: everything(tax=("VAT", "0", "AE", "Reverse charge", "VATEX-EU-AE")),
    "zero-K": lambda: everything(tax=("VAT", "0", "K")),
    "zero-K-elsewhere": lambda: with_parties(everything(tax=("VAT", "0", "K")), buyer={
        "delivery": {"city": "Wien", "postal_code": "1010", "country": "AT"}}),
    "zero-G": lambda: with_parties(everything(tax=("VAT", "0", "G")), buyer={
        "country": "US", "vat_id": None, "subdivision": "NY"}),
    "zero-O": lambda: everything(tax=("None", "0", "O", "Not subject to VAT", None)),
    "zero-O-minimum": lambda: _with(minimum_alone(), lambda d: setattr(d, "tax", ("None", "0", "O"))),
    "zero-AE-minimum": lambda: _with(with_minimum(), lambda d: setattr(d, "tax", ("VAT", "0", "AE"))),
    "rate-of-5.5": lambda: everything(tax=("TVA", "5.5")),
    "yen": yen,
    "yen-credit": lambda: _with(negative_invoice(), lambda d: None),
    "dollars-taxed-in-euros": lambda: with_parties(everything(currency="USD"), {
        "tax_currency": "EUR", "tax_rate": "0.8612345"}),
    "credit-taxed-in-yen": lambda: with_parties(credit_note(), {
        "tax_currency": "JPY", "tax_rate": "163.27"}),
    "taxed-in-its-own": lambda: with_parties(everything(), {"tax_currency": "EUR", "tax_rate": "1"}),
    "many-prices": many_prices,
    "fine-prices": fine_prices,
    "free": free,
    "packages": packages,
    "hostile": hostile,
    "no-bank": lambda: with_parties(everything(), {"payment": {"means": "1"}}),
    "local-transfer": lambda: with_parties(everything(), {"payment": {"means": "30", "iban": "12345"}}),
    "both-german": lambda: with_parties(everything(), buyer={"country": "DE", "vat_id": "DE987654321",
                                                             "language": "de"}),
    "italian": lambda: with_parties(everything(), ITALIAN),
    "dutch": lambda: with_parties(everything(), {
        "country": "NL", "vat_id": "NL123456789B01", "registration_id": "12345678",
        "registration_scheme": "0106"}),
    "coded-endpoints": lambda: with_parties(everything(), {"endpoint": REACHED}, {"endpoint": REACHED}),
    "no-vat-id": lambda: with_parties(everything(), {"vat_id": None}),
    **{f"number-{scheme}": lambda scheme=scheme: numbered(scheme) for scheme in NUMBERS},
}


# Kinds that one profile alone takes.
ONLY = {
    "xrechnung": {
        "mailed": lambda: with_parties(everything(), *[{"endpoint": {"scheme": "EM", "id": "a@b.example"}}] * 2),
        "no-endpoints": lambda: with_parties(everything(), *[{"endpoint": None}] * 2),
    },
    "peppol": {
        "nothing-optional": lambda: with_parties(
            everything(), dict.fromkeys(["street", "city", "postal_code", "tax_id", "registration_id",
                                         "legal_info", "trading_name", "contact", "payment", "note"]),
            dict.fromkeys(["street", "city", "postal_code", "vat_id", "contact"])),
    },
}


def _with(document, *steps):
    for step in steps:
        step(document)
    return document


# Refused by both profiles, with the field that is named.
REFUSED = {
    "three-decimals": (lambda: everything(currency="KWD"), "accounts[].currency"),
    "two-taxes": (lambda: everything(tax=[("GST", "5"), ("PST", "7")]), "accounts[].tax"),
    "no-tax": (lambda: everything(tax=[]), "accounts[].tax"),
    "no-country": (lambda: with_parties(everything(), buyer={"country": None}), "buyer.country"),
    "draft": (lambda: everything(state="draft", number=None, ledger=None, previous=None, issued=None,
                                 due=None), "state"),
    "exempt-without-reason": (lambda: everything(tax=("VAT", "0", "E")), "accounts[].tax.reason"),
    "exempt-charge-without-reason": (lambda: _with(everything(), lambda d: d.charge(1, "9", "E")), "accounts[].tax.reason"),
    "untouched-charge-beside-others": (lambda: _with(everything(), lambda d: d.charge(1, "9", "O")), "accounts[].tax.category"),
    "no-seller": (lambda: everything(seller=None, buyer=None), "seller.name"),
}


# --- random ones ---

def random_document(random):
    currency = random.choice(["EUR", "USD", "JPY"])
    tax = random.choice([("VAT", random.choice(["19", "21", "7", "5.5", "0"])),
                         ("VAT", "0", random.choice(["AE", "K", "G", "O"]))])
    d = Document(currency, tax)
    for _ in range(random.randrange(6)):
        random.choice([
            lambda: d.bandwidth(random.choice(list(ZONES)), random.choice(["EU", "NA", "SA"]),
                                random.randrange(1, 10**random.randrange(1, 18)),
                                random.choice(["0.01", "0.0000123", "7.5"]), random.randrange(0, 60)),
            lambda: d.volume({z: random.randrange(1, 10**random.randrange(1, 17))
                              for z in random.sample(list(ZONES), random.randrange(1, 5))}),
            lambda: d.override(105, random.randrange(1, 10**15), "0.000000012345678"),
            lambda: d.timed("optimizer", "zone:103", random.choice([86400, 3600, 1]) * random.randrange(1, 600),
                            random.choice(["9.50", "0.01", "123.45"])),
            lambda: d.requests(7, random.randrange(1, 10**random.randrange(1, 12))),
            lambda: _random_correction(random, d),
        ])()
    if random.randrange(3) == 0 and d.used():
        d.discount(random.choice(["5", "0.0001", "33.3333", "99.99", "100"]))
    if random.randrange(4) == 0:
        d.commit(random.choice(["0.01", "1000", "123456789.005"]))
    if random.randrange(3) == 0:
        d.minimum(rounded(Decimal(random.randrange(0, 100000)) / 100, d.digits))
    for number in range(random.choice((0, 0, 1, 3))):
        untaxed = ["O"] if tax[2:] == ("O",) else ["Z", "AE", "K", "G"]
        if any(n["kind"] == "correction" for n in d.lines):  # here taxed with the rest, as before 1.1
            untaxed = []
        d.charge(number + 1, rounded(Decimal(random.randrange(1, 10**6)) / 100, d.digits), random.choice([None, *untaxed]))
    return d.made()


def _random_correction(random, d):
    size = random.randrange(1, 10**random.randrange(1, 16))
    sign = random.choice([1, -1])
    cuts = sorted({0, size, *(random.randrange(size + 1) for _ in range(random.randrange(4)))})
    price = lambda i: Decimal(random.randrange(1, 999)) / 10**12 + i
    tiers = []
    for low, high in zip(cuts, cuts[1:]):
        each = price(0)
        tiers.append((low, high, each, each * GB, sign * each * (high - low)))
    exact = sum((t[4] for t in tiers), Decimal(0))
    off = Decimal(random.choice([0, 0, 1, -1])).scaleb(-d.digits)
    d.correction("bandwidth", month_after(d.month, -random.randrange(1, 5)),
                 random.choice(["2026-000044", "2026-000045", None]), quantity=sign * size, region="EU",
                 tiers=tiers, amount=rounded(exact, d.digits) + off)
