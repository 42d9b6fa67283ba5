#include "cli/piece_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "cli/clocks.h"
#include "cli/take.h"

#define LOOK_MS    1000 /* how often a file is looked at */
#define ANSWER_MAX (TB_PIECE_MAX + ((size_t)32 << 20))
#define BASE_S     3600L /* a server takes long to make a large base before it sends it */

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
    const tb_store_options reader = {.write = false};
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

typedef struct download {
    piece_source *source;
    int fd;
    int why; /* errno of a write that failed; 0: none did */
    uint64_t done;
} download;

static bool save(void *ctx, const char *bytes, size_t len)
{
    download *d = ctx;
    curl_off_t total = 0;
    curl_easy_getinfo(d->source->client.curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &total);
    meter_share(&d->source->progress, d->done += len, total > 0 ? (uint64_t)total : 0);
    while (len) {
        const ssize_t n = write(d->fd, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) {
            d->why = errno;
            return false;
        }
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

static tb_code check_base(const char *path, tb_piece *ret_last, tb_error *err)
{
    const tb_store_options reader = {.write = false};
    tb_replication state = {.first = 0};
    uint64_t differences = 0;
    tb_store *store;
    tb_code code = tb_store_open(path, &reader, &store, err);
    if (code) return code;
    code = tb_store_replication(store, &state, err);
    if (!code) code = tb_store_verify(store, NULL, NULL, &differences, err);
    tb_store_close(store);
    *ret_last = state.last;
    if (!code && (differences || state.last.number == 0))
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The base that the server sent does not agree with itself. Run tollbook verify there.");
    return code;
}

static tb_code download_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err)
{
    download d = {.source = s, .fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    const client_request request = {.method = "GET", .path = "/replica/base", .take = save, .take_ctx = &d, .quiet_s = BASE_S};
    tb_code code = TB_OK;
    if (d.fd < 0) d.why = errno;
    else code = ask(s, &request, err);
    if (d.fd >= 0 && !code && fsync(d.fd) != 0) d.why = errno;
    if (d.fd >= 0) close(d.fd);
    if (d.why)
        return tb_fail(err, d.why == ENOSPC || d.why == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.250s: %s.", to, strerror(d.why));
    return code ? code : check_base(to, ret_last, err);
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

static void show_base(void *ctx, uint64_t done, uint64_t total)
{
    if (total > 0) meter_share(ctx, done, total);
    else if (done > 0) meter_check(ctx, done);
}

tb_code piece_source_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err)
{
    meter_init(&s->progress, "base");
    tb_code code = s->remote ? download_base(s, to, ret_last, err) : open_file(s, err);
    if (!code && !s->remote) code = tb_store_backup_base(s->store, to, show_base, &s->progress, ret_last, err);
    meter_end(&s->progress);
    return code;
}
