"""Every document of a file with a log of documents, checked as its customer would."""
import os
import subprocess
from pathlib import Path

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "dev")
RUNNER = BUILD / "tests" / "oracle" / "check_runner"


def check_documents(database, whole=True):
    """How many there are. whole: none was made before the log began, so each can be checked."""
    done = subprocess.run([RUNNER, database], text=True, capture_output=True, check=False)
    assert done.returncode == 0 and done.stdout.endswith(" 0 not kept\n" if whole else " not kept\n"), done.stdout[-3000:] + done.stderr
    return int(done.stdout.splitlines()[-1].split()[0])
