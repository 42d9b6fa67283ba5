"""What is declared is judged when it is declared: whatever a catalogue, a book or a scenario says, it is
refused with its place, or every answer can be made of it. A database that an older tollbook filled
may hold more: then what depends on it fails by name, before the head is sent or so that the client
knows, and everything else answers. TB_SEED reruns the random ones, TB_ROUNDS makes them longer.
"""
import copy
import gzip
import json
import os
import random
import re
import socket
import sqlite3
import subprocess
import unittest

from harness import BUILD, CATALOG, Case, Server, hit, random_seed, run
from test_billing import BOOK

ROUNDS = int(os.environ.get("TB_ROUNDS") or (20 if os.environ.get("TB_VARIANT") else 120))
SEED = random_seed()
NOW_MS = 1793782800000  # the harness's clock


def rows(zones, hour="2026-11-04T10:00:00Z"):
    """Usage of an hour after the clock's, so that what is applied now holds for it."""
    return "".join(json.dumps({"zone": z, "hour": hour, "region": "DE", "requests": 5,
                               "bytes": 10**9}) + "\n" for z in zones).encode()


# --- at random ---

RICH = {
    "accounts": [
        {"id": 1, "name": "acme", "currency": "USD", "tax": {"VAT": 19, "Levy": "1.5"},
         "discounts": {"EUUSDiscount": 5, "AfricaDiscount": None}, "prepaid": False},
        {"id": 2, "name": "borealis", "tax": [{"name": "GST", "percent": "5"}, 2, "0.5"]},
        {"id": 3, "name": "c", "tax": {"name": "VAT", "rate": 7.5}}],
    "regions": [{"id": 1, "code": "DE", "name": "EU: Frankfurt, DE", "billing": "EU",
                 "price": "0.01", "latitude": 50.11, "longitude": 8.68, "latency_routing": True},
                {"id": 2, "code": "NY", "name": "NA: New York", "billing": "NA", "country": "US"}],
    "zones": [
        {"id": 101, "account": 1, "name": "acme-video", "created": "2026-01-05T00:00:00Z",
         "hostnames": ["v.example", {"Value": "w.example", "ForceSSL": True}],
         "settings": {"PriceOverride": "0.00000002", "OptimizerEnabled": True,
                      "OptimizerPricing": 3, "MonthlyBandwidthLimit": 10**12}},
        {"id": 102, "account": 1, "name": "acme-static", "type": "volume",
         "settings": {"EUUSDiscount": 7, "CnameDomain": "cdn.example", "BlockedIps": ["a"],
                      "EdgeRules": [{"ActionType": 1, "Triggers": [{"PatternMatches": ["x"]}]}]}},
        {"id": 201, "account": 2, "name": "borealis-live",
         "settings": {"Enabled": True, "EnableLogging": True, "LogAnonymizationType": "Drop"}}],
    "load_balancers": [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z", "deleted": None,
                        "zones": [101]},
                       {"id": 8, "account": 1, "created": "2026-01-10T00:00:00Z",
                        "deleted": "2026-02-01T00:00:00Z", "zones": [102]},
                       {"id": 9, "account": 1, "created": "2026-02-01T00:00:00Z", "zones": [102]}],
    "shield_zones": [{"id": 42, "account": 1, "zone": 101, "name": "acme"}],
    "registries": [{"id": "hub", "url": "https://registry.example"}],
    "container_apps": [{"id": "shop", "account": 1, "name": "shop",
                        "displayEndpoint": {"id": "e", "address": "a.example", "type": "cdn"}}],
    "container_limits": [{"account": 1, "maxNumberOfApplications": 5}],
    "meters": [{"meter": "requests", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region", "plan"],
                "charge": "ScriptingRequests", "ledger_code": "8410", "unece": "C62"},
               {"meter": "ram", "name": "Memory", "kind": "gauge", "unit": "byte", "round_up": "64000000",
                "display": {"unit": "GB", "per": 1000000000}},
               {"meter": "port", "kind": "sample", "unit": "byte", "interval": 3600}],
}
# What stands in the place of a value. RAW is written as it is: no number of Python's has its text.
RAW = ["1e400", "1e-400", "-0", "1E2", "0.1234567890123456", "0.000000000000001", "1e21",
       "170141183460469231731687303715884105728", "9223372036854775808", "-9223372036854775809"]
VALUES = [None, True, False, -1, 0, 1, 101, 2**31, 2**53 + 1, 0.5, "", "abc", "19", "1e1", "00.5",
          "0x1", "-5", "é" * 300, "\u0001\u007f", "<b>\"&", "\U0001F4B6", "x" * 5000, [], {},
          [1, [2]], [{}], {"a": {"b": 1}}, {"name": "x"}, {"percent": 5}, list(range(1, 10)),
          {str(n): n for n in range(9)}, "9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z",
          "2026-13-01T00:00:00Z", "EUR", "Euro", 1 / 3, {"\u0002": 1}, {"é" * 40: 1}]
SETTINGS = {"PriceOverride": VALUES + ["0.1", 1e18, "99999999999999999999.5"],
            "OptimizerPricing": VALUES, "EUUSDiscount": VALUES, "Enabled": VALUES,
            "CnameDomain": VALUES + ["ü" * 130, "\\" * 130], "StorageZoneId": VALUES,
            "MonthlyBandwidthLimit": VALUES, "EdgeScriptExecutionPhase": VALUES,
            "LimitRatePerSecond": VALUES, "OptimizerClasses": VALUES, "LogFormat": VALUES}


def places(value, found, path=()):
    """Every place of a document: containers and keys or indexes."""
    pairs = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        found.append((value, key))
        places(inner, found, (*path, key))
    return found


def mutate(draw, document, keep=()):
    """The document with one to three changes; the keys of `keep` stay at the top."""
    changed = copy.deepcopy(document)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        left = [place for place in places(changed, []) if place[1] not in keep]
        if not left:
            return changed
        inside, key = draw.choice(left)
        way = draw.randrange(10)
        if way == 0:
            del inside[key]
        elif way == 1 and isinstance(inside, dict):
            inside[draw.choice(["colour", "name", "é", str(key).upper()])] = inside.pop(key)
        elif way == 2 and isinstance(inside, list):
            inside.append(copy.deepcopy(inside[key]))
        elif way == 3:
            inside[key] = [inside[key]] * draw.choice([1, 9])
        elif way == 4:
            inside[key] = f"@{draw.choice(RAW)}@"
        else:
            inside[key] = copy.deepcopy(draw.choice(VALUES))
    return changed


def written(document):
    return re.sub(r'"@([^"@]+)@"', r"\1", json.dumps(document)).encode()


class AtRandom(Case):
    """One server; whatever it takes, all its answers can be made, and the file verifies at its end."""

    options = ("--rate-limit", "off")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        server = cls.server
        server.stop()
        run("apply", "--delete", "--db", server.db, "-", stdin=written(RICH))
        run("book", "--db", server.db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", server.db, "-", stdin=rows((101, 102, 201, 300)))
        server.start(*cls.options)

    def setUp(self):
        self.draw = random.Random(f"{SEED} {self.id()}")

    def answers(self, what):
        """Everything that reads what is declared."""
        server = self.server
        for key in ("user", "other"):
            for target in ("/pullzone", "/pullzone?page=1", "/pullzone?search=a", "/pullzone/count",
                           "/pullzone/101", "/pullzone/102", "/pullzone/201", "/billing",
                           "/billing/summary", "/billing/forecast", "/billing/invoices", "/region",
                           "/loadbalancer/7/usage", "/loadbalancer/8/usage", "/statistics",
                           "/v2/pullzones/101/logs?from=2026-11-04T08:00:00Z&to=2026-11-04T09:00:00Z",
                           "/shield/event-logs/42/11-04-2026", "/mc/apps", "/mc/limits"):
                self.judge(server.get(target, key), f"{key} {target}", what)
        for body in ({"month": "2026-11", "account": 1}, {"month": "2026-10"}):
            self.judge(server.ask("POST", "/operations/invoice", "operator", json.dumps(body).encode(),
                                  Content_Type="application/json"), f"run {body}", what)
        self.judge(self.what_if({"scenario": "same"}), "what-if", what)

    def what_if(self, scenario):
        body = {"from": "2026-11", "to": "2026-11", "scenarios": [scenario]}
        return self.server.ask("POST", "/billing/what-if", "operator", written(body),
                               Content_Type="application/json")

    def judge(self, answer, of, what):
        self.assertIsNotNone(answer, f"{of}: cut off after {what}")
        if answer.status >= 500 or (answer.status == 400 and answer.body):
            key = json.loads(answer.body).get("ErrorKey")
            self.assertIn(key, ("counter.overflow",), f"{of}: {answer.body[:300]} after {what}")
        if answer.body:
            json.loads(answer.body.decode())

    def apply(self, catalog):
        return self.server.ask("POST", "/catalog?delete=true", "operator", written(catalog),
                               Content_Type="application/json")

    def test_whatever_a_catalogue_says_is_refused_by_its_place_or_can_be_answered(self):
        taken = refused = 0
        for round_ in range(ROUNDS):
            catalog = mutate(self.draw, RICH)
            if round_ % 3 == 0:
                name = self.draw.choice(sorted(SETTINGS))
                catalog = copy.deepcopy(RICH)
                zone = catalog["zones"][self.draw.randrange(3)]
                zone["settings"][name] = self.draw.choice(SETTINGS[name])
            elif round_ % 3 == 1:
                catalog = copy.deepcopy(RICH)
                account = catalog["accounts"][self.draw.randrange(2)]
                part = self.draw.choice(["tax", "discounts", "currency"])
                account[part] = mutate(self.draw, {part: account.get(part, 5)}).get(part, 1)
            what = written(catalog).decode()[:3000]
            answer = self.apply(catalog)
            if answer.status != 200:
                refused += 1
                self.refused(answer, 400, "catalog.invalid")
                error = answer.json()
                if not re.search(r"Byte \d+: (The|A|Not|Numbers?|Strings?|Duplicate)",
                                 error["Message"]):
                    self.assertTrue(error["Field"] or not isinstance(catalog, dict), what)
                continue
            taken += 1
            self.answers(what)
        print(f"catalogues: {taken} taken, {refused} refused")
        self.assertGreater(min(taken, refused), ROUNDS // 10)
        self.assertEqual(self.apply(RICH).status, 200)

    def test_whatever_a_book_says_is_refused_by_its_place_or_rates(self):
        taken, last = 0, ""
        for number in range(ROUNDS // 2):
            book = mutate(self.draw, BOOK, keep=("book", "currency", "effective_from"))
            if number == 0:
                book = copy.deepcopy(BOOK)
            day, hour = divmod(number, 24)
            book["book"] = f"b{number}"
            book["effective_from"] = f"2026-{3 + day // 28:02}-{1 + day % 28:02}T{hour:02}:00:00Z"
            if number % 2:  # in force where there is usage
                book["effective_from"] = "2026-11-04T10:00:00Z"
                if last:
                    book["supersedes"] = last
            answer = self.server.ask("POST", "/books", "operator", written(book),
                                     Content_Type="application/json")
            if answer.status not in (200, 201):
                self.refused(answer, 400, "book.invalid")
                continue
            taken += 1
            last = book["book"] if number % 2 else last
            self.answers(written(book).decode())
        self.assertGreater(taken, 0)

    def test_whatever_a_scenario_says_is_refused_by_its_place_or_replays(self):
        scenario = {"scenario": "s", "base": "standard-2026", "replaces": "base",
                    "patch": {"minimum_monthly": "2", "bandwidth": {"premium": {"regions":
                                                                                {"EU": "0.02"}}}},
                    "usage": [{"factor": "1.5", "region": "EU", "product": "premium"},
                              {"factor": 2, "zone": 101}]}
        taken = 0
        for _ in range(ROUNDS // 2):
            changed = mutate(self.draw, scenario, keep=("scenario",))
            answer = self.what_if(changed)
            if answer.status == 200:
                taken += 1
                continue
            error = answer.json()
            self.assertEqual(answer.status, 400, answer.body)
            self.assertIn(error["ErrorKey"], ("validation_error", "book.invalid"))
        self.assertGreater(taken, 0)


# --- a file from before ---

def forge(db, *statements):
    """Edits a file past its triggers and seals it again."""
    subprocess.run([BUILD / "tests" / "fault" / "forge", db, ";".join(statements)], check=True)


def took(db, kind, key, member, value):
    """As an older tollbook stored it: the thing is declared so now."""
    text = json.dumps(value).replace("'", "''")
    said = f"document=json_set(document,'$.{member}',json('{text}'))"
    forge(db, f"UPDATE declaration SET {said} WHERE kind='{kind}' AND id={key} AND to_us={2**63 - 1}",
          f"UPDATE {kind} SET {said} WHERE id={key}",
          "UPDATE meta SET value=value+1 WHERE name='data_version'")


class FromBefore(unittest.TestCase):
    """A server of its own each, whose file is not what this tollbook would take."""

    refused = Case.refused

    def open(self, change, zones=3):
        self.server = Server()
        self.addCleanup(self.server.folder.cleanup)
        self.server.stop()
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"] += [{"id": 1000 + n, "account": 1, "name": f"z{n}"}
                             for n in range(zones - 3)]
        db = self.server.db
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps(catalog).encode())
        run("book", "--db", db, "-", stdin=json.dumps(BOOK).encode())
        run("import", "--db", db, "-", stdin=rows((101, 201)))
        self.catalog = catalog
        change(db)
        self.server.start()
        self.addCleanup(self.server.stop)

    def verify(self, expect):
        return run("verify", "--db", self.server.db, expect=expect)

    def get(self, target, key="user", status=200):
        answer = self.server.get(target, key)
        self.assertEqual(answer.status, status, (target, answer.body))
        return answer

    def test_a_tax_that_cannot_be_read_fails_what_shows_it_alone(self):
        self.open(lambda db: took(db, "account", 1, "tax", "abc"))
        self.assertEqual([z["Id"] for z in self.get("/pullzone").json()], [101, 102])
        self.assertGreater(self.get("/pullzone/101").json()["MonthlyCharges"], 0)
        for target in ("/statistics", "/billing/summary", "/region", "/pullzone/count"):
            self.get(target)
        for target in ("/billing", "/billing/forecast"):
            answer = self.get(target, status=500)
            self.refused(answer, 500, "store.declaration", "tax")
            self.assertIn("Account 1: tax must be a percent", answer.json()["Message"])
            self.get(target, "other")
        self.assertIn("store.declaration: Account 1: tax", self.server.messages())
        done = self.server.ask("POST", "/operations/invoice", "operator", json.dumps(
            {"month": "2026-10", "finalize": True}).encode(),
            Content_Type="application/json").json()
        self.assertEqual((done["answer"]["refused"], done["answer"]["made"]), (1, 1), done)
        self.assertIn("account 1 (acme): Account 1: tax must be", "".join(done["said"]))
        self.server.stop()
        said = self.verify(1).stdout.decode()
        self.assertIn("Account 1: tax: Must be a percent from 0 to 100", said)
        self.assertIn("Apply a catalogue that corrects it.", said)
        run("apply", "--delete", "--db", self.server.db, "-", stdin=json.dumps(self.catalog).encode())
        said = self.verify(0).stdout.decode()
        self.assertIn("declared until 2026-11-04T09:00:00Z", said)
        self.server.start()
        self.get("/billing")

    def test_a_discount_that_cannot_be_read_fails_its_account_before_the_head(self):
        self.open(lambda db: took(db, "account", 1, "discounts", {"EUUSDiscount": "much"}))
        for target in ("/pullzone", "/pullzone?page=1", "/pullzone/101", "/billing",
                       "/billing/summary"):
            self.refused(self.get(target, status=500), 500, "store.declaration",
                         "discounts.EUUSDiscount")
            self.get(target.replace("101", "201"), "other")
        with self.server.wire() as wire:
            head = wire.ask("HEAD", "/pullzone", {"AccessKey": self.server.keys["user"]})
            self.assertEqual(head.status, 500)
            again = wire.ask("GET", "/pullzone/count", {"AccessKey": self.server.keys["user"]})
            self.assertEqual(again.status, 200)  # the connection goes on
        self.get("/statistics")

    def test_hostnames_and_settings_that_are_not_taken_are_passed_over(self):
        def change(db):
            took(db, "zone", 101, "hostnames", ["v.example", 7])
            took(db, "zone", 102, "settings", {"Colour": 1})
        self.open(change)
        zones = self.get("/pullzone").json()
        self.assertEqual([h["Value"] for h in zones[0]["Hostnames"]], ["acme-video.b-cdn.net"])
        self.server.stop()
        said = self.verify(1).stdout.decode()
        self.assertIn("Pull zone 101: hostnames[1]: Must be a string or an object", said)
        self.assertIn("Pull zone 102: settings.Colour: Unknown field", said)

    def cut(self, headers=()):
        """The body of GET /pullzone as far as it comes; whether its end was announced."""
        lines = ["GET /pullzone HTTP/1.1", "Host: t", f"AccessKey: {self.server.keys['user']}",
                 *headers]
        with self.server.wire() as wire:
            wire.send("\r\n".join(lines).encode() + b"\r\n\r\n")
            while b"\r\n\r\n" not in wire.buffer and wire.fill():
                pass
            head, wire.buffer = wire.buffer.split(b"\r\n\r\n", 1)
            self.assertIn(b" 200 ", head.split(b"\r\n")[0])
            body = b""
            try:
                while piece := wire.chunk():
                    body += piece
            except AssertionError:
                return body, False
        return body, True

    def test_a_list_that_fails_later_is_cut_off(self):
        self.open(lambda db: took(db, "zone", 1450, "settings", {"PriceOverride": "cheap"}),
                  zones=500)
        body, ended = self.cut()
        self.assertFalse(ended)
        self.assertGreater(body.count(b'"Id":1'), 100)
        zipped, ended = self.cut(["Accept-Encoding: gzip"])
        self.assertFalse(ended)
        self.assertRaises(EOFError, gzip.decompress, zipped)
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as old:
            old.sendall(f"GET /pullzone HTTP/1.0\r\nAccessKey: {self.server.keys['user']}"
                        "\r\n\r\n".encode())
            with self.assertRaises(ConnectionResetError):
                while old.recv(1 << 16):
                    pass
        self.assertIn("Pull zone 1450: settings.PriceOverride must be", self.server.messages())
        self.get("/pullzone/1449")
        self.refused(self.get("/pullzone/1450", status=500), 500, "store.declaration",
                     "settings.PriceOverride")
        self.assertEqual(len(self.get("/pullzone", "other").json()), 1)


class DamagedBlocks(unittest.TestCase):
    """Blocks of request logs and of shield events that cannot be read: an error, or a cut."""

    refused = Case.refused
    V1 = "/11-04-26/101.log"

    @classmethod
    def setUpClass(cls):
        server = cls.server = Server(log=b"")
        server.stop()
        catalog = {**CATALOG, "shield_zones": [{"id": 42, "account": 1}, {"id": 43, "account": 1}]}
        db = server.db
        run("apply", "--delete", "--db", db, "-", stdin=json.dumps(catalog).encode())

        def at(ms, zone, n):
            line = hit(zone).decode().split("|")
            return "".join("|".join(line[:2] + [str(ms + i)] + line[3:7] +
                                    [f"https://z/{i:08}{'x' * 100}"] + line[8:]) for i in range(n))
        for zone in (101, 102):  # two blocks each: newest first is how they are read
            for start, n in ((NOW_MS - 8 * 3600000, 100), (NOW_MS - 3600000, 8000)):
                run("ingest", "--db", db, "-", stdin=at(start, zone, n).encode())
        for zone in (42, 43):
            run("import", "--db", db, "-", stdin="".join(json.dumps(
                {"shield_zone": zone, "timestamp": NOW_MS - 3600000 + i, "logId": f"e{i:06}",
                 "log": "x", "userAgent": "x" * 300, "labels": {}}) + "\n" for i in range(3000)).encode())
        with sqlite3.connect(db) as file:
            for table in ("log_block", "event_block"):
                trigger = file.execute("SELECT sql FROM sqlite_master WHERE name=?",
                                       (f"{table}_no_update",)).fetchone()[0]
                file.execute(f"DROP TRIGGER {table}_no_update")
                order = "last_ms" if table == "log_block" else "first"
                for zone, end in ((101, "ASC"), (102, "DESC"), (42, "DESC"), (43, "ASC")):
                    file.execute(f"UPDATE {table} SET data=zeroblob(length(data)) WHERE id=(SELECT"
                                 f" id FROM {table} WHERE zone=? ORDER BY {order} {end} LIMIT 1)",
                                 (zone,))
                file.execute(trigger)
        file.close()
        server.start()

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.server.folder.cleanup()

    def is_cut(self, method, target, body=b""):
        with self.server.wire() as wire:
            wire.send(f"{method} {target} HTTP/1.1\r\nHost: t\r\nAccessKey: "
                      f"{self.server.keys['user']}\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
            with self.assertRaises(AssertionError) as cut:
                self.assertEqual(wire.read().body[:300], "cut")
            self.assertIn("cut within a chunk", str(cut.exception))

    def test_request_logs(self):
        self.is_cut("GET", self.V1)
        answer = self.server.get(self.V1.replace("101", "102"))
        self.assertEqual(answer.status, 500, answer.body[:200])

    def test_an_export_of_shield_events(self):
        window = json.dumps({"from": NOW_MS - 7200000, "to": NOW_MS}).encode()
        for zone in (42, 43):
            self.target = f"/shield/event-logs/{zone}/export"
            if zone == 42:
                self.is_cut("POST", self.target, window)
            else:
                answer = self.server.ask("POST", self.target, "user", window,
                                         Content_Type="application/json")
                self.assertEqual(answer.status, 500, answer.body[:200])


if __name__ == "__main__":
    unittest.main()
