/* Rollup: records to counter deltas per (zone, edge location, hour), in bounded memory.
 *
 * A tb_rollup belongs to one thread. Several of them (one a worker) are read together, in order,
 * through a tb_rollup_cursor, which yields each (scope, id, edge, day) exactly once, ascending by
 * scope, id, edge code (bytes) and day, with the day's hours merged over all parts. */
#ifndef TOLLBOOK_ROLLUP_H
#define TOLLBOOK_ROLLUP_H

#include "tollbook/buf.h"
#include "tollbook/error.h"
#include "tollbook/intake.h"
#include "tollbook/metrics.h"

TB_API_BEGIN

/* A grid: the counters of one series over the slots of one chunk in memory, 24 hours of a day or
 * up to 31 days of a month. It is what log lines are summed into, what is merged, and what the
 * store packs into a row.
 *
 * Invariants: a column whose bit is not set in `metrics` is undefined and counts as zero; a column
 * whose bit is set is defined in all 32 slots; bit s of `slots` is set when slot s may hold a
 * value other than zero (a clear bit promises zeros). No value passes TB_COUNTER_MAX. */

#define TB_GRID_SLOTS 32

typedef struct tb_grid {
    uint32_t metrics;
    uint32_t slots;
    uint64_t v[TB_METRIC_COUNT][TB_GRID_SLOTS];
} tb_grid;

void tb_grid_clear(tb_grid *grid);
/* Adds value to (metric, slot) by the metric's rule. TB_E_OVERFLOW leaves the grid unchanged. */
TB_MUST_USE tb_code tb_grid_add(tb_grid *grid, tb_metric metric, unsigned slot, uint64_t value,
                                tb_error *err);
/* Merges src into dst slot by slot. TB_E_OVERFLOW leaves dst undefined. */
TB_MUST_USE tb_code tb_grid_merge(tb_grid *dst, const tb_grid *src, tb_error *err);
/* Merges all slots of src into one slot of dst: a day's hours into a month's day. */
TB_MUST_USE tb_code tb_grid_fold(tb_grid *dst, unsigned slot, const tb_grid *src, tb_error *err);

/* A rollup has zones and load balancers; the store counts series of meters, too. */
typedef enum tb_rollup_scope { TB_ROLLUP_ZONE, TB_ROLLUP_BALANCER, TB_ROLLUP_METER } tb_rollup_scope;

typedef struct tb_rollup tb_rollup;

/* max_groups: the number of (id, edge, hour) groups at which it reports that it is full. */
tb_rollup *tb_rollup_new(size_t max_groups, const tb_alloc *alloc);
void tb_rollup_free(tb_rollup *rollup);
void tb_rollup_clear(tb_rollup *rollup); /* empties it, keeps the memory */
bool tb_rollup_full(const tb_rollup *rollup);
size_t tb_rollup_groups(const tb_rollup *rollup);
size_t tb_rollup_edges(const tb_rollup *rollup); /* number of edge locations */
size_t tb_rollup_countries(const tb_rollup *rollup); /* number of (pull zone, day, country) */
size_t tb_rollup_bytes(const tb_rollup *rollup); /* memory in use */

/* Adds hits. On failure (NOMEM, OVERFLOW) the rollup must be cleared or freed.
 * TB_E_OVERFLOW: a counter would pass TB_COUNTER_MAX. Never stops half way for being full. */
TB_MUST_USE tb_code tb_rollup_add_hits(tb_rollup *rollup, const tb_hit *hits, size_t n,
                                       tb_error *err);
TB_MUST_USE tb_code tb_rollup_add_row(tb_rollup *rollup, const tb_row *row, tb_error *err);

/* Log lines summed up elsewhere: the hits of one (zone, edge, hour). */
typedef struct tb_rollup_cell {
    int64_t zone;
    const char *edge; /* as in tb_hit; borrowed for the call */
    uint8_t edge_len;
    int32_t hour;
    uint64_t requests, bytes, cached_bytes;
    uint64_t pulled, status_3xx, status_4xx, status_5xx, balancer_requests, cache_unknown;
} tb_rollup_cell;
/* Has the same effect as adding its hits, except for their countries. Errors as of tb_rollup_add_hits. The caller has
 * checked that no counter of lines exceeds the cell's requests. */
TB_MUST_USE tb_code tb_rollup_add_cell(tb_rollup *rollup, const tb_rollup_cell *cell,
                                       tb_error *err);

/* One day of one (scope, id, edge). grid's slots are the 24 hours. */
typedef struct tb_rollup_day {
    tb_rollup_scope scope;
    int64_t id;
    const char *edge; /* edge_len bytes, lives as long as the cursor; empty for balancers */
    size_t edge_len;
    int64_t day; /* days since 1970 */
} tb_rollup_day;

/* Requests and bytes of one (zone, day, country); country as in tb_hit, never 0. */
typedef struct tb_rollup_country {
    int64_t zone;
    int64_t day;
    uint16_t country;
    uint64_t requests, bytes;
} tb_rollup_country;

/* The countries of the lines; their cells, added before, have the same day. */
TB_MUST_USE tb_code tb_rollup_add_country(tb_rollup *rollup, const tb_rollup_country *country,
                                          tb_error *err);

typedef struct tb_rollup_cursor tb_rollup_cursor;
/* The parts must not change while the cursor lives. NULL when out of memory. */
tb_rollup_cursor *tb_rollup_cursor_new(tb_rollup *const *parts, size_t n, const tb_alloc *alloc);
void tb_rollup_cursor_free(tb_rollup_cursor *cursor);
/* true: *ret_day and *grid (cleared first) hold the next day. false: the end, or a failure that
 * tb_rollup_cursor_check reports. */
bool tb_rollup_next_day(tb_rollup_cursor *cursor, tb_rollup_day *ret_day, tb_grid *grid);
/* Ascending by zone, day, country. Independent of tb_rollup_next_day. */
bool tb_rollup_next_country(tb_rollup_cursor *cursor, tb_rollup_country *ret_country);
TB_MUST_USE tb_code tb_rollup_cursor_check(const tb_rollup_cursor *cursor, tb_error *err);

TB_API_END

#endif
