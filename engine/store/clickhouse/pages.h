/* Rows of a zone in the order of time, page by page: one page is one statement. It looks at a slice of the time that
 * is left, and takes so many rows of it at most. Where little was found the next slice is wider; where much was, it
 * is as wide as what that took. So a page costs what it shows, in a table that has no other order to stop by. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_PAGES_H
#define TOLLBOOK_STORE_CLICKHOUSE_PAGES_H

#include "store/clickhouse/private.h"

typedef struct tb__ch_pages {
    int64_t from_ms, to_ms; /* what is left: `to` is exclusive */
    int64_t width_ms;
    size_t limit; /* rows of the next page */
    bool descending;
} tb__ch_pages;

void tb__ch_pages_init(tb__ch_pages *p, int64_t from_ms, int64_t to_ms, bool descending);
bool tb__ch_pages_over(const tb__ch_pages *p);
/* The slice of the next page. */
void tb__ch_pages_slice(const tb__ch_pages *p, int64_t *ret_from_ms, int64_t *ret_to_ms);
/* What came: rows and bytes; the first and the last row's time, where rows came. True: rows at the last one's time may
 * be left, and the next page begins behind that row. */
bool tb__ch_pages_took(tb__ch_pages *p, size_t rows, size_t bytes, int64_t first_ms, int64_t last_ms);
/* The page was too large. False: it had one row. */
bool tb__ch_pages_smaller(tb__ch_pages *p);

#endif
