/* Sums of many series over one range. Whole days come from the days' chunks, a row a month, and partial days at the
 * ends from their hours. Pending entries are walked once: an account's series have adjacent ids, so one span covers
 * many of its zones. */
#include "tollbook/totals.h"

#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "store/usage/owners.h"
#include "store/usage/sums.h"

#include <stdlib.h>
#include <string.h>

/* --- rows --- */

typedef struct summing {
    tb_store *store;
    tb_range range;
    uint32_t metrics;
    uint64_t cell[TB_METRIC_COUNT][TB_GRID_SLOTS]; /* of one chunk; zeros between chunks */
    uint64_t *column[TB_METRIC_COUNT];
} summing;

static void add_value(tb_u128 *sum, int m, uint64_t value)
{
    if (tb_metric_table[m].how == TB_HOW_SUM) *sum += value;
    else if (value > *sum) *sum = value;
}

/* The row that the statement stands on, of which buckets from..to-1 count; the chunk begins at start. */
static tb_code add_row(summing *w, sqlite3_stmt *s, int64_t start, int64_t from, int64_t to,
                       tb_summed *sum, tb_error *err)
{
    const unsigned n = (unsigned)(to - from);
    tb_code code =
        tb__chunk_columns(sqlite3_column_blob(s, 1), (size_t)sqlite3_column_bytes(s, 1),
                          sqlite3_column_int64(s, 0), w->metrics, (unsigned)(from - start), n,
                          w->column, 0, err);
    for (uint32_t left = w->metrics; left; left &= left - 1) {
        const int m = __builtin_ctz(left);
        for (unsigned i = 0; i < n; i++)
            add_value(&sum->sum[m], m, w->cell[m][i]);
        memset(w->cell[m], 0, n * sizeof w->cell[m][0]);
    }
    return code;
}

/* One series' rows of a range of hours or days. */
static tb_code add_rows(summing *w, tb_range r, tb_summed *sum, tb_error *err)
{
    const int64_t end = r.first + r.count;
    const int64_t first = r.hourly ? tb__floor_div(r.first, 24) : tb_month_from_day(r.first);
    const int64_t last = r.hourly ? tb__floor_div(end - 1, 24) : tb_month_from_day(end - 1);
    if (last < 0 || first > TB__INDEX_MAX) return TB_OK;
    const int grain = r.hourly ? TB__GRAIN_HOURS : TB__GRAIN_DAYS;
    const int64_t keys[2] = {
        tb__chunk_key(sum->series, grain, first < 0 ? 0 : first),
        tb__chunk_key(sum->series, grain, last > TB__INDEX_MAX ? TB__INDEX_MAX : last)};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(w->store, TB__SQL_CHUNK_SPAN, keys, 2, &s, err);
    while (!code && !(code = tb__step(w->store, s, &row, err)) && row) {
        const int64_t index = tb__key_index(sqlite3_column_int64(s, 0));
        const int64_t start = r.hourly ? index * 24 : tb_month_first_day(index);
        const int64_t stop = r.hourly ? start + 24 : tb_month_first_day(index + 1);
        const int64_t from = start > r.first ? start : r.first, to = stop < end ? stop : end;
        if (from < to) code = add_row(w, s, start, from, to, sum, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static bool is_within(const tb_summed *of, tb_range r)
{
    return of->series && of->created_us < (r.first + r.count) *
                                              (r.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY);
}

static tb_code add_all_rows(summing *w, tb_range r, tb_summed *list, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; r.count && !code && i < n; i++)
        if (is_within(&list[i], w->range)) code = add_rows(w, r, &list[i], err);
    return code;
}

/* --- pending entries --- */

typedef struct pending_sums {
    const summing *of;
    tb_summed **list; /* ascending by series */
    size_t n;
} pending_sums;

static int by_series(const void *a, const void *b)
{
    const int64_t x = (*(tb_summed *const *)a)->series, y = (*(tb_summed *const *)b)->series;
    return x < y ? -1 : x > y;
}

static tb_summed *summed_at(const pending_sums *w, int64_t series)
{
    const tb_summed key = {.series = series}, *at = &key;
    tb_summed **found = bsearch(&at, w->list, w->n, sizeof *w->list, by_series);
    return found ? *found : NULL;
}

static tb_code add_pending(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    const pending_sums *w = ctx;
    const tb_range r = w->of->range;
    const int64_t day = entry->key.index, end = r.first + r.count;
    if (r.hourly ? day * 24 + 24 <= r.first || day * 24 >= end : day < r.first || day >= end)
        return TB_OK;
    tb_summed *to = summed_at(w, entry->key.owner);
    tb_grid grid;
    if (!to) return TB_OK;
    if (!tb__entry_get_grid(entry->data, entry->len, &grid)) return tb__entry_damaged(err);
    for (uint32_t slots = grid.slots; slots; slots &= slots - 1) {
        const int slot = __builtin_ctz(slots);
        const int64_t at = r.hourly ? day * 24 + slot : day;
        if (at < r.first || at >= end) continue;
        for (uint32_t left = grid.metrics & w->of->metrics; left; left &= left - 1) {
            const int m = __builtin_ctz(left);
            add_value(&to->sum[m], m, grid.v[m][slot]);
        }
    }
    return TB_OK;
}

#define NEAR (2 * TB__SERIES_BLOCK) /* series that are stepped over rather than looked up again */

static tb_code add_all_pending(pending_sums *w, tb_error *err)
{
    tb__lsm *lsm = &w->of->store->usage->lsm;
    const tb_range r = w->of->range;
    const int64_t unit = r.hourly ? 24 : 1;
    const int64_t first = tb__floor_div(r.first, unit);
    const int64_t last = tb__floor_div(r.first + r.count - 1, unit);
    tb_code code = TB_OK;
    qsort(w->list, w->n, sizeof *w->list, by_series);
    for (size_t i = 0, n; !code && i < w->n; i += n) {
        for (n = 1; i + n < w->n && w->list[i + n]->series - w->list[i + n - 1]->series <= NEAR;)
            n++;
        const tb__lsm_span span = {{w->list[i]->series, first}, {w->list[i + n - 1]->series, last}};
        code = tb__lsm_each(lsm, TB__LSM_COUNTERS, span, add_pending, w, err);
    }
    return code;
}

static tb_code sum_pending(const summing *of, tb_summed *list, size_t n, tb_error *err)
{
    tb__lsm *lsm = &of->store->usage->lsm;
    pending_sums w = {.of = of};
    tb_code code = tb__lsm_load(lsm, TB__LSM_COUNTERS, err);
    if (code || !lsm->of[TB__LSM_COUNTERS].n) return code;
    w.list = malloc((n + 1) * sizeof(tb_summed *));
    if (!w.list) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if (is_within(&list[i], of->range)) w.list[w.n++] = &list[i];
    if (w.n) code = add_all_pending(&w, err);
    free(w.list);
    return code;
}

static tb_code sum_rows(summing *w, tb_summed *list, size_t n, tb_error *err)
{
    const tb_range r = w->range;
    const int64_t end = r.first + r.count;
    const int64_t day = tb__floor_div(r.first + 23, 24), last = tb__floor_div(end, 24);
    if (!r.hourly || day >= last) return add_all_rows(w, r, list, n, err);
    const tb_range before = {r.first, (uint32_t)(day * 24 - r.first), true};
    const tb_range days = {day, (uint32_t)(last - day), false};
    const tb_range after = {last * 24, (uint32_t)(end - last * 24), true};
    tb_code code = add_all_rows(w, before, list, n, err);
    if (!code) code = add_all_rows(w, days, list, n, err);
    return code ? code : add_all_rows(w, after, list, n, err);
}

static tb_code sum_all(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics, tb_error *err)
{
    summing w = {.store = store, .range = range, .metrics = metrics & TB_METRIC_ALL};
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        w.column[m] = w.cell[m];
    for (size_t i = 0; i < n; i++)
        for (uint32_t left = w.metrics; left; left &= left - 1)
            list[i].sum[__builtin_ctz(left)] = 0;
    if (!range.count || !w.metrics) return TB_OK;
    tb_code code = sum_rows(&w, list, n, err);
    return code ? code : sum_pending(&w, list, n, err);
}

enum { LIST, POINTS, ZONES }; /* kinds of questions: the first word of a key */

static void ask_list(tb__kept_sums_key *key, const tb_summed *list, size_t n, tb_range range, uint32_t metrics)
{
    tb__kept_sums_ask(key, LIST);
    tb__kept_sums_ask(key, metrics);
    tb__kept_sums_ask_range(key, range);
    for (size_t i = 0; i < n; i++)
        tb__kept_sums_ask(key, is_within(&list[i], range) ? list[i].series : 0);
}

tb_code tb__chunks_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics,
                       tb_error *err)
{
    tb__kept_sums_key key = {0};
    tb_u128 sum[TB__KEPT_SUMS_FEW * TB_METRIC_COUNT], *to = sum;
    bool may = false;
    size_t len = 0;
    metrics &= TB_METRIC_ALL;
    tb_code code = n <= TB__KEPT_SUMS_FEW && range.count && metrics ? tb__kept_sums_begin(store, &key, &may, err) : TB_OK;
    if (may) ask_list(&key, list, n, range, metrics);
    tb_u128 *known = may && !code ? tb__kept_sums_get(store, &key, &len) : NULL;
    if (!code && !known) code = sum_all(store, list, n, range, metrics, err);
    const tb_u128 *from = known;
    for (size_t i = 0; !code && may && i < n; i++)
        for (uint32_t left = metrics; left; left &= left - 1) {
            tb_u128 *own = &list[i].sum[__builtin_ctz(left)];
            if (known) *own = *from++;
            else *to++ = *own;
        }
    if (!code && may && !known) tb__kept_sums_put(store, &key, sum, (size_t)((char *)to - (char *)sum));
    free(known);
    return code;
}

/* --- a scope --- */

tb_code tb_store_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics,
                     tb_error *err)
{
    return store->plane.counters->sum(store, list, n, range, metrics, err);
}

static const char *region_of(const tb_scope *scope)
{
    return scope->region && *scope->region ? scope->region : NULL;
}

static tb_code resolve_scope(tb_store *store, const tb_scope *scope, tb_range range,
                             int64_t *ret_series, tb_error *err)
{
    const tb_view view = {scope->account, scope->zone, TB_ALL};
    return tb__view_resolve(store, &view, region_of(scope), range, ret_series, err);
}

static tb_code int_of_code(tb_store *store, tb__statement id, const char *region, int64_t *ret,
                           tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    *ret = 0;
    tb_code code = tb__sql(store, id, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, region, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_scope_check(tb_store *store, const tb_scope *scope, tb_error *err)
{
    const tb_view view = {scope->account, scope->zone, TB_ALL};
    const char *region = region_of(scope);
    int64_t found = 1;
    tb_code code = tb_store_view_check(store, &view, err);
    if (!code && region) code = int_of_code(store, TB__SQL_REGION_OF_CODE, region, &found, err);
    if (!code && !found) code = int_of_code(store, TB__SQL_EDGE_OF_CODE, region, &found, err);
    if (code || found) return code;
    return tb_fail(err, TB_E_VALIDATION, "region",
                   "There is no region %s; GET /region lists them by RegionCode.", region);
}

static tb_code take_summed(sqlite3_stmt *row, void *item, tb_error *err)
{
    tb_summed *of = item;
    *of = (tb_summed){.id = sqlite3_column_int64(row, 0),
                      .series = sqlite3_column_int64(row, 1),
                      .created_us = sqlite3_column_int64(row, 2),
                      .there = sqlite3_column_int(row, 3) != 0};
    return of->series ? tb__check_id("series", of->series, TB__SERIES_MAX, err) : TB_OK; /* 0: it has none */
}

/* At which locations a series is that holds it: from 0, which stands for all of them, to the highest the first is that of
 * all, or the only one. */
static tb_code edges_of(tb_store *store, const tb_scope *scope, int64_t edge[2], tb_error *err)
{
    const char *region = region_of(scope);
    edge[0] = 0;
    edge[1] = INT64_MAX;
    if (!region) return TB_OK;
    tb_code code = int_of_code(store, TB__SQL_EDGE_OF_CODE, region, &edge[0], err);
    /* A region without any usage has no number: -1 matches none. */
    edge[1] = edge[0] = edge[0] ? edge[0] : -1;
    return code;
}

/* --- the fleet: all accounts together --- */

static bool is_fleet(const tb_scope *scope)
{
    return scope->account == TB_ALL && scope->zone == TB_ALL;
}

static tb_code list_accounts(tb_store *store, const int64_t edge[2], const tb_zone_choice *choice,
                             tb_summed **ret_list, size_t *ret_n, tb_error *err)
{
    static const tb__rows rows = {sizeof(tb_summed), take_summed, NULL};
    const tb_text search = choice->search.len ? choice->search : (tb_text){"", 0};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, choice->by_name ? TB__SQL_FLEET_ACCOUNTS_NAMED : TB__SQL_FLEET_ACCOUNTS, edge,
                                2, &s, err);
    if (code) return code;
    sqlite3_bind_text64(s, 3, search.data, search.len, SQLITE_STATIC, SQLITE_UTF8);
    return tb__collect(store, s, &rows, ret_list, ret_n, err);
}

static tb_code add_series(tb_series *to, const tb_series *part, tb_error *err)
{
    bool over = false;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        uint64_t *sum = to->value[m];
        const uint64_t *value = part->value[m];
        for (uint32_t i = 0; sum && i < to->range.count; i++)
            if (tb_metric_table[m].how == TB_HOW_SUM) over |= __builtin_add_overflow(sum[i], value[i], &sum[i]);
            else if (value[i] > sum[i]) sum[i] = value[i];
    }
    return over ? tb_fail(err, TB_E_OVERFLOW, NULL, "The sum of all accounts passes 2^64-1.") : TB_OK;
}

static tb_code add_one_by_one(tb_store *store, const tb_summed *list, size_t n, tb_series *series, tb_error *err)
{
    tb_series part = {0};
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    tb_code code = tb_series_init(&part, series->range, metrics, NULL, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (!list[i].series) continue;
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            if (part.value[m]) memset(part.value[m], 0, part.range.count * sizeof *part.value[m]);
        code = store->plane.counters->series(store, list[i].series, &part, err);
        if (!code) code = add_series(series, &part, err);
    }
    tb_series_release(&part);
    return code;
}

static tb_code read_fleet_series(tb_store *store, const tb_scope *scope, tb_series *series, tb_error *err)
{
    tb_summed *list = NULL;
    size_t n = 0;
    int64_t edge[2];
    tb_code code = edges_of(store, scope, edge, err);
    if (!code) code = list_accounts(store, edge, &(tb_zone_choice){0}, &list, &n, err);
    if (!code && store->plane.counters->series_together)
        code = store->plane.counters->series_together(store, list, n, series, err);
    else if (!code) code = add_one_by_one(store, list, n, series, err);
    free(list);
    return code;
}

static tb_code take_located(sqlite3_stmt *row, void *item, tb_error *err)
{
    tb__located *of = item;
    *of = (tb__located){.edge = sqlite3_column_int64(row, 0), .series = sqlite3_column_int64(row, 1)};
    return tb__check_series(of->edge, of->series, err);
}

typedef struct region_list {
    tb_region_summed **list;
    size_t *n;
} region_list;

static void add_sums(tb_u128 to[TB_METRIC_COUNT], const tb_u128 part[TB_METRIC_COUNT], uint32_t metrics)
{
    for (uint32_t left = metrics; left; left &= left - 1) {
        const int m = __builtin_ctz(left);
        if (tb_metric_table[m].how == TB_HOW_SUM) to[m] += part[m];
        else if (part[m] > to[m]) to[m] = part[m];
    }
}

/* Adds series of some locations to `regions`, which are as store->places. */
static tb_code sum_locations(tb_store *store, const tb__located *of, size_t n, tb_range range, uint32_t metrics,
                             tb_region_summed *regions, tb_error *err)
{
    tb_summed *list = calloc(n, sizeof *list);
    if (!list) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        list[i] = (tb_summed){.series = of[i].series, .created_us = INT64_MIN};
    tb_code code = tb_store_sum(store, list, n, range, metrics, err);
    for (size_t i = 0; !code && i < n; i++) {
        const tb__place *place = tb__find_place(store, of[i].edge);
        if (!place) {
            code = tb_fail(err, TB_E_CORRUPT, "series", "Edge location %lld has no code.", (long long)of[i].edge);
            break;
        }
        tb_region_summed *region = &regions[place - store->places];
        region->of.id = place->edge;
        region->of.there = true;
        memcpy(region->code, place->code, sizeof region->code);
        memcpy(region->name, place->name, sizeof region->name);
        add_sums(region->of.sum, list[i].sum, metrics);
    }
    free(list);
    return code;
}

/* Some series at a time, the locations of an account side by side: a usage server gives all locations of an account. */
static tb_code read_fleet_regions(tb_store *store, const tb_scope *scope, tb_range range, uint32_t metrics,
                                  const region_list *ret, tb_error *err)
{
    enum { SOME = 4096 };
    static const tb__rows rows = {sizeof(tb__located), take_located, NULL};
    tb__located *located = NULL;
    tb_region_summed *list = NULL;
    size_t n = 0, n_list = 0;
    int64_t edge[2];
    tb_code code = edges_of(store, scope, edge, err);
    if (!code) code = tb__load_places(store, err);
    if (!edge[0]) edge[0] = 1;
    if (!code) code = tb__collect_ints(store, TB__SQL_FLEET_LOCATED, edge, 2, &rows, &located, &n, err);
    if (!code && !(list = calloc(store->n_places + 1, sizeof *list))) code = tb_no_memory(err);
    for (size_t at = 0; !code && at < n; at += SOME)
        code = sum_locations(store, located + at, n - at < SOME ? n - at : SOME, range, metrics, list, err);
    free(located);
    if (code) {
        free(list);
        return code;
    }
    for (size_t i = 0; i < store->n_places; i++)
        if (list[i].of.there) list[n_list++] = list[i];
    *ret->list = list;
    *ret->n = n_list;
    return TB_OK;
}

/* --- a scope's series and regions --- */

tb_code tb_store_scope_series(tb_store *store, const tb_scope *scope, tb_series *series,
                              tb_error *err)
{
    const tb_view view = {scope->account, scope->zone, TB_ALL};
    tb__asked asked = {.view = &view};
    if (!series->range.count) return TB_OK;
    if (is_fleet(scope)) return read_fleet_series(store, scope, series, err);
    tb_code code = resolve_scope(store, scope, series->range, &asked.whole, err);
    return code ? code : store->plane.counters->view(store, &asked, series, err);
}

static tb_code read_points(tb_store *store, int64_t id, tb_range range, int m, uint32_t each, tb_u128 *points,
                           tb_error *err)
{
    tb_series series;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(m), NULL, err);
    if (!code) code = store->plane.counters->series(store, id, &series, err);
    for (uint32_t i = 0; !code && i < range.count; i++)
        points[i / each] += series.value[m][i];
    tb_series_release(&series);
    return code;
}

static bool in_file(const tb_store *store)
{
    return store->plane.counters == &tb__file_counters;
}

tb_code tb_store_summed_points(tb_store *store, const tb_summed *of, tb_range range, tb_metric metric,
                               uint32_t each, tb_u128 *ret_points, tb_error *err)
{
    const size_t bytes = (range.count + each - 1) / each * sizeof *ret_points;
    tb__kept_sums_key key = {0};
    bool may = false;
    size_t len = 0;
    memset(ret_points, 0, bytes);
    if (!is_within(of, range)) return TB_OK;
    tb_code code = in_file(store) ? tb__kept_sums_begin(store, &key, &may, err) : TB_OK;
    tb__kept_sums_ask(&key, POINTS);
    tb__kept_sums_ask(&key, metric);
    tb__kept_sums_ask(&key, each);
    tb__kept_sums_ask(&key, of->series);
    tb__kept_sums_ask_range(&key, range);
    void *known = may && !code ? tb__kept_sums_get(store, &key, &len) : NULL;
    if (known) memcpy(ret_points, known, bytes);
    else if (!code) code = read_points(store, of->series, range, (int)metric, each, ret_points, err);
    if (!code && may && !known) tb__kept_sums_put(store, &key, ret_points, bytes);
    free(known);
    return code;
}

tb_code tb_store_scope_regions(tb_store *store, const tb_scope *scope, tb_range range,
                               uint32_t metrics, tb_region_summed **ret_list, size_t *ret_n,
                               tb_error *err)
{
    int64_t id;
    if (is_fleet(scope))
        return read_fleet_regions(store, scope, range, metrics, &(region_list){ret_list, ret_n}, err);
    tb_code code = resolve_scope(store, scope, range, &id, err);
    if (code) return code;
    const size_t n = store->n_located;
    tb_summed *sums = calloc(n + 1, sizeof *sums);
    tb_region_summed *list = calloc(n + 1, sizeof *list);
    if (!sums || !list) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        sums[i] = (tb_summed){store->located[i].edge, store->located[i].series, INT64_MIN, true, {0}};
    if (!code) code = tb_store_sum(store, sums, n, range, metrics, err);
    for (size_t i = 0; !code && i < n; i++) {
        list[i].of = sums[i];
        memcpy(list[i].code, store->located[i].place->code, sizeof list[i].code);
        memcpy(list[i].name, store->located[i].place->name, sizeof list[i].name);
    }
    free(sums);
    if (code) {
        free(list);
        return code;
    }
    *ret_list = list;
    *ret_n = n;
    return TB_OK;
}

/* --- all zones of a scope --- */

static tb_code list_zones(tb_store *store, const tb_zone_question *q, const int64_t edge[2],
                          tb_summed **ret_list, size_t *ret_n, tb_error *err)
{
    static const tb__statement which[2][2][2] = {
        {{TB__SQL_SUMMED_ZONES, TB__SQL_SUMMED_ZONES_NAMED},
         {TB__SQL_SUMMED_ZONES_FOUND, TB__SQL_SUMMED_ZONES_FOUND_NAMED}},
        {{TB__SQL_FLEET_ZONES, TB__SQL_FLEET_ZONES_NAMED},
         {TB__SQL_FLEET_ZONES_FOUND, TB__SQL_FLEET_ZONES_FOUND_NAMED}}};
    const bool fleet = q->scope.account == TB_ALL;
    static const tb__rows rows = {sizeof(tb_summed), take_summed, NULL};
    const bool one = q->scope.zone != TB_ALL, search = q->choice.search.len > 0;
    const int64_t values[5] = {q->scope.account, one ? q->scope.zone : 0, one ? q->scope.zone : INT64_MAX,
                               edge[0], edge[1]};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, which[fleet][search][q->choice.by_name], values, 5, &s, err);
    if (code) return code;
    if (search)
        sqlite3_bind_text64(s, 6, q->choice.search.data, q->choice.search.len, SQLITE_STATIC,
                            SQLITE_UTF8);
    return tb__collect(store, s, &rows, ret_list, ret_n, err);
}

static bool has_any(const tb_summed *of, uint32_t metrics)
{
    for (uint32_t left = metrics; left; left &= left - 1)
        if (of->sum[__builtin_ctz(left)]) return true;
    return false;
}

/* Marks deleted zones that have something of a range. */
static tb_code mark_used(tb_store *store, tb_summed *gone, size_t n, tb_range range, uint32_t metrics,
                         tb_error *err)
{
    tb_code code = n ? tb_store_sum(store, gone, n, range, metrics, err) : TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        gone[i].there = gone[i].there || has_any(&gone[i], metrics);
    return code;
}

/* Those of `gone` that are not marked go; both lists are in the same order. */
static void drop_unused(tb_summed *list, size_t *n, uint32_t metrics, const tb_summed *gone)
{
    size_t kept = 0;
    for (size_t i = 0; i < *n; i++) {
        const bool is_gone = !list[i].there && !has_any(&list[i], metrics);
        if (!is_gone || (gone++)->there) list[kept++] = list[i];
    }
    *n = kept;
}

/* The requested counters are summed already: only deleted zones without any of them are checked. */
static tb_code drop_deleted(tb_store *store, const tb_zone_question *q, tb_summed *list, size_t *n,
                            tb_error *err)
{
    size_t n_gone = 0;
    tb_summed *gone = malloc((*n + 1) * sizeof *gone);
    if (!gone) return tb_no_memory(err);
    for (size_t i = 0; i < *n; i++)
        if (!list[i].there && !has_any(&list[i], q->metrics)) gone[n_gone++] = list[i];
    tb_code code = mark_used(store, gone, n_gone, q->range, q->shown, err);
    if (!code && q->before.count) code = mark_used(store, gone, n_gone, q->before, q->shown, err);
    if (!code) drop_unused(list, n, q->metrics, gone);
    free(gone);
    return code;
}

void tb_zone_sums_release(tb_zone_sums *sums)
{
    free(sums->zones);
    free(sums->sums);
    *sums = (tb_zone_sums){0};
}

/* Room for n zones with their sums. */
static tb_code zone_sums_room(tb_zone_sums *sums, size_t n, size_t columns, tb_error *err)
{
    sums->n = n;
    sums->zones = malloc((n + 1) * sizeof *sums->zones);
    sums->sums = malloc((n * columns + 1) * sizeof *sums->sums);
    if (sums->zones && sums->sums) return TB_OK;
    tb_zone_sums_release(sums);
    return tb_no_memory(err);
}

static tb_code give_zones(const tb_summed *list, size_t n, uint32_t metrics, tb_zone_sums *ret,
                          tb_error *err)
{
    tb_code code = zone_sums_room(ret, n, (size_t)__builtin_popcount(metrics), err);
    if (code) return code;
    tb_u128 *to = ret->sums;
    for (size_t i = 0; i < n; i++) {
        ret->zones[i] = (tb_zone_place){list[i].id, list[i].series, list[i].created_us, list[i].there};
        for (uint32_t left = metrics; left; left &= left - 1)
            *to++ = list[i].sum[__builtin_ctz(left)];
    }
    return TB_OK;
}

static tb_code read_zone_sums(tb_store *store, const tb_zone_question *q, const int64_t edge[2],
                              tb_zone_sums *ret, tb_error *err)
{
    tb_summed *list = NULL;
    size_t n = 0;
    tb_code code = list_zones(store, q, edge, &list, &n, err);
    if (!code) code = tb_store_sum(store, list, n, q->range, q->metrics, err);
    if (!code) code = drop_deleted(store, q, list, &n, err);
    if (!code) code = give_zones(list, n, q->metrics, ret, err);
    free(list);
    return code;
}

/* Of all zones of an account. *ret_may false: such a question is not kept. */
static tb_code ask_zones(tb_store *store, const tb_zone_question *q, const int64_t edge[2], tb__kept_sums_key *key,
                         bool *ret_may, tb_error *err)
{
    *ret_may = false;
    if (!in_file(store) || q->scope.zone != TB_ALL || q->choice.search.len) return TB_OK;
    tb__kept_sums_ask(key, ZONES);
    tb__kept_sums_ask(key, q->scope.account);
    tb__kept_sums_ask(key, edge[0]);
    tb__kept_sums_ask(key, edge[1]);
    tb__kept_sums_ask(key, q->choice.by_name);
    tb__kept_sums_ask(key, q->metrics);
    tb__kept_sums_ask(key, q->shown);
    tb__kept_sums_ask_range(key, q->range);
    tb__kept_sums_ask_range(key, q->before);
    return tb__kept_sums_begin(store, key, ret_may, err);
}

/* As it is kept: the zones, then their sums. */
static tb_code take_known(const void *known, size_t len, size_t columns, tb_zone_sums *ret, tb_error *err)
{
    const size_t each = sizeof *ret->zones + columns * sizeof *ret->sums, n = len / each;
    tb_code code = zone_sums_room(ret, n, columns, err);
    if (code) return code;
    memcpy(ret->zones, known, n * sizeof *ret->zones);
    memcpy(ret->sums, (const char *)known + n * sizeof *ret->zones, n * columns * sizeof *ret->sums);
    return TB_OK;
}

static void keep_known(tb_store *store, const tb__kept_sums_key *key, const tb_zone_sums *sums, size_t columns)
{
    const size_t zones = sums->n * sizeof *sums->zones, values = sums->n * columns * sizeof *sums->sums;
    char *bytes = malloc(zones + values + 1);
    if (!bytes) return;
    memcpy(bytes, sums->zones, zones);
    memcpy(bytes + zones, sums->sums, values);
    tb__kept_sums_put(store, key, bytes, zones + values);
    free(bytes);
}

tb_code tb_store_zone_sums(tb_store *store, const tb_zone_question *q, tb_zone_sums *ret_sums, tb_error *err)
{
    const size_t columns = (size_t)__builtin_popcount(q->metrics);
    tb__kept_sums_key key = {0};
    int64_t edge[2];
    bool may = false;
    size_t len = 0;
    *ret_sums = (tb_zone_sums){0};
    tb_code code = edges_of(store, &q->scope, edge, err);
    if (!code) code = ask_zones(store, q, edge, &key, &may, err);
    if (code) return code;
    void *known = may ? tb__kept_sums_get(store, &key, &len) : NULL;
    if (known) code = take_known(known, len, columns, ret_sums, err);
    else code = read_zone_sums(store, q, edge, ret_sums, err);
    if (!code && may && !known) keep_known(store, &key, ret_sums, columns);
    free(known);
    return code;
}

tb_code tb_store_account_sums(tb_store *store, const tb_zone_question *q, tb_zone_sums *ret_sums, tb_error *err)
{
    tb_summed *list = NULL;
    size_t n = 0;
    int64_t edge[2];
    *ret_sums = (tb_zone_sums){0};
    tb_code code = edges_of(store, &q->scope, edge, err);
    if (!code) code = list_accounts(store, edge, &q->choice, &list, &n, err);
    if (!code) code = tb_store_sum(store, list, n, q->range, q->metrics, err);
    if (!code) code = drop_deleted(store, q, list, &n, err);
    if (!code) code = give_zones(list, n, q->metrics, ret_sums, err);
    free(list);
    return code;
}

tb_code tb_store_zone_sums_known(tb_store *store, const tb_zone_question *q, bool *ret_known, tb_error *err)
{
    tb__kept_sums_key key = {0};
    int64_t edge[2];
    *ret_known = false;
    tb_code code = edges_of(store, &q->scope, edge, err);
    if (!code) code = ask_zones(store, q, edge, &key, ret_known, err);
    *ret_known = !code && *ret_known && tb__kept_sums_known(store, &key);
    return code;
}

tb_code tb_store_has_zones(tb_store *store, int64_t account, int64_t n, bool *ret_has, tb_error *err)
{
    const int64_t values[2] = {account, n - 1};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(store, TB__SQL_ZONE_AT, values, 2, &s, err);
    if (!code) code = tb__step(store, s, ret_has, err);
    if (!code && *ret_has) sqlite3_reset(s);
    return code;
}

static tb_code add_names(tb_store *store, tb__statement id, const tb_zone_ids *of, tb_buf *out, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < of->n; i++) {
        sqlite3_stmt *s;
        bool row = false;
        code = tb__sql_ints(store, id, &of->zone[i], 1, &s, err);
        if (!code) code = tb__step(store, s, &row, err);
        if (!code && row) {
            tb_buf_add(out, sqlite3_column_text(s, 0), (size_t)sqlite3_column_bytes(s, 0));
            sqlite3_reset(s);
        }
        tb_buf_add(out, "", 1);
    }
    return code;
}

tb_code tb_store_zone_names(tb_store *store, const tb_zone_ids *zones, tb_buf *out, tb_error *err)
{
    return add_names(store, TB__SQL_ZONE_NAME, zones, out, err);
}

tb_code tb_store_account_names(tb_store *store, const tb_zone_ids *accounts, tb_buf *out, tb_error *err)
{
    return add_names(store, TB__SQL_ACCOUNT_NAME, accounts, out, err);
}
