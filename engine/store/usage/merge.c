/* Merging: FAN runs of a level become one of the next. An entry of the new run is the sum of the old ones'
 * entries of its key, and the old ones go in the same transaction.
 *
 * Runs never change, so their sum may be worked out before, by another thread out of a reader's snapshot; the
 * writer then only writes it. What keeps that true: the writer takes what was merged if all that it was made of is
 * still there, and nothing was folded since. An id is given again only behind a fold, which raises
 * meta.rows_version with its COMMIT (and says so in rows_changed before), so while that is the same an id names
 * the run that was read. What is not taken, or was taken by a transaction that is undone, is merged again. */
#include "store/usage/batch.h"
#include "tollbook/merging.h"

#include <stdatomic.h>
#include <stdlib.h>

#define FAN          8
#define LEVELS       16
#define AHEAD_LEVELS 3                  /* whose runs are merged by another thread */
#define AHEAD_BYTES  ((int64_t)64 << 20) /* of runs that it merges in a round: what they become is held in memory */
#define PATIENCE     4                  /* so many times FAN runs of a level wait for it */
#define TAKEN        2                  /* merges that are written with a run */

/* One who merges, and one who takes: the first adds where there is nothing, the second takes from the front. */
struct tb_merges {
    _Atomic(struct merged *) first;
    atomic_bool wanted; /* runs of a level wait to be merged ahead, as far as the writer saw */
};

int64_t tb__add_capped(int64_t a, int64_t b)
{
    return a > (int64_t)TB_COUNTER_MAX - b ? (int64_t)TB_COUNTER_MAX : a + b;
}

static tb_code union_next(void *ctx, tb__run_entry *ret_entry, bool *ret_more, tb_error *err)
{
    return tb__run_union_next(ctx, ret_entry, ret_more, err);
}

/* What FAN runs of one level become. */
static tb__run_what sum_of(tb__run_kind kind, const tb__usage_run *runs)
{
    tb__run_what what = {kind, runs[0].level + 1, 0};
    for (int i = 0; i < FAN; i++)
        what.sum = tb__add_capped(what.sum, runs[i].sum);
    return what;
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

/* --- by the writer itself --- */

/* runs: FAN of one level, copied from the list. */
static tb_code merge_runs(tb_store *store, tb__run_kind kind, const tb__usage_run *runs, tb_error *err)
{
    const tb__run_what what = sum_of(kind, runs);
    int64_t bytes = 0;
    size_t entries = 0;
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

/* How many runs of a level wait until the writer merges them. */
static int patience(const tb_store *store, int64_t level, int64_t folding)
{
    return store->usage->merges && level < AHEAD_LEVELS && !folding ? FAN * PATIENCE : FAN;
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
            if (n < FAN) out[n] = *run;
            if (++n >= patience(store, level, folding)) return true;
        }
        if (n >= FAN) atomic_store_explicit(&store->usage->merges->wanted, true, memory_order_relaxed);
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

/* --- ahead of it --- */

typedef struct merged {
    struct merged *next;
    tb__run_what what;
    int64_t rows_version;
    tb__usage_run of[FAN]; /* their ids and seals alone */
    tb__run_packed packed;
} merged;

static void free_merged(merged *m)
{
    if (!m) return;
    tb__run_packed_release(&m->packed);
    free(m);
}

tb_merges *tb_merges_new(void)
{
    return calloc(1, sizeof(tb_merges));
}

void tb_merges_free(tb_merges *merges)
{
    for (merged *m = merges ? merges->first : NULL, *next; m; m = next) {
        next = m->next;
        free_merged(m);
    }
    free(merges);
}

bool tb_merges_wanted(const tb_merges *merges)
{
    return atomic_load_explicit(&merges->wanted, memory_order_relaxed) &&
           !atomic_load_explicit(&merges->first, memory_order_acquire);
}

void tb_store_lend_merges(tb_store *store, tb_merges *merges)
{
    store->usage->merges = merges;
}

/* One round: out of one snapshot. */
typedef struct ahead {
    tb_store *reader;
    int64_t room;  /* bytes of runs that may still be merged */
    merged **last; /* where the next one goes */
} ahead;

static tb_code pack_merged(ahead *a, tb__run_kind kind, const tb__usage_run *runs, int64_t bytes, merged *m,
                           tb_error *err)
{
    tb__runs *from = &a->reader->usage->runs;
    tb__run_union *u = calloc(1, sizeof *u);
    if (!u) return tb_no_memory(err);
    m->what = sum_of(kind, runs);
    m->rows_version = from->of[kind].rows_version;
    for (int i = 0; i < FAN; i++)
        m->of[i] = (tb__usage_run){.id = runs[i].id, .seal = runs[i].seal};
    tb_code code = tb__run_union_begin(u, from, kind, runs, FAN, INT64_MIN, err);
    if (!code) code = tb__run_pack(&m->packed, (size_t)bytes, union_next, u, err);
    tb__run_union_release(u);
    free(u);
    return code;
}

/* What there is no room for waits for the next round, or for the writer. */
static tb_code merge_ahead(ahead *a, tb__run_kind kind, const tb__usage_run *runs, tb_error *err)
{
    int64_t bytes = 0;
    tb_code code = bytes_of(a->reader, runs, &bytes, err);
    if (code || bytes > a->room) return code;
    merged *m = calloc(1, sizeof *m);
    code = m ? pack_merged(a, kind, runs, bytes, m, err) : tb_no_memory(err);
    if (code) {
        free_merged(m);
        return code;
    }
    a->room -= bytes;
    *a->last = m;
    a->last = &m->next;
    return TB_OK;
}

/* All that is full of a level. */
static tb_code level_ahead(ahead *a, tb__run_kind kind, int64_t level, tb_error *err)
{
    const struct tb__run_list *list = &a->reader->usage->runs.of[kind];
    tb__usage_run eight[FAN];
    tb_code code = TB_OK;
    int n = 0;
    for (size_t i = 0; !code && i < list->n; i++) {
        if (list->run[i].level == level) eight[n++] = list->run[i];
        if (n < FAN) continue;
        n = 0;
        code = merge_ahead(a, kind, eight, err);
    }
    return code;
}

/* While a fold is under way the writer merges itself: ids and versions move with every batch. */
static tb_code kind_ahead(ahead *a, tb__run_kind kind, tb_error *err)
{
    int64_t folding = 0;
    tb_code code = tb__meta_get(a->reader, tb__fold_run_name[kind], &folding, err);
    if (code || folding) return code;
    code = tb__runs_load(&a->reader->usage->runs, kind, err);
    for (int64_t level = 0; !code && level < AHEAD_LEVELS; level++)
        code = level_ahead(a, kind, level, err);
    return code;
}

tb_code tb_merges_prepare(tb_merges *merges, tb_store *reader, tb_error *err)
{
    merged *first = NULL;
    ahead a = {.reader = reader, .room = AHEAD_BYTES, .last = &first};
    if (atomic_load_explicit(&merges->first, memory_order_acquire)) return TB_OK;
    atomic_store_explicit(&merges->wanted, false, memory_order_relaxed);
    tb_code code = tb_store_read_begin(reader, err);
    if (code) return code;
    for (int kind = 0; !code && kind < TB__RUN_KINDS; kind++)
        code = kind_ahead(&a, (tb__run_kind)kind, err);
    tb_store_read_end(reader);
    atomic_store_explicit(&merges->first, first, memory_order_release);
    return code;
}

static merged *take_first(tb_merges *merges)
{
    merged *m = atomic_load_explicit(&merges->first, memory_order_acquire);
    if (m) atomic_store_explicit(&merges->first, m->next, memory_order_release);
    return m;
}

static bool is_waiting(const struct tb__run_list *list, const tb__usage_run *run)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->run[i].id == run->id) return list->run[i].seal == run->seal;
    return false;
}

/* Whether it may stand for the runs that it was made of. */
static tb_code still_holds(tb_store *store, const merged *m, bool *ret_holds, tb_error *err)
{
    const struct tb__run_list *list = &store->usage->runs.of[m->what.kind];
    int64_t folding = 0;
    tb_code code = tb__meta_get(store, tb__fold_run_name[m->what.kind], &folding, err);
    if (!code) code = tb__runs_load(&store->usage->runs, m->what.kind, err);
    *ret_holds = !code && !folding && !store->usage->rows_changed && list->rows_version == m->rows_version;
    for (int i = 0; *ret_holds && i < FAN; i++)
        *ret_holds = is_waiting(list, &m->of[i]);
    return code;
}

static tb_code write_merged(tb_store *store, merged *m, tb_error *err)
{
    bool holds = false;
    tb_code code = still_holds(store, m, &holds, err);
    if (code || !holds) return code;
    code = tb__run_put(store, &m->what, &m->packed, err);
    if (!code) code = tb__runs_delete(store, m->of, FAN, err);
    tb__runs_forget(&store->usage->runs);
    return code;
}

tb_code tb__merges_take(tb_store *store, unsigned runs, tb_error *err)
{
    tb_code code = TB_OK;
    for (unsigned i = 0; !code && store->usage->merges && i < TAKEN * runs; i++) {
        merged *m = take_first(store->usage->merges);
        if (!m) break;
        code = write_merged(store, m, err);
        free_merged(m);
    }
    return code;
}
