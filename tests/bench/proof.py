"""The workload `proof` of `run` beside this file: a month made final with and without the log of documents, a day of many
accounts closed, and a bundle made and checked."""
import json

MONTH, DAYS = "2026-10", 31
REGIONS = ("DE", "NY", "SG", "BR", "JH")
BOOK = {"book": "proof", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "bandwidth": {"premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03", "SA": "0.045", "AF": "0.06"}}}}


def catalogue(accounts, zones):
    """So many accounts with so many zones each."""
    return {"accounts": [{"id": i, "name": f"Account {i}"} for i in range(1, accounts + 1)],
            "zones": [{"id": 1000 * i + z, "account": i, "name": f"zone-{i}-{z}", "created": "2026-01-01T00:00:00Z"}
                      for i in range(1, accounts + 1) for z in range(zones)]}


def row(zone, region, day, hour, n):
    return json.dumps({"zone": zone, "hour": f"{MONTH}-{day:02}T{hour:02}:00:00Z", "region": region, "requests": 1000 + n % 997,
                       "bytes": 10**9 + n * 7919 % 99999989, "pulled": 100 + n % 97}, separators=(",", ":"))


def month_rows(accounts):
    """An account's zone has usage on one day."""
    return "\n".join(row(1000 * i, "DE", 1 + i % 28, 5, i) for i in range(1, accounts + 1)).encode() + b"\n"


def day_rows(accounts):
    return "\n".join(row(1000 * i, "DE", 1, i % 24, i) for i in range(1, accounts + 1)).encode() + b"\n"


def cell_rows(zones, regions):
    """One account's month, a cell for each zone, region and hour."""
    return "\n".join(row(1000 + z, region, 1 + hour // 24, hour % 24, (z * 5 + k) * 744 + hour) for hour in range(DAYS * 24)
                     for z in range(zones) for k, region in enumerate(REGIONS[:regions])).encode() + b"\n"
