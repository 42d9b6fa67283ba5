/* The full check: everything stored, and every bill rated again. `verify` checks a database with it
 * and `backup` its copy, so both find the same differences. */
#ifndef TOLLBOOK_VERIFY_H
#define TOLLBOOK_VERIFY_H

#include "tollbook/store.h"

TB_API_BEGIN

/* A tb_check, in a snapshot of its own: the caller holds none. Damage that ends a part of it is one
 * more difference. */
TB_MUST_USE tb_code tb_verify(tb_store *store, tb_say say, void *ctx, uint64_t *ret_differences,
                              tb_error *err);

TB_API_END

#endif
