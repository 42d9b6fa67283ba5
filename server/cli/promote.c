/* tollbook promote: a standby becomes the primary. Where its file is served, the server does it; else the file is changed,
 * and whoever serves it next is the primary.
 *
 * The number of a process may be another process's by now, or in another container. So the process is held by a
 * descriptor, and must have the database open, before it gets a signal. */
#include "cli/promote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "http/replicas.h"
#include "standby/seed.h"
#include "tollbook/replica.h"

#define LOOK_MS  10      /* between two looks for the answer */
#define WAIT_MS  60000
#define TEXT_MOST 1024   /* of the file */
#define ASK      "promote\n"
#define ASK_FORCE "promote force\n"
#define DONE     "epoch "
#define REFUSED  "refused "

static int fail(const cli_call *call, tb_code code, const char *fmt, ...) TB_PRINTF(3, 4);

static int fail(const cli_call *call, tb_code code, const char *fmt, ...)
{
    char text[TEXT_MOST];
    va_list values;
    va_start(values, fmt);
    vsnprintf(text, sizeof text, fmt, values);
    va_end(values);
    cli_say(call, "%s", text);
    return tb_code_exit(code);
}

/* FILE.promote, of the file's real name. */
static bool name_request(const char *db, char out[PATH_MAX + 16])
{
    char real[PATH_MAX];
    if (!realpath(db, real)) return false;
    snprintf(out, PATH_MAX + 16, "%s.promote", real);
    return true;
}

/* --- the server's side --- */

/* The request's descriptor; -1: there is none from whoever may write here. */
static int open_request(const char *db, bool *ret_force)
{
    char path[PATH_MAX + 16], text[32] = "";
    struct stat is;
    if (!name_request(db, path)) return -1;
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    /* The command holds a lock on it: one without is a leftover of a command that was killed. */
    const bool waits = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    const bool ours = waits && fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_nlink == 1 && (is.st_uid == geteuid() || is.st_uid == 0);
    const ssize_t n = ours ? pread(fd, text, sizeof text - 1, 0) : -1;
    *ret_force = n > 0 && strcmp(text, ASK_FORCE) == 0;
    if (n > 0 && (*ret_force || strcmp(text, ASK) == 0)) return fd;
    close(fd);
    return -1;
}

void promote_asked(const cli_call *call, server *s)
{
    char said[TEXT_MOST];
    tb_error err;
    int64_t epoch = 0;
    bool force;
    const int fd = open_request(s->options.db, &force);
    if (fd < 0) {
        cli_note(call, "SIGUSR2: `tollbook promote` sends it; there is no request of that beside the database");
        return;
    }
    const tb_code code = replicas_promote(s, force, &epoch, &err);
    const int n = code ? snprintf(said, sizeof said, REFUSED "%d %s\n", (int)code, err.message)
                       : snprintf(said, sizeof said, DONE "%" PRId64 "\n", epoch);
    if (pwrite(fd, said, (size_t)n, (off_t)strlen(force ? ASK_FORCE : ASK)) != n)
        cli_warn(call, "the answer to `tollbook promote` cannot be written: %s. %s", strerror(errno), said);
    close(fd);
}

/* --- the command --- */

typedef struct asking {
    const cli_call *call;
    char path[PATH_MAX + 16];
    const char *text; /* what is asked for */
    int fd, process;
} asking;

static bool has_open(long process, const struct stat *file)
{
    char folder[40];
    struct stat is;
    bool found = false;
    snprintf(folder, sizeof folder, "/proc/%ld/fd", process);
    DIR *all = opendir(folder);
    for (const struct dirent *one; all && !found && (one = readdir(all));)
        found = fstatat(dirfd(all), one->d_name, &is, 0) == 0 && is.st_dev == file->st_dev && is.st_ino == file->st_ino;
    if (all) closedir(all);
    return found;
}

/* A descriptor of the server's process; else -1, and it was said why not. */
static int hold_server(const cli_call *call, const tb_writer *holder, const char *db)
{
    struct stat file;
    const char *at = strstr(holder->name, "(process ");
    const long process = at ? strtol(at + strlen("(process "), NULL, 10) : 0;
    const int held = process > 0 ? (int)syscall(SYS_pidfd_open, (pid_t)process, 0) : -1;
    if (held >= 0 && strncmp(holder->name, "serve ", 6) == 0 && stat(db, &file) == 0 && has_open(process, &file)) return held;
    cli_say(call, "%s is written by %s, which is no server that this command can reach: where it runs in a container or as another "
                  "user, run this there or as root, or send POST /replica/promote with an operator's key.", db, holder->name);
    if (held >= 0) close(held);
    return -1;
}

/* Owned by the database's owner, so that its server can open it. */
static bool make_request(asking *a, const char *db)
{
    struct stat is;
    if (!name_request(db, a->path) || stat(db, &is) != 0) return false;
    unlink(a->path); /* of a command that was killed */
    a->fd = open(a->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (a->fd < 0 || flock(a->fd, LOCK_EX | LOCK_NB) != 0) return false;
    const ssize_t len = (ssize_t)strlen(a->text);
    return (geteuid() != 0 || fchown(a->fd, is.st_uid, is.st_gid) == 0) && pwrite(a->fd, a->text, (size_t)len, 0) == len;
}

/* Waits for the line of the answer; empty: there is none. */
static void wait_for_answer(const asking *a, char said[TEXT_MOST])
{
    struct pollfd ended = {.fd = a->process, .events = POLLIN};
    for (int ms = 0; ms < WAIT_MS; ms += LOOK_MS) {
        const bool over = poll(&ended, 1, LOOK_MS) > 0;
        const ssize_t n = pread(a->fd, said, TEXT_MOST - 1, (off_t)strlen(a->text));
        said[n > 0 ? n : 0] = 0;
        char *end = strchr(said, '\n');
        if (end) *end = 0;
        if (end) return;
        if (over) break;
    }
    said[0] = 0;
}

static int tell_answer(const asking *a, const char *said)
{
    if (strncmp(said, DONE, strlen(DONE)) == 0) {
        printf("%s\n", said);
        return cli_done(a->call);
    }
    if (strncmp(said, REFUSED, strlen(REFUSED)) != 0)
        return fail(a->call, TB_E_IO, "%s: its server does not answer: look into its log, and at `replica status`.", cli_text(a->call, "db"));
    char *text;
    const long code = strtol(said + strlen(REFUSED), &text, 10);
    return fail(a->call, (tb_code)code, "%s is not promoted.%s", cli_text(a->call, "db"), text);
}

static int ask_server(const cli_call *call, const tb_writer *holder)
{
    const char *db = cli_text(call, "db");
    char said[TEXT_MOST] = "";
    asking a = {.call = call, .text = cli_given(call, "force") ? ASK_FORCE : ASK, .fd = -1};
    int status;
    a.process = hold_server(call, holder, db);
    if (a.process < 0) return tb_code_exit(TB_E_LOCKED);
    if (!make_request(&a, db)) {
        status = fail(call, TB_E_IO, "%s.promote: %s; this user must be able to write beside the database.", db, strerror(errno));
    } else if (syscall(SYS_pidfd_send_signal, a.process, SIGUSR2, NULL, 0) != 0) {
        status = fail(call, TB_E_IO, "%s: its server cannot be told: %s.", db, strerror(errno));
    } else {
        wait_for_answer(&a, said);
        status = tell_answer(&a, said);
    }
    if (a.fd >= 0) unlink(a.path);
    if (a.fd >= 0) close(a.fd);
    close(a.process);
    return status;
}

/* Whether a standby of this machine is listed: names begin with the machine's. */
static tb_code check_listed(const cli_call *call, tb_store *store, tb_error *err)
{
    char host[TB_FOLLOWER_NAME] = "";
    tb_standby list[TB_STANDBYS_MAX];
    size_t n;
    tb_replication now;
    tb_code code = tb_store_replication(store, &now, err);
    if (!code && !now.last.number) code = tb_fail(err, TB_E_REPLICA_OFF, NULL, NULL);
    if (!code) code = tb_store_standbys(store, list, &n, err);
    if (code || cli_given(call, "force")) return code;
    gethostname(host, sizeof host - 1);
    for (size_t i = 0; i < n; i++)
        if (strncmp(list[i].name, host, strlen(host)) == 0 && list[i].name[strlen(host)] == '-') return TB_OK;
    return tb_fail(err, TB_E_REPLICA_NOT_PROMOTED, NULL, "No standby of this machine (%.64s) is listed in it, so its primary may have "
                   "waited for no answer of it: what the primary acknowledged last may be lost. --force promotes it all the same.", host);
}

static int promote_file(const cli_call *call, int64_t now_us)
{
    const tb_store_options options = {.write = true, .owner = "promote", .now_us = now_us, .clock = cli_now_us, .copy = true};
    tb_store *store;
    tb_error err;
    int64_t epoch = 0;
    tb_code code = tb_store_open(cli_text(call, "db"), &options, &store, &err);
    if (code) return cli_fail(call, NULL, &err);
    if (seed_is_unverified(cli_text(call, "db")) && !cli_given(call, "force"))
        code = tb_fail(&err, TB_E_REPLICA_NOT_PROMOTED, NULL, "This copy has not been verified since it was made, which its server does. "
                       "--force promotes it all the same.");
    if (!code) code = check_listed(call, store, &err);
    if (!code) code = tb_store_promote(store, "", &epoch, &err);
    if (!code) tb_store_checkpoint(store, true);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    printf(DONE "%" PRId64 "\n", epoch);
    return cli_done(call);
}

int cli_promote(const cli_call *call)
{
    tb_store *store;
    tb_writer holder;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (!status) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    const bool served = tb_store_writer(store, &holder);
    tb_store_close(store);
    return served ? ask_server(call, &holder) : promote_file(call, now_us);
}
