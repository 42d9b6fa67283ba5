/* Packing usage. Each day is written as an entry as soon as the cursor gives it, and from there on entries
 * are added up, not grids: few counters, a dozen bytes each. A zone's days over all of its
 * locations, an account's days at each location and over all are sums of entries that lie there already; where
 * such a sum has one addend, it is that one's bytes. */
#include "store/usage/packed.h"

#include <stdlib.h>
#include <string.h>

#include "rollup/grouped.h"
#include "rollup/order.h"
#include "store/usage/cells.h"

#define ADDENDS 16 /* that are joined at once */

typedef struct packing {
    tb_usage_pack *to;
    tb_rollup_cursor *cursor;
    uint32_t *edge;        /* by the cursor's rank: of the pack's edges, plus 1; 0: it was not met yet */
    size_t first;          /* of the running owner's days */
    size_t account_owners; /* where the running account's zones begin */
    tb__item *items;       /* to be summed: a key, and an index into pack->days */
    size_t n_items, cap_items;
    uint8_t *joined; /* two entries */
} packing;

tb_usage_pack *tb_usage_pack_new(void)
{
    return calloc(1, sizeof(tb_usage_pack));
}

void tb_usage_pack_free(tb_usage_pack *pack)
{
    if (!pack) return;
    free(pack->edges);
    free(pack->owners);
    free(pack->days);
    free(pack->lists);
    free(pack->bytes);
    free(pack);
}

static void clear_pack(tb_usage_pack *pack)
{
    memset(pack->sums, 0, sizeof pack->sums);
    pack->country_requests = pack->country_bytes = 0;
    pack->cells = 0;
    pack->newest = INT64_MIN;
    pack->n_edges = pack->n_owners = pack->n_days = pack->n_lists = pack->len = 0;
}

/* --- putting --- */

static tb_code pack_room(tb_usage_pack *pack, size_t more, tb_error *err)
{
    if (pack->len + more <= pack->cap) return TB_OK;
    size_t cap = pack->cap ? pack->cap : (size_t)1 << 16;
    while (cap < pack->len + more)
        cap *= 2;
    uint8_t *bytes = cap > UINT32_MAX ? NULL : realloc(pack->bytes, cap);
    if (!bytes) return tb_no_memory(err);
    pack->bytes = bytes;
    pack->cap = cap;
    return TB_OK;
}

static tb_code put_day(tb_usage_pack *pack, tb__packed_day day, tb_error *err)
{
    tb_code code = tb__grow(&pack->days, pack->n_days, &pack->cap_days, sizeof *pack->days, err);
    if (!code) pack->days[pack->n_days++] = day;
    return code;
}

/* Adds the owner whose days begin at p->first; the days from `all` on are of all locations. */
static tb_code put_owner(packing *p, tb__packed_owner owner, size_t all, tb_error *err)
{
    tb_usage_pack *to = p->to;
    owner.days = (uint32_t)(all - p->first);
    owner.all = (uint32_t)(to->n_days - all);
    tb_code code = tb__grow(&to->owners, to->n_owners, &to->cap_owners, sizeof *to->owners, err);
    if (!code) to->owners[to->n_owners++] = owner;
    p->first = to->n_days;
    return code;
}

/* --- adding up --- */

static tb_code put_item(packing *p, uint64_t key, size_t day, tb_error *err)
{
    if (p->n_items == p->cap_items) {
        const size_t cap = p->cap_items ? p->cap_items * 2 : 1024;
        tb__item *items = realloc(p->items, 2 * cap * sizeof *items); /* the second half is for sorting */
        if (!items) return tb_no_memory(err);
        p->items = items;
        p->cap_items = cap;
    }
    p->items[p->n_items++] = (tb__item){key, 0, (uint32_t)day};
    return TB_OK;
}

static tb__lsm_entry entry_of(const tb_usage_pack *pack, const tb__item *item)
{
    const tb__packed_day *day = &pack->days[item->index];
    return (tb__lsm_entry){{0, 0}, pack->bytes + day->at, day->len};
}

/* Merges several entries into one, which is appended. */
static tb_code join_items(packing *p, const tb__item *items, size_t n, tb__packed_day *sum, tb_error *err)
{
    tb_usage_pack *to = p->to;
    tb__lsm_entry list[ADDENDS] = {entry_of(to, &items[0])};
    tb_code code = TB_OK;
    for (size_t i = 1, into = 0; !code && i < n; into ^= 1) {
        size_t some = 1;
        while (some < ADDENDS && i < n)
            list[some++] = entry_of(to, &items[i++]);
        uint8_t *out = p->joined + into * TB__ENTRY_MAX;
        code = tb__entry_sum(TB__LSM_COUNTERS, list, some, out, &list[0].len, err);
        list[0].data = out;
    }
    if (!code) code = pack_room(to, list[0].len, err);
    if (code) return code;
    sum->at = (uint32_t)to->len;
    sum->len = (uint32_t)list[0].len;
    memcpy(to->bytes + to->len, list[0].data, list[0].len);
    to->len += list[0].len;
    return TB_OK;
}

/* Merges the days of one key into one, which is appended. */
static tb_code sum_items(packing *p, tb_error *err)
{
    tb_code code = TB_OK;
    tb__items_sort(p->items, p->items + p->cap_items, p->n_items);
    for (size_t i = 0, n; !code && i < p->n_items; i += n) {
        const tb__item *first = &p->items[i];
        tb__packed_day sum = p->to->days[first->index];
        for (n = 1; i + n < p->n_items && first[n].key == first->key;)
            n++;
        if (n > 1) code = join_items(p, first, n, &sum, err);
        if (!code) code = put_day(p->to, sum, err);
    }
    p->n_items = 0;
    return code;
}

/* The days from p->first on, over all locations. */
static tb_code sum_locations(packing *p, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = p->first; !code && i < p->to->n_days; i++)
        code = put_item(p, (uint64_t)p->to->days[i].day, i, err);
    return code ? code : sum_items(p, err);
}

/* --- owners --- */

static tb_code end_zone(packing *p, int64_t zone, int64_t account, tb_error *err)
{
    const size_t all = p->to->n_days;
    tb_code code = sum_locations(p, err);
    return code ? code : put_owner(p, (tb__packed_owner){TB__SCOPE_ZONE, zone, account, 0, 0}, all, err);
}

static uint64_t day_place(const tb__packed_day *day)
{
    return (uint64_t)day->edge << TB__INDEX_BITS | (uint64_t)day->day;
}

/* The days of an account's zones at each location. */
static tb_code gather_account(packing *p, tb_error *err)
{
    const tb_usage_pack *pack = p->to;
    size_t at = pack->n_days;
    tb_code code = TB_OK;
    for (size_t i = pack->n_owners; i-- > p->account_owners;) {
        at -= pack->owners[i].days + pack->owners[i].all;
        for (size_t day = at; !code && day < at + pack->owners[i].days; day++)
            code = put_item(p, day_place(&pack->days[day]), day, err);
    }
    return code;
}

static tb_code end_account(packing *p, int64_t account, tb_error *err)
{
    tb_code code = account ? gather_account(p, err) : TB_OK;
    if (!code && account) code = sum_items(p, err);
    const size_t all = p->to->n_days;
    if (!code && account) code = sum_locations(p, err);
    if (!code && account) code = put_owner(p, (tb__packed_owner){TB__SCOPE_ACCOUNT, account, 0, 0, 0}, all, err);
    p->account_owners = p->to->n_owners;
    return code;
}

/* --- days --- */

static tb_code edge_of(packing *p, const tb_rollup_day *day, uint32_t *ret_edge, tb_error *err)
{
    tb_usage_pack *to = p->to;
    uint32_t *at = &p->edge[tb__cursor_edge(p->cursor)];
    if (!*at) {
        tb_code code = tb__grow(&to->edges, to->n_edges, &to->cap_edges, sizeof *to->edges, err);
        if (code) return code;
        tb__packed_edge *edge = &to->edges[to->n_edges++];
        *edge = (tb__packed_edge){.len = day->edge_len};
        memcpy(edge->code, day->edge, day->edge_len);
        *at = (uint32_t)to->n_edges;
    }
    *ret_edge = *at - 1;
    return TB_OK;
}

static tb_code pack_day(packing *p, const tb_rollup_day *day, const tb_grid *hours, tb_error *err)
{
    tb_usage_pack *to = p->to;
    tb__packed_day packed = {.day = (int32_t)day->day, .at = (uint32_t)to->len};
    tb_code code = day->scope == TB_ROLLUP_ZONE ? edge_of(p, day, &packed.edge, err) : TB_OK;
    if (!code) code = pack_room(to, TB__ENTRY_MAX, err);
    if (code) return code;
    packed.len = (uint32_t)tb__entry_put_grid(hours, to->bytes + to->len);
    to->len += packed.len;
    tb__count_sums(to->sums, &to->cells, day, hours);
    if (hours->slots) {
        const int64_t hour = day->day * 24 + 31 - __builtin_clz(hours->slots);
        if (hour > to->newest) to->newest = hour;
    }
    return put_day(to, packed, err);
}

/* Days come account by account, zone by zone; then those of load balancers. */
static tb_code pack_days(packing *p, const int64_t *account_of, tb_error *err)
{
    tb_rollup_day day, last = {0};
    tb_grid hours;
    int64_t account = 0;
    bool zone = false, balancer = false;
    tb_code code = TB_OK;
    while (!code) {
        const bool more = tb_rollup_next_day(p->cursor, &day, &hours);
        const bool goes_on = more && day.scope == last.scope && day.id == last.id;
        if (zone && !goes_on) code = end_zone(p, last.id, account, err);
        if (balancer && !goes_on && !code)
            code = put_owner(p, (tb__packed_owner){TB__SCOPE_BALANCER, last.id, 0, 0, 0}, p->to->n_days, err);
        zone = more && day.scope == TB_ROLLUP_ZONE;
        balancer = more && !zone;
        const int64_t next = zone ? account_of[tb__cursor_zone(p->cursor)] : 0;
        if (!code && next != account) code = end_account(p, account, err);
        account = next;
        if (!more) break;
        if (!code) code = pack_day(p, &day, &hours, err);
        last = day;
    }
    return code ? code : tb_rollup_cursor_check(p->cursor, err);
}

/* --- countries --- */

static tb_code put_list(tb_usage_pack *to, int64_t zone, int64_t day, const tb__country *list, size_t n, tb_error *err)
{
    tb_code code = tb__grow(&to->lists, to->n_lists, &to->cap_lists, sizeof *to->lists, err);
    if (!code) code = pack_room(to, TB__ENTRY_LIST_MAX, err);
    if (code) return code;
    const size_t len = tb__entry_put_list(list, n, to->bytes + to->len);
    to->lists[to->n_lists++] = (tb__packed_list){zone, day, (uint32_t)to->len, (uint32_t)len};
    to->len += len;
    return TB_OK;
}

static tb_code pack_countries(packing *p, tb_error *err)
{
    tb_usage_pack *to = p->to;
    tb__country list[TB__COUNTRY_MAX];
    tb_rollup_country c;
    int64_t zone = 0, day = 0;
    size_t n = 0;
    tb_code code = TB_OK;
    while (!code && tb_rollup_next_country(p->cursor, &c)) {
        if (n && (c.zone != zone || c.day != day)) {
            code = put_list(to, zone, day, list, n, err);
            n = 0;
        }
        zone = c.zone;
        day = c.day;
        list[n++] = (tb__country){c.country, c.requests, c.bytes};
        to->country_requests += c.requests;
        to->country_bytes += c.bytes;
    }
    return !code && n ? put_list(to, zone, day, list, n, err) : code;
}

/* --- the whole --- */

/* Ranks the accounts of the cursor's zones; afterwards its days come account by account. */
static tb_code group_by_account(packing *p, const tb_logged_zones *zones, int64_t **ret_account, tb_error *err)
{
    size_t n = 0;
    const int64_t *zone = tb__cursor_zones(p->cursor, &n);
    int64_t *account = calloc(n + 1, sizeof *account);
    if (!account) return tb_no_memory(err);
    *ret_account = account;
    for (size_t i = 0; zones && i < n; i++) {
        const tb_logged *known = tb_logged_find(zones, zone[i]);
        account[i] = known ? known->account : 0;
    }
    return tb__cursor_group(p->cursor, account) ? TB_OK : tb_no_memory(err);
}

static tb_code pack_all(packing *p, const tb_logged_zones *zones, tb_error *err)
{
    int64_t *account = NULL;
    p->edge = calloc(tb__cursor_edges(p->cursor) + 1, sizeof *p->edge);
    p->joined = malloc((size_t)2 * TB__ENTRY_MAX);
    tb_code code = p->edge && p->joined ? group_by_account(p, zones, &account, err) : tb_no_memory(err);
    if (!code) code = pack_days(p, account, err);
    if (!code) code = pack_countries(p, err);
    if (!code) code = tb_rollup_cursor_check(p->cursor, err);
    free(account);
    return code;
}

tb_code tb_usage_pack_fill(tb_usage_pack *pack, tb_rollup *const *parts, size_t n, const tb_logged_zones *zones,
                           tb_error *err)
{
    packing p = {.to = pack, .cursor = tb_rollup_cursor_new(parts, n, NULL)};
    clear_pack(pack);
    tb_code code = p.cursor ? pack_all(&p, zones, err) : tb_no_memory(err);
    tb_rollup_cursor_free(p.cursor);
    free(p.edge);
    free(p.items);
    free(p.joined);
    return code;
}
