/* ledger begin: the month that the ledger begins with, and the balances of then. */
#include <inttypes.h>
#include <string.h>

#include "base/counted.h"
#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/ledger.h"
#include "tollbook/settle.h"

tb_code tb__say_before_begin(const tb_ops *ops, int64_t month, tb_reply *reply, tb_error *err)
{
    int64_t begin = 0;
    char text[8], first[8];
    tb_code code = tb_store_ledger_begin(ops->store, &begin, err);
    if (code || month >= begin) return code;
    tb_month_format(month, text);
    tb_month_format(begin, first);
    tb_reply_say(
        reply, "%s was billed elsewhere: the ledger begins with %s. Its drafts are for comparison.",
        text, first);
    return TB_OK;
}

static tb_code show_begin(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    int64_t month = 0;
    char text[8] = "none";
    if (tb_arg_given(args, "balances"))
        return tb_fail(err, TB_E_VALIDATION, "month",
                       "Balances are those of a month's begin: give --month YYYY-MM too.");
    tb_code code = tb_store_ledger_begin(ops->store, &month, err);
    if (code) return code;
    if (month) tb_month_format(month, text);
    tb_buf_fmt(&reply->out, "%s\n", text);
    tb_buf_fmt(&reply->json, month ? "{\"month\":\"%s\"}" : "{\"month\":null}", text);
    return TB_OK;
}

static void put_opened(tb_reply *reply, int64_t month, const tb_opened *done, bool balances)
{
    char text[8];
    tb_month_format(month, text);
    tb_buf_fmt(&reply->json,
               "{\"month\":\"%s\",\"entered\":%" PRIu64 ",\"known\":%" PRIu64
               ",\"takenBack\":%" PRIu64 "}",
               text, done->entered, done->known, done->back);
    tb_reply_say(reply, "The ledger begins with %s%s.", text,
                 done->moved ? ": months before it are billed elsewhere" : ", as before");
    if (balances || done->back)
        tb_reply_say(reply, "%s entered, %" PRIu64 " known before, %" PRIu64 " taken back.",
                     TB__COUNTED(done->entered, "balance"), done->known, done->back);
}

static tb_code set_begin(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err)
{
    const int64_t month = tb_arg_number(args, "month", 0);
    const tb_arg *text = tb_arg_of(args, "balances");
    tb_payments balances = {.list = NULL};
    tb_opened done;
    tb_code code = text ? tb_balances_parse(text->text.data, text->text.len,
                                            tb_arg_given(args, "comma"), &balances, err)
                        : TB_OK;
    if (!code) code = tb_ledger_begin(ops->store, month, ops->now_us, &done, err);
    if (!code && text) code = tb_ledger_open(ops->store, &balances, &done, err);
    if (!code) put_opened(reply, month, &done, text != NULL);
    tb_payments_release(&balances);
    return code;
}

static const tb_param params[] = {
    {.name = "balances",
     .value = "BALANCES",
     .kind = TB_PARAM_DOCUMENT,
     .operand = true,
     .max = (int64_t)TB_PAYMENTS_MAX - 4096,
     .help = "opening balances by account, CSV or JSON"},
    {.name = "month",
     .value = "YYYY-MM",
     .kind = TB_PARAM_MONTH,
     .help = "the first month that is billed here. Without it: print what is set"},
    {.name = "comma", .kind = TB_PARAM_FLAG, .help = "amounts of a CSV are written 1.234,56"},
};

static const tb_operation rows[] = {
    {.name = "ledger begin",
     .summary = "Set the month with which the ledger begins, and what accounts owed then",
     .details =
         "Months before it were billed elsewhere: they are not made final, do not wait, are not "
         "accrued and take no\n"
         "entries, and preview compares the month with nothing. Opening balances are a CSV with "
         "the columns account\n"
         "and amount, and where there are any currency, due and reference, or {\"balances\": "
         "[{\"account\": 7, ...}]}.\n"
         "An amount below 0 is what the account owes; 0 enters nothing. They are entered as of the "
         "month's first\n"
         "moment, and due then where no day is given. The same again changes nothing. Until the "
         "first document is\n"
         "final, balances and month can be given anew: what was entered before is taken back.",
     .access = TB_ACCESS_READ,
     .write_access = TB_ACCESS_MONEY,
     TB__PARAMS(params),
     .read = show_begin,
     .write = set_begin,
     .write_flags = "month"},
};
const tb__operations tb__begin_operations = TB__OPERATIONS(rows);
