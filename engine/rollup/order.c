/* A radix sort by bytes, least first, which leaves out the bytes that all keys share; short lists
 * are sorted by insertion. */
#include "rollup/order.h"

#include "rollup/chunks.h"

#include <string.h>

enum { INSERTION_MAX = 24, DIGITS = 256 };

static void sort_by_insertion(tb__item *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const tb__item item = items[i];
        size_t at = i;
        for (; at > 0 && items[at - 1].key > item.key; at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

static void sort_by_byte(const tb__item *from, tb__item *to, size_t n, unsigned shift)
{
    uint32_t place[DIGITS] = {0};
    for (size_t i = 0; i < n; i++)
        place[(uint8_t)(from[i].key >> shift)]++;
    uint32_t sum = 0;
    for (unsigned i = 0; i < DIGITS; i++) {
        const uint32_t count = place[i];
        place[i] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++)
        to[place[(uint8_t)(from[i].key >> shift)]++] = from[i];
}

void tb__items_sort(tb__item *items, tb__item *scratch, size_t n)
{
    if (n <= INSERTION_MAX) {
        sort_by_insertion(items, n);
        return;
    }
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++)
        differ |= items[i].key ^ items[0].key;
    tb__item *from = items, *to = scratch;
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if ((uint8_t)(differ >> shift) == 0) continue;
        sort_by_byte(from, to, n, shift);
        tb__item *const swap = from;
        from = to;
        to = swap;
    }
    if (from != items) memcpy(items, from, n * sizeof *items);
}

bool tb__ranked_begin(tb__ranked *list, uint32_t ranks, const tb_alloc *alloc)
{
    *list = (tb__ranked){.ranks = ranks};
    list->start = tb_alloc_zero(alloc, (size_t)ranks + 2, sizeof *list->start);
    return list->start != NULL;
}

bool tb__ranked_lay(tb__ranked *list, const tb_alloc *alloc)
{
    uint64_t sum = 0;
    for (uint32_t k = 0; k < list->ranks; k++) {
        const uint32_t count = list->start[k + 2];
        if (count > list->widest) list->widest = count;
        sum += count;
        if (sum > UINT32_MAX) return false;
        list->start[k + 2] = (uint32_t)sum;
    }
    list->n = (uint32_t)sum;
    if (sum == 0) return true;
    list->items = tb_alloc_resize(alloc, NULL, 0, list->n * sizeof *list->items);
    list->scratch = tb_alloc_resize(alloc, NULL, 0, list->widest * sizeof *list->scratch);
    if (!list->items || !list->scratch) return false;
    tb__memory_large(list->items, list->n * sizeof *list->items);
    return true;
}

const tb__item *tb__ranked_peek(tb__ranked *list)
{
    while (list->at == list->end) {
        if (list->turn == list->ranks) return NULL;
        list->rank = list->turns ? list->turns[list->turn] : list->turn;
        list->turn++;
        list->at = list->start[list->rank];
        list->end = list->start[list->rank + 1];
        tb__items_sort(list->items + list->at, list->scratch, list->end - list->at);
    }
    return &list->items[list->at];
}

void tb__ranked_release(tb__ranked *list, const tb_alloc *alloc)
{
    const size_t n = list->n, widest = list->widest;
    tb_alloc_free(alloc, list->items, n * sizeof *list->items);
    tb_alloc_free(alloc, list->scratch, widest * sizeof *list->scratch);
    tb_alloc_free(alloc, list->start, ((size_t)list->ranks + 2) * sizeof *list->start);
    *list = (tb__ranked){0};
}
