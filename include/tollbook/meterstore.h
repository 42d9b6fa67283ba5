/* Meters in the store: declarations, series, usage. Values and the rules of a line: meter.h.
 *
 * Hours of counters and intervals of samples are counters of scope 4 in the usage plane (a counter's hour is in column 0, an
 * interval of a sample in column k: minute 5k of the hour; interval 3600: column 0). Values of gauges are rows of the table
 * gauge in the store's own file, whatever the backend. Everything can be read as of an earlier data version. */
#ifndef TOLLBOOK_METERSTORE_H
#define TOLLBOOK_METERSTORE_H

#include "tollbook/meterusage.h"
#include "tollbook/store.h"

TB_API_BEGIN

/* --- declarations --- */

/* Those that are declared now, ascending by id. free(). */
TB_MUST_USE tb_code tb_store_meters(tb_store *store, tb_meter **ret_meters, size_t *ret_n, tb_error *err);
/* TB_E_NOT_FOUND: no such meter is declared; the message lists near names. */
TB_MUST_USE tb_code tb_store_meter(tb_store *store, const char *id, tb_meter *ret_meter, tb_error *err);
/* Whether an account may get usage of meters: a catalogue declares it. *ret_resources: of meters, that it has. */
TB_MUST_USE tb_code tb_store_meter_account(tb_store *store, int64_t account, bool *ret_declared, int64_t *ret_resources,
                                           tb_error *err);
/* The account of a resource, 0: it was never seen. *ret_segment: the one that named it first. */
TB_MUST_USE tb_code tb_store_meter_resource(tb_store *store, const char *noun, const char *resource, int64_t *ret_account,
                                            int64_t *ret_segment, tb_error *err);

/* --- usage --- */

/* Adds usage in the caller's transaction, to the running segment (tb_store_add_segment ends it). Parts are of one batch: see
 * tb_meter_value.order. Several calls for one segment are one batch too: of a gauge's moment the later call holds.
 * *ret_stale: a resource belongs to another account than a key says, and nothing was added. Errors as of
 * tb_store_add_usage. */
TB_MUST_USE tb_code tb_store_add_meters(tb_store *store, const tb_meter_usage *parts, size_t n, bool *ret_stale, tb_error *err);
/* Takes usage of a withdrawn segment out again: counters and samples are subtracted, and all values of gauges that the segment
 * brought do not count any more, so that earlier ones of their moments do again. Before tb_store_withdraw_segment. */
TB_MUST_USE tb_code tb_store_withdraw_meters(tb_store *store, const tb_meter_usage *parts, size_t n, int64_t segment,
                                             tb_error *err);

/* --- reading --- */

/* The numbers of the meters of which an account has usage, ascending. free(). */
TB_MUST_USE tb_code tb_store_meters_used(tb_store *store, int64_t account, int64_t **ret_meters, size_t *ret_n, tb_error *err);

/* Which usage is asked for; account 0, resource "": all. */
typedef struct tb_meter_query {
    const tb_meter *meter;
    int64_t account;
    const char *resource;
    int64_t from_us, to_us;  /* where a window begins and ends */
    enum { TB_WINDOW_HOUR, TB_WINDOW_DAY, TB_WINDOW_MONTH, TB_WINDOW_WHOLE } window; /* whole: one, of days */
    bool unbounded; /* more than TB_METER_WINDOWS_MAX are fine */
    bool by_resource, by_dimension[TB_METER_DIMENSIONS];
    tb_decimal percentile; /* samples over months: percent, above 0 and below 100 */
    int64_t now_us;        /* gauges hold until then, and intervals that are over by then count */
} tb_meter_query;
#define TB_METER_DAYS_MAX    1100  /* from `from_us` to `to_us` */
#define TB_METER_WINDOWS_MAX 50000 /* of an answer */

typedef struct tb_meter_window {
    int64_t start_us, end_us;
    tb_i128 value; /* base units; gauges: unit-seconds; samples over months: the percentile's interval, else sums */
    char resource[TB_METER_RESOURCE_MAX + 1];
    char dimension[TB_METER_DIMENSIONS][TB_METER_VALUE_MAX + 1];
} tb_meter_window;

/* Windows that have usage, ascending by resource, dimensions, start. A gauge's values are rounded up as the meter says.
 * TB_E_VALIDATION: from_us or to_us is within a window, they are too far apart, or the answer has too many
 * windows; TB_E_NOT_KEPT. free(). */
TB_MUST_USE tb_code tb_store_meter_windows(tb_store *store, const tb_meter_query *query, tb_meter_window **ret_windows,
                                           size_t *ret_n, tb_error *err);

/* Adds the bytes of an account's pull zones, or of one of them, in a month's intervals of 5 minutes, as far as samples
 * were kept: value has TB_METER_SLOTS entries an hour. zone TB_ALL: all. */
TB_MUST_USE tb_code tb_store_bandwidth_samples(tb_store *store, int64_t account, int64_t zone, int64_t month, uint64_t *value,
                                               tb_error *err);

TB_API_END

#endif
