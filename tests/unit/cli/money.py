"""What the tests of the ledger share: two accounts, a price of 0.01 a GB, and short words for commands."""
import json

from tool import Case

BOOK = {"book": "b", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01"}}}}
CATALOG = {"accounts": [{"id": 1, "name": "acme", "tax": {"VATRate": 20}}, {"id": 2, "name": "borealis"}],
           "zones": [{"id": 101, "account": 1, "name": "video", "created": "2026-01-05T00:00:00Z"},
                     {"id": 201, "account": 2, "name": "live", "created": "2026-01-05T00:00:00Z"}]}
OCTOBER, NOVEMBER, DECEMBER = "2026-10-05T12:00:00Z", "2026-11-03T12:00:00Z", "2026-12-03T12:00:00Z"
GB = 10**9


class Ledger(Case):
    def setUp(self):
        super().setUp()
        self.apply(json.dumps(CATALOG), now=OCTOBER)
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)), now=OCTOBER)

    def use(self, zone, gigabytes, day="2026-10-03", now=NOVEMBER):
        row = {"zone": zone, "hour": f"{day}T05:00:00Z", "region": "DE", "bytes": gigabytes * GB}
        self.run_tool("import", "--db", "t.db", "-", stdin=(json.dumps(row) + "\n").encode(), now=now)

    def ledger(self, *words, now=OCTOBER, status=0, stdin=b""):
        return self.run_tool("ledger", *words[:1], "--db", "t.db", *words[1:], now=now, status=status, stdin=stdin)

    def credit(self, amount, *words, account=1, **more):
        return self.ledger("credit", "--account", account, "--amount", amount, *words, **more)

    def finalize(self, *words, month="2026-10", now=NOVEMBER):
        done = self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize", *words, now=now)
        return json.loads(done.out)["invoices"]

    def entries(self, account=1, now=DECEMBER):
        out = self.run_tool("ledger", "--db", "t.db", "--account", account, "--format", "table", now=now).out
        return [line.split("\t") for line in out.splitlines()[1:]]

    def kinds(self, account=1):
        return [(e[2], e[3], e[5]) for e in self.entries(account)]

    def verify(self, *words, status=0):
        return self.run_tool("verify", "--db", "t.db", "--format", "table", *words, status=status)
