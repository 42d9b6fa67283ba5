/* The region table: the meaning of edge codes, from the catalogue's list or the built-in one. */
#include "store/core/internal.h"

#include <stdlib.h>
#include <string.h>

tb_code tb__region_insert(tb_store *store, const tb_region *region, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(store, TB__SQL_REGION_INSERT, &s, err);
    if (code) return code;
    const char *texts[] = {region->code,      region->name,    region->billing,
                           region->continent, region->country, region->price};
    sqlite3_bind_int64(s, 1, region->id);
    for (int i = 0; i < 6; i++)
        sqlite3_bind_text(s, 2 + i, texts[i], -1, SQLITE_STATIC);
    sqlite3_bind_double(s, 8, region->latitude);
    sqlite3_bind_double(s, 9, region->longitude);
    sqlite3_bind_int(s, 10, region->latency_routing);
    return tb__run(store, s, err);
}

static void copy_text(sqlite3_stmt *s, int column, char *out, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(s, column);
    size_t len = text ? strnlen(text, size - 1) : 0;
    memcpy(out, text ? text : "", len);
    out[len] = 0;
}

static tb_code region_from(sqlite3_stmt *s, void *item, tb_error *err)
{
    tb_region *r = item;
    (void)err;
    memset(r, 0, sizeof *r);
    r->id = sqlite3_column_int64(s, 0);
    copy_text(s, 1, r->code, sizeof r->code);
    copy_text(s, 2, r->name, sizeof r->name);
    copy_text(s, 3, r->billing, sizeof r->billing);
    copy_text(s, 4, r->continent, sizeof r->continent);
    copy_text(s, 5, r->country, sizeof r->country);
    copy_text(s, 6, r->price, sizeof r->price);
    r->latitude = sqlite3_column_double(s, 7);
    r->longitude = sqlite3_column_double(s, 8);
    r->latency_routing = sqlite3_column_int(s, 9) != 0;
    return TB_OK;
}

static const tb__rows region_rows = {sizeof(tb_region), region_from, NULL};

tb_code tb_store_regions(tb_store *store, tb_region **ret_regions, size_t *ret_n, tb_error *err)
{
    return tb__collect_ints(store, TB__SQL_REGIONS, NULL, 0, &region_rows, ret_regions, ret_n, err);
}

static int by_id(const void *a, const void *b)
{
    const tb_region *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static bool same(const tb_region *a, const tb_region *b)
{
    return a->id == b->id && !strcmp(a->code, b->code) && !strcmp(a->name, b->name) &&
           !strcmp(a->billing, b->billing) && !strcmp(a->continent, b->continent) &&
           !strcmp(a->country, b->country) && !strcmp(a->price, b->price) &&
           a->latitude == b->latitude && a->longitude == b->longitude &&
           a->latency_routing == b->latency_routing;
}

static bool all_same(const tb_region *a, size_t n_a, const tb_region *b, size_t n_b)
{
    if (n_a != n_b) return false;
    for (size_t i = 0; i < n_a; i++)
        if (!same(&a[i], &b[i])) return false;
    return true;
}

tb_code tb_store_declared_regions(tb_store *store, tb_region **ret_regions, size_t *ret_n, tb_error *err)
{
    tb_code code = tb_store_regions(store, ret_regions, ret_n, err);
    if (code) return code;
    tb_region *built_in = malloc(tb_region_default_count * sizeof *built_in);
    if (!built_in) {
        free(*ret_regions);
        return tb_no_memory(err);
    }
    memcpy(built_in, tb_region_default, tb_region_default_count * sizeof *built_in);
    qsort(built_in, tb_region_default_count, sizeof *built_in, by_id);
    if (all_same(*ret_regions, *ret_n, built_in, tb_region_default_count)) {
        free(*ret_regions);
        *ret_regions = NULL;
        *ret_n = 0;
    }
    free(built_in);
    return TB_OK;
}

const tb_region *tb__regions_of(const tb_catalog *catalog, size_t *ret_n)
{
    *ret_n = catalog->has_regions ? catalog->n_regions : tb_region_default_count;
    return catalog->has_regions ? catalog->regions : tb_region_default;
}

static int by_code(const void *a, const void *b)
{
    return strcmp(((const tb_region *)a)->code, ((const tb_region *)b)->code);
}

static bool is_built_in(const tb_region *region)
{
    for (size_t i = 0; i < tb_region_default_count; i++)
        if (same(&tb_region_default[i], region)) return true;
    return false;
}

/* Of those in force and used, both ascending by id. */
static void tell_unnamed(const tb_region *regions, size_t n, const int64_t *used, size_t n_used, const tb_region *named,
                         size_t n_named, void (*each)(void *ctx, const tb_unnamed *one), void *ctx, size_t *ret_live)
{
    for (size_t i = 0; i < n; i++) {
        const tb_region *r = &regions[i];
        const bool is_used = n_used && bsearch(&r->id, used, n_used, sizeof *used, tb__by_int64);
        if (!is_used && is_built_in(r)) continue;
        ++*ret_live;
        if (!n_named || !bsearch(r, named, n_named, sizeof *named, by_code))
            each(ctx, &(tb_unnamed){TB_DECLARED_REGION, r->id, {r->code, strlen(r->code)}});
    }
}

tb_code tb__regions_unnamed(tb_store *store, const tb_catalog *catalog,
                            void (*each)(void *ctx, const tb_unnamed *one), void *ctx, size_t *ret_live, tb_error *err)
{
    size_t n_named = 0, n = 0, n_used = 0;
    const tb_region *list = tb__regions_of(catalog, &n_named);
    tb_region *stored = NULL, *named = malloc((n_named + 1) * sizeof *named);
    int64_t *used = NULL;
    if (!named) return tb_no_memory(err);
    memcpy(named, list, n_named * sizeof *named);
    qsort(named, n_named, sizeof *named, by_code);
    tb_code code = tb_store_regions(store, &stored, &n, err);
    if (!code) code = tb__list_ints(store, TB__SQL_REGIONS_USED, NULL, 0, &used, &n_used, err);
    if (!code) tell_unnamed(stored, n, used, n_used, named, n_named, each, ctx, ret_live);
    free(stored);
    free(named);
    free(used);
    return code;
}

tb_code tb__regions_replace(tb_store *store, const tb_region *regions, size_t n, bool *ret_changed,
                            tb_error *err)
{
    tb_region *stored = NULL, *sorted = malloc((n + 1) * sizeof *sorted);
    size_t n_stored = 0;
    if (!sorted) return tb_no_memory(err);
    memcpy(sorted, regions, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_id);
    tb_code code = tb_store_regions(store, &stored, &n_stored, err);
    *ret_changed = !code && !all_same(stored, n_stored, sorted, n);
    if (*ret_changed) code = tb__run_ints(store, TB__SQL_REGIONS_CLEAR, NULL, 0, err);
    for (size_t i = 0; !code && *ret_changed && i < n; i++)
        code = tb__region_insert(store, &sorted[i], err);
    if (!code && *ret_changed) code = tb__run_ints(store, TB__SQL_REGION_REMEMBER, NULL, 0, err);
    free(stored);
    free(sorted);
    return code;
}
