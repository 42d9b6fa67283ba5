/* POST /ingest/logs, /ingest/cells and /ingest/buckets; withdraw.c shares the parsing. A small body is parsed on the
 * worker, a large one by the job pool while others write. The writer then stores what was parsed, and the answer is
 * sent after the commit. If another commit meanwhile changed what the parsing depended on, the body is parsed again.
 * Usage rows are stored all or nothing, logs too with onError=stop. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/ingest.h"
#include "http/media.h"
#include "tollbook/batches.h"
#include "tollbook/json.h"
#include "tollbook/intake.h"

/* As API_SMALL_BODY, unpacked. */
#define SMALL_PLAIN ((size_t)256 << 10)
/* Longer bodies are parsed by several threads; while other bodies wait, only those above ALONE_BODY. */
#define SEVERAL_BODY ((size_t)1 << 20)
#define ALONE_BODY   ((size_t)8 << 20)
/* Bytes of packed lines that each thread keeps in memory until the writer stores them. */
#define BODY_PACKED ((size_t)32 << 20)
#define TRIES_MAX   4

static void release_ingest(void *kept)
{
    api_ingest *in = kept;
    feed_run_free(in->run);
    feed_withdraw_free(in->withdrawing);
    tb_log_layout_release(&in->options.layout);
    tb_directory_release(in->directory);
    free(in);
}

typedef struct params {
    tb_text format, map, region, on_error, source;
    int64_t zone, entry;
    bool dry;
    piece_params piece;
} params;

static const query_spec specs[] = {
    {"format", QUERY_TEXT, offsetof(params, format)},
    {"map", QUERY_TEXT, offsetof(params, map)},
    {"region", QUERY_TEXT, offsetof(params, region)},
    {"onError", QUERY_TEXT, offsetof(params, on_error)},
    {"source", QUERY_TEXT, offsetof(params, source)},
    {"zone", QUERY_INT, offsetof(params, zone)},
    {"start", QUERY_INT, offsetof(params, piece.start)},
    {"length", QUERY_INT, offsetof(params, piece.length)},
    {"linesBefore", QUERY_INT, offsetof(params, piece.lines_before)},
    {"known", QUERY_INT, offsetof(params, piece.known)},
    {"behind", QUERY_INT, offsetof(params, piece.behind)},
    {"head", QUERY_TEXT, offsetof(params, piece.head)},
    {"hash", QUERY_TEXT, offsetof(params, piece.hash)},
    {"rungs", QUERY_TEXT, offsetof(params, piece.rungs)},
    {"final", QUERY_BOOL, offsetof(params, piece.final)},
    {"entry", QUERY_INT, offsetof(params, entry)},
    {"dryRun", QUERY_BOOL, offsetof(params, dry)},
};

static bool is(tb_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_VALIDATION, field, "%s", sentence);
}

/* --- parameters --- */

tb_code api_batch_name(const request *r, const char *field, tb_text id, char name[TB_BATCH_NAME_MAX + 1],
                       tb_error *err)
{
    tb_store *store = r->worker->store;
    bool bare = r->account == 0;
    if (!feed_batch_name(id.data, id.len) || (r->account && id.len > TB_BATCH_ID_MAX))
        return tb_fail(err, TB_E_VALIDATION, field,
                       "%s must be 1 to %d printable ASCII characters without a space at either end.", field,
                       TB_BATCH_ID_MAX);
    snprintf(name, TB_BATCH_NAME_MAX + 1, "%.*s", (int)id.len, id.data);
    if (bare) return TB_OK;
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_store_batch_is_bare(store, name, r->account, &bare, err);
    tb_store_read_end(store);
    if (!code && !bare)
        snprintf(name, TB_BATCH_NAME_MAX + 1, "account %" PRId64 "/%.*s", r->account, (int)id.len, id.data);
    return code;
}

/* The body is a whole input, or the piece of a log that these parameters name. */
static tb_code read_piece(api_ingest *in, const piece_params *p, tb_error *err)
{
    if (p->start < 0 && !p->head.len && !p->hash.len) return TB_OK;
    tb_code code = piece_read(p, &in->piece, err);
    if (code) return code;
    code = piece_rungs(p->rungs, in->rungs, &in->piece.n_rungs, err);
    if (code) return code;
    in->piece.rungs = in->rungs;
    in->options.piece = &in->piece;
    return TB_OK;
}

static feed_encoding encoding_of(const request *r)
{
    switch (media_coding_parse(request_header(r, HEADER_CONTENT_ENCODING))) {
    case MEDIA_GZIP: return FEED_GZIP;
    case MEDIA_ZSTD: return FEED_ZSTD;
    case MEDIA_IDENTITY: return FEED_PLAIN;
    default: return FEED_DETECT;
    }
}

const char *api_ingest_sender(const request *r, char text[API_SOURCE_MAX + 1])
{
    if (r->key > 0) snprintf(text, API_SOURCE_MAX + 1, "http, key %" PRId64, r->key);
    else snprintf(text, API_SOURCE_MAX + 1, "http%s", r->key == REQUEST_KEY_TOKEN ? ", token" : "");
    return text;
}

tb_code api_ingest_prepare(request *r, tb_batch_kind kind, tb_error *err)
{
    const server_options *o = &r->worker->server->options;
    int64_t now_us = request_now_us(r);
    params p = {.piece = PIECE_PARAMS_NONE};
    tb_text query = request_query(r);
    api_ingest *in = calloc(1, sizeof *in);
    if (!in) return tb_no_memory(err);
    r->kept = in;
    r->release_kept = release_ingest;
    in->body = (feed_body){r->body ? r->body : "", r->body_len, encoding_of(r), o->plain_max};
    in->options = (feed_options){.kind = kind,
                                 .source = api_ingest_sender(r, in->source_text),
                                 .take_partial_line = true,
                                 .bounded = true,
                                 .threads = 1,
                                 .log_packed = BODY_PACKED,
                                 .now_us = now_us,
                                 .layout = {.now_ms = now_us / 1000},
                                 .stop = &r->worker->server->abort_writes};
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, &p,
                               r->scratch, err);
    in->source = p.source;
    in->entry = p.entry;
    in->dry = p.dry;
    if (code == TB_OK && kind == TB_BATCH_LOG) {
        const tb_log_spec spec = {p.format, p.map, p.region, p.zone};
        code = tb_log_layout_init(&in->options.layout, &spec, err);
        in->options.layout.now_ms = now_us / 1000;
    }
    const bool rows = kind == TB_BATCH_BUCKETS;
    if (code == TB_OK && p.on_error.len && !is(p.on_error, "skip") && !is(p.on_error, "stop"))
        code = bad(err, "onError", "onError must be skip or stop.");
    in->options.stop_on_error = p.on_error.len ? is(p.on_error, "stop") : rows;
    in->options.whole = rows;
    const tb_text id = request_header(r, HEADER_IDEMPOTENCY_KEY);
    if (code == TB_OK && id.data) {
        in->options.batch = in->batch;
        code = api_batch_name(r, "Idempotency-Key", id, in->batch, err);
    }
    if (code == TB_OK && kind == TB_BATCH_LOG) code = read_piece(in, &p.piece, err);
    return code;
}

/* --- parsing --- */

static tb_code parse_body(api_ingest *in, const feed_body *body, tb_store *reader, tb_error *err)
{
    tb_code code = tb_store_read_begin(reader, err);
    if (code) return code;
    code = in->withdraws ? feed_withdraw_parse(reader, body, &in->options, &in->withdrawing, err)
                         : feed_parse(reader, body, &in->options, &in->run, err);
    tb_store_read_end(reader);
    return code;
}

/* How many threads parse the body. The parts of several threads have to be joined, which costs more, so if there is
 * other work each body has one thread. A large body, or a compressed one that may be, always has several, to fit in
 * their memory. Cells are read by one. */
static unsigned threads_for(const request *r)
{
    server *s = r->worker->server;
    const api_ingest *in = api_ingest_of(r);
    if (in->cells || r->body_len <= SEVERAL_BODY) return 1;
    if (in->body.encoding != FEED_PLAIN || r->body_len > ALONE_BODY) return s->options.threads;
    /* Bodies that are parsed, or wait for that or for the writer, and workers that answer, which more threads would
     * slow down. */
    const unsigned others = job_pool_unfinished(s->pool, LANE_PARSE) - 1 + writer_queued(s->writer) +
                            !writer_idle(s->writer) + workers_read_from(s);
    const unsigned each = s->options.threads / (1 + others);
    return each ? each : 1;
}

/* On the writer's thread. */
static tb_code take_parsed(write_job *job, tb_store *store, tb_error *err)
{
    api_ingest *in = api_ingest_of(job->owner);
    if (in->withdraws) return api_withdraw_take(job->owner, store, err);
    tb_code code = feed_take(in->run, store, &in->report, &in->stale, err);
    if (code == TB_OK && in->report.interrupted)
        return tb_fail(err, TB_E_BUSY, NULL, "The server is stopping; nothing was taken.");
    return code;
}

/* Makes r->job the writer's. */
static void prepare_take(request *r)
{
    api_ingest *in = api_ingest_of(r);
    in->taken = true;
    r->job.run = take_parsed;
    r->job.usage = true;
    r->job.grouped = !in->withdraws;
    r->job.cells = in->withdraws ? 0 : feed_run_cells(in->run);
    r->job.weight = in->withdraws ? 0 : feed_run_weight(in->run);
    if (in->options.many_copies && r->job.weight <= WRITER_ALONE) r->job.weight = WRITER_ALONE + 1;
    r->job.bytes = r->body_len + (in->withdraws ? feed_withdraw_bytes(in->withdrawing)
                                                : feed_run_bytes(in->run));
}

void api_ingest_submit_parsed(request *r)
{
    prepare_take(r);
    request_submit(r);
}

/* On a thread of LANE_PARSE. The writer is next, without a detour through the worker. */
static tb_code parse_large(write_job *job, tb_store *reader, tb_error *err)
{
    request *r = job->owner;
    api_ingest *in = api_ingest_of(r);
    in->options.threads = threads_for(r);
    tb_code code = parse_body(in, &in->body, reader, err);
    r->write_next = !code && !in->withdraws;
    if (r->write_next) prepare_take(r);
    return code;
}

/* Parses the body on the worker, unless it is large. A compressed body may turn out to be large: then the pool parses
 * it. */
static void parse_here(request *r)
{
    api_ingest *in = api_ingest_of(r);
    feed_body small = in->body;
    tb_error err;
    if (small.plain_max > SMALL_PLAIN) small.plain_max = SMALL_PLAIN;
    tb_code code =
        r->body_len <= API_SMALL_BODY ? parse_body(in, &small, r->worker->store, &err) : TB_E_TOO_LARGE;
    if (code == TB_E_TOO_LARGE) {
        r->job.run = parse_large;
        request_submit_parse(r);
    } else if (code) {
        request_fail_at(r, &err);
    } else if (in->withdraws) {
        api_withdraw_submit(r);
    } else {
        api_ingest_submit_parsed(r);
    }
}

void api_ingest_parse(request *r)
{
    api_ingest *in = api_ingest_of(r);
    tb_directory_release(in->directory);
    in->directory = tb_directory_retain(worker_directory(r->worker));
    in->options.directory = in->directory;
    in->taken = false;
    parse_here(r);
}

static tb_code prepare(request *r, tb_batch_kind kind, tb_error *err)
{
    tb_code code = api_ingest_prepare(r, kind, err);
    return code || !api_ingest_of(r)->dry ? code : bad(err, "dryRun", "Only a withdrawal can be tried.");
}

static void submit(request *r, tb_batch_kind kind)
{
    tb_error err;
    if (prepare(r, kind, &err) != TB_OK)
        request_fail_as(r, &err);
    else
        api_ingest_parse(r);
}

void api_ingest_logs(request *r)
{
    submit(r, TB_BATCH_LOG);
}

/* A piece of a log in the form of its cells. */
static tb_code prepare_cells(request *r, tb_error *err)
{
    const size_t most = r->worker->server->options.plain_max;
    if (!r->worker->server->options.cells)
        return bad(err, "cells", "This server asks for no cells (serve --cells). Send the lines.");
    tb_code code = prepare(r, TB_BATCH_LOG, err);
    if (code) return code;
    api_ingest *in = api_ingest_of(r);
    if (!in->options.piece || in->options.batch || in->options.stop_on_error)
        return bad(err, "start", "Cells are a piece of a log: they need start, length, head and hash, and go "
                                 "without Idempotency-Key and onError=stop.");
    if (in->piece.length < in->piece.start || in->piece.length - in->piece.start > most)
        return bad(err, "length", "The piece is longer than a body may be.");
    in->cells = in->options.cells = true;
    return TB_OK;
}

void api_ingest_cells(request *r)
{
    tb_error err;
    if (prepare_cells(r, &err) != TB_OK) request_fail_as(r, &err);
    else api_ingest_parse(r);
}

void api_ingest_buckets(request *r)
{
    submit(r, TB_BATCH_BUCKETS);
}

/* --- the answer --- */

static void put_first_reject(tb_buf *out, const feed_report *report)
{
    if (report->first_line == 0) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_fmt(out, "{\"line\":%" PRIu64 ",\"byte\":%" PRIu64 ",\"reason\":\"%s\",\"message\":",
               report->first_line, report->first_byte, tb_reject_name(report->first_reason));
    tb_json_string(out, report->first_why, strlen(report->first_why));
    tb_buf_str(out, "}");
}

/* What the refused lines that were examined are. */
static void put_fits(tb_buf *out, const feed_fits *fits)
{
    if (fits->looked == 0) {
        tb_buf_str(out, "null");
        return;
    }
    tb_buf_fmt(out, "{\"looked\":%" PRIu64, fits->looked);
    for (int form = 0; form < FEED_FORM_COUNT; form++)
        tb_buf_fmt(out, ",\"%s\":%" PRIu64, feed_form_name((feed_form)form), fits->taken[form]);
    tb_buf_str(out, "}");
}

static void put_refused(tb_buf *text, const feed_report *report)
{
    feed_form form;
    if (feed_all_refused(report))
        tb_buf_str(text, report->known_lines && !report->known_refused ? "Every new line was refused" : "Every line was refused");
    else if (report->rejected * 2 >= report->lines) tb_buf_str(text, "Most lines were refused");
    else tb_buf_fmt(text, "%" PRIu64 " of %" PRIu64 " lines were refused", report->rejected, report->lines);
    if (report->rejected == 0) tb_buf_str(text, " when these bytes came before");
    if (feed_fits_best(&report->fits, &form))
        tb_buf_fmt(text, ": %" PRIu64 " of the %" PRIu64 " looked at are %s",
                   report->fits.taken[form], report->fits.looked, feed_form_what(form));
    tb_buf_str(text, ".");
}

/* So that a wrong format is noticed also by people who read nothing else. */
static void put_warning(tb_buf *out, const tb_log_layout *layout, const feed_report *report)
{
    char place[FEED_PLACE_WARNING];
    tb_buf text;
    tb_buf_init(&text, 4096, NULL);
    if (report->host_in_front && report->accepted)
        tb_buf_fmt(&text, "A host stands in front of the first line (%s), and every line counts for the one pull zone "
                          "that zone names.", feed_form_what(report->host_form));
    else if (report->rejected || feed_all_refused(report)) put_refused(&text, report);
    if (feed_place_warn(report, layout, place)) tb_buf_fmt(&text, "%s%s", text.len ? " " : "", place);
    if (text.len) tb_json_string(out, text.data, text.len);
    else tb_buf_str(out, "null");
    tb_buf_release(&text);
}

/* A log shipper reads only the status, so a body of which nothing counts must not be answered with 200. Senders of
 * pieces (follow, ingest --server) read the counts, and go on. */
static bool is_all_refused(const api_ingest *in, const feed_report *report)
{
    const bool known = report->known_lines > 0 && !report->known_refused; /* lines of this body were counted before */
    return in->options.kind == TB_BATCH_LOG && !in->options.piece && feed_all_refused(report) && !known;
}

static void put_error(tb_buf *out, tb_code code, bool named)
{
    tb_buf_fmt(out, "\"ErrorKey\":\"%s\",\"Field\":null,\"Message\":\"%s They are kept as refused lines, with their"
                    " reasons, and count nothing. Is this the log's format? Send them with the right one%s; the same"
                    " bytes again in this one change nothing.\",",
               tb_code_key(code), tb_code_text(code), named ? " and under another batch id" : "");
}

/* The keys of the body's request that may be sent as cells. */
static void put_granted(tb_buf *out, const feed_run *run)
{
    size_t n;
    const uint32_t *granted = feed_run_granted(run, &n);
    tb_buf_str(out, ",\"granted\":[");
    for (size_t i = 0; i < n; i++)
        tb_buf_fmt(out, "%s%" PRIu32, i ? "," : "", granted[i]);
    tb_buf_str(out, "]");
}

static void answer_report(request *r, const feed_report *report)
{
    tb_buf *out = request_text(r);
    const tb_code code = is_all_refused(api_ingest_of(r), report) ? TB_E_ALL_REFUSED : TB_OK;
    tb_buf_str(out, "{");
    if (code) put_error(out, code, api_ingest_of(r)->options.batch != NULL);
    tb_buf_fmt(out,
               "\"lines\":%" PRIu64 ",\"accepted\":%" PRIu64 ",\"rejected\":%" PRIu64
               ",\"knownLines\":%" PRIu64
               ",\"knownRefused\":%s,\"duplicate\":%s,\"ambiguous\":%" PRIu64 ",\"firstReject\":",
               report->lines, report->accepted, report->rejected, report->known_lines,
               report->known_refused ? "true" : "false", report->nothing_new ? "true" : "false",
               report->ambiguous);
    put_first_reject(out, report);
    tb_buf_str(out, ",\"fits\":");
    put_fits(out, &report->fits);
    tb_buf_str(out, ",\"warning\":");
    put_warning(out, &api_ingest_of(r)->options.layout, report);
    if (report->undeclared_zone) tb_buf_str(out, ",\"undeclaredZone\":true");
    if (report->unnamed_region) tb_buf_str(out, ",\"unnamedRegion\":true");
    tb_buf_fmt(out, ",\"cells\":%d", r->worker->server->options.cells ? TB_CELLS_VERSION : 0);
    if (api_ingest_of(r)->cells) put_granted(out, api_ingest_of(r)->run);
    tb_buf_str(out, "}");
    request_answer_text(r, (unsigned)tb_code_http(code), "application/json");
}

static void count_lines(request *r, const feed_report *report)
{
    metrics *m = &r->worker->metrics;
    metrics_add(&m->batches, 1);
    metrics_add(&m->duplicates, report->nothing_new);
    metrics_add(&m->lines_accepted, report->accepted);
    metrics_add(&m->lines_rejected, report->rejected);
    metrics_add(&m->lines_ambiguous, report->ambiguous);
}

static void parse_again(request *r)
{
    api_ingest *in = api_ingest_of(r);
    feed_run_free(in->run);
    in->run = NULL;
    if (++in->tries < TRIES_MAX)
        api_ingest_parse(r);
    else
        request_fail(r, TB_E_BUSY, NULL,
                     "Others changed what this body depends on again and again. Nothing of it was "
                     "taken; send it again.");
}

_Static_assert(FEED_HEAVY == WRITER_ALONE, "a run that may copy much is alone");

/* Whether the job copied more than allowed while it shared a transaction. */
static bool needs_more_copies(const request *r)
{
    const api_ingest *in = api_ingest_of(r);
    return r->job.code == TB_E_TOO_LARGE && in->taken && !in->options.many_copies && r->job.weight <= WRITER_ALONE &&
           strcmp(r->job.err.field, "copies") == 0;
}

void api_ingest_done(request *r)
{
    api_ingest *in = api_ingest_of(r);
    if (needs_more_copies(r)) {
        in->options.many_copies = true;
        parse_again(r);
    } else if (r->job.code != TB_OK) {
        request_fail_at(r, &r->job.err);
    } else if (!in->taken) {
        api_ingest_submit_parsed(r);
    } else if (in->stale) {
        parse_again(r);
    } else {
        count_lines(r, &in->report);
        answer_report(r, &in->report);
    }
}
