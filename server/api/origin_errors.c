/* GET /{id}/{MM-dd-yyyy}: a day's requests that failed at the origin, newest first, 1,000 a page, out of the request logs. */

#include "api/handlers.h"
#include "api/logs.h"
#include "http/query.h"

#define PAGE       1000

typedef struct params {
    tb_text token;
} params;

static const query_spec specs[] = {{"continuationToken", QUERY_TEXT, offsetof(params, token)}};

static void read_error_day(log_answer *a, tb_text day_text, int64_t now_ms, log_details *d)
{
    int64_t day;
    if (api_read_day(day_text, &day))
        logs_of_day(&a->filter, day, now_ms, d);
    else
        logs_wrong(d, "The path must end with a date as MM-dd-yyyy.");
}

static log_verdict put_error(log_answer *a, tb_logrow *row, tb_buf *out)
{
    if (!tb_logrow_failed(row)) return LOG_SKIP;
    if (a->offset > 0) { /* of earlier pages */
        a->offset--;
        return LOG_SKIP;
    }
    if (a->left == 0) {
        a->more = true;
        return LOG_ENOUGH;
    }
    if (a->returned++) tb_buf_str(out, ",");
    tb_logrow_origin_error(row, a->zone, out);
    a->left--;
    return LOG_TAKE;
}

static void put_errors_end(log_answer *a, tb_buf *out)
{
    tb_buf_fmt(out, "],\"hasMoreData\":%s,\"continuationToken\":", a->more ? "true" : "false");
    if (a->more) tb_buf_fmt(out, "\"%llu\"", (unsigned long long)(a->limit + a->returned));
    else tb_buf_str(out, "null");
    tb_buf_fmt(out, ",\"startToken\":\"%llu\"}", (unsigned long long)a->limit);
}

static void read_errors_token(log_answer *a, tb_text token, log_details *d)
{
    int64_t skipped = 0;
    if (token.len && (!query_int(token.data, token.len, &skipped) || skipped < 0))
        logs_wrong(d, "continuationToken must be that of another page.");
    a->limit = a->offset = (uint64_t)skipped; /* limit stays: where the page begins */
}

void api_origin_errors(request *r)
{
    int64_t zone;
    params p = {0};
    tb_error err;
    log_details wrong = {0};
    const tb_text query = request_query(r);
    if (!router_id(request_part(r, 0), &zone)) zone = 0; /* answered like a zone that does not exist */
    if (query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p, r->scratch, &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    log_answer *a = logs_begin(r, zone);
    if (!a) return;
    const char all[] = "5xx";
    (void)logs_status(&a->filter, (tb_text){all, sizeof all - 1});
    read_error_day(a, request_part(r, 1), request_now_us(r) / 1000, &wrong);
    read_errors_token(a, p.token, &wrong);
    if (logs_refused(r, &wrong)) {
        logs_free(a);
        return;
    }
    a->left = PAGE;
    a->descending = true;
    a->line = put_error;
    a->end = put_errors_end;
    a->content_type = "application/json";
    tb_buf_str(&a->first, "{\"logs\":[");
    logs_answer(r, a);
}
