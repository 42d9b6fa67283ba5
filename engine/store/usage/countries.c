/* The virtual table `countries`: a row for each pull zone, day and country. Companion of buckets.c;
 * here the rows to unpack are those of country_day, one for each zone and day. */
#include "store/usage/country.h"
#include "store/usage/plan.h"

#include "tollbook/calendar.h"

#include <string.h>

static const tb__plan_table plan_table = {0, -1, 1, 3, TB_US_PER_DAY, 10};
static const char declaration[] =
    "CREATE TABLE x(zone INTEGER,day TEXT,country TEXT,requests INTEGER,bytes INTEGER)";
/* Two forms, so that a zone is always found through the key. */
static const char all_zones[] = "SELECT zone,day,data FROM country_day"
                                " WHERE day BETWEEN ?1 AND ?2 ORDER BY zone,day";
static const char one_zone[] = "SELECT zone,day,data FROM country_day"
                               " WHERE day BETWEEN ?1 AND ?2 AND zone=?3 ORDER BY zone,day";

typedef struct table {
    sqlite3_vtab base;
    sqlite3 *db;
} table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    sqlite3_stmt *days;
    sqlite3_int64 row;
    int64_t day;
    size_t at, n; /* in list */
    tb__country list[TB__COUNTRY_MAX];
    bool over;
} cursor;

static int failed(table *t, int rc, const char *message)
{
    sqlite3_free(t->base.zErrMsg);
    t->base.zErrMsg = sqlite3_mprintf("%s", message);
    return rc;
}

static int failed_in_sqlite(table *t)
{
    return failed(t, sqlite3_extended_errcode(t->db), sqlite3_errmsg(t->db));
}

static int on_connect(sqlite3 *db, void *unused, int argc, const char *const *argv,
                      sqlite3_vtab **ret, char **ret_message)
{
    (void)unused, (void)argc, (void)argv, (void)ret_message;
    int rc = sqlite3_declare_vtab(db, declaration);
    if (rc != SQLITE_OK) return rc;
    table *t = sqlite3_malloc(sizeof *t);
    if (!t) return SQLITE_NOMEM;
    *t = (table){{0}, db};
    sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
    *ret = &t->base;
    return SQLITE_OK;
}

static int on_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int on_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    return tb__plan(&plan_table, info);
}

static int on_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    (void)base;
    cursor *c = sqlite3_malloc(sizeof *c);
    if (!c) return SQLITE_NOMEM;
    memset(c, 0, sizeof *c);
    *ret = &c->base;
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
    table *t = (table *)c->base.pVtab;
    while (c->at == c->n) {
        int rc = sqlite3_step(c->days);
        c->over = rc == SQLITE_DONE;
        if (c->over) return SQLITE_OK;
        if (rc != SQLITE_ROW) return failed_in_sqlite(t);
        int64_t zone = sqlite3_column_int64(c->days, 0);
        const uint8_t *data = sqlite3_column_blob(c->days, 2);
        tb_error err;
        c->day = sqlite3_column_int64(c->days, 1);
        c->at = 0;
        if (tb__country_decode(data, (size_t)sqlite3_column_bytes(c->days, 2),
                               tb__country_seed(zone, c->day), c->list, &c->n, &err))
            return failed(t, SQLITE_CORRUPT_VTAB, err.message);
    }
    return SQLITE_OK;
}

static int on_filter(sqlite3_vtab_cursor *base, int plan, const char *unused, int argc,
                     sqlite3_value **argv)
{
    (void)unused, (void)argc;
    cursor *c = (cursor *)base;
    table *t = (table *)base->pVtab;
    tb__bounds bounds;
    tb__plan_bounds(&plan_table, plan, argv, &bounds);
    sqlite3_finalize(c->days);
    const char *sql = bounds.owner < 0 ? all_zones : one_zone;
    if (sqlite3_prepare_v2(t->db, sql, -1, &c->days, NULL) != SQLITE_OK) return failed_in_sqlite(t);
    sqlite3_bind_int64(c->days, 1, bounds.first);
    sqlite3_bind_int64(c->days, 2, bounds.last);
    if (bounds.owner >= 0) sqlite3_bind_int64(c->days, 3, bounds.owner);
    c->row = 0;
    c->at = c->n = 0;
    return find_row(c);
}

static int on_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->at++;
    c->row++;
    return find_row(c);
}

static int on_eof(sqlite3_vtab_cursor *base)
{
    return ((cursor *)base)->over;
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
        tb__plan_text(&plan_table, c->day, text);
        sqlite3_result_text(context, text, plan_table.text_len, SQLITE_TRANSIENT);
        break;
    case 2: sqlite3_result_text(context, letters, 2, SQLITE_TRANSIENT); break;
    case 3: sqlite3_result_int64(context, (sqlite3_int64)country->requests); break;
    default: sqlite3_result_int64(context, (sqlite3_int64)country->bytes); break;
    }
    return SQLITE_OK;
}

static int on_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = ((cursor *)base)->row;
    return SQLITE_OK;
}

static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = on_connect,
    .xBestIndex = on_best_index,
    .xDisconnect = on_disconnect,
    .xOpen = on_open,
    .xClose = on_close,
    .xFilter = on_filter,
    .xNext = on_next,
    .xEof = on_eof,
    .xColumn = on_column,
    .xRowid = on_rowid,
};

int tb__countries_register(sqlite3 *db)
{
    return sqlite3_create_module_v2(db, "countries", &module, NULL, NULL);
}
