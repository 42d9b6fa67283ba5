"""Request logs at random against a plain reading of the lines that were sent: v2 and its summary with any
combination of filters, v1 with any of its parameters, over blocks that inputs of any size were joined into.
TB_SEED reruns one.
"""
import ipaddress
import random
import re
import time
import unittest
from collections import Counter
from urllib.parse import urlencode

from harness import CATALOG, Case, Server, random_seed

NOW_MS = 1793782800000  # NOW
HOUR, DAY = 3600000, 86400000
KEPT = NOW_MS - 72 * HOUR
ASKED = 28  # of a zone, which answers 30 requests in ten seconds
# What is shown of addresses: WHOLE with extended logging too.
WHOLE, SHORT, DROPPED, EXTENDED = range(4)
SETTINGS = [{"LoggingIPAnonymizationEnabled": False}, {}, {"LogAnonymizationType": 1},
            {"LoggingIPAnonymizationEnabled": False, "EnableExtendedLogging": True}]
ZONES = range(500, 516)  # each has the same lines, and the settings of its number

VALUES = {
    "cache": ["HIT", "MISS", "BYPASS", "-", "STALE", "EXPIRED"],
    "status": [200, 206, 301, 304, 404, 416, 500, 503, 100, 599],
    "ip": ["192.0.2.1", "192.0.2.9", "198.51.100.7", "2001:db8::1", "2001:DB8::2", "odd", "-"],
    "referer": ["-", "https://r.example/P?q=1", "http://b"],
    "url": ["https://cdn.Example/a/b.js?v=1", "http://h:8080/IMG/x.png", "https://a.b", "/é/ü", "-",
            "https://a.b/a/" + "x" * 300],
    "edge": ["DE", "NY", "SG", "de"],
    "agent": ["curl/8", "Mozilla/5.0 (X11; Linux)", "-", "BOT/2"],
    "country": ["DE", "us", "-", "FR"],
    "range": ["-", "bytes=0-1"],
}
ASKS = {
    "status": ["404", "5xx", "200,3XX", "1xx,599"],
    "cacheStatus": ["HIT", "MISS,-", "-", "nope"],
    "country": ["de", "US,FR", "XX"],
    "edgeLocation": ["DE", "de"],
    "remoteIp": ["192.0.2.1", "192.0.2.77", "2001:DB8::1", "2001:db8::2"],
    "urlContains": ["example", "EXAMPLE/A", "b/", "/img", "h:8080", "é", "x" * 200, "://", "a.b/"],
    "userAgentContains": ["MOZ", "bot", "-", "8"],
    "refererContains": ["R.EX", "p?q"],
    "search": ["curl bot", "HIT", "- zzz", "exam", "seg img", "bytes=0", "192.0", "ff", "Bearer"],
}
CLASSES = ["2", "4,5", "200,500", "404", "1,3", "5xx"]
PARTS = ["HIT", "/a/b", "|DE|", "192.0.2", "2001:", "nope", "é", "Bearer", "-"]


def lower(text):
    """ASCII alone."""
    return re.sub("[A-Z]", lambda c: c[0].lower(), text)


def stated(text):
    return "" if text == "-" else text


def address(text):
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def hidden(text, privacy):
    ip = address(text)
    if privacy in (WHOLE, EXTENDED):
        return text
    if ip is None:
        return "-"
    bits = 0 if privacy == DROPPED else {4: 24, 6: 64}[ip.version]
    return str(ipaddress.ip_network(f"{ip}/{bits}", strict=False).network_address)


def host_and_path(url):
    if "://" not in url:
        return "", url
    host, slash, path = url.split("://", 1)[1].partition("/")
    return host, slash + path


def has_status(status, wanted):
    return any(w in (str(status), f"{status // 100}xx", f"{status // 100}XX")
               for w in wanted.split(","))


def passes(f, q, privacy):
    """Whether v2 shows the line."""
    host, path = host_and_path(f["url"])
    agent, referer, rid = stated(f["agent"]), stated(f["referer"]), lower(stated(f["id"]))
    searched = [f["cache"], rid, f["edge"], host, path, agent, referer]
    if privacy == EXTENDED:
        searched.append(stated(f["range"]))
    tests = {
        "status": lambda w: has_status(f["status"], w),
        "cacheStatus": lambda w: f["cache"] in w.split(","),
        "country": lambda w: f["country"].upper() in w.upper().split(","),
        "edgeLocation": lambda w: f["edge"] == w,
        "remoteIp": lambda w: privacy == DROPPED or (
            address(f["ip"]) and hidden(f["ip"], privacy) == hidden(w, privacy)
            if privacy == SHORT else address(f["ip"]) == address(w)),
        "urlContains": lambda w: lower(w) in lower(host + path),
        "userAgentContains": lambda w: lower(w) in lower(agent),
        "refererContains": lambda w: lower(w) in lower(referer),
        "requestId": lambda w: rid == lower(w.replace("-", "")),
        "search": lambda w: any(lower(word) in lower(text) for word in w.split()
                                for text in searched),
    }
    return all(tests[name](wanted) for name, wanted in q.items())


def line(f, zone):
    return "|".join(map(str, (f["cache"], f["status"], f["ms"], f["size"], zone, f["ip"], f["referer"],
                              f["url"], f["edge"], f["agent"], f["id"], f["country"], 5, f["range"],
                              "Bearer x"))) + "\n"


def shown(f, zone, privacy):
    """The line as v1 has it."""
    rid = lower(f["id"]) if len(f["id"]) == 32 else f["id"]
    columns = line({**f, "ip": hidden(f["ip"], privacy), "id": rid, "country": f["country"].upper()},
                   zone).rstrip("\n").split("|")
    return "|".join(columns if privacy == EXTENDED else columns[:12])


SERVED = ("HIT", "STALE", "UPDATING", "REVALIDATED")
KINDS = {
    "url": lambda f: "".join(host_and_path(f["url"])).partition("?")[0],
    "status": lambda f: str(f["status"]),
    "country": lambda f: stated(f["country"]).upper(),
    "cacheStatus": lambda f: f["cache"],
    "userAgent": lambda f: stated(f["agent"]),
    "host": lambda f: host_and_path(f["url"])[0],
    "edgeLocation": lambda f: f["edge"],
}
STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600]


def figures(lines):
    classes = Counter(f["status"] // 100 for f in lines)
    return {"requests": len(lines), "bytes": sum(f["size"] for f in lines),
            "cached": sum(f["cache"] in SERVED for f in lines), **{f"{n}xx": classes[n] for n in range(1, 6)}}


def summed(lines, start, end, kinds, top):
    """What the summary of these lines says."""
    step = next(s for s in STEPS if (end - start) <= s * 1000 * 120) * 1000
    points = [{"at": iso(at)[:19] + "Z", **figures([f for f in lines if at <= f["ms"] < at + step])}
              for at in range(start // step * step, end, step)]
    tops = {}
    for kind in kinds:
        requests, size = Counter(), Counter()
        for f in lines:
            requests[KINDS[kind](f)] += 1
            size[KINDS[kind](f)] += f["size"]
        order = sorted(requests, key=lambda value: (-requests[value], value.encode()))
        tops[kind] = {"exact": True, "distinct": len(requests), "values": [
            {"value": value, "requests": requests[value], "bytes": size[value]} for value in order[:top]]}
    return {"stepSeconds": step // 1000, "totals": figures(lines), "points": points, "top": tops}


def iso(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


class Random(Case):
    @classmethod
    def setUpClass(cls):
        cls.rng = random.Random(random_seed())
        zones = [{"id": zone, "account": 1, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z",
                  "settings": SETTINGS[zone % 4]} for zone in ZONES]
        CATALOG["zones"] += zones
        try:
            cls.server = Server(log=None)
        finally:
            CATALOG["zones"] = [z for z in CATALOG["zones"] if z not in zones]
        cls.lines = [cls.make(i) for i in range(1200)]
        left = cls.lines[:]
        while left:
            n = cls.rng.choice([1, 5, 50, 300])
            body = "".join(line(f, zone) for zone in ZONES for f in left[:n])
            answer = cls.server.ask("POST", "/ingest/logs", "ingest", body.encode())
            assert answer.status == 200 and answer.json()["rejected"] == 0, answer.body
            left = left[n:]

    @classmethod
    def make(cls, i):
        rng = cls.rng
        ids = [f"{rng.getrandbits(128):032x}", f"{rng.getrandbits(128):032X}", str(i), "-"]
        return {**{name: rng.choice(values) for name, values in VALUES.items()}, "size": i,
                "id": rng.choice(ids), "ms": NOW_MS - rng.choice([1, 10, 30, 71, 72, 73]) * HOUR +
                rng.randrange(-2000000, 2000000)}

    def window(self):
        start = NOW_MS - self.rng.choice([72, 71, 40, 24, 1]) * HOUR
        return start, max(start + 1, NOW_MS - self.rng.choice([0, 0, 1, 30 * HOUR]))

    def test_v2_agrees_with_a_plain_reading(self):
        rng = self.rng
        for zone in ZONES[:8]:
            privacy = zone % 4
            for _ in range(ASKED):
                q = {name: rng.choice(values) for name, values in ASKS.items() if rng.random() < 0.2}
                rid = rng.choice(self.lines)["id"]
                if len(rid) == 32 and rng.random() < 0.1:
                    q["requestId"] = rid
                start, end = self.window()
                order, offset = rng.choice(["asc", "desc"]), rng.choice([0, 0, 1, 50, 1000])
                limit = rng.choice([10000, 100, 7])
                wanted = [f for f in self.lines if max(start, KEPT) <= f["ms"] < end and
                          passes(f, q, privacy)]
                times = sorted((f["ms"] for f in wanted), reverse=order == "desc")
                target = f"/v2/pullzones/{zone}/logs?" + urlencode({
                    **q, "from": iso(start), "to": iso(end), "order": order, "offset": offset,
                    "limit": limit})
                answer = self.server.get(target)
                self.assertEqual(answer.status, 200, (target, answer.body))
                got = answer.json()
                self.assertEqual([e["timestamp"] for e in got["data"]],
                                 [iso(ms) for ms in times[offset:offset + limit]], target)
                self.assertEqual(got["pagination"]["hasMore"], len(times) > offset + limit, target)
                sizes = {e["bytesSent"] for e in got["data"]}
                self.assertEqual(len(sizes), len(got["data"]), target)
                self.assertLessEqual(sizes, {f["size"] for f in wanted}, target)

    def test_the_summary_agrees_with_a_plain_reading(self):
        rng = self.rng
        for zone in ZONES[12:]:
            privacy = zone % 4
            for _ in range(ASKED):
                q = {name: rng.choice(values) for name, values in ASKS.items() if rng.random() < 0.1}
                start, end = self.window()
                start = max(start, KEPT)
                kinds = rng.sample(list(KINDS), rng.randrange(1, 8))
                top = rng.choice([1, 3, 10, 100])
                target = f"/v2/pullzones/{zone}/logs/summary?" + urlencode({
                    **q, "from": iso(start), "to": iso(end), "top": top,
                    **({} if len(kinds) == len(KINDS) else {"values": ",".join(kinds)})})
                answer = self.server.get(target)
                self.assertEqual(answer.status, 200, (target, answer.body))
                got = answer.json()
                wanted = summed([f for f in self.lines if start <= f["ms"] < end and passes(f, q, privacy)],
                                start, end, kinds, top)
                self.assertEqual({name: got[name] for name in wanted}, wanted, target)
                self.assertEqual((got["pullZoneId"], got["from"], got["to"]),
                                 (zone, iso(start)[:19] + "Z", iso(end)[:19] + "Z"), target)

    def test_v1_agrees_with_a_plain_reading(self):
        rng = self.rng
        for zone in ZONES[8:12]:
            privacy = zone % 4
            for _ in range(ASKED):
                day = NOW_MS // DAY * DAY - rng.randrange(4) * DAY
                q = {name: rng.choice(values) for name, values in (
                    ("status", CLASSES), ("search", PARTS), ("start", [0, 1, 7, 200, 5000]),
                    ("end", [0, 5, 100, 9999]), ("sort", ["asc", "desc"])) if rng.random() < 0.4}
                classes = re.sub(r"\b(\d)(00)?\b", r"\1xx", q.get("status", "1,2,3,4,5"))
                wanted = {f["ms"]: f for f in self.lines if day <= f["ms"] < day + DAY and
                          f["ms"] >= KEPT and has_status(f["status"], classes) and
                          q.get("search", "") in shown(f, zone, privacy)}
                same = [f for f in self.lines if f["ms"] in wanted and wanted[f["ms"]] is not f]
                times = sorted(wanted, reverse=q.get("sort") != "asc")
                page = times[q.get("start", 0):q.get("end", len(times)) + 1]
                target = (time.strftime("/%m-%d-%y/", time.gmtime(day // 1000)) +
                          f"{zone}.log?{urlencode(q)}")
                answer = self.server.get(target)
                self.assertEqual(answer.status, 200, (target, answer.body))
                if same:
                    continue  # two lines of one millisecond: their order is that of their storing
                self.assertEqual(answer.body.decode(), "".join(
                    shown(wanted[ms], zone, privacy) + "\n" for ms in page), target)


if __name__ == "__main__":
    unittest.main()
