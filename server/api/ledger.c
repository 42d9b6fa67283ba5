/* POST /ledger: a payment or an adjustment. The reference names it: the same again changes nothing. */
#include <inttypes.h>
#include <string.h>

#include "api/handlers.h"
#include "api/operator_body.h"
#include "tollbook/json.h"
#include "tollbook/ledger.h"

typedef struct ledger_work {
    tb_ledger_entry entry;
    char kind[16], amount[64];
    tb_decimal balance;
    bool known;
} ledger_work;

_Static_assert(sizeof(ledger_work) <= sizeof((request *)0)->work, "fits a request's own memory");

static ledger_work *work_of(request *r)
{
    return (ledger_work *)(void *)r->work;
}

static tb_code check(ledger_work *w, tb_error *err)
{
    tb_ledger_entry *e = &w->entry;
    bool pays = strcmp(w->kind, "payment") == 0;
    if (!pays && strcmp(w->kind, "adjustment") != 0)
        return tb_fail(err, TB_E_VALIDATION, "kind", "kind is payment or adjustment.");
    e->kind = pays ? TB_LEDGER_PAYMENT : TB_LEDGER_ADJUSTMENT;
    if (!e->reference[0])
        return tb_fail(err, TB_E_VALIDATION, "reference", "reference names the entry.");
    if (!tb_ledger_text(e->reference, strlen(e->reference), sizeof e->reference))
        return tb_fail(err, TB_E_VALIDATION, "reference", "reference has control characters.");
    if (!tb_ledger_text(e->note, strlen(e->note), sizeof e->note))
        return tb_fail(err, TB_E_VALIDATION, "note", "note has control characters.");
    return tb_ledger_amount(w->amount, strlen(w->amount), e, err);
}

static tb_code enter(write_job *job, tb_store *store, tb_error *err)
{
    ledger_work *w = work_of(job->owner);
    tb_code code = tb_ledger_enter(store, &w->entry, &w->known, err);
    return code ? code : tb_store_balance(store, w->entry.account, &w->balance, err);
}

void api_ledger(request *r)
{
    static const body_field fields[] = {
        {"account", BODY_INT, true, offsetof(ledger_work, entry.account), 0},
        {"kind", BODY_TEXT, true, offsetof(ledger_work, kind), sizeof((ledger_work *)0)->kind},
        {"amount", BODY_TEXT, true, offsetof(ledger_work, amount),
         sizeof((ledger_work *)0)->amount},
        {"reference", BODY_TEXT, true, offsetof(ledger_work, entry.reference),
         sizeof((ledger_work *)0)->entry.reference},
        {"note", BODY_TEXT, false, offsetof(ledger_work, entry.note),
         sizeof((ledger_work *)0)->entry.note},
    };
    ledger_work *w = work_of(r);
    tb_error err;
    *w = (ledger_work){.entry.at_us = request_now_us(r)};
    tb_code code = body_read(r->body ? r->body : "", r->body_len, fields,
                             sizeof fields / sizeof *fields, w, &err);
    if (!code) code = check(w, &err);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = enter;
    r->job.bytes = r->body_len;
    request_submit(r);
}

void api_ledger_done(request *r)
{
    const ledger_work *w = work_of(r);
    char balance[TB_DECIMAL_TEXT_MAX + 1];
    if (r->job.code) {
        request_fail_as(r, &r->job.err);
        return;
    }
    *tb_decimal_put(balance, w->balance) = 0;
    tb_buf *out = request_text(r);
    tb_buf_fmt(out, "{\"id\":%" PRId64 ",\"account\":%" PRId64 ",\"kind\":\"%s\",\"currency\":\"%s\","
                    "\"known\":%s,\"balance\":\"%s\"}",
               w->entry.id, w->entry.account, w->kind, w->entry.currency,
               w->known ? "true" : "false", balance);
    request_answer_text(r, 200, "application/json");
}
