/* Usage that lies on shards already moves to others. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_MOVE_H
#define TOLLBOOK_STORE_CLICKHOUSE_MOVE_H

#include "store/clickhouse/clickhouse.h"
#include "store/clickhouse/private.h"
#include "tollbook/usageservers.h"

/* See tb_store_move_usage. */
TB_MUST_USE tb_code tb__ch_reshard(tb_store *store, tb_usage_move *move, tb_error *err);

#endif
