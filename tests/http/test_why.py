"""GET /insights/why: random traffic and bills. What it says of traffic is summed from the virtual table `buckets`, what
it says of money from the lines of invoices and drafts; parts and rest sum to the change, exactly. TB_SEED repeats a run.
"""
import json
import random
import sys
import unittest
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

from harness import Case, Server, run  # noqa: E402
from test_billing import BOOK  # noqa: E402
from test_insights import CLOCK, EDGES, random_log, random_rows  # noqa: E402

COUNTERS = ["requests", "bytes", "cached_bytes", "pulled", "origin_bytes", "shield_bytes", "status_3xx", "status_4xx",
            "status_5xx"]
COLUMNS = [*COUNTERS, "cache_known", "origin_time_ms_sum", "origin_time_count"]
RATIOS = {"hit_rate": 100, "origin_time": 1}
BILLING_REGION = {"DE": "EU", "NY": "NA", "SG": "ASIA"}
ACCOUNTS = {1: "acme", 2: "borealis", 3: "eurasia", 4: "none"}
MONTHS = {"2026-09": ("2026-09-01", "2026-09-30"), "2026-10": ("2026-10-01", "2026-10-31"),
          "2026-11": ("2026-11-01", "2026-11-30")}


def name_of(account, zone):
    return f"{ACCOUNTS[account]}-{zone}"


class Why(Case):
    """September and October are final (October of account 2 is void), November runs."""

    @classmethod
    def setUpClass(cls):
        cls.dice = dice = random.Random(random_seed())
        cls.owner = {101: 1, 102: 1, 103: 1, 104: 1, 105: 1, 106: 1, 203: 2, 204: 2, 301: 3, 302: 3}
        zones = [{"id": z, "account": a, "name": name_of(a, z), "created": "2026-01-05T00:00:00Z",
                  "type": "volume" if z in (103, 104, 105, 203, 204) else "premium"} for z, a in cls.owner.items()]
        zones[0]["settings"] = {"OptimizerEnabled": True}
        catalog = {"accounts": [{"id": a, "name": n, **({"currency": "EUR"} if a == 3 else {})} for a, n in ACCOUNTS.items()],
                   "zones": zones, "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z",
                                                       "deleted": None, "zones": [101]}]}
        catalog["accounts"][0]["contract"] = {"discount_percent": "5"}
        cls.server = Server(log=None)
        cls.addClassCleanup(cls.server.close)
        cls.server.stop()
        db = cls.server.db
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps(catalog).encode())
        for book in (BOOK, {**BOOK, "book": "euro", "currency": "EUR", "minimum_monthly": "0"}):
            run("book", "--db", db, "-", stdin=json.dumps(book).encode())
        busy = [z for z in cls.owner if z != 106]
        priced = random_log(dice, busy, 1500, 64).replace(b"|XX|", b"|DE|")
        run("ingest", "--db", db, "-", stdin=priced)
        big = [{"hour": f"2026-{m:02}-{dice.randrange(1, 29):02}T{dice.randrange(24):02}:00:00Z", "zone": z,
                "region": dice.choice(EDGES[:3]), "bytes": dice.randrange(1 << 43), "requests": dice.randrange(10**6)}
               for z in busy for m in (9, 10) for _ in range(4)]
        big += [{"load_balancer": 7, "hour": f"2026-{m:02}-03T05:00:00Z", "requests": dice.randrange(10**8)}
                for m in (9, 10)]
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in big).encode())
        for month in ("2026-09", "2026-10"):
            run("invoice", "--db", db, "--month", month, "--finalize")
        void = json.loads(run("invoice", "--db", db, "--month", "2026-10", "--account", 2, "--format", "json").stdout)
        run("invoice", "--db", db, "--void", void["invoices"][0]["number"])
        for part in range(3):  # late usage, and rows that wait
            run("ingest", "--db", db, "-", stdin=random_log(dice, busy, 150, 40 - part).replace(b"|XX|", b"|DE|"))
            run("import", "--db", db, "-", stdin=random_rows(dice, busy, 150, 40).replace(b'"XX"', b'"NY"'))
        gone = [z for z in zones if z["id"] != 102]
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps({**catalog, "zones": gone}).encode())
        cls.server.keys["second"] = cls.server.make_key(2, "User")
        cls.server.keys["none"] = cls.server.make_key(4, "User")
        cls.server.keys["money"] = cls.server.make_key(1, "SubuserBilling")
        cls.server.keys["figures"] = cls.server.make_key(1, "SubuserStatistics")
        for role in ("Finance", "Support"):
            cls.server.keys[role] = cls.server.make_key(0, role)
        cls.bills = {month: cls.bills_of(month) for month in MONTHS}
        lines = run("query", "--db", db, "SELECT zone,region,hour," + ",".join(COLUMNS) + " FROM buckets").stdout
        cls.rows = []
        for line in lines.decode().splitlines()[1:]:
            zone, region, hour, *values = line.split("\t")
            cls.rows.append({"zone": int(zone), "account": cls.owner[int(zone)], "region": region,
                             "hour": datetime.fromisoformat(hour.replace("Z", "+00:00")),
                             **dict(zip(COLUMNS, map(int, values)))})
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        pass

    @classmethod
    def bills_of(cls, month):
        """The lines of each account's month: of its invoice, or of its draft without corrections."""
        found = {}
        shown = json.loads(run("invoice", "--db", cls.server.db, "--month", month, "--format", "json", expect=None).stdout)
        for paper in shown["invoices"]:
            if paper["kind"] != "invoice" or paper["state"] == "void":
                continue
            lines = [line for line in paper["lines"]
                     if paper["state"] == "final" or line["kind"] != "correction"]
            found[paper["account"]] = (paper["currency"], lines)
        return found

    def ask(self, key="user", **words):
        query = "&".join(f"{name.rstrip('_')}={quote(str(value))}" for name, value in words.items())
        answer = self.server.get("/insights/why?" + query, key)
        self.assertEqual(answer.status, 200, (answer.body, query))
        return answer.json()

    # --- the form ---

    def check_sums(self, got, top):
        """Parts and rest sum to the change; the largest come first; nothing is shown that has nothing."""
        parts = [*got["parts"], got["rest"]]
        self.assertEqual(sum(Decimal(part["change"]) for part in parts), Decimal(got["change"]), got)
        sizes = [abs(Decimal(part["change"])) for part in got["parts"]]
        self.assertEqual(sizes, sorted(sizes, reverse=True))
        self.assertLessEqual(len(got["parts"]), top)
        if got["field"] in RATIOS:
            return
        for side in ("value", "previous"):
            self.assertEqual(sum(Decimal(part[side]) for part in parts), Decimal(got[side]))
        for part in (got, *parts):
            self.assertEqual(Decimal(part["change"]), Decimal(part["value"]) - Decimal(part["previous"]))
        for part in got["parts"]:
            self.assertTrue(Decimal(part["value"]) or Decimal(part["previous"]), part)

    # --- traffic ---

    def key_of(self, row, by, first, begin):
        if by == "zone":
            return str(row["zone"])
        if by == "account":
            return str(row["account"])
        if by == "region":
            return row["region"]
        if by == "day":
            days = (row["hour"].replace(hour=0) - begin.replace(hour=0)).days
            return f"{first + timedelta(days=days):%Y-%m-%d}"
        return f"{first + (row['hour'] - begin):%Y-%m-%dT%H}"

    def by_key(self, rows, by, first, begin):
        found = defaultdict(lambda: defaultdict(int))
        for row in rows:
            if by == "status":
                classes = {f"{n}xx": row[f"status_{n}xx"] for n in (3, 4, 5)}
                classes["2xx"] = row["requests"] - sum(classes.values())
                for key, value in classes.items():
                    found[key]["requests"] += value
                continue
            for name in COLUMNS:
                found[self.key_of(row, by, first, begin)][name] += row[name]
        return found

    @staticmethod
    def ratio(field, sums):
        if field == "hit_rate":
            known = sums["cache_known"]
            return (max(0, known - sums["pulled"]), known)
        return (sums["origin_time_ms_sum"], sums["origin_time_count"])

    def compare(self, got, field, now, before):
        """now, before: sums by key."""
        keys = sorted(set(now) | set(before))
        total = [defaultdict(int), defaultdict(int)]
        for side, of in enumerate((now, before)):
            for sums in of.values():
                for name, value in sums.items():
                    total[side][name] += value
        shown = {part["key"]: part for part in got["parts"]}
        if field not in RATIOS:
            want = {key: (now[key][field], before[key][field]) for key in keys}
            want = {key: pair for key, pair in want.items() if any(pair)}
            self.assertEqual((got["value"], got["previous"]), (str(total[0][field]), str(total[1][field])))
            self.assertEqual(len(shown) + got["rest"]["count"], len(want))
            order = sorted(want, key=lambda key: (-abs(want[key][0] - want[key][1]),
                                                  int(key) if key.isdigit() else 0, key))
            self.assertEqual([part["key"] for part in got["parts"]], order[:len(shown)])
            for key, part in shown.items():
                self.assertEqual((part["value"], part["previous"]), tuple(map(str, want[key])), key)
            return
        scale = RATIOS[field]
        (n1, d1), (n0, d0) = (self.ratio(field, of) for of in total)
        was = Fraction(n0, d0) if d0 and d1 else Fraction(0)
        for part, sides in ((got, total), *((shown[key], (now[key], before[key])) for key in shown)):
            for name, sums in zip(("value", "previous"), sides):
                top, weight = self.ratio(field, sums)
                if not weight:
                    self.assertIsNone(part[name])
                else:
                    self.assertLess(abs(Fraction(part[name]) - Fraction(scale * top, weight)), Fraction(1, 10**6))
        for key, part in shown.items():
            (a1, w1), (a0, w0) = self.ratio(field, now[key]), self.ratio(field, before[key])
            want = (Fraction(a1, d1) - was * Fraction(w1, d1) if d1 else 0) - \
                   (Fraction(a0, d0) - was * Fraction(w0, d0) if d0 else 0)
            self.assertLess(abs(Fraction(part["change"]) - scale * want), Fraction(1, 10**4), key)

    def random_span(self, hours):
        begin = (CLOCK - timedelta(hours=self.dice.randrange(1, 50 * 24))).replace(minute=0)
        length = self.dice.randrange(1, 20 * 24)
        if not hours:
            begin, length = begin.replace(hour=0), -(-length // 24) * 24
        return begin, timedelta(hours=length)

    @staticmethod
    def written(begin, end, hours):
        if hours:
            return f"{begin:%Y-%m-%dT%H:00Z}", f"{end:%Y-%m-%dT%H:00Z}"
        return f"{begin:%Y-%m-%d}", f"{end - timedelta(days=1):%Y-%m-%d}"

    def test_traffic_is_what_the_buckets_say(self):
        seen = set()
        for _ in range(150):
            field = self.dice.choice([*COUNTERS, *RATIOS])
            key, account = self.dice.choice([("user", 1), ("user", 1), ("second", 2), ("operator", None)])
            bys = ["zone", "region", "day", "hour"] + ["status"] * (field == "requests") + ["account"] * (account is None)
            by = self.dice.choice(bys)
            hours = by == "hour" or self.dice.random() < 0.5
            begin, length = self.random_span(hours)
            against, other = self.random_span(hours)
            if by in ("day", "hour"):
                other = length
                against = against.replace(hour=begin.hour) if by == "day" else against
            words = dict(zip(("from_", "to"), self.written(begin, begin + length, hours)))
            words |= dict(zip(("against_from", "against_to"), self.written(against, against + other, hours)))
            zone = self.dice.choice([None, None, *(z for z, a in self.owner.items() if account in (None, a))])
            region = self.dice.choice([None, None, *EDGES[:3]])
            if by == "account":
                zone = None
            chosen = [row for row in self.rows if account in (None, row["account"]) and zone in (None, row["zone"])
                      and region in (None, row["region"])]
            words |= {**({"zone": zone} if zone else {}), **({"region": region} if region else {})}
            top = self.dice.choice([1, 3, 10, 100])
            got = self.ask(key, field=field, by=by, top=top, **words)
            with self.subTest(field=field, by=by, key=key, **words):
                self.assertEqual(got["field"], field)
                self.check_sums(got, top)
                now = self.by_key([r for r in chosen if begin <= r["hour"] < begin + length], by, begin, begin)
                before = self.by_key([r for r in chosen if against <= r["hour"] < against + other], by, begin, against)
                self.compare(got, field, now, before)
                for part in got["parts"]:
                    if by == "zone":
                        self.assertEqual(part["name"], name_of(self.owner[int(part["key"])], part["key"]))
                    elif by == "account":
                        self.assertEqual(part["name"], ACCOUNTS[int(part["key"])])
                    elif by != "region":
                        self.assertEqual(part["name"], part["key"])
                seen.add(by)
        self.assertEqual(seen, {"zone", "region", "status", "day", "hour", "account"})

    def test_it_is_the_change_that_insights_shows(self):
        for compare in ("previous", "year"):
            for range_ in ("from=2026-10-29&to=2026-11-04", "from=2026-10-01&to=2026-10-31"):
                shown = self.server.get(f"/insights?{range_}&compare={compare}").json()
                against = shown["compare"]
                for name, field in (("TotalBandwidthUsed", "bytes"), ("TotalRequestsServed", "requests")):
                    got = self.ask(field=field, by="zone", from_=shown["from"], to=shown["to"],
                                   against_from=against["from"], against_to=against["to"])
                    self.assertEqual((int(got["value"]), int(got["previous"])),
                                     (shown["totals"][name], shown["previous"][name]))

    # --- money ---

    @staticmethod
    def zone_of(line):
        return line["resource"][5:] if line["resource"].startswith("zone:") else ""

    def money_by(self, months, by, account, zone=None):
        """Sums of lines by key; regions of volume are left in None."""
        found, region_bytes = defaultdict(Decimal), Decimal(0)
        for month in months:
            for owner, (currency, lines) in self.bills[month].items():
                if (account is not None and owner != account) or (account is None and currency != "USD"):
                    continue
                for line in lines:
                    amount = Decimal(line["amount"])
                    if line.get("shares"):
                        self.assertEqual(sum(Decimal(s["amount"]) for s in line["shares"]), amount)
                        for share in line["shares"]:
                            if zone and share["zone"] != zone:
                                continue
                            key = {"zone": str(share["zone"]), "product": line["kind"], "region": None,
                                   "account": str(owner)}[by]
                            found[key] += Decimal(share["amount"])
                    elif not zone or self.zone_of(line) == str(zone):
                        key = {"zone": self.zone_of(line), "product": line["kind"], "region": line.get("region") or "",
                               "account": str(owner)}[by]
                        found[key] += amount
        return found

    def test_charges_are_the_lines_of_the_bills(self):
        spans = [(["2026-10"], ["2026-09"]), (["2026-11"], ["2026-10"]), (["2026-10", "2026-11"], ["2026-09"]),
                 (["2026-09"], ["2026-11"])]
        for now, before in spans:
            words = {"from_": MONTHS[now[0]][0], "to": MONTHS[now[-1]][1], "against_from": MONTHS[before[0]][0],
                     "against_to": MONTHS[before[-1]][1]}
            for key, account in (("user", 1), ("second", 2), ("operator", 3), ("money", 1), ("operator", None)):
                for by in ("zone", "product", "region") + (("account",) if account is None else ()):
                    for zone in (None, *([101, 103] if account == 1 else [])):
                        more = {**({"zone": zone} if zone else {}), **({"account": account} if key == "operator" and account else {}),
                                **({"currency": "USD"} if account is None else {})}
                        top = self.dice.choice([1, 2, 100])
                        got = self.ask(key, field="charges", by=by, top=top, **words, **more)
                        with self.subTest(key=key, by=by, zone=zone, **words):
                            self.check_money(got, by, top, self.money_by(now, by, account, zone),
                                             self.money_by(before, by, account, zone))
                            self.assertEqual(got.get("currency"), "EUR" if account == 3 else "USD")

    def check_money(self, got, by, top, now, before):
        self.check_sums(got, top)
        self.assertEqual((Decimal(got["value"]), Decimal(got["previous"])), (sum(now.values()), sum(before.values())))
        self.assertRegex(got["change"], r"^-?\d+\.\d\d$")
        if by == "region":  # volume is divided: what is shown beyond the lines of a region is its part
            if top == 100:
                for side, of in (("value", now), ("previous", before)):
                    beyond = {p["key"]: Decimal(p[side]) - of.get(p["key"], 0) for p in got["parts"]}
                    self.assertEqual(sum(beyond.values()), of.get(None, 0))
                    for key, money in beyond.items():
                        self.assertGreaterEqual(money, 0, key)
            return
        want = {key: (now.get(key, Decimal(0)), before.get(key, Decimal(0))) for key in {*now, *before}}
        want = {key: pair for key, pair in want.items() if any(pair)}
        self.assertEqual(len(got["parts"]) + got["rest"]["count"], len(want))
        for part in got["parts"]:
            self.assertEqual((Decimal(part["value"]), Decimal(part["previous"])), want[part["key"]])
            if by == "zone":
                zone = part["key"]
                self.assertEqual(part["name"], name_of(self.owner[int(zone)], zone) if zone else "")

    def test_volume_by_region_is_by_bytes(self):
        """Account 2 has volume alone; its October is void, so that its bill is what its usage is now."""
        got = self.ask("second", field="charges", by="region", from_="2026-10-01", to="2026-10-31",
                       against_from="2026-09-01", against_to="2026-09-30")
        used = defaultdict(int)
        for row in self.rows:
            if row["account"] == 2 and row["hour"].month == 10:
                used[BILLING_REGION[row["region"]]] += row["bytes"]
        volume = sum(Decimal(line["amount"]) for line in self.bills["2026-10"][2][1] if line["kind"] == "volume")
        for part in got["parts"]:
            if part["key"]:
                share = volume * used[part["key"]] / sum(used.values())
                self.assertLessEqual(abs(Decimal(part["value"]) - share), Decimal("0.01"), part)

    # --- what is refused ---

    def test_bad_questions_are_refused_by_name(self):
        good = {"field": "bytes", "by": "zone", "from": "2026-10-08", "to": "2026-10-14", "against_from": "2026-10-01",
                "against_to": "2026-10-07"}
        months = {"field": "charges", "from": "2026-10-01", "to": "2026-10-31", "against_from": "2026-09-01",
                  "against_to": "2026-09-30"}
        range_, pull = "statistics.date_range_invalid", "pullZone.not_found"
        for change, field, error, key in (
                ({"field": ""}, "field", None, "user"), ({"field": "hits"}, "field", None, "user"),
                ({"by": ""}, "by", None, "user"), ({"by": "url"}, "by", None, "user"),
                *(({name: ""}, name, None, "user") for name in ("from", "to", "against_from", "against_to")),
                *(({name: "soon"}, name, None, "user") for name in ("from", "to", "against_from", "against_to")),
                ({"from": "2026-10-15"}, "to", range_, "user"), ({"against_from": "2026-10-08"}, "against_to", range_, "user"),
                ({"from": "2026-11-05", "to": "2026-11-06"}, "from", range_, "user"),
                ({"against_from": "1969-12-31"}, "against_from", range_, "user"),
                ({"top": "0"}, "top", None, "user"), ({"top": "101"}, "top", None, "user"),
                ({"region": "ZZ9"}, "region", None, "user"), ({"region": "A" * 17}, "region", None, "user"),
                ({"currency": "EURO"}, "currency", None, "user"),
                ({"by": "status"}, "by", None, "user"), ({"by": "product"}, "by", None, "user"),
                ({"by": "account"}, "by", None, "user"), ({"by": "account", "account": "1"}, "by", None, "operator"),
                ({"by": "day", "to": "2026-10-13"}, "against_from", None, "user"),
                ({"by": "hour", "to": "2026-10-14T10:00Z"}, "against_from", None, "user"),
                ({"by": "day", "from": "2026-10-08T01:00Z", "to": "2026-10-09T01:00Z", "against_from": "2026-10-01",
                  "against_to": "2026-10-01"}, "against_from", None, "user"),
                ({"by": "hour", "from": "2026-01-01", "to": "2026-10-31", "against_from": "2025-01-01",
                  "against_to": "2025-10-31"}, "from", range_, "user"),
                ({"zone": "0"}, "PullZone", pull, "user"), ({"zone": "999"}, "PullZone", pull, "user"),
                ({"zone": "201"}, "PullZone", pull, "user"), ({"zone": "x"}, "zone", None, "user"),
                ({"account": "0"}, "account", None, "operator"),
                *(({**months, "by": by}, "by", None, "user") for by in ("status", "day", "hour")),
                ({**months, "by": "account"}, "by", None, "user"),
                ({**months, "region": "DE"}, "region", None, "user"),
                ({**months, "to": "2026-10-30"}, "from", None, "user"), ({**months, "from": "2026-10-02"}, "from", None, "user"),
                ({**months, "against_to": "2026-09-29"}, "against_from", None, "user"),
                ({**months, "to": "2026-12-31"}, "to", range_, "user"),
                ({**months, "from": "2024-01-01"}, "from", None, "user"),
                (months, "currency", None, "operator")):
            query = "&".join(f"{name}={quote(value)}" for name, value in {**good, **change}.items() if value)
            answer = self.server.get("/insights/why?" + query, key)
            want = (404 if error == pull else 400, error or "validation_error", field)
            self.assertEqual((answer.status, answer.error, answer.json()["Field"]), want, query)

    def test_roles(self):
        traffic = "/insights/why?field=bytes&by=zone&from=2026-10-08&to=2026-10-14&against_from=2026-10-01&against_to=2026-10-07"
        money = "/insights/why?field=charges&by=zone&from=2026-10-01&to=2026-10-31&against_from=2026-09-01&against_to=2026-09-30"
        for path, role, status in ((traffic, "user", 200), (money, "user", 200), (traffic, "money", 403), (money, "money", 200),
                                   (traffic, "figures", 200), (money, "figures", 403), (traffic, "ingest", 403),
                                   (money, "ingest", 403), (traffic, "operator", 200), (money + "&account=1", "operator", 200),
                                   (money + "&account=2", "user", 403), (traffic + "&account=77", "operator", 404),
                                   (money + "&account=1", "user", 200),
                                   *((path, role, 200) for role in ("Finance", "Support")
                                     for path in (traffic, money + "&account=1"))):
            self.assertEqual(self.server.get(path, role).status, status, (path, role))
        empty = self.server.get(money, "none").json()
        self.assertEqual((empty["value"], empty["parts"], empty["rest"]["count"]), ("0.00", [], 0))
        self.assertEqual(self.server.get(traffic, "none").json()["change"], "0")
        self.assertEqual(self.server.get(traffic).headers["etag"], self.server.get(traffic).headers["etag"])


if __name__ == "__main__":
    unittest.main()
