"""Statics have their subject in the name: at most ten names stand in more than five files."""
import re
from collections import defaultdict
from house import c_files, code_only, name, verdict

FILES, NAMES = 5, 10
HEAD = re.compile(r"^static\s+[^;={}()]*?\b(\w+)\s*\(", re.M)

where = defaultdict(set)
for path in c_files("engine", "server"):
    for function in HEAD.findall(code_only(path.read_text())):
        where[function].add(name(path))
shared = sorted((-len(files), function) for function, files in where.items() if len(files) > FILES)
for files, function in shared:
    print(f"{-files:4} files have a static {function}()")
violations = []
if len(shared) > NAMES:
    violations.append(f"{len(shared)} names of statics stand in more than {FILES} files, {NAMES} are the "
                      "limit: give some their subject")
verdict(violations, "statics have their subject in the name")
