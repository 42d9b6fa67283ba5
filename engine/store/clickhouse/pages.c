/* See pages.h. */
#include "store/clickhouse/pages.h"

#define FIRST_MS  INT64_C(60000)
#define WIDER     8
#define FIRST_ROWS ((size_t)256)
#define ROWS_MAX  ((size_t)8192)
#define BYTES     ((size_t)4 << 20) /* of a page, so far as the one before tells */

void tb__ch_pages_init(tb__ch_pages *p, int64_t from_ms, int64_t to_ms, bool descending)
{
    *p = (tb__ch_pages){from_ms, to_ms, FIRST_MS, FIRST_ROWS, descending};
}

bool tb__ch_pages_over(const tb__ch_pages *p)
{
    return p->from_ms >= p->to_ms;
}

void tb__ch_pages_slice(const tb__ch_pages *p, int64_t *ret_from_ms, int64_t *ret_to_ms)
{
    const bool whole = p->to_ms - p->from_ms <= p->width_ms;
    *ret_from_ms = whole || !p->descending ? p->from_ms : p->to_ms - p->width_ms;
    *ret_to_ms = whole || p->descending ? p->to_ms : p->from_ms + p->width_ms;
}

bool tb__ch_pages_took(tb__ch_pages *p, size_t rows, size_t bytes, int64_t first_ms, int64_t last_ms)
{
    int64_t from_ms, to_ms;
    tb__ch_pages_slice(p, &from_ms, &to_ms);
    const bool full = rows >= p->limit;
    const size_t fit = rows ? BYTES / (bytes / rows + 1) + 1 : ROWS_MAX;
    if (rows) p->limit = fit < 4 * p->limit ? fit : 4 * p->limit;
    if (p->limit > ROWS_MAX) p->limit = ROWS_MAX;
    if (full) {
        const int64_t span_ms = last_ms > first_ms ? last_ms - first_ms : first_ms - last_ms;
        p->width_ms = 4 * span_ms + 1;
        if (p->descending) p->to_ms = last_ms + 1;
        else p->from_ms = last_ms;
        return true;
    }
    if (rows < p->limit / 2 && p->width_ms < INT64_MAX / 16) p->width_ms *= WIDER;
    if (p->descending) p->to_ms = from_ms;
    else p->from_ms = to_ms;
    return false;
}

bool tb__ch_pages_smaller(tb__ch_pages *p)
{
    if (p->limit == 1) return false;
    p->limit = p->limit > 8 ? p->limit / 8 : 1;
    return true;
}
