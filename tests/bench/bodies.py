"""How long one line waits beside heavy bodies, the workload `bodies` of `run` beside this file: of each shape five packed bodies as
heavy as one may be, thrown three times by five senders, and one line of another log after the other. A shape is what the writer has
most of in such a body: docs/ingest.md, "What one body may hold"."""
import gzip
import json
import threading
import time
from http.client import HTTPConnection

SENDERS, TIMES, AGAIN = 5, 3, 40
BEGIN = 1795046400000  # 2026-11-19T00:00Z, in milliseconds
HOUR = 3600000
LINE = b"HIT|200|%d|100|%d|192.0.2.1|-|https://z/|E%x|agent|-|DE\n"
LOGGED = range(1000000, 1018000)  # pull zones that keep their lines
OWNED = range(2000001, 2033001)  # pull zones with an account each
CATALOG = {"accounts": [{"id": n, "name": "a"} for n in (1, *OWNED)],
           "zones": [{"id": n, "account": a, "name": f"z{n}"} for n, a in [(n, 1) for n in LOGGED] + [(n, n) for n in OWNED]]}


def event(zone, at, number):
    return b'{"shield_zone":%d,"timestamp":%d,"logId":"e%d"}\n' % (zone, at, number)


def balancer(number, hour):
    return b'{"load_balancer":%d,"hour":"2026-11-19T%02d:00:00Z","requests":1}\n' % (number, hour)


# What a body is of, how many lines it has, and line i of sender s.
LOGS, ROWS = "/ingest/logs", "/ingest/buckets"
SHAPES = {
    "pull zones, an hour of each": (LOGS, 62000, lambda s, i: LINE % (BEGIN + s, s * 10**7 + i + 1, 1)),
    "pull zones, 24 hours of each": (
        LOGS, 24 * 22000, lambda s, i: LINE % (BEGIN + i % 24 * HOUR, s * 10**7 + i // 24 + 1, 1)),
    "load balancers, 24 hours of each": (ROWS, 24 * 22000, lambda s, i: balancer(s * 10**7 + i // 24 + 1, i % 24)),
    "one pull zone's locations": (LOGS, 33000, lambda s, i: LINE % (BEGIN + s, 7, s * 33000 + i)),
    "pull zones, each at another location": (LOGS, 32000, lambda s, i: LINE % (BEGIN + s, s * 10**7 + i + 1, 32000 - i)),
    "accounts, a pull zone of each": (LOGS, len(OWNED), lambda s, i: LINE % (BEGIN - (10 + s) * 24 * HOUR, OWNED[i], 1)),
    "countries of pull zones": (
        LOGS, 20 * 29000, lambda s, i: (LINE % (BEGIN + s, s * 10**7 + i // 20 + 1, 1))[:-3] + b"%c%c\n" % (65 + i % 20, 65 + s)),
    "pull zones that keep their lines": (
        LOGS, 2 * len(LOGGED), lambda s, i: LINE % (BEGIN + i % 1000 + s, LOGGED[i % len(LOGGED)], 1)),
    "lines of one that keeps them": (LOGS, 1000000, lambda s, i: LINE % (BEGIN + i % HOUR, LOGGED[s], 1)),
    "shield events": (ROWS, 120000, lambda s, i: event(42, BEGIN + i * 37 % (24 * HOUR), s * 10**7 + i)),
    "shield zones, an event of each": (ROWS, 30000, lambda s, i: event(1 + i, BEGIN + i, s)),
    "refused lines": (LOGS, 900000, lambda s, i: b"no line %d\n" % i),
}


def post(connection, path, key, body, **more):
    connection.request("POST", path, body, {"AccessKey": key, **more})
    answer = connection.getresponse()
    answer.read()
    return answer.status


class Round:
    """A server with nothing in it but pull zones that keep their lines."""
    def __init__(self, port, key, shape):
        self.port, self.key = port, key
        self.path, n, line = SHAPES[shape]
        self.taken, self.refused = 0, 0
        self.bodies = [gzip.compress(b"".join(line(s, i) for i in range(n)), 1) for s in range(SENDERS)]

    def send(self, sender, count):
        """A body is a duplicate the next time, but for its name. Who is told that the server is busy comes again."""
        connection = HTTPConnection("127.0.0.1", self.port)
        for time_of in range(TIMES):
            for _ in range(AGAIN):
                status = post(connection, self.path, self.key, self.bodies[sender], **{
                    "Content-Encoding": "gzip", "Idempotency-Key": f"{sender}.{time_of}"})
                if status != 503:
                    break
                time.sleep(0.2)
            count[status == 200] += 1

    def measure(self):
        """Milliseconds that one line waited, each; how many bodies were refused and how many taken."""
        waits, count = [], [0, 0]
        senders = [threading.Thread(target=self.send, args=(s, count)) for s in range(SENDERS)]
        connection = HTTPConnection("127.0.0.1", self.port)
        for sender in senders:
            sender.start()
        while any(sender.is_alive() for sender in senders):
            began = time.monotonic()
            if post(connection, LOGS, self.key, LINE % (BEGIN + len(waits), 3, len(waits) % 5)) != 200:
                raise RuntimeError("one line was not taken")
            waits.append(1000 * (time.monotonic() - began))
            time.sleep(0.01)
        for sender in senders:
            sender.join()
        return waits, count


def catalogue(folder):
    path = folder / "bodies.json"
    path.write_text(json.dumps(CATALOG))
    return path
