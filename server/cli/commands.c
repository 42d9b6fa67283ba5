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

static const cli_option percentile_options[] = {
    DB,
    ID("zone", "ID", "a pull zone's traffic"),
    ID("account", "ID", "an account's traffic, all its pull zones together"),
    {.name = "month", .value = "YYYY-MM", .kind = CLI_TEXT, .help = "UTC; default the running one"},
    {.name = "percentile", .value = "P", .kind = CLI_TEXT, .help = "default 95"},
    {.name = "commit",
     .value = "MBIT",
     .kind = CLI_TEXT,
     .help = "Mbit/s agreed: how many buckets are above it, and how many more may come"},
    {.name = "format",
     .value = "table|json",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, json otherwise"},
};

static const cli_option breakeven_options[] = {
    {.name = "db", .value = "FILE", .kind = CLI_TEXT, .help = "the database, for books by their id"},
    {.name = "of",
     .value = "load_balancer|volume|premium",
     .kind = CLI_CHOICE,
     .help = "what usage: a load balancer's requests (default), or bytes"},
    {.name = "against",
     .value = "load_balancer|volume|premium",
     .kind = CLI_CHOICE,
     .help = "what the second book is asked for, where that is something else"},
    {.name = "mix",
     .value = "EU=60,NA=40",
     .kind = CLI_TEXT,
     .help = "premium: regions' shares of the bytes in percent; default EU=100"},
    {.name = "discount", .value = "PERCENT", .kind = CLI_TEXT, .help = "premium: default 0"},
    {.name = "minimum",
     .kind = CLI_FLAG,
     .help = "at least the book's monthly minimum, as if nothing else were billed"},
    {.name = "up-to", .value = "UNITS", .kind = CLI_TEXT, .help = "requests or bytes; default 10^18"},
    {.name = "format",
     .value = "table|json",
     .kind = CLI_CHOICE,
     .help = "default: sentences on a terminal, json otherwise"},
};

#define SOLVE_SPAN                                                                                 \
    DB,                                                                                            \
        {.name = "from",                                                                           \
         .value = "YYYY-MM",                                                                       \
         .kind = CLI_TEXT,                                                                         \
         .required = true,                                                                         \
         .help = "first month, UTC"},                                                              \
        {.name = "to",                                                                             \
         .value = "YYYY-MM",                                                                       \
         .kind = CLI_TEXT,                                                                         \
         .required = true,                                                                         \
         .help = "last month, itself included"},                                                   \
        {.name = "currency",                                                                       \
         .value = "USD",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "whose bills, where the span has several"},                                       \
        {.name = "book",                                                                           \
         .value = "BOOK",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "prices of this book (id, file or scenario file) all over; default: the books in force"}
static const cli_option price_options[] = {
    SOLVE_SPAN,
    ID("account", "ID", "one account; default all"),
    {.name = "price",
     .value = "PATH",
     .kind = CLI_TEXT,
     .required = true,
     .repeats = true,
     .help = "a price of the book, or what holds several: bandwidth.premium.regions.EU, bandwidth"},
    {.name = "target",
     .value = "AMOUNT",
     .kind = CLI_TEXT,
     .help = "what the span is to earn; default what it was billed"},
    {.name = "change", .value = "PERCENT", .kind = CLI_TEXT, .help = "the same as a change"},
    {.name = "digits",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 0,
     .max = 15,
     .help = "of the answer's prices; default one more than they are written with, at least 4"},
    {.name = "format",
     .value = "table|json",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, json otherwise"},
    PROGRESS,
};
static const cli_option commit_options[] = {
    SOLVE_SPAN,
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "whose bills"},
    {.name = "offer",
     .value = "COMMIT=PERCENT",
     .kind = CLI_TEXT,
     .required = true,
     .repeats = true,
     .help = "a monthly commit and what it takes off the prices; ascending"},
    {.name = "between",
     .value = "step|linear",
     .kind = CLI_CHOICE,
     .help = "between two offers: the lower one's discount, or in proportion; default step"},
    {.name = "price",
     .value = "PATH",
     .kind = CLI_TEXT,
     .repeats = true,
     .help = "what the discount is on; default bandwidth, load_balancer and optimizer"},
    {.name = "step", .value = "AMOUNT", .kind = CLI_TEXT, .help = "of commits sought; default 1"},
    {.name = "format",
     .value = "table|json",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, json otherwise"},
    PROGRESS,
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

static const cli_option whatif_options[] = {
    DB,
    {.name = "from",
     .value = "YYYY-MM",
     .kind = CLI_TEXT,
     .required = true,
     .help = "first month, UTC"},
    {.name = "to",
     .value = "YYYY-MM",
     .kind = CLI_TEXT,
     .required = true,
     .help = "last month, included; the running one counts as far as it has come"},
    ID("account", "ID", "one account; default all"),
    {.name = "format",
     .value = "table|json|csv|html",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, json otherwise"},
    {.name = "no-store",
     .kind = CLI_FLAG,
     .help = "do not keep the scenarios in the database"},
    PROGRESS,
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

static const cli_option forecast_options[] = {
    DB,
    ID("account", "ID", "whose month"),
    {.name = "seed",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 0,
     .max = UINT32_MAX,
     .help = "where the generator begins; the same gives the same answer; default 1"},
    {.name = "paths",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 100,
     .max = 100000,
     .help = "rests of the month to draw; default 10000, with --backtest 1000"},
    {.name = "backtest",
     .kind = CLI_FLAG,
     .help = "forecast months that are over, and say how often they came out within p5 to p95"},
    {.name = "format",
     .value = "table|json",
     .kind = CLI_CHOICE,
     .help = "default: table on a terminal, json otherwise"},
    PROGRESS,
};

#define ACCOUNT                                                                                    \
    {                                                                                              \
        .name = "account", .value = "ID", .kind = CLI_NUMBER, .required = true, .min = 1,          \
        .max = INT64_MAX, .help = "whose ledger"                                                   \
    }
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
    {.name = "whatif",
     .operands = "SCENARIO.json...|NAME...",
     .min_operands = 1,
     .max_operands = 4096,
     .summary = "Bill stored months again under other prices or usage",
     .details =
         "A scenario is {\"scenario\":NAME,\"base\":BOOK,\"patch\":{...},\"usage\":[...]}: a price\n"
         "book, a JSON merge patch of it, and factors on usage. Every account is billed by the\n"
         "code that writes the invoices, once as it was and once under each scenario, in one\n"
         "pass. Final months are compared as billed so far, others as they stand.\n"
         "A scenario that was used is kept under its name and hash, and may be named again:\n"
         "NAME is the last of that name, NAME@HASH the one whose SHA-256 begins so. No invoice\n"
         "is touched. Exit status 1: nothing is stored in these months.",
     OPTIONS(whatif_options),
     .run = cli_whatif},
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
    {.name = "forecast",
     .operands = "",
     .summary = "Forecast an account's running month: usage and money, with a 90 % interval",
     .details = "Advice, never a bill. From up to 26 weeks of daily usage: the models that have\n"
                "foretold it best, averaged, and 10,000 possible rests of the month, each rated with\n"
                "the prices in force. With --backtest, --account is optional; the last 12 months are\n"
                "forecast as they stood at the start of their 1st, 6th, 11th, 16th and 21st day.",
     OPTIONS(forecast_options),
     .run = cli_forecast},
    {.name = "ledger pay",
     .summary = "Enter a payment",
     .operation = "ledger enter",
     .fixed = "kind=payment"},
    {.name = "ledger adjust",
     .summary = "Enter an adjustment of the balance",
     .operation = "ledger enter",
     .fixed = "kind=adjustment"},
    {.name = "ledger", .operation = "ledger"},
    {.name = "percentile",
     .operands = "",
     .summary = "Bill a month's traffic by its 95th percentile (95/5)",
     .details = "Of a month's n hourly byte sums the floor(5 % of n) largest are discarded; the next\n"
                "one, as Mbit/s, is the answer. Exact selection, nothing interpolated; hours that\n"
                "hold nothing count as zero and are counted.",
     OPTIONS(percentile_options),
     .run = cli_percentile},
    {.name = "solve break-even",
     .operands = "BOOK [BOOK]",
     .min_operands = 1,
     .max_operands = 2,
     .summary = "Find the usage at which two price books cost the same",
     .details = "A BOOK is a stored book's id, or a file that holds one or a what-if scenario (its base,\n"
                "patched; without one, the first BOOK). All crossings from 0 units on, exact; where\n"
                "both cost the same over a stretch, or the order changes at a tier, a flat or a block\n"
                "without their ever costing the same, the answer says so.",
     OPTIONS(breakeven_options),
     .run = cli_solve_breakeven},
    {.name = "solve price",
     .operands = "",
     .summary = "Find the factor on named prices that earns a given sum over a stored span",
     .details = "Searched over the portfolio, put on the price grid and rated again exactly, with the\n"
                "residual. Exit status 1 where there is none: the prices bill nothing, or everything\n"
                "else alone earns more. Advice: nothing is changed. Try the prices with whatif.",
     OPTIONS(price_options),
     .run = cli_solve_price},
    {.name = "solve commit",
     .operands = "",
     .summary = "Find the monthly commit that would have cost an account least",
     .details = "Each offer is a monthly minimum and the percent that it takes off the prices:\n"
                "--offer 0=0 --offer 500=10 --offer 2000=18. The span is billed again under all of\n"
                "them, and under what lies between with --between linear.",
     OPTIONS(commit_options),
     .run = cli_solve_commit},
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
