/* A followed log is an inode: a log that is renamed stays the same one, and two names of one file are one log. A
 * pattern is expanded at every scan; a name that exists is never a pattern, whatever its letters. */
#include "follow/table.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "follow/pace.h"

#define WILD "*?["

/* The position of this inode in the table, or the position to insert it at. */
static size_t find_position(const follow_table *table, const struct stat *st, bool *ret_there)
{
    size_t from = 0, to = table->n;
    *ret_there = false;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const follow_log *log = table->logs[middle];
        if (log->dev == st->st_dev && log->ino == st->st_ino) {
            *ret_there = true;
            return middle;
        }
        if (log->dev < st->st_dev || (log->dev == st->st_dev && log->ino < st->st_ino)) from = middle + 1;
        else to = middle;
    }
    return from;
}

static tb_code add_log(follow_table *table, size_t at, const char *path, const struct stat *st,
                       int64_t now_ms, tb_error *err)
{
    if (table->n == table->cap) {
        size_t cap = table->cap ? table->cap * 2 : 64;
        follow_log **logs = realloc(table->logs, cap * sizeof *logs);
        if (!logs) return tb_no_memory(err);
        table->logs = logs;
        table->cap = cap;
    }
    follow_log *log = follow_log_new(path, st, now_ms);
    if (!log) return tb_no_memory(err);
    memmove(table->logs + at + 1, table->logs + at, (table->n - at) * sizeof *table->logs);
    table->logs[at] = log;
    table->n++;
    return TB_OK;
}

/* A scan of one name. */
typedef struct scan {
    int64_t now_ms;
    bool counts; /* see follow_log_seen */
    bool there;  /* there is a file */
    int why;     /* the errno of a failed access; 0: none */
} scan;

static void note_why(scan *seen, int why)
{
    if (why != ENOENT && why != ENOTDIR) seen->why = why;
}

static tb_code scan_path(follow_table *table, const char *path, scan *seen, tb_error *err)
{
    struct stat st;
    bool known;
    if (stat(path, &st) != 0) {
        note_why(seen, errno);
        return TB_OK;
    }
    seen->there = true;
    size_t at = find_position(table, &st, &known);
    if (!known) return add_log(table, at, path, &st, seen->now_ms, err);
    follow_log *log = table->logs[at];
    if (log->there) return TB_OK; /* it has two names */
    log->there = true;
    follow_log_seen(log, &st, seen->now_ms, seen->counts);
    if (strcmp(log->path, path) == 0) return TB_OK;
    char *copy = strdup(path);
    if (!copy) return tb_no_memory(err);
    free(log->path);
    log->path = copy;
    return TB_OK;
}

static tb_code scan_pattern(follow_table *table, const char *pattern, scan *seen, tb_error *err)
{
    glob_t found;
    tb_code code = TB_OK;
    int rc = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (rc == GLOB_NOSPACE) return tb_no_memory(err);
    if (rc != 0) {
        /* A pattern also finds nothing if its folder cannot be read. */
        const char *slash = memrchr(pattern, '/', strcspn(pattern, WILD));
        char *folder = slash ? strndup(pattern, (size_t)(slash - pattern) + 1) : strdup(".");
        if (!folder) return tb_no_memory(err);
        if (access(folder, R_OK | X_OK) != 0) note_why(seen, errno);
        free(folder);
        return TB_OK;
    }
    for (size_t i = 0; code == TB_OK && i < found.gl_pathc; i++)
        code = scan_path(table, found.gl_pathv[i], seen, err);
    globfree(&found);
    return code;
}

static tb_code scan_name(follow_table *table, const follow_options *options, size_t i,
                        scan seen, tb_error *err)
{
    const char *name = options->names[i];
    tb_code code = scan_path(table, name, &seen, err);
    if (code == TB_OK && !seen.there && strpbrk(name, WILD))
        code = scan_pattern(table, name, &seen, err);
    if (code) return code;
    const follow_sight before = table->sight[i];
    table->sight[i] = seen.there ? FOLLOW_SEEN : seen.why ? FOLLOW_UNREADABLE : FOLLOW_MISSING;
    if (seen.there || table->sight[i] == before) return TB_OK;
    char sentence[160];
    snprintf(sentence, sizeof sentence, "It cannot be looked at: %s. %s%s", strerror(seen.why),
             seen.why == EACCES ? "Let the follower's user read its folder." : "Check the name.",
             options->once ? "" : " It is tried again.");
    options->say(options->ctx, name,
                 seen.why        ? sentence
                 : options->once ? "There is no such file."
                                 : "There is no such file yet: it is followed once it is there.");
    return TB_OK;
}

static void release_reserved(follow_table *table)
{
    for (int i = 0; i < FOLLOW_RESERVED; i++) {
        if (table->reserved[i] > 0) close(table->reserved[i]);
        table->reserved[i] = 0;
    }
}

tb_code follow_table_scan(follow_table *table, const follow_options *options, int64_t now_ms,
                          tb_error *err)
{
    tb_code code = TB_OK;
    /* Rounds with more work follow each other at once, which is too soon to call a log quiet. */
    const int64_t since = now_ms - table->counted_ms,
                  least = options->every_ms < PACE_LOOK_MS ? options->every_ms : PACE_LOOK_MS;
    const scan fresh = {.now_ms = now_ms, .counts = options->once || since < 0 || since >= least};
    if (fresh.counts) table->counted_ms = now_ms;
    if (!table->sight) table->sight = calloc(options->n_names + 1, sizeof *table->sight);
    if (!table->sight) return tb_no_memory(err);
    for (size_t i = 0; i < table->n; i++)
        table->logs[i]->there = false;
    release_reserved(table);
    for (size_t i = 0; code == TB_OK && i < options->n_names; i++)
        code = scan_name(table, options, i, fresh, err);
    for (int i = 0; i < FOLLOW_RESERVED; i++)
        table->reserved[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (size_t i = 0; i < table->n; i++) { /* a log without a name can still grow */
        follow_log *log = table->logs[i];
        struct stat st;
        if (!log->there && log->fd >= 0 && fstat(log->fd, &st) == 0)
            follow_log_seen(log, &st, now_ms, fresh.counts);
    }
    return code;
}

void follow_table_remove(follow_table *table, size_t at)
{
    follow_log_free(table->logs[at]);
    table->n--;
    memmove(table->logs + at, table->logs + at + 1, (table->n - at) * sizeof *table->logs);
}

size_t follow_table_limit_open(follow_table *table, size_t most)
{
    size_t open = 0;
    for (size_t i = 0; i < table->n; i++)
        open += table->logs[i]->fd >= 0;
    for (size_t i = 0; i < table->n && open > most; i++) {
        follow_log *log = table->logs[table->close_next++ % table->n];
        if (log->fd < 0 || !log->there || log->source) continue;
        close(log->fd);
        log->fd = -1;
        open--;
    }
    return open;
}

void follow_table_release(follow_table *table)
{
    for (size_t i = 0; i < table->n; i++)
        follow_log_free(table->logs[i]);
    release_reserved(table);
    free(table->logs);
    free(table->sight);
    *table = (follow_table){0};
}
