/* tollbook ledger: an account's entries and their sum; ledger pay and adjust add one each. The
 * reference names an entry: the same again changes nothing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/remote.h"
#include "tollbook/calendar.h"
#include "tollbook/ledger.h"

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
    tb_code code = tb_ledger_check_account(store, account, err);
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
    if (!tb_ledger_text(text, len, size)) {
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
    tb_code code = tb_ledger_amount(text, strlen(text), entry, &err);
    return code ? cli_fail(call, "--amount", &err) : 0;
}

static tb_code add(tb_store *store, tb_ledger_entry *entry, bool *ret_known, tb_error *err)
{
    tb_code code = tb_store_begin(store, err);
    if (code) return code;
    code = tb_ledger_enter(store, entry, ret_known, err);
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
    ledger_say(call, entry->account, text, known);
}

void ledger_say(const cli_call *call, int64_t account, const char *balance, bool known)
{
    cli_say(call, "%s Account %" PRId64 " has a balance of %s.",
            known ? "This reference was there already: nothing changed." : "Entered.", account,
            balance);
}

static int enter(const cli_call *call, tb_ledger_kind kind)
{
    tb_store *store;
    tb_error err;
    bool known = false;
    tb_ledger_entry entry = {.account = cli_number(call, "account", 0), .kind = kind};
    int status = cli_check_place(call);
    if (status == 0) status = read_amount(call, &entry);
    if (status == 0) status = read_text(call, "reference", entry.reference, sizeof entry.reference);
    if (status == 0) status = read_text(call, "note", entry.note, sizeof entry.note);
    if (status == 0 && cli_given(call, "server")) return remote_ledger(call, &entry);
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
