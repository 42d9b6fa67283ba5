/* The accounts that hold a place, in no order: few enough to be counted anew each time. */
#include "http/places.h"

#include <pthread.h>
#include <stdlib.h>

struct places {
    pthread_mutex_t lock;
    unsigned n;
    int64_t holder[PLACES_MAX];
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
        n += p->holder[i] == account;
    return n;
}

tb_code places_take(places *p, int64_t account, tb_error *err)
{
    pthread_mutex_lock(&p->lock);
    const bool full = p->n == PLACES_MAX, shared_out = count(p, account) == PLACES_SHARE;
    if (!full && !shared_out) p->holder[p->n++] = account;
    pthread_mutex_unlock(&p->lock);
    if (full)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL, "Too many answers are being read at once.");
    if (shared_out)
        return tb_fail(err, TB_E_RATE_LIMITED, NULL,
                       "Too many answers of this account are being read at once (%d).",
                       PLACES_SHARE);
    return TB_OK;
}

void places_give(places *p, int64_t account)
{
    pthread_mutex_lock(&p->lock);
    for (unsigned i = 0; i < p->n; i++) {
        if (p->holder[i] != account) continue;
        p->holder[i] = p->holder[--p->n];
        break;
    }
    pthread_mutex_unlock(&p->lock);
}
