/* Usage of meters. A key of usage becomes a row of meter_series, its resource one of meter_resource; the writer remembers the
 * series that it met, as it remembers owners (owners.h). Hours then take the way of all counters (adding.c). Values of gauges
 * are rows of the table gauge, in the file whatever the backend: a value of a segment that was withdrawn stays, and is marked
 * with the version that withdrew it, so that any earlier version can be read. */
#include "store/usage/meters.h"

#include "rollup/meterkeys.h"
#include "store/usage/batch.h"
#include "store/usage/retain.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define REMEMBERED_MAX ((size_t)1 << 17) /* series: 25 MiB */
/* Fewer rows are sealed by the trigger, which costs less than to switch it off. */
#define TRIGGERED_MAX 512

/* --- remembered series --- */

struct tb__meter_cache {
    tb__meter_keys keys;
    int64_t *series; /* of each key */
    size_t cap_series;
};

void tb__meters_forget(tb_store *store)
{
    struct tb__meter_cache *c = store->usage->meters;
    if (!c) return;
    tb__meter_keys_release(&c->keys);
    free(c->series);
    free(c);
    store->usage->meters = NULL;
}

static tb_code begin_cache(tb_store *store, tb_error *err)
{
    if (store->usage->meters && store->usage->meters->keys.n > REMEMBERED_MAX) tb__meters_forget(store);
    if (store->usage->meters) return TB_OK;
    store->usage->meters = calloc(1, sizeof *store->usage->meters);
    if (!store->usage->meters) return tb_no_memory(err);
    tb__meter_keys_init(&store->usage->meters->keys);
    return TB_OK;
}

/* 0: the series is not remembered. */
static int64_t recall(const struct tb__meter_cache *c, const tb_meter_key *key)
{
    const uint32_t i = tb__meter_keys_find(&c->keys, key);
    return i == UINT32_MAX ? 0 : c->series[i];
}

static tb_code remember(struct tb__meter_cache *c, const tb_meter_key *key, int64_t series, tb_error *err)
{
    uint32_t i;
    tb_code code = tb__grow(&c->series, c->keys.n, &c->cap_series, sizeof *c->series, err);
    if (!code) code = tb__meter_keys_add(&c->keys, key, &i, err);
    if (!code) c->series[i] = series;
    return code;
}

/* --- resources and series --- */

static void bind_text(sqlite3_stmt *s, int at, const char *text)
{
    sqlite3_bind_text(s, at, text, -1, SQLITE_STATIC);
}

tb_code tb_store_meter_account(tb_store *store, int64_t account, bool *ret_declared, int64_t *ret_resources, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(store, TB__SQL_METER_ACCOUNT, &account, 1, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_declared = row && sqlite3_column_int(s, 0) != 0;
    *ret_resources = row ? sqlite3_column_int64(s, 1) : 0;
    sqlite3_reset(s);
    return TB_OK;
}

tb_code tb_store_meter_resource(tb_store *store, const char *noun, const char *resource, int64_t *ret_account,
                                int64_t *ret_segment, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(store, TB__SQL_METER_RESOURCE, &s, err);
    if (code) return code;
    bind_text(s, 1, noun);
    bind_text(s, 2, resource);
    code = tb__step(store, s, &row, err);
    if (code) return code;
    *ret_account = row ? sqlite3_column_int64(s, 0) : 0;
    *ret_segment = row ? sqlite3_column_int64(s, 1) : 0;
    sqlite3_reset(s);
    return TB_OK;
}

static tb_code add_resource(tb_store *store, const tb_meter_key *key, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__segment_id(store, err);
    if (!code) code = tb__sql(store, TB__SQL_METER_RESOURCE_ADD, &s, err);
    if (code) return code;
    bind_text(s, 1, key->noun);
    bind_text(s, 2, key->resource);
    sqlite3_bind_int64(s, 3, key->account);
    sqlite3_bind_int64(s, 4, store->next_segment);
    return tb__run(store, s, err);
}

/* The statement with what names a series bound to ?1 to ?5. */
static tb_code name_series(tb_store *store, tb__statement id, const tb_meter_key *key, sqlite3_stmt **ret, tb_error *err)
{
    const int64_t of[2] = {key->account, key->meter};
    tb_code code = tb__sql_ints(store, id, of, 2, ret, err);
    if (code) return code;
    bind_text(*ret, 3, key->resource);
    bind_text(*ret, 4, key->dimension[0]);
    bind_text(*ret, 5, key->dimension[1]);
    return TB_OK;
}

/* *ret_series 0: there is none, and `begin` is false. */
static tb_code find_series(tb_store *store, const tb_meter_key *key, bool begin, int64_t *ret_series, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret_series = recall(store->usage->meters, key);
    if (*ret_series) return TB_OK;
    tb_code code = name_series(store, TB__SQL_METER_SERIES, key, &s, err);
    if (!code) code = tb__step(store, s, &row, err);
    if (code) return code;
    if (row) {
        *ret_series = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
        return remember(store->usage->meters, key, *ret_series, err);
    }
    if (!begin) return TB_OK;
    code = tb__next_id(store, TB__SQL_METER_SERIES_NEXT, "meter_series", ret_series, err);
    if (!code) code = name_series(store, TB__SQL_METER_SERIES_ADD, key, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 6, *ret_series);
    code = tb__run(store, s, err);
    return code ? code : remember(store->usage->meters, key, *ret_series, err);
}

/* Whether a key's resource belongs to another account. One that is remembered, or new, does not. */
static tb_code look_for_others(tb_store *store, const tb_meter_usage *parts, size_t n, bool *ret_stale, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_stale = false;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !code && k < parts[i].n_keys; k++) {
            const tb_meter_key *key = &parts[i].keys[k];
            int64_t account = 0, segment = 0;
            if (recall(store->usage->meters, key)) continue;
            code = tb_store_meter_resource(store, key->noun, key->resource, &account, &segment, err);
            *ret_stale |= !code && account && account != key->account;
        }
    return code;
}

static tb_code begin_series(tb_store *store, const tb_meter_key *key, int64_t *ret_series, tb_error *err)
{
    int64_t account = 0, segment = 0;
    *ret_series = recall(store->usage->meters, key);
    if (*ret_series) return TB_OK;
    tb_code code = tb_store_meter_resource(store, key->noun, key->resource, &account, &segment, err);
    if (!code && !account) code = add_resource(store, key, err);
    if (!code && account && account != key->account)
        code = tb_fail(err, TB_E_INTERNAL, "account", "A resource has two accounts in one input.");
    return code ? code : find_series(store, key, true, ret_series, err);
}

static int by_name(const void *a, const void *b)
{
    const tb_meter_key *x = *(const tb_meter_key *const *)a, *y = *(const tb_meter_key *const *)b;
    if (x->meter != y->meter) return x->meter < y->meter ? -1 : 1;
    if (x->account != y->account) return x->account < y->account ? -1 : 1;
    const int order = strcmp(x->resource, y->resource);
    return order ? order : memcmp(x->dimension, y->dimension, sizeof x->dimension);
}

/* In an order that does not depend on which thread met which key: ids are the same in any number of threads. */
static tb_code begin_new_series(tb_store *store, const tb_meter_usage *parts, size_t n, tb_error *err)
{
    const tb_meter_key **fresh = NULL;
    size_t n_fresh = 0, cap = 0;
    int64_t series = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; !code && k < parts[i].n_keys; k++) {
            if (recall(store->usage->meters, &parts[i].keys[k])) continue;
            code = tb__grow(&fresh, n_fresh, &cap, sizeof *fresh, err);
            if (!code) fresh[n_fresh++] = &parts[i].keys[k];
        }
    if (n_fresh) qsort(fresh, n_fresh, sizeof *fresh, by_name);
    for (size_t i = 0; !code && i < n_fresh; i++)
        code = begin_series(store, fresh[i], &series, err);
    free(fresh);
    return code;
}

/* --- parts --- */

static void free_parts(tb__metered *list, size_t n)
{
    for (size_t i = 0; list && i < n; i++)
        free((int64_t *)(uintptr_t)list[i].series);
    free(list);
}

/* Each part with the series of its keys; 0: there is none. */
static tb_code list_parts(tb_store *store, const tb_meter_usage *parts, size_t n, tb__metered **ret, tb_error *err)
{
    tb__metered *list = *ret = calloc(n + 1, sizeof *list);
    tb_code code = list ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        int64_t *series = calloc(parts[i].n_keys + 1, sizeof *series);
        if (!series) return tb_no_memory(err);
        list[i] = (tb__metered){&parts[i], series};
        for (size_t k = 0; !code && k < parts[i].n_keys; k++)
            code = find_series(store, &parts[i].keys[k], false, &series[k], err);
    }
    return code;
}

/* --- values of gauges --- */

typedef struct value {
    int64_t series, at_us;
    uint64_t order;
    int64_t value;
} value;

static int by_moment(const void *a, const void *b)
{
    const value *x = a, *y = b;
    if (x->series != y->series) return x->series < y->series ? -1 : 1;
    if (x->at_us != y->at_us) return x->at_us < y->at_us ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* Ascending; of those of one moment the last. */
static tb_code sort_values(const tb__metered *parts, size_t n, value **ret, size_t *ret_n, tb_error *err)
{
    size_t all = 0, kept = 0;
    for (size_t i = 0; i < n; i++)
        all += parts[i].usage->n_values;
    value *list = malloc((all + 1) * sizeof *list);
    if (!list) return tb_no_memory(err);
    for (size_t i = 0, at = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].usage->n_values; k++) {
            const tb_meter_value *v = &parts[i].usage->values[k];
            list[at++] = (value){parts[i].series[v->key], v->at_us, v->order, (int64_t)v->value};
        }
    if (all) qsort(list, all, sizeof *list, by_moment);
    for (size_t i = 0; i < all; i++) {
        const bool later = i + 1 < all && list[i + 1].series == list[i].series && list[i + 1].at_us == list[i].at_us;
        if (!later) list[kept++] = list[i];
    }
    *ret = list;
    *ret_n = kept;
    return TB_OK;
}

/* With the trigger, also where the input brought a value of the moment before. */
static tb_code put_value(tb_store *store, const value *v, int64_t version, tb_error *err)
{
    const int64_t columns[5] = {v->series, v->at_us, store->next_segment, v->value, version};
    return tb__run_ints(store, TB__SQL_GAUGE_PUT, columns, 5, err);
}

/* The trigger, switched off, is stood in for: the rows come with their seals, and the table's head is told once of all. Those
 * of moments that are there stay behind at the list's beginning. */
static tb_code insert_many(tb_store *store, value *list, size_t n, int64_t version, size_t *ret_left, tb_error *err)
{
    uint64_t seals = 0;
    int64_t added = 0;
    *ret_left = 0;
    tb_code code = tb__triggers_off(store, err);
    for (size_t i = 0; !code && i < n; i++) {
        const value *v = &list[i];
        int64_t columns[7] = {v->series, v->at_us, store->next_segment, v->value, version, INT64_MAX, 0};
        columns[6] = tb__seal_numbers("gauge", columns, 6);
        code = tb__run_ints(store, TB__SQL_GAUGE_ADD, columns, 7, err);
        if (code) break;
        if (sqlite3_changes(store->db) == 1) {
            seals += (uint64_t)columns[6];
            added++;
        } else {
            list[(*ret_left)++] = *v;
        }
    }
    tb__triggers_on(store);
    const int64_t counted[2] = {added, (int64_t)(seals & TB__SEAL_BITS)};
    return code ? code : tb__run_ints(store, TB__SQL_GAUGE_SEALED, counted, 2, err);
}

/* A value holds until the next one, so it counts for its own month and for later ones. */
static tb_code add_values(tb_store *store, const tb__metered *parts, size_t n, tb_error *err)
{
    int64_t version = 0, newest = INT64_MIN, oldest = INT64_MAX;
    size_t n_values = 0;
    value *list = NULL;
    tb_code code = sort_values(parts, n, &list, &n_values, err);
    if (!code && n_values) code = tb__next_id(store, TB__SQL_VERSION_NEXT, "meta", &version, err);
    if (!code && n_values) code = tb__segment_id(store, err);
    for (size_t i = 0; i < n_values; i++) {
        if (list[i].at_us > newest) newest = list[i].at_us;
        if (list[i].at_us < oldest) oldest = list[i].at_us;
    }
    if (!code && n_values >= TRIGGERED_MAX) code = insert_many(store, list, n_values, version, &n_values, err);
    for (size_t i = 0; !code && i < n_values; i++)
        code = put_value(store, &list[i], version, err);
    free(list);
    if (code || newest == INT64_MIN) return code;
    if (tb_hour_from_us(newest) > store->segment_newest) store->segment_newest = tb_hour_from_us(newest);
    return tb__late_gauges(store, store->next_segment, oldest, err);
}

/* --- the whole --- */

static bool has_hours(const tb_meter_usage *parts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (tb_rollup_groups(parts[i].hours)) return true;
    return false;
}

tb_code tb_store_add_meters(tb_store *store, const tb_meter_usage *parts, size_t n, bool *ret_stale, tb_error *err)
{
    tb__metered *list = NULL;
    tb_code code = begin_cache(store, err);
    if (!code) code = look_for_others(store, parts, n, ret_stale, err);
    if (code || *ret_stale) return code;
    store->dirty = store->billing_stale = true;
    code = begin_new_series(store, parts, n, err);
    if (!code) code = list_parts(store, parts, n, &list, err);
    if (!code) code = add_values(store, list, n, err);
    if (!code && has_hours(parts, n)) code = tb__metered_add(store, list, n, err);
    free_parts(list, n);
    return code;
}

static tb_code check_there(const tb__metered *parts, size_t n, tb_error *err)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].usage->n_keys; k++)
            if (!parts[i].series[k])
                return tb_fail(err, TB_E_WITHDRAWAL, NULL,
                               "Nothing was ever counted for \"%s\" by its meter with these dimensions: it is another input. "
                               "Nothing was withdrawn.",
                               parts[i].usage->keys[k].resource);
    return TB_OK;
}

/* As tb__undo_day checks a day: values of months whose hours may be gone stay. */
static tb_code check_kept(tb_store *store, const tb__metered *parts, size_t n, tb_error *err)
{
    tb_kept kept = {0, 0};
    int64_t account = 0;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++)
        for (size_t k = 0; !code && k < parts[i].usage->n_values; k++) {
            const tb_meter_value *v = &parts[i].usage->values[k];
            const tb_meter_key *key = &parts[i].usage->keys[v->key];
            if (account != key->account) code = tb__kept_of(store, TB__SCOPE_ACCOUNT, account = key->account, &kept, err);
            if (code || tb_month_from_day(tb__floor_div(v->at_us, TB_US_PER_DAY)) >= kept.hours) continue;
            code = tb_fail(err, TB_E_WITHDRAWAL, NULL,
                           "%s \"%s\": usage by the hour of a month of its values was let go (retain), so nothing of it can be "
                           "withdrawn. Correct what was billed with `ledger adjust`. Nothing was withdrawn.",
                           key->noun, key->resource);
        }
    return code;
}

tb_code tb_store_withdraw_meters(tb_store *store, const tb_meter_usage *parts, size_t n, int64_t segment, tb_error *err)
{
    tb__metered *list = NULL;
    int64_t gone[2] = {segment, 0};
    tb_code code = begin_cache(store, err);
    store->dirty = store->billing_stale = true;
    if (!code) code = list_parts(store, parts, n, &list, err);
    if (!code) code = check_there(list, n, err);
    if (!code) code = check_kept(store, list, n, err);
    if (!code) code = tb__next_id(store, TB__SQL_VERSION_NEXT, "meta", &gone[1], err);
    if (!code) code = tb__run_ints(store, TB__SQL_GAUGE_GONE, gone, 2, err);
    if (!code && sqlite3_changes(store->db)) code = tb__late_gauges(store, segment, INT64_MIN, err);
    if (!code && has_hours(parts, n)) code = tb__metered_subtract(store, list, n, err);
    free_parts(list, n);
    return code;
}
