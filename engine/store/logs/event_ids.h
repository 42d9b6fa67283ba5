/* Sorted runs of the ids of usage events: see event_ids.c. */
#ifndef TOLLBOOK_STORE_EVENT_IDS_H
#define TOLLBOOK_STORE_EVENT_IDS_H

#include "store/core/internal.h"
#include "tollbook/eventids.h"

#define TB__ID_PAGE_BITS 14 /* a run has at most 2^14 pages */

/* A row of event_id_run. */
typedef struct tb__id_run {
    int64_t id, month, level;
    int64_t ids, bits; /* its ids, in 2^bits pages */
    int64_t digest;    /* the sum of the low halves of its ids, 63 bits */
    uint64_t *filter;  /* NULL: none in memory */
} tb__id_run;

/* The ids of one page, ascending. Begin with zeros; free list. */
typedef struct tb__id_page {
    tb_hash128 *list;
    size_t n, cap;
} tb__id_page;

static inline int64_t tb__id_page_row(int64_t run, int64_t page)
{
    return run << TB__ID_PAGE_BITS | page;
}

/* The page of an id: its first bits. */
static inline int64_t tb__id_page_of(int64_t bits, tb_hash128 id)
{
    return bits ? (int64_t)(id.high >> (64 - bits)) : 0;
}

static inline int tb__id_compare(tb_hash128 a, tb_hash128 b)
{
    if (a.high != b.high) return a.high < b.high ? -1 : 1;
    return (a.low > b.low) - (a.low < b.low);
}

/* All runs, ascending by id. free(). TB_E_CORRUPT: a row cannot be. */
TB_MUST_USE tb_code tb__id_runs(tb_store *store, tb__id_run **ret_list, size_t *ret_n, tb_error *err);
/* TB_E_CORRUPT: the page is missing or damaged, or its ids are not ascending ids of this page. */
TB_MUST_USE tb_code tb__id_page_read(tb_store *store, const tb__id_run *run, int64_t page, tb__id_page *ret, tb_error *err);

#endif
