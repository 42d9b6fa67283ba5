#!/usr/bin/env python3
"""tests/skips.py tells each skip that nobody expects, with its reason, and no other."""
import sys
import tempfile
from pathlib import Path

from house import SOURCE, verdict

sys.path.insert(0, str(SOURCE / "tests"))
from skips import unexpected  # noqa: E402

NPM = "npm could not install what tests/lint/package.json names"
CASES = [
    # name, what it printed, whether ctest says that it was skipped, what is told
    ("unit_x", "100%: Checks: 3", False, []),
    ("lint_openapi", f"skipped: {NPM}\n", True, []),
    ("lint_openapi", "skipped: the linter is not installed\n", True, ["the linter is not installed"]),
    ("lint_shellcheck", f"skipped: {NPM}\n", True, [NPM]),
    ("cli_nginx", "skipped: there is no nginx\n", True, ["there is no nginx"]),
    ("cli_nginx", "", True, ["it says no reason"]),
    ("asan.http_digest", "skipped: a sanitizer wants to be the first library\n..s.\nOK", False, []),
    ("http_digest", "a\nskipped: a sanitizer wants to be the first library\n", False,
     ["a sanitizer wants to be the first library"]),
    ("http_slow", "skipped: slowhttptest is not installed\nskipped: slowhttptest is not installed\n",
     False, ["slowhttptest is not installed"]),
    ("fault_writers", "  bind mounts: skipped: this machine lets nobody mount\n", False, []),
    ("arch_tree", "skipped: not a git checkout\n", True, []),
    ("unit_y", "3 rows were skipped by the caller", False, []),
]

violations = []
with tempfile.TemporaryDirectory() as folder:
    for name, printed, skipped, told in CASES:
        report = Path(folder) / "report.xml"
        report.write_text(f'<testsuite><testcase name="{name}">'
                          + ("<skipped message=\"SKIP_RETURN_CODE=77\"/>" if skipped else "")
                          + f"<system-out>{printed}</system-out></testcase></testsuite>")
        got = [reason for _, reason in unexpected(report)]
        if got != told:
            violations.append(f"{name}, {printed!r}: told {got}, not {told}")
verdict(violations, f"{len(CASES)} reports")
