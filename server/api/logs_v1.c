/* GET /{MM}-{DD}-{YY}/{id}.log: a day's lines as text, columns between pipes, for days that overlap the last 72 hours;
 * of the oldest day only the lines that are still kept. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/handlers.h"
#include "api/logs.h"
#include "http/query.h"
#include "tollbook/calendar.h"


typedef struct params {
    tb_text start, end, sort, order, status, search, download;
} params;

#define SPEC(name_, field)                                                                         \
    {                                                                                              \
        .name = name_, .kind = QUERY_TEXT, .offset = offsetof(params, field)                       \
    }
static const query_spec specs[] = {
    SPEC("start", start),   SPEC("end", end),       SPEC("sort", sort),        SPEC("order", order),
    SPEC("status", status), SPEC("search", search), SPEC("download", download),
};

/* Reads "11-20-26", the first part of the path. false: there is no such day. */
static bool read_day(tb_text path, int64_t *ret_day)
{
    int32_t part[3];
    const char *p = path.data + 1;
    if (path.len < 10 || p[8] != '/' || p[2] != '-' || p[5] != '-') return false;
    for (int i = 0; i < 3; i++, p += 3) {
        if (p[0] < '0' || p[0] > '9' || p[1] < '0' || p[1] > '9') return false;
        part[i] = (p[0] - '0') * 10 + (p[1] - '0');
    }
    const tb_date date = {.year = 2000 + part[2], .month = part[0], .day = part[1]};
    if (date.month < 1 || date.month > 12 || date.day < 1 ||
        date.day > tb_days_in_month(date.year, date.month))
        return false;
    *ret_day = tb_day_from_date(date);
    return true;
}

static void read_window(log_answer *a, tb_text path, int64_t now_ms, log_details *d)
{
    int64_t day;
    if (read_day(path, &day))
        logs_of_day(&a->filter, day, now_ms, d);
    else
        logs_wrong(d, "The path must begin with a date as MM-DD-YY.");
}

/* Reads a class of "2,3"; older clients write 200,300. Codes and 4xx as in v2. */
static bool read_class(tb_log_filter *f, tb_text item)
{
    char of[3] = {0, 'x', 'x'};
    if (item.len != 1 && !(item.len == 3 && item.data[1] == '0' && item.data[2] == '0'))
        return logs_status(f, item);
    of[0] = item.data[0];
    return logs_status(f, (tb_text){of, sizeof of});
}

static void read_status(log_answer *a, tb_text list, log_details *d)
{
    tb_text item;
    bool ok = true;
    for (tb_text rest = list.len ? list : (tb_text){0}; logs_next_item(&rest, &item);)
        ok &= read_class(&a->filter, item);
    if (!ok) logs_wrong(d, "status must be digits from 1 to 5 with commas between them.");
}

static bool is(tb_text text, const char *word)
{
    return text.len == strlen(word) && strncasecmp(text.data, word, text.len) == 0;
}

/* end is the last line's index, inclusive. */
static void read_page(log_answer *a, const params *p, log_details *d)
{
    int64_t start = 0, end = INT64_MAX;
    const tb_text order = p->sort.len ? p->sort : p->order;
    if (p->start.len && (!query_int(p->start.data, p->start.len, &start) || start < 0))
        logs_wrong(d, "start must be 0 or more.");
    if (p->end.len && (!query_int(p->end.data, p->end.len, &end) || end < 0))
        logs_wrong(d, "end must be 0 or more.");
    a->offset = (uint64_t)start;
    a->left = end < start ? 0 : (uint64_t)end - (uint64_t)start + (end < INT64_MAX);
    a->descending = !is(order, "asc");
    if (order.len && a->descending && !is(order, "desc"))
        logs_wrong(d, "sort must be asc or desc.");
}

static log_verdict put_line(log_answer *a, tb_logrow *row, tb_buf *out)
{
    const size_t from = out->len;
    if (a->left == 0) return LOG_ENOUGH;
    tb_logrow_pipe(row, a->zone, a->how.extended, out);
    if (a->search.len && !out->failed &&
        !memmem(out->data + from, out->len - 1 - from, a->search.data, a->search.len)) {
        out->len = from;
        return LOG_SKIP;
    }
    if (a->offset > 0) { /* counted here, since the search has to see skipped lines */
        a->offset--;
        out->len = from;
        return LOG_SKIP;
    }
    a->left--;
    return LOG_TAKE;
}

static void put_end(log_answer *a, tb_buf *out)
{
    (void)a;
    (void)out;
}

/* Makes the answer a download; the text lies in request.work. */
static const char *attachment(request *r, int64_t zone)
{
    const tb_text path = request_path(r);
    char *text = (char *)r->work;
    snprintf(text, sizeof r->work, "attachment; filename=\"%.8s-%lld.log\"", path.data + 1,
             (long long)zone);
    return text;
}

static void read_log_params(request *r, log_answer *a, const params *p, bool *ret_download, log_details *d)
{
    *ret_download = true;
    read_window(a, request_path(r), request_now_us(r) / 1000, d);
    read_status(a, p->status, d);
    read_page(a, p, d);
    if (p->download.len && !query_bool(p->download.data, p->download.len, ret_download))
        logs_wrong(d, "download must be true or false.");
    a->search = logs_keep(a, p->search, false);
    if (!a->search.len) { /* then skipped lines need not be read */
        a->skip = a->offset;
        a->offset = 0;
    }
}

void api_logs_v1(request *r)
{
    int64_t zone;
    params p = {0};
    tb_error err;
    log_details wrong = {0};
    bool download;
    const tb_text query = request_query(r);
    if (!router_id(r->id, &zone)) zone = 0; /* answered like a zone that does not exist */
    if (query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p, r->scratch,
                    &err) != TB_OK) {
        request_fail_as(r, &err);
        return;
    }
    log_answer *a = logs_begin(r, zone);
    if (!a) return;
    read_log_params(r, a, &p, &download, &wrong);
    if (logs_refused(r, &wrong)) {
        logs_free(a);
        return;
    }
    a->line = put_line;
    a->end = put_end;
    a->content_type = "text/plain; charset=utf-8";
    logs_answer(r, a);
    if (download && r->reply.status == 200) r->reply.disposition = attachment(r, zone);
}
