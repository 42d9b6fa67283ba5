/* Where a continuous backup has its pieces from: a file beside its server, or a server. */
#ifndef TOLLBOOK_SERVER_CLI_PIECE_SOURCE_H
#define TOLLBOOK_SERVER_CLI_PIECE_SOURCE_H

#include "cli/client.h"
#include "cli/meter.h"
#include "tollbook/replica.h"

typedef struct piece_source {
    const cli_call *call;
    bool remote;
    tb_store *store; /* a reader; NULL: not open */
    client client;
    meter progress; /* of a base */
} piece_source;

/* From --db, or --server and the key: 0, or the exit status after it printed an error. */
int piece_source_open(piece_source *s, const cli_call *call);
void piece_source_close(piece_source *s);
/* Calls `each` for the pieces after this one, and waits for them at most so long, or until take_stop. TB_E_NOT_FOUND: they
 * are not kept any more, or the chain is another one. Other codes: the source cannot be read now. */
TB_MUST_USE tb_code piece_source_read(piece_source *s, const tb_piece *after, int64_t wait_ms, tb_piece_fn each, void *ctx,
                                      tb_error *err);
/* Makes a verified base of this name; *ret_last: its newest piece. On any thread, but by a source that no other thread uses. */
TB_MUST_USE tb_code piece_source_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err);

#endif
