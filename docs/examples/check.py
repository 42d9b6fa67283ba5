#!/usr/bin/env python3
"""Checks a bill of tollbook by its bundle (NUMBER.tollproof), or the receipts of a month, without tollbook's code.

    check.py --key VKEY [--witness VKEY]... [--since CHECKPOINT] [--zones] FILE...

It says for each FILE (a plain text, or one that gzip made) what it found. Exit status: 0 all that was checked agrees, 1 something
differs, 2 something cannot be checked. VKEY is the public key of the log, or of a witness, as `tollbook proof vkey` prints it, or a
file that holds it. CHECKPOINT is a file with an older checkpoint of the log: the log has to have only grown since.

It does not look at prices: that the amounts follow from quantities, prices and terms is what `tollbook-check` looks at.

Python 3.9 or later, standard library alone. Written from the public specifications, which it follows from top to bottom:

    RFC 8032                   Ed25519
    c2sp.org/signed-note       texts with signatures, public keys
    c2sp.org/tlog-checkpoint   size and root of a log
    c2sp.org/tlog-cosignature  signatures of witnesses
    RFC 6962, RFC 9162         Merkle trees: proofs that an entry is in, that a tree only grew
    c2sp.org/tlog-proof        the text of such a proof
    docs/proof.md              entries, commitments, days, terms and bundles of tollbook

Everything has one form. What is written in another one (a blank between members, base64 with unused bits) is refused, so no byte of
a bundle can be changed without being noticed; but what a proof of growth proves is looked at only where --since asks for it.
"""
import argparse
import base64
import hashlib
import json
import re
import sys
import zlib
from bisect import bisect_right
from collections import defaultdict
from datetime import datetime, timezone
from fractions import Fraction
from functools import cached_property
from pathlib import Path

FILE_MAX = 1 << 30        # bytes of a file, and of what gzip made small
NOTE_MAX = 256 << 10      # bytes of a signed note
NOTE_TEXT_MAX = 4096      # bytes of its text
SIGNATURES_MAX = 32       # lines of signatures
HASHES_MAX = 64           # of a proof
ITEMS_MAX = 4096          # days, books and documents of a bundle
TEXT_MAX = 64 << 20       # bytes of a document or of terms
CELLS_MAX = 1 << 24       # lines of days, each time that a month counts them
NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
WHOLE = re.compile(r"-?[0-9]{1,40}")
AMOUNT = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
COUNTER = re.compile(r"([a-z][a-z0-9_]*)=([1-9][0-9]{0,18})")


class Problem(Exception):
    """Why a check ends: which one it was, the exit status, and a sentence."""

    def __init__(self, status, check, sentence):
        super().__init__(sentence)
        self.status, self.check, self.sentence = status, check, sentence


def differs(check, sentence):
    return Problem(1, check, sentence)


def unreadable(check, sentence):
    return Problem(2, check, sentence)


def changed(check, where):
    return unreadable(check, f"The file is incomplete or was changed: fetch it again. ({where})")


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def in_fours(digits):
    """The first 16 hex digits, as documents print them."""
    return " ".join(digits[at:at + 4] for at in range(0, 16, 4))


# --- Ed25519 (RFC 8032, 5.1). Points are (X, Y, Z, T) with x = X/Z, y = Y/Z, x*y = T/Z.

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
SQRT_M1 = pow(2, (P - 1) // 4, P)
IDENTITY = (0, 1, 1, 0)


def add_points(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P, (p[1] + p[0]) * (q[1] + q[0]) % P
    c, d = 2 * p[3] * q[3] * D % P, 2 * p[2] * q[2] % P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(n, point):
    result = IDENTITY
    while n:
        if n & 1:
            result = add_points(result, point)
        point, n = add_points(point, point), n >> 1
    return result


def is_same_point(p, q):
    return (p[0] * q[2] - q[0] * p[2]) % P == 0 and (p[1] * q[2] - q[1] * p[2]) % P == 0


def read_point(data):
    """None where the 32 bytes are no point, or are not in their one form."""
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & (1 << 255) - 1
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * SQRT_M1 % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    x = P - x if x & 1 != sign else x
    return x, y, 1, x * y % P


BASE = read_point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def is_signed(public_key, message, signature):
    """Whether the 64 bytes are the key's signature of the message (RFC 8032, 5.1.7)."""
    key, r = read_point(public_key), read_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if not key or not r or s >= ORDER or len(signature) != 64 or is_same_point(multiply(8, key), IDENTITY):
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + public_key + message).digest(), "little") % ORDER
    return is_same_point(multiply(s, BASE), add_points(r, multiply(k, key)))


# --- small forms

def read_base64(text, size=None):
    """The bytes, or None: base64 of RFC 4648 with its padding and without unused bits, of `size` bytes where that is given."""
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        return None
    return data if base64.b64encode(data).decode() == text and size in (None, len(data)) else None


def read_number(text):
    """0 to 2^63 - 1 without leading zeros, else None."""
    return int(text) if NUMBER.fullmatch(text) and int(text) < 1 << 63 else None


def quote(value):
    """JSON with sorted keys and without blanks: the form of entries, documents and terms. A bundle has the order of FORM."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


# --- keys and notes (c2sp.org/signed-note)

LOG, WITNESS = 1, 4  # types of keys: Ed25519, and Ed25519 for cosignatures


class Key:
    """A public key: name+id+base64(type, 32 bytes)."""

    def __init__(self, vkey):
        name, number, data = (vkey.strip().split("+", 2) + ["", ""])[:3]
        data = read_base64(data, 33) or b"\0"
        if not is_key_name(name) or data[0] not in (LOG, WITNESS) or sha256(name.encode(), b"\n", data)[:4].hex() != number:
            raise unreadable("key", f"The key is mistyped: copy the whole line again. (name+id+base64 is expected, not \"{vkey.strip()[:300]}\")")
        self.name, self.id, self.type, self.bytes = name, bytes.fromhex(number), data[0], data[1:]

    def has_signed(self, text, signature):
        """A witness signs with the time: returns that, 0 for a log, None where the signature is wrong."""
        if self.type == LOG:
            return 0 if is_signed(self.bytes, text.encode(), signature) else None
        time = int.from_bytes(signature[:8], "big")
        message = f"cosignature/v1\ntime {time}\n{text}".encode()
        return time if time < 1 << 63 and is_signed(self.bytes, message, signature[8:]) else None


def is_key_name(name):
    return name != "" and not any(c.isspace() or c < " " or c == "+" for c in name)


def read_note(note):
    """The text of a note, and its signatures as (name, ID, signature)."""
    text, gap, lines = note.rpartition("\n\n")
    text += "\n"
    signatures = []
    if len(note.encode()) > NOTE_MAX or len(text.encode()) > NOTE_TEXT_MAX or any(c < " " and c != "\n" for c in note):
        raise unreadable("signature", "The checkpoint is too long, or has control characters.")
    for line in lines[:-1].split("\n") if gap and lines.endswith("\n") else [""]:
        dash, name, value = (line.split(" ") + ["", ""])[:3]
        data = read_base64(value) or b""
        if line != f"{dash} {name} {value}" or dash != "\u2014" or not is_key_name(name) or len(data) < 5:
            raise unreadable("signature", "The checkpoint is not a signed note: text, empty line, lines of signatures.")
        signatures.append((name, data[:4], data[4:]))
    if len(signatures) > SIGNATURES_MAX:
        raise unreadable("signature", f"The checkpoint has more than {SIGNATURES_MAX} signatures.")
    return text, signatures


# --- checkpoints (c2sp.org/tlog-checkpoint)

class Checkpoint:
    """A checkpoint that the log's key signed; cosigned[name] is when a witness saw it. What other keys signed is not looked at."""

    def __init__(self, note, key, witnesses):
        text, signatures = read_note(note)
        lines = text[:-1].split("\n")
        self.origin, self.size = lines[0], read_number(lines[1]) if len(lines) > 2 else None
        self.root = read_base64(lines[2], 32) if len(lines) > 2 else None
        if not self.origin or self.size is None or not self.root or "" in lines[3:]:
            raise unreadable("signature", "The checkpoint's text is not the log's name, its size and its root.")
        if self.origin != key.name:
            raise differs("signature", f"The checkpoint is of the log {self.origin}, the key is that of {key.name}.")
        self.cosigned, is_by_log = {}, False
        for name, number, signature in signatures:
            for signer in (key, *witnesses):
                if (signer.name, signer.id) != (name, number):
                    continue
                time = signer.has_signed(text, signature)
                if time is None:
                    raise differs("witness" if signer.type == WITNESS else "signature",
                                  f"The signature by {name} is wrong: the checkpoint was changed, or another key signed it.")
                is_by_log |= signer is key
                if signer is not key:
                    self.cosigned[name] = max(time, self.cosigned.get(name, 0))
        if not is_by_log:
            raise differs("signature", f"{key.name}+{key.id.hex()} did not sign the checkpoint: other keys did.")


# --- Merkle trees (RFC 9162, 2.1.3.2 and 2.1.4.2)

def leaf_hash(entry):
    return sha256(b"\0", entry)


def node_hash(left, right):
    return sha256(b"\1", left, right)


def is_included(size, root, index, leaf, hashes):
    """Whether the leaf is entry `index` of the tree of `size` entries that has this root."""
    if index >= size:
        return False
    fn, sn, r = index, size - 1, leaf
    for p in hashes:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            r = node_hash(p, r)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            r = node_hash(r, p)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and r == root


def is_grown(old_size, old_root, size, root, hashes):
    """Whether the first `old_size` entries of the tree are the tree of `old_root`."""
    if old_size in (0, size):
        return not hashes and old_root == (root if old_size else sha256())
    if old_size > size:
        return False
    path = list(hashes) if old_size & old_size - 1 else [old_root, *hashes]
    fn, sn = old_size - 1, size - 1
    while fn & 1:
        fn, sn = fn >> 1, sn >> 1
    if not path:
        return False
    fr = sr = path[0]
    for c in path[1:]:
        if sn == 0:
            return False
        if fn & 1 or fn == sn:
            fr, sr = node_hash(c, fr), node_hash(c, sr)
            while not fn & 1 and fn:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node_hash(sr, c)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == old_root and sr == root


# --- the text of a proof (c2sp.org/tlog-proof)

def read_proof(text, note):
    """Index and hashes of a proof under the checkpoint. It ends with the checkpoint that the bundle has, to the byte."""
    head, gap, rest = text.partition("\n\n")
    first, index, *hashes = (head.split("\n") + [""])[:HASHES_MAX + 3]
    hashes = [read_base64(line, 32) for line in hashes[:-1]] if head.count("\n") <= HASHES_MAX + 1 else [None]
    index = read_number(index[6:]) if index.startswith("index ") else None
    if first != "c2sp.org/tlog-proof@v1" or index is None or None in hashes or not gap:
        raise unreadable("inclusion", "A proof is not in the form of c2sp.org/tlog-proof@v1.")
    if rest != note:
        raise differs("inclusion", f"The proof of entry {index} is under another checkpoint than the bundle's.")
    return index, hashes


# --- bundles and receipts: JSON with these members in this order, without blanks and without a newline at the end. A name with "?"
#     may be left out. Strings are as json.dumps(..., ensure_ascii=False) writes them.

TEXT, COUNT, COUNT_OR_NULL = "a string", "a number", "a number or null"
OPENED = {"text": TEXT, "salt": TEXT, "proof": TEXT}
DAY = {"day": TEXT, "of": COUNT_OR_NULL, **OPENED}
BUNDLE = {"v": COUNT, "log": TEXT, "checkpoint": TEXT, "invoice": OPENED, "terms": OPENED, "books": [{"text": TEXT, "proof": TEXT}],
          "days": [DAY], "earlier": [OPENED], "void?": OPENED, "consistency": ({"from": COUNT, "hashes": [TEXT]},)}
RECEIPTS = {"month": TEXT, "log": TEXT, "checkpoint": TEXT, "days": [DAY]}


class Reader:
    """Reads a text by its form: a dict is an object, a list of one form an array, a tuple of one form that form or null."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def has(self, literal):
        found = self.text.startswith(literal, self.at)
        self.at += len(literal) if found else 0
        return found

    def refuse(self, expected):
        return changed("form", f"byte {len(self.text[:self.at].encode()) + 1}: expected {expected}")

    def take(self, literal):
        if not self.has(literal):
            raise self.refuse(literal)

    def read(self, form):
        if isinstance(form, dict):
            return self.read_object(form)
        if isinstance(form, list):
            return self.read_array(form[0])
        if isinstance(form, tuple) or form is COUNT_OR_NULL:
            return None if self.has("null") else self.read(form[0] if isinstance(form, tuple) else COUNT)
        return self.read_string() if form is TEXT else self.read_count()

    def read_object(self, form):
        found, before = {}, "{"
        for name, inner in form.items():
            literal = f'{before}"{name.rstrip("?")}":'
            if name.endswith("?") and not self.text.startswith(literal, self.at):
                continue
            self.take(literal)
            found[name.rstrip("?")] = self.read(inner)
            before = ","
        self.take("}")
        return found

    def read_array(self, form):
        found = []
        self.take("[")
        while not self.has("]"):
            if len(found) == ITEMS_MAX:
                raise self.refuse(f"at most {ITEMS_MAX} items")
            if found:
                self.take(",")
            found.append(self.read(form))
        return found

    def read_string(self):
        try:
            if self.text[self.at:self.at + 1] != '"':
                raise ValueError
            value, end = json.JSONDecoder().raw_decode(self.text, self.at)
        except ValueError:
            raise self.refuse(TEXT) from None
        if self.text[self.at:end] != json.dumps(value, ensure_ascii=False):
            raise self.refuse("a string in its one form")
        self.at = end
        return value

    def read_count(self):
        found = NUMBER.match(self.text, self.at)
        if not found or read_number(found[0]) is None:
            raise self.refuse(COUNT)
        self.at = found.end()
        return int(found[0])


def unpack(data):
    """The bytes, or what gzip packed in them."""
    if data[:2] == b"\x1f\x8b":
        inflate = zlib.decompressobj(wbits=31)
        try:
            data = inflate.decompress(data, FILE_MAX + 1)
        except zlib.error as error:
            raise changed("form", f"gzip: damaged, {error}") from None
        if len(data) <= FILE_MAX and (not inflate.eof or inflate.unused_data):
            raise changed("form", "gzip: it is cut short, or something follows its end")
    if len(data) > FILE_MAX:
        raise unreadable("form", f"The file has more than {FILE_MAX} bytes.")
    return data


def read_file(data):
    data = unpack(data)
    if not data.startswith((b'{"v":', b'{"month":"')):
        raise unreadable("form", "This is no bundle of a bill, and no receipts (is it the PDF?)." if data else "The file is empty: fetch it again.")
    try:
        reader = Reader(data.decode())
    except UnicodeDecodeError as error:
        raise changed("form", f"byte {error.start + 1} is not UTF-8") from None
    found = reader.read(RECEIPTS if reader.text.startswith('{"month":') else BUNDLE)
    if reader.at != len(reader.text):
        raise reader.refuse("the end of the file")
    if found.get("v", 1) != 1:
        raise unreadable("form", f"The bundle is of version {found['v']}; version 1 is known.")
    hashes = (found.get("consistency") or {"hashes": []})["hashes"]
    if len(hashes) > HASHES_MAX or None in [read_base64(line, 32) for line in hashes]:
        raise changed("form", f"the proof of growth: expected at most {HASHES_MAX} times the base64 of 32 bytes")
    return found


def read_json(check, text):
    """A document, terms or a book. Numbers in them are whole and short, and no member is there twice."""
    def short(digits):
        if len(digits) > 20:
            raise ValueError("a number is too long")
        return int(digits)

    def once(pairs):
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("a member is there twice")
        return dict(pairs)

    def refuse(number):
        raise ValueError(f"{number[:20]} is no whole number")

    try:
        if len(text) > TEXT_MAX:  # parsed, it takes some twenty times as much
            raise ValueError("it is too long")
        found = json.loads(text, parse_int=short, parse_float=refuse, parse_constant=refuse, object_pairs_hook=once)
        if not isinstance(found, dict):
            raise ValueError("it is no object")
        return found
    except (ValueError, RecursionError) as error:
        raise unreadable(check, f"A text of the bundle cannot be read: {error}.") from None


# --- entries of the log, and what they commit to

class Log:
    """Opens parts of a bundle: makes the entry that a part has to have in the log, and verifies the proof of it."""

    def __init__(self, note, checkpoint):
        self.note, self.checkpoint, self.entries = note, checkpoint, {}

    def open(self, what, part, entry):
        """entry: the members beside "commit" and "v". Returns the entry's index."""
        if "salt" in part:
            salt = read_base64(part["salt"], 32)
            if not salt:
                raise unreadable("commitments", f"The salt of {what} is not the base64 of 32 bytes.")
            entry = {**entry, "commit": base64.b64encode(sha256(salt, part["text"].encode())).decode()}
        index, hashes = read_proof(part["proof"], self.note)
        leaf = leaf_hash(quote({**entry, "v": 1}).encode())
        if not is_included(self.checkpoint.size, self.checkpoint.root, index, leaf, hashes):
            raise differs("inclusion", f"Entry {index} of the log is not {what} as the file has it: its text, its salt or its proof was changed.")
        if index in self.entries:
            raise differs("inclusion", f"Entry {index} of the log is in the file twice: as {self.entries[index]} and as {what}.")
        self.entries[index] = what
        return index

    def open_day(self, part):
        if not DATE.fullmatch(part["day"]):
            raise unreadable("form", f"\"{part['day'][:20]}\" is no day.")
        again = {} if part["of"] is None else {"of": part["of"]}
        return self.open(f"the usage of {part['day']}", part, {"day": part["day"], "type": "usage", **again})


# --- usage of days: lines of fields with tabs between them, each cell once

ZONE, BALANCER, METER = range(3)


class Usage:
    """Sums over days: bytes by zone and place, requests by zone and by load balancer, values by meter. ties: when zones were
    attached to load balancers, as terms say it; what reaches one through a zone stands in the zone's lines."""

    def __init__(self, ties=()):
        self.days = self.cells = 0
        self.bytes, self.requests, self.balancers, self.meters = (defaultdict(int) for _ in range(4))
        self.ties = defaultdict(list)
        for tie in ties:
            self.ties[tie["zone"]].append(((tie["from"] or "").rstrip("Z"), (tie["to"] or "~").rstrip("Z"), tie["balancer"]))
        for of_zone in self.ties.values():
            of_zone.sort()

    def add(self, day, text):
        last = (-1,)
        if text and not text.endswith("\n"):
            raise unreadable("usage", f"The last line of {day} is cut short.")
        for line in text.split("\n")[:-1]:
            place = self.add_line(day, line.split("\t"))
            if not place or place <= last:
                raise unreadable("usage", f"A line of {day} is none of usage, not in its order or there twice: {line[:100]!r}")
            last = place
            self.cells += 1
        self.days += 1

    def tie_at(self, zone, hour):
        """The load balancer that the zone was attached to, one at a time, or None."""
        ties = self.ties.get(zone, ())
        at = bisect_right(ties, (hour, "~")) - 1
        return ties[at][2] if at >= 0 and hour < ties[at][1] else None

    def add_line(self, day, fields):
        """The line's place in the order; None where it is no line of usage."""
        if fields[0] == "zone" and len(fields) > 4:
            zone, hour, counters = read_number(fields[1]), fields[3], read_counters(day, fields[3], fields[4:])
            if zone is None or counters is None:
                return None
            self.bytes[zone, fields[2]] += counters.get("bytes", 0)
            self.requests[zone] += counters.get("requests", 0)
            tie = self.tie_at(zone, hour.rstrip("Z"))
            if tie:
                self.balancers[tie] += counters.get("balancer_requests", 0)
            return ZONE, zone, fields[2].encode(), hour
        if fields[0] == "load_balancer" and len(fields) == 4:
            balancer, counters = read_number(fields[1]), read_counters(day, fields[2], fields[3:])
            if balancer is None or counters is None:
                return None
            self.balancers[balancer] += counters.get("requests", 0)
            return BALANCER, balancer, fields[2]
        if fields[0] == "meter" and len(fields) == 7 and is_moment(day, fields[5]) and read_number(fields[6]) is not None:
            self.meters[fields[1]] += int(fields[6])
            return (METER, *(field.encode() for field in fields[1:6]))
        return None


def is_moment(day, text):
    return MOMENT.fullmatch(text) is not None and text.startswith(day)


def read_counters(day, hour, fields):
    pairs = [COUNTER.fullmatch(field) for field in fields]
    if None in pairs or not is_moment(day, hour) or len({pair[1] for pair in pairs}) != len(pairs):
        return None
    return {pair[1]: int(pair[2]) for pair in pairs}


KINDS = {"bandwidth", "volume", "override", "percentile", "optimizer", "balancer_fee", "balancer_requests", "meter", "minimum", "fee",
         "discount", "commit", "cap", "charge", "correction"}


# --- documents: canonical JSON with its own sha256, which is over the text without that member

class Document:
    def __init__(self, text, what="The document"):
        changed_since = differs("document", f"{what} in this file was changed after it was made. Fetch it again; do not pay by it.")
        try:
            self.has = has = read_json("document", text)
        except Problem as problem:
            raise problem if len(text) > TEXT_MAX else changed_since from None
        self.sha256 = stated = str(has.get("sha256"))
        if quote(has) != text or sha256(text.replace(f',"sha256":"{stated}"', "", 1).encode()).hex() != stated:
            raise changed_since
        self.number, self.account, self.total = str(has["number"]), has["account"], f"{has['total']} {has['currency']}"
        self.month = has["period"]["start"][:7]
        self.books = {(book["id"], book["sha256"]) for book in (has["book"], *has.get("books", [])) if book and book["id"]}
        self.refers = {has.get("corrects"), *(line["corrects"]["invoice"] for line in has["lines"] if "corrects" in line)} - {None}
        if has["state"] != "final":
            raise differs("document", f"{self.number} is not final.")

    def is_bill_of(self, month):
        return self.month == month and self.has["kind"] == "invoice"

    def check_sums(self):
        """Its amounts add up: lines to the subtotal, with the taxes to the total, with what is paid already to what is payable."""
        has = self.has
        sums = [(has["subtotal"], [line["amount"] for line in has["lines"]]),
                (has["total"], [has["subtotal"], *(tax["amount"] for tax in has["tax"])])]
        if "payable" in has:
            sums.append((has["total"], [has["payable"], has["paid"]]))
        for stated, amounts in sums:
            if not all(AMOUNT.fullmatch(amount) for amount in (stated, *amounts)):
                raise unreadable("document", f"An amount of {self.number} is no decimal.")
            if sum(map(Fraction, amounts)) != Fraction(stated):
                raise differs("document", f"{' + '.join(amounts)[:200]} is not {stated}, which {self.number} states.")
        if not 0 <= Fraction(has.get("paid", "0")) <= max(0, Fraction(has["total"])):
            raise differs("document", f"{self.number} says that {has['paid'][:40]} of {has['total']} is paid.")

    @cached_property
    def stated(self):
        """What its lines say: quantities by (kind, thing, region) of each month, its own and those that it corrects."""
        months = defaultdict(lambda: defaultdict(int))
        for line in self.has["lines"]:
            of, key = self.key_of(line)
            if key[0] not in KINDS:
                raise unreadable("document", f"{self.number} has a line of a kind that is not known: {key[0][:40]}.")
            months[of][key] += whole(line["quantity"])
            for share in line.get("shares", []):
                months[of]["share", f"zone:{share['zone']}", None] += whole(share["bytes"])
        return months


    def key_of(self, line):
        """The month that the line is of, and (kind, thing, region)."""
        of, kind = self.month, line["kind"]
        if kind == "correction":
            of, kind = line["period"]["start"][:7], line["corrects"]["kind"]
        return of, (kind, line["meter"] if kind == "meter" else line["resource"], line["region"])

    def count_lines(self, compared):
        """How many lines are of these pairs of month and key."""
        return sum(self.key_of(line) in compared for line in self.has["lines"])


def whole(text):
    if not WHOLE.fullmatch(text):
        raise ValueError("a quantity is no whole number")
    return int(text)


# --- terms: what was in force. This program reads whose they are, the days and price books they name, and the regions of places.

class Terms:
    def __init__(self, text, document):
        has = read_json("terms", text)
        for name, of_document in (("number", document.number), ("account", document.account), ("month", document.month),
                                  ("kind", document.has["kind"]), ("watermark", document.has["watermark"])):
            if has[name] != of_document:
                raise differs("terms", f"The terms are of another document: their {name} is {has[name]!r}, not {of_document!r}.")
        self.own, self.lates = has["months"], has["lates"]
        self.months = [*self.own, *(month for late in self.lates for month in (*late["before"], late["after"]))]
        self.days = {tuple(day) for month in self.months for day in month["days"]}
        books = [book["book"] for month in self.months for book in (*month["parts"], *month["fees"])]
        self.books = {(book["id"], book["sha256"]) for book in books if book}
        self.billed = {billed["number"] for late in self.lates for billed in late["billed"]}


# --- usage against what the document states

def add_up(month, texts, budget):
    """The usage of a month of the terms, each day once."""
    usage, last = Usage(month["ties"]), ""
    for day, index in month["days"]:
        if day <= last or not day.startswith(month["month"]):
            raise unreadable("usage", f"The terms count {day} twice, or in another month than its own.")
        usage.add(day, texts[index])
        last = day
        if usage.cells > budget:
            raise unreadable("usage", f"The days have more than {CELLS_MAX:,} lines, each time that a month counts them.")
    return usage


def by_region(usage, month):
    """Bytes by (zone, billing region)."""
    regions, sums = {place["code"]: place["region"] for place in month["places"]}, defaultdict(int)
    for (zone, place), count in usage.bytes.items():
        if count and place not in regions:
            raise differs("usage", f"The terms do not say in which region {place} is billed.")
        sums[f"zone:{zone}", regions.get(place)] += count
    return sums


def compare(name, period, stated, after, before=()):
    """stated: what documents say of this month. after: (usage, month of the terms) of what is billed with them; before: nothing, or
    what was billed without them. Returns the keys of `stated` that were compared."""
    sums, counted = defaultdict(int), {meter["id"] for meter in after[1]["meters"] if meter["kind"] == "counter"}
    metered = {meter["id"] for _, month in (after, *before) for meter in month["meters"]}
    volume = {thing for kind, thing, _ in stated if kind == "share"}
    shared, pooled = (sum(count for (kind, *_), count in stated.items() if kind == one) for one in ("share", "volume"))
    is_zoned = shared == pooled  # corrections of the account's volume do not say which zones they are of
    for sign, (usage, month) in ((1, after), *((-1, one) for one in before)):
        for (zone, region), count in () if month["contract"]["percentile"] else by_region(usage, month).items():
            sums["bytes", "of all zones", None] += sign * count
            if is_zoned:
                sums["bytes of", zone, None if zone in volume else region] += sign * count
        for balancer, count in usage.balancers.items():
            sums["requests of", f"load_balancer:{balancer}", None] += sign * count
        for meter in counted:
            sums["units of meter", meter, None] += sign * usage.meters[meter]
    compared = set()
    for (kind, thing, region), quantity in stated.items():
        if kind in ("bandwidth", "override", "volume", "balancer_requests") or (kind == "meter" and thing in counted):
            compared.add((kind, thing, region))
        if kind in ("bandwidth", "override", "volume"):
            sums["bytes", "of all zones", None] -= quantity
        if kind in ("bandwidth", "override", "share") and is_zoned:
            sums["bytes of", thing, None if thing in volume else region] -= quantity
        if kind == "balancer_requests":
            sums["requests of", thing, None] -= quantity
        if kind == "meter" and (thing in counted or thing not in metered):
            sums["units of meter", thing, None] -= quantity
    for (what, thing, region), rest in sorted(sums.items(), key=lambda item: item[0][0] == "bytes"):  # of all zones last
        if rest:
            raise differs("usage", f"The days of {period} {'changed by' if before else 'have'} {abs(rest):,} {'more' if rest > 0 else 'fewer'} {what} {thing}"
                                   f"{' in ' + region if region else ''} than {name} states.")
    return compared


# --- the check

class Check:
    """One file, step by step. said: (check, "ok" or "--", sentence) of each step that was done."""

    def __init__(self, data, key, witnesses=(), since=None, since_name="--since"):
        self.data, self.key, self.witnesses, self.since, self.since_name = data, key, witnesses, since, since_name
        self.said, self.problems, self.usage = [], [], Usage()

    def say(self, check, sentence, mark="ok"):
        self.said.append((check, mark, sentence))

    def attempt(self, *steps):
        """Does the steps until one fails; what failed is kept."""
        try:
            for step in steps:
                step()
        except Problem as problem:
            self.problems.append(problem)
        except (KeyError, TypeError, AttributeError, ValueError, IndexError, RecursionError, MemoryError) as error:
            self.problems.append(unreadable("form", f"A text of the file is not as tollbook writes it: {type(error).__name__}, {str(error)[:100]}."))

    def run(self):
        """Returns the exit status. What counts most is said last."""
        self.attempt(self.read, self.check_checkpoint)
        if not self.problems:
            self.log = Log(self.found["checkpoint"], self.checkpoint)
            self.attempt(self.check_witnesses)
            self.attempt(self.check_growth)
            self.attempt(self.check_receipts if "month" in self.found else self.check_bundle)
        self.problems = sorted(reversed(self.problems), key=lambda problem: -problem.status)
        for problem in self.problems:
            self.say(problem.check, problem.sentence, "NO")
        return self.problems[-1].status if self.problems else 0

    def read(self):
        self.found = read_file(self.data)

    def check_checkpoint(self):
        self.checkpoint = one = Checkpoint(self.found["checkpoint"], self.key, self.witnesses)
        if self.found["log"] != one.origin:
            raise differs("signature", f"The file says that its log is {self.found['log'][:100]}, its checkpoint is of {one.origin}.")
        self.say("signature", f"{one.origin} signed its checkpoint: {one.size:,} entries, checkpoint {in_fours(one.root.hex())}")

    def check_witnesses(self):
        one = self.checkpoint
        for witness in self.witnesses:
            if witness.name not in one.cosigned:
                raise unreadable("witness", f"{witness.name} did not cosign the checkpoint.")
            self.say("witness", f"{witness.name} cosigned it, {show_time(one.cosigned[witness.name])}")

    def check_growth(self):
        new, proof = self.checkpoint, self.found.get("consistency")
        if not self.since:
            return self.say("growth", "not checked: no older checkpoint was given (--since)", "--")
        try:
            old = Checkpoint(self.since, self.key, ())
        except Problem:
            raise unreadable("growth", f"The old checkpoint in {self.since_name} was changed, or is not this log's: use an unaltered copy.") from None
        if old.size > new.size:
            raise unreadable("growth", f"The file's checkpoint is older than yours, which has {old.size:,} entries: fetch the file again.")
        if old.size == new.size:
            if old.root != new.root:
                raise differs("growth", f"The log has two histories: another root of {new.size:,} entries was signed before.")
            return self.say("growth", "the checkpoint is the older one")
        if not proof or proof["from"] != old.size:
            raise unreadable("growth", f"The file has no proof that the log grew from {old.size:,} entries: ask for one with since={old.size}.")
        hashes = [read_base64(line, 32) for line in proof["hashes"]]
        if not is_grown(old.size, old.root, new.size, new.root, hashes):
            raise differs("growth", f"The log has two histories: it does not begin with the {old.size:,} entries that were signed before.")
        return self.say("growth", f"the log only grew since it had {old.size:,} entries")

    def open_days(self, month=None):
        """The texts of the days by their entries, which ascend."""
        texts, last = {}, -1
        for part in self.found["days"]:
            index = self.log.open_day(part)
            if index <= last or (month and not part["day"].startswith(month)):
                raise unreadable("form", f"The usage of {part['day']} is not in its place.")
            texts[index], last = part, index
        return texts

    def say_usage(self):
        usage = self.usage
        self.say("usage", f"{usage.days} days, {usage.cells:,} cells (a zone, a place, an hour each): {sum(usage.bytes.values()):,} bytes, "
                          f"{sum(usage.requests.values()):,} requests")

    def check_receipts(self):
        month = self.found["month"]
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}", month):
            raise unreadable("form", f"\"{month[:20]}\" is no month.")
        days = self.open_days(month)
        if len({part["day"] for part in days.values()}) != len(days):
            raise unreadable("usage", "A day is there twice.")
        self.say("inclusion", f"the usage of {len(days)} days of {month} is in the log")
        for part in days.values():
            self.usage.add(part["day"], part["text"])
        self.say_usage()

    def check_bundle(self):
        self.document = one = Document(self.found["invoice"]["text"])
        entry = self.log.open(f"the document {one.number}", self.found["invoice"], {"month": one.month, "type": "invoice"})
        self.log.open("the terms", self.found["terms"], {"month": one.month, "type": "terms"})
        terms = Terms(self.found["terms"]["text"], one)
        self.check_books(terms)
        days = self.open_days()
        self.check_days(terms, days)
        self.check_earlier(terms)
        moment = self.open_void()
        self.say("inclusion", f"all {len(self.log.entries)} parts of the file are in the log: the document, its terms, price books "
                              f"({len(self.found['books'])}), days ({len(days)}), earlier documents ({len(self.found['earlier'])})")
        one.check_sums()
        self.say("document", f"{one.number} of account {one.account} for {one.month}: its lines and taxes come to {one.total}")
        self.say("PDF", f"compare: {one.number}, {one.month}, {one.total}, log {self.checkpoint.origin}, entry {entry}, "
                        f"fingerprint {in_fours(one.sha256)}", "--")
        self.check_usage(terms, {index: part["text"] for index, part in days.items()})
        self.say("prices", "not checked here: multiply quantities and prices yourself, or use tollbook-check", "--")
        if moment:
            raise differs("void", f"{one.number} was made void, {moment}: nothing is due by it.")

    def check_books(self, terms):
        """The books in the file are those by which the document was made; the log has them by name and hash."""
        found = set()
        for part in self.found["books"]:
            try:
                book = read_json("books", part["text"]).get("book")
            except Problem as problem:
                raise problem if len(part["text"]) > TEXT_MAX else differs("books", "A price book in this file is not as it was written.") from None
            digest = hashlib.sha256(part["text"].encode()).hexdigest()
            self.log.open(f"the price book {str(book)[:64]}", part, {"book": book, "sha256": digest, "type": "book"})
            found.add((book, digest))
        needed = self.document.books | terms.books
        for book, _ in found - needed:
            raise differs("books", f"{self.document.number} was not made by the price book {book} that is in the file.")
        for book, _ in sorted(needed - found):
            raise unreadable("books", f"The price book {book}, which {self.document.number} names, is missing: fetch the file again.")

    def check_days(self, terms, days):
        found = {(part["day"], index) for index, part in days.items()}
        for day, index in sorted(found - terms.days):
            raise differs("usage", f"The usage of {day}, entry {index} of the log, is not what {self.document.number} was made from.")
        for day, index in sorted(terms.days - found):
            raise unreadable("usage", f"The usage of {day}, entry {index} of the log, is missing: {self.document.number} was made from it.")

    def check_earlier(self, terms):
        self.earlier = {}
        for part in self.found["earlier"]:
            one = Document(part["text"], "An earlier document")
            self.log.open(f"the document {one.number}", part, {"month": one.month, "type": "invoice"})
            if one.account != self.document.account:
                raise differs("document", f"{one.number} is of account {one.account}, {self.document.number} of {self.document.account}.")
            self.earlier[one.number] = one
        named = self.document.refers | terms.billed
        for number in sorted(named - self.earlier.keys()):
            raise unreadable("document", f"{number} is missing, which {self.document.number} corrects.")
        for number in self.earlier.keys() - named - {self.document.has.get("replaces")}:
            raise differs("document", f"{self.document.number} does not refer to {number}.")

    def open_void(self):
        """When the document was made void, or None."""
        part = self.found.get("void")
        if not part:
            return None
        self.log.open("the void", part, {"type": "void"})
        void = read_json("document", part["text"])
        if void["number"] != self.document.number:
            raise unreadable("document", f"The void in the file is of {void['number']}.")
        return void["voided"]

    def check_usage(self, terms, texts):
        """The days come to the quantities that the document states, and the corrections to what changed."""
        stated, compared, budget = self.document.stated, set(), CELLS_MAX
        months = [month["month"] for month in (*terms.own, *terms.lates)]
        for month in stated.keys() - set(months):
            raise differs("usage", f"{self.document.number} corrects {month}, of which the terms say nothing.")
        if len(set(months)) != len(months):
            raise unreadable("terms", "The terms have a month twice.")
        def use(month):
            nonlocal budget
            usage = add_up(month, texts, budget)
            budget -= usage.cells
            return usage, month

        for month in terms.own:
            self.usage, _ = after = use(month)
            compared |= {(month["month"], key) for key in compare(self.document.number, month["month"], stated[month["month"]], after)}
        for late in terms.lates:
            billed = {one["number"] for one in late["billed"]}
            if len(late["before"]) != bool(billed):
                raise differs("usage", f"The terms correct {late['month']} from what no document billed, or hide what one did.")
            bills = {number for number in billed if self.earlier[number].is_bill_of(late["month"])}
            if (bills or late["invoice"]) and late["invoice"] not in bills:
                raise differs("usage", f"The corrections of {late['month']} do not go on from its bill, {' '.join(bills) or late['invoice']}.")
            before, after = [use(month) for month in late["before"]], use(late["after"])
            compared |= {(late["month"], key) for key in compare(self.document.number, late["month"], stated[late["month"]], after, before)}
            if before and late["invoice"] in billed:  # all that was billed before is in documents
                was = defaultdict(int)
                for number in billed:
                    for key, quantity in self.earlier[number].stated[late["month"]].items():
                        was[key] += quantity
                compare(late["invoice"], late["month"], was, before[0])
        self.say_usage()
        count, lines = self.document.count_lines(compared), len(self.document.has["lines"])
        self.say("quantities", f"the days come to the quantities of {f'all {lines}' if count == lines else f'{count} of the {lines}'} lines of "
                               f"{self.document.number}{'' if count == lines else ': the others do not add up counts of days'}")


def show_time(seconds):
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return f"{seconds} seconds after 1970"


def check(data, key, witnesses=(), since=None, since_name="--since"):
    """The exit status, what to say: (check, "ok", "--" or "NO", sentence), and the usage."""
    one = Check(data, key, witnesses, since, since_name)
    status = one.run()
    return status, one.said, one.usage


RESULTS = ["all that was checked agrees", "SOMETHING DIFFERS", "it cannot be checked"]
NEXT = defaultdict(lambda: "Keep this file, and fetch it again into another folder. If that is wrong too, do not pay by it: send the operator this answer.", {
    "signature": "Compare the key with the one that you were given first, and fetch the file again. If it stays wrong, do not pay by it: ask the operator.",
    "growth": "Fetch the file again. If it stays wrong, keep both files: they show anybody what the operator signed.",
    "void": "Pay nothing by it. Ask the operator for the document that replaces it."})


def printable(text):
    return "".join(c if c.isprintable() else "?" for c in text)


def show_limits(said):
    done = {step for step, mark, _ in said if mark == "ok"}
    limits = ["that all usage was recorded and measured rightly", "that others are shown the same log (--witness)" * ("witness" not in done),
              "that nothing was taken out of the log before (--since)" * ("growth" not in done)]
    if "document" in done:
        limits += ["that terms and prices are as agreed", "whether it is paid, or was made void later"]
    print(f"  Not shown: {'; '.join(filter(None, limits))}.")


def show(name, status, said, usage, zones):
    print(f"{name}: {RESULTS[status]}")
    for step, mark, sentence in said:
        print(f"  {step:<11} {mark}  {printable(sentence)}")
    if status == 0:
        show_limits(said)
    elif status == 1:
        print(f"  Next: {NEXT[said[-1][0]]}")
    for zone in sorted(usage.requests) if zones else ():
        count = sum(count for (of, _), count in usage.bytes.items() if of == zone)
        print(f"  zone {zone}: {count:,} bytes, {usage.requests[zone]:,} requests")


def read_key(text, type_):
    line = text if "+" in text else Path(text).read_bytes()[:4096].decode(errors="replace").split("\n")[0]
    if "+" not in line:
        raise unreadable("key", f"{text} is no public key, and no file with one.")
    key = Key(line)
    if key.type != type_:
        raise unreadable("key", f"{key.name} is the key of a {'log' if key.type == LOG else 'witness'}.")
    return key


def main():
    parser = argparse.ArgumentParser(description="Checks a bill of tollbook by its bundle, or the receipts of a month.")
    parser.add_argument("--key", metavar="VKEY", required=True, help="the log's public key, or a file with it")
    parser.add_argument("--witness", metavar="VKEY", action="append", default=[], help="a witness that has to have cosigned")
    parser.add_argument("--since", metavar="CHECKPOINT", help="a file with an older checkpoint of the log")
    parser.add_argument("--zones", action="store_true", help="also print bytes and requests of each pull zone")
    parser.add_argument("files", metavar="FILE", nargs="+")
    words = parser.parse_args()
    statuses = []
    try:
        key, witnesses = read_key(words.key, LOG), [read_key(text, WITNESS) for text in words.witness]
        since = Path(words.since).read_bytes().decode(errors="replace") if words.since else None
        for name in words.files:
            with open(name, "rb") as file:
                status, said, usage = check(file.read(FILE_MAX + 1), key, witnesses, since, words.since)
            statuses.append(status)
            show(name, status, said, usage, words.zones)
    except (Problem, OSError) as error:
        sentence = f"{error.filename} cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        print(f"check.py: {printable(sentence)}", file=sys.stderr)
        return 2
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
