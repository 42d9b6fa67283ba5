"""The workload `meters` of `run` beside this file: events of many resources in lists of 1,000, each list durable before the next
of its sender; a month of accounts with twenty meters each, made final, beside the same accounts with bandwidth alone; a gauge
that changes a million times a month."""
import json
import os
import threading
import time
from http.client import HTTPConnection

SENDERS, LIST, RESOURCES = 2, 1000, 2000
METERS = 20
MONTH = "2026-10"
BOOK = {"book": "meters", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}}}}
TIERS = {"per": "1000", "scope": "account", "mode": "graduated", "included": "1", "included_axis": "net",
         "tiers": [{"from": "0", "to": "10", "price": "0.20"}, {"from": "10", "to": None, "price": "0.10"}]}


def declared():
    """Half of them counters, half of them gauges."""
    return [{"meter": f"m{i}", "name": f"Meter {i}", "kind": "counter", "unit": "request", "resource": "script"} if i % 2 else
            {"meter": f"m{i}", "name": f"Meter {i}", "kind": "gauge", "unit": "byte", "resource": "zone",
             "display": {"unit": "GB", "per": "1000000000"}} for i in range(METERS)]


def book(meters):
    prices = {m["meter"]: TIERS if m["kind"] == "counter" else {"per": "GB", "time": "month", "price": "0.02"} for m in declared()}
    return {**BOOK, **({"meters": prices} if meters else {})}


def catalogue(accounts, zones=True):
    return {"accounts": [{"id": i, "name": f"a{i}"} for i in range(1, accounts + 1)],
            "zones": [{"id": i, "account": i, "name": f"z{i}", "created": "2026-01-01T00:00:00Z"}
                      for i in range(1, accounts + 1)] if zones else [], "meters": declared()}


# --- events ---

def lists(n):
    """Bodies, as a client's library writes them."""
    made = []
    for k in range(n):
        made.append(json.dumps([{
            "specversion": "1.0", "id": f"{k:08x}-11ee-4c02-8000-{i:012x}", "source": "@openmeter/sdk", "type": f"m{1 + 2 * (i % 5)}",
            "subject": f"script-{(k * LIST + i) % RESOURCES}", "time": f"2026-11-19T{k % 24:02}:{i % 60:02}:00.000Z",
            "data": {"account": 1 + (k * LIST + i) % RESOURCES % 100, "value": i}} for i in range(LIST)]).encode())
    return made


def send(port, key, bodies, wrong):
    connection = HTTPConnection("127.0.0.1", port)
    for body in bodies:
        connection.request("POST", "/events", body, {"AccessKey": key, "Content-Type": "application/cloudevents-batch+json"})
        answer = connection.getresponse()
        report = json.loads(answer.read())
        if report.get("accepted") != LIST:
            wrong.append(f"meters: a list was not taken: {answer.status} {report}")


def post(port, key, bodies):
    wrong = []
    senders = [threading.Thread(target=send, args=(port, key, bodies[i::SENDERS], wrong)) for i in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    return wrong[:1]


def processor_of(pid):
    """Seconds of processor of a running process."""
    return time.clock_gettime(~pid << 3 | 2)  # the clock that clock_getcpuclockid(3) names; /proc has hundredths of a second


# --- a month ---

def bandwidth_rows(accounts):
    return "".join(f'{{"zone":{i},"hour":"{MONTH}-{1 + i % 28:02}T05:00:00Z","region":"DE","requests":10,"bytes":{i}000000000}}\n'
                   for i in range(1, accounts + 1)).encode()


def meter_rows(accounts):
    rows = []
    for i in range(1, accounts + 1):
        for m in range(METERS):
            noun, key = ("script", "hour") if m % 2 else ("zone", "time")
            rows.append(f'{{"meter":"m{m}","account":{i},"resource":"{noun}-{i}","{key}":"{MONTH}-{1 + i % 28:02}T05:00:00Z",'
                        f'"value":{1000 * i + m}}}\n')
    return "".join(rows).encode()


def gauge_rows(changes):
    """Evenly over the month, of a thousand resources."""
    step = 31 * 86400 // (changes // 1000)
    return "".join(
        f'{{"meter":"m0","account":1,"resource":"z{i % 1000}","time":"{MONTH}-{1 + i // 1000 * step // 86400:02}T'
        f'{i // 1000 * step % 86400 // 3600:02}:{i // 1000 * step % 3600 // 60:02}:{i // 1000 * step % 60:02}Z","value":{i}}}\n'
        for i in range(changes)).encode()
