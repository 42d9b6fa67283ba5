/* Subtracting usage: what tb_store_add_usage adds, in the other direction.
 *
 * All pending entries are compacted first, so every counter lies in its row. A day is then taken off each series
 * that it was added to (its location's, all locations', and the same two of the account), from the
 * hours and from the month's days. Every row is looked at before it is written, and what is not there
 * is not subtracted: the call fails, and the caller undoes the transaction. So after a success each sum is
 * what it would be without the input, and verify's rules hold as before.
 *
 * An hour in which nothing is left is no row of `buckets` any more, and a row of which no hour is left
 * goes. Counters of which the larger wins stay: what the second largest was is not known. */
#include "store/usage/batch.h"
#include "store/usage/cells.h"
#include "store/usage/file.h"
#include "store/usage/retain.h"
#include "store/usage/taking.h"
#include "tollbook/calendar.h"
#include "tollbook/withdraw.h"

#include <stdio.h>
#include <string.h>

static void day_text(const tb__taking *t, char ret[20])
{
    tb_time_format(t->day->day * TB_US_PER_DAY, ret);
}

/* Of a month whose hours were let go nothing is taken off: what lies there came later, and is another input's. */
static tb_code refuse_let_go(const tb__taking *t, tb_error *err)
{
    const tb_rollup_day *day = t->day;
    const bool balancer = day->scope == TB_ROLLUP_BALANCER;
    tb_kept kept;
    char when[20];
    tb_code code = tb__kept_of(t->store, balancer ? TB__SCOPE_BALANCER : TB__SCOPE_ZONE, day->id, &kept, err);
    if (code || tb_month_from_day(day->day) >= kept.hours) return code;
    day_text(t, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "%s %lld, %.10s: usage by the hour of that month was let go (retain), so nothing of it can be "
                   "withdrawn. Correct what was billed with `ledger adjust`. Nothing was withdrawn.",
                   balancer ? "Load balancer" : "Pull zone", (long long)day->id, when);
}

tb_code tb__too_little(const tb__taking *t, const char *what, tb_error *err)
{
    const tb_rollup_day *day = t->day;
    const bool balancer = day->scope == TB_ROLLUP_BALANCER;
    char when[20];
    day_text(t, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "%s %lld%s%.*s, %.10s: there is less usage (%s) than would be withdrawn. The "
                   "catalogue has changed since the input was taken, or it is another input. "
                   "Nothing was withdrawn.",
                   balancer ? "Load balancer" : "Pull zone", (long long)day->id,
                   balancer ? "" : ", ", (int)day->edge_len, day->edge, when, what);
}

/* --- grids --- */

/* Takes the sums of `less` off; NULL, or the counter of which there is less. */
static const char *grid_take(tb_grid *from, const tb_grid *less)
{
    for (uint32_t left = less->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        const bool there = from->metrics & TB_METRIC_BIT(m);
        for (uint32_t slots = less->slots; slots; slots &= slots - 1) {
            const unsigned s = (unsigned)__builtin_ctz(slots);
            const uint64_t value = less->v[m][s];
            if (!value) continue;
            if (!there || from->v[m][s] < value) return tb_metric_table[m].name;
            from->v[m][s] -= value;
        }
    }
    return NULL;
}

/* Whether anything is taken off. Of two inputs that counted nothing in the same hour the first one that is
 * withdrawn takes the hour with it: then there is no row, and none is needed. */
static bool takes_any(const tb_grid *less)
{
    for (uint32_t left = less->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        for (unsigned s = 0; tb_metric_table[m].how == TB_HOW_SUM && s < TB_GRID_SLOTS; s++)
            if ((less->slots >> s & 1) && less->v[m][s]) return true;
    }
    return false;
}

/* Of the slots that were touched, those in which nothing is left are none any more. */
static void drop_empty(tb_grid *grid, uint32_t touched)
{
    for (uint32_t slots = grid->slots & touched; slots; slots &= slots - 1) {
        const unsigned s = (unsigned)__builtin_ctz(slots);
        bool any = false;
        for (uint32_t left = grid->metrics; left && !any; left &= left - 1)
            any = grid->v[__builtin_ctz(left)][s] != 0;
        if (!any) grid->slots &= ~(UINT32_C(1) << s);
    }
}

/* --- rows --- */

static tb_code read_row(tb_store *store, int64_t key, tb_grid *grid, bool *ret_there, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_GET, &key, 1, &s, err);
    if (!code) code = tb__step(store, s, ret_there, err);
    if (code || !*ret_there) return code;
    code = tb__chunk_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), key, grid,
                            err);
    sqlite3_reset(s);
    return code;
}

static tb_code write_row(tb_store *store, int64_t key, const tb_grid *grid, tb_error *err)
{
    uint8_t bytes[TB__CHUNK_MAX];
    sqlite3_stmt *s;
    store->usage->rows_changed = true;
    if (!grid->slots) return tb__run_ints(store, TB__SQL_CHUNK_DELETE, &key, 1, err);
    const size_t len = tb__chunk_encode(grid, key, bytes);
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_UPDATE, &key, 1, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 2, bytes, (int)len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static tb_code row_take(const tb__taking *t, int64_t key, const tb_grid *less, tb_error *err)
{
    bool there = false;
    tb_grid grid;
    tb_code code = read_row(t->store, key, &grid, &there, err);
    if (code) return code;
    if (!there) return takes_any(less) ? tb__too_little(t, "none", err) : TB_OK;
    const char *missing = grid_take(&grid, less);
    if (missing) return tb__too_little(t, missing, err);
    drop_empty(&grid, less->slots);
    return write_row(t->store, key, &grid, err);
}

static tb_code series_take(const tb__taking *t, int64_t series, const tb_grid *hours, tb_error *err)
{
    tb_grid days;
    tb_grid_clear(&days);
    tb_code code = row_take(t, tb__chunk_key(series, TB__GRAIN_HOURS, t->day->day), hours, err);
    if (!code) code = tb_grid_fold(&days, (unsigned)tb_day_of_month(t->day->day), hours, err);
    const int64_t month = tb_month_from_day(t->day->day);
    return code ? code : row_take(t, tb__chunk_key(series, TB__GRAIN_DAYS, month), &days, err);
}

/* --- a day of the cursor --- */

/* From the series at the location, and from that of all locations. */
static tb_code rows_take(tb__taking *t, const tb__owner *owner, const tb__member *at, const tb_grid *hours,
                         tb_error *err)
{
    tb_code code = series_take(t, at->series, hours, err);
    return code || !owner->all ? code : series_take(t, owner->all, hours, err);
}

static tb_code owner_take(tb__taking *t, const tb__owner *owner, int64_t edge, const tb_grid *hours,
                          tb_error *err)
{
    const tb__member *own = tb__owner_at(owner, edge);
    if (own) return t->take(t, owner, own, hours, err);
    return takes_any(hours) ? tb__too_little(t, "none", err) : TB_OK;
}

/* 0: there is no such location. */
static tb_code edge_number(const tb__taking *t, int64_t *ret_edge, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_edge = 0;
    tb_code code = tb__sql(t->store, TB__SQL_EDGE_BY_CODE, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, t->day->edge, (int)t->day->edge_len, SQLITE_STATIC);
    code = tb__step(t->store, s, &row, err);
    if (code || !row) return code;
    *ret_edge = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return tb__check_id("edge", *ret_edge, TB__EDGE_END, err);
}

static tb_code balancer_take(tb__taking *t, const tb_grid *hours, tb_error *err)
{
    const tb__late_of of = {TB__SCOPE_BALANCER, t->day->id, 0, 0, true};
    tb__owner *owner = NULL;
    tb_code code = tb__owner_get(t->store, TB__SCOPE_BALANCER, t->day->id, &owner, err);
    if (!code) code = owner_take(t, owner, 0, hours, err);
    return code ? code : tb__late_note(t->store, of, t->day->day, hours, err);
}

static tb_code zone_take(tb__taking *t, const tb_grid *hours, tb_error *err)
{
    int64_t edge = 0;
    tb__owner *zone = NULL, *account = NULL;
    tb_code code = edge_number(t, &edge, err);
    if (!code) code = tb__owner_get(t->store, TB__SCOPE_ZONE, t->day->id, &zone, err);
    if (code) return code;
    if (!edge) return tb__too_little(t, "none", err);
    code = owner_take(t, zone, edge, hours, err);
    if (code || !zone->account) return code;
    const tb__late_of of = {TB__SCOPE_ZONE, zone->id, zone->account, edge, true};
    code = tb__owner_get(t->store, TB__SCOPE_ACCOUNT, zone->account, &account, err);
    if (!code && account->shares != zone->id) code = owner_take(t, account, edge, hours, err);
    return code ? code : tb__late_note(t->store, of, t->day->day, hours, err);
}

static void note_maxima(const tb__taking *t, const tb_grid *hours)
{
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        if (tb_metric_table[m].how == TB_HOW_SUM) continue;
        for (unsigned s = 0; s < TB_GRID_SLOTS; s++)
            if (hours->v[m][s]) *t->maxima |= TB_METRIC_BIT(m);
    }
}

static tb_code day_take(tb__taking *t, const tb_grid *hours, tb_error *err)
{
    if (!hours->slots) return TB_OK;
    const int64_t hour = t->day->day * 24 + 31 - __builtin_clz(hours->slots);
    if (hour > t->newest) t->newest = hour;
    note_maxima(t, hours);
    tb__count_sums(t->store->sums, &t->store->cells, t->day, hours);
    tb_code code = takes_any(hours) ? refuse_let_go(t, err) : TB_OK;
    if (code) return code;
    return t->day->scope == TB_ROLLUP_BALANCER ? balancer_take(t, hours, err)
                                               : zone_take(t, hours, err);
}

tb_code tb__take_days(tb__taking *t, tb_rollup_cursor *cursor, tb_error *err)
{
    tb_rollup_day day;
    tb_grid hours;
    tb_code code = TB_OK;
    t->day = &day;
    while (!code && tb_rollup_next_day(cursor, &day, &hours))
        code = day_take(t, &hours, err);
    t->day = NULL;
    return code ? code : tb_rollup_cursor_check(cursor, err);
}

/* --- countries --- */

tb_code tb__too_few_of_country(int64_t zone, int64_t day, tb_error *err)
{
    char when[20];
    tb_time_format(day * TB_US_PER_DAY, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "Pull zone %lld, %.10s: there are fewer requests of a country than would be "
                   "withdrawn. Nothing was withdrawn.",
                   (long long)zone, when);
}

static tb_code read_list(tb_store *store, const int64_t id[2], tb__country *list, size_t *ret_n,
                         tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_n = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_COUNTRY_GET, id, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__country_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0),
                              tb__country_seed(id[0], id[1]), list, ret_n, err);
    sqlite3_reset(s);
    return code;
}

static tb_code write_list(tb_store *store, const int64_t id[2], const tb__country *list, size_t n,
                          tb_error *err)
{
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    sqlite3_stmt *s;
    if (!n) return tb__run_ints(store, TB__SQL_COUNTRY_DELETE, id, 2, err);
    const size_t len = tb__country_encode(list, n, tb__country_seed(id[0], id[1]), bytes);
    tb_code code = tb__sql_ints(store, TB__SQL_COUNTRY_PUT, id, 2, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 3, bytes, (int)len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

static tb_code country_take(tb_store *store, const tb_rollup_country *less, tb_error *err)
{
    const int64_t id[2] = {less->zone, less->day};
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0, at = 0;
    tb_code code = read_list(store, id, list, &n, err);
    if (code) return code;
    while (at < n && list[at].code != less->country)
        at++;
    if (at == n || list[at].requests < less->requests || list[at].bytes < less->bytes)
        return tb__too_few_of_country(less->zone, less->day, err);
    list[at].requests -= less->requests;
    list[at].bytes -= less->bytes;
    if (!list[at].requests && !list[at].bytes) {
        memmove(list + at, list + at + 1, (n - at - 1) * sizeof *list);
        n--;
    }
    store->country_requests += less->requests;
    store->country_bytes += less->bytes;
    return write_list(store, id, list, n, err);
}

/* --- the newest hour --- */

static tb_code newest_of(sqlite3_stmt *s, int64_t *newest, tb_error *err)
{
    tb_grid grid;
    const int64_t key = sqlite3_column_int64(s, 0);
    tb_code code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                                    key, &grid, err);
    if (code || !grid.slots) return code;
    const int64_t hour = tb__key_index(key) * 24 + 31 - __builtin_clz(grid.slots);
    if (hour > *newest) *newest = hour;
    return TB_OK;
}

/* The newest hour is gone: it is looked for, in the last day of each series. */
static tb_code find_newest(tb_store *store, tb_error *err)
{
    const int64_t bounds[2] = {TB__SERIES_SHIFT, TB__INDEX_MAX};
    int64_t newest = -INT64_MAX;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_ENDS, bounds, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = newest_of(s, &newest, err);
        if (code) sqlite3_reset(s);
    }
    return code ? code : tb__meta_set(store, "newest_hour", newest, err);
}

/* --- the whole --- */

tb_code tb__chunks_take_back(tb_store *store, tb_rollup_cursor *cursor, uint32_t *maxima,
                             tb_error *err)
{
    tb_rollup_country country;
    int64_t newest = 0;
    tb__taking t = {.store = store, .maxima = maxima, .newest = INT64_MIN, .take = rows_take};
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    if (!code) code = tb__usage_compact_all(store, err);
    if (!code) code = tb__meta_set(store, "cell_max", store->usage->cell_max, err);
    if (!code) code = tb__take_days(&t, cursor, err);
    while (!code && tb_rollup_next_country(cursor, &country))
        code = country_take(store, &country, err);
    if (!code) code = tb_rollup_cursor_check(cursor, err);
    if (!code) code = tb__meta_get(store, "newest_hour", &newest, err);
    return code || t.newest < newest ? code : find_newest(store, err);
}

tb_code tb_store_withdraw_usage(tb_store *store, tb_rollup_cursor *cursor, uint32_t *maxima,
                                tb_error *err)
{
    store->dirty = store->billing_stale = true;
    tb__owners_trim(store);
    tb_code code = store->plane.counters->take_back(store, cursor, maxima, err);
    return code ? code : tb__late_write(store, err);
}
