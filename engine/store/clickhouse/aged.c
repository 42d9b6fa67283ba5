/* Days of request logs that are over, and zones that were forgotten. A day is a partition, and goes as one. A zone's
 * rows up to a batch (meta.log_forgotten_ZONE) are seen by nobody from the transaction on that forgot them; ClickHouse
 * takes them out of its files in its own time, with their day at the latest. */
#include "store/clickhouse/lines.h"
#include "tollbook/calendar.h"

#include <inttypes.h>
#include <stdlib.h>

#define AGAIN_MS INT64_C(60000) /* a shard that did not answer is asked again after this */

static const char *const table_of[] = {[TB__CH_LOGS] = "log"};
static const char *const forgotten_of[] = {[TB__CH_LOGS] = "log_forgotten_%lld"};
static const tb__statement zones_of[] = {[TB__CH_LOGS] = TB__SQL_FORGET_LOG_ZONES};

static tb_code forgotten_up_to(tb_store *store, tb__ch_kind kind, int64_t zone, int64_t *ret, tb_error *err)
{
    char name[48];
    sqlite3_snprintf(sizeof name, name, forgotten_of[kind], (long long)zone);
    return tb__ch_meta(store, name, 0, ret, err);
}

tb_code tb__ch_put_seen(tb_store *store, tb_buf *sql, tb__ch_kind kind, int64_t zone, tb_error *err)
{
    int64_t batch = 0;
    tb_code code = forgotten_up_to(store, kind, zone, &batch, err);
    if (code) return code;
    if (batch) tb_buf_fmt(sql, " AND batch>%" PRId64, batch);
    return tb__ch_put_visible(store, sql, err);
}

/* --- days --- */

tb_code tb__ch_older(tb_store *store, tb__ch_kind kind, int64_t day, uint64_t *ret_blocks, uint64_t *ret_bytes,
                     tb_error *err)
{
    uint64_t blocks = 0, bytes = 0;
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++) {
        tb_buf *sql = tb__ch_start(store);
        tb_buf_fmt(sql, "SELECT toUInt64(uniqExact(partition)),toUInt64(sum(bytes_on_disk)) FROM system.parts WHERE active"
                        " AND database='%s' AND table='%s' AND toDate(partition)<toDate(%" PRId64 ") FORMAT RowBinary",
                   tb__ch_of(store)->client->database, table_of[kind], day);
        code = tb__ch_ask(store, shard, err);
        if (code) break;
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        if (r.at == r.end) continue;
        blocks += tb__ch_column(&r, 8);
        bytes += tb__ch_column(&r, 8);
        code = tb__ch_check_read(&r, err);
    }
    if (code) return code;
    *ret_blocks = blocks;
    *ret_bytes = bytes;
    return TB_OK;
}

/* The oldest such day of a shard; 0: there is none. */
static tb_code oldest(tb_store *store, size_t shard, const char *table, int64_t day, int64_t *ret_day, tb_error *err)
{
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "SELECT toUInt64(toUInt16(min(toDate(partition)))) FROM system.parts WHERE active AND database='%s'"
                    " AND table='%s' AND toDate(partition)<toDate(%" PRId64 ") FORMAT RowBinary",
               tb__ch_of(store)->client->database, table, day);
    tb_code code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    if (code) return code;
    *ret_day = r.at < r.end ? (int64_t)tb__ch_column(&r, 8) : 0;
    return tb__ch_check_read(&r, err);
}

static tb_code drop_of(tb_store *store, size_t shard, const char *table, int64_t day, uint64_t *dropped, tb_error *err)
{
    int64_t gone = 0;
    tb_code code = oldest(store, shard, table, day, &gone, err);
    while (!code && gone) {
        tb_buf *sql = tb__ch_start(store);
        char date[20];
        tb_time_format(gone * INT64_C(86400000000), date);
        tb_buf_fmt(sql, "ALTER TABLE %s.%s DROP PARTITION '%.10s'", tb__ch_of(store)->client->database, table, date);
        code = tb__ch_ask(store, shard, err);
        ++*dropped;
        if (!code) code = oldest(store, shard, table, day, &gone, err);
    }
    return code;
}

tb_code tb__ch_drop(tb_store *store, tb__ch_kind kind, int64_t now_ms, int64_t day, uint64_t *ret_dropped,
                    tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    struct tb__ch_dropped *d = &ch->dropped;
    uint64_t dropped = 0;
    tb_code code = TB_OK;
    if (ret_dropped) *ret_dropped = 0;
    if (day <= d->day || (now_ms >= d->tried_ms && now_ms - d->tried_ms < AGAIN_MS)) return TB_OK;
    for (size_t shard = 0; !code && shard < ch->client->shards; shard++) {
        code = drop_of(store, shard, table_of[kind], day, &dropped, err);
        if (!code) code = drop_of(store, shard, "log_gone", day, &dropped, err);
    }
    d->tried_ms = code ? now_ms : INT64_MAX;
    if (!code) d->day = day;
    if (ret_dropped) *ret_dropped = dropped;
    return code == TB_E_AWAY ? TB_OK : code;
}

/* --- accounts --- */

/* "(zone=.. AND batch>..) OR ..." of an account's zones of a shard; *ret_n how many. */
static tb_code put_zones(tb_store *store, tb_buf *sql, tb__ch_kind kind, const int64_t *zones, size_t n, size_t shard,
                         size_t *ret_n, tb_error *err)
{
    tb_code code = TB_OK;
    *ret_n = 0;
    for (size_t i = 0; !code && i < n; i++) {
        int64_t batch = 0;
        if (tb__ch_shard(store, TB__SCOPE_ZONE, zones[i]) != shard) continue;
        code = forgotten_up_to(store, kind, zones[i], &batch, err);
        tb_buf_fmt(sql, "%szone=%" PRId64 " AND batch>%" PRId64, *ret_n ? " OR " : "", zones[i], batch);
        ++*ret_n;
    }
    return code;
}

static tb_code count_zones(tb_store *store, tb__ch_kind kind, const int64_t *zones, size_t n, uint64_t *ret_blocks,
                           tb_error *err)
{
    uint64_t blocks = 0;
    tb_code code = tb__ch_settle(store, err);
    for (size_t shard = 0; !code && shard < tb__ch_of(store)->client->shards; shard++) {
        size_t here = 0;
        tb_buf *sql = tb__ch_start(store);
        tb_buf_fmt(sql, "SELECT toUInt64(uniqExact(zone,batch)) FROM %s.%s WHERE (", tb__ch_of(store)->client->database,
                   table_of[kind]);
        code = put_zones(store, sql, kind, zones, n, shard, &here, err);
        tb_buf_str(sql, ")");
        if (!code) code = tb__ch_put_visible(store, sql, err);
        tb_buf_str(sql, " FORMAT RowBinary");
        if (code || !here) continue;
        code = tb__ch_ask(store, shard, err);
        tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
        if (!code && r.at < r.end) blocks += tb__ch_column(&r, 8);
        if (!code) code = tb__ch_check_read(&r, err);
    }
    if (!code) *ret_blocks = blocks;
    return code;
}

tb_code tb__ch_count(tb_store *store, tb__ch_kind kind, int64_t account, uint64_t *ret_blocks, tb_error *err)
{
    int64_t *zones = NULL;
    size_t n = 0;
    tb_code code = tb__list_ints(store, zones_of[kind], &account, 1, &zones, &n, err);
    if (!code) code = count_zones(store, kind, zones, n, ret_blocks, err);
    free(zones);
    return code;
}

static tb_code forget_zone(tb_store *store, tb__ch_kind kind, int64_t zone, int64_t batch, tb_error *err)
{
    char name[48];
    tb_buf *sql = tb__ch_start(store);
    tb_buf_fmt(sql, "ALTER TABLE %s.%s DELETE WHERE zone=%" PRId64 " AND batch<=%" PRId64,
               tb__ch_of(store)->client->database, table_of[kind], zone, batch);
    tb_code code = tb__ch_ask(store, tb__ch_shard(store, TB__SCOPE_ZONE, zone), err);
    sqlite3_snprintf(sizeof name, name, forgotten_of[kind], (long long)zone);
    return code ? code : tb__ch_meta_put(store, name, batch, err);
}

tb_code tb__ch_forget(tb_store *store, tb__ch_kind kind, int64_t account, size_t *room, tb_error *err)
{
    int64_t *zones = NULL, batch = 0;
    uint64_t blocks = 0;
    size_t n = 0;
    tb_code code = tb__list_ints(store, zones_of[kind], &account, 1, &zones, &n, err);
    if (!code) code = count_zones(store, kind, zones, n, &blocks, err);
    if (!code) code = tb__ch_watermark(store, &batch, err);
    for (size_t i = 0; !code && blocks && i < n; i++)
        code = forget_zone(store, kind, zones[i], batch, err);
    *room -= blocks < *room ? (size_t)blocks : *room;
    store->dirty |= blocks > 0;
    free(zones);
    return code;
}
