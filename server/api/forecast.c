/* GET /billing/forecast: the running month of the key's account. Answers are cached by the store's
 * version, the account, the hour, the seed, the paths and the amount: the same question is computed once. */
#include <string.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/accountforecast.h"
#include "tollbook/calendar.h"

typedef struct params {
    int64_t seed, paths;
    tb_text above;
} params;

static const query_spec specs[] = {
    {"seed", QUERY_INT, offsetof(params, seed)},
    {"paths", QUERY_INT, offsetof(params, paths)},
    {"above", QUERY_TEXT, offsetof(params, above)},
};

typedef struct question {
    int64_t account, now_us;
    uint64_t seed;
    uint32_t paths;
    bool has_above;
    tb_decimal above; /* with ABOVE_SCALE digits */
} question;

#define ABOVE_SCALE 6
#define ABOVE_MOST  INT64_C(1000000000000000000) /* as of alerts */

static tb_code read_above(tb_text text, question *q, tb_error *err)
{
    q->has_above = text.len > 0;
    if (!q->has_above) return TB_OK;
    if (tb_decimal_parse(text.data, text.len, ABOVE_SCALE, &q->above, NULL) || tb_decimal_sign(q->above) < 0 ||
        tb_decimal_compare(q->above, (tb_decimal){ABOVE_MOST, 0}) > 0)
        return tb_fail(err, TB_E_VALIDATION, "above", "It is an amount from 0 to 10^18 with at most %d digits after the point, such as 500.00.",
                       ABOVE_SCALE);
    return TB_OK;
}

static tb_code read_forecast_params(request *r, question *q, tb_error *err)
{
    params p = {TB_FORECAST_SEED, TB_FORECAST_PATHS, {NULL, 0}};
    tb_text query = request_query(r);
    *q = (question){.now_us = request_now_us(r)};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (!code) code = read_above(p.above, q, err);
    if (!code) code = api_account_asked(r, &q->account, err);
    if (code) return code;
    if (p.seed < 0 || p.seed > UINT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "seed", "seed must be 0 to 4294967295.");
    if (p.paths < 100 || p.paths > TB_FORECAST_PATHS)
        return tb_fail(err, TB_E_VALIDATION, "paths", "paths is 100 to %d.", TB_FORECAST_PATHS);
    q->seed = (uint64_t)p.seed;
    q->paths = (uint32_t)p.paths;
    return TB_OK;
}

#define TAG UINT64_C(0x666f726563617374) /* tells these keys from those of others */

static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    tb_i128 above = q->has_above ? q->above.mantissa : -1;
    for (int scale = q->above.scale; q->has_above && scale < ABOVE_SCALE; scale++)
        above *= 10;
    const uint64_t high = (uint64_t)(above >> 64) & UINT32_MAX; /* the amount, scaled, is below 2^80 */
    return (cache_key){{version, (uint64_t)q->account, (uint64_t)tb_hour_from_us(q->now_us) << 32 | q->paths,
                        q->seed << 32 | high, (uint64_t)above, TAG}};
}

static tb_code answer_forecast(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_forecast_answer(store, &(tb_forecast_question){.account = q->account, .at_us = q->now_us, .seed = q->seed,
                                                             .paths = q->paths, .limits = &q->above, .n_limits = q->has_above},
                              out, err);
}

static const cached_kind kind = {key_of, answer_forecast};

void api_forecast(request *r)
{
    question q;
    tb_error err;
    if (read_forecast_params(r, &q, &err) == TB_OK)
        cached_answer(r, &kind, &q);
    else
        request_fail_as(r, &err);
}
