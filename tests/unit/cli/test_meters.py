"""A month of meters, from usage lines to invoices, corrections and explanations; sums are made here by themselves."""
import json
import unittest
from datetime import datetime, timezone
from fractions import Fraction

from money import Ledger

METERS = [
    {"meter": "requests", "name": "Edge script requests", "kind": "counter", "unit": "request", "resource": "script",
     "dimensions": ["region"]},
    {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "display": {"unit": "GB", "per": "1000000000"},
     "resource": "zone", "dimensions": ["region"]},
    {"meter": "port", "name": "Transit", "kind": "sample", "unit": "byte", "interval": 300, "resource": "port"}]
BOOK = {"book": "m", "currency": "USD", "effective_from": "2026-02-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}},
        "meters": {
            "requests": {"per": "1000", "mode": "graduated", "tiers": [{"from": "0", "to": "5", "price": "2"},
                                                                     {"from": "5", "to": None, "price": "1"}]},
            "storage": {"per": "GB", "time": "hour", "by": "region", "prices": {"DE": {"price": "0.5"}, "*": {"price": "1"}}},
            "port": {"percentile": "95", "per": "Mbps", "tiers": [{"from": "0", "to": None, "price": "0.25"}]}}}
CATALOG = {"accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}], "meters": METERS}
SEPTEMBER, OCTOBER = "2026-09-01T00:00:00Z", "2026-10-05T12:00:00Z"
NOVEMBER, DECEMBER, JANUARY = "2026-11-03T12:00:00Z", "2026-12-03T12:00:00Z", "2027-01-03T12:00:00Z"
GB = 10**9


def seconds(text):
    return int(datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc).timestamp())


class Meters(Ledger):
    def setUp(self):
        super(Ledger, self).setUp()
        self.apply(json.dumps(CATALOG), now=SEPTEMBER)
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)), now=SEPTEMBER)

    def send(self, *lines, now=NOVEMBER, name=None):
        body = "".join(json.dumps({"account": 1, **line}) + "\n" for line in lines)
        path = self.write(name or f"lines-{hash(body) & 0xffffffff}.ndjson", body)
        self.run_tool("import", "--db", "t.db", path, now=now)
        return path

    def requests(self, hour, value, region="DE", resource="s-1"):
        return {"meter": "requests", "resource": resource, "hour": hour, "dimensions": {"region": region}, "value": value}

    def storage(self, time, value, region="DE", resource="z-1"):
        return {"meter": "storage", "resource": resource, "time": time, "dimensions": {"region": region}, "value": value}

    def lines(self, document):
        return {(one["kind"], one["resource"], one["region"] or ""): (one["quantity"], one["amount"]) for one in document["lines"]}

    def explain(self, line, *words, month="2026-10", now=DECEMBER):
        return json.loads(self.run_tool("invoice", "--db", "t.db", "--month", month, "--account", 1, "--explain", line, *words, now=now).out)

    def month(self):
        """4,000 requests, then 3,000 more; 2 GB for 100 hours in DE; 1 GB from August on in US."""
        self.send(self.requests("2026-10-03T05:00:00Z", 4000), self.requests("2026-10-09T07:00:00Z", 500),
                  self.requests("2026-10-09T08:00:00Z", 2500, region="US"),
                  self.storage("2026-08-01T00:00:00Z", GB, region="US"),
                  self.storage("2026-10-01T00:00:00Z", 2 * GB), self.storage("2026-10-05T04:00:00Z", 0),
                  *({"meter": "port", "resource": "p-1", "time": f"2026-10-{1 + i // 24:02}T{i % 24:02}:10:00Z", "value": 375 * 10**6}
                    for i in range(500)))

    def test_a_month_of_meters_is_billed_and_explained(self):
        self.month()
        document, = self.finalize("--account", 1)
        self.assertEqual(self.lines(document), {
            ("meter", "meter:port", ""): ("375000000", "2.50"),  # 10 Mbit/s; 500 of 8,928 intervals are more than 446
            ("meter", "meter:requests", ""): ("7000", "12.00"),
            ("meter", "meter:storage", "DE"): (str(2 * GB * 100 * 3600), "100.00"),
            ("meter", "meter:storage", "US"): (str(GB * 31 * 86400), "744.00")})
        self.verify()
        numbers = {one["resource"] + (one["region"] or ""): one["line"] for one in document["lines"]}
        told = self.explain(numbers["meter:requests"])
        self.assertEqual((told["sum"], told["agrees"]), ("7000", True))
        self.assertEqual([(one["day"][:10], one["quantity"]) for one in told["days"]], [("2026-10-03", "4000"), ("2026-10-09", "3000")])
        self.assertEqual([(one["hour"], one["before"], one["after"]) for one in told["crossings"]],
                         [("2026-10-09T08:00:00Z", "4500", "7000")])
        told = self.explain(numbers["meter:storageDE"])
        self.assertEqual((told["sum"], told["agrees"], len(told["days"])), (str(2 * GB * 100 * 3600), True, 5))
        self.assertEqual(told["days"][4]["quantity"], str(2 * GB * 4 * 3600))
        told = self.explain(numbers["meter:port"])
        self.assertEqual((told["agrees"], told["line"]["evidence"]["from"][:10]), (True, "2026-10-01"))

    def test_lines_of_each_scope_are_explained_by_the_hours_of_their_books(self):
        """A book of other scopes is in force from 13:00 to 20:00 on the 15th: both ways have lines of their own."""
        between = {**BOOK, "book": "other", "effective_from": "2026-10-15T13:00:00Z", "meters": {
            **BOOK["meters"], "requests": {"per": "1000", "scope": "resource", "by": "region", "prices": {"*": {"price": "3"}}},
            "storage": {"per": "GB", "time": "hour", "price": "2"}}}
        for book in (between, {**BOOK, "book": "back", "effective_from": "2026-10-15T20:00:00Z"}):
            self.run_tool("book", "--db", "t.db", self.write(book["book"] + ".json", json.dumps(book)), now=SEPTEMBER)
        self.send(*(self.requests(f"2026-10-15T{hour:02}:00:00Z", hour + 1, region="US" if hour % 2 else "DE") for hour in range(24)),
                  self.storage("2026-10-15T10:30:00Z", GB), self.storage("2026-10-15T21:30:00Z", 0))
        document, = self.finalize("--account", 1)
        self.assertEqual({key: quantity for key, (quantity, _) in self.lines(document).items()}, {
            ("meter", "meter:requests", ""): str(300 - 119),
            ("meter", "script:s-1", "DE"): "51", ("meter", "script:s-1", "US"): "68",
            ("meter", "meter:storage", "DE"): str(GB * 4 * 3600), ("meter", "meter:storage", ""): str(GB * 7 * 3600)})
        for one in document["lines"]:
            told = self.explain(one["line"])
            self.assertEqual((told["sum"], told["agrees"]), (one["quantity"], True), one)
        self.verify()

    def test_an_account_of_many_resources_has_a_forecast(self):
        """Their days are more than one answer of `meter usage` may have."""
        body = "".join(f'{{"meter":"requests","account":1,"resource":"s-{n}","hour":"2026-10-{day:02}T05:00:00Z",'
                       '"dimensions":{"region":"DE"},"value":10}\n' for day in range(1, 29) for n in range(1800))
        self.run_tool("import", "--db", "t.db", self.write("many.ndjson", body), now="2026-10-29T00:00:00Z")
        told = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json", now="2026-10-29T00:00:00Z").out)
        self.assertEqual([(one["meter"], one["so_far"], one["month"]) for one in told["meters"] if one["so_far"] != "0"],
                         [("requests", str(28 * 18000), str(28 * 18000 + 1800 * 38))])  # 3 days and 18 hours at 10 a day

    def test_an_account_whose_gauge_holds_on_is_billed_each_month(self):
        self.send(self.storage("2026-08-01T00:00:00Z", GB))
        for month, now, hours in (("2026-10", NOVEMBER, 744), ("2026-11", DECEMBER, 720)):
            document, = self.finalize(month=month, now=now)
            self.assertEqual(self.lines(document), {("meter", "meter:storage", "DE"): (str(GB * hours * 3600), f"{hours * 0.5:.2f}")})
        self.verify()

    def test_nothing_is_held_while_the_account_is_deleted(self):
        """It is deleted on November 11th, and declared again on January 5th at 06:00."""
        deleted, again, february = "2026-11-11T00:00:00Z", "2027-01-05T06:00:00Z", "2027-02-03T00:00:00Z"
        self.send(self.storage("2026-10-01T00:00:00Z", GB), now=OCTOBER)
        self.finalize()
        self.apply(json.dumps({**CATALOG, "accounts": CATALOG["accounts"][1:]}), now=deleted)
        path = self.write("refused.ndjson", json.dumps({"account": 1, **self.storage("2026-11-12T00:00:00Z", 0, resource="new")}) + "\n")
        self.assertIn('"account" is 1, which no catalogue declares.',
                      self.run_tool("import", "--db", "t.db", path, now="2026-11-12T01:00:00Z", status=2).err)
        document, = self.finalize(month="2026-11", now=DECEMBER)
        self.assertEqual(self.lines(document), {("meter", "meter:storage", "DE"): (str(GB * 240 * 3600), "120.00")})
        told = self.explain(1, month="2026-11")
        self.assertEqual((told["sum"], told["agrees"], len(told["days"])), (str(GB * 240 * 3600), True, 10))
        self.assertIn("There is nothing to invoice in 2026-12.", self.run_tool("invoice", "--db", "t.db", "--month", "2026-12", "--finalize",
                                                                               now=JANUARY, status=1).err)
        self.apply(json.dumps(CATALOG), now=again)
        self.send({**self.requests("2027-02-01T00:00:00Z", 1), "account": 2}, now=february)
        document, = self.finalize(month="2027-01", now=february)
        self.assertEqual(self.lines(document), {("meter", "meter:storage", "DE"): (str(GB * 642 * 3600), "321.00")})
        months = [("2026-10", GB * 744 * 3600), ("2026-11", GB * 240 * 3600), ("2027-01", GB * 642 * 3600)]
        for to, n in (("2027-02-01", 3), ("2026-11-01", 1)):
            out = self.run_tool("meter", "usage", "storage", "--db", "t.db", "--from", "2026-10-01", "--to", to, "--window", "MONTH",
                                "--format", "json", now=february).out
            self.assertEqual([(one["start"][:7], int(one["value"])) for one in json.loads(out)["data"]], months[:n])
        told = self.explain(1, now=february)
        self.assertEqual((told["sum"], told["agrees"], len(told["days"])), (str(GB * 744 * 3600), True, 31))
        out = self.run_tool("query", "--db", "t.db", "--format", "tsv", "SELECT substr(hour,1,7) AS m,sum(value) FROM meter_usage WHERE"
                            " account=1 AND hour<'2027-02' GROUP BY m ORDER BY m").out
        self.assertEqual([tuple(line.split("\t")) for line in out.splitlines()[1:]], [(month, str(value)) for month, value in months])
        self.verify()

    def test_late_usage_and_withdrawn_values_are_corrected(self):
        self.month()
        late = self.send(self.storage("2026-10-31T00:00:00Z", 3 * GB), name="value.ndjson")
        self.finalize("--account", 1)
        self.send(self.requests("2026-10-20T00:00:00Z", 1000), now="2026-11-10T00:00:00Z")
        self.send(self.storage("2026-10-30T00:00:00Z", GB), now="2026-11-11T00:00:00Z")  # a day at 1 GB
        self.run_tool("import", "--withdraw", "--db", "t.db", late, now="2026-11-12T00:00:00Z")      # so it is two days, and November
        documents = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        document = [one for one in documents if one["kind"] == "invoice"][0]
        corrections = [(one["resource"], one["region"] or "", one["quantity"], one["amount"]) for other in documents
                       for one in other["lines"] if one["kind"] == "correction"]
        billed, due = 2 * GB * 100 * 3600 + 3 * GB * 86400, 2 * GB * 100 * 3600 + GB * 2 * 86400
        self.assertEqual(corrections, [("meter:requests", "", "1000", "1.00"),
                                       ("meter:storage", "DE", str(due - billed), f"{(due - billed) / GB / 3600 * 0.5:.2f}")])
        self.assertEqual(self.lines(document)["meter", "meter:storage", "DE"], (str(GB * 30 * 86400), "360.00"))
        self.verify()
        self.assertEqual(json.loads(self.run_tool("invoice", "--db", "t.db", "--late", "--format", "json", now=JANUARY).out)["late"], [])

    def test_a_correction_is_explained_by_the_month_as_it_is_now(self):
        self.month()
        self.finalize("--account", 1)
        self.send(self.requests("2026-10-20T00:00:00Z", 1000), self.storage("2026-10-30T00:00:00Z", GB),
                  self.storage("2026-10-31T00:00:00Z", 0), now="2026-11-10T00:00:00Z")
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        numbers = {one["resource"]: one["line"] for one in document["lines"] if one["kind"] == "correction"}
        for resource, total, days in (("meter:requests", 8000, 3), ("meter:storage", 2 * GB * 100 * 3600 + GB * 86400, 6)):
            told = self.explain(numbers[resource], month="2026-11")
            self.assertEqual((told["sum"], told["period"]["start"], len(told["days"])), (str(total), "2026-10-01T00:00:00Z", days), told)

    def test_late_samples_are_corrected_by_the_percentile(self):
        self.month()
        self.finalize("--account", 1)
        self.send(*({"meter": "port", "resource": "p-1", "time": f"2026-10-{1 + i // 24:02}T{i % 24:02}:30:00Z", "value": 600 * 10**6}
                    for i in range(500)), now="2026-11-10T00:00:00Z")
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        corrections = [(one["resource"], one["amount"]) for one in document["lines"] if one["kind"] == "correction"]
        self.assertEqual(sum(Fraction(amount) for _, amount in corrections), Fraction("1.50"), corrections)  # 16 Mbit/s, not 10
        self.assertEqual({resource for resource, _ in corrections}, {"meter:port"})
        self.verify()

    def test_bandwidth_is_billed_at_a_percentile_where_the_contract_says_so(self):
        book = {"book": "p", "currency": "USD", "effective_from": "2026-09-02T00:00:00Z", "bandwidth": {
            **BOOK["bandwidth"], "percentile": {"per": "Mbps", "percentile": "95", "tiers": [{"from": "0", "to": None, "price": "0.80"}]}}}
        zones = [{"id": zone, "account": account, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z"} for zone, account in
                 ((101, 1), (102, 1), (201, 2))]
        accounts = [{"id": 1, "name": "acme", "contract": {"bandwidth": "percentile"}}, {"id": 2, "name": "borealis"}]
        self.apply(json.dumps({"accounts": accounts, "zones": zones, "meters": METERS}), now=SEPTEMBER)
        self.run_tool("book", "--db", "t.db", self.write("p.json", json.dumps(book)), now=SEPTEMBER)
        rows = [{"zone": zone, "hour": f"2026-10-{1 + i // 20:02}T{i % 20:02}:00:00Z", "region": "DE", "bytes": 225 * GB}
                for i in range(40) for zone in (101, 102, 201)]
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode(), now=NOVEMBER)
        first, second = self.finalize()
        # 37 of 744 hours are discarded, and 450 GB an hour are 1,000 Mbit/s.
        self.assertEqual(self.lines(first), {("percentile", "account:1", ""): (str(450 * GB), "800.00")})
        self.assertEqual(self.lines(second), {("bandwidth", "zone:201", "EU"): (str(9000 * GB), "90.00")})
        self.assertEqual(first["lines"][0]["evidence"]["to"][11:], "01:00:00Z")
        late = [{"zone": 101, "hour": f"2026-10-{1 + i // 20:02}T{i % 20:02}:00:00Z", "region": "DE", "bytes": 225 * GB} for i in range(40)]
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(json.dumps(row) + "\n" for row in late).encode(), now="2026-11-10T00:00:00Z")
        document, = self.finalize("--account", 1, month="2026-11", now=DECEMBER)
        self.assertEqual(sum(Fraction(one["amount"]) for one in document["lines"]), 400)
        self.verify()

    def test_a_late_value_that_changes_nothing_is_not_late(self):
        self.send(self.storage("2026-10-01T00:00:00Z", GB))
        self.finalize("--account", 1)
        self.send(self.storage("2026-10-15T00:00:00Z", GB), now="2026-11-10T00:00:00Z")
        self.assertEqual(json.loads(self.run_tool("invoice", "--db", "t.db", "--late", "--format", "json", now=DECEMBER).out)["late"], [])

    def test_windows_sum_to_the_month(self):
        self.month()

        def usage(meter, *words):
            out = self.run_tool("meter", "usage", meter, "--db", "t.db", "--from", "2026-10-01", "--to", "2026-11-01", "--format", "json",
                                *words, now=NOVEMBER).out
            return json.loads(out)["data"]
        for window in ("HOUR", "DAY", "MONTH"):
            for meter, total in (("requests", 7000), ("storage", 2 * GB * 100 * 3600 + GB * 31 * 86400)):
                self.assertEqual(sum(int(one["value"]) for one in usage(meter, "--window", window)), total, (meter, window))
        self.assertEqual(sum(int(one["value"]) for one in usage("port")), 500 * 375 * 10**6)
        self.assertEqual([one["value"] for one in usage("port", "--window", "MONTH")], ["375000000"])
        self.assertEqual(usage("port", "--window", "MONTH", "--percentile", "94"), [])
        by_region = {one["dimensions"]["region"]: int(one["value"]) for one in usage("storage", "--window", "MONTH", "--group-by", "region")}
        self.assertEqual(by_region, {"DE": 2 * GB * 100 * 3600, "US": GB * 31 * 86400})
        self.assertEqual(Fraction(by_region["DE"], GB * 3600) * Fraction(1, 2), 100)
        rows = self.run_tool("query", "--db", "t.db", "--format", "tsv", "SELECT meter,sum(value),count(*) FROM meter_usage WHERE account=1"
                             " AND hour LIKE '2026-10%' AND dimension_1<>'US' GROUP BY meter ORDER BY meter").out
        self.assertEqual([tuple(line.split("\t")) for line in rows.splitlines()[1:]],
                         [("port", str(500 * 375 * 10**6), "500"), ("requests", "4500", "2"), ("storage", str(2 * GB * 100 * 3600), "100")])


if __name__ == "__main__":
    unittest.main()
