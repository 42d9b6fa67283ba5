/* GET /metrics/account: the running month of the key's account for Prometheus. The key's roles decide which parts the
 * answer has. Answers are cached by the store's version, the account, the hour, the parts and the form, and computed on
 * the slow-query lane, since many zones take milliseconds.
 *
 * A scraper asks again and again while usage comes in, and a forecast takes a hundred times as long as the figures of a
 * small account. So the forecast is kept by account and hour alone. */
#include <string.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/calendar.h"
#include "tollbook/statistics.h"

/* Lies in r->work. */
typedef struct question {
    cached_question cached;
    tb_account_metrics_query ask;
    cache *answers; /* of the server */
} question;
_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

/* They tell these keys from those of others. */
#define TAG          UINT64_C(0x6d6574726963734b)
#define FORECAST_TAG UINT64_C(0x6d65747269637346)

static cache_key metrics_key(const void *asked, uint64_t version)
{
    const tb_account_metrics_query *a = &((const question *)asked)->ask;
    const uint64_t parts = (uint64_t)a->form << 2 | (uint64_t)a->traffic << 1 | a->money;
    return (cache_key){{version, (uint64_t)a->account, (uint64_t)tb_hour_from_us(a->now_us), parts, 0, TAG}};
}

/* The account's forecast of this hour; drop it. */
static tb_code take_forecast(tb_store *store, const question *q, answer **ret, tb_error *err)
{
    const tb_account_metrics_query *a = &q->ask;
    const cache_key key = {{(uint64_t)a->account, (uint64_t)tb_hour_from_us(a->now_us), (uint64_t)a->form, 0, 0, FORECAST_TAG}};
    *ret = cache_get(q->answers, &key);
    if (*ret) return TB_OK;
    *ret = answer_new();
    if (!*ret) return tb_no_memory(err);
    tb_code code = tb_account_forecast_metrics(store, a, answer_body(*ret), err);
    if (!code) cache_put(q->answers, &key, *ret);
    return code;
}

static tb_code fill_metrics(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    tb_account_metrics_query ask = q->ask;
    answer *forecast = NULL;
    tb_code code = ask.money ? take_forecast(store, q, &forecast, err) : TB_OK;
    if (!code && forecast) ask.forecast = (tb_text){answer_body(forecast)->data, answer_body(forecast)->len};
    if (!code) code = tb_account_metrics(store, &ask, out, err);
    answer_drop(forecast);
    return code;
}

static const cached_kind cached = {metrics_key, fill_metrics};

/* Prometheus' text format is for clients that do not ask for OpenMetrics. */
static tb_metrics_form form_of(const request *r)
{
    static const char *const types[] = {"text/plain", "application/openmetrics-text"};
    return query_choose_type(request_header(r, HEADER_ACCEPT), types, 2) == 1 ? TB_METRICS_OPEN : TB_METRICS_TEXT;
}

static tb_code read_question(request *r, question *q, tb_error *err)
{
    *q = (question){.answers = r->worker->server->cache,
                    .ask = {.now_us = request_now_us(r),
                            .traffic = tb_roles_open(r->roles, TB_ACCESS_INSIGHTS),
                            .money = tb_roles_open(r->roles, TB_ACCESS_BILLING),
                            .form = form_of(r)}};
    return api_account_asked(r, &q->ask.account, err);
}

/* An answer is JSON where nothing else is said. */
static void say_form(request *r)
{
    const question *q = (const question *)(const void *)r->work;
    if (r->reply.kind == REPLY_ANSWER) r->reply.content_type = tb_metrics_media_type(q->ask.form);
}

void api_account_metrics(request *r)
{
    question *q = (question *)(void *)r->work;
    tb_error err;
    if (read_question(r, q, &err)) request_fail_as(r, &err);
    else cached_answer_slow(r, &cached);
    say_form(r);
}

void api_account_metrics_done(request *r)
{
    api_cached_done(r);
    say_form(r);
}
