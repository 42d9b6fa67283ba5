/* What shadow bills' writer and their check share. */
#ifndef TOLLBOOK_STORE_SHADOWS_H
#define TOLLBOOK_STORE_SHADOWS_H

#include "store/money/billing.h"
#include "tollbook/bookstore.h"

/* A row of SHADOW_BILLS. TB_E_CORRUPT where an amount is none. */
TB_MUST_USE tb_code tb__shadow_bill_from(sqlite3_stmt *s, void *ret_bill, tb_error *err);
/* A live shadow's row, 0: none has this id; and its hash. */
TB_MUST_USE tb_code tb__shadow_live(tb_store *store, const char *name, int64_t *ret_id,
                                    char ret_sha256[65], tb_error *err);

#endif
