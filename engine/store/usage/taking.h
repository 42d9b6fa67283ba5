/* Withdrawing, day by day: what a backend of the usage plane shares with the file. See withdraw.c. */
#ifndef TOLLBOOK_STORE_USAGE_TAKING_H
#define TOLLBOOK_STORE_USAGE_TAKING_H

#include "store/usage/owners.h"

typedef struct tb__taking {
    tb_store *store;
    uint32_t *maxima;         /* bits of the counters that stay, since the larger wins */
    const tb_rollup_day *day; /* the running one */
    int64_t newest;           /* hour of the newest bucket that was taken off; begin with INT64_MIN */
    /* Takes the day's hours off an owner's series at a location, which is there. */
    tb_code (*take)(struct tb__taking *t, const tb__owner *owner, const tb__member *at, const tb_grid *hours,
                    tb_error *err);
} tb__taking;

/* All days of the cursor: a zone's, then its account's; late usage and the segment's sums are noted. */
TB_MUST_USE tb_code tb__take_days(tb__taking *t, tb_rollup_cursor *cursor, tb_error *err);
/* TB_E_WITHDRAWAL for the running day: "Pull zone 101, DE, 2026-05-03: ...". what: the counter, or "none". */
tb_code tb__too_little(const tb__taking *t, const char *what, tb_error *err);
tb_code tb__too_few_of_country(int64_t zone, int64_t day, tb_error *err);

#endif
