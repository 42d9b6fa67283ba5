/* Seals: a hash over a row's columns, kept in the row, so that a change that no other row tells is
 * found by verify like a changed counter is by a chunk's checksum. */
#ifndef TOLLBOOK_STORE_SEAL_H
#define TOLLBOOK_STORE_SEAL_H

#include "base/hash.h"
#include "tollbook/error.h"

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

/* Of some tables meta has the sum of the seals of all rows, modulo 2^63. A trigger follows each change of meta, at a
 * cost that grows with the transaction: the sums of added rows are kept here, and written when it ends. */
#define TB__SEAL_SUMS(X) X(LOGS, "log_seals") X(LOG_RUNS, "log_run_seals") X(EVENTS, "event_seals")

typedef enum tb__seal_sum {
#define X(name, meta) TB__SUM_##name,
    TB__SEAL_SUMS(X)
#undef X
    TB__SUM_COUNT
} tb__seal_sum;

typedef struct tb__seal_sums {
    uint64_t more[TB__SUM_COUNT];   /* of the transaction */
    uint64_t marked[TB__SUM_COUNT]; /* of its part before the mark */
} tb__seal_sums;

static inline void tb__seal_come(tb__seal_sums *sums, tb__seal_sum of, int64_t seal)
{
    sums->more[of] += (uint64_t)seal;
}

static inline void tb__seal_gone(tb__seal_sums *sums, tb__seal_sum of, int64_t seal)
{
    sums->more[of] -= (uint64_t)seal;
}

struct tb_store;
TB_MUST_USE tb_code tb__seals_write(struct tb_store *store, tb_error *err);

#endif
