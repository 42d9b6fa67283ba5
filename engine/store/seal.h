/* Seals: a hash over the columns that say whose a row is, kept in the row, so that a changed or
 * swapped identity is found by verify like a changed counter is by a chunk's checksum. */
#ifndef TOLLBOOK_STORE_SEAL_H
#define TOLLBOOK_STORE_SEAL_H

#include "base/hash.h"

#include <stddef.h>
#include <stdint.h>

/* 63 bits: SQLite's integers are signed. */
static inline int64_t tb__seal(const void *bytes, size_t len, int64_t seed)
{
    return (int64_t)(XXH3_64bits_withSeed(bytes, len, (uint64_t)seed) >> 1);
}

static inline int64_t tb__seal_series(int64_t scope, int64_t owner, int64_t edge, int64_t id)
{
    const int64_t columns[4] = {scope, owner, edge, id};
    return tb__seal(columns, sizeof columns, 0);
}

static inline int64_t tb__seal_edge(int64_t id, const char *code, size_t len)
{
    return tb__seal(code, len, id);
}

#endif
