/* Searching request logs: blocks are listed by the servers, then read as those of the file are (logs/log_read.c). */
#include "store/clickhouse/lines.h"

#include <stdlib.h>

static tb_code open_listed(tb__log_cursor *cursor, const tb__log_listed *of, tb_logblock *block, tb_error *err)
{
    tb_text bytes;
    tb_code code = tb__ch_blocks_get(cursor->ctx, of->entry, &bytes, err);
    return code ? code : tb_logblock_open(block, bytes.data, bytes.len, cursor->zone, err);
}

static size_t held_bytes(const void *ctx)
{
    return ((const tb__ch_blocks *)ctx)->bytes.len;
}

static void release_blocks(void *ctx)
{
    if (ctx) tb__ch_blocks_release(ctx);
    free(ctx);
}

static const tb__log_source source = {open_listed, held_bytes, release_blocks};

static tb_code list_blocks(tb__log_cursor *c, tb_error *err)
{
    tb__ch_blocks *b = c->ctx;
    if (c->filter->from_ms >= c->filter->to_ms) return TB_OK;
    tb_code code = tb__ch_blocks_list(b, c->store, c->zone, c->filter->from_ms, c->filter->to_ms - 1, c->descending, err);
    if (code || !b->n) return code;
    c->list = calloc(b->n, sizeof *c->list);
    if (!c->list) return tb_no_memory(err);
    while (c->n_list < b->n) {
        c->list[c->n_list] = b->list[c->n_list].listed;
        c->n_list++;
    }
    return TB_OK;
}

tb_code tb__ch_log_search(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                          tb_log_cursor **ret_cursor, tb_error *err)
{
    tb__log_cursor *c = calloc(1, sizeof *c);
    if (!c) return tb_no_memory(err);
    *c = (tb__log_cursor){.head.of = &tb__clickhouse_logs, .store = store, .filter = filter, .zone = zone,
                          .descending = descending, .source = &source, .ctx = calloc(1, sizeof(tb__ch_blocks))};
    tb_code code = c->ctx ? list_blocks(c, err) : tb_no_memory(err);
    if (code) tb__log_free(&c->head);
    else *ret_cursor = &c->head;
    return code;
}
