"""kill -9 at random moments: of `ingest` over a list of logs and over a log that grows, of `import`
over shield events that join those that are there, and of `serve` while clients post batches, and while
they post and withdraw them. Raw lines are kept beside the counters. What was acknowledged is there, what is
repeated counts once, and the end is that of an undisturbed run.
"""
import http.client
import json
import queue
import random
import signal
import threading
import time
from pathlib import Path
from faults import (FIRST_MS, LONG, PATIENCE, Service, counters, folder, kill_soon, lines, make, require, run, seed, start,
                    statistics, verify)

rng = seed()
KILLS = 200 if LONG else 10
SERVER_KILLS = 50 if LONG else 3


def kept(db):
    """How many raw lines of each zone are kept; verify has read every block."""
    return run("query", "--db", db,
               "SELECT zone, sum(lines) FROM log_block GROUP BY zone").stdout


def same_as(db, clean):
    verify(db)
    require(counters(db) == counters(clean), "the counters differ from an undisturbed run's")
    require(statistics(db) == statistics(clean), "the statistics differ from an undisturbed run's")
    require(kept(db) == kept(clean), "the request logs differ from an undisturbed run's")


def crash_ingest(path, growing):
    logs = [path / f"{i}.log" for i in range(8)]
    whole = [lines(rng, 8000) for _ in logs]
    if growing:
        logs, whole = logs[:1], [b"".join(whole)]
    for log, content in zip(logs, whole):
        log.write_bytes(content)
    clean = make(path / "clean.db")
    begin = time.monotonic()
    run("ingest", "--db", clean, *logs)
    longest = 1.2 * (time.monotonic() - begin)
    killed = kills = 0
    while killed < KILLS // 2 and kills < 10 * KILLS:  # some runs end before the kill comes
        db = make(path / f"t{kills}.db")
        steps = 4 if growing else 1
        for step in range(1, steps + 1):
            if growing:
                logs[0].write_bytes(whole[0][:len(whole[0]) * step // steps])
            for _ in range(2):
                kills += 1
                killed += kill_soon(start("ingest", "--db", db, *logs), rng.uniform(0, longest))
                verify(db)
            run("ingest", "--db", db, *logs)
        again = run("ingest", "--db", db, *logs)
        require(b"nothing" in again.stderr.lower() or b"known" in again.stderr.lower()
                or b"already" in again.stderr.lower(), "repeated:", again.stderr)
        same_as(db, clean)
    print(f"ingest of {'a growing log' if growing else 'a list of logs'}: "
          f"{killed} of {kills} runs killed, each ended as the undisturbed one")


def events(count):
    """Shield events at random times; half of them say who they are."""
    out = []
    for i in range(count):
        event = {"shield_zone": rng.choice([42, 43]), "timestamp": FIRST_MS + rng.randrange(90000000),
                 "log": "x" * rng.randrange(200), "ip": f"192.0.2.{i % 256}"}
        if i % 2:
            event["logId"] = f"e{rng.getrandbits(64):x}"
        out.append(json.dumps(event) + "\n")
    return "".join(out).encode()


def metered(count):
    """Usage lines of meters, of resources that few lines name the account of."""
    out = []
    for i in range(count):
        n = rng.randrange(300) if i >= 300 else i
        line = {"meter": "disk", "resource": f"d{n}", "time": f"2026-11-{1 + i % 4:02}T0{i % 9}:{i % 60:02}:00Z", "value": i}
        if n % 2:
            line = {"meter": "runs", "resource": f"r{n}", "hour": f"2026-11-{1 + i % 4:02}T0{i % 9}:00:00Z", "value": i}
        if i < 300 or i % 5 == 0:
            line["account"] = 1 + n % 4 // 2
        out.append(json.dumps(line) + "\n")
    return "".join(out).encode()


def stored_rows(db):
    """Events, values of gauges, and the sums of inputs, which verify compares with the hours."""
    return b"".join(run("query", "--db", db, sql).stdout for sql in (
        "SELECT zone, day, events, hex(first), hex(data) FROM event_block ORDER BY zone, first",
        "SELECT * FROM meter_resource ORDER BY 1,2", "SELECT * FROM meter_series ORDER BY 1",
        "SELECT * FROM gauge ORDER BY 1,2,3", "SELECT id, accepted, sums FROM segment ORDER BY 1"))


def crash_import(path):
    """All of an import is there, or nothing, and a retry makes it whole."""
    first, second = path / "first", path / "second"
    first.write_bytes(events(5000) + metered(2000))
    second.write_bytes(events(60000) + metered(20000))
    clean = make(path / "clean.db")
    run("import", "--db", clean, first)
    before = stored_rows(clean)
    begin = time.monotonic()
    run("import", "--db", clean, second)
    longest = 1.1 * (time.monotonic() - begin)
    after = stored_rows(clean)
    db = make(path / "t.db")
    run("import", "--db", db, first)
    killed = kills = 0
    while killed < KILLS // 2 and kills < 5 * KILLS:
        kills += 1
        killed += kill_soon(start("import", "--db", db, second), rng.uniform(0, longest))
        verify(db)
        now = stored_rows(db)
        require(now in (before, after), "part of an import is there")
        if now == after:
            db = make(path / f"t{kills}.db")
            run("import", "--db", db, first)
    run("import", "--db", db, second)
    require(stored_rows(db) == after, "the shield events or the usage of meters differ from an undisturbed run's")
    verify(db)
    print(f"import of shield events and usage of meters: {killed} of {kills} runs killed, each left all or nothing")


def post(port, key, name, body, target="/ingest/logs"):
    """The answer's status and text, or None where the server went away."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("POST", target, body,
                           {"AccessKey": key, "Idempotency-Key": name})
        answer = connection.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def clients(port, key, names, batches, acknowledged):
    """Posts the batches from four threads until they are done or the server is gone."""
    todo = queue.SimpleQueue()
    for name in names:
        todo.put(name)

    def work():
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                return
            answer = post(port, key, name, batches[name])
            if answer is None:
                return
            if answer[0] == 503:
                todo.put(name)  # busy: again
                continue
            require(answer[0] < 300, "batch", name, answer)
            acknowledged.add(name)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    return threads


def crash_serve(path):
    db = make(path / "s.db")
    key = run("key", "create", "--db", db, "--account", 0, "--role", "Ingest").stdout.decode().strip()
    batches = {f"batch-{i}": lines(rng, 1000) for i in range(240)}
    acknowledged = set()
    for _ in range(SERVER_KILLS):
        service = Service(db, path)
        names = rng.sample(sorted(batches), 120)  # some of them acknowledged already
        threads = clients(service.port, key, names, batches, acknowledged)
        time.sleep(rng.uniform(0, 0.15))
        service.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        verify(db)
        there = set(run("query", "--db", db, "SELECT DISTINCT name FROM segment").stdout.decode()
                    .split())
        require(acknowledged <= there, "acknowledged and lost:", sorted(acknowledged - there))
    before = len(acknowledged)
    service = Service(db, path)
    for thread in clients(service.port, key, sorted(batches), batches, acknowledged):
        thread.join()
    require(len(acknowledged) == len(batches), "not all batches were taken at the end")
    service.end(signal.SIGTERM)
    require(service.process.returncode == 0, "serve ended with", service.process.returncode)
    clean = make(path / "sc.db")
    for name, body in batches.items():
        run("ingest", "--db", clean, "--batch", name, "-", stdin=body)
    same_as(db, clean)
    print(f"serve: killed {SERVER_KILLS} times under load, {before} batches acknowledged before the "
          f"last start, {len(batches)} in the end, each once")


class Ledger:
    """Which batches count: known of each, but for those whose request had no answer."""
    def __init__(self, batches):
        self.batches, self.counts, self.open = batches, dict.fromkeys(batches, False), set()
        self.done = 0

    def turn(self, port, key, names):
        """Batch after batch is posted, or withdrawn where it counts, until the server is gone."""
        drawn = random.Random(rng.random())
        while True:
            name = drawn.choice(names)
            counted = self.counts[name]
            self.open.add(name)
            answer = post(port, key, name, self.batches[name], "/ingest/logs/withdraw" if counted else "/ingest/logs")
            if answer is None:
                return
            self.open.discard(name)
            if answer[0] == 503:
                continue  # busy: nothing was done
            require(answer[0] < 300, "batch", name, answer)
            require(not counted or json.loads(answer[1])["segments"] == 1, "not withdrawn:", name, answer)
            self.counts[name] = not counted
            self.done += 1

    def check(self, db):
        there = set(run("query", "--db", db, "SELECT name FROM segment WHERE id NOT IN"
                                             " (SELECT segment FROM withdrawal)").stdout.decode().split())
        wrong = [name for name in self.batches if name not in self.open and (name in there) != self.counts[name]]
        require(not wrong, "not as it was acknowledged:", wrong)
        self.counts = {name: name in there for name in self.batches}
        self.open.clear()


def put_all_in_place(db, last):
    """A withdrawal folds all that waits."""
    run("ingest", "--db", db, "--batch", "last", "-", stdin=last)
    run("ingest", "--withdraw", "--db", db, "--batch", "last", "-", stdin=last)


def crash_withdraw(path):
    """Four clients at once, so that batches come between the parts of what is folded for another's withdrawal. Few
    lines of several zones wait in runs."""
    db, clean, last = make(path / "w.db"), make(path / "wc.db"), lines(rng, 100)
    key = run("key", "create", "--db", db, "--account", 0, "--role", "Operator").stdout.decode().strip()
    ledger = Ledger({f"batch-{i}": lines(rng, 40) for i in range(80)})
    names, rounds, waited = sorted(ledger.batches), 0, 0
    while rounds < SERVER_KILLS or not waited and rounds < 10 * SERVER_KILLS:  # some kills come when no line waits
        rounds += 1
        service = Service(db, path)
        threads = [threading.Thread(target=ledger.turn, args=(service.port, key, names[i::4])) for i in range(4)]
        for thread in threads:
            thread.start()
        enough = ledger.done + rng.randrange(20, 160)
        while ledger.done < enough and all(thread.is_alive() for thread in threads):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        service.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        verify(db)
        ledger.check(db)
        waited += int(run("query", "--db", db, "SELECT count(*) FROM log_run").stdout.split()[1])
    require(waited, "no lines waited")
    (turns,) = run("query", "--db", db, "SELECT count(*) FROM withdrawal").stdout.split()[1:]
    for name, body in ledger.batches.items():
        if ledger.counts[name]:
            run("ingest", "--db", clean, "--batch", name, "-", stdin=body)
    for each in (db, clean):
        put_all_in_place(each, last)
    same_as(db, clean)
    print(f"serve: killed {rounds} times between posts and {turns.decode()} withdrawals, "
          f"{sum(ledger.counts.values())} of {len(names)} batches count in the end, each as acknowledged")


with folder() as name:
    crash_ingest(Path(name), growing=False)
with folder() as name:
    crash_ingest(Path(name), growing=True)
with folder() as name:
    crash_import(Path(name))
with folder() as name:
    crash_serve(Path(name))
with folder() as name:
    crash_withdraw(Path(name))
