/* The running hash of an input's bytes, XXH3-128, seeded with how they are to be read: the same
 * bytes under another --zone have another hash, and are found by known_options.h. Pipe logs, which say
 * everything themselves, and bucket rows have seed 0. */
#ifndef TOLLBOOK_SERVER_FEED_HASH_H
#define TOLLBOOK_SERVER_FEED_HASH_H

#include "tollbook/intake.h"
#include "tollbook/store.h"

typedef struct feed_hash feed_hash;

uint64_t feed_hash_seed(tb_batch_kind kind, const tb_log_layout *layout);
/* A number of FEED_OPTION_BITS for each of a log's format, map, zone and region, in this order from the lowest bits on: by it
 * people are told which of them differ. Never 0. */
#define FEED_OPTIONS     4
#define FEED_OPTION_BITS 15
uint64_t feed_hash_options(const tb_log_layout *layout);
feed_hash *feed_hash_new(uint64_t seed); /* NULL: out of memory */
void feed_hash_free(feed_hash *hash);
void feed_hash_add(feed_hash *hash, const char *bytes, size_t len);
void feed_hash_copy(feed_hash *to, const feed_hash *from);
tb_hash128 feed_hash_value(const feed_hash *hash); /* of the bytes so far; adding may go on */
/* What candidates are found by (tb_segment.head): the hash of the input's first line without its
 * end, of at most TB_HEAD bytes. It does not change when the input grows. */
/* heads: lines that begin with "#" are not the first one, since they are the same in every log. */
tb_hash128 feed_hash_head(uint64_t seed, bool heads, const char *bytes, size_t len);

static inline bool feed_hash_same(tb_hash128 a, tb_hash128 b)
{
    return a.high == b.high && a.low == b.low;
}

#endif
