/* GET /loadbalancer/{id}/usage. Answers are cached like statistics: by the store's version, the
 * balancer, the month and, while the month runs, the hour, since a book may come into force at its
 * start. */
#include <string.h>
#include <xxhash.h>

#include "api/handlers.h"
#include "api/usage.h"
#include "http/query.h"
#include "tollbook/calendar.h"

#define ABSENT INT64_MIN

typedef struct params {
    int64_t year, month;
} params;

static const query_spec specs[] = {
    {"year", QUERY_INT, offsetof(params, year)},
    {"month", QUERY_INT, offsetof(params, month)},
};

typedef struct question {
    int64_t account, balancer, month, now_us;
    bool running; /* the month is now_us's */
} question;

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_PERIOD, field, "%s", sentence);
}

/* *ret_month: the running one; where another is asked for, that. */
static tb_code read_month(const params *p, int64_t *ret_month, tb_error *err)
{
    if (p->year == ABSENT && p->month == ABSENT) return TB_OK;
    if (p->year == ABSENT) return bad(err, "year", "month is given without year.");
    if (p->month == ABSENT) return bad(err, "month", "year is given without month.");
    if (p->year < 1 || p->year > 9999) return bad(err, "year", "year is 1 to 9999.");
    if (p->month < 1 || p->month > 12) return bad(err, "month", "month is 1 to 12.");
    tb_date first = {(int32_t)p->year, (int32_t)p->month, 1};
    int64_t month = tb_month_from_day(tb_day_from_date(first));
    if (month > *ret_month) return bad(err, "month", "The month lies in the future.");
    *ret_month = month;
    return TB_OK;
}

/* A number that does not parse is an invalid period too. */
static tb_code read_question(request *r, question *q, tb_error *err)
{
    params p = {ABSENT, ABSENT};
    tb_text query = request_query(r);
    *q = (question){.account = r->account, .now_us = request_now_us(r)};
    if (!router_id(r->id, &q->balancer))
        return tb_fail(err, TB_E_BALANCER_NOT_FOUND, "LoadBalancer", NULL);
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    if (code == TB_E_VALIDATION) {
        if (err) err->code = TB_E_PERIOD;
        return TB_E_PERIOD;
    }
    const int64_t this_month = month_of_us(q->now_us);
    q->month = this_month;
    if (!code) code = read_month(&p, &q->month, err);
    q->running = q->month == this_month;
    return code;
}

#define TAG UINT64_C(0x75736167652d6c62) /* tells these keys from those of statistics */

static cache_key key_of(const question *q, uint64_t version)
{
    return (cache_key){{version, (uint64_t)q->account, (uint64_t)q->balancer, (uint64_t)q->month,
                        q->running ? (uint64_t)tb_hour_from_us(q->now_us) : 0, TAG}};
}

static tb_hash128 hash_of(const worker *w, const cache_key *key)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(key, sizeof *key, w->server->id_seed);
    return (tb_hash128){.high = h.high64, .low = h.low64};
}

static tb_code compute(worker *w, const question *q, uint64_t *ret_version, tb_error *err)
{
    w->scratch.len = 0;
    w->scratch.failed = false;
    tb_code code = tb_store_read_begin(w->store, err);
    if (code) return code;
    code = tb_store_version(w->store, ret_version, err);
    if (!code)
        code =
            usage_answer(w->store, q->account, q->balancer, q->month, q->now_us, &w->scratch, err);
    tb_store_read_end(w->store);
    return code;
}

static void answer_anew(request *r, const question *q)
{
    worker *w = r->worker;
    uint64_t version = 0;
    tb_error err;
    if (compute(w, q, &version, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    answer *a = answer_new(w->server->pool);
    if (!a || !answer_set(a, w->scratch.data, w->scratch.len)) {
        answer_drop(a);
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    cache_key key = key_of(q, version);
    cache_put(w->server->cache, &key, a);
    r->tag_hash = hash_of(w, &key);
    metrics_add(&w->metrics.cache_misses, 1);
    request_answer(r, a, false);
}

void api_balancer_usage(request *r)
{
    worker *w = r->worker;
    question q;
    tb_error err;
    if (read_question(r, &q, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    cache_key key = key_of(&q, atomic_load_explicit(&w->server->version, memory_order_acquire));
    if (request_not_modified(r, hash_of(w, &key))) return;
    answer *a = cache_get(w->server->cache, &key);
    if (!a) {
        answer_anew(r, &q);
        return;
    }
    metrics_add(&w->metrics.cache_hits, 1);
    request_answer(r, a, true);
}
