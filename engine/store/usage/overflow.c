/* A merge that fails leaves the sums in place, and the one that is too large has its top bit set:
 * so the slot is found after the fact, and merging itself stays a plain loop. Whose the series is
 * gets looked up only here; nobody waits for a refusal. */
#include "store/usage/overflow.h"

#include "rollup/overflow.h"
#include "store/usage/chunk.h"
#include "store/usage/landing.h"
#include "store/usage/owners.h"

#include <string.h>

static tb_metric metric_of(const tb_error *err)
{
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (strcmp(tb_metric_table[m].name, err->field) == 0) return (tb_metric)m;
    return TB_M_REQUESTS;
}

static unsigned full_slot(const tb_grid *grid, tb_metric metric)
{
    unsigned slot = 0;
    while (slot + 1 < TB_GRID_SLOTS && grid->v[metric][slot] <= TB_COUNTER_MAX)
        slot++;
    return slot;
}

static tb_code full(tb_store *store, int scope, int64_t owner, int64_t edge, tb__spot *spot,
                    tb_error *err)
{
    static const char *const kinds[] = {"Series", "Pull zone", "Account", "Load balancer"};
    char code[TB_EDGE_MAX];
    sqlite3_stmt *s;
    bool row = false;
    spot->kind = kinds[scope & 3];
    spot->id = owner;
    if (scope == TB__SCOPE_BALANCER) spot->edge = "";
    if (edge && !tb__sql_ints(store, TB__SQL_EDGE_CODE, &edge, 1, &s, NULL) &&
        !tb__step(store, s, &row, NULL) && row) {
        size_t len = (size_t)sqlite3_column_bytes(s, 0);
        spot->edge_len = len < sizeof code ? len : sizeof code;
        spot->edge = memcpy(code, sqlite3_column_text(s, 0), spot->edge_len);
        sqlite3_reset(s);
    }
    return tb__overflow(spot, metric_of(err), err);
}

tb_code tb__full_chunk(tb_store *store, tb_code code, int64_t key, const tb_grid *grid,
                       tb_error *err)
{
    const int64_t series = tb__key_series(key), index = tb__key_index(key);
    tb_error before;
    if (code != TB_E_OVERFLOW || !err) return code;
    /* A row that was put earlier may be too full as well: a day's sum is of hours. */
    const tb_code earlier = store->rows_come ? tb__chunks_land(store, &before) : TB_OK;
    if (earlier) {
        *err = before;
        return earlier;
    }
    unsigned slot = grid ? full_slot(grid, metric_of(err)) : 0;
    bool hours = tb__key_grain(key) == TB__GRAIN_HOURS;
    tb__spot spot = {.whole_day = !hours || !grid,
                     .hour = hours ? index * 24 + slot : (tb_month_first_day(index) + slot) * 24};
    int scope = 0;
    int64_t owner = series, edge = 0;
    sqlite3_stmt *s;
    bool row = false;
    if (!tb__series_write(store, NULL) && !tb__sql_ints(store, TB__SQL_SERIES_WHOSE, &series, 1, &s, NULL) &&
        !tb__step(store, s, &row, NULL) && row) {
        scope = sqlite3_column_int(s, 0);
        owner = sqlite3_column_int64(s, 1);
        edge = sqlite3_column_int64(s, 2);
        sqlite3_reset(s);
    }
    return full(store, scope, owner, edge, &spot, err);
}

tb_code tb__full_day(tb_store *store, tb_code code, tb__owned_day of, const tb_grid *grid,
                     tb_error *err)
{
    if (code != TB_E_OVERFLOW || !err) return code;
    tb__spot spot = {.hour = of.day * 24 + full_slot(grid, metric_of(err))};
    return full(store, of.scope, of.owner, of.edge, &spot, err);
}
