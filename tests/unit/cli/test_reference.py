"""The reference pages in docs/ say what the parsers take: every key, bound, default, example and
refusal of docs/catalogue.md, docs/price-book.md, docs/pull-zone.md, docs/pipe-format.md and
docs/import-format.md is tried, and the keys are those of the parsers' tables. Examples are given to
the executable; values, of which there are many, to a server, which runs the same operation.

A page's types are a small language: from "whole number, 1 to 65535" follow values that must be taken
and values that must be refused."""
import http.client
import itertools
import json
import os
import re
import subprocess
import unittest
from pathlib import Path

from tool import TOOL, Case

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[3])
LATE = "2027-01-01T00:00:00Z"


def page(name):
    return (SOURCE / "docs" / name).read_text()


def cells(row):
    """The cells of a table's row; a pipe inside code is part of its cell."""
    return [c.strip() for c in re.findall(r"((?:`[^`]*`|[^|`])+)\|", row.strip()[1:])]


def code(cell):
    """A cell that is code and nothing else, without its quotes; None for others."""
    found = re.fullmatch(r"`([^`]*)`", cell)
    return found.group(1) if found else None


def tables(text, head):
    """Rows of all tables that begin with `head`, as (section, [rows of cells]) for each table."""
    found, section, rows = [], "", None
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        if line.startswith(head):
            rows = []
            found.append((section, rows))
        elif not line.startswith("|"):
            rows = None
        elif rows is not None and not line.startswith("|---"):
            rows.append(cells(line))
    return found


def keys(text):
    """{section: [rows]} of the tables of keys; a section's second table is "section/2"."""
    named = {}
    for section, rows in tables(text, "| key |"):
        name, n = section, 2
        while name in named:
            name, n = f"{section}/{n}", n + 1
        named[name] = rows
    return named


def blocks(text, language):
    """The code blocks of a language; "": those without one."""
    found = re.findall(r"^```(\w*)\n(.*?)^```\n", text, re.M | re.S)
    return [block for name, block in found if name == language]


def examples(text):
    return blocks(text, "json")


# --- the parsers' tables ---

def c_table(file, name):
    text = (SOURCE / file).read_text()
    body = re.search(rf"\b{name}\[[^\]]*\] = \{{(.*?)\n\}};", text, re.S)
    assert body, f"{file} has no table {name}"
    return body.group(1)


def rules(file, name):
    """{key: required} of a table of key_rule."""
    found = re.findall(r'\{"(\w+)", (true|false),', c_table(file, name))
    return {key: required == "true" for key, required in found}


def fields(name):
    """The same of a table in containers.c."""
    found = {}
    body = c_table("engine/model/containers.c", name)
    for account, limit, key, rest in re.findall(
            r'ACCOUNT\((\w+)\)|LIMIT\("(\w+)"|\.name = "(\w+)"(, \.required = true)?', body):
        found[key or limit or "account"] = account == "true" or bool(rest)
    return found


CATALOG = "engine/model/catalog.c"
BOOK = "engine/billing/book.c"
TIERS = "engine/billing/book_tiers.c"
METERS = "engine/billing/book_meters.c"


def catalogue_tables():
    lists = re.findall(r'\{"(\w+)", RULES\((\w+)\)', c_table(CATALOG, "lists"))
    kinds = re.findall(r'\{"(\w+)", (\w+)\}', c_table("engine/model/containers.c", "kinds"))
    known = {name: rules(CATALOG, table) for name, table in lists}
    known.update({name: fields(table) for name, table in kinds})
    known["container_apps/2"] = fields("endpoint_fields")
    limits = re.findall(r'\{"\w+", "(above|below)"', c_table("engine/model/alerts.c", "kinds"))
    known["alerts"] = {"id": True, "kind": True, "meter": False, **dict.fromkeys(limits, False), "probability": False}
    discounts = re.findall(r'X\(\w+, "(\w+)"\)', (SOURCE / "engine/model/declared.h").read_text())
    known["accounts/2"] = {name: False for name in discounts}
    named = {table: re.findall(r'\{"(\w+)", \w+\}', re.search(
        rf"{table}\[\] = \{{(.*?)\}};", (SOURCE / "engine/model/contract.c").read_text(), re.S).group(1))
        for table in ("contract_rules", "commit_rules", "cap_rules")}
    meters = re.findall(r'\{"(\w+)", \w+\}', c_table("engine/model/meters.c", "meter_rules"))
    known["meters"] = {name: name in ("meter", "kind", "unit") for name in meters if name != "display"}
    known["meters"].update(dict.fromkeys(("display.unit", "display.per"), False))
    known["Top level"] = {name: name == "accounts" for name in [*known, "seller"]
                                                          if "/" not in name and name != "alerts"}
    known["contract"] = {name: False for name in [
        *(name for name in named["contract_rules"] if name not in ("commit", "cap")),
        *("commit." + name for name in named["commit_rules"]), *("cap." + name for name in named["cap_rules"])]}
    for role, own in (("seller", ("rates", "terms_days")), ("buyer", ())):
        known[role] = {path: path in ("name", "country") for path in party_terms(role)}
        known[role].update(dict.fromkeys(own, False))
    return known


def party_terms(role):
    """{path: EN 16931's term, ""} of a party's fields in a catalogue."""
    found = re.findall(r'X\(\w+, "([\w.]+)", \d+, (NULL|"[^"]*"), (NULL|"[^"]*")\)',
                       (SOURCE / "include/tollbook/party.h").read_text())
    at = ("seller", "buyer").index(role)
    return {path: terms[at].strip('"') for path, *terms in found
            if terms[at] != "NULL" and path != "tax_rate"}


def book_tables():
    header = (SOURCE / "include/tollbook/book.h").read_text()
    regions = re.search(r"define TB_BILLING_REGIONS\(X\) (.*)", header).group(1)
    accounts = re.search(r"define TB_BOOK_ACCOUNTS\(X\)(.*?)\n\w", header, re.S).group(1)
    named = {"Top level": "book_rules", "bandwidth": "bandwidth_rules",
             "bandwidth.premium": "premium_rules", "bandwidth.volume": "volume_rules",
             "bandwidth.volume.tiers": "gb_tier_rules", "optimizer": "optimizer_rules",
             "load_balancer": "balancer_rules", "load_balancer.tiers": "million_tier_rules"}
    rate = re.search(r"define RATE_KEYS\(at\)(.*?)\n\n", (SOURCE / METERS).read_text(), re.S).group(1)
    rate = dict.fromkeys(re.findall(r'\{"(\w+)",', rate), False)
    return {**{section: rules(TIERS if table.endswith("tier_rules") else BOOK, table) for section, table in named.items()},
            "bandwidth.percentile": {**rate, **rules(METERS, "percentile_keys")},
            "meters": {**rate, **rules(METERS, "meter_keys")}, "fees": rules(METERS, "fee_keys"),
            "ledger_codes": {name: False for name in re.findall(r'X\(\w+, "(\w+)"', accounts)},
            "bandwidth.premium.regions": {name: False for name in re.findall(r"X\((\w+)\)", regions)}}


def import_tables():
    metrics = re.findall(r'X\(\w+, "(\w+)", "\w+", \w+, (\w+),',
                         (SOURCE / "include/tollbook/metrics.h").read_text())
    fields = re.findall(r'X\(\w+, "(\w+)", ([01]),', (SOURCE / "include/tollbook/event.h").read_text())
    return {
        "Usage of a pull zone": {**dict.fromkeys(("zone", "hour", "region"), True),
                                 **{name: False for name, source in metrics if source != "LINES"}},
        "Usage of a load balancer": dict.fromkeys(("load_balancer", "hour", "requests"), True),
        "Usage of a meter": {name: name in ("meter", "resource", "value") for name in re.findall(
            r'\{"(\w+)", \d+\}', c_table("engine/intake/meter_line.c", "keys"))},
        "Shield events": {"shield_zone": True, "timestamp": True, "labels": False,
                          **{name: False for name, _ in fields}},
        "labels": {name: False for name, label in fields if label == "1"}}


# --- values that follow from a type ---

def probes(kind):
    """(values to be taken, values to be refused) as JSON values."""
    taken, refused = [], []
    words = re.match(r"one of ((?:`\w+`(?:, )?)+)", kind)
    number = re.match(r"whole number, (-?\d+) to (\d+)", kind)
    text = re.match(r"(string|word|name), (\d+) to (\d+) bytes", kind)
    decimal = re.match(r"decimal, (-?\d+) to (\d+)", kind)
    if words:
        taken, refused = re.findall(r"`(\w+)`", words.group(1)), ["", "X", 1]
    elif number:
        low, high = map(int, number.groups())
        taken, refused = [low, high], [low - 1, high + 1, 1.5, True]
        (taken if "a number or a string" in kind else refused).append(str(low))
    elif text:
        low, high = int(text.group(2)), int(text.group(3))
        taken = ["a" * low, "a" * high]
        refused = [7, "a" * (high + 1)] + (["a" * (low - 1)] if low else [])
        refused += ["a/b", "a b"] if text.group(1) != "string" else []
    elif decimal:
        low, high = map(int, decimal.groups())
        taken, refused = [low, high, 0.5], [low - 0.5, high + 0.5, "1"]
    elif kind.startswith("true or false"):
        taken, refused = [True, False], [0, "true", None]
    elif kind.startswith("three capital letters"):
        taken, refused = ["USD", "JPY"], ["usd", "US", "USDX", 1]
    elif kind.startswith("code of ICD"):
        taken, refused = ["0000", "9999"], ["204", "02040", "EM", "020A", 204]
    elif kind.startswith("code of EAS"):
        taken, refused = ["0204", "EM"], ["204", "02040", "E", "em", "E1", 204]
    elif kind.startswith("code of UNTDID 4461"):
        taken, refused = ["1", "999"], ["", "1000", "5x", 58]
    elif kind.startswith("IBAN"):
        taken = ["NO9386011117947", "MT84MALT011000012345MTLCAST001S"]
        refused = ["NO9486011117947", "no9386011117947", "NO93 8601 1117 947", "NO93", "", 93]
    elif kind == "BIC":
        taken, refused = ["COBADEFF"], ["COBADEF", "COBADEFFXX", "cobadeff", "COBA1EFF", 1]
    elif kind.startswith("two capital letters of ISO"):
        taken, refused = ["AD", "XI", "ZW"], ["de", "D", "DEU", "UK", "EL", "1A", 1]
    elif kind.startswith("two capital letters"):
        taken, refused = ["DE"], ["de", "D", "DEU", 1]
    elif kind.startswith("RFC 3339 time on an hour"):
        taken, refused = ["2026-01-05T10:00:00+02:00"], ["2026-01-05T10:00:01Z", "2026-01-05", 1]
    elif kind.startswith("RFC 3339 time"):
        taken, refused = ["2026-01-05T10:00:01.5Z"], ["2026-01-05", "", 1]
    elif kind.startswith("milliseconds since 1970 or RFC 3339 time"):
        taken, refused = [1798761600000, "2026-12-31T10:00:01.5+02:00"], [1, -1, 1.5, "1798761600000", True]
    elif kind.startswith("edge location code"):
        taken, refused = ["a", "A_.-0123456789ab"], ["", "a" * 17, "a b", "a/b", 1]
    elif kind.startswith("id, 1 to 64 characters"):
        taken, refused = ["!", "~" * 64, 5], ["", "a" * 65, "a b", "\u00e9", True, []]
    elif kind.startswith("string, number or null"):
        taken, refused = ["", "a b\u00e9", 0, 1.5], [True, [], {}]
    elif kind.startswith("id of"):
        refused = [0, -1, 999, "1", 1.5]
    elif kind.startswith("list of"):
        refused = [{}, "x", 1]
    elif kind.startswith("object"):
        refused = [[], "x", 1]
    elif kind.startswith("price"):
        taken, refused = ["0", "0.000000000000001", 1.5], ["-1", "0.0000000000000001", True, "1e3"]
    elif kind.startswith("charge of"):
        taken, refused = ["DNS", "McCpu", "DBReads"], ["", "Taxes", "storage", 1]
    elif kind.startswith("number of units"):
        taken, refused = [1, "1", "GB", 10 ** 18], [0, "0", 1.5, "1.5", -1, "", 10 ** 18 + 1, "1GB", True]
    elif kind.startswith("percent above 0 and below 100"):
        taken, refused = ["0.001", 50, "99.999"], [0, 100, -1, "95.0001", True]
    elif kind.startswith("2 or 3 capital letters and digits"):
        taken, refused = ["E34", "4L"], ["C", "C622", "c62", 62]
    elif kind.startswith("amount"):
        least = "-1000000000000000000" if "either sign" in kind else "0"
        taken = [least, "100", 0.5, "0.000001", 10 ** 18]
        refused = ["1000000000000000001", "0.0000001", True, "1e3", *(["-1"] if least == "0" else [])]
    elif kind.startswith("number between 0 and 1"):
        taken, refused = ["0.5", "0.000001", "0.999999"], ["0", "1", "1.5", "-0.5", "0.0000001", True]
    elif kind.startswith("threshold in GB"):
        refused = ["-1", "0.0000000001", True, "1000000000.1"]
    elif kind.startswith("threshold in"):
        refused = [-1, 0.0000001, True, 10 ** 19]
    elif kind.startswith("percent, 0 to 100"):
        taken, refused = [0, "100", 99.9999, "0.0001"], [-1, "100.0001", "0.00001", True, "5 %", None]
    elif kind == "month":
        taken, refused = ["1970-01", "2299-12"], ["2026-13", "2026-1", "2026", 202601, ""]
    if " or null" in kind:
        taken.append(None)
    elif taken or refused:
        refused.append(None)
    return taken, refused


def put(document, path, value):
    """The document with a value at a path such as zones[0].settings."""
    copy = at = json.loads(json.dumps(document))
    steps = [int(i) if i else name for name, i in re.findall(r"(\w+)|\[(\d+)\]", path)]
    for step in steps[:-1]:
        at = at[step]
    at[steps[-1]] = value
    return copy


class Pages(Case):
    command = ()

    def give(self, document, name="given.json"):
        """What the executable says of a document: (status, standard error)."""
        text = document if isinstance(document, str) else json.dumps(document)
        done = subprocess.run([TOOL, *self.command, self.write(name, text)], cwd=self.folder,
                              capture_output=True, text=True, env=self.environment(LATE),
                              timeout=120)
        return done.returncode, done.stderr

    def is_taken(self, document, why):
        status, said = self.give(document)
        self.assertEqual(status, 0, f"{why}: {said}")

    def is_refused(self, document, why, message=""):
        status, said = self.give(document)
        self.assertEqual(status, 2, f"{why} is taken: {said}")
        self.assertIn(message, said, why)

    def same_keys(self, shown, known):
        self.assertEqual(sorted(shown), sorted(known), "sections")
        for section, rows in shown.items():
            self.assertEqual({code(row[0]): row[2].startswith("required") for row in rows},
                             known[section], section)

    def refusals(self, text, example):
        rows = [row for section, found in tables(text, "| path |") for row in found]
        self.assertTrue(rows)
        for path, value, message in rows:
            why = f"{path} {value}"
            self.is_refused(put(example, code(path), json.loads(code(value))), why, message)


class Served(Pages):
    """Documents go to a server, which a test's first one starts."""
    operation, server = "", None

    def environment(self, now=LATE, key=None):
        return super().environment(now, key)

    def serve(self):
        self.key = self.run_tool("key", "create", "--db", "t.db", "--account", 0, "--role",
                                 "Operator").out.strip()
        port = self.folder / "port"
        self.start("serve", "--db", "t.db", "--listen", "127.0.0.1:0", "--port-file", "port",
                   "--threads", 1)
        self.wait_for(lambda: port.exists() and port.read_text().strip())
        self.server = http.client.HTTPConnection("127.0.0.1", int(port.read_text()), timeout=120)
        self.addCleanup(self.server.close)

    def give(self, document, name="given.json"):
        if not self.server:
            self.serve()
        text = document if isinstance(document, str) else json.dumps(document)
        self.server.request("POST", f"/operations/{self.operation}", text.encode(),
                            {"AccessKey": self.key, "Content-Type": "application/json"})
        answer = self.server.getresponse()
        said = json.loads(answer.read())
        return ({200: 0, 201: 0, 400: 2}.get(answer.status, answer.status),
                f"{said.get('Field')}: {said.get('Message')}")

    def examples_are_taken(self, texts):
        for text in texts:
            status, said = super().give(text)
            self.assertEqual(status, 0, f"{text}: {said}")


class Catalogue(Served):
    command, operation = ("apply", "--delete", "--db", "t.db"), "apply?delete=true"
    text = page("catalogue.md")

    @staticmethod
    def least(rows):
        return {code(row[0]): json.loads(code(row[3])) for row in rows
                if row[2].startswith("required")}

    def document(self, section, key, value):
        """A document whose probed object is the only one of its list."""
        shown = keys(self.text)
        base = {"accounts": [{"id": 1, "name": "acme"}],
                "zones": [{"id": 101, "account": 1, "name": "video"}]}
        if section == "Top level":
            return {**base, key: value, **({"zones": []} if key == "accounts" else {})}
        if section in ("seller", "buyer"):
            return self.party_document(section, key, value)
        if section == "contract":
            inside, _, name = key.rpartition(".")
            more = {"": {}, "cap": {"monthly": "1", "action": "alert"},
                    "commit": {"amount": "1", "every": "month"} if name in ("amount", "every") else {"monthly": "1"}}
            one = {**more[inside], name: value}
            return {"accounts": [{"id": 1, "name": "acme", "contract": {inside: one} if inside else one}]}
        if section == "accounts/2":
            return {"accounts": [{"id": 1, "name": "acme", "discounts": {key: value}}]}
        if section == "alerts":
            alert = {"kind": {"below": "balance", "probability": "forecast", "meter": "usage"}.get(key, "month_to_date")}
            alert = {"id": "a", **alert, key: value}
            alert.setdefault("below" if alert["kind"] == "balance" else "above", 2)
            meters = {"meters": [{**self.least(shown["meters"]), "meter": value}]} if key == "meter" else {}
            return {"accounts": [{"id": 1, "name": "acme", "alerts": [alert]}], **meters}
        if section == "container_apps/2":
            app = self.least(shown["container_apps"])
            return {**base, "container_apps": [
                {**app, "displayEndpoint": {**self.least(shown[section]), key: value}}]}
        one = {**self.least(shown[section]), key: value}
        if key.startswith("display."):
            one = {**self.least(shown[section]), "display": {"unit": "GB", "per": 1, key[8:]: value}}
        if key == "interval":
            one["kind"] = "sample"
        if section == "registries" and key in ("username", "secret"):
            one = {"username": "u", "secret": "s", **one}
        return {**({} if section == "accounts" else base),
                **({"zones": []} if section == "accounts" else {}), section: [one]}

    @staticmethod
    def party_document(role, key, value):
        """A party that has the least, what the key needs beside it, and the key."""
        party, path = {"name": "A", "country": "DE"}, key.split(".")
        if path[0] == "endpoint":
            party["endpoint"] = {"scheme": "0204", "id": "x"}
        party.update({"registration_scheme": {"registration_id": "x"},
                      "rates": {"tax_currency": "EUR"}}.get(key, {}))
        at = party
        for step in path[:-1]:
            at = at.setdefault(step, {})
        at[path[-1]] = value
        account = {"id": 1, "name": "acme"}
        return {"accounts": [{**account, "buyer": party}]} if role == "buyer" else \
            {"accounts": [account], "seller": party}

    def test_the_keys_are_the_parsers(self):
        self.same_keys(keys(self.text), catalogue_tables())

    def test_fields_of_parties_name_their_terms(self):
        for role in ("seller", "buyer"):
            for path, term in party_terms(role).items():
                (row,) = [row for row in keys(self.text)[role] if code(row[0]) == path]
                self.assertEqual(re.findall(r"BT-[\d-]+", row[4]), [term] if term else [], path)

    def test_texts_of_parties_hold_no_control_characters(self):
        for bad in ("a\u0000b", "a\tb", "a\u007f", "\u0085", "\ufffe", "\uffff", " ", "a\nb"):
            for path in ("name", "payment.account_name", "note"):
                self.is_refused(self.document("seller", path, bad), f"{path} {bad!r}")
        for good in ("\u00a0\u00e9", "\u0645\u0631\u062d\u0628\u0627", "\U0001f600", "<script>&amp;\"'",
                     "\ufffd"):
            self.is_taken(self.document("seller", "name", good), good)

    def test_labels_and_rates(self):
        for value in ({}, {str(i): "" for i in range(50)}, {"n" * 128: "v" * 255}):
            self.is_taken(self.document("accounts", "labels", value), "labels")
            self.is_taken(self.document("zones", "labels", value), "labels")
        for value in ({str(i): "" for i in range(51)}, {"n" * 129: ""}, {"": ""}, {"n": "v" * 256},
                      {"n\n": "v"}, {"n": "\u0085"}, {"n": None}, {"n": {}}):
            self.is_refused(self.document("accounts", "labels", value), f"labels {str(value)[:40]}")
            self.is_refused(self.document("zones", "labels", value), f"labels {str(value)[:40]}")
        for value in ({}, {"2026-10": 1}, {"1970-01": "0.000000000000001", "2299-12": "1000000000"},
                      {"2026-10": {}}, {"2026-10": {"USD": "0.92", "CHF": 1000000000}, "2026-11": "1"}):
            self.is_taken(self.document("seller", "rates", value), f"rates {value}")
        for value in ({"2026-10": "0"}, {"2026-10": "-1"}, {"2026-10": "1000000000.1"},
                      {"2026-10": "0.0000000000000001"}, {"2026-1": "1"}, {"2026-10": None},
                      {"2026-10": []}, {"2026-10": {"usd": "1"}}, {"2026-10": {"USDX": "1"}},
                      {"2026-10": {"USD": "0"}}, {"2026-10": {"USD": {}}}, {"2026-1": {"USD": "1"}}):
            self.is_refused(self.document("seller", "rates", value), f"rates {value}")

    def test_bounds_of_a_tax_with_a_category(self):
        def document(**more):
            return {"accounts": [{"id": 1, "name": "acme", "tax": more}]}
        for more in ({"category": "K", "reason": "r" * 255}, {"category": "G", "rate": 0},
                     {"category": "O", "reason_code": "VATEX-" + "A" * 25}, {"category": "Z"},
                     {"category": "S", "rate": "100"}, {"category": "S", "rate": 0.1},
                     {"category": "19", "Levy": 1}):  # a rate of this name
            self.is_taken(document(**more), f"tax {more}")
        for more in ({"category": "K", "reason": "r" * 256}, {"category": "K", "reason": ""},
                     {"category": "K", "reason": "a\nb"}, {"category": "G", "rate": "0.1"},
                     {"category": "O", "reason_code": "VATEX-" + "A" * 26},
                     {"category": "O", "reason_code": "VATEX-"}, {"category": "s", "rate": 1},
                     {"category": "O", "reason_code": "VATEX-a"}, {"category": "", "rate": 1},
                     {"category": "S", "rate": "100.1"}, {"category": "S", "rate": "-1"}):
            self.is_refused(document(**more), f"tax {more}")

    def test_examples_are_taken(self):
        self.examples_are_taken(examples(self.text))

    def test_refusals(self):
        self.refusals(self.text, json.loads(examples(self.text)[0]))

    def test_each_key_takes_its_type_and_nothing_else(self):
        for section, rows in keys(self.text).items():
            for key, kind, default, example, _ in rows:
                key = code(key)
                taken, refused = probes(kind)
                if key in ("url", "token_realm"):
                    taken = ["https://" + text[8:] for text in taken if len(text) > 1]
                if (section, key) == ("regions", "name"):
                    taken = ["a: b", "a: " + "b" * 92]
                if code(default):
                    taken.append(json.loads(code(default)))
                for value in [json.loads(code(example)), *taken]:
                    self.is_taken(self.document(section, key, value),
                                  f"{section}.{key} {str(value)[:80]}")
                for value in refused:
                    self.is_refused(self.document(section, key, value),
                                    f"{section}.{key} {str(value)[:80]}")

    def test_forms_of_tax(self):
        forms = tables(self.text, "| form |")[0][1]
        self.assertEqual(len(forms), 6)
        for form, _ in forms:
            self.is_taken(put({"accounts": [{"id": 1, "name": "acme"}]}, "accounts[0].tax",
                              json.loads(code(form))), form)


class Import(Pages):
    command = ("import", "--db", "t.db")
    text = page("import-format.md")
    number = itertools.count()

    def setUp(self):
        super().setUp()
        meters = [{"meter": "script_requests", "kind": "counter", "unit": "request", "resource": "script", "dimensions": ["region"]},
                  {"meter": "storage", "kind": "gauge", "unit": "byte", "dimensions": ["region"]},
                  {"meter": "port", "kind": "sample", "unit": "byte", "resource": "port"}]
        accounts = [{"id": i, "name": "acme"} for i in (1, 3, 2**63 - 1)]
        self.run_tool("apply", "--db", "t.db", self.write("catalog.json", json.dumps({"accounts": accounts, "meters": meters})))

    def rows(self, section):
        return keys(self.text)[section]

    def document(self, section, key, value):
        """A line with the least that its kind needs, and the probed key."""
        if section == "labels":
            return {**self.document("Shield events", "log", "x"), "labels": {key: value}}
        line = {code(row[0]): json.loads(code(row[3])) for row in self.rows(section)
                if row[2].startswith("required")}
        if section == "Usage of a meter":  # a resource of its own each, so that any account may have it
            line.update({"account": 3, "resource": f"r{next(self.number)}"})
            line.update({"meter": "port"} if key == "time" else
                        {"hour": "2026-11-01T13:00:00Z", "dimensions": {"region": "DE"}})
        if section == "Usage of a pull zone" and key in line:
            line["requests"] = 1
        return {**line, key: value}

    def test_the_keys_are_the_parsers(self):
        self.same_keys(keys(self.text), import_tables())

    def test_examples_are_taken(self):
        for text in examples(self.text):
            self.is_taken(text, text)

    def test_refusals(self):
        rows = tables(self.text, "| line |")[0][1]
        for line, message in rows:
            self.is_refused(code(line) + "\n", line, message)

    def counted(self, lines, accepted):
        """One file of lines that are all taken, or all set aside."""
        text = "".join(json.dumps(line) + "\n" for line in lines)
        self.command = (*Import.command, "--on-error", "skip")
        said = self.give(text)[1]
        self.assertIn(f"{len(lines)} lines: {len(lines) if accepted else 0} accepted, "
                      f"{0 if accepted else len(lines)} rejected.", said)

    def test_each_key_takes_its_type_and_nothing_else(self):
        taken, refused = [], []
        for section, rows in keys(self.text).items():
            for key, kind, _, example, _ in rows:
                good, bad = probes(kind)
                good.append(json.loads(code(example)))
                taken += [self.document(section, code(key), value) for value in good]
                refused += [self.document(section, code(key), value) for value in bad]
        self.counted(taken, True)
        self.counted(refused, False)


class Book(Served):
    command, operation = ("book", "add", "--db", "t.db"), "book-add"
    text = page("price-book.md")
    number = itertools.count()

    def fresh(self, document):
        """The same book under a name and from a moment of its own."""
        n = next(self.number)
        return {**document, "book": f"probe-{n}",
                "effective_from": f"{2027 + n // 300}-{n // 25 % 12 + 1:02}-{n % 25 + 1:02}T00:00:00Z"}

    @staticmethod
    def rate(least, key, value):
        """A meter's rate that has the key, and what it needs beside it."""
        rate = {**least, key: value}
        if key in ("by", "prices"):
            return {"by": "region", "prices": {"*": {"price": "1"}}, **rate}
        if key in ("mode", "block", "tiers"):
            package = key == "block" or value == "package"
            rate = {"tiers": [{"from": "0", "to": None, "price_per_block" if package else "price": "1"}], **rate}
            return {**({"mode": "package", "block": "1"} if package else {}), **rate}
        return {"price": "1", **rate}

    def document(self, section, key, value):
        book = self.fresh(json.loads(examples(self.text)[0]))
        if section == "meters":
            return {**book, "meters": {"m": self.rate({"per": "GB"}, key, value)}}
        if section == "bandwidth.percentile":
            return {**book, "bandwidth": {"percentile": self.rate({"per": "Mbps", "percentile": "95"}, key, value)}}
        if section == "fees":
            return {**book, "fees": {book["book"]: {"name": "Fee", "amount": "1", key: value}}}
        if section == "Top level":
            if value == "contract":  # its codes are those of the currency's books
                book.pop("ledger_codes")
            return {**book, key: value}
        path, tier = section, section.endswith(".tiers")
        at = book
        for step in path.split("."):
            at = at[step]
        if tier:
            del at[1:]
            at[0]["to_millions" if path.startswith("load") else "to"] = None
            at = at[0]
        if section == "load_balancer":
            at.update(included_requests=0, tiers=[{"from_millions": 0, "to_millions": None,
                                                   "price_per_million": "0.65"}])
        if section == "load_balancer.tiers":
            book["load_balancer"]["included_requests"] = 0
            at["from_millions"] = 0
        list_of = at if not tier else book["bandwidth"]["volume"] if "volume" in path \
            else book["load_balancer"]
        if key in ("block", "price_per_block") or value == "package":
            list_of.update(mode="package", **({} if key == "block" else {"block": "1"}))
            for one in [at] if tier else list_of["tiers"]:
                one.pop("price", one.pop("price_per_million", None))
                one["price_per_block"] = "1"
        at[key] = value
        return book

    def test_the_keys_are_the_parsers(self):
        self.same_keys(keys(self.text), book_tables())

    def test_examples_are_taken(self):
        self.examples_are_taken(examples(self.text))

    def test_refusals(self):
        self.refusals(self.text, json.loads(examples(self.text)[0]))

    def test_each_key_takes_its_type_and_nothing_else(self):
        for section, rows in keys(self.text).items():
            for key, kind, default, example, _ in rows:
                key = code(key)
                taken, refused = probes(kind)
                if key in ("book", "effective_from", "supersedes"):
                    taken = []
                elif code(default):
                    taken.append(json.loads(code(default)))
                values = [] if key == "supersedes" else [json.loads(code(example)), *taken]
                for value in values:
                    self.is_taken(self.document(section, key, value), f"{section}.{key} {value}")
                for value in refused:
                    self.is_refused(self.document(section, key, value),
                                    f"{section}.{key} {str(value)[:80]}")

    def test_a_default_says_nothing(self):
        """A bill with all defaults written out is the bill without them."""
        self.apply('{"accounts":[{"id":1,"name":"acme"}],"zones":['
                   '{"id":101,"account":1,"name":"video","type":"volume","settings":'
                   '{"OptimizerEnabled":true}},{"id":102,"account":1,"name":"static"}]}')
        rows = [{"zone": zone, "hour": "2026-10-03T05:00:00Z", "region": "DE", "requests": 7,
                 "bytes": 123456789012} for zone in (101, 102)]
        self.run_tool("import", "--db", "t.db", "-",
                      stdin="".join(json.dumps(row) + "\n" for row in rows).encode())
        whole = json.loads(examples(self.text)[0])
        bills = []
        for name, written in (("without", False), ("with", True)):
            book = json.loads(json.dumps(whole))
            for section, rows in keys(self.text).items():
                at = book
                for step in [] if section == "Top level" else section.split("."):
                    at = at[step]
                objects = at if isinstance(at, list) else [at]
                if section in ("meters", "fees"):
                    objects = [one for one in at.values() if "prices" not in one]
                for key, _, default, _, _ in rows:
                    if not code(default):
                        continue
                    for one in objects:
                        one.pop(code(key), None)
                        if written:
                            one[code(key)] = json.loads(code(default))
            book["load_balancer"].update(included_requests=0)
            book["load_balancer"]["tiers"][0]["from_millions"] = 0
            self.run_tool("init", "--db", f"{name}.db")
            self.run_tool("backup", "--db", "t.db", "--to", f"{name}.copy")
            self.run_tool("book", "add", "--db", f"{name}.copy",
                          self.write("book.json", json.dumps(book)))
            bill = json.loads(self.run_tool("invoice", "--db", f"{name}.copy", "--month", "2026-10",
                                            now="2026-11-05T00:00:00Z").out)["invoices"][0]
            bills.append((bill["lines"], bill["subtotal"]))
        self.assertEqual(bills[0], bills[1])
        self.assertGreater(len(bills[0][0]), 2)


class PullZone(Served):
    command, operation = ("apply", "--delete", "--db", "t.db"), "apply?delete=true"
    text = page("pull-zone.md")
    settings = tables(text, "| # |")[0][1]
    models = {section: rows for section, rows in tables(text, "| field |")}

    @staticmethod
    def zone(**more):
        return {"accounts": [{"id": 1, "name": "acme"}],
                "zones": [{"id": 101, "account": 1, "name": "video", **more}]}

    def test_the_fields_are_the_tables(self):
        """The page is written from the table; tests/arch holds them together."""
        header = (SOURCE / "include/tollbook/pullzone.h").read_text()
        table = header[header.index("define TB_PULLZONE_FIELDS"):]
        self.assertEqual([code(row[1]) for row in self.settings],
                         re.findall(r"^    X\((\w+), ", table, re.M))

    def test_examples_are_taken(self):
        self.examples_are_taken(examples(self.text))
        whole = {code(row[1]): json.loads(code(row[5])) for row in self.settings if code(row[5])}
        self.assertGreater(len(whole), 160)
        self.is_taken(self.zone(settings=whole), "all examples")
        for section, rows in self.models.items():
            one = {code(row[0]): json.loads(code(row[4])) for row in rows if code(row[4])}
            self.is_taken(self.model(section, one), section)

    def model(self, section, one):
        """A zone with this object of this model."""
        if section == "HostnameModel":
            return self.zone(hostnames=[one])
        if section in ("Trigger", "ExtraAction"):
            key = {"Trigger": "Triggers", "ExtraAction": "ExtraActions"}[section]
            return self.zone(settings={"EdgeRules": [{key: [one]}]})
        key = {"EdgeRuleV2Model": "EdgeRules", "OptimizerClassModel": "OptimizerClasses",
               "BunnyAiImageBlueprintModel": "BunnyAiImageBlueprints"}[section]
        return self.zone(settings={key: [one]})

    def test_a_default_is_not_stored(self):
        """But for OptimizerPricing, of which billing asks whether it is set."""
        defaults = {code(row[1]): json.loads(code(row[3])) for row in self.settings
                    if code(row[5])}
        price = defaults.pop("OptimizerPricing")
        self.is_taken(self.zone(settings=defaults), "all defaults")
        self.assertEqual(self.query("SELECT settings FROM zone"), [["{}"]])
        self.is_taken(self.zone(settings={**defaults, "OptimizerPricing": price}), "its price")
        self.assertEqual(self.query("SELECT settings FROM zone"), [['{"OptimizerPricing":9.5}']])

    def test_read_only_fields_are_refused(self):
        for _, name, *_, example in self.settings:
            if not code(example):
                self.is_refused(self.zone(settings={code(name): 1}), name)

    def test_null_where_the_type_says_so(self):
        rows = [row for row in self.settings if code(row[5])]
        nullable = {code(row[1]): None for row in rows if row[2].endswith("?")}
        self.is_taken(self.zone(settings=nullable), "all null")
        for _, name, kind, *_ in rows:
            if not kind.endswith("?"):
                self.is_refused(self.zone(settings={code(name): None}), name)

    @staticmethod
    def number(text):
        """-2147483648, -2^63, 2^63-1."""
        power = re.fullmatch(r"(-?)2\^(\d+)(-1)?", text)
        if not power:
            return int(text)
        return (-1 if power.group(1) else 1) * 2 ** int(power.group(2)) - bool(power.group(3))

    def test_bounds(self):
        low, high = {}, {}
        for _, name, kind, _, values, example in self.settings:
            bounds = re.fullmatch(r"(\S+) to (\S+)", values)
            if not bounds or not code(example):
                continue
            least, most = map(self.number, bounds.groups())
            low[code(name)], high[code(name)] = least, most
            for value in (least - 1, most + 1):
                self.is_refused(self.zone(settings={code(name): value}), f"{name} {value}")
        self.assertGreater(len(low), 30)
        self.is_taken(self.zone(settings=low), "lower bounds")
        self.is_taken(self.zone(settings=high), "upper bounds")

    def test_enumerations(self):
        names = dict(tables(self.text, "| enum | values |")[0][1])
        for _, name, kind, _, _, example in self.settings:
            found = re.match(r"enum \[(\w+)\]", kind)
            if not found or not code(example):
                continue
            values = [value.split(" ") for value in names[found.group(1)].split(", ")]
            for number, word in values:
                for value in (int(number), word):
                    self.is_taken(self.zone(settings={code(name): value}), f"{name} {value}")
            for value in (int(values[-1][0]) + 1, -1, "None"):
                self.is_refused(self.zone(settings={code(name): value}), f"{name} {value}")

    def test_refusals(self):
        self.refusals(self.text, json.loads(examples(self.text)[0]))


class Pipe(Pages):
    text = page("pipe-format.md")
    number = itertools.count()

    def logs(self):
        return blocks(self.text, "")

    def ingest(self, text, *words):
        """What the executable says of a log alone, and the reasons of its refused lines."""
        db = f"{next(self.number)}.db"
        self.run_tool("init", "--db", db)
        done = subprocess.run([TOOL, "ingest", "--final", "--db", db, *words,
                               self.write("log", text)],
                              cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env=self.environment(LATE))
        return done.stderr, [row[0] for row in self.query("SELECT reason FROM reject", db)]

    def columns(self):
        return tables(self.text, "| # |")[0][1]

    def test_the_columns_are_those_of_the_examples(self):
        enums = (SOURCE / "engine/intake/pipe.c").read_text()
        pipes, extended = map(int, re.search(r"PIPES = (\d+), PIPES_EXTENDED = (\d+)",
                                             enums).groups())
        rows = self.columns()
        self.assertEqual([row[0] for row in rows], [str(i + 1) for i in range(extended + 1)])
        short, long = self.logs()[0].splitlines()
        self.assertEqual(short.split("|"), [code(row[4]) for row in rows[:pipes + 1]])
        self.assertEqual(long.split("|")[pipes + 1:], [code(row[4]) for row in rows[pipes + 1:]])
        said, reasons = self.ingest(self.logs()[0])
        self.assertEqual(reasons, [], said)

    def test_bounds(self):
        line = self.logs()[0].splitlines()[0].split("|")
        for n, row in enumerate(self.columns()[:12]):
            taken, refused = [], []
            numbers = re.search(r"(\d+) to (\d+)", row[2])
            low, high = map(int, numbers.groups()) if numbers else (0, 0)
            if "character" in row[2]:
                taken, refused = ["A" * low, "A" * high], ["", "A" * (high + 1), "a b"]
            elif numbers:
                taken, refused = [low, high], [low - 1, high + 1, "", "x"]
            for value in taken:
                said, reasons = self.ingest("|".join([*line[:n], str(value), *line[n + 1:]]))
                self.assertEqual(reasons, [], f"{row[1]} {value}")
            for value in refused:
                said, reasons = self.ingest("|".join([*line[:n], str(value), *line[n + 1:]]))
                self.assertEqual(len(reasons), 1, f"{row[1]} {value} is taken")

    def test_reasons(self):
        line = self.logs()[0].splitlines()[0].split("|")
        names = [row[1] for row in self.columns()]
        told = set()
        for column, value, reason in tables(self.text, "| column |")[0][1]:
            n = names.index(column)
            bad = "|".join([*line[:n], code(value), *line[n + 1:]])
            said, reasons = self.ingest(bad + "\n" + "|".join(line) + "\n")
            self.assertEqual(reasons, [reason], f"{column} {value}")
            told.add(reason)
        whole = "|".join(line)
        for bad in ("", whole + "x" * (1 << 20), "|".join(line[:11]), whole.replace("HIT", "H\0T")):
            said, reasons = self.ingest(bad + "\n" + whole + "\n")
            self.assertEqual(len(reasons), 1)
            self.assertIn(f"`{reasons[0]}`", self.text)
            told.update(reasons)
        header = (SOURCE / "include/tollbook/intake.h").read_text()
        known = dict(re.findall(r'X\((\w+), "([^"]*)"\)', header))
        others = {"COMBINED", "JSON", "COUNTER", "HOUR", "EVENT", "FORMAT", "TIME", "HOST", "HEAD", "METER"}
        self.assertEqual(told, {text for name, text in known.items() if name not in others})

    def test_cache_statuses(self):
        names = set(re.findall(r'NAME\("(\w+)"', (SOURCE / "engine/intake/pipe.c").read_text()))
        said = re.search(r"\*\*Cache status\.\*\*(.*?)count as served", self.text, re.S).group(1)
        self.assertEqual(names, set(re.findall(r"`([A-Z]+)`", said)))

    def test_the_combined_example(self):
        said, reasons = self.ingest(self.logs()[-1], "--format", "combined", "--zone", "7",
                                    "--region", "DE")
        self.assertEqual(reasons, [], said)
        self.assertIn("1 accepted", said)


if __name__ == "__main__":
    unittest.main()
