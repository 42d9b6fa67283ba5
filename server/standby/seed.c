#include "standby/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tollbook/replica.h"

#define PATH_TEXT_MAX 4096
#define QUIET_S       3600L /* the primary makes the base first */
#define PAUSE_US      INT64_C(1000000)
#define TENTHS        10    /* progress is said at each tenth */
#define LARGE         ((uint64_t)64 << 20) /* of a base from here on */

typedef struct seed {
    const seed_options *options;
    primary_link link;
    char partial[PATH_TEXT_MAX];
    int fd;
    uint64_t done;            /* bytes in the file */
    char tag[LINK_TAG_MAX];   /* of what is in it */
    int64_t piece;            /* the newest that it has */
    unsigned said;            /* tenths */
    bool begun;               /* this exchange's first byte was written */
    tb_error failed;          /* of writing */
} seed;

static tb_code io_failed(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%s: %s.", path, strerror(errno));
}

static void say_progress(seed *s)
{
    const uint64_t whole = s->link.whole;
    const unsigned tenths = whole ? (unsigned)(s->done / (whole / TENTHS + 1)) : 0;
    if (whole < LARGE || tenths <= s->said) return;
    s->said = tenths;
    s->options->note("%s: %u %% of %" PRIu64 " MiB are there", s->options->db, tenths * 100 / TENTHS, whole >> 20);
}

/* A whole answer in place of the rest begins the file anew. */
static bool begin_answer(seed *s)
{
    s->begun = true;
    if (s->link.status == 206) return true;
    s->done = 0;
    s->said = 0;
    memcpy(s->tag, s->link.tag, sizeof s->tag);
    s->piece = s->link.piece;
    return ftruncate(s->fd, 0) == 0;
}

static bool take_bytes(void *ctx, const char *bytes, size_t len)
{
    seed *s = ctx;
    bool ok = s->begun || begin_answer(s);
    while (ok && len) {
        const ssize_t n = pwrite(s->fd, bytes, len, (off_t)s->done);
        if (n < 0 && errno == EINTR) continue;
        ok = n > 0;
        if (!ok) break;
        bytes += n;
        len -= (size_t)n;
        s->done += (uint64_t)n;
    }
    if (!ok) (void)io_failed(s->partial, &s->failed);
    else say_progress(s);
    return ok;
}

/* One try. TB_E_AWAY: it may be tried again. */
static tb_code fetch(seed *s, tb_error *err)
{
    const link_request request = {.path = "/replica/base", .quiet_s = QUIET_S, .from = s->tag[0] ? s->done : 0, .tag = s->tag,
                                  .take = take_bytes, .ctx = s};
    s->begun = false;
    tb_code code = link_ask(&s->link, &request, err);
    if (code) return code;
    if (s->failed.code) {
        *err = s->failed;
        return err->code;
    }
    if (s->link.status != 200 && s->link.status != 206) return link_refusal(&s->link, err);
    return s->done == s->link.whole ? TB_OK : tb_fail(err, TB_E_AWAY, NULL, "The base ends too early.");
}

/* A refusal that will not change by itself ends it. */
static bool is_final(const seed *s, tb_code code)
{
    return code != TB_E_AWAY || (s->link.status >= 400 && s->link.status < 500 && s->link.status != 429);
}

static tb_code fetch_whole(seed *s, tb_error *err)
{
    bool said = false;
    for (;;) {
        const uint64_t before = s->done;
        const tb_code code = fetch(s, err);
        if (code == TB_OK) return TB_OK;
        if (is_final(s, code)) return code;
        if (!said || s->done > before)
            s->options->warn("%s: the base does not come from %s: %s It is tried again.", s->options->db, s->options->link.url,
                            err->message);
        said = true;
        if (!link_pause(&s->link, PAUSE_US)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
    }
}

/* --- the check --- */

static void keep_first(void *ctx, const char *sentence)
{
    char *first = ctx;
    if (!first[0] && strncmp(sentence, TB_NOTE, sizeof TB_NOTE - 1) != 0) snprintf(first, 200, "%s", sentence);
}

static tb_code check_copy(const seed *s, tb_error *err)
{
    char first[200] = "";
    uint64_t differences = 0;
    tb_replication now = {.first = 0};
    tb_store *store;
    tb_code code = tb_store_open(s->partial, &(tb_store_options){.copy = true}, &store, err);
    if (code) return code;
    const bool older = tb_store_schema_of(store) < tb_store_schema();
    if (older)
        s->options->warn("the base has schema %d of the primary's older tollbook: it is verified once that is upgraded.",
                         tb_store_schema_of(store));
    code = tb_store_replication(store, &now, err);
    if (!code && now.last.number != s->piece)
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The base has piece %" PRId64 ", and the primary says %" PRId64 ".",
                       now.last.number, s->piece);
    if (!code && !older) code = s->options->check(store, keep_first, first, &differences, err);
    if (!code && differences)
        code = tb_fail(err, TB_E_DIFFERENT, NULL, "The base does not agree with itself: %s", first);
    tb_store_close(store);
    return code;
}

static void remove_beside(const char *path)
{
    static const char *const ends[] = {"-wal", "-shm"};
    char beside[PATH_TEXT_MAX + 8];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(beside, sizeof beside, "%s%s", path, ends[i]);
        unlink(beside);
    }
}

static tb_code sync_folder(const char *path, tb_error *err)
{
    char folder[PATH_TEXT_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s.", (int)(slash ? slash - path + 1 : 0), path);
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const tb_code code = fd >= 0 && fsync(fd) == 0 ? TB_OK : io_failed(folder, err);
    if (fd >= 0) close(fd);
    return code;
}

static tb_code finish(const seed *s, tb_error *err)
{
    if (fsync(s->fd) != 0) return io_failed(s->partial, err);
    s->options->note("%s: %" PRIu64 " bytes have come, and are checked", s->options->db, s->done);
    tb_code code = check_copy(s, err);
    remove_beside(s->partial);
    if (code) return code;
    remove_beside(s->options->db); /* of a file that was there before, and is closed */
    if (rename(s->partial, s->options->db) != 0) return io_failed(s->options->db, err);
    code = sync_folder(s->options->db, err);
    if (!code) s->options->note("%s is a copy of %s now, as of piece %" PRId64, s->options->db, s->options->link.url, s->piece);
    return code;
}

tb_code seed_copy(const seed_options *options, tb_error *err)
{
    seed s = {.options = options};
    if ((size_t)snprintf(s.partial, sizeof s.partial, "%s.partial", options->db) >= sizeof s.partial)
        return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", options->db);
    s.fd = open(s.partial, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (s.fd < 0) return io_failed(s.partial, err);
    remove_beside(s.partial);
    options->note(access(options->db, F_OK) == 0 ? "%s is replaced: a new copy is made from %s" : "%s is not there: it is made from %s", options->db, options->link.url);
    tb_code code = link_open(&s.link, &options->link, err);
    if (!code) {
        code = fetch_whole(&s, err);
        if (!code) code = finish(&s, err);
        link_close(&s.link);
    }
    if (code) unlink(s.partial);
    close(s.fd);
    return code;
}
