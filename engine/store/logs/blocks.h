/* Blocks of request logs in the file: what writing, withdrawing and reading them share. */
#ifndef TOLLBOOK_STORE_LOGS_BLOCKS_H
#define TOLLBOOK_STORE_LOGS_BLOCKS_H

#include "store/core/internal.h"

/* --- join.c --- */

/* Lines of a zone, one at least, in the order of their coming. Words of older blocks join theirs. */
typedef struct tb__log_lot {
    int64_t zone;
    tb_logwords *words;
    const void *const *record;
    size_t n;
} tb__log_lot;
/* Puts them into blocks of the zone. */
TB_MUST_USE tb_code tb__log_place(tb_store *store, const tb__log_lot *lot, tb_error *err);
/* The same of a block. */
TB_MUST_USE tb_code tb__log_place_block(tb_store *store, const tb_loginfo *info, tb_text bytes,
                                        tb_error *err);

/* --- entries of the table tb__file_logs, beside those of logs.c --- */

/* log_withdraw.c */
TB_MUST_USE tb_code tb__log_take_back(tb_store *store, const tb_loginfo *info, const void *bytes,
                                      size_t len, uint64_t *removed, tb_error *err);
/* log_read.c */
TB_MUST_USE tb_code tb__log_search(tb_store *store, int64_t zone, const tb_log_filter *filter,
                                   bool descending, tb_log_cursor **ret_cursor, tb_error *err);
TB_MUST_USE tb_code tb__log_next(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
TB_MUST_USE tb_code tb__log_line(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);
size_t tb__log_bytes(const tb_log_cursor *cursor);
void tb__log_free(tb_log_cursor *cursor);

#endif
