/* GET /insights/why: why a figure changed between two spans. */
#include <string.h>
#include <xxhash.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/key.h"
#include "tollbook/statistics.h"

#define TOP_DEFAULT 10
#define MANY_ZONES  150 /* more zones of an account make it a slow query: each is summed twice */
#define MANY_HOURS  240 /* more hours, too */

typedef struct params {
    tb_text field, by, from, to, against_from, against_to, region, currency;
    int64_t zone, account, top;
} params;

#define SPEC(name_, kind_, field_)                                                                 \
    {                                                                                              \
        .name = name_, .kind = QUERY_##kind_, .offset = offsetof(params, field_)                   \
    }

static const query_spec specs[] = {
    SPEC("field", TEXT, field),
    SPEC("by", TEXT, by),
    SPEC("from", TEXT, from),
    SPEC("to", TEXT, to),
    SPEC("against_from", TEXT, against_from),
    SPEC("against_to", TEXT, against_to),
    SPEC("zone", INT, zone),
    SPEC("region", TEXT, region),
    SPEC("account", INT, account),
    SPEC("currency", TEXT, currency),
    SPEC("top", INT, top),
};

/* Lies in r->work. */
typedef struct question {
    cached_question cached;
    tb_why_query ask;
    char region[TB_EDGE_MAX + 1];
} question;

_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

/* Charges of a running month grow with time: their answer is good for a minute. */
static cache_key why_key(const void *asked, uint64_t version)
{
    const question *q = asked;
    const tb_why_query *a = &q->ask;
    const int64_t rest[] = {a->scope.zone, a->field, a->by, a->now.first, a->now.count, a->before.first, a->before.count,
                            a->top, a->field == TB_WHY_CHARGES ? a->now_us / (60 * TB_US_PER_S) : 0};
    char text[sizeof rest + sizeof q->region + sizeof a->currency];
    memcpy(text, rest, sizeof rest);
    memcpy(text + sizeof rest, q->region, sizeof q->region);
    memcpy(text + sizeof rest + sizeof q->region, a->currency, sizeof a->currency);
    const XXH128_hash_t hash = XXH3_128bits(text, sizeof text);
    return (cache_key){{version, (uint64_t)a->scope.account, hash.high64, hash.low64, UINT64_C(0x776879), 0}};
}

static tb_code fill_why(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_why_in(store, &q->ask, out, err);
}

static const cached_kind cached = {why_key, fill_why};

static tb_code check_bounds(const params *p, tb_error *err)
{
    if (p->zone != TB_ALL && p->zone <= 0) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    if (p->top < 1 || p->top > TB_WHY_TOP)
        return tb_fail(err, TB_E_VALIDATION, "top", "top is a number from 1 to %d.", TB_WHY_TOP);
    if (p->region.len > TB_EDGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "region", "region is a code of at most %d characters.", TB_EDGE_MAX);
    bool is_code = !p->currency.len || p->currency.len == 3;
    for (size_t i = 0; i < p->currency.len; i++)
        is_code &= p->currency.data[i] >= 'A' && p->currency.data[i] <= 'Z';
    if (is_code) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "currency", "currency is a code of three capital letters, such as EUR.");
}

static tb_code read_spans(const params *p, tb_why_query *ask, tb_error *err)
{
    const tb_span_query now = {p->from, p->to, "from", "to"};
    const tb_span_query before = {p->against_from, p->against_to, "against_from", "against_to"};
    const struct { tb_text text; const char *name; } needed[] = {
        {p->from, "from"}, {p->to, "to"}, {p->against_from, "against_from"}, {p->against_to, "against_to"}};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!needed[i].text.len)
            return tb_fail(err, TB_E_VALIDATION, needed[i].name, "%s is missing: a day or a moment.", needed[i].name);
    tb_code code = tb_span_resolve(&now, ask->now_us, &ask->now, err);
    return code ? code : tb_span_resolve(&before, ask->now_us, &ask->before, err);
}

static tb_code read_ask(request *r, question *q, tb_error *err)
{
    params p = {.zone = TB_ALL, .account = API_NO_ACCOUNT, .top = TOP_DEFAULT};
    const tb_text query = request_query(r);
    *q = (question){.ask.now_us = request_now_us(r)};
    tb_why_query *ask = &q->ask;
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p, r->scratch, err);
    if (!code) code = tb_why_field_parse(p.field, &ask->field, err);
    if (!code && !tb_roles_open(r->roles, ask->field == TB_WHY_CHARGES ? TB_ACCESS_BILLING : TB_ACCESS_INSIGHTS))
        code = tb_fail(err, TB_E_FORBIDDEN, "field", NULL);
    if (!code) code = tb_why_by_parse(p.by, &ask->by, err);
    if (!code) code = check_bounds(&p, err);
    if (!code) code = api_choose_account(r, p.account, &ask->scope.account, err);
    if (!code) code = read_spans(&p, ask, err);
    if (code) return code;
    if (p.region.len) memcpy(q->region, p.region.data, p.region.len);
    if (p.currency.len) memcpy(ask->currency, p.currency.data, p.currency.len);
    ask->scope.zone = p.zone;
    ask->scope.region = q->region;
    ask->top = p.top;
    return tb_why_check(ask, err);
}

/* Bills, all accounts, many zones or many hours take milliseconds, in which the worker's other connections would
 * wait. */
static tb_code is_long(const request *r, const tb_why_query *ask, bool *ret_long, tb_error *err)
{
    *ret_long = ask->field == TB_WHY_CHARGES || (ask->scope.account == TB_ALL && ask->scope.zone == TB_ALL) ||
                (ask->by == TB_WHY_HOUR && ask->now.count > MANY_HOURS);
    if (*ret_long || ask->by != TB_WHY_ZONE || ask->scope.zone != TB_ALL) return TB_OK;
    return tb_store_has_zones(r->worker->store, ask->scope.account, MANY_ZONES, ret_long, err);
}

void api_why(request *r)
{
    question *q = (question *)(void *)r->work;
    bool slow = false;
    tb_error err;
    if (read_ask(r, q, &err) != TB_OK || is_long(r, &q->ask, &slow, &err) != TB_OK) request_fail_as(r, &err);
    else if (slow) cached_answer_slow(r, &cached);
    else cached_answer(r, &cached, q);
}
