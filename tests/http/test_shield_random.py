"""Shield events at random against a plain list of what was sent: pages of every day, and exports with
any combination of filters, over blocks that batches of any size were merged into. TB_SEED reruns
one.
"""
import csv
import io
import ipaddress
import json
import random
import re
import time
import unittest

from harness import CATALOG, Case, Server, random_seed

NOW_MS = 1793782800000  # NOW
DAY = 86400000
TODAY = NOW_MS // DAY * DAY
ZONES = (42, 43)
COLUMNS = ("feature", "action", "ruleId", "ruleName", "ip", "country", "asn", "ja4", "method", "url",
           "userAgent", "severity", "status", "serverZone")
VALUES = {
    "feature": ["waf", "bot", ""], "action": ["block", "Challenge"], "ruleId": ["941100", "9", "x*y"],
    "ruleName": ["SQL injection", "XSS", "=cmd"],
    "ip": ["10.0.0.1", "10.1.2.3", "2001:db8::1", "2001:DB8:0::1", "::ffff:10.0.0.1", "bad", "fe80::9"],
    "country": ["DE", "US", "de"], "asn": ["64500", "1"], "ja4": ["t13d", "T13D"],
    "method": ["GET", "POST"], "url": ["https://a/Login?x=1", "/a.PNG", 'a,b"c', "a\r\nb", "é" * 5],
    "userAgent": ["sqlmap/1.7", "Mozilla", "-x"], "severity": ["1"], "status": ["403"],
    "serverZone": ["DE1"],
}
LABELS = ("ruleId", "country", "asn", "severity", "method", "status", "serverZone")
FIELDS = {"feature": "feature", "ruleId": "ruleId", "ip": "ip", "ja4": "ja4", "ua": "userAgent",
          "url": "url", "asn": "asn", "country": "country", "action": "action"}
NETWORKS = ["10.0.0.0/8", "10.0.0.1/32", "2001:db8::/32", "0.0.0.0/0", "::/0", "fe80::/10"]
SEARCHED = ("ip", "ruleId", "url", "userAgent", "ruleName")


def lower(text):
    return re.sub("[A-Z]", lambda c: c[0].lower(), text)


def value(event, name):
    return event.get(name, event.get("labels", {}).get(name, ""))


def address(text):
    try:
        ip = ipaddress.ip_address(text)
    except ValueError:
        return None
    return ip.version == 6 and ip.ipv4_mapped or ip


def holds(text, field, op, wanted):
    """Whether one value of a filter passes the text."""
    if op == "cidr":
        ip, network = address(text), ipaddress.ip_network(wanted)
        return ip is not None and ip.version == network.version and ip in network
    if op in ("eq", "in"):
        both = field == "ip" and address(text) and address(wanted)
        return address(text) == address(wanted) if both else text == wanted
    if op == "contains":
        return lower(wanted) in lower(text)
    return re.fullmatch(".*".join(map(re.escape, lower(wanted).split("*"))), lower(text), re.S)


def passes(event, filters, query):
    for f in filters:
        text = value(event, FIELDS[f["field"]])
        if not any(holds(text, f["field"], f["op"], wanted) for wanted in f["value"]):
            return False
    return not query or any(lower(query) in lower(value(event, name)) for name in SEARCHED)


def stamp(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def guarded(text):
    return "'" + text if text[:1] and text[0] in "=+-@\t\r" else text


class Random(Case):
    @classmethod
    def setUpClass(cls):
        cls.rng = random.Random(random_seed())
        CATALOG["shield_zones"] = [{"id": zone, "account": 1} for zone in ZONES]
        try:
            cls.server = Server(log=None)
        finally:
            del CATALOG["shield_zones"]
        cls.count = 0
        cls.there = {zone: [] for zone in ZONES}
        known = set()
        for _ in range(25):
            batch = [cls.make() for _ in range(cls.rng.choice([1, 10, 200, 600]))]
            body = "".join(json.dumps(e) + "\n" for e in batch).encode()
            answer = cls.server.ask("POST", "/ingest/buckets", "ingest", body)
            assert answer.status == 200, answer.body
            for e in batch:
                key = (e["shield_zone"], e["timestamp"], e.get("logId", e["log"]))
                if e["timestamp"] >= TODAY - 2 * DAY and key not in known:
                    known.add(key)
                    cls.there[e["shield_zone"]].append(e)

    @classmethod
    def make(cls):
        """An event; its log says which one it is. Some name themselves as others do."""
        rng = cls.rng
        cls.count += 1
        at = TODAY - rng.choice([0, 0, 1, 2, 3]) * DAY + rng.randrange(NOW_MS - TODAY)
        e = {"shield_zone": rng.choice(ZONES), "log": f"n{cls.count}",
             "timestamp": TODAY + rng.randrange(50) if rng.random() < 0.3 else at}
        if rng.random() < 0.7:
            e["logId"] = rng.choice([f"id{rng.randrange(500)}", f"u{cls.count}"])
        for name, values in VALUES.items():
            if rng.random() < 0.7:
                place = e.setdefault("labels", {}) if name in LABELS and rng.random() < 0.5 else e
                place[name] = rng.choice(values)
        return e

    def test_pages_hold_every_event_of_a_day_once(self):
        for zone in ZONES:
            for day in range(TODAY - 2 * DAY, TODAY + 1, DAY):
                path = f"/shield/event-logs/{zone}/" + time.strftime("%m-%d-%Y/", time.gmtime(day / 1000))
                seen, page = [], {"continuationToken": "", "hasMoreData": True}
                while page["hasMoreData"]:
                    page = self.server.get(path + page["continuationToken"]).json()
                    seen += page["logs"]
                keys = [(entry["timestamp"], entry["logId"]) for entry in seen]
                self.assertEqual(keys, sorted(set(keys), reverse=True))
                self.assertEqual(sorted(entry["log"] for entry in seen),
                                 sorted(e["log"] for e in self.there[zone]
                                        if day <= e["timestamp"] < day + DAY))

    def some_filter(self):
        rng = self.rng
        op = rng.choice(["eq", "in", "contains", "wildcard", "cidr"])
        field = "ip" if op == "cidr" else rng.choice(list(FIELDS))
        values = NETWORKS if op == "cidr" else VALUES[FIELDS[field]] + ["nope", ""]
        wanted = rng.choices(values, k=rng.choice([1, 2, 3]))
        if op == "contains":
            wanted = [w[rng.randrange(2):][:rng.randrange(1, 9)] for w in wanted]
        if op == "wildcard":
            wanted = [rng.choice([w, w[:2] + "*", "*" + w[-2:], f"*{w[1:3]}*", "*", "**" + w])
                      for w in wanted]
        if op != "cidr":
            wanted = [rng.choice([w, w.upper() if w.isascii() else w]) for w in wanted]
        return {"field": field, "op": op, "value": wanted}

    def test_exports_agree_with_a_plain_reading(self):
        rng = self.rng
        for _ in range(100):
            zone = rng.choice(ZONES)
            filters = [self.some_filter() for _ in range(rng.choice([0, 1, 1, 2, 3]))]
            query = rng.choice([None, None, "sql", "10.0", "9411", "XSS", "mozilla", "login", ""])
            start, end = rng.choice([(0, NOW_MS), (TODAY - DAY, TODAY + 30), (TODAY, TODAY + 1),
                                     (TODAY + 20, NOW_MS), (TODAY - 2 * DAY, NOW_MS)])
            body = json.dumps({"from": start, "to": end, "filters": filters or None, "query": query})
            answer = self.server.ask("POST", f"/shield/event-logs/{zone}/export", "user", body.encode(),
                                     Content_Type="application/json")
            self.assertEqual(answer.status, 200, (body, answer.body))
            rows = list(csv.DictReader(io.StringIO(answer.body.decode(), newline="")))
            times = [row["timestamp"] for row in rows]
            self.assertEqual(times, sorted(times))
            wanted = [(stamp(e["timestamp"]), *(guarded(value(e, name)) for name in COLUMNS))
                      for e in self.there[zone]
                      if start <= e["timestamp"] < end and passes(e, filters, query)]
            self.assertEqual(sorted((row["timestamp"], *(row[name] for name in COLUMNS)) for row in rows),
                             sorted(wanted), body)


if __name__ == "__main__":
    unittest.main()
