"""docs/openapi.yaml as the judge of every answer that a test receives.

An operation is found by its path template (a literal segment before a parameter), then the status,
the content type and the body are compared with what the document promises of it. The document's
`x-any-route` names what any route may answer besides, before a route is chosen or a body is read.
A path that the document does not have may only be refused.

OpenAPI 3.0 schemas are translated into JSON Schema once: `nullable` adds null to the type, integer
and date formats become bounds and patterns. A double or decimal has its point ("0.0"), unless the schema
says `x-point: false`: clients with strict types take no whole number for it. Of a list or a map with many entries both ends and some
of the middle are compared, so that a page of thousands of zones costs no more than one of dozens.
"""
import gzip
import hashlib
import json
import os
import re
from pathlib import Path
from urllib.parse import urlsplit

import jsonschema
import yaml

METHODS = ("get", "post", "put", "delete", "patch")
SHOWN = 300  # of a body that does not fit, bytes in the message
SAMPLE = 24  # entries of a list or a map, at most
BOUNDS = {"int32": (-2**31, 2**31 - 1), "int64": (-2**63, 2**63 - 1)}
POINTED = ("double", "decimal")
DATE_TIME = r"^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$"


def translated(schema):
    """OpenAPI 3.0's dialect as JSON Schema."""
    if isinstance(schema, list):
        return [translated(entry) for entry in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    done = {key: {name: translated(of) for name, of in value.items()} if key == "properties"
            else value if key in ("example", "default", "enum") else translated(value)
            for key, value in schema.items()}
    low, high = BOUNDS.get(schema.get("format"), (None, None))
    if low is not None:
        done["minimum"] = max(low, schema.get("minimum", low))
        done["maximum"] = min(high, schema.get("maximum", high))
    if schema.get("format") == "date-time":
        done.setdefault("pattern", DATE_TIME)
    if not done.pop("nullable", False):
        return done
    if "type" not in done:
        return {"anyOf": [{"type": "null"}, done]}
    done["type"] = [done["type"], "null"]
    if "enum" in done:
        done["enum"] = [*done["enum"], None]
    return done


def some(entries):
    """Both ends of a long list, and some of its middle."""
    if len(entries) <= SAMPLE:
        return entries
    third = SAMPLE // 3
    return entries[:third] + entries[third:-third:len(entries) // third] + entries[-third:]


def items(validator, schema, instance, _):
    for index, entry in some(list(enumerate(instance))) if isinstance(instance, list) else ():
        yield from validator.descend(entry, schema, path=index)


def additional(validator, schema, instance, whole):
    if not isinstance(instance, dict):
        return
    known = whole.get("properties", {})
    extra = [name for name in instance if name not in known]
    if schema is False and extra:
        yield jsonschema.ValidationError(f"undocumented: {', '.join(extra)}")
    elif isinstance(schema, dict):
        for name in some(extra):
            yield from validator.descend(instance[name], schema, path=name)


def pointed(_, form, instance, schema):
    if form in POINTED and schema.get("x-point", True) and type(instance) is int:
        yield jsonschema.ValidationError(f"{instance} is a {form} without its point")


def read_document(path):
    """The document, by its JSON in the build's folder, which the first test writes: YAML takes a fifth of a
    second longer, in each script. The name holds the text's hash, so that another text has another."""
    text = Path(path).read_text(encoding="utf-8")
    build = os.environ.get("TB_BUILD")
    kept = build and Path(build, f"openapi-{hashlib.sha256(text.encode()).hexdigest()[:16]}.json")
    if kept and kept.exists():
        return json.loads(kept.read_text())
    document = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    if kept:
        own = kept.with_suffix(f".{os.getpid()}")
        own.write_text(json.dumps(document))
        own.rename(kept)
    return document


class Contract:
    def __init__(self, path):
        self.document = read_document(path)
        parts = self.document["components"]
        self.schemas = {f"#/components/schemas/{name}": translated(schema)
                        for name, schema in parts["schemas"].items()}
        self.validator = jsonschema.validators.extend(
            jsonschema.Draft4Validator,
            {"items": items, "additionalProperties": additional, "format": pointed,
             "$ref": self.follow})
        self.paths = sorted(((self.pattern(path), path) for path in self.document["paths"]),
                            key=lambda row: row[1].count("{"))
        self.any_route = self.document["x-any-route"]
        self.known = set()  # answers that fitted already
        self.checkers = {}

    def follow(self, validator, ref, instance, _):
        yield from validator.descend(instance, self.schemas[ref])

    def pattern(self, path):
        """A parameter is any text; where a template has nothing else, it is of its pattern, so that not every path is. With the pattern .+
        it may hold slashes."""
        pieces = re.split(r"\{\w+\}", path)
        forms = {one["name"]: one["schema"].get("pattern", "[^/]+").strip("^$")
                 for one in map(self.resolved, self.document["paths"][path].get("get", {}).get("parameters", [])) if one["in"] == "path"}
        if "".join(pieces).strip("/"):
            forms = {name: form for name, form in forms.items() if form == ".+"}
        texts = [forms.get(name, "[^/]+") for name in re.findall(r"\{(\w+)\}", path)] + [""]
        return re.compile("".join(re.escape(piece) + text for piece, text in zip(pieces, texts)) + r"/?\Z", re.IGNORECASE)

    def resolved(self, part):
        if "$ref" not in part:
            return part
        found = self.document
        for name in part["$ref"].split("/")[1:]:
            found = found[name]
        return found

    def operation(self, method, path):
        """(path template, operation) of a request, or None of each. Below /api, where no path is its own, every other one is."""
        method = "get" if method == "HEAD" else method.lower()
        found = [template for pattern, template in self.paths if pattern.match(path)]
        if not found and path[:5].lower() == "/api/":
            found = [template for pattern, template in self.paths if pattern.match(path[4:])
                     and "x-exact" not in self.document["paths"][template].get("get", {})]
        for template in found:
            if method in self.document["paths"][template]:
                return template, self.document["paths"][template][method]
        return None, None

    def check(self, method, target, answer):
        """Raises AssertionError where the answer is none that the document promises."""
        path = urlsplit(target).path if "://" in target else target.split("?", 1)[0]
        template, operation = self.operation(method, path)
        what = f"{method} {target[:120]} answered {answer.status}"
        if method == "OPTIONS" and answer.status == 204:  # a browser's, to whatever there is
            problem = self.problem(self.resolved(self.any_route["204"]), answer)
            assert problem is None, f"{what}: {problem}"
            return
        if operation is None:
            assert answer.status >= 300, f"{what}: docs/openapi.yaml does not have it"
            return
        responses = operation["responses"]
        status = str(answer.status)
        promised = [self.resolved(responses[status])] if status in responses else []
        if status in self.any_route:
            promised.append(self.resolved(self.any_route[status]))
            promised += [self.resolved(of) for code, of in responses.items() if code >= "400"]
        assert promised, f"{what}: not among the statuses of {template} in docs/openapi.yaml"
        problem = self.problem(promised[0], answer)
        if problem is not None and None not in (self.problem(of, answer) for of in promised[1:]):
            raise AssertionError(f"{what}, against {template} of docs/openapi.yaml: {problem}")

    def problem(self, response, answer):
        """What of the answer does not fit a promised response, or None."""
        for name, header in response.get("headers", {}).items():
            if self.resolved(header).get("required") and name.lower() not in answer.headers:
                return f"no header {name}"
        content = response.get("content")
        if not content:
            return f"a body of {len(answer.body)} bytes, none promised" if answer.body else None
        media = answer.headers.get("content-type", "").split(";")[0].strip()
        if media not in content:
            return f"content type {media!r}, promised {', '.join(content)}"
        if answer.method == "HEAD" or media != "application/json":
            return None
        return self.body_problem(content[media]["schema"], answer)

    def body_problem(self, schema, answer):
        packed = answer.headers.get("content-encoding") == "gzip"
        text = gzip.decompress(answer.body) if packed else answer.body
        mark = (id(schema), hash(text))  # the document keeps its schemas: one number is one schema
        if mark in self.known:
            return None
        try:
            body = json.loads(text)
        except ValueError as error:
            return f"no JSON: {error}: {text[:SHOWN]!r}"
        if id(schema) not in self.checkers:
            self.checkers[id(schema)] = self.validator(translated(schema))
        worst = jsonschema.exceptions.best_match(self.checkers[id(schema)].iter_errors(body))
        if worst is not None:
            at = "/".join(map(str, worst.absolute_path)) or "the body"
            return f"{at}: {worst.message[:SHOWN]}; {text[:SHOWN]!r}"
        self.known.add(mark)
        return None
