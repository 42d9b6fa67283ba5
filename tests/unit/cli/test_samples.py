"""Accounts with samples: bytes of request logs by 5 minutes, in percentiles and in bills at 95/5, summed here by itself."""
import json
import math
import random
import unittest
from datetime import datetime, timedelta, timezone
from fractions import Fraction

from test_meters import BOOK
from tool import Case, random_seed

SEED = random_seed()
AUGUST, SEPTEMBER, OCTOBER, NOVEMBER, DECEMBER = (f"2026-{month:02}-02T12:00:00Z" for month in range(8, 13))
BEGIN = datetime(2026, 10, 1, tzinfo=timezone.utc)
ZONES = {101: 1, 102: 1, 201: 2}
INTERVALS = 31 * 288
PRICES = {**BOOK, "bandwidth": {**BOOK["bandwidth"], "percentile": {
    "per": "Mbps", "percentile": "95", "tiers": [{"from": "0", "to": None, "price": "0.80"}]}}}


def catalog(samples):
    accounts = [{"id": account, "name": f"account-{account}", "contract": {"bandwidth": "percentile"},
                 **({"samples": True} if account in samples else {})} for account in (1, 2)]
    zones = [{"id": zone, "account": account, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z"} for zone, account in ZONES.items()]
    return json.dumps({"accounts": accounts, "zones": zones})


def line(zone, at, sent):
    return f"HIT|200|{int(at.timestamp() * 1000) + 999}|{sent}|{zone}|192.0.2.1|-|https://z.example/a|DE|curl|{'0' * 32}|DE\n"


class Samples(Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.apply(catalog({1}), now=AUGUST)
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(PRICES)), now=AUGUST)

    def log(self, name="log", zones=tuple(ZONES), n=2000):
        """A log of October: (its path, {(zone, interval): bytes})."""
        used, lines = {}, []
        for _ in range(n):
            zone, second = self.rng.choice(zones), self.rng.randrange(31 * 86400)
            sent = self.rng.choice((0, 1, self.rng.randrange(10**9), self.rng.randrange(10**12)))
            lines.append(line(zone, BEGIN + timedelta(seconds=second), sent))
            used[zone, second // 300] = used.get((zone, second // 300), 0) + sent
        return self.write(name, "".join(lines)), used

    def ingest(self, path, *words, now=NOVEMBER):
        return self.run_tool("ingest", "--db", "t.db", *words, path, now=now)

    def sums(self, used, zones, size=1):
        """Bytes in each bucket of `size` intervals."""
        sums = [0] * (INTERVALS // size)
        for (zone, interval), sent in used.items():
            if zone in zones:
                sums[interval // size] += sent
        return sums

    def billed(self, sums):
        return sorted(sums, reverse=True)[math.floor(Fraction(5, 100) * len(sums))]

    def percentile(self, *words, now=NOVEMBER):
        return json.loads(self.run_tool("percentile", "--db", "t.db", "--month", "2026-10", *words, now=now).out)

    def percentile_line(self, account, month="2026-10", now=NOVEMBER):
        done = self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize", "--account", account, now=now)
        lines = json.loads(done.out)["invoices"][0]["lines"]
        return next(one for one in lines if one["kind"] == "percentile")

    def compare(self, found, sums, seconds):
        self.assertEqual((found["bucket_seconds"], found["buckets"]), (seconds, len(sums)))
        self.assertEqual(int(found["billed"]["bytes"]), self.billed(sums))
        self.assertEqual(int(found["peak"]["bytes"]), max(sums))
        at = BEGIN + timedelta(seconds=sums.index(max(sums)) * seconds)
        self.assertEqual(found["peak"]["at"], at.strftime("%Y-%m-%dT%H:%M:%SZ"))

    def verify(self):
        self.run_tool("verify", "--db", "t.db")

    def test_a_month_is_billed_by_its_intervals(self):
        path, used = self.log()
        self.ingest(path)
        self.compare(self.percentile("--account", 1), self.sums(used, {101, 102}), 300)
        self.compare(self.percentile("--zone", 102), self.sums(used, {102}), 300)
        self.compare(self.percentile("--account", 2), self.sums(used, {201}, 12), 3600)
        sums = self.sums(used, {101, 102})
        one = self.percentile_line(1)
        self.assertEqual(one["quantity"], str(self.billed(sums)))
        exact = Fraction(self.billed(sums) * 8, 300 * 10**6) * Fraction("0.80")
        self.assertEqual(Fraction(one["amount"]), Fraction(math.floor(exact * 100 + Fraction(1, 2)), 100))
        begin, end = (datetime.fromisoformat(one["evidence"][word].replace("Z", "+00:00")) for word in ("from", "to"))
        self.assertEqual(end - begin, timedelta(minutes=5))
        self.assertEqual(sums[int((begin - BEGIN).total_seconds()) // 300], self.billed(sums))
        self.assertEqual(self.percentile_line(2)["quantity"], str(self.billed(self.sums(used, {201}, 12))))
        self.verify()

    def test_usage_of_the_meter_is_that_of_the_hours_and_has_no_price(self):
        path, used = self.log(n=300)
        self.ingest(path)
        out = json.loads(self.run_tool("meter", "usage", "--db", "t.db", "bandwidth", "--from", "2026-10-01", "--to", "2026-11-01",
                                       "--window", "HOUR", "--group-by", "resource", "--format", "json", now=NOVEMBER).out)
        found = {(int(w["resource"]), w["start"]): int(w["value"]) for w in out["data"]}
        hours = {}
        for (zone, interval), sent in used.items():
            start = (BEGIN + timedelta(hours=interval // 12)).strftime("%Y-%m-%dT%H:%M:%SZ")
            if ZONES[zone] == 1 and sent:
                hours[zone, start] = hours.get((zone, start), 0) + sent
        self.assertEqual(found, hours)
        intake = json.loads(self.run_tool("intake", "--db", "t.db", "--month", "2026-10", "--format", "json", now=NOVEMBER).out)
        self.assertEqual((intake["unpricedMeters"], intake["unpricedPercentiles"]), ([], []))

    def test_intake_lists_accounts_whose_book_has_no_percentile(self):
        """From the last hour of November on none has one; account 3's contract does not ask for it."""
        book = {**BOOK, "book": "without", "effective_from": "2026-11-30T23:00:00Z"}
        self.run_tool("book", "--db", "t.db", self.write("more.json", json.dumps(book)), now=AUGUST)
        declared = json.loads(catalog({1}))
        declared["accounts"].append({"id": 3, "name": "account-3"})
        self.apply(json.dumps(declared), now=SEPTEMBER)
        for month, accounts in (("2026-10", []), ("2026-11", [1, 2]), ("2026-12", [1, 2])):
            told = json.loads(self.run_tool("intake", "--db", "t.db", "--month", month, "--format", "json", now=NOVEMBER).out)
            self.assertEqual(told["unpricedPercentiles"], accounts, month)
        rows = self.run_tool("intake", "--db", "t.db", "--month", "2026-11", "--format", "table", now=NOVEMBER).out
        self.assertIn("no price\t-\tbandwidth at a percentile of account 2\n", rows)

    def test_a_month_that_is_not_whole_is_billed_by_its_hours(self):
        path, used = self.log(zones=(101, 102))
        self.apply(catalog(set()), now=SEPTEMBER)
        self.ingest(path)
        self.apply(catalog({1}), now="2026-11-03T00:00:00Z")
        self.compare(self.percentile("--account", 1), self.sums(used, {101, 102}, 12), 3600)
        more, later = self.log("later", zones=(101,), n=100)
        self.ingest(more, now="2026-11-04T00:00:00Z")
        for key, sent in later.items():
            used[key] = used.get(key, 0) + sent
        sums = self.sums(used, {101, 102}, 12)
        self.compare(self.percentile("--account", 1), sums, 3600)
        self.assertEqual(self.percentile_line(1, now="2026-11-05T00:00:00Z")["quantity"], str(self.billed(sums)))

    def test_a_row_of_hours_makes_the_hours_count(self):
        path, used = self.log(zones=(101,))
        self.ingest(path)
        self.compare(self.percentile("--account", 1), self.sums(used, {101}), 300)
        row = {"zone": 101, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 7}
        self.run_tool("import", "--db", "t.db", self.write("rows", json.dumps(row) + "\n"), now=NOVEMBER)
        used[101, (2 * 24 + 5) * 12] = used.get((101, (2 * 24 + 5) * 12), 0) + 7
        self.compare(self.percentile("--account", 1), self.sums(used, {101}, 12), 3600)
        self.run_tool("import", "--withdraw", "--db", "t.db", "rows", now=NOVEMBER)
        self.assertEqual(self.percentile("--account", 1)["bucket_seconds"], 300)

    def test_a_withdrawal_takes_out_what_its_log_counted(self):
        first, used = self.log("first")
        second, _ = self.log("second")
        third, third_used = self.log("third", zones=(201,))
        self.ingest(first)
        self.ingest(second, "--threads", "2")
        self.ingest(third)
        self.apply(catalog({2}), now="2026-11-03T00:00:00Z")
        fourth, fourth_used = self.log("fourth", zones=(201,))
        self.ingest(fourth, now="2026-11-03T00:00:00Z")
        self.run_tool("ingest", "--withdraw", "--db", "t.db", second, now="2026-11-04T00:00:00Z")
        self.compare(self.percentile("--account", 1), self.sums(used, {101, 102}), 300)
        self.run_tool("ingest", "--withdraw", "--db", "t.db", first, now="2026-11-04T00:00:00Z")
        self.run_tool("ingest", "--withdraw", "--db", "t.db", third, now="2026-11-04T00:00:00Z")
        self.compare(self.percentile("--account", 2), self.sums(fourth_used, {201}), 300)
        self.assertEqual(int(self.percentile("--account", 1)["peak"]["bytes"]), 0)
        self.run_tool("ingest", "--withdraw", "--db", "t.db", fourth, now="2026-11-04T00:00:00Z")
        self.assertEqual(int(self.percentile("--account", 2)["peak"]["bytes"]), 0)
        self.verify()

    def test_late_lines_correct_the_interval(self):
        path, used = self.log(zones=(101, 102), n=6000)
        self.ingest(path)
        before = self.billed(self.sums(used, {101, 102}))
        self.assertEqual(self.percentile_line(1)["quantity"], str(before))
        more, later = self.log("later", zones=(101, 102), n=6000)
        self.ingest(more, now="2026-11-20T00:00:00Z")
        for key, sent in later.items():
            used[key] = used.get(key, 0) + sent
        after = self.billed(self.sums(used, {101, 102}))
        done = self.run_tool("invoice", "--db", "t.db", "--month", "2026-11", "--finalize", "--account", 1, now=DECEMBER)
        lines = json.loads(done.out)["invoices"][0]["lines"]
        price = Fraction(8, 300 * 10**6) * Fraction("0.80")
        cents = [math.floor(price * sent * 100 + Fraction(1, 2)) for sent in (before, after)]
        self.assertEqual(sum(Fraction(one["amount"]) for one in lines), Fraction(cents[1] - cents[0], 100))
        self.verify()

    def test_the_catalogue_keeps_the_meter_to_itself(self):
        shown = json.loads(self.run_tool("catalog", "show", "--db", "t.db").out)
        self.assertEqual(shown.get("meters", []), [])
        self.assertIs(shown["accounts"][0]["samples"], True)
        again = self.write("again.json", json.dumps(shown))
        self.run_tool("apply", "--db", "t.db", again, now=OCTOBER)
        for word, value in (("meter", "bandwidth"), ("resource", "pull_zone")):
            meter = {"meter": "m", "kind": "counter", "unit": "byte", word: value}
            path = self.write("bad.json", json.dumps({**json.loads(catalog(set())), "meters": [meter]}))
            done = self.run_tool("apply", "--db", "t.db", path, status=2, now=OCTOBER)
            self.assertIn(f"meters[0].{word}", done.err)
        path = self.write("bad.json", catalog({1}).replace("true", '"yes"'))
        self.assertIn("accounts[0].samples", self.run_tool("apply", "--db", "t.db", path, status=2, now=OCTOBER).err)


if __name__ == "__main__":
    unittest.main()
