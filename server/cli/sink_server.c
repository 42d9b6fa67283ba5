/* A server as the sink: questions are GET /ingest/segments, pieces are POST /ingest/logs. A body
 * that is worth it is compressed: an edge's way to its server may be long.
 *
 * A server that asks for cells is sent these (POST /ingest/cells), which both kinds of answers tell. A log's first piece goes
 * as lines, by which the server sees whether the log is known under other options. Cells that it refuses are sent again as
 * lines at once, and all grants are forgotten: the catalogue has changed. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/remote.h"
#include "cli/remote_known.h"
#include "cli/remote_report.h"
#include "cli/sinks.h"
#include "tollbook/batches.h"

#define PATH_MOST  8000
#define BODY_MOST  ((size_t)64 << 20)
#define PACK_FROM  ((size_t)4 << 10) /* shorter bodies are sent as they are */
#define PACK_LEVEL 1

/* An answer that cannot be read is an error of the server, for all logs, and not bad input of one log. */
static tb_code sinks_own(tb_code code, tb_error *err)
{
    if (code == TB_E_BAD_INPUT && err) err->code = TB_E_IO;
    return code == TB_E_BAD_INPUT ? TB_E_IO : code;
}

static tb_code ask_known(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known,
                         tb_error *err)
{
    server_sink *s = ctx;
    remote_known known;
    s->client.into = err;
    s->client.retry_after = 0;
    if (remote_known_from(&s->client, NULL, head, from, &known) != 0)
        return sinks_own(err->code, err);
    s->cells = known.cells == TB_CELLS_VERSION;
    *ret_known = (follow_known){known.list, known.n, known.rungs, known.n_rungs};
    return TB_OK;
}

/* It may begin before: others are folded into it. */
static bool is_proof(const tb_known *one, const follow_proof *proof)
{
    return one->start <= proof->start && one->length == proof->length && one->hash.high == proof->hash.high &&
           one->hash.low == proof->hash.low;
}

/* An older server does not tell which segments were withdrawn: then nothing is sent again that may have been. */
static tb_code ask_held(void *ctx, const follow_proof *proof, follow_held *ret_held, tb_error *err)
{
    server_sink *s = ctx;
    remote_known known;
    s->client.into = err;
    s->client.retry_after = 0;
    if (remote_known_end(&s->client, proof->head, proof->start, proof->length, proof->lines, &known) != 0)
        return sinks_own(err->code, err);
    *ret_held = known.withdrawn == REMOTE_NOT_WITHDRAWN ? FOLLOW_LACKED : FOLLOW_LEFT;
    for (size_t i = 0; i < known.n; i++)
        if (is_proof(&known.list[i], proof)) *ret_held = FOLLOW_HELD;
    remote_known_release(&known);
    return TB_OK;
}

/* Compresses the body where that makes it shorter. */
static void pack(server_sink *s, client_request *request)
{
    size_t most = ZSTD_compressBound(request->len);
    if (request->len < PACK_FROM) return;
    if (most > s->cap) {
        free(s->packed);
        s->packed = malloc(most);
        s->cap = s->packed ? most : 0;
    }
    if (!s->packed) return;
    size_t n = ZSTD_compress(s->packed, s->cap, request->body, request->len, PACK_LEVEL);
    if (ZSTD_isError(n) || n >= request->len) return;
    request->body = s->packed;
    request->len = n;
    request->coding = "zstd";
}

static tb_code send_piece(server_sink *s, const client_request *request, tb_error *err)
{
    bool conflict = false;
    client_request sent = *request;
    sent.conflict = &conflict;
    sent.repeats = true;
    if (client_send(&s->client, &sent) == 0) return TB_OK;
    if (conflict) return tb_fail(err, TB_E_BATCH_CONFLICT, NULL, NULL);
    return err->code;
}

/* --- cells --- */

static tb_code grant(server_sink *s, const json_t *answer, tb_error *err)
{
    size_t i;
    json_t *place;
    tb_code code = TB_OK;
    json_array_foreach(json_object_get(answer, "granted"), i, place)
    {
        const json_int_t n = json_integer_value(place);
        if (!code && n >= 0) code = feed_packer_grant(s->packer, (size_t)n, err);
    }
    return code;
}

static tb_code read_answer(server_sink *s, feed_report *ret_report, tb_error *err)
{
    json_t *answer = client_json(&s->client);
    if (!answer) return err->code;
    report_read(answer, ret_report);
    s->cells = report_number(answer, "cells") == TB_CELLS_VERSION;
    tb_code code = s->packer ? grant(s, answer, err) : TB_OK;
    json_decref(answer);
    return code;
}

/* Whether the answer concerns this body only, and not the sender, the piece or the moment. */
static bool is_refusal(tb_code code)
{
    return code == TB_E_BAD_INPUT || code == TB_E_VALIDATION || code == TB_E_OVERFLOW ||
           code == TB_E_NOT_FOUND || code == TB_E_METHOD || code == TB_E_MEDIA_TYPE ||
           code == TB_E_BAD_REQUEST || code == TB_E_BAD_LINE;
}

static tb_code pack_cells(server_sink *s, const follow_body *body, bool *ret_packed, tb_error *err)
{
    int64_t now_us;
    *ret_packed = false;
    if (!s->packer) s->packer = feed_packer_new(&s->options->layout);
    if (!s->packer) return tb_no_memory(err);
    tb_code code = cli_now(&now_us, err);
    s->body.len = 0;
    s->body.failed = false;
    return code ? code
                : feed_packer_pack(s->packer, body->bytes, body->len, now_us / 1000, &s->body,
                                   ret_packed, err);
}

/* *ret_lines: they are to be sent instead. */
static tb_code take_cells(server_sink *s, const feed_piece *piece, const follow_body *body,
                          feed_report *ret_report, bool *ret_lines, tb_error *err)
{
    bool packed;
    tb_buf path;
    tb_code code = pack_cells(s, body, &packed, err);
    *ret_lines = code != TB_OK || !packed;
    if (*ret_lines) return TB_OK;
    tb_buf_init(&path, PATH_MOST, NULL);
    remote_put_cells(&s->options->layout, piece, &path);
    code = tb_buf_check(&path, err);
    client_request request = {.method = "POST",
                              .type = "application/octet-stream",
                              .body = s->body.data,
                              .len = s->body.len,
                              .path = path.data};
    s->client.into = err;
    s->client.retry_after = 0;
    pack(s, &request);
    if (code == TB_OK) code = send_piece(s, &request, err);
    tb_buf_release(&path);
    if (code == TB_OK) return read_answer(s, ret_report, err);
    *ret_lines = is_refusal(code);
    if (*ret_lines) feed_packer_forget(s->packer);
    return code;
}

/* --- pieces --- */

static tb_code take_piece(void *ctx, const feed_piece *piece, const follow_body *body,
                          feed_report *ret_report, tb_error *err)
{
    server_sink *s = ctx;
    if (s->cells && piece->start > 0) {
        bool lines;
        tb_code done = take_cells(s, piece, body, ret_report, &lines, err);
        if (!lines) return done;
    }
    tb_buf path;
    client_request request = {
        .method = "POST", .type = "text/plain", .body = body->bytes, .len = body->len};
    tb_buf_init(&path, PATH_MOST, NULL);
    remote_put_piece(&s->options->layout, s->options->stop_on_error, piece, &path);
    tb_code code = tb_buf_check(&path, err);
    request.path = path.data;
    s->client.into = err;
    s->client.retry_after = 0;
    pack(s, &request);
    if (code == TB_OK) code = send_piece(s, &request, err);
    tb_buf_release(&path);
    if (code) return code;
    return read_answer(s, ret_report, err);
}

static int64_t retry_after_ms(void *ctx)
{
    const server_sink *s = ctx;
    return (int64_t)s->client.retry_after * 1000;
}

int server_sink_open(server_sink *s, const cli_call *call, const feed_options *options)
{
    *s = (server_sink){.options = options};
    tb_buf_init(&s->body, BODY_MOST, NULL);
    s->sink = (follow_sink){s, ask_known, take_piece, retry_after_ms, ask_held};
    return client_open(&s->client, call);
}

void server_sink_close(server_sink *s)
{
    client_close(&s->client);
    free(s->packed);
    feed_packer_free(s->packer);
    tb_buf_release(&s->body);
}
