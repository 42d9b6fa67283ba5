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
             "DECIMAL": "decimal", "STRING": "string", "STRINGS": "strings"}


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
        fresh = {"BOOL": "false", "TEXT": "null", "ENUM": "0", "MODELS": "[]"}[kind]
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


def page():
    lines = ["# Fields of a pull zone", "",
             "What `GET /pullzone` answers, in this order, and what a catalogue's `settings` may hold."
             " Written by", "`tests/arch/test_pullzone_fields.py --write` from"
             " `include/tollbook/pullzone.h`: change it there.", "",
             "Fields marked live come from the zone's own keys or from its usage and are no"
             " settings.", "", "| # | field | type | fresh zone | values |", "|---|---|---|---|---|"]
    for i, f in enumerate(FIELDS, 1):
        values = "; ".join(v for v in ("live" if f["live"] else "", bounds_of(f)) if v)
        lines.append(f"| {i} | {f['name']} | {seed_type(f).replace('strings', 'list of strings')} |"
                     f" `{f['fresh']}` | {values} |")
    return "\n".join(lines) + "\n"


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
for path, wanted in documents().items():
    there = SOURCE / path
    if sys.argv[1:] == ["--write"]:
        there.write_text(wanted)
    elif not there.exists() or there.read_text() != wanted:
        violations.append(f"{path}: not what the table says; "
                          "tests/arch/test_pullzone_fields.py --write")
verdict(violations, f"{len(FIELDS)} fields, {len(MODELS)} models, {len(ENUMS)} enumerations agree")
