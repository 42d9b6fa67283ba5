/* The subcommands, one row each. What a row says is what help says and what the parser accepts. */
#include "cli/cli.h"
#include "cli/serve.h"

#define DB                                                                                         \
    {                                                                                              \
        .name = "db", .value = "FILE", .kind = CLI_TEXT, .required = true, .help = "the database"  \
    }
/* --db, or --server and --key: cli_remote_check says which is missing. */
#define DB_OR_SERVER                                                                               \
    {.name = "db", .value = "FILE", .kind = CLI_TEXT, .help = "the database"},                     \
        {.name = "server",                                                                         \
         .value = "URL",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "send the work to this running server instead of --db"},                          \
    {                                                                                              \
        .name = "key", .value = "KEY", .kind = CLI_TEXT, .secret = true,                           \
        .help = "the API key for --server; default: the environment's TOLLBOOK_KEY"                \
    }
#define BATCH                                                                                      \
    {                                                                                              \
        .name = "batch", .value = "ID", .kind = CLI_TEXT,                                          \
        .help = "name exactly these bytes; one input only"                                         \
    }
#define ON_ERROR(standard)                                                                         \
    {                                                                                              \
        .name = "on-error", .value = "skip|stop", .kind = CLI_CHOICE,                              \
        .help = "a line that does not parse is kept aside, or ends the run; default " standard     \
    }
#define THREADS                                                                                    \
    {                                                                                              \
        .name = "threads", .value = "N", .kind = CLI_NUMBER, .min = 1, .max = 256,                 \
        .help = "how many threads work; default: the machine's cores"                              \
    }
#define PROGRESS                                                                                   \
    {                                                                                              \
        .name = "progress", .kind = CLI_FLAG,                                                      \
        .help = "show lines, speed and time left on standard error"                                \
    }
#define ID(option, value_, help_)                                                                  \
    {                                                                                              \
        .name = option, .value = value_, .kind = CLI_NUMBER, .min = 1, .max = INT64_MAX,           \
        .help = help_                                                                              \
    }

static const cli_option init_options[] = {DB};

static const cli_option apply_options[] = {DB_OR_SERVER};

static const cli_option key_create_options[] = {
    DB_OR_SERVER,
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 0,
     .max = INT64_MAX,
     .help = "whose key: an account of the catalogue, 0 for the operator's own"},
    {.name = "role",
     .value = "ROLE",
     .kind = CLI_TEXT,
     .repeats = true,
     .help = "what it opens; default User"},
    SECRET_FILE,
};
static const cli_option key_revoke_options[] = {
    DB_OR_SERVER,
    {.name = "id",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "the key's id as `tollbook key list` shows it"},
};
static const cli_option key_list_options[] = {DB_OR_SERVER};
static const cli_option key_secret_options[] = {};

static const cli_option token_options[] = {
    {.name = "token-key",
     .value = "FILE",
     .kind = CLI_TEXT,
     .required = true,
     .help = "the secret, or the private key in PEM form, that signs"},
    {.name = "token-alg",
     .value = TOKEN_ALGORITHMS,
     .kind = CLI_CHOICE,
     .help = "the algorithm; default HS256"},
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "whose token"},
    {.name = "role",
     .value = "ROLE",
     .kind = CLI_TEXT,
     .repeats = true,
     .help = "what it opens; default User"},
    {.name = "hours",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 1,
     .max = 8784,
     .help = "how long it holds; default 24"},
};

static const cli_option ingest_options[] = {
    DB_OR_SERVER,
    BATCH,
    {.name = "format",
     .value = "pipe|combined",
     .kind = CLI_CHOICE,
     .help = "the lines' format; default pipe"},
    ID("zone", "ID", "whose lines these are, for combined logs"),
    {.name = "region",
     .value = "CODE",
     .kind = CLI_TEXT,
     .help = "edge location that wrote them, for combined logs"},
    ON_ERROR("skip"),
    THREADS,
    {.name = "final",
     .kind = CLI_FLAG,
     .help = "take an unterminated last line of a plain file too"},
    PROGRESS,
};

static const cli_option import_options[] = {DB_OR_SERVER, BATCH, ON_ERROR("stop"), THREADS,
                                            PROGRESS};

static const cli_option serve_options[] = {DB, THREADS, SERVE_OPTION_ROWS};

static const cli_option stats_options[] = {
    DB,
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "whose figures"},
    ID("zone", "ID", "one of its pull zones; default all"),
    {.name = "from", .value = "D", .kind = CLI_TEXT, .help = "first day or moment, UTC"},
    {.name = "to", .value = "D", .kind = CLI_TEXT, .help = "last day or moment, UTC"},
    {.name = "hourly", .kind = CLI_FLAG, .help = "buckets of an hour instead of a day"},
    {.name = "exact", .kind = CLI_FLAG, .help = "with --hourly: the hours given, not whole days"},
    {.name = "latest", .kind = CLI_FLAG, .help = "at most 24 hours, of any age"},
    {.name = "kind",
     .value = "statistics|optimizer|queue|safehop",
     .kind = CLI_CHOICE,
     .help = "which figures; all but the first need --zone; default statistics"},
};

static const cli_option verify_options[] = {
    DB,
    {.name = "against",
     .value = "DIGEST",
     .kind = CLI_TEXT,
     .help = "the first word that `tollbook anchor` printed once: what it covered must be there"
             " as it was"},
};

static const cli_option anchor_options[] = {DB};

static const cli_option book_options[] = {DB};
static const cli_option book_drop_options[] = {DB_OR_SERVER};

static const cli_option book_add_options[] = {
    DB_OR_SERVER,
    {.name = "shadow",
     .kind = CLI_FLAG,
     .help = "keep it beside the books in force: it bills nothing, each month says what it would"},
};
static const cli_option book_activate_options[] = {
    DB_OR_SERVER,
    {.name = "max-change",
     .value = "PERCENT",
     .kind = CLI_TEXT,
     .help = "refuse where an account's billed month would change by more; default 10"},
    {.name = "months",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 1,
     .max = 120,
     .help = "how many of each account's last billed months are compared; default 1"},
    {.name = "anyway", .kind = CLI_FLAG, .help = "activate it also where that is exceeded"},
    PROGRESS,
};
static const cli_option book_report_options[] = {
    DB,
    {.name = "month", .value = "YYYY-MM", .kind = CLI_TEXT, .help = "one month; default all"},
};

static const cli_option scenario_options[] = {DB};

static const cli_option usage_options[] = {
    DB,
    {.name = "balancer",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "whose requests"},
    {.name = "month", .value = "YYYY-MM", .kind = CLI_TEXT, .help = "UTC; default the running one"},
};

static const cli_option backup_options[] = {
    DB,
    {.name = "to",
     .value = "FILE",
     .kind = CLI_TEXT,
     .required = true,
     .help = "the copy, which must not exist yet"},
    PROGRESS,
};

static const cli_option query_options[] = {
    DB,
    {.name = "format",
     .value = "table|csv|tsv",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, tab-separated otherwise"},
    {.name = "timeout",
     .value = "SECONDS",
     .kind = CLI_NUMBER,
     .min = 1,
     .max = 86400,
     .help = "stop a query that takes longer, with exit status 3 (default: no limit)"},
    {.name = "memory-mb",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 16,
     .max = 1048576,
     .help = "the most memory that SQLite may take, MiB (default: 512)"},
};

#define OPTIONS(table) .options = table, .n_options = sizeof table / sizeof *table

cli_command cli_commands[] = {
    {.name = "init",
     .operands = "",
     .summary = "Create an empty database",
     .details = "The file must not exist yet.",
     OPTIONS(init_options),
     .run = cli_init},
    {.name = "apply",
     .operands = "CATALOG.json",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Declare accounts, pull zones, load balancers, shield zones, containers and regions",
     .details =
         "The document is the whole declared state: the same again changes nothing, and what\n"
         "it no longer names is marked deleted. \"-\" reads standard input.",
     OPTIONS(apply_options),
     .run = cli_apply},
    {.name = "key create",
     .operands = "",
     .summary = "Make an API key and print it, once",
     .details = "Only the key's SHA-256 is stored, and its text sealed under the secret of\n"
                "--secret-file, where one is given. Roles: User, UserApi, SubuserAPIStatistics,\n"
                "SubuserStatistics, SubuserManage, SubuserAPIManage, SubuserAPIPullZones,\n"
                "SubuserPullZones, SubuserAPIBilling, SubuserBilling, Ingest, Operator.\n"
                "Account 0 is the operator itself: its keys carry Ingest or Operator alone.",
     OPTIONS(key_create_options),
     .run = cli_key_create},
    {.name = "key revoke",
     .operands = "",
     .summary = "Make an API key invalid from now on",
     .details = "",
     OPTIONS(key_revoke_options),
     .run = cli_key_revoke},
    {.name = "key list",
     .operands = "",
     .summary = "List the API keys, never their text",
     .details = "",
     OPTIONS(key_list_options),
     .run = cli_key_list},
    {.name = "key secret",
     .operands = "",
     .summary = "Print a new secret to seal the texts of keys under",
     .details = "Keep it in a file that only you can read, and give that file to `key create` and\n"
                "`serve` with --secret-file: (umask 077; tollbook key secret > FILE)\n"
                "Without it keys work the same, and GET /apikey shows them masked.",
     OPTIONS(key_secret_options),
     .run = cli_key_secret},
    {.name = "token",
     .operands = "",
     .summary = "Print a bearer token (JWT) for an account",
     .details = "For `Authorization: Bearer TOKEN`, which `serve --token-key FILE` takes beside keys.\n"
                "A secret for HS256: (umask 077; openssl rand -hex 32 > FILE). With RS256 (an RSA key of\n"
                "2048 bits or more) or ES256 (a key on P-256) tokens are signed with the private key and\n"
                "`serve` checks them with the public one: openssl pkey -in FILE -pubout -out OTHER.\n"
                "Nothing is stored: a token cannot be revoked, only the key be changed.",
     OPTIONS(token_options),
     .run = cli_token},
    {.name = "ingest",
     .operands = "LOG...|-",
     .min_operands = 1,
     .max_operands = 1 << 20,
     .summary = "Take in request logs, plain, gzip or zstd",
     .details =
         "The same log again changes nothing, a killed run goes on where it stopped, and a log\n"
         "that has grown adds only its new lines. Memory is bounded whatever the log's size.\n"
         "\"-\" is standard input. An unterminated last line of a plain file waits for its end;\n"
         "from standard input or a compressed file it is taken.\n"
         "With --server the same log is known whichever way its parts came, and what is known is\n"
         "not sent. Standard input that begins like a known log is copied to TMPDIR first.",
     OPTIONS(ingest_options),
     .run = cli_ingest},
    {.name = "import",
     .operands = "BUCKETS.ndjson|-",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Add usage counters and shield events, one JSON object a line, whole or not at all",
     .details = "Plain, gzip or zstd. The same file again changes nothing. A line with \"shield_zone\" "
                "is an event (docs/operations.md).",
     OPTIONS(import_options),
     .run = cli_import},
    {.name = "serve",
     .operands = "",
     .summary = "Answer over HTTP",
     .details = "Holds the database's writer lock: send work to it with --server URL --key KEY.\n"
                "SIGHUP reopens the access log and reads --token-key and --secret-file again.\n"
                "SIGUSR1 prints a line of status on standard error. SIGTERM and SIGINT finish the\n"
                "requests under way and exit. See \"Signals\" in docs/operations.md.",
     OPTIONS(serve_options),
     .run = cli_serve},
    {.name = "stats",
     .operands = "",
     .summary = "Print what the statistics endpoint answers",
     .details = "",
     OPTIONS(stats_options),
     .run = cli_stats},
    {.name = "book add",
     .operands = "BOOK.json",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Add a price book",
     .details = "Refused as a whole with the JSON path and the reason. The same again changes\n"
                "nothing; books are never changed or removed. \"-\" reads standard input.\n"
                "With --shadow the book is kept and bills nothing: `invoice --finalize` says what it\n"
                "would have billed, `book activate` makes it a book, `book drop` forgets it.",
     OPTIONS(book_add_options),
     .run = cli_book_add},
    {.name = "book list",
     .operands = "",
     .summary = "List the price books, shadow books last",
     .details = "",
     OPTIONS(book_options),
     .run = cli_book_list},
    {.name = "book show",
     .operands = "BOOK",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Print a price book's canonical text",
     .details = "",
     OPTIONS(book_options),
     .run = cli_book_show},
    {.name = "book diff",
     .operands = "BOOK BOOK",
     .min_operands = 2,
     .max_operands = 2,
     .summary = "Print what two price books price differently",
     .details = "",
     OPTIONS(book_options),
     .run = cli_book_diff},
    {.name = "book activate",
     .operands = "BOOK",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Make a shadow book a real one",
     .details = "Rates the last billed month of every account of its currency under it, as a whole.\n"
                "Where one would change by more than --max-change, up or down, or have usage without\n"
                "a price, the book stays a shadow, and the accounts are named (exit status 1).",
     OPTIONS(book_activate_options),
     .run = cli_book_activate},
    {.name = "book drop",
     .operands = "BOOK",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Forget a shadow book",
     .details = "What it would have billed stays in `book report`. A real book is never dropped.",
     OPTIONS(book_drop_options),
     .run = cli_book_drop},
    {.name = "book report",
     .operands = "[BOOK]",
     .min_operands = 0,
     .max_operands = 1,
     .summary = "Show what shadow books would have billed, month by month",
     .details = "Noted by `invoice --finalize`, of dropped and activated ones too. The same as\n"
                "`tollbook query --db FILE 'SELECT * FROM shadow_report'`, with the difference.",
     OPTIONS(book_report_options),
     .run = cli_book_report},
    {.name = "book",
     .operands = "BOOK.json",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Add a price book: short for book add",
     .details = "See also: book add, book list, book show, book diff, book activate, book drop,\n"
                "book report.",
     OPTIONS(book_add_options),
     .run = cli_book_add},
    {.name = "whatif", .operation = "whatif"},
    {.name = "scenario add",
     .operands = "SCENARIO.json",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Keep a what-if scenario under its name and hash",
     .details = "Refused as a whole with the JSON path, also where the patched book is none.\n"
                "Scenarios are never changed or removed: another text is kept beside the first.",
     OPTIONS(scenario_options),
     .run = cli_scenario_add},
    {.name = "scenario list",
     .operands = "",
     .summary = "List the scenarios that are kept",
     .details = "",
     OPTIONS(scenario_options),
     .run = cli_scenario_list},
    {.name = "scenario show",
     .operands = "NAME|NAME@HASH",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Print a scenario's canonical text",
     .details = "",
     OPTIONS(scenario_options),
     .run = cli_scenario_show},
    {.name = "usage",
     .operands = "",
     .summary = "Print what the load balancer usage endpoint answers",
     .details = "",
     OPTIONS(usage_options),
     .run = cli_usage},
    {.name = "invoice", .operation = "invoice"},
    {.name = "forecast", .operation = "forecast"},
    {.name = "ledger pay",
     .summary = "Enter a payment",
     .operation = "ledger enter",
     .fixed = "kind=payment"},
    {.name = "ledger adjust",
     .summary = "Enter an adjustment of the balance",
     .operation = "ledger enter",
     .fixed = "kind=adjustment"},
    {.name = "ledger", .operation = "ledger"},
    {.name = "percentile", .operation = "percentile"},
    {.name = "solve break-even", .operation = "solve break-even"},
    {.name = "solve price", .operation = "solve price"},
    {.name = "solve commit", .operation = "solve commit"},
    {.name = "verify",
     .operands = "",
     .summary = "Check everything stored against itself",
     .details = "Prints a sentence for each difference; exit status 1 if there was one.\n"
                "--against finds what was changed by somebody who made all else fit again.",
     OPTIONS(verify_options),
     .run = cli_verify},
    {.name = "anchor",
     .operands = "",
     .summary = "Print one digest over all that only grows, to keep elsewhere",
     .details = "Prints the digest, a space and the moment. `tollbook verify --against DIGEST`\n"
                "tells later whether invoices, the ledger, inputs, books, what was declared and\n"
                "keys are still as they were; what was added since is no difference. It only\n"
                "reads: beside a running server too, and from a backup.",
     OPTIONS(anchor_options),
     .run = cli_anchor},
    {.name = "audit", .operation = "audit"},
    {.name = "backup",
     .operands = "",
     .summary = "Copy a consistent, verified snapshot",
     .details = "Beside a running server too. The copy passes all that `verify` checks, or there is none:\n"
                "exit status 1.",
     OPTIONS(backup_options),
     .run = cli_backup},
    {.name = "query",
     .operands = "SQL",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Run read-only SQL over the database",
     .details = "The virtual table `buckets` shows the counters as rows. Functions that do more than compute are\n"
                "denied. Ctrl-C and --timeout end the query at once; the rows that came out are whole.",
     OPTIONS(query_options),
     .run = cli_query},
};
const size_t cli_n_commands = sizeof cli_commands / sizeof *cli_commands;
