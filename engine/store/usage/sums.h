/* A cache of sums that readers computed: of an account's zones, of a few series, and points of one. All stores of a
 * file in this process share it. Any thread.
 *
 * What keeps it true: everything in it is of one data version, which each commit that changes an answer raises. A reader
 * looks, and puts, only from a snapshot of that version; the first that puts something of a newer one empties the cache.
 * A writer sees its own uncommitted rows, so it does not use the cache within its transaction. */
#ifndef TOLLBOOK_STORE_SUMS_H
#define TOLLBOOK_STORE_SUMS_H

#include "store/core/internal.h"

#define TB__KEPT_SUMS_BYTES ((size_t)32 << 20) /* the cache is emptied when it would exceed this */
#define TB__KEPT_SUMS_FEW   64                 /* series whose sums are kept together: regions, or a page's zones */
#define TB__KEPT_SUMS_WORDS (TB__KEPT_SUMS_FEW + 12)

/* A question; zeroed but for its words. */
typedef struct tb__kept_sums_key {
    uint64_t version; /* of the snapshot: tb__kept_sums_begin */
    size_t n;
    int64_t word[TB__KEPT_SUMS_WORDS];
} tb__kept_sums_key;

void tb__kept_sums_ask(tb__kept_sums_key *key, int64_t word);
void tb__kept_sums_ask_range(tb__kept_sums_key *key, tb_range range);
/* Finds out the version. *ret_may false: not in a reader's snapshot. */
TB_MUST_USE tb_code tb__kept_sums_begin(tb_store *store, tb__kept_sums_key *key, bool *ret_may, tb_error *err);
bool tb__kept_sums_known(tb_store *store, const tb__kept_sums_key *key);
/* A copy of the answer, to be freed; NULL: it is not known, or there is no memory. */
void *tb__kept_sums_get(tb_store *store, const tb__kept_sums_key *key, size_t *ret_len);
/* Keeps a copy, if there is memory. */
void tb__kept_sums_put(tb_store *store, const tb__kept_sums_key *key, const void *answer, size_t len);
size_t tb__kept_sums_bytes(tb_store *store);

#endif
