/* Pending counters of one series: the entries of all runs as grids, ascending by day. */
#include "store/usage/entry.h"

#include "base/list.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

static bool is_place(const tb__pending *p, size_t at, int64_t index)
{
    return at <= p->n && (at == 0 || p->list[at - 1].index < index) &&
           (at == p->n || p->list[at].index >= index);
}

/* Where the index is, or would be. */
static size_t pending_place(const tb__pending *p, int64_t index)
{
    size_t lo = 0, hi = p->n;
    if (is_place(p, p->next, index)) return p->next; /* they mostly come ascending */
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (p->list[mid].index < index) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

tb_grid *tb__pending_find(const tb__pending *p, int64_t index)
{
    const size_t at = pending_place(p, index);
    return at < p->n && p->list[at].index == index ? p->list[at].grid : NULL;
}

tb_code tb__pending_at(tb__pending *p, int64_t index, tb_grid **ret_grid, tb_error *err)
{
    const size_t lo = pending_place(p, index);
    p->next = lo + 1;
    if (lo < p->n && p->list[lo].index == index) {
        *ret_grid = p->list[lo].grid;
        return TB_OK;
    }
    const size_t before = p->cap;
    tb_code code = tb__grow(&p->list, p->n, &p->cap, sizeof *p->list, err);
    if (code) return code;
    memset(p->list + before, 0, (p->cap - before) * sizeof *p->list);
    tb_grid *spare = p->list[p->n].grid ? p->list[p->n].grid : malloc(sizeof *spare);
    if (!spare) return tb_no_memory(err);
    memmove(p->list + lo + 1, p->list + lo, (p->n - lo) * sizeof *p->list);
    p->list[lo].index = index;
    p->list[lo].grid = spare;
    p->n++;
    tb_grid_clear(spare);
    *ret_grid = spare;
    return TB_OK;
}

void tb__pending_clear(tb__pending *p)
{
    p->n = 0;
}

void tb__pending_release(tb__pending *p)
{
    for (size_t i = 0; i < p->cap; i++)
        free(p->list[i].grid);
    free(p->list);
    *p = (tb__pending){0};
}

tb_code tb__pending_add(void *pending, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid more, *sum = NULL;
    if (!tb__entry_get_grid(entry->data, entry->len, &more)) return tb__entry_damaged(err);
    tb_code code = tb__pending_at(pending, entry->key.index, &sum, err);
    return code ? code : tb_grid_merge(sum, &more, err);
}

tb_code tb__pending_read(tb__pending *p, tb__lsm *lsm, int64_t first_key, int64_t last_key,
                         tb_error *err)
{
    const tb__lsm_span span = {tb__entry_key_of(first_key), tb__entry_key_of(last_key)};
    tb__pending_clear(p);
    return tb__lsm_each(lsm, TB__LSM_COUNTERS, span, tb__pending_add, p, err);
}

static tb_code merge_hours(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid more;
    if (!tb__entry_get_grid(entry->data, entry->len, &more)) return tb__entry_damaged(err);
    return tb_grid_merge(ctx, &more, err);
}

static tb_code fold_day(void *ctx, const tb__lsm_entry *entry, tb_error *err)
{
    tb_grid hours, day;
    if (!tb__entry_get_grid(entry->data, entry->len, &hours)) return tb__entry_damaged(err);
    tb_grid_clear(&day);
    tb_code code = tb_grid_fold(&day, (unsigned)tb_day_of_month(entry->key.index), &hours, err);
    return code ? code : tb_grid_merge(ctx, &day, err);
}

tb_code tb__pending_merge(tb__lsm *lsm, int64_t key, tb_grid *into, tb_error *err)
{
    const int64_t series = tb__key_series(key), index = tb__key_index(key);
    const bool hours = tb__key_grain(key) == TB__GRAIN_HOURS;
    const int64_t first = hours ? index : tb_month_first_day(index);
    const int64_t last = hours ? index : tb_month_first_day(index + 1) - 1;
    return tb__lsm_each(lsm, TB__LSM_COUNTERS, (tb__lsm_span){{series, first}, {series, last}},
                         hours ? merge_hours : fold_day, into, err);
}
