"""Every header compiles alone, under gcc and clang: it includes what it needs and nothing leaks."""
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from house import SOURCE, c_files, name, verdict

FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-unused-const-variable", "-Wno-unused-variable", "-fsyntax-only",
         "-I", str(SOURCE / "include"), "-I", str(SOURCE / "engine"), "-I", str(SOURCE / "server"),
         "-x", "c", "-"]


def alone(job):
    compiler, path = job
    # Twice, so that a missing include guard shows too.
    text = f'#include "{path}"\n' * 2
    run = subprocess.run([compiler, *FLAGS], input=text, text=True, capture_output=True)
    return None if run.returncode == 0 else f"{name(path)} under {compiler}:\n{run.stderr.strip()}"


compilers = [c for c in ("gcc", "clang") if shutil.which(c)]
headers = list(c_files("include", "engine", "server", suffixes=(".h",)))
with ThreadPoolExecutor(2) as pool:
    results = list(pool.map(alone, [(c, h) for c in compilers for h in headers]))
violations = [r for r in results if r]
if len(compilers) < 2:
    violations.append(f"both gcc and clang are needed, found {compilers}")
verdict(violations, f"{len(headers)} headers compile alone under {' and '.join(compilers)}")
