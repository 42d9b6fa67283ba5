/* The books and invoices that overlap a span of time: two R*Trees (rtree_i32) over whole hours. They are indexes and
 * never the source of truth: their contents are made from the tables book and invoice and can be rebuilt at any time,
 * and every hit is checked exactly against its row.
 * rtree_i32 wraps silently past 32 bits, so bounds are checked before they go in. */
#include "store/core/trees.h"
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

bool tb__span_hours(int64_t from_us, int64_t to_us, int32_t *ret_first, int32_t *ret_last)
{
    int64_t first = from_us == INT64_MIN ? INT32_MIN : tb__floor_div(from_us, TB_US_PER_HOUR);
    int64_t last = to_us == INT64_MAX ? INT32_MAX : tb__floor_div(to_us - 1, TB_US_PER_HOUR);
    if (from_us >= to_us || first < INT32_MIN || last > INT32_MAX || first > last) return false;
    *ret_first = (int32_t)first;
    *ret_last = (int32_t)last;
    return true;
}

tb_code tb__span_put(tb_store *store, tb__statement put, int64_t id, int64_t from_us, int64_t to_us,
                     tb_error *err)
{
    int32_t first, last;
    if (!tb__span_hours(from_us, to_us, &first, &last))
        return tb_fail(err, TB_E_VALIDATION, "span", "Hours must lie within 32 bits.");
    const int64_t values[3] = {id, first, last};
    return tb__run_ints(store, put, values, 3, err);
}

/* --- making them anew --- */

tb_code tb__book_spans_rebuild(tb_store *store, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__run_ints(store, TB__SQL_BOOK_SPAN_CLEAR, NULL, 0, err);
    if (!code) code = tb__sql(store, TB__SQL_BOOK_TRUTH, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__span_put(store, TB__SQL_BOOK_SPAN_PUT, sqlite3_column_int64(s, 0),
                            sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), err);
        if (code) sqlite3_reset(s);
    }
    return code ? code : tb__tree_wipe(store, TB__TREE_book_span, err);
}

/* --- asking --- */

typedef struct touching {
    tb_touched *list;
    size_t n, cap;
    int64_t from_us, to_us;
} touching;

static tb_code add(touching *t, const tb_touched *hit, const char *name, tb_error *err)
{
    if (hit->from_us >= t->to_us || hit->to_us <= t->from_us) return TB_OK; /* the exact check */
    tb_code code = tb__grow(&t->list, t->n, &t->cap, sizeof *t->list, err);
    if (!code && !name) code = tb_no_memory(err);
    if (code) return code;
    tb_touched *to = &t->list[t->n++];
    *to = *hit;
    memcpy(to->name, name, strnlen(name, sizeof to->name - 1));
    return TB_OK;
}

static tb_code touched_books(tb_store *store, touching *t, const int64_t hours[2], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_BOOK_SPANS, hours, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        tb_touched hit = {.from_us = sqlite3_column_int64(s, 2),
                          .to_us = sqlite3_column_int64(s, 3)};
        const char *currency = (const char *)sqlite3_column_text(s, 4);
        if (currency) memcpy(hit.currency, currency, strnlen(currency, 3));
        hit.superseded = sqlite3_column_int(s, 5) != 0;
        hit.contract = sqlite3_column_int(s, 6) != 0;
        code = add(t, &hit, (const char *)sqlite3_column_text(s, 1), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static tb_code touched_invoices(tb_store *store, touching *t, const int64_t hours[2], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(store, TB__SQL_INVOICE_SPANS, hours, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t month = sqlite3_column_int64(s, 2);
        tb_touched hit = {.invoice = true,
                          .account = sqlite3_column_int64(s, 3),
                          .from_us = tb_month_start_us(month),
                          .to_us = tb_month_start_us(month + 1)};
        code = add(t, &hit, (const char *)sqlite3_column_text(s, 1), err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_touched(tb_store *store, int64_t from_us, int64_t to_us, tb_touched **ret_touched,
                         size_t *ret_n, tb_error *err)
{
    touching t = {.from_us = from_us, .to_us = to_us};
    int32_t first, last;
    if (!tb__span_hours(from_us, to_us, &first, &last))
        return tb_fail(err, TB_E_VALIDATION, "span", "The span is empty or past all hours.");
    const int64_t hours[2] = {first, last};
    tb_code code = touched_books(store, &t, hours, err);
    if (!code) code = touched_invoices(store, &t, hours, err);
    if (code) {
        free(t.list);
        return code;
    }
    *ret_touched = t.list;
    *ret_n = t.n;
    return TB_OK;
}
