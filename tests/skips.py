#!/usr/bin/env python3
"""Which tests of a run were skipped, wholly or in part, though nobody expects it.

    tests/skips.py JUNIT    the report that ctest --output-junit wrote

A test says "skipped: REASON" on a line of its own. tests/expected-skips.txt lists what may be
skipped. Exit status 1: something else was.
"""
import argparse
import re
import sys
import xml.etree.ElementTree
from fnmatch import fnmatchcase
from pathlib import Path

EXPECTED = Path(__file__).resolve().parent / "expected-skips.txt"
TOLD = re.compile(r"^.*?skipped: *(.*?) *$", re.M)


def expected():
    rows = [row.split(None, 1) for row in EXPECTED.read_text().splitlines()]
    return [tuple(row) for row in rows if row and row[0] != "#"]


def skips(report):
    """(name, reason) of each skip that a test told, or that ctest noticed."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        reasons = TOLD.findall(case.findtext("system-out") or "")
        if case.find("skipped") is not None and not reasons:
            reasons = ["it says no reason"]
        for reason in dict.fromkeys(reasons):
            yield case.get("name"), reason


def unexpected(report):
    rows = expected()
    return [(name, reason) for name, reason in skips(report)
            if not any(fnmatchcase(name, row[0]) and reason.startswith(row[1]) for row in rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", metavar="JUNIT")
    found = unexpected(parser.parse_args().report)
    for name, reason in found:
        print(f"tests/run: {name} was skipped, which tests/expected-skips.txt does not expect: "
              f"{reason}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
