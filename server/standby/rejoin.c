/* Pieces with equal numbers and chains have equal content, so the last piece that both have is found by halving. */
#include "standby/rejoin.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "standby/epochs.h"
#include "tollbook/replica.h"

#define PATH_MOST 4096
#define WRITE_AT ((size_t)1 << 20) /* bytes of pieces in memory from which on they are written */

typedef struct rejoin {
    const seed_options *options;
    primary_link link;
    tb_store *store;
    tb_replication own;
    tb_piece shared; /* the last piece that both have */
    int64_t newest;  /* the primary's */
    char path[PATH_MOST], part[PATH_MOST + 8];
    int fd;
    tb_buf bytes;
    tb_error failed; /* of writing */
} rejoin;

/* --- where both agree --- */

/* Whether the primary refused the piece because it no longer keeps it. */
static bool is_trimmed(const rejoin *r, const tb_piece *piece)
{
    json_t *answer = link_json(&r->link);
    const char *field = json_string_value(json_object_get(answer, "Field"));
    const bool trimmed = field && strcmp(field, "after") == 0 && piece->number <= r->newest;
    json_decref(answer);
    return trimmed;
}

/* r->shared.number stays 0 where the primary has no piece that is kept here. */
static tb_code find_shared(rejoin *r, tb_error *err)
{
    int64_t low = r->own.first - 1, high = r->own.last.number; /* the primary has, or had, all up to low; it never had high */
    tb_piece piece;
    bool there;
    tb_code code = TB_OK;
    while (!code && high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        code = tb_store_piece_head(r->store, middle, &piece, err);
        if (!code) code = link_has_piece(&r->link, &piece, &there, err);
        if (code) break;
        if (there) r->shared = piece;
        if (there || is_trimmed(r, &piece)) low = middle;
        else high = middle;
    }
    return code;
}

/* --- saving --- */

static tb_code rejoin_failed(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%s: %s.", path, strerror(errno));
}

static bool write_bytes(rejoin *r)
{
    size_t at = 0;
    bool ok = !r->bytes.failed;
    while (ok && at < r->bytes.len) {
        const ssize_t n = write(r->fd, r->bytes.data + at, r->bytes.len - at);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        at += n > 0 ? (size_t)n : 0;
    }
    if (!ok) (void)rejoin_failed(r->part, &r->failed);
    r->bytes.len = 0;
    return ok;
}

static bool save_piece(void *ctx, const tb_piece *piece)
{
    rejoin *r = ctx;
    tb_piece_put(piece, &r->bytes);
    return (!r->bytes.failed && r->bytes.len < WRITE_AT) || write_bytes(r);
}

/* As a file of a continuous backup: the head of the piece before, then the pieces. */
static tb_code save_unshared(rejoin *r, tb_error *err)
{
    const int64_t from = r->shared.number + 1, to = r->own.last.number;
    const int n = snprintf(r->path, sizeof r->path, "%s.unshared-%" PRId64 "-%" PRId64 "-%" PRId64, r->options->db, r->own.last.epoch, from, to);
    if (n < 0 || (size_t)n >= sizeof r->path) return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", r->options->db);
    snprintf(r->part, sizeof r->part, "%s.part", r->path);
    unlink(r->part);
    r->fd = open(r->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (r->fd < 0) return rejoin_failed(r->part, err);
    tb_piece_put(&r->shared, &r->bytes);
    tb_code code = tb_store_pieces(r->store, r->shared.number, save_piece, r, err);
    if (!code && !r->failed.code && !write_bytes(r)) code = r->failed.code;
    if (r->failed.code) *err = r->failed;
    if (r->failed.code) code = r->failed.code;
    if (!code && fsync(r->fd) != 0) code = rejoin_failed(r->part, err);
    close(r->fd);
    if (!code && rename(r->part, r->path) != 0) code = rejoin_failed(r->path, err);
    if (code) unlink(r->part);
    if (!code)
        r->options->warn("%s has %" PRId64 " pieces (%" PRId64 " to %" PRId64 ") that the primary %s never had: what they changed is not there. "
                         "They are saved in %s.", r->options->db, to - from + 1, from, to, r->options->link.url, r->path);
    return code;
}

/* --- all --- */

/* Whether there are commits that are not in the file itself. */
static bool has_log(const char *db)
{
    char path[PATH_MOST + 8];
    struct stat is;
    snprintf(path, sizeof path, "%.*s-wal", PATH_MOST, db);
    return stat(path, &is) == 0 && is.st_size > 0;
}

/* Opens the file as its writer: no other program writes it meanwhile, and closing it moves its log into the file. So the log can be
 * removed before the new copy gets the name, and a crash in between leaves a whole file. */
static tb_code set_aside(rejoin *r, tb_error *err)
{
    const char *db = r->options->db;
    const tb_store_options options = {.write = true, .owner = "serve --standby-of", .now_us = r->own.last.at_us, .copy = true};
    tb_store_close(r->store);
    r->store = NULL;
    tb_code code = tb_store_open(db, &options, &r->store, err);
    if (!code) code = save_unshared(r, err);
    tb_store_close(r->store); /* with a checkpoint */
    r->store = NULL;
    if (!code && has_log(db))
        code = tb_fail(err, TB_E_BUSY, NULL, "%.300s is to be replaced by a new copy, and another program reads it, so that its log (%.300s-wal) "
                       "cannot be emptied. End that program, and start this server again.", db, db);
    return code;
}

static tb_code look(rejoin *r, bool *ret_replace, tb_error *err)
{
    epoch_answer primary;
    tb_error ignored;
    bool there;
    *ret_replace = false;
    r->link.epoch = r->own.last.epoch;
    tb_code code = link_has_piece(&r->link, &r->own.last, &there, err);
    if (code || r->link.status != 410 || epochs_ask_one(&r->link, &primary, &ignored) || primary.epoch <= r->own.last.epoch)
        return code;
    r->newest = primary.piece;
    code = find_shared(r, err);
    *ret_replace = !code && r->shared.number;
    if (!code && !r->shared.number)
        r->options->warn("%s: the primary %s has another history with a higher epoch, and none of the pieces that are kept here. Where what "
                         "is here may go, remove the file and start this server again: a new copy is made.", r->options->db,
                         r->options->link.url);
    return code;
}

tb_code rejoin_copy(const seed_options *options, tb_error *err)
{
    rejoin r = {.options = options, .fd = -1};
    tb_error why;
    bool replace = false;
    if (tb_store_open(options->db, &(tb_store_options){.copy = true}, &r.store, &why)) return TB_OK; /* the server reports it */
    tb_code code = tb_store_replication(r.store, &r.own, &why);
    tb_buf_init(&r.bytes, TB_PIECE_MAX + 2 * WRITE_AT, NULL);
    if (!code && r.own.last.number) {
        code = link_open(&r.link, &options->link, &why);
        if (!code) code = look(&r, &replace, &why);
        link_close(&r.link);
    }
    code = replace ? set_aside(&r, err) : TB_OK;
    tb_store_close(r.store);
    tb_buf_release(&r.bytes);
    return code || !replace ? code : seed_copy(options, err);
}
