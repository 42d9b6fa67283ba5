/* A month's invoices for an operator: POST /invoices/run, GET /invoices/accounts, /late, /shadows
 * and POST /invoices/{number}/void.
 *
 * A month is made final group by group, each asked for by the client: one short job of the writer,
 * alone in its transaction as a local run's groups are. Nothing is remembered in between: what is
 * final is final, and a group that is asked for again answers the invoices it made. What only reads
 * goes to the desk. Invoices are sent as the text they are stored as, in a JSON string, so that
 * their bytes arrive as issued. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/operator_body.h"
#include "http/query.h"
#include "tollbook/activate.h"
#include "tollbook/issuegroup.h"
#include "tollbook/json.h"
#include "tollbook/unowned.h"

#define TEXT_SENT_MAX ((size_t)8 << 20) /* longer invoices are named, and left out */

typedef struct run_work {
    char month_text[8];
    bool finalize, empty, everybody;
    int64_t month, account;
    body_ints accounts;
} run_work;

_Static_assert(sizeof(run_work) <= sizeof((request *)0)->work, "fits a request's own memory");

static run_work *work_of(request *r)
{
    return (run_work *)(void *)r->work;
}

/* --- what is asked --- */

static tb_code read_month(run_work *w, int64_t now_us, tb_error *err)
{
    const char *text = w->month_text;
    if (!*text) return tb_fail(err, TB_E_VALIDATION, "month", "month is missing, like 2026-10.");
    if (!tb_month_parse(text, strlen(text), &w->month))
        return tb_fail(err, TB_E_VALIDATION, "month", "month is written like 2026-10.");
    if (w->month > tb_month_from_us(now_us))
        return tb_fail(err, TB_E_VALIDATION, "month", "month %s lies in the future.", text);
    return TB_OK;
}

static tb_code read_query(request *r, bool has_month, run_work *w, tb_error *err)
{
    struct {
        tb_text month;
        int64_t account;
    } p = {{0}, 0};
    static const query_spec specs[] = {{"month", QUERY_TEXT, 0}, {"account", QUERY_INT, 16}};
    _Static_assert(sizeof(tb_text) == 16, "the offset above");
    tb_text query = request_query(r);
    *w = (run_work){0};
    tb_code code = query_parse(query.data, query.len, specs, 2, &p, r->scratch, err);
    if (code) return code;
    if (p.account < 0)
        return tb_fail(err, TB_E_VALIDATION, "account", "account is a whole number from 1 up.");
    w->account = p.account;
    if (!has_month) return TB_OK;
    if (p.month.len >= sizeof w->month_text)
        return tb_fail(err, TB_E_VALIDATION, "month", "month is written like 2026-10.");
    if (p.month.len) memcpy(w->month_text, p.month.data, p.month.len);
    return read_month(w, request_now_us(r), err);
}

/* --- answers that a job writes --- */

/* The answer's bytes, which go with the request whatever becomes of the client. */
static tb_buf *answer_of(request *r, tb_error *err)
{
    if (!r->reply.what) r->reply.what = answer_new(r->worker->server->pool);
    if (r->reply.what) return answer_body(r->reply.what);
    (void)!tb_fail(err, TB_E_NOMEM, NULL, NULL);
    return NULL;
}

void api_invoices_answered(request *r)
{
    answer *made = r->reply.what;
    r->reply.what = NULL;
    if (r->job.code || !made) {
        answer_drop(made);
        request_fail_as(r, &r->job.err);
        return;
    }
    request_answer(r, made, false);
    r->reply.tagged = false;
}

/* --- the accounts of a month --- */

static tb_code put_unowned(tb_store *store, int64_t month, tb_buf *out, tb_error *err)
{
    tb_unowned_usage unowned;
    tb_code code = tb_unowned_read(store, month, &unowned, err);
    if (code) return code;
    tb_buf_str(out, ",\"unassigned\":");
    tb_unowned_json(&unowned, out);
    return TB_OK;
}

static void put_numbers(tb_buf *out, const int64_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "%s%" PRId64, i ? "," : "", list[i]);
}

static tb_code put_accounts(tb_store *store, const run_work *w, tb_buf *out, tb_error *err)
{
    int64_t *accounts = NULL;
    size_t n = 0;
    tb_code code = tb_issue_accounts(store, w->month, w->account, &accounts, &n, err);
    if (code) return code;
    tb_buf_fmt(out, "{\"month\":\"%s\",\"accounts\":[", w->month_text);
    put_numbers(out, accounts, n);
    tb_buf_str(out, "]");
    free(accounts);
    code = put_unowned(store, w->month, out, err);
    tb_buf_str(out, "}");
    return code ? code : tb_buf_check(out, err);
}

static tb_code list_accounts(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_buf *out = answer_of(r, err);
    if (!out) return TB_E_NOMEM;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = put_accounts(store, work_of(r), out, err);
    tb_store_read_end(store);
    return code;
}

static void ask_desk(request *r, bool has_month, tb_code (*run)(write_job *, tb_store *, tb_error *))
{
    tb_error err;
    if (read_query(r, has_month, work_of(r), &err)) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = run;
    r->job.bytes = 0;
    request_submit_long(r);
}

void api_invoices_accounts(request *r)
{
    ask_desk(r, true, list_accounts);
}

/* --- a group of them --- */

static void put_text(tb_buf *out, const char *text, size_t len)
{
    if (len > TEXT_SENT_MAX)
        tb_buf_str(out, "null");
    else
        tb_json_string(out, text, len);
    tb_buf_str(out, "}");
}

static tb_code put_draft(const tb_statement *draft, tb_buf *out, tb_error *err)
{
    tb_buf text;
    tb_buf_init(&text, TB_INVOICE_TEXT_MAX, NULL);
    tb_code code = tb_statement_json(draft, &text, NULL, err);
    if (!code) {
        tb_buf_fmt(out, "{\"account\":%" PRId64 ",\"number\":null,\"state\":\"draft\",\"text\":",
                   draft->account);
        put_text(out, text.data, text.len);
        code = tb_buf_check(out, err);
    }
    tb_buf_release(&text);
    return code;
}

static tb_code put(void *ctx, const tb_invoice *invoice, const tb_statement *draft, size_t shown,
                   tb_buf *out, tb_error *err)
{
    (void)ctx;
    if (shown) tb_buf_str(out, ",");
    if (!invoice) return put_draft(draft, out, err);
    tb_buf_fmt(out, "{\"account\":%" PRId64 ",\"number\":\"%s\",\"state\":\"%s\",\"text\":",
               invoice->account, invoice->number,
               invoice->state == TB_INVOICE_VOID ? "void" : "final");
    put_text(out, invoice->text, invoice->text_len);
    return tb_buf_check(out, err);
}

static void put_group(const run_work *w, const tb_issue_group *g, const body_ints *left,
                      tb_buf *out)
{
    tb_buf_fmt(out,
               "],\"month\":\"%s\",\"done\":%zu,\"made\":%zu,\"known\":%zu,\"nothing\":%zu,"
               "\"refused\":%zu,\"everybody\":%s,\"left\":[",
               w->month_text, g->n, g->made, g->known, g->nothing, g->refused,
               w->everybody && left->n == 0 ? "true" : "false");
    put_numbers(out, left->list, left->n);
    tb_buf_str(out, "],\"said\":");
    body_put_lines(out, &g->said);
}

/* Those who had nothing; *ret_left: the first of those who came in since the client asked who has. */
static tb_code note_everybody(const run_work *w, tb_issue_group *g, body_ints *ret_left,
                              tb_error *err)
{
    int64_t *left = NULL;
    size_t n = 0;
    tb_code code = tb_issue_everybody(g->store, w->month, g->now_us, &left, &n, err);
    for (size_t i = 0; i < n && i < BODY_INTS_MAX; i++)
        ret_left->list[ret_left->n++] = left[i];
    free(left);
    return code;
}

static tb_code run_accounts(const run_work *w, tb_issue_group *g, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < w->accounts.n && !tb_issue_group_full(g); i++) {
        int64_t account = w->accounts.list[i];
        bool exists = true;
        code = tb_store_account_exists(g->store, account, &exists, err);
        if (!code && !exists)
            code = tb_fail(err, TB_E_NOT_FOUND, "accounts", "There is no account %" PRId64 ".",
                           account);
        if (!code)
            code = w->finalize ? tb_issue_group_finalize(g, account, err)
                               : tb_issue_group_show(g, account, err);
    }
    return code;
}

static tb_code run_group(request *r, tb_store *store, tb_buf *out, tb_error *err)
{
    const run_work *w = work_of(r);
    tb_month_books books = {0};
    tb_shadow_books shadows = {0};
    body_ints left = {0};
    tb_issue_group g = {.store = store,
                        .month = w->month,
                        .now_us = request_now_us(r),
                        .empty = w->empty,
                        .books = &books,
                        .shadows = &shadows,
                        .put = put,
                        .out = out};
    tb_code code = w->finalize ? tb_issue_check_over(w->month, g.now_us, err) : TB_OK;
    if (!code) code = tb_month_books_read(store, &books, err);
    if (!code && w->finalize) code = tb_shadow_books_read(store, &shadows, err);
    tb_issue_group_init(&g);
    tb_buf_str(out, "{\"invoices\":[");
    if (!code) code = run_accounts(w, &g, err);
    if (!code && w->everybody) code = note_everybody(w, &g, &left, err);
    if (!code) {
        put_group(w, &g, &left, out);
        code = put_unowned(store, w->month, out, err);
        tb_buf_str(out, "}");
    }
    if (!code) {
        code = tb_buf_check(out, err);
    }
    tb_issue_group_release(&g);
    tb_shadow_books_release(&shadows);
    tb_month_books_release(&books);
    return code;
}

static tb_code run_writing(write_job *job, tb_store *store, tb_error *err)
{
    tb_buf *out = answer_of(job->owner, err);
    return out ? run_group(job->owner, store, out, err) : TB_E_NOMEM;
}

static tb_code run_reading(write_job *job, tb_store *store, tb_error *err)
{
    tb_buf *out = answer_of(job->owner, err);
    if (!out) return TB_E_NOMEM;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = run_group(job->owner, store, out, err);
    tb_store_read_end(store);
    return code;
}

void api_invoices_run(request *r)
{
    static const body_field fields[] = {
        {"month", BODY_TEXT, true, offsetof(run_work, month_text), 8},
        {"accounts", BODY_INTS, false, offsetof(run_work, accounts), 0},
        {"finalize", BODY_BOOL, false, offsetof(run_work, finalize), 0},
        {"empty", BODY_BOOL, false, offsetof(run_work, empty), 0},
        {"everybody", BODY_BOOL, false, offsetof(run_work, everybody), 0},
    };
    run_work *w = work_of(r);
    tb_error err;
    *w = (run_work){0};
    tb_code code = body_read(r->body ? r->body : "", r->body_len, fields,
                             sizeof fields / sizeof *fields, w, &err);
    if (!code) code = read_month(w, request_now_us(r), &err);
    if (!code && w->empty && !w->finalize)
        code = tb_fail(&err, TB_E_VALIDATION, "empty", "empty goes with finalize.");
    if (!code && w->everybody && (!w->finalize || w->accounts.n))
        code = tb_fail(&err, TB_E_VALIDATION, "everybody",
                       "everybody goes with finalize and without accounts, once all were taken.");
    if (!code && !w->everybody && w->accounts.n == 0)
        code = tb_fail(&err, TB_E_VALIDATION, "accounts", "accounts is missing.");
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    r->job.bytes = r->body_len;
    r->job.alone = w->finalize;
    r->job.run = w->finalize ? run_writing : run_reading;
    if (w->finalize)
        request_submit(r);
    else
        request_submit_long(r);
}

/* --- what came late --- */

/* A text, or null where it is empty. */
static void put_member(tb_buf *out, const char *name, const char *value)
{
    tb_buf_fmt(out, ",\"%s\":", name);
    if (*value)
        tb_json_string(out, value, strlen(value));
    else
        tb_buf_str(out, "null");
}

static tb_code list_late(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_late *late = NULL;
    size_t n = 0;
    char month[8];
    tb_buf *out = answer_of(r, err);
    if (!out) return TB_E_NOMEM;
    tb_code code = tb_store_late(store, work_of(r)->account, &late, &n, err);
    if (code) return code;
    tb_buf_str(out, "{\"late\":[");
    for (size_t i = 0; i < n; i++) {
        tb_month_format(late[i].month, month);
        tb_buf_fmt(out, "%s{\"account\":%" PRId64 ",\"month\":\"%s\",\"outcome\":\"%s\"",
                   i ? "," : "", late[i].account, month, tb_run_outcome_name(late[i].outcome));
        put_member(out, "invoice", late[i].invoice);
        tb_buf_fmt(out, ",\"since\":%" PRIu64 ",\"deltas\":%" PRIu64 ",\"declared\":%" PRIu64,
                   late[i].since, late[i].deltas, late[i].declared);
        put_member(out, "reason", late[i].reason);
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]}");
    free(late);
    return tb_buf_check(out, err);
}

void api_invoices_late(request *r)
{
    ask_desk(r, false, list_late);
}

/* --- what shadow books would have made of the month --- */

static tb_code list_shadows(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_shadow_books shadows = {0};
    tb_buf lines, *out = answer_of(r, err);
    if (!out) return TB_E_NOMEM;
    tb_buf_init(&lines, TB_ISSUE_SAID_MAX, NULL);
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_shadow_books_read(store, &shadows, err);
    if (!code) code = tb_shadow_say(store, work_of(r)->month, &shadows, &lines, err);
    tb_store_read_end(store);
    if (!code) {
        tb_buf_str(out, "{\"said\":");
        body_put_lines(out, &lines);
        tb_buf_str(out, "}");
        code = tb_buf_check(out, err);
    }
    tb_shadow_books_release(&shadows);
    tb_buf_release(&lines);
    return code;
}

void api_invoices_shadows(request *r)
{
    ask_desk(r, true, list_shadows);
}

/* --- making one void --- */

static tb_code make_void(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    char number[24];
    tb_code code = TB_E_NOT_FOUND;
    if (r->id.len < sizeof number) {
        snprintf(number, sizeof number, "%.*s", (int)r->id.len, r->id.data);
        code = tb_store_void(store, number, request_now_us(r), err);
    }
    return code == TB_E_NOT_FOUND ? tb_fail(err, TB_E_INVOICE_NOT_FOUND, "number", NULL) : code;
}

void api_invoices_void(request *r)
{
    r->job.run = make_void;
    r->job.bytes = 0;
    request_submit(r);
}

void api_invoices_voided(request *r)
{
    if (r->job.code) {
        request_fail_as(r, &r->job.err);
        return;
    }
    tb_buf *out = request_text(r);
    tb_buf_str(out, "{\"number\":");
    tb_json_string(out, r->id.data, r->id.len);
    tb_buf_str(out, ",\"state\":\"void\"}");
    request_answer_text(r, 200, "application/json");
}
