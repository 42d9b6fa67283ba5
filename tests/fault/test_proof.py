"""kill -9 where the log of documents is appended to: in `proof start`, `proof close-days`, a month's run, a void, and `serve`
that closes days and makes a month final while usage comes late and is withdrawn. After each kill log and documents are
in step, the log only grew, and so did its checkpoints; the end is that of an undisturbed run.

The tree is computed here from the entries, commitments are opened with the seed that the file has.
"""
import base64
import functools
import hashlib
import http.client
import json
import random
import signal
import sqlite3
import sys
import threading
import time
from pathlib import Path

from faults import BUILD, ENVIRONMENT, LONG, PATIENCE, SOURCE, Service, folder, kill_soon, require, run, seed, start, verify
from month import copy

sys.path.insert(0, str(SOURCE / "tests" / "http"))
from test_proof import open_note, root, sha  # noqa: E402

rng = seed()
KILLS = {"start": 40, "close": 40, "month": 50, "void": 20, "serve": 5} if LONG else {"start": 1, "close": 2, "month": 2, "void": 1, "serve": 2}
ACCOUNTS = range(1, 131 if LONG else 54)  # two or three groups of the commits of a month's run
BEGUN, NOW, END = "2026-10-05T09:00:00Z", "2026-11-04T09:00:00Z", "2026-12-05T09:00:00Z"
FIRST = "2025-09" if LONG else "2026-08"  # the month of the first usage: a start of some 290 days is in parts
OCTOBER = 681  # as a number of months since 1970
NAME = "example.com/fault"
FINAL = ("invoice", "--month", "2026-10", "--finalize")


# --- a database ---

def at(now):
    ENVIRONMENT["TOLLBOOK_NOW"] = now


def rows(*of):
    """Lines of usage: (account, day, bytes)."""
    return "".join(json.dumps({"zone": 10 * account, "hour": f"{day}T{account % 24:02}:00:00Z", "region": "DE", "requests": 7,
                               "bytes": size}) + "\n" for account, day, size in of).encode()


def some(*days):
    return rows(*((account, day, rng.randrange(10 ** 12)) for day in days for account in ACCOUNTS))


def catalog():
    return {"accounts": [{"id": a, "name": f"a{a}", "currency": "USD"} for a in ACCOUNTS],
            "zones": [{"id": 10 * a, "account": a, "name": f"z{a}", "type": "premium", "created": "2025-01-01T00:00:00Z"}
                      for a in ACCOUNTS]}


def make_plain(path):
    """September is final, one of its documents void; there is no log."""
    db = path / "plain.db"
    at(BEGUN)
    run("init", "--db", db)
    run("apply", "--db", db, "-", stdin=json.dumps(catalog()).encode())
    run("book", "--db", db, SOURCE / "fixtures" / "book.json")
    run("import", "--db", db, "-", stdin=some(f"{FIRST}-06", "2026-09-20", "2026-09-21", "2026-10-03", "2026-10-04"))
    run("invoice", "--db", db, "--month", "2026-09", "--finalize")
    run("invoice", "--db", db, "--void", "2026-000003")
    return db


def make_open(plain, path, key):
    """The log has begun; since then usage came for days that are open, for days that are closed, and for a final month."""
    db = copy(plain, path / "open.db")
    at(BEGUN)
    run("proof", "start", "--db", db, "--proof-key-file", key)
    at(NOW)
    back = rows((5, "2026-09-20", 10 ** 10), (6, "2026-09-22", 10 ** 10))
    run("import", "--db", db, "-", stdin=some("2026-10-04", "2026-10-20", "2026-10-31", "2026-11-02"))
    run("import", "--db", db, "-", stdin=back + rows((7, "2026-09-21", 10 ** 12)))
    run("import", "--db", db, "--batch", "back", "-", stdin=back)
    run("import", "--db", db, "--withdraw", "--batch", "back", "-", stdin=back)
    return db


# --- a log as the file has it ---

@functools.cache
def read(text):
    """An entry, which is canonical JSON."""
    entry = json.loads(text)
    require(text == json.dumps(entry, sort_keys=True, separators=(",", ":")), "an entry is written", text)
    return entry


def tree(note):
    """What a checkpoint is of, whoever signed it."""
    _, size, hash_, *_ = note.split("\n")
    return int(size), base64.b64decode(hash_)


def commitment(log, index, content):
    salt = hashlib.blake2b(index.to_bytes(8, "big") + content, digest_size=32, key=log.seed).digest()
    return base64.b64encode(sha(salt, content)).decode()


class Log:
    """What a file has of its log, which is found to be whole, and of its documents."""

    def __init__(self, db):
        connection = sqlite3.connect(f"file:{db}?mode=ro", uri=True)
        with connection as file:
            self.open = file.execute("SELECT value FROM meta WHERE name='proof_open'").fetchone()[0]
            self.entries = file.execute("SELECT id,type,account,subject,entry,version FROM proof_entry ORDER BY id").fetchall()
            self.notes = dict(file.execute("SELECT size,note FROM proof_checkpoint ORDER BY size"))
            tiles = [row[0] for row in file.execute("SELECT hashes FROM proof_tile WHERE level=0 ORDER BY number")]
            self.documents = file.execute("SELECT number,account,month,kind,state,document FROM invoice ORDER BY id").fetchall()
            self.books = [row[0] for row in file.execute("SELECT name FROM book ORDER BY id")]
            self.seed = file.execute("SELECT value FROM secret WHERE name='log of documents'").fetchone()
        connection.close()
        self.begun = self.seed is not None
        self.seed = self.seed and self.seed[0]
        self.leaves = [sha(b"\0", entry[4].encode()) for entry in self.entries]
        require(self.begun == bool(self.entries) == (self.open > -10 ** 9), "the log is begun in part")
        require(b"".join(tiles) == b"".join(self.leaves), "the tiles are not of the entries")
        self.checked()

    def of(self, *types):
        return [entry for entry in self.entries if entry[1] in types]

    def subjects(self):
        return [entry[1:4] for entry in self.entries]

    def checked(self):
        if not self.begun:
            return
        for index, (number, type_, *_, text, _) in enumerate(self.entries):
            require(number == index and read(text)["type"] == type_, "entry", index, "is", text)
        self.documents_in_step()
        self.days_closed_once()

    def documents_in_step(self):
        def keys(of):
            return sorted(entry[2:4] for entry in self.of(of))
        require(keys("book") == sorted((0, name) for name in self.books), "books:", keys("book"))
        require(keys("invoice") == sorted((row[1], row[0]) for row in self.documents), "documents:", keys("invoice"))
        require(keys("void") == sorted((row[1], row[0]) for row in self.documents if row[4] == "void"), "voids:", keys("void"))
        require(len(set(keys("terms"))) == len(keys("terms")), "terms:", keys("terms"))
        texts = {row[0]: row[5] for row in self.documents}
        for index, _, _, number, text, _ in self.of("invoice"):
            content = texts[number] if isinstance(texts[number], bytes) else texts[number].encode()
            require(read(text)["commit"] == commitment(self, index, content), "entry", index, "is of another text of", number)

    def days_closed_once(self):
        first = {}
        for index, _, account, day, text, _ in self.of("usage"):
            entry = read(text)
            require(entry["day"] == day, "entry", index, "is", text)
            require(entry.get("of") == first.get((account, day)), "account", account, "on", day, "is closed twice:", text)
            first.setdefault((account, day), index)

    def extends(self, before):
        """Nothing that was there is gone or changed."""
        require(self.leaves[:len(before.leaves)] == before.leaves, "the log was changed")
        require(list(self.notes.items())[:len(before.notes)] == list(before.notes.items()), "checkpoints were changed")
        require(not self.notes or max(self.notes) <= len(self.leaves), "a checkpoint is of more than there is")
        for size, note in self.notes.items():
            if size not in before.notes:
                require(tree(note) == (size, root(self.leaves[:size])), "the checkpoint of", size, "is of another tree")

    def whole(self):
        """The newest checkpoint, which covers all of it."""
        require(max(self.notes) == len(self.leaves), "the newest checkpoint has", max(self.notes), "of", len(self.leaves))
        return self.notes[len(self.leaves)]


def look(db, before):
    log = Log(db)
    log.extends(before)
    return log


def look_after_kill(db, before):
    verify(db)
    return look(db, before)


def same(log, clean):
    """Commitments and all, since both go on from the same file."""
    require(log.documents == clean.documents, "other documents than undisturbed")
    require(log.subjects() == clean.subjects(), "other entries than undisturbed")
    require([entry[4] for entry in log.entries] == [entry[4] for entry in clean.entries], "entries commit to something else")
    require(log.notes[max(log.notes)] == clean.notes[max(clean.notes)], "the last checkpoint is another one")


# --- commands ---

def tool(db, key, *words, **more):
    return run(*words, "--db", db, "--proof-key-file", key, **more)


def undisturbed(base, db, key, *words):
    """The log in the end, and how long it took."""
    copy(base, db)
    begin = time.monotonic()
    tool(db, key, *words)
    took = time.monotonic() - begin
    log = look(db, Log(base))
    log.whole()
    return log, took


def killed(base, path, key, what, words, again=None):
    """`again` says how to go on from what is there; else by the same command. As many kills as KILLS says of it."""
    clean, longest = undisturbed(base, path / "clean.db", key, *words)
    db, kills, tries, inside = path / "t.db", 0, 0, 0
    begun = Log(base)
    while kills < KILLS[what]:
        copy(base, db)
        log = begun
        for _ in range(rng.randrange(1, 4)):
            tries += 1
            require(tries < 30 * KILLS[what], "the kills come too late")
            next_ = again(log) if again else words
            came = kill_soon(start(*next_, "--db", db, "--proof-key-file", key), rng.uniform(0, 1.1 * longest))
            longest *= 1.05 if came else 0.9  # who else uses this machine comes and goes
            kills += came
            log = look_after_kill(db, log)
            inside += len(begun.leaves) < len(log.leaves) < len(clean.leaves)
            if kills == KILLS[what]:
                break
        tool(db, key, *(again(log) if again else words))
        log = look(db, log)
        log.whole()
        if what == "start":  # each start draws a seed of its own
            require(log.documents == clean.documents, "other documents than undisturbed")
            require(log.subjects() == clean.subjects(), "other entries than undisturbed, missing:", set(clean.subjects()) - set(log.subjects()))
        else:
            same(log, clean)
    require(inside or not LONG or what == "close", "no kill came between two commits")
    print(f"{' '.join(words)}: killed {kills} of {tries} times, {inside} times with a part of {len(clean.leaves)} entries", flush=True)
    return path / "clean.db"


def begin_or_go_on(log):
    """A start that was cut off goes on, one that was not is refused."""
    return ("proof", "close-days" if len(log.of("terms")) == len(log.documents) else "start")


def voids(base, path, key):
    """One is void or it is not, and with it its entry; in the end all are."""
    numbers = [row[0] for row in Log(base).documents if row[2] == OCTOBER]  # nothing corrects these
    db, kills, tries, done = copy(base, path / "t.db"), 0, 0, 0
    took = undisturbed(base, path / "void.db", key, "invoice", "--void", numbers[0])[1]
    log = Log(db)
    while kills < KILLS["void"]:
        require(tries < len(numbers), "the kills come too late")
        number = numbers[tries]
        tries += 1
        kills += kill_soon(start("invoice", "--void", number, "--db", db, "--proof-key-file", key), rng.uniform(0, 1.1 * took))
        log = look_after_kill(db, log)
        is_void = any(entry[3] == number for entry in log.of("void"))
        done += is_void
        tool(db, key, "invoice", "--void", number, expect=(1, 2) if is_void else (0,))
        log = look(db, log)
        log.whole()
    print(f"invoice --void: killed {kills} of {tries} times, {done} of them done", flush=True)


# --- a server ---

class Client(threading.Thread):
    """Asks until the server is gone."""

    def __init__(self, port, key, turn):
        super().__init__()
        self.connection, self.key, self.turn = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE), key, turn
        self.is_well = False  # nothing that a thread requires ends the test
        self.start()

    def run(self):
        try:
            while True:
                self.turn(self)
        except (OSError, http.client.HTTPException):
            self.connection.close()
            self.is_well = True

    def ask(self, method, target, body=b"", name=None):
        self.connection.request(method, target, body, {"AccessKey": self.key, "Content-Type": "application/json",
                                                       **({"Idempotency-Key": name} if name else {})})
        answer = self.connection.getresponse()
        return answer.status, answer.read()


class Batches:
    """Usage of closed days, posted and withdrawn. Of each it is known whether it counts, but for those without an answer."""

    def __init__(self):
        self.bodies, self.counts, self.waits, self.done, self.seen = {}, {}, set(), 0, []
        for i in range(24):  # the first half leaves October alone, which may not be final yet
            days = ("2026-11-01", "2026-11-02") if i < 12 else ("2026-09-20", "2026-10-04", "2026-10-12", "2026-10-31")
            self.bodies[f"b{i}"] = rows(*((rng.choice(ACCOUNTS), rng.choice(days), 10 ** 10 + i) for _ in range(4)))
            self.counts[f"b{i}"] = False

    def turn_of(self, names):
        drawn = random.Random(rng.random())

        def turn(client):
            name = drawn.choice(names)
            counted = self.counts[name]
            self.waits.add(name)
            status, text = client.ask("POST", "/ingest/buckets/withdraw" if counted else "/ingest/buckets", self.bodies[name], name)
            self.waits.discard(name)
            if status != 503:
                require(status < 300, "batch", name, status, text)
                self.counts[name] = not counted
                self.done += 1
        return turn

    def operate(self, client, name, **members):
        """A call is a part; where it is busy, the next turn begins anew."""
        next_ = None
        while next_ != "":
            body = {**members, "next": next_} if next_ else members
            status, text = client.ask("POST", f"/operations/{name}", json.dumps(body).encode())
            if status == 503:
                return
            require(status == 200, name, status, text)
            next_ = json.loads(text)["next"]

    def operator(self, client):
        """Makes the month final, closes days, and sees what all see."""
        self.operate(client, "proof-close-days")
        self.operate(client, "invoice", month="2026-10", finalize=True)
        status, text = client.ask("GET", "/proof/checkpoint")
        require(status in (200, 404), status, text)
        if status == 200:
            self.seen.append(text.decode())

    def check(self, db, log):
        """What was acknowledged and what was shown is there."""
        require(set(self.seen) <= set(log.notes.values()), "a checkpoint was shown and is gone")
        text = run("query", "--db", db, "SELECT name FROM segment WHERE name LIKE 'b%' AND id NOT IN (SELECT segment FROM withdrawal)")
        there = set(text.stdout.decode().split())
        wrong = [name for name in self.bodies if name not in self.waits and (name in there) != self.counts[name]]
        require(not wrong, "not as it was acknowledged:", wrong)
        self.counts = {name: name in there for name in self.bodies}
        self.waits.clear()

    def month(self, log):
        return sum(row[2] == OCTOBER for row in log.documents)


def serve_round(db, path, key, access, batches, final):
    """Until some batches came, and a random while more."""
    service = Service(db, path, "--proof-key-file", key)
    names = list(batches.bodies)[:24 if final else 12]
    threads = [Client(service.port, access, batches.turn_of(names[i::2])) for i in range(2)]
    threads.append(Client(service.port, access, batches.operator))
    enough = batches.done + rng.randrange(1, 12)
    while batches.done < enough and all(thread.is_alive() for thread in threads):
        time.sleep(0.001)
    time.sleep(rng.uniform(0, 0.05))
    service.end(signal.SIGKILL)
    for thread in threads:
        thread.join()
    require(all(thread.is_well for thread in threads), "a client got a wrong answer")
    require(service.process.returncode == -signal.SIGKILL, "serve ended by itself:", (path / "serve.stderr").read_text())


def start_on_server(base, path, key, clean):
    """A server's calls are short: it is killed between two of them. The command goes on."""
    db = copy(base, path / "t.db")
    access = run("key", "create", "--db", db, "--account", 0, "--role", "Operator").stdout.decode().strip()
    service = Service(db, path)
    client = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    client.request("POST", "/operations/proof-start", b"{}", {"AccessKey": access, "Content-Type": "application/json"})
    require(json.loads(client.getresponse().read())["next"], "a start is one call")
    client.close()
    service.end(signal.SIGKILL)
    log = look_after_kill(db, Log(base))
    require(log.begun and not log.of("terms"), "terms are there already")
    tool(db, key, "proof", "start")
    log = look(db, log)
    log.whole()
    require(log.subjects() == clean.subjects(), "other entries than undisturbed")


def end_of_year(db, key):
    """November is made final too, with what October's late usage corrects."""
    at(NOW)
    tool(db, key, *FINAL)
    tool(db, key, "proof", "close-days")
    at(END)
    tool(db, key, "invoice", "--month", "2026-11", "--finalize")
    tool(db, key, "proof", "close-days")


def serve(base, path, key):
    db, clean = copy(base, path / "s.db"), copy(base, path / "sc.db")
    at(NOW)
    access = run("key", "create", "--db", db, "--account", 0, "--role", "Operator").stdout.decode().strip()
    batches, log, final, parts = Batches(), Log(db), 0, 0
    for _ in range(KILLS["serve"]):
        serve_round(db, path, key, access, batches, final == len(ACCOUNTS))
        log = look_after_kill(db, log)
        batches.check(db, log)
        final = batches.month(log)
        parts += 0 < final < len(ACCOUNTS)
    end_of_year(db, key)
    log = look_after_kill(db, log)
    open_note(log.whole(), VKEY)
    bundles_open(db, path, log)
    at(NOW)
    tool(clean, key, *FINAL)
    for name, body in batches.bodies.items():
        if batches.counts[name]:
            run("import", "--db", clean, "--batch", name, "-", stdin=body)
    end_of_year(clean, key)
    wanted = look(clean, Log(base))
    same_without_order(log, wanted, batches)
    print(f"serve: killed {KILLS['serve']} times between {batches.done} batches and withdrawals, {parts} times with a part of the "
          f"month final; {len(log.entries)} entries, undisturbed {len(wanted.entries)}", flush=True)


def bundles_open(db, path, log):
    """Customers can check documents of each month, from the log as it came to be."""
    bundle = path / "bundle"
    for month in {row[2] for row in log.documents}:
        number = rng.choice([row[0] for row in log.documents if row[2] == month and row[4] != "void"])
        run("proof", "bundle", "--db", db, "--number", number, "--out", bundle)
        done = run("--key", VKEY, bundle, program=BUILD / "tollbook-check", expect=None)
        require(done.returncode == 0, "the bundle of", number, "says:", (done.stdout + done.stderr).decode())
        bundle.unlink()


def plainly(log):
    """Documents without the number of the commits before them, and what hashes it."""
    def without(value):
        if not isinstance(value, dict):
            return [without(one) for one in value] if isinstance(value, list) else value
        return {name: without(one) for name, one in value.items() if name not in ("watermark", "since", "sha256", "previous", "ledger")}
    return [(*row[:5], without(json.loads(row[5]))) for row in log.documents]


def same_without_order(log, clean, batches):
    """Days are closed again at other moments, and days of which all usage was withdrawn have entries too."""
    touched = {(json.loads(line)["zone"] // 10, json.loads(line)["hour"][:10]) for body in batches.bodies.values()
               for line in body.splitlines()}
    require(plainly(log) == plainly(clean), "other documents than undisturbed")
    more = set(log.subjects()) - set(clean.subjects())
    require(set(clean.subjects()) <= set(log.subjects()), "entries are missing:", set(clean.subjects()) - set(log.subjects()))
    require(all(type_ == "usage" and (account, day) in touched for type_, account, day in more), "entries too many:", more)


with folder() as name:
    path = Path(name)
    key = path / "key"
    VKEY = run("proof", "key", "--new", key, "--name", NAME).stdout.decode().strip()
    plain = make_plain(path)
    begun = killed(plain, path, key, "start", ("proof", "start"), begin_or_go_on)
    start_on_server(plain, path, key, Log(begun))
    opened = make_open(plain, path, key)
    killed(opened, path, key, "close", ("proof", "close-days"))
    ended = killed(opened, path, key, "month", FINAL)
    voids(copy(ended, path / "ended.db"), path, key)
    for _ in range(10 if LONG else 1):  # each makes October final once
        serve(opened, path, key)
