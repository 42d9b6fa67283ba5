/* Percentiles of a month's intervals: series are summed interval by interval, the largest sums are discarded, and the next
 * one is billed. The selection is exact, on integers. */
#include "base/quick.h"
#include "base/rank.h"
#include "billing/draft.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS_MOST 40 /* random orders of a month's intervals need about 20 */

typedef tb__u128 u128;

static int downwards(const void *left, const void *right)
{
    const u128 a = *(const u128 *)left, b = *(const u128 *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

/* The value that k others of the list precede in descending order. Reorders the list. Customers choose the order of the
 * values, and there are orders in which each round leaves out one value only: after ROUNDS_MOST, the rest is sorted. */
static u128 select_largest(u128 *v, size_t n, size_t k)
{
    size_t low = 0, high = n - 1;
    for (int rounds = 0; low < high; rounds++) {
        if (rounds == ROUNDS_MOST) {
            qsort(v + low, high - low + 1, sizeof *v, downwards);
            break;
        }
        const u128 pivot = v[low + (high - low) / 2];
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (v[i] > pivot) i++;
            while (v[j] < pivot) j--;
            if (i >= j) break;
            const u128 value = v[i];
            v[i] = v[j];
            v[j] = value;
        }
        /* v[low..j] are not below the pivot, v[j + 1..high] are not above it. */
        if (k <= j)
            high = j;
        else
            low = j + 1;
    }
    return v[k];
}

tb_code tb__percentile_find(const tb__draft *d, const tb_bill_samples *list, const tb__metered *of, size_t n,
                            tb_decimal percent, tb_i128 *ret_value, size_t *ret_interval)
{
    const size_t intervals = list[of->at].n, size = 2 * intervals * sizeof(u128);
    u128 *sums = tb_alloc_zero(d->arena.alloc, 2 * intervals, sizeof *sums), *sorted = sums + intervals;
    if (!sums) return tb_no_memory(d->err);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < intervals; k++)
            sums[k] += list[of[i].at].value[k];
    memcpy(sorted, sums, size / 2);
    const u128 value = select_largest(sorted, intervals, tb__discarded(percent, intervals));
    size_t at = 0;
    while (sums[at] != value)
        at++;
    tb_alloc_free(d->arena.alloc, sums, size);
    *ret_value = (tb_i128)value;
    *ret_interval = at;
    return TB_OK;
}
