"""Questions about all accounts with usage on ClickHouse servers: the answers are the file's, and the number of statements
does not grow with the accounts."""
import json
import re
import unittest

from clickhouse import PROGRAM
from harness import SOURCE, Case, run
from test_usage_servers import Pair

FEW, MANY = 30, 300
MORE = (MANY - FEW) // 3  # statements; far fewer than one for each further account. Servers are also looked at once a second
BALANCERS = 5  # one account in so many has one
BOOKS = ("2026-01-01T00:00:00Z", "2026-10-30T23:00:00Z", "2026-11-03T05:00:00Z") # days that are read by the hour
TIMES = "from=2026-10-30&to=2026-11-04"
FLEET = {"insights": f"/insights?{TIMES}&compare=week&rank=accounts", "of a location": f"/insights?{TIMES}&region=SG",
         **{f"why by {by}": f"/insights/why?field=requests&by={by}&from=2026-11-01&to=2026-11-03&against_from=2026-10-30"
            "&against_to=2026-11-01" for by in ("account", "region", "status", "day", "zone")}}


def zones_of(account):
    """The second ones were created after all the first ones, as where customers add zones."""
    return account, 10_000 + account


def catalog(accounts):
    return {"accounts": [{"id": a, "name": f"account {a}"} for a in accounts],
            "zones": [{"id": zone, "account": a, "name": f"zone {zone}", "created": "2026-01-05T00:00:00Z"}
                      for a in accounts for zone in zones_of(a)],
            "load_balancers": [{"id": a, "account": a, "created": "2026-01-10T00:00:00Z", "zones": [a]}
                               for a in accounts if a % BALANCERS == 0]}


def buckets(accounts):
    return b"".join(json.dumps({"zone": zone, "region": edge, "hour": f"2026-{day}:00:00Z", "requests": 5 + zone % 17,
                                "bytes": 10**9 * (1 + zone % 13) + int(day[:2]), "concurrent_max": zone % 7}).encode() + b"\n"
                    for a in accounts for at, zone in enumerate(zones_of(a))
                    for edge in (("DE", "SG") if (a + at) % 2 else ("NY",))
                    for day in ("10-02T03", "10-04T08", "10-30T23", "11-01T00", "11-03T05", "11-04T07"))


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Fleet(Case):
    def setUp(self):
        self.pair = Pair()
        self.addCleanup(self.pair.close)

    def fill(self, accounts):
        declared = json.dumps(catalog(accounts)).encode()
        for answer in (*self.pair.both("POST", "/catalog?delete=true", declared, content_type="application/json"),
                       *self.pair.both("POST", "/ingest/buckets", buckets(accounts))):
            self.assertEqual(answer.status, 200, answer.body)

    def statements(self):
        text = self.pair.away.ask("GET", "/metrics", self.pair.away.keys["operator"]).body.decode()
        return sum(int(n) for n in re.findall(r"^tollbook_usage_statements_total\S* (\d+)$", text, re.M))

    def ask_all(self):
        """How many statements each question took."""
        took = {}
        for name, target in FLEET.items():
            before = self.statements()
            file, away = self.pair.both("GET", target)
            took[name] = self.statements() - before
            self.assertEqual((file.status, file.body), (away.status, away.body), target)
            self.assertEqual(file.status, 200, file.body)
        before = self.statements()
        said = [run("account", "summary", "--format", "json", "--server", s.url, "--key", s.keys["operator"]).stdout
                for s in (self.pair.file, self.pair.away)]
        took["summary"] = self.statements() - before
        self.assertEqual(*said)
        [usd] = json.loads(said[0])["currencies"]
        self.assertGreater(float(usd["charges"]), 0)
        self.assertGreater(float(usd["previous"]), 0)
        return took

    def test_statements_do_not_grow_with_accounts(self):
        for number, begin in enumerate(BOOKS):
            book = {**json.loads((SOURCE / "fixtures/book.json").read_text()), "book": f"book-{number}", "effective_from": begin}
            for answer in self.pair.both("POST", "/books", json.dumps(book).encode(), content_type="application/json"):
                self.assertEqual(answer.status, 201, answer.body)
        self.fill(range(1001, 1001 + FEW))
        few = self.ask_all()
        self.fill(range(1001, 1001 + MANY))
        many = self.ask_all()
        for name, took in many.items():
            self.assertLess(took - few[name], MORE, (name, few, many))


if __name__ == "__main__":
    unittest.main()
