/* Pieces of a log on the wire: hashes and rungs as text, and the parameters that name a piece. */
#ifndef TOLLBOOK_SERVER_API_PIECES_H
#define TOLLBOOK_SERVER_API_PIECES_H

#include "feed/feed.h"
#include "feed/reader.h"
#include "http/query.h"

#define PIECES_HASH_TEXT 32

/* The parameters of a piece. start < 0: none is given. */
typedef struct piece_params {
    int64_t start, length, lines_before, known, behind;
    tb_text head, hash, rungs;
    bool final;
} piece_params;
#define PIECE_PARAMS_NONE {.start = -1, .length = -1, .known = -1, .behind = -1}

/* The rungs are checked, but not in *ret_piece. */
TB_MUST_USE tb_code piece_read(const piece_params *params, feed_piece *ret_piece, tb_error *err);
/* "LENGTH:HASH,LENGTH:HASH", ascending; empty: none. */
TB_MUST_USE tb_code piece_rungs(tb_text text, tb_rung ret_rungs[FEED_RUNGS_MAX], size_t *ret_n,
                                tb_error *err);
bool piece_hash(tb_text text, tb_hash128 *ret_hash);
void piece_put_hash(tb_buf *out, tb_hash128 hash);

#endif
