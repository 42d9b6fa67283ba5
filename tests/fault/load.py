"""Writes of each kind, which a client sends again until they are acknowledged, and how often each is in a database.

Each write has a number that no other one has. Its lines, references and names have it, so that a database says which writes
it has, whatever answered them.
"""
import json
import sqlite3
import threading
from dataclasses import dataclass, field

from harness import hit

CHARGES = 900  # an account has at most a thousand that wait for a document
JSON = {"Content-Type": "application/json"}
MONTHS = [f"2026-{month:02}" for month in range(2, 11)]  # that are over by the tests' clock


@dataclass
class Write:
    kind: str
    number: int
    path: str
    key: str  # a name of a server's keys
    body: bytes
    headers: dict = field(default_factory=dict)
    lines: int = 0   # of a batch
    answer: object = None  # of the acknowledgement

    def send(self, wire, keys):
        """The answer, or None where the connection ended without one."""
        return wire.ask("POST", self.path, {"AccessKey": keys[self.key], **self.headers}, self.body)

    @property
    def repeats(self):
        """Whether it may be sent again: a key is made anew each time."""
        return self.kind != "key"


def operation(write, number, name, **members):
    return Write(write, number, f"/operations/{name}", "operator", json.dumps(members).encode(), JSON)


def batch_body(rng, number):
    """Lines with this number as their second and in their bytes, so that no two batches have equal ones."""
    return b"".join(hit(rng.choice((101, 102)), number % 3600, number * 1000 + i) for i in range(rng.randrange(1, 9)))


def make(rng, kind, number):
    if kind in ("named batch", "batch"):
        body = batch_body(rng, number)
        named = {"Idempotency-Key": f"batch-{number}"} if kind == "named batch" else {}
        return Write(kind, number, "/ingest/logs", "ingest", body, named, body.count(b"\n"))
    if kind == "payment":
        return operation(kind, number, "ledger-enter", account=1, kind="payment", amount=f"{number}.00", reference=f"payment {number}")
    if kind == "charge":
        return operation(kind, number, "charge-add", account=2, amount=f"{number}.00", month="2026-11", description="one-off",
                         reference=f"charge {number}")
    if kind == "month":
        return operation(kind, number, "invoice", month=MONTHS[number % len(MONTHS)], finalize=True)
    return Write(kind, number, "/keys", "operator", json.dumps({"Account": 2, "Roles": ["User"]}).encode(), JSON)


class Load:
    """Writes of any kind, one after another, by a test's dice. Safe for several threads."""

    KINDS = ("named batch",) * 4 + ("batch",) * 4 + ("payment", "payment", "charge", "month", "key")

    def __init__(self, rng, first=1):
        self.rng, self.number, self.lock = rng, first - 1, threading.Lock()
        self.months = self.charges = 0
        self.acknowledged = []

    def write(self, kind=None):
        with self.lock:
            self.number += 1
            kind = kind or self.rng.choice(self.KINDS)
            if kind == "month":
                self.months += 1
                return make(self.rng, kind, self.months - 1) if self.months <= len(MONTHS) else make(self.rng, "payment", self.number)
            self.charges += kind == "charge"
            if kind == "charge" and self.charges > CHARGES:
                kind = "payment"
            return make(self.rng, kind, self.number)

    def acknowledge(self, write, answer):
        write.answer = answer
        with self.lock:
            self.acknowledged.append(write)


def in_file(path):
    """{(kind, number): how often}, of the writes that are told apart by the file."""
    def count(sql):
        return db.execute(sql).fetchall()
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        found = {("named batch", int(name.rsplit("-", 1)[1])): lines for name, lines in
                 count("SELECT name,sum(accepted) FROM segment WHERE name LIKE '%batch-%' GROUP BY name")}
        found |= {("payment", int(what.split()[1])): n for what, n in
                  count("SELECT reference,count(*) FROM ledger WHERE reference LIKE 'payment %' GROUP BY reference")}
        found |= {("charge", int(what.split()[1])): n for what, n in
                  count("SELECT reference,count(*) FROM charge WHERE reference LIKE 'charge %' GROUP BY reference")}
    db.close()
    return found
