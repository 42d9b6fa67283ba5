#!/usr/bin/env python3
"""How long the tests took that are to take so long and no longer.

    tests/took.py JUNIT JOBS    the report that ctest --output-junit wrote, and how many tests ran at once

A group has a bound by the clock, as if it ran alone. A busy machine takes longer and nothing is wrong with it, so what is over its
bound is told and fails nobody: who sees it on a quiet machine looks which test has grown (tests/costs.txt has what they took).
"""
import re
import sys
import xml.etree.ElementTree

# What it is; its tests; seconds by the clock, or None for what is only to be seen.
GROUPS = [("Tests of usage servers", r"http_(usage_\w+|scaling)", 180),
          ("The same with the address sanitizer", r"asan\.http_(usage_\w+|scaling)", None),
          ("The same with the thread sanitizer", r"tsan\.http_(usage_\w+|scaling)", None)]


def took(report, jobs):
    """A line for each group of which tests ran."""
    times = {case.get("name"): float(case.get("time")) for case in xml.etree.ElementTree.parse(report).iter("testcase")}
    for what, names, bound in GROUPS:
        those = {name: seconds for name, seconds in times.items() if re.fullmatch(names, name)}
        if not those:
            continue
        # No better than evenly spread, and than its longest test.
        clock = max(sum(those.values()) / jobs, max(those.values()))
        line = f"{what}: {len(those)}, {sum(those.values()):.0f} s together, {clock:.0f} s by the clock with {jobs} at once"
        if bound:
            line += f", of {bound} s"
        if bound and clock > bound:
            longest = sorted(those, key=those.get, reverse=True)[:3]
            line += ": too long, unless the machine was busy. The longest are " + ", ".join(f"{name} ({those[name]:.0f} s)" for name in longest)
        yield line + "."


if __name__ == "__main__":
    for said in took(sys.argv[1], int(sys.argv[2])):
        print(said)
