/* Reads what GET /insights shows. All zones are summed by what they are ordered by, in one sweep; only those of
 * the page are read further: all totals, those of the time before, and a spark. */
#include "tollbook/insightsview.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MAX_ 1024 /* bytes of a zone's name */

typedef struct page_row {
    tb_summed now, before;
    tb_u128 spark[TB_INSIGHTS_SPARK];
    size_t name; /* where it begins in names */
} page_row;

typedef struct reading {
    tb_store *store;
    const tb_insights_ask *ask;
    const tb_alloc *alloc;
    tb_series series, before;
    tb_region_summed *regions, *regions_before;
    size_t n_regions, n_regions_before;
    tb_summed *zones; /* in order */
    size_t n_zones;
    page_row *page;
    size_t n_page, n_spark;
    tb_buf names;
    tb_insights_row *rows; /* regions, then the page */
} reading;

static bool is_compared(const reading *r)
{
    return r->ask->period.before.count > 0;
}

/* --- totals and points --- */

static tb_code read_series(reading *r, tb_range range, tb_series *series, tb_error *err)
{
    tb_code code = tb_series_init(series, range, tb_insights_metrics(), r->alloc, err);
    if (code) return code;
    return tb_store_scope_series(r->store, &r->ask->scope, series, err);
}

/* --- regions --- */

static tb_code read_regions(reading *r, tb_error *err)
{
    const tb_period *p = &r->ask->period;
    const uint32_t metrics = tb_insights_metrics();
    tb_code code = tb_store_scope_regions(r->store, &r->ask->scope, p->range, metrics, &r->regions,
                                          &r->n_regions, err);
    if (code || !is_compared(r)) return code;
    return tb_store_scope_regions(r->store, &r->ask->scope, p->before, metrics, &r->regions_before,
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

/* A deleted zone is shown where it has something of the range, so that zones add up to their account. */
static tb_code drop_deleted(reading *r, tb_error *err)
{
    size_t kept = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < r->n_zones; i++) {
        tb_summed *zone = &r->zones[i];
        if (!zone->there)
            code = tb_store_sum(r->store, zone, 1, r->ask->period.range, tb_insights_metrics(), err);
        if (zone->there || has_any(zone->sum)) r->zones[kept++] = *zone;
    }
    r->n_zones = kept;
    return code;
}

static int by_order(const void *a, const void *b, void *how)
{
    const tb_summed *x = a, *y = b;
    const tb_insights_order *asked = how;
    const int order = tb_insights_order_compare(*asked, x->sum, y->sum);
    return order ? order : x->id < y->id ? -1 : x->id > y->id;
}

static void turn_round(tb_summed *list, size_t n)
{
    for (size_t i = 0; i < n / 2; i++) {
        const tb_summed other = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = other;
    }
}

static tb_code rank_zones(reading *r, tb_error *err)
{
    tb_insights_order order = r->ask->order;
    const tb_zone_choice choice = {r->ask->search, order.field < 0};
    tb_code code = tb_store_scope_zones(r->store, &r->ask->scope, &choice, &r->zones, &r->n_zones, err);
    if (!code)
        code = tb_store_sum(r->store, r->zones, r->n_zones, r->ask->period.range,
                            tb_insights_order_metrics(order), err);
    if (!code) code = drop_deleted(r, err);
    if (code) return code;
    if (choice.by_name) {
        if (order.ascending) turn_round(r->zones, r->n_zones);
    } else if (r->n_zones > 1) {
        qsort_r(r->zones, r->n_zones, sizeof *r->zones, by_order, &order);
    }
    return TB_OK;
}

/* Hours where there is room for all of them, else days, else as many days together as it takes. */
static tb_range spark_range(tb_range r, uint32_t *ret_each)
{
    *ret_each = 1;
    if (!r.hourly || r.count <= TB_INSIGHTS_SPARK) {
        *ret_each = (r.count + TB_INSIGHTS_SPARK - 1) / TB_INSIGHTS_SPARK;
        return r;
    }
    const int64_t first = r.first / 24, last = (r.first + r.count - 1) / 24;
    const uint32_t days = (uint32_t)(last - first + 1);
    *ret_each = (days + TB_INSIGHTS_SPARK - 1) / TB_INSIGHTS_SPARK;
    return (tb_range){first, days, false};
}

static tb_code read_spark(reading *r, page_row *row, tb_error *err)
{
    uint32_t each;
    const tb_range range = spark_range(r->ask->period.range, &each);
    tb_series series;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_REQUESTS), r->alloc, err);
    if (code) return code;
    code = tb_store_summed_series(r->store, &row->now, &series, err);
    for (uint32_t i = 0; i < range.count; i++)
        row->spark[i / each] += series.value[TB_M_REQUESTS][i];
    r->n_spark = (range.count + each - 1) / each;
    tb_series_release(&series);
    return code;
}

static tb_code read_row(reading *r, const tb_summed *zone, page_row *row, tb_error *err)
{
    const tb_period *p = &r->ask->period;
    row->now = row->before = *zone;
    row->name = r->names.len;
    tb_code code = tb_store_zone_name(r->store, zone->id, &r->names, err);
    tb_buf_add(&r->names, "", 1);
    if (!code)
        code = tb_store_sum(r->store, &row->now, 1, p->range, tb_insights_metrics(), err);
    if (!code && is_compared(r))
        code = tb_store_sum(r->store, &row->before, 1, p->before, tb_insights_metrics(), err);
    return code ? code : read_spark(r, row, err);
}

static tb_code read_page(reading *r, tb_error *err)
{
    const size_t skip = (size_t)(r->ask->page - 1) * (size_t)r->ask->top;
    if (skip >= r->n_zones) return TB_OK;
    const size_t left = r->n_zones - skip;
    const size_t n = left < (size_t)r->ask->top ? left : (size_t)r->ask->top;
    r->page = calloc(n, sizeof *r->page);
    if (!r->page) return tb_no_memory(err);
    tb_code code = TB_OK;
    for (; !code && r->n_page < n; r->n_page++)
        code = read_row(r, &r->zones[skip + r->n_page], &r->page[r->n_page], err);
    return code ? code : tb_buf_check(&r->names, err);
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

static void show_page(const reading *r, tb_insights_row *rows)
{
    for (size_t i = 0; i < r->n_page; i++) {
        const page_row *row = &r->page[i];
        rows[i] = (tb_insights_row){.id = row->now.id,
                                    .name = r->names.data + row->name,
                                    .deleted = !row->now.there,
                                    .sum = row->now.sum,
                                    .before = is_compared(r) ? row->before.sum : NULL,
                                    .spark = row->spark,
                                    .n_spark = r->n_spark};
    }
}

static tb_code show_insights(reading *r, tb_buf *out, tb_error *err)
{
    r->rows = calloc(r->n_regions + r->n_page + 1, sizeof *r->rows);
    if (!r->rows) return tb_no_memory(err);
    const size_t n_regions = show_regions(r);
    show_page(r, r->rows + n_regions);
    const tb_insights in = {.period = r->ask->period,
                            .series = &r->series,
                            .before = is_compared(r) ? &r->before : NULL,
                            .regions = r->rows,
                            .n_regions = n_regions,
                            .zones = r->rows + n_regions,
                            .n_zones = r->n_page,
                            .total_zones = (int64_t)r->n_zones,
                            .page = r->ask->page,
                            .per_page = r->ask->top};
    return tb_insights_encode(&in, out, err);
}

static void release(reading *r)
{
    tb_series_release(&r->series);
    tb_series_release(&r->before);
    free(r->regions);
    free(r->regions_before);
    free(r->zones);
    free(r->page);
    free(r->rows);
    tb_buf_release(&r->names);
}

tb_code tb_insights_in(tb_store *store, const tb_insights_ask *ask, const tb_alloc *alloc,
                       tb_buf *out, tb_error *err)
{
    reading r = {.store = store, .ask = ask, .alloc = alloc};
    tb_buf_init(&r.names, TB_INSIGHTS_TOP * NAME_MAX_, NULL);
    tb_code code = tb_store_scope_check(store, &ask->scope, err);
    if (!code) code = read_series(&r, ask->period.range, &r.series, err);
    if (!code && is_compared(&r)) code = read_series(&r, ask->period.before, &r.before, err);
    if (!code) code = read_regions(&r, err);
    if (!code) code = rank_zones(&r, err);
    if (!code) code = read_page(&r, err);
    if (!code) code = show_insights(&r, out, err);
    release(&r);
    return code;
}
