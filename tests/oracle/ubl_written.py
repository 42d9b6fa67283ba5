"""Documents through the engine's writer: what was written, and what was refused."""
import os
import subprocess
import tempfile
from pathlib import Path

import ubl_documents as made

BUILD = Path(os.environ.get("TB_BUILD") or Path(__file__).resolve().parents[2] / "build" / "release")
RUNNER = BUILD / "tests" / "oracle" / "ubl_runner"
PROFILES = ("peppol", "xrechnung")


def write(documents, folder, times=1, known=()):
    """documents: [(form, name, dict)]. The files are folder/name.xml, or .csv of FOCUS. known: further
    lines for the runner. Returns the refusals: {name: (field, message)}."""
    lines = [f"zone\t{zone}\t{name}" for zone, name in sorted(made.ZONES.items())] + list(known)
    lines += [f"{profile}\t{name}\t{made.canonical(document)}" for profile, name, document in documents]
    done = subprocess.run([RUNNER, str(folder), str(times)], input="".join(f"{x}\n" for x in lines).encode(),
                          capture_output=True, check=True, env={**os.environ, "LC_ALL": "C"})
    rows = [line.split("\t", 2) for line in done.stdout.decode().splitlines()]
    assert len(rows) == len(documents), done.stdout
    return {name: (field, message) for name, field, message in rows if field != "written"}


def matrix(kinds, only=None):
    """One of every kind for each profile: [(profile, "kind.profile", document)]."""
    return [(profile, f"{kind}.{profile}", make().made()) for profile in PROFILES
            for kind, make in {**kinds, **(only or {}).get(profile, {})}.items()]


def folder():
    return tempfile.TemporaryDirectory(prefix="tollbook-ubl-")
