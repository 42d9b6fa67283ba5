"""The same inputs make the same bytes under any compiler: prop_bill, which holds the digest of 300
bills, is built from the engine's pure rooms by the other compiler without optimisation; TB_LONG=1
builds it by both compilers, without and with all of it."""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ.get("TB_SOURCE") or Path(__file__).resolve().parents[2])
ROOMS = ["base", "model", "stats", "encode", "billing"]
ALL = [("clang", "-O0"), ("clang", "-O3"), ("gcc", "-O0"), ("gcc", "-O3")]
WANTED = ALL if os.environ.get("TB_LONG") == "1" else ALL[:1]


def packages(*words):
    return subprocess.run(["pkg-config", *words, "check", "jansson", "libsodium", "libxxhash"],
                          check=True, capture_output=True, text=True).stdout.split()


def check(compiler, level, folder):
    if not shutil.which(compiler):
        print(f"skipped: {compiler} is not there")
        return
    files = [f for room in ROOMS for f in sorted((SOURCE / "engine" / room).glob("*.c"))]
    program = Path(folder) / f"{compiler}{level}"
    include = [f"-I{SOURCE / name}" for name in ("include", "engine", "tests")]
    subprocess.run([compiler, "-std=gnu11", "-D_GNU_SOURCE", "-DTB_PART=20", level, *include,
                    SOURCE / "tests" / "prop" / "prop_bill.c", *files, "-o", program,
                    *packages("--cflags", "--libs"), "-lm", "-lpthread"], check=True)
    done = subprocess.run([program], env={**os.environ, "CK_FORK": "no", "TZ": "Pacific/Chatham"},
                          capture_output=True, text=True)
    print(f"{compiler} {level}: {done.stdout.splitlines()[-1]}", flush=True)
    if done.returncode:
        sys.exit(done.stdout)


with tempfile.TemporaryDirectory(prefix="tollbook-compilers-") as name:
    for choice in WANTED:
        check(*choice, name)
