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


# What a hardened binary must have: what it is, the options of readelf that show it, the pattern.
MARKS = [("position-independent", "-h", r"Type: +DYN"), ("relocations read-only", "-l", r"\bGNU_RELRO\b"),
         ("all functions bound at the start", "-d", r"\(FLAGS(_1)?\).*\b(BIND_)?NOW\b"),
         ("stack protector", "--dyn-syms", r"\bUND __stack_chk_fail\b"), ("checked calls of libc", "--dyn-syms", r"\bUND __\w+_chk\b")]


def lacks(path):
    """What of Debian's hardening an executable or shared object does not show."""
    for what, option, pattern in MARKS:
        if not re.search(pattern, readelf(path, option)):
            yield what


def lacks_control_flow(archive):
    """The objects of a static library that are not built for indirect branch tracking and shadow stacks (x86 alone has them)."""
    for part in readelf(archive, "-h", "-n").split("\nFile: ")[1:]:
        if "X86-64" in part and not re.search(r"x86 feature: IBT, SHSTK", part):
            yield part.split("\n", 1)[0]
