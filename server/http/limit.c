/* A fixed table of buckets by account, in sets of eight: in a full set the account not seen for longest loses its
 * bucket, which was most likely full again. So memory is bounded, whatever accounts there are. Tokens are counted in
 * millionths: a bucket gains per_second of them each microsecond. */
#include "http/limit.h"

#include <pthread.h>
#include <stdlib.h>

#define SETS 1024
#define WAYS 8
#define TOKEN INT64_C(1000000)

typedef struct bucket {
    int64_t account, tokens, seen_us;
    bool used;
} bucket;

typedef struct set {
    pthread_mutex_t lock;
    bucket ways[WAYS];
} set;

struct limit {
    int64_t per_second, full;
    set sets[SETS];
};

limit *limit_new(uint32_t per_second)
{
    limit *l = calloc(1, sizeof *l);
    if (!l) return NULL;
    l->per_second = per_second > 0 ? per_second : 1;
    l->full = l->per_second * TOKEN;
    for (int i = 0; i < SETS; i++)
        pthread_mutex_init(&l->sets[i].lock, NULL);
    return l;
}

void limit_free(limit *l)
{
    if (!l) return;
    for (int i = 0; i < SETS; i++)
        pthread_mutex_destroy(&l->sets[i].lock);
    free(l);
}

bool limit_take(limit *l, int64_t account, int64_t mono_us, unsigned *ret_wait_s)
{
    set *s = &l->sets[((uint64_t)account * UINT64_C(0x9E3779B97F4A7C15)) >> 54];
    pthread_mutex_lock(&s->lock);
    bucket *b = NULL, *oldest = &s->ways[0];
    for (int i = 0; i < WAYS && !b; i++) {
        bucket *way = &s->ways[i];
        if (way->used && way->account == account) b = way;
        if (!way->used || (oldest->used && way->seen_us < oldest->seen_us)) oldest = way;
    }
    if (!b) {
        b = oldest;
        *b = (bucket){account, l->full, mono_us, true};
    }
    int64_t passed = mono_us - b->seen_us;
    if (passed > 0) {
        b->seen_us = mono_us;
        if (passed > TOKEN) passed = TOKEN; /* one second fills it */
        b->tokens += passed * l->per_second;
        if (b->tokens > l->full) b->tokens = l->full;
    }
    bool given = b->tokens >= TOKEN;
    if (given) b->tokens -= TOKEN;
    pthread_mutex_unlock(&s->lock);
    if (!given) *ret_wait_s = 1; /* a bucket gains at least one token a second */
    return given;
}
