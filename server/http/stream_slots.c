/* The holders of places, in no order: few enough to count each time. */
#include "http/places.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct holder {
    int64_t account;
    size_t bytes;
} holder;

struct places {
    pthread_mutex_t lock;
    unsigned n;
    holder holders[PLACES_MAX];
};

places *places_new(void)
{
    places *p = calloc(1, sizeof *p);
    if (p) pthread_mutex_init(&p->lock, NULL);
    return p;
}

void places_free(places *p)
{
    if (!p) return;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

static unsigned count(const places *p, int64_t account)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n; i++)
        n += p->holders[i].account == account;
    return n;
}

tb_code places_take(places *p, int64_t account, tb_error *err)
{
    pthread_mutex_lock(&p->lock);
    const bool full = p->n == PLACES_MAX, shared_out = count(p, account) == PLACES_SHARE;
    if (!full && !shared_out) p->holders[p->n++] = (holder){account, 0};
    pthread_mutex_unlock(&p->lock);
    if (full)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL, "Too many answers are being read at once.");
    if (shared_out)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL,
                       "Too many answers of this account are being read at once (%d).",
                       PLACES_SHARE);
    return TB_OK;
}

/* An account's place that holds so much; NULL: it has none. */
static holder *find_holder(places *p, int64_t account, size_t bytes)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->holders[i].account == account && p->holders[i].bytes == bytes) return &p->holders[i];
    return NULL;
}

static size_t held_by(const places *p, int64_t account)
{
    size_t sum = 0;
    for (unsigned i = 0; i < p->n; i++)
        if (p->holders[i].account == account) sum += p->holders[i].bytes;
    return sum;
}

tb_code places_hold(places *p, int64_t account, size_t bytes, tb_error *err)
{
    pthread_mutex_lock(&p->lock);
    const size_t others = held_by(p, account);
    const bool fits = others == 0 || (bytes <= PLACES_BYTES && others <= PLACES_BYTES - bytes);
    holder *own = fits ? find_holder(p, account, 0) : NULL;
    if (own) own->bytes = bytes;
    pthread_mutex_unlock(&p->lock);
    if (fits) return TB_OK;
    return tb_fail(err, TB_E_RATE_LIMITED, NULL,
                   "The answers of this account that are being read hold too much memory for one "
                   "more. Read them to their end first.");
}

void places_give(places *p, int64_t account, size_t bytes)
{
    pthread_mutex_lock(&p->lock);
    holder *own = find_holder(p, account, bytes);
    if (own) *own = p->holders[--p->n];
    pthread_mutex_unlock(&p->lock);
}
