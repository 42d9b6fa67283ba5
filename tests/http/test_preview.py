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
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

from harness import Case, Server, run  # noqa: E402

ACCOUNTS = range(1, 261)
BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "rounding": "half_up",
        "minimum_monthly": "0", "bandwidth": {"premium": {"per": "GB", "regions": {
            "EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}}}}
ODD, UNPRICED, NO_BOOK, GONE, UNASSIGNED = 251, 252, 253, 254, 9999
MONTHS = ("2026-09", "2026-10")
EARLIER = ("2026-07", "2026-08")


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
            for month in EARLIER + MONTHS:
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
        hour = datetime(2026, 7, 1, tzinfo=timezone.utc)
        while hour < datetime(2026, 11, 1, tzinfo=timezone.utc):
            spike = hour == datetime(2026, 10, 17, 13, tzinfo=timezone.utc)
            sent = 21000000 if spike else 1000000
            rows.append({"zone": 1000 + ODD, "hour": f"{hour:%Y-%m-%dT%H}:00:00Z", "region": "DE", "bytes": sent,
                         "requests": 1})
            cls.sent[ODD, f"{hour:%Y-%m}"] += sent
            hour += timedelta(hours=1)
        rows.append({"zone": UNASSIGNED, "hour": "2026-10-05T05:00:00Z", "region": "DE", "bytes": 777,
                     "requests": 3})
        run("import", "--db", db, "-", stdin="".join(json.dumps(r) + "\n" for r in rows).encode())
        for month in EARLIER + MONTHS[:1]:
            run("invoice", "--db", db, "--month", month, "--finalize", expect=1)  # NO_BOOK is refused
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

    def usual(self, account):
        """The median of the last three months that came to anything, or None."""
        past = [price(self.sent[account, month]) for month in EARLIER + MONTHS[:1]]
        past = [amount for amount in past if amount > 0]
        return (median(past), len(past)) if past else None

    def is_unusual(self, account, percent=Decimal(50), money=Decimal(10)):
        usual, now = self.usual(account), price(self.sent[account, MONTHS[1]])
        return usual is not None and abs(now - usual[0]) >= money and abs(now - usual[0]) * 100 >= percent * usual[0]

    def expected(self, account, times=3, **limits):
        last, now = (self.sent[account, month] for month in MONTHS)
        found = set()
        if account in (NO_BOOK, UNPRICED):
            return None
        if account in self.lacking:
            found.add("lacks")
        if self.is_unusual(account, **limits):
            found.add("unusual")
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
        whats = {account: {one["what"] for one in row["looks_wrong"]} for account, row in rows.items()}
        self.assertEqual(self.whole["wrong"], sum(bool(one) for one in whats.values()))
        self.assertEqual(self.whole["odd"], sum(bool(one - {"lacks"}) for one in whats.values()))
        self.assertEqual(self.whole["incomplete"], sum("lacks" in one for one in whats.values()))
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
            self.assertEqual(bool(row["missing"]), account in self.lacking)
            usual = self.usual(account)
            if usual is None:
                self.assertIsNone(row["usual"], account)
                continue
            self.assertEqual((Decimal(row["usual"]["net"]), row["usual"]["months"], Decimal(row["usual"]["change"])),
                             (*usual, now - usual[0]), account)
            per_cent = ((now - usual[0]) * 100 / usual[0]).quantize(Decimal("0.1"), ROUND_HALF_UP)
            self.assertEqual(row["usual"]["percent"], f"{per_cent + 0:f}", account)

    def test_a_month_far_from_its_usual_is_said_in_words(self):
        said = {row["account"]: one["text"] for row in self.whole["rows"] for one in row["looks_wrong"] if one["what"] == "unusual"}
        self.assertTrue({"more", "less"} <= {word for text in said.values() for word in text.split()})
        for account, text in said.items():
            usual, months = self.usual(account)
            now = price(self.sent[account, MONTHS[1]])
            rests_on = f"the median of its last {months} months is" if months > 1 else "its last month came to"
            change, per_cent = abs(now - usual), (abs(now - usual) * 100 / usual).quantize(Decimal("0.1"), ROUND_HALF_UP)
            self.assertEqual(text, f"{now} USD before tax is {change} ({per_cent} %) {'more' if now > usual else 'less'} "
                             f"than usual: {rests_on} {usual}.")

    def test_totals_are_the_sums_of_the_rows(self):
        (usd,) = self.whole["totals"]
        for name in ("net", "total"):
            self.assertEqual(Decimal(usd[name]), sum(Decimal(row[name]) for row in self.whole["rows"] if row[name]))
            self.assertEqual(Decimal(usd["last"][name]),
                             sum(Decimal(row["last"][name]) for row in self.whole["rows"] if row["last"][name]))
        self.assertEqual(usd["currency"], "USD")
        self.assertEqual(usd["products"], [{"product": "bandwidth", "name": "Bandwidth", "net": usd["net"], "last": usd["last"]["net"]}])
        total, before = Decimal(usd["total"]), Decimal(usd["last"]["total"])
        self.assertIn(f"Total {total:.2f} USD, the month before {before:.2f}; before tax bandwidth {total:.2f} ({before:.2f}).",
                      self.said.stderr.decode())

    def test_what_documents_lack_is_said_once_and_in_a_column_of_its_own(self):
        table = run("preview", "--db", self.server.db, "--month", MONTHS[1], "--format", "table", expect=1)
        head, *rows = [line.split("\t") for line in table.stdout.decode().splitlines()]
        self.assertEqual(head[-2:], ["looks wrong", "missing"])
        lacks = {int(row[0]): row[-1] for row in rows if row[-1] != "-"}
        self.assertEqual(lacks, {row["account"]: " ".join(row["missing"]) for row in self.whole["rows"] if row["missing"]})
        self.assertNotIn("lacks", "".join(row[-2] for row in rows))
        said = table.stderr.decode()
        self.assertEqual(said.count("legal invoice"), 1)
        self.assertIn(f"{self.whole['incomplete']} documents are no legal invoices. List what is missing with: tollbook invoice", said)
        self.assertIn(f"{self.whole['accounts']} accounts, of which {self.whole['odd']} look wrong.", said)

    def test_what_looks_wrong_is_said_in_words(self):
        rows = {row["account"]: {one["what"]: one["text"] for one in row["looks_wrong"]}
                for row in self.whole["rows"]}
        self.assertEqual(rows[ODD]["odd_hour"], "The hour 2026-10-17T13:00:00Z has 21000000 bytes, more than "
                         "10 times its usual.")
        self.assertIn("without a price", rows[UNPRICED]["unpriced"])
        self.assertRegex(rows[NO_BOOK]["unpriced"], rf"^Traffic of pull zone {1000 + NO_BOOK} in EU, [\d.]+ GB, is without a price\. No EUR price book is in "
                         r"force from 2026-10-01T00:00:00Z to 2026-11-01T00:00:00Z: add one\. And 1 more without a price: `invoice` lists them\.$")
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
        for name in ("wrong", "odd", "incomplete", "totals"):
            self.assertEqual(reply["answer"][name], self.whole[name])
        self.assertTrue(reply["no"])

    def test_a_next_that_is_none_is_refused(self):
        net, gross = "USD 0 = 0 0 ", "USD 1 = 0 0 "
        totals = ("1 USD ", "1 DOLLAR 0 = 0 0 ", f"1 {net}", f"1 {gross}", f"2 {net}USD 2 = 0 0 ", f"3 {net}{gross}{net}", f"2 {gross}{net}",
                  f"3 {net}{gross}EUR 0 = 0 0 ", f"3 {net}{gross}USD 99 = 0 0 ", f"3 {net}{gross}USD 2 x 0 0 ",
                  f"3 {net}{gross}USD 9 ={'m' * 65} 0 0 ", f"2 USD 0 = 1e5 0 {gross}", f"2 USD 0 = 1.{'0' * 90}1 0 {gross}", f"2 {net}USD 1 = 0 ")
        for text in ("1", "9 8 7 6 5", "9 8 7 6 5 x ", *(f"9 8 7 6 5 {one}7" for one in totals)):
            answer = self.server.ask("POST", "/operations/preview", "operator", json.dumps({"month": MONTHS[1], "next": text}).encode(),
                                     **{"Content-Type": "application/json"})
            self.assertEqual((answer.status, answer.json().get("Field")), (400, "next"), text)

    def test_times_and_account(self):
        one = self.post(month=MONTHS[1], account=ODD, hours="25")["answer"]
        self.assertEqual([row["account"] for row in one["rows"]], [ODD])
        self.assertNotIn("odd_hour", {wrong["what"] for wrong in one["rows"][0]["looks_wrong"]})
        strict = self.post(month=MONTHS[1], times="1.5")["answer"]["rows"]
        for row in strict:
            want = self.expected(row["account"], Decimal("1.5"))
            if want is not None and any(self.sent[row["account"], month] for month in MONTHS):
                self.assertEqual({wrong["what"] for wrong in row["looks_wrong"]}, want, row["account"])
        calm = self.post(month=MONTHS[1], percent="120.5", money="2000")["answer"]["rows"]
        for row in calm:
            want = self.expected(row["account"], percent=Decimal("120.5"), money=Decimal(2000))
            if want is not None and any(self.sent[row["account"], month] for month in MONTHS):
                self.assertEqual({wrong["what"] for wrong in row["looks_wrong"]}, want, row["account"])
        for bad in ({"times": "0"}, {"hours": "-1"}, {"percent": "0"}, {"money": "-1"}, {"month": "2026-13"}, {"account": 999}):
            answer = self.server.ask("POST", "/operations/preview", "operator",
                                     json.dumps({"month": MONTHS[1], **bad}).encode(),
                                     **{"Content-Type": "application/json"})
            self.assertIn(answer.status, (400, 404), bad)
            self.assertEqual(answer.json()["Field"], next(iter(bad)), bad)
        self.assertEqual(self.server.ask("POST", "/operations/preview", "user", b"{}").status, 403)


if __name__ == "__main__":
    unittest.main()
