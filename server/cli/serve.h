/* `tollbook serve`: the command line's end of the HTTP face. The wire shapes that --server clients
 * meet (POST /ingest/..., /catalog, /keys) are in docs/openapi.yaml. */
#ifndef TOLLBOOK_SERVER_CLI_SERVE_H
#define TOLLBOOK_SERVER_CLI_SERVE_H

#include "cli/cli.h"
#include "http/server.h"
#include "http/token.h"
#include "cli/secret.h"

/* Serves until SIGTERM or SIGINT; returns the exit status. */
int cli_serve(const cli_call *call);
/* The same for a person who looks at a database: prints or opens a link to its console. */
int cli_console(const cli_call *call);

/* Called once the server answers; not 0: it stops with that status. */
typedef int cli_ready(const cli_call *call, server *s);
/* Serves with these options until SIGTERM or SIGINT, which are blocked (signals.h). */
int cli_serve_until_told(const cli_call *call, server_options *o, cli_ready *ready);

/* The command's option rows beside --db and --threads, for the table of subcommands:
 *     static const cli_option serve_options[] = {DB, THREADS, SERVE_OPTION_ROWS}; */
#define SERVE_NUMBER(name_, value_, min_, max_, help_)                                             \
    {                                                                                              \
        .name = name_, .value = value_, .kind = CLI_NUMBER, .min = min_, .max = max_,              \
        .help = help_                                                                              \
    }
#define SERVE_OPTION_ROWS                                                                          \
    {.name = "listen",                                                                             \
     .value = "ADDR:PORT",                                                                         \
     .kind = CLI_TEXT,                                                                             \
     .repeats = true,                                                                              \
     .help = "where to listen; port 0 picks a free one; default 127.0.0.1:8080"},                  \
        {.name = "logging-listen",                                                                 \
         .value = "ADDR:PORT",                                                                     \
         .kind = CLI_TEXT,                                                                         \
         .help = "a second address for the request logging API only"},                             \
        {.name = "tls-cert",                                                                       \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "speak HTTPS, with this certificate and those of its chain, in PEM form; read again at SIGHUP; default: "  \
                 "plain HTTP"},                                                                    \
        {.name = "tls-key",                                                                        \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "the private key of --tls-cert, in PEM form without a passphrase"},               \
        {.name = "token-key",                                                                      \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "accept bearer tokens, checked with this secret or public key in PEM form; "      \
                 "default none"},                                                                  \
        {.name = "token-alg",                                                                      \
         .value = TOKEN_ALGORITHMS,                                                                \
         .kind = CLI_CHOICE,                                                                       \
         .help = "the only algorithm of those tokens; default HS256"},                             \
        {.name = "port-file",                                                                      \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "write the port to this file once the server listens"},                           \
        SERVE_NUMBER("cache-mb", "N", 0, 1 << 20,                                                  \
                     "memory for encoded answers; 0 turns the cache off; default 64"),             \
        {.name = "rate-limit",                                                                     \
         .value = "off|N",                                                                         \
         .kind = CLI_TEXT,                                                                         \
         .help = "requests a second for each account; default off"},                               \
        SECRET_FILE,                                                                               \
        PROOF_KEY_FILE,                                                                            \
        {.name = "proof-witness",                                                                  \
         .value = "URL=VKEY",                                                                      \
         .kind = CLI_TEXT,                                                                         \
         .repeats = true,                                                                          \
         .help = "have this witness sign each checkpoint (c2sp.org/tlog-witness): its address and verifier key; may be given several times"}, \
        SERVE_NUMBER("proof-witness-timeout-ms", "N", 10, 600000,                                  \
                     "how long a witness may take; it is asked again after a tenth of it, doubled each time; default 10000"), \
        PUBLIC_URL,                                                                                \
        {.name = "search-paged",                                                                   \
         .kind = CLI_FLAG,                                                                         \
         .help = "GET /pullzone?search=X without page answers a page, as the Terraform "           \
                 "provider and four other clients expect; see docs/clients.md"},                   \
        {.name = "cors-origin",                                                                    \
         .value = "ORIGIN",                                                                        \
         .kind = CLI_TEXT,                                                                         \
         .repeats = true,                                                                          \
         .help = "pages of this origin, such as https://console.example, may read answers in "     \
                 "browsers; default none"},                                                        \
        {.name = "console",                                                                        \
         .value = "on|off",                                                                        \
         .kind = CLI_CHOICE,                                                                       \
         .help = "off: no pages under /console/ for people; default on"},                          \
        {.name = "access-log",                                                                     \
         .value = "FILE|-|off",                                                                    \
         .kind = CLI_TEXT,                                                                         \
         .help = "one JSON line a request, \"-\" for standard error; default off"},                \
        {.name = "deploy-hook",                                                                    \
         .value = "PROGRAM",                                                                       \
         .kind = CLI_TEXT,                                                                         \
         .help = "run to deploy a container application: PROGRAM APP ACCOUNT; without it, "        \
                 "deploying succeeds at once"},                                                    \
        SERVE_NUMBER("deploy-timeout-ms", "N", 10, 86400000,                                       \
                     "how long the hook may take; default 300000"),                                \
        {.name = "standby-of",                                                                     \
         .value = "URL",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "be a copy of this server, which has --replicas: follow it and answer what only reads; without "  \
                 "a file at --db one is fetched first. Nothing is sent, and --retain and --alert-url rest. Of several, " \
                 "with commas between them, the one that is the primary"},                                        \
        {.name = "standby-key-file",                                                               \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "a file whose one line is a key of that server with the role Replica"},           \
        {.name = "promotable",                                                                     \
         .kind = CLI_FLAG,                                                                         \
         .help = "with --standby-of: say that this copy may take the primary's place"},            \
        {.name = "standby-url",                                                                    \
         .value = "URL",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "with --standby-of: where the primary and other servers reach this one; default: the first --listen, "  \
                 "unless that is an address of all networks: --promotable needs it then"},                                     \
        SERVE_NUMBER("max-lag", "SECONDS", 1, 86400,                                               \
                     "with --standby-of: GET /readyz is 503 once the copy may lack what is older; default 30"), \
        {.name = "retain",                                                                         \
         .value = "HOURS,DAYS,LOGS",                                                               \
         .kind = CLI_TEXT,                                                                         \
         .help = "delete older data daily: months of hours, months of days, time of request logs, such as " \
                 "25mo,60mo,72h; \"-\" keeps all; default -,-,72h"},\
        {.name = "replicas",                                                                       \
         .kind = CLI_FLAG,                                                                         \
         .help = "let copies follow this database: from now on each commit is kept as a piece "    \
                 "for them; see docs/operate/standby.md"},                                         \
        {.name = "replica-keep",                                                                   \
         .value = "TIME|SIZE",                                                                     \
         .kind = CLI_TEXT,                                                                         \
         .repeats = true,                                                                          \
         .help = "how long pieces are kept, and how many bytes of them; default 24h and 10GB"},    \
        {.name = "acknowledge-after",                                                              \
         .value = "WHEN",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "when a write is answered with success: commit, once it is on this disk, or standby, once all "  \
                 "listed standbys have it too; default commit"},                                   \
        SERVE_NUMBER("standby-wait", "SECONDS", 1, 3600,                                           \
                     "with --acknowledge-after standby: how long an answer waits; default 10"),    \
        {.name = "standby-absent",                                                                 \
         .value = "WHAT",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "what then: refuse, the answer is 503, or continue, answers do not wait for a standby that is "  \
                 "away, nor for one while none is listed; default refuse"},                        \
        CLI_USAGE_OPTIONS,                                                                         \
        SERVE_NUMBER("usage-compact-rows", "N", 0, 1000000000,                                     \
                     "with --usage: a month is compacted once it has this many uncompacted rows; "  \
                     "0: at any row; default 1000000"),                                            \
        SERVE_NUMBER("usage-gather-ms", "N", 10, 10000,                                            \
                     "with --usage: rows that come within this time after an INSERT go with the "    \
                     "next one; default 1000"),                                                    \
        {.name = "cells",                                                                          \
         .value = "WHEN",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "ask followers for cells in place of lines: on, off, or auto, which is on with "  \
                 "--usage; default auto"},                                                         \
        {.name = "alert-url",                                                                      \
         .value = "URL",                                                                           \
         .kind = CLI_TEXT,                                                                         \
         .help = "send alerts and invoice.finalized to this address as signed webhooks; default "  \
                 "none"},                                                                          \
        {.name = "alert-secret-file",                                                              \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "what they are signed with: whsec_ and base64 of 24 to 64 bytes"},                \
        SERVE_NUMBER("alert-timeout-ms", "N", 10, 600000,                                          \
                     "how long the receiver of a message may take; default 10000"),                \
        SERVE_NUMBER("alert-retry-ms", "N", 10, 3600000,                                           \
                     "pause before a message is tried again, doubled each time; default 5000"),    \
        {.name = "purge-hook",                                                                     \
         .value = "PROGRAM",                                                                       \
         .kind = CLI_TEXT,                                                                         \
         .help = "run to purge caches: PROGRAM ACCOUNT ZONE all|tag|url|exact [VALUE]; without "   \
                 "it, purging is refused"},                                                        \
        SERVE_NUMBER("purge-timeout-ms", "N", 10, 600000,                                          \
                     "how long a purge may take; default 30000"),                                  \
        {.name = "registry-secrets",                                                               \
         .value = "FOLDER",                                                                        \
         .kind = CLI_TEXT,                                                                         \
         .help = "a file for each password of an image registry, named as in the catalogue"},      \
        {.name = "ca",                                                                             \
         .value = "FILE",                                                                          \
         .kind = CLI_TEXT,                                                                         \
         .help = "certificates of authorities, one of which has signed those of --alert-url, of "  \
                 "image registries and of usage servers; default: those of the environment's "     \
                 "SSL_CERT_FILE, else the system's"},                                              \
        SERVE_NUMBER("registry-timeout-ms", "N", 10, 600000,                                       \
                     "how long looking up an image's digest may take; default 10000"),             \
        {.name = "metrics-key",                                                                    \
         .kind = CLI_FLAG,                                                                         \
         .help = "GET /metrics needs a key of account 0; default: it is open"},                    \
        SERVE_NUMBER("connections", "N", 1, 4000, "most connections at once; default 512"),        \
        SERVE_NUMBER("per-ip", "N", 0, 4000,                                                       \
                     "most connections of one address except loopback; 0: no limit; default 64"),  \
        SERVE_NUMBER("body-mb", "N", 1, 1024,                                                      \
                     "largest body as sent, in MiB; default 64; decompressed, four times that"),   \
        SERVE_NUMBER("header-timeout-ms", "N", 10, 3600000,                                        \
                     "how long a request's head may take; default 5000"),                          \
        SERVE_NUMBER("body-timeout-ms", "N", 10, 3600000,                                          \
                     "how long a body or an answer may take, plus 1 s per 128 KiB; "               \
                     "default 30000"),                                                             \
        SERVE_NUMBER("idle-timeout-ms", "N", 10, 3600000,                                          \
                     "how long a connection may wait for its next request; default 15000"),        \
        SERVE_NUMBER("start-timeout-ms", "N", 0, 3600000,                                          \
                     "how long a start waits for an address or the database while another process " \
                     "has it, such as the server before it; default 10000"),                       \
        SERVE_NUMBER("stop-timeout-ms", "N", 10, 3600000,                                          \
                     "how long a stop waits for requests in progress; default 10000, three times " \
                     "that for a running ingest")

#endif
