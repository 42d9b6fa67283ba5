/* Decimals, quantities and times appended to a buffer, for all outputs of an invoice. */
#ifndef TOLLBOOK_INVOICE_TEXT_H
#define TOLLBOOK_INVOICE_TEXT_H

#include "tollbook/buf.h"
#include "tollbook/invoice.h"

void tb__add_decimal(tb_buf *out, tb_decimal value); /* plain, no zeros at the end */
void tb__add_sum(tb_buf *out, tb_sum value);
/* The same for members that are doubles to clients: whole numbers end with ".0". */
void tb__add_double(tb_buf *out, tb_decimal value);
void tb__add_double_sum(tb_buf *out, tb_sum value);
/* With `digits` after the point: money. */
void tb__add_money(tb_buf *out, tb_decimal value, int digits);
void tb__add_i128(tb_buf *out, tb_i128 value);
void tb__add_time(tb_buf *out, int64_t us); /* 2026-10-01T00:00:00Z */
void tb__add_month_start(tb_buf *out, int64_t month);

/* The line's correction, NULL where it is none; the kind of the line, or of the one it corrects. */
const tb_correction *tb__correction_of(const tb_statement *statement, size_t line);
tb_line_kind tb__line_origin(const tb_statement *statement, size_t line);

/* What the line's quantity counts: "byte". */
const char *tb__line_unit(const tb_statement *statement, size_t line);
/* The line's item, where its quantity is in a meter's units: of a meter, or of bandwidth at a percentile. Else NULL. */
const tb_bill_item *tb__metered_item(const tb_statement *statement, size_t line);
/* Of a recurring fee, or of a correction of one. Else NULL. */
const tb_bill_item *tb__fee_item(const tb_statement *statement, size_t line);

/* The same tax, whatever its reason. */
bool tb__same_rate(const tb_bill_tax *a, const tb_bill_tax *b);

/* The first tax on the line: an electronic invoice has no second. NULL: none. */
const tb_bill_taxed *tb__tax_of(const tb_statement *statement, size_t line);

/* The taxes times the rate, each rounded to another currency's digits (BT-111). The tax charged before is rounded
 * together with the tax charged now, so that a month taken back in pieces gives back exactly the tax charged in that
 * currency. */
TB_MUST_USE tb_code tb__exchange_tax(const tb_statement *statement, tb_decimal rate, int digits, tb_decimal *ret,
                                     tb_error *err);

/* Of the kinds that are an amount, without a quantity or a price of one. */
bool tb__is_lump(tb_line_kind kind);
/* Whether the line, or the one that it corrects, is a commit whose rows name months: see tb_bill_tier. */
bool tb__is_period(const tb_statement *statement, size_t line);

/* What the line is for, in words: "Bandwidth", a meter's or a fee's name, a charge's description. */
const char *tb__line_title(const tb_statement *statement, size_t line);
/* "zone:101" as "zone 101". */
void tb__add_resource(tb_buf *out, const char *resource);

/* A month that a book cut in two repeats its prices. Joins the tiers from *i on that continue each other at one
 * price; *i moves past them. */
TB_MUST_USE tb_code tb__tiers_join(const tb_bill_line *line, size_t *i, tb_bill_tier *ret,
                                   tb_error *err);
/* *ret_one: all of the line's units have one price; then *ret is that tier. */
TB_MUST_USE tb_code tb__tiers_one(const tb_bill_line *line, bool *ret_one, tb_bill_tier *ret,
                                  tb_error *err);

#endif
