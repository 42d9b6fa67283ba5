"""The tour in README.md: every command of its console blocks is run, and what it prints is what the
page shows.
"""
import os
import re
import subprocess
import sys
import tempfile
from house import BUILD, SOURCE, skip

if not (BUILD / "tollbook").is_file():
    skip("no tollbook executable in the build directory")
blocks = re.findall(r"^```console\n(.*?)^```", (SOURCE / "README.md").read_text(), re.M | re.S)
steps = []  # [command, what it prints]
for line in "".join(blocks).splitlines(keepends=True):
    if line.startswith("$ "):
        steps.append([line[2:], ""])
    else:
        steps[-1][1] += line
if not steps:
    sys.exit("README.md has no tour")

MARK = "--- end of step ---"
with tempfile.TemporaryDirectory() as folder:
    os.symlink(SOURCE / "fixtures", f"{folder}/fixtures")
    script = "".join(f"{command}echo '{MARK}'\n" for command, _ in steps)
    shown = subprocess.run(["bash"], input=script, text=True, cwd=folder, check=False,
                           env={**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}"},
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout
printed = shown.split(MARK + "\n")
wrong = 0
for (command, expected), got in zip(steps, printed):
    got = got if got.endswith("\n") or not got else got + "\n"
    if got != expected:
        wrong += 1
        print(f"$ {command}README.md shows:\n{expected}printed is:\n{got}")
print(f"{len(steps)} commands, {wrong} print something else than README.md shows")
sys.exit(1 if wrong or len(printed) != len(steps) + 1 else 0)
