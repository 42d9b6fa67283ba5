/* --server URL --key KEY: the same work, sent to a running server. Each function returns the exit
 * status and prints what its twin on --db prints. */
#ifndef TOLLBOOK_SERVER_CLI_REMOTE_H
#define TOLLBOOK_SERVER_CLI_REMOTE_H

#include "cli/cli.h"
#include "feed/feed.h"
#include "tollbook/buf.h"

int remote_ingest(const cli_call *call, const feed_options *options);
/* The target of a piece's POST, of its lines or its cells. Terminated. */
void remote_put_piece(const tb_log_layout *layout, bool stop_on_error, const feed_piece *piece,
                      tb_buf *path);
void remote_put_cells(const tb_log_layout *layout, const feed_piece *piece, tb_buf *path);
/* The target of a withdrawal: of a piece of a log, with its rungs where its segments end, or, without a layout, of
 * usage rows. entry: the audit log's, with which the undo began; 0: it begins. Terminated. */
void remote_put_withdrawal(const tb_log_layout *layout, const feed_piece *piece, const char *source, int64_t entry,
                           tb_buf *path);
int remote_import(const cli_call *call, const feed_options *options);

#endif
