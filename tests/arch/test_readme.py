#!/usr/bin/env python3
"""README.md and the pages tour, invoicing, ledger, prepaid and meters of docs show what tollbook prints: every command of their console blocks is run
and its output compared; docs/what-if.svg is the chart of the page that README's question makes.

    tests/arch/test_readme.py           exit 1 where they differ
    tests/arch/test_readme.py --write   write docs/what-if.svg
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from house import BUILD, SOURCE, skip

sys.path.insert(0, str(SOURCE / "tests"))
from script import held_port  # noqa: E402

MARK = "--- end of step ---"
HISTORY = ("init", "apply catalog.json", "book book.json", "import history.ndjson")
ENVIRONMENT = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}",
               "TOLLBOOK_NOW": "2026-11-21T00:00:00Z"}


def steps_of(page):
    """[command, what it prints] of a page's console blocks; a command goes on behind "> "."""
    blocks = re.findall(r"^```console\n(.*?)^```", (SOURCE / page).read_text(), re.M | re.S)
    steps = []
    for line in "".join(blocks).splitlines(keepends=True):
        if line.startswith("$ "):
            steps.append([line[2:], ""])
        elif line.startswith("> ") and not steps[-1][1]:
            steps[-1][0] += line[2:]
        else:
            steps[-1][1] += line
    return steps


PORT = "127.0.0.1:8080"  # of the server that a page starts; another one here, which is free
STOP = "trap 'kill $(jobs -p) 2>/dev/null' EXIT\n"


def wait(command):
    """Until a server that was begun in the background listens, or is gone."""
    address = PORT.replace(":", "/")
    return f"until (: </dev/tcp/{address}) 2>/dev/null || ! kill -0 $!; do :; done\n" if command.endswith("&\n") else ""


def compare(page, folder):
    """Runs a page's commands in a folder; how many print something else."""
    steps, port = steps_of(page), f"127.0.0.1:{held_port()}"
    script = STOP + "".join(f"{command}{wait(command)}echo '{MARK}'\n" for command, _ in steps).replace(PORT, port).replace(
        PORT.replace(":", "/"), port.replace(":", "/"))
    shown = subprocess.run(["bash"], input=script, text=True, cwd=folder, check=False,
                           env=ENVIRONMENT, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT).stdout
    printed = shown.split(MARK + "\n")
    wrong = int(len(printed) != len(steps) + 1)
    for (command, expected), got in zip(steps, printed):
        got = got if got.endswith("\n") or not got else got + "\n"
        if got != expected:
            wrong += 1
            print(f"$ {command}{page} shows:\n{expected}printed is:\n{got}")
    print(f"{page}: {len(steps)} commands, {wrong} print something else than it shows")
    return wrong + (not steps)


def make_history(folder):
    """cdn.db: a year and a half of twelve accounts."""
    subprocess.run([sys.executable, SOURCE / "fixtures/history.py", folder], check=True)
    for words in HISTORY:
        command, *file = words.split()
        subprocess.run(["tollbook", command, "--db", "cdn.db", *file], cwd=folder, check=True,
                       env=ENVIRONMENT, capture_output=True)


def picture(folder):
    """The chart by month of README's question, with the page's own colours."""
    command = steps_of("README.md")[0][0].split("|")[0].replace("--format table", "--format html")
    page = subprocess.run(["bash", "-c", command], cwd=folder, check=True, env=ENVIRONMENT,
                          capture_output=True, text=True).stdout
    chart = re.search(r'<svg viewBox="([^"]*)".*?</svg>', page, re.S)
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    rules = [rule + "}" for rule in style.split("}")
             if re.match(r":root|svg [t.]|\.(before|after)\{", rule)]
    text = chart.group(0).replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    text = text.replace(">", f'><style>svg{{font-family:sans-serif}}{"".join(rules)}</style>'
                        '<rect width="100%" height="100%" fill="#fff"/>', 1)
    return re.sub(r"(<(?:line|rect|text|style))", r"\n\1", text) + "\n"


if not (BUILD / "tollbook").is_file():
    skip("no tollbook executable in the build directory")
failures = 0
for page in ("README.md", "docs/tour.md", "docs/invoicing.md", "docs/ledger.md", "docs/prepaid.md", "docs/meters.md"):
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(SOURCE / "fixtures", f"{folder}/fixtures")
        if page == "README.md":
            make_history(folder)
            Path(folder, "dearer-europe.json").write_text(
                re.search(r"^```json\n(.*?)^```", (SOURCE / page).read_text(), re.M | re.S).group(1))
            there, drawn = SOURCE / "docs/what-if.svg", picture(folder)
            if sys.argv[1:] == ["--write"]:
                there.write_text(drawn)
            elif not there.is_file() or there.read_text() != drawn:
                print("docs/what-if.svg: not what tollbook draws; tests/arch/test_readme.py --write")
                failures += 1
        failures += compare(page, folder)
sys.exit(1 if failures else 0)
