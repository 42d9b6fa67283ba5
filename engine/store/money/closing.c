/* Closings: one for each time that a month was closed. An index gives the one in force, so that each ledger entry can
 * be checked. */
#include "tollbook/ledgerstore.h"

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
    tb_code code = tb_store_check_begun(store, month, err);
    if (!code) code = is_closed(store, month, &closed, err);
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

tb_code tb_store_credited_on(tb_store *store, int64_t account, int64_t month, tb_billed_on **ret_list,
                             size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {account, month};
    return tb__collect_ints(store, TB__SQL_CREDITED_ON, values, 2, &billed_on_rows, ret_list, ret_n, err);
}

tb_code tb_store_first_run(tb_store *store, int64_t account, int64_t month, int64_t *ret_us, tb_error *err)
{
    const int64_t values[2] = {account, month};
    return tb__int_of(store, TB__SQL_RUN_FIRST, values, 2, INT64_MAX, ret_us, err);
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

static tb_code closing_from(sqlite3_stmt *s, tb_closing *ret, tb_error *err)
{
    tb_closing closing = {.id = sqlite3_column_int64(s, 0),
                          .month = sqlite3_column_int64(s, 1),
                          .closed_us = sqlite3_column_int64(s, 2),
                          .version = (uint64_t)sqlite3_column_int64(s, 3),
                          .entries = (uint64_t)sqlite3_column_int64(s, 4)};
    tb_code code = tb__copy_text(s, 5, closing.sha256, sizeof closing.sha256, err);
    if (code) return code;
    const char *text = (const char *)sqlite3_column_text(s, 6);
    closing.len = (size_t)sqlite3_column_bytes(s, 6);
    closing.document = text ? malloc(closing.len + 1) : NULL;
    if (!closing.document) return tb_no_memory(err);
    memcpy(closing.document, text, closing.len + 1);
    *ret = closing;
    return TB_OK;
}

static tb_code find_closing(tb_store *store, tb__statement id, int64_t value, tb_closing *ret_closing,
                            bool *ret_found, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, id, &value, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_found = row;
    if (!row) return TB_OK;
    code = closing_from(s, ret_closing, err);
    sqlite3_reset(s);
    return code;
}

tb_code tb_store_closing(tb_store *store, int64_t month, tb_closing *ret_closing, bool *ret_found,
                         tb_error *err)
{
    return find_closing(store, TB__SQL_CLOSING, month, ret_closing, ret_found, err);
}

/* No statement is on its way while visit is called: it may look back. */
tb_code tb_store_closings(tb_store *store, tb_closing_visit visit, void *ctx, tb_error *err)
{
    tb_closing closing = {.id = 0};
    bool found = true;
    tb_code code = TB_OK;
    while (!code) {
        code = find_closing(store, TB__SQL_CLOSING_AFTER, closing.id, &closing, &found, err);
        if (code || !found) break;
        code = visit(ctx, &closing, err);
        free(closing.document);
    }
    return code;
}

static void hash_text(const char *text, size_t len, char hex[65])
{
    unsigned char hash[crypto_hash_sha256_BYTES];
    crypto_hash_sha256(hash, (const unsigned char *)text, len);
    sodium_bin2hex(hex, 65, hash, sizeof hash);
}

tb_code tb_store_next_closing(tb_store *store, tb_closing *ret_closing, tb_error *err)
{
    tb_closing next = {.document = NULL};
    tb_ledger_head head;
    tb_code code = tb__next_id(store, TB__SQL_CLOSING_NEXT, "closing", &next.id, err);
    if (!code) code = tb_store_version(store, &next.version, err);
    if (!code) code = tb_store_ledger_head(store, &head, err);
    if (code) return code;
    next.entries = head.count;
    *ret_closing = next;
    return TB_OK;
}

/* Whether data of the months could be read differently now than at the closing's version. */
static tb_code has_moved(tb_store *store, const tb_closing *closing, bool *ret_moved, tb_error *err)
{
    const int64_t values[2] = {(int64_t)closing->version, (int64_t)closing->entries};
    int64_t next = 0, moved = 0;
    tb_code code = tb__next_id(store, TB__SQL_CLOSING_NEXT, "closing", &next, err);
    if (!code) code = tb__int_of(store, TB__SQL_CLOSING_MOVED, values, 2, 0, &moved, err);
    *ret_moved = moved || next != closing->id;
    for (int64_t m = closing->month - TB_CLOSING_MONTHS; m <= closing->month; m++)
        *ret_moved |= tb__late_came_since(store, m, (int64_t)closing->version);
    return code;
}

static tb_code check_closable(tb_store *store, const tb_closing *closing, tb_error *err)
{
    char text[8];
    bool closed = false, moved = false;
    tb_month_format(closing->month, text);
    tb_code code = is_closed(store, closing->month, &closed, err);
    if (!code && closed) return tb_fail(err, TB_E_CLOSED, "month", "%s is closed already.", text);
    if (!code && closing->len > TEXT_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "A month's accruals are longer than 64 MiB.");
    if (!code) code = has_moved(store, closing, &moved, err);
    if (code || !moved) return code;
    return tb_fail(err, TB_E_BUSY, "month",
                   "What %s accrues changed while it was worked out; nothing was closed. Close it again.", text);
}

tb_code tb_store_close_month(tb_store *store, const tb_closing *closing, tb_error *err)
{
    char hex[65];
    tb_ledger_head head;
    sqlite3_stmt *s;
    tb_code code = check_closable(store, closing, err);
    if (!code) code = tb_store_ledger_head(store, &head, err);
    if (code) return code;
    const int64_t values[5] = {closing->id, closing->month, closing->closed_us,
                               (int64_t)closing->version, (int64_t)head.count};
    code = tb__sql_ints(store, TB__SQL_CLOSING_INSERT, values, 5, &s, err);
    if (code) return code;
    hash_text(closing->document, closing->len, hex);
    sqlite3_bind_text(s, 6, hex, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, closing->document, (int)closing->len, SQLITE_STATIC);
    code = tb__run(store, s, err);
    tb__late_forget(store);
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
