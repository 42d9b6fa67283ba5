/* An owner's days, from what the process remembers (cache.h) and, where usage came since, from its shard: what is
 * stale is asked for in one statement, of all locations at once. An entry is a row of
 * { location u32, length u32, chunk } with location 0 for all together; an owner without usage has none. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"

#include <stdlib.h>
#include <string.h>

#define DAYS_MAX  4096 /* of one answer; longer ones are asked for whole */
#define ENTRY_MAX ((size_t)64 << 20)

typedef struct span {
    tb_store *store;
    tb__ch_whose of;
    tb_range range;
    int64_t first; /* day */
    size_t n;
    struct span_day {
        int64_t newest; /* batch; 0: no usage */
        bool stale;
    } *days;
    tb_buf entry;
    tb__ch_part_fn fn;
    void *ctx;
} span;

bool tb__ch_may_cache(const tb_store *store, tb_range range)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    return ch->cache && !ch->began && range.count <= (range.hourly ? DAYS_MAX * 24 : DAYS_MAX);
}

static tb_code note_days(span *s, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 24 : 1, end = s->range.first + s->range.count;
    const int64_t last = tb__floor_div(end - 1, unit);
    sqlite3_stmt *stmt;
    bool row = true;
    s->first = tb__floor_div(s->range.first, unit);
    if (s->first < 0) s->first = 0;
    if (last < s->first || s->first > TB__INDEX_MAX) return TB_OK;
    s->n = (size_t)((last < TB__INDEX_MAX ? last : TB__INDEX_MAX) - s->first + 1);
    s->days = calloc(s->n, sizeof *s->days);
    if (!s->days) return tb_no_memory(err);
    tb_code code = tb__sql_ints(s->store, TB__SQL_USAGE_DAYS, (int64_t[]){s->first, last}, 2, &stmt, err);
    while (!code && !(code = tb__step(s->store, stmt, &row, err)) && row) {
        const size_t at = (size_t)(sqlite3_column_int64(stmt, 0) - s->first);
        if (at < s->n) s->days[at].newest = sqlite3_column_int64(stmt, 1);
    }
    return code;
}

static tb__ch_cache_key day_key(const span *s, size_t i)
{
    return (tb__ch_cache_key){s->of.owner, (int32_t)(s->first + (int64_t)i), (uint8_t)s->of.scope,
                              s->range.hourly ? TB__GRAIN_HOURS : TB__GRAIN_DAYS};
}

/* Gives the part of an entry that the range and the location want. */
static tb_code give(span *s, size_t i, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 24 : 1, start = (s->first + (int64_t)i) * unit;
    const int64_t end = s->range.first + s->range.count;
    const int64_t from = start > s->range.first ? start : s->range.first;
    const int64_t to = start + unit < end ? start + unit : end;
    const char *at = s->entry.data, *stop = at + s->entry.len;
    tb_code code = TB_OK;
    while (!code && s->entry.len && at < stop) {
        uint32_t head[2];
        memcpy(head, at, sizeof head);
        at += sizeof head;
        const tb__ch_part part = {head[0], tb__chunk_key(head[0], day_key(s, i).grain, s->first + (int64_t)i),
                                  (const uint8_t *)at, head[1], (unsigned)(from - start), (unsigned)(to - from),
                                  (size_t)(from - s->range.first)};
        code = s->fn(s->ctx, &part, err);
        at += head[1];
    }
    return code;
}

static tb_code give_remembered(span *s, tb_error *err)
{
    tb__ch_cache *cache = tb__ch_of(s->store)->cache;
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < s->n; i++) {
        if (!s->days[i].newest) continue;
        s->days[i].stale = !tb__ch_cache_get(cache, day_key(s, i), s->days[i].newest, &s->entry);
        if (!s->days[i].stale) code = give(s, i, err);
    }
    return code;
}

/* --- what is stale --- */

static tb_code finish_day(span *s, size_t i, tb__pending *grids, tb_error *err)
{
    uint8_t chunk[TB__CHUNK_MAX];
    s->entry.len = 0;
    for (size_t g = 0; g < grids->n; g++) {
        const int64_t edge = grids->list[g].index;
        const int64_t key = tb__chunk_key(edge, day_key(s, i).grain, s->first + (int64_t)i);
        const uint32_t head[2] = {(uint32_t)edge, (uint32_t)tb__chunk_encode(grids->list[g].grid, key, chunk)};
        tb_buf_add(&s->entry, head, sizeof head);
        tb_buf_add(&s->entry, chunk, head[1]);
    }
    tb__pending_clear(grids);
    tb_code code = tb_buf_check(&s->entry, err);
    if (code || !s->days[i].stale) return code;
    s->days[i].stale = false;
    tb__ch_cache_put(tb__ch_of(s->store)->cache, day_key(s, i), s->days[i].newest, s->entry.data, s->entry.len);
    return give(s, i, err);
}

static tb_code add_row(tb__pending *grids, int64_t edge, unsigned slot, const uint64_t *value, tb_error *err)
{
    tb_grid *to = NULL;
    tb_code code = tb__pending_at(grids, edge, &to, err);
    for (int m = 0; !code && m < TB_METRIC_COUNT; m++)
        if (value[m]) code = tb_grid_add(to, (tb_metric)m, slot, value[m], err);
    return code;
}

/* Rows come day by day. */
static tb_code take_rows(span *s, tb__pending *grids, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(s->store));
    const int64_t unit = s->range.hourly ? 24 : 1;
    size_t day = s->n;
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT];
        const int64_t edge = (int64_t)tb__ch_column(&r, 4), at = (int64_t)tb__ch_column(&r, 4);
        const size_t i = (size_t)(at / unit - s->first);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            value[m] = tb__ch_column(&r, 8);
        if (r.cut || i >= s->n) break;
        if (i != day && day < s->n) code = finish_day(s, day, grids, err);
        day = i;
        if (!code) code = add_row(grids, edge, (unsigned)(at % unit), value, err);
        if (!code && edge) code = add_row(grids, 0, (unsigned)(at % unit), value, err);
    }
    if (!code) code = tb__ch_check_read(&r, err);
    return code || day == s->n ? code : finish_day(s, day, grids, err);
}

static tb_code read_stale(span *s, size_t from, size_t to, tb_error *err)
{
    const bool hourly = s->range.hourly;
    const tb__ch_question q = {hourly ? "edge,h" : "edge,toUInt32(intDiv(h,24)) AS day", TB_METRIC_ALL,
                               {s->of.scope, s->of.owner, 0}, tb__ch_hour((s->first + (int64_t)from) * 24),
                               tb__ch_hour((s->first + (int64_t)to) * 24), hourly ? "edge,h ORDER BY h" : "edge,day ORDER BY day"};
    tb__pending grids = {0};
    tb_code code = tb__ch_put_question(s->store, &q, err);
    if (!code) code = tb__ch_ask(s->store, tb__ch_shard(s->store, s->of.scope, s->of.owner), err);
    if (!code) code = take_rows(s, &grids, err);
    tb__pending_release(&grids);
    for (size_t i = from; !code && i < to; i++) /* days of others */
        if (s->days[i].stale) code = finish_day(s, i, &(tb__pending){0}, err);
    return code;
}

static tb_code read_span(span *s, tb_error *err)
{
    size_t from = 0, to;
    tb_code code = note_days(s, err);
    if (!code) code = give_remembered(s, err);
    for (to = s->n; to && !s->days[to - 1].stale;)
        to--;
    while (from < to && !s->days[from].stale)
        from++;
    return code || from == to ? code : read_stale(s, from, to, err);
}

tb_code tb__ch_each_part(tb_store *store, const tb__ch_whose *of, tb_range range, tb__ch_part_fn fn, void *ctx,
                         tb_error *err)
{
    /* What is newest, and what counts, are of one snapshot. */
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    span s = {.store = store, .of = *of, .range = range, .fn = fn, .ctx = ctx};
    if (!range.count) return TB_OK;
    tb_buf_init(&s.entry, ENTRY_MAX, NULL);
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) {
        code = read_span(&s, err);
        if (own) tb_store_read_end(store);
    }
    free(s.days);
    tb_buf_release(&s.entry);
    return code;
}
