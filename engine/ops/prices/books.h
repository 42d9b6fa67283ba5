/* Parts of the operations on price books that have files of their own. */
#ifndef TOLLBOOK_OPS_BOOKS_H
#define TOLLBOOK_OPS_BOOKS_H

#include "tollbook/issue.h"
#include "tollbook/operation.h"

/* Appends a line "- WHAT<TAB>PRICE" for each price of a that b changes, and "+ ..." with b's price. Nothing where they
 * price alike. */
TB_MUST_USE tb_code tb__book_diff(const tb_book *a, const tb_book *b, tb_buf *out, tb_error *err);

/* A billed month under a shadow: the billed amount and the amount under the shadow. */
typedef struct tb__shadow_change {
    tb_billed_month month;
    tb_decimal before, after;
    uint64_t unpriced; /* things without a price under the shadow */
    bool over;         /* it changes by more than the limit, or something has no price */
} tb__shadow_change;

/* The last `months` billed months of each account of the shadow's currency, by account. free(). */
TB_MUST_USE tb_code tb__shadow_months(tb_store *store, const tb_shadow *shadow, int64_t months,
                                      tb_billed_month **ret_months, size_t *ret_n, tb_error *err);
/* The changes of these months. limit: percent of the billed amount, up or down. free(). */
TB_MUST_USE tb_code tb__shadow_changes(const tb_ops *ops, const tb_shadow *shadow, int64_t months,
                                       tb_decimal limit, tb__shadow_change **ret_changes,
                                       size_t *ret_n, tb_error *err);

/* book activate: reading compares, writing activates if the compared data is unchanged. */
tb_code tb__book_compare(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);
tb_code tb__book_activate(tb_ops *ops, const tb_args *args, tb_reply *reply, tb_error *err);

#endif
