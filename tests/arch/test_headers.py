"""Every header compiles alone, under gcc (public ones and with TB_LONG=1 all of them under clang too):
it includes what it needs and nothing leaks.

Public headers do so as strict C11 and as C++17, and cite no document that is not in the tree.
"""
import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from house import SOURCE, c_files, name, verdict

ROOTS = ["-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-I", str(SOURCE / "include")]
HOUSE = ["-x", "c", "-std=gnu11", "-D_GNU_SOURCE", "-Wno-unused-function",
         "-Wno-unused-const-variable", "-Wno-unused-variable",
         "-I", str(SOURCE / "engine"), "-I", str(SOURCE / "server")]
PUBLIC = {"C11": ["-x", "c", "-std=c11", "-pedantic"],
          "C++17": ["-x", "c++", "-std=c++17", "-pedantic"]}
# Where a rule comes from is for those who can open it: a file of this tree, a standard.
CITED = re.compile(r"\b([\w./-]+\.(?:md|yaml|py))\b")
UNNAMED = re.compile(r"\bcontract,? (?:section )?\d|(?<!_t )\bseed[,\"']|\bthe seed\b|\bthe issue\b"
                     r"|\b(?:architecture|reliability|issue),? (?:section )?[(\d]|\bsection \d",
                     re.I)


def alone(job):
    compiler, form, flags, path = job
    # Twice, so that a missing include guard shows too.
    text = f'#include "{path}"\n' * 2
    run = subprocess.run([compiler, *ROOTS, *flags, "-"], input=text, text=True,
                         capture_output=True)
    if run.returncode == 0:
        return None
    return f"{name(path)} as {form} under {compiler}:\n{run.stderr.strip()}"


def citations(path):
    text = path.read_text()
    for number, line in enumerate(text.splitlines(), 1):
        for cited in CITED.findall(line):
            if not (SOURCE / cited).is_file():
                yield f"{name(path)}:{number}: there is no {cited}"
        if UNNAMED.search(line):
            yield f"{name(path)}:{number}: cites what nobody can find: {line.strip()}"


compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
headers = list(c_files("include", "engine", "server", suffixes=(".h",)))
public = [h for h in headers if "include" in h.relative_to(SOURCE).parts]
inner = compilers if os.environ.get("TB_LONG") == "1" else compilers[:1]
jobs = [(c, "the house's C", HOUSE, h) for c in inner for h in headers if h not in public]
jobs += [(c, form, flags, h) for c in compilers for form, flags in PUBLIC.items() for h in public]
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(alone, jobs))
violations = [r for r in results if r]
violations += [line for path in public for line in citations(path)]
everything = (SOURCE / "include/tollbook/tollbook.h").read_text()
violations += [f"tollbook.h does not include {h.name}" for h in public
               if h.name != "tollbook.h" and f'#include "tollbook/{h.name}"' not in everything]
if len(compilers) < 2:
    violations.append(f"both gcc and clang are needed, found {compilers}")
verdict(violations, f"{len(headers)} headers compile alone under {' and '.join(compilers)}")
