#include "ops/invoicing/usual.h"

#include <stdlib.h>

static int by_size(const void *a, const void *b)
{
    return tb_decimal_compare(*(const tb_decimal *)a, *(const tb_decimal *)b);
}

tb__usual tb__usual_find(const tb_decimal *past, size_t n, tb_decimal now, const tb__usual_limits *limits)
{
    static const tb__usual unknown = {0};
    const tb_decimal half = {5, 1};
    tb_decimal amounts[TB__USUAL_MONTHS], both, hundredfold, least;
    tb__usual u = {0};
    for (size_t i = 0; i < n && i < TB__USUAL_MONTHS; i++)
        if (tb_decimal_sign(past[i]) > 0) amounts[u.n++] = past[i];
    if (u.n == 0) return unknown;
    qsort(amounts, u.n, sizeof *amounts, by_size);
    if (tb_decimal_add(amounts[(u.n - 1) / 2], amounts[u.n / 2], &both, NULL) ||
        tb_decimal_mul(both, half, &u.amount, NULL) || tb_decimal_sub(now, u.amount, &u.change, NULL) ||
        tb_decimal_mul(limits->percent, u.amount, &least, NULL))
        return unknown;
    u.amount = tb_decimal_normal(u.amount);
    u.change = tb_decimal_normal(u.change);
    /* The division takes integers, so the amount's scale moves to the dividend. */
    if (tb_decimal_shift(u.change, -2 - u.amount.scale, &hundredfold, NULL) ||
        tb_decimal_divide(hundredfold, 1, u.amount.mantissa, 1, TB_HALF_UP, &u.percent, NULL))
        return unknown;
    tb_decimal size = u.change;
    if (size.mantissa < 0) size.mantissa = -size.mantissa;
    if (tb_decimal_mul_int(size, 100, &hundredfold, NULL)) return unknown;
    u.is_unusual = tb_decimal_compare(size, limits->money) >= 0 && tb_decimal_compare(hundredfold, least) >= 0;
    return u;
}
