/* 95/5 and its like: a month of byte sums, the largest few discarded, the next one billed as a rate.
 *
 * Exact selection on integers: of n buckets the floor((100 - P)/100 x n) largest are discarded and
 * the largest of the rest counts. No interpolation: the quantiles of statistics packages differ,
 * and contracts do not mean those. An empty bucket counts as zero and is reported as missing.
 *
 * A running month has two answers. `so_far` takes the complete buckets. `least` takes the whole
 * month with zeros for the rest: the month cannot stay below it any more. Distances to a commit are
 * those of the whole month. Pure: no memory is kept, any thread. */
#ifndef TOLLBOOK_PERCENTILE_H
#define TOLLBOOK_PERCENTILE_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"

TB_API_BEGIN

#define TB_PERCENTILE_BUCKETS_MAX 8928 /* 31 days of 5 minutes */
#define TB_PERCENTILE_DIGITS      6    /* of a rate in Mbit/s: single bits a second; half_up */
#define TB_PERCENTILE_SCALE_MAX   3    /* digits after the point of P */

typedef struct tb_percentile_ask {
    const uint64_t *bytes;    /* of each bucket of the month, in order; yet to come: 0 */
    const uint64_t *requests; /* the same; a bucket of neither bytes nor requests is missing */
    uint32_t buckets;         /* of the whole month: 1 to TB_PERCENTILE_BUCKETS_MAX */
    uint32_t over;            /* how many of them are over */
    uint32_t seconds;         /* a bucket's width */
    tb_decimal percentile;    /* P: above 0, at most 100 */
    bool has_commit;
    tb_decimal commit; /* Mbit/s; not negative */
} tb_percentile_ask;

/* One selection. */
typedef struct tb_percentile_pick {
    uint32_t buckets, discarded;
    uint32_t at; /* the first bucket of this many bytes; of none of them: 0 */
    uint64_t bytes;
    tb_decimal mbit; /* bytes x 8 / seconds / 10^6, TB_PERCENTILE_DIGITS digits, half_up */
} tb_percentile_pick;

typedef struct tb_percentile {
    uint32_t missing;          /* of the buckets that are over */
    tb_percentile_pick so_far; /* of them: of a month that is over, the answer */
    tb_percentile_pick least;  /* of the whole month */
    tb_percentile_pick peak;   /* the largest bucket, nothing discarded */
    uint32_t above;            /* buckets above the commit, compared exactly */
    uint32_t more;             /* so many more may come before the percentile passes the commit */
    bool passed;               /* the percentile of the whole month is above the commit already */
} tb_percentile;

/* TB_E_VALIDATION, naming the field: P out of its range, no buckets or too many, more of them over
 * than there are; TB_E_NOMEM. */
TB_MUST_USE tb_code tb_percentile_find(const tb_percentile_ask *ask, const tb_alloc *alloc,
                                       tb_percentile *ret, tb_error *err);

/* What it is of, for the forms below. */
typedef struct tb_percentile_of {
    char resource[40]; /* "zone:101", "account:1" */
    char month[8];     /* "2026-10" */
    int64_t from_us;   /* the month's first moment */
    bool running;
} tb_percentile_of;

/* Canonical JSON: sorted keys, one line; rates, bytes and P as text, counts as numbers. */
void tb_percentile_json(const tb_percentile_of *of, const tb_percentile_ask *ask,
                        const tb_percentile *found, tb_buf *out);
/* The same for people. */
void tb_percentile_table(const tb_percentile_of *of, const tb_percentile_ask *ask,
                         const tb_percentile *found, tb_buf *out);

TB_API_END

#endif
