/* POST /billing/what-if. The computation is a slow query, so that the worker's other connections need not wait; a
 * request is bounded by number and by time. */
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/whatifrun.h"

static const char *const types[] = {"application/json", "text/csv", "text/html"};
static const char *const forms[] = {"json", "csv", "html"};

/* The index of the chosen type, kept in r->work. */
static size_t *form_of(request *r)
{
    return (size_t *)(void *)r->work;
}

/* --- on the slow-query lane --- */

static bool check_time_left(void *ctx, uint64_t done, uint64_t total)
{
    request *r = ctx;
    (void)done, (void)total;
    return job_pool_time_left(r->worker->server->pool, LANE_SLOW, &r->job);
}

static tb_code explain_stop(const request *r, tb_error *err)
{
    if (atomic_load(&r->worker->server->stopping)) return tb_fail(err, TB_E_BUSY, NULL, NULL);
    return tb_fail(err, TB_E_TOO_MUCH, "scenarios",
                   "It took longer than %d seconds. Ask for fewer months or scenarios.",
                   (int)(SERVER_SLOW_US / 1000000));
}

static tb_code run_whatif(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    const tb_whatif_ask ask = {.body = r->body ? r->body : "", .len = r->body_len,
                               .form = forms[*form_of(r)], .account = r->account,
                               .now_us = request_now_us(r), .step = check_time_left, .ctx = r};
    answer *made = answer_new();
    if (!made) return tb_no_memory(err);
    tb_code code = tb_whatif_ask_put(store, &ask, answer_body(made), err);
    if (code) answer_drop(made);
    else r->reply.answer = made; /* released with the request */
    return code == TB_E_STOPPED ? explain_stop(r, err) : code;
}

/* --- on the worker --- */

/* The body is parsed on the slow-query lane, too, since a long one would delay the worker's other connections. */
void api_whatif(request *r)
{
    *form_of(r) = query_choose_type(request_header(r, HEADER_ACCEPT), types, 3) % 3;
    r->job.run = run_whatif;
    r->job.bytes = r->body_len;
    request_submit_slow(r);
}

void api_whatif_done(request *r)
{
    static const char *const sent[] = {"application/json", "text/csv; charset=utf-8",
                                       "text/html; charset=utf-8"};
    answer *made = r->reply.answer;
    if (r->job.code) {
        request_fail_as(r, &r->job.err);
        return;
    }
    r->reply.answer = NULL;
    request_answer(r, made, false);
    r->reply.content_type = sent[*form_of(r)];
    r->reply.tagged = false;
}
