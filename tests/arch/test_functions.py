"""Functions stay small: none over 100 lines, the median of a folder's among 3 to 18."""
import re
import statistics
from house import c_files, code_only, name, verdict

LONGEST = 100
MEDIAN = 18
NAME = re.compile(r"(\w+)\s*\(")


def functions(path):
    """(name, first line, lines) of each definition; the layout puts its braces in column one."""
    begin = None
    lines = code_only(path.read_text()).splitlines()
    for number, line in enumerate(lines, 1):
        if line.rstrip() == "{":
            begin = number
        elif line.rstrip() == "}" and begin:
            head = begin - 1
            while head > 1 and lines[head - 1].startswith((" ", "\t")):
                head -= 1
            match = NAME.search(lines[head - 1])
            yield (match.group(1) if match else "?"), begin, number - begin - 1
            begin = None


violations = []
for folder in ("engine", "server"):
    sizes = []
    for path in c_files(folder, suffixes=(".c",)):
        for function, line, size in functions(path):
            sizes.append((size, function, f"{name(path)}:{line}"))
    if not sizes:
        violations.append(f"{folder}: no function found")
        continue
    counts = sorted(size for size, _, _ in sizes)
    median = statistics.median(counts)
    print(f"{folder}: {len(counts)} functions, median {median:g} lines, "
          f"nine in ten under {counts[int(len(counts) * 0.9)] + 1}, longest {counts[-1]}")
    for size, function, where in sorted(sizes, reverse=True)[:5]:
        print(f"    {size:4} {function} {where}")
    violations += [f"{where}: {function} has {size} lines, {LONGEST} is the limit"
                   for size, function, where in sizes if size > LONGEST]
    if median > MEDIAN:
        violations.append(f"{folder}: median of {median:g} lines, {MEDIAN} is the limit")
verdict(violations, "functions are small")
