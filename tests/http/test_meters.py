"""GET /meters and GET /meters/{meter}/usage: random usage of counters, gauges and samples, summed here by themselves, in
windows of each length and groups of each kind, by keys of accounts and of the operator. TB_SEED repeats a run.
"""
import json
import random
import sys
import unittest
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.parse import urlencode

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from script import random_seed  # noqa: E402

from harness import CATALOG, Case, Server, run  # noqa: E402

NOW = datetime(2026, 11, 4, 9, tzinfo=timezone.utc)
METERS = [
    {"meter": "calls", "name": "Calls", "kind": "counter", "unit": "call", "resource": "script", "dimensions": ["region", "plan"]},
    {"meter": "disk", "name": "Disk", "kind": "gauge", "unit": "byte", "resource": "disk", "dimensions": ["region"], "round_up": "64"},
    {"meter": "port", "name": "Port", "kind": "sample", "unit": "byte", "interval": 300, "resource": "port"}]
FIRST = datetime(2026, 9, 1, tzinfo=timezone.utc)


def stamp(moment):
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def parsed(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)


def window_of(moment, window):
    start = moment.replace(minute=0, second=0)
    if window != "HOUR":
        start = start.replace(hour=0)
    return start.replace(day=1) if window == "MONTH" else start


def end_of(start, window):
    if window == "MONTH":
        return (start + timedelta(days=32)).replace(day=1)
    return start + (timedelta(hours=1) if window == "HOUR" else timedelta(days=1))


class Oracle:
    """Lines as they were sent, and their sums."""

    def __init__(self, dice):
        self.lines = []
        span = int((NOW - FIRST).total_seconds())
        for i in range(1500):
            account, moment = dice.choice([1, 2]), FIRST + timedelta(seconds=dice.randrange(span))
            meter = dice.choice(["calls", "disk", "port"])
            line = {"meter": meter, "account": account, "resource": f"{meter}-{account}-{dice.randrange(3)}",
                    "value": dice.randrange(1 << dice.randrange(1, 40))}
            if meter == "calls":
                line.update(hour=stamp(moment.replace(minute=0, second=0)), dimensions={"region": dice.choice("AB"), "plan": dice.choice("XY")})
            elif meter == "disk":
                line.update(time=stamp(moment), dimensions={"region": dice.choice("AB")})
            else:
                line.update(time=stamp(moment))
            self.lines.append(line)

    def group(self, line, by):
        names = tuple((name, line["dimensions"][name]) for name in sorted(by) if name != "resource")
        return (line["resource"] if "resource" in by else None, names)

    def sums(self, meter, window, by, account):
        sums = defaultdict(int)
        series = defaultdict(dict)
        for line in self.lines:
            if line["meter"] != meter or account not in (None, line["account"]):
                continue
            if meter == "disk":
                moments = series[line["account"], line["resource"], line["dimensions"]["region"]]
                moments[parsed(line["time"])] = line
                continue
            moment = parsed(line.get("hour") or line["time"])
            sums[(*self.group(line, by), window_of(moment, window))] += line["value"]
        for moments in series.values():
            for at, until in zip(sorted(moments), sorted(moments)[1:] + [NOW]):
                line, start = moments[at], at
                value = -(-line["value"] // 64) * 64
                while start < until:
                    of = window_of(start, window)
                    end = min(until, end_of(of, window))
                    sums[(*self.group(line, by), of)] += value * int((end - start).total_seconds())
                    start = end
        return {key: value for key, value in sums.items() if value}

    def percentile(self, account, percent):
        """Of October's intervals."""
        intervals = [0] * (31 * 288)
        for line in self.lines:
            if line["meter"] == "port" and account in (None, line["account"]) and line["time"].startswith("2026-10"):
                intervals[int((parsed(line["time"]) - datetime(2026, 10, 1, tzinfo=timezone.utc)).total_seconds()) // 300] += line["value"]
        return sorted(intervals, reverse=True)[int((1000 - percent * 10) * len(intervals) // 1000)]


class MeterUsage(Case):
    @classmethod
    def setUpClass(cls):
        cls.seed = random_seed()
        cls.server = Server(log=None)
        path = cls.server.path / "meters.json"
        path.write_text(json.dumps({**CATALOG, "meters": METERS}))
        cls.server.stop()
        run("apply", "--db", cls.server.db, path)
        cls.server.start()
        cls.oracle = Oracle(random.Random(cls.seed))
        body = "".join(json.dumps(line) + "\n" for line in cls.oracle.lines).encode()
        answer = cls.server.ask("POST", "/ingest/buckets", "operator", body)
        assert answer.status == 200, answer.body

    def usage(self, meter, key="operator", status=200, **query):
        answer = self.server.get(f"/meters/{meter}/usage?{urlencode(query, doseq=True)}", key)
        self.assertEqual(answer.status, status, (query, answer.body[:300], self.seed))
        return answer if status != 200 else answer.json()

    def test_windows_are_the_sums_of_their_lines(self):
        groups = {"calls": ([], ["resource"], ["plan"], ["region", "plan"], ["resource", "plan", "region"]),
                  "disk": ([], ["resource"], ["region"], ["region", "resource"]), "port": ([], ["resource"])}
        for meter, ways in groups.items():
            for window in ("HOUR", "DAY", "MONTH"):
                for by in ways:
                    for key, account in (("operator", None), ("user", 1), ("other", 2)):
                        if meter == "port" and window == "MONTH":
                            continue
                        said = self.usage(meter, key, window=window, groupBy=by, **{"from": "2026-09-01", "to": "2026-12-01"})
                        self.assertEqual((said["meter"], said["window"]), (meter, window))
                        found = {}
                        for one in said["data"]:
                            self.assertEqual(parsed(one["end"]), end_of(parsed(one["start"]), window))
                            found[one.get("resource"), tuple(sorted(one.get("dimensions", {}).items())), parsed(one["start"])] = int(one["value"])
                        self.assertEqual(found, self.oracle.sums(meter, window, by, account), (meter, window, by, account, self.seed))
                        self.assertEqual(len(found), len(said["data"]))

    def test_a_month_of_samples_is_its_percentile(self):
        for key, account in (("operator", None), ("user", 1)):
            for percent in (95, 98.5, 99):
                said = self.usage("port", key, window="MONTH", percentile=percent, **{"from": "2026-10-01", "to": "2026-11-01"})
                found = [int(one["value"]) for one in said["data"]]
                wanted = self.oracle.percentile(account, percent)
                self.assertEqual(found, [wanted] if wanted else [], (account, percent, self.seed))

    def test_a_key_of_an_account_sees_that_account(self):
        mine = self.usage("calls", "user", window="MONTH", **{"from": "2026-10-01", "to": "2026-11-01"})
        self.assertEqual(mine, self.usage("calls", window="MONTH", account=1, **{"from": "2026-10-01", "to": "2026-11-01"}))
        self.usage("calls", "user", account=2, status=404)
        self.assertEqual(self.usage("calls", "user", resource="calls-2-0")["data"], [])
        self.usage("calls", "ingest", status=403)
        self.assertEqual([one["meter"] for one in self.server.get("/meters").json()["meters"]], ["calls", "disk", "port"])
        self.assertEqual(self.server.get("/meters", "operator").json()["meters"][1],
                         {"meter": "disk", "name": "Disk", "kind": "gauge", "unit": "byte", "round_up": "64", "resource": "disk",
                          "dimensions": ["region"], "unece": "C62"})

    def test_what_cannot_be_answered_is_refused(self):
        for query, field in (({"from": "2026-10-01T00:30:00Z", "window": "HOUR"}, "from"), ({"to": "2026-10-01T05:00:00Z"}, "to"),
                             ({"from": "2026-10-02", "window": "MONTH"}, "from"), ({"from": "soon"}, "from"),
                             ({"from": "2026-10-02", "to": "2026-10-02"}, "to"), ({"window": "WEEK"}, "window"),
                             ({"from": "2020-01-01"}, "from"), ({"groupBy": "colour"}, "groupBy"), ({"percentile": "100"}, "percentile")):
            self.refused(self.usage("calls", status=400, **query), 400, "validation_error", field)
        self.usage("nothing", status=404)


if __name__ == "__main__":
    unittest.main()
