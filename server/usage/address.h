/* The address of usage servers: clickhouse://HOST[:PORT][,HOST[:PORT]...]/DATABASE[?OPTION[&OPTION]]. The ports are
 * those of ClickHouse's HTTP interface. Each host is a shard; their order gives its number.
 *
 *     secure=1    HTTPS
 *     shards=N    the number of hosts, so that a list that lost one is refused */
#ifndef TOLLBOOK_SERVER_USAGE_ADDRESS_H
#define TOLLBOOK_SERVER_USAGE_ADDRESS_H

#include "tollbook/error.h"

#define USAGE_SHARDS_MAX 64
#define USAGE_HOST_MAX   264 /* with its port */
#define USAGE_NAME_MAX   64

typedef struct usage_address {
    bool secure;
    size_t shards;
    char shard[USAGE_SHARDS_MAX][USAGE_HOST_MAX + 1]; /* HOST:PORT */
    char database[USAGE_NAME_MAX + 1];
} usage_address;

/* TB_E_USAGE: it is no such address. The message quotes nothing of it, because it may contain a password. */
TB_MUST_USE tb_code usage_address_parse(const char *url, usage_address *ret, tb_error *err);

#endif
