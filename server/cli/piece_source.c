#include "cli/piece_source.h"

#include <inttypes.h>
#include <string.h>

#include "cli/clocks.h"
#include "cli/take.h"

#define LOOK_MS 1000 /* how often a file is looked at */

int piece_source_open(piece_source *s, const cli_call *call)
{
    *s = (piece_source){.call = call, .remote = cli_given(call, "server")};
    return s->remote ? client_open(&s->client, call) : 0;
}

void piece_source_close(piece_source *s)
{
    tb_store_close(s->store);
    s->store = NULL;
    if (s->remote) client_close(&s->client);
}

/* --- a file --- */

static tb_code open_file(piece_source *s, tb_error *err)
{
    const tb_store_options reader = {.write = false};
    if (s->store && tb_store_still_there(s->store, NULL, err) == TB_OK) return TB_OK;
    tb_store_close(s->store);
    s->store = NULL;
    return tb_store_open(cli_text(s->call, "db"), &reader, &s->store, err);
}

static tb_code read_file(piece_source *s, const tb_piece *after, tb_piece_fn each, void *ctx, bool *ret_any, tb_error *err)
{
    tb_replication state = {.first = 0};
    *ret_any = false;
    tb_code code = open_file(s, err);
    if (!code) code = tb_store_read_begin(s->store, err);
    if (code) return code;
    code = tb_store_replication(s->store, &state, err);
    if (!code && state.last.number == 0)
        code = tb_fail(err, TB_E_AWAY, NULL, "%.200s is not replicated: serve it with --replicas.", cli_text(s->call, "db"));
    else if (!code && state.last.number == after->number && memcmp(state.last.chain, after->chain, TB_PIECE_CHAIN) != 0)
        code = tb_fail(err, TB_E_NOT_FOUND, NULL, "Piece %" PRId64 " is another one now.", after->number);
    else if (!code && state.last.number != after->number) {
        *ret_any = true;
        code = tb_store_pieces(s->store, after->number, each, ctx, err);
    }
    tb_store_read_end(s->store);
    return code;
}

/* --- both --- */

tb_code piece_source_read(piece_source *s, const tb_piece *after, int64_t wait_ms, tb_piece_fn each, void *ctx, tb_error *err)
{
    bool any;
    tb_code code = read_file(s, after, each, ctx, &any, err);
    if (!code && !any && wait_ms > 0) clock_wait(wait_ms < LOOK_MS ? wait_ms : LOOK_MS, &take_stop);
    return code;
}

tb_code piece_source_base(piece_source *s, const char *to, tb_piece *ret_last, tb_error *err)
{
    tb_code code = open_file(s, err);
    return code ? code : tb_store_backup_base(s->store, to, NULL, NULL, ret_last, err);
}
