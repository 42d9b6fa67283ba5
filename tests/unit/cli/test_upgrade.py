"""Databases of earlier schemas (fixtures/db): a reader says what to do, a writing command upgrades them, they
answer and bill as their own tollbook did, and they go on living. A newer schema is refused; a damaged old file is
refused as it is, or reported. The oldest schema, the previous one and one that the seed draws; TB_LONG=1: all.

Nothing here knows the newest schema's number: it is that of a fresh database.
"""
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import unittest
from pathlib import Path

from tool import LONG, TOOL, Case, random_seed

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])
FILES = SOURCE / "fixtures" / "db"
sys.path.insert(0, str(FILES))
from ask import Served, Tool, ask  # noqa: E402
from make import DOLLAR, EURO, NOVEMBER, SECRET, balancer, catalog, event, row  # noqa: E402

DECEMBER = "2026-12-02T06:00:00Z"
SEED = random_seed()
ALL = sorted(int(path.stem[1:]) for path in FILES.glob("v*.sql"))
VERSIONS = ALL if LONG else [ALL[0], random.Random(SEED).choice(ALL[1:-1]), ALL[-1]]
PAGE = 8192
BYTES = 10**9
# What one tollbook said more than another is no difference; what it said otherwise is one.
# Request logs of schemas 7 and 8 are not kept: no released tollbook wrote them in that form.
DROPPED = {7: re.compile(r"/logs\?|\.log$"), 8: re.compile(r"/logs\?|\.log$")}


def taxed_by_month(document):
    return any("month" in row for row in document["tax"])


def differences(old, new, at=""):
    """Where an answer does not hold what it held."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key, value in old.items():
            if key.endswith("Token"):
                continue  # under a secret of the server that was asked
            if key == "sha256" and old.get("state") == "draft":
                continue  # a draft is written with the members of today
            if key in ("tax", "total", "payable") and old.get("state") == "draft" and taxed_by_month(new):
                continue  # up to schema 24 a document's taxes were on its corrections too
            if key not in new:
                yield f"{at}.{key} is gone"
            else:
                yield from differences(value, new[key], f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, value in enumerate(old):
            yield from differences(value, new[i], f"{at}[{i}]")
    elif old != new:
        yield f"{at} was {json.dumps(old)[:200]}, is {json.dumps(new)[:200]}"


def user_version(path):
    with sqlite3.connect(path) as db:
        (number,) = db.execute("PRAGMA user_version").fetchone()
    db.close()
    return number


class Upgrade(Case):
    def setUp(self):
        super().setUp()
        self.newest = user_version(self.folder / "t.db")
        self.tool = Tool(TOOL, NOVEMBER)

    def load(self, version, name="old.db"):
        """The database as its tollbook left it."""
        for end in ("", "-wal", "-shm", ".lock"):
            (self.folder / f"{name}{end}").unlink(missing_ok=True)
        db = sqlite3.connect(self.folder / name, isolation_level=None)
        db.executescript((FILES / f"v{version}.sql").read_text())
        db.execute("PRAGMA journal_mode=WAL")
        db.close()
        return self.folder / name

    def take(self, db, *rows, now=NOVEMBER):
        self.run_tool("import", "--db", db, "-", now=now,
                      stdin="".join(json.dumps(r) + "\n" for r in rows).encode())

    def upgrade(self, version):
        """By a writing command that has nothing to write."""
        db = self.load(version)
        said = self.run_tool("ingest", "--db", db, "--log-level", "debug", "-", now=NOVEMBER).err
        self.assertEqual(user_version(db), self.newest)
        self.assertRegex(said, rf"tollbook ingest: {db} was upgraded from schema {version} to {self.newest} in \d+\.\d s\. Older")
        steps = re.findall(rf"upgrade from schema {version} to {self.newest}: at (\d+)\n", said)
        self.assertEqual([int(step) for step in steps], list(range(version, self.newest)))
        self.assertNotIn("upgrade", self.run_tool("ingest", "--db", db, "--log-level", "debug", "-", now=NOVEMBER).err)
        return db

    def each(self, check, versions=VERSIONS):
        self.assertTrue(versions)
        for version in versions:
            with self.subTest(schema=version):
                check(version)

    def test_a_reader_of_an_older_file_says_what_to_do(self):
        def check(version):
            db = self.load(version)
            before = db.read_bytes()
            for words in (("verify",), ("stats", "--account", 1), ("query",),
                          ("backup", "--to", "copy.db"), ("key", "list")):
                more = ("SELECT 1",) if words == ("query",) else ()
                said = self.run_tool(*words, "--db", db, *more, status=3, now=NOVEMBER).err
                self.assertIn(f"has the older schema {version}. Back it up with the tollbook that"
                              " wrote it; any writing command of this one upgrades it.", said)
            self.assertEqual(db.read_bytes(), before)
            self.assertEqual(list(self.folder.glob("copy.db*")), [])

        self.each(check, [v for v in VERSIONS if v < self.newest])

    def test_it_answers_and_bills_as_its_own_tollbook_did(self):
        def check(version):
            expected = json.loads((FILES / f"v{version}.expected").read_text())
            anchors = expected.pop("anchors", [])
            db = self.upgrade(version)
            for digest in anchors:
                self.run_tool("verify", "--db", db, "--against", digest)
            self.verify(db)
            found = ask(self.tool, db, version)
            for kind, answers in expected.items():
                self.assertEqual(len(answers), len(found[kind]), f"{kind}: other questions")
                for (*asked, old), (*_, new) in zip(answers, found[kind]):
                    if version in DROPPED and DROPPED[version].search(str(asked[-1])):
                        self.assertEqual(new["status"], 200)
                        continue
                    self.assertEqual(list(differences(old, new)), [], f"{kind} {asked}")
            self.verify(db)

        self.each(check)

    def test_a_key_tampered_with_before_its_name_was_sealed_is_still_found(self):
        for change, found in (("UPDATE key SET roles=2048 WHERE id=1", "Key 1"),
                              ("UPDATE key SET revoked_us=9223372036854775807 WHERE id=2", "Key 2"),
                              ("DELETE FROM key WHERE id=6", "able key")):
            with self.subTest(change=change):
                db = self.load(26)
                with sqlite3.connect(db) as opened:
                    (trigger,) = opened.execute("SELECT sql FROM sqlite_schema WHERE name='key_resealed'").fetchone()
                    opened.execute("DROP TRIGGER key_resealed")
                    opened.execute(change)
                    opened.execute(trigger)
                opened.close()
                self.run_tool("ingest", "--db", db, "-", now=NOVEMBER)
                self.assertEqual(user_version(db), self.newest)
                self.assertIn(found, self.run_tool("verify", "--db", db, "--format", "table", status=1, now=NOVEMBER).out)

    def test_a_sealed_key_is_still_shown(self):
        secret = self.folder / self.write("secret", SECRET)
        secret.chmod(0o600)
        def check(version):
            db = self.upgrade(version)
            (hint,) = self.query("SELECT hint FROM key WHERE sealed IS NOT NULL", db)[0]
            with Served(self.tool, db, "--secret-file", secret) as server:
                keys = server.get(1, "/apikey")["said"]["Items"]
            self.assertIn(hint, [item["Key"][:len(hint)] for item in keys
                                 if re.fullmatch("[0-9a-f]{48}", item["Key"])])

        self.each(check, [v for v in VERSIONS if v >= 6])

    def begin_to_bill(self, db, version):
        """Schema 1 knew no money."""
        if version > 1:
            return
        for book in (DOLLAR, EURO):
            self.run_tool("book", "add", "--db", db, "-", stdin=json.dumps(book).encode())
        for month in ("2026-09", "2026-10"):
            self.run_tool("invoice", "--db", db, "--month", month, "--finalize", now=NOVEMBER)

    def test_it_goes_on_living(self):
        def check(version):
            db = self.upgrade(version)
            self.begin_to_bill(db, version)
            before = self.query("SELECT number,document FROM invoice", db)
            declared = json.dumps(catalog(True, version)).encode()
            self.run_tool("apply", "--delete", "--db", db, "-", stdin=declared, now=NOVEMBER)
            self.take(db, row(101, "10-29T05", bytes=11 * BYTES), row(102, "11-05T05", "NY", bytes=5),
                      row(201, "11-06T00", "SG", bytes=70 * BYTES), balancer("11-05T05", 70000000),
                      event(42, 1793707200000, 900), now=DECEMBER[:5] + "11-06T09:00:00Z")
            self.assertIn("2026-10", self.run_tool("invoice", "--db", db, "--late").out)
            done = self.run_tool("invoice", "--db", db, "--month", "2026-11", "--finalize",
                                 now=DECEMBER)
            lines = json.loads(done.out)["invoices"][0]["lines"]
            corrected = {line["corrects"]["invoice"] for line in lines if "corrects" in line}
            self.assertTrue(corrected)
            self.assertLessEqual(corrected, {number for number, _ in before})
            after = self.query("SELECT number,document FROM invoice", db)
            self.assertEqual(after[:len(before)], before)
            self.assertGreater(len(after), len(before))
            self.run_tool("invoice", "--db", db, "--void", after[-1][0], now=DECEMBER)
            self.run_tool("ledger", "pay", "--db", db, "--account", 1, "--amount", "1",
                          "--reference", "afterwards", now=DECEMBER)
            self.verify(db)
            self.run_tool("backup", "--db", db, "--to", f"copy{version}.db")
            self.verify(f"copy{version}.db")

        self.each(check)

    def test_pull_zones_of_every_file_are_counted_and_listed(self):
        def check(version):
            with Served(self.tool, self.upgrade(version)) as server:
                self.assertEqual(server.get(1, "/pullzone/count")["said"], {"Count": 3})
                page = server.get(1, "/pullzone?page=1&perPage=100")["said"]
                self.assertEqual([zone["Id"] for zone in page["Items"]], [101, 102, 103])

        self.each(check)

    def test_a_newer_schema_is_refused_as_it_is(self):
        db = self.folder / "t.db"
        with sqlite3.connect(db) as opened:
            opened.execute(f"PRAGMA user_version={self.newest + 1}")
        opened.close()
        before = db.read_bytes()
        for words in (("verify",), ("ingest",), ("apply",), ("key", "list"), ("serve",),
                      ("backup", "--to", "copy.db")):
            operand = ("-",) if words in (("ingest",), ("apply",)) else ()
            said = self.run_tool(*words, "--db", db, *operand, status=3,
                                 stdin=b'{"accounts":[],"zones":[]}').err
            self.assertIn(f"has schema {self.newest + 1}, this tollbook knows up to {self.newest};"
                          " use the newer tollbook.", said)
        self.assertEqual(db.read_bytes(), before)

    def damage(self, version, rng, pages):
        """Each of these pages in turn: whether the file was refused or reported."""
        good = self.load(version, "good.db").read_bytes()
        db = self.folder / "old.db"
        refused = 0
        for page in pages:
            for end in ("-wal", "-shm", ".lock"):
                (self.folder / f"old.db{end}").unlink(missing_ok=True)
            bad = good[:page * PAGE] + rng.randbytes(PAGE) + good[(page + 1) * PAGE:]
            db.write_bytes(bad)
            done = self.tool.run("ingest", "--db", db, "-", expect=(0, 3))
            if done.returncode == 3:
                refused += 1
                self.assertIn(b"old.db", done.stderr)
                self.assertEqual(db.read_bytes(), bad, f"page {page}: refused and changed")
                continue
            said = self.tool.run("verify", "--db", db, expect=(0, 1))
            self.assertEqual(said.returncode, 1, f"page {page}: damage that nobody sees")
        return refused

    def test_a_damaged_old_file_is_refused_as_it_is_or_reported(self):
        rng = random.Random(SEED)
        def check(version):
            total = self.load(version, "good.db").stat().st_size // PAGE
            pages = rng.sample(range(1, total), min(12, total - 1))
            refused = self.damage(version, rng, [0, *pages])
            self.assertGreater(refused, 0)

        self.each(check, VERSIONS[::3])


if __name__ == "__main__":
    unittest.main()
