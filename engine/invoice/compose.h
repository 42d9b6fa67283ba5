/* Documents out of rated months: making them, checking them and their readers put them together by these. */
#ifndef TOLLBOOK_INVOICE_COMPOSE_H
#define TOLLBOOK_INVOICE_COMPOSE_H

#include "tollbook/invoice.h"

/* The late month of which documents have billed something. */
typedef struct tb__billed_of {
    int64_t month;
    const char *invoice;  /* that is corrected; "": none */
    tb_rounding rounding; /* of the month, which a document does not say */
    bool early;           /* by the rules up to schema 3: its own invoice and credit notes of that count alone */
    bool floored;         /* as in tb_billed */
} tb__billed_of;
/* Adds what one document billed; the oldest first. */
TB_MUST_USE tb_code tb__billed_add(const tb__billed_of *late, const tb_statement *s, tb_billed *billed, tb_error *err);

/* What a statement is put together from. */
typedef struct tb__composing {
    const tb_bill *bill; /* with its one-off charges; for a credit note the corrected month's */
    const tb_bill_input *input;
    bool whole; /* by the rules before 1.1: its own taxes on all lines */
    const tb_corrections *lists;
    size_t n_lists;
    uint64_t watermark;
} tb__composing;
/* The statement of an invoice, not dressed yet. It points to all of these, none of which may move. free() the books. */
TB_MUST_USE tb_code tb__compose(const tb__composing *of, tb_corrected *ret_joined, tb_statement_book **ret_books,
                                tb_statement *ret_statement, tb_error *err);

/* A statement and what it points to. */
typedef struct tb__composed {
    tb_corrected joined;
    tb_statement_book *books;
    tb_statement statement;
} tb__composed;
/* The statement of a credit note. Limits the corrections: see tb__is_limit. of->lists: the corrections. Do not move *ret; release it
 * on success. */
TB_MUST_USE tb_code tb__compose_credit(const tb__composing *of, tb_corrections *corrections, const char *credited,
                                       tb__composed *ret, tb_error *err);
/* The line of a credit note that leaves out what one-off credits had taken of the month, and it can no longer bear. */
bool tb__is_limit(const tb_statement *s, size_t line);
void tb__composed_release(tb__composed *composed);

#endif
