/* Books, documents and voids in the log: as each is stored, and all that are there when the log begins. */
#include "store/proof/log.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/invoicestore.h"

#define TERMS_MAX ((size_t)64 << 20)

static tb_code append_book(tb__proof_log *log, const char *id, tb_text text, tb_error *err)
{
    tb_proof_entry entry = {.type = TB_PROOF_BOOK, .of = -1};
    memcpy(entry.book, id, strnlen(id, TB_PROOF_BOOK_ID));
    return tb__proof_append(log, &entry, (tb__proof_of){0, id}, text, err);
}

static tb_code append_invoice(tb__proof_log *log, tb__proof_of of, int64_t month, tb_text text, tb_error *err)
{
    tb_proof_entry entry = {.type = TB_PROOF_INVOICE, .month = month, .of = -1};
    return tb__proof_append(log, &entry, of, text, err);
}

void tb__proof_void_text(const char *number, int64_t at_us, tb_buf *out)
{
    char moment[20];
    tb_time_format(at_us, moment);
    tb_buf_fmt(out, "{\"number\":\"%s\",\"voided\":\"%.20s\"}", number, moment);
}

static tb_code append_void(tb__proof_log *log, tb__proof_of of, int64_t at_us, tb_error *err)
{
    tb_proof_entry entry = {.type = TB_PROOF_VOID, .of = -1};
    tb_buf text;
    tb_buf_init(&text, 256, NULL);
    tb__proof_void_text(of.subject, at_us, &text);
    tb_code code = tb_buf_check(&text, err);
    if (!code) code = tb__proof_append(log, &entry, of, (tb_text){text.data, text.len}, err);
    tb_buf_release(&text);
    return code;
}

/* --- one by one --- */

tb_code tb__proof_book(tb_store *store, const char *id, const char *text, size_t len, tb_error *err)
{
    tb__proof_log *log;
    tb_code code = tb__proof_begin(store, &log, err);
    return code || !log ? code : append_book(log, id, (tb_text){text, len}, err);
}

static tb_code append_terms(tb__proof_log *log, tb__proof_of of, int64_t month, tb_text text, tb_error *err)
{
    tb_proof_entry entry = {.type = TB_PROOF_TERMS, .month = month, .of = -1};
    return tb__proof_append(log, &entry, of, text, err);
}

/* A document that corrects a month of before the log has none where that month's usage is not known any more. */
static tb_code write_terms(tb__proof_log *log, const tb_invoice *invoice, tb_error *err)
{
    tb_error why = {.code = TB_OK};
    tb_buf text;
    if (!invoice->terms) return TB_OK;
    tb_buf_init(&text, TERMS_MAX, NULL);
    tb_code code = invoice->terms(invoice->terms_ctx, invoice, &text, &why);
    if (code == TB_E_NOT_KEPT) {
        tb_buf_release(&text);
        return TB_OK;
    }
    if (code && text.failed)
        (void)tb_fail(err, code = TB_E_VALIDATION, NULL, "%s and the months that it corrects have too many lines for the log of documents: its"
                      " terms take %zu MB at most.", invoice->number, TERMS_MAX >> 20);
    else if (code) (void)tb_fail(err, code, why.field, "%s", why.message);
    if (!code) code = append_terms(log, (tb__proof_of){invoice->account, invoice->number}, invoice->month, (tb_text){text.data, text.len}, err);
    tb_buf_release(&text);
    return code;
}

tb_code tb__proof_invoice(tb_store *store, const tb_invoice *invoice, tb_error *err)
{
    const tb__proof_of of = {invoice->account, invoice->number};
    tb__proof_log *log;
    tb_code code = tb__proof_begin(store, &log, err);
    if (code || !log) return code;
    code = tb__proof_close_account(log, invoice->account, tb_month_first_day(invoice->month + 1) - 1, err);
    if (!code) code = append_invoice(log, of, invoice->month, (tb_text){invoice->text, invoice->text_len}, err);
    return code ? code : write_terms(log, invoice, err);
}

tb_code tb_store_proof_terms(tb_store *store, const tb_invoice *invoice, tb_text text, tb_error *err)
{
    tb__proof_log *log;
    tb_code code = tb__proof_begin(store, &log, err);
    if (!code && !log) code = tb__proof_none(err);
    return code ? code : append_terms(log, (tb__proof_of){invoice->account, invoice->number}, invoice->month, text, err);
}

tb_code tb__proof_void(tb_store *store, int64_t account, const char *number, int64_t at_us, tb_error *err)
{
    tb__proof_log *log;
    tb_code code = tb__proof_begin(store, &log, err);
    return code || !log ? code : append_void(log, (tb__proof_of){account, number}, at_us, err);
}

/* --- what is there --- */

static tb_code book_row(tb__proof_log *log, sqlite3_stmt *s, tb_error *err)
{
    const char *id = (const char *)sqlite3_column_text(s, 0), *text = (const char *)sqlite3_column_text(s, 1);
    if (!id || !text) return tb_no_memory(err);
    return append_book(log, id, (tb_text){text, (size_t)sqlite3_column_bytes(s, 1)}, err);
}

static tb_code invoice_row(tb__proof_log *log, sqlite3_stmt *s, tb_error *err)
{
    const char *number = (const char *)sqlite3_column_text(s, 1), *text = (const char *)sqlite3_column_text(s, 3);
    if (!number || !text) return tb_no_memory(err);
    return append_invoice(log, (tb__proof_of){sqlite3_column_int64(s, 0), number}, sqlite3_column_int64(s, 2),
                          (tb_text){text, (size_t)sqlite3_column_bytes(s, 3)}, err);
}

static tb_code void_row(tb__proof_log *log, sqlite3_stmt *s, tb_error *err)
{
    const char *number = (const char *)sqlite3_column_text(s, 1);
    if (!number) return tb_no_memory(err);
    return append_void(log, (tb__proof_of){sqlite3_column_int64(s, 0), number}, sqlite3_column_int64(s, 2), err);
}

typedef tb_code (*row_fn)(tb__proof_log *log, sqlite3_stmt *s, tb_error *err);

static tb_code append_rows(tb__proof_log *log, tb__statement of, row_fn fn, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(log->store, of, &s, err);
    while (!code && !(code = tb__step(log->store, s, &row, err)) && row) {
        code = fn(log, s, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static tb_code put_seed(tb_store *store, const uint8_t random[TB_PROOF_SEED], tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SECRET_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, tb__proof_secret, -1, SQLITE_STATIC);
    sqlite3_bind_blob(s, 2, random, TB_PROOF_SEED, SQLITE_STATIC);
    code = tb__run(store, s, err);
    sqlite3_clear_bindings(s);
    return code;
}

static tb_code note_first(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    int64_t *first = ctx;
    (void)hours;
    (void)err;
    if (day < *first) *first = day;
    return TB_OK;
}

/* The first day with usage, or `today`. */
static tb_code first_day(tb_store *store, int64_t today, int64_t *ret_day, tb_error *err)
{
    int64_t *series = NULL, gauge = today;
    size_t n = 0;
    tb_code code = tb__int_of(store, TB__SQL_PROOF_GAUGE_FIRST, NULL, 0, today, &gauge, err);
    *ret_day = gauge < today ? gauge : today;
    if (!code) code = tb__list_ints(store, TB__SQL_PROOF_SERIES, NULL, 0, &series, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        code = store->plane.counters->each_day(store, series[i], note_first, ret_day, err);
    free(series);
    return code;
}

tb_code tb_store_proof_start(tb_store *store, const uint8_t random[TB_PROOF_SEED], int64_t now_us, tb_error *err)
{
    int64_t open = INT64_MIN, day = 0;
    tb__proof_log *log;
    tb_code code = tb__proof_open(store, &open, err);
    if (!code && open != INT64_MIN)
        code = tb_fail(err, TB_E_USAGE, NULL, "The log of documents was begun already. Close days with: tollbook proof close-days");
    if (!code) code = first_day(store, tb_day_from_us(now_us), &day, err);
    if (!code) code = put_seed(store, random, err);
    if (!code) code = tb__meta_set(store, "proof_open", day, err);
    if (!code) code = tb__proof_begin(store, &log, err);
    if (code) return code;
    tb__late_forget(store);
    code = append_rows(log, TB__SQL_PROOF_BOOKS, book_row, err);
    if (!code) code = append_rows(log, TB__SQL_PROOF_INVOICES, invoice_row, err);
    return code ? code : append_rows(log, TB__SQL_PROOF_VOIDS, void_row, err);
}
