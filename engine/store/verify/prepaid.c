/* Verify, the daily entries of prepaid accounts: each names its account and its date, the days of a month ascend, and a
 * month that was made final has one reversal of all of them. A day is not rated again: later usage is in the next day's
 * entry, and for a month that was not run yet it is not recorded which usage came when. Chain and seals protect the
 * amounts. */
#include "store/money/billing.h"
#include "store/verify/verify.h"

#include <string.h>

#define MONTH_OF(reference) "(substr(" reference ",1,4)-1970)*12+substr(" reference ",6,2)-1"

/* Each row is a sentence. */
static const char *const references[] = {
    "SELECT format('Ledger entry %d is of a day of account %d; its reference is %s, its moment %s.',id,"
    "account,reference,datetime(at_us/1000000,'unixepoch')) FROM ledger WHERE kind='usage'"
    " AND reference IS NOT format('prepaid %d %s',account,date(at_us/1000000,'unixepoch'))",
    "SELECT format('Ledger entry %d takes back days of account %d; its reference is %s.',id,account,"
    "reference) FROM ledger WHERE kind='usage_reversal' AND reference IS NOT format('prepaid %d %s',"
    "account,substr(reference,-7)) OR kind='usage_reversal' AND substr(reference,-7)"
    " NOT GLOB '[0-9][0-9][0-9][0-9]-[01][0-9]'",
    "SELECT format('Ledger entry %d, %s, follows a later day of its account.',id,reference) FROM"
    " (SELECT id,reference,lag(reference) OVER (PARTITION BY account ORDER BY id) AS before FROM ledger"
    " WHERE kind='usage') WHERE before>reference",
    /* A refused month is billed as corrections on a later invoice, which reverses its days, even if that invoice is void now. */
    "SELECT format('Ledger entry %d takes back %s, which was not run.',id,reference) FROM"
    " (SELECT id,account,reference,substr(reference,-7) AS m FROM ledger WHERE kind='usage_reversal') AS l"
    " WHERE NOT EXISTS(SELECT 1 FROM month_run r WHERE r.account=l.account AND r.outcome<>'refused'"
    " AND r.month=" MONTH_OF("m") ") AND NOT EXISTS(SELECT 1 FROM correction k WHERE k.account=l.account AND k.month=" MONTH_OF("m") ")"
    " AND " MONTH_OF("m") ">=coalesce((SELECT value FROM meta"
    " WHERE name='begin_last'),0)",
};

/* The entries of one account's month. */
typedef struct month {
    int64_t account;
    char text[8];
    tb_decimal sum;
    bool reversed, over; /* over: its run was no refusal */
} month;

/* A month that was run has its reversal; one that was not has none. */
static void end_month(tb__verify *v, const month *m)
{
    if (!m->account || !tb_decimal_sign(m->sum)) return;
    if (m->reversed)
        tb__differs(v, "Account %lld, %s: its days are taken back by another amount than they come to.",
                    (long long)m->account, m->text);
    else if (m->over)
        tb__differs(v, "Account %lld, %s: the month was run, and its days are not taken back.",
                    (long long)m->account, m->text);
}

static tb_code add_row(tb__verify *v, month *m, sqlite3_stmt *s, tb_error *err)
{
    const char *text = (const char *)sqlite3_column_text(s, 1);
    const char *amount = (const char *)sqlite3_column_text(s, 4);
    const int64_t account = sqlite3_column_int64(s, 0), id = sqlite3_column_int64(s, 2);
    const bool reversal = sqlite3_column_int(s, 3) != 0;
    tb_decimal value;
    if (!text || !amount) return tb_no_memory(err);
    if (account != m->account || strncmp(text, m->text, sizeof m->text) != 0) {
        end_month(v, m);
        *m = (month){.account = account, .sum = TB_DECIMAL_ZERO, .over = sqlite3_column_int(s, 5) != 0};
        memcpy(m->text, text, strnlen(text, sizeof m->text - 1));
    }
    if (m->reversed)
        tb__differs(v, "Ledger entry %lld is of a month whose days were taken back before it.",
                    (long long)id);
    m->reversed |= reversal;
    if (tb_decimal_parse(amount, strlen(amount), TB_DECIMAL_SCALE_MAX, &value, NULL) ||
        tb_decimal_add(m->sum, value, &m->sum, NULL))
        tb__differs(v, "Ledger entry %lld: its amount cannot be read or summed.", (long long)id);
    return TB_OK;
}

tb_code tb__verify_prepaid(tb__verify *v, tb_error *err)
{
    month m = {.account = 0};
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < sizeof references / sizeof *references; i++)
        code = tb__verify_note(v, tb__verify_reference(v, references[i], err), err);
    if (!code) code = tb__verify_sql(v, TB__V_PREPAID, NULL, 0, &s, err);
    while (!code && !(code = tb__step(v->store, s, &row, err)) && row) {
        code = add_row(v, &m, s, err);
        if (code) sqlite3_reset(s);
    }
    if (!code) end_month(v, &m);
    return code;
}
