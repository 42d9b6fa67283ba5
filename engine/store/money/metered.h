/* Usage of meters as it is stored: series, values of gauges, intervals of samples. Bills read it for an account's month
 * (meters.c), answers by windows (meter_windows.c). */
#ifndef TOLLBOOK_STORE_METERED_H
#define TOLLBOOK_STORE_METERED_H

#include "billing/days.h"
#include "store/core/internal.h"
#include "tollbook/meterstore.h"
#include "tollbook/origins.h"

typedef struct tb__meter_series {
    int64_t id, meter, account;
    int64_t series; /* of its counters in the plane; 0: none */
    size_t texts;   /* in tb__meter_list: the resource and two dimensions, each terminated */
} tb__meter_series;

/* A list of series, ascending by meter, resource, dimensions. */
typedef struct tb__meter_list {
    tb__meter_series *series;
    size_t n_series, cap_series;
    tb_buf texts;
} tb__meter_list;

void tb__meter_list_release(tb__meter_list *list);
/* Replaces the list with the rows of a statement, which is a tb__METER_SERIES one (sql.h). */
TB_MUST_USE tb_code tb__meter_list_read(tb_store *store, sqlite3_stmt *s, tb__meter_list *list, tb_error *err);
/* The texts of series i. */
const char *tb__meter_texts(const tb__meter_list *list, size_t i, const char *ret_dimension[TB_METER_DIMENSIONS]);

/* --- gauges --- */

/* Whether it has any value, the one, as reported, that held at the beginning, and the gaps in which the account was deleted, of any time. */
typedef struct tb__gauge_seen {
    bool any;
    uint64_t before;
    tb_origin_gap *gaps;
    size_t n_gaps, cap_gaps;
} tb__gauge_seen;

/* The values of a gauge. */
typedef struct tb__gauge {
    int64_t series;         /* meter_series */
    int64_t from_us, to_us; /* what held before is the first value */
    int64_t known;          /* as of this data version; INT64_MAX: now */
    int64_t round_up;       /* 0: not */
    struct tb__gauge_seen *seen; /* NULL, or gets what origins say of it */
} tb__gauge;
/* Calls fn for each value that held for a second or more, ascending; the last holds until to_us. None holds while the
 * account is deleted. */
TB_MUST_USE tb_code tb__gauge_each(tb_store *store, const tb__gauge *gauge, tb__held_fn fn, void *ctx, tb_error *err);

/* --- samples --- */

/* Hours [from_hour, from_hour + hours) of a series, `columns` counters from `first` on. */
typedef struct tb__slots {
    int64_t series, from_hour;
    uint32_t hours;
    int first, columns;
} tb__slots;
/* Adds column k of hour h to value[h * columns + k]. */
TB_MUST_USE tb_code tb__slots_add(tb_store *store, const tb__slots *slots, uint64_t *value, tb_error *err);
/* The counters of an hour that hold its intervals. */
static inline int tb__meter_columns(const tb_meter *meter)
{
    return meter->kind == TB_METER_SAMPLE && meter->interval < 3600 ? 3600 / meter->interval : 1;
}

#endif
