/* Open addressing at no more than half load, by the first bytes of the SHA-256. A text is hashed before it is looked
 * up, so timing tells nothing about stored keys. All the same every comparison runs over all 32 bytes. */
#include "http/keys.h"

#include <stdlib.h>
#include <string.h>

struct key_table {
    size_t mask;
    tb_key *slots; /* id 0: empty */
};

static size_t slot_of(const uint8_t hash[TB_KEY_HASH])
{
    size_t p;
    memcpy(&p, hash, sizeof p);
    return p;
}

key_table *key_table_new(const tb_key *all, size_t n)
{
    size_t size = 16;
    while (size < n * 2)
        size *= 2;
    key_table *t = calloc(1, sizeof *t);
    tb_key *slots = calloc(size, sizeof *slots);
    if (!t || !slots) {
        free(t);
        free(slots);
        return NULL;
    }
    t->mask = size - 1;
    t->slots = slots;
    for (size_t i = 0; i < n; i++) {
        if (all[i].revoked_us != INT64_MAX) continue;
        size_t at = slot_of(all[i].hash) & t->mask;
        while (slots[at].id != 0)
            at = (at + 1) & t->mask;
        slots[at] = all[i];
    }
    return t;
}

void key_table_free(key_table *table)
{
    if (!table) return;
    free(table->slots);
    free(table);
}

tb_code key_table_load(tb_store *store, key_table **ret_table, tb_error *err)
{
    tb_key *all = NULL;
    size_t n = 0;
    tb_code code = tb_store_keys(store, &all, &n, err);
    if (code != TB_OK) return code;
    key_table *table = key_table_new(all, n);
    free(all);
    if (!table) return tb_no_memory(err);
    *ret_table = table;
    return TB_OK;
}

const tb_key *key_table_find_hash(const key_table *table, const uint8_t hash[TB_KEY_HASH])
{
    for (size_t at = slot_of(hash) & table->mask;; at = (at + 1) & table->mask) {
        const tb_key *key = &table->slots[at];
        bool same = tb_key_equal(key->hash, hash); /* an empty slot too, so that one is compared */
        if (key->id == 0) return NULL;
        if (same) return key;
    }
}

const tb_key *key_table_find(const key_table *table, const char *text, size_t len)
{
    uint8_t hash[TB_KEY_HASH];
    tb_key_hash(text, len, hash);
    return key_table_find_hash(table, hash);
}
