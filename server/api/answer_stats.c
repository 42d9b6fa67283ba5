/* View and range to JSON: check, read, encode. */
#include "api/answer_stats.h"

#include <stdlib.h>

static tb_code encode(tb_store *store, const tb_view *view, const tb_series *series,
                      tb_answer_kind kind, tb_buf *out, tb_error *err)
{
    tb_geo *geo = NULL;
    tb_answer answer = {.kind = kind, .series = series};
    tb_code code = TB_OK;
    if (kind == TB_ANSWER_STATISTICS)
        code = tb_store_read_geo(store, view, series->range, &geo, &answer.n_geo, err);
    if (code) return code;
    answer.geo = geo;
    code = tb_answer_encode(&answer, out, err);
    free(geo);
    return code;
}

tb_code answer_stats_in(tb_store *store, const tb_view *view, tb_range range,
                        tb_answer_kind kind, const tb_alloc *alloc, tb_buf *out, tb_error *err)
{
    tb_series series;
    tb_code code = tb_store_view_check(store, view, err);
    if (code) return code;
    code = tb_series_init(&series, range, tb_answer_metrics(kind), alloc, err);
    if (code) return code;
    code = tb_store_read_series(store, view, &series, err);
    if (code == TB_OK) code = encode(store, view, &series, kind, out, err);
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
