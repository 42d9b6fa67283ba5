"""What a database file can meet: another program's, a newer one, cut short, a folder, a pipe, no
permission, a second writer, no room. Each is named in one sentence with exit status 3, and nothing
that was there is harmed.
"""
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from faults import (TOLLBOOK, counters, folder, in_own_mounts, lines, make, mount_small, require,
                    run, seed, start, verify)

rng = seed()
NOBODY = 65534


def refused(*arguments, says, **options):
    done = run(*arguments, expect=(3,), **options)
    text = done.stderr.decode()
    require(done.stdout == b"", arguments, "prints a result", done.stdout)
    require(all(part in text for part in says), arguments, "says", text, "and not", says)


def every_command(db, says):
    log = db.parent / "one.log"
    log.write_bytes(lines(rng, 10))
    for words in (("stats", "--account", 1), ("verify",), ("query", "SELECT 1"), ("ingest", log),
                  ("key", "list"), ("backup", "--to", db.parent / "copy.db"),
                  ("apply", db.parent / "t.json"), ("serve", "--listen", "127.0.0.1:0")):
        count = 2 if words[0] == "key" else 1
        refused(*words[:count], "--db", db, *words[count:], says=[str(db), *says])


def foreign(path):
    make(path / "t.db")
    db = path / "other.db"
    other = sqlite3.connect(db)
    other.execute("CREATE TABLE t(x)")
    other.commit()
    other.close()
    before = db.read_bytes()
    every_command(db, ["another program"])
    require(db.read_bytes() == before, "another program's file was changed")
    db.write_bytes(b"a text of some length, no database at all\n" * 50)
    every_command(db, [])
    refused("init", "--db", db, says=[str(db), "exists"])


def newer(path):
    db = make(path / "t.db")
    own = sqlite3.connect(db)
    own.execute("PRAGMA user_version=1000")
    own.close()
    every_command(db, ["newer"])


def cut_short(path):
    db = make(path / "t.db")
    for i in range(3):
        run("ingest", "--db", db, "-", stdin=lines(rng, 2000))
    content = db.read_bytes()
    for size in range(len(content) - 8192, 0, -len(content) // 12):
        short = path / "short.db"
        for end in ("", "-wal", "-shm", ".lock"):
            Path(str(short) + end).unlink(missing_ok=True)
        short.write_bytes(content[:size])
        found_damaged(short)
        run("stats", "--db", short, "--account", 1, expect=(0, 2, 3))


def found_damaged(db):
    """Damage is what verify is asked for: the answer is no, and standard output names it."""
    done = run("verify", "--db", db, expect=(1,))
    require(done.stdout.endswith(b"\n") and b"difference" in done.stderr, "verify says",
            done.stdout, done.stderr)


def damaged(path):
    """Pages of nothing, from the schema's on; and a file of which nothing is left."""
    db = make(path / "t.db")
    for i in range(3):
        run("ingest", "--db", db, "-", stdin=lines(rng, 2000))
    content = db.read_bytes()
    for page in range(0, len(content), 8192):
        start_at = page or 100  # the header itself makes the file somebody else's
        db.write_bytes(content[:start_at] + bytes(page + 8192 - start_at) + content[page + 8192:])
        found_damaged(db)
    db.write_bytes(content[:7])
    refused("verify", "--db", db, says=[str(db)])
    db.write_bytes(b"")
    refused("verify", "--db", db, says=[str(db), "is empty"])
    db.unlink()
    refused("verify", "--db", db, says=[str(db)])


def no_files(path):
    make(path / "t.db")
    (path / "folder").mkdir()
    os.mkfifo(path / "pipe")
    every_command(path / "folder", ["regular file"])
    every_command(path / "pipe", ["regular file"])
    every_command(path / "nothing.db", ["tollbook init"])
    require(not (path / "nothing.db").exists(), "a command made the file that was not there")


def permissions(path):
    """As a user who may not write. The superuser may always, so it becomes nobody."""
    db = make(path / "t %41?b#c=d&.db")  # a name that a URI cannot hold as it is
    run("ingest", "--db", db, "-", stdin=lines(rng, 100))
    program = path / "tollbook"
    shutil.copy(TOLLBOOK, program)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    os.chmod(path, 0o755)
    for file in path.iterdir():
        os.chmod(file, 0o755 if file == program else 0o444)
    os.chmod(path, 0o555)
    try:
        try:
            subprocess.run([program, "--version"], capture_output=True, check=True, **user)
        except (OSError, subprocess.CalledProcessError):
            print("skipped: another user cannot run a program here")
            return
        for words in (("ingest", "--db", db, "-"), ("apply", "--db", db, db.with_suffix(".json"))):
            refused(*words, says=[str(db)], program=program, stdin=b"", **user)
        refused("init", "--db", path / "new.db", says=[str(path)], program=program, **user)
        refused("backup", "--db", db, "--to", path / "b.db", says=[str(path)], program=program,
                **user)
        os.chmod(path, 0o755)
        expected = reading(db, TOLLBOOK)
        wal, shm = Path(str(db) + "-wal"), Path(str(db) + "-shm")
        for left in ((wal, shm), (wal,), ()):  # by readers or writers before
            os.chmod(path, 0o755)
            for file in {wal, shm} - set(left):
                file.unlink(missing_ok=True)
            for file in left:
                require(file.exists() and (file == shm or file.stat().st_size == 0), file)
                os.chmod(file, 0o444)
            os.chmod(path, 0o555)
            beside = sorted(file.name for file in path.iterdir())
            require(reading(db, program, **user) == expected, "another answer beside", left)
            require(sorted(file.name for file in path.iterdir()) == beside, "a reader wrote a file")
    finally:
        os.chmod(path, 0o755)


def reading(db, program, **options):
    """What the commands that only read make of it."""
    return [run(*words, program=program, **options).stdout
            for words in (("stats", "--db", db, "--account", 1), ("verify", "--db", db),
                          ("query", "--db", db, "SELECT * FROM buckets"), ("key", "list", "--db", db))]


def second_writer(path):
    db = make(path / "t.db")
    log = path / "one.log"
    log.write_bytes(lines(rng, 100))
    pipe = path / "pipe"
    os.mkfifo(pipe)
    first = start("ingest", "--db", db, pipe)
    with open(pipe, "wb") as feed:  # opens when the first one reads: it holds the lock then
        feed.write(lines(rng, 10))
        feed.flush()
        wait = 0
        while run("ingest", "--db", db, log, expect=(0, 3)).returncode == 0 and wait < 1000:
            wait += 1
        refused("ingest", "--db", db, log, says=[str(db), "ingest", f"process {first.pid}"])
        run("stats", "--db", db, "--account", 1)  # readers do not mind
        verify(db)
    _, errors = first.communicate()
    require(first.returncode == 0, errors)
    run("ingest", "--db", db, log)
    verify(db)


def growing_log(path):
    """Counters find their rows again, refused lines are kept: those make a database grow."""
    log = path / "one.log"
    log.write_bytes(lines(rng, 1000) + b"".join(b"%d" % i * 500 + b"\n" for i in range(100)))
    return log


def fill(db, log, limit=None):
    """Ingests the same log under new names until there is no room. Returns the batches taken."""
    taken = 0
    options = {"preexec_fn": limit} if limit else {}
    for number in range(100):
        done = run("ingest", "--db", db, "--batch", f"b{number}", log, expect=None, **options)
        if done.returncode:
            text = done.stderr.decode()
            require(done.returncode == 3 and str(db) in text, "no room:", done.returncode, text)
            return taken, text
        taken += 1
    require(False, "the disk never became full")


def check_full(db, taken):
    require(taken > 0, "there was no room from the start")
    there = run("query", "--db", db, "SELECT count(DISTINCT name) FROM segment").stdout.split()[-1]
    require(int(there) == taken, f"{taken} batches were acknowledged, {there.decode()} are there")
    run("stats", "--db", db, "--account", 1)
    verify(db)
    return counters(db)


def file_limit(path):
    """The file may not grow past a size: what a quota does."""
    db = make(path / "t.db")
    log = growing_log(path)

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

    def less():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17))

    taken, text = fill(db, log, limit)
    require("limit on the size of files" in text and "ulimit -f" in text and str(db) in text,
            "a limit on the size of files is named with its remedy", text)
    done = run("backup", "--db", db, "--to", path / "copy.db", expect=(3,), preexec_fn=less)
    text = done.stderr.decode()
    require("copy.db" in text and "limit on the size of files" in text, "a backup's file is named", text)
    require(not list(path.glob("copy.db*")), "a part of a backup is left")
    before = check_full(db, taken)
    run("ingest", "--db", db, "--batch", "after", log)
    require(counters(db) != before, "nothing was added after the limit was gone")
    verify(db)


def full_disk(path):
    """A file system of 3 MiB, in a mount namespace of its own (this script again, inside)."""
    said = in_own_mounts(__file__, path)
    print(said or "skipped: this machine lets nobody mount; a file size limit stood in")


def inside(path):
    small = path / "small"
    mount_small(small, "3m")
    db = make(small / "t.db")
    log = growing_log(path)
    ballast = small / "ballast"
    ballast.write_bytes(bytes(256 << 10))
    taken, text = fill(db, log)
    require("full" in text, "a full disk is called", text)
    ballast.unlink()
    before = check_full(db, taken)
    require(before, "nothing is there")
    subprocess.run(["mount", "-o", "remount,size=20m", small], check=True)
    run("ingest", "--db", db, "--batch", "after", log)
    verify(db)
    print(f"a disk of 3 MiB took {taken} batches, and more when it grew")


if sys.argv[1:2] == ["inside"]:
    inside(Path(sys.argv[2]))
    sys.exit(0)

for case in (foreign, newer, cut_short, damaged, no_files, permissions, second_writer, file_limit, full_disk):
    with folder() as name:
        case(Path(name))
    print(f"{case.__name__}: as it should be")
