/* Cells of RFC 4180. Text from outside is guarded against spreadsheets that run cells; numbers are
 * ours and go out as they are, so that "-1.50" stays a number. */
#ifndef TOLLBOOK_INVOICE_CSV_H
#define TOLLBOOK_INVOICE_CSV_H

#include "tollbook/buf.h"
#include "tollbook/decimal.h"

/* Each begins with a comma unless it is the row's first. */
void tb__csv_text(tb_buf *out, const char *text);
void tb__csv_plain(tb_buf *out, const char *text); /* ours: no quotes, commas or line ends */
void tb__csv_decimal(tb_buf *out, tb_decimal value);
void tb__csv_money(tb_buf *out, tb_decimal value, int digits);
void tb__csv_number(tb_buf *out, int64_t value);
void tb__csv_time(tb_buf *out, int64_t us);
void tb__csv_end(tb_buf *out); /* the row's end: CRLF */
/* A row of names, separated by commas already. */
void tb__csv_head(tb_buf *out, const char *names);

#endif
