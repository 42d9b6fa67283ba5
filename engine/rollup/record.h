/* The counters of a record, and how any counter adds up. */
#ifndef TB__ROLLUP_RECORD_H
#define TB__ROLLUP_RECORD_H

#include "rollup/parts.h"

/* Where the record keeps a metric that it has. */
static inline unsigned tb__record_place(const tb__record *record, unsigned metric)
{
    return (unsigned)__builtin_popcount(record->metrics & (TB_METRIC_BIT(metric) - 1));
}

/* Adds by the metric's rule; false, *value unchanged, where it would pass TB_COUNTER_MAX. */
static inline bool tb__metric_add(unsigned metric, uint64_t *value, uint64_t more)
{
    if (more > TB_COUNTER_MAX) return false;
    if (tb_metric_table[metric].how == TB_HOW_MAX) {
        if (more > *value) *value = more;
        return true;
    }
    if (more > (uint64_t)TB_COUNTER_MAX - *value) return false;
    *value += more;
    return true;
}

#endif
