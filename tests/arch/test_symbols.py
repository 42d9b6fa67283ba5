"""What the engine's machine code calls, read with nm. What its library exports: test_abi.py. A call that _FORTIFY_SOURCE has
checked (__NAME_chk, __NAME_2) is one of NAME.

The engine never prints, exits, reads the clock or the environment, starts threads or opens sockets;
only the store touches files.
"""
import re
import subprocess
from pathlib import Path
from house import BUILD, skip, verdict

FORBIDDEN = set("""
time clock clock_gettime gettimeofday timespec_get localtime localtime_r gmtime gmtime_r mktime
strftime getenv secure_getenv setenv putenv setlocale
printf vprintf fprintf vfprintf puts putchar putc fputs fputc fwrite perror syslog dprintf
stdout stderr stdin
exit _exit _Exit quick_exit rand srand random srandom system popen fork pthread_create
socket connect bind listen accept
strcpy strcat sprintf vsprintf
gets strtok strtok_r sscanf __isoc99_sscanf fscanf scanf atoi atol atof strtod strtol
strtoul strtoll strtoull strtof alloca setjmp longjmp
""".split())
FILES = set("""
open open64 openat creat fopen fopen64 read write pread pwrite close unlink rename flock fcntl
fcntl64 stat fstat lstat ftruncate fsync fdatasync mmap munmap remove
""".split())
# Known and argued for in the file itself.
ALLOWED = {"encode/double.c.o": {"strtod"}}


def undefined(paths):
    """(object file, symbol that it needs) of all of them."""
    out = subprocess.run(["nm", "-A", "--undefined-only", *map(str, paths)], check=True,
                         capture_output=True, text=True).stdout
    for line in out.splitlines():
        where, _, rest = line.partition(":")
        symbol = rest.split()[-1].split("@")[0]
        checked = re.fullmatch(r"__(\w+)_(?:chk|2)", symbol)
        yield Path(where), checked.group(1) if checked else symbol


objects_root = BUILD / "CMakeFiles" / "tb_engine.dir" / "engine"
if not objects_root.is_dir():
    skip(f"no engine objects in {BUILD}")

violations = []
objects = sorted(objects_root.rglob("*.o"))
for path, symbol in undefined(objects) if objects else ():
    where = path.relative_to(objects_root)
    banned = FORBIDDEN if where.parts[0] == "store" else FORBIDDEN | FILES
    if symbol in banned - ALLOWED.get(str(where), set()):
        violations.append(f"engine/{where}: calls {symbol}")

if not objects:
    violations.append("nothing to read: the build has no engine")
verdict(violations, f"{len(objects)} objects")
