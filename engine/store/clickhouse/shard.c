/* The identity of a shard. A server's table `place` holds one number: the database's, and above it the shard's. A database
 * gets a random number when a file first uses it, and the file stores the number of the database that has its usage. So these
 * are refused, whatever they are called: servers in another order, a database that the usage was moved away from, one in which a
 * move was interrupted, and one of another file. Databases from before there were numbers have 0. */
#include "store/clickhouse/private.h"

#include <inttypes.h>

#define SHARDS      UINT64_C(65536) /* numbers are multiples of it */
#define NUMBER_MOST "70368744177663" /* 2^46-1: times SHARDS it fits a row of meta */

/* The least and the greatest number, as a row that was sent twice is stored twice. 0: there is none. */
typedef struct place {
    uint64_t least, most;
} place;

static int64_t number_of(const place *p)
{
    return (int64_t)(p->most / SHARDS * SHARDS);
}

static tb_code read_place(tb_store *store, size_t shard, place *ret, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    *ret = (place){0, 0};
    tb_buf_fmt(tb__ch_start(store), "SELECT min(shard),max(shard) FROM %s.place FORMAT RowBinary", ch->client->database);
    tb_code code = tb__ch_query(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    if (code || !ch->answer.len) return code;
    ret->least = tb__ch_column(&r, 8);
    ret->most = tb__ch_column(&r, 8);
    return tb__ch_check_read(&r, err);
}

tb_code tb__ch_create_schema(tb_store *store, size_t shard, tb_error *err)
{
    const char *name = tb__ch_of(store)->client->database;
    tb_buf_fmt(tb__ch_start(store), "CREATE DATABASE IF NOT EXISTS %s", name);
    tb_code code = tb__ch_query(store, shard, err);
    tb_buf_fmt(tb__ch_start(store), "CREATE TABLE IF NOT EXISTS %s.place(shard UInt64)ENGINE=MergeTree ORDER BY shard", name);
    return code ? code : tb__ch_query(store, shard, err);
}

/* The server draws the random number, as the engine has no source of randomness. */
static tb_code new_number(tb_store *store, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf_fmt(tb__ch_start(store), "SELECT toUInt64((rand64()%%" NUMBER_MOST "+1)*%" PRIu64 ") FORMAT RowBinary", SHARDS);
    tb_code code = tb__ch_query(store, 0, err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    ch->number = !code && ch->answer.len ? (int64_t)tb__ch_column(&r, 8) : 0;
    return code ? code : tb__ch_check_read(&r, err);
}

tb_code tb__ch_find_number(tb_store *store, bool used, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    if (used) return tb__ch_meta(store, TB__CH_NUMBER, 0, &ch->number, err);
    for (size_t shard = 0; shard < ch->client->shards; shard++) {
        place p = {0, 0};
        tb_code code = tb__ch_create_schema(store, shard, err);
        if (!code) code = read_place(store, shard, &p, err);
        ch->number = number_of(&p);
        if (code || p.most) return code;
    }
    return new_number(store, err);
}

static tb_code check_number(tb_store *store, const place *p, size_t shard, bool used, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    const char *name = ch->client->database;
    if (number_of(p) == ch->number) return TB_OK;
    if (used)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "The database %s of server %zu of --usage does not have the file's usage, which was moved to another one, or never was "
                       "here. Name the servers of the last `usage migrate`.",
                       name, shard + 1);
    return tb_fail(err, TB_E_USAGE, "usage",
                   "The database %s of server %zu belongs to other servers than that of server 1. Give another database name after the hosts; "
                   "it is created if it does not exist.",
                   name, shard + 1);
}

static tb_code check_place(tb_store *store, const place *p, size_t shard, bool used, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    const uint64_t wanted = (uint64_t)ch->number + shard + 1;
    tb_code code = check_number(store, p, shard, used, err);
    if (code || (p->least == wanted && p->most == wanted)) return code;
    return tb_fail(err, TB_E_USAGE, "usage",
                   "Server %zu of --usage is number %" PRIu64 " of the database %s. Name the servers in their first order, or another "
                   "database.",
                   shard + 1, p->most % SHARDS, ch->client->database);
}

/* A server without a number is new, or has lost its disk. It is not taken for a new one if the file has usage on it. */
tb_code tb__ch_join_shard(tb_store *store, size_t shard, bool used, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    const char *name = ch->client->database;
    place p;
    tb_code code = read_place(store, shard, &p, err);
    if (code || p.most) return code ? code : check_place(store, &p, shard, used, err);
    if (used)
        return tb_fail(err, TB_E_USAGE, "usage",
                       "Server %zu of --usage has lost the database %s, in which %s has usage. Restore its tables cell, country and place "
                       "from the server's backup, or name the right server.",
                       shard + 1, name, store->path);
    tb_buf_fmt(tb__ch_start(store), "INSERT INTO %s.place VALUES(%" PRIu64 ")", name, (uint64_t)ch->number + shard + 1);
    return tb__ch_query(store, shard, err);
}

tb_code tb__ch_check_shard(tb_store *store, size_t shard, tb_error *err)
{
    place p;
    tb_code code = tb__ch_find_number(store, true, err);
    if (!code) code = read_place(store, shard, &p, err);
    return code ? code : check_place(store, &p, shard, true, err);
}
