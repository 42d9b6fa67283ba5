#include "base/rank.h"

#include <stdlib.h>

#define ROUNDS_MOST 64 /* random orders of ten thousand values need about 25 */

static int compare(const void *left, const void *right)
{
    const tb_i128 *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static tb_i128 middle_of(tb_i128 a, tb_i128 b, tb_i128 c)
{
    const tb_i128 least = a < b ? a : b, most = a < b ? b : a;
    return c < least ? least : c > most ? most : c;
}

/* Hoare's selection. There are orders in which each round leaves out a few values only, and customers choose some orders: after
 * ROUNDS_MOST, what is left is sorted. */
tb_i128 tb__put_rank(tb_i128 *values, size_t n, size_t rank)
{
    size_t low = 0, high = n - 1;
    for (int rounds = 0; low < high; rounds++) {
        if (rounds == ROUNDS_MOST) {
            qsort(values + low, high - low + 1, sizeof *values, compare);
            break;
        }
        const tb_i128 pivot = middle_of(values[low], values[low + (high - low) / 2], values[high]);
        size_t i = low, j = high;
        for (;; i++, j--) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i >= j) break;
            const tb_i128 value = values[i];
            values[i] = values[j];
            values[j] = value;
        }
        /* values[low..j] are at most the pivot, values[j + 1..high] at least. The pivot is no larger than one more of the three, so
         * j is below high. */
        if (rank <= j) high = j;
        else low = j + 1;
    }
    return values[rank];
}
