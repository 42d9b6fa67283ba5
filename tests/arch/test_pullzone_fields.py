#!/usr/bin/env python3
"""The table of pull zone fields agrees with the specification's list, and the documents with it.

    tests/arch/test_pullzone_fields.py           exit 1 where they differ
    tests/arch/test_pullzone_fields.py --write   write docs/pull-zone.md and the schemas in
                                                 docs/openapi.yaml
"""
import json
import re
import sys
from house import SOURCE, verdict

HEADER = (SOURCE / "include/tollbook/pullzone.h").read_text()
MODELS_C = (SOURCE / "engine/model/pullzone.c").read_text()
BEGIN, END = "    # pull zone, written by tests/arch/test_pullzone_fields.py\n", "    # end of pull zone\n"
SEED_TYPE = {"BOOL": "boolean", "INT": "int32", "INT64": "int64", "DOUBLE": "double",
             "DECIMAL": "decimal", "STRING": "string", "STRINGS": "strings", "MAP": "object"}


def macro(name):
    """The rows of an X-macro, continuation lines and neighbouring literals joined."""
    body = re.search(rf"#define {name}\(X\)(.*?)\n\n", HEADER, re.S).group(1)
    body = re.sub(r"\\\n\s*", " ", body + "\n")
    body = re.sub(r'"\s+"', "", body)
    return re.findall(r'X\(((?:[^()"]|"(?:\\.|[^"\\])*")*)\)', body)


def columns(row):
    return [c.strip() for c in re.findall(r'(?:"(?:\\.|[^"\\])*"|[^,"])+', row)]


def literal(text):
    return re.sub(r"\\(.)", r"\1", text[1:-1])


ENUMS = {columns(row)[0]: (literal(columns(row)[1]), literal(columns(row)[2]).split(","))
         for row in macro("TB_ENUMS")}
MODELS = {columns(row)[0]: (columns(row)[1], literal(columns(row)[2])) for row in macro("TB_MODELS")}


def field(name, kind, nullable, fresh, low, high, live):
    return {"name": name, "type": kind, "nullable": nullable in ("1", "true"),
            "fresh": literal(fresh), "low": low, "high": high, "live": live == "LIVE"}


FIELDS = [field(*columns(row)) for row in macro("TB_PULLZONE_FIELDS")]


def model_fields(table):
    """The fields of a model's table in pullzone.c, short forms written out."""
    body = re.search(rf"tb_field {table}\[\] = \{{(.*?)\n\}};", MODELS_C, re.S).group(1)
    found = []
    for short, full in re.findall(r"^    (?:(\w+\([^)]*\))|\{([^}]*(?:\{\}[^}]*)?)\}),$", body, re.M):
        if full:
            name, kind, nullable, live, fresh, low, high = columns(full)
            found.append(field(literal(name), kind.replace("TB_FIELD_", ""), nullable, fresh, low,
                               high, live))
            continue
        kind, arguments = short.split("(", 1)
        name, *more = [a.strip() for a in arguments.rstrip(")").split(",")]
        fresh = {"BOOL": '"false"', "TEXT": '"null"', "ENUM": '"0"', "MODELS": '"[]"'}[kind]
        low = f"TB_{'ENUM' if kind == 'ENUM' else 'MODEL'}_{more[0]}" if more else "0"
        found.append(field(literal(name), {"TEXT": "STRING"}.get(kind, kind),
                           "1" if kind in ("TEXT", "MODELS") else "0", fresh, low, "0", "SET"))
    return found


def seed_type(f):
    kind = SEED_TYPE.get(f["type"])
    if f["type"] == "ENUM":
        kind = "enum " + ENUMS[f["low"].replace("TB_ENUM_", "")][0]
    if f["type"] == "MODELS":
        model = MODELS[f["low"].replace("TB_MODEL_", "")][1]
        kind = "list" if model == "BunnyAiImageBlueprintModel" else f"list of {model}"
    return kind + ("?" if f["nullable"] else "")


def against_the_specification():
    wrong, known = [], {}
    for line in (SOURCE / "tests/seed/pullzone.txt").read_text().splitlines():
        name, kind, *bounds = line.split("\t")
        known[name] = (kind, bounds)
    for f in FIELDS:
        kind, bounds = known.pop(f["name"], ("missing", []))
        if kind != seed_type(f):
            wrong.append(f"{f['name']}: {seed_type(f)} here, {kind} in the specification")
        if bounds and bounds[0] != f"{f['low']}..{f['high']}":
            wrong.append(f"{f['name']}: {f['low']}..{f['high']} here, {bounds[0]} specified")
    return wrong + [f"{name}: not in the table" for name in known]


# --- documents ---

def bounds_of(f):
    if f["type"] in ("INT", "INT64") and not f["low"].startswith("INT"):
        return f"{f['low']} to {f['high'].replace('INT64_MAX', '2^63-1')}"
    if f["type"] == "ENUM":
        values = ENUMS[f["low"].replace("TB_ENUM_", "")][1]
        return ", ".join(f"{i} {v}" for i, v in enumerate(values) if v)
    return ""


EXAMPLES = dict(line.split("\t") for line in
                (SOURCE / "tests/arch/pullzone_examples.txt").read_text().splitlines())
RANGES = {"INT": "-2147483648 to 2147483647", "INT64": "-2^63 to 2^63-1"}


def values_of(f):
    """What the field may hold, in words."""
    said = {"BOOL": "`true` or `false`", "DOUBLE": "at most 15 digits after the point",
            "DECIMAL": "0 or more, at most 15 digits after the point",
            "MAP": "names and strings"}.get(f["type"], "")
    return bounds_of(f) or RANGES.get(f["type"], said)


def example_of(f):
    """A value that is not the default."""
    if f["type"] == "BOOL":
        return "false" if f["fresh"] == "true" else "true"
    if f["type"] == "ENUM":
        names = ENUMS[f["low"].replace("TB_ENUM_", "")][1]
        return json.dumps(names[0 if f["fresh"] != "0" else 1])
    known = EXAMPLES.get(f["name"])
    return known or f"{int(f['fresh']) + 10}"


def rows_of(fields, numbered):
    lines = []
    for i, f in enumerate(fields, 1):
        kind = seed_type(f).replace("strings", "list of strings")
        example = "read only" if f["live"] else f"`{example_of(f)}`"
        number = f"{i} | " if numbered else ""
        values = values_of(f) if numbered or f["type"] != "ENUM" else ""
        lines.append(f"| {number}`{f['name']}` | {linked(kind)} | `{f['fresh']}` | {values} |"
                     f" {example} |")
    return lines


def linked(kind):
    """A type with its model or enumeration linked to the page's section of it."""
    for before, target in (("list of ", None), ("enum ", "enumerations")):
        name = kind.removeprefix(before).removesuffix("?")
        if kind.startswith(before) and name != "strings":
            return kind.replace(name, f"[{name}](#{target or name.lower()})")
    return kind


# Settings that tollbook acts on, with what they do.
EFFECTS = {
    "Enabled": "false: the zone's request logs are answered with 403, and it is no active zone for"
               " the monthly minimum",
    "Suspended": "true: the zone's request logs are answered with 403",
    "EnableLogging": "false: lines of request logs are counted and not kept",
    "EnableExtendedLogging": "true: columns 13 to 15 of the [pipe format](pipe-format.md) are kept",
    "LoggingIPAnonymizationEnabled": "true: addresses are hidden in answers of request logs, and"
                                     " in refused lines before they are stored",
    "LogAnonymizationType": "how much is hidden: OneDigit the last octet of IPv4 and the last 64 bits"
                            " of IPv6, Drop all of it",
    "MonthlyBandwidthLimit": "bytes of a calendar month (UTC); at the limit the zone shows Enabled"
                             " false; 0: no limit",
    "PriceOverride": "the price of a byte, in place of every price of the book, without discount;"
                     " 0: none",
    "OptimizerEnabled": "true: the optimizer's monthly price is billed, by the second",
    "OptimizerPricing": "the zone's own monthly price of the optimizer; absent: the book's",
    "EUUSDiscount": "percent off premium bandwidth in EU and NA; the account's counts if larger",
    "SouthAmericaDiscount": "the same in SA",
    "AfricaDiscount": "the same in AF",
    "AsiaOceaniaDiscount": "the same in ASIA",
    "CnameDomain": "the system host name is `Name.CnameDomain`",
    "OriginUrl": "OriginLinkValue is the same unless it is set",
    "StorageZoneId": "OriginType is 2 unless it is set",
    "EnableTLS1": "with EnableTLS1_1 false too, TlsSecurityLevel is 1 unless it is set",
}

PAGE_HEAD = """# Pull zones

A pull zone is declared in the [catalogue](catalogue.md#zones), and its `settings` may hold the fields below. `GET
/pullzone` answers all of them, in this order. A field that is not set has its default, the value of a fresh zone.
`tests/arch/test_pullzone_fields.py --write` writes this page from `include/tollbook/pullzone.h`: change it there. A test
feeds every example to `tollbook apply`, and tries both sides of every bound.

```json
{
  "accounts": [{"id": 1, "name": "acme"}],
  "zones": [
    {"id": 101, "account": 1, "name": "acme-video", "type": "volume",
     "hostnames": ["video.acme.example", {"Value": "old.acme.example", "ForceSSL": true}],
     "settings": {"OriginUrl": "https://origin.acme.example", "MonthlyBandwidthLimit": 1000000000000,
                  "LogAnonymizationType": "Drop", "OptimizerEnabled": true, "EUUSDiscount": 5,
                  "EdgeRules": [{"ActionType": "ForceSSL", "Triggers": [{"Type": "Url", "PatternMatches": ["*"]}]}]}}
  ]
}
```

## Types

| type | in `settings` | in answers |
|---|---|---|
| boolean | `true` or `false` | the same |
| int32, int64 | a whole number | the same |
| double, decimal | a number, or a string of its digits | a number |
| string | a string | the same |
| enum | the number or the name | the number |
| list, object | the same | the same; every field of an object is there |

A `?` behind the type means that `null` is accepted: it is an empty list of a list, an empty object of an object.
"""


def page():
    lines = [PAGE_HEAD, "## Settings that tollbook acts on", "",
             "It stores and answers the others, and does nothing else with them.", "",
             "| setting | effect |", "|---|---|"]
    lines += [f"| `{name}` | {effect} |" for name, effect in EFFECTS.items()]
    lines += ["", "## Fields", "",
              "A read-only field comes from the zone's other keys or from its usage: `Id`, `Name`,"
              " `Type` and `Hostnames` are keys of", "the zone, and the other two are of the running"
              " month.", "",
              "| # | field | type | default | values | example |", "|---|---|---|---|---|---|"]
    lines += rows_of(FIELDS, True)
    for table, name in MODELS.values():
        note = (["A name in `hostnames` may be a mere string: its `Value`. The first host name of the"
                 " answer is the system's own.", ""] if name == "HostnameModel" else [])
        lines += ["", f"## {name}", "", *note, "| field | type | default | values | example |",
                  "|---|---|---|---|---|", *rows_of(model_fields(table), False)]
    lines += ["", "## Enumerations", "", "| enum | values |", "|---|---|"]
    lines += [f"| {name} | " + ", ".join(f"{i} {v}" for i, v in enumerate(values) if v) + " |"
              for name, values in ENUMS.values()]
    lines += ["", "## What is refused", "",
              "Each row is the first example with one value put in its place, and what `tollbook"
              " apply` says of it.", "", "| path | value | message |", "|---|---|---|"]
    lines += [f"| `zones[0].{path}` | `{value}` | {message} |" for path, value, message in REFUSED]
    return "\n".join(lines) + "\n"


REFUSED = [
    ("settings.Colour", '"red"', 'Unknown field: a pull zone has no "Colour".'),
    ("settings.Name", '"video"', "Name is not a setting: it comes from the zone's own keys or from its"
     " usage."),
    ("settings.Enabled", '"yes"', "Enabled must be true or false."),
    ("settings.Enabled", "null", "Enabled must be set: it cannot be null."),
    ("settings.EUUSDiscount", "101", "EUUSDiscount must be a whole number from 0 to 100."),
    ("settings.PriceOverride", '"-0.01"', "PriceOverride must be a decimal of 0 or more with at most"
     " 15 digits after the point."),
    ("settings.LogAnonymizationType", '"Half"', "LogAnonymizationType must be a number of"
     " LogAnonymizationType or one of its names: OneDigit,Drop."),
    ("settings.BlockedIps", "[1]", "BlockedIps must be a list of strings."),
    ("hostnames", '[{"Value": "a.example", "Port": 80}]', 'Hostnames must be made of the fields of'
     ' HostnameModel; "Port" is not one.'),
]


def schema(f):
    kind, null = f["type"], ", nullable: true" if f["nullable"] else ""
    if kind in ("INT", "INT64"):
        limits = "" if f["low"].startswith("INT") else f", minimum: {f['low']}" + (
            "" if f["high"].startswith("INT") else f", maximum: {f['high']}")
        return f"{{type: integer, format: int{32 if kind == 'INT' else 64}{limits}{null}}}"
    if kind == "ENUM":
        values = ENUMS[f["low"].replace("TB_ENUM_", "")][1]
        numbers = ", ".join(str(i) for i, v in enumerate(values) if v)
        return f"{{type: integer, enum: [{numbers}]}}"
    if kind == "MODELS":
        model = MODELS[f["low"].replace("TB_MODEL_", "")][1]
        return f'{{type: array, items: {{$ref: "#/components/schemas/{model}"}}{null}}}'
    return {"BOOL": "{type: boolean}", "DOUBLE": "{type: number, format: double}",
            "DECIMAL": "{type: number, format: decimal, minimum: 0}",
            "STRING": f"{{type: string{null}}}",
            "STRINGS": f"{{type: array, items: {{type: string}}{null}}}",
            "MAP": f"{{type: object, additionalProperties: {{type: string}}{null}}}"}[kind]


def schemas():
    text = BEGIN
    for name, fields in [("PullZoneModel", FIELDS)] + [
            (name, model_fields(table)) for table, name in MODELS.values()]:
        text += f"    {name}:\n      type: object\n      additionalProperties: false\n"
        required = json.dumps([f["name"] for f in fields]).replace('"', "")
        text += f"      required: {required}\n      properties:\n"
        text += "".join(f"        {f['name']}: {schema(f)}\n" for f in fields)
    return text + END


def documents():
    """Path to what it should hold."""
    openapi = (SOURCE / "docs/openapi.yaml").read_text()
    if BEGIN in openapi:
        before, rest = openapi.split(BEGIN)
        after = rest.split(END)[1]
    else:
        before, after = openapi.split("    CountChart:\n")
        after = "    CountChart:\n" + after
    return {"docs/pull-zone.md": page(), "docs/openapi.yaml": before + schemas() + after}


violations = against_the_specification()
known = {f["name"] for f in FIELDS if not f["live"]}
violations += [f"{name}: no setting has this effect" for name in EFFECTS if name not in known]
for path, wanted in documents().items():
    there = SOURCE / path
    if sys.argv[1:] == ["--write"]:
        there.write_text(wanted)
    elif not there.exists() or there.read_text() != wanted:
        violations.append(f"{path}: not what the table says; "
                          "tests/arch/test_pullzone_fields.py --write")
verdict(violations, f"{len(FIELDS)} fields, {len(MODELS)} models, {len(ENUMS)} enumerations agree")
