/* The contract's cap: one negative amount, which takes off what usage added after the cap's alert. */
#include "billing/amounts.h"
#include "billing/draft.h"

#include <stdio.h>

#include "tollbook/calendar.h"

#define DESCRIPTION_ROOM 48

/* What it takes off: 0 or more. */
static tb_code find_off(const tb_bill_input *in, tb_decimal lines, tb_decimal *ret, tb_error *err)
{
    tb_decimal added, above;
    *ret = TB_DECIMAL_ZERO;
    if (!in->cap.reached) return TB_OK;
    tb_code code = tb_decimal_sub(lines, in->cap.before, &added, err);
    if (!code) code = tb_decimal_sub(lines, in->contract.cap, &above, err);
    if (code) return code;
    const tb_decimal off = tb_decimal_compare(added, above) < 0 ? added : above;
    if (tb_decimal_sign(off) > 0) *ret = off;
    return TB_OK;
}

tb_code tb__bill_capped(const tb_bill_input *input, tb_decimal lines, tb_decimal *ret, tb_error *err)
{
    tb_decimal off;
    tb_code code = find_off(input, lines, &off, err);
    return code ? code : tb_decimal_sub(lines, off, ret, err);
}

tb_code tb__bill_cap(tb__draft *d, tb_line_kind kind)
{
    const tb_bill_input *in = d->in;
    const tb_decimal cap = in->contract.cap;
    const size_t last = in->n_parts - 1;
    tb_decimal lines, off;
    if (!in->cap.reached) return TB_OK;
    tb_code code = tb__sum_rounded(d, &lines);
    if (!code) code = find_off(in, lines, &off, d->err);
    if (code || tb_decimal_sign(off) == 0) return code;
    const tb_bill_tier row = {.part = (uint32_t)last,
                              .from = in->cap.before.mantissa,
                              .to = lines.mantissa,
                              .price = cap,
                              .shown = cap,
                              .amount = {-off.mantissa, off.scale}};
    code = tb__line_open(d, kind, in->account, NULL, 1);
    if (!code) code = tb__line_row(d, &row);
    if (!code) code = tb__line_close(d);
    if (code) return code;
    char *description = tb__arena_take(&d->arena, DESCRIPTION_ROOM);
    char moment[21] = "";
    if (!description) return tb_no_memory(d->err);
    tb_time_format(in->cap.at_us, moment);
    snprintf(description, DESCRIPTION_ROOM, "Spending cap, reached at %.20s", moment);
    d->line->description = description;
    d->line->quantity = 1;
    d->line->evidence.from_us = in->cap.at_us;
    d->line->evidence.to_us = in->parts[last].to_us;
    return TB_OK;
}
