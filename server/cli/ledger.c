/* tollbook ledger: an account's entries and their sum; ledger pay and adjust add one each. The
 * reference names an entry: the same again changes nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/month_bill.h"
#include "cli/cli.h"
#include "tollbook/calendar.h"
#include "tollbook/terms.h"

static tb_code check_account(tb_store *store, int64_t account, tb_error *err)
{
    bool exists;
    tb_code code = tb_store_account_exists(store, account, &exists, err);
    if (code || exists) return code;
    return tb_fail(err, TB_E_NOT_FOUND, "account",
                   "There is no account %" PRId64 ". Declare it with `tollbook apply` first.",
                   account);
}

/* --- list --- */

static void show_entry(const tb_ledger_entry *entry)
{
    char at[20], amount[TB_DECIMAL_TEXT_MAX + 1];
    tb_time_format(entry->at_us, at);
    *tb_decimal_put(amount, entry->amount) = 0;
    printf("%" PRId64 "\t%.20s\t%s\t%s\t%s\t%s\t%s\n", entry->id, at,
           tb_ledger_kind_name(entry->kind), amount, entry->currency, entry->reference,
           entry->note);
}

static tb_code list(tb_store *store, int64_t account, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    tb_decimal balance = TB_DECIMAL_ZERO;
    size_t n = 0;
    char text[TB_DECIMAL_TEXT_MAX + 1];
    tb_code code = check_account(store, account, err);
    if (!code) code = tb_store_ledger(store, account, &entries, &n, err);
    if (!code) code = tb_store_balance(store, account, &balance, err);
    if (!code) {
        puts("id\ttime\tkind\tamount\tcurrency\treference\tnote");
        for (size_t i = 0; i < n; i++)
            show_entry(&entries[i]);
        *tb_decimal_put(text, balance) = 0;
        printf("\t\tbalance\t%s\t%s\t\t\n", text, n ? entries[0].currency : "");
    }
    free(entries);
    return code;
}

int cli_ledger(const cli_call *call)
{
    tb_store *store;
    tb_error err;
    int64_t now_us;
    int status = cli_clock(call, &now_us);
    if (status == 0) status = cli_open(call, false, now_us, &store);
    if (status) return status;
    tb_code code = tb_store_read_begin(store, &err);
    if (!code) {
        code = list(store, cli_number(call, "account", 0), &err);
        tb_store_read_end(store);
    }
    tb_store_close(store);
    return code ? cli_fail(call, NULL, &err) : cli_done(call);
}

/* --- pay, adjust --- */

static int read_text(const cli_call *call, const char *option, char *out, size_t size)
{
    const char *text = cli_text(call, option);
    size_t len = text ? strlen(text) : 0;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) len = size;
    if (len >= size) {
        cli_say(call, "--%s takes at most %zu bytes and no control characters.", option, size - 1);
        return tb_code_exit(TB_E_USAGE);
    }
    memcpy(out, text ? text : "", len + 1);
    return 0;
}

static int read_amount(const cli_call *call, tb_ledger_entry *entry)
{
    tb_error err;
    const char *text = cli_text(call, "amount");
    if (tb_decimal_parse(text, strlen(text), TB_PRICE_SCALE_MAX, &entry->amount, &err))
        return cli_fail(call, "--amount", &err);
    int sign = tb_decimal_sign(entry->amount);
    if (sign == 0 || (sign < 0 && entry->kind == TB_LEDGER_PAYMENT)) {
        cli_say(call, "--amount is %s.",
                entry->kind == TB_LEDGER_PAYMENT ? "what was paid: more than zero"
                                                 : "what is added to the balance: not zero");
        return tb_code_exit(TB_E_USAGE);
    }
    return 0;
}

#define AMOUNT_MAX INT64_C(1000000000000000) /* so that balances can always be summed */

/* What nobody can have paid: more than there is, or less than a cent. */
static tb_code check_amount(const tb_ledger_entry *entry, tb_error *err)
{
    tb_decimal size = entry->amount, most = tb_decimal_from_int(AMOUNT_MAX);
    int digits = tb_currency_minor_digits(entry->currency);
    if (size.mantissa < 0) size.mantissa = -size.mantissa;
    if (tb_decimal_compare(size, most) > 0)
        return tb_fail(err, TB_E_VALIDATION, "--amount", "At most 10^15 at a time.");
    if (tb_decimal_normal(size).scale > digits)
        return tb_fail(err, TB_E_VALIDATION, "--amount", "%s has %d digits after the point.",
                       entry->currency, digits);
    return TB_OK;
}

static tb_code add(tb_store *store, tb_ledger_entry *entry, bool *ret_known, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = check_account(store, entry->account, err);
    if (!code)
        code = tb_store_month_currency(store, entry->account, month_of_us(entry->at_us),
                                       entry->currency, err);
    if (!code) code = check_amount(entry, err);
    if (!code) code = tb_store_ledger_add(store, entry, ret_known, err);
    if (!code) code = tb_store_commit(store, err);
    if (code) tb_store_rollback(store);
    return code;
}

static void say_balance(const cli_call *call, tb_store *store, const tb_ledger_entry *entry,
                        bool known)
{
    tb_decimal balance;
    char text[TB_DECIMAL_TEXT_MAX + 1];
    if (tb_store_balance(store, entry->account, &balance, NULL)) return;
    *tb_decimal_put(text, balance) = 0;
    cli_say(call, "%s Account %" PRId64 " has a balance of %s.",
            known ? "This reference was there already: nothing changed." : "Entered.",
            entry->account, text);
}

static int enter(const cli_call *call, tb_ledger_kind kind)
{
    tb_store *store;
    tb_error err;
    bool known = false;
    tb_ledger_entry entry = {.account = cli_number(call, "account", 0), .kind = kind};
    int status = read_amount(call, &entry);
    if (status == 0) status = read_text(call, "reference", entry.reference, sizeof entry.reference);
    if (status == 0) status = read_text(call, "note", entry.note, sizeof entry.note);
    if (status == 0) status = cli_clock(call, &entry.at_us);
    if (status == 0) status = cli_open(call, true, entry.at_us, &store);
    if (status) return status;
    tb_code code = add(store, &entry, &known, &err);
    if (code)
        status = cli_fail(call, NULL, &err);
    else
        say_balance(call, store, &entry, known);
    tb_store_close(store);
    return status;
}

int cli_ledger_pay(const cli_call *call)
{
    return enter(call, TB_LEDGER_PAYMENT);
}

int cli_ledger_adjust(const cli_call *call)
{
    return enter(call, TB_LEDGER_ADJUSTMENT);
}
