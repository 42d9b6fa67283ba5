#include "standby/seed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "standby/base.h"

#define PATH_TEXT_MAX 4096
#define PAUSE_US      INT64_C(1000000)
#define TENTHS        10    /* progress is said at each tenth */
#define LARGE         ((uint64_t)64 << 20) /* of a base from here on */

typedef struct seed {
    const seed_options *options;
    base_fetch base;
    char partial[PATH_TEXT_MAX];
    unsigned said; /* tenths */
} seed;

static tb_code io_failed(const char *path, tb_error *err)
{
    return tb_fail(err, errno == ENOSPC || errno == EDQUOT ? TB_E_DISK_FULL : TB_E_IO, NULL, "%s: %s.", path, strerror(errno));
}

static void say_progress(void *ctx, uint64_t done, uint64_t whole)
{
    seed *s = ctx;
    const unsigned tenths = whole ? (unsigned)(done / (whole / TENTHS + 1)) : 0;
    if (whole < LARGE || tenths == s->said) return;
    const bool more = tenths > s->said; /* else it begins anew */
    s->said = tenths;
    if (more) s->options->note("%s: %u %% of %" PRIu64 " MiB are there", s->options->db, tenths * 100 / TENTHS, whole >> 20);
}

static tb_code fetch_whole(seed *s, tb_error *err)
{
    bool said = false;
    for (;;) {
        const uint64_t before = s->base.done;
        const tb_code code = base_fetch_try(&s->base, err);
        if (code == TB_OK) return TB_OK;
        if (base_fetch_is_final(&s->base, code)) return code;
        if (!said || s->base.done > before)
            s->options->warn("%s: the base does not come from %s: %s It is tried again.", s->options->db, s->options->link.url,
                            err->message);
        said = true;
        if (!link_pause(&s->base.link, PAUSE_US)) return tb_fail(err, TB_E_STOPPED, NULL, NULL);
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

/* Beside the file itself, whatever path leads to it. */
static void name_unverified(const char *db, char out[PATH_TEXT_MAX + 16])
{
    char real[PATH_MAX];
    snprintf(out, PATH_TEXT_MAX + 16, "%s.unverified", realpath(db, real) ? real : db);
}

static tb_code mark_unverified(const char *db, tb_error *err)
{
    char path[PATH_TEXT_MAX + 16];
    snprintf(path, sizeof path, "%s.unverified", db); /* the new file takes the place of a link */
    const int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0) return io_failed(path, err);
    close(fd);
    return TB_OK;
}

bool seed_is_unverified(const char *db)
{
    char path[PATH_TEXT_MAX + 16];
    name_unverified(db, path);
    return access(path, F_OK) == 0;
}

void seed_verified(const char *db)
{
    char path[PATH_TEXT_MAX + 16];
    name_unverified(db, path);
    unlink(path);
}

static tb_code finish(const seed *s, tb_error *err)
{
    const seed_options *o = s->options;
    tb_piece last;
    tb_code code = base_check(s->partial, s->base.piece, false, NULL, &last, err);
    if (!code) code = tb_store_mark_base(s->partial, err);
    if (code) return code;
    /* The log of the file that was there before is removed before the new file gets its name: after a crash it would be read as the
     * new file's. The files beside it, the mark and what rejoin.c saved, are on disk then, too. */
    base_remove_log(o->db);
    code = mark_unverified(o->db, err);
    if (!code) code = sync_folder(o->db, err);
    if (code) return code;
    if (rename(s->partial, o->db) != 0) return io_failed(o->db, err);
    code = sync_folder(o->db, err);
    if (!code) o->note("%s is a copy of %s now, as of piece %" PRId64, o->db, o->link.url, last.number);
    return code;
}

tb_code seed_copy(const seed_options *options, tb_error *err)
{
    seed s = {.options = options};
    if ((size_t)snprintf(s.partial, sizeof s.partial, "%s.partial", options->db) >= sizeof s.partial)
        return tb_fail(err, TB_E_IO, NULL, "%.200s...: the path is too long.", options->db);
    tb_code code = base_fetch_open(&s.base, &options->link, s.partial, 0644, err);
    if (code) return code;
    s.base.show = say_progress;
    s.base.ctx = &s;
    base_remove_log(s.partial);
    options->note(access(options->db, F_OK) == 0 ? "%s is replaced: a new copy is made from %s" : "%s is not there: it is made from %s",
                  options->db, options->link.url);
    code = fetch_whole(&s, err);
    if (!code) code = finish(&s, err);
    if (code) {
        unlink(s.partial);
        base_remove_log(s.partial);
    }
    base_fetch_close(&s.base);
    return code;
}
