/* The undo through a server: usage rows in one request, a log by its segments, some with each request, from the end. So
 * what is left of a log whose undo is interrupted is a known prefix, and the same command continues there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/client.h"
#include "cli/remote.h"
#include "cli/remote_known.h"
#include "cli/remote_report.h"
#include "cli/withdraw.h"
#include "feed/chain.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define BODY_MAX    ((size_t)256 << 20) /* the server's limit after decompression */
#define PACK_FROM   ((size_t)64 << 10)  /* longer pieces are sent compressed, */
#define ROWS_FROM   ((size_t)8 << 20)   /* and usage rows, which may be compressed already */
#define PATH_ROOM   8000
#define GROUP_MOST  (FEED_RUNGS_MAX + 1) /* segments of a request */
#define GROUP_BYTES ((uint64_t)4 << 20)  /* of their lines, where there are several */

struct remote_withdrawal {
    const cli_call *call;
    tb_log_layout layout; /* logs: with the columns that this log's head names */
    client client;
    const char *subject, *batch;
    meter *progress; /* NULL: it is not shown */
    feed_source *source;
    tb_hash128 head;
    feed_link *links;
    size_t n;
    bool singly; /* the server takes one segment with a request */
    tb_buf body;
    feed_withdrawn done;
};
typedef remote_withdrawal withdrawing;

static int fail(const withdrawing *w, const tb_error *err)
{
    return cli_fail(w->call, w->subject, err);
}

/* --- a request --- */

static void add_answer(feed_withdrawn *to, const json_t *answer)
{
    size_t i;
    json_t *name;
    const char *batch = json_string_value(json_object_get(answer, "batch"));
    to->segments += report_number(answer, "segments");
    to->lines += report_number(answer, "lines");
    to->accepted += report_number(answer, "accepted");
    to->rejected += report_number(answer, "rejected");
    to->kept_lines += report_number(answer, "keptLines");
    to->events += report_number(answer, "events");
    to->named += report_number(answer, "named");
    if (report_number(answer, "entry")) to->entry = (int64_t)report_number(answer, "entry");
    if (batch) snprintf(to->batch, sizeof to->batch, "%s", batch);
    json_array_foreach(json_object_get(answer, "maxima"), i, name)
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            if (json_is_string(name) && !strcmp(json_string_value(name), tb_metric_table[m].name))
                to->maxima |= TB_METRIC_BIT(m);
}

static int send_body(withdrawing *w, const feed_piece *piece, const char *type, const tb_buf *body)
{
    tb_buf path;
    tb_error err;
    char *packed = NULL;
    tb_buf_init(&path, PATH_ROOM, NULL);
    remote_put_withdrawal(piece ? &w->layout : NULL, piece, w->subject, w->done.entry, &path);
    client_request request = {.method = "POST", .path = path.data, .type = type,
                              .body = body->data, .len = body->len, .subject = w->subject,
                              .batch = w->batch};
    if (body->len > (piece ? PACK_FROM : ROWS_FROM) && (packed = malloc(ZSTD_compressBound(body->len))) != NULL) {
        size_t n = ZSTD_compress(packed, ZSTD_compressBound(body->len), body->data, body->len, 1);
        if (!ZSTD_isError(n)) {
            request.body = packed;
            request.len = n;
            request.coding = "zstd";
        }
    }
    int status = tb_buf_check(&path, &err) ? fail(w, &err) : client_send(&w->client, &request);
    free(packed);
    tb_buf_release(&path);
    if (status) return status;
    json_t *answer = client_json(&w->client);
    if (!answer) return tb_code_exit(TB_E_BAD_INPUT);
    add_answer(&w->done, answer);
    json_decref(answer);
    return 0;
}

/* --- a log --- */

static bool begins_with_line(const feed_link *link)
{
    return link->known.start == 0 || link->before == '\n';
}

/* The bytes from the segment's start to `to`. */
static tb_code read_body(withdrawing *w, const feed_link *link, uint64_t to, tb_error *err)
{
    tb_buf *body = &w->body;
    const uint64_t len = to - link->known.start;
    size_t n = 0, end = 0;
    if (len > BODY_MAX)
        return tb_fail(err, TB_E_TOO_LARGE, NULL,
                       "The segment from byte %" PRIu64 " to %" PRIu64 " is too long for a request. "
                       "Withdraw the log with --db on the server's machine, while the server is "
                       "stopped.",
                       link->known.start, link->known.length);
    tb_code code = feed_source_seek(w->source, link->known.start, err);
    body->len = 0;
    for (uint64_t left = len; !code && left; left -= n) {
        char bytes[1 << 14];
        code = feed_source_read(w->source, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes,
                                &n, err);
        if (!code && !n)
            code = tb_fail(err, TB_E_BAD_INPUT, NULL, "The file became shorter while it was read.");
        if (!code) tb_buf_add(body, bytes, n);
    }
    if (!code) code = tb_buf_check(body, err);
    if (code || begins_with_line(link)) return code;
    /* the line end that the last line before it got since is none of the segment's lines */
    if (body->len >= 1 && body->data[0] == '\n') end = 1;
    if (body->len >= 2 && body->data[0] == '\r' && body->data[1] == '\n') end = 2;
    memmove(body->data, body->data + end, body->len - end);
    body->len -= end;
    return TB_OK;
}

/* Withdraws the segment that is `last` in the list, and in the same request those before it of which each ends where the
 * next begins. *ret_first: the first of them, *ret_several: they are several. */
static int withdraw_group(withdrawing *w, size_t last, size_t *ret_first, bool *ret_several)
{
    tb_error err;
    tb_rung ends[GROUP_MOST]; /* of all but the last; the list ascends and ends with the array */
    size_t n = 0, first = last;
    const tb_known *to = &w->links[last].known, *from = to;
    bool more = !w->singly && begins_with_line(&w->links[last]);
    for (size_t i = last; more && i-- > 0 && n + 1 < GROUP_MOST;) {
        const feed_link *link = &w->links[i];
        if (!link->same) continue;
        more = link->known.length == from->start && begins_with_line(link) && to->length - link->known.start <= GROUP_BYTES;
        if (!more) break;
        ends[GROUP_MOST - ++n] = (tb_rung){link->known.length, link->known.hash};
        from = &link->known;
        first = i;
    }
    *ret_first = first;
    *ret_several = n > 0;
    const feed_piece piece = {.start = from->start,
                              .length = to->length,
                              .lines_before = from->lines - from->accepted - from->rejected,
                              .head = w->head,
                              .hash = to->hash,
                              .rungs = ends + GROUP_MOST - n,
                              .n_rungs = n,
                              .final = to->final,
                              .known = -1,
                              .behind = -1};
    const feed_progress progress = {.lines = w->done.lines, .bytes = from->start};
    if (w->progress) meter_feed(w->progress, &progress);
    return read_body(w, &w->links[first], to->length, &err) ? fail(w, &err) : send_body(w, &piece, "text/plain", &w->body);
}

/* From the end, the shorter of two that begin alike last. A server of version 1.0 does not take several segments, and
 * answers that these are not known. */
static int withdraw_links(withdrawing *w)
{
    int status = 0;
    for (size_t i = w->n, first; i > 0 && status == 0;) {
        const uint64_t before = w->done.segments + w->done.named;
        bool several = false;
        first = i - 1;
        if (w->links[first].same) status = withdraw_group(w, i - 1, &first, &several);
        if (several && w->done.segments + w->done.named == before) w->singly = true;
        else i = first;
    }
    if (status && w->done.segments)
        cli_say(w->call, "%s: its last %" PRIu64 " lines are withdrawn, those before them are not. Run "
                         "the same command again to go on.", w->subject, w->done.lines);
    return status;
}

static int find_links(withdrawing *w, uint64_t seed)
{
    tb_error err;
    remote_known known = {0};
    int status = remote_known_read(&w->client, w->subject, w->batch, w->head, &known);
    if (status) return status;
    w->links = calloc(known.n + 1, sizeof *w->links);
    w->n = w->links ? known.n : 0;
    for (size_t i = 0; i < w->n; i++)
        w->links[i].known = known.list[i];
    remote_known_release(&known);
    tb_code code = w->links ? TB_OK : tb_no_memory(&err);
    if (!code) code = feed_chain_find(w->source, seed, w->links, w->n, &err);
    for (size_t i = 0; !code && w->batch && i < w->n; i++)
        if (!w->links[i].same) code = feed_conflict(w->batch, &err);
    return code ? fail(w, &err) : 0;
}

/* A log that is compressed, or a stream, is copied first: it is read from the end. */
static int withdraw_log(withdrawing *w)
{
    tb_error err;
    feed_reader reader;
    bool empty;
    const uint64_t seed = feed_hash_seed(TB_BATCH_LOG, &w->layout);
    if (feed_source_open(w->subject, NULL, &w->source, &err)) return fail(w, &err);
    tb_code code = feed_reader_init(&reader, w->source, seed, BLOCK_BYTES, true, &err);
    if (!code) {
        reader.heads = tb_log_layout_heads(&w->layout);
        code = feed_chain_begin(&reader, &w->layout, !feed_source_grows(w->source), &w->head, &empty, &err);
        feed_reader_release(&reader);
    }
    int status = code ? fail(w, &err) : find_links(w, seed);
    if (status == 0) status = withdraw_links(w);
    feed_source_close(w->source);
    free(w->links);
    w->links = NULL;
    return status;
}

/* --- usage rows --- */

static int withdraw_rows(withdrawing *w)
{
    tb_buf rows;
    int status = cli_read_file(w->call, w->subject, BODY_MAX, &rows);
    if (status) return status;
    status = send_body(w, NULL, "application/x-ndjson", &rows);
    tb_buf_release(&rows);
    return status;
}

int remote_withdraw_open(const cli_call *call, remote_withdrawal **ret_withdrawal)
{
    withdrawing *w = calloc(1, sizeof *w);
    tb_error err;
    if (!w) {
        (void)!tb_no_memory(&err);
        return cli_fail(call, NULL, &err);
    }
    w->call = call;
    w->batch = cli_text(call, "batch");
    tb_buf_init(&w->body, BODY_MAX, NULL);
    *ret_withdrawal = w;
    return client_open(&w->client, call);
}

int remote_withdraw_input(remote_withdrawal *w, const char *path, const feed_options *options, meter *progress,
                          feed_withdrawn *ret_withdrawn)
{
    w->subject = path;
    w->layout = options->layout;
    w->progress = cli_given(w->call, "progress") ? progress : NULL;
    w->done = (feed_withdrawn){0};
    const int status = options->kind == TB_BATCH_LOG ? withdraw_log(w) : withdraw_rows(w);
    *ret_withdrawn = w->done;
    return status;
}

void remote_withdraw_close(remote_withdrawal *w)
{
    if (!w) return;
    client_close(&w->client);
    tb_buf_release(&w->body);
    free(w);
}
