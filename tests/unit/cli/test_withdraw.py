"""What is withdrawn from a month: before it is final it was never there; afterwards it is late with the
other sign, is listed, and becomes a credit note. Invoices, anchors and backups hold all the while."""
import json
import random
import signal
import subprocess
import unittest

from test_billing import BOOK, CATALOG, DECEMBER, NOVEMBER, balancer, row
from tool import Case, random_seed

JANUARY = "2027-01-20T12:00:00Z"
SEED = random_seed()


class Withdraw(Case):
    def setUp(self):
        super().setUp()
        self.run_tool("apply", "--db", "t.db", self.write("c.json", json.dumps(CATALOG)),
                      now="2026-01-06T00:00:00Z")
        self.run_tool("book", "--db", "t.db", self.write("b.json", json.dumps(BOOK)),
                      now="2026-01-06T00:00:00Z")

    def take(self, name, *rows, now="2026-10-31T12:00:00Z"):
        self.write(name, "".join(rows))
        self.run_tool("import", "--db", "t.db", name, now=now)

    def withdraw(self, name, now=NOVEMBER, status=0):
        return self.run_tool("import", "--withdraw", "--db", "t.db", name, now=now, status=status)

    def invoice(self, *words, month="2026-10", now=NOVEMBER):
        return self.run_tool("invoice", "--db", "t.db", "--month", month, "--format", "json", *words,
                             now=now).out

    def invoices(self, *words, **more):
        return json.loads(self.invoice(*words, **more))["invoices"]

    def late(self):
        out = self.run_tool("invoice", "--db", "t.db", "--late").out.splitlines()
        return [line.split("\t") for line in out[1:]]

    def verify(self, *words):
        self.run_tool("verify", "--db", "t.db", *words)

    def test_before_the_month_is_final_it_was_never_there(self):
        self.take("a", row(101, "2026-10-04T05:00:00Z", bytes=300 * 10**9), balancer(60000000))
        before = self.invoice()
        self.take("b", row(101, "2026-10-05T05:00:00Z", "NY", bytes=200 * 10**9),
                  row(102, "2026-10-05T05:00:00Z", bytes=700 * 10**9), balancer(5))
        self.assertNotEqual(self.invoice(), before)
        self.withdraw("b")
        self.assertEqual([i["lines"] for i in json.loads(before)["invoices"]],
                         [i["lines"] for i in self.invoices()])
        self.verify()

    def test_a_final_month_is_credited(self):
        self.take("a", row(101, "2026-10-04T05:00:00Z", bytes=300 * 10**9))
        self.take("b", row(101, "2026-10-05T05:00:00Z", bytes=200 * 10**9), balancer(60000000))
        before = self.invoice("--finalize")
        number = json.loads(before)["invoices"][0]["number"]
        anchor = self.run_tool("anchor", "--db", "t.db").out.split()[0]
        self.assertEqual(self.late(), [])
        self.withdraw("b")
        self.assertEqual(self.invoice(), before)
        (waits,) = self.late()
        self.assertEqual(waits[:3], ["1", "2026-10", number])
        self.verify()
        self.verify("--against", anchor)
        self.run_tool("backup", "--db", "t.db", "--to", "copy.db")
        self.run_tool("verify", "--db", "copy.db")
        self.invoice("--finalize", month="2026-11", now=DECEMBER)
        notes = [i for i in self.invoices("--account", 1, now=DECEMBER) if i["kind"] == "credit_note"]
        listed = [line for i in self.invoices("--account", 1, month="2026-11", now=DECEMBER)
                  for line in i["lines"] if line["kind"] == "correction"]
        amounts = {(l["corrects"]["kind"], l["amount"])
                   for l in listed + [l for n in notes for l in n["lines"]]}
        self.assertEqual(amounts, {("bandwidth", "-2.00"), ("balancer_requests", "-6.50")})
        self.assertEqual(self.late(), [])
        self.assertEqual(json.loads(self.invoice(now=DECEMBER))["invoices"][0],
                         json.loads(before)["invoices"][0])
        self.verify()
        # taken in again it is late as ever, and withdrawn again before anybody billed it, nothing
        self.run_tool("import", "--db", "t.db", "b", now=DECEMBER)
        self.assertEqual(len(self.late()), 1)
        self.withdraw("b", now=DECEMBER)
        self.invoice("--finalize", month="2026-12", now=JANUARY)
        self.assertEqual(self.late(), [])
        self.verify()
        self.verify("--against", anchor)

    def test_late_usage_that_is_withdrawn_before_it_was_billed(self):
        self.take("a", row(101, "2026-10-04T05:00:00Z", bytes=300 * 10**9))
        before = self.invoice("--finalize")
        self.take("b", row(101, "2026-10-05T05:00:00Z", bytes=200 * 10**9), now=NOVEMBER)
        self.withdraw("b")
        self.assertEqual(self.invoice(), before)
        self.verify()
        self.take("c", row(101, "2026-11-05T05:00:00Z", bytes=100 * 10**9), now=NOVEMBER)
        (november,) = [i for i in self.invoices("--finalize", month="2026-11", now=DECEMBER)
                       if i["account"] == 1]
        self.assertEqual([l for l in november["lines"] if l["kind"] == "correction"
                          and l["amount"] != "0.00"], [])
        self.verify()

    def test_random_months(self):
        """Each run bills all that waits, and every bill is found again as it was."""
        rng = random.Random(SEED)
        known, names = [], 0
        self.take("base", row(101, "2026-10-01T00:00:00Z", bytes=900 * 10**9))
        self.invoice("--finalize")
        for now in (DECEMBER, JANUARY):
            for _ in range(5):
                if known and rng.random() < 0.4:
                    self.withdraw(known.pop(rng.randrange(len(known))), now=NOVEMBER)
                else:
                    names += 1
                    known.append(f"n{names}")
                    self.take(known[-1], row(101, f"2026-10-{rng.randrange(1, 31):02}T05:00:00Z",
                                             rng.choice(("DE", "NY")),
                                             bytes=rng.randrange(1, 10**11)), now=NOVEMBER)
                self.verify()
            month = "2026-11" if now == DECEMBER else "2026-12"
            self.invoice("--finalize", month=month, now=now)
            self.assertEqual(self.late(), [])
            self.verify()

    def test_a_killed_withdrawal_left_all_or_nothing(self):
        rng = random.Random(SEED)
        lines = [f"HIT|200|{1793600000000 + rng.randrange(10**7)}|{i}|{101 + i % 2}|192.0.2.1|-|"
                 f"https://e/{i}|{rng.choice(('DE', 'NY'))}|a|{i:032x}|DE\n" for i in range(60000)]
        self.write("log", "".join(lines))
        self.run_tool("ingest", "--db", "t.db", "log", now=NOVEMBER)
        count = "SELECT coalesce(sum(requests),0) FROM buckets"
        for _ in range(60):
            process = self.start("ingest", "--withdraw", "--db", "t.db", "log")
            try:
                process.wait(rng.uniform(0, 0.2))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
            process.wait()
            self.verify()
            (there,) = self.run_tool("query", "--db", "t.db", "--format", "csv", count).out.split()[1:]
            self.assertIn(int(there), (0, 60000))
            if int(there) == 0:
                break
        else:
            self.run_tool("ingest", "--withdraw", "--db", "t.db", "log", now=NOVEMBER)
        self.assertEqual(self.run_tool("ingest", "--withdraw", "--db", "t.db", "log", now=NOVEMBER,
                                       status=1).out, "")
        self.verify()


if __name__ == "__main__":
    unittest.main()
