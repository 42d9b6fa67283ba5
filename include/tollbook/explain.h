/* Explains a line of an invoice: its tiers, the days behind it, and the hour in which each
 * threshold was crossed. Works in the caller's snapshot. */
#ifndef TOLLBOOK_EXPLAIN_H
#define TOLLBOOK_EXPLAIN_H

#include "tollbook/issue.h"

TB_API_BEGIN

/* Line of a stored invoice. INVOICE_NOT_FOUND: no such invoice of this account, or no such line. */
TB_MUST_USE tb_code tb_explain_invoice(tb_store *store, int64_t account, const char *number,
                                       uint32_t line, tb_buf *out, tb_error *err);
/* The same with "hours": the line's usage in each hour of a day (since 1970). TB_EXPLAIN_NO_DAY: without.
 * TB_E_VALIDATION, err->field day: the line's month does not have it. */
#define TB_EXPLAIN_NO_DAY INT64_MIN
TB_MUST_USE tb_code tb_explain_invoice_day(tb_store *store, int64_t account, const char *number,
                                           uint32_t line, int64_t day, tb_buf *out, tb_error *err);
/* Line of the month's invoice, or of its draft where it is not final. */
TB_MUST_USE tb_code tb_explain_month(tb_store *store, int64_t account, int64_t month, uint32_t line,
                                     const tb_month_books *books, int64_t now_us, tb_buf *out,
                                     tb_error *err);

TB_API_END

#endif
