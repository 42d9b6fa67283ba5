/* The virtual table `meter_usage`: a row for each series of a meter and hour with usage. A counter's value is its sum, a
 * sample's the sum of its intervals, a gauge's are unit-seconds, each value rounded up as the meter says. What a gauge holds last
 * is shown up to the newest hour of counters, and in its first hour. See buckets.c; a cursor makes the hours of one series after the other. */
#include "store/usage/entry.h"
#include "store/usage/plan.h"

#include "store/core/internal.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define HOURS   24
#define COLUMNS 12 /* counters of an hour: tb_meter.interval */

enum { METER, ACCOUNT, RESOURCE, DIMENSION_1, DIMENSION_2, HOUR, VALUE };

static const tb__vshape shape = {
    {ACCOUNT, METER, HOUR, VALUE, TB_US_PER_HOUR, 20},
    "CREATE TABLE x(meter TEXT,account INTEGER,resource TEXT,dimension_1 TEXT,dimension_2 TEXT,hour TEXT,value)",
    /* the columns in their order, then what makes the values */
    "SELECT m.name,s.account,s.resource,s.dimension_1,s.dimension_2,s.id,coalesce((SELECT id FROM series WHERE scope=4"
    " AND owner=s.id AND edge=0),0),m.document->>'$.kind'='gauge',CAST(coalesce(m.document->>'$.round_up',0) AS INTEGER),"
    "(SELECT (max(value,-1)+1)*3600 FROM meta WHERE name='newest_hour') FROM meter_series s JOIN meter m ON m.id=s.meter"
    " WHERE (?1 IS NULL OR s.account=?1) AND (?2 IS NULL OR m.name=?2)"
    " ORDER BY s.account,m.name,s.resource,s.dimension_1,s.dimension_2",
};
static const char one_series[] = "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key";
static const char one_gauge[] = "SELECT at_us,value,0,segment FROM gauge WHERE series=?1 AND gone_version=" TB__FOR_EVER
    TB__GAUGE_DELETED(TB__FOR_EVER, TB__FOR_EVER) " ORDER BY 1,4";

typedef struct hour_value {
    int64_t hour;
    tb_i128 value;
} hour_value;

typedef struct cursor {
    tb__vcursor head;
    sqlite3_stmt *series, *chunks, *gauges;
    tb__bounds bounds;
    tb__lsm lsm;
    tb__pending pending;
    hour_value *list; /* of the current series, ascending */
    size_t n, cap, at;
} cursor;

static int make_statement(tb__vtable *t, const char *sql, sqlite3_stmt **ret)
{
    return sqlite3_prepare_v2(t->db, sql, -1, ret, NULL) == SQLITE_OK ? SQLITE_OK : tb__vtable_fail_in_sqlite(t);
}

static int on_close(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    sqlite3_finalize(c->series);
    sqlite3_finalize(c->chunks);
    sqlite3_finalize(c->gauges);
    tb__lsm_release(&c->lsm);
    tb__pending_release(&c->pending);
    free(c->list);
    sqlite3_free(c);
    return SQLITE_OK;
}

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    tb__vtable *t = (tb__vtable *)base;
    cursor *c = tb__vcursor_new(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    tb__lsm_init(&c->lsm, t->db, "", tb__vtable_runs_fail, tb__usage_kinds);
    int rc = make_statement(t, t->shape->series, &c->series);
    if (rc == SQLITE_OK) rc = make_statement(t, one_series, &c->chunks);
    if (rc == SQLITE_OK) rc = make_statement(t, one_gauge, &c->gauges);
    if (rc != SQLITE_OK) on_close(&c->head.base);
    else *ret = &c->head.base;
    return rc;
}

/* Hours come in ascending order. */
static int add_hour(cursor *c, int64_t hour, tb_i128 value)
{
    if (!value || hour < c->bounds.first || hour > c->bounds.last) return SQLITE_OK;
    if (c->n && c->list[c->n - 1].hour == hour) {
        c->list[c->n - 1].value += value;
        return SQLITE_OK;
    }
    if (c->n == c->cap) {
        const size_t cap = c->cap ? c->cap * 2 : 1024;
        hour_value *more = realloc(c->list, cap * sizeof *more);
        if (!more) return SQLITE_NOMEM;
        c->list = more;
        c->cap = cap;
    }
    c->list[c->n++] = (hour_value){hour, value};
    return SQLITE_OK;
}

static int add_day(cursor *c, int64_t day, uint64_t value[COLUMNS][HOURS])
{
    int rc = SQLITE_OK;
    for (int h = 0; h < HOURS && rc == SQLITE_OK; h++) {
        tb_i128 sum = 0;
        for (int k = 0; k < COLUMNS; k++)
            sum += (tb_i128)value[k][h];
        rc = add_hour(c, day * HOURS + h, sum);
    }
    return rc;
}

/* Adds pending days before `end`. */
static int add_pending(cursor *c, size_t *at, int64_t end)
{
    int rc = SQLITE_OK;
    for (; *at < c->pending.n && c->pending.list[*at].index < end && rc == SQLITE_OK; ++*at) {
        const tb_grid *grid = c->pending.list[*at].grid;
        uint64_t value[COLUMNS][HOURS] = {{0}};
        for (int k = 0; k < COLUMNS; k++)
            if (grid->metrics >> k & 1) memcpy(value[k], grid->v[k], sizeof value[k]);
        rc = add_day(c, c->pending.list[*at].index, value);
    }
    return rc;
}

/* Rows and pending entries of a day become one: its hours are made of both. */
static int make_counters(cursor *c, int64_t series)
{
    tb__vtable *t = tb__vtable_of(&c->head);
    const int64_t first = tb__chunk_key(series, TB__GRAIN_HOURS, c->bounds.first / HOURS);
    const int64_t last = tb__chunk_key(series, TB__GRAIN_HOURS, c->bounds.last / HOURS);
    size_t at = 0;
    int rc = SQLITE_OK, step;
    tb_error err;
    sqlite3_reset(c->chunks);
    sqlite3_bind_int64(c->chunks, 1, first);
    sqlite3_bind_int64(c->chunks, 2, last);
    if (tb__pending_read(&c->pending, &c->lsm, first, last, &err)) return tb__vtable_fail_with(t, &err);
    while (rc == SQLITE_OK && (step = sqlite3_step(c->chunks)) == SQLITE_ROW) {
        const int64_t key = sqlite3_column_int64(c->chunks, 0), day = tb__key_index(key);
        uint64_t value[COLUMNS][HOURS] = {{0}}, *columns[TB_METRIC_COUNT] = {NULL};
        for (int k = 0; k < COLUMNS; k++)
            columns[k] = value[k];
        if (tb__chunk_columns(sqlite3_column_blob(c->chunks, 1), (size_t)sqlite3_column_bytes(c->chunks, 1), key,
                              (UINT32_C(1) << COLUMNS) - 1, 0, HOURS, columns, 0, &err))
            return tb__vtable_fail(t, SQLITE_CORRUPT_VTAB, err.message);
        rc = add_pending(c, &at, day);
        const tb_grid *more = at < c->pending.n && c->pending.list[at].index == day ? c->pending.list[at++].grid : NULL;
        for (int k = 0; more && k < COLUMNS; k++)
            for (int h = 0; h < HOURS && more->metrics >> k & 1; h++)
                value[k][h] += more->v[k][h];
        if (rc == SQLITE_OK) rc = add_day(c, day, value);
    }
    if (rc == SQLITE_OK && step != SQLITE_DONE) rc = tb__vtable_fail_in_sqlite(t);
    return rc == SQLITE_OK ? add_pending(c, &at, INT64_MAX) : rc;
}

static int hold(cursor *c, int64_t from_s, int64_t to_s, int64_t value)
{
    int rc = SQLITE_OK;
    for (int64_t end; value && from_s < to_s && rc == SQLITE_OK; from_s = end) {
        const int64_t hour = from_s / 3600;
        end = (hour + 1) * 3600 < to_s ? (hour + 1) * 3600 : to_s;
        rc = add_hour(c, hour, (tb_i128)value * (end - from_s));
    }
    return rc;
}

static int make_gauge(cursor *c, int64_t series, int64_t multiple, int64_t until_s)
{
    int64_t from_s = 0, held = 0, again_s = 0;
    int rc = SQLITE_OK, step;
    sqlite3_reset(c->gauges);
    sqlite3_bind_int64(c->gauges, 1, series);
    while (rc == SQLITE_OK && (step = sqlite3_step(c->gauges)) == SQLITE_ROW) {
        const int64_t at_s = sqlite3_column_int64(c->gauges, 0) / TB_US_PER_S;
        rc = hold(c, from_s > again_s ? from_s : again_s, at_s, held);
        from_s = at_s;
        const int64_t until_us = sqlite3_column_int64(c->gauges, 2);
        if (until_us) again_s = until_us / TB_US_PER_S;
        if (until_us) continue;
        held = sqlite3_column_int64(c->gauges, 1);
        if (multiple > 0 && held % multiple) held += multiple - held % multiple;
    }
    if (rc == SQLITE_OK && step != SQLITE_DONE) rc = tb__vtable_fail_in_sqlite(tb__vtable_of(&c->head));
    if (until_s <= from_s) until_s = (from_s / 3600 + 1) * 3600;
    return rc == SQLITE_OK ? hold(c, from_s > again_s ? from_s : again_s, until_s, held) : rc;
}

/* On to the next hour: of the series, or of the next one that has any. */
static int find_row(cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->at == c->n && !c->head.over) {
        const int step = sqlite3_step(c->series);
        c->at = c->n = 0;
        c->head.over = step != SQLITE_ROW;
        if (step == SQLITE_DONE) break;
        if (step != SQLITE_ROW) return tb__vtable_fail_in_sqlite(tb__vtable_of(&c->head));
        const int64_t series = sqlite3_column_int64(c->series, 6);
        if (sqlite3_column_int(c->series, 7))
            rc = make_gauge(c, sqlite3_column_int64(c->series, 5), sqlite3_column_int64(c->series, 8),
                            sqlite3_column_int64(c->series, 9));
        else if (series > 0 && series <= TB__SERIES_MAX) rc = make_counters(c, series);
    }
    return rc;
}

/* Rows of an account and meter do not ascend by hour, so SQLite sorts. */
static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const int rc = tb__vtable_best_index(base, info);
    info->orderByConsumed = 0;
    return rc;
}

static int on_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc, sqlite3_value **argv)
{
    (void)unused, (void)argc;
    cursor *c = (cursor *)base;
    tb__plan_bounds(&shape.plan, plan, argv, &c->bounds);
    sqlite3_reset(c->series);
    sqlite3_clear_bindings(c->series);
    if (c->bounds.owner >= 0) sqlite3_bind_int64(c->series, 1, c->bounds.owner);
    if (c->bounds.place && sqlite3_bind_text(c->series, 2, c->bounds.place, c->bounds.place_len, SQLITE_TRANSIENT) != SQLITE_OK)
        return SQLITE_NOMEM;
    c->bounds.place = NULL; /* the statement has its own copy */
    c->head.row = 0;
    c->at = c->n = 0;
    c->head.over = c->bounds.first > c->bounds.last;
    return find_row(c);
}

static int on_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->at++;
    c->head.row++;
    return find_row(c);
}

/* A value that passes SQLite's integers is its digits. */
static void put_value(sqlite3_context *context, tb_i128 value)
{
    char text[40], *at = text + sizeof text;
    if (value <= INT64_MAX) {
        sqlite3_result_int64(context, (sqlite3_int64)value);
        return;
    }
    for (; value; value /= 10)
        *--at = (char)('0' + (int)(value % 10));
    sqlite3_result_text(context, at, (int)(text + sizeof text - at), SQLITE_TRANSIENT);
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    cursor *c = (cursor *)base;
    char text[20];
    if (column == VALUE) {
        put_value(context, c->list[c->at].value);
    } else if (column == HOUR) {
        tb__plan_text(&shape.plan, c->list[c->at].hour, text);
        sqlite3_result_text(context, text, shape.plan.text_len, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_value(context, sqlite3_column_value(c->series, column));
    }
    return SQLITE_OK;
}

int tb__meter_usage_register(sqlite3 *db)
{
    static const sqlite3_module module = {
        .iVersion = 1, .xConnect = tb__vtable_connect, .xBestIndex = on_best_index, .xDisconnect = tb__vtable_disconnect,
        .xEof = tb__vtable_eof, .xRowid = tb__vtable_rowid, .xOpen = on_open, .xClose = on_close, .xFilter = on_filter,
        .xNext = on_next, .xColumn = on_column,
    };
    return tb__vtable_register(db, "meter_usage", &module, &shape);
}
