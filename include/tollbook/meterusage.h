/* Usage of meters in memory, on its way into the store (meterstore.h): counters and samples summed by series and hour, values
 * of gauges one by one. A batch belongs to one thread; the parts of several threads are stored together. */
#ifndef TOLLBOOK_METERUSAGE_H
#define TOLLBOOK_METERUSAGE_H

#include "tollbook/meter.h"
#include "tollbook/rollup.h"

TB_API_BEGIN

typedef struct tb_meter_value {
    size_t key;
    int64_t at_us;
    uint64_t value;
    uint64_t order; /* ascends over the input: of two values of one moment the later one holds */
} tb_meter_value;

/* A batch, or one thread's part of it. */
typedef struct tb_meter_usage {
    const tb_meter_key *keys;
    size_t n_keys;
    tb_rollup *hours; /* counters and samples: rows of load balancers, id: 1 + index of the key, counter k: interval k of the
                       * hour */
    const tb_meter_value *values; /* gauges */
    size_t n_values;
} tb_meter_usage;

typedef struct tb_meter_batch tb_meter_batch;
/* max_groups: the number of series' hours, and of values, at which it reports that it is full. NULL: out of memory. */
tb_meter_batch *tb_meter_batch_new(size_t max_groups);
void tb_meter_batch_free(tb_meter_batch *batch); /* NULL is fine */
void tb_meter_batch_clear(tb_meter_batch *batch); /* empties it, keeps the memory */
bool tb_meter_batch_full(const tb_meter_batch *batch);
size_t tb_meter_batch_bytes(const tb_meter_batch *batch); /* memory in use */
/* Adds what a line counts; key and at_us are of tb_meter_line_check, the key with its account. TB_E_OVERFLOW: the sum of an
 * hour or an interval would pass 2^63 - 1. After an error the batch must be cleared or freed. */
TB_MUST_USE tb_code tb_meter_batch_add(tb_meter_batch *batch, const tb_meter *meter, const tb_meter_key *key, int64_t at_us,
                                       uint64_t value, uint64_t order, tb_error *err);
/* What it holds, as long as nothing is added. */
tb_meter_usage tb_meter_batch_usage(const tb_meter_batch *batch);

/* Resources and their accounts: a table of one thread's. */
typedef struct tb_meter_resource {
    char noun[TB_METER_NOUN_MAX + 1];
    char name[TB_METER_RESOURCE_MAX + 1];
    int64_t account; /* 0: none was named yet */
} tb_meter_resource;
typedef struct tb_meter_resources tb_meter_resources;
tb_meter_resources *tb_meter_resources_new(void); /* NULL: out of memory */
void tb_meter_resources_free(tb_meter_resources *resources); /* NULL is fine */
void tb_meter_resources_clear(tb_meter_resources *resources);
/* NULL: it is not in the table. Good until one is added. Both texts may be longer than a resource's have room for: then NULL. */
tb_meter_resource *tb_meter_resources_find(const tb_meter_resources *resources, const char *noun, const char *name);
/* Adds one that is not in the table. */
TB_MUST_USE tb_code tb_meter_resources_add(tb_meter_resources *resources, const char *noun, const char *name, int64_t account,
                                           tb_error *err);
const tb_meter_resource *tb_meter_resources_list(const tb_meter_resources *resources, size_t *ret_n);

TB_API_END

#endif
