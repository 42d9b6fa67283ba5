/* Pieces: whether one is known already, and whether it begins at the end of the known part of its log. */
#ifndef TOLLBOOK_SERVER_FEED_PIECE_H
#define TOLLBOOK_SERVER_FEED_PIECE_H

#include "feed/feed.h"

/* In the transaction that will record options->piece. *ret_known: exactly this segment is there, of
 * *ret_lines lines. TB_E_BATCH_CONFLICT: it does not fit the known segments. */
TB_MUST_USE tb_code feed_piece_check(tb_store *store, const feed_options *options, bool *ret_known,
                                     uint64_t *ret_lines, tb_error *err);

#endif
