/* When the next round is, and when whoever did not take the last piece is asked again. Time and
 * chance come in as values: a monotonic clock's milliseconds, and 32 random bits. */
#ifndef TOLLBOOK_SERVER_FOLLOW_PACE_H
#define TOLLBOOK_SERVER_FOLLOW_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define PACE_FIRST_MS 500   /* the first wait after a failure is at most this */
#define PACE_MOST_MS  20000 /* and none is longer, unless more was asked for: who was away is caught up with within half a minute */
#define PACE_LOOK_MS  250   /* between two rounds: how soon many bytes are seen */

typedef struct pace {
    int64_t every_ms;
    int64_t full_ms;   /* when all that is new is due */
    int64_t free_ms;   /* nobody is asked before */
    int64_t wait_ms;   /* how long that was from the failure on; 0: at any time */
    unsigned failures; /* one after another */
} pace;

/* Whether everything that is new is due; the next time is every_ms later. */
bool pace_full(pace *p, int64_t now_ms);
/* Whether somebody may be asked. */
bool pace_free(const pace *p, int64_t now_ms);
/* It failed: waits twice as long as the last time, between half of it and all of it, and never
 * shorter than retry_after_ms. */
void pace_failed(pace *p, int64_t now_ms, int64_t retry_after_ms, uint32_t chance);
void pace_done(pace *p);
/* Milliseconds until the next round, from 0 to every_ms. */
int64_t pace_wait(const pace *p, int64_t now_ms);

#endif
