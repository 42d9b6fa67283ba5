/* Merging: FAN runs of a level become one of the next. An entry of the new run is the sum of the old ones'
 * entries of its key, and the old ones go in the same transaction. */
#include "store/usage/batch.h"

#include <stdlib.h>

#define FAN    8
#define LEVELS 16

int64_t tb__add_capped(int64_t a, int64_t b)
{
    return a > (int64_t)TB_COUNTER_MAX - b ? (int64_t)TB_COUNTER_MAX : a + b;
}

static tb_code union_next(void *ctx, tb__run_entry *ret_entry, bool *ret_more, tb_error *err)
{
    return tb__run_union_next(ctx, ret_entry, ret_more, err);
}

static tb_code bytes_of(tb_store *store, const tb__usage_run *runs, int64_t *ret_bytes, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_bytes = 0;
    for (int i = 0; !code && i < FAN; i++) {
        const int64_t pages[2] = {tb__run_page_id(runs[i].id, 0),
                                  tb__run_page_id(runs[i].id, TB__RUN_PAGES - 1)};
        int64_t size = 0;
        code = tb__int_of(store, TB__SQL_USAGE_PAGES_SIZE, pages, 2, 0, &size, err);
        *ret_bytes += size;
    }
    return code;
}

/* runs: FAN of one level, copied from the list. */
static tb_code merge_runs(tb_store *store, tb__run_kind kind, const tb__usage_run *runs, tb_error *err)
{
    tb__run_what what = {kind, runs[0].level + 1, 0};
    int64_t bytes = 0;
    size_t entries = 0;
    for (int i = 0; i < FAN; i++)
        what.sum = tb__add_capped(what.sum, runs[i].sum);
    tb_code code = bytes_of(store, runs, &bytes, err);
    if (code) return code;
    tb__run_union *u = calloc(1, sizeof *u);
    if (!u) return tb_no_memory(err);
    code = tb__run_union_begin(u, &store->usage->runs, kind, runs, FAN, INT64_MIN, err);
    if (!code) code = tb__run_write(store, &what, (size_t)bytes, union_next, u, &entries, err);
    tb__run_union_release(u);
    free(u);
    if (!code) code = tb__runs_delete(store, runs, FAN, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

/* The oldest FAN runs of the lowest level that is full; false: no level is. */
static bool full_level(const tb_store *store, tb__run_kind kind, int64_t folding, tb__usage_run out[FAN])
{
    const struct tb__run_list *list = &store->usage->runs.of[kind];
    for (int64_t level = 0; level < LEVELS; level++) {
        int n = 0;
        for (size_t i = 0; i < list->n; i++) {
            const tb__usage_run *run = &list->run[i];
            if (run->id <= folding || run->level != level) continue;
            out[n] = *run;
            if (++n == FAN) return true;
        }
    }
    return false;
}

/* One for each run: a level fills eight times as slowly as the one below it, so there is a turn for each. */
tb_code tb__runs_merge(tb_store *store, tb__run_kind kind, int64_t folding, tb_error *err)
{
    tb__usage_run eight[FAN];
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    if (code || !full_level(store, kind, folding, eight)) return code;
    code = merge_runs(store, kind, eight, err);
    return code ? code : tb__runs_load(&store->usage->runs, kind, err);
}
