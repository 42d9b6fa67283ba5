/* Plans: a bit for each kind of condition, in the order of its argument, and above them a bit for
 * each value column in use.
 *
 * A condition on the time column compares texts, and texts of one form ascend with time. So a bound
 * is found by halving over all times a key can hold: whatever text the query gives ('2026-05',
 * '2026-05-03 10:00', ''), the bound is the one that comparing every row would give. */
#include "store/usage/plan.h"

#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <string.h>

enum { OWNER_IS, PLACE_IS, TIME_IS, TIME_FROM, TIME_AFTER, TIME_UNTIL, TIME_BEFORE, KINDS };

_Static_assert(KINDS + TB_METRIC_COUNT < 31, "a plan is an int");

/* The kind of a condition, or KINDS where it does not narrow anything. */
static int kind_of(const tb__plan_table *table, int column, unsigned char op)
{
    if (op == SQLITE_INDEX_CONSTRAINT_EQ) {
        if (column == table->owner) return OWNER_IS;
        if (column == table->place) return PLACE_IS;
    }
    if (column != table->time) return KINDS;
    switch (op) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return TIME_IS;
    case SQLITE_INDEX_CONSTRAINT_GE: return TIME_FROM;
    case SQLITE_INDEX_CONSTRAINT_GT: return TIME_AFTER;
    case SQLITE_INDEX_CONSTRAINT_LE: return TIME_UNTIL;
    case SQLITE_INDEX_CONSTRAINT_LT: return TIME_BEFORE;
    default: return KINDS;
    }
}

/* Rows come by owner, place, time. A column with one value only does not matter in an order. */
static bool gives_order(const tb__plan_table *table, const sqlite3_index_info *info,
                        const int chosen[KINDS])
{
    const int order[] = {table->owner, table->place, table->time};
    const bool single[] = {chosen[OWNER_IS] > 0, table->place < 0 || chosen[PLACE_IS] > 0,
                           chosen[TIME_IS] > 0};
    size_t at = 0;
    for (int i = 0; i < info->nOrderBy; i++, at++) {
        while (at < 3 && single[at] && order[at] != info->aOrderBy[i].iColumn)
            at++;
        if (at == 3 || info->aOrderBy[i].desc || order[at] != info->aOrderBy[i].iColumn)
            return false;
    }
    return true;
}

/* Guesses: they only have to put the plans in the right order. */
static void estimate(sqlite3_index_info *info, const int chosen[KINDS])
{
    double rows = 1e8;
    if (chosen[OWNER_IS]) rows /= 1e4;
    if (chosen[PLACE_IS]) rows /= 10;
    if (chosen[TIME_IS]) rows /= 1e3;
    if (chosen[TIME_FROM] || chosen[TIME_AFTER]) rows /= 4;
    if (chosen[TIME_UNTIL] || chosen[TIME_BEFORE]) rows /= 4;
    info->estimatedRows = rows < 1 ? 1 : (sqlite3_int64)rows;
    info->estimatedCost = 10 + rows;
}

int tb__plan(const tb__plan_table *table, sqlite3_index_info *info)
{
    int chosen[KINDS] = {0}, argument = 0; /* for each kind the condition's number plus 1, or 0 */
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        const int kind = kind_of(table, c->iColumn, c->op);
        if (kind == KINDS || !c->usable || chosen[kind]) continue;
        const char *collation = sqlite3_vtab_collation(info, i); /* others than BINARY do not compare bytes */
        if (kind == OWNER_IS || (collation && strcmp(collation, "BINARY") == 0)) chosen[kind] = i + 1;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (!chosen[kind]) continue;
        info->aConstraintUsage[chosen[kind] - 1].argvIndex = ++argument;
        info->idxNum |= 1 << kind;
    }
    uint64_t values = (uint64_t)info->colUsed >> table->values & TB_METRIC_ALL;
    info->idxNum |= (int)(values << KINDS);
    info->orderByConsumed = gives_order(table, info, chosen);
    estimate(info, chosen);
    return SQLITE_OK;
}

void tb__plan_text(const tb__plan_table *table, int64_t time, char out[20])
{
    tb_time_format(time * table->unit_us, out);
}

/* One past the greatest time a chunk's key can hold. */
static int64_t end_of_time(const tb__plan_table *table)
{
    return (TB__INDEX_MAX + 1) * (TB_US_PER_DAY / table->unit_us);
}

/* How many times from 1970 on are before the text (or are not after it). */
static int64_t count_before(const tb__plan_table *table, sqlite3_value *value, bool or_equal)
{
    const char *text = (const char *)sqlite3_value_text(value);
    int len = sqlite3_value_bytes(value);
    int64_t low = 0, high = end_of_time(table);
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        char own[20];
        tb__plan_text(table, middle, own);
        const int common = len < table->text_len ? len : table->text_len;
        int order = text ? memcmp(own, text, (size_t)common) : 1; /* as SQLite compares texts */
        if (order == 0) order = (table->text_len > len) - (table->text_len < len);
        if (order < 0 || (or_equal && order == 0))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void narrow(tb__bounds *bounds, int64_t first, int64_t last)
{
    if (first > bounds->first) bounds->first = first;
    if (last < bounds->last) bounds->last = last;
}

static void apply_time(const tb__plan_table *table, int kind, sqlite3_value *value,
                       tb__bounds *bounds)
{
    /* NULL and blobs follow other rules: SQLite's own check of the condition handles them. */
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL || type == SQLITE_BLOB) return;
    if (kind == TIME_IS || kind == TIME_FROM)
        narrow(bounds, count_before(table, value, false), INT64_MAX);
    if (kind == TIME_AFTER) narrow(bounds, count_before(table, value, true), INT64_MAX);
    if (kind == TIME_IS || kind == TIME_UNTIL)
        narrow(bounds, 0, count_before(table, value, true) - 1);
    if (kind == TIME_BEFORE) narrow(bounds, 0, count_before(table, value, false) - 1);
}

void tb__plan_bounds(const tb__plan_table *table, int plan, sqlite3_value **values,
                     tb__bounds *ret_bounds)
{
    *ret_bounds =
        (tb__bounds){.used = (uint64_t)plan >> KINDS, .owner = -1, .last = end_of_time(table) - 1};
    for (int kind = 0; kind < KINDS; kind++) {
        if (!(plan >> kind & 1)) continue;
        sqlite3_value *value = *values++;
        if (kind == OWNER_IS && sqlite3_value_type(value) == SQLITE_INTEGER) {
            ret_bounds->owner = sqlite3_value_int64(value);
            /* -1 means all here; no owner is negative, so 0 finds the same nothing. */
            if (ret_bounds->owner < 0) ret_bounds->owner = 0;
        } else if (kind == PLACE_IS && sqlite3_value_type(value) == SQLITE_TEXT) {
            ret_bounds->place = (const char *)sqlite3_value_text(value);
            ret_bounds->place_len = sqlite3_value_bytes(value);
        } else if (kind > PLACE_IS) {
            apply_time(table, kind, value, ret_bounds);
        }
    }
}

/* --- the tables themselves --- */

int tb__vtable_fail(tb__vtable *t, int rc, const char *message)
{
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = sqlite3_mprintf("%s", message);
    return rc;
}

int tb__vtable_fail_in_sqlite(tb__vtable *t)
{
    return tb__vtable_fail(t, sqlite3_extended_errcode(t->db), sqlite3_errmsg(t->db));
}

int tb__vtable_fail_with(tb__vtable *t, const tb_error *err)
{
    int rc = err->code == TB_E_NOMEM ? SQLITE_NOMEM : SQLITE_CORRUPT_VTAB;
    return tb__vtable_fail(t, err->code == TB_E_IO ? SQLITE_IOERR : rc, err->message);
}

tb_code tb__vtable_runs_fail(sqlite3 *db, int rc, const char *path, tb_error *err)
{
    (void)path;
    if (rc == SQLITE_NOMEM) return tb_no_memory(err);
    return tb_fail(err, (rc & 0xff) == SQLITE_CORRUPT ? TB_E_CORRUPT : TB_E_IO, NULL, "%s",
                   sqlite3_errmsg(db));
}

int tb__vtable_connect(sqlite3 *db, void *shape, int argc, const char *const *argv,
                       sqlite3_vtab **ret, char **ret_message)
{
    (void)argc, (void)argv, (void)ret_message;
    const tb__vshape *s = shape;
    int rc = sqlite3_declare_vtab(db, s->declaration);
    if (rc != SQLITE_OK) return rc;
    tb__vtable *t = sqlite3_malloc(sizeof *t);
    if (!t) return SQLITE_NOMEM;
    *t = (tb__vtable){{0}, db, s};
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); /* reads this file, does nothing else */
    *ret = &t->base;
    return SQLITE_OK;
}

int tb__vtable_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

int tb__vtable_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    return tb__plan(&((tb__vtable *)base)->shape->plan, info);
}

int tb__vtable_eof(sqlite3_vtab_cursor *base)
{
    return ((tb__vcursor *)base)->over;
}

int tb__vtable_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = ((tb__vcursor *)base)->row;
    return SQLITE_OK;
}

void *tb__vcursor_new(size_t size)
{
    void *c = sqlite3_malloc64(size);
    if (c) memset(c, 0, size);
    return c;
}

/* SQLite takes the shape as void *, and only hands it back to connect, which does not write. */
int tb__vtable_register(sqlite3 *db, const char *name, const sqlite3_module *module,
                        const tb__vshape *shape)
{
    union {
        const tb__vshape *in;
        void *out;
    } u = {shape};
    return sqlite3_create_module_v2(db, name, module, u.out, NULL);
}
