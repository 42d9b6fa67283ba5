"""account list: every declared account with its running month and its balance, from both faces."""
import json
import unittest

from both import CATALOG, Both

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
                                    "balance": "12.50", "monthToDate": "3.00", "why": None})
        self.assertEqual((found[2]["monthToDate"], found[2]["balance"]), ("0.20", "0.00"))
        self.assertEqual(list(found), [1, 2, 3])
        table = self.run_tool("account", "list", "--db", "l.db", "--format", "table").out.splitlines()
        self.assertEqual(table[0], "account\tname\tcurrency\tpays\t2026-11\tbalance")
        self.assertEqual(table[1], "1\ta1\tUSD\tinvoiced\t3.00\t12.50")

    def test_usage_without_a_price_and_an_account_that_is_gone(self):
        self.on_both("import", "-", stdin=self.rows({101: 300}, hour="2026-11-03T05:00:00Z"))
        found = self.listed()
        self.assertIn("no price", found[1]["why"])
        self.assertIsNone(found[2]["why"])
        fewer = {"accounts": CATALOG["accounts"][:2], "zones": CATALOG["zones"][:2]}
        self.on_both("apply", "-", stdin=json.dumps(fewer).encode())
        self.assertEqual(list(self.listed()), [1, 2])

    def test_others_keys_may_not_ask(self):
        refused = self.run_tool("account", "list", "--server", self.url, key=self.user, status=2)
        self.assertIn("role", refused.err)


if __name__ == "__main__":
    unittest.main()
