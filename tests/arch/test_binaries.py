"""What the loader is told by each program of the build: its libraries' folders are absolute (an empty one is the folder that
the program is started in, where anybody may have put a library)."""
import sys

from house import BUILD, SOURCE, skip, verdict

sys.path.insert(0, str(SOURCE / "tests"))
import elf  # noqa: E402

built = list(elf.binaries(BUILD))
if not built:
    skip(f"no programs in {BUILD}")

violations = []
for path in built:
    for folder in elf.library_path(path) or ():
        if not folder.startswith("/"):
            violations.append(f'{path.relative_to(BUILD)}: looks for libraries in "{folder}"')
verdict(violations, f"{len(built)} programs")
