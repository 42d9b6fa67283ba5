/* The four statistics endpoints: the engine resolves parameters into a view and a range; cached.c answers. */
#include <string.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/statistics.h"

typedef struct params {
    tb_text from, to;
    bool hourly, exact, latest;
    int64_t zone, region;
    /* The load flags are checked and ignored: the answer always has all charts. */
    bool ignored;
} params;

#define SPEC(name_, kind_, field)                                                                  \
    {                                                                                              \
        .name = name_, .kind = QUERY_##kind_, .offset = offsetof(params, field)                    \
    }

static const query_spec specs[] = {
    SPEC("dateFrom", TEXT, from),
    SPEC("dateTo", TEXT, to),
    SPEC("hourly", BOOL, hourly),
#define ZONE_SPECS 3 /* the endpoints of one zone take only these */
    SPEC("exactRange", BOOL, exact),
    SPEC("loadLatest", BOOL, latest),
    SPEC("pullZone", INT, zone),
    SPEC("serverZoneId", INT, region),
    SPEC("loadErrors", BOOL, ignored),
    SPEC("loadOriginResponseTimes", BOOL, ignored),
    SPEC("loadOriginTraffic", BOOL, ignored),
    SPEC("loadRequestsServed", BOOL, ignored),
    SPEC("loadBandwidthUsed", BOOL, ignored),
    SPEC("loadOriginShieldBandwidth", BOOL, ignored),
    SPEC("loadGeographicTrafficDistribution", BOOL, ignored),
    SPEC("loadUserBalanceHistory", BOOL, ignored),
};

typedef struct question {
    tb_answer_kind kind;
    tb_view view;
    tb_range range;
    int64_t now_us;
} question;

static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    const uint64_t day = (uint64_t)tb_statistics_balance_day(q->now_us) & 0x1fff; /* the same again after 22 years */
    return (cache_key){{version, (uint64_t)q->view.account, (uint64_t)q->view.zone,
                        (uint64_t)q->view.region, (uint64_t)q->range.first,
                        (uint64_t)q->range.count << 16 | day << 3 |
                            (uint64_t)q->kind << 1 | q->range.hourly}};
}

static tb_code answer_view(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_statistics_in(store, &(tb_statistics_query){q->view, q->range, q->kind}, q->now_us, NULL, out, err);
}

static const cached_kind cached = {key_of, answer_view};

static bool read_statistics_params(request *r, size_t n_specs, params *p)
{
    tb_error err;
    tb_text query = request_query(r);
    if (query_parse(query.data, query.len, specs, n_specs, p, r->scratch, &err) == TB_OK)
        return true;
    request_fail_as(r, &err);
    return false;
}

static void answer_kind(request *r, tb_answer_kind kind)
{
    bool statistics = kind == TB_ANSWER_STATISTICS;
    params p = {.zone = TB_ALL, .region = TB_ALL};
    if (!statistics && !router_id(r->id, &p.zone)) p.zone = 0;
    if (!read_statistics_params(r, statistics ? sizeof specs / sizeof *specs : ZONE_SPECS, &p)) return;
    question q = {
        .kind = kind, .view = {r->account, p.zone, p.region}, .now_us = request_now_us(r)};
    tb_range_query range = {.from = p.from,
                            .to = p.to,
                            .hourly = p.hourly,
                            .exact = p.exact,
                            .latest = p.latest,
                            .statistics = statistics};
    tb_error err;
    if (tb_range_resolve(&range, q.now_us, &q.range, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    /* Ids are positive; -1 in a query means all zones. */
    if ((!statistics || p.zone != TB_ALL) && p.zone <= 0) {
        request_fail(r, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
        return;
    }
    cached_answer(r, &cached, &q);
}

void api_statistics(request *r)
{
    answer_kind(r, TB_ANSWER_STATISTICS);
}

void api_optimizer(request *r)
{
    answer_kind(r, TB_ANSWER_OPTIMIZER);
}

void api_queue(request *r)
{
    answer_kind(r, TB_ANSWER_QUEUE);
}

void api_safehop(request *r)
{
    answer_kind(r, TB_ANSWER_SAFEHOP);
}
