"""Bytes inside a C file, as constants that the server answers with: compressed, as most clients take them so."""
import gzip
import json


def zipped(data):
    return gzip.compress(data, 9, mtime=0)


def literal(data):
    """A C string of any bytes, in lines. Three octal digits end an escape."""
    lines = []
    for at in range(0, len(data), 24):
        lines.append('    "' + "".join(f"\\{byte:03o}" for byte in data[at:at + 24]) + '"')
    return "\n".join(lines)


def write(document, target, name, origin):
    """A JSON document, which request_answer_zipped takes."""
    plain = json.dumps(document, separators=(",", ":")).encode("ascii")
    with open(target, "w", encoding="ascii") as file:
        file.write(f'/* Made of {origin}. */\n'
                   f'#include "api/handlers.h"\n\nstatic const char bytes[] =\n{literal(zipped(plain))};\n\n'
                   f'const zipped_text {name} = {{bytes, sizeof bytes - 1, {len(plain)}}};\n')
