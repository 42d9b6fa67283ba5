#include "cli/piece_source.h"

#include <inttypes.h>
#include <string.h>

#include "cli/clocks.h"
#include "cli/take.h"
#include "http/message.h"
#include "standby/base.h"

#define LOOK_MS    1000 /* how often a file is looked at */
#define ANSWER_MAX (TB_PIECE_MAX + ((size_t)32 << 20))
#define BASE_KEPT_MS 600000 /* a server keeps a base so long for who goes on with it */
#define PAUSE_US   INT64_C(1000000)

static bool is_stopped(void *ctx)
{
    (void)ctx;
    return atomic_load_explicit(&take_stop, memory_order_relaxed);
}

int piece_source_open(piece_source *s, const cli_call *call)
{
    *s = (piece_source){.call = call, .remote = cli_given(call, "server")};
    const int status = s->remote ? client_open(&s->client, call) : 0;
    if (!s->remote || status) return status;
    tb_buf_release(&s->client.answer);
    tb_buf_init(&s->client.answer, ANSWER_MAX, NULL);
    s->client.leave = is_stopped;
    return 0;
}

void piece_source_close(piece_source *s)
{
    tb_store_close(s->store);
    s->store = NULL;
    if (s->remote) client_close(&s->client);
}

/* --- a file --- */

static tb_code open_file(piece_source *s, tb_error *err)
{
    const tb_store_options reader = {.control = true};
    if (s->store && tb_store_still_there(s->store, NULL, err) == TB_OK) return TB_OK;
    tb_store_close(s->store);
    s->store = NULL;
    return tb_store_open(cli_text(s->call, "db"), &reader, &s->store, err);
}

static tb_code read_file(piece_source *s, const tb_piece *after, tb_piece_fn each, void *ctx, bool *ret_any, tb_error *err)
{
    tb_replication state = {.first = 0};
    *ret_any = false;
    tb_code code = open_file(s, err);
    if (!code) code = tb_store_read_begin(s->store, err);
    if (code) return code;
    code = tb_store_replication(s->store, &state, err);
    if (!code && state.last.number == 0)
        code = tb_fail(err, TB_E_AWAY, NULL, "%.200s is not replicated: serve it with --replicas.", cli_text(s->call, "db"));
    else if (!code && state.last.number == after->number && memcmp(state.last.chain, after->chain, TB_PIECE_CHAIN) != 0)
        code = tb_fail(err, TB_E_NOT_FOUND, NULL, "Piece %" PRId64 " is another one now.", after->number);
    else if (!code && state.last.number != after->number) {
        *ret_any = true;
        code = tb_store_pieces(s->store, after->number, each, ctx, err);
    }
    tb_store_read_end(s->store);
    return code;
}

/* --- a server --- */

static tb_code ask(piece_source *s, const client_request *request, tb_error *err)
{
    s->client.into = err;
    const int failed = client_send(&s->client, request);
    s->client.into = NULL;
    if (!failed) return TB_OK;
    if (s->client.status == 410) err->code = TB_E_NOT_FOUND;
    return err->code ? err->code : TB_E_IO;
}

static tb_code read_server(piece_source *s, const tb_piece *after, int64_t wait_ms, tb_piece_fn each, void *ctx, tb_error *err)
{
    char path[128];
    snprintf(path, sizeof path, "/replica/pieces?after=%" PRId64 "&wait=%" PRId64, after->number, (wait_ms + 999) / 1000);
    const client_request request = {.method = "GET", .path = path};
    tb_code code = ask(s, &request, err);
    const tb_buf *answer = &s->client.answer;
    for (size_t at = 0, len = 0; !code && at < answer->len; at += len) {
        tb_piece piece;
        code = tb_piece_read(answer->data + at, answer->len - at, &piece, &len, err);
        if (!code && len == 0) code = tb_fail(err, TB_E_IO, NULL, "%.200s: The answer ends within a piece.", s->client.url);
        if (!code && !each(ctx, &piece)) break;
    }
    return code;
}

static void show_base(void *ctx, uint64_t done, uint64_t total)
{
    if (total > 0) meter_share(ctx, done, total);
}

/* As long as bytes come now and then, and the server may still have this base. */
static tb_code fetch_base(base_fetch *f, tb_error *err)
{
    int64_t came_ms = clock_now_ms();
    for (;;) {
        const uint64_t before = f->done;
        const tb_code code = base_fetch_try(f, err);
        if (code == TB_OK || base_fetch_is_final(f, code)) return code;
        if (f->done != before) {
            came_ms = clock_now_ms();
            message_say(MESSAGE_WARNING, "The base was cut off after %" PRIu64 " bytes: %s It goes on from there.", f->done, err->message);
        }
        if (!f->done || clock_now_ms() - came_ms > BASE_KEPT_MS || is_stopped(NULL)) return code;
        if (!link_pause(&f->link, PAUSE_US)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
}

static tb_code download_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err)
{
    const link_options server = {.url = s->client.url, .key = s->client.key, .ca = s->client.ca};
    base_fetch f;
    tb_code code = base_fetch_open(&f, &server, to, 0600, err);
    if (code) return code;
    f.show = show_base;
    f.ctx = &s->progress;
    code = fetch_base(&f, err);
    if (code == TB_E_AWAY) {
        const tb_error why = *err;
        (void)!tb_fail(err, code, NULL, "%.200s: %.300s", s->client.url, why.message);
    }
    ret_last->number = f.piece;
    base_fetch_close(&f);
    return code;
}

/* --- both --- */

tb_code piece_source_read(piece_source *s, const tb_piece *after, int64_t wait_ms, tb_piece_fn each, void *ctx, tb_error *err)
{
    bool any;
    if (s->remote) return read_server(s, after, wait_ms, each, ctx, err);
    tb_code code = read_file(s, after, each, ctx, &any, err);
    if (!code && !any && wait_ms > 0) clock_wait(wait_ms < LOOK_MS ? wait_ms : LOOK_MS, &take_stop);
    return code;
}

tb_code piece_source_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err)
{
    meter_init(&s->progress, "base");
    tb_code code = s->remote ? download_base(s, to, ret_last, err) : open_file(s, err);
    if (!code && !s->remote) code = tb_store_backup_base(s->store, to, show_base, &s->progress, ret_last, err);
    if (!code) code = base_check(to, ret_last->number, true, tb_store_verify, ret_last, err);
    meter_end(&s->progress);
    return code;
}
