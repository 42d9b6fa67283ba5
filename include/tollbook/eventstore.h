/* Shield events in the store: blocks (event.h) by shield zone and key, none of which overlap, so that
 * a page or an export reads what it shows. Dropped as wholes, by the UTC day, when the day is no
 * longer one of the TB_EVENT_DAYS that can be asked for.
 *
 * Events of a shield zone that is not declared are kept, and belong to its account once it is. */
#ifndef TOLLBOOK_EVENTSTORE_H
#define TOLLBOOK_EVENTSTORE_H

#include "tollbook/event.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* In the caller's transaction. refs: sorted by tb_event_ref_compare. Those that are there already
 * change nothing; *ret_added counts the others. */
TB_MUST_USE tb_code tb_store_add_events(tb_store *store, const tb_event_ref *refs, size_t n,
                                        uint64_t *ret_added, tb_error *err);
/* What tb_store_add_events would have to do with the same refs now: into how many runs they fall, each of which goes
 * into a block or becomes one, and how many bytes the blocks that are there have. 0 where usage lies on servers. */
TB_MUST_USE tb_code tb_store_find_events(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs,
                                         size_t *ret_bytes, tb_error *err);
/* Drops the days that are over, in the caller's transaction. */
TB_MUST_USE tb_code tb_store_drop_events(tb_store *store, int64_t now_ms, uint64_t *ret_dropped,
                                         tb_error *err);

/* TB_E_SHIELD_NOT_FOUND where it is not a shield zone of the account. */
TB_MUST_USE tb_code tb_store_shield_check(tb_store *store, int64_t account, int64_t zone,
                                          tb_error *err);

/* Calls for each shield zone that the account has now, ascending by id, from the skip-th on, `limit` at most.
 * pull_zone 0: none was declared. name: "" where it has none; it lives until the call returns. */
typedef void (*tb_shield_zone_fn)(void *ctx, int64_t id, int64_t pull_zone, tb_text name);
typedef struct tb_shield_page {
    int64_t account, skip, limit;
} tb_shield_page;
TB_MUST_USE tb_code tb_store_shield_zones(tb_store *store, const tb_shield_page *page, tb_shield_zone_fn each,
                                          void *ctx, tb_error *err);
TB_MUST_USE tb_code tb_store_count_shield_zones(tb_store *store, int64_t account, int64_t *ret_n,
                                                tb_error *err);

/* A block on the way; its first and last records may lie beyond what was asked for. true: go on. */
typedef bool (*tb_event_block_fn)(void *ctx, const void *block, size_t len);
/* Blocks of a zone with keys from `from` on, ascending. */
TB_MUST_USE tb_code tb_store_events_up(tb_store *store, int64_t zone, const tb_event_key *from,
                                       tb_event_block_fn fn, void *ctx, tb_error *err);
/* Blocks of a zone with keys up to `to`, descending. */
TB_MUST_USE tb_code tb_store_events_down(tb_store *store, int64_t zone, const tb_event_key *to,
                                         tb_event_block_fn fn, void *ctx, tb_error *err);

/* The database's own secret for tokens; where it has none yet, `random` becomes it, in a transaction
 * of its own. The writer. */
TB_MUST_USE tb_code tb_store_event_secret(tb_store *store, const uint8_t random[TB_EVENT_SECRET],
                                          uint8_t ret_secret[TB_EVENT_SECRET], tb_error *err);

TB_API_END

#endif
