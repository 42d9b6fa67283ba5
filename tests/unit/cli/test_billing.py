"""book, usage, invoice, ledger, and verify over what they store."""
import csv
import hashlib
import io
import json
import random
import re
import signal
import sqlite3
import unittest
from decimal import Decimal
from tool import Case, random_seed

BOOK = {
    "book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
    "rounding": "half_up", "minimum_monthly": "1.00",
    "bandwidth": {
        "premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03",
                                             "SA": "0.045", "AF": "0.06"}},
        "volume": {"per": "GB", "scope": "account", "mode": "graduated", "tiers": [
            {"from": "0", "to": "500", "price": "0.005"},
            {"from": "500", "to": None, "price": "0.004"}]}},
    "optimizer": {"monthly": "9.50"},
    "load_balancer": {
        "monthly_fee": "9.50", "included_requests": 50000000, "included_axis": "absolute",
        "mode": "graduated",
        "tiers": [{"from_millions": 50, "to_millions": None, "price_per_million": "0.65"}]}}

CATALOG = {
    "accounts": [{"id": 1, "name": "acme", "tax": {"VATRate": 22}}, {"id": 2, "name": "borealis"},
                 {"id": 3, "name": "asleep"}],
    "zones": [
        {"id": 101, "account": 1, "name": "video", "type": "premium",
         "created": "2026-01-05T00:00:00Z"},
        {"id": 102, "account": 1, "name": "static", "type": "volume",
         "created": "2026-01-05T00:00:00Z"},
        {"id": 201, "account": 2, "name": "live", "type": "premium",
         "created": "2026-01-05T00:00:00Z"}],
    "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None,
                        "zones": [101]}]}

SEED = random_seed()
NOVEMBER, DECEMBER = "2026-11-20T12:00:00Z", "2026-12-20T12:00:00Z"


def row(zone, hour, region="DE", **counters):
    return json.dumps({"zone": zone, "hour": hour, "region": region, **counters}) + "\n"


def balancer(requests, hour="2026-10-03T05:00:00Z"):
    return json.dumps({"load_balancer": 7, "hour": hour, "requests": requests}) + "\n"


def canonical_hash(text):
    """Over the text without its own member."""
    return hashlib.sha256(re.sub(r',"sha256":"[0-9a-f]{64}"(?=,"state")', "", text)
                          .encode()).hexdigest()


class Billing(Case):
    def setUp(self):
        super().setUp()
        self.apply(json.dumps(CATALOG))
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)))

    def take(self, *rows, now=NOVEMBER):
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(rows).encode(), now=now)

    def october(self):
        self.take(row(101, "2026-10-03T05:00:00Z", bytes=300 * 10**9, requests=1000),
                  row(102, "2026-10-04T05:00:00Z", bytes=450 * 10**9),
                  row(102, "2026-10-09T22:00:00Z", "NY", bytes=100 * 10**9),
                  row(201, "2026-10-05T00:00:00Z", "SG", bytes=10**6), balancer(51500000))

    def invoice(self, *words, month="2026-10", status=0, now=NOVEMBER):
        return self.run_tool("invoice", "--db", "t.db", "--month", month, *words, status=status,
                             now=now)

    def invoices(self, *words, **more):
        return json.loads(self.invoice(*words, **more).out)["invoices"]

    # --- books ---

    def test_books_are_added_once_listed_shown_and_compared(self):
        again = self.run_tool("book", "add", "--db", "t.db", "book.json")
        self.assertIn("nothing changed", again.err)
        dearer = {**BOOK, "book": "standard-2027", "effective_from": "2027-01-01T00:00:00Z",
                  "optimizer": {"monthly": "10"}}
        self.run_tool("book", "add", "--db", "t.db", "-", stdin=json.dumps(dearer).encode())
        listed = self.run_tool("book", "list", "--db", "t.db", "--format", "table").out.splitlines()
        self.assertEqual([r.split("\t")[:3] for r in listed[1:]],
                         [["standard-2026", "USD", "2026-01-01T00:00:00Z"],
                          ["standard-2027", "USD", "2027-01-01T00:00:00Z"]])
        shown = self.run_tool("book", "show", "--db", "t.db", "standard-2026").out
        self.assertEqual(json.loads(shown), BOOK)
        self.assertEqual(hashlib.sha256(shown.rstrip("\n").encode()).hexdigest(),
                         listed[1].split("\t")[3])
        self.assertEqual(self.run_tool("book", "diff", "--db", "t.db", "standard-2026",
                                       "standard-2027").out.splitlines(),
                         ["- effective_from\t2026-01-01T00:00:00Z", "- optimizer.monthly\t9.5",
                          "+ effective_from\t2027-01-01T00:00:00Z", "+ optimizer.monthly\t10"])
        self.run_tool("book", "show", "--db", "t.db", "other", status=2)

    def test_a_bad_book_is_refused_with_its_path(self):
        bad = json.loads(json.dumps(BOOK))
        bad["bandwidth"]["volume"]["tiers"][1]["from"] = "600"
        done = self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(bad).encode(), status=2)
        self.assertIn("bandwidth.volume.tiers[1]", done.err)
        other = {**BOOK, "minimum_monthly": "2.00"}
        self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(other).encode(), status=2)

    # --- usage ---

    def test_usage_is_one_json_document(self):
        self.october()
        done = self.run_tool("usage", "--db", "t.db", "--balancer", 7, "--month", "2026-10")
        self.assertEqual(done.out, '{"LoadBalancerId":7,"PeriodStart":"2026-10-01T00:00:00Z",'
                         '"PeriodEnd":"2026-11-01T00:00:00Z","ResetsAt":"2026-11-01T00:00:00Z",'
                         '"CurrentRequests":51500000,"IncludedRequests":50000000,"MonthlyFee":9.5,'
                         '"Tiers":[{"ThresholdFromMillions":50,"ThresholdToMillions":null,'
                         '"PricePerMillion":0.65}]}\n')
        now = json.loads(self.run_tool("usage", "--db", "t.db", "--balancer", 7).out)
        self.assertEqual((now["PeriodStart"], now["CurrentRequests"]), ("2026-11-01T00:00:00Z", 0))
        self.run_tool("usage", "--db", "t.db", "--balancer", 8, status=2)
        self.run_tool("usage", "--db", "t.db", "--balancer", 7, "--month", "2026-12", status=2)
        self.run_tool("usage", "--db", "t.db", "--balancer", 7, "--month", "October", status=2)

    # --- drafts and final invoices ---

    def test_a_month_from_draft_to_final(self):
        self.october()
        drafts = self.invoices()
        self.assertEqual([(i["account"], i["state"], i["number"]) for i in drafts],
                         [(1, "draft", None), (2, "draft", None)])
        one, two = drafts
        self.assertEqual([(l["kind"], l["resource"], l["region"], l["amount"]) for l in one["lines"]],
                         [("bandwidth", "zone:101", "EU", "3.00"),
                          ("volume", "account:1", None, "2.70"),
                          ("balancer_fee", "load_balancer:7", None, "9.50"),
                          ("balancer_requests", "load_balancer:7", None, "0.98"),
                          ("minimum", "account:1", None, "0.00")][:len(one["lines"])])
        self.assertEqual((one["subtotal"], one["total"]), ("16.18", "19.74"))
        self.assertEqual(one["tax"][0]["amount"], "3.56")
        self.assertEqual((two["subtotal"], two["total"]), ("1.00", "1.00"))
        text = self.invoice("--finalize").out
        final = json.loads(text)["invoices"]
        self.assertEqual([i["number"] for i in final], ["2026-000001", "2026-000002"])
        for draft, issued in zip(drafts, final):
            for key in set(draft) - {"number", "state", "sha256", "previous", "watermark", "issued",
                                     "ledger"}:
                self.assertEqual(draft[key], issued[key], key)
            self.assertEqual((draft["version"], draft["issued"], draft["ledger"]), (2, None, None))
            self.assertEqual((issued["issued"], issued["due"]), (NOVEMBER[:10], None))
            self.assertEqual((issued["paid"], issued["payable"]), ("0.00", issued["total"]))
        self.assertEqual(final[0]["ledger"], {"count": 0, "head": None})
        ((chain,), _) = self.query("SELECT lower(hex(chain)) FROM ledger")
        self.assertEqual(final[1]["ledger"], {"count": 1, "head": chain})
        self.assertEqual(self.invoice().out, text)
        self.assertEqual(self.invoice("--finalize").out, text)
        self.assertEqual(final[1]["previous"], final[0]["sha256"])
        for issued in text.removeprefix('{"invoices":[').removesuffix("]}\n").split(',{"account"'):
            issued = issued if issued.startswith('{"account"') else '{"account"' + issued
            self.assertEqual(canonical_hash(issued), json.loads(issued)["sha256"])
        self.verify()

    def test_canonical_text_has_sorted_keys_and_no_floats(self):
        self.october()
        text = self.invoice("--finalize", "--account", 1).out.strip()
        floats = []
        parsed = json.loads(text, parse_float=floats.append)
        self.assertEqual(floats, [])
        inner = text.removeprefix('{"invoices":[').removesuffix("]}")
        self.assertEqual(json.dumps(parsed["invoices"][0], sort_keys=True, ensure_ascii=False,
                                    separators=(",", ":")), inner)

    def test_an_account_with_nothing_due_has_no_invoice_unless_asked_for(self):
        done = self.invoice("--account", 3, status=1)
        self.assertEqual(json.loads(done.out), {"invoices": []})
        self.assertIn("nothing to invoice", done.err)
        self.invoice("--account", 3, "--finalize", status=1)
        asked = self.invoices("--account", 3, "--finalize", "--empty")
        self.assertEqual((asked[0]["number"], asked[0]["total"]), ("2026-000001", "0.00"))
        self.assertIn(asked[0], self.invoices())
        self.verify()

    def test_the_minimum_is_whole_and_says_so(self):
        catalog = json.loads(json.dumps(CATALOG))
        catalog["accounts"].append({"id": 4, "name": "new"})
        catalog["zones"].append({"id": 401, "account": 4, "name": "young", "type": "premium",
                                 "created": "2026-10-12T00:00:00Z"})
        self.apply(json.dumps(catalog))
        line = self.invoices("--account", 4)[0]["lines"][0]
        self.assertEqual((line["kind"], line["amount"]), ("minimum", "1.00"))
        self.assertNotIn("note", line)
        note = "whole for any month with an active zone, not prorated by days"
        self.assertIn(f">{note}<", self.invoice("--account", 4, "--format", "html").out)
        self.assertIn(f"({note})", self.invoice("--account", 4, "--format", "focus").out)
        explained = json.loads(self.invoice("--account", 4, "--explain", 1).out)
        self.assertEqual(explained["note"], note)
        self.october()
        self.assertIsNone(json.loads(self.invoice("--account", 1, "--explain", 1).out)["note"])

    def test_a_running_month_has_a_draft_and_no_invoice(self):
        self.take(row(101, "2026-11-02T00:00:00Z", bytes=10**9))
        draft = self.invoices(month="2026-11")[0]
        self.assertNotIn("minimum", [l["kind"] for l in draft["lines"]])
        done = self.invoice("--finalize", month="2026-11", status=1)
        self.assertIn("2026-11 is not over", done.err)
        self.invoice(month="2026-12", status=2)
        self.invoice(month="2026-13", status=2)
        self.run_tool("invoice", "--db", "t.db", status=2)

    def test_unpriced_usage_refuses_with_the_list_of_what_to_mend(self):
        self.october()
        self.take(row(101, "2026-10-20T00:00:00Z", "QQ", bytes=77))
        draft = self.invoices("--account", 1)[0]
        self.assertEqual([(u["resource"], u["what"], u["quantity"]) for u in draft["unpriced"]],
                         [("zone:101", "QQ", "77")])
        done = self.invoice("--finalize", status=1)
        self.assertIn("account 1 (acme): Traffic of pull zone 101 in QQ, 77 bytes, is without a price. The location has no billing "
                      "region: name it, with its billing, in the catalogue's regions.\n", done.err)
        self.assertEqual([i["account"] for i in json.loads(done.out)["invoices"]], [2])
        regions = [{"id": 900, "code": "QQ", "name": "EU: Somewhere, DE", "billing": "EU"},
                   {"id": 901, "code": "DE", "name": "EU: Frankfurt, DE", "billing": "EU"},
                   {"id": 902, "code": "NY", "name": "NA: New York, NY", "billing": "NA"}]
        self.apply(json.dumps({**CATALOG, "regions": regions}))
        self.assertEqual([i["account"] for i in self.invoices("--finalize")], [1, 2])
        self.verify()

    def test_void_keeps_the_number_and_the_replacement_names_it(self):
        self.october()
        first = self.invoices("--finalize", "--account", 1)[0]
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000009", status=2)
        self.run_tool("invoice", "--db", "t.db", "--void", first["number"])
        self.run_tool("invoice", "--db", "t.db", "--void", first["number"], status=2)
        shown = self.invoices("--account", 1)
        self.assertEqual([(i["number"], i["state"]) for i in shown],
                         [("2026-000001", "void"), (None, "draft")])
        self.assertEqual(shown[0]["sha256"], first["sha256"])
        second = self.invoices("--finalize", "--account", 1)[0]
        self.assertEqual((second["number"], second["replaces"]), ("2026-000002", "2026-000001"))
        self.verify()

    # --- a clock that is behind ---

    def test_a_declaration_is_not_backdated_by_itself(self):
        self.any_clock = False
        taxed = json.dumps({**CATALOG, "accounts": [{"id": 1, "name": "acme", "tax": {"VATRate": 5}},
                                                    *CATALOG["accounts"][1:]]})
        book = json.dumps({**BOOK, "book": "later", "effective_from": "2026-12-01T00:00:00Z"})
        back, step = "2026-11-20T11:54:59Z", "2026-11-20T11:55:00Z"
        declare = (("apply", "--db", "t.db", self.write("taxed.json", taxed)),
                   ("book", "--db", "t.db", self.write("later.json", book)))
        before = self.query("SELECT * FROM declaration")
        for words in declare:
            said = self.run_tool(*words, now=back, status=1).err
            self.assertIn(f"The clock says {back}, and the newest change is of {NOVEMBER}", said)
            self.assertIn("--backdated", said)
        self.assertEqual(self.query("SELECT * FROM declaration"), before)
        self.run_tool("apply", "--db", "t.db", "c.json", now=back)  # changes nothing
        self.run_tool(*declare[1], now=step)
        at = lambda: self.run_tool("audit", "--db", "t.db", "--format", "table").out.splitlines()[-1].split("\t")
        self.assertEqual(at()[1], NOVEMBER)  # a step back counts from the newest change on
        self.run_tool(*declare[0], "--backdated", now="2026-11-02T00:00:00Z")
        self.assertEqual((at()[1], json.loads(at()[5])["backdated"]), ("2026-11-02T00:00:00Z", True))
        self.run_tool("apply", "--db", "t.db", "c.json", now="2026-11-02T00:00:00Z", status=1)
        self.october()  # usage comes whenever it comes
        self.verify()

    # --- late usage ---

    def test_late_usage_is_corrected_on_the_next_invoice(self):
        self.october()
        before = self.invoice("--finalize").out
        self.take(row(101, "2026-10-30T00:00:00Z", bytes=200 * 10**9), balancer(2000000))
        self.assertEqual(self.invoice().out, before)
        listed = self.run_tool("invoice", "--db", "t.db", "--late").out.splitlines()
        self.assertEqual(len(listed), 2)
        self.assertEqual(listed[1].split("\t")[:3], ["1", "2026-10", "2026-000001"])
        draft = self.invoices("--account", 1, month="2026-11")[0]
        after = self.invoices("--account", 1, "--finalize", month="2026-11", now=DECEMBER)[0]
        for one in (draft, after):
            fixed = [l for l in one["lines"] if l["kind"] == "correction"]
            self.assertEqual([(l["corrects"]["kind"], l["amount"], l["quantity"]) for l in fixed],
                             [("bandwidth", "2.00", "200000000000"),
                              ("balancer_requests", "1.30", "2000000")])
            self.assertEqual({l["corrects"]["invoice"] for l in fixed}, {"2026-000001"})
            self.assertEqual(fixed[0]["period"]["start"], "2026-10-01T00:00:00Z")
        self.assertEqual(self.invoice(now=DECEMBER).out, before)
        self.assertEqual(len(self.run_tool("invoice", "--db", "t.db", "--late").out.splitlines()), 1)
        self.verify()

    def test_a_cheaper_month_is_a_credit_note(self):
        cheaper = json.loads(json.dumps(BOOK))
        cheaper.update(book="all-units", effective_from="2026-02-01T00:00:00Z")
        cheaper["bandwidth"]["volume"]["mode"] = "volume"
        cheaper["bandwidth"]["volume"]["tiers"][1]["price"] = "0.002"
        self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(cheaper).encode())
        self.take(row(102, "2026-10-04T05:00:00Z", bytes=500 * 10**9))
        self.assertEqual(self.invoices("--finalize", "--account", 1)[0]["lines"][0]["amount"], "2.50")
        self.take(row(102, "2026-10-05T05:00:00Z", bytes=100 * 10**9))
        done = self.invoice("--finalize", "--account", 1, month="2026-11", now=DECEMBER)
        self.assertIn("credit note 2026-000002", done.err)
        note = self.invoices("--account", 1)[1]
        self.assertEqual((note["kind"], note["corrects"], note["subtotal"]),
                         ("credit_note", "2026-000001", "-1.30"))
        self.assertEqual([l["amount"] for l in note["lines"]], ["-2.50", "1.20"])
        self.verify()

    def cheaper_by_volume(self):
        """All units at the price of the tier reached: more usage can cost less."""
        book = json.loads(json.dumps(BOOK))
        book.update(book="all-units", effective_from="2026-02-01T00:00:00Z")
        book["bandwidth"]["volume"].update(mode="volume", tiers=[
            {"from": "0", "to": "500", "price": "0.005"},
            {"from": "500", "to": "900", "price": "0.004"},
            {"from": "900", "to": None, "price": "0.003"}])
        self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(book).encode())

    def batches(self, rng, n):
        rows = []
        for _ in range(n):
            hour = f"2026-07-{rng.randrange(1, 32):02}T{rng.randrange(24):02}:00:00Z"
            rows.append(rng.choice((
                row(101, hour, rng.choice(("DE", "NY", "SG")), bytes=rng.randrange(1, 10**11)),
                row(102, hour, rng.choice(("DE", "NY")), bytes=rng.randrange(1, 3 * 10**11)),
                balancer(rng.randrange(1, 3 * 10**7), hour))))
        return rows

    def billed(self, month):
        """What has been billed for a month: its lines, and what corrects them elsewhere."""
        sums = {"exact": Decimal(0), "amount": Decimal(0)}
        for later in range(7, 12):
            for issued in self.invoices(month=f"2026-{later:02}", now=DECEMBER):
                for line in issued["lines"] if issued["state"] == "final" else []:
                    if line.get("period", issued["period"])["start"][:7] == month:
                        for key in sums:
                            sums[key] += Decimal(line[key])
        return sums

    def test_usage_in_any_order_and_any_steps_is_billed_the_same(self):
        rng = random.Random(SEED)
        self.cheaper_by_volume()
        rows = self.batches(rng, 40)
        with self.subTest(seed=SEED):
            steps = []
            for whole in (True, False, False):
                self.init("n.db")
                (self.folder / "n.db").replace(self.folder / "t.db")
                for left in ("t.db-wal", "t.db-shm"):
                    (self.folder / left).unlink(missing_ok=True)
                self.setUp_again()
                rng.shuffle(rows)
                cuts = [] if whole else sorted(rng.sample(range(1, len(rows)), 4))
                for month, first, last in zip(range(7, 12), [0] + cuts, cuts + [len(rows)]):
                    self.take(*rows[first:last])
                    self.invoice("--account", 1, "--finalize", month=f"2026-{month:02}",
                                 now=DECEMBER)
                self.verify()
                steps.append(self.billed("2026-07"))
            self.assertEqual(steps[1:], steps[:1] * 2)

    def setUp_again(self):
        self.apply(json.dumps(CATALOG))
        self.run_tool("book", "--db", "t.db", "book.json")
        self.cheaper_by_volume()

    # --- forms ---

    def test_csv_and_focus_rows_sum_to_the_totals(self):
        self.october()
        final = self.invoices("--finalize")
        total = sum(Decimal(i["total"]) for i in final)
        rows = list(csv.DictReader(io.StringIO(self.invoice("--format", "csv").out, newline="")))
        self.assertEqual(sum(Decimal(r["amount"]) for r in rows), total)
        rows = list(csv.DictReader(io.StringIO(self.invoice("--format", "focus").out, newline="")))
        self.assertEqual(sum(Decimal(r["BilledCost"]) for r in rows), total)
        self.assertEqual({r["InvoiceId"] for r in rows}, {"2026-000001", "2026-000002"})

    def test_html_is_one_page_for_each_invoice(self):
        self.october()
        page = self.invoice("--format", "html").out
        self.assertTrue(page.startswith("<!DOCTYPE html>") and page.endswith("</html>\n"))
        self.assertEqual(page.count("<article"), 2)
        self.assertIn("19.74 USD", page)

    # --- explain ---

    def test_explain_takes_a_line_down_to_days_and_crossings(self):
        self.october()
        draft = self.invoices("--account", 1)[0]
        number = next(l["line"] for l in draft["lines"] if l["kind"] == "volume")
        explained = json.loads(self.invoice("--account", 1, "--explain", number).out)
        self.assertEqual(explained["line"], draft["lines"][number - 1])
        self.assertEqual((explained["sum"], explained["agrees"]), ("550000000000", True))
        self.assertEqual([d["day"] for d in explained["days"]],
                         ["2026-10-04T00:00:00Z", "2026-10-09T00:00:00Z"])
        self.assertEqual(explained["crossings"],
                         [{"threshold": "500000000000", "hour": "2026-10-09T22:00:00Z",
                           "before": "450000000000", "quantity": "100000000000",
                           "after": "550000000000"}])
        self.invoice("--account", 1, "--explain", 99, status=2)
        self.invoice("--explain", 1, status=2)

    def crossings(self, kind, *words, **more):
        shown = self.invoices("--account", 1, *words, **more)[0]
        number = next(l["line"] for l in shown["lines"]
                      if kind in (l["kind"], l.get("corrects", {}).get("kind")))
        explained = json.loads(self.invoice("--account", 1, "--explain", number, **more).out)
        return [c["threshold"] for c in explained["crossings"]]

    def test_a_book_within_the_month_and_what_was_billed_are_no_thresholds(self):
        later = {**BOOK, "book": "mid", "effective_from": "2026-10-06T00:00:00Z"}
        self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(later).encode())
        self.october()
        self.assertEqual(self.crossings("volume"), ["500000000000"])
        self.assertEqual(self.crossings("bandwidth"), [])
        self.invoice("--finalize", "--account", 1)
        self.take(row(102, "2026-10-30T00:00:00Z", bytes=10**9), balancer(10**6))
        for kind in ("volume", "balancer_requests"):
            self.assertEqual(self.crossings(kind, month="2026-11"), [])

    def test_a_flat_that_a_book_in_mid_month_leaves_out_is_explained(self):
        """A flat is charged by the book in force when its tier is entered: here of two books none, or one."""
        open_tier = {"from": "500", "to": None, "price": "0.004", "flat": "50"}
        for name, mode, tiers, start in (
                ("va", "volume", [{"from": "0", "to": "500", "price": "0.005", "flat": "1"}, open_tier], "2026-09-01"),
                ("vb", "volume", [{"from": "0", "to": None, "price": "0.004", "flat": "5"}], "2026-10-06"),
                ("ga", "graduated", [{"from": "0", "to": "500", "price": "0.005", "flat": "1"}, open_tier], "2026-09-01"),
                ("gb", "graduated", [{"from": "0", "to": None, "price": "0.004", "flat": "5"}], "2026-10-06")):
            other = {"ga": "va", "gb": "vb"}.get(name)
            book = {**BOOK, "book": name, "effective_from": f"{start}T00:00:00Z", **({"supersedes": other} if other else {}),
                    "bandwidth": {"volume": {"per": "GB", "mode": mode, "tiers": tiers}}}
            self.run_tool("book", "--db", "t.db", "-", stdin=json.dumps(book).encode())
            if name == "vb":
                self.take(row(102, "2026-10-04T05:00:00Z", bytes=450 * 10**9),
                          row(102, "2026-10-09T22:00:00Z", bytes=100 * 10**9))
                self.assertEqual(self.flats("2.2"), [("va", "500000000000", "50", False), ("vb", "0", "5", False)])
        self.assertEqual(self.flats("3.65"), [("ga", "0", "1", True), ("ga", "500000000000", "50", False),
                                              ("gb", "0", "5", False)])
        self.invoice("--finalize", "--account", 1)
        self.assertEqual(len(self.flats("3.65")), 3)

    def flats(self, exact):
        line = next(l for l in self.invoices("--account", 1)[0]["lines"] if l["kind"] == "volume")
        self.assertEqual(line["exact"], exact)
        explained = json.loads(self.invoice("--account", 1, "--explain", line["line"]).out)
        for flat in explained["flats"]:
            self.assertEqual("why" in flat, not flat["charged"])
        return [(f["book"], f["from"], f["flat"], f["charged"]) for f in explained["flats"]]

    def test_a_final_line_is_explained_as_it_stood(self):
        self.october()
        final = self.invoices("--finalize", "--account", 1)[0]
        self.take(row(101, "2026-10-30T00:00:00Z", bytes=200 * 10**9), balancer(2000000))
        for line in final["lines"]:
            explained = json.loads(self.invoice("--account", 1, "--explain", line["line"]).out)
            self.assertEqual(explained["invoice"], final["number"])
            self.assertTrue(explained["agrees"], explained)
            if line["evidence"]:
                self.assertEqual(explained["sum"], line["quantity"])

    # --- ledger ---

    def ledger(self, *words, **more):
        return self.run_tool("ledger", *words, **more)

    def entries(self, account=1):
        out = self.ledger("--db", "t.db", "--account", account, "--format", "table").out.splitlines()
        return [line.split("\t") for line in out[1:]]

    def test_the_balance_is_the_sum_of_what_was_entered(self):
        self.october()
        pay = ("pay", "--db", "t.db", "--account", 1, "--amount", "100.00", "--reference", "wire 1")
        self.assertIn("balance of 100", self.ledger(*pay).err)
        self.assertIn("nothing changed", self.ledger(*pay).err)
        self.invoice("--finalize", "--account", 1)
        self.ledger("adjust", "--db", "t.db", "--account", 1, "--amount", "-0.26", "--reference",
                    "gesture", "--note", "after a call")
        rows = self.entries()
        self.assertEqual([(r[2], r[3], r[5]) for r in rows],
                         [("payment", "100", "wire 1"), ("invoice", "-19.74", "2026-000001"),
                          ("adjustment", "-0.26", "gesture"), ("balance", "80", "")])
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001")
        self.assertEqual(self.entries()[-1][3], "99.74")

    def test_what_the_ledger_refuses(self):
        for words in (["--amount", "0"], ["--amount", "1e3"], ["--amount", "-5"],
                      ["--amount", "0.005"], ["--amount", "1000000000000000.01"],
                      ["--amount", "5", "--reference", "x" * 64]):
            if "--reference" not in words:
                words = words + ["--reference", "r"]
            self.ledger("pay", "--db", "t.db", "--account", 1, *words, status=2)
        self.ledger("pay", "--db", "t.db", "--account", 1, "--amount", "5", status=2)
        self.ledger("--db", "t.db", "--account", 9, status=2)
        self.assertEqual(len(self.entries()), 1)

    # --- runs ---

    def many(self, n=120):
        catalog = {"accounts": [{"id": i, "name": f"a{i}"} for i in range(1, n + 1)],
                   "zones": [{"id": 1000 + i, "account": i, "name": f"z{i}",
                              "created": "2026-01-01T00:00:00Z"} for i in range(1, n + 1)]}
        self.apply(json.dumps(catalog))

    def test_a_killed_run_is_completed_without_a_number_lost_or_doubled(self):
        self.many()
        words = ("invoice", "--db", "t.db", "--month", "2026-10", "--finalize")
        for _ in range(4):
            process = self.start(*words, stdout=-3)
            count = len(self.stored())
            self.wait_for(lambda: process.poll() is not None or len(self.stored()) > count + 3)
            process.send_signal(signal.SIGKILL)
            process.wait()
        done = self.run_tool(*words)
        numbers = [i["number"] for i in json.loads(done.out)["invoices"]]
        self.assertEqual(sorted(numbers), [f"2026-{i:06}" for i in range(1, 121)])
        self.verify()

    def stored(self):
        with sqlite3.connect(f"file:{self.folder / 't.db'}?mode=ro", uri=True) as db:
            return [r[0] for r in db.execute("SELECT number FROM invoice ORDER BY 1")]

    def test_options_that_exclude_each_other_are_named(self):
        for words in (["--finalize", "--explain", 1], ["--empty"], ["--void", "x", "--late"],
                      ["--account", 1, "--explain", 1, "--format", "csv"]):
            self.invoice(*words, status=2)
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", "--account", 1, status=2)

    def test_verify_finds_a_changed_byte_of_an_invoice(self):
        self.october()
        self.invoice("--finalize")
        with sqlite3.connect(self.folder / "t.db") as db:
            for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type='trigger' AND "
                                      "tbl_name='invoice'").fetchall():
                db.execute(f"DROP TRIGGER {name}")
            db.execute("UPDATE invoice SET document=replace(document,'\"amount\":\"3.00\"',"
                       "'\"amount\":\"2.00\"') WHERE number='2026-000001'")
        done = self.run_tool("verify", "--db", "t.db", "--format", "table", status=1)
        self.assertIn("2026-000001", done.out)


if __name__ == "__main__":
    unittest.main()
