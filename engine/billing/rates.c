/* A price book names a meter and a unit; the catalogue's meter says how many of its own units that is. Thresholds become
 * whole base units here, so that tiers work as for every other product (tariff.h); prices are not divided, because a
 * price for a GB-month of 2,592,000 seconds has no end as a decimal. */
#include "billing/rates.h"

#include <stdlib.h>
#include <string.h>

#define BYTES_OF_MBPS 125000 /* 10^6 bits, a second */
#define HOUR_SECONDS  3600
#define DAY_SECONDS   86400
#define UNITS_MOST    ((tb_i128)1 << 125) /* so that a threshold and the included units can be added */

static bool fault(tb__rate_fault *to, const char *key, const char *rule)
{
    *to = (tb__rate_fault){key, rule};
    return false;
}

/* --- look-up --- */

static int compare_meter(const void *id, const void *rate)
{
    return strcmp(id, ((const tb_meter_rate *)rate)->meter);
}

const tb_meter_rate *tb__book_meter(const tb_book *book, const char *meter)
{
    return book->n_meters ? bsearch(meter, book->meters, book->n_meters, sizeof *book->meters, compare_meter) : NULL;
}

static int compare_fee(const void *id, const void *fee)
{
    return strcmp(id, ((const tb_fee *)fee)->id);
}

const tb_fee *tb_book_fee(const tb_book *book, const char *id)
{
    return book && book->n_fees ? bsearch(id, book->fees, book->n_fees, sizeof *book->fees, compare_fee) : NULL;
}

static int compare_value(const void *value, const void *rate)
{
    return strcmp(value, ((const tb_rate *)rate)->value);
}

const tb_rate *tb__rate_of(const tb_meter_rate *rate, const char *value)
{
    if (!rate->by[0]) return rate->rate;
    const tb_rate *own = bsearch(value, rate->rate, rate->n, sizeof *rate->rate, compare_value);
    return own ? own : bsearch("*", rate->rate, rate->n, sizeof *rate->rate, compare_value);
}

/* --- units --- */

/* A whole number from 1 to 10^18. */
static bool parse_whole(const char *text, tb_i128 *ret)
{
    tb_decimal number;
    if (tb_decimal_parse(text, strlen(text), 0, &number, NULL) || number.mantissa < 1 ||
        number.mantissa > TB_UNITS_MAX)
        return false;
    *ret = number.mantissa;
    return true;
}

/* Base units of one `per`, without time. */
static bool find_per(const tb_meter *meter, const char *per, tb_i128 *ret, tb__rate_fault *ret_fault)
{
    if (parse_whole(per, ret)) return true;
    *ret = 1;
    if (strcmp(per, meter->unit) == 0) return true;
    *ret = meter->display_per;
    if (meter->display_unit[0] && strcmp(per, meter->display_unit) == 0) return true;
    if (strcmp(per, "Mbps") != 0)
        return fault(ret_fault, "per", "Must be a whole number, the meter's unit or its display unit.");
    *ret = (tb_i128)BYTES_OF_MBPS * meter->interval;
    if (meter->kind == TB_METER_SAMPLE && strcmp(meter->unit, "byte") == 0) return true;
    return fault(ret_fault, "per", "Mbps is a unit of meters of kind sample that count bytes.");
}

/* Base units that a price is for. */
static bool find_divisor(const tb_meter *meter, const tb_meter_rate *rate, int64_t month_seconds, tb_i128 *ret,
                         tb__rate_fault *ret_fault)
{
    if (meter->kind != TB_METER_SAMPLE && rate->sampled)
        return fault(ret_fault, "percentile", "Only meters of kind sample have a percentile.");
    if (meter->kind == TB_METER_SAMPLE && !rate->sampled)
        return fault(ret_fault, "percentile", "A meter of kind sample is priced at a percentile.");
    if (meter->kind != TB_METER_GAUGE && rate->time != TB_RATE_NO_TIME)
        return fault(ret_fault, "time", "Only meters of kind gauge have a time.");
    if (meter->kind == TB_METER_GAUGE && rate->time == TB_RATE_NO_TIME)
        return fault(ret_fault, "time", "A meter of kind gauge needs hour or month.");
    if (!find_per(meter, rate->per, ret, ret_fault)) return false;
    if (rate->time == TB_RATE_HOUR) *ret *= HOUR_SECONDS;
    if (rate->time == TB_RATE_MONTH) *ret *= month_seconds;
    return true;
}

/* A number of `per`, in base units. */
static bool to_units(tb_decimal number, tb_i128 per, const char *key, tb_i128 *ret, tb__rate_fault *ret_fault)
{
    tb_decimal units;
    if (tb_decimal_mul_int(tb_decimal_normal(number), per, &units, NULL) ||
        tb_decimal_compare(units, tb_decimal_from_int(UNITS_MOST)) > 0)
        return fault(ret_fault, key, "Passes 2^125 of the meter's units.");
    units = tb_decimal_normal(units);
    if (units.scale > 0) return fault(ret_fault, key, "Finer than one of the meter's units.");
    *ret = units.mantissa;
    return true;
}

/* --- resolving --- */

bool tb__rate_resolve(const tb_meter *meter, const tb_meter_rate *rate, const tb_rate *of, int64_t month_seconds,
                      tb_tiers *ret_tiers, tb_i128 *ret_per, tb__rate_fault *ret_fault)
{
    tb_i128 per;
    if (!find_divisor(meter, rate, month_seconds, &per, ret_fault)) return false;
    ret_tiers->mode = of->mode;
    ret_tiers->included_absolute = of->included_absolute;
    ret_tiers->n = of->n;
    ret_tiers->block = 0;
    if (!to_units(of->included, per, "included", &ret_tiers->included, ret_fault)) return false;
    if (of->mode == TB_PACKAGE && !to_units(of->block, per, "block", &ret_tiers->block, ret_fault)) return false;
    for (size_t k = 0; k < of->n; k++) {
        const tb_rate_tier *tier = &of->tier[k];
        tb_tier *to = &ret_tiers->tier[k];
        *to = (tb_tier){.open = tier->open, .price = tier->price, .flat = tier->flat, .shown = tier->price};
        if (!to_units(tier->from, per, "tiers", &to->from, ret_fault)) return false;
        if (!tier->open && !to_units(tier->to, per, "tiers", &to->to, ret_fault)) return false;
    }
    *ret_per = per;
    return true;
}

bool tb__rate_fits(const tb_meter *meter, const tb_meter_rate *rate, tb__rate_fault *ret_fault)
{
    tb_tiers tiers;
    tb_i128 per;
    bool known = rate->by[0] == 0;
    for (int i = 0; i < meter->n_dimensions; i++)
        known |= strcmp(rate->by, meter->dimension[i]) == 0;
    if (!known) return fault(ret_fault, "by", "Must be one of the meter's dimensions.");
    /* What is whole for a day is so for every month, and what 31 days can hold, each month can. */
    for (size_t i = 0; i < rate->n; i++)
        if (!tb__rate_resolve(meter, rate, &rate->rate[i], DAY_SECONDS, &tiers, &per, ret_fault) ||
            !tb__rate_resolve(meter, rate, &rate->rate[i], 31 * DAY_SECONDS, &tiers, &per, ret_fault))
            return false;
    return true;
}
