/* Whether this server can do its work, writes included: the one answer for /readyz, `tollbook status` and the console. It is
 * asked often, by anyone: it reads what is known already, and a few facts of the file and its disk, and writes nothing. */
#ifndef TOLLBOOK_SERVER_HTTP_READY_H
#define TOLLBOOK_SERVER_HTTP_READY_H

#include "http/process.h"
#include "tollbook/store.h"

/* Free bytes below which a commit may fail: the WAL grows to 8 MiB before it is moved into the file, which takes as much
 * again. A larger batch that fails all the same is remembered by the writer. */
#define READY_FREE_BYTES (UINT64_C(16) << 20)

struct server;

/* With a reader of the calling thread. An error is one that HTTP answers with 503, and its sentence names the file, without
 * its folder, or the usage server, the cause and the remedy: it may be shown to anyone. */
TB_MUST_USE tb_code server_ready(struct server *s, tb_store *reader, tb_error *err);
/* The part of it that is about a disk, for a file of this name. */
TB_MUST_USE tb_code ready_disk(const char *name, const disk_state *disk, tb_error *err);

#endif
