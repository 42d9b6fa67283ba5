/* Retention (see usage/retain.c) on usage servers. Rows leave a shard only by a compaction (compact.c) that leaves them out.
 * So a request for retention records in the file up to which month an account's usage has expired, and which months must be
 * compacted (meta.usage_due_MONTH, a number that grows with each request). The next compaction of such a month leaves out the
 * expired usage of all accounts, as the file had it when the compaction began: hours become days, and the sums of expired days
 * are added to `usage_gone`, in the transaction that makes the compacted rows count. So a reader sees a month before or after
 * it, and after an interruption the month is still due.
 *
 * meta.usage_let_MONTH is the newest batch at that time. If no newer batch added to a month, and no more months of the
 * account have expired, the shards need not be queried. */
#include "store/clickhouse/compact.h"

#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE   8192 /* owners of one statement: 20 bytes each at most */
#define ROOM_EACH 128  /* cost of an account that the shards are queried for, of the walk's room */

static void month_name(char out[40], const char *prefix, int64_t month)
{
    sqlite3_snprintf(40, out, "%s%lld", prefix, (long long)month);
}

/* --- an account's owners --- */

typedef struct owners {
    struct sharded_owner {
        size_t shard;
        int scope;
        int64_t id;
    } *list; /* by shard and scope */
    size_t n, cap;
} owners;

static tb_code add_owner(tb_store *store, owners *o, int scope, int64_t id, tb_error *err)
{
    tb_code code = tb__grow(&o->list, o->n, &o->cap, sizeof *o->list, err);
    if (!code) o->list[o->n++] = (struct sharded_owner){tb__ch_shard(store, scope, id), scope, id};
    return code;
}

static tb_code add_owners(tb_store *store, owners *o, int scope, tb__statement of, int64_t account, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, of, &account, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_owner(store, o, scope, sqlite3_column_int64(s, 0), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static int by_shard_and_scope(const void *a, const void *b)
{
    const struct sharded_owner *x = a, *y = b;
    if (x->shard != y->shard) return x->shard < y->shard ? -1 : 1;
    return x->scope - y->scope;
}

/* zones: also its pull zones. */
static tb_code list_owners(tb_store *store, int64_t account, bool zones, owners *o, tb_error *err)
{
    tb_code code = add_owner(store, o, TB__SCOPE_ACCOUNT, account, err);
    if (!code) code = add_owners(store, o, TB__SCOPE_BALANCER, TB__SQL_ACCOUNT_BALANCERS, account, err);
    if (!code) code = add_owners(store, o, TB__SCOPE_METER, TB__SQL_ACCOUNT_METERS, account, err);
    if (!code && zones) code = add_owners(store, o, TB__SCOPE_ZONE, TB__SQL_ACCOUNT_ZONES, account, err);
    if (!code) qsort(o->list, o->n, sizeof *o->list, by_shard_and_scope);
    return code;
}

/* How many owners from `at` on go into one statement: those of one shard. */
static size_t count_in_statement(const owners *o, size_t at)
{
    size_t n = 1;
    while (at + n < o->n && n < AT_ONCE && o->list[at + n].shard == o->list[at].shard)
        n++;
    return n;
}

/* "((scope IN(..) AND owner IN(..)) OR ...)", or with `zones` "zone IN(..)". false: there are none. */
static bool put_owners(const owners *o, size_t at, size_t n, bool zones, tb_buf *out)
{
    bool any = false;
    for (size_t i = at; i < at + n; i++) {
        const struct sharded_owner *w = &o->list[i];
        const bool same = any && w->scope == w[-1].scope;
        if (zones && w->scope != TB__SCOPE_ZONE) continue;
        if (same) tb_buf_fmt(out, ",%" PRId64, w->id);
        else if (zones) tb_buf_fmt(out, "zone IN(%" PRId64, w->id);
        else tb_buf_fmt(out, "%s(%s AND owner IN(%" PRId64, any ? ")) OR " : "(", tb__ch_scopes(w->scope, true), w->id);
        any = true;
    }
    if (any) tb_buf_str(out, zones ? ")" : ")))");
    return any;
}

/* --- counting expired rows --- */

/* Month of an hour since 1970, for GROUP BY. */
#define MONTH_OF(t) "toUInt32((toYear(" t ")-1970)*12+toMonth(" t ")-1) AS mo"
#define CELL_TIME   "toDateTime(h*3600,'UTC')"
#define DAY_TIME    "toDateTime(day*86400,'UTC')"

/* ",count,bytes". The bytes are estimated from the table's average row, as the size of a single row is not known. */
static void put_weight(tb_buf *sql, const char *database, const char *table)
{
    tb_buf_fmt(sql,
               ",toUInt64(count()),toUInt64(intDiv(count()*(SELECT intDiv(sum(bytes_on_disk)*1000,greatest(sum(rows),1)) FROM"
               " system.parts WHERE database='%s' AND table='%s' AND active),1000))",
               database, table);
}

/* Rows of { days u8, month u32, count u64, bytes u64 }. */
static tb_code read_counts(tb_store *store, tb_retain_walk *w, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        tb_retain_month *m = NULL;
        const bool days = tb__ch_column(&r, 1) != 0;
        const int64_t month = (int64_t)tb__ch_column(&r, 4);
        const uint64_t n = tb__ch_column(&r, 8), bytes = tb__ch_column(&r, 8);
        if (r.cut || (days && month >= w->kept.days)) continue;
        code = tb__retain_month(w, month, &m, err);
        if (code) break;
        *(days ? &m->day_rows : &m->hour_rows) += n;
        *(days ? &m->day_bytes : &m->hour_bytes) += bytes;
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static tb_code count_cells(tb_store *store, tb_retain_walk *w, const owners *o, size_t at, size_t n, tb_error *err)
{
    tb_buf where, *sql = tb__ch_start(store);
    tb_buf_init(&where, 1 << 20, NULL);
    (void)put_owners(o, at, n, false, &where);
    tb_buf_add(&where, "", 1);
    tb_code code = tb_buf_check(&where, err);
    const tb__ch_rows rows = {.columns = "scope,h", .where = where.data, .end = tb__ch_month_hours(w->kept.hours).first};
    tb_buf_str(sql, "SELECT toUInt8(bitAnd(scope,4)!=0) AS days," MONTH_OF(CELL_TIME));
    put_weight(sql, tb__ch_of(store)->client->database, "cell");
    tb_buf_str(sql, " FROM ");
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY days,mo ORDER BY mo FORMAT RowBinary");
    tb_buf_release(&where);
    if (!code) code = tb__ch_query(store, o->list[at].shard, err);
    return code ? code : read_counts(store, w, err);
}

static tb_code count_countries(tb_store *store, tb_retain_walk *w, const owners *o, size_t at, size_t n, tb_error *err)
{
    const tb__ch_hours_of span = {0, tb__ch_month_hours(w->kept.days).first};
    const char *database = tb__ch_of(store)->client->database;
    tb_buf *sql = tb__ch_start(store);
    tb_buf_str(sql, "SELECT toUInt8(1) AS days," MONTH_OF(DAY_TIME));
    put_weight(sql, database, "country");
    tb_buf_fmt(sql, " FROM %s.country WHERE day<%" PRId64 " AND ", database, span.end / 24);
    if (!put_owners(o, at, n, true, sql)) return TB_OK;
    tb_code code = tb__ch_put_months(store, sql, TB__CH_COUNTRY, span, err);
    tb_buf_str(sql, " GROUP BY days,mo ORDER BY mo FORMAT RowBinary");
    if (!code) code = tb__ch_query(store, o->list[at].shard, err);
    return code ? code : read_counts(store, w, err);
}

/* --- the request --- */

/* The first month that usage was added to since its retention was checked. */
static tb_code first_unchecked_month(tb_store *store, int64_t *ret_month, tb_error *err)
{
    struct tb__ch_retention_checked *u = &tb__ch_of(store)->retention_checked;
    int64_t watermark = 0, day = -1;
    tb_code code = tb__ch_watermark(store, &watermark, err);
    if (!code && u->watermark != watermark) {
        code = tb__int_of(store, TB__SQL_USAGE_UNCHECKED, NULL, 0, -1, &day, err);
        *u = (struct tb__ch_retention_checked){code ? 0 : watermark, day < 0 ? INT64_MAX : tb_month_from_day(day)};
    }
    *ret_month = u->month;
    return code;
}

static tb_code request(tb_store *store, int64_t month, tb_error *err)
{
    char name[40];
    int64_t call = 0;
    month_name(name, "usage_due_", month);
    tb_code code = tb__ch_meta(store, name, 0, &call, err);
    return code ? code : tb__ch_meta_put(store, name, call + 1, err);
}

static uint64_t rows_of(const tb_retain_walk *w)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < w->n; i++)
        rows += w->months[i].hour_rows + w->months[i].day_rows;
    return rows;
}

tb_code tb__ch_expire(tb_store *store, tb_retain_walk *w, bool *ret_over, tb_error *err)
{
    int64_t unchecked = 0;
    const uint64_t before = rows_of(w);
    *ret_over = true;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = first_unchecked_month(store, &unchecked, err);
    if (code || (!w->further && w->kept.hours <= unchecked)) return code;
    owners o = {NULL, 0, 0};
    code = list_owners(store, w->account, true, &o, err);
    for (size_t at = 0, n; !code && at < o.n; at += n) {
        n = count_in_statement(&o, at);
        code = count_cells(store, w, &o, at, n, err);
        if (!code && w->kept.days > 0) code = count_countries(store, w, &o, at, n, err);
    }
    free(o.list);
    w->room -= w->room < ROOM_EACH ? w->room : ROOM_EACH;
    if (code || rows_of(w) == before) return code;
    w->later = true;
    /* The walk's list also has the months of earlier accounts, which are requested again: one compaction serves all accounts. */
    for (size_t i = 0; !code && !w->dry && i < w->n; i++)
        if (w->months[i].hour_rows || w->months[i].day_rows) code = request(store, w->months[i].month, err);
    return code;
}

/* After a withdrawal the rows of an hour may sum to zero: such hours do not count. */
static tb_code first_hour(tb_store *store, const owners *o, size_t at, size_t n, int64_t *first, tb_error *err)
{
    tb_buf where, *sql = tb__ch_start(store);
    int64_t withdrawn = 0;
    tb_buf_init(&where, 1 << 20, NULL);
    (void)put_owners(o, at, n, false, &where);
    tb_buf_add(&where, "", 1);
    tb_code code = tb_buf_check(&where, err);
    if (!code) code = tb__int_of(store, TB__SQL_WITHDRAWN_ANY, NULL, 0, 0, &withdrawn, err);
    const tb__ch_rows rows = {.columns = "h", .metrics = withdrawn ? TB_METRIC_ALL : 0, .where = where.data, .end = UINT32_MAX};
    tb_buf_str(sql, withdrawn ? "SELECT min(h) FROM (SELECT h FROM " : "SELECT min(h) FROM ");
    if (!code) code = tb__ch_put_rows(store, sql, &rows, err);
    if (withdrawn) tb_buf_str(sql, " GROUP BY h");
    if (withdrawn) tb__ch_put_not_empty(sql);
    tb_buf_str(sql, withdrawn ? ") HAVING count()>0 FORMAT RowBinary" : " HAVING count()>0 FORMAT RowBinary");
    tb_buf_release(&where);
    if (!code) code = tb__ch_query(store, o->list[at].shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code || r.at == r.end) return code;
    const int64_t hour = (int64_t)tb__ch_column(&r, 4);
    if (*first < 0 || hour < *first) *first = hour;
    return tb__ch_check_read(&r, err);
}

tb_code tb__ch_first_month(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err)
{
    owners o = {NULL, 0, 0};
    int64_t first = -1;
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = list_owners(store, account, false, &o, err);
    for (size_t at = 0, n; !code && at < o.n; at += n) {
        n = count_in_statement(&o, at);
        code = first_hour(store, &o, at, n, &first, err);
    }
    free(o.list);
    *ret_month = first < 0 ? -1 : tb_month_from_day(first / 24);
    return code;
}

/* --- the compaction --- */

tb_code tb__ch_read_due(tb_store *store, tb__ch_due **ret_list, size_t *ret_n, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    size_t cap = 0;
    *ret_list = NULL;
    *ret_n = 0;
    tb_code code = tb__sql(store, TB__SQL_USAGE_DUE, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(ret_list, *ret_n, &cap, sizeof **ret_list, err);
        if (code) sqlite3_reset(s);
        else (*ret_list)[(*ret_n)++] = (tb__ch_due){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    }
    return code;
}

tb_code tb__ch_read_expiring(tb_store *store, tb__ch_compaction *f, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_USAGE_KEPT, &f->month, 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&f->expiring, f->n_expiring, &f->cap_expiring, sizeof *f->expiring, err);
        if (code) sqlite3_reset(s);
        else f->expiring[f->n_expiring++] = (tb__ch_expiring){sqlite3_column_int64(s, 0), sqlite3_column_int(s, 1) != 0, NULL};
    }
    return code;
}

static int by_account(const void *a, const void *b)
{
    const tb__ch_expiring *x = a, *y = b;
    return x->account < y->account ? -1 : x->account > y->account;
}

tb_code tb__ch_is_expiring(tb_store *store, const tb__ch_compaction *f, int scope, int64_t owner, bool *ret_expiring, size_t *ret,
                          tb_error *err)
{
    tb__ch_expiring key = {.account = scope == TB__SCOPE_ACCOUNT ? owner : 0};
    tb_code code = TB_OK;
    *ret_expiring = false;
    if (!f->n_expiring) return TB_OK;
    const tb__statement of = scope == TB__SCOPE_ZONE    ? TB__SQL_ZONE_ACCOUNT
                             : scope == TB__SCOPE_METER ? TB__SQL_METER_SERIES_ACCOUNT
                                                        : TB__SQL_BALANCER_ACCOUNT;
    if (scope != TB__SCOPE_ACCOUNT) code = tb__int_of(store, of, &owner, 1, 0, &key.account, err);
    if (code) return code;
    const tb__ch_expiring *at = bsearch(&key, f->expiring, f->n_expiring, sizeof key, by_account);
    *ret_expiring = at != NULL;
    if (at) *ret = (size_t)(at - f->expiring);
    return TB_OK;
}

/* Makes readers that cached the month's days query them again. If usage arrived that the compaction did not read, the month
 * is checked again by the next request. */
static tb_code note_days(tb_store *store, const tb__ch_compaction *f, tb_error *err)
{
    const int64_t span[2] = {tb_month_first_day(f->month), tb_month_first_day(f->month + 1) - 1};
    char name[40];
    void *b = NULL;
    int64_t newest = 0;
    tb_code code = tb__int_of(store, TB__SQL_USAGE_DAYS_NEWEST, span, 2, 0, &newest, err);
    if (!code) code = tb__ch_batch_begin(store, &b, err);
    tb__ch_batch *batch = b;
    if (!code) code = tb__run_ints(store, TB__SQL_USAGE_DAYS_TOUCH, (int64_t[]){batch->id, span[0], span[1]}, 3, err);
    month_name(name, "usage_let_", f->month);
    if (!code && newest < f->batch) code = tb__ch_meta_put(store, name, batch->id, err);
    if (!code) batch->ended = true;
    tb__ch_batch_free(b);
    return code;
}

tb_code tb__ch_record_expired(tb_store *store, const tb__ch_compaction *f, tb_error *err)
{
    char name[40];
    int64_t call = 0;
    tb_code code = note_days(store, f, err);
    for (size_t i = 0; !code && i < f->n_expiring; i++)
        if (f->expiring[i].sum) code = tb__gone_add(store, f->expiring[i].account, f->month, f->expiring[i].sum, err);
    month_name(name, "usage_due_", f->month);
    if (!code) code = tb__ch_meta(store, name, 0, &call, err);
    if (!code && call == f->due) code = tb__ch_meta_put(store, name, 0, err);
    store->dirty = store->billing_stale = true;
    return code;
}
