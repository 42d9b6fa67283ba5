/* Selection by partition (Hoare's find), with the middle of three as pivot. Exact: the answer is
 * one of the values. Where partitions go wrong too often the rest is sorted, so that no order of
 * accounts makes it quadratic. */
#include "whatif/replay.h"

#include <stdlib.h>

static int compare(const void *left, const void *right)
{
    const tb_i128 *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static tb_i128 middle_of(tb_i128 a, tb_i128 b, tb_i128 c)
{
    if (a > b) {
        tb_i128 swap = a;
        a = b;
        b = swap;
    }
    return c < a ? a : c > b ? b : c;
}

#define SMALL  32
#define ROUNDS 64

tb_i128 tb__select(tb_i128 *values, size_t n, size_t k)
{
    size_t low = 0, high = n; /* the k-th is in [low, high) */
    for (int round = 0; high - low > SMALL && round < ROUNDS; round++) {
        tb_i128 pivot = middle_of(values[low], values[low + (high - low) / 2], values[high - 1]);
        size_t i = low, j = high - 1;
        for (;; i++, j--) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j) break;
            tb_i128 swap = values[i];
            values[i] = values[j];
            values[j] = swap;
        }
        /* All before i are at most the pivot, all from i on at least. */
        if (i == low) i++;
        if (k < i)
            high = i;
        else
            low = i;
    }
    qsort(values + low, high - low, sizeof *values, compare);
    return values[k];
}
