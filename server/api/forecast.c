/* GET /billing/forecast: the running month of the key's account. Answers are cached by the store's
 * version, the account, the hour, the seed and the paths: the same question is drawn once. */
#include <string.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/accountforecast.h"
#include "tollbook/calendar.h"

typedef struct params {
    int64_t seed, paths;
} params;

static const query_spec specs[] = {
    {"seed", QUERY_INT, offsetof(params, seed)},
    {"paths", QUERY_INT, offsetof(params, paths)},
};

typedef struct question {
    tb_forecast_question forecast; /* from_us is not known yet */
    int64_t now_us;
} question;

static tb_code read_question(request *r, question *q, tb_error *err)
{
    params p = {TB_FORECAST_SEED, TB_FORECAST_PATHS};
    tb_text query = request_query(r);
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (code) return code;
    if (p.seed < 0 || p.seed > UINT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "seed", "seed is 0 to 4294967295.");
    if (p.paths < 100 || p.paths > TB_FORECAST_PATHS)
        return tb_fail(err, TB_E_VALIDATION, "paths", "paths is 100 to %d.", TB_FORECAST_PATHS);
    q->now_us = request_now_us(r);
    q->forecast = (tb_forecast_question){.account = r->account,
                                         .month = tb_month_from_us(q->now_us),
                                         .at_us = q->now_us,
                                         .seed = (uint64_t)p.seed,
                                         .paths = (uint32_t)p.paths};
    return TB_OK;
}

#define TAG UINT64_C(0x666f726563617374) /* tells these keys from those of others */

static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    return (cache_key){{version, (uint64_t)q->forecast.account,
                        (uint64_t)tb_hour_from_us(q->now_us), q->forecast.seed, q->forecast.paths,
                        TAG}};
}

static tb_code read_forecast(tb_store *store, question *q, tb_forecast *ret, tb_error *err)
{
    tb_month_books books;
    tb_code code = tb_forecast_from(store, q->now_us, &q->forecast.from_us, err);
    if (!code) code = tb_month_books_read(store, &books, err);
    if (code) return code;
    code = tb_account_forecast(store, &books, &q->forecast, ret, err);
    tb_month_books_release(&books);
    return code;
}

static tb_code fill(worker *w, void *asked, tb_error *err)
{
    tb_forecast forecast;
    tb_code code = read_forecast(w->store, asked, &forecast, err);
    return code ? code : tb_forecast_json(&forecast, &w->scratch, err);
}

static const cached_kind kind = {key_of, fill};

void api_forecast(request *r)
{
    question q;
    tb_error err;
    if (read_question(r, &q, &err) == TB_OK)
        cached_answer(r, &kind, &q);
    else
        request_fail_as(r, &err);
}
