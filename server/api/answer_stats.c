/* View and range to JSON: read, encode. */
#include "api/answer_stats.h"

#include <stdlib.h>

tb_code answer_stats_in(tb_store *store, const tb_view *view, tb_range range,
                        tb_answer_kind kind, const tb_alloc *alloc, tb_buf *out, tb_error *err)
{
    tb_series series;
    tb_geo *geo = NULL;
    tb_answer answer = {.kind = kind, .series = &series};
    bool wants_geo = kind == TB_ANSWER_STATISTICS;
    tb_code code = tb_series_init(&series, range, tb_answer_metrics(kind), alloc, err);
    if (code) return code;
    code = tb_store_read_view(store, view, &series, wants_geo ? &geo : NULL, &answer.n_geo, err);
    answer.geo = geo;
    if (code == TB_OK) code = tb_answer_encode(&answer, out, err);
    free(geo);
    tb_series_release(&series);
    return code;
}

tb_code answer_stats(tb_store *store, const tb_view *view, tb_range range, tb_answer_kind kind,
                     tb_buf *out, tb_error *err)
{
    tb_code code = tb_store_read_begin(store, err);
    if (code) return code;
    code = answer_stats_in(store, view, range, kind, NULL, out, err);
    tb_store_read_end(store);
    return code;
}
