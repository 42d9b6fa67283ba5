/* tollbook console: a server on this machine for one person's browser. The link signs in once, so no key is
 * made and none stands in an address; whoever can write the file may do all of it anyway. The browser gets the
 * link from a file of its user's alone. The server does nothing by itself: a file that was only looked at is
 * as it was. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/link_file.h"
#include "cli/serve.h"
#include "cli/signals.h"
#include "tollbook/billsource.h"

#define LINK_MAX (LISTEN_TEXT_MAX + SESSION_TEXT + 64)

extern char **environ;

static link_file to_link; /* one a process: workers and the opener's thread read it */

static void drop_file(void)
{
    link_file_remove(&to_link);
}

static void make_link(const cli_call *call, server *s, char out[LINK_MAX])
{
    char where[LISTEN_TEXT_MAX], text[SESSION_TEXT + 1];
    listen_text(front_listener(s->front), 0, where);
    server_leave_sign_in(s, cli_number(call, "account", 0), drop_file, text);
    snprintf(out, LINK_MAX, "http://%s/console/open?code=%s", where, text);
}

/* An errno; 0: it runs, with the signals that this process keeps for itself let through. */
static int start_browser(char *path, pid_t *ret_pid)
{
    char program[] = "xdg-open";
    char *const arguments[] = {program, path, NULL};
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    sigset_t none;
    sigemptyset(&none);
    if (posix_spawnattr_init(&attributes) != 0) return ENOMEM;
    if (posix_spawn_file_actions_init(&files) != 0) {
        posix_spawnattr_destroy(&attributes);
        return ENOMEM;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0); /* Ctrl-C is for the server, not for the browser */
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    int rc = posix_spawnp(ret_pid, program, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    return rc;
}

/* Arguments of the thread that waits for the opener; some openers return only when the browser is closed. */
typedef struct opener {
    const cli_call *call;
    pid_t pid;
    char link[LINK_MAX];
} opener;

static void say_link(const cli_call *call, const char *link)
{
    cli_say(call, "no browser could be opened. Open this address, which works once:\n%s", link);
}

/* Where the file is gone the link was used: the browser has only been closed. */
static void *wait_for_opener(void *arg)
{
    opener *o = arg;
    int status = 0;
    while (waitpid(o->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if ((!WIFEXITED(status) || WEXITSTATUS(status) != 0) && link_file_remove(&to_link))
        say_link(o->call, o->link);
    free(o);
    return NULL;
}

static void open_browser(const cli_call *call, const char *link)
{
    pthread_t thread;
    opener *o = calloc(1, sizeof *o);
    if (!o || !link_file_write(&to_link, link) || start_browser(to_link.path, &o->pid) != 0) {
        drop_file();
        say_link(call, link);
        free(o);
        return;
    }
    o->call = call;
    memcpy(o->link, link, sizeof o->link);
    if (pthread_create(&thread, NULL, wait_for_opener, o) == 0) pthread_detach(thread);
    else free(o);
}

static int show_console(const cli_call *call, server *s)
{
    char link[LINK_MAX], where[LISTEN_TEXT_MAX];
    make_link(call, s, link);
    listen_text(front_listener(s->front), 0, where);
    if (cli_given(call, "no-open")) {
        cli_say(call, "open this address in a browser; it works once. Ctrl-C ends the console.");
        printf("%s\n", link);
        return fflush(stdout) == 0 ? 0 : cli_done(call);
    }
    cli_say(call, "opening http://%s/console/. Ctrl-C ends it.", where);
    open_browser(call, link);
    return 0;
}

/* An account that is not there would show an empty page and no reason. */
static int check_account(const cli_call *call, int64_t now_us)
{
    tb_store *store;
    tb_error err;
    tb_buf name;
    if (!cli_given(call, "account")) return 0;
    int status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_buf_init(&name, 1 << 16, NULL);
    const int64_t account = cli_number(call, "account", 0);
    const tb_code code = tb_store_account_name(store, account, &name, &err);
    if (code == TB_E_NOT_FOUND) cli_say(call, "There is no account %lld.", (long long)account);
    if (code) status = code == TB_E_NOT_FOUND ? tb_code_exit(code) : cli_fail(call, NULL, &err);
    tb_buf_release(&name);
    tb_store_close(store);
    return status;
}

int cli_console(const cli_call *call)
{
    char listen[32];
    server_options o;
    int64_t now_us;
    const char *fixed = getenv("TOLLBOOK_NOW");
    signals_block();
    int status = cli_clock(call, &now_us);
    if (!status) status = check_account(call, now_us);
    if (status) return status;
    server_defaults(&o);
    snprintf(listen, sizeof listen, "127.0.0.1:%lld", (long long)cli_number(call, "port", 0));
    o.listen[0] = listen;
    o.db = cli_text(call, "db");
    o.idle = true;
    o.clock = cli_now_us;
    if (fixed && *fixed) o.fixed_now_us = now_us;
    status = cli_serve_until_told(call, &o, show_console);
    drop_file();
    return status;
}
