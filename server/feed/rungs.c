#include "feed/rungs.h"

#include "feed/hash.h"

static void pass(feed_rungs *rungs, uint64_t at)
{
    while (rungs->next <= at && rungs->next <= UINT64_MAX / 4)
        rungs->next *= 2;
}

void feed_rungs_add(feed_rungs *rungs, uint64_t at, tb_hash128 hash)
{
    rungs->own[rungs->n_own++] = (tb_rung){at, hash};
    pass(rungs, at);
}

void feed_rungs_drop(feed_rungs *rungs, uint64_t at)
{
    while (rungs->n_own > 0 && rungs->own[rungs->n_own - 1].length > at)
        rungs->n_own--;
    rungs->next = FEED_RUNG_FIRST;
    if (rungs->n_own > 0) pass(rungs, rungs->own[rungs->n_own - 1].length);
}

bool feed_rungs_know(const feed_rungs *rungs, const tb_rung *rung)
{
    for (size_t i = 0; i < rungs->n_known; i++) {
        const tb_rung *one = &rungs->known[i];
        if (one->length == rung->length && feed_hash_same(one->hash, rung->hash)) return true;
    }
    return false;
}

size_t feed_rungs_between(const feed_rungs *rungs, uint64_t start, uint64_t end, const tb_rung **ret_rungs)
{
    size_t from = 0, to = rungs->n_own;
    while (from < to && rungs->own[from].length <= start)
        from++;
    while (to > from && rungs->own[to - 1].length > end)
        to--;
    *ret_rungs = rungs->own + from;
    return to - from;
}
