/* Statements to ClickHouse's HTTP interface, for a store whose counters lie there (tollbook/usageclient.h). By libcurl,
 * to the addresses that the operator named and no other: no redirect is followed, time and answers are bounded. */
#ifndef TOLLBOOK_SERVER_USAGE_CLICKHOUSE_H
#define TOLLBOOK_SERVER_USAGE_CLICKHOUSE_H

#include "tollbook/usageclient.h"

/* url: clickhouse://HOST[:PORT][,HOST[:PORT]...]/DATABASE; each host is a shard. TB_E_USAGE: it is not. limit_ms:
 * of one statement. */
TB_MUST_USE tb_code clickhouse_new(const char *url, long limit_ms, tb_usage_client **ret_client,
                                   tb_error *err);
void clickhouse_free(tb_usage_client *client); /* NULL is fine */

#endif
