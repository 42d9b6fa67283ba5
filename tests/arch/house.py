"""What the architecture tests share: where things are, how C text is read, how a verdict is given.

Each test collects every violation before it speaks, so that one run shows the whole list.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
BUILD = Path(os.environ.get("TB_BUILD") or SOURCE / "build" / "dev")

_COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_only(text):
    """C text with comments and the insides of literals blanked, line numbers kept."""
    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token[0] + " " * (len(token) - 2) + token[0]
        return re.sub(r"[^\n]", " ", token)
    return _COMMENT_OR_TEXT.sub(blank, text)


def c_files(*folders, suffixes=(".c", ".h")):
    for folder in folders:
        for path in sorted((SOURCE / folder).rglob("*")):
            if path.suffix in suffixes and path.is_file():
                yield path


def name(path):
    return str(Path(path).relative_to(SOURCE))


def skip(reason):
    print("skipped:", reason)
    sys.exit(77)


def tracked_files():
    """The files git knows here. Skips where there is no checkout (an unpacked archive)."""
    command = ["git", "-c", "safe.directory=*", "-C", str(SOURCE), "ls-files", "-z"]
    try:
        out = subprocess.run(command, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        skip("not a git checkout")
    return [f for f in out.decode().split("\0") if f and (SOURCE / f).is_file()]


def verdict(violations, summary):
    for line in violations:
        print(line)
    print(summary if not violations else f"{len(violations)} violations")
    sys.exit(1 if violations else 0)
