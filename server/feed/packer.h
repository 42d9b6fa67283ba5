/* A packer: pieces of a log as cells (tollbook/batches.h), for a server that asks for them.
 *
 * It remembers which zones and hostnames the server has granted. Lines of others are sent as they are, with the question
 * whether these are granted. One thread. */
#ifndef TOLLBOOK_SERVER_FEED_PACKER_H
#define TOLLBOOK_SERVER_FEED_PACKER_H

#include "tollbook/buf.h"
#include "tollbook/intake.h"

typedef struct feed_packer feed_packer;

/* The layout is borrowed. NULL: out of memory. */
feed_packer *feed_packer_new(const tb_log_layout *layout);
void feed_packer_free(feed_packer *packer); /* NULL is fine */
/* Appends the cells of whole lines to out. bytes: TB_INTAKE_SLACK more can be read. *ret_packed false: these
 * lines are to be sent as they are. */
TB_MUST_USE tb_code feed_packer_pack(feed_packer *packer, const char *bytes, size_t len, int64_t now_ms,
                                     tb_buf *out, bool *ret_packed, tb_error *err);
/* Grants the key at this index among those that the last piece requested. */
TB_MUST_USE tb_code feed_packer_grant(feed_packer *packer, size_t place, tb_error *err);
/* Forgets all that was granted. */
void feed_packer_forget(feed_packer *packer);

#endif
