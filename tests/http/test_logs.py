"""The request logging API, v2 and v1: every filter, paging, echo, order, anonymisation, the dates, the
rate, credentials, hostile lines, and clients that stop reading.

What the server answers is compared with a plain reading of the lines that were sent.
"""
import gzip
import json
import socket
import subprocess
import time
import unittest
from collections import Counter
from pathlib import Path
from harness import CATALOG, ENVIRONMENT, NOW, PATIENCE, TOLLBOOK, Case, Server, Wire, run, together

NOW_MS = 1793782800000  # NOW
HOUR = 3600000
DAY_MS = 24 * HOUR

# Zones of account 1 from 300 up, by how their logs stand.
# WHOLE's logs are there five times, so that the tests stay within the rate of a zone.
WHOLE, SHORT, DROPPED, OFF, DISABLED, SUSPENDED, EXTENDED, BIG, BURST = range(300, 309)
FILTERS, WRONG, DAYS, PARAMETERS, WRITTEN, WRITTEN_SHORT, WRITTEN_DROPPED, SUMMED, NEWS = range(310, 319)
ALIKE = (WHOLE, FILTERS, WRONG, DAYS, PARAMETERS, SUMMED)
SETTINGS = {
    **{zone: {"LoggingIPAnonymizationEnabled": False} for zone in ALIKE},
    SHORT: {},
    DROPPED: {"LogAnonymizationType": 1},
    OFF: {"EnableLogging": False},
    DISABLED: {"Enabled": False},
    SUSPENDED: {"Suspended": True},
    EXTENDED: {"EnableExtendedLogging": True, "LoggingIPAnonymizationEnabled": False},
    BIG: {},
    BURST: {},
    WRITTEN: {"LoggingIPAnonymizationEnabled": False},
    WRITTEN_SHORT: {},
    WRITTEN_DROPPED: {"LogAnonymizationType": 1},
    NEWS: {},
}


def line(zone, ms, cache="HIT", status=200, size=1000, ip="198.51.100.7", referer="-",
         url="https://cdn.example/a/b.js", edge="DE", agent="agent", rid="0" * 32, country="DE",
         *extended):
    return "|".join(map(str, (cache, status, ms, size, zone, ip, referer, url, edge, agent, rid,
                              country, *extended)))


def iso(ms):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ms // 1000)) + f".{ms % 1000:03d}Z"


def make_lines(zone):
    out = []
    for i in range(200):
        out.append(line(
            zone, NOW_MS - 70 * HOUR + i * 20 * 60000 + i % 7, ["HIT", "MISS", "-", "EXPIRED"][i % 4],
            [200, 206, 301, 404, 500, 503][i % 6], i, ["198.51.100.7", "198.51.101.8",
            "2001:db8:1:2:3:4:5:6", "odd"][i % 4 if zone in ALIKE else i % 3],
            ["-", "https://ref.example/P"][i % 2],
            f"https://{['cdn', 'IMG'][i % 2]}.example/{['Assets', 'video'][i % 3 % 2]}/{i}.ts?q={i}",
            ["DE", "NY", "SG"][i % 3], ["curl/8", "Mozilla/5.0 (X11)"][i % 2], f"{i:032x}",
            ["DE", "us", "-"][i % 3]))
    return out


def fields(one):
    names = ("cache", "status", "ms", "size", "zone", "ip", "referer", "url", "edge", "agent", "id",
             "country")
    return dict(zip(names, one.split("|")))


class Logs(Case):
    @classmethod
    def setUpClass(cls):
        zones = [{"id": zone, "account": 1, "name": f"z{zone}", "created": "2026-01-05T00:00:00Z",
                  "settings": settings} for zone, settings in SETTINGS.items()]
        CATALOG["zones"] += zones
        try:
            cls.server = Server(log=None, *cls.options)
        finally:
            CATALOG["zones"] = [z for z in CATALOG["zones"] if z not in zones]
        cls.sent = {zone: make_lines(zone) for zone in (*ALIKE, SHORT, DROPPED)}
        text = "\n".join(one for zone in cls.sent.values() for one in zone) + "\n"
        text += "\n".join(line(zone, NOW_MS - HOUR) for zone in (OFF, DISABLED, SUSPENDED, 201)) + "\n"
        text += line(EXTENDED, NOW_MS - HOUR, "MISS", 206, 7, "1.2.3.4", "-", "/", "DE", "a",
                     "f" * 32, "DE", 5, "bytes=2-6", "Bearer secret") + "\n"
        text += line(WHOLE, NOW_MS - 73 * HOUR) + "\n"  # too old to be kept
        answer = cls.server.ask("POST", "/ingest/logs", "ingest", text.encode())
        assert answer.status == 200 and answer.json()["rejected"] == 0, answer.body

    def logs(self, zone, query="", key="user", expect=200):
        """Asks as often as the rate allows: refusals for it are waited out, not counted."""
        answer = self.server.get(f"/v2/pullzones/{zone}/logs{query}", key)
        while answer.status == 429 and expect != 429:
            time.sleep(int(answer.headers["retry-after"]))
            answer = self.server.get(f"/v2/pullzones/{zone}/logs{query}", key)
        self.assertEqual(answer.status, expect, (query, answer.body))
        return answer.json()

    def refuses(self, answer, status, code):
        self.assertEqual(answer.status, status, answer.body)
        error = answer.json()
        self.assertEqual(list(error), ["error"])
        self.assertEqual(list(error["error"]), ["code", "message", "details"])
        self.assertEqual(error["error"]["code"], code)
        return error["error"]["details"]

    def expected(self, keep):
        return [f for f in sorted(map(fields, self.sent[WHOLE]), key=lambda f: int(f["ms"]),
                                  reverse=True) if keep(f)]

    WINDOW = f"from={iso(NOW_MS - 72 * HOUR)}"

    def test_filters_agree_with_a_plain_reading(self):
        cases = {
            "": lambda f: True,
            "&status=404": lambda f: f["status"] == "404",
            "&status=5xx,301": lambda f: f["status"] in ("500", "503", "301"),
            "&cacheStatus=MISS,-": lambda f: f["cache"] in ("MISS", "-"),
            "&cacheStatus=miss": lambda f: f["cache"] == "MISS",
            "&country=de,US": lambda f: f["country"].upper() in ("DE", "US"),
            "&edgeLocation=NY": lambda f: f["edge"] == "NY",
            "&remoteIp=198.51.100.7": lambda f: f["ip"] == "198.51.100.7",
            "&remoteIp=2001:DB8:1:2:3:4:5:6": lambda f: ":" in f["ip"],
            "&urlContains=EXAMPLE/assets": lambda f: "example/assets" in f["url"].lower(),
            "&urlContains=https": lambda f: False,
            "&userAgentContains=MOZILLA": lambda f: "Mozilla" in f["agent"],
            "&refererContains=ref.example/p": lambda f: f["referer"] != "-",
            "&search=curl+12.ts": lambda f: "curl" in f["agent"] or "12.ts" in f["url"],
            f"&search={7:032x}": lambda f: f["id"] == f"{7:032x}",
            "&search=198.51": lambda f: False,
            f"&requestId={9:032x}": lambda f: f["id"] == f"{9:032x}",
            "&requestId=00000000-0000-0000-0000-00000000000B": lambda f: f["id"] == f"{11:032x}",
            "&status=4xx&edgeLocation=DE&includeOriginShield=true":
                lambda f: f["status"] == "404" and f["edge"] == "DE",
        }
        for query, keep in cases.items():
            wanted = self.expected(keep)
            got = self.logs(FILTERS, f"?limit=10000&{self.WINDOW}{query}")
            self.assertEqual([e.get("bytesSent") for e in got["data"]],
                             [int(f["size"]) for f in wanted], query)
            self.assertEqual(got["pagination"], {"offset": 0, "limit": 10000,
                                                 "returned": len(wanted), "hasMore": False})

    def test_an_entry_says_what_the_line_said(self):
        for f, e in zip(self.expected(lambda f: True),
                        self.logs(WHOLE, f"?limit=10000&{self.WINDOW}")["data"]):
            host, path = f["url"][8:].split("/", 1)
            wanted = {"timestamp": iso(int(f["ms"])), "pullZoneId": WHOLE, "requestId": f["id"],
                      "cacheStatus": f["cache"], "statusCode": int(f["status"]),
                      "bytesSent": int(f["size"]), "remoteIp": f["ip"],
                      "countryCode": f["country"].upper(), "edgeLocation": f["edge"],
                      "scheme": "https", "host": host, "path": "/" + path, "url": f["url"],
                      "userAgent": f["agent"], "referer": f["referer"]}
            for name in ("countryCode", "referer"):
                if wanted[name] == "-":
                    del wanted[name]
            self.assertEqual(list(e.items()), list(wanted.items()))

    def test_pages_order_and_echo(self):
        whole = self.logs(WHOLE, f"?limit=10000&{self.WINDOW}&order=asc")["data"]
        self.assertEqual(whole, self.logs(WHOLE, f"?limit=10000&{self.WINDOW}")["data"][::-1])
        pages, offset = [], 0
        while True:
            page = self.logs(WHOLE, f"?limit=64&offset={offset}&order=ASC&{self.WINDOW}")
            pages += page["data"]
            offset += len(page["data"])
            if not page["pagination"]["hasMore"]:
                break
            self.assertEqual(page["pagination"]["returned"], 64)
        self.assertEqual(pages, whole)
        self.assertEqual(self.logs(WHOLE, "?offset=1000000")["data"], [])
        got = self.logs(WHOLE, "?from=2026-11-02T00:00:00.500Z&to=2026-11-03T01:00:00%2B01:00")
        self.assertEqual(got["query"], {"pullZoneId": WHOLE, "from": "2026-11-02T00:00:00Z",
                                        "to": "2026-11-03T00:00:00Z", "order": "desc"})
        self.assertEqual(self.logs(WHOLE)["query"], {
            "pullZoneId": WHOLE, "from": "2026-11-03T09:00:00Z", "to": NOW, "order": "desc"})

    def test_from_is_in_and_to_is_not(self):
        f = self.expected(lambda f: True)[50]
        at = int(f["ms"])
        for start, end, n in ((at, at + 1, 1), (at - 1, at, 0), (at + 1, at + 2, 0)):
            got = self.logs(WHOLE, f"?from={iso(start)}&to={iso(end)}")
            self.assertEqual(len(got["data"]), n, (start, end))
        micro = iso(at)[:-1] + "001Z"  # a microsecond later
        for start, end, n in ((micro, iso(at + 1), 0), (iso(at), micro, 1), (micro, micro, None)):
            got = self.logs(WHOLE, f"?from={start}&to={end}", expect=400 if n is None else 200)
            if n is not None:
                self.assertEqual(len(got["data"]), n, (start, end))
                self.assertEqual(got["query"]["from"], iso(at)[:19] + "Z")

    def test_addresses_are_hidden_and_compared_as_the_zone_wants(self):
        short = {e["remoteIp"] for e in self.logs(SHORT, f"?limit=500&{self.WINDOW}")["data"]}
        self.assertEqual(short, {"198.51.100.0", "198.51.101.0", "2001:db8:1:2::"})
        self.assertEqual({e["remoteIp"] for e in self.logs(
            SHORT, f"?limit=500&remoteIp=198.51.100.200&{self.WINDOW}")["data"]}, {"198.51.100.0"})
        dropped = self.logs(DROPPED, f"?limit=500&{self.WINDOW}")["data"]
        self.assertEqual({e["remoteIp"] for e in dropped}, {"0.0.0.0", "::"})
        for ip in ("9.9.9.9", "nonsense"):  # it is ignored
            same = self.logs(DROPPED, f"?limit=500&remoteIp={ip}&{self.WINDOW}")["data"]
            self.assertEqual(same, dropped)

    def test_addresses_are_addresses_however_they_are_written(self):
        written = ["2001:DB8:1:2::A", "2001:0db8:0001:0002:0000:0000:0000:000a", "2001:db8:1:2::a",
                   "2001:db8:1:2:0:0:0:b", "::FFFF:192.0.2.1", "192.0.2.1", "[2001:db8:1:2::a]",
                   "192.0.2.1:80", "unknown"]
        zones = (WRITTEN, WRITTEN_SHORT, WRITTEN_DROPPED)
        text = "\n".join(line(zone, NOW_MS - HOUR + i,
                              "-" if i or zone == WRITTEN_DROPPED else "HIT", size=i, ip=ip)
                         for zone in zones for i, ip in enumerate(written)) + "\n"
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", text.encode()).status, 200)

        def shown(zone, query="", what="bytesSent"):
            return [e.get(what) for e in self.logs(zone, f"?order=asc&limit=500{query}")["data"]]

        self.assertEqual(shown(WRITTEN, what="remoteIp"), written)
        for query, rows in (("2001:db8:1:2::a", [0, 1, 2]), ("2001:DB8:1:2:0::A", [0, 1, 2]),
                            ("2001:db8:1:2::b", [3]), ("192.0.2.1", [4, 5]), ("::ffff:192.0.2.1", [4, 5])):
            self.assertEqual(shown(WRITTEN, f"&remoteIp={query}"), rows, query)
        self.assertEqual(shown(WRITTEN_SHORT, what="remoteIp"),
                         ["2001:db8:1:2::"] * 4 + ["192.0.2.0"] * 2 + [None] * 3)
        self.assertEqual(shown(WRITTEN_SHORT, "&remoteIp=2001:db8:1:2:ffff::"), [0, 1, 2, 3])
        self.assertEqual(shown(WRITTEN_SHORT, "&remoteIp=::ffff:192.0.2.200"), [4, 5])
        self.assertEqual(shown(WRITTEN_DROPPED, what="remoteIp"),
                         ["::"] * 4 + ["0.0.0.0"] * 2 + [None] * 3)
        # "-" is what the cache status of the others is shown as; agent and the rest have none
        self.assertEqual(shown(WRITTEN, "&search=-"), list(range(1, len(written))))
        self.assertEqual(shown(WRITTEN_DROPPED, "&search=-+hit"), list(range(len(written))))
        self.assertEqual(shown(WRITTEN_SHORT, "&search=hit"), [0])

    def test_extended_fields_where_the_zone_logs_them(self):
        entry = self.logs(EXTENDED)["data"][0]
        self.assertEqual((entry["bodyBytesSent"], entry["contentRange"], entry["authorizationHeader"]),
                         (5, "bytes=2-6", "Bearer secret"))
        self.assertEqual(len(self.logs(EXTENDED, "?search=BYTES=2")["data"]), 1)
        text = self.server.get(f"/11-04-26/{EXTENDED}.log").body.decode()
        self.assertTrue(text.endswith("|DE|5|bytes=2-6|Bearer secret\n"), text)

    def test_wrong_parameters_are_all_named(self):
        cases = {
            "limit=0": "limit must be between 1 and 10000.",
            "limit=10001": "limit must be between 1 and 10000.",
            "limit=1e3": "limit must be between 1 and 10000.",
            "offset=-1": "offset must be 0 or more.",
            "order=up": "order must be asc or desc.",
            "status=20": None, "status=2xy": None, "status=600": None, "status=404,,": None,
            "country=D": None, "country=D1": None, "remoteIp=1.2.3": None, "requestId=12": None,
            "includeOriginShield=perhaps": None, "from=yesterday": None, "to=2026-02-30": None,
            "from=2026-10-31T00:00:00Z":
                "Time range cannot exceed 3 days (log retention window).",
            "from=2026-10-30T00:00:00Z&to=2026-10-31T00:00:00Z": None,
            "from=2026-11-04T08:00:00Z&to=2026-11-04T08:00:00Z": "to must be after from.",
            "search=" + "+".join("a" * 17): None,
            "search=" + "a" * 129: None,
        }
        for query, sentence in cases.items():
            answer = self.logs(WRONG, "?" + query, expect=400)["error"]
            self.assertEqual(answer["code"], "invalid_request")
            self.assertEqual(answer["message"], "One or more query parameters are invalid.")
            self.assertEqual(len(answer["details"]), 1, (query, answer))
            if sentence:
                self.assertEqual(answer["details"][0], sentence)
        both = self.logs(WRONG, "?limit=0&offset=-1&order=x", expect=400)["error"]["details"]
        self.assertEqual(len(both), 3)
        self.logs(WRONG, "?search=" + "+".join("a" * 16) + "+")
        self.logs(WRONG, "?search=" + "a" * 128)
        self.logs(WRONG, "?search=" + "%C3%A9" * 128)  # characters, not bytes

    def test_lists_and_words_at_their_limits(self):
        for query, status in (("country=" + ",".join(["DE"] * 64), 200),
                              ("country=" + ",".join(["DE"] * 65), 400),
                              ("cacheStatus=" + ",".join(["HIT"] * 64), 200),
                              ("cacheStatus=" + ",".join(["HIT"] * 65), 400),
                              ("cacheStatus=" + "x" * 32, 200), ("cacheStatus=" + "x" * 33, 400),
                              ("status=" + ",".join(map(str, range(100, 600))), 200),
                              ("search=" + "+".join("a" * 128 for _ in range(16)), 200),
                              ("search=" + "+" * 500, 200), ("offset=9223372036854775807", 200),
                              ("offset=9223372036854775808", 400), ("limit=10000", 200),
                              ("limit=010", 400), ("limit=%2B1", 400)):
            self.logs(WRITTEN, "?" + query, expect=status)

    def test_who_may_read(self):
        path = "/v2/pullzones/%s/logs"
        ask = self.server.get
        self.refuses(ask(path % WHOLE, None), 401, "unauthorized")
        self.refuses(ask(path % WHOLE, "wrong"), 403, "forbidden")
        self.refuses(ask(path % WHOLE, "ingest"), 403, "forbidden")
        self.refuses(ask(path % WHOLE, "other"), 403, "forbidden")
        self.refuses(ask(path % 999999, "user"), 403, "forbidden")
        self.refuses(ask(path % DISABLED), 403, "forbidden")
        self.refuses(ask(path % SUSPENDED), 403, "forbidden")
        self.refuses(ask(path % OFF), 404, "logging_disabled")
        self.refuses(ask(f"/11-04-26/{OFF}.log"), 404, "logging_disabled")
        for zone in ("-1", "%2B1", "01", "1e3", "0x1", "9223372036854775808", "0"):
            self.refuses(ask(path % zone), 403, "forbidden")
            self.refuses(ask(f"/11-04-26/{zone}.log"), 403, "forbidden")

    def test_refusals_before_a_route_have_its_shape_too(self):
        for path in (f"/v2/pullzones/{WHOLE}/logs", f"/11-04-26/{WHOLE}.log"):
            for method in ("POST", "PUT", "DELETE", "OPTIONS"):
                self.refuses(self.server.ask(method, path, "user"), 405, "invalid_request")
            self.refuses(self.server.get(f"{path}?search=%00"), 400, "invalid_request")
            self.refuses(self.server.get(f"{path}?search=%zz"), 400, "invalid_request")
            self.refuses(self.server.get(f"{path}?search={'a' * 4096}"), 414, "invalid_request")
            self.refuses(self.server.get(path, X="y" * 17000), 431, "invalid_request")
        self.assertEqual(self.server.get("/v2/pullzones/1").json()["ErrorKey"], "resource.not_found")
        shield = self.server.ask("DELETE", "/shield/event-logs/1/11-04-2026", "user")
        self.assertEqual((shield.status, shield.json()["title"]), (405, "Method Not Allowed"))

    # holds: logs.rate, logs.429
    def test_thirty_requests_in_ten_seconds_for_a_zone_both_versions_together(self):
        for i in range(30):
            target = (f"/11-04-26/{BURST}.log", f"/v2/pullzones/{BURST}/logs", f"/v2/pullzones/{BURST}/logs/summary")[i % 3]
            self.assertEqual(self.server.get(target).status, 200, i)
        for target in (f"/v2/pullzones/{BURST}/logs", f"/v2/pullzones/{BURST}/logs/summary", f"/11-04-26/{BURST}.log"):
            answer = self.server.get(target)
            self.refuses(answer, 429, "rate_limited")
            self.assertIn(answer.headers["retry-after"], [str(n) for n in range(1, 11)])
        self.refuses(self.server.get(f"/v2/pullzones/{BURST}/logs", "other"), 403, "forbidden")

    # --- the summary ---

    def test_a_summary_counts_what_the_lines_are(self):
        for query in ("", "status=404,5xx", "country=us&cacheStatus=HIT,-", "search=curl"):
            page = self.logs(SUMMED, f"?{self.WINDOW}&limit=10000&{query}")
            summary = self.logs(SUMMED, f"/summary?{self.WINDOW}&top=100&{query}")
            self.assertEqual(summary["totals"]["requests"], len(page["data"]), query)
            self.assertEqual(summary["totals"]["bytes"], sum(row["bytesSent"] for row in page["data"]))
            self.assertEqual({row["value"]: row["requests"] for row in summary["top"]["status"]["values"]},
                             {str(k): v for k, v in Counter(row["statusCode"] for row in page["data"]).items()})
            self.assertEqual(sum(point["requests"] for point in summary["points"]), len(page["data"]))
            self.assertEqual((summary["pullZoneId"], summary["from"], summary["to"]),
                             (SUMMED, page["query"]["from"], page["query"]["to"]))
        few = self.logs(SUMMED, "/summary?values=STATUS,url&top=1")["top"]
        self.assertEqual({name: len(one["values"]) for name, one in few.items()}, {"url": 1, "status": 1})

    def test_a_summarys_wrong_parameters_are_all_named(self):
        cases = {"top=0": 1, "top=101": 1, "top=x": 1, "values=url,ip": 1, "values=,": 1, "status=20": 1, "from=yesterday": 1,
                 "from=2026-10-31T00:00:00Z": 1, "search=" + "a" * 129: 1, "top=0&values=x&country=D": 3}
        for query, sentences in cases.items():
            error = self.logs(SUMMED, "/summary?" + query, expect=400)["error"]
            self.assertEqual((error["code"], len(error["details"])), ("invalid_request", sentences), query)

    def test_who_may_read_a_summary(self):
        path, ask = "/v2/pullzones/%s/logs/summary", self.server.get
        self.refuses(ask(path % WHOLE, None), 401, "unauthorized")
        for key in ("wrong", "ingest", "other"):
            self.refuses(ask(path % WHOLE, key), 403, "forbidden")
        for zone in (999999, DISABLED, SUSPENDED, "01"):
            self.refuses(ask(path % zone), 403, "forbidden")
        self.refuses(ask(path % OFF), 404, "logging_disabled")
        self.refuses(self.server.ask("POST", path % WHOLE, "user"), 405, "invalid_request")

    def test_a_summary_without_news_costs_a_304(self):
        path = f"/v2/pullzones/{NEWS}/logs/summary?from={iso(NOW_MS - 2 * HOUR)}&to={iso(NOW_MS)}"
        self.server.ask("POST", "/ingest/logs", "ingest", (line(NEWS, NOW_MS - HOUR) + "\n").encode())
        first = self.server.get(path)
        self.assertEqual((first.status, first.json()["totals"]["requests"]), (200, 1))
        again = self.server.get(path, If_None_Match=first.headers["etag"])
        self.assertEqual((again.status, again.body), (304, b""))
        for other in (f"{path}&status=404", path.replace(f"/{NEWS}/", f"/{SUMMED}/"), path.replace("T07", "T06")):
            self.assertEqual(self.server.get(other, If_None_Match=first.headers["etag"]).status, 200, other)
        answer = self.server.ask("POST", "/ingest/logs", "ingest", (line(NEWS, NOW_MS - HOUR + 1) + "\n").encode())
        self.assertEqual(answer.status, 200)
        news = self.server.get(path, If_None_Match=first.headers["etag"])
        self.assertEqual((news.status, news.json()["totals"]["requests"]), (200, 2))

    def test_a_summary_for_a_client_that_has_left_is_not_made(self):
        """The request's last bytes and the end of the connection come in one segment."""
        with self.server.wire() as wire:
            wire.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            wire.send(f"GET /v2/pullzones/{NEWS}/logs/summary HTTP/1.1\r\nHost: t\r\nAccessKey: {self.server.keys['user']}\r\n\r\n".encode())
            wire.sock.shutdown(socket.SHUT_WR)
            answer = wire.read()
        self.assertEqual(answer.status, 503, answer.body)

    # --- v1 ---

    def day(self, date, query="", zone=DAYS, expect=200, **headers):
        answer = self.server.get(f"/{date}/{zone}.log{query}", **headers)
        while answer.status == 429:
            time.sleep(int(answer.headers["retry-after"]))
            answer = self.server.get(f"/{date}/{zone}.log{query}", **headers)
        self.assertEqual(answer.status, expect, answer.body)
        return answer

    def of_day(self, month, day, zone=DAYS):
        return [one for one in sorted(self.sent[zone], key=lambda o: int(o.split("|")[2]),
                                      reverse=True)
                if time.gmtime(int(one.split("|")[2]) // 1000)[1:3] == (month, day)]

    @staticmethod
    def shown(lines):
        return "".join(one.replace("|us", "|US") + "\n" for one in lines).encode()

    def test_a_days_lines_as_text(self):
        for month, day in ((11, 1), (11, 2), (11, 3), (11, 4)):
            answer = self.day(f"{month}-{day:02d}-26")
            self.assertEqual(answer.body, self.shown(self.of_day(month, day)))
            self.assertEqual(answer.headers["content-type"], "text/plain; charset=utf-8")
            self.assertEqual(answer.headers["content-disposition"],
                             f'attachment; filename="{month}-{day:02d}-26-{DAYS}.log"')
        self.assertNotIn("content-disposition", self.day("11-03-26", "?download=false").headers)

    def test_the_parameters_of_a_days_lines(self):
        zone = PARAMETERS
        lines = self.of_day(11, 2, zone)
        cases = {
            "?sort=asc": lines[::-1], "?order=asc": lines[::-1], "?sort=desc": lines,
            "?start=5": lines[5:], "?end=5": lines[:6], "?start=5&end=9": lines[5:10],
            "?start=9&end=5": [], "?start=100000": [],
            "?status=100,200,300,400,500": lines, "?status=400,500": [
                o for o in lines if o.split("|")[1][0] in "45"],
            "?status=404,3xx": [o for o in lines if o.split("|")[1] in ("404", "301")],
            "?status=4,5": [o for o in lines if o.split("|")[1][0] in "45"],
            "?search=Assets": [o for o in lines if "Assets" in o],
            "?search=Assets&start=1&end=3": [o for o in lines if "Assets" in o][1:4],
            "?search=Assets%7C": [],
        }
        for query, wanted in cases.items():
            self.assertEqual(self.day("11-02-26", query, zone).body, self.shown(wanted), query)
        for query in ("?start=-1", "?end=x", "?sort=up", "?status=6", "?status=45", "?status=,4",
                      "?status=600", "?status=000", "?status=0",
                      "?download=perhaps"):
            details = self.refuses(self.day("11-02-26", query, zone, expect=400), 400, "invalid_request")
            self.assertEqual(len(details), 1)

    def test_gzip_and_head(self):
        plain = self.day("11-02-26").body
        zipped = self.day("11-02-26", Accept_Encoding="gzip")
        self.assertEqual(zipped.headers["content-encoding"], "gzip")
        self.assertEqual(gzip.decompress(zipped.body), plain)
        head = self.server.ask("HEAD", f"/11-02-26/{DAYS}.log", "user")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_days_out_of_the_window_and_no_days(self):
        for date in ("10-31-26", "11-05-26", "13-01-26", "02-30-26", "00-10-26", "11-00-26",
                     "1-2-26", "2026-11-03", "11-03-2026", "11.03.26", "ab-cd-ef"):
            self.refuses(self.day(date, expect=400), 400, "invalid_request")

    # --- hostile lines ---

    def test_hostile_lines_come_back_as_valid_json(self):
        zone, at = BIG, NOW_MS - 2 * HOUR
        hostile = [
            line(zone, at, url="https://h/\"quoted\"\\", agent='\\"'),
            line(zone, at + 1, url="https://h/" + "u" * 65536),
            line(zone, at + 2, agent="tab\there", referer="\x01\x7f"),
        ]
        raw = b"\n".join(o.encode() for o in hostile) + b"\n"
        raw += line(zone, at + 3, url="https://h/BAD", agent="BAD").encode().replace(
            b"BAD", b"\xff\xc3\x28\xed\xa0\x80") + b"\n"
        raw += line(zone, at + 4).encode() + b"|too|many\n"
        raw += line(zone, at + 5, agent="nul\0").encode() + b"\n"
        answer = self.server.ask("POST", "/ingest/logs", "ingest", raw)
        self.assertEqual((answer.json()["accepted"], answer.json()["rejected"]), (4, 2))
        got = self.logs(zone, f"?order=asc&to={iso(at + HOUR)}")["data"]
        self.assertEqual([e["path"] for e in got[:2]], ["/\"quoted\"\\", "/" + "u" * 65536])
        self.assertEqual((got[2]["userAgent"], got[2]["referer"]), ("tab\there", "\x01\x7f"))
        self.assertEqual(got[3]["path"], "/\ufffd\ufffd(\ufffd\ufffd\ufffd")
        body = self.server.get(f"/11-04-26/{zone}.log?sort=asc&end=3").body
        self.assertIn(b"\xff\xc3\x28\xed\xa0\x80", body)

    def test_pipes_within_columns_come_back_in_json_and_are_left_out_of_lines(self):
        text = ('192.0.2.1 - u|v [04/Nov/2026:08:00:00 +0000] "GET /a|b?x=| HTTP/1.1" 200 10 "|" "u|a"\n')
        answer = self.server.ask("POST", "/ingest/logs?format=combined&zone=101&region=DE", "ingest",
                                 text.encode())
        self.assertEqual(answer.json()["accepted"], 1, answer.body)
        entry = self.logs(101, "?search=a%7Cb")["data"][0]
        self.assertEqual([entry[name] for name in ("path", "url", "userAgent", "referer")],
                         ["/a|b?x=|", "/a|b?x=|", "u|a", "|"])
        line_ = self.server.get("/11-04-26/101.log?search=/ab").body
        self.assertEqual(line_, b"-|200|1793779200000|10|101|192.0.2.0|-|/ab?x=|DE|ua|-|-\n")

    # --- much, and clients that do not read it ---

    def test_long_answers_are_streamed_and_may_be_left(self):
        zone = BIG
        n = 60000
        text = "\n".join(line(zone, NOW_MS - 30 * HOUR + i, url=f"https://h/{i}") for i in range(n))
        for part in range(2):  # two inputs whose times overlap
            body = "\n".join(text.split("\n")[part::2]) + "\n"
            self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", body.encode()).status,
                             200)
        path = f"/11-03-26/{zone}.log?sort=asc"
        for _ in range(6):
            with self.server.wire() as wire:
                wire.send(f"GET {path} HTTP/1.1\r\nHost: t\r\nAccessKey: "
                          f"{self.server.keys['user']}\r\n\r\n".encode())
                wire.sock.recv(1000)
        body = self.server.get(path).body.decode().splitlines()
        self.assertEqual([o.split("|")[7] for o in body], [f"https://h/{i}" for i in range(n)])
        bodies = together(3, lambda i: self.server.get(path, Accept_Encoding="gzip"))
        for answer in bodies:
            self.assertEqual(gzip.decompress(answer.body).decode().splitlines(), body)
        # many lines that are passed over are passed over in turns with other requests
        for query in ("?search=nowhere", "?start=1000000"):
            answer = self.server.get(path.split("?")[0] + query)
            self.assertEqual((answer.status, answer.body), (200, b""))
            self.assertEqual(answer.headers.get("transfer-encoding"), "chunked", query)
        got = self.logs(zone, f"?limit=10000&offset=3&order=asc&to={iso(NOW_MS - 20 * HOUR)}")
        self.assertEqual([e["path"] for e in got["data"]], [f"/{i}" for i in range(3, 10003)])
        self.assertEqual(self.server.get("/healthz", None).status, 200)

    def test_the_same_input_again_keeps_nothing_twice(self):
        body = ("\n".join(line(102, NOW_MS - HOUR + i) for i in range(50)) + "\n").encode()
        for _ in range(2):
            self.server.ask("POST", "/ingest/logs", "ingest", body)
        self.assertEqual(len(self.logs(102, "?limit=1000")["data"]), 50)


class Slow(Case):
    """A client that does not read meets the deadline."""
    options = ("--body-timeout-ms", "300")

    def test_a_client_that_stops_reading_is_let_go(self):
        text = "\n".join(line(101, NOW_MS - HOUR + i, url="https://h/" + "%x" % (i * 7919) * 30)
                         for i in range(60000)) + "\n"
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", text.encode()).status, 200)
        with self.server.wire() as wire:
            wire.send(f"GET /11-04-26/101.log HTTP/1.1\r\nHost: t\r\nAccessKey: "
                      f"{self.server.keys['user']}\r\n\r\n".encode())
            end = time.monotonic() + PATIENCE
            while self.server.metric('tollbook_deadline_closes_total{phase="send"}') < 1:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.05)
        self.assertEqual(self.server.get("/v2/pullzones/101/logs?limit=1").status, 200)


class Settings(Case):
    """A zone's settings hold from the moment they are applied: for what is kept, and for what is shown."""

    def apply(self, settings):
        catalog = json.loads(json.dumps(CATALOG))
        if settings is None:
            del catalog["zones"][0]
        else:
            catalog["zones"][0]["settings"] = settings
        answer = self.server.ask("POST", "/catalog?delete=true", "operator", json.dumps(catalog).encode(),
                                 Content_Type="application/json")
        self.assertEqual(answer.status, 200, answer.body)

    def send(self, n):
        text = line(101, NOW_MS - HOUR + n, "HIT", 200, n, "1.2.3.4", "-", "/", "DE", "a",
                    f"{n:032x}", "DE", 5, "bytes=2-6", "Bearer secret") + "\n"
        self.assertEqual(self.server.ask("POST", "/ingest/logs", "ingest", text.encode()).status, 200)

    def shown(self, status=200):
        answer = self.server.get(f"/v2/pullzones/101/logs?order=asc&from={iso(NOW_MS - HOUR)}")
        self.assertEqual(answer.status, status, answer.body)
        return [(e["bytesSent"], "contentRange" in e) for e in answer.json().get("data", ())]

    def test_what_is_kept_and_shown_follows_the_settings(self):
        extended = {"EnableExtendedLogging": True}
        self.apply({})
        self.send(1)
        self.apply({"EnableLogging": False})
        self.send(2)
        self.shown(404)
        self.apply(extended)
        self.send(3)
        self.assertEqual(self.shown(), [(1, False), (3, True)])
        self.apply({})
        self.send(4)
        self.assertEqual(self.shown(), [(1, False), (3, False), (4, False)])
        self.apply(None)
        self.shown(403)
        self.send(5)
        self.apply(extended)
        self.assertEqual(self.shown(), [(1, False), (3, True), (4, False)])


class Shares(Case):
    """Clients of one account that do not read keep nobody else's answers away."""

    def test_an_account_has_its_share_of_streams(self):
        for zone in (101, 201):
            text = "\n".join(line(zone, NOW_MS - HOUR + i, url="https://h/" + "%x" % (i * 7919) * 30)
                             for i in range(60000)) + "\n"
            answer = self.server.ask("POST", "/ingest/logs", "ingest", text.encode())
            self.assertEqual(answer.status, 200)
        wires = []
        for _ in range(16):
            wires.append(self.server.wire())
            wires[-1].send(f"GET /11-04-26/101.log HTTP/1.1\r\nHost: t\r\nAccessKey: "
                           f"{self.server.keys['user']}\r\n\r\n".encode())
            self.assertTrue(wires[-1].fill())
        answer = self.server.get("/v2/pullzones/101/logs?limit=1")
        self.assertEqual((answer.status, answer.headers["retry-after"]), (429, "1"))
        self.assertIn("of this account", answer.json()["error"]["message"])
        whole = self.server.get("/11-04-26/201.log", "other")
        self.assertEqual((whole.status, whole.body.count(b"\n")), (200, 60000))
        for wire in wires:
            wire.sock.close()
        end = time.monotonic() + PATIENCE
        while self.server.get("/v2/pullzones/101/logs?limit=1").status == 429:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


class Tokens(Case):
    """Bearer tokens, and the logging API on an address of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = cls.server.path
        cls.secret, cls.wrong = folder / "secret", folder / "wrong"
        cls.secret.write_text("s" * 32 + "\n")
        cls.wrong.write_text("w" * 32)
        cls.server.stop()
        cls.server.start("--token-key", cls.secret, "--logging-listen", "127.0.0.1:0")
        cls.logging = int(cls.server.messages().split(" for request logs")[-2].rsplit(":", 1)[1])

    def token(self, *options, key=None, now=NOW):
        done = subprocess.run([TOLLBOOK, "token", "--token-key", key or self.secret, "--account", "1",
                               *options], env={**ENVIRONMENT, "TOLLBOOK_NOW": now}, check=True,
                              capture_output=True, timeout=PATIENCE)
        return done.stdout.decode().strip()

    def status(self, token, target="/v2/pullzones/101/logs?limit=1", port=None, **headers):
        with Wire(port or self.server.port) as wire:
            return wire.ask("GET", target, {"Authorization": f"Bearer {token}", **headers}).status

    # holds: auth.logs-bearer
    def test_a_token_opens_what_its_roles_open(self):
        self.assertEqual(self.status(self.token()), 200)
        self.assertEqual(self.status(self.token(), "/statistics"), 200)
        self.assertEqual(self.status(self.token("--role", "SubuserBilling")), 403)
        self.assertEqual(self.status(self.token(), "/v2/pullzones/201/logs"), 403)
        self.assertEqual(self.status(self.token(), AccessKey=self.server.keys["user"]), 200)
        self.assertEqual(self.status(self.token(), AccessKey="wrong"), 403)

    def test_time_signature_and_algorithm(self):
        import base64

        def part(value):
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")
        good = self.token("--hours", "1")
        claims = good.split(".")[1]
        self.assertEqual(self.status(good), 200)
        for bad in (self.token(key=self.wrong), self.token("--hours", "1", now="2026-11-04T08:00:00Z"),
                    self.token(now="2026-11-04T09:00:01Z"), good[:-2], good + "x", "", "a.b.c",
                    f"{part({'alg': 'none', 'typ': 'JWT'})}.{claims}.",
                    f"{part({'alg': 'HS512', 'typ': 'JWT'})}.{claims}.{good.split('.')[2]}"):
            self.assertEqual(self.status(bad), 403, bad)
            self.assertEqual(self.status(bad, "/statistics"), 401, bad)
        self.assertEqual(self.status(self.token("--hours", "1", now="2026-11-04T08:00:01Z")), 200)

    def test_keys_of_the_operator_have_no_tokens(self):
        for options in (("--role", "Operator"), ("--role", "Nobody")):
            done = subprocess.run([TOLLBOOK, "token", "--token-key", self.secret, "--account", "1",
                                   *options], env=ENVIRONMENT, capture_output=True, check=False,
                                  timeout=PATIENCE)
            self.assertEqual((done.returncode, done.stdout), (2, b""))

    # holds: logs.address
    def test_the_logging_address_answers_logs_alone(self):
        token = self.token()
        self.assertEqual(self.status(token, port=self.logging), 200)
        self.assertEqual(self.status(token, "/11-04-26/101.log", port=self.logging), 200)
        self.assertEqual(self.status(token, "/statistics", port=self.logging), 404)


if __name__ == "__main__":
    unittest.main()
