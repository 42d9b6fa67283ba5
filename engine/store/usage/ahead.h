/* A cursor's days, read ahead of who puts them: see ahead.c. */
#ifndef TOLLBOOK_STORE_AHEAD_H
#define TOLLBOOK_STORE_AHEAD_H

#include "store/core/internal.h"
#include "tollbook/rollup.h"

typedef struct tb__ahead tb__ahead;

TB_MUST_USE tb_code tb__ahead_new(tb_store *store, tb_rollup_cursor *cursor, tb__ahead **ret_ahead,
                                  tb_error *err);
void tb__ahead_free(tb__ahead *ahead);
/* *ret_day NULL: the end, or a failure of the cursor's. Both live until the next call. */
TB_MUST_USE tb_code tb__ahead_next(tb__ahead *ahead, const tb_rollup_day **ret_day,
                                   const tb_grid **ret_hours, tb_error *err);

#endif
