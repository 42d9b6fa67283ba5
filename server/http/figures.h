/* The cached figures of the store for /metrics: counting them walks tables that grow with the zones, which a scraper
 * should not cause each time. */
#ifndef TOLLBOOK_SERVER_HTTP_FIGURES_H
#define TOLLBOOK_SERVER_HTTP_FIGURES_H

#include "tollbook/store.h"

#define FIGURES_AGE_US   10000000 /* older ones are counted again, commit or not: files grow and shrink */
#define FIGURES_CHEAP_US 1000     /* figures that cost less are counted after every commit */
#define FIGURES_SHARE    100      /* others take at most this part of a worker's time */

/* Zeroed: nothing kept. */
typedef struct figures {
    tb_store_figures values;
    uint64_t version; /* of the store, when they were counted */
    int64_t at_us, cost_us;
    bool there;
} figures;

/* Whether they should be counted again: the store has changed, or they are FIGURES_AGE_US old; but not before
 * FIGURES_SHARE times the cost of the last count has passed. */
bool figures_due(const figures *f, uint64_t version, int64_t now_us);
void figures_keep(figures *f, const tb_store_figures *values, uint64_t version, int64_t from_us,
                  int64_t to_us);

#endif
