#include "base/list.h"

#include <stdlib.h>
#include <string.h>

tb_code tb__grow(void *list, size_t n, size_t *cap, size_t size, tb_error *err)
{
    if (n < *cap) return TB_OK;
    size_t more = *cap ? *cap * 2 : 16;
    void *old, *grown;
    memcpy(&old, list, sizeof old);
    grown = realloc(old, more * size);
    if (!grown) return tb_no_memory(err);
    memcpy(list, &grown, sizeof grown);
    *cap = more;
    return TB_OK; // cppcheck-suppress memleak ; the list holds it now
}

void *tb__find_sorted(const void *key, const void *list, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    return n ? bsearch(key, list, n, size, compare) : NULL;
}

int tb__by_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Shell's sort, with Ciura's gaps. */
void tb__sort_doubles(double *list, size_t n)
{
    static const size_t gaps[] = {132, 57, 23, 10, 4, 1};
    for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
        for (size_t i = gaps[g]; i < n; i++) {
            const double value = list[i];
            size_t at = i;
            for (; at >= gaps[g] && list[at - gaps[g]] > value; at -= gaps[g])
                list[at] = list[at - gaps[g]];
            list[at] = value;
        }
}
