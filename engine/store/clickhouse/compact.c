/* Compaction: a month's rows become one row for each place and hour, in a step at a time between the writer's other
 * work. See open.c for which rows count.
 *
 * 1. A commit of the file: two spans of ids are begun. The first is the fold's own, of one id; batches go on in the
 *    second. From then on no row with an id below the fold's is new: what comes again under such an id came before.
 * 2. INSERT SELECT of what counts below that id, in spans of 200,000 rows, each compared with what it was made of. Nobody
 *    sees these rows.
 * 3. A commit of the file: the month's generation is the fold's. Readers see its rows, and of batches those above.
 * 4. After a grace, the partitions below are dropped. Before that the process knows it, so that a reader with an older
 *    snapshot is refused, and the shard has a row of scope 0 that says it, so that an older copy of the file is.
 * An interruption leaves rows under an id that never counts. They go with a later step 4. */
#include "store/clickhouse/cache.h"
#include "store/clickhouse/fold.h"
#include "tollbook/calendar.h"
#include "tollbook/compaction.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MARK_ROW UINT32_MAX

/* --- what there is --- */

/* A month's rows under the ids of one span, on one shard. */
typedef struct part {
    size_t shard;
    int64_t month, span;
    uint64_t rows;
} part;

typedef struct look {
    part *list;
    size_t n, cap;
} look;

static tb_code look_at_shard(tb_store *store, size_t shard, look *to, tb_error *err)
{
    tb_buf_fmt(tb__ch_start(store),
               "SELECT toUInt32OrZero(extract(partition,'[0-9]+')) AS m,toUInt64OrZero(extract(partition,',([0-9]+)')) AS s,"
               "toUInt64(sum(rows)) FROM system.parts WHERE database='%s' AND table='cell' AND active GROUP BY m,s"
               " ORDER BY m,s FORMAT RowBinary",
               tb__ch_of(store)->client->database);
    tb_code code = tb__ch_ask(store, shard, err);
    tb__ch_reader r = tb__ch_reader_of(tb__ch_of(store));
    while (!code && r.at < r.end && !r.cut) {
        code = tb__grow(&to->list, to->n, &to->cap, sizeof *to->list, err);
        if (code) break;
        const int64_t named = (int64_t)tb__ch_column(&r, 4);
        part *p = &to->list[to->n++];
        *p = (part){.shard = shard, .month = (named / 100 - 1970) * 12 + named % 100 - 1};
        p->span = (int64_t)tb__ch_column(&r, 8);
        p->rows = tb__ch_column(&r, 8);
    }
    return code ? code : tb__ch_check_read(&r, err);
}

static int64_t span_of(const struct tb__clickhouse *ch, int64_t month)
{
    return tb__ch_month_batch(ch, month) >> TB__CH_ID_BITS;
}

/* Rows of a month: in its generation, and those that were not folded yet. A table that an earlier build made has
 * no spans in its partitions (0): it stays as it is. */
typedef struct weight {
    uint64_t folded, waiting;
    bool plain;
} weight;

static weight weigh(const struct tb__clickhouse *ch, const look *l, int64_t month)
{
    weight w = {0, 0, false};
    const int64_t span = span_of(ch, month);
    for (size_t i = 0; i < l->n; i++) {
        const part *p = &l->list[i];
        if (p->month != month) continue;
        if (!p->span) w.plain = true;
        if (p->span == span) w.folded += p->rows;
        if (p->span > span) w.waiting += p->rows;
    }
    return w;
}

/* The folded ones are written again. */
static bool is_worth_it(const weight *w, const tb_compaction *c)
{
    return w->waiting >= c->rows_min && w->waiting >= w->folded / 2;
}

/* The month with the most rows that wait, where it is worth it. -1: none is. */
static int64_t choose(const struct tb__clickhouse *ch, const look *l, tb_compaction *c)
{
    int64_t chosen = -1;
    uint64_t most = 0;
    c->waiting = 0;
    for (size_t i = 0; i < l->n; i++) {
        const weight w = weigh(ch, l, l->list[i].month);
        if (l->list[i].span > span_of(ch, l->list[i].month)) c->waiting += l->list[i].rows;
        if (w.plain || w.waiting <= most || (c->rows_min && !is_worth_it(&w, c))) continue;
        chosen = l->list[i].month;
        most = w.waiting;
    }
    return chosen;
}

/* --- a fold --- */

void tb__ch_fold_free(struct tb__clickhouse *ch)
{
    if (ch->fold) free(ch->fold->list);
    free(ch->fold);
    ch->fold = NULL;
}

static tb_code begin_fold(tb_store *store, int64_t month, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_fold *f = calloc(1, sizeof *f);
    if (!f) return tb_no_memory(err);
    f->month = month;
    tb_code code = tb_store_write(store, tb__ch_begin_fold_span, &f->batch, err);
    if (code) free(f);
    else ch->fold = f;
    return code;
}

static tb_code flip(tb_store *store, void *ctx, tb_error *err)
{
    const tb__ch_fold *f = ctx;
    char name[40] = "usage_month_";
    sqlite3_snprintf(28, name + 12, "%lld", (long long)f->month);
    return tb__ch_meta_put(store, name, f->batch >> TB__CH_ID_BITS, err);
}

static tb_code note_flip(struct tb__clickhouse *ch, int64_t month, int64_t now_us, tb_error *err)
{
    size_t at = 0;
    while (at < ch->n_flips && ch->flips[at].month != month)
        at++;
    tb_code code = at == ch->n_flips ? tb__grow(&ch->flips, ch->n_flips, &ch->cap_flips, sizeof *ch->flips, err) : TB_OK;
    if (code) return code;
    if (at == ch->n_flips) ch->n_flips++;
    ch->flips[at] = (struct tb__ch_flip){month, now_us};
    return TB_OK;
}

static tb_code end_fold(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = note_flip(ch, ch->fold->month, c->now_us, err);
    if (!code) code = tb_store_write(store, flip, ch->fold, err);
    if (!code) c->folded++;
    tb__ch_fold_free(ch);
    return code;
}

static tb_code step_fold(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    tb__ch_fold *f = ch->fold;
    tb_code code = TB_OK;
    if (f->planned && f->at == f->n) {
        f->planned = false;
        f->shard++;
    }
    if (f->shard == ch->client->shards) return end_fold(store, c, err);
    code = f->planned ? tb__ch_fold_span(store, f, err) : tb__ch_fold_plan(store, f, err);
    if (code) tb__ch_fold_free(ch);
    return code;
}

/* --- what was folded goes --- */

static bool may_go(const struct tb__clickhouse *ch, int64_t month, const tb_compaction *c)
{
    for (size_t i = 0; i < ch->n_flips; i++)
        if (ch->flips[i].month == month) return c->now_us - ch->flips[i].at_us >= c->grace_us;
    return true; /* nobody who reads is older than this process */
}

static tb_code drop_part(tb_store *store, const part *p, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const int64_t batch = tb__ch_month_batch(ch, p->month), first = tb_month_first_day(p->month);
    const tb_date date = tb_date_from_day(first);
    if (!tb__ch_cache_drop(ch->cache, p->month, batch)) return tb_no_memory(err);
    tb_buf_fmt(tb__ch_start(store),
               "INSERT INTO %s.cell(scope,owner,edge,h,batch,row) VALUES(0,0,0,%" PRId64 ",%" PRId64 ",%u)",
               ch->client->database, first * 24, batch, (unsigned)MARK_ROW);
    tb_code code = tb__ch_ask(store, p->shard, err);
    tb_buf_fmt(tb__ch_start(store), "ALTER TABLE %s.cell DROP PARTITION (%d,%" PRId64 ")", ch->client->database,
               date.year * 100 + date.month, p->span);
    return code ? code : tb__ch_ask(store, p->shard, err);
}

/* *ret_any: something went. */
static tb_code drop_folded(tb_store *store, const look *l, const tb_compaction *c, bool *ret_any, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_code code = TB_OK;
    for (size_t i = 0; !code && i < l->n; i++) {
        const part *p = &l->list[i];
        if (!p->span || p->span >= span_of(ch, p->month) || !may_go(ch, p->month, c)) continue;
        *ret_any = true;
        code = drop_part(store, p, err);
    }
    return code;
}

/* --- the whole --- */

static tb_code look_and_begin(tb_store *store, tb_compaction *c, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    look l = {NULL, 0, 0};
    bool dropped = false;
    tb_code code = tb__ch_read_months(store, err);
    for (size_t shard = 0; !code && shard < ch->client->shards; shard++)
        code = look_at_shard(store, shard, &l, err);
    const int64_t month = code ? -1 : choose(ch, &l, c);
    if (!code) code = drop_folded(store, &l, c, &dropped, err);
    if (!code && month >= 0) code = begin_fold(store, month, err);
    free(l.list);
    return code;
}

tb_code tb_store_compact(tb_store *store, tb_compaction *c, tb_error *err)
{
    struct tb__clickhouse *ch = tb__ch_of(store);
    const uint64_t before = c->folded;
    c->working = false;
    if (!ch || ch->unseen) return TB_OK;
    tb_code code = ch->fold ? step_fold(store, c, err) : look_and_begin(store, c, err);
    c->working = ch->fold || c->folded > before; /* another month may be next */
    return code;
}

/* --- a copy of the file that is older than what went --- */

tb_code tb__ch_check_copy(tb_store *store, size_t shard, tb_error *err)
{
    const struct tb__clickhouse *ch = tb__ch_of(store);
    tb_buf_fmt(tb__ch_start(store), "SELECT h,max(batch) FROM %s.cell WHERE scope=0 GROUP BY h FORMAT RowBinary",
               ch->client->database);
    tb_code code = tb__ch_ask(store, shard, err);
    if (!code) code = tb__ch_read_months(store, err);
    tb__ch_reader r = tb__ch_reader_of(ch);
    while (!code && r.at < r.end && !r.cut) {
        const int64_t month = tb_month_from_day((int64_t)tb__ch_column(&r, 4) / 24);
        const int64_t batch = (int64_t)tb__ch_column(&r, 8);
        if (!r.cut && tb__ch_month_batch(ch, month) < batch)
            code = tb_fail(err, TB_E_USAGE, "usage",
                           "%s is a copy of before usage was compacted: rows that it counts are gone from shard %zu. Restore "
                           "a newer copy, or the backup of the usage servers that was made with this one.",
                           store->path, shard + 1);
    }
    return code ? code : tb__ch_check_read(&r, err);
}
