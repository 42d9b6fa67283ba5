"""Every header compiles alone: it includes what it needs and nothing leaks.

Where a source file's first line of code includes a header, the build has compiled it alone, so that
only its guard is looked at. The other ones are compiled here by gcc. Public headers are compiled alone as
strict C11 by gcc, and all together, the last one first, as C11 and C++17 by gcc and clang; they cite no
document or header that is not in the tree, and their functions take at most seven parameters. With TB_LONG=1 both compilers take every header alone, in every form.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from house import SOURCE, c_files, code_only, name, verdict

ROOTS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", str(SOURCE / "include")]
HOUSE = ["-x", "c", "-std=gnu11", "-D_GNU_SOURCE", "-Wno-unused-function",
         "-Wno-unused-const-variable", "-Wno-unused-variable",
         "-I", str(SOURCE / "engine"), "-I", str(SOURCE / "server")]
PUBLIC = {"C11": ["-x", "c", "-std=c11", "-pedantic"],
          "C++17": ["-x", "c++", "-std=c++17", "-pedantic"]}
# Where a rule comes from is for those who can open it: a file of this tree, a standard.
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
CITED = re.compile(r"\b([\w./-]+\.(?:md|yaml|py))\b")
HEADER = re.compile(r"[\w/-]+\.h\b")
MOST_PARAMETERS = 7
UNNAMED = re.compile(r"\bcontract,? (?:section )?\d|(?<!_t )\bseed[,\"']|\bthe seed\b|\bthe issue\b"
                     r"|\b(?:architecture|reliability|issue),? (?:section )?[(\d]|\bsection \d",
                     re.I)


def compiled(job):
    compiler, form, flags, paths = job
    # Twice, so that a missing include guard shows too.
    text = "".join(f'#include "{path}"\n' * 2 for path in paths)
    run = subprocess.run([compiler, *ROOTS, *flags, "-"], input=text, text=True,
                         capture_output=True)
    if run.returncode == 0:
        return None
    what = name(paths[0]) if len(paths) == 1 else "all public headers together"
    return f"{what} as {form} under {compiler}:\n{run.stderr.strip()}"


def built_alone():
    """The headers that a source file of the build includes before anything else."""
    for path in c_files("engine", "server", suffixes=(".c",)):
        code = _COMMENT.sub("", path.read_text()).lstrip()
        found = re.match(r'#include "([^"]+)"', code)
        if found:
            places = (folder / found[1] for folder in (
                path.parent, SOURCE / "engine", SOURCE / "server", SOURCE / "include"))
            yield next((place.resolve() for place in places if place.is_file()), None)


def guarded(path):
    """Nothing but comments stands before #ifndef X, #define X and behind the #endif."""
    code = _COMMENT.sub("", path.read_text()).strip()
    return re.match(r"#ifndef (\w+)\n+#define \1\n", code) and code.endswith("#endif")


def citations(path):
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        for cited in CITED.findall(line):
            if not (SOURCE / cited).is_file():
                yield f"{name(path)}:{number}: there is no {cited}"
        for cited in HEADER.findall(re.sub(r"<[^>]*>|\S+://\S+", "", line)):
            if not (path.parent / cited).is_file() and not (SOURCE / "include" / cited).is_file():
                yield f"{name(path)}:{number}: there is no public header {cited}"
        if UNNAMED.search(line):
            yield f"{name(path)}:{number}: cites what nobody can find: {line.strip()}"


def too_many_parameters(path):
    text = re.sub(r"(?m)^\s*#.*$", "", code_only(path.read_text()))
    for match in re.finditer(r"\b(tb_\w+)\s*\(([^;{}]*?)\)\s*[;{]", text):
        parameters = re.sub(r"\([^()]*\)", "", match[2])  # a parameter that is a function counts once
        if parameters.count(",") >= MOST_PARAMETERS:
            yield f"{name(path)}: {match[1]} takes {parameters.count(',') + 1} parameters: give it a struct"


compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
headers = list(c_files("include", "engine", "server", suffixes=(".h",)))
public = [h for h in headers if "include" in h.relative_to(SOURCE).parts]
inner = [h for h in headers if h not in public]
if os.environ.get("TB_LONG") == "1":
    built = set()
    jobs = [(c, form, flags, [h]) for c in compilers for form, flags in PUBLIC.items() for h in public]
    jobs += [(c, "the house's C", HOUSE, [h]) for c in compilers for h in inner]
else:
    built = set(built_alone())
    jobs = [(c, form, flags, public[::-1]) for c in compilers for form, flags in PUBLIC.items()]
    jobs += [("gcc", "C11", PUBLIC["C11"], [h]) for h in public]
    jobs += [("gcc", "the house's C", HOUSE, [h]) for h in inner if h.resolve() not in built]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(compiled, jobs))
violations = [r for r in results if r]
violations += [f"{name(h)}: has no include guard around all of it" for h in inner if not guarded(h)]
violations += [line for path in public for line in (*citations(path), *too_many_parameters(path))]
everything = (SOURCE / "include/tollbook/tollbook.h").read_text()
violations += [f"tollbook.h does not include {h.name}" for h in public
               if h.name != "tollbook.h" and f'#include "tollbook/{h.name}"' not in everything]
if len(compilers) < 2:
    violations.append(f"both gcc and clang are needed, found {compilers}")
verdict(violations, f"{len(headers)} headers compile alone under {' and '.join(compilers)}")
