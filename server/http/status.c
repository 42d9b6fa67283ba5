/* Everything here is read without waiting for a worker or the writer, so that it works for a stuck server, too. */
#include "http/status.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "http/clock.h"
#include "http/marks.h"
#include "http/process.h"

static void put_number(tb_buf *out, const char *name, uint64_t value)
{
    tb_buf_fmt(out, " %s=%" PRIu64, name, value);
}

static void put_if(tb_buf *out, const char *name, bool known, uint64_t value)
{
    if (known) put_number(out, name, value);
    else tb_buf_fmt(out, " %s=-", name);
}

/* Whole seconds between two times, if the first is known. */
static void put_age(tb_buf *out, const char *name, bool known, int64_t from_us, int64_t to_us)
{
    put_if(out, name, known, known && to_us > from_us ? (uint64_t)(to_us - from_us) / 1000000 : 0);
}

/* The size of a file beside the database itself, whatever path led to it. */
static void put_file(tb_buf *out, const char *name, const char *db, const char *suffix)
{
    char real[PATH_MAX], path[PATH_MAX + 8];
    struct stat is;
    const bool there = realpath(db, real) != NULL;
    if (there) snprintf(path, sizeof path, "%s%s", real, suffix);
    const bool known = there && stat(path, &is) == 0;
    put_if(out, name, known, known ? (uint64_t)is.st_size : 0);
}

static void put_mark(tb_buf *out, const server *s, const char *name, mark_kind which)
{
    const int64_t fixed_us = s->options.fixed_now_us;
    int64_t at_us = 0;
    const bool known = mark_read(s->options.db, which, &at_us);
    put_age(out, name, known, at_us, clock_now_us(fixed_us));
}

void status_put(server *s, tb_buf *out)
{
    const int64_t now_us = clock_mono_us();
    const int64_t committed_us = atomic_load_explicit(&s->committed_us, memory_order_relaxed);
    uint64_t value = 0;
    tb_buf_fmt(out, "version=%s", TB_VERSION);
    put_age(out, "uptime_s", true, s->start_us, now_us);
    put_number(out, "connections", front_connections(s->front));
    put_number(out, "lobby", front_pending(s->front));
    const metrics *blocks[SERVER_BLOCKS_MAX];
    put_number(out, "requests", metrics_requests(blocks, server_metrics(s, blocks), s->n_routes + 1));
    const char *working = writer_idle(s->writer) ? "idle" : "busy";
    tb_buf_fmt(out, " writer=%s", writer_alive(s->writer) ? working : "broken");
    put_number(out, "intake_queue", job_pool_queued(s->pool, LANE_PARSE));
    put_number(out, "writer_queue", writer_queued(s->writer));
    put_number(out, "data_version", atomic_load_explicit(&s->version, memory_order_relaxed));
    put_age(out, "commit_age_s", committed_us != INT64_MIN, committed_us, now_us);
    const bool gone = atomic_load_explicit(&s->gone, memory_order_relaxed);
    tb_buf_fmt(out, " store=%s", gone ? "gone" : "ok");
    put_file(out, "store_bytes", s->options.db, "");
    put_file(out, "wal_bytes", s->options.db, "-wal");
    disk_state disk = {0};
    bool known = process_disk(s->options.db, &disk);
    put_if(out, "disk_free_bytes", known, disk.free_bytes);
    known = process_read(PROCESS_RESIDENT, &value);
    put_if(out, "resident_bytes", known, value);
    known = process_read(PROCESS_FDS, &value);
    put_if(out, "open_fds", known, value);
    put_number(out, "log_dropped", accesslog_dropped(s->log));
    put_mark(out, s, "backup_age_s", MARK_BACKUP);
    put_mark(out, s, "verify_age_s", MARK_VERIFY);
}
