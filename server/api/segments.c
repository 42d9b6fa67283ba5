/* GET /ingest/segments: the known segments of a log or of a named batch, for a client that hashes its input as the feed
 * does and sends only what is new. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/handlers.h"
#include "api/ingest.h"
#include "tollbook/batches.h"
#include "tollbook/json.h"
#include "tollbook/withdraw.h"

#define PAGE_MAX 10000 /* segments and rungs in one answer */

typedef struct question {
    tb_text head, batch, kind;
    int64_t skip, from, end, lines;
    tb_hash128 hash;
    char name[TB_BATCH_NAME_MAX + 1];
} question;

static const query_spec specs[] = {
    {"head", QUERY_TEXT, offsetof(question, head)},
    {"batch", QUERY_TEXT, offsetof(question, batch)},
    {"kind", QUERY_TEXT, offsetof(question, kind)},
    {"skip", QUERY_INT, offsetof(question, skip)},
    {"from", QUERY_INT, offsetof(question, from)},
    {"end", QUERY_INT, offsetof(question, end)},
    {"lines", QUERY_INT, offsetof(question, lines)},
};

static tb_code bad(tb_error *err, const char *field, const char *sentence)
{
    return tb_fail(err, TB_E_VALIDATION, field, "%s", sentence);
}

static tb_code read_segment_params(request *r, question *a, tb_error *err)
{
    tb_text query = request_query(r);
    tb_code code = query_parse(query.data, query.len, specs, sizeof specs / sizeof *specs, a,
                               r->scratch, err);
    if (code) return code;
    if (a->kind.len && (a->kind.len != 3 || memcmp(a->kind.data, "log", 3) != 0))
        return bad(err, "kind", "kind is log.");
    if (a->skip < 0) return bad(err, "skip", "skip is 0 or more.");
    if (a->from < 0) return bad(err, "from", "from is 0 or more.");
    if (a->from > 0 && a->batch.len) return bad(err, "from", "from goes with head.");
    if (a->end < 0) return bad(err, "end", "end is 0 or more.");
    if (a->end > 0 && a->batch.len) return bad(err, "end", "end goes with head.");
    if (a->lines < 0) return bad(err, "lines", "lines is 0 or more.");
    if ((a->head.len > 0) == (a->batch.len > 0))
        return bad(err, "head", "Give either head or batch.");
    if (a->head.len && !piece_hash(a->head, &a->hash))
        return bad(err, "head", "head must be 32 hexadecimal digits.");
    return a->batch.len ? api_batch_name(r, "batch", a->batch, a->name, err) : TB_OK;
}

static void put_segment(tb_buf *out, const tb_known *one)
{
    tb_buf_fmt(out,
               "{\"kind\":\"%s\",\"start\":%" PRIu64 ",\"length\":%" PRIu64 ",\"hash\":\"",
               one->kind == TB_BATCH_LOG ? "log" : "buckets", one->start, one->length);
    piece_put_hash(out, one->hash);
    tb_buf_fmt(out,
               "\",\"lines\":%" PRIu64 ",\"accepted\":%" PRIu64 ",\"rejected\":%" PRIu64
               ",\"final\":%s}",
               one->lines, one->accepted, one->rejected, one->final ? "true" : "false");
}

static void put_page(tb_buf *out, const tb_known *list, size_t n, size_t skip)
{
    tb_buf_fmt(out, "{\"total\":%zu,\"segments\":[", n);
    for (size_t i = skip; i < n && i - skip < PAGE_MAX; i++) {
        if (i > skip) tb_buf_str(out, ",");
        put_segment(out, &list[i]);
    }
    tb_buf_str(out, "],\"rungs\":[");
}

static void put_rungs(tb_buf *out, const tb_rung *rungs, size_t n, bool cells)
{
    for (size_t i = 0; i < n && i < PAGE_MAX; i++) {
        tb_buf_fmt(out, "%s{\"length\":%" PRIu64 ",\"hash\":\"", i ? "," : "", rungs[i].length);
        piece_put_hash(out, rungs[i].hash);
        tb_buf_str(out, "\"}");
    }
    tb_buf_fmt(out, "],\"cells\":%d", cells ? TB_CELLS_VERSION : 0);
}

/* The segment that ends at `end` is listed also if it begins before `from`, because others were merged into it. */
static tb_code find_start(tb_store *store, const question *a, uint64_t *ret_from, tb_error *err)
{
    bool there = false;
    uint64_t start = 0;
    *ret_from = (uint64_t)a->from;
    if (!a->end) return TB_OK;
    const tb_input_position end = {TB_BATCH_LOG, a->hash, (uint64_t)a->end, (uint64_t)a->lines};
    tb_code code = tb_store_known_end(store, &end, &there, &start, err);
    if (!code && there && start < *ret_from) *ret_from = start;
    return code;
}

static tb_code read_known(tb_store *store, const question *a, bool cells, tb_buf *out, tb_error *err)
{
    tb_known *list = NULL;
    tb_rung *rungs = NULL;
    size_t n = 0, n_rungs = 0, skip;
    bool withdrawn = false;
    uint64_t from = 0;
    tb_code code = find_start(store, a, &from, err);
    if (!code)
        code = a->batch.len ? tb_store_known_by_name(store, a->name, &list, &n, err)
                            : tb_store_known_from(store, TB_BATCH_LOG, a->hash, from, &list, &n, err);
    if (code) return code;
    if (a->head.len && a->skip == 0)
        code = tb_store_rungs_by_head(store, a->hash, &rungs, &n_rungs, err);
    if (code == TB_OK && a->end)
        code = tb_store_withdrawn_end(store, TB_BATCH_LOG, a->hash, (uint64_t)a->end, (uint64_t)a->lines,
                                      &withdrawn, err);
    skip = (uint64_t)a->skip < n ? (size_t)a->skip : n;
    if (code == TB_OK) {
        put_page(out, list, n, skip);
        put_rungs(out, rungs, n_rungs, cells);
        if (a->end) tb_buf_fmt(out, ",\"withdrawn\":%s", withdrawn ? "true" : "false");
        tb_buf_str(out, "}");
    }
    free(rungs);
    free(list);
    return code;
}

void api_ingest_segments(request *r)
{
    question a = {0};
    tb_error err;
    tb_store *store = r->worker->store;
    tb_code code = read_segment_params(r, &a, &err);
    if (code == TB_OK) code = tb_store_read_begin(store, &err);
    if (code) {
        request_fail_as(r, &err);
        return;
    }
    code = read_known(store, &a, r->worker->server->options.cells, request_text(r), &err);
    tb_store_read_end(store);
    if (code) request_fail_as(r, &err);
    else request_answer_text(r, 200, "application/json");
}
