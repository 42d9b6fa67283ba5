"""What the loader is told by an executable or a shared object, read by readelf."""
import re
import subprocess
from pathlib import Path


def binaries(root):
    """The executables and shared objects below a folder, each once."""
    for path in sorted(Path(root).rglob("*")):
        if path.suffix not in (".o", ".a") and path.is_file() and not path.is_symlink() and "CMakeFiles" not in path.parts:
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, capture_output=True, text=True).stdout


def library_path(path):
    """The folders that its libraries are looked for in before the system's; None: it names none."""
    found = re.search(r"\((?:RPATH|RUNPATH)\) +Library \w+: \[(.*)\]", readelf(path, "-d"))
    return found and found.group(1).split(":")
