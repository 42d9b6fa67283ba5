/* A month's input filled with the usage of its days. */
#ifndef TOLLBOOK_CHECK_USAGE_H
#define TOLLBOOK_CHECK_USAGE_H

#include "base/arena.h"
#include "check/contents.h"

/* What was counted. */
typedef struct tb__usage_counts {
    uint64_t cells; /* lines */
    tb_i128 bytes, requests;
} tb__usage_counts;

/* An input and its memory: borrows the month's lists that are not of usage. */
typedef struct tb__filled {
    tb_bill_input input;
    tb__arena arena;
    tb__usage_counts counted;
} tb__filled;

/* Fills the month's input from the texts of its days, with usage before until_us; from then on nothing counts. TB_E_DIFFERENT: usage
 * for which the terms have no entry. TB_E_VALIDATION: the terms, or a day's text, are not as written. TB_E_NOT_FOUND: a day is
 * missing. Release on success. */
TB_MUST_USE tb_code tb__fill_month(const tb__contents *c, const tb__term_month *month, int64_t until_us, tb__filled *ret,
                                  tb_error *err);
void tb__filled_release(tb__filled *filled);

#endif
