/* Keys of meters' series, numbered as they come. The hash has a secret seed: a client chooses the texts, and could choose ones
 * that all fall on one place of the table. */
#ifndef TOLLBOOK_ROLLUP_METERKEYS_H
#define TOLLBOOK_ROLLUP_METERKEYS_H

#include "rollup/index.h"
#include "tollbook/meter.h"

typedef struct tb__meter_keys {
    uint64_t seed;
    tb__index index;
    tb_meter_key *list;
    size_t n, cap;
} tb__meter_keys;

/* Begins with zeros and a seed. */
void tb__meter_keys_init(tb__meter_keys *keys);
void tb__meter_keys_release(tb__meter_keys *keys);
/* UINT32_MAX: it is not there. */
uint32_t tb__meter_keys_find(const tb__meter_keys *keys, const tb_meter_key *key);
/* Its number, which it gets now if it has none. */
TB_MUST_USE tb_code tb__meter_keys_add(tb__meter_keys *keys, const tb_meter_key *key, uint32_t *ret, tb_error *err);

#endif
