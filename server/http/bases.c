#include "http/bases.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "http/clock.h"

struct bases {
    const char *db;
    pthread_mutex_t lock; /* of the kept one and its counts */
    base *kept;
};

bases *bases_new(const char *db)
{
    bases *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->db = db;
    pthread_mutex_init(&b->lock, NULL);
    return b;
}

static void close_base(base *one)
{
    if (!one) return;
    if (one->fd >= 0) close(one->fd);
    free(one);
}

void bases_free(bases *b)
{
    if (!b) return;
    close_base(b->kept);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

void bases_drop(bases *b, base *one)
{
    pthread_mutex_lock(&b->lock);
    one->used_us = clock_mono_us();
    const bool over = --one->users == 0 && one != b->kept;
    pthread_mutex_unlock(&b->lock);
    if (over) close_base(one);
}

/* Makes another one, or none, the kept one. */
static void replace_kept(bases *b, base *one)
{
    pthread_mutex_lock(&b->lock);
    base *before = b->kept;
    const bool over = before && before->users == 0;
    b->kept = one;
    pthread_mutex_unlock(&b->lock);
    if (over) close_base(before);
}

static bool has_tag(const base *one, const tb_text *tag)
{
    return !tag || (tag->len == strlen(one->tag) && memcmp(tag->data, one->tag, tag->len) == 0);
}

/* tag NULL: any. */
static base *find_kept(bases *b, const tb_text *tag)
{
    pthread_mutex_lock(&b->lock);
    base *one = b->kept && has_tag(b->kept, tag) ? b->kept : NULL;
    if (one) one->users++;
    pthread_mutex_unlock(&b->lock);
    return one;
}

base *bases_take(bases *b, tb_text tag)
{
    return find_kept(b, &tag);
}

void bases_age(bases *b)
{
    pthread_mutex_lock(&b->lock);
    const base *one = b->kept;
    const bool over = one && one->users == 0 && clock_mono_us() - one->used_us > BASE_KEPT_US;
    pthread_mutex_unlock(&b->lock);
    if (over) replace_kept(b, NULL);
}

/* --- making one --- */

typedef struct stopping {
    tb_store *store;
    bool (*stop)(void *ctx);
    void *ctx;
} stopping;

static void look_at_stop(void *ctx, uint64_t done, uint64_t total)
{
    stopping *s = ctx;
    (void)done, (void)total;
    if (s->stop(s->ctx)) tb_store_stop_backup(s->store);
}

static tb_code io_failed(tb_error *err, const char *path)
{
    return tb_fail(err, errno == ENOSPC ? TB_E_DISK_FULL : TB_E_IO, NULL, "%.300s: %s.", path, strerror(errno));
}

/* A follower compares it with what came. */
static tb_code hash_base(const char *path, const stopping *s, base *one, tb_error *err)
{
    static char block[(size_t)256 << 10]; /* one base is made at a time */
    XXH128_canonical_t hash;
    XXH3_state_t *state = XXH3_createState();
    ssize_t n = 1;
    if (!state) return tb_no_memory(err);
    XXH3_128bits_reset(state);
    for (uint64_t at = 0; at < one->size && n > 0 && !s->stop(s->ctx); at += (uint64_t)n) {
        n = pread(one->fd, block, sizeof block, (off_t)at);
        if (n == 0) errno = EIO; /* it has become shorter */
        if (n > 0) XXH3_128bits_update(state, block, (size_t)n);
    }
    XXH128_canonicalFromHash(&hash, XXH3_128bits_digest(state));
    XXH3_freeState(state);
    sodium_bin2hex(one->hash, sizeof one->hash, hash.digest, sizeof hash.digest);
    if (n <= 0) return io_failed(err, path);
    return s->stop(s->ctx) ? tb_fail(err, TB_E_STOPPED, NULL, "The base was stopped.") : TB_OK;
}

static tb_code open_base(const char *path, base *one, tb_error *err)
{
    struct stat is;
    uint64_t random;
    one->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (one->fd < 0 || fstat(one->fd, &is) != 0) return io_failed(err, path);
    randombytes_buf(&random, sizeof random);
    one->size = (uint64_t)is.st_size;
    snprintf(one->tag, sizeof one->tag, "\"%" PRId64 "-%016" PRIx64 "\"", one->piece, random);
    return TB_OK;
}

static tb_code make_base(const bases *b, stopping *s, base *one, tb_error *err)
{
    char path[4096];
    tb_piece last;
    if ((size_t)snprintf(path, sizeof path, "%s.base", b->db) >= sizeof path)
        return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", b->db);
    unlink(path); /* of a server that was killed */
    tb_code code = tb_store_backup_base(s->store, path, look_at_stop, s, &last, err);
    if (!code) one->piece = last.number;
    if (!code) code = open_base(path, one, err);
    unlink(path);
    return code ? code : hash_base(path, s, one, err);
}

/* Whether a copy that begins with the kept base has all up to this piece, and finds those after it. */
static bool is_current(const base *one, tb_store *store, int64_t least)
{
    tb_replication now;
    return one->piece >= least && clock_mono_us() - one->made_us < BASE_KEPT_US && tb_store_replication(store, &now, NULL) == TB_OK &&
           now.first <= one->piece + 1 && one->piece <= now.last.number;
}

tb_code bases_make(bases *b, tb_store *store, int64_t least, bool (*stop)(void *ctx), void *ctx, base **ret_base, tb_error *err)
{
    stopping s = {.store = store, .stop = stop, .ctx = ctx};
    base *one = find_kept(b, NULL);
    if (one && is_current(one, store, least)) {
        *ret_base = one;
        return TB_OK;
    }
    if (one) bases_drop(b, one);
    one = calloc(1, sizeof *one);
    if (!one) return tb_no_memory(err);
    *one = (base){.fd = -1, .users = 1};
    tb_code code = make_base(b, &s, one, err);
    if (code) {
        close_base(one);
        return code;
    }
    one->made_us = one->used_us = clock_mono_us();
    replace_kept(b, one);
    *ret_base = one;
    return TB_OK;
}
