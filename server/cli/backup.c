/* tollbook backup: a snapshot under a new name. It reads alone, so it runs beside a writer;
 * its copy passes what `verify` would say of it. With --dir the name has the time, and --keep deletes the oldest copies of
 * the same database, which are known by the form of their names. --follow is another command (backup_follow.c). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/backup_follow.h"
#include "cli/meter.h"
#include "tollbook/calendar.h"
#include "tollbook/operation.h"

#define MOMENT      "-00000000T000000Z.db" /* the form of a copy's name behind the database's, a digit for each 0 */
#define COPIES_MOST ((size_t)1 << 20)

static void show(void *ctx, uint64_t done, uint64_t total)
{
    if (total > 0) meter_share(ctx, done, total);
    else meter_check(ctx, done);
}

static int refuse_options(const cli_call *call, const char *sentence)
{
    cli_say(call, "%s", sentence);
    return tb_code_exit(TB_E_USAGE);
}

/* --- copies that are named by their time --- */

/* "tollbook" of "/var/lib/tollbook/tollbook.db" */
static void base_of(const char *db, char out[NAME_MAX + 1])
{
    const char *slash = strrchr(db, '/'), *name = slash ? slash + 1 : db;
    size_t len = strlen(name);
    if (len > 3 && strcmp(name + len - 3, ".db") == 0) len -= 3;
    snprintf(out, NAME_MAX + 1, "%.*s", (int)(len < NAME_MAX - sizeof MOMENT ? len : NAME_MAX - sizeof MOMENT), name);
}

static void name_copy(const cli_call *call, int64_t now_us, char out[PATH_MAX])
{
    char base[NAME_MAX + 1], t[20]; /* 2026-11-04T01:30:00Z */
    tb_time_format(now_us, t);
    base_of(cli_text(call, "db"), base);
    snprintf(out, PATH_MAX, "%s/%s-%.4s%.2s%.2sT%.2s%.2s%.2sZ.db", cli_text(call, "dir"), base, t, t + 5, t + 8, t + 11, t + 14, t + 17);
}

static bool is_copy(const char *name, const char *base)
{
    const size_t len = strlen(base);
    if (strncmp(name, base, len) != 0 || strlen(name + len) != sizeof MOMENT - 1) return false;
    for (size_t i = 0; MOMENT[i]; i++) {
        const char c = name[len + i];
        if (MOMENT[i] == '0' ? c < '0' || c > '9' : c != MOMENT[i]) return false;
    }
    return true;
}

static int newest_first(const void *a, const void *b)
{
    return strcmp(*(char *const *)b, *(char *const *)a);
}

/* With what a reader of the copy left beside it. */
static bool remove_copy(int folder, const char *name)
{
    static const char *const beside[] = {"-wal", "-shm"};
    char path[NAME_MAX + 8];
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        snprintf(path, sizeof path, "%s%s", name, beside[i]);
        unlinkat(folder, path, 0);
    }
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}

/* The names of all copies. NULL: errno says why. */
static char **list_copies(DIR *folder, const char *base, size_t *ret_n)
{
    char **names = NULL, **more;
    size_t n = 0;
    *ret_n = 0;
    errno = 0;
    for (const struct dirent *entry; n < COPIES_MOST && (entry = readdir(folder));) {
        if (!is_copy(entry->d_name, base)) continue;
        if (n % 64 == 0) {
            if (!(more = reallocarray(names, n + 64, sizeof *names))) break;
            names = more;
        }
        if (!(names[n] = strdup(entry->d_name))) break;
        *ret_n = ++n;
    }
    return names;
}

/* The new copy is one of the kept ones unless the clock was set back; then it stays too. */
static int drop_old(const cli_call *call, const char *made, size_t keep)
{
    char base[NAME_MAX + 1];
    const char *dir = cli_text(call, "dir");
    size_t n = 0, gone = 0;
    bool failed = false;
    DIR *folder = opendir(dir);
    base_of(cli_text(call, "db"), base);
    char **names = folder ? list_copies(folder, base, &n) : NULL;
    if (names) qsort(names, n, sizeof *names, newest_first);
    for (size_t i = 0; i < n; i++) {
        if (i >= keep && !failed && strcmp(names[i], strrchr(made, '/') + 1) != 0) {
            failed = !remove_copy(dirfd(folder), names[i]);
            gone += !failed;
        }
        free(names[i]);
    }
    failed |= !names;
    const int why = errno;
    free(names);
    if (folder) closedir(folder);
    if (gone) cli_note(call, "%zu old %s deleted.", gone, gone == 1 ? "copy was" : "copies were");
    if (!failed) return 0;
    cli_say(call, "%s: old copies cannot be deleted: %s. The new one is complete.", dir, strerror(why));
    return tb_code_exit(TB_E_IO);
}

/* --- all of it --- */

/* Options of another form of the command. */
static int check_form(const cli_call *call, bool follows)
{
    static const char *const copies[] = {"to", "dir", "progress", "usage"}, *const follow[] = {"server", "every", "base-every", "after-file", "once"};
    const char *const *others = follows ? copies : follow;
    const size_t n = follows ? sizeof copies / sizeof *copies : sizeof follow / sizeof *follow;
    for (size_t i = 0; i < n; i++) {
        if (!cli_given(call, others[i])) continue;
        cli_say(call, follows ? "--%s is for a single copy, and not for --follow." : "--%s is for --follow DIR.", others[i]);
        return tb_code_exit(TB_E_USAGE);
    }
    return 0;
}

/* A single copy's options. *ret_keep: how many copies stay; 0: all. */
static int check_options(const cli_call *call, size_t *ret_keep)
{
    const bool to = cli_given(call, "to"), dir = cli_given(call, "dir");
    const char *keep = cli_text(call, "keep");
    char *end;
    *ret_keep = 0;
    if (!cli_given(call, "db")) return refuse_options(call, "--db FILE is missing.");
    if (to && dir) return refuse_options(call, "Give --to FILE or --dir DIR, not both.");
    if (!to && !dir) return refuse_options(call, "--to FILE or --dir DIR is missing, or --follow DIR: where does the copy go?");
    if (keep && !dir) return refuse_options(call, "--keep needs --dir DIR.");
    if (dir && strlen(cli_text(call, "dir")) > PATH_MAX - NAME_MAX - 2) return refuse_options(call, "--dir: the path is too long.");
    if (!keep) return 0;
    const unsigned long n = strtoul(keep, &end, 10);
    if (*keep < '0' || *keep > '9' || *end || n < 1 || n > COPIES_MOST)
        return refuse_options(call, "--keep with --dir is a number of copies, from 1 on.");
    *ret_keep = n;
    return 0;
}

int cli_backup(const cli_call *call)
{
    const bool follows = cli_given(call, "follow");
    const int form = check_form(call, follows);
    if (form || follows) return form ? form : backup_follow(call);
    tb_store *store;
    tb_error err;
    int64_t now_us;
    char named[PATH_MAX];
    meter progress;
    size_t keep;
    int status = check_options(call, &keep);
    if (status == 0) status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    if (cli_given(call, "dir")) name_copy(call, now_us, named);
    const char *to = cli_given(call, "dir") ? named : cli_text(call, "to");
    meter_init(&progress, to);
    const bool shown = progress.terminal || cli_given(call, "progress");
    tb_code code = tb_store_backup(store, to, tb_verify, shown ? show : NULL, &progress, &err);
    meter_end(&progress);
    tb_store_close(store);
    if (code) return cli_fail(call, NULL, &err);
    cli_mark(call, MARK_BACKUP, now_us);
    cli_note(call, "%s is a verified copy of %s.", to, cli_text(call, "db"));
    return keep ? drop_old(call, to, keep) : 0;
}
