/* Undo of usage. adding.c walks the days of the cursor as it does for tb_store_add_usage; here are the checks of a day, and
 * the file as a backend: it subtracts from rows.
 *
 * What an undo keeps true:
 * - After a success each sum is what it would be without the input. Of all series that a day was added to it is
 *   subtracted: its location's and all locations', of the zone and of its account, from hours and from the month's days.
 * - Nothing below zero is written. Each row is looked at first, and where it has less than is to be subtracted the call
 *   fails, and the caller undoes the transaction.
 * - An hour in which nothing is left is deleted, as is a row without hours.
 * - Counters of which the largest value is stored stay: the second largest is not known.
 * - A month whose hours have expired is not changed: its remaining hours were added later, by other inputs.
 * All pending entries are compacted first, so that every counter is in its row. */
#include "store/usage/withdraw.h"

#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "store/usage/retain.h"
#include "tollbook/calendar.h"
#include "tollbook/withdraw.h"

#include <stdio.h>
#include <string.h>

/* --- checks of a day, for every backend --- */

int tb__scope_of(const tb_rollup_day *day)
{
    static const int scopes[] = {
        [TB_ROLLUP_ZONE] = TB__SCOPE_ZONE, [TB_ROLLUP_BALANCER] = TB__SCOPE_BALANCER, [TB_ROLLUP_METER] = TB__SCOPE_METER};
    return scopes[day->scope];
}

static const char *noun_of(const tb_rollup_day *day)
{
    static const char *const nouns[] = {
        [TB_ROLLUP_ZONE] = "Pull zone", [TB_ROLLUP_BALANCER] = "Load balancer", [TB_ROLLUP_METER] = "Meter series"};
    return nouns[day->scope];
}

bool tb__subtracts_any(const tb_grid *hours)
{
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        for (unsigned s = 0; tb_metric_table[m].how == TB_HOW_SUM && s < TB_GRID_SLOTS; s++)
            if ((hours->slots >> s & 1) && hours->v[m][s]) return true;
    }
    return false;
}

tb_code tb__undo_day(tb_store *store, const tb_rollup_day *day, const tb_grid *hours, uint32_t *maxima, tb_error *err)
{
    tb_kept kept;
    char when[20];
    for (uint32_t left = hours->metrics; left; left &= left - 1) {
        const unsigned m = (unsigned)__builtin_ctz(left);
        for (unsigned s = 0; tb_metric_table[m].how != TB_HOW_SUM && s < TB_GRID_SLOTS; s++)
            if (hours->v[m][s]) *maxima |= TB_METRIC_BIT(m);
    }
    if (!tb__subtracts_any(hours)) return TB_OK;
    tb_code code = tb__kept_of(store, tb__scope_of(day), day->id, &kept, err);
    if (code || tb_month_from_day(day->day) >= kept.hours) return code;
    tb_time_format(day->day * TB_US_PER_DAY, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "%s %lld, %.10s: usage by the hour of that month was let go (retain), so nothing of it can be "
                   "withdrawn. Correct what was billed with `ledger adjust`. Nothing was withdrawn.",
                   noun_of(day), (long long)day->id, when);
}

tb_code tb__too_little(const tb_rollup_day *day, const char *what, tb_error *err)
{
    const bool zone = day->scope == TB_ROLLUP_ZONE;
    char when[20];
    tb_time_format(day->day * TB_US_PER_DAY, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "%s %lld%s%.*s, %.10s: there is less usage (%s) than would be withdrawn. The "
                   "catalogue has changed since the input was taken, or it is another input. "
                   "Nothing was withdrawn.",
                   noun_of(day), (long long)day->id, zone ? ", " : "", (int)day->edge_len, day->edge, when, what);
}

tb_code tb__too_few_of_country(int64_t zone, int64_t day, tb_error *err)
{
    char when[20];
    tb_time_format(day * TB_US_PER_DAY, when);
    return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                   "Pull zone %lld, %.10s: there are fewer requests of a country than would be "
                   "withdrawn. Nothing was withdrawn.",
                   (long long)zone, when);
}

/* --- rows --- */

/* Subtracts the sums, and drops touched hours in which nothing is left. NULL, or the counter of which there is less. */
static const char *grid_subtract(tb_grid *from, const tb_grid *less)
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
    for (uint32_t slots = from->slots & less->slots; slots; slots &= slots - 1) {
        const unsigned s = (unsigned)__builtin_ctz(slots);
        bool any = false;
        for (uint32_t left = from->metrics; left && !any; left &= left - 1)
            any = from->v[__builtin_ctz(left)][s] != 0;
        if (!any) from->slots &= ~(UINT32_C(1) << s);
    }
    return NULL;
}

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

static tb_code row_subtract(tb_store *store, int64_t key, const tb_grid *less, const char **ret_missing, tb_error *err)
{
    bool there = false;
    tb_grid grid;
    if (*ret_missing) return TB_OK;
    tb_code code = read_row(store, key, &grid, &there, err);
    if (code) return code;
    if (there) *ret_missing = grid_subtract(&grid, less);
    else if (tb__subtracts_any(less)) *ret_missing = "none";
    return there && !*ret_missing ? write_row(store, key, &grid, err) : TB_OK;
}

/* From the series at the location, and from that of all locations: the row of the day, and that of its month. */
static tb_code subtract_day(void *batch, const tb__owner *owner, const tb__member *at, int64_t day, const tb_grid *hours,
                        const char **ret_missing, tb_error *err)
{
    tb_store *store = batch;
    const int64_t series[] = {at->series, owner->all}, month = tb_month_from_day(day);
    tb_grid days;
    tb_grid_clear(&days);
    tb_code code = tb_grid_fold(&days, (unsigned)tb_day_of_month(day), hours, err);
    for (int i = 0; !code && i < 2 && series[i]; i++) {
        code = row_subtract(store, tb__chunk_key(series[i], TB__GRAIN_HOURS, day), hours, ret_missing, err);
        if (!code) code = row_subtract(store, tb__chunk_key(series[i], TB__GRAIN_DAYS, month), &days, ret_missing, err);
    }
    return code;
}

/* --- countries --- */

static tb_code subtract_countries(void *batch, int64_t zone, int64_t day, const tb__country *less, size_t n_less,
                                  tb_error *err)
{
    tb_store *store = batch;
    const int64_t id[2] = {zone, day};
    const uint64_t seed = tb__country_seed(zone, day);
    tb__country list[TB__COUNTRY_MAX];
    uint8_t bytes[TB__COUNTRY_ROW_MAX];
    size_t n = 0;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_COUNTRY_GET, id, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (!code && row) {
        code = tb__country_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), seed, list, &n, err);
        sqlite3_reset(s);
    }
    for (size_t i = 0; !code && i < n_less; i++) {
        size_t at = 0;
        while (at < n && list[at].code != less[i].code)
            at++;
        if (at == n || list[at].requests < less[i].requests || list[at].bytes < less[i].bytes)
            return tb__too_few_of_country(zone, day, err);
        list[at].requests -= less[i].requests;
        list[at].bytes -= less[i].bytes;
        if (list[at].requests || list[at].bytes) continue;
        memmove(list + at, list + at + 1, (n - at - 1) * sizeof *list);
        n--;
    }
    if (code) return code;
    if (!n) return tb__run_ints(store, TB__SQL_COUNTRY_DELETE, id, 2, err);
    const size_t len = tb__country_encode(list, n, seed, bytes);
    code = tb__sql_ints(store, TB__SQL_COUNTRY_PUT, id, 2, &s, err);
    if (code) return code;
    sqlite3_bind_blob(s, 3, bytes, (int)len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

/* --- the whole --- */

static tb_code begin_undo(tb_store *store, void **ret_batch, tb_error *err)
{
    *ret_batch = store;
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    if (!code) code = tb__usage_compact_all(store, err);
    return code ? code : tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

/* In the last day of each series. */
static tb_code newest_hour(tb_store *store, int64_t before, int64_t *ret_newest, tb_error *err)
{
    const int64_t bounds[2] = {TB__SERIES_SHIFT, TB__INDEX_MAX};
    sqlite3_stmt *s;
    bool row = true;
    (void)before;
    *ret_newest = -INT64_MAX;
    tb_code code = tb__sql_ints(store, TB__SQL_SERIES_ENDS, bounds, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        tb_grid grid;
        const int64_t key = sqlite3_column_int64(s, 0);
        code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key, &grid, err);
        if (code) {
            sqlite3_reset(s);
            break;
        }
        const int64_t hour = grid.slots ? tb__key_index(key) * 24 + 31 - __builtin_clz(grid.slots) : -INT64_MAX;
        if (hour > *ret_newest) *ret_newest = hour;
    }
    return code;
}

const tb__undo tb__file_undo = {
    .begin = begin_undo, .subtract = subtract_day, .subtract_countries = subtract_countries, .newest = newest_hour};
