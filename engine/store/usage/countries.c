/* The virtual table `countries`: a row for each pull zone, day and country. Companion of buckets.c;
 * here the rows to unpack are those of country_day, one for each zone and day, beside the pending entries of runs: two
 * sequences ascending by zone and day, shown as one. */
#include "store/usage/plan.h"
#include "store/usage/entry.h"

#include "tollbook/calendar.h"

#include <string.h>

static const tb__vshape countries = {
    {0, -1, 1, 3, TB_US_PER_DAY, 10},
    "CREATE TABLE x(zone INTEGER,day TEXT,country TEXT,requests INTEGER,bytes INTEGER)",
    NULL,
};
/* Two forms, so that a zone is always found through the key. */
static const char all_zones[] = "SELECT zone,day,data FROM country_day"
                                " WHERE day BETWEEN ?1 AND ?2 ORDER BY zone,day";
static const char one_zone[] = "SELECT zone,day,data FROM country_day"
                               " WHERE day BETWEEN ?1 AND ?2 AND zone=?3 ORDER BY zone,day";

typedef struct cursor {
    tb__vcursor head;
    sqlite3_stmt *days;
    bool row, rows_end; /* days stands on a row that was not shown yet; it has no more */
    tb__lsm lsm;
    tb__lsm_merged pending;
    tb__lsm_entry entry; /* the next pending one within the bounds */
    bool entries_end;
    tb__bounds bounds;
    tb__lsm_key key; /* of the current row: zone and day */
    size_t at, n;    /* in list */
    tb__country list[TB__COUNTRY_MAX];
} cursor;

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    cursor *c = tb__vcursor_new(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    tb__lsm_init(&c->lsm, ((tb__vtable *)base)->db, "", tb__vtable_runs_fail, tb__usage_kinds);
    *ret = &c->head.base;
    return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    sqlite3_finalize(c->days);
    tb__lsm_merged_release(&c->pending);
    tb__lsm_release(&c->lsm);
    sqlite3_free(c);
    return SQLITE_OK;
}

static int fail_with(cursor *c, const tb_error *err)
{
    return tb__vtable_fail_with(tb__vtable_of(&c->head), err);
}

/* On to the next pending entry within the bounds. */
static int next_entry(cursor *c)
{
    const tb__bounds *b = &c->bounds;
    bool more = true;
    tb_error err;
    do {
        if (tb__lsm_merged_next(&c->pending, &c->entry, &more, &err)) return fail_with(c, &err);
        if (more && b->owner >= 0 && c->entry.key.owner > b->owner) more = false;
    } while (more && (c->entry.key.index < b->first || c->entry.key.index > b->last));
    c->entries_end = !more;
    return SQLITE_OK;
}

static int next_row(cursor *c)
{
    int rc = sqlite3_step(c->days);
    c->row = rc == SQLITE_ROW;
    c->rows_end = rc == SQLITE_DONE;
    return c->row || c->rows_end ? SQLITE_OK : tb__vtable_fail_in_sqlite(tb__vtable_of(&c->head));
}

static int show_row(cursor *c)
{
    tb_error err;
    c->row = false;
    return tb__country_decode(sqlite3_column_blob(c->days, 2),
                              (size_t)sqlite3_column_bytes(c->days, 2),
                              tb__country_seed(c->key.owner, c->key.index), c->list, &c->n, &err)
               ? fail_with(c, &err)
               : SQLITE_OK;
}

/* Adds the entry to the list, and goes on to the next one. */
static int show_entry(cursor *c)
{
    tb__country more[TB__COUNTRY_MAX], sum[TB__COUNTRY_MAX];
    size_t n = 0, n_sum = 0;
    tb_error err;
    if (!tb__entry_get_list(c->entry.data, c->entry.len, more, &n))
        return tb__vtable_fail(tb__vtable_of(&c->head), SQLITE_CORRUPT_VTAB,
                               "Pending countries are damaged.");
    if (tb__country_merge(c->list, c->n, more, n, sum, &n_sum, &err)) return fail_with(c, &err);
    memcpy(c->list, sum, n_sum * sizeof *sum);
    c->n = n_sum;
    return next_entry(c);
}

/* On to the next day that has a country; sets over at the end. */
static int find_row(cursor *c)
{
    int rc = SQLITE_OK;
    while (rc == SQLITE_OK && c->at == c->n && !c->head.over) {
        if (!c->row && !c->rows_end) rc = next_row(c);
        c->head.over = !c->row && c->entries_end;
        if (rc != SQLITE_OK || c->head.over) continue;
        const tb__lsm_key last = {INT64_MAX, INT64_MAX};
        tb__lsm_key row = c->row ? (tb__lsm_key){sqlite3_column_int64(c->days, 0),
                                                 sqlite3_column_int64(c->days, 1)}
                                 : last;
        tb__lsm_key pending = c->entries_end ? last : c->entry.key;
        c->key = tb__lsm_compare(row, pending) <= 0 ? row : pending;
        c->at = c->n = 0;
        if (tb__lsm_compare(row, c->key) == 0) rc = show_row(c);
        if (rc == SQLITE_OK && tb__lsm_compare(pending, c->key) == 0) rc = show_entry(c);
    }
    return rc;
}

/* The runs from the bounds' zone on. */
static int begin_pending(cursor *c)
{
    tb_error err;
    const int64_t owner = c->bounds.owner >= 0 ? c->bounds.owner : INT64_MIN;
    tb__lsm_merged_release(&c->pending);
    if (tb__lsm_load(&c->lsm, TB__LSM_COUNTRIES, &err) ||
        tb__lsm_merged_begin(&c->pending, &c->lsm, TB__LSM_COUNTRIES,
                            c->lsm.of[TB__LSM_COUNTRIES].run, c->lsm.of[TB__LSM_COUNTRIES].n,
                            owner, &err))
        return fail_with(c, &err);
    return next_entry(c);
}

static int on_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc,
                     sqlite3_value **argv)
{
    (void)unused, (void)argc;
    cursor *c = (cursor *)base;
    tb__vtable *t = tb__vtable_of(&c->head);
    tb__plan_bounds(&countries.plan, plan, argv, &c->bounds);
    c->bounds.place = NULL;
    sqlite3_finalize(c->days);
    const char *sql = c->bounds.owner < 0 ? all_zones : one_zone;
    if (sqlite3_prepare_v2(t->db, sql, -1, &c->days, NULL) != SQLITE_OK)
        return tb__vtable_fail_in_sqlite(t);
    sqlite3_bind_int64(c->days, 1, c->bounds.first);
    sqlite3_bind_int64(c->days, 2, c->bounds.last);
    if (c->bounds.owner >= 0) sqlite3_bind_int64(c->days, 3, c->bounds.owner);
    c->head.row = 0;
    c->head.over = c->row = c->rows_end = false;
    c->at = c->n = 0;
    int rc = next_row(c); /* the snapshot begins with it */
    if (rc == SQLITE_OK) rc = begin_pending(c);
    return rc == SQLITE_OK ? find_row(c) : rc;
}

static int on_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->at++;
    c->head.row++;
    return find_row(c);
}

static int on_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    cursor *c = (cursor *)base;
    const tb__country *country = &c->list[c->at];
    const char letters[2] = {(char)(country->code >> 8), (char)country->code};
    char text[20];
    switch (column) {
    case 0: sqlite3_result_int64(context, c->key.owner); break;
    case 1:
        tb__plan_text(&countries.plan, c->key.index, text);
        sqlite3_result_text(context, text, countries.plan.text_len, SQLITE_TRANSIENT);
        break;
    case 2: sqlite3_result_text(context, letters, 2, SQLITE_TRANSIENT); break;
    case 3: sqlite3_result_int64(context, (sqlite3_int64)country->requests); break;
    default: sqlite3_result_int64(context, (sqlite3_int64)country->bytes); break;
    }
    return SQLITE_OK;
}

static const sqlite3_module module = {
    TB__VTABLE_METHODS, .xOpen = on_open, .xClose = on_close,
    .xFilter = on_filter, .xNext = on_next, .xColumn = on_column,
};

int tb__countries_register(sqlite3 *db)
{
    return tb__vtable_register(db, "countries", &module, &countries);
}
