#!/usr/bin/env python3
"""docs/limits.md names each limit that a user can meet with the value that the source defines.

    tests/arch/test_limits.py           exit 1 where the page is not what the source says
    tests/arch/test_limits.py --write   write docs/limits.md

The page's sections stand below: a limit is a macro's name, its unit and a phrase. A macro that is defined more than once has its
file in front. The options are those of `tollbook serve` that have bounds (server/cli/serve.h).
"""
import re
import sys
from house import SOURCE, c_files, verdict

PAGE = "docs/limits.md"
HEAD = """# Limits

`tests/arch/test_limits.py --write` makes this page from the source that defines the limits; a test compares them.
The pages [price books](price-book.md), [catalogue](catalogue.md) and [pull zones](pull-zone.md) give the bounds of single keys.
"""
SECTIONS = (
    ("Requests", "Beyond a size the answer is 413, 414 or 431; beyond a count or a rate it is 429 or 503 with `Retry-After`.", (
        ("HEAD_TARGET_MAX", "bytes", "request target"),
        ("HEAD_LINES_MAX", "", "header lines"),
        ("HEAD_VALUES_MAX", "bytes", "names and values of all headers together"),
        ("EXPORT_BODY", "bytes", "body of an export or a search of shield events"),
        ("EVENTS_BODY", "bytes", "body of `POST /events`"),
        ("DIGEST_BODY", "bytes", "body of a look-up of an image's digest"),
        ("PURGE_BODY", "bytes", "body of a purge"),
        ("TB_WHATIF_BODY_MAX", "bytes", "body of `POST /billing/what-if`"),
        ("TB_JSON_VALUES_MAX", "", "values of a JSON body; an object or a list counts as four; a what-if may have half as many"),
        ("TB_ACCOUNT_METRICS_ZONES", "", "pull zones that `GET /metrics/account` lists"),
        ("TB_REPLY_MAX", "bytes", "answer of an operation (`POST /operations/NAME`, `--server`)"),
        ("SERVER_SLOW_US", "us", "time of an operation, a what-if or a summary of logs over HTTP"),
        ("SERVER_SLOW_THREADS", "", "operations and what-ifs at once"),
        ("http/stream_slots.h STREAM_SLOTS_MAX", "", "long answers (logs, lists, exports) at once"),
        ("STREAM_SLOTS_SHARE", "", "of these, one account's"),
        ("STREAM_SLOTS_BYTES", "bytes", "memory of one account's long answers, unless it is a single one"),
        ("LOG_REQUESTS", "", "requests for the logs of one pull zone in 10 seconds"),
        ("WRITER_JOBS_MAX", "", "bodies and commands that wait for the writer"),
        ("WRITER_JOBS_SHARE", "", "of these, one account's"),
        ("WRITER_BYTES_MAX", "bytes", "memory of all that waits for the writer"),
        ("SESSIONS_MAX", "", "sessions of the console"),
        ("SESSIONS_OF_KEY", "", "of these, one key's"),
        ("api/search.c TEXT_MAX", "bytes", "text of `GET /search`"),
        ("api/search.c PAGE_MAX", "", "results of its answer"),
        ("TB_AUDIT_ENTRIES_MAX", "", "entries of one answer of `GET /user/audit/{date}`"),
        ("TB_AUDIT_PAGE_BYTES", "bytes", "length of such an answer, about"),
        ("TB_AUDIT_FILTERS_MAX", "", "values that it filters by"),
        ("SIGN_INS", "", "failed sign-ins of one address in a minute"),
        ("TOKEN_TEXT_MAX", "", "characters of a bearer token"),
        ("LISTEN_MAX", "", "addresses to listen on (`--listen`)"),
        ("CORS_ORIGINS_MAX", "", "origins (`--cors-origin`)"),
    )),
    ("Logs and usage", "A line beyond a limit is refused, and kept as a refused line; so is a row of an import.", (
        ("TB_LINE_MAX", "bytes", "line of a log"),
        ("TB_HIT_BYTES_MAX", "bytes", "bytes of one answer"),
        ("TB_ROW_COUNTER_MAX", "", "counter of one row of an import"),
        ("TB_COUNTER_MAX", "", "counter of an hour, a day or a month"),
        ("TB_AHEAD_MS", "ms", "time that a line may be ahead of the clock"),
        ("TB_EDGE_MAX", "bytes", "code of an edge location"),
        ("TB_HOST_MAX", "bytes", "host name, with its end"),
        ("TB_LOG_TEXT_MAX", "bytes", "description of a log format, and a map"),
        ("TB_BATCH_ID_MAX", "bytes", "batch id (`--batch`, `Idempotency-Key`)"),
        ("feed/weight.c WEIGHT_MAX", "ns", "[cost of one body](ingest.md#what-one-body-may-hold) to the writer"),
        ("FEED_REFUSED_MAX", "", "refused lines of one body"),
        ("TB_REJECTS_KEPT", "", "refused lines of a segment that are kept"),
        ("TB_REJECT_TEXT_MAX", "bytes", "text of a refused line that is kept"),
        ("TB_REJECT_KEPT_US", "us", "time for which that text is kept"),
        ("TB_LOG_KEPT_MS", "ms", "time for which request logs are kept"),
        ("TB__TALLY_VALUES", "", "different values of a kind that a summary of logs counts exactly"),
        ("TB__TALLY_BYTES", "bytes", "text of these values"),
        ("TB_LOG_TOP_MAX", "", "values of a kind in a summary"),
        ("traffic/refused_operations.c LOOKED_AT", "", "refused lines that `refused` looks at"),
        ("TB_EVENT_DAYS", "", "UTC days for which shield events are kept, today included"),
        ("TB_EVENT_ID_MAX", "", "characters of a shield event's `logId`"),
        ("TB_EVENT_EXPORT_MS", "ms", "age of the end of an export of shield events"),
        ("TB_EVENT_FILTERS_MAX", "", "filters of such an export"),
        ("TB_EVENT_VALUES_MAX", "", "values of one filter"),
        ("TB_EVENT_VALUE_MAX", "bytes", "value of a filter"),
        ("TB_EVENT_SEARCH_MAX", "", "rows or groups of a page of a search, and numbers of a sparkline"),
        ("TB_EVENT_SEARCH_BYTES", "bytes", "rows of such a page"),
        ("TB__TALLY_VALUES", "", "groups of a search"),
        ("TB_SHIELD_POINTS_MAX", "", "points of a shield zone's metrics"),
        ("TB_SHIELD_RULES_MAX", "", "rate limits whose breaches are counted one by one"),
    )),
    ("Command line and configuration", "", (
        ("CLI_VALUES_MAX", "", "options of one call, with those of the configuration file"),
        ("CLI_SECRET_MAX", "bytes", "key (`--key`)"),
        ("CONFIG_MAX", "bytes", "configuration file"),
        ("CONFIG_LINE_MAX", "bytes", "line of it"),
        ("CONFIG_ROWS_MAX", "", "options in it"),
    )),
    ("Senders", "", (
        ("LOG_PIECE_MAX", "bytes", "lines in one piece of `follow`, about"),
        ("PACE_MOST_MS", "ms", "pause of `follow` after a failure, unless the server asks for more"),
        ("WAIT_MOST_S", "s", "pause that a server or proxy can ask for"),
    )),
    ("Catalogue", "A catalogue beyond a limit is refused as a whole (`catalog.invalid`).", (
        ("TB_CATALOG_MAX", "bytes", "catalogue"),
        ("TB__SETTINGS_MAX", "bytes", "settings of one pull zone"),
        ("TB_REGION_NAME_MAX", "bytes", "name of a region, with its end"),
        ("TB__TAXES_MAX", "", "taxes of an account"),
        ("TB__TERMS_DAYS_MAX", "", "days until an invoice is due"),
        ("TB__LABELS_MAX", "", "labels of an account"),
        ("TB__LABEL_NAME_MAX", "bytes", "name of a label"),
        ("TB__LABEL_VALUE_MAX", "bytes", "value of a label"),
        ("TB_ALERTS_MAX", "", "alerts of an account"),
        ("TB_ALERT_ID_MAX", "bytes", "id of an alert"),
        ("TB_CONTAINER_ID_MAX", "bytes", "id of a container application or a registry"),
        ("TB_CONTAINER_ORIGIN_MAX", "bytes", "address of a registry"),
        ("TB_METERS_MAX", "", "meters"),
        ("TB_FEES_MAX", "", "fees of an account, a pull zone or a load balancer"),
        ("TB_FEE_QUANTITY_MAX", "", "quantity of a fee"),
    )),
    ("Prices and documents", "", (
        ("TB_BOOK_MAX", "bytes", "price book"),
        ("TB_TIERS_MAX", "", "tiers of a price"),
        ("TB_BOOK_METERS_MAX", "", "meters of a price book"),
        ("billing/book_meters.c VALUES_MAX", "", "prices of a meter by the values of a dimension"),
        ("TB_BOOK_FEES_MAX", "", "fees of a price book"),
        ("TB_PRICE_SCALE_MAX", "", "digits of a price after its point"),
        ("TB_UNITS_MAX", "", "units of a month that a book prices"),
        ("TB_ISSUE_GROUP_ACCOUNTS", "", "accounts that are made final in one commit"),
        ("TB_INVOICE_TEXT_MAX", "bytes", "invoice as canonical JSON"),
        ("TB_PRINT_MAX", "bytes", "PDF"),
        ("TB_UBL_TEXT_MAX", "bytes", "electronic invoice"),
        ("TB_PAYMENTS_MAX", "bytes", "file of payments"),
        ("TB_PAYMENT_ROWS", "", "rows of a file of payments"),
        ("TB_NOTE_NAME", "bytes", "name of a key that signs checkpoints"),
        ("TB_NOTE_MAX", "bytes", "signed note: a checkpoint with its signatures"),
        ("TB_NOTE_TEXT", "bytes", "its text"),
        ("TB_NOTE_SIGNATURES", "", "its signatures"),
        ("TB_PROOF_TEXT_MAX", "bytes", "proof of an entry"),
        ("TB_TOLLPROOF_MAX", "bytes", "bundle that a customer checks, expanded"),
        ("TB_TOLLPROOF_LIST", "", "price books, days and earlier documents of a bundle, each"),
        ("TB_CHECK_LOGS_MAX", "", "logs that `tollbook-check --trust-on-first-use` remembers"),
    )),
    ("What-if, solve and forecast", "`whatif.too_much` names the limit. Those over HTTP do not hold with `--db`.", (
        ("TB_SCENARIO_MAX", "bytes", "scenario"),
        ("TB_SCENARIO_NAME_MAX", "", "characters of its name"),
        ("TB_SCENARIO_FACTORS_MAX", "", "factors on usage of a scenario"),
        ("TB_SCENARIO_CONTRACTS_MAX", "", "contracts of a scenario"),
        ("TB_FACTOR_SCALE_MAX", "", "digits of a factor after its point"),
        ("TB_WHATIF_SCENARIOS_MAX", "", "scenarios of a run"),
        ("TB_WHATIF_BODY_SCENARIOS_MAX", "", "scenarios of a request"),
        ("TB_WHATIF_BODY_MONTHS_MAX", "", "months of a request"),
        ("TB_WHATIF_BODY_BILLS_MAX", "", "bills of a request: accounts' months times scenarios"),
        ("BILLS_MAX", "", "accounts' months of a `solve` over HTTP"),
        ("TB_SOLVE_PATHS_MAX", "", "prices that `solve price` changes (`--price`)"),
        ("TB_COMMIT_OFFERS_MAX", "", "offers of `solve commit`"),
        ("TB_FORECAST_DAYS", "", "days of history that a forecast reads"),
        ("TB_FORECAST_PATHS_MAX", "", "paths of a forecast"),
        ("TB_FORECAST_DAY_MAX", "", "units of a day of usage"),
    )),
    ("Messages, containers and usage servers", "", (
        ("TB_MESSAGE_MAX", "bytes", "body of a message to `--alert-url`"),
        ("TB_OUTBOX_PATIENCE_US", "us", "time for which a message is tried again"),
        ("TB_OUTBOX_PAUSE_MOST", "us", "longest pause between two tries"),
        ("TB_OUTBOX_KEPT_US", "us", "time for which sent messages are kept"),
        ("WEBHOOK_SECRET_MAX", "bytes", "secret that signs messages"),
        ("DEPLOY_THREADS", "", "deployments at once"),
        ("TB_DEPLOYMENT_OUTPUT_MAX", "bytes", "output of a deployment that is kept"),
        ("USAGE_SHARDS_MAX", "", "usage servers"),
        ("SERVER_REMOTE_THREADS", "", "questions to usage servers at once"),
        ("SERVER_REMOTE_SHARE", "", "of these, one server's"),
        ("TB_COMPACTION_ROWS_MOST", "", "rows of one step of a compaction"),
        ("COMPACTOR_GRACE_US", "us", "time for which compacted rows stay"),
    )),
)
UNITS = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}
violations = []


def definitions():
    """The right sides of all macros, by name and by "folder/file name"."""
    found = {}
    for path in c_files("include", "engine", "server"):
        for macro, value in re.findall(r"^#define +(\w+)[ \\\n]+([^\n]+)$", path.read_text(), re.M):
            for key in (macro, f"{path.parent.name}/{path.name} {macro}"):
                found.setdefault(key, []).append(re.sub(r"/\*.*", "", value).strip())
    return found


def value_of(macro, found):
    if len(found.get(macro, ())) != 1:
        violations.append(f"{macro} is defined {len(found.get(macro, ()))} times")
        return 0
    text = re.sub(r"\((?:size_t|u?int\d+_t)\)", "", found[macro][0])
    text = re.sub(r"\bU?INT\d+_C\b", "", text).replace("INT64_MAX", str(2**63 - 1))
    text = re.sub(r"\b(\d+|0x[0-9a-f]+)[uUlL]+\b", r"\1", text)
    text = re.sub(r"\b[A-Z]\w+", lambda other: str(value_of(other.group(), found)), text)
    return eval(text, {"__builtins__": {}})  # pylint: disable=eval-used


def shown(value, unit):
    if unit == "bytes":
        for size, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
            if value >= size and value % size == 0:
                return f"{value // size:,} {name}"
        return f"{value:,} bytes"
    if unit:
        for size, name in ((86400, "days"), (3600, "h"), (60, "min"), (1, "s")):
            if value % (size * UNITS[unit]) == 0 and (size < 86400 or value // UNITS[unit] > 3 * size):
                return f"{value // (size * UNITS[unit]):,} {name}"
        return f"{value * 1000 // UNITS[unit]:,} ms"
    if value >= 10**12:
        return "2^63 − 1" if value == 2**63 - 1 else f"10^{len(str(value)) - 1}"
    return f"{value:,}"


def options():
    """Name, default, least, most and meaning of the options of `serve` that are numbers."""
    text = (SOURCE / "server/cli/serve.h").read_text().replace("\\\n", " ")
    for name, least, most, said in re.findall(r'SERVE_NUMBER\("([a-z-]+)", "N", ([^,]+), ([^,]+),((?: *"[^"]*")+)', text):
        said = "".join(re.findall(r'"([^"]*)"', said))
        default = re.search(r"[;,] default (\d+)", said)
        yield (name, int(default.group(1)), eval(least), eval(most),  # pylint: disable=eval-used
               said.replace(default.group(), ""))


def page():
    found, out = definitions(), [HEAD]
    out += ["## Limits that you set\n\nOptions of `tollbook serve`.\n", "| option | default | least | most | meaning |",
            "|---|---|---|---|---|"]
    out += [f"| `--{name}` | {default:,} | {least:,} | {most:,} | {said} |" for name, default, least, most, said in options()]
    for title, text, rows in SECTIONS:
        out += ["", f"## {title}", "", *([text, ""] if text else []), "| what | most |", "|---|---|"]
        out += [f"| {what} | {shown(value_of(macro, found), unit)} |" for macro, unit, what in rows]
    return "\n".join(out) + "\n"


wanted = page()
if sys.argv[1:] == ["--write"]:
    (SOURCE / PAGE).write_text(wanted)
elif not (SOURCE / PAGE).is_file() or (SOURCE / PAGE).read_text() != wanted:
    violations.append(f"{PAGE}: not what the source says; tests/arch/test_limits.py --write")
verdict(violations, f"{sum(len(rows) for _, _, rows in SECTIONS)} limits, page and source agree")
