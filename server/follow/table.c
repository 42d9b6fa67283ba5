/* Names lead to inodes, and inodes are what is followed: a log that is renamed stays the same one,
 * and two names of one file are one log. A pattern is expanded at every look; a name that exists is
 * taken as it is, whatever its letters. */
#include "follow/table.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* What a name leads to. *ret_there: to anything at all. */
static tb_code see_path(follow_table *table, const char *path, int64_t now_ms, bool *ret_there,
                        tb_error *err)
{
    struct stat st;
    bool known;
    if (stat(path, &st) != 0) return TB_OK;
    *ret_there = true;
    size_t at = place_of(table, &st, &known);
    if (!known) return add_log(table, at, path, &st, now_ms, err);
    follow_log *log = table->logs[at];
    if (log->there) return TB_OK; /* it has two names */
    log->there = true;
    follow_log_seen(log, &st, now_ms);
    return rename_log(log, path, err);
}

static tb_code see_pattern(follow_table *table, const char *pattern, int64_t now_ms,
                           bool *ret_there, tb_error *err)
{
    glob_t found;
    tb_code code = TB_OK;
    int rc = glob(pattern, GLOB_NOSORT, NULL, &found);
    if (rc == GLOB_NOSPACE) return tb_no_memory(err);
    if (rc != 0) return TB_OK;
    for (size_t i = 0; code == TB_OK && i < found.gl_pathc; i++)
        code = see_path(table, found.gl_pathv[i], now_ms, ret_there, err);
    globfree(&found);
    return code;
}

static tb_code see_name(follow_table *table, const follow_options *options, size_t i,
                        int64_t now_ms, tb_error *err)
{
    const char *name = options->names[i];
    bool there = false;
    tb_code code = see_path(table, name, now_ms, &there, err);
    if (code == TB_OK && !there && strpbrk(name, "*?["))
        code = see_pattern(table, name, now_ms, &there, err);
    if (code) return code;
    if (!there && !table->missing[i])
        options->say(options->ctx, name,
                     "There is no such file yet: it is followed once it is there.");
    table->missing[i] = !there;
    return TB_OK;
}

/* A log without a name can still grow where it is open. */
static void see_open(follow_log *log, int64_t now_ms)
{
    struct stat st;
    if (!log->there && log->fd >= 0 && fstat(log->fd, &st) == 0) follow_log_seen(log, &st, now_ms);
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
    if (!table->missing) table->missing = calloc(options->n_names + 1, sizeof *table->missing);
    if (!table->missing) return tb_no_memory(err);
    for (size_t i = 0; i < table->n; i++)
        table->logs[i]->there = false;
    give_kept(table);
    for (size_t i = 0; code == TB_OK && i < options->n_names; i++)
        code = see_name(table, options, i, now_ms, err);
    keep_some(table);
    for (size_t i = 0; i < table->n; i++)
        see_open(table->logs[i], now_ms);
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
    free(table->missing);
    *table = (follow_table){0};
}
