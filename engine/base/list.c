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

int tb__by_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int tb__by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
