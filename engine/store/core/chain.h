/* Chained tables (chain.c): append-only, their ids from 1 without gaps. Their columns are
 * TB__CHAIN_NUMBERS numbers, the id first; then texts; then the chain value. */
#ifndef TOLLBOOK_STORE_CHAIN_H
#define TOLLBOOK_STORE_CHAIN_H

#include "store/core/internal.h"

#define TB__CHAIN          32
#define TB__CHAIN_NUMBERS  3
#define TB__CHAIN_FIRST    5 /* texts that the hash always holds; of those behind them see chain.c */
#define TB__LEDGER_TEXTS   7
#define TB__AUDIT_TEXTS    3

/* The chain value of the current row of `s`, after `before` (zeros for the first). false: out of memory. */
bool tb__chain_row(const uint8_t before[TB__CHAIN], sqlite3_stmt *s, int n_texts,
                   uint8_t ret[TB__CHAIN]);
/* last: the statement that gives the last row's id and chain value. No row: 0 and zeros. */
TB_MUST_USE tb_code tb__chain_last(tb_store *store, tb__statement last, int64_t *ret_id,
                                   uint8_t ret[TB__CHAIN], tb_error *err);
/* Appends a row by the statement `insert`, which takes all columns in order; numbers[0] becomes its
 * id. */
TB_MUST_USE tb_code tb__chain_add(tb_store *store, tb__statement last, tb__statement insert,
                                  int64_t numbers[TB__CHAIN_NUMBERS], const char *const *texts,
                                  int n_texts, tb_error *err);

#endif
