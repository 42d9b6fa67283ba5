"""A second opinion on whole statistics answers.

Reads the text of request logs, bucket rows and a catalogue and computes the JSON of GET /statistics
and of the three pull zone statistics from it, by the contract's text (sections 1.2 to 1.5 and 2)
with dictionaries, exact integers and datetime. It shares nothing with the engine: no packed chunks,
no rollups, one pass over everything for each question.
"""
import json
import re
from collections import defaultdict
from datetime import datetime, timedelta, timezone
from decimal import Decimal

SERVED = {"HIT", "REVALIDATED", "STALE", "UPDATING"}
MAX = {"concurrent_max", "queued_max"}
UTC = timezone.utc
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
COMBINED = re.compile(
    r'(\S+) (\S+) (\S+) \[([^\]]+)\] "((?:\\.|[^"\\])*)" (\d{3}) (\d+|-)'
    r' "((?:\\.|[^"\\])*)" "((?:\\.|[^"\\])*)"(?: (\S+))?$')


class Usage:
    """Counters by (zone, edge, hour), as plain additions."""

    def __init__(self):
        self.counters = defaultdict(lambda: defaultdict(int))

    def add(self, zone, edge, hour, **values):
        cell = self.counters[zone, edge, hour]
        for name, value in values.items():
            cell[name] = max(cell[name], value) if name in MAX else cell[name] + value

    def request(self, zone, edge, moment, cache, status, size):
        hour = moment.replace(minute=0, second=0, microsecond=0)
        served = cache in SERVED
        values = {"requests": 1, "bytes": size, "pulled": int(not served),
                  "cached_bytes": size if served else 0}
        if status // 100 in (3, 4, 5):
            values[f"status_{status // 100}xx"] = 1
        self.add(zone, edge, hour, **values)

    def pipe_log(self, text):
        for line in text.splitlines():
            columns = line.split("|")
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(columns[2]))
            self.request(int(columns[4]), columns[8], moment, columns[0], int(columns[1]),
                         int(columns[3]))

    def combined_log(self, text, zone, edge):
        for line in text.splitlines():
            match = COMBINED.fullmatch(line)
            moment = datetime.strptime(match[4], "%d/%b/%Y:%H:%M:%S %z").astimezone(UTC)
            size = 0 if match[7] == "-" else int(match[7])
            self.request(zone, edge, moment, match[10] or "-", int(match[6]), size)

    def bucket_rows(self, text):
        for line in text.splitlines():
            row = json.loads(line)
            hour = datetime.fromisoformat(row.pop("hour").replace("Z", "+00:00"))
            if "load_balancer" not in row:
                self.add(row.pop("zone"), row.pop("region"), hour, **row)


def number(value):
    """An integer as an integer, a double as the shortest text that reads back, no exponent."""
    if isinstance(value, int):
        return str(value)
    if value == int(value):
        return str(int(value))
    return format(Decimal(repr(value)), "f")


def pointed(value):
    """A double outside charts: whole numbers have a point as well."""
    text = number(value)
    return text if "." in text else text + ".0"


def hit_rate(pulled, requests):
    return 100.0 * (1.0 - pulled / requests) if requests else 0


def half_up(a, b):
    return (2 * a + b) // (2 * b) if b else 0


class Answer:
    """One question: which zones and edges, which buckets."""

    def __init__(self, usage, zones, edges, first, end, hourly):
        step = HOUR if hourly else DAY
        self.keys = []
        while first < end:
            self.keys.append(first)
            first += step
        self.cells = {key: defaultdict(int) for key in self.keys}
        self.total = defaultdict(int)
        self.by_edge = defaultdict(int)
        for (zone, edge, hour), values in usage.counters.items():
            key = hour if hourly else hour.replace(hour=0)
            if zone not in zones or (edges is not None and edge not in edges) or key not in self.cells:
                continue
            for name, value in values.items():
                for cell in (self.cells[key], self.total):
                    cell[name] = max(cell[name], value) if name in MAX else cell[name] + value
            self.by_edge[edge] += values["bytes"]

    def chart(self, of):
        get = (lambda cell: cell[of]) if isinstance(of, str) else of
        return "{" + ",".join(f'"{key:%Y-%m-%dT%H:00:00Z}":{number(get(self.cells[key]))}'
                              for key in self.keys) + "}"

    def statistics(self, names):
        total = self.total
        shown = sorted((names.get(edge, f"Other: {edge}, {edge}").encode(), size)
                       for edge, size in self.by_edge.items() if size)
        geo = "{" + ",".join(f"{json.dumps(name.decode(), ensure_ascii=False)}:{size}"
                             for name, size in shown) + "}"
        time, timed = "origin_time_ms_sum", "origin_time_count"
        return self.text([
            ("TotalBandwidthUsed", number(total["bytes"])),
            ("TotalOriginTraffic", number(total["origin_bytes"])),
            ("AverageOriginResponseTime", number(half_up(total[time], total[timed]))),
            ("OriginResponseTimeChart", self.chart(lambda c: c[time] / c[timed] if c[timed] else 0)),
            ("TotalRequestsServed", number(total["requests"])),
            ("CacheHitRate", number(hit_rate(total["pulled"], total["requests"]))),
            ("BandwidthUsedChart", self.chart("bytes")),
            ("BandwidthCachedChart", self.chart("cached_bytes")),
            ("CacheHitRateChart", self.chart(lambda c: hit_rate(c["pulled"], c["requests"]))),
            ("RequestsServedChart", self.chart("requests")),
            ("PullRequestsPulledChart", self.chart("pulled")),
            ("OriginShieldBandwidthUsedChart", self.chart("shield_bytes")),
            ("OriginShieldInternalBandwidthUsedChart", self.chart("shield_internal_bytes")),
            ("OriginTrafficChart", self.chart("origin_bytes")),
            ("UserBalanceHistoryChart", "{}"),
            ("GeoTrafficDistribution", geo),
            ("Error3xxChart", self.chart("status_3xx")),
            ("Error4xxChart", self.chart("status_4xx")),
            ("Error5xxChart", self.chart("status_5xx")),
        ])

    def optimizer(self):
        total = self.total
        files, saved, read, time = "optimized", "saved_bytes", "input_bytes", "time_ms_sum"
        return self.text([
            ("RequestsOptimizedChart", self.chart(files)),
            ("AverageCompressionChart", self.chart(lambda c: half_up(100 * c[saved], c[read]))),
            ("TrafficSavedChart", self.chart(saved)),
            ("AverageProcessingTimeChart", self.chart(lambda c: half_up(c[time], c[files]))),
            ("TotalRequestsOptimized", pointed(total[files])),
            ("TotalTrafficSaved", pointed(total[saved])),
            ("AverageProcessingTime", pointed(total[time] / total[files] if total[files] else 0)),
            ("AverageCompressionRatio",
             pointed(100.0 * total[saved] / total[read] if total[read] else 0)),
        ])

    def queue(self):
        return self.text([("ConcurrentRequestsChart", self.chart("concurrent_max")),
                          ("QueuedRequestsChart", self.chart("queued_max"))])

    def safehop(self):
        return self.text([("RequestsRetriedChart", self.chart("retried")),
                          ("RequestsSavedChart", self.chart("saved")),
                          ("TotalRequestsRetried", pointed(self.total["retried"])),
                          ("TotalRequestsSaved", pointed(self.total["saved"]))])

    @staticmethod
    def text(fields):
        return "{" + ",".join(f'"{name}":{value}' for name, value in fields) + "}"


def resolve(now, begin, end, hourly, exact):
    """First bucket and exclusive end of a valid question (contract 1.4, rules 1, 6 and 7).

    begin and end are datetimes in UTC or None.
    """
    def month_before(moment):
        year, month = (moment.year, moment.month - 1) if moment.month > 1 else (moment.year - 1, 12)
        day = moment.day
        while True:
            try:
                return moment.replace(year=year, month=month, day=day)
            except ValueError:
                day -= 1

    end = end or now
    begin = begin or (end - 30 * DAY if hourly else month_before(end))
    midnight = {"hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    if hourly and exact:
        first = begin.replace(minute=0, second=0, microsecond=0)
        last = end.replace(minute=0, second=0, microsecond=0)
        if last < end or last == first:
            last += HOUR
    else:
        first = begin.replace(**midnight)
        last = end.replace(**midnight) + DAY
    return first, min(last, now.replace(**midnight) + DAY)
