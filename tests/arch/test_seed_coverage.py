#!/usr/bin/env python3
"""Every fact of the specification has a test that holds it, and docs/seed-coverage.md says which.

    tests/arch/test_seed_coverage.py           exit 1 where a fact has none or the document is old
    tests/arch/test_seed_coverage.py --write   write docs/seed-coverage.md

A test names the facts it holds in a comment right above it, `holds: id, id` (tests/seed/facts.txt),
in a script without test functions anywhere. The fields of a group of tests/seed/fields.txt are held
by a test that calls has_fields("group", ...), and stand in docs/openapi.yaml. A fact whose route or
subcommand is not there yet waits for it; from then on it needs its test.
"""
import ast
import re
import sys

import yaml
from house import SOURCE, verdict

sys.path.insert(0, str(SOURCE / "tests/seed"))
import seed  # noqa: E402

PAGE = "docs/seed-coverage.md"
KINDS = {"strings": "array", "list": "array", "array": "array", "object": "object",
         "string": "string", "date-time": "string", "boolean": "boolean", "integer": "integer",
         "int32": "integer", "int64": "integer", "enum": "integer", "number": "number",
         "double": "number", "decimal": "number"}
violations = []


def ids(text):
    return [word for word in re.split(r"[\s,#*]+", text) if word]


# --- who holds what ---

def comment_above(lines, at):
    """The comment lines that end right above line `at`, counted from 1."""
    first = at - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return "\n".join(lines[first:at - 1])


def marked(text):
    """The facts of the lines `# holds: id, id`."""
    return [name for line in re.findall(r"^\s*# holds: (.*)$", text, re.M) for name in ids(line)]


def python_tests(path):
    """(its name, its facts, its source) of each test method; of the file where it has none."""
    text = path.read_text()
    lines, tests = text.splitlines(), []
    for owner in ast.walk(ast.parse(text)):
        methods = owner.body if isinstance(owner, ast.ClassDef) else []
        methods = [m for m in methods if isinstance(m, ast.FunctionDef) and m.name.startswith("test_")]
        if len({m.name for m in methods}) < len(methods):
            violations.append(f"{path.name}: class {owner.name} has two tests of one name")
        for method in methods:
            start = min([method.lineno, *(d.lineno for d in method.decorator_list)])
            tests.append((method.name, marked(comment_above(lines, start)),
                          "\n".join(lines[start - 1:method.end_lineno])))
    return tests or [("", marked(text), "")], len(marked(text))


def c_tests(path):
    text, tests = path.read_text(), []
    for comment, name in re.findall(r"/\*\s*(holds: [^/]*?)\*/\s*START_TEST\((\w+)\)", text):
        tests.append((name, ids(comment.removeprefix("holds: ")), ""))
        if len(re.findall(rf"\b{name}\b", text)) < 2:
            violations.append(f"{path.name}: {name} is never run")
    return tests, sum(len(ids(found)) for found in re.findall(r"/\*\s*holds: ([^/]*?)\*/", text))


def collected():
    """fact or "fields GROUP" -> the tests that hold it."""
    held = {}
    for path in sorted(SOURCE.glob("tests/**/test_*")):
        if path.suffix not in (".py", ".c") or path.name == "test_seed_coverage.py":
            continue
        tests, marks = (python_tests if path.suffix == ".py" else c_tests)(path)
        for name, facts, source in tests:
            groups = [f"fields {g}" for g in re.findall(r'has_fields\(\s*"([\w.]+)"', source)]
            for fact in [*facts, *dict.fromkeys(groups)]:
                where = str(path.relative_to(SOURCE / "tests"))
                held.setdefault(fact, []).append(f"{where}: {name}" if name else where)
        if marks > sum(len(facts) for _, facts, _ in tests):
            violations.append(f"{path.name}: a `holds:` stands above no test")
    return held


# --- fields in the document ---

OPENAPI = yaml.load((SOURCE / "docs/openapi.yaml").read_text(),
                    getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def whole(schemas):
    """The plain schemas that some schemas stand for: references followed, choices opened."""
    found = []
    for schema in schemas:
        if "$ref" in schema:
            part = OPENAPI
            for name in schema["$ref"].split("/")[1:]:
                part = part[name]
            found += whole([part])
        elif any(word in schema for word in ("oneOf", "anyOf", "allOf")):
            found += whole([s for word in ("oneOf", "anyOf", "allOf") for s in schema.get(word, [])])
        else:
            found.append(schema)
    return found


def answer_schemas(method, path, status, place):
    """Schemas at a place of an answer: `items[].displayEndpoint`."""
    for template, item in OPENAPI["paths"].items():
        if re.sub(r"\{\w+\}", "{id}", template) != path or method.lower() not in item:
            continue
        response = item[method.lower()]["responses"].get(status, {})
        media = whole([response])[0].get("content", {}).get("application/json")
        here = whole([media["schema"]]) if media else []
        for step in re.findall(r"\w+|\[\]", place):
            name = "items" if step == "[]" else None
            here = whole([s[name] if name else s["properties"][step] for s in here
                          if (name in s if name else step in s.get("properties", {}))])
        return here
    return []


def undocumented(group):
    method, path, status, place, fields = group
    here = answer_schemas(method, path, status, place)
    known = {}
    for schema in here:
        known.update(schema.get("properties", {}))
    for field, kind in fields.items():
        if field not in known:
            yield f"{method} {path} {status} {place}: {field} is not in docs/openapi.yaml"
            continue
        types = {s.get("type") for s in whole([known[field]])}
        if "integer" in types:
            types.add("number")  # a whole number is a number too
        if KINDS[kind.rstrip("?").split(" ")[0]] not in types:
            yield f"{method} {path} {status} {place}: {field} is {types}, specified {kind}"


# --- the document ---

def cell(tests, waits):
    if tests:
        return "<br>".join(f"`{test}`" for test in tests)
    return f"waits for `{waits}`"


def page(facts, groups, held):
    lines = ["# What the specification says, and the tests that hold it", "",
             "Written by `tests/arch/test_seed_coverage.py --write` from `tests/seed/` and from the"
             " tests' own words;", "a fact without a test fails the suite. A test's place is below"
             " `tests/`.", ""]
    for line in (seed.HERE / "facts.txt").read_text().split("\n\n", 1)[1].splitlines():
        if line.startswith("# "):
            lines += ["", f"## {line[2:].capitalize()}", "", "| id | fact | tests |", "|---|---|---|"]
        elif line:
            name, waits, text = line.split("\t")
            lines.append(f"| {name} | {text} | {cell(held.get(name), waits)} |")
    for name, (method, path, status, place, fields) in groups.items():
        where = f"`{method} {path}`, status {status}" + (f", `{place}`" if place else "")
        lines += ["", f"## Fields: {name}", "", f"{where}. Held by "
                  f"{cell(held.get(f'fields {name}'), path)}, and compared with"
                  " `docs/openapi.yaml`.", "", "| field | type |", "|---|---|"]
        lines += [f"| {field} | {kind} |" for field, kind in fields.items()]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)) + "\n"


facts, groups, held = seed.facts(), seed.fields(), collected()
known = {*facts, *(f"fields {name}" for name in groups)}
for fact, tests in held.items():
    if fact not in known:
        violations.append(f"{tests[0]}: holds {fact}, which is no fact of tests/seed")
waiting = 0
for fact, waits in [(name, waits) for name, (waits, _) in facts.items()] + [
        (f"fields {name}", group[1]) for name, group in groups.items()]:
    if fact in held:
        continue
    if seed.there(waits):
        violations.append(f"{fact}: no test holds it; write one and say `holds: {fact}` above it"
                          if fact in facts else
                          f"{fact}: no test calls has_fields(\"{fact.split()[1]}\", ...)")
    else:
        waiting += 1
for group in groups.values():
    if seed.there(group[1]):
        violations += undocumented(group)
wanted = page(facts, groups, held)
if sys.argv[1:] == ["--write"]:
    (SOURCE / PAGE).write_text(wanted)
elif not (SOURCE / PAGE).exists() or (SOURCE / PAGE).read_text() != wanted:
    violations.append(f"{PAGE}: not what the tests say; tests/arch/test_seed_coverage.py --write")
count = len(facts) + sum(len(group[4]) for group in groups.values())
verdict(violations, f"{count} facts and fields have their tests"
        + (f", {waiting} lines wait for their routes" if waiting else ""))
