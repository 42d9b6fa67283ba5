/* When the next round is, and when a sink that failed is tried again. Time and chance are parameters: milliseconds of a
 * monotonic clock, and 32 random bits. */
#ifndef TOLLBOOK_SERVER_FOLLOW_PACE_H
#define TOLLBOOK_SERVER_FOLLOW_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_FIRST_MS 500   /* the first wait after a failure is at most this */
#define PACE_MOST_MS  20000 /* the longest wait, unless the sink asks for more */
#define PACE_LOOK_MS  250   /* between two rounds: how soon a fast log is noticed */

typedef struct pace {
    int64_t every_ms;
    int64_t full_ms;   /* when all new bytes are due */
    int64_t free_ms;   /* the sink is not tried before */
    int64_t wait_ms;   /* the wait since the failure; 0: none */
    unsigned failures; /* one after another */
} pace;

/* Whether all new bytes are due; the next time is every_ms later. */
bool pace_full(pace *p, int64_t now_ms);
/* Whether the sink may be tried. */
bool pace_free(const pace *p, int64_t now_ms);
/* The sink failed: the wait doubles, is random between half and all of that, and never shorter than retry_after_ms. */
void pace_failed(pace *p, int64_t now_ms, int64_t retry_after_ms, uint32_t chance);
void pace_done(pace *p);
/* Milliseconds until the next round, from 0 to every_ms. */
int64_t pace_wait(const pace *p, int64_t now_ms);

#endif
