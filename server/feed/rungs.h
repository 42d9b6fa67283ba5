/* An input's rungs (tollbook/store.h), as its bytes pass, beside those of the known logs with its head. */
#ifndef TOLLBOOK_SERVER_FEED_RUNGS_H
#define TOLLBOOK_SERVER_FEED_RUNGS_H

#include "tollbook/store.h"

#define FEED_RUNG_FIRST 512u
#define FEED_RUNGS_MAX  56 /* more than doublings fit 64 bits */

typedef struct feed_rungs {
    tb_rung own[FEED_RUNGS_MAX];
    size_t n_own;
    uint64_t next; /* the next own one is at the first line end at or past this many bytes */
    tb_rung *known; /* ascending by length; owned */
    size_t n_known;
} feed_rungs;

/* The bytes that have passed end at a rung. */
void feed_rungs_add(feed_rungs *rungs, uint64_t at, tb_hash128 hash);
/* Forgets the own ones past `at`, which will be passed again. */
void feed_rungs_drop(feed_rungs *rungs, uint64_t at);
bool feed_rungs_know(const feed_rungs *rungs, const tb_rung *rung);
/* The own ones past `start` and not past `end`. */
size_t feed_rungs_between(const feed_rungs *rungs, uint64_t start, uint64_t end, const tb_rung **ret_rungs);

#endif
