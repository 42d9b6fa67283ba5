/* Every prepared statement of the store: each module has its own in a sql.h, a line each. Bound parameters only; a
 * statement that reads a tenant's data binds the account (?account). */
#ifndef TOLLBOOK_STORE_STATEMENTS_H
#define TOLLBOOK_STORE_STATEMENTS_H

#include "store/clickhouse/sql.h"
#include "store/core/sql.h"
#include "store/logs/sql.h"
#include "store/money/sql.h"
#include "store/proof/sql.h"
#include "store/replica/sql.h"
#include "store/things/sql.h"
#include "store/usage/sql.h"

#define TB__STATEMENTS(X)                                                                          \
    TB__CORE_STATEMENTS(X)                                                                         \
    TB__USAGE_STATEMENTS(X)                                                                        \
    TB__LOGS_STATEMENTS(X)                                                                         \
    TB__MONEY_STATEMENTS(X)                                                                        \
    TB__THINGS_STATEMENTS(X)                                                                       \
    TB__CLICKHOUSE_STATEMENTS(X)                                                                   \
    TB__PROOF_STATEMENTS(X)                                                                        \
    TB__REPLICA_STATEMENTS(X)

typedef enum tb__statement {
#define TB_X(name, sql) TB__SQL_##name,
    TB__STATEMENTS(TB_X)
#undef TB_X
        TB__SQL_COUNT
} tb__statement;

#endif
