/* The byte sums are sorted downwards and the one behind the discarded ones is taken. A rate is
 * above a commit where bytes x 8 > commit x seconds x 10^6, compared as integers; so a bucket that
 * is shown, rounded, as the commit itself still counts where it is a bit above it. */
#include "base/rank.h"
#include "tollbook/forecast.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static tb_code check(const tb_percentile_ask *ask, tb_error *err)
{
    tb_decimal p = ask->percentile;
    if (tb_decimal_sign(p) <= 0 || tb_decimal_compare(p, tb_decimal_from_int(100)) > 0 ||
        p.scale > TB_PERCENTILE_SCALE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "percentile",
                       "A percentile is above 0 and at most 100, with at most %d digits after the "
                       "point.",
                       TB_PERCENTILE_SCALE_MAX);
    if (ask->buckets == 0 || ask->buckets > TB_PERCENTILE_BUCKETS_MAX)
        return tb_fail(err, TB_E_VALIDATION, "buckets", "A month has 1 to %d buckets.",
                       TB_PERCENTILE_BUCKETS_MAX);
    if (ask->over > ask->buckets || ask->seconds == 0)
        return tb_fail(err, TB_E_VALIDATION, "over", "More buckets are over than the month has.");
    if (ask->has_commit && tb_decimal_sign(ask->commit) < 0)
        return tb_fail(err, TB_E_VALIDATION, "commit", "A commit is not negative.");
    return TB_OK;
}

static int downwards(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Of the first n buckets; all discarded (P so small that none is left) or none at all: zero. */
static tb_code pick(const tb_percentile_ask *ask, uint32_t n, uint32_t discarded, uint64_t *scratch,
                    tb_percentile_pick *ret, tb_error *err)
{
    *ret = (tb_percentile_pick){.buckets = n, .discarded = discarded};
    memcpy(scratch, ask->bytes, n * sizeof *scratch);
    qsort(scratch, n, sizeof *scratch, downwards);
    ret->bytes = discarded < n ? scratch[discarded] : 0;
    while (ret->at < n && ask->bytes[ret->at] != ret->bytes)
        ret->at++;
    if (ret->at == n) ret->at = 0;
    return tb_decimal_divide(tb_decimal_from_int((tb_i128)ret->bytes), 8,
                             (tb_i128)ask->seconds * 1000000, TB_PERCENTILE_DIGITS, TB_HALF_UP,
                             &ret->mbit, err);
}

static tb_code count_above(const tb_percentile_ask *ask, tb_percentile *found, tb_error *err)
{
    tb_decimal bits; /* of a bucket at the commit */
    tb_code code = tb_decimal_mul_int(ask->commit, (tb_i128)ask->seconds * 1000000, &bits, err);
    if (code) return code;
    for (uint32_t i = 0; i < ask->buckets; i++)
        found->above +=
            tb_decimal_compare(tb_decimal_from_int((tb_i128)ask->bytes[i] * 8), bits) > 0;
    /* The bucket behind the discarded ones is above the commit when more than those are. */
    found->passed = found->above > found->least.discarded;
    found->more = found->passed ? 0 : found->least.discarded - found->above;
    return TB_OK;
}

tb_code tb_percentile_find(const tb_percentile_ask *ask, const tb_alloc *alloc, tb_percentile *ret,
                           tb_error *err)
{
    tb_percentile found = {.missing = 0};
    tb_code code = check(ask, err);
    if (code) return code;
    size_t size = ask->buckets * sizeof(uint64_t);
    uint64_t *scratch = tb_alloc_zero(alloc, ask->buckets, sizeof *scratch);
    if (!scratch) return tb_no_memory(err);
    for (uint32_t i = 0; i < ask->over; i++)
        found.missing += ask->bytes[i] == 0 && ask->requests[i] == 0;
    code =
        pick(ask, ask->over, (uint32_t)tb__discarded(ask->percentile, ask->over), scratch, &found.so_far, err);
    if (!code)
        code = pick(ask, ask->buckets, (uint32_t)tb__discarded(ask->percentile, ask->buckets), scratch,
                    &found.least, err);
    if (!code) code = pick(ask, ask->buckets, 0, scratch, &found.peak, err);
    if (!code && ask->has_commit) code = count_above(ask, &found, err);
    tb_alloc_free(alloc, scratch, size);
    if (!code) *ret = found;
    return code;
}
