/* Two tables: the action of each signal, and the files that SIGHUP reads again. Each file is taken over whole or not
 * at all, independently: one that is absent or bad leaves its old contents in force and the others
 * be. */
#include "cli/signals.h"

#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/promote.h"
#include "cli/secret.h"
#include "cli/tls.h"
#include "http/message.h"
#include "http/status.h"

#define STATUS_MAX 4096

/* --- SIGHUP --- */

/* A pipe was read at the start, and opening it again would block until a program writes to it. */
static tb_code check_file(const char *path, bool is_log, tb_error *err)
{
    struct stat is;
    if (is_log || stat(path, &is) != 0 || S_ISREG(is.st_mode)) return TB_OK;
    return tb_fail(err, TB_E_IO, NULL, "%s: not a regular file, so it is read at the start only.",
                   path);
}

static tb_code reopen_log(const cli_call *call, server *s, tb_error *err)
{
    (void)call;
    return accesslog_reopen(s->log, s->options.access_log, err);
}

static tb_code reload_token_key(const cli_call *call, server *s, tb_error *err)
{
    token_key *key;
    tb_code code = cli_load_token_key(call, TOKEN_CHECKS, &key, err);
    return code ? code : server_use_token_key(s, key, err);
}

static tb_code reload_secret(const cli_call *call, server *s, tb_error *err)
{
    cli_secret secret;
    tb_code code = cli_load_secret(call, &secret, err);
    if (!code) code = server_use_secret(s, secret.bytes, err);
    sodium_memzero(&secret, sizeof secret);
    return code;
}

static tb_code reload_alert_secret(const cli_call *call, server *s, tb_error *err)
{
    cli_alert_secret alert;
    tb_code code = cli_load_alert_secret(call, &alert, err);
    if (!code) code = server_use_alert_secret(s, &alert.secrets, sizeof alert.secrets, err);
    sodium_memzero(&alert, sizeof alert);
    return code;
}

/* The row of --tls-cert stands for both files. */
static tb_code reload_tls(const cli_call *call, server *s, tb_error *err)
{
    tls_pair *pair;
    tb_code code = check_file(cli_text(call, "tls-key"), false, err);
    if (!code) code = cli_load_tls(call, &pair, err);
    return code ? code : server_use_tls(s, pair, err);
}

static tb_code reload_usage_login(const cli_call *call, server *s, tb_error *err)
{
    (void)s;
    return cli_reload_usage(call, err);
}

static const struct {
    const char *option, *what;
    bool is_log; /* "-" and "off" are no files */
    tb_code (*again)(const cli_call *call, server *s, tb_error *err);
} files[] = {
    {"access-log", "the access log", true, reopen_log},
    {"token-key", "the token key", false, reload_token_key},
    {"secret-file", "the secret file", false, reload_secret},
    {"alert-secret-file", "the alert secret file", false, reload_alert_secret},
    {"usage-credentials", "the login of the usage servers", false, reload_usage_login},
    {"tls-cert", "the TLS certificate", false, reload_tls},
};
#define FILES (sizeof files / sizeof *files)

/* The i-th file's path; NULL: there is none. */
static const char *path_of(const cli_call *call, size_t i)
{
    const char *path = cli_text(call, files[i].option);
    if (!path || !files[i].is_log) return path;
    return strcmp(path, "-") == 0 || strcmp(path, "off") == 0 ? NULL : path;
}

static void reload(const cli_call *call, server *s)
{
    char done[256] = "";
    size_t used = 0;
    tb_error err;
    for (size_t i = 0; i < FILES; i++) {
        const char *path = path_of(call, i);
        if (!path) continue;
        tb_code code = check_file(path, files[i].is_log, &err);
        if (!code) code = files[i].again(call, s, &err);
        if (code) {
            cli_warn(call, "SIGHUP: %s stays as it was: %s", files[i].what, err.message);
            continue;
        }
        used += (size_t)snprintf(done + used, sizeof done - used, "%s%s", used ? ", " : "",
                                 files[i].what);
    }
    cli_note(call, "SIGHUP: reloaded %s", used ? done : "nothing");
}

/* --- SIGUSR1 --- */

static void say_status(const cli_call *call, server *s)
{
    (void)call;
    tb_buf line;
    tb_buf_init(&line, STATUS_MAX, NULL);
    tb_buf_str(&line, "status ");
    status_put(s, &line);
    tb_buf_add(&line, "", 1);
    if (!line.failed) message_put(MESSAGE_INFO, line.data); /* asked for, whatever --log-level is */
    tb_buf_release(&line);
}

/* --- all --- */

static const struct {
    int number;
    void (*act)(const cli_call *call, server *s); /* NULL: stop */
} signals[] = {{SIGTERM, NULL}, {SIGINT, NULL}, {SIGHUP, reload}, {SIGUSR1, say_status}, {SIGUSR2, promote_asked}};
#define SIGNALS (sizeof signals / sizeof *signals)

static sigset_t set_of_all(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < SIGNALS; i++)
        sigaddset(&set, signals[i].number);
    return set;
}

void signals_let(bool through)
{
    const sigset_t set = set_of_all();
    pthread_sigmask(through ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

void signals_block(void)
{
    signals_let(false);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGUSR2, SIG_IGN); /* where it is let through; sigwait gets it all the same */
}

void signals_serve(const cli_call *call, server *s)
{
    const sigset_t set = set_of_all();
    for (;;) {
        int number;
        size_t i = 0;
        if (sigwait(&set, &number) != 0) continue;
        while (signals[i].number != number)
            i++;
        if (!signals[i].act) break;
        signals[i].act(call, s);
    }
    for (size_t i = 0; i < SIGNALS; i++)
        signal(signals[i].number, signals[i].act ? SIG_IGN : SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
