/* What lies on the shards, as system.parts tells it: rows and bytes of each table, or of each month. */
#include "store/clickhouse/private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NAME_ROOM 64

static const char *const columns[] = {
    [TB_SIZE_BY_KIND] = "table",
    [TB_SIZE_BY_MONTH] = "replaceRegexpOne(extract(partition,'[0-9]{4}-?[0-9]{2}'),'(....)-?(..)','\\\\1-\\\\2')",
};

/* A text of less than 128 bytes. */
static void read_text(tb__ch_reader *r, char out[NAME_ROOM])
{
    const size_t len = (size_t)tb__ch_column(r, 1);
    if ((size_t)(r->end - r->at) < len || len >= NAME_ROOM) {
        r->cut = true;
        return;
    }
    memcpy(out, r->at, len);
    out[len] = 0;
    r->at += len;
}

static tb_code sizes_of_shard(tb_store *store, size_t shard, const char *column, tb__sizes *to, tb_error *err)
{
    tb_buf_fmt(tb__ch_start(store),
               "SELECT %s AS what,toUInt64(sum(rows)),toUInt64(sum(bytes_on_disk)) FROM system.parts"
               " WHERE database='%s' AND active GROUP BY what ORDER BY what FORMAT RowBinary",
               column, tb__ch_of(store)->client->database);
    tb_code code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        char what[NAME_ROOM] = "";
        read_text(&r, what);
        const uint64_t n = tb__ch_column(&r, 8), bytes = tb__ch_column(&r, 8);
        if (!r.cut) code = tb__grow(&to->list, to->n, &to->cap, sizeof *to->list, err);
        if (code || r.cut) break;
        tb_size *size = &to->list[to->n++];
        sqlite3_snprintf(sizeof size->name, size->name, "%s on shard %d, %llu row%s", what, (int)shard + 1,
                         (unsigned long long)n, n == 1 ? "" : "s");
        size->bytes = (int64_t)bytes;
    }
    return code ? code : tb__ch_check_read(&r, err);
}

/* Bytes of a pull zone are not known there. */
tb_code tb__ch_sizes(tb_store *store, tb_size_by by, tb__sizes *to, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && by != TB_SIZE_BY_ZONE && shard < tb__ch_of(store)->client->shards; shard++)
        code = sizes_of_shard(store, shard, columns[by], to, err);
    return code;
}
