/* Corrections for late usage: the difference between a month's bill as billed and as it is now, as
 * correction lines. A month without a bill counts as an empty one. Pure.
 *
 * A line whose unit prices are the same in both gives one line of what was added. Where a unit
 * price differs there are two, the old line reversed and the new one, never their silent net.
 * Amounts are differences of rounded amounts, so that a month billed in any number of steps comes
 * to the same total as in one.
 *
 * Corrections carry taxes of their own month, in rows of their own. What is added carries those that are in force for
 * the month; what is taken back carries those under which it was billed, the newest first. So that their sums do the same
 * as the lines', the amount of a row is the tax on all that stays billed under it, less what was charged before: a month
 * that is taken back in pieces gives back the tax that it had. A row lies at most one smallest unit (JPY 1, EUR 0.01) from
 * percent x base; in currencies without decimals two, where that holds the document to EN 16931 (BR-CO-17). */
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

/* What documents have billed of a month under the same taxes. */
typedef struct tb_billed_part {
    tb_decimal lines;                     /* the sum of the lines' amounts */
    tb_bill_taxed tax[TB_BILL_TAXES_MAX]; /* rates and reasons; amount: what was charged */
    size_t n_tax;
} tb_billed_part;

typedef struct tb_billed {
    tb_decimal lines;
    tb_billed_part *parts; /* in the order in which they were billed first */
    size_t n_parts;
} tb_billed;

typedef struct tb_corrections {
    tb_bill_line *lines; /* all of kind correction, numbered from 1 */
    tb_correction *what; /* one for each line */
    size_t n;
    tb_decimal amount; /* the sum of the lines' amounts */
    const tb_bill_input *input; /* the caller's to set, as billed is: the taxes in force for the month; NULL: none */
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
