/* A full counter: its owner, place and time, and advice. */
#ifndef TOLLBOOK_ROLLUP_OVERFLOW_H
#define TOLLBOOK_ROLLUP_OVERFLOW_H

#include "tollbook/error.h"
#include "tollbook/metrics.h"

typedef struct tb__spot {
    const char *kind; /* "Pull zone", "Account", "Load balancer" */
    int64_t id;
    const char *edge; /* code; NULL: all of them */
    size_t edge_len;  /* 0 with an edge: there are none to tell apart */
    int64_t hour;     /* since 1970 */
    bool whole_day;
} tb__spot;

/* Fails with TB_E_OVERFLOW; field is the counter's name. */
tb_code tb__overflow(const tb__spot *spot, tb_metric metric, tb_error *err);

#endif
