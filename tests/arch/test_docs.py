"""The documents name what the code has: every subcommand, every error with its statuses, every metric. Links lead somewhere,
README.md leads to every page, and a guide has at most 16 KiB."""
import re
from house import SOURCE, name, verdict

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


ERRORS = "docs/operate/errors.md"
GUIDE_MAX = 16 << 10
LONGER = {"CHANGELOG.md", "catalogue.md", "pull-zone.md", "seed-coverage.md",  # references that are tables
          "architecture.md", "decisions.md"}  # until docs/design/ and docs/decisions/ take their place
architecture = text("docs/architecture.md")
readme = text("README.md")
pages = ["README.md", *sorted(name(path) for path in (SOURCE / "docs").rglob("*.md"))]
everything = "".join(text(file) for file in pages)

body = re.search(r"#define TB_ERRORS\(X\)(.*?)\n\n", text("include/tollbook/error.h"), re.S).group(1)
errors = {key: (code, exit_status, http) for code, exit_status, http, key in
          re.findall(r'X\((\w+), \d+, (\d), (\d{3}), "([\w.]+)"', body)}
meanings = {key: (exit_status, http) for key, exit_status, http in
            re.findall(r"^\| `([\w.]+)` \| (\d) \| (\d{3}) \|", text(ERRORS), re.M)}
if not errors:
    violations.append("include/tollbook/error.h: no error found")
for key, (code, *statuses) in errors.items():
    if meanings.get(key) != tuple(statuses):
        violations.append(f"{ERRORS}: error `{key}` ({code}) has no row with the statuses {' and '.join(statuses)}")
violations += [f"{ERRORS}: `{key}` is no error of include/tollbook/error.h" for key in meanings if key not in errors]

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


leads = {}
for file in pages:
    leads[file] = set()
    for link, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", text(file)):
        target = ((SOURCE / file).parent / link if link else SOURCE / file).resolve()
        leads[file].add(target)
        if not target.exists() or (anchor and anchor not in anchors(target)):
            violations.append(f"{file}: link to {link}#{anchor} leads nowhere")
    size = len(text(file).encode())
    if size > GUIDE_MAX and (SOURCE / file).name not in LONGER:
        violations.append(f"{file}: {size} bytes; a guide has at most {GUIDE_MAX}")
found = ["README.md"]
for file in found:  # grows on the way
    found += [page for page in pages if (SOURCE / page).resolve() in leads[file] and page not in found]
violations += [f"README.md: no links lead to {file}" for file in pages if file not in found]
for command in ("server/quickstart", "tests/run"):
    if command not in readme:
        violations.append(f"README.md: does not name {command}")

verdict(violations, f"{len(errors)} errors, {len(offered)} subcommands, documents agree")
