/* Sums of many series, and their columns together, one statement a shard. Whole days of sums come from the cache (cached.c)
 * if there are few enough to cache all of them. Hours at the ends of a range, and long lists, are queried as sums. */
#include "store/clickhouse/private.h"
#include "store/usage/chunk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SUMMED_MAX   8192 /* owners of one statement: 20 bytes each at most */
#define LOCATED_MAX  4096 /* the same, where a statement names their locations too */
#define REMEMBER_MAX 4096 /* days of all owners together that one answer may cache: about a MiB */

/* An entry of the list, and its owner. */
typedef struct summed {
    tb__ch_owner of;
    tb_summed *to;
} summed;

typedef struct summing {
    tb_range range;
    uint32_t metrics;
} summing;

static int by_shard_and_owner(const void *a, const void *b, void *store)
{
    const tb__ch_owner *x = &((const summed *)a)->of, *y = &((const summed *)b)->of;
    const size_t i = tb__ch_shard(store, x->scope, x->owner), j = tb__ch_shard(store, y->scope, y->owner);
    if (i != j) return i < j ? -1 : 1;
    if (x->scope != y->scope) return x->scope < y->scope ? -1 : 1;
    if (x->owner != y->owner) return x->owner < y->owner ? -1 : 1;
    return x->edge < y->edge ? -1 : x->edge > y->edge;
}

/* The owners of one shard and scope, each once. */
static tb_code ask_sums(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    const int64_t unit = s->range.hourly ? 1 : 24, end = s->range.first + s->range.count;
    char scopes[TB__CH_SCOPES_TEXT];
    tb_buf where, *sql = tb__ch_start(store);
    tb__ch_put_scopes(scopes, list->of.scope, tb__ch_whole_days(s->range));
    tb_buf_init(&where, 1 << 20, NULL);
    tb_buf_fmt(&where, "%s AND owner IN(", scopes);
    for (size_t i = 0; i < n; i++)
        if (!i || list[i].of.owner != list[i - 1].of.owner)
            tb_buf_fmt(&where, "%s%" PRId64, i ? "," : "", list[i].of.owner);
    tb_buf_add(&where, ")", 2);
    tb_code code = tb_buf_check(&where, err);
    tb_buf_str(sql, "SELECT owner,edge");
    tb__ch_put_sums(sql, s->metrics);
    tb_buf_str(sql, " FROM ");
    const tb__ch_rows rows = {.columns = "owner,edge", .metrics = s->metrics, .where = where.data,
                              .first = tb__ch_hour(s->range.first * unit), .end = tb__ch_hour(end * unit)};
    if (!code) code = tb__ch_put_sent_rows(store, sql, &rows, err);
    tb_buf_str(sql, " GROUP BY owner,edge FORMAT RowBinary");
    tb_buf_release(&where);
    return code ? code : tb__ch_query(store, tb__ch_shard(store, list->of.scope, list->of.owner), err);
}

static const summed *first_of_owner(const summed *list, size_t n, int64_t owner)
{
    size_t low = 0;
    while (low < n) {
        const size_t middle = (low + n) / 2;
        if (list[middle].of.owner < owner) low = middle + 1;
        else n = middle;
    }
    return list + low;
}

/* Adds a location's figures to those entries of its owner that request this location or all. */
static tb_code take_sums(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (r.at < r.end && !r.cut) {
        uint64_t value[TB_METRIC_COUNT] = {0};
        const int64_t owner = (int64_t)tb__ch_column(&r, 8), edge = (int64_t)tb__ch_column(&r, 4);
        for (uint32_t left = s->metrics; left; left &= left - 1)
            value[__builtin_ctz(left)] = tb__ch_column(&r, 8);
        const summed *at = first_of_owner(list, n, owner);
        for (; at < list + n && at->of.owner == owner; at++)
            for (int m = 0; m < TB_METRIC_COUNT && (!at->of.edge || at->of.edge == edge); m++)
                if (tb_metric_table[m].how == TB_HOW_SUM) at->to->sum[m] += value[m];
                else if (value[m] > at->to->sum[m]) at->to->sum[m] = value[m];
    }
    return tb__ch_check_read(&r, err);
}

/* Entries of one shard and scope, at most so many that their owners fit into a statement. */
static size_t some_alike(const tb_store *store, const summed *list, size_t n)
{
    const size_t shard = tb__ch_shard(store, list->of.scope, list->of.owner);
    size_t some = 1;
    while (some < n && list[some].of.scope == list->of.scope && tb__ch_shard(store, list->of.scope, list[some].of.owner) == shard)
        if (++some >= SUMMED_MAX && some < n && list[some].of.owner != list[some - 1].of.owner) break;
    return some;
}

/* --- from the cache --- */

typedef struct remembering {
    const summing *s;
    const summed **first; /* of each that is wanted */
    const summed *end;
} remembering;

static bool are_same(const tb__ch_owner *a, const tb__ch_owner *b)
{
    return a->owner == b->owner && a->edge == b->edge;
}

static tb_code add_part(void *ctx, const tb__ch_part *p, tb_error *err)
{
    const remembering *r = ctx;
    const summed *first = r->first[p->which];
    uint64_t cell[TB_METRIC_COUNT][TB_GRID_SLOTS] = {{0}}, *column[TB_METRIC_COUNT];
    if (p->edge != first->of.edge) return TB_OK;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        column[m] = cell[m];
    tb_code code = tb__chunk_columns(p->data, p->len, p->key, r->s->metrics, p->from, p->count, column, 0, err);
    for (const summed *at = first; !code && at < r->end && are_same(&at->of, &first->of); at++)
        for (uint32_t left = r->s->metrics; left; left &= left - 1)
            for (unsigned i = 0, m = (unsigned)__builtin_ctz(left); i < p->count; i++)
                if (tb_metric_table[m].how == TB_HOW_SUM) at->to->sum[m] += cell[m][i];
                else if (cell[m][i] > at->to->sum[m]) at->to->sum[m] = cell[m][i];
    return code;
}

/* Entries of one shard and scope: those with a location, or those of all locations, which have different cache entries. */
static tb_code sum_remembered(tb_store *store, const summing *s, const summed *list, size_t n, bool located, tb_error *err)
{
    tb__ch_owner *of = malloc(n * sizeof *of);
    remembering r = {s, malloc(n * sizeof *r.first), list + n};
    tb__ch_wanted wanted = {of, 0, s->range, s->metrics};
    tb_code code = of && r.first ? TB_OK : tb_no_memory(err);
    for (size_t i = 0; !code && i < n; i++) {
        if ((list[i].of.edge != 0) != located || (i && are_same(&list[i].of, &list[i - 1].of))) continue;
        of[wanted.n] = list[i].of;
        r.first[wanted.n++] = &list[i];
    }
    if (!code) code = tb__ch_each_part(store, &wanted, add_part, &r, err);
    free(of);
    free(r.first);
    return code;
}

/* --- all entries --- */

static tb_code sum_sorted(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    const bool remember = !s->range.hourly && tb__ch_may_cache(store, s->range) && n * s->range.count <= REMEMBER_MAX;
    tb_code code = TB_OK;
    for (size_t i = 0, some; s->range.count && !code && i < n; i += some) {
        some = some_alike(store, list + i, n - i);
        if (remember) {
            code = sum_remembered(store, s, list + i, some, false, err);
            if (!code) code = sum_remembered(store, s, list + i, some, true, err);
            continue;
        }
        code = ask_sums(store, s, list + i, some, err);
        if (!code) code = take_sums(store, s, list + i, some, err);
    }
    return code;
}

/* Whole days of an hourly range are summed as days. */
static tb_code sum_range(tb_store *store, const summing *s, const summed *list, size_t n, tb_error *err)
{
    const tb_range r = s->range;
    const int64_t end = r.first + r.count, day = tb__floor_div(r.first + 23, 24), last = tb__floor_div(end, 24);
    if (!r.hourly || day >= last || !tb__ch_may_cache(store, r) || n * (size_t)(last - day) > REMEMBER_MAX)
        return sum_sorted(store, s, list, n, err);
    const summing before = {{r.first, (uint32_t)(day * 24 - r.first), true}, s->metrics};
    const summing days = {{day, (uint32_t)(last - day), false}, s->metrics};
    const summing after = {{last * 24, (uint32_t)(end - last * 24), true}, s->metrics};
    tb_code code = sum_sorted(store, &before, list, n, err);
    if (!code) code = sum_sorted(store, &days, list, n, err);
    return code ? code : sum_sorted(store, &after, list, n, err);
}

/* Entries of the list that have a series and began before the range's end, sorted by shard. */
static tb_code sort_list(tb_store *store, tb_summed *list, size_t n, tb_range range, summed **ret, size_t *ret_n,
                         tb_error *err)
{
    const int64_t end_us = (range.first + range.count) * (range.hourly ? TB_US_PER_HOUR : TB_US_PER_DAY);
    summed *of = *ret = malloc((n + 1) * sizeof *of);
    if (!of) return tb_no_memory(err);
    tb_code code = tb__ch_settle(store, err);
    for (size_t i = 0; !code && i < n; i++) {
        if (!list[i].series || list[i].created_us >= end_us) continue;
        code = tb__ch_series_owner(store, list[i].series, &of[*ret_n].of, err);
        of[(*ret_n)++].to = &list[i];
    }
    if (!code) qsort_r(of, *ret_n, sizeof *of, by_shard_and_owner, store);
    return code;
}

tb_code tb__ch_sum(tb_store *store, tb_summed *list, size_t n, tb_range range, uint32_t metrics, tb_error *err)
{
    const summing s = {range, metrics & TB_METRIC_ALL};
    summed *of = NULL;
    size_t asked = 0;
    for (size_t i = 0; i < n; i++)
        for (uint32_t left = s.metrics; left; left &= left - 1)
            list[i].sum[__builtin_ctz(left)] = 0;
    if (!range.count || !s.metrics || !n) return TB_OK;
    tb_code code = sort_list(store, list, n, range, &of, &asked, err);
    if (!code) code = sum_range(store, &s, of, asked, err);
    free(of);
    return code;
}

/* --- the columns of many series together --- */

/* Entries of one shard and scope: those with a location, or those of all locations. */
static tb_code add_together(tb_store *store, const summed *list, size_t n, bool located, uint32_t metrics, tb_series *series,
                            tb_error *err)
{
    const tb_range r = series->range;
    const int64_t unit = r.hourly ? 1 : 24;
    tb__ch_owner *of = malloc(n * sizeof *of);
    size_t asked = 0;
    if (!of) return tb_no_memory(err);
    for (size_t i = 0; i < n; i++)
        if ((list[i].of.edge != 0) == located) of[asked++] = list[i].of;
    tb_code code = TB_OK;
    if (asked) {
        tb__ch_select q = {.keys = r.hourly ? "h" : "toUInt32(intDiv(h,24))", .metrics = metrics, .of = of[0],
                           .owners = of, .n_owners = asked, .first = tb__ch_hour(r.first * unit),
                           .end = tb__ch_hour((r.first + r.count) * unit),
                           .days = r.hourly ? (tb__ch_hours_of){0, 0} : TB__CH_EVER};
        q.brief = tb__ch_is_brief(&q, r.count);
        code = tb__ch_put_select(store, &q, err);
        if (!code) code = tb__ch_query(store, tb__ch_shard(store, of->scope, of->owner), err);
        if (!code) code = tb__ch_fill_series(store, metrics, series, err);
    }
    free(of);
    return code;
}

tb_code tb__ch_series_together(tb_store *store, tb_summed *list, size_t n, tb_series *series, tb_error *err)
{
    summed *of = NULL;
    size_t asked = 0;
    uint32_t metrics = 0;
    for (int m = 0; m < TB_METRIC_COUNT; m++)
        if (series->value[m]) metrics |= TB_METRIC_BIT(m);
    if (!series->range.count || !metrics) return TB_OK;
    tb_code code = sort_list(store, list, n, series->range, &of, &asked, err);
    for (size_t i = 0, some; !code && i < asked; i += some) {
        some = some_alike(store, of + i, asked - i);
        if (some > LOCATED_MAX) some = LOCATED_MAX;
        code = add_together(store, of + i, some, false, metrics, series, err);
        if (!code) code = add_together(store, of + i, some, true, metrics, series, err);
    }
    free(of);
    return code;
}
