/* GET /shield/metrics/...: counts of a shield zone's events, and POST /shield/event-logs/{id}/search. Both read all events
 * of their time, so they run on the slow-query lane; metrics are cached like statistics, and by the hour. */
#include <string.h>
#include <xxhash.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "api/shield.h"
#include "http/query.h"
#include "tollbook/shield.h"

#define MS_PER_HOUR INT64_C(3600000)

/* Lies in r->work. */
typedef struct question {
    cached_question cached;
    request *request;
    tb_shield_ask ask;
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

/* --- on the slow-query lane --- */

static bool may_go_on(void *ctx)
{
    const request *r = ctx;
    return !request_client_left(r) && !atomic_load(&r->worker->server->stopping) &&
           job_pool_time_left(r->worker->server->pool, LANE_SLOW, &r->job);
}

static tb_code explain_stop(const request *r, tb_error *err)
{
    if (request_client_left(r) || atomic_load(&r->worker->server->stopping)) return tb_fail(err, TB_E_BUSY, NULL, NULL);
    return tb_fail(err, TB_E_TOO_MUCH, NULL, "It took longer than %d seconds. Ask for a shorter time.",
                   (int)(SERVER_SLOW_US / 1000000));
}

static cache_key metrics_key(const void *asked, uint64_t version)
{
    const tb_shield_ask *a = &((const question *)asked)->ask;
    const int64_t rest[] = {a->view, a->from_ms, a->to_ms, a->resolution, tb_hour_from_us(a->now_us)};
    const XXH128_hash_t hash = XXH3_128bits_withSeed(a->rule.len ? a->rule.data : "", a->rule.len, XXH3_64bits(rest, sizeof rest));
    return (cache_key){{version, (uint64_t)a->account, (uint64_t)a->zone, hash.high64, hash.low64,
                        UINT64_C(0x736869656c646d65)}};
}

static tb_code fill_metrics(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    question *q = asked;
    tb_code code = tb_shield_metrics(store, &q->ask, out, err);
    return code == TB_E_STOPPED ? explain_stop(q->request, err) : code;
}

/* --- metrics --- */

static const cached_kind metrics_kind = {metrics_key, fill_metrics};

static tb_code begin_metrics(request *r, tb_shield_view view, question **ret, tb_error *err)
{
    question *q = *ret = (question *)(void *)r->work;
    *q = (question){.request = r,
                    .ask = {.account = r->account, .now_us = request_now_us(r), .view = view, .goes_on = may_go_on, .ctx = r}};
    if (router_id(request_part(r, 0), &q->ask.zone) && q->ask.zone <= TB_SHIELD_ZONE_MAX) return TB_OK;
    return tb_fail(err, TB_E_SHIELD_NOT_FOUND, "ShieldZone", NULL);
}

static void answer_metrics(request *r, tb_shield_view view)
{
    tb_error err;
    question *q;
    if (begin_metrics(r, view, &q, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    if (view == TB_SHIELD_WAF_RULE) q->ask.rule = request_part(r, 1);
    cached_answer_slow(r, &metrics_kind);
}

void api_shield_overview(request *r)
{
    answer_metrics(r, TB_SHIELD_OVERVIEW);
}

void api_shield_bots(request *r)
{
    answer_metrics(r, TB_SHIELD_BOTS);
}

void api_shield_uploads(request *r)
{
    answer_metrics(r, TB_SHIELD_UPLOADS);
}

void api_shield_guardian(request *r)
{
    answer_metrics(r, TB_SHIELD_GUARDIAN);
}

void api_shield_rule(request *r)
{
    answer_metrics(r, TB_SHIELD_WAF_RULE);
}

void api_shield_rate_limits(request *r)
{
    answer_metrics(r, TB_SHIELD_RATE_LIMITS);
}

/* --- metrics of a time --- */

typedef struct params {
    tb_text start, end;
    int64_t resolution;
} params;

static const query_spec specs[] = {
    {"StartDate", QUERY_TEXT, offsetof(params, start)},
    {"EndDate", QUERY_TEXT, offsetof(params, end)},
    {"Resolution", QUERY_INT, offsetof(params, resolution)},
};

/* A day, also with a Z as some client writes it, or a moment. *ret_whole: it is a day. */
static tb_code read_metrics_date(tb_text text, const char *field, int64_t *ret_ms, bool *ret_whole, tb_error *err)
{
    int64_t us;
    tb_error why;
    if (text.len == 11 && (text.data[10] | 32) == 'z') text.len = 10;
    *ret_whole = text.len <= 10;
    if (tb_date_parse(text.data, text.len, &us, &why) != TB_OK) return tb_fail(err, TB_E_VALIDATION, field, "%s", why.message);
    if (us < 0) return tb_fail(err, TB_E_VALIDATION, field, "%s must be 1970 or later.", field);
    *ret_ms = us / 1000;
    return TB_OK;
}

/* Without dates: the days whose events are kept, up to the running hour's end. */
static tb_code read_metrics_time(request *r, tb_shield_ask *ask, tb_error *err)
{
    const tb_text query = request_query(r);
    const int64_t now_ms = ask->now_us / 1000, last_ms = (now_ms / MS_PER_HOUR + 1) * MS_PER_HOUR;
    params p = {.resolution = TB_SHIELD_AUTO};
    bool whole = false;
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p, r->scratch, err);
    if (code) return code;
    if (p.resolution < 0 || p.resolution >= TB_SHIELD_STEP_COUNT)
        return tb_fail(err, TB_E_VALIDATION, "Resolution", "Resolution must be 0 to 6.");
    ask->resolution = (tb_shield_step)p.resolution;
    ask->from_ms = tb_event_first_day(now_ms) * TB_EVENT_MS_PER_DAY;
    ask->to_ms = last_ms;
    if (p.end.len) code = read_metrics_date(p.end, "EndDate", &ask->to_ms, &whole, err);
    if (!code && p.end.len && whole) ask->to_ms += TB_EVENT_MS_PER_DAY;
    if (!code && p.start.len) code = read_metrics_date(p.start, "StartDate", &ask->from_ms, &whole, err);
    if (!code && ask->to_ms > last_ms) ask->to_ms = last_ms;
    if (!code && ask->from_ms >= ask->to_ms)
        code = tb_fail(err, TB_E_VALIDATION, "StartDate", "StartDate must be before EndDate and not in the future.");
    return code;
}

void api_shield_detailed(request *r)
{
    tb_error err;
    question *q;
    tb_code code = begin_metrics(r, TB_SHIELD_DETAILED, &q, &err);
    if (!code) code = read_metrics_time(r, &q->ask, &err);
    if (code) request_fail_as(r, &err);
    else cached_answer_slow(r, &metrics_kind);
}

/* --- searches --- */

static tb_code run_search(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    const int64_t *zone = (const int64_t *)(const void *)r->work;
    const tb_shield_search ask = {.zone = *zone, .now_us = request_now_us(r), .body = r->body ? r->body : "",
                                  .len = r->body_len, .goes_on = may_go_on, .ctx = r};
    answer *made = answer_new();
    if (!made) return tb_no_memory(err);
    tb_code code = tb_store_read_begin(store, err);
    if (!code) {
        code = tb_shield_search_events(store, &ask, answer_body(made), err);
        tb_store_read_end(store);
    }
    if (code) answer_drop(made);
    else r->reply.answer = made; /* released with the request */
    return code == TB_E_STOPPED ? explain_stop(r, err) : code;
}

void api_shield_search(request *r)
{
    tb_error err;
    tb_code code = tb_store_read_begin(r->worker->store, &err);
    if (!code) {
        code = shield_zone(r, (int64_t *)(void *)r->work, &err);
        tb_store_read_end(r->worker->store);
    }
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = run_search;
    r->job.bytes = r->body_len;
    request_submit_slow(r);
}

void api_shield_search_done(request *r)
{
    answer *made = r->reply.answer;
    if (r->job.code) {
        request_fail_at(r, &r->job.err);
        return;
    }
    r->reply.answer = NULL;
    request_answer(r, made, false);
    r->reply.tagged = false;
}
