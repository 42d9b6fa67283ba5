/* tollbook serve: options to server_options, the first lines on standard error, and the way from
 * start to stop. The first SIGTERM or SIGINT asks for a graceful stop, a second one ends the
 * process at once, which loses nothing that was acknowledged. */
#include "cli/proof.h"
#include "cli/serve.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/accrue.h"
#include "api/handlers.h"
#include "api/alerts.h"
#include "api/retain.h"
#include "api/routes.h"
#include "api/witness.h"
#include "cli/hint.h"
#include "cli/replicas.h"
#include "cli/signals.h"
#include "cli/standby.h"
#include "cli/systemd.h"
#include "cli/tls.h"
#include "feed/feed.h"
#include "http/message.h"
#include "http/new_file.h"
#include "http/server.h"

#define MIB ((size_t)1 << 20)
#define PENDING_LEAST 64
#define ALERT_TIMEOUT_MS 10000
#define WITNESS_TIMEOUT_MS 10000
#define START_TIMEOUT_MS 10000 /* a server before it may take as long to stop (--stop-timeout-ms) */
#define SPARE_FILES 128 /* descriptors beside the connections': stores, sockets, logs */

static int bad_option(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* --- options --- */

static int read_listen(const cli_call *call, server_options *o)
{
    size_t n = 0;
    for (size_t i = 0; i < call->n_values; i++) {
        if (strcmp(call->values[i].option->name, "listen") != 0) continue;
        if (n == LISTEN_MAX) return bad_option(call, "--listen may be given at most eight times.");
        o->listen[n++] = call->values[i].text;
    }
    if (n) o->n_listen = n;
    o->logging_listen = cli_text(call, "logging-listen");
    if (o->logging_listen && o->n_listen == LISTEN_MAX)
        return bad_option(call, "--listen may be given at most seven times with --logging-listen.");
    return 0;
}

static int read_origins(const cli_call *call, server_options *o)
{
    for (size_t i = 0; i < call->n_values; i++) {
        const char *text = call->values[i].text;
        if (strcmp(call->values[i].option->name, "cors-origin") != 0) continue;
        if (o->n_cors == CORS_ORIGINS_MAX)
            return bad_option(call, "--cors-origin may be given at most sixteen times.");
        if (!cors_origin_valid(text)) {
            cli_say(call, "--cors-origin %s: must be a scheme and a host as browsers send them, in lower "
                          "case and without a path, such as https://console.example.", text);
            return tb_code_exit(TB_E_USAGE);
        }
        o->cors[o->n_cors++] = text;
    }
    return 0;
}

static int read_rate(const cli_call *call, server_options *o)
{
    const char *text = cli_text(call, "rate-limit");
    if (!text || strcmp(text, "off") == 0) return 0;
    uint32_t n = 0;
    size_t len = strnlen(text, 8);
    for (size_t i = 0; i < len && text[i] >= '0' && text[i] <= '9'; i++)
        n = n * 10 + (uint32_t)(text[i] - '0');
    if (len > 7 || n == 0 || strspn(text, "0123456789") != len)
        return bad_option(call, "--rate-limit is \"off\" or a number of requests a second.");
    o->rate_limit = n;
    return 0;
}

static void read_numbers(const cli_call *call, server_options *o)
{
    conns_limits *l = &o->limits;
    o->threads = (unsigned)cli_number(call, "threads", o->threads);
    if (o->threads > SERVER_WORKERS_MAX) o->threads = SERVER_WORKERS_MAX;
    o->cache_bytes = (size_t)cli_number(call, "cache-mb", (int64_t)(o->cache_bytes / MIB)) * MIB;
    o->compact_rows = (uint64_t)cli_number(call, "usage-compact-rows", COMPACTOR_ROWS);
    o->gather_us = cli_number(call, "usage-gather-ms", WRITER_GATHER_US / 1000) * 1000;
    l->most = (unsigned)cli_number(call, "connections", l->most);
    l->per_ip = (unsigned)cli_number(call, "per-ip", l->per_ip);
    l->head_us = cli_number(call, "header-timeout-ms", l->head_us / 1000) * 1000;
    l->body_us = cli_number(call, "body-timeout-ms", l->body_us / 1000) * 1000;
    l->idle_us = cli_number(call, "idle-timeout-ms", l->idle_us / 1000) * 1000;
    o->deploy_us = cli_number(call, "deploy-timeout-ms", o->deploy_us / 1000) * 1000;
    o->purge_us = cli_number(call, "purge-timeout-ms", o->purge_us / 1000) * 1000;
    o->registry_us = cli_number(call, "registry-timeout-ms", o->registry_us / 1000) * 1000;
    o->start_us = cli_number(call, "start-timeout-ms", START_TIMEOUT_MS) * 1000;
    o->stop_us = cli_number(call, "stop-timeout-ms", o->stop_us / 1000) * 1000;
    o->body_max = (size_t)cli_number(call, "body-mb", (int64_t)(o->body_max / MIB)) * MIB;
    o->plain_max = o->body_max * 4;
    if (o->bodies_max < o->body_max * 2) o->bodies_max = o->body_max * 2;
}

/* Found wanting now, not when the first customer deploys or purges. */
static int read_hook(const cli_call *call, const char *option, const char **ret_hook)
{
    struct stat is;
    const char *hook = *ret_hook = cli_text(call, option);
    if (!hook || (strchr(hook, '/') && stat(hook, &is) == 0 && S_ISREG(is.st_mode) &&
                  access(hook, X_OK) == 0))
        return 0;
    cli_say(call, "--%s %s: must be the path, with a '/', of a program that can be run; "
                  "no shell is started for it.", option, hook);
    return tb_code_exit(TB_E_USAGE);
}

/* The folder is found wanting now; passwords are read when they are needed. */
static int read_registry_secrets(const cli_call *call, server_options *o)
{
    char path[4096];
    o->registry_secrets = cli_text(call, "registry-secrets");
    if (!o->registry_secrets) return 0;
    DIR *folder = opendir(o->registry_secrets);
    if (!folder) {
        cli_say(call, "--registry-secrets %s: %s; it is a folder with a file for each password.",
                o->registry_secrets, strerror(errno));
        return tb_code_exit(TB_E_USAGE);
    }
    for (const struct dirent *entry; (entry = readdir(folder));) {
        int n = snprintf(path, sizeof path, "%s/%s", o->registry_secrets, entry->d_name);
        if (n > 0 && (size_t)n < sizeof path)
            cli_warn_open(call, "the password of a registry", path);
    }
    closedir(folder);
    return 0;
}

static int read_proof(const cli_call *call, server_options *o)
{
    cli_proof_key key;
    const int status = cli_read_proof_key(call, &key);
    if (status) return status;
    o->tasks[o->n_tasks++] = api_proof_days(key.there ? &key.secret : NULL);
    sodium_memzero(&key, sizeof key);
    return cli_public_url(call, &o->public_url);
}

static int read_witnesses(const cli_call *call, server_options *o)
{
    api_witness list[WITNESSES_MAX];
    unsigned n = 0;
    tb_error err;
    for (size_t i = 0; i < call->n_values; i++) {
        const char *text = call->values[i].text;
        if (strcmp(call->values[i].option->name, "proof-witness") != 0) continue;
        if (n == WITNESSES_MAX) return bad_option(call, "--proof-witness may be given at most eight times.");
        if (api_witness_read(text, &list[n++], &err)) {
            cli_say(call, "--proof-witness %.200s: %s", text, err.message);
            return tb_code_exit(TB_E_USAGE);
        }
    }
    const int64_t limit_us = cli_number(call, "proof-witness-timeout-ms", WITNESS_TIMEOUT_MS) * 1000;
    if (api_witnesses(list, n, o->ca, limit_us, &o->witness, &err) == TB_OK) return 0;
    cli_say(call, "--proof-witness: %s", err.message);
    return tb_code_exit(TB_E_USAGE);
}

static int read_retain(const cli_call *call, server_options *o)
{
    const char *text = cli_text(call, "retain");
    tb_error err;
    if (!text) return 0;
    if (api_retain(text, &o->tasks[o->n_tasks], &err) == TB_OK) {
        o->n_tasks++;
        return 0;
    }
    cli_say(call, "--retain %.40s: %s", text, err.message);
    return tb_code_exit(TB_E_USAGE);
}

/* NULL, or why it is no file with certificates (PEM). */
static const char *why_no_certificates(const char *path)
{
    char line[200];
    FILE *file = fopen(path, "re");
    bool found = false;
    if (!file) return strerror(errno);
    while (!found && fgets(line, sizeof line, file))
        found = strncmp(line, "-----BEGIN ", 11) == 0 && strstr(line, "CERTIFICATE-----");
    const char *why = found ? NULL : ferror(file) ? strerror(errno) : "there is no certificate in it (PEM)";
    fclose(file);
    return why;
}

/* A file named by --ca must hold certificates; one from the environment may be meant for other programs. */
static int read_ca(const cli_call *call, server_options *o)
{
    o->ca = cli_ca(call);
    const char *why = cli_given(call, "ca") ? why_no_certificates(o->ca) : NULL;
    if (!why) return 0;
    cli_say(call, "--ca %s: %s.", o->ca, why);
    return tb_code_exit(TB_E_USAGE);
}

static int read_alerts(const cli_call *call, server_options *o)
{
    const char *url = cli_text(call, "alert-url");
    const int64_t limit_us = cli_number(call, "alert-timeout-ms", ALERT_TIMEOUT_MS) * 1000;
    const int64_t pause_us = cli_number(call, "alert-retry-ms", TB_OUTBOX_PAUSE_US / 1000) * 1000;
    tb_error err;
    if (!url != !cli_text(call, "alert-secret-file"))
        return bad_option(call, "--alert-url and --alert-secret-file need each other.");
    if (!url) {
        o->tasks[o->n_tasks++] = api_caps();
        return 0;
    }
    if (api_alerts(url, o->ca, limit_us, pause_us, &o->outbox, &o->tasks[o->n_tasks], &err) == TB_OK) {
        o->n_tasks++;
        return 0;
    }
    cli_say(call, "--alert-url %.200s: %s", url, err.message);
    return tb_code_exit(TB_E_USAGE);
}

/* Makes followers sum their logs up if this server is to relay them. */
static int read_cells(const cli_call *call, server_options *o)
{
    const char *when = cli_text(call, "cells");
    o->cells = when && strcmp(when, "auto") != 0 ? strcmp(when, "on") == 0 : o->usage != NULL;
    if (!when || !strcmp(when, "auto") || !strcmp(when, "on") || !strcmp(when, "off")) return 0;
    cli_say(call, "--cells takes on, off or auto.");
    return tb_code_exit(TB_E_USAGE);
}

static int read_options(const cli_call *call, server_options *o)
{
    tb_error err;
    int64_t now_us;
    const char *fixed = getenv("TOLLBOOK_NOW"), *log = cli_text(call, "access-log");
    server_defaults(o);
    o->tasks[o->n_tasks++] = api_accrue();
    o->tasks[o->n_tasks++] = api_expire_event_ids();
    o->db = cli_text(call, "db");
    o->clock = cli_now_us;
    if (log && strcmp(log, "off") != 0) o->access_log = log;
    o->search_paged = cli_given(call, "search-paged");
    o->metrics_key = cli_given(call, "metrics-key");
    if (fixed && *fixed) {
        if (cli_now(&now_us, &err) != TB_OK) return cli_fail(call, NULL, &err);
        o->fixed_now_us = now_us;
    }
    read_numbers(call, o);
    int status = read_listen(call, o);
    if (status == 0) status = read_ca(call, o);
    if (status == 0) status = read_origins(call, o);
    if (status == 0) status = read_hook(call, "deploy-hook", &o->deploy_hook);
    if (status == 0) status = read_hook(call, "purge-hook", &o->purge_hook);
    if (status == 0) status = read_registry_secrets(call, o);
    if (status == 0) status = read_proof(call, o);
    if (status == 0) status = read_witnesses(call, o);
    if (status == 0) status = read_retain(call, o);
    if (status == 0) status = cli_read_replicas(call, o);
    if (status == 0) status = read_alerts(call, o);
    if (status == 0) status = cli_usage(call, "usage", &o->usage);
    if (status == 0) status = read_cells(call, o);
    if (status == 0) status = cli_read_standby(call, o);
    return status ? status : read_rate(call, o);
}

/* --- the process --- */

/* If there are not as many as wanted, fewer connections may be pending. */
static void raise_file_limit(server_options *o)
{
    struct rlimit files;
    const rlim_t served = o->limits.most + SPARE_FILES + o->threads * 8, want = served + o->pending_most;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= want) return;
    files.rlim_cur = want < files.rlim_max ? want : files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files); /* where it fails, accepting waits for free descriptors */
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= want) return;
    o->pending_most = files.rlim_cur > served + PENDING_LEAST ? (unsigned)(files.rlim_cur - served)
                                                          : PENDING_LEAST;
}

static int write_port(const cli_call *call, const server *s)
{
    const char *path = cli_text(call, "port-file");
    char port[16];
    if (!path) return 0;
    const int n = snprintf(port, sizeof port, "%u\n", listen_port(front_listener(s->front), 0));
    if (new_file_put(AT_FDCWD, path, 0666, port, (size_t)n)) return 0;
    cli_say(call, "The port file %s cannot be written: %s.", path, strerror(errno));
    return tb_code_exit(TB_E_IO);
}

static void say_where(const cli_call *call, const server *s)
{
    char text[LISTEN_TEXT_MAX];
    const listener *l = front_listener(s->front);
    for (size_t i = 0; i < l->n; i++) {
        listen_text(l, i, text);
        bool logs = i >= s->options.n_listen;
        cli_note(call, "listening on %s://%s%s", s->options.tls ? "https" : "http", text, logs ? " for request logs" : "");
    }
}

static int run_server(const cli_call *call, server *s, cli_ready *ready)
{
    tb_error err;
    if (server_start(s, &err) != TB_OK) {
        cli_fail(call, NULL, &err);
        _exit(tb_code_exit(err.code)); /* some threads may run: nothing of theirs may be freed */
    }
    int status = ready(call, s);
    if (status == 0) {
        signals_serve(call, s);
        cli_note(call, "stopping: requests in progress are finished first");
    }
    if (!server_stop(s)) {
        cli_say(call, "A write did not end in time. It is abandoned and has no effect.");
        _exit(tb_code_exit(TB_E_IO));
    }
    if (atomic_load(&s->restarts)) status = tb_code_exit(TB_E_IO); /* so that the service manager starts it again */
    server_free(s);
    return status;
}

/* Contents of files, read before anything listens. Taken over by open_with. */
typedef struct kept {
    token_key *token; /* NULL: none */
    cli_secret secret;
    cli_alert_secret alert;
    tls_pair *tls; /* NULL: plain HTTP */
} kept;

static int read_kept(const cli_call *call, kept *k)
{
    *k = (kept){0};
    tb_error err;
    int status = cli_load_alert_secret(call, &k->alert, &err) ? cli_fail(call, NULL, &err) : 0;
    if (!status) status = cli_read_secret(call, &k->secret);
    if (!status) status = cli_read_token_key(call, TOKEN_CHECKS, &k->token);
    if (!status && cli_load_tls(call, &k->tls, &err)) status = cli_fail(call, NULL, &err);
    return status;
}

static tb_code open_with(const server_options *options, bool console, kept *k, server **ret_server,
                         tb_error *err)
{
    server *s = NULL;
    const size_t n_routes = api_n_routes - (console ? 0 : API_CONSOLE_ROUTES);
    tb_code code = server_open(options, api_routes, n_routes, &s, err);
    if (!code && k->secret.there) code = server_use_secret(s, k->secret.bytes, err);
    if (!code && k->alert.there)
        code = server_use_alert_secret(s, &k->alert.secrets, sizeof k->alert.secrets, err);
    sodium_memzero(&k->alert, sizeof k->alert);
    if (!code && k->tls) {
        code = server_use_tls(s, k->tls, err);
        k->tls = NULL;
    }
    tls_pair_release(k->tls);
    if (!code && k->token) {
        code = server_use_token_key(s, k->token, err);
        k->token = NULL;
    }
    sodium_memzero(&k->secret, sizeof k->secret);
    token_key_free(k->token);
    if (code) server_free(s);
    else *ret_server = s;
    return code;
}

static const cli_call *serving;

static void put_hint(const char *text, tb_buf *out)
{
    hint_put(serving, cli_commands, cli_n_commands, text, out);
}

static int serve_kept(const cli_call *call, server_options *o, kept *k, cli_ready *ready)
{
    const bool console = !cli_is(call, "console", "off");
    server *s;
    tb_error err;
    serving = call;
    message_use_hints(put_hint);
    raise_file_limit(o);
    /* Answers and bodies of some hundred KB come and go. Their memory stays with the process until the writer is idle
     * (malloc_trim, http/server.c): new memory costs a page fault for each 4 KB. */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
    api_start();
    const tb_code code = open_with(o, console, k, &s, &err);
    return code ? cli_fail(call, NULL, &err) : run_server(call, s, ready);
}

int cli_serve_until_told(const cli_call *call, server_options *o, cli_ready *ready)
{
    kept none = {0};
    return serve_kept(call, o, &none, ready);
}

/* The file is written last: everything else is printed before a program that waits for it goes on. */
static int say_ready(const cli_call *call, server *s)
{
    say_where(call, s);
    cli_warn_replicas(call, s);
    systemd_ready();
    return write_port(call, s);
}

int cli_serve(const cli_call *call)
{
    server_options options;
    kept k;
    signals_block();
    int status = read_options(call, &options);
    if (status == 0) status = cli_seed_standby(call, &options);
    if (status == 0) status = read_kept(call, &k);
    if (status) return status;
    options.tls = k.tls != NULL;
    return serve_kept(call, &options, &k, say_ready);
}
