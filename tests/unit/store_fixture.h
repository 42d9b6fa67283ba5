/* What the store's tests share: a database in a folder of its own, and rows put into it. */
#ifndef TOLLBOOK_TESTS_STORE_FIXTURE_H
#define TOLLBOOK_TESTS_STORE_FIXTURE_H

#include "../folder.h"
#include "store/core/internal.h"
#include "tollbook/store.h"
#include "usage_plane.h"

#include <check.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_US INT64_C(1794960000000000) /* 2026-11-18T00:00:00Z */
#define NOW_MS (NOW_US / 1000)

typedef struct fixture {
    char folder[TEST_FOLDER_MAX], path[96];
    usage_plane plane;
    tb_store *store;
} fixture;

#define ok(call)                                                                                   \
    do {                                                                                           \
        tb_error ok_err = {0};                                                                     \
        tb_code ok_code = (call);                                                                  \
        (void)ok_err;                                                                              \
        ck_assert_msg(ok_code == TB_OK, "%s: %s: %s", #call, tb_code_name(ok_code), err.message);  \
    } while (0)

static inline void fixture_open(fixture *f, bool write)
{
    tb_error err = {0};
    tb_store_options options = {.write = write, .now_us = NOW_US, .owner = "test",
                                .usage = usage_plane_client(&f->plane)};
    ok(tb_store_open(f->path, &options, &f->store, &err));
}

/* A thread for each time that the store asks for one. */
typedef struct fixture_helper {
    pthread_t thread;
    void (*work)(void *arg);
    void *arg;
    unsigned started;
    tb_store *store;
} fixture_helper;

static inline void *fixture_help(void *helper)
{
    const fixture_helper *h = helper;
    h->work(h->arg);
    return NULL;
}

static inline bool fixture_start(void *ctx, void (*work)(void *arg), void *arg)
{
    fixture_helper *h = ctx;
    h->work = work;
    h->arg = arg;
    h->started++;
    return pthread_create(&h->thread, NULL, fixture_help, h) == 0;
}

/* Triggers are not switched while the thread writes: SQLite would end its statement (SQLITE_ABORT_ROLLBACK). */
static inline void fixture_wait(void *ctx)
{
    fixture_helper *h = ctx;
    int on = 0;
    ck_assert_int_eq(pthread_join(h->thread, NULL), 0);
    ck_assert_int_eq(sqlite3_db_config(h->store->db, SQLITE_DBCONFIG_ENABLE_TRIGGER, -1, &on), SQLITE_OK);
    ck_assert_int_eq(on, 1);
}

static inline void fixture_lend(fixture *f, fixture_helper *helper)
{
    helper->started = 0;
    helper->store = f->store;
    const tb_helper lent = {.start = fixture_start, .wait = fixture_wait, .ctx = helper};
    tb_store_lend(f->store, &lent);
}

/* What waits in runs goes to its places: for tests that look at these. */
tb_code tb__usage_compact_all(tb_store *store, tb_error *err);
static inline void fixture_fold(fixture *f)
{
    tb_error err = {0};
    ok(tb_store_begin(f->store, &err));
    ok(tb__usage_compact_all(f->store, &err));
    ok(tb_store_commit(f->store, &err));
}

/* No series waits to be moved to its place. */
static inline void fixture_place(fixture *f)
{
    tb_error err = {0};
    bool more = true;
    while (more) {
        ok(tb_store_begin(f->store, &err));
        ok(tb_store_place_series(f->store, &more, &err));
        ok(tb_store_commit(f->store, &err));
    }
}

/* Past the triggers, as somebody edits the file who knows SQLite. */
static inline void edit(sqlite3 *db, const char *text)
{
    char *message = NULL;
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    ck_assert_msg(sqlite3_exec(db, text, NULL, NULL, &message) == SQLITE_OK, "%s: %s", text,
                  message);
    sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, NULL);
}

/* A database's bytes, from which others are made: a schema, or what many cases begin with, costs
 * more than most tests. A program keeps them to its end. */
typedef struct fixture_image {
    char *bytes;
    size_t len;
    char database[32]; /* its usage, as it was then */
} fixture_image;

static inline void fixture_read(const char *path, fixture_image *ret)
{
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    ret->len = (size_t)ftell(file);
    rewind(file);
    ck_assert_ptr_nonnull(ret->bytes = malloc(ret->len));
    ck_assert_uint_eq(fread(ret->bytes, 1, ret->len, file), ret->len);
    ck_assert_int_eq(fclose(file), 0);
}

static inline void fixture_write(const char *path, const fixture_image *image)
{
    FILE *file = fopen(path, "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(image->bytes, 1, image->len, file), image->len);
    ck_assert_int_eq(fclose(file), 0);
}

/* A new database in the file: the first one is made, the others are copies. */
static inline void fixture_create(const char *path)
{
    static fixture_image empty;
    tb_error err = {0};
    tb_store_options options = {.write = true, .now_us = NOW_US, .owner = "test"};
    if (empty.bytes) {
        fixture_write(path, &empty);
        return;
    }
    ok(tb_store_create(path, &options, &err));
    fixture_read(path, &empty);
}

static inline void fixture_begin(fixture *f)
{
    ck_assert(test_folder(f->folder));
    snprintf(f->path, sizeof f->path, "%s/t.db", f->folder);
    fixture_create(f->path);
    f->plane = (usage_plane){.kept = false};
}

static inline void fixture_init(fixture *f)
{
    fixture_begin(f);
    usage_plane_init(&f->plane);
    fixture_open(f, true);
}

/* Its usage is in the file, whatever TB_USAGE_SERVERS says. */
static inline void fixture_init_in_file(fixture *f)
{
    fixture_begin(f);
    fixture_open(f, true);
}

static inline void fixture_release(fixture *f)
{
    static const char *const suffix[] = {"", "-wal", "-shm", ".lock"};
    char name[128];
    tb_store_close(f->store);
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
        snprintf(name, sizeof name, "%s%s", f->path, suffix[i]);
        unlink(name);
    }
    rmdir(f->folder);
    usage_plane_drop(&f->plane);
}

/* What the fixture holds now, for fixture_again: closed, its file is all there is of it. */
static inline void fixture_keep(fixture *f, fixture_image *ret)
{
    tb_store_close(f->store);
    fixture_read(f->path, ret);
    snprintf(ret->database, sizeof ret->database, "%s", f->plane.database);
    f->plane.kept = true;
    fixture_open(f, true);
}

static inline void fixture_again(fixture *f, const fixture_image *image)
{
    ck_assert(test_folder(f->folder));
    snprintf(f->path, sizeof f->path, "%s/t.db", f->folder);
    fixture_write(f->path, image);
    usage_plane_take(&f->plane, image->database);
    f->plane.kept = true;
    fixture_open(f, true);
}

static inline void fixture_apply(fixture *f, const char *catalog, int64_t now_us, tb_applied *ret)
{
    tb_error err = {0};
    tb_catalog c;
    tb_applied applied;
    ok(tb_catalog_parse(catalog, strlen(catalog), &c, &err));
    ok(tb_store_begin(f->store, &err));
    ok(tb_store_apply_catalog(f->store, &c, now_us, &applied, &err));
    ok(tb_store_commit(f->store, &err));
    tb_catalog_release(&c);
    if (ret) *ret = applied;
}

/* One bucket row: a zone's hour at an edge, with one counter. */
static inline tb_row row_of(int64_t zone, const char *edge, int32_t hour, tb_metric metric,
                            uint64_t value)
{
    tb_row row = {.id = zone, .hour = hour, .edge_len = (uint8_t)strlen(edge)};
    memcpy(row.edge, edge, strlen(edge));
    row.metrics = TB_METRIC_BIT(metric);
    row.value[metric] = value;
    return row;
}

/* Adds rows inside the open transaction. */
static inline tb_code add_rows(fixture *f, const tb_row *rows, size_t n, tb_error *err)
{
    tb_rollup *rollup = tb_rollup_new(1 << 16, NULL);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        code = tb_rollup_add_row(rollup, &rows[i], err);
    tb_rollup_cursor *cursor = tb_rollup_cursor_new(&rollup, 1, NULL);
    if (!code) code = tb_store_add_usage(f->store, cursor, err);
    tb_rollup_cursor_free(cursor);
    tb_rollup_free(rollup);
    return code;
}

/* Adds rows as one committed segment with this number in its hash. */
static inline void fixture_add(fixture *f, const tb_row *rows, size_t n, uint64_t number)
{
    tb_error err = {0};
    tb_segment segment = {.kind = TB_BATCH_BUCKETS, .source = "test", .length = 1,
                          .hash = {number, number}, .head = {number, 1}, .accepted = n,
                          .final = true, .now_us = NOW_US};
    ok(tb_store_begin(f->store, &err));
    ok(add_rows(f, rows, n, &err));
    ok(tb_store_add_segment(f->store, &segment, NULL, &err));
    ok(tb_store_commit(f->store, &err));
}

static inline void fixture_say(void *ctx, const char *sentence)
{
    (void)ctx;
    fprintf(stderr, "%s\n", sentence);
}

static inline void fixture_verify(fixture *f)
{
    tb_error err = {0};
    uint64_t differences = 0;
    ok(tb_store_verify(f->store, fixture_say, NULL, &differences, &err));
    ck_assert_uint_eq(differences, 0);
}

/* The total of one metric in a view over a range. */
static inline uint64_t total_of(fixture *f, tb_view view, tb_range range, tb_metric metric)
{
    tb_error err = {0};
    tb_series series;
    ok(tb_series_init(&series, range, TB_METRIC_BIT(metric), NULL, &err));
    ok(tb_store_read_series(f->store, &view, &series, &err));
    uint64_t total = (uint64_t)tb_series_total(&series, metric);
    tb_series_release(&series);
    return total;
}

#endif
