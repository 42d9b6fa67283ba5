/* Credit notes: a month that has become cheaper since it was billed.
 *
 * A credit note takes back what the month's documents have billed of it, corrections on later invoices included, and no more. What
 * one-off credits took of the month was never paid. What the cheaper month can no longer bear of them is left out by a last
 * line, and is due again: the account comes to the same amounts as if the month had been cheaper from the beginning. */
#include <stdlib.h>

#include "ops/invoicing/issue_parts.h"
#include "tollbook/chargestore.h"

/* The invoice that a credit note goes to: the month's own, or the later one that billed it last. */
static const char *credited(const tb_issue_late *late)
{
    size_t i = 0;
    if (late->late.invoice[0]) return late->late.invoice;
    while (i < late->n_billed && !late->billed[i].is_invoice)
        i++;
    return i < late->n_billed ? late->billed[i].number : "";
}

tb_code tb__issue_credit_note(tb_issue_late *late, tb_issue_rules rules, uint64_t watermark, tb__composed *ret,
                              tb_error *err)
{
    const tb__composing of = {&late->after.bill, &late->after.source.input, rules >= TB_ISSUE_RULES_WHOLE, &late->corrections, 1,
                              watermark};
    return tb__compose_credit(&of, &late->corrections, credited(late), ret, err);
}

/* --- credits that are due again --- */

/* In the currency's smallest units. */
static tb_code units_of(tb_decimal amount, int digits, int64_t *ret, tb_error *err)
{
    tb_code code = tb_decimal_add(amount, (tb_decimal){0, digits}, &amount, err);
    *ret = (int64_t)amount.mantissa;
    return code;
}

static int64_t take(int64_t *left, int64_t most)
{
    const int64_t taken = *left < most ? *left : most;
    *left -= taken;
    return taken;
}

/* A document takes credits in the order of their ids: what each has less now than before. */
static size_t compare_taken(const tb_one_off *charges, size_t n, int64_t before, int64_t now, tb_billed_charge *ret)
{
    size_t n_ret = 0;
    for (size_t i = 0; i < n; i++) {
        const tb_decimal on = charges[i].due;
        if (tb_decimal_sign(on) > 0 || charges[i].tax_category[0]) continue;
        const int64_t less = take(&before, (int64_t)-on.mantissa) - take(&now, (int64_t)-on.mantissa);
        if (less) ret[n_ret++] = (tb_billed_charge){charges[i].id, {less, on.scale}};
    }
    return n_ret;
}

tb_code tb__issue_due_again(tb_store *store, const tb_issue_late *late, tb_billed_charge **ret_charges, size_t *ret_n, tb_error *err)
{
    const tb_corrections *corrections = &late->corrections;
    const int digits = late->after.bill.minor_digits;
    const size_t last = corrections->n - 1;
    int64_t before, limit;
    tb_one_off *charges = NULL;
    size_t n = 0;
    if (corrections->what[last].kind != TB_LINE_CORRECTION) return TB_OK;
    tb_code code = units_of(corrections->billed.credits, digits, &before, err);
    if (!code) code = units_of(corrections->lines[last].amount, digits, &limit, err);
    if (!code) code = tb_store_charges_billed(store, late->late.invoice, &charges, &n, err);
    if (code) return code;
    *ret_charges = calloc(n + 1, sizeof **ret_charges);
    if (*ret_charges) *ret_n = compare_taken(charges, n, -before, -before - limit, *ret_charges);
    free(charges);
    return *ret_charges ? TB_OK : tb_no_memory(err);
}
