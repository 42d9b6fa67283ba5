#!/usr/bin/env python3
"""tollbook-check, the executable: what it trusts, remembers, reads and says of each step. Most files are receipts, which need no
rating; documents are those of the real program, in logs that were written anew. test_mutations.py has many more falsifications."""
import gzip
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from random import Random

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
sys.path.insert(0, str(SOURCE / "tests"))
import script  # noqa: E402, F401: skips are told
import bundle_maker  # noqa: E402
from bundle_maker import Log, Signer, canonical  # noqa: E402
from mutations import bytes_more, committed, digit, index_of, proved, replaced, sealed  # noqa: E402
from real import Real  # noqa: E402

CHECKER = BUILD / "tollbook-check"
NAME = "example.com/tollbook"
LOG = Signer(NAME, b"seed of a log's key, of 32 bytes")
OTHER = Signer(NAME, b"another seed of a log's key, 32b")
WITNESS = Signer("witness.example/w1", b"seed of a witness, of 32 bytes..", witness=True)
STRANGER = Signer("witness.example/w2", b"another seed of a witness, 32 b.", witness=True)
VOID = canonical({"commit": bundle_maker.b64(bytes(32)), "type": "void", "v": 1}).encode()


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = bundle_maker.World(LOG, Random(7), [WITNESS], days=2, hours=1)
        cls.log = cls.world.log
        cls.size = len(cls.log.entries)

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def receipts(self, log=None, size=None, name="r"):
        """A file of October's receipts, under a checkpoint of the log."""
        log = log or self.log
        found = self.world.receipts(1, "2026-10")
        found["checkpoint"] = log.checkpoint(size)
        for day in found["days"]:
            day["proof"] = log.proof(int(day["proof"].split("\n")[1].split(" ")[1]), size)
        return self.file(name, bundle_maker.write(found))

    def check(self, *words, status=0, says=".", key=LOG.vkey, stdin=b""):
        words = [str(word) for word in (*words, *(["--key", key] if key else []))]
        done = subprocess.run([CHECKER, *words], input=stdin, capture_output=True, timeout=60, check=False)
        said = done.stdout.decode() + done.stderr.decode()
        self.assertEqual(done.returncode, status, said)
        self.assertRegex(said, says)
        return said

    def json(self, *words, **more):
        return [json.loads(line) for line in self.check(*words, "--json", **more).splitlines()]

    def tiles(self, log):
        """A folder with the tiles of a log of at most 256 entries."""
        folder = self.folder / "tiles"
        at = folder / "tile" / "0" / "000.p"
        at.mkdir(parents=True, exist_ok=True)
        (at / str(len(log.entries))).write_bytes(b"".join(log.tree.leaves))
        return folder

    def grown(self, n=1):
        return Log(LOG, [*self.log.entries, *[VOID] * n], [WITNESS])

    def forked(self, more=0):
        """Another log of the same key, of which one entry is another one that no receipt has."""
        return Log(LOG, [self.log.entries[0], VOID, *self.log.entries[2:], *[VOID] * more], [WITNESS])


class Reading(Case):
    def test_what_is_right_is_said_in_ten_lines(self):
        said = self.check(self.receipts(), "--witness", WITNESS.vkey, says="r: RIGHT. This is the usage of 2026-10 so far.")
        self.assertLessEqual(len(said.splitlines()), 10)
        for step in "signature", "witness", "commitments", "inclusion", "usage":
            self.assertRegex(said, rf"  {step} +ok ")
        self.assertRegex(said, r"Not shown: that all usage was recorded and measured rightly; that nothing was taken out of the log before \(--since\)\.\n$")
        self.assertIn("All 2 parts of this file are entries of the log, which has 38.", said)

    def test_json(self):
        found, = self.json(self.receipts(), "--witness", WITNESS.vkey)
        self.assertEqual((found["ok"], found["status"], found["invoice"], found["month"], found["log"], found["size"]),
                         (True, 0, None, "2026-10", NAME, self.size))
        self.assertEqual([(one["name"], one["ok"]) for one in found["checks"]],
                         [(name, True) for name in ("signature", "witness", "commitments", "inclusion", "usage")])
        self.assertTrue(all(one["detail"] for one in found["checks"]))

    def test_compressed_and_standard_input(self):
        data = self.receipts().read_bytes()
        packed = gzip.compress(data)
        self.check(self.file("r.gz", packed))
        self.check("-", stdin=data)
        self.check("-", stdin=packed)
        self.check(self.file("cut.gz", packed[:-20]), status=2, says="The file is incomplete or was changed: fetch it again.*cut.gz: gzip")
        self.check(self.file("more.gz", packed + b"x"), status=2, says="incomplete or was changed: .*more.gz: gzip")
        self.check(self.file("wrong.gz", packed[:30] + bytes([packed[30] ^ 255]) + packed[31:]), status=2, says="The file is incomplete or was changed: fetch it again|is it the PDF")
        self.check(self.file("twice.gz", packed + packed), status=2)

    def test_what_is_no_bundle(self):
        self.check(self.file("empty", ""), status=2, says="empty: NOT CHECKED. The file is empty: fetch it again")
        self.check(self.file("pdf", "%PDF-1.7"), status=2, says="This is no bundle of a bill, and no receipts: is it the PDF")
        self.check(self.folder / "none", status=2, says="none cannot be read: No such file")
        self.check(self.folder, status=2, says="cannot be read")
        found, = self.json(self.folder / "none", status=2)
        self.assertEqual((found["ok"], found["log"], found["size"]), (False, None, None))
        self.check(self.file("r", self.receipts().read_bytes()[:-1]), status=2, says="The file is incomplete or was changed: fetch it again. .byte [0-9]+: the text ends where } is expected")
        self.check(self.file("name\x1b[2J", ""), status=2, says=r"name\\x1b")  # nothing of it reaches the terminal

    def test_of_several_files_the_gravest_counts(self):
        right, wrong, none = self.receipts(), self.receipts(Log(OTHER, self.log.entries), name="wrong"), self.folder / "none"
        for status, files in ((0, (right, right)), (2, (right, none)), (1, (none, wrong, right)), (1, (wrong, none))):
            found = self.json(*files, status=status)
            self.assertEqual([one["file"] for one in found], [str(file) for file in files])

    def test_days_of_receipts(self):
        found = self.world.receipts(1, "2026-10")
        self.check(self.file("r", bundle_maker.write({**found, "days": found["days"] + found["days"][:1]})), status=1, says="in this file twice")
        self.check(self.file("r", bundle_maker.write({**found, "days": found["days"][::-1]})), status=2, says="not in its place")
        self.check(self.file("r", bundle_maker.write({**found, "month": "2026-09"})), status=1, says="is of another month")
        late = self.world.receipts(1, "2026-09")
        self.assertEqual([day["of"] is None for day in late["days"]], [True, False])
        self.check(self.file("r", bundle_maker.write(late)))
        first = self.world.day(late["days"][1]["of"])
        days = sorted([*late["days"], first], key=lambda day: int(day["proof"].split("\n")[1][6:]))
        self.check(self.file("r", bundle_maker.write({**late, "days": days})), status=1, says="of a day that is in this file twice")


class Trust(Case):
    def test_the_key(self):
        file = self.receipts()
        self.check(file, key=None, status=2, says=r"(?s)key of the log example.com/tollbook is not known.*--key VKEY")
        self.check(file, key=self.file("vkey", LOG.vkey + "\n"))
        self.check(file, key=OTHER.vkey, status=1, says="signed by another key")
        self.check(file, key=Signer("example.org", LOG.seed).vkey, status=1, says="key is of the log example.org, but the file is of")
        self.check(file, key=WITNESS.vkey, status=2, says="this is the key of a witness")
        self.check(file, key="none", status=2, says="--key: none is no public key, and no file with one")
        for mistyped in LOG.vkey[:-3] + "AA=", LOG.vkey[:-8], LOG.vkey[1:], self.file("vkey", LOG.vkey[:-8]):
            self.check(file, key=mistyped, status=2, says="The key is mistyped: copy the whole line again")
        note = self.log.checkpoint()
        forged = note.replace(note.split(" ")[2].split("\n")[0], bundle_maker.b64(LOG.id + OTHER.sign(b"x")))
        data = file.read_bytes().replace(json.dumps(note, ensure_ascii=False)[1:-1].encode(), json.dumps(forged, ensure_ascii=False)[1:-1].encode())
        self.check(self.file("r", data), status=1, says="signature of example.com/tollbook under the checkpoint is wrong")

    def test_witnesses(self):
        file = self.receipts()
        self.check(file, "--witness", STRANGER.vkey, status=2, says="witness.example/w2 has not signed")
        self.check(file, "--witness", WITNESS.vkey, "--witness", STRANGER.vkey, status=2, says="witness.example/w2 has not signed")
        self.check(file, "--witness", LOG.vkey, status=2, says="key of a log, not of a witness")
        self.check(file, "--witness", WITNESS.vkey, "--witness", WITNESS.vkey, status=2, says="witness")
        both = Log(LOG, self.log.entries, [WITNESS, STRANGER])
        self.check(self.receipts(both), "--witness", self.file("vkey", WITNESS.vkey + "\n"), "--witness", STRANGER.vkey, says="witness.example/w2 \\(2025-12-01T00:00:00Z\\)")
        lying = Signer(WITNESS.name, STRANGER.seed, witness=True)
        lying.id = WITNESS.id
        self.check(self.receipts(Log(LOG, self.log.entries, [lying])), "--witness", WITNESS.vkey, status=1, says="witness's signature .* is wrong")

    def test_since(self):
        altered = r"The old checkpoint in \S+ was changed, or is not this log's: use an unaltered copy\."
        file, old, new = self.receipts(), self.file("old", self.log.checkpoint(5)), self.file("new", self.grown().checkpoint())
        self.check(file, "--since", self.file("same", self.log.checkpoint()), says="consistency +ok")
        self.check(file, "--since", old, status=2, says=r"no proof .* 5 entries of \S+old.*\?since=5")
        self.check(file, "--since", new, status=2, says=f"is older: its checkpoint has {self.size} entries, that of \\S+new has {self.size + 1}.")
        self.check(file, "--since", self.file("fork", self.forked().checkpoint()), status=1, says="There are two logs")
        self.check(file, "--since", self.file("other", Log(OTHER, self.log.entries).checkpoint()), status=2, says=altered)
        self.check(file, "--since", self.file("text", "text"), status=2, says=altered)
        self.check(file, "--since", self.file("old", self.log.checkpoint(5).replace("\n5\n", "\n6\n", 1)), status=2, says=altered)
        self.check(file, "--since", self.folder / "none", status=2, says="none cannot be read")

    def test_tiles(self):
        file, old, new = self.receipts(), self.file("old", self.log.checkpoint(5)), self.file("new", self.grown().checkpoint())
        tiles = self.tiles(self.grown())  # wider ones than are asked for
        self.check(file, "--since", old, "--tiles", tiles, says="only grew between the checkpoints of 5 entries")
        self.check(file, "--since", new, "--tiles", tiles, says="only grew")
        forked = self.forked()
        self.check(file, "--since", self.file("fork", forked.checkpoint(5)), "--tiles", tiles, status=1, says="not shown to begin with the 5")
        self.check(file, "--since", old, "--tiles", self.folder, status=2, says="there is no tile/0/000.p/")
        tile = tiles / "tile" / "0" / "000.p" / str(self.size + 1)
        tile.unlink()
        os.mkfifo(tile)
        self.check(file, "--since", old, "--tiles", tiles, status=2, says="there is no tile/0/000.p/")


class Remembering(Case):
    def setUp(self):
        super().setUp()
        self.trust = self.folder / "trust"

    def use(self, *words, key=None, **more):
        return self.check(*words, "--trust-on-first-use", self.trust, key=key, **more)

    def test_the_key_is_needed_once(self):
        file = self.receipts()
        self.use(file, status=2, says="is not known")
        self.assertFalse(self.trust.exists())
        self.use(file, key=LOG.vkey)
        self.assertEqual(stat.S_IMODE(self.trust.stat().st_mode), 0o600)
        self.assertEqual(json.loads(self.trust.read_text()), {"v": 1, "logs": [{"key": LOG.vkey, "checkpoint": self.log.checkpoint()}]})
        before = self.trust.stat().st_ino
        self.use(file, says="has no entry more")
        self.assertEqual(self.trust.stat().st_ino, before)  # not written again
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["r", "trust"])

    def test_another_key_is_refused(self):
        self.use(self.receipts(), key=LOG.vkey)
        kept = self.trust.read_bytes()
        other = self.receipts(Log(OTHER, self.log.entries))
        self.use(other, status=1, says="signed by another key")
        self.use(other, key=OTHER.vkey, status=1, says="Another key .* was trusted before")
        self.assertEqual(self.trust.read_bytes(), kept)

    def test_growth(self):
        grown = self.grown(3)
        small, large, fork = self.receipts(), self.receipts(grown, name="large"), self.receipts(self.forked(), name="fork")
        self.use(small, key=LOG.vkey)
        kept = self.trust.read_bytes()
        self.use(large, status=2, says=rf"no proof .*\?since={self.size}")
        self.use(fork, status=1, says="There are two logs")
        self.use(self.receipts(self.forked(3), name="longer"), "--tiles", self.tiles(grown), status=1, says="not shown to begin")
        self.assertEqual(self.trust.read_bytes(), kept)
        self.use(large, "--tiles", self.tiles(grown), says="only grew")
        self.assertEqual(json.loads(self.trust.read_text())["logs"][0]["checkpoint"], grown.checkpoint())
        self.use(small, status=2, says="This file is older")
        self.use(small, "--tiles", self.tiles(grown), says="only grew")
        self.assertEqual(json.loads(self.trust.read_text())["logs"][0]["checkpoint"], grown.checkpoint())

    def test_files_of_one_run(self):
        grown = self.grown(3)
        small, large = self.receipts(), self.receipts(grown, name="large")
        self.use(large, small, key=LOG.vkey)
        self.assertEqual(json.loads(self.trust.read_text())["logs"][0]["checkpoint"], grown.checkpoint())
        self.trust.unlink()
        self.use(small, self.receipts(self.forked(), name="fork"), key=LOG.vkey, status=1, says="another file of this run")

    def test_two_at_once(self):
        """None forgets what another one learned."""
        running = []
        for n in range(8):
            signer = Signer(f"log{n}.example", bytes([n]) * 32)
            found = json.loads(self.receipts(Log(signer, self.log.entries), name=f"r{n}").read_text())
            file = self.file(f"r{n}", bundle_maker.write({**found, "log": signer.name}))
            running.append([CHECKER, file, "--key", signer.vkey, "--trust-on-first-use", self.trust])
        running = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for words in running]
        self.assertEqual([one.wait(60) for one in running], [0] * 8)
        self.assertEqual(len(json.loads(self.trust.read_text())["logs"]), 8)

    def test_the_file(self):
        file = self.receipts()
        self.trust.write_text("{}")
        self.use(file, key=LOG.vkey, status=2, says="trust is no file of --trust-on-first-use")
        self.trust.unlink()
        self.trust = self.folder / "none" / "trust"
        self.use(file, key=LOG.vkey, status=2, says="trust cannot be written: No such file")


class Documents(Case):
    """Each step's own reason, where whoever has the key wrote the log to fit."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.real = real = Real(folder.name, Random(3), days=(1, 17))
        cls.key = real.vkey
        cls.log = Log(Signer.from_file(real.key.read_text()), real.entries())
        cls.bundles = [json.loads(real.bundle(number)) for number in real.numbers()]  # of three customers in September, in October

    def verdict(self, bundle, *words, status):
        """The steps that are not right, and what they say."""
        found, = self.json(self.file("b", bundle_maker.write(bundle)), *words, key=self.key, status=status)
        return {step["name"]: step["detail"] for step in found["checks"] if not step["ok"]}

    def says(self, bundle, status, step, says, *words):
        wrong = self.verdict(bundle, *words, status=status)
        self.assertIn(step, wrong)
        self.assertRegex(wrong[step], says)
        return wrong

    def rewritten(self, where, text, at=3):
        return committed(self.bundles[at], self.log, where, text)[0]

    def test_what_is_right(self):
        for bundle in self.bundles:
            found, = self.json(self.file("b", bundle_maker.write(bundle)), key=self.key)
            document = json.loads(bundle["invoice"]["text"])
            self.assertEqual((found["ok"], found["invoice"], found["total"], found["currency"], found["index"]),
                             (True, document["number"], document["total"], "USD", index_of(bundle["invoice"])))
            self.assertEqual([step["name"] for step in found["checks"]], ["signature", "commitments", "inclusion", "usage", "rating"])
            said = self.check(self.folder / "b", key=self.key, says=f"RIGHT. This is invoice {document['number']} of")
            self.assertLessEqual(len(said.splitlines()), 10)

    def test_the_document(self):
        text = self.bundles[3]["invoice"]["text"]
        self.says(self.rewritten("invoice", digit(text)), 1, "commitments", "The document in this file was changed after it was made. Fetch it again; do not pay by it.")
        self.says(self.rewritten("invoice", sealed(text, state="draft")), 1, "commitments", "is not final")
        wrong = self.says(self.rewritten("invoice", sealed(text, total="1.00", payable="1.00")), 1, "rating", r"1\.00")
        self.assertEqual(list(wrong), ["rating"])
        wrong = self.says(self.rewritten("invoice", "{}"), 1, "commitments", "The document in this file was changed")
        self.assertRegex(wrong["rating"], "Not rated again")

    def test_what_is_compared_with_the_pdf(self):
        bundle = self.bundles[3]
        digits = json.loads(bundle["invoice"]["text"])["sha256"][:16]
        said = self.check(self.file("b", bundle_maker.write(bundle)), key=self.key)
        self.assertIn(f"\n  Fingerprint {digits[:4]} {digits[4:8]} {digits[8:12]} {digits[12:]}.\n", said)
        self.assertRegex(said, rf"of {len(self.log.entries)} entries, the document is entry {index_of(bundle['invoice'])}, checkpoint( [0-9a-f]{{4}}){{4}}\.\n")
        self.assertRegex(said, r"3 of the 31 days of October 2026 have usage and are counted, and \d+ entries of days of corrected months\.")
        self.assertRegex(said, r"cells \(a zone, a place, an hour each\), \d{1,3}(,\d{3})+ bytes: ")
        found, = self.json(self.folder / "b", key=self.key)
        self.assertEqual(found["fingerprint"], digits)

    def test_what_is_not_judged(self):
        """Nothing is right of which an earlier step is not."""
        changed = json.loads(json.dumps(self.bundles[0]))
        changed["days"][0]["text"] = bytes_more(changed["days"][0]["text"], 1)
        wrong = self.verdict(changed, status=1)
        self.assertEqual(list(wrong), ["inclusion", "usage", "rating"])
        self.assertRegex(wrong["usage"], "^Not judged")
        note = self.bundles[0]["checkpoint"]
        forged = note.replace(f"\n{len(self.log.entries)}\n", f"\n{len(self.log.entries) + 1}\n", 1)
        old = self.file("old", self.log.checkpoint(6))
        wrong = self.verdict(replaced({**self.bundles[0], "consistency": self.log.growth(6)}, note, forged), "--since", old, status=1)
        self.assertEqual(list(wrong), ["signature", "inclusion", "usage", "rating", "consistency"])
        self.assertRegex(wrong["inclusion"], "^Without the signature")

    def test_a_wrong_answer_ends_with_what_to_do(self):
        for bundle, says in ((self.rewritten("invoice", digit(self.bundles[3]["invoice"]["text"])), "Keep this file, and fetch it again into another folder"),
                             (self.rewritten("days[0]", bytes_more(self.bundles[0]["days"][0]["text"], 1), 0), "do not pay by it yet")):
            said = self.check(self.file("b", bundle_maker.write(bundle)), key=self.key, status=1)
            self.assertRegex(said.splitlines()[-1], f"^  Next: .*{says}")
            self.assertNotIn("Not shown", said)
        self.assertRegex(self.check(self.folder / "b", key=OTHER.vkey, status=1).splitlines()[-1], "^  Next: Compare the key")

    def test_the_terms(self):
        terms = json.loads(self.bundles[3]["terms"]["text"])
        for change, says in (({"number": "2026-999999"}, "terms are of document 2026-999999, not of"), ({"watermark": terms["watermark"] + 1}, "of watermark"),
                             ({"account": 2}, "of another kind, account or month"), ({"kind": "credit_note"}, "of another kind|cannot be read"),
                             ({"month": "2026-11"}, "of another kind|cannot be read"), ({"v": 2}, "cannot be read")):
            self.says(self.rewritten("terms", canonical({**terms, **change})), 2 if says == "cannot be read" else 1, "usage", says)

    def test_price_books(self):
        first, second = self.bundles[0], self.bundles[3]
        none = {**first, "books": []}
        wrong = self.says(none, 2, "commitments", "Price book standard-2026, which the document names, is not in this file")
        self.assertRegex(wrong["rating"], "Not rated again")
        surplus = next(book for book in second["books"] if book["text"] != first["books"][0]["text"])
        self.says({**first, "books": [*first["books"], surplus]}, 1, "usage", "neither the document nor its terms name it")
        self.says(self.rewritten("books[0]", digit(first["books"][0]["text"]), 0), 1, "commitments", "names price book standard-2026 with SHA-256")

    def test_earlier_documents(self):
        bundle = self.bundles[3]
        self.says({**bundle, "earlier": [*bundle["earlier"], self.bundles[1]["invoice"]]}, 1, "commitments", "is of another account than")
        self.says({**self.bundles[0], "earlier": [bundle["invoice"]]}, 1, "usage", "is in this file, but 2026-000001 does not refer to it")
        self.says({**bundle, "earlier": []}, 2, "rating", "earlier")

    def test_days(self):
        bundle = self.bundles[0]
        self.says({**bundle, "days": bundle["days"][1:]}, 2, "usage", "is counted by the terms, but is not in this file")
        self.says({**bundle, "days": bundle["days"] + self.bundles[3]["days"][-1:]}, 1, "usage", "is in this file, but the terms do not count it")
        self.says(self.rewritten("days[0]", bytes_more(bundle["days"][0]["text"], 1), 0), 1, "rating", "1 ")
        again = json.loads(json.dumps(bundle))
        again["days"][0]["of"] = index_of(again["days"][0]) + 1
        log = Log(self.log.signer, self.log.entries)
        entry = json.loads(log.entries[index_of(again["days"][0])])
        log.entries[index_of(again["days"][0])] = canonical({**entry, "of": again["days"][0]["of"]}).encode()
        self.says(proved(again, log), 1, "commitments", "a later one, [0-9]+, is the first of its day")

    def test_proofs(self):
        bundle = json.loads(json.dumps(self.bundles[0]))
        bundle["terms"]["proof"] = bundle["terms"]["proof"].replace("\n", "\nextra AAAA\n", 1)
        self.says(bundle, 2, "inclusion", 'a line "extra"')
        bundle["terms"]["proof"] = "text"
        self.says(bundle, 2, "inclusion", "proof of the terms cannot be read")
        old = self.file("old", self.log.checkpoint(6))
        self.says({**self.bundles[0], "consistency": self.log.growth(5)}, 2, "consistency", "no proof that the log only grew since the 6", "--since", old)
        self.verdict({**self.bundles[0], "consistency": self.log.growth(6)}, "--since", old, status=0)

    def test_void(self):
        number, moment = self.bundles[5]["invoice"]["text"].split('"number":"')[1][:11], "2026-11-03T10:00:00Z"
        for text, status, says in ((canonical({"number": number, "voided": moment}), 1, f"Document {number} was made void at {moment}"),
                                   (canonical({"number": "2026-000001", "voided": moment}), 2, "a void, but not of this document"),
                                   (canonical({"number": number, "voided": "2026-11-03T10:00:60Z"}), 2, "a void, but not of this document"),
                                   (canonical({"number": number, "voided": moment}) + " ", 2, "a void, but not of this document")):
            log, salt = Log(self.log.signer, self.log.entries), bytes(32)
            index = log.add({"commit": bundle_maker.b64(bundle_maker.sha(salt, text.encode())), "type": "void", "v": 1})
            part = {"text": text, "salt": bundle_maker.b64(salt), "proof": log.proof(index)}
            found = proved(self.bundles[5], log)
            growth = found.pop("consistency")
            self.says({**found, "void": part, "consistency": growth}, status, "void", says)
        part = {**part, "text": canonical({"number": number, "voided": moment})}
        wrong = self.says({**found, "void": part, "consistency": growth}, 1, "void", "but the log does not")
        self.assertRegex(wrong["inclusion"], "is not the void in this file")


class CommandLine(Case):
    def test_options(self):
        for words, says in (((), "No file is given"), (("f", "--kye", "k"), 'no option "--kye". Did you mean "--key"'), (("f", "--since"), "needs a value"),
                            (("f", "--since="), "needs a value"), (("f", "--tiles", "a", "--tiles", "b"), "given twice"), (("f", "--json=1"), "takes no value"),
                            (("-x",), 'no option "-x"'), (("--", "--none"), "--none cannot be read")):
            self.check(*words, key=None, status=2, says=says)
        self.check("--version", key=None, says=r"^tollbook-check 1\.")

    def test_help_and_man_page_name_every_option(self):
        said = self.check("--help", key=None)
        options = set(re.findall(r"^  (--[a-z-]+)", said, re.M))
        self.assertEqual(options, {"--key", "--witness", "--since", "--tiles", "--trust-on-first-use", "--json", "--help", "--version"})
        page = (SOURCE / "server/packaging/tollbook-check.1.in").read_text().replace("\\-", "-")
        self.assertEqual(options, set(re.findall(r"--[a-z][a-z-]+", page)))

    def test_it_stands_alone(self):
        needed = set(re.findall(r"NEEDED.*\[(\w+)", subprocess.run(["readelf", "-d", CHECKER], capture_output=True, text=True, check=True).stdout))
        self.assertLessEqual(needed, {"libsodium", "libz", "libxxhash", "libjansson", "libc", "libm", "libasan", "libubsan", "libtsan"})
        stripped = self.folder / "stripped"
        subprocess.run(["strip", "-o", stripped, CHECKER], check=True)
        self.assertLess(stripped.stat().st_size, 2 << 20)


if __name__ == "__main__":
    unittest.main()
