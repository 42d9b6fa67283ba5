/* A usage server: where counters, request logs and shield events lie that outgrow the store's own file (tb_store_options.usage). The library speaks
 * no HTTP: who opens a store hands in how statements reach the server's shards. */
#ifndef TOLLBOOK_USAGECLIENT_H
#define TOLLBOOK_USAGECLIENT_H

#include "tollbook/buf.h"

TB_API_BEGIN

/* What one shard is to do. */
typedef struct tb_usage_statement {
    size_t shard;
    const char *sql;  /* ClickHouse's */
    const void *body; /* rows, behind an INSERT */
    size_t len;       /* bytes of `body`; 0: there are none */
    bool brief;       /* the answer is expected to be below a megabyte, and may be asked for in a way that is quicker then; a longer one is
                       * right as well */
} tb_usage_statement;

typedef struct tb_usage_client {
    void *ctx;
    size_t shards;        /* one server each; in the same order at every start */
    const char *database; /* on each of them: letters, digits and underscores */
    size_t remember;      /* bytes of days that the readers of a file remember in a process; 0: none */
    /* Sends it, and appends the answer. TB_E_AWAY: the shard did not answer, or said no; whether an INSERT was done is then unknown. Rows are
     * sent once at most: what is sent twice would be counted twice. From any thread. */
    tb_code (*ask)(void *ctx, const tb_usage_statement *statement, tb_buf *answer, tb_error *err);
    /* The same for several INSERTs, side by side; after an error of one the others are still tried. Returns as soon as
     * they are on their way; the rows stay as they are until `finish` has been called with the token. NULL, as `finish`
     * is then: they are asked for one after the other. */
    tb_code (*start)(void *ctx, const tb_usage_statement *list, size_t n, void **ret_token, tb_error *err);
    /* Waits until all of them were done or have failed. Once for each start that succeeded, from the same thread. */
    tb_code (*finish)(void *ctx, void *token, tb_error *err);
} tb_usage_client;

TB_API_END

#endif
