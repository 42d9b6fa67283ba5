/* What an account has to pay, as the CDN API that is imitated lists it: invoices and debits of which something remains,
 * settled as `ledger aging` does. A request's id is that of its entry in the ledger, as in the records of GET /billing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"
#include "tollbook/ledgerstore.h"

typedef struct owed {
    tb_ledger_entry *entries;
    tb_settle_paper *papers;
    size_t n, n_papers;
    tb_settlement settled;
} owed;

static void owed_release(owed *o)
{
    tb_settlement_release(&o->settled);
    free(o->papers);
    free(o->entries);
}

static tb_code read_owed(tb_store *store, int64_t account, owed *o, tb_error *err)
{
    tb_code code = tb_store_ledger(store, account, &o->entries, &o->n, err);
    if (!code) code = tb_store_settle_papers(store, account, &o->papers, &o->n_papers, err);
    return code ? code : tb_settle(o->entries, o->n, o->papers, o->n_papers, &o->settled, err);
}

/* The paper of this number, from *at on and then from the beginning: papers are nearly in the order of their entries.
 * *at: behind it. */
static const tb_settle_paper *next_paper(const tb_settle_paper *papers, size_t n, const char *number, size_t *at)
{
    for (size_t i = 0; i < n; i++) {
        const size_t here = (*at + i) % n;
        if (strcmp(papers[here].number, number) != 0) continue;
        *at = here + 1;
        return &papers[here];
    }
    return NULL;
}

static void put_request_amount(tb_buf *out, const char *name, tb_decimal amount)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    const size_t from = out->len;
    char *at = tb_buf_room(out, TB_DECIMAL_TEXT_MAX);
    if (at) out->len += (size_t)(tb_decimal_put(at, amount) - at);
    tb_json_point(out, from);
}

static void put_description(tb_buf *out, const tb_ledger_entry *e)
{
    tb_buf_str(out, ",\"Description\":");
    if (e->kind == TB_LEDGER_INVOICE) tb_buf_fmt(out, "\"Invoice %s\"", e->reference);
    else if (e->note[0]) tb_json_string(out, e->note, strlen(e->note));
    else tb_buf_str(out, "\"Amount owed\"");
}

static void put_request(tb_buf *out, const tb_ledger_entry *e, const tb_settle_paper *paper)
{
    char made[20];
    const bool invoice = e->kind == TB_LEDGER_INVOICE;
    tb_time_format(e->at_us, made);
    tb_buf_fmt(out, "{\"Id\":%" PRId64, e->id);
    put_request_amount(out, "Amount", paper->remaining);
    tb_buf_fmt(out, ",\"DateGenerated\":\"%.20s\",\"DateDue\":\"%sT00:00:00Z\"", made, paper->due);
    put_description(out, e);
    tb_buf_str(out, ",\"Paid\":false,\"DatePaid\":null");
    if (invoice)
        tb_buf_fmt(out, ",\"BillingInvoiceId\":%" PRId64 ",\"BillingInvoiceDownloadLink\":\"/billing/invoices/%s\"", e->id,
                   e->reference);
    else tb_buf_str(out, ",\"BillingInvoiceId\":null,\"BillingInvoiceDownloadLink\":null");
    const char *shown = tb_payment_shown(e);
    tb_buf_str(out, ",\"BankTransferReference\":");
    if (*shown) tb_json_string(out, shown, strlen(shown));
    else tb_buf_str(out, "null");
    tb_buf_str(out, ",\"TaxRate\":0.0");
    put_request_amount(out, "TaxedAmount", paper->remaining);
    tb_buf_str(out, "}");
}

tb_code tb_account_payment_requests(tb_store *store, int64_t account, tb_buf *out, tb_error *err)
{
    owed o = {0};
    size_t paper_at = 0, debit_at = 0, shown = 0;
    tb_code code = read_owed(store, account, &o, err);
    tb_buf_str(out, "[");
    for (size_t i = 0; !code && i < o.n; i++) {
        const tb_ledger_entry *e = &o.entries[i];
        const tb_settle_paper *paper = NULL;
        if (e->kind == TB_LEDGER_INVOICE) paper = next_paper(o.papers, o.n_papers, e->reference, &paper_at);
        else if (e->kind == TB_LEDGER_ADJUSTMENT)
            paper = next_paper(o.settled.debits, o.settled.n_debits, e->reference, &debit_at);
        if (!paper || tb_decimal_sign(paper->remaining) <= 0) continue;
        if (shown++) tb_buf_str(out, ",");
        put_request(out, e, paper);
    }
    tb_buf_str(out, "]");
    owed_release(&o);
    return code ? code : tb_buf_check(out, err);
}
