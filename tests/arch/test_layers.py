"""Modules include only modules below them (docs/architecture.md).

A room is a folder of engine/ or server/; a public header belongs to the room that implements it.
The table says which rooms each may see. What is not in it is an arrow that runs back up.
"""
import re
from house import SOURCE, c_files, name, verdict

SEES = {
    "base": set(),
    "model": {"base"},
    "intake": {"base", "model"},
    "rollup": {"base", "model", "intake"},
    "stats": {"base", "model"},
    "encode": {"base", "model", "stats"},
    "logs": {"base", "model", "intake", "stats", "encode"},
    "events": {"base", "model", "intake", "stats", "encode"},
    "billing": {"base", "model", "stats", "encode"},
    "invoice": {"base", "model", "encode", "billing"},
    # Trees, notes and proofs: they know no store, so that what checks a bill links none.
    "proof": {"base"},
    # What checks a bill: it rates as billing does, and knows no store either.
    "check": {"base", "model", "stats", "encode", "billing", "invoice", "proof"},
    # Electronic invoices: what a statement says, in the words of the norm.
    "ubl": {"base", "model", "billing", "invoice"},
    "print": {"base", "model", "encode", "billing", "invoice"},
    # What was paid of what, out of the entries of an account.
    "ledger": {"base", "model", "encode", "billing", "invoice"},
    "whatif": {"base", "model", "billing"},
    # Nothing but ops sees advice: what is guessed never reaches what is billed.
    "advice": {"base", "model", "stats", "encode", "billing", "invoice", "whatif"},
    "store": {"base", "model", "intake", "rollup", "stats", "encode", "logs", "events", "billing",
              "invoice", "proof", "ledger", "whatif"},
    # What a store and the pure rooms do together: each use case, callable without the server.
    "ops": {"base", "model", "stats", "encode", "events", "billing", "invoice", "proof", "check", "print", "ubl", "ledger", "whatif", "advice", "store"},
    # tollbook/tollbook.h, which includes every other public header.
    "face": {"base", "model", "intake", "rollup", "stats", "encode", "logs", "events", "billing",
             "invoice", "proof", "check", "print", "ubl", "ledger", "whatif", "advice", "store", "ops"},
    # What all requests to other machines have in common.
    "outbound": {"base"},
    "registry": {"base", "encode", "outbound"},
    # Signs and sends messages: it knows neither where they come from nor HTTP's other side.
    "webhook": {"base", "outbound"},
    # Carries statements to usage servers: it knows neither usage nor SQL.
    "usage": {"base", "store"},
    "feed": {"base", "model", "intake", "rollup", "logs", "events", "store"},
    # Follows files and ships to a sink that it is given: it knows neither HTTP nor a database.
    "follow": {"base", "model", "intake", "store", "feed"},
    # A copy's way to its primary: it knows neither the writer nor who asks.
    "standby": {"base", "store", "outbound"},
    "http": {"base", "model", "stats", "encode", "events", "store", "usage", "standby"},
    # No face sees what bills and guesses but through the operations.
    "api": {"base", "model", "intake", "stats", "encode", "logs", "events", "proof", "store", "ops", "feed",
            "http", "registry", "webhook", "usage"},
    "cli": {"base", "model", "intake", "stats", "encode", "proof", "store", "ops", "feed", "follow", "outbound", "webhook", "usage", "standby", "http", "api"},
    # tollbook-check: files and words around the engine's checks. Of http it links messages and new files alone.
    "checker": {"base", "proof", "check", "http"},
    # Prints the table of subcommands for man pages and completions.
    "packaging": {"encode", "cli"},
    "main": {"cli", "ops"},
}
# The folders of the store, likewise.
STORE = {
    "core": set(),
    # Sorted runs and their compaction: usage and logs are its clients.
    "lsm": {"core"},
    "usage": {"core", "lsm"},
    "logs": {"core", "lsm"},
    # The other backend of usage: its owners, series and packed days are the file's.
    "clickhouse": {"core", "logs", "usage"},
    "things": {"core"},
    # What commits change, for copies.
    "replica": {"core"},
    "money": {"core", "usage"},
    # The log of documents: what each store of a document appends is declared in core/internal.h.
    "proof": {"core", "usage", "money"},
    "verify": {"core", "lsm", "usage", "logs", "things", "money", "proof"},
}
# These open, upgrade, commit and close what each folder keeps for an open store; one puts their statements together.
STORE_FREE = {"engine/store/core/open.c", "engine/store/core/upgrade.c", "engine/store/core/transaction.c", "engine/store/statements.h"}

# What the rest of the server may see of server/http/front: its face, a request's body, and the certificate of TLS.
FRONT = {"http/front/front.h", "http/front/body.h", "http/front/pair.h"}

SERVER = {"feed", "follow", "outbound", "registry", "webhook", "usage", "standby", "http", "api", "cli", "checker", "packaging", "main"}

PUBLIC = {
    "api": "base", "buf": "base", "calendar": "base", "decimal": "base", "error": "base",
    "metrics": "model", "catalog": "model", "meter": "model", "pullzone": "model", "party": "model", "key": "model",
    "intake": "intake",
    "rollup": "rollup", "meterusage": "rollup",
    "cloudevents": "intake", "eventids": "store",
    "range": "stats", "series": "stats",
    "json": "encode", "answer": "encode",
    "book": "billing", "tariff": "billing", "bill": "billing", "origins": "billing",
    "invoice": "invoice", "usage": "invoice",
    "proof": "proof",
    "check": "check", "bundle": "check",
    "ubl": "ubl",
    "entry": "ledger", "settle": "ledger",
    "print": "print",
    "whatif": "whatif",
    "forecast": "advice", "solve": "advice",
    "requestlog": "logs",
    "batches": "store", "logstore": "store", "withdraw": "store", "retain": "store",
    "containerstore": "store", "meterstore": "store", "audit": "store", "store": "store", "totals": "store", "prooflog": "store", "search": "store", "replica": "store", "archive": "store",
    "billsource": "store", "chargestore": "store", "bookstore": "store", "invoicestore": "store", "ledgerstore": "store",
    "partystore": "store", "alertstore": "store", "usageclient": "store", "usageservers": "store",
    "event": "events", "eventsum": "events", "shield": "ops",
    "alerts": "ops", "accountforecast": "ops", "accountaudit": "ops", "statistics": "ops", "issue": "ops",
    "ledger": "ops", "tollproof": "ops", "monthbill": "ops", "operation": "ops", "status": "ops", "whatifrun": "ops",
    "tollbook": "face",
}

# Libraries and system faces, and the only places that may include them. "gsl/" is all of GSL.
ONLY = {
    "sqlite3.h": ["engine/store/", "tests/"],
    "microhttpd.h": ["server/http/", "server/cli/version.c"],
    "gnutls/": ["server/http/front/tls.c"],
    "curl/curl.h": ["server/cli/", "server/outbound/", "server/registry/", "server/webhook/", "server/usage/", "server/standby/"],
    "jwt.h": ["server/http/token.c"],
    "openssl/": ["server/http/token_key.c", "server/cli/version.c"],
    "idn2.h": ["engine/intake/hosts.c"],
    "gsl/": ["engine/advice/", "tests/"],
    "libxml/": ["engine/ubl/writer/"],
    "dlfcn.h": ["engine/base/heavy.c", "tests/"],
    # Pango and what it stands on: in the shared object that draws PDFs alone, with libxml2.
    "pango/": ["engine/print/pdf/"],
    "cairo.h": ["engine/print/pdf/"],
    "cairo-pdf.h": ["engine/print/pdf/"],
    "hb.h": ["engine/print/pdf/"],
    "qrencode.h": ["engine/print/pdf/"],
    "zlib.h": ["server/feed/", "server/http/", "server/cli/version.c", "server/checker/"],
    "zstd.h": ["engine/logs/", "engine/store/replica/", "server/feed/", "server/cli/"],
    "jansson.h": ["engine/model/", "engine/intake/", "engine/ops/", "server/api/", "server/cli/",
                  "server/registry/", "server/standby/", "server/http/token.c"],
    "sodium.h": ["engine/base/base64.c", "engine/model/", "engine/events/", "engine/billing/", "engine/invoice/", "engine/ledger/", "engine/ops/",
                 "engine/proof/", "engine/whatif/", "engine/store/", "server/"],
    "xxhash.h": ["engine/base/hash.h", "engine/ops/", "engine/store/", "engine/rollup/", "server/"],
    "pthread.h": ["server/", "engine/store/core/open.c", "engine/store/core/held.c", "engine/store/clickhouse/cache.c",
                  "engine/store/usage/sums.c"],
    "time.h": ["server/"],
    "sys/time.h": ["server/"],
    "sys/socket.h": ["server/http/", "server/cli/"],
}


def room_of(path):
    parts = path.relative_to(SOURCE).parts
    if parts[0] == "include":
        return PUBLIC.get(path.stem)
    if parts == ("server", "main.c"):
        return "main"
    return parts[1] if len(parts) > 2 else None


def target_room(path, included):
    """The room an #include "..." leads to; None where it stays in its own folder."""
    parts = included.split("/")
    if parts[0] == "tollbook":
        return PUBLIC.get(parts[1][:-2], f"unlisted public header {included}")
    if len(parts) == 1:
        return room_of(path)
    return parts[0]


def check(path):
    found = []
    own = room_of(path)
    where = name(path)
    if own not in SEES:
        return [f"{where}: room '{own}' is not in the table of tests/arch/test_layers.py"]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if not match:
            continue
        kind, included = match.groups()
        place = f"{where}:{number}"
        if kind == '"':
            other = target_room(path, included)
            if other != own and other not in SEES[own]:
                found.append(f"{place}: {own} may not see {other} ({included})")
            if where.startswith("engine/store/") and where not in STORE_FREE and other == "store":
                mine, theirs = where.split("/")[2], included.split("/")[1]
                if theirs != mine and theirs in STORE and theirs not in STORE[mine]:
                    found.append(f"{place}: store/{mine} may not see store/{theirs} ({included})")
            if included.startswith("http/front/") and not where.startswith("server/http/front/") and included not in FRONT:
                found.append(f"{place}: only server/http/front may include {included}")
            if own not in SERVER and other in SERVER:
                found.append(f"{place}: the engine may not see the server ({included})")
        allowed = ONLY.get(included) or ONLY.get(included.split("/")[0] + "/")
        if allowed and not any(where.startswith(prefix) for prefix in allowed):
            found.append(f"{place}: only {', '.join(allowed)} may include {included}")
    return found


files = list(c_files("include", "engine", "server"))
verdict([line for path in files for line in check(path)],
        f"{len(files)} files, every arrow runs down")
