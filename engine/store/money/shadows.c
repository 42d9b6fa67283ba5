/* Shadow books: rows beside the table of books, which billing never reads. Shadow bills are sealed, for nothing else
 * in the file repeats them; verify's caller rates them again, like invoices. No answer depends on them, so the data
 * version stays. */
#include "store/money/shadows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one --- */

/* The hash and id under a name; *ret_id 0: no row. */
static tb_code look_up(tb_store *store, tb__statement id, const char *name, int64_t *ret_id,
                       char ret_sha256[65], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, id, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    *ret_id = 0;
    if (code || !row) return code;
    const char *sha256 = (const char *)sqlite3_column_text(s, 0);
    if (!sha256) code = tb_no_memory(err);
    else
        snprintf(ret_sha256, 65, "%s", sha256);
    *ret_id = sqlite3_column_count(s) > 1 ? sqlite3_column_int64(s, 1) : 1;
    sqlite3_reset(s);
    return code;
}

tb_code tb__shadow_live(tb_store *store, const char *name, int64_t *ret_id, char ret_sha256[65],
                        tb_error *err)
{
    return look_up(store, TB__SQL_SHADOW_BY_NAME, name, ret_id, ret_sha256, err);
}

static tb_code insert(tb_store *store, const tb_book *book, int64_t now_us, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SHADOW_INSERT, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, book->id, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 2, book->currency, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, book->effective_us);
    sqlite3_bind_text(s, 4, book->sha256, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, now_us);
    sqlite3_bind_text(s, 6, book->canonical, (int)book->canonical_len, SQLITE_STATIC);
    return tb__run(store, s, err);
}

tb_code tb_store_add_shadow(tb_store *store, const tb_book *book, int64_t now_us, bool *ret_known,
                            tb_error *err)
{
    int64_t id, real = 0;
    char sha256[65] = "";
    tb_code code = tb__shadow_live(store, book->id, &id, sha256, err);
    bool known = !code && id && strcmp(sha256, book->sha256) == 0;
    if (!code && id && !known)
        return tb_fail(err, TB_E_BOOK, "book",
                       "A shadow %s is kept with other content; drop it first, or give the new one"
                       " another id.",
                       book->id);
    if (!code && !id) code = look_up(store, TB__SQL_BOOK_BY_NAME, book->id, &real, sha256, err);
    if (!code && real)
        return tb_fail(err, TB_E_BOOK, "book",
                       "Book %s bills already; give the shadow an id of its own.", book->id);
    if (!code && !known) code = tb_book_check_shown(book, err);
    if (!code && !known) code = insert(store, book, now_us, err);
    if (!code) *ret_known = known;
    return code;
}

static tb_code close_one(tb_store *store, int64_t id, const char *state, int64_t now_us,
                         tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SHADOW_CLOSE, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, id);
    sqlite3_bind_text(s, 2, state, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 3, now_us);
    return tb__run(store, s, err);
}

static tb_code find_live(tb_store *store, const char *book, int64_t *ret_id, tb_error *err)
{
    char sha256[65];
    tb_code code = tb__shadow_live(store, book, ret_id, sha256, err);
    if (code || *ret_id) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "book",
                   "There is no shadow book \"%.64s\". See: tollbook book list", book);
}

tb_code tb_store_drop_shadow(tb_store *store, const char *book, int64_t now_us, tb_error *err)
{
    int64_t id;
    tb_code code = find_live(store, book, &id, err);
    return code ? code : close_one(store, id, "dropped", now_us, err);
}

tb_code tb_store_activate_shadow(tb_store *store, const char *book, int64_t now_us, tb_error *err)
{
    int64_t id;
    tb_shadow shadow;
    bool known;
    tb_code code = find_live(store, book, &id, err);
    if (!code) code = tb_store_shadow(store, id, &shadow, err);
    if (code) return code;
    code = close_one(store, id, "activated", now_us, err);
    if (!code) code = tb_store_add_book(store, &shadow.book, now_us, &known, err);
    tb_shadows_release(&shadow, 1);
    return code;
}

/* --- reading --- */

static tb_code from_row(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_shadow *ret = item;
    ret->id = sqlite3_column_int64(s, 0);
    ret->added_us = sqlite3_column_int64(s, 1);
    return tb__stored_book(s, 2, &ret->book, err);
}

void tb_shadows_release(tb_shadow *shadows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tb_book_release(&shadows[i].book);
}

static void release_shadow(void *item)
{
    tb_shadows_release(item, 1);
}

static const tb__rows shadow_rows = {sizeof(tb_shadow), from_row, release_shadow};

tb_code tb_store_shadows(tb_store *store, tb_shadow **ret_shadows, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_SHADOWS, NULL, 0, &shadow_rows, ret_shadows, ret_n, err);
}

tb_code tb_store_shadow(tb_store *store, int64_t id, tb_shadow *ret_shadow, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_SHADOW, &id, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (!row) return tb_fail(err, TB_E_NOT_FOUND, "shadow", "There is no shadow %" PRId64 ".", id);
    code = from_row(s, ret_shadow, err);
    sqlite3_reset(s);
    return code;
}

/* --- shadow bills --- */

tb_code tb_store_add_shadow_bill(tb_store *store, const tb_shadow_bill *bill, int64_t now_us,
                                 tb_error *err)
{
    char billed[TB_DECIMAL_TEXT_MAX + 1], would[TB_DECIMAL_TEXT_MAX + 1];
    int minor = tb_currency_minor_digits(bill->currency);
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_SHADOW_BILL_INSERT, &s, err);
    if (code) return code;
    *tb_decimal_put_fixed(billed, bill->billed, minor) = 0;
    *tb_decimal_put_fixed(would, bill->would, minor) = 0;
    sqlite3_bind_int64(s, 1, bill->shadow);
    sqlite3_bind_int64(s, 2, bill->account);
    sqlite3_bind_int64(s, 3, bill->month);
    sqlite3_bind_int64(s, 4, (int64_t)bill->watermark);
    sqlite3_bind_text(s, 5, bill->currency, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, bill->invoice, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, billed, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 8, would, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 9, (int64_t)bill->unpriced);
    sqlite3_bind_int64(s, 10, now_us);
    return tb__run(store, s, err);
}

static tb_code amount_at(sqlite3_stmt *s, int column, tb_decimal *ret, tb_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    if (!text) return tb_no_memory(err);
    if (!tb_decimal_parse(text, strlen(text), TB_DECIMAL_SCALE_MAX, ret, NULL)) return TB_OK;
    return tb_fail(err, TB_E_CORRUPT, "shadow_bill", "A shadow bill has the amount \"%.80s\".",
                   text);
}

tb_code tb__shadow_bill_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_shadow_bill *ret = item;
    const char *currency = (const char *)sqlite3_column_text(s, 4);
    const char *invoice = (const char *)sqlite3_column_text(s, 5);
    const char *book = (const char *)sqlite3_column_text(s, 9);
    *ret = (tb_shadow_bill){.shadow = sqlite3_column_int64(s, 0),
                            .account = sqlite3_column_int64(s, 1),
                            .month = sqlite3_column_int64(s, 2),
                            .watermark = (uint64_t)sqlite3_column_int64(s, 3),
                            .unpriced = (uint64_t)sqlite3_column_int64(s, 8)};
    if (!currency || !invoice || !book) return tb_no_memory(err);
    snprintf(ret->currency, sizeof ret->currency, "%s", currency);
    snprintf(ret->invoice, sizeof ret->invoice, "%s", invoice);
    snprintf(ret->book, sizeof ret->book, "%s", book);
    tb_code code = amount_at(s, 6, &ret->billed, err);
    return code ? code : amount_at(s, 7, &ret->would, err);
}

static const tb__rows bill_rows = {sizeof(tb_shadow_bill), tb__shadow_bill_from, NULL};

tb_code tb_store_shadow_bills(tb_store *store, int64_t month, tb_shadow_bill **ret_bills,
                              size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_SHADOW_BILLS, &month, 1, &bill_rows, ret_bills, ret_n,
                            err);
}
