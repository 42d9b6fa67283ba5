"""Alerts from the catalogue to the list: each kind raised and cleared at the right moment, once a month,
and anomalies against an independent reckoning over random hours. Messages are read from the outbox."""
import json
import random
import re
import unittest
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from statistics import median

from tool import Case, random_seed

GB = 10**9
BOOK = {"book": "usd", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "1", "NA": "1", "ASIA": "1",
                                                           "SA": "1", "AF": "1"}}}}
RULES = {"money": {"id": "money", "kind": "month_to_date", "above": "99.6"},
         "bytes": {"id": "bytes", "kind": "usage", "above": str(50 * GB)},
         "low": {"id": "low", "kind": "balance", "below": "-5.5"},
         "soon": {"id": "soon", "kind": "forecast", "above": "1000", "probability": "0.8"},
         "odd": {"id": "odd", "kind": "anomaly", "above": "2.5"}}


def at(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def say(moment):
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


class Alerts(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("book", "add", "--db", "t.db", "-", stdin=json.dumps(BOOK).encode())
        self.run_tool("alerts", "--db", "t.db", "--on")

    def declare(self, *rules, more=(), now="2026-11-01T00:00:00Z"):
        accounts = [{"id": 1, "name": "acme", "currency": "USD", "tax": {"VAT": "20"},
                     "alerts": [RULES[rule] if isinstance(rule, str) else rule for rule in rules]}, *more]
        zones = [{"id": 100 * account["id"] + 1, "account": account["id"], "name": f"z{account['id']}",
                  "created": "2026-01-05T00:00:00Z"} for account in accounts]
        self.run_tool("apply", "--delete", "--db", "t.db", "-", now=now, stdin=json.dumps(
            {"accounts": accounts, "zones": zones}).encode())

    def take(self, *rows, zone=101, now="2026-12-31T00:00:00Z"):
        text = "".join(json.dumps({"zone": zone, "hour": hour, "region": "DE", "bytes": amount}) + "\n"
                       for hour, amount in rows)
        self.run_tool("import", "--db", "t.db", "-", stdin=text.encode(), now=now)

    def evaluate(self, now, status=0):
        """(raised, cleared), as it says."""
        self.said = said = self.run_tool("alerts", "--db", "t.db", "--evaluate", now=now, status=status).err
        return tuple(map(int, re.search(r"(\d+) alerts? raised, (\d+) cleared", said).groups()))

    def listed(self, *words):
        return json.loads(self.run_tool("alerts", "--db", "t.db", "--format", "json", *words).out)

    def bodies(self):
        """All messages, the oldest first."""
        rows = self.query("SELECT body FROM outbox ORDER BY id")
        return [json.loads(row[0]) for row in rows]


class Own(Alerts):
    def set(self, name, kind, *words, account=1, status=0):
        return self.run_tool("alert", "set", "--db", "t.db", name, "--account", account, "--kind", kind, *words, status=status)

    def of(self, account=1):
        return json.loads(self.run_tool("alert", "list", "--db", "t.db", "--account", account, "--format", "json").out)["alerts"]

    def test_an_own_alert_stands_beside_the_catalogue_and_is_looked_at_like_its(self):
        self.declare("bytes")
        self.set("budget", "month_to_date", "--above", "99.60")
        self.assertEqual(self.of(), [
            {"id": "bytes", "kind": "usage", "above": "50000000000", "own": False, "raised": None, "seen": None},
            {"id": "budget", "kind": "month_to_date", "above": "99.6", "own": True, "raised": None, "seen": None}])
        self.take(("2026-11-03T05:00:00Z", 84 * GB))  # 100.80 with tax
        self.assertEqual(self.evaluate("2026-11-05T00:00:00Z"), (2, 0))
        self.assertEqual([(one["raised"], one["seen"]) for one in self.of()],
                         [("2026-11-05T00:00:00Z", str(84 * GB)), ("2026-11-05T00:00:00Z", "100.8")])
        self.declare(now="2026-11-05T00:00:00Z")  # an apply that has no alerts
        self.assertEqual([one["id"] for one in self.of()], ["budget"])
        self.assertEqual(self.evaluate("2026-11-06T00:00:00Z"), (0, 1))
        self.set("budget", "month_to_date", "--above", "200")
        self.assertEqual([one["above"] for one in self.of()], ["200"])
        self.assertEqual(self.evaluate("2026-11-07T00:00:00Z"), (0, 1), "it is checked anew")
        self.run_tool("alert", "drop", "--db", "t.db", "budget", "--account", 1)
        self.assertEqual(self.of(), [])
        self.assertIn("has set no alert \"budget\"", self.run_tool("alert", "drop", "--db", "t.db", "budget", "--account", 1, status=2).err)
        told = [row for row in json.loads(self.run_tool("audit", "--db", "t.db", "--format", "json").out)["entries"]
                if row["operation"].startswith("alert ")]
        self.assertEqual([row["operation"] for row in told], ["alert set", "alert set", "alert drop"])
        self.run_tool("verify", "--db", "t.db")

    def test_what_is_no_alert_is_refused(self):
        self.declare("money")
        for words, message in ((("money", "usage", "--above", "5"), "The catalogue declares an alert money"),
                               (("a b", "usage", "--above", "5"), "1 to 64 letters"),
                               (("x", "usage", "--above", "5.5"), "a whole number of bytes"),
                               (("x", "balance", "--above", "5"), "above"),
                               (("x", "forecast", "--above", "5", "--probability", "1"), "between 0 and 1"),
                               (("x", "usage", "--above", "5", "--probability", "0.5"), "probability"),
                               (("x", "forecast"), "an amount from 0")):
            self.assertIn(message, self.set(*words, status=2).err, words)
        self.assertIn("There is no account 9", self.set("x", "usage", "--above", "5", account=9, status=2).err)
        for n in range(31):
            self.set(f"own-{n}", "usage", "--above", "5")
        self.assertIn("at most 32 alerts", self.set("one-more", "usage", "--above", "5", status=2).err)
        self.set("own-0", "usage", "--above", "6")
        self.assertEqual(len(self.of()), 32)


class Kinds(Alerts):
    def test_money_of_the_month(self):
        self.declare("money")
        self.take(("2026-11-03T05:00:00Z", 83 * GB))  # 99.60 with tax
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (0, 0), "above, not at")
        self.take(("2026-11-04T05:00:00Z", GB))
        self.assertEqual(self.evaluate("2026-11-05T00:00:00Z"), (1, 0))
        self.assertEqual(self.evaluate("2026-11-06T00:00:00Z"), (0, 0), "once a month")
        self.assertEqual(self.evaluate("2026-12-01T00:00:00Z"), (0, 1), "a new month begins at 0")
        raised, cleared = self.bodies()
        self.assertEqual(raised, {"type": "alert.raised", "timestamp": "2026-11-05T00:00:00Z", "data": {
            "account": 1, "alert": "money", "kind": "month_to_date", "month": "2026-11", "above": "99.6",
            "seen": "100.80", "currency": "USD"}})
        self.assertEqual(cleared, {"type": "alert.cleared", "timestamp": "2026-12-01T00:00:00Z", "data": {
            **raised["data"], "seen": "0.00"}})
        alert, = self.listed()["alerts"]
        self.assertEqual(alert["data"], raised["data"])
        self.assertEqual((alert["raised"], alert["cleared"]), ("2026-11-05T00:00:00Z", "2026-12-01T00:00:00Z"))
        self.verify()

    def test_bytes_of_the_month(self):
        self.declare("bytes")
        self.take(("2026-10-31T23:00:00Z", 900 * GB), ("2026-11-03T05:00:00Z", 50 * GB))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (0, 0), "above, not at")
        self.take(("2026-11-03T06:00:00Z", 1))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (1, 0))
        self.assertEqual(self.bodies()[0]["data"]["seen"], str(50 * GB + 1))
        self.assertEqual(self.bodies()[0]["data"]["unit"], "bytes")

    def test_a_balance_may_be_raised_again_after_a_payment(self):
        self.declare("low")

        def enter(amount, reference):
            self.run_tool("ledger", "adjust", "--db", "t.db", "--account", 1, "--amount", amount,
                          "--reference", reference)
        enter("-5.50", "a")
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (0, 0), "below, not at")
        enter("-0.01", "b")
        self.assertEqual(self.evaluate("2026-11-04T01:00:00Z"), (1, 0))
        enter("0.01", "c")
        self.assertEqual(self.evaluate("2026-11-04T02:00:00Z"), (0, 1))
        enter("-1", "d")
        self.assertEqual(self.evaluate("2026-11-04T03:00:00Z"), (1, 0))
        self.assertEqual(self.evaluate("2026-12-01T03:00:00Z"), (1, 0), "it stands in the next month too")
        self.assertEqual(self.evaluate("2026-12-01T04:00:00Z"), (0, 0))
        self.assertEqual([b["data"]["seen"] for b in self.bodies()], ["-5.51", "-5.5", "-6.5", "-6.5"])
        self.assertEqual(self.bodies()[0]["data"]["below"], "-5.5")
        self.assertEqual([a["cleared"] is None for a in self.listed()["alerts"]], [True, False, False])

    def test_a_forecast_and_its_probability(self):
        self.declare("soon", {"id": "never", "kind": "forecast", "above": "1000000"})
        days = [(f"2026-{month:02}-{day:02}T12:00:00Z", (40 + day % 3) * GB)
                for month, last in ((9, 30), (10, 31), (11, 10)) for day in range(1, last + 1)]
        self.take(*days)  # some 41 a day, 1.20 each: 1,476 in thirty days
        self.assertEqual(self.evaluate("2026-11-11T00:00:00Z"), (1, 0))
        body, = self.bodies()
        said = json.loads(self.run_tool("forecast", "--db", "t.db", "--account", 1, "--format", "json",
                                        now="2026-11-11T00:00:00Z").out)
        self.assertEqual(body["data"]["alert"], "soon")
        self.assertGreaterEqual(Fraction(body["data"]["seen"]), Fraction("0.8"))
        self.assertLess(float(body["data"]["p5"]), float(body["data"]["p50"]))
        near = [float(v) for k, v in find_spread(said).items() if k in ("p5", "p95")]
        self.assertTrue(near[0] * 0.97 < float(body["data"]["p50"]) < near[1] * 1.03, (near, body))

    def test_what_is_no_longer_declared_is_cleared(self):
        self.declare("bytes", "money")
        self.take(("2026-11-03T05:00:00Z", 51 * GB))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (1, 0))
        self.declare("money")
        self.assertEqual(self.evaluate("2026-11-04T01:00:00Z"), (0, 1))
        self.assertEqual(self.bodies()[1]["data"], {"account": 1, "alert": "bytes", "kind": "usage",
                                                    "month": "2026-11", "above": str(50 * GB),
                                                    "removed": True})
        self.assertEqual(self.evaluate("2026-11-04T02:00:00Z"), (0, 0))

    def test_accounts_are_apart_and_many_take_several_calls(self):
        others = [{"id": i, "name": f"a{i}", "currency": "USD", "alerts": [RULES["bytes"]]}
                  for i in range(2, 121)]
        self.declare("bytes", more=others)
        for i in (1, 60, 120):
            self.take(("2026-11-03T05:00:00Z", 60 * GB + i), zone=100 * i + 1)
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (3, 0))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (0, 0))
        self.assertEqual([b["data"]["account"] for b in self.bodies()], [1, 60, 120])
        for i in (1, 60, 120):
            one = self.listed("--account", i)
            self.assertEqual([a["account"] for a in one["alerts"] + one["messages"]], [i, i])
            self.assertEqual(one["alerts"][0]["seen"], str(60 * GB + i))
        self.assertEqual(len(self.listed("--limit", 2)["alerts"]), 2)
        self.run_tool("alerts", "--db", "t.db", "--account", 999, status=2)

    def test_without_messages_alerts_are_raised_all_the_same(self):
        self.run_tool("alerts", "--db", "t.db", "--off")
        self.declare("bytes")
        self.take(("2026-11-03T05:00:00Z", 51 * GB))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (1, 0))
        self.assertEqual(self.listed()["messages"], [])
        self.assertEqual(self.listed()["alerts"][0]["raisedMessage"], "")
        out = self.run_tool("alerts", "--db", "t.db", "--format", "table").out
        self.assertIn("1\tbytes\tusage\t2026-11\t50000000000\t51000000000\t2026-11-04T00:00:00Z\t\n", out)

    def test_usage_without_a_price_is_said(self):
        others = [{"id": i, "name": f"a{i}", "currency": "EUR", "alerts": [RULES[rule]]}
                  for i, rule in ((2, "money"), (3, "bytes"), (4, "soon"), *((i, "money") for i in range(5, 60)))]
        self.declare("money", more=others)
        for i in (1, 2, 3, 4, *range(52, 58)):
            self.take(("2026-11-03T05:00:00Z", GB), zone=100 * i + 1)
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z", status=1), (0, 0))
        # account 3 has an alert on bytes alone
        self.assertIn("8 accounts with alerts on money have usage without a price, which these do not count: "
                      "2, 4, 52, 53, 54 and others. List it with: tollbook invoice --db t.db --month 2026-11 --account 2",
                      self.said)
        done = self.run_tool("alerts", "--db", "t.db", "--evaluate", "--format", "json", status=1,
                             now="2026-11-04T00:00:00Z")
        self.assertEqual(json.loads(done.out), {"raised": 0, "cleared": 0, "unpriced": 8,
                                                "unpricedAccounts": [2, 4, 52, 53, 54]})

    def test_counts_as_json(self):
        self.declare("bytes")
        self.take(("2026-11-03T05:00:00Z", 51 * GB))
        done = self.run_tool("alerts", "--db", "t.db", "--evaluate", "--format", "json",
                             now="2026-11-04T00:00:00Z")
        self.assertEqual(json.loads(done.out), {"raised": 1, "cleared": 0, "unpriced": 0,
                                                "unpricedAccounts": []})
        off = self.run_tool("alerts", "--db", "t.db", "--off", "--format", "json")
        self.assertEqual(json.loads(off.out), {"messagesOn": False})

    def test_what_stands_gets_its_message_when_they_are_turned_on(self):
        self.run_tool("alerts", "--db", "t.db", "--off")
        self.declare("bytes", "money")
        self.take(("2026-11-03T05:00:00Z", 51 * GB))
        self.assertEqual(self.evaluate("2026-11-04T00:00:00Z"), (1, 0))
        self.take(("2026-11-03T06:00:00Z", GB))
        self.assertEqual(self.evaluate("2026-11-04T01:00:00Z"), (0, 0))
        self.assertEqual(self.bodies(), [])
        self.run_tool("alerts", "--db", "t.db", "--on")
        self.assertEqual(self.evaluate("2026-11-04T02:00:00Z"), (0, 0))
        body, = self.bodies()
        # as it would have been sent then
        alert, = self.listed()["alerts"]
        self.assertEqual(body, {"type": "alert.raised", "timestamp": "2026-11-04T00:00:00Z",
                                "data": alert["data"]})
        self.assertEqual(alert["raisedMessage"], self.listed()["messages"][0]["id"])
        self.assertEqual(self.evaluate("2026-11-04T03:00:00Z"), (0, 0))
        self.assertEqual(len(self.bodies()), 1, "once")
        self.verify()

    def test_one_thing_at_a_time(self):
        said = self.run_tool("alerts", "--db", "t.db", "--on", "--off", status=2).err
        self.assertIn("--on and --off", said)
        self.assertNotIn("--resend", said)
        self.run_tool("alerts", "--db", "t.db", "--resend", "msg_" + "0" * 32, status=2)


def find_spread(said):
    """The forecast's gross spread, wherever its JSON has it."""
    found = [value for key, value in said.items() if isinstance(value, dict) and key in ("gross", "total")]
    if found:
        return found[0]
    for value in said.values():
        if isinstance(value, dict) and (deep := find_spread(value)):
            return deep
    return {}


class Anomalies(Alerts):
    """The usual is the median of the same weekday and hour of the last 8 weeks, of 4 at least, from the
    first usage in these weeks on; the running hour and the 23 before it count."""

    def expected(self, hours, now, times):
        """(hour, its bytes, twice the median, the values) of the newest odd hour, or None."""
        last = now.replace(minute=0, second=0)
        oldest = last - timedelta(hours=8 * 168 + 23)
        used = [h for h, amount in hours.items() if amount and oldest <= h <= last]
        for back in range(24):
            hour = last - timedelta(hours=back)
            past = [hour - timedelta(weeks=w) for w in range(1, 9)]
            values = [hours.get(h, 0) for h in past if used and h >= min(used)]
            usual = Fraction(median([Fraction(v) for v in values])) if len(values) >= 4 else 0
            if usual and hours.get(hour, 0) > Fraction(times) * usual:
                return hour, hours[hour], usual, values
        return None

    def test_against_an_independent_reckoning(self):
        rng = random.Random(random_seed())
        now = at("2026-11-20T12:34:00Z")
        last = now.replace(minute=0)
        accounts = range(1, 31)
        times = {i: rng.choice(["1.001", "1.5", "2", "2.5", "3"]) for i in accounts}
        documents = [{"id": i, "name": f"a{i}", "currency": "USD",
                      "alerts": [{"id": "odd", "kind": "anomaly", "above": times[i]}]} for i in accounts]
        self.declare(documents[0]["alerts"][0], more=documents[1:])
        hours = {i: {} for i in accounts}
        rows = []
        for i in accounts:
            weeks, scale = rng.randrange(2, 10), rng.choice([1, 3, 10**6])
            for week in range(weeks + 1):
                for back in rng.sample(range(24), 8):
                    hour = last - timedelta(weeks=week, hours=back)
                    if rng.random() < 0.85:
                        hours[i][hour] = scale * rng.randrange(1, 12) * (3 if week == 0 else 1)
            rows += [{"zone": 100 * i + 1, "hour": say(h), "region": "DE", "bytes": amount}
                     for h, amount in hours[i].items()]
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(
            json.dumps(row) + "\n" for row in rows).encode(), now=say(now))
        wanted = {i: self.expected(hours[i], now, times[i]) for i in accounts}
        odd = {i: found for i, found in wanted.items() if found}
        self.assertTrue(0 < len(odd) < len(accounts), "the seed makes both")
        self.assertEqual(self.evaluate(say(now)), (len(odd), 0))
        for body in self.bodies():
            data = body["data"]
            hour, seen, usual, values = odd.pop(data["account"])
            self.assertEqual((data["hour"], data["seen"], Fraction(data["expected"])),
                             (say(hour), str(seen), usual))
            self.assertEqual([int(v["bytes"]) for v in data["rests_on"]], values)
            self.assertEqual([at(v["hour"]) for v in data["rests_on"]],
                             [hour - timedelta(weeks=w) for w in range(1, len(values) + 1)])
            self.assertLessEqual(abs(Fraction(data["times"]) - seen / usual), Fraction(1, 2000))
        self.assertEqual(odd, {})
        cleared = self.evaluate(say(now + timedelta(hours=25)))
        self.assertEqual(cleared[0], 0)

    def test_it_is_cleared_a_day_later(self):
        self.declare("odd")
        noon = at("2026-11-18T12:00:00Z")
        self.take(*((say(noon - timedelta(weeks=w)), 10) for w in range(1, 5)), (say(noon), 26))
        self.assertEqual(self.evaluate("2026-11-18T12:10:00Z"), (1, 0))
        self.assertEqual(self.evaluate("2026-11-19T11:59:00Z"), (0, 0))
        self.assertEqual(self.evaluate("2026-11-19T12:00:00Z"), (0, 1))

    def test_what_has_no_usual_raises_nothing(self):
        noon = at("2026-11-18T12:00:00Z")
        for weeks, value, seen in ((3, 10, 1000), (4, 10, 25), (8, 0, 1000)):
            with self.subTest(weeks=weeks, value=value, seen=seen):
                self.init(name := f"{weeks}-{seen}.db")
                self.run_tool("apply", "--delete", "--db", name, "-", stdin=json.dumps(
                    {"accounts": [{"id": 1, "name": "a", "alerts": [RULES["odd"]]}],
                     "zones": [{"id": 101, "account": 1, "name": "z"}]}).encode())
                rows = [(noon - timedelta(weeks=w), value) for w in range(1, weeks + 1)]
                rows += [(noon, seen), (noon - timedelta(weeks=weeks, hours=1), 1)]
                self.run_tool("import", "--db", name, "-", stdin="".join(
                    json.dumps({"zone": 101, "hour": say(h), "region": "DE", "bytes": b}) + "\n"
                    for h, b in rows if b).encode())
                said = self.run_tool("alerts", "--db", name, "--evaluate", now="2026-11-18T12:10:00Z").err
                self.assertIn("0 alerts raised", said)


if __name__ == "__main__":
    unittest.main()
