/* Ratios of counters, inline for the encoder's inner loop; series.h has them for 128-bit sums. One
 * expression each, so that a bucket and a total over one bucket give the same bits. */
#ifndef TOLLBOOK_STATS_RATIO_H
#define TOLLBOOK_STATS_RATIO_H

#include "tollbook/series.h"

/* Requests with a known cache status. Imported rows may claim more unknown ones than there are. */
static inline tb_u128 tb__cache_known(tb_u128 requests, tb_u128 unknown)
{
    return requests > unknown ? requests - unknown : 0;
}

/* In 0..100, also where imported rows claim more pulled than served. */
static inline double tb__hit_rate_of(double pulled, double known)
{
    return known == 0 || pulled > known ? 0 : 100.0 * (1.0 - pulled / known);
}

static inline double tb__mean_of(double sum, double count)
{
    return count == 0 ? 0 : sum / count;
}

/* A counter as double: signed conversion is one instruction, and no counter passes INT64_MAX. */
static inline double tb__as_double(uint64_t counter)
{
    return counter <= INT64_MAX ? (double)(int64_t)counter : (double)counter;
}

/* sum/count rounded half up, 0 when count is 0. sum <= 2^127, count <= 2^126. */
static inline tb_u128 tb__mean_rounded(tb_u128 sum, tb_u128 count)
{
    return count == 0 ? 0 : (2 * sum + count) / (2 * count);
}

/* 100 x part/whole rounded half up, in 0..100, 0 when whole is 0. part <= 2^119. */
static inline tb_u128 tb__percent_rounded(tb_u128 part, tb_u128 whole)
{
    return part > whole ? (whole ? 100 : 0) : tb__mean_rounded(100 * part, whole);
}

#endif
