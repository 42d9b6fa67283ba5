"""The documents name what the code has: every subcommand, every error, every metric, every label."""
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


operations = text("docs/operations.md")
architecture = text("docs/architecture.md")
readme = text("README.md")
everything = readme + "".join(path.read_text() for path in (SOURCE / "docs").glob("*.md"))

errors = [row for row in table("include/tollbook/error.h", "TB_ERRORS") if row[0] != "OK"]
meanings = dict(re.findall(r"^\| `([\w.]+)` \|(.*)$", operations, re.M))
for code, quoted in errors:
    if quoted and quoted[0] not in meanings:
        violations.append(f"docs/operations.md: error `{quoted[0]}` ({code}) has no row")
keys = {quoted[0] for _, quoted in errors if quoted}
for key in meanings:
    if key not in keys:
        violations.append(f"docs/operations.md: `{key}` is no error of include/tollbook/error.h")

rows = text("server/cli/commands.c").split("cli_commands[] = {", 1)[-1].split("\n};", 1)[0]
offered = re.findall(r'^    \{\.name = "([a-z -]+)"', rows, re.M)
if not offered:
    violations.append("server/cli/commands.c: no subcommand found")
for command in offered:
    if not re.search(rf"tollbook {command}\b", everything):
        violations.append(f"no document shows `tollbook {command}`")

for metric, quoted in table("include/tollbook/metrics.h", "TB_METRICS"):
    if quoted and f"`{quoted[0]}`" not in architecture:
        violations.append(f"docs/architecture.md: metric `{quoted[0]}` is not named")



def anchors(path):
    """The anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(), re.M)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


pages = ["README.md", *(f"docs/{path.name}" for path in sorted((SOURCE / "docs").glob("*.md")))]
for file in pages:
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text(file)):
        target = (SOURCE / file).parent / link if link else SOURCE / file
        if not target.exists() or (anchor and anchor not in anchors(target)):
            violations.append(f"{file}: link to {link}#{anchor} leads nowhere")
    if file.startswith("docs/") and file[5:] not in readme:
        violations.append(f"README.md: does not name {file}")
for command in ("server/quickstart", "tests/run"):
    if command not in readme:
        violations.append(f"README.md: does not name {command}")

verdict(violations, f"{len(errors)} errors, {len(offered)} subcommands, documents agree")
