/* Rows of buckets into records. A record keeps its counters side by side, only those that it has
 * met; one that meets a new counter moves to a larger place and its old place is lost until the
 * rollup is cleared, which at most happens once for each counter. */
#include "rollup/intern.h"
#include "rollup/overflow.h"
#include "rollup/record.h"

#include <string.h>

static uint64_t record_hash(const void *items, uint32_t i)
{
    const tb__record *record = tb__record_at(items, i);
    return tb__hash(record->key);
}

static bool record_same(const void *items, uint32_t i, const void *key)
{
    const tb__record *record = tb__record_at(items, i);
    return record->key == *(const uint64_t *)key;
}

/* The record of key, made where there is none; NULL when out of memory. */
static tb__record *find_record(tb_rollup *r, unsigned scope, uint64_t key)
{
    tb__chunks *records = &r->records[scope];
    tb__index *index = &r->record_index[scope];
    const uint64_t hash = tb__hash(key);
    uint32_t slot;
    if (!tb__index_room(index, records, record_hash, r->alloc)) return NULL;
    const uint32_t i = tb__index_find(index, hash, record_same, records, &key, &slot);
    if (i != UINT32_MAX) return tb__record_at(records, i);
    if (!tb__chunks_room(records, r->alloc)) return NULL;
    tb__index_put(index, slot, hash, records->n);
    tb__id_at(r, scope, tb__key_id(key))->groups++;
    tb__record *record = tb__record_at(records, records->n++);
    *record = (tb__record){.key = key};
    return record;
}

/* Makes the record hold all of `metrics`, new ones as zeros. */
static bool widen(tb_rollup *r, tb__record *record, uint32_t metrics)
{
    const uint32_t all = record->metrics | metrics;
    if (all == record->metrics) return true;
    uint64_t *values = tb__chunks_run(&r->values, (uint32_t)__builtin_popcount(all), r->alloc);
    if (!values) return false;
    uint64_t *to = values;
    for (uint32_t left = all; left; left &= left - 1) {
        const unsigned metric = (unsigned)__builtin_ctz(left);
        const bool had = record->metrics & TB_METRIC_BIT(metric);
        *to++ = had ? record->values[tb__record_place(record, metric)] : 0;
    }
    record->values = values;
    record->metrics = all;
    return true;
}

static tb_code full(const tb_row *row, tb_metric metric, tb_error *err)
{
    const tb__spot spot = {.kind = row->balancer ? "Load balancer" : "Pull zone",
                           .id = row->id,
                           .edge = row->edge,
                           .edge_len = row->edge_len,
                           .hour = row->hour};
    return tb__overflow(&spot, metric, err);
}

static tb_code add_values(tb__record *record, const tb_row *row, tb_error *err)
{
    for (uint32_t left = row->metrics; left; left &= left - 1) {
        const unsigned metric = (unsigned)__builtin_ctz(left);
        uint64_t *value = &record->values[tb__record_place(record, metric)];
        if (!tb__metric_add(metric, value, row->value[metric]))
            return full(row, (tb_metric)metric, err);
    }
    return TB_OK;
}

tb_code tb_rollup_add_row(tb_rollup *r, const tb_row *row, tb_error *err)
{
    const tb_rollup_scope scope = row->balancer ? TB_ROLLUP_BALANCER : TB_ROLLUP_ZONE;
    const uint32_t id = tb__id_number(r, scope, row->id);
    const uint32_t edge = tb__edge_number(r, row->edge, row->edge_len);
    const uint32_t hour = tb__hour_number(r, row->hour);
    if (id == UINT32_MAX || edge == UINT32_MAX || hour == UINT32_MAX) return tb_no_memory(err);
    tb__record *record = find_record(r, scope, tb__key(id, edge, hour));
    if (!record || !widen(r, record, row->metrics & TB_METRIC_ALL)) return tb_no_memory(err);
    return add_values(record, row, err);
}
