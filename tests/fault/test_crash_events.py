"""kill -9 of `serve` at random moments while four clients post events, each in bodies of its own cut, and send again what
had no answer in other bodies. What was acknowledged is there, each event counts once, and the end is that of
an undisturbed run.
"""
import http.client
import json
import random
import signal
import threading
import time
from pathlib import Path
from faults import CATALOG, LONG, PATIENCE, Service, folder, make, require, run, seed, verify

rng = seed()
KILLS = 60 if LONG else 8
EVENTS = 8000
METERS = [{"meter": "calls", "name": "Calls", "kind": "counter", "unit": "request", "resource": "script"},
          {"meter": "storage", "name": "Storage", "kind": "gauge", "unit": "byte", "resource": "zone"}]


def event(number):
    gauge = number % 5 == 0
    made = {"specversion": "1.0", "id": f"e{number}", "source": "fault", "type": "storage" if gauge else "calls",
            "subject": f"r{number % 40}", "data": {"account": 1 + number % 2, "value": rng.randrange(10 ** 6)}}
    if gauge or number % 3:
        made["time"] = f"2026-{10 + number % 2}-03T{number % 24:02d}:{number // 24 % 60:02d}:{number // 1440 % 60:02d}Z"
    return made


class Clients:
    def __init__(self, port, key, pool, acknowledged):
        self.port, self.key, self.pool, self.acknowledged = port, key, pool, acknowledged
        self.done = 0
        self.threads = [threading.Thread(target=self.work, args=(random.Random(rng.random()),)) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def work(self, drawn):
        """Posts until the server is gone."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        while True:
            body = drawn.choices(self.pool, k=drawn.choice([1, 2, 50, 300]))
            try:
                connection.request("POST", "/events", json.dumps(body),
                                   {"AccessKey": self.key, "Content-Type": "application/cloudevents-batch+json"})
                answer = connection.getresponse()
                text = answer.read()
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 503:
                continue  # busy: nothing was done
            require(answer.status == 200, answer.status, text)
            report = json.loads(text)
            require(report["accepted"] + report["duplicates"] == len(body), text)
            self.acknowledged.update(one["id"] for one in body)
            self.done += 1


def post_all(port, key, events, size):
    accepted = duplicates = 0
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    for at in range(0, len(events), size):
        connection.request("POST", "/events", json.dumps(events[at:at + size]),
                           {"AccessKey": key, "Content-Type": "application/json"})
        report = json.loads(connection.getresponse().read())
        accepted += report["accepted"]
        duplicates += report["duplicates"]
    return accepted, duplicates


def state(db):
    return [run("meter", "usage", meter["meter"], "--db", db, "--from", "2026-10-01", "--to", "2026-11-05", "--window", "HOUR",
                "--group-by", "resource").stdout for meter in METERS]


def prepare(db):
    make(db)
    run("apply", "--db", db, "-", stdin=json.dumps({**CATALOG, "meters": CATALOG["meters"] + METERS}).encode())
    return run("key", "create", "--db", db, "--account", 0, "--role", "Ingest").stdout.decode().strip()


with folder() as name:
    path = Path(name)
    db, clean = path / "t.db", path / "clean.db"
    key, clean_key = prepare(db), prepare(clean)
    events = [event(number) for number in range(EVENTS)]
    acknowledged = set()
    for _ in range(KILLS):
        service = Service(db, path)
        clients = Clients(service.port, key, events, acknowledged)
        enough = clients.done + rng.randrange(2, 40)
        while clients.done < enough and all(thread.is_alive() for thread in clients.threads):
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.02))
        service.end(signal.SIGKILL)
        for thread in clients.threads:
            thread.join()
        verify(db)
    service = Service(db, path)
    known = [one for one in events if one["id"] in acknowledged]
    require(post_all(service.port, key, known, 700) == (0, len(known)), "an acknowledged event was lost")
    shuffled = rng.sample(events, len(events))
    accepted, duplicates = post_all(service.port, key, shuffled, 900)
    require(accepted + duplicates == EVENTS and accepted <= EVENTS - len(known), accepted, duplicates, len(known))
    require(post_all(service.port, key, events, 1000) == (0, EVENTS), "an event counts twice")
    service.end(signal.SIGTERM)
    require(service.process.returncode == 0, "serve ended with", service.process.returncode)
    verify(db)
    service = Service(clean, path)
    post_all(service.port, clean_key, events, 1000)
    service.end(signal.SIGTERM)
    require(state(db) == state(clean), "the end is not that of an undisturbed run")
    print(f"serve: killed {KILLS} times under events, {len(known)} of {EVENTS} acknowledged before the last start, each once")
