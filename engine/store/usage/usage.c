/* Adding usage: the cursor's days, ordered by (account, id, edge, day), stream into the series they
 * belong to. What a small batch changes is gathered and written as a run (batch.h). For a zone's edge
 * location a day is merged into the day's chunk of hours and folded into the month's chunk of days.
 * The zone's all-locations series and its account's series gather the same days in memory and are
 * written when the zone, or the account, is done (or when too many wait): so each row is written once
 * however many lines touched it, and new rows ascend.
 *
 * An owner with one location has no all-locations series. At its second location the first one's
 * chunks are copied under a new series id, and from there on both are kept. While all that an owner
 * holds is in memory there is nothing to copy, and that series is begun at its end. */
#include "rollup/grouped.h"
#include "store/usage/batch.h"
#include "store/usage/cells.h"
#include "store/usage/overflow.h"
#include "store/usage/owners.h"
#include "store/usage/retain.h"

#include <stdlib.h>
#include <string.h>

#define WAITING_MAX 2048 /* grids of 5 KiB that may wait: 11 MiB for a zone, the same for accounts */

/* --- streaming days into series --- */

/* Streams days into the series of one scope. */
typedef struct stream {
    int scope;
    tb__owner *owner; /* NULL: none yet */
    int64_t id;       /* of the owner that was streamed last */
    size_t since;     /* what the batch had gathered when that one's part of it began */
    bool fresh;       /* all that the owner holds is in all_days */
    tb__placing placing;
    tb__pending all_days; /* days waiting for the owner's all-locations series */
} stream;

/* The highest id of an owner's series, 0: it has none. */
static int64_t last_series(const tb__owner *owner)
{
    int64_t last = owner->all;
    for (size_t i = 0; i < owner->n; i++)
        if (owner->list[i].series > last) last = owner->list[i].series;
    return last;
}

static tb_code load_series_ids(tb_store *store, tb_error *err)
{
    int64_t last = 0;
    if (store->next_series) return TB_OK;
    tb_code code = tb__meta_get(store, "series_before", &store->usage->series_before, err);
    if (!code) code = tb__meta_get(store, "series_id", &last, err);
    if (!code) store->next_series = last + 1;
    return code;
}

/* Ids are given to owners in blocks, so that what an owner's series hold lies side by side. Those up to
 * series_before were given one by one. next_series is the first id behind all blocks. */
static tb_code new_series(stream *st, int64_t edge, int64_t *ret_series, tb_error *err)
{
    tb_store *store = st->placing.store;
    tb_code code = load_series_ids(store, err);
    if (code) return code;
    int64_t id = last_series(st->owner) + 1;
    if (id <= store->usage->series_before + 1 || id % TB__SERIES_BLOCK == 0) {
        id = (store->next_series + TB__SERIES_BLOCK - 1) / TB__SERIES_BLOCK * TB__SERIES_BLOCK;
        store->next_series = id + TB__SERIES_BLOCK;
    }
    *ret_series = id;
    return tb__series_new(store, st->owner, (tb__member){edge, id}, err);
}

/* An owner that is new has its all-locations series from here on, if it has several. */
static tb_code flush_all_days(stream *st, tb_error *err)
{
    tb__owner *owner = st->owner;
    tb_code code = !owner->all && owner->n > 1 ? new_series(st, 0, &owner->all, err) : TB_OK;
    for (size_t i = 0; owner->all && !code && i < st->all_days.n; i++)
        code = tb__usage_put(&st->placing, owner->all, st->all_days.list[i].index,
                             st->all_days.list[i].grid, err);
    tb__pending_clear(&st->all_days);
    st->fresh = false;
    return code ? code : tb__place_end(&st->placing, err);
}

static tb_code put_all_day(stream *st, int64_t day, const tb_grid *hours, tb_error *err)
{
    tb_grid *sum = NULL;
    tb_code code = st->all_days.n >= WAITING_MAX ? flush_all_days(st, err) : TB_OK;
    if (!code && !st->owner->all && !st->fresh) return TB_OK;
    if (!code) code = tb__pending_at(&st->all_days, day, &sum, err);
    if (code) return code;
    const tb__owned_day of = {st->scope, st->owner->id, 0, day};
    return tb__full_day(st->placing.store, tb_grid_merge(sum, hours, err), of, sum, err);
}

static tb_code finish_owner(stream *st, tb_error *err)
{
    tb_code code = st->owner ? flush_all_days(st, err) : TB_OK;
    st->owner = NULL;
    return code;
}

static tb_code copy_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    stream *st = ctx;
    return tb__usage_put(&st->placing, st->owner->all, day, hours, err);
}

/* The owner gets its second location: what the first one holds is what all locations hold. Of months
 * whose hours are gone the rows of days are copied, and of hours what no row holds yet. */
static tb_code begin_all(stream *st, tb_error *err)
{
    tb_store *store = st->placing.store;
    const int64_t first = st->owner->list[0].series;
    tb_kept kept = {0, 0};
    tb_code code = tb__place_end(&st->placing, err);
    if (!code) code = new_series(st, 0, &st->owner->all, err);
    if (!code) code = tb__kept_of(store, st->scope, st->owner->id, &kept, err);
    if (!code) code = tb__kept_days_copy(store, first, st->owner->all, kept, err);
    if (!code) {
        const tb__series_part part = {first, kept.hours > 0 ? tb_month_first_day(kept.hours) : 0, st->since};
        code = tb__usage_each(store, part, copy_day, st, err);
    }
    return code ? code : tb__place_end(&st->placing, err);
}

/* The series of one of the owner's locations, made if there is none. */
static tb_code member_series(stream *st, int64_t edge, int64_t *ret_series, tb_error *err)
{
    tb__owner *owner = st->owner;
    size_t lo = 0, hi = owner->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (owner->list[mid].edge < edge) lo = mid + 1;
        else hi = mid;
    }
    if (lo < owner->n && owner->list[lo].edge == edge) {
        *ret_series = owner->list[lo].series;
        return TB_OK;
    }
    tb_code code = owner->n == 1 && !owner->all && !st->fresh ? begin_all(st, err) : TB_OK;
    if (!code) code = new_series(st, edge, ret_series, err);
    return code ? code : tb__owner_add(owner, lo, (tb__member){edge, *ret_series}, err);
}

static tb_code begin_owner(stream *st, int64_t owner, tb_error *err)
{
    tb_store *store = st->placing.store;
    tb_code code = finish_owner(st, err);
    if (st->id != owner) st->since = store->usage->batch.of[TB__RUN_CHUNKS].n;
    st->id = owner;
    if (!code) code = tb__owner_get(store, st->scope, owner, &st->owner, err);
    st->fresh = !code && !st->owner->n && !st->owner->all;
    return code;
}

static tb_code put_day(stream *st, int64_t owner, int64_t edge, int64_t day, const tb_grid *hours,
                       tb_error *err)
{
    int64_t series = 0;
    tb_code code = st->owner && st->owner->id == owner ? TB_OK : begin_owner(st, owner, err);
    if (!code) code = member_series(st, edge, &series, err);
    if (!code) code = tb__usage_put(&st->placing, series, day, hours, err);
    return code ? code : put_all_day(st, day, hours, err);
}

/* --- accounts: the days of one wait until its zones are done, or too many wait --- */

typedef struct account_days {
    int64_t account;
    tb__pending waiting; /* by edge location and day: account_index */
    stream stream;
} account_days;

static int64_t account_index(int64_t edge, int64_t day)
{
    return edge << TB__INDEX_BITS | day;
}

static tb_code flush_account(account_days *a, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < a->waiting.n; i++) {
        const int64_t index = a->waiting.list[i].index;
        code = put_day(&a->stream, a->account, index >> TB__INDEX_BITS, index & TB__INDEX_MAX,
                       a->waiting.list[i].grid, err);
    }
    tb__pending_clear(&a->waiting);
    return code ? code : finish_owner(&a->stream, err);
}

static tb_code account_put(account_days *a, int64_t account, int64_t edge, int64_t day,
                           const tb_grid *hours, tb_error *err)
{
    tb_grid *sum = NULL;
    tb_code code = TB_OK;
    if (a->account != account || a->waiting.n >= WAITING_MAX) code = flush_account(a, err);
    a->account = account;
    if (!code) code = tb__pending_at(&a->waiting, account_index(edge, day), &sum, err);
    if (code) return code;
    const tb__owned_day of = {TB__SCOPE_ACCOUNT, account, edge, day};
    return tb__full_day(a->stream.placing.store, tb_grid_merge(sum, hours, err), of, sum, err);
}

static account_days account_days_of(tb_store *store)
{
    return (account_days){.stream = {.scope = TB__SCOPE_ACCOUNT, .placing.store = store}};
}

static void account_days_release(account_days *a)
{
    tb__pending_release(&a->waiting);
    tb__pending_release(&a->stream.all_days);
}

/* --- edge location codes --- */

typedef struct edge_code {
    char code[TB_EDGE_MAX];
    size_t len;
    int64_t id;
} edge_code;

typedef struct edge_cache {
    edge_code *codes; /* ascending by code */
    size_t n, cap;
} edge_cache;

static int edge_compare(const edge_code *a, const char *code, size_t len)
{
    int order = memcmp(a->code, code, a->len < len ? a->len : len);
    return order ? order : (a->len > len) - (a->len < len);
}

static tb_code edge_store_id(tb_store *store, const char *code, size_t len, int64_t *ret,
                             tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    tb_code rc = tb__sql(store, TB__SQL_EDGE_BY_CODE, &s, err);
    if (!rc) sqlite3_bind_text(s, 1, code, (int)len, SQLITE_STATIC);
    if (!rc) rc = tb__step(store, s, &row, err);
    if (rc) return rc;
    if (row) {
        *ret = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
        return TB_OK;
    }
    rc = tb__int_of(store, TB__SQL_EDGE_NEXT, NULL, 0, 1, ret, err);
    if (!rc) rc = tb__sql(store, TB__SQL_EDGE_INSERT, &s, err);
    if (rc) return rc;
    sqlite3_bind_text(s, 1, code, (int)len, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, *ret);
    return tb__run(store, s, err);
}

static tb_code edge_id(edge_cache *cache, tb_store *store, const char *code, size_t len,
                       int64_t *ret, tb_error *err)
{
    size_t lo = 0, hi = cache->n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        int order = edge_compare(&cache->codes[mid], code, len);
        if (order == 0) {
            *ret = cache->codes[mid].id;
            return TB_OK;
        }
        if (order < 0) lo = mid + 1;
        else hi = mid;
    }
    tb_code rc = tb__grow(&cache->codes, cache->n, &cache->cap, sizeof *cache->codes, err);
    if (!rc) rc = edge_store_id(store, code, len, ret, err);
    if (rc) return rc;
    memmove(cache->codes + lo + 1, cache->codes + lo, (cache->n - lo) * sizeof *cache->codes);
    edge_code *e = &cache->codes[lo];
    *e = (edge_code){.len = len, .id = *ret};
    memcpy(e->code, code, len);
    cache->n++;
    return TB_OK;
}

/* --- countries --- */

static tb_code add_countries(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0;
    tb_rollup_country c;
    int64_t zone = 0, day = 0;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_country(cursor, &c)) {
        if (n && (c.zone != zone || c.day != day)) {
            code = tb__country_put(store, zone, day, list, n, err);
            n = 0;
        }
        zone = c.zone;
        day = c.day;
        list[n++] = (tb__country){c.country, c.requests, c.bytes};
        store->country_requests += c.requests;
        store->country_bytes += c.bytes;
    }
    return !code && n ? tb__country_put(store, zone, day, list, n, err) : code;
}

/* --- the whole --- */

typedef struct adding {
    stream zones, balancers;
    account_days accounts;
    edge_cache edges;
    int64_t newest; /* hour of the newest bucket added; INT64_MIN for none */
} adding;

static void count_newest(adding *a, const tb_rollup_day *day, const tb_grid *hours)
{
    if (!hours->slots) return;
    int64_t hour = day->day * 24 + 31 - __builtin_clz(hours->slots);
    if (hour > a->newest) a->newest = hour;
}

static tb_code add_balancer_day(adding *a, tb_store *store, const tb_rollup_day *day,
                                const tb_grid *hours, tb_error *err)
{
    const tb__late_of of = {TB__SCOPE_BALANCER, day->id, 0, 0, false};
    tb_code code = put_day(&a->balancers, day->id, 0, day->day, hours, err);
    return code ? code : tb__late_note(store, of, day->day, hours, err);
}

static tb_code add_day(adding *a, tb_store *store, const tb_rollup_day *day, const tb_grid *hours,
                       tb_error *err)
{
    count_newest(a, day, hours);
    if (day->scope == TB_ROLLUP_BALANCER) return add_balancer_day(a, store, day, hours, err);
    int64_t edge = 0;
    tb_code code = edge_id(&a->edges, store, day->edge, day->edge_len, &edge, err);
    if (!code) code = put_day(&a->zones, day->id, edge, day->day, hours, err);
    if (code || !a->zones.owner->account) return code;
    code = account_put(&a->accounts, a->zones.owner->account, edge, day->day, hours, err);
    const tb__late_of of = {TB__SCOPE_ZONE, day->id, a->zones.owner->account, edge, false};
    return code ? code : tb__late_note(store, of, day->day, hours, err);
}

static tb_code save_series(tb_store *store, tb_error *err)
{
    tb_code code = tb__series_write(store, err);
    if (code || !store->next_series) return code;
    return tb__meta_set(store, "series_id", store->next_series - 1, err);
}

/* The new series are written behind the last rows, while the cursor's countries are read. */
typedef struct series_task {
    tb_store *store;
    tb_code code;
    tb_error err;
} series_task;

/* May run in the helper's thread. */
static void save_series_behind(void *series)
{
    series_task *t = series;
    t->code = save_series(t->store, &t->err);
}

static tb_code add_countries_and_series(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    series_task series = {.store = store, .code = TB_OK};
    tb__landing_share(store, !store->usage->batch.open); /* of a small batch no thread is worth its start */
    store->rows_come = false;
    tb_code code = tb__landing_turn(store, save_series_behind, &series, err);
    if (!code) code = add_countries(store, cursor, err);
    if (!code) code = tb_rollup_cursor_check(cursor, err);
    const tb_code landed = tb__landing_wait(store, code ? NULL : err);
    if (code || landed) return code ? code : landed;
    if (series.code && err) *err = series.err;
    return series.code;
}

static tb_code save_newest(tb_store *store, int64_t newest, tb_error *err)
{
    int64_t stored = 0;
    tb_code code = tb__meta_get(store, "newest_hour", &stored, err);
    return code || newest <= stored ? code : tb__meta_set(store, "newest_hour", newest, err);
}

/* No counter of the batch grew by more: a day's bucket of one series by no more than the whole. */
static int64_t grown_by(const tb_store *store, const tb_u128 before[TB_METRIC_COUNT])
{
    tb_u128 most = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (store->sums[m] - before[m] > most) most = store->sums[m] - before[m];
    return most < TB_COUNTER_MAX ? (int64_t)most : (int64_t)TB_COUNTER_MAX;
}

/* The zones of an account one after the other, so that its days are summed up before they are put. All
 * owners are asked for here: a question between rows has to wait until those before it have landed. */
static tb_code group_by_account(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    size_t n = 0;
    const int64_t *zones = tb__cursor_zones(cursor, &n);
    int64_t *account = malloc((n + 1) * sizeof *account);
    tb__owner *owner = NULL;
    tb_code code = account ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        code = tb__owner_get(store, TB__SCOPE_ZONE, zones[i], &owner, err);
        if (!code) account[i] = owner->account;
        if (!code && owner->account)
            code = tb__owner_get(store, TB__SCOPE_ACCOUNT, owner->account, &owner, err);
    }
    if (!code && !tb__cursor_group(cursor, account)) code = tb_no_memory(err);
    free(account);
    return code;
}

static tb_code begin_adding(tb_store *store, tb_error *err)
{
    store->dirty = store->billing_stale = true;
    tb__owners_trim(store);
    tb__batch_begin(store);
    return tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
}

/* Writes what was gathered, and does the batch's share of the work on runs. */
static tb_code end_adding(tb_store *store, int64_t newest, int64_t grown, tb_error *err)
{
    const size_t brought = tb__batch_entries(store);
    int64_t cell_max = 0;
    tb_code code = tb__batch_end(store, grown, err);
    if (!code) code = tb__runs_tend(store, newest, brought, err);
    if (!code) code = tb__meta_get(store, "cell_max", &cell_max, err);
    return code || store->usage->cell_max <= cell_max
               ? code
               : tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

static tb_code add_days(adding *a, tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    tb_rollup_day day;
    tb_grid hours;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_day(cursor, &day, &hours)) {
        tb__count_sums(store->sums, &store->cells, &day, &hours);
        code = add_day(a, store, &day, &hours, err);
    }
    return code ? code : tb_rollup_cursor_check(cursor, err);
}

tb_code tb_store_add_usage(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    adding a = {.zones = {.scope = TB__SCOPE_ZONE, .placing.store = store},
                .balancers = {.scope = TB__SCOPE_BALANCER, .placing.store = store},
                .accounts = account_days_of(store),
                .newest = INT64_MIN};
    tb_u128 before[TB_METRIC_COUNT];
    memcpy(before, store->sums, sizeof before);
    tb_code code = begin_adding(store, err);
    if (!code) code = group_by_account(store, cursor, err);
    if (!code) tb__landing_share(store, true);
    if (!code) code = add_days(&a, store, cursor, err);
    if (!code) code = finish_owner(&a.zones, err);
    if (!code) code = finish_owner(&a.balancers, err);
    if (!code) code = flush_account(&a.accounts, err);
    if (!code) code = add_countries_and_series(store, cursor, err);
    tb__landing_share(store, false);
    if (!code) code = end_adding(store, a.newest, grown_by(store, before), err);
    if (!code) code = save_newest(store, a.newest, err);
    if (code) tb__landing_drop(store);
    tb__batch_drop(store);
    tb__pending_release(&a.zones.all_days);
    tb__pending_release(&a.balancers.all_days);
    account_days_release(&a.accounts);
    free(a.edges.codes);
    return code;
}

/* What is done with each day that a series holds already. */
typedef struct adoption {
    tb_store *store;
    account_days *accounts; /* NULL: a balancer's, which no account sums up */
    int scope;
    int64_t owner, account;
} adoption;

/* A day joins its account: late where its month was run. */
static tb_code adopt_day(const adoption *a, int64_t edge, int64_t day, const tb_grid *hours,
                         tb_error *err)
{
    tb_code code = TB_OK;
    if (a->accounts) code = account_put(a->accounts, a->account, edge, day, hours, err);
    const tb__late_of of = {a->scope, a->owner, a->account, edge, false};
    return code ? code : tb__late_note(a->store, of, day, hours, err);
}

/* The series of one location. */
typedef struct adopting {
    const adoption *a;
    int64_t edge;
} adopting;

static tb_code adopt_edge_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    const adopting *from = ctx;
    return adopt_day(from->a, from->edge, day, hours, err);
}

static tb_code adopt_series(const adoption *a, tb__member from, tb_error *err)
{
    adopting of = {a, from.edge};
    return tb__usage_each(a->store, (tb__series_part){from.series, 0, 0}, adopt_edge_day, &of, err);
}

tb_code tb__adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err)
{
    tb__owner *from = NULL;
    account_days accounts = account_days_of(store);
    bool kept = false;
    const adoption a = {store, &accounts, TB__SCOPE_ZONE, zone, account};
    store->dirty = store->billing_stale = true;
    tb__owners_forget(store);
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    if (!code) code = tb__owner_get(store, TB__SCOPE_ZONE, zone, &from, err);
    for (size_t i = 0; !code && i < from->n; i++)
        code = adopt_series(&a, from->list[i], err);
    if (!code) code = flush_account(&accounts, err);
    if (!code) code = tb__runs_promise(store, 0, &kept, err);
    if (!code) code = tb__meta_set(store, "cell_max", store->usage->cell_max, err);
    if (!code) code = save_series(store, err);
    account_days_release(&accounts);
    tb__owners_forget(store);
    return code;
}

tb_code tb__adopt_balancer(tb_store *store, int64_t balancer, int64_t account, tb_error *err)
{
    const adoption a = {store, NULL, TB__SCOPE_BALANCER, balancer, account};
    tb__member from = {0, 0};
    tb_code code =
        tb__int_of(store, TB__SQL_BALANCER_SERIES, &balancer, 1, 0, &from.series, err);
    return code || !from.series ? code : adopt_series(&a, from, err);
}
