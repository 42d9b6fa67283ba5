/* An LRU cache of owners' days, shared by all readers of a process: encoded entries, bounded in bytes. Any thread.
 *
 * An entry is one owner's day, or the hours of it, of one location or of all locations. It names the newest batch that added to
 * that day, for any owner. Batches are committed in the order of their ids and never change. So two snapshots that agree on the
 * newest batch of a day see the same batches in it, and an entry is valid for every reader whose snapshot names the same batch,
 * whether older or newer than the snapshot that the entry was read in. Rows that something other than tollbook sent twice count
 * twice until a compaction of the month repairs that (compact.c): so the last repair must be the same too. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_CACHE_H
#define TOLLBOOK_STORE_CLICKHOUSE_CACHE_H

#include "tollbook/buf.h"

typedef struct tb__ch_cache tb__ch_cache;

typedef struct tb__ch_cache_key {
    int64_t owner;
    uint32_t edge; /* 0: all locations */
    int32_t index; /* day since 1970 */
    uint8_t scope, grain; /* TB__GRAIN_HOURS, TB__GRAIN_DAYS */
} tb__ch_cache_key;

/* As of a snapshot: the newest batch of a day, and the last compaction that repaired its month (0: none). Both only grow. */
typedef struct tb__ch_as_of {
    int64_t newest, mended;
} tb__ch_as_of;

/* NULL: no memory. */
tb__ch_cache *tb__ch_cache_new(size_t bytes_max);
void tb__ch_cache_free(tb__ch_cache *cache); /* NULL is fine */
/* Sets the limit in bytes for later entries; NULL is fine. */
void tb__ch_cache_bound(tb__ch_cache *cache, size_t bytes_max);
/* True: `out` was set to the entry's bytes. */
bool tb__ch_cache_get(tb__ch_cache *cache, tb__ch_cache_key key, tb__ch_as_of as_of, tb_buf *out);
/* Replaces an entry, unless that one is newer. Does nothing without memory, or if the entry is a quarter of the cache or more. */
void tb__ch_cache_put(tb__ch_cache *cache, tb__ch_cache_key key, tb__ch_as_of as_of, const void *data, size_t len);
/* Records that rows of a month below a batch will be dropped (compact.c). Call before they are. false: no memory. */
bool tb__ch_cache_drop(tb__ch_cache *cache, int64_t month, int64_t batch);
size_t tb__ch_cache_dropped(tb__ch_cache *cache); /* months */
void tb__ch_cache_dropped_at(tb__ch_cache *cache, size_t at, int64_t *ret_month, int64_t *ret_batch);
/* Whether the process's writer found the right shard. Until it checks, all are taken to be right. */
void tb__ch_cache_seen(tb__ch_cache *cache, size_t shard, bool good);
bool tb__ch_cache_saw(tb__ch_cache *cache, size_t shard);
/* Another process writes now: this one sends no more statements (claim.c). Cannot be undone; NULL is fine. */
void tb__ch_cache_fence(tb__ch_cache *cache);
bool tb__ch_cache_fenced(tb__ch_cache *cache);
size_t tb__ch_cache_bytes(tb__ch_cache *cache);

#endif
