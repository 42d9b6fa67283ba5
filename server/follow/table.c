/* Names lead to inodes, and inodes are what is followed: a log that is renamed stays the same one,
 * and two names of one file are one log. A pattern is expanded at every look; a name that exists is
 * taken as it is, whatever its letters. */
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

static int order(const follow_log *log, const struct stat *st)
{
    if (log->dev != st->st_dev) return log->dev < st->st_dev ? -1 : 1;
    if (log->ino != st->st_ino) return log->ino < st->st_ino ? -1 : 1;
    return 0;
}

/* Where it is, or would be. */
static size_t place_of(const follow_table *table, const struct stat *st, bool *ret_there)
{
    size_t from = 0, to = table->n;
    *ret_there = false;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int less = order(table->logs[middle], st);
        if (less == 0) {
            *ret_there = true;
            return middle;
        }
        if (less < 0)
            from = middle + 1;
        else
            to = middle;
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

static tb_code rename_log(follow_log *log, const char *path, tb_error *err)
{
    if (strcmp(log->path, path) == 0) return TB_OK;
    char *copy = strdup(path);
    if (!copy) return tb_no_memory(err);
    free(log->path);
    log->path = copy;
    return TB_OK;
}

/* What a look at a name found. */
typedef struct glance {
    int64_t now_ms;
    bool counts;
    bool there; /* anything at all */
    int why;    /* errno where it could not be looked at; 0: it could */
} glance;

static void note_why(glance *seen, int why)
{
    if (why != ENOENT && why != ENOTDIR) seen->why = why;
}

static tb_code see_path(follow_table *table, const char *path, glance *seen, tb_error *err)
{
    struct stat st;
    bool known;
    if (stat(path, &st) != 0) {
        note_why(seen, errno);
        return TB_OK;
    }
    seen->there = true;
    size_t at = place_of(table, &st, &known);
    if (!known) return add_log(table, at, path, &st, seen->now_ms, err);
    follow_log *log = table->logs[at];
    if (log->there) return TB_OK; /* it has two names */
    log->there = true;
    follow_log_seen(log, &st, seen->now_ms, seen->counts);
    return rename_log(log, path, err);
}

/* A pattern finds nothing where the folder that it begins with cannot be read, as if nothing were there. */
static tb_code see_folder(const char *pattern, glance *seen, tb_error *err)
{
    const size_t plain = strcspn(pattern, WILD);
    const char *slash = memrchr(pattern, '/', plain);
    char *folder = slash ? strndup(pattern, (size_t)(slash - pattern) + 1) : strdup(".");
    if (!folder) return tb_no_memory(err);
    if (access(folder, R_OK | X_OK) != 0) note_why(seen, errno);
    free(folder);
    return TB_OK;
}

static tb_code see_pattern(follow_table *table, const char *pattern, glance *seen, tb_error *err)
{
    glob_t found;
    tb_code code = TB_OK;
    int rc = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (rc == GLOB_NOSPACE) return tb_no_memory(err);
    if (rc != 0) return see_folder(pattern, seen, err);
    for (size_t i = 0; code == TB_OK && i < found.gl_pathc; i++)
        code = see_path(table, found.gl_pathv[i], seen, err);
    globfree(&found);
    return code;
}

static follow_sight sight_of(const glance *seen)
{
    if (seen->there) return FOLLOW_SEEN;
    return seen->why ? FOLLOW_BARRED : FOLLOW_MISSING;
}

static void say_sight(const follow_options *options, const char *name, const glance *seen)
{
    char sentence[160];
    snprintf(sentence, sizeof sentence, "It cannot be looked at: %s. %s%s", strerror(seen->why),
             seen->why == EACCES ? "Let the follower's user read its folder." : "Check the name.",
             options->once ? "" : " It is tried again.");
    options->say(options->ctx, name,
                 seen->why ? sentence
                   : options->once ? "There is no such file."
                                   : "There is no such file yet: it is followed once it is there.");
}

static tb_code see_name(follow_table *table, const follow_options *options, size_t i,
                        glance seen, tb_error *err)
{
    const char *name = options->names[i];
    tb_code code = see_path(table, name, &seen, err);
    if (code == TB_OK && !seen.there && strpbrk(name, WILD))
        code = see_pattern(table, name, &seen, err);
    if (code) return code;
    const follow_sight sight = sight_of(&seen);
    if (sight != FOLLOW_SEEN && sight != table->sight[i]) say_sight(options, name, &seen);
    table->sight[i] = sight;
    return TB_OK;
}

/* A log without a name can still grow where it is open. */
static void see_open(follow_log *log, const glance *look)
{
    struct stat st;
    if (!log->there && log->fd >= 0 && fstat(log->fd, &st) == 0)
        follow_log_seen(log, &st, look->now_ms, look->counts);
}

/* Rounds that have more to do come one right after the other: a pause in somebody's writing is longer. */
static bool look_counts(follow_table *table, const follow_options *options, int64_t now_ms)
{
    const int64_t since = now_ms - table->counted_ms,
                  least = options->every_ms < PACE_LOOK_MS ? options->every_ms : PACE_LOOK_MS;
    if (!options->once && since >= 0 && since < least) return false;
    table->counted_ms = now_ms;
    return true;
}

static void give_kept(follow_table *table)
{
    for (int i = 0; i < FOLLOW_KEPT; i++) {
        if (table->kept[i] > 0) close(table->kept[i]);
        table->kept[i] = 0;
    }
}

static void keep_some(follow_table *table)
{
    for (int i = 0; i < FOLLOW_KEPT; i++)
        table->kept[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

tb_code follow_table_scan(follow_table *table, const follow_options *options, int64_t now_ms,
                          tb_error *err)
{
    tb_code code = TB_OK;
    const glance look = {.now_ms = now_ms, .counts = look_counts(table, options, now_ms)};
    if (!table->sight) table->sight = calloc(options->n_names + 1, sizeof *table->sight);
    if (!table->sight) return tb_no_memory(err);
    for (size_t i = 0; i < table->n; i++)
        table->logs[i]->there = false;
    give_kept(table);
    for (size_t i = 0; code == TB_OK && i < options->n_names; i++)
        code = see_name(table, options, i, look, err);
    keep_some(table);
    for (size_t i = 0; i < table->n; i++)
        see_open(table->logs[i], &look);
    return code;
}

void follow_table_remove(follow_table *table, size_t at)
{
    follow_log_free(table->logs[at]);
    table->n--;
    memmove(table->logs + at, table->logs + at + 1, (table->n - at) * sizeof *table->logs);
}

size_t follow_table_spare(follow_table *table, size_t most)
{
    size_t open = 0;
    for (size_t i = 0; i < table->n; i++)
        open += table->logs[i]->fd >= 0;
    for (size_t i = 0; i < table->n && open > most; i++) {
        follow_log *log = table->logs[table->hand++ % table->n];
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
    give_kept(table);
    free(table->logs);
    free(table->sight);
    *table = (follow_table){0};
}
