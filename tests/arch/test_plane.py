"""The usage plane (engine/store/core/plane.h) is behind its tables: what reads or writes its rows in the file
lies in the rooms that are its first backend. What of verify checks the file's insides is named here; so are the
few that look at the file as a file."""
import re
from house import SOURCE, c_files, code_only, name, verdict

PLANE = r"\b(chunk|country_day|usage_run|usage_page|log_block|log_run|log_span|event_block)\b"
STATEMENTS = sorted((SOURCE / "engine/store").glob("*/sql.h"))  # each module has its own

# The file as a backend, and the calls that lead to it.
INSIDE = ["engine/store/lsm/", "engine/store/usage/", "engine/store/logs/", "engine/store/clickhouse/"]
# What checks a backend, and what looks at the file itself: schema, R*Trees and their nodes, sizes, the
# columns that a forgotten address may stand in.
KNOWS = {
    **{f"engine/store/verify/{part}": "checks the file as a backend" for part in
       ("usage.c", "runs.c", "countries.c", "logs.c", "events.c", "trees.c", "verify.c", "verify.h", "rows.c")},
    "engine/store/core/schema.c": "makes the tables",
    "engine/store/core/trees.c": "the nodes of the R*Trees",
    "engine/store/core/trees.h": "the nodes of the R*Trees",
    "engine/store/statements.h": "puts all modules' statements together",
    "engine/store/core/size.c": "what holds the file's space",
}
# Headers of the file's insides that others may see, and who they are.
SHOWN = {
    "store/usage/chunk.h": ["engine/store/money/late.c"],  # packs late days as chunks are packed
    "store/clickhouse/clickhouse.h": ["engine/store/core/open.c", "engine/store/core/transaction.c"],  # chooses the backend
    "store/usage/retain.h": ["engine/store/money/"],       # how much of an account's usage is kept
    "store/logs/event_ids.h": ["engine/store/verify/event_ids.c"],
    "store/logs/segment.h": ["engine/store/core/upgrade.c", "engine/store/verify/anchor.c"],  # inputs: the control plane's
}


def within(where, folders):
    return any(where.startswith(folder) for folder in folders)


def plane_statements():
    """Statements that touch the plane's tables, with the macros that they are made of."""
    text = re.sub(r"/\*.*?\*/", "", "\n".join(p.read_text() for p in STATEMENTS), flags=re.S).replace("\\\n", "\n")
    macros = dict(re.findall(r"#define (TB__\w+)(?:\([^)]*\))?\s+((?:.|\n)*?)(?=\n\s*\n|\n#|\Z)", text))
    touching = {m for m, body in macros.items() if re.search(PLANE, body) and "X(" not in body}
    found = set()
    for entry in re.split(r"\n\s*X\(", text)[1:]:
        entry = entry.split("\n\n")[0]
        if re.search(PLANE, entry) or any(re.search(rf"\b{m}\b", entry) for m in touching):
            found.add("TB__SQL_" + re.match(r"\w+", entry).group(0))
    return found


STATED = plane_statements()
assert {"TB__SQL_CHUNK_GET", "TB__SQL_BILLED_ACCOUNTS", "TB__SQL_LOG_OLD", "TB__SQL_EVENTS_UP"} <= STATED
found = []
for path in c_files("include", "engine", "server"):
    where = name(path)
    if within(where, INSIDE) or within(where, KNOWS):
        continue
    whole = path.read_text()
    for number, line in enumerate(code_only(whole).splitlines(), 1):
        for statement in re.findall(r"\bTB__SQL_\w+", line):
            if statement in STATED:
                found.append(f"{where}:{number}: {statement} goes around store/core/plane.h")
    for header in re.findall(r'#include "(store/(?:usage|logs|clickhouse)/[^"]+)"', whole):
        if not within(where, SHOWN.get(header, [])):
            found.append(f"{where}: {header} goes around store/core/plane.h")
    for text in re.findall(r'"(?:\\.|[^"\\\n])*"', whole):
        if re.search(r"\b(FROM|INTO|UPDATE|JOIN) +" + PLANE, text):
            found.append(f"{where}: the statement {text} goes around store/core/plane.h")
verdict(found, f"{len(STATED)} statements of the usage plane, used by its backend alone")
