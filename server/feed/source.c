/* Three layers: stored bytes (a descriptor or memory), the codec, and the count of what came out.
 *
 * The first bytes are read ahead to tell the encoding. Plain input is read straight into the
 * caller's buffer; compressed input goes through one input buffer. What is in memory has been read
 * ahead. Memory is bounded: a zstd frame whose window is larger than 128 MiB is refused by the
 * library's own limit. */
#include "feed/source.h"

#include "feed/foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define RAW_BYTES   ((size_t)256 << 10) /* input buffer of compressed input */
#define SNIFF_BYTES 4                   /* enough to tell an encoding */
#define POLL_MS     200                 /* how often a wait looks at the stop flag */
#define READ_MOST   ((size_t)1 << 30)   /* more than Linux reads at once is no use */

struct feed_source {
    int fd; /* -1: memory */
    bool regular, is_stdin;
    bool borrowed; /* the descriptor is not ours to close */
    const atomic_bool *stop;
    char *buffer;    /* RAW_BYTES; NULL: memory */
    const char *raw; /* stored bytes read ahead, raw_at .. raw_len: the buffer's, or all of memory */
    size_t raw_at, raw_len;
    bool raw_end;
    uint64_t raw_read; /* stored bytes read, those ahead included */
    uint64_t stored_size;
    feed_encoding encoding;
    bool codec_ready;
    bool between; /* at the end of a member or frame, or before the first */
    z_stream gzip;
    ZSTD_DCtx *zstd;
    uint64_t plain_read, plain_max;
    uint64_t plain_end; /* bytes after it are not read */
};

/* --- stored bytes --- */

bool feed_source_stopped(const feed_source *source)
{
    return source->stop && atomic_load_explicit(source->stop, memory_order_relaxed);
}

/* Waits until the descriptor is readable, for inputs that may block. false: stopped. */
static bool wait_for_input(const feed_source *source)
{
    if (source->regular) return !feed_source_stopped(source);
    while (!feed_source_stopped(source)) {
        struct pollfd fd = {.fd = source->fd, .events = POLLIN};
        int n = poll(&fd, 1, source->stop ? POLL_MS : -1);
        if (n > 0 || (n < 0 && errno != EINTR)) return true; /* read() reports the error */
    }
    return false;
}

static tb_code read_fd(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    for (;;) {
        if (!wait_for_input(source)) {
            *ret_n = 0;
            return TB_OK;
        }
        ssize_t n = read(source->fd, buf, cap < READ_MOST ? cap : READ_MOST);
        if (n >= 0) {
            *ret_n = (size_t)n;
            return TB_OK;
        }
        if (errno == EINTR || errno == EAGAIN) continue;
        if (errno == EISDIR)
            return tb_fail(err, TB_E_BAD_INPUT, NULL, "It is a directory. Name the files in it.");
        tb_code code = tb_fail(err, TB_E_IO, NULL, "Reading failed: %s.", strerror(errno));
        if (err) err->byte = source->raw_read + 1;
        return code;
    }
}

/* Some stored bytes, straight from the input. *ret_n 0: the end. */
static tb_code read_stored(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    *ret_n = 0;
    tb_code code = source->buffer ? read_fd(source, buf, cap, ret_n, err) : TB_OK;
    source->raw_end = *ret_n == 0;
    source->raw_read += *ret_n;
    return code;
}

/* Makes raw hold at least `least` bytes, or all there are. */
static tb_code read_ahead(feed_source *source, size_t least, tb_error *err)
{
    if (!source->buffer) return TB_OK;
    if (source->raw_at > 0) {
        memmove(source->buffer, source->raw + source->raw_at, source->raw_len - source->raw_at);
        source->raw_len -= source->raw_at;
        source->raw_at = 0;
    }
    while (source->raw_len < least && !source->raw_end) {
        size_t n;
        tb_code code = read_stored(source, source->buffer + source->raw_len,
                                   RAW_BYTES - source->raw_len, &n, err);
        if (code) return code;
        source->raw_len += n;
    }
    return TB_OK;
}

static tb_code refill(feed_source *source, tb_error *err)
{
    return source->raw_at < source->raw_len ? TB_OK : read_ahead(source, 1, err);
}

/* --- codecs: each fills up to cap bytes and may give fewer; 0 at the end --- */

static tb_code damaged(const feed_source *source, const char *what, tb_error *err)
{
    const char *name = source->encoding == FEED_GZIP ? "gzip" : "zstd";
    tb_code code = tb_fail(err, TB_E_BAD_INPUT, NULL,
                           "The %s data %s. Fetch the file again, or decompress what is left of it.",
                           name, what);
    if (err) err->byte = source->raw_read - (source->raw_len - source->raw_at) + 1;
    return code;
}

static tb_code pull_plain(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    size_t ahead = source->raw_len - source->raw_at;
    if (ahead == 0) return read_stored(source, buf, cap, ret_n, err);
    if (ahead > cap) ahead = cap;
    memcpy(buf, source->raw + source->raw_at, ahead);
    source->raw_at += ahead;
    *ret_n = ahead;
    return TB_OK;
}

/* After a gzip member: another one, zeros to the end (a tape's padding), or the end. */
static tb_code next_member(feed_source *source, bool *ret_end, tb_error *err)
{
    tb_code code = read_ahead(source, 2, err);
    if (code) return code;
    const unsigned char *p = (const unsigned char *)source->raw + source->raw_at;
    size_t n = source->raw_len - source->raw_at;
    *ret_end = n == 0;
    if (n == 0) return TB_OK;
    if (n >= 2 && p[0] == 0x1f && p[1] == 0x8b) return TB_OK;
    while (source->raw_at < source->raw_len) {
        for (; source->raw_at < source->raw_len; source->raw_at++)
            if (source->raw[source->raw_at])
                return damaged(source, "is followed by something else", err);
        code = refill(source, err);
        if (code) return code;
    }
    *ret_end = true;
    return TB_OK;
}

static tb_code gzip_begin(feed_source *source, bool *ret_end, tb_error *err)
{
    tb_code code = next_member(source, ret_end, err);
    if (code || *ret_end) return code;
    if (inflateReset(&source->gzip) != Z_OK) return tb_fail(err, TB_E_INTERNAL, NULL, NULL);
    source->between = false;
    return TB_OK;
}

static tb_code pull_gzip(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    z_stream *z = &source->gzip;
    z->next_out = (Bytef *)buf;
    z->avail_out = (uInt)(cap < READ_MOST ? cap : READ_MOST);
    uInt room = z->avail_out;
    while (z->avail_out == room) {
        bool end = false;
        tb_code code = source->between ? gzip_begin(source, &end, err) : refill(source, err);
        if (code) return code;
        if (end) break;
        if (source->raw_at == source->raw_len) {
            if (feed_source_stopped(source)) break;
            return damaged(source, "is cut off", err);
        }
        const size_t ahead = source->raw_len - source->raw_at;
        const uInt given = (uInt)(ahead < READ_MOST ? ahead : READ_MOST);
        z->next_in = (Bytef *)(uintptr_t)source->raw + source->raw_at;
        z->avail_in = given;
        int rc = inflate(z, Z_NO_FLUSH);
        source->raw_at += given - z->avail_in;
        if (rc == Z_MEM_ERROR) return tb_no_memory(err);
        if (rc == Z_STREAM_END) source->between = true;
        else if (rc != Z_OK && rc != Z_BUF_ERROR) return damaged(source, "is damaged", err);
    }
    *ret_n = room - z->avail_out;
    return TB_OK;
}

static tb_code pull_zstd(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    ZSTD_outBuffer out = {.dst = buf, .size = cap};
    while (out.pos == 0) {
        tb_code code = refill(source, err);
        if (code) return code;
        bool no_more = source->raw_at == source->raw_len;
        if (no_more && (source->between || feed_source_stopped(source))) break;
        ZSTD_inBuffer in = {.src = source->raw + source->raw_at,
                            .size = source->raw_len - source->raw_at};
        size_t rc = ZSTD_decompressStream(source->zstd, &out, &in);
        source->raw_at += in.pos;
        if (ZSTD_isError(rc)) {
            if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation) return tb_no_memory(err);
            if (ZSTD_getErrorCode(rc) == ZSTD_error_frameParameter_windowTooLarge)
                return tb_fail(err, TB_E_BAD_INPUT, NULL,
                               "The zstd data needs a window larger than 128 MiB, which is not taken: "
                               "pack it anew with --long=27 at most.");
            return damaged(source, "is damaged", err);
        }
        source->between = rc == 0;
        if (no_more && out.pos == 0 && !source->between)
            return damaged(source, "is cut off", err);
    }
    *ret_n = out.pos;
    return TB_OK;
}

static tb_code pull(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    if (source->encoding == FEED_GZIP) return pull_gzip(source, buf, cap, ret_n, err);
    if (source->encoding == FEED_ZSTD) return pull_zstd(source, buf, cap, ret_n, err);
    return pull_plain(source, buf, cap, ret_n, err);
}

/* --- opening --- */

static feed_encoding told_by(const char *bytes, size_t len)
{
    const unsigned char *p = (const unsigned char *)bytes;
    if (len >= 2 && p[0] == 0x1f && p[1] == 0x8b) return FEED_GZIP;
    if (len < 4) return FEED_PLAIN;
    if (p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) return FEED_ZSTD;
    if ((p[0] & 0xf0) == 0x50 && p[1] == 0x2a && p[2] == 0x4d && p[3] == 0x18) return FEED_ZSTD;
    return FEED_PLAIN;
}

static tb_code start_codec(feed_source *source, tb_error *err)
{
    source->between = true;
    if (source->codec_ready) {
        if (source->zstd) ZSTD_DCtx_reset(source->zstd, ZSTD_reset_session_only);
        return TB_OK;
    }
    if (source->encoding == FEED_GZIP && inflateInit2(&source->gzip, 15 + 16) != Z_OK)
        return tb_no_memory(err);
    if (source->encoding == FEED_ZSTD && !(source->zstd = ZSTD_createDCtx()))
        return tb_no_memory(err);
    source->codec_ready = true;
    return TB_OK;
}

static tb_code sniff(feed_source *source, feed_encoding encoding, tb_error *err)
{
    tb_code code = read_ahead(source, SNIFF_BYTES, err);
    if (code) return code;
    feed_encoding told = told_by(source->raw, source->raw_len);
    source->encoding = encoding == FEED_DETECT ? told : encoding;
    if (source->encoding != FEED_PLAIN && source->encoding != told && source->raw_len > 0)
        return damaged(source, "does not start as such", err);
    return start_codec(source, err);
}

/* room: of the buffer; 0: none. */
static feed_source *new_source(size_t room, tb_error *err)
{
    feed_source *source = calloc(1, sizeof *source);
    if (source && room) source->raw = source->buffer = malloc(room);
    if (source && (source->buffer || !room)) {
        source->fd = -1;
        source->plain_max = source->plain_end = UINT64_MAX;
        return source;
    }
    free(source);
    (void)!tb_no_memory(err);
    return NULL;
}

/* Finds out the kind of the descriptor. It may be -1, with errno. */
static tb_code take_fd(feed_source *source, int fd, tb_error *err)
{
    struct stat st;
    source->fd = fd;
    if (source->fd < 0 || fstat(source->fd, &st) != 0) {
        tb_code code = errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG
                           ? TB_E_BAD_INPUT
                           : TB_E_IO;
        return tb_fail(err, code, NULL,
                       "It cannot be opened: %s. Check the name and the permissions.",
                       strerror(errno));
    }
    source->regular = S_ISREG(st.st_mode);
    if (source->regular && !source->is_stdin) source->stored_size = (uint64_t)st.st_size;
    if (source->regular) (void)posix_fadvise(source->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return TB_OK;
}

static tb_code stored_seek(feed_source *source, uint64_t byte, tb_error *err)
{
    if (!source->buffer) {
        source->raw_at = byte < source->raw_len ? (size_t)byte : source->raw_len;
        return TB_OK;
    }
    if (lseek(source->fd, (off_t)byte, SEEK_SET) < 0)
        return tb_fail(err, TB_E_IO, NULL, "Seeking failed: %s.", strerror(errno));
    source->raw_at = source->raw_len = 0;
    source->raw_end = false;
    source->raw_read = byte;
    return TB_OK;
}

tb_code feed_source_open(const char *path, const atomic_bool *stop, feed_source **ret_source,
                         tb_error *err)
{
    feed_source *source = new_source(RAW_BYTES, err);
    if (!source) return TB_E_NOMEM;
    source->stop = stop;
    source->is_stdin = source->borrowed = strcmp(path, "-") == 0;
    int fd = source->is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    tb_code code = take_fd(source, fd, err);
    if (code == TB_OK) code = sniff(source, FEED_DETECT, err);
    if (code == TB_OK) *ret_source = source;
    else feed_source_close(source);
    return code;
}

tb_code feed_source_descriptor(int fd, const atomic_bool *stop, feed_source **ret_source,
                               tb_error *err)
{
    feed_source *source = new_source(RAW_BYTES, err);
    if (!source) return TB_E_NOMEM;
    source->stop = stop;
    source->borrowed = true;
    tb_code code = take_fd(source, fd, err);
    if (code == TB_OK) code = stored_seek(source, 0, err);
    if (code == TB_OK) code = sniff(source, FEED_DETECT, err);
    if (code == TB_OK) *ret_source = source;
    else feed_source_close(source);
    return code;
}

tb_code feed_source_memory(const void *bytes, size_t len, feed_encoding encoding,
                           uint64_t plain_max, feed_source **ret_source, tb_error *err)
{
    feed_source *source = new_source(0, err);
    if (!source) return TB_E_NOMEM;
    source->raw = bytes;
    source->raw_len = source->raw_read = source->stored_size = len;
    source->raw_end = true;
    source->plain_max = plain_max;
    tb_code code = sniff(source, encoding, err);
    if (code == TB_OK) *ret_source = source;
    else feed_source_close(source);
    return code;
}

void feed_source_close(feed_source *source)
{
    if (!source) return;
    if (source->fd >= 0 && !source->borrowed) close(source->fd);
    if (source->codec_ready && source->encoding == FEED_GZIP) inflateEnd(&source->gzip);
    ZSTD_freeDCtx(source->zstd);
    free(source->buffer);
    free(source);
}

/* --- reading --- */

tb_code feed_source_read(feed_source *source, char *buf, size_t cap, size_t *ret_n, tb_error *err)
{
    size_t have = 0;
    const bool first = source->plain_read == 0;
    const uint64_t left =
        source->plain_end > source->plain_read ? source->plain_end - source->plain_read : 0;
    if (cap > left) cap = (size_t)left;
    while (have < cap) {
        size_t n;
        tb_code code = pull(source, buf + have, cap - have, &n, err);
        if (code) return code;
        if (n == 0) break;
        have += n;
        source->plain_read += n;
        if (source->plain_read > source->plain_max)
            return tb_fail(err, TB_E_TOO_LARGE, NULL,
                           "The input is longer than %llu bytes once decompressed. Send it in "
                           "smaller pieces.",
                           (unsigned long long)source->plain_max);
    }
    *ret_n = have;
    return first ? feed_foreign_check(buf, have, err) : TB_OK;
}

bool feed_source_seekable(const feed_source *source)
{
    return source->fd < 0 || (source->regular && !source->is_stdin);
}

tb_code feed_source_seek(feed_source *source, uint64_t byte, tb_error *err)
{
    char buf[16384];
    bool plain = source->encoding == FEED_PLAIN;
    tb_code code = stored_seek(source, plain ? byte : 0, err);
    source->plain_read = plain ? byte : 0;
    if (code || plain) return code;
    code = start_codec(source, err);
    for (uint64_t left = byte; !code && left > 0;) {
        size_t n = 0, want = left < sizeof buf ? (size_t)left : sizeof buf;
        code = feed_source_read(source, buf, want, &n, err);
        if (!code && n < want)
            return tb_fail(err, TB_E_BAD_INPUT, NULL,
                           "The file became shorter while it was read. Run the command again.");
        left -= n;
    }
    return code;
}

void feed_source_limit(feed_source *source, uint64_t end)
{
    source->plain_end = end;
}

/* --- spooling --- */

static tb_code spool_failed(tb_error *err)
{
    return tb_fail(err, errno == ENOSPC ? TB_E_DISK_FULL : TB_E_IO, NULL,
                   "A temporary copy of the input failed: %s. TMPDIR names where it is made.",
                   strerror(errno));
}

bool feed_write_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, bytes, len);
        if (n < 0 && errno != EINTR) return false;
        if (n <= 0) continue;
        bytes += n;
        len -= (size_t)n;
    }
    return true;
}

tb_code feed_source_spool(feed_source *source, const char *folder, const char *ahead, size_t len,
                          tb_error *err)
{
    char buf[1 << 16];
    uint64_t size = len;
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) return spool_failed(err);
    tb_code code = feed_write_all(fd, ahead, len) ? TB_OK : spool_failed(err);
    for (size_t n = sizeof buf; !code && n == sizeof buf; size += n) {
        code = feed_source_read(source, buf, sizeof buf, &n, err);
        if (!code && !feed_write_all(fd, buf, n)) code = spool_failed(err);
    }
    if (code) {
        close(fd);
        return code;
    }
    /* the file replaces the bytes that were read */
    if (source->fd >= 0 && !source->borrowed) close(source->fd);
    if (source->codec_ready && source->encoding == FEED_GZIP) inflateEnd(&source->gzip);
    source->codec_ready = false;
    source->encoding = FEED_PLAIN;
    source->fd = fd;
    source->regular = true;
    source->is_stdin = source->borrowed = false;
    source->stored_size = size;
    return feed_source_seek(source, 0, err);
}

bool feed_source_grows(const feed_source *source)
{
    return source->encoding == FEED_PLAIN && source->regular && !source->is_stdin;
}

bool feed_source_reaches(feed_source *source, uint64_t length)
{
    struct stat st;
    if (source->encoding != FEED_PLAIN || !feed_source_seekable(source)) return true;
    if (source->fd >= 0 && source->stored_size == 0) return true; /* /proc shows 0 for all */
    if (source->fd >= 0 && length > source->stored_size && fstat(source->fd, &st) == 0 &&
        (uint64_t)st.st_size > source->stored_size)
        source->stored_size = (uint64_t)st.st_size;
    return length <= source->stored_size;
}

uint64_t feed_source_stored_read(const feed_source *source)
{
    return source->raw_read - (source->raw_len - source->raw_at);
}

uint64_t feed_source_stored_size(const feed_source *source)
{
    return source->stored_size;
}
