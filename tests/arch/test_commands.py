#!/usr/bin/env python3
"""Every call of tollbook that a page shows is one that it takes: its subcommand exists and has these options.

test_readme.py and tests of single pages also run the calls of many pages; this one reads all of them, in code blocks and in
the text, as an option that is renamed would stay on a page that nobody runs.
"""
import re
import subprocess
from house import BUILD, SOURCE, skip, verdict

TOOL = BUILD / "tollbook"
PAGES = [SOURCE / "README.md", *sorted((SOURCE / "docs").rglob("*.md"))]
PAST = {"docs/CHANGELOG.md"}  # names calls as they were
CALL = re.compile(r"(?<![\w./-])tollbook +(?:tollbook +)?(?:help +)?((?:[a-z][a-z-]+)(?: +[a-z][a-z-]+)?)(.*)")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")


def code(text):
    """The pieces of code of a page, each a line: of blocks, with lines that go on joined, and of the text."""
    text = re.sub(r"\\\n\s*|\n> ", " ", text)
    for kind, block in re.findall(r"^ *```([^\n]*)\n(.*?)^ *```", text, re.M | re.S):
        yield from (line for line in block.splitlines() if kind != "console" or line.startswith("$ "))
    for span in re.findall(r"`([^`]+)`", re.sub(r"^ *```.*?^ *```", "", text, flags=re.M | re.S)):
        yield " ".join(span.split())


def help_of(words):
    done = subprocess.run([TOOL, "help", *words.split()], capture_output=True, text=True, check=False)
    return set(OPTION.findall(done.stdout)) if done.returncode == 0 else None


if not TOOL.exists():
    skip("no tollbook executable in the build directory")
known, violations, calls = {}, [], 0
for page in PAGES:
    name = str(page.relative_to(SOURCE))
    if name in PAST:
        continue
    for line in code(page.read_text()):
        for call in re.split(r"(?:&&|\|\||[|;#])(?= |$)", line):
            found = CALL.search(call)
            if not found or found[1].split()[0] in ("help", "answers"):  # "tollbook answers at http://..." is printed
                continue
            words, rest = found[1], found[2]
            for words in (words, words.split()[0]):
                if words not in known:
                    known[words] = help_of(words)
                if known[words] is not None:
                    break
            calls += 1
            if known[words] is None:
                violations.append(f"{name}: there is no subcommand `tollbook {found[1]}`")
                continue
            for option in OPTION.findall(re.sub(r"'[^']*'|\"[^\"]*\"", "", rest)):
                if option not in known[words] and option not in ("help", "version"):
                    violations.append(f"{name}: `tollbook {words}` has no option --{option}")
verdict(sorted(set(violations)), f"{calls} calls on {len(PAGES)} pages")
