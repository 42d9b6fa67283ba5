/* GET /insights: resolves times, order and page by the engine's rules; answers are cached like statistics. */
#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/statistics.h"

#define TOP_DEFAULT 20
#define PAGE_MAX    1000000
#define SEARCH_MAX  255
#define MANY_ZONES  300 /* more zones of an account make it a slow query */
#define MANY_HOURS  240 /* more hours, too */

typedef struct params {
    tb_period_query times;
    tb_text region, sort, search, rank;
    int64_t zone, account, top, page;
} params;

#define SPEC(name_, kind_, field)                                                                  \
    {                                                                                              \
        .name = name_, .kind = QUERY_##kind_, .offset = offsetof(params, field)                    \
    }

static const query_spec specs[] = {
    SPEC("from", TEXT, times.from),
    SPEC("to", TEXT, times.to),
    SPEC("by", TEXT, times.by),
    SPEC("compare", TEXT, times.compare),
    SPEC("zone", INT, zone),
    SPEC("region", TEXT, region),
    SPEC("top", INT, top),
    SPEC("page", INT, page),
    SPEC("sort", TEXT, sort),
    SPEC("search", TEXT, search),
    SPEC("account", INT, account),
    SPEC("rank", TEXT, rank),
};

/* Lies in r->work. */
typedef struct question {
    cached_question cached;
    tb_insights_query ask;
    char region[TB_EDGE_MAX + 1];
} question;

/* The account is a word of its own; the rest of the question, with its texts, is hashed to 128 bits. The fifth word
 * tells the kind. */
static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    const tb_insights_query *a = &q->ask;
    const tb_period *p = &a->period;
    const bool charges = a->order.measure == TB_INSIGHTS_CHARGES; /* which grow with time */
    const int64_t rest[] = {charges ? p->come : 0, a->scope.zone, p->by, p->by_itself, p->compare, p->range.first, p->range.count,
                            p->before.first, p->before.count, p->before_part, a->order.field,
                            a->order.ascending, (int64_t)a->order.measure, a->top, a->page, a->ranks_accounts};
    char text[sizeof rest + sizeof q->region + SEARCH_MAX];
    memcpy(text, rest, sizeof rest);
    memcpy(text + sizeof rest, q->region, sizeof q->region);
    if (a->search.len) memcpy(text + sizeof rest + sizeof q->region, a->search.data, a->search.len);
    const XXH128_hash_t hash = XXH3_128bits(text, sizeof rest + sizeof q->region + a->search.len);
    return (cache_key){{version, (uint64_t)a->scope.account, hash.high64, hash.low64,
                        UINT64_C(0x696e736967687473), 0}};
}

static tb_code fill_insights(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_insights_in(store, &q->ask, NULL, out, err);
}

static const cached_kind cached = {key_of, fill_insights};

static tb_code check_bounds(const params *p, tb_error *err)
{
    if (p->zone != TB_ALL && p->zone <= 0) return tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
    if (p->top < 1 || p->top > TB_INSIGHTS_TOP)
        return tb_fail(err, TB_E_VALIDATION, "top", "top is a number from 1 to %d.", TB_INSIGHTS_TOP);
    if (p->page < 1 || p->page > PAGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "page", "page is a number from 1 to %d.", PAGE_MAX);
    if (p->region.len > TB_EDGE_MAX)
        return tb_fail(err, TB_E_VALIDATION, "region", "region is a code of at most %d characters.",
                       TB_EDGE_MAX);
    if (p->search.len > SEARCH_MAX)
        return tb_fail(err, TB_E_VALIDATION, "search", "search is at most %d bytes.", SEARCH_MAX);
    return TB_OK;
}

tb_code api_choose_account(const request *r, int64_t asked, int64_t *ret, tb_error *err)
{
    *ret = r->account ? r->account : asked == API_NO_ACCOUNT ? TB_ALL : asked;
    if (r->account && asked != API_NO_ACCOUNT && asked && asked != r->account)
        return tb_fail(err, TB_E_FORBIDDEN, "account", "This key sees account %" PRId64 " alone.",
                       r->account);
    if (*ret > 0 || asked == API_NO_ACCOUNT) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "account", "account is the number of an account, such as account=1; "
                   "without it the answer is of all accounts.");
}

static bool is_word(tb_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* What is ranked beside zones. */
static tb_code choose_rank(tb_text rank, tb_insights_query *ask, tb_error *err)
{
    if (!rank.len || is_word(rank, "zones")) return TB_OK;
    if (!is_word(rank, "accounts")) return tb_fail(err, TB_E_VALIDATION, "rank", "rank is zones or accounts.");
    ask->ranks_accounts = true;
    if (ask->scope.account == TB_ALL && ask->scope.zone == TB_ALL) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "rank", "rank=accounts is of all accounts: leave out account and zone.");
}

/* Money is shown to roles that may read bills, and zones are charged to an account. */
static tb_code check_charges(const request *r, const tb_insights_query *ask, tb_error *err)
{
    if (!tb_roles_open(r->roles, TB_ACCESS_BILLING))
        return tb_fail(err, TB_E_FORBIDDEN, "sort", "This key may not read charges.");
    if (ask->scope.account != TB_ALL) return TB_OK;
    return tb_fail(err, TB_E_VALIDATION, "sort", "An order by charges is of one account's zones: name it, such as account=1.");
}

_Static_assert(sizeof(question) <= sizeof((request *)0)->work, "it fits request.work");

static tb_code read_insights_ask(request *r, question *q, tb_error *err)
{
    params p = {.zone = TB_ALL, .account = API_NO_ACCOUNT, .top = TOP_DEFAULT, .page = 1};
    const tb_text query = request_query(r);
    *q = (question){.ask.scope.zone = TB_ALL};
    tb_insights_query *ask = &q->ask;
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (!code) code = check_bounds(&p, err);
    if (!code) code = api_choose_account(r, p.account, &ask->scope.account, err);
    if (!code) code = tb_period_resolve(&p.times, request_now_us(r), &ask->period, err);
    if (!code) code = tb_insights_order_parse(p.sort, &ask->order, err);
    ask->scope.zone = p.zone;
    if (!code) code = choose_rank(p.rank, ask, err);
    if (!code && ask->order.measure == TB_INSIGHTS_CHANGE && ask->period.compare == TB_COMPARE_NONE)
        code = tb_fail(err, TB_E_VALIDATION, "sort", "An order by change needs compare, such as compare=week.");
    if (!code && ask->order.measure == TB_INSIGHTS_CHARGES) code = check_charges(r, ask, err);
    if (code) return code;
    if (p.region.len) memcpy(q->region, p.region.data, p.region.len);
    ask->scope.region = q->region;
    ask->search = p.search;
    ask->top = p.top;
    ask->page = p.page;
    return TB_OK;
}

/* Whether it is a slow query. The engine's cache is asked first, because counting an account's zones reads them. */
static tb_code is_long(const request *r, const question *q, bool *ret_long, tb_error *err)
{
    tb_store *store = r->worker->store;
    bool known = false;
    tb_code code = tb_insights_known(store, &q->ask, &known, err);
    *ret_long = !known && q->ask.period.range.hourly && q->ask.period.range.count > MANY_HOURS;
    const bool fleet = q->ask.scope.account == TB_ALL;
    if ((!known && fleet) || q->ask.order.measure == TB_INSIGHTS_CHARGES) *ret_long = true;
    if (!code && !known && !*ret_long && q->ask.scope.zone == TB_ALL)
        code = tb_store_has_zones(store, q->ask.scope.account, MANY_ZONES, ret_long, err);
    return code;
}

/* Summing many zones, or many hours of each, takes milliseconds, in which the worker's other connections would wait. */
void api_insights(request *r)
{
    question *q = (question *)(void *)r->work;
    bool slow = false;
    tb_error err;
    if (read_insights_ask(r, q, &err) != TB_OK || is_long(r, q, &slow, &err) != TB_OK) request_fail_as(r, &err);
    else if (slow) cached_answer_slow(r, &cached);
    else cached_answer(r, &cached, q);
}
