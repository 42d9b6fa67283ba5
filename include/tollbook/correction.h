/* Corrections for late usage: the difference between a month's bill as billed and as it is now, as
 * correction lines. A month without a bill counts as an empty one. Pure.
 *
 * A line whose unit prices are the same in both gives one line of what was added. Where a unit
 * price differs there are two, the old line reversed and the new one, never their silent net.
 * Amounts are differences of rounded amounts, so that a month billed in any number of steps comes
 * to the same total as in one.
 *
 * Corrections carry their own month's taxes, in rows of their own. So that their sums do the same, the amount of
 * such a row is the tax on all that the month has come to by then, less what was charged of it before: a month that
 * is taken back in pieces gives back the tax that it had. A row lies less than one smallest unit (JPY 1, EUR 0.01)
 * from percent x base, within what EN 16931 allows (BR-CO-17: less than 1). */
#ifndef TOLLBOOK_CORRECTION_H
#define TOLLBOOK_CORRECTION_H

#include "tollbook/invoice.h"

TB_API_BEGIN

typedef struct tb_late_month {
    int64_t month;
    const char *invoice; /* the number of the invoice that is corrected; "": the month has none */
    uint64_t since;      /* the watermark of `before`; where nothing is billed, of the month's run */
    const tb_bill *before, *after;
} tb_late_month;

/* What documents have billed of a month by now. */
typedef struct tb_billed {
    tb_decimal lines;                  /* the sum of the lines' amounts */
    tb_decimal tax[TB_BILL_TAXES_MAX]; /* of each of the month's taxes */
} tb_billed;

typedef struct tb_corrections {
    tb_bill_line *lines; /* all of kind correction, numbered from 1 */
    tb_correction *what; /* one for each line */
    size_t n;
    tb_decimal amount; /* the sum of the lines' amounts */
    const tb_bill_input *input; /* the caller's to set, as billed is: the month's taxes; NULL: it has none */
    tb_billed billed;
    void *memory;
} tb_corrections;

/* Lines' texts and figures are copied: before and after may go. n 0: nothing has changed. Nothing is billed yet. */
TB_MUST_USE tb_code tb_correct(const tb_late_month *late, const tb_alloc *alloc,
                               tb_corrections *ret_corrections, tb_error *err);
void tb_corrections_release(tb_corrections *corrections);

/* Holds a credit to what is left of the invoice: where the lines take off more than `remaining`, a
 * last line gives the rest back. remaining: positive, or zero. */
TB_MUST_USE tb_code tb_corrections_limit(tb_corrections *corrections, int64_t account,
                                         tb_decimal remaining, tb_error *err);

/* A bill's lines with corrections behind them, numbered through; taxes and totals anew. Borrows all it is
 * made of. For a credit note the bill is one without lines, its digits and rounding alone. Where there are corrections
 * alone, the bill's own taxes are left out. whole: NULL, or the bill's input: then its taxes are on all lines, as they
 * were once (see issue_verify.c). */
typedef struct tb_corrected {
    tb_bill bill;        /* not to be released */
    tb_correction *what; /* one for each line */
    void *memory;
} tb_corrected;
TB_MUST_USE tb_code tb_bill_with(const tb_bill *bill, const tb_bill_input *whole,
                                 const tb_corrections *lists, size_t n_lists, const tb_alloc *alloc,
                                 tb_corrected *ret, tb_error *err);
void tb_corrected_release(tb_corrected *corrected);

TB_API_END

#endif
