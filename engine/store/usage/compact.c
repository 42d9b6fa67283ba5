/* Compaction of counters and countries (store/lsm/compact.h): when a compaction into base begins, and how much of it is
 * done with each batch.
 *
 * It begins when COMPACT_DAYS days have closed, with all runs that are pending then. A series has pages of its own in
 * base, so eight of its days side by side cost little more than one. */
#include "store/usage/batch.h"

#include <stdlib.h>

#define COMPACT_DAYS 8
#define STEP_ROWS    2048    /* with a batch */
#define STEPS_MAX    4       /* of several batches together */
#define PART_ROWS    8192    /* of a step by itself */
#define PENDING_MANY 1000000 /* entries; above it a step moves twice as many entries as the batch adds */
#define PENDING_MAX  2000000 /* entries; past that a compaction begins, whatever the day */
#define LATE_HOURS   2       /* after midnight until a day has closed */

/* --- a kind as a client of compaction into base --- */

static tb_code list_runs(tb_store *store, const tb__lsm_base *base, tb__lsm_pending *ret, tb_error *err)
{
    tb__lsm *lsm = &store->usage->lsm;
    tb_code code = tb__meta_get(store, base->through_row, &ret->at.through, err);
    if (!code) code = tb__meta_get(store, base->owner_row, &ret->at.owner, err);
    if (!code) code = tb__lsm_load(lsm, (tb__lsm_kind)base->kind, err);
    const struct tb__lsm_list *list = &lsm->of[base->kind];
    ret->n = code ? 0 : list->n;
    ret->oldest = ret->n ? list->run[0].id : 0;
    ret->newest = ret->n ? list->run[ret->n - 1].id : 0;
    return code;
}

/* How many runs of the list take part. */
static size_t count_inputs(const struct tb__lsm_list *list, int64_t through)
{
    size_t n = 0;
    while (n < list->n && list->run[n].id <= through)
        n++;
    return n;
}

static tb_code place_entries(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, int64_t rows,
                             int64_t *ret_owner, bool *ret_over, tb_error *err)
{
    const tb__lsm_kind kind = (tb__lsm_kind)base->kind;
    tb__lsm *lsm = &store->usage->lsm;
    const struct tb__lsm_list *list = &lsm->of[kind];
    tb__lsm_entry entry;
    int64_t owner = INT64_MIN;
    bool more = true;
    tb__lsm_merged *merged = calloc(1, sizeof *merged);
    if (!merged) return tb_no_memory(err);
    tb_code code = tb__lsm_merged_begin(merged, lsm, kind, list->run, count_inputs(list, pending->at.through), INT64_MIN, err);
    for (int64_t done = 0; !code; done++) {
        code = tb__lsm_merged_next(merged, &entry, &more, err);
        if (code || !more || (done >= rows && entry.key.owner != owner)) break;
        owner = entry.key.owner;
        code = tb__base_add_entry(store, kind, &entry, err);
    }
    *ret_over = !more;
    if (more) *ret_owner = entry.key.owner;
    if (!code) code = tb__write_buffer_flush(store, err);
    tb__lsm_merged_release(merged);
    free(merged);
    if (more) tb__lsm_forget(lsm);
    return code;
}

static tb_code delete_runs(tb_store *store, const tb__lsm_base *base, const tb__lsm_pending *pending, tb_error *err)
{
    const struct tb__lsm_list *list = &store->usage->lsm.of[base->kind];
    store->usage->rows_changed = true; /* of either kind: ids may be given again */
    tb_code code = tb__lsm_delete(store, list->run, count_inputs(list, pending->at.through), err);
    tb__lsm_forget(&store->usage->lsm);
    return code;
}

static tb__lsm_base base_of(int kind)
{
    const tb__lsm_client *client = &tb__usage_kinds[kind];
    return (tb__lsm_base){.through_row = client->through_row,
                          .owner_row = client->owner_row,
                          .first_owner = INT64_MIN,
                          .kind = kind,
                          .list = list_runs,
                          .place = place_entries,
                          .retire = delete_runs};
}

/* --- with each batch --- */

static tb_code maintain_kind(tb_store *store, int kind, bool begin, const tb__maintenance_due *due, tb_error *err)
{
    const tb__lsm_base base = base_of(kind);
    tb__lsm *lsm = &store->usage->lsm;
    tb__lsm_pending pending = {0};
    int64_t through = 0, entries = 0;
    tb_code code = tb__meta_get(store, base.through_row, &through, err);
    for (unsigned i = 0; !code && (i == 0 || i < due->runs[kind]); i++)
        code = tb__lsm_compact_level(store, lsm, (tb__lsm_kind)kind, through, err);
    if (!code) code = list_runs(store, &base, &pending, err);
    if (code) return code;
    for (size_t i = 0; i < pending.n; i++)
        entries += lsm->of[kind].run[i].entries;
    /* Many entries are pending where batches are large or share few keys: then a step moves more than the batch brings. */
    int64_t rows = STEP_ROWS * (due->batches < STEPS_MAX ? due->batches : STEPS_MAX);
    const int64_t twice = 2 * (int64_t)due->entries;
    if (entries > PENDING_MANY && twice > rows) rows = twice;
    if (store->usage->test.step_rows) rows = (int64_t)store->usage->test.step_rows;
    return tb__lsm_advance(store, &base, &pending, begin || entries > PENDING_MAX, rows, err);
}

tb_code tb__usage_maintain(tb_store *store, const tb__maintenance_due *due, tb_error *err)
{
    const int64_t days = store->usage->test.days ? store->usage->test.days : COMPACT_DAYS;
    const bool used = due->newest >= LATE_HOURS; /* else the batches had no usage */
    const int64_t day = used ? tb__floor_div(due->newest - LATE_HOURS, 24) : 0; /* the newest that has closed */
    int64_t before = 0, through = 0;
    bool compacting = false, begin = false;
    tb_code code = tb__meta_get(store, "fold_day", &before, err);
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        code = tb__meta_get(store, tb__usage_kinds[kind].through_row, &through, err);
        compacting |= through != 0;
    }
    /* No compaction begins while one is under way, of either kind. */
    if (!code && !compacting && used && (before <= 0 || day - before >= days)) {
        begin = before > 0;
        code = tb__meta_set(store, "fold_day", day, err);
    }
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++)
        code = maintain_kind(store, kind, begin, due, err);
    return code;
}

/* --- by itself --- */

tb_code tb__usage_compact_all(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__LSM_KINDS; kind++) {
        const tb__lsm_base base = base_of(kind);
        code = tb__lsm_compact_all(store, &base, err);
    }
    return code;
}

tb_code tb__usage_compact_part(tb_store *store, int64_t through[TB__LSM_KINDS], bool *ret_more, tb_error *err)
{
    const size_t slice = store->usage->test.step_rows;
    *ret_more = false;
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    for (int kind = 0; !code && !*ret_more && kind < TB__LSM_KINDS; kind++) {
        const tb__lsm_base base = base_of(kind);
        code = tb__lsm_compact_part(store, &base, slice ? (int64_t)slice : PART_ROWS, &through[kind], ret_more, err);
    }
    return code || !*ret_more ? code : tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

tb_code tb__usage_reserve(tb_store *store, int64_t added, bool *ret_fits, tb_error *err)
{
    const struct tb__lsm_list *list = &store->usage->lsm.of[TB__LSM_COUNTERS];
    int64_t most = tb__add_capped(tb__add_capped(store->usage->cell_max, added), store->usage->memtable.now.added);
    tb_code code = tb__lsm_load(&store->usage->lsm, TB__LSM_COUNTERS, err);
    for (size_t i = 0; !code && i < list->n; i++)
        most = tb__add_capped(most, list->run[i].sum);
    *ret_fits = most < (int64_t)TB_COUNTER_MAX;
    if (code || *ret_fits) return code;
    code = tb__memtable_flush(store, err);
    return code ? code : tb__usage_compact_all(store, err);
}
