#!/usr/bin/env python3
"""What checks bills notices every falsification: docs/examples/check.py, and tollbook-check. One byte changed, days dropped, doubled,
exchanged, books and terms of others, proofs of other entries, old checkpoints, forked logs. TB_LONG=1: more than 5,000 of them."""
import functools
import gzip
import os
import sys
import unittest
from pathlib import Path
from random import Random

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
sys.path[:0] = [str(SOURCE / "docs/examples"), str(SOURCE / "tests")]
import check  # noqa: E402
from script import LONG, random_seed  # noqa: E402
import bundle_maker  # noqa: E402
from mutations import Mutations  # noqa: E402

check.is_signed = functools.lru_cache(1000)(check.is_signed)  # most falsifications are below the same signatures
RANDOM = Random(random_seed())
BYTES = 5200 if LONG else 24
WITNESS = bundle_maker.Signer("witness.example/w1", b"seed of a witness, of 32 bytes..", witness=True)
LOG = bundle_maker.Signer("example.com/tollbook", b"seed of a log's key, of 32 bytes")


class Made(unittest.TestCase):
    """Bundles of the generator, with check.py."""

    @classmethod
    def setUpClass(cls):
        cls.world = bundle_maker.World(LOG, RANDOM, [WITNESS])
        cls.key, cls.witness = check.Key(LOG.vkey), check.Key(WITNESS.vkey)

    def check(self, bundle, since=None, witnesses=()):
        data = bundle if isinstance(bundle, bytes) else bundle_maker.write(bundle)
        status, said, _ = check.check(data, self.key, witnesses, since)
        return status, said

    def mutations(self, name):
        """Of a document, with one of another customer in its month, and one of its customer in another month."""
        others = {"2026-000007": ("2026-000008", "2026-000001"), "2026-000005": ("2026-000004", "2026-000008")}[name]
        return Mutations(self.world.log, *(self.world.bundle(one) for one in (name, *others)), RANDOM)

    def notices(self, case):
        status, said = self.check(case.data, case.since)
        self.assertIn(status, case.statuses, (case.what, said))
        self.assertRegex(said[-1][2], case.says, case.what)
        self.assertEqual(said[-1][1], "NO")

    def test_what_is_right(self):
        old = self.world.log.checkpoint(20)
        for name in self.world.documents:
            status, said = self.check(self.world.bundle(name, since=20), old, [self.witness])
            self.assertEqual((status, {step for step, mark, _ in said if mark == "ok"}),
                             (0, {"signature", "witness", "growth", "inclusion", "document", "usage", "quantities"}), said)
        packed = gzip.compress(bundle_maker.write(self.world.bundle("2026-000007")))
        self.assertEqual(self.check(packed)[0], 0)
        self.assertEqual(self.check(self.world.receipts(1, "2026-10"))[0], 0)

    def test_every_mutation(self):
        for name in ("2026-000007", "2026-000005"):
            mutations = self.mutations(name)
            for case in mutations.cases():
                with self.subTest(case.what):
                    self.notices(case)
            for _ in range(BYTES // 2):
                self.notices(mutations.byte())
            for _ in range(BYTES // 8):
                self.notices(mutations.truncated())


if __name__ == "__main__":
    unittest.main()
