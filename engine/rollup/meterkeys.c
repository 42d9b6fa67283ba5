#include "rollup/meterkeys.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/list.h"

/* Without the padding behind the last text. */
#define KEY_BYTES (offsetof(tb_meter_key, dimension) + sizeof((tb_meter_key *)NULL)->dimension)

void tb__meter_keys_init(tb__meter_keys *keys)
{
    *keys = (tb__meter_keys){.seed = tb__hash_seed()};
}

void tb__meter_keys_release(tb__meter_keys *keys)
{
    tb__index_release(&keys->index, NULL);
    free(keys->list);
}

static uint64_t hash_of(const tb__meter_keys *keys, const tb_meter_key *key)
{
    return XXH3_64bits_withSeed(key, KEY_BYTES, keys->seed);
}

static uint64_t meter_key_hash(const void *items, uint32_t i)
{
    const tb__meter_keys *keys = items;
    return hash_of(keys, &keys->list[i]);
}

static bool meter_key_same(const void *items, uint32_t i, const void *key)
{
    return memcmp(&((const tb__meter_keys *)items)->list[i], key, KEY_BYTES) == 0;
}

uint32_t tb__meter_keys_find(const tb__meter_keys *keys, const tb_meter_key *key)
{
    uint32_t slot;
    return keys->n ? tb__index_find(&keys->index, hash_of(keys, key), meter_key_same, keys, key, &slot) : UINT32_MAX;
}

tb_code tb__meter_keys_add(tb__meter_keys *keys, const tb_meter_key *key, uint32_t *ret, tb_error *err)
{
    const uint64_t hash = hash_of(keys, key);
    uint32_t slot;
    if (!tb__index_room(&keys->index, keys, meter_key_hash, NULL)) return tb_no_memory(err);
    *ret = tb__index_find(&keys->index, hash, meter_key_same, keys, key, &slot);
    if (*ret != UINT32_MAX) return TB_OK;
    tb_code code = tb__grow(&keys->list, keys->n, &keys->cap, sizeof *keys->list, err);
    if (code) return code;
    *ret = (uint32_t)keys->n;
    keys->list[keys->n++] = *key;
    tb__index_put(&keys->index, slot, hash, *ret);
    return TB_OK;
}
