#include "http/ready.h"

#include <inttypes.h>
#include <string.h>

#include "http/clock.h"
#include "http/replicas.h"

static tb_code say_full(const char *name, tb_error *err)
{
    return tb_fail(err, TB_E_DISK_FULL, NULL,
                   "%.100s: its disk, or this user's quota on it, is full, and writes are refused. Make room; what was refused can be "
                   "sent again.", name);
}

static tb_code say_read_only(const char *name, tb_error *err)
{
    return tb_fail(err, TB_E_BUSY, NULL,
                   "%.100s: its disk is read-only, and writes are refused. The system's log says why: repair it and mount it for "
                   "writing.", name);
}

tb_code ready_disk(const char *name, const disk_state *disk, tb_error *err)
{
    if (disk->read_only) return say_read_only(name, err);
    if (disk->free_bytes >= READY_FREE_BYTES) return TB_OK;
    return tb_fail(err, TB_E_DISK_FULL, NULL,
                   "%.100s: %" PRIu64 " KiB are free on its disk, and a write may need %" PRIu64 ". Make room.", name,
                   disk->free_bytes >> 10, READY_FREE_BYTES >> 10);
}

static tb_code check_file(server *s, const char *name, tb_store *reader, tb_error *err)
{
    uint64_t version;
    disk_state disk;
    if (!server_check_database(s))
        return tb_fail(err, TB_E_GONE, NULL,
                       "%.100s was moved, removed or replaced while it was open. Put the same file back, or restart this server to "
                       "serve the one that is there.", name);
    if (tb_store_version(reader, &version, err))
        return tb_fail(err, TB_E_BUSY, NULL, "%.100s cannot be read. Look at its disk, then restart this server.", name);
    return process_disk(s->options.db, &disk) ? ready_disk(name, &disk, err) : TB_OK;
}

static tb_code check_writer(server *s, const char *name, tb_error *err)
{
    switch (writer_trouble(s->writer, clock_mono_us())) {
    case TB_OK: return TB_OK;
    case TB_E_DISK_FULL: return say_full(name, err);
    case TB_E_READ_ONLY: return say_read_only(name, err);
    case TB_E_IO:
        return tb_fail(err, TB_E_BUSY, NULL,
                       "%.100s: a write failed with an I/O error, so nothing is written until a start has read what is on the disk. "
                       "This server's log says more. Look at the disk, its free space and limits, then restart this server.", name);
    default: return tb_fail(err, TB_E_BUSY, NULL, "This server is stopping.");
    }
}

static tb_code check_usage(usage_servers *usage, tb_store *reader, tb_error *err)
{
    if (!usage) return TB_OK;
    if (!usage_servers_up(usage, err) || !usage_servers_store_rows(usage, err)) return err->code;
    return tb_store_usage_look(reader, err);
}

tb_code server_ready(server *s, tb_store *reader, tb_error *err)
{
    const char *slash = strrchr(s->options.db, '/'), *name = slash ? slash + 1 : s->options.db;
    tb_code code = check_file(s, name, reader, err);
    if (!code) code = check_usage(s->options.usage, reader, err);
    const copy_server *copy = replicas_copy(s);
    if (!code && copy) code = copy_ready(copy, err);
    if (!code && replicas_role(s) == ROLE_SUPERSEDED) code = replicas_check_write(s, err);
    if (!code) code = check_writer(s, name, err);
    if (!code && atomic_load_explicit(&s->stopping, memory_order_relaxed))
        code = tb_fail(err, TB_E_BUSY, NULL, "This server is stopping.");
    /* Whatever it is: this server should be asked nothing now. */
    if (code && tb_code_http(code) != 503) code = err->code = TB_E_BUSY;
    return code;
}
