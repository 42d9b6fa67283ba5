/* Usage packs: what a small batch adds to the store's counters, made ready on any thread.
 *
 * The store has one writer. What it would do for each day of a batch, and could do without the file, is
 * done here by whoever parsed the batch: days are put in order, written as the entries that wait in the
 * file, and added up for their zones' and accounts' own places. The writer then only finds the places. */
#ifndef TOLLBOOK_USAGEPACK_H
#define TOLLBOOK_USAGEPACK_H

#include "tollbook/logstore.h"
#include "tollbook/rollup.h"

TB_API_BEGIN

/* More groups than so many (tb_rollup_groups) are not worth packing: a large batch goes to its places
 * itself, and its memory would be needed twice. */
#define TB_PACK_GROUPS ((size_t)1 << 14)

typedef struct tb_usage_pack tb_usage_pack;
tb_usage_pack *tb_usage_pack_new(void); /* empty; NULL when out of memory */
void tb_usage_pack_free(tb_usage_pack *pack); /* NULL is fine */
/* Replaces what the pack holds by what the parts hold; its memory is used again. zones: whose account each zone
 * is (tb_directory.ever_logged; NULL: none has one). TB_E_OVERFLOW: a sum is too large; tb_store_add_usage of the
 * same says which one. */
TB_MUST_USE tb_code tb_usage_pack_fill(tb_usage_pack *pack, tb_rollup *const *parts, size_t n,
                                       const tb_logged_zones *zones, tb_error *err);

/* false: usage lies where only tb_store_add_usage can add to it. */
bool tb_store_takes_packs(const tb_store *store);
/* Adds what the pack holds: the same as tb_store_add_usage of a cursor over its parts. *ret_stale: a zone has another
 * account than the pack was made by, and nothing was added. */
TB_MUST_USE tb_code tb_store_add_packed(tb_store *store, const tb_usage_pack *pack, bool *ret_stale,
                                        tb_error *err);
/* In a transaction of several batches, never within a mark: whether those that follow are gathered. What they add is
 * written as if they were one batch: at the COMMIT, or where this is called with false before. Nobody may read
 * usage until then, but for batches themselves; marks, and going back to one, are as ever. Where usage lies elsewhere
 * than in the file this changes nothing. An error: the transaction must be rolled back. */
TB_MUST_USE tb_code tb_store_gather(tb_store *store, bool gathers, tb_error *err);

TB_API_END

#endif
