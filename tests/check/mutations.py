"""Ways to falsify a bundle, for every checker: each has to be noticed. A case is

    Case(what, data, since, statuses, says)     says: a regular expression of the sentence of docs/examples/check.py

`genuine` is what mutations need: a log (bundle_maker.Log, with the key that signs it), and bundles of several customers and months.
"""
import base64
import copy
import hashlib
import json
import re
from dataclasses import dataclass

from bundle_maker import Log, Signer, b64, canonical, sha, write

OWN = ("invoice", "terms", "void")
LISTS = ("books", "days", "earlier")


@dataclass
class Case:
    what: str
    data: bytes
    since: str
    statuses: tuple
    says: str


def parts(bundle):
    """(its place, the part) of all parts that have a proof."""
    for name in OWN:
        if name in bundle:
            yield name, bundle[name]
    for name in LISTS:
        for at, part in enumerate(bundle.get(name, [])):
            yield f"{name}[{at}]", part


def index_of(part):
    return int(part["proof"].split("\n", 2)[1].removeprefix("index "))


def proved(bundle, log, size=None):
    """A copy of the bundle whose proofs are of this log and size."""
    bundle = copy.deepcopy(bundle)
    bundle["checkpoint"] = log.checkpoint(size)
    for _, part in parts(bundle):
        part["proof"] = log.proof(index_of(part), size)
    return bundle


def committed(bundle, log, where, text):
    """The bundle with another text in one of its parts, and a log that was written anew so that it has it: what somebody can make
    who has the key."""
    bundle = copy.deepcopy(bundle)
    part = dict(parts(bundle))[where]
    part["text"] = text
    entries = list(log.entries)
    entry = json.loads(entries[index_of(part)])
    if "salt" in part:
        entry["commit"] = b64(sha(base64.b64decode(part["salt"]), text.encode()))
    else:
        entry["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    entries[index_of(part)] = canonical(entry).encode()
    other = Log(log.signer, entries, log.witnesses)
    return proved(bundle, other), other


def sealed(text, **changed):
    """A document's text with other members, and the sha256 of these."""
    document = {**json.loads(text), **changed}
    document.pop("sha256")
    document["sha256"] = hashlib.sha256(canonical(document).encode()).hexdigest()
    return canonical(document)


class Mutations:
    """Of one bundle among the others of its log."""

    def __init__(self, log, bundle, other_customer, other_month, random):
        self.log, self.bundle, self.random = log, bundle, random
        self.other_customer, self.other_month = other_customer, other_month
        self.size, self.data = len(log.entries), write(bundle)

    # --- single bytes

    def byte(self):
        """A byte replaced, left out, doubled, added, or exchanged with its neighbour."""
        data, random = self.data, self.random
        at = random.randrange(len(data))
        how = random.choice(("replaced", "replaced", "replaced", "left out", "doubled", "added", "exchanged"))
        new = {"replaced": bytes([random.choice([c for c in (*b'09afAZ+/="\\ \n,:{}', data[at] ^ 1, data[at] ^ 32, random.randrange(256))
                                                 if c != data[at]])]),
               "left out": b"", "doubled": data[at:at + 1] * 2, "added": data[at:at + 1] + bytes([random.randrange(256)]),
               "exchanged": data[at + 1:at + 2] + data[at:at + 1]}[how]
        changed = data[:at] + new + data[at + 1 + (how == "exchanged"):]
        if changed == data:
            return self.byte()
        return Case(f"byte {at} {how}", changed, None, (1, 2), ".")

    def truncated(self):
        at = self.random.randrange(len(self.data))
        return Case(f"cut after {at} bytes", self.data[:at], None, (2,), "incomplete or was changed|is empty|is it the PDF")

    # --- the form

    def forms(self):
        """Other ways to write the same."""
        text = self.data.decode()
        name = json.dumps(self.bundle["log"])
        for what, changed in (("a blank", text.replace('{"v":1,', '{"v":1, ', 1)), ("a newline at the end", text + "\n"),
                              ("two texts", text + text), ("a mark in front", "\ufeff" + text),
                              ("another order", json.dumps(dict(reversed(self.bundle.items())), ensure_ascii=False, separators=(",", ":"))),
                              ("a member more", text.replace('{"v":1,', '{"v":1,"w":1,', 1)),
                              ("a member twice", text.replace('{"v":1,', '{"v":1,"v":1,', 1)),
                              ("a number as 1e0", text.replace('{"v":1,', '{"v":1e0,', 1)),
                              ("a number with a zero in front", text.replace('{"v":1,', '{"v":01,', 1)),
                              ("another version", text.replace('{"v":1,', '{"v":2,', 1)),
                              ("an escape that is not needed", text.replace(name, name.replace("e", "\\u0065", 1), 1)),
                              ("escapes of letters beyond ASCII", json.dumps(self.bundle, separators=(",", ":"))),
                              ("unused bits of base64", self.unused_bits(text)), ("nothing", "")):
            yield Case(f"form: {what}", changed.encode(), None, (1, 2), "incomplete or was changed|base64|of the log is not|no bundle of a bill|The file is empty")

    def unused_bits(self, text):
        salt = self.bundle["terms"]["salt"]
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        return text.replace(salt, salt[:-2] + letters[letters.index(salt[-2]) ^ 1] + "=")

    # --- parts left out, doubled, exchanged

    def case(self, what, bundle, statuses, says, since=None):
        return Case(what, write(bundle), since, statuses, says)

    def changed(self, change):
        bundle = copy.deepcopy(self.bundle)
        change(bundle)
        return bundle

    def days(self):
        random, n = self.random, len(self.bundle["days"])
        at = random.randrange(n)
        to = random.choice([i for i in range(n) if i != at])
        other = random.choice(self.other_customer["days"])
        past = random.choice([day for day in self.other_month["days"] if index_of(day) not in map(index_of, self.bundle["days"])])
        yield "a day dropped", lambda b: b["days"].pop(at), (1, 2), "is missing"
        yield "a day doubled", lambda b: b["days"].insert(at, b["days"][at]), (1, 2), "in the file twice|not in its place"
        yield "two days exchanged", lambda b: swap(b["days"], at, to), (1, 2), "not in its place"
        yield "all days dropped", lambda b: b["days"].clear(), (1, 2), "is missing"
        yield "a day of another customer instead", lambda b: put_day(b, at, other), (1, 2), "is missing|was not made from|versions of the same usage"
        yield "a day of another customer added", lambda b: put_day(b, None, other), (1, 2), "was not made from|versions of the same usage"
        yield "a day of another month instead", lambda b: put_day(b, at, past), (1, 2), "is missing|was not made from|versions of the same usage"
        yield "a day of another month added", lambda b: put_day(b, None, past), (1, 2), "was not made from|versions of the same usage"
        yield "usage of another customer in a day", lambda b: b["days"][at].update(text=other["text"]), (1,), "of the log is not"
        yield "usage of another day", lambda b: b["days"][at].update(text=b["days"][to]["text"]), (1,), "of the log is not"
        yield "the salt of another day", lambda b: b["days"][at].update(salt=b["days"][to]["salt"]), (1,), "of the log is not"
        yield "the proof of another day", lambda b: b["days"][at].update(proof=b["days"][to]["proof"]), (1,), "of the log is not"
        yield "another date", lambda b: b["days"][at].update(day="2026-10-31" if b["days"][at]["day"] != "2026-10-31" else "2026-10-30"), (1,), \
            "of the log is not"
        yield "a day that is not in the calendar", lambda b: b["days"][at].update(day="2026-02-30"), (2,), "is no day"
        yield "a day that says it was committed again", lambda b: b["days"][at].update(of=3 if b["days"][at]["of"] != 3 else None), (1,), \
            "of the log is not"

    def others(self):
        customer, month = self.other_customer, self.other_month
        for what, other in (("customer", customer), ("month", month)):
            yield f"the terms of another {what}'s document", lambda b, o=other: b.update(terms=o["terms"]), (1, 2), "another document|of the log is not"
            yield f"the document of another {what}", lambda b, o=other: b.update(invoice=o["invoice"]), (1, 2), "another document|of the log is not"
            yield f"the text of another {what}'s document", lambda b, o=other: b["invoice"].update(text=o["invoice"]["text"]), (1, 2), \
                "of the log is not"
            yield f"the text of another {what}'s terms", lambda b, o=other: b["terms"].update(text=o["terms"]["text"]), (1, 2), \
                "of the log is not"
            yield f"another {what}'s document as an earlier one", lambda b, o=other: b["earlier"].append(o["invoice"]), (1, 2), \
                "was not made from|is of account|in the file twice"
        yield "the proof of another entry", lambda b: b["invoice"].update(proof=b["terms"]["proof"]), (1,), "of the log is not"
        yield "no terms", lambda b: b.pop("terms"), (2,), "not in the one form"
        yield "no earlier document", lambda b: b["earlier"].clear() if b["earlier"] else b.pop("earlier"), (1, 2), "is missing|not in the one form"
        yield "no book", lambda b: b["books"].clear(), (1, 2), "price book"
        yield "a book twice", lambda b: b["books"].append(b["books"][0]), (1, 2), "in the file twice"
        yield "a book changed by a digit", lambda b: b["books"][0].update(text=digit(b["books"][0]["text"])), (1,), "was not made from the price book"
        yield "an index of 2^63", lambda b: b["invoice"].update(proof=re.sub(r"index \d+", f"index {1 << 63}", b["invoice"]["proof"])), (2,), \
            "not in the form"
        yield "a negative index", lambda b: b["invoice"].update(proof=b["invoice"]["proof"].replace("index ", "index -")), (2,), \
            "not in the form"
        yield "a line \"extra\"", lambda b: b["invoice"].update(proof=b["invoice"]["proof"].replace("\n", "\nextra AAAA\n", 1)), (2,), \
            "not in the form"
        yield "65 hashes", lambda b: b["invoice"].update(proof=b["invoice"]["proof"].replace("\n\n", f"\n{b64(bytes(32))}" * 65 + "\n\n", 1)), \
            (2,), "not in the form"
        yield "a hash more", lambda b: b["terms"].update(proof=b["terms"]["proof"].replace("\n\n", f"\n{b64(bytes(32))}\n\n", 1)), (1,), \
            "of the log is not"
        yield "a hash less", lambda b: b["terms"].update(proof=re.sub(r"\n[^\n]+\n\n", "\n\n", b["terms"]["proof"], count=1)), (1, 2), \
            "of the log is not"
        yield "another log's name", lambda b: b.update(log="example.org/tollbook"), (1, 2), "says that its log is"

    # --- checkpoints

    def checkpoints(self):
        log, size = self.log, self.size
        newest, middle = log.checkpoint(), size - 1
        text = newest.partition("\n\n")[0] + "\n"
        stranger = Signer(log.signer.name, b"another seed of a log's key, 32b")
        one_more = Log(log.signer, [*log.entries, canonical({"commit": b64(bytes(32)), "type": "void", "v": 1}).encode()], log.witnesses)
        forked = Log(log.signer, [*log.entries[:2], canonical({"commit": b64(bytes(32)), "type": "void", "v": 1}).encode(), *log.entries[3:]],
                     log.witnesses)
        spared = self.spared(forked)
        grown = {**self.bundle, "consistency": log.growth(middle)}
        yield self.case("an old checkpoint above the proofs", {**self.bundle, "checkpoint": log.checkpoint(middle)}, (1, 2), "under another checkpoint")
        yield self.case("an old checkpoint in all places", replaced(self.bundle, newest, log.checkpoint(middle)), (1, 2), "of the log is not")
        yield self.case("a checkpoint of somebody else", replaced(self.bundle, newest, text + "\n" + stranger.line(text)), (1, 2), "did not sign")
        yield self.case("somebody else's signature under the name and ID", replaced(
            self.bundle, newest, forged(text, log.signer, stranger)), (1,), "signature by .* is wrong")
        yield self.case("a size that was not signed", replaced(self.bundle, newest, newest.replace(f"\n{size}\n", f"\n{size + 1}\n", 1)), (1,),
                        "signature by .* is wrong")
        yield self.case("a root that was not signed", replaced(self.bundle, newest, newest.replace(newest.split("\n")[2], b64(bytes(32)), 1)), (1,),
                        "signature by .* is wrong")
        yield self.case("a checkpoint that is older than one known", self.bundle, (1, 2), "older than yours", one_more.checkpoint())
        yield self.case("no proof of growth", self.bundle, (1, 2), "no proof that the log grew", log.checkpoint(middle))
        yield self.case("a proof of growth from another size", grown, (1, 2), "no proof that the log grew", log.checkpoint(middle - 1))
        if spared:
            yield self.case("a forked log of the same size", spared, (1,), "two histories", newest)
            yield self.case("a forked log that was known when smaller", {**spared, "consistency": forked.growth(middle)}, (1,), "two histories",
                            log.checkpoint(middle))
        for what, change in (("changed", lambda h: h.__setitem__(0, b64(bytes(32)))), ("left out", lambda h: h.pop()),
                             ("doubled", lambda h: h.append(h[0]))):
            bundle = copy.deepcopy(grown)
            change(bundle["consistency"]["hashes"])
            yield self.case(f"a hash of the proof of growth {what}", bundle, (1, 2), "two histories", log.checkpoint(middle))
        yield self.case("a checkpoint of another log", self.bundle, (1, 2), "changed, or is not this log's", text + "\n" + forged(text, log.signer, stranger)
                        .partition("\n\n")[2])

    def spared(self, forked):
        """The bundle under a forked log, where none of its entries is the one that differs: then it checks well alone."""
        if any(index_of(part) == 2 for _, part in parts(self.bundle)):
            return None
        return proved(self.bundle, forked)

    # --- what somebody can write who has the key: the log agrees with it

    def rewritten(self):
        bundle, log = self.bundle, self.log
        document, terms = (json.loads(bundle[name]["text"]) for name in ("invoice", "terms"))
        at = self.random.randrange(len(bundle["days"]))
        newest = log.checkpoint()

        def case(what, where, text, says, statuses=(1, 2)):
            return self.case(f"rewritten: {what}", committed(bundle, log, where, text)[0], statuses, says)

        lines = copy.deepcopy(document["lines"])
        used = next(line for line in lines if line["kind"] == "bandwidth")
        used["quantity"] = str(int(used["quantity"]) + 1)
        yield case("a byte more on a line", "invoice", sealed(bundle["invoice"]["text"], lines=lines), "1 fewer bytes of zone:.* states", (1,))
        yield case("a cent more in total", "invoice", sealed(bundle["invoice"]["text"], total="987654.32"), "is not 987654.32", (1,))
        yield case("a document that is not final", "invoice", sealed(bundle["invoice"]["text"], state="draft"), "not final")
        yield case("a document without its own sha256", "invoice", digit(bundle["invoice"]["text"]), "was changed after it was made")
        yield case("another number in the terms", "terms", canonical({**terms, "number": "2026-999999"}), "terms are of another document")
        yield case("a byte more in a day", f"days[{at}]", bytes_more(bundle["days"][at]["text"], 1), "(have 1 more|changed by 1 (more|fewer)) bytes of", (1,))
        yield case("a cell twice in a day", f"days[{at}]", twice(bundle["days"][at]["text"]), "there twice")
        yield case("a cell of another day in a day", f"days[{at}]", re.sub(r"\b(\d{4})-\d\d-\d\dT", r"\1-12-31T", bundle["days"][at]["text"], count=1),
                   "is not usage")
        yield case("a day cut short", f"days[{at}]", bundle["days"][at]["text"][:-1], "cut short|is not usage")
        yield case("a book that the document does not name", "books[0]", digit(bundle["books"][0]["text"]), "price book")
        yield case("an amount with an exponent", "invoice", sealed(bundle["invoice"]["text"], total="1e999999999"), "is no decimal")
        places = copy.deepcopy(terms)
        places["months"][0]["places"] = []
        yield case("terms without places", "terms", canonical(places), "in which region")
        if terms["lates"]:
            own = {index for month in terms["months"] for _, index in month["days"]}
            silent, _ = committed(bundle, log, "terms", canonical({**terms, "lates": []}))
            silent["days"] = [day for day in silent["days"] if index_of(day) in own]
            yield self.case("rewritten: terms that say nothing of what is corrected", silent, (1, 2), "of which the terms say nothing")
        yield from self.added()
        if terms["months"] and terms["months"][0]["days"]:
            less = copy.deepcopy(terms)
            gone = less["months"][0]["days"].pop()
            without, other = committed(bundle, log, "terms", canonical(less))
            if not any(gone in month["days"] for late in less["lates"] for month in (*late["before"], late["after"])):
                without["days"] = [day for day in without["days"] if index_of(day) != gone[1]]
            yield self.case("rewritten: a day that the terms do not count", without, (1, 2), "fewer .* states|was not made from")
            yield self.case("rewritten, and the old checkpoint is known", without, (1,), "two histories", newest)
            more = copy.deepcopy(terms)
            more["months"][0]["days"].append(more["months"][0]["days"][-1])
            yield case("a day that the terms count twice", "terms", canonical(more), "twice")

    def added(self):
        """Voids and books that are in the log too."""
        number = json.loads(self.bundle["invoice"]["text"])["number"]
        for what, of, says in (("a void", number, "was made void, 2026-11-03T10:00:00Z"), ("a void of another document", "2026-999999", "is of 2026-999999")):
            text, salt = f'{{"number":"{of}","voided":"2026-11-03T10:00:00Z"}}', bytes(32)
            log = Log(self.log.signer, self.log.entries, self.log.witnesses)
            index = log.add({"commit": b64(sha(salt, text.encode())), "type": "void", "v": 1})
            bundle = {**proved(self.bundle, log), "void": {"text": text, "salt": b64(salt), "proof": log.proof(index)}}
            consistency = bundle.pop("consistency")
            yield self.case(what, {**bundle, "consistency": consistency}, (1,) if of == number else (1, 2), says)
        name = json.loads(self.bundle["books"][0]["text"])["book"]
        text = self.bundle["books"][0]["text"].replace(f'"book":"{name}"', '"book":"other"')
        log = Log(self.log.signer, self.log.entries, self.log.witnesses)
        index = log.add({"book": "other", "sha256": hashlib.sha256(text.encode()).hexdigest(), "type": "book", "v": 1})
        bundle = proved(self.bundle, log)
        bundle["books"].append({"text": text, "proof": log.proof(index)})
        yield self.case("a book by which the document was not made", bundle, (1, 2), "was not made from the price book")

    def cases(self):
        """All but those of single bytes."""
        yield from self.forms()
        for what, change, statuses, says in (*self.days(), *self.others()):
            yield self.case(what, self.changed(change), statuses, says)
        yield from self.checkpoints()
        yield from self.rewritten()


def swap(items, a, b):
    items[a], items[b] = items[b], items[a]


def put_day(bundle, at, day):
    """The day in its place by the log, instead of another one where `at` says which."""
    if at is not None:
        bundle["days"].pop(at)
    bundle["days"] = sorted([*bundle["days"], day], key=index_of)


def digit(text):
    """The text with one of its decimals changed."""
    found = re.search(r'"(?:price|amount|total|EU)":"[0-9.]*?([0-9])"', text)
    return text[:found.start(1)] + str((int(found[1]) + 1) % 10) + text[found.end(1):]


def bytes_more(text, n):
    return re.sub(r"\bbytes=(\d+)", lambda found: f"bytes={int(found[1]) + n}", text, count=1)


def twice(text):
    line = text.splitlines(keepends=True)[0]
    return line + text


def replaced(bundle, note, other):
    """The bundle with another checkpoint in all places."""
    return json.loads(json.dumps(bundle).replace(json.dumps(note)[1:-1], json.dumps(other)[1:-1]))


def forged(text, signer, stranger):
    """A note whose signature line has the name and ID of one key and the signature of another."""
    return f"{text}\n\u2014 {signer.name} {b64(signer.id + stranger.sign(text.encode()))}\n"
