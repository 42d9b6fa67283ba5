/* Owners' days, from the process's cache (cache.h), and those with newer usage from their shard: all stale days are read with
 * one statement. An entry is its metrics (u32), followed by parts { location u32, length u32, chunk }. Location 0 is all
 * locations together, with all metrics of the entry. Single locations beside it have only BYTES, as no query reads more for many
 * locations at once, and the other counters would double the entry. A query for one location has separate entries. A day
 * without usage has no chunk. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"
#include "tollbook/calendar.h"

#include <stdlib.h>
#include <string.h>

#define DAYS_MAX  4096 /* of one answer; longer ranges are queried without the cache */
#define ENTRY_MAX ((size_t)64 << 20)

typedef struct span {
    tb_store *store;
    const tb__ch_owner *list; /* of one shard and scope, ascending by owner */
    size_t owners;
    tb_range range;
    uint32_t metrics; /* the wanted ones, and those of entries that lack some of them */
    int64_t first;    /* day */
    size_t n;
    tb__ch_as_of *as_of; /* of each day; newest 0: no usage */
    bool *stale;         /* for each owner and day */
    tb_buf entry;
    tb__ch_part_fn fn;
    void *ctx;
} span;

bool tb__ch_may_cache(const tb_store *store, tb_range range)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    return ch->cache && !ch->began && range.count <= (range.hourly ? DAYS_MAX * 24 : DAYS_MAX);
}

static tb_code note_mended(span *s, tb_error *err)
{
    sqlite3_stmt *stmt;
    bool row = true;
    tb_code code = tb__sql(s->store, TB__SQL_USAGE_MENDED, &stmt, err);
    while (!code && !(code = tb__step(s->store, stmt, &row, err)) && row)
        for (size_t i = 0; i < s->n; i++)
            if (tb_month_from_day(s->first + (int64_t)i) == sqlite3_column_int64(stmt, 0))
                s->as_of[i].mended = sqlite3_column_int64(stmt, 1);
    return code;
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
    s->as_of = calloc(s->n, sizeof *s->as_of);
    s->stale = calloc(s->n * s->owners, sizeof *s->stale);
    if (!s->as_of || !s->stale) return tb_no_memory(err);
    tb_code code = tb__sql_ints(s->store, TB__SQL_USAGE_DAYS, (int64_t[]){s->first, last}, 2, &stmt, err);
    while (!code && !(code = tb__step(s->store, stmt, &row, err)) && row) {
        const size_t at = (size_t)(sqlite3_column_int64(stmt, 0) - s->first);
        if (at < s->n) s->as_of[at].newest = sqlite3_column_int64(stmt, 1);
    }
    return code ? code : note_mended(s, err);
}

static tb__ch_cache_key day_key(const span *s, size_t o, size_t i)
{
    return (tb__ch_cache_key){s->list[o].owner, (uint32_t)s->list[o].edge, (int32_t)(s->first + (int64_t)i),
                              (uint8_t)s->list[o].scope, s->range.hourly ? TB__GRAIN_HOURS : TB__GRAIN_DAYS};
}

/* Gives the part of an entry that the range and the location want. */
static tb_code give(span *s, size_t o, size_t i, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 24 : 1, start = (s->first + (int64_t)i) * unit;
    const int64_t end = s->range.first + s->range.count;
    const int64_t from = start > s->range.first ? start : s->range.first;
    const int64_t to = start + unit < end ? start + unit : end;
    const char *at = s->entry.data + sizeof s->metrics, *stop = s->entry.data + s->entry.len;
    tb_code code = TB_OK;
    while (!code && at < stop) {
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

/* Sets s->entry to the day's entry, if there is one with all wanted metrics. */
static bool remembers(span *s, size_t o, size_t i)
{
    uint32_t metrics;
    if (!tb__ch_cache_get(tb__ch_of(s->store)->cache, day_key(s, o, i), s->as_of[i], &s->entry)) return false;
    memcpy(&metrics, s->entry.data, sizeof metrics);
    if (!(s->metrics & ~metrics)) return true;
    s->metrics |= metrics;
    return false;
}

static tb_code give_remembered(span *s, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t at = 0; !code && at < s->n * s->owners; at++) {
        const size_t o = at / s->n, i = at % s->n;
        if (!s->as_of[i].newest) continue;
        s->stale[at] = !remembers(s, o, i);
        if (!s->stale[at]) code = give(s, o, i, err);
    }
    return code;
}

/* --- stale days --- */

static tb_code finish_day(span *s, size_t o, size_t i, tb__pending *grids, tb_error *err)
{
    uint8_t chunk[TB__CHUNK_MAX];
    s->entry.len = 0;
    tb_buf_add(&s->entry, &s->metrics, sizeof s->metrics);
    for (size_t g = 0; g < grids->n && s->stale[o * s->n + i]; g++) {
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
    tb__ch_cache_put(tb__ch_of(s->store)->cache, day_key(s, o, i), s->as_of[i], s->entry.data, s->entry.len);
    return give(s, o, i, err);
}

/* A row of the answer: an hour, or a day, of all its locations together or of the one that is meant. */
typedef struct row {
    int64_t owner, edge; /* where there are several */
    int64_t at;
    const char *values; /* of the requested metrics */
    size_t n;           /* locations */
    const char *edges, *bytes;
} row;

static row read_row(tb__ch_reader *r, const tb__ch_select *q)
{
    row to = {.owner = q->of.owner, .edge = q->of.edge};
    if (q->n_owners > 1) to.owner = (int64_t)tb__ch_column(r, 8);
    if (q->n_owners > 1 && q->of.edge) to.edge = (int64_t)tb__ch_column(r, 4);
    to.at = (int64_t)tb__ch_column(r, 4);
    to.values = tb__ch_columns(r, 8, (size_t)__builtin_popcount(q->metrics));
    if (q->located) {
        to.n = tb__ch_array(r, 4, &to.edges);
        if (tb__ch_array(r, 8, &to.bytes) != to.n) r->cut = true;
    }
    return to;
}

static tb_code add_located(tb__pending *grids, const row *from, unsigned slot, tb_error *err)
{
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < from->n; i++) {
        tb_grid *to = NULL;
        uint32_t edge;
        uint64_t bytes;
        memcpy(&edge, from->edges + i * sizeof edge, sizeof edge);
        memcpy(&bytes, from->bytes + i * sizeof bytes, sizeof bytes);
        if (edge) code = tb__pending_at(grids, edge, &to, err);
        if (!code && to && bytes) code = tb_grid_add(to, TB_M_BYTES, slot, bytes, err);
    }
    return code;
}

/* All together, where locations are beside it. */
static uint64_t located_bytes(const row *from)
{
    uint64_t sum = 0, bytes;
    for (size_t i = 0; i < from->n; i++) {
        memcpy(&bytes, from->bytes + i * sizeof bytes, sizeof bytes);
        sum += bytes;
    }
    return sum;
}

static tb_code add_row(tb__pending *grids, int64_t edge, uint32_t metrics, const row *from, unsigned slot, tb_error *err)
{
    tb_grid *to = NULL;
    const uint64_t bytes = located_bytes(from);
    tb_code code = tb__pending_at(grids, edge, &to, err);
    if (!code && bytes) code = tb_grid_add(to, TB_M_BYTES, slot, bytes, err);
    const char *at = from->values;
    for (uint32_t left = metrics; !code && left; left &= left - 1, at += 8) {
        uint64_t value;
        memcpy(&value, at, sizeof value);
        if (value) code = tb_grid_add(to, (tb_metric)__builtin_ctz(left), slot, value, err);
    }
    return code ? code : add_located(grids, from, slot, err);
}

/* The index of a row's owner in the list, from `from` on. */
static size_t whose_row(const span *s, size_t from, const row *of)
{
    while (from + 1 < s->owners && (s->list[from].owner < of->owner ||
                                    (s->list[from].owner == of->owner && s->list[from].edge < of->edge)))
        from++;
    return from;
}

static int by_owner_and_time(const void *a, const void *b)
{
    const row *x = a, *y = b;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    if (x->edge != y->edge) return x->edge < y->edge ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Ordered by owner, by location if locations are requested, and by day. */
static tb_code read_rows(const span *s, const tb__ch_select *q, row **ret_list, size_t *ret_n, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(s->store));
    size_t cap = 0;
    tb_code code = TB_OK;
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(ret_list, *ret_n, &cap, sizeof **ret_list, err);
        if (!code) (*ret_list)[(*ret_n)++] = read_row(&r, q);
    }
    if (!code) code = tb__ch_check_read(&r, err);
    if (!code && *ret_n) qsort(*ret_list, *ret_n, sizeof **ret_list, by_owner_and_time);
    return code;
}

static tb_code take_rows(span *s, const tb__ch_select *q, tb__pending *grids, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 24 : 1;
    size_t day = s->n, o = 0, n = 0;
    row *list = NULL;
    tb_code code = read_rows(s, q, &list, &n, err);
    for (size_t at = 0; !code && at < n; at++) {
        const size_t i = (size_t)(list[at].at / unit - s->first), of = whose_row(s, o, &list[at]);
        if (i >= s->n) code = tb__ch_unexpected_row(err);
        if (code) break;
        if ((i != day || of != o) && day < s->n) code = finish_day(s, o, day, grids, err);
        o = of;
        day = i;
        if (!code) code = add_row(grids, s->list[o].edge, q->metrics, &list[at], (unsigned)(list[at].at % unit), err);
    }
    free(list);
    return code || day == s->n ? code : finish_day(s, o, day, grids, err);
}

static tb_code read_stale(span *s, size_t from, size_t to, tb_error *err)
{
    /* Of one, of several, and of several with a location. */
    static const char *const keys[2][3] = {{"toUInt32(intDiv(h,24)) AS day", "owner,toUInt32(intDiv(h,24)) AS day",
                                            "owner,edge,toUInt32(intDiv(h,24)) AS day"},
                                           {"h", "owner,h", "owner,edge,h"}};
    static const char *const names[2][3] = {{"day", "owner,day", "owner,edge,day"}, {"h", "owner,h", "owner,edge,h"}};
    const bool hourly = s->range.hourly, located = !s->list[0].edge && s->metrics & TB_METRIC_BIT(TB_M_BYTES);
    const size_t many = s->owners < 2 ? 0 : s->list[0].edge ? 2 : 1;
    tb__ch_select q = {.keys = keys[hourly][many],
                               .metrics = located ? s->metrics & ~TB_METRIC_BIT(TB_M_BYTES) : s->metrics,
                               .of = s->list[0],
                               .owners = s->list,
                               .n_owners = s->owners,
                               .first = tb__ch_hour((s->first + (int64_t)from) * 24),
                               .end = tb__ch_hour((s->first + (int64_t)to) * 24),
                               .names = names[hourly][many],
                               .days = hourly ? (tb__ch_hours_of){0, 0} : TB__CH_EVER,
                               .located = located};
    tb__pending grids = {0};
    q.brief = s->owners == 1 && tb__ch_is_brief(&q, (to - from) * (hourly ? 24 : 1));
    tb_code code = tb__ch_put_select(s->store, &q, err);
    if (!code) code = tb__ch_query(s->store, tb__ch_shard(s->store, s->list[0].scope, s->list[0].owner), err);
    if (!code) code = take_rows(s, &q, &grids, err);
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

tb_code tb__ch_each_part(tb_store *store, const tb__ch_wanted *wanted, tb__ch_part_fn fn, void *ctx, tb_error *err)
{
    /* The newest batches and the ids that count must be of one snapshot. */
    const bool own = sqlite3_get_autocommit(store->db) != 0;
    span s = {.store = store, .list = wanted->of, .owners = wanted->n, .range = wanted->range, .metrics = wanted->metrics,
              .fn = fn, .ctx = ctx};
    if (!s.range.count || !s.owners) return TB_OK;
    tb_buf_init(&s.entry, ENTRY_MAX, NULL);
    tb_code code = own ? tb_store_read_begin(store, err) : TB_OK;
    if (!code) {
        code = read_span(&s, err);
        if (own) tb_store_read_end(store);
    }
    free(s.as_of);
    free(s.stale);
    tb_buf_release(&s.entry);
    return code;
}
