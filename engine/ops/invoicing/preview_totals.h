/* A preview's totals by currency, and within one by what is charged, beside those of the month before. They travel in
 * `next` from one part of a long answer to the next. */
#ifndef TOLLBOOK_OPS_PREVIEW_TOTALS_H
#define TOLLBOOK_OPS_PREVIEW_TOTALS_H

#include "tollbook/buf.h"
#include "tollbook/invoice.h"
#include "tollbook/operation.h"

/* The rows of a currency: all before tax, all with tax, and before tax by kind of line; each meter is a row. */
typedef struct tb__preview_total {
    char currency[4];
    enum { TB__TOTAL_NET, TB__TOTAL_GROSS, TB__TOTAL_KINDS } row; /* TB__TOTAL_KINDS + tb_line_kind */
    char meter[TB_METER_ID_MAX + 1];
    tb_sum now, last;
} tb__preview_total;

typedef struct tb__preview_totals {
    tb__preview_total *list; /* ascending by currency, row and meter */
    size_t n, cap;
} tb__preview_totals;

void tb__preview_totals_release(tb__preview_totals *totals);
/* Adds a document of the month, or of the month before. */
TB_MUST_USE tb_code tb__preview_totals_add(tb__preview_totals *totals, const tb_statement *document, bool last, tb_error *err);
/* Appends them to a `next`, and takes them from one. */
void tb__preview_totals_put(const tb__preview_totals *totals, tb_buf *next);
TB_MUST_USE tb_code tb__preview_totals_take(tb__preview_totals *totals, const char **next, tb_error *err);
/* Appends "totals":[...], with the meters' declared names; says a sentence for each currency. What is 0 in both months is
 * left out. */
void tb__preview_totals_json(const tb__preview_totals *totals, const tb_meter *meters, size_t n, tb_buf *out);
void tb__preview_totals_say(const tb__preview_totals *totals, tb_reply *reply);

#endif
