"""whatif, scenario: months billed again under other prices, by the real binary."""
import csv
import io
import json
import os
import pty
import random
import signal
import subprocess
import sys
import unittest
from decimal import Decimal
from pathlib import Path
from tool import Case, TOOL, random_seed

SOURCE = Path(__file__).resolve().parents[3]
BOOK = {"book": "standard", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00", "optimizer": {"monthly": "9.50"},
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.02"}},
                      "volume": {"per": "GB", "scope": "account", "mode": "graduated", "tiers": [
                          {"from": "0", "to": "500", "price": "0.005"},
                          {"from": "500", "to": None, "price": "0.004"}]}}}
CATALOG = {"accounts": [{"id": i, "name": f"a{i}"} for i in (1, 2, 3)] +
           [{"id": 4, "name": "euro", "currency": "EUR"}],
           "zones": [{"id": 100 + i, "account": i, "name": f"z{i}",
                      "created": "2026-01-05T00:00:00Z"} for i in (1, 2, 3, 4)] +
           [{"id": 205, "account": 2, "name": "v", "type": "volume",
             "created": "2026-01-05T00:00:00Z"}]}
DECEMBER = "2026-12-20T12:00:00Z"
SPAN = ("--from", "2026-09", "--to", "2026-10")
EU = {"scenario": "eu-plus-10", "base": "standard",
      "patch": {"bandwidth": {"premium": {"regions": {"EU": "0.011"}}}}}
SAME = {"scenario": "same"}


class WhatIf(Case):
    def setUp(self):
        super().setUp()
        self.apply(json.dumps(CATALOG))
        self.book(BOOK)
        self.book({**BOOK, "book": "euro", "currency": "EUR"})
        self.take((101, "2026-10-03", "DE", 1000), (101, "2026-10-04", "NY", 100),
                  (102, "2026-10-03", "DE", 2000), (205, "2026-10-09", "DE", 700),
                  (103, "2026-10-05", "NY", 50), (101, "2026-09-05", "DE", 500))

    def book(self, book):
        self.run_tool("book", "add", "--db", "t.db", self.write("b.json", json.dumps(book)))

    def take(self, *rows):
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(
            json.dumps({"zone": zone, "hour": day + "T05:00:00Z", "region": region,
                        "bytes": gb * 10**9}) + "\n" for zone, day, region, gb in rows).encode(),
                      now=DECEMBER)

    def finalize(self, month):
        self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize", now=DECEMBER)

    def whatif(self, *scenarios, words=SPAN, status=0, now=DECEMBER, **more):
        names = [s if isinstance(s, str) else self.write(f"s{i}.json", json.dumps(s))
                 for i, s in enumerate(scenarios)]
        return self.run_tool("whatif", "--db", "t.db", *words, *names, status=status, now=now,
                             **more)

    def answer(self, *scenarios, **more):
        return json.loads(self.whatif(*scenarios, **more).out)

    def one(self, scenario, **more):
        return self.answer(scenario, **more)["scenarios"][-1]

    # --- the answer ---

    def test_factors_that_name_what_is_not_there_are_warned_of(self):
        idle = {"scenario": "idle", "usage": [
            {"zone": 101, "factor": "2"}, {"zone": 999, "factor": "2"},
            {"load_balancer": 5, "factor": "2"}, {"account": 9, "zone": 998, "factor": "2"},
            {"account": 1, "zone": 102, "factor": "2"}, {"account": 1, "zone": 101, "factor": "2"}]}
        named = ["usage[1] changes nothing: there is no pull zone 999.",
                 "usage[2] changes nothing: there is no load balancer 5.",
                 "usage[3] changes nothing: there is no account 9.",
                 "usage[3] changes nothing: there is no pull zone 998.",
                 "usage[4] changes nothing: pull zone 102 is account 2's, not account 1's."]
        for form in ("json", "table"):
            said = self.whatif(idle, words=(*SPAN, "--format", form)).err
            self.assertEqual([line.split("idle: ")[1] for line in said.splitlines()
                              if "Warning" in line], named)
        said = self.run_tool("scenario", "add", "--db", "t.db", self.write(
            "idle.json", json.dumps(idle))).err
        self.assertEqual(said.count("Warning: idle: "), len(named))
        self.assertNotIn("Warning", self.whatif({**idle, "usage": idle["usage"][:1]}).err)

    def test_the_answer_has_the_documented_shape_and_sums_up(self):
        answer = self.answer(EU)
        self.assertEqual(list(answer), ["from", "to", "running", "scenarios", "late"])
        self.assertEqual((answer["from"], answer["to"], answer["running"]),
                         ("2026-09", "2026-10", False))
        s = answer["scenarios"][0]
        # September: 5.00 (account 1) and the others' minimum, October: 12, 20 + 3.30, 1
        self.assertEqual((s["before"], s["after"], s["delta"]), ("43.30", "46.80", "3.50"))
        self.assertEqual(s["percent"], "8.0831")
        self.assertEqual([(a["account"], a["before"], a["after"], a["delta"], a["percent"])
                          for a in s["accounts"]],
                         [(1, "17.00", "18.50", "1.50", "8.8235"),
                          (2, "24.30", "26.30", "2.00", "8.2305"),
                          (3, "2.00", "2.00", "0.00", "0")])
        self.assertEqual((s["losers"], s["winners"], s["same"]), (2, 0, 1))
        for rows in (s["accounts"], s["months"]):
            for amount in ("before", "after", "delta"):
                self.assertEqual(sum(Decimal(r[amount]) for r in rows), Decimal(s[amount]))
        self.assertEqual([m["month"] for m in s["months"]], ["2026-09", "2026-10"])
        self.assertEqual(s["distribution"], {"p5": "0.00", "p50": "1.50", "p95": "2.00"})
        self.assertEqual(s["increases"][0]["account"], 2)
        self.assertEqual(s["increases"][0]["lines"],
                         [{"kind": "bandwidth", "resource": "zone:102", "region": "EU",
                           "before": "20.00", "after": "22.00", "delta": "2.00",
                           "percent": "10"}])
        self.assertEqual(len(s["book_sha256"]), 64)

    def test_before_and_after_are_the_invoices_under_each_book(self):
        self.finalize("2026-09")
        self.finalize("2026-10")
        invoices = json.loads(self.run_tool("invoice", "--db", "t.db", "--month",
                                            "2026-10").out)["invoices"]
        total = sum(Decimal(i["subtotal"]) for i in invoices if i["currency"] == "USD")
        s = self.one(EU, words=("--from", "2026-10", "--to", "2026-10"))
        self.assertEqual(Decimal(s["before"]), total)

    def test_usage_factors(self):
        twice = {"scenario": "twice", "usage": [{"region": "EU", "factor": "2"}]}
        self.assertEqual(self.one({**twice, "base": "standard"})["accounts"][0]["after"], "32.00")
        none = {"scenario": "none", "usage": [{"product": "bandwidth", "factor": 0}]}
        s = self.one(none)
        self.assertEqual(s["after"], "6.00", "the minimum of three accounts' two months")
        said = self.whatif({"scenario": "less", "usage": [{"factor": "-1"}]}, status=2).err
        self.assertIn("usage[0].factor", said)
        self.assertEqual(self.query("SELECT name FROM scenario ORDER BY id"), [["twice"], ["none"]])

    def test_a_patch_that_makes_no_book_is_refused_with_its_path(self):
        for patch, path in (({"bandwidth": {"premium": {"regions": {"EU": "-1"}}}},
                             "patch.bandwidth.premium.regions.EU"),
                            ({"optimiser": {}}, "patch.optimiser"),
                            ({"currency": "EUR"}, "patch.currency")):
            said = self.whatif(EU, {**EU, "scenario": "bad", "patch": patch}, status=2)
            self.assertIn(path, said.err)
            self.assertEqual(said.out, "")
        self.assertIn("s0.json", self.whatif({"scenario": "x", "extra": 1}, status=2).err)
        self.assertIn("no-such-book", self.whatif({**EU, "base": "no-such-book"}, status=2).err)
        self.run_tool("scenario", "add", "--db", "t.db", self.write(
            "bad.json", json.dumps({**EU, "patch": {"minimum_monthly": "x"}})), status=2)
        self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]], "nothing is stored")
        self.verify()

    def test_other_currencies_are_left_out_and_counted(self):
        self.take((104, "2026-10-03", "DE", 1000))
        done = self.whatif(EU)
        s = json.loads(done.out)["scenarios"][0]
        self.assertEqual(s["other_currency"], {"accounts": 1, "bills": 2})
        self.assertNotIn(4, [a["account"] for a in s["accounts"]])
        self.assertIn("another currency", done.err)
        both = self.answer(SAME)["scenarios"]
        self.assertEqual([(s["currency"], s["before"] == s["after"]) for s in both],
                         [("EUR", True), ("USD", True)])
        euro = self.one({**EU, "base": "euro"})
        self.assertEqual((euro["currency"], euro["before"], euro["after"]), ("EUR", "11.00", "12.00"))

    def test_a_book_of_a_currency_that_nobody_pays_in(self):
        self.book({**BOOK, "book": "yen", "currency": "JPY"})
        s = self.one({**EU, "base": "yen", "scenario": "yen"})
        self.assertEqual((s["currency"], s["before"], s["percent"], s["accounts"]),
                         ("JPY", "0", None, []))
        self.assertIn("no account was billed in JPY",
                      self.whatif("yen", words=(*SPAN, "--format", "table")).out)

    def test_usage_without_a_price_is_reported_and_in_neither_amount(self):
        self.take((101, "2026-10-07", "SG", 10))
        done = self.whatif(EU)
        s = json.loads(done.out)["scenarios"][0]
        self.assertEqual(s["after"], "46.80")
        self.assertEqual([(u["account"], u["month"], u["what"], u["before"])
                          for u in s["unpriced"]], [(1, "2026-10", "ASIA", True)])
        self.assertIn("usage without a price", done.err)

    # --- final months ---

    def test_a_final_month_with_late_usage_is_compared_as_billed_so_far(self):
        self.finalize("2026-09")
        self.finalize("2026-10")
        before = self.answer(EU)
        self.assertEqual(before["late"], [])
        self.take((101, "2026-10-20", "DE", 5000))
        done = self.whatif(EU)
        after = json.loads(done.out)
        self.assertEqual(after["scenarios"], before["scenarios"])
        self.assertEqual([(x["account"], x["month"], x["invoice"][:5]) for x in after["late"]],
                         [(1, "2026-10", "2026-")])
        self.assertIn("wait to be billed", done.err)
        self.finalize("2026-11")  # bills it as a correction of October
        third = self.answer(EU)
        self.assertEqual(third["late"], [])
        self.assertEqual(third["scenarios"][0]["accounts"][0]["before"], "67.00")

    def test_the_empty_patch_gives_what_was_invoiced_over_the_fixtures(self):
        db = "f.db"
        self.init(db)
        catalog = json.loads((SOURCE / "fixtures" / "catalog.json").read_text())
        book = json.loads((SOURCE / "fixtures" / "book.json").read_text())
        codes = ("DE", "UK", "NY", "LA", "SG", "AU", "QX7")
        catalog["regions"] = [{"id": i, "code": code, "name": f"EU: {code}", "billing": billing}
                              for i, (code, billing) in enumerate(
                                  zip(codes, ("EU", "EU", "NA", "NA", "ASIA", "ASIA", "AF")), 1)]
        catalog["zones"].append({"id": 999, "account": 1, "name": "found", "type": "volume"})
        self.run_tool("apply", "--delete", "--db", db, self.write("f.json", json.dumps(catalog)))
        for name, currency in ((book["book"], "USD"), ("euro", "EUR")):
            self.run_tool("book", "--db", db, self.write("b.json", json.dumps(
                {**book, "book": name, "currency": currency})))
        for log in ("requests.log", "requests-with-errors.log"):
            self.run_tool("ingest", "--db", db, SOURCE / "fixtures" / log)
        self.run_tool("import", "--db", db, SOURCE / "fixtures" / "buckets.ndjson")
        invoices = []
        for month in range(1, 12):
            out = self.run_tool("invoice", "--db", db, "--month", f"2026-{month:02}", "--finalize",
                                now=DECEMBER).out
            invoices += json.loads(out)["invoices"]
        self.assertGreater(len(invoices), 15)
        answer = json.loads(self.run_tool(
            "whatif", "--db", db, "--from", "2026-01", "--to", "2026-11",
            self.write("same.json", json.dumps({"scenario": "same", "patch": {}})),
            now=DECEMBER).out)
        compared = 0
        for s in answer["scenarios"]:
            own = [i for i in invoices if i["currency"] == s["currency"]]
            for amount in ("before", "after"):
                self.assertEqual(Decimal(s[amount]), sum(Decimal(i["subtotal"]) for i in own))
                for account in s["accounts"]:
                    self.assertEqual(Decimal(account[amount]), sum(
                        Decimal(i["subtotal"]) for i in own if i["account"] == account["account"]))
                for month in s["months"]:
                    self.assertEqual(Decimal(month[amount]), sum(
                        Decimal(i["subtotal"]) for i in own
                        if i["period"]["start"].startswith(month["month"])))
            self.assertEqual([b["sha256"] for b in s["books"]], [own[0]["book"]["sha256"]])
            compared += len(own)
        self.assertEqual(compared, len(invoices))
        self.verify(db)

    def test_the_empty_patch_gives_each_invoice_of_the_history(self):
        """Month by month, so that no difference of one invoice is made up for by another's."""
        subprocess.run([sys.executable, SOURCE / "fixtures" / "history.py", self.folder], check=True)
        self.init("h.db")
        for words in (("apply", "catalog.json"), ("book", "book.json"), ("import", "history.ndjson")):
            self.run_tool(words[0], "--db", "h.db", words[1])
        same, compared = self.write("same.json", json.dumps(SAME)), 0
        for n in range(17):
            month = f"{2025 + (n + 5) // 12}-{(n + 5) % 12 + 1:02}"
            invoices = json.loads(self.run_tool("invoice", "--db", "h.db", "--month", month,
                                                "--finalize").out)["invoices"]
            answer = json.loads(self.run_tool("whatif", "--db", "h.db", "--from", month, "--to",
                                              month, same).out)["scenarios"]
            billed = [(i["account"], i["subtotal"], i["subtotal"]) for i in invoices]
            self.assertEqual([(a["account"], a["before"], a["after"]) for s in answer
                              for a in s["accounts"]], billed, month)
            self.assertEqual({b["sha256"] for s in answer for b in s["books"]},
                             {i["book"]["sha256"] for i in invoices})
            compared += len(billed)
        self.assertEqual(compared, 204)

    def test_the_empty_patch_over_random_months(self):
        seed = random_seed()
        rng = random.Random(seed)
        self.book({**BOOK, "book": "mid", "minimum_monthly": "2.00",
                   "effective_from": "2026-10-14T07:00:00Z"})
        for month in ("2026-08", "2026-09", "2026-10"):
            self.take(*[(rng.choice((101, 102, 103, 104, 205)), f"2026-{rng.randint(8, 11):02}-"
                         f"{rng.randint(1, 28):02}", rng.choice(("DE", "NY")), rng.randint(1, 900))
                        for _ in range(10)])
            self.finalize(month)
        for s in self.answer(SAME, words=("--from", "2026-08", "--to", "2026-11"))["scenarios"]:
            for row in [s, *s["accounts"], *s["months"]]:
                self.assertEqual((row["before"], row["delta"]), (row["after"], "0.00"),
                                 f"TB_SEED={seed}")
        self.verify()

    # --- forms ---

    def test_csv_rows_sum_to_the_total(self):
        out = self.whatif(EU, SAME, words=(*SPAN, "--format", "csv")).out
        rows = list(csv.DictReader(io.StringIO(out)))
        for name in ("eu-plus-10", "same"):
            own = [r for r in rows if r["scenario"] == name and r["currency"] == "USD"]
            total, = [r for r in own if r["row"] == "total"]
            for kind in ("account", "month"):
                self.assertEqual(sum(Decimal(r["after"]) for r in own if r["row"] == kind),
                                 Decimal(total["after"]))
        self.assertEqual([r["resource"] for r in rows if r["row"] == "line"],
                         ["zone:102", "zone:101"])

    def test_the_table_is_for_terminals(self):
        try:
            parent, child = pty.openpty()
        except OSError:
            self.skipTest("this machine has no /dev/pts")
        done = subprocess.Popen([TOOL, "whatif", "--db", "t.db", *SPAN,
                                 self.write("s.json", json.dumps(EU))], cwd=self.folder,
                                stdout=child, stderr=subprocess.DEVNULL,
                                env=self.environment(DECEMBER))
        os.close(child)
        text = b""
        try:
            while piece := os.read(parent, 1 << 16):
                text += piece
        except OSError:
            pass
        os.close(parent)
        self.assertEqual(done.wait(), 0)
        self.assertIn(b"2 pay more, 0 pay less, 1 the same", text)
        self.assertEqual(text.decode().replace("\r\n", "\n"),
                         self.whatif(EU, words=(*SPAN, "--format", "table")).out)
        for part in ("eu-plus-10: standard with other prices", "+3.50", "+8.08 %",
                     "p5 0.00, p50 +1.50, p95 +2.00", "bandwidth zone:102 EU", "2026-09"):
            self.assertIn(part, text.decode())

    def test_the_page_has_its_charts_inside(self):
        out = self.whatif(EU, SAME, words=(*SPAN, "--format", "html")).out
        self.assertEqual(out.count("<svg "), 6, "same has two currencies")
        self.assertEqual(out.count("<article"), 3)
        for bad in ("<script", "http://", "https://", "src=", "url(", "nan", "inf"):
            self.assertNotIn(bad, out.lower())

    # --- names ---

    def test_what_was_used_can_be_named_again(self):
        said = self.whatif(EU)
        self.assertIn("is kept and can be named again", said.err)
        self.assertEqual(self.whatif("eu-plus-10").out, said.out)
        self.assertNotIn("kept", self.whatif(EU).err)
        first = json.loads(said.out)["scenarios"][0]["scenario_sha256"]
        other = {**EU, "patch": {"bandwidth": {"premium": {"regions": {"EU": "0.012"}}}}}
        self.whatif(other)
        self.assertEqual(self.one("eu-plus-10")["accounts"][0]["after"], "20.00")
        self.assertEqual(self.one("eu-plus-10@" + first[:8])["accounts"][0]["after"], "18.50")
        self.assertEqual(self.one("eu-plus-10")["scenario_sha256"], first, "it was used last")
        rows = self.run_tool("scenario", "list", "--db", "t.db", "--format", "table").out.splitlines()
        self.assertEqual(len(rows), 4)
        self.assertEqual(json.loads(self.run_tool("scenario", "show", "--db", "t.db",
                                                  "eu-plus-10").out), EU)
        self.verify()
        self.run_tool("backup", "--db", "t.db", "--to", "copy.db")
        self.assertEqual(self.run_tool("scenario", "list", "--db", "copy.db", "--format", "table").out.splitlines(), rows)

    def test_no_store_and_unknown_names(self):
        self.assertNotIn("kept", self.whatif(EU, words=(*SPAN, "--no-store")).err)
        said = self.whatif("eu-plus-10", status=2).err
        self.assertIn('There is no such file. No scenario "eu-plus-10" is stored', said)
        self.assertIn("sha-256", self.whatif("eu-plus-10@12", status=2).err.lower())
        self.run_tool("scenario", "add", "--db", "t.db", self.write("e.json", json.dumps(EU)))
        self.assertIn("was there already", self.run_tool("scenario", "add", "--db", "t.db",
                                                         "e.json").err)
        self.one("eu-plus-10")
        self.run_tool("scenario", "show", "--db", "t.db", "nothing", status=2)

    def test_the_sample_scenario_of_the_fixtures(self):
        self.book({**BOOK, "book": "standard-2026", "effective_from": "2026-02-01T00:00:00Z"})
        s = self.one(str(SOURCE / "fixtures" / "scenario.json"))
        self.assertEqual(s["accounts"][0]["after"], "20.15", "15.00 x 1.21 and 2.00 of NA")

    # --- spans ---

    def test_spans_with_no_data_say_so(self):
        words = ("--from", "2020-01", "--to", "2021-12")
        said = self.whatif(EU, words=words, status=1)
        self.assertIn("Nothing is stored from 2020-01 to 2021-12", said.err)
        self.assertEqual(said.out, "")
        self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]])
        self.whatif(EU, words=(*SPAN, "--account", "4"))  # a zone without traffic is a month
        self.whatif(EU, words=(*SPAN, "--account", "9"), status=2)

    def test_spans_that_are_none(self):
        for words in (("--from", "2026-10", "--to", "2026-09"), ("--from", "2026-13", "--to",
                      "2026-12"), ("--from", "2026-09", "--to", "2027-02"),
                      ("--from", "1900-01", "--to", "2026-09"), ("--from", "x", "--to", "y")):
            self.whatif(EU, words=words, status=2)
        self.whatif(EU, words=("--from", "2026-09"), status=2)

    def test_the_running_month_counts_as_far_as_it_has_come(self):
        done = self.whatif(EU, words=("--from", "2026-10", "--to", "2026-10"),
                           now="2026-10-20T00:00:00Z")
        answer = json.loads(done.out)
        self.assertTrue(answer["running"])
        self.assertEqual(answer["scenarios"][0]["before"], "36.30", "no minimum yet")

    def test_one_account(self):
        s = self.one(EU, words=(*SPAN, "--account", "2"))
        table = self.whatif({**EU, "usage": [{"factor": 2}]}, words=(
            "--from", "2026-10", "--to", "2026-10", "--account", "2", "--format", "table")).out
        self.assertIn(": 1 account, 1 account-month.", table)
        self.assertIn("usage changed by 1 factor ", table)
        self.assertEqual([a["account"] for a in s["accounts"]], [2])
        self.assertEqual(s["before"], "24.30")

    def test_many_scenarios_in_one_pass_are_what_each_is_alone(self):
        prices = [{"scenario": f"p{i}", "base": "standard", "patch": {
            "bandwidth": {"premium": {"regions": {"EU": f"0.0{i + 1}"}}}}} for i in range(9)]
        together = self.answer(*prices, SAME)["scenarios"]
        for price, found in zip(prices, together):
            self.assertEqual(self.one(price), found)

    def test_whose_month_cannot_be_billed_is_named(self):
        self.change(lambda db: db.execute(
            "UPDATE declaration SET document=json_set(document,'$.currency','dollars')"
            " WHERE kind='account' AND id=2"))
        said = self.whatif(SAME, status=1).err
        self.assertIn("Account 2, 2026-09: Account 2: currency must be ", said)
        said = self.whatif(SAME, words=("--from", "2026-10", "--to", "2026-10"), status=1).err
        self.assertIn("Account 2, 2026-10: Account 2: currency must be ", said)
        self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]])
        self.answer(SAME, words=(*SPAN, "--account", "1"))

    # --- others at work ---

    def test_interrupted_it_says_that_nothing_was_written(self):
        rows = [(z, f"2026-{m:02}-03", "DE", 5) for m in range(1, 11) for z in (101, 102, 103)]
        self.take(*rows)
        many = [self.write(f"m{i}.json", json.dumps({**EU, "scenario": f"m{i}"}))
                for i in range(400)]
        process = self.start("whatif", "--db", "t.db", "--from", "1990-01", "--to", "2026-10", *many,
                             stdout=subprocess.DEVNULL)
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
        if process.wait() == 3:
            self.assertIn("nothing was written", said)
        if process.returncode in (3, -signal.SIGINT):  # else it was quicker, or not yet listening
            self.assertEqual(self.query("SELECT count(*) FROM scenario"), [["0"]])
        self.verify()

    def test_two_at_once_agree(self):
        words = [TOOL, "whatif", "--db", "t.db", *SPAN, self.write("s.json", json.dumps(EU))]
        both = [subprocess.Popen(words, cwd=self.folder, stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, env=self.environment(DECEMBER))
                for _ in range(2)]
        outs = [process.communicate()[0] for process in both]
        self.assertEqual([process.returncode for process in both], [0, 0])
        self.assertEqual(outs[0], outs[1])
        self.verify()

    def test_a_database_that_may_not_be_written_is_read(self):
        out = self.whatif(EU).out
        os.chmod(self.folder / "t.db", 0o444)
        self.addCleanup(os.chmod, self.folder / "t.db", 0o644)
        self.assertEqual(self.whatif("eu-plus-10").out, out)


if __name__ == "__main__":
    unittest.main()
