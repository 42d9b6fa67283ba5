"""`preview`: a month's run against figures worked out here, 260 accounts at random, over the command line and over
HTTP in pages; and each thing that looks wrong on an account of its own. TB_SEED repeats a run.
"""
import json
import random
import sys
import unittest
from datetime import datetime, timedelta, timezone
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

from harness import Case, Server, run  # noqa: E402

ACCOUNTS = range(1, 261)
BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "rounding": "half_up",
        "minimum_monthly": "0", "bandwidth": {"premium": {"per": "GB", "regions": {
            "EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}}}}
ODD, UNPRICED, NO_BOOK, GONE, UNASSIGNED = 251, 252, 253, 254, 9999
MONTHS = ("2026-09", "2026-10")


def price(sent):
    return (Decimal(sent) * Decimal("0.01") / 10**9).quantize(Decimal("0.01"), ROUND_HALF_UP)


class Preview(Case):
    @classmethod
    def setUpClass(cls):
        dice = random.Random(random_seed())
        cls.server = Server(log=None)
        cls.addClassCleanup(cls.server.close)
        cls.server.stop()
        db = cls.server.db
        accounts = [{"id": a, "name": f"account {a}"} for a in ACCOUNTS]
        accounts[NO_BOOK - 1]["currency"] = "EUR"
        catalog = {"accounts": accounts, "zones": [
            {"id": 1000 + a, "account": a, "name": f"zone-{a}", "created": "2026-01-01T00:00:00Z"}
            for a in ACCOUNTS]}
        file = cls.server.path / "c.json"
        file.write_text(json.dumps(catalog))
        run("apply", "--delete", "--db", db, file)
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        cls.sent = {}
        rows = []
        for account in ACCOUNTS:
            usual = dice.randrange(10**9, 10**13)
            for month in MONTHS:
                sent = 0 if dice.random() < 0.15 else usual * dice.randrange(1, 40) // 10
                if account == GONE:
                    sent = 0 if month == MONTHS[1] else usual
                if account in (ODD, UNPRICED, NO_BOOK):
                    sent = 0 if account == ODD else usual
                cls.sent[account, month] = sent
                if sent:
                    rows.append({"zone": 1000 + account, "hour": f"{month}-{dice.randrange(1, 29):02}T05:00:00Z",
                                 "region": "XX" if (account, month) == (UNPRICED, MONTHS[1]) else "DE",
                                 "bytes": sent, "requests": 5})
        hour = datetime(2026, 8, 1, tzinfo=timezone.utc)
        while hour < datetime(2026, 11, 1, tzinfo=timezone.utc):
            spike = hour == datetime(2026, 10, 17, 13, tzinfo=timezone.utc)
            sent = 21000000 if spike else 1000000
            rows.append({"zone": 1000 + ODD, "hour": f"{hour:%Y-%m-%dT%H}:00:00Z", "region": "DE", "bytes": sent,
                         "requests": 1})
            if f"{hour:%Y-%m}" in MONTHS:
                cls.sent[ODD, f"{hour:%Y-%m}"] += sent
            hour += timedelta(hours=1)
        rows.append({"zone": UNASSIGNED, "hour": "2026-10-05T05:00:00Z", "region": "DE", "bytes": 777,
                     "requests": 3})
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        run("invoice", "--db", db, "--month", MONTHS[0], "--finalize", expect=1)  # NO_BOOK is refused
        cls.said = run("preview", "--db", db, "--month", MONTHS[1], "--format", "json", expect=1)
        cls.whole = json.loads(cls.said.stdout)
        lacks = run("invoice", "--db", db, "--check", "--month", MONTHS[1], "--format", "json", expect=1)
        cls.lacking = {row["account"] for row in json.loads(lacks.stdout)["lacks"] if row["field"]}
        cls.server.start()

    @classmethod
    def tearDownClass(cls):
        pass  # setUpClass has seen to it

    def post(self, **body):
        answer = self.server.ask("POST", "/operations/preview", "operator", json.dumps(body).encode(),
                                 **{"Content-Type": "application/json"})
        self.assertEqual(answer.status, 200, answer.body)
        return answer.json()

    def expected(self, account, times=3):
        last, now = (self.sent[account, month] for month in MONTHS)
        found = set()
        if account in (NO_BOOK, UNPRICED):
            return None
        if account in self.lacking:
            found.add("lacks")
        if price(last) > 0 and price(now) > times * price(last):
            found.add("more")
        if price(last) == 0 and price(now) > 0:
            found.add("new")
        if now == 0 and last:
            found.add("no_usage")
        if account == ODD:
            found.add("odd_hour")
        return found

    def test_each_row_is_what_it_should_be(self):
        rows = {row["account"]: row for row in self.whole["rows"]}
        self.assertEqual(self.whole["accounts"], len(rows))
        self.assertEqual((self.whole["month"], self.whole["over"]), ("2026-10", True))
        self.assertEqual(self.whole["wrong"], sum(bool(row["looks_wrong"]) for row in rows.values()))
        billed = [a for a in ACCOUNTS if any(self.sent[a, month] for month in MONTHS)]
        self.assertLessEqual(set(billed), set(rows))
        for account in billed:
            row, want = rows[account], self.expected(account)
            if want is None:
                continue
            last, now = (price(self.sent[account, month]) for month in MONTHS)
            self.assertEqual((Decimal(row["net"]), Decimal(row["total"])), (now, now), account)
            self.assertEqual(row["state"], "draft")
            self.assertEqual((row["bytes"], row["last"]["bytes"]),
                             (str(self.sent[account, MONTHS[1]]), str(self.sent[account, MONTHS[0]])))
            self.assertEqual(Decimal(row["last"]["total"]), last, account)
            self.assertEqual(Decimal(row["difference"]), now - last, account)
            if last:
                self.assertEqual(row["last"]["state"], "final")
                self.assertRegex(row["last"]["invoice"], "^2026-")
            self.assertEqual({one["what"] for one in row["looks_wrong"]}, want, account)

    def test_what_looks_wrong_is_said_in_words(self):
        rows = {row["account"]: {one["what"]: one["text"] for one in row["looks_wrong"]}
                for row in self.whole["rows"]}
        self.assertEqual(rows[ODD]["odd_hour"], "The hour 2026-10-17T13:00:00Z has 21000000 bytes, more than "
                         "10 times its usual.")
        self.assertIn("without a price", rows[UNPRICED]["unpriced"])
        self.assertTrue({"refused", "unpriced"} & set(rows[NO_BOOK]), rows[NO_BOOK])
        self.assertEqual(rows[GONE]["no_usage"], "It has no usage; last month it had.")
        begins = [row for row in self.whole["rows"] if "new" in rows[row["account"]]]
        self.assertTrue(begins)
        for row in begins:
            self.assertEqual(rows[row["account"]]["new"],
                             f"It comes to {row['net']} USD before tax; last month it came to nothing.")
        self.assertEqual(self.whole["unassigned"]["zones"][0]["zone"], UNASSIGNED)
        self.assertIn("9999", self.said.stderr.decode())

    def test_pages_over_http_are_the_whole(self):
        rows, reply, pages = [], self.post(month=MONTHS[1]), 1
        rows += reply["answer"]["rows"]
        self.assertEqual(reply["answer"]["unassigned"], self.whole["unassigned"])
        while reply["next"]:
            reply = self.post(month=MONTHS[1], next=reply["next"])
            rows += reply["answer"]["rows"]
            pages += 1
        self.assertEqual(pages, 2)
        self.assertEqual(rows, self.whole["rows"])
        self.assertEqual(reply["answer"]["wrong"], self.whole["wrong"])
        self.assertTrue(reply["no"])

    def test_times_and_account(self):
        one = self.post(month=MONTHS[1], account=ODD, hours="25")["answer"]
        self.assertEqual([row["account"] for row in one["rows"]], [ODD])
        self.assertNotIn("odd_hour", {wrong["what"] for wrong in one["rows"][0]["looks_wrong"]})
        strict = self.post(month=MONTHS[1], times="1.5")["answer"]["rows"]
        for row in strict:
            want = self.expected(row["account"], Decimal("1.5"))
            if want is not None and any(self.sent[row["account"], month] for month in MONTHS):
                self.assertEqual({wrong["what"] for wrong in row["looks_wrong"]}, want, row["account"])
        for bad in ({"times": "0"}, {"hours": "-1"}, {"month": "2026-13"}, {"account": 999}):
            answer = self.server.ask("POST", "/operations/preview", "operator",
                                     json.dumps({"month": MONTHS[1], **bad}).encode(),
                                     **{"Content-Type": "application/json"})
            self.assertIn(answer.status, (400, 404), bad)
            self.assertEqual(answer.json()["Field"], next(iter(bad)), bad)
        self.assertEqual(self.server.ask("POST", "/operations/preview", "user", b"{}").status, 403)


if __name__ == "__main__":
    unittest.main()
