/* What all readers of a process remember of an owner's days: encoded, bounded in bytes, the least recently used
 * goes first. Any thread.
 *
 * An entry is one owner's hours of a day, or a day, of one location or of all, and says which batch was the newest that added to that
 * time, of any owner. Batches are committed in the order of their ids and never change. So two snapshots that agree
 * on the newest batch of a day see the same batches in it, and an entry is good for a reader whose snapshot names
 * the same one, be it older or newer than the one it was read in. Where something else than tollbook has sent rows again they are
 * counted twice until a fold of the month mends that (compact.c): so both must know the same mending, too. */
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

/* Of a snapshot: the newest batch of a day, and the last fold that mended its month (0: none). Both only grow. */
typedef struct tb__ch_as_of {
    int64_t newest, mended;
} tb__ch_as_of;

/* NULL: no memory. */
tb__ch_cache *tb__ch_cache_new(size_t bytes_max);
void tb__ch_cache_free(tb__ch_cache *cache); /* NULL is fine */
/* What is remembered from here on fits into so many bytes; NULL is fine. */
void tb__ch_cache_bound(tb__ch_cache *cache, size_t bytes_max);
/* True: `out` was set to the entry's bytes. */
bool tb__ch_cache_get(tb__ch_cache *cache, tb__ch_cache_key key, tb__ch_as_of as_of, tb_buf *out);
/* Replaces what is there, unless that is newer. Without memory, or where an entry is a quarter of the cache or more,
 * nothing is remembered. */
void tb__ch_cache_put(tb__ch_cache *cache, tb__ch_cache_key key, tb__ch_as_of as_of, const void *data, size_t len);
/* From which month rows below a batch go, and since when that was known (compact.c). Before they go. false: no memory. */
bool tb__ch_cache_drop(tb__ch_cache *cache, int64_t month, int64_t batch);
size_t tb__ch_cache_dropped(tb__ch_cache *cache); /* months */
void tb__ch_cache_dropped_at(tb__ch_cache *cache, size_t at, int64_t *ret_month, int64_t *ret_batch);
/* Whether a shard is what it should be, as the process's writer has seen. Until it looks they are taken for it. */
void tb__ch_cache_seen(tb__ch_cache *cache, size_t shard, bool good);
bool tb__ch_cache_saw(tb__ch_cache *cache, size_t shard);
/* Another process writes now: nothing is asked of servers any more (claim.c). For good; NULL is fine. */
void tb__ch_cache_fence(tb__ch_cache *cache);
bool tb__ch_cache_fenced(tb__ch_cache *cache);
size_t tb__ch_cache_bytes(tb__ch_cache *cache);

#endif
