#!/usr/bin/env python3
"""Checks a bill of tollbook by its bundle (NUMBER.tollproof), or the receipts of a month. It shares no code with tollbook.

    check.py --key VKEY [--witness VKEY]... [--since CHECKPOINT] FILE...

Each FILE is a text, plain or packed by gzip. VKEY is the public key of the log or of a witness, or a file that holds it. CHECKPOINT
is a file with an older checkpoint of the log. Exit status: 0 all that was checked agrees, 1 something differs, 2 something cannot
be checked.

It does not check prices: whether amounts follow from quantities, prices and terms is what `tollbook-check` computes.

Python 3.9 or later, standard library alone. The sections stand in the order in which a file is checked; `check`, near the end, calls
them. Each follows a public specification:

    Ed25519                          RFC 8032
    keys and notes                   c2sp.org/signed-note, c2sp.org/tlog-cosignature
    checkpoints                      c2sp.org/tlog-checkpoint
    Merkle trees                     RFC 9162
    the file, entries of the log,    docs/proof.md; a proof is a text of c2sp.org/tlog-proof
    documents, terms, days
"""
import argparse
import base64
import gzip
import hashlib
import io
import json
import re
import sys
import zlib
from collections import Counter, defaultdict, namedtuple
from datetime import date, datetime, timezone
from fractions import Fraction
from pathlib import Path

FILE_MAX = 1 << 30    # bytes of a file, unpacked
ITEMS_MAX = 4096      # of a list of a bundle
NOTE_MAX = 1 << 16    # characters of a checkpoint


class Problem(Exception):
    """Problem(step, sentence): why a step of the check failed."""


class Differs(Problem):
    status = 1


class Unreadable(Problem):
    status = 2


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def read_base64(text, size=None):
    """The bytes, `size` of them where that is given. None: it is not base64, or not in its one form (padded, unused bits zero)."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text and size in (None, len(data)) else None


def read_number(text):
    """0 to 2^63 - 1 without leading zeros, else None."""
    return int(text) if re.fullmatch("0|[1-9][0-9]{0,18}", text) and int(text) < 1 << 63 else None


def is_day(text):
    """Whether it is a day of the calendar, such as 2026-10-01."""
    try:
        return bool(re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", text) and date.fromisoformat(text))
    except ValueError:
        return False


# --- Ed25519 (RFC 8032, 5.1)

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def add_points(p, q):
    (x1, y1), (x2, y2) = p, q
    t = D * x1 * x2 * y1 * y2
    return (x1 * y2 + x2 * y1) * pow(1 + t, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - t, -1, P) % P


def multiply(n, point):
    result = (0, 1)
    while n:
        if n & 1:
            result = add_points(result, point)
        point, n = add_points(point, point), n >> 1
    return result


def read_point(data):
    """None: the 32 bytes are not a point in its one form."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x, y


BASE = read_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(public_key, message, signature):
    """Whether the 64 bytes are the key's signature of the message. Keys of small order are refused: one signature fits many messages."""
    key, r = read_point(public_key), read_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if not key or not r or s >= ORDER or len(signature) != 64 or multiply(8, key) == (0, 1):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    return multiply(s, BASE) == add_points(r, multiply(k, key))


# --- keys and notes (c2sp.org/signed-note, c2sp.org/tlog-cosignature)

LOG, WITNESS = 1, 4  # types of keys
Key = namedtuple("Key", "name id type public")
KEY_NAME = r"[^\s+\x00-\x1f]+"


def read_key(text, type_):
    """A public key, name+id+base64(type, 32 bytes), or the file that holds it."""
    line = text if "+" in text else Path(text).read_bytes()[:4096].decode(errors="replace").split("\n")[0]
    name, number, data = (line.strip().split("+", 2) + ["", ""])[:3]
    data = read_base64(data, 33)
    if number == "":
        raise Unreadable("key", f"{text} is no public key, and no file with one.")
    if not re.fullmatch(KEY_NAME, name) or not data or data[0] not in (LOG, WITNESS) or sha256(name.encode(), b"\n", data)[:4].hex() != number:
        raise Unreadable("key", f"The key is mistyped: copy the whole line again. (name+id+base64 is expected, not \"{line[:300]}\")")
    if data[0] != type_:
        raise Unreadable("key", f"{name} is the key of a {'log' if data[0] == LOG else 'witness'}.")
    return Key(name, bytes.fromhex(number), data[0], data[1:])


def signing_time(key, text, signature):
    """When the key signed the text, in seconds since 1970; a log's signature has no time: 0. None: the signature is wrong."""
    if key.type == LOG:
        return 0 if is_signed(key.public, text.encode(), signature) else None
    time = int.from_bytes(signature[:8], "big")
    message = f"cosignature/v1\ntime {time}\n{text}"
    return time if time < 1 << 63 and is_signed(key.public, message.encode(), signature[8:]) else None


def read_note(note):
    """The text of a note, and its signatures as (name, id, signature)."""
    text, gap, lines = note.rpartition("\n\n")
    text, signatures = text + "\n", []
    if len(note) > NOTE_MAX or any(c < " " and c != "\n" for c in note):
        raise Unreadable("signature", "The checkpoint is too long, or has control characters.")
    for line in lines[:-1].split("\n") if gap and lines.endswith("\n") else [""]:
        dash, name, value = (line.split(" ") + ["", ""])[:3]
        data = read_base64(value) or b""
        if line != f"\u2014 {name} {value}" or not re.fullmatch(KEY_NAME, name) or len(data) < 5:
            raise Unreadable("signature", "The checkpoint is not a signed note: text, empty line, lines of signatures.")
        signatures.append((name, data[:4], data[4:]))
    return text, signatures


# --- checkpoints (c2sp.org/tlog-checkpoint)

Checkpoint = namedtuple("Checkpoint", "origin size root signed")  # signed: {key: when it signed}


def open_checkpoint(note, key, witnesses=()):
    """A checkpoint that the log's key signed. Signatures of keys that are not given are ignored."""
    text, signatures = read_note(note)
    origin, size, root, *more = [*text[:-1].split("\n"), "", ""]
    size, root = read_number(size), read_base64(root, 32)
    if not origin or size is None or not root or "" in more[:-2]:
        raise Unreadable("signature", "The checkpoint's text is not the log's name, its size and its root.")
    if origin != key.name:
        raise Differs("signature", f"The checkpoint is of the log {origin}, the key is that of {key.name}.")
    signed = {}
    for name, number, signature in signatures:
        for signer in (key, *witnesses):
            if (signer.name, signer.id) == (name, number):
                time = signing_time(signer, text, signature)
                if time is None:
                    raise Differs("witness" if signer.type == WITNESS else "signature",
                                  f"The signature by {name} is wrong: the checkpoint was changed, or another key signed it.")
                signed[signer] = max(time, signed.get(signer, 0))
    if key not in signed:
        raise Differs("signature", f"{key.name}+{key.id.hex()} did not sign the checkpoint: other keys did.")
    return Checkpoint(origin, size, root, signed)


# --- Merkle trees (RFC 9162, 2.1). A proof has the hash next to the root last, so it is read from its end.

def size_of_left(size):
    """The largest power of two below the size of a tree: so many entries are on its left."""
    return 1 << (size - 1).bit_length() - 1


def is_included(size, root, index, leaf, hashes):
    """Whether the leaf is entry `index` of the tree of `size` entries that has this root (2.1.3)."""
    path = list(hashes)

    def root_of(index, size):
        if size == 1:
            return leaf
        left, other = size_of_left(size), path.pop()
        if index < left:
            return sha256(b"\1", root_of(index, left), other)
        return sha256(b"\1", other, root_of(index - left, size - left))
    try:
        return index < size and root_of(index, size) == root and not path
    except IndexError:  # a hash is missing
        return False


def is_grown(old_size, old_root, size, root, hashes):
    """Whether the first `old_size` entries of the tree are the tree that has the root `old_root` (2.1.4)."""
    path = list(hashes)

    def roots_of(old, size, old_root):
        """The root of the first `old` entries, and that of all. old_root: the first of them, where the proof leaves it out."""
        if old == size:
            found = old_root or path.pop()
            return found, found
        left, other = size_of_left(size), path.pop()
        if old <= left:
            before, after = roots_of(old, left, old_root)
            return before, sha256(b"\1", after, other)
        before, after = roots_of(old - left, size - left, None)
        return sha256(b"\1", other, before), sha256(b"\1", other, after)
    try:
        if old_size == 0:
            return old_root == sha256() and not path
        return old_size <= size and roots_of(old_size, size, old_root) == (old_root, root) and not path
    except IndexError:
        return False


# --- the file: JSON with these members in this order, without blanks, so that no byte can be changed without being noticed

PART = {"text": str, "salt": str, "proof": str}
DAY = {"day": str, "of": (int, None), **PART}
RECEIPTS = {"month": str, "log": str, "checkpoint": str, "days": [DAY]}
BUNDLE = {"v": int, "log": str, "checkpoint": str, "invoice": PART, "terms": PART, "books": [{"text": str, "proof": str}],
          "days": [DAY], "earlier": [PART], "consistency": ({"from": int, "hashes": [str]}, None)}
VOID_BUNDLE = {**dict(list(BUNDLE.items())[:-1]), "void": PART, "consistency": BUNDLE["consistency"]}


def has_form(value, form):
    """A form is a type, {member: form} in this order, [form of each item], or (one form, or another)."""
    if isinstance(form, tuple):
        return any(has_form(value, one) for one in form)
    if isinstance(form, list):
        return isinstance(value, list) and len(value) <= ITEMS_MAX and all(has_form(item, form[0]) for item in value)
    if isinstance(form, dict):
        return isinstance(value, dict) and list(value) == list(form) and all(has_form(value[name], form[name]) for name in form)
    return value is None if form is None else type(value) is form and (form is str or 0 <= value < 1 << 63)


def read_whole(digits):
    if not re.fullmatch("-?[0-9]{1,40}", digits):
        raise ValueError(f"{digits[:40]} is not a whole number")
    return int(digits)


def read_json(text):
    return json.loads(text, parse_int=read_whole, parse_float=read_whole, parse_constant=read_whole)


def read_sorted(text):
    """A document or terms: JSON with sorted keys, without blanks, no member twice."""
    value = read_json(text)
    if write_json(value) != text:
        raise ValueError("its keys are not sorted, or it has blanks")
    return value


def write_json(value, sort_keys=True):
    return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))


def read_file(data):
    """A bundle or receipts, as a dict."""
    try:
        if data.startswith(b"\x1f\x8b"):
            data = gzip.GzipFile(fileobj=io.BytesIO(data)).read(FILE_MAX + 1)
        if len(data) > FILE_MAX:
            raise Unreadable("form", f"The file has more than {FILE_MAX} bytes.")
        if not data.startswith((b'{"v":', b'{"month":')):
            raise Unreadable("form", "This is no bundle of a bill, and no receipts: is it the PDF, or an error of the server?" if data
                             else "The file is empty: fetch it again.")
        found = read_json(data.decode())
        if not has_form(found, (RECEIPTS, BUNDLE, VOID_BUNDLE)) or found.get("v", 1) != 1 or write_json(found, sort_keys=False).encode() != data:
            raise ValueError("it is not in the one form of a bundle")
        if found.get("consistency"):
            found["consistency"]["hashes"] = hashes = [read_base64(one, 32) for one in found["consistency"]["hashes"]]
            if None in hashes:
                raise ValueError("a hash is not the base64 of 32 bytes")
        return found
    except (ValueError, RecursionError, EOFError, OSError, zlib.error) as error:
        raise Unreadable("form", f"The file is incomplete or was changed: fetch it again. ({str(error)[:200]})") from None


# --- entries of the log, and the parts of the file that they commit to

def read_proof(text, note):
    """Index and hashes of a text of c2sp.org/tlog-proof, which ends with the checkpoint of the file."""
    head, gap, rest = text.partition("\n\n")
    found = re.fullmatch(r"c2sp\.org/tlog-proof@v1\nindex ([0-9]+)((?:\n[^\n]+){0,64})", head)
    index = read_number(found[1]) if found else None
    hashes = [read_base64(line, 32) for line in found[2].split("\n")[1:]] if found else []
    if index is None or None in hashes or not gap:
        raise Unreadable("inclusion", "A proof is not in the form of c2sp.org/tlog-proof@v1.")
    if rest != note:
        raise Differs("inclusion", f"The proof of entry {index} is under another checkpoint than the file's.")
    return index, hashes


class Log:
    """Opens parts of a file: makes the entry that the log has to have of a part, and verifies its proof."""

    def __init__(self, note, checkpoint):
        self.note, self.checkpoint, self.opened = note, checkpoint, {}

    def open(self, what, part, entry):
        """entry: its members beside "commit" and "v". Returns its index in the log."""
        if "salt" in part:
            salt = read_base64(part["salt"], 32)
            if not salt:
                raise Unreadable("inclusion", f"The salt of {what} is not the base64 of 32 bytes.")
            entry = {**entry, "commit": base64.b64encode(sha256(salt, part["text"].encode())).decode()}
        index, hashes = read_proof(part["proof"], self.note)
        leaf = sha256(b"\0", write_json({**entry, "v": 1}).encode())
        if not is_included(self.checkpoint.size, self.checkpoint.root, index, leaf, hashes):
            raise Differs("inclusion", f"Entry {index} of the log is not {what} in this file: its text, its salt or its proof was changed.")
        if index in self.opened:
            raise Differs("inclusion", f"Entry {index} of the log is in the file twice: as {self.opened[index]} and as {what}.")
        self.opened[index] = what
        return index

    def open_days(self, parts):
        """{index: (day, text)}. Days ascend by their entries. A day that was committed again names its first entry (`of`)."""
        days, firsts, last = {}, {}, -1
        for part in parts:
            day, of = part["day"], part["of"]
            if not is_day(day):
                raise Unreadable("form", f"\"{day[:20]}\" is no day.")
            index = self.open(f"the usage of {day}", part, {"day": day, "type": "usage", **({} if of is None else {"of": of})})
            first = index if of is None else of
            if index <= last:
                raise Unreadable("form", f"The usage of {day} is not in its place.")
            if first > index or firsts.setdefault(day, first) != first:
                raise Differs("usage", f"Entry {index} of the log and another one of {day} are not versions of the same usage.")
            days[index], last = (day, part["text"]), index
        return days


# --- documents: JSON with sorted keys and their own SHA-256, which is over the text without that member

def read_document(text, what):
    changed = Differs("document", f"{what} in this file was changed after it was made. Fetch it again; do not pay by it.")
    try:
        document = read_sorted(text)
        rest = text.replace(f',"sha256":"{document["sha256"]}"', "", 1)
    except (ValueError, RecursionError, KeyError, TypeError):
        raise changed from None
    if sha256(rest.encode()).hex() != document["sha256"]:
        raise changed
    if document["state"] != "final":
        raise Differs("document", f"{document['number']} is not final.")
    return document


def month_of(document):
    return document["period"]["start"][:7]


def check_sums(document):
    """Lines come to the subtotal, with the taxes to the total, with what is paid already to what is payable."""
    sums = [(document["subtotal"], [line["amount"] for line in document["lines"]]),
            (document["total"], [document["subtotal"], *(tax["amount"] for tax in document["tax"])])]
    if "payable" in document:
        sums.append((document["total"], [document["payable"], document["paid"]]))
    for total, amounts in sums:
        if not all(re.fullmatch(r"-?[0-9]{1,40}(\.[0-9]{1,40})?", amount) for amount in (total, *amounts)):
            raise Unreadable("document", f"An amount of {document['number']} is no decimal.")
        if sum(map(Fraction, amounts)) != Fraction(total):
            raise Differs("document", f"{' + '.join(amounts)[:200]} is not {total}, which {document['number']} states.")
    if not 0 <= Fraction(document.get("paid", "0")) <= max(0, Fraction(document["total"])):
        raise Differs("document", f"{document['number']} says that {document['paid'][:40]} of {document['total']} is paid.")


def stated_quantities(document):
    """{month: {(kind, thing, region): quantity}} of the document's month and of those that it corrects."""
    months = defaultdict(Counter)
    for line in document["lines"]:
        kind, month = line["kind"], month_of(document)
        if kind == "correction":
            kind, month = line["corrects"]["kind"], line["period"]["start"][:7]
        thing = line["meter"] if kind == "meter" else line["resource"]
        months[month][kind, thing, line["region"]] += read_whole(line["quantity"])
        for share in line.get("shares", []):  # of a zone in the account's volume
            months[month]["share", f"zone:{share['zone']}", None] += read_whole(share["bytes"])
    return months


# --- terms: read here are the document that they belong to, and the days, price books and documents that they name

def read_terms(text, document):
    terms = read_sorted(text)
    expected = {"number": document["number"], "account": document["account"], "month": month_of(document), "kind": document["kind"],
                "watermark": document["watermark"]}
    for name, value in expected.items():
        if terms[name] != value:
            raise Differs("terms", f"The terms are of another document: their {name} is {terms[name]!r}, not {value!r}.")
    months = [month["month"] for month in (*terms["months"], *terms["lates"])]
    if len(set(months)) != len(months):
        raise Unreadable("terms", "The terms have a month twice.")
    if any(side["month"] != late["month"] for late in terms["lates"] for side in (*late["before"], late["after"])):
        raise Unreadable("terms", "The terms correct a month by the usage of another one.")
    return terms


def all_months(terms):
    return [*terms["months"], *(side for late in terms["lates"] for side in (*late["before"], late["after"]))]


# --- days: lines of fields with tabs between them

CELL_FIELDS = {"zone": 3, "load_balancer": 2, "meter": 5}  # the kinds of lines in their order; how many fields name a cell, its time last
COUNTER = re.compile(r"(?:([a-z][a-z0-9_]*)=)?(0|[1-9][0-9]{0,18})")  # the value of a meter has no name


def add_up(days, ties=()):
    """Sums over days, of (day, text) each: {("bytes", zone, place): n}, ("requests", zone), ("requests of", balancer), ("units", meter),
    ("days", None), ("cells", None). ties: of terms, they say when a zone was attached to a load balancer."""
    usage, ties_of = Counter(), defaultdict(list)
    for tie in ties:
        ties_of[tie["zone"]].append(((tie["from"] or "").rstrip("Z"), (tie["to"] or "~").rstrip("Z"), tie["balancer"]))
    for day, text in days:
        usage["days", None] += 1
        for kind, (thing, *names, time), counters in read_day(day, text):
            usage["cells", None] += 1
            if kind == "meter":
                usage["units", thing] += counters[None]
            elif kind == "load_balancer":
                usage["requests of", thing] += counters.get("requests", 0)
            else:
                usage["bytes", thing, names[0]] += counters.get("bytes", 0)
                usage["requests", thing] += counters.get("requests", 0)
                attached = [balancer for start, end, balancer in ties_of[thing] if start <= time.rstrip("Z") < end]
                if attached:
                    usage["requests of", attached[0]] += counters.get("balancer_requests", 0)
    return usage


def read_day(day, text):
    """Yields (kind, names, counters) of each line. They ascend, so no cell is there twice."""
    *lines, rest = text.split("\n")
    last = ()
    if rest:
        raise Unreadable("usage", f"The last line of {day} is cut short.")
    for line in lines:
        kind, *fields = line.split("\t")
        n = CELL_FIELDS.get(kind, 0)
        names, counters = fields[:n], [COUNTER.fullmatch(field) for field in fields[n:]]
        is_line = n > 0 and len(fields) > n and None not in counters and re.fullmatch(day + "T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", names[-1])
        if is_line and kind != "meter":
            names[0] = read_number(names[0])
        order = (list(CELL_FIELDS).index(kind), *names) if is_line and names[0] is not None else ()
        counted = {found[1]: int(found[2]) for found in counters if found}
        are_named = list(counted) == [None] if kind == "meter" else None not in counted
        if order <= last or len(counted) != len(counters) or not are_named:
            raise Unreadable("usage", f"A line of {day} is not usage, not in its order, or there twice: {line[:100]!r}")
        last = order
        yield kind, names, counted


def month_usage(month, days):
    """The usage of a month of the terms."""
    listed = [day for day, _ in month["days"]]
    if listed != sorted(set(listed)) or not all(day.startswith(month["month"]) for day in listed):
        raise Unreadable("usage", f"The terms count a day of {month['month']} twice, or one of another month.")
    return add_up([days[index] for _, index in month["days"]], month["ties"])


# --- the usage of days against the lines of documents

def compare(name, month, stated, after, before=None):
    """Whether the days come to what the documents `name` state of a month. after: (usage, month of the terms) that they bill; before:
    the same of what was billed before."""
    sides = [(1, *after), *([(-1, *before)] if before else [])]
    counters = {meter["id"] for meter in after[1]["meters"] if meter["kind"] == "counter"}
    not_sums = {meter["id"] for _, _, terms in sides for meter in terms["meters"]} - counters  # their quantities are no sums of days
    # Volume is billed for the account. Only the lines of a bill say how much of it each zone had; those of corrections do not.
    of_volume = {f"zone:{entry['zone']}" for _, _, terms in sides for entry in terms["bytes"] if entry["charge"] == "volume"}
    volume, shares = (sum(n for (kind, *_), n in stated.items() if kind == wanted) for wanted in ("volume", "share"))
    by_share, all_volume = 0 != shares == volume, ("bytes of", "the zones of type volume", None)

    def bytes_of(zone, region):
        if zone in of_volume:
            return ("bytes of", zone, None) if by_share else all_volume
        return "bytes of", zone, region

    difference = Counter()  # what the days have, less what is stated
    for sign, usage, terms in sides:
        regions = {place["code"]: place["region"] for place in terms["places"]}
        for (what, thing, *place), count in usage.items():
            if what == "bytes" and count:
                if place[0] not in regions:
                    raise Differs("usage", f"The terms do not say in which region {place[0]} is billed.")
                if not terms["contract"]["percentile"]:
                    difference[bytes_of(f"zone:{thing}", regions[place[0]])] += sign * count
            elif what == "requests of":
                difference["requests of", f"load_balancer:{thing}", None] += sign * count
            elif what == "units" and thing in counters:
                difference["units of", thing, None] += sign * count
    for (kind, thing, region), quantity in stated.items():
        if kind in ("bandwidth", "override") or (kind == "share" and by_share):
            difference[bytes_of(thing, region)] -= quantity
        elif kind == "volume" and not by_share:
            difference[all_volume] -= quantity
        elif kind == "balancer_requests":
            difference["requests of", thing, None] -= quantity
        elif kind == "meter" and thing not in not_sums:
            difference["units of", thing, None] -= quantity
    for (what, thing, region), count in difference.items():
        if count:
            raise Differs("usage", f"The days of {month} {'changed by' if before else 'have'} {abs(count):,} {'more' if count > 0 else 'fewer'} "
                                   f"{what} {thing}{f' in {region}' if region else ''} than {name} states.")


def check_quantities(say, document, terms, days, earlier):
    number, stated = document["number"], stated_quantities(document)
    for month in stated.keys() - {month["month"] for month in (*terms["months"], *terms["lates"])}:
        raise Differs("usage", f"{number} corrects {month}, of which the terms say nothing.")
    for own in terms["months"]:
        usage = month_usage(own, days)
        say_usage(say, own["month"], usage)
        compare(number, own["month"], stated[own["month"]], (usage, own))
    for late in terms["lates"]:
        month, billed = late["month"], [earlier[one["number"]] for one in late["billed"]]
        bills = [one["number"] for one in billed if one["kind"] == "invoice" and month_of(one) == month]
        if len(late["before"]) != bool(billed) or (late["invoice"] not in bills if bills else late["invoice"]):
            raise Differs("usage", f"The corrections of {month} do not go on from what was billed: {' '.join(bills) or 'nothing'}.")
        before, after = [(month_usage(side, days), side) for side in late["before"]], month_usage(late["after"], days)
        say_usage(say, month, after)
        compare(number, month, stated[month], (after, late["after"]), *before)
        if bills:  # all that was billed of the month is in these documents
            was = Counter()
            for one in billed:
                was.update(stated_quantities(one)[month])
            compare(" with ".join(sorted(one["number"] for one in billed)), month, was, *before)


# --- the check of one file

def check(data, key, witnesses=(), since=None, since_name="--since"):
    """Checks a file's bytes. since: the text of an older checkpoint. A step that fails does not stop the others.
    Returns the exit status, and lines of (step, "ok", "--" or "NO", sentence), the worst last."""
    lines, faults = [], []

    def say(step, sentence, mark="ok"):
        lines.append((step, mark, sentence))

    def attempt(step, *arguments):
        try:
            return step(say, *arguments)
        except Problem as problem:
            return faults.append(problem)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, MemoryError) as error:
            return faults.append(Unreadable("form", f"A text of the file is not as tollbook writes it: {type(error).__name__}, {str(error)[:100]}."))
    file, checkpoint = attempt(check_signature, data, key, witnesses) or ({}, None)
    if checkpoint:
        attempt(check_growth, file.get("consistency"), checkpoint, key, since, since_name)
        attempt(check_witnesses, checkpoint, witnesses)
        attempt(check_receipts if "month" in file else check_bundle, file, Log(file["checkpoint"], checkpoint))
    for fault in sorted(reversed(faults), key=lambda fault: -fault.status):
        say(*fault.args, "NO")
    return min((fault.status for fault in faults), default=0), lines


def check_signature(say, data, key, witnesses):
    file = read_file(data)
    checkpoint = open_checkpoint(file["checkpoint"], key, witnesses)
    if file["log"] != checkpoint.origin:
        raise Differs("signature", f"The file says that its log is {file['log'][:100]}, its checkpoint is of {checkpoint.origin}.")
    say("signature", f"{checkpoint.origin} signed its checkpoint: {checkpoint.size:,} entries, checkpoint {in_fours(checkpoint.root.hex())}")
    return file, checkpoint


def check_witnesses(say, checkpoint, witnesses):
    for witness in witnesses:
        if witness not in checkpoint.signed:
            raise Unreadable("witness", f"{witness.name} did not cosign the checkpoint.")
        moment = datetime.fromtimestamp(min(checkpoint.signed[witness], 253402300799), timezone.utc)  # at most the year 9999
        say("witness", f"{witness.name} cosigned it, {moment:%Y-%m-%dT%H:%M:%SZ}")


def check_growth(say, proof, new, key, since, since_name):
    if not since:
        return say("growth", "not checked: no older checkpoint was given (--since)", "--")
    try:
        old = open_checkpoint(since, key)
    except Problem:
        raise Unreadable("growth", f"The old checkpoint in {since_name} was changed, or is not this log's: use an unaltered copy.") from None
    if old.size > new.size:
        raise Unreadable("growth", f"The file's checkpoint is older than yours, which has {old.size:,} entries: fetch the file again.")
    if old.size < new.size and (not proof or proof["from"] != old.size):
        raise Unreadable("growth", f"The file has no proof that the log grew from {old.size:,} entries: ask for one with since={old.size}.")
    if not is_grown(old.size, old.root, new.size, new.root, proof["hashes"] if old.size < new.size else []):
        raise Differs("growth", f"The log has two histories: it does not begin with the {old.size:,} entries that were signed before.")
    return say("growth", f"the log only grew since it had {old.size:,} entries")


def say_usage(say, month, usage):
    sums = Counter()
    for (what, *_), count in usage.items():
        sums[what] += count
    say("usage", f"{month}: {sums['days']} days, {sums['cells']:,} cells (a zone, a place, an hour each), {sums['bytes']:,} bytes, "
                 f"{sums['requests']:,} requests")


def check_receipts(say, file, log):
    month, days = file["month"], log.open_days(file["days"])
    dates = {day for day, _ in days.values()}
    if not is_day(month + "-01") or len(dates) != len(days) or not all(day.startswith(month) for day in dates):
        raise Unreadable("usage", f"A day is there twice, or not of the month {month[:20]}.")
    say("inclusion", f"the usage of {len(days)} days of {month} is in the log")
    say_usage(say, month, add_up(days.values()))


def check_bundle(say, file, log):
    document = read_document(file["invoice"]["text"], "The document")
    number, month, total = str(document["number"]), month_of(document), f"{document['total']} {document['currency']}"
    index = log.open(f"the document {number}", file["invoice"], {"month": month, "type": "invoice"})
    log.open("the terms", file["terms"], {"month": month, "type": "terms"})
    terms = read_terms(file["terms"]["text"], document)
    open_books(file["books"], log, document, terms)
    days = log.open_days(file["days"])
    check_named("usage", "the usage of {}, entry {} of the log,", number, {(day, at) for at, (day, _) in days.items()},
                {(day, at) for side in all_months(terms) for day, at in side["days"]})
    earlier = open_earlier(file["earlier"], log, document, terms)
    if "void" in file:
        log.open("the void", file["void"], {"type": "void"})
    say("inclusion", f"all {len(log.opened)} parts of the file are in the log: the document, its terms, price books "
                     f"({len(file['books'])}), days ({len(days)}), earlier documents ({len(earlier)})")
    check_sums(document)
    say("document", f"{number} of account {document['account']} for {month}: its lines and taxes come to {total}")
    say("PDF", f"compare: {number}, {month}, {total}, log {log.checkpoint.origin}, entry {index}, "
               f"fingerprint {in_fours(document['sha256'])}", "--")
    check_quantities(say, document, terms, days, earlier)
    say("quantities", f"the days come to what {number} states of bytes, requests of load balancers and counters")
    say("prices", "not checked here: multiply quantities and prices yourself, or use tollbook-check", "--")
    if "void" in file:
        void = read_sorted(file["void"]["text"])
        if void["number"] != number:
            raise Unreadable("document", f"The void in the file is of {void['number']}.")
        raise Differs("void", f"{number} was made void, {void['voided']}: nothing is due by it.")


def check_named(step, what, number, found, named):
    """A bundle has what its document and terms name, and nothing else. found, named: sets of tuples with which `what` is filled."""
    for one in sorted(found - named):
        raise Differs(step, f"The document {number} was not made from {what.format(*one)} which is in the file.")
    for one in sorted(named - found):
        raise Unreadable(step, f"The document {number} was made from {what.format(*one)} which is missing: fetch the file again.")


def open_books(parts, log, document, terms):
    books = [document["book"], *document.get("books", []), *(part["book"] for month in all_months(terms) for part in (*month["parts"], *month["fees"]))]
    named = {(book["id"], book["sha256"]) for book in books if book and book["id"]}
    digests = [sha256(part["text"].encode()).hex() for part in parts]
    ids = {digest: name for name, digest in named}
    for digest in digests:
        if digest not in ids:
            raise Differs("books", f"{document['number']} was not made from the price book with SHA-256 {digest[:16]}... in the file: was a price changed?")
    check_named("books", "the price book {} (SHA-256 {:.16}...)", document["number"], {(ids[digest], digest) for digest in digests}, named)
    for part, digest in zip(parts, digests):
        log.open(f"the price book {ids[digest]}", part, {"book": ids[digest], "sha256": digest, "type": "book"})


def open_earlier(parts, log, document, terms):
    """The documents that this one corrects or credits, by number."""
    earlier = {}
    for part in parts:
        one = read_document(part["text"], "An earlier document")
        log.open(f"the document {one['number']}", part, {"month": month_of(one), "type": "invoice"})
        if one["account"] != document["account"]:
            raise Differs("document", f"{one['number']} is of account {one['account']}, {document['number']} of {document['account']}.")
        earlier[one["number"]] = one
    named = {document.get("corrects"), *(line["corrects"]["invoice"] for line in document["lines"] if "corrects" in line),
             *(billed["number"] for late in terms["lates"] for billed in late["billed"])} - {None}
    found = earlier.keys() - ({document.get("replaces")} - named)
    check_named("document", "the document {}", document["number"], {(one,) for one in found}, {(one,) for one in named})
    return earlier


# --- what is printed

def in_fours(digits):
    """The first 16 hex digits, as documents print them."""
    return " ".join(digits[at:at + 4] for at in range(0, 16, 4))


def printable(text):
    return "".join(c if c.isprintable() else "?" for c in text)


def show(name, status, lines):
    print(f"{name}: {('all that was checked agrees', 'SOMETHING DIFFERS', 'it cannot be checked')[status]}")
    for step, mark, sentence in lines:
        print(f"  {step:<11} {mark}  {printable(sentence)}")
    if any(step == "void" for step, _, _ in lines):
        print("  Next: pay nothing by it. Ask the operator for the document that replaces it.")
    elif status == 0:
        print("  Not shown: that all usage was recorded, that terms and prices are as agreed, and what else docs/proof.md lists.")
    elif status == 1:
        print("  Next: keep this file, and fetch it again. If it stays wrong, do not pay by it: ask the operator, and keep both files.")


def main():
    parser = argparse.ArgumentParser(description="Checks a bill of tollbook by its bundle, or the receipts of a month.")
    parser.add_argument("--key", metavar="VKEY", required=True, help="the log's public key, or a file with it")
    parser.add_argument("--witness", metavar="VKEY", action="append", default=[], help="a witness that has to have cosigned")
    parser.add_argument("--since", metavar="CHECKPOINT", help="a file with an older checkpoint of the log")
    parser.add_argument("files", metavar="FILE", nargs="+")
    options = parser.parse_args()
    statuses = []
    try:
        key, witnesses = read_key(options.key, LOG), [read_key(text, WITNESS) for text in options.witness]
        since = Path(options.since).read_bytes().decode(errors="replace") if options.since else None
        for name in options.files:
            with open(name, "rb") as file:
                status, lines = check(file.read(FILE_MAX + 1), key, witnesses, since, options.since)
            statuses.append(status)
            show(name, status, lines)
    except (Problem, OSError) as error:
        sentence = f"{error.filename} cannot be read: {error.strerror}" if isinstance(error, OSError) else error.args[1]
        print(f"check.py: {printable(sentence)}", file=sys.stderr)
        return 2
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
