#!/usr/bin/env python3
"""Terms as an operator could write them who has the key: each is in the log, opens well, and states what a bill may not be made from.
Neither a sentence that is right nor a crash may come of them. check.py sees those that need no rating. The documents are those of the
real program."""
import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest
from decimal import Decimal
from pathlib import Path
from random import Random

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")
sys.path[:0] = [str(SOURCE / "docs/examples"), str(SOURCE / "tests")]
import script  # noqa: E402, F401: skips are told
import bundle_maker  # noqa: E402
import check  # noqa: E402
from bundle_maker import Log, Signer, canonical  # noqa: E402
from mutations import committed, index_of, parts, proved, sealed  # noqa: E402
from real import BOOK, Real  # noqa: E402

CHECKER = BUILD / "tollbook-check"
FIRST, SECOND, THIRD, CORRECTING, OTHER = range(5)  # bundles: September of three customers, October of two


def own(terms):
    return terms["months"][0]


def late(terms):
    return terms["lates"][0]


def exchange_sides(terms):
    late(terms)["before"], late(terms)["after"] = [late(terms)["after"]], late(terms)["before"][0]


def correct_itself(terms):
    terms["lates"] = [{"after": copy.deepcopy(own(terms)), "before": [], "billed": [], "invoice": None, "month": terms["month"], "since": 1}]


def pay_in_euro(terms):
    for month in (*late(terms)["before"], late(terms)["after"]):
        month["currency"] = "EUR"


def bill_again(terms):
    """From nothing, though the month's bill is named."""
    late(terms)["invoice"] = None
    late(terms)["before"][0].update(days=[], fees=[], active_zone=False)


def cap_at(moment):
    def change(terms):
        own(terms)["cap"].update(at=moment, reached=True)
        own(terms)["contract"].update(cap="3", cap_action="disable")
    return change


def leave_unpriced(terms):
    place = next(place for place in own(terms)["places"] if place["code"] == "DE")
    for entry in own(terms)["bytes"]:
        if entry["region"] == place["region"]:
            entry.update(region=None, location="DE")
    place["region"] = None


def commit_every(months):
    return lambda terms: own(terms)["contract"]["commits"][0].update(months=months)


def in_another_part(terms):
    for entry in own(terms)["bytes"]:
        entry["part"] = 1
    own(terms)["bytes"].sort(key=lambda entry: entry["zone"])


GAPS = [{"from": "2026-09-12T00:00:00Z", "to": "2026-09-13T00:00:00Z"}, {"from": "2026-09-02T00:00:00Z", "to": "2026-09-03T00:00:00Z"}]
TERMS = [
    (CORRECTING, "bytes at the prices of another part", in_another_part, "not of the hours of its part"),
    (FIRST, "its own month as a correction", correct_itself, "months that are corrected ascend, and are over"),
    (CORRECTING, "a month that is corrected twice", lambda t: t["lates"].append(late(t)), "months that are corrected ascend"),
    (CORRECTING, "more months than there are", lambda t: t.update(lates=[late(t)] * 1201), "more months are corrected than anybody billed"),
    (CORRECTING, "a month that was billed, as if it was not", lambda t: late(t).update(before=[]), "rated before just where a document billed"),
    (CORRECTING, "a month that was not billed, as if it was", lambda t: late(t).update(billed=[]), "rated before just where a document billed"),
    (CORRECTING, "newer usage as what was billed", exchange_sides, "counts an older entry of a day"),
    (OTHER, "less usage as what was billed", lambda t: late(t)["before"][0].update(days=late(t)["before"][0]["days"][1:]), "Earlier documents billed"),
    (CORRECTING, "less usage as what was billed, below a commit", lambda t: late(t)["before"][0].update(days=late(t)["before"][0]["days"][1:]),
     "The usage of 2026-09 at which the corrections begin is not what earlier documents billed: it has [0-9,]+ fewer byte of zone:101, "),
    (OTHER, "the same by old rules", lambda t: (t.update(rules="whole"), late(t)["before"][0].update(days=late(t)["before"][0]["days"][1:])),
     "Earlier documents billed"),
    (OTHER, "a bill that is named, but not gone on from", bill_again, "do not go on from what was billed"),
    (OTHER, "another bill as the one that is corrected", lambda t: late(t).update(invoice="2026-999999"), "do not go on from|is missing"),
    (OTHER, "another moment of that bill", lambda t: late(t).update(since=late(t)["since"] - 1), "do not go on from what was billed"),
    (OTHER, "a correction in another currency", pay_in_euro, "different currencies"),
    (FIRST, "usage without a price", leave_unpriced, "left out, as it has no price"),
    (THIRD, "a document of no month", lambda t: t.update(month=None), "\"month\" is another value"),
    (THIRD, "usage of no month", lambda t: own(t).update(month=None), "\"month\" is another value"),
    (FIRST, "a commit of 0 months", commit_every(0), "not a month, a quarter or a year"),
    (FIRST, "a commit of 24 months", commit_every(24), "not a month, a quarter or a year"),
    (FIRST, "a meter with a billion dimensions", lambda t: own(t)["meters"][0].update(dimensions=10**9), "a value that none can have"),
    (SECOND, "a meter that rounds to less", lambda t: own(t)["meters"][0].update(round_up=-1), "a value that none can have"),
    (SECOND, "gaps that do not ascend", lambda t: own(t).update(gaps=GAPS), "times without an account do not ascend"),
    (THIRD, "a cap that was reached before the month", cap_at("2026-08-02T00:00:00Z"), "amount up to the cap's alert|Line|cap"),
    (THIRD, "a cap that was reached at no time", cap_at(None), "amount up to the cap's alert|Line|cap"),
]
# By these a document is rated, so check.py does not read them.
OF_RATING = {"bytes at the prices of another part", "another moment of that bill", "a correction in another currency", "a commit of 0 months",
             "a commit of 24 months", "a meter with a billion dimensions", "a meter that rounds to less", "gaps that do not ascend",
             "a cap that was reached before the month", "a cap that was reached at no time"}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.real = real = Real(folder.name, Random(3), days=(1, 2))
        cls.key = check.read_key(real.vkey, check.LOG)
        cls.log = Log(Signer.from_file(real.key.read_text()), real.entries())
        cls.bundles = [json.loads(real.bundle(number)) for number in real.numbers()[:5]]

    def check(self, bundle):
        """The exit status, and what is said of it to people."""
        path = self.folder / "b"
        path.write_bytes(bundle_maker.write(bundle))
        done = subprocess.run([CHECKER, path, "--key", self.real.vkey], capture_output=True, timeout=60, check=False)
        return done.returncode, done.stdout.decode()

    def refused(self, bundle, says):
        status, said = self.check(bundle)
        self.assertIn(status, (1, 2), said)
        self.assertRegex(said, says)

    def with_terms(self, at, change):
        bundle = self.bundles[at]
        terms = json.loads(bundle["terms"]["text"])
        change(terms)
        months = [*terms["months"], *(month for one in terms["lates"] for month in (*one["before"], one["after"]))]
        counted = {index for month in months for _, index in month["days"]}
        found, log = committed(bundle, self.log, "terms", canonical(terms))
        found["days"] = [day for day in found["days"] if index_of(day) in counted]
        return found, log

    def test_what_terms_may_not_say(self):
        for at, what, change, says in TERMS:
            with self.subTest(what):
                bundle = self.with_terms(at, change)[0]
                self.refused(bundle, says)
                status, said = check.check(bundle_maker.write(bundle), self.key)
                self.assertIn(status, (0,) if what in OF_RATING else (1, 2), said)

    def test_a_book_that_is_not_in_force_yet(self):
        text = canonical({**BOOK, "book": "future", "effective_from": "2027-01-01T00:00:00Z"})
        name = {"id": "future", "sha256": bundle_maker.hashlib.sha256(text.encode()).hexdigest()}
        bundle, log = self.with_terms(SECOND, lambda terms: own(terms)["parts"][0].update(book=name))
        document = sealed(bundle["invoice"]["text"], book=name)
        bundle, log = committed(bundle, log, "invoice", document)
        entries = Log(log.signer, log.entries)
        index = entries.add({"book": "future", "sha256": name["sha256"], "type": "book", "v": 1})
        bundle["books"] = [{"text": text, "proof": f"\nindex {index}\n"}]
        self.refused(proved(bundle, entries), "from another moment than it says")

    def test_a_day_that_is_no_version_of_the_other(self):
        """Of one day a correction counts another customer's entry."""
        terms = json.loads(self.bundles[OTHER]["terms"]["text"])
        before, after = ({day: index for day, index in side["days"]} for side in (late(terms)["before"][0], late(terms)["after"]))
        changed = next(index for day, index in after.items() if before.get(day) != index)
        bundle = copy.deepcopy(self.bundles[OTHER])
        log = Log(self.log.signer, self.log.entries)
        part = next(part for _, part in parts(bundle) if index_of(part) == changed)
        part["of"] = None
        entry = json.loads(log.entries[changed])
        entry.pop("of")
        log.entries[changed] = canonical(entry).encode()
        self.refused(proved(bundle, log), "are both of 2026-09-02, but are not versions of the same usage")
        status, said = check.check(bundle_maker.write(proved(bundle, log)), self.key)
        self.assertEqual(status, 1, said)
        self.assertRegex(said[-1][2], "2026-09-02 are not versions of the same usage")

    def test_a_counter_twice(self):
        text = self.bundles[SECOND]["days"][0]["text"].replace("\tbytes=", "\tbytes=1\tbytes=", 1)
        self.refused(committed(self.bundles[SECOND], self.log, "days[0]", text)[0], "counters are expected")

    def test_what_is_paid(self):
        """It is as the document states; but nobody owes more than the total, or gets money by an invoice."""
        text = self.bundles[FIRST]["invoice"]["text"]
        total = Decimal(json.loads(text)["total"])
        for paid, status in ((Decimal("-0.01"), 1), (total + Decimal("0.01"), 1), (total, 0), (Decimal("1.00"), 0)):
            changed = sealed(text, paid=str(paid), payable=str(total - paid))
            found, said = self.check(committed(self.bundles[FIRST], self.log, "invoice", changed)[0])
            self.assertEqual(found, status, said)
            if status:
                self.assertIn(f"The document says that {paid} USD of its {total} USD is paid.", said)

    def test_a_document_of_other_types(self):
        bundle = self.bundles[FIRST]
        for name in json.loads(bundle["invoice"]["text"]).keys() - {"sha256", "previous"}:
            for value in ([1, 2], {"a": 1, "b": 2}):
                with self.subTest(name, value=value):
                    self.refused(committed(bundle, self.log, "invoice", sealed(bundle["invoice"]["text"], **{name: value}))[0], "cannot be read|is of document")

    def test_nothing_of_a_document_reaches_the_terminal(self):
        """Its number is a text that somebody chose."""
        number = "\x1b[2J\u009b31m\u202e1"
        bundle, log = self.with_terms(SECOND, lambda terms: terms.update(number=number))
        bundle, _ = committed(bundle, log, "invoice", sealed(bundle["invoice"]["text"], number=number))
        status, said = self.check(bundle)
        self.assertEqual(status, 0, said)
        self.assertIn(r"invoice \x1b[2J\xc2\x9b31m\xe2\x80\xae1 of 2026-09", said)
        self.assertNotRegex(said, "[\x00-\x09\x0b-\x1f\x7f-\x9f]")


if __name__ == "__main__":
    unittest.main()
