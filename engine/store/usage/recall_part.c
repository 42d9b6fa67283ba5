/* Which runs are in the sums is a short list a level: a level is merged when it has eight, or a few more
 * where that is done ahead of the writer. */
#include "store/usage/recall_part.h"

#include "base/list.h"

#include <stdlib.h>
#include <string.h>

size_t tb__part_bytes(size_t cells)
{
    return (cells + 1) * (sizeof(tb_u128) + TB__PART_LEVELS * sizeof(uint64_t)) +
           TB__PART_LEVELS * 32 * sizeof(int64_t);
}

tb_code tb__part_init(tb__part *part, size_t cells, tb_error *err)
{
    *part = (tb__part){.cells = cells};
    part->rows = calloc(cells + 1, sizeof(tb_u128) + TB__PART_LEVELS * sizeof(uint64_t));
    if (!part->rows) return tb_no_memory(err);
    uint64_t *sums = (uint64_t *)(part->rows + cells + 1);
    for (int i = 0; i < TB__PART_LEVELS; i++)
        part->level[i].sum = sums + (size_t)i * cells;
    return TB_OK;
}

void tb__part_release(tb__part *part)
{
    for (int i = 0; i < TB__PART_LEVELS; i++)
        free(part->level[i].run);
    free(part->rows);
}

static size_t level_of(const tb__usage_run *run)
{
    return run->level < TB__PART_LEVELS ? (size_t)run->level : TB__PART_LEVELS - 1;
}

static bool has_run(const struct tb__part_level *l, int64_t id)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->run[i] == id) return true;
    return false;
}

static void empty_level(tb__part *part, size_t which)
{
    struct tb__part_level *l = &part->level[which];
    if (l->n) memset(l->sum, 0, part->cells * sizeof *l->sum);
    l->n = 0;
}

/* Levels of which a run is gone are empty. */
static void drop_gone(tb__part *part, const struct tb__run_list *list)
{
    size_t found[TB__PART_LEVELS] = {0};
    for (size_t i = 0; i < list->n; i++) {
        const size_t which = level_of(&list->run[i]);
        found[which] += has_run(&part->level[which], list->run[i].id);
    }
    for (size_t which = 0; which < TB__PART_LEVELS; which++)
        if (found[which] != part->level[which].n) empty_level(part, which);
}

/* The list stays where it is: reading entries does not load it anew within a snapshot. */
static tb_code add_new(tb__part *part, const struct tb__run_list *list, const tb__part_of *of,
                       tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < list->n; i++) {
        tb__usage_run *run = &list->run[i];
        struct tb__part_level *l = &part->level[level_of(run)];
        if (has_run(l, run->id)) continue;
        code = tb__grow(&l->run, l->n, &l->cap, sizeof *l->run, err);
        if (code) return code;
        l->run[l->n++] =
            run->id; /* before the sums: what fails halfway is not known, and emptied */
        code = of->run(of->ctx, run, l->sum, err);
    }
    return code;
}

tb_code tb__part_refresh(tb__part *part, tb__runs *runs, const tb__part_of *of, tb_error *err)
{
    tb_code code = tb__runs_load(runs, TB__RUN_CHUNKS, err);
    const struct tb__run_list *list = &runs->of[TB__RUN_CHUNKS];
    const int64_t newest = list->n ? list->run[list->n - 1].id : 0;
    const bool same_rows = part->known && part->rows_version == list->rows_version;
    if (code || (same_rows && part->newest == newest)) return code;
    if (!same_rows) {
        part->known = false;
        for (size_t which = 0; which < TB__PART_LEVELS; which++)
            empty_level(part, which);
        memset(part->rows, 0, part->cells * sizeof *part->rows);
        code = of->rows(of->ctx, part->rows, err);
    }
    part->known = false;
    drop_gone(part, list);
    if (!code) code = add_new(part, list, of, err);
    part->rows_version = list->rows_version;
    part->newest = newest;
    part->known = !code;
    return code;
}

int64_t tb__part_behind(const tb__part *part, const tb__runs *runs)
{
    const struct tb__run_list *list = &runs->of[TB__RUN_CHUNKS];
    int64_t entries = 0;
    if (!part->known || part->rows_version != list->rows_version) return INT64_MAX;
    for (size_t i = 0; i < list->n; i++)
        if (!has_run(&part->level[level_of(&list->run[i])], list->run[i].id))
            entries += list->run[i].entries;
    return entries;
}

bool tb__may_recall(const tb_store *store, uint32_t metrics)
{
    for (uint32_t left = metrics; left; left &= left - 1)
        if (tb_metric_table[__builtin_ctz(left)].how != TB_HOW_SUM) return false;
    return !sqlite3_get_autocommit(store->db) &&
           sqlite3_txn_state(store->db, NULL) != SQLITE_TXN_WRITE;
}

tb__run_span tb__days_of(int64_t first, int64_t last, tb_range range)
{
    const int64_t unit = range.hourly ? 24 : 1;
    return (tb__run_span){{first, tb__floor_div(range.first, unit)},
                          {last, tb__floor_div(range.first + range.count - 1, unit)}};
}

uint32_t tb__slots_within(tb_range range, int64_t day)
{
    const int64_t end = range.first + range.count;
    uint32_t slots = 0;
    if (!range.hourly) return day >= range.first && day < end ? UINT32_MAX : 0;
    if (day * 24 >= range.first && day * 24 + 24 <= end) return UINT32_MAX;
    for (int64_t slot = 0; slot < 24; slot++)
        if (day * 24 + slot >= range.first && day * 24 + slot < end) slots |= UINT32_C(1) << slot;
    return slots;
}
