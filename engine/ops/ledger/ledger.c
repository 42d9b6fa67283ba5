/* Amounts are bounded so that balances can always be summed, and have the currency's digits. */
#include "tollbook/ledger.h"

#include <inttypes.h>
#include <string.h>

#include "ops/operations.h"
#include "tollbook/calendar.h"
#include "tollbook/monthbill.h"
#include "tollbook/billsource.h"

tb_code tb_ledger_amount(const char *text, size_t len, tb_ledger_entry *entry, tb_error *err)
{
    tb_error why;
    if (tb_decimal_parse(text, len, TB_PRICE_SCALE_MAX, &entry->amount, &why))
        return tb__refuse_decimal("amount", text, len, &why, err);
    int sign = tb_decimal_sign(entry->amount);
    if (sign > 0 || (sign < 0 && entry->kind == TB_LEDGER_ADJUSTMENT)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "amount", "The amount %s.",
                   entry->kind == TB_LEDGER_PAYMENT  ? "of a payment is more than zero"
                   : entry->kind == TB_LEDGER_CREDIT ? "of a credit is more than zero"
                                                     : "is added to the balance: not zero");
}

/* --- the invoice of an entry --- */

/* The invoice must be the account's, and valid. */
static tb_code check_document(tb_store *store, const tb_ledger_entry *entry, tb_error *err)
{
    tb_invoice invoice;
    if (!entry->document[0]) return TB_OK;
    if (tb_decimal_sign(entry->amount) < 0)
        return tb_fail(err, TB_E_VALIDATION, "invoice",
                       "A negative amount pays no invoice: leave the invoice out.");
    tb_code code = tb_store_invoice(store, 0, entry->document, &invoice, err);
    if (code == TB_E_NOT_FOUND)
        return tb_fail(err, TB_E_VALIDATION, "invoice",
                       "There is no invoice %s. Without an invoice the money goes to the oldest due.",
                       entry->document);
    if (code) return code;
    if (invoice.account != entry->account)
        code = tb_fail(err, TB_E_VALIDATION, "invoice",
                       "Invoice %s is of account %" PRId64 ": enter it for that account.",
                       entry->document, invoice.account);
    else if (strcmp(invoice.kind, "invoice") != 0)
        code = tb_fail(err, TB_E_VALIDATION, "invoice",
                       "%s is a credit note, which is not paid. Name the invoice, or none.",
                       entry->document);
    else if (invoice.state == TB_INVOICE_VOID)
        code = tb_fail(err, TB_E_VALIDATION, "invoice", "Invoice %s is void. Name %s%s.",
                       entry->document, invoice.replaced_by[0] ? invoice.replaced_by : "none",
                       invoice.replaced_by[0] ? ", which takes its place" : "");
    tb_invoice_release(&invoice);
    return code;
}

static tb_code check_expires(const tb_ledger_entry *entry, tb_error *err)
{
    int64_t day = 0;
    if (!entry->expires[0]) return TB_OK;
    tb_code code = tb_account_day(entry->expires, strlen(entry->expires), "expires", &day, err);
    if (code || day >= tb_day_from_us(entry->at_us)) return code;
    return tb_fail(err, TB_E_VALIDATION, "expires", "The credit's last day, %s, is over already.",
                   entry->expires);
}

#define AMOUNT_MAX INT64_C(1000000000000000) /* so that balances can always be summed */

/* Refuses an amount that is too large, or finer than a cent. */
tb_code tb__ledger_check_amount(const tb_ledger_entry *entry, tb_error *err)
{
    tb_decimal size = entry->amount, most = tb_decimal_from_int(AMOUNT_MAX);
    int digits = tb_currency_minor_digits(entry->currency);
    if (size.mantissa < 0) size.mantissa = -size.mantissa;
    if (tb_decimal_compare(size, most) > 0)
        return tb_fail(err, TB_E_VALIDATION, "amount", "At most 10^15 at a time.");
    if (tb_decimal_normal(size).scale > digits)
        return tb_fail(err, TB_E_VALIDATION, "amount", "%s has %d digits after the point.",
                       entry->currency, digits);
    return TB_OK;
}

tb_code tb__refuse_row(uint64_t line, const tb_error *why, const char *instead, tb_error *err)
{
    tb_fail(err, why->code, why->field, "Nothing was entered. %s%s", instead, why->message);
    if (err) err->line = line;
    return why->code;
}

tb_code tb_ledger_enter(tb_store *store, tb_ledger_entry *entry, bool *ret_known, tb_error *err)
{
    tb_code code = tb_store_need_account(store, entry->account, err);
    if (!code) code = tb_store_account_currency(store, entry->account, entry->currency, err);
    if (!code) code = tb__ledger_check_amount(entry, err);
    if (!code) code = tb_store_ledger_known(store, entry, ret_known, err);
    if (code || *ret_known) return code;
    code = check_document(store, entry, err);
    if (!code) code = check_expires(entry, err);
    return code ? code : tb_store_ledger_add(store, entry, ret_known, err);
}
