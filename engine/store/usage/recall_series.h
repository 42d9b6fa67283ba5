/* What the readers of a process remember of single series, so that a page of zones that is asked
 * for again is no look at each: what counters come to over a range, or one counter by points
 * (recall_part.h). Where there is too much of it all of it goes, and what is asked for next comes
 * back. Any thread. */
#ifndef TOLLBOOK_STORE_RECALL_SERIES_H
#define TOLLBOOK_STORE_RECALL_SERIES_H

#include "store/core/internal.h"
#include "store/usage/recall_part.h"

typedef struct tb__recall_series tb__recall_series;

#define TB__RECALL_SERIES_BYTES ((size_t)8 << 20)

typedef struct tb__series_question {
    int64_t series;
    tb_range range;
    uint32_t metrics;
    uint32_t each; /* buckets that make a point of the one counter; 0: a sum of each counter */
} tb__series_question;

/* Sets the sums of the counters, ascending, or of the points. *ret_done false: nothing may be
 * remembered. */
TB_MUST_USE tb_code tb__recall_sums(tb_store *store, const tb__series_question *q,
                                    tb_u128 *ret_sums, bool *ret_done, tb_error *err);
tb__recall_series *tb__recall_series_new(void); /* NULL: no memory */
void tb__recall_series_free(tb__recall_series *recall);
size_t tb__recall_series_bytes(tb__recall_series *recall);

#endif
