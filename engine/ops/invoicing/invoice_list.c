/* An account's invoices with what remains of each: the ledger's entries settled, as `ledger aging` does. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/json.h"
#include "tollbook/ledger.h"
#include "tollbook/ledgerstore.h"

typedef struct listing {
    tb_invoice *invoices;
    size_t n;
    tb_settle_paper *papers;
    size_t n_papers;
} listing;

static void put_word(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (value && *value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

/* NULL: it is not valid. */
static const tb_settle_paper *paper_of(const listing *l, const char *number)
{
    for (size_t i = 0; i < l->n_papers; i++)
        if (strcmp(l->papers[i].number, number) == 0) return l->papers[i].stands ? &l->papers[i] : NULL;
    return NULL;
}

static void put_listed(const listing *l, const tb_invoice *i, tb_buf *out)
{
    const tb_settle_paper *paper = paper_of(l, i->number);
    char month[8], remaining[TB_DECIMAL_TEXT_MAX + 1] = "";
    tb_month_format(i->month, month);
    if (paper) *tb_decimal_put_fixed(remaining, paper->remaining, tb_currency_minor_digits(i->currency)) = 0;
    tb_buf_str(out, "{\"number\":");
    tb_json_string(out, i->number, strlen(i->number));
    put_word(out, "kind", i->kind);
    put_word(out, "state", i->state == TB_INVOICE_VOID ? "void" : "final");
    tb_buf_fmt(out, ",\"account\":%" PRId64, i->account);
    put_word(out, "month", month);
    put_word(out, "currency", i->currency);
    put_word(out, "total", i->total);
    put_word(out, "replaces", i->replaces);
    put_word(out, "replacedBy", i->replaced_by);
    put_word(out, "sha256", i->sha256);
    put_word(out, "due", paper ? paper->due : NULL);
    put_word(out, "remaining", remaining);
    tb_buf_str(out, "}");
}

static tb_code read_listing(tb_store *store, int64_t account, listing *l, tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    tb_settlement settled = {0};
    size_t n = 0;
    tb_code code = tb_store_invoices(store, account, INT64_MIN, &l->invoices, &l->n, err);
    if (!code) code = tb_store_ledger(store, account, &entries, &n, err);
    if (!code) code = tb_store_settle_papers(store, account, &l->papers, &l->n_papers, err);
    if (!code) code = tb_settle(entries, n, l->papers, l->n_papers, &settled, err);
    tb_settlement_release(&settled);
    free(entries);
    return code;
}

tb_code tb_account_invoices(tb_store *store, int64_t account, tb_buf *out, tb_error *err)
{
    listing l = {0};
    tb_code code = read_listing(store, account, &l, err);
    tb_buf_str(out, "{\"invoices\":[");
    for (size_t i = 0; !code && i < l.n; i++) {
        if (i) tb_buf_str(out, ",");
        put_listed(&l, &l.invoices[i], out);
    }
    tb_buf_str(out, "]}");
    for (size_t i = 0; i < l.n; i++)
        tb_invoice_release(&l.invoices[i]);
    free(l.invoices);
    free(l.papers);
    return code ? code : tb_buf_check(out, err);
}
