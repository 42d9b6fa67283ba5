/* --server URL --key KEY: the same work, sent to a running server. Each function returns the exit
 * status and prints what its twin on --db prints. */
#ifndef TOLLBOOK_SERVER_CLI_REMOTE_H
#define TOLLBOOK_SERVER_CLI_REMOTE_H

#include "cli/cli.h"
#include "feed/feed.h"
#include "tollbook/activate.h"

int remote_apply(const cli_call *call, const char *document, size_t len);
int remote_key_create(const cli_call *call, uint32_t roles);
int remote_key_revoke(const cli_call *call, int64_t id);
int remote_key_list(const cli_call *call);
/* remote_book.c */
int remote_book_add(const cli_call *call, const tb_book *book, const char *text, size_t len);
int remote_book_activate(const cli_call *call, const tb_shadow_activation *what);
int remote_book_drop(const cli_call *call);
int remote_ingest(const cli_call *call, const feed_options *options);
int remote_import(const cli_call *call, const feed_options *options);

#endif
