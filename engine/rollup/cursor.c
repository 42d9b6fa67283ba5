/* Reading rollups in order.
 *
 * The ids and the edge codes of all parts are ranked together first (their numbers in each part
 * say nothing about order). Groups and records are then filed by the rank of their id, which costs
 * one pass over them since the number of items of each id is known, and the few of one id are sorted by
 * (edge rank, day) only when the reader comes to that id. Items of the same id, edge and day, from any part,
 * are then adjacent and are summed into one grid.
 *
 * While one day is summed the groups of the next days are prefetched: they lie in the order of their
 * creation, scattered in memory. */
#include "rollup/grouped.h"
#include "rollup/intern.h"
#include "rollup/order.h"
#include "rollup/overflow.h"
#include "rollup/record.h"

#include <string.h>

enum { AHEAD = 16 };

/* Where items come from: a part's groups, its zones' records or its balancers' records. An item's
 * source is (part * KINDS + kind) * SLOTS + hour of the day. */
enum { KIND_GROUPS, KIND_RECORDS, KIND_BALANCER_RECORDS, KINDS, SLOTS = 32 };

struct tb_rollup_cursor {
    tb_alloc alloc_copy;
    const tb_alloc *alloc;
    const tb_rollup **parts;
    size_t n;
    size_t n_ids, n_edges; /* sums over the parts: how much was allocated */
    int64_t *id;           /* by rank: zones, then balancers */
    uint32_t zones;        /* ranks below are zones' */
    uint32_t ids;
    uint32_t *turns; /* ranks in the order in which they are read; NULL: ascending */
    uint32_t *id_rank; /* of part p's id i of a scope: id_rank[id_base[p * 2 + scope] + i] */
    uint32_t *id_base;
    const tb__edge **edge; /* by rank */
    uint32_t *edge_rank;   /* of part p's edge i: edge_rank[edge_base[p] + i] */
    uint32_t *edge_base;
    int32_t first_day;
    uint64_t days; /* from the first to the last */
    tb__ranked groups, countries;
    uint32_t rank; /* of the day that was read last: its id's, its edge's */
    uint64_t rank_of_edge;
    tb_code failed;
    tb_metric failed_metric;
    tb__spot failed_at; /* kind NULL: a country's counter */
};

/* The shared end of both rankings: items sorted by key become ranks; equal(a, b) says whether two
 * items next to each other are one. */
static tb__item *items_new(const tb_rollup_cursor *c, size_t n)
{
    return tb_alloc_resize(c->alloc, NULL, 0, 2 * n * sizeof(tb__item));
}

static void items_free(const tb_rollup_cursor *c, tb__item *items, size_t n)
{
    tb_alloc_free(c->alloc, items, 2 * n * sizeof(tb__item));
}

/* Ranks the ids of one scope after those that have ranks already. */
static bool rank_ids(tb_rollup_cursor *c, unsigned scope)
{
    size_t n = 0, at = 0;
    for (size_t p = 0; p < c->n; p++)
        n += c->parts[p]->ids[scope].items.n;
    if (n == 0) return true;
    tb__item *items = items_new(c, n);
    if (!items) return false;
    for (size_t p = 0; p < c->n; p++)
        for (uint32_t i = 0; i < c->parts[p]->ids[scope].items.n; i++)
            items[at++] = (tb__item){(uint64_t)tb__id_at(c->parts[p], scope, i)->id,
                                     (uint32_t)(p * TB__SCOPES + scope), i};
    tb__items_sort(items, items + n, n);
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || items[i].key != items[i - 1].key) c->id[c->ids++] = (int64_t)items[i].key;
        c->id_rank[c->id_base[items[i].source] + items[i].index] = c->ids - 1;
    }
    items_free(c, items, n);
    return true;
}

static const tb__edge *edge_of(const tb_rollup_cursor *c, const tb__item *item)
{
    return tb__edge_at(c->parts[item->source], item->index);
}

/* Sorts by the low half of the codes, then, keeping that order, by the high half. */
static void sort_edges(const tb_rollup_cursor *c, tb__item *items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        items[i].key = edge_of(c, &items[i])->low;
    tb__items_sort(items, items + n, n);
    for (size_t i = 0; i < n; i++)
        items[i].key = edge_of(c, &items[i])->high;
    tb__items_sort(items, items + n, n);
}

static bool rank_edges(tb_rollup_cursor *c)
{
    const size_t n = c->n_edges;
    if (n == 0) return true;
    tb__item *items = items_new(c, n);
    if (!items) return false;
    size_t at = 0;
    for (size_t p = 0; p < c->n; p++)
        for (uint32_t i = 0; i < c->parts[p]->edges.items.n; i++)
            items[at++] = (tb__item){0, (uint32_t)p, i};
    sort_edges(c, items, n);
    uint32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        const tb__edge *edge = edge_of(c, &items[i]);
        const tb__edge *last = i ? c->edge[rank] : edge;
        if (edge->high != last->high || edge->low != last->low) rank++;
        c->edge[rank] = edge;
        c->edge_rank[c->edge_base[items[i].source] + items[i].index] = rank;
    }
    items_free(c, items, n);
    return true;
}

/* The span of days over all parts. */
static void find_days(tb_rollup_cursor *c)
{
    int32_t first = INT32_MAX, last = INT32_MIN;
    for (size_t p = 0; p < c->n; p++)
        for (uint32_t i = 0; i < c->parts[p]->days.items.n; i++) {
            const int32_t day = tb__day_at(c->parts[p], i)->day;
            if (day < first) first = day;
            if (day > last) last = day;
        }
    c->first_day = first <= last ? first : 0;
    c->days = first <= last ? (uint64_t)((int64_t)last - first) + 1 : 1;
}

static uint32_t id_rank(const tb_rollup_cursor *c, size_t part, unsigned scope, uint64_t key)
{
    return c->id_rank[c->id_base[part * TB__SCOPES + scope] + tb__key_id(key)];
}

static const tb__chunks *items_of(const tb_rollup *part, unsigned kind)
{
    if (kind == KIND_GROUPS) return &part->groups;
    return &part->records[kind == KIND_RECORDS ? TB_ROLLUP_ZONE : TB_ROLLUP_BALANCER];
}

/* Groups and records both begin with their key. */
static uint64_t key_of(const tb__chunks *items, uint32_t i)
{
    uint64_t key;
    memcpy(&key, tb__chunks_at(items, i), sizeof key);
    return key;
}

static void put_groups(tb_rollup_cursor *c, size_t p, unsigned kind)
{
    const tb_rollup *part = c->parts[p];
    const tb__chunks *items = items_of(part, kind);
    const unsigned scope = kind == KIND_BALANCER_RECORDS ? TB_ROLLUP_BALANCER : TB_ROLLUP_ZONE;
    const uint32_t source = (uint32_t)(p * KINDS + kind) * SLOTS;
    for (uint32_t i = 0; i < items->n; i++) {
        const uint64_t key = key_of(items, i);
        const uint64_t edge = c->edge_rank[c->edge_base[p] + tb__key_middle(key)];
        const tb__hour *hour = tb__hour_at(part, tb__key_low(key));
        const int64_t day = hour->day;
        const tb__item item = {edge * c->days + (uint64_t)(day - c->first_day),
                               source + (uint32_t)(hour->hour - day * 24), i};
        tb__ranked_put(&c->groups, id_rank(c, p, scope, key), item);
    }
}

static void put_countries(tb_rollup_cursor *c, size_t p)
{
    const tb_rollup *part = c->parts[p];
    for (uint32_t i = 0; i < part->countries.n; i++) {
        const uint64_t key = key_of(&part->countries, i);
        const int64_t day = tb__day_at(part, tb__key_low(key))->day;
        const tb__item item = {(uint64_t)(day - c->first_day) << 16 | tb__key_middle(key),
                               (uint32_t)p, i};
        tb__ranked_put(&c->countries, id_rank(c, p, TB_ROLLUP_ZONE, key), item);
    }
}

/* Files everything by the rank of its id. */
static bool file_items(tb_rollup_cursor *c)
{
    if (!tb__ranked_begin(&c->groups, c->ids, c->alloc)) return false;
    if (!tb__ranked_begin(&c->countries, c->ids, c->alloc)) return false;
    for (size_t s = 0; s < c->n * TB__SCOPES; s++) {
        const tb_rollup *part = c->parts[s / TB__SCOPES];
        const unsigned scope = (unsigned)(s % TB__SCOPES);
        for (uint32_t i = 0; i < part->ids[scope].items.n; i++) {
            const tb__id *id = tb__id_at(part, scope, i);
            const uint32_t rank = c->id_rank[c->id_base[s] + i];
            tb__ranked_expect(&c->groups, rank, id->groups);
            tb__ranked_expect(&c->countries, rank, id->countries);
        }
    }
    if (!tb__ranked_lay(&c->groups, c->alloc) || !tb__ranked_lay(&c->countries, c->alloc))
        return false;
    for (size_t p = 0; p < c->n; p++) {
        for (unsigned kind = 0; kind < KINDS; kind++)
            put_groups(c, p, kind);
        put_countries(c, p);
    }
    return true;
}

/* Sizes and places of the tables of ids and edges. */
static void find_bases(tb_rollup_cursor *c)
{
    for (size_t p = 0; p < c->n; p++) {
        c->edge_base[p] = (uint32_t)c->n_edges;
        c->n_edges += c->parts[p]->edges.items.n;
        for (unsigned scope = 0; scope < TB__SCOPES; scope++) {
            c->id_base[p * TB__SCOPES + scope] = (uint32_t)c->n_ids;
            c->n_ids += c->parts[p]->ids[scope].items.n;
        }
    }
}

/* One more than needed, so that no table is empty. */
static bool make_tables(tb_rollup_cursor *c)
{
    c->id = tb_alloc_zero(c->alloc, c->n_ids + 1, sizeof *c->id);
    c->id_rank = tb_alloc_zero(c->alloc, c->n_ids + 1, sizeof *c->id_rank);
    c->edge = tb_alloc_zero(c->alloc, c->n_edges + 1, sizeof *c->edge);
    c->edge_rank = tb_alloc_zero(c->alloc, c->n_edges + 1, sizeof *c->edge_rank);
    return c->id && c->id_rank && c->edge && c->edge_rank;
}

static bool fill(tb_rollup_cursor *c, tb_rollup *const *parts)
{
    c->parts = tb_alloc_zero(c->alloc, c->n + 1, sizeof *c->parts);
    c->id_base = tb_alloc_zero(c->alloc, c->n * TB__SCOPES + 1, sizeof *c->id_base);
    c->edge_base = tb_alloc_zero(c->alloc, c->n + 1, sizeof *c->edge_base);
    if (!c->parts || !c->id_base || !c->edge_base) return false;
    for (size_t p = 0; p < c->n; p++)
        c->parts[p] = parts[p];
    find_bases(c);
    if (!make_tables(c) || !rank_ids(c, TB_ROLLUP_ZONE)) return false;
    c->zones = c->ids;
    if (!rank_ids(c, TB_ROLLUP_BALANCER) || !rank_edges(c)) return false;
    find_days(c);
    return file_items(c);
}

tb_rollup_cursor *tb_rollup_cursor_new(tb_rollup *const *parts, size_t n, const tb_alloc *alloc)
{
    tb_rollup_cursor *c = tb_alloc_zero(alloc, 1, sizeof *c);
    if (!c) return NULL;
    if (alloc) {
        c->alloc_copy = *alloc;
        c->alloc = &c->alloc_copy;
    }
    c->n = n;
    if (fill(c, parts)) return c;
    tb_rollup_cursor_free(c);
    return NULL;
}

void tb_rollup_cursor_free(tb_rollup_cursor *c)
{
    if (!c) return;
    tb__ranked_release(&c->groups, c->alloc);
    tb__ranked_release(&c->countries, c->alloc);
    tb_alloc_free(c->alloc, c->turns, (c->n_ids + 1) * sizeof *c->turns);
    tb_alloc_free(c->alloc, c->id, (c->n_ids + 1) * sizeof *c->id);
    tb_alloc_free(c->alloc, c->id_rank, (c->n_ids + 1) * sizeof *c->id_rank);
    tb_alloc_free(c->alloc, c->edge, (c->n_edges + 1) * sizeof *c->edge);
    tb_alloc_free(c->alloc, c->edge_rank, (c->n_edges + 1) * sizeof *c->edge_rank);
    tb_alloc_free(c->alloc, c->parts, (c->n + 1) * sizeof *c->parts);
    tb_alloc_free(c->alloc, c->id_base, (c->n * TB__SCOPES + 1) * sizeof *c->id_base);
    tb_alloc_free(c->alloc, c->edge_base, (c->n + 1) * sizeof *c->edge_base);
    const tb_alloc copy = c->alloc_copy;
    tb_alloc_free(c->alloc ? &copy : NULL, c, sizeof *c);
}

const int64_t *tb__cursor_zones(const tb_rollup_cursor *c, size_t *ret_n)
{
    *ret_n = c->zones;
    return c->id;
}

bool tb__cursor_group(tb_rollup_cursor *c, const int64_t *group)
{
    tb__item *items = items_new(c, c->zones + 1);
    if (!c->turns) c->turns = tb_alloc_zero(c->alloc, c->n_ids + 1, sizeof *c->turns);
    if (items && c->turns) {
        for (uint32_t i = 0; i < c->zones; i++)
            items[i] = (tb__item){(uint64_t)group[i], 0, i};
        tb__items_sort(items, items + c->zones, c->zones);
        for (uint32_t i = 0; i < c->ids; i++)
            c->turns[i] = i < c->zones ? items[i].index : i;
        c->groups.turns = c->turns;
    }
    if (items) items_free(c, items, c->zones + 1);
    return items && c->turns;
}

/* The slot of a column of the grid, which becomes defined by it. */
static inline uint64_t *grid_slot(tb_grid *grid, unsigned metric, unsigned slot)
{
    if (!(grid->metrics & TB_METRIC_BIT(metric))) {
        memset(grid->v[metric], 0, sizeof grid->v[metric]);
        grid->metrics |= TB_METRIC_BIT(metric);
    }
    return &grid->v[metric][slot];
}

static bool overflow(tb_rollup_cursor *c, unsigned metric)
{
    c->failed = TB_E_OVERFLOW;
    c->failed_metric = (tb_metric)metric;
    return false;
}

/* The counters that lines have; they head the grid's columns. Lines that do not tell their cache status
 * are rare where others do: they get their column when one comes. */
#define LINE_METRICS                                                                               \
    (TB_METRIC_BIT(TB_M_REQUESTS) | TB_METRIC_BIT(TB_M_BYTES) | TB_METRIC_BIT(TB_M_CACHED_BYTES) | \
     TB_METRIC_BIT(TB_M_PULLED) | TB_METRIC_BIT(TB_M_STATUS_3XX) |                                 \
     TB_METRIC_BIT(TB_M_STATUS_4XX) | TB_METRIC_BIT(TB_M_STATUS_5XX) |                             \
     TB_METRIC_BIT(TB_M_BALANCER_REQUESTS))

/* What one day's grid has met so far. */
typedef struct day_state {
    uint32_t carried;               /* columns of records, which stay even where they are zero */
    uint64_t seen[TB_METRIC_COUNT]; /* the bits of all values that lines added to a column */
} day_state;

static void define_lines(tb_grid *grid)
{
    for (uint32_t left = LINE_METRICS & ~grid->metrics; left; left &= left - 1)
        memset(grid->v[__builtin_ctz(left)], 0, sizeof *grid->v);
    grid->metrics |= LINE_METRICS;
}

/* Adds to a column of lines without asking whether there is anything to add: most counters are
 * zero at random, and the guess would cost more than the sum. */
static inline uint64_t put_line(tb_grid *grid, day_state *day, tb_metric metric, unsigned slot,
                                uint64_t value)
{
    day->seen[metric] |= value;
    return grid->v[metric][slot] += value;
}

static bool put_group(tb_rollup_cursor *c, const tb__group *group, unsigned slot, tb_grid *grid,
                      day_state *day)
{
    const uint32_t *count = group->count;
    if ((grid->metrics & LINE_METRICS) != LINE_METRICS) define_lines(grid);
    uint64_t all = put_line(grid, day, TB_M_REQUESTS, slot, count[TB__COUNT_REQUESTS]);
    all |= put_line(grid, day, TB_M_BYTES, slot, group->bytes);
    all |= put_line(grid, day, TB_M_CACHED_BYTES, slot, group->cached_bytes);
    all |= put_line(grid, day, TB_M_PULLED, slot, count[TB__COUNT_PULLED]);
    all |= put_line(grid, day, TB_M_STATUS_3XX, slot, count[TB__COUNT_3XX]);
    all |= put_line(grid, day, TB_M_STATUS_4XX, slot, count[TB__COUNT_4XX]);
    all |= put_line(grid, day, TB_M_STATUS_5XX, slot, count[TB__COUNT_5XX]);
    all |= put_line(grid, day, TB_M_BALANCER_REQUESTS, slot, count[TB__COUNT_BALANCER]);
    if (__builtin_expect(count[TB__COUNT_UNKNOWN] != 0, 0))
        all |= *grid_slot(grid, TB_M_CACHE_UNKNOWN, slot) += count[TB__COUNT_UNKNOWN];
    /* None of the two addends passes 2^63 - 1, so a sum that does shows in the top bit. */
    return all >> 63 == 0 || overflow(c, TB_M_BYTES);
}

/* Columns of lines in which nothing was counted do not stay. */
static void drop_empty(tb_grid *grid, const day_state *day)
{
    for (uint32_t left = grid->metrics & LINE_METRICS & ~day->carried; left; left &= left - 1) {
        const unsigned metric = (unsigned)__builtin_ctz(left);
        if (!day->seen[metric]) grid->metrics &= ~TB_METRIC_BIT(metric);
    }
}

static bool put_record(tb_rollup_cursor *c, const tb__record *record, unsigned slot, tb_grid *grid,
                       day_state *day)
{
    day->carried |= record->metrics;
    const uint64_t *value = record->values;
    for (uint32_t left = record->metrics; left; left &= left - 1) {
        const unsigned metric = (unsigned)__builtin_ctz(left);
        if (!tb__metric_add(metric, grid_slot(grid, metric, slot), *value++))
            return overflow(c, metric);
    }
    return true;
}

static bool put_item(tb_rollup_cursor *c, const tb__item *item, tb_grid *grid, day_state *day)
{
    const unsigned slot = item->source % SLOTS, kind = item->source / SLOTS % KINDS;
    const tb_rollup *part = c->parts[item->source / SLOTS / KINDS];
    const tb__chunks *items = items_of(part, kind);
    grid->slots |= UINT32_C(1) << slot;
    if (kind == KIND_GROUPS) return put_group(c, tb__group_at(items, item->index), slot, grid, day);
    return put_record(c, tb__record_at(items, item->index), slot, grid, day);
}

/* Asks memory for the item AHEAD of the reader. Always in line: a compiler takes the call of a
 * function that only prefetches for one that does nothing. */
TB__INLINE void prefetch(const tb_rollup_cursor *c, const tb__ranked *list)
{
    if (list->n - list->at <= AHEAD) return;
    const tb__item *item = &list->items[list->at + AHEAD];
    const unsigned source = item->source / SLOTS;
    const tb__chunks *items = items_of(c->parts[source / KINDS], source % KINDS);
    const char *memory = tb__chunks_at(items, item->index);
    __builtin_prefetch(memory);
    __builtin_prefetch(memory + items->size - 1);
}

TB__INLINE void prefetch_country(const tb_rollup_cursor *c)
{
    const tb__ranked *list = &c->countries;
    if (list->n - list->at <= AHEAD) return;
    const tb__item *item = &list->items[list->at + AHEAD];
    __builtin_prefetch(tb__chunks_at(&c->parts[item->source]->countries, item->index));
}

static tb_rollup_day day_of(const tb_rollup_cursor *c, uint32_t rank, uint64_t key)
{
    const tb__edge *edge = c->edge[key / c->days];
    return (tb_rollup_day){.scope = rank < c->zones ? TB_ROLLUP_ZONE : TB_ROLLUP_BALANCER,
                           .id = c->id[rank],
                           .edge = edge->code,
                           .edge_len = edge->len,
                           .day = c->first_day + (int64_t)(key % c->days)};
}

/* Remembers where a counter was full; returns false. */
static bool full_at(tb_rollup_cursor *c, tb_rollup_day day, unsigned slot)
{
    c->failed_at = (tb__spot){.kind = day.scope == TB_ROLLUP_ZONE ? "Pull zone" : "Load balancer",
                              .id = day.id,
                              .edge = day.edge,
                              .edge_len = day.edge_len,
                              .hour = day.day * 24 + slot};
    return false;
}

bool tb_rollup_next_day(tb_rollup_cursor *c, tb_rollup_day *ret_day, tb_grid *grid)
{
    if (c->failed) return false;
    const tb__item *item = tb__ranked_peek(&c->groups);
    if (!item) return false;
    const uint32_t rank = c->groups.rank;
    const uint64_t key = item->key;
    day_state day = {0};
    grid->metrics = grid->slots = 0;
    do {
        prefetch(c, &c->groups);
        if (!put_item(c, item, grid, &day))
            return full_at(c, day_of(c, rank, key), item->source % SLOTS);
        tb__ranked_take(&c->groups);
        item = tb__ranked_peek(&c->groups);
    } while (item && c->groups.rank == rank && item->key == key);
    drop_empty(grid, &day);
    *ret_day = day_of(c, rank, key);
    c->rank = rank;
    c->rank_of_edge = key / c->days;
    return true;
}

size_t tb__cursor_zone(const tb_rollup_cursor *c)
{
    return c->rank;
}

size_t tb__cursor_edge(const tb_rollup_cursor *c)
{
    return c->rank_of_edge;
}

size_t tb__cursor_edges(const tb_rollup_cursor *c)
{
    return c->n_edges;
}

/* Adds an item to *sum; false where a sum would pass TB_COUNTER_MAX. */
static bool add_country(tb_rollup_cursor *c, const tb__item *item, tb_rollup_country *sum)
{
    const tb__country *country = tb__country_at(&c->parts[item->source]->countries, item->index);
    if (tb__metric_add(TB_M_REQUESTS, &sum->requests, country->requests) &&
        tb__metric_add(TB_M_BYTES, &sum->bytes, country->bytes))
        return true;
    return overflow(c, TB_M_BYTES);
}

bool tb_rollup_next_country(tb_rollup_cursor *c, tb_rollup_country *ret_country)
{
    if (c->failed) return false;
    const tb__item *item = tb__ranked_peek(&c->countries);
    if (!item) return false;
    const uint32_t rank = c->countries.rank;
    const uint64_t key = item->key;
    tb_rollup_country sum = {
        .zone = c->id[rank], .day = c->first_day + (int64_t)(key >> 16), .country = (uint16_t)key};
    do {
        prefetch_country(c);
        if (!add_country(c, item, &sum)) return false;
        tb__ranked_take(&c->countries);
        item = tb__ranked_peek(&c->countries);
    } while (item && c->countries.rank == rank && item->key == key);
    *ret_country = sum;
    return true;
}

tb_code tb_rollup_cursor_check(const tb_rollup_cursor *c, tb_error *err)
{
    if (!c->failed) return TB_OK;
    if (c->failed_at.kind) return tb__overflow(&c->failed_at, c->failed_metric, err);
    return tb_fail(err, c->failed, tb_metric_table[c->failed_metric].name, NULL);
}
