"""Bundles and receipts, with the real program: each entry is opened, and its proof verified, by other means than tollbook's.
Rating a bundle again is tested with what does it."""
import base64
import gzip
import hashlib
import json
import subprocess
import unittest

import harness
from harness import BUILD, CATALOG, ENVIRONMENT, PATIENCE, Server, run
from test_proof import NAME, open_note, root, sha

GB = 10**9
BOOK = {"book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z", "minimum_monthly": "1.00",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}},
        "optimizer": {"monthly": "9.50"}}
OCTOBER, NOVEMBER, DECEMBER, LATER = ("2026-11-04T09:00:00Z", "2026-12-03T09:00:00Z", "2026-12-04T09:00:00Z", "2026-12-28T09:00:00Z")


def leaf(kind, members, part):
    """The hash of the entry that opens to this part."""
    if kind == "book":
        members = {"book": json.loads(part["text"])["book"], "sha256": hashlib.sha256(part["text"].encode()).hexdigest()}
    else:
        members = {**members, "commit": base64.b64encode(sha(base64.b64decode(part["salt"]), part["text"].encode())).decode()}
    return sha(b"\0", json.dumps({**members, "type": kind, "v": 1}, sort_keys=True, separators=(",", ":")).encode())


def rooted(size, index, hash_, path):
    """RFC 9162, 2.1.3.2."""
    fn, sn = index, size - 1
    for p in path:
        assert sn, "too long"
        if fn & 1 or fn == sn:
            hash_ = sha(b"\1", p, hash_)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            hash_ = sha(b"\1", hash_, p)
        fn, sn = fn >> 1, sn >> 1
    assert sn == 0, "too short"
    return hash_


class Opened:
    """A bundle, or receipts, all of whose parts were verified."""

    def __init__(self, text, vkey):
        self.text = text
        self.bundle = json.loads(text)
        self.size, self.root = open_note(self.bundle["checkpoint"], vkey)
        assert self.bundle["log"] == NAME
        assert json.dumps(self.bundle, ensure_ascii=False, separators=(",", ":")) == text.decode(), "its one form"
        self.indexes = []
        for day in self.bundle["days"]:
            self.include("usage", {"day": day["day"], **({} if day["of"] is None else {"of": day["of"]})}, day)
        assert self.indexes == sorted(set(self.indexes)), "days ascend"
        if "invoice" in self.bundle:
            self.document = json.loads(self.bundle["invoice"]["text"])
            month = self.document["period"]["start"][:7]
            for kind in ("invoice", "terms"):
                self.include(kind, {"month": month}, self.bundle[kind])
            self.terms = json.loads(self.bundle["terms"]["text"])
            for book in self.bundle["books"]:
                self.include("book", {}, book)
            for one in self.bundle["earlier"]:
                self.include("invoice", {"month": json.loads(one["text"])["period"]["start"][:7]}, one)
            if "void" in self.bundle:
                self.include("void", {}, self.bundle["void"])

    def include(self, kind, members, part):
        head, _, note = part["proof"].partition("\n\n")
        name, index, *path = head.split("\n")
        assert (name, note) == ("c2sp.org/tlog-proof@v1", self.bundle["checkpoint"])
        index = int(index.removeprefix("index "))
        assert rooted(self.size, index, leaf(kind, members, part), [base64.b64decode(p) for p in path]) == self.root, (kind, part)
        if kind == "usage":
            self.indexes.append(index)

    def days(self):
        return [(day["day"], day["of"], day["text"]) for day in self.bundle["days"]]

    def earlier(self):
        return [json.loads(one["text"])["number"] for one in self.bundle["earlier"]]


def cell(zone, day, amount, hour=5):
    return {"zone": zone, "hour": f"{day}T{hour:02}:00:00Z", "region": "DE", "requests": 7, "bytes": amount * GB}


class Bundles(unittest.TestCase):
    def setUp(self):
        self.server = Server()
        self.server.stop()
        self.key = self.server.path / "key"
        self.vkey = self.tool("proof key", "--new", self.key, "--name", NAME, db=False)
        self.addCleanup(self.server.close)

    def at(self, now):
        environment, harness.ENVIRONMENT = harness.ENVIRONMENT, {**ENVIRONMENT, "TOLLBOOK_NOW": now}
        self.addCleanup(setattr, harness, "ENVIRONMENT", environment)

    def tool(self, name, *rest, db=True, **more):
        return run(*name.split(), *(("--db", self.server.db) if db else ()), *rest, **more).stdout.decode().strip()

    def take(self, *rows, words=()):
        return self.tool("import", *words, "-", stdin="".join(json.dumps(row) + "\n" for row in rows).encode())

    def usage(self, month):
        self.take(*(cell(zone, f"{month}-{day:02}", 100 + day) for zone in (101, 102, 201) for day in (1, 2, 15)))

    def final(self, month):
        self.tool("invoice", "--month", month, "--finalize", "--proof-key-file", self.key)

    def opened(self, number, *words, status=0):
        """Verified here, and rated again by tollbook-check."""
        file = self.server.path / "x.tollproof"
        self.assertEqual(self.tool("proof bundle", "--number", number, "--out", file, *words), "")
        done = subprocess.run([BUILD / "tollbook-check", "--key", self.vkey, file], capture_output=True, check=False, timeout=PATIENCE)
        self.assertEqual(done.returncode, status, (done.stdout + done.stderr).decode())
        return Opened(file.read_bytes(), self.vkey)

    def refused(self, *words, status=1):
        done = run("proof", *words, "--db", self.server.db, expect=status)
        self.assertEqual(done.stdout, b"")
        return done.stderr.decode()

    def test_documents_from_the_first_to_the_one_that_is_void(self):
        self.tool("book add", "-", stdin=json.dumps(BOOK).encode())
        self.usage("2026-10")
        self.take(cell(201, "2026-10-20", 900), words=("--batch", "wrong"))
        self.tool("proof start")
        self.tool("invoice", "--month", "2026-10", "--finalize")
        self.assertIn("--proof-key-file", self.refused("bundle", "--number", "2026-000001"))
        self.tool("proof close-days", "--proof-key-file", self.key)
        first = self.opened("2026-000001")
        self.assertEqual([day[0] for day in first.days()], ["2026-10-01", "2026-10-02", "2026-10-15"])
        self.assertEqual(first.days()[0][2], "".join(f"zone\t{zone}\tDE\t2026-10-01T05:00:00Z\trequests=7\tbytes={101 * GB}\n" for zone in (101, 102)))
        self.assertEqual((first.earlier(), first.bundle["consistency"], len(first.bundle["books"])), ([], None, 1))
        self.assertEqual(self.opened("2026-000001").text, first.text)
        self.tool("proof bundle", "--number", "2026-000001", "--out", self.server.path / "x.gz")
        packed = (self.server.path / "x.gz").read_bytes()
        self.tool("proof bundle", "--number", "2026-000001", "--out", self.server.path / "x.gz")
        self.assertEqual((gzip.decompress(packed), (self.server.path / "x.gz").read_bytes()), (first.text, packed))
        self.assertEqual(run("proof", "bundle", "--number", "2026-000001", "--db", self.server.db).stdout, first.text)

        self.at(NOVEMBER)
        self.usage("2026-11")
        self.take(cell(101, "2026-10-02", 50), cell(102, "2026-10-03", 50))
        self.take(cell(201, "2026-10-20", 900), words=("--batch", "wrong", "--withdraw"))
        self.final("2026-11")
        again = self.opened("2026-000001", "--since", str(first.size))
        self.assertEqual((again.days(), again.indexes), (first.days(), first.indexes))
        growth = again.bundle["consistency"]
        self.assertEqual((growth["from"], bool(growth["hashes"])), (first.size, True))
        later = {(o.document["account"], o.document["kind"]): o for o in (self.opened(f"2026-{serial:06}") for serial in range(3, 6))}
        corrected, credit = later[1, "invoice"], later[2, "credit_note"]
        self.assertEqual([(day, of is not None) for day, of, _ in corrected.days()],
                         [("2026-10-01", False), ("2026-10-02", False), ("2026-10-15", False),
                          ("2026-11-03", False),  # closed when the log began
                          ("2026-10-02", True), ("2026-10-03", False), ("2026-11-01", False), ("2026-11-02", False), ("2026-11-15", False)])
        self.assertEqual(corrected.days()[4][1], corrected.indexes[1])
        self.assertEqual(corrected.earlier(), ["2026-000001"])
        self.assertEqual([(day, text == "") for day, _, text in credit.days()],
                         [("2026-10-01", False), ("2026-10-02", False), ("2026-10-15", False), ("2026-10-20", False), ("2026-10-20", True)])
        self.assertEqual(credit.earlier(), ["2026-000002"])
        self.tool("verify")

        void = corrected.document["number"]
        self.tool("invoice", "--void", void, "--proof-key-file", self.key)
        self.assertEqual(json.loads(self.opened(void, status=1).bundle["void"]["text"]), {"number": void, "voided": NOVEMBER})
        self.assertNotIn("void", self.opened("2026-000001").bundle)
        self.tool("verify")

    def get(self, target, key="user", status=200, **headers):
        answer = self.server.get(target, key, **headers)
        self.assertEqual(answer.status, status, answer.body[:300])
        return answer

    def test_a_customer_asks_over_http(self):
        target = "/billing/invoices/2026-000001/proof"
        self.tool("book add", "-", stdin=json.dumps(BOOK).encode())
        self.usage("2026-10")
        self.take(*(cell(zone, f"2026-11-0{day}", day) for zone in (101, 201) for day in (1, 2)))  # the 3rd has log lines
        self.server.start()
        self.assertEqual(self.get("/usage/receipts?month=2026-10", status=404).error, "resource.not_found")
        self.server.stop()
        self.tool("proof start")
        self.server.start("--proof-key-file", self.key)
        month = json.dumps({"month": "2026-10", "finalize": True}).encode()
        self.assertEqual(self.server.ask("POST", "/operations/invoice", "operator", month, Content_Type="application/json").status, 200)
        whole = Opened(self.get(target).body, self.vkey)  # signed by the server
        self.assertEqual(len(whole.days()), 3)
        zipped = self.get(target, Accept_Encoding="gzip")
        self.assertEqual((zipped.headers["content-encoding"], gzip.decompress(zipped.body)), ("gzip", whole.text))
        self.assertIn('filename="2026-000001.tollproof"', zipped.headers["content-disposition"])
        self.assertEqual(Opened(self.get(target + "?since=2").body, self.vkey).bundle["consistency"]["from"], 2)
        self.assertEqual(self.get(target + f"?since={whole.size + 1}", status=400).json()["Field"], "since")
        for key in ("other", "ingest"):
            self.assertNotEqual(self.server.get(target, key).status, 200)
        self.assertEqual(self.get(target, "other", 404).error, "invoice.not_found")
        self.assertEqual(self.get("/billing/invoices/2026-000009/proof", status=404).error, "invoice.not_found")
        self.assertEqual(self.get(target + "?account=1", "operator").body, whole.text)
        self.assertEqual(self.server.get(target, None).status, 401)

        mine = Opened(self.get("/usage/receipts?month=2026-11").body, self.vkey)
        self.assertEqual([day[0] for day in mine.days()], ["2026-11-01", "2026-11-02", "2026-11-03"])
        self.assertEqual(self.tool("proof receipts", "--account", "1", "--month", "2026-11").encode(), mine.text)
        others = Opened(self.get("/usage/receipts?month=2026-11", "other").body, self.vkey)
        self.assertIn("zone\t201", others.days()[0][2])
        self.assertEqual(self.get("/usage/receipts?month=2026", status=400).json()["Field"], "month")
        self.assertEqual(self.get("/usage/receipts", status=400).json()["Field"], "month")
        self.take_late(mine.indexes[1])

    def take_late(self, first):
        """A day that changed is left out until it is closed again."""
        self.server.stop()
        self.take(cell(101, "2026-11-02", 1))
        self.assertEqual([day[0] for day in self.receipts()], ["2026-11-01", "2026-11-03"])
        self.tool("proof close-days")
        self.assertEqual([day[0] for day in self.receipts()], ["2026-11-01", "2026-11-03"])  # no checkpoint yet
        self.tool("proof close-days", "--proof-key-file", self.key)
        self.assertEqual([day[:2] for day in self.receipts()][-1], ("2026-11-02", first))
        self.server.start()

    def receipts(self):
        return Opened(self.tool("proof receipts", "--account", "1", "--month", "2026-11").encode(), self.vkey).days()

    def test_what_is_gone_is_said(self):
        prepaid = json.loads(json.dumps(CATALOG))
        prepaid["accounts"][1]["prepaid"] = True
        prepaid["meters"] = [{"meter": "stored", "kind": "gauge", "unit": "byte", "resource": "disk"}]
        self.tool("apply", "--backdated", "-", stdin=json.dumps(prepaid).encode())
        self.tool("book add", "-", stdin=json.dumps(BOOK).encode())
        self.usage("2026-09")
        self.final("2026-09")
        self.take(cell(101, "2026-09-02", 1))
        self.tool("proof start", "--proof-key-file", self.key)
        self.assertIn("before the log of documents began", self.refused("bundle", "--number", "2026-000001"))
        older = self.opened("2026-000002")  # its days did not change before the log began
        self.assertEqual([day[0] for day in older.days()], ["2026-09-01", "2026-09-02", "2026-09-15"])
        self.tool("verify")
        self.at("2029-01-02T00:00:00Z")
        self.final("2026-10")
        self.assertIn("before the log of documents began", self.refused("bundle", "--number", "2029-000001"))  # it corrects September
        self.assertEqual(self.opened("2026-000002").days(), older.days())
        self.tool("verify")
        left = {"accounts": prepaid["accounts"][:1], "zones": prepaid["zones"][:2], "meters": prepaid["meters"]}
        self.tool("apply", "--delete", "-", stdin=json.dumps(left).encode())
        self.tool("forget", "--account", 2)
        self.assertEqual((self.opened("2026-000002").terms, self.opened("2026-000002").days()), (older.terms, older.days()))
        self.tool("verify")
        self.take(cell(101, "2029-01-01", 1))  # a clock alone lets nothing go
        self.tool("retain", "--hours", 25, "--days", 25)
        self.assertIn("no longer kept", self.refused("bundle", "--number", "2026-000002"))
        self.take({"meter": "stored", "account": 1, "resource": "d", "time": "2026-09-05T00:00:00Z", "value": 1})  # never closed again
        self.tool("proof close-days")
        self.tool("verify")
        self.server.start()
        self.assertEqual(self.get("/billing/invoices/2026-000002/proof", "other", 410).error, "proof.gone")


if __name__ == "__main__":
    unittest.main()
