"""Writes docs/openapi.yaml as JSON inside a C file: what GET /openapi.json answers.

    openapi.py openapi.yaml openapi_json.c
"""
import json
import sys

import yaml

LINE = 96


def literal(text):
    """A C string literal of ASCII text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def main(source, target):
    with open(source, encoding="utf-8") as file:
        document = yaml.safe_load(file)
    text = json.dumps(document, separators=(",", ":"))
    pieces = [text[at:at + LINE] for at in range(0, len(text), LINE)]
    with open(target, "w", encoding="ascii") as file:
        file.write('/* Made of docs/openapi.yaml by server/api/openapi.py. */\n'
                   '#include "api/handlers.h"\n\nconst char openapi_json[] =\n')
        file.write("\n".join("    " + literal(piece) for piece in pieces))
        file.write(";\nconst size_t openapi_json_len = sizeof openapi_json - 1;\n")


main(*sys.argv[1:])
