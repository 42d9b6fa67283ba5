/* What an account is usually billed a month, and whether a month is far from it. Pure, in exact decimals. The rule for
 * users: docs/invoicing.md. */
#ifndef TOLLBOOK_OPS_USUAL_H
#define TOLLBOOK_OPS_USUAL_H

#include "tollbook/decimal.h"

#define TB__USUAL_MONTHS 3 /* the months before, of which the median is taken */

typedef struct tb__usual_limits {
    tb_decimal percent, money; /* a change is unusual from both of them on */
} tb__usual_limits;

typedef struct tb__usual {
    size_t n;           /* months that the median rests on; 0: nothing is known to be usual */
    tb_decimal amount;  /* the median, exact */
    tb_decimal change;  /* the month's amount less the median */
    tb_decimal percent; /* the change in per cent of the median, half up to one digit */
    bool is_unusual;
} tb__usual;

/* past: what the n months before came to, before tax, at most TB__USUAL_MONTHS; those that are not above 0 do not count.
 * Amounts beyond exact decimals: n is 0. */
tb__usual tb__usual_find(const tb_decimal *past, size_t n, tb_decimal now, const tb__usual_limits *limits);

#endif
