/* Inside a rollup: what tb_rollup_add_* writes and the cursor reads.
 *
 * Ids, edge codes, hours and days are interned to small numbers, so that a group's key is one word:
 *
 *   63      40 39    20 19     0
 *   id         edge     hour          groups, rows
 *   zone       country  day           countries
 *
 * Groups stand in the order of their creation. Each hour has an index of its own: a log runs
 * through time, so the index in use and the groups it points at stay in the cache, whatever the
 * length of the log. Countries have one a day, for the same reason.
 *
 * Log lines need nine counters of which seven count lines, so a group of theirs is 56 bytes. Rows of
 * buckets carry any of all counters: a record keeps just those that it has met. */
#ifndef TB__ROLLUP_PARTS_H
#define TB__ROLLUP_PARTS_H

#include "rollup/chunks.h"
#include "rollup/index.h"
#include "tollbook/rollup.h"

enum { TB__KEY_BITS = 20, TB__KEY_MASK = (1 << TB__KEY_BITS) - 1 };

TB__INLINE uint64_t tb__key(uint32_t id, uint32_t middle, uint32_t low)
{
    return (uint64_t)id << 2 * TB__KEY_BITS | (uint64_t)middle << TB__KEY_BITS | low;
}

TB__INLINE uint32_t tb__key_id(uint64_t key)
{
    return (uint32_t)(key >> 2 * TB__KEY_BITS);
}

TB__INLINE uint32_t tb__key_middle(uint64_t key)
{
    return (uint32_t)(key >> TB__KEY_BITS) & TB__KEY_MASK;
}

TB__INLINE uint32_t tb__key_low(uint64_t key)
{
    return (uint32_t)key & TB__KEY_MASK;
}

/* The counters of log lines that count lines, in the order of tb__group.count. */
enum {
    TB__COUNT_REQUESTS,
    TB__COUNT_PULLED,
    TB__COUNT_3XX,
    TB__COUNT_4XX,
    TB__COUNT_5XX,
    TB__COUNT_BALANCER,
    TB__COUNT_UNKNOWN,
    TB__COUNTS,
    TB__COUNTS_ROOM = 8 /* in memory, so that a line adds two vectors */
};

typedef struct tb__group {
    uint64_t key;
    uint64_t bytes, cached_bytes;
    uint32_t count[TB__COUNTS_ROOM];
} tb__group;

typedef struct tb__record {
    uint64_t key;
    uint64_t *values; /* one for each bit of metrics, ascending */
    uint32_t metrics;
} tb__record;

typedef struct tb__country {
    uint64_t key;
    uint64_t bytes;
    uint32_t requests;
} tb__country;

/* An interned id, and how much is filed under it: the cursor lays out its order by that. */
typedef struct tb__id {
    int64_t id;
    uint32_t groups, countries;
} tb__id;

typedef struct tb__edge {
    uint64_t high, low; /* the bytes as big-endian numbers, zeros behind: they sort like the code */
    char code[TB_EDGE_MAX];
    uint8_t len;
} tb__edge;

typedef struct tb__hour {
    int32_t hour;
    int32_t day;     /* days since 1970 */
    uint32_t day_no; /* in days */
    tb__index groups;
} tb__hour;

typedef struct tb__day {
    int32_t day;
    tb__index countries;
} tb__day;

typedef struct tb__interned {
    tb__chunks items;
    tb__index index;
    uint64_t salt;
} tb__interned;

enum { TB__SCOPES = 2 };

/* Items in a block of each array, as powers of two: blocks of some MiB for what grows with the
 * input, of some KiB for the rest. */
enum {
    TB__GROUP_SHIFT = 17,
    TB__COUNTRY_SHIFT = 18,
    TB__RECORD_SHIFT = 12,
    TB__VALUE_SHIFT = 16,
    TB__ID_SHIFT = 10,
    TB__EDGE_SHIFT = 6,
    TB__HOUR_SHIFT = 6,
    TB__DAY_SHIFT = 4,
};

struct tb_rollup {
    tb_alloc alloc_copy;
    const tb_alloc *alloc; /* &alloc_copy, or NULL */
    size_t max_groups;
    uint64_t hits;                  /* lines added */
    tb__interned ids[TB__SCOPES];   /* tb__id, by tb_rollup_scope */
    tb__interned edges;             /* tb__edge */
    tb__interned hours;             /* tb__hour */
    tb__interned days;              /* tb__day */
    tb__chunks groups;              /* tb__group, zones alone */
    tb__chunks countries;           /* tb__country */
    tb__chunks records[TB__SCOPES]; /* tb__record */
    tb__index record_index[TB__SCOPES];
    tb__chunks values;             /* uint64_t, of records */
    size_t reserved;               /* groups that indexes of hours were made for in advance */
    uint32_t last_hour;            /* number of the hour found last, UINT32_MAX before any */
    uint32_t last_edge;            /* likewise, of edge codes that short_edges does not have */
    uint16_t short_edges[1 << 14]; /* two ASCII bytes -> number + 1, 0 unknown */
};

TB__INLINE tb__group *tb__group_at(const tb__chunks *groups, uint32_t i)
{
    return TB__CHUNKS_ITEM(groups, i, tb__group, TB__GROUP_SHIFT);
}

TB__INLINE tb__country *tb__country_at(const tb__chunks *countries, uint32_t i)
{
    return TB__CHUNKS_ITEM(countries, i, tb__country, TB__COUNTRY_SHIFT);
}

TB__INLINE tb__record *tb__record_at(const tb__chunks *records, uint32_t i)
{
    return TB__CHUNKS_ITEM(records, i, tb__record, TB__RECORD_SHIFT);
}

TB__INLINE tb__id *tb__id_at(const tb_rollup *r, unsigned scope, uint32_t i)
{
    return TB__CHUNKS_ITEM(&r->ids[scope].items, i, tb__id, TB__ID_SHIFT);
}

TB__INLINE tb__edge *tb__edge_at(const tb_rollup *r, uint32_t i)
{
    return TB__CHUNKS_ITEM(&r->edges.items, i, tb__edge, TB__EDGE_SHIFT);
}

TB__INLINE tb__hour *tb__hour_at(const tb_rollup *r, uint32_t i)
{
    return TB__CHUNKS_ITEM(&r->hours.items, i, tb__hour, TB__HOUR_SHIFT);
}

TB__INLINE tb__day *tb__day_at(const tb_rollup *r, uint32_t i)
{
    return TB__CHUNKS_ITEM(&r->days.items, i, tb__day, TB__DAY_SHIFT);
}

#endif
