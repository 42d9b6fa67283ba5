/* Letting go of an account's old usage, some rows in each transaction.
 *
 * What holds at every commit:
 * - The account's row of `retention` says how far hours and days may have expired, before any of them is deleted.
 * - A row is deleted as a whole. An hour is deleted only if its day includes it. Before a day of a base series (a zone's
 *   location, a balancer) is deleted, its sums are added to `usage_gone` of that account and month.
 * So the sum of all batches equals the chunks plus usage_gone at any moment, and an interruption leaves nothing to repair: the
 * next call continues.
 *
 * The order is zones (countries first), balancers, series of meters, the account's own series; within one by owner and
 * edge location. Then values of gauges, which go as days do: what holds when the kept days begin stays. Pending entries stay, and join a row of their own when they are compacted: the next walk
 * finds it. */
#include "store/usage/retain.h"

#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "store/usage/owners.h"
#include "tollbook/json.h"

#include <stdlib.h>
#include <string.h>

#define AT_ONCE 512 /* rows of a series that are looked at before they go */

/* --- retention of an account --- */

tb_code tb__kept_of(tb_store *store, int scope, int64_t owner, tb_kept *ret_kept, tb_error *err)
{
    const int64_t values[2] = {scope, owner};
    sqlite3_stmt *s;
    bool row = false;
    *ret_kept = (tb_kept){0, 0};
    tb_code code = tb__sql_ints(store, TB__SQL_KEPT_OF, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_kept = (tb_kept){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_kept(tb_store *store, int64_t account, tb_kept *ret_kept, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    if (account != TB_ALL) return tb__kept_of(store, TB__SCOPE_ACCOUNT, account, ret_kept, err);
    *ret_kept = (tb_kept){0, 0};
    tb_code code = tb__sql(store, TB__SQL_FLEET_KEPT, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret_kept = (tb_kept){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1)};
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_account_from(tb_store *store, int64_t id, int64_t *ret_account, tb_error *err)
{
    return tb__int_of(store, TB__SQL_RETAIN_ACCOUNT, &id, 1, 0, ret_account, err);
}

tb_code tb_store_accounts_before(tb_store *store, int64_t id, uint64_t *ret_before, uint64_t *ret_all,
                                 tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_RETAIN_SHARE, &id, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_before = (uint64_t)sqlite3_column_int64(s, 0);
    *ret_all = (uint64_t)sqlite3_column_int64(s, 1);
    sqlite3_reset(s);
    return TB_OK;
}

/* --- expired rows, by month --- */

tb_code tb__retain_month(tb_retain_walk *w, int64_t month, tb_retain_month **ret, tb_error *err)
{
    size_t at = w->n;
    while (at > 0 && w->months[at - 1].month >= month)
        at--;
    if (at == w->n || w->months[at].month != month) {
        tb_code code = tb__grow(&w->months, w->n, &w->cap, sizeof *w->months, err);
        if (code) return code;
        memmove(w->months + at + 1, w->months + at, (w->n - at) * sizeof *w->months);
        w->months[at] = (tb_retain_month){.month = month};
        w->n++;
    }
    *ret = &w->months[at];
    return TB_OK;
}

static tb_code count_row(tb_retain_walk *w, int64_t month, bool hours, int bytes, tb_error *err)
{
    tb_retain_month *m = NULL;
    tb_code code = tb__retain_month(w, month, &m, err);
    if (code) return code;
    *(hours ? &m->hour_rows : &m->day_rows) += 1;
    *(hours ? &m->hour_bytes : &m->day_bytes) += (uint64_t)bytes;
    w->room -= w->room > 0;
    return TB_OK;
}

/* --- sums of expired days --- */

typedef struct gone {
    int64_t month; /* -1: none yet */
    tb_u128 sum[TB__GONE_COUNT];
} gone;

static const char *gone_name(int i)
{
    if (i < TB_METRIC_COUNT) return tb_metric_table[i].name;
    return i == TB_METRIC_COUNT ? "country_requests" : "country_bytes"; /* as segments say it */
}

static tb_code add_gone_text(gone *g, const char *name, const char *digits, tb_error *err)
{
    tb_u128 value = 0;
    int i = 0;
    while (i < TB__GONE_COUNT && strcmp(gone_name(i), name) != 0)
        i++;
    const char *at = digits;
    for (; *at >= '0' && *at <= '9'; at++)
        value = value * 10 + (unsigned)(*at - '0');
    if (i == TB__GONE_COUNT || *at || at == digits)
        return tb_fail(err, TB_E_CORRUPT, "usage_gone",
                       "A sum of what went cannot be read; restore a backup.");
    g->sum[i] += value;
    return TB_OK;
}

static tb_code add_gone_stored(tb_store *store, int64_t account, gone *g, tb_error *err)
{
    const int64_t key[2] = {account, g->month};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_GONE_GET, key, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const char *name = (const char *)sqlite3_column_text(s, 0);
        const char *digits = (const char *)sqlite3_column_text(s, 1);
        code = name && digits ? add_gone_text(g, name, digits, err) : tb_no_memory(err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* Adds a month's sums to its row. */
static tb_code put_gone(tb_store *store, int64_t account, gone *g, tb_error *err)
{
    char text[TB__GONE_COUNT * (TB_U128_TEXT_MAX + 64)], *at = text;
    sqlite3_stmt *s;
    if (g->month < 0) return TB_OK;
    tb_code code = add_gone_stored(store, account, g, err);
    *at++ = '{';
    for (int i = 0; i < TB__GONE_COUNT; i++) {
        const size_t len = strlen(gone_name(i));
        if (!g->sum[i]) continue;
        if (at > text + 1) *at++ = ',';
        *at++ = '"';
        memcpy(at, gone_name(i), len);
        at += len;
        memcpy(at, "\":\"", 3);
        at = tb_put_u128(at + 3, g->sum[i]);
        *at++ = '"';
    }
    *at++ = '}';
    const int64_t key[2] = {account, g->month};
    if (!code) code = tb__sql_ints(store, TB__SQL_GONE_PUT, key, 2, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 3, text, (int)(at - text), SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb__gone_add(tb_store *store, int64_t account, int64_t month, const tb_u128 sums[TB__GONE_COUNT],
                     tb_error *err)
{
    gone g = {.month = month};
    memcpy(g.sum, sums, sizeof g.sum);
    return put_gone(store, account, &g, err);
}

/* g becomes the sums of this month; those of another are written first. */
static tb_code gone_month(tb_store *store, int64_t account, gone *g, int64_t month, tb_error *err)
{
    if (g->month == month) return TB_OK;
    tb_code code = put_gone(store, account, g, err);
    *g = (gone){.month = month};
    return code;
}

static void add_gone_days(gone *g, const tb_grid *days)
{
    for (uint32_t left = days->metrics; left; left &= left - 1) {
        int m = __builtin_ctz(left);
        if (tb_metric_table[m].how != TB_HOW_SUM) continue;
        for (uint32_t slots = days->slots; slots; slots &= slots - 1)
            g->sum[m] += days->v[m][__builtin_ctz(slots)];
    }
}

/* --- rows of one series --- */

typedef struct taking {
    tb_store *store;
    tb_retain_walk *w;
    int64_t series;
    bool base;    /* its expired days are added to usage_gone */
    tb_grid days; /* of `month`, while hours go */
    int64_t month;
    gone gone;
} taking;

/* The row of a month's days, into t->days. */
static tb_code load_days(taking *t, int64_t month, tb_error *err)
{
    const int64_t key = tb__chunk_key(t->series, TB__GRAIN_DAYS, month);
    sqlite3_stmt *s;
    bool row = false;
    if (t->month == month) return TB_OK;
    t->month = month;
    tb_grid_clear(&t->days);
    tb_code code = tb__sql_ints(t->store, TB__SQL_CHUNK_GET, &key, 1, &s, err);
    if (!code) code = tb__step(t->store, s, &row, err);
    if (code || !row) return code;
    code = tb__chunk_decode(sqlite3_column_blob(s, 0), (size_t)sqlite3_column_bytes(s, 0), key,
                            &t->days, err);
    sqlite3_reset(s);
    return code;
}

/* Whether a day's counters include its hours: they are larger if some hours expired earlier. */
static bool day_holds(const tb_grid *days, unsigned slot, const tb_grid *hours)
{
    tb_grid sum;
    tb_grid_clear(&sum);
    if (tb_grid_fold(&sum, slot, hours, NULL)) return false;
    for (uint32_t left = sum.metrics; left; left &= left - 1) {
        int m = __builtin_ctz(left);
        const uint64_t there = days->metrics & TB_METRIC_BIT(m) ? days->v[m][slot] : 0;
        if (sum.v[m][slot] > there) return false;
    }
    return true;
}

static tb_code check_hours(taking *t, int64_t key, const tb_grid *hours, tb_error *err)
{
    const int64_t day = tb__key_index(key), month = tb_month_from_day(day);
    tb_code code = load_days(t, month, err);
    if (code || day_holds(&t->days, (unsigned)(day - tb_month_first_day(month)), hours)) return code;
    return tb_fail(err, TB_E_CORRUPT, "chunk",
                   "The hours of series %lld, day %lld since 1970, are not in the sums of its days: "
                   "nothing goes. Look for more with: tollbook verify",
                   (long long)t->series, (long long)day);
}

/* An expired row. */
static tb_code take_row(taking *t, sqlite3_stmt *s, bool hours, tb_error *err)
{
    const int64_t key = sqlite3_column_int64(s, 0), index = tb__key_index(key);
    const int64_t month = hours ? tb_month_from_day(index) : index;
    const int bytes = sqlite3_column_bytes(s, 1);
    tb_grid grid;
    tb_code code = count_row(t->w, month, hours, bytes, err);
    if (!code) code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)bytes, key, &grid, err);
    if (code || t->w->dry) return code;
    if (hours) return check_hours(t, key, &grid, err);
    if (!t->base) return TB_OK;
    code = gone_month(t->store, t->w->account, &t->gone, month, err);
    if (!code) add_gone_days(&t->gone, &grid);
    return code;
}

/* Looks at some rows between two keys. *ret_last: the last of them; *ret_n: how many. */
static tb_code look_at_rows(taking *t, const int64_t keys[2], bool hours, int64_t *ret_last, size_t *ret_n,
                    tb_error *err)
{
    const int64_t values[3] = {keys[0], keys[1], AT_ONCE};
    sqlite3_stmt *s;
    bool row = true;
    *ret_n = 0;
    tb_code code = tb__sql_ints(t->store, TB__SQL_CHUNK_SOME, values, 3, &s, err);
    while (!code && !(code = tb__step(t->store, s, &row, err)) && row) {
        *ret_last = sqlite3_column_int64(s, 0);
        ++*ret_n;
        code = take_row(t, s, hours, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

/* Rows of the series between two keys. */
static tb_code take_span(taking *t, int64_t first, int64_t last, bool hours, tb_error *err)
{
    int64_t keys[2] = {first, last}, seen = first;
    size_t n = AT_ONCE;
    tb_code code = TB_OK;
    while (!code && n == AT_ONCE) {
        code = look_at_rows(t, keys, hours, &seen, &n, err);
        const int64_t span[2] = {keys[0], seen};
        if (!code && n && !t->w->dry) {
            t->store->dirty = t->store->billing_stale = t->store->usage->rows_changed = true;
            code = tb__run_ints(t->store, TB__SQL_RETAIN_DELETE, span, 2, err);
        }
        keys[0] = seen + 1;
    }
    return code;
}

static tb_code take_series(tb_store *store, tb_retain_walk *w, int64_t series, bool base,
                           tb_error *err)
{
    taking t = {.store = store, .w = w, .series = series, .base = base, .month = -1,
                .gone = {.month = -1}};
    tb_code code = TB_OK;
    if (w->kept.hours > 0)
        code = take_span(&t, tb__chunk_key(series, TB__GRAIN_HOURS, 0),
                         tb__chunk_key(series, TB__GRAIN_HOURS,
                                       tb_month_first_day(w->kept.hours) - 1),
                         true, err);
    if (!code && w->kept.days > 0)
        code = take_span(&t, tb__chunk_key(series, TB__GRAIN_DAYS, 0),
                         tb__chunk_key(series, TB__GRAIN_DAYS, w->kept.days - 1), false, err);
    return code ? code : put_gone(store, w->account, &t.gone, err);
}

/* --- countries --- */

static tb_code take_country_day(taking *t, int64_t zone, sqlite3_stmt *s, tb_error *err)
{
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0;
    const int64_t day = sqlite3_column_int64(s, 0), month = tb_month_from_day(day);
    const int bytes = sqlite3_column_bytes(s, 1);
    tb_code code = count_row(t->w, month, false, bytes, err);
    if (!code)
        code = tb__country_decode(sqlite3_column_blob(s, 1), (size_t)bytes,
                                  tb__country_seed(zone, day), list, &n, err);
    if (!code && !t->w->dry) code = gone_month(t->store, t->w->account, &t->gone, month, err);
    for (size_t i = 0; !code && i < n; i++) {
        t->gone.sum[TB_METRIC_COUNT] += list[i].requests;
        t->gone.sum[TB_METRIC_COUNT + 1] += list[i].bytes;
    }
    return code;
}

static tb_code take_countries(tb_store *store, tb_retain_walk *w, int64_t zone, tb_error *err)
{
    taking t = {.store = store, .w = w, .gone = {.month = -1}};
    const int64_t values[3] = {zone, w->kept.days > 0 ? tb_month_first_day(w->kept.days) : 0,
                               INT64_MAX};
    int64_t last[2] = {zone, -1};
    sqlite3_stmt *s;
    bool row = true;
    if (w->kept.days <= 0) return TB_OK;
    tb_code code = tb__sql_ints(store, TB__SQL_RETAIN_COUNTRIES, values, 3, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        last[1] = sqlite3_column_int64(s, 0);
        code = take_country_day(&t, zone, s, err);
        if (code) sqlite3_reset(s);
    }
    if (code || w->dry || last[1] < 0) return code;
    store->dirty = true;
    code = tb__run_ints(store, TB__SQL_RETAIN_COUNTRIES_DELETE, last, 2, err);
    return code ? code : put_gone(store, w->account, &t.gone, err);
}

/* --- the walk: at[0] which kind of owner, at[1] from which owner on, at[2] from which series on: 0
 * the countries, or one more than the edge location --- */

static const struct {
    int scope;
    tb__statement owner;
} kinds[] = {
    {TB__SCOPE_ZONE, TB__SQL_RETAIN_ZONE},
    {TB__SCOPE_BALANCER, TB__SQL_RETAIN_BALANCER},
    {TB__SCOPE_METER, TB__SQL_RETAIN_METER},
    {TB__SCOPE_ACCOUNT, TB__SQL_RETAIN_SELF},
};
#define KINDS ((int64_t)(sizeof kinds / sizeof *kinds))

/* Continues with the owner's series from at[2] on, until the room is used up. */
static tb_code take_owner(tb_store *store, tb_retain_walk *w, int scope, int64_t owner,
                          tb_error *err)
{
    tb_code code = TB_OK;
    if (w->at[2] == 0 && scope == TB__SCOPE_ZONE) code = take_countries(store, w, owner, err);
    if (!code && w->at[2] == 0) w->at[2] = 1;
    while (!code && w->room) {
        const int64_t values[3] = {scope, owner, w->at[2] - 1};
        sqlite3_stmt *s;
        bool row = false;
        code = tb__sql_ints(store, TB__SQL_RETAIN_SERIES, values, 3, &s, err);
        if (!code) code = tb__step(store, s, &row, err);
        if (code) return code;
        if (!row) break;
        const int64_t edge = sqlite3_column_int64(s, 0), series = sqlite3_column_int64(s, 1);
        sqlite3_reset(s);
        code = tb__check_series(edge, series, err);
        if (!code)
            code = take_series(store, w, series,
                               tb__is_whole(scope) || (scope == TB__SCOPE_ZONE && edge > 0), err);
        w->room -= w->room > 0;
        w->at[2] = edge + 2;
    }
    return code;
}

/* The next owner of the running kind, from at[1] on. */
static tb_code next_owner(tb_store *store, const tb_retain_walk *w, int64_t *ret_owner,
                          tb_error *err)
{
    const int64_t values[2] = {w->account, w->at[1]};
    return tb__int_of(store, kinds[w->at[0]].owner, values, 2, 0, ret_owner, err);
}

tb_code tb__chunks_expire(tb_store *store, tb_retain_walk *w, bool *ret_over, tb_error *err)
{
    tb_code code = TB_OK;
    while (!code && w->room && w->at[0] < KINDS) {
        int64_t owner = 0;
        code = next_owner(store, w, &owner, err);
        if (code) return code;
        if (!owner) {
            w->at[0]++;
            w->at[1] = w->at[2] = 0;
            continue;
        }
        if (owner != w->at[1]) w->at[2] = 0;
        w->at[1] = owner;
        code = take_owner(store, w, kinds[w->at[0]].scope, owner, err);
        if (!w->room) break;
        w->at[1] = owner + 1;
        w->at[2] = 0;
    }
    *ret_over = w->at[0] >= KINDS;
    if (*ret_over) memset(w->at, 0, sizeof w->at);
    return code;
}

/* --- values of gauges: in the file, whatever the backend --- */

#define GAUGES KINDS /* in at[0] */
#define VALUE_BYTES 60 /* of a row, about */

/* Values of a series before that moment, as far as there is room. *ret_more: there is none left. */
static tb_code take_values(tb_store *store, tb_retain_walk *w, int64_t series, int64_t before_us, bool *ret_more, tb_error *err)
{
    int64_t held[2] = {INT64_MIN, 0}, last[2] = {0, 0};
    const int64_t of[2] = {series, before_us};
    size_t n = 0;
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_GAUGE_HELD, of, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (!code && row) {
        held[0] = sqlite3_column_int64(s, 0);
        held[1] = sqlite3_column_int64(s, 1);
        sqlite3_reset(s);
    }
    const size_t most = w->dry ? INT64_MAX : w->room;
    const int64_t old[5] = {series, before_us, held[0], held[1], (int64_t)most};
    if (!code) code = tb__sql_ints(store, TB__SQL_GAUGE_OLD, old, 5, &s, err);
    for (row = true; !code && !(code = tb__step(store, s, &row, err)) && row; n++) {
        last[0] = sqlite3_column_int64(s, 0);
        last[1] = sqlite3_column_int64(s, 1);
        code = count_row(w, tb_month_from_day(tb__floor_div(last[0], TB_US_PER_DAY)), false, VALUE_BYTES, err);
        if (code) sqlite3_reset(s);
    }
    *ret_more = n == most;
    if (code || !n || w->dry) return code;
    store->dirty = store->billing_stale = true;
    const int64_t span[5] = {series, last[0], last[1], held[0], held[1]};
    return tb__run_ints(store, TB__SQL_GAUGE_EXPIRE, span, 5, err);
}

static tb_code take_gauges(tb_store *store, tb_retain_walk *w, bool *ret_over, tb_error *err)
{
    const int64_t before_us = w->kept.days > 0 ? tb_month_first_day(w->kept.days) * TB_US_PER_DAY : INT64_MIN;
    tb_code code = TB_OK;
    *ret_over = w->kept.days <= 0;
    while (!code && w->room && !*ret_over) {
        bool more = false;
        int64_t series = 0;
        code = tb__int_of(store, TB__SQL_RETAIN_METER, (int64_t[]){w->account, w->at[1]}, 2, 0, &series, err);
        *ret_over = !code && !series;
        if (code || !series) break;
        w->at[1] = series;
        code = take_values(store, w, series, before_us, &more, err);
        if (more) break;
        w->at[1]++;
        w->room -= w->room > 0;
    }
    if (*ret_over) memset(w->at, 0, sizeof w->at);
    return code;
}

static tb_code expire(tb_store *store, tb_retain_walk *w, bool *ret_over, tb_error *err)
{
    tb_code code = TB_OK;
    if (w->at[0] != GAUGES) {
        code = store->plane.counters->expire(store, w, ret_over, err);
        if (code || !*ret_over) return code;
        w->at[0] = GAUGES;
        w->at[1] = w->at[2] = 0;
    }
    *ret_over = false;
    return take_gauges(store, w, ret_over, err);
}

/* Stored before any row is deleted. */
static tb_code note_kept(tb_store *store, tb_retain_walk *w, tb_error *err)
{
    const int64_t values[3] = {w->account, w->kept.hours, w->kept.days};
    tb_kept before;
    tb_code code = tb_store_kept(store, w->account, &before, err);
    w->further = !code && (before.hours < w->kept.hours || before.days < w->kept.days);
    if (code || !w->further || w->dry) return code;
    store->dirty = store->billing_stale = true;
    return tb__run_ints(store, TB__SQL_KEPT_SET, values, 3, err);
}

tb_code tb_store_retain(tb_store *store, tb_retain_walk *walk, bool *ret_over, tb_error *err)
{
    *ret_over = true;
    if (walk->kept.hours <= 0) return TB_OK;
    if (walk->at[0] < 0 || walk->at[0] > GAUGES || walk->at[1] < 0 || walk->at[2] < 0)
        return tb_fail(err, TB_E_VALIDATION, "next", "It must be what the last answer said.");
    tb_code code = note_kept(store, walk, err);
    if (code) return code;
    if (walk->dry) return expire(store, walk, ret_over, err);
    /* Pages of counters are freed without overwriting: they hold no personal data. */
    code = tb__exec(store->db, store->path, "PRAGMA secure_delete=OFF", err);
    if (!code) code = expire(store, walk, ret_over, err);
    tb_code on = tb__exec(store->db, store->path, "PRAGMA secure_delete=ON", code ? NULL : err);
    return code ? code : on;
}

/* --- an owner's second location --- */

tb_code tb__kept_days_copy(tb_store *store, int64_t from, int64_t to, tb_kept kept, tb_error *err)
{
    const int64_t span[2] = {tb__chunk_key(from, TB__GRAIN_DAYS, 0), tb__chunk_key(from, TB__GRAIN_DAYS, kept.hours - 1)};
    tb__pending months = {0};
    tb_grid *days = NULL;
    sqlite3_stmt *s;
    bool row = true;
    if (kept.hours <= 0) return TB_OK;
    tb_code code = tb__sql_ints(store, TB__SQL_CHUNK_SPAN, span, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const int64_t key = sqlite3_column_int64(s, 0);
        code = tb__pending_at(&months, tb__key_index(key), &days, err);
        if (!code)
            code = tb__chunk_decode(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1), key, days, err);
        if (code) sqlite3_reset(s);
    }
    for (size_t i = 0; !code && i < months.n; i++)
        code = tb__base_add_month(store, to, months.list[i].index, months.list[i].grid, err);
    tb__pending_release(&months);
    return code;
}
