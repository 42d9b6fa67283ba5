/* GET /billing/forecast: the running month of the key's account. Answers are cached by the store's
 * version, the account, the hour, the seed and the paths: the same question is computed once. */
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
    int64_t account, now_us;
    uint64_t seed;
    uint32_t paths;
} question;

static tb_code read_forecast_params(request *r, question *q, tb_error *err)
{
    params p = {TB_FORECAST_SEED, TB_FORECAST_PATHS};
    tb_text query = request_query(r);
    int64_t account;
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (!code) code = api_account_asked(r, &account, err);
    if (code) return code;
    if (p.seed < 0 || p.seed > UINT32_MAX)
        return tb_fail(err, TB_E_VALIDATION, "seed", "seed must be 0 to 4294967295.");
    if (p.paths < 100 || p.paths > TB_FORECAST_PATHS)
        return tb_fail(err, TB_E_VALIDATION, "paths", "paths is 100 to %d.", TB_FORECAST_PATHS);
    *q = (question){.account = account,
                    .now_us = request_now_us(r),
                    .seed = (uint64_t)p.seed,
                    .paths = (uint32_t)p.paths};
    return TB_OK;
}

#define TAG UINT64_C(0x666f726563617374) /* tells these keys from those of others */

static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    return (cache_key){{version, (uint64_t)q->account, (uint64_t)tb_hour_from_us(q->now_us),
                        q->seed, q->paths, TAG}};
}

static tb_code answer_forecast(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_forecast_answer(store, q->account, q->now_us, q->seed, q->paths, out, err);
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
