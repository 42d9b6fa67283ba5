/* The virtual tables over the chunks: `buckets` (a row for each pull zone, edge location and hour)
 * and `balancer_buckets` (a row for each load balancer and hour), so that anyone can query the file
 * with plain SQL. An hour is a row when something was recorded for it.
 *
 * A cursor walks the series, and for each the rows of its days beside its pending entries, and unpacks the columns that the
 * query uses. With TB_LOADABLE_EXTENSION the same source is an extension for the sqlite3 shell:
 * .load ./tollbook_buckets */
#include "store/usage/plan.h"
#include "store/usage/entry.h"

#include "store/core/internal.h"
#include "tollbook/calendar.h"

#include <string.h>

#ifdef TB_LOADABLE_EXTENSION
SQLITE_EXTENSION_INIT1
#endif

#define HOURS 24

/* Stored is how many requests did not tell their cache status; shown is how many did. So rows from before
 * that was counted have their true values. */
_Static_assert(TB_M_CACHE_UNKNOWN == TB_METRIC_COUNT - 1, "cache_known is the last column");
#define TB_X(e, name, unit, how, source, meaning) "," name " INTEGER"
static const tb__vshape zones = {
    {0, 1, 2, 3, TB_US_PER_HOUR, 20},
    "CREATE TABLE x(zone INTEGER,region TEXT,hour TEXT" TB_METRICS_SHOWN(TB_X) ",cache_known INTEGER)",
    "SELECT s.owner,s.id,e.code FROM series s JOIN edge e ON e.id=s.edge"
    " WHERE s.scope=1 AND s.edge>0 AND (?1 IS NULL OR s.owner=?1) AND (?2 IS NULL OR e.code=?2)"
    " ORDER BY s.owner,e.code",
};
#undef TB_X
static const tb__vshape balancers = {
    {0, -1, 1, 2, TB_US_PER_HOUR, 20},
    "CREATE TABLE x(load_balancer INTEGER,hour TEXT,requests INTEGER)",
    "SELECT owner,id,NULL FROM series WHERE scope=3 AND edge=0 AND (?1 IS NULL OR owner=?1)"
    " ORDER BY owner",
};
static const char one_series[] =
    "SELECT key,data FROM chunk WHERE key BETWEEN ?1 AND ?2 ORDER BY key";

typedef struct cursor {
    tb__vcursor head;
    sqlite3_stmt *series, *chunks;
    tb__bounds bounds;
    uint32_t slots; /* of the running chunk, still to come; the lowest is the current row */
    int64_t day;
    uint64_t v[TB_METRIC_COUNT][TB_GRID_SLOTS];
    bool inside;    /* within the current series */
    bool chunk_row; /* chunks stands on a row that was not shown yet */
    bool chunk_end; /* the series has no more rows */
    tb__lsm lsm;
    tb__pending pending; /* of the current series */
    size_t next;         /* in pending */
} cursor;

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    tb__vtable *t = (tb__vtable *)base;
    cursor *c = tb__vcursor_new(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    tb__lsm_init(&c->lsm, t->db, "", tb__vtable_runs_fail, tb__usage_kinds);
    if (sqlite3_prepare_v2(t->db, t->shape->series, -1, &c->series, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(t->db, one_series, -1, &c->chunks, NULL) != SQLITE_OK) {
        int rc = tb__vtable_fail_in_sqlite(t);
        sqlite3_finalize(c->series);
        sqlite3_free(c);
        return rc;
    }
    *ret = &c->head.base;
    return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    sqlite3_finalize(c->series);
    sqlite3_finalize(c->chunks);
    tb__lsm_release(&c->lsm);
    tb__pending_release(&c->pending);
    sqlite3_free(c);
    return SQLITE_OK;
}

/* Steps; *ret_row tells whether there is a row. */
static int step(cursor *c, sqlite3_stmt *statement, bool *ret_row)
{
    int rc = sqlite3_step(statement);
    *ret_row = rc == SQLITE_ROW;
    return *ret_row || rc == SQLITE_DONE ? SQLITE_OK
                                         : tb__vtable_fail_in_sqlite(tb__vtable_of(&c->head));
}

/* Keeps only the slots of hours within the bounds. */
static uint32_t within(const cursor *c, uint32_t slots)
{
    int64_t begin = c->bounds.first - c->day * HOURS, end = c->bounds.last - c->day * HOURS;
    if (begin > 0) slots &= begin < HOURS ? ~UINT32_C(0) << begin : 0;
    if (end < HOURS - 1) slots &= end >= 0 ? (UINT32_C(2) << end) - 1 : 0;
    return slots;
}

/* The row that the chunk statement stands on becomes the current day. */
static int show_chunk(cursor *c)
{
    int64_t key = sqlite3_column_int64(c->chunks, 0);
    const uint8_t *data = sqlite3_column_blob(c->chunks, 1);
    int len = sqlite3_column_bytes(c->chunks, 1);
    uint64_t *columns[TB_METRIC_COUNT];
    tb_error err;
    for (unsigned m = 0; m < TB_METRIC_COUNT; m++)
        columns[m] = c->v[m];
    if (tb__chunk_columns(data, (size_t)len, key, (uint32_t)c->bounds.used, 0, HOURS, columns, 0,
                          &err))
        return tb__vtable_fail(tb__vtable_of(&c->head), SQLITE_CORRUPT_VTAB, err.message);
    uint32_t slots; /* in the trailer, which the checksum has covered */
    memcpy(&slots, data + len - TB__CHUNK_TRAILER, sizeof slots);
    c->slots |= slots & ((UINT32_C(1) << HOURS) - 1);
    c->chunk_row = false;
    return SQLITE_OK;
}

/* Adds the pending entries of the current day. */
static void show_pending(cursor *c)
{
    const tb_grid *more = c->pending.list[c->next++].grid;
    for (uint32_t left = more->metrics & (uint32_t)c->bounds.used; left; left &= left - 1) {
        unsigned m = (unsigned)__builtin_ctz(left);
        for (uint32_t slots = more->slots; slots; slots &= slots - 1) {
            uint64_t *value = &c->v[m][__builtin_ctz(slots)], v = more->v[m][__builtin_ctz(slots)];
            if (tb_metric_table[m].how == TB_HOW_SUM) *value += v;
            else if (v > *value) *value = v;
        }
    }
    c->slots |= more->slots & ((UINT32_C(1) << HOURS) - 1);
}

/* Points the chunk statement at the series that the series statement stands on, and reads its pending entries. */
static int enter_series(cursor *c)
{
    int64_t series = sqlite3_column_int64(c->series, 1);
    if (series < 1 || series > TB__SERIES_MAX) return SQLITE_CORRUPT_VTAB;
    int64_t first = tb__chunk_key(series, TB__GRAIN_HOURS, c->bounds.first / HOURS);
    int64_t last = tb__chunk_key(series, TB__GRAIN_HOURS, c->bounds.last / HOURS);
    tb_error err;
    sqlite3_reset(c->chunks);
    sqlite3_bind_int64(c->chunks, 1, first);
    sqlite3_bind_int64(c->chunks, 2, last);
    c->inside = true;
    c->chunk_row = c->chunk_end = false;
    c->next = 0;
    return tb__pending_read(&c->pending, &c->lsm, first, last, &err)
               ? tb__vtable_fail_with(tb__vtable_of(&c->head), &err)
               : SQLITE_OK;
}

/* On to the next day of the series, in a row or pending or both; none: it is left. */
static int next_day(cursor *c)
{
    int rc = SQLITE_OK;
    if (!c->chunk_row && !c->chunk_end) {
        rc = step(c, c->chunks, &c->chunk_row);
        c->chunk_end = !c->chunk_row;
    }
    if (rc != SQLITE_OK) return rc;
    int64_t row = c->chunk_row ? tb__key_index(sqlite3_column_int64(c->chunks, 0)) : INT64_MAX;
    int64_t pending = c->next < c->pending.n ? c->pending.list[c->next].index : INT64_MAX;
    c->inside = c->chunk_row || c->next < c->pending.n;
    if (!c->inside) return SQLITE_OK;
    c->day = row < pending ? row : pending;
    for (unsigned m = 0; m < TB_METRIC_COUNT; m++)
        if (c->bounds.used >> m & 1) memset(c->v[m], 0, sizeof c->v[m]);
    if (row == c->day) rc = show_chunk(c);
    if (rc == SQLITE_OK && pending == c->day) show_pending(c);
    c->slots = within(c, c->slots);
    return rc;
}

/* On to the next row: of the day, the next day, or the next series. */
static int find_row(cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && !c->slots && !c->head.over) {
        bool found = false;
        if (c->inside) {
            rc = next_day(c);
            continue;
        }
        rc = step(c, c->series, &found);
        if (rc == SQLITE_OK && found) rc = enter_series(c);
        else if (rc == SQLITE_OK) c->head.over = true;
    }
    return rc;
}

static int on_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc,
                     sqlite3_value **argv)
{
    (void)unused, (void)argc;
    cursor *c = (cursor *)base;
    tb__plan_bounds(&tb__vtable_of(&c->head)->shape->plan, plan, argv, &c->bounds);
    if (c->bounds.used & TB_METRIC_BIT(TB_M_CACHE_UNKNOWN))
        c->bounds.used |= TB_METRIC_BIT(TB_M_REQUESTS);
    sqlite3_reset(c->chunks);
    sqlite3_reset(c->series);
    sqlite3_clear_bindings(c->series);
    if (c->bounds.owner >= 0) sqlite3_bind_int64(c->series, 1, c->bounds.owner);
    if (c->bounds.place && tb__vtable_of(&c->head)->shape->plan.place >= 0 &&
        sqlite3_bind_text(c->series, 2, c->bounds.place, c->bounds.place_len, SQLITE_TRANSIENT) !=
            SQLITE_OK)
        return SQLITE_NOMEM;
    c->bounds.place = NULL; /* the statement has its own copy */
    c->head.row = 0;
    c->slots = 0;
    c->inside = false;
    c->head.over = c->bounds.first > c->bounds.last;
    return find_row(c);
}

static int on_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->slots &= c->slots - 1;
    c->head.row++;
    return find_row(c);
}

static uint64_t value_of(const cursor *c, int metric, int slot)
{
    if (metric != TB_M_CACHE_UNKNOWN) return c->v[metric][slot];
    const uint64_t requests = c->v[TB_M_REQUESTS][slot], unknown = c->v[metric][slot];
    return requests > unknown ? requests - unknown : 0;
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    cursor *c = (cursor *)base;
    const tb__plan_table *plan = &tb__vtable_of(&c->head)->shape->plan;
    int slot = __builtin_ctz(c->slots);
    if (column == plan->owner) {
        sqlite3_result_value(context, sqlite3_column_value(c->series, 0));
    } else if (column == plan->place) {
        sqlite3_result_value(context, sqlite3_column_value(c->series, 2));
    } else if (column == plan->time) {
        char text[20];
        tb__plan_text(plan, c->day * HOURS + slot, text);
        sqlite3_result_text(context, text, plan->text_len, SQLITE_TRANSIENT);
    } else {
        sqlite3_result_int64(context, (sqlite3_int64)value_of(c, column - plan->values, slot));
    }
    return SQLITE_OK;
}

static const sqlite3_module module = {
    TB__VTABLE_METHODS, .xOpen = on_open, .xClose = on_close,
    .xFilter = on_filter, .xNext = on_next, .xColumn = on_column,
};

int tb__buckets_register(sqlite3 *db)
{
    int rc = tb__vtable_register(db, "buckets", &module, &zones);
    if (rc == SQLITE_OK) rc = tb__vtable_register(db, "balancer_buckets", &module, &balancers);
    if (rc == SQLITE_OK) rc = tb__countries_register(db);
    return rc == SQLITE_OK ? tb__meter_usage_register(db) : rc;
}

#ifdef TB_LOADABLE_EXTENSION
int sqlite3_tollbookbuckets_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api);

int sqlite3_tollbookbuckets_init(sqlite3 *db, char **ret_message, const sqlite3_api_routines *api)
{
    (void)ret_message;
    SQLITE_EXTENSION_INIT2(api);
    return tb__buckets_register(db);
}
#endif
