"""Continuous backup, and restoring to each of its pieces: the restored file has what the database had then, however the
backup was killed meanwhile. What is damaged, cut off, missing or doubled is named, with what can still be restored."""
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import unittest

from tool import BUILD, DAY_MS, LONG, NOW, TOOL, Case, lines, random_seed

REPLAY = BUILD / "tests" / "fault" / "replay"
SEED = random_seed()
ROUNDS = 60 if LONG else 3


def content(path):
    """All rows but those of replication itself."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        names = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type='table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
                                              " AND name NOT LIKE 'sqlite_%' AND name<>'piece'")]
        tables = {name: sorted(db.execute(f"SELECT * FROM {name}"), key=repr) for name in names}
    db.close()
    tables["meta"] = [row for row in tables["meta"] if row[0] != "epoch"]
    tables["head"] = [row for row in tables["head"] if row[0] != "meta"]  # the sum of its seals
    return tables


class Followed(Case):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.minute = 0
        self.replicate()
        self.d = self.folder / "d"

    def replicate(self):
        subprocess.run([REPLAY, "on", self.folder / "t.db", str((DAY_MS + (12 * 60 + self.minute) * 60000) * 1000)], check=True)

    def now(self):
        return f"2026-11-20T{12 + self.minute // 60:02}:{self.minute % 60:02}:00Z"

    def backup(self, *words, **more):
        return self.run_tool("backup", "--db", "t.db", "--follow", "d", "--once", *words, now=self.now(), **more)

    def restore(self, *words, **more):
        done = self.run_tool("restore", "d", "--out", "r.db", *words, **more)
        done.facts = dict(row.split(" ", 1) for row in done.out.splitlines())
        return done

    def commit(self):
        """One piece, a minute after the one before; returns its number."""
        self.minute += 1
        if self.minute == 1:
            self.apply(now=self.now())
        else:
            n = self.minute * 10
            self.run_tool("ingest", "--db", "t.db", self.write(f"{n}.log", lines(n, n + 5)), now=self.now())
        return self.piece()

    def piece(self, db="t.db"):
        with sqlite3.connect(f"file:{self.folder / db}?mode=ro", uri=True) as file:
            number = file.execute("SELECT max(id) FROM piece").fetchone()[0]
        file.close()
        return number

    def files(self, kind=""):
        return sorted(path.name for path in self.d.glob(f"{kind}*-*Z-*"))

    def made(self, n=4):
        """A backup of n pieces after its base, a file each."""
        self.backup()
        for _ in range(n):
            self.commit()
            self.backup()
        self.assertEqual(len(self.files("pieces")), n)

    def same(self, found, expected, what=""):
        self.assertEqual([name for name in expected if found.get(name) != expected[name]], [], f"{what}, seed {SEED}")

    def as_restored(self):
        found = content(self.folder / "r.db")
        for path in self.folder.glob("r.db*"):
            path.unlink()
        return found


class Whole(Followed):
    def test_each_piece_is_restored_as_it_was_whatever_was_killed(self):
        was = {}
        for _ in range(ROUNDS):
            for _ in range(self.random.randint(1, 3)):
                number = self.commit()
                was[number] = content(self.folder / "t.db")
            how = self.random.choice((["--once"], ["--every", "10ms"]))
            process = self.start("backup", "--db", "t.db", "--follow", "d", "--base-every", "3m", *how)
            try:
                process.wait(timeout=self.random.random() * 0.15)
            except subprocess.TimeoutExpired:
                process.send_signal(self.random.choice((signal.SIGKILL, signal.SIGTERM)))
            self.end(process)
        self.backup()
        self.assertEqual([name for name in os.listdir(self.d) if not name.startswith((".lock", "base-", "pieces-"))], [])
        first = min(int(name.split("-")[2].split(".")[0]) for name in self.files("base"))
        for piece, rows in was.items():
            if piece < first:
                continue
            done = self.restore("--piece", piece)
            self.assertEqual(done.facts["piece"], str(piece))
            self.same(self.as_restored(), rows, f"piece {piece}")
        self.restore()
        self.same(self.as_restored(), rows)

    def test_a_base_is_a_backup_for_status(self):
        def status(expect):
            done = self.run_tool("status", "--db", "t.db", "--json", "--verify-hours", 0, "--min-free-mb", 0, status=expect, now=self.now())
            answer = json.loads(done.out)
            return answer["lastBackup"], answer["lastBase"], [row["problem"] for row in answer["problems"]]

        self.commit()
        self.assertEqual(status(1), (None, None, ["backup"]))
        self.backup()
        self.assertTrue((self.folder / "t.db.last-base").exists())
        backup, base, problems = status(0)
        self.assertEqual((backup, problems), (None, []))
        self.assertRegex(base, r"^\d{4}-\d\d-\d\dT")

    def test_a_backup_that_goes_on_ends_with_all_there_is(self):
        process = self.start("backup", "--db", "t.db", "--follow", "d")
        for text in process.stderr:
            if b"is a verified base" in text:
                break
        self.commit()
        number = self.commit()
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read().decode()
        self.assertEqual(process.wait(), 0)
        self.assertIn(f"d has all up to piece {number} of", said)
        done = self.restore()
        self.assertEqual(done.facts["piece"], str(number))
        self.assertEqual(done.facts["anchor"], self.run_tool("anchor", "--db", "t.db").out.split()[0])
        self.assertEqual(self.query("SELECT count(*) FROM piece", "r.db"), [["0"]])
        self.verify("r.db")
        self.run_tool("restore", "d", "--out", "r.db", status=3)

    def test_moments(self):
        self.commit()
        self.made(3)
        for at, piece in (("12:01:59", 2), ("12:02:00", 3), ("12:03:59.5", 4), ("12:04:00", 5)):
            done = self.restore("--at", f"2026-11-20T{at}Z")
            self.assertEqual(done.facts["piece"], str(piece), at)
            self.as_restored()
        done = self.restore("--at", "2026-11-20T14:00:00+01:00")
        self.assertIn("d ends before that moment. It is restored as of its last piece: --piece 5 (2026-11-20T12:04:00.000000Z).", done.err)
        self.as_restored()
        done = self.restore("--at", "2026-11-20T12:00:59Z", status=2)
        self.assertIn("d begins later: the first state that it has is --piece 2 (2026-11-20T12:01:00.000000Z).", done.err)
        done = self.restore("--piece", 6, status=2)
        self.assertIn("d ends before piece 6. What can be restored is --piece 5 (2026-11-20T12:04:00.000000Z).", done.err)
        self.assertIn("exclude", self.restore("--piece", 6, "--at", NOW, status=2).err)
        self.assertIn("RFC 3339", self.restore("--at", "yesterday", status=2).err)
        self.assertFalse([name for name in os.listdir(self.folder) if name.startswith("r.db")])


class Damage(Followed):
    def test_a_damaged_file_is_named_with_what_can_be_restored(self):
        self.made()
        path = self.d / self.files("pieces")[2]
        whole = path.read_bytes()
        for harm, why in ((lambda b: b[:-1], "cut off"), (lambda b: b"", "cut off"),
                          (lambda b: b[:200] + bytes([b[200] ^ 1]) + b[201:], "does not follow"),
                          (lambda b: b"x" + b[1:], "damaged here"), (lambda b: b[:80], "no piece")):
            path.write_bytes(harm(whole))
            said = self.restore(status=3).err
            self.assertRegex(said, rf"{re.escape(path.name)}: byte \d+: .*{why}")
            self.assertIn("What can be restored is --piece 3 (2026-11-20T12:02:00.000000Z).", said)
        self.restore("--piece", 3)
        self.as_restored()
        # The backup does not need it: it goes on behind the newest file. A damaged newest one makes a base.
        self.commit()
        self.assertIn("goes on behind piece 5", self.backup().err)
        newest = self.d / self.files("pieces")[-1]
        newest.write_bytes(newest.read_bytes()[:-1])
        said = self.backup().err
        self.assertIn(f"{newest.name}: byte ", said)
        self.assertIn("A new base is made.", said)
        self.assertEqual(self.restore().facts["piece"], "6")

    def test_of_a_damaged_file_what_is_whole_is_restored(self):
        self.backup()
        for _ in range(3):
            self.commit()
        self.backup()
        path = self.d / self.files("pieces")[0]
        whole = path.read_bytes()
        cut = whole.rindex(b"tbpiece1")
        for harmed, why in ((whole[:-1], "is not whole"), (whole[:cut], "It has the pieces 2 to 3, and its name says others")):
            path.write_bytes(harmed)
            said = self.restore(status=3).err
            self.assertIn(why, said)
            self.assertIn("What can be restored is --piece 3 (2026-11-20T12:02:00.000000Z).", said)
            for words in (("--piece", 3), ("--at", "2026-11-20T12:01:30Z")):
                self.restore(*words)
                self.as_restored()

    def test_missing_and_doubled_files(self):
        self.made()
        names = self.files("pieces")
        shutil.copy(self.d / names[1], self.d / f"copy of {names[1]}")
        shutil.copy(self.d / names[1], self.d / names[1].replace("T1202", "T1159"))
        self.restore()
        self.as_restored()
        (self.d / names[1].replace("T1202", "T1159")).unlink()
        (self.d / names[1]).unlink()
        said = self.restore(status=2).err
        self.assertIn("Pieces 3 to 3 are missing", said)
        self.assertIn("What can be restored is --piece 2 (2026-11-20T12:01:00.000000Z).", said)
        self.restore("--piece", 2)
        self.as_restored()
        self.restore("--at", "2026-11-20T12:02:30Z", status=2)
        said = self.backup().err
        self.assertIn("d: Pieces 3 to 3 are missing. A new base is made.", said)
        self.assertEqual(self.restore().facts["piece"], "5")
        self.as_restored()

    def test_a_damaged_base_has_one_before_it(self):
        self.made(2)
        self.backup("--base-every", "1s")
        self.commit()
        self.backup("--base-every", "1s")
        bases = self.files("base")
        self.assertEqual(len(bases), 3)
        path = self.d / bases[2]
        path.write_bytes(b"no database" * 1000)
        said = self.restore(status=3).err
        self.assertIn(bases[2], said)
        self.assertIn("Move it away and restore again: the base before it is used then.", said)
        path.unlink()
        self.restore()
        self.same(self.as_restored(), content(self.folder / "t.db"))
        self.assertIn("has no base of a continuous backup", self.run_tool("restore", ".", "--out", "r.db", status=2).err)
        self.assertIn("No such file", self.run_tool("restore", "none", "--out", "r.db", status=3).err)

    def test_another_chain_is_a_new_base(self):
        self.made(2)
        self.minute += 1
        self.run_tool("replica", "off", "--db", "t.db", now=self.now())
        self.assertIn("is not replicated: serve it with --replicas", self.backup(status=3).err)
        self.replicate()
        for _ in range(3):
            self.commit()
        said = self.backup().err
        self.assertIn("A new base is made.", said)
        self.assertEqual(len(self.files("base")), 2)
        self.commit()
        self.backup()
        self.restore()
        self.same(self.as_restored(), content(self.folder / "t.db"))
        self.assertEqual(self.restore("--at", "2026-11-20T12:01:30Z").facts["piece"], "2")
        self.as_restored()
        self.assertIn("Behind piece 3 the backup begins anew with the base of 2026-11-20T12:06:00.000000Z.", self.restore("--at", "2026-11-20T12:05:00Z", status=2).err)


    def test_what_only_the_old_primary_had_is_left_out(self):
        """After a failover: pieces of the same numbers, behind the new base's."""
        self.made(2)
        other = (self.folder / "t.db").read_bytes()
        for _ in range(4):
            self.commit()
        self.backup()
        (self.folder / "t.db").write_bytes(other)
        for _ in range(2):
            self.commit()
        self.assertIn("A new base is made.", self.backup().err)
        self.restore()
        self.same(self.as_restored(), content(self.folder / "t.db"))

    def test_a_moment_between_a_promotion_and_the_next_base(self):
        """What the old primary wrote then may not be in the new one's file."""
        self.made(2)
        self.backup("--base-every", "1s")
        self.commit()
        other = (self.folder / "t.db").read_bytes()
        for _ in range(2):
            self.commit()
        self.backup()
        (self.folder / "t.db").write_bytes(other)
        self.run_tool("promote", "--db", "t.db", "--force", now="2026-11-20T12:03:30Z")
        self.commit()
        self.assertIn("A new base is made.", self.backup().err)
        said = self.restore("--at", "2026-11-20T12:04:30Z").err
        self.assertIn("This state is of the primary with epoch 1. The backup goes on with epoch 2, of a standby that took its place: that may"
                      " lack what was written here last. The first state of the new primary is --piece 6 (2026-11-20T12:06:00.000000Z).", said)
        self.as_restored()
        self.assertNotIn("took its place", self.restore().err)
        self.as_restored()

    def test_after_a_promotion_that_lost_nothing_there_is_one_history(self):
        self.made(2)
        self.run_tool("promote", "--db", "t.db", "--force", now="2026-11-20T12:02:30Z")
        self.commit()
        self.backup("--base-every", "1s")
        self.assertEqual(len(self.files("base")), 2)
        self.assertNotIn("took its place", self.restore("--at", "2026-11-20T12:01:30Z").err)
        self.as_restored()

    def test_what_comes_before_a_damaged_piece_is_kept(self):
        self.backup()
        for _ in range(4):
            self.commit()
        self.change(lambda db: db.execute("UPDATE piece SET data=x'00' WHERE id=4"))
        said = self.backup(status=3).err
        self.assertIn("The next piece does not follow. A new base is made.", said)
        self.assertIn("does not agree with itself", said)  # the database, so that there is no base
        self.assertEqual(self.restore().facts["piece"], "3")


class Keeping(Followed):
    def test_bases_and_what_is_kept(self):
        self.made(2)
        for _ in range(3):
            self.commit()
            self.backup("--base-every", "1m")
        self.assertEqual(len(self.files("base")), 4)
        self.backup("--keep", "90s")  # from 12:03:30 on, which the base of 12:03 reaches
        self.assertEqual([name.split(".")[0] for name in self.files()],
                         ["base-20261120T120300", "base-20261120T120400", "base-20261120T120500",
                          "pieces-20261120T120300", "pieces-20261120T120400", "pieces-20261120T120500"])
        self.restore("--at", "2026-11-20T12:03:30Z")
        self.as_restored()
        self.minute += 50
        self.backup("--keep", "1s")
        self.assertEqual(self.files(), ["base-20261120T120500.000000Z-000000000006.db",
                                        "pieces-20261120T120500.000000Z-000000000006-000000000006.tbp"])
        self.restore()

    def test_a_program_gets_each_file_in_order(self):
        self.write("ship", '#!/bin/sh\n[ -e away ] && exit 7\nbasename "$1" >> shipped\n')
        (self.folder / "ship").chmod(0o755)
        self.backup("--after-file", "./ship")
        (self.folder / "away").touch()
        for _ in range(2):
            self.commit()
            process = self.start("backup", "--db", "t.db", "--follow", "d", "--once", "--after-file", "./ship")
            for text in process.stderr:
                if b"it ended with 7. It is called again in 1 s" in text:
                    break
            process.send_signal(signal.SIGTERM)
            process.wait()
        (self.folder / "away").unlink()
        self.backup("--after-file", "./ship")
        shipped = (self.folder / "shipped").read_text().split()
        self.assertEqual(shipped, self.files("base") + self.files("pieces"))
        self.assertEqual(os.listdir(self.d / "unsent"), [])

    def test_two_backups_exclude_each_other(self):
        process = self.start("backup", "--db", "t.db", "--follow", "d")
        process.stderr.readline()
        self.assertIn("Another tollbook backup --follow writes here", self.backup(status=3).err)

    def test_options(self):
        for words, why in ((("--db", "t.db"), "--to FILE or --dir DIR is missing, or --follow DIR"),
                           (("--db", "t.db", "--to", "x", "--once"), "--once is for --follow DIR"),
                           (("--db", "t.db", "--to", "x", "--follow", "d"), "--to is for a single copy"),
                           (("--to", "x"), "--db FILE is missing"),
                           (("--follow", "d"), "--db FILE is missing"),
                           (("--db", "t.db", "--follow", "d", "--keep", "1y"), "is not a time from 1s to 3653d")):
            self.assertIn(why, self.run_tool("backup", *words, status=2).err)
        self.assertFalse(self.d.exists())


unittest.main()
