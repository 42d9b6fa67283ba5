"""ledger import: a bank's list of payments, once, whole or not at all, with what is unclear listed."""
import json
import unittest

from money import CATALOG, DECEMBER, NOVEMBER, Ledger

MAP = "date=Buchungstag,amount=Betrag,reference=Verwendungszweck,payer=Name,currency=W\u00e4hrung,id=Kennung"
HEAD = "Buchungstag;Name;Verwendungszweck;W\u00e4hrung;Betrag;Kennung\n"


class PaymentsFile(Ledger):
    def setUp(self):
        super().setUp()
        self.use(101, 500)
        self.use(201, 150000)
        self.finalize()  # 2026-000001 over 6.00 and 2026-000002 over 1500.00

    def give(self, text, *words, status=0, now=DECEMBER, encoding="utf-8", mapped=MAP):
        (self.folder / "bank.csv").write_bytes(text.encode(encoding))
        done = self.run_tool("ledger", "import", "--db", "t.db", "--map", mapped, *words, "bank.csv",
                             now=now, status=status)
        self.rows = [line.split("\t") for line in done.out.splitlines()[1:]]
        return done

    def states(self):
        return [(r[3], r[4], r[5]) for r in self.rows]

    def payments(self, account):
        return [(e[1][:10], e[3], e[5]) for e in self.entries(account) if e[2] == "payment"]

    FILE = HEAD + (
        '05.11.2026;Anyone;"RE 2026-000001; ""October""";USD;4,00;A1\n'
        '06.11.2026;Anyone;zu 2026000002 u. Kd. 17;USD;1.234,50;A2\n'
        '07.11.2026;BOREALIS;danke;USD;265,50;A3\n'
        '07.11.2026;Nobody;danke;USD;1,00;A4\n'
        '07.11.2026;Anyone;2026-000001 und 2026-000002;USD;1,00;A5\n'
        '07.11.2026;Anyone;2026-000001;EUR;1,00;A6\n'
        '07.11.2026;Anyone;2026-000009;USD;1,00;A7\n'
        '08.11.2026;Rent;;USD;-900,00;A8\n')

    def test_rows_are_matched_and_the_rest_is_listed(self):
        dry = self.give(self.FILE, "--comma", "--dry-run", status=1)
        self.assertIn("3 would be entered", dry.err)
        self.assertEqual(self.payments(1) + self.payments(2), [])
        self.give(self.FILE, "--comma", status=1, encoding="latin-1")
        self.assertEqual(self.states(), [
            ("entered", "1", "2026-000001"), ("entered", "2", "2026-000002"),
            ("entered", "2", "2026-000002"), *[("unmatched", "", "")] * 4, ("outgoing", "", "")])
        for row, words in zip(self.rows[3:7], ("no account is called", "accounts 1 and 2", "in EUR",
                                               "no invoice 2026-000009")):
            self.assertIn(words, row[6])
        self.assertEqual(self.payments(1), [("2026-11-05", "4", "bank A1")])
        self.assertEqual(self.payments(2), [("2026-11-06", "1234.5", "bank A2"),
                                            ("2026-11-07", "265.5", "bank A3")])
        self.assertEqual(self.entries(2)[-1][3], "0")
        again = self.give(self.FILE, "--comma", status=1)
        self.assertIn("0 entered, 3 known before, 4 unmatched", again.err)
        self.assertEqual(len(self.payments(1) + self.payments(2)), 3)
        self.verify()

    def test_an_opening_balances_reference_names_its_account(self):
        self.apply(json.dumps({**CATALOG, "accounts": [*CATALOG["accounts"], {"id": 3, "name": "c"}, {"id": 4, "name": "d"}]}))
        self.ledger("begin", "--month", "2026-10", "-", now=NOVEMBER,
                    stdin=b"account,amount,reference\n3,-9,RE-815\n4,-2,2025-000815\n4,-1,7\n4,-3,RESTZ\n")
        rows = "".join(f"05.11.2026;Anyone;{text};USD;1,00;B{i}\n" for i, text in enumerate(
            ("zu RE-815, danke", "RE-815 (Nr. 2025-000815)", "2025-000815", "RE-815 2026-000001", "Kd. 7 RESTZ", "XRE-815")))
        self.give(HEAD + rows, "--comma", status=1)
        self.assertEqual(self.states(), [
            ("entered", "3", ""), ("unmatched", "", ""), ("entered", "4", ""), ("entered", "1", "2026-000001"),
            *[("unmatched", "", "")] * 2])
        self.assertIn("opening balances of accounts 3 and 4", self.rows[1][6])
        again = self.give(HEAD + rows, "--comma", status=1)
        self.assertIn("0 entered, 3 known before, 3 unmatched", again.err)
        self.give(HEAD + "06.11.2026;d;hosting RE-815;USD;1,00;C1\n06.11.2026;c;hosting RE-815;USD;1,00;C2\n", "--comma", status=1)
        self.assertEqual(self.states(), [("unmatched", "", ""), ("entered", "3", "")])
        self.assertIn("balance of account 3, and account 4 is called like its payer", self.rows[0][6])

    def test_a_file_is_entered_as_a_whole_or_not_at_all(self):
        good = '05.11.2026;A;2026-000001;USD;4,00;A1\n'
        for bad, words in (('5.11.26;A;2026-000001;USD;1,00;A2\n', "line 3: Date: "),
                           ('05.11.2026;A;2026-000001;USD;1.00;A2\n', "line 3: Amount: "),
                           ('05.11.2026;A;2026-000001;USD;1,001;A2\n', "digits"),
                           ('05.11.2026;A;"2026-000001;USD;1,00;A2\n', "quote"),
                           ('05.01.2027;A;2026-000001;USD;1,00;A2\n', "not come yet"),
                           ('05.11.2026;A;2026-000001;USD;5,00;A1\n' * 1, "before")):
            done = self.give(HEAD + good + bad, "--comma", status=2)
            self.assertIn(words, done.err)
            self.assertIn("Nothing was entered", done.err)
            self.assertEqual(self.payments(1), [], bad)
        self.assertIn("no column", self.give(HEAD + good, "--comma", mapped="date=Tag,amount=Betrag", status=2).err)
        self.assertIn("amount=COLUMN", self.give(HEAD + good, mapped="date=Buchungstag", status=2).err)

    def test_rows_without_an_id_are_known_by_their_cells(self):
        text = 'when,what,how much\n2026-11-05,2026-000001,"1.00"\n2026-11-05,2026-000001,1.00\n'
        mapped = "date=when,reference=what,amount=how much"
        self.give(text, mapped=mapped)
        self.give(text + "2026-11-06,2026-000001,1.00\n", mapped=mapped)
        self.assertEqual([p[:2] for p in self.payments(1)],
                         [("2026-11-05", "1"), ("2026-11-05", "1"), ("2026-11-06", "1")])

    def test_a_closed_month_is_entered_today_or_not(self):
        self.run_tool("ledger", "close", "--db", "t.db", "--month", "2026-11", now=DECEMBER)
        text = HEAD + "05.11.2026;A;2026-000001;USD;4,00;A1\n"
        refused = self.give(text, "--comma", status=1).err
        self.assertIn("Nothing was entered. --today enters it", refused)
        self.assertTrue(refused.endswith("--reopen\n"), refused)
        self.give(text, "--comma", "--today")
        self.assertEqual(self.payments(1), [("2026-12-03", "4", "bank A1")])
        self.assertIn("2026-11-05", self.entries(1)[-2][6])

    def test_a_void_invoice_stands_for_the_next(self):
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER)
        self.finalize()
        self.give(HEAD + "05.11.2026;A;2026-000001;USD;4,00;A1\n", "--comma")
        self.assertEqual(self.states(), [("entered", "1", "2026-000003")])

    def test_a_larger_map_finds_the_same_rows(self):
        text = "when;what;how much;who;no\n2026-11-05;RE 2026-000001;1.00;X;K1\n" * 1
        small = "date=when,reference=what,amount=how much"
        self.give(text, mapped=small)
        for larger in ("payer=who", "id=no", "payer=who,id=no"):
            self.assertIn("0 entered, 1 known", self.give(text, mapped=f"{small},{larger}").err, larger)
        self.assertEqual(len(self.payments(1)), 1)

    def test_days_have_two_forms_and_no_other(self):
        for day in ("03/11/2026", "2026-11-03Tgarbage", "2026-11-03T10:00:00", "03.11.26", "3-11-2026", "2026-02-30",
                    "31.02.2026", "03.11.2026x", "2026-1-3", "03.11. 2026", "2026/11/03", "11032026", "Nov 3 2026", ""):
            done = self.give(HEAD + f"{day};A;2026-000001;USD;4,00;A1\n", "--comma", "--dry-run", status=2)
            self.assertIn("2026-10-31 or 31.10.2026", done.err, day)
        for day in ("2026-11-03", "03.11.2026", "3.11.2026"):
            self.give(HEAD + f"{day};A;2026-000001;USD;4,00;A1\n", "--comma", "--dry-run")
            self.assertEqual(self.rows[0][1], "2026-11-03")

    def test_a_row_has_as_many_cells_as_the_head(self):
        head, mapped = "when,what,how much,rest\n", "date=when,reference=what,amount=how much"
        for row, n in (("2026-11-03,2026-000001,1,234.50,x", 5), ("2026-11-03,2026-000001,1", 3)):
            done = self.give(head + row + "\n", mapped=mapped, status=2)
            self.assertIn(f"it has {n} cells, and the head has 4", done.err)
        for amount, word in (("1.234,50", ""), ("1,234.50", "--comma"), ("1.234", ""), ("1,234", "--comma"),
                             ("1'234,500", "")):
            done = self.give(HEAD + f"05.11.2026;A;2026-000001;USD;{amount};A1\n", *word.split(), status=2)
            self.assertIn("amount" if len(amount) > 5 else "digits", done.err)
        self.assertEqual(self.payments(1), [])

    def test_void_invoices_are_followed_to_the_last(self):
        for number in ("2026-000001", "2026-000003"):
            self.run_tool("invoice", "--db", "t.db", "--void", number, now=NOVEMBER)
            if number == "2026-000001":
                self.finalize()
        text = HEAD + "05.11.2026;A;2026-000001;USD;1,00;A1\n"
        self.give(text, "--comma")
        self.assertEqual(self.states(), [("entered", "1", "")])
        self.finalize()
        self.give(text + text[len(HEAD):].replace("A1", "A2"), "--comma")
        self.assertEqual(self.states(), [("known", "1", ""), ("entered", "1", "2026-000004")])

    def test_a_dry_run_refuses_what_the_run_refuses(self):
        self.run_tool("invoice", "--db", "t.db", "--void", "2026-000001", now=NOVEMBER)
        self.run_tool("ledger", "close", "--db", "t.db", "--month", "2026-10", now=DECEMBER)
        row = "05.11.2026;A;2026-000002;USD;4,00;A1\n"
        before = self.run_tool("audit", "--db", "t.db", "--format", "table", now=DECEMBER).out
        for rows, refused in ((row.replace("05.11", "05.10"), 1), (row.replace("4,00", "4,001"), 2), (row + row, 0),
                              (row + row.replace("4,00", "5,00"), 2)):
            text, said = HEAD + rows, []
            for words in (["--dry-run"], []):
                done = self.give(text, "--comma", *words, status=refused)
                said.append((done.returncode, done.err.replace("would be entered", "entered"), self.states()))
            self.assertEqual(*said)
            if not refused:
                self.assertEqual([row[4] for row in self.rows], ["2", "2"])
        after = self.run_tool("audit", "--db", "t.db", "--format", "table", now=DECEMBER).out
        self.assertEqual(len(after.splitlines()) - len(before.splitlines()), 1)

    def test_an_id_of_the_banks_is_one_payment_only(self):
        row = "05.11.2026;A;RE 2026-000001;USD;4,00;A1\n"
        self.give(HEAD + row, "--comma")
        for other in (("05.11", "06.11"), ("000001", "000002")):
            done = self.give(HEAD + row.replace(*other), "--comma", status=2)
            self.assertIn("line 2", done.err.lower())
            self.assertIn("A1 was entered for account 1 over 4 on 2026-11-05 to invoice 2026-000001 before", done.err)
        self.give(HEAD + row.replace("RE 2026-000001", "nothing"), "--comma", now="2026-12-05T00:00:00Z")
        self.assertEqual(self.states(), [("known", "1", "2026-000001")])
        closed = row.replace("A1", "B1")
        self.give(HEAD + closed, "--comma", "--today")
        self.give(HEAD + closed, "--comma", "--today")
        self.assertEqual(self.states()[0][0], "known")

    def test_what_a_file_pays_is_not_paid_again_in_it(self):
        self.use(101, 300, day="2026-11-03", now=DECEMBER)
        self.finalize(month="2026-11", now=DECEMBER)  # 2026-000003 over 3.60, after 2026-000001 over 6.00
        mapped = "date=d,amount=a,account=k"
        self.give("d;a;k\n" + "".join(f"2026-12-02;{a};1\n" for a in ("3.60", "3.60", "2.00", "0.40", "1")),
                  mapped=mapped)
        self.assertEqual([r[5] for r in self.rows], ["2026-000003", "", "", "2026-000001", ""])
        self.assertEqual(self.entries(1)[-1][3], "1")

    def test_long_numbers_in_a_reference_are_no_reason(self):
        mapped = "date=d,amount=a,account=k,reference=r,payer=p"
        self.give("d;a;k;r;p\n2026-11-05;4;1;Kd 2026110512345;\n2026-11-05;3;;Kd 2026110512345;BOREALIS\n"
                  "2026-11-05;3;;Kd 2026110512345;other\n", mapped=mapped, status=1)
        self.assertEqual(self.states(), [("entered", "1", ""), ("entered", "2", ""), ("unmatched", "", "")])
        self.assertIn("there is no invoice 2026-110512345", self.rows[2][6])

    def test_words_are_said_once_and_hashes_never(self):
        done = self.give(HEAD + "x;A;2026-000001;USD;4,00;A1\n", "--comma", status=2)
        self.assertEqual(done.err.lower().count("line 2"), 1, done.err)
        done = self.give(HEAD + "05.01.2027;A;2026-000001;USD;4,00;A1\n", "--comma", status=2)
        self.assertEqual(done.err.lower().count("line 2"), 1, done.err)
        self.assertIn("UTF-16", self.give(HEAD, encoding="utf-16", status=2).err)
        self.assertIn("UTF-16", self.give(HEAD, encoding="utf-16-le", status=2).err)
        self.give(HEAD + ";;;;;\n  ; ; ;;;\n   \n03.11.2026;A;RE 2026-000001;USD;4,00;\n", "--comma",
                  now="2026-11-03T13:00:00Z")
        self.assertEqual([r[0] for r in self.rows], ["5"])
        self.give(HEAD + "04.11.2026;A;RE 2026-000001;USD;1,00;\n", "--comma")
        self.assertEqual([e[1] for e in self.entries(1) if e[2] == "payment"],
                         ["2026-11-03T13:00:00Z", "2026-11-04T23:59:59Z"])
        for form in ("json", "csv", "html"):
            out = self.run_tool("ledger", "statement", "--db", "t.db", "--account", "1", "--format", form, now=DECEMBER).out
            self.assertNotRegex(out, "row [0-9a-f]{8}")
            self.assertIn("RE 2026-000001", out)
            self.assertLess(out.index("invoice" if form != "html" else "Invoice"), out.index("RE 2026-000001"))

    def test_a_map_that_leaves_the_id_out_is_refused(self):
        text = "when;what;how much;no\n2026-11-05;RE 2026-000001;1.00;K1\n"
        small = "date=when,reference=what,amount=how much"
        self.give(text, mapped=small + ",id=no")
        self.assertIn('line 2: Its cell "K1" is the id', self.give(text, mapped=small, status=2).err)
        self.give(text.replace("1.00", "2.00"), mapped=small)  # another payment: the cell says nothing
        self.assertEqual(len(self.payments(1)), 2)


if __name__ == "__main__":
    unittest.main()
