/* Runs of months: account, month, data version and outcome. Usage that arrives for a month after its run is late,
 * whatever the outcome: so usage is billed even if nothing was due when its month was run.
 *
 * The table is append-only and its last row of an account's month counts. A run over all accounts records each
 * account that it processes and, in the end, all others in one row of account 0: they had nothing due. A row is
 * added only if it differs from the last one, so that the same run again changes nothing, not even the data version. */
#include "store/money/billing.h"
#include "tollbook/ledgerstore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[TB_RUN_OUTCOME_COUNT] = {
#define TB_X(e, name) [TB_RUN_##e] = name,
    TB_RUN_OUTCOMES(TB_X)
#undef TB_X
};

const char *tb_run_outcome_name(tb_run_outcome outcome)
{
    return names[outcome];
}

tb_run_outcome tb__run_outcome(const char *name)
{
    for (int i = 0; i < TB_RUN_OUTCOME_COUNT; i++)
        if (strcmp(name, names[i]) == 0) return (tb_run_outcome)i;
    return TB_RUN_VOID;
}

tb_code tb__run_insert(tb_store *store, const tb__run_row *run, tb_error *err)
{
    int64_t row[4] = {0, run->account, run->month, 0}; /* id, ..., watermark */
    sqlite3_stmt *s;
    tb_code code = tb__meta_get(store, "data_version", &row[3], err);
    if (!code) code = tb__next_id(store, TB__SQL_RUN_NEXT, "month_run", &row[0], err);
    if (!code) code = tb__sql_ints(store, TB__SQL_RUN_INSERT, row, 4, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 5, names[run->outcome], -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 6, run->invoice, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 7, run->run_us);
    sqlite3_bind_text(s, 8, run->reason, -1, SQLITE_STATIC);
    code = tb__run(store, s, err);
    tb__late_forget(store);
    store->dirty = true;
    return code;
}

/* *ret: the account's last run of the month has this outcome, and nothing has changed since. */
static tb_code is_known(tb_store *store, const tb__run_row *run, bool *ret, tb_error *err)
{
    const int64_t values[2] = {run->account, run->month};
    sqlite3_stmt *s;
    bool row = false;
    *ret = false;
    tb_code code = tb__sql_ints(store, TB__SQL_RUN_LAST, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *outcome = (const char *)sqlite3_column_text(s, 0);
    const char *reason = (const char *)sqlite3_column_text(s, 1);
    if (!outcome || !reason) code = tb_no_memory(err);
    else
        *ret = strcmp(outcome, names[run->outcome]) == 0 && strcmp(reason, run->reason) == 0 &&
               !sqlite3_column_int(s, 2);
    sqlite3_reset(s);
    return code;
}

/* Cuts it to the column's maximum, at a character's end. */
static void cut_reason(const char *reason, char cut[TB_RUN_REASON_MAX])
{
    size_t len = strnlen(reason, TB_RUN_REASON_MAX);
    if (len == TB_RUN_REASON_MAX)
        for (len--; len && ((unsigned char)reason[len] & 0xc0) == 0x80;)
            len--;
    memcpy(cut, reason, len);
    cut[len] = 0;
}

tb_code tb_store_note_run(tb_store *store, int64_t account, int64_t month, tb_run_outcome outcome,
                          const char *reason, int64_t now_us, tb_error *err)
{
    char cut[TB_RUN_REASON_MAX];
    const tb__run_row run = {account, month, outcome, "", cut, now_us};
    bool known = false;
    cut_reason(reason, cut);
    tb_code code = tb_store_check_begun(store, month, err);
    if (!code) code = is_known(store, &run, &known, err);
    return code || known ? code : tb__run_insert(store, &run, err);
}

tb_code tb_store_run_accounts(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                              tb_error *err)
{
    return tb__list_ints(store, TB__SQL_RUN_ACCOUNTS, &month, 1, ret_accounts, ret_n, err);
}

tb_code tb_store_all_accounts_ran(tb_store *store, int64_t month, bool *ret, tb_error *err)
{
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_RUN_EVERYBODY, &month, 1, 0, &found, err);
    *ret = found != 0;
    return code;
}

/* --- documents that have billed a month --- */

tb_code tb_store_billed_elsewhere(tb_store *store, int64_t account, int64_t month,
                                  char ret_number[24], tb_error *err)
{
    const int64_t values[2] = {account, month};
    sqlite3_stmt *s;
    bool row = false;
    ret_number[0] = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_BILLED_ELSEWHERE, values, 2, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    const char *number = (const char *)sqlite3_column_text(s, 0);
    if (number) snprintf(ret_number, 24, "%s", number);
    sqlite3_reset(s);
    return number ? TB_OK : tb_no_memory(err);
}

static tb_code billed_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_billed_by *ret = item;
    const char *number = (const char *)sqlite3_column_text(s, 0);
    if (!number) return tb_no_memory(err);
    *ret = (tb_billed_by){.is_invoice = sqlite3_column_int(s, 1) != 0};
    snprintf(ret->number, sizeof ret->number, "%s", number);
    return TB_OK;
}

static const tb__rows billed_rows = {sizeof(tb_billed_by), billed_from, NULL};

tb_code tb_store_billed_chain(tb_store *store, int64_t account, int64_t month, uint64_t watermark,
                              tb_billed_by **ret_chain, size_t *ret_n, tb_error *err)
{
    const int64_t values[3] = {account, month, (int64_t)watermark};
    return tb__collect_ints(store, TB__SQL_BILLED_CHAIN, values, 3, &billed_rows, ret_chain, ret_n,
                            err);
}
