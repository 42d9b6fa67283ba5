/* invoice --check: what keeps a month's documents from being legal. */
#ifndef TOLLBOOK_OPS_INVOICE_CHECK_H
#define TOLLBOOK_OPS_INVOICE_CHECK_H

#include "ops/operations.h"

/* Some accounts a call where the reply is not drained; the rest is in reply->next. */
TB_MUST_USE tb_code tb__invoice_check(tb_ops *ops, const tb_args *args, tb_reply *reply,
                                      tb_error *err);

#endif
