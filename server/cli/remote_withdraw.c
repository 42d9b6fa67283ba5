/* --withdraw --server: usage rows in one request, a log by its segments, some with a request, the last ones first. So a
 * log whose way back is cut off in between is known up to where it came, and running the same again goes
 * on there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/client.h"
#include "cli/meter.h"
#include "cli/remote.h"
#include "cli/remote_known.h"
#include "cli/remote_report.h"
#include "cli/withdraw.h"
#include "feed/chain.h"
#include "feed/reader.h"

#define BLOCK_BYTES ((size_t)256 << 10)
#define BODY_MAX    ((size_t)256 << 20) /* what a server takes decompressed */
#define PACK_FROM   ((size_t)64 << 10)  /* longer pieces are sent compressed */
#define ROWS_FROM   ((size_t)8 << 20)   /* and rows, which may be packed already */
#define PATH_ROOM   8000
#define NOTHING     1 /* exit status */
#define GROUP_MOST  (FEED_RUNGS_MAX + 1)
#define GROUP_BYTES ((uint64_t)4 << 20)

typedef struct withdrawing {
    const cli_call *call;
    tb_log_layout layout; /* logs: with the columns that this log's head names */
    client client;
    const char *subject, *batch;
    meter meter;
    feed_source *source;
    tb_hash128 head;
    feed_link *links;
    size_t n;
    bool singly; /* the server takes one segment with a request */
    tb_buf body;
    feed_withdrawn done;
} withdrawing;

static int fail(const withdrawing *w, const tb_error *err)
{
    return cli_fail(w->call, w->subject, err);
}

/* --- the answer --- */

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

/* --- a request --- */

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

static tb_code too_long(const tb_known *known, tb_error *err)
{
    return tb_fail(err, TB_E_TOO_LARGE, NULL,
                   "The segment from byte %" PRIu64 " to %" PRIu64 " is too long for a request. "
                   "Withdraw the log with --db on the server's machine, while the server is "
                   "stopped.",
                   known->start, known->length);
}

/* The line end that a last line got since is none of the segment's lines. */
static size_t line_end(const tb_buf *body)
{
    if (body->len >= 2 && body->data[0] == '\r' && body->data[1] == '\n') return 2;
    return body->len >= 1 && body->data[0] == '\n';
}

static tb_code read_body(withdrawing *w, const feed_link *link, uint64_t to, tb_error *err)
{
    const uint64_t len = to - link->known.start;
    size_t n = 0;
    if (len > BODY_MAX) return too_long(&link->known, err);
    tb_code code = feed_source_seek(w->source, link->known.start, err);
    w->body.len = 0;
    for (uint64_t left = len; !code && left; left -= n) {
        char bytes[1 << 14];
        code = feed_source_read(w->source, bytes, left < sizeof bytes ? (size_t)left : sizeof bytes,
                                &n, err);
        if (!code && !n)
            code = tb_fail(err, TB_E_BAD_INPUT, NULL, "The file became shorter while it was read.");
        if (!code) tb_buf_add(&w->body, bytes, n);
    }
    if (!code) code = tb_buf_check(&w->body, err);
    const size_t end = link->known.start && link->before != '\n' ? line_end(&w->body) : 0;
    if (code || !end) return code;
    memmove(w->body.data, w->body.data + end, w->body.len - end);
    w->body.len -= end;
    return TB_OK;
}

/* Whether it begins with a line, and not with the end that the line before got since. */
static bool begins_clean(const feed_link *link)
{
    return link->known.start == 0 || link->before == '\n';
}

/* Segments that go with one request: each begins where the one before ends. */
typedef struct group {
    const feed_link *first, *last;
    tb_rung ends[GROUP_MOST]; /* of all but the last, from the last but one back */
    size_t n;
} group;

static void gather_group(const withdrawing *w, size_t last, group *g)
{
    *g = (group){.first = &w->links[last], .last = &w->links[last]};
    if (w->singly || !begins_clean(g->first)) return;
    for (size_t i = last; i-- > 0 && g->n + 1 < GROUP_MOST;) {
        const feed_link *link = &w->links[i];
        if (!link->same) continue;
        if (link->known.length != g->first->known.start || !begins_clean(link)) break;
        if (g->last->known.length - link->known.start > GROUP_BYTES) break;
        g->ends[g->n++] = (tb_rung){link->known.length, link->known.hash};
        g->first = link;
    }
}

static void ascend(group *g)
{
    for (size_t i = 0; i < g->n / 2; i++) {
        const tb_rung other = g->ends[i];
        g->ends[i] = g->ends[g->n - 1 - i];
        g->ends[g->n - 1 - i] = other;
    }
}

static int withdraw_group(withdrawing *w, group *g)
{
    tb_error err;
    const tb_known *first = &g->first->known, *last = &g->last->known;
    ascend(g);
    const feed_piece piece = {.start = first->start,
                              .length = last->length,
                              .lines_before = first->lines - first->accepted - first->rejected,
                              .head = w->head,
                              .hash = last->hash,
                              .rungs = g->ends,
                              .n_rungs = g->n,
                              .final = last->final,
                              .known = -1,
                              .behind = -1};
    const feed_progress progress = {.lines = w->done.lines, .bytes = first->start};
    if (cli_given(w->call, "progress")) meter_feed(&w->meter, &progress);
    tb_code code = read_body(w, g->first, last->length, &err);
    return code ? fail(w, &err) : send_body(w, &piece, "text/plain", &w->body);
}

/* Backwards, the shorter of two that begin alike last. A server of before takes no several segments, and answers that
 * these are not known. */
static int withdraw_links(withdrawing *w)
{
    int status = 0;
    size_t i = w->n;
    while (i > 0 && status == 0) {
        const uint64_t before = w->done.segments + w->done.named;
        group g;
        if (!w->links[i - 1].same) {
            i--;
            continue;
        }
        gather_group(w, i - 1, &g);
        status = withdraw_group(w, &g);
        if (g.n && w->done.segments + w->done.named == before) w->singly = true;
        else i = (size_t)(g.first - w->links);
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

/* A log that is packed or a stream is copied first: it is read backwards. */
static tb_code read_beginning(withdrawing *w, uint64_t seed, tb_error *err)
{
    feed_reader reader;
    bool empty;
    const char *folder = getenv("TMPDIR");
    tb_code code = feed_reader_init(&reader, w->source, seed, BLOCK_BYTES, true, err);
    if (code) return code;
    reader.heads = tb_log_layout_heads(&w->layout);
    code = feed_reader_head(&reader, &w->head, &empty, err);
    const tb_text beginning = feed_reader_beginning(&reader);
    if (!code) code = tb_log_layout_head(&w->layout, beginning.data, beginning.len, err);
    if (!code && !feed_source_grows(w->source))
        code = feed_reader_spool(&reader, folder && *folder ? folder : "/tmp", err);
    feed_reader_release(&reader);
    return code;
}

static int withdraw_log(withdrawing *w)
{
    tb_error err;
    const uint64_t seed = feed_hash_seed(TB_BATCH_LOG, &w->layout);
    if (feed_source_open(w->subject, NULL, &w->source, &err)) return fail(w, &err);
    int status = read_beginning(w, seed, &err) ? fail(w, &err) : find_links(w, seed);
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

static int withdraw_one(withdrawing *w, const char *path, const feed_options *options)
{
    w->subject = path;
    w->layout = options->layout;
    w->done = (feed_withdrawn){0};
    meter_init(&w->meter, path);
    const int status = options->kind == TB_BATCH_LOG ? withdraw_log(w) : withdraw_rows(w);
    meter_end(&w->meter);
    return status ? status : withdraw_say(w->call, path, &w->done);
}

int remote_withdraw(const cli_call *call, const feed_options *options)
{
    withdrawing w = {.call = call, .batch = cli_text(call, "batch")};
    int status = client_open(&w.client, call);
    tb_buf_init(&w.body, BODY_MAX, NULL);
    for (int i = 0; i < call->n_operands && status <= NOTHING; i++) {
        const int one = withdraw_one(&w, call->operands[i], options);
        if (one) status = one;
    }
    client_close(&w.client);
    tb_buf_release(&w.body);
    return status;
}
