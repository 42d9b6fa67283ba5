/* Two stacks: what was given last is taken first, being the warmest. What once held more than FEED_SPARES_BYTES
 * is not kept, so none has memory of it. */
#include "feed/spares.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct stack {
    void *kept[FEED_SPARES_MOST];
    size_t n;
} stack;

struct feed_spares {
    pthread_mutex_t lock;
    size_t max_groups;
    stack rollups, packs;
};

feed_spares *feed_spares_new(size_t max_groups)
{
    feed_spares *spares = calloc(1, sizeof *spares);
    if (!spares) return NULL;
    pthread_mutex_init(&spares->lock, NULL);
    spares->max_groups = max_groups;
    return spares;
}

/* NULL: there is none. */
static void *pop(feed_spares *spares, stack *of)
{
    pthread_mutex_lock(&spares->lock);
    void *kept = of->n ? of->kept[--of->n] : NULL;
    pthread_mutex_unlock(&spares->lock);
    return kept;
}

/* false: there are enough. */
static bool push(feed_spares *spares, stack *of, void *kept)
{
    pthread_mutex_lock(&spares->lock);
    const bool room = of->n < FEED_SPARES_MOST;
    if (room) of->kept[of->n++] = kept;
    pthread_mutex_unlock(&spares->lock);
    return room;
}

tb_rollup *feed_spares_take(feed_spares *spares)
{
    tb_rollup *rollup = pop(spares, &spares->rollups);
    return rollup ? rollup : tb_rollup_new(spares->max_groups, NULL);
}

void feed_spares_give(feed_spares *spares, tb_rollup *rollup)
{
    const bool small = rollup && tb_rollup_bytes(rollup) <= FEED_SPARES_BYTES;
    if (small) tb_rollup_clear(rollup);
    if (!small || !push(spares, &spares->rollups, rollup)) tb_rollup_free(rollup);
}

tb_usage_pack *feed_spares_take_pack(feed_spares *spares)
{
    tb_usage_pack *pack = pop(spares, &spares->packs);
    return pack ? pack : tb_usage_pack_new();
}

void feed_spares_give_pack(feed_spares *spares, tb_usage_pack *pack)
{
    const bool small = pack && tb_usage_pack_bytes(pack) <= FEED_SPARES_BYTES;
    if (!small || !push(spares, &spares->packs, pack)) tb_usage_pack_free(pack);
}

void feed_spares_clear(feed_spares *spares)
{
    for (tb_rollup *rollup = pop(spares, &spares->rollups); rollup; rollup = pop(spares, &spares->rollups))
        tb_rollup_free(rollup);
    for (tb_usage_pack *pack = pop(spares, &spares->packs); pack; pack = pop(spares, &spares->packs))
        tb_usage_pack_free(pack);
}

size_t feed_spares_kept(feed_spares *spares)
{
    pthread_mutex_lock(&spares->lock);
    const size_t n = spares->rollups.n;
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
