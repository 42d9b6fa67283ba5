/* invoice.finalized: the message that an invoice or a credit note was made final, put into the outbox in
 * the transaction that makes it so. */
#include <inttypes.h>
#include <string.h>

#include "ops/invoicing/issue_parts.h"
#include "tollbook/alertstore.h"
#include "tollbook/json.h"

#define TYPE "invoice.finalized"

static void put_member(tb_buf *body, const char *name, const char *text)
{
    if (!text[0]) return;
    tb_buf_fmt(body, ",\"%s\":", name);
    tb_json_string(body, text, strlen(text));
}

static void put_amount(tb_buf *body, const char *name, tb_decimal amount, int digits)
{
    char text[TB_DECIMAL_TEXT_MAX + 1];
    *tb_decimal_put_fixed(text, amount, digits) = 0;
    put_member(body, name, text);
}

/* payable: the total less the amount paid. */
static void put_finalized(tb_buf *body, const tb_invoice *invoice, const tb_statement *s,
                          tb_decimal payable)
{
    char at[21] = "", month[8];
    tb_time_format(invoice->finalized_us, at);
    tb_month_format(invoice->month, month);
    tb_buf_fmt(body, "{\"type\":\"" TYPE "\",\"timestamp\":\"%.20s\",\"data\":{\"account\":%" PRId64,
               at, invoice->account);
    put_member(body, "number", invoice->number);
    put_member(body, "kind", invoice->kind);
    put_member(body, "month", month);
    put_member(body, "total", invoice->total);
    put_amount(body, "payable", payable, s->bill->minor_digits);
    put_member(body, "currency", invoice->currency);
    put_member(body, "issued", s->issued);
    put_member(body, "due", s->due);
    put_member(body, "corrects", s->corrects);
    put_member(body, "replaces", invoice->replaces);
    tb_buf_fmt(body, ",\"links\":{\"self\":\"/billing/invoices/%s\",\"pdf\":\"/billing/invoices/%s"
               "?format=pdf\"}}}", invoice->number, invoice->number);
}

tb_code tb__issue_tell(tb_store *store, const tb_invoice *invoice, const tb_statement *statement,
                       tb_error *err)
{
    char id[TB_MESSAGE_ID + 1];
    bool on = false;
    tb_decimal payable;
    tb_buf body;
    tb_code code = tb_store_outbox_on(store, &on, err);
    if (code || !on) return code;
    code = tb_decimal_sub(statement->bill->total, statement->paid, &payable, err);
    if (code) return code;
    tb_buf_init(&body, TB_MESSAGE_MAX, NULL);
    put_finalized(&body, invoice, statement, payable);
    code = tb_store_outbox_put(store, TYPE, invoice->account, invoice->finalized_us, &body, id, err);
    tb_buf_release(&body);
    return code;
}
