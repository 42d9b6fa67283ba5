/* A hash table with chains, and a ring of all entries by last use. One lock: an entry is copied under it and decoded
 * outside. */
#include "store/clickhouse/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 16    /* of 64 shards. More shards share bits: one that is not reachable then counts for the others too */
#define SLOTS 65536 /* half a MiB; an entry is some hundred bytes */

typedef struct entry {
    struct entry *next;          /* in its slot's chain */
    struct entry *newer, *older; /* of the ring */
    tb__ch_cache_key key;
    tb__ch_as_of as_of;
    size_t len;
    char data[];
} entry;

struct tb__ch_cache {
    pthread_mutex_t lock;
    size_t bytes, bytes_max;
    struct dropped {
        int64_t month, batch;
    } *dropped; /* it only grows */
    size_t n_dropped;
    _Atomic uint64_t unseen[WORDS]; /* a bit for each shard */
    _Atomic bool fenced;
    entry ring; /* ring.older: the one used last, ring.newer: the one to go first */
    entry *slot[SLOTS];
};

tb__ch_cache *tb__ch_cache_new(size_t bytes_max)
{
    tb__ch_cache *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->bytes_max = bytes_max;
    c->ring.newer = c->ring.older = &c->ring;
    return c;
}

void tb__ch_cache_bound(tb__ch_cache *c, size_t bytes_max)
{
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->bytes_max = bytes_max;
    pthread_mutex_unlock(&c->lock);
}

static entry **slot_of(tb__ch_cache *c, tb__ch_cache_key k)
{
    uint64_t h = ((uint64_t)k.owner * 8 + (uint64_t)k.scope * 2 + k.grain) * UINT64_C(0x9E3779B97F4A7C15);
    h ^= (uint64_t)k.edge << 32;
    h = (h ^ (h >> 29) ^ (uint64_t)(uint32_t)k.index) * UINT64_C(0xBF58476D1CE4E5B9);
    return &c->slot[(h >> 32) % SLOTS];
}

static entry **find(tb__ch_cache *c, tb__ch_cache_key k)
{
    entry **at = slot_of(c, k);
    while (*at && ((*at)->key.owner != k.owner || (*at)->key.index != k.index || (*at)->key.scope != k.scope ||
                   (*at)->key.grain != k.grain || (*at)->key.edge != k.edge))
        at = &(*at)->next;
    return at;
}

static void unlink_entry(entry *e)
{
    e->newer->older = e->older;
    e->older->newer = e->newer;
}

static void link_newest(tb__ch_cache *c, entry *e)
{
    e->newer = &c->ring;
    e->older = c->ring.older;
    c->ring.older->newer = e;
    c->ring.older = e;
}

static void drop_at(tb__ch_cache *c, entry **at)
{
    entry *e = *at;
    *at = e->next;
    unlink_entry(e);
    c->bytes -= sizeof *e + e->len;
    free(e);
}

void tb__ch_cache_free(tb__ch_cache *c)
{
    if (!c) return;
    while (c->ring.newer != &c->ring)
        drop_at(c, find(c, c->ring.newer->key));
    pthread_mutex_destroy(&c->lock);
    free(c->dropped);
    free(c);
}

bool tb__ch_cache_get(tb__ch_cache *c, tb__ch_cache_key key, tb__ch_as_of as_of, tb_buf *out)
{
    pthread_mutex_lock(&c->lock);
    entry *e = *find(c, key);
    const bool good = e && e->as_of.newest == as_of.newest && e->as_of.mended == as_of.mended;
    if (good) {
        out->len = 0;
        tb_buf_add(out, e->data, e->len);
        unlink_entry(e);
        link_newest(c, e);
    }
    pthread_mutex_unlock(&c->lock);
    return good && !out->failed;
}

void tb__ch_cache_put(tb__ch_cache *c, tb__ch_cache_key key, tb__ch_as_of as_of, const void *data, size_t len)
{
    const size_t size = sizeof(entry) + len;
    pthread_mutex_lock(&c->lock);
    const bool fits = size < c->bytes_max / 4;
    pthread_mutex_unlock(&c->lock);
    entry *e = fits ? malloc(size) : NULL;
    if (!e) return;
    *e = (entry){.key = key, .as_of = as_of, .len = len};
    if (len) memcpy(e->data, data, len);
    pthread_mutex_lock(&c->lock);
    entry **at = find(c, key);
    const tb__ch_as_of old = *at ? (*at)->as_of : as_of;
    if (old.newest > as_of.newest || (old.newest == as_of.newest && old.mended > as_of.mended)) {
        free(e); /* a reader of an older snapshot */
    } else {
        if (*at) drop_at(c, at);
        while (c->bytes && c->bytes + size > c->bytes_max)
            drop_at(c, find(c, c->ring.newer->key));
        at = slot_of(c, key);
        e->next = *at;
        *at = e;
        link_newest(c, e);
        c->bytes += size;
    }
    pthread_mutex_unlock(&c->lock);
}

bool tb__ch_cache_drop(tb__ch_cache *c, int64_t month, int64_t batch)
{
    size_t at = 0;
    pthread_mutex_lock(&c->lock);
    while (at < c->n_dropped && c->dropped[at].month != month)
        at++;
    struct dropped *more = at < c->n_dropped ? c->dropped : realloc(c->dropped, (at + 1) * sizeof *more);
    if (more) {
        more[at] = (struct dropped){month, batch};
        c->dropped = more;
        if (at == c->n_dropped) c->n_dropped++;
    }
    pthread_mutex_unlock(&c->lock);
    return more != NULL;
}

size_t tb__ch_cache_dropped(tb__ch_cache *c)
{
    pthread_mutex_lock(&c->lock);
    const size_t n = c->n_dropped;
    pthread_mutex_unlock(&c->lock);
    return n;
}

void tb__ch_cache_dropped_at(tb__ch_cache *c, size_t at, int64_t *ret_month, int64_t *ret_batch)
{
    pthread_mutex_lock(&c->lock);
    *ret_month = c->dropped[at].month;
    *ret_batch = c->dropped[at].batch;
    pthread_mutex_unlock(&c->lock);
}

void tb__ch_cache_seen(tb__ch_cache *c, size_t shard, bool good)
{
    const uint64_t bit = UINT64_C(1) << shard % 64;
    if (good) atomic_fetch_and(&c->unseen[shard / 64 % WORDS], ~bit);
    else atomic_fetch_or(&c->unseen[shard / 64 % WORDS], bit);
}

bool tb__ch_cache_saw(tb__ch_cache *c, size_t shard)
{
    return !(atomic_load(&c->unseen[shard / 64 % WORDS]) >> shard % 64 & 1);
}

void tb__ch_cache_fence(tb__ch_cache *c)
{
    if (c) atomic_store(&c->fenced, true);
}

bool tb__ch_cache_fenced(tb__ch_cache *c)
{
    return c && atomic_load(&c->fenced);
}

size_t tb__ch_cache_bytes(tb__ch_cache *c)
{
    pthread_mutex_lock(&c->lock);
    const size_t bytes = c->bytes;
    pthread_mutex_unlock(&c->lock);
    return bytes;
}
