/* The hourly table of the statistics workload: 1,000 zones, 400 days of 24 hours that end at
 * 2026-11-21T00:00Z, 12 counters a row, all from a formula. And the plan of queries over it:
 *
 *   1  a zone's last 30 days by the hour (720 rows)
 *   2  a zone's last 365 days by the day
 *   3  all zones together, the last 30 days by the day */
#ifndef TOLLBOOK_BENCH_HOURS_H
#define TOLLBOOK_BENCH_HOURS_H

#include <stdint.h>

#define HOURS_ZONES 1000
#define HOURS_DAYS 400
#define HOURS_COUNT (HOURS_DAYS * 24)
#define HOURS_METRICS 12
#define HOURS_END INT64_C(498672) /* hours since 1970, exclusive */
#define HOURS_BEGIN (HOURS_END - HOURS_COUNT)

/* The counters of one zone (1..) in one hour since 1970. */
void hours_row(int zone, int64_t hour, int64_t out[HOURS_METRICS]);

/* The zone that the i-th query asks for. */
int hours_zone(int i);

/* First bucket and number of buckets of a query; hours for query 1, days otherwise. */
typedef struct hours_span {
    int64_t first;
    int count;
} hours_span;
hours_span hours_query(int query);

#endif
