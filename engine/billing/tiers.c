/* Tiers touch, rise strictly, start where they must and end open; and every sum that 10^18 units
 * can make of them fits 127 bits, so that rating a month cannot overflow. Sums of several tiers
 * have the finest scale among their prices and flats: the safe price is judged at that scale. */
#include "billing/tiers.h"

#include <stdio.h>

/* A number of base units as the book writes it. */
static void put_threshold(char out[TB_DECIMAL_TEXT_MAX], tb_i128 units, int places)
{
    tb_decimal shown = {units, places};
    *tb_decimal_put(out, shown) = 0;
}

static bool fault(tb__tiers_fault *to, tb__tiers_key key, size_t tier, const char *message)
{
    to->key = key;
    to->tier = tier;
    snprintf(to->message, sizeof to->message, "%s", message);
    return false;
}

static bool fault_at(tb__tiers_fault *to, size_t tier, const char *rule, tb_i128 units, int places)
{
    char threshold[TB_DECIMAL_TEXT_MAX];
    put_threshold(threshold, units, places);
    to->key = TB__TIERS_FROM;
    to->tier = tier;
    snprintf(to->message, sizeof to->message, "%s %s.", rule, threshold);
    return false;
}

/* The first tier starts at 0, or where the free units end. */
static bool settle_start(tb_tiers *t, tb__axis axis, int places, tb__tiers_fault *to)
{
    t->included_absolute = axis != TB__AXIS_NET;
    if (t->tier[0].from == 0) {
        if (t->included > 0 && axis == TB__AXIS_UNSAID)
            return fault(to, TB__TIERS_AXIS, 0,
                         "Must be absolute or net where tiers start at 0 and units are included.");
        return true;
    }
    if (t->included == 0) return fault(to, TB__TIERS_FROM, 0, "The first tier must start at 0.");
    if (axis == TB__AXIS_NET)
        return fault(to, TB__TIERS_FROM, 0, "Tiers on the net axis must start at 0.");
    if (t->tier[0].from != t->included)
        return fault_at(to, 0, "The first tier must start at 0 or where the included units end,",
                        t->included, places);
    return true;
}

static bool check_pair(const tb_tiers *t, size_t k, int places, tb__tiers_fault *to)
{
    const tb_tier *before = &t->tier[k - 1], *tier = &t->tier[k];
    if (before->open) return fault(to, TB__TIERS_TO, k - 1, "Only the last tier may be open.");
    if (tier->from <= before->from)
        return fault_at(to, k, "Tiers must rise: the one before starts at", before->from, places);
    if (tier->from < before->to)
        return fault_at(to, k, "Tiers overlap: the one before ends at", before->to, places);
    if (tier->from > before->to)
        return fault_at(to, k, "Tiers leave a gap: the one before ends at", before->to, places);
    return true;
}

bool tb__price_is_safe(tb_decimal price, tb_decimal more, int scale)
{
    tb_decimal sum, at_scale = {0, scale};
    return !tb_decimal_mul_int(tb_decimal_normal(price), TB_UNITS_MAX, &sum, NULL) &&
           !tb_decimal_add(sum, more, &sum, NULL) && !tb_decimal_add(sum, at_scale, &sum, NULL);
}

static bool check_prices(const tb_tiers *t, tb__tiers_fault *to)
{
    int scale = 0;
    tb_decimal flats = TB_DECIMAL_ZERO;
    bool safe = true;
    for (size_t k = 0; k < t->n; k++) {
        tb_decimal price = tb_decimal_normal(t->tier[k].price);
        if (price.scale > scale) scale = price.scale;
        safe = safe && !tb_decimal_add(flats, tb_decimal_normal(t->tier[k].flat), &flats, NULL);
    }
    for (size_t k = 0; k < t->n; k++)
        if (!safe || !tb__price_is_safe(t->tier[k].price, flats, scale))
            return fault(to, TB__TIERS_PRICE, k, "10^18 units at this price pass 2^127-1.");
    return true;
}

bool tb__tiers_settle(tb_tiers *tiers, tb__axis axis, int places, tb__tiers_fault *ret_fault)
{
    if (!settle_start(tiers, axis, places, ret_fault)) return false;
    for (size_t k = 0; k < tiers->n; k++) {
        const tb_tier *tier = &tiers->tier[k];
        if (k > 0 && !check_pair(tiers, k, places, ret_fault)) return false;
        if (!tier->open && tier->to <= tier->from)
            return fault(ret_fault, TB__TIERS_TO, k, "Must be above where the tier starts.");
    }
    if (!tiers->tier[tiers->n - 1].open)
        return fault(ret_fault, TB__TIERS_TO, tiers->n - 1, "The last tier must be open: null.");
    return check_prices(tiers, ret_fault);
}
