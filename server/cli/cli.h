/* Shared by the subcommands: the call, messages, the clock and opening the database.
 *
 * Results go to standard output, messages and progress to standard error. Exit statuses: 0 done,
 * 1 the answer is no, 2 usage or bad input, 3 environment. Each subcommand is one function,
 * `int cli_X(const cli_call *)`, in X.c, and returns the exit status. */
#ifndef TOLLBOOK_SERVER_CLI_CLI_H
#define TOLLBOOK_SERVER_CLI_CLI_H

#include "cli/options.h"
#include "http/marks.h"
#include "tollbook/buf.h"
#include "tollbook/store.h"
#include "usage/servers.h"

int cli_init(const cli_call *call);
int cli_setup(const cli_call *call);
int cli_key_secret(const cli_call *call);
int cli_proof_new_key(const cli_call *call);
int cli_proof_vkey(const cli_call *call);
int cli_ingest(const cli_call *call);
int cli_import(const cli_call *call);
int cli_follow(const cli_call *call);
int cli_token(const cli_call *call);
int cli_verify(const cli_call *call);
int cli_status(const cli_call *call);
int cli_backup(const cli_call *call);
int cli_promote(const cli_call *call);
int cli_restore(const cli_call *call);
int cli_usage_migrate(const cli_call *call);
int cli_query(const cli_call *call);
/* `tollbook --version`. Returns an exit status. */
int cli_version(FILE *out);

extern cli_command cli_commands[];
extern const size_t cli_n_commands;

/* Gives the rows that name an operation their options, operands and help: once, before anything
 * else reads the table. */
void cli_commands_fill(void);
/* Runs the command: its function, or the operation that its row names. */
int cli_run(const cli_call *call);
/* Runs that operation, here or on a running server. */
int cli_operation(const cli_call *call);

/* A message for people on standard error, "tollbook ingest: ...", where its level is wanted (message.h): what went wrong, */
void cli_say(const cli_call *call, const char *fmt, ...) TB_PRINTF(2, 3);
/* what somebody should look at, */
void cli_warn(const cli_call *call, const char *fmt, ...) TB_PRINTF(2, 3);
/* and what was done. */
void cli_note(const cli_call *call, const char *fmt, ...) TB_PRINTF(2, 3);
/* How messages are written from now on: the call's --log-level and --log-format; with their moments where it runs on until
 * it is told to stop. */
void cli_use_messages(const cli_call *call, bool runs_on);
/* Says where each option's value comes from, at level debug. */
void cli_tell_options(const cli_call *call);
/* Says what went wrong, where (subject: a file's name, or NULL; then line and byte) and, where the
 * code has a standing remedy, what to do. Returns the code's exit status. */
int cli_fail(const cli_call *call, const char *subject, const tb_error *err);
/* The same of words that make no call. */
int cli_refuse(const tb_error *err);
/* Flushes standard output; a result that could not be written is exit status 3. */
int cli_done(const cli_call *call);

/* TOLLBOOK_NOW, or the clock. TB_E_USAGE where the variable is not RFC 3339. */
TB_MUST_USE tb_code cli_now(int64_t *ret_now_us, tb_error *err);
/* The same for tb_store_options.clock, once cli_now has succeeded. */
int64_t cli_now_us(void);
/* The same, but prints the error: 0 or the exit status. */
int cli_clock(const cli_call *call, int64_t *ret_now_us);

/* The servers that an option names ("usage"); NULL: it is not there. They live as long as the process. Returns an exit
 * status. */
int cli_usage(const cli_call *call, const char *option, usage_servers **ret_servers);
/* Reads --usage-credentials again, for the servers of --usage. */
TB_MUST_USE tb_code cli_reload_usage(const cli_call *call, tb_error *err);
/* The options that it reads, for the table of subcommands. */
#define CLI_USAGE_OPTIONS                                                                          \
    {.name = "usage",                                                                              \
     .value = "URL",                                                                               \
     .kind = CLI_TEXT,                                                                             \
     .help = "the ClickHouse servers with the usage, each of them a shard: "                       \
             "clickhouse://HOST:PORT,HOST:PORT/DATABASE; default: usage is in the file"},          \
        CLI_USAGE_ACCESS
/* How the usage servers are queried. */
#define CLI_USAGE_ACCESS                                                                           \
    {.name = "usage-credentials",                                                              \
     .value = "FILE",                                                                              \
     .kind = CLI_TEXT,                                                                             \
     .help = "a file with two lines: the user and the password for the usage servers"},   \
        {.name = "usage-ca",                                                                       \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "certificates that those of the servers are signed by, where \"?secure=1\" asks "   \
                 "for TLS; default: those of SSL_CERT_FILE (serve: --ca), else the system's"},       \
        {.name = "usage-cache-mb",                                                                 \
         .value = "N",                                                                             \
         .kind = CLI_NUMBER,                                                                       \
         .min = 0,                                                                                 \
         .max = 65536,                                                                             \
         .help = "mebibytes for days that were read from the servers of --usage and did not "      \
                 "change; default 64"},                                                            \
    {                                                                                              \
        .name = "usage-timeout-ms", .value = "N", .kind = CLI_NUMBER, .min = 10, .max = 600000,    \
        .help = "how long a usage server may take for a statement; default 8000"              \
    }
/* The database of the package's service (tollbook.service), for commands that need no --db. */
#define CLI_SERVICE_DB "/var/lib/tollbook/tollbook.db"
/* Where the database is: of all commands that have one. */
#define CLI_DB                                                                                     \
    .name = "db", .value = "FILE", .kind = CLI_TEXT, .variable = "TOLLBOOK_DB",                    \
    .help = "the database; default: the environment's TOLLBOOK_DB"
/* Instead of it, for commands that a server can run: cli_check_place names the missing option. */
#define CLI_DB_OR_SERVER                                                                           \
    {CLI_DB},                                                                                      \
        {.name = "server",                                                                         \
         .value = "URL[,URL]",                                                                     \
         .kind = CLI_TEXT,                                                                         \
         .variable = "TOLLBOOK_SERVER",                                                            \
         .help = "send the work to this running server instead of --db, or to the primary among several; default: the " \
                 "environment's TOLLBOOK_SERVER"},                                                 \
        {.name = "key",                                                                            \
         .value = "KEY",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .secret = true,                                                                           \
         .help = "the API key for --server; default: the environment's TOLLBOOK_KEY"},             \
        {.name = "key-file",                                                                       \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "a file whose one line is that key; default: the environment's TOLLBOOK_KEY_FILE"}, \
        CLI_CA
/* How the certificate of --server is checked (client.h). */
#define CLI_CA                                                                                     \
    {                                                                                              \
        .name = "ca", .value = "FILE", .kind = CLI_TEXT,                                           \
        .help = "certificates of authorities, one of which has signed that of --server; default: " \
                "those of the environment's SSL_CERT_FILE, else the system's"                      \
    }
/* The file of the authorities by which the certificates of servers are checked: --ca, else SSL_CERT_FILE; NULL: the
 * system's. */
const char *cli_ca(const cli_call *call);
/* Opens --db. On failure says why and returns the exit status; 0: *ret_store is open. Where another
 * process holds the writer's lock and the command has a --server form, the message shows it. */
int cli_open(const cli_call *call, bool write, int64_t now_us, tb_store **ret_store);
/* The same in two parts: tries it, where *ret_status is not 0 if that was said already; and says why it failed. */
TB_MUST_USE tb_code cli_try_open(const cli_call *call, bool write, int64_t now_us, tb_store **ret_store, int *ret_status, tb_error *err);
int cli_open_failed(const cli_call *call, bool write, const tb_error *err);
/* Says where a reader's file has a second name. cli_open does. */
void cli_warn_links(const cli_call *call, const tb_store *store);
/* Notes the moment beside --db (marks.h). Where it cannot be noted a line says so, and no more:
 * what was asked for is done. */
void cli_mark(const cli_call *call, mark_kind which, int64_t now_us);
/* --key, or else the one line of --key-file, or else the environment's TOLLBOOK_KEY or the line of its
 * TOLLBOOK_KEY_FILE; NULL: none of them, or the file is bad and the error was printed. */
const char *cli_key(const cli_call *call);
/* The one line of a file with a key; it lives as long as the process. NULL: it holds none, and the error was printed. */
const char *cli_key_of_file(const cli_call *call, const char *path);
/* For commands that take --db, or --server with a key: 0, or the exit status once it said which is
 * missing or one too many. */
int cli_check_place(const cli_call *call);

/* A whole file ("-": standard input; gzip and zstd too) of at most max bytes: 0, or the exit status
 * once it said why not. The caller releases *ret_content. */
int cli_read_file(const cli_call *call, const char *path, size_t max, tb_buf *ret_content);

#endif
