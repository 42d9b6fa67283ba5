/* Usage factors of a scenario. Factors that match are multiplied exactly, and the quantity is multiplied and rounded
 * once, half up, to a whole unit. */
#include "whatif/replay.h"

#include <string.h>

static bool wants_charge(tb_factor_product product, tb_charge charge)
{
    switch (product) {
    case TB_FACTOR_ANY:
    case TB_FACTOR_BANDWIDTH: return true;
    case TB_FACTOR_PREMIUM: return charge == TB_CHARGE_PREMIUM;
    case TB_FACTOR_VOLUME: return charge == TB_CHARGE_VOLUME;
    case TB_FACTOR_OVERRIDE: return charge == TB_CHARGE_OVERRIDE;
    default: return false;
    }
}

static bool matches_bytes(const tb_usage_factor *f, int64_t account, const tb_bill_bytes *e)
{
    return wants_charge(f->product, e->charge) && !f->has_balancer &&
           (!f->has_region || (e->priced && f->region == e->region)) &&
           (!f->has_zone || f->zone == e->zone) && (!f->has_account || f->account == account);
}

static bool matches_requests(const tb_usage_factor *f, int64_t account, const tb_bill_balancer *e)
{
    return (f->product == TB_FACTOR_ANY || f->product == TB_FACTOR_BALANCER) && !f->has_region &&
           !f->has_zone && (!f->has_balancer || f->balancer == e->balancer) &&
           (!f->has_account || f->account == account);
}

static tb_code multiply(tb_decimal *product, tb_decimal factor, tb_error *err)
{
    tb_code code = tb_decimal_mul(*product, factor, product, err);
    if (!code) *product = tb_decimal_normal(*product);
    return code;
}

/* 10^scale, scale 0..TB_DECIMAL_SCALE_MAX. */
static tb_i128 power(int scale)
{
    tb_i128 n = 1;
    while (scale-- > 0)
        n *= 10;
    return n;
}

static tb_code scale(tb_i128 *quantity, tb_decimal by, tb_error *err)
{
    tb_decimal scaled;
    tb_code code = tb_decimal_divide(tb_decimal_from_int(*quantity), by.mantissa, power(by.scale),
                                     0, TB_HALF_UP, &scaled, err);
    if (!code) *quantity = scaled.mantissa;
    return code;
}

static bool is_one(tb_decimal factor)
{
    return factor.mantissa == 1 && factor.scale == 0;
}

static tb_code scale_bytes(const tb_scenario *s, int64_t account, tb_bill_bytes *e,
                           bool *ret_changed, tb_error *err)
{
    tb_decimal by = {1, 0};
    tb_code code = TB_OK;
    for (size_t i = 0; i < s->n_factors && !code; i++)
        if (matches_bytes(&s->factors[i], account, e))
            code = multiply(&by, s->factors[i].factor, err);
    if (code || is_one(by)) return code;
    *ret_changed = true;
    return scale(&e->bytes, by, err);
}

static tb_code scale_requests(const tb_scenario *s, int64_t account, tb_bill_balancer *e,
                              bool *ret_changed, tb_error *err)
{
    tb_decimal by = {1, 0};
    tb_code code = TB_OK;
    for (size_t i = 0; i < s->n_factors && !code; i++)
        if (matches_requests(&s->factors[i], account, e))
            code = multiply(&by, s->factors[i].factor, err);
    if (code || is_one(by)) return code;
    *ret_changed = true;
    return scale(&e->requests, by, err);
}

static void *copy_of(tb__arena *arena, const void *items, size_t n, size_t size)
{
    void *copy = tb__arena_take(arena, n * size);
    if (copy && n) memcpy(copy, items, n * size);
    return copy;
}

tb_code tb__scale_usage(const tb_scenario *scenario, tb_bill_input *input, tb__arena *arena,
                        bool *ret_changed, tb_error *err)
{
    tb_code code = TB_OK;
    if (scenario->n_factors == 0) return TB_OK;
    tb_bill_bytes *bytes = copy_of(arena, input->bytes, input->n_bytes, sizeof *bytes);
    tb_bill_balancer *balancers =
        copy_of(arena, input->balancers, input->n_balancers, sizeof *balancers);
    if (!bytes || !balancers) return tb_no_memory(err);
    for (size_t i = 0; i < input->n_bytes && !code; i++)
        code = scale_bytes(scenario, input->account, &bytes[i], ret_changed, err);
    for (size_t i = 0; i < input->n_balancers && !code; i++)
        code = scale_requests(scenario, input->account, &balancers[i], ret_changed, err);
    input->bytes = bytes;
    input->balancers = balancers;
    return code;
}
