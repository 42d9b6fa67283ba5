/* The rating of usage by tiers: pure arithmetic, exact, checked, without allocation.
 *
 * A month's usage of one thing is an axis from 0 to its sum. tb_tariff_rate prices any stretch of
 * it, as needed where books change within the month: usage keeps its position, each stretch is
 * priced by the book in force when it happened. A month's amount is the sum over its stretches, and
 * where all have the same tiers it does not matter how the month was cut.
 *
 * Included units are the first ones of the month, free on either axis. On the absolute axis a tier
 * covers the month's positions as they are; on the net axis tiers begin where the included units
 * end. A tier is entered by the first charged unit in it; its flat is charged in the stretch that
 * holds this unit, if that stretch's tiers have one there. So where the tiers of a month's
 * stretches differ it can have flats of both or of none. In mode volume only the tier that the month
 * reaches has its flat. Free units enter no tier. Blocks of mode package are counted from the same
 * position, so that a block begun in one stretch is not charged again in the next.
 *
 * tb_tariff is the same for many resources at once: the amount as a function of the month's sum,
 * laid out as straight pieces, each price x units + offset. */
#ifndef TOLLBOOK_TARIFF_H
#define TOLLBOOK_TARIFF_H

#include "tollbook/book.h"

TB_API_BEGIN

/* --- one stretch --- */

typedef struct tb_stretch {
    tb_i128 used;  /* the month's units before this stretch */
    tb_i128 units; /* of this stretch */
    tb_i128 whole; /* the month's units, all stretches: for mode volume, at least used + units there; not used by other
                      modes */
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

/* The month's units before the first charged one of a tier; in *ret_entered whether a month of
 * `whole` units has the tier's flat, where this unit is priced by these tiers. */
tb_i128 tb_tier_entry(const tb_tiers *tiers, size_t tier, tb_i128 whole, bool *ret_entered);

/* --- many months at once --- */

#define TB_PIECES_MAX 128 /* a power of two above TB_TIERS_MAX and the free units' piece */

/* Immutable once prepared: any number of threads may read it. Amounts are mantissas at `scale`.
 * Piece k covers (from[k], from[k + 1]]; offsets include flats and the cost of lower tiers. */
typedef struct tb_tariff {
    int scale;
    unsigned levels;     /* 2^levels pieces, those past the last beginning at UINT64_MAX */
    uint64_t most;       /* the amount of so many units is within 2^127 - 1 */
    uint64_t most_small; /* and of so many within 2^63 - 1 */
    uint64_t from[TB_PIECES_MAX];
    struct {
        uint64_t price, offset; /* modulo 2^64: exact wherever the amount is small */
    } small[TB_PIECES_MAX];
    struct {
        tb_i128 price, offset;
    } piece[TB_PIECES_MAX];
} tb_tariff;

/* tiers: of a book. TB_E_VALIDATION for mode package, which has no straight pieces. */
TB_MUST_USE tb_code tb_tariff_prepare(const tb_tiers *tiers, tb_tariff *ret_tariff, tb_error *err);

/* The piece that units fall into. No branch depends on units. */
static inline size_t tb_tariff_piece(const tb_tariff *tariff, uint64_t units, unsigned levels)
{
    size_t k = 0;
    for (size_t step = (size_t)1 << levels >> 1; step > 0; step >>= 1)
        k += units > tariff->from[k + step] ? step : 0;
    return k;
}

/* A month's amount for units <= tariff->most_small. */
static inline int64_t tb_tariff_small(const tb_tariff *tariff, uint64_t units)
{
    size_t k = tb_tariff_piece(tariff, units, tariff->levels);
    return (int64_t)(units * tariff->small[k].price + tariff->small[k].offset);
}

/* A month's amount. TB_E_OVERFLOW past tariff->most. */
TB_MUST_USE tb_code tb_tariff_amount(const tb_tariff *tariff, uint64_t units, tb_decimal *ret,
                                     tb_error *err);

/* n months' amounts and their exact sum, both as mantissas at tariff->scale. TB_E_OVERFLOW where
 * one passes 2^63 - 1 (or, wide, 2^127 - 1, or the sum does): err->line is its number from 1;
 * ret_amounts then holds nothing of use, ret_total is not written. */
TB_MUST_USE tb_code tb_tariff_amounts(const tb_tariff *tariff, const uint64_t *units, size_t n,
                                      int64_t *ret_amounts, tb_i128 *ret_total, tb_error *err);
TB_MUST_USE tb_code tb_tariff_amounts_wide(const tb_tariff *tariff, const uint64_t *units, size_t n,
                                           tb_i128 *ret_amounts, tb_i128 *ret_total, tb_error *err);
/* The same for units in ascending order: no piece is looked up, so that rating the same months
 * under many tariffs (a what-if) costs a multiplication each. */
TB_MUST_USE tb_code tb_tariff_amounts_sorted(const tb_tariff *tariff, const uint64_t *units,
                                             size_t n, int64_t *ret_amounts, tb_i128 *ret_total,
                                             tb_error *err);

/* --- totals alone, of the same months under many tariffs --- */

/* Sorts ascending; scratch has room for as many. */
void tb_units_sort(uint64_t *units, size_t n, uint64_t *scratch);
/* ret_before[i]: the sum of the first i units, i from 0 to n; room for n + 1. */
void tb_units_sum(const uint64_t *units, size_t n, tb_i128 *ret_before);
/* The sum of the months' exact amounts at tariff->scale, piece by piece: units ascend, before is of
 * tb_units_sum. Right only where nothing is rounded month by month, and no minimum applies. Errors
 * as of tb_tariff_amounts_wide. */
TB_MUST_USE tb_code tb_tariff_total_sorted(const tb_tariff *tariff, const uint64_t *units,
                                           const tb_i128 *before, size_t n, tb_i128 *ret_total,
                                           tb_error *err);

TB_API_END

#endif
