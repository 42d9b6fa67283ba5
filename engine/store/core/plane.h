/* The usage plane: counters, request logs and shield events, behind tables of functions, so that they can be stored
 * elsewhere than in the store's own file. The file is the first backend (tb__file_plane).
 *
 * The file itself always holds the control plane: the catalogue, edge codes, the series of each owner (the table
 * series), inputs, late usage and all money. A series' id names its counters in every backend. Only store/usage and
 * store/logs read or write the plane directly (tests/arch/test_plane.py; verify checks a backend's internals and
 * knows them). */
#ifndef TOLLBOOK_STORE_PLANE_H
#define TOLLBOOK_STORE_PLANE_H

#include "tollbook/logstore.h"
#include "tollbook/rollup.h"
#include "tollbook/retain.h"
#include "tollbook/audit.h"
#include "tollbook/store.h"
#include "tollbook/totals.h"

struct tb__country;
struct tb__undo;
struct tb__packed_places;
struct tb_usage_pack;

/* A day of a pull zone's edge location or of a load balancer (edge 0). account: the zone's, 0: it has
 * none. */
typedef struct tb__day_of {
    int scope;
    int64_t owner, edge, account, day;
} tb__day_of;

/* A view that was looked up: store->located are its locations with their series, those of its region alone. */
typedef struct tb__asked {
    const tb_view *view;
    int64_t whole; /* the series that holds all of it, 0: none */
} tb__asked;

typedef tb_code (*tb__day_fn)(void *ctx, int64_t day, const tb_grid *hours, tb_error *err);

/* What a backend holds, for verify. */
typedef struct tb__held_sums {
    tb_u128 metric[TB_METRIC_COUNT]; /* over the hours of all zones and load balancers */
    tb_u128 country_requests, country_bytes;
    int64_t newest_hour; /* INT64_MIN: there is none */
} tb__held_sums;

/* A sentence about what does not agree. */
typedef void (*tb__differ_fn)(void *ctx, const char *sentence);

/* A list that grows: who asked frees it. */
typedef struct tb__sizes {
    tb_size *list;
    size_t n, cap;
} tb__sizes;

typedef struct tb__counters {
    /* --- in: by the writer, in its transaction --- */

    /* One call of tb_store_add_usage. Days come account by account, zone by zone, location by location;
     * balancers behind them, then countries, ascending by zone and day. `end`: newest is the newest hour
     * added, INT64_MIN: none. `free` takes a batch that failed, too; NULL is fine. */
    tb_code (*begin)(tb_store *store, void **ret_batch, tb_error *err);
    tb_code (*add)(void *batch, const tb__day_of *of, const tb_grid *hours, tb_error *err);
    tb_code (*add_countries)(void *batch, int64_t zone, int64_t day, const struct tb__country *list,
                             size_t n, tb_error *err);
    /* All days and countries of a pack in one call. NULL: not supported. */
    tb_code (*take)(void *batch, const struct tb_usage_pack *pack, const struct tb__packed_places *places,
                    tb_error *err);
    tb_code (*end)(void *batch, int64_t newest, tb_error *err);
    void (*free)(void *batch);
    /* Before the file's own COMMIT: makes the additions visible to readers of the coming version. */
    tb_code (*commit)(tb_store *store, tb_error *err);
    /* Later additions may be rolled back separately. */
    void (*mark)(tb_store *store);
    /* The transaction was rolled back, or its part since the last mark. */
    void (*abandon)(tb_store *store, bool whole);
    /* Adds a zone's usage to its account, and notes the late part of it. */
    tb_code (*adopt_zone)(tb_store *store, int64_t zone, int64_t account, tb_error *err);
    /* See tb_store_compact_pending; through: of each kind of run, 0 at first. NULL: nothing is ever pending. */
    tb_code (*compact)(tb_store *store, int64_t *through, bool *ret_more, tb_error *err);
    const struct tb__undo *undo; /* tb_store_withdraw_usage: store/usage/withdraw.h */
    /* See tb_store_retain. */
    tb_code (*expire)(tb_store *store, tb_retain_walk *walk, bool *ret_over, tb_error *err);

    /* --- out: in the caller's snapshot --- */

    tb_code (*view)(tb_store *store, const tb__asked *asked, tb_series *series, tb_error *err);
    /* The bytes of each of store->located. */
    tb_code (*located_bytes)(tb_store *store, const tb__asked *asked, tb_range range, tb_error *err);
    /* One series' columns. */
    tb_code (*series)(tb_store *store, int64_t id, tb_series *series, tb_error *err);
    /* The columns of several series together, each listed once. NULL: they are read one by one. */
    tb_code (*series_together)(tb_store *store, tb_summed *list, size_t n, tb_series *series, tb_error *err);
    /* See tb_store_sum. */
    tb_code (*sum)(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics,
                   tb_error *err);
    /* One counter of a month's days, of a day's hours. */
    tb_code (*days)(tb_store *store, int64_t series, tb_metric metric, int64_t month,
                    uint64_t days[32], tb_error *err);
    tb_code (*hours)(tb_store *store, int64_t series, tb_metric metric, int64_t day,
                     uint64_t hours[32], tb_error *err);
    /* Each day that a series holds, in no order. */
    tb_code (*each_day)(tb_store *store, int64_t series, tb__day_fn fn, void *ctx, tb_error *err);
    /* Accounts with something to bill, usage among it: see tb_store_billed_accounts. */
    tb_code (*billed_accounts)(tb_store *store, int64_t month, int64_t **ret_accounts, size_t *ret_n,
                               tb_error *err);
    /* Checks its data and sums it. NULL: verify reads the file's rows itself. */
    tb_code (*verify)(tb_store *store, tb__held_sums *ret_sums, tb__differ_fn differ, void *ctx,
                      tb_error *err);
    /* Adds the sizes of data outside of the file. NULL: none. */
    tb_code (*sizes)(tb_store *store, tb_size_by by, tb__sizes *to, tb_error *err);
    /* The first month with usage of an account; -1: none. */
    tb_code (*first_month)(tb_store *store, int64_t account, int64_t *ret_month, tb_error *err);
} tb__counters;

/* Lines of request logs. A backend's cursor begins with tb__log_cursor. See logstore.h and forget.h. */
typedef struct tb__log_lines {
    tb_code (*add)(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                   tb_error *err);
    /* See tb_store_mix_logs. NULL: blocks come by zone. */
    tb_code (*mix)(tb_store *store, const tb_logmixed *mixed, tb_error *err);
    /* The same; *through: the newest run that is meant, 0: all that there are now. */
    tb_code (*compact)(tb_store *store, int64_t *through, bool *ret_more, tb_error *err);
    tb_code (*subtract)(tb_store *store, const tb_loginfo *info, const void *bytes, size_t len,
                         uint64_t *removed, tb_error *err);
    /* At most *room blocks, subtracted from *room; or those of an hour, and *room 0 if there may be more. */
    tb_code (*drop)(tb_store *store, int64_t before_ms, size_t *room, uint64_t *ret_dropped, tb_error *err);
    tb_code (*older)(tb_store *store, int64_t before_ms, uint64_t *ret_blocks, uint64_t *ret_bytes,
                     tb_error *err);
    /* Blocks of an account's zones. */
    tb_code (*count)(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err);
    /* At most *room blocks, subtracted from *room. */
    tb_code (*forget)(tb_store *store, int64_t account, size_t *room, tb_error *err);
    tb_code (*search)(tb_store *store, int64_t zone, const tb_log_filter *filter, bool descending,
                      tb_log_cursor **ret_cursor, tb_error *err);
    tb_code (*next)(tb_log_cursor *cursor, tb_log_step *ret_step, tb_error *err);
    tb_code (*line)(tb_log_cursor *cursor, tb_logrow *ret_row, tb_error *err);
    tb_code (*sum)(tb_log_cursor *cursor, tb_logsum *sum, bool *ret_end, tb_error *err);
    size_t (*bytes)(const tb_log_cursor *cursor);
    void (*free)(tb_log_cursor *cursor);
    /* Checks its data. NULL: verify reads the file's rows itself. */
    tb_code (*verify)(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err);
} tb__log_lines;

struct tb_log_cursor {
    const tb__log_lines *of;
};

/* Shield events. See logstore.h and forget.h. */
typedef struct tb__shield_events {
    tb_code (*add)(tb_store *store, const tb_event_ref *refs, size_t n, uint64_t *ret_added,
                   tb_error *err);
    /* See tb_store_find_events; NULL: existing blocks are not changed. */
    tb_code (*find)(tb_store *store, const tb_event_ref *refs, size_t n, size_t *ret_runs, size_t *ret_bytes,
                    tb_error *err);
    /* At most *room blocks, subtracted from *room; or those of a day, and *room 0 if there may be more. */
    tb_code (*drop)(tb_store *store, int64_t first_day, size_t *room, uint64_t *ret_dropped, tb_error *err);
    tb_code (*count)(tb_store *store, int64_t account, uint64_t *ret_blocks, tb_error *err);
    /* *room blocks at most, and lessens it by them. */
    tb_code (*forget)(tb_store *store, int64_t account, size_t *room, tb_error *err);
    tb_code (*up)(tb_store *store, int64_t zone, const tb_event_key *from, tb_event_block_fn fn,
                  void *ctx, tb_error *err);
    tb_code (*down)(tb_store *store, int64_t zone, const tb_event_key *to, tb_event_block_fn fn,
                    void *ctx, tb_error *err);
    tb_code (*verify)(tb_store *store, tb__differ_fn differ, void *ctx, tb_error *err); /* the same */
} tb__shield_events;

typedef struct tb__plane {
    const tb__counters *counters;
    const tb__log_lines *logs;
    const tb__shield_events *events;
} tb__plane;

/* The file's own tables. */
extern const tb__counters tb__file_counters;
extern const tb__log_lines tb__file_logs;
extern const tb__shield_events tb__file_events;

#endif
