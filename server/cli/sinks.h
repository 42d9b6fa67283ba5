/* Where `follow` ships to: a running server, or a database of which this process is the writer. */
#ifndef TOLLBOOK_SERVER_CLI_SINKS_H
#define TOLLBOOK_SERVER_CLI_SINKS_H

#include "cli/client.h"
#include "feed/packer.h"
#include "follow/follow.h"

typedef struct server_sink {
    client client;
    const feed_options *options; /* borrowed: how lines are read */
    char *packed;                /* the last body, compressed */
    size_t cap;
    bool cells;          /* the server wants them */
    feed_packer *packer; /* NULL: it never did */
    tb_buf body;         /* the last piece as cells */
    follow_sink sink;
} server_sink;

/* 0, or the exit status after it printed an error. */
int server_sink_open(server_sink *s, const cli_call *call, const feed_options *options);
void server_sink_close(server_sink *s);

typedef struct store_sink {
    const cli_call *call;
    tb_store *store;
    const feed_options *options; /* borrowed */
    follow_sink sink;
} store_sink;

int store_sink_open(store_sink *s, const cli_call *call, const feed_options *options);
void store_sink_close(store_sink *s);

#endif
