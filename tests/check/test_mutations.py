#!/usr/bin/env python3
"""What checks bills notices every falsification: docs/examples/check.py, and tollbook-check. One byte changed, days dropped, doubled,
exchanged, books and terms of others, proofs of other entries, old checkpoints, forked logs. TB_LONG=1: more than 5,000 of them."""
import contextlib
import functools
import gzip
import io
import json
import subprocess
import sys
import tempfile
import unittest
from collections import defaultdict
from random import Random

from real import CHECKER, NAME, SOURCE, Real

sys.path[:0] = [str(SOURCE / "docs/examples"), str(SOURCE / "tests")]
import check  # noqa: E402
from script import LONG, random_seed  # noqa: E402
import bundle_maker  # noqa: E402
from mutations import Mutations, index_of, parts  # noqa: E402

check.is_signed = functools.lru_cache(1000)(check.is_signed)  # most falsifications are below the same signatures
RANDOM = Random(random_seed())
BYTES = 4200 if LONG else 12  # changed in each document
CUT = BYTES // 4
WITNESS = bundle_maker.Signer("witness.example/w1", b"seed of a witness, of 32 bytes..", witness=True)
LOG = bundle_maker.Signer(NAME, b"seed of a log's key, of 32 bytes")


def falsified(mutations):
    yield from mutations.cases()
    for _ in range(BYTES):
        yield mutations.byte()
    for _ in range(CUT):
        yield mutations.truncated()


class Notices(unittest.TestCase):
    def check(self, bundle, since=None, witnesses=()):
        data = bundle if isinstance(bundle, bytes) else bundle_maker.write(bundle)
        status, said = check.check(data, self.key, witnesses, since)
        return status, said

    def notices(self, case):
        status, said = self.check(case.data, case.since)
        self.assertIn(status, case.statuses, (case.what, said))
        self.assertRegex(said[-1][2], case.says, case.what)
        self.assertEqual(said[-1][1], "NO")
        self.assertNotIn("as tollbook writes it", said[-1][2], case.what)  # a sentence of its own


class Made(Notices):
    """Bundles of the generator, with check.py."""

    @classmethod
    def setUpClass(cls):
        cls.world = bundle_maker.World(LOG, RANDOM, [WITNESS])
        cls.key, cls.witness = check.read_key(LOG.vkey, check.LOG), check.read_key(WITNESS.vkey, check.WITNESS)

    def test_what_is_right(self):
        old = self.world.log.checkpoint(20)
        for name in self.world.documents:
            status, said = self.check(self.world.bundle(name, since=20), old, [self.witness])
            self.assertEqual((status, {step for step, mark, _ in said if mark == "ok"}),
                             (0, {"signature", "witness", "growth", "inclusion", "document", "usage", "quantities"}), said)
        packed = gzip.compress(bundle_maker.write(self.world.bundle("2026-000007")))
        self.assertEqual(self.check(packed)[0], 0)
        self.assertEqual(self.check(self.world.receipts(1, "2026-10"))[0], 0)

    def test_every_falsification(self):
        """Of a document, with one of another customer in its month, and one of its customer in another month."""
        for names in (("2026-000007", "2026-000008", "2026-000001"), ("2026-000005", "2026-000004", "2026-000008")):
            mutations = Mutations(self.world.log, *map(self.world.bundle, names), RANDOM)
            for case in falsified(mutations):
                with self.subTest(case.what):
                    self.notices(case)

    def test_witnesses(self):
        """Each that is asked for has to have signed, and rightly."""
        other = bundle_maker.Signer("witness.example/w2", bytes(32), witness=True)
        bundle = self.world.bundle("2026-000005")
        status, said = self.check(bundle, witnesses=[check.read_key(other.vkey, check.WITNESS)])
        self.assertEqual((status, said[-1]), (2, ("witness", "NO", "witness.example/w2 did not cosign the checkpoint.")))
        other = bundle_maker.Signer(WITNESS.name, bytes(32), witness=True)
        self.assertEqual(self.check(bundle, witnesses=[self.witness, check.read_key(other.vkey, check.WITNESS)])[0], 2, "two keys of one name")
        wrong = bundle_maker.write(bundle).decode().replace(WITNESS.line(self.text(), 1764547200)[:-1], WITNESS.line(self.text() + "x", 1764547200)[:-1])
        status, said = self.check(wrong.encode(), witnesses=[self.witness])
        self.assertEqual((status, said[-1][0]), (1, "witness"))
        self.assertEqual(self.check(wrong.encode())[0], 0, "signatures of keys that nobody asks for are not looked at")

    def text(self):
        return self.world.log.checkpoint().partition("\n\n")[0] + "\n"

    def test_receipts(self):
        right = self.world.receipts(1, "2026-10")
        for what, change in (("a day twice", lambda r: r["days"].append(r["days"][-1])), ("a day of another month", lambda r: r["days"].insert(
                0, self.world.receipts(1, "2026-09")["days"][0])), ("another month", lambda r: r.update(month="2026-11")),
                ("no month", lambda r: r.update(month="2026-1")), ("a month that is not in the calendar", lambda r: r.update(month="2026-13", days=[])), ("another salt", lambda r: r["days"][0].update(salt=r["days"][1]["salt"])),
                ("two versions of a day", lambda r: r.update(month="2026-09", days=sorted(
                    (self.world.day(index) for index in (*self.world.late, 0) if index in self.world.opened), key=index_of)))):
            wrong = json.loads(json.dumps(right))
            change(wrong)
            status, said = self.check(wrong)
            self.assertIn(status, (1, 2), (what, said))
        data = bundle_maker.write(right)
        for _ in range(BYTES):
            at = RANDOM.randrange(len(data))
            self.assertIn(self.check(data[:at] + bytes([data[at] ^ 1 << RANDOM.randrange(7)]) + data[at + 1:])[0], (1, 2), at)


class OfTheProgram(Notices):
    """Bundles of the real program, with check.py and tollbook-check."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="tollbook-check-")
        cls.addClassCleanup(folder.cleanup)
        cls.real = real = Real(folder.name, RANDOM)
        signer = bundle_maker.Signer.from_file(real.key.read_text())
        cls.key = check.read_key(real.vkey, check.LOG)
        cls.numbers = real.numbers()
        cls.bundles = {number: real.bundle(number) for number in cls.numbers}
        cls.log = bundle_maker.Log(signer, real.entries())

    def program(self, cases):
        """The exit status of each file, by tollbook-check: one process for each older checkpoint."""
        folder, by_since, statuses = self.real.folder, defaultdict(list), [None] * len(cases)
        for at, (data, since) in enumerate(cases):
            (folder / f"{at}.case").write_bytes(data)
            by_since[since].append(at)
        for since, places in by_since.items():
            words = ["--json", "--key", self.real.vkey]
            if since:
                (folder / "since").write_text(since)
                words += ["--since", folder / "since"]
            done = subprocess.run([CHECKER, *words, *(folder / f"{at}.case" for at in places)], capture_output=True, check=False, text=True,
                                  timeout=600)
            answers = [json.loads(line) for line in done.stdout.splitlines()]
            self.assertEqual(len(answers), len(places), done.stderr)
            self.assertEqual(done.returncode, 1 if any(one["status"] == 1 for one in answers) else max(one["status"] for one in answers))
            for at, answer in zip(places, answers):
                statuses[at] = answer["status"], [step for step in answer["checks"] if not step["ok"]]
        return statuses

    def test_what_is_right(self):
        checkpoint = self.real.tool("proof checkpoint")
        self.assertEqual(self.log.checkpoint().strip(), checkpoint.strip())
        old = self.log.checkpoint(9)
        for number, data in self.bundles.items():
            status, said = self.check(data)
            self.assertEqual(status, 0, (number, said))
            self.assertEqual(self.log.proof(index_of(json.loads(data)["invoice"])), json.loads(data)["invoice"]["proof"])
            self.assertEqual(bundle_maker.write(json.loads(data)), data)
        grown = self.real.bundle(self.numbers[0], "--since", 9)
        self.assertEqual(self.check(grown, old)[0], 0)
        packed = gzip.compress(grown)
        self.assertEqual([status for status, _ in self.program([(data, None) for data in self.bundles.values()] + [(grown, old), (packed, old)])],
                         [0] * (len(self.bundles) + 2))

    def test_every_falsification(self):
        """Of the first customer's document of October, which corrects September; without bundles of all others."""
        bundles = {number: json.loads(data) for number, data in self.bundles.items()}
        mutations = Mutations(self.log, *(bundles[self.numbers[at]] for at in (3, 4, 1)), RANDOM)
        cases = list(falsified(mutations))
        for case in cases:
            with self.subTest(case.what):
                self.notices(case)
        for case, (status, wrong) in zip(cases, self.program([(case.data, case.since) for case in cases])):
            with self.subTest(case.what, program="tollbook-check"):
                self.assertIn(status, (1, 2), case.what)
                self.assertEqual(status, self.check(case.data, case.since)[0], (case.what, wrong))
                self.assertTrue(wrong and wrong[0]["detail"], case.what)

    def test_when_it_is_void(self):
        number = self.numbers[-1]
        self.real.tool("invoice", "--void", number, "--proof-key-file", self.real.key)
        data = self.real.bundle(number)
        status, said = self.check(data)
        self.assertEqual(status, 1)
        self.assertRegex(said[-1][2], "was made void, 2026-11-04T09:00:00Z")
        with contextlib.redirect_stdout(io.StringIO()) as out:
            check.show("void", status, said)
        self.assertIn("Next: pay nothing by it.", out.getvalue())
        (status, wrong), = self.program([(data, None)])
        self.assertEqual((status, [step["name"] for step in wrong]), (1, ["void"]))
        without = json.loads(data)
        del without["void"]
        self.assertEqual(self.check(without)[0], 0, "nothing but the log says that it is void")


if __name__ == "__main__":
    unittest.main()
