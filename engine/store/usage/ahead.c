/* Days are read from the cursor, and summed up for their segment, DAYS at a time: with a helper, in its
 * thread, while those before them are put. What that one does at a time is a turn: the rows that were
 * put (landing.c), then the next days.
 *
 * What it keeps true: days come in the cursor's order, and of the two halves the one is read while
 * the other is filled, never the same. */
#include "store/usage/ahead.h"

#include "store/usage/batch.h"
#include "store/usage/cells.h"

#include <stdlib.h>
#include <string.h>

#define DAYS       256 /* of 2 KiB, mostly: what is read ahead stays in the processor's caches */
#define DAYS_ALONE 8

typedef struct half {
    size_t n, at;
    tb_rollup_day day[DAYS];
    tb_grid hours[DAYS];
    tb_u128 sums[TB_METRIC_COUNT];
    uint64_t cells;
} half;

struct tb__ahead {
    tb_store *store;
    tb_rollup_cursor *cursor;
    half halves[2], *reading, *filling;
    size_t days;   /* of a half */
    bool promised; /* filling is, or will be, filled */
};

/* May run in the helper's thread. */
static void fill_half(void *ahead)
{
    tb__ahead *a = ahead;
    half *h = a->filling;
    h->n = h->at = 0;
    while (h->n < a->days && tb_rollup_next_day(a->cursor, &h->day[h->n], &h->hours[h->n])) {
        tb__count_sums(h->sums, &h->cells, &h->day[h->n], &h->hours[h->n]);
        h->n++;
    }
}

/* What the segment adds: recorded with it, so that verify can re-sum. */
static void take_sums(tb_store *store, half *h)
{
    store->cells += h->cells;
    h->cells = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        store->sums[m] += h->sums[m];
        h->sums[m] = 0;
    }
}

/* The half that was filled is read, and the other one filled. */
static tb_code turn(tb__ahead *a, tb_error *err)
{
    tb_code code = tb__landing_wait(a->store, err);
    if (code) return code;
    half *filled = a->filling;
    a->filling = a->reading;
    a->reading = filled;
    take_sums(a->store, filled);
    a->promised = filled->n == a->days;
    return a->promised ? tb__landing_turn(a->store, fill_half, a, err) : TB_OK;
}

tb_code tb__ahead_new(tb_store *store, tb_rollup_cursor *cursor, tb__ahead **ret_ahead,
                      tb_error *err)
{
    tb__ahead *a = malloc(sizeof *a);
    if (!a) return tb_no_memory(err);
    a->store = store;
    a->cursor = cursor;
    a->days = store->helper.start ? DAYS : DAYS_ALONE;
    if (store->usage->batch.load) a->days = store->usage->batch.load;
    a->reading = &a->halves[0];
    a->filling = &a->halves[1];
    for (int i = 0; i < 2; i++) {
        half *h = &a->halves[i];
        h->n = h->at = 0;
        h->cells = 0;
        memset(h->sums, 0, sizeof h->sums);
    }
    fill_half(a);
    a->promised = true;
    *ret_ahead = a;
    return TB_OK;
}

void tb__ahead_free(tb__ahead *a)
{
    free(a);
}

tb_code tb__ahead_next(tb__ahead *a, const tb_rollup_day **ret_day, const tb_grid **ret_hours,
                       tb_error *err)
{
    tb_code code = a->reading->at == a->reading->n && a->promised ? turn(a, err) : TB_OK;
    half *h = a->reading;
    *ret_day = NULL;
    if (code || h->at == h->n) return code;
    *ret_day = &h->day[h->at];
    *ret_hours = &h->hours[h->at++];
    return TB_OK;
}
