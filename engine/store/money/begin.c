/* The ledger's first month. Three rows of meta, which exist once it is set: the month; the latest month that it ever
 * was, since daily entries of prepaid accounts before that were reversed; and the data version that set it, which
 * invalidates earlier computed closings (TB__SQL_CLOSING_MOVED). */
#include "store/money/billing.h"
#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"

tb_code tb_store_ledger_begin(tb_store *store, int64_t *ret_month, tb_error *err)
{
    return tb__int_of(store, TB__SQL_BEGIN_MONTH, NULL, 0, 0, ret_month, err);
}

tb_code tb_store_set_ledger_begin(tb_store *store, int64_t month, tb_error *err)
{
    tb_code code = tb__run_ints(store, TB__SQL_BEGIN_SET, &month, 1, err);
    if (!code) store->dirty = true;
    return code;
}

tb_code tb_store_check_begun(tb_store *store, int64_t month, tb_error *err)
{
    int64_t begin = 0;
    char text[8], first[8];
    tb_code code = tb_store_ledger_begin(store, &begin, err);
    if (code || month >= begin) return code;
    tb_month_format(month, text);
    tb_month_format(begin, first);
    return tb_fail(err, TB_E_CLOSED, "month",
                   "%s was billed elsewhere: the ledger begins with %s. What was open then is in "
                   "the opening balances"
                   " (tollbook help ledger begin).",
                   text, first);
}

tb_code tb_store_document_before(tb_store *store, int64_t month, char ret_number[24], tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    ret_number[0] = 0;
    tb_code code = tb__sql_ints(store, TB__SQL_BEGIN_DOCUMENT, &month, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    code = tb__copy_text(s, 0, ret_number, 24, err);
    sqlite3_reset(s);
    return code;
}
