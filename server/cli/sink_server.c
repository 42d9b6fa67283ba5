/* A server as the sink: questions are GET /ingest/segments, pieces are POST /ingest/logs. A body
 * that is worth it is compressed: an edge's way to its server may be long. */
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "cli/remote.h"
#include "cli/remote_known.h"
#include "cli/remote_report.h"
#include "cli/sinks.h"

#define PATH_MOST  8000
#define PACK_FROM  ((size_t)4 << 10) /* shorter bodies are sent as they are */
#define PACK_LEVEL 1

/* What a wrong answer means to all logs is not what it means to one. */
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
    *ret_known = (follow_known){known.list, known.n, known.rungs, known.n_rungs};
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
    if (client_send(&s->client, &sent) == 0) return TB_OK;
    if (conflict) return tb_fail(err, TB_E_BATCH_CONFLICT, NULL, NULL);
    return err->code;
}

static tb_code take_piece(void *ctx, const feed_piece *piece, const follow_body *body,
                          feed_report *ret_report, tb_error *err)
{
    server_sink *s = ctx;
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
    json_t *answer = client_json(&s->client);
    if (!answer) return err->code;
    report_read(answer, ret_report);
    json_decref(answer);
    return TB_OK;
}

static int64_t retry_after_ms(void *ctx)
{
    const server_sink *s = ctx;
    return (int64_t)s->client.retry_after * 1000;
}

int server_sink_open(server_sink *s, const cli_call *call, const feed_options *options)
{
    *s = (server_sink){.options = options};
    s->sink = (follow_sink){s, ask_known, take_piece, retry_after_ms};
    return client_open(&s->client, call);
}

void server_sink_close(server_sink *s)
{
    client_close(&s->client);
    free(s->packed);
}
