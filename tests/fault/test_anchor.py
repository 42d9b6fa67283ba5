"""Anchors: a careful forger (forge.c) changes a row and makes every seal, sum and chain fit again. What
verify cannot see then, `verify --against` must; and nothing that the program itself adds later may
look like a change.
"""
import hashlib
import json
import re
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import rich
from faults import PATIENCE, TOLLBOOK, require
from rich import DECEMBER, FORGE, JANUARY, LOGS, NOVEMBER, OCTOBER, SEPTEMBER

FOR_EVER = 2**63 - 1
LATER = "2027-01-20T09:00:00Z"

NEWEST = "(SELECT number FROM invoice ORDER BY id DESC LIMIT 1)"  # no later text tells of it

# Table: edits of which an anchor alone tells, once all is sealed again.
FORGED = {
    "ledger": ["UPDATE ledger SET amount='11' WHERE reference='last'",
               "UPDATE ledger SET at_us=at_us+1 WHERE reference='last'",
               "DELETE FROM ledger WHERE reference='last'",
               "UPDATE ledger SET note='x' WHERE reference='last'"],
    "invoice": [f"UPDATE ledger SET at_us=at_us+1 WHERE reference={NEWEST};"
                f"UPDATE month_run SET run_us=run_us+1 WHERE invoice={NEWEST};"
                f"UPDATE invoice SET finalized_us=finalized_us+1 WHERE number={NEWEST}"],
    "segment": ["UPDATE segment SET source='elsewhere' WHERE id=2",
                "UPDATE segment SET hash=zeroblob(16) WHERE id=3",
                "UPDATE segment SET added_us=added_us-1 WHERE id=1"],
    "key": ["UPDATE key SET roles=2048 WHERE id=1",
            f"UPDATE key SET revoked_us={FOR_EVER},revoked_version={FOR_EVER} WHERE id=2",
            "UPDATE key SET account=3 WHERE id=1", "UPDATE key SET hash=randomblob(32) WHERE id=4",
            "DELETE FROM key WHERE id=4"],
    "series": ["UPDATE series_new SET owner=998 WHERE scope=1 AND owner=999;"
               "UPDATE series_placed SET owner=998 WHERE scope=1 AND owner=999"],
    "edge": ["UPDATE edge SET code='XY' WHERE code='XX'"],
    "shadow_book": ["UPDATE shadow_book SET added_us=added_us+1 WHERE id=1"],
    "scenario": ["UPDATE scenario SET added_us=added_us+1 WHERE id=1",
                 "DELETE FROM scenario WHERE id=3"],
    "book": ["UPDATE book SET added_us=added_us+1 WHERE id=1",
             "UPDATE book SET version=version-1 WHERE name='standard-2027'"],
    "shadow_bill": ["UPDATE shadow_bill SET made_us=made_us+1 WHERE account=2"],
    "closing": ["UPDATE closing SET closed_us=closed_us+1 WHERE id=1",
                f"UPDATE closing SET reopened_us={FOR_EVER},reopened_version={FOR_EVER} WHERE id=3"],
    "declaration": ["UPDATE declaration SET document=replace(document,'images-1','images-9')"
                    " WHERE kind='zone' AND id=103",
                    "UPDATE declaration SET to_us=to_us+1 WHERE kind='shield_zone' AND id=41"
                    " AND closed_version<9223372036854775807"],
    "attachment": [f"UPDATE attachment SET to_us=to_us+1 WHERE to_us<{FOR_EVER} AND balancer=7"],
    "region_billing": ["UPDATE region_billing SET billing='AF' WHERE code='JP' AND version=0"],
    "account": ["UPDATE account SET declared_us=declared_us+1 WHERE id=2"],
    "zone": ["UPDATE zone SET declared_us=declared_us+1 WHERE id=102"],
    "balancer": ["UPDATE balancer SET declared_us=declared_us+1 WHERE id=8"],
    "audit": ["UPDATE audit SET at_us=at_us+1 WHERE id=2", "UPDATE audit SET key=1 WHERE id=2",
              "UPDATE audit SET origin='x' WHERE id=4", "UPDATE audit SET operation='x' WHERE id=3",
              "UPDATE audit SET arguments='{}' WHERE id=1",
              "DELETE FROM audit WHERE id=(SELECT max(id) FROM audit)",
              "DELETE FROM audit WHERE id=2;UPDATE audit SET id=id-1 WHERE id>2"],
    "shield_zone": ["UPDATE shield_zone SET declared_us=declared_us+1 WHERE id=42"],
}
# What verify finds even so, since other rows tell it.
FOUND = (
    "UPDATE ledger SET amount='11' WHERE reference='wire-1'",
    "UPDATE ledger SET at_us=at_us+1 WHERE reference='2026-000003';"
    "UPDATE invoice SET finalized_us=finalized_us+1 WHERE number='2026-000003'",
    "UPDATE zone SET settings='{}' WHERE id=101",
    "UPDATE zone SET created_us=created_us+1 WHERE id=101",
    "UPDATE zone SET name='x' WHERE id=102",
    "UPDATE zone SET deleted_us=deleted_us+1 WHERE id=401",
    "UPDATE account SET name='x' WHERE id=1",
    "UPDATE balancer SET created_us=created_us+1 WHERE id=8",
    "UPDATE balancer SET ended_us=1 WHERE id=8",
    "UPDATE shield_zone SET zone=102 WHERE id=41",
    "UPDATE shield_zone SET name='x' WHERE id=41",
    "DELETE FROM correction WHERE invoice=11 AND month=680",
    "UPDATE correction SET month=month+1 WHERE invoice=10",
    "UPDATE correction SET since=since+3 WHERE invoice=9",
    "UPDATE correction SET since=(SELECT watermark FROM invoice WHERE id=1) WHERE invoice=9",
    "INSERT INTO correction VALUES(10,1,681,7,0)",
    "UPDATE invoice SET since=0 WHERE kind='credit_note'",
    "UPDATE invoice SET since=7 WHERE id=1",
    "UPDATE invoice SET finalized_us=finalized_us+1 WHERE id=1",
    "UPDATE invoice SET voided_us=voided_us-1 WHERE state='void'",
    "UPDATE invoice SET voided_us=1 WHERE id=1",
    "DELETE FROM late WHERE id=1",
    "DELETE FROM audit WHERE id=2",
    "UPDATE audit SET key=99 WHERE id=2",
    "UPDATE region SET billing='AF' WHERE code='DE'",
)
MALFORMED = ("", "x", "1", "-", "1-1", "13-1-1", "g-1", "13-1--1-", "ff" * 40)


class Trial:
    def __init__(self, folder):
        self.folder = folder
        self.m = rich.rich(folder)
        self.m.take({"zone": 999, "hour": "2026-12-05T05:00:00Z", "region": "XX", "requests": 1},
                    now=LOGS)
        self.m.tool("ledger", "pay", "--account", 3, "--amount", 3, "--reference", "last")
        self.digest = self.anchor()

    def anchor(self, db=None, now=LOGS):
        done = subprocess.run([TOLLBOOK, "anchor", "--db", db or self.m.db], capture_output=True,
                              env={"TOLLBOOK_NOW": now}, check=False, timeout=PATIENCE)
        require(done.returncode == 0, "anchor:", done.stderr)
        found = re.fullmatch(rf"([0-9a-f-]{{1,255}}) {re.escape(now)}\n(\S+\n\d+\n\S+\n\n\u2014 .*\n)?", done.stdout.decode())
        require(found, "anchor printed", done.stdout)
        return found.group(1)

    def verify(self, db, *words):
        done = subprocess.run([TOLLBOOK, "verify", "--db", db, *words], capture_output=True,
                              check=False, timeout=PATIENCE)
        return done.returncode, (done.stdout + done.stderr).decode()

    def against(self, db, digest=None):
        return self.verify(db, "--against", digest or self.digest)

    def forged(self, sql, db=None):
        copy = self.folder / "forged.db"
        shutil.copyfile(db or self.m.db, copy)
        done = subprocess.run([FORGE, copy, sql], capture_output=True, check=False)
        require(done.returncode == 0, sql, done.stderr.decode())
        return copy


def forgeries(t):
    n = 0
    for table, edits in FORGED.items():
        for sql in edits:
            copy = t.forged(sql)
            status, said = t.verify(copy)
            require(status == 0, table, "verify alone sees it:", sql, said)
            status, said = t.against(copy)
            require(status == 1 and "anchor" in said, table, "not seen:", sql, status, said)
            n += 1
    for sql in FOUND:
        status, said = t.verify(t.forged(sql))
        require(status == 1, "verify does not see:", sql, status, said)
    print(f"{n} forgeries told by the anchor alone, {len(FOUND)} by verify")


def closings(t):
    """A forger who is careful about closings: each month's text fits the next one's, its hash is its own."""
    reader = sqlite3.connect(f"file:{t.m.db}?mode=ro", uri=True)
    kept = {i: json.loads(text) for i, text in reader.execute("SELECT id,document FROM closing")}
    rows = dict(reader.execute("SELECT month,id FROM closing WHERE reopened_us=9223372036854775807"))
    reader.close()
    accrued = [(m, row) for m in sorted(rows) if m + 1 in rows for row in kept[rows[m]]["accruals"]]
    require(accrued, "nothing is accrued in a month whose next is closed")

    def forged(month, change):
        sql = ""
        for i, part in ((rows[month], "accruals"), (rows.get(month + 1), "reversed")):
            if not i:
                continue
            text = json.loads(json.dumps(kept[i]))
            change(text, text[part], part)
            text = json.dumps(text, separators=(",", ":"), sort_keys=True)
            digest = hashlib.sha256(text.encode()).hexdigest()
            sql += f"UPDATE closing SET document='{text}',sha256='{digest}' WHERE id={i};"
        return t.verify(t.forged(sql))

    month, row = accrued[0]
    account = row["account"]
    only = lambda change: lambda text, list_, part: [change(r) for r in list_ if r["account"] == account]
    changes = {
        "the same": (0, lambda text, list_, part: None),
        "an amount": (1, only(lambda r: r["products"].update({k: "77.77" for k in r["products"]}))),
        "a product": (1, only(lambda r: r["products"].update(minimum="0.01"))),
        "a currency": (1, only(lambda r: r.update(currency="EUR"))),
        "one less": (1, lambda text, list_, part: list_.remove(next(r for r in list_ if r["account"] == account))),
        "one more": (1, lambda text, list_, part: list_.append(
            {"account": 99, "currency": "USD", "products": {"bandwidth": "5.00"}})),
        "a code": (1, lambda text, list_, part: text["codes" if part == "accruals" else "reversed_codes"]["USD"]
                   .update(revenue="4001")),
        "a key": (1, lambda text, list_, part: text.update(note="x")),
    }
    for name, (status, change) in changes.items():
        done, said = forged(month, change)
        require(done == status and ("The closing of" in said) == bool(status), "closing,", name, done, said)
    print(f"{len(changes) - 1} changes of closings found")


def balances(t):
    """An invoice that does not say what the balance has paid of it, of an account that is prepaid and of one that is not."""
    for prepaid in (True, False):
        m = rich.Maker(t.folder, f"prepaid-{prepaid}.db")
        m.tool("apply", "--delete", "-", now=SEPTEMBER, stdin=json.dumps({
            "accounts": [{"id": 1, "name": "a", "prepaid": prepaid}],
            "zones": [{"id": 101, "account": 1, "name": "z", "created": "2026-01-05T00:00:00Z"}]}))
        m.book()
        m.tool("ledger", "pay", "--account", 1, "--amount", 3, "--reference", "top", now=OCTOBER)
        m.take(rich.usage(101, "2026-10-08", 500), now=NOVEMBER)
        m.finalize("2026-10", NOVEMBER)
        text = m.tool("query", "SELECT document FROM invoice").split("\n")[1]
        made = json.loads(text)
        require(made["drawn"] == "0.00" and made["paid"] == "3.00", "what the text says", text)
        changed = dict(made, paid="0.00", payable=made["total"])
        changed.pop("drawn")
        bare = json.dumps({k: v for k, v in made.items() if k != "sha256"}, separators=(",", ":"), sort_keys=True)
        require(hashlib.sha256(bare.encode()).hexdigest() == made["sha256"], "the hash is made so")
        bare = json.dumps({k: v for k, v in changed.items() if k != "sha256"}, separators=(",", ":"), sort_keys=True)
        changed["sha256"] = hashlib.sha256(bare.encode()).hexdigest()
        new = json.dumps(changed, separators=(",", ":"), sort_keys=True)
        status, said = t.verify(m.db)
        require(status == 0, "before", said)
        status, said = t.verify(t.forged(f"UPDATE invoice SET document='{new}',sha256='{changed['sha256']}'", m.db))
        require(status == 1 and "says that the balance paid" in said, "not found:", status, said)


def words(t):
    """What is no digest, and one of a newer tollbook."""
    parts = t.digest.split("-")
    for text in (*MALFORMED, t.digest[:-1], t.digest + "0", t.digest.upper(), " " + t.digest,
                 "-".join(["ff", *parts[1:]]), "-".join(parts[:3] + parts[4:])):
        status, said = t.verify(t.m.db, f"--against={text}")
        require(status == 2 and "digest" in said.lower(), repr(text), status, said)
    status, said = t.against(t.m.db, "-".join([*parts[:-1], "0" * 64]))
    require(status == 1, "another hash is taken:", said)
    status, said = t.against(t.m.db, "-".join([parts[0], "fffff", *parts[2:]]))
    require(status == 1 and "older copy" in said, said)


def older(t):
    """A copy from before a payment is put back."""
    copy = t.folder / "older.db"
    shutil.copyfile(t.m.db, copy)
    t.m.tool("ledger", "pay", "--account", 1, "--amount", 5, "--reference", "later", now=LOGS)
    newer = t.anchor()
    status, said = t.against(copy, newer)
    require(status == 1 and "ledger entries" in said, said)
    require(t.against(t.m.db, newer)[0] == 0, "the newer file is not taken")


def additions(t):
    """Each step is what an operator does; the anchor of before every step still holds."""
    m = t.m
    changed = json.loads(rich.catalog(3))
    changed["zones"][0]["settings"]["EUUSDiscount"] = 55
    changed["zones"].append({"id": 777, "account": 3, "name": "new"})
    again = json.loads(json.dumps(changed))
    again["zones"][0]["settings"]["EUUSDiscount"] = 56
    again["load_balancers"][0]["zones"] = [101, 103]
    steps = {
        "usage": lambda: m.take(rich.usage(101, "2026-12-03", 9), now=JANUARY),
        "late usage": lambda: m.take(rich.usage(101, "2026-11-03", 9), now=JANUARY),
        "usage of a new zone and place": lambda: m.take(rich.usage(888, "2026-12-03", 9, "YY"),
                                                        now=LOGS),
        "a log": lambda: m.tool("ingest", "-", stdin=rich.log_line(1, 101, rich.DAY_MS + 7),
                                now=LOGS),
        "a catalogue": lambda: m.tool("apply", "--delete", "-", stdin=json.dumps(changed), now=JANUARY),
        "another at the same moment": lambda: m.tool("apply", "--delete", "-", stdin=json.dumps(again),
                                                     now=JANUARY),
        "the first again": lambda: m.tool("apply", "--delete", "-", stdin=json.dumps(changed), now=JANUARY),
        "zones gone": lambda: m.apply(2, JANUARY), "zones back": lambda: m.apply(3, LATER),
        "a month": lambda: m.finalize("2026-12", JANUARY),
        "a void": lambda: m.tool("invoice", "--void", "2026-000015", now=JANUARY),
        "the month again": lambda: m.finalize("2026-11", JANUARY),
        "a payment": lambda: m.tool("ledger", "pay", "--account", 2, "--amount", 7,
                                    "--reference", "w", now=JANUARY),
        "a key": lambda: m.tool("key", "create", "--account", 1, "--role", "User", now=JANUARY),
        "a key revoked": lambda: m.tool("key", "revoke", "--id", 1, now=JANUARY),
        "a key revoked twice": lambda: m.tool("key", "revoke", "--id", 1, now=DECEMBER),
        "a book": lambda: m.book(book="b9", effective_from="2031-01-01T00:00:00Z", now=JANUARY),
        "a shadow": lambda: m.book("--shadow", book="s9", effective_from="2032-01-01T00:00:00Z"),
        "a shadow dropped": lambda: m.tool("book", "drop", "shadow-0", now=JANUARY),
        "a shadow activated": lambda: m.tool("book", "activate", "s9", "--anyway",
                                             now=JANUARY),
        "a scenario": lambda: m.tool("scenario", "add", "-", stdin=json.dumps(
            {"scenario": "s9", "base": "standard-2026",
             "usage": [{"region": "EU", "factor": "2.00"}]})),
        "events": lambda: m.take(rich.event(999, 41, 0), now=LOGS),
        "logs gone": lambda: m.serve(LATER),
    }
    anchors = {"nothing": t.digest}
    for step, take in steps.items():
        take()
        for before, digest in anchors.items():
            status, said = t.against(m.db, digest)
            require(status == 0, step, "after", before, "looks like a change:", said)
        anchors = {"nothing": t.digest, step: t.anchor()}
    blocks = m.tool("query", "SELECT count(*) FROM log_block").split()[1]
    require(blocks == "0", "the old logs are still there:", blocks)
    print(len(steps), "honest additions")


def readers(t):
    """Of a backup it is the same; and so it is beside a server."""
    copy = t.folder / "backup.db"
    t.m.tool("backup", "--to", copy)
    require(t.anchor(copy) == t.anchor(), "a backup has another anchor")
    port = t.folder / "port"
    with subprocess.Popen([TOLLBOOK, "serve", "--db", t.m.db, "--listen", "127.0.0.1:0",
                           "--port-file", port], env={"TOLLBOOK_NOW": LATER},
                          stderr=subprocess.DEVNULL) as server:
        while not port.exists():
            require(server.poll() is None, "no server")
        require(t.anchor() == t.anchor(copy), "a server changes the anchor")
        require(t.against(t.m.db)[0] == 0, "a server looks like a change")
        server.terminate()


with tempfile.TemporaryDirectory(prefix="tollbook-anchor-") as place:
    trial = Trial(Path(place))
    for part in (words, forgeries, closings, balances, older, additions, readers):
        part(trial)
