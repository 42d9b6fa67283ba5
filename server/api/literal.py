"""A JSON document inside a C file, as a constant that the server answers with."""
import json

LINE = 96


def literal(text):
    """A C string literal of ASCII text."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(document, target, name, origin):
    text = json.dumps(document, separators=(",", ":"))
    pieces = [text[at:at + LINE] for at in range(0, len(text), LINE)]
    with open(target, "w", encoding="ascii") as file:
        file.write(f'/* Made of {origin}. */\n'
                   f'#include "api/handlers.h"\n\nconst char {name}[] =\n')
        file.write("\n".join("    " + literal(piece) for piece in pieces))
        file.write(f";\nconst size_t {name}_len = sizeof {name} - 1;\n")
