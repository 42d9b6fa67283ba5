/* Counters and samples go into a rollup by the number of their series' key. */
#include "tollbook/meterusage.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"
#include "rollup/meterkeys.h"
#include "tollbook/calendar.h"

#define KEYS_FULL ((size_t)1 << 18) /* 48 MiB */

struct tb_meter_batch {
    size_t max_groups;
    tb__meter_keys keys;
    tb_rollup *hours;
    tb_meter_value *values;
    size_t n_values, cap_values;
};

tb_meter_batch *tb_meter_batch_new(size_t max_groups)
{
    tb_meter_batch *b = calloc(1, sizeof *b);
    if (!b) return NULL;
    b->max_groups = max_groups;
    tb__meter_keys_init(&b->keys);
    b->hours = tb_rollup_new(max_groups, NULL);
    if (b->hours) return b;
    free(b);
    return NULL;
}

void tb_meter_batch_free(tb_meter_batch *b)
{
    if (!b) return;
    tb_rollup_free(b->hours);
    tb__meter_keys_release(&b->keys);
    free(b->values);
    free(b);
}

void tb_meter_batch_clear(tb_meter_batch *b)
{
    tb_rollup_clear(b->hours);
    tb__index_clear(&b->keys.index);
    b->keys.n = b->n_values = 0;
}

bool tb_meter_batch_full(const tb_meter_batch *b)
{
    return b->keys.n >= KEYS_FULL || b->n_values >= b->max_groups || tb_rollup_full(b->hours);
}

size_t tb_meter_batch_bytes(const tb_meter_batch *b)
{
    return b->keys.n * sizeof *b->keys.list + b->n_values * sizeof *b->values + tb__index_bytes(&b->keys.index) +
           tb_rollup_bytes(b->hours);
}

static tb_code passes(const tb_meter *meter, const tb_meter_key *key, int64_t at_us, tb_error *err)
{
    char when[21] = "";
    tb_time_format(at_us, when);
    return tb_fail(err, TB_E_OVERFLOW, "value",
                   "Meter \"%s\", %s \"%s\", %.20s: the sum of its values would pass 2^63 - 1; look for a line with too large a "
                   "value there, correct it and send the input again.",
                   meter->id, meter->noun, key->resource, when);
}

tb_code tb_meter_batch_add(tb_meter_batch *b, const tb_meter *meter, const tb_meter_key *key, int64_t at_us, uint64_t value,
                           uint64_t order, tb_error *err)
{
    uint32_t number = 0;
    tb_code code = tb__meter_keys_add(&b->keys, key, &number, err);
    if (code) return code;
    if (meter->kind == TB_METER_GAUGE) {
        code = tb__grow(&b->values, b->n_values, &b->cap_values, sizeof *b->values, err);
        if (!code) b->values[b->n_values++] = (tb_meter_value){number, at_us, value, order};
        return code;
    }
    const int64_t hour = tb_hour_from_us(at_us);
    const int64_t slot_us = meter->kind == TB_METER_SAMPLE ? meter->interval * INT64_C(1000000) : TB_US_PER_HOUR;
    const unsigned slot = (unsigned)((at_us - hour * TB_US_PER_HOUR) / slot_us);
    tb_row row = {.balancer = true, .id = (int64_t)number + 1, .hour = (int32_t)hour, .metrics = TB_METRIC_BIT(slot)};
    row.value[slot] = value;
    code = tb_rollup_add_row(b->hours, &row, err);
    return code == TB_E_OVERFLOW ? passes(meter, key, at_us, err) : code;
}

tb_meter_usage tb_meter_batch_usage(const tb_meter_batch *b)
{
    return (tb_meter_usage){b->keys.list, b->keys.n, b->hours, b->values, b->n_values};
}

/* --- resources --- */

struct tb_meter_resources {
    uint64_t seed;
    tb_meter_resource *list;
    size_t n, cap;
    tb__index index;
};

tb_meter_resources *tb_meter_resources_new(void)
{
    tb_meter_resources *r = calloc(1, sizeof *r);
    if (r) r->seed = tb__hash_seed();
    return r;
}

void tb_meter_resources_free(tb_meter_resources *r)
{
    if (!r) return;
    tb__index_release(&r->index, NULL);
    free(r->list);
    free(r);
}

void tb_meter_resources_clear(tb_meter_resources *r)
{
    tb__index_clear(&r->index);
    r->n = 0;
}

#define RESOURCE_BYTES offsetof(tb_meter_resource, account)

static uint64_t resource_hash(const void *items, uint32_t i)
{
    const tb_meter_resources *r = items;
    return XXH3_64bits_withSeed(&r->list[i], RESOURCE_BYTES, r->seed);
}

static bool resource_same(const void *items, uint32_t i, const void *key)
{
    const tb_meter_resources *r = items;
    return memcmp(&r->list[i], key, RESOURCE_BYTES) == 0;
}

/* All bytes behind the texts are zero. */
static bool name_resource(tb_meter_resource *ret, const char *noun, const char *name)
{
    const size_t noun_len = strlen(noun), len = strlen(name);
    if (noun_len > TB_METER_NOUN_MAX || len > TB_METER_RESOURCE_MAX) return false;
    memset(ret, 0, sizeof *ret);
    memcpy(ret->noun, noun, noun_len);
    memcpy(ret->name, name, len);
    return true;
}

tb_meter_resource *tb_meter_resources_find(const tb_meter_resources *r, const char *noun, const char *name)
{
    tb_meter_resource key;
    uint32_t slot;
    if (!r->n || !name_resource(&key, noun, name)) return NULL;
    const uint64_t hash = XXH3_64bits_withSeed(&key, RESOURCE_BYTES, r->seed);
    const uint32_t i = tb__index_find(&r->index, hash, resource_same, r, &key, &slot);
    return i == UINT32_MAX ? NULL : &r->list[i];
}

tb_code tb_meter_resources_add(tb_meter_resources *r, const char *noun, const char *name, int64_t account, tb_error *err)
{
    tb_meter_resource key;
    uint32_t slot;
    if (!name_resource(&key, noun, name)) return tb_fail(err, TB_E_INTERNAL, "resource", NULL);
    key.account = account;
    if (!tb__index_room(&r->index, r, resource_hash, NULL)) return tb_no_memory(err);
    tb_code code = tb__grow(&r->list, r->n, &r->cap, sizeof *r->list, err);
    if (code) return code;
    const uint64_t hash = XXH3_64bits_withSeed(&key, RESOURCE_BYTES, r->seed);
    (void)tb__index_find(&r->index, hash, resource_same, r, &key, &slot);
    r->list[r->n] = key;
    tb__index_put(&r->index, slot, hash, (uint32_t)r->n++);
    return TB_OK;
}

const tb_meter_resource *tb_meter_resources_list(const tb_meter_resources *r, size_t *ret_n)
{
    *ret_n = r->n;
    return r->list;
}
