/* Figures, dates and quantities as people of a language read them, appended to a buffer. */
#ifndef TOLLBOOK_PRINT_FIGURES_H
#define TOLLBOOK_PRINT_FIGURES_H

#include "print/words.h"
#include "tollbook/bill.h"

/* Decimal text with thousands set apart, and a true minus. */
void tb__add_figure_text(tb_buf *out, tb__language language, const char *text, size_t len);
void tb__add_figure(tb_buf *out, tb__language language, tb_decimal value);
/* With `digits` after the point: money. */
void tb__add_amount(tb_buf *out, tb__language language, tb_decimal value, int digits);

void tb__add_day(tb_buf *out, tb__language language, int64_t day); /* 4 November 2026 */
/* Of a date as stored, "2026-11-04"; any other text is returned unchanged. */
void tb__add_date(tb_buf *out, tb__language language, const char *text);
void tb__add_month(tb_buf *out, tb__language language, int64_t month);  /* October 2026 */
void tb__add_period(tb_buf *out, tb__language language, int64_t month); /* 1 - 31 October 2026 */

/* What a line charges for, as people say it: "18.2 GB", "17 days of 31", "1.5 million requests".
 * Rounded: the exact quantity is in the auditor's page. */
TB_MUST_USE tb_code tb__add_quantity(tb_buf *out, tb__language language, tb_line_kind kind,
                                     tb_i128 units, int64_t month, tb_error *err);
/* The same of a position on a tier's axis, which is not rounded. */
TB_MUST_USE tb_code tb__add_position(tb_buf *out, tb__language language, tb_line_kind kind,
                                     tb_i128 units, tb_error *err);
/* "0.01 USD per GB" of a price per base unit. */
TB_MUST_USE tb_code tb__add_price(tb_buf *out, tb__language language, tb_line_kind kind,
                                  tb_decimal price, const char *currency, tb_error *err);
/* The same of a meter's line: "1,234.5 GB-months", "95.3 Mbps", "0.02 USD per GB-month". */
TB_MUST_USE tb_code tb__add_item_quantity(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units,
                                          tb_error *err);
TB_MUST_USE tb_code tb__add_item_position(tb_buf *out, tb__language language, const tb_bill_item *item, tb_i128 units,
                                          tb_error *err);
void tb__add_item_price(tb_buf *out, tb__language language, const tb_bill_item *item, tb_decimal price,
                        const char *currency);

/* Powers of ten between the unit that prices are quoted in and the base unit. */
int tb__price_places(tb_line_kind kind);

#endif
