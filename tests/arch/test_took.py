#!/usr/bin/env python3
"""tests/took.py adds up the tests that have a bound, and tells of what is over it without failing."""
import subprocess
import sys
import tempfile
from pathlib import Path

from house import SOURCE, verdict

CASES = [
    # seconds of tests, what is said
    ({"http_usage_kill": 30, "http_scaling": 60, "http_serve": 500}, ["2, 90 s together, 60 s by the clock with 3 at once, of 180 s."]),
    ({"http_usage_kill": 300, "http_usage_lines": 270, "asan.http_usage_lines": 900, "tsan.http_usage_kill": 9},
     ["2, 570 s together, 300 s by the clock with 3 at once, of 180 s: too long, unless the machine was busy. The longest are http_usage_kill"
      " (300 s), http_usage_lines (270 s).", "address sanitizer: 1, 900 s", "thread sanitizer: 1, 9 s"]),
    ({"http_serve": 500}, []),
]

violations = []
with tempfile.TemporaryDirectory() as folder:
    for times, told in CASES:
        report = Path(folder) / "report.xml"
        report.write_text("<testsuite>" + "".join(f'<testcase name="{name}" time="{seconds}"/>' for name, seconds in times.items())
                          + "</testsuite>")
        done = subprocess.run([sys.executable, SOURCE / "tests/took.py", report, "3"], capture_output=True, text=True, check=False)
        said = done.stdout.splitlines()
        if done.returncode or len(said) != len(told) or not all(part in line for part, line in zip(told, said)):
            violations.append(f"{times}: exit {done.returncode}, {said}, not {told}")
verdict(violations, f"{len(CASES)} reports")
