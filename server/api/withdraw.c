/* POST /ingest/logs/withdraw and /ingest/buckets/withdraw: the body is what was taken in, or a piece of
 * it, and the writer takes it back inside its transaction. An operator's key alone may do so, and the
 * audit log says which. */
#include <inttypes.h>
#include <string.h>

#include "api/handlers.h"
#include "api/ingest.h"
#include "tollbook/json.h"

#define SOURCE_MAX 255

static tb_code withdraw_body(write_job *job, tb_store *store, tb_error *err)
{
    request *r = job->owner;
    api_ingest *in = api_ingest_of(r);
    char origin[REQUEST_PEER_TEXT], source[SOURCE_MAX + 1] = "http";
    const feed_who who = {r->key, origin};
    if (in->source.len) {
        memcpy(source, in->source.data, in->source.len);
        source[in->source.len] = 0;
    }
    request_peer_text(r, origin);
    in->options.source = source;
    tb_code code = feed_withdraw_memory(store, &in->body, &in->options, &who, &in->withdrawn, err);
    in->options.source = NULL;
    return code;
}

static void submit_withdraw(request *r, tb_batch_kind kind)
{
    tb_error err;
    tb_code code = api_ingest_prepare(r, kind, &err);
    const tb_text none = {0}, source = code ? none : api_ingest_of(r)->source;
    if (source.len > SOURCE_MAX || (source.len && memchr(source.data, 0, source.len)))
        code = tb_fail(&err, TB_E_VALIDATION, "source", "source is at most %d bytes.", SOURCE_MAX);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    r->job.run = withdraw_body;
    r->job.bytes = r->body_len;
    request_submit(r);
}

void api_withdraw_logs(request *r)
{
    submit_withdraw(r, TB_BATCH_LOG);
}

void api_withdraw_buckets(request *r)
{
    submit_withdraw(r, TB_BATCH_BUCKETS);
}

/* --- afterwards --- */

static void put_maxima(tb_buf *out, uint32_t maxima)
{
    const char *before = "";
    tb_buf_str(out, "[");
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (maxima & TB_METRIC_BIT(m)) {
            tb_buf_fmt(out, "%s\"%s\"", before, tb_metric_table[m].name);
            before = ",";
        }
    tb_buf_str(out, "]");
}

void api_withdraw_done(request *r)
{
    const feed_withdrawn *done = &api_ingest_of(r)->withdrawn;
    if (r->job.code != TB_OK) {
        request_fail_at(r, &r->job.err);
        return;
    }
    tb_buf *out = request_text(r);
    tb_buf_fmt(out,
               "{\"segments\":%" PRIu64 ",\"lines\":%" PRIu64 ",\"accepted\":%" PRIu64
               ",\"rejected\":%" PRIu64 ",\"keptLines\":%" PRIu64 ",\"events\":%" PRIu64
               ",\"maxima\":",
               done->segments, done->lines, done->accepted, done->rejected, done->kept_lines,
               done->events);
    put_maxima(out, done->maxima);
    tb_buf_fmt(out, ",\"named\":%" PRIu64 ",\"batch\":", done->named);
    if (done->named) tb_json_string(out, done->batch, strlen(done->batch));
    else tb_buf_str(out, "null");
    tb_buf_str(out, "}");
    request_answer_text(r, 200, "application/json");
}
