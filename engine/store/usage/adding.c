/* Adding usage, and subtracting it (withdraw.h): the cursor's days go to the usage plane (core/plane.h), each with its
 * edge location's number and its zone's account; what comes for a month that was run is noted as late, with the sign. */
#include "rollup/grouped.h"
#include "store/core/plane.h"
#include "store/usage/cells.h"
#include "store/usage/country.h"
#include "store/usage/meters.h"
#include "store/usage/owners.h"
#include "store/usage/packed.h"
#include "store/usage/withdraw.h"
#include "tollbook/withdraw.h"

#include <stdlib.h>
#include <string.h>

/* --- edge location codes --- */

/* begin: the code gets a number where it has none; else *ret is 0. */
static tb_code edge_id(tb_store *store, const char *code, size_t len, bool begin, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row;
    *ret = 0;
    tb_code rc = tb__sql(store, TB__SQL_EDGE_BY_CODE, &s, err);
    if (!rc) sqlite3_bind_text(s, 1, code, (int)len, SQLITE_STATIC);
    if (!rc) rc = tb__step(store, s, &row, err);
    if (rc) return rc;
    if (row) {
        *ret = sqlite3_column_int64(s, 0);
        sqlite3_reset(s);
        return tb__check_id("edge", *ret, TB__EDGE_END, err);
    }
    if (!begin) return TB_OK;
    rc = tb__next_id(store, TB__SQL_EDGE_NEXT, "edge", ret, err);
    if (!rc) rc = tb__check_id("edge", *ret, TB__EDGE_END, err);
    if (!rc) rc = tb__sql(store, TB__SQL_EDGE_INSERT, &s, err);
    if (rc) return rc;
    sqlite3_bind_text(s, 1, code, (int)len, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, *ret);
    return tb__run(store, s, err);
}

/* --- countries --- */

typedef struct adding {
    tb_store *store;
    const tb__undo *undo; /* not NULL: it is subtracted */
    uint32_t *maxima;     /* of an undo: tb__undo_day */
    void *batch;
    tb_rollup_cursor *cursor;
    int64_t *edges;        /* ids, by their index in the cursor; 0: not looked up yet */
    int64_t zone, account; /* of the zone that came last */
    int64_t newest;        /* hour of the newest bucket added; INT64_MIN for none */
    const tb__metered *metered; /* the cursor is over these; NULL: over zones and load balancers */
} adding;

static tb_code add_countries(adding *a, tb_rollup_cursor *cursor, tb_error *err)
{
    tb_store *store = a->store;
    tb_code (*const put)(void *, int64_t, int64_t, const tb__country *, size_t, tb_error *) =
        a->undo ? a->undo->subtract_countries : store->plane.counters->add_countries;
    tb__country list[TB__COUNTRY_MAX];
    size_t n = 0;
    tb_rollup_country c;
    int64_t zone = 0, day = 0;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_country(cursor, &c)) {
        if (n && (c.zone != zone || c.day != day)) {
            code = put(a->batch, zone, day, list, n, err);
            n = 0;
        }
        zone = c.zone;
        day = c.day;
        list[n++] = (tb__country){c.country, c.requests, c.bytes};
        store->country_requests += c.requests;
        store->country_bytes += c.bytes;
    }
    return !code && n ? put(a->batch, zone, day, list, n, err) : code;
}

/* --- days --- */

static void count_newest(adding *a, const tb_rollup_day *day, const tb_grid *hours)
{
    if (!hours->slots) return;
    int64_t hour = day->day * 24 + 31 - __builtin_clz(hours->slots);
    if (hour > a->newest) a->newest = hour;
}

static tb_code subtract_owner(adding *a, int scope, int64_t id, int64_t edge, const tb_rollup_day *day,
                              const tb_grid *hours, tb_error *err)
{
    const char *missing = NULL;
    tb__owner *owner = NULL;
    tb_code code = tb__owner_get(a->store, scope, id, &owner, err);
    const tb__member *at = code ? NULL : tb__owner_at(owner, edge);
    if (at) code = a->undo->subtract(a->batch, owner, at, day->day, hours, &missing, err);
    else if (tb__subtracts_any(hours)) missing = "none";
    return code || !missing ? code : tb__too_little(day, missing, err);
}

/* An account that shares the zone's series has no series to subtract from. */
static tb_code subtract_account(adding *a, const tb__day_of *of, const tb_rollup_day *day, const tb_grid *hours, tb_error *err)
{
    tb__owner *account = NULL;
    tb_code code = tb__owner_get(a->store, TB__SCOPE_ACCOUNT, of->account, &account, err);
    if (code || account->shares == of->owner) return code;
    return subtract_owner(a, TB__SCOPE_ACCOUNT, of->account, of->edge, day, hours, err);
}

/* A day of a zone's edge location, and of its account; of a load balancer; or of a meter's series. late_for: the account for
 * which it may be late, 0: that of the load balancer. */
static tb_code put_day(adding *a, const tb__day_of *of, int64_t late_for, const tb_rollup_day *day, const tb_grid *hours,
                       tb_error *err)
{
    const tb__late_of late = {of->scope, of->owner, late_for, of->edge, a->undo != NULL};
    tb_code code = a->undo ? subtract_owner(a, of->scope, of->owner, of->edge, day, hours, err)
                           : a->store->plane.counters->add(a->batch, of, hours, err);
    if (!code && a->undo && of->account) code = subtract_account(a, of, day, hours, err);
    if (code || (of->scope == TB__SCOPE_ZONE && !of->account)) return code;
    return tb__late_note(a->store, late, day->day, hours, err);
}

static tb_code look_up_zone(adding *a, int64_t zone, tb_error *err)
{
    tb__owner *owner = NULL;
    if (a->zone == zone) return TB_OK;
    tb_code code = tb__owner_get(a->store, TB__SCOPE_ZONE, zone, &owner, err);
    if (code) return code;
    a->zone = zone;
    a->account = owner->account;
    return TB_OK;
}

static tb_code put_zone_day(adding *a, const tb_rollup_day *day, const tb_grid *hours, tb_error *err)
{
    int64_t *edge = &a->edges[tb__cursor_edge(a->cursor)];
    tb_code code = *edge ? TB_OK : edge_id(a->store, day->edge, day->edge_len, !a->undo, edge, err);
    if (!code) code = look_up_zone(a, day->id, err);
    if (code) return code;
    if (!*edge) return tb__too_little(day, "none", err);
    const tb__day_of of = {TB__SCOPE_ZONE, day->id, *edge, a->account, day->day};
    return put_day(a, &of, a->account, day, hours, err);
}

static tb_code put_days(adding *a, tb_error *err)
{
    tb_rollup_day day;
    tb_grid hours;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_day(a->cursor, &day, &hours)) {
        if (a->undo && !hours.slots) continue;
        const tb_meter_key *key = a->metered ? &a->metered->usage->keys[day.id - 1] : NULL;
        if (key) day.id = a->metered->series[day.id - 1];
        if (key) day.scope = TB_ROLLUP_METER;
        tb__count_sums(a->store->sums, &a->store->cells, &day, &hours);
        for (uint32_t slots = key && hours.metrics & TB_METRIC_BIT(TB__METER_COLUMN) ? hours.slots : 0; slots; slots &= slots - 1)
            a->store->metered += hours.v[TB__METER_COLUMN][__builtin_ctz(slots)];
        count_newest(a, &day, &hours);
        if (a->undo) code = tb__undo_day(a->store, &day, &hours, a->maxima, err);
        if (code) break;
        const tb__day_of whole = {.scope = tb__scope_of(&day), .owner = day.id, .day = day.day};
        code = day.scope == TB_ROLLUP_ZONE ? put_zone_day(a, &day, &hours, err)
                                           : put_day(a, &whole, key ? key->account : 0, &day, &hours, err);
    }
    return code ? code : tb_rollup_cursor_check(a->cursor, err);
}

/* --- a pack --- */

static tb_code look_up_owners(tb_store *store, const tb_usage_pack *pack, tb__owner **owner, bool *ret_stale,
                              tb_error *err)
{
    tb_code code = TB_OK;
    *ret_stale = false;
    for (size_t i = 0; !code && i < pack->n_owners; i++) {
        code = tb__owner_get(store, pack->owners[i].scope, pack->owners[i].id, &owner[i], err);
        *ret_stale |= !code && owner[i]->account != pack->owners[i].account;
    }
    return code;
}

/* All owners are asked for here, too. Edges are not met as the cursor gives them where the pack is stale. */
static tb_code look_up_places(adding *a, const tb_usage_pack *pack, tb__packed_places *places, bool *ret_stale,
                              tb_error *err)
{
    places->edge = malloc((pack->n_edges + 1) * sizeof *places->edge);
    places->owner = malloc((pack->n_owners + 1) * sizeof *places->owner);
    if (!places->edge || !places->owner) return tb_no_memory(err);
    tb_code code = look_up_owners(a->store, pack, places->owner, ret_stale, err);
    for (size_t i = 0; !code && !*ret_stale && i < pack->n_edges; i++)
        code = edge_id(a->store, pack->edges[i].code, pack->edges[i].len, true, &places->edge[i], err);
    return code;
}

static tb_code note_packed(tb_store *store, tb__late_of of, const tb_usage_pack *pack, const tb__packed_day *day,
                           tb_error *err)
{
    tb_grid hours;
    bool late = false;
    tb_code code = tb__late_look(store, day->day, &late, err);
    if (code || !late) return code;
    if (!tb__entry_get_grid(pack->bytes + day->at, day->len, &hours))
        return tb_fail(err, TB_E_CORRUPT, "usage_run", "A day of packed usage is damaged.");
    return tb__late_note(store, of, day->day, &hours, err);
}

/* What comes late is known by each zone of an account, and each load balancer. */
static tb_code note_late(tb_store *store, const tb_usage_pack *pack, const int64_t *edges, tb_error *err)
{
    const tb__packed_day *day = pack->days;
    tb_code code = TB_OK;
    for (const tb__packed_owner *of = pack->owners; !code && of < pack->owners + pack->n_owners; of++) {
        const bool zone = of->scope == TB__SCOPE_ZONE;
        const bool noted = zone ? of->account != 0 : of->scope == TB__SCOPE_BALANCER;
        for (uint32_t i = 0; !code && noted && i < of->days; i++) {
            const tb__late_of late = {of->scope, of->id, of->account, zone ? edges[day[i].edge] : 0, false};
            code = note_packed(store, late, pack, &day[i], err);
        }
        day += of->days + of->all;
    }
    return code;
}

static void count_pack(adding *a, const tb_usage_pack *pack)
{
    tb_store *store = a->store;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        store->sums[m] += pack->sums[m];
    store->cells += pack->cells;
    store->country_requests += pack->country_requests;
    store->country_bytes += pack->country_bytes;
    a->newest = pack->newest;
}

static tb_code add_pack(adding *a, const tb_usage_pack *pack, const tb__packed_places *places, tb_error *err)
{
    tb_code code = note_late(a->store, pack, places->edge, err);
    if (code) return code;
    count_pack(a, pack);
    return a->store->plane.counters->take(a->batch, pack, places, err);
}

/* --- the whole --- */

static tb_code save_newest(tb_store *store, int64_t newest, tb_error *err)
{
    int64_t stored = 0;
    tb_code code = tb__meta_get(store, "newest_hour", &stored, err);
    return code || newest <= stored ? code : tb__meta_set(store, "newest_hour", newest, err);
}

/* The zones of an account one after the other, so that its days are summed up before they are put. All
 * owners are asked for here: a question between rows has to wait until those before it have landed. */
static tb_code group_by_account(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    size_t n = 0;
    const int64_t *zones = tb__cursor_zones(cursor, &n);
    int64_t *account = malloc((n + 1) * sizeof *account);
    tb__owner *owner = NULL;
    tb_code code = account ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        code = tb__owner_get(store, TB__SCOPE_ZONE, zones[i], &owner, err);
        if (!code) account[i] = owner->account;
        if (!code && owner->account)
            code = tb__owner_get(store, TB__SCOPE_ACCOUNT, owner->account, &owner, err);
    }
    if (!code && !tb__cursor_group(cursor, account)) code = tb_no_memory(err);
    free(account);
    return code;
}

/* A usage server may find only now which day has too little: an earlier one than the day at which the walk failed. */
static tb_code check_days(adding *a, tb_code walked, tb_error *err)
{
    tb_error earlier;
    if (!a->undo || !a->undo->check || (walked && walked != TB_E_WITHDRAWAL)) return walked;
    const tb_code code = a->undo->check(a->batch, &earlier);
    if (code && err) *err = earlier;
    return code ? code : walked;
}

static tb_code put_cursor(adding *a, tb_rollup_cursor *cursor, tb_error *err)
{
    a->cursor = cursor;
    a->edges = calloc(tb__cursor_edges(cursor) + 1, sizeof *a->edges);
    tb_code code = a->edges ? TB_OK : tb_no_memory(err);
    if (!code && !a->undo) code = group_by_account(a->store, cursor, err);
    if (!code) code = check_days(a, put_days(a, err), err);
    if (!code) code = add_countries(a, cursor, err);
    return code ? code : tb_rollup_cursor_check(cursor, err);
}

static adding begin_adding(tb_store *store)
{
    store->dirty = store->billing_stale = true;
    tb__owners_trim(store);
    return (adding){.store = store, .zone = -1, .newest = INT64_MIN};
}

/* code: the result of the adding. */
static tb_code end_adding(adding *a, tb_code code, tb_error *err)
{
    tb_store *store = a->store;
    const tb__counters *to = store->plane.counters;
    if (!code) code = to->end(a->batch, a->newest, err);
    if (!code) code = tb__late_write(store, err);
    if (!code) code = save_newest(store, a->newest, err);
    if (a->newest > store->segment_newest) store->segment_newest = a->newest;
    to->free(a->batch);
    free(a->edges);
    return code;
}

tb_code tb_store_add_usage(tb_store *store, tb_rollup_cursor *cursor, tb_error *err)
{
    adding a = begin_adding(store);
    tb_code code = store->plane.counters->begin(store, &a.batch, err);
    if (!code) code = put_cursor(&a, cursor, err);
    return end_adding(&a, code, err);
}

/* Where the newest hour may be gone it is looked for. */
static tb_code find_newest(const adding *a, tb_error *err)
{
    int64_t stored = 0, found = 0;
    tb_code code = tb__meta_get(a->store, "newest_hour", &stored, err);
    if (code || a->newest < stored) return code;
    code = a->undo->newest(a->store, stored, &found, err);
    return code ? code : tb__meta_set(a->store, "newest_hour", found, err);
}

/* code: the result of the subtracting. */
static tb_code end_undo(adding *a, tb_code code, tb_error *err)
{
    if (!code && a->undo->end) code = a->undo->end(a->batch, err);
    if (!code) code = tb__late_write(a->store, err);
    if (!code) code = find_newest(a, err);
    if (a->undo->free) a->undo->free(a->batch);
    free(a->edges);
    return code;
}

tb_code tb_store_withdraw_usage(tb_store *store, tb_rollup_cursor *cursor, uint32_t *maxima, tb_error *err)
{
    adding a = begin_adding(store);
    a.undo = store->plane.counters->undo;
    a.maxima = maxima;
    tb_code code = a.undo->begin(store, &a.batch, err);
    if (!code) code = put_cursor(&a, cursor, err);
    return end_undo(&a, code, err);
}

/* --- meters --- */

static tb_code put_metered(adding *a, const tb__metered *parts, size_t n, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < n; i++) {
        tb_rollup *hours = parts[i].usage->hours;
        a->metered = &parts[i];
        if (!tb_rollup_groups(hours)) continue;
        a->cursor = tb_rollup_cursor_new(&hours, 1, NULL);
        code = a->cursor ? put_days(a, err) : tb_no_memory(err);
        tb_rollup_cursor_free(a->cursor);
    }
    return check_days(a, code, err);
}

tb_code tb__metered_add(tb_store *store, const tb__metered *parts, size_t n, tb_error *err)
{
    adding a = begin_adding(store);
    tb_code code = store->plane.counters->begin(store, &a.batch, err);
    if (!code) code = put_metered(&a, parts, n, err);
    return end_adding(&a, code, err);
}

tb_code tb__metered_subtract(tb_store *store, const tb__metered *parts, size_t n, tb_error *err)
{
    uint32_t maxima = 0;
    adding a = begin_adding(store);
    a.undo = store->plane.counters->undo;
    a.maxima = &maxima;
    tb_code code = a.undo->begin(store, &a.batch, err);
    if (!code) code = put_metered(&a, parts, n, err);
    return end_undo(&a, code, err);
}

bool tb_store_takes_packs(const tb_store *store)
{
    return store->plane.counters->take != NULL;
}

tb_code tb_store_add_packed(tb_store *store, const tb_usage_pack *pack, bool *ret_stale, tb_error *err)
{
    tb__packed_places places = {0};
    adding a = begin_adding(store);
    *ret_stale = false;
    tb_code code = look_up_places(&a, pack, &places, ret_stale, err);
    if (!code && !*ret_stale) code = store->plane.counters->begin(store, &a.batch, err);
    if (!code && !*ret_stale) code = add_pack(&a, pack, &places, err);
    free(places.edge);
    free(places.owner);
    if (code || !*ret_stale) return end_adding(&a, code, err);
    free(a.edges);
    return TB_OK;
}

/* --- owners that find their account --- */

tb_code tb__adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err)
{
    store->dirty = store->billing_stale = true;
    tb__owners_forget(store);
    tb_code code = store->plane.counters->adopt_zone(store, zone, account, err);
    if (!code) code = tb__late_write(store, err);
    tb__owners_forget(store);
    return code;
}

typedef struct adoption {
    tb_store *store;
    tb__late_of of;
} adoption;

static tb_code note_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    const adoption *a = ctx;
    return tb__late_note(a->store, a->of, day, hours, err);
}

tb_code tb__adopt_balancer(tb_store *store, int64_t balancer, int64_t account, tb_error *err)
{
    adoption a = {store, {TB__SCOPE_BALANCER, balancer, account, 0, false}};
    int64_t series = 0;
    tb_code code = tb__int_of(store, TB__SQL_BALANCER_SERIES, &balancer, 1, 0, &series, err);
    if (!code && series) code = store->plane.counters->each_day(store, series, note_day, &a, err);
    return code ? code : tb__late_write(store, err);
}
