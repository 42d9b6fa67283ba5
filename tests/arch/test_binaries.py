"""What the build's programs show of how they were built: the folders of their libraries are absolute (an empty one is the folder
that a program is started in, where anybody may have put a library), and the product has Debian's hardening (README of
dpkg-buildflags, hardening=+all), which readelf and the compiler's calls show."""
import json
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

# A build for coverage is not optimised, nor hardened.
hardened = "TB_COVERAGE:BOOL=ON" not in (BUILD / "CMakeCache.txt").read_text()
product = [path for path in built if path.parent == BUILD and path.name.startswith(("tollbook", "libtollbook"))]
if not any(path.name == "tollbook" for path in product):
    violations.append("no tollbook is built")
for path in product if hardened else ():
    violations += [f"{path.name}: {what}: not so" for what in elf.lacks(path)]
for path in (BUILD / "libtollbook.a", BUILD / "libtb_server.a") if hardened else ():
    violations += [f"{path.name}: {part}: not built for control-flow protection" for part in elf.lacks_control_flow(path)]
# Of this one nothing is seen in what was built.
for call in json.loads((BUILD / "compile_commands.json").read_text()) if hardened else ():
    if "tb_engine.dir" in call["command"] and "-fstack-clash-protection" not in call["command"]:
        violations.append(f"{call['file']}: compiled without -fstack-clash-protection")
verdict(violations, f"{len(built)} programs, {len(product)} of them the product's")
