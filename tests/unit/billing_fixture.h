/* What the tests of the store's money side share: books, hours, inputs of bills, invoices' texts.
 */
#ifndef TOLLBOOK_TESTS_BILLING_FIXTURE_H
#define TOLLBOOK_TESTS_BILLING_FIXTURE_H

#include "store/core/internal.h"
#include "store_fixture.h"
#include "tollbook/calendar.h"
#include "tollbook/billsource.h"
#include "tollbook/bookstore.h"
#include "tollbook/invoicestore.h"
#include "tollbook/ledgerstore.h"

#include <sodium.h>

#define OCTOBER  681 /* 2026 */
#define NOVEMBER 682

static inline int64_t at(int month, int day, int hour)
{
    return tb_day_from_date((tb_date){2026, month, day}) * 24 + hour;
}

static inline int64_t us_at(int month, int day, int hour)
{
    return at(month, day, hour) * TB_US_PER_HOUR;
}

static inline void sql(fixture *f, const char *text)
{
    char *message = NULL;
    ck_assert_msg(sqlite3_exec(f->store->db, text, NULL, NULL, &message) == SQLITE_OK, "%s: %s",
                  text, message);
}

static inline void sql_refused(fixture *f, const char *text, const char *why)
{
    char *message = NULL;
    ck_assert_msg(sqlite3_exec(f->store->db, text, NULL, NULL, &message) != SQLITE_OK, "%s", text);
    ck_assert_msg(strstr(message, why) != NULL, "%s: %s", text, message);
    sqlite3_free(message);
}

static inline int64_t number(fixture *f, const char *text)
{
    sqlite3_stmt *s;
    ck_assert_msg(sqlite3_prepare_v2(f->store->db, text, -1, &s, NULL) == SQLITE_OK, "%s: %s", text,
                  sqlite3_errmsg(f->store->db));
    ck_assert_msg(sqlite3_step(s) == SQLITE_ROW, "%s", text);
    int64_t value = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return value;
}

/* --- reads that end in the middle --- */

static inline int count_down(void *left)
{
    return --*(int *)left <= 0;
}

/* Asks, stopped after one step of SQLite's machine, after two, and so on, until the answer is whole.
 * Whatever was read before is released: the address sanitizer sees what is not. */
static inline void stop_everywhere(fixture *f, tb_code (*ask)(tb_store *store, tb_error *err))
{
    tb_code code = TB_E_BUSY;
    int steps;
    for (steps = 1; code && steps < 10000; steps++) {
        tb_error err = {0};
        int left = steps;
        sqlite3_progress_handler(f->store->db, 1, count_down, &left);
        code = ask(f->store, &err);
        ck_assert_msg(!code || code == TB_E_BUSY, "%s: %s", tb_code_name(code), err.message);
    }
    sqlite3_progress_handler(f->store->db, 0, NULL, NULL);
    ck_assert_int_eq(code, TB_OK);
    ck_assert_int_gt(steps, 2);
}

/* --- verify's sentences --- */

typedef struct sentences {
    char text[16384];
    uint64_t n;
} sentences;

static inline void on_sentence(void *ctx, const char *sentence)
{
    sentences *all = ctx;
    size_t len = strlen(all->text);
    snprintf(all->text + len, sizeof all->text - len, "%s\n", sentence);
    all->n++;
}

static inline void verify_finds(fixture *f, const char *part)
{
    tb_error err = {0};
    sentences found = {.n = 0};
    uint64_t differences = 0;
    ok(tb_store_verify(f->store, on_sentence, &found, &differences, &err));
    ck_assert_msg(part || !differences, "%s", found.text);
    ck_assert_msg(!part || strstr(found.text, part) != NULL, "not found: %s\nin:\n%s", part,
                  found.text);
}

/* --- books --- */

static inline void book_text(char text[512], const char *id, const char *currency,
                             const char *effective, const char *minimum)
{
    snprintf(text, 512,
             "{\"book\":\"%s\",\"currency\":\"%s\",\"effective_from\":\"%s\",\"minimum_monthly\":"
             "\"%s\",\"bandwidth\":{\"premium\":{\"per\":\"GB\",\"regions\":{\"EU\":\"0.01\"}}}}",
             id, currency, effective, minimum);
}

/* Parses a book and adds it; a book that the store refuses is not added. */
static inline tb_code try_text_book(fixture *f, const char *text, bool *ret_known, tb_error *err)
{
    tb_book book;
    ck_assert_int_eq(tb_book_parse(text, strlen(text), NULL, &book, err), TB_OK);
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = tb_store_add_book(f->store, &book, NOW_US, ret_known, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    tb_book_release(&book);
    return code;
}

static inline void add_text_book(fixture *f, const char *text)
{
    tb_error err = {0};
    bool known = true;
    ok(try_text_book(f, text, &known, &err));
    ck_assert(!known);
}

static inline tb_code try_book(fixture *f, const char *id, const char *currency,
                               const char *effective, const char *minimum, bool *ret_known,
                               tb_error *err)
{
    char text[512];
    book_text(text, id, currency, effective, minimum);
    return try_text_book(f, text, ret_known, err);
}

static inline void add_book(fixture *f, const char *id, const char *effective)
{
    tb_error err = {0};
    bool known = true;
    ok(try_book(f, id, "USD", effective, "1.00", &known, &err));
    ck_assert(!known);
}

/* --- inputs --- */

/* An input with the store's own books. */
typedef struct source {
    tb_bill_source s;
    tb_book *books;
    size_t n_books;
} source;

static inline source input_at(fixture *f, int64_t account, int64_t month, uint64_t watermark,
                              int64_t now_us)
{
    tb_error err = {0};
    source in;
    ok(tb_store_books(f->store, &in.books, &in.n_books, &err));
    ok(tb_store_bill_input(f->store, &(tb_bill_query){account, month, watermark, in.books, in.n_books, now_us},
                           &in.s, &err));
    return in;
}

static inline source input_of(fixture *f, int64_t account, int64_t month)
{
    return input_at(f, account, month, TB_NOW, NOW_US);
}

static inline void source_release(source *in)
{
    tb_bill_source_release(&in->s);
    tb_books_release(in->books, in->n_books);
    free(in->books);
}

static inline tb_i128 bytes_in(const source *in)
{
    tb_i128 sum = 0;
    for (size_t i = 0; i < in->s.input.n_bytes; i++)
        sum += in->s.input.bytes[i].bytes;
    return sum;
}

/* One zone's hour of bytes, as a segment of its own. */
static inline void add_bytes(fixture *f, int64_t zone, const char *edge, int64_t hour,
                             uint64_t bytes)
{
    static uint64_t segment = 1000;
    const tb_row row = row_of(zone, edge, (int32_t)hour, TB_M_BYTES, bytes);
    fixture_add(f, &row, 1, ++segment);
}

/* --- invoices --- */

/* A text such as invoices have, as far as the store looks at it. */
static inline tb_code finish_text(void *ctx, const char *numbered, const char *previous,
                                  tb_buf *text, char sha256[65], tb_error *err)
{
    const tb_invoice *i = ctx;
    unsigned char hash[crypto_hash_sha256_BYTES];
    char head[600], tail[100];
    int year = 1970 + (int)(i->month / 12), month = (int)(i->month % 12) + 1;
    (void)err;
    int n = snprintf(head, sizeof head,
                     "{\"account\":%lld,\"currency\":\"%s\",\"kind\":\"%s\",\"number\":\"%s\","
                     "\"period\":{\"start\":\"%04d-%02d-01T00:00:00Z\"},\"previous\":%s%s%s,"
                     "\"replaces\":\"%s\"",
                     (long long)i->account, i->currency, i->kind, numbered, year, month,
                     previous[0] ? "\"" : "null", previous, previous[0] ? "\"" : "", i->replaces);
    int m = snprintf(tail, sizeof tail, ",\"total\":\"%s\",\"watermark\":%llu}", i->total,
                     (unsigned long long)i->watermark);
    char whole[700];
    snprintf(whole, sizeof whole, "%s%s", head, tail);
    crypto_hash_sha256(hash, (const unsigned char *)whole, (size_t)(n + m));
    sodium_bin2hex(sha256, 65, hash, sizeof hash);
    tb_buf_fmt(text, "%s,\"sha256\":\"%s\"%s", head, sha256, tail);
    return TB_OK;
}

static inline tb_invoice invoice_of(fixture *f, int64_t account, int64_t month, const char *total)
{
    tb_error err = {0};
    const int64_t last_us = number(f, "SELECT coalesce(max(finalized_us),0) FROM invoice");
    tb_invoice i = {.kind = "invoice",
                    .account = account,
                    .month = month,
                    .currency = "USD",
                    .finalized_us = last_us > NOW_US ? last_us : NOW_US};
    ok(tb_store_version(f->store, &i.watermark, &err));
    snprintf(i.total, sizeof i.total, "%s", total);
    return i;
}

/* Terms of which the log of documents knows nothing but the text. */
static inline tb_code terms_text(void *ctx, const tb_invoice *invoice, tb_buf *out, tb_error *err)
{
    (void)ctx;
    (void)err;
    tb_buf_fmt(out, "{\"terms of\":\"%s\"}", invoice->number);
    return TB_OK;
}

/* Finalises in a transaction of its own. */
static inline tb_code try_finalize(fixture *f, tb_invoice *invoice, bool *ret_known, tb_error *err)
{
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    invoice->terms = terms_text;
    tb_code code = tb_store_finalize(f->store, invoice, finish_text, invoice, ret_known, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    return code;
}

static inline tb_invoice finalize(fixture *f, int64_t account, int64_t month, const char *total)
{
    tb_error err = {0};
    tb_invoice i = invoice_of(f, account, month, total);
    bool known = true;
    ok(try_finalize(f, &i, &known, &err));
    ck_assert(!known);
    return i;
}

static inline tb_code try_void(fixture *f, const char *which, tb_error *err)
{
    ck_assert_int_eq(tb_store_begin(f->store, err), TB_OK);
    tb_code code = tb_store_void(f->store, which, NOW_US + 30 * TB_US_PER_DAY, err);
    if (code)
        tb_store_rollback(f->store);
    else
        ck_assert_int_eq(tb_store_commit(f->store, err), TB_OK);
    return code;
}

#endif
