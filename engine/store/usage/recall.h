/* What the readers of a process remember of an account's zones, so that a ranking is no look at
 * each of them: their list, names that were asked for, and what some counters come to over a time
 * (recall_part.h). Any thread.
 *
 * A list is good while zones and series have the same number of rows and the same sum of seals
 * (head), in the reader's own snapshot. It is one reader's at a time: who wants the same one waits.
 */
#ifndef TOLLBOOK_STORE_RECALL_H
#define TOLLBOOK_STORE_RECALL_H

#include "store/core/internal.h"
#include "store/usage/recall_part.h"
#include "store/usage/recall_series.h"

typedef struct tb__recall tb__recall;

#define TB__RECALL_BYTES ((size_t)32 << 20) /* of lists and their sums */

/* Made for the first that asks. */
TB_MUST_USE tb_code tb__recall_of(tb_store *store, tb__recall **ret, tb_error *err);
tb__recall_series *tb__recall_series_of(tb__recall *recall);

/* A list's zones with the first of their series at locations edge[0] to edge[1], ascending by id.
 */
typedef struct tb__zones_of {
    int64_t account, edge[2];
} tb__zones_of;

/* As tb_store_zone_sums, of all zones of an account. *ret_done false: nothing may be remembered,
 * and `ret` is as it was. */
TB_MUST_USE tb_code tb__recall_zones(tb_store *store, const tb__zones_of *of,
                                     const tb_zone_question *q, tb_zone_sums *ret, bool *ret_done,
                                     tb_error *err);
/* As tb_store_zone_names. *ret_done false: nothing may be remembered, and nothing was added. */
TB_MUST_USE tb_code tb__recall_names(tb_store *store, const tb__zones_of *of,
                                     const tb_zone_ids *zones, tb_buf *out, bool *ret_done,
                                     tb_error *err);
/* As tb_store_zone_sums_near. */
TB_MUST_USE tb_code tb__recall_near(tb_store *store, const tb__zones_of *of,
                                    const tb_zone_question *q, bool *ret_near, tb_error *err);
/* Bytes that are remembered of lists. */
size_t tb__recall_bytes(tb__recall *recall);

#endif
