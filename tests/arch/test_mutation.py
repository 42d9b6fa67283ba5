#!/usr/bin/env python3
"""tests/mutation/run knows the tests of every folder that has C files, and each test that it names is there."""
import os
import subprocess
import sys
from house import SOURCE, verdict

done = subprocess.run([sys.executable, SOURCE / "tests/mutation/run", "--check"], capture_output=True, text=True,
                      check=False, env={**os.environ, "TB_BUILD": os.environ.get("TB_BUILD", SOURCE / "build/dev")})
verdict(done.stderr.splitlines() or ["--check failed"] * bool(done.returncode), "the table of nearest tests")
