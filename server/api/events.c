/* POST /events and /api/v1/events: CloudEvents with usage of meters. A small body is parsed on the worker, a large one by the
 * job pool; the writer takes it (feed/cloud.h), and the answer is sent after the commit. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/handlers.h"
#include "api/ingest.h"
#include "feed/cloud.h"
#include "tollbook/json.h"

typedef struct events {
    feed_cloud_options options;
    feed_cloud *cloud; /* NULL: not parsed yet */
    feed_cloud_report report;
    char source[API_SOURCE_MAX + 1];
} events;

static void release_events(void *kept)
{
    events *e = kept;
    feed_cloud_free(e->cloud);
    free(e);
}

static tb_cloud_form form_of(tb_text type)
{
    static const char one[] = "application/cloudevents+json", batch[] = "application/cloudevents-batch+json";
    const size_t len = type.data ? strcspn(type.data, "; \t") : 0;
    const size_t n = len < type.len ? len : type.len;
    if (n == sizeof one - 1 && strncasecmp(type.data, one, n) == 0) return TB_CLOUD_ONE;
    if (n == sizeof batch - 1 && strncasecmp(type.data, batch, n) == 0) return TB_CLOUD_BATCH;
    return TB_CLOUD_ANY;
}

static tb_code take_events(write_job *job, tb_store *store, tb_error *err)
{
    events *e = ((request *)job->owner)->kept;
    return feed_cloud_take(e->cloud, store, &e->report, err);
}

static tb_code parse_events(request *r, tb_error *err)
{
    events *e = r->kept;
    const tb_text body = {r->body ? r->body : "", r->body_len};
    if (!tb_json_fits(body.data, body.len))
        return tb_fail(err, TB_E_TOO_LARGE, NULL, "The body has too many events. Send some 1,000 at once.");
    tb_code code = feed_cloud_parse(body, &e->options, &e->cloud, err);
    if (code) return code;
    r->job.run = take_events;
    r->job.usage = r->job.grouped = true;
    r->job.bytes = r->body_len;
    r->job.weight = feed_cloud_weight(e->cloud);
    return TB_OK;
}

/* On a thread of LANE_PARSE. */
static tb_code parse_large(write_job *job, tb_store *reader, tb_error *err)
{
    request *r = job->owner;
    (void)reader;
    tb_code code = parse_events(r, err);
    r->write_next = !code;
    return code;
}

void api_events(request *r)
{
    tb_error err;
    events *e = calloc(1, sizeof *e);
    if (!e) {
        request_fail(r, TB_E_NOMEM, NULL, NULL);
        return;
    }
    r->kept = e;
    r->release_kept = release_events;
    e->options = (feed_cloud_options){.form = form_of(request_header(r, HEADER_CONTENT_TYPE)),
                                      .secret = r->worker->server->event_id_secret,
                                      .sender = r->account,
                                      .source = api_ingest_sender(r, e->source),
                                      .now_us = request_now_us(r)};
    if (r->body_len > API_SMALL_BODY) {
        r->job.run = parse_large;
        request_submit_parse(r);
    } else if (parse_events(r, &err)) {
        request_fail_at(r, &err);
    } else {
        request_submit(r);
    }
}

static tb_code expire_ids(void *ctx, tb_store *store, bool again, int64_t now_us, bool *ret_more, tb_error *err)
{
    (void)ctx;
    (void)again;
    return tb_store_expire_event_ids(store, now_us, ret_more, err);
}

periodic_task api_expire_event_ids(void)
{
    return (periodic_task){.name = "event ids", .write = expire_ids};
}

void api_events_done(request *r)
{
    const events *e = r->kept;
    const feed_cloud_report *report = &e->report;
    metrics *m = &r->worker->metrics;
    if (r->job.code) {
        request_fail_at(r, &r->job.err);
        return;
    }
    metrics_add(&m->batches, 1);
    metrics_add(&m->duplicates, report->duplicates > 0 && !report->accepted && !report->n_refused);
    metrics_add(&m->lines_accepted, report->accepted);
    metrics_add(&m->lines_rejected, report->n_refused);
    tb_buf *out = request_text(r);
    tb_buf_fmt(out, "{\"accepted\":%zu,\"duplicates\":%zu,\"rejected\":[", report->accepted, report->duplicates);
    for (size_t i = 0; i < report->n_refused; i++) {
        tb_buf_fmt(out, "%s{\"index\":%zu,\"reason\":", i ? "," : "", report->refused[i].index);
        tb_json_string(out, report->refused[i].why, strlen(report->refused[i].why));
        tb_buf_str(out, "}");
    }
    tb_buf_str(out, "]}");
    request_answer_text(r, report->n_refused ? 422 : 200, "application/json");
}
