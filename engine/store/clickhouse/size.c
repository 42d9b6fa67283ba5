/* The space used on the shards, from system.parts: rows and bytes of each table, or of each month. Parts that were merged or
 * rewritten stay there for some minutes. For request logs and events also the number of rows that no reader sees any more. */
#include "store/clickhouse/lines.h"

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

/* Of a shard. */
typedef struct sizing {
    tb_store *store;
    size_t shard;
    tb_size_by by;
    uint64_t unseen[2]; /* rows, by kind; by kind of space alone */
} sizing;

/* A row of the answer: what, active u8, rows u64, bytes u64. */
static tb_size read_size(const sizing *s, tb__ch_reader *r)
{
    tb_size size = {.bytes = 0};
    char what[NAME_ROOM] = "", more[NAME_ROOM] = "";
    read_text(r, what);
    const bool active = tb__ch_column(r, 1) != 0;
    const uint64_t n = tb__ch_column(r, 8);
    size.bytes = (int64_t)tb__ch_column(r, 8);
    for (int kind = TB__CH_LOGS; active && kind <= TB__CH_EVENTS; kind++)
        if (s->unseen[kind] && !strcmp(what, tb__ch_table_of((tb__ch_kind)kind)))
            sqlite3_snprintf(sizeof more, more, ", %llu not committed", (unsigned long long)s->unseen[kind]);
    sqlite3_snprintf(sizeof size.name, size.name, "%s on shard %d, %llu row%s%s%s", what, (int)s->shard + 1, (unsigned long long)n,
                     n == 1 ? "" : "s", active ? "" : " of replaced parts", more);
    return size;
}

static tb_code sizes_of_shard(sizing *s, tb__sizes *to, tb_error *err)
{
    tb_code code = TB_OK;
    for (int kind = TB__CH_LOGS; !code && s->by == TB_SIZE_BY_KIND && kind <= TB__CH_EVENTS; kind++)
        code = tb__ch_unseen_rows(s->store, (tb__ch_kind)kind, s->shard, &s->unseen[kind], err);
    tb_buf_fmt(tb__ch_start(s->store),
               "SELECT %s AS what,active,toUInt64(sum(rows)),toUInt64(sum(bytes_on_disk)) FROM system.parts"
               " WHERE database='%s' GROUP BY what,active ORDER BY what,active FORMAT RowBinary",
               columns[s->by], tb__ch_of(s->store)->client->database);
    if (!code) code = tb__ch_query(s->store, s->shard, err);
    if (code) return code;
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(s->store));
    while (!code && r.at < r.end && !r.cut) {
        const tb_size size = read_size(s, &r);
        if (r.cut) break;
        code = tb__grow(&to->list, to->n, &to->cap, sizeof *to->list, err);
        if (!code) to->list[to->n++] = size;
    }
    return code ? code : tb__ch_check_read(&r, err);
}

/* Bytes of a pull zone are not known there. */
tb_code tb__ch_sizes(tb_store *store, tb_size_by by, tb__sizes *to, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t shard = 0; !code && by != TB_SIZE_BY_ZONE && shard < tb__ch_of(store)->client->shards; shard++) {
        sizing s = {.store = store, .shard = shard, .by = by};
        code = sizes_of_shard(&s, to, err);
    }
    return code;
}
