/* Owners' days, from what the process remembers (cache.h) and, where usage came since, from its shard: what is
 * stale is asked for in one statement a shard, of all locations and owners at once. An entry is a row of
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
    const tb__ch_whose *list; /* of one shard and scope, ascending by owner */
    size_t owners;
    tb_range range;
    int64_t first; /* day */
    size_t n;
    int64_t *newest; /* batch of each day; 0: no usage */
    bool *stale;     /* of each owner the days, one after the other */
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
    s->newest = calloc(s->n, sizeof *s->newest);
    s->stale = calloc(s->n * s->owners, sizeof *s->stale);
    if (!s->newest || !s->stale) return tb_no_memory(err);
    tb_code code = tb__sql_ints(s->store, TB__SQL_USAGE_DAYS, (int64_t[]){s->first, last}, 2, &stmt, err);
    while (!code && !(code = tb__step(s->store, stmt, &row, err)) && row) {
        const size_t at = (size_t)(sqlite3_column_int64(stmt, 0) - s->first);
        if (at < s->n) s->newest[at] = sqlite3_column_int64(stmt, 1);
    }
    return code;
}

static tb__ch_cache_key day_key(const span *s, size_t o, size_t i)
{
    return (tb__ch_cache_key){s->list[o].owner, (int32_t)(s->first + (int64_t)i), (uint8_t)s->list[o].scope,
                              s->range.hourly ? TB__GRAIN_HOURS : TB__GRAIN_DAYS};
}

/* Gives the part of an entry that the range and the location want. */
static tb_code give(span *s, size_t o, size_t i, tb_error *err)
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
        const tb__ch_part part = {o, head[0], tb__chunk_key(head[0], day_key(s, o, i).grain, s->first + (int64_t)i),
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
    for (size_t at = 0; !code && at < s->n * s->owners; at++) {
        const size_t o = at / s->n, i = at % s->n;
        if (!s->newest[i]) continue;
        s->stale[at] = !tb__ch_cache_get(cache, day_key(s, o, i), s->newest[i], &s->entry);
        if (!s->stale[at]) code = give(s, o, i, err);
    }
    return code;
}

/* --- what is stale --- */

static tb_code finish_day(span *s, size_t o, size_t i, tb__pending *grids, tb_error *err)
{
    uint8_t chunk[TB__CHUNK_MAX];
    s->entry.len = 0;
    for (size_t g = 0; g < grids->n; g++) {
        const int64_t edge = grids->list[g].index;
        const int64_t key = tb__chunk_key(edge, day_key(s, o, i).grain, s->first + (int64_t)i);
        const uint32_t head[2] = {(uint32_t)edge, (uint32_t)tb__chunk_encode(grids->list[g].grid, key, chunk)};
        tb_buf_add(&s->entry, head, sizeof head);
        tb_buf_add(&s->entry, chunk, head[1]);
    }
    tb__pending_clear(grids);
    tb_code code = tb_buf_check(&s->entry, err);
    if (code || !s->stale[o * s->n + i]) return code;
    s->stale[o * s->n + i] = false;
    tb__ch_cache_put(tb__ch_of(s->store)->cache, day_key(s, o, i), s->newest[i], s->entry.data, s->entry.len);
    return give(s, o, i, err);
}

static tb_code add_row(tb__pending *grids, int64_t edge, unsigned slot, const uint64_t *value, tb_error *err)
{
    tb_grid *to = NULL;
    tb_code code = tb__pending_at(grids, edge, &to, err);
    for (int m = 0; !code && m < TB_METRIC_COUNT; m++)
        if (value[m]) code = tb_grid_add(to, (tb_metric)m, slot, value[m], err);
    return code;
}

/* Rows come owner by owner, day by day. */
static tb_code take_rows(span *s, tb__pending *grids, bool trusting, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(s->store));
    const int64_t unit = s->range.hourly ? 24 : 1;
    size_t day = s->n, o = 0;
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT];
        const int64_t owner = s->owners > 1 ? (int64_t)tb__ch_column(&r, 8) : s->list[0].owner;
        const int64_t edge = (int64_t)tb__ch_column(&r, 4), at = (int64_t)tb__ch_column(&r, 4);
        const size_t i = (size_t)(at / unit - s->first);
        for (int m = 0; m < TB_METRIC_COUNT; m++)
            value[m] = tb__ch_column(&r, 8);
        if (trusting) (void)tb__ch_column(&r, 1);
        if (r.cut || i >= s->n) break;
        if ((i != day || owner != s->list[o].owner) && day < s->n) code = finish_day(s, o, day, grids, err);
        while (o + 1 < s->owners && s->list[o].owner < owner)
            o++;
        day = i;
        if (!code) code = add_row(grids, edge, (unsigned)(at % unit), value, err);
        if (!code && edge) code = add_row(grids, 0, (unsigned)(at % unit), value, err);
    }
    if (!code) code = tb__ch_check_read(&r, err);
    return code || day == s->n ? code : finish_day(s, o, day, grids, err);
}

/* The last byte of each row says whether it may be trusted. */
static bool some_came_twice(const struct tb__clickhouse *ch, bool many)
{
    const size_t row = (many ? 8 : 0) + 8 + 8 * TB_METRIC_COUNT + 1;
    for (size_t at = row; at <= ch->answer.len; at += row)
        if (!ch->answer.data[at - 1]) return true;
    return false;
}

/* Rows that were sent twice are rare, and to leave them out costs as much again as the sums: so the sums come with a
 * look at whether there are any. */
static tb_code ask_stale(span *s, tb__ch_question *q, tb_error *err)
{
    const size_t shard = tb__ch_shard(s->store, s->list[0].scope, s->list[0].owner);
    q->trusting = true;
    tb_code code = tb__ch_put_question(s->store, q, err);
    if (!code) code = tb__ch_ask(s->store, shard, err);
    if (code || !some_came_twice(tb__ch_of(s->store), s->owners > 1)) return code;
    q->trusting = false;
    code = tb__ch_put_question(s->store, q, err);
    return code ? code : tb__ch_ask(s->store, shard, err);
}

static tb_code read_stale(span *s, size_t from, size_t to, tb_error *err)
{
    static const char *const keys[2][2] = {{"edge,toUInt32(intDiv(h,24)) AS day", "owner,edge,toUInt32(intDiv(h,24)) AS day"},
                                           {"edge,h", "owner,edge,h"}};
    static const char *const groups[2][2] = {{"edge,day ORDER BY day", "owner,edge,day ORDER BY owner,day"},
                                             {"edge,h ORDER BY h", "owner,edge,h ORDER BY owner,h"}};
    const bool hourly = s->range.hourly, many = s->owners > 1;
    tb__ch_question q = {.keys = keys[hourly][many],
                         .metrics = TB_METRIC_ALL,
                         .of = {s->list[0].scope, s->list[0].owner, 0},
                         .owners = s->list,
                         .n_owners = s->owners,
                         .first = tb__ch_hour((s->first + (int64_t)from) * 24),
                         .end = tb__ch_hour((s->first + (int64_t)to) * 24),
                         .group = groups[hourly][many],
                         .days = hourly ? (tb__ch_hours_of){0, 0} : TB__CH_EVER};
    tb__pending grids = {0};
    tb_code code = ask_stale(s, &q, err);
    if (!code) code = take_rows(s, &grids, q.trusting, err);
    tb__pending_release(&grids);
    for (size_t at = 0; !code && at < s->n * s->owners; at++) /* days of others */
        if (s->stale[at]) code = finish_day(s, at / s->n, at % s->n, &(tb__pending){0}, err);
    return code;
}

static tb_code read_span(span *s, tb_error *err)
{
    size_t from = SIZE_MAX, to = 0;
    tb_code code = note_days(s, err);
    if (!code) code = give_remembered(s, err);
    for (size_t at = 0; at < s->n * s->owners; at++) {
        if (!s->stale[at]) continue;
        if (at % s->n < from) from = at % s->n;
        if (at % s->n >= to) to = at % s->n + 1;
    }
    return code || !to ? code : read_stale(s, from, to, err);
}

tb_code tb__ch_each_part(tb_store *store, const tb__ch_whose *of, size_t n, tb_range range, tb__ch_part_fn fn, void *ctx,
                         tb_error *err)
{
    /* What is newest, and what counts, are of one snapshot. */
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    span s = {.store = store, .list = of, .owners = n, .range = range, .fn = fn, .ctx = ctx};
    if (!range.count) return TB_OK;
    tb_buf_init(&s.entry, ENTRY_MAX, NULL);
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) {
        code = read_span(&s, err);
        if (own) tb_store_read_end(store);
    }
    free(s.newest);
    free(s.stale);
    tb_buf_release(&s.entry);
    return code;
}
