/* Series of meters, the values of gauges as the time for which each held, and the intervals of samples. */
#include "store/money/billing.h"

#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

#define TEXTS_MAX ((size_t)1 << 30)

/* --- series --- */

void tb__meter_list_release(tb__meter_list *list)
{
    free(list->series);
    tb_buf_release(&list->texts);
    *list = (tb__meter_list){.series = NULL};
}

static tb_code add_series(sqlite3_stmt *s, tb__meter_list *list, tb_error *err)
{
    tb_code code = tb__grow(&list->series, list->n_series, &list->cap_series, sizeof *list->series, err);
    if (code) return code;
    list->series[list->n_series++] = (tb__meter_series){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1),
                                                        sqlite3_column_int64(s, 2), sqlite3_column_int64(s, 3),
                                                        list->texts.len};
    for (int i = 0; i < 1 + TB_METER_DIMENSIONS; i++) {
        const char *text = (const char *)sqlite3_column_text(s, 4 + i);
        if (!text) return tb_no_memory(err);
        tb_buf_add(&list->texts, text, strlen(text) + 1);
    }
    return tb_buf_check(&list->texts, err);
}

tb_code tb__meter_list_read(tb_store *store, sqlite3_stmt *s, tb__meter_list *list, tb_error *err)
{
    tb_code code = TB_OK;
    bool row = true;
    if (!list->texts.max) tb_buf_init(&list->texts, TEXTS_MAX, NULL);
    list->n_series = list->texts.len = 0;
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_series(s, list, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

const char *tb__meter_texts(const tb__meter_list *list, size_t i, const char *ret_dimension[TB_METER_DIMENSIONS])
{
    const char *resource = list->texts.data + list->series[i].texts, *at = resource;
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        ret_dimension[k] = at += strlen(at) + 1;
    return resource;
}

/* --- gauges --- */

static tb_code note_seen(const tb__gauge *g, int64_t at_us, uint64_t value, int64_t until_us, tb_error *err)
{
    tb__gauge_seen *seen = g->seen;
    if (!until_us) {
        seen->any = true;
        if (at_us <= g->from_us) seen->before = value;
        return TB_OK;
    }
    tb_code code = TB__GROW(seen, gaps, err);
    if (!code) seen->gaps[seen->n_gaps++] = (tb_origin_gap){at_us, until_us};
    return code;
}

tb_code tb__gauge_each(tb_store *store, const tb__gauge *g, tb__held_fn fn, void *ctx, tb_error *err)
{
    /* What was never withdrawn is gone at INT64_MAX. */
    const int64_t values[4] = {g->series, g->from_us, g->to_us, g->known == INT64_MAX ? INT64_MAX - 1 : g->known};
    tb__gauge_walk walk = {.round_up = g->round_up, .from_us = g->from_us, .fn = fn, .ctx = ctx};
    sqlite3_stmt *s;
    bool row = true;
    if (g->from_us >= g->to_us) return TB_OK;
    tb__gauge_begin(&walk);
    tb_code code = tb__sql_ints(store, TB__SQL_GAUGE_VALUES, values, 4, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const int64_t at_us = sqlite3_column_int64(s, 0), until_us = sqlite3_column_int64(s, 2);
        const uint64_t value = (uint64_t)sqlite3_column_int64(s, 1);
        code = until_us ? tb__gauge_gap(&walk, at_us, until_us, err) : tb__gauge_value(&walk, at_us, value, err);
        if (!code && g->seen) code = note_seen(g, at_us, value, until_us, err);
        if (code) sqlite3_reset(s);
    }
    return code ? code : tb__gauge_end(&walk, g->to_us, err);
}

/* --- samples --- */

tb_code tb__slots_add(tb_store *store, const tb__slots *slots, uint64_t *value, tb_error *err)
{
    const tb_range range = {slots->from_hour, slots->hours, true};
    const uint32_t metrics = ((UINT32_C(1) << slots->columns) - 1) << slots->first;
    tb_series series;
    if (!slots->series) return TB_OK;
    tb_code code = tb_series_init(&series, range, metrics, NULL, err);
    if (code) return code;
    code = store->plane.counters->series(store, slots->series, &series, err);
    for (uint32_t h = 0; !code && h < slots->hours; h++)
        for (int k = 0; k < slots->columns; k++)
            value[h * (uint32_t)slots->columns + (uint32_t)k] += series.value[slots->first + k][h];
    tb_series_release(&series);
    return code;
}
