/* Log lines into groups. Lines come in blocks of BLOCK: a first pass turns each line into its keys and prefetches
 * the index slots that they need, a second prefetches the groups of those slots, a third counts. So the cache misses
 * of a whole block overlap.
 *
 * Each line adds a row of a small table, chosen by its cache status and status class; the counters of lines are 32
 * bits wide and cannot wrap, because a rollup takes at most 2^32 - 1 lines. Sums of bytes are checked by or-ing them
 * together: a line adds at most 2^44, so a sum above 2^63 - 1 shows its top bit before it can wrap. */
#include "rollup/intern.h"

#include <string.h>

enum { BLOCK = 64 };

/* Past this many lines a rollup is full, far before its counters are. */
#define HITS_FULL (UINT64_C(1) << 31)
/* Most groups of one rollup: an index holds 2^24, and a batch may come on top of a full rollup. */
#define GROUPS_FULL ((size_t)1 << 23)
/* Most counters kept for bucket rows: all of each group's. */
#define VALUES_PER_GROUP TB_METRIC_COUNT

tb_rollup *tb_rollup_new(size_t max_groups, const tb_alloc *alloc)
{
    tb_rollup *r = tb_alloc_zero(alloc, 1, sizeof *r);
    if (!r) return NULL;
    if (alloc) {
        r->alloc_copy = *alloc;
        r->alloc = &r->alloc_copy;
    }
    r->max_groups = max_groups < GROUPS_FULL ? max_groups : GROUPS_FULL;
    tb__interned_init(r);
    r->groups = TB__CHUNKS(tb__group, TB__GROUP_SHIFT);
    r->countries = TB__CHUNKS(tb__country, TB__COUNTRY_SHIFT);
    for (unsigned scope = 0; scope < TB__SCOPES; scope++)
        r->records[scope] = TB__CHUNKS(tb__record, TB__RECORD_SHIFT);
    r->values = TB__CHUNKS(uint64_t, TB__VALUE_SHIFT);
    return r;
}

void tb_rollup_free(tb_rollup *r)
{
    if (!r) return;
    tb__interned_release(r);
    tb__chunks_release(&r->groups, r->alloc);
    tb__chunks_release(&r->countries, r->alloc);
    tb__chunks_release(&r->values, r->alloc);
    for (unsigned scope = 0; scope < TB__SCOPES; scope++) {
        tb__chunks_release(&r->records[scope], r->alloc);
        tb__index_release(&r->record_index[scope], r->alloc);
    }
    const tb_alloc copy = r->alloc_copy;
    tb_alloc_free(r->alloc ? &copy : NULL, r, sizeof *r);
}

void tb_rollup_clear(tb_rollup *r)
{
    tb__interned_clear(r);
    r->groups.n = r->countries.n = r->values.n = 0;
    for (unsigned scope = 0; scope < TB__SCOPES; scope++) {
        r->records[scope].n = 0;
        tb__index_clear(&r->record_index[scope]);
    }
    r->hits = 0;
}

size_t tb_rollup_groups(const tb_rollup *r)
{
    return (size_t)r->groups.n + r->records[0].n + r->records[1].n;
}

size_t tb_rollup_edges(const tb_rollup *r)
{
    return r->edges.items.n;
}

size_t tb_rollup_countries(const tb_rollup *r)
{
    return r->countries.n;
}

size_t tb_rollup_bytes(const tb_rollup *r)
{
    size_t bytes = sizeof *r + tb__interned_bytes(r) + tb__chunks_bytes(&r->groups) +
                   tb__chunks_bytes(&r->countries) + tb__chunks_bytes(&r->values);
    for (unsigned scope = 0; scope < TB__SCOPES; scope++)
        bytes += tb__chunks_bytes(&r->records[scope]) + tb__index_bytes(&r->record_index[scope]);
    return bytes;
}

bool tb_rollup_full(const tb_rollup *r)
{
    return tb_rollup_groups(r) >= r->max_groups || r->countries.n >= r->max_groups ||
           r->values.n / VALUES_PER_GROUP >= r->max_groups || r->hits >= HITS_FULL ||
           r->edges.items.n >= TB__EDGES_FULL || r->hours.items.n >= TB__HOURS_FULL;
}

static uint64_t group_hash(const void *items, uint32_t i)
{
    const tb__group *group = tb__group_at(items, i);
    return tb__hash(group->key);
}

TB__INLINE bool group_same(const void *items, uint32_t i, const void *key)
{
    const tb__group *group = tb__group_at(items, i);
    return group->key == *(const uint64_t *)key;
}

static uint64_t country_hash(const void *items, uint32_t i)
{
    const tb__country *country = tb__country_at(items, i);
    return tb__hash(country->key);
}

TB__INLINE bool country_same(const void *items, uint32_t i, const void *key)
{
    const tb__country *country = tb__country_at(items, i);
    return country->key == *(const uint64_t *)key;
}

/* The group of key, made if there is none; NULL when out of memory. */
TB__INLINE tb__group *find_group(tb_rollup *r, tb__index *index, uint64_t key, uint64_t hash)
{
    uint32_t slot;
    if (!tb__index_room(index, &r->groups, group_hash, r->alloc)) return NULL;
    uint32_t i = tb__index_find(index, hash, group_same, &r->groups, &key, &slot);
    if (__builtin_expect(i != UINT32_MAX, 1)) return tb__group_at(&r->groups, i);
    if (r->groups.n >= TB__INDEX_ITEMS || !tb__chunks_room(&r->groups, r->alloc)) return NULL;
    i = r->groups.n++;
    tb__index_put(index, slot, hash, i);
    tb__id_at(r, TB_ROLLUP_ZONE, tb__key_id(key))->groups++;
    tb__group *group = tb__group_at(&r->groups, i);
    *group = (tb__group){.key = key};
    return group;
}

TB__INLINE tb__country *find_country(tb_rollup *r, tb__index *index, uint64_t key, uint64_t hash)
{
    uint32_t slot;
    if (!tb__index_room(index, &r->countries, country_hash, r->alloc)) return NULL;
    uint32_t i = tb__index_find(index, hash, country_same, &r->countries, &key, &slot);
    if (__builtin_expect(i != UINT32_MAX, 1)) return tb__country_at(&r->countries, i);
    if (r->countries.n >= TB__INDEX_ITEMS || !tb__chunks_room(&r->countries, r->alloc)) return NULL;
    i = r->countries.n++;
    tb__index_put(index, slot, hash, i);
    tb__id_at(r, TB_ROLLUP_ZONE, tb__key_id(key))->countries++;
    tb__country *country = tb__country_at(&r->countries, i);
    *country = (tb__country){.key = key};
    return country;
}

/* A line on its way into the groups. */
typedef struct plan {
    uint64_t key, hash;
    uint64_t country_key, country_hash; /* where the line has a country */
    tb__hour *hour;
    tb__day *day; /* NULL: no country */
} plan;

/* First pass: keys and hashes; false when out of memory. */
TB__INLINE bool plan_line(tb_rollup *r, const tb_hit *hit, plan *p)
{
    const uint32_t zone = tb__id_number(r, TB_ROLLUP_ZONE, hit->zone);
    const uint32_t edge = tb__edge_number(r, hit->edge, hit->edge_len);
    const uint32_t hour = tb__hour_number(r, hit->hour);
    if (zone == UINT32_MAX || edge == UINT32_MAX || hour == UINT32_MAX) return false;
    p->hour = tb__hour_at(r, hour);
    p->key = tb__key(zone, edge, hour);
    p->hash = tb__hash(p->key);
    tb__index_prefetch(&p->hour->groups, p->hash);
    p->day = hit->country ? tb__day_at(r, p->hour->day_no) : NULL;
    if (!p->day) return true;
    p->country_key = tb__key(zone, hit->country, p->hour->day_no);
    p->country_hash = tb__hash(p->country_key);
    tb__index_prefetch(&p->day->countries, p->country_hash);
    return true;
}

/* Second pass: the first slot of the bucket that bears the tag most often names the item. */
TB__INLINE uint32_t likely_item(const tb__index *index, uint64_t hash)
{
    if (!index->slots) return 0;
    const uint32_t *slots = index->slots + tb__index_home(index, hash);
    unsigned empty;
    const unsigned match = tb__bucket_match(slots, tb__index_tag(hash), &empty);
    return slots[__builtin_ctz(match | 8) & 3] & 0xffffff;
}

/* A group may lie across two cache lines. */
TB__INLINE void prefetch_group(const tb__group *group)
{
    __builtin_prefetch(group, 1);
    __builtin_prefetch(&group->count[TB__COUNTS - 1], 1);
}

#define COUNT(pulled, balancer, unknown, s3, s4, s5)                                               \
    {                                                                                              \
        [TB__COUNT_REQUESTS] = 1, [TB__COUNT_PULLED] = pulled, [TB__COUNT_BALANCER] = balancer,    \
        [TB__COUNT_UNKNOWN] = unknown, [TB__COUNT_3XX] = s3, [TB__COUNT_4XX] = s4,                 \
        [TB__COUNT_5XX] = s5                                                                       \
    }
#define CLASSES(pulled, balancer, unknown)                                                         \
    {                                                                                              \
        [0 ... 2] = COUNT(pulled, balancer, unknown, 0, 0, 0),                                     \
               [3] = COUNT(pulled, balancer, unknown, 1, 0, 0),                                    \
               [4] = COUNT(pulled, balancer, unknown, 0, 1, 0),                                    \
               [5] = COUNT(pulled, balancer, unknown, 0, 0, 1),                                    \
    }

/* What a line adds, by cache status and status class (docs/design/intake.md, "The counters"). */
static const uint32_t counts[4][6][TB__COUNTS_ROOM] = {
    [TB_CACHE_OTHER] = CLASSES(1, 1, 0),
    [TB_CACHE_SERVED] = CLASSES(0, 0, 0),
    [TB_CACHE_REVALIDATED] = CLASSES(0, 1, 0),
    [TB_CACHE_UNKNOWN] = CLASSES(0, 1, 1),
};

static inline bool from_cache(const tb_hit *hit)
{
    return hit->cache == TB_CACHE_SERVED || hit->cache == TB_CACHE_REVALIDATED;
}

/* Third pass; *watch collects the bits of all sums. */
TB__INLINE bool count_line(tb_rollup *r, const tb_hit *hit, const plan *p, uint64_t *watch)
{
    tb__group *group = find_group(r, &p->hour->groups, p->key, p->hash);
    if (!group) return false;
    const uint32_t *add = counts[hit->cache][hit->status / 100];
    for (unsigned i = 0; i < TB__COUNTS_ROOM; i++)
        group->count[i] += add[i];
    group->bytes += hit->bytes;
    group->cached_bytes += from_cache(hit) ? hit->bytes : 0;
    *watch |= group->bytes;
    if (!p->day) return true;
    tb__country *country = find_country(r, &p->day->countries, p->country_key, p->country_hash);
    if (!country) return false;
    country->requests++;
    country->bytes += hit->bytes;
    *watch |= country->bytes;
    return true;
}

static bool add_block(tb_rollup *r, const tb_hit *hits, size_t n, uint64_t *watch)
{
    plan plans[BLOCK];
    for (size_t i = 0; i < n; i++)
        if (!plan_line(r, &hits[i], &plans[i])) return false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t item = likely_item(&plans[i].hour->groups, plans[i].hash);
        if (item) prefetch_group(tb__group_at(&r->groups, item - 1));
        if (!plans[i].day) continue;
        const uint32_t country = likely_item(&plans[i].day->countries, plans[i].country_hash);
        if (country) __builtin_prefetch(tb__country_at(&r->countries, country - 1), 1);
    }
    for (size_t i = 0; i < n; i++)
        if (!count_line(r, &hits[i], &plans[i], watch)) return false;
    return true;
}

static tb_code too_many_lines(tb_error *err)
{
    return tb_fail(err, TB_E_OVERFLOW, NULL,
                   "A rollup holds 2^32 - 1 lines at most. Store it, and begin a new one for the lines that follow.");
}

tb_code tb_rollup_add_hits(tb_rollup *r, const tb_hit *hits, size_t n, tb_error *err)
{
    if (n > UINT32_MAX - r->hits)
        return too_many_lines(err);
    r->hits += n;
    uint64_t watch = 0;
    for (size_t at = 0; at < n; at += BLOCK)
        if (!add_block(r, hits + at, n - at < BLOCK ? n - at : BLOCK, &watch))
            return tb_no_memory(err);
    return watch >> 63 ? tb_fail(err, TB_E_OVERFLOW, "bytes", NULL) : TB_OK;
}

/* --- lines that were added up elsewhere --- */

static tb_code sum_passes(tb_error *err)
{
    return tb_fail(err, TB_E_OVERFLOW, "bytes", NULL);
}

tb_code tb_rollup_add_cell(tb_rollup *r, const tb_rollup_cell *cell, tb_error *err)
{
    if (cell->requests > UINT32_MAX - r->hits) return too_many_lines(err);
    const uint32_t zone = tb__id_number(r, TB_ROLLUP_ZONE, cell->zone);
    const uint32_t edge = tb__edge_number(r, cell->edge, cell->edge_len);
    const uint32_t hour = tb__hour_number(r, cell->hour);
    if (zone == UINT32_MAX || edge == UINT32_MAX || hour == UINT32_MAX) return tb_no_memory(err);
    const uint64_t key = tb__key(zone, edge, hour);
    tb__group *group = find_group(r, &tb__hour_at(r, hour)->groups, key, tb__hash(key));
    if (!group) return tb_no_memory(err);
    if (cell->bytes > TB_COUNTER_MAX - group->bytes) return sum_passes(err);
    const uint64_t add[TB__COUNTS] = {
        [TB__COUNT_REQUESTS] = cell->requests,   [TB__COUNT_PULLED] = cell->pulled,
        [TB__COUNT_3XX] = cell->status_3xx,      [TB__COUNT_4XX] = cell->status_4xx,
        [TB__COUNT_5XX] = cell->status_5xx,      [TB__COUNT_BALANCER] = cell->balancer_requests,
        [TB__COUNT_UNKNOWN] = cell->cache_unknown};
    for (unsigned i = 0; i < TB__COUNTS; i++)
        group->count[i] += (uint32_t)add[i];
    group->bytes += cell->bytes;
    group->cached_bytes += cell->cached_bytes;
    r->hits += cell->requests;
    return TB_OK;
}

tb_code tb_rollup_add_country(tb_rollup *r, const tb_rollup_country *c, tb_error *err)
{
    const uint32_t zone = tb__id_number(r, TB_ROLLUP_ZONE, c->zone);
    uint32_t day = 0;
    while (day < r->days.items.n && tb__day_at(r, day)->day != c->day)
        day++;
    if (zone == UINT32_MAX) return tb_no_memory(err);
    if (day == r->days.items.n)
        return tb_fail(err, TB_E_BAD_INPUT, "country", "A country has lines of a day without any.");
    const uint64_t key = tb__key(zone, c->country, day);
    tb__country *country = find_country(r, &tb__day_at(r, day)->countries, key, tb__hash(key));
    if (!country) return tb_no_memory(err);
    if (c->requests > UINT32_MAX - country->requests) return too_many_lines(err);
    if (c->bytes > TB_COUNTER_MAX - country->bytes) return sum_passes(err);
    country->requests += (uint32_t)c->requests;
    country->bytes += c->bytes;
    return TB_OK;
}
