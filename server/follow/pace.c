/* Exponential backoff with jitter, so that a thousand followers do not all reconnect at once when a server comes back.
 * A clock that jumps costs at most one wait: a time further ahead than any wait can be counts as past. */
#include "follow/pace.h"

#define DOUBLINGS_MAX 6 /* PACE_FIRST_MS doubled so often is past PACE_MOST_MS */

/* Milliseconds until then; 0 if it is past, or further ahead than a wait can be. */
static int64_t left(int64_t until_ms, int64_t now_ms, int64_t most_ms)
{
    int64_t ms = until_ms - now_ms;
    return ms > 0 && ms <= most_ms ? ms : 0;
}

bool pace_full(pace *p, int64_t now_ms)
{
    if (left(p->full_ms, now_ms, p->every_ms) > 0) return false;
    p->full_ms = now_ms + p->every_ms;
    return true;
}

bool pace_free(const pace *p, int64_t now_ms)
{
    return left(p->free_ms, now_ms, p->wait_ms) == 0;
}

void pace_failed(pace *p, int64_t now_ms, int64_t retry_after_ms, uint32_t chance)
{
    unsigned doublings = p->failures < DOUBLINGS_MAX ? p->failures : DOUBLINGS_MAX;
    int64_t most = (int64_t)PACE_FIRST_MS << doublings;
    if (most > PACE_MOST_MS) most = PACE_MOST_MS;
    int64_t part = (int64_t)(((uint64_t)most / 2 * chance) >> 32);
    int64_t wait = most / 2 + part;
    if (wait < retry_after_ms) wait = retry_after_ms + part;
    p->failures++;
    p->free_ms = now_ms + wait;
    p->wait_ms = wait;
}

void pace_done(pace *p)
{
    p->failures = 0;
    p->free_ms = p->wait_ms = 0;
}

int64_t pace_wait(const pace *p, int64_t now_ms)
{
    int64_t wait = left(p->full_ms, now_ms, p->every_ms);
    int64_t until_free = left(p->free_ms, now_ms, p->wait_ms);
    if (until_free > 0) return until_free < p->every_ms ? until_free : p->every_ms;
    return wait < PACE_LOOK_MS ? wait : PACE_LOOK_MS;
}
