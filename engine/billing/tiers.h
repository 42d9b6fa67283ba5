/* Rules for a list of tiers as a whole (book.h). */
#ifndef TOLLBOOK_BILLING_TIERS_H
#define TOLLBOOK_BILLING_TIERS_H

#include "tollbook/book.h"

typedef enum tb__axis { TB__AXIS_UNSAID, TB__AXIS_ABSOLUTE, TB__AXIS_NET } tb__axis;

typedef enum tb__tiers_key {
    TB__TIERS_LIST, /* the list itself */
    TB__TIERS_AXIS,
    TB__TIERS_FROM, /* of the tier, as are those that follow */
    TB__TIERS_TO,
    TB__TIERS_PRICE,
} tb__tiers_key;

typedef struct tb__tiers_fault {
    tb__tiers_key key;
    size_t tier;
    char message[160];
} tb__tiers_fault;

/* Sets included_absolute and checks the tiers; *ret_fault is written on failure. places: decimal places from the
 * thresholds' unit to the base unit (9 for GB), for the message. */
bool tb__tiers_settle(tb_tiers *tiers, tb__axis axis, int places, tb__tiers_fault *ret_fault);

/* Whether TB_UNITS_MAX units at this price, plus `more`, fit a decimal of at least `scale`. */
bool tb__price_is_safe(tb_decimal price, tb_decimal more, int scale);

#endif
