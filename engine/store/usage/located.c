/* The bytes of a view's locations: each one's rows, and what waits of all of them. */
#include "store/usage/batch.h"
#include "store/usage/file.h"

#include <stdlib.h>

static tb_code bytes_in(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    tb_series series;
    if (range.count == 0) return TB_OK;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, err);
    if (code) return code;
    code = tb__read_rows(store, id, &series, err);
    *sum += tb_series_total(&series, TB_M_BYTES);
    tb_series_release(&series);
    return code;
}

/* Whole days of an hourly range are read from the days' chunks: a twentieth of the rows. */
static tb_code bytes_over(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    int64_t end = range.first + range.count;
    int64_t day = tb__floor_div(range.first + 23, 24), last = tb__floor_div(end, 24);
    if (!range.hourly || day >= last) return bytes_in(store, id, range, sum, err);
    tb_range before = {range.first, (uint32_t)(day * 24 - range.first), true};
    tb_range days = {day, (uint32_t)(last - day), false};
    tb_range after = {last * 24, (uint32_t)(end - last * 24), true};
    tb_code code = bytes_in(store, id, before, sum, err);
    if (!code) code = bytes_in(store, id, days, sum, err);
    return code ? code : bytes_in(store, id, after, sum, err);
}

static int by_series(const void *a, const void *b)
{
    int64_t x = ((const tb__located *)a)->series, y = ((const tb__located *)b)->series;
    return x < y ? -1 : x > y;
}

/* What waits of the locations, within a range. */
typedef struct waiting_geo {
    tb__located *list; /* ascending by series */
    size_t n;
    size_t from, at; /* in the list: the first series of the span, and where the last entry was looked for */
    tb_range range;
} waiting_geo;

/* Entries ascend within a run, so each is looked for behind the one before it; the next run begins anew. */
static tb__located *located_at(waiting_geo *w, int64_t series)
{
    if (w->at == w->n || w->list[w->at].series > series) w->at = w->from;
    while (w->at < w->n && w->list[w->at].series < series)
        w->at++;
    return w->at < w->n && w->list[w->at].series == series ? &w->list[w->at] : NULL;
}

/* The slots of an entry's day that are in the range. */
static uint32_t slots_within(tb_range range, int64_t day)
{
    const int64_t end = range.first + range.count;
    uint32_t slots = 0;
    if (!range.hourly) return day >= range.first && day < end ? UINT32_MAX : 0;
    if (day * 24 >= range.first && day * 24 + 24 <= end) return UINT32_MAX;
    for (int64_t slot = 0; slot < 24; slot++)
        if (day * 24 + slot >= range.first && day * 24 + slot < end) slots |= UINT32_C(1) << slot;
    return slots;
}

static tb_code add_waiting(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    waiting_geo *w = ctx;
    tb__located *to = located_at(w, entry->key.owner);
    const uint32_t slots = slots_within(w->range, entry->key.index);
    uint64_t sum[TB_METRIC_COUNT] = {0};
    if (!to || !slots) return TB_OK;
    if (!tb__entry_sum_grid(entry->data, entry->len, TB_METRIC_BIT(TB_M_BYTES), slots, sum)) return tb__entry_damaged(err);
    to->bytes += sum[TB_M_BYTES];
    return TB_OK;
}

/* An owner's series lie side by side, so each block of them is asked for once. */
static tb_code waiting_over(tb_store *store, waiting_geo *w, tb_error *err)
{
    const int64_t unit = w->range.hourly ? 24 : 1;
    const int64_t end = w->range.first + w->range.count - 1;
    const int64_t first = tb__floor_div(w->range.first, unit), last = tb__floor_div(end, unit);
    tb_code code = TB_OK;
    qsort(w->list, w->n, sizeof *w->list, by_series);
    for (size_t i = 0, n; !code && i < w->n; i += n) {
        const int64_t block = w->list[i].series / TB__SERIES_BLOCK;
        for (n = 1; i + n < w->n && w->list[i + n].series / TB__SERIES_BLOCK == block;)
            n++;
        w->from = w->at = i;
        const tb__lsm_span span = {{w->list[i].series, first}, {w->list[i + n - 1].series, last}};
        code = tb__lsm_each(&store->usage->lsm, TB__LSM_COUNTERS, span, add_waiting, w, err);
    }
    return code;
}

tb_code tb__chunks_located(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err)
{
    (void)asked;
    tb__located *list = store->located;
    waiting_geo waiting = {.list = list, .n = store->n_located, .range = range};
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < store->n_located; i++)
        code = bytes_over(store, list[i].series, range, &list[i].bytes, err);
    return code || !store->n_located || !range.count ? code : waiting_over(store, &waiting, err);
}
