/* Prices usage by tiers: exact and checked arithmetic, pure, without memory.
 *
 * A month's usage of one thing is an axis from 0 to its sum. tb_tariff_rate prices any stretch of
 * it, as needed where books change within the month: usage keeps its position, each stretch is
 * priced by the book in force when it happened. A month's amount is the sum over its stretches, and
 * where all have the same tiers it does not matter how the month was cut.
 *
 * Included units are the first ones of the month, free on either axis. On the absolute axis a tier
 * covers the month's positions as they are; on the net axis tiers begin where the included units
 * end. A tier is entered by the first charged unit in it; its flat is charged in the stretch that
 * holds this unit. Free units enter no tier. Blocks of mode package are counted from there too, so
 * that a block begun in one stretch is not charged again in the next. */
#ifndef TOLLBOOK_TARIFF_H
#define TOLLBOOK_TARIFF_H

#include "tollbook/book.h"

TB_API_BEGIN

typedef struct tb_stretch {
    tb_i128 used;  /* the month's units before this stretch */
    tb_i128 units; /* of this stretch */
    tb_i128 whole; /* the month's units, all stretches: says which tier mode volume reaches, so at
                      least used + units there; other modes do not look at it */
} tb_stretch;

/* The charged units of a stretch in one tier. */
typedef struct tb_tier_segment {
    size_t tier;       /* index in tb_tiers */
    tb_i128 from, to;  /* positions (from, to] on the month's usage, included units counted */
    tb_i128 units;     /* to - from */
    tb_i128 blocks;    /* package: blocks begun here; else 0 */
    tb_decimal price;  /* per base unit, or per block */
    tb_decimal flat;   /* where the tier is entered here; else zero */
    tb_decimal amount; /* exact: units or blocks x price + flat */
} tb_tier_segment;

typedef struct tb_rating {
    tb_i128 free;      /* units that cost nothing because they are included */
    tb_decimal amount; /* exact: the sum of the segments' */
    size_t n;          /* ascending; tiers without charged units in the stretch are left out */
    tb_tier_segment segment[TB_TIERS_MAX];
} tb_rating;

/* tiers: of a book. Errors: TB_E_OVERFLOW (not for up to TB_UNITS_MAX units and a book's prices);
 * TB_E_VALIDATION where a number of units is negative, or whole less than its part. */
TB_MUST_USE tb_code tb_tariff_rate(const tb_tiers *tiers, tb_stretch stretch, tb_rating *ret_rating,
                                   tb_error *err);

TB_API_END

#endif
