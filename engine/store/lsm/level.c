/* Compaction of a level: FAN runs of a level become one of the next. An entry of the new run is the sum of the old
 * runs' entries of its key. A level fills eight times as slowly as the one below it, so a compaction with each new
 * run keeps up with all levels. */
#include "store/lsm/compact.h"

#include <stdlib.h>

#define FAN    8
#define LEVELS 16

static tb_code merged_next(void *ctx, tb__lsm_entry *ret_entry, bool *ret_more, tb_error *err)
{
    return tb__lsm_merged_next(ctx, ret_entry, ret_more, err);
}

/* runs: FAN of one level, copied from the list. */
static tb_code compact_runs(tb_store *store, tb__lsm *lsm, tb__lsm_kind kind, const tb__lsm_run *runs, tb_error *err)
{
    tb__lsm_header header = {.kind = kind, .level = runs[0].level + 1};
    size_t entries = 0;
    tb_code code = TB_OK;
    for (int i = 0; !code && i < FAN; i++) {
        const int64_t pages[2] = {tb__lsm_page_id(runs[i].id, 0), tb__lsm_page_id(runs[i].id, TB__LSM_PAGES - 1)};
        int64_t bytes = 0;
        code = tb__int_of(store, TB__SQL_USAGE_PAGES_SIZE, pages, 2, 0, &bytes, err);
        header.bytes += (size_t)bytes;
        header.sum = tb__add_capped(header.sum, runs[i].sum);
    }
    if (code) return code;
    tb__lsm_merged *merged = calloc(1, sizeof *merged);
    if (!merged) return tb_no_memory(err);
    code = tb__lsm_merged_begin(merged, lsm, kind, runs, FAN, INT64_MIN, err);
    if (!code) code = tb__lsm_write(store, lsm, &header, merged_next, merged, &entries, err);
    tb__lsm_merged_release(merged);
    free(merged);
    if (!code) code = tb__lsm_delete(store, runs, FAN, err);
    tb__lsm_forget(lsm);
    return code;
}

/* The oldest FAN runs of the lowest level that is full; false: no level is. */
static bool full_level(const struct tb__lsm_list *list, int64_t through, tb__lsm_run out[FAN])
{
    for (int64_t level = 0; level < LEVELS; level++) {
        int n = 0;
        for (size_t i = 0; i < list->n; i++) {
            const tb__lsm_run *run = &list->run[i];
            if (run->id <= through || run->level != level) continue;
            out[n] = *run;
            if (++n == FAN) return true;
        }
    }
    return false;
}

tb_code tb__lsm_compact_level(tb_store *store, tb__lsm *lsm, tb__lsm_kind kind, int64_t through, tb_error *err)
{
    tb__lsm_run full[FAN];
    tb_code code = tb__lsm_load(lsm, kind, err);
    if (code || !full_level(&lsm->of[kind], through, full)) return code;
    return compact_runs(store, lsm, kind, full, err);
}
