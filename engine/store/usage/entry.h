/* What the LSM's entries say (store/lsm/lsm.h), for its kinds counters and countries: the counters that are not zero, as
 * LEB128. The key of counters is a series' id and a day, and the entry the day's hours; chunks of days are sums of these,
 * which are made where they are read or compacted. The key of countries is a pull zone and a day. */
#ifndef TOLLBOOK_STORE_ENTRY_H
#define TOLLBOOK_STORE_ENTRY_H

#include "store/lsm/lsm.h"
#include "store/usage/chunk.h"
#include "store/usage/country.h"
#include "tollbook/rollup.h"

extern const tb__lsm_client tb__usage_kinds[TB__LSM_KINDS];

static inline tb__lsm_key tb__entry_key_of(int64_t chunk_key)
{
    return (tb__lsm_key){chunk_key >> TB__SERIES_SHIFT, chunk_key & ((INT64_C(1) << TB__SERIES_SHIFT) - 1)};
}

#define TB__ENTRY_GRID_MAX (10 + TB_METRIC_COUNT * TB_GRID_SLOTS * 9)
#define TB__ENTRY_LIST_MAX (TB__COUNTRY_MAX * (2 + 9 + 9))
#define TB__ENTRY_MAX (TB__ENTRY_GRID_MAX > TB__ENTRY_LIST_MAX ? TB__ENTRY_GRID_MAX : TB__ENTRY_LIST_MAX)
_Static_assert(TB__ENTRY_MAX <= TB__LSM_ENTRY_MAX, "an entry is too long for a page");
_Static_assert(TB__INDEX_MAX == TB__LSM_INDEX_MAX, "a day has no place in a key");

/* Each returns the bytes written. */
size_t tb__entry_put_grid(const tb_grid *grid, uint8_t *out);
size_t tb__entry_put_list(const tb__country *list, size_t n, uint8_t *out);
/* false: not what put wrote. */
bool tb__entry_get_grid(const uint8_t *data, size_t len, tb_grid *ret_grid);
bool tb__entry_get_list(const uint8_t *data, size_t len, tb__country *list, size_t *ret_n);
/* Buckets that a grid's hours go to: those of hour 0 are at `first`, which may be outside of them, as may others. */
typedef struct tb__entry_buckets {
    uint64_t *const *value; /* by metric; NULL: it is not wanted */
    int64_t first, count;
    bool hourly; /* else all hours go to `first` */
} tb__entry_buckets;
/* Merges the values by the metric's type: a sum or a maximum. */
bool tb__entry_add_grid(const uint8_t *data, size_t len, const tb__entry_buckets *to);
/* Adds the values of some metrics and slots; of metrics that are summed. */
bool tb__entry_sum_grid(const uint8_t *data, size_t len, uint32_t metrics, uint32_t slots,
                        uint64_t sum[TB_METRIC_COUNT]);
/* The error for an entry of which get returned false. */
tb_code tb__entry_damaged(tb_error *err);
/* Sums n entries of one kind, one at least, into out (TB__ENTRY_MAX). Their keys are not looked at. */
TB_MUST_USE tb_code tb__entry_sum(tb__lsm_kind kind, const tb__lsm_entry *list, size_t n, uint8_t *out,
                                  size_t *ret_len, tb_error *err);

/* --- pending counters of one series, merged by day --- */

typedef struct tb__pending {
    size_t next; /* the position after the last lookup */
    struct tb__pending_day {
        int64_t index;
        tb_grid *grid;
    } *list; /* ascending by index */
    size_t n, cap; /* list[n..cap) may have spare grids */
} tb__pending;

/* The grid of an index, created empty if there is none. */
TB_MUST_USE tb_code tb__pending_at(tb__pending *p, int64_t index, tb_grid **ret_grid,
                                   tb_error *err);
tb_grid *tb__pending_find(const tb__pending *p, int64_t index); /* NULL: there is none */
/* Merges an entry of counters into it: a tb__lsm_fn. */
TB_MUST_USE tb_code tb__pending_add(void *pending, const tb__lsm_entry *entry, tb_error *err);
void tb__pending_clear(tb__pending *p);
void tb__pending_release(tb__pending *p);
/* Merges the pending entries of one chunk, of hours or of days, into a grid. */
TB_MUST_USE tb_code tb__pending_merge(tb__lsm *lsm, int64_t key, tb_grid *into, tb_error *err);
/* Chunks of hours of one series between two keys, both included: replaces what p holds; indexes are
 * days. */
TB_MUST_USE tb_code tb__pending_read(tb__pending *p, tb__lsm *lsm, int64_t first_key,
                                     int64_t last_key, tb_error *err);

#endif
