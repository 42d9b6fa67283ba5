/* A complete account: results that need all of its months. */
#include "whatif/replay.h"

static tb_code offer_row(tb_whatif *w, size_t row, tb_error *err)
{
    const tb__row *r = &w->rows[row];
    tb_code code = TB_OK;
    for (size_t i = 0; i < w->n && !code; i++)
        if (tb__case_takes(&w->cases[i], w->currencies[r->currency].code) &&
            w->row_after[row * w->n + i] > r->before)
            code = tb__increase_offer(w, i, row, err);
    return code;
}

tb_code tb__account_close(tb_whatif *w, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t row = w->first_row; row < w->n_rows && !code; row++)
        code = offer_row(w, row, err);
    for (size_t i = 0; i < w->n && !code; i++) {
        if (w->cases[i].unpriced_now) code = tb__unpriced_list(w, i, err);
        if (!code) w->cases[i].unpriced_now = false;
    }
    tb__arena_reset(&w->scratch);
    if (code) return code;
    w->first_row = w->n_rows;
    w->first = NULL;
    w->last = &w->first;
    tb__arena_reset(&w->held);
    return TB_OK;
}
