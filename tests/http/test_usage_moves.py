"""Usage on ClickHouse servers that does not stay as it came: what is withdrawn is gone from every answer, as it is from
the file's, and what cannot be withdrawn is refused in the same words."""
import json
import re
import unittest

from clickhouse import PROGRAM
from harness import Case, run
from test_usage_servers import ANSWERS, BUCKETS, METRICS, MONTH, Pair, lines


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Withdrawal(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair()

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()

    def post(self, target, body, status=200, **headers):
        one, other = self.pair.both("POST", target, body, **headers)
        self.assertEqual((one.status, one.body), (other.status, other.body), target)
        self.assertEqual(one.status, status, one.body)
        return one

    def compare(self):
        for target in ANSWERS:
            one, other = self.pair.both("GET", target, key="user")
            self.assertEqual((one.status, one.body), (other.status, other.body), target)
        self.command("verify")

    def command(self, *words, expect=0):
        said = []
        for server in (self.pair.file, self.pair.away):
            done = run(*words, "--server", server.url, "--key", server.keys["operator"], expect=expect)
            said.append((done.stdout, done.stderr))
        self.assertEqual(said[0], said[1])
        return said[0]

    def requests(self):
        return sum(json.loads(self.pair.away.get(f"/statistics?{MONTH}").body)["RequestsServedChart"].values())

    # Each of three inputs in turn, the newest among them, until nothing is left.
    def test_1_what_is_withdrawn_is_gone(self):
        first = lines(101, range(40)) + lines(102, range(7), "SG") + lines(201, range(9))
        second = lines(101, range(30, 70), "NY") + lines(102, range(5), "SG") + lines(999, range(3))
        for body in (first, second):
            self.post("/ingest/logs", body)
        self.post("/ingest/buckets", BUCKETS)
        self.compare()
        self.assertGreater(self.requests(), 100)
        for target, body in (("logs", second), ("buckets", BUCKETS), ("logs", first)):
            self.assertEqual(json.loads(self.post(f"/ingest/{target}/withdraw", body).body)["segments"], 1)
            self.compare()
            self.assertEqual(json.loads(self.post(f"/ingest/{target}/withdraw", body).body)["segments"], 0)
        self.assertEqual(self.requests(), 0)
        for body in (first, second): # and taken again
            self.post("/ingest/logs", body)
        self.compare()
        self.assertEqual(self.requests(), 40 + 7 + 40 + 5)

    def test_2_money(self):
        body = lines(101, range(300, 340), "DE")
        self.post("/ingest/logs", body)
        self.post("/ingest/logs/withdraw", body)
        self.command("invoice", "--month", "2026-11", "--account", "2")
        self.command("account", "list")
        self.compare()

    def test_2_what_lies_where(self):
        server = self.pair.away
        for by, pattern in (("kind", r"cell on shard (\d), (\d+) rows?\t\d+"),
                            ("month", r"2026-11 on shard (\d), (\d+) rows?\t\d+")):
            said = run("size", "--by", by, "--format", "table", "--server", server.url, "--key", server.keys["operator"]).stdout.decode()
            rows = {int(shard): int(n) for shard, n in re.findall(pattern, said)}
            query = ("SELECT sum(rows) FROM system.parts WHERE active AND database='tollbook_test' AND "
                     + ("table='cell'" if by == "kind" else "(partition LIKE '%202611%' OR partition LIKE '2026-11-%')"))
            self.assertEqual(rows, {i + 1: int(s.ask(query)) for i, s in enumerate(self.pair.shards)}, said)
        run("size", "--by", "zone", "--server", server.url, "--key", server.keys["operator"])

    # Rows of a refused withdrawal were sent, and are seen by nobody. What is missing is named as the file names it.
    def test_3_what_is_not_there_cannot_be_withdrawn(self):
        body = lines(102, range(100, 130), "LA") + lines(102, range(9), "SG") + lines(101, range(5), "LA")
        self.post("/ingest/logs", body)
        for scope, name in ((1, "Pull zone 102, LA"), (2, "Pull zone 101, LA")):
            self.spoil(scope, 102 if scope == 1 else 1, 0 - 30)
            self.refuse(body, name, "requests")
            self.spoil(scope, 102 if scope == 1 else 1, 30)
        before = self.requests()
        self.post("/ingest/logs", lines(102, range(70, 71), "LA")) # so that no answer is kept
        self.assertEqual(self.requests(), before + 1)
        self.compare()
        for shard in self.pair.shards:
            for span in shard.ask("SELECT DISTINCT partition FROM system.parts WHERE active AND table='cell'").split("\n"):
                if "202611" in span:
                    shard.ask(f"ALTER TABLE tollbook_test.cell DROP PARTITION {span}")
        self.refuse(body, "Pull zone 101, LA", "none")

    def spoil(self, scope, owner, requests):
        """A row more among those that count, in the place of the newest one."""
        for shard in self.pair.shards:
            columns = {"row": f"toUInt32({1000 + requests})", "requests": f"toUInt64(toInt64({requests}))"}
            columns |= {name: "toUInt64(0)" for name in METRICS if name != "requests"}
            names = ["scope", "owner", "edge", "h", "batch", "row", *METRICS]
            shard.ask(f"INSERT INTO tollbook_test.cell({','.join(names)}) SELECT "
                      + ",".join(columns.get(name, name) for name in names) +
                      f" FROM tollbook_test.cell WHERE scope={scope} AND owner={owner} AND requests=" +
                      ("30" if scope == 1 else "35") + " ORDER BY batch DESC LIMIT 1")

    def refuse(self, body, name, counter):
        refused = self.pair.away.ask("POST", "/ingest/logs/withdraw", self.pair.away.keys["operator"], body)
        self.assertEqual((refused.status, refused.json()["Message"]),
                         (409, f"{name}, 2026-11-03: there is less usage ({counter}) than would be withdrawn. The catalogue "
                               "has changed since the input was taken, or it is another input. Nothing was withdrawn."))

    def test_4_what_was_withdrawn_leaves_room(self):
        """All usage together stays below 2^63: rows of a sender that counted nonsense end nothing once they are taken back."""
        rows = [json.dumps({"zone": 101, "region": "DE", "hour": f"2026-11-02T{hour:02}:00:00Z", "bytes": 9 * 10**17}).encode() + b"\n"
                for hour in range(10)]
        for half in (rows[:5], rows[5:]):
            self.post("/ingest/buckets", b"".join(half))
        more = b"".join(row.replace(b"11-02", b"11-01") for row in rows[:3])
        self.assertEqual(self.pair.away.ask("POST", "/ingest/buckets", "operator", more).status, 400)
        self.post("/ingest/buckets/withdraw", b"".join(rows[5:]))
        self.post("/ingest/buckets", more)
        self.assertEqual(self.pair.away.ask("POST", "/ingest/buckets", "operator", b"".join(rows[5:])).status, 400)
        self.post("/ingest/buckets/withdraw", more)
        self.post("/ingest/buckets/withdraw", b"".join(rows[:5]))


if __name__ == "__main__":
    unittest.main()
