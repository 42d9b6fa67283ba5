"""percentile: compared with a second opinion in Python on random portfolios, and its refusals."""
import json
import math
import random
import unittest
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from tool import Case, random_seed

SEED = random_seed()
LATER, NOVEMBER = "2027-03-01T00:00:00Z", "2026-11-20T12:30:00Z"
CATALOG = {"accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
           "zones": [{"id": 101, "account": 1, "name": "video", "type": "premium"},
                     {"id": 102, "account": 1, "name": "static", "type": "volume"},
                     {"id": 201, "account": 2, "name": "live", "type": "premium"}]}


def hours_of(month):
    begin = datetime.strptime(month, "%Y-%m").replace(tzinfo=timezone.utc)
    end = (begin + timedelta(days=32)).replace(day=1)
    return [begin + timedelta(hours=h) for h in range(int((end - begin).total_seconds()) // 3600)]


def stamp(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def mbit(sum_bytes):
    """Half up at six digits, as text."""
    units = math.floor(Fraction(sum_bytes * 8, 3600) + Fraction(1, 2))
    text = f"{units // 10**6}.{units % 10**6:06}".rstrip("0").rstrip(".")
    return text


def select(sums, percentile):
    discarded = math.floor((100 - Fraction(percentile)) * len(sums) / 100)
    return discarded, sorted(sums, reverse=True)[discarded] if sums else 0


class Percentile(Case):
    def setUp(self):
        super().setUp()
        self.rng = random.Random(SEED)
        self.apply(json.dumps(CATALOG))

    def fill(self, month, share=1.0):
        """Random hours of both of account 1's zones: {zone: {hour: bytes}}, 0 with requests too."""
        usage, rows = {101: {}, 102: {}}, []
        for zone in usage:
            for hour in hours_of(month):
                if self.rng.random() > share:
                    continue
                sent = self.rng.choice((0, 1, 450000000, self.rng.randrange(10 ** 12)))
                for place in self.rng.sample(("DE", "NY", "SG"), self.rng.randint(1, 2)):
                    rows.append({"zone": zone, "hour": stamp(hour), "region": place,
                                 "requests": 1, "bytes": sent})
                    usage[zone][hour] = usage[zone].get(hour, 0) + sent
        self.run_tool("import", "--db", "t.db", "-",
                      stdin="".join(json.dumps(r) + "\n" for r in rows).encode(), now=LATER)
        return usage

    def ask(self, *words, now=LATER):
        return json.loads(self.run_tool("percentile", "--db", "t.db", *words, now=now).out)

    def compare(self, answer, sums, percentile="95"):
        discarded, value = select(list(sums.values()), percentile)
        billed = answer["billed"]
        self.assertEqual((billed["discarded"], billed["bytes"]), (discarded, str(value)))
        self.assertEqual(billed["mbit_per_second"], mbit(value))
        self.assertEqual(sums[datetime.strptime(billed["at"], "%Y-%m-%dT%H:%M:%S%z")], value)

    def test_zones_and_accounts_agree_with_python(self):
        for month, share in (("2026-10", 0.9), ("2026-02", 0.04), ("2024-02", 1)):
            usage = self.fill(month, share)
            hours = hours_of(month)
            zone = {h: usage[101].get(h, 0) for h in hours}
            both = {h: zone[h] + usage[102].get(h, 0) for h in hours}
            for percentile in ("95", "90", "99.9", "100", "50.5"):
                words = ("--month", month, "--percentile", percentile)
                answer = self.ask("--zone", 101, *words)
                self.compare(answer, zone, percentile)
                self.assertEqual(answer["missing"], sum(h not in usage[101] for h in hours))
                self.compare(self.ask("--account", 1, *words), both, percentile)
            self.assertEqual(answer["buckets"], len(hours))
            self.assertEqual(answer["bucket_seconds"], 3600)

    def test_commit_counts_what_may_still_come(self):
        usage = self.fill("2026-11")
        hours = hours_of("2026-11")
        sums = [usage[101].get(h, 0) for h in hours]
        for commit in ("0", "0.000001", "1", "900", "2000", str(self.rng.randrange(3000))):
            answer = self.ask("--zone", 101, "--commit", commit, now=NOVEMBER)["commit"]
            above = sum(s * 8 > Fraction(commit) * 3600 * 10 ** 6 for s in sums)
            self.assertEqual(answer["above"], above)
            self.assertEqual(answer["passed"], above > 36)
            self.assertEqual(answer["more"], max(0, 36 - above))

    def test_a_running_month_takes_the_hours_that_are_over(self):
        usage = self.fill("2026-11")
        hours = hours_of("2026-11")
        over = 19 * 24 + 12
        answer = self.ask("--zone", 101, now=NOVEMBER)
        self.assertTrue(answer["running"])
        self.assertEqual((answer["over"], answer["buckets"]), (over, 720))
        self.compare(answer, {h: usage[101].get(h, 0) for h in hours[:over]})
        self.assertEqual(answer["least"]["bytes"],
                         str(select([usage[101].get(h, 0) for h in hours], "95")[1]))
        table = self.run_tool("percentile", "--db", "t.db", "--zone", 101, "--format", "table",
                              "--commit", "1000000", now=NOVEMBER).out
        self.assertIn("36 more may come before the percentile passes it", table)

    def test_an_account_without_traffic_is_zero_and_all_missing(self):
        answer = self.ask("--account", 2, "--month", "2026-10")
        self.assertEqual(answer["billed"]["mbit_per_second"], "0")
        self.assertEqual(answer["missing"], 744)

    def test_refusals_name_the_option_and_the_remedy(self):
        for words, status, text in (
                ((), 2, "--zone: It is missing. Give it, or an account."),
                (("--zone", 999), 2, "SELECT id, account"),
                (("--account", 9), 2, "tollbook apply"),
                (("--account", 2, "--zone", 101), 2, "no pull zone 101 of account 2"),
                (("--zone", 101, "--month", "2026-13"), 2, "Write it like 2026-10"),
                (("--zone", 101, "--month", "2027-04"), 2, "future"),
                (("--zone", 101, "--percentile", "0"), 2, "above 0"),
                (("--zone", 101, "--percentile", "95%"), 2, "--percentile"),
                (("--zone", 101, "--commit", "1e3"), 2, "--commit"),
                (("--zone", 101, "--commit", "-1"), 2, "not negative")):
            done = self.run_tool("percentile", "--db", "t.db", *words, status=status, now=LATER)
            self.assertIn(text, done.err)


if __name__ == "__main__":
    unittest.main()
