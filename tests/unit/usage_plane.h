/* Where the counters of a test's store lie: in its file, or, where TB_USAGE_SERVERS names ClickHouse servers
 * (HOST:PORT,HOST:PORT: a shard each), on these, in a database of its own. So one test is about both backends
 * (tests/http/test_usage_units.py). TB_LEFT_OUT names tests, with a comma on either side, that are about one of them. */
#ifndef TOLLBOOK_TESTS_USAGE_PLANE_H
#define TOLLBOOK_TESTS_USAGE_PLANE_H

#include "tollbook/usageclient.h"
#include "usage/servers.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A store keeps the client's address, so it stays where it is while the store is open. */
typedef struct usage_plane {
    tb_usage_client client; /* shards 0: the file has its usage */
    char database[32];
    bool kept; /* others are made from it */
} usage_plane;

static usage_servers *usage_plane_servers; /* of the program, to its end */

static inline void usage_plane_let_go(void)
{
    usage_servers_close(usage_plane_servers);
}

static inline const tb_usage_client *usage_plane_shards(void)
{
    const char *servers = getenv("TB_USAGE_SERVERS");
    char url[600];
    tb_error err = {0};
    if (!servers || usage_plane_servers) return usage_servers_client(usage_plane_servers);
    snprintf(url, sizeof url, "clickhouse://%s/none", servers);
    const usage_options options = {.url = url, .limit_ms = 60000, .remember = 1 << 20};
    ck_assert_msg(!usage_servers_open(&options, &usage_plane_servers, &err), "%s", err.message);
    atexit(usage_plane_let_go);
    return usage_servers_client(usage_plane_servers);
}

/* How many of something a test takes: each batch there is INSERTs on every server, so TB_USAGE_FEW has it take fewer. */
static inline unsigned usage_plane_part(unsigned whole, unsigned few)
{
    return usage_plane_shards() && getenv("TB_USAGE_FEW") ? few : whole;
}

static inline void usage_plane_take(usage_plane *to, const char *database)
{
    const tb_usage_client *shards = usage_plane_shards();
    *to = (usage_plane){.client = {0}};
    if (!shards) return;
    to->client = *shards;
    snprintf(to->database, sizeof to->database, "%s", database);
    to->client.database = to->database;
}

static inline void usage_plane_init(usage_plane *to)
{
    static unsigned made;
    char database[32];
    snprintf(database, sizeof database, "t%ld_%u", (long)getpid(), ++made);
    usage_plane_take(to, database);
}

/* For tb_store_options.usage. */
static inline const tb_usage_client *usage_plane_client(usage_plane *of)
{
    if (!of->client.shards) return NULL;
    of->client.database = of->database; /* it may have been copied */
    return &of->client;
}

static inline void usage_plane_drop(const usage_plane *of)
{
    char sql[80];
    tb_buf answer;
    tb_error err = {0};
    tb_buf_init(&answer, 1 << 10, NULL);
    snprintf(sql, sizeof sql, "DROP DATABASE IF EXISTS %s", of->database);
    for (size_t i = 0; !of->kept && i < of->client.shards; i++)
        ck_assert_msg(!of->client.ask(of->client.ctx, &(tb_usage_statement){.shard = i, .sql = sql}, &answer, &err), "%s", err.message);
    tb_buf_release(&answer);
}

static inline bool usage_plane_runs(const char *test)
{
    const char *left_out = getenv("TB_LEFT_OUT");
    char name[120];
    snprintf(name, sizeof name, ",%s,", test);
    return !left_out || !strstr(left_out, name);
}

#undef tcase_add_test
#define tcase_add_test(tc, test)                                                                                       \
    do {                                                                                                               \
        if (usage_plane_runs((test)->name)) tcase_add_test_raise_signal(tc, test, 0);                                      \
    } while (0)

#undef tcase_add_loop_test
#define tcase_add_loop_test(tc, test, first, end)                                                                      \
    do {                                                                                                               \
        if (usage_plane_runs((test)->name)) tcase_add_loop_test_raise_signal(tc, test, 0, first, end);                    \
    } while (0)

#endif
