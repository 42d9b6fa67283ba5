/* Views: (account, zone, region) to series. One statement, which binds the account, lists an
 * owner's series with their locations; what the locations are called is remembered for as long as
 * the file does not change. */
#include "store/core/internal.h"
#include "store/usage/owners.h"

#include <stdlib.h>
#include <string.h>

/* --- names of locations --- */

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

static uint32_t seen_version(const tb_store *store)
{
    uint32_t version = 0;
    sqlite3_file_control(store->db, "main", SQLITE_FCNTL_DATA_VERSION, &version);
    return version;
}

/* Reads the names anew where the file has changed since, or may have: the version is that of the last snapshot, and
 * there may be none yet. */
tb_code tb__load_places(tb_store *store, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    const bool inside = sqlite3_txn_state(store->db, "main") != SQLITE_TXN_NONE;
    if (inside && store->places && store->places_version == seen_version(store)) return TB_OK;
    store->n_places = 0;
    tb_code code = tb__sql(store, TB__SQL_PLACES, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        code = add_place(store, s, err);
        if (code) sqlite3_reset(s);
    }
    store->places_version = seen_version(store);
    if (code) store->n_places = 0, store->places_version--;
    return code;
}

static int by_edge(const void *key, const void *place)
{
    int64_t edge = *(const int64_t *)key, other = ((const tb__place *)place)->edge;
    return edge < other ? -1 : edge > other;
}

const tb__place *tb__find_place(const tb_store *store, int64_t edge)
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
    const tb__place *place = tb__find_place(store, edge);
    if (!place) return tb_fail(err, TB_E_CORRUPT, "series", "Edge location %lld has no code.",
                               (long long)edge);
    store->located[store->n_located++] = (tb__located){edge, series, place, 0};
    return TB_OK;
}

/* Keeps only the requested location, if one is requested. */
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
    tb_code code = tb__load_places(store, err);
    if (!code)
        code = tb__sql_ints(store, zone ? TB__SQL_ZONE_SERIES : TB__SQL_ACCOUNT_SERIES, values,
                            zone ? 2 : 1, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        int64_t edge = sqlite3_column_int64(s, 0), series = sqlite3_column_int64(s, 1);
        if (zone) exists = sqlite3_column_int64(s, 2) < end_us(range);
        code = tb__check_series(edge, series, err);
        if (!code && edge == 0) all = series;
        else if (!code) code = add_located(store, edge, series, err);
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
static tb_code read_geo(tb_store *store, const tb__asked *asked, const tb_series *series,
                        tb_geo **ret_geo, size_t *ret_n, tb_error *err)
{
    tb__located *list = store->located;
    size_t n = store->n_located;
    tb_code code = TB_OK;
    if (n == 1 && series->value[TB_M_BYTES]) list->bytes = tb_series_total(series, TB_M_BYTES);
    else code = store->plane.counters->located_bytes(store, asked, series->range, err);
    if (n > 1) qsort(list, n, sizeof *list, by_name);
    return code ? code : pack_geo(list, n, ret_geo, ret_n, err);
}

tb_code tb_store_read_view(tb_store *store, const tb_view *view, tb_series *series,
                           tb_geo **ret_geo, size_t *ret_n_geo, tb_error *err)
{
    /* Rows and pending entries are read in one snapshot. */
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    tb__asked asked = {.view = view};
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) code = tb__view_resolve(store, view, NULL, series->range, &asked.whole, err);
    if (!code) code = store->plane.counters->view(store, &asked, series, err);
    if (!code && ret_geo) code = read_geo(store, &asked, series, ret_geo, ret_n_geo, err);
    if (own) tb_store_read_end(store);
    return code;
}
