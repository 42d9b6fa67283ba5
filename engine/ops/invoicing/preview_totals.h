/* A preview's totals by currency, and within one by what is charged, beside those of the month before. They travel in
 * `next` from one part of a long answer to the next. */
#ifndef TOLLBOOK_OPS_PREVIEW_TOTALS_H
#define TOLLBOOK_OPS_PREVIEW_TOTALS_H

#include "tollbook/buf.h"
#include "tollbook/bill.h"
#include "tollbook/operation.h"

/* Amounts before tax by line kind, then all of them, and all with tax. */
typedef struct tb__month_sums {
    tb_sum kind[TB_LINE_KIND_COUNT], net, total;
} tb__month_sums;

typedef struct tb__currency_totals {
    char currency[4];
    tb__month_sums now, last;
} tb__currency_totals;

typedef struct tb__preview_totals {
    tb__currency_totals *list; /* ascending by currency */
    size_t n, cap;
} tb__preview_totals;

void tb__preview_totals_release(tb__preview_totals *totals);
/* Adds a month's sums; a currency in which all of them are 0 is left out. */
TB_MUST_USE tb_code tb__preview_totals_add(tb__preview_totals *totals, const char currency[4], bool last,
                                           const tb__month_sums *sums, tb_error *err);
/* Appends them to a `next`, and takes them from one. */
void tb__preview_totals_put(const tb__preview_totals *totals, tb_buf *next);
TB_MUST_USE tb_code tb__preview_totals_take(tb__preview_totals *totals, const char **next, tb_error *err);
/* Appends "totals":[...]; says a sentence for each currency. */
void tb__preview_totals_json(const tb__preview_totals *totals, tb_buf *out);
void tb__preview_totals_say(const tb__preview_totals *totals, tb_reply *reply);

#endif
