/* A ring is a byte array with two counters that only grow: the worker advances `head` after it copied a whole line in,
 * the logger advances `tail` after it wrote bytes out. The logger looks at all rings a few times a second, or again at
 * once while there was something.
 *
 * It empties a ring up to the head that it read, which is the end of a line. It switches files only between two passes
 * over the rings, so no line is cut in two. */
#include "http/accesslog.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "http/clock.h"
#include "tollbook/calendar.h"

#define RING ((uint64_t)1 << 20)
#define LINE_MAX_BYTES 1024
#define PATH_SHOWN 256 /* longest path in a line */
#define PAUSE_US 50000
#define REOPEN_US 5000000 /* how long a write to the old file may delay the switch */

typedef struct ring {
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint64_t dropped;
    char bytes[RING];
} ring;

struct accesslog {
    int fd;
    bool own;
    unsigned n;
    ring *rings;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake; /* the logger, and accesslog_reopen while it waits for the switch */
    bool stop;
    int next; /* the file to switch to; -1: none */
};

/* Writes the lines that are in the rings now. A failed write loses bytes, not the server: they count as dropped. */
static void empty_rings(accesslog *log)
{
    for (unsigned i = 0; i < log->n; i++) {
        ring *r = &log->rings[i];
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
        const uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
        while (tail != head) {
            uint64_t at = tail % RING, run = head - tail;
            if (run > RING - at) run = RING - at;
            const ssize_t n = write(log->fd, r->bytes + at, run);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
            tail += n < 0 ? run : (uint64_t)n;
            atomic_store_explicit(&r->tail, tail, memory_order_release);
        }
    }
}

static void *run_logger(void *arg)
{
    accesslog *log = arg;
    pthread_mutex_lock(&log->lock);
    while (!log->stop) {
        int64_t until = clock_mono_us() + PAUSE_US;
        struct timespec t = {until / 1000000, until % 1000000 * 1000};
        if (log->next < 0) pthread_cond_timedwait(&log->wake, &log->lock, &t);
        const int next = log->next;
        pthread_mutex_unlock(&log->lock);
        empty_rings(log);
        pthread_mutex_lock(&log->lock);
        if (next >= 0 && log->next == next) { /* the rings were emptied after it was asked for */
            close(log->fd);
            log->fd = next;
            log->next = -1;
            pthread_cond_broadcast(&log->wake);
        }
    }
    pthread_mutex_unlock(&log->lock);
    empty_rings(log);
    return NULL;
}

static accesslog *make_log(unsigned n)
{
    accesslog *log = calloc(1, sizeof *log);
    ring *rings = NULL;
    if (log && posix_memalign((void **)&rings, 64, n * sizeof *rings) == 0) {
        for (unsigned i = 0; i < n; i++) {
            atomic_init(&rings[i].head, 0);
            atomic_init(&rings[i].tail, 0);
            atomic_init(&rings[i].dropped, 0);
        }
        log->rings = rings;
        log->n = n;
        log->next = -1;
        return log;
    }
    free(log);
    return NULL;
}

tb_code accesslog_open(const char *path, unsigned n_workers, accesslog **ret_log, tb_error *err)
{
    accesslog *log = make_log(n_workers);
    if (!log) return tb_no_memory(err);
    log->own = strcmp(path, "-") != 0;
    log->fd = log->own ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : 2;
    if (log->fd < 0) {
        tb_fail(err, TB_E_IO, NULL, "The access log %s: %s.", path, strerror(errno));
        free(log->rings);
        free(log);
        return TB_E_IO;
    }
    pthread_mutex_init(&log->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&log->wake, &attr);
    pthread_condattr_destroy(&attr);
    if (pthread_create(&log->thread, NULL, run_logger, log) != 0) {
        if (log->own) close(log->fd);
        free(log->rings);
        free(log);
        return tb_fail(err, TB_E_IO, NULL, "The access log's thread does not start.");
    }
    *ret_log = log;
    return TB_OK;
}

tb_code accesslog_reopen(accesslog *log, const char *path, tb_error *err)
{
    /* Opening a pipe without a reader, or a device, must not block; a file never does. */
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    const int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0) fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    if (fd < 0) return tb_fail(err, TB_E_IO, NULL, "%s: %s.", path, strerror(errno));
    const int64_t until = clock_mono_us() + REOPEN_US;
    const struct timespec t = {until / 1000000, until % 1000000 * 1000};
    pthread_mutex_lock(&log->lock);
    log->next = fd;
    pthread_cond_broadcast(&log->wake);
    while (log->next == fd && pthread_cond_timedwait(&log->wake, &log->lock, &t) == 0)
        ;
    const bool stuck = log->next == fd;
    if (stuck) log->next = -1;
    pthread_mutex_unlock(&log->lock);
    if (!stuck) return TB_OK;
    close(fd);
    return tb_fail(err, TB_E_BUSY, NULL, "%s: a write to the old file does not end.", path);
}

static int format(const accesslog_line *line, char out[LINE_MAX_BYTES])
{
    char stamp[21] = {0}, path[PATH_SHOWN + 1];
    const size_t n = line->path_len < PATH_SHOWN ? line->path_len : PATH_SHOWN;
    tb_time_format(line->wall_us, stamp);
    for (size_t i = 0; i < n; i++) { /* bytes that JSON escapes occur only in refused requests */
        const char c = line->path[i];
        path[i] = c > 0x1f && c < 0x7f && c != '"' && c != '\\' ? c : '?';
    }
    path[n] = 0;
    return snprintf(out, LINE_MAX_BYTES,
                    "{\"time\":\"%.19s.%03dZ\",\"id\":\"%s\",\"ip\":\"%s\",\"method\":\"%s\","
                    "\"path\":\"%s\",\"status\":%u,\"bytes\":%llu,\"us\":%llu,\"account\":%lld,"
                    "\"key\":%lld}\n",
                    stamp, (int)(line->wall_us / 1000 % 1000), line->id, line->peer, line->method,
                    path, line->status, (unsigned long long)line->bytes,
                    (unsigned long long)line->duration_us, (long long)line->account,
                    (long long)line->key);
}

void accesslog_write(accesslog *log, unsigned worker, const accesslog_line *line)
{
    if (!log) return;
    char text[LINE_MAX_BYTES];
    int n = format(line, text);
    ring *r = &log->rings[worker];
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t used = head - atomic_load_explicit(&r->tail, memory_order_acquire);
    if (n <= 0 || n >= LINE_MAX_BYTES || (uint64_t)n > RING - used) {
        atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
        return;
    }
    uint64_t at = head % RING, run = RING - at;
    if (run > (uint64_t)n) run = (uint64_t)n;
    memcpy(r->bytes + at, text, run);
    memcpy(r->bytes, text + run, (uint64_t)n - run);
    atomic_store_explicit(&r->head, head + (uint64_t)n, memory_order_release);
}

uint64_t accesslog_dropped(const accesslog *log)
{
    uint64_t sum = 0;
    for (unsigned i = 0; log && i < log->n; i++)
        sum += atomic_load_explicit(&log->rings[i].dropped, memory_order_relaxed);
    return sum;
}

void accesslog_close(accesslog *log)
{
    if (!log) return;
    pthread_mutex_lock(&log->lock);
    log->stop = true;
    pthread_cond_signal(&log->wake);
    pthread_mutex_unlock(&log->lock);
    pthread_join(log->thread, NULL);
    pthread_cond_destroy(&log->wake);
    pthread_mutex_destroy(&log->lock);
    if (log->own) close(log->fd);
    free(log->rings);
    free(log);
}
