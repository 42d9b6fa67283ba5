/* GET /billing/invoices, one invoice in the form that Accept asks for, and a line of one in
 * detail. Another account's invoice is answered like one that does not exist. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/drawn.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/issue.h"
#include "tollbook/ledger.h"
#include "tollbook/ledgerstore.h"
#include "tollbook/json.h"
#include "tollbook/tollproof.h"

/* --- the list --- */

void api_invoices(request *r)
{
    tb_error err;
    tb_store *store = r->worker->store;
    int64_t account;
    tb_code code = api_account_asked(r, &account, &err);
    if (!code) code = tb_store_read_begin(store, &err);
    if (!code) {
        code = tb_account_invoices(store, account, request_text(r), &err);
        tb_store_read_end(store);
    }
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}

/* --- one --- */

/* The path's segment after /billing/invoices/. */
#define PREFIX "/billing/invoices/"
static bool number_of(const request *r, char number[24])
{
    tb_text path = request_path(r);
    const char *from = path.data + sizeof PREFIX - 1;
    size_t left = path.len - (sizeof PREFIX - 1);
    const char *end = memchr(from, '/', left);
    size_t len = end ? (size_t)(end - from) : left;
    if (len == 0 || len >= 24) return false;
    memcpy(number, from, len);
    number[len] = 0;
    return true;
}

typedef struct question {
    drawing how;
    int64_t account;
    tb_shown shown;
    char number[24], file[40];
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

static question *question_of(request *r)
{
    return (question *)(void *)r->work;
}

static tb_code no_invoice(tb_error *err)
{
    return tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL);
}

static tb_code read_invoice(request *r, tb_store *store, tb_invoice *invoice, tb_error *err)
{
    const tb_code code = tb_store_invoice(store, question_of(r)->account, question_of(r)->number, invoice, err);
    return code == TB_E_NOT_FOUND ? no_invoice(err) : code;
}

static tb_code put_form(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    tb_invoice invoice;
    tb_shown shown = question_of(r)->shown;
    tb_code code = read_invoice(r, store, &invoice, err);
    if (code) return code;
    shown.store = store;
    if (shown.form == TB_SHOWN_PDF) shown.printer = drawn_printer();
    code = tb_shown_one(&shown, &invoice, out, err);
    if (code && shown.printer) drawn_drop_printer();
    tb_invoice_release(&invoice);
    return code;
}

static const tb_shown_form forms[TB_SHOWN_FORM_COUNT] = {
#define TB_X(e, word, media, end, alone) TB_SHOWN_##e,
    TB_SHOWN_FORMS(TB_X)
#undef TB_X
};
static const char *const form_words[TB_SHOWN_FORM_COUNT] = {
#define TB_X(e, word, media, end, alone) word,
    TB_SHOWN_FORMS(TB_X)
#undef TB_X
};
/* How the file of a form is called behind the invoice's number. */
static const char *const file_ends[TB_SHOWN_FORM_COUNT] = {
    [TB_SHOWN_JSON] = ".json",   [TB_SHOWN_CSV] = ".csv",           [TB_SHOWN_HTML] = ".html",
    [TB_SHOWN_FOCUS] = ".focus.csv", [TB_SHOWN_PDF] = ".pdf",       [TB_SHOWN_UBL] = "-ubl.xml",
    [TB_SHOWN_XRECHNUNG] = "-xrechnung.xml",
};
static const drawn_form form_of = {forms, TB_SHOWN_FORM_COUNT, TB_SHOWN_WORDS};

static tb_code take_param(void *ctx, tb_text name, tb_text value, tb_error *err)
{
    tb_shown *shown = ctx;
    if (!drawn_is_word(name, "audit"))
        return drawn_take(&form_of, name, value, &shown->form, &shown->pages, err);
    if (query_bool(value.data, value.len, &shown->pages.auditor)) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "audit", "It is not true or false.");
}

/* The query takes precedence over Accept. */
static tb_code read_form(request *r, tb_shown *shown, tb_error *err)
{
    tb_text query = request_query(r);
    shown->form = drawn_accepted(r, &form_of);
    return query_each(query.data, query.len, r->scratch, take_param, shown, err);
}

void api_invoice(request *r)
{
    question *a = question_of(r);
    tb_error err;
    *a = (question){.shown = {.now_us = request_now_us(r), .public_url = r->worker->server->options.public_url}};
    if (api_account_asked(r, &a->account, &err) || read_form(r, &a->shown, &err) || (!number_of(r, a->number) && no_invoice(&err))) {
        request_fail_as(r, &err);
        return;
    }
    const tb_shown_form form = a->shown.form;
    a->how = (drawing){put_form, tb_shown_media_type(form),
                       form != TB_SHOWN_JSON && form != TB_SHOWN_CSV, a->file};
    snprintf(a->file, sizeof a->file, "%s%s", a->number, file_ends[form]);
    drawn_answer(r);
}

/* --- one as PDF, by the id of its record in GET /billing --- */

/* The document's number; entries of other kinds have none. */
static tb_code find_record(tb_store *store, int64_t account, tb_text id, char number[24], tb_error *err)
{
    tb_ledger_entry *entries = NULL;
    size_t n = 0, at = 0;
    int64_t wanted;
    if (!router_id(id, &wanted)) return no_invoice(err);
    tb_code code = tb_store_ledger(store, account, &entries, &n, err);
    while (!code && at < n && entries[at].id != wanted)
        at++;
    const bool is_document = !code && at < n && (entries[at].kind == TB_LEDGER_INVOICE || entries[at].kind == TB_LEDGER_CREDIT_NOTE);
    if (is_document) snprintf(number, 24, "%.23s", entries[at].reference);
    free(entries);
    return code || is_document ? code : no_invoice(err);
}

void api_record_pdf(request *r)
{
    question *a = question_of(r);
    tb_error err;
    *a = (question){.shown = {.now_us = request_now_us(r), .form = TB_SHOWN_PDF, .public_url = r->worker->server->options.public_url},
                    .how = {put_form, tb_shown_media_type(TB_SHOWN_PDF), true, a->file}};
    tb_code code = api_account_asked(r, &a->account, &err);
    if (!code) code = find_record(r->worker->store, a->account, r->id, a->number, &err);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    snprintf(a->file, sizeof a->file, "%s%s", a->number, file_ends[TB_SHOWN_PDF]);
    drawn_answer(r);
}

/* --- its forms --- */

/* Why an invoice cannot be an electronic one; "": it can. */
static tb_code find_lack(const tb_shown *shown, const tb_invoice *invoice, tb_error *ret_lack, tb_error *err)
{
    ret_lack->message[0] = 0;
    if (shown->form != TB_SHOWN_UBL && shown->form != TB_SHOWN_XRECHNUNG) return TB_OK;
    answer *document = answer_new();
    if (!document) return tb_no_memory(err);
    const tb_code code = tb_shown_one(shown, invoice, answer_body(document), ret_lack);
    answer_drop(document);
    if (!code) ret_lack->message[0] = 0;
    if (!code || code == TB_E_VALIDATION) return TB_OK;
    *err = *ret_lack;
    return code;
}

static tb_code put_forms(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    tb_invoice invoice;
    tb_error lack;
    tb_shown shown = question_of(r)->shown;
    tb_code code = read_invoice(r, store, &invoice, err);
    if (code) return code;
    shown.store = store;
    tb_buf_str(out, "{\"forms\":[");
    for (int i = 0; !code && i < TB_SHOWN_FORM_COUNT; i++) {
        shown.form = forms[i];
        code = find_lack(&shown, &invoice, &lack, err);
        tb_buf_fmt(out, "%s{\"form\":\"%s\",\"file\":\"%s%s\",\"lacks\":", i ? "," : "", form_words[forms[i]],
                   invoice.number, file_ends[forms[i]]);
        if (lack.message[0]) tb_json_string(out, lack.message, strlen(lack.message));
        else tb_buf_str(out, "null");
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]}");
    tb_invoice_release(&invoice);
    return code;
}

void api_invoice_forms(request *r)
{
    question *a = question_of(r);
    tb_error err;
    *a = (question){.shown.now_us = request_now_us(r), .how = {put_forms, "application/json", true, NULL}};
    if (api_account_asked(r, &a->account, &err) || (!number_of(r, a->number) && no_invoice(&err))) request_fail_as(r, &err);
    else drawn_answer(r);
}

/* --- its proof --- */

typedef struct proof_params {
    int64_t since;
} proof_params;
static const query_spec proof_specs[] = {{"since", QUERY_INT, offsetof(proof_params, since)}};

typedef struct proof_question {
    drawing how;
    int64_t account;
    proof_params params;
    char number[24], file[40];
} proof_question;
_Static_assert(sizeof(proof_question) <= sizeof((request *)0)->work, "it fits request.work");

static tb_code put_bundle(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const proof_question *a = (const proof_question *)(const void *)r->work;
    const tb_bundle_ask ask = {a->account, a->number, a->params.since};
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_proof_bundle(store, &ask, out, err);
    tb_store_read_end(store);
    return code;
}

void api_invoice_proof(request *r)
{
    proof_question *a = (proof_question *)(void *)r->work;
    const tb_text query = request_query(r);
    tb_error err;
    *a = (proof_question){.how = {put_bundle, "application/json", true, a->file}, .params.since = TB_PROOF_SINCE_NONE};
    tb_code code = api_account_asked(r, &a->account, &err);
    if (!code) code = query_parse(query.data, query.len, proof_specs, 1, &a->params, r->scratch, &err);
    if (!code && !number_of(r, a->number)) code = no_invoice(&err);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    snprintf(a->file, sizeof a->file, "%s.tollproof", a->number);
    drawn_answer(r);
}

/* --- a line --- */

typedef struct explain_params {
    tb_text day;
} explain_params;
static const query_spec explain_specs[] = {{"day", QUERY_TEXT, offsetof(explain_params, day)}};

/* The day to explain by hours; TB_EXPLAIN_NO_DAY: none. */
static tb_code read_day(request *r, int64_t *ret_day, tb_error *err)
{
    explain_params p = {{NULL, 0}};
    int64_t us;
    tb_error why;
    const tb_text query = request_query(r);
    *ret_day = TB_EXPLAIN_NO_DAY;
    tb_code code = query_parse(query.data, query.len, explain_specs, 1, &p, r->scratch, err);
    if (code || !p.day.len) return code;
    if (tb_date_parse(p.day.data, p.day.len, &us, &why) != TB_OK)
        return tb_fail(err, TB_E_VALIDATION, "day", "%s", why.message);
    *ret_day = tb_day_from_us(us);
    return TB_OK;
}

static void fail_line(request *r, tb_error *err)
{
    if (err->code == TB_E_NOT_FOUND) (void)no_invoice(err);
    request_fail_as(r, err);
}

void api_invoice_explain(request *r)
{
    char number[24];
    int64_t account, line, day;
    tb_error err = {.code = TB_E_NOT_FOUND};
    tb_store *store = r->worker->store;
    if (!number_of(r, number)) {
        fail_line(r, &err);
        return;
    }
    if (!router_id(r->id, &line) || line > UINT32_MAX) line = 0; /* which no invoice has */
    tb_code code = api_account_asked(r, &account, &err);
    if (!code) code = read_day(r, &day, &err);
    if (!code) code = tb_store_read_begin(store, &err);
    if (!code) {
        code = tb_explain_invoice_day(store, account, number, (uint32_t)line, day, request_text(r), &err);
        tb_store_read_end(store);
    }
    if (code)
        fail_line(r, &err);
    else
        request_answer_text(r, 200, "application/json");
}
