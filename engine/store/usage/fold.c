/* Folding: when FOLD_DAYS days have closed all runs that wait then go to their places. A series has pages of
 * its own there, so eight of its days side by side cost little more than one.
 *
 * A fold goes by owners, ascending, over the runs up to meta.fold_run_K; meta.fold_owner_K is how far it
 * came. Runs that come meanwhile are not touched by it, and those it works on are not merged. At its end
 * they are deleted. */
#include "store/usage/batch.h"

#include "store/usage/overflow.h"

#include <stdlib.h>

#define FOLD_DAYS   8
#define SLICE_ROWS  2048       /* folded with a batch */
#define SLICES_MAX  4          /* of several batches together */
#define PART_ROWS   8192       /* folded by themselves */
#define WAIT_MANY   1000000    /* entries; past that twice what a batch brings is folded with it */
#define WAIT_MAX    2000000    /* entries that may wait, whatever the day */
#define STRAGGLERS  2          /* hours after midnight until a day has closed */
#define NOT_FOLDING INT64_MIN  /* meta.fold_owner_K */

/* --- folding --- */

/* Folds entries of the runs up to `through` until `rows` of them are done and an owner ends.
 * *ret_owner: the next one; NOT_FOLDING: none is left. */
static tb_code fold_entries(tb_store *store, tb__run_kind kind, size_t n, size_t rows,
                            int64_t *ret_owner, tb_error *err)
{
    tb__run_entry entry;
    int64_t owner = INT64_MIN;
    bool more = true;
    tb__placing placing = {.store = store};
    tb__run_union *u = calloc(1, sizeof *u);
    if (!u) return tb_no_memory(err);
    tb_code code =
        tb__run_union_begin(u, &store->usage->runs, kind, store->usage->runs.of[kind].run, n, INT64_MIN, err);
    *ret_owner = NOT_FOLDING;
    for (size_t done = 0; !code; done++) {
        code = tb__run_union_next(u, &entry, &more, err);
        if (code || !more) break;
        if (done >= rows && entry.key.owner != owner) {
            *ret_owner = entry.key.owner;
            break;
        }
        owner = entry.key.owner;
        code = tb__run_place(&placing, kind, &entry, err);
    }
    if (!code) code = tb__place_end(&placing, err);
    tb__run_union_release(u);
    free(u);
    return code;
}

static tb_code end_fold(tb_store *store, tb__run_kind kind, size_t n, tb_error *err)
{
    store->usage->rows_changed = true; /* of either kind: ids may be given again */
    tb_code code = tb__runs_delete(store, store->usage->runs.of[kind].run, n, err);
    if (!code) code = tb__meta_set(store, tb__fold_run_name[kind], 0, err);
    return code ? code : tb__meta_set(store, tb__fold_owner_name[kind], NOT_FOLDING, err);
}

/* A part of the fold that is under way. */
static tb_code fold_slice(tb_store *store, tb__run_kind kind, int64_t through, size_t rows,
                          tb_error *err)
{
    int64_t owner = 0;
    size_t n = 0;
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    if (code) return code;
    while (n < store->usage->runs.of[kind].n && store->usage->runs.of[kind].run[n].id <= through)
        n++;
    code = fold_entries(store, kind, n, rows, &owner, err);
    if (!code) code = owner == NOT_FOLDING
                          ? end_fold(store, kind, n, err)
                          : tb__meta_set(store, tb__fold_owner_name[kind], owner, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

static tb_code begin_fold(tb_store *store, tb__run_kind kind, int64_t *ret_through, tb_error *err)
{
    tb_code code = tb__runs_load(&store->usage->runs, kind, err);
    size_t n = store->usage->runs.of[kind].n;
    *ret_through = code || !n ? 0 : store->usage->runs.of[kind].run[n - 1].id;
    if (!code && n) code = tb__meta_set(store, tb__fold_run_name[kind], *ret_through, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

static int64_t waiting_entries(const tb__runs *runs, tb__run_kind kind)
{
    int64_t n = 0;
    for (size_t i = 0; i < runs->of[kind].n; i++)
        n += runs->of[kind].run[i].entries;
    return n;
}

/* Many entries wait where batches are large or share few keys: then what is folded exceeds what comes. */
static size_t slice_rows(const tb_store *store, int64_t waiting, const tb__brought *brought)
{
    if (store->usage->batch.slice) return store->usage->batch.slice;
    const size_t rows = SLICE_ROWS * (brought->batches < SLICES_MAX ? brought->batches : SLICES_MAX);
    return waiting > WAIT_MANY && brought->entries * 2 > rows ? brought->entries * 2 : rows;
}

static unsigned at_least_one(unsigned runs)
{
    return runs ? runs : 1;
}

static tb_code tend_kind(tb_store *store, tb__run_kind kind, bool begin, const tb__brought *brought,
                         tb_error *err)
{
    int64_t through = 0;
    tb_code code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
    for (unsigned i = 0; !code && i < at_least_one(brought->runs[kind]); i++)
        code = tb__runs_merge(store, kind, through, err);
    if (!code) code = tb__runs_load(&store->usage->runs, kind, err);
    if (code) return code;
    const int64_t waiting = waiting_entries(&store->usage->runs, kind);
    if (!through && (begin || waiting > WAIT_MAX)) code = begin_fold(store, kind, &through, err);
    return code || !through
               ? code
               : fold_slice(store, kind, through, slice_rows(store, waiting, brought), err);
}

/* Whether a fold is under way, of either kind. */
static tb_code is_folding(tb_store *store, bool *ret_folding, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_folding = false;
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++) {
        int64_t through = 0;
        code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
        *ret_folding |= through != 0;
    }
    return code;
}

/* Whether so many days have closed since the last fold began that the next one may: while another one is
 * under way it waits. */
static tb_code days_closed(tb_store *store, int64_t newest, bool *ret_closed, tb_error *err)
{
    *ret_closed = false;
    if (newest < STRAGGLERS) return TB_OK; /* the batch had no usage */
    const int64_t days = store->usage->batch.days ? store->usage->batch.days : FOLD_DAYS;
    int64_t before = 0, day = tb__floor_div(newest - STRAGGLERS, 24);
    bool folding = false;
    tb_code code = tb__meta_get(store, "fold_day", &before, err);
    if (!code) code = is_folding(store, &folding, err);
    const bool first = before <= 0, enough = day - before >= days;
    *ret_closed = !code && enough && !first && !folding;
    return code || folding || !(first || enough) ? code : tb__meta_set(store, "fold_day", day, err);
}

tb_code tb__runs_tend(tb_store *store, const tb__brought *brought, tb_error *err)
{
    bool closed = false;
    tb_code code = days_closed(store, brought->newest, &closed, err);
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++)
        code = tend_kind(store, (tb__run_kind)kind, closed, brought, err);
    return code;
}

tb_code tb__runs_fold_all(tb_store *store, tb_error *err)
{
    tb_code code = TB_OK;
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++) {
        int64_t through = 0;
        code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
        if (!code && through) code = fold_slice(store, (tb__run_kind)kind, through, SIZE_MAX, err);
        if (!code) code = begin_fold(store, (tb__run_kind)kind, &through, err);
        if (!code && through) code = fold_slice(store, (tb__run_kind)kind, through, SIZE_MAX, err);
    }
    return code;
}

static tb_code fold_kind_part(tb_store *store, tb__run_kind kind, bool *begun, bool *ret_more, tb_error *err)
{
    const size_t slice = store->usage->batch.slice;
    int64_t through = 0;
    tb_code code = tb__meta_get(store, tb__fold_run_name[kind], &through, err);
    if (!code && !through && !*begun) {
        *begun = true;
        code = begin_fold(store, kind, &through, err);
    }
    *ret_more = !code && through;
    return *ret_more ? fold_slice(store, kind, through, slice ? slice : PART_ROWS, err) : code;
}

tb_code tb__runs_fold_part(tb_store *store, bool begun[TB__RUN_KINDS], bool *ret_more, tb_error *err)
{
    *ret_more = false;
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    for (int kind = 0; !code && !*ret_more && kind < TB__RUN_KINDS; kind++)
        code = fold_kind_part(store, (tb__run_kind)kind, &begun[kind], ret_more, err);
    return code || !*ret_more ? code : tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

tb_code tb__runs_promise(tb_store *store, int64_t added, bool *ret_kept, tb_error *err)
{
    int64_t most = tb__add_capped(tb__add_capped(store->usage->cell_max, added), store->usage->batch.now.added);
    tb_code code = tb__runs_load(&store->usage->runs, TB__RUN_CHUNKS, err);
    for (size_t i = 0; !code && i < store->usage->runs.of[TB__RUN_CHUNKS].n; i++)
        most = tb__add_capped(most, store->usage->runs.of[TB__RUN_CHUNKS].run[i].sum);
    *ret_kept = most < (int64_t)TB_COUNTER_MAX;
    if (code || *ret_kept) return code;
    code = tb__batches_write(store, err);
    return code ? code : tb__runs_fold_all(store, err);
}
