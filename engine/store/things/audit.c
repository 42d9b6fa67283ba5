/* The audit log: append-only entries, each in the transaction of the operation that it records. */
#include "tollbook/audit.h"

#include "store/core/chain.h"
#include "tollbook/buf.h"

#include <stdlib.h>
#include <string.h>

/* --- writing --- */

static tb_code check_text(const char *field, const char *text, size_t max, tb_error *err)
{
    const size_t len = strlen(text);
    if (len <= max) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, field,
                   "The %s of an audit entry has %zu bytes; %zu are the most.", field, len, max);
}

static tb_code check_entry(const tb_audit_entry *entry, tb_error *err)
{
    tb_code code = check_text("origin", entry->origin, TB_AUDIT_ORIGIN_MAX, err);
    if (!code) code = check_text("operation", entry->operation, TB_AUDIT_OPERATION_MAX, err);
    if (!code) code = check_text("arguments", entry->arguments, TB_AUDIT_ARGUMENTS_MAX, err);
    if (!code && !entry->operation[0])
        code = tb_fail(err, TB_E_VALIDATION, "operation", "An audit entry needs an operation.");
    return code;
}

tb_code tb_store_audit_add(tb_store *store, const tb_audit_entry *entry, tb_error *err)
{
    int64_t numbers[TB__CHAIN_NUMBERS] = {0, entry->at_us, entry->key};
    const char *const texts[TB__AUDIT_TEXTS] = {entry->origin, entry->operation, entry->arguments};
    tb_code code = check_entry(entry, err);
    if (code) return code;
    return tb__chain_add(store, TB__SQL_AUDIT_LAST, TB__SQL_AUDIT_INSERT, numbers, texts,
                         TB__AUDIT_TEXTS, err);
}

uint64_t tb_store_changes(const tb_store *store)
{
    return (uint64_t)sqlite3_total_changes64(store->db);
}

/* --- reading --- */

/* Appends the three texts, each with its end. They get their pointers when all are there. */
static tb_code add_texts(sqlite3_stmt *s, tb_buf *texts, tb_error *err)
{
    for (int i = TB__CHAIN_NUMBERS; i < TB__CHAIN_NUMBERS + TB__AUDIT_TEXTS; i++) {
        const char *text = (const char *)sqlite3_column_text(s, i);
        if (!text) return tb_no_memory(err);
        tb_buf_add(texts, text, strlen(text) + 1);
    }
    return tb_buf_check(texts, err);
}

static const char *next_text(char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

/* One block: the entries, then their texts. */
static tb_code join_texts(tb_audit_entry *list, size_t n, const tb_buf *texts,
                          tb_audit_entry **ret, tb_error *err)
{
    tb_audit_entry *all = malloc(n * sizeof *all + texts->len + 1);
    if (!all) return tb_no_memory(err);
    char *at = (char *)(all + n);
    if (n) memcpy(all, list, n * sizeof *all);
    if (n) memcpy(at, texts->data, texts->len);
    for (size_t i = 0; i < n; i++) {
        all[i].origin = next_text(&at);
        all[i].operation = next_text(&at);
        all[i].arguments = next_text(&at);
    }
    *ret = all;
    return TB_OK;
}

tb_code tb_store_audit(tb_store *store, int64_t after_id, size_t limit,
                       tb_audit_entry **ret_entries, size_t *ret_n, tb_error *err)
{
    const int64_t values[2] = {after_id, (int64_t)(limit < TB_AUDIT_PAGE ? limit : TB_AUDIT_PAGE)};
    tb_audit_entry *list = NULL;
    size_t n = 0, cap = 0;
    sqlite3_stmt *s;
    tb_buf texts;
    bool row = true;
    tb_buf_init(&texts, (size_t)TB_AUDIT_PAGE * (TB_AUDIT_ARGUMENTS_MAX + 512), NULL);
    tb_code code = tb__sql_ints(store, TB__SQL_AUDIT, values, 2, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = tb__grow(&list, n, &cap, sizeof *list, err);
        if (!code) code = add_texts(s, &texts, err);
        if (code) {
            sqlite3_reset(s);
            break;
        }
        list[n++] = (tb_audit_entry){.id = sqlite3_column_int64(s, 0),
                                     .at_us = sqlite3_column_int64(s, 1),
                                     .key = sqlite3_column_int64(s, 2)};
    }
    if (!code) code = join_texts(list, n, &texts, ret_entries, err);
    if (!code) *ret_n = n;
    free(list);
    tb_buf_release(&texts);
    return code;
}

static const char *text_at(sqlite3_stmt *s, int column)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text ? text : "";
}

tb_code tb_store_audit_each(tb_store *store, const tb_audit_span *span, tb_audit_fn each, void *ctx, tb_error *err)
{
    const int64_t values[3] = {span->account, span->from_us, span->to_us};
    sqlite3_stmt *s;
    bool row = true, more = true;
    tb_code code = tb__sql_ints(store, span->descending ? TB__SQL_AUDIT_OF_LATEST : TB__SQL_AUDIT_OF, values, 3, &s, err);
    while (!code && more && !(code = tb__step(store, s, &row, err)) && row) {
        const tb_audit_entry entry = {sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2),
                                      text_at(s, 3), text_at(s, 4), text_at(s, 5)};
        more = each(ctx, &entry, sqlite3_column_int(s, 6) != 0);
        if (!more) sqlite3_reset(s);
    }
    return code;
}

tb_code tb_store_audit_newest(tb_store *store, int64_t *ret_id, tb_error *err)
{
    return tb__int_of(store, TB__SQL_AUDIT_LAST, NULL, 0, 0, ret_id, err);
}

tb_code tb_store_audit_moment(tb_store *store, int64_t *ret_us, tb_error *err)
{
    return tb__int_of(store, TB__SQL_AUDIT_MOMENT, NULL, 0, INT64_MIN, ret_us, err);
}

void tb_audit_release(tb_audit_entry *entries)
{
    free(entries);
}
