/* Totals of many months under a tariff without rating each: once units are sorted and summed from the left, the
 * total of the months in a straight piece is price x (sum of their units) + offset x (their number). Products wrap
 * modulo 2^128, which gives the right total if the total fits; it fits if n times the largest amount does. */
#include "tollbook/tariff.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

#define I128_MAX ((tb_i128)((u128)-1 >> 1))

/* --- sorting --- */

#define DIGIT_BITS 11
#define DIGITS     ((size_t)1 << DIGIT_BITS)
#define PASSES     6

static size_t digit_of(uint64_t unit, unsigned pass)
{
    return (size_t)(unit >> (pass * DIGIT_BITS)) & (DIGITS - 1);
}

/* One pass by one digit, from `from` to `to`. */
static void scatter(const uint64_t *from, size_t n, unsigned pass, const size_t *counts,
                    uint64_t *to)
{
    size_t start[DIGITS], at = 0;
    for (size_t d = 0; d < DIGITS; d++) {
        start[d] = at;
        at += counts[d];
    }
    for (size_t i = 0; i < n; i++)
        to[start[digit_of(from[i], pass)]++] = from[i];
}

void tb_units_sort(uint64_t *units, size_t n, uint64_t *scratch)
{
    size_t counts[PASSES][DIGITS];
    uint64_t *from = units, *to = scratch;
    memset(counts, 0, sizeof counts);
    for (size_t i = 0; i < n; i++)
        for (unsigned pass = 0; pass < PASSES; pass++)
            counts[pass][digit_of(units[i], pass)]++;
    for (unsigned pass = 0; pass < PASSES && n > 0; pass++) {
        if (counts[pass][digit_of(units[0], pass)] == n) continue; /* all have this digit */
        scatter(from, n, pass, counts[pass], to);
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != units) memcpy(units, from, n * sizeof *units);
}

void tb_units_sum(const uint64_t *units, size_t n, tb_i128 *ret_before)
{
    tb_i128 sum = 0;
    for (size_t i = 0; i < n; i++) {
        ret_before[i] = sum;
        sum += units[i];
    }
    ret_before[n] = sum;
}

/* --- totals --- */

/* The first of units[at..n) above `limit`, or n. */
static size_t first_above(const uint64_t *units, size_t at, size_t n, uint64_t limit)
{
    while (at < n) {
        size_t middle = at + (n - at) / 2;
        if (units[middle] > limit)
            n = middle;
        else
            at = middle + 1;
    }
    return at;
}

static tb_i128 larger(tb_i128 a, tb_i128 b)
{
    return a > b ? a : b;
}

/* Month by month, checked: where the quick way cannot tell that the total fits. */
static tb_code total_checked(const tb_tariff *t, const uint64_t *units, size_t n,
                             tb_i128 *ret_total, tb_error *err)
{
    tb_i128 total = 0;
    for (size_t i = 0; i < n; i++) {
        tb_decimal amount;
        tb_code code = tb_tariff_amount(t, units[i], &amount, err);
        if (!code && __builtin_add_overflow(total, amount.mantissa, &total))
            code = tb_fail(err, TB_E_OVERFLOW, NULL, "The sum passes 2^127-1 units of 10^-%d.",
                           t->scale);
        if (code && err) err->line = i + 1;
        if (code) return code;
    }
    *ret_total = total;
    return TB_OK;
}

tb_code tb_tariff_total_sorted(const tb_tariff *tariff, const uint64_t *units,
                               const tb_i128 *before, size_t n, tb_i128 *ret_total, tb_error *err)
{
    size_t pieces = (size_t)1 << tariff->levels, at = 0;
    u128 total = 0;
    tb_i128 largest = 0;
    if (n > 0 && units[n - 1] > tariff->most)
        return total_checked(tariff, units, n, ret_total, err);
    for (size_t k = 0; k < pieces && at < n; k++) {
        size_t end = k + 1 < pieces ? first_above(units, at, n, tariff->from[k + 1]) : n;
        if (end == at) continue;
        u128 price = (u128)tariff->piece[k].price, offset = (u128)tariff->piece[k].offset;
        total += price * (u128)(before[end] - before[at]) + offset * (u128)(end - at);
        largest = larger(largest, (tb_i128)(price * units[end - 1] + offset));
        at = end;
    }
    if (n > 0 && largest > I128_MAX / (tb_i128)n)
        return total_checked(tariff, units, n, ret_total, err);
    *ret_total = (tb_i128)total;
    return TB_OK;
}
