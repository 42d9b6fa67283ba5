/* Closings: one for each time that a month was closed. Which one holds is told by an index, so that each
 * entry of the ledger can ask. */
#include "tollbook/closingstore.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "store/core/internal.h"
#include "tollbook/calendar.h"

#define TEXT_MAX ((size_t)64 << 20)

void tb_closing_release(tb_closing *closing)
{
    free(closing->document);
    *closing = (tb_closing){.document = NULL};
}

static tb_code is_closed(tb_store *store, int64_t month, bool *ret_closed, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_CLOSED, &month, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row) sqlite3_reset(s);
    *ret_closed = row;
    return TB_OK;
}

tb_code tb_store_check_open(tb_store *store, int64_t at_us, tb_error *err)
{
    const int64_t month = tb_month_from_us(at_us);
    bool closed = false;
    char text[8];
    tb_code code = is_closed(store, month, &closed, err);
    if (code || !closed) return code;
    tb_month_format(month, text);
    return tb_fail(err, TB_E_CLOSED, "month",
                   "%s is closed and takes no entries. Date it later, or open the month again with:"
                   " tollbook ledger close --month %s --reopen", text, text);
}

tb_code tb_store_last_closed(tb_store *store, int64_t *ret_month, tb_error *err)
{
    return tb__int_of(store, TB__SQL_CLOSED_LAST, NULL, 0, INT64_MIN, ret_month, err);
}

static tb_code billed_on_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_billed_on *ret = item;
    *ret = (tb_billed_on){.month = sqlite3_column_int64(s, 1),
                        .own = sqlite3_column_int(s, 2) != 0,
                        .since = (uint64_t)sqlite3_column_int64(s, 3),
                        .finalized_us = sqlite3_column_int64(s, 4),
                        .voided_us = sqlite3_column_int64(s, 5)};
    return tb__copy_text(s, 0, ret->number, sizeof ret->number, err);
}

static const tb__rows billed_on_rows = {sizeof(tb_billed_on), billed_on_from, NULL};

tb_code tb_store_billed_on(tb_store *store, int64_t account, int64_t month, tb_billed_on **ret_list,
                          size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {account, month};
    return tb__collect_ints(store, TB__SQL_BILLED_ON, values, 2, &billed_on_rows, ret_list, ret_n, err);
}

tb_code tb_store_month_ran(tb_store *store, int64_t account, int64_t month, bool *ret_ran,
                           tb_error *err)
{
    const int64_t values[2] = {account, month};
    int64_t ran = 0;
    tb_code code = tb__int_of(store, TB__SQL_MONTH_RUN, values, 2, 0, &ran, err);
    if (!code) *ret_ran = ran != 0;
    return code;
}

static tb_code document_from(sqlite3_stmt *s, int column, tb_closing *ret, tb_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, column + 1);
    tb_code code = tb__copy_text(s, column, ret->sha256, sizeof ret->sha256, err);
    if (code) return code;
    ret->len = (size_t)sqlite3_column_bytes(s, column + 1);
    ret->document = text ? malloc(ret->len + 1) : NULL;
    if (!ret->document) return tb_no_memory(err);
    memcpy(ret->document, text, ret->len + 1);
    return TB_OK;
}

tb_code tb_store_closing(tb_store *store, int64_t month, tb_closing *ret_closing, bool *ret_found,
                         tb_error *err)
{
    tb_closing closing = {.month = month};
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_CLOSING, &month, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_found = row;
    if (!row) return TB_OK;
    closing.closed_us = sqlite3_column_int64(s, 0);
    code = document_from(s, 1, &closing, err);
    sqlite3_reset(s);
    if (!code) *ret_closing = closing;
    return code;
}

tb_code tb_store_closings(tb_store *store, tb_closing_visit visit, void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_CLOSINGS, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        tb_closing closing = {.month = sqlite3_column_int64(s, 0)};
        code = document_from(s, 1, &closing, err);
        if (!code) code = visit(ctx, &closing, err);
        free(closing.document);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static void hash_text(const char *text, size_t len, char hex[65])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(hex, 65, hash, sizeof hash);
}

tb_code tb_store_close_month(tb_store *store, int64_t month, const char *document, size_t len,
                             int64_t now_us, tb_error *err)
{
    char hex[65], text[8];
    bool closed = false;
    uint64_t version = 0;
    tb_ledger_head head;
    sqlite3_stmt *s;
    tb_code code = is_closed(store, month, &closed, err);
    if (!code && closed) {
        tb_month_format(month, text);
        return tb_fail(err, TB_E_CLOSED, "month", "%s is closed already.", text);
    }
    if (!code && len > TEXT_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "A month's accruals are longer than 64 MiB.");
    if (!code) code = tb_store_version(store, &version, err);
    if (!code) code = tb_store_ledger_head(store, &head, err);
    if (!code) code = tb__sql(store, TB__SQL_CLOSING_INSERT, &s, err);
    if (code) return code;
    hash_text(document, len, hex);
    sqlite3_bind_int64(s, 1, month);
    sqlite3_bind_int64(s, 2, now_us);
    sqlite3_bind_int64(s, 3, (int64_t)version);
    sqlite3_bind_int64(s, 4, (int64_t)head.count);
    sqlite3_bind_text(s, 5, hex, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, document, (int)len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    if (!code) store->dirty = true;
    return code;
}

tb_code tb_store_reopen_month(tb_store *store, int64_t month, int64_t now_us, tb_error *err)
{
    const int64_t values[2] = {month, now_us};
    bool closed = false;
    char text[8];
    tb_code code = is_closed(store, month, &closed, err);
    if (!code && !closed) {
        tb_month_format(month, text);
        return tb_fail(err, TB_E_NOT_FOUND, "month", "%s is not closed.", text);
    }
    if (!code) code = tb__run_ints(store, TB__SQL_CLOSING_REOPEN, values, 2, err);
    if (!code) store->dirty = true;
    return code;
}
