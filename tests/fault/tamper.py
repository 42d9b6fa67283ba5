"""Editing a database behind the program's back, as somebody would who knows SQLite: the triggers are
taken away, values changed with every constraint off that can be, the triggers put back.
"""
import re
import shutil
import sqlite3
from pathlib import Path


class Rewriter:
    """A file without its triggers, of which changed copies with all triggers are made."""

    def __init__(self, path):
        self.path = Path(path)
        self.stripped = self.path.with_suffix(".stripped")
        shutil.copy(self.path, self.stripped)
        with sqlite3.connect(self.stripped) as db:
            db.execute("PRAGMA journal_mode=DELETE")
            self.triggers = db.execute("SELECT type,name,tbl_name,rootpage,sql FROM sqlite_schema"
                                       " WHERE type='trigger' ORDER BY rowid").fetchall()
            for row in self.triggers:
                db.execute(f"DROP TRIGGER {row[1]}")
        db.close()
        self.tables = self.read_tables()

    def read_tables(self):
        with sqlite3.connect(self.stripped) as db:
            names = db.execute("SELECT name,sql FROM sqlite_schema WHERE type='table'"
                               " AND name NOT LIKE 'sqlite_%' ORDER BY name").fetchall()
            tables = [Table(db, name, sql) for name, sql in names]
        db.close()
        return tables

    def copy(self, to, change):
        """A copy with change(db) made: False where the file refuses it."""
        shutil.copyfile(self.stripped, to)
        db = sqlite3.connect(to, isolation_level=None)
        try:
            db.execute("PRAGMA synchronous=OFF")
            db.execute("PRAGMA journal_mode=MEMORY")
            db.execute("PRAGMA ignore_check_constraints=ON")
            db.execute("BEGIN")
            try:
                if change(db) is False:
                    return False
            except sqlite3.IntegrityError:
                return False
            db.execute("PRAGMA writable_schema=ON")
            db.executemany("INSERT INTO sqlite_schema VALUES(?,?,?,?,?)", self.triggers)
            db.execute("COMMIT")
            return True
        finally:
            db.close()


class Table:
    def __init__(self, db, name, sql):
        self.name, self.sql = name, sql
        info = db.execute(f"PRAGMA table_info({name})").fetchall()
        self.columns = [row[1] for row in info]
        self.types = {row[1]: row[2] for row in info}
        self.virtual = sql.startswith("CREATE VIRTUAL")
        key = [row[1] for row in sorted(info, key=lambda row: row[5]) if row[5]]
        self.key = key if "WITHOUT ROWID" in sql else ["rowid"]
        rows = db.execute(f"SELECT {','.join(self.key)},* FROM {name} ORDER BY"
                          f" {','.join(self.key)}").fetchall()
        self.ids = [row[:len(self.key)] for row in rows]
        self.rows = [dict(zip(self.columns, row[len(self.key):])) for row in rows]
        self.choices = {column: self.choice(column) for column in self.columns}
        self.where = " AND ".join(f"{column}=?" for column in self.key)

    def choice(self, column):
        """The values that a CHECK allows, where it lists them."""
        found = re.search(rf"CHECK\({column} IN\(([^)]*)\)", self.sql)
        if not found:
            return []
        return [int(v) if v.strip().isdigit() else v.strip().strip("'")
                for v in found.group(1).split(",")]

    def some(self, n=3):
        """The first, the last and those in the middle."""
        last = len(self.rows) - 1
        return sorted({last * i // max(1, n - 1) for i in range(n)}) if self.rows else []

    def set(self, i, column, value):
        return lambda db: db.execute(f"UPDATE {self.name} SET {column}=? WHERE {self.where}",
                                     (value, *self.ids[i])).rowcount == 1

    def delete(self, i):
        return lambda db: db.execute(f"DELETE FROM {self.name} WHERE {self.where}",
                                     self.ids[i]).rowcount == 1

    def delete_all(self):
        return lambda db: db.execute(f"DELETE FROM {self.name}").rowcount > 0

    def duplicate(self, i, salt=0):
        """The row again under another key: numbers move on, texts and blobs get another end."""
        row = dict(self.rows[i])
        unique = set(self.key) | {c for c in self.columns if re.search(
            rf"\b{c} [A-Z ]+UNIQUE", self.sql)} | ({"id"} & set(self.columns))
        if self.name == "invoice":
            unique |= {"serial"}
        for column in unique & set(self.columns):
            if isinstance(row[column], int):
                row[column] = (self.choices[column] and row[column]) or (
                    max(r[column] for r in self.rows if isinstance(r[column], int)) + 1 + salt)
            elif isinstance(row[column], bytes):
                row[column] = flipped(row[column], len(row[column]) - 1)
            elif not self.choices[column] and self.types[column] == "TEXT":
                row[column] = another_text(row[column], len(row[column]) - 1)
        names = [c for c in self.columns if c != "rowid"]
        marks = ",".join("?" * len(names))
        return lambda db: db.execute(f"INSERT INTO {self.name}({','.join(names)}) VALUES({marks})",
                                     [row[c] for c in names]).rowcount == 1

    def swap(self, i, j):
        """Two rows change all that is not their key."""
        def change(db):
            names = [c for c in self.columns if c not in self.key and c != "id"
                     and self.rows[i][c] != self.rows[j][c]]
            done = False
            for column in names:
                for a, b in ((i, j), (j, i)):
                    try:
                        db.execute(f"UPDATE {self.name} SET {column}=? WHERE {self.where}",
                                   (self.rows[b][column], *self.ids[a]))
                        done = True
                    except sqlite3.IntegrityError:
                        pass
            return done
        return change


def flipped(blob, at, bit=0):
    changed = bytearray(blob or b"\0")
    changed[max(0, min(at, len(changed) - 1))] ^= 1 << bit
    return bytes(changed)


def another_text(text, at):
    if not text:
        return "x"
    at = max(0, min(at, len(text) - 1))
    old = text[at]
    new = {"9": "8", "z": "y", "Z": "Y"}.get(old) or (
        chr(ord(old) + 1) if old.isalnum() and ord(old) < 128 else "x")
    return text[:at] + new + text[at + 1:]


def others(table, column, value, accounts=()):
    """Other values of the same kind, the likeliest to be legal first."""
    kinds = [v for v in table.choices[column] if v != value and isinstance(v, type(value))]
    if column == "account" and isinstance(value, int):
        kinds += [a for a in accounts if a != value][:2]
    if isinstance(value, bool) or value is None:
        return kinds + [{"INTEGER": 1, "TEXT": "x", "BLOB": b"x" * 88}.get(table.types[column], 1)]
    if isinstance(value, int):
        far = value + 10**12 if -10**17 < value < 10**17 else value // 2
        return kinds + [value + 1 if value < 2**63 - 1 else value - 1,
                        value - 1 if value > -2**63 else value + 1, far]
    if isinstance(value, float):
        return kinds + [value + 1, -value - 0.5]
    n = len(value)
    if isinstance(value, str):
        return kinds + [another_text(value, at) for at in (n // 2, 0, n - 1)]
    return kinds + [flipped(value, at, bit) for at, bit in ((0, 0), (n // 2, 3), (n - 1, 7))]
