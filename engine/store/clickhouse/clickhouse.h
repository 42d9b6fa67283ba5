/* ClickHouse as the usage plane: see open.c and lines.h. */
#ifndef TOLLBOOK_STORE_CLICKHOUSE_H
#define TOLLBOOK_STORE_CLICKHOUSE_H

#include "store/core/internal.h"

struct tb__clickhouse;

/* For a store that was just opened. client NULL: the file has its counters, and TB_E_USAGE where they are elsewhere.
 * Else the writer makes the tables that are missing. */
TB_MUST_USE tb_code tb__clickhouse_open(tb_store *store, const tb_usage_client *client, tb_error *err);
/* Directs the store to the servers that the file names, if usage was moved since it was opened: for a reader that begins a snapshot, and
 * for the writer behind the move. TB_E_AWAY: they are not known here. */
TB_MUST_USE tb_code tb__clickhouse_follow(tb_store *store, tb_error *err);
void tb__clickhouse_close(struct tb__clickhouse *clickhouse); /* NULL is fine */

#endif
