/* Amounts only: a bare draft run through the same functions as a whole bill (draft.h). Its memory is reused between
 * bills. If a bare draft fails the whole bill is made, and its result is returned: an error that names its line. */
#include "billing/amounts.h"

#include "billing/draft.h"

struct tb_bill_rater {
    const tb_alloc *alloc;
    tb__draft draft; /* its arena has the memory of one bill */
    tb_bill_line line;
};

tb_code tb_bill_rater_new(const tb_alloc *alloc, tb_bill_rater **ret_rater, tb_error *err)
{
    tb_bill_rater *rater = tb_alloc_zero(alloc, 1, sizeof *rater);
    if (!rater) return tb_no_memory(err);
    rater->alloc = alloc;
    rater->draft.bare = true;
    rater->draft.bill.lines = &rater->line;
    tb__arena_init(&rater->draft.arena, alloc);
    *ret_rater = rater;
    return TB_OK;
}

void tb_bill_rater_free(tb_bill_rater *rater)
{
    if (!rater) return;
    tb__arena_release(&rater->draft.arena);
    tb_alloc_free(rater->alloc, rater, sizeof *rater);
}

/* The whole bill: its amount and errors are the ones that count. */
static tb_code rate_whole(tb_bill_rater *rater, const tb_bill_input *input, tb_decimal *ret_subtotal, bool *ret_unpriced,
                          tb_error *err)
{
    tb_bill bill;
    tb_code code = tb_bill_rate(input, rater->alloc, &bill, err);
    if (code) return code;
    *ret_subtotal = bill.subtotal;
    *ret_unpriced = bill.n_unpriced > 0;
    rater->draft.bill.counted = bill.counted;
    rater->draft.bill.commit = bill.commit;
    tb_bill_release(&bill);
    return TB_OK;
}

void tb__bill_last_counted(const tb_bill_rater *rater, tb_decimal *ret_sum, tb_decimal *ret_commit)
{
    *ret_sum = rater->draft.bill.counted;
    *ret_commit = rater->draft.bill.commit;
}

static tb_code rate(tb_bill_rater *rater, const tb_bill_input *input, tb_code (*check)(tb__draft *),
                    tb_decimal *ret_subtotal, bool *ret_unpriced, tb_error *err)
{
    tb__draft *d = &rater->draft;
    d->in = input;
    d->n_gaps = 0;
    d->credits = TB_DECIMAL_ZERO;
    d->charges = 0;
    d->bill.rounding = TB_HALF_UP;
    tb_code code = check(d);
    d->sum = (tb_decimal){0, d->bill.minor_digits};
    d->undiscounted = TB_DECIMAL_ZERO;
    if (!code) code = tb__bill_gaps(d);
    if (!code) code = tb__bill_lines(d);
    tb__arena_reset(&d->arena);
    if (code) return rate_whole(rater, input, ret_subtotal, ret_unpriced, err);
    *ret_subtotal = d->sum;
    *ret_unpriced = d->n_gaps > 0;
    return TB_OK;
}

tb_code tb_bill_subtotal(tb_bill_rater *rater, const tb_bill_input *input, tb_decimal *ret_subtotal,
                         bool *ret_unpriced, tb_error *err)
{
    return rate(rater, input, tb__bill_check, ret_subtotal, ret_unpriced, err);
}

tb_code tb__bill_subtotal_again(tb_bill_rater *rater, const tb_bill_input *input,
                                tb_decimal *ret_subtotal, bool *ret_unpriced, tb_error *err)
{
    return rate(rater, input, tb__bill_check_books, ret_subtotal, ret_unpriced, err);
}
