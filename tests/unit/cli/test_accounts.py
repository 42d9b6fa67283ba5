"""account list and intake: whom the operator bills, and what came in for nobody; from both faces."""
import json
import re
import sqlite3
import unittest
import urllib.error
import urllib.request
from decimal import ROUND_HALF_UP, Decimal

from both import CATALOG, Both
from tool import NOW, line

BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}


class Accounts(Both):
    def listed(self):
        return {row["account"]: row for row in self.both("account", "list", "--format", "json")["accounts"]}

    def both(self, *words):
        """The same answer from the database and from the server."""
        here = self.run_tool(*words, "--db", "l.db").out
        there = self.run_tool(*words, "--server", self.url, key=self.key).out
        self.assertEqual(here, there)
        return json.loads(here)

    def on_both(self, *words, stdin=b""):
        self.run_tool(*words, "--db", "l.db", stdin=stdin)
        self.run_tool(*words, "--server", self.url, key=self.key, stdin=stdin)

    def test_what_an_account_has_come_to_and_what_it_has_left(self):
        self.on_both("book", "-", stdin=json.dumps(BOOK).encode())
        self.on_both("import", "-", stdin=self.rows({101: 300, 102: 20}, hour="2026-11-03T05:00:00Z"))
        self.on_both("ledger", "pay", "--account", 1, "--amount", "12.50", "--reference", "r1")
        found = self.listed()
        self.assertEqual(found[1], {"account": 1, "name": "a1", "currency": "USD", "prepaid": False,
                                    "balance": "12.50", "owed": "0.00", "overdue": "0.00",
                                    "monthToDate": "3.00", "why": None})
        self.assertEqual((found[2]["monthToDate"], found[2]["balance"]), ("0.20", "0.00"))
        self.assertEqual(list(found), [1, 2, 3])
        table = self.run_tool("account", "list", "--db", "l.db", "--format", "table").out.splitlines()
        self.assertEqual(table[0], "account\tname\tcurrency\tpays\t2026-11\tbalance\towed\toverdue")
        self.assertEqual(table[1], "1\ta1\tUSD\tinvoiced\t3.00\t12.50\t0.00\t0.00")

    def test_names_alone(self):
        every = [{"account": i, "name": f"a{i}"} for i in (1, 2, 3)]
        found = self.both("account", "list", "--names", "--format", "json")
        self.assertEqual((found["accounts"], found["total"]), (every, 3))
        self.assertEqual(self.both("account", "list", "--names", "--after", 1, "--limit", 1, "--format", "json")["accounts"], every[1:2])
        self.assertEqual(self.both("account", "list", "--names", "--search", "A3", "--format", "json")["accounts"], every[2:])
        table = self.run_tool("account", "list", "--names", "--db", "l.db", "--format", "table").out
        self.assertEqual(table, "account\tname\n1\ta1\n2\ta2\n3\ta3\n")

    def test_a_summary_is_what_prices_times_usage_come_to(self):
        """The clock stands at 2026-11-20T12:00. October counts to the same hour, and not the hours behind it."""
        self.on_both("book", "-", stdin=json.dumps(BOOK).encode())
        gigabytes = {"2026-10-20T11:00:00Z": {101: 100, 102: 40000, 103: 800}, "2026-10-20T12:00:00Z": {101: 7000, 103: 5000},
                     "2026-11-03T05:00:00Z": {101: 900, 102: 30000, 103: 1000}}
        for hour, usage in gigabytes.items():
            self.on_both("import", "-", stdin=self.rows(usage, hour=hour))
        self.on_both("ledger", "adjust", "--account", 2, "--amount=-7.50", "--reference", "r1")
        before = {"101": 1000, "102": 500}  # of the third of October, from the beginning

        def charged(account, *hours):
            of = sum(gigabytes[hour].get(100 + account, 0) for hour in hours) + before.get(str(100 + account), 0) * (hours[0][:7] == "2026-10")
            return (Decimal(of) / 100).quantize(Decimal("0.01"))  # 0.01 USD a GB, premium in Europe

        november, october = ("2026-11-03T05:00:00Z",), ("2026-10-20T11:00:00Z",)
        found = self.both("account", "summary", "--format", "json")
        self.assertEqual([found[name] for name in ("month", "until", "previous_until", "accounts")],
                         ["2026-11", "2026-11-20T12:00:00Z", "2026-10-20T12:00:00Z", 3])
        [usd] = found["currencies"]
        now, then = {i: charged(i, *november) for i in (1, 2, 3)}, {i: charged(i, *october) for i in (1, 2, 3)}
        whole = {i: charged(i, "2026-10-20T11:00:00Z", "2026-10-20T12:00:00Z") for i in (1, 2, 3)}
        self.assertEqual([usd[name] for name in ("currency", "accounts", "charges", "previous", "change", "owed", "unbilled", "unbilled_accounts")],
                         ["USD", 3, str(sum(now.values())), str(sum(then.values())), str(sum(now.values()) - sum(then.values())), "7.50", str(sum(whole.values())), 3])
        change = {i: now[i] - then[i] for i in now}
        for name, order in (("grown", sorted((i for i in now if change[i] > 0), key=lambda i: -change[i])),
                            ("grown_percent", sorted((i for i in now if change[i] > 0), key=lambda i: -change[i] / then[i])),
                            ("fallen", sorted((i for i in now if change[i] < 0), key=lambda i: change[i])), ("most_overdue", [])):
            self.assertEqual([(one["account"], one["name"], one["charges"], one["previous"], one["change"]) for one in usd[name]],
                             [(i, f"a{i}", str(now[i]), str(then[i]), str(change[i])) for i in order], name)
            for one in usd[name]:
                self.assertEqual(Decimal(one["percent"]), (100 * change[one["account"]] / then[one["account"]]).quantize(Decimal("0.1"), ROUND_HALF_UP))
        self.assertEqual(found["incomplete"], {"accounts": 0, "first": []})
        self.assertEqual([one["account"] for one in self.both("account", "summary", "--top", 1, "--format", "json")["currencies"][0]["fallen"]],
                         [min(change, key=change.get)])
        self.on_both("invoice", "--month", "2026-10", "--account", 1, "--finalize")
        [usd] = self.both("account", "summary", "--format", "json")["currencies"]
        self.assertEqual((usd["unbilled"], usd["unbilled_accounts"]), (str(whole[2] + whole[3]), 2))
        table = self.run_tool("account", "summary", "--db", "l.db", "--format", "table").out.splitlines()
        self.assertEqual(table[0], "list\tcurrency\taccount\tname\tcharges\tprevious\tchange\tpercent\towed\toverdue\tunbilled")
        self.assertTrue(table[1].startswith(f"all\tUSD\t-\t3 accounts\t{sum(now.values())}\t"))

    def test_a_summary_says_which_accounts_are_not_whole(self):
        self.on_both("import", "-", stdin=self.rows({101: 300}, hour="2026-11-03T05:00:00Z"))
        found = self.both("account", "summary", "--format", "json")
        self.assertEqual(found["incomplete"]["accounts"], 2)  # the second has usage of October
        self.assertEqual([one["account"] for one in found["incomplete"]["first"]], [1, 2])
        self.assertIn("no price", found["incomplete"]["first"][0]["why"])

    def test_some_of_them(self):
        def asked(*words):
            return [row["account"] for row in self.both("account", "list", *words, "--format", "json")["accounts"]]
        self.assertEqual(asked("--limit", 2), [1, 2])
        self.assertEqual(asked("--after", 1), [2, 3])
        self.assertEqual(asked("--after", 1, "--limit", 1), [2])
        self.assertEqual(asked("--after", 3), [])
        self.assertEqual(asked("--limit", 2, "--page", 2), [3])
        self.assertEqual(asked("--limit", 2, "--page", 3), [])
        self.run_tool("account", "list", "--db", "l.db", "--limit", 0, status=2)
        refused = self.run_tool("account", "list", "--db", "l.db", "--page", 2, status=2).err
        self.assertIn("--limit", refused)

    def test_the_most_first_and_what_cannot_be_told_last(self):
        def asked(*words):
            return [row["account"] for row in self.both("account", "list", *words, "--format", "json")["accounts"]]
        self.on_both("book", "-", stdin=json.dumps(BOOK).encode())
        self.on_both("import", "-", stdin=self.rows({101: 300, 102: 900, 103: 600}, hour="2026-11-03T05:00:00Z"))
        named = [{"id": 1, "name": "Beta"}, {"id": 2, "name": "alpha", "prepaid": True}, {"id": 3, "name": "Gamma 12"}]
        self.on_both("apply", "--delete", "-", stdin=json.dumps({**CATALOG, "accounts": named}).encode())
        for account, amount, day in ((1, "-7", "2026-10-01"), (1, "-2", "2026-11-05"), (3, "-8", "2026-11-05"), (2, "5", "2026-10-01")):
            self.on_both("ledger", "adjust", "--account", account, f"--amount={amount}", "--reference", f"r{account}{amount}")
        self.assertEqual(asked("--sort", "name"), [2, 1, 3])
        self.assertEqual(asked("--sort", "name", "--descending"), [3, 1, 2])
        self.assertEqual(asked("--sort", "pays", "--descending"), [2, 1, 3])
        self.assertEqual(asked("--sort", "monthToDate", "--descending"), [2, 3, 1])
        self.assertEqual(asked("--sort", "monthToDate", "--descending", "--limit", 1, "--page", 2), [3])
        self.assertEqual(asked("--sort", "balance"), [1, 3, 2])
        self.assertEqual(asked("--sort", "owed", "--descending"), [1, 3, 2])
        self.assertEqual(asked("--search", "ALPHA"), [2])
        self.assertEqual(asked("--search", "1", "--sort", "name"), [1, 3])  # a number, and a name
        self.assertEqual(asked("--search", "%"), [])
        found = self.listed()
        self.assertEqual([found[i]["owed"] for i in (1, 2, 3)], ["9.00", "0.00", "8.00"])
        for row in found.values():
            aged = self.both("ledger", "aging", "--account", row["account"])["accounts"][0]
            self.assertEqual((row["owed"], aged["current"]), (aged["total"], f"{float(row['owed']) - float(row['overdue']):.2f}"))
        with self.assertRaises(AssertionError):
            asked("--sort", "why")

    def test_an_answer_over_http_is_bounded_and_goes_on(self):
        many = [{"id": i, "name": f"a{i}"} for i in range(1, 1204)]
        self.on_both("apply", "--delete", "-", stdin=json.dumps({**CATALOG, "accounts": many}).encode())
        self.on_both("ledger", "pay", "--account", 1100, "--amount", "1", "--reference", "r1")
        every = list(range(1, 1204))
        for words, expected in (((), every), (("--descending",), every[::-1]), (("--limit", 1100), every[:1100]),
                                (("--limit", 1001, "--page", 2), every[1001:]),
                                (("--sort", "balance"), [i for i in every if i != 1100] + [1100])):
            found = self.both("account", "list", *words, "--format", "json")
            self.assertEqual([row["account"] for row in found["accounts"]], expected, words)
            self.assertEqual(found["total"], 1203)
        first = self.whole("account-list", sort="account")
        self.assertEqual((len(first["answer"]["accounts"]), first["answer"]["total"]), (1000, 1203))
        rest = self.whole("account-list", sort="account", next=first["next"])
        self.assertEqual([row["account"] for row in rest["answer"]["accounts"]], every[1000:])
        self.assertEqual(rest["next"], "")
        for wrong in ("1", "x y z", "2026 1 1 1", "99999999999 1 1"):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.whole("account-list", next=wrong)
            self.assertEqual((refused.exception.code, json.load(refused.exception)["Field"]), (400, "next"))

    def test_a_list_goes_on_behind_its_last_account(self):
        many = [{"id": i, "name": f"a{i}"} for i in range(1, 1204)]
        self.on_both("apply", "--delete", "-", stdin=json.dumps({**CATALOG, "accounts": many}).encode())
        first = self.whole("account-list")
        fewer = [one for one in many if one["id"] > 50 or one["id"] in (1, 2, 3)]
        self.on_both("apply", "--delete", "-", stdin=json.dumps({**CATALOG, "accounts": fewer}).encode())
        rest = self.whole("account-list", next=first["next"])["answer"]
        self.assertEqual([row["account"] for row in rest["accounts"]], list(range(1001, 1204)))

    def test_names_keep_the_table_whole(self):
        """A name that an earlier build took."""
        name = "a\tb\x1b[31m\nc\x7f\x9b1m\uffff"
        refused = {**CATALOG, "accounts": [{"id": 1, "name": name}, *CATALOG["accounts"][1:]]}
        done = self.run_tool("apply", "-", "--db", "l.db", stdin=json.dumps(refused).encode(), status=2)
        self.assertIn("accounts[0].name: Must hold no control characters", done.err)
        with sqlite3.connect(self.folder / "l.db") as db:
            db.create_function("tb_seal", -1, lambda *_: 0)
            db.execute("UPDATE account SET name=?1, document=json_set(document,'$.name',?1) WHERE id=1", [name])
            db.execute("UPDATE declaration SET document=json_set(document,'$.name',?1) WHERE kind='account' AND id=1", [name])
        table = self.run_tool("account", "list", "--db", "l.db", "--format", "table").out.split("\n")
        self.assertEqual(table[1].split("\t")[:3], ["1", "a b [31m c \\xc2\\x9b1m\\xef\\xbf\\xbf", "USD"])
        listed = json.loads(self.run_tool("account", "list", "--db", "l.db", "--format", "json").out)
        self.assertEqual(listed["accounts"][0]["name"], name)

    def test_usage_without_a_price_and_an_account_that_is_gone(self):
        self.on_both("import", "-", stdin=self.rows({101: 300}, hour="2026-11-03T05:00:00Z"))
        found = self.listed()
        self.assertIn("no price", found[1]["why"])
        self.assertIsNone(found[2]["why"])
        fewer = {"accounts": CATALOG["accounts"][:2], "zones": CATALOG["zones"][:2]}
        self.on_both("apply", "--delete", "-", stdin=json.dumps(fewer).encode())
        self.assertEqual(list(self.listed()), [1, 2])

    def test_others_keys_may_not_ask(self):
        for words in (("account", "list"), ("account", "summary"), ("intake",)):
            refused = self.run_tool(*words, "--server", self.url, key=self.user, status=2)
            self.assertIn("role", refused.err)

    # --- intake ---

    def test_what_will_be_on_no_invoice(self):
        log = line(1, zone=999) + line(2, edge="QX7") + "nonsense\n\nnonsense \x00\n"
        self.on_both("ingest", "-", stdin=log.encode() + b"\xff|x\n")
        here = self.run_tool("intake", "--db", "l.db", "--format", "table").out
        there = self.run_tool("intake", "--server", self.url, "--format", "table", key=self.key).out
        self.assertEqual(here, re.sub("\thttp, key [0-9]+\n", "\t-\n", there))  # of standard input there is no more to say
        rows = [row.split("\t") for row in here.splitlines()]
        self.assertEqual(rows[0], ["what", "lines", "which"])
        self.assertIn(["no region", "-", "QX7"], rows)
        self.assertIn(["no account", "-", "pull zone 999"], rows)
        self.assertIn(["refused", "1", "blank line"], rows)
        self.assertEqual(sum(int(row[1]) for row in rows[1:] if row[0] == "refused"), 4)
        answer = self.asked("intake")
        self.assertEqual(answer["unpriced"], ["QX7"])
        self.assertEqual([one["zone"] for one in answer["unowned"]["zones"]], [999])
        self.assertEqual(sum(one["lines"] for one in answer["refused"]), 4)
        self.assertIn("nonsense \ufffd", {one["text"] for one in answer["refused"]})

    def test_each_source_says_when_its_newest_came(self):
        hostile = "edge\n7\t<b>.log"
        before = "2026-11-20T09:00:00Z"
        for source, first, last, now in (("edge-1.log", 1, 2, before), (hostile, 3, 3, before), ("edge-1.log", 1, 4, NOW)):
            self.write(source, "nonsense\n" + "".join(line(n) for n in range(first, last + 1)))
            self.run_tool("ingest", "--db", "l.db", source, now=now)
            self.run_tool("ingest", "--server", self.url, source, key=self.key)
        found, = (one for one in self.asked("intake")["sources"] if one["source"].startswith("http"))
        self.assertRegex(found.pop("source"), r"^http, key \d+$")
        self.assertEqual(found, {"kind": "log", "newest": NOW, "segments": 3, "accepted": 5, "rejected": 2})
        here = [row.split("\t") for row in self.run_tool("intake", "--db", "l.db", "--format", "table").out.splitlines()]
        self.assertIn([f"newest {NOW}", "4", "edge-1.log"], here)
        self.assertIn([f"newest {before}", "1", "edge 7 <b>.log"], here)

    def test_another_months_usage_without_an_account(self):
        self.on_both("import", "-", stdin=self.rows({999: 3}, hour="2026-09-03T05:00:00Z"))
        self.assertEqual(self.asked("intake")["unowned"]["zones"], [])
        self.assertEqual(len(self.asked("intake", month="2026-09")["unowned"]["zones"]), 1)

    def asked(self, name, **given):
        return self.whole(name, **given)["answer"]

    def whole(self, name, **given):
        request = urllib.request.Request(f"{self.url}/operations/{name}", json.dumps(given).encode(),
                                         {"AccessKey": self.key, "Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)


if __name__ == "__main__":
    unittest.main()
