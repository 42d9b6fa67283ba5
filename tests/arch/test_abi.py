#!/usr/bin/env python3
"""The shared library exports what the public headers declare, and what abi.txt lists.

    tests/arch/test_abi.py            compare
    tests/arch/test_abi.py --append   write what is new into abi.txt

abi.txt is append only as long as the library is called libtollbook.so.1: programs are linked
against what a release exported, and hold its error numbers.
"""
import re
import subprocess
import sys
import tempfile
from house import BUILD, SOURCE, code_only, c_files, skip, verdict

LIST = SOURCE / "tests" / "arch" / "abi.txt"
HEADERS = SOURCE / "include" / "tollbook"


def declared():
    """Functions by the compiler's own list of prototypes, tables by the word extern."""
    with tempfile.NamedTemporaryFile("r", suffix=".txt") as out:
        subprocess.run(["gcc", "-std=c11", "-fsyntax-only", "-aux-info", out.name, "-x", "c",
                        "-I", str(SOURCE / "include"), str(HEADERS / "tollbook.h")], check=True)
        found = {match.group(1) for line in out if f"{HEADERS}/" in line
                 if (match := re.search(r"\*/ extern .*?\b(tb_\w+) \(", line))}
    for path in c_files("include", suffixes=(".h",)):
        found |= set(re.findall(r"^extern const [^;(]*?\b(tb_\w+)(?:\[[^;]*\])?;",
                                code_only(path.read_text()), re.M))
    return found


def exported():
    library = BUILD / "libtollbook.so.1"
    if not library.exists():
        skip(f"no {library.name} in {BUILD}")
    out = subprocess.run(["nm", "-D", "--defined-only", str(library)], check=True,
                         capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in out.splitlines() if line.strip()}


def errors():
    rows = re.findall(r"X\((\w+), (\d+), \d, \d{3},", (HEADERS / "error.h").read_text())
    return {f"TB_E_{name} {number}" for name, number in rows}


def rows():
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def main():
    shown, promised, listed = exported(), declared(), rows()
    now = shown | errors()
    violations = [f"libtollbook.so.1 exports {symbol}, which no public header declares"
                  for symbol in sorted(shown - promised)]
    violations += [f"{symbol} is declared and not exported" for symbol in sorted(promised - shown)]
    violations += [f"abi.txt lists {row}, which is gone: programs that use it break; the library "
                   "needs it back, or another SOVERSION" for row in listed if row not in now]
    new = sorted(now - set(listed))
    if "--append" in sys.argv[1:]:
        with LIST.open("a") as out:
            out.writelines(f"{row}\n" for row in new)
        new = []
    violations += [f"{row} is new: tests/arch/test_abi.py --append" for row in new]
    if len(set(listed)) != len(listed):
        violations.append("abi.txt has a row twice")
    verdict(violations, f"{len(shown)} symbols, {len(errors())} error numbers")


if __name__ == "__main__":
    main()
