"""What is committed: the given top level, no machine paths, registry hosts or secrets, no unfinished
business, none of the banned functions.
"""
import re
from house import SOURCE, code_only, tracked_files, verdict

TOP = {"CMakeLists.txt", "CMakePresets.json", "README.md", "LICENSE", "docs", "engine", "fixtures",
       "include", "server", "tests", ".ci", ".clang-format", ".gitignore"}

# Written in halves, so that this file does not find itself.
MACHINE = re.compile("|".join([
    "/wo" r"rk/", "/ro" r"ot/", "/tmp/ba" "sh", "/ho" r"me/[a-z]", "/fa" "rm/",
    r"deb\.deb" r"ian\.org", r"registry\.np" r"mjs", r"snapshot\.deb" "ian", r"pypi\.o" "rg",
]))
SECRET = re.compile("|".join([
    "-----BEGIN [A-Z ]*PRIVATE" " KEY", r"AKIA[0-9A-Z]{16}", r"gh[pousr]_[A-Za-z0-9]{36}",
    r"(?<![0-9a-f])[0-9a-f]{48}(?![0-9a-f])",  # the shape of a tollbook key
]))
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK|not (yet )?imple" r"mented)\b")
BANNED = re.compile(r"(?<![\w.>])(strcpy|strcat|strncpy|strncat|sprintf|vsprintf|strtok|strtok_r|gets"
                    r"|atoi|atol|atoll|atof|sscanf|fscanf|scanf|alloca|rand|gmtime|localtime|ctime"
                    r"|asctime|system|popen|sodium_base642bin)\s*\(")
WRAPPED = {"engine/base/base64.c": "sodium_base642bin"}  # which takes bytes from 128 on for a digit
TEXT = {".c", ".h", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".yaml", ".yml", ".html", ".js",
        ".conf", ".service", ".dict", ""}
# Messages are written in one place, server/http/message.c; what is drawn on a terminal is not a message.
STDERR = re.compile(r"\bstderr\b|\bSTDERR_FILENO,|\bperror\s*\(|\bpsignal\s*\(")
DRAWS = {"server/http/message.c", "server/cli/meter.c", "server/cli/client.c", "server/cli/operation.c"}
# Known answers of a hash or of a key's form are not secrets.
SECRET_FREE = {"tests/unit/test_key.c"}


def check(file):
    path = SOURCE / file
    if path.suffix not in TEXT or "/corpus/" in file:
        return
    try:
        text = path.read_text()
    except UnicodeDecodeError:
        yield f"{file}: not UTF-8 text"
        return
    code = code_only(text) if path.suffix in (".c", ".h") else None
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE.search(line):
            yield f"{file}:{number}: a path or host of one machine: {line.strip()[:80]}"
        if SECRET.search(line) and file not in SECRET_FREE:
            yield f"{file}:{number}: looks like a secret"
        if UNFINISHED.search(line):
            yield f"{file}:{number}: unfinished business: {line.strip()[:80]}"
    if code is not None and file.startswith(("engine/", "server/", "include/")):
        for number, line in enumerate(code.splitlines(), 1):
            match = BANNED.search(line)
            if match and WRAPPED.get(file) != match.group(1):
                yield f"{file}:{number}: {match.group(1)} is banned (docs/architecture.md)"
            if file not in DRAWS and STDERR.search(line):
                yield f"{file}:{number}: writes to standard error by itself: use message_say or cli_say"


files = tracked_files()
violations = [f"{top}: not in the top level's list" for top in
              sorted({f.split("/")[0] for f in files} - TOP)]
violations += [f"{f}: {(SOURCE / f).stat().st_size} bytes is large for a source tree" for f in files
               if (SOURCE / f).stat().st_size > 1 << 20]
for file in files:
    violations += check(file)
verdict(violations, f"{len(files)} tracked files")
