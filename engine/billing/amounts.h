/* Amounts of the same month again and again, for rooms that replay (bill.h, tb_bill_rater). */
#ifndef TOLLBOOK_BILLING_AMOUNTS_H
#define TOLLBOOK_BILLING_AMOUNTS_H

#include "base/arena.h"
#include "tollbook/bill.h"

/* Copies an input's lists into the arena, with all that they point to but books and their fees. The parts and the fees
 * may be changed through *ret_parts and *ret_fees, which may be NULL. False: no memory. */
TB_MUST_USE bool tb__bill_hold(tb__arena *arena, tb_bill_input *input, tb_bill_part **ret_parts, tb_bill_fee **ret_fees);

/* tb_bill_subtotal of an input that differs from the rater's last one (which it accepted) only in its parts' books
 * and in quantities of usage, which are not negative. Not checked again. */
TB_MUST_USE tb_code tb__bill_subtotal_again(tb_bill_rater *rater, const tb_bill_input *input,
                                            tb_decimal *ret_subtotal, bool *ret_unpriced,
                                            tb_error *err);

/* A month's sum of lines before its cap, less what the cap takes off. */
TB_MUST_USE tb_code tb__bill_capped(const tb_bill_input *input, tb_decimal lines, tb_decimal *ret, tb_error *err);

/* What the rater's last bill counts in the commit of a later month: see tb_bill. */
void tb__bill_last_counted(const tb_bill_rater *rater, tb_decimal *ret_sum, tb_decimal *ret_commit);

#endif
