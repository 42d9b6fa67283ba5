/* Usage servers: they hold counters, request logs and shield events that outgrow the store's own file
 * (tb_store_options.usage). The library has no HTTP client: the program provides the functions that send statements
 * to the servers' shards. */
#ifndef TOLLBOOK_USAGECLIENT_H
#define TOLLBOOK_USAGECLIENT_H

#include "tollbook/buf.h"

TB_API_BEGIN

/* A request to one shard. */
typedef struct tb_usage_statement {
    size_t shard;
    const char *sql;  /* ClickHouse's */
    const void *body; /* rows that follow an INSERT */
    size_t len;       /* bytes of `body`; 0: there are none */
    bool brief;       /* the answer is expected to be below a megabyte, so a quicker way of asking may be used; a
                       * longer answer is valid too */
} tb_usage_statement;

typedef struct tb_usage_client {
    void *ctx;
    size_t shards;        /* one server each; in the same order at every start */
    const char *database; /* on each of them: letters, digits and underscores */
    size_t remember;      /* bytes of cached days for a file's readers in one process; 0: no cache */
    int64_t address;      /* a number that tells addresses apart: a file notes it when its usage is moved there */
    /* The servers that usage is being moved to from these, or was: a store of this process uses them once its file says so.
     * NULL, or it returns NULL: none. From any thread. */
    const struct tb_usage_client *(*next)(void *ctx);
    /* Sends it and appends the answer. TB_E_AWAY: the shard did not answer, or refused; an INSERT may or may not be done
     * then. Rows are sent at most once: rows sent twice would be counted twice. From any thread. */
    tb_code (*ask)(void *ctx, const tb_usage_statement *statement, tb_buf *answer, tb_error *err);
    /* The same for several INSERTs in parallel; an error of one does not stop the others. Returns as soon as they are
     * being sent; the rows must stay valid until `finish` has been called with the token. NULL (as `finish` is then):
     * they are sent one after the other. */
    tb_code (*start)(void *ctx, const tb_usage_statement *list, size_t n, void **ret_token, tb_error *err);
    /* Returns when all of them are done or have failed. Once for each successful start, from the same thread. */
    tb_code (*finish)(void *ctx, void *token, tb_error *err);
} tb_usage_client;

TB_API_END

#endif
