/* The store's figures for /metrics, kept: counting them walks tables that grow with the zones, and a
 * scraper must not cost a worker its time. */
#ifndef TOLLBOOK_SERVER_HTTP_FIGURES_H
#define TOLLBOOK_SERVER_HTTP_FIGURES_H

#include "tollbook/store.h"

#define FIGURES_AGE_US   10000000 /* counted anew then, commit or not: files grow and shrink */
#define FIGURES_CHEAP_US 1000     /* what costs less is counted after every commit */
#define FIGURES_SHARE    100      /* else one part in so many of a worker's time goes to it */

/* Zeroed: nothing kept. */
typedef struct figures {
    tb_store_figures values;
    uint64_t version; /* of the store, when they were counted */
    int64_t at_us, cost_us;
    bool there;
} figures;

/* Whether they should be counted anew: the store has changed, or they are old, and the last count
 * is as many times its own length ago as FIGURES_SHARE says, or as old as FIGURES_AGE_US. */
bool figures_due(const figures *f, uint64_t version, int64_t now_us);
void figures_keep(figures *f, const tb_store_figures *values, uint64_t version, int64_t from_us,
                  int64_t to_us);

#endif
