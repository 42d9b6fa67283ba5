/* The use of space. SQLite's dbstat gives the pages of each table and index; within usage, logs and events the rows
 * give their months and zones. */
#include "tollbook/audit.h"

#include "store/core/internal.h"

#include <stdlib.h>
#include <string.h>

/* ?1: how many. Names of tables that belong to nothing listed are those of the catalogue and of keys. */
static const char by_kind[] =
    "SELECT CASE WHEN t IN('chunk','country_day','series_placed','series_new','series_shared','edge','usage_run','usage_page','usage_gone','retention','usage_day','meter_resource','meter_series','gauge') THEN 'usage'"
    " WHEN t GLOB 'log_*' THEN 'request logs' WHEN t GLOB 'event_block*' THEN 'shield events'"
    " WHEN t GLOB 'event_id_*' OR t GLOB 'segment*' OR t GLOB 'withdrawal*' OR t GLOB 'rung*' OR t GLOB 'reject*' THEN 'inputs'"
    " WHEN t GLOB 'invoice*' OR t GLOB '*book*' OR t IN('ledger','closing','late','correction','month_run',"
    "'shadow_bill','scenario','charge','charge_billed') THEN 'money' WHEN t='audit' THEN 'audit log'"
    " WHEN t IN('alert','own_alert','outbox') THEN 'alerts' WHEN t IN('sqlite_schema','meta','head') THEN 'schema' ELSE 'catalogue and keys' END AS kind,"
    "sum(bytes) AS bytes FROM (SELECT coalesce(s.tbl_name,d.name) AS t,d.pgsize AS bytes FROM dbstat d"
    " LEFT JOIN sqlite_schema s ON s.name=d.name WHERE d.aggregate=1) GROUP BY kind"
    " UNION ALL SELECT 'free',f.freelist_count*p.page_size FROM pragma_freelist_count f,"
    "pragma_page_size p ORDER BY 2 DESC,1 LIMIT ?1";
/* A chunk's key: bit 17 tells days from hours, the bits below it the day or the month since 1970. */
static const char by_month[] =
    "SELECT m,sum(b) FROM (SELECT strftime('%Y-%m',iif(key&131072,unixepoch(format('%04d-%02d-01',"
    "1970+(key&131071)/12,(key&131071)%12+1)),(key&131071)*86400),'unixepoch') AS m,length(data) AS b"
    " FROM chunk UNION ALL SELECT 'waiting',length(data) FROM usage_page UNION ALL SELECT strftime('%Y-%m',day*86400,'unixepoch'),length(data) FROM country_day"
    " UNION ALL SELECT strftime('%Y-%m',at_us/1000000,'unixepoch'),48 FROM gauge" /* bytes of a row, about */
    " UNION ALL SELECT strftime('%Y-%m',first_ms/1000,'unixepoch'),length(data) FROM log_block"
    " UNION ALL SELECT 'waiting',length(data)+length(zones) FROM log_run"
    " UNION ALL SELECT strftime('%Y-%m',day*86400,'unixepoch'),length(data) FROM event_block)"
    " GROUP BY m ORDER BY m DESC LIMIT ?1";
static const char by_zone[] =
    "SELECT z,sum(b) FROM (SELECT s.owner AS z,length(c.data) AS b FROM series s JOIN chunk c"
    " ON c.key BETWEEN s.id<<18 AND (s.id<<18)+262143 WHERE s.scope=1"
    " UNION ALL SELECT zone,length(data) FROM country_day UNION ALL SELECT zone,length(data)"
    " FROM log_block UNION ALL SELECT 'waiting',length(data) FROM usage_page"
    " UNION ALL SELECT 'waiting',length(data)+length(zones) FROM log_run) GROUP BY z ORDER BY 2 DESC,1 LIMIT ?1";

static tb_code size_from(sqlite3_stmt *row, void *item, tb_error *err)
{
    tb_size *size = item;
    const char *name = (const char *)sqlite3_column_text(row, 0);
    size_t len = name ? strnlen(name, sizeof size->name - 1) : 0;
    if (!name) return tb_no_memory(err);
    memcpy(size->name, name, len);
    size->name[len] = 0;
    size->bytes = sqlite3_column_int64(row, 1);
    return TB_OK;
}

static tb_code sizes_of_file(tb_store *store, tb_size_by by, int64_t most, tb__sizes *to, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb_size), size_from, NULL};
    static const char *const queries[] = {by_kind, by_month, by_zone};
    sqlite3_stmt *s;
    int rc = sqlite3_prepare_v2(store->db, queries[by], -1, &s, NULL);
    if (rc != SQLITE_OK) return tb__sqlite_fail(store->db, rc, store->path, err);
    sqlite3_bind_int64(s, 1, most);
    tb_code code = tb__collect(store, s, &rows, &to->list, &to->n, err);
    sqlite3_finalize(s);
    to->cap = to->n;
    return code;
}

static int larger_first(const void *a, const void *b)
{
    const tb_size *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
    return strcmp(x->name, y->name);
}

static int later_first(const void *a, const void *b)
{
    return strcmp(((const tb_size *)b)->name, ((const tb_size *)a)->name);
}

tb_code tb_store_sizes(tb_store *store, tb_size_by by, int64_t most, tb_size **ret_sizes,
                       size_t *ret_n, tb_error *err)
{
    tb__sizes all = {NULL, 0, 0};
    tb_code code = sizes_of_file(store, by, most, &all, err);
    if (!code && store->plane.counters->sizes) {
        code = store->plane.counters->sizes(store, by, &all, err);
        if (!code && all.n) qsort(all.list, all.n, sizeof *all.list, by == TB_SIZE_BY_MONTH ? later_first : larger_first);
    }
    if (code) {
        free(all.list);
        return code;
    }
    *ret_sizes = all.list;
    *ret_n = all.n < (size_t)most ? all.n : (size_t)most;
    return TB_OK;
}
