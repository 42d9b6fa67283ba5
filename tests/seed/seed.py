"""The specification's facts as lists, and the route table as it is compiled, for the tests.

facts.txt     one fact a line: its id, what it waits for, what it says, between tabs. It waits for a
              route or a subcommand that is not there yet (`/mc/apps`, `command:token`), or `-`.
fields.txt    the fields of answers in groups: `[group] METHOD /path status place`, then one field
              and its type a line; `?` after a type: may be null.
pullzone.txt  the same for a pull zone, whose 170 fields are a file of their own.
"""
import functools
import os
import re
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
HERE = SOURCE / "tests/seed"


# --- routes ---

def arguments(text):
    return [piece.strip() for piece in re.findall(r'(?:"[^"]*"|[^,"])+', text)]


def expanded(macros, call):
    """One row of the table with its macro written out."""
    name, given = re.match(r"(\w+)\((.*)\)$", call, re.S).groups()
    names, body = macros[name]
    for word, value in zip(names, arguments(given)):
        body = re.sub(rf"\s*##\s*{word}\b|\b{word}\b(?!\s*=)", value.replace("\\", r"\\"), body)
    return body


@functools.cache
def routes():
    """Rows of server/api/routes.c: method, path with {id} for each parameter and {day} for a date, a target that has them,
    access, errors."""
    text = (SOURCE / "server/api/routes.c").read_text()
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    macros = {name: (arguments(names), re.sub(r"\\\n\s*", " ", body))
              for name, names, body in re.findall(
                  r"#define (\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", text)}
    table = re.search(r"api_routes\[\] = \{\n(.*?)\n\};", text, re.S).group(1)
    rows = []
    for call in re.findall(r"^    (\w+\(.*?\)),\s*?$", table, re.M | re.S):
        row = expanded(macros, call)
        named = dict(re.findall(r'\.(\w+) = ("[^"]*"|[^,}]+)', row))
        path = re.sub(r"\{\w+\}", "{id}", named["pattern"].strip().strip('"')).replace("{#date}", "{day}")
        rows.append({"method": named["method"].strip().replace("HTTP_", ""), "path": path,
                     "target": path.replace("{id}", "101").replace("{day}", "11-03-2026"),
                     "access": named["access"].strip().replace("TB_ACCESS_", "").lower(),
                     "exact": "exact" in named,
                     "errors": named.get("errors", "CORE").strip().replace("ERRORS_", "").lower()})
    return rows


def subcommands():
    text = (SOURCE / "server/cli/commands.c").read_text()
    return set(re.findall(r'^    \{\.name = "([a-z -]+)",\s*\.(?:operands|summary|operation)', text, re.M))


# --- facts ---

def there(waits):
    """Whether what a fact waits for is there."""
    if waits == "-":
        return True
    if waits.startswith("command:"):
        return waits.split(":", 1)[1] in subcommands()
    return any(row["path"].startswith(waits) for row in routes())


def facts():
    """id -> (what it waits for, what it says)"""
    found = {}
    for number, line in enumerate((HERE / "facts.txt").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        name, waits, text = line.split("\t")
        assert name not in found, f"facts.txt:{number}: {name} again"
        found[name] = (waits, text)
    return found


@functools.cache
def fields():
    """group -> (method, path, status, place, {field: type}). The pull zone's list has its own file."""
    groups, fields_of = {}, None
    for line in (HERE / "fields.txt").read_text().splitlines():
        if line.startswith("["):
            name, method, path, status, *place = line.split()
            fields_of = {}
            groups[name.strip("[]")] = (method, path, status, "".join(place), fields_of)
        elif line and not line.startswith("#"):
            field, kind = line.split("\t")
            fields_of[field] = kind
    rows = (HERE / "pullzone.txt").read_text().splitlines()
    groups["pullzone"] = ("GET", "/pullzone", "200", "[]",
                          {row.split("\t")[0]: row.split("\t")[1] for row in rows})
    return groups


# --- values ---

def of_type(value, kind):
    """Whether a JSON value is of a type as the lists name it."""
    if kind.endswith("?") and value is None:
        return True
    kind = kind.rstrip("?")
    if kind.startswith("list") or kind in ("strings", "array"):
        return isinstance(value, list) and (kind != "strings" or
                                            all(isinstance(entry, str) for entry in value))
    whole = isinstance(value, int) and not isinstance(value, bool)
    bits = {"int32": 31, "int64": 63, "integer": 63}.get(kind)
    if bits or kind.startswith("enum "):
        return whole and -2**(bits or 31) <= value < 2**(bits or 31)
    if kind in ("double", "decimal", "number"):
        return whole or isinstance(value, float)
    if kind == "date-time":
        return isinstance(value, str) and bool(
            re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\Z", value))
    return isinstance(value, {"string": str, "boolean": bool, "object": dict}[kind])
