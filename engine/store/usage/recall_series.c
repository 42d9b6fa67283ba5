/* Chained slots; an entry is one question about one series. Who uses it takes it out and puts it
 * back, so that nothing is read with the lock held; who comes in between makes another one, of
 * which one stays. */
#include "store/usage/recall_series.h"

#include "base/hash.h"
#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "store/usage/recall.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 4096 /* entries take some two KiB */

typedef struct entry {
    struct entry *next;
    tb__series_question of;
    tb__part part;
} entry;

struct tb__recall_series {
    pthread_mutex_t lock;
    size_t bytes;
    entry *slot[SLOTS];
};

static size_t columns_of(const tb__series_question *q)
{
    return q->each ? (q->range.count + q->each - 1) / q->each
                   : (size_t)__builtin_popcount(q->metrics);
}

/* --- where the sums come from --- */

typedef struct wanting {
    tb_store *store;
    const tb__series_question *q;
    uint64_t *sum; /* what a run is added to */
} wanting;

static tb_code add_points(tb_store *store, const tb__series_question *q, tb_u128 *sum,
                          tb_error *err)
{
    const int m = __builtin_ctz(q->metrics);
    tb_series series;
    tb_code code = tb_series_init(&series, q->range, q->metrics, NULL, err);
    if (!code) code = tb__read_rows(store, q->series, &series, err);
    for (uint32_t i = 0; !code && i < q->range.count; i++)
        sum[i / q->each] += series.value[m][i];
    tb_series_release(&series);
    return code;
}

static tb_code add_series_rows(void *ctx, tb_u128 *sum, tb_error *err)
{
    const wanting *w = ctx;
    tb_summed of = {.series = w->q->series, .created_us = INT64_MIN};
    if (w->q->each) return add_points(w->store, w->q, sum, err);
    tb_code code = tb__rows_sum(w->store, &of, 1, w->q->range, w->q->metrics, err);
    for (uint32_t left = w->q->metrics; !code && left; left &= left - 1)
        *sum++ = of.sum[__builtin_ctz(left)];
    return code;
}

/* A slot of a day that is in the range. */
static size_t point_of(const tb__series_question *q, int64_t day, int slot)
{
    return (size_t)((q->range.hourly ? day * 24 + slot : day) - q->range.first) / q->each;
}

static bool add_to_points(const tb__series_question *q, const tb__run_entry *e, uint32_t within,
                          uint64_t *sum)
{
    const int m = __builtin_ctz(q->metrics);
    tb_grid grid;
    if (!tb__run_get_grid(e->data, e->len, &grid)) return false;
    if (!(grid.metrics & q->metrics)) return true;
    for (uint32_t slots = grid.slots & within; slots; slots &= slots - 1)
        sum[point_of(q, e->key.index, __builtin_ctz(slots))] += grid.v[m][__builtin_ctz(slots)];
    return true;
}

static bool add_to_sums(const tb__series_question *q, const tb__run_entry *e, uint32_t within,
                        uint64_t *sum)
{
    uint64_t of[TB_METRIC_COUNT] = {0};
    if (!tb__run_sum_grid(e->data, e->len, q->metrics, within, of)) return false;
    for (uint32_t left = q->metrics; left; left &= left - 1)
        *sum++ += of[__builtin_ctz(left)];
    return true;
}

static tb_code add_series_entry(void *ctx, const tb__run_entry *e, tb_error *err)
{
    const wanting *w = ctx;
    const uint32_t within = tb__slots_within(w->q->range, e->key.index);
    if (!within || (w->q->each ? add_to_points : add_to_sums)(w->q, e, within, w->sum))
        return TB_OK;
    return tb__entry_damaged(err);
}

static tb_code add_series_run(void *ctx, tb__usage_run *run, uint64_t *sum, tb_error *err)
{
    wanting *w = ctx;
    w->sum = sum;
    return tb__run_each(&w->store->usage->runs, run,
                        tb__days_of(w->q->series, w->q->series, w->q->range), add_series_entry, w,
                        err);
}

/* --- entries --- */

static entry **slot_of(tb__recall_series *r, const tb__series_question *q)
{
    const int64_t words[5] = {q->series, q->range.first,
                              (int64_t)q->range.count * 2 + q->range.hourly, q->metrics, q->each};
    return &r->slot[XXH3_64bits(words, sizeof words) % SLOTS];
}

static bool is_of(const tb__series_question *a, const tb__series_question *b)
{
    return a->series == b->series && a->range.first == b->range.first &&
           a->range.count == b->range.count && a->range.hourly == b->range.hourly &&
           a->metrics == b->metrics && a->each == b->each;
}

static void free_entry(entry *e)
{
    tb__part_release(&e->part);
    free(e);
}

static size_t bytes_of(const entry *e)
{
    return sizeof *e + tb__part_bytes(e->part.cells);
}

static void drop_all(tb__recall_series *r)
{
    for (size_t i = 0; i < SLOTS; i++)
        while (r->slot[i]) {
            entry *e = r->slot[i];
            r->slot[i] = e->next;
            free_entry(e);
        }
    r->bytes = 0;
}

static tb_code new_entry(const tb__series_question *q, entry **ret, tb_error *err)
{
    entry *e = malloc(sizeof *e);
    if (!e) return tb_no_memory(err);
    e->of = *q;
    tb_code code = tb__part_init(&e->part, columns_of(q), err);
    if (code)
        free(e);
    else
        *ret = e;
    return code;
}

/* With the lock: where it is, or would be. */
static entry **find_entry(tb__recall_series *r, const tb__series_question *q)
{
    entry **at = slot_of(r, q);
    while (*at && !is_of(&(*at)->of, q))
        at = &(*at)->next;
    return at;
}

static entry *take_entry(tb__recall_series *r, const tb__series_question *q)
{
    pthread_mutex_lock(&r->lock);
    entry **at = find_entry(r, q), *e = *at;
    if (e) {
        *at = e->next;
        r->bytes -= bytes_of(e);
    }
    pthread_mutex_unlock(&r->lock);
    return e;
}

static void give_entry(tb__recall_series *r, entry *e)
{
    pthread_mutex_lock(&r->lock);
    if (r->bytes + bytes_of(e) > TB__RECALL_SERIES_BYTES) drop_all(r);
    entry **at = find_entry(r, &e->of), *other = *at;
    e->next = NULL;
    if (!other) {
        *at = e;
        r->bytes += bytes_of(e);
    }
    pthread_mutex_unlock(&r->lock);
    if (other) free_entry(e);
}

tb__recall_series *tb__recall_series_new(void)
{
    tb__recall_series *r = calloc(1, sizeof *r);
    if (r) pthread_mutex_init(&r->lock, NULL);
    return r;
}

void tb__recall_series_free(tb__recall_series *r)
{
    drop_all(r);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

size_t tb__recall_series_bytes(tb__recall_series *r)
{
    pthread_mutex_lock(&r->lock);
    const size_t bytes = r->bytes;
    pthread_mutex_unlock(&r->lock);
    return bytes;
}

tb_code tb__recall_sums(tb_store *store, const tb__series_question *q, tb_u128 *ret_sums,
                        bool *ret_done, tb_error *err)
{
    wanting w = {.store = store, .q = q};
    tb__recall *recall = NULL;
    *ret_done = tb__may_recall(store, q->metrics);
    if (!*ret_done) return TB_OK;
    tb_code code = tb__recall_of(store, &recall, err);
    if (code) return code;
    entry *e = take_entry(tb__recall_series_of(recall), q);
    if (!e) code = new_entry(q, &e, err);
    if (code) return code;
    code = tb__part_refresh(&e->part, &store->usage->runs,
                            &(tb__part_of){add_series_rows, add_series_run, &w}, err);
    for (size_t i = 0; !code && i < e->part.cells; i++)
        ret_sums[i] = tb__part_at(&e->part, i);
    give_entry(tb__recall_series_of(recall), e);
    return code;
}
