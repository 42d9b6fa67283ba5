"""The log of documents, with the real program: what proof start takes in, what later commands append, its checkpoints and
tiles over HTTP. Roots and signatures are checked here by other means than tollbook's: RFC 6962's recursion, and Ed25519 as
RFC 8032 writes it.
"""
import base64
import hashlib
import json
import time
import unittest

import harness
from harness import ENVIRONMENT, PATIENCE, Server, run

NAME = "example.com/tollbook"
BOOK = {"book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03"}}}}
FIELD = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, -1, FIELD) % FIELD


def sha(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


# --- Ed25519 (RFC 8032), points as (x, y)

def add(p, q):
    t = CURVE * p[0] * q[0] * p[1] * q[1] % FIELD
    return ((p[0] * q[1] + q[0] * p[1]) * pow(1 + t, -1, FIELD) % FIELD,
            (p[1] * q[1] + p[0] * q[0]) * pow(1 - t, -1, FIELD) % FIELD)


def times(n, p):
    sum_ = (0, 1)
    while n:
        sum_, p, n = add(sum_, p) if n & 1 else sum_, add(p, p), n >> 1
    return sum_


def point(data):
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(CURVE * y * y + 1, -1, FIELD) % FIELD
    x = pow(square, (FIELD + 3) // 8, FIELD)
    if (x * x - square) % FIELD:
        x = x * pow(2, (FIELD - 1) // 4, FIELD) % FIELD
    assert (x * x - square) % FIELD == 0, "no point"
    return FIELD - x if x & 1 != data[31] >> 7 else x, y


BASE = point((4 * pow(5, -1, FIELD) % FIELD).to_bytes(32, "little"))


def signed(key, text, signature):
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + text).digest(), "little") % ORDER
    s = int.from_bytes(signature[32:], "little")
    return s < ORDER and times(s, BASE) == add(point(signature[:32]), times(h, point(key)))


# --- trees and notes

def root(leaves):
    if len(leaves) < 2:
        return leaves[0] if leaves else sha()
    half = 1 << (len(leaves) - 1).bit_length() - 1
    return sha(b"\1", root(leaves[:half]), root(leaves[half:]))


def open_note(note, vkey):
    """The size and root of a checkpoint that the key signed."""
    name, number, key = vkey.split("+", 2)
    key = base64.b64decode(key)
    text, _, lines = note.partition("\n\n")
    text += "\n"
    assert sha(name.encode(), b"\n", key)[:4].hex() == number, vkey
    dash, signer, value = lines.rstrip("\n").split(" ")
    value = base64.b64decode(value)
    assert (dash, signer, value[:4].hex()) == ("\u2014", name, number), lines
    assert key[0] == 1 and signed(key[1:], text.encode(), value[4:]), note
    origin, size, hash_, rest = text.split("\n")
    assert (origin, rest) == (name, ""), text
    return int(size), base64.b64decode(hash_)


def width(n):
    return "" if n == 256 else f".p/{n}"


class Proof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.server.stop()
        cls.key = cls.server.path / "key"
        cls.vkey = cls.tool("proof key", "--new", cls.key, "--name", NAME, db=False)
        cls.tool("book add", "-", stdin=json.dumps(BOOK).encode())
        cls.take(*((zone, f"2026-{month:02}-{day:02}") for zone in (101, 201) for month in range(1, 11)
                   for day in range(1, 15)))
        cls.tool("invoice", "--month", "2026-09", "--finalize")
        cls.tool("invoice", "--void", "2026-000001")

    @classmethod
    def tearDownClass(cls):
        cls.server.close()

    @classmethod
    def tool(cls, name, *rest, db=True, **more):
        return run(*name.split(), *(("--db", cls.server.db) if db else ()), *rest, **more).stdout.decode().strip()

    @classmethod
    def take(cls, *rows, words=()):
        cls.tool("import", *words, "-", stdin="".join(json.dumps(
            {"zone": zone, "hour": f"{day}T05:00:00Z", "region": "DE", "requests": 7, "bytes": 10**9}) + "\n"
            for zone, day in rows).encode())

    def checkpoint(self):
        answer = self.server.get("/proof/checkpoint", None)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/plain; charset=utf-8"))
        self.assertTrue(answer.headers["cache-control"].startswith("public"))
        return open_note(answer.body.decode(), self.vkey)

    def tile(self, path):
        answer = self.server.get(f"/proof/tile/{path}", None)
        self.assertEqual(answer.status, 200, path)
        self.assertIn("immutable", answer.headers["cache-control"])
        return answer.body

    def fetch(self, size):
        """All entries; their hashes are those of the tiles."""
        entries, hashes = [], b""
        for i in range((size + 255) // 256):
            n = min(256, size - 256 * i)
            bundle = self.tile(f"entries/{i:03}{width(n)}")
            hashes += self.tile(f"0/{i:03}{width(n)}")
            while bundle:
                length = int.from_bytes(bundle[:2], "big")
                entries.append(bundle[2:2 + length])
                bundle = bundle[2 + length:]
        leaves = [sha(b"\0", entry) for entry in entries]
        self.assertEqual((len(entries), hashes), (size, b"".join(leaves)))
        for entry in entries:
            self.assertEqual(entry.decode(), json.dumps(json.loads(entry), sort_keys=True, separators=(",", ":")))
        if size >= 256:
            self.assertEqual(self.tile(f"1/000.p/{size // 256}")[:32], root(leaves[:256]))
        return [json.loads(entry) for entry in entries], leaves

    def checked(self):
        size, wanted = self.checkpoint()
        entries, leaves = self.fetch(size)
        self.assertEqual(root(leaves), wanted)
        return entries, leaves

    def refuses(self, path):
        self.assertEqual(self.server.get(f"/proof/{path}", None).status, 404, path)

    def test_a_log_from_its_start_to_a_late_day(self):
        self.assertIn(b"has no log", run("proof", "close-days", "--db", self.server.db, expect=None).stderr)
        self.tool("proof start", "--proof-key-file", self.key)
        self.assertEqual(self.tool("proof vkey", "--key-file", self.key, db=False), self.vkey)
        self.assertEqual(open_note(self.tool("proof checkpoint") + "\n", self.vkey)[0], 1 + 2 + 1 + 280 + 2 + 2)
        self.server.start()
        before, leaves = self.checked()
        types = [entry["type"] for entry in before]
        self.assertEqual(types, ["book", "invoice", "invoice", "void"] + ["usage"] * 282 + ["terms"] * 2)
        self.assertEqual([entry["day"] for entry in before[4:8]], ["2026-01-01"] * 2 + ["2026-01-02"] * 2)
        for path in (f"tile/0/001.p/{len(before) - 255}", "tile/0/001", "tile/0/002.p/1", "tile/2/000.p/1", "tile/1/000.p/2",
                     "tile/0/0", "tile/8/000.p/1", "tile/entries/001", "tile/0/000.p/256", "tile/0/" + "x" * 200):
            self.refuses(path)
        self.server.stop()

        self.tool("book add", "-", stdin=json.dumps({**BOOK, "book": "euro", "currency": "EUR"}).encode())
        self.take((101, "2026-10-02"), (101, "2026-10-20"), (201, "2026-11-04"))
        self.tool("invoice", "--month", "2026-10", "--finalize", "--proof-key-file", self.key)
        self.take((101, "2026-10-02"), words=("--batch", "again"))
        self.tool("proof close-days", "--proof-key-file", self.key)
        self.tool("proof close-days", "--proof-key-file", self.key)  # nothing is new
        self.server.start()
        after, all_ = self.checked()
        self.assertEqual(all_[:len(leaves)], leaves)
        new = after[len(before):]
        first = before.index(next(entry for entry in before if entry.get("day") == "2026-10-02"))
        self.assertEqual([(entry["type"], entry.get("day"), entry.get("of")) for entry in new],
                         [("book", None, None), ("usage", "2026-10-02", first), ("usage", "2026-10-20", None),
                          ("invoice", None, None), ("terms", None, None), ("invoice", None, None), ("terms", None, None),
                          ("usage", "2026-10-02", first)])
        self.assertEqual(new[0]["sha256"], next(book["sha256"] for book in json.loads(self.tool("book list", "--format", "json"))["books"]
                                                if book["book"] == "euro"))
        self.server.stop()
        sizes = [int(row) for row in self.tool("query", "SELECT size FROM proof_checkpoint ORDER BY size").split()[1:]]
        self.assertEqual(sizes, [len(before), len(before) + 7, len(after)])
        self.tool("verify")

        environment, harness.ENVIRONMENT = harness.ENVIRONMENT, {**ENVIRONMENT, "TOLLBOOK_NOW": "2026-11-05T00:10:01Z"}
        try:
            self.server.start("--proof-key-file", self.key)
        finally:
            harness.ENVIRONMENT = environment
        end = time.monotonic() + PATIENCE
        while self.checkpoint()[0] == len(after) and time.monotonic() < end:
            pass
        entries, _ = self.checked()
        self.assertEqual([entry.get("day") for entry in entries[len(after):]], ["2026-11-04"])
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
