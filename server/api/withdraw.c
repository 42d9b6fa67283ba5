/* POST /ingest/logs/withdraw and /ingest/buckets/withdraw: the body is an input that was taken, or a piece of one. It is
 * parsed like a body to be taken, in rounds (feed/withdraw.h); the writer first compacts pending rows, a step with each
 * commit, then subtracts the round in one. Only an operator's key may do so, and the audit log names it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/ingest.h"
#include "tollbook/json.h"

tb_code api_withdraw_take(request *r, tb_store *store, tb_error *err)
{
    api_ingest *in = api_ingest_of(r);
    char origin[REQUEST_PEER_TEXT];
    const feed_who who = {r->key, origin, in->entry};
    request_peer_text(r, origin);
    tb_code code = feed_withdraw_take(in->withdrawing, &in->body, store, &who, &in->round, err);
    if (code || !in->dry) return code;
    in->tried = true;
    in->round.entry = 0;
    return tb_fail(err, TB_E_STOPPED, NULL, NULL); /* so that the writer takes it back */
}

static tb_code read_source(api_ingest *in, tb_error *err)
{
    const tb_text source = in->source;
    if (!source.len) return TB_OK;
    if (source.len > API_SOURCE_MAX || memchr(source.data, 0, source.len))
        return tb_fail(err, TB_E_VALIDATION, "source", "source is at most %d bytes.",
                       API_SOURCE_MAX);
    memcpy(in->source_text, source.data, source.len);
    in->source_text[source.len] = 0;
    in->options.source = in->source_text;
    return TB_OK;
}

static void submit_withdraw(request *r, tb_batch_kind kind)
{
    tb_error err;
    tb_code code = api_ingest_prepare(r, kind, &err);
    if (!code) code = read_source(api_ingest_of(r), &err);
    if (!code && api_ingest_of(r)->dry && r->worker->server->options.usage)
        code = tb_fail(&err, TB_E_VALIDATION, "dryRun", "Usage on servers cannot be taken back: withdraw it without a try.");
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    api_ingest_of(r)->withdraws = true;
    api_ingest_parse(r);
}

void api_withdraw_logs(request *r)
{
    submit_withdraw(r, TB_BATCH_LOG);
}

void api_withdraw_buckets(request *r)
{
    submit_withdraw(r, TB_BATCH_BUCKETS);
}

/* --- before a round --- */

/* Compacts pending rows, a step with each commit, so that no other write waits for all of them. */
static tb_code compact_part(write_job *job, tb_store *store, tb_error *err)
{
    api_ingest *in = api_ingest_of(job->owner);
    return tb_store_compact_pending(store, &in->pending, &in->compacting, err);
}

void api_withdraw_submit(request *r)
{
    api_ingest *in = api_ingest_of(r);
    if (r->job.run != compact_part) in->compacting = feed_withdraw_compacts(in->withdrawing, &in->pending);
    if (!in->compacting) {
        api_ingest_submit_parsed(r);
        return;
    }
    r->job.run = compact_part;
    r->job.bytes = r->body_len + feed_withdraw_bytes(in->withdrawing);
    request_submit(r);
}

/* --- after a round --- */

/* In the job pool: the next round. */
static tb_code parse_next(write_job *job, tb_store *reader, tb_error *err)
{
    api_ingest *in = api_ingest_of(job->owner);
    tb_code code = tb_store_read_begin(reader, err);
    if (code) return code;
    code = feed_withdraw_next(in->withdrawing, &in->body, reader, err);
    tb_store_read_end(reader);
    return code;
}

/* The rounds before the error stay withdrawn. */
static void say_withdrawn(const feed_withdrawn *done, tb_error *err)
{
    static const char nothing[] = "Nothing was withdrawn.";
    char *end = strstr(err->message, nothing);
    const size_t at = end ? (size_t)(end - err->message) : strlen(err->message);
    if (!done->segments) return;
    snprintf(err->message + at, sizeof err->message - at,
             "%sIts last %" PRIu64 " lines are withdrawn, those before them are not. Send the same again to go on.",
             at && err->message[at - 1] != ' ' ? " " : "", done->lines);
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
    api_ingest *in = api_ingest_of(r);
    const feed_withdrawn *done = &in->withdrawn;
    if (r->job.code != TB_OK && !in->tried) {
        say_withdrawn(done, &r->job.err);
        request_fail_at(r, &r->job.err);
        return;
    }
    if (!in->taken) {
        api_withdraw_submit(r);
        return;
    }
    feed_withdrawn_add(&in->withdrawn, &in->round);
    if (done->more && !in->tried) {
        in->taken = false;
        r->job.run = parse_next;
        request_submit_parse(r);
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
    if (in->tried) tb_buf_fmt(out, ",\"more\":%s", done->more ? "true" : "false");
    if (done->entry) tb_buf_fmt(out, ",\"entry\":%" PRId64, done->entry);
    tb_buf_str(out, "}");
    request_answer_text(r, 200, "application/json");
}
