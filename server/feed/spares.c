/* A stack: what was given last is taken first, being the warmest. A rollup that once held more than FEED_SPARES_BYTES
 * is not kept, so none has memory of it. */
#include "feed/spares.h"

#include <pthread.h>
#include <stdlib.h>

struct feed_spares {
    pthread_mutex_t lock;
    size_t max_groups, n;
    tb_rollup *kept[FEED_SPARES_MOST];
};

feed_spares *feed_spares_new(size_t max_groups)
{
    feed_spares *spares = calloc(1, sizeof *spares);
    if (!spares) return NULL;
    pthread_mutex_init(&spares->lock, NULL);
    spares->max_groups = max_groups;
    return spares;
}

static tb_rollup *pop(feed_spares *spares)
{
    pthread_mutex_lock(&spares->lock);
    tb_rollup *rollup = spares->n ? spares->kept[--spares->n] : NULL;
    pthread_mutex_unlock(&spares->lock);
    return rollup;
}

tb_rollup *feed_spares_take(feed_spares *spares)
{
    tb_rollup *rollup = pop(spares);
    return rollup ? rollup : tb_rollup_new(spares->max_groups, NULL);
}

void feed_spares_give(feed_spares *spares, tb_rollup *rollup)
{
    if (rollup && tb_rollup_bytes(rollup) <= FEED_SPARES_BYTES) {
        tb_rollup_clear(rollup);
        pthread_mutex_lock(&spares->lock);
        if (spares->n < FEED_SPARES_MOST) {
            spares->kept[spares->n++] = rollup;
            rollup = NULL;
        }
        pthread_mutex_unlock(&spares->lock);
    }
    tb_rollup_free(rollup);
}

void feed_spares_clear(feed_spares *spares)
{
    for (tb_rollup *rollup = pop(spares); rollup; rollup = pop(spares))
        tb_rollup_free(rollup);
}

size_t feed_spares_kept(feed_spares *spares)
{
    pthread_mutex_lock(&spares->lock);
    const size_t n = spares->n;
    pthread_mutex_unlock(&spares->lock);
    return n;
}

void feed_spares_free(feed_spares *spares)
{
    if (!spares) return;
    feed_spares_clear(spares);
    pthread_mutex_destroy(&spares->lock);
    free(spares);
}
