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

/* What a factor is asked about: one usage of the account. */
typedef struct usage {
    const tb_bill_bytes *bytes;
    const tb_bill_balancer *balancer;
    const char *meter; /* NULL where the others are set; all are NULL: the account's bandwidth at a percentile */
} usage;

static bool matches(const tb_usage_factor *f, int64_t account, const usage *u)
{
    if (f->has_account && f->account != account) return false;
    if (u->bytes)
        return wants_charge(f->product, u->bytes->charge) && !f->has_balancer && !f->meter[0] &&
               (!f->has_region || (u->bytes->priced && f->region == u->bytes->region)) &&
               (!f->has_zone || f->zone == u->bytes->zone);
    if (f->has_region || f->has_zone) return false;
    if (u->balancer)
        return (f->product == TB_FACTOR_ANY || f->product == TB_FACTOR_BALANCER) && !f->meter[0] &&
               (!f->has_balancer || f->balancer == u->balancer->balancer);
    if (f->has_balancer) return false;
    if (u->meter) return f->product == TB_FACTOR_ANY && (!f->meter[0] || strcmp(f->meter, u->meter) == 0);
    return (f->product == TB_FACTOR_ANY || f->product == TB_FACTOR_BANDWIDTH) && !f->meter[0];
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

/* The product of all factors that match. */
static tb_code factor_of(const tb_scenario *s, int64_t account, const usage *u, tb_decimal *ret, tb_error *err)
{
    tb_code code = TB_OK;
    *ret = (tb_decimal){1, 0};
    for (size_t i = 0; i < s->n_factors && !code; i++)
        if (matches(&s->factors[i], account, u)) code = multiply(ret, s->factors[i].factor, err);
    return code;
}

static tb_code scale_quantity(const tb_scenario *s, int64_t account, const usage *u, tb_i128 *quantity,
                              bool *ret_changed, tb_error *err)
{
    tb_decimal by;
    tb_code code = factor_of(s, account, u, &by, err);
    if (code || is_one(by)) return code;
    *ret_changed = true;
    return scale(quantity, by, err);
}

/* The intervals of a series, each for itself. */
static tb_code scale_samples(const tb_scenario *s, int64_t account, const char *meter, tb_bill_samples *e,
                             tb__arena *arena, bool *ret_changed, tb_error *err)
{
    tb_decimal by;
    tb_code code = factor_of(s, account, &(usage){.meter = meter}, &by, err);
    if (code || is_one(by)) return code;
    uint64_t *values = tb__arena_take(arena, e->n * sizeof *values);
    if (!values) return tb_no_memory(err);
    for (size_t i = 0; i < e->n && !code; i++) {
        tb_i128 value = e->value[i];
        code = scale(&value, by, err);
        if (!code && value > (tb_i128)UINT64_MAX)
            code = tb_fail(err, TB_E_OVERFLOW, "usage", "%s: an interval times the factor has no room in 64 bits.",
                           meter ? meter : "bandwidth");
        values[i] = (uint64_t)value;
    }
    e->value = values;
    *ret_changed = true;
    return code;
}

tb_code tb__scale_usage(const tb_scenario *scenario, tb_bill_input *input, tb__arena *arena,
                        bool *ret_changed, tb_error *err)
{
    tb_code code = TB_OK;
    if (scenario->n_factors == 0) return TB_OK;
    const int64_t account = input->account;
    tb_bill_bytes *bytes = tb__arena_copy(arena, input->bytes, input->n_bytes * sizeof *bytes);
    tb_bill_balancer *balancers =
        tb__arena_copy(arena, input->balancers, input->n_balancers * sizeof *balancers);
    tb_bill_usage *metered = tb__arena_copy(arena, input->usage, input->n_usage * sizeof *metered);
    tb_bill_samples *samples = tb__arena_copy(arena, input->samples, input->n_samples * sizeof *samples);
    if (!bytes || !balancers || !metered || !samples) return tb_no_memory(err);
    for (size_t i = 0; i < input->n_bytes && !code; i++)
        code = scale_quantity(scenario, account, &(usage){.bytes = &bytes[i]}, &bytes[i].bytes, ret_changed, err);
    for (size_t i = 0; i < input->n_balancers && !code; i++)
        code = scale_quantity(scenario, account, &(usage){.balancer = &balancers[i]}, &balancers[i].requests,
                              ret_changed, err);
    for (size_t i = 0; i < input->n_usage && !code; i++)
        code = scale_quantity(scenario, account, &(usage){.meter = input->meters[metered[i].meter].id},
                              &metered[i].quantity, ret_changed, err);
    for (size_t i = 0; i < input->n_samples && !code; i++)
        code = scale_samples(scenario, account, input->meters[samples[i].meter].id, &samples[i], arena, ret_changed,
                             err);
    if (input->percentile && !code)
        code = scale_samples(scenario, account, NULL, &input->bandwidth, arena, ret_changed, err);
    input->bytes = bytes;
    input->balancers = balancers;
    input->usage = metered;
    input->samples = samples;
    return code;
}
