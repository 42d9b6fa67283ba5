"""Databases that hold something in every table, for the tests of what verify sees: made by the
executable alone, as a year of an operator's work would. rich() has at least three rows in each table
that can have them; wide() has indexes of more than one node.
"""
import json
import subprocess
import time
import urllib.request

from faults import BUILD, PATIENCE, TOLLBOOK, require

SEPTEMBER, OCTOBER, NOVEMBER, DECEMBER, JANUARY = (
    "2026-09-01T00:00:00Z", "2026-10-05T10:30:00Z", "2026-11-02T09:00:00Z",
    "2026-12-02T09:00:00Z", "2027-01-02T09:00:00Z")
LOGS = "2026-12-30T09:00:00Z"
FORGE = BUILD / "tests" / "fault" / "forge"
REPLAY = BUILD / "tests" / "fault" / "replay"
DAY_MS = 1798502400000  # 2026-12-29T00:00:00Z
GB = 10**9

BOOK = {"book": "standard-2026", "currency": "USD", "effective_from": "2026-01-01T00:00:00Z",
        "minimum_monthly": "1.00",
        "bandwidth": {
            "premium": {"per": "GB", "regions": {"EU": "0.01", "NA": "0.01", "ASIA": "0.03",
                                                 "SA": "0.045", "AF": "0.06"}},
            "volume": {"per": "GB", "scope": "account", "mode": "volume", "tiers": [
                {"from": "0", "to": "500", "price": "0.005"},
                {"from": "500", "to": None, "price": "0.002"}]}},
        "optimizer": {"monthly": "9.50"},
        "load_balancer": {"monthly_fee": "9.50", "included_requests": 50000000,
                          "included_axis": "absolute", "tiers": [
                              {"from_millions": 50, "to_millions": None,
                               "price_per_million": "0.65"}]}}


def catalog(stage):
    """The catalogue as it stood at three moments."""
    made = {"created": "2026-01-05T00:00:00Z"}
    buyer = {"name": f"Acme {stage} Ltd", "country": "FR", "contact": {"email": "a@acme.example"}}
    accounts = [{"id": 1, "name": "acme", "tax": {"VATRate": 22}, "buyer": buyer,
                 "terms_days": 10 * stage, "labels": {"env": "prod"}},
                {"id": 2, "name": "borealis", "prepaid": True, "buyer": buyer,
                 "tax": {"category": "AE", "reason": "Reverse charge"}},
                {"id": 3, "name": "cirrus", "discounts": {"EUUSDiscount": 5 * stage}}]
    for account in accounts:
        account["alerts"] = [{"id": "low", "kind": "balance", "below": "1000000"}]
    zones = [{"id": 101, "account": 1, "name": "video", **made,
              "settings": {"EUUSDiscount": 10 * stage, "OptimizerEnabled": True}},
             {"id": 102, "account": 1, "name": "static", "type": "volume", **made,
              "hostnames": ["static.acme.example"]},
             {"id": 103, "account": 1, "name": f"images-{stage}", **made,
              "settings": {"MonthlyBandwidthLimit": 10**13 + stage}},
             {"id": 201, "account": 2, "name": "live", **made},
             {"id": 301, "account": 3, "name": "files", "type": "volume", **made}]
    balancers = [{"id": 7, "account": 1, "created": "2026-01-10T00:00:00Z",
                  "zones": [101] if stage < 3 else [103]},
                 {"id": 8, "account": 2, "created": "2026-02-10T00:00:00Z", "zones": [201]}]
    shields = [{"id": 40 + i, "account": i, "zone": zone, "name": f"shield-{i}-{stage}"}
               for i, zone in ((1, 101), (2, 201), (3, 301))]
    if stage < 3:
        accounts.append({"id": 4, "name": "delta"})
        zones.append({"id": 401, "account": 4, "name": "gone", **made})
        balancers.append({"id": 9, "account": 4, "created": "2026-03-10T00:00:00Z", "zones": [401]})
        shields.append({"id": 44, "account": 4, "zone": 401, "name": "gone"})
    made = {"accounts": accounts, "zones": zones, "load_balancers": balancers,
            "shield_zones": shields,
            "registries": [{"id": f"r{i}", "url": f"https://r{i}.example"} for i in range(3)],
            "container_limits": [{"account": i, "maxNumberOfApplications": 5 + i}
                                 for i in (1, 2, 3)],
            "container_apps": [
                {"id": f"app{i}", "account": 1 + i % 3, "name": f"app {i}", "status": status}
                for i, status in enumerate(("active", "inactive", "suspended", "unknown"))]}
    if stage > 1:
        made["seller"] = {"name": "Tollbook CDN", "country": "DE", "city": f"city {stage}",
                          "tax_currency": "EUR", "rates": {"2026-10": "0.92"},
                          "payment": {"iban": "NO9386011117947"}}
    made["meters"] = [
        {"meter": "runs", "name": f"Runs {stage}", "kind": "counter", "unit": "run", "resource": "script", "dimensions": ["region"]},
        {"meter": "disk", "kind": "gauge", "unit": "byte", "resource": "disk", "dimensions": ["region"]},
        {"meter": "port", "kind": "sample", "unit": "byte", "resource": "port"}]
    if stage == 2:
        made["regions"] = [
            {"id": 1, "code": "DE", "name": "EU: Frankfurt, DE", "billing": "EU"},
            {"id": 2, "code": "NY", "name": "NA: New York, NY", "billing": "EU"},
            {"id": 3, "code": "SG", "name": "Asia: Singapore, SG", "billing": "ASIA"}]
    return json.dumps(made)


class Maker:
    serving = ()  # options of its servers

    def __init__(self, folder, name):
        self.folder, self.db = folder, folder / name
        self.tool("init", now=SEPTEMBER)

    def tool(self, *words, now=DECEMBER, stdin=b"", status=(0,)):
        """The database is named behind the subcommand: the words before the first option. Declarations come with any clock."""
        if words[0] == "apply" or words[:2] in (("book", "add"), ("book", "activate")):
            words = (*words, "--backdated")
        at = next((i for i, word in enumerate(words) if str(word).startswith("-")), len(words))
        words = [*words[:at], "--db", self.db, *words[at:]]
        stdin = stdin.encode() if isinstance(stdin, str) else stdin
        done = subprocess.run([TOLLBOOK, *map(str, words)], input=stdin, capture_output=True,
                              env={"TOLLBOOK_NOW": now}, check=False, timeout=PATIENCE)
        require(done.returncode in status, words, done.returncode, done.stderr.decode())
        return done.stdout.decode()

    def replicate(self):
        """Each commit from here on is a piece, too."""
        for what in ("on", "standbys"):
            subprocess.run([REPLAY, what, self.db], check=True, timeout=PATIENCE)

    def apply(self, stage, now):
        self.tool("apply", "--delete", "-", stdin=catalog(stage), now=now)

    def book(self, *words, now=SEPTEMBER, **members):
        self.tool("book", "add", *words, "-", stdin=json.dumps({**BOOK, **members}), now=now)

    def take(self, *rows, now=DECEMBER):
        self.tool("import", "-", stdin="".join(json.dumps(row) + "\n" for row in rows), now=now)

    def finalize(self, month, now, *words):
        self.tool("invoice", "--month", month, "--finalize", *words, now=now)

    def serve(self, now, deploys=(), events=()):
        """A server that starts and stops: what only it writes is written then. deploys: (key, application); events: (key, list)."""
        port = self.folder / "port"
        with subprocess.Popen([TOLLBOOK, "serve", "--db", self.db, "--listen", "127.0.0.1:0",
                               "--deploy-hook", "/bin/echo", "--port-file", port, *self.serving], env={"TOLLBOOK_NOW": now},
                              stderr=subprocess.DEVNULL) as server:
            end = time.monotonic() + PATIENCE
            while not port.exists():
                require(server.poll() is None and time.monotonic() < end, "no server")
                time.sleep(0.005)
            for key, app in deploys:
                self.deploy(f"http://127.0.0.1:{port.read_text().strip()}/mc/apps/{app}/deploy", key, end)
            for key, batch in events:
                with urllib.request.urlopen(urllib.request.Request(
                        f"http://127.0.0.1:{port.read_text().strip()}/events", json.dumps(batch).encode(),
                        {"AccessKey": key, "Content-Type": "application/json"}), timeout=PATIENCE):
                    pass
            server.terminate()
        port.unlink()

    @staticmethod
    def deploy(url, key, end):
        """Deploys and waits for its end."""
        header = {"AccessKey": key}
        with urllib.request.urlopen(urllib.request.Request(url, headers=header, method="POST"), timeout=PATIENCE):
            pass
        url, state = url + "ment", None
        while state != "ended":
            require(time.monotonic() < end, url, state)
            with urllib.request.urlopen(urllib.request.Request(url, headers=header), timeout=PATIENCE) as answer:
                state = json.load(answer)["state"]


def usage(zone, day, gigabytes, region="DE", hour=5, **more):
    return {"zone": zone, "hour": f"{day}T{hour:02}:00:00Z", "region": region,
            "requests": 1000 + gigabytes, "bytes": gigabytes * GB, **more}


def log_line(n, zone, ms):
    if n % 37 == 5:
        return f"refused line {n}\n"
    return (f"{'MISS' if n % 4 == 3 else 'HIT'}|{(200, 304, 404, 503)[n % 4]}|{ms}|{1000 + n}|{zone}|"
            f"192.0.2.{n % 250}|-|https://z/{n}|{('DE', 'NY', 'SG')[n % 3]}|agent {n % 7}|"
            f"{n:032x}|{('DE', 'AT', 'FR')[n % 3]}\n")


def event(n, shield, day):
    return {"shield_zone": shield, "timestamp": DAY_MS - 86400000 * day + n, "logId": f"e{n:05}",
            "log": f"event {n}", "ip": f"10.0.0.{n % 250}", "labels": {"asn": 64500, "country": "DE"}}


def early(m):
    """September and October: usage, final, paid."""
    m.apply(1, SEPTEMBER)
    m.book()
    m.book(book="euro-2026", currency="EUR")
    m.book(book="standard-2026-b", supersedes="standard-2026",
           **{"minimum_monthly": "2.00"})
    m.book(book="standard-2027", effective_from="2027-06-01T00:00:00Z")
    for i, price in enumerate(("0.011", "0.012", "0.013", "0.014")):
        bandwidth = json.loads(json.dumps(BOOK["bandwidth"]))
        bandwidth["premium"]["regions"]["EU"] = price
        m.book("--shadow", book=f"shadow-{i}", effective_from=f"2027-0{i + 5}-01T00:00:00Z",
               bandwidth=bandwidth)
    m.take(usage(101, "2026-09-03", 300), usage(101, "2026-09-04", 20, "SG"),
           usage(102, "2026-09-03", 480), usage(201, "2026-09-05", 7, "NY", 8),
           usage(301, "2026-09-08", 490),
           {"load_balancer": 7, "hour": "2026-09-03T05:00:00Z", "requests": 51500000},
           {"load_balancer": 8, "hour": "2026-09-03T06:00:00Z", "requests": 61500000},
           now="2026-09-20T00:00:00Z")
    m.tool("ledger", "accrue", now="2026-09-21T00:30:00Z")
    m.apply(2, OCTOBER)
    for account, amount, *expires in ((3, "0.75", "--expires", "2026-10-31"), (1, "2"), (1, "1")):
        m.tool("ledger", "credit", "--account", account, "--amount", amount, *expires, now=OCTOBER)
    for account, amount, month in ((1, "25", "2026-09"), (3, "-1.50", "2026-09"), (2, "3.20", "2026-10"), (1, "9", "2027-01")):
        m.tool("charge", "add", "--account", account, "--amount", amount, "--month", month, "--description", f"of {month}",
               "--reference", f"charge-{month}", now=OCTOBER)
    m.tool("charge", "drop", 4, now=OCTOBER)
    m.finalize("2026-09", OCTOBER)
    m.take(usage(101, "2026-10-08", 11), usage(103, "2026-10-09", 12, "NY"),
           usage(102, "2026-10-10", 450), usage(201, "2026-10-10", 14, "SG"),
           usage(999, "2026-10-10", 1), now=NOVEMBER)
    m.tool("ledger", "accrue", now="2026-10-31T00:30:00Z")
    m.tool("ledger", "grace", "--days", "3", now=NOVEMBER)
    m.apply(3, NOVEMBER)
    m.finalize("2026-10", NOVEMBER)
    for i in (1, 2, 3):
        m.tool("ledger", "pay", "--account", i, "--amount", 10 * i, "--reference", f"wire-{i}",
               now=NOVEMBER)
    m.tool("ledger", "adjust", "--account", 1, "--amount", "-2.50", "--reference", "by-hand",
           "--note", "a note", now=NOVEMBER)
    m.tool("ledger", "pay", "--account", 1, "--amount", 1, "--reference", "of-one", "--invoice", "2026-000001",
           now=NOVEMBER)


def late(m):
    """What comes late for months that are final, corrections, credit notes, voids."""
    m.take(usage(101, "2026-09-09", 9), usage(201, "2026-09-10", 8), usage(301, "2026-09-11", 100),
           usage(101, "2026-10-12", 7, "NY"), usage(201, "2026-10-12", 6),
           usage(102, "2026-10-12", 100), now=NOVEMBER)
    m.take(usage(103, "2026-11-03", 5), usage(201, "2026-11-04", 4), usage(301, "2026-11-04", 4),
           now="2026-11-20T00:00:00Z")
    m.finalize("2026-11", DECEMBER)
    numbers = m.tool("query", "SELECT number FROM invoice ORDER BY id DESC").split()[1:]
    for number in numbers[:2]:
        m.tool("invoice", "--void", number, now=DECEMBER)
    m.finalize("2026-11", DECEMBER)
    for month in ("2026-08", "2026-09", "2026-10"):
        m.tool("ledger", "close", "--month", month, now=DECEMBER)
    m.tool("ledger", "close", "--month", "2026-10", "--reopen", now=DECEMBER)
    m.tool("book", "drop", "shadow-2", now=DECEMBER)
    m.tool("book", "activate", "shadow-3", "--anyway", now=DECEMBER)
    m.take(usage(401, "2026-12-01", 1), now=DECEMBER)  # one more account shares the series of its pull zone


def secrets(m):
    """Keys, scenarios, logs, events."""
    secret = m.folder / "secret"
    made = subprocess.run([TOLLBOOK, "key", "secret"], capture_output=True, check=True)
    secret.write_bytes(made.stdout)
    secret.chmod(0o600)
    keys = [m.tool("key", "create", "--account", account, "--role", role,
                   *(("--secret-file", secret) if account != 0 else ())).strip()
            for account, role in ((1, "User"), (2, "SubuserBilling"), (0, "Operator"), (3, "Ingest"),
                                  (2, "User"))]
    m.tool("key", "revoke", "--id", 2)
    for i in range(3):
        m.tool("scenario", "add", "-", stdin=json.dumps(
            {"scenario": f"s{i}", "base": "standard-2026",
             "usage": [{"region": "EU", "factor": f"1.{i + 1}0"}]}))
    for i, zone in enumerate((101, 103, 201, 101, 103)):  # the last ones stay in runs
        text = "".join(log_line(n, zone, DAY_MS - 86400000 * (n % 3) + n * 1000)
                       for n in range(i * 200, i * 200 + 120))
        m.tool("ingest", "-", stdin=text, now=LOGS, status=(0, 1))
        if i < 3:
            back = "".join(log_line(5000 + n, 101, DAY_MS - n * 1000) for n in range(i * 9, i * 9 + 9))
            m.tool("ingest", "-", stdin=back, now=LOGS, status=(0, 1))
            m.tool("ingest", "--withdraw", "-", stdin=back, now=LOGS)
    for i in range(3):  # lines of several zones wait
        text = "".join(log_line(6000 + n, (101, 103, 201)[n % 3], DAY_MS - n * 1000)
                       for n in range(i * 30, i * 30 + 30))
        m.tool("ingest", "-", stdin=text, now=LOGS, status=(0, 1))
    m.take(*(event(n, 41 + n % 3, n % 2) for n in range(60)), now=LOGS)
    m.serve(LOGS, [(keys[0], "app0"), (keys[4], "app1"), (keys[0], "app3")])


def alerts(m):
    """Three that were raised, and their messages, given up."""
    for account, amount in (("1", "500.00"), ("2", "900.00"), ("3", "70.50")):
        m.tool("alert", "set", "--account", account, "--kind", "month_to_date", "--above", amount, "budget", now=LOGS)
    m.tool("alerts", "--on", now=LOGS)
    m.tool("alerts", "--evaluate", now=LOGS)
    m.tool("alerts", "--off", now=LOGS)


def metered(meter, resource, moment, value, **more):
    region = {} if meter == "port" else {"dimensions": {"region": "DE"}}
    return {"meter": meter, "resource": resource, "hour" if meter == "runs" else "time": moment, "value": value, **region, **more}


def meters(m):
    """Usage of meters, some of it late, some withdrawn. No book prices it: so nothing is billed after it."""
    m.take(*(metered("disk", f"d{i}", f"2026-12-0{i}T05:07:00Z", 1000 * i, account=i) for i in (1, 2, 3)), now=LOGS)
    back = "".join(json.dumps(metered("disk", "d1", f"2026-12-01T05:0{i}:00Z", i)) + "\n" for i in (6, 7, 8))
    m.tool("import", "-", stdin=back, now=LOGS)
    m.tool("import", "--withdraw", "-", stdin=back, now=LOGS)
    for i in (1, 2, 3):  # these stay in runs
        m.take(metered("runs", f"s{i}", f"2026-12-0{i}T05:00:00Z", 10 * i, account=i),
               metered("port", f"p{i}", f"2026-12-0{i}T05:10:00Z", 7 * i, account=i), now=LOGS)
    m.take(metered("runs", "s1", "2026-09-07T05:00:00Z", 9), metered("runs", "s3", "2026-10-07T05:00:00Z", 9),
           metered("port", "p1", "2026-09-07T05:25:00Z", 9), now=LOGS)


def proof(m):
    """The log of documents, with three checkpoints, and days that changed after they were closed."""
    key = m.folder / "proof-key"
    subprocess.run([TOLLBOOK, "proof", "key", "--new", key, "--name", "example.com/rich"], capture_output=True, check=True)
    m.take(*(usage(zone, f"2026-0{month}-{day:02}", 1) for zone in (101, 201, 301) for month in (1, 2, 3) for day in range(1, 27)),
           now=LOGS)
    m.tool("proof", "start", "--proof-key-file", key, now="2026-11-10T00:00:00Z")
    for now in (DECEMBER, LOGS):
        m.tool("proof", "close-days", "--proof-key-file", key, now=now)
    m.take(*(usage(zone, day, 1) for zone in (101, 201, 301) for day in ("2026-11-05", "2026-12-05")), now=LOGS)


def rich(folder):
    m = Maker(folder, "rich.db")
    early(m)
    late(m)
    secrets(m)
    m.replicate()
    alerts(m)
    meters(m)
    proof(m)
    return m


def wide(folder, n=110):
    """As many accounts with an invoice, books, and zones with a block of logs."""
    m = Maker(folder, "wide.db")
    m.tool("apply", "--delete", "-", now=SEPTEMBER, stdin=json.dumps({
        "accounts": [{"id": i, "name": f"a{i}"} for i in range(1, n + 1)],
        "zones": [{"id": 100 + i, "account": i, "name": f"z{i}", "created": "2026-01-05T00:00:00Z"}
                  for i in range(1, n + 1)]}))
    m.book()
    for i in range(n):
        m.book(book=f"b{i}", effective_from=f"{2030 + i}-01-01T00:00:00Z")
    m.take(*(usage(100 + i, "2026-11-05", i) for i in range(1, n + 1)))
    m.finalize("2026-11", DECEMBER)
    m.tool("ingest", "-", now=LOGS, status=(0, 1), stdin="".join(
        log_line(1 + 37 * i, 100 + i, DAY_MS - 86400000 + i * 100000) for i in range(1, n + 1)))
    back = log_line(1, 101, DAY_MS)
    m.tool("ingest", "-", now=LOGS, stdin=back)
    m.tool("ingest", "--withdraw", "-", now=LOGS, stdin=back)  # puts all lines into their zones' blocks
    return m


def aged(folder, n=4):
    """Accounts whose first month is final and let go, hours and days."""
    m = Maker(folder, "aged.db")
    m.tool("apply", "--delete", "-", now=SEPTEMBER, stdin=json.dumps({
        "accounts": [{"id": i, "name": f"a{i}"} for i in range(1, n + 1)],
        "zones": [{"id": 100 + i, "account": i, "name": f"z{i}", "created": "2026-01-05T00:00:00Z"}
                  for i in range(1, n + 1)]}))
    m.book()
    m.take(*(usage(100 + i, "2026-09-05", i) for i in range(1, n + 1)), now="2026-09-20T00:00:00Z")
    m.take(*(usage(100 + i, "2026-10-05", i) for i in range(1, n + 1)), now=OCTOBER)
    m.finalize("2026-09", OCTOBER)
    m.take(usage(101, "2028-11-01", 1), now="2028-11-02T09:00:00Z") # a clock alone lets nothing go
    m.tool("retain", "--hours", 25, "--days", 25, now="2028-11-02T09:00:00Z")
    return m


def events(folder):
    """Accounts with usage that came as events, of two months."""
    m = Maker(folder, "events.db")
    m.tool("apply", "-", now=SEPTEMBER, stdin=json.dumps({
        "accounts": [{"id": i, "name": f"a{i}"} for i in range(1, 4)], "zones": [],
        "meters": [{"meter": "calls", "name": "Calls", "kind": "counter", "unit": "request", "resource": "script"}]}))
    key = m.tool("key", "create", "--account", 0, "--role", "Ingest").strip()
    m.serve(OCTOBER, events=[(key, [
        {"specversion": "1.0", "id": f"{batch}.{i}", "source": "rich", "type": "calls", "subject": f"s{i % 9}",
         "time": f"2026-{9 + i % 2:02}-02T0{i % 9}:00:00Z", "data": {"account": 1 + i % 9 % 3, "value": i}} for i in range(500)])
        for batch in range(3)])
    return m
