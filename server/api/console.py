"""Puts the console's files into a C file: compressed, and named by their content.

    console.py server/console dygraph.min.js console_files.c

A file js/views/zones.js is served as js-views-zones.HASH.js. The hash covers the file and everything
it reaches, so that a browser may keep each name for ever. What names another file follows: src and
href in index.html, import and new URL(..., import.meta.url) in scripts, url() and @import in style
sheets. A name that leads to no file stops the build.
"""
import hashlib
import pathlib
import posixpath
import re
import sys

from literal import literal, zipped

TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
LEFT_OUT = {"package.json"}  # it tells node what the files are
ASSETS = "/console/assets/"
PAGE = "index.html"

# Each has one group, the name; what is around it stays.
NAMES = {
    ".html": [r'(?:\ssrc|\shref|\sdata-src)="([^"]+)"'],
    ".js": [r'(?:^|[\s;}])(?:import|from)\s*"(\.{1,2}/[^"]+)"', r"(?:^|[\s;}])(?:import|from)\s*'(\.{1,2}/[^']+)'",
            r'\bimport\(\s*"(\.{1,2}/[^"]+)"', r"\bimport\(\s*'(\.{1,2}/[^']+)'",
            r'\bnew URL\(\s*"([^"]+)",\s*import\.meta\.url', r"\bnew URL\(\s*'([^']+)',\s*import\.meta\.url"],
    ".css": [r'url\(\s*"?([^")]+?)"?\s*\)', r'@import\s+"([^"]+)"'],
}


def fail(text):
    sys.exit(f"server/api/console.py: {text}")


def read_files(folder, library):
    """path -> bytes"""
    files = {library.name: re.sub(rb"\n//# sourceMappingURL=.*", b"", library.read_bytes())}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name.startswith(".") or path.name in LEFT_OUT:
            continue
        if path.suffix not in TYPES:
            fail(f"server/console/{name}: no media type is known for it; TYPES has those that are")
        files[name] = path.read_bytes()
    if PAGE not in files:
        fail(f"server/console/{PAGE} is missing")
    return files


def target(origin, name, files):
    """The path of the file that a name in another one leads to; None: it leads elsewhere."""
    if re.match(r"[a-z]+:|#|//", name):
        return None
    if name.startswith(ASSETS):
        path = name[len(ASSETS):]
    elif name.startswith("/"):
        return None
    else:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), name))
    if path not in files:
        fail(f"server/console/{origin}: {name} leads to no file")
    return path


def rewritten(origin, files, spell):
    """The file with each name replaced by spell(path)."""
    content = files[origin]
    patterns = NAMES.get(posixpath.splitext(origin)[1], [])
    if not patterns or origin.endswith(".min.js"):
        return content
    text = content.decode("utf-8")

    def replace(match):
        path = target(origin, match[1], files)
        if path is None:
            return match[0]
        start, end = match.start(1) - match.start(), match.end(1) - match.start()
        return match[0][:start] + spell(path) + match[0][end:]

    for pattern in patterns:
        text = re.sub(pattern, replace, text, flags=re.M)
    return text.encode("utf-8")


def reached(origin, files):
    """All that a file leads to, itself too: modules may import each other in circles."""
    found, todo = set(), [origin]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            rewritten(path, files, lambda other: todo.append(other) or "")
    return sorted(found)


def digest(path, files):
    whole = hashlib.sha256()
    for other in reached(path, files):
        whole.update(f"{other}\0{len(files[other])}\0".encode() + files[other])
    return whole.hexdigest()


def served_names(files):
    names = {}
    for path in files:
        stem, suffix = posixpath.splitext(path)
        names[path] = f"{stem.replace('/', '-')}.{digest(path, files)[:16]}{suffix}"
    if len(set(names.values())) < len(names):
        fail("two files have one name where '/' is '-'")
    return names


def row(name, path, plain, tag):
    content = zipped(plain)
    kind = TYPES[posixpath.splitext(path)[1]]
    tags = ", ".join(f"UINT64_C(0x{tag[at:at + 16]})" for at in (0, 16))
    return (f'    {{"{name}", "{kind}", {{\n{literal(content)},\n     {len(content)}, {len(plain)}}}, {{{tags}}}}},\n')


def main(folder, library, output):
    files = read_files(pathlib.Path(folder), pathlib.Path(library))
    names = served_names(files)
    rows = []
    for path in sorted(files, key=lambda path: (path != PAGE, path)):
        there = ASSETS if path == PAGE else "./"
        plain = rewritten(path, files, lambda other, there=there: there + names[other])
        rows.append(row(names[path], path, plain, digest(path, files)))
    with open(output, "w", encoding="ascii") as file:
        file.write("/* Made of server/console by server/api/console.py. */\n"
                   '#include "api/console.h"\n\nconst console_file console_files[] = {\n')
        file.writelines(rows)
        file.write("};\nconst size_t console_n_files = sizeof console_files / sizeof *console_files;\n")


if len(sys.argv) != 4:
    sys.exit(__doc__)
main(*sys.argv[1:])
