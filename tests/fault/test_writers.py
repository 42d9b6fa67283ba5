"""One database, one writer, whatever path led there: a second one is refused with the name of the
first, by each kind of path, while the first takes batches; afterwards everything acknowledged is there
once and `verify` finds nothing.

What counts as the same database is its file. So a path may be a link, relative, go through a linked or
bind-mounted folder or through /proc; the lock file may be removed or replaced. Bind mounts need a mount
namespace of their own, and are skipped with the reason where this machine gives none.
"""
import fcntl
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from faults import ENVIRONMENT, LONG, PATIENCE, TOLLBOOK, folder, lines, make, require, run, seed, verify

rng = seed()
TRIALS = 50 if LONG else 3


class Server:
    def __init__(self, db, *before, **options):
        self.db, self.port_file = db, db.parent / f"port{rng.getrandbits(32)}"
        self.process = subprocess.Popen(
            [*before, TOLLBOOK, "serve", "--db", str(db), "--listen", "127.0.0.1:0", "--port-file",
             str(self.port_file), "--threads", "1", "--start-timeout-ms", "0"],
            env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
        self.sent = 0

    def up(self):
        """Waits until it serves; None where it ended instead."""
        end = time.monotonic() + PATIENCE
        while not self.port_file.exists():
            if self.process.poll() is not None:
                return None
            require(time.monotonic() < end, "the server neither serves nor ends")
            time.sleep(0.002)
        self.port = int(self.port_file.read_text())
        return self

    def post(self, key, count=100):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request("POST", "/ingest/logs", lines(rng, count), {"AccessKey": key})
        answer = connection.getresponse()
        body = json.loads(answer.read())
        connection.close()
        require(answer.status == 200, "POST is answered", answer.status, body)
        self.sent += count

    def name(self):
        return f"serve 127.0.0.1:{self.port} (process {self.process.pid})"

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        require(number == signal.SIGKILL or self.process.returncode == 0, "serve ended with",
                self.process.returncode, errors)
        return errors.decode()


def stored(db):
    return int(run("query", "--db", db, "SELECT sum(accepted + rejected) FROM segment").stdout.split()[-1])


def ingest_key(db):
    return run("key", "create", "--db", db, "--account", 1, "--role", "Ingest").stdout.decode().strip()


# --- kinds of path: each makes one and gives (words before the command, path, options of the process) ---

def same_name(db, there):
    return [], db, {}


def relative(db, there):
    return [], Path("..") / db.parent.name / "." / db.name, {"cwd": there}


def symbolic_link(db, there):
    (there / "link.db").symlink_to(db)
    return [], there / "link.db", {}


def link_of_a_link(db, there):
    (there / "one.db").symlink_to(Path("..") / db.parent.name / db.name)
    (there / "two.db").symlink_to("one.db")
    return [], there / "two.db", {}


def linked_folder(db, there):
    (there / "folder").symlink_to(db.parent)
    return [], there / "folder" / db.name, {}


def hard_link(db, there):
    os.link(db, there / "hard.db")
    return [], there / "hard.db", {}


def hard_link_beside(db, there):
    os.link(db, db.with_name("beside.db"))
    return [], db.with_name("beside.db"), {}


def lock_file_removed(db, there):
    Path(f"{db}.lock").unlink(missing_ok=True)
    return [], db, {}


def lock_file_replaced(db, there):
    (there / "lock").write_text("nobody\n")
    os.replace(there / "lock", f"{db}.lock")
    return [], db, {}


def lock_file_removed_and_link(db, there):
    Path(f"{db}.lock").unlink(missing_ok=True)
    return symbolic_link(db, there)


def descriptor(db, there):
    fd = os.open(db, os.O_RDWR)
    return [], Path(f"/proc/self/fd/{fd}"), {"pass_fds": [fd]}


def root_of_a_process(db, there):
    return [], Path(f"/proc/{os.getpid()}/root{db}"), {}


def mounted(source, target):
    return [*own_mounts(), "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', str(source), str(target)]


def own_mounts():
    return ["unshare", "-m" if os.geteuid() == 0 else "-rm"]


def can_mount(path):
    (path / "a").mkdir()
    (path / "b").mkdir()
    done = subprocess.run([*mounted(path / "a", path / "b"), "true"], capture_output=True, check=False)
    return done.returncode == 0


def mounted_folder(db, there):
    (there / "mount").mkdir()
    return mounted(db.parent, there / "mount"), there / "mount" / db.name, {}


def mounted_file(db, there):
    (there / "file.db").touch()
    return mounted(db, there / "file.db"), there / "file.db", {}


KINDS = (same_name, relative, symbolic_link, link_of_a_link, linked_folder, hard_link, hard_link_beside,
         lock_file_removed, lock_file_replaced, lock_file_removed_and_link, descriptor, root_of_a_process)
MOUNTS = (mounted_folder, mounted_file)
BLIND = (hard_link, hard_link_beside, mounted_file)  # the -wal does not lie beside these names
# FILE.lock of the writer does not lie beside these names, or no more: who writes cannot be said.
NAMELESS = (*BLIND, lock_file_removed, lock_file_replaced, lock_file_removed_and_link)
WRITERS = (("serve", "--listen", "127.0.0.1:0", "--start-timeout-ms", "0"), ("ingest", "-"), ("key", "revoke", "--id", "1"))


def refuse(kind, words, first, before, name, options):
    count = 2 if words[0] == "key" else 1
    done = subprocess.run([*before, TOLLBOOK, *words[:count], "--db", str(name), *words[count:]],
                          env=ENVIRONMENT, input=b"", capture_output=True, check=False, timeout=PATIENCE,
                          **options)
    text = done.stderr.decode()
    holder = "" if kind in NAMELESS else first.name()
    require(done.returncode == 3 and f"is being written by {holder}" in text, kind.__name__, words,
            "exit", done.returncode, text)
    require(done.stdout == b"", kind.__name__, "prints a result")


def read(kind, first, before, name, options):
    done = subprocess.run([*before, TOLLBOOK, "query", "--db", str(name),
                           "SELECT sum(accepted + rejected) FROM segment"], env=ENVIRONMENT,
                          capture_output=True, check=False, timeout=PATIENCE, **options)
    text = done.stderr.decode()
    if kind in BLIND:
        require(done.returncode == 3 and "under another name" in text,
                kind.__name__, "a reader:", done.returncode, text)
    else:
        require(done.returncode == 0 and int(done.stdout.split()[-1]) == first.sent, kind.__name__,
                "a reader sees", done.stdout, "of", first.sent, text)


def clean(db, first, there):
    """What a kind made goes, so that the next one meets the plain file."""
    shutil.rmtree(there)
    db.with_name("beside.db").unlink(missing_ok=True)
    Path(f"{db}.lock").write_text(first.name() + "\n")


def second_writers(path):
    home = path / "home"
    home.mkdir()
    db = make(home / "t.db")
    key = ingest_key(db)
    first = Server(db).up()
    kinds = KINDS + (MOUNTS if can_mount(path) else ())
    for kind in kinds:
        for trial in range(TRIALS):
            there = path / f"{kind.__name__}{trial}"
            there.mkdir()
            before, name, options = kind(db, there)
            first.post(key)
            for words in WRITERS[:1] if trial else WRITERS:
                refuse(kind, words, first, before, name, options)
            first.post(key)
            read(kind, first, before, name, options)
            for fd in options.get("pass_fds", ()):
                os.close(fd)
            clean(db, first, there)
        print(f"  {kind.__name__}: {TRIALS} trials, {TRIALS + 2} second writers refused")
    if len(kinds) == len(KINDS):
        print("  bind mounts: skipped: this machine lets nobody mount")
    verify(db)
    first.stop()
    verify(db)
    require(stored(db) == first.sent, f"{first.sent} lines were acknowledged,", stored(db), "are there")


def at_once(path):
    """Two start at the same moment by different names: one serves, the other says who."""
    db = make(path / "t.db")
    key = ingest_key(db)
    (path / "link.db").symlink_to("t.db")
    sent = 0
    for _ in range(TRIALS):
        both = [Server(db), Server(path / "link.db")]
        rng.shuffle(both)
        up = [server for server in both if server.up()]
        require(len(up) == 1, len(up), "of two servers came up")
        down = next(server for server in both if server not in up)
        text = down.process.communicate()[1].decode()
        require(down.process.returncode == 3 and "is being written by" in text, text)
        up[0].post(key)
        up[0].stop()
        sent += up[0].sent
    verify(db)
    require(stored(db) == sent, f"{sent} lines were acknowledged,", stored(db), "are there")
    print(f"  {TRIALS} starts of two at once: one served each time")


def the_lock_ends_with_its_process(path):
    db = make(path / "t.db")
    key = ingest_key(db)
    first = Server(db).up()
    first.post(key)
    first.stop(signal.SIGKILL)
    Path(f"{db}.lock").write_text("serve 192.0.2.1:1 (process 1)\n")  # what it says binds nobody
    second = Server(db).up()
    require(second, "a killed writer's lock outlives it")
    second.post(key)
    second.stop()
    verify(db)
    require(stored(db) == 200, stored(db), "of 200 lines")


def older_versions(path):
    """They hold FILE.lock alone, and look at nothing else."""
    db = make(path / "t.db")
    with open(f"{db}.lock", "a+b") as mark:
        fcntl.flock(mark, fcntl.LOCK_EX)
        mark.truncate(0)
        mark.write(b"serve 127.0.0.1:1 (process 7)\n")
        mark.flush()
        done = run("ingest", "--db", db, "-", stdin=b"", expect=(3,))
        require(b"is being written by serve 127.0.0.1:1 (process 7)" in done.stderr, done.stderr)
    first = Server(db).up()
    with open(f"{db}.lock", "rb") as mark:
        try:
            fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            require(False, "an older version would be let in")
        except BlockingIOError:
            require(mark.read().decode() == first.name() + "\n", "FILE.lock does not say who writes")
    first.stop()


def other_names(path):
    """Nobody writes, but what waits in the -wal of one name is not seen by another."""
    db = make(path / "t.db")
    key = ingest_key(db)
    first = Server(db).up()
    first.post(key)
    first.stop(signal.SIGKILL)
    os.link(db, path / "hard.db")
    for name in (db, path / "hard.db"):
        done = run("ingest", "--db", name, "-", stdin=b"", expect=(3,))
        require(b"2 names" in done.stderr and b"`backup`" in done.stderr, done.stderr)
    done = run("query", "--db", path / "hard.db", "SELECT 1")
    require(b"2 names" in done.stderr, "a reader by a second name is not warned", done.stderr)
    for end in ("", "-wal", "-shm"):
        (path / f"hard.db{end}").unlink(missing_ok=True)
    if can_mount(path):
        (path / "file.db").touch()
        done = subprocess.run([*mounted(db, path / "file.db"), TOLLBOOK, "ingest", "--db", path / "file.db",
                               "-"], input=b"", env=ENVIRONMENT, capture_output=True, check=False)
        require(done.returncode == 3 and b"mount its folder" in done.stderr, done.returncode, done.stderr)
    second = Server(db).up()
    second.post(key)
    second.stop()
    verify(db)
    require(stored(db) == 200, stored(db), "of 200 lines")


def linked_while_it_runs(path):
    db = make(path / "t.db")
    key = ingest_key(db)
    first = Server(db).up()
    first.post(key)
    os.link(db, path / "backup.db")
    for _ in range(3):
        first.post(key)
    done = run("stats", "--db", db, "--account", 1)  # by the writer's own name
    require(b"2 names" in done.stderr, done.stderr)
    text = first.stop()
    require(text.count("2 names") == 1 and "`backup`" in text, "the server says", text)
    (path / "backup.db").unlink()
    verify(db)
    require(stored(db) == first.sent, stored(db), "of", first.sent)


def one_wal_of_two_files(path):
    """A copy under the name of what is being written would be read, and written, with its -wal."""
    db = make(path / "t.db")
    key = ingest_key(db)
    run("backup", "--db", db, "--to", path / "copy.db")
    first = Server(db).up()
    first.post(key)
    os.replace(path / "copy.db", db)
    for words in (("ingest", "--db", db, "-"), ("stats", "--db", db, "--account", 1)):
        done = run(*words, stdin=b"", expect=(3,))
        require(f"written by {first.name()}".encode() in done.stderr, words, done.stderr)
    first.stop()
    verify(db)
    second = Server(db).up()
    second.post(key)
    second.stop()
    verify(db)
    require(stored(db) == 100, stored(db), "of 100 lines")


def backups_destroy_nothing(path):
    """TO.tollbook-partial is emptied: not where it is the database, or has another name."""
    db = path / "b.tollbook-partial"
    before = make(path / "a.db")
    run("ingest", "--db", before, "-", stdin=lines(rng, 100))
    os.rename(before, db)
    done = run("ingest", "--db", db, "-", stdin=lines(rng, 1), expect=(3,))
    require(b"rename, the file" in done.stderr, done.stderr)
    done = run("backup", "--db", db, "--to", path / "b", expect=(3,))
    require(b"in the way" in done.stderr, done.stderr)
    verify(db)
    other = make(path / "t.db")
    os.link(other, path / "c.tollbook-partial")
    done = run("backup", "--db", db, "--to", path / "c", expect=(3,))
    require(b"in the way" in done.stderr, done.stderr)
    (path / "c.tollbook-partial").unlink()
    verify(other)
    require(stored(db) == 100, stored(db))


NOBODY = 65534


def of_root_and_its_owner(path):
    """What root makes beside another user's database is that user's; where it is not, the message says whose it is."""
    if os.geteuid() != 0:
        print("skipped: only root gives files away")
        return
    (path / "db").mkdir()
    os.chmod(path, 0o755)
    db = make(path / "db" / "t.db")
    program = shutil.copy(TOLLBOOK, path / "tollbook")
    for one in (path / "db", *(path / "db").iterdir()):
        os.chown(one, NOBODY, NOBODY)
    nobody = {"program": program, "user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        run("--version", **nobody)
    except OSError:
        print("skipped: another user cannot run a program here")
        return
    lock = Path(f"{db}.lock")
    lock.unlink(missing_ok=True)
    run("ingest", "--db", db, "-", stdin=lines(rng, 10))
    run("verify", "--db", db)
    owners = {one.name: (one.stat().st_uid, one.stat().st_gid) for one in (path / "db").iterdir()}
    require({"t.db", "t.db.lock", "t.db.last-verify"} <= set(owners) and set(owners.values()) == {(NOBODY, NOBODY)}, owners)
    run("ingest", "--db", db, "-", stdin=lines(rng, 10), **nobody)
    for file in (lock, db):
        os.chown(file, 0, 0)
        os.chmod(file, 0o600 if file == lock else 0o644)
        done = run("ingest", "--db", db, "-", stdin=lines(rng, 10), expect=(3,), **nobody)
        require(f"{file}: Permission denied; it belongs to user 0 (root), and this is user {NOBODY}".encode() in done.stderr,
                done.stderr)
        os.chown(file, NOBODY, NOBODY)


def planted(path):
    """A symbolic link under a name beside a file that is written is never followed, nor is another's file emptied."""
    victim = path / "victim"

    def plant(*names):
        victim.write_text("mine\n")
        for name in names:
            (path / name).symlink_to(victim)

    def untouched(what):
        require(victim.read_text() == "mine\n", what, "wrote through a link", victim.read_bytes()[:80])
        require(sorted(one.name for one in path.iterdir() if one.name.endswith((".part", ".new"))) == [], what, "left", list(path.iterdir()))

    db = make(path / "t.db")
    # Who plants a link may know the number of the process: here it is that of the shell, which becomes tollbook.
    for words, file in ((f"serve --db {db} --listen 127.0.0.1:0 --threads 1 --port-file {path}/F", "F"),
                        (f"follow --db {db} --once --metrics {path}/F {path}/log", "F"),
                        (f"verify --db {db}", "t.db.last-verify")):
        (path / "log").write_bytes(lines(rng, 10))
        (path / file).unlink(missing_ok=True)
        plant("F.new", "F.part", file)
        process = subprocess.Popen(["sh", "-c", f"ln -s {victim} {path}/.{file}.$$.part && exec {TOLLBOOK} {words}"],
                                   env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if words.startswith("serve"):
            end = time.monotonic() + PATIENCE
            while (path / file).is_symlink():
                require(process.poll() is None and time.monotonic() < end, "no port file")
                time.sleep(0.002)
            process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
        require(process.returncode == 0, words, process.returncode, said)
        require(not (path / file).is_symlink() and (path / file).read_text() != "mine\n", words, "wrote no file of its own")
        for name in ("F.new", "F.part"):
            (path / name).unlink()
        untouched(words)
    plant("b.tollbook-partial", "i.db")
    done = run("backup", "--db", db, "--to", path / "b", expect=(3,))
    require(b"b.tollbook-partial is in the way; remove it" in done.stderr, done.stderr)
    victim.unlink()
    done = run("init", "--db", path / "i.db", expect=(3,))
    require(b"symbolic link" in done.stderr and not victim.exists(), done.stderr)
    for make_lock, says in ((lambda lock: lock.symlink_to(victim), b"is no regular file"), (lambda lock: os.link(victim, lock), b"is no lock file"),
                            (os.mkfifo, b"is no lock file")):
        victim.write_text("mine\n")
        lock = Path(f"{db}.lock")
        lock.unlink()
        make_lock(lock)
        done = run("ingest", "--db", db, "-", stdin=lines(rng, 10), expect=(3,))
        require(says in done.stderr and b"remove it" in done.stderr, done.stderr)
        untouched(says)
        lock.unlink()
        run("ingest", "--db", db, "-", stdin=lines(rng, 10))
    if os.geteuid() == 0:  # who owns the file reads what is written to it
        (path / "c.tollbook-partial").touch()
        os.chown(path / "c.tollbook-partial", NOBODY, NOBODY)
        done = run("backup", "--db", db, "--to", path / "c", expect=(3,))
        require(b"c.tollbook-partial is in the way; remove it" in done.stderr, done.stderr)


if not shutil.which("unshare"):
    print("unshare is not here: no bind mounts")
for case in (second_writers, at_once, the_lock_ends_with_its_process, older_versions, other_names,
             linked_while_it_runs, one_wal_of_two_files, backups_destroy_nothing, of_root_and_its_owner, planted):
    with folder() as name:
        case(Path(os.path.realpath(name)))
    print(f"{case.__name__}: as it should be", flush=True)
sys.exit(0)
