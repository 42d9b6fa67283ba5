/* GET /loadbalancer/{id}/usage. Answers are cached like statistics: by the store's version, the
 * balancer, the month and, while the month runs, the hour, since a book may come into force at its
 * start. */
#include <string.h>

#include "api/cached.h"
#include "api/handlers.h"
#include "http/query.h"
#include "tollbook/statistics.h"
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
    bool running; /* it is the month of now_us */
} question;

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_PERIOD, field, "%s", sentence);
}

/* *ret_month is the running month; it is replaced if the query names another one. */
static tb_code read_month_params(const params *p, int64_t *ret_month, tb_error *err)
{
    if (p->year == ABSENT && p->month == ABSENT) return TB_OK;
    if (p->year == ABSENT) return bad(err, "year", "month is given without year.");
    if (p->month == ABSENT) return bad(err, "month", "year is given without month.");
    if (p->year < 1 || p->year > 9999) return bad(err, "year", "year is 1 to 9999.");
    if (p->month < 1 || p->month > 12) return bad(err, "month", "month is 1 to 12.");
    tb_date first = {(int32_t)p->year, (int32_t)p->month, 1};
    int64_t month = tb_month_from_day(tb_day_from_date(first));
    if (month > *ret_month) return bad(err, "month", "The month is in the future.");
    *ret_month = month;
    return TB_OK;
}

/* A number that does not parse is an invalid period too. */
static tb_code read_balancer_month(request *r, question *q, tb_error *err)
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
    const int64_t this_month = tb_month_from_us(q->now_us);
    q->month = this_month;
    if (!code) code = read_month_params(&p, &q->month, err);
    q->running = q->month == this_month;
    return code;
}

#define TAG UINT64_C(0x75736167652d6c62) /* tells these keys from those of statistics */

static cache_key key_of(const void *asked, uint64_t version)
{
    const question *q = asked;
    return (cache_key){{version, (uint64_t)q->account, (uint64_t)q->balancer, (uint64_t)q->month,
                        q->running ? (uint64_t)tb_hour_from_us(q->now_us) : 0, TAG}};
}

static tb_code answer_usage(tb_store *store, void *asked, tb_buf *out, tb_error *err)
{
    const question *q = asked;
    return tb_usage_answer(store, q->account, q->balancer, q->month, q->now_us, out, err);
}

static const cached_kind kind = {key_of, answer_usage};

void api_balancer_usage(request *r)
{
    question q;
    tb_error err;
    if (read_balancer_month(r, &q, &err) == TB_OK)
        cached_answer(r, &kind, &q);
    else
        request_fail_as(r, &err);
}
