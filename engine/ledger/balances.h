/* The two forms of opening balances. */
#ifndef TOLLBOOK_LEDGER_BALANCES_H
#define TOLLBOOK_LEDGER_BALANCES_H

#include "tollbook/settle.h"

/* Fills the empty list, which the caller releases, also after an error. */
TB_MUST_USE tb_code tb__balances_json(const char *text, size_t len, tb_payments *list,
                                      tb_error *err);

#endif
