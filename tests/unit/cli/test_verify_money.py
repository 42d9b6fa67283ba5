"""One thing changed in what money rests on, past every trigger: verify finds it and names it, and
backup makes no copy of it.
"""
import hashlib
import json
import re
import shutil
import sqlite3
import unittest
from test_billing import BOOK, CATALOG, DECEMBER, NOVEMBER, balancer, row
from tool import Case, line

FIRST, LATEST = "2026-000001", "2026-000004"
SETTINGS = {"EUUSDiscount": 10, "OptimizerEnabled": True}


def flipped(name, column, where):
    """One byte of a blob."""
    def change(db):
        (blob,) = db.execute(f"SELECT {column} FROM {name} WHERE {where}").fetchone()
        changed = bytearray(blob)
        changed[len(changed) // 2] ^= 1
        db.execute(f"UPDATE {name} SET {column}=? WHERE {where}", (bytes(changed),))
    return change


def said(sql):
    return lambda db: db.execute(sql)


def another_price(db):
    """With a hash that fits: only the invoices remember the old one."""
    (text,) = db.execute("SELECT document FROM book WHERE name='standard-2026'").fetchone()
    text = text.replace('"EU":"0.01"', '"EU":"0.02"')
    db.execute("UPDATE book SET document=?,sha256=? WHERE name='standard-2026'",
               (text, hashlib.sha256(text.encode()).hexdigest()))


def rewritten(before, after):
    """An invoice's text, with a hash that fits it."""
    def change(db):
        (text, old) = db.execute("SELECT document,sha256 FROM invoice WHERE number=?",
                                 (FIRST,)).fetchone()
        assert before in text, text
        text = text.replace(before, after, 1)
        new = hashlib.sha256(text.replace(f',"sha256":"{old}"', "").encode()).hexdigest()
        db.execute("UPDATE invoice SET document=?,sha256=? WHERE number=?",
                   (text.replace(old, new), new, FIRST))
    return change


LAST = "key=(SELECT max(key) FROM chunk WHERE (key&131072){})"
CHANGES = {
    "a counter of an hour": (flipped("chunk", "data", LAST.format("=0")),
                             "Load balancer 7, 2026-10-03: its hours are damaged"),
    "a counter of a day": (flipped("chunk", "data", LAST.format("<>0")),
                           "Load balancer 7, 2026-10: its days are damaged"),
    "a counter that came late": (flipped("late", "data", "id=1"), "Late usage 1 is damaged"),
    "late usage taken away": (said("DELETE FROM late WHERE id=1"), f"Invoice {FIRST}"),
    "late usage of another day": (said("UPDATE late SET day=day+1 WHERE id=1"), "Late usage 1"),
    "a price": (said("UPDATE book SET document=replace(document,'0.045','0.046')"),
                "Book standard-2026: its text has the SHA-256"),
    "a price and its hash": (another_price, f"Invoice {FIRST}: "),
    "when a book begins": (said("UPDATE book SET effective_us=effective_us+3600000000"),
                           "Book standard-2026"),
    "an index of books": (said("UPDATE book_span SET last_hour=last_hour-1"),
                          "The index of books has standard-2026"),
    "an index of invoices": (said("UPDATE invoice_span SET first_hour=first_hour+1 WHERE id=1"),
                             f"The index of invoices has {FIRST}"),
    "a byte of an invoice": (said("UPDATE invoice SET document=replace(document,"
                                  "'\"amount\":\"2.70\"','\"amount\":\"2.60\"')"),
                             f"Invoice {FIRST}: its text has the SHA-256"),
    "an invoice and its hash": (rewritten('"amount":"2.70"', '"amount":"2.60"'),
                                f"Invoice {FIRST}: rated again it differs"),
    "the day of issue": (said("UPDATE invoice SET finalized_us=finalized_us+86400000000"),
                         f"Invoice {FIRST}: its text says that it was issued on 2026-11-20"),
    "the day of issue in the text": (rewritten('"issued":"2026-11-20"', '"issued":"2026-11-21"'),
                                     f"Invoice {FIRST}: its text says that it was issued"),
    "where the ledger stood": (rewritten('"ledger":{"count":0', '"ledger":{"count":1'),
                               f"Invoice {FIRST}: its text says that it followed ledger entry 1 "),
    "what was paid": (rewritten('"paid":"0.00"', '"paid":"1.00"'),
                      f"Invoice {FIRST}: it cannot be read"),
    "an invoice's total": (said(f"UPDATE invoice SET total='9' WHERE number='{FIRST}'"),
                           f"Invoice {FIRST}: its text says otherwise"),
    "an invoice's watermark": (said("UPDATE invoice SET watermark=watermark-1 WHERE id=1"),
                               f"Invoice {FIRST}: its text says otherwise"),
    "a ledger amount": (said("UPDATE ledger SET amount='-1' WHERE id=1"), "Ledger entry 1 "),
    "a payment": (said("UPDATE ledger SET amount='101' WHERE kind='payment'"), "Ledger entry "),
    "the last ledger entry": (said("DELETE FROM ledger WHERE id=(SELECT max(id) FROM ledger)"),
                              f"Invoice {LATEST} is not in the ledger"),
    "what a correction is of": (said("UPDATE correction SET since=since-1"),
                                "where nothing ended"),
    "what a zone was declared to be then":
        (said("UPDATE declaration SET document=replace(document,'\"EUUSDiscount\":10',"
              "'\"EUUSDiscount\":11') WHERE kind='zone' AND id=101 AND to_us<9223372036854775807"),
         f"Invoice {FIRST}: rated again it differs"),
    "what a zone is declared to be":
        (said("UPDATE declaration SET document=replace(document,'static','dynamic')"
              " WHERE kind='zone' AND id=102 AND to_us=9223372036854775807"), "zone 102"),
    "a tax": (said("UPDATE declaration SET document=replace(document,'22','23')"
                   " WHERE kind='account' AND id=1"), f"Invoice {FIRST}|account 1"),
    "when a balancer was declared": (said("UPDATE declaration SET document=replace(document,"
                                          "'2026-01-10','2026-10-10') WHERE kind='balancer'"),
                                     f"Invoice {FIRST}|balancer 7"),
    "which balancer a zone was attached to": (said("UPDATE attachment SET to_us=5"),
                                              f"Invoice {FIRST}|ttach"),
    "where a location was billed": (said("UPDATE region_billing SET billing='AF' WHERE code='DE'"),
                                    f"Invoice {FIRST}|Region DE"),
}


class VerifyMoney(Case):
    def run_invoice(self, month, now):
        self.run_tool("invoice", "--db", "t.db", "--month", month, "--finalize", now=now)

    def fill(self):
        catalog = json.loads(json.dumps(CATALOG))
        catalog["zones"][0]["settings"] = SETTINGS
        self.write("c.json", json.dumps(catalog))
        self.run_tool("apply", "--db", "t.db", "c.json", now="2026-09-01T00:00:00Z")
        self.run_tool("book", "--db", "t.db", self.write("book.json", json.dumps(BOOK)))
        rows = [row(101, "2026-10-03T05:00:00Z", bytes=300 * 10**9, requests=1000),
                row(102, "2026-10-04T05:00:00Z", bytes=450 * 10**9),
                row(201, "2026-10-05T00:00:00Z", "SG", bytes=10**6), balancer(51500000),
                row(999, "2026-10-03T05:00:00Z", bytes=1)]  # nobody's
        log = "".join(line(n, ms=1790985600000 + n) for n in range(40))  # 2026-10-03
        self.run_tool("import", "--db", "t.db", "-", stdin="".join(rows).encode(), now=NOVEMBER)
        self.run_tool("ingest", "--db", "t.db", "-", stdin=log.encode(), now=NOVEMBER)
        self.run_invoice("2026-10", NOVEMBER)
        self.run_tool("ledger", "pay", "--db", "t.db", "--account", 1, "--amount", "100",
                      "--reference", "wire", now=NOVEMBER)
        self.run_tool("import", "--db", "t.db", "-", now=NOVEMBER, stdin=row(
            101, "2026-10-08T05:00:00Z", bytes=10**9).encode())
        catalog["zones"][0]["settings"] = {**SETTINGS, "EUUSDiscount": 20}
        self.write("c.json", json.dumps(catalog))
        self.run_tool("apply", "--delete", "--db", "t.db", "c.json", now=NOVEMBER)
        self.run_invoice("2026-11", DECEMBER)
        # Weeks later, so that what waits in runs goes to its place.
        self.run_tool("import", "--db", "t.db", "-", now=DECEMBER,
                      stdin=row(999, "2026-11-25T05:00:00Z", bytes=1).encode())

    def refuse_to_copy(self, first):
        """backup says what verify said first, and leaves nothing behind."""
        done = self.run_tool("backup", "--db", "t.db", "--to", "copy.db", status=1)
        self.assertIn(f"The copy does not agree with itself: {first[:200]}", done.err)
        self.assertEqual(list(self.folder.glob("copy.db*")), [])

    def test_each_change_is_found_and_named(self):
        self.fill()
        self.run_tool("verify", "--db", "t.db")
        self.run_tool("backup", "--db", "t.db", "--to", "kept.db")
        shutil.copy(self.folder / "t.db", self.folder / "good.db")
        for what, (change, named) in CHANGES.items():
            with self.subTest(what):
                for end in ("-wal", "-shm"):
                    (self.folder / f"t.db{end}").unlink(missing_ok=True)
                shutil.copy(self.folder / "good.db", self.folder / "t.db")
                self.change(change)
                done = self.run_tool("verify", "--db", "t.db", "--format", "table", status=1)
                self.assertTrue(re.search(named, done.out), f"{what}: {named}\n{done.out}")
                self.refuse_to_copy(done.out.splitlines()[0])


if __name__ == "__main__":
    unittest.main()
