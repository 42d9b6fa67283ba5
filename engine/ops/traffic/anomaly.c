/* Anomalies: an hour against the same hour of the same weekday in past weeks. Only in whole numbers: the
 * median of an even number of values is kept doubled. */
#include <stdlib.h>
#include <string.h>

#include "tollbook/alerts.h"

#define WEEK 168 /* hours */

static int by_size(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static tb_u128 median2(const uint64_t *values, size_t n)
{
    uint64_t sorted[TB_ANOMALY_WEEKS] = {0};
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    return (tb_u128)sorted[(n - 1) / 2] + sorted[n / 2];
}

/* first: the index of the first hour with usage. */
static tb_anomaly usual_of(const uint64_t *hours, size_t hour, size_t first)
{
    tb_anomaly a = {.hour = hour, .seen = hours[hour]};
    while (a.n < TB_ANOMALY_WEEKS && hour >= first + (a.n + 1) * WEEK) {
        a.value[a.n] = hours[hour - (a.n + 1) * WEEK];
        a.n++;
    }
    if (a.n) a.expected2 = median2(a.value, a.n);
    return a;
}

/* Where nothing is usual, nothing is a multiple of it. */
static bool is_more(const tb_anomaly *a, tb_decimal times)
{
    tb_decimal most;
    if (a->n < TB_ANOMALY_WEEKS_LEAST || a->expected2 == 0) return false;
    if (tb_decimal_mul_int(times, (tb_i128)a->expected2, &most, NULL)) return false;
    return tb_decimal_compare((tb_decimal){(tb_i128)a->seen * 2, 0}, most) > 0;
}

bool tb_anomaly_find(const uint64_t hours[TB_ANOMALY_SPAN], tb_decimal times, tb_anomaly *ret)
{
    size_t first = 0;
    while (first < TB_ANOMALY_SPAN && hours[first] == 0)
        first++;
    for (size_t back = 1; back <= TB_ANOMALY_HOURS; back++) {
        *ret = usual_of(hours, TB_ANOMALY_SPAN - back, first);
        if (is_more(ret, times)) return true;
    }
    *ret = usual_of(hours, TB_ANOMALY_SPAN - 2, first);
    return false;
}
