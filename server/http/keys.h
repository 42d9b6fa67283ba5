/* The valid keys, in memory. The writer builds a new table after every commit that changed keys and
 * publishes it (published.h), so a look-up takes no lock. A revoked key is not in the table. */
#ifndef TOLLBOOK_SERVER_HTTP_KEYS_H
#define TOLLBOOK_SERVER_HTTP_KEYS_H

#include "tollbook/store.h"

typedef struct key_table key_table;

/* An immutable table of the store's valid keys. */
TB_MUST_USE tb_code key_table_load(tb_store *store, key_table **ret_table, tb_error *err);
/* Same from an array, for tests. NULL when out of memory. */
key_table *key_table_new(const tb_key *all, size_t n);
void key_table_free(key_table *table); /* NULL is fine */
/* NULL: no valid key of that text. Always compares at least one hash, in constant time. */
const tb_key *key_table_find(const key_table *table, const char *text, size_t len);
/* The same by the text's SHA-256. */
const tb_key *key_table_find_hash(const key_table *table, const uint8_t hash[TB_KEY_HASH]);

#endif
