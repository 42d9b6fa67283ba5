"""kill -9 at random moments: of `ingest` over a list of logs and over a log that grows, of `import`
over shield events that join those that are there, and of `serve` while clients post batches. Raw
lines are kept beside the counters. What was acknowledged is there, what is repeated counts once, and
the end is that of an undisturbed run.
"""
import http.client
import json
import queue
import signal
import threading
import time
from pathlib import Path
from faults import (ENVIRONMENT, FIRST_MS, LONG, PATIENCE, TOLLBOOK, counters, folder, lines, make, require,
                    run, seed, start, statistics, verify)
import subprocess

rng = seed()
KILLS = 200 if LONG else 20
SERVER_KILLS = 50 if LONG else 5


def kept(db):
    """How many raw lines of each zone are kept; verify has read every block."""
    return run("query", "--db", db,
               "SELECT zone, sum(lines) FROM log_block GROUP BY zone").stdout


def same_as(db, clean):
    verify(db)
    require(counters(db) == counters(clean), "the counters differ from an undisturbed run's")
    require(statistics(db) == statistics(clean), "the statistics differ from an undisturbed run's")
    require(kept(db) == kept(clean), "the request logs differ from an undisturbed run's")


def kill_soon(process, longest):
    """Whether the kill came before the end."""
    try:
        process.wait(rng.uniform(0, longest))
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()
    return process.returncode == -signal.SIGKILL


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
                killed += kill_soon(start("ingest", "--db", db, *logs), longest)
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


def stored_events(db):
    return run("query", "--db", db, "SELECT zone, day, events, hex(first), hex(data) FROM event_block"
                                    " ORDER BY zone, first").stdout


def crash_import(path):
    """All of an import is there, or nothing, and a retry makes it whole."""
    first, second = path / "first", path / "second"
    first.write_bytes(events(5000))
    second.write_bytes(events(60000))
    clean = make(path / "clean.db")
    run("import", "--db", clean, first)
    before = stored_events(clean)
    begin = time.monotonic()
    run("import", "--db", clean, second)
    longest = 1.1 * (time.monotonic() - begin)
    after = stored_events(clean)
    db = make(path / "t.db")
    run("import", "--db", db, first)
    killed = kills = 0
    while killed < KILLS // 2 and kills < 5 * KILLS:
        kills += 1
        killed += kill_soon(start("import", "--db", db, second), longest)
        verify(db)
        now = stored_events(db)
        require(now in (before, after), "part of an import is there")
        if now == after:
            db = make(path / f"t{kills}.db")
            run("import", "--db", db, first)
    run("import", "--db", db, second)
    require(stored_events(db) == after, "the shield events differ from an undisturbed run's")
    verify(db)
    print(f"import of shield events: {killed} of {kills} runs killed, each left all or nothing")


class Service:
    def __init__(self, db, path):
        self.port_file = path / "port"
        self.port_file.unlink(missing_ok=True)
        self.errors = open(path / "serve.stderr", "ab")
        self.process = subprocess.Popen(
            [TOLLBOOK, "serve", "--db", db, "--listen", "127.0.0.1:0", "--port-file",
             self.port_file, "--threads", "2"], env=ENVIRONMENT, stderr=self.errors)
        end = time.monotonic() + PATIENCE
        while not self.port_file.exists():
            require(self.process.poll() is None and time.monotonic() < end, "serve did not start",
                    (path / "serve.stderr").read_text())
            time.sleep(0.005)
        self.port = int(self.port_file.read_text())

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(PATIENCE)
        self.errors.close()


def post(port, key, name, body):
    """The answer's status and text, or None where the server went away."""
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        connection.request("POST", "/ingest/logs", body,
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
    key = run("key", "create", "--db", db, "--account", 1, "--role", "Ingest").stdout.decode().strip()
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


with folder() as name:
    crash_ingest(Path(name), growing=False)
with folder() as name:
    crash_ingest(Path(name), growing=True)
with folder() as name:
    crash_import(Path(name))
with folder() as name:
    crash_serve(Path(name))
