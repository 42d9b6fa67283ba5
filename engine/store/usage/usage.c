/* Adding usage to the file: the days of a batch, ordered by (account, id, edge, day), stream into the
 * series they belong to: each becomes an entry of a run, or joins its rows of base (batch.h).
 * The zone's all-locations series and its account's series sum the same days in memory and are
 * written when the zone, or the account, is done (or when too many are pending): so each row is written once
 * however many lines touched it, and new rows ascend.
 *
 * An owner with one location has no all-locations series. At its second location the first one's
 * chunks are copied under a new series id, and later days are added to both. While all usage of an owner
 * is in memory, nothing is copied, and that series is written at the end.
 *
 * An account with usage of one pull zone has no series either: it shares the zone's (owners.h). At the second
 * zone those are copied under new ids. An account's days are pending until its zones are done, so a new account that
 * gets several zones at once copies nothing. */
#include "store/usage/batch.h"
#include "store/usage/file.h"
#include "store/usage/owners.h"
#include "store/usage/packed.h"
#include "store/usage/retain.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_MAX 2048 /* pending grids of 5 KiB: 11 MiB for a zone, the same for accounts */

/* --- streaming days into series --- */

/* Streams days into the series of one scope. */
typedef struct stream {
    int scope;
    tb__owner *owner; /* NULL: none yet */
    int64_t id;       /* of the owner that was streamed last */
    size_t since;     /* entries of the memtable when that one's part of the batch began */
    bool fresh;       /* all that the owner holds is in all_days */
    tb_store *store;
    tb__pending all_days; /* pending days of the owner's all-locations series */
} stream;

/* Gives a new owner with several locations its all-locations series. */
static tb_code flush_all_days(stream *st, tb_error *err)
{
    tb__owner *owner = st->owner;
    tb_code code = !owner->all && owner->n > 1 ? tb__series_begin(st->store, owner, 0, &owner->all, err) : TB_OK;
    for (size_t i = 0; owner->all && !code && i < st->all_days.n; i++)
        code = tb__batch_add_day(st->store, owner->all, st->all_days.list[i].index, st->all_days.list[i].grid, err);
    tb__pending_clear(&st->all_days);
    st->fresh = false;
    return code;
}

static tb_code put_all_day(stream *st, int64_t day, const tb_grid *hours, tb_error *err)
{
    tb_grid *sum = NULL;
    tb_code code = st->all_days.n >= PENDING_MAX ? flush_all_days(st, err) : TB_OK;
    if (!code && !st->owner->all && !st->fresh) return TB_OK;
    if (!code) code = tb__pending_at(&st->all_days, day, &sum, err);
    if (code) return code;
    const tb__owned_day of = {st->scope, st->owner->id, 0, day};
    return tb__full_day(st->store, tb_grid_merge(sum, hours, err), of, sum, err);
}

static tb_code finish_owner(stream *st, tb_error *err)
{
    tb_code code = st->owner ? flush_all_days(st, err) : TB_OK;
    st->owner = NULL;
    return code;
}

void tb_store_bound_work(tb_store *store, size_t copies, bool alone)
{
    store->joins_bounded = copies > 0;
    store->joins_left = TB_JOINS_MOST;
    if (!store->usage) return;
    store->usage->copies_most = copies;
    store->usage->copied = 0;
    store->usage->copies_alone = alone;
    store->usage->copies_first = NULL;
}

static tb_code count_copies(stream *st, size_t n, tb_error *err)
{
    struct tb__usage *u = st->store->usage;
    if (!u->copied) u->copies_first = st->owner;
    u->copied += n;
    if (!u->copies_most || u->copied <= u->copies_most || (u->copies_alone && u->copies_first == st->owner)) return TB_OK;
    return tb_fail(err, TB_E_TOO_LARGE, "copies",
                   "This body brings a second edge location, or an account's second pull zone, to too many pull zones or "
                   "accounts with a long history. Nothing of it was taken. Send it in smaller parts.");
}

typedef struct copying {
    stream *st;
    int64_t to;
} copying;

static tb_code copy_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    const copying *c = ctx;
    tb_code code = count_copies(c->st, 1, err);
    return code ? code : tb__batch_add_day(c->st->store, c->to, day, hours, err);
}

/* Copies a series to the new series `to` of the stream's owner. since: as in tb__series_days. For months whose hours
 * expired the day rows are copied, and the hours that are not in a row yet. */
static tb_code copy_series(stream *st, int64_t from, int64_t to, size_t since, tb_error *err)
{
    tb_store *store = st->store;
    copying c = {st, to};
    tb_kept kept = {0, 0};
    tb_code code = count_copies(st, TB_COPY_COSTS, err);
    if (!code) code = tb__kept_of(store, st->scope, st->owner->id, &kept, err);
    if (!code) code = tb__kept_days_copy(store, from, to, kept, err);
    if (!code) {
        const tb__series_part part = {from, kept.hours > 0 ? tb_month_first_day(kept.hours) : 0, since};
        code = tb__series_days(store, part, copy_day, &c, err);
    }
    return code;
}

/* The owner gets its second location: the all-locations series begins as a copy of the first one. */
static tb_code begin_all(stream *st, tb_error *err)
{
    size_t one = 0;
    const int64_t first = tb__owner_next(st->owner, &one)->series;
    tb_code code = tb__series_begin(st->store, st->owner, 0, &st->owner->all, err);
    return code ? code : copy_series(st, first, st->owner->all, st->since, err);
}

/* The series of one of the owner's locations, made if there is none. */
static tb_code member_series(stream *st, int64_t edge, int64_t *ret_series, tb_error *err)
{
    tb__owner *owner = st->owner;
    const tb__member *there = tb__owner_at(owner, edge);
    if (there) {
        *ret_series = there->series;
        return TB_OK;
    }
    tb_code code = owner->n == 1 && !owner->all && !st->fresh ? begin_all(st, err) : TB_OK;
    if (!code) code = tb__series_begin(st->store, owner, edge, ret_series, err);
    return code ? code : tb__owner_add(owner, (tb__member){edge, *ret_series}, err);
}

static tb_code begin_owner(stream *st, int64_t owner, tb_error *err)
{
    tb_store *store = st->store;
    tb_code code = finish_owner(st, err);
    if (st->id != owner) st->since = store->usage->memtable.now.n[TB__LSM_COUNTERS];
    st->id = owner;
    if (!code) code = tb__owner_get(store, st->scope, owner, &st->owner, err);
    st->fresh = !code && !st->owner->n && !st->owner->all;
    return code;
}

static tb_code put_day(stream *st, int64_t owner, int64_t edge, int64_t day, const tb_grid *hours,
                       tb_error *err)
{
    int64_t series = 0;
    tb_code code = st->owner && st->owner->id == owner ? TB_OK : begin_owner(st, owner, err);
    if (!code) code = member_series(st, edge, &series, err);
    if (!code) code = tb__batch_add_day(st->store, series, day, hours, err);
    return code ? code : put_all_day(st, day, hours, err);
}

/* --- accounts: days are pending until the account's zones are done, or there are too many --- */

typedef struct account_days {
    int64_t account;
    tb__owner *owner;    /* the account */
    int64_t zone;        /* the pull zone of all pending days; 0: several */
    size_t since;        /* entries of the batch when the account's part began */
    tb__pending pending; /* by edge location and day: account_index */
    stream stream;
} account_days;

static int64_t account_index(int64_t edge, int64_t day)
{
    return edge << TB__INDEX_BITS | day;
}

/* An account without series gets usage of one pull zone, 0: of several, at so many locations: it shares the zone's
 * series, unless they have more locations. Those are of usage that was withdrawn before the account got the zone. */
static tb_code share_zone(tb_store *store, tb__owner *account, int64_t zone, size_t locations, tb_error *err)
{
    tb__owner *of = NULL;
    if (!zone || account->last || account->shares || store->usage->test.apart) return TB_OK;
    tb_code code = tb__owner_get(store, TB__SCOPE_ZONE, zone, &of, err);
    return code || of->n != locations ? code : tb__owner_share(store, account, zone, err);
}

/* The account gets usage of a second pull zone: the series that it shared are copied. since: as in tb__series_days. */
static tb_code end_sharing(stream *st, tb__owner *account, size_t since, tb_error *err)
{
    tb__owner *zone = NULL;
    size_t at = 0;
    tb_code code = begin_owner(st, account->id, err);
    if (!code) code = tb__owner_unshare(st->store, account, &zone, err);
    st->fresh = false;
    for (const tb__member *m; !code && (m = tb__owner_next(zone, &at)) != NULL;)
        code = copy_series(st, m->series, tb__owner_at(account, m->edge)->series, since, err);
    return code || !zone->all ? code : copy_series(st, zone->all, account->all, since, err);
}

static tb_code flush_account(account_days *a, tb_error *err)
{
    size_t locations = 0;
    for (size_t i = 0; i < a->pending.n; i++)
        locations += !i || a->pending.list[i - 1].index >> TB__INDEX_BITS != a->pending.list[i].index >> TB__INDEX_BITS;
    tb_code code = locations ? share_zone(a->stream.store, a->owner, a->zone, locations, err) : TB_OK;
    for (size_t i = 0; !code && i < a->pending.n && !a->owner->shares; i++) {
        const int64_t index = a->pending.list[i].index;
        code = put_day(&a->stream, a->account, index >> TB__INDEX_BITS, index & TB__INDEX_MAX,
                       a->pending.list[i].grid, err);
    }
    tb__pending_clear(&a->pending);
    return code ? code : finish_owner(&a->stream, err);
}

/* A day of a pull zone joins its account. */
static tb_code account_put(account_days *a, const tb__day_of *day, const tb_grid *hours, tb_error *err)
{
    tb_store *store = a->stream.store;
    tb_grid *sum = NULL;
    tb_code code = TB_OK;
    if (a->account != day->account || a->pending.n >= PENDING_MAX) code = flush_account(a, err);
    if (!code && a->account != day->account)
        code = tb__owner_get(store, TB__SCOPE_ACCOUNT, a->account = day->account, &a->owner, err);
    if (!code && a->owner->shares == day->owner) return TB_OK;
    if (!code && a->owner->shares) code = end_sharing(&a->stream, a->owner, a->since, err);
    a->zone = !a->pending.n || a->zone == day->owner ? day->owner : 0;
    if (!code) code = tb__pending_at(&a->pending, account_index(day->edge, day->day), &sum, err);
    if (code) return code;
    const tb__owned_day of = {TB__SCOPE_ACCOUNT, day->account, day->edge, day->day};
    return tb__full_day(store, tb_grid_merge(sum, hours, err), of, sum, err);
}

static account_days account_days_of(tb_store *store)
{
    return (account_days){.stream = {.scope = TB__SCOPE_ACCOUNT, .store = store}};
}

static void account_days_release(account_days *a)
{
    tb__pending_release(&a->pending);
    tb__pending_release(&a->stream.all_days);
}

/* --- a batch --- */

typedef struct batch {
    tb_store *store;
    stream zones, balancers, meters;
    account_days accounts;
    tb_u128 before[TB_METRIC_COUNT]; /* the segment's sums before it */
} batch;

/* No counter of the batch grew by more: a day's bucket of one series by no more than the whole. */
static int64_t grown_by(const tb_store *store, const tb_u128 before[TB_METRIC_COUNT])
{
    tb_u128 most = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (store->sums[m] - before[m] > most) most = store->sums[m] - before[m];
    return most < TB_COUNTER_MAX ? (int64_t)most : (int64_t)TB_COUNTER_MAX;
}

static tb_code save_cell_max(tb_store *store, tb_error *err)
{
    int64_t cell_max = 0;
    tb_code code = tb__meta_get(store, "cell_max", &cell_max, err);
    if (code || store->usage->cell_max <= cell_max) return code;
    return tb__meta_set(store, "cell_max", store->usage->cell_max, err);
}

/* Flushes the memtable, and does its batches' share of the work on runs. What fails is undone: to the mark, or all. */
static tb_code end_batches(tb_store *store, tb_error *err)
{
    tb__memtable_state *now = &store->usage->memtable.now;
    if (!now->due.batches) return TB_OK;
    tb_code code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    if (!code) code = tb__memtable_flush(store, err);
    if (!code) code = tb__usage_maintain(store, &now->due, err);
    if (!code) code = save_cell_max(store, err);
    now->due = (tb__maintenance_due){0};
    return code;
}

static tb_code batch_begin(tb_store *store, void **ret_batch, tb_error *err)
{
    batch *b = calloc(1, sizeof *b);
    if (!b) return tb_no_memory(err);
    b->store = store;
    b->zones = (stream){.scope = TB__SCOPE_ZONE, .store = store};
    b->balancers = (stream){.scope = TB__SCOPE_BALANCER, .store = store};
    b->meters = (stream){.scope = TB__SCOPE_METER, .store = store};
    b->accounts = account_days_of(store);
    memcpy(b->before, store->sums, sizeof b->before);
    *ret_batch = b;
    tb__batch_begin(store);
    return tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
}

static stream *stream_of(batch *b, int scope)
{
    switch (scope) {
    case TB__SCOPE_ZONE: return &b->zones;
    case TB__SCOPE_ACCOUNT: return &b->accounts.stream;
    case TB__SCOPE_METER: return &b->meters;
    default: return &b->balancers;
    }
}

static tb_code batch_add(void *to, const tb__day_of *of, const tb_grid *hours, tb_error *err)
{
    batch *b = to;
    stream *st = stream_of(b, of->scope);
    tb_code code = tb__memtable_flush(b->store, err); /* what an owner holds is read in the file */
    if (of->account != b->accounts.account) b->accounts.since = b->store->usage->memtable.now.n[TB__LSM_COUNTERS];
    if (!code) code = put_day(st, of->owner, of->edge, of->day, hours, err);
    return code || !of->account ? code : account_put(&b->accounts, of, hours, err);
}

static tb_code batch_add_countries(void *to, int64_t zone, int64_t day, const tb__country *list,
                                   size_t n, tb_error *err)
{
    batch *b = to;
    return tb__batch_add_countries(b->store, zone, day, list, n, err);
}

/* --- a pack --- */

static tb_code take_day(stream *st, int64_t series, const tb_usage_pack *pack, const tb__packed_day *day, tb_error *err)
{
    const tb__lsm_entry entry = {{series, day->day}, pack->bytes + day->at, day->len};
    return tb__batch_add_entry(st->store, TB__LSM_COUNTERS, &entry, err);
}

/* Whether an owner that holds days at one location gets its second one. */
static bool is_second(const tb__owner *owner, const tb__packed_owner *of, const tb__packed_day *day,
                      const int64_t *edges)
{
    size_t one = 0;
    if (tb__is_whole(of->scope) || owner->n != 1 || owner->all) return false;
    const int64_t first = tb__owner_next(owner, &one)->edge;
    for (uint32_t i = 0; i < of->days; i++)
        if (edges[day[i].edge] != first) return true;
    return false;
}

/* The sums over all locations are the whole batch's, so what the owner held before it is copied first. */
static tb_code take_owner(stream *st, const tb_usage_pack *pack, const tb__packed_owner *of, const tb__packed_day *day,
                          const int64_t *edges, tb_error *err)
{
    tb__owner *owner = st->owner;
    int64_t series = 0;
    st->fresh = !owner->n && !owner->all;
    tb_code code = is_second(owner, of, day, edges) ? begin_all(st, err) : TB_OK;
    for (uint32_t i = 0; !code && i < of->days; i++, day++) {
        code = member_series(st, tb__is_whole(st->scope) ? 0 : edges[day->edge], &series, err);
        if (!code) code = take_day(st, series, pack, day, err);
    }
    if (!code && !owner->all && owner->n > 1) code = tb__series_begin(st->store, owner, 0, &owner->all, err);
    for (uint32_t i = 0; !code && owner->all && i < of->all; i++, day++)
        code = take_day(st, owner->all, pack, day, err);
    st->owner = NULL;
    st->fresh = false;
    return code;
}

static tb_code take_lists(batch *b, const tb_usage_pack *pack, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < pack->n_lists; i++) {
        const tb__packed_list *list = &pack->lists[i];
        const tb__lsm_entry entry = {{list->zone, list->day}, pack->bytes + list->at, list->len};
        code = tb__batch_add_entry(b->store, TB__LSM_COUNTRIES, &entry, err);
    }
    return code;
}

/* A pack's owner: the first of an account's part, which is its pull zones, then itself. */
static bool begins_account(const tb_usage_pack *pack, size_t i)
{
    const tb__packed_owner *of = &pack->owners[i];
    return of->scope == TB__SCOPE_ZONE && of->account &&
           (!i || of[-1].scope != TB__SCOPE_ZONE || of[-1].account != of->account);
}

/* The one pull zone of the part that begins there, 0: it has several. *ret_account: the account's place. */
static int64_t zone_of_part(const tb_usage_pack *pack, size_t i, size_t *ret_account)
{
    const size_t first = i;
    while (pack->owners[i].scope == TB__SCOPE_ZONE)
        i++;
    *ret_account = i;
    return i == first + 1 ? pack->owners[first].id : 0;
}

/* An account that shares the series of a pull zone, and gets usage of another. */
static bool ends_sharing(const tb_usage_pack *pack, const tb__packed_places *places, size_t i, tb__owner **ret_account)
{
    size_t at = 0;
    if (!begins_account(pack, i)) return false;
    const int64_t zone = zone_of_part(pack, i, &at);
    *ret_account = places->owner[at];
    return places->owner[at]->shares && places->owner[at]->shares != zone;
}

/* Whether stored usage of any of its owners will be read. */
static bool reads_any(const tb_usage_pack *pack, const tb__packed_places *places)
{
    const tb__packed_day *day = pack->days;
    tb__owner *account = NULL;
    for (size_t i = 0; i < pack->n_owners; i++) {
        const tb__packed_owner *of = &pack->owners[i];
        if (is_second(places->owner[i], of, day, places->edge) || ends_sharing(pack, places, i, &account)) return true;
        day += of->days + of->all;
    }
    return false;
}

/* first: where its part of the pack begins. */
static tb_code share_packed(tb_store *store, tb__owner *account, const tb_usage_pack *pack, size_t first,
                            const tb__packed_day *day, tb_error *err)
{
    size_t at = 0, locations = 0;
    const int64_t zone = zone_of_part(pack, first, &at);
    for (uint32_t i = 0; i < pack->owners[at].days; i++)
        locations += !i || day[i].edge != day[i - 1].edge;
    return share_zone(store, account, zone, locations, err);
}

static tb_code batch_take(void *to, const tb_usage_pack *pack, const tb__packed_places *places, tb_error *err)
{
    batch *b = to;
    const tb__packed_day *day = pack->days;
    tb__owner *account = NULL;
    size_t first = 0;
    tb_code code = reads_any(pack, places) ? tb__memtable_flush(b->store, err) : TB_OK;
    for (size_t i = 0; !code && i < pack->n_owners; i++) {
        const tb__packed_owner *of = &pack->owners[i];
        const bool is_account = of->scope == TB__SCOPE_ACCOUNT;
        tb__owner *owner = places->owner[i];
        stream *st = stream_of(b, of->scope);
        if (begins_account(pack, i)) first = i, b->accounts.stream.since = SIZE_MAX;
        if (ends_sharing(pack, places, i, &account)) code = end_sharing(&b->accounts.stream, account, SIZE_MAX, err);
        if (!code && is_account) code = share_packed(b->store, owner, pack, first, day, err);
        if (!is_account) st->since = SIZE_MAX;
        if (!code && !owner->shares) {
            st->owner = owner;
            code = take_owner(st, pack, of, day, places->edge, err);
        }
        day += of->days + of->all;
    }
    return code ? code : take_lists(b, pack, err);
}

static tb_code batch_end(void *of, int64_t newest, tb_error *err)
{
    batch *b = of;
    tb_store *store = b->store;
    tb_code code = finish_owner(&b->zones, err);
    if (!code) code = finish_owner(&b->balancers, err);
    if (!code) code = finish_owner(&b->meters, err);
    if (!code) code = flush_account(&b->accounts, err);
    if (!code) code = tb__series_save(store, err);
    if (!code) code = tb__batch_end(store, grown_by(store, b->before), newest, err);
    if (!code) code = save_cell_max(store, err);
    return !code && tb__memtable_is_due(store) ? end_batches(store, err) : code;
}

static void batch_free(void *of)
{
    batch *b = of;
    if (!b) return;
    tb__batch_drop(b->store);
    tb__pending_release(&b->zones.all_days);
    tb__pending_release(&b->balancers.all_days);
    tb__pending_release(&b->meters.all_days);
    account_days_release(&b->accounts);
    free(b);
}

/* --- a zone that finds its account --- */

/* What is done with each day that a location of the zone holds already: it is late where its month was run, and joins
 * the account. */
typedef struct adoption {
    tb_store *store;
    account_days accounts;
    tb__day_of at;
    size_t days; /* of the location */
} adoption;

static tb_code note_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    adoption *a = ctx;
    const tb__late_of of = {TB__SCOPE_ZONE, a->at.owner, a->at.account, a->at.edge, false};
    a->days++;
    return tb__late_note(a->store, of, day, hours, err);
}

static tb_code join_day(void *ctx, int64_t day, const tb_grid *hours, tb_error *err)
{
    adoption *a = ctx;
    a->at.day = day;
    return account_put(&a->accounts, &a->at, hours, err);
}

/* Calls fn for each day that the zone holds. *ret_locations: so many have days. */
static tb_code adopt_days(adoption *a, const tb__owner *zone, tb__day_fn fn, size_t *ret_locations, tb_error *err)
{
    size_t at = 0;
    tb_code code = TB_OK;
    *ret_locations = 0;
    for (const tb__member *m; !code && (m = tb__owner_next(zone, &at)) != NULL;) {
        a->at.edge = m->edge;
        a->days = 0;
        code = tb__series_days(a->store, (tb__series_part){m->series, 0, 0}, fn, a, err);
        *ret_locations += a->days > 0;
    }
    return code;
}

static tb_code adopt_zone(tb_store *store, int64_t zone, int64_t account, tb_error *err)
{
    tb__owner *from = NULL, *to = NULL;
    size_t locations = 0;
    bool kept = false;
    adoption a = {.store = store, .accounts = account_days_of(store), .at = {TB__SCOPE_ZONE, zone, 0, account, 0}};
    tb_code code = tb__memtable_flush(store, err);
    if (!code) code = tb__meta_get(store, "cell_max", &store->usage->cell_max, err);
    if (!code) code = tb__owner_get(store, TB__SCOPE_ZONE, zone, &from, err);
    if (!code) code = tb__owner_get(store, TB__SCOPE_ACCOUNT, account, &to, err);
    if (!code) code = adopt_days(&a, from, note_day, &locations, err);
    if (!code && locations) code = share_zone(store, to, zone, locations, err);
    if (!code && to->shares != zone) code = adopt_days(&a, from, join_day, &locations, err);
    if (!code) code = flush_account(&a.accounts, err);
    if (!code) code = tb__write_buffer_flush(store, err); /* cell_max is known then */
    if (!code) code = tb__usage_reserve(store, 0, &kept, err);
    if (!code) code = tb__meta_set(store, "cell_max", store->usage->cell_max, err);
    if (!code) code = tb__series_save(store, err);
    account_days_release(&a.accounts);
    return code;
}

/* --- the table --- */

static tb_code each_day(tb_store *store, int64_t series, tb__day_fn fn, void *ctx, tb_error *err)
{
    return tb__series_days(store, (tb__series_part){series, 0, 0}, fn, ctx, err);
}

tb_code tb_store_group_batches(tb_store *store, bool grouped, tb_error *err)
{
    tb_code code = tb__check_whole(store, err);
    if (!code && !grouped) code = end_batches(store, err);
    store->usage->memtable.grouped = grouped && !code;
    return code;
}

/* The COMMIT of the file writes it; cached lists of runs are out of date now (lsm/read.c). */
static tb_code commit(tb_store *store, tb_error *err)
{
    tb_code code = tb_store_group_batches(store, false, err);
    if (code || !store->usage->rows_changed) return code;
    store->usage->rows_changed = false;
    return tb__run_ints(store, TB__SQL_ROWS_CHANGED, NULL, 0, err);
}

static void abandon(tb_store *store, bool whole)
{
    if (whole) store->usage->rows_changed = false;
    tb__lsm_forget(&store->usage->lsm);
    tb__write_buffer_drop(store);
    tb__memtable_undo(store, whole);
}

const tb__counters tb__file_counters = {
    .begin = batch_begin,
    .add = batch_add,
    .add_countries = batch_add_countries,
    .take = batch_take,
    .end = batch_end,
    .free = batch_free,
    .commit = commit,
    .mark = tb__memtable_mark,
    .abandon = abandon,
    .adopt_zone = adopt_zone,
    .compact = tb__usage_compact_part,
    .undo = &tb__file_undo,
    .expire = tb__chunks_expire,
    .view = tb__chunks_view,
    .located_bytes = tb__chunks_located,
    .series = tb__read_chunks,
    .sum = tb__chunks_sum,
    .days = tb__chunks_days,
    .hours = tb__chunks_hours,
    .each_day = each_day,
    .billed_accounts = tb__chunks_billed,
    .first_month = tb__chunks_first_month,
};
