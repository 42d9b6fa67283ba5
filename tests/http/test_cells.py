"""`follow` ships cells to a server that asks for them (serve --cells on): what it stores and answers is what it stores
and answers of the same logs as lines, to the byte."""
import json
import os
import random
import signal
import unittest
from pathlib import Path

from follower import Follower, taken, until
from harness import Case, Server, random_seed, run

SEED = random_seed()
NOW_MS = 1793707200000
ZONE = {"created": "2026-01-05T00:00:00Z", "settings": {"EnableLogging": False}}
CATALOG = {
    "accounts": [{"id": 1, "name": "acme"}, {"id": 2, "name": "borealis"}],
    "regions": [{"id": 1, "code": "DE", "name": "EU: Frankfurt", "billing": "EU"}],
    "zones": [
        {"id": 101, "account": 1, "name": "acme-video", "hostnames": ["a.example", "A2.example"], **ZONE},
        {"id": 102, "account": 1, "name": "acme-static", "hostnames": ["b.example"],
         **ZONE, "settings": {"EnableLogging": True, "LoggingIPAnonymizationEnabled": False}},
        {"id": 201, "account": 2, "name": "borealis-live", "hostnames": ["c.example"], **ZONE},
    ],
}
MONTH = "dateFrom=2026-10-30&dateTo=2026-11-06"
ANSWERS = [f"/statistics?hourly=true&{MONTH}", f"/statistics?{MONTH}", f"/statistics?pullZone=101&{MONTH}",
           "/billing", "/billing/summary", "/v2/pullzones/102/logs?from=2026-11-03T00:00:00Z&limit=1000"]
TABLES = {
    "buckets": "SELECT * FROM buckets ORDER BY 1, 2, 3, 4",
    "countries": "SELECT * FROM countries ORDER BY 1, 2, 3",
    "rejects": "SELECT line, byte, reason, CAST(text AS TEXT) FROM reject ORDER BY 1, 2, 3, 4",
    "segments": "SELECT start, length, hex(hash), hex(head), lines_before, accepted, rejected, final, sums "
                "FROM segment ORDER BY 1, 2, 3",
}


def table(db, sql):
    return run("query", "--db", db, "--format", "csv", sql).stdout


class Logs:
    """Random lines of a format: good ones, hostile ones, refused ones, and of zones that keep theirs."""

    def __init__(self, rng):
        self.rng, self.number = rng, 0
        # Both in one piece would say that the server's clock is behind: it would wait.
        self.ahead = [100 * 3600000] if SEED % 2 else [30 * 3600000, 47 * 3600000]

    def moment(self):
        self.number += 1
        ahead = self.rng.choice([0] * 40 + self.ahead)
        return NOW_MS + self.rng.randrange(-90000000, 3000000) + ahead

    def bad(self):
        return self.rng.choice([b"", b"nonsense", b"HIT|200|1|2", b"a|b\0c", b"{\"time\":1}", b"x" * 3000,
                                b"HIT|200|99|5|101|192.0.2.1|-|https://z/|DE|agent|0|DE"])

    def pipe(self):
        rng = self.rng
        agent = rng.choice(["agent"] * 20 + ["ev|il", "a|b|c|DE|x", "x|NY|agent|" + "0" * 32])
        return (f"{rng.choice(['HIT', 'MISS', 'STALE', 'REVALIDATED', '-'])}|{rng.choice([200, 204, 304, 404, 503])}|"
                f"{self.moment()}|{rng.randrange(2**rng.randrange(1, 40))}|"
                f"{rng.choice([101, 101, 102, 201, 777])}|192.0.2.{rng.randrange(9)}|-|https://z/{self.number}|"
                f"{rng.choice(['DE', 'NY', 'ZZZ'])}|{agent}|{self.number:032x}|{rng.choice(['DE', 'US', '-'])}").encode()

    def combined(self, host=None):
        rng = self.rng
        minute = rng.randrange(60)
        agent = rng.choice(["agent"] * 9 + ['a\\"b', 'evil" HIT'])
        front = f"{host} " if host else ""
        return (f'{front}192.0.2.1 - - [03/Nov/2026:{rng.randrange(24):02}:{minute:02}:07 +0000] "GET /{self.number} '
                f'HTTP/1.1" {rng.choice([200, 304, 404, 500])} {rng.randrange(99999)} "-" "{agent}"').encode()

    def host(self):
        return self.rng.choice(["a.example", "A.EXAMPLE:443", "a2.example", "b.example", "c.example.", "nobody.example",
                                f"bot{self.rng.randrange(99)}.example", "-"])

    def vcombined(self):
        return self.combined(self.host().removesuffix(":443") + ":443")

    def json(self):
        return json.dumps({"t": self.moment() / 1000, "z": self.rng.choice([self.host(), "101", 201]),
                           "s": self.rng.choice([200, 404]), "b": self.rng.randrange(10**6),
                           "c": self.rng.choice(["HIT", "MISS"]), "cc": self.rng.choice(["DE", "FR", "-"])}).encode()

    def some(self, form, n):
        make = getattr(self, form)
        return b"".join((self.bad() if self.rng.random() < 0.02 else make()) +
                        self.rng.choice([b"\n"] * 9 + [b"\r\n"]) for _ in range(n))


FORMATS = {
    "pipe": ["--format", "pipe"],
    "combined": ["--format", "combined", "--zone", "101", "--region", "DE"],
    "vcombined": ["--format", "vcombined", "--region", "DE"],
    "json": ["--format", "json", "--map", "time=t,zone=z,status=s,bytes=b,cache=c,country=cc"],
}


class Cells(Case):
    def servers(self):
        made = []
        for option in ("off", "on"):
            server = Server("--cells", option, log=None)
            self.addCleanup(server.close)
            self.apply(server, CATALOG)
            made.append(server)
        return made

    def apply(self, server, catalog):
        path = server.path / "cells.json"
        path.write_text(json.dumps(catalog))
        run("apply", "--delete", "--server", server.url, "--key", server.keys["operator"], path)

    def follow(self, server, path, *options):
        follower = Follower(server.url, path, key=server.keys["ingest"], options=("--every", "10ms", *options),
                            folder=server.path).start()
        self.addCleanup(follower.close)
        return follower

    @staticmethod
    def append(follower, log, text):
        """The follower stands still meanwhile: else where its pieces end would depend on when it looks."""
        follower.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, follower.process.pid, os.WSTOPPED)
        with open(log, "ab") as out:
            out.write(text)
        follower.process.send_signal(signal.SIGCONT)

    def wait(self, follower, lines):
        until(lambda: follower.figure("lines_total") == lines, follower.messages)

    def logs(self, server, name):
        return Path(server.folder.name) / name

    def same(self, one, other):
        for target in ANSWERS:
            for key in ("user", "other", "operator"):
                a, b = one.ask("GET", target, key), other.ask("GET", target, key)
                self.assertEqual((a.status, a.body), (b.status, b.body), target)
        for name, sql in TABLES.items():
            self.assertEqual(table(one.db, sql), table(other.db, sql), f"{name}, seed {SEED}")
        for server in (one, other):
            run("verify", "--db", server.db)

    def batches(self, server):
        return server.metric('tollbook_requests_total{route="ingest_cells",status="200"}')

    def test_the_same_in_every_format(self):
        rng = random.Random(SEED)
        print(f"seed {SEED}")
        raw, cells = self.servers()
        for form, options in FORMATS.items():
            made = Logs(rng)
            logs = [self.logs(server, form + ".log") for server in (raw, cells)]
            for log in logs:
                log.touch()
            followers = [self.follow(server, log, *options) for server, log in zip((raw, cells), logs)]
            lines = 0
            for _ in range(5):
                text = made.some(form, rng.randrange(50, 600))
                lines += text.count(b"\n")
                for log, follower in zip(logs, followers):
                    self.append(follower, log, text)
                    self.wait(follower, lines)
            for follower in followers:
                follower.stop()
        self.assertGreaterEqual(self.batches(cells), 16)
        self.assertEqual(self.batches(raw), 0)
        self.same(raw, cells)
        accepted, rejected = taken(cells.db)
        self.assertGreater(accepted, 1000)
        self.assertGreater(rejected, 50)

    def test_one_log_as_lines_and_as_cells_counts_once(self):
        rng = random.Random(SEED + 1)
        raw, cells = self.servers()
        made = Logs(rng)
        log = self.logs(cells, "mixed.log")
        parts = [made.some("pipe", 200) for _ in range(5)]
        log.write_bytes(parts[0])
        take = ["ingest", "--server", cells.url, "--key", cells.keys["ingest"], log]
        run(*take)                                     # lines
        follower = self.follow(cells, log)
        lines = 0
        for part in parts[1:4]:                        # lines that ask, then cells
            self.append(follower, log, part)
            lines += part.count(b"\n")
            self.wait(follower, lines)
        self.assertGreaterEqual(self.batches(cells), 3)
        follower.stop()
        self.assertIn(b"nothing new", run(*take).stdout + run(*take).stderr)
        cells.stop()
        cells.start("--cells", "off")
        with open(log, "ab") as out:
            out.write(parts[4])
        run("ingest", "--server", cells.url, "--key", cells.keys["ingest"], log)
        plain = self.logs(raw, "mixed.log")
        plain.write_bytes(log.read_bytes())
        run("ingest", "--server", raw.url, "--key", raw.keys["ingest"], plain)
        for name in ("buckets", "countries"):
            self.assertEqual(table(raw.db, TABLES[name]), table(cells.db, TABLES[name]))
        self.assertEqual(taken(raw.db), taken(cells.db))
        self.assertEqual([row.count(b"\n") for row in (plain.read_bytes(),)], [sum(taken(cells.db))])
        run("ingest", "--withdraw", "--server", cells.url, "--key", cells.keys["operator"], log)
        self.assertEqual(table(cells.db, "SELECT coalesce(sum(requests), 0) AS n FROM buckets"), b"n\r\n0\r\n")

    def test_a_catalogue_that_changes_beside_a_follower(self):
        """A zone keeps its lines from now on, and a hostname goes: what was granted is sent as lines again."""
        rng = random.Random(SEED + 2)
        servers = self.servers()
        logs = [self.logs(server, "hosts.log") for server in servers]
        for log in logs:
            log.touch()
        followers = [self.follow(server, log, *FORMATS["vcombined"]) for server, log in zip(servers, logs)]
        made = Logs(rng)
        lines = 0
        for turn in range(5):
            if turn == 3:
                changed = json.loads(json.dumps(CATALOG))
                changed["zones"][0]["settings"] = {"EnableLogging": True}
                changed["zones"][2]["hostnames"] = []
                for server in servers:
                    self.apply(server, changed)
            text = made.some("vcombined", 300)
            lines += text.count(b"\n")
            for log, follower in zip(logs, followers):
                self.append(follower, log, text)
                self.wait(follower, lines)
        for follower in followers:
            follower.stop()
        refused = 'tollbook_requests_total{route="ingest_cells",status="400"}'
        self.assertGreaterEqual(servers[1].metric(refused), 1)
        self.same(*servers)

    def test_zones_with_samples_come_as_lines(self):
        """An account keeps samples from now on: what was granted is sent as lines again, and has the same intervals."""
        servers = self.servers()
        logs = [self.logs(server, "samples.log") for server in servers]
        for log in logs:
            log.touch()
        followers = [self.follow(server, log) for server, log in zip(servers, logs)]
        made = Logs(random.Random(SEED + 3))
        lines = 0
        for turn in range(5):
            if turn == 3:
                changed = json.loads(json.dumps(CATALOG))
                changed["accounts"][0]["samples"] = True
                for server in servers:
                    self.apply(server, changed)
            text = made.some("pipe", 300)
            lines += text.count(b"\n")
            for log, follower in zip(logs, followers):
                self.append(follower, log, text)
                self.wait(follower, lines)
        for follower in followers:
            follower.stop()
        intervals = [table(server.db, "SELECT * FROM meter_usage ORDER BY 1, 2, 3, 6") for server in servers]
        self.assertEqual(intervals[0], intervals[1])
        self.assertGreater(intervals[0].count(b"bandwidth"), 10)
        self.same(*servers)
        for server, log in zip(servers, logs):
            run("ingest", "--withdraw", "--server", server.url, "--key", server.keys["operator"], log)
            self.assertEqual(table(server.db, "SELECT count(*) AS n FROM meter_usage"), b"n\r\n0\r\n")
            run("verify", "--db", server.db)

    def test_what_is_refused(self):
        raw, cells = self.servers()
        piece = "start=0&length=10&linesBefore=0&head=" + "0" * 32 + "&hash=" + "0" * 32
        for server, query, body, status in (
                (raw, piece, b"TBC\x01", 400), (cells, piece, b"", 400), (cells, piece, b"TBC\x01" + bytes(40), 400),
                (cells, piece, b"TBC\x02" + bytes(40), 400), (cells, "", b"TBC\x01" + bytes(40), 400),
                (cells, piece + "&onError=stop", b"TBC\x01", 400),
                (cells, piece.replace("length=10", f"length={2**50}"), b"TBC\x01", 400)):
            self.assertEqual(server.ask("POST", f"/ingest/cells?{query}", "ingest", body).status, status, query)
        self.assertEqual(cells.ask("POST", f"/ingest/cells?{piece}", "user", b"").status, 403)
        self.assertEqual(cells.get("/ingest/segments?head=" + "0" * 32, "ingest").json()["cells"], 1)
        self.assertEqual(raw.get("/ingest/segments?head=" + "0" * 32, "ingest").json()["cells"], 0)
        self.assertEqual(taken(cells.db), (0, 0))


if __name__ == "__main__":
    unittest.main()
