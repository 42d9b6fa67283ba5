/* Applying a catalogue: makes the stored seller, accounts, zones, balancers and meters equal to the document.
 *
 * Declared state, so applying twice changes nothing. A first declaration applies to all earlier time too; a later
 * change applies from the moment of its commit; the declaration table keeps all declarations with the time in which
 * they were in force. Objects that the document no longer names are marked deleted at that moment, their usage
 * stays. A zone with usage that gets an account is adopted: its history is added to the account's. */
#include "store/things/containers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOR_EVER INT64_MAX
#define SINCE_EVER INT64_MIN

/* One kind of thing: how it is read, stored and deleted. */
typedef struct kind {
    const char *name, *list; /* in the store, in a catalogue */
    tb__statement get, live, delete;
} kind;

static const kind accounts = {"account", "accounts", TB__SQL_ACCOUNT_GET, TB__SQL_LIVE_ACCOUNTS,
                              TB__SQL_ACCOUNT_DELETE};
static const kind zones = {"zone", "zones", TB__SQL_ZONE_GET, TB__SQL_LIVE_ZONES, TB__SQL_ZONE_DELETE};
static const kind balancers = {"balancer", "load_balancers", TB__SQL_BALANCER_GET, TB__SQL_LIVE_BALANCERS,
                               TB__SQL_BALANCER_DELETE};
static const kind shields = {"shield_zone", "shield_zones", TB__SQL_SHIELD_ZONE_GET, TB__SQL_LIVE_SHIELD_ZONES,
                             TB__SQL_SHIELD_ZONE_DELETE};
/* Known by their numbers here; catalogues name them. */
static const kind meters = {"meter", "meters", TB__SQL_METER_GET, TB__SQL_LIVE_METERS, TB__SQL_METER_DELETE};

/* The only one; it is its declarations. */
#define SELLER INT64_C(1)
static const kind seller = {"seller", "seller", TB__SQL_SELLER_GET, TB__SQL_LIVE_SELLER,
                            TB__SQL_COUNT};

typedef struct applying {
    tb_store *store;
    int64_t now_us;
    tb_applied *counts;
} applying;

/* What is stored of a thing, against its new document. */
typedef struct standing {
    bool known, deleted, changed;
    int64_t account;
} standing;

static tb_code stand(applying *a, const kind *k, int64_t id, const char *document, standing *ret,
                     tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql_ints(a->store, k->get, &id, 1, &s, err);
    if (!code) code = tb__step(a->store, s, &row, err);
    if (code) return code;
    *ret = (standing){.known = row};
    if (!row) return TB_OK;
    const char *stored = (const char *)sqlite3_column_text(s, 0);
    ret->changed = !stored || strcmp(stored, document) != 0;
    ret->deleted = sqlite3_column_int64(s, 1) != FOR_EVER;
    if (sqlite3_column_count(s) > 2) ret->account = sqlite3_column_int64(s, 2);
    sqlite3_reset(s);
    return TB_OK;
}

/* What is declared holds until the next declaration of the same thing: none is put before another. */
static tb_code check_turn(applying *a, const kind *k, int64_t id, tb_error *err)
{
    char last[20], now[20];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(a->store, TB__SQL_DECLARATION_LAST, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, k->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, id);
    code = tb__step(a->store, s, &row, err);
    if (code || !row) return code;
    const int64_t last_us = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    if (last_us <= a->now_us) return TB_OK;
    tb_time_format(last_us, last);
    tb_time_format(a->now_us, now);
    return tb_fail(err, TB_E_CLOCK, k->name,
                   "%lld was declared or deleted at %.20s, and cannot be declared otherwise from %.20s on. Set the clock"
                   " right, or wait until it is past that moment.",
                   (long long)id, last, now);
}

static tb_code close_declaration(applying *a, const kind *k, int64_t id, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = check_turn(a, k, id, err);
    if (!code) code = tb__sql(a->store, TB__SQL_DECLARATION_CLOSE, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, k->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, id);
    sqlite3_bind_int64(s, 3, a->now_us);
    return tb__run(a->store, s, err);
}

static tb_code declare(applying *a, const kind *k, int64_t id, const char *document,
                       const standing *before, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = before->known ? close_declaration(a, k, id, err) : TB_OK;
    if (!code) code = tb__sql(a->store, TB__SQL_DECLARATION_OPEN, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, k->name, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, id);
    sqlite3_bind_int64(s, 3, before->known ? a->now_us : SINCE_EVER);
    sqlite3_bind_text(s, 4, document, -1, SQLITE_STATIC);
    a->store->dirty = true;
    a->counts->changed += before->known && before->changed;
    a->counts->restored += before->deleted;
    return tb__run(a->store, s, err);
}

static bool stands_as_said(const standing *s)
{
    return s->known && !s->changed && !s->deleted;
}

/* What an account owes and has paid is one sum, so it keeps the currency that its ledger began with. */
static tb_code check_currency(applying *a, const tb_catalog_account *account, size_t index, tb_error *err)
{
    char path[48];
    sqlite3_stmt *s;
    bool row = false;
    tb_code code = tb__sql(a->store, TB__SQL_ACCOUNT_KEEPS, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, account->id);
    sqlite3_bind_text(s, 2, account->document, -1, SQLITE_STATIC);
    code = tb__step(a->store, s, &row, err);
    if (code || !row) return code;
    snprintf(path, sizeof path, "accounts[%zu].currency", index);
    code = tb_fail(err, TB_E_CATALOG, path,
                   "Account %" PRId64 " has ledger entries in %.3s and keeps that currency. For %.3s declare"
                   " another account, with zones of its own.",
                   account->id, sqlite3_column_text(s, 0), sqlite3_column_text(s, 1));
    sqlite3_reset(s);
    return code;
}

static tb_code put_account(applying *a, const tb_catalog_account *account, size_t index, tb_error *err)
{
    standing before;
    sqlite3_stmt *s;
    tb_code code = stand(a, &accounts, account->id, account->document, &before, err);
    if (code || stands_as_said(&before)) return code;
    if (before.known) code = check_currency(a, account, index, err);
    if (!code) code = declare(a, &accounts, account->id, account->document, &before, err);
    if (!code) code = tb__sql(a->store, TB__SQL_ACCOUNT_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, account->id);
    sqlite3_bind_text(s, 2, account->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, account->document, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, a->now_us);
    a->counts->accounts_added += !before.known;
    return tb__run(a->store, s, err);
}

static tb_code put_seller(applying *a, const char *document, tb_error *err)
{
    standing before;
    tb_code code = stand(a, &seller, SELLER, document, &before, err);
    if (code || stands_as_said(&before)) return code;
    a->counts->sellers_added += !before.known;
    return declare(a, &seller, SELLER, document, &before, err);
}

/* index: of the catalogue's list. */
static tb_code refuse_move(const kind *k, size_t index, int64_t id, int64_t from, int64_t to,
                           tb_error *err)
{
    char path[48];
    snprintf(path, sizeof path, "%s[%zu].account", k->list, index);
    return tb_fail(err, TB_E_CATALOG, path,
                   "%s %" PRId64 " belongs to account %" PRId64 " and cannot move to account %" PRId64
                   "; give the new one another id.",
                   k->name, id, from, to);
}

static tb_code adopt(applying *a, const tb_catalog_zone *zone, tb_error *err)
{
    const int64_t owner[2] = {TB__SCOPE_ZONE, zone->id};
    int64_t found = -1;
    tb_code code = tb__int_of(a->store, TB__SQL_SERIES_OF_OWNER, owner, 2, -1, &found, err);
    if (code || found < 0) return code;
    a->counts->adopted++;
    return tb__adopt_zone(a->store, zone->id, zone->account, err);
}

static tb_code store_zone(applying *a, const tb_catalog_zone *zone, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(a->store, TB__SQL_ZONE_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, zone->id);
    sqlite3_bind_int64(s, 2, zone->account);
    sqlite3_bind_text(s, 3, zone->name, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 4, zone->type, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 5, zone->created_us);
    sqlite3_bind_text(s, 6, zone->settings, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 7, zone->document, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 8, a->now_us);
    return tb__run(a->store, s, err);
}

static tb_code put_zone(applying *a, const tb_catalog_zone *zone, size_t index, tb_error *err)
{
    standing before;
    tb_code code = stand(a, &zones, zone->id, zone->document, &before, err);
    if (code || stands_as_said(&before)) return code;
    if (before.known && before.account != zone->account)
        return refuse_move(&zones, index, zone->id, before.account, zone->account, err);
    code = declare(a, &zones, zone->id, zone->document, &before, err);
    if (!code) code = store_zone(a, zone, err);
    if (code || before.known) return code;
    a->counts->zones_added++;
    return adopt(a, zone, err);
}

/* --- sets of ids --- */

static bool holds(const int64_t *sorted, size_t n, int64_t id)
{
    return n && bsearch(&id, sorted, n, sizeof id, tb__by_int64);
}

/* All ids that a statement gives, ascending. */
static tb_code list_ids(tb_store *store, tb__statement id, const int64_t *values, int n_values,
                        int64_t **ret, size_t *ret_n, tb_error *err)
{
    tb_code code = tb__list_ints(store, id, values, n_values, ret, ret_n, err);
    if (!code && *ret_n) qsort(*ret, *ret_n, sizeof **ret, tb__by_int64);
    return code;
}

/* --- balancers and the zones attached to them --- */

/* A balancer's first declaration gives it its zones for all earlier time, unless another had them. */
static tb_code put_attachments(applying *a, const tb_catalog_balancer *balancer, bool first,
                               tb_error *err)
{
    int64_t *stored = NULL, *wanted = malloc((balancer->n_zones + 1) * sizeof *wanted);
    size_t n = 0;
    if (!wanted) return tb_no_memory(err);
    if (balancer->n_zones) memcpy(wanted, balancer->zones, balancer->n_zones * sizeof *wanted);
    qsort(wanted, balancer->n_zones, sizeof *wanted, tb__by_int64);
    tb_code code = list_ids(a->store, TB__SQL_ATTACHED, &balancer->id, 1, &stored, &n, err);
    for (size_t i = 0; !code && i < n; i++)
        if (!holds(wanted, balancer->n_zones, stored[i]))
            code = tb__run_ints(a->store, TB__SQL_DETACH, (int64_t[]){stored[i], balancer->id, a->now_us}, 3, err);
    for (size_t i = 0; !code && i < balancer->n_zones; i++)
        if (!holds(stored, n, wanted[i])) {
            const int64_t values[4] = {wanted[i], balancer->id, first ? SINCE_EVER : a->now_us, a->now_us};
            code = tb__run_ints(a->store, TB__SQL_ATTACH, values, 4, err);
        }
    free(stored);
    free(wanted);
    return code;
}

static tb_code store_balancer(applying *a, const tb_catalog_balancer *balancer, tb_error *err)
{
    sqlite3_stmt *s;
    tb_code code = tb__sql(a->store, TB__SQL_BALANCER_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, balancer->id);
    sqlite3_bind_int64(s, 2, balancer->account);
    sqlite3_bind_int64(s, 3, balancer->created_us);
    sqlite3_bind_int64(s, 4, balancer->deleted_us);
    sqlite3_bind_text(s, 5, balancer->document, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, a->now_us);
    return tb__run(a->store, s, err);
}

static tb_code put_balancer(applying *a, const tb_catalog_balancer *balancer, size_t index,
                            tb_error *err)
{
    standing before;
    tb_code code = stand(a, &balancers, balancer->id, balancer->document, &before, err);
    if (code || stands_as_said(&before)) return code;
    if (before.known && before.account != balancer->account)
        return refuse_move(&balancers, index, balancer->id, before.account, balancer->account,
                           err);
    code = declare(a, &balancers, balancer->id, balancer->document, &before, err);
    if (!code) code = store_balancer(a, balancer, err);
    if (!code) code = put_attachments(a, balancer, !before.known, err);
    if (!code && !before.known)
        code = tb__adopt_balancer(a->store, balancer->id, balancer->account, err);
    a->counts->balancers_added += !before.known;
    return code;
}

/* --- shield zones: their events are theirs by id, so nothing has to be adopted --- */

static tb_code put_shield(applying *a, const tb_catalog_shield *shield, size_t index,
                          tb_error *err)
{
    standing before;
    sqlite3_stmt *s;
    tb_code code = stand(a, &shields, shield->id, shield->document, &before, err);
    if (code || stands_as_said(&before)) return code;
    if (before.known && before.account != shield->account)
        return refuse_move(&shields, index, shield->id, before.account, shield->account, err);
    code = declare(a, &shields, shield->id, shield->document, &before, err);
    if (!code) code = tb__sql(a->store, TB__SQL_SHIELD_ZONE_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, shield->id);
    sqlite3_bind_int64(s, 2, shield->account);
    sqlite3_bind_text(s, 3, shield->name ? shield->name : "", -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, shield->zone);
    sqlite3_bind_text(s, 5, shield->document, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 6, a->now_us);
    a->counts->shields_added += !before.known;
    return tb__run(a->store, s, err);
}

/* --- meters --- */

static tb_code meter_number(tb_store *store, const char *id, int64_t *ret, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = false;
    *ret = 0;
    tb_code code = tb__sql(store, TB__SQL_METER_NUMBER, &s, err);
    if (code) return code;
    sqlite3_bind_text(s, 1, id, -1, SQLITE_STATIC);
    code = tb__step(store, s, &row, err);
    if (code || !row) return code;
    *ret = sqlite3_column_int64(s, 0);
    sqlite3_reset(s);
    return TB_OK;
}

/* What usage was counted by stays: its lines would mean something else. */
static tb_code check_meter(applying *a, const tb_meter *meter, int64_t number, size_t index, tb_error *err)
{
    int64_t used = 0;
    tb_meter was;
    tb_code code = tb__int_of(a->store, TB__SQL_METER_USED, &number, 1, 0, &used, err);
    if (code || !used) return code;
    code = tb__meter_declared(a->store, number, &was, err);
    if (code) return code;
    bool same_dimensions = was.n_dimensions == meter->n_dimensions;
    for (int i = 0; same_dimensions && i < was.n_dimensions; i++)
        same_dimensions = strcmp(was.dimension[i], meter->dimension[i]) == 0;
    const char *key = was.kind != meter->kind                 ? "kind"
                      : strcmp(was.unit, meter->unit) != 0    ? "unit"
                      : was.interval != meter->interval       ? "interval"
                      : !same_dimensions                      ? "dimensions"
                      : strcmp(was.noun, meter->noun) != 0    ? "resource"
                                                              : NULL;
    char path[48];
    if (!key) return TB_OK;
    snprintf(path, sizeof path, "meters[%zu].%s", index, key);
    return tb_fail(err, TB_E_CATALOG, path,
                   "Meter %s has usage and keeps its %s. Declare another meter with another id, and count by that one.",
                   meter->id, key);
}

static tb_code put_meter(applying *a, const tb_catalog_meter *meter, size_t index, tb_error *err)
{
    standing before;
    sqlite3_stmt *s;
    int64_t number = 0;
    tb_code code = meter_number(a->store, meter->meter.id, &number, err);
    if (!code && !number) code = tb__int_of(a->store, TB__SQL_METER_NEXT, NULL, 0, 1, &number, err);
    if (!code) code = stand(a, &meters, number, meter->document, &before, err);
    if (code || stands_as_said(&before)) return code;
    if (before.known) code = check_meter(a, &meter->meter, number, index, err);
    if (!code) code = declare(a, &meters, number, meter->document, &before, err);
    if (!code) code = tb__sql(a->store, TB__SQL_METER_PUT, &s, err);
    if (code) return code;
    sqlite3_bind_int64(s, 1, number);
    sqlite3_bind_text(s, 2, meter->meter.id, -1, SQLITE_STATIC);
    sqlite3_bind_text(s, 3, meter->document, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 4, a->now_us);
    a->counts->meters_added += !before.known;
    return tb__run(a->store, s, err);
}

/* --- objects that the document no longer names --- */

static tb_code delete_one(applying *a, const kind *k, int64_t id, tb_error *err)
{
    const int64_t values[2] = {id, a->now_us};
    const tb_catalog_balancer none = {.id = id};
    tb_code code = k == &seller ? TB_OK : tb__run_ints(a->store, k->delete, values, 2, err);
    if (!code) code = close_declaration(a, k, id, err);
    if (!code && k == &balancers) code = put_attachments(a, &none, false, err);
    a->counts->deleted++;
    a->store->dirty = true;
    return code;
}

/* A catalogue's list of one kind. first points at the id of the first of n things of `size` bytes each. */
typedef struct listed {
    const kind *kind;
    tb_declared_kind declared;
    const void *first;
    size_t n, size;
} listed;
#define LISTS 6

/* numbers: of the catalogue's meters. */
static void make_lists(const tb_catalog *c, const int64_t *numbers, listed ret[LISTS])
{
    static const int64_t seller_id = SELLER;
    const listed lists[LISTS] = {
        {&seller, TB_DECLARED_SELLER, &seller_id, c->seller != NULL, sizeof seller_id},
        {&accounts, TB_DECLARED_ACCOUNT, c->accounts, c->n_accounts, sizeof *c->accounts},
        {&zones, TB_DECLARED_ZONE, c->zones, c->n_zones, sizeof *c->zones},
        {&balancers, TB_DECLARED_BALANCER, c->balancers, c->n_balancers, sizeof *c->balancers},
        {&shields, TB_DECLARED_SHIELD, c->shields, c->n_shields, sizeof *c->shields},
        {&meters, TB_DECLARED_METER, numbers, c->n_meters, sizeof *numbers},
    };
    memcpy(ret, lists, sizeof lists);
}

/* The numbers of the catalogue's meters, 0 of a new one. Free it with free(). */
static tb_code meter_numbers(tb_store *store, const tb_catalog *c, int64_t **ret, tb_error *err)
{
    tb_code code = TB_OK;
    int64_t *numbers = malloc((c->n_meters + 1) * sizeof *numbers);
    if (!numbers) return tb_no_memory(err);
    for (size_t i = 0; !code && i < c->n_meters; i++)
        code = meter_number(store, c->meters[i].meter.id, &numbers[i], err);
    if (code) free(numbers);
    else *ret = numbers;
    return code;
}

/* The ids that it names, ascending; NULL: no memory. Free it with free(). */
static int64_t *named_ids(const listed *list)
{
    int64_t *named = malloc((list->n + 1) * sizeof *named);
    for (size_t i = 0; named && i < list->n; i++)
        memcpy(&named[i], (const char *)list->first + i * list->size, sizeof *named);
    if (named) qsort(named, list->n, sizeof *named, tb__by_int64);
    return named;
}

static tb_code delete_absent(applying *a, const listed *list, tb_error *err)
{
    int64_t *named = named_ids(list), *live = NULL;
    size_t n_live = 0;
    if (!named) return tb_no_memory(err);
    tb_code code = list_ids(a->store, list->kind->live, NULL, 0, &live, &n_live, err);
    for (size_t i = 0; !code && i < n_live; i++)
        if (!holds(named, list->n, live[i])) code = delete_one(a, list->kind, live[i], err);
    free(live);
    free(named);
    return code;
}

static tb_code each_unnamed(tb_store *store, const listed *list,
                            void (*each)(void *ctx, const tb_unnamed *one), void *ctx, size_t *ret_live,
                            tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    int64_t *named = named_ids(list);
    if (!named) return tb_no_memory(err);
    tb_code code = tb__sql(store, list->kind->live, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row) {
        const tb_unnamed one = {list->declared, sqlite3_column_int64(s, 0),
                                sqlite3_column_count(s) > 1 ? tb__column_text(s, 1) : (tb_text){"", 0}};
        ++*ret_live;
        if (!holds(named, list->n, one.id)) each(ctx, &one);
    }
    free(named);
    return code;
}

/* Of zones that stay; a new zone has lost none. */
static tb_code hostnames_unnamed(tb_store *store, const tb_catalog *catalog,
                                 void (*each)(void *ctx, const tb_unnamed *one), void *ctx, size_t *ret_live,
                                 tb_error *err)
{
    int64_t live = 0;
    tb_code code = tb__int_of(store, TB__SQL_LIVE_HOSTNAMES, NULL, 0, 0, &live, err);
    *ret_live = (size_t)live;
    for (size_t i = 0; !code && live && i < catalog->n_zones; i++) {
        const tb_catalog_zone *zone = &catalog->zones[i];
        sqlite3_stmt *s;
        bool row = true;
        code = tb__sql_ints(store, TB__SQL_HOSTNAMES_LOST, &zone->id, 1, &s, err);
        if (!code) sqlite3_bind_text(s, 2, zone->document, -1, SQLITE_STATIC);
        while (!code && !(code = tb__step(store, s, &row, err)) && row)
            each(ctx, &(tb_unnamed){TB_DECLARED_HOSTNAME, zone->id, tb__column_text(s, 0)});
    }
    return code;
}

tb_code tb_store_unnamed(tb_store *store, const tb_catalog *catalog,
                         void (*each)(void *ctx, const tb_unnamed *one), void *ctx,
                         size_t ret_live[TB_DECLARED_KIND_COUNT], tb_error *err)
{
    listed lists[LISTS];
    int64_t *numbers;
    memset(ret_live, 0, TB_DECLARED_KIND_COUNT * sizeof *ret_live);
    tb_code code = meter_numbers(store, catalog, &numbers, err);
    if (code) return code;
    make_lists(catalog, numbers, lists);
    for (size_t i = 0; !code && i < LISTS; i++)
        code = each_unnamed(store, &lists[i], each, ctx, &ret_live[lists[i].declared], err);
    free(numbers);
    if (!code) code = tb__containers_unnamed(store, catalog, each, ctx, ret_live, err);
    if (!code) code = tb__regions_unnamed(store, catalog, each, ctx, &ret_live[TB_DECLARED_REGION], err);
    return code ? code : hostnames_unnamed(store, catalog, each, ctx, &ret_live[TB_DECLARED_HOSTNAME], err);
}

tb_code tb_store_declared(tb_store *store, void (*each)(void *ctx, const tb_declared *one), void *ctx, tb_error *err)
{
    sqlite3_stmt *s;
    bool row = true;
    tb_code code = tb__sql(store, TB__SQL_DECLARED, &s, err);
    while (!code && !(code = tb__step(store, s, &row, err)) && row)
        each(ctx, &(tb_declared){(tb_declared_kind)sqlite3_column_int(s, 0), sqlite3_column_int64(s, 1),
                                 tb__column_text(s, 3), tb__column_text(s, 2)});
    return code;
}

static tb_code put_all(applying *a, const tb_catalog *c, tb_error *err)
{
    tb_code code = c->seller ? put_seller(a, c->seller, err) : TB_OK;
    for (size_t i = 0; !code && i < c->n_accounts; i++)
        code = put_account(a, &c->accounts[i], i, err);
    for (size_t i = 0; !code && i < c->n_zones; i++)
        code = put_zone(a, &c->zones[i], i, err);
    for (size_t i = 0; !code && i < c->n_balancers; i++)
        code = put_balancer(a, &c->balancers[i], i, err);
    for (size_t i = 0; !code && i < c->n_shields; i++)
        code = put_shield(a, &c->shields[i], i, err);
    for (size_t i = 0; !code && i < c->n_meters; i++)
        code = put_meter(a, &c->meters[i], i, err);
    return code;
}

static tb_code delete_all_absent(applying *a, const tb_catalog *c, tb_error *err)
{
    listed lists[LISTS];
    int64_t *numbers;
    tb_code code = meter_numbers(a->store, c, &numbers, err);
    if (code) return code;
    make_lists(c, numbers, lists);
    for (size_t i = LISTS; !code && i > 0; i--) /* an account's objects are deleted before it */
        code = delete_absent(a, &lists[i - 1], err);
    free(numbers);
    return code;
}

static tb_code count_rebilled(tb_store *store, tb_applied *counts, tb_error *err)
{
    int64_t n = 0;
    tb_code code = tb__int_of(store, TB__SQL_REGION_REBILLED, NULL, 0, 0, &n, err);
    counts->rebilled = (size_t)n;
    store->dirty = true;
    return code;
}

static tb_code count_unbooked(tb_store *store, tb_applied *counts, tb_error *err)
{
    int64_t n = 0;
    tb_code code = tb__int_of(store, TB__SQL_ACCOUNTS_UNBOOKED, NULL, 0, 0, &n, err);
    counts->unbooked = (size_t)n;
    return code;
}

tb_code tb_store_apply_catalog(tb_store *store, const tb_catalog *catalog, int64_t now_us,
                               tb_applied *ret_applied, tb_error *err)
{
    tb_applied counts = {0};
    applying a = {store, now_us, &counts};
    bool regions_changed = false;
    store->billing_stale = store->directory_stale = true;
    tb__directory_forget(store);
    const tb_region *regions = tb__regions_of(catalog, &counts.regions);
    tb_code code = tb__regions_replace(store, regions, counts.regions, &regions_changed, err);
    if (!code) code = put_all(&a, catalog, err);
    if (!code) code = delete_all_absent(&a, catalog, err);
    if (!code) code = tb__containers_apply(store, catalog, now_us, &counts, err);
    if (code) return code;
    counts.changed += regions_changed;
    if (regions_changed) code = count_rebilled(store, &counts, err);
    if (!code) code = count_unbooked(store, &counts, err);
    *ret_applied = counts;
    return code;
}
