/* Sorting by one 64-bit key, and lists that are grouped by rank first and sorted when reached. */
#ifndef TB__ROLLUP_ORDER_H
#define TB__ROLLUP_ORDER_H

#include "tollbook/buf.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tb__item {
    uint64_t key;
    uint32_t source, index; /* the thing that the key belongs to */
} tb__item;

/* Sorts ascending by key; equal keys keep their order. scratch has room for n items. */
void tb__items_sort(tb__item *items, tb__item *scratch, size_t n);

/* Items laid out rank after rank, each rank sorted when the reader comes to it.
 * Life cycle: begin, expect for all ranks, lay, put exactly the expected items, then peek and take. */
typedef struct tb__ranked {
    tb__item *items, *scratch;
    uint32_t *start; /* the items of rank k are items[start[k] .. start[k + 1]), once all are put */
    uint32_t ranks;
    uint32_t n, widest;    /* items of all ranks, and of the rank that has most */
    const uint32_t *turns; /* all ranks, in the order in which they are read; NULL: ascending */
    uint32_t turn;         /* the next one in it */
    uint32_t rank, at, end; /* the reader's place, and where its rank ends, which is in order */
} tb__ranked;

bool tb__ranked_begin(tb__ranked *list, uint32_t ranks, const tb_alloc *alloc);
/* start has two entries more than ranks: counts are collected two places ahead, sums stand one
 * place ahead while items are put, and putting moves them to their own. */
static inline void tb__ranked_expect(tb__ranked *list, uint32_t rank, uint32_t n)
{
    list->start[rank + 2] += n;
}
/* False when out of memory, or for 2^32 items or more. */
bool tb__ranked_lay(tb__ranked *list, const tb_alloc *alloc);
static inline void tb__ranked_put(tb__ranked *list, uint32_t rank, tb__item item)
{
    list->items[list->start[rank + 1]++] = item;
}
/* The next item, rank after rank and by key in each, or NULL at the end; list->rank is its rank. */
const tb__item *tb__ranked_peek(tb__ranked *list);
/* Passes over the item seen last. */
static inline void tb__ranked_take(tb__ranked *list)
{
    list->at++;
}
void tb__ranked_release(tb__ranked *list, const tb_alloc *alloc);

#endif
