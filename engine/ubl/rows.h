/* A statement's lines as rows that a norm of electronic invoices can hold: each has one price, and
 * quantity x price / base quantity is its amount within 0.02. */
#ifndef TOLLBOOK_UBL_ROWS_H
#define TOLLBOOK_UBL_ROWS_H

#include "tollbook/invoice.h"

typedef struct tb__ubl_row {
    size_t line;                /* of the statement, from 0; behind its last: a row for no line */
    size_t part;                /* from 1 where the line has several rows; else 0 */
    const tb_bill_tier *tier;   /* the row is this one of several; else NULL */
    const tb_bill_share *share; /* the row is this zone's; else NULL */
    int64_t month;              /* that it is for */
    const char *unit;           /* of UN/ECE Recommendation 20 */
    tb_decimal quantity;        /* negative where it takes back */
    tb_decimal price, base;     /* for so many units; never negative, base above 0 */
    tb_decimal gross;           /* the price before discount; 0: there is none */
    tb_decimal amount;          /* in minor units */
} tb__ubl_row;

typedef tb_code (*tb__ubl_visit)(void *arg, const tb__ubl_row *row, tb_error *err);

/* -1 for a document that shows amounts given back as positive: a credit note; else 1. */
int tb__ubl_sign(const tb_statement *s);

/* Visits the rows in the order of lines, quantities and amounts times the sign. Without any line
 * but charges on the whole document, one row of nothing: a document has a row. */
TB_MUST_USE tb_code tb__ubl_rows(const tb_statement *s, tb__ubl_visit visit, void *arg,
                                 tb_error *err);

/* Whether the line is a charge (or an allowance) on the whole document instead: the contract's discount
 * and commit, and the minimum, but not their corrections, which are for another month. */
bool tb__ubl_is_charge(const tb_statement *s, size_t line);

/* The month that the line is for. */
int64_t tb__ubl_month(const tb_statement *s, size_t line);

#endif
