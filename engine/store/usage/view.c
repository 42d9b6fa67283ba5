/* Views: (account, zone, region) to series. One statement, which binds the account, lists an
 * owner's series with their locations; what the locations are called is remembered for as long as
 * the file does not change. */
#include "store/usage/batch.h"

#include <stdlib.h>
#include <string.h>

/* --- what locations are called --- */

static tb_code add_place(tb_store *store, sqlite3_stmt *s, tb_error *err)
{
    tb_code code =
        tb__grow(&store->places, store->n_places, &store->cap_places, sizeof *store->places, err);
    if (code) return code;
    tb__place *place = &store->places[store->n_places++];
    place->edge = sqlite3_column_int64(s, 0);
    place->region = sqlite3_column_int64(s, 1);
    code = tb__copy_text(s, 2, place->name, sizeof place->name, err);
    return code ? code : tb__copy_text(s, 3, place->code, sizeof place->code, err);
}

/* Reads the names anew where the file has changed since. */
static tb_code load_places(tb_store *store, tb_error *err)
{
    uint32_t version = 0;
    sqlite3_stmt *s;
    bool row = true;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    if (store->places && store->places_version == version) return TB_OK;
    store->n_places = 0;
    tb_code code = tb__sql(store, TB__SQL_PLACES, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_place(store, s, err);
        if (code) sqlite3_reset(s);
    }
    store->places_version = version;
    if (code) store->n_places = 0, store->places_version = version - 1;
    return code;
}

static int by_edge(const void *key, const void *place)
{
    int64_t edge = *(const int64_t *)key, other = ((const tb__place *)place)->edge;
    return edge < other ? -1 : edge > other;
}

static const tb__place *find_place(const tb_store *store, int64_t edge)
{
    return store->n_places
               ? bsearch(&edge, store->places, store->n_places, sizeof *store->places, by_edge)
               : NULL;
}

/* --- views --- */

tb_code tb_store_view_check(tb_store *store, const tb_view *view, tb_error *err)
{
    if (view->zone == TB_ALL) return TB_OK;
    const int64_t values[2] = {view->account, view->zone};
    int64_t found = 0;
    tb_code code = tb__int_of(store, TB__SQL_ZONE_OF_ACCOUNT, values, 2, 0, &found, err);
    return code || found ? code : tb_fail(err, TB_E_ZONE_NOT_FOUND, "PullZone", NULL);
}

static tb_code add_located(tb_store *store, int64_t edge, int64_t series, tb_error *err)
{
    tb_code code = tb__grow(&store->located, store->n_located, &store->cap_located,
                            sizeof *store->located, err);
    if (code) return code;
    const tb__place *place = find_place(store, edge);
    if (!place) return tb_fail(err, TB_E_CORRUPT, "series", "Edge location %lld has no code.",
                               (long long)edge);
    store->located[store->n_located++] = (tb__located){edge, series, place, 0};
    return TB_OK;
}

/* Leaves the one location that is asked for, if there is one. */
static void keep_asked(tb_store *store, const tb_view *view, const char *code)
{
    size_t n = 0;
    for (size_t i = 0; i < store->n_located; i++) {
        const tb__place *place = store->located[i].place;
        if (code ? strcmp(place->code, code) == 0 : place->region == view->region)
            store->located[n++] = store->located[i];
    }
    store->n_located = n;
}

static int64_t end_us(tb_range range)
{
    return (range.first + range.count) * (range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY);
}

tb_code tb__view_resolve(tb_store *store, const tb_view *view, const char *code_of, tb_range range,
                         int64_t *ret_series, tb_error *err)
{
    const int64_t values[2] = {view->account, view->zone};
    bool zone = view->zone != TB_ALL, row = true, exists = true;
    const bool part = code_of || view->region != TB_ALL;
    sqlite3_stmt *s;
    int64_t all = 0;
    store->n_located = 0;
    tb_code code = load_places(store, err);
    if (!code)
        code = tb__sql_ints(store, zone ? TB__SQL_ZONE_SERIES : TB__SQL_ACCOUNT_SERIES, values,
                            zone ? 2 : 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t edge = sqlite3_column_int64(s, 0), series = sqlite3_column_int64(s, 1);
        if (zone) exists = sqlite3_column_int64(s, 2) < end_us(range);
        if (edge == 0) all = series;
        else code = add_located(store, edge, series, err);
        if (code) sqlite3_reset(s);
    }
    if (!code && store->n_located == 0) code = tb_store_view_check(store, view, err);
    if (code) return code;
    if (!exists) all = 0, store->n_located = 0;
    if (part) keep_asked(store, view, code_of);
    bool one = store->n_located == 1 && (!all || part);
    *ret_series = one ? store->located[0].series : part ? 0 : all;
    return TB_OK;
}

tb_code tb_store_read_series(tb_store *store, const tb_view *view, tb_series *series, tb_error *err)
{
    return tb_store_read_view(store, view, series, NULL, NULL, err);
}

/* --- bytes per region --- */

static tb_code bytes_in(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    tb_series series;
    if (range.count == 0) return TB_OK;
    tb_code code = tb_series_init(&series, range, TB_METRIC_BIT(TB_M_BYTES), NULL, err);
    if (code) return code;
    code = tb__read_rows(store, id, &series, err);
    *sum += tb_series_total(&series, TB_M_BYTES);
    tb_series_release(&series);
    return code;
}

/* Whole days of an hourly range are read from the days' chunks: a twentieth of the rows. */
static tb_code bytes_over(tb_store *store, int64_t id, tb_range range, tb_u128 *sum, tb_error *err)
{
    int64_t end = range.first + range.count;
    int64_t day = tb__floor_div(range.first + 23, 24), last = tb__floor_div(end, 24);
    if (!range.hourly || day >= last) return bytes_in(store, id, range, sum, err);
    tb_range before = {range.first, (uint32_t)(day * 24 - range.first), true};
    tb_range days = {day, (uint32_t)(last - day), false};
    tb_range after = {last * 24, (uint32_t)(end - last * 24), true};
    tb_code code = bytes_in(store, id, before, sum, err);
    if (!code) code = bytes_in(store, id, days, sum, err);
    return code ? code : bytes_in(store, id, after, sum, err);
}

static int by_series(const void *a, const void *b)
{
    int64_t x = ((const tb__located *)a)->series, y = ((const tb__located *)b)->series;
    return x < y ? -1 : x > y;
}

/* What waits of the locations, within a range. */
typedef struct waiting_geo {
    tb__located *list; /* ascending by series */
    size_t n;
    tb_range range;
} waiting_geo;

static tb__located *located_at(const waiting_geo *w, int64_t series)
{
    const tb__located key = {.series = series};
    return bsearch(&key, w->list, w->n, sizeof *w->list, by_series);
}

static tb_code add_waiting(void *ctx, const tb__run_entry *entry, tb_error *err)
{
    const waiting_geo *w = ctx;
    tb__located *to = located_at(w, entry->key.owner);
    const int64_t end = w->range.first + w->range.count;
    const bool hourly = w->range.hourly;
    tb_grid grid;
    if (!to) return TB_OK;
    if (!tb__run_get_grid(entry->data, entry->len, &grid))
        return tb_fail(err, TB_E_CORRUPT, "usage_run",
                       "An entry of waiting usage is damaged; restore a backup and ingest again.");
    if (!(grid.metrics & TB_METRIC_BIT(TB_M_BYTES))) return TB_OK;
    for (uint32_t slots = grid.slots; slots; slots &= slots - 1) {
        int slot = __builtin_ctz(slots);
        int64_t at = hourly ? entry->key.index * 24 + slot : entry->key.index;
        if (at >= w->range.first && at < end) to->bytes += grid.v[TB_M_BYTES][slot];
    }
    return TB_OK;
}

/* An owner's series lie side by side, so each block of them is asked for once. */
static tb_code waiting_over(tb_store *store, waiting_geo *w, tb_error *err)
{
    const int64_t unit = w->range.hourly ? 24 : 1;
    const int64_t end = w->range.first + w->range.count - 1;
    const int64_t first = tb__floor_div(w->range.first, unit), last = tb__floor_div(end, unit);
    tb_code code = TB_OK;
    qsort(w->list, w->n, sizeof *w->list, by_series);
    for (size_t i = 0, n; !code && i < w->n; i += n) {
        const int64_t block = w->list[i].series / TB__SERIES_BLOCK;
        for (n = 1; i + n < w->n && w->list[i + n].series / TB__SERIES_BLOCK == block;)
            n++;
        const tb__run_span span = {{w->list[i].series, first}, {w->list[i + n - 1].series, last}};
        code = tb__runs_each(&store->usage->runs, TB__RUN_CHUNKS, span, add_waiting, w, err);
    }
    return code;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const tb__located *)a)->place->name, ((const tb__located *)b)->place->name);
}

/* One block: the array, then the names. Locations of one region are added up. */
static tb_code pack_geo(const tb__located *list, size_t n, tb_geo **ret_geo, size_t *ret_n,
                        tb_error *err)
{
    tb_geo *geo = malloc((n + 1) * (sizeof *geo + TB_REGION_NAME_MAX));
    if (!geo) return tb_no_memory(err);
    char *names = (char *)(geo + n);
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        if (out && strcmp(geo[out - 1].name, list[i].place->name) == 0) {
            geo[out - 1].bytes += list[i].bytes;
            continue;
        }
        char *name = names + out * TB_REGION_NAME_MAX;
        memcpy(name, list[i].place->name, TB_REGION_NAME_MAX);
        geo[out++] = (tb_geo){name, list[i].bytes};
    }
    *ret_geo = geo;
    *ret_n = out;
    return TB_OK;
}

/* A single location's bytes are the view's own, which were just read. */
static tb_code read_geo(tb_store *store, const tb_series *series, tb_geo **ret_geo, size_t *ret_n,
                        tb_error *err)
{
    tb__located *list = store->located;
    size_t n = store->n_located;
    tb_code code = TB_OK;
    if (n == 1 && series->value[TB_M_BYTES]) list->bytes = tb_series_total(series, TB_M_BYTES);
    else {
        waiting_geo waiting = {list, n, series->range};
        for (size_t i = 0; !code && i < n; i++)
            code = bytes_over(store, list[i].series, series->range, &list[i].bytes, err);
        if (!code && n && series->range.count) code = waiting_over(store, &waiting, err);
    }
    if (n > 1) qsort(list, n, sizeof *list, by_name);
    return code ? code : pack_geo(list, n, ret_geo, ret_n, err);
}

tb_code tb_store_read_view(tb_store *store, const tb_view *view, tb_series *series,
                           tb_geo **ret_geo, size_t *ret_n_geo, tb_error *err)
{
    /* Rows and what waits are read in one snapshot. */
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    int64_t id = 0;
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = tb__view_resolve(store, view, NULL, series->range, &id, err);
    if (!code) code = tb__read_chunks(store, id, series, err);
    if (!code && ret_geo) code = read_geo(store, series, ret_geo, ret_n_geo, err);
    if (own) tb_store_read_end(store);
    return code;
}
