/* A log as a file: its identity, and whether it still begins with the bytes that were read. */
#include "follow/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

follow_log *follow_log_new(const char *path, const struct stat *st, int64_t now_ms)
{
    follow_log *log = calloc(1, sizeof *log);
    if (log) log->path = strdup(path);
    if (!log || !log->path) {
        free(log);
        return NULL;
    }
    log->dev = st->st_dev;
    log->ino = st->st_ino;
    log->fd = -1;
    log->size = (uint64_t)st->st_size;
    log->changed = st->st_mtim;
    log->fresh = log->there = true;
    log->regular = S_ISREG(st->st_mode);
    log->piece_max = LOG_PIECE_MAX;
    log->caught_up_ms = log->quiet_ms = now_ms;
    return log;
}

void follow_log_restart(follow_log *log)
{
    if (log->reader) feed_reader_release(log->reader);
    free(log->reader);
    log->reader = NULL;
    if (log->source) feed_source_close(log->source);
    log->source = NULL;
    free(log->starts);
    log->starts = NULL;
    log->n_starts = 0;
    log->window_len = 0;
    log->scanned = log->earlier_bytes = 0;
    log->told_earlier = log->other_options = log->told_other_options = false;
    log->may_have_other_options = log->checked_options = false;
    log->begun = log->ask = log->earlier = log->packed = log->damaged = log->unverified = false;
    log->proof = (follow_proof){.length = 0};
    log->fresh = true;
}

void follow_log_lacked(follow_log *log)
{
    const bool packed = log->packed;
    follow_log_restart(log);
    log->packed = packed;
}

void follow_log_close(follow_log *log)
{
    if (log->fd >= 0) close(log->fd);
    log->fd = -1;
}

void follow_log_free(follow_log *log)
{
    if (!log) return;
    follow_log_restart(log);
    follow_log_close(log);
    free(log->path);
    free(log);
}

/* A file can change twice within the resolution of its time, so a change is followed by a second look. */
void follow_log_seen(follow_log *log, const struct stat *st, int64_t now_ms, bool counts)
{
    const uint64_t size = (uint64_t)st->st_size;
    const bool same = size == log->size && st->st_mtim.tv_sec == log->changed.tv_sec &&
                      st->st_mtim.tv_nsec == log->changed.tv_nsec;
    if (S_ISREG(st->st_mode) != log->regular) { /* another file got the same inode */
        follow_log_close(log);
        follow_log_restart(log);
        log->regular = !log->regular;
        log->trouble = TB_OK;
        log->again_ms = 0;
    } else if (same && !counts) {
        return;
    }
    log->settled = same;
    if (same) {
        log->looks++;
        if (log->looks == 1 && !log->packed) log->fresh = true;
        if (log->looks == LOG_PATIENT && log->damaged) {
            log->damaged = false;
            log->fresh = true;
        }
        return;
    }
    if (log->packed) follow_log_restart(log);
    log->size = size;
    log->changed = st->st_mtim;
    log->quiet_ms = now_ms;
    log->looks = 0;
    log->fresh = true;
}

static tb_code cannot(const char *what, tb_error *err)
{
    return tb_fail(err, TB_E_IO, NULL, "%s: %s. It is tried again.", what, strerror(errno));
}

tb_code follow_log_open(follow_log *log, follow_shared *shared, tb_error *err)
{
    struct stat st;
    if (log->fd >= 0) return TB_OK;
    int fd = open(log->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
        /* Logs without a name keep their descriptors, so there may be too few for a moment. */
        if (!shared->said_full)
            shared->options->say(shared->options->ctx, NULL,
                               "Too many files are open: logs wait until others are read to their end. Raise the "
                               "limit (LimitNOFILE, ulimit -n).");
        shared->said_full = true;
        return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    }
    if (fd < 0 && errno == ENOENT) return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    if (fd < 0) return cannot("It cannot be opened", err);
    if (fstat(fd, &st) != 0 || st.st_dev != log->dev || st.st_ino != log->ino) {
        close(fd);
        return tb_fail(err, TB_E_NOT_FOUND, NULL, NULL);
    }
    log->fd = fd;
    return TB_OK;
}

tb_code follow_log_read(const follow_log *log, uint64_t at, char *bytes, size_t cap, size_t *ret_n,
                        tb_error *err)
{
    *ret_n = 0;
    while (*ret_n < cap) {
        ssize_t n = pread(log->fd, bytes + *ret_n, cap - *ret_n, (off_t)(at + *ret_n));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return cannot("Reading failed", err);
        if (n == 0) break;
        *ret_n += (size_t)n;
    }
    return TB_OK;
}

void follow_log_note(follow_log *log, const char *bytes, size_t len)
{
    log->window_len = len < LOG_WINDOW ? len : LOG_WINDOW;
    if (log->window_len) memcpy(log->window, bytes + len - log->window_len, log->window_len);
}

tb_code follow_log_note_known(follow_log *log, tb_error *err)
{
    char bytes[LOG_WINDOW];
    size_t n, len = log->reader->known.bytes < sizeof bytes ? (size_t)log->reader->known.bytes
                                                            : sizeof bytes;
    if (log->packed) return TB_OK;
    tb_code code = follow_log_read(log, log->reader->known.bytes - len, bytes, len, &n, err);
    if (code == TB_OK) follow_log_note(log, bytes, n);
    return code;
}

tb_code follow_log_same(const follow_log *log, bool *ret_same, tb_error *err)
{
    char bytes[TB_HEAD];
    struct stat st;
    size_t n;
    const uint64_t known = log->reader->known.bytes;
    *ret_same = false;
    if (fstat(log->fd, &st) != 0) return cannot("It cannot be looked at", err);
    if ((uint64_t)st.st_size < log->reader->at) return TB_OK;
    tb_code code = follow_log_read(log, 0, bytes, sizeof bytes, &n, err);
    if (code) return code;
    const tb_hash128 head = feed_hash_head(log->reader->seed, log->reader->heads, bytes, n);
    if (head.high != log->head.high || head.low != log->head.low) return TB_OK;
    *ret_same = true;
    if (log->window_len == 0) return TB_OK;
    code = follow_log_read(log, known - log->window_len, bytes, log->window_len, &n, err);
    *ret_same = n == log->window_len && memcmp(bytes, log->window, n) == 0;
    return code;
}

uint64_t follow_log_lag(const follow_log *log)
{
    const uint64_t waiting = follow_log_waiting(log);
    if (!log->regular) return 0;
    if (log->packed) return log->fresh || log->begun || log->damaged ? 1 : 0;
    if (!log->begun) return log->size > waiting ? log->size - waiting : 0;
    if (log->earlier && !log->fresh) return 0;
    const uint64_t read = log->reader->known.bytes + waiting;
    return log->size > read ? log->size - read : 0;
}

uint64_t follow_log_waiting(const follow_log *log)
{
    if (!log->regular || log->packed || (log->begun && log->earlier)) return 0;
    if (!log->begun) return log->fresh ? 0 : log->size;
    return log->scanned > log->reader->at ? log->scanned - log->reader->at : 0;
}
