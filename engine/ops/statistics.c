/* View and range to JSON: read, encode. */
#include "tollbook/statistics.h"

#include <stdlib.h>

#include "tollbook/calendar.h"
#include "tollbook/charges.h"

tb_code tb_statistics_in(tb_store *store, const tb_view *view, tb_range range, tb_answer_kind kind,
                         int64_t now_us, const tb_alloc *alloc, tb_buf *out, tb_error *err)
{
    tb_series series;
    tb_geo *geo = NULL;
    tb_balance *balances = NULL;
    tb_answer answer = {.kind = kind, .series = &series};
    bool statistics = kind == TB_ANSWER_STATISTICS;
    tb_code code = tb_series_init(&series, range, tb_answer_metrics(kind), alloc, err);
    if (code) return code;
    code = tb_store_read_view(store, view, &series, statistics ? &geo : NULL, &answer.n_geo, err);
    answer.geo = geo;
    if (code == TB_OK && statistics)
        code = tb_store_balance_history(store, view->account, range, now_us, &balances,
                                        &answer.n_balances, err);
    answer.balances = balances;
    if (code == TB_OK) code = tb_answer_encode(&answer, out, err);
    free(balances);
    free(geo);
    tb_series_release(&series);
    return code;
}

tb_code tb_statistics(tb_store *store, const tb_view *view, tb_range range, tb_answer_kind kind,
                      int64_t now_us, tb_buf *out, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = tb_statistics_in(store, view, range, kind, now_us, NULL, out, err);
    tb_store_read_end(store);
    return code;
}

int64_t tb_statistics_balance_day(int64_t now_us)
{
    return tb_day_from_us(now_us - 5 * 60 * TB_US_PER_S);
}
