/* Making a sheet: blocks and rows are added at its end, with their texts. The first failure (memory, a figure that
 * overflows) is kept in `code`, and checked at the end. */
#ifndef TOLLBOOK_PRINT_MAKER_H
#define TOLLBOOK_PRINT_MAKER_H

#include "print/figures.h"
#include "print/sheet.h"

typedef struct tb__maker {
    tb__sheet *sheet;
    const tb_statement *s;
    const char *sha256;
    const tb_invoice_names *names;
    tb__language language;
    tb_buf out; /* the text that is being written */
    tb_error *err;
    tb_code code;
} tb__maker;

/* A block at the end; the rows that follow are its own. NULL: no memory. */
tb__block *tb__maker_block(tb__maker *m, tb__block_kind kind, const char *text);
/* A row of the last block. Never NULL: when memory is short, a dummy. */
tb__row *tb__maker_row(tb__maker *m, tb__row_kind kind);
tb__row *tb__maker_pair(tb__maker *m, tb__row_kind kind, const char *name, const char *value);

/* Moves the text of m->out to the sheet's memory. Bytes that are not UTF-8 and noncharacters become U+FFFD, control
 * characters and characters that change the direction of others become spaces. */
const char *tb__maker_text(tb__maker *m);
const char *tb__maker_copy(tb__maker *m, const char *text);
const char *tb__maker_word(const tb__maker *m, tb__word word); /* static */
const char *tb__maker_filled(tb__maker *m, tb__word word, const char *with);
const char *tb__maker_amount(tb__maker *m,
                             tb_decimal value); /* in the invoice's currency's digits */
const char *tb__maker_money(tb__maker *m, tb_decimal value); /* and its name: "1,234.50 USD" */
const char *tb__maker_i64(tb__maker *m, int64_t value);      /* without thousands: an id */

void tb__maker_keep(tb__maker *m, tb_code code); /* the first one that is not OK */

bool tb__is_credit(const tb_statement *s);
bool tb__is_draft(const tb_statement *s);
bool tb__is_void(const tb_statement *s);

/* The parts of a sheet, in order. */
void tb__make_head(tb__maker *m);    /* head.c: title, facts, parties */
void tb__make_parties(tb__maker *m); /* of these the parties alone */
void tb__make_summary(tb__maker *m); /* summary.c */
void tb__make_totals(tb__maker *m);  /* totals.c: totals, payment, notes */
void tb__make_proof(tb__maker *m);   /* proof.c */
void tb__make_details(tb__maker *m); /* details.c */
void tb__make_auditor(tb__maker *m); /* auditor.c */

/* details.c: the name of a line's billed object. */
const char *tb__line_words(tb__maker *m, size_t line);
/* The month that a line's seconds are of; INT64_MIN: they are of a year. */
int64_t tb__line_month(const tb__maker *m, size_t line);

#endif
