/* POST /billing/what-if. The computation goes to the desk, so that no worker's other connections
 * wait for it; what one request may ask for is bounded by number and by time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/scenarios.h"
#include "tollbook/whatifbody.h"
#include "tollbook/whatifforms.h"

#define MONTHS_MAX 60     /* of a span */
#define BILLS_MAX  200000 /* account-months x scenarios */

static const char *const types[] = {"application/json", "text/csv", "text/html"};

/* What the worker leaves to the desk, in r->work. */
typedef struct whatif_work {
    tb_whatif_question question;
    size_t form; /* of types */
} whatif_work;

static whatif_work *work_of(request *r)
{
    return (whatif_work *)(void *)r->work;
}

/* --- scenarios --- */

/* Where in the body it is wrong. */
static tb_code fail_in(size_t number, const tb_error *why, tb_error *err)
{
    char field[sizeof why->field + 40]; /* tb_fail cuts it where a character ends */
    snprintf(field, sizeof field, "scenarios[%zu]%s%s", number, why->field[0] ? "." : "",
             why->field);
    return tb_fail(err, why->code, field, "%s", why->message);
}

/* A stored one, by its quoted name. Names are the operator's: what it tries is not its customers'.
 */
static tb_code read_stored(tb_store *store, const tb_whatif_slice *slice, bool operator_,
                           tb_scenario *ret, tb_error *err)
{
    char name[TB_SCENARIO_NAME_MAX + 80];
    tb_stored_scenario stored;
    if (!operator_)
        return tb_fail(err, TB_E_VALIDATION, NULL,
                       "Stored scenarios are the operator's; send the scenario itself.");
    snprintf(name, sizeof name, "%.*s", (int)slice->len - 2, slice->text + 1);
    tb_code code = tb_store_scenario(store, name, &stored, err);
    if (code) return code;
    code = tb_scenario_parse(stored.text, stored.text_len, NULL, ret, err);
    tb_stored_scenario_release(&stored);
    return code;
}

static tb_code read_scenarios(tb_store *store, const tb_whatif_body *body, bool operator_,
                              tb_scenario *list, size_t *ret_n, tb_error *err)
{
    for (size_t i = 0; i < body->n_scenarios; i++) {
        const tb_whatif_slice *slice = &body->scenario[i];
        tb_error why = {0};
        tb_code code = *slice->text == '"'
                           ? read_stored(store, slice, operator_, &list[i], &why)
                           : tb_scenario_parse(slice->text, slice->len, NULL, &list[i], &why);
        if (code) return fail_in(i, &why, err);
        ++*ret_n;
    }
    return TB_OK;
}

/* --- on the desk's thread --- */

static bool step(void *ctx, uint64_t done, uint64_t total)
{
    request *r = ctx;
    (void)done, (void)total;
    return desk_time_left(r->worker->server->desk);
}

static tb_code encode(request *r, const tb_whatif_answer *a, tb_error *err)
{
    static void (*const forms[])(const tb_whatif_answer *, tb_whatif_sink *) = {
        tb_whatif_json, tb_whatif_csv, tb_whatif_html};
    answer *made = answer_new(r->worker->server->pool);
    if (!made) return tb_fail(err, TB_E_NOMEM, NULL, NULL);
    tb_whatif_sink sink = {.out = answer_body(made)};
    forms[work_of(r)->form](a, &sink);
    if (tb_buf_check(sink.out, NULL)) {
        answer_drop(made);
        return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                       "The answer is longer than %zu bytes. Ask for fewer scenarios.", ANSWER_MAX);
    }
    r->reply.what = made; /* goes with the request, whatever becomes of the client */
    return TB_OK;
}

static tb_code answer_question(request *r, tb_store *store, tb_error *err)
{
    tb_whatif_answer a;
    tb_code code = tb_whatif_run(store, &work_of(r)->question, &a, err);
    if (code == TB_E_BUSY && !atomic_load(&r->worker->server->stopping))
        return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                       "It was not done in %d seconds. Ask for fewer months or scenarios.",
                       (int)(DESK_JOB_US / 1000000));
    if (code) return code;
    code = encode(r, &a, err);
    tb_whatif_answer_release(&a);
    return code;
}

static tb_code read_question(request *r, const tb_whatif_body *body, tb_whatif_question *q,
                             tb_error *err)
{
    tb_code code = tb_whatif_span(body->from, body->to, q->now_us, q, err);
    if (code) return code;
    if (q->to - q->from >= MONTHS_MAX)
        return tb_fail(err, TB_E_TOO_MUCH, "from", "At most %d months are computed at once.",
                       MONTHS_MAX);
    if (r->account && body->account && body->account != r->account)
        return tb_fail(err, TB_E_VALIDATION, "account",
                       "This key is account %" PRId64 "'s and asks for that alone.", r->account);
    q->account = r->account ? r->account : body->account;
    return TB_OK;
}

static tb_code run(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    tb_whatif_question *q = &work_of(r)->question;
    tb_scenario *list = calloc(TB_WHATIF_BODY_SCENARIOS_MAX, sizeof *list);
    tb_whatif_body *body = malloc(sizeof *body);
    tb_code code = list && body ? TB_OK : tb_fail(err, TB_E_NOMEM, NULL, NULL);
    if (!code) code = tb_whatif_body_parse(r->body ? r->body : "", r->body_len, body, err);
    if (!code) code = read_question(r, body, q, err);
    if (!code) code = read_scenarios(store, body, r->account == 0, list, &q->n_scenarios, err);
    q->scenarios = list;
    if (!code) code = answer_question(r, store, err);
    for (size_t i = 0; i < q->n_scenarios; i++)
        tb_scenario_release(&list[i]);
    free(body);
    free(list);
    return code;
}

/* --- on the worker's --- */

/* The body is read at the desk too: a long one must not hold up a worker's other clients. */
void api_whatif(request *r)
{
    whatif_work *work = work_of(r);
    *work = (whatif_work){
        .question = {.now_us = request_now_us(r), .bills_max = BILLS_MAX, .step = step, .ctx = r}};
    work->form = query_choose_type(request_header(r, GUARD_ACCEPT), types, 3) % 3;
    r->job.run = run;
    r->job.bytes = r->body_len;
    request_submit_long(r);
}

void api_whatif_done(request *r)
{
    static const char *const sent[] = {"application/json", "text/csv; charset=utf-8",
                                       "text/html; charset=utf-8"};
    answer *made = r->reply.what;
    if (r->job.code) {
        request_fail_as(r, &r->job.err);
        return;
    }
    r->reply.what = NULL;
    request_answer(r, made, false);
    r->reply.content_type = sent[work_of(r)->form];
    r->reply.tagged = false;
}
