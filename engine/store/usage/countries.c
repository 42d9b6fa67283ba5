/* The virtual table `countries`: a row for each pull zone, day and country. Companion of buckets.c;
 * here the rows to unpack are those of country_day, one for each zone and day. */
#include "store/usage/country.h"
#include "store/usage/plan.h"

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
    int64_t day;
    size_t at, n; /* in list */
    tb__country list[TB__COUNTRY_MAX];
} cursor;

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    (void)base;
    cursor *c = tb__vcursor_new(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    *ret = &c->head.base;
    return SQLITE_OK;
}

static int on_close(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    sqlite3_finalize(c->days);
    sqlite3_free(c);
    return SQLITE_OK;
}

/* On to the next day that has a country; sets over at the end. */
static int find_row(cursor *c)
{
    tb__vtable *t = tb__vtable_of(&c->head);
    while (c->at == c->n) {
        int rc = sqlite3_step(c->days);
        c->head.over = rc == SQLITE_DONE;
        if (c->head.over) return SQLITE_OK;
        if (rc != SQLITE_ROW) return tb__vtable_fail_in_sqlite(t);
        int64_t zone = sqlite3_column_int64(c->days, 0);
        const uint8_t *data = sqlite3_column_blob(c->days, 2);
        tb_error err;
        c->day = sqlite3_column_int64(c->days, 1);
        c->at = 0;
        if (tb__country_decode(data, (size_t)sqlite3_column_bytes(c->days, 2),
                               tb__country_seed(zone, c->day), c->list, &c->n, &err))
            return tb__vtable_fail(t, SQLITE_CORRUPT_VTAB, err.message);
    }
    return SQLITE_OK;
}

static int on_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc,
                     sqlite3_value **argv)
{
    (void)unused, (void)argc;
    cursor *c = (cursor *)base;
    tb__vtable *t = tb__vtable_of(&c->head);
    tb__bounds bounds;
    tb__plan_bounds(&countries.plan, plan, argv, &bounds);
    sqlite3_finalize(c->days);
    const char *sql = bounds.owner < 0 ? all_zones : one_zone;
    if (sqlite3_prepare_v2(t->db, sql, -1, &c->days, NULL) != SQLITE_OK)
        return tb__vtable_fail_in_sqlite(t);
    sqlite3_bind_int64(c->days, 1, bounds.first);
    sqlite3_bind_int64(c->days, 2, bounds.last);
    if (bounds.owner >= 0) sqlite3_bind_int64(c->days, 3, bounds.owner);
    c->head.row = 0;
    c->at = c->n = 0;
    return find_row(c);
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
    case 0: sqlite3_result_value(context, sqlite3_column_value(c->days, 0)); break;
    case 1:
        tb__plan_text(&countries.plan, c->day, text);
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
