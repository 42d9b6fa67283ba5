/* Seals: a hash over a row's columns, kept in the row, so that a change that no other row tells is
 * found by verify like a changed counter is by a chunk's checksum. */
#ifndef TOLLBOOK_STORE_SEAL_H
#define TOLLBOOK_STORE_SEAL_H

#include "base/hash.h"

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>

/* 63 bits: SQLite's integers are signed. */
static inline int64_t tb__seal(const void *bytes, size_t len, int64_t seed)
{
    return (int64_t)(XXH3_64bits_withSeed(bytes, len, (uint64_t)seed) >> 1);
}

#define TB__SEAL_BITS ((UINT64_C(1) << 62) - 1)

/* What tb_seal says of a row of numbers. */
int64_t tb__seal_numbers(const char *table, const int64_t *values, int n);
/* Makes the SQL function tb_seal known to a connection (sealed.h). */
int tb__seal_register(sqlite3 *db);

#endif
