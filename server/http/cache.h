/* Encoded answers and the bounded cache of them.
 *
 * An answer is immutable once it is shared; its gzip form is made at the first request for it and kept. Answers are
 * reference-counted: the caller of cache_get and answer_new owns a reference and releases it with answer_drop. Keys
 * hold the store's version, which every commit raises, so a hit is never stale (but of an hour's forecast: see
 * api/account_metrics.c); entries of earlier versions are not found again and are evicted in their turn. Whole keys are compared, not hashes, so that no account gets another one's
 * answer. Any thread. */
#ifndef TOLLBOOK_SERVER_HTTP_CACHE_H
#define TOLLBOOK_SERVER_HTTP_CACHE_H

#include "http/gzip.h"
#include "tollbook/buf.h"

#define CACHE_KEY_WORDS 6
typedef struct cache_key {
    uint64_t word[CACHE_KEY_WORDS];
} cache_key;

typedef struct answer answer;

#define ANSWER_MAX ((size_t)64 << 20) /* longest answer, bytes */

answer *answer_new(void); /* NULL when out of memory */
void answer_hold(answer *a);
void answer_drop(answer *a); /* NULL is fine */
/* The bytes, to be written before the answer is shared and only read afterwards. */
tb_buf *answer_body(answer *a);
/* The bytes at once, in memory of just their length. false: out of memory. */
bool answer_set(answer *a, const void *bytes, size_t len);
/* The bytes with their memory; *bytes is empty afterwards. */
void answer_take(answer *a, tb_buf *bytes);
/* The gzip form; made with gz when it is not there yet. NULL: it could not be made. */
const tb_buf *answer_gzip(answer *a, gzip *gz);

/* Objects that live with an answer, a slot for each thread and form, freed with it by drop. Only the slot's own thread
 * may touch it. NULL: out of memory; *slot NULL: nothing yet. */
void **answer_slot(answer *a, unsigned slot, unsigned n_slots, void (*drop)(void *thing));

typedef struct cache cache;

/* max_bytes 0: a cache that keeps nothing. NULL when out of memory. */
cache *cache_new(size_t max_bytes);
void cache_free(cache *c);
answer *cache_get(cache *c, const cache_key *key); /* NULL: not there */
/* Keeps the answer under the key, and evicts older ones; an answer larger than a sixteenth of the cache is not kept. */
void cache_put(cache *c, const cache_key *key, answer *a);
/* Whether cache_put would keep an answer in memory of just this length. */
bool cache_takes(const cache *c, size_t len);
size_t cache_bytes(cache *c);
size_t cache_entries(cache *c);

#endif
