/* The subcommands, one row each. Help and the parser both use the rows. */
#include "cli/cli.h"
#include "cli/config.h"
#include "cli/proof.h"
#include "cli/serve.h"

#define DB {CLI_DB, .required = true}
#define BATCH                                                                                      \
    {                                                                                              \
        .name = "batch", .value = "ID", .kind = CLI_TEXT, .per_call = true,                        \
        .help = "an id for exactly these bytes; with one input only"                               \
    }
#define ON_ERROR(standard)                                                                         \
    {                                                                                              \
        .name = "on-error", .value = "skip|stop", .kind = CLI_CHOICE, .per_call = true,            \
        .help = "set a line that does not parse aside, or stop at it; default " standard           \
    }
#define THREADS                                                                                    \
    {                                                                                              \
        .name = "threads", .value = "N", .kind = CLI_NUMBER, .min = 1, .max = 256,                 \
        .help = "number of threads; default: the machine's cores"                                  \
    }
#define PROGRESS                                                                                   \
    {                                                                                              \
        .name = "progress", .kind = CLI_FLAG, .per_call = true,                                    \
        .help = "show lines, speed and time left on standard error"                                \
    }
#define WITHDRAW                                                                                   \
    {                                                                                              \
        .name = "withdraw", .kind = CLI_FLAG, .per_call = true,                                    \
        .help = "undo: take back what was taken in of these bytes"                                 \
    }
#define ZONE(help_)                                                                  \
    {                                                                                              \
        .name = "zone", .value = "ID", .kind = CLI_NUMBER, .min = 1, .max = INT64_MAX,           \
        .list = "query --db FILE \"SELECT id, account, name FROM zone\"", .help = help_           \
    }

/* The options that take_layout reads. */
#define LOG_LAYOUT                                                                                 \
    {.name = "format",                                                                             \
     .value = "FORMAT",                                                                            \
     .kind = CLI_TEXT,                                                                             \
     .help = "the lines' format, by name or description; default pipe"},                           \
        {.name = "map",                                                                            \
         .value = "MAP",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "the fields of JSON lines: caddy, cloudflare, fastly, or ours=theirs,..."},       \
        ZONE("the pull zone of all lines, where they do not tell it"),                 \
    {                                                                                              \
        .name = "region", .value = "CODE", .kind = CLI_TEXT,                                       \
        .help = "the edge location of all lines, where they do not tell it"                        \
    }

static const cli_option init_options[] = {{CLI_DB, .required = true, .is_new = true}};

static const cli_option setup_options[] = {
    {.name = "unattended",
     .kind = CLI_FLAG,
     .here = true,
     .per_call = true,
     .help = "do nothing if the database is there; leave a new key in FILE.first-key, which a later call shows: for a service, before it starts"},
};
static const cli_option key_create_options[] = {SECRET_FILE};
static const cli_option key_secret_options[] = {};

static const cli_option proof_key_file_options[] = {PROOF_KEY_FILE};
static const cli_option invoice_options[] = {PROOF_KEY_FILE, PUBLIC_URL};
static const cli_option proof_key_options[] = {
    {.name = "new", .value = "FILE", .kind = CLI_TEXT, .per_call = true, .required = true,
     .help = "the key file to make, which only its owner may read"},
    {.name = "name", .value = "NAME", .kind = CLI_TEXT, .per_call = true, .required = true,
     .help = "the log's name, such as example.com/tollbook"},
};
static const cli_option proof_out_options[] = {
    {.name = "out", .value = "FILE", .kind = CLI_TEXT, .per_call = true,
     .help = "the file to write; one that ends in .gz is compressed. Default: standard output"},
};
static const cli_option proof_vkey_options[] = {
    {.name = "key-file", .value = "FILE", .kind = CLI_TEXT, .per_call = true, .required = true, .help = "the key file"},
};

static const cli_option token_options[] = {
    {.name = "token-key",
     .value = "FILE",
     .kind = CLI_TEXT,
     .per_call = true,
     .required = true,
     .help = "the secret, or the private key in PEM form, to sign with"},
    {.name = "token-alg",
     .value = TOKEN_ALGORITHMS,
     .kind = CLI_CHOICE,
     .per_call = true,
     .help = "the algorithm; default HS256"},
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .per_call = true,
     .required = true,
     .min = 1,
     .max = INT64_MAX,
     .list = "account list --db FILE",
     .help = "the account that the token is for"},
    {.name = "role",
     .value = "ROLE",
     .kind = CLI_TEXT,
     .per_call = true,
     .repeats = true,
     .help = "a role of the key; default User"},
    {.name = "hours",
     .value = "N",
     .kind = CLI_NUMBER,
     .per_call = true,
     .min = 1,
     .max = 8784,
     .help = "lifetime in hours; default 24"},
};

static const cli_option follow_options[] = {
    CLI_DB_OR_SERVER,
    LOG_LAYOUT,
    {.name = "every",
     .value = "TIME",
     .kind = CLI_TEXT,
     .help = "how often new lines are shipped: 500ms, 2s, 1m; default 2s"},
    {.name = "bytes",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 1,
     .max = 1 << 30,
     .help = "ship a log earlier once it has so many new bytes; default 1048576"},
    {.name = "once", .kind = CLI_FLAG, .per_call = true, .help = "ship the lines there are, and exit"},
    {.name = "metrics",
     .value = "FILE",
     .kind = CLI_TEXT,
     .help = "write figures to this file, as Prometheus text"},
    {.name = "status",
     .kind = CLI_FLAG,
     .per_call = true,
     .help = "print what a running follower wrote to --metrics FILE, and exit"},
};

static const cli_option ingest_options[] = {
    CLI_DB_OR_SERVER,
    BATCH,
    LOG_LAYOUT,
    ON_ERROR("skip"),
    THREADS,
    {.name = "final",
     .kind = CLI_FLAG,
     .per_call = true,
     .help = "take an unterminated last line of a plain file too"},
    {.name = "every",
     .value = "TIME",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "standard input has no end: store what has come so often, as 500ms, 5s or 1m; default 5s"},
    {.name = "bytes",
     .value = "N",
     .kind = CLI_NUMBER,
     .per_call = true,
     .min = 1,
     .max = 1 << 24,
     .help = "and earlier once so many bytes have come; default 1048576"},
    {.name = "confirm",
     .kind = CLI_FLAG,
     .per_call = true,
     .help = "answer each line with OK once it is stored, as rsyslog's omprog expects"},
    WITHDRAW,
    PROGRESS,
};

static const cli_option import_options[] = {CLI_DB_OR_SERVER, BATCH, ON_ERROR("stop"),
                                            THREADS,      WITHDRAW, PROGRESS};

static const cli_option serve_options[] = {DB, THREADS, SERVE_OPTION_ROWS};

static const cli_option console_options[] = {
    DB,
    {.name = "account",
     .value = "ID",
     .kind = CLI_NUMBER,
     .per_call = true,
     .min = 1,
     .max = INT64_MAX,
     .list = "account list --db FILE",
     .help = "see what this account's key of the role User sees; default: what the operator sees"},
    {.name = "port",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 0,
     .max = 65535,
     .help = "where to listen on 127.0.0.1; default: a free port"},
    {.name = "no-open", .kind = CLI_FLAG, .per_call = true, .help = "print the address and open no browser"},
};

static const cli_option backup_options[] = {
    CLI_DB_OR_SERVER,
    {.name = "to",
     .value = "FILE",
     .kind = CLI_TEXT,
     .per_call = true,
     .is_new = true,
     .help = "the copy, which must not exist yet"},
    {.name = "dir",
     .value = "DIR",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "instead of --to: a folder for copies that are named by their time"},
    {.name = "follow",
     .value = "DIR",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "continuous backup into this folder, which is made where it is missing"},
    {.name = "every",
     .value = "TIME",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "how often --follow ends a file with commits: 500ms, 10s, 1m; default 10s, and at 16 MiB"},
    {.name = "base-every",
     .value = "TIME",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "how often --follow makes a whole copy: 24h, 7d; default 24h"},
    {.name = "keep",
     .value = "N|TIME",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "with --dir: the newest N copies stay, default all; with --follow: how far back DIR can restore, default 30d"},
    {.name = "after-file",
     .value = "COMMAND",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "a program that gets the path of each finished file of DIR, and again until it exits with 0"},
    {.name = "once", .kind = CLI_FLAG, .per_call = true, .help = "catch up with --follow, and exit"},
    CLI_USAGE_OPTIONS,
    PROGRESS,
};

static const cli_option promote_options[] = {
    {CLI_DB},
    {.name = "force",
     .kind = CLI_FLAG,
     .per_call = true,
     .help = "promote it although its primary did not wait for it, or still answers and has more, or it is not verified yet: what the copy lacks is lost"},
};
static const cli_option restore_options[] = {
    {.name = "out",
     .value = "FILE",
     .kind = CLI_TEXT,
     .per_call = true,
     .required = true,
     .is_new = true,
     .help = "the restored database, which must not exist yet"},
    {.name = "at",
     .value = "RFC3339",
     .kind = CLI_TEXT,
     .per_call = true,
     .help = "the moment, as 2026-11-19T14:05:00Z; default: the newest that there is"},
    {.name = "piece",
     .value = "N",
     .kind = CLI_NUMBER,
     .per_call = true,
     .min = 1,
     .max = INT64_MAX,
     .help = "the piece, instead of a moment"},
};

static const cli_option usage_migrate_options[] = {
    DB,
    {.name = "usage",
     .value = "URL",
     .kind = CLI_TEXT,
     .help = "the ClickHouse servers that have the usage now; default: the file has it"},
    {.name = "to",
     .value = "URL",
     .kind = CLI_TEXT,
     .per_call = true,
     .required = true,
     .help = "the ClickHouse servers, each of them a shard: clickhouse://HOST:PORT,HOST:PORT/DATABASE"},
    CLI_USAGE_ACCESS,
    PROGRESS,
};

static const cli_option query_options[] = {
    DB,
    {.name = "format",
     .value = "table|json|csv|tsv",
     .kind = CLI_CHOICE,
     .per_call = true,
     .help = "default: table on a terminal, tab-separated otherwise"},
    {.name = "timeout",
     .value = "SECONDS",
     .kind = CLI_NUMBER,
     .min = 1,
     .max = 86400,
     .help = "stop a query that takes longer, with exit status 3; default no limit"},
    {.name = "memory-mb",
     .value = "N",
     .kind = CLI_NUMBER,
     .min = 16,
     .max = 1048576,
     .help = "the most memory that SQLite may take, in MiB; default 512"},
    CLI_USAGE_OPTIONS,
};

const cli_option cli_common[] = {
    {.name = "config",
     .value = "FILE|none",
     .kind = CLI_TEXT,
     .empty = true,
     .per_call = true,
     .help = "the configuration file; default: that of TOLLBOOK_CONFIG, else " CONFIG_PATH " where it exists"},
    {.name = "log-level",
     .value = "error|warning|info|debug",
     .kind = CLI_CHOICE,
     .help = "the least important messages on standard error; default info"},
    {.name = "log-format",
     .value = "text|json",
     .kind = CLI_CHOICE,
     .help = "how messages are written: for people, or an object a line; default text"},
};
const size_t cli_n_common = sizeof cli_common / sizeof *cli_common;

#define OPTIONS(table) .options = table, .n_options = sizeof table / sizeof *table

const cli_group cli_groups[] = {
    [CLI_SET_UP] = {"Set up", NULL},
    [CLI_SHIP] = {"Take in logs and usage", NULL},
    [CLI_SEE] = {"See statistics", NULL},
    [CLI_BILL] = {"Bill", NULL},
    [CLI_LEDGER] = {"Keep the ledger", NULL},
    [CLI_ASK] = {"Ask what would be", NULL},
    [CLI_RUN] = {"Run and monitor", NULL},
    [CLI_UNDO] = {"Undo and delete",
                  "Undo a log with ingest --withdraw, an invoice with invoice --void, a payment with ledger adjust, and a charge with charge drop."},
};

cli_command cli_commands[] = {
    {.name = "init", .group = CLI_SET_UP,
     .operands = "",
     .summary = "Create an empty database",
     .details = "The file must not exist yet.",
     OPTIONS(init_options),
     .run = cli_init},
    {.name = "setup", .group = CLI_SET_UP, .operation = "setup", .db_first = true, OPTIONS(setup_options), .run = cli_setup},
    {.name = "apply", .group = CLI_SET_UP, .operation = "apply"},
    {.name = "catalog show", .group = CLI_SET_UP, .operation = "catalog show"},
    {.name = "catalog change", .group = CLI_SET_UP, .operation = "catalog change"},
    {.name = "key create", .group = CLI_SET_UP, .operation = "key create", OPTIONS(key_create_options)},
    {.name = "key list", .group = CLI_SET_UP, .operation = "key list"},
    {.name = "key revoke", .group = CLI_SET_UP, .operation = "key revoke"},
    {.name = "key secret", .group = CLI_SET_UP,
     .operands = "",
     .summary = "Print a new secret that seals the texts of keys",
     .details = "Keep it in a file that only you can read, and give that file to `key create` and\n"
                "`serve` with --secret-file: (umask 077; tollbook key secret > FILE)\n"
                "Without it, keys work the same, and GET /apikey shows them masked.",
     OPTIONS(key_secret_options),
     .run = cli_key_secret},
    {.name = "token", .group = CLI_SET_UP,
     .operands = "",
     .summary = "Print a bearer token (JWT) for an account",
     .details = "For `Authorization: Bearer TOKEN`, which `serve --token-key FILE` accepts "
                "besides keys.\n"
                "A secret for HS256: (umask 077; openssl rand -hex 32 > FILE). With RS256 (an RSA key of\n"
                "2048 bits or more) or ES256 (a key on P-256) tokens are signed with the private key and\n"
                "`serve` checks them with the public one: openssl pkey -in FILE -pubout -out OTHER.\n"
                "Nothing is stored: a token cannot be revoked; change the key instead.",
     OPTIONS(token_options),
     .run = cli_token},
    {.name = "ingest", .group = CLI_SHIP,
     .operands = "LOG...|-",
     .min_operands = 1,
     .max_operands = 1 << 20,
     .summary = "Take in request logs, plain, gzip or zstd",
     .details =
         "The same log again changes nothing, a killed run continues where it stopped, and a log\n"
         "that has grown adds only its new lines. Memory is bounded whatever the log's size.\n"
         "\"-\" is standard input. An unterminated last line of a plain file waits for its end;\n"
         "from standard input or a compressed file it is taken.\n"
         "What was taken under another --format, --map, --zone or --region is refused: withdraw it\n"
         "first, or give --batch to count it once more.\n"
         "With --server the same log is known whichever way its parts came, and what is known is\n"
         "not sent. Standard input that begins like a known log is copied to TMPDIR first.\n"
         "\n"
         "--format is one of\n"
         "  pipe                twelve columns or fifteen, see docs/pipe-format.md\n"
         "  combined            nginx's and Apache's combined format; needs --zone\n"
         "  vcombined           Apache's, with %v:%p in front\n"
         "  nginx:'...'         what follows the name in an nginx log_format directive\n"
         "  apache:'%h %l ...'  what follows LogFormat in Apache's configuration, or varnishncsa -F\n"
         "  json                an object a line, with --map\n"
         "  cloudfront          CloudFront's standard logs, by their #Fields: head\n"
         "A line's zone is --zone, or the pull zone in the catalogue that has its host, so that one\n"
         "run takes a log of many virtual hosts. Without an edge location it is \"-\". Where a format\n"
         "does not tell the cache status it is unknown. Examples: docs/formats.md.\n"
         "\n"
         "--every, --bytes and --confirm are for standard input without an end. A stream that began with\n"
         "its file's first byte is known when the file is taken in later; one that began in the middle\n"
         "(tail -F) is not: use `tollbook follow`. See docs/shipping.md.\n"
         "\n"
         "--withdraw takes the same bytes again and takes them back, with the options with which they\n"
         "were taken: counters, kept lines and refused lines, all of a log or nothing of it. Largest\n"
         "values (queued_max, concurrent_max) stay. What a final month has less is credited by the next\n"
         "run. Withdrawn bytes count again when they are taken in again. Exits with 1 where there was\n"
         "nothing to withdraw. See docs/operate/undo.md.",
     OPTIONS(ingest_options),
     .run = cli_ingest},
    {.name = "follow", .group = CLI_SHIP,
     .operands = "FILE-OR-GLOB...",
     .min_operands = 0,
     .max_operands = 1 << 20,
     .summary = "Ship logs as they are written, each line once",
     .details =
         "Follows files through rotation: renamed, copied and truncated, deleted, packed with gzip or\n"
         "zstd. Name the rotated files too, as '/var/log/nginx/access.log*', quoted: then a follower that\n"
         "was away finds what it missed. What was taken before is not taken again, whoever sent it, nor\n"
         "with other options, and no state is kept here. A server that is away is asked again, less and less often, and loses\n"
         "nothing while the files are there. SIGTERM and SIGINT ship what can be shipped in two\n"
         "seconds, and exit with 0.\n"
         "--key-file is a file of one line. --once exits with 1 where a name led to no file, every line of\n"
         "a file was refused or a file was in trouble, and with 3 where the server took nothing. See\n"
         "docs/shipping.md.",
     OPTIONS(follow_options),
     .runs_on = true,
     .run = cli_follow},
    {.name = "import", .group = CLI_SHIP,
     .operands = "BUCKETS.ndjson|-",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Add usage counters, meters' usage and shield events, one JSON object a line, whole or not at all",
     .details = "Plain, gzip or zstd. The same file again changes nothing. A line with \"shield_zone\" "
                "is an event, one with \"meter\" is a meter's usage (docs/import-format.md).\n"
                "\n"
                "--withdraw takes the same file again and takes its counters back, all or nothing.\n"
                "Largest values and shield events stay. See docs/operate/undo.md.",
     OPTIONS(import_options),
     .run = cli_import},
    {.name = "intake", .group = CLI_SHIP, .operation = "intake"},
    {.name = "refused", .group = CLI_SHIP, .operation = "refused"},
    {.name = "stats", .group = CLI_SEE, .operation = "stats"},
    {.name = "meter list", .group = CLI_SEE, .operation = "meter list"},
    {.name = "meter usage", .group = CLI_SEE, .operation = "meter usage"},
    {.name = "usage", .group = CLI_SEE, .operation = "usage"},
    {.name = "percentile", .group = CLI_SEE, .operation = "percentile"},
    {.name = "query", .group = CLI_SEE,
     .operands = "SQL",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Run read-only SQL over the database",
     .details = "The virtual table `buckets` shows the counters as rows. Functions that do more than compute are\n"
                "denied. Ctrl-C and --timeout stop the query at once; the printed rows are "
                "complete.",
     OPTIONS(query_options),
     .run = cli_query},
    {.name = "console", .group = CLI_SEE,
     .operands = "",
     .summary = "Look at a database in a browser",
     .details = "Serves the console on this machine alone and opens it, signed in by a link that works once.\n"
                "It runs no periodic tasks: no request logs are deleted, no days of prepaid accounts are\n"
                "entered, no messages are sent. A database that `serve` holds has its console\n"
                "there, under /console/.",
     OPTIONS(console_options),
     .run = cli_console},
    {.name = "account list", .group = CLI_BILL, .operation = "account list"},
    {.name = "account summary", .group = CLI_BILL, .operation = "account summary"},
    {.name = "book add", .group = CLI_BILL, .operation = "book add"},
    {.name = "book list", .group = CLI_BILL, .operation = "book list"},
    {.name = "book show", .group = CLI_BILL, .operation = "book show"},
    {.name = "book diff", .group = CLI_BILL, .operation = "book diff"},
    {.name = "book activate", .group = CLI_BILL, .operation = "book activate"},
    {.name = "book drop", .group = CLI_BILL, .operation = "book drop"},
    {.name = "book report", .group = CLI_BILL, .operation = "book report"},
    {.name = "book", .group = CLI_BILL,
     .summary = "Add a price book: short for book add",
     .details = "See also: book add, book list, book show, book diff, book activate, book drop,\n"
                "book report.",
     .operation = "book add"},
    {.name = "preview", .group = CLI_BILL, .operation = "preview"},
    {.name = "invoice", .group = CLI_BILL, .operation = "invoice", OPTIONS(invoice_options)},
    {.name = "ledger pay", .group = CLI_LEDGER,
     .summary = "Enter a payment",
     .operation = "ledger enter",
     .fixed = "kind=payment"},
    {.name = "ledger adjust", .group = CLI_LEDGER,
     .summary = "Enter an adjustment of the balance, which is revenue in the general ledger",
     .operation = "ledger enter",
     .fixed = "kind=adjustment"},
    {.name = "charge add", .group = CLI_LEDGER, .operation = "charge add"},
    {.name = "charge list", .group = CLI_LEDGER, .operation = "charge list"},
    {.name = "charge drop", .group = CLI_LEDGER, .operation = "charge drop"},
    {.name = "ledger accrue", .group = CLI_LEDGER, .operation = "ledger accrue"},
    {.name = "ledger grace", .group = CLI_LEDGER, .operation = "ledger grace"},
    {.name = "ledger begin", .group = CLI_LEDGER, .operation = "ledger begin"},
    {.name = "ledger credit", .group = CLI_LEDGER, .operation = "ledger credit"},
    {.name = "ledger aging", .group = CLI_LEDGER, .operation = "ledger aging"},
    {.name = "ledger import", .group = CLI_LEDGER, .operation = "ledger import"},
    {.name = "ledger export", .group = CLI_LEDGER, .operation = "ledger export"},
    {.name = "ledger close", .group = CLI_LEDGER, .operation = "ledger close"},
    {.name = "ledger statement", .group = CLI_LEDGER, .operation = "ledger statement"},
    {.name = "ledger", .group = CLI_LEDGER, .operation = "ledger"},
    {.name = "whatif", .group = CLI_ASK, .operation = "whatif"},
    {.name = "scenario add", .group = CLI_ASK, .operation = "scenario add"},
    {.name = "scenario list", .group = CLI_ASK, .operation = "scenario list"},
    {.name = "scenario show", .group = CLI_ASK, .operation = "scenario show"},
    {.name = "forecast", .group = CLI_ASK, .operation = "forecast"},
    {.name = "solve break-even", .group = CLI_ASK, .operation = "solve break-even"},
    {.name = "solve price", .group = CLI_ASK, .operation = "solve price"},
    {.name = "solve commit", .group = CLI_ASK, .operation = "solve commit"},
    {.name = "serve", .group = CLI_RUN,
     .operands = "",
     .summary = "Answer over HTTP",
     .details = "Holds the database's writer lock: send work to it with --server URL --key KEY.\n"
                "SIGHUP reopens the access log and reads --token-key, --secret-file and --usage-credentials again.\n"
                "SIGUSR1 prints a line of status on standard error. SIGTERM and SIGINT finish the\n"
                "requests in progress and exit. See \"Signals\" in docs/operate/run.md.",
     OPTIONS(serve_options),
     .runs_on = true,
     .run = cli_serve},
    {.name = "status", .group = CLI_RUN, .operation = "status", .once = true, .run = cli_status},
    {.name = "alert list", .group = CLI_RUN, .operation = "alert list"},
    {.name = "alert set", .group = CLI_RUN, .operation = "alert set"},
    {.name = "alert drop", .group = CLI_RUN, .operation = "alert drop"},
    {.name = "alerts", .group = CLI_RUN, .operation = "alerts"},
    {.name = "backup", .group = CLI_RUN,
     .operands = "",
     .summary = "Copy a consistent, verified snapshot",
     .details = "Works beside a running server. The copy passes everything that `verify` checks, "
                "or it is deleted:\n"
                "exit status 1.\n"
                "--dir names the copy of tollbook.db, say, tollbook-20261104T013000Z.db. With --keep the\n"
                "oldest copies of that database in the folder are deleted, after the new one is complete.\n"
                "--follow DIR keeps a verified base and, some seconds behind, every commit after it, of a database that\n"
                "is served with --replicas. `tollbook restore DIR` makes the database as it was at any moment. With --db\n"
                "it reads the file beside its server; with --server it may run on another machine, with a key of the role\n"
                "Replica. A later start goes on. SIGTERM writes what was read, and exits with 0.",
     OPTIONS(backup_options),
     .db_first = true,
     .run = cli_backup},
    {.name = "restore", .group = CLI_RUN,
     .operands = "DIR",
     .min_operands = 1,
     .max_operands = 1,
     .summary = "Restore a database as it was at a moment, from a continuous backup",
     .details = "DIR is the folder of `backup --follow DIR`, or a copy of it. FILE gets its name when it is whole and verified.\n"
                "Prints the data version, the moment and number of the last piece, and the anchor. Replication is off in FILE.",
     OPTIONS(restore_options),
     .run = cli_restore},
    {.name = "verify", .group = CLI_RUN, .operation = "verify", .db_first = true, .run = cli_verify},
    {.name = "anchor", .group = CLI_RUN, .operation = "anchor"},
    {.name = "audit", .group = CLI_RUN, .operation = "audit"},
    {.name = "size", .group = CLI_RUN, .operation = "size"},
    {.name = "usage migrate", .group = CLI_RUN,
     .operands = "",
     .summary = "Move usage to ClickHouse servers, from the file or from other servers",
     .details = "With --usage, a server that serves the file moves the usage itself and goes on serving; the command watches it. Out of\n"
                "the file, nothing may write it meanwhile. What is interrupted goes on with the next call. Before the last step, which\n"
                "is one transaction of the file, all that the new servers hold is compared; a file's request logs and shield events\n"
                "follow it. The servers of --usage are only read, and keep what they have. Then serve it with --usage and the URL of\n"
                "--to.",
     OPTIONS(usage_migrate_options),
     .run = cli_usage_migrate},
    {.name = "promote", .group = CLI_RUN,
     .operands = "",
     .summary = "Make a standby the primary",
     .details = "Of a standby that is served: it applies what has arrived, and takes writes from then on, without a restart; the\n"
                "old primary is told as soon as it answers, and takes no writes any more. Of a copy that no server has open: the next\n"
                "`serve --db FILE` is the primary. Prints the new epoch. What the standby has not got from its primary is lost: stop\n"
                "the primary first if it still runs.",
     OPTIONS(promote_options),
     .run = cli_promote},
    {.name = "replica status", .group = CLI_RUN, .operation = "replica status"},
    {.name = "replica drop", .group = CLI_RUN, .operation = "replica drop"},
    {.name = "replica off", .group = CLI_RUN, .operation = "replica off"},
    {.name = "proof start", .group = CLI_RUN, .operation = "proof start", OPTIONS(proof_key_file_options)},
    {.name = "proof key", .group = CLI_RUN,
     .operands = "",
     .summary = "Make the key that signs checkpoints of the log of documents",
     .details = "The public part is printed: customers check checkpoints with it. Keep a copy of the file: without it\n"
                "the log can go on under another name only.",
     OPTIONS(proof_key_options),
     .run = cli_proof_new_key},
    {.name = "proof vkey", .group = CLI_RUN,
     .operands = "",
     .summary = "Print the public part of a key of the log of documents",
     .details = "It is a verifier key of signed notes (c2sp.org/signed-note).",
     OPTIONS(proof_vkey_options),
     .run = cli_proof_vkey},
    {.name = "proof close-days", .group = CLI_RUN, .operation = "proof close-days", OPTIONS(proof_key_file_options)},
    {.name = "proof checkpoint", .group = CLI_RUN, .operation = "proof checkpoint"},
    {.name = "proof bundle", .group = CLI_BILL, .operation = "proof bundle", OPTIONS(proof_out_options)},
    {.name = "proof receipts", .group = CLI_BILL, .operation = "proof receipts", OPTIONS(proof_out_options)},
    {.name = "retain", .group = CLI_UNDO, .operation = "retain"},
    {.name = "forget", .group = CLI_UNDO, .operation = "forget"},
};
const size_t cli_n_commands = sizeof cli_commands / sizeof *cli_commands;
