/* A month's input filled with the usage of its days. */
#ifndef TOLLBOOK_CHECK_DAYS_H
#define TOLLBOOK_CHECK_DAYS_H

#include "base/arena.h"
#include "check/terms.h"

/* What was counted. */
typedef struct tb__counted {
    uint64_t cells; /* lines */
    tb_i128 bytes, requests;
} tb__counted;

/* An input and its memory: borrows the month's lists that are not of usage. */
typedef struct tb__filled {
    tb_bill_input input;
    tb__arena arena;
    tb__counted counted;
} tb__filled;

/* Fills the month's input from the texts of its days, with usage before until_us; from then on nothing counts. TB_E_DIFFERENT: usage
 * that no entry of the terms takes. TB_E_VALIDATION: the terms, or a day's text, are not as written. TB_E_NOT_FOUND: a day is
 * missing. Release on success. */
TB_MUST_USE tb_code tb__days_fill(const tb_check_parts *parts, const tb__term_month *month, int64_t until_us, tb__filled *ret,
                                  tb_error *err);
void tb__filled_release(tb__filled *filled);

#endif
