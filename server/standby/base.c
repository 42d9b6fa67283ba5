#include "standby/base.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_TEXT_MAX 4096
#define QUIET_S    3600L /* the primary makes the base first */
#define WRITE_STEP ((uint64_t)8 << 20)

static tb_code io_failed(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.400s: %s.", path, strerror(errno));
}

tb_code base_fetch_open(base_fetch *f, const link_options *options, const char *path, mode_t mode, tb_error *err)
{
    *f = (base_fetch){.path = path, .fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, mode)};
    if (f->fd < 0) return io_failed(path, err);
    f->hash = XXH3_createState();
    const tb_code code = f->hash ? link_open(&f->link, options, err) : tb_no_memory(err);
    if (code) base_fetch_close(f);
    return code;
}

void base_fetch_close(base_fetch *f)
{
    if (f->fd < 0) return;
    close(f->fd);
    f->fd = -1;
    XXH3_freeState(f->hash);
    link_close(&f->link);
}

/* A whole answer in place of the rest begins the file anew. */
static bool begin_answer(base_fetch *f)
{
    f->begun = true;
    if (f->link.status == 206) return true;
    f->done = f->written = 0;
    XXH3_128bits_reset(f->hash);
    memcpy(f->tag, f->link.tag, sizeof f->tag);
    f->piece = f->link.piece;
    return ftruncate(f->fd, 0) == 0;
}

static bool take_bytes(void *ctx, const char *bytes, size_t len)
{
    base_fetch *f = ctx;
    bool ok = f->begun || begin_answer(f);
    while (ok && len) {
        const ssize_t n = pwrite(f->fd, bytes, len, (off_t)f->done);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (!ok) break;
        XXH3_128bits_update(f->hash, bytes, (size_t)n);
        bytes += n;
        len -= (size_t)n;
        f->done += (uint64_t)n;
        if (f->done - f->written < WRITE_STEP) continue;
        sync_file_range(f->fd, (off_t)f->written, (off_t)(f->done - f->written), SYNC_FILE_RANGE_WRITE); /* the disk begins */
        f->written = f->done;
    }
    if (!ok) (void)io_failed(f->path, &f->failed);
    else if (f->show) f->show(f->ctx, f->done, f->link.whole);
    return ok;
}

/* Older primaries send no hash. */
static tb_code check_hash(const base_fetch *f, tb_error *err)
{
    XXH128_canonical_t hash;
    char text[LINK_HASH];
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(f->hash));
    sodium_bin2hex(text, sizeof text, hash.digest, sizeof hash.digest);
    if (!f->link.hash[0] || strcmp(text, f->link.hash) == 0) return TB_OK;
    return tb_fail(err, TB_E_DIFFERENT, NULL, "The base was damaged on its way: it has the hash %s, and the primary says %s.", text,
                   f->link.hash);
}

tb_code base_fetch_try(base_fetch *f, tb_error *err)
{
    const link_request request = {.path = "/replica/base", .quiet_s = QUIET_S, .from = f->tag[0] ? f->done : 0, .tag = f->tag,
                                  .take = take_bytes, .ctx = f};
    f->begun = false;
    tb_code code = link_ask(&f->link, &request, err);
    if (code) return code;
    if (f->failed.code) {
        *err = f->failed;
        return err->code;
    }
    if (f->link.status != 200 && f->link.status != 206) return link_refusal(&f->link, err);
    if (f->done != f->link.whole) return tb_fail(err, TB_E_AWAY, NULL, "The base ends too early.");
    code = check_hash(f, err);
    if (code) return code;
    return fsync(f->fd) == 0 ? TB_OK : io_failed(f->path, err);
}

bool base_fetch_is_final(const base_fetch *f, tb_code code)
{
    return code != TB_E_AWAY || (f->link.status >= 400 && f->link.status < 500 && f->link.status != 429);
}

/* --- the check --- */

static void keep_first(void *ctx, const char *sentence)
{
    char *first = ctx;
    if (!first[0] && strncmp(sentence, TB_NOTE, sizeof TB_NOTE - 1) != 0) snprintf(first, 200, "%s", sentence);
}

void base_remove_log(const char *path)
{
    static const char *const ends[] = {"-wal", "-shm"};
    char beside[PATH_TEXT_MAX + 8];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        unlink(beside);
    }
}

tb_code base_check(const char *path, int64_t piece, bool control, tb_check check, tb_piece *ret_last, tb_error *err)
{
    const tb_store_options reader = {.control = control, .copy = true};
    char first[200] = "";
    uint64_t differences = 0;
    tb_replication now = {.first = 0};
    tb_store *store;
    tb_code code = tb_store_open(path, &reader, &store, err);
    if (code) return code;
    const bool older = tb_store_schema_of(store) < tb_store_schema(); /* verified once its primary is upgraded */
    code = tb_store_replication(store, &now, err);
    if (!code && (!piece || now.last.number != piece))
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The base has piece %" PRId64 ", and the primary says %" PRId64 ".",
                       now.last.number, piece);
    if (!code && check && !older) code = check(store, keep_first, first, &differences, err);
    if (!code && differences)
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The base does not agree with itself: %s", first);
    tb_store_close(store);
    base_remove_log(path); /* empty: a reader made it */
    *ret_last = now.last;
    return code;
}
