/* A database as the sink: a piece is a transaction, as it is on a server. */
#include "cli/sinks.h"

#define THREADS_FROM ((size_t)1 << 20) /* shorter pieces are not worth a second thread */

static tb_code ask_known(void *ctx, tb_hash128 head, uint64_t from, follow_known *ret_known,
                         tb_error *err)
{
    const store_sink *s = ctx;
    tb_code code = tb_store_known_from(s->store, TB_BATCH_LOG, head, from, &ret_known->list,
                                       &ret_known->n, err);
    if (code) return code;
    return tb_store_rungs_by_head(s->store, head, &ret_known->rungs, &ret_known->n_rungs, err);
}

static tb_code take_piece(void *ctx, const feed_piece *piece, const follow_body *body,
                          feed_report *ret_report, tb_error *err)
{
    const store_sink *s = ctx;
    feed_options options = *s->options;
    options.piece = piece;
    options.alone = true;
    options.source = body->path;
    options.take_partial_line = true; /* the sender decided where the piece ends */
    options.threads = body->len < THREADS_FROM ? 1 : options.threads;
    tb_code code = cli_now(&options.now_us, err);
    if (code) return code;
    options.layout.now_ms = options.now_us / 1000;
    code = tb_store_begin(s->store, err);
    if (code) return code;
    const feed_body plain = {body->bytes, body->len, FEED_PLAIN, SIZE_MAX};
    code = feed_memory(s->store, &plain, &options, ret_report, err);
    if (code == TB_OK) code = tb_store_commit(s->store, err);
    if (code)
        tb_store_rollback(s->store);
    else
        tb_store_checkpoint(s->store, false);
    return code;
}

static int64_t retry_after_ms(void *ctx)
{
    (void)ctx;
    return 0;
}

int store_sink_open(store_sink *s, const cli_call *call, const feed_options *options)
{
    int64_t now_us;
    *s = (store_sink){.call = call, .options = options};
    s->sink = (follow_sink){s, ask_known, take_piece, retry_after_ms, NULL}; /* it is ours alone meanwhile */
    int status = cli_clock(call, &now_us);
    return status ? status : cli_open(call, true, now_us, &s->store);
}

void store_sink_close(store_sink *s)
{
    tb_store_close(s->store);
}
