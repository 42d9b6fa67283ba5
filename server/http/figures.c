/* Counts the figures again when they may have changed, but for no more than a share of the time. */
#include "http/figures.h"

bool figures_due(const figures *f, uint64_t version, int64_t now_us)
{
    if (!f->there) return true;
    const int64_t age_us = now_us - f->at_us;
    int64_t least_us = f->cost_us * FIGURES_SHARE;
    if (f->cost_us < FIGURES_CHEAP_US) least_us = 0;
    if (f->cost_us > FIGURES_AGE_US / FIGURES_SHARE) least_us = FIGURES_AGE_US;
    return (version != f->version || age_us >= FIGURES_AGE_US) && age_us >= least_us;
}

void figures_keep(figures *f, const tb_store_figures *values, uint64_t version, int64_t from_us,
                  int64_t to_us)
{
    *f = (figures){.values = *values,
                   .version = version,
                   .at_us = to_us,
                   .cost_us = to_us - from_us,
                   .there = true};
}
