/* Counts of shield events, for the file that fills them and the one that shows them. */
#ifndef TB__EVENTS_COUNTS_H
#define TB__EVENTS_COUNTS_H

#include "events/events.h"
#include "tollbook/calendar.h"
#include "tollbook/eventsum.h"

typedef struct tb__shield_sums {
    uint64_t of[TB_SHIELD_PRODUCT_COUNT][TB_SHIELD_ACTION_COUNT];
} tb__shield_sums;

/* A rate limit's breaches by point. */
typedef struct tb__shield_rule {
    int64_t id;
    uint64_t of[TB_EVENT_DAYS][TB_SHIELD_ACTION_COUNT];
} tb__shield_rule;

struct tb_shield_counts {
    tb_shield_counts_ask ask; /* the step is never TB_SHIELD_AUTO */
    int64_t start[TB_SHIELD_POINTS_MAX];
    size_t n, at;             /* points; the one that the last event was in */
    tb__shield_sums *point, total;
    tb__shield_rule *rule;    /* ascending by id */
    size_t n_rules, rules_cap;
};

#endif
