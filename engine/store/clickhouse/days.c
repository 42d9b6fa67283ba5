/* Each day of a series, and a zone that finds its account. */
#include "store/clickhouse/private.h"
#include "store/usage/owners.h"

/* The answer is copied first: fn may query. */
static tb_code each_of_answer(tb__ch_reader *r, tb__day_fn fn, void *ctx, tb_error *err)
{
    tb_grid grid;
    int64_t day = -1;
    tb_code code = TB_OK;
    tb_grid_clear(&grid);
    while (!code && r->at < r->end && !r->cut) {
        const int64_t hour = (int64_t)tb__ch_column(r, 4);
        if (day != hour / 24 && day >= 0) {
            code = fn(ctx, day, &grid, err);
            tb_grid_clear(&grid);
        }
        day = hour / 24;
        for (int m = 0; m < TB_METRIC_COUNT; m++) {
            const uint64_t value = tb__ch_column(r, 8);
            if (!code && value && !r->cut)
                code = tb_grid_add(&grid, (tb_metric)m, (unsigned)(hour % 24), value, err);
        }
    }
    return code || r->cut || day < 0 ? code : fn(ctx, day, &grid, err);
}

tb_code tb__ch_each_day(tb_store *store, int64_t series, tb__day_fn fn, void *ctx, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_owner w = {0, 0, 0};
    tb_code code = tb__ch_settle(store, err);
    if (!code) code = tb__ch_series_owner(store, series, &w, err);
    if (code) return code;
    const tb__ch_select q = {.keys = "h", .metrics = TB_METRIC_ALL, .of = w, .end = UINT32_MAX, .sorted = true};
    code = tb__ch_put_select(store, &q, err);
    if (!code) code = tb__ch_query(store, tb__ch_shard(store, w.scope, w.owner), err);
    if (code) return code;
    const tb_buf taken = ch->answer;
    tb_buf_init(&ch->answer, TB__CH_ANSWER_MAX, NULL);
    tb__ch_reader r = {taken.data, taken.data + taken.len, false};
    code = each_of_answer(&r, fn, ctx, err);
    tb_buf done = taken;
    tb_buf_release(&done);
    return code ? code : tb__ch_check_read(&r, err);
}

typedef struct adoption {
    tb__ch_batch *b;
    int64_t zone, account, edge;
} adoption;

static tb_code adopt_day(void *ctx, int64_t day, const tb_grid *grid, tb_error *err)
{
    adoption *a = ctx;
    const tb__late_of late = {TB__SCOPE_ZONE, a->zone, a->account, a->edge, false};
    tb_code code = tb__ch_account_put(a->b, a->account, a->edge, day, grid, err);
    return code ? code : tb__late_note(a->b->store, late, day, grid, err);
}

tb_code tb__ch_adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err)
{
    adoption a = {NULL, zone, account, 0};
    tb__owner *from = NULL;
    size_t at = 0;
    void *made = NULL;
    tb_code code = tb__ch_batch_begin(store, &made, err);
    a.b = made;
    if (!code) code = tb__owner_get(store, TB__SCOPE_ZONE, zone, &from, err);
    for (const tb__member *m; !code && (m = tb__owner_next(from, &at)) != NULL;) {
        a.edge = m->edge;
        code = tb__ch_each_day(store, m->series, adopt_day, &a, err);
    }
    if (!code) code = tb__ch_batch_end(made, INT64_MIN, err);
    tb__ch_batch_free(made);
    return code;
}
