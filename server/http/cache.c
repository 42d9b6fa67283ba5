/* Sixteen shards, each with a mutex, hash chains and a list in order of arrival. Eviction is CLOCK ("second chance"):
 * the oldest entry leaves, unless it was used, and then becomes the newest. So a hit writes to its own entry only, not
 * to two list neighbours that are in no processor's cache. Memory is freed outside the lock. The gzip form is charged
 * beforehand at an eighth of the body, about what these answers compress to. */
#include "http/cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define SHARDS 16
#define CHAINS 1024

typedef struct slots {
    unsigned n;
    void (*drop)(void *thing);
    void *thing[];
} slots;

struct answer {
    atomic_uint refs;
    tb_buf body;
    _Atomic(tb_buf *) gzip;
    _Atomic(slots *) slots;
};

typedef struct entry {
    struct entry *chain, *newer, *older;
    cache_key key;
    uint64_t hash;
    answer *answer;
    size_t charge;
    bool used; /* since it last became the newest */
} entry;

typedef struct shard {
    pthread_mutex_t lock;
    entry *chains[CHAINS];
    entry *newest, *oldest;
    size_t bytes, entries;
} shard;

struct cache {
    size_t shard_max;
    shard shards[SHARDS];
};

answer *answer_new(void)
{
    answer *a = calloc(1, sizeof *a);
    if (!a) return NULL;
    atomic_init(&a->refs, 1);
    tb_buf_init(&a->body, ANSWER_MAX, NULL);
    return a;
}

void answer_hold(answer *a)
{
    atomic_fetch_add_explicit(&a->refs, 1, memory_order_relaxed);
}

static void free_slots(slots *p)
{
    for (unsigned i = 0; p && i < p->n; i++)
        if (p->thing[i]) p->drop(p->thing[i]);
    free(p);
}

void answer_drop(answer *a)
{
    if (!a || atomic_fetch_sub_explicit(&a->refs, 1, memory_order_acq_rel) != 1) return;
    free_slots(atomic_load_explicit(&a->slots, memory_order_acquire));
    tb_buf *gz = atomic_load_explicit(&a->gzip, memory_order_acquire);
    if (gz) tb_buf_release(gz);
    free(gz);
    tb_buf_release(&a->body);
    free(a);
}

tb_buf *answer_body(answer *a)
{
    return &a->body;
}

bool answer_set(answer *a, const void *bytes, size_t len)
{
    char *data = tb_alloc_resize(a->body.alloc, NULL, 0, len);
    if (!data) return false;
    tb_buf_release(&a->body);
    memcpy(data, bytes, len);
    a->body.data = data;
    a->body.len = a->body.cap = len;
    return true;
}

void answer_take(answer *a, tb_buf *bytes)
{
    tb_buf_release(&a->body);
    a->body = *bytes;
    tb_buf_init(bytes, bytes->max, bytes->alloc);
}

const tb_buf *answer_gzip(answer *a, gzip *gz)
{
    tb_buf *have = atomic_load_explicit(&a->gzip, memory_order_acquire);
    if (have) return have;
    tb_buf *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    tb_buf_init(made, ANSWER_MAX * 2, NULL);
    if (gzip_encode(gz, a->body.data, a->body.len, made, NULL) != TB_OK) {
        tb_buf_release(made);
        free(made);
        return NULL;
    }
    if (atomic_compare_exchange_strong(&a->gzip, &have, made)) return made;
    tb_buf_release(made); /* another thread was first */
    free(made);
    return have;
}

void **answer_slot(answer *a, unsigned slot, unsigned n_slots, void (*drop)(void *thing))
{
    slots *have = atomic_load_explicit(&a->slots, memory_order_acquire);
    if (have) return &have->thing[slot];
    slots *made = calloc(1, sizeof *made + n_slots * sizeof made->thing[0]);
    if (!made) return NULL;
    made->n = n_slots;
    made->drop = drop;
    if (atomic_compare_exchange_strong(&a->slots, &have, made)) return &made->thing[slot];
    free(made); /* another thread was first */
    return &have->thing[slot];
}

cache *cache_new(size_t max_bytes)
{
    cache *c = calloc(1, sizeof *c);
    if (!c) return NULL;
    c->shard_max = max_bytes / SHARDS;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&c->shards[i].lock, NULL);
    return c;
}

static void free_entry(entry *e)
{
    answer_drop(e->answer);
    free(e);
}

void cache_free(cache *c)
{
    if (!c) return;
    for (int i = 0; i < SHARDS; i++) {
        for (entry *e = c->shards[i].newest, *next; e; e = next) {
            next = e->older;
            free_entry(e);
        }
        pthread_mutex_destroy(&c->shards[i].lock);
    }
    free(c);
}

static uint64_t hash_key(const cache_key *key)
{
    return XXH3_64bits(key, sizeof *key);
}

static entry **chain_of(shard *s, uint64_t hash)
{
    return &s->chains[(hash >> 8) % CHAINS];
}

static entry *find_entry(shard *s, const cache_key *key, uint64_t hash)
{
    entry *e = *chain_of(s, hash);
    while (e && (e->hash != hash || memcmp(&e->key, key, sizeof *key) != 0))
        e = e->chain;
    return e;
}

static void unlink_entry(shard *s, entry *e)
{
    *(e->newer ? &e->newer->older : &s->newest) = e->older;
    *(e->older ? &e->older->newer : &s->oldest) = e->newer;
}

static void make_newest(shard *s, entry *e)
{
    e->newer = NULL;
    e->older = s->newest;
    *(s->newest ? &s->newest->newer : &s->oldest) = e;
    s->newest = e;
}

answer *cache_get(cache *c, const cache_key *key)
{
    if (c->shard_max == 0) return NULL;
    uint64_t hash = hash_key(key);
    shard *s = &c->shards[hash % SHARDS];
    pthread_mutex_lock(&s->lock);
    entry *e = find_entry(s, key, hash);
    answer *a = e ? e->answer : NULL;
    if (e) {
        answer_hold(a);
        e->used = true;
    }
    pthread_mutex_unlock(&s->lock);
    return a;
}

/* Removes the oldest entry that was not used since it became the newest; the caller frees it. */
static entry *detach_oldest(shard *s)
{
    entry *e = s->oldest;
    for (; e->used; e = s->oldest) {
        e->used = false;
        unlink_entry(s, e);
        make_newest(s, e);
    }
    entry **at = chain_of(s, e->hash);
    while (*at != e)
        at = &(*at)->chain;
    *at = e->chain;
    unlink_entry(s, e);
    s->bytes -= e->charge;
    s->entries--;
    return e;
}

/* The bytes that an answer in memory of this size counts for. */
static size_t charge_of(size_t cap)
{
    return cap + cap / 8 + sizeof(entry) + sizeof(answer);
}

bool cache_takes(const cache *c, size_t len)
{
    return charge_of(len) <= c->shard_max;
}

void cache_put(cache *c, const cache_key *key, answer *a)
{
    size_t charge = charge_of(a->body.cap);
    if (charge > c->shard_max) return;
    entry *e = calloc(1, sizeof *e), *gone = NULL;
    if (!e) return;
    answer_hold(a);
    e->key = *key;
    e->hash = hash_key(key);
    e->answer = a;
    e->charge = charge;
    shard *s = &c->shards[e->hash % SHARDS];
    pthread_mutex_lock(&s->lock);
    if (find_entry(s, key, e->hash)) {
        gone = e; /* two workers answered the same at once: the first one's stays */
    } else {
        while (s->bytes + charge > c->shard_max) {
            entry *old = detach_oldest(s);
            old->chain = gone;
            gone = old;
        }
        entry **chain = chain_of(s, e->hash);
        e->chain = *chain;
        *chain = e;
        make_newest(s, e);
        s->bytes += e->charge;
        s->entries++;
    }
    pthread_mutex_unlock(&s->lock);
    for (entry *next; gone; gone = next) {
        next = gone->chain;
        free_entry(gone);
    }
}

static size_t sum_shards(cache *c, bool bytes)
{
    size_t sum = 0;
    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&c->shards[i].lock);
        sum += bytes ? c->shards[i].bytes : c->shards[i].entries;
        pthread_mutex_unlock(&c->shards[i].lock);
    }
    return sum;
}

size_t cache_bytes(cache *c)
{
    return sum_shards(c, true);
}

size_t cache_entries(cache *c)
{
    return sum_shards(c, false);
}
