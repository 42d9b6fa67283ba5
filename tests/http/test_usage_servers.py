"""Usage on ClickHouse servers (serve --usage): every answer is that of a server whose usage is in its file, to the
byte; what is not committed is seen by nobody; a server that is away is named, and nothing is counted twice."""
import contextlib
import ctypes
import json
import re
import sqlite3
import time
import unittest

from clickhouse import PROGRAM, ClickHouse
from harness import CATALOG, PATIENCE, SOURCE, Case, Server, hit, run

METRICS = re.findall(r'^ +X\(\w+, "(\w+)"', (SOURCE / "include/tollbook/metrics.h").read_text(), re.M)
MONTH = "dateFrom=2026-10-30&dateTo=2026-11-04"
ANSWERS = [f"/statistics?{MONTH}", f"/statistics?hourly=true&{MONTH}", "/statistics",
           f"/statistics?pullZone=101&{MONTH}", f"/statistics?hourly=true&pullZone=102&{MONTH}",
           f"/statistics?pullZone=101&hourly=true&{MONTH}",
           "/statistics?dateFrom=1980-01-01&dateTo=1980-02-01",
           f"/pullzone/101/optimizer/statistics?hourly=true&{MONTH}",
           f"/pullzone/101/safehop/statistics?{MONTH}", f"/pullzone/101/originshield/queuestatistics?{MONTH}",
           "/billing", "/billing/summary",
           "/insights?from=2026-10-30&to=2026-11-04&compare=previous", "/insights?from=2026-10-30&to=2026-11-04&by=hour",
           "/insights?from=2026-10-30&to=2026-11-04&region=SG", "/insights?from=2026-10-30&to=2026-11-04&sort=charges",
           *(f"/insights/why?field=bytes&by={by}&from=2026-11-02&to=2026-11-04&against_from=2026-10-30&against_to=2026-11-01"
             for by in ("zone", "region", "hour")),
           *(f"/insights/why?field=charges&by={by}&from=2026-11-01&to=2026-11-30&against_from=2026-10-01&against_to=2026-10-31"
             for by in ("zone", "region"))]
FLEET = ["/insights?from=2026-10-30&to=2026-11-04&compare=week&rank=accounts", "/insights?from=2026-10-30&to=2026-11-04&region=SG",
         *(f"/insights/why?field=requests&by={by}&from=2026-11-01&to=2026-11-03&against_from=2026-10-30&against_to=2026-11-01"
           for by in ("account", "region", "status", "day"))]
BUCKETS = b"".join(json.dumps({"zone": zone, "region": edge, "hour": f"2026-{day}T{hour:02}:00:00Z",
                               "requests": 7 + hour, "bytes": 10**12 + hour, "concurrent_max": hour * 3 % 11,
                               "optimized": 2, "input_bytes": 900, "saved_bytes": 300}).encode() + b"\n"
                   for zone in (101, 102, 201, 999) for edge in ("DE", "SG", "NY")
                   for day in ("09-30", "10-01", "10-31", "11-02") for hour in (0, 5, 23))


def lines(zone, seconds, edge="DE"):
    return b"".join(hit(zone, second, 1000 + second, edge=edge) for second in seconds)


def seal(*values):
    """tb_seal of engine/store/core/seal.c, for names and whole numbers."""
    hashed = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    hashed.restype, hashed.argtypes = ctypes.c_uint64, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
    sum_ = len(values)
    for value in values:
        type_, text = (1, value.to_bytes(8, "little", signed=True)) if isinstance(value, int) else (3, value.encode())
        sum_ = hashed(text, len(text), sum_ ^ type_ << 56)
    return sum_ & 2**62 - 1


def twice_and_last(db):
    """Up to which batch rows may lie on their shard twice, and the newest of all."""
    with contextlib.closing(sqlite3.connect(db)) as file:
        return [file.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()[0] for name in ("usage_twice", "usage_batch")]


class Pair:
    """Two tollbook servers with one history: one with its usage in the file, one with it on shards."""

    def __init__(self, *options, shards=2, front=lambda shard: shard):
        """front: what stands before each shard."""
        self.shards = [ClickHouse(zone) for zone in ("America/New_York", "Asia/Tokyo", "UTC")[:shards]]
        self.fronts = [front(s) for s in self.shards]
        self.usage = "clickhouse://" + ",".join(f"127.0.0.1:{s.port}" for s in self.fronts) + "/tollbook_test"
        self.file = Server("--cells", "on", log=None)
        self.away = Server("--usage", self.usage, *options, log=None)

    def both(self, method, target, body=None, key="operator", **headers):
        return [s.ask(method, target, s.keys[key], body, **headers) for s in (self.file, self.away)]

    def sent_twice(self):
        """All rows that are there; the file says so, as where their sender had to send them again."""
        for shard in self.shards:
            shard.ask("INSERT INTO tollbook_test.cell SELECT * FROM tollbook_test.cell")
        with contextlib.closing(sqlite3.connect(self.away.db, timeout=PATIENCE, isolation_level=None)) as file:
            file.create_function("tb_seal", -1, seal)
            file.execute("UPDATE meta SET value=(SELECT value FROM meta WHERE name='usage_batch') WHERE name='usage_twice'")

    def back(self):
        end = time.monotonic() + PATIENCE
        while self.away.ask("GET", "/readyz").status != 200:
            assert time.monotonic() < end, self.away.messages()
            time.sleep(0.02)

    def close(self):
        self.away.stop()
        self.away.folder.cleanup()
        self.file.close()
        for shard in self.shards:
            shard.close()


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class UsageServers(Case):
    @classmethod
    def setUpClass(cls):
        cls.pair = Pair()

    @classmethod
    def tearDownClass(cls):
        cls.pair.close()

    def post(self, target, body, **headers):
        one, other = self.pair.both("POST", target, body, **headers)
        self.assertEqual((one.status, one.body), (other.status, other.body))
        return one

    def compare(self):
        regions = {r["RegionCode"]: r["Id"] for r in self.pair.file.get("/region", None).json()}
        one_region = [f"/statistics?{MONTH}&serverZoneId={regions[code]}{zone}" for code in ("SG", "LA")
                      for zone in ("", "&pullZone=101")]
        for target in ANSWERS + one_region + FLEET:
            one, other = self.pair.both("GET", target, key="operator" if target in FLEET else "user")
            self.assertEqual((one.status, one.body), (other.status, other.body), target)
            self.assertEqual(one.status, 400 if "1980" in target else 200, target)

    def command(self, *words, expect=0):
        said = [run(*words, "--server", s.url, "--key", s.keys["operator"], expect=expect).stdout
                for s in (self.pair.file, self.pair.away)]
        self.assertEqual(said[0], said[1])
        return said[0]

    def test_1_answers_are_the_same(self):
        self.compare()
        self.post("/ingest/logs", lines(101, range(40)) + lines(102, range(7)) + lines(201, range(9)))
        self.compare()
        self.post("/ingest/logs", lines(101, range(40)) + lines(102, range(7)) + lines(201, range(9)))
        self.post("/ingest/logs", lines(101, range(50, 60), "SG") + lines(102, range(7), "XX") + b"nonsense\n")
        self.post("/ingest/buckets", BUCKETS)
        self.compare()
        self.assertGreater(sum(json.loads(self.pair.away.get(f"/statistics?{MONTH}").body)
                               ["RequestsServedChart"].values()), 100)

    def test_2_a_zone_that_finds_its_account(self):
        catalog = {**CATALOG, "zones": [*CATALOG["zones"], {"id": 999, "account": 1, "name": "late",
                                                           "created": "2026-01-05T00:00:00Z"}],
                   "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "zones": [101]}]}
        self.post("/catalog?delete=true", json.dumps(catalog).encode(), content_type="application/json")
        self.compare()
        one, other = self.pair.both("GET", f"/statistics?pullZone=999&{MONTH}", key="user")
        self.assertEqual(one.body, other.body)
        self.assertIn(b"TotalRequestsServed", other.body)

    def test_3_money(self):
        book = json.loads((SOURCE / "fixtures/book.json").read_text())
        self.post("/books", json.dumps(book).encode(), content_type="application/json")
        self.compare()
        self.command("invoice", "--month", "2026-11", "--account", "1")
        self.command("invoice", "--month", "2026-10", "--finalize")
        self.post("/ingest/buckets", BUCKETS.replace(b"T05:", b"T07:"))
        self.compare()
        self.assertIn(b"2026-10", self.command("invoice", "--late"))
        self.command("invoice", "--month", "2026-09", "--finalize")
        self.command("forecast", "--account", "1")
        for target in ("/loadbalancer/7/usage", "/loadbalancer/7/usage?month=2026-11"):
            one, other = self.pair.both("GET", target, key="user")
            self.assertEqual((one.status, one.body), (other.status, other.body))
    # Ids above the file's watermark are seen by nobody, and never used again.
    def test_3_the_log_of_documents(self):
        """Days are made of usage on shards as of the file's; verify, below, opens each entry to what is stored."""
        def entries():
            logs = []
            for server in (self.pair.file, self.pair.away):
                with contextlib.closing(sqlite3.connect(f"file:{server.db}?mode=ro", uri=True)) as file:
                    logs.append(file.execute("SELECT type, account, subject, json_extract(entry, '$.of') FROM proof_entry ORDER BY id").fetchall())
            self.assertEqual(*logs)
            return logs[0]

        self.command("proof", "start")
        first = entries()
        self.assertEqual({"book", "usage", "invoice", "terms"}, {row[0] for row in first})
        late = b'{"zone":101,"hour":"2026-10-05T06:00:00Z","region":"DE","requests":1,"bytes":10000000000}\n'
        for target in ("/ingest/buckets", "/ingest/buckets/withdraw"):
            self.post(target, late)
            self.command("proof", "close-days")
        self.assertEqual([row[:3] for row in entries()[len(first):]], [("usage", 1, "2026-10-05")] * 2)

    def test_4_a_shard_that_is_away(self):
        pair = self.pair
        zones = {zone: pair.away.get(f"/statistics?pullZone={zone}&{MONTH}").status for zone in (101, 102)}
        self.assertEqual(set(zones.values()), {200})
        for shard in pair.shards:
            shard.kill()
            body = lines(101, range(100, 120)) + lines(102, range(100, 120)) + lines(999, range(90, 99))
            refused = pair.away.ask("POST", "/ingest/logs", pair.away.keys["operator"], body)
            self.refused(refused, 503, "usage.away")
            self.assertIn("retry-after", refused.headers)
            shard.start()
            pair.back()
            self.compare()
        self.post("/ingest/logs", lines(101, range(100, 120)) + lines(102, range(100, 120)) + lines(999, range(90, 99)))
        self.compare()
        sent = sum(int(s.ask(f"SELECT count() FROM tollbook_test.cell")) for s in pair.shards)
        self.assertGreater(sent, 0)

    def test_5_a_server_that_is_killed(self):
        pair = self.pair
        pair.away.process.kill()
        pair.away.process.wait()
        pair.away.log_file.close()
        for shard in pair.shards: # what was sent and never committed
            last = int(shard.ask("SELECT max(batch) FROM tollbook_test.cell"))
            for more in (1000, 2000): # request logs have ids of their own between
                shard.ask(f"INSERT INTO tollbook_test.cell SELECT scope,owner,edge,h,batch+{more},row,"
                          + ",".join(METRICS) + f" FROM tollbook_test.cell WHERE batch={last}")
        pair.away.start("--usage", pair.usage)
        self.compare()
        self.post("/ingest/logs", lines(101, range(200, 220)))
        self.compare()
        for shard in pair.shards: # merged with nothing; then days are asked for anew
            shard.ask("SYSTEM STOP MERGES tollbook_test.cell")
        pair.sent_twice()
        self.post("/ingest/logs", lines(101, range(220, 240)) + lines(102, range(220, 240)) + lines(999, range(220, 240)))
        self.compare()
        for shard in pair.shards:
            shard.ask("SYSTEM START MERGES tollbook_test.cell")

    def test_6_verify_and_backup(self):
        self.command("verify")
        self.a_copy_is_the_moment_of_its_making()
        shard = self.pair.shards[0]
        rows = "FROM tollbook_test.cell WHERE scope=1 AND requests>0 ORDER BY batch,row LIMIT 1"
        owner = shard.ask("SELECT owner " + rows)
        columns = ["scope", "owner", "edge", "h", "batch", "row", *METRICS]
        more = ",".join({"row": "row+1000000"}.get(name, name) for name in columns)
        shard.ask(f"INSERT INTO tollbook_test.cell({','.join(columns)}) SELECT {more} " + rows)
        said = run("verify", "--server", self.pair.away.url, "--key", self.pair.away.keys["operator"],
                   expect=1).stdout.decode()
        self.assertIn("All batches together added", said)
        account = 2 if owner == "201" else 1
        self.assertIn(f"Account {account}: requests in ClickHouse is", said)

    def a_copy_is_the_moment_of_its_making(self):
        pair = self.pair
        copy = pair.away.path / "copy.db"
        run("backup", "--db", pair.away.db, "--to", copy, "--usage", pair.usage)
        before = pair.both("GET", f"/statistics?{MONTH}", key="user")[0]
        pair.away.stop() # what comes now, in a span of ids that the copy does not know
        pair.away.start("--usage", pair.usage)
        self.post("/ingest/logs", lines(101, range(300, 330)))
        self.compare()
        pair.away.stop()
        restored = Server("--usage", pair.usage, db=copy)
        restored.keys = pair.away.keys
        after = restored.get(f"/statistics?{MONTH}")
        self.assertEqual(after.body, before.body)
        body = lines(101, range(300, 330))
        self.assertEqual(restored.ask("POST", "/ingest/logs", restored.keys["operator"], body).status, 200)
        after = restored.get(f"/statistics?{MONTH}")
        self.assertEqual(after.body, pair.file.get(f"/statistics?{MONTH}").body)
        restored.stop()
        restored.folder.cleanup()
        pair.away.start("--usage", pair.usage)
        self.compare()

    def test_7_nobody_takes_the_file_for_the_whole(self):
        pair = self.pair
        said = run("stats", "--db", pair.away.db, "--account", 1, expect=2).stderr
        self.assertIn(b"has its usage in ClickHouse", said)
        query = ["query", "--db", pair.away.db, "--format", "tsv"]
        self.assertIn(b"with --usage", run(*query, "SELECT id FROM account", expect=2).stderr)
        query += ["--usage", pair.usage]
        self.assertEqual(run(*query, "SELECT id FROM account ORDER BY id LIMIT 1").stdout.splitlines()[-1], b"1")
        self.assertIn(b"its usage lies in ClickHouse", run(*query, "SELECT * FROM buckets", expect=2).stderr)
        for url in ("http://127.0.0.1/x", "clickhouse://127.0.0.1", "clickhouse:///x", "clickhouse://a/x-y",
                    "clickhouse://a,/x", "clickhouse://a b/x"):
            said = run("serve", "--db", pair.file.db, "--usage", url, expect=2).stderr
            self.assertIn(b"--usage", said)

    def test_8_servers_that_are_named_in_another_order(self):
        pair = self.pair
        pair.away.stop()
        servers, database = pair.usage.removeprefix("clickhouse://").split("/")
        turned = "clickhouse://" + ",".join(reversed(servers.split(","))) + "/" + database
        said = run("serve", "--db", pair.away.db, "--listen", "127.0.0.1:0", "--usage", turned, expect=2).stderr
        self.assertIn(b"Server 1 of --usage is number 2 of the database tollbook_test", said)
        pair.away.start("--usage", pair.usage)
        self.compare()


if __name__ == "__main__":
    unittest.main()
