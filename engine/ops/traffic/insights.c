/* Reads the answer of GET /insights. All zones (and accounts, where these are ranked) are summed by the metrics of the
 * sort order; only those of the page are read further: all totals, those of the compared range, and a spark. */
#include "tollbook/statistics.h"
#include "tollbook/monthbill.h"
#include "tollbook/retain.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_   1024     /* bytes of a zone's name */
#define SPARK_HOURS (10 * 24) /* read one by one where they are whole days */

typedef struct page_row {
    tb_summed now, before;
    tb_u128 spark[TB_INSIGHTS_SPARK];
    size_t name; /* where it begins in names */
} page_row;

/* Zones, or accounts. */
typedef struct ranking {
    tb_zone_sums all, before; /* before: the same, of the compared range, for an order by change */
    uint32_t *order; /* of all, as far as the page goes */
    page_row *page;
    size_t n_page;
    tb_buf names;
} ranking;

typedef struct reading {
    tb_store *store;
    const tb_insights_query *ask;
    tb_scope scope;
    tb_period period;
    const tb_alloc *alloc;
    tb_series series, before;
    tb_region_summed *regions, *regions_before;
    size_t n_regions, n_regions_before;
    ranking zones, accounts;
    size_t n_spark;
    tb_insights_row *rows; /* regions, then the pages */
} reading;

static bool is_compared(const reading *r)
{
    return r->period.before.count > 0;
}

static tb_code refuse_hours(int64_t month, tb_error *err)
{
    char from[20];
    tb_time_format(tb_month_first_day(month) * TB_US_PER_DAY, from);
    return tb_fail(err, TB_E_DATE_RANGE, "by",
                   "Hours are kept from %.10s on; the time asked for, or the one before it, begins earlier. "
                   "Ask by day.",
                   from);
}

/* Where hours have expired, sums of whole days would be compared with points and parts of days that no longer exist:
 * auto becomes days, and a part of a day the whole day. */
static tb_code keep_to_hours(reading *r, tb_error *err)
{
    tb_period *p = &r->period;
    const bool earlier = is_compared(r) && p->before.first < p->range.first;
    const int64_t first = earlier ? p->before.first : p->range.first;
    tb_kept kept;
    tb_code code = tb_store_kept(r->store, r->scope.account, &kept, err);
    if (code) return code;
    if (p->range.hourly && tb_month_from_day(first / 24) < kept.hours) {
        if (!p->by_itself) return refuse_hours(kept.hours, err);
        tb_period_by_day(p);
    }
    const int64_t last = p->before.first + p->before.count - 1;
    if (p->before_part && tb_month_from_day(last) < kept.hours) p->before_part = 0;
    return TB_OK;
}

/* --- totals and points --- */

static tb_code read_series(reading *r, tb_range range, tb_series *series, tb_error *err)
{
    tb_code code = tb_series_init(series, range, tb_insights_metrics(), r->alloc, err);
    if (code) return code;
    return tb_store_scope_series(r->store, &r->scope, series, err);
}

/* The last day's bucket holds just the hours that count. */
static tb_code read_part(reading *r, tb_error *err)
{
    const tb_range b = r->period.before;
    const tb_range hours = {(b.first + b.count - 1) * 24, r->period.before_part, true};
    tb_series part = {0};
    tb_code code = read_series(r, hours, &part, err);
    for (int m = 0; !code && m < TB_METRIC_COUNT; m++)
        if (r->before.value[m])
            r->before.value[m][b.count - 1] = (uint64_t)tb_series_total(&part, (tb_metric)m);
    tb_series_release(&part);
    return code;
}

static tb_code read_before(reading *r, tb_error *err)
{
    tb_code code = read_series(r, r->period.before, &r->before, err);
    return !code && r->period.before_part ? read_part(r, err) : code;
}

/* --- regions --- */

static tb_code read_regions(reading *r, tb_error *err)
{
    const tb_period *p = &r->period;
    const uint32_t metrics = tb_insights_metrics();
    tb_code code = tb_store_scope_regions(r->store, &r->scope, p->range, metrics, &r->regions,
                                          &r->n_regions, err);
    if (code || !is_compared(r)) return code;
    return tb_store_scope_regions(r->store, &r->scope, tb_period_before(p), metrics, &r->regions_before,
                                  &r->n_regions_before, err);
}

static bool has_any(const tb_u128 sum[TB_METRIC_COUNT])
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (sum[m]) return true;
    return false;
}

static int by_bytes(const void *a, const void *b)
{
    const tb_region_summed *x = a, *y = b;
    const tb_u128 m = x->of.sum[TB_M_BYTES], n = y->of.sum[TB_M_BYTES];
    return m != n ? (m > n ? -1 : 1) : strcmp(x->code, y->code);
}

/* --- zones --- */

typedef struct ranked {
    tb_u128 key;
    uint32_t at; /* in zones, which are by id */
} ranked;

static bool is_before(const ranked *a, const ranked *b)
{
    return a->key != b->key ? a->key > b->key : a->at < b->at;
}

static int by_rank(const void *a, const void *b)
{
    return is_before(a, b) ? -1 : is_before(b, a);
}

/* Restores a heap of n elements, with the last in rank at its top. */
static void sink(ranked *heap, size_t n, size_t at)
{
    for (size_t down = 2 * at + 1; down < n; down = 2 * at + 1) {
        if (down + 1 < n && is_before(&heap[down], &heap[down + 1])) down++;
        if (is_before(&heap[down], &heap[at])) return;
        const ranked other = heap[at];
        heap[at] = heap[down];
        heap[down] = other;
        at = down;
    }
}

/* The first `want` of n keys in rank, in order. */
static void rank_first(const tb_u128 *key, size_t n, ranked *first, size_t want)
{
    for (size_t i = 0; i < want; i++)
        first[i] = (ranked){key[i], (uint32_t)i};
    for (size_t at = want / 2; at-- > 0;)
        sink(first, want, at);
    for (size_t i = want; want && i < n; i++) {
        if (key[i] <= first[0].key) continue; /* an equal one that comes later is behind it */
        first[0] = (ranked){key[i], (uint32_t)i};
        sink(first, want, 0);
    }
    qsort(first, want, sizeof *first, by_rank);
}

static int by_amount(const void *a, const void *b)
{
    return tb_decimal_compare((*(const tb_zone_amount *const *)a)->amount, (*(const tb_zone_amount *const *)b)->amount);
}

static int by_zone(const void *a, const void *b)
{
    const tb_zone_amount *x = a, *y = b;
    return x->zone < y->zone ? -1 : x->zone > y->zone;
}

/* The key of a charge is its place among all; 0: a zone without one, which comes last. */
static tb_code charge_keys(const reading *r, const ranking *of, tb_u128 *key, tb_error *err)
{
    const tb_range range = r->period.range;
    const int64_t end = (range.first + range.count) * (range.hourly ? 1 : 24), come = r->period.come;
    const int64_t last_us = (end < come ? end : come) * TB_US_PER_HOUR - 1;
    tb_zone_amount *list = NULL;
    size_t n = 0, place = 0;
    tb_code code = tb_zone_amounts_read(r->store, r->scope.account, tb_month_from_us(last_us), last_us, &list, &n, err);
    if (code) return code;
    const tb_zone_amount **sorted = malloc((n + 1) * sizeof *sorted);
    size_t *places = calloc(n + 1, sizeof *places);
    if (!sorted || !places) code = tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++)
        sorted[i] = &list[i];
    if (!code && n) qsort(sorted, n, sizeof(tb_zone_amount *), by_amount);
    for (size_t i = 0; !code && i < n; i++) {
        if (!i || by_amount(&sorted[i - 1], &sorted[i]) != 0) place++;
        places[sorted[i] - list] = r->ask->order.ascending ? n + 1 - place : place;
    }
    for (size_t i = 0; !code && i < of->all.n; i++) {
        const tb_zone_amount wanted = {.zone = of->all.zones[i].id}, *found = n ? bsearch(&wanted, list, n, sizeof *list, by_zone) : NULL;
        key[i] = found ? places[found - list] : 0;
    }
    free(places);
    free(sorted);
    free(list);
    return code;
}

static tb_code order_all(const reading *r, ranking *of, size_t want, tb_error *err)
{
    const size_t n = of->all.n;
    tb_u128 *key = malloc((n + 1) * sizeof *key);
    ranked *first = malloc((want + 1) * sizeof *first);
    tb_code code = key && first ? TB_OK : tb_no_memory(err);
    if (!code) {
        if (r->ask->order.measure == TB_INSIGHTS_CHARGES) code = charge_keys(r, of, key, err);
        else tb_insights_order_keys(r->ask->order, of->all.sums, of->before.sums, n, key);
    }
    if (!code) rank_first(key, n, first, want);
    for (size_t i = 0; !code && i < want; i++)
        of->order[i] = first[i].at;
    free(key);
    free(first);
    return code;
}

static tb_zone_question question_of(const tb_insights_query *ask, tb_scope scope, const tb_period *p)
{
    return (tb_zone_question){.scope = scope,
                              .choice = {ask->search, ask->order.field < 0},
                              .range = p->range,
                              .metrics = tb_insights_order_metrics(ask->order),
                              .before = p->before.count ? tb_period_before(p) : (tb_range){0},
                              .shown = tb_insights_metrics()};
}

static bool is_by_change(const tb_insights_query *ask, const tb_period *p)
{
    return ask->order.measure == TB_INSIGHTS_CHANGE && p->before.count > 0;
}

/* The same zones or accounts, summed over the compared range. */
static tb_zone_question question_before(tb_zone_question q)
{
    const tb_range range = q.range;
    q.range = q.before;
    q.before = range;
    return q;
}

/* Those that come first, to the end of the page. A deleted one is among them where it has something of either time,
 * so that zones add up to their account. */
static tb_code rank_all(const reading *r, ranking *of, tb_error *err)
{
    const tb_insights_order order = r->ask->order;
    const tb_zone_question q = question_of(r->ask, r->scope, &r->period);
    const tb_zone_question before = question_before(q);
    tb_code (*sum)(tb_store *, const tb_zone_question *, tb_zone_sums *, tb_error *) =
        of == &r->accounts ? tb_store_account_sums : tb_store_zone_sums;
    tb_code code = sum(r->store, &q, &of->all, err);
    if (!code && is_by_change(r->ask, &r->period)) code = sum(r->store, &before, &of->before, err);
    if (code) return code;
    const size_t n = of->all.n, end = (size_t)r->ask->page * (size_t)r->ask->top, want = end < n ? end : n;
    of->order = malloc((want + 1) * sizeof *of->order);
    if (!of->order) return tb_no_memory(err);
    if (!q.choice.by_name) return order_all(r, of, want, err);
    for (size_t i = 0; i < want; i++)
        of->order[i] = (uint32_t)(order.ascending ? n - 1 - i : i);
    return TB_OK;
}

/* Many hours that are whole days are read as days, a row a month. */
static tb_range spark_range(tb_range r)
{
    const bool whole = r.hourly && r.first % 24 == 0 && r.count % 24 == 0;
    return whole && r.count > SPARK_HOURS ? (tb_range){r.first / 24, r.count / 24, false} : r;
}

/* As many hours or days together as it takes. */
static tb_code read_spark(reading *r, page_row *row, tb_error *err)
{
    const tb_range range = spark_range(r->period.range);
    const uint32_t each = (range.count + TB_INSIGHTS_SPARK - 1) / TB_INSIGHTS_SPARK;
    r->n_spark = (range.count + each - 1) / each;
    return tb_store_summed_points(r->store, &row->now, range, TB_M_REQUESTS, each, row->spark, err);
}

static tb_code read_row(reading *r, const tb_zone_place *zone, page_row *row, tb_error *err)
{
    const tb_period *p = &r->period;
    row->now = row->before = (tb_summed){.id = zone->id, .series = zone->series, .created_us = zone->created_us,
                                         .there = zone->there};
    tb_code code = tb_store_sum(r->store, &row->now, 1, p->range, tb_insights_metrics(), err);
    if (!code && is_compared(r))
        code = tb_store_sum(r->store, &row->before, 1, tb_period_before(p), tb_insights_metrics(), err);
    return code ? code : read_spark(r, row, err);
}

static tb_code read_names(const reading *r, ranking *of, tb_error *err)
{
    int64_t id[TB_INSIGHTS_TOP];
    for (size_t i = 0; i < of->n_page; i++)
        id[i] = of->page[i].now.id;
    const tb_zone_ids ids = {id, of->n_page};
    tb_buf_init(&of->names, TB_INSIGHTS_TOP * NAME_MAX_, NULL);
    tb_code code = of == &r->accounts ? tb_store_account_names(r->store, &ids, &of->names, err)
                                      : tb_store_zone_names(r->store, &ids, &of->names, err);
    if (!code) code = tb_buf_check(&of->names, err);
    for (size_t i = 0, at = 0; !code && i < of->n_page; i++) {
        of->page[i].name = at;
        at += strlen(of->names.data + at) + 1;
    }
    return code;
}

static tb_code read_page(reading *r, ranking *of, tb_error *err)
{
    const size_t skip = (size_t)(r->ask->page - 1) * (size_t)r->ask->top;
    tb_code code = rank_all(r, of, err);
    if (code || skip >= of->all.n) return code;
    const size_t left = of->all.n - skip;
    const size_t n = left < (size_t)r->ask->top ? left : (size_t)r->ask->top;
    of->page = calloc(n, sizeof *of->page);
    if (!of->page) return tb_no_memory(err);
    for (; !code && of->n_page < n; of->n_page++)
        code = read_row(r, &of->all.zones[of->order[skip + of->n_page]], &of->page[of->n_page], err);
    return code ? code : read_names(r, of, err);
}

/* --- rows to show --- */

static const tb_u128 *region_before(const reading *r, int64_t edge)
{
    static const tb_u128 nothing[TB_METRIC_COUNT];
    if (!is_compared(r)) return NULL;
    for (size_t i = 0; i < r->n_regions_before; i++)
        if (r->regions_before[i].of.id == edge) return r->regions_before[i].of.sum;
    return nothing;
}

/* Regions with something in one of the two times, most bytes first. */
static size_t show_regions(reading *r)
{
    size_t n = 0;
    if (r->n_regions > 1) qsort(r->regions, r->n_regions, sizeof *r->regions, by_bytes);
    for (size_t i = 0; i < r->n_regions; i++) {
        const tb_region_summed *region = &r->regions[i];
        const tb_u128 *before = region_before(r, region->of.id);
        if (!has_any(region->of.sum) && !(before && has_any(before))) continue;
        r->rows[n++] = (tb_insights_row){.code = region->code,
                                         .name = region->name,
                                         .sum = region->of.sum,
                                         .before = before};
    }
    return n;
}

static void show_page(const reading *r, const ranking *of, tb_insights_row *rows)
{
    for (size_t i = 0; i < of->n_page; i++) {
        const page_row *row = &of->page[i];
        rows[i] = (tb_insights_row){.id = row->now.id,
                                    .name = of->names.data + row->name,
                                    .deleted = !row->now.there,
                                    .sum = row->now.sum,
                                    .before = is_compared(r) ? row->before.sum : NULL,
                                    .spark = row->spark,
                                    .n_spark = r->n_spark};
    }
}

static tb_code show_insights(reading *r, tb_buf *out, tb_error *err)
{
    r->rows = calloc(r->n_regions + r->zones.n_page + r->accounts.n_page + 1, sizeof *r->rows);
    if (!r->rows) return tb_no_memory(err);
    const size_t n_regions = show_regions(r);
    tb_insights_row *zones = r->rows + n_regions, *accounts = zones + r->zones.n_page;
    show_page(r, &r->zones, zones);
    show_page(r, &r->accounts, accounts);
    const tb_insights in = {.period = r->period,
                            .series = &r->series,
                            .before = is_compared(r) ? &r->before : NULL,
                            .regions = r->rows,
                            .n_regions = n_regions,
                            .zones = {zones, r->zones.n_page, (int64_t)r->zones.all.n},
                            .accounts = {accounts, r->accounts.n_page, (int64_t)r->accounts.all.n},
                            .ranks_accounts = r->ask->ranks_accounts,
                            .page = r->ask->page,
                            .per_page = r->ask->top};
    return tb_insights_encode(&in, out, err);
}

static void release_ranking(ranking *of)
{
    tb_zone_sums_release(&of->all);
    tb_zone_sums_release(&of->before);
    free(of->order);
    free(of->page);
    tb_buf_release(&of->names);
}

static void release(reading *r)
{
    tb_series_release(&r->series);
    tb_series_release(&r->before);
    free(r->regions);
    free(r->regions_before);
    release_ranking(&r->zones);
    release_ranking(&r->accounts);
    free(r->rows);
}

tb_code tb_insights_scope(tb_store *store, tb_scope *scope, tb_error *err)
{
    tb_code code = TB_OK;
    if (scope->account != TB_ALL) code = tb_store_need_account(store, scope->account, err);
    else if (scope->zone != TB_ALL) code = tb_store_zone_account(store, scope->zone, &scope->account, err);
    return code ? code : tb_store_scope_check(store, scope, err);
}

tb_code tb_insights_in(tb_store *store, const tb_insights_query *ask, const tb_alloc *alloc,
                       tb_buf *out, tb_error *err)
{
    reading r = {.store = store, .ask = ask, .scope = ask->scope, .period = ask->period, .alloc = alloc};
    tb_code code = tb_insights_scope(store, &r.scope, err);
    if (!code) code = keep_to_hours(&r, err);
    if (!code) code = read_series(&r, r.period.range, &r.series, err);
    if (!code && is_compared(&r)) code = read_before(&r, err);
    if (!code) code = read_regions(&r, err);
    if (!code) code = read_page(&r, &r.zones, err);
    if (!code && ask->ranks_accounts) code = read_page(&r, &r.accounts, err);
    if (!code) code = show_insights(&r, out, err);
    release(&r);
    return code;
}

/* By the requested times: if hours have expired the query changes, which is slow. */
tb_code tb_insights_known(tb_store *store, const tb_insights_query *ask, bool *ret_known, tb_error *err)
{
    const tb_zone_question q = question_of(ask, ask->scope, &ask->period), before = question_before(q);
    tb_code code = tb_store_read_begin(store, err);
    *ret_known = false;
    if (code) return code;
    code = tb_store_zone_sums_known(store, &q, ret_known, err);
    if (!code && *ret_known && is_by_change(ask, &ask->period))
        code = tb_store_zone_sums_known(store, &before, ret_known, err);
    tb_store_read_end(store);
    return code;
}
