#!/usr/bin/env python3
"""The parts of docs/examples/check.py against what others published, and against texts that are made to cost much."""
import base64
import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from random import Random
from unittest import mock

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
sys.path[:0] = [str(SOURCE / "docs/examples"), str(SOURCE / "tests")]
import check  # noqa: E402
from script import LONG  # noqa: E402
import bundle_maker as maker  # noqa: E402

# RFC 8032, 7.1: public key, message, signature.
ED25519 = [
    ("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"),
    ("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"),
    ("fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"),
]
# The note of Go's package note, https://sum.golang.org/latest at a moment, and a checkpoint that a public witness cosigned.
PETER = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
SIGNED = TEXT + "\n\u2014 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
GO = "sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"
LATEST = ("go.sum database tree\n65209736\n5+uGFjx6xBZG8ip1+wi77v+grwbhhukIrxEUS8PXvRo=\n\n"
          "\u2014 sum.golang.org Az3grnbssgK7ubgFX36gVETtNv0U23qxyAhAMai2QUfeGa3nB/akvkMdlUErfcZz7l/R3cVtYspg3dxXABkGZZKdsQ8=\n")
WITNESS = "witness.navigli.sunlight.geomys.org+a3e00fe2+BNy/co4C1Hn1p+INwJrfUlgz7W55dSZReusH/GhUhJ/G"
COSIGNED = ("coachandhorses2026h1.staging.certificate.transparency.goog\n185550722\nYXAM0VmnrfvLaBCOOYSJhCaE5F10oGBOo+hkbDa1kng=\n\n"
            "\u2014 witness.navigli.sunlight.geomys.org o+AP4gAAAABqb7DzNrGFRJnQ9vrJ8xpnwZytnr/ZYczDIsvwvouiSjwOjn7a72ccxBk+lKnZ7dKqkYKER1s/"
            "KxLTaVwQD7lJZTC/CQ==\n")
# Certificate Transparency's tree of 8 entries (its source has them as test data), and roots of its first n.
LEAVES = [bytes.fromhex(text) for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")]
ROOTS = {0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", 1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
         2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125", 3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
         8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"}


def note_of(vkey, note):
    """When the key signed the note; 0: a log did, None: its signature is wrong."""
    type_ = check.WITNESS if vkey == WITNESS else check.LOG
    key, (text, signatures) = check.read_key(vkey, type_), check.read_note(note)
    return check.signing_time(key, text, next(value for name, id_, value in signatures if (name, id_) == (key.name, key.id)))


class Signatures(unittest.TestCase):
    def test_rfc_8032(self):
        for row in ED25519:
            key, message, signature = map(bytes.fromhex, row)
            self.assertTrue(check.is_signed(key, message, signature))
        for wrong in (signature[:-1], signature + b"\0", signature[32:] + signature[:32], bytes(64), b"",
                      signature[:32] + (int.from_bytes(signature[32:], "little") + check.ORDER).to_bytes(32, "little"),
                      signature[:20] + bytes([signature[20] ^ 1]) + signature[21:]):
            self.assertFalse(check.is_signed(key, message, wrong))
        self.assertFalse(check.is_signed(key, message + b"x", signature))

    def test_keys_that_every_signature_fits(self):
        """Points of small order, and forms of points that are not the one: y of p and more, a sign of x = 0."""
        small = [(1).to_bytes(32, "little"), bytes(32), (check.P - 1).to_bytes(32, "little")]
        odd = [(check.P + 1).to_bytes(32, "little"), (1 | 1 << 255).to_bytes(32, "little"), check.P.to_bytes(32, "little"), b"\xff" * 32]
        for key in small + odd:
            for r in small + odd:
                self.assertFalse(check.is_signed(key, b"text", r + bytes(32)), key.hex())
        self.assertEqual([check.read_point(data) for data in odd], [None] * 4)

    def test_the_generator_signs_alike(self):
        random = Random(8032)
        for _ in range(20 if LONG else 3):
            signer = maker.Signer("a.example", random.randbytes(32))
            self.assertTrue(check.is_signed(signer.public, b"text", signer.sign(b"text")))
        self.assertEqual(maker.Signer("x", bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")).sign(b"").hex(),
                         ED25519[0][2])


class Notes(unittest.TestCase):
    def test_published_notes(self):
        self.assertEqual(note_of(PETER, SIGNED), 0)
        self.assertEqual(note_of(GO, LATEST), 0)
        self.assertEqual(note_of(WITNESS, COSIGNED), 0x6a6fb0f3)
        self.assertIsNone(note_of(PETER, SIGNED.replace("the answer", "an answer")))
        self.assertIsNone(note_of(GO, LATEST.replace("65209736", "65209737")))
        self.assertIsNone(note_of(WITNESS, COSIGNED.replace("AAAABqb7Dz", "AAAABqb7D0")))
        self.assertEqual(maker.Signer("PeterNeumann", base64.b64decode("AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz")[1:]).vkey, PETER)

    def test_a_checkpoint_is_of_the_log_that_signs_it(self):
        """Go's key has another name than its log."""
        with self.assertRaisesRegex(check.Problem, "is of the log go.sum database tree"):
            check.open_checkpoint(LATEST, check.read_key(GO, check.LOG))
        signer = maker.Signer("a.example", bytes(32))
        for text in ("a.example\n1\n", "a.example\n01\n%s\n", "a.example\n1\n%s\n\nmore\n", "a.example\n-1\n%s\n", "a.example\n1\nAAAA\n",
                     f"a.example\n{1 << 63}\n%s\n"):
            text = text.replace("%s", maker.b64(bytes(32)))
            with self.assertRaisesRegex(check.Problem, "not the log's name, its size and its root", msg=text):
                check.open_checkpoint(text + "\n" + signer.line(text), check.read_key(signer.vkey, check.LOG))

    def test_what_is_no_note(self):
        line = SIGNED.partition("\n\n")[2]
        for wrong in ("", "\n", "\n\n", TEXT, TEXT + "\n", "\x01" + SIGNED, TEXT + line, SIGNED + "more\n", SIGNED + "\n", TEXT + "\r\n" + line,
                      *(f"{TEXT}\n{one}" for one in (
                          "\u2014 Bad Name x08go/ZJkuBS9UG/\n", "\u2014 PeterNeumann\n", "\u2014 PeterNeumann \n", "\u2014 PeterNeumann x08go/Z\n",
                          "\u2014 PeterNeumann x08g\n", "\u2014 Peter+Neumann x08go/ZJkuA=\n", "\u2014  x08go/ZJkuA=\n", "- PeterNeumann x08go/ZJkuA=\n",
                          "\u2014 PeterNeumann x08go/ZJkuB=\n", "\u2014 PeterNeumann x08go/ZJkuA= \n", "\u2014 PeterNeumann x08go_ZJkuA=\n",
                          "\u2014 PeterNeumann x08go/ZJkuA=")), "x" * check.NOTE_MAX + "\n\n" + line):
            with self.assertRaises(check.Problem, msg=wrong):
                check.read_note(wrong)

    def test_what_is_no_key(self):
        for wrong in ("", "PeterNeumann", PETER[:-1], PETER.replace("c74f", "c74e"), PETER.replace("Peter", "Peter "), PETER.replace("c74f20a3", "C74F20A3"),
                      PETER + "+", PETER.replace("+ARpc", "+ZRpc"), "+" + PETER):
            with self.assertRaises((check.Problem, OSError), msg=wrong):
                check.read_key(wrong, check.LOG)


class Trees(unittest.TestCase):
    def test_certificate_transparency(self):
        tree = maker.Tree([maker.sha(b"\0", leaf) for leaf in LEAVES])
        for size, root in ROOTS.items():
            self.assertEqual(tree.root_of(0, size).hex(), root)

    def test_every_proof(self):
        """Of trees to a size: right, and wrong with another index, size, root, leaf, or a hash more or less."""
        most = 130 if LONG else 18
        leaves = [maker.sha(b"\0", str(i).encode()) for i in range(most)]
        tree = maker.Tree(leaves)
        for size in range(1, most):
            root = tree.root_of(0, size)
            for index in range(size):
                path = tree.path(index, 0, size)
                right = size, root, index, leaves[index], path
                self.assertTrue(check.is_included(*right))
                for wrong in ((size, root, index, leaves[index - 1], path), (size, tree.root_of(0, size - 1), index, leaves[index], path),
                              (size, root, index ^ 1, leaves[index], path), (size, root, index, leaves[index], path + [root]),
                              (size, root, index, leaves[index], path[:-1]), (size, root, size, leaves[index], path)):
                    self.assertFalse(wrong != right and check.is_included(*wrong), (size, index))
            for old in range(size + 1):
                proof = tree.growth(old, 0, size) if 0 < old < size else []
                self.assertTrue(check.is_grown(old, tree.root_of(0, old), size, root, proof), (old, size))
                for wrong in ((old, b"\0" * 32, size, root, proof), (old, tree.root_of(0, old), size, b"\0" * 32, proof),
                              (old, tree.root_of(0, old), size, root, proof + [root]), (size + 1, root, size, root, proof)):
                    self.assertFalse(check.is_grown(*wrong) and old > 0, (old, size))
                if proof:
                    self.assertFalse(check.is_grown(old, tree.root_of(0, old), size, root, proof[:-1]))


class Days(unittest.TestCase):
    RIGHT = "zone\t9\tDE\t2026-10-01T05:00:00Z\trequests=12\tbytes=7\n"

    def read(self, text):
        return list(check.read_day("2026-10-01", text))

    def test_lines(self):
        self.assertEqual(self.read(self.RIGHT + "load_balancer\t7\t2026-10-01T05:00:00Z\trequests=40\nmeter\tm\tfilms\tDE\t\t2026-10-01T00:00:00Z\t0\n"),
                         [("zone", [9, "DE", "2026-10-01T05:00:00Z"], {"requests": 12, "bytes": 7}),
                          ("load_balancer", [7, "2026-10-01T05:00:00Z"], {"requests": 40}), ("meter", ["m", "films", "DE", "", "2026-10-01T00:00:00Z"], {None: 0})])
        self.assertEqual(self.read(""), [])
        self.assertEqual(len(self.read(self.RIGHT + self.RIGHT.replace("\t9\t", "\t10\t"))), 2)

    def test_what_is_no_line(self):
        meter = "meter\tm\tfilms\tDE\t\t2026-10-01T00:00:00Z"
        for wrong in (self.RIGHT[:-1], "\n", self.RIGHT + "\n", self.RIGHT * 2, self.RIGHT.replace("zone", "zones"), self.RIGHT.replace("\t9", "\t09"),
                      self.RIGHT.replace("\t9", "\t-9"), self.RIGHT.replace("2026-10-01", "2026-10-02"), self.RIGHT.replace("00Z", "00"), self.RIGHT.replace("\trequests=12\tbytes=7", ""),
                      self.RIGHT.replace("bytes", "requests"), self.RIGHT.replace("bytes=7", "7"), self.RIGHT.replace("=7", "=07"), self.RIGHT.replace("=7", "=7 "),
                      self.RIGHT.replace("=7", "=" + "9" * 20), meter + "\n", meter + "\tvalue=5\n", meter + "\t5\t6\n", meter + "\t5\tx=6\n", meter + "\t5\n" + self.RIGHT):
            with self.assertRaises(check.Unreadable, msg=wrong):
                self.read(wrong)


    def test_volume(self):
        """It is of the account. Lines of a bill say how much each zone had; what moves from one of these zones to another corrects nothing."""
        terms = {"bytes": [{"zone": 102, "charge": "volume"}, {"zone": 103, "charge": "volume"}], "places": [{"code": "DE", "region": "EU"}],
                 "contract": {"percentile": False}, "meters": []}

        def compare(stated, *sides):
            check.compare("2026-000001", "2026-09", Counter(stated), *((Counter({("bytes", zone, "DE"): n for zone, n in side.items()}), terms) for side in sides))

        bill = {("volume", "account:1", ""): 15, ("share", "zone:102", None): 7, ("share", "zone:103", None): 8}
        compare(bill, {102: 7, 103: 8})
        compare({}, {103: 7}, {102: 7})
        compare({("volume", "account:1", ""): 1}, {103: 8}, {102: 7})
        for stated, sides, says in ((bill, ({102: 8, 103: 7},), "have 1 more bytes of zone:102 than"), (bill, ({102: 7, 103: 9},), "have 1 more bytes of zone:103 than"),
                                    ({}, ({103: 8}, {102: 7}), "changed by 1 more bytes of the zones of type volume"),
                                    ({("bandwidth", "zone:101", "EU"): 1}, ({101: 1, 103: 8}, {102: 8, 101: 1}), "changed by 1 fewer bytes of zone:101 in EU")):
            with self.assertRaisesRegex(check.Differs, says):
                compare(stated, *sides)


class Costs(unittest.TestCase):
    """What is made to take long or much memory ends soon, with a sentence."""

    @classmethod
    def setUpClass(cls):
        cls.signer = maker.Signer("a.example", bytes(32))
        cls.world = maker.World(cls.signer, Random(1), days=2, hours=1)
        cls.key = check.read_key(cls.signer.vkey, check.LOG)

    def ends(self, data, says, status=2):
        found, said = check.check(data if isinstance(data, bytes) else maker.write(data), self.key)
        self.assertEqual(found, status, said)
        self.assertRegex(said[-1][2], says)

    def test_files(self):
        right = maker.write(self.world.bundle("2026-000002"))
        with mock.patch.object(check, "FILE_MAX", 1 << 20):
            self.ends(gzip.compress(b" " * (1 << 24)), "more than")
            self.ends(b" " * ((1 << 20) + 1), "more than")
        for wrong in (gzip.compress(right)[:-1], gzip.compress(right) + b"x", gzip.compress(right) * 2, gzip.compress(right)[:-8] + bytes(8),
                      right + b"\xff", b'{"v":1,"log":' + b"[" * 100000, b'{"v":' + b"9" * 100000):
            self.ends(wrong, "The file is incomplete or was changed")

    def test_texts(self):
        """Documents, terms and books are texts of whoever runs the log."""
        for text in ("[" * 100000, '{"a":' * 100000, '{"a":' + "9" * 1000000 + "}", '{"a":1e999999999}', '{"a":NaN}', '{"a":1,"a":1}', "7", '"', ""):
            bundle = self.world.bundle("2026-000002")
            bundle["invoice"]["text"] = text
            self.ends(bundle, "was changed after it was made", status=1)
        bundle["invoice"]["text"] = json.dumps({"sha256": 1})
        status, said = check.check(maker.write(bundle), self.key)
        self.assertEqual(status, 1, said)

    def test_lists(self):
        bundle = self.world.bundle("2026-000002")
        bundle["days"] = bundle["days"] * 3000
        self.ends(bundle, "not in the one form")

    def test_months_that_count_the_same_days(self):
        """Terms count a day for one month, before and after at most."""
        from mutations import committed
        bundle = self.world.bundle("2026-000007")
        terms = json.loads(bundle["terms"]["text"])
        late = terms["lates"][0]
        terms["lates"] = [late] * 1000
        self.ends(committed(bundle, self.world.log, "terms", maker.canonical(terms))[0], "a month twice")


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-check-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_it(self, *words, status=0):
        done = subprocess.run([sys.executable, "-I", SOURCE / "docs/examples/check.py", *words], cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_files_and_keys(self):
        witness = maker.Signer("w.example", b"w" * 32, witness=True)
        signer = maker.Signer("a.example", bytes(32))
        world = maker.World(signer, Random(1), [witness], days=2, hours=1)
        (self.folder / "log.vkey").write_text(signer.vkey + "\n")
        (self.folder / "old").write_text(world.log.checkpoint(12))
        (self.folder / "right").write_bytes(maker.write(world.bundle("2026-000002", since=12)))
        (self.folder / "wrong").write_bytes(maker.write(world.bundle("2026-000002")).replace(b"bytes=", b"bytes=1", 1))
        (self.folder / "error").write_text('{"ErrorKey":"proof.gone","Field":null,"Message":"."}')
        (self.folder / "none").write_bytes(b"%PDF-1.7\x1b[2J")
        out = self.run_it("--key", "log.vkey", "--witness", witness.vkey, "--since", "old", "right")
        self.assertRegex(out, r"^right: all that was checked agrees\n  signature   ok  a.example signed .*\n  growth      ok  the log only grew since it had 12 entries\n"
                              r"  witness     ok  w.example cosigned it, 2025-12-01T00:00:00Z\n")
        self.assertIn("wrong: SOMETHING DIFFERS", self.run_it("--key", signer.vkey, "none", "wrong", "right", status=1))
        self.assertRegex(self.run_it("--key", signer.vkey, "none", "right", status=2), r"^none: it cannot be checked\n  form .*is it the PDF")
        digits = json.loads(world.bundle("2026-000002")["invoice"]["text"])["sha256"]
        self.assertRegex(out, f"\n  PDF         --  compare: 2026-000002, .* entry [0-9]+, fingerprint {digits[:4]} {digits[4:8]} {digits[8:12]} {digits[12:16]}\n")
        self.assertRegex(out, "the days come to what 2026-000002 states of bytes, .*\n(.*\n)*  Not shown: that all usage was recorded, that terms")
        self.assertRegex(self.run_it("--key", signer.vkey, "error", status=2), "an error of the server")
        for key in maker.Signer("a.example", b"x" * 32).vkey, maker.Signer("b.example", b"x" * 32).vkey:
            self.assertRegex(self.run_it("--key", key, "right", status=1), "NO  .*\n  Next: keep this file, and fetch it again")
        (self.folder / "altered").write_text(world.log.checkpoint(12).replace("\n12\n", "\n13\n", 1))
        self.assertIn("The old checkpoint in altered was changed, or is not this log's: use an unaltered copy.",
                      self.run_it("--key", signer.vkey, "--since", "altered", "right", status=2))
        for words, says in ((("--key", "nowhere", "right"), "nowhere"), (("--key", signer.vkey, "nowhere"), "nowhere"),
                            (("--key", witness.vkey, "right"), "is the key of a witness"), (("--key", "none", "right"), "none is no public key, and no file with one"), (("--key", "a+b+c", "right"), "The key is mistyped: copy the whole line again"),
                            (("--key", signer.vkey, "--witness", signer.vkey, "right"), "is the key of a log"), (("right",), "--key")):
            self.assertIn(says, self.run_it(*words, status=2))


if __name__ == "__main__":
    unittest.main()
