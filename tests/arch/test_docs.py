"""The documents name what the code has: every subcommand, every error with its statuses, every metric, every label."""
import re
from house import SOURCE, verdict

violations = []


def text(file):
    path = SOURCE / file
    if not path.is_file():
        violations.append(f"{file}: missing")
        return ""
    return path.read_text()


def table(file, macro):
    """First column of an X-macro's rows, and the row's quoted texts."""
    body = re.search(rf"#define {macro}\(X\)(.*?)\n\n", text(file), re.S)
    rows = re.findall(r'X\((\w+),(.*?)\)\s*\\?\n', body.group(1) + "\n", re.S) if body else []
    if not rows:
        violations.append(f"{file}: no table {macro}")
    return [(first, re.findall(r'"([^"]*)"', rest)) for first, rest in rows]


ERRORS, OPERATE = "docs/operate/errors.md", "docs/operate/README.md"
intake = text("docs/design/intake.md")
readme = text("README.md")
everything = readme + "".join(path.read_text() for path in (SOURCE / "docs").rglob("*.md"))

errors = {key: (exit_status, http) for exit_status, http, key in re.findall(
    r'^    X\(\w+, \d+, (\d), (\d{3}), "([\w.]+)"', text("include/tollbook/error.h"), re.M)}
meanings = {key: (exit_status, http) for key, exit_status, http in
            re.findall(r"^\| `([\w.]+)` \| (\d) \| (\d{3}) \|", text(ERRORS), re.M)}
if not errors:
    violations.append("include/tollbook/error.h: no error found")
for key, statuses in errors.items():
    if meanings.get(key) != statuses:
        violations.append(f"{ERRORS}: error `{key}` has no row with exit status {statuses[0]} and HTTP status {statuses[1]}")
violations += [f"{ERRORS}: `{key}` is no error of include/tollbook/error.h" for key in meanings if key not in errors]

rows = text("server/cli/commands.c").split("cli_commands[] = {", 1)[-1].split("\n};", 1)[0]
offered = re.findall(r'^    \{\.name = "([a-z -]+)"', rows, re.M)
if not offered:
    violations.append("server/cli/commands.c: no subcommand found")
for command in offered:
    if not re.search(rf"tollbook {command}\b", everything):
        violations.append(f"no document shows `tollbook {command}`")

for metric, quoted in table("include/tollbook/metrics.h", "TB_METRICS"):
    if quoted and f"`{quoted[0]}`" not in intake:
        violations.append(f"docs/design/intake.md: metric `{quoted[0]}` is not named")



def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


pages = ["README.md", *(str(path.relative_to(SOURCE)) for path in sorted((SOURCE / "docs").rglob("*.md")))]
for file in pages:
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text(file)):
        target = (SOURCE / file).parent / link if link else SOURCE / file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            violations.append(f"{file}: link to {link}#{anchor} leads nowhere")
    if file.count("/") == 1 and file not in readme:
        violations.append(f"README.md: does not name {file}")
    if file.startswith("docs/operate/") and file != OPERATE and f"({file[13:]})" not in text(OPERATE):
        violations.append(f"{OPERATE}: does not name {file}")
for command in ("server/quickstart", "tests/run"):
    if command not in readme:
        violations.append(f"README.md: does not name {command}")

# What is longer is read by nobody. References that are tables may be.
TABLES = {"docs/CHANGELOG.md", "docs/catalogue.md", "docs/price-book.md", "docs/pull-zone.md", "docs/seed-coverage.md"}
MOST = {"docs/design/": 8192, "docs/decisions/0": 1536, "docs/architecture.md": 8192, "docs/": 16384}
for file in pages:
    most = next((most for start, most in MOST.items() if file.startswith(start)), None)
    size = len(text(file).encode())
    if most and size > most and file not in TABLES:
        violations.append(f"{file}: {size} bytes, at most {most}")

architecture, index = text("docs/architecture.md"), text("docs/decisions/README.md")
records = [file for file in pages if file.startswith("docs/decisions/0")]
if len(records) > 25:
    violations.append(f"docs/decisions: {len(records)} records, at most 25")
for file in records:
    name = file.rsplit("/", 1)[1]
    head = re.match(rf"# ({int(name[:4])}\. .*)\n\nStatus: ((?:accepted|replaced by \d{{4}}) \(\d{{4}}-\d\d-\d\d[^)]*\))\n", text(file))
    if not head:
        violations.append(f"{file}: does not begin with its number, title and status")
    elif f"| [{head.group(1)}]({name}) |" not in index:
        violations.append(f"docs/decisions/README.md: does not name {file} by its title")
for file in pages:
    if file.startswith("docs/design/") and file[5:] not in architecture:
        violations.append(f"docs/architecture.md: does not name {file}")

verdict(violations, f"{len(errors)} errors, {len(offered)} subcommands, documents agree")
