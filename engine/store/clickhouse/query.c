/* Querying a shard, and reading its answer. */
#include "store/clickhouse/private.h"
#include "store/clickhouse/cache.h"

#include <string.h>

size_t tb__ch_shard(const tb_store *store, int scope, int64_t owner)
{
    const int base = scope == TB__SCOPE_METER ? TB__CH_METER : scope & ~TB__CH_DAYS;
    uint64_t z = (uint64_t)owner * 4 + (uint64_t)base;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (z ^ (z >> 31)) % tb__ch_of(store)->client->shards;
}

/* Checked after the answer: rows that were dropped before it arrived were recorded as dropped by then. */
static tb_code check_there(const struct tb__clickhouse *ch, tb_error *err)
{
    if (!ch->reads_cells) return TB_OK;
    for (size_t i = 0, n = tb__ch_cache_dropped(ch->cache); i < n; i++) {
        int64_t month = 0, batch = 0;
        tb__ch_cache_dropped_at(ch->cache, i, &month, &batch);
        if (tb__ch_month_batch(ch, month) < batch)
            return tb_fail(err, TB_E_AWAY, "usage", "Usage was compacted while it was being read. Ask again.");
    }
    return TB_OK;
}

tb_code tb__ch_unchecked(size_t shard, tb_error *err)
{
    return tb_fail(err, TB_E_AWAY, "usage",
                   "Usage server %zu was away when tollbook started, and has not been looked at since. Start it again; what "
                   "tollbook says on standard error may tell more.",
                   shard + 1);
}

/* Sends ch->sql; what comes is in ch->answer. */
tb_code tb__ch_query(tb_store *store, size_t shard, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = tb_buf_check(&ch->sql, err);
    ch->answer.len = 0;
    if (!code && tb__ch_cache_fenced(ch->cache)) code = tb__ch_fenced(err);
    if (!code && ch->cache && !ch->checking && !tb__ch_cache_saw(ch->cache, shard)) code = tb__ch_unchecked(shard, err);
    if (!code) tb_buf_add(&ch->sql, "", 1);
    if (!code) code = tb_buf_check(&ch->sql, err);
    const tb_usage_statement of = {.shard = shard, .sql = ch->sql.data, .brief = ch->brief};
    if (!code) code = ch->client->ask(ch->client->ctx, &of, &ch->answer, err);
    return code ? code : check_there(ch, err);
}

uint64_t tb__ch_column(tb__ch_reader *r, size_t size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->cut = true;
        return 0;
    }
    memcpy(&value, r->at, size); /* little-endian, as RowBinary is */
    r->at += size;
    return value;
}

const char *tb__ch_columns(tb__ch_reader *r, size_t size, size_t n)
{
    if ((size_t)(r->end - r->at) / size < n) r->cut = true;
    if (r->cut) return r->at;
    r->at += n * size;
    return r->at - n * size;
}

size_t tb__ch_array(tb__ch_reader *r, size_t size, const char **ret_at)
{
    size_t n = 0;
    unsigned shift = 0;
    uint8_t byte = 0x80;
    for (; byte & 0x80 && shift < 35; shift += 7) {
        byte = (uint8_t)tb__ch_column(r, 1);
        n |= (size_t)(byte & 0x7f) << shift;
    }
    if (byte & 0x80) r->cut = true;
    *ret_at = tb__ch_columns(r, size, n);
    return r->cut ? 0 : n;
}

tb__ch_reader tb__ch_reader_of(const struct tb__clickhouse *ch)
{
    return (tb__ch_reader){ch->answer.data, ch->answer.data + ch->answer.len, false};
}

tb_code tb__ch_unexpected_row(tb_error *err)
{
    return tb_fail(err, TB_E_AWAY, "usage", "A usage server answered with hours that it was not asked for. Look at its log.");
}

tb_code tb__ch_check_read(const tb__ch_reader *r, tb_error *err)
{
    if (!r->cut) return TB_OK;
    return tb_fail(err, TB_E_AWAY, "usage", "A usage server's answer was cut off.");
}
