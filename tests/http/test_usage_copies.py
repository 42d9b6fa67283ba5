"""A continuous backup of a database with its usage on ClickHouse servers: the control file alone is kept, piece by piece, beside
the server and over HTTP; the restored one is served with the same servers, which have the usage, and verifies."""
import json
import unittest

from clickhouse import PROGRAM, ClickHouse
from harness import Case, Server, hit, run
from test_billing import BOOK

ASKED = ("/statistics?dateFrom=2026-10-01&dateTo=2026-11-04", "/billing/invoices", "/pullzone", "/billing/summary")


@unittest.skipUnless(PROGRAM, "no clickhouse-server")
class Copies(Case):
    @classmethod
    def setUpClass(cls):
        cls.shard = ClickHouse()
        cls.addClassCleanup(cls.shard.close)
        cls.usage = ("--usage", f"clickhouse://127.0.0.1:{cls.shard.port}/copies")
        cls.server = Server("--replicas", *cls.usage, log=None)
        cls.key = cls.server.path / "replica-key"
        made = cls.server.ask("POST", "/operations/key-create", "operator", json.dumps({"account": 0, "roles": ["Replica"]}).encode())
        cls.key.write_text(made.json()["answer"]["Key"] + "\n")
        cls.key.chmod(0o600)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.folder.cleanup()

    def post(self, path, body, key="operator"):
        answer = self.server.ask("POST", path, key, body if isinstance(body, bytes) else json.dumps(body).encode())
        self.assertIn(answer.status, (200, 201), answer.body)

    def answers(self, server):
        return [server.get(path).body for path in ASKED]

    def write(self, n):
        self.post("/ingest/logs", b"".join(hit(101, n * 50 + i, 1000 + n) for i in range(50)), "ingest")
        self.post("/ledger", {"account": 1, "kind": "payment", "amount": "1.00", "reference": f"bank {n}"})

    def test_a_continuous_backup_is_restored_and_served_with_the_same_servers(self):
        ways = {"beside": ("--db", self.server.db), "over": ("--server", self.server.url, "--key-file", self.key)}
        self.post("/ingest/buckets", b"".join(json.dumps({"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "bytes": 10**11}).encode()
                                              + b"\n" for zone in (101, 201)), "ingest")
        self.post("/books", BOOK)
        self.write(0)
        for name, words in ways.items():
            run("backup", "--follow", self.server.path / name, "--once", *words)
        self.write(1)
        self.post("/operations/invoice", {"month": "2026-10", "finalize": True})
        self.write(2)
        for name, words in ways.items():
            run("backup", "--follow", self.server.path / name, "--once", *words)
            self.assertEqual(len(list((self.server.path / name).glob("base-*"))), 1, name)
        wanted = self.answers(self.server)
        self.assertIn(b'"TotalRequestsServed":150', wanted[0])
        anchor = run("anchor", "--server", self.server.url, "--key", self.server.keys["operator"]).stdout.split()[0]
        self.assertEqual(self.server.stop(), 0)
        for name in ways:
            out = self.server.path / f"{name}.db"
            done = run("restore", self.server.path / name, "--out", out)
            self.assertIn(b"The usage is on servers, and was not checked.", done.stderr)
            self.assertEqual(dict(row.split(b" ", 1) for row in done.stdout.splitlines())[b"anchor"], anchor)
            self.server.db = out
            self.server.start(*self.usage)
            self.assertEqual(self.server.get("/readyz", None).status, 200)
            self.assertEqual(self.answers(self.server), wanted, name)
            run("verify", "--server", self.server.url, "--key", self.server.keys["operator"])
            self.assertEqual(self.server.stop(), 0)
        self.server.start(*self.usage)
        self.write(3)
        self.assertIn(b'"TotalRequestsServed":200', self.answers(self.server)[0])


if __name__ == "__main__":
    unittest.main()
