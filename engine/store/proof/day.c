/* An account's usage of a UTC day as text, a line a cell, fields apart by a tab:
 *
 *     zone ID REGION HOUR counter=value ...
 *     load_balancer ID HOUR requests=N
 *     meter ID RESOURCE DIMENSION DIMENSION TIME VALUE
 *
 * ascending in each of the three by the fields as they stand. Counters are the sums of metrics.h that are not 0, in its order; maxima
 * are left out, as the value before a larger one is not kept. A meter that has less than two dimensions has "" for the others; a
 * gauge has a line for each value that was reported, also for 0. A region is an edge location's code, times are RFC 3339. */
#include "store/money/billing.h"
#include "store/proof/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tollbook/calendar.h"

/* A zone's series at a location. */
typedef struct cell {
    int64_t zone, edge, series;
    const char *code;
} cell;

/* What came later than the text is of, less what was withdrawn, modulo 2^64; of one owner and location. */
typedef struct change {
    int64_t scope, owner, edge;
    tb_grid hours;
} change;

typedef struct day_text {
    tb_store *store;
    int64_t account, day, known;
    change *changes; /* by scope, owner, location */
    size_t n_changes, cap_changes;
    tb_series series; /* of one after the other */
    tb_buf *out;
} day_text;

/* --- looking back --- */

static int by_owner(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->scope != y->scope) return x->scope < y->scope ? -1 : 1;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* Rows ascend by owner and location: it is the last one, or new. */
static tb_code find_change(day_text *t, const tb__late_of *of, change **ret, tb_error *err)
{
    const change at = {.scope = of->scope, .owner = of->owner, .edge = of->edge};
    tb_code code = TB_OK;
    if (!t->n_changes || by_owner(&t->changes[t->n_changes - 1], &at) != 0) {
        code = tb__grow(&t->changes, t->n_changes, &t->cap_changes, sizeof *t->changes, err);
        if (!code) t->changes[t->n_changes++] = at;
    }
    if (!code) *ret = &t->changes[t->n_changes - 1];
    return code;
}

static tb_code add_change(day_text *t, sqlite3_stmt *s, tb_error *err)
{
    const tb__late_of of = {(int)sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), t->account, sqlite3_column_int64(s, 2), false};
    change *c = NULL;
    tb_grid hours;
    bool taken = false;
    tb_code code = tb__late_whole(sqlite3_column_blob(s, 3), (size_t)sqlite3_column_bytes(s, 3), &of, t->day, &hours, &taken, err);
    if (!code) code = find_change(t, &of, &c, err);
    if (code) return code;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        for (uint32_t h = 0; hours.metrics & TB_METRIC_BIT(m) && h < 24; h++)
            c->hours.v[m][h] += taken ? -hours.v[m][h] : hours.v[m][h];
    return TB_OK;
}

static tb_code load_changes(day_text *t, tb_error *err)
{
    const int64_t values[3] = {t->account, t->day, t->known};
    sqlite3_stmt *s;
    bool row = true;
    if (t->known == INT64_MAX) return TB_OK;
    tb_code code = tb__sql_ints(t->store, TB__SQL_PROOF_LATE_OF, values, 3, &s, err);
    while (!code && !(code = tb__step(t->store, s, &row, err)) && row) {
        code = add_change(t, s, err);
        if (code) sqlite3_reset(s);
    }
    return code;
}

static void take_change(day_text *t, const tb__late_of *of)
{
    if (!t->n_changes) return;
    const change at = {.scope = of->scope, .owner = of->owner, .edge = of->edge};
    const change *c = bsearch(&at, t->changes, t->n_changes, sizeof at, by_owner);
    for (int m = 0; c && m < TB_METRIC_COUNT; m++)
        for (uint32_t h = 0; t->series.value[m] && h < 24; h++)
            t->series.value[m][h] -= c->hours.v[m][h];
}

/* The hours of a series. of: its scope, owner and location. */
static tb_code read_hours(day_text *t, const tb__late_of *of, int64_t series, uint32_t metrics, tb_error *err)
{
    tb_series_release(&t->series);
    tb_code code = tb_series_init(&t->series, (tb_range){t->day * 24, 24, true}, metrics, NULL, err);
    if (!code) code = t->store->plane.counters->series(t->store, series, &t->series, err);
    if (!code) take_change(t, of);
    return code;
}

/* --- lines --- */

static void put_moment(int64_t us, tb_buf *out)
{
    char text[20];
    tb_time_format(us, text);
    tb_buf_fmt(out, "%.20s", text);
}

/* "name \t id \t [code \t] hour" and the counters of an hour that has any. */
static void put_hour(day_text *t, const char *name, int64_t id, const char *code, uint32_t h)
{
    bool any = false;
    for (int m = 0; m < TB_METRIC_COUNT; m++) {
        const uint64_t value = t->series.value[m] ? t->series.value[m][h] : 0;
        if (!value) continue;
        if (!any) {
            tb_buf_fmt(t->out, "%s\t%" PRId64 "\t%s%s", name, id, code, *code ? "\t" : "");
            put_moment((t->day * 24 + h) * TB_US_PER_HOUR, t->out);
        }
        any = true;
        tb_buf_fmt(t->out, "\t%s=%" PRIu64, tb_metric_table[m].name, value);
    }
    if (any) tb_buf_str(t->out, "\n");
}

/* --- zones --- */

static tb_code cell_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(cell *)item = (cell){sqlite3_column_int64(s, 0), sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2), NULL};
    return TB_OK;
}

static int by_zone_code(const void *a, const void *b)
{
    const cell *x = a, *y = b;
    if (x->zone != y->zone) return x->zone < y->zone ? -1 : 1;
    return strcmp(x->code, y->code);
}

/* Drops the series over all locations, which are sums of the others. */
static tb_code name_cells(tb_store *store, cell *cells, size_t *n, tb_error *err)
{
    size_t kept = 0;
    tb_code code = tb__load_places(store, err);
    for (size_t i = 0; !code && i < *n; i++) {
        if (!cells[i].edge) continue;
        const tb__place *place = tb__find_place(store, cells[i].edge);
        if (!place) return tb_fail(err, TB_E_CORRUPT, "series", "Edge location %" PRId64 " has no code.", cells[i].edge);
        cells[kept] = cells[i];
        cells[kept++].code = place->code;
    }
    *n = kept;
    return code;
}

static uint32_t summed_metrics(void)
{
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (tb_metric_table[m].how == TB_HOW_SUM) metrics |= TB_METRIC_BIT(m);
    return metrics;
}

static tb_code put_zones(day_text *t, tb_error *err)
{
    static const tb__rows rows = {sizeof(cell), cell_from, NULL};
    const int64_t values[3] = {t->account, INT64_MIN, INT64_MAX};
    cell *cells = NULL;
    size_t n = 0;
    tb_code code = tb__collect_ints(t->store, TB__SQL_BILLED_SERIES, values, 3, &rows, &cells, &n, err);
    if (!code) code = name_cells(t->store, cells, &n, err);
    if (!code && n > 1) qsort(cells, n, sizeof *cells, by_zone_code);
    for (size_t i = 0; !code && i < n; i++) {
        const tb__late_of of = {.scope = TB__SCOPE_ZONE, .owner = cells[i].zone, .edge = cells[i].edge};
        code = read_hours(t, &of, cells[i].series, summed_metrics(), err);
        for (uint32_t h = 0; !code && h < 24; h++)
            put_hour(t, "zone", cells[i].zone, cells[i].code, h);
    }
    free(cells);
    return code;
}

/* --- load balancers --- */

static tb_code balancer_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    (void)err;
    *(cell *)item = (cell){.zone = sqlite3_column_int64(s, 0), .series = sqlite3_column_int64(s, 1)};
    return TB_OK;
}

static tb_code put_balancers(day_text *t, tb_error *err)
{
    static const tb__rows rows = {sizeof(cell), balancer_from, NULL};
    cell *list = NULL;
    size_t n = 0;
    tb_code code = tb__collect_ints(t->store, TB__SQL_PROOF_BALANCERS, &t->account, 1, &rows, &list, &n, err);
    for (size_t i = 0; !code && i < n; i++) {
        const tb__late_of of = {.scope = TB__SCOPE_BALANCER, .owner = list[i].zone};
        code = read_hours(t, &of, list[i].series, TB_METRIC_BIT(TB_M_REQUESTS), err);
        for (uint32_t h = 0; !code && h < 24; h++)
            put_hour(t, "load_balancer", list[i].zone, "", h);
    }
    free(list);
    return code;
}

/* --- meters --- */

/* A series of a meter, and its meter. */
typedef struct metered {
    const tb_meter *meter;
    const char *resource, *dimension[TB_METER_DIMENSIONS];
    const tb__meter_series *of;
} metered;

static int by_names(const void *a, const void *b)
{
    const metered *x = a, *y = b;
    int order = strcmp(x->meter->id, y->meter->id);
    if (!order) order = strcmp(x->resource, y->resource);
    for (int k = 0; !order && k < TB_METER_DIMENSIONS; k++)
        order = strcmp(x->dimension[k], y->dimension[k]);
    return order;
}

static void put_reported(day_text *t, const metered *m, int64_t at_us, uint64_t value)
{
    tb_buf_fmt(t->out, "meter\t%s\t%s", m->meter->id, m->resource);
    for (int k = 0; k < TB_METER_DIMENSIONS; k++)
        tb_buf_fmt(t->out, "\t%s", m->dimension[k]);
    tb_buf_str(t->out, "\t");
    put_moment(at_us, t->out);
    tb_buf_fmt(t->out, "\t%" PRIu64 "\n", value);
}

/* Of several values of one moment the last counts. Moments are whole seconds for whoever rates them. */
static tb_code put_gauge(day_text *t, const metered *m, tb_error *err)
{
    const int64_t values[4] = {m->of->id, t->day * TB_US_PER_DAY, (t->day + 1) * TB_US_PER_DAY,
                               t->known == INT64_MAX ? INT64_MAX - 1 : t->known}; /* what was never withdrawn is gone at INT64_MAX */
    int64_t at_us = 0, value = -1;
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql_ints(t->store, TB__SQL_PROOF_GAUGE, values, 4, &s, err);
    while (!code && !(code = tb__step(t->store, s, &row, err)) && row) {
        const int64_t next_us = tb__floor_div(sqlite3_column_int64(s, 0), TB_US_PER_S) * TB_US_PER_S;
        if (value >= 0 && next_us != at_us) put_reported(t, m, at_us, (uint64_t)value);
        at_us = next_us;
        value = sqlite3_column_int64(s, 1);
    }
    if (!code && value >= 0) put_reported(t, m, at_us, (uint64_t)value);
    return code;
}

static tb_code put_counted(day_text *t, const metered *m, tb_error *err)
{
    const int columns = tb__meter_columns(m->meter);
    if (!m->of->series) return TB_OK;
    const tb__late_of of = {.scope = TB__SCOPE_METER, .owner = m->of->id};
    tb_code code = read_hours(t, &of, m->of->series, (UINT32_C(1) << columns) - 1, err);
    for (uint32_t h = 0; !code && h < 24; h++)
        for (int k = 0; k < columns; k++) {
            const uint64_t value = t->series.value[k][h];
            if (value) put_reported(t, m, (t->day * 24 + h) * TB_US_PER_HOUR + k * (TB_US_PER_HOUR / columns), value);
        }
    return code;
}

/* The list ascends by the meter's number. */
static tb_code find_meters(tb_store *store, const tb__meter_list *list, tb_meter *meters, metered *ret, tb_error *err)
{
    tb_code code = TB_OK;
    size_t n = 0;
    for (size_t i = 0; !code && i < list->n_series; i++) {
        const tb__meter_series *of = &list->series[i];
        if (i == 0 || list->series[i - 1].meter != of->meter) code = tb__meter_declared(store, of->meter, &meters[n++], err);
        ret[i] = (metered){.meter = &meters[n - 1], .of = of};
        ret[i].resource = tb__meter_texts(list, i, ret[i].dimension);
    }
    return code;
}

static tb_code put_listed(day_text *t, const tb__meter_list *list, tb_error *err)
{
    tb_meter *meters = malloc(list->n_series * sizeof *meters);
    metered *all = malloc(list->n_series * sizeof *all);
    tb_code code = meters && all ? find_meters(t->store, list, meters, all, err) : tb_no_memory(err);
    if (!code) qsort(all, list->n_series, sizeof *all, by_names);
    for (size_t i = 0; !code && i < list->n_series; i++)
        code = all[i].meter->kind == TB_METER_GAUGE ? put_gauge(t, &all[i], err) : put_counted(t, &all[i], err);
    free(all);
    free(meters);
    return code;
}

static tb_code put_meters(day_text *t, tb_error *err)
{
    tb__meter_list list = {.series = NULL};
    sqlite3_stmt *s;
    tb_code code = tb__sql_ints(t->store, TB__SQL_METER_SERIES_OF_ACCOUNT, &t->account, 1, &s, err);
    if (!code) code = tb__meter_list_read(t->store, s, &list, err);
    if (!code && list.n_series) code = put_listed(t, &list, err);
    tb__meter_list_release(&list);
    return code;
}

tb_code tb__proof_day_text(tb_store *store, int64_t account, int64_t day, int64_t known, tb_buf *out, tb_error *err)
{
    day_text t = {.store = store, .account = account, .day = day, .known = known, .out = out};
    tb_code code = load_changes(&t, err);
    if (!code) code = put_zones(&t, err);
    if (!code) code = put_balancers(&t, err);
    if (!code) code = put_meters(&t, err);
    tb_series_release(&t.series);
    free(t.changes);
    return code ? code : tb_buf_check(out, err);
}
